//! Plays `sessions/protocol/*.jsonl` over the ends in memory, each with the script beside it where there is
//! one (`NAME.script.json`), else without a model.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use shellgate_orchestrator::advisor::Advisor;
use shellgate_orchestrator::drive::{self, Runtime};
use shellgate_orchestrator::guard::Guard;
use shellgate_orchestrator::host::log::Log;
use shellgate_orchestrator::host::memory::Memory;
use shellgate_orchestrator::host::records::DecisionLog;
use shellgate_orchestrator::model::scripted::{Cast, Script, Scripted};
use shellgate_orchestrator::model::{ModelSource, Models};
use shellgate_orchestrator::rpc::frame::FrameLimits;
use shellgate_orchestrator::rpc::memory;
use shellgate_orchestrator::server::{Opening, Services, Session, serve};
use shellgate_orchestrator::task::port::Records;
use shellgate_orchestrator::tool::ToolOptions;
use tokio_util::sync::CancellationToken;

use super::here;
use super::player::Player;

/// A folder that goes away with the test.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("shellgate-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).unwrap();
        Self(path.canonicalize().unwrap())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A service over the ends in memory whose models play a script.
pub(crate) fn start(root: PathBuf, script: Option<&str>, limits: FrameLimits) -> Player {
    let script = script.map(|text| Script::parse(text).unwrap());
    let (connection, stream) = memory::pair(limits);
    let compose = Box::new(move |opening: Opening| compose(opening, script));
    let session = Session {
        compose,
        log: Log::silent(),
        started: Instant::now(),
        stop: CancellationToken::new(),
        workers: tokio::runtime::Handle::current(),
    };
    let service = tokio::spawn(serve(connection, session));
    Player::new(stream, service, root)
}

fn compose(opening: Opening, script: Option<Script>) -> Services {
    let Opening { roots, secrets, events, notices } = opening;
    let models = Arc::new(Models::new(secrets));
    let source: Arc<dyn ModelSource> = match script {
        Some(script) => Arc::new(Cast::one(Arc::new(Scripted::new("m", script)))),
        None => models.clone(),
    };
    let records: Arc<dyn Records> =
        Arc::new(DecisionLog::new(roots.first().cloned(), move |line| notices.warn(line), |_| {}));
    let history = Arc::new(Memory::default());
    let advisor = Arc::new(Advisor::new("a salt of sixteen letters"));
    let guard = Arc::new(Guard::new(Arc::clone(&advisor), history.clone(), String::new()));
    let runtime = Runtime::start(
        drive::Services {
            models: source,
            guard: Arc::clone(&guard),
            advisor: Arc::clone(&advisor),
            records: Arc::clone(&records),
            journal: history,
            roots,
            tools: ToolOptions::of_this_process(),
            tells_reasoning: true,
            note: Arc::new(|_| {}),
        },
        events,
    );
    Services { runtime, models, guard, advisor, records }
}

#[tokio::test(flavor = "multi_thread")]
async fn sessions_go_as_they_are_written() {
    let wanted = std::env::var("CASE").unwrap_or_default();
    let mut paths: Vec<PathBuf> = std::fs::read_dir(here("tests/sessions/protocol"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|end| end == "jsonl"))
        .filter(|path| path.to_str().unwrap().contains(&wanted))
        .collect();
    paths.sort();
    assert!(!paths.is_empty());
    let mut wrong = Vec::new();
    for path in paths {
        let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let folder = Folder::new(&format!("session-{name}"));
        let script = std::fs::read_to_string(path.with_extension("script.json")).ok();
        let limits = FrameLimits { body: 1 << 20, ..FrameLimits::default() };
        let mut player = start(folder.0.clone(), script.as_deref(), limits);
        if let Err(error) = player.play(&std::fs::read_to_string(&path).unwrap()).await {
            wrong.push(format!("{name}: {error}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
