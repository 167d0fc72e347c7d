//! Takes one connection and the services behind it.
//! Gives answers and notifications until the connection ends.
//! May import every room but the roots.
//! Never does a service's work itself.

pub mod dispatch;
mod handle;
mod held;
pub mod reply;
mod roots;
mod secret;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::advisor::Advisor;
use crate::drive::Runtime;
use crate::guard::Guard;
use crate::host::log::{Level, Log};
use crate::model::Models;
use crate::protocol::desiide::convert::{log_notification, task_event};
use crate::protocol::desiide::types::{
    CancelRequestParams, InitializeParams, LOG, LogLevel, Method, TASK_EVENT,
};
use crate::rpc::connection::{Connection, Incoming, Outgoing};
use crate::rpc::message::{Id, Malformed, Message};
use crate::rpc::pending::{CANCEL, Requester};
use crate::task::Timestamp;
use crate::task::event::Event as TaskEvent;
use crate::task::port::{Records, SharedSecrets};

use self::dispatch::Request;
use self::handle::{Handlers, Told};
use self::held::{Held, Waiting};
use self::reply::{Fault, answer};
use self::secret::ClientSecrets;

/// From the first sign of an end to the end of the process, all in all. Clients kill after 2 s.
pub const SHUTDOWN_LIMIT: Duration = Duration::from_millis(1500);

/// What of it the tasks may take.
const TASKS_LIMIT: Duration = Duration::from_millis(1100);

/// Bytes that may wait to be written before no further request begins.
const BACKLOG: usize = 8 * 1024 * 1024;

/// Requests that may be at work before no further one begins.
const OPEN_REQUESTS: usize = 1024;

/// Bytes of requests that may wait for their turn before further ones are refused.
const HELD: usize = 32 * 1024 * 1024;

/// Bytes that a client who reads nothing may make this process keep before nothing is read from it either.
const UNREAD: usize = BACKLOG + HELD;

/// The rooms behind one session.
#[derive(Clone)]
pub struct Services {
    /// All tasks.
    pub runtime: Runtime,
    /// All models.
    pub models: Arc<Models>,
    /// Judges calls and replays.
    pub guard: Arc<Guard>,
    /// Second opinions.
    pub advisor: Arc<Advisor>,
    /// The decision log.
    pub records: Arc<dyn Records>,
}

/// What a session is opened with.
pub struct Opening {
    /// Workspace roots as the client named them, at least one; the first is the default.
    pub roots: Vec<PathBuf>,
    /// The client's secrets.
    pub secrets: SharedSecrets,
    /// Takes the events of all tasks.
    pub events: mpsc::UnboundedSender<TaskEvent>,
    /// Takes lines for the person.
    pub notices: Notices,
}

/// Makes the services once the roots are known.
pub type Compose = Box<dyn FnOnce(Opening) -> Services + Send>;

/// Lines for the person, told as `log` notifications of level warn.
#[derive(Clone, Debug)]
pub struct Notices(mpsc::UnboundedSender<String>);

impl Notices {
    /// Tells a warning.
    pub fn warn(&self, message: impl Into<String>) {
        // A session that is over has nobody to tell.
        let _ = self.0.send(message.into());
    }
}

/// What one session needs besides its connection.
pub struct Session {
    /// Makes the services.
    pub compose: Compose,
    /// The service's own log.
    pub log: Log,
    /// When the process began.
    pub started: Instant,
    /// Fires when the process is told to end; the session fires it, too, when it ends by itself.
    pub stop: CancellationToken,
    /// Where services and tasks run; the loop itself runs where `serve` is called, and stays quick when it is
    /// another runtime.
    pub workers: Handle,
}

/// How a session ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// The client ended the connection or went away, or the process was told to stop.
    Clean,
    /// The stream of frames was out of step.
    Broken,
    /// The services could not be made, by a fault of ours.
    Fault,
}

/// Everything that can happen.
enum Event {
    /// Something came in; none when the reader is gone.
    Incoming(Option<Incoming>),
    /// A handler ended, or has a fault.
    Told(Told),
    /// A task tells something.
    Task(Box<TaskEvent>),
    /// A line for the person.
    Notice(String),
    /// The client can no longer be written to.
    Unreachable,
    /// The process was told to end.
    Stop,
}

/// Serves one client until it goes away or the process is told to stop; then ends all tasks. Takes at
/// most [`SHUTDOWN_LIMIT`] from the first sign of the end.
pub async fn serve(connection: Connection, session: Session) -> Ending {
    let Connection { mut incoming, outgoing, hung_up } = connection;
    let (events, mut task_events) = mpsc::unbounded_channel();
    let (notices, mut notice_lines) = mpsc::unbounded_channel();
    let (told, mut handlers_tell) = mpsc::unbounded_channel();
    let requester = Requester::new(outgoing.clone());
    let secrets = Arc::new(ClientSecrets::new(requester.clone(), session.log.clone()));
    let stop = session.stop.clone();
    let mut served = Served {
        outgoing: outgoing.clone(),
        requester,
        log: session.log,
        handlers: Handlers::new(session.started, told),
        held: Held::default(),
        workers: session.workers,
        unopened: Some(Unopened {
            compose: session.compose,
            secrets,
            events,
            notices: Notices(notices),
        }),
    };
    let ending = loop {
        served.begin_held();
        // Answers, cancellations and the end of the input come the same way as requests, so nothing but a
        // client that reads nothing and still writes stops the reading.
        let is_full = served.is_full();
        let event = tokio::select! {
            item = incoming.recv(), if !is_full => Event::Incoming(item),
            () = hung_up.cancelled(), if is_full => {
                Event::Incoming(Some(Incoming::Ended { midway: false }))
            }
            Some(item) = handlers_tell.recv() => Event::Told(item),
            Some(item) = task_events.recv() => Event::Task(Box::new(item)),
            Some(item) = notice_lines.recv() => Event::Notice(item),
            () = outgoing.closed() => Event::Unreachable,
            () = stop.cancelled() => Event::Stop,
            // A backlog shrinks without an event, so it is looked at again.
            () = tokio::time::sleep(Duration::from_millis(5)), if served.is_behind() => continue,
        };
        if let Some(ending) = served.take(event) {
            break ending;
        }
    };
    stop.cancel();
    served.end(&mut task_events).await;
    ending
}

/// A session while it is served.
struct Served {
    outgoing: Outgoing,
    requester: Requester,
    log: Log,
    handlers: Handlers,
    held: Held,
    workers: Handle,
    unopened: Option<Unopened>,
}

/// What the first `initialize` uses up.
struct Unopened {
    compose: Compose,
    secrets: SharedSecrets,
    events: mpsc::UnboundedSender<TaskEvent>,
    notices: Notices,
}

impl Served {
    /// Takes one event; gives how the session ended when it did.
    fn take(&mut self, event: Event) -> Option<Ending> {
        match event {
            Event::Incoming(Some(Incoming::Message(message, bytes))) => {
                self.take_message(message, bytes);
            }
            Event::Incoming(Some(Incoming::Malformed(malformed))) => self.refuse(malformed),
            Event::Incoming(Some(Incoming::Broken(error))) => {
                self.log.say(Level::Error, &format!("connection closed: {error}"));
                return Some(Ending::Broken);
            }
            Event::Incoming(Some(Incoming::Ended { midway })) => {
                let inside = if midway { " inside a frame" } else { "" };
                self.log.say(Level::Info, &format!("the client ended the connection{inside}"));
                return Some(Ending::Clean);
            }
            Event::Incoming(None) | Event::Unreachable => {
                self.log.say(Level::Info, "the client is gone");
                return Some(Ending::Clean);
            }
            Event::Stop => {
                self.log.say(Level::Info, "told to stop");
                return Some(Ending::Clean);
            }
            Event::Told(Told::Fault) => {
                self.log.say(Level::Fatal, "the services could not be made");
                return Some(Ending::Fault);
            }
            Event::Told(Told::Finished(finished)) => {
                self.handlers.close(finished.serial);
                self.send(&answer(Some(finished.id), finished.result));
            }
            Event::Task(event) => self.tell(&event),
            Event::Notice(line) => {
                self.log.say(Level::Warn, &line);
                let params = log_notification(LogLevel::Warn, line, now(), Map::new());
                self.notify(LOG, params);
            }
        }
        None
    }

    fn take_message(&mut self, message: Message, bytes: usize) {
        match message {
            Message::Request { id, method, params } => {
                self.take_request(Waiting { id, method, params, bytes });
            }
            Message::Notification { method, params } if method == CANCEL => {
                let params = serde_json::from_value(params.unwrap_or_default());
                if let Ok(CancelRequestParams { id }) = params
                    && let Some(id) = Id::from_json(id)
                {
                    // One that waits begins out of its turn, and ends as it would at work.
                    for waiting in self.held.take(&id, handle::can_be_cancelled) {
                        self.begin(waiting);
                    }
                    self.handlers.cancel(&id);
                }
            }
            Message::Notification { method, .. } => {
                let method: String = method.chars().take(100).collect();
                self.log.say(Level::Debug, &format!("notification `{method}` ignored"));
            }
            Message::Response { id, result } => {
                let is_known = id.is_some_and(|id| self.requester.answer(&id, result));
                if !is_known {
                    self.log.say(Level::Debug, "an answer nobody waits for was ignored");
                }
            }
        }
    }

    /// Whether the client reads so slowly that no request may begin.
    fn is_late(&self) -> bool {
        self.outgoing.backlog() >= BACKLOG
    }

    /// Whether so much waits for a client that does not read that nothing may be read from it either.
    fn is_full(&self) -> bool {
        self.is_late() && self.outgoing.backlog().saturating_add(self.held.bytes()) >= UNREAD
    }

    /// Whether something waits for the client to read.
    fn is_behind(&self) -> bool {
        self.is_late() && (self.is_full() || !self.held.is_empty())
    }

    /// Begins what waits, as far as there is room.
    fn begin_held(&mut self) {
        while !self.is_late() && self.handlers.open() < OPEN_REQUESTS {
            let Some(waiting) = self.held.pop() else {
                return;
            };
            self.begin(waiting);
        }
    }

    /// Takes a request: it begins, waits for its turn or is refused.
    fn take_request(&mut self, request: Waiting) {
        let is_turn = self.held.is_empty() && self.handlers.open() < OPEN_REQUESTS;
        let is_ping = Method::from_name(&request.method) == Some(Method::HealthPing);
        if !self.is_late() && (is_turn || is_ping) {
            self.begin(request);
        } else if self.is_late() || self.held.bytes() < HELD {
            self.held.push(request);
        } else {
            let Waiting { id, method, .. } = request;
            self.send(&answer(Some(id), Err(Fault::Busy(method))));
        }
    }

    fn begin(&mut self, Waiting { id, method, params, .. }: Waiting) {
        let request = dispatch::read(&method, params, self.handlers.is_open());
        let request = match request {
            Ok(request) => request,
            Err(fault) => return self.send(&answer(Some(id), Err(fault))),
        };
        if let Request::Initialize(params) = request {
            return self.initialize(id, params);
        }
        if let Some((id, result)) = self.handlers.begin(id, request) {
            self.send(&answer(Some(id), result));
        }
    }

    /// Opens the session. The answer goes out before the services are made, since that may take a while
    /// on a slow disk; what needs them waits for them.
    fn initialize(&mut self, id: Id, params: InitializeParams) {
        if self.unopened.is_none() {
            return self.send(&answer(Some(id), Err(Fault::SecondInitialize)));
        }
        let result = dispatch::initialize(&params).and_then(|result| {
            match roots::problem(&params.workspace_roots) {
                None => Ok(result),
                Some(problems) => Err(Fault::Params(Method::Initialize, problems)),
            }
        });
        let is_open = result.is_ok();
        self.send(&answer(Some(id), result));
        let Some(Unopened { compose, secrets, events, notices }) =
            self.unopened.take_if(|_| is_open)
        else {
            return;
        };
        let mut fields = Map::new();
        fields.insert("client".to_owned(), Value::from(params.client.name));
        fields.insert("version".to_owned(), Value::from(params.client.version));
        self.log.write(Level::Info, "session opened", fields);
        let roots = params.workspace_roots.into_iter().map(PathBuf::from).collect();
        let opening = Opening { roots, secrets, events, notices: notices.clone() };
        let compose = move || compose(opening);
        self.handlers.open_with(&self.workers, compose, notices, self.log.clone());
    }

    fn refuse(&self, malformed: Malformed) {
        let (id, fault) = match malformed {
            Malformed::NotJson(why) => (None, Fault::NotJson(why)),
            Malformed::NoMessage { id, why } => (id, Fault::NoMessage(why)),
        };
        self.log.say(Level::Warn, "a malformed message was refused");
        self.send(&answer(id, Err(fault)));
    }

    fn tell(&self, event: &TaskEvent) {
        let (params, result) = task_event(event);
        if let Err(problems) = result {
            let seq = event.seq;
            self.log.say(Level::Error, &format!("event {seq} of a task did not fit: {problems}"));
        }
        self.notify(TASK_EVENT, params);
    }

    fn notify(&self, method: &str, params: Value) {
        self.send(&Message::Notification { method: method.to_owned(), params: Some(params) });
    }

    fn send(&self, message: &Message) {
        // A client that is gone is noticed by `Unreachable`.
        let _ = self.outgoing.send(message);
    }

    /// Stops all handlers and tasks, tells what the tasks still say, and writes it out.
    async fn end(self, task_events: &mut mpsc::UnboundedReceiver<TaskEvent>) {
        let begin = Instant::now();
        self.handlers.cancel_all();
        self.requester.close();
        if let Some(runtime) = self.handlers.runtime() {
            let shutdown = tokio::time::timeout(TASKS_LIMIT, runtime.shutdown(TASKS_LIMIT));
            tokio::pin!(shutdown);
            loop {
                tokio::select! {
                    Some(event) = task_events.recv() => self.tell(&event),
                    done = &mut shutdown => {
                        if done.is_err() {
                            self.log.say(Level::Error, "tasks did not end in time");
                        }
                        break;
                    }
                }
            }
        }
        while let Ok(event) = task_events.try_recv() {
            self.tell(&event);
        }
        let left = SHUTDOWN_LIMIT.saturating_sub(begin.elapsed() + Duration::from_millis(100));
        if tokio::time::timeout(left, self.outgoing.flushed()).await.is_err() {
            self.log.say(Level::Warn, "the client does not read; its last messages are lost");
        }
    }
}

/// The time of day.
fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
