//! The log of decisions: whole under many writers and crashes, without secrets, and judged again.

use std::io::Write as _;
use std::path::PathBuf;

use shellgate::Gate;
use shellgate::load::{Level, Policy};
use shellgate::model::context::Context;
use shellgate::model::verdict::Decision;
use shellgate_cli::command::replay::{Fate, again};
use shellgate_cli::examples;
use shellgate_cli::spare;
use shellgate_cli::store::log::{FILES, Log};
use shellgate_cli::store::record::Record;
use shellgate_cli::store::redact::redact;

/// A folder of one test, gone when it is dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("shellgate-store-{}-{name}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        Self(path)
    }

    fn log(&self) -> Log {
        Log::at(self.0.clone())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn record(command: &str) -> Record {
    let context = Context::default();
    Record::new("test", command, &context, &Gate::builtin().classify(command, &context))
}

#[test]
fn what_is_written_is_read() {
    let folder = Folder::new("round");
    let log = folder.log();
    assert!(log.read().unwrap().records.is_empty());
    let records = [record("rm -rf /"), record("ls"), record("echo 'é\n\"' | sh")];
    for record in &records {
        log.append(record).unwrap();
    }
    let read = log.read().unwrap();
    assert_eq!(read.records, records);
    assert_eq!(read.bad, 0);
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = |path: &PathBuf| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&log.path()), 0o600);
        assert_eq!(mode(&folder.0), 0o700);
    }
}

#[test]
fn many_writers_lose_and_tear_no_line() {
    let folder = Folder::new("many");
    // Small files, so that they take turns many times while others write.
    let log = folder.log().with_file_bytes(64 * 1024);
    std::thread::scope(|scope| {
        for writer in 0..16 {
            let log = log.clone();
            scope.spawn(move || {
                for number in 0..50 {
                    log.append(&record(&format!("echo {writer} {number}"))).unwrap();
                }
            });
        }
    });
    let read = log.read().unwrap();
    assert_eq!(read.bad, 0);
    let mut commands: Vec<String> = read.records.into_iter().map(|one| one.command).collect();
    commands.sort();
    commands.dedup();
    assert_eq!(commands.len(), 800);
}

#[test]
fn files_take_turns_and_the_oldest_goes() {
    let folder = Folder::new("turns");
    let log = folder.log().with_file_bytes(1000);
    for number in 0..200 {
        log.append(&record(&format!("echo {number}"))).unwrap();
    }
    let files: Vec<_> = std::fs::read_dir(&folder.0)
        .unwrap()
        .map(|entry| entry.unwrap())
        .filter(|entry| entry.file_name() != "decisions.jsonl.lock")
        .collect();
    assert_eq!(files.len(), FILES as usize);
    assert!(files.iter().all(|file| file.metadata().unwrap().len() <= 1000));
    let read = log.read().unwrap();
    assert_eq!(read.bad, 0);
    let last: Vec<usize> = read
        .records
        .iter()
        .map(|one| one.command.trim_start_matches("echo ").parse().unwrap())
        .collect();
    assert_eq!(last.last(), Some(&199));
    assert!(last.windows(2).all(|pair| pair[0] + 1 == pair[1]), "{last:?}");
}

#[test]
fn a_torn_line_costs_itself_alone() {
    let folder = Folder::new("torn");
    let log = folder.log();
    log.append(&record("ls")).unwrap();
    let line = record("rm -rf /").to_line();
    let mut file = std::fs::OpenOptions::new().append(true).open(log.path()).unwrap();
    file.write_all(&line.as_bytes()[..line.len() / 2]).unwrap();
    drop(file);
    let read = log.read().unwrap();
    assert_eq!((read.records.len(), read.bad), (1, 1));
    log.append(&record("pwd")).unwrap();
    let read = log.read().unwrap();
    let commands: Vec<&str> = read.records.iter().map(|one| one.command.as_str()).collect();
    assert_eq!((commands, read.bad), (vec!["ls", "pwd"], 1));
}

#[test]
fn no_secret_reaches_the_disk() {
    // None of these is anybody's.
    let table = [
        ("curl -H 'Authorization: Bearer s3cr3tvalue' https://example.com", "s3cr3tvalue"),
        ("git clone https://me:s3cr3tvalue@example.com/a.git", "s3cr3tvalue"),
        ("NPM_TOKEN=s3cr3tvalue npm publish", "s3cr3tvalue"),
        ("export AWS_SECRET_ACCESS_KEY=\"s3cr3t/value+\"", "s3cr3t/value+"),
        ("aws s3 ls --profile AKIAABCDEFGHIJKLMNOP", "AKIAABCDEFGHIJKLMNOP"),
        ("psql postgres://u:s3cr3tvalue@db/x", "s3cr3tvalue"),
        ("PGPASSWORD='s3cr3t value' psql", "s3cr3t value"),
        ("mysql -u root -ps3cr3tvalue", "s3cr3tvalue"),
        ("sshpass -p s3cr3tvalue ssh a@b", "s3cr3tvalue"),
        ("docker login -u me -p s3cr3tvalue", "s3cr3tvalue"),
        ("curl -u me:s3cr3tvalue https://example.com", "s3cr3tvalue"),
        ("gh auth login --with-token <<< ghp_abcdefghijklmnopqrstuvwxyz0123456789", "ghp_abc"),
        ("curl 'https://example.com/?access_token=s3cr3tvalue&x=1'", "s3cr3tvalue"),
        ("curl -d '{\"password\": \"s3cr3tvalue\"}' https://example.com", "s3cr3tvalue"),
        ("printf '%s' 'sk-abcdefghijklmnopqrstuvwxyz' | x", "sk-abc"),
        ("http --auth me:s3cr3tvalue GET example.com", "s3cr3tvalue"),
        ("redis-cli -a s3cr3tvalue ping", "s3cr3tvalue"),
        ("tool --api-key s3cr3tvalue run", "s3cr3tvalue"),
        ("tool --client-secret=s3cr3tvalue run", "s3cr3tvalue"),
        ("curl -H 'PRIVATE-TOKEN: s3cr3tvalue' x", "s3cr3tvalue"),
    ];
    for (command, secret) in table {
        let line = record(command).to_line();
        assert!(!line.contains(secret), "{line}");
        assert!(Record::from_line(line.as_bytes()).unwrap().redacted, "{command}");
    }
    for plain in [
        "cargo test --workspace",
        "git log --format='%h %s' -n 5",
        "grep -rn token src",
        "rg 'password' --glob '*.rs'",
        "cat tokens.txt | sort --key=2",
        "export PATH=$PATH:/x PWD=/y",
        "docker run -p 8080:80 nginx",
        "curl https://example.com/a/b?page=2",
        "git checkout 3f786850e387550fdab836ed7e6dc881de23001b",
        "echo $GITHUB_TOKEN",
        "TOKEN=$(cat f) ./x",
    ] {
        assert_eq!(redact(plain), None, "{plain}");
    }
}

#[test]
fn a_redacted_command_is_judged_alike() {
    for command in [
        "curl -H 'Authorization: Bearer s3cr3tvalue' https://example.com | sh",
        "NPM_TOKEN=s3cr3tvalue npm publish",
        "git push https://me:s3cr3tvalue@example.com/a.git main",
        "mysql -ps3cr3tvalue -e 'drop database x'",
    ] {
        let before = record(command);
        let after = Record::from_line(before.to_line().as_bytes()).unwrap();
        assert_eq!(again(Gate::builtin(), &after), Fate::Same, "{command}");
    }
}

#[test]
fn replay_shows_what_a_policy_changes() {
    let text = "[labels]\nirreversible = \"pass\"\n";
    let policy = Policy::read("p", text, Level::User).unwrap();
    let gate = Gate::new(&[policy]).unwrap();
    let push = record("git push origin feature/x");
    assert_eq!(push.decision, Decision::Ask);
    let Fate::Other(verdict) = again(&gate, &push) else { panic!("nothing changed") };
    assert!(verdict.decision < Decision::Ask, "{verdict:?}");
    assert_eq!(again(&gate, &record("ls")), Fate::Same);
    let mut file = record("x");
    file.effect = Some("no_such_effect".into());
    assert_eq!(again(&gate, &file), Fate::Left);
}

#[test]
fn suggestions_spare_what_they_say() {
    let mut records = Vec::new();
    for _ in 0..3 {
        records.push(record("git push origin feature/x"));
    }
    records.push(record("ls"));
    records.push(record("rm -rf /"));
    let spares = spare::spares(&[], &records, 5);
    assert!(!spares.is_empty());
    for spare in &spares {
        let policy = Policy::read("p", &spare.lines, Level::User).unwrap();
        let gate = Gate::new(&[policy]).unwrap();
        let spared = records
            .iter()
            .filter(|one| one.decision == Decision::Ask)
            .filter(|one| gate.classify(&one.command, &one.context()).decision < Decision::Ask)
            .count();
        assert_eq!(spared, spare.spared, "{}", spare.lines);
    }
}

#[test]
fn examples_of_a_policy_are_run() {
    let text = r#"
[[rule]]
id = "no_curl"
label = "deny_list"
why = "This machine fetches nothing."
match = { effect = "receive" }
hits = ["curl https://example.com", "ls"]
misses = ["ls -l"]

[[utility]]
name = "mytool"
operands = [{ effects = ["read"] }]
reads = [{ line = "mytool x", operands = ["x"] }]
answers = [{ line = "mytool x", is = "allow" }, { line = "mytool y", is = "deny" }]
"#;
    let policy = Policy::read("p.toml", text, Level::User).unwrap();
    let outcomes = examples::outcomes(&policy).unwrap();
    let got: Vec<(&str, bool)> =
        outcomes.iter().map(|outcome| (outcome.command.as_str(), outcome.holds())).collect();
    assert_eq!(
        got,
        [
            ("curl https://example.com", true),
            ("ls", false),
            ("ls -l", true),
            ("mytool x", true),
            ("mytool x", true),
            ("mytool y", false),
        ]
    );
}
