//! What the grammars share: options of one program, texts cut at known characters, deeds.
//!
//! Grammars read the words behind the program's name on their own, so that they do not depend on
//! which options a table lists.

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, Deed, DeedObject, Doubt, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Arity, Field, Piece, Text, Truth, Unknown};

/// The options of a program: getopt letters (`a` takes nothing, `a:` a value, `a::` an attached
/// value) and long names, `=` at the end for a value and `==` for an attached one. A long name may
/// stand for a letter: `expression=>e`.
pub(super) struct Options {
    /// Letters as for getopt.
    pub(super) short: &'static str,
    /// Long names in the form above.
    pub(super) long: &'static [&'static str],
    /// Whether options may follow operands.
    pub(super) permute: bool,
}

/// An option that was met.
#[derive(Clone, Debug)]
pub(super) struct Given {
    /// The letter, or the long name where no letter stands for it.
    pub(super) name: String,
    /// Its value; the word is cut behind an attached option.
    pub(super) value: Option<Field>,
    /// The word.
    pub(super) site: Site,
}

/// Words sorted into options and operands.
#[derive(Clone, Debug, Default)]
pub(super) struct Sorted {
    /// Options in order.
    pub(super) options: Vec<Given>,
    /// Operands in order.
    pub(super) operands: Vec<Field>,
    /// Whether some word of unknown text may be an option.
    pub(super) doubtful: bool,
    /// Options in no list.
    pub(super) strange: Vec<Field>,
}

impl Sorted {
    /// Whether the option was given.
    pub(super) fn has(&self, name: &str) -> bool {
        self.options.iter().any(|given| given.name == name)
    }

    /// The values of all uses of an option in order.
    pub(super) fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Field> {
        self.options
            .iter()
            .filter(move |given| given.name == name)
            .filter_map(|given| given.value.as_ref())
    }

    /// The value of the last use of an option.
    pub(super) fn last(&self, name: &str) -> Option<&Field> {
        self.options.iter().rev().find(|given| given.name == name)?.value.as_ref()
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Takes {
    Nothing,
    Value,
    Attached,
}

impl Options {
    fn letter(&self, letter: char) -> Option<Takes> {
        let at = self.short.find(letter).filter(|_| letter != ':')?;
        let rest = self.short.get(at + letter.len_utf8()..).unwrap_or_default();
        Some(if rest.starts_with("::") {
            Takes::Attached
        } else if rest.starts_with(':') {
            Takes::Value
        } else {
            Takes::Nothing
        })
    }

    /// The canonical name and arity of a long option; a prefix counts where only one name has it.
    fn long(&self, spelled: &str) -> Option<(String, Takes)> {
        let mut found: Option<(&str, &str)> = None;
        let mut several = false;
        for entry in self.long {
            let (name, _) = entry.split_once('>').unwrap_or((entry, ""));
            let bare = name.trim_end_matches('=');
            if bare == spelled {
                found = Some((entry, name));
                several = false;
                break;
            }
            if !spelled.is_empty() && bare.starts_with(spelled) {
                several |= found.is_some();
                found = Some((entry, name));
            }
        }
        let (entry, name) = found.filter(|_| !several)?;
        let takes = if name.ends_with("==") {
            Takes::Attached
        } else if name.ends_with('=') {
            Takes::Value
        } else {
            Takes::Nothing
        };
        let letter = entry.split_once('>').map(|(_, letter)| letter);
        Some((letter.unwrap_or(name.trim_end_matches('=')).to_owned(), takes))
    }

    /// Sorts the words behind a program's name as `getopt_long` does.
    pub(super) fn sort(&self, words: &[Field]) -> Sorted {
        let mut out = Sorted::default();
        let mut words = words.iter().peekable();
        while let Some(word) = words.next() {
            let prefix = word.text.prefix();
            if word.exact() == Some("--") {
                out.operands.extend(words.cloned());
                break;
            }
            if let Some(long) = prefix.strip_prefix("--") {
                let (name, attached) = match long.split_once('=') {
                    Some((name, _)) => (name, after(word, name.len() + 3)),
                    None => (long, None),
                };
                let (name, value) = if let Some((name, takes)) = self.long(name) {
                    let takes_next = takes == Takes::Value && attached.is_none();
                    (name, if takes_next { words.next().cloned() } else { attached })
                } else {
                    out.strange.push(word.clone());
                    (name.to_owned(), attached)
                };
                out.options.push(Given { name, value, site: word.site });
            } else if prefix.len() > 1 && prefix.starts_with('-') {
                let mut at = 1;
                for letter in prefix.chars().skip(1) {
                    at += letter.len_utf8();
                    let takes = self.letter(letter);
                    if takes.is_none() {
                        out.strange.push(word.clone());
                    }
                    let value = match takes.unwrap_or(Takes::Nothing) {
                        Takes::Nothing => None,
                        Takes::Attached => Some(after(word, at)),
                        Takes::Value => {
                            let rest = after(word, at).filter(|rest| !rest.text.is_empty());
                            Some(rest.or_else(|| words.next().cloned()))
                        }
                    };
                    let ends = value.is_some();
                    out.options.push(Given {
                        name: letter.to_string(),
                        value: value.flatten(),
                        site: word.site,
                    });
                    if ends {
                        break;
                    }
                }
            } else {
                if prefix.is_empty() && word.text.has_unknown() {
                    out.doubtful = true;
                }
                out.operands.push(word.clone());
                if !self.permute {
                    out.operands.extend(words.cloned());
                    break;
                }
            }
        }
        out
    }
}

/// The characters of a text where no piece is unknown; patterns stand for themselves.
pub(super) fn known(text: &Text) -> Option<String> {
    (!text.has_unknown()).then(|| text.fill(""))
}

/// The word without its first `bytes`, which must be known.
pub(super) fn after(word: &Field, bytes: usize) -> Option<Field> {
    let rest = drop_bytes(&word.text, bytes)?;
    Some(Field { text: rest, ..word.clone() })
}

/// The text without its first `bytes`, which must be in its first piece.
pub(super) fn drop_bytes(text: &Text, bytes: usize) -> Option<Text> {
    let mut pieces = text.pieces().iter();
    if bytes == 0 {
        return Some(text.clone());
    }
    let Some(Piece::Literal(first)) = pieces.next() else { return None };
    let mut out = Text::literal(first.get(bytes..)?);
    pieces.for_each(|piece| out.push(piece.clone()));
    Some(out)
}

/// The known characters before the first `separator` and the text behind it, where the separator
/// stands before the first piece that is not known.
pub(super) fn split(text: &Text, separator: char) -> Option<(String, Text)> {
    let (before, _) = text.prefix().split_once(separator)?;
    Some((before.to_owned(), drop_bytes(text, before.len() + separator.len_utf8())?))
}

/// A text cut at each `separator` in its known pieces; at least one part.
pub(super) fn split_all(text: &Text, separator: char) -> Vec<Text> {
    let mut parts = Vec::new();
    let mut part = Text::empty();
    for piece in text.pieces() {
        if let Piece::Literal(literal) = piece {
            for (index, chunk) in literal.split(separator).enumerate() {
                if index > 0 {
                    parts.push(std::mem::take(&mut part));
                }
                part.push_str(chunk);
            }
        } else {
            part.push(piece.clone());
        }
    }
    parts.push(part);
    parts
}

/// A text in which `from` is replaced by `to` wherever it is known.
pub(super) fn replace(text: &Text, from: &str, to: &Text) -> Text {
    let mut out = Text::empty();
    for piece in text.pieces() {
        if let Piece::Literal(literal) = piece {
            for (index, chunk) in literal.split(from).enumerate() {
                if index > 0 {
                    out.extend(to);
                }
                out.push_str(chunk);
            }
        } else {
            out.push(piece.clone());
        }
    }
    out
}

/// Words of shell text that needs no shell: known characters split at blanks, quotes removed.
/// `None` where a character has a meaning that only the shell can give it.
pub(super) fn plain_words(text: &Text, site: Site) -> Option<Vec<Field>> {
    let mut words = Vec::new();
    let mut word: Option<Text> = None;
    let mut quote = None;
    for piece in text.pieces() {
        let Piece::Literal(literal) = piece else {
            word.get_or_insert_default().push(piece.clone());
            continue;
        };
        for c in literal.chars() {
            match (quote, c) {
                (Some(open), c) if open == c => quote = None,
                (Some(_), c) => word.get_or_insert_default().push_str(c.encode_utf8(&mut [0; 4])),
                (None, '\'' | '"') => {
                    quote = Some(c);
                    word.get_or_insert_default();
                }
                (None, ' ' | '\t' | '\n') => words.extend(word.take()),
                (None, '\\' | '$' | '`' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => return None,
                (None, c) => word.get_or_insert_default().push_str(c.encode_utf8(&mut [0; 4])),
            }
        }
    }
    words.extend(word.take());
    let field = |text: Text| Field { text, arity: Arity::One, site, quoted: true };
    quote.is_none().then(|| words.into_iter().map(field).collect())
}

/// A deed that certainly happens.
pub(super) fn deed(kind: EffectKind, object: DeedObject, site: Site) -> Deed {
    Deed {
        kind,
        object,
        recursive: Truth::No,
        force: Truth::No,
        certain: Truth::Yes,
        site,
        names: Vec::new(),
    }
}

/// A deed on a path.
pub(super) fn on_path(kind: EffectKind, path: &Field) -> Deed {
    deed(kind, DeedObject::Path(path.text.clone()), path.site)
}

/// A deed on a path that does not stand as a word of its own.
pub(super) fn on_text(kind: EffectKind, path: Text, site: Site) -> Deed {
    deed(kind, DeedObject::Path(path), site)
}

/// Code in another language.
pub(super) fn program(language: Language, text: Text, place: CodePlace, site: Site) -> Carried {
    Carried::Program { language, text, place, site }
}

/// A file of code that an option names; what it holds is not known.
pub(super) fn code_file(language: Language, site: Site) -> Carried {
    program(language, Text::unknown(Unknown::Input), CodePlace::Helper, site)
}

/// Shell text that another program runs.
pub(super) fn script(text: Text, place: CodePlace, site: Site) -> Carried {
    Carried::Script {
        text,
        parameters: Vec::new(),
        place,
        scope: CarryScope::Local,
        directory: None,
        same_shell: false,
        site,
    }
}

/// Words of a command that another program runs without a shell.
pub(super) fn command(words: Vec<Field>, scope: CarryScope) -> Carried {
    Carried::Command {
        words,
        assignments: Vec::new(),
        scope,
        directory: None,
        takes_input: true,
        skips_functions: true,
    }
}

/// Whether a name means the standard streams.
pub(super) fn is_stream(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdin" | "/dev/stdout" | "/dev/stderr" | "/dev/null" | "/dev/tty")
}

/// Replaces the tables' doubts about options by those of a grammar that read them all.
pub(super) fn settle(reading: &mut Reading, sorted: &Sorted) {
    reading.doubts.retain(|doubt| matches!(doubt, Doubt::Word(_)));
    for word in &sorted.strange {
        reading.doubts.push(Doubt::Option(word.text.display().into(), word.site));
    }
}
