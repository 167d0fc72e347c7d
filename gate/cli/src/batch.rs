//! The batch form: one JSON object in on each line, one out, in order.

use std::io::{self, BufRead as _, BufReader, Read, Write};

use serde_json::{Map, Value};
use shellgate::Gate;
use shellgate::model::context::Context;

use crate::command::Failure;
use crate::wire;

/// A line that could be understood.
struct Line {
    id: Option<Value>,
    command: String,
    context: Context,
}

/// A line that could not be.
struct Bad {
    id: Option<Value>,
    error: String,
}

/// Bytes of the stack of a thread that judges.
const STACK_BYTES: usize = 32 << 20;

/// Lines that are read before they are shared out among threads, for each thread.
const SHARE: usize = 1024;

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
    let room = if batch.jobs > 1 { batch.jobs * SHARE } else { 1 };
    let mut lines: Vec<(usize, Vec<u8>)> = Vec::new();
    let (mut bad, mut number) = (0, 0_usize);
    loop {
        let mut line = Vec::new();
        let count = input
            .read_until(b'\n', &mut line)
            .map_err(|error| Failure::Io("cannot read the batch".into(), error))?;
        number += 1;
        if count > 0 && !line.iter().all(u8::is_ascii_whitespace) {
            lines.push((number, line));
        }
        let waits = input.buffer().is_empty();
        if !lines.is_empty() && (count == 0 || waits || lines.len() >= room) {
            bad += batch.answer_all(&lines, &mut out)?;
            lines.clear();
        }
        if count == 0 || waits {
            out.flush()?;
        }
        if count == 0 {
            return Ok(bad);
        }
    }
}

impl Batch<'_> {
    /// Answers lines, each with its number, in order; gives the number of bad ones.
    fn answer_all(&self, lines: &[(usize, Vec<u8>)], out: &mut impl Write) -> io::Result<usize> {
        let share = lines.len().div_ceil(self.jobs.max(1));
        if share == lines.len() {
            return self.answer_share(lines, out);
        }
        let shares: Vec<(Vec<u8>, io::Result<usize>)> = std::thread::scope(|scope| {
            let threads: Vec<_> = lines
                .chunks(share)
                .map(|share| {
                    let answer = move || {
                        let mut text = Vec::new();
                        let bad = self.answer_share(share, &mut text);
                        (text, bad)
                    };
                    std::thread::Builder::new().stack_size(STACK_BYTES).spawn_scoped(scope, answer)
                })
                .collect();
            threads
                .into_iter()
                .map(|thread| match thread.map(std::thread::ScopedJoinHandle::join) {
                    Ok(Ok(share)) => share,
                    Ok(Err(_)) => (Vec::new(), Err(io::Error::other("a thread broke down"))),
                    Err(error) => (Vec::new(), Err(error)),
                })
                .collect()
        });
        let mut bad = 0;
        for (text, share) in shares {
            bad += share?;
            out.write_all(&text)?;
        }
        Ok(bad)
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

fn answer(gate: &Gate, explain: bool, line: &Line) -> Value {
    if explain {
        wire::explanation(line.id.clone(), &gate.explain(&line.command, &line.context))
    } else {
        wire::verdict(line.id.clone(), &gate.classify(&line.command, &line.context))
    }
}

fn read(bytes: &[u8], number: usize, context: &Context) -> Result<Line, Bad> {
    let bad =
        |id: Option<Value>, error: String| Bad { id, error: format!("line {number}: {error}") };
    let value: Value =
        serde_json::from_slice(bytes).map_err(|error| bad(None, format!("not JSON: {error}")))?;
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
    let mut context = context.clone();
    let set = place(&mut object, &mut context);
    match set {
        Ok(()) => Ok(Line { id, command, context }),
        Err(error) => Err(bad(id, error)),
    }
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
