//! env: its split string, its directory, assignments and the command (GNU coreutils manual, "env
//! invocation").

use std::collections::VecDeque;

use crate::model::trace::{Carried, Doubt, OptionUse, Reading};
use crate::model::utility::CarryScope;
use crate::model::value::{Arity, Field, Piece, Text, Truth, Unknown};
use crate::resolve::carry::assignment;
use crate::resolve::grammar::Scene;
use crate::resolve::read::part;

/// The most split strings that are opened; each may hold the next.
const SPLITS: usize = 16;

/// Long options: name, whether a value is needed, whether one may be attached.
const LONG: &[(&str, &str, Takes)] = &[
    ("--argv0", "-a", Takes::Value),
    ("--block-signal", "--block-signal", Takes::Attached),
    ("--chdir", "-C", Takes::Value),
    ("--debug", "-v", Takes::Nothing),
    ("--default-signal", "--default-signal", Takes::Attached),
    ("--help", "--help", Takes::Nothing),
    ("--ignore-environment", "-i", Takes::Nothing),
    ("--ignore-signal", "--ignore-signal", Takes::Attached),
    ("--list-signal-handling", "--list-signal-handling", Takes::Nothing),
    ("--null", "-0", Takes::Nothing),
    ("--split-string", "-S", Takes::Value),
    ("--unset", "-u", Takes::Value),
    ("--version", "--version", Takes::Nothing),
];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Attached,
    Value,
}

/// Replaces what the tables read, since a split string brings further words and options.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let mut env = Env {
        scene,
        words: scene.fields.iter().cloned().collect(),
        reading: Reading::default(),
        directory: None,
        splits: 0,
    };
    env.options();
    let mut assignments = Vec::new();
    while let Some(found) = env.words.front().and_then(assignment) {
        assignments.push(found);
        env.words.pop_front();
    }
    let words: Vec<Field> = env.words.into();
    carried.clear();
    if !words.is_empty() {
        carried.push(Carried::Command {
            words,
            assignments,
            scope: CarryScope::Local,
            directory: env.directory,
            takes_input: true,
            skips_functions: true,
        });
    }
    *reading = env.reading;
}

struct Env<'a> {
    scene: &'a Scene<'a>,
    words: VecDeque<Field>,
    reading: Reading,
    directory: Option<Text>,
    splits: usize,
}

impl Env<'_> {
    fn options(&mut self) {
        while let Some(field) = self.words.front().cloned() {
            let prefix = field.text.prefix();
            if prefix.is_empty() && field.text.has_unknown() {
                self.reading.doubts.push(Doubt::Word(field.site));
                return;
            }
            if !prefix.starts_with('-') {
                return;
            }
            self.words.pop_front();
            match field.exact() {
                Some("-") => {
                    self.record("-i", None, &field);
                    return;
                }
                Some("--") => return,
                _ if prefix.starts_with("--") => self.long(&field),
                _ => self.cluster(&field),
            }
        }
    }

    fn long(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        let (name, attached) = match prefix.split_once('=') {
            Some((name, _)) => (name, Some(part(field, name.len() + 1))),
            None => (prefix, None),
        };
        let mut fitting = LONG.iter().filter(|(long, ..)| long.starts_with(name));
        let exact = LONG.iter().find(|(long, ..)| *long == name);
        let found = match (exact, fitting.next(), fitting.next()) {
            (Some(found), ..) | (None, Some(found), None) => found,
            (None, None, _) => {
                self.reading.doubts.push(Doubt::Option(name.into(), field.site));
                return;
            }
            _ => {
                self.reading.doubts.push(Doubt::Ambiguous(name.into(), field.site));
                return;
            }
        };
        let (_, short, takes) = *found;
        self.take(short, takes, attached, field);
    }

    fn cluster(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        for (at, letter) in prefix.char_indices().skip(1) {
            let (name, takes) = match letter {
                'i' => ("-i", Takes::Nothing),
                '0' => ("-0", Takes::Nothing),
                'v' => ("-v", Takes::Nothing),
                'u' => ("-u", Takes::Value),
                'C' => ("-C", Takes::Value),
                'S' => ("-S", Takes::Value),
                'a' => ("-a", Takes::Value),
                // BSD: a search path and a user.
                'P' => ("-P", Takes::Value),
                'U' => ("-U", Takes::Value),
                other => {
                    self.reading.doubts.push(Doubt::Option(format!("-{other}").into(), field.site));
                    return;
                }
            };
            if takes == Takes::Value {
                let rest = part(field, at + letter.len_utf8());
                let attached = if rest.text.is_empty() { None } else { Some(rest) };
                self.take(name, takes, attached, field);
                return;
            }
            self.record(name, None, field);
        }
        if !field.text.is_exact() {
            self.reading.doubts.push(Doubt::Word(field.site));
        }
    }

    fn take(&mut self, name: &str, takes: Takes, attached: Option<Field>, field: &Field) {
        let value = match takes {
            Takes::Nothing => None,
            Takes::Attached => attached,
            Takes::Value => attached.or_else(|| self.words.pop_front()),
        };
        if takes == Takes::Value && value.is_none() {
            self.reading.doubts.push(Doubt::Value(name.into(), field.site));
        }
        match (name, &value) {
            ("-C", Some(value)) => self.directory = Some(value.text.clone()),
            ("-S", Some(value)) if self.splits < SPLITS => {
                self.splits += 1;
                for word in self.split(value).into_iter().rev() {
                    self.words.push_front(word);
                }
            }
            ("-S", Some(value)) => {
                self.reading.doubts.push(Doubt::Word(value.site));
            }
            _ => {}
        }
        self.record(name, value, field);
    }

    fn record(&mut self, name: &str, value: Option<Field>, field: &Field) {
        self.reading.options.push(OptionUse {
            name: name.into(),
            spelled: name.into(),
            value,
            site: field.site,
            certain: Truth::Yes,
            depth: usize::MAX,
        });
    }

    /// The words of a split string: blanks separate, quotes group, backslashes escape, `${NAME}` is
    /// a variable of the environment, `#` at the start of a word ends it all.
    fn split(&self, field: &Field) -> Vec<Field> {
        let mut words = Words { site: field, done: Vec::new(), word: None, sure: false };
        let mut quote: Option<char> = None;
        for piece in field.text.pieces() {
            let Piece::Literal(literal) = piece else {
                words.piece(piece.clone());
                continue;
            };
            let mut characters = literal.chars().peekable();
            while let Some(character) = characters.next() {
                match (quote, character) {
                    (Some(open), _) if open == character => quote = None,
                    (Some('\''), '\\') => match characters.next_if(|c| matches!(c, '\\' | '\'')) {
                        Some(escaped) => words.add(escaped),
                        None => words.add('\\'),
                    },
                    (Some('\''), other) => words.add(other),
                    (None, '\'' | '"') => {
                        quote = Some(character);
                        words.open();
                    }
                    (None, ' ' | '\t' | '\n' | '\r' | '\u{b}' | '\u{c}') => words.close(),
                    (None, '#') if words.word.is_none() => return words.done,
                    (_, '\\') => match characters.next() {
                        Some('c') if quote.is_none() => {
                            words.close();
                            return words.done;
                        }
                        Some('_') if quote.is_none() => words.close(),
                        Some('_') => words.add(' '),
                        Some('f') => words.add('\u{c}'),
                        Some('n') => words.add('\n'),
                        Some('r') => words.add('\r'),
                        Some('t') => words.add('\t'),
                        Some('v') => words.add('\u{b}'),
                        Some(other) => words.add(other),
                        None => {}
                    },
                    (_, '$') if characters.peek() == Some(&'{') => {
                        characters.next();
                        let mut name = String::new();
                        for letter in characters.by_ref() {
                            if letter == '}' {
                                break;
                            }
                            name.push(letter);
                        }
                        match self.scene.surroundings.variable(&name) {
                            Some(value) => words.text(value),
                            None => words.piece(Piece::Unknown(Unknown::Parameter(name.into()))),
                        }
                    }
                    (_, other) => words.add(other),
                }
            }
        }
        words.close();
        words.done
    }
}

struct Words<'a> {
    site: &'a Field,
    done: Vec<Field>,
    word: Option<Text>,
    /// Whether there is a word at all: a variable that is not set makes none.
    sure: bool,
}

impl Words<'_> {
    fn open(&mut self) {
        self.sure = true;
        self.word.get_or_insert_default();
    }

    fn add(&mut self, character: char) {
        self.sure = true;
        self.word.get_or_insert_default().push_str(character.encode_utf8(&mut [0; 4]));
    }

    fn piece(&mut self, piece: Piece) {
        self.word.get_or_insert_default().push(piece);
    }

    fn text(&mut self, text: &Text) {
        self.sure = true;
        self.word.get_or_insert_default().extend(text);
    }

    fn close(&mut self) {
        if let Some(text) = self.word.take() {
            self.done.push(Field {
                text,
                arity: if self.sure { Arity::One } else { Arity::Many },
                site: self.site.site,
                quoted: self.site.quoted,
            });
        }
        self.sure = false;
    }
}
