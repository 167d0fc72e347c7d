//! Compound commands and functions (POSIX.1-2024 XCU 2.9.4, 2.9.5; Bash manual 3.2.5, 3.3).

use std::sync::Arc;

use crate::model::script::{CaseArm, CaseEnd, Command, CommandKind, Script, Word};
use crate::model::value::List;

use super::reader::{Quoted, Reader, Until};
use super::word::is_metacharacter;

/// Reserved words that begin a compound command.
const OPENERS: [&str; 9] = ["if", "while", "until", "for", "select", "case", "{", "[[", "function"];

impl Reader<'_> {
    /// Reads a command with its redirections; `None` where none comes next.
    pub(super) fn command(&mut self) -> Option<Command> {
        self.blanks();
        let start = self.pos;
        if self.peek() == Some(b'(') {
            return Some(self.compound(start, "("));
        }
        match self.keyword() {
            Some((word, _)) if OPENERS.contains(&word) => Some(self.compound(start, word)),
            Some(("coproc", behind)) => Some(self.coprocess(start, behind)),
            // Behind a pipe it is the name of a program.
            Some(("time", _)) | None => self.simple_command(),
            Some(_) => None,
        }
    }

    /// Reads a compound command that begins with `opener`.
    fn compound(&mut self, start: usize, opener: &'static str) -> Command {
        if !self.descend() {
            let kind = CommandKind::Group(Script::default());
            return Command { kind, redirections: List::new(), span: self.span(start) };
        }
        self.eat(opener);
        let kind = match opener {
            "(" => self.parenthesis(start),
            "{" => {
                let body = self.closed_list(start, "{", "}");
                CommandKind::Group(body)
            }
            "[[" => self.conditional(start),
            "if" => self.if_command(start),
            "while" | "until" => {
                let condition = self.list_to(start, opener, &["do"], true);
                self.close(start, opener, "do");
                let body = self.closed_list(start, opener, "done");
                CommandKind::Loop { until: opener == "until", condition, body }
            }
            "case" => self.case_command(start),
            "function" => {
                let command = self.function_command(start);
                self.ascend();
                return command;
            }
            _ => self.for_command(start, opener),
        };
        self.ascend();
        let end = self.pos;
        let redirections = self.redirections();
        let span = redirections
            .last()
            .map_or(self.place_of(start, end), |last| self.place_of(start, end).to(last.span));
        Command { kind, redirections, span }
    }

    /// Reads a list up to one of some words; an empty one is a fault where it must not be.
    fn list_to(
        &mut self,
        start: usize,
        opener: &'static str,
        words: &'static [&'static str],
        needed: bool,
    ) -> Script {
        let script = self.list(Until::Words(words));
        if self.failed() {
            return script;
        }
        if self.peek().is_none() {
            self.open_bracket(opener, start);
        } else if needed && script.items.is_empty() {
            self.expected("a command");
        }
        script
    }

    /// Steps over the word that closes or continues what `opener` began.
    fn close(&mut self, start: usize, opener: &'static str, word: &str) {
        if self.failed() || self.eat_keyword(word) {
            return;
        }
        if self.peek().is_none() {
            self.open_bracket(opener, start);
        } else {
            self.expected(&format!("`{word}`"));
        }
    }

    /// Reads a list and the word that closes it.
    fn closed_list(&mut self, start: usize, opener: &'static str, closer: &'static str) -> Script {
        let script = match closer {
            "}" => self.list_to(start, opener, &["}"], true),
            _ => self.list_to(start, opener, &["done"], true),
        };
        self.close(start, opener, closer);
        script
    }

    fn parenthesis(&mut self, start: usize) -> CommandKind {
        if self.peek() == Some(b'(')
            && !self.dialect.posix
            && let Some(word) = self.arithmetic(start)
        {
            return CommandKind::Arithmetic(Box::new(word));
        }
        let script = self.list(Until::Paren);
        if !self.failed() {
            if script.items.is_empty() && self.peek().is_some() {
                self.expected("a command");
            } else if !self.eat(")") {
                self.open_bracket("(", start);
            }
        }
        CommandKind::Subshell(script)
    }

    fn if_command(&mut self, start: usize) -> CommandKind {
        let mut arms = Vec::new();
        let mut otherwise = None;
        loop {
            let condition = self.list_to(start, "if", &["then"], true);
            self.close(start, "if", "then");
            let body = self.list_to(start, "if", &["elif", "else", "fi"], true);
            arms.push((condition, body));
            if self.failed() || !self.eat_keyword("elif") {
                break;
            }
        }
        if self.eat_keyword("else") {
            otherwise = Some(self.list_to(start, "if", &["fi"], true));
        }
        self.close(start, "if", "fi");
        CommandKind::If { arms, otherwise }
    }

    fn for_command(&mut self, start: usize, opener: &'static str) -> CommandKind {
        self.blanks();
        if opener == "for" && self.eat("((") {
            return self.arithmetic_for(start);
        }
        let word = self.needed_word("the name of a variable");
        let name = self.function_name(&word);
        self.blanks();
        let mut words = None;
        if self.peek() == Some(b';') {
            self.pos += 1;
        } else {
            self.newlines();
            if self.eat_keyword("in") {
                words = Some(self.words_of_loop());
                if self.peek() == Some(b';') {
                    self.pos += 1;
                }
            } else if self.peek() == Some(b'(') {
                self.foreign("`for name (words)`");
            }
        }
        self.newlines();
        let body = self.loop_body(start, opener);
        CommandKind::For { select: opener == "select", name, words, body: Box::new(body) }
    }

    fn words_of_loop(&mut self) -> Vec<Word> {
        let mut words = Vec::new();
        loop {
            self.blanks();
            let word = self.word();
            if word.parts.is_empty() {
                break;
            }
            words.push(word);
        }
        if !matches!(self.peek(), None | Some(b';' | b'\n')) {
            self.expected("a word, `;` or a line end");
        }
        words
    }

    fn loop_body(&mut self, start: usize, opener: &'static str) -> Script {
        if self.eat_keyword("{") {
            return self.closed_list(start, opener, "}");
        }
        self.close(start, opener, "do");
        self.closed_list(start, opener, "done")
    }

    fn arithmetic_for(&mut self, start: usize) -> CommandKind {
        let first = self.quoted(Quoted::Clause);
        let semicolon = self.eat(";");
        let second = self.quoted(Quoted::Clause);
        let semicolons = semicolon && self.eat(";");
        let third = self.quoted(Quoted::Paren);
        let closed = semicolons && self.eat("))");
        if !closed && !self.failed() {
            if self.peek().is_none() {
                self.open_quote("((", start);
            } else {
                self.expected("three expressions in `((` and `))`");
            }
        }
        self.blanks();
        if self.peek() == Some(b';') {
            self.pos += 1;
        }
        self.newlines();
        let body = self.loop_body(start, "for");
        CommandKind::ArithmeticFor {
            expressions: Box::new([first, second, third]),
            body: Box::new(body),
        }
    }

    fn case_command(&mut self, start: usize) -> CommandKind {
        let subject = self.needed_word("a word");
        self.newlines();
        self.close(start, "case", "in");
        let mut arms = Vec::new();
        loop {
            self.newlines();
            if self.failed() || self.eat_keyword("esac") {
                break;
            }
            if self.peek().is_none() {
                self.open_bracket("case", start);
                break;
            }
            arms.push(self.case_arm());
        }
        CommandKind::Case { subject: Box::new(subject), arms }
    }

    fn case_arm(&mut self) -> CaseArm {
        if self.peek() == Some(b'(') {
            self.pos += 1;
        }
        let mut patterns = vec![self.needed_word("a pattern")];
        self.blanks();
        while self.eat("|") {
            patterns.push(self.needed_word("a pattern"));
            self.blanks();
        }
        if !self.failed() && !self.eat(")") {
            self.expected("`)` behind a pattern");
        }
        let body = self.list(Until::Arm);
        let end = if self.eat(";;&") {
            CaseEnd::TestNext
        } else if self.eat(";&") {
            CaseEnd::FallThrough
        } else {
            self.eat(";;");
            CaseEnd::Break
        };
        CaseArm { patterns, body, end }
    }

    /// Reads a function behind `function`.
    fn function_command(&mut self, start: usize) -> Command {
        let word = self.needed_word("the name of a function");
        let name = self.function_name(&word);
        self.blanks();
        let before = self.pos;
        if self.eat("(") {
            self.blanks();
            if !self.eat(")") {
                self.pos = before;
            }
        }
        self.function_body(start, name)
    }

    /// Reads a function behind its name and `(`.
    pub(super) fn function_behind_name(&mut self, start: usize, name: String) -> Command {
        self.blanks();
        if !self.eat(")") {
            self.expected("`)`");
        }
        self.function_body(start, name)
    }

    fn function_body(&mut self, start: usize, name: String) -> Command {
        self.newlines();
        let is_compound = self.peek() == Some(b'(')
            || self
                .keyword()
                .is_some_and(|(word, _)| OPENERS.contains(&word) && word != "function");
        let at = self.pos;
        let body = if self.descend() {
            let body = self.command();
            self.ascend();
            body
        } else {
            None
        };
        let body = match body {
            Some(body) if is_compound => body,
            Some(body) => {
                let cause =
                    crate::model::script::GapCause::Syntax("expected a compound command".into());
                self.gap(cause, at, self.pos);
                body
            }
            None => {
                if self.peek().is_none() {
                    self.open_bracket("()", start);
                } else {
                    self.expected("a compound command");
                }
                let kind = CommandKind::Group(Script::default());
                Command { kind, redirections: List::new(), span: self.span(at) }
            }
        };
        let span = self.place_of(start, start + 1).to(body.span);
        let kind = CommandKind::Function { name, body: Arc::new(body) };
        Command { kind, redirections: List::new(), span }
    }

    fn coprocess(&mut self, start: usize, behind: usize) -> Command {
        let mut name = "COPROC".to_owned();
        let none = |reader: &Self| Command {
            kind: CommandKind::Group(Script::default()),
            redirections: List::new(),
            span: reader.span(start),
        };
        if !self.descend() {
            return none(self);
        }
        self.pos = behind;
        self.blanks();
        if self.keyword().is_none()
            && let Some((given, end)) = self.plain_name()
        {
            let before = self.pos;
            self.pos = end;
            self.blanks();
            let compound = self.peek() == Some(b'(')
                || self.keyword().is_some_and(|(word, _)| OPENERS.contains(&word));
            if compound {
                name = given;
            } else {
                self.pos = before;
            }
        }
        while let Some(("time" | "!", after)) = self.keyword() {
            self.pos = after;
            self.blanks();
        }
        let body = self.command().unwrap_or_else(|| {
            self.expected("a command");
            none(self)
        });
        self.ascend();
        let span = self.place_of(start, start + 1).to(body.span);
        let kind = CommandKind::Coprocess { name, body: Box::new(body) };
        Command { kind, redirections: List::new(), span }
    }

    /// Whether the word that comes next ends here.
    pub(super) fn ends_word(&self, at: usize) -> bool {
        self.byte(at).is_none_or(is_metacharacter)
    }
}
