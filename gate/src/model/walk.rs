//! A walk over all of a script, for those who look for something in it.

use crate::model::script::{
    Assignment, AssignmentValue, Command, CommandKind, Condition, Operation, Parameter, Part,
    Pipeline, Redirection, RedirectionTarget, Script, Subscript, Word,
};

/// Looks at nodes in the order of the source, redirections behind their command. Each method is told of
/// one node and goes on into it; one that is written anew calls the function of its name in this module
/// to go on, or leaves out what is inside.
pub trait Visit {
    /// A list of lists.
    fn script(&mut self, script: &Script) {
        self::script(self, script);
    }

    /// A pipeline, of one command mostly.
    fn pipeline(&mut self, pipeline: &Pipeline) {
        self::pipeline(self, pipeline);
    }

    /// A simple or compound command.
    fn command(&mut self, command: &Command) {
        self::command(self, command);
    }

    /// A redirection of a command.
    fn redirection(&mut self, redirection: &Redirection) {
        self::redirection(self, redirection);
    }

    /// An assignment before a command, or alone.
    fn assignment(&mut self, assignment: &Assignment) {
        self::assignment(self, assignment);
    }

    /// A word, an expression or a pattern.
    fn word(&mut self, word: &Word) {
        self::word(self, word);
    }

    /// A part of a word.
    fn part(&mut self, part: &Part) {
        self::part(self, part);
    }
}

/// Goes into a script.
pub fn script<V: Visit + ?Sized>(visit: &mut V, script: &Script) {
    for item in &script.items {
        visit.pipeline(&item.list.first);
        for (_, pipeline) in &item.list.rest {
            visit.pipeline(pipeline);
        }
    }
}

/// Goes into a pipeline.
pub fn pipeline<V: Visit + ?Sized>(visit: &mut V, pipeline: &Pipeline) {
    for stage in &pipeline.stages {
        visit.command(&stage.command);
    }
}

/// Goes into a command and its redirections.
pub fn command<V: Visit + ?Sized>(visit: &mut V, command: &Command) {
    inside(visit, &command.kind);
    for redirection in &command.redirections {
        visit.redirection(redirection);
    }
}

fn inside<V: Visit + ?Sized>(visit: &mut V, kind: &CommandKind) {
    match kind {
        CommandKind::Simple(simple) => {
            for assignment in &simple.assignments {
                visit.assignment(assignment);
            }
            words(visit, &simple.words);
        }
        CommandKind::Subshell(body) | CommandKind::Group(body) => visit.script(body),
        CommandKind::If { arms, otherwise } => {
            for (condition, body) in arms {
                visit.script(condition);
                visit.script(body);
            }
            if let Some(body) = otherwise {
                visit.script(body);
            }
        }
        CommandKind::Loop { condition, body, .. } => {
            visit.script(condition);
            visit.script(body);
        }
        CommandKind::For { words: list, body, .. } => {
            words(visit, list.as_deref().unwrap_or_default());
            visit.script(body);
        }
        CommandKind::ArithmeticFor { expressions, body } => {
            words(visit, &**expressions);
            visit.script(body);
        }
        CommandKind::Case { subject, arms } => {
            visit.word(subject);
            for arm in arms {
                words(visit, &arm.patterns);
                visit.script(&arm.body);
            }
        }
        CommandKind::Function { body, .. } => visit.command(body),
        CommandKind::Coprocess { body, .. } => visit.command(body),
        CommandKind::Arithmetic(expression) => visit.word(expression),
        CommandKind::Conditional(inner) => condition(visit, inner),
    }
}

fn words<V: Visit + ?Sized>(visit: &mut V, words: &[Word]) {
    for word in words {
        visit.word(word);
    }
}

/// Goes into a condition of `[[ ]]`.
fn condition<V: Visit + ?Sized>(visit: &mut V, own: &Condition) {
    match own {
        Condition::Word(word) | Condition::Unary(_, word) => visit.word(word),
        Condition::Binary(left, _, right) => {
            visit.word(left);
            visit.word(right);
        }
        Condition::Not(inner) => condition(visit, inner),
        Condition::And(left, right) | Condition::Or(left, right) => {
            condition(visit, left);
            condition(visit, right);
        }
    }
}

/// Goes into a redirection: its word, or the body of its here-document.
pub fn redirection<V: Visit + ?Sized>(visit: &mut V, redirection: &Redirection) {
    match &redirection.target {
        RedirectionTarget::Word(word) => visit.word(word),
        RedirectionTarget::HereDocument(document) => visit.word(&document.body),
    }
}

/// Goes into an assignment.
pub fn assignment<V: Visit + ?Sized>(visit: &mut V, assignment: &Assignment) {
    if let Some(word) = &assignment.subscript {
        visit.word(word);
    }
    match &assignment.value {
        AssignmentValue::Scalar(word) => visit.word(word),
        AssignmentValue::Array(elements) => {
            for element in elements {
                if let Some(word) = &element.subscript {
                    visit.word(word);
                }
                visit.word(&element.value);
            }
        }
    }
}

/// Goes into a word.
pub fn word<V: Visit + ?Sized>(visit: &mut V, word: &Word) {
    for part in &word.parts {
        visit.part(part);
    }
}

/// Goes into a part of a word.
pub fn part<V: Visit + ?Sized>(visit: &mut V, part: &Part) {
    match part {
        Part::Literal(..) | Part::Escaped(..) | Part::SingleQuoted(..) | Part::AnsiQuoted(..) => {}
        Part::DoubleQuoted(inner, _) | Part::LocaleQuoted(inner, _) => {
            for part in inner {
                visit.part(part);
            }
        }
        Part::Parameter(own, _) => parameter(visit, own),
        Part::CommandSubstitution(inner, _) => visit.script(&inner.script),
        Part::ProcessSubstitution(inner, _) => visit.script(&inner.script),
        Part::Arithmetic(expression, _) => visit.word(expression),
        Part::ArrayAssignment(own, _) => visit.assignment(own),
    }
}

fn parameter<V: Visit + ?Sized>(visit: &mut V, parameter: &Parameter) {
    if let Some(Subscript::Index(word)) = &parameter.subscript {
        visit.word(word);
    }
    match &parameter.operation {
        Operation::Default { word, .. }
        | Operation::Assign { word, .. }
        | Operation::Error { word, .. }
        | Operation::Alternative { word, .. }
        | Operation::RemovePrefix { pattern: word, .. }
        | Operation::RemoveSuffix { pattern: word, .. }
        | Operation::Case { pattern: word, .. } => visit.word(word),
        Operation::Replace { pattern, replacement, .. } => {
            visit.word(pattern);
            visit.word(replacement);
        }
        Operation::Substring { offset, length } => {
            visit.word(offset);
            if let Some(word) = length {
                visit.word(word);
            }
        }
        Operation::Value
        | Operation::Length
        | Operation::Transform(_)
        | Operation::Names { .. }
        | Operation::Keys { .. } => {}
    }
}
