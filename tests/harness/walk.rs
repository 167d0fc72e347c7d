//! Every part of every word of a script, for what looks for one kind of them.

use shellgate::model::script::{
    Assignment, AssignmentValue, Command, CommandKind, Condition, HereDocument, Operation, Part,
    Redirection, RedirectionTarget, Script, Subscript, Word,
};

/// What is shown; both may look no further into what they are given.
pub trait Visit {
    /// A part of a word. Gives whether the parts inside it are shown, too.
    fn part(&mut self, part: &Part) -> bool;
    /// A here-document. Gives whether the parts of its body are shown, too.
    fn document(&mut self, document: &HereDocument) -> bool;
}

/// Shows every part of a script, in no particular order.
pub fn script(own: &Script, visit: &mut dyn Visit) {
    for item in &own.items {
        let pipelines = std::iter::once(&item.list.first)
            .chain(item.list.rest.iter().map(|(_, pipeline)| pipeline));
        for stage in pipelines.flat_map(|pipeline| &pipeline.stages) {
            command(&stage.command, visit);
        }
    }
}

fn command(own: &Command, visit: &mut dyn Visit) {
    for one in &own.redirections {
        redirection(one, visit);
    }
    match &own.kind {
        CommandKind::Simple(simple) => {
            for one in &simple.assignments {
                assignment(one, visit);
            }
            for one in &simple.words {
                word(one, visit);
            }
        }
        CommandKind::Subshell(body) | CommandKind::Group(body) => script(body, visit),
        CommandKind::If { arms, otherwise } => {
            for (test, body) in arms {
                script(test, visit);
                script(body, visit);
            }
            if let Some(body) = otherwise {
                script(body, visit);
            }
        }
        CommandKind::Loop { condition, body, .. } => {
            script(condition, visit);
            script(body, visit);
        }
        CommandKind::For { words, body, .. } => {
            for one in words.iter().flatten() {
                word(one, visit);
            }
            script(body, visit);
        }
        CommandKind::ArithmeticFor { expressions, body } => {
            for one in &**expressions {
                word(one, visit);
            }
            script(body, visit);
        }
        CommandKind::Case { subject, arms } => {
            word(subject, visit);
            for arm in arms {
                for one in &arm.patterns {
                    word(one, visit);
                }
                script(&arm.body, visit);
            }
        }
        CommandKind::Function { body, .. } => command(body, visit),
        CommandKind::Coprocess { body, .. } => command(body, visit),
        CommandKind::Arithmetic(expression) => word(expression, visit),
        CommandKind::Conditional(own) => condition(own, visit),
    }
}

fn condition(own: &Condition, visit: &mut dyn Visit) {
    match own {
        Condition::Word(one) | Condition::Unary(_, one) => word(one, visit),
        Condition::Binary(left, _, right) => {
            word(left, visit);
            word(right, visit);
        }
        Condition::Not(inner) => condition(inner, visit),
        Condition::And(left, right) | Condition::Or(left, right) => {
            condition(left, visit);
            condition(right, visit);
        }
    }
}

fn redirection(own: &Redirection, visit: &mut dyn Visit) {
    match &own.target {
        RedirectionTarget::Word(one) => word(one, visit),
        RedirectionTarget::HereDocument(document) => {
            if visit.document(document) {
                word(&document.body, visit);
            }
        }
    }
}

fn assignment(own: &Assignment, visit: &mut dyn Visit) {
    if let Some(one) = &own.subscript {
        word(one, visit);
    }
    match &own.value {
        AssignmentValue::Scalar(one) => word(one, visit),
        AssignmentValue::Array(elements) => {
            for element in elements {
                if let Some(one) = &element.subscript {
                    word(one, visit);
                }
                word(&element.value, visit);
            }
        }
    }
}

/// Shows every part of a word.
pub fn word(own: &Word, visit: &mut dyn Visit) {
    for one in &own.parts {
        part(one, visit);
    }
}

fn part(own: &Part, visit: &mut dyn Visit) {
    if !visit.part(own) {
        return;
    }
    match own {
        Part::Literal(..) | Part::Escaped(..) | Part::SingleQuoted(..) | Part::AnsiQuoted(..) => {}
        Part::DoubleQuoted(inner, _) | Part::LocaleQuoted(inner, _) => {
            for one in inner {
                part(one, visit);
            }
        }
        Part::Parameter(parameter, _) => {
            if let Some(Subscript::Index(one)) = &parameter.subscript {
                word(one, visit);
            }
            for one in operands(&parameter.operation) {
                word(one, visit);
            }
        }
        Part::CommandSubstitution(substitution, _) => script(&substitution.script, visit),
        Part::ProcessSubstitution(process, _) => script(&process.script, visit),
        Part::Arithmetic(expression, _) => word(expression, visit),
        Part::ArrayAssignment(own, _) => assignment(own, visit),
    }
}

fn operands(operation: &Operation) -> Vec<&Word> {
    match operation {
        Operation::Default { word, .. }
        | Operation::Assign { word, .. }
        | Operation::Error { word, .. }
        | Operation::Alternative { word, .. } => vec![word],
        Operation::RemovePrefix { pattern, .. }
        | Operation::RemoveSuffix { pattern, .. }
        | Operation::Case { pattern, .. } => vec![pattern],
        Operation::Replace { pattern, replacement, .. } => vec![pattern, replacement],
        Operation::Substring { offset, length } => std::iter::once(offset).chain(length).collect(),
        Operation::Value
        | Operation::Length
        | Operation::Transform(_)
        | Operation::Names { .. }
        | Operation::Keys { .. } => Vec::new(),
    }
}
