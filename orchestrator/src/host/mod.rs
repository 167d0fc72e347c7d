//! Takes disk, environment and clock.
//! Gives configuration, secrets, logs, records and the task database.
//! May import task.
//! Never decides anything.

pub mod log;
pub mod memory;
pub mod place;
pub mod records;
pub mod salt;
pub mod store;
