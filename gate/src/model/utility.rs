//! utility.
