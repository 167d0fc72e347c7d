//! Tests.
mod utilities;
