//! From script back to shell text, so that reading the text gives the same script.
//!
//! Takes a script without gaps; gives one text. May import: `model::script`.
//! Never: keeps the layout of the source. Redirections stand before the words of a simple command,
//! where no word can be taken for a keyword, an assignment or a descriptor.

use crate::model::script::{
    AndOr, ArrayElement, Assignment, AssignmentValue, CaseArm, CaseEnd, Command, CommandKind,
    Condition, Descriptor, HereDocument, Item, Operation, Parameter, Part, Pipeline, Redirection,
    RedirectionOperator, RedirectionTarget, Replace, Script, SimpleCommand, Subscript,
    Substitution, SubstitutionForm, Word,
};

/// The text of a script. Here-documents follow the line of their operator.
pub fn print(script: &Script) -> String {
    let mut printer = Printer::default();
    printer.list(script, false);
    printer.flush();
    printer.text
}

/// The text of one word as it may stand in a command.
pub fn print_word(word: &Word) -> String {
    let mut printer = Printer::default();
    printer.word(word, Around::Nothing);
    printer.flush();
    printer.text
}

/// What surrounds a part.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Around {
    Nothing,
    Quotes,
    Document,
}

#[derive(Default)]
struct Printer<'s> {
    text: String,
    pending: Vec<(&'s HereDocument, bool)>,
}

/// The reserved words (POSIX.1-2024 XCU 2.4; Bash manual 3.2.1).
const RESERVED: &[&str] = &[
    "!", "{", "}", "[[", "]]", "case", "coproc", "do", "done", "elif", "else", "esac", "fi", "for",
    "function", "if", "in", "select", "then", "time", "until", "while",
];

impl<'s> Printer<'s> {
    fn put(&mut self, text: &str) {
        self.text.push_str(text);
    }

    /// Ends the line if here-documents wait for it.
    fn flush(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        self.put("\n");
        for (document, _) in std::mem::take(&mut self.pending) {
            if document.quoted {
                for part in &document.body.parts {
                    if let Part::SingleQuoted(text, _) | Part::Literal(text, _) = part {
                        self.put(text);
                    }
                }
            } else {
                self.word(&document.body, Around::Document);
            }
            self.put(&document.delimiter);
            self.put("\n");
        }
    }

    /// Prints a list; `closed` puts a separator behind its last item too.
    fn list(&mut self, script: &'s Script, closed: bool) {
        let last = script.items.len().saturating_sub(1);
        for (index, item) in script.items.iter().enumerate() {
            self.item(item);
            let separated = closed || index < last;
            if item.background {
                self.put(" &");
            } else if separated && self.pending.is_empty() {
                self.put(";");
            }
            if separated && self.pending.is_empty() {
                self.put(" ");
            } else {
                self.flush();
            }
        }
    }

    fn item(&mut self, item: &'s Item) {
        self.pipeline(&item.list.first);
        for (operator, pipeline) in &item.list.rest {
            self.put(match operator {
                AndOr::And => " && ",
                AndOr::Or => " || ",
            });
            self.pipeline(pipeline);
        }
    }

    fn pipeline(&mut self, pipeline: &'s Pipeline) {
        if pipeline.timed {
            self.put("time ");
        }
        if pipeline.negated {
            self.put("! ");
        } else if pipeline.stages.is_empty() && !pipeline.timed {
            self.put("! !");
        }
        let last = pipeline.stages.len().saturating_sub(1);
        for (index, stage) in pipeline.stages.iter().enumerate() {
            self.command(&stage.command);
            if index < last {
                self.put(if stage.pipes_error { " |& " } else { " | " });
            }
        }
    }

    fn command(&mut self, command: &'s Command) {
        if let CommandKind::Simple(simple) = &command.kind {
            self.simple(simple, &command.redirections);
            return;
        }
        self.compound(&command.kind);
        for redirection in &command.redirections {
            self.put(" ");
            self.redirection(redirection);
        }
    }

    fn simple(&mut self, simple: &'s SimpleCommand, redirections: &'s [Redirection]) {
        let mut separator = "";
        let mut redirections = redirections;
        // A reserved word is an ordinary one only behind something else.
        if simple.assignments.is_empty()
            && let [first, ..] = simple.words.as_slice()
            && let [Part::Literal(text, _)] = first.parts.as_slice()
            && RESERVED.contains(&text.as_str())
            && let Some((redirection, others)) = redirections.split_first()
        {
            self.redirection(redirection);
            redirections = others;
            separator = " ";
        }
        for assignment in &simple.assignments {
            self.put(separator);
            self.assignment(assignment);
            separator = " ";
        }
        for word in &simple.words {
            self.put(separator);
            self.word(word, Around::Nothing);
            separator = " ";
        }
        for redirection in redirections {
            self.put(separator);
            self.redirection(redirection);
            separator = " ";
        }
    }

    fn compound(&mut self, kind: &'s CommandKind) {
        match kind {
            CommandKind::Simple(_) => {}
            CommandKind::Subshell(body) => {
                self.put("( ");
                self.list(body, false);
                self.flush();
                self.put(" )");
            }
            CommandKind::Group(body) => {
                self.put("{ ");
                self.list(body, true);
                self.put("}");
            }
            CommandKind::If { arms, otherwise } => {
                let mut keyword = "if ";
                for (condition, body) in arms {
                    self.put(keyword);
                    self.list(condition, true);
                    self.put("then ");
                    self.list(body, true);
                    keyword = "elif ";
                }
                if let Some(body) = otherwise {
                    self.put("else ");
                    self.list(body, true);
                }
                self.put("fi");
            }
            CommandKind::Loop { until, condition, body } => {
                self.put(if *until { "until " } else { "while " });
                self.list(condition, true);
                self.do_group(body);
            }
            CommandKind::For { select, name, words, body } => {
                self.put(if *select { "select " } else { "for " });
                self.put(name);
                if let Some(words) = words {
                    self.put(" in");
                    for word in words {
                        self.put(" ");
                        self.word(word, Around::Nothing);
                    }
                }
                self.put("; ");
                self.do_group(body);
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                let mut opener = "for ((";
                for expression in expressions.iter() {
                    self.put(opener);
                    self.word(expression, Around::Quotes);
                    opener = ";";
                }
                self.put(")); ");
                self.do_group(body);
            }
            CommandKind::Case { subject, arms } => {
                self.put("case ");
                self.word(subject, Around::Nothing);
                self.put(" in ");
                for arm in arms {
                    self.arm(arm);
                }
                self.put("esac");
            }
            CommandKind::Function { name, body } => {
                self.put("function ");
                self.put(&quote_name(name));
                self.put("\n");
                self.command(body);
            }
            CommandKind::Arithmetic(expression) => {
                self.put("((");
                self.word(expression, Around::Quotes);
                self.put("))");
            }
            CommandKind::Conditional(condition) => {
                self.put("[[ ");
                self.condition(condition);
                self.put(" ]]");
            }
            CommandKind::Coprocess { name, body } => {
                self.put("coproc ");
                if !matches!(body.kind, CommandKind::Simple(_)) && name != "COPROC" {
                    self.put(name);
                    self.put(" ");
                }
                self.command(body);
            }
        }
    }

    fn do_group(&mut self, body: &'s Script) {
        self.put("do ");
        self.list(body, true);
        self.put("done");
    }

    fn arm(&mut self, arm: &'s CaseArm) {
        let mut separator = "(";
        for pattern in &arm.patterns {
            self.put(separator);
            self.word(pattern, Around::Nothing);
            separator = " | ";
        }
        self.put(") ");
        self.list(&arm.body, true);
        self.put(match arm.end {
            CaseEnd::Break => ";; ",
            CaseEnd::FallThrough => ";& ",
            CaseEnd::TestNext => ";;& ",
        });
    }

    fn condition(&mut self, condition: &'s Condition) {
        match condition {
            Condition::Word(word) => self.word(word, Around::Nothing),
            Condition::Unary(operator, word) => {
                self.put(operator);
                self.put(" ");
                self.word(word, Around::Nothing);
            }
            Condition::Binary(left, operator, right) => {
                self.word(left, Around::Nothing);
                self.put(" ");
                self.put(operator);
                self.put(" ");
                self.word(right, Around::Nothing);
            }
            Condition::Not(inner) => {
                self.put("! ");
                let is_list = matches!(**inner, Condition::And(..) | Condition::Or(..));
                // A second `!` would cancel the first one, so it stands in parentheses of its own.
                let is_not = matches!(**inner, Condition::Not(..));
                self.part_of_condition(inner, is_list || is_not);
            }
            Condition::And(left, right) => {
                let is_list = matches!(**left, Condition::And(..) | Condition::Or(..));
                self.part_of_condition(left, is_list);
                self.put(" && ");
                self.part_of_condition(right, matches!(**right, Condition::Or(..)));
            }
            Condition::Or(left, right) => {
                self.part_of_condition(left, matches!(**left, Condition::Or(..)));
                self.put(" || ");
                self.condition(right);
            }
        }
    }

    fn part_of_condition(&mut self, condition: &'s Condition, grouped: bool) {
        if grouped {
            self.put("( ");
        }
        self.condition(condition);
        if grouped {
            self.put(" )");
        }
    }

    fn assignment(&mut self, assignment: &'s Assignment) {
        self.put(&assignment.name);
        if let Some(subscript) = &assignment.subscript {
            self.put("[");
            self.word(subscript, Around::Nothing);
            self.put("]");
        }
        self.put(if assignment.append { "+=" } else { "=" });
        match &assignment.value {
            AssignmentValue::Scalar(word) => self.word(word, Around::Nothing),
            AssignmentValue::Array(elements) => {
                let mut separator = "(";
                for element in elements {
                    self.put(separator);
                    self.element(element);
                    separator = " ";
                }
                self.put(if elements.is_empty() { "()" } else { ")" });
            }
        }
    }

    fn element(&mut self, element: &'s ArrayElement) {
        if let Some(subscript) = &element.subscript {
            self.put("[");
            self.word(subscript, Around::Nothing);
            self.put(if element.append { "]+=" } else { "]=" });
        }
        self.word(&element.value, Around::Nothing);
    }

    fn redirection(&mut self, redirection: &'s Redirection) {
        match &redirection.descriptor {
            Some(Descriptor::Number(number)) => self.put(&number.to_string()),
            Some(Descriptor::Variable(name)) => self.put(&format!("{{{name}}}")),
            None => {}
        }
        self.put(match redirection.operator {
            RedirectionOperator::Input => "<",
            RedirectionOperator::Output => ">",
            RedirectionOperator::Append => ">>",
            RedirectionOperator::Clobber => ">|",
            RedirectionOperator::ReadWrite => "<>",
            RedirectionOperator::DuplicateInput => "<&",
            RedirectionOperator::DuplicateOutput => ">&",
            RedirectionOperator::OutputAndError => "&>",
            RedirectionOperator::AppendAndError => "&>>",
            RedirectionOperator::HereDocument => "<<",
            RedirectionOperator::HereDocumentTabs => "<<-",
            RedirectionOperator::HereString => "<<<",
        });
        match &redirection.target {
            RedirectionTarget::Word(word) => {
                self.put(" ");
                self.word(word, Around::Nothing);
            }
            RedirectionTarget::HereDocument(document) => {
                if document.quoted {
                    self.put(&quote(&document.delimiter));
                } else {
                    self.put(&document.delimiter);
                }
                let tabs = redirection.operator == RedirectionOperator::HereDocumentTabs;
                self.pending.push((document, tabs));
            }
        }
    }

    fn word(&mut self, word: &'s Word, around: Around) {
        for part in &word.parts {
            self.part(part, around);
        }
    }

    fn part(&mut self, part: &'s Part, around: Around) {
        match part {
            Part::Literal(text, _) => self.put(text),
            Part::Escaped(text, _) => {
                self.put("\\");
                self.put(text);
            }
            Part::SingleQuoted(text, _) => {
                self.put("'");
                self.put(text);
                self.put("'");
            }
            Part::AnsiQuoted(text, _) => {
                let quoted = ansi_quote(text);
                self.put(&quoted);
            }
            Part::DoubleQuoted(parts, _) | Part::LocaleQuoted(parts, _) => {
                self.put(if matches!(part, Part::DoubleQuoted(..)) { "\"" } else { "$\"" });
                for part in parts {
                    self.part(part, Around::Quotes);
                }
                self.put("\"");
            }
            Part::Parameter(parameter, _) => self.parameter(parameter, around),
            Part::CommandSubstitution(substitution, _) => self.substitution(substitution, around),
            Part::ProcessSubstitution(process, _) => {
                self.put(if process.output { ">(" } else { "<(" });
                self.nested(&process.script);
                self.put(")");
            }
            Part::Arithmetic(expression, _) => {
                let (open, close) =
                    if is_balanced(expression) { ("$((", "))") } else { ("$[", "]") };
                self.put(open);
                // Arithmetic keeps double quotes as parts, and a backquote in it is not inside them.
                self.word(expression, Around::Document);
                self.put(close);
            }
            Part::ArrayAssignment(assignment, _) => self.assignment(assignment),
        }
    }

    /// Prints a script inside brackets, its here-documents too.
    fn nested(&mut self, script: &'s Script) {
        let outer = std::mem::take(&mut self.pending);
        let start = self.text.len();
        self.list(script, false);
        self.flush();
        // Two brackets in a row would begin an expression.
        if self.text.get(start..).is_some_and(|text| text.starts_with('(')) {
            self.text.insert(start, ' ');
        }
        self.pending = outer;
    }

    fn substitution(&mut self, substitution: &'s Substitution, around: Around) {
        match substitution.form {
            SubstitutionForm::Dollar => {
                self.put("$(");
                self.nested(&substitution.script);
                self.put(")");
            }
            SubstitutionForm::Brace => {
                let outer = std::mem::take(&mut self.pending);
                self.put("${ ");
                self.list(&substitution.script, true);
                self.put("}");
                self.pending = outer;
            }
            SubstitutionForm::Backquote => {
                let inner = print(&substitution.script);
                self.put("`");
                for c in inner.chars() {
                    let escaped = matches!(c, '\\' | '`');
                    if escaped || (c == '"' && around == Around::Quotes) {
                        self.text.push('\\');
                    }
                    self.text.push(c);
                }
                self.put("`");
            }
        }
    }

    fn parameter(&mut self, parameter: &'s Parameter, around: Around) {
        let around = if around == Around::Nothing { Around::Nothing } else { Around::Quotes };
        self.put("${");
        match &parameter.operation {
            Operation::Length => self.put("#"),
            Operation::Names { .. } | Operation::Keys { .. } => self.put("!"),
            _ if parameter.indirect => self.put("!"),
            _ => {}
        }
        self.put(&parameter.name);
        match &parameter.subscript {
            Some(Subscript::At) => self.put("[@]"),
            Some(Subscript::Star) => self.put("[*]"),
            Some(Subscript::Index(word)) => {
                self.put("[");
                self.word(word, Around::Nothing);
                self.put("]");
            }
            None => {}
        }
        self.operation(&parameter.operation, around);
        self.put("}");
    }

    fn operation(&mut self, operation: &'s Operation, around: Around) {
        match operation {
            Operation::Value | Operation::Length => {}
            Operation::Default { colon, word } => self.operand(*colon, "-", word, around),
            Operation::Assign { colon, word } => self.operand(*colon, "=", word, around),
            Operation::Error { colon, word } => self.operand(*colon, "?", word, around),
            Operation::Alternative { colon, word } => self.operand(*colon, "+", word, around),
            Operation::RemovePrefix { longest, pattern } => {
                self.put(if *longest { "##" } else { "#" });
                self.word(pattern, Around::Nothing);
            }
            Operation::RemoveSuffix { longest, pattern } => {
                self.put(if *longest { "%%" } else { "%" });
                self.word(pattern, Around::Nothing);
            }
            Operation::Replace { which, pattern, replacement } => {
                self.put(match which {
                    Replace::First => "/",
                    Replace::All => "//",
                    Replace::Prefix => "/#",
                    Replace::Suffix => "/%",
                });
                self.word(pattern, Around::Nothing);
                if !replacement.parts.is_empty() {
                    self.put("/");
                    self.word(replacement, Around::Nothing);
                }
            }
            Operation::Substring { offset, length } => {
                self.put(":");
                self.word(offset, Around::Document);
                if let Some(length) = length {
                    self.put(":");
                    self.word(length, Around::Document);
                }
            }
            Operation::Case { operator, all, pattern } => {
                self.text.push(*operator);
                if *all {
                    self.text.push(*operator);
                }
                self.word(pattern, Around::Nothing);
            }
            Operation::Transform(letter) => {
                self.put("@");
                self.text.push(*letter);
            }
            Operation::Names { at } => self.put(if *at { "@" } else { "*" }),
            Operation::Keys { at } => self.put(if *at { "[@]" } else { "[*]" }),
        }
    }

    fn operand(&mut self, colon: bool, operator: &str, word: &'s Word, around: Around) {
        if colon {
            self.put(":");
        }
        self.put(operator);
        self.word(word, around);
    }
}

/// Whether the parentheses of the plain text of an expression close in order.
fn is_balanced(expression: &Word) -> bool {
    let mut open = 0usize;
    let mut quoted = false;
    for part in &expression.parts {
        let Part::Literal(text, _) = part else { continue };
        for byte in text.bytes() {
            match byte {
                b'\'' => quoted = !quoted,
                _ if quoted => {}
                b'(' => open += 1,
                b')' => match open.checked_sub(1) {
                    Some(less) => open = less,
                    None => return false,
                },
                _ => {}
            }
        }
    }
    open == 0
}

/// A name as it is where it is plain text, in quotes otherwise.
fn quote_name(name: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "_-.:/+@%,".contains(c);
    if !name.is_empty() && name.chars().all(plain) { name.to_owned() } else { quote(name) }
}

/// A text in single quotes.
fn quote(text: &str) -> String {
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A text as `$'...'`.
fn ansi_quote(text: &str) -> String {
    let mut quoted = String::from("$'");
    for c in text.chars() {
        let code = u32::from(c);
        match c {
            '\\' | '\'' => {
                quoted.push('\\');
                quoted.push(c);
            }
            '\n' => quoted.push_str("\\n"),
            _ if c.is_ascii_control() => push_byte(&mut quoted, code),
            '\u{f780}'..='\u{f7ff}' => push_byte(&mut quoted, code - 0xf700),
            _ => quoted.push(c),
        }
    }
    quoted.push('\'');
    quoted
}

/// Appends `\x` and two digits.
fn push_byte(text: &mut String, byte: u32) {
    text.push_str("\\x");
    for shift in [4, 0] {
        text.extend(char::from_digit(byte >> shift & 0xf, 16));
    }
}
