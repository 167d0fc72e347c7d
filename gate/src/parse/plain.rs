//! Texts so plain that two readers of shell text cannot differ: no tree is needed as a witness.
//!
//! A small scanner, which knows quotes, brackets, reserved words and separators and nothing of our
//! reading, says where commands and substitutions begin. Where each of them is one of our reading
//! too, and both find nothing unusual, the text is plain. The suite proves for every line of the
//! corpus, and for generated ones, that the tree has nothing to say about such a text.

use smallvec::SmallVec;

use super::word::{continues_name, is_metacharacter, starts_name};
use crate::model::script::{
    Assignment, AssignmentValue, Command, CommandKind, Condition, Descriptor, Item, Operation,
    Part, RedirectionTarget, Script, Subscript, SubstitutionForm, Word,
};

/// Levels of brackets inside each other in a plain text.
const LEVELS: usize = 16;

/// Whether a piece of a text, which begins at `start` and holds these items, is plain.
pub(super) fn is_plain(piece: &str, start: usize, items: &[Item]) -> bool {
    let mut scan = Scan::new(piece.as_bytes());
    if scan.list(Close::End).is_none() || !scan.documents.is_empty() {
        return false;
    }
    let mut ours = Ours::default();
    if !ours.items(items) {
        return false;
    }
    ours.starts.sort_unstable();
    let mut ours = ours.starts.iter().peekable();
    scan.starts.iter().all(|at| {
        let at = at + start;
        while ours.next_if(|own| **own < at).is_some() {}
        ours.peek().is_some_and(|own| **own == at)
    })
}

/// Where a list of commands ends for the scanner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Close {
    End,
    Paren,
}

/// What comes next inside `case`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Arm {
    /// Its word and `in`.
    Subject,
    /// Patterns up to `)`, or `esac`.
    Pattern,
    /// Commands.
    Body,
}

/// A here-document whose body comes behind the line.
#[derive(Clone, Copy, Debug)]
struct Document<'t> {
    delimiter: &'t [u8],
    quoted: bool,
    tabs: bool,
}

/// The scanner. Every method gives `None` where it meets something unusual.
struct Scan<'t> {
    text: &'t [u8],
    at: usize,
    level: usize,
    /// Where commands and substitutions begin, ascending.
    starts: SmallVec<[usize; 16]>,
    documents: SmallVec<[Document<'t>; 1]>,
}

impl<'t> Scan<'t> {
    fn new(text: &'t [u8]) -> Self {
        let (starts, documents) = (SmallVec::new(), SmallVec::new());
        Self { text, at: 0, level: 0, starts, documents }
    }

    fn peek(&self) -> Option<u8> {
        self.text.get(self.at).copied()
    }

    fn nth(&self, n: usize) -> Option<u8> {
        self.text.get(self.at + n).copied()
    }

    /// Commands up to the end.
    fn list(&mut self, close: Close) -> Option<()> {
        self.level += 1;
        if self.level > LEVELS {
            return None;
        }
        let mut cases: SmallVec<[Arm; 4]> = SmallVec::new();
        // Whether a command may begin here, whether the next word is a redirection's, and whether
        // the place is inside `[[ ]]`.
        let (mut fresh, mut target, mut test) = (true, false, false);
        // Whether the place is behind `[` and before its `]`, where the tree takes operators for its own.
        let mut bracket = false;
        while let Some(byte) = self.peek() {
            let arm = cases.last().copied();
            match byte {
                b' ' | b'\t' => self.at += 1,
                b'\n' if bracket => return None,
                b'\n' => {
                    self.at += 1;
                    self.bodies()?;
                    fresh = true;
                }
                b'\\' if self.nth(1) == Some(b'\n') => self.at += 2,
                b'#' => {
                    while self.peek().is_some_and(|byte| byte != b'\n') {
                        self.at += 1;
                    }
                }
                _ if target || is_word(byte, self.nth(1)) => {
                    let (start, mark) = (self.at, self.starts.len());
                    self.word()?;
                    let word = self.text.get(start..self.at).unwrap_or_default();
                    if word.is_empty() {
                        return None;
                    }
                    if std::mem::take(&mut target) {
                        continue;
                    }
                    if test {
                        test = word != b"]]";
                        continue;
                    }
                    if bracket {
                        bracket = word != b"]";
                        continue;
                    }
                    match arm {
                        Some(Arm::Subject) if word == b"in" => {
                            *cases.last_mut()? = Arm::Pattern;
                        }
                        Some(Arm::Pattern) if word == b"esac" => {
                            cases.pop();
                            fresh = false;
                        }
                        Some(Arm::Subject | Arm::Pattern) => {}
                        _ if word.ends_with(b"=") && self.peek() == Some(b'(') => {
                            if fresh {
                                self.starts.insert(mark, start);
                            }
                            self.array()?;
                        }
                        _ if fresh => match word {
                            b"if" | b"then" | b"elif" | b"else" | b"while" | b"until" | b"do"
                            | b"{" | b"!" => {}
                            b"fi" | b"done" | b"}" => fresh = false,
                            b"esac" => {
                                cases.pop()?;
                                fresh = false;
                            }
                            b"case" => {
                                self.starts.insert(mark, start);
                                cases.push(Arm::Subject);
                            }
                            b"[[" => {
                                self.starts.insert(mark, start);
                                test = true;
                                fresh = false;
                            }
                            b"for" => {
                                self.starts.insert(mark, start);
                                fresh = false;
                                while self.peek() == Some(b' ') {
                                    self.at += 1;
                                }
                                if self.peek() == Some(b'(') && self.nth(1) == Some(b'(') {
                                    self.arithmetic()?;
                                }
                            }
                            b"time" | b"coproc" | b"function" | b"select" | b"in" | b"]]" => {
                                return None;
                            }
                            b"[" => {
                                self.starts.insert(mark, start);
                                bracket = true;
                                fresh = false;
                            }
                            _ => {
                                self.starts.insert(mark, start);
                                if self.peek() == Some(b'(') {
                                    if self.nth(1) != Some(b')') {
                                        return None;
                                    }
                                    self.at += 2;
                                } else {
                                    fresh = is_assignment(word);
                                }
                            }
                        },
                        _ => {}
                    }
                }
                _ if test => self.at += 1,
                _ if bracket => return None,
                b'(' if arm == Some(Arm::Pattern) => self.at += 1,
                b'(' if fresh => {
                    self.starts.push(self.at);
                    if self.nth(1) == Some(b'(') {
                        self.arithmetic()?;
                    } else {
                        self.at += 1;
                        self.list(Close::Paren)?;
                    }
                    fresh = false;
                }
                b')' if arm == Some(Arm::Pattern) => {
                    self.at += 1;
                    *cases.last_mut()? = Arm::Body;
                    fresh = true;
                }
                b')' if close == Close::Paren => {
                    self.at += 1;
                    self.level -= 1;
                    return (cases.is_empty() && self.documents.is_empty()).then_some(());
                }
                b'|' if arm == Some(Arm::Pattern) => self.at += 1,
                b';' => {
                    self.at += 1;
                    if arm == Some(Arm::Body) && self.peek() == Some(b';') {
                        self.at += 1;
                        *cases.last_mut()? = Arm::Pattern;
                    }
                    if matches!(self.peek(), Some(b';' | b'&')) {
                        return None;
                    }
                    fresh = true;
                }
                b'&' if self.nth(1) == Some(b'>') => target = self.operator(),
                b'&' | b'|' => {
                    self.at += 1;
                    fresh = true;
                }
                b'<' if self.nth(1) == Some(b'<') && self.nth(2) != Some(b'<') => {
                    // The tree ends a substitution at a bracket of the body.
                    if close == Close::Paren {
                        return None;
                    }
                    self.document()?;
                }
                b'<' | b'>' => target = self.operator(),
                _ => return None,
            }
        }
        self.level -= 1;
        (close == Close::End && cases.is_empty() && !test && !bracket).then_some(())
    }

    /// Steps over a redirection operator and the blanks behind it.
    fn operator(&mut self) -> bool {
        while matches!(self.peek(), Some(b'<' | b'>' | b'&' | b'|')) {
            self.at += 1;
        }
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.at += 1;
        }
        true
    }

    /// The operator of a here-document and its delimiter, a name or one in quotes.
    fn document(&mut self) -> Option<()> {
        self.at += 2;
        let tabs = self.peek() == Some(b'-');
        self.at += usize::from(tabs);
        while self.peek() == Some(b' ') {
            self.at += 1;
        }
        let quote = self.peek().filter(|byte| matches!(byte, b'\'' | b'"'));
        self.at += usize::from(quote.is_some());
        let start = self.at;
        while self.peek().is_some_and(continues_name) {
            self.at += 1;
        }
        let delimiter = self.text.get(start..self.at)?;
        if quote.is_some() {
            if self.peek() != quote {
                return None;
            }
            self.at += 1;
        }
        if delimiter.is_empty() || !self.peek().is_none_or(is_metacharacter) {
            return None;
        }
        self.documents.push(Document { delimiter, quoted: quote.is_some(), tabs });
        Some(())
    }

    /// The bodies that come behind a line.
    fn bodies(&mut self) -> Option<()> {
        for document in std::mem::take(&mut self.documents) {
            loop {
                if document.tabs {
                    while self.peek() == Some(b'\t') {
                        self.at += 1;
                    }
                }
                let rest = self.text.get(self.at..)?;
                let end = rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len());
                let line = rest.get(..end)?;
                if line == document.delimiter {
                    self.at = (self.at + end + 1).min(self.text.len());
                    break;
                }
                if end == rest.len() {
                    return None;
                }
                // A line that looks like it ends the body in some places, and for some readers.
                if line.trim_ascii_start().starts_with(document.delimiter) {
                    return None;
                }
                if document.quoted {
                    self.at += end + 1;
                    continue;
                }
                while let Some(byte) = self.peek() {
                    match byte {
                        b'\n' => break,
                        b'\\' if matches!(self.nth(1), Some(b' '..=b'~')) => self.at += 2,
                        b'\\' | b'`' => return None,
                        b'$' => self.dollar()?,
                        _ => self.at += 1,
                    }
                }
                self.at += 1;
            }
        }
        Some(())
    }

    /// A word up to a metacharacter.
    fn word(&mut self) -> Option<()> {
        while let Some(byte) = self.peek() {
            match byte {
                b'<' | b'>' if self.nth(1) == Some(b'(') => {
                    self.starts.push(self.at);
                    self.at += 2;
                    self.list(Close::Paren)?;
                }
                _ if is_metacharacter(byte) => return Some(()),
                b'\'' => {
                    let rest = self.text.get(self.at + 1..)?;
                    let length = rest.iter().position(|byte| *byte == b'\'')?;
                    let inside = rest.get(..length)?;
                    if inside.iter().any(|byte| is_unusual(*byte)) {
                        return None;
                    }
                    self.at += length + 2;
                }
                b'"' => self.double()?,
                b'$' => self.dollar()?,
                b'\\' if matches!(self.nth(1), Some(b'!'..=b'~')) => self.at += 2,
                b'`' | b'\\' => return None,
                b'!'..=b'~' => self.at += 1,
                _ => return None,
            }
        }
        Some(())
    }

    fn double(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b'"' => {
                    self.at += 1;
                    return Some(());
                }
                b'\\' if matches!(self.nth(1), Some(b' '..=b'~')) => self.at += 2,
                b'$' => self.dollar()?,
                b'`' | b'\\' => return None,
                byte if is_unusual(byte) => return None,
                _ => self.at += 1,
            }
        }
    }

    /// What `$` begins.
    fn dollar(&mut self) -> Option<()> {
        match self.nth(1) {
            Some(b'(') if self.nth(2) == Some(b'(') => {
                self.starts.push(self.at);
                self.at += 1;
                self.arithmetic()
            }
            Some(b'(') => {
                self.starts.push(self.at);
                self.at += 2;
                self.list(Close::Paren)
            }
            Some(b'{') => self.braces(),
            Some(b'\'' | b'"' | b'[' | b'`') => None,
            Some(byte) if starts_name(byte) => {
                self.at += 2;
                while self.peek().is_some_and(continues_name) {
                    self.at += 1;
                }
                Some(())
            }
            Some(b'?' | b'#' | b'@' | b'*' | b'!' | b'$' | b'-' | b'0'..=b'9') => {
                self.at += 2;
                Some(())
            }
            _ => {
                self.at += 1;
                Some(())
            }
        }
    }

    /// `${...}` without quotes, brackets of other kinds and backslashes.
    fn braces(&mut self) -> Option<()> {
        self.at += 2;
        let first = self.peek()?;
        if !continues_name(first) && !b"#!@*?".contains(&first) {
            return None;
        }
        self.level += 1;
        if self.level > LEVELS {
            return None;
        }
        loop {
            match self.peek()? {
                b'}' => {
                    self.at += 1;
                    self.level -= 1;
                    return Some(());
                }
                b'$' => self.dollar()?,
                b'\'' | b'"' | b'`' | b'\\' | b'{' | b'(' | b')' => return None,
                b'<' | b'>' | b'&' | b'|' | b';' => return None,
                b' '..=b'~' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// `((...))` with names, numbers, operators and expansions.
    fn arithmetic(&mut self) -> Option<()> {
        self.at += 2;
        let mut open = 0usize;
        loop {
            match self.peek()? {
                b'(' => {
                    open += 1;
                    self.at += 1;
                }
                b')' if open > 0 => {
                    open -= 1;
                    self.at += 1;
                }
                b')' => {
                    if self.nth(1) != Some(b')') {
                        return None;
                    }
                    self.at += 2;
                    return Some(());
                }
                b'$' => self.dollar()?,
                b'\'' | b'"' | b'`' | b'\\' | b'{' | b'}' => return None,
                b' '..=b'~' => self.at += 1,
                _ => return None,
            }
        }
    }

    /// The elements of an array value.
    fn array(&mut self) -> Option<()> {
        self.at += 1;
        loop {
            match self.peek()? {
                b' ' | b'\t' | b'\n' => self.at += 1,
                b')' => {
                    self.at += 1;
                    return Some(());
                }
                b'#' => return None,
                byte => {
                    if is_metacharacter(byte) {
                        return None;
                    }
                    self.word()?;
                }
            }
        }
    }
}

/// Whether a word, or a process substitution, begins with these bytes.
fn is_word(byte: u8, next: Option<u8>) -> bool {
    !is_metacharacter(byte) || (matches!(byte, b'<' | b'>') && next == Some(b'('))
}

/// A control character; blanks and line ends are none.
fn is_unusual(byte: u8) -> bool {
    byte.is_ascii_control() && !matches!(byte, b'\t' | b'\n')
}

/// Whether a word begins like an assignment.
fn is_assignment(word: &[u8]) -> bool {
    let name = word.iter().take_while(|byte| continues_name(**byte)).count();
    let rest = word.get(name..).unwrap_or_default();
    name > 0 && (rest.starts_with(b"=") || rest.starts_with(b"+="))
}

/// Our reading: where its commands and substitutions begin. Every method says whether it met
/// nothing unusual.
#[derive(Default)]
struct Ours {
    starts: SmallVec<[usize; 32]>,
}

impl Ours {
    fn items(&mut self, items: &[Item]) -> bool {
        items.iter().all(|item| {
            let rest = item.list.rest.iter().map(|(_, pipeline)| pipeline);
            std::iter::once(&item.list.first).chain(rest).all(|pipeline| {
                !pipeline.timed && pipeline.stages.iter().all(|stage| self.command(&stage.command))
            })
        })
    }

    fn script(&mut self, script: &Script) -> bool {
        self.items(&script.items)
    }

    fn command(&mut self, command: &Command) -> bool {
        self.starts.push(command.span.start);
        let plain = match &command.kind {
            CommandKind::Simple(simple) => {
                if let Some(name) = simple.words.first() {
                    self.starts.push(name.span.start);
                    // The tree is confused by what looks like an assignment and is none.
                    let assigns =
                        |part: &Part| matches!(part, Part::Literal(text, _) if text.contains('='));
                    if name.parts.iter().any(assigns) {
                        return false;
                    }
                    // It takes the operands of `[` for programs where a redirection stands between
                    // them.
                    let brackets = matches!(name.parts.as_slice(),
                        [Part::Literal(text, _)] if text == "[");
                    let last = simple.words.last().map_or(0, |word| word.span.start);
                    if brackets && command.redirections.iter().any(|one| one.span.start < last) {
                        return false;
                    }
                }
                simple.assignments.iter().all(|assignment| {
                    self.starts.push(assignment.span.start);
                    self.assignment(assignment)
                }) && self.words(&simple.words)
            }
            CommandKind::Subshell(body) | CommandKind::Group(body) => self.script(body),
            CommandKind::If { arms, otherwise } => {
                arms.iter().all(|(condition, body)| self.script(condition) && self.script(body))
                    && otherwise.as_ref().is_none_or(|body| self.script(body))
            }
            CommandKind::Loop { condition, body, .. } => {
                self.script(condition) && self.script(body)
            }
            CommandKind::For { words, body, .. } => {
                self.words(words.as_deref().unwrap_or_default()) && self.script(body)
            }
            CommandKind::ArithmeticFor { expressions, body } => {
                self.words(expressions.as_slice()) && self.script(body)
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject)
                    && arms.iter().all(|arm| self.words(&arm.patterns) && self.script(&arm.body))
            }
            CommandKind::Function { body, .. } => self.command(body),
            CommandKind::Coprocess { .. } => false,
            CommandKind::Arithmetic(word) => self.word(word),
            CommandKind::Conditional(condition) => self.condition(condition),
        };
        plain
            && command.redirections.iter().all(|redirection| {
                !matches!(redirection.descriptor, Some(Descriptor::Variable(_)))
                    && match &redirection.target {
                        RedirectionTarget::Word(word) => self.word(word),
                        RedirectionTarget::HereDocument(document) => {
                            self.parts(&document.body.parts)
                        }
                    }
            })
    }

    fn condition(&mut self, condition: &Condition) -> bool {
        match condition {
            Condition::Word(word) | Condition::Unary(_, word) => self.word(word),
            // The tree takes these for redirections.
            Condition::Binary(_, operator, _) if matches!(operator.as_str(), "<" | ">") => false,
            Condition::Binary(left, _, right) => self.word(left) && self.word(right),
            Condition::Not(inner) => self.condition(inner),
            Condition::And(left, right) | Condition::Or(left, right) => {
                self.condition(left) && self.condition(right)
            }
        }
    }

    fn assignment(&mut self, assignment: &Assignment) -> bool {
        assignment.subscript.as_ref().is_none_or(|word| self.word(word))
            && match &assignment.value {
                AssignmentValue::Scalar(word) => self.word(word),
                AssignmentValue::Array(elements) => elements.iter().all(|element| {
                    element.subscript.as_ref().is_none_or(|word| self.word(word))
                        && self.word(&element.value)
                }),
            }
    }

    fn words(&mut self, words: &[Word]) -> bool {
        words.iter().all(|word| self.word(word))
    }

    fn word(&mut self, word: &Word) -> bool {
        self.parts(&word.parts)
    }

    fn parts(&mut self, parts: &[Part]) -> bool {
        parts.iter().all(|part| match part {
            Part::Literal(..) | Part::Escaped(..) | Part::SingleQuoted(..) => true,
            Part::DoubleQuoted(inner, _) => self.parts(inner),
            Part::AnsiQuoted(..) | Part::LocaleQuoted(..) => false,
            Part::Parameter(parameter, _) => {
                let subscript = match &parameter.subscript {
                    Some(Subscript::Index(word)) => self.word(word),
                    _ => true,
                };
                subscript && self.operation(&parameter.operation)
            }
            Part::CommandSubstitution(inner, span) => {
                self.starts.push(span.start);
                inner.form == SubstitutionForm::Dollar && self.script(&inner.script)
            }
            Part::ProcessSubstitution(inner, span) => {
                self.starts.push(span.start);
                self.script(&inner.script)
            }
            Part::Arithmetic(word, span) => {
                self.starts.push(span.start);
                self.word(word)
            }
            Part::ArrayAssignment(assignment, _) => self.assignment(assignment),
        })
    }

    fn operation(&mut self, operation: &Operation) -> bool {
        match operation {
            Operation::Default { word, .. }
            | Operation::Assign { word, .. }
            | Operation::Error { word, .. }
            | Operation::Alternative { word, .. }
            | Operation::RemovePrefix { pattern: word, .. }
            | Operation::RemoveSuffix { pattern: word, .. }
            | Operation::Case { pattern: word, .. } => self.word(word),
            Operation::Replace { pattern, replacement, .. } => {
                self.word(pattern) && self.word(replacement)
            }
            Operation::Substring { offset, length } => {
                self.word(offset) && length.as_ref().is_none_or(|word| self.word(word))
            }
            Operation::Value | Operation::Length => true,
            Operation::Transform(_) | Operation::Names { .. } | Operation::Keys { .. } => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::is_plain;
    use crate::model::context::Limits;
    use crate::parse::parse;

    fn is_plain_text(text: &str) -> bool {
        is_plain(text, 0, &parse(text, &Limits::default()).script.items)
    }

    #[test]
    fn ordinary_texts_are_plain() {
        for text in [
            "ls -la src | head -3 && echo 'a b' >out 2>&1",
            "for f in *.c; do cc -c \"$f\" || exit 1; done",
            "while read -r a b; do (( a > 3 )) && x=$((x + a)); done < <(sort in)",
            "case $1 in -h|--help) usage ;; (*) run \"$@\" ;; esac",
            "f() { local a=${1:-x}; if [[ -n $a ]]; then g; else h; fi; }; f",
            "a=(x y) b=$(date +%s) # names\ncat <<E >out\n$a\nE\nls",
            "find . -name \\*.o -exec rm {} \\;",
        ] {
            assert!(is_plain_text(text), "{text}");
        }
    }

    #[test]
    fn unusual_texts_are_not() {
        for text in [
            "echo `ls`",
            "echo $'a'",
            "time ls",
            "cat <<E\n E\nE",
            "echo $(cat <<E\na)\nE\n)",
            "[ -d >x y ]",
            "[ x && ./mark >../x y ]",
            "[ x\ny ]",
            "{fd}>x ls",
            "[[ a < b ]]",
            "ls\u{1} x",
            "echo ${x:-\"y\"}",
            "a=b=c x=~y -z=~w; --x=~y",
        ] {
            assert!(!is_plain_text(text), "{text}");
        }
    }

    /// The scanner is a witness of its own: what it sees and our reading lacks is not plain.
    #[test]
    fn a_command_that_our_reading_lacks_is_noticed() {
        let table = [
            ("ls   rm x", "ls; rm x"),
            ("ls x     ", "ls x$(rm)"),
            ("echo 'a; rm'", "echo 'a'; rm "),
            ("a=b   c", "a=b; rm"),
            ("case a in esac      ", "case a in b) rm;; esac"),
            ("f         ", "f() { rm; }"),
            ("cat <<E\nE  ", "cat <<F\nF\nrm"),
        ];
        for (read, text) in table {
            let script = parse(read, &Limits::default()).script;
            assert!(!is_plain(text, 0, &script.items), "{read} {text}");
            assert!(is_plain_text(text), "{text}");
        }
    }
}
