//! What other shells would do with a text, where it is not known that bash will run it.
//!
//! A text that no shell reads otherwise than bash is looked at once. One with a construct that hides
//! commands from bash and not from dash or zsh (`$'\''`, `[[ a > b ]]`, a pipe beside a file) is judged as
//! that shell reads it, too. Its bytes say first whether there may be one; mostly there is none.

use crate::model::context::{Shell, is_special_builtin};
use crate::model::script::{
    Assignment, AssignmentValue, Command, CommandKind, Part, Pipeline, Redirection,
    RedirectionOperator as Operator, RedirectionTarget, Script, SimpleCommand, Subscript, Word,
};
use crate::model::trace::Trace;
use crate::model::utility::Catalog;
use crate::model::value::Str;
use crate::model::verdict::{Decision, Reason, Verdict};
use crate::model::walk::{self, Visit};

/// The label of what another shell would do.
const LABEL: &str = "unparsable_command";

/// Labels that make nothing worse elsewhere: a command that goes on in the background harms nobody where
/// it is harmless itself, and what is not understood there is no deed.
const MILD: [&str; 2] = ["background_process", LABEL];

/// The other shells that may do something else with a text than bash.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Others {
    dash: bool,
    zsh: bool,
}

impl Others {
    /// What the bytes of a text say, one too many now and then.
    fn of(text: &str) -> Self {
        Self { dash: reads_otherwise(text), zsh: runs_otherwise(text) }
    }
}

/// The other shells that may do something else with a text than bash, one too many now and then.
/// `script` is the text as bash reads it and `trace` what it runs.
pub fn shells(
    command: &str,
    script: &Script,
    trace: &Trace,
    catalog: &Catalog,
) -> &'static [Shell] {
    let mut others = Others::of(command);
    others.dash |= command.contains('=')
        && trace.invocations.iter().any(|own| own.name.as_deref().is_some_and(is_special_builtin));
    if others.dash || others.zsh {
        let mut look = Look { text: command, catalog: Some(catalog), ..Look::default() };
        look.script(script);
        let echoes = look.echoes && look.kept;
        others.dash &= look.found.dash || echoes;
        let whole = look.used.iter().any(|name| look.arrays.contains(name));
        let elements = !look.arrays.is_empty() && look.elements || whole;
        others.zsh &= look.found.zsh || tied(command) || elements || echoes;
    }
    // Texts that it hands on to a shell.
    for source in trace.sources.iter().skip(1) {
        let more = Others::of(&source.text);
        others = Others { dash: others.dash || more.dash, zsh: others.zsh || more.zsh };
    }
    match (others.dash, others.zsh) {
        (false, false) => &[],
        (true, false) => &[Shell::Dash],
        (false, true) => &[Shell::Zsh],
        (true, true) => &[Shell::Dash, Shell::Zsh],
    }
}

/// Whether dash may find other commands in it.
fn reads_otherwise(text: &str) -> bool {
    let tests = text.contains("[[") && text.contains(['<', '>', '&', '|']);
    let quotes = text.contains("$'") && text.contains("\\'");
    let locals = text.contains("local ");
    locals || tests || quotes || text.contains("&>") || text.contains("((") || echoes_escapes(text)
}

/// Whether zsh may give other values to its commands.
fn runs_otherwise(text: &str) -> bool {
    let redirections = text.bytes().filter(|byte| matches!(byte, b'<' | b'>')).count();
    let shares = redirections > usize::from(!text.contains('|'));
    let elements = text.contains("=(") && text.contains('$');
    let whole = text.contains('$') && text.contains("-c");
    shares || elements || whole || tied(text) || echoes_escapes(text)
}

/// Whether a variable may be one that zsh ties to something.
fn tied(text: &str) -> bool {
    ["path=", "functions[", "aliases["].iter().any(|name| text.contains(name))
}

/// Whether `echo` may print something else without an option.
fn echoes_escapes(text: &str) -> bool {
    text.contains("echo") && text.contains('\\')
}

/// What a script has that other shells take otherwise.
#[expect(clippy::struct_excessive_bools, reason = "each is one fact of the script")]
#[derive(Default)]
struct Look<'t> {
    text: &'t str,
    catalog: Option<&'t Catalog>,
    found: Others,
    /// Arrays that it makes, names that it uses without a subscript, and whether it reads or sets an element
    /// by its number.
    arrays: Vec<Str>,
    used: Vec<Str>,
    elements: bool,
    /// Whether `echo` prints values for something, and whether a value may hold a backslash.
    echoes: bool,
    kept: bool,
    /// Whether something takes in what is printed here, and whether as a value or through a pipe.
    taken: bool,
    flows: bool,
    /// Whether the command is fed by a pipe, and feeds one.
    piped: (bool, bool),
    /// Names of functions that were met.
    functions: Vec<String>,
}

/// Names that are kept, of arrays and of uses.
const NAMES: usize = 256;

/// Builtins whose operands become values.
const KEEPS: &[&str] =
    &["declare", "eval", "export", "local", "printf", "read", "readonly", "set", "typeset"];

impl Look<'_> {
    /// dash runs what stands in `((...))` as a command of a subshell. The interpreter follows one whose
    /// first word names a program, so that only an expression that is more than one command remains.
    fn arithmetic(&mut self, command: &Command) {
        let own = command.span.of(self.text);
        let inside = own.strip_prefix("((").and_then(|own| own.strip_suffix("))")).unwrap_or(own);
        let several = inside.contains([';', '&', '|', '\n', '(', ')', '$', '`', '\'', '"', '\\']);
        let assigns = inside.contains('=') && inside.trim().contains([' ', '\t']);
        self.found.dash |= several || (assigns && !is_comparison(inside));
    }

    /// zsh gives what goes to a pipe and to a file to both, and reads a pipe and a file one after the
    /// other (MULTIOS).
    fn shared(&mut self, redirections: &[Redirection]) {
        let (fed, feeds) = self.piped;
        let (mut ins, mut outs) = (usize::from(fed), usize::from(feeds));
        for number in redirections.iter().filter_map(Redirection::number) {
            ins += usize::from(number == 0);
            outs += usize::from(number == 1);
        }
        self.found.zsh |= ins > 1 || outs > 1;
    }

    /// In dash `cmd &> file` starts the command in the background, so that it changes nothing here.
    fn both(&mut self, command: &Command) {
        let both = |own: &Redirection| {
            matches!(own.operator, Operator::OutputAndError | Operator::AppendAndError)
        };
        if !command.redirections.iter().any(both) {
            return;
        }
        let changes = match &command.kind {
            CommandKind::Simple(simple) => {
                let name = simple.words.first().and_then(literal);
                let builtin = |name: &str| {
                    let catalog = self.catalog?;
                    catalog.get(catalog.find(name)?).map(|entry| entry.builtin)
                };
                name.is_none_or(|name| {
                    !self.functions.is_empty() || builtin(name).unwrap_or_default()
                })
            }
            _ => true,
        };
        self.found.dash |= changes;
    }

    fn simple(&mut self, simple: &SimpleCommand) {
        let Some((name, arguments)) = simple.words.split_first() else { return };
        let name = literal(name);
        // dash keeps assignments in front of a special builtin, and gives a local variable the outer value.
        self.found.dash |= match name {
            Some("local") => arguments.iter().any(|own| !own.span.of(self.text).contains('=')),
            Some(name) => !simple.assignments.is_empty() && is_special_builtin(name),
            None => false,
        };
        let has = |mark: char| arguments.iter().any(|word| word.span.of(self.text).contains(mark));
        if self.taken && name.is_none_or(|name| name == "echo") {
            self.found.dash |= has('\\');
            self.found.zsh |= has('\\');
            self.echoes |= has('$') || has('`');
        }
        let keeps = self.flows
            || name.is_none_or(|name| {
                KEEPS.contains(&name) && (name != "printf" || has('v'))
                    || self.functions.iter().any(|own| own == name)
            });
        self.kept |= keeps && has('\\');
        // zsh does not split a value, which `sh -c $x` makes one text.
        let option = |word: &Word| {
            literal(word).is_some_and(|own| own.starts_with('-') && own.contains('c'))
        };
        if let Some(at) = arguments.iter().position(option) {
            let bare =
                |word: &Word| word.parts.iter().any(|part| matches!(part, Part::Parameter(..)));
            self.found.zsh |= arguments.iter().skip(at + 1).any(bare);
        }
    }
}

impl Visit for Look<'_> {
    fn pipeline(&mut self, pipeline: &Pipeline) {
        let outer = (self.piped, self.taken, self.flows);
        let last = pipeline.stages.len().saturating_sub(1);
        for (index, stage) in pipeline.stages.iter().enumerate() {
            self.piped = (index > 0, index < last);
            self.taken = outer.1 || index < last;
            self.flows = outer.2 || index < last;
            self.command(&stage.command);
        }
        (self.piped, self.taken, self.flows) = outer;
    }

    fn command(&mut self, command: &Command) {
        self.shared(&command.redirections);
        self.both(command);
        let outer = (self.piped, self.taken);
        self.piped = (false, false);
        self.taken |= !command.redirections.is_empty();
        match &command.kind {
            CommandKind::Simple(simple) => self.simple(simple),
            CommandKind::Arithmetic(_) => self.arithmetic(command),
            CommandKind::Conditional(_) => {
                self.found.dash |= command.span.of(self.text).contains(['<', '>', '&', '|']);
            }
            CommandKind::Function { name, .. } => {
                // What it prints may be taken in where it is called.
                self.functions.push(name.clone());
                self.taken = true;
            }
            CommandKind::For { words, .. } => {
                let words = words.as_deref().unwrap_or_default();
                self.kept |= words.iter().any(|word| word.span.of(self.text).contains('\\'));
            }
            _ => {}
        }
        walk::command(self, command);
        (self.piped, self.taken) = outer;
    }

    fn redirection(&mut self, redirection: &Redirection) {
        // What an input holds may be read into a variable.
        self.kept |= match &redirection.target {
            RedirectionTarget::HereDocument(document) => {
                document.body.span.of(self.text).contains('\\')
            }
            RedirectionTarget::Word(word) => {
                redirection.operator == Operator::HereString
                    && word.span.of(self.text).contains('\\')
            }
        };
        walk::redirection(self, redirection);
    }

    fn assignment(&mut self, assignment: &Assignment) {
        if matches!(assignment.value, AssignmentValue::Array(_)) && self.arrays.len() < NAMES {
            self.arrays.push(assignment.name.clone());
        }
        self.elements |= assignment.subscript.is_some();
        self.kept |= assignment.span.of(self.text).contains('\\');
        walk::assignment(self, assignment);
    }

    fn part(&mut self, part: &Part) {
        let outer = (self.taken, self.flows);
        match part {
            Part::AnsiQuoted(_, span) => {
                self.found.dash |= span.of(self.text).contains("\\'");
            }
            Part::Parameter(parameter, _) => {
                self.elements |= matches!(parameter.subscript, Some(Subscript::Index(_)));
                if parameter.subscript.is_none() && self.used.len() < NAMES {
                    self.used.push(parameter.name.clone());
                } else if self.used.len() >= NAMES {
                    self.elements = true;
                }
            }
            Part::CommandSubstitution(..) | Part::ProcessSubstitution(..) => {
                (self.taken, self.flows) = (true, true);
            }
            _ => {}
        }
        walk::part(self, part);
        (self.taken, self.flows) = outer;
    }
}

/// The characters of a word that is nothing but plain text.
fn literal(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Literal(text, _)] => Some(text),
        _ => None,
    }
}

/// Whether each `=` of an expression compares.
fn is_comparison(expression: &str) -> bool {
    let bytes = expression.as_bytes();
    bytes.iter().enumerate().filter(|(_, byte)| **byte == b'=').all(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| bytes.get(at));
        bytes.get(at + 1) == Some(&b'=') || matches!(before, Some(b'=' | b'!' | b'<' | b'>'))
    })
}

/// Takes in what another shell would do.
pub fn join(verdict: &mut Verdict, there: Verdict, shell: Shell) {
    if there.decision == Decision::Deny {
        let reasons = there.reasons.into_iter().filter(|own| own.decision == Decision::Deny);
        verdict.reasons.extend(reasons.map(|own| Reason {
            label: LABEL.into(),
            decision: Decision::Ask,
            why: format!("{} reads this otherwise than bash. {}", shell.name(), own.why),
            ..own
        }));
        verdict.labels = vec![LABEL.into()];
        verdict.decision = Decision::Ask;
    } else if verdict.decision == Decision::Allow
        && there.labels.iter().any(|own| !MILD.contains(&own.as_str()))
        && there.decision == Decision::Ask
    {
        *verdict = Verdict::default();
    }
}
