//! Requests that came and cannot begin yet, in the order they came.

use std::collections::VecDeque;

use serde_json::Value;

use crate::rpc::message::Id;

/// What a waiting request costs besides the bytes of its body.
const OVERHEAD: usize = 512;

/// A request as it came.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) id: Id,
    pub(super) method: String,
    pub(super) params: Option<Value>,
    /// Bytes of its body.
    pub(super) bytes: usize,
}

impl Waiting {
    const fn weight(&self) -> usize {
        self.bytes.saturating_add(OVERHEAD)
    }
}

/// All that wait.
#[derive(Debug, Default)]
pub(super) struct Held {
    requests: VecDeque<Waiting>,
    bytes: usize,
}

impl Held {
    pub(super) fn is_empty(&self) -> bool {
        self.requests.is_empty()
    }

    /// Bytes they take, about.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// Lets one wait behind all others.
    pub(super) fn push(&mut self, request: Waiting) {
        self.bytes = self.bytes.saturating_add(request.weight());
        self.requests.push_back(request);
    }

    /// The one whose turn it is.
    pub(super) fn pop(&mut self) -> Option<Waiting> {
        let request = self.requests.pop_front()?;
        self.bytes = self.bytes.saturating_sub(request.weight());
        Some(request)
    }

    /// Takes those of that id out of their turn, where `may_leave` says so of their method.
    pub(super) fn take(&mut self, id: &Id, may_leave: impl Fn(&str) -> bool) -> Vec<Waiting> {
        let (out, rest) = std::mem::take(&mut self.requests)
            .into_iter()
            .partition::<VecDeque<_>, _>(|own| own.id == *id && may_leave(&own.method));
        self.requests = rest;
        self.bytes = self.requests.iter().map(Waiting::weight).sum();
        out.into()
    }
}
