//! What tools do in real folders, with real processes.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Children, Launcher, Ran, Sandbox, ToolOptions, Toolbox, Workspace, WorkspaceError, meta,
    project,
};
use crate::guard::{Cleared, Repository as _, Surroundings};
use crate::task::call::{FailureKind, ToolCall, ToolName, ToolResult};

/// A folder of its own, deleted at the end.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let path =
            std::env::temp_dir().join(format!("shellgate-test-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir_all(path.join("root")).unwrap();
        Self(fs::canonicalize(path).unwrap())
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    fn write(&self, path: &str, content: impl AsRef<[u8]>) -> &Self {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        self
    }

    fn tools(&self) -> Toolbox {
        self.with(|_| {})
    }

    fn with(&self, change: impl FnOnce(&mut ToolOptions)) -> Toolbox {
        let workspace = Workspace::open(&[self.root()]).unwrap();
        let (project, warnings) = project::read(&workspace);
        assert_eq!(warnings, Vec::<String>::new());
        let mut options = ToolOptions::of_this_process();
        change(&mut options);
        Toolbox::new(Arc::new(workspace), Arc::new(project), &options)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cleared(tool: ToolName, args: Value) -> Cleared<ToolCall> {
    let Value::Object(args) = args else { panic!("not an object") };
    Cleared::by_test(ToolCall { id: "1".into(), tool, args })
}

async fn ran(tools: &Toolbox, tool: ToolName, args: Value) -> ToolResult {
    match tools.run(cleared(tool, args), &CancellationToken::new()).await {
        Ran::Result(result) => result,
        Ran::Proposal { files, .. } => panic!("proposed {files:?}"),
    }
}

fn kind(result: &ToolResult) -> Option<FailureKind> {
    result.failure.as_ref().map(|failure| failure.kind)
}

async fn shell(tools: &Toolbox, command: &str) -> ToolResult {
    ran(tools, ToolName::Shell, json!({ "command": command })).await
}

/// Whether a process is there that carries this word as an argument.
fn is_alive(word: &str) -> bool {
    let mut found = false;
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        if entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()) {
            let line = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found |= line.split(|byte| *byte == 0).any(|arg| arg == word.as_bytes());
        }
    }
    found
}

/// A duration for `sleep` that no other test uses.
fn seconds() -> String {
    let number = uuid::Uuid::new_v4().as_u128() % 1_000_000_000;
    format!("9{number:09}")
}

// ---- workspace -------------------------------------------------------------------------------------------

#[test]
fn roots_must_be_absolute_folders() {
    let folder = Folder::new();
    folder.write("file", "");
    assert_eq!(Workspace::open(&[]).unwrap_err(), WorkspaceError::NoRoot);
    assert!(matches!(Workspace::open(&["a".into()]), Err(WorkspaceError::Relative(_))));
    for path in [folder.0.join("missing"), folder.root().join("file")] {
        assert!(matches!(Workspace::open(&[path]), Err(WorkspaceError::Unusable { .. })));
    }
    symlink(folder.root(), folder.0.join("link")).unwrap();
    let workspace = Workspace::open(&[folder.0.join("link")]).unwrap();
    assert_eq!(workspace.place().roots, [folder.root().to_str().unwrap()]);
}

#[test]
fn links_lead_nowhere_but_inside() {
    let folder = Folder::new();
    folder.write("in/a.txt", "inside");
    fs::write(folder.0.join("out.txt"), "outside").unwrap();
    let root = folder.root();
    symlink(root.join("in"), root.join("absolute")).unwrap();
    symlink("in/a.txt", root.join("relative")).unwrap();
    symlink("../out.txt", root.join("leaves")).unwrap();
    symlink("/etc", root.join("etc")).unwrap();
    symlink("missing", root.join("dangling")).unwrap();
    symlink("loop", root.join("loop")).unwrap();
    let workspace = Workspace::open(&[root]).unwrap();
    let real = |path: &str| {
        workspace
            .resolve(path)
            .map(|at| (at.real.to_str().unwrap().to_owned(), at.exists))
            .map_err(|error| format!("{error:?}"))
    };
    let ok = |path: &str, exists| Ok((path.to_owned(), exists));
    assert_eq!(real("."), ok("", true));
    assert_eq!(real("in//./a.txt"), ok("in/a.txt", true));
    assert_eq!(real("absolute/a.txt"), ok("in/a.txt", true));
    assert_eq!(real("relative"), ok("in/a.txt", true));
    assert_eq!(real("absolute/new/b.txt"), ok("in/new/b.txt", false));
    assert_eq!(real("leaves"), Err("LeadsOut".into()));
    assert_eq!(real("etc/passwd"), Err("LeadsOut".into()));
    assert_eq!(real("etc/missing"), Err("LeadsOut".into()));
    assert_eq!(real("dangling"), Err("Dangling".into()));
    assert_eq!(real("dangling/b"), Err("Dangling".into()));
    assert!(real("loop").unwrap_err().starts_with("Unusable"));
    assert!(real("in/a.txt/b").unwrap_err().starts_with("Unusable"));
    assert!(real(&"a".repeat(300)).unwrap_err().starts_with("Unusable"));
}

#[test]
fn the_first_root_that_has_a_path_wins() {
    let (one, two) = (Folder::new(), Folder::new());
    one.write("both", "1").write("one", "1");
    two.write("both", "2").write("two", "2");
    let workspace = Workspace::open(&[one.root(), two.root()]).unwrap();
    let at = |path: &str| workspace.resolve(path).map(|at| (at.root, at.exists)).unwrap();
    assert_eq!(at("both"), (0, true));
    assert_eq!(at("two"), (1, true));
    assert_eq!(at("none"), (0, false));
}

/// A link that is swapped in between the look and the opening never leads out.
#[test]
fn a_racing_link_never_leads_out() {
    let folder = Folder::new();
    folder.write("d/f", "inside").write("keep/f", "inside");
    fs::create_dir(folder.0.join("outside")).unwrap();
    fs::write(folder.0.join("outside/f"), "SECRET").unwrap();
    fs::write(folder.0.join("outside/only-outside"), "SECRET").unwrap();
    let root = folder.root();
    let workspace = Workspace::open(std::slice::from_ref(&root)).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let _ = fs::rename(root.join("d"), root.join("d2"));
                let _ = symlink("../outside", root.join("d"));
                let _ = fs::remove_file(root.join("d"));
                let _ = fs::rename(root.join("d2"), root.join("d"));
            }
        });
        let (least, most) = (Duration::from_millis(1500), Duration::from_secs(10));
        let begin = Instant::now();
        let (mut good, mut bad) = (0_u32, 0_u32);
        // A busy machine may run one side only for a while.
        while begin.elapsed() < least || (good.min(bad) == 0 && begin.elapsed() < most) {
            match workspace.resolve("d/f").map(|at| workspace.read(&at, 100)) {
                Ok(Ok(bytes)) => {
                    assert_eq!(bytes, b"inside");
                    good += 1;
                }
                _ => bad += 1,
            }
            let at = workspace.resolve(".").unwrap();
            let wanted = super::walk::Wanted {
                ignored: &[],
                globs: ignore::overrides::Override::empty(),
                depth: 9,
            };
            super::walk::files(&workspace, &at, &wanted, &mut |found| {
                assert_ne!(found.name, "only-outside");
                if let Ok(file) = super::workspace::open_entry(found.folder, found.name) {
                    assert_eq!(std::io::read_to_string(file).unwrap(), "inside");
                }
                std::ops::ControlFlow::Continue(())
            })
            .unwrap();
        }
        stop.store(true, Ordering::Relaxed);
        assert!(good + bad > 0);
    });
}

/// Whatever a path is made of, it is refused or stays beneath its root.
#[test]
fn no_path_leads_out() {
    let folder = Folder::new();
    folder.write("a/b", "x").write("a/c/d", "x");
    let root = folder.root();
    symlink("..", root.join("a/up")).unwrap();
    symlink("../..", root.join("a/c/out")).unwrap();
    symlink("../../..", root.join("a/c/far")).unwrap();
    symlink(&root, root.join("self")).unwrap();
    let workspace = Workspace::open(&[root]).unwrap();
    let parts = [
        "a", "b", "c", "d", "up", "out", "far", "self", "/", "//", "/", ".", "..", "~", "\\",
        "\u{2025}", "\u{ff0e}", "\u{ff0f}", "\u{2044}", "C:", "\u{200b}", "\n", "%2e%2e", "/../",
        "./", "...", "\0", "é", "\u{2100}",
    ];
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let mut next = |bound: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(state >> 33).unwrap() % bound
    };
    let mut good = 0;
    for _ in 0..20_000 {
        let length = 1 + next(8);
        let path: String = (0..length).map(|_| parts[next(parts.len())]).collect();
        let Ok(at) = workspace.resolve(&path) else { continue };
        good += 1;
        assert!(
            !at.shown.starts_with('/') && !at.shown.split('/').any(|one| matches!(one, "" | "..")),
            "{path:?}"
        );
        assert!(at.shown == "." || !at.shown.split('/').any(|one| one == "."), "{path:?}");
        let is_plain =
            at.real.components().all(|one| matches!(one, std::path::Component::Normal(_)));
        assert!(is_plain, "{path:?} {at:?}");
    }
    assert!(good > 500, "{good}");
}

// ---- read_file -------------------------------------------------------------------------------------------

#[tokio::test]
async fn files_that_are_no_text_are_refused_and_never_block() {
    let folder = Folder::new();
    let mut late = vec![b'x'; 9000];
    late[8500] = 0;
    folder
        .write("a.txt", "one\r\ntwo\n")
        .write("nul", b"a\0b")
        .write("late", late)
        .write("latin", b"caf\xe9\n")
        .write("big", vec![b'x'; 10 * 1024 * 1024 + 1])
        .write("d/x", "")
        .write(".env", "A=1");
    let root = folder.root();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("fifo"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    )
    .unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        root.join("d/.gitignore"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR,
        0,
    )
    .unwrap();
    let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).unwrap();
    symlink(".env", root.join("notes")).unwrap();
    let tools = folder.tools();
    let table = [
        ("a.txt", None, "a.txt (lines 1-2 of 2)\n     1\tone\n     2\ttwo"),
        ("./d//../a.txt", Some(FailureKind::InvalidArgs), ""),
        ("missing", Some(FailureKind::InvalidArgs), ""),
        ("nul", Some(FailureKind::Failed), "`nul`: it is a binary file"),
        ("late", None, ""),
        ("latin", None, "latin (lines 1-1 of 1)\n     1\tcaf\u{fffd}"),
        ("big", Some(FailureKind::Failed), "`big`: it is larger than 10 MiB"),
        ("d", Some(FailureKind::Failed), ""),
        ("fifo", Some(FailureKind::Failed), "`fifo`: it is not a regular file"),
        ("socket", Some(FailureKind::Failed), "`socket`: it is not a regular file"),
        (".env", None, ".env (lines 1-1 of 1)\n     1\tA=1"),
        ("notes", Some(FailureKind::Failed), ""),
    ];
    for (path, expected, output) in table {
        let result = ran(&tools, ToolName::ReadFile, json!({ "path": path })).await;
        assert_eq!(kind(&result), expected, "{path}: {result:?}");
        assert!(output.is_empty() || result.output == output, "{path}: {:?}", result.output);
    }
    let result = ran(&tools, ToolName::ReadFile, json!({ "path": "a.txt", "x": 1 })).await;
    assert_eq!(kind(&result), Some(FailureKind::InvalidArgs));
    assert!(result.output.contains("`x`"));
    for tool in [ToolName::ListFiles, ToolName::Search] {
        let result = ran(&tools, tool, args_with(tool, "fifo")).await;
        assert_eq!(kind(&result), Some(FailureKind::Failed), "{result:?}");
        let result = ran(&tools, tool, args_with(tool, ".")).await;
        assert!(kind(&result).is_none() && !result.output.contains("fifo"), "{result:?}");
    }
}

fn args_with(tool: ToolName, path: &str) -> Value {
    if tool == ToolName::Search {
        json!({ "path": path, "query": "x" })
    } else {
        json!({ "path": path })
    }
}

#[tokio::test]
async fn a_workspace_that_vanished_fails_calls_only() {
    let folder = Folder::new();
    folder.write("a", "x");
    let tools = folder.tools();
    fs::rename(folder.root(), folder.0.join("elsewhere")).unwrap();
    for (tool, args) in [
        (ToolName::ReadFile, json!({"path": "a"})),
        (ToolName::ListFiles, json!({})),
        (ToolName::Search, json!({"query": "x"})),
        (ToolName::GitRead, json!({"command": "status"})),
        (ToolName::Shell, json!({"command": "true"})),
        (
            ToolName::ProposeEdit,
            json!({"files": [{"path": "a", "edits": [{"search": "x", "replace": "y"}]}]}),
        ),
    ] {
        let result = ran(&tools, tool, args).await;
        assert_eq!(kind(&result), Some(FailureKind::Failed), "{tool:?}: {result:?}");
    }
    // Wrong arguments stay wrong.
    let result = ran(&tools, ToolName::ReadFile, json!({"path": 3})).await;
    assert_eq!(kind(&result), Some(FailureKind::InvalidArgs), "{result:?}");
    fs::create_dir(folder.root()).unwrap();
    for (tool, args) in
        [(ToolName::Shell, json!({"command": "true"})), (ToolName::ReadFile, json!({"path": "a"}))]
    {
        let result = ran(&tools, tool, args).await;
        assert_eq!(kind(&result), Some(FailureKind::Failed), "{tool:?}: {result:?}");
        assert!(result.output.contains("was replaced"), "{result:?}");
    }
}

// ---- list_files and search ---------------------------------------------------------------------------------

#[tokio::test]
async fn listings_follow_ignore_rules() {
    let folder = Folder::new();
    folder
        .write(".gitignore", "*.log\n/build/\n!keep.log\n")
        .write("a.rs", "")
        .write("a.log", "")
        .write("keep.log", "")
        .write(".hidden/x", "")
        .write("build/out", "")
        .write("sub/build/in", "")
        .write("sub/.gitignore", "in\n")
        .write("sub/b.rs", "")
        .write(".git/config", "")
        .write(".git/info/exclude", "excluded\n")
        .write("excluded", "")
        .write("node_modules/m/x.js", "")
        .write("nested/.git/HEAD", "")
        .write("nested/n.log", "")
        .write(".ignore", "own\n")
        .write("own", "")
        .write("gen/x", "")
        .write("l1/l2/l3/l4", "")
        .write(".desiide/project.json", r#"{"ignoreGlobs": ["gen", ".desiide"]}"#);
    symlink("a.rs", folder.root().join("link")).unwrap();
    let tools = folder.tools();
    let list = async |args: Value| ran(&tools, ToolName::ListFiles, args).await;
    let all = list(json!({ "depth": 10 })).await;
    let expected = [
        ".gitignore",
        ".hidden/x",
        ".ignore",
        "a.rs",
        "keep.log",
        "l1/l2/l3/l4",
        "nested/n.log",
        "sub/.gitignore",
        "sub/b.rs",
    ];
    assert_eq!(all.output, expected.join("\n"));
    assert!(!all.truncated);
    let flat = list(json!({ "depth": 1 })).await;
    assert_eq!(flat.output, ".gitignore\n.ignore\na.rs\nkeep.log");
    assert_eq!(list(json!({ "path": "sub" })).await.output, "sub/.gitignore\nsub/b.rs");
    assert_eq!(list(json!({ "path": "node_modules" })).await.output, "node_modules/m/x.js");
    assert_eq!(list(json!({ "path": "a.rs" })).await.output, "a.rs");
    let cut = list(json!({ "limit": 2 })).await;
    assert!(cut.truncated && cut.output.starts_with(".gitignore\n.hidden/x\n["), "{cut:?}");
    let none = list(json!({ "path": "l1", "depth": 1 })).await;
    assert!(kind(&none).is_none() && none.output.starts_with("no files"));
}

#[tokio::test]
async fn searches_leave_secrets_out() {
    let folder = Folder::new();
    folder
        .write("a.txt", "Needle one\nneedle two\nother\n")
        .write("b/c.rs", "let needle = 1; // é\r\n")
        .write(".env", "NEEDLE=needle\n")
        .write("b/.ssh/config", "needle\n")
        .write("own.vault", "needle\n")
        .write("bin", b"needle\0needle\n")
        .write("wide", format!("needle {}", "x".repeat(600)))
        .write("big", format!("needle{}", " \n".repeat(1024 * 1024 + 1)))
        .write(".desiide/project.json", r#"{"sensitiveGlobs": ["*.vault"]}"#);
    let tools = folder.tools();
    let search = async |args: Value| ran(&tools, ToolName::Search, args).await;
    let found = search(json!({ "query": "needle" })).await;
    let cut = format!("wide:1: needle {} [107 more characters]", "x".repeat(493));
    let expected = format!(
        "a.txt:1: Needle one\na.txt:2: needle two\nb/c.rs:1: let needle = 1; // é\n{cut}\n\
         [2 files that may hold secrets were not searched]"
    );
    // The guard's names decide how many files count as secret.
    let count = |text: &str| text.lines().filter(|line| line.contains(": ")).count();
    assert_eq!(count(&found.output), 4, "{}", found.output);
    assert!(
        !found.output.contains("NEEDLE=") && !found.output.contains("own.vault:"),
        "{}",
        found.output
    );
    assert!(
        found.output.starts_with(expected.split("[2 files").next().unwrap()),
        "{}",
        found.output
    );
    assert!(
        found.output.ends_with("files that may hold secrets were not searched]"),
        "{}",
        found.output
    );
    assert_eq!(
        search(json!({ "query": "Needle" })).await.output.lines().next(),
        Some("a.txt:1: Needle one")
    );
    assert_eq!(
        count(
            &search(json!({ "query": "needle", "caseSensitive": true, "path": "a.txt" }))
                .await
                .output
        ),
        1
    );
    assert_eq!(
        count(
            &search(json!({ "query": "NEEDLE", "caseSensitive": false, "path": "a.txt" }))
                .await
                .output
        ),
        2
    );
    assert!(
        search(json!({ "query": "n.edle", "path": "b/c.rs" }))
            .await
            .output
            .starts_with("no matches")
    );
    assert_eq!(
        count(&search(json!({ "query": "n.edle", "regex": true, "path": "b/c.rs" })).await.output),
        1
    );
    assert_eq!(
        search(json!({ "query": "needle", "path": ".env" })).await.output,
        ".env:1: NEEDLE=needle"
    );
    assert!(
        search(json!({ "query": "needle", "path": "bin" })).await.output.starts_with("no matches")
    );
    assert!(
        search(json!({ "query": "needle", "glob": "*.rs" })).await.output.starts_with("b/c.rs:1:")
    );
    let limited = search(json!({ "query": "needle", "maxResults": 1 })).await;
    assert!(
        limited.truncated && limited.output.starts_with("a.txt:1: Needle one\n[only"),
        "{limited:?}"
    );
    for args in [
        json!({ "query": "(", "regex": true }),
        json!({ "query": "a\nb" }),
        json!({ "query": "a", "glob": "{a" }),
        json!({ "query": "a", "path": "missing" }),
        json!({ "query": "a", "path": "../x" }),
    ] {
        assert_eq!(kind(&search(args.clone()).await), Some(FailureKind::InvalidArgs), "{args}");
    }
}

#[tokio::test]
async fn huge_folders_stay_within_limits() {
    let folder = Folder::new();
    for index in 0..3000 {
        folder.write(&format!("d/{index:04}"), "x\n");
    }
    let tools = folder.tools();
    let listed = ran(&tools, ToolName::ListFiles, json!({ "limit": 2000 })).await;
    assert!(listed.truncated && listed.output.lines().count() == 2001);
    let found = ran(&tools, ToolName::Search, json!({ "query": "x", "maxResults": 500 })).await;
    assert!(found.truncated && found.output.lines().count() == 501);
}

// ---- propose_edit ------------------------------------------------------------------------------------------

async fn propose(tools: &Toolbox, files: Value) -> Ran {
    tools
        .run(cleared(ToolName::ProposeEdit, json!({ "files": files })), &CancellationToken::new())
        .await
}

fn edit(path: &str, search: &str, replace: &str) -> Value {
    json!({ "path": path, "edits": [{ "search": search, "replace": replace }] })
}

#[tokio::test]
async fn every_problem_of_every_file_is_told() {
    let folder = Folder::new();
    folder
        .write("a.txt", "one two two\nthree  four\n")
        .write("bin", b"a\0")
        .write("latin", b"caf\xe9")
        .write("d/x", "x")
        .write(".env", "A=1\n")
        .write("vendor/.git/config", "x");
    symlink("a.txt", folder.root().join("alias")).unwrap();
    symlink(".env", folder.root().join("notes")).unwrap();
    symlink(".git", folder.root().join("g")).unwrap();
    let tools = folder.tools();
    let table = [
        (edit("../a", "x", "y"), "invalid_path"),
        (edit("/a", "x", "y"), "invalid_path"),
        (edit(".", "x", "y"), "protected_path"),
        (edit(".git/hooks/pre-commit", "", "x"), "protected_path"),
        (edit(".GIT/config", "", "x"), "protected_path"),
        (edit("vendor/.git/config", "x", "y"), "protected_path"),
        (edit("notes", "A=1", "A=2"), "protected_path"),
        (edit("d", "x", "y"), "not_a_text_file"),
        (edit("bin", "a", "b"), "not_a_text_file"),
        (edit("latin", "caf", "x"), "not_a_text_file"),
        (edit("missing", "x", "y"), "file_not_found"),
        (edit("a.txt", "five", "x"), "search_not_found"),
        (edit("a.txt", "three four", "x"), "search_not_found"),
        (edit("a.txt", "two", "x"), "search_ambiguous"),
    ];
    for (file, code) in table {
        let Ran::Result(result) = propose(&tools, json!([file.clone()])).await else {
            panic!("{file} went through")
        };
        assert_eq!(kind(&result), Some(FailureKind::Failed));
        let line: Value = serde_json::from_str(result.output.lines().last().unwrap()).unwrap();
        assert_eq!(line["error"], "edit_validation_failed");
        assert_eq!(line["problems"][0]["code"], code, "{file}");
        assert_eq!(line["problems"].as_array().unwrap().len(), 1);
    }
    let both = json!([
        edit("a.txt", "one", "1"),
        edit("./a.txt", "one", "1"),
        edit("alias", "one", "1"),
        edit("no", "x", "y")
    ]);
    let Ran::Result(result) = propose(&tools, both).await else { panic!() };
    let line: Value = serde_json::from_str(result.output.lines().last().unwrap()).unwrap();
    let codes: Vec<&str> = line["problems"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["code"].as_str().unwrap())
        .collect();
    assert_eq!(codes, ["duplicate_path", "duplicate_path", "file_not_found"]);
    assert_eq!(line["problems"][2]["editIndex"], 0);
    assert!(line["problems"][0].get("editIndex").is_none());
    let Ran::Result(result) = propose(&tools, json!([edit("a.txt", "three four", "x")])).await
    else {
        panic!()
    };
    assert!(result.output.contains("white space"));
    let Ran::Result(result) = propose(&tools, json!([edit("a.txt", "two", "x")])).await else {
        panic!()
    };
    assert!(result.output.contains("2 times"));
}

#[tokio::test]
async fn good_edits_are_proposed_as_given() {
    let folder = Folder::new();
    folder
        .write("a.txt", "one\ntwo\n")
        .write("w.txt", "one\r\ntwo\r\n")
        .write("m.txt", "one\r\ntwo\n");
    let tools = folder.tools();
    let files = json!([
        { "path": "./a.txt", "edits": [
            { "search": "one", "replace": "1" }, { "search": "1\ntwo", "replace": "2" }, { "search": "", "replace": "0\n" }
        ] },
        edit("new/b.rs", "", "fn b() {}\n"),
        edit("w.txt", "one\ntwo", "1\n2"),
        edit("m.txt", "one\r\ntwo\n", "1\n"),
        edit(".vscode/tasks.json", "", "{}"),
    ]);
    let Ran::Proposal { files, metas, notes } = propose(&tools, files).await else { panic!() };
    let paths: Vec<&str> = files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "new/b.rs", "w.txt", "m.txt", ".vscode/tasks.json"]);
    assert_eq!(files[0].edits[1].search, "1\ntwo");
    assert_eq!(
        (files[2].edits[0].search.as_str(), files[2].edits[0].replace.as_str()),
        ("one\r\ntwo", "1\r\n2")
    );
    assert_eq!(files[3].edits[0].replace, "1\n");
    assert_eq!(metas[0].size_lines, 2);
    assert_eq!((metas[1].size_lines, metas[1].language.as_str()), (0, "rust"));
    assert!(metas[4].sensitive);
    assert!(notes.iter().any(|note| note.contains("tasks.json")), "{notes:?}");
    assert!(!folder.root().join("new").exists());
}

#[test]
fn lines_of_a_file_are_counted() {
    let folder = Folder::new();
    folder.write("0", "").write("1", "x").write("2", "x\ny\n").write("3", "x\ny\n\nz");
    let workspace = Workspace::open(&[folder.root()]).unwrap();
    for (path, lines) in [("0", 0), ("1", 1), ("2", 2), ("3", 4), ("missing", 0), ("../x", 0)] {
        assert_eq!(meta::of(&workspace, &[], path).size_lines, lines, "{path}");
    }
}

// ---- project -----------------------------------------------------------------------------------------------

/// Paths and contents.
type Files = &'static [(&'static str, &'static str)];

#[test]
fn commands_are_detected_in_order() {
    let table: &[(Files, Option<&str>, Option<&str>)] = &[
        (&[], None, None),
        (
            &[("package.json", r#"{"scripts":{"test":"vitest","lint":"eslint ."}}"#)],
            Some("npm test"),
            Some("npm run lint"),
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"x"}}"#), ("pnpm-lock.yaml", "")],
            Some("pnpm test"),
            None,
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"x"}}"#), ("yarn.lock", "")],
            Some("yarn test"),
            None,
        ),
        (
            &[("package.json", r#"{"scripts":{"test":"x"}}"#), ("bun.lock", "")],
            Some("bun test"),
            None,
        ),
        (
            &[
                (
                    "package.json",
                    r#"{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}"#,
                ),
                ("Cargo.toml", ""),
            ],
            Some("cargo test"),
            Some("cargo clippy --all-targets"),
        ),
        (&[("package.json", "{")], None, None),
        (&[("setup.py", "")], Some("pytest"), None),
        (&[("pyproject.toml", "[tool.ruff.lint]\n")], Some("pytest"), Some("ruff check .")),
        (&[("ruff.toml", ""), ("go.mod", "")], Some("go test ./..."), Some("ruff check .")),
        (
            &[
                ("Cargo.toml", ""),
                (".desiide/project.json", r#"{"testCommand":"make t","more":1}"#),
            ],
            Some("make t"),
            Some("cargo clippy --all-targets"),
        ),
    ];
    for (files, test, lint) in table {
        let folder = Folder::new();
        for (path, content) in *files {
            folder.write(path, content);
        }
        let (project, warnings) = project::read(&Workspace::open(&[folder.root()]).unwrap());
        assert_eq!(
            (project.test_command.as_deref(), project.lint_command.as_deref()),
            (*test, *lint),
            "{files:?}"
        );
        assert!(warnings.is_empty());
    }
    for content in
        ["{", "[]", r#"{"testCommand":""}"#, r#"{"testCommand":null}"#, r#"{"ignoreGlobs":[""]}"#]
    {
        let folder = Folder::new();
        folder.write(".desiide/project.json", content).write("go.mod", "");
        let (project, warnings) = project::read(&Workspace::open(&[folder.root()]).unwrap());
        assert_eq!(
            (project.test_command.as_deref(), warnings.len()),
            (Some("go test ./..."), 1),
            "{content}"
        );
    }
}

// ---- shell and its children --------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn shell_results_are_mapped() {
    let folder = Folder::new();
    let tools = folder.tools();
    let good = shell(&tools, "printf a; printf b >&2; printf 'c\\n'; pwd; cat").await;
    assert_eq!(good.output, format!("abc\n{}\n", folder.root().display()));
    assert_eq!((good.exit_code, kind(&good), good.truncated), (Some(0), None, false));
    let bad = shell(&tools, "echo x; exit 3").await;
    assert_eq!((bad.exit_code, kind(&bad)), (Some(3), Some(FailureKind::Failed)));
    assert!(bad.output.starts_with("x\n"));
    let quiet = shell(&tools, "true").await;
    assert_eq!(quiet.output, "(no output)");
    let killed = shell(&tools, "kill -9 $$").await;
    assert_eq!((killed.exit_code, kind(&killed)), (Some(137), Some(FailureKind::Failed)));
    let nul = shell(&tools, "a\0b").await;
    assert_eq!(kind(&nul), Some(FailureKind::Failed));
    let begin = Instant::now();
    let args = json!({ "command": "echo early; sleep 30", "timeoutMs": 1000 });
    let late = ran(&tools, ToolName::Shell, args).await;
    assert_eq!(kind(&late), Some(FailureKind::Timeout));
    assert!(late.output.starts_with("early\n") && late.exit_code.is_none());
    assert!(begin.elapsed() < Duration::from_secs(5));
    let cancel = CancellationToken::new();
    let call = cleared(ToolName::Shell, json!({ "command": "echo early; sleep 30" }));
    let stopper = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(700)).await;
        stopper.cancel();
    });
    let Ran::Result(result) = tools.run(call, &cancel).await else { panic!() };
    assert_eq!(kind(&result), Some(FailureKind::Cancelled));
    assert!(result.output.starts_with("early\n"));
}

#[tokio::test(flavor = "multi_thread")]
async fn huge_output_keeps_its_end() {
    let tools = Folder::new();
    let tools = tools.tools();
    let result = shell(&tools, "head -c 20000000 /dev/zero | tr '\\0' x; echo; echo end").await;
    assert!(result.truncated && result.output.ends_with("x\nend\n"), "{}", result.output.len());
    assert!(
        result.output.starts_with("[19934469 bytes of earlier output were dropped]\nxxx"),
        "{:.100}",
        result.output
    );
    let binary = shell(&tools, "head -c 100000 /dev/urandom").await;
    assert!(kind(&binary).is_none() && binary.truncated);
}

#[tokio::test(flavor = "multi_thread")]
async fn no_descendant_survives() {
    let folder = Folder::new();
    let tools = folder.tools();
    let deeds = [
        "sleep N & echo ok",
        "setsid sleep N >/dev/null 2>&1 & echo ok; sleep 0.1",
        "(setsid sh -c 'sleep N & sleep N' >/dev/null 2>&1 &) ; sleep 0.1; echo ok",
        "nohup setsid -f sleep N >/dev/null 2>&1 </dev/null; echo ok; sleep 0.1",
        "python3 -c 'import os,time\nif os.fork()==0:\n os.setsid()\n if os.fork()==0:\n  os.execvp(\"sleep\",[\"sleep\",\"N\"])\n os._exit(0)\ntime.sleep(0.2)'; echo ok",
        "trap '' TERM HUP INT; sh -c 'trap \"\" TERM HUP; sleep N' & sleep 0.1; echo ok",
    ];
    for deed in deeds {
        let word = seconds();
        let result = shell(&tools, &deed.replace('N', &word)).await;
        assert!(kind(&result).is_none() && result.output.ends_with("ok\n"), "{deed}: {result:?}");
        assert!(!is_alive(&word), "{deed}");
        // The same, killed by the clock.
        let word = seconds();
        let line = format!("{}; sleep {word}", deed.replace('N', &word));
        let result =
            ran(&tools, ToolName::Shell, json!({ "command": line, "timeoutMs": 1000 })).await;
        assert_eq!(kind(&result), Some(FailureKind::Timeout), "{deed}");
        assert!(!is_alive(&word), "{deed}");
    }
    assert_eq!(tools.options.children.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bomb_is_defused() {
    let folder = Folder::new();
    let tools = folder.tools();
    let word = seconds();
    // Each one forks in a session of its own and ends, so that its process id never stays; bounded by time.
    let chain = format!(
        "python3 -c 'import os,sys,time\nend=time.time()+20\nwhile time.time()<end:\n if os.fork(): os._exit(0)\n os.setsid()' {word}"
    );
    // A few hundred sleepers, each in a session of its own.
    let many = format!(
        "i=0; while [ $i -lt 200 ]; do setsid sleep {word} & i=$((i+1)); done; sleep {word}"
    );
    for line in [chain, many] {
        let begin = Instant::now();
        let result =
            ran(&tools, ToolName::Shell, json!({ "command": line, "timeoutMs": 1500 })).await;
        assert!(begin.elapsed() < Duration::from_secs(9), "{:?} {result:?}", begin.elapsed());
        assert!(!is_alive(&word), "{result:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killing_the_launcher_frees_nobody() {
    let folder = Folder::new();
    let tools = folder.tools();
    let word = seconds();
    // The shell's parent is the launcher.
    let line = format!("setsid sleep {word} & sleep 0.1; kill -9 $PPID; sleep {word}");
    let result = shell(&tools, &line).await;
    assert_eq!(kind(&result), Some(FailureKind::Failed), "{result:?}");
    assert!(result.output.contains("was killed"), "{result:?}");
    assert!(!is_alive(&word));
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_a_call_and_shutdown_kill_everything() {
    let folder = Folder::new();
    let tools = folder.tools();
    let word = seconds();
    let line = format!("setsid sleep {word} & sleep {word}");
    let call = cleared(ToolName::Shell, json!({ "command": line }));
    let cancel = CancellationToken::new();
    let dropped = tokio::time::timeout(Duration::from_millis(900), tools.run(call, &cancel)).await;
    assert!(dropped.is_err());
    let children = tools.options.children.clone();
    assert!(children.count() == 1);
    for _ in 0..100 {
        if children.count() == 0 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(!is_alive(&word));
    let mut running = Vec::new();
    for _ in 0..3 {
        let (tools, line) = (tools.clone(), line.clone());
        running.push(tokio::spawn(async move { shell(&tools, &line).await }));
    }
    tokio::time::sleep(Duration::from_millis(900)).await;
    assert!(children.kill_all(Duration::from_secs(5)).await);
    assert!(!is_alive(&word));
    for one in running {
        assert_eq!(kind(&one.await.unwrap()), Some(FailureKind::Cancelled));
    }
    assert_eq!(kind(&shell(&tools, "true").await), Some(FailureKind::Cancelled));
}

#[tokio::test(flavor = "multi_thread")]
async fn descriptors_do_not_leak_into_children_or_here() {
    let folder = Folder::new();
    let tools = folder.tools();
    // Whoever started this process may have left it some that outlive an exec.
    let inherited = || {
        let entries = fs::read_dir("/proc/self/fdinfo").unwrap().flatten();
        let flags = entries.filter_map(|entry| {
            let number: u32 = entry.file_name().to_str()?.parse().ok()?;
            let text = fs::read_to_string(entry.path()).ok()?;
            let line = text.lines().find_map(|line| line.strip_prefix("flags:"))?;
            let flags = u32::from_str_radix(line.trim(), 8).ok()?;
            (number > 2 && flags & 0o2_000_000 == 0).then_some(())
        });
        flags.count()
    };
    let before = inherited();
    let seen = shell(&tools, "ls /proc/self/fd | wc -l").await;
    // Input, output, errors, and the folder that is listed.
    assert_eq!(seen.output.trim(), (4 + before).to_string(), "{seen:?}");
    assert_eq!(tools.options.children.count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn children_see_a_filtered_environment() {
    let folder = Folder::new();
    let tools = folder.with(|options| {
        options.environment.push(("MY_API_KEY".into(), "hush".into()));
        options.environment.push(("DATABASE".into(), "pg://u:hush@h/d".into()));
        options.environment.push(("PLAIN".into(), "seen".into()));
    });
    let result = shell(&tools, "env").await;
    assert!(result.output.contains("PLAIN=seen") && !result.output.contains("hush"), "{result:?}");
    assert!(!result.output.contains("SHELLGATE_TEST_LAUNCHER"));
}

#[tokio::test(flavor = "multi_thread")]
async fn checks_sum_up() {
    let folder = Folder::new();
    folder.write(
        ".desiide/project.json",
        r#"{"testCommand":"echo '3 passed, 1 failed'; exit 1","lintCommand":"echo fine"}"#,
    );
    let tools = folder.tools();
    let tests = ran(&tools, ToolName::RunTests, json!({})).await;
    assert_eq!((kind(&tests), tests.exit_code), (Some(FailureKind::Failed), Some(1)));
    let lines: Vec<&str> = tests.output.lines().collect();
    assert_eq!(lines[0], "$ echo '3 passed, 1 failed'; exit 1");
    assert!(lines[1].starts_with("failed (exit code 1, "));
    assert_eq!(lines[2..], ["3 passed, 1 failed", "---", "3 passed, 1 failed"]);
    let lint = ran(&tools, ToolName::Lint, json!({})).await;
    assert_eq!((kind(&lint), lint.exit_code), (None, Some(0)));
    let none = ran(&Folder::new().tools(), ToolName::Lint, json!({})).await;
    assert!(kind(&none) == Some(FailureKind::Failed) && none.output.contains("lintCommand"));
}

#[tokio::test]
async fn a_launcher_that_is_none_fails_the_call() {
    let folder = Folder::new();
    let launcher = |program: &str| Launcher {
        program: program.into(),
        arguments: Vec::new(),
        environment: Vec::new(),
    };
    for program in ["/missing", "/bin/true"] {
        let tools = folder.with(|options| options.children = Children::new(launcher(program)));
        let result = shell(&tools, "true").await;
        assert_eq!(kind(&result), Some(FailureKind::Failed), "{result:?}");
    }
}

// ---- sandbox -----------------------------------------------------------------------------------------------

#[tokio::test(flavor = "multi_thread")]
async fn the_sandbox_confines() {
    let folder = Folder::new();
    let outside = folder.0.join("outside");
    fs::write(&outside, "x").unwrap();
    let outside = outside.display();
    for (sandbox, inside) in [(Sandbox::WorkspaceWrite, true), (Sandbox::ReadOnly, false)] {
        let tools = folder.with(|options| options.sandbox = sandbox);
        let good = shell(
            &tools,
            "echo x > /dev/null; cat /etc/passwd > \"$TMPDIR/x\"; ls | wc -l; echo ok",
        )
        .await;
        assert!(kind(&good).is_none(), "{good:?}");
        assert!(good.output.starts_with(&format!("[sandbox: {}", sandbox.name())), "{good:?}");
        for (line, works) in [
            (format!("echo y > {outside}"), false),
            (format!("rm -f {outside}"), false),
            (format!("mv {outside} ./stolen"), false),
            (format!("truncate -s 0 {outside}"), false),
            ("echo y > inside && chmod 600 inside && mkdir d && rmdir d".to_owned(), inside),
            ("python3 -c 'import socket; socket.socket()'".to_owned(), false),
            ("python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"/x\")' 2>&1 | grep -v PermissionError >/dev/null && false".to_owned(), false),
            ("python3 -c 'import socket; socket.socketpair()'".to_owned(), true),
            ("kill -0 $PPID".to_owned(), false),
        ] {
            let result = shell(&tools, &line).await;
            assert_eq!(kind(&result).is_none(), works, "{} {line}: {result:?}", sandbox.name());
        }
        assert_eq!(fs::read_to_string(folder.0.join("outside")).unwrap(), "x");
    }
    let tools = folder.with(|options| options.sandbox = Sandbox::ReadOnly);
    let before = fs::metadata(folder.0.join("outside")).unwrap().permissions();
    assert!(kind(&shell(&tools, &format!("chmod 777 {outside}")).await).is_some());
    assert_eq!(fs::metadata(folder.0.join("outside")).unwrap().permissions(), before);
    let word = seconds();
    let line = format!("setsid sleep {word} >/dev/null 2>&1 & echo \"$TMPDIR\"; sleep 0.1");
    let result = shell(&tools, &line).await;
    assert!(!is_alive(&word));
    let temporary = result.output.lines().nth(1).unwrap();
    assert!(temporary.contains("shellgate-") && !Path::new(temporary).exists(), "{result:?}");
}

// ---- git_read ----------------------------------------------------------------------------------------------

async fn repository(folder: &Folder) -> Toolbox {
    let tools = folder.tools();
    let result = shell(
        &tools,
        "git init -q -b trunk . && git config user.email a@b && git config user.name A && git add -A && git commit -qm 'first commit'",
    )
    .await;
    assert!(kind(&result).is_none(), "{result:?}");
    tools
}

async fn git(tools: &Toolbox, args: Value) -> ToolResult {
    ran(tools, ToolName::GitRead, args).await
}

#[tokio::test(flavor = "multi_thread")]
async fn git_reads_without_secrets() {
    let folder = Folder::new();
    folder.write("a.txt", "one\n").write(".env", "HUSH=1\n").write("d/b.txt", "b\n");
    let tools = repository(&folder).await;
    assert_eq!(tools.branch(&CancellationToken::new()).await, Some("trunk".into()));
    folder.write("a.txt", "two\n").write(".env", "HUSH=2\n").write("new name.txt", "n\n");
    let status = git(&tools, json!({"command": "status"})).await;
    assert!(status.output.starts_with("## trunk\n M .env\n M a.txt\n"), "{status:?}");
    let diff = git(&tools, json!({"command": "diff"})).await;
    assert!(diff.output.contains("+two") && !diff.output.contains("HUSH"), "{diff:?}");
    assert!(diff.output.contains("left out: .env"), "{diff:?}");
    let named = git(&tools, json!({"command": "diff", "path": ".env"})).await;
    assert!(named.output.contains("+HUSH=2"), "{named:?}");
    let staged = git(&tools, json!({"command": "diff", "staged": true})).await;
    assert_eq!(staged.output, "(no changes)");
    let log = git(&tools, json!({"command": "log"})).await;
    assert!(log.output.contains("first commit") && log.output.lines().count() == 1, "{log:?}");
    let show = git(&tools, json!({"command": "show", "ref": "HEAD"})).await;
    assert!(show.output.contains("first commit") && show.output.contains("+one"), "{show:?}");
    assert!(!show.output.contains("HUSH"), "{show:?}");
    let file = git(&tools, json!({"command": "show", "ref": "HEAD:a.txt"})).await;
    assert_eq!(file.output, "one");
    let tree = git(&tools, json!({"command": "show", "ref": "HEAD:d"})).await;
    assert!(tree.output.contains("b.txt"), "{tree:?}");
    let blob = shell(&tools, "git rev-parse HEAD:.env").await.output.trim().to_owned();
    for (reference, command) in [
        ("HEAD:.env", "show"),
        ("HEAD:./.env", "show"),
        (":.env", "show"),
        (":0:.env", "show"),
        (blob.as_str(), "show"),
        ("HEAD:.env", "diff"),
        (blob.as_str(), "diff"),
        ("HEAD:a.txt..HEAD:.env", "diff"),
        ("HEAD:a.txt..HEAD:.env", "show"),
        ("missing", "show"),
    ] {
        let result = git(&tools, json!({"command": command, "ref": reference})).await;
        assert!(
            kind(&result).is_some() && !result.output.contains("HUSH"),
            "{command} {reference}: {result:?}"
        );
    }
    assert_eq!(
        kind(&git(&tools, json!({"command": "log", "path": "../x"})).await),
        Some(FailureKind::InvalidArgs)
    );
    let outside = git(&Folder::new().tools(), json!({"command": "status"})).await;
    assert!(
        kind(&outside) == Some(FailureKind::Failed) && outside.output.starts_with("git: fatal:"),
        "{outside:?}"
    );
}

/// Everything a repository's settings could start writes a file; none may be there afterwards.
#[tokio::test(flavor = "multi_thread")]
async fn git_starts_nothing_the_repository_asks_for() {
    let folder = Folder::new();
    folder.write("a.txt", "one\n").write(".gitattributes", "*.txt filter=evil diff=evil\n");
    let tools = repository(&folder).await;
    let mark = folder.0.join("mark");
    let evil = format!("sh -c 'touch {}; cat'", mark.display());
    for name in [
        "core.fsmonitor",
        "core.pager",
        "pager.log",
        "pager.diff",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "gpg.program",
        "core.sshCommand",
        "filter.od=d.clean",
    ] {
        let result = shell(&tools, &format!("git config {name} \"{evil}\"")).await;
        assert!(kind(&result).is_none() || name.contains("od=d"), "{name}: {result:?}");
    }
    shell(&tools, "git config log.showSignature true; git config core.hooksPath hooks").await;
    folder.write("a.txt", "two\n");
    for args in [
        json!({"command": "status"}),
        json!({"command": "diff"}),
        json!({"command": "diff", "ref": "HEAD"}),
        json!({"command": "log"}),
        json!({"command": "show", "ref": "HEAD"}),
        json!({"command": "show", "ref": "HEAD:a.txt"}),
    ] {
        let result = git(&tools, args.clone()).await;
        assert!(kind(&result).is_none(), "{args}: {result:?}");
        assert!(!mark.exists(), "{args}");
    }
}

/// A command of the shell tool that only reads starts nothing the repository's settings name; the person's
/// own drivers work on, and so does all a person agreed to.
#[tokio::test(flavor = "multi_thread")]
async fn readers_by_git_start_nothing_the_repository_asks_for() {
    let folder = Folder::new();
    folder.write("a.txt", "one\n").write("b.txt", "one\n");
    folder.write(".gitattributes", "a.txt filter=evil diff=evil\nb.txt diff=own\n");
    let home = folder.0.join("home");
    fs::create_dir(&home).unwrap();
    fs::write(home.join(".gitconfig"), "[diff \"own\"]\n textconv = sed s/^/own:/\n").unwrap();
    repository(&folder).await;
    let tools = folder.with(|options| {
        options.environment.retain(|(name, _)| name != "HOME" && name != "XDG_CONFIG_HOME");
        options.environment.push(("HOME".into(), home.clone().into()));
    });
    let mark = folder.0.join("mark");
    let evil = format!("sh -c 'touch {}; cat'", mark.display());
    for name in [
        "core.fsmonitor",
        "core.pager",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.process",
        "gpg.program",
    ] {
        shell(&tools, &format!("git config {name} \"{evil}\"")).await;
    }
    shell(&tools, "git config log.showSignature true").await;
    folder.write("a.txt", "two\n").write("b.txt", "two\n");
    let read = async |command: &str| {
        let call = ToolCall {
            id: "1".into(),
            tool: ToolName::Shell,
            args: json!({ "command": command }).as_object().unwrap().clone(),
        };
        match tools.run(Cleared::reader_by_test(call), &CancellationToken::new()).await {
            Ran::Result(result) => result,
            Ran::Proposal { .. } => panic!("proposed"),
        }
    };
    for command in
        ["git status", "git diff", "git -C . diff HEAD", "git log -p", "cd . && git show"]
    {
        let result = read(command).await;
        assert!(kind(&result).is_none(), "{command}: {result:?}");
        assert!(!mark.exists(), "{command}");
    }
    // A repository that names a program for all files leaves its person's own no room.
    shell(&tools, "git config --unset diff.external").await;
    assert!(read("git diff").await.output.contains("+own:two"));
    let diff = read("git diff").await.output;
    assert!(diff.contains("+++ b/a.txt\n") && diff.contains("+two\n"), "{diff}");
    // The person's word is enough for the rest.
    shell(&tools, "git status").await;
    assert!(mark.exists());
}

#[tokio::test(flavor = "multi_thread")]
async fn migrations_wait_when_they_are_new_since_the_last_commit() {
    let folder = Folder::new();
    folder.write("db/migrate/001_first.sql", "x\n").write("src/a.rs", "x\n");
    let tools = repository(&folder).await;
    assert!(!tools.has_pending_migrations().await);
    folder.write("src/b.rs", "x\n");
    assert!(!tools.has_pending_migrations().await);
    folder.write("db/migrate/002_next.sql", "x\n");
    assert!(tools.has_pending_migrations().await);
    shell(&tools, "git add -A").await;
    assert!(tools.has_pending_migrations().await);
    shell(&tools, "git commit -qm second").await;
    assert!(!tools.has_pending_migrations().await);
    let plain = Folder::new();
    plain.write("migrations/1.sql", "x");
    assert!(!plain.tools().has_pending_migrations().await);
}

#[test]
fn a_project_has_as_many_lines_as_its_own_text_files() {
    let folder = Folder::new();
    folder
        .write("a.rs", "1\n2\n3\n")
        .write("d/b.rs", "1\n2")
        .write("image", b"\0\n\n\n")
        .write(".gitignore", "out\n")
        .write("out/c.rs", "1\n")
        .write("node_modules/x.js", "1\n");
    assert_eq!(folder.tools().lines(), 6);
    assert_eq!(Folder::new().tools().lines(), 0);
}

#[test]
fn tools_say_where_they_run() {
    let tools = Folder::new().with(|options| options.environment = vec![("CI".into(), "1".into())]);
    assert_eq!(tools.surroundings(), Surroundings::Ci);
}

#[tokio::test(flavor = "multi_thread")]
async fn scripts_stand_behind_a_command() {
    let folder = Folder::new();
    folder.write(
        "package.json",
        r#"{"scripts": {"pretest": "npm run build", "test": "vitest", "build": "tsc",
            "start": "node .", "all": "run-p check:*", "check:a": "a", "lint": "eslint . && yarn types",
            "types": "tsc --noEmit", "posttypes": "echo"}}"#,
    );
    let tools = folder.tools();
    for (command, names) in [
        ("npm test", &["build", "pretest", "test"][..]),
        ("npm t", &["build", "pretest", "test"]),
        ("cd . && npm run-script start", &["start"]),
        ("yarn lint", &["lint", "posttypes", "types"]),
        ("npm ci", &[]),
        ("make test", &[]),
        ("vitest", &[]),
    ] {
        let text = tools.behind(command).await;
        let found: serde_json::Map<String, Value> =
            text.map(|text| serde_json::from_str(&text).unwrap()).unwrap_or_default();
        assert_eq!(found.keys().collect::<Vec<_>>(), names, "{command}");
    }
    assert!(tools.behind("npm run all").await.unwrap().contains("check:a"));
    assert_eq!(Folder::new().tools().behind("npm test").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn git_shows_only_the_workspace_of_a_larger_repository() {
    let folder = Folder::new();
    folder
        .write("apps/web/a.txt", "one\n")
        .write("apps/api/b.txt", "one\n")
        .write(".gitignore", "*.tmp\n/apps/web/dist/\n");
    repository(&folder).await;
    folder
        .write("apps/web/a.txt", "two\n")
        .write("apps/api/b.txt", "OUTSIDE\n")
        .write("apps/web/x.tmp", "")
        .write("apps/web/dist/y", "");
    let workspace = Workspace::open(&[folder.root().join("apps/web")]).unwrap();
    let tools = Toolbox::new(Arc::new(workspace), Arc::default(), &ToolOptions::of_this_process());
    let diff = git(&tools, json!({"command": "diff"})).await;
    assert!(diff.output.contains("a/a.txt") && !diff.output.contains("OUTSIDE"), "{diff:?}");
    let show = git(&tools, json!({"command": "show", "ref": "HEAD"})).await;
    assert!(show.output.contains("+one") && !show.output.contains("b.txt"), "{show:?}");
    assert_eq!(
        git(&tools, json!({"command": "show", "ref": "HEAD:apps/web/a.txt"})).await.output,
        "one"
    );
    assert_eq!(git(&tools, json!({"command": "show", "ref": "HEAD:./a.txt"})).await.output, "one");
    for reference in ["HEAD:apps/api/b.txt", "HEAD:./../api/b.txt", "HEAD:apps", "HEAD^{tree}"] {
        let result = git(&tools, json!({"command": "show", "ref": reference})).await;
        assert!(kind(&result).is_some(), "{reference}: {result:?}");
    }
    let listed = ran(&tools, ToolName::ListFiles, json!({})).await;
    assert_eq!(listed.output, "a.txt");
}
