//! The Desiide protocol, version 1.0.0.
