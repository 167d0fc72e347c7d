//! What a shell that is no bash reads or does otherwise than bash.
//!
//! Takes a script as its shell reads it; gives a gap for each construct that this shell gives another
//! meaning, or none, and that is not read as the shell reads it elsewhere. A construct on which the
//! shell stops with an error would need none, but where it stops inside a substitution the command
//! around it goes on. Sources: POSIX.1-2024 XCU 2; dash 0.5.12 dash(1); zsh 5.9 zshmisc(1),
//! zshexpn(1), zshparam(1), zshbuiltins(1).

mod call;

pub(super) use call::odd_call;

use super::bomb::plain;
use crate::model::context::Shell;
use crate::model::script::{
    Assignment, AssignmentValue, CaseEnd, Command, CommandKind, Condition, Descriptor, Gap,
    GapCause, Operation, Parameter, Part, Pipeline, Redirection, RedirectionOperator as Operator,
    RedirectionTarget, Script, SimpleCommand, Subscript, SubstitutionForm, Word,
};
use crate::model::span::Span;

/// Constructs that are noted of one text.
const MOST: usize = 64;

/// Variables that bash sets and other shells do not.
const OF_BASH: &[&str] = &[
    "BASHPID",
    "BASH_COMMAND",
    "BASH_SOURCE",
    "BASH_SUBSHELL",
    "BASH_VERSION",
    "DIRSTACK",
    "EPOCHREALTIME",
    "EPOCHSECONDS",
    "FUNCNAME",
    "GROUPS",
    "HOSTNAME",
    "HOSTTYPE",
    "MACHTYPE",
    "OSTYPE",
    "PIPESTATUS",
    "SRANDOM",
    "_",
];

/// Further ones that zsh has, too.
const OF_BASH_AND_ZSH: &[&str] =
    &["COLUMNS", "EUID", "HISTCMD", "LINES", "RANDOM", "SECONDS", "SHLVL", "UID"];

/// Variables that mean something to zsh and nothing to bash (zshparam(1), zsh/parameter).
const OF_ZSH: &[&str] = &[
    "ARGC",
    "ENV",
    "FPATH",
    "KEYBOARD_HACK",
    "NULLCMD",
    "READNULLCMD",
    "ZDOTDIR",
    "aliases",
    "argv",
    "builtins",
    "cdpath",
    "commands",
    "dis_aliases",
    "dis_builtins",
    "dis_functions",
    "dis_galiases",
    "dis_saliases",
    "fignore",
    "fpath",
    "funcstack",
    "functions",
    "galiases",
    "histchars",
    "history",
    "keymaps",
    "mailpath",
    "manpath",
    "module_path",
    "modules",
    "nameddirs",
    "options",
    "parameters",
    "path",
    "pipestatus",
    "prompt",
    "psvar",
    "saliases",
    "signals",
    "status",
    "userdirs",
    "watch",
    "widgets",
    "zsh_eval_context",
];

/// Functions that zsh calls by itself.
const HOOKS_OF_ZSH: &[&str] = &[
    "chpwd",
    "command_not_found_handler",
    "periodic",
    "precmd",
    "preexec",
    "zsh_directory_name",
    "zshaddhistory",
    "zshexit",
];

/// The gaps of a script that this shell reads, in source order; none for bash. `text` is the text
/// that the spans count in.
pub(super) fn differences(script: &Script, text: &str, shell: Shell) -> Vec<Gap> {
    if shell.is_bash() {
        return Vec::new();
    }
    let mut look =
        Look { text, zsh: shell == Shell::Zsh, ash: shell == Shell::Ash, found: Vec::new() };
    look.script(script);
    look.found.sort_by_key(|gap| gap.span);
    look.found
}

struct Look<'t> {
    text: &'t str,
    zsh: bool,
    ash: bool,
    found: Vec<Gap>,
}

impl Look<'_> {
    fn note(&mut self, what: &'static str, span: Span) {
        if self.found.len() < MOST {
            self.found.push(Gap { cause: GapCause::OtherShell(what), span });
        }
    }

    fn script(&mut self, script: &Script) {
        for item in &script.items {
            self.pipeline(&item.list.first);
            for (_, pipeline) in &item.list.rest {
                self.pipeline(pipeline);
            }
        }
    }

    fn pipeline(&mut self, pipeline: &Pipeline) {
        let own = pipeline.span.of(self.text);
        let timed = own.strip_prefix("time").map(str::trim_start);
        if pipeline.timed && timed.is_some_and(|rest| rest.starts_with('-')) {
            self.note("`time -p`", pipeline.span);
        }
        let last = pipeline.stages.len().saturating_sub(1);
        for (index, stage) in pipeline.stages.iter().enumerate() {
            if !self.zsh && stage.pipes_error {
                self.note("`|&`", stage.command.span);
            }
            if self.zsh {
                self.shared(&stage.command, index < last, index > 0);
            }
            self.command(&stage.command);
        }
    }

    /// zsh gives what goes to a pipe and to a file to both, and reads a pipe and a file one after the
    /// other (MULTIOS).
    fn shared(&mut self, command: &Command, feeds: bool, fed: bool) {
        let (mut outs, mut ins) = (usize::from(feeds), usize::from(fed));
        for number in command.redirections.iter().filter_map(Redirection::number) {
            ins += usize::from(number == 0);
            outs += usize::from(number == 1);
        }
        if outs > 1 || ins > 1 {
            self.note("two redirections of one descriptor", command.span);
        }
    }

    fn command(&mut self, command: &Command) {
        for redirection in &command.redirections {
            self.redirection(redirection);
        }
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple, command),
            CommandKind::Subshell(script) | CommandKind::Group(script) => self.script(script),
            CommandKind::If { arms, otherwise } => {
                for (condition, body) in arms {
                    self.script(condition);
                    self.script(body);
                }
                if let Some(body) = otherwise {
                    self.script(body);
                }
            }
            CommandKind::Loop { condition, body, .. } => {
                self.script(condition);
                self.script(body);
            }
            CommandKind::For { select, name, words, body } => {
                if *select && !self.zsh {
                    self.note("`select`", command.span);
                }
                self.name(name, command.span);
                for word in words.iter().flatten() {
                    self.word(word, true);
                }
                self.script(body);
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                if !self.zsh {
                    self.note("`for ((`", command.span);
                }
                for expression in &**expressions {
                    self.arithmetic(expression);
                }
                self.script(body);
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject, false);
                for arm in arms {
                    if arm.end == CaseEnd::TestNext || (!self.zsh && arm.end != CaseEnd::Break) {
                        self.note("the end of an arm of `case`", command.span);
                    }
                    for pattern in &arm.patterns {
                        self.word(pattern, false);
                    }
                    self.script(&arm.body);
                }
            }
            CommandKind::Function { name, body } => {
                if self.zsh && (name.starts_with("TRAP") || HOOKS_OF_ZSH.contains(&name.as_str())) {
                    self.note("a function that zsh calls by itself", command.span);
                }
                self.command(body);
            }
            CommandKind::Arithmetic(expression) => {
                if !self.zsh {
                    self.note("`((`", command.span);
                }
                self.arithmetic(expression);
            }
            CommandKind::Conditional(condition) => {
                if !self.zsh {
                    self.note("`[[`", command.span);
                }
                self.condition(condition);
            }
            CommandKind::Coprocess { body, .. } => {
                self.note("`coproc`", command.span);
                self.command(body);
            }
        }
    }

    fn condition(&mut self, condition: &Condition) {
        match condition {
            Condition::Word(word) | Condition::Unary(_, word) => self.word(word, false),
            Condition::Binary(left, _, right) => {
                self.word(left, false);
                self.word(right, false);
            }
            Condition::Not(inner) => self.condition(inner),
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left);
                self.condition(right);
            }
        }
    }

    fn simple(&mut self, simple: &SimpleCommand, command: &Command) {
        if self.zsh && simple.words.is_empty() && !command.redirections.is_empty() {
            self.note("a redirection without a command", command.span);
        }
        for assignment in &simple.assignments {
            self.assignment(assignment);
        }
        for (index, word) in simple.words.iter().enumerate() {
            let first = index == 0;
            if first && self.zsh && begins_with(word, '{') {
                self.note("`{` before a command", word.span);
            }
            if first && self.zsh {
                let name = plain(word).unwrap_or_default();
                let digits = name.trim_start_matches(|c: char| c.is_ascii_digit());
                if digits.len() < name.len() && digits.starts_with(['=', '+']) {
                    self.note("an assignment to a positional parameter", word.span);
                }
            }
            self.word(word, true);
        }
    }

    fn name(&mut self, name: &str, span: Span) {
        let other = if self.zsh {
            OF_ZSH.contains(&name) || OF_BASH.contains(&name)
        } else {
            OF_BASH.contains(&name) || OF_BASH_AND_ZSH.contains(&name)
        };
        if other || name.starts_with("BASH_") {
            self.note("a variable that is special in another shell", span);
        }
    }

    fn assignment(&mut self, assignment: &Assignment) {
        self.name(&assignment.name, assignment.span);
        if let Some(subscript) = &assignment.subscript {
            self.note("an element of an array", assignment.span);
            self.word(subscript, false);
        }
        if assignment.append && !self.zsh {
            self.note("`+=`", assignment.span);
        }
        match &assignment.value {
            AssignmentValue::Scalar(word) => {
                if self.zsh && begins_with(word, '=') {
                    self.note("`=name`", word.span);
                }
                self.word(word, false);
            }
            AssignmentValue::Array(elements) => {
                self.note("an array", assignment.span);
                for element in elements {
                    self.word(&element.value, true);
                    if let Some(subscript) = &element.subscript {
                        self.word(subscript, false);
                    }
                }
            }
        }
    }

    fn redirection(&mut self, redirection: &Redirection) {
        let operator = redirection.operator;
        let foreign = match &redirection.descriptor {
            Some(Descriptor::Number(number)) => *number > 9,
            Some(Descriptor::Variable(_)) => true,
            None => false,
        };
        if foreign {
            self.note("the descriptor of a redirection", redirection.span);
        }
        let word = match &redirection.target {
            RedirectionTarget::HereDocument(document) => {
                self.word(&document.body, false);
                return;
            }
            RedirectionTarget::Word(word) => word,
        };
        let target = plain(word);
        match operator {
            Operator::HereString if !self.zsh => self.note("`<<<`", redirection.span),
            Operator::OutputAndError | Operator::AppendAndError if !self.zsh => {
                self.note("`&>`", redirection.span);
            }
            Operator::DuplicateInput | Operator::DuplicateOutput => {
                let number =
                    target.as_deref().is_some_and(|own| own == "-" || own.parse::<u8>().is_ok());
                let file = operator == Operator::DuplicateOutput
                    && self.zsh
                    && target.as_deref().is_some_and(|own| !own.ends_with('-'));
                if !(number || file) {
                    self.note("a form of `>&`", redirection.span);
                }
            }
            Operator::Input
                if self.zsh
                    && target.as_deref().is_some_and(|own| {
                        own.contains('-') && own.bytes().all(|c| c.is_ascii_digit() || c == b'-')
                    }) =>
            {
                self.note("a range in a pattern", redirection.span);
            }
            _ => {}
        }
        let several = |part: &Part| matches!(part, Part::Literal(text, _) if text.contains(['{', '*', '?', '[']));
        if self.zsh && operator != Operator::HereString && word.parts.iter().any(several) {
            self.note("a redirection to several files", redirection.span);
        }
        self.word(word, true);
    }

    fn word(&mut self, word: &Word, splits: bool) {
        if self.zsh && splits && begins_with(word, '=') {
            self.note("`=name`", word.span);
        }
        if let Some(Part::Literal(text, span)) = word.parts.first()
            && !self.zsh
            && (text.starts_with("~+") || text.starts_with("~-"))
        {
            self.note("`~+`", *span);
        }
        let list = |part: &Part| matches!(part, Part::Parameter(own, _) if matches!(&*own.name, "@" | "*"));
        let braces = |part: &Part| matches!(part, Part::Literal(text, _) if text.contains('{'));
        if self.zsh && word.parts.iter().any(list) && word.parts.iter().any(braces) {
            self.note("braces beside a list", word.span);
        }
        if splits {
            for part in &word.parts {
                if let Part::Literal(text, span) = part {
                    if text.contains("=~") || text.contains(":~") {
                        self.note("a tilde behind `=` or `:`", *span);
                    }
                    if self.zsh && text.contains("..") && !is_range_of_zsh(text) {
                        self.note("a range in braces", *span);
                    }
                }
            }
        }
        self.parts(&word.parts, false);
    }

    fn parts(&mut self, parts: &[Part], quoted: bool) {
        for (index, part) in parts.iter().enumerate() {
            match part {
                Part::Literal(text, span) => {
                    if self.zsh && ["$+", "$=", "$~", "$^"].iter().any(|mark| text.contains(mark)) {
                        self.note("a flag of an expansion", *span);
                    }
                    let next = parts.get(index + 1);
                    let quote =
                        matches!(next, Some(Part::SingleQuoted(..) | Part::DoubleQuoted(..)));
                    if !quoted && text.ends_with('$') && quote {
                        self.note("`$'...'`", *span);
                    }
                    if !quoted && !self.zsh && text.contains("[^") {
                        self.note("`[^`", *span);
                    }
                }
                Part::Escaped(..) | Part::SingleQuoted(..) => {}
                Part::AnsiQuoted(_, span) => {
                    let own = span.of(self.text);
                    if !(self.zsh || self.ash) || has_odd_escape(own, self.ash) {
                        self.note("`$'...'`", *span);
                    }
                }
                Part::DoubleQuoted(inner, _) => self.parts(inner, true),
                Part::LocaleQuoted(inner, span) => {
                    self.note("`$\"...\"`", *span);
                    self.parts(inner, true);
                }
                Part::Parameter(parameter, span) => {
                    if self.zsh {
                        self.unbraced(parameter, *span, parts.get(index + 1));
                    }
                    self.parameter(parameter, *span);
                }
                Part::CommandSubstitution(substitution, span) => {
                    if substitution.form == SubstitutionForm::Brace {
                        self.note("`${ command; }`", *span);
                    }
                    self.script(&substitution.script);
                }
                Part::ProcessSubstitution(process, span) => {
                    if !self.zsh {
                        self.note("a process substitution", *span);
                    }
                    self.script(&process.script);
                }
                Part::Arithmetic(expression, span) => {
                    if !self.zsh && span.of(self.text).starts_with("$[") {
                        self.note("`$[`", *span);
                    }
                    self.arithmetic(expression);
                }
                Part::ArrayAssignment(assignment, _) => self.assignment(assignment),
            }
        }
    }

    /// `$x[1]`, `$x:h` and `$#x` mean something to zsh without braces too.
    fn unbraced(&mut self, parameter: &Parameter, span: Span, next: Option<&Part>) {
        if span.of(self.text).starts_with("${") {
            return;
        }
        let modified = match next {
            Some(Part::Literal(text, _)) => {
                text.starts_with('[')
                    || text.strip_prefix(':').is_some_and(|rest| {
                        rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '#')
                    })
                    || (parameter.name == "#"
                        && text.starts_with(|c: char| !" \t.,/+%-".contains(c)))
            }
            Some(Part::Parameter(..)) => parameter.name == "#",
            _ => false,
        };
        if modified {
            self.note("a modifier of an expansion", span);
        }
    }

    fn parameter(&mut self, parameter: &Parameter, span: Span) {
        self.name(&parameter.name, span);
        if self.zsh && parameter.name == "IFS" {
            self.note("the separators of zsh", span);
        }
        match &parameter.subscript {
            Some(Subscript::Index(word)) => {
                self.note("an element of an array", span);
                self.word(word, false);
            }
            Some(_) => self.note("the elements of an array", span),
            None => {}
        }
        if parameter.indirect {
            self.note("an indirect expansion", span);
        }
        match &parameter.operation {
            Operation::Value => {}
            Operation::Length => {
                if matches!(&*parameter.name, "@" | "*" | "#" | "?" | "-" | "$" | "!") {
                    self.note("the length of a special parameter", span);
                }
            }
            Operation::Default { word, .. }
            | Operation::Assign { word, .. }
            | Operation::Error { word, .. }
            | Operation::Alternative { word, .. } => {
                if matches!(&*parameter.name, "#" | "@" | "*") {
                    self.note("a form of an expansion", span);
                }
                self.word(word, false);
            }
            Operation::RemovePrefix { pattern, .. } | Operation::RemoveSuffix { pattern, .. } => {
                if matches!(&*parameter.name, "#" | "@" | "*") {
                    self.note("a form of an expansion", span);
                }
                self.word(pattern, false);
            }
            Operation::Replace { pattern, replacement, .. } => {
                if !self.zsh {
                    self.note("`${x/...}`", span);
                }
                self.word(pattern, false);
                self.word(replacement, false);
            }
            Operation::Substring { offset, length } => {
                let plainly = |word: &Word| match word.parts.first() {
                    Some(Part::Literal(text, _)) => {
                        text.starts_with(|c: char| c.is_ascii_digit() || " -(".contains(c))
                    }
                    Some(_) => true,
                    None => false,
                };
                if !self.zsh || !plainly(offset) {
                    self.note("`${x:...}`", span);
                }
                self.arithmetic(offset);
                if let Some(length) = length {
                    self.arithmetic(length);
                }
            }
            Operation::Case { pattern, .. } => {
                self.note("a change of case", span);
                self.word(pattern, false);
            }
            Operation::Transform(_) => self.note("`${x@...}`", span),
            Operation::Names { .. } | Operation::Keys { .. } => self.note("`${!x*}`", span),
        }
    }

    fn arithmetic(&mut self, expression: &Word) {
        for part in &expression.parts {
            let Part::Literal(text, span) = part else { continue };
            let marks: &[&str] =
                if self.zsh { &["#", "["] } else { &["**", "++", "--", ",", "#", "["] };
            if marks.iter().any(|mark| text.contains(mark)) {
                self.note("a form of arithmetic", *span);
            } else if self.zsh && has_octal(text) {
                self.note("an octal number", *span);
            }
        }
        self.parts(&expression.parts, true);
    }
}

/// Whether an escape of `$'...'` is not one that zsh and ash decode as bash does.
fn has_odd_escape(text: &str, ash: bool) -> bool {
    let mut characters = text.chars().peekable();
    while let Some(own) = characters.next() {
        if own != '\\' {
            continue;
        }
        match characters.next() {
            Some('a' | 'b' | 'e' | 'f' | 'n' | 'r' | 't' | 'v' | '\\' | '\'' | '"' | '0'..='7') => {
            }
            Some('x') if characters.peek() != Some(&'{') => {}
            Some('u' | 'U') if !ash => {}
            _ => return true,
        }
    }
    false
}

/// Whether the first unquoted character of a word that goes on is this one.
fn begins_with(word: &Word, character: char) -> bool {
    match word.parts.first() {
        Some(Part::Literal(text, _)) => {
            text.starts_with(character) && (text.len() > 1 || word.parts.len() > 1)
        }
        _ => false,
    }
}

/// Whether each `..` stands in `{1..3}` or `{a..c}`, which zsh reads as bash does.
fn is_range_of_zsh(text: &str) -> bool {
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once("..") {
        let start = before.rsplit('{').next().unwrap_or_default();
        let end = behind.split('}').next().unwrap_or_default();
        let in_braces = before.contains('{') && behind.contains('}');
        let number = |own: &str| {
            let own = own.strip_prefix('-').unwrap_or(own);
            !own.is_empty() && own.bytes().all(|c| c.is_ascii_digit())
        };
        let letter = |own: &str| own.len() == 1 && own.bytes().all(|c| c.is_ascii_alphabetic());
        let same = (number(start) && number(end)) || (letter(start) && letter(end));
        if in_braces && !same {
            return false;
        }
        rest = behind;
    }
    true
}

/// Whether a number begins with a zero.
fn has_octal(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.windows(2).enumerate().any(|(at, pair)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        let starts =
            before.is_none_or(|byte| !(byte.is_ascii_alphanumeric() || b"_.#".contains(byte)));
        matches!(pair, [b'0', next] if next.is_ascii_digit()) && starts
    })
}
