//! The advisor: the rules row by row, the service over HTTP, routes and their records.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use serde_json::{Map, Value, json};
use shellgate_orchestrator::advisor::pack::{Pack, Question};
use shellgate_orchestrator::advisor::route::{CostTier, LastRun, RouteInput, RouteModel};
use shellgate_orchestrator::advisor::rules::{self, Facts};
use shellgate_orchestrator::advisor::service::{FailureKind, Timing};
use shellgate_orchestrator::advisor::state::{
    Action, CostState, RiskContext, RiskFile, RiskState, RunStatus, State, StateFile, Surroundings,
    WorkflowState,
};
use shellgate_orchestrator::advisor::{Advisor, canonical};
use shellgate_orchestrator::task::decision::{Answer, EngineKind, Noul};
use shellgate_orchestrator::task::edit::FileMeta;
use shellgate_orchestrator::task::input::{Preference, TaskKind, Workflow};
use shellgate_orchestrator::task::port::{PortError, Secrets};
use shellgate_orchestrator::task::settings::{JevSettings, Locality, Settings};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

fn risk(action: Action, command: Option<&str>) -> RiskState {
    RiskState {
        action_type: action,
        command: command.map(str::to_owned),
        edit_file_count: None,
        context: RiskContext {
            branch: None,
            env: Surroundings::Local,
            has_pending_migrations: false,
        },
        files_touched: Vec::new(),
        truncated_count: None,
    }
}

fn noul(state: &RiskState, facts: Facts, question: Question) -> (Noul, f64) {
    match rules::answer(&State::Risk(state.clone()), question, Some(&facts), &[]) {
        Some(Answer::Noul { answer, p_yes }) => (answer, p_yes),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_table_of_safe_and_reversible() {
    use Noul::{No, Unknown, Yes};
    let none = Facts::default();
    let reader = Facts { read_only: true, ..none };
    let command = |action| risk(action, Some("x"));
    let edits = |count| RiskState { edit_file_count: count, ..risk(Action::ApplyEdit, None) };
    for (state, facts, safe, reversible) in [
        (
            command(Action::RunTests),
            Facts { destructive: true, migration: true, ..none },
            (No, 0.03),
            (No, 0.03),
        ),
        (
            command(Action::RunCommand),
            Facts { migration: true, external: true, ..reader },
            (No, 0.1),
            (No, 0.1),
        ),
        (
            command(Action::GitPush),
            Facts { external: true, protected_branch: true, ..none },
            (No, 0.1),
            (No, 0.1),
        ),
        (
            command(Action::DeleteFile),
            Facts { sensitive: true, ..none },
            (Unknown, 0.3),
            (Unknown, 0.4),
        ),
        (
            command(Action::RunCommand),
            Facts { sensitive: true, external: true, ..none },
            (Unknown, 0.35),
            (No, 0.1),
        ),
        (command(Action::GitPush), Facts { external: true, ..none }, (Unknown, 0.4), (No, 0.1)),
        (command(Action::RunCommand), reader, (Yes, 0.95), (Yes, 0.98)),
        (command(Action::RunCommand), none, (Unknown, 0.5), (Unknown, 0.4)),
        (risk(Action::RunCommand, None), reader, (Unknown, 0.5), (Unknown, 0.4)),
        (command(Action::RunTests), none, (Yes, 0.9), (Yes, 0.8)),
        (command(Action::Lint), none, (Yes, 0.9), (Yes, 0.8)),
        (edits(None), none, (Yes, 0.9), (Yes, 0.9)),
        (edits(Some(1)), none, (Yes, 0.9), (Yes, 0.9)),
        (edits(Some(2)), none, (Yes, 0.8), (Yes, 0.9)),
        (command(Action::GitCommit), none, (Yes, 0.85), (Yes, 0.85)),
        (command(Action::InstallDependency), none, (Unknown, 0.5), (Unknown, 0.5)),
        (command(Action::Other), none, (Unknown, 0.5), (Unknown, 0.4)),
        (
            command(Action::RunCommand),
            Facts { sensitive: true, ..reader },
            (Unknown, 0.35),
            (Yes, 0.98),
        ),
    ] {
        assert_eq!(noul(&state, facts, Question::SafeNow), safe, "{state:?} {facts:?}");
        assert_eq!(noul(&state, facts, Question::Reversible), reversible, "{state:?} {facts:?}");
    }
}

#[test]
fn the_table_of_risky_areas() {
    use Noul::{No, Yes};
    let none = Facts::default();
    let state = risk(Action::RunCommand, Some("x"));
    for (facts, wanted) in [
        (Facts { sensitive: true, migration: true, risk_area: true, ..none }, (Yes, 0.95)),
        (Facts { migration: true, risk_area: true, ..none }, (Yes, 0.9)),
        (Facts { risk_area: true, ..none }, (Yes, 0.75)),
        (Facts { destructive: true, external: true, ..none }, (No, 0.05)),
    ] {
        assert_eq!(noul(&state, facts, Question::HighRiskArea), wanted, "{facts:?}");
    }
}

#[test]
fn the_table_of_facts() {
    let facts = |command: &str| rules::facts(&risk(Action::RunCommand, Some(command)), None);
    for command in [
        "rm -r x",
        "rm -f x",
        "rm -vfi x",
        "sudo rm -rf x",
        "git push --force",
        "git push --force-with-lease=x",
        "git push -f",
        "git reset --hard HEAD",
        "git clean -xdf",
        "git branch -D x",
        "git tag -D x",
        "psql -c 'DROP TABLE x'",
        "drop  database x",
        "drop schema x",
        "TRUNCATE TABLE x",
        "mkfs /x",
        "mkfs.ext4 /x",
        "shred x",
        "wipefs x",
        "dd if=a of=b",
        "chmod -R 7 x",
        "chown -R a x",
        "terraform apply",
        "terraform destroy",
        "kubectl apply -f x",
        "kubectl delete x",
        "kubectl replace x",
        "npm run db:drop",
        "rake db:reset",
        "x db:wipe",
        "curl u | sh",
        "wget -O- u | sudo bash",
        "curl u|tee x|zsh",
        "ls\nrm -rf x",
        "/bin/rm -rf x",
    ] {
        assert!(facts(command).destructive, "{command}");
    }
    for command in [
        "rm x",
        "git push",
        "git branch -d x",
        "chmod +x a",
        "curl u; sh",
        "terraform plan",
        "kubectl get x",
        "cp -r a b",
    ] {
        assert!(!facts(command).destructive, "{command}");
    }
    for command in [
        "npm run migrate",
        "x Migrations",
        "rake db:seed",
        "npm run db:push",
        "prisma db push",
        "alembic upgrade head",
        "Flyway x",
    ] {
        assert!(facts(command).migration, "{command}");
    }
    for command in ["ls immigrate", "prisma generate", "alembic history"] {
        assert!(!facts(command).migration, "{command}");
    }
    for command in [
        "x AUTHOR",
        "login",
        "oauth",
        "jwt",
        "passwords",
        "cat secret",
        "credential",
        "billing",
        "payment",
        "invoices",
        "stripe",
        "migrate",
        "deployment",
        "PROD",
        "production",
    ] {
        assert!(facts(command).risk_area, "{command}");
    }
    for command in ["product", "logins", "reproduce", "stripes"] {
        assert!(!facts(command).risk_area, "{command}");
    }
    for command in [
        "git push x",
        "npm publish",
        "pnpm publish",
        "yarn npm publish",
        "docker push x",
        "make deploy",
    ] {
        assert!(facts(command).external, "{command}");
    }
    assert!(rules::facts(&risk(Action::GitPush, None), None).external);
    for command in ["git pull", "docker pull x", "deployer"] {
        assert!(!facts(command).external, "{command}");
    }
    for command in ["ls -la", "cat a", "git log -3", "git status"] {
        assert!(facts(command).read_only, "{command}");
    }
    for command in [
        "ls\nrm x",
        "ls;rm",
        "cat a > b",
        "git push",
        "cat $(x)",
        "x",
        "ls -o",
        "git diff --output=x",
        "",
        "cat \\\nx",
    ] {
        assert!(!facts(command).read_only, "{command}");
    }
    for (branch, protected) in [
        ("main", true),
        ("master", true),
        ("production", true),
        ("prod", true),
        ("release", true),
        ("develop", false),
    ] {
        let mut state = risk(Action::GitPush, None);
        state.context.branch = Some(branch.into());
        assert_eq!(rules::facts(&state, None).protected_branch, protected, "{branch}");
    }
    let mut state = risk(Action::RunCommand, Some("x"));
    state.files_touched = vec![RiskFile { path: ".env".into(), sensitive: true }];
    assert!(rules::facts(&state, None).sensitive);
    // The whole command counts where it is known.
    assert!(
        rules::facts(&risk(Action::RunCommand, Some("mkdir a…")), Some("mkdir a; rm -rf b"))
            .destructive
    );
}

fn files(count: usize, sensitive: bool) -> Vec<StateFile> {
    (0..count)
        .map(|n| StateFile {
            path: format!("f{n}"),
            size_lines: 1,
            language: "rust".into(),
            sensitive: sensitive && n == 0,
        })
        .collect()
}

fn workflow(
    kind: TaskKind,
    count: usize,
    sensitive: bool,
    diff: u64,
    last: RunStatus,
    preference: Preference,
) -> State {
    State::Workflow(WorkflowState {
        task_type: kind,
        files_touched: files(count.min(50), sensitive),
        truncated_count: (count > 50).then(|| count as u64 - 50),
        estimated_diff_size: diff,
        last_run_status: last,
        user_preference: preference,
        available_models: Vec::new(),
    })
}

fn score(state: &State, question: Question) -> u8 {
    match rules::answer(state, question, None, &[]) {
        Some(Answer::Score { score, probs: Some(probs) }) => {
            assert!((probs.iter().sum::<f64>() - 1.0).abs() < 1e-9);
            assert!((probs[usize::from(score)] - 0.8).abs() < f64::EPSILON);
            score
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_scores() {
    use Preference::Balance;
    use RunStatus::{Failed, None as Never, Success};
    for (state, complexity, escalation) in [
        (workflow(TaskKind::Autocomplete, 0, false, 0, Never, Balance), 0, 0),
        (workflow(TaskKind::Explain, 3, false, 200, Success, Balance), 0, 0),
        (workflow(TaskKind::TestWrite, 0, false, 0, Never, Balance), 1, 0),
        (workflow(TaskKind::Refactor, 4, false, 0, Never, Balance), 2, 1),
        (workflow(TaskKind::BugFix, 11, false, 0, Failed, Balance), 3, 4),
        (workflow(TaskKind::Other, 0, true, 0, Never, Balance), 1, 0),
        (workflow(TaskKind::Other, 1, true, 0, Never, Balance), 2, 2),
        (workflow(TaskKind::InfraChange, 60, true, 201, Failed, Balance), 4, 4),
        (workflow(TaskKind::InfraChange, 0, false, 0, Never, Balance), 2, 1),
    ] {
        assert_eq!(score(&state, Question::Complexity), complexity, "{state:?}");
        assert_eq!(score(&state, Question::EscalationNeed), escalation, "{state:?}");
    }
    for (kind, count, lines, failures, wanted) in [
        (TaskKind::Autocomplete, 0, 0, 0, 4),
        (TaskKind::Explain, 4, 0, 0, 3),
        (TaskKind::TestWrite, 11, 0, 0, 1),
        (TaskKind::Refactor, 0, 250_001, 0, 2),
        (TaskKind::Refactor, 0, 250_000, 0, 3),
        (TaskKind::BugFix, 0, 0, 1, 1),
        (TaskKind::Other, 0, 0, 9, 0),
        (TaskKind::InfraChange, 11, 300_000, 2, 0),
    ] {
        let state = State::Cost(CostState {
            task_type: kind,
            files_touched_count: count,
            project_size_lines: lines,
            user_cost_bias: Preference::Cheap,
            recent_failures: failures,
        });
        assert_eq!(score(&state, Question::CheapSuccess), wanted, "{state:?}");
    }
}

#[test]
fn the_choice_of_workflows() {
    use RunStatus::{Failed, None as Never};
    use Workflow::{CloudSingle, CloudWithCritique, LocalCloudCascade, LocalSingle};
    let all = [LocalSingle, LocalCloudCascade, CloudSingle, CloudWithCritique];
    let plain = |last, preference| workflow(TaskKind::Explain, 0, false, 0, last, preference);
    for (state, offered, selected, confidence) in [
        (plain(Failed, Preference::Quality), &all[..], "cloud-with-critique", 0.85),
        (plain(Never, Preference::Quality), &all[..3], "cloud-single", 0.7),
        (plain(Failed, Preference::Cheap), &all[..], "cloud-single", 0.85),
        (
            workflow(TaskKind::Explain, 1, true, 0, Never, Preference::Cheap),
            &all[..],
            "cloud-single",
            0.85,
        ),
        (
            workflow(TaskKind::InfraChange, 4, false, 0, Never, Preference::Balance),
            &all[..],
            "cloud-single",
            0.85,
        ),
        (plain(Never, Preference::Cheap), &all[..], "local-single", 0.85),
        (plain(Never, Preference::Balance), &all[..], "local-cloud-cascade", 0.85),
        (plain(Never, Preference::Balance), &all[..1], "local-single", 1.0),
        (plain(Never, Preference::Balance), &all[2..], "cloud-single", 0.7),
    ] {
        let Some(Answer::Choice { selected: own, probs }) =
            rules::answer(&state, Question::Workflow, None, offered)
        else {
            panic!("no choice")
        };
        assert_eq!(own, selected);
        assert_eq!(probs.len(), offered.len());
        assert!((probs.iter().map(|(_, p)| p).sum::<f64>() - 1.0).abs() < 1e-9);
        assert!(
            (probs.iter().find(|(name, _)| name == selected).unwrap().1 - confidence).abs() < 1e-9,
            "{probs:?}"
        );
    }
    assert!(
        rules::answer(&plain(Never, Preference::Cheap), Question::Workflow, None, &[]).is_none()
    );
}

// The service.

/// A key, or none.
struct Keys(Option<&'static str>);

#[async_trait]
impl Secrets for Keys {
    async fn get(&self, _: &str) -> Result<Option<String>, PortError> {
        Ok(self.0.map(str::to_owned))
    }
}

/// What a fake service does with a request.
#[derive(Clone, Copy, Debug)]
enum Does {
    Answer(&'static str),
    Status(u16, &'static str),
    Stall,
    StallInBody,
    HangUp,
    Garbage,
    Endless,
    Redirect(u16),
}

struct Fake {
    url: String,
    seen: Arc<Mutex<Vec<String>>>,
    count: Arc<AtomicUsize>,
    does: Arc<Mutex<Does>>,
}

/// A service in this process that reads a request and does as it is told.
async fn fake(does: Does) -> Fake {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/ask?x=1", listener.local_addr().unwrap());
    let own =
        Fake { url, seen: Arc::default(), count: Arc::default(), does: Arc::new(Mutex::new(does)) };
    let (seen, count, does) = (own.seen.clone(), own.count.clone(), own.does.clone());
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (seen, count, does) = (seen.clone(), count.clone(), does.clone());
            tokio::spawn(async move {
                let mut text = Vec::new();
                let mut buffer = [0; 4096];
                loop {
                    let read = stream.read(&mut buffer).await.unwrap_or(0);
                    text.extend_from_slice(&buffer[..read]);
                    let whole = String::from_utf8_lossy(&text).into_owned();
                    let length = whole.to_lowercase().split_once("content-length: ").and_then(
                        |(_, rest)| rest.split("\r\n").next().unwrap().parse::<usize>().ok(),
                    );
                    let body = whole.split_once("\r\n\r\n").map(|(_, body)| body.len());
                    if read == 0 || (length.is_some() && body >= length) {
                        break;
                    }
                }
                count.fetch_add(1, Ordering::SeqCst);
                seen.lock().unwrap().push(String::from_utf8_lossy(&text).into_owned());
                let own = *does.lock().unwrap();
                let head = |status: u16, length: usize, more: &str| {
                    format!(
                        "HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n{more}\r\n"
                    )
                };
                let reply = match own {
                    Does::Answer(body) => head(200, body.len(), "") + body,
                    Does::Status(status, more) => head(status, 0, more),
                    Does::Redirect(port) => {
                        head(307, 0, &format!("location: http://127.0.0.1:{port}/\r\n"))
                    }
                    Does::Garbage => "\u{1}\u{2} nothing like HTTP".into(),
                    Does::Endless => head(200, 10 << 20, "") + &" ".repeat(200 << 10),
                    Does::HangUp => return,
                    Does::Stall => {
                        tokio::time::sleep(Duration::from_secs(60)).await;
                        return;
                    }
                    Does::StallInBody => {
                        let _ = stream.write_all((head(200, 50, "") + "{").as_bytes()).await;
                        tokio::time::sleep(Duration::from_secs(60)).await;
                        return;
                    }
                };
                let _ = stream.write_all(reply.as_bytes()).await;
                let _ = stream.shutdown().await;
            });
        }
    });
    own
}

const LIMITS: Timing =
    Timing { question: Duration::from_millis(400), rest: Duration::from_millis(600) };

fn settings(url: &str, redact_paths: bool) -> Settings {
    Settings {
        jev: JevSettings {
            enabled: true,
            endpoint: Some(url.to_owned()),
            api_key: Some("secret:jev".into()),
            redact_paths,
        },
        ..Settings::default()
    }
}

fn advisor(url: &str) -> Advisor {
    let own = Advisor::new("0123456789abcdef").timed(LIMITS);
    own.configure(&settings(url, false), Arc::new(Keys(Some("hunter2"))));
    own
}

fn input() -> RouteInput {
    let model = |id: &str, locality| RouteModel {
        id: id.into(),
        context_tokens: 1000,
        latency_ms: 10,
        cost: CostTier::of(None, locality),
        locality: Some(locality),
    };
    RouteInput {
        task: Some("t".into()),
        kind: TaskKind::Explain,
        preference: Preference::Balance,
        wanted: None,
        files: vec![FileMeta {
            path: "src/acme.rs".into(),
            size_lines: 9,
            language: "rust".into(),
            sensitive: false,
        }],
        estimated_diff_lines: 0,
        last_run: LastRun::None,
        models: vec![model("near", Locality::Local), model("far", Locality::Cloud)],
        project_lines: 0,
        recent_failures: 0,
    }
}

#[tokio::test]
async fn a_question_goes_out_as_described_and_its_answer_counts() {
    let service =
        fake(Does::Answer(r#"{"kind":"score","score":2,"note":"more is left alone"}"#)).await;
    let own = advisor(&service.url);
    assert_eq!(own.escalation_need(&input(), &CancellationToken::new()).await, Ok(2));
    let seen = service.seen.lock().unwrap().remove(0);
    assert!(seen.starts_with("POST /ask?x=1 HTTP/1.1\r\n"), "{seen}");
    assert!(seen.to_lowercase().contains("\r\nauthorization: bearer hunter2\r\n"), "{seen}");
    let body: Value = serde_json::from_str(seen.split_once("\r\n\r\n").unwrap().1).unwrap();
    let keys: Vec<&String> = body.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["pack", "question", "type", "text", "state"]);
    assert_eq!(
        (&body["pack"], &body["question"], &body["type"]),
        (&json!("workflow_select@1"), &json!("escalation_need"), &json!("score"))
    );
    assert_eq!(body["state"]["filesTouched"][0]["path"], "src/acme.rs");
    // Hidden names stay hidden.
    own.configure(&settings(&service.url, true), Arc::new(Keys(None)));
    own.escalation_need(&input(), &CancellationToken::new()).await.unwrap();
    assert_eq!(service.count.load(Ordering::SeqCst), 1, "without its key it is not asked");
    own.configure(&settings(&service.url, true), Arc::new(Keys(Some("k"))));
    own.escalation_need(&input(), &CancellationToken::new()).await.unwrap();
    assert!(!service.seen.lock().unwrap()[0].contains("acme"));
}

#[tokio::test]
async fn whatever_the_service_does_the_rules_answer() {
    let elsewhere = fake(Does::Answer("{}")).await;
    let port = elsewhere.url.split(':').nth(2).unwrap().split('/').next().unwrap().parse().unwrap();
    for does in [
        Does::Status(500, ""),
        Does::Status(429, "retry-after: 9\r\n"),
        Does::Status(401, ""),
        Does::Status(204, ""),
        Does::Stall,
        Does::StallInBody,
        Does::HangUp,
        Does::Garbage,
        Does::Endless,
        Does::Redirect(port),
        Does::Answer(""),
        Does::Answer("[]"),
        Does::Answer(r#"{"kind":"score","score":5}"#),
        Does::Answer(r#"{"kind":"score","score":1.5}"#),
        Does::Answer(r#"{"kind":"score","score":1,"probs":[1,0]}"#),
        Does::Answer(r#"{"kind":"noul","answer":"yes","pYes":1}"#),
        Does::Answer(r#"{"score":1}"#),
    ] {
        let service = fake(does).await;
        let started = Instant::now();
        let routed =
            advisor(&service.url).route(&input(), &CancellationToken::new()).await.unwrap();
        assert!(started.elapsed() < Duration::from_secs(3), "{does:?}");
        assert_eq!(routed.workflow, Some(Workflow::LocalCloudCascade), "{does:?}");
        assert_eq!(routed.reasons, ["jev_unavailable"], "{does:?}");
        assert!(routed.records.iter().all(|own| own.engine == EngineKind::Rules), "{does:?}");
    }
    assert_eq!(elsewhere.count.load(Ordering::SeqCst), 0, "no other host is asked");
}

#[tokio::test]
async fn a_service_that_failed_is_left_alone_for_a_while() {
    let service = fake(Does::Status(500, "")).await;
    let own = advisor(&service.url);
    let (given, never) = (input(), CancellationToken::new());
    let ask = || own.escalation_need(&given, &never);
    ask().await.unwrap();
    ask().await.unwrap();
    assert_eq!(service.count.load(Ordering::SeqCst), 1);
    *service.does.lock().unwrap() = Does::Answer(r#"{"kind":"score","score":4}"#);
    ask().await.unwrap();
    assert_eq!(service.count.load(Ordering::SeqCst), 1);
    tokio::time::sleep(LIMITS.rest + Duration::from_millis(50)).await;
    assert_eq!(ask().await, Ok(4));
    assert_eq!(ask().await, Ok(4));
    // New settings forget a failure at once; so does a test that succeeds.
    *service.does.lock().unwrap() = Does::HangUp;
    ask().await.unwrap();
    *service.does.lock().unwrap() = Does::Answer(r#"{"kind":"score","score":4}"#);
    assert_ne!(ask().await, Ok(4));
    own.configure(&settings(&service.url, false), Arc::new(Keys(Some("k"))));
    assert_eq!(ask().await, Ok(4));
    *service.does.lock().unwrap() = Does::HangUp;
    ask().await.unwrap();
    *service.does.lock().unwrap() = Does::Answer(r#"{"kind":"score","score":4}"#);
    assert!(own.jev_test(&CancellationToken::new()).await.is_ok());
    assert_eq!(ask().await, Ok(4));
}

#[tokio::test]
async fn a_caller_that_stops_waiting_is_no_failure() {
    let service = fake(Does::Stall).await;
    let own = advisor(&service.url);
    let cancel = CancellationToken::new();
    let late = cancel.clone();
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_millis(50)).await;
        late.cancel();
    });
    assert!(own.escalation_need(&input(), &cancel).await.is_err());
    *service.does.lock().unwrap() = Does::Answer(r#"{"kind":"score","score":4}"#);
    assert_eq!(own.escalation_need(&input(), &CancellationToken::new()).await, Ok(4));
}

#[tokio::test]
async fn a_test_of_the_service_tells_what_is_wrong() {
    let unset = Advisor::new("");
    let none = unset.jev_test(&CancellationToken::new()).await.unwrap_err();
    assert!(none.kind == FailureKind::BadRequest && none.hint.is_some());
    for (does, kind) in [
        (Does::Status(401, ""), FailureKind::Auth),
        (Does::Status(429, ""), FailureKind::RateLimit),
        (Does::Status(404, ""), FailureKind::BadRequest),
        (Does::Status(503, ""), FailureKind::Server),
        (Does::Stall, FailureKind::Timeout),
        (Does::HangUp, FailureKind::Network),
        (Does::Answer("x"), FailureKind::Unknown),
    ] {
        let service = fake(does).await;
        let failure = advisor(&service.url).jev_test(&CancellationToken::new()).await.unwrap_err();
        assert_eq!(failure.kind, kind, "{does:?} {failure:?}");
        assert!(!failure.message.contains("hunter2") && failure.hint.is_some());
    }
    let service = fake(Does::Answer(r#"{"kind":"score","score":4,"probs":[0,0,0,0,1]}"#)).await;
    assert!(advisor(&service.url).jev_test(&CancellationToken::new()).await.is_ok());
    let own = Advisor::new("").timed(LIMITS);
    own.configure(&settings(&service.url, false), Arc::new(Keys(None)));
    let failure = own.jev_test(&CancellationToken::new()).await.unwrap_err();
    assert!(failure.kind == FailureKind::Auth && failure.message.contains("`jev`"), "{failure:?}");
    let gone = advisor("http://me:hunter2@127.0.0.1:1/")
        .jev_test(&CancellationToken::new())
        .await
        .unwrap_err();
    assert!(gone.kind == FailureKind::Network && !gone.message.contains("hunter2"), "{gone:?}");
}

#[test]
fn previews_are_states_of_their_pack() {
    let own = Advisor::new("0123456789abcdef");
    for pack in Pack::ALL {
        let state = own.preview(pack.name()).unwrap();
        assert_eq!(State::from_map(&state).unwrap().pack(), pack);
    }
    assert!(own.preview("risk_gate@2").is_none());
    own.configure(&settings("http://127.0.0.1:1/", true), Arc::new(Keys(None)));
    let text = serde_json::to_string(&own.preview("risk_gate@1").unwrap()).unwrap();
    assert!(!text.contains("ledger") && text.contains("src/h_"), "{text}");
}

#[tokio::test]
async fn routes_and_their_records() {
    let own = Advisor::new("0123456789abcdef");
    let cancel = CancellationToken::new();
    let routed = own.route(&input(), &cancel).await.unwrap();
    assert_eq!(
        (routed.workflow, routed.models.as_slice()),
        (Some(Workflow::LocalCloudCascade), &["near".to_owned()][..])
    );
    let told: Vec<(&str, &str)> =
        routed.records.iter().map(|own| (own.pack.as_str(), own.question.as_str())).collect();
    assert_eq!(
        told,
        [
            ("workflow_select@1", "workflow"),
            ("workflow_select@1", "complexity"),
            ("cost_route@1", "cheap_success")
        ]
    );
    for record in &routed.records {
        assert_eq!(
            (record.workflow, record.outcome, &record.reasons),
            (routed.workflow, None, &routed.reasons)
        );
        assert_eq!(record.state_hash, canonical::hash(&record.state));
        let replay = own.replay(record.clone(), &cancel).await.unwrap();
        assert!(!replay.differs && replay.changes.is_empty() && replay.jev.is_none());
        assert_eq!(replay.as_recorded.unwrap().answer, record.answer);
        let mut odd = record.clone();
        odd.question = "safe_now".into();
        assert!(own.replay(odd, &cancel).await.is_err());
    }
    let with = |change: fn(&mut RouteInput)| {
        let mut own = input();
        change(&mut own);
        own
    };
    for (case, workflow, reasons, records) in [
        (with(|own| own.models.clear()), None, vec!["no_models_configured"], 0),
        (
            with(|own| own.wanted = Some(Workflow::CloudSingle)),
            Some(Workflow::CloudSingle),
            vec!["policy_override:user_choice"],
            0,
        ),
        (
            with(|own| {
                own.wanted = Some(Workflow::CloudSingle);
                own.models.truncate(1);
            }),
            Some(Workflow::LocalSingle),
            vec!["option_unavailable:cloud-single"],
            3,
        ),
        (
            with(|own| own.last_run = LastRun::Failed),
            Some(Workflow::LocalCloudCascade),
            vec!["policy_override:cheap_success"],
            3,
        ),
        (
            with(|own| own.files[0].sensitive = true),
            Some(Workflow::CloudSingle),
            vec!["policy_override:cheap_success", "policy_override:sensitive_floor"],
            3,
        ),
        (
            with(|own| {
                own.kind = TaskKind::InfraChange;
                own.files = vec![own.files[0].clone(); 60];
                own.preference = Preference::Quality;
            }),
            Some(Workflow::CloudWithCritique),
            vec![],
            3,
        ),
        (
            with(|own| own.models = vec![RouteModel { locality: None, ..own.models[0].clone() }]),
            Some(Workflow::LocalSingle),
            vec![],
            3,
        ),
    ] {
        let routed = own.route(&case, &cancel).await.unwrap();
        assert_eq!(
            (
                routed.workflow,
                routed.reasons.iter().map(String::as_str).collect::<Vec<_>>(),
                routed.records.len()
            ),
            (workflow, reasons, records),
            "{case:?}"
        );
    }
    let empty: Map<String, Value> = Map::new();
    assert!(State::from_map(&empty).is_err());
}
