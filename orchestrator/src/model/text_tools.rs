//! Tool calls as text, for models that cannot make them natively.
//!
//! The model is told the tools in its system prompt and writes
//! `<tool_call>{"name": ..., "arguments": {...}}</tool_call>`; results go back as
//! `<tool_result name="...">` blocks of a user turn.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::{Message, Request};
use crate::task::call::{RawCall, ToolSpec};

const OPEN: &str = "<tool_call>";
const CLOSE: &str = "</tool_call>";
const FENCE: &str = "```";

/// Bytes between a code fence and the tag it belongs to, at most; also bytes of its first line.
const FENCE_REACH: usize = 64;

/// The request with its tools, calls and results as text.
pub fn as_text(request: Request) -> Request {
    let Request { mut system, messages, tools, max_output_tokens, reasoning } = request;
    if !tools.is_empty() {
        if !system.is_empty() {
            system.push_str("\n\n");
        }
        system.push_str(&instructions(&tools));
    }
    let mut told: Vec<Message> = Vec::with_capacity(messages.len());
    for message in messages {
        match message {
            Message::User { text } => push_user(&mut told, text, true),
            Message::Assistant { text, calls, .. } => {
                let mut parts: Vec<String> = calls.iter().map(call_text).collect();
                if !text.is_empty() {
                    parts.insert(0, text);
                }
                told.push(Message::Assistant {
                    text: parts.join("\n"),
                    calls: Vec::new(),
                    state: None,
                });
            }
            Message::Tool { name, text, failed, .. } => {
                push_user(&mut told, result_text(&name, &text, failed), false);
            }
        }
    }
    Request { system, messages: told, tools: Vec::new(), max_output_tokens, reasoning }
}

/// Adds to the user turn that is last, or begins one. Two texts of the person stay two turns.
fn push_user(told: &mut Vec<Message>, more: String, is_person: bool) {
    match told.last_mut() {
        Some(Message::User { text }) if !is_person || text.starts_with("<tool_result") => {
            text.push_str("\n\n");
            text.push_str(&more);
        }
        _ => told.push(Message::User { text: more }),
    }
}

fn instructions(tools: &[ToolSpec]) -> String {
    let mut text = String::from(
        "# Tools\n\nYou can call tools. To call one, write a block of exactly this form, with the \
         arguments as one JSON object:\n\n<tool_call>\n{\"name\": \"tool_name\", \"arguments\": \
         {\"key\": \"value\"}}\n</tool_call>\n\nWrite one block per call, after any other text, and \
         then stop: the results come in the next message as <tool_result> blocks. Never write a \
         <tool_result> block yourself.\n\nThese are the tools, one per line as JSON:\n",
    );
    for tool in tools {
        let line = json!({
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        });
        text.push_str(&line.to_string());
        text.push('\n');
    }
    text
}

fn call_text(call: &RawCall) -> String {
    let arguments = serde_json::from_str::<Value>(&call.args)
        .unwrap_or_else(|_| Value::String(call.args.clone()));
    format!("{OPEN}\n{}\n{CLOSE}", json!({ "name": call.name, "arguments": arguments }))
}

/// A result; what would end its block early is broken up.
fn result_text(name: &str, text: &str, failed: bool) -> String {
    let name: String =
        name.chars().filter(|c| !matches!(c, '"' | '<' | '>') && !c.is_control()).collect();
    let text = text.replace("</tool_result", "<\\/tool_result");
    let prefix = if failed { "Error: " } else { "" };
    format!("<tool_result name=\"{name}\">\n{prefix}{text}\n</tool_result>")
}

/// What a stream of text holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Text, not empty.
    Text(String),
    /// A call; its id is made here.
    Call(RawCall),
}

/// Takes calls out of a stream of text. However the text is cut, the same calls come out, and the same
/// text when its parts are joined. Takes time in proportion to the text.
#[derive(Clone, Debug, Default)]
pub struct Splitter {
    held: String,
    /// Bytes of `held` that are dealt with.
    done: usize,
    place: Place,
    /// Whether the text that was passed on ends in the middle of a line.
    is_inside_line: bool,
    /// Whether no more text comes.
    is_over: bool,
}

/// Where the held text begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Place {
    /// In text.
    #[default]
    Text,
    /// Behind an opening tag.
    Block { is_fenced: bool, scan: Scan },
    /// Behind the closing tag of a block that stands in a code fence.
    AfterFenced,
}

/// How far the end of a block was looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scan {
    at: usize,
    in_string: bool,
    is_escaped: bool,
}

impl Splitter {
    /// Adds text; puts what is certain into `out`.
    pub fn push(&mut self, text: &str, out: &mut Vec<Part>) {
        self.held.push_str(text);
        while self.step(out) {}
        self.held.drain(..self.done);
        self.done = 0;
    }

    /// The text is over; puts the rest into `out`. A block whose closing tag was only found inside a
    /// string, as its quotes are broken, ends at the first one; so do those behind it. A block without
    /// any closing tag is one if it can be read.
    pub fn finish(&mut self, out: &mut Vec<Part>) {
        self.is_over = true;
        while self.step(out) {}
        let rest = self.rest().to_owned();
        match self.place {
            Place::Text | Place::AfterFenced => self.emit(&rest, out),
            Place::Block { .. } => self.close(&rest, "", out),
        }
        *self = Self::default();
    }

    fn rest(&self) -> &str {
        self.held.get(self.done..).unwrap_or_default()
    }

    /// Goes one step; false when more text is needed.
    fn step(&mut self, out: &mut Vec<Part>) -> bool {
        match self.place {
            Place::Text => self.step_text(out),
            Place::Block { is_fenced, scan } => self.step_block(is_fenced, scan, out),
            Place::AfterFenced => self.step_after(),
        }
    }

    fn step_text(&mut self, out: &mut Vec<Part>) -> bool {
        let rest = self.rest();
        let tag = rest.find(OPEN);
        let end = tag.unwrap_or_else(|| rest.len() - partial(rest, OPEN));
        let before = rest.get(..end).unwrap_or_default();
        let fence = self.fence(before, tag.is_some());
        let text = before.get(..fence.unwrap_or(end)).unwrap_or_default().to_owned();
        self.emit(&text, out);
        if tag.is_none() {
            self.done += text.len();
            return false;
        }
        self.done += end + OPEN.len();
        self.place = Place::Block { is_fenced: fence.is_some(), scan: Scan::default() };
        true
    }

    /// Where the code fence begins that `text` ends with: a line of a fence and letters, then blank.
    /// With `whole`, the line must be ended; without, it may be under way.
    fn fence(&self, text: &str, whole: bool) -> Option<usize> {
        let trimmed = text.trim_end_matches([' ', '\t', '\n', '\r']);
        let blank = text.get(trimmed.len()..).unwrap_or_default();
        let start = trimmed.rfind('\n').map_or(0, |at| at + 1);
        let line = trimmed.get(start..).unwrap_or_default();
        let is_line_start = start > 0 || !self.is_inside_line;
        let is_near = text.len() - start <= FENCE_REACH;
        if !is_line_start || !is_near || line.is_empty() {
            return None;
        }
        let is_fence = match line.strip_prefix(FENCE) {
            Some(word) => word.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_'),
            None => !whole && blank.is_empty() && FENCE.starts_with(line),
        };
        (is_fence && (!whole || blank.contains('\n'))).then_some(start)
    }

    fn step_block(&mut self, is_fenced: bool, mut scan: Scan, out: &mut Vec<Part>) -> bool {
        let rest = self.rest();
        let end = if self.is_over {
            rest.find(CLOSE)
        } else {
            let end = closing(rest, &mut scan);
            self.place = Place::Block { is_fenced, scan };
            end
        };
        let Some(end) = end else { return false };
        let body = self.rest().get(..end).unwrap_or_default().to_owned();
        self.done += end + CLOSE.len();
        self.close(&body, CLOSE, out);
        true
    }

    /// Ends a block: calls, or the block as text.
    fn close(&mut self, body: &str, close: &str, out: &mut Vec<Part>) {
        let is_fenced = matches!(self.place, Place::Block { is_fenced: true, .. });
        self.place = if is_fenced { Place::AfterFenced } else { Place::Text };
        // A tag that is only spoken of may come before the one that opens the call.
        let spoken = match serde_json::from_str::<Value>(unfenced(body)) {
            Ok(_) => None,
            Err(_) => body.rsplit_once(OPEN),
        };
        let (spoken, body) = spoken.map_or((None, body), |(spoken, body)| (Some(spoken), body));
        if let Some(spoken) = spoken {
            self.emit(&format!("{OPEN}{spoken}"), out);
        }
        match calls(body) {
            Some(calls) => out.extend(calls.into_iter().map(Part::Call)),
            None => self.emit(&format!("{OPEN}{body}{close}"), out),
        }
    }

    /// Drops the end of the code fence.
    fn step_after(&mut self) -> bool {
        let rest = self.rest();
        let trimmed = rest.trim_start_matches([' ', '\t', '\n', '\r']);
        let blank = rest.len() - trimmed.len();
        if blank <= FENCE_REACH {
            if trimmed.starts_with(FENCE) {
                self.done += blank + FENCE.len();
            } else if FENCE.starts_with(trimmed) {
                return false;
            }
        }
        self.place = Place::Text;
        true
    }

    fn emit(&mut self, text: &str, out: &mut Vec<Part>) {
        if !text.is_empty() {
            self.is_inside_line = !text.ends_with('\n');
            out.push(Part::Text(text.to_owned()));
        }
    }
}

/// Where the closing tag stands that is not inside a string.
fn closing(text: &str, scan: &mut Scan) -> Option<usize> {
    let bytes = text.as_bytes();
    while let Some(byte) = bytes.get(scan.at) {
        match byte {
            _ if scan.is_escaped => scan.is_escaped = false,
            b'\\' if scan.in_string => scan.is_escaped = true,
            b'"' => scan.in_string = !scan.in_string,
            b'<' if !scan.in_string => {
                let rest = text.get(scan.at..).unwrap_or_default();
                if rest.starts_with(CLOSE) {
                    return Some(scan.at);
                }
                if CLOSE.starts_with(rest) {
                    return None;
                }
            }
            _ => {}
        }
        scan.at += 1;
    }
    None
}

/// How many bytes at the end of `text` may begin `tag`.
fn partial(text: &str, tag: &str) -> usize {
    (1..tag.len())
        .rev()
        .find(|length| tag.get(..*length).is_some_and(|begin| text.ends_with(begin)))
        .unwrap_or(0)
}

/// The calls of a block: one object or an array of them. A call whose name can be read is kept with its
/// arguments as they are.
fn calls(body: &str) -> Option<Vec<RawCall>> {
    let body = unfenced(body);
    match serde_json::from_str::<Value>(body) {
        Ok(Value::Array(items)) if !items.is_empty() => {
            items.iter().map(|item| call(item.as_object()?)).collect()
        }
        Ok(Value::Object(object)) => call(&object).map(|call| vec![call]),
        Ok(_) => None,
        Err(_) => broken(body).map(|call| vec![call]),
    }
}

/// The text inside a code fence, or the text.
fn unfenced(body: &str) -> &str {
    let body = body.trim();
    let Some(fenced) = body.strip_prefix(FENCE) else { return body };
    let inner = fenced.split_once('\n').map_or(fenced, |(_, inner)| inner).trim_end();
    inner.strip_suffix(FENCE).unwrap_or(inner).trim()
}

fn new_call(name: &str, args: String) -> RawCall {
    RawCall { id: format!("call_{}", Uuid::new_v4().simple()), name: name.to_owned(), args }
}

fn call(object: &Map<String, Value>) -> Option<RawCall> {
    let name = object.get("name")?.as_str().filter(|name| !name.is_empty())?;
    let args = match object.get("arguments").or_else(|| object.get("parameters")) {
        None | Some(Value::Null) => "{}".to_owned(),
        Some(Value::String(text)) if text.trim().is_empty() => "{}".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    };
    Some(new_call(name, args))
}

/// A call in text that is no JSON: its name if that can be read, and what follows as its arguments.
fn broken(body: &str) -> Option<RawCall> {
    let (_, after) = body.split_once("\"name\"")?;
    let quoted = after.trim_start().strip_prefix(':')?.trim_start().strip_prefix('"')?;
    let (name, _) = quoted.split_once('"')?;
    if name.is_empty() || name.contains(['\\', '\n']) {
        return None;
    }
    let args = ["\"arguments\"", "\"parameters\""].iter().find_map(|key| {
        let (_, after) = body.split_once(key)?;
        after.trim_start().strip_prefix(':').map(str::trim)
    });
    let args = args.filter(|args| !args.is_empty()).unwrap_or("{}");
    // The last brace is the call's own, if the arguments are whole without it.
    let inner = args.strip_suffix('}').map_or(args, str::trim_end);
    let is_whole = serde_json::from_str::<Value>(inner).is_ok();
    Some(new_call(name, if is_whole { inner } else { args }.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Text joined and calls as `name args`.
    fn split(text: &str, at: usize) -> (String, Vec<String>) {
        let (mut splitter, mut out) = (Splitter::default(), Vec::new());
        let (first, second) = text.split_at(at);
        splitter.push(first, &mut out);
        splitter.push(second, &mut out);
        splitter.finish(&mut out);
        let (mut said, mut calls) = (String::new(), Vec::new());
        for part in out {
            match part {
                Part::Text(text) => said.push_str(&text),
                Part::Call(call) => calls.push(format!("{} {}", call.name, call.args)),
            }
        }
        (said, calls)
    }

    #[test]
    fn broken_quotes_take_no_longer() {
        // Each block opens a string that nothing behind it closes.
        let text = "<tool_call>\\\"</tool_call>".repeat(100_000);
        let begin = std::time::Instant::now();
        assert_eq!(split(&text, 7), (text.clone(), Vec::new()));
        assert!(begin.elapsed() < std::time::Duration::from_secs(20));
    }

    #[test]
    fn calls_are_taken_out_wherever_the_text_is_cut() {
        for (text, said, calls) in [
            ("hello", "hello", vec![]),
            (
                r#"a<tool_call>{"name":"x","arguments":{"b":1}}</tool_call>c"#,
                "ac",
                vec![r#"x {"b":1}"#],
            ),
            (r#"<tool_call>{"name":"x","parameters":{}}</tool_call>"#, "", vec!["x {}"]),
            (r#"<tool_call>{"name":"x"}</tool_call>"#, "", vec!["x {}"]),
            (
                "go\n```json\n<tool_call>\n{\"name\":\"x\"}\n</tool_call>\n```\nend",
                "go\n\nend",
                vec!["x {}"],
            ),
            ("<tool_call>\n```json\n{\"name\":\"x\"}\n```\n</tool_call>", "", vec!["x {}"]),
            ("```rust\nfn a() {}\n```\n", "```rust\nfn a() {}\n```\n", vec![]),
            (
                r#"<tool_call>{"name":"x","arguments":{"a":"</tool_call>"}}</tool_call>"#,
                "",
                vec![r#"x {"a":"</tool_call>"}"#],
            ),
            (
                r#"<tool_call>{"name":"x","arguments":{"a":1}</tool_call>t"#,
                "t",
                vec![r#"x {"a":1}"#],
            ),
            (
                r#"<tool_call>{"name":"x","arguments":{"a":"1}}</tool_call>t"#,
                "t",
                vec![r#"x {"a":"1}}"#],
            ),
            ("<tool_call>not json</tool_call>!", "<tool_call>not json</tool_call>!", vec![]),
            ("write <tool_call> to call", "write <tool_call> to call", vec![]),
            (r#"<tool_call>{"name":"x","arguments":{}}"#, "", vec!["x {}"]),
            (r#"<tool_call>[{"name":"x"},{"name":"y"}]</tool_call>"#, "", vec!["x {}", "y {}"]),
            (
                r#"a <tool_call> tag: <tool_call>{"name":"x"}</tool_call>"#,
                "a <tool_call> tag: ",
                vec!["x {}"],
            ),
            ("a < b <tool_cal", "a < b <tool_cal", vec![]),
            (
                r#"<tool_call>{"name":"x","arguments":"{\"a\":1}"}</tool_call>"#,
                "",
                vec![r#"x {"a":1}"#],
            ),
            ("é<tool_call>{\"name\":\"ü\"}</tool_call>é", "éé", vec!["ü {}"]),
        ] {
            for at in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
                let expected = (said.to_owned(), calls.iter().map(ToString::to_string).collect());
                assert_eq!(split(text, at), expected, "{text} cut at {at}");
            }
        }
    }
}
