//! What only shows over the wire of the real program, on a real folder: sandboxes, ways out of the
//! workspace, links, scripts that change, and failures of models.

use std::io::Write as _;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use shellgate_orchestrator::rpc::frame::frame;

use super::model;
use super::play::Folder;
use super::program::{Client, example, program};

/// A workspace, with a folder beside it that is none of it.
pub(super) struct House {
    folder: Folder,
    /// Address of a stand-in for a model.
    pub(super) model: String,
}

impl House {
    pub(super) fn new(name: &str) -> Self {
        let folder = Folder::new(&format!("wire-{name}"));
        std::fs::create_dir(folder.0.join("root")).unwrap();
        std::fs::create_dir(folder.0.join("away")).unwrap();
        let own = Self { folder, model: model::start() };
        own.write("root/a.txt", "alpha\n");
        own.write("away/kept.txt", "kept\n");
        own
    }

    pub(super) fn path(&self, path: &str) -> std::path::PathBuf {
        self.folder.0.join(path)
    }

    pub(super) fn write(&self, path: &str, text: &str) {
        std::fs::write(self.path(path), text).unwrap();
    }

    pub(super) fn open(&self, flags: &[&str]) -> Client {
        let mut client = Client::spawn(flags);
        client.open(&self.path("root"), &self.model).unwrap();
        client
    }
}

/// A task whose model makes these calls in its first turn.
pub(super) fn calls(calls: &[(&str, Value)]) -> Value {
    json!({
        "kind": "other",
        "instruction": model::instruction(calls),
        "allowedTools": ["read_file", "propose_edit", "shell", "run_tests"],
    })
}

pub(super) fn shell(command: &str) -> Value {
    calls(&[("shell", json!({ "command": command }))])
}

/// Results of calls, in order.
pub(super) fn results(events: &[Value]) -> Vec<&Value> {
    let finished = |event: &&Value| event["type"] == "tool_call_finished";
    events.iter().filter(finished).map(|event| &event["result"]).collect()
}

/// Labels of each question a person was asked.
fn questions(events: &[Value]) -> Vec<&Value> {
    let asked = |event: &&Value| event["type"] == "approval_required";
    events.iter().filter(asked).map(|event| &event["reasons"]).collect()
}

pub(super) fn end(events: &[Value]) -> (&str, Option<&str>) {
    let last = events.last().unwrap();
    (last["to"].as_str().unwrap_or_default(), last["reason"].as_str())
}

#[test]
fn a_sandbox_confines_what_a_person_agreed_to() {
    let house = House::new("sandbox");
    let away = house.path("away/new.txt");
    for (mode, writes_inside) in [("workspace-write", true), ("read-only", false)] {
        let mut client = house.open(&["--sandbox", mode]);
        let inside = house.path("root/made.txt");
        let command =
            format!("cat a.txt; echo x > made.txt; echo x > {}; echo over", away.display());
        let events = client.play(&shell(&command), |_| "approve").unwrap();
        let [result] = results(&events)[..] else { panic!("{events:?}") };
        let output = result["output"].as_str().unwrap();
        if output.contains("did not run") && output.contains("landlock") {
            println!("left out: the sandbox {mode}, which this kernel cannot make: {output}");
            continue;
        }
        assert!(output.starts_with(&format!("[sandbox: {mode}; ")), "{output}");
        assert!(output.contains("alpha") && output.contains("over"), "{output}");
        assert_eq!((inside.exists(), away.exists()), (writes_inside, false), "{mode}: {output}");
        if writes_inside {
            std::fs::remove_file(inside).unwrap();
        }
        client.close_input();
        assert_eq!(client.wait().unwrap().0, Some(0));
    }
}

#[test]
fn edits_do_not_leave_the_workspace() {
    let house = House::new("edits");
    symlink(house.path("away"), house.path("root/way")).unwrap();
    symlink(house.path("away/kept.txt"), house.path("root/link.txt")).unwrap();
    symlink(house.path("away/none.txt"), house.path("root/hanging.txt")).unwrap();
    std::fs::create_dir_all(house.path("root/.git/hooks")).unwrap();
    let mut client = house.open(&[]);
    let absolute = house.path("away/new.txt");
    for path in [
        "../away/new.txt",
        absolute.to_str().unwrap(),
        "~/new.txt",
        "way/new.txt",
        "way/kept.txt",
        "link.txt",
        "hanging.txt",
        "a/../../away/new.txt",
        "..\\away\\new.txt",
        "\u{ff0e}\u{ff0e}/away/new.txt",
        ".git/hooks/pre-commit",
        ".GIT/config",
        ".",
    ] {
        let edit = json!({ "search": "", "replace": "evil\n" });
        let args = json!({ "files": [{ "path": path, "edits": [edit] }] });
        let events = client.play(&calls(&[("propose_edit", args)]), |_| "approve").unwrap();
        let [result] = results(&events)[..] else { panic!("{path}: {events:?}") };
        assert_eq!(result["ok"], false, "{path}: {result}");
        assert!(events.iter().all(|event| event["type"] != "edit_proposed"), "{path}");
        assert_eq!(end(&events), ("done", None), "{path}");
    }
    assert_eq!(std::fs::read_to_string(house.path("away/kept.txt")).unwrap(), "kept\n");
    assert_eq!(names(&house.path("away")), ["kept.txt"]);
    assert!(names(&house.path("root/.git/hooks")).is_empty());
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_command_that_reads_or_writes_through_a_link_out_is_asked_about() {
    let house = House::new("links");
    house.write("root/.env", "KEY=of-a-secret-file\n");
    symlink("../away/kept.txt", house.path("root/notes.txt")).unwrap();
    symlink("../away", house.path("root/docs")).unwrap();
    symlink(".env", house.path("root/quiet.txt")).unwrap();
    symlink("a.txt", house.path("root/same.txt")).unwrap();
    let mut client = house.open(&[]);
    for (command, label) in [
        ("cat notes.txt", "outside_workspace"),
        ("cat docs/kept.txt", "outside_workspace"),
        ("cat a.txt notes.txt", "outside_workspace"),
        ("cat *.txt", "outside_workspace"),
        ("head < notes.txt", "outside_workspace"),
        ("ls docs", "outside_workspace"),
        ("cat docs/../away/kept.txt", "outside_workspace"),
        ("cat quiet.txt", "sensitive_file"),
        ("echo x > notes.txt", "outside_workspace"),
        ("cp a.txt docs/new.txt", "outside_workspace"),
    ] {
        let events = client.play(&shell(command), |_| "reject").unwrap();
        let [labels] = questions(&events)[..] else { panic!("{command}: {events:?}") };
        assert!(labels.as_array().unwrap().contains(&json!(label)), "{command}: {labels}");
    }
    for command in ["cat same.txt", "cat a.txt", "wc -l < a.txt", "ls"] {
        let events = client.play(&shell(command), |_| "reject").unwrap();
        assert!(questions(&events).is_empty(), "{command}: {events:?}");
        assert_eq!(results(&events)[0]["ok"], true, "{command}");
    }
    assert_eq!(std::fs::read_to_string(house.path("away/kept.txt")).unwrap(), "kept\n");
}

#[test]
fn what_the_service_keeps_follows_no_link_of_the_workspace() {
    for (name, link) in
        [("above", ".desiide"), ("state", ".desiide/state"), ("logs", ".desiide/logs")]
    {
        let house = House::new(&format!("kept-{name}"));
        if link != ".desiide" {
            std::fs::create_dir(house.path("root/.desiide")).unwrap();
        }
        symlink(house.path("away"), house.path("root").join(link)).unwrap();
        let mut client = house.open(&[]);
        let events = client.play(&shell("cat a.txt"), |_| "reject").unwrap();
        assert_eq!(end(&events), ("done", None), "{link}");
        assert_eq!(names(&house.path("away")), ["kept.txt"], "{link}");
        client.ask("decisions.list", &json!({})).unwrap();
        client.close_input();
        assert_eq!(client.wait().unwrap().0, Some(0));
    }
    // A directory the person named may be a link; what is in it may not.
    let house = House::new("kept-data");
    symlink(house.path("away"), house.path("data")).unwrap();
    let data = house.path("data");
    let flags = ["--data-dir", data.to_str().unwrap()];
    let mut client = house.open(&flags);
    assert_eq!(end(&client.play(&shell("cat a.txt"), |_| "reject").unwrap()), ("done", None));
    assert!(house.path("away/tasks.sqlite3").exists());
    drop(client);
    for file in ["tasks.sqlite3", "tasks.sqlite3-wal", "tasks.sqlite3-shm"] {
        let _ = std::fs::remove_file(house.path("away").join(file));
    }
    symlink(house.path("root/stolen"), house.path("away/tasks.sqlite3")).unwrap();
    let mut client = house.open(&flags);
    let events = client.play(&shell("cat a.txt"), |_| "reject").unwrap();
    assert_eq!(end(&events), ("failed", Some("internal_error")));
    assert!(!house.path("root/stolen").exists());
}

#[test]
fn a_script_that_changes_is_asked_about_again() {
    let house = House::new("scripts");
    let package = |script: &str| {
        let text = json!({ "scripts": { "pretest": script, "test": "echo tested" } }).to_string();
        house.write("root/package.json", &text);
    };
    package("echo before");
    let mut client = house.open(&[]);
    let tests = calls(&[("run_tests", json!({}))]);
    let mut asked = |says: &'static str| {
        let events = client.play(&tests, |_| says).unwrap();
        questions(&events).len()
    };
    // Whether npm is there does not matter: it is the question that counts.
    assert_eq!((asked("approve"), asked("reject")), (1, 0));
    package("echo something else");
    assert_eq!(asked("reject"), 1);
    assert_eq!((asked("approve"), asked("reject")), (1, 0));
}

#[test]
fn a_person_can_follow_the_demo() {
    let house = House::new("demo");
    house.write("root/README.md", "# A project\n");
    let play = |more: &[&str], input: &str| {
        let mut child = Command::new(program())
            .args(["demo", house.path("root").to_str().unwrap(), "show me"])
            .args(more)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0));
        String::from_utf8(output.stdout).unwrap()
    };
    let told = play(&["--allow", "shell"], "too soon\ny\n");
    for line in [
        "gate: it runs unasked [read_only_allow]",
        "deny_list:curl_pipe_sh: It runs code that comes over the network, unseen.",
        "instead: Download it to a file of the workspace",
        "gate: you are asked [not_safe_now, irreversible]",
        "not_safe_now: Nothing says that it is harmless.",
        "? shell {\"command\":\"touch made-by-the-demo\"}",
        "too soon",
        "gate: you review it",
        "  applied",
        "* done",
    ] {
        assert!(told.contains(line), "{line} is missing:\n{told}");
    }
    assert!(house.path("root/HELLO.md").exists() && !house.path("root/made-by-the-demo").exists());
    let told = play(&[], "");
    assert!(
        told.contains("> a call that cannot begin") && told.contains("--allow shell"),
        "{told}"
    );
    let help = Command::new(program()).args(["demo", "--help"]).output().unwrap();
    assert_eq!(help.status.code(), Some(0));
    assert!(String::from_utf8(help.stdout).unwrap().contains("What the lines mean:"));
}

#[test]
fn standard_output_carries_frames_and_nothing_else_whatever_prints() {
    let mut child = Command::new(example("claimed"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A child that reads standard input takes nothing of the client's.
    child.stdin.take().unwrap().write_all(b"of the client\n").unwrap();
    let output = child.wait_with_output().unwrap();
    let said = |word: &str| {
        let params = json!({ "word": word });
        frame(
            json!({ "jsonrpc": "2.0", "method": "said", "params": params }).to_string().as_bytes(),
        )
    };
    let wanted = [said("before"), said("after")].concat();
    let (got, noise) = (String::from_utf8_lossy(&output.stdout), output.stderr);
    assert_eq!(got, String::from_utf8_lossy(&wanted));
    let noise = String::from_utf8_lossy(&noise);
    for line in ["printed", "written to standard output", "written to descriptor 1", "by a child"] {
        assert!(noise.contains(line), "{line}: {noise}");
    }
    assert!(!noise.contains("of the client"), "{noise}");
    assert_eq!(output.status.code(), Some(0));
}

/// Lines of a log, each of them JSON.
fn lines(path: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_log_file_keeps_its_level_and_no_secret() {
    const SECRET: &str = "sk-never-in-a-log-0123456789";
    let house = House::new("log-file");
    let logs = house.path("logs/deeper");
    let file = logs.join("orchestrator.log");
    for (level, least) in [("debug", 20), ("warn", 40)] {
        let _ = std::fs::remove_file(&file);
        let flags = ["--log-dir", logs.to_str().unwrap(), "--log-level", level];
        let mut client = Client::spawn(&flags);
        client.secret = Some(SECRET);
        client.open(&house.path("root"), &house.model).unwrap();
        let model = json!({ "id": "m", "provider": "openai-compatible", "model": "m",
            "apiKey": "secret:k", "baseUrl": house.model });
        // A threshold that is not known, and a role whose name holds the secret once it is known.
        client.ask("config.update", &json!({ "models": [model] })).unwrap();
        assert_eq!(client.ask("models.test", &json!({ "modelId": "m" })).unwrap()["ok"], true);
        let settings = json!({ "models": [model], "roles": { "cheap": format!("m-{SECRET}") },
            "gating": { "thresholds": { "no.such": 2 } } });
        client.ask("config.update", &settings).unwrap();
        client.close_input();
        assert_eq!(client.wait().unwrap().0, Some(0));
        let lines = lines(&file);
        let levels: Vec<i64> = lines.iter().map(|line| line["level"].as_i64().unwrap()).collect();
        assert!(levels.iter().all(|own| *own >= least), "{lines:?}");
        assert!(levels.contains(&least), "{lines:?}");
        let said =
            |text: &str| lines.iter().any(|line| line["msg"].as_str().unwrap().contains(text));
        assert!(said("no.such") && said("[redacted]"), "{lines:?}");
        assert_eq!(said("session opened"), level == "debug", "{lines:?}");
        assert!(!std::fs::read_to_string(&file).unwrap().contains(SECRET));
    }
}

#[test]
fn a_history_that_is_taken_away_is_told_of_once() {
    let house = House::new("taken-away");
    let mut client = house.open(&[]);
    assert_eq!(end(&client.play(&shell("cat a.txt"), |_| "reject").unwrap()), ("done", None));
    assert_eq!(client.logs, Vec::<Value>::new());
    std::fs::remove_dir_all(house.path("root/.desiide/state")).unwrap();
    for _ in 0..2 {
        assert_eq!(end(&client.play(&shell("cat a.txt"), |_| "reject").unwrap()), ("done", None));
    }
    client.ask("task.list", &json!({})).unwrap();
    let told: Vec<&str> =
        client.logs.iter().map(|line| line["message"].as_str().unwrap()).collect();
    assert!(told.len() == 1 && told[0].contains("tasks.sqlite3"), "{told:?}");
}

#[test]
fn a_workspace_that_vanishes_while_a_task_runs_fails_its_calls() {
    let house = House::new("vanishes");
    let data = house.path("data");
    let mut client = house.open(&["--data-dir", data.to_str().unwrap()]);
    let task = calls(&[
        ("shell", json!({ "command": "touch made" })),
        ("read_file", json!({ "path": "a.txt" })),
        ("shell", json!({ "command": "cat a.txt" })),
    ]);
    let root = house.path("root");
    let events = client.play(&task, |_| {
        let _ = std::fs::remove_dir_all(&root);
        "approve"
    });
    let events = events.unwrap();
    for result in results(&events) {
        assert_eq!(result["error"]["kind"], "failed", "{result}");
        assert!(result["output"].as_str().unwrap().contains("is gone"), "{result}");
    }
    assert_eq!(results(&events).len(), 3);
    // The next one has no workspace to begin with; when it is back, so are tasks.
    let next = client.play(&task, |_| "reject").unwrap();
    assert_eq!(end(&next), ("failed", Some("no_workspace")));
    std::fs::create_dir(&root).unwrap();
    assert_eq!(end(&client.play(&task, |_| "reject").unwrap()), ("done", None));
}

#[test]
fn failures_of_models_have_their_names() {
    let house = House::new("models");
    let mut client = house.open(&[]);
    for (status, kind, retryable) in [(408, "timeout", true), (304, "unknown", false)] {
        let task = json!({ "kind": "explain", "instruction": format!("[[status {status}]]") });
        let events = client.play(&task, |_| "reject").unwrap();
        assert_eq!(end(&events), ("failed", Some(format!("model_error:{kind}").as_str())));
        let error = &events[events.len() - 2];
        assert_eq!((&error["kind"], &error["retryable"]), (&json!(kind), &json!(retryable)));
    }
}

#[test]
fn a_blank_before_the_colon_of_a_header_does_no_harm() {
    let mut client = Client::spawn(&[]);
    let body = json!({ "jsonrpc": "2.0", "id": 1, "method": "health.ping" }).to_string();
    client.raw(format!("Content-Length : {}\r\nX-Other: y\r\n\r\n{body}", body.len()).as_bytes());
    assert_eq!(client.answer(1).unwrap()["error"]["code"], -32002);
    client.raw(b"Content-Size: 2\r\n\r\n{}");
    assert_eq!(client.wait().unwrap().0, Some(1));
}

#[test]
fn a_workspace_that_can_never_be_one_is_refused() {
    let house = House::new("roots");
    let file = house.path("root/a.txt");
    let missing = house.path("nowhere");
    let client_of = json!({ "name": "wire", "version": "1" });
    let mut client = Client::spawn(&[]);
    let mut open = |root: &str| {
        let params =
            json!({ "protocolVersion": "1.0.0", "client": client_of, "workspaceRoots": [root] });
        client.ask("initialize", &params)
    };
    for (root, why) in [
        ("root", "must be an absolute path"),
        (file.to_str().unwrap(), "is no folder"),
        ("/", "the root of the file system is no workspace"),
    ] {
        let error = open(root).unwrap_err();
        assert!(error.contains("-32602") && error.contains(why), "{root}: {error}");
    }
    // One that is not there may come back; its tasks say what they miss.
    open(missing.to_str().unwrap()).unwrap();
    let model =
        json!({ "id": "m", "provider": "openai-compatible", "model": "m", "baseUrl": house.model });
    client.ask("config.update", &json!({ "models": [model] })).unwrap();
    let task = json!({ "kind": "explain", "instruction": "look" });
    let events = client.play(&task, |_| "reject").unwrap();
    assert_eq!(end(&events), ("failed", Some("no_workspace")));
    std::fs::create_dir(&missing).unwrap();
    let events = client.play(&task, |_| "reject").unwrap();
    assert_eq!(end(&events), ("done", None));
}
