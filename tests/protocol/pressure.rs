//! The service under pressure: a history that another process holds, more requests than it takes at a time,
//! a client that reads nothing. Limits are far above what is promised, since machines may be slow, and far
//! below what a fault takes.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use serde_json::{Value, json};
use shellgate_orchestrator::rpc::frame::frame;

use super::program::{Client, program};
use super::wire::House;

/// What an end may take here; the service promises 1.5 s.
const END: Duration = Duration::from_millis(4500);

/// Holds the task database of a house, as a backup would.
struct Held(Connection);

impl Held {
    fn new(house: &House) -> Self {
        let own = Connection::open(house.path("root/.desiide/state/tasks.sqlite3")).unwrap();
        own.busy_timeout(Duration::from_secs(10)).unwrap();
        own.execute_batch("BEGIN IMMEDIATE").unwrap();
        Self(own)
    }

    fn release(self) {
        self.0.execute_batch("COMMIT").unwrap();
    }
}

fn hang() -> Value {
    json!({ "kind": "explain", "instruction": "[[hang]]" })
}

/// Two tasks at work and four that wait.
fn busy(house: &House) -> Client {
    let mut client = house.open(&[]);
    for _ in 0..6 {
        client.ask("task.create", &hang()).unwrap();
    }
    client
        .until("two tasks at work", |client| {
            client.ledger.tasks().values().filter(|task| task.state == "running").count() == 2
        })
        .unwrap();
    client
}

#[test]
fn a_history_that_is_held_delays_no_end() {
    let house = House::new("held-end");
    for ends_by_signal in [true, false] {
        let mut client = busy(&house);
        let held = Held::new(&house);
        if ends_by_signal {
            client.signal("TERM");
        } else {
            client.close_input();
        }
        let (code, took) = client.wait().unwrap();
        assert_eq!(code, Some(0));
        assert!(took < END, "the end took {took:?}");
        while client.take(Duration::from_secs(5)).unwrap() {}
        let tasks = client.ledger.tasks();
        assert!(tasks.len() == 6 && tasks.values().all(|task| task.state == "cancelled"));
        held.release();
    }
}

#[test]
fn a_request_that_waits_for_the_history_delays_no_end() {
    let house = House::new("held-create");
    let mut client = house.open(&[]);
    client.ask("task.list", &json!({})).unwrap();
    let held = Held::new(&house);
    client.send("task.create", &hang());
    // What was sent is being worked on; pings go on all the while.
    client.ask("health.ping", &json!({})).unwrap();
    client.signal("TERM");
    let (code, took) = client.wait().unwrap();
    assert_eq!(code, Some(0));
    assert!(took < END, "the end took {took:?}");
    held.release();
}

#[test]
fn a_cancellation_is_told_while_the_history_is_held() {
    let house = House::new("held-cancel");
    let mut client = busy(&house);
    let running: Vec<String> = client
        .ledger
        .tasks()
        .iter()
        .filter(|(_, task)| task.state == "running")
        .map(|(id, _)| id.clone())
        .collect();
    let held = Held::new(&house);
    let begin = Instant::now();
    for id in &running {
        client.send("task.cancel", &json!({ "taskId": id }));
    }
    client
        .until("the end of both", |client| {
            running.iter().all(|id| client.ledger.tasks()[id].is_over())
        })
        .unwrap();
    // One wait for all, where each event of each task would wait by itself.
    assert!(begin.elapsed() < Duration::from_millis(5500), "{:?}", begin.elapsed());
    held.release();
    let all: Vec<String> = client.ledger.tasks().keys().cloned().collect();
    for id in all {
        client.ask("task.cancel", &json!({ "taskId": id })).unwrap();
    }
    // Once it is free again tasks are kept as before.
    let events = client.play(&json!({ "kind": "explain", "instruction": "look" }), |_| "reject");
    assert_eq!(events.unwrap().last().unwrap()["to"], "done");
}

#[test]
fn a_history_that_is_held_at_the_start_delays_no_answer() {
    let house = House::new("held-start");
    drop(busy(&house));
    let held = Held::new(&house);
    let mut client = Client::spawn(&[]);
    let params = json!({ "protocolVersion": "1.0.0", "client": { "name": "c", "version": "1" },
        "workspaceRoots": [house.path("root")] });
    client.ask("initialize", &params).unwrap();
    let begin = Instant::now();
    client.ask("health.ping", &json!({})).unwrap();
    assert!(begin.elapsed() < Duration::from_millis(1500), "{:?}", begin.elapsed());
    client.close_input();
    let (code, took) = client.wait().unwrap();
    assert_eq!(code, Some(0));
    assert!(took < END, "the end took {took:?}");
    held.release();
}

/// A session with a model that needs a secret and a server that is not there.
fn keyed(house: &House) -> Client {
    let mut client = house.open(&[]);
    let model = json!({ "id": "m", "provider": "openai-compatible", "model": "m", "apiKey": "secret:k",
        "baseUrl": "http://127.0.0.1:9/v1" });
    client.ask("config.update", &json!({ "models": [model] })).unwrap();
    client
}

#[test]
fn more_requests_than_are_taken_at_a_time_wait_and_nothing_else_does() {
    let house = House::new("many-open");
    let mut client = keyed(&house);
    let params = json!({ "modelId": "m" });
    // Each waits for a secret that never comes.
    let sent: Vec<u64> = (0..1100).map(|_| client.send("models.test", &params)).collect();
    client.ask("health.ping", &json!({})).unwrap();
    for id in [sent[5], sent[1099]] {
        client.notify("$/cancelRequest", &json!({ "id": id }));
        let answer = client.answer(id).unwrap();
        assert_eq!(answer["result"]["error"]["kind"], "cancelled", "{answer}");
    }
    client.close_input();
    let (code, took) = client.wait().unwrap();
    assert_eq!(code, Some(0));
    assert!(took < END, "the end took {took:?}");
}

#[test]
fn answers_reach_the_requests_that_fill_the_service() {
    let house = House::new("many-answered");
    let mut client = keyed(&house);
    client.secret = Some("sk-of-many");
    let params = json!({ "modelId": "m" });
    let sent: Vec<u64> = (0..1200).map(|_| client.send("models.test", &params)).collect();
    for id in sent {
        let answer = client.answer(id).unwrap();
        // Had the answer of the client not come through, it would be one about the secret.
        assert_eq!(answer["result"]["error"]["kind"], "network", "{answer}");
    }
}

#[test]
fn requests_beyond_what_may_wait_are_refused_at_once() {
    let house = House::new("many-refused");
    let mut client = keyed(&house);
    // A megabyte each: after 1,024 small ones 32 may wait.
    for _ in 0..1024 {
        client.send("models.test", &json!({ "modelId": "m" }));
    }
    let long = json!({ "modelId": "m".repeat(1 << 20) });
    let sent: Vec<u64> = (0..40).map(|_| client.send("models.test", &long)).collect();
    let answer = client.answer(sent[39]).unwrap();
    assert_eq!(answer["error"]["code"], -32603, "{answer}");
    let message = answer["error"]["message"].as_str().unwrap();
    assert!(message.contains("models.test") && message.contains("too many requests"), "{message}");
    client.ask("health.ping", &json!({})).unwrap();
}

#[test]
fn the_end_of_a_client_that_reads_nothing_is_seen() {
    let house = House::new("unread");
    // Far more than the service keeps for one who does not read.
    let mut frames = Vec::new();
    for number in 0..1200 {
        let id = format!("{number}-{}", "x".repeat(60_000));
        let ping = json!({ "jsonrpc": "2.0", "id": id, "method": "health.ping" });
        frames.extend(frame(ping.to_string().as_bytes()));
    }
    std::fs::write(house.path("frames"), frames).unwrap();
    let mut writer =
        Command::new("cat").arg(house.path("frames")).stdout(Stdio::piped()).spawn().unwrap();
    let mut service = Command::new(program())
        .args(["--log-level", "silent"])
        .stdin(writer.stdout.take().unwrap())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(Duration::from_secs(3));
    assert!(service.try_wait().unwrap().is_none(), "it ended by itself");
    writer.kill().unwrap();
    writer.wait().unwrap();
    let begin = Instant::now();
    let ended = loop {
        match service.try_wait().unwrap() {
            Some(status) => break Some(status),
            None if begin.elapsed() > Duration::from_secs(10) => break None,
            None => std::thread::sleep(Duration::from_millis(10)),
        }
    };
    let _ = service.kill();
    service.wait().unwrap();
    assert!(ended.is_some_and(|status| status.code().is_some()), "{ended:?}");
}
