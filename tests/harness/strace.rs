//! Reads a record of system calls as `strace -f -y -v` writes it.

use std::collections::{BTreeMap, BTreeSet};

use crate::bash::{Observed, Started, decode};

/// The calls that are recorded.
pub const CALLS: &str = "trace=execve,execveat,open,openat,openat2,creat,truncate,rename,renameat,renameat2,link,linkat,\
    symlink,symlinkat,mkdir,mkdirat,mknod,mknodat";

/// What was started and written after the first program with these words was started; none where it
/// never was.
pub fn read(record: &[u8], argv: &[String]) -> Option<Observed> {
    let mut observed = Observed::default();
    let mut begun = false;
    // Where a call of one process is cut by those of others, the record goes on in a later line.
    let mut open: BTreeMap<Vec<u8>, Vec<u8>> = BTreeMap::new();
    for line in record.split(|byte| *byte == b'\n') {
        let mut halves = line.splitn(2, |byte| *byte == b' ');
        let (Some(process), Some(rest)) = (halves.next(), halves.next()) else { continue };
        let rest = rest.trim_ascii_start();
        let whole = if let Some(start) = rest.strip_suffix(b" <unfinished ...>") {
            open.insert(process.to_vec(), start.to_vec());
            // A program counts where it is tried, so that order is that of the tries.
            if !start.starts_with(b"execve") {
                continue;
            }
            start.to_vec()
        } else if let Some(resumed) = rest.strip_prefix(b"<... ") {
            let Some(mut start) = open.remove(process) else { continue };
            if start.starts_with(b"execve") {
                continue;
            }
            let at =
                resumed.windows(8).position(|window| window == b"resumed>").map_or(0, |at| at + 8);
            start.extend_from_slice(resumed.get(at..).unwrap_or_default());
            start
        } else {
            rest.to_vec()
        };
        let Some(call) = Call::read(&whole) else { continue };
        if call.name.starts_with("execve") {
            let Some(started) = started(&call) else { continue };
            if begun {
                observed.started.push(started);
            } else {
                begun = started.argv == *argv;
            }
        } else if begun {
            written(&call, &mut observed.written);
        }
    }
    // The same try at several places of the search path is one.
    observed.started.dedup_by(|later, earlier| {
        later.argv == earlier.argv
            && later.path.rsplit('/').next() == earlier.path.rsplit('/').next()
    });
    begun.then_some(observed)
}

fn started(call: &Call) -> Option<Started> {
    let mut values = call.values.iter();
    if call.name == "execveat" {
        values.next();
    }
    let path = values.next()?.text()?;
    let Value::List(words) = values.next()? else { return None };
    let argv: Vec<String> = words.iter().filter_map(Value::text).collect();
    if path == "/.own/missing" {
        let argv: Vec<String> = argv.into_iter().skip(1).collect();
        return Some(Started { path: argv.first()?.clone(), argv });
    }
    Some(Started { path, argv })
}

fn written(call: &Call, out: &mut BTreeSet<String>) {
    let mut folder = None;
    let mut paths = Vec::new();
    let mut flags = "";
    for value in &call.values {
        match value {
            Value::Plain(text) if text.starts_with("O_") => flags = text,
            Value::Plain(text) => {
                folder = text.find('<').and_then(|at| text.get(at + 1..)?.strip_suffix('>'));
            }
            Value::Text(bytes) => paths.push((folder.unwrap_or("/").to_owned(), decode(bytes))),
            Value::List(_) => {}
        }
    }
    if call.name.starts_with("open") {
        let writes =
            ["O_WRONLY", "O_RDWR", "O_CREAT", "O_TRUNC"].iter().any(|flag| flags.contains(flag));
        // A name of its own making: read and write, and only where nothing is there.
        let own = flags.contains("O_RDWR") && flags.contains("O_EXCL");
        if !writes || own {
            return;
        }
    }
    // The same for a folder, which only `mktemp -d` makes that way.
    let mode =
        call.values.iter().any(|value| matches!(value, Value::Plain(text) if text == "0700"));
    if call.name.starts_with("mkdir") && mode {
        return;
    }
    let Some((folder, path)) = paths.pop().filter(|(_, path)| !path.is_empty()) else { return };
    let lexical = normal(&if path.starts_with('/') { path } else { format!("{folder}/{path}") });
    let path =
        call.result.as_ref().filter(|path| path.starts_with('/')).cloned().unwrap_or(lexical);
    let harmless = [
        "/dev/null",
        "/dev/tty",
        "/dev/stdin",
        "/dev/stdout",
        "/dev/stderr",
        "/dev/zero",
        "/dev/full",
    ];
    if !harmless.contains(&path.as_str())
        && !path.starts_with("/dev/tcp/")
        && !path.starts_with("/dev/udp/")
        && !path.starts_with("/proc/")
        && !path.starts_with("/dev/fd/")
    {
        out.insert(path);
    }
}

/// The path without `.`, `..` and double slashes.
pub fn normal(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            other => parts.push(other),
        }
    }
    format!("/{}", parts.join("/"))
}

/// One call.
struct Call {
    name: String,
    values: Vec<Value>,
    /// The path of the descriptor it gave.
    result: Option<String>,
}

enum Value {
    Text(Vec<u8>),
    List(Vec<Value>),
    Plain(String),
}

impl Value {
    fn text(&self) -> Option<String> {
        match self {
            Self::Text(bytes) => Some(decode(bytes)),
            _ => None,
        }
    }
}

impl Call {
    fn read(line: &[u8]) -> Option<Self> {
        let at = line.iter().position(|byte| *byte == b'(')?;
        let (name, rest) = line.split_at(at);
        let mut reader = Reader { bytes: rest.get(1..)?, at: 0 };
        let values = reader.values(b')');
        let tail =
            String::from_utf8_lossy(rest.get(reader.at + 1..).unwrap_or_default()).into_owned();
        let result = tail
            .split_once("= ")
            .and_then(|(_, given)| given.split_once('<'))
            .and_then(|(_, path)| path.strip_suffix('>'))
            .map(|path| decode(&unescape(path.as_bytes())));
        Some(Self { name: String::from_utf8_lossy(name).into_owned(), values, result })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn values(&mut self, end: u8) -> Vec<Value> {
        let mut out = Vec::new();
        while let Some(byte) = self.peek() {
            match byte {
                _ if byte == end => {
                    self.at += 1;
                    break;
                }
                b',' | b' ' => self.at += 1,
                b'"' => out.push(self.string()),
                b'[' => {
                    self.at += 1;
                    out.push(Value::List(self.values(b']')));
                }
                _ => out.push(self.plain()),
            }
        }
        out
    }

    fn string(&mut self) -> Value {
        self.at += 1;
        let start = self.at;
        while let Some(byte) = self.peek() {
            match byte {
                b'"' => break,
                b'\\' => self.at += 2,
                _ => self.at += 1,
            }
        }
        let text = unescape(self.bytes.get(start..self.at).unwrap_or_default());
        self.at += 1;
        Value::Text(text)
    }

    fn plain(&mut self) -> Value {
        let start = self.at;
        let mut depth = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'{' => depth += 1,
                b'>' | b'}' => depth = depth.saturating_sub(1),
                b'\\' => self.at += 1,
                b',' | b')' | b']' if depth == 0 => break,
                _ => {}
            }
            self.at += 1;
        }
        let text = unescape(self.bytes.get(start..self.at).unwrap_or_default());
        Value::Plain(decode(&text))
    }
}

/// The bytes behind C escapes.
fn unescape(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(byte);
            continue;
        }
        match bytes.next() {
            Some(b'n') => out.push(b'\n'),
            Some(b't') => out.push(b'\t'),
            Some(b'r') => out.push(b'\r'),
            Some(b'v') => out.push(0x0b),
            Some(b'f') => out.push(0x0c),
            Some(digit @ b'0'..=b'7') => {
                let mut value = u32::from(digit - b'0');
                for _ in 0..2 {
                    let Some(next @ b'0'..=b'7') = bytes.peek().copied() else { break };
                    value = value * 8 + u32::from(next - b'0');
                    bytes.next();
                }
                out.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(b'x') => {
                let mut value = 0;
                for _ in 0..2 {
                    let Some(next) = bytes.peek().and_then(|next| char::from(*next).to_digit(16))
                    else {
                        break;
                    };
                    value = value * 16 + next;
                    bytes.next();
                }
                out.push(u8::try_from(value & 0xff).unwrap_or_default());
            }
            Some(other) => out.push(other),
            None => {}
        }
    }
    out
}
