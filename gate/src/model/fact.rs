//! fact.
