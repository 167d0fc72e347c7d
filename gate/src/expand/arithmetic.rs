//! Arithmetic expansion (POSIX.1-2024 XCU 2.6.4; Bash manual 6.5).
//!
//! bash evaluates the value of a variable as an expression again, and a subscript in it may run
//! commands: such text, and text that is not known, is reported to the [`super::Environ`].

use super::parameter::{self, Key, State};
use super::{Effect, Expander, is_number};
use crate::model::script::LimitKind;
use crate::model::span::Span;
use crate::model::value::{Piece, Text, Unknown, Value};

/// Levels of brackets, operators and values inside each other.
pub(super) const DEPTH: usize = 64;

/// The value as a text.
pub(super) fn result(number: Option<i64>) -> Text {
    match number {
        Some(number) => Text::literal(number.to_string()),
        None => Text::unknown(Unknown::Arithmetic),
    }
}

/// Evaluates expanded text; `None` where the value is not known or the expression is in error.
pub(super) fn evaluate(expander: &mut Expander, text: &Text, span: Span) -> Option<i64> {
    let mut machine = Machine { expander, span, depth: 0 };
    let outcome = machine.evaluate(text, true);
    if outcome.is_err() || !text.is_exact() {
        expander.fails();
    }
    outcome.ok().flatten()
}

/// The expression is in error, which ends the command in bash.
struct Fault;

type Outcome = Result<Option<i64>, Fault>;

/// A character of the expression, or any characters.
#[derive(Clone, Debug)]
enum Unit {
    Char(char),
    Unknown(Unknown),
}

#[derive(Clone, Debug)]
enum Token {
    Number(i64),
    Name(String),
    /// A name and its subscript.
    Element(String, Text),
    Operator(&'static str),
    Unknown,
}

/// Operators, longest first.
const OPERATORS: [&str; 38] = [
    "<<=", ">>=", "**", "++", "--", "<<", ">>", "<=", ">=", "==", "!=", "&&", "||", "+=", "-=",
    "*=", "/=", "%=", "&=", "^=", "|=", "+", "-", "*", "/", "%", "<", ">", "=", "!", "~", "&", "^",
    "|", "?", ":", ",", "(",
];

struct Machine<'m, 'e> {
    expander: &'m mut Expander<'e>,
    span: Span,
    depth: usize,
}

struct Cursor {
    tokens: Vec<Token>,
    at: usize,
}

impl Cursor {
    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at)
    }

    fn operator(&self) -> &'static str {
        self.operator_at(self.at)
    }

    fn operator_at(&self, at: usize) -> &'static str {
        match self.tokens.get(at) {
            Some(Token::Operator(operator)) => operator,
            _ => "",
        }
    }

    fn take(&mut self, operator: &str) -> bool {
        let taken = self.operator() == operator;
        self.at += usize::from(taken);
        taken
    }
}

/// Where a value is stored.
struct Place {
    name: String,
    subscript: Option<Text>,
}

impl Machine<'_, '_> {
    fn evaluate(&mut self, text: &Text, outermost: bool) -> Outcome {
        if self.depth >= DEPTH {
            self.expander.note(LimitKind::Depth);
            return Ok(None);
        }
        let runs_code = |text: &str| text.contains('[') && text.contains(['$', '`']);
        if self.expander.effect != Effect::Dry {
            if let Some(exact) = text.exact()
                && runs_code(exact)
            {
                self.expander.environ.evaluate(Some(exact), Unknown::Arithmetic, self.span);
                return Ok(None);
            }
            let mut last = None;
            for piece in text.pieces() {
                if let Piece::Unknown(cause) = piece
                    && !is_number(cause)
                    && last != Some(cause)
                {
                    last = Some(cause);
                    self.expander.environ.evaluate(None, cause.clone(), self.span);
                }
                if let Piece::Literal(known) = piece
                    && runs_code(known)
                {
                    self.expander.environ.evaluate(Some(known), Unknown::Arithmetic, self.span);
                }
            }
        }
        let mut units = Vec::new();
        for piece in text.pieces() {
            match piece {
                Piece::Literal(text) => units.extend(
                    text.chars().filter(|char| !(outermost && *char == '"')).map(Unit::Char),
                ),
                Piece::Unknown(cause) => units.push(Unit::Unknown(cause.clone())),
                Piece::Glob(_) => units.push(Unit::Unknown(Unknown::Item)),
            }
        }
        let mut cursor = Cursor { tokens: self.tokens(&units)?, at: 0 };
        if cursor.tokens.is_empty() {
            return Ok(Some(0));
        }
        self.depth += 1;
        let value = self.comma(&mut cursor);
        self.depth -= 1;
        let value = value?;
        if cursor.at < cursor.tokens.len() { Err(Fault) } else { Ok(value) }
    }

    fn tokens(&mut self, units: &[Unit]) -> Result<Vec<Token>, Fault> {
        let mut tokens = Vec::new();
        let mut at = 0;
        while let Some(unit) = units.get(at) {
            match unit {
                Unit::Char(' ' | '\t' | '\n' | '\r') => at += 1,
                Unit::Char(')') => {
                    tokens.push(Token::Operator(")"));
                    at += 1;
                }
                Unit::Char(char) if is_word(*char) => {
                    let end = end_of_word(units, at);
                    let word: Option<String> = units
                        .get(at..end)
                        .unwrap_or_default()
                        .iter()
                        .map(|unit| match unit {
                            Unit::Char(char) => Some(*char),
                            Unit::Unknown(_) => None,
                        })
                        .collect();
                    at = end;
                    match word {
                        None => {
                            // A name that is computed may be any variable of the environment.
                            if !char.is_ascii_digit() && self.expander.effect != Effect::Dry {
                                let cause = Unknown::NotModelled("a computed name");
                                self.expander.environ.evaluate(None, cause, self.span);
                            }
                            tokens.push(Token::Unknown);
                        }
                        Some(word) if char.is_ascii_digit() => {
                            tokens.push(Token::Number(number(&word).ok_or(Fault)?));
                        }
                        Some(word) => {
                            if let Some(Unit::Char('[')) = units.get(at) {
                                let close = subscript_end(units, at).ok_or(Fault)?;
                                let inner = units.get(at + 1..close).unwrap_or_default();
                                tokens.push(Token::Element(word, text_of(inner)));
                                at = close + 1;
                            } else {
                                tokens.push(Token::Name(word));
                            }
                        }
                    }
                }
                Unit::Unknown(_) => {
                    tokens.push(Token::Unknown);
                    at = end_of_word(units, at);
                }
                Unit::Char(_) => {
                    let operator = OPERATORS
                        .iter()
                        .find(|operator| {
                            operator.chars().enumerate().all(|(offset, wanted)| {
                                matches!(units.get(at + offset), Some(Unit::Char(c)) if *c == wanted)
                            })
                        })
                        .ok_or(Fault)?;
                    tokens.push(Token::Operator(operator));
                    at += operator.len();
                }
            }
        }
        Ok(tokens)
    }

    fn deeper(&mut self, run: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        if self.depth >= DEPTH {
            self.expander.note(LimitKind::Depth);
            return Err(Fault);
        }
        self.depth += 1;
        let value = run(self);
        self.depth -= 1;
        value
    }

    /// Runs with an effect that is at most `effect`.
    fn only(&mut self, effect: Effect, run: impl FnOnce(&mut Self) -> Outcome) -> Outcome {
        let outer = self.expander.effect;
        self.expander.effect = match (outer, effect) {
            (Effect::Dry, _) | (_, Effect::Dry) => Effect::Dry,
            (Effect::Maybe, _) | (_, Effect::Maybe) => Effect::Maybe,
            _ => Effect::Live,
        };
        let value = run(self);
        self.expander.effect = outer;
        value
    }

    fn comma(&mut self, cursor: &mut Cursor) -> Outcome {
        let mut value = self.assignment(cursor)?;
        while cursor.take(",") {
            value = self.assignment(cursor)?;
        }
        Ok(value)
    }

    fn assignment(&mut self, cursor: &mut Cursor) -> Outcome {
        self.deeper(|machine| {
            let operator = cursor.operator_at(cursor.at + 1);
            let assigns = matches!(
                operator,
                "=" | "+=" | "-=" | "*=" | "/=" | "%=" | "<<=" | ">>=" | "&=" | "^=" | "|="
            );
            if !assigns {
                return machine.ternary(cursor);
            }
            if let Some(Token::Unknown) = cursor.peek() {
                cursor.at += 2;
                machine.assignment(cursor)?;
                return Ok(None);
            }
            let place = machine.place(cursor)?.ok_or(Fault)?;
            cursor.at += 1;
            let old = if operator == "=" { None } else { machine.load(&place)? };
            let right = machine.assignment(cursor)?;
            let value = match operator.strip_suffix('=') {
                Some("") | None => right,
                Some(operation) => machine.apply(operation, old, right)?,
            };
            machine.store(&place, value);
            Ok(value)
        })
    }

    fn ternary(&mut self, cursor: &mut Cursor) -> Outcome {
        let condition = self.binary(cursor, 0)?;
        if !cursor.take("?") {
            return Ok(condition);
        }
        let (yes, no) = match condition {
            Some(0) => (Effect::Dry, Effect::Live),
            Some(_) => (Effect::Live, Effect::Dry),
            None => (Effect::Maybe, Effect::Maybe),
        };
        let left = self.only(yes, |machine| machine.comma(cursor))?;
        if !cursor.take(":") {
            return Err(Fault);
        }
        let right = self.only(no, |machine| machine.deeper(|machine| machine.ternary(cursor)))?;
        Ok(match condition {
            Some(0) => right,
            Some(_) => left,
            None if left == right => left,
            None => None,
        })
    }

    fn binary(&mut self, cursor: &mut Cursor, lowest: u8) -> Outcome {
        let mut left = self.power(cursor)?;
        loop {
            let operator = cursor.operator();
            let Some(level) = precedence(operator).filter(|level| *level >= lowest) else {
                return Ok(left);
            };
            cursor.at += 1;
            let effect = match (operator, left) {
                ("&&", Some(0)) => Effect::Dry,
                ("||", Some(value)) if value != 0 => Effect::Dry,
                ("&&" | "||", None) => Effect::Maybe,
                _ => Effect::Live,
            };
            let right = self.only(effect, |machine| machine.binary(cursor, level + 1))?;
            left = self.apply(operator, left, right)?;
        }
    }

    fn power(&mut self, cursor: &mut Cursor) -> Outcome {
        let base = self.unary(cursor)?;
        if !cursor.take("**") {
            return Ok(base);
        }
        let exponent = self.deeper(|machine| machine.power(cursor))?;
        self.apply("**", base, exponent)
    }

    fn unary(&mut self, cursor: &mut Cursor) -> Outcome {
        self.deeper(|machine| {
            let operator = cursor.operator();
            match operator {
                "!" | "~" | "+" | "-" => {
                    cursor.at += 1;
                    let value = machine.unary(cursor)?;
                    Ok(value.map(|value| match operator {
                        "!" => i64::from(value == 0),
                        "~" => !value,
                        "-" => value.wrapping_neg(),
                        _ => value,
                    }))
                }
                "++" | "--" => {
                    cursor.at += 1;
                    let change = if operator == "++" { 1 } else { -1 };
                    if let Some(place) = machine.place(cursor)? {
                        let value = machine.load(&place)?.map(|old| old.wrapping_add(change));
                        machine.store(&place, value);
                        return Ok(value);
                    }
                    // Before anything but a name it is the sign twice, which changes nothing.
                    machine.unary(cursor)
                }
                _ => machine.primary(cursor),
            }
        })
    }

    fn primary(&mut self, cursor: &mut Cursor) -> Outcome {
        match cursor.peek() {
            Some(Token::Number(number)) => {
                let number = *number;
                cursor.at += 1;
                Ok(Some(number))
            }
            Some(Token::Unknown) => {
                cursor.at += 1;
                Ok(None)
            }
            Some(Token::Operator("(")) => {
                cursor.at += 1;
                let value = self.comma(cursor)?;
                if cursor.take(")") { Ok(value) } else { Err(Fault) }
            }
            Some(Token::Name(_) | Token::Element(..)) => {
                let place = self.place(cursor)?.ok_or(Fault)?;
                let value = self.load(&place)?;
                let change = match cursor.operator() {
                    "++" => 1,
                    "--" => -1,
                    _ => return Ok(value),
                };
                cursor.at += 1;
                self.store(&place, value.map(|value| value.wrapping_add(change)));
                Ok(value)
            }
            _ => Err(Fault),
        }
    }

    /// Takes a name, its subscript evaluated.
    fn place(&mut self, cursor: &mut Cursor) -> Result<Option<Place>, Fault> {
        match cursor.peek().cloned() {
            Some(Token::Name(name)) => {
                cursor.at += 1;
                Ok(Some(Place { name, subscript: None }))
            }
            Some(Token::Element(name, subscript)) => {
                cursor.at += 1;
                let value = self.expander.lookup(&name);
                let subscript = if matches!(value, Value::Associative { .. }) {
                    subscript
                } else {
                    result(self.evaluate(&subscript, false)?)
                };
                Ok(Some(Place { name, subscript: Some(subscript) }))
            }
            _ => Ok(None),
        }
    }

    fn load(&mut self, place: &Place) -> Outcome {
        if self.expander.effect == Effect::Dry {
            return Ok(None);
        }
        let value = self.expander.lookup(&place.name);
        let key = match &place.subscript {
            None => parameter::first_key(&value),
            Some(text) if matches!(value, Value::Associative { .. }) => Key::Name(text.clone()),
            Some(text) => match text.exact().and_then(|text| text.parse().ok()) {
                Some(index) => Key::Index(index),
                None => Key::Unknown,
            },
        };
        match parameter::element(&value, &key) {
            State::Unset => Ok(Some(0)),
            State::Known(text) => {
                if let Some(number) = text.exact().and_then(number) {
                    return Ok(Some(number));
                }
                self.evaluate(&text, false)
            }
            State::Unknown(cause) => {
                if !is_number(&cause) {
                    self.expander.environ.evaluate(None, cause, self.span);
                }
                Ok(None)
            }
        }
    }

    fn store(&mut self, place: &Place, value: Option<i64>) {
        if self.expander.effect == Effect::Maybe {
            let unknown = Text::unknown(Unknown::Arithmetic);
            self.expander.environ.assign(&place.name, place.subscript.as_ref(), unknown);
        } else {
            self.expander.assign(&place.name, place.subscript.as_ref(), result(value));
        }
    }

    fn apply(&self, operator: &str, left: Option<i64>, right: Option<i64>) -> Outcome {
        match (operator, left, right) {
            ("&&", Some(0), _) | ("&&", _, Some(0)) => return Ok(Some(0)),
            ("||", Some(value), _) | ("||", _, Some(value)) if value != 0 => return Ok(Some(1)),
            ("*", Some(0), _) | ("*", _, Some(0)) => return Ok(Some(0)),
            _ => {}
        }
        let (Some(left), Some(right)) = (left, right) else { return Ok(None) };
        // What is not evaluated in bash cannot be in error either.
        let dry = self.expander.effect == Effect::Dry;
        let shift = u32::try_from(right).ok().filter(|shift| *shift < 64);
        let value = match operator {
            "**" if right < 0 => return if dry { Ok(None) } else { Err(Fault) },
            "**" => power(left, right),
            "*" => left.wrapping_mul(right),
            "/" | "%" if right == 0 => return if dry { Ok(None) } else { Err(Fault) },
            "/" => left.wrapping_div(right),
            "%" => left.wrapping_rem(right),
            "+" => left.wrapping_add(right),
            "-" => left.wrapping_sub(right),
            // The processor decides what a shift by 64 and more gives.
            "<<" | ">>" if shift.is_none() => return Ok(None),
            "<<" => left.wrapping_shl(shift.unwrap_or_default()),
            ">>" => left.wrapping_shr(shift.unwrap_or_default()),
            "<=" => i64::from(left <= right),
            ">=" => i64::from(left >= right),
            "<" => i64::from(left < right),
            ">" => i64::from(left > right),
            "==" => i64::from(left == right),
            "!=" => i64::from(left != right),
            "&" => left & right,
            "^" => left ^ right,
            "|" => left | right,
            "&&" => i64::from(left != 0 && right != 0),
            "||" => i64::from(left != 0 || right != 0),
            _ => return Err(Fault),
        };
        Ok(Some(value))
    }
}

fn precedence(operator: &str) -> Option<u8> {
    Some(match operator {
        "||" => 0,
        "&&" => 1,
        "|" => 2,
        "^" => 3,
        "&" => 4,
        "==" | "!=" => 5,
        "<" | ">" | "<=" | ">=" => 6,
        "<<" | ">>" => 7,
        "+" | "-" => 8,
        "*" | "/" | "%" => 9,
        _ => return None,
    })
}

fn power(base: i64, exponent: i64) -> i64 {
    let (mut base, mut exponent, mut value) = (base, exponent, 1_i64);
    while exponent > 0 {
        if exponent & 1 == 1 {
            value = value.wrapping_mul(base);
        }
        base = base.wrapping_mul(base);
        exponent >>= 1;
    }
    value
}

/// A constant: decimal, `0` octal, `0x` hexadecimal, `base#digits`.
fn number(text: &str) -> Option<i64> {
    let (base, digits) = if let Some((base, digits)) = text.split_once('#') {
        (base.parse::<i64>().ok().filter(|base| (2..=64).contains(base))?, digits)
    } else if let Some(digits) = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X")) {
        (16, digits)
    } else if text.len() > 1 && text.starts_with('0') {
        (8, text)
    } else {
        (10, text)
    };
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0_i64, |value, char| {
        let digit = match char {
            '0'..='9' => i64::from(u32::from(char) - u32::from('0')),
            'a'..='z' => i64::from(u32::from(char) - u32::from('a')) + 10,
            'A'..='Z' if base <= 36 => i64::from(u32::from(char) - u32::from('A')) + 10,
            'A'..='Z' => i64::from(u32::from(char) - u32::from('A')) + 36,
            '@' => 62,
            '_' => 63,
            _ => return None,
        };
        (digit < base).then(|| value.wrapping_mul(base).wrapping_add(digit))
    })
}

fn is_word(char: char) -> bool {
    char.is_ascii_alphanumeric() || char == '_'
}

/// One past the characters of a word that begins at `at`, unknown pieces in it included.
fn end_of_word(units: &[Unit], at: usize) -> usize {
    let number = matches!(units.get(at), Some(Unit::Char(char)) if char.is_ascii_digit());
    let length = units
        .iter()
        .skip(at)
        .take_while(|unit| match unit {
            Unit::Char(char) => is_word(*char) || (number && matches!(char, '#' | '@')),
            Unit::Unknown(_) => true,
        })
        .count();
    at + length
}

fn subscript_end(units: &[Unit], at: usize) -> Option<usize> {
    let mut depth = 0_usize;
    for (offset, unit) in units.iter().enumerate().skip(at) {
        match unit {
            Unit::Char('[') => depth += 1,
            Unit::Char(']') => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(offset);
                }
            }
            _ => {}
        }
    }
    None
}

fn text_of(units: &[Unit]) -> Text {
    units
        .iter()
        .map(|unit| match unit {
            Unit::Char(char) => Piece::Literal(char.to_string().into()),
            Unit::Unknown(cause) => Piece::Unknown(cause.clone()),
        })
        .collect()
}
