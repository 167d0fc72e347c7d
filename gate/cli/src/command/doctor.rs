//! `shellgate doctor`: whether the guard is really on.

use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use crate::command::Failure;
use crate::command::install::{chosen, folders, known, machine, note, text};
use crate::edit;
use crate::hook::{self, sample};
use crate::protect;
use crate::store::installed::Entry;
use crate::store::{Folders, grants};

/// Arguments of `doctor`.
#[derive(Args, Debug)]
pub struct Arguments {}

/// How long a hook may take before it counts as hanging.
const PATIENCE: Duration = Duration::from_secs(20);

/// The search path that agents started from a desktop have.
const POOR_PATH: &str = "/usr/bin:/bin";

/// What was found, in order.
#[derive(Debug, Default)]
struct Findings {
    lines: Vec<(bool, String)>,
}

impl Findings {
    fn good(&mut self, text: impl Into<String>) {
        self.lines.push((true, text.into()));
    }

    fn bad(&mut self, text: impl Into<String>) {
        self.lines.push((false, text.into()));
    }
}

/// Looks and tells; status 1 when something is wrong.
///
/// # Errors
/// See [`Failure`].
pub fn run(_: &Arguments) -> Result<u8, Failure> {
    let folders = folders()?;
    let installed = known(&folders)?;
    let mut found = Findings::default();
    if installed.entries.is_empty() {
        found.bad("no agent calls shellgate: run `shellgate install`");
    } else {
        program(&mut found, &installed.program);
    }
    for entry in &installed.entries {
        agent(&mut found, entry);
    }
    own_files(&mut found, &folders);
    policies(&mut found);
    let mut out = io::stdout().lock();
    for (good, text) in &found.lines {
        writeln!(out, "{} {text}", if *good { "ok  " } else { "BAD " })?;
    }
    for note in installed.entries.iter().filter_map(|entry| note(&entry.agent)) {
        writeln!(out, "note {note}")?;
    }
    for agent in chosen(&[], &machine(false)?) {
        if !installed.entries.iter().any(|entry| entry.agent == agent.name) {
            let name = agent.name;
            writeln!(out, "note {name} is here and not guarded: `shellgate install {name}`")?;
        }
    }
    Ok(u8::from(found.lines.iter().any(|(good, _)| !good)))
}

/// The program that agents start: there, not open to others, of this version, the first in PATH.
fn program(found: &mut Findings, path: &Path) {
    let shown = path.display();
    match std::fs::metadata(path) {
        Err(error) => {
            found.bad(format!(
                "`{shown}` cannot be started ({error}): run `shellgate install` again"
            ));
            return;
        }
        Ok(meta) if meta.permissions().mode() & 0o111 == 0 => {
            found.bad(format!("`{shown}` is no program: run `chmod 755 {shown}`"));
            return;
        }
        Ok(meta) if meta.permissions().mode() & 0o022 != 0 => {
            found.bad(format!("others may change `{shown}`: run `chmod go-w {shown}`"));
        }
        Ok(_) => {}
    }
    let version = Command::new(path).arg("--version").stdin(Stdio::null()).output();
    let own = concat!("shellgate ", env!("CARGO_PKG_VERSION"));
    match version {
        Ok(output) if String::from_utf8_lossy(&output.stdout).trim() == own => {
            found.good(format!("`{shown}` is {own}"));
        }
        Ok(output) => found.bad(format!(
            "`{shown}` says it is `{}`, this is {own}: run `shellgate install` with the one you want",
            String::from_utf8_lossy(&output.stdout).trim()
        )),
        Err(error) => found.bad(format!("`{shown}` cannot be started: {error}")),
    }
    let real = |path: &Path| std::fs::canonicalize(path).ok();
    let first = std::env::var_os("PATH").and_then(|all| {
        std::env::split_paths(&all)
            .map(|folder| folder.join("shellgate"))
            .find(|file| file.is_file())
    });
    match first {
        Some(first) if real(&first) != real(path) => found.bad(format!(
            "`shellgate` at your prompt is `{}`, agents start `{shown}`: remove one of them",
            first.display()
        )),
        _ => {}
    }
}

/// One agent: its file still has the entry, nothing switches hooks off, and the hook refuses.
fn agent(found: &mut Findings, entry: &Entry) {
    let name = &entry.agent;
    let file = entry.file.display();
    let again = format!("run `shellgate install {name}` again");
    match text(&entry.file) {
        Ok(Some(text)) if !holds(&text, &entry.command) => {
            found.bad(format!("{name}: `{file}` no longer calls shellgate: {again}"));
            return;
        }
        Ok(Some(text)) => {
            if let Some(key) = switched_off(name, &text) {
                found.bad(format!("{name}: `{key}` in `{file}` switches hooks off: remove it"));
            }
        }
        Ok(None) => {
            found.bad(format!("{name}: `{file}` is gone: {again}"));
            return;
        }
        Err(what) => {
            found.bad(format!("{name}: {what}"));
            return;
        }
    }
    for other in beside(entry) {
        let Some(text) = text(&other).ok().flatten() else { continue };
        if let Some(key) = switched_off(name, &text) {
            found.bad(format!(
                "{name}: `{key}` in `{}` switches hooks off: remove it",
                other.display()
            ));
        }
    }
    if name == "codex" {
        let beside = entry.file.with_file_name("config.toml");
        let off = text(&beside).ok().flatten().and_then(|text| text.parse::<toml::Table>().ok());
        let off = off.and_then(|table| table.get("features")?.get("hooks")?.as_bool());
        if off == Some(false) {
            found.bad(format!(
                "codex: `features.hooks = false` in `{}` switches hooks off: remove it",
                beside.display()
            ));
        }
    }
    match std::fs::metadata(&entry.file) {
        Ok(meta) if meta.permissions().mode() & 0o022 != 0 => {
            found.bad(format!("{name}: others may change `{file}`: run `chmod go-w {file}`"));
        }
        _ => {}
    }
    match canary(entry) {
        Ok(took) => found.good(format!(
            "{name}: the hook in `{file}` refuses the canary ({} ms)",
            took.as_millis()
        )),
        Err(what) => found.bad(format!("{name}: the hook in `{file}` {what}")),
    }
}

/// Whether a settings file holds the command, as it is or in a string of JSON.
fn holds(text: &str, command: &str) -> bool {
    let escaped = Value::String(command.to_owned()).to_string();
    let program = command.split(" hook ").next().unwrap_or_default().trim_matches('\'');
    text.contains(command)
        || text.contains(escaped.trim_matches('"'))
        // Plugins keep program and arguments apart.
        || (text.contains("spawnSync") && text.contains(program))
}

/// Other files that the agent reads its settings from here: the local one beside the file, and those of
/// the project around this directory.
fn beside(entry: &Entry) -> Vec<PathBuf> {
    let folder = match entry.agent.as_str() {
        "claude" => ".claude",
        "qwen" => ".qwen",
        "gemini" => ".gemini",
        _ => return Vec::new(),
    };
    let here = std::env::current_dir().unwrap_or_default();
    let own = entry.file.parent().map(Path::to_path_buf);
    let mut files: Vec<PathBuf> = own
        .into_iter()
        .chain(here.ancestors().map(|root| root.join(folder)))
        .flat_map(|folder| [folder.join("settings.json"), folder.join("settings.local.json")])
        .filter(|file| *file != entry.file)
        .collect();
    files.sort();
    files.dedup();
    files
}

/// The setting that switches hooks off, if there is one.
fn switched_off(agent: &str, text: &str) -> Option<&'static str> {
    let is = |keys: &[&str], value: bool| {
        edit::get(text, keys).ok().flatten() == Some(Value::Bool(value))
    };
    match agent {
        "claude" | "qwen" | "copilot" if is(&["disableAllHooks"], true) => Some("disableAllHooks"),
        "droid" if is(&["hooksDisabled"], true) => Some("hooksDisabled"),
        "gemini" if is(&["hooksConfig", "enabled"], false) => Some("hooksConfig.enabled"),
        "gemini" => {
            let off = edit::elements(text, &["hooksConfig", "disabled"]).unwrap_or_default();
            off.iter().any(|one| one == "shellgate").then_some("hooksConfig.disabled")
        }
        _ => None,
    }
}

/// Starts the hook as the agent does, with a command that is always refused.
fn canary(entry: &Entry) -> Result<Duration, String> {
    let home = std::env::var("HOME").unwrap_or_default();
    let payload = sample::payload(&entry.agent, "shellgate canary", &home)
        .ok_or("belongs to an agent that is not known")?;
    let own = "/bin/sh".to_owned();
    let (shell, flag) = if entry.agent == "codex" {
        (std::env::var("SHELL").unwrap_or(own), "-lc")
    } else {
        (own, "-c")
    };
    let mut command = Command::new(shell);
    command.arg(flag).arg(&entry.command).env_clear().env("PATH", POOR_PATH);
    for name in ["HOME", "USER", "LANG", "XDG_CONFIG_HOME", "XDG_STATE_HOME"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    let started = Instant::now();
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("cannot be started: {error}"))?;
    if let Some(mut input) = child.stdin.take() {
        // A hook that ends without reading shows itself by its reply.
        let _ = input.write_all(payload.to_string().as_bytes());
    }
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() > PATIENCE => {
                let _ = child.kill();
                let _ = child.wait();
                return Err("hangs".into());
            }
            Ok(None) => std::thread::sleep(Duration::from_millis(5)),
            Err(error) => return Err(format!("is lost: {error}")),
        }
    };
    let took = started.elapsed();
    let mut stdout = String::new();
    let mut stderr = String::new();
    let read = |pipe: Option<&mut dyn io::Read>, text: &mut String| {
        pipe.map_or(Ok(0), |pipe| pipe.take(1 << 20).read_to_string(text))
    };
    let outcome = read(child.stdout.as_mut().map(|pipe| pipe as &mut dyn io::Read), &mut stdout)
        .and_then(|_| {
            read(child.stderr.as_mut().map(|pipe| pipe as &mut dyn io::Read), &mut stderr)
        });
    if let Err(error) = outcome {
        return Err(format!("replies with something that is no text: {error}"));
    }
    let code = status.code().unwrap_or(-1);
    if refuses(&stdout, &stderr, code) {
        Ok(took)
    } else {
        Err(format!(
            "does not refuse the canary: status {code}, `{}` `{}`",
            hook::text::shown(stdout.trim()),
            hook::text::shown(stderr.trim())
        ))
    }
}

/// Whether a reply names the rule of the canary and refuses, in whatever dialect.
fn refuses(stdout: &str, stderr: &str, code: i32) -> bool {
    let named = |text: &str| text.contains(protect::LABEL);
    if code == 2 {
        return named(stderr);
    }
    let Ok(reply) = serde_json::from_str::<Value>(stdout) else { return false };
    let says = |pointer: &str| reply.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let refused = [
        "/hookSpecificOutput/permissionDecision",
        "/permissionDecision",
        "/decision",
        "/permission",
    ]
    .iter()
    .any(|pointer| matches!(says(pointer), "deny" | "block"))
        || reply.get("cancel") == Some(&Value::Bool(true));
    code == 0 && refused && named(stdout)
}

/// The files of our own: readable, closed to others.
fn own_files(found: &mut Findings, folders: &Folders) {
    let before = found.lines.len();
    if let Err(error) = grants::read(&grants::file(folders)) {
        found.bad(format!("grants: {error}"));
    }
    let files: [PathBuf; 4] = [
        folders.config.clone(),
        folders.config.join("policy.toml"),
        folders.config.join("installed.json"),
        folders.state.clone(),
    ];
    for file in files {
        let shown = file.display();
        match std::fs::metadata(&file) {
            Ok(meta) if meta.permissions().mode() & 0o022 != 0 => {
                found.bad(format!("others may change `{shown}`: run `chmod go-w {shown}`"));
            }
            _ => {}
        }
    }
    if found.lines.len() == before {
        found.good("grants, policy and log are closed to others");
    }
}

/// The policies in force here can be read.
fn policies(found: &mut Findings) {
    let place = crate::command::Place {
        cwd: None,
        workspaces: Vec::new(),
        home: None,
        branch: None,
        policy: None,
        preset: crate::command::PresetName::Hook,
        shell: None,
    };
    let gate = crate::machine::context(&place)
        .and_then(|context| crate::policy::gate_with(&place, context, Vec::new()));
    match gate {
        Ok((gate, _)) => {
            for warning in gate.warnings() {
                found.bad(warning.clone());
            }
            found.good("policies can be read");
        }
        Err(failure) => found.bad(format!("until this is repaired every command asks: {failure}")),
    }
}
