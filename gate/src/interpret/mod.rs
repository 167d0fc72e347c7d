//! interpret.
