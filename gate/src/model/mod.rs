//! The nouns: what a command, a value, an effect and a verdict are.
//!
//! Takes and gives nothing; types only. May import: nothing outside this folder.
//! Never: decides, reads, or knows where a value came from.

pub mod component;
pub mod context;
pub mod fact;
pub mod rule;
pub mod script;
pub mod span;
pub mod trace;
pub mod utility;
pub mod value;
pub mod verdict;
pub mod walk;
