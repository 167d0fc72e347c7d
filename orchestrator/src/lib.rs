//! Runs coding-agent tasks for an editor, every tool call judged by the gate first.

pub mod advisor;
pub mod demo;
pub mod drive;
pub mod guard;
pub mod host;
pub mod model;
pub mod protocol;
pub mod rpc;
pub mod server;
pub mod task;
pub mod tool;
pub mod wait;
