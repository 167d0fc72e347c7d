//! What a text says, in the shell's own words (POSIX.1-2024 XCU 2.9, 2.10 and the Bash manual, chapter 3).
//!
//! Every node keeps its span; the text of the source is never copied for structure, only for values
//! that quoting changes. Names follow the shell grammar.

use std::sync::Arc;

use smallvec::SmallVec;

use crate::model::span::Span;
use crate::model::value::{List, Str};

/// A compound list: what stands between two ends of a text, a pair of brackets or two keywords.
/// Items are in source order; an empty list is an empty text or body.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// AND-OR lists with the separator behind each.
    pub items: Vec<Item>,
}

/// One AND-OR list of a compound list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The list.
    pub list: AndOrList,
    /// Whether `&` ends it, which makes it a background job.
    pub background: bool,
    /// From the first word of the list to its last, without the separator.
    pub span: Span,
}

/// Pipelines joined by `&&` and `||`, which have the same precedence and are read from the left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AndOrList {
    /// The pipeline that always runs.
    pub first: Pipeline,
    /// The others, each with the operator before it.
    pub rest: Vec<(AndOr, Pipeline)>,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AndOr {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|` or `|&`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether an odd number of `!` stands before it.
    pub negated: bool,
    /// Whether the reserved word `time` stands before it.
    pub timed: bool,
    /// At least one stage, in order; empty only for a lone `!` or `time`.
    pub stages: Stages,
    /// From the first keyword or word to the last byte of the last stage.
    pub span: Span,
}

/// The commands of a pipeline; most are one, which needs no room of its own.
pub type Stages = SmallVec<[Stage; 1]>;

/// A command of a pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// The command.
    pub command: Command,
    /// Whether `|&` follows, which also sends standard error to the next stage.
    pub pipes_error: bool,
}

/// A simple or compound command with its redirections.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    /// What kind.
    pub kind: CommandKind,
    /// Redirections in source order, those between the words of a simple command included.
    pub redirections: List<Redirection>,
    /// All of it, redirections included.
    pub span: Span,
}

/// The kinds of command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CommandKind {
    /// Assignments and words.
    Simple(SimpleCommand),
    /// `( list )`
    Subshell(Script),
    /// `{ list; }`
    Group(Script),
    /// `if list; then list; [elif ...] [else ...] fi`
    If {
        /// Condition and body of `if` and each `elif`, in order, at least one.
        arms: Vec<(Script, Script)>,
        /// Body of `else`.
        otherwise: Option<Script>,
    },
    /// `while` and `until`.
    Loop {
        /// Whether it is `until`.
        until: bool,
        /// The condition list.
        condition: Script,
        /// The body.
        body: Script,
    },
    /// `for name [in word...]; do list; done`, and `select`.
    For {
        /// Whether it is `select`.
        select: bool,
        /// The variable.
        name: String,
        /// Words after `in`; `None` without `in`, which means `"$@"`.
        words: Option<Vec<Word>>,
        /// The body.
        body: Box<Script>,
    },
    /// `for (( init; condition; update )) ...`
    ArithmeticFor {
        /// The three expressions in order, each empty where left out.
        expressions: Box<[Word; 3]>,
        /// The body.
        body: Box<Script>,
    },
    /// `case word in ... esac`
    Case {
        /// The word that is matched.
        subject: Box<Word>,
        /// The arms in order.
        arms: Vec<CaseArm>,
    },
    /// `name() command` or `function name command`.
    Function {
        /// Its name, quotes removed; bash takes names with a slash too.
        name: String,
        /// The compound command (its own redirections apply at every call). Those who keep the
        /// function share it.
        body: Arc<Command>,
    },
    /// `(( expression ))`; the expression as a word that is expanded like a double-quoted string.
    Arithmetic(Box<Word>),
    /// `[[ expression ]]`
    Conditional(Box<Condition>),
    /// `coproc [name] command`
    Coprocess {
        /// The name, `COPROC` where none is given.
        name: String,
        /// What runs.
        body: Box<Command>,
    },
}

/// One arm of `case`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CaseArm {
    /// Patterns, at least one.
    pub patterns: Vec<Word>,
    /// What runs.
    pub body: Script,
    /// How it ends.
    pub end: CaseEnd,
}

/// The operator that ends an arm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaseEnd {
    /// `;;` or nothing before `esac`.
    Break,
    /// `;&`
    FallThrough,
    /// `;;&`
    TestNext,
}

/// Assignments and words, without the redirections (see [`Command`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// Prefix assignments, in order.
    pub assignments: List<Assignment>,
    /// The words, the name first. For a declaration utility (`export`, `declare`, `local`,
    /// `readonly`, `typeset`) an operand in the form of an assignment with an array value is a word
    /// with one [`Part::ArrayAssignment`].
    pub words: Vec<Word>,
}

/// `name=value`, `name+=value`, `name[subscript]=value`, `name=(...)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: Str,
    /// The subscript, unexpanded.
    pub subscript: Option<Word>,
    /// Whether the operator is `+=`.
    pub append: bool,
    /// The value.
    pub value: AssignmentValue,
    /// All of it.
    pub span: Span,
}

/// What is assigned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AssignmentValue {
    /// A word, empty for `name=`.
    Scalar(Word),
    /// `( ... )`: elements in order.
    Array(Vec<ArrayElement>),
}

/// An element of an array value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayElement {
    /// `[subscript]=` before it.
    pub subscript: Option<Word>,
    /// Whether the operator is `+=`.
    pub append: bool,
    /// The word; without a subscript it may expand to several.
    pub value: Word,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The number or `{name}` before the operator.
    pub descriptor: Option<Descriptor>,
    /// The operator.
    pub operator: RedirectionOperator,
    /// What stands behind it.
    pub target: RedirectionTarget,
    /// Descriptor, operator and target word.
    pub span: Span,
}

impl Redirection {
    /// Whether it is a descriptor for reading where the text does not say which.
    pub const fn reads(&self) -> bool {
        matches!(
            self.operator,
            RedirectionOperator::Input
                | RedirectionOperator::ReadWrite
                | RedirectionOperator::HereDocument
                | RedirectionOperator::HereDocumentTabs
                | RedirectionOperator::HereString
                | RedirectionOperator::DuplicateInput
        )
    }

    /// The number of its descriptor; none for one that the shell chooses (`{name}>file`).
    pub fn number(&self) -> Option<u32> {
        match &self.descriptor {
            Some(Descriptor::Number(number)) => Some(*number),
            Some(Descriptor::Variable(_)) => None,
            None => Some(u32::from(!self.reads())),
        }
    }
}

/// What names the descriptor of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Descriptor {
    /// Digits.
    Number(u32),
    /// `{name}`: the shell picks a number and stores it.
    Variable(String),
}

/// The redirection operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedirectionOperator {
    /// `<`
    Input,
    /// `>`
    Output,
    /// `>>`
    Append,
    /// `>|`
    Clobber,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateInput,
    /// `>&`
    DuplicateOutput,
    /// `&>`
    OutputAndError,
    /// `&>>`
    AppendAndError,
    /// `<<`
    HereDocument,
    /// `<<-`
    HereDocumentTabs,
    /// `<<<`
    HereString,
}

/// What stands behind a redirection operator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectionTarget {
    /// A word.
    Word(Word),
    /// A here-document.
    HereDocument(HereDocument),
}

/// A here-document (POSIX.1-2024 XCU 2.7.4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HereDocument {
    /// The delimiter after quote removal.
    pub delimiter: String,
    /// Whether some byte of the delimiter was quoted, which makes the body literal.
    pub quoted: bool,
    /// The body with tabs stripped for `<<-`: one literal (quoted) part, or the parts of a
    /// double-quoted string. Its span is the body's in the source, the closing line left out.
    pub body: Word,
    /// Whether the closing line was found; without it the body reaches to the end of the text.
    pub closed: bool,
}

/// A word: parts that touch, in order. No part at all is an empty word only inside the grammar
/// (`name=`); a quoted empty word has a part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Word {
    /// The parts.
    pub parts: Parts,
    /// All of it.
    pub span: Span,
}

/// The parts of a word; most words have one, which needs no room of its own.
pub type Parts = SmallVec<[Part; 1]>;

/// A part of a word. Bytes of the source that are not valid UTF-8 never get here: the gate's door
/// maps each to the character U+F700 + byte; `$'\xff'` gives the same characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Unquoted text without backslashes; it may hold pattern characters, braces, a tilde.
    Literal(Str, Span),
    /// A backslash and the character it quotes, or text that quoting made literal in a
    /// double-quoted string.
    Escaped(Str, Span),
    /// `'...'`
    SingleQuoted(Str, Span),
    /// `$'...'`, decoded.
    AnsiQuoted(Str, Span),
    /// `"..."`: parts are `Literal`, `Escaped` and expansions; empty for `""`.
    DoubleQuoted(Vec<Part>, Span),
    /// `$"..."`, parts as in a double-quoted string.
    LocaleQuoted(Vec<Part>, Span),
    /// `$name`, `${...}`
    Parameter(Box<Parameter>, Span),
    /// `$( )`, a pair of backquotes, `${ ...; }`
    CommandSubstitution(Box<Substitution>, Span),
    /// `<( )`, `>( )`
    ProcessSubstitution(Box<ProcessSubstitution>, Span),
    /// `$(( ))`, `$[ ]`: the expression as a word that is expanded like a double-quoted string.
    Arithmetic(Box<Word>, Span),
    /// `name=( ... )` as an operand of a declaration utility.
    ArrayAssignment(Box<Assignment>, Span),
}

impl Part {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Literal(_, span)
            | Self::Escaped(_, span)
            | Self::SingleQuoted(_, span)
            | Self::AnsiQuoted(_, span)
            | Self::DoubleQuoted(_, span)
            | Self::LocaleQuoted(_, span)
            | Self::Parameter(_, span)
            | Self::CommandSubstitution(_, span)
            | Self::ProcessSubstitution(_, span)
            | Self::Arithmetic(_, span)
            | Self::ArrayAssignment(_, span) => *span,
        }
    }
}

/// A command substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Substitution {
    /// How it is written.
    pub form: SubstitutionForm,
    /// What runs. For backquotes the spans count in the text with its backslashes removed, shifted
    /// so that they start at the first byte behind the opening backquote.
    pub script: Script,
    /// Gaps of the inner text were added to the outer list; this says whether there were any.
    pub has_gaps: bool,
}

/// How a command substitution is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SubstitutionForm {
    /// `$( )`
    Dollar,
    /// A pair of backquotes.
    Backquote,
    /// `${ list; }` and `${| list; }`
    Brace,
}

/// A process substitution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProcessSubstitution {
    /// Whether it is `>( )`: what is written to the path is the standard input of the script.
    pub output: bool,
    /// What runs.
    pub script: Script,
}

/// A parameter expansion (POSIX.1-2024 XCU 2.6.2; Bash manual 3.5.3).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// A name, digits, or one of `@ * # ? - $ !`; `_` is a name.
    pub name: Str,
    /// `[subscript]`
    pub subscript: Option<Subscript>,
    /// `${!name...}`: the value is the name of the parameter that is meant.
    pub indirect: bool,
    /// What is done to the value.
    pub operation: Operation,
}

/// A subscript of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subscript {
    /// `[@]`
    At,
    /// `[*]`
    Star,
    /// An expression, or a key of an associative array.
    Index(Word),
}

/// What `${...}` does to the value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `$x`, `${x}`
    Value,
    /// `${#x}`
    Length,
    /// `${x-w}`, `${x:-w}`
    Default {
        /// Whether `:` makes empty count as unset.
        colon: bool,
        /// The word.
        word: Word,
    },
    /// `${x=w}`, `${x:=w}`
    Assign {
        /// See [`Operation::Default`].
        colon: bool,
        /// The word.
        word: Word,
    },
    /// `${x?w}`, `${x:?w}`
    Error {
        /// See [`Operation::Default`].
        colon: bool,
        /// The word.
        word: Word,
    },
    /// `${x+w}`, `${x:+w}`
    Alternative {
        /// See [`Operation::Default`].
        colon: bool,
        /// The word.
        word: Word,
    },
    /// `${x#p}`, `${x##p}`
    RemovePrefix {
        /// Whether the longest match goes.
        longest: bool,
        /// The pattern.
        pattern: Word,
    },
    /// `${x%p}`, `${x%%p}`
    RemoveSuffix {
        /// Whether the longest match goes.
        longest: bool,
        /// The pattern.
        pattern: Word,
    },
    /// `${x/p/r}`
    Replace {
        /// Which matches.
        which: Replace,
        /// The pattern.
        pattern: Word,
        /// The replacement, empty where left out.
        replacement: Word,
    },
    /// `${x:offset:length}`; both are arithmetic expressions.
    Substring {
        /// The offset.
        offset: Word,
        /// The length.
        length: Option<Word>,
    },
    /// `${x^p}`, `${x^^p}`, `${x,p}`, `${x,,p}`, `${x~p}`, `${x~~p}`
    Case {
        /// `^`, `,` or `~`.
        operator: char,
        /// Whether it is doubled.
        all: bool,
        /// The pattern, empty where left out.
        pattern: Word,
    },
    /// `${x@Q}` and its kin.
    Transform(char),
    /// `${!prefix*}`, `${!prefix@}`: names of variables.
    Names {
        /// Whether it is `@`.
        at: bool,
    },
    /// `${!array[@]}`, `${!array[*]}`: keys of an array.
    Keys {
        /// Whether it is `@`.
        at: bool,
    },
}

/// Which matches a replacement changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replace {
    /// `/`
    First,
    /// `//`
    All,
    /// `/#`
    Prefix,
    /// `/%`
    Suffix,
}

/// A conditional expression.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// A word on its own: true when not empty.
    Word(Word),
    /// `-f word` and its kin; the operator with its dash.
    Unary(String, Word),
    /// `word op word`: `= == != =~ < > -eq -ne -lt -le -gt -ge -nt -ot -ef`.
    Binary(Word, String, Word),
    /// `! expression`
    Not(Box<Condition>),
    /// `&&`
    And(Box<Condition>, Box<Condition>),
    /// `||`
    Or(Box<Condition>, Box<Condition>),
}

/// Something in a text that was not understood; it always asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gap {
    /// Why.
    pub cause: GapCause,
    /// The bytes that were not understood.
    pub span: Span,
}

/// Why a part of a text was not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GapCause {
    /// bash would reject it; what was expected, for a person.
    Syntax(String),
    /// A quote, bracket or keyword that is never closed; which.
    Unterminated(&'static str),
    /// The closing line of a here-document is missing; its delimiter.
    OpenHereDocument(String),
    /// A control or invisible character outside quotes and comments.
    OddCharacter(char),
    /// Another shell gives these bytes a meaning of their own; which construct.
    OtherShell(&'static str),
    /// Our reading and the syntax tree's differ in a way that is not a known fault of the tree.
    TreeDisagrees(&'static str),
    /// A limit was reached; which.
    Limit(LimitKind),
    /// A construct that is known and not modelled; which.
    NotModelled(&'static str),
}

/// The limits of an analysis, all counted in work and never in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitKind {
    /// Bytes of text.
    Bytes,
    /// Levels of nesting.
    Depth,
    /// Fields of an expansion.
    Fields,
    /// Steps of an interpretation.
    Steps,
}

impl LimitKind {
    /// Its name, as messages have it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Bytes => "bytes",
            Self::Depth => "depth",
            Self::Fields => "fields",
            Self::Steps => "steps",
        }
    }
}

/// What `parse` gives.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parsed {
    /// What was understood.
    pub script: Script,
    /// What was not, in source order; gaps of nested scripts included.
    pub gaps: Vec<Gap>,
    /// Comments, in source order, from `#` up to the end of the line.
    pub comments: Vec<Span>,
}
