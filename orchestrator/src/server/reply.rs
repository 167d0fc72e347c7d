//! What is wrong with a request, as the wire says it. The one place that knows error codes.

use serde_json::{Value, json};

use crate::protocol::desiide::check::Problems;
use crate::protocol::desiide::types::{Method, PROTOCOL_VERSION};
use crate::rpc::message::{ErrorObject, Id, Message};

/// Why a request got no result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The body was not JSON.
    NotJson(String),
    /// The body was JSON and no message.
    NoMessage(&'static str),
    /// A second `initialize` after one that succeeded.
    SecondInitialize,
    /// A method that is none of the protocol's.
    UnknownMethod(String),
    /// Params that do not fit, or name what is not there.
    Params(Method, Problems),
    /// A handler failed, was cancelled, or gave what does not fit.
    Internal(Method, String),
    /// Too many requests wait already.
    Busy(String),
    /// The client speaks another major version.
    OtherVersion(String),
    /// Anything but `initialize` before `initialize` succeeded.
    NotInitialized,
    /// No task has that id.
    NoTask(String),
    /// The task does not wait for that approval or proposal.
    NoApproval(String),
}

impl Fault {
    const fn code(&self) -> i64 {
        match self {
            Self::NotJson(_) => -32700,
            Self::NoMessage(_) | Self::SecondInitialize => -32600,
            Self::UnknownMethod(_) => -32601,
            Self::Params(..) => -32602,
            Self::Internal(..) | Self::Busy(_) => -32603,
            Self::OtherVersion(_) => -32001,
            Self::NotInitialized => -32002,
            Self::NoTask(_) => -32004,
            Self::NoApproval(_) => -32005,
        }
    }

    fn message(&self) -> String {
        match self {
            Self::NotJson(why) => format!("the body is not JSON: {why}"),
            Self::NoMessage(why) => (*why).to_owned(),
            Self::SecondInitialize => "`initialize` has succeeded before".to_owned(),
            Self::UnknownMethod(name) => {
                let name: String = name.chars().take(100).collect();
                format!("unknown method `{name}`")
            }
            Self::Params(method, problems) => {
                format!("invalid params of {}\n{problems}", method.name())
            }
            Self::Internal(method, why) => format!("{} failed: {why}", method.name()),
            Self::Busy(method) => {
                let method: String = method.chars().take(100).collect();
                format!("{method} was refused: too many requests wait; send fewer at a time")
            }
            Self::OtherVersion(theirs) => format!(
                "the client speaks version {theirs} and this server {PROTOCOL_VERSION}; update the \
                 older of the two"
            ),
            Self::NotInitialized => "the first request must be `initialize`".to_owned(),
            Self::NoTask(id) => format!("no task `{id}`; it may have been forgotten"),
            Self::NoApproval(id) => format!("the task does not wait for `{id}`"),
        }
    }

    fn data(&self) -> Option<Value> {
        matches!(self, Self::OtherVersion(_)).then(|| json!({ "serverVersion": PROTOCOL_VERSION }))
    }
}

impl From<Fault> for ErrorObject {
    fn from(fault: Fault) -> Self {
        Self { code: fault.code(), message: fault.message(), data: fault.data() }
    }
}

/// The answer to a request; without an id it goes to null.
pub fn answer(id: Option<Id>, result: Result<Value, Fault>) -> Message {
    Message::Response { id, result: result.map_err(Into::into) }
}
