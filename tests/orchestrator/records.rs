//! The decision log: what is written, how it is read again, and what it survives.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use shellgate_orchestrator::host::records::DecisionLog;
use shellgate_orchestrator::task::Timestamp;
use shellgate_orchestrator::task::decision::{Answer, DecisionRecord, EngineKind, Noul, Outcome};
use shellgate_orchestrator::task::input::Workflow;
use shellgate_orchestrator::task::port::{RecordQuery, Records};

/// A directory of its own that goes with the test.
struct Room(PathBuf);

impl Room {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("decisions-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn logs(&self) -> PathBuf {
        self.0.join(".desiide/logs")
    }

    fn file(&self) -> PathBuf {
        self.logs().join("decisions.jsonl")
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

type Told = Arc<Mutex<Vec<String>>>;

fn log(root: Option<&Path>, largest: u64) -> (DecisionLog, Told, Told) {
    let (warned, skipped) = (Told::default(), Told::default());
    let (to_warned, to_skipped) = (warned.clone(), skipped.clone());
    let own = DecisionLog::sized(
        root.map(Path::to_path_buf),
        largest,
        move |text| to_warned.lock().unwrap().push(text),
        move |text| to_skipped.lock().unwrap().push(text),
    );
    (own, warned, skipped)
}

fn record(id: &str) -> DecisionRecord {
    DecisionRecord {
        id: id.into(),
        task: Some("t1".into()),
        pack: "risk_gate@1".into(),
        question: "policy".into(),
        engine: EngineKind::Rules,
        state_hash: "00".into(),
        state: serde_json::from_value(json!({"pack": "risk_gate@1", "command": "a\nb"})).unwrap(),
        answer: Answer::Noul { answer: Noul::Unknown, p_yes: 0.5 },
        outcome: Some(Outcome::Confirm),
        workflow: None,
        reasons: vec!["gate_error".into()],
        latency_ms: 3,
        at: Timestamp(1_700_000_000_123),
        basis: Some(json!({"x": 1})),
    }
}

fn all() -> RecordQuery {
    RecordQuery { limit: 1000, ..RecordQuery::default() }
}

async fn ids(log: &DecisionLog, query: RecordQuery) -> (Vec<String>, bool) {
    let (records, more) = log.list(&query).await;
    (records.into_iter().map(|own| own.id).collect(), more)
}

#[tokio::test]
async fn a_line_has_the_spelling_of_the_wire_and_comes_back_whole() {
    let room = Room::new("spelling");
    let (log, warned, skipped) = log(Some(&room.0), 1 << 20);
    let mut score = record("b");
    score.task = None;
    score.answer = Answer::Score { score: 4, probs: Some([0.05, 0.05, 0.05, 0.05, 0.8]) };
    score.outcome = None;
    score.workflow = Some(Workflow::LocalCloudCascade);
    score.basis = None;
    let mut choice = record("c");
    choice.answer =
        Answer::Choice { selected: "z".into(), probs: vec![("z".into(), 1.0), ("a".into(), 0.0)] };
    choice.engine = EngineKind::Jev;
    let records = [record("a"), score, choice];
    for own in &records {
        log.append(own).await;
    }
    let (mut read, more) = log.list(&all()).await;
    read.reverse();
    assert_eq!((read.as_slice(), more), (&records[..], false));
    assert_eq!(log.find("b").await.as_ref(), Some(&records[1]));
    assert_eq!(log.find("x").await, None);
    let text = fs::read_to_string(room.file()).unwrap();
    let first: Value = serde_json::from_str(text.lines().next().unwrap()).unwrap();
    assert_eq!(
        first,
        json!({
            "id": "a", "taskId": "t1", "pack": "risk_gate@1", "question": "policy", "engine": "rules",
            "stateHash": "00", "state": {"pack": "risk_gate@1", "command": "a\nb"},
            "result": {"kind": "noul", "answer": "unknown", "pYes": 0.5}, "policyOutcome": "confirm",
            "reasons": ["gate_error"], "latencyMs": 3, "ts": "2023-11-14T22:13:20.123Z", "basis": {"x": 1}
        })
    );
    let second: Value = serde_json::from_str(text.lines().nth(1).unwrap()).unwrap();
    assert_eq!(
        (&second["taskId"], &second["workflow"]),
        (&Value::Null, &json!("local-cloud-cascade"))
    );
    assert!(second.get("policyOutcome").is_none());
    assert_eq!(fs::metadata(room.file()).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(fs::read_to_string(room.logs().join(".gitignore")).unwrap(), "*\n");
    assert!(warned.lock().unwrap().is_empty() && skipped.lock().unwrap().is_empty());
}

#[tokio::test]
async fn lists_are_newest_first_filtered_and_paged() {
    let room = Room::new("paging");
    let (log, ..) = log(Some(&room.0), 2000);
    for number in 0..20 {
        let mut own = record(&format!("r{number:02}"));
        own.task = Some(if number % 2 == 0 { "even" } else { "odd" }.into());
        own.outcome = (number % 3 != 0).then_some(Outcome::Auto);
        own.pack = if number < 10 { "cost_route@1" } else { "risk_gate@1" }.into();
        log.append(&own).await;
    }
    let (got, more) = ids(&log, all()).await;
    assert!(!more && got.first().unwrap() == "r19" && got.is_sorted_by(|a, b| a > b), "{got:?}");
    assert!(fs::exists(room.logs().join("decisions.jsonl.2")).unwrap(), "it was rotated");
    let query = |task: &str, limit| RecordQuery {
        task: Some(task.into()),
        limit,
        ..RecordQuery::default()
    };
    assert_eq!(ids(&log, query("even", 2)).await, (vec!["r18".into(), "r16".into()], true));
    let next = RecordQuery { older_than: Some("r16".into()), ..query("even", 2) };
    assert_eq!(ids(&log, next).await.0, ["r14", "r12"]);
    let both = RecordQuery {
        outcome: Some(Outcome::Auto),
        pack: Some("risk_gate@1".into()),
        ..query("odd", 9)
    };
    assert_eq!(
        ids(&log, both).await,
        (vec!["r19".into(), "r17".into(), "r13".into(), "r11".into()], false)
    );
    let exact = RecordQuery { limit: got.len(), ..RecordQuery::default() };
    assert!(!ids(&log, exact).await.1, "a further page is only told where there is one");
    let gone = RecordQuery { older_than: Some("nothing".into()), ..all() };
    assert_eq!(ids(&log, gone).await, (Vec::new(), false));
}

#[tokio::test]
async fn old_files_are_shifted_and_the_oldest_goes() {
    let room = Room::new("rotation");
    let (log, ..) = log(Some(&room.0), 900);
    for number in 0..12 {
        log.append(&record(&format!("r{number:02}"))).await;
    }
    let names: Vec<String> = {
        let mut names: Vec<String> = fs::read_dir(room.logs())
            .unwrap()
            .map(|own| own.unwrap().file_name().into_string().unwrap())
            .collect();
        names.sort();
        names
    };
    assert_eq!(
        names,
        [
            ".gitignore",
            "decisions.jsonl",
            "decisions.jsonl.1",
            "decisions.jsonl.2",
            "decisions.jsonl.3",
            "decisions.lock"
        ]
    );
    for name in &names[1..5] {
        assert!(fs::metadata(room.logs().join(name)).unwrap().len() <= 900, "{name}");
    }
    let (got, _) = ids(&log, all()).await;
    assert!(
        got.len() < 12 && got.first().unwrap() == "r11" && got.is_sorted_by(|a, b| a > b),
        "{got:?}"
    );
    // A line larger than a whole file still has one of its own.
    let mut big = record("big");
    big.reasons = vec!["x".repeat(2000)];
    log.append(&big).await;
    assert_eq!(log.find("big").await, Some(big));
}

#[tokio::test]
async fn torn_and_foreign_lines_are_left_out_and_told_of_once() {
    let room = Room::new("torn");
    let (log, _, skipped) = log(Some(&room.0), 1 << 20);
    log.append(&record("a")).await;
    let good = fs::read_to_string(room.file()).unwrap();
    let mut text = good.clone();
    let mut odd: Value = serde_json::from_str(&good).unwrap();
    for (key, value) in [
        ("taskId", json!(7)),
        ("pack", json!("Risk")),
        ("ts", json!("yesterday")),
        ("latencyMs", json!(-1)),
        ("result", json!({"kind": "noul", "answer": "yes", "pYes": 2})),
        ("policyOutcome", json!("maybe")),
    ] {
        let kept = odd[key].take();
        odd[key] = value;
        text.push_str(&format!("{odd}\n"));
        odd[key] = kept;
    }
    text.push_str("not json\n\n\u{0}\u{1}\n[]\n");
    text.push_str(good.trim_end().get(..40).unwrap());
    fs::write(room.file(), text).unwrap();
    log.append(&record("b")).await;
    assert_eq!(ids(&log, all()).await, (vec!["b".into(), "a".into()], false));
    let told = skipped.lock().unwrap().len();
    assert_eq!(told, 10, "{:?}", skipped.lock().unwrap());
    ids(&log, all()).await;
    assert_eq!(skipped.lock().unwrap().len(), told);
}

#[tokio::test]
async fn a_streak_of_failures_is_told_once() {
    let room = Room::new("failing");
    fs::write(room.0.join(".desiide"), "in the way").unwrap();
    let (log, warned, _) = log(Some(&room.0), 1 << 20);
    log.append(&record("a")).await;
    log.append(&record("b")).await;
    assert_eq!(warned.lock().unwrap().len(), 1);
    assert_eq!(ids(&log, all()).await, (Vec::new(), false));
    fs::remove_file(room.0.join(".desiide")).unwrap();
    log.append(&record("c")).await;
    assert_eq!(ids(&log, all()).await.0, ["c"]);
    fs::remove_dir_all(room.0.join(".desiide")).unwrap();
    fs::write(room.0.join(".desiide"), "again").unwrap();
    log.append(&record("d")).await;
    assert_eq!(warned.lock().unwrap().len(), 2);
}

#[tokio::test]
async fn a_link_in_the_workspace_leads_nowhere() {
    let room = Room::new("links");
    let other = Room::new("links-elsewhere");
    symlink(&other.0, room.0.join(".desiide")).unwrap();
    let (own, warned, _) = log(Some(&room.0), 1 << 20);
    own.append(&record("a")).await;
    assert_eq!(warned.lock().unwrap().len(), 1);
    assert!(fs::read_dir(&other.0).unwrap().next().is_none());
    fs::remove_file(room.0.join(".desiide")).unwrap();
    fs::create_dir_all(room.logs()).unwrap();
    let aim = other.0.join("aim");
    fs::write(&aim, "").unwrap();
    symlink(&aim, room.file()).unwrap();
    own.append(&record("b")).await;
    assert_eq!(fs::read_to_string(&aim).unwrap(), "");
}

#[tokio::test]
async fn without_a_root_nothing_is_stored() {
    let (log, warned, _) = log(None, 1 << 20);
    log.append(&record("a")).await;
    assert_eq!(ids(&log, all()).await, (Vec::new(), false));
    assert!(log.find("a").await.is_none() && warned.lock().unwrap().is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn two_logs_of_one_place_lose_no_line() {
    let room = Room::new("two");
    let line = 420;
    let mut work = Vec::new();
    for owner in 0..4 {
        let root = room.0.clone();
        work.push(tokio::spawn(async move {
            // Room for every line in the four files.
            let (log, warned, _) = log(Some(&root), line * 60);
            for number in 0..40 {
                log.append(&record(&format!("{owner}-{number:02}"))).await;
                if number % 16 == 0 {
                    log.list(&all()).await;
                }
            }
            assert!(warned.lock().unwrap().is_empty());
        }));
    }
    for own in work {
        own.await.unwrap();
    }
    let (own, _, skipped) = log(Some(&room.0), line * 60);
    let (mut got, _) = ids(&own, all()).await;
    assert!(skipped.lock().unwrap().is_empty(), "{:?}", skipped.lock().unwrap());
    got.sort();
    got.dedup();
    assert_eq!(got.len(), 160);
}
