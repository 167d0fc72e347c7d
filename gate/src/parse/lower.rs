//! Operators and words into lists, pipelines and simple commands (POSIX.1-2024 XCU 2.9).

use crate::model::script::{
    AndOr, AndOrList, Command, CommandKind, Descriptor, GapCause, Item, Part, Pipeline,
    Redirection, RedirectionOperator, RedirectionTarget, Script, SimpleCommand, Stage, Stages,
    Word,
};
use crate::model::span::Span;
use crate::model::value::List;

use super::reader::{Mark, Pending, Reader, Stop, Until};
use super::word::{continues_name, is_metacharacter, starts_name};

/// A pipeline of so many stages has its room made by what is left of the text.
const MANY_STAGES: usize = 1024;

/// Bytes of the longest reserved word.
const MOST_KEYWORD: usize = 8;

/// Utilities whose operands may be assignments of arrays.
const DECLARATIONS: [&str; 8] =
    ["alias", "declare", "eval", "export", "let", "local", "readonly", "typeset"];

/// Reserved words that POSIX does not have.
const FOREIGN: [&str; 6] = ["[[", "]]", "select", "function", "time", "coproc"];

/// The redirection operators, a longer one before those it begins with.
const OPERATORS: [(&str, RedirectionOperator); 12] = [
    ("&>>", RedirectionOperator::AppendAndError),
    ("&>", RedirectionOperator::OutputAndError),
    ("<<<", RedirectionOperator::HereString),
    ("<<-", RedirectionOperator::HereDocumentTabs),
    ("<<", RedirectionOperator::HereDocument),
    ("<>", RedirectionOperator::ReadWrite),
    ("<&", RedirectionOperator::DuplicateInput),
    ("<", RedirectionOperator::Input),
    (">>", RedirectionOperator::Append),
    (">&", RedirectionOperator::DuplicateOutput),
    (">|", RedirectionOperator::Clobber),
    (">", RedirectionOperator::Output),
];

/// A line of the outermost list: where it begins, and up to where it is being read again.
#[derive(Debug, Default)]
struct Line {
    mark: Option<Mark>,
    items: usize,
    bodies: usize,
    again: Option<usize>,
}

impl Reader<'_> {
    /// Reads commands up to an end, which is not read. Ends without a fault at the end of the text
    /// too; the caller knows whether that is one.
    pub(super) fn list(&mut self, until: Until) -> Script {
        let mut script = Script::default();
        let mut line = Line::default();
        loop {
            self.next_line(until, &mut line, &mut script);
            if self.peek().is_none() || self.at_end_of_list(until) {
                return script;
            }
            let start = self.pos;
            let Some(list) = self.and_or_list() else {
                self.expected("a command");
                return script;
            };
            let end = list.rest.last().map_or(list.first.span, |(_, pipeline)| pipeline.span);
            let span = Span::new(self.map(start), end.end);
            let mut item = Item { list, background: false, span };
            self.blanks();
            let more = match self.peek() {
                None => !self.failed(),
                Some(b'\n') => true,
                Some(b'&') => {
                    item.background = true;
                    let operator = self.pos;
                    self.pos += 1;
                    if let Some(byte @ (b'|' | b'!')) = self.byte(self.pos) {
                        let which = if byte == b'|' { "&|" } else { "&!" };
                        self.gap(GapCause::OtherShell(which), operator, self.pos + 1);
                        self.pos += 1;
                    }
                    true
                }
                Some(b';') if self.at_end_of_list(until) => true,
                Some(b';') => {
                    self.pos += 1;
                    if matches!(self.peek(), Some(b';' | b'&')) {
                        self.pos -= 1;
                        self.expected("one `;`");
                    }
                    true
                }
                Some(_) if self.at_end_of_list(until) => true,
                Some(_) => {
                    self.expected("a separator");
                    false
                }
            };
            script.items.push(item);
            if !more {
                return script;
            }
        }
    }

    /// Steps over line ends. A line of the outermost list that has here-documents is read once more,
    /// with their bodies, when it has been read for the first time; its items go for that.
    fn next_line(&mut self, until: Until, line: &mut Line, script: &mut Script) {
        if !matches!(until, Until::End) {
            return self.newlines();
        }
        let before = self.pos;
        self.newlines();
        let first = line.mark.is_none();
        if !first && !self.slice(before, self.pos).contains('\n') && self.pos < self.text.len() {
            return;
        }
        if let Some(mark) = &line.mark
            && line.again.is_none()
            && !self.second_pass
            && self.bodies.len() > line.bodies
            && self.pending.is_empty()
            && !self.failed()
        {
            script.items.truncate(line.items);
            line.again = Some(self.pos);
            self.second_pass = true;
            self.give_back(mark);
            return;
        }
        if line.again.take_if(|behind| *behind <= self.pos).is_some() {
            self.second_pass = false;
        }
        if line.again.is_none() {
            line.mark = Some(self.mark());
            line.items = script.items.len();
            line.bodies = self.bodies.len();
        }
    }

    fn at_end_of_list(&mut self, until: Until) -> bool {
        match until {
            Until::End => false,
            Until::Paren => self.peek() == Some(b')'),
            Until::Words(words) => self.keyword().is_some_and(|(word, _)| words.contains(&word)),
            Until::Arm => {
                self.looking_at(";;").is_some()
                    || self.looking_at(";&").is_some()
                    || self.keyword().is_some_and(|(word, _)| word == "esac")
            }
        }
    }

    fn and_or_list(&mut self) -> Option<AndOrList> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.blanks();
            let operator = if self.eat("&&") {
                AndOr::And
            } else if self.eat("||") {
                AndOr::Or
            } else {
                break;
            };
            self.newlines();
            let Some(pipeline) = self.pipeline() else {
                self.expected("a command");
                break;
            };
            rest.push((operator, pipeline));
        }
        Some(AndOrList { first, rest })
    }

    fn pipeline(&mut self) -> Option<Pipeline> {
        self.blanks();
        let start = self.pos;
        let mut end = start;
        let (mut negated, mut timed) = (false, false);
        let mut prefixed = false;
        while let Some((word, behind)) = self.keyword() {
            match word {
                "!" => negated = !negated,
                "time" => timed = true,
                _ => break,
            }
            prefixed = true;
            self.pos = behind;
            end = behind;
            self.blanks();
            if word == "time" {
                end = self.time_options(end);
            }
        }
        let mut stages = Stages::new();
        if let Some(command) = self.command() {
            stages.push(Stage { command, pipes_error: false });
            self.stages(start, &mut stages);
        } else if !prefixed {
            return None;
        } else if !matches!(self.peek(), None | Some(b';' | b'\n')) {
            self.expected("a command");
        }
        self.settle_small(&mut stages);
        let first = self.map(start);
        let span = match stages.last() {
            Some(stage) => Span::new(first, stage.command.span.end),
            None => self.place_of(start, end),
        };
        Some(Pipeline { negated, timed, stages, span })
    }

    /// Steps over `-p` and `--` behind `time`; gives the position behind the last of them.
    fn time_options(&mut self, mut end: usize) -> usize {
        for option in ["-p", "--"] {
            if let Some(behind) = self.looking_at(option)
                && self.byte(behind).is_none_or(is_metacharacter)
            {
                self.pos = behind;
                end = behind;
                self.blanks();
            }
        }
        end
    }

    /// Reads the other stages of a pipeline that begins at `start`.
    fn stages(&mut self, start: usize, stages: &mut Stages) {
        loop {
            if stages.len() >= MANY_STAGES && stages.len() == stages.capacity() {
                // Doubling would need the room twice; the rest of the text is mostly like what was
                // read.
                let rest = self.text.len().saturating_sub(self.pos);
                let more = rest.saturating_mul(stages.len()) / (self.pos - start).max(1);
                stages.reserve_exact((more + more / 64).max(stages.len() / 8));
            }
            self.blanks();
            if self.looking_at("||").is_some() {
                return;
            }
            let pipes_error = self.eat("|&");
            if !pipes_error && !self.eat("|") {
                return;
            }
            if let Some(stage) = stages.last_mut() {
                stage.pipes_error = pipes_error;
            }
            self.newlines();
            let Some(command) = self.command() else {
                self.expected("a command");
                return;
            };
            stages.push(Stage { command, pipes_error: false });
        }
    }

    // Reserved words.

    /// The reserved word that comes next, and the position behind it. The caller knows whether one
    /// may stand there.
    pub(super) fn keyword(&mut self) -> Option<(&'static str, usize)> {
        const KEYWORDS: [&str; 22] = [
            "!", "{", "}", "[[", "]]", "if", "then", "else", "elif", "fi", "case", "esac", "for",
            "select", "while", "until", "do", "done", "in", "function", "time", "coproc",
        ];
        let first = self.peek()?;
        if !first.is_ascii_lowercase() && !b"!{}[]".contains(&first) {
            return None;
        }
        // Without a backslash the word is what stands there.
        let rest = self.text.as_bytes().get(self.pos..).unwrap_or_default();
        let length =
            rest.iter().take(MOST_KEYWORD + 1).take_while(|byte| !is_metacharacter(**byte));
        let word = rest.get(..length.count()).unwrap_or_default();
        if !word.contains(&b'\\') {
            let keyword = KEYWORDS.into_iter().find(|keyword| keyword.as_bytes() == word)?;
            let behind = self.pos + word.len();
            let group = word == b"!" && self.byte(behind) == Some(b'(') && self.extglob;
            let reserved = !(self.dialect.posix && FOREIGN.contains(&keyword));
            return (reserved && !group).then_some((keyword, behind));
        }
        let begins = |keyword: &&str| keyword.as_bytes().first() == Some(&first);
        KEYWORDS.into_iter().filter(begins).find_map(|keyword| {
            let behind = self.looking_at(keyword)?;
            let next = self.byte(self.skip_continuations(behind));
            if keyword == "!" && next == Some(b'(') && self.extglob {
                return None;
            }
            let reserved = !(self.dialect.posix && FOREIGN.contains(&keyword));
            (reserved && next.is_none_or(is_metacharacter)).then_some((keyword, behind))
        })
    }

    /// Steps over a reserved word where it comes next.
    pub(super) fn eat_keyword(&mut self, keyword: &str) -> bool {
        match self.keyword() {
            Some((word, behind)) if word == keyword => {
                self.pos = behind;
                true
            }
            _ => false,
        }
    }

    // Simple commands.

    /// Reads assignments, words and redirections; `None` where nothing of that comes next. A name
    /// with `()` behind it is the begin of a function.
    pub(super) fn simple_command(&mut self) -> Option<Command> {
        let start = self.pos;
        let mut simple = SimpleCommand::default();
        let mut redirections = List::new();
        let mut declares = false;
        let mut end = start;
        loop {
            self.blanks();
            let Some(byte) = self.peek() else { break };
            if let Some(redirection) = self.redirection() {
                end = self.pos;
                redirections.push(redirection);
                continue;
            }
            let alone = redirections.is_empty() && simple.assignments.is_empty();
            if byte == b'('
                && alone
                && let [name] = simple.words.as_slice()
                && self.eat("(")
            {
                let name = self.function_name(name);
                return Some(self.function_behind_name(start, name));
            }
            let process = matches!(byte, b'<' | b'>');
            if is_metacharacter(byte) && !process {
                if byte == b'(' {
                    self.stray_parenthesis(simple.words.last());
                }
                break;
            }
            if simple.words.is_empty() {
                match self.assignment_or_word() {
                    Ok(Some(assignment)) => {
                        simple.assignments.push(assignment);
                        end = self.pos;
                        continue;
                    }
                    Ok(None) => {}
                    Err(word) => {
                        simple.words.push(word);
                        end = self.pos;
                        continue;
                    }
                }
                if byte == b'=' && self.nth(1).is_some_and(starts_name) {
                    self.gap(GapCause::OtherShell("=name"), self.pos, self.pos + 1);
                }
            } else if declares && let Some(word) = self.array_operand() {
                simple.words.push(word);
                end = self.pos;
                continue;
            }
            let word = self.word();
            if word.parts.is_empty() {
                break;
            }
            end = self.pos;
            if simple.words.is_empty() {
                declares = matches!(word.parts.as_slice(),
                    [Part::Literal(name, _)] if DECLARATIONS.contains(&name.as_str()));
            }
            simple.words.push(word);
        }
        let nothing =
            simple.words.is_empty() && simple.assignments.is_empty() && redirections.is_empty();
        if nothing {
            return None;
        }
        let span = self.place_of(start, end);
        // Most commands of a long text are short; what their lists have to spare adds up.
        if simple.words.len() < 3 {
            simple.words.shrink_to_fit();
        }
        self.settle(&mut simple.words);
        self.settle_shared(&mut redirections);
        Some(Command { kind: CommandKind::Simple(simple), redirections, span })
    }

    /// A parenthesis behind a word: bash rejects it, zsh reads glob qualifiers.
    fn stray_parenthesis(&mut self, word: Option<&Word>) {
        let globs = word.is_some_and(|word| {
            word.parts.iter().any(|part| match part {
                Part::Literal(text, _) => text.contains(['*', '?', ']']),
                _ => false,
            })
        });
        if globs {
            self.foreign("glob qualifiers");
        } else {
            self.expected("a word");
        }
    }

    // Redirections.

    /// Reads every redirection that comes next.
    pub(super) fn redirections(&mut self) -> List<Redirection> {
        let mut redirections = List::new();
        loop {
            self.blanks();
            let Some(redirection) = self.redirection() else { return redirections };
            redirections.push(redirection);
        }
    }

    /// Reads a redirection; `None`, and nothing is read, where none comes next.
    fn redirection(&mut self) -> Option<Redirection> {
        let first = self.peek()?;
        let start = self.pos;
        let descriptor = match first {
            b'<' | b'>' | b'&' => None,
            b'0'..=b'9' | b'{' => {
                let descriptor = self.descriptor();
                if descriptor.is_none() || !matches!(self.peek(), Some(b'<' | b'>')) {
                    self.pos = start;
                    return None;
                }
                descriptor
            }
            _ => return None,
        };
        if self.dialect.strict && first == b'&' {
            return None;
        }
        let process = matches!(self.peek(), Some(b'<' | b'>')) && self.nth(1) == Some(b'(');
        let found =
            OPERATORS.iter().find(|(token, _)| !process && self.looking_at(token).is_some());
        let Some((token, operator)) = found else {
            self.pos = start;
            return None;
        };
        let (operator, key) = (*operator, self.pos);
        self.eat(token);
        let writes = matches!(operator, RedirectionOperator::Output | RedirectionOperator::Append);
        if writes && self.peek() == Some(b'!') {
            self.gap(GapCause::OtherShell(">!"), key, self.pos + 1);
        }
        self.blanks();
        if !token.ends_with('&') && self.at_descriptor() {
            self.expected("a word behind a redirection operator");
        }
        let word = self.needed_word("a word behind a redirection operator");
        let is_document = matches!(
            operator,
            RedirectionOperator::HereDocument | RedirectionOperator::HereDocumentTabs
        );
        let target = if is_document && !self.failed() {
            let (delimiter, quoted) = self.delimiter(&word);
            let tabs = operator == RedirectionOperator::HereDocumentTabs;
            let span = self.span(start);
            let document = self.here_document(Pending { key, delimiter, quoted, tabs });
            let target = RedirectionTarget::HereDocument(document);
            return Some(Redirection { descriptor, operator, target, span });
        } else {
            RedirectionTarget::Word(word)
        };
        Some(Redirection { descriptor, operator, target, span: self.span(start) })
    }

    /// Whether a descriptor and the operator it belongs to come next.
    fn at_descriptor(&mut self) -> bool {
        if !matches!(self.peek(), Some(b'0'..=b'9' | b'{')) {
            return false;
        }
        let start = self.pos;
        let found = self.descriptor().is_some()
            && matches!(self.peek(), Some(b'<' | b'>'))
            && self.nth(1) != Some(b'(');
        self.pos = start;
        found
    }

    /// Reads digits or `{name}`.
    fn descriptor(&mut self) -> Option<Descriptor> {
        if self.eat("{") {
            let name = self.name()?;
            return self.eat("}").then_some(Descriptor::Variable(name.to_string()));
        }
        let mut number = 0u32;
        while let Some(byte @ b'0'..=b'9') = self.peek() {
            number = number.saturating_mul(10).saturating_add(u32::from(byte - b'0'));
            self.pos += 1;
        }
        Some(Descriptor::Number(number))
    }

    /// The text of a here-document's delimiter and whether some of it was quoted. Expansions in it
    /// stand for themselves.
    fn delimiter(&self, word: &Word) -> (String, bool) {
        let mut text = String::new();
        let quoted = self.unquote(&word.parts, &mut text);
        (text, quoted)
    }

    /// Appends the text of parts without quotes; expansions stand for themselves.
    pub(super) fn unquote(&self, parts: &[Part], text: &mut String) -> bool {
        let mut quoted = false;
        for part in parts {
            match part {
                Part::Literal(value, _) => text.push_str(value),
                Part::Escaped(value, _)
                | Part::SingleQuoted(value, _)
                | Part::AnsiQuoted(value, _) => {
                    quoted = true;
                    text.push_str(value);
                }
                Part::DoubleQuoted(inner, _) | Part::LocaleQuoted(inner, _) => {
                    quoted = true;
                    self.unquote(inner, text);
                }
                Part::Parameter(..)
                | Part::CommandSubstitution(..)
                | Part::ProcessSubstitution(..)
                | Part::Arithmetic(..)
                | Part::ArrayAssignment(..) => text.push_str(self.source_of(part.span())),
            }
        }
        quoted
    }

    /// Reads a plain word that is an identifier and stands before a compound command, and gives the
    /// position behind it; nothing is read.
    pub(super) fn plain_name(&mut self) -> Option<(String, usize)> {
        self.peek();
        let start = self.pos;
        let mut name = String::new();
        while let Some(byte) = self.peek()
            && continues_name(byte)
        {
            name.push(char::from(byte));
            self.pos += 1;
        }
        let behind = self.pos;
        let whole = self.peek().is_none_or(is_metacharacter);
        self.pos = start;
        (whole && name.bytes().next().is_some_and(starts_name)).then_some((name, behind))
    }

    /// The text of a word that names something: a function, a variable of a loop. bash takes quotes
    /// and expansions in it for a part of the name, and then mostly for no name at all.
    pub(super) fn function_name(&mut self, word: &Word) -> String {
        if word.parts.iter().any(|part| !matches!(part, Part::Literal(..))) {
            let cause = crate::model::script::GapCause::NotModelled("quotes in a name");
            self.gap(cause, self.pos.saturating_sub(1), self.pos);
        }
        let mut name = String::new();
        self.unquote(&word.parts, &mut name);
        name
    }

    /// Reads a word; a fault where none comes next.
    pub(super) fn needed_word(&mut self, what: &str) -> Word {
        self.blanks();
        let word = self.unquoted(Stop::Meta);
        if word.parts.is_empty() {
            self.expected(what);
        }
        word
    }
}
