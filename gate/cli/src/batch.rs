//! The batch form: one JSON object in on each line, one out, in order.

use std::borrow::Cow;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::Scope;

use serde_json::{Map, Value};
use shellgate::Gate;
use shellgate::model::context::Context;

use crate::command::Failure;
use crate::strict;
use crate::wire;

/// A line that could be understood.
struct Line<'c> {
    id: Option<Value>,
    command: String,
    context: Cow<'c, Context>,
}

/// A line that could not be.
struct Bad {
    id: Option<Value>,
    error: String,
}

/// Bytes of the stack of a thread that judges.
const STACK_BYTES: usize = 32 << 20;

/// Lines that a thread gets at once.
const SHARE: usize = 256;

/// How a batch is answered.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    /// The gate that judges.
    pub gate: &'a Gate,
    /// The context of lines that say nothing else.
    pub context: &'a Context,
    /// Whether each answer tells every stage.
    pub explain: bool,
    /// Threads that judge; one answers each line before it reads the next.
    pub jobs: usize,
}

/// Answers each line, in order, and gives the number of bad ones. Blank lines are passed over.
/// Answers are written out whenever no further line is at hand, so that a program may ask and wait.
///
/// # Errors
/// When reading or writing fails.
pub fn run(batch: &Batch<'_>, input: impl Read, mut out: impl Write) -> Result<usize, Failure> {
    let mut input = BufReader::with_capacity(batch.jobs.max(1) << 18, input);
    if batch.jobs <= 1 {
        return each_share(&mut input, 1, |share, waits| {
            let bad = batch.answer_share(&share, &mut out)?;
            if waits {
                out.flush()?;
            }
            Ok(bad)
        });
    }
    std::thread::scope(|scope| {
        let workers: Vec<Worker> =
            (0..batch.jobs).map(|_| batch.worker(scope)).collect::<io::Result<_>>()?;
        let mut pool = Pool { workers, given: 0, taken: 0 };
        each_share(&mut input, SHARE, |share, waits| {
            let mut bad = pool.give(share, &mut out)?;
            if waits {
                bad += pool.take_all(&mut out)?;
                out.flush()?;
            }
            Ok(bad)
        })
    })
}

/// Reads lines and hands them on with their numbers, at most `room` at once and at once where no
/// further line is at hand; gives the sum of what the handler gives.
fn each_share(
    input: &mut BufReader<impl Read>,
    room: usize,
    mut handle: impl FnMut(Share, bool) -> io::Result<usize>,
) -> Result<usize, Failure> {
    let mut lines = Share::new();
    let (mut sum, mut number) = (0, 0_usize);
    loop {
        let mut line = Vec::new();
        let count = input
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::Io("cannot read the batch".into(), error))?;
        number += 1;
        if count > 0 && !line.iter().all(u8::is_ascii_whitespace) {
            lines.push((number, line));
        }
        let waits = count == 0 || input.buffer().is_empty();
        if waits || lines.len() >= room {
            sum += handle(std::mem::take(&mut lines), waits)?;
        }
        if count == 0 {
            return Ok(sum);
        }
    }
}

/// Lines with their numbers.
type Share = Vec<(usize, Vec<u8>)>;

/// The answers to a share of lines as text, and the number of bad lines.
type Answers = (Vec<u8>, io::Result<usize>);

/// Shares that a thread may have before it, and answers behind it.
const AHEAD: usize = 2;

/// A thread that answers shares in the order it gets them.
struct Worker {
    shares: SyncSender<Share>,
    answers: Receiver<Answers>,
}

/// Threads that get shares in turn, so that answers are taken in the order of the lines.
struct Pool {
    workers: Vec<Worker>,
    given: usize,
    taken: usize,
}

impl Pool {
    fn give(&mut self, share: Share, out: &mut impl Write) -> io::Result<usize> {
        if share.is_empty() {
            return Ok(0);
        }
        let mut bad = 0;
        if self.given - self.taken >= AHEAD * self.workers.len() {
            bad += self.take(out)?;
        }
        let worker = self.workers.get(self.given % self.workers.len()).ok_or_else(broken)?;
        worker.shares.send(share).map_err(|_| broken())?;
        self.given += 1;
        Ok(bad)
    }

    /// Writes the oldest answers that are still out.
    fn take(&mut self, out: &mut impl Write) -> io::Result<usize> {
        let worker = self.workers.get(self.taken % self.workers.len()).ok_or_else(broken)?;
        let (text, bad) = worker.answers.recv().map_err(|_| broken())?;
        self.taken += 1;
        out.write_all(&text)?;
        bad
    }

    fn take_all(&mut self, out: &mut impl Write) -> io::Result<usize> {
        let mut bad = 0;
        while self.taken < self.given {
            bad += self.take(out)?;
        }
        Ok(bad)
    }
}

fn broken() -> io::Error {
    io::Error::other("a thread broke down")
}

impl Batch<'_> {
    /// Starts a thread that answers shares until no more can come.
    fn worker<'scope>(&'scope self, scope: &'scope Scope<'scope, '_>) -> io::Result<Worker> {
        let (shares, inbox) = mpsc::sync_channel::<Share>(AHEAD);
        let (outbox, answers) = mpsc::sync_channel::<Answers>(AHEAD);
        let work = move || {
            for share in inbox {
                let mut text = Vec::new();
                let bad = self.answer_share(&share, &mut text);
                if outbox.send((text, bad)).is_err() {
                    return;
                }
            }
        };
        std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, work)?;
        Ok(Worker { shares, answers })
    }

    fn answer_share(&self, lines: &[(usize, Vec<u8>)], out: &mut impl Write) -> io::Result<usize> {
        let mut bad = 0;
        for (number, line) in lines {
            let answer = match read(line, *number, self.context) {
                Ok(line) => answer(self.gate, self.explain, &line),
                Err(line) => {
                    bad += 1;
                    wire::bad_line(line.id, &line.error)
                }
            };
            writeln!(out, "{answer}")?;
        }
        Ok(bad)
    }
}

fn answer(gate: &Gate, explain: bool, line: &Line<'_>) -> Value {
    if explain {
        wire::explanation(line.id.clone(), &gate.explain(&line.command, &line.context))
    } else {
        wire::verdict(line.id.clone(), &gate.classify(&line.command, &line.context))
    }
}

fn read<'c>(bytes: &[u8], number: usize, context: &'c Context) -> Result<Line<'c>, Bad> {
    let bad =
        |id: Option<Value>, error: String| Bad { id, error: format!("line {number}: {error}") };
    let value =
        strict::value(bytes).map_err(|error| bad(None, format!("not readable JSON: {error}")))?;
    let Value::Object(mut object) = value else {
        return Err(bad(None, "not a JSON object".into()));
    };
    let id = match object.remove("id") {
        None => None,
        Some(id @ (Value::String(_) | Value::Number(_))) => Some(id),
        Some(_) => return Err(bad(None, "`id` is neither a string nor a number".into())),
    };
    let command = match object.remove("cmd") {
        Some(Value::String(command)) => command,
        Some(_) => return Err(bad(id, "`cmd` is not a string".into())),
        None => return Err(bad(id, "`cmd` is missing".into())),
    };
    let mut context = Cow::Borrowed(context);
    if !object.is_empty()
        && let Err(error) = place(&mut object, context.to_mut())
    {
        return Err(bad(id, error));
    }
    Ok(Line { id, command, context })
}

/// Puts what a line says about the place on top of the context.
fn place(object: &mut Map<String, Value>, context: &mut Context) -> Result<(), String> {
    let mut absolute = |key: &str| match object.remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(path)) if path.starts_with('/') => Ok(Some(path)),
        Some(_) => Err(format!("`{key}` is not an absolute path")),
    };
    if let Some(cwd) = absolute("cwd")? {
        context.cwd = cwd;
    }
    if let Some(home) = absolute("home")? {
        context.home = home;
    }
    match object.remove("workspace") {
        None | Some(Value::Null) => {}
        Some(Value::String(path)) if path.starts_with('/') => context.workspaces = vec![path],
        Some(Value::Array(paths)) if !paths.is_empty() => {
            context.workspaces = paths
                .iter()
                .map(|path| path.as_str().filter(|path| path.starts_with('/')).map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or("`workspace` holds something that is not an absolute path")?;
        }
        Some(_) => return Err("`workspace` is neither an absolute path nor a list of them".into()),
    }
    match object.remove("branch") {
        None => {}
        Some(Value::Null) => context.branch = None,
        Some(Value::String(branch)) => context.branch = Some(branch),
        Some(_) => return Err("`branch` is neither a string nor null".into()),
    }
    Ok(())
}
