//! A small HTTP server that plays an openai-compatible model: what it says is found by a mark `[[name]]` in
//! the first message of the person and by the number of answers so far.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};

/// Calls that tests want to see made, by their number.
static KEPT: Mutex<Vec<Calls>> = Mutex::new(Vec::new());

/// Tools with their arguments.
type Calls = Vec<(String, Value)>;

/// Keeps calls for a task; gives its instruction.
pub(crate) fn instruction(calls: &[(&str, Value)]) -> String {
    let calls = calls.iter().map(|(tool, args)| ((*tool).to_owned(), args.clone())).collect();
    let mut kept = KEPT.lock().unwrap();
    kept.push(calls);
    format!("[[calls {}]]", kept.len() - 1)
}

fn kept(number: &str) -> Calls {
    let number = number.parse().unwrap_or(usize::MAX);
    KEPT.lock().unwrap().get(number).cloned().unwrap_or_default()
}

/// Starts the server; it lives as long as the process. Gives its address.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}/v1", listener.local_addr().unwrap());
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                // A client that goes away in the middle is part of the play.
                let _ = serve(stream);
            });
        }
    });
    address
}

fn serve(mut stream: TcpStream) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let mut reader = BufReader::new(stream.try_clone()?);
    let mut length = 0;
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 || line == "\r\n" {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    let request: Value = serde_json::from_slice(&body).unwrap_or_default();
    let messages = request["messages"].as_array().cloned().unwrap_or_default();
    let asked = messages.iter().find(|message| message["role"] == "user").map(Value::to_string);
    let asked = asked.unwrap_or_default();
    let scene = asked
        .split_once("[[")
        .and_then(|(_, rest)| rest.split_once("]]"))
        .map_or("", |(name, _)| name);
    let turn = messages.iter().filter(|message| message["role"] == "assistant").count();
    if let Some(status) = scene.strip_prefix("status ") {
        let head =
            format!("HTTP/1.1 {status} No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n");
        return stream.write_all(head.as_bytes());
    }
    stream.write_all(
        b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n",
    )?;
    play(&mut stream, scene, turn)?;
    stream.write_all(b"data: [DONE]\n\n")
}

fn say(stream: &mut TcpStream, delta: &Value, end: Option<&str>) -> std::io::Result<()> {
    let chunk =
        json!({ "id": "c", "choices": [{ "index": 0, "delta": delta, "finish_reason": end }] });
    stream.write_all(format!("data: {chunk}\n\n").as_bytes())
}

fn call(stream: &mut TcpStream, index: usize, name: &str, args: &Value) -> std::io::Result<()> {
    // Ids that repeat from turn to turn, as some servers give them.
    let function = json!({ "name": name, "arguments": args.to_string() });
    let call = json!({ "index": index, "id": format!("call_{index}"), "type": "function", "function": function });
    say(stream, &json!({ "tool_calls": [call] }), None)
}

fn play(stream: &mut TcpStream, scene: &str, turn: usize) -> std::io::Result<()> {
    let (name, word) = scene.split_once(' ').unwrap_or((scene, ""));
    match (name, turn) {
        ("look", 0) => {
            say(stream, &json!({ "content": "I look." }), None)?;
            call(stream, 0, "read_file", &json!({ "path": "a.txt" }))?;
            call(stream, 1, "list_files", &json!({}))?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        ("edit", 0) => {
            let edits = json!([{ "search": "beta", "replace": "delta" }]);
            call(
                stream,
                0,
                "propose_edit",
                &json!({ "files": [{ "path": "a.txt", "edits": edits }] }),
            )?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        ("shell", 0) => {
            call(stream, 0, "shell", &json!({ "command": format!("sleep {word}") }))?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        ("detach", 0) => {
            let command = format!("setsid sleep {word} & sleep {word} & touch made-{word}");
            call(stream, 0, "shell", &json!({ "command": command }))?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        // One line for each time that it runs.
        ("count", 0) => {
            let command = format!("echo {word} >> counted");
            call(stream, 0, "shell", &json!({ "command": command }))?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        ("calls", 0) => {
            for (index, (name, args)) in kept(word).iter().enumerate() {
                call(stream, index, name, args)?;
            }
            return say(stream, &json!({}), Some("tool_calls"));
        }
        ("hang", _) => thread::sleep(Duration::from_secs(3600)),
        ("loop", _) => {
            call(stream, 0, "read_file", &json!({ "path": "a.txt" }))?;
            return say(stream, &json!({}), Some("tool_calls"));
        }
        // Pieces that say when they were sent, in microseconds.
        ("clock", _) => {
            for _ in 0..word.parse().unwrap_or(100) {
                let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
                say(stream, &json!({ "content": format!("{}\n", now.as_micros()) }), None)?;
                thread::sleep(Duration::from_millis(5));
            }
        }
        ("chat", _) => {
            for number in 0..40 {
                say(stream, &json!({ "content": format!("{number} ") }), None)?;
                thread::sleep(Duration::from_millis(1));
            }
        }
        _ => say(stream, &json!({ "content": "Done." }), None)?,
    }
    say(stream, &json!({}), Some("stop"))
}
