//! Conditional expressions (Bash manual 3.2.5.2 and 6.4).

use crate::model::script::{CommandKind, Condition, GapCause, Part, Word};

use super::reader::{Reader, Stop};

/// Letters of the unary operators.
const UNARY: &str = "abcdefghknoprstuvwxzGLNORS";

/// Binary operators that are words.
const BINARY: [&str; 13] =
    ["=", "==", "!=", "=~", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

impl Reader<'_> {
    /// Reads an expression behind `[[` and the `]]` that closes it.
    pub(super) fn conditional(&mut self, start: usize) -> CommandKind {
        let condition = self.or_condition();
        self.newlines();
        if !self.failed() && !self.eat_keyword("]]") {
            if self.peek().is_none() {
                self.open_bracket("[[", start);
            } else {
                self.expected("`]]`");
            }
        }
        CommandKind::Conditional(Box::new(condition))
    }

    fn or_condition(&mut self) -> Condition {
        let left = self.and_condition();
        self.newlines();
        if !self.eat("||") || !self.descend() {
            return left;
        }
        let right = self.or_condition();
        self.ascend();
        Condition::Or(Box::new(left), Box::new(right))
    }

    fn and_condition(&mut self) -> Condition {
        let left = self.term();
        self.newlines();
        if !self.eat("&&") || !self.descend() {
            return left;
        }
        let right = self.and_condition();
        self.ascend();
        Condition::And(Box::new(left), Box::new(right))
    }

    fn term(&mut self) -> Condition {
        self.newlines();
        let mut negated = false;
        while self.eat_keyword("!") {
            negated = !negated;
            self.newlines();
        }
        let condition = self.primary();
        if negated { Condition::Not(Box::new(condition)) } else { condition }
    }

    fn primary(&mut self) -> Condition {
        if self.peek() == Some(b'(') {
            let start = self.pos;
            if !self.descend() {
                return Condition::Word(self.empty_word());
            }
            self.pos += 1;
            let condition = self.or_condition();
            self.newlines();
            self.ascend();
            if !self.eat(")") {
                if self.peek().is_none() {
                    self.open_bracket("(", start);
                } else {
                    self.expected("`)`");
                }
            }
            return condition;
        }
        if matches!(self.keyword(), Some(("]]", _))) {
            self.expected("an expression");
            return Condition::Word(self.empty_word());
        }
        let word = self.needed_word("an expression");
        if let Some(text) = plain(&word)
            && let Some(letter) = text.strip_prefix('-')
            && letter.len() == 1
            && UNARY.contains(letter)
        {
            let operand = self.condition_operand(Stop::Meta);
            return Condition::Unary(text.to_owned(), operand);
        }
        self.blanks();
        match self.peek() {
            Some(b'<') => {
                self.pos += 1;
                let right = self.condition_operand(Stop::Meta);
                return Condition::Binary(word, "<".into(), right);
            }
            Some(b'>') => {
                self.pos += 1;
                let right = self.condition_operand(Stop::Meta);
                return Condition::Binary(word, ">".into(), right);
            }
            Some(b'\n') => {
                let cause = GapCause::Syntax("expected a binary operator".into());
                self.gap(cause, self.pos, self.pos + 1);
                return Condition::Word(word);
            }
            None | Some(b')' | b'&' | b'|') => return Condition::Word(word),
            Some(_) => {}
        }
        if matches!(self.keyword(), Some(("]]", _))) {
            return Condition::Word(word);
        }
        let found = BINARY.into_iter().find(|operator| {
            self.looking_at(operator).is_some_and(|behind| self.ends_word(behind))
        });
        let Some(operator) = found else {
            self.expected("a binary operator");
            return Condition::Word(word);
        };
        self.eat(operator);
        let stop = match operator {
            "=~" => Stop::Regex,
            "=" | "==" | "!=" => Stop::Pattern,
            _ => Stop::Meta,
        };
        let right = self.condition_operand(stop);
        Condition::Binary(word, operator.into(), right)
    }

    fn condition_operand(&mut self, stop: Stop) -> Word {
        self.blanks();
        if matches!(self.keyword(), Some(("]]", _))) {
            self.expected("an operand");
            return self.empty_word();
        }
        let word = self.unquoted(stop);
        if word.parts.is_empty() {
            self.expected("an operand");
        }
        word
    }
}

/// The text of a word that is plain text.
fn plain(word: &Word) -> Option<&str> {
    match word.parts.as_slice() {
        [Part::Literal(text, _)] => Some(text),
        _ => None,
    }
}
