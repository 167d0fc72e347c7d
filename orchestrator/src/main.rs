//! The service's program: arguments, descriptors, signals, and the rooms put together.

use std::ffi::OsString;
use std::io::Write as _;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use shellgate_orchestrator::advisor::Advisor;
use shellgate_orchestrator::demo;
use shellgate_orchestrator::drive::{self, Runtime};
use shellgate_orchestrator::guard::Guard;
use shellgate_orchestrator::host::log::{Level, Log};
use shellgate_orchestrator::host::memory::Memory;
use shellgate_orchestrator::host::place;
use shellgate_orchestrator::host::records::DecisionLog;
use shellgate_orchestrator::host::salt;
use shellgate_orchestrator::host::store::{Store, Unusable};
use shellgate_orchestrator::model::Models;
use shellgate_orchestrator::rpc::frame::FrameLimits;
use shellgate_orchestrator::rpc::stdio;
use shellgate_orchestrator::server::{Ending, Opening, SHUTDOWN_LIMIT, Services, Session, serve};
use shellgate_orchestrator::task::port::{Journal, PortError, Records, Trust};
use shellgate_orchestrator::tool::ToolOptions;
use shellgate_orchestrator::tool::process::launched;
use shellgate_orchestrator::tool::sandbox::Sandbox;
use tokio::runtime::Handle;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

const HELP: &str = "\
Runs coding-agent tasks for an editor. Every tool call is judged by shellgate before it runs.

Usage: shellgate-orchestrator [OPTIONS]
       shellgate-orchestrator demo WORKSPACE INSTRUCTION [--scripted FILE]

Without a sub-command it speaks JSON-RPC 2.0 with Content-Length framing on standard input and output.
Unknown arguments and options without a usable value are ignored, but for --sandbox, which is refused.

Options:
  --log-dir DIR      also log to DIR/orchestrator.log
  --log-level LEVEL  fatal, error, warn, info, debug, trace or silent [default: info]
  --data-dir DIR     where the history of tasks is kept [default: FIRST_ROOT/.desiide/state]
  --sandbox MODE     off, workspace-write or read-only [default: off]
  --max-frame BYTES  largest frame that is accepted [default: 33554432]
  --reasoning        tell the model's visible reasoning, too, as reasoning_delta events
  --help             print this
  --version          print the version
";

/// How long after its deadline an end that hangs is cut off; clients kill after 2 s.
const LATE: Duration = Duration::from_millis(350);

/// What the command line asks for.
#[derive(Clone, Debug)]
struct Arguments {
    log_directory: Option<PathBuf>,
    log_level: Level,
    data_directory: Option<PathBuf>,
    /// None when it was asked for in words that name no mode: nobody runs unprotected by a typing
    /// error.
    sandbox: Option<Sandbox>,
    max_frame: usize,
    reasoning: bool,
}

/// What the program is to do.
#[derive(Clone, Debug)]
enum Command {
    Serve(Arguments),
    Demo(Vec<OsString>),
    Print(&'static str),
}

impl Command {
    fn read(arguments: impl IntoIterator<Item = OsString>) -> Self {
        let mut out = Arguments {
            log_directory: None,
            log_level: Level::Info,
            data_directory: None,
            sandbox: Some(Sandbox::Off),
            max_frame: FrameLimits::default().body,
            reasoning: false,
        };
        let mut rest = arguments.into_iter().peekable();
        let mut is_first = true;
        while let Some(argument) = rest.next() {
            let Some(name) = argument.to_str() else {
                continue;
            };
            match name {
                "demo" if is_first => return Self::Demo(rest.collect()),
                "--help" => return Self::Print(HELP),
                "--version" => {
                    return Self::Print(concat!(
                        "shellgate-orchestrator ",
                        env!("CARGO_PKG_VERSION"),
                        "\n"
                    ));
                }
                "--reasoning" => out.reasoning = true,
                _ => {
                    let (name, joined) = name
                        .split_once('=')
                        .map_or((name, None), |(name, value)| (name, Some(OsString::from(value))));
                    if matches!(
                        name,
                        "--log-dir" | "--log-level" | "--data-dir" | "--sandbox" | "--max-frame"
                    ) {
                        let is_value = |next: &OsString| {
                            !next.to_str().is_some_and(|next| next.starts_with("--"))
                        };
                        if let Some(value) = joined.or_else(|| rest.next_if(is_value)) {
                            out.set(name, value);
                        } else if name == "--sandbox" {
                            out.sandbox = None;
                        }
                    }
                }
            }
            is_first = false;
        }
        Self::Serve(out)
    }
}

impl Arguments {
    /// Takes a value; one that is not usable changes nothing.
    fn set(&mut self, name: &str, value: OsString) {
        let text = value.to_str();
        match name {
            "--log-dir" if !value.is_empty() => self.log_directory = Some(PathBuf::from(value)),
            "--data-dir" if !value.is_empty() => self.data_directory = Some(PathBuf::from(value)),
            "--log-level" => {
                self.log_level = text.and_then(Level::from_name).unwrap_or(self.log_level);
            }
            "--sandbox" => self.sandbox = text.and_then(Sandbox::from_name),
            "--max-frame" => {
                let bytes = text.and_then(|text| text.parse().ok()).filter(|bytes| *bytes > 0);
                self.max_frame = bytes.unwrap_or(self.max_frame);
            }
            _ => {}
        }
    }
}

fn main() -> ExitCode {
    let started = Instant::now();
    // A child's launcher must act before any thread exists.
    if let Some(code) = launched() {
        return code;
    }
    match Command::read(std::env::args_os().skip(1)) {
        Command::Print(text) => {
            // A reader that went away changes nothing about the exit status.
            let _ = std::io::stdout().lock().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Command::Demo(arguments) => demo::run(arguments),
        Command::Serve(arguments) => run(arguments, started),
    }
}

/// Serves on standard input and output. The process ends with this function, whatever threads still wait.
fn run(arguments: Arguments, started: Instant) -> ExitCode {
    let fail = |why: &str| {
        // Where nobody hears, there is nobody to tell.
        let _ = writeln!(std::io::stderr().lock(), "shellgate-orchestrator: {why}");
        ExitCode::FAILURE
    };
    let Some(sandbox) = arguments.sandbox else {
        return fail("--sandbox takes off, workspace-write or read-only");
    };
    let streams = match stdio::claim() {
        Ok(streams) => streams,
        Err(error) => return fail(&format!("standard input and output cannot be used: {error}")),
    };
    let log = match Log::start(arguments.log_directory.clone(), arguments.log_level) {
        Ok(log) => log,
        Err(error) => return fail(&format!("no log: {error}")),
    };
    log_panics(&log);
    let workers = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let front = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (workers, front) = match (workers, front) {
        (Ok(workers), Ok(front)) => (workers, front),
        (Err(error), _) | (_, Err(error)) => return fail(&format!("no runtime: {error}")),
    };
    let limits = FrameLimits { body: arguments.max_frame, ..FrameLimits::default() };
    let stop = CancellationToken::new();
    let logged = log.clone();
    let workers = workers.handle().clone();
    // The loop, its signals and its clocks have this thread for themselves, whatever stops the workers; a
    // fault in it ends the process in good order.
    let ending = front.block_on(async move {
        end_in_any_case(&stop, &workers)?;
        let connection = stdio::connect(streams, limits)?;
        stop_on_signals(&stop)?;
        let compose_log = log.clone();
        let compose = Box::new(move |opening| compose(&arguments, sandbox, &compose_log, opening));
        let session = Session { compose, log, started, stop, workers };
        Ok::<_, std::io::Error>(AssertUnwindSafe(serve(connection, session)).catch_unwind().await)
    });
    let code = match ending {
        Ok(Ok(Ending::Clean)) => 0,
        Ok(Ok(Ending::Broken | Ending::Fault) | Err(_)) => 1,
        Err(error) => {
            logged.say(Level::Fatal, &format!("not started: {error}"));
            1
        }
    };
    logged.say(Level::Info, "the end");
    logged.flush(Duration::from_millis(100));
    // The reader's thread may wait for ever, and so may a thread that looks up a name.
    std::process::exit(code)
}

/// A fault is logged at the gravest level, without what it held.
fn log_panics(log: &Log) {
    let log = log.clone();
    std::panic::set_hook(Box::new(move |info| {
        let place = info
            .location()
            .map_or_else(String::new, |at| format!(" at {}:{}", at.file(), at.line()));
        let text = info.payload().downcast_ref::<&str>().copied().unwrap_or("a fault");
        log.say(Level::Fatal, &format!("{text}{place}"));
    }));
}

/// Ends the process when the session has not ended in time by itself, whatever keeps it.
fn end_in_any_case(stop: &CancellationToken, workers: &Handle) -> std::io::Result<()> {
    let (stop, workers) = (stop.clone(), workers.clone());
    let watch = move || {
        workers.block_on(stop.cancelled());
        std::thread::sleep(SHUTDOWN_LIMIT + LATE);
        std::process::exit(1)
    };
    std::thread::Builder::new().name("deadline".to_owned()).spawn(watch).map(drop)
}

/// The process is told to end by any of these signals.
fn stop_on_signals(stop: &CancellationToken) -> std::io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt(), SignalKind::hangup()] {
        let mut signals = signal(kind)?;
        let stop = stop.clone();
        tokio::spawn(async move {
            if signals.recv().await.is_some() {
                stop.cancel();
            }
        });
    }
    Ok(())
}

/// Puts the rooms together for one session.
fn compose(arguments: &Arguments, sandbox: Sandbox, log: &Log, opening: Opening) -> Services {
    let Opening { roots, secrets, events, notices } = opening;
    let models = Arc::new(Models::new(secrets));
    let redactor = models.redactor();
    log.redact_by(Box::new(move |line| redactor.redact(line)));
    let warn_log = notices.clone();
    let skip_log = log.clone();
    let records: Arc<dyn Records> = Arc::new(DecisionLog::new(
        roots.first().cloned(),
        move |line| warn_log.warn(line),
        move |line| skip_log.say(Level::Warn, &line),
    ));
    let warnings = notices.clone();
    let place = state_directory(arguments, &roots);
    let (journal, trust) = history(arguments, place.as_ref(), move |line| warnings.warn(line));
    let home = std::env::var("HOME").unwrap_or_default();
    let redactor = models.redactor();
    // Without a place for it, names are hidden under another salt after each start.
    let salt = place.and_then(Result::ok).and_then(|place| salt::salt(&place).ok());
    let advisor = Advisor::new(salt.as_deref().unwrap_or_default());
    let advisor = Arc::new(advisor.concealing(Arc::new(move |text| redactor.redact(text))));
    let guard = Arc::new(Guard::new(Arc::clone(&advisor), trust, home));
    let note_log = log.clone();
    let runtime = Runtime::start(
        drive::Services {
            models: models.clone(),
            guard: Arc::clone(&guard),
            advisor: Arc::clone(&advisor),
            records: Arc::clone(&records),
            journal,
            roots,
            tools: ToolOptions { sandbox, ..ToolOptions::of_this_process() },
            tells_reasoning: arguments.reasoning,
            note: Arc::new(move |line| note_log.say(Level::Warn, line)),
        },
        events,
    );
    Services { runtime, models, guard, advisor, records }
}

/// Where state is kept; none without a workspace. A directory in the workspace is made where it is missing
/// and never a link; the one a person named is theirs to choose.
fn state_directory(arguments: &Arguments, roots: &[PathBuf]) -> Option<std::io::Result<PathBuf>> {
    if let Some(directory) = &arguments.data_directory {
        return Some(Ok(directory.clone()));
    }
    let root = roots.first().filter(|root| root.is_absolute() && root.is_dir())?;
    Some(place::make(root, &place::STATE))
}

/// The task database. A directory the person named must be usable, else tasks fail; without one, a
/// workspace that cannot be written into only means that nothing is remembered.
fn history(
    arguments: &Arguments,
    place: Option<&std::io::Result<PathBuf>>,
    warn: impl Fn(String) + Send + Sync + 'static,
) -> (Arc<dyn Journal>, Arc<dyn Trust>) {
    let open = |place: &std::io::Result<PathBuf>| match place {
        Ok(directory) => Store::open(directory),
        Err(error) => Err(PortError(error.to_string())),
    };
    match place.map(open) {
        Some(Ok(store)) => {
            let store = Arc::new(store.warning(warn));
            (store.clone(), store)
        }
        Some(Err(error)) if arguments.data_directory.is_some() => {
            warn(format!("no task can run: {error}"));
            let unusable = Arc::new(Unusable(error));
            (unusable.clone(), unusable)
        }
        problem => {
            if let Some(Err(error)) = problem {
                warn(format!("the history of tasks ends with this process: {error}"));
            }
            let memory = Arc::new(Memory::default());
            (memory.clone(), memory)
        }
    }
}
