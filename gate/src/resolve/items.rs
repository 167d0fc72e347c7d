//! Words that xargs and its kin take from standard input (GNU findutils manual, "Invoking xargs").

use crate::model::span::Site;
use crate::model::trace::{Reading, Stream};
use crate::model::value::{Arity, Field, Piece, Text, Unknown};

/// The most words that are taken one by one; the rest is one unknown word.
const ITEMS: usize = 1024;

/// How the input is split.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// At blanks and line ends, quotes and backslashes removed.
    Words,
    /// At line ends, quotes and backslashes removed, leading blanks too.
    Lines,
    /// At this character alone.
    At(char),
}

/// How `reading` of xargs says that the input is split; none where that is not known.
pub(super) fn split(reading: &Reading, by_lines: bool) -> Option<Split> {
    if reading.option("-0").is_some() {
        return Some(Split::At('\0'));
    }
    if let Some(option) = reading.option("-d") {
        let value = option.value.as_ref()?.exact()?;
        let character = match value {
            "\\n" => '\n',
            "\\0" => '\0',
            "\\t" => '\t',
            "\\\\" => '\\',
            other => {
                let mut characters = other.chars();
                let first = characters.next()?;
                if characters.next().is_some() {
                    return None;
                }
                first
            }
        };
        return Some(Split::At(character));
    }
    Some(if by_lines { Split::Lines } else { Split::Words })
}

/// The words of the input. None where it is that of the surroundings or is not known at all; a word
/// that is known in part stands for any number of words.
pub(super) fn items(input: &Stream, split: &Split, site: Site) -> Option<Vec<Field>> {
    let text = input.text()?;
    let mut splitter =
        Splitter { split, site, word: Text::empty(), open: false, items: Vec::new() };
    let mut quote: Option<char> = None;
    let mut escaped = false;
    for piece in text.pieces() {
        let Piece::Literal(literal) = piece else {
            splitter.word.push(piece.clone());
            splitter.open = true;
            continue;
        };
        for character in literal.chars() {
            match split {
                Split::At(end) if character == *end => splitter.close(),
                Split::At(_) => splitter.add(character),
                _ if escaped => {
                    escaped = false;
                    splitter.add(character);
                }
                _ if quote == Some(character) => quote = None,
                // A quote that its line does not close is an error. What came before it is used or
                // not, and some programs read on.
                _ if quote.is_some() && character == '\n' => return Some(splitter.fail()),
                _ if quote.is_some() => splitter.add(character),
                _ if character == '\\' => escaped = true,
                _ if character == '"' || character == '\'' => {
                    quote = Some(character);
                    splitter.open = true;
                }
                _ if character == '\n' => splitter.close(),
                // Blanks of the C library's `isspace`.
                Split::Words if matches!(character, ' ' | '\t' | '\r' | '\u{b}' | '\u{c}') => {
                    splitter.close();
                }
                Split::Lines if !splitter.open && character.is_whitespace() => {}
                _ => splitter.add(character),
            }
            if splitter.items.len() >= ITEMS {
                splitter.items.push(unknown(Unknown::Limit, site));
                return Some(splitter.items);
            }
        }
    }
    if quote.is_some() {
        return Some(splitter.fail());
    }
    splitter.close();
    if !text.is_exact() {
        // Lines that are known in part stand for any number of lines, none included.
        for item in &mut splitter.items {
            item.arity = Arity::Many;
        }
    }
    Some(splitter.items)
}

/// Any number of words of unknown text.
pub(super) fn unknown(cause: Unknown, site: Site) -> Field {
    Field { text: Text::unknown(cause), arity: Arity::Many, site, quoted: false }
}

struct Splitter<'a> {
    split: &'a Split,
    site: Site,
    word: Text,
    open: bool,
    items: Vec<Field>,
}

impl Splitter<'_> {
    fn add(&mut self, character: char) {
        self.word.push_str(character.encode_utf8(&mut [0; 4]));
        self.open = true;
    }

    /// The words so far, each there or not, and any others.
    fn fail(mut self) -> Vec<Field> {
        for item in &mut self.items {
            item.arity = Arity::Many;
        }
        self.items.push(unknown(Unknown::Item, self.site));
        self.items
    }

    fn close(&mut self) {
        if self.open
            || (matches!(self.split, Split::At(_))
                && !self.items.is_empty()
                && !self.word.is_empty())
        {
            let text = std::mem::take(&mut self.word);
            let arity = if text.is_exact() { Arity::One } else { Arity::Many };
            self.items.push(Field { text, arity, site: self.site, quoted: false });
        }
        self.open = false;
    }
}

#[cfg(test)]
mod tests {
    use super::{Split, items};
    use crate::model::span::Site;
    use crate::model::trace::Stream;
    use crate::model::value::Text;

    fn split(input: &str, how: &Split) -> Vec<String> {
        items(&Stream::Text(Text::literal(input)), how, Site::default())
            .unwrap()
            .iter()
            .map(|field| field.text.display())
            .collect()
    }

    #[test]
    fn input_is_split_as_xargs_does() {
        assert_eq!(split("a 'b c'\nd\\ e\n", &Split::Words), ["a", "b c", "d e"]);
        assert_eq!(split("  a b\nc\n", &Split::Lines), ["a b", "c"]);
        assert_eq!(split("a b\0c\0", &Split::At('\0')), ["a b", "c"]);
    }
}
