//! The program itself, as an agent and a person start it.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use shellgate_cli::hook::{self, sample};
use shellgate_cli::settings;

const PROGRAM: &str = env!("CARGO_BIN_EXE_shellgate");

/// A home with a project, which goes away with it.
struct Home(PathBuf);

impl Home {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("shellgate-process-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(path.join("app/.git")).unwrap();
        Self(fs::canonicalize(path).unwrap())
    }

    fn app(&self) -> String {
        self.0.join("app").display().to_string()
    }

    /// Runs the program in the project with the poor environment of a desktop.
    fn run(&self, arguments: &[&str], input: &str) -> Output {
        let mut child = Command::new(PROGRAM)
            .args(arguments)
            .current_dir(self.0.join("app"))
            .env_clear()
            .env("HOME", &self.0)
            .env("PATH", "/usr/bin:/bin")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        // A verb that wants no input may end before it is all written.
        let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
        child.wait_with_output().unwrap()
    }

    fn hook(&self, agent: &str, command: &str) -> Output {
        let payload = sample::payload(agent, command, &self.app()).unwrap();
        self.run(&["hook", agent], &payload.to_string())
    }

    /// Every file below the home with its bytes, those of shellgate itself left out.
    fn files(&self) -> Vec<(PathBuf, Vec<u8>)> {
        fn walk(folder: &Path, out: &mut Vec<(PathBuf, Vec<u8>)>) {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.file_name().is_some_and(|name| name == "shellgate") && path.is_dir() {
                    continue;
                }
                if path.is_dir() {
                    walk(&path, out);
                } else {
                    out.push((path.clone(), fs::read(&path).unwrap()));
                }
            }
        }
        let mut out = Vec::new();
        walk(&self.0, &mut out);
        out.sort();
        out
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

#[test]
fn every_agent_hears_a_refusal_and_keeps_its_own_flow() {
    let home = Home::new("agents");
    for agent in hook::AGENTS {
        let harmless = home.hook(agent.name, "ls -la");
        assert_eq!(harmless.status.code(), Some(0), "{}: {harmless:?}", agent.name);
        assert!(!text(&harmless.stdout).contains("shellgate"), "{}: {harmless:?}", agent.name);
        let refused = home.hook(agent.name, "rm -rf /");
        let told = if refused.status.code() == Some(2) { &refused.stderr } else { &refused.stdout };
        assert!(text(told).contains("deny_list:rm_rf"), "{}: {refused:?}", agent.name);
        let torn = home.run(&["hook", agent.name], "{\"tool_name\": \"Ba");
        let told = if torn.status.code() == Some(2) { &torn.stderr } else { &torn.stdout };
        assert!(text(told).contains("could not judge"), "{}: {torn:?}", agent.name);
    }
    assert_eq!(home.run(&["hook", "nobody"], "{}").status.code(), Some(2));
}

#[test]
fn a_broken_policy_asks_and_still_refuses() {
    let home = Home::new("policy");
    let folder = home.0.join("app/.shellgate");
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("policy.toml"), "labels = 3").unwrap();
    assert!(text(&home.hook("claude", "ls").stdout).contains("\"ask\""));
    assert!(text(&home.hook("claude", "rm -rf /").stdout).contains("\"deny\""));
}

#[test]
fn the_guard_protects_itself() {
    let home = Home::new("self");
    fs::create_dir_all(home.0.join("app/.claude")).unwrap();
    fs::write(home.0.join("app/.claude/settings.json"), "{}\n").unwrap();
    let edit = "printf '{}' > .claude/settings.json";
    assert!(!text(&home.hook("codex", edit).stdout).contains("self_protection"));
    let done = home.run(&["install", "claude", "--project", "--yes"], "");
    assert!(done.status.success(), "{done:?}");
    for command in [
        edit,
        "rm -r .claude",
        "mv .claude old",
        "tar xf a.tar -C .claude",
        "chmod -R 000 .claude",
        "python3 -c \"open('.claude/settings.json', 'w')\"",
        "s=shellgate; env $s uninstall",
        "cp x .claude/settings.json",
        "sed -i s/a/b/ ~/.config/shellgate/policy.toml",
        "cd ~/.config/shellgate && tee grants.json < x",
        "rm -rf ~/.local/state/shellgate",
        "rm .claude/*",
        "rm .claude/s*.json",
        "ln -s .claude/settings.json x; echo '{}' > x",
        "ln .claude/settings.json x",
        "ln -s .claude y && rm y/settings.json",
        "echo 'labels = {}' > .shellgate/policy.toml",
        "cat ~/.config/shellgate/grants.json",
        "shellgate allow --once abcdefgh",
        "shellgate allow",
        "shellgate grants revoke --all",
        "shellgate install --yes -- --dry-run",
        "sh -c 'shellgate uninstall --yes'",
        &format!("{PROGRAM} uninstall --yes"),
        &format!("cp /bin/true {PROGRAM}"),
    ] {
        let said = home.hook("codex", command);
        assert!(text(&said.stdout).contains("deny_list:"), "{command}: {said:?}");
    }
    for command in [
        "tar xf a.tar",
        "shellgate check 'rm -rf /'",
        "ls .claude",
        "rm -r build",
        "cat src/a.rs",
        "shellgate grants list",
        "shellgate allow --help",
        "shellgate install --dry-run claude",
        "shellgate rules show self_protection",
    ] {
        let said = home.hook("codex", command);
        assert_eq!(text(&said.stdout), "", "{command}");
    }
    let unsure = home.hook("codex", "shellgate uninstall \"$FLAG\" --yes");
    assert!(text(&unsure.stdout).contains("self_protection"), "{unsure:?}");
    for command in ["find . -name '*.o' -delete", "cp a.md .claude/commands/"] {
        let said = home.hook("codex", command);
        assert!(!text(&said.stdout).contains("self_protection"), "{command}: {said:?}");
    }
    // A tool that edits without a shell.
    let payload = serde_json::json!({
        "session_id": "s", "cwd": home.app(), "hook_event_name": "PreToolUse", "tool_name": "Edit",
        "tool_input": { "file_path": home.0.join("app/.claude/settings.json"), "old_string": "a" },
    });
    let said = home.run(&["hook", "claude"], &payload.to_string());
    assert!(text(&said.stdout).contains("self_protection"), "{said:?}");
}

#[test]
fn a_person_allows_a_stopped_call_once() {
    let home = Home::new("grants");
    let command = "cat .env";
    assert!(text(&home.hook("gemini", command).stdout).contains("\"deny\""));
    let shown = home.hook("gemini", command);
    let reply: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let person = reply["systemMessage"].as_str().unwrap();
    let line = person.lines().find(|line| line.contains("--once")).unwrap();
    let code = line.split_whitespace().last().unwrap().to_owned();
    assert!(!reply["reason"].as_str().unwrap().contains(&code));
    assert!(home.run(&["allow", "--once", &code], "").status.success());
    assert_eq!(text(&home.hook("gemini", command).stdout), "");
    assert!(text(&home.hook("gemini", command).stdout).contains("\"deny\""), "it works twice");

    // A deny rule needs a terminal, and cannot be granted for good.
    let shown = home.hook("gemini", "rm -rf /");
    let reply: Value = serde_json::from_slice(&shown.stdout).unwrap();
    let code =
        reply["systemMessage"].as_str().unwrap().split_whitespace().last().unwrap().to_owned();
    assert_eq!(home.run(&["allow", "--once", &code], "").status.code(), Some(2));
    assert_eq!(home.run(&["allow", "--always", "rm -rf /"], "").status.code(), Some(2));
    assert!(text(&home.hook("gemini", "rm -rf /").stdout).contains("\"deny\""));

    let done = home.run(&["allow", "--here", command], "");
    assert!(done.status.success(), "{done:?}");
    assert_eq!(text(&home.hook("gemini", command).stdout), "");
    assert_eq!(text(&home.hook("codex", command).stdout), "");
    let listed = home.run(&["grants", "list"], "");
    let id = text(&listed.stdout).split_whitespace().next().unwrap().to_owned();
    assert!(home.run(&["grants", "revoke", &id], "").status.success());
    assert!(text(&home.hook("gemini", command).stdout).contains("\"deny\""));
}

#[test]
fn a_key_that_stands_twice_is_no_payload() {
    let home = Home::new("twice");
    for agent in hook::AGENTS {
        let payload = sample::payload(agent.name, "ls", &home.app()).unwrap().to_string();
        let double = payload.replacen('{', "{\"zz\":1,\"zz\":2,", 1);
        let said = home.run(&["hook", agent.name], &double);
        let told = if said.status.code() == Some(2) { &said.stderr } else { &said.stdout };
        assert!(text(told).contains("stands twice"), "{}: {said:?}", agent.name);
    }
    let batch = home.run(&["check", "--jsonl", "-"], "{\"cmd\":\"ls\",\"cmd\":\"rm -rf /\"}\n");
    assert_eq!(batch.status.code(), Some(1), "{batch:?}");
    assert!(text(&batch.stdout).contains("stands twice"), "{batch:?}");
}

#[test]
fn a_person_hears_that_their_own_policy_allowed_it() {
    let home = Home::new("own");
    fs::create_dir_all(home.0.join(".config/shellgate")).unwrap();
    fs::write(
        home.0.join(".config/shellgate/policy.toml"),
        "trusted_commands = [\"make lint\"]\n[[allow]]\nutility = \"npm\"\narguments = [\"run\", \"lint\"]\n",
    )
    .unwrap();
    for (command, rule) in [("npm run lint", "[allow]"), ("make lint", "[trusted_commands]")] {
        let said = home.run(&["check", command], "");
        assert_eq!(said.status.code(), Some(0), "{said:?}");
        assert!(text(&said.stdout).contains(rule), "{said:?}");
    }
    let said = home.run(&["check", "ls"], "");
    assert!(text(&said.stdout).contains("only reads"), "{said:?}");
    assert_eq!(home.run(&["check", "npm run build"], "").status.code(), Some(10));
}

#[test]
fn an_empty_settings_file_is_set_up_and_given_back() {
    let home = Home::new("empty");
    for (file, content) in [(".claude/settings.json", ""), (".gemini/settings.json", "\n")] {
        fs::create_dir_all(home.0.join(file).parent().unwrap()).unwrap();
        fs::write(home.0.join(file), content).unwrap();
    }
    let before = home.files();
    let done = home.run(&["install", "claude", "gemini", "--yes"], "");
    assert!(done.status.success(), "{done:?}");
    for file in [".claude/settings.json", ".gemini/settings.json"] {
        let text = fs::read_to_string(home.0.join(file)).unwrap();
        assert!(serde_json::from_str::<Value>(&text).is_ok(), "{text}");
    }
    let again = home.run(&["install", "claude", "gemini", "--yes"], "");
    assert!(text(&again.stdout).contains("is set up already"), "{again:?}");
    let gone = home.run(&["uninstall", "--yes"], "");
    assert!(text(&gone.stdout).contains("stay in"), "{gone:?}");
    assert_eq!(home.files(), before);
}

#[test]
fn install_doctor_and_uninstall_as_a_new_user_would() {
    let home = Home::new("install");
    let settings = [
        (
            ".claude/settings.json",
            "{\n  // mine\n  \"model\":  \"x\",\n  \"hooks\": {\"Stop\": []},\n}\n",
        ),
        (".codex/hooks.json", "{\"hooks\":{}}"),
        (".gemini/settings.json", "{\r\n\t\"ui\": {}\r\n}\r\n"),
        (".cursor/hooks.json", "{\n    \"version\": 1,\n    \"hooks\": {}\n}"),
        (".config/crush/crush.json", "/* c */ {}\n"),
    ];
    for (file, text) in settings {
        let path = home.0.join(file);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let before = home.files();
    assert!(!home.run(&["doctor"], "").status.success(), "nothing is installed and all is well");
    let dry = home.run(&["install", "--dry-run"], "");
    assert!(dry.status.success(), "{dry:?}");
    assert!(text(&dry.stdout).contains("+++ "), "{dry:?}");
    assert_eq!(home.files(), before, "a rehearsal writes");
    assert!(!home.run(&["install"], "").status.success(), "it writes without being asked");
    assert_eq!(home.files(), before);

    let first = home.run(&["install", "--yes"], "");
    assert!(first.status.success(), "{first:?}");
    let after = home.files();
    assert_ne!(after, before);
    let again = home.run(&["install", "--yes"], "");
    assert!(again.status.success(), "{again:?}");
    assert_eq!(home.files(), after, "a second install changes something");

    let well = home.run(&["doctor"], "");
    assert!(well.status.success(), "{}", text(&well.stdout));
    let gemini = home.0.join(".gemini/settings.json");
    let kept = fs::read(&gemini).unwrap();
    fs::write(&gemini, text(&kept).replace("\"ui\": {}", "\"hooksConfig\": {\"enabled\": false}"))
        .unwrap();
    let ill = home.run(&["doctor"], "");
    assert_eq!(ill.status.code(), Some(1));
    assert!(text(&ill.stdout).contains("hooksConfig.enabled"), "{}", text(&ill.stdout));
    fs::write(&gemini, kept).unwrap();
    let local = home.0.join("app/.claude/settings.local.json");
    fs::create_dir_all(local.parent().unwrap()).unwrap();
    fs::write(&local, "{ \"disableAllHooks\": true }\n").unwrap();
    let ill = home.run(&["doctor"], "");
    assert!(text(&ill.stdout).contains("settings.local.json"), "{}", text(&ill.stdout));
    fs::remove_dir_all(local.parent().unwrap()).unwrap();

    assert!(home.run(&["uninstall", "--yes"], "").status.success());
    assert_eq!(home.files(), before, "settings are not what they were");
}

#[test]
fn plugins_are_made_for_this_program() {
    let home = Home::new("plugins");
    let done = home.run(&["install", "opencode", "amp", "--yes"], "");
    assert!(done.status.success(), "{done:?}");
    for file in [".config/opencode/plugins/shellgate.js", ".config/amp/plugins/shellgate.ts"] {
        let text = fs::read_to_string(home.0.join(file)).unwrap();
        assert!(text.contains(&format!("const program = \"{PROGRAM}\"")), "{text}");
        assert!(!text.contains("MARK") && !text.contains("VERSION"), "{text}");
    }
    assert!(settings::ON_DEMAND.iter().all(|name| hook::find(name).is_some()));
}

/// `HOOKS=2000 cargo test --release -p shellgate-cli hooks_at_once -- --nocapture` also tells how long
/// they took; with `RECORD=1` it keeps that for the scorecard.
#[test]
fn hooks_at_once_lose_and_tear_no_line() {
    let count: usize =
        std::env::var("HOOKS").ok().and_then(|text| text.parse().ok()).unwrap_or(100);
    let home = Home::new("at-once");
    let commands = ["ls -la", "cat .env", "rm -rf /", "cargo test", "git push --force origin main"];
    let started = std::time::Instant::now();
    let children: Vec<_> = (0..count)
        .map(|number| {
            let command = format!("{} # {number}", commands[number % commands.len()]);
            let payload = sample::payload("codex", &command, &home.app()).unwrap().to_string();
            let mut child = Command::new(PROGRAM)
                .args(["hook", "codex"])
                .current_dir(home.0.join("app"))
                .env_clear()
                .env("HOME", &home.0)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            child.stdin.take().unwrap().write_all(payload.as_bytes()).unwrap();
            child
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    let took = started.elapsed();
    let log = fs::read_to_string(home.0.join(".local/state/shellgate/decisions.jsonl")).unwrap();
    assert!(log.ends_with('\n'));
    let mut numbers = std::collections::BTreeSet::new();
    let mut own: Vec<u64> = Vec::new();
    for line in log.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let command = record["command"].as_str().unwrap();
        numbers.insert(command.rsplit(' ').next().unwrap().parse::<usize>().unwrap());
        own.push(record["micros"].as_u64().unwrap());
    }
    assert_eq!((own.len(), numbers.len()), (count, count));
    own.sort_unstable();
    let at = |share: usize| own[(own.len() * share / 100).min(own.len() - 1)];
    if std::env::var_os("RECORD").is_some() {
        let kept = format!(
            "hooks = {count}\nmilliseconds = {}\nhalf_us = {}\np99_us = {}\nmost_us = {}\n",
            took.as_millis(),
            at(50),
            at(99),
            own[own.len() - 1]
        );
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/hooks_at_once.toml");
        fs::write(file, kept).unwrap();
    }
    let message = format!(
        "{count} hooks in {} ms; own time of one in microseconds: half {}, p99 {}, most {}\n",
        took.as_millis(),
        at(50),
        at(99),
        own[own.len() - 1]
    );
    std::io::stderr().write_all(message.as_bytes()).unwrap();
}
