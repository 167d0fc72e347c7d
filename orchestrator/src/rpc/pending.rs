//! Requests we sent that wait for their answer.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use super::connection::Outgoing;
use super::message::{ErrorObject, Id, Message};

/// The notification that takes back a request, in either direction.
pub const CANCEL: &str = "$/cancelRequest";

/// Why a request got no result.
#[derive(Clone, Debug, PartialEq)]
pub enum RequestError {
    /// The other side answered with an error.
    Refused(ErrorObject),
    /// No answer came in time; the request was taken back.
    Timeout,
    /// The other side is gone.
    Closed,
}

/// Sends requests and hands each answer to the one who waits for it.
#[derive(Clone, Debug)]
pub struct Requester {
    outgoing: Outgoing,
    open: Arc<Mutex<Open>>,
}

#[derive(Debug, Default)]
struct Open {
    next: u64,
    waiting: HashMap<Id, oneshot::Sender<Result<Value, ErrorObject>>>,
}

impl Requester {
    /// A requester over this way out.
    pub fn new(outgoing: Outgoing) -> Self {
        Self { outgoing, open: Arc::default() }
    }

    /// Sends a request and waits for its answer, at most `limit`. A future that is dropped before, or
    /// runs out of time, takes the request back.
    ///
    /// # Errors
    ///
    /// When no result came.
    pub async fn request(
        &self,
        method: &str,
        params: Value,
        limit: Duration,
    ) -> Result<Value, RequestError> {
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
            open.next += 1;
            let id = Id::Number(open.next.into());
            open.waiting.insert(id.clone(), sender);
            id
        };
        let mut guard = TakeBack { requester: self, id: Some(id.clone()) };
        let message = Message::Request { id, method: method.to_owned(), params: Some(params) };
        if !self.outgoing.send(&message) {
            guard.disarm();
            return Err(RequestError::Closed);
        }
        match timeout(limit, receiver).await {
            Ok(Ok(answer)) => {
                guard.disarm();
                answer.map_err(RequestError::Refused)
            }
            Ok(Err(_)) => {
                guard.disarm();
                Err(RequestError::Closed)
            }
            Err(_) => Err(RequestError::Timeout),
        }
    }

    /// Hands an answer over. False when nobody waits for it.
    pub fn answer(&self, id: &Id, result: Result<Value, ErrorObject>) -> bool {
        let waiting = self.open.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(id);
        waiting.is_some_and(|sender| sender.send(result).is_ok())
    }

    /// Nobody will answer any more.
    pub fn close(&self) {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).waiting.clear();
    }
}

/// Takes a request back unless its answer came.
struct TakeBack<'a> {
    requester: &'a Requester,
    id: Option<Id>,
}

impl TakeBack<'_> {
    fn disarm(&mut self) {
        self.id = None;
    }
}

impl Drop for TakeBack<'_> {
    fn drop(&mut self) {
        let Some(id) = self.id.take() else {
            return;
        };
        let open = &self.requester.open;
        open.lock().unwrap_or_else(PoisonError::into_inner).waiting.remove(&id);
        let id = match id {
            Id::Number(number) => Value::Number(number),
            Id::Text(text) => Value::String(text),
        };
        // A client that is gone needs no word.
        let _ = self.requester.outgoing.send(&Message::Notification {
            method: CANCEL.to_owned(),
            params: Some(json!({ "id": id })),
        });
    }
}
