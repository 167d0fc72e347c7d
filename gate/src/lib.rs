//! Reads a shell command before it runs, works out what bash would really do with it, and says
//! allow, pass, ask or deny, with reasons a person can act on.

pub mod derive;
pub mod expand;
pub mod interpret;
pub mod judge;
pub mod load;
pub mod model;
pub mod parse;
pub mod resolve;
