//! From words to fields, in the shell's order (POSIX.1-2024 XCU 2.6; Bash manual 3.5).
//!
//! Takes a word and an [`Environ`]; gives fields, known in part. May import: model.
//! Never: runs a command, looks at a file, or decides what is bad.

use crate::model::script::{ProcessSubstitution, Substitution};
use crate::model::span::{SourceId, Span};
use crate::model::value::{Text, Unknown, Value};

/// The shell's state as expansion sees it. The interpreter implements it; tests have their own.
pub trait Environ {
    /// The text the words' spans count in.
    fn source(&self) -> SourceId;
    /// The value of a variable, a positional parameter (`1`, `2`, ...; `0`) or a special parameter
    /// other than `@`, `*` and `#`.
    fn parameter(&self, name: &str) -> Value;
    /// Positional parameters from 1 in order, and whether there may be more behind them.
    fn positional(&self) -> (Vec<Text>, bool);
    /// Names of set variables that begin with `prefix`, sorted; `None` where not all are known.
    fn names(&self, prefix: &str) -> Option<Vec<String>>;
    /// Assigns a variable or, with a subscript, an element of an array (`${x:=w}`, `$((x=1))`).
    fn assign(&mut self, name: &str, subscript: Option<&Text>, value: Text);
    /// What a command substitution prints, trailing line ends removed; runs it in the model.
    fn substitute(&mut self, substitution: &Substitution, span: Span) -> Text;
    /// The path a process substitution gives; runs it in the model.
    fn process(&mut self, process: &ProcessSubstitution, span: Span) -> Text;
    /// Text that is evaluated as a prompt (`${x@P}`): the interpreter parses and runs what is in it.
    fn prompt(&mut self, text: &Text, span: Span) -> Text;
    /// Text from outside, or with a subscript that runs code, reaches the arithmetic evaluator
    /// (`$((x))` with an unknown `x`; `a[$(cmd)]` in a value). `known` is the text where it is known.
    fn evaluate(&mut self, known: Option<&str>, cause: Unknown, span: Span);
    /// The home of a user, `None` for the one who runs the shell; unknown text where not known.
    fn home(&self, user: Option<&str>) -> Text;
    /// Whether a shell option is on: the names of `set -o` and `shopt`
    /// (`noglob`, `extglob`, `nullglob`, `dotglob`, `globstar`, `nocaseglob`, `failglob`,
    /// `braceexpand`, `nounset`, ...).
    fn option(&self, name: &str) -> bool;
    /// Notes that a limit was reached while expanding.
    fn limit(&mut self, kind: crate::model::script::LimitKind, span: Span);
    /// Fields one word may become, and bytes one value may have.
    fn limits(&self) -> (usize, usize);
}
