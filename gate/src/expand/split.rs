//! Field splitting (POSIX.1-2024 XCU 2.6.5) and the way from runs to fields.

use super::broken::{Rule, holds};
use super::pathname::{self, Cell, Options};
use super::{Expander, Run, is_hole, is_number};
use crate::model::value::{Arity, Field, Piece, Text, Unknown, Value};

/// The characters that separate fields.
pub(super) enum Ifs {
    /// These, blanks and the others alike; `None` for the first where it is unset.
    Known { characters: Vec<char>, unset: bool },
    /// Not known.
    Unknown(Unknown),
}

impl Ifs {
    pub(super) fn new(expander: &Expander) -> Self {
        match expander.lookup("IFS") {
            Value::Unset => Self::Known { characters: vec![' ', '\t', '\n'], unset: true },
            Value::Scalar(text) => match text.exact() {
                Some(exact) => Self::Known { characters: exact.chars().collect(), unset: false },
                None => Self::Unknown(
                    text.first_unknown().cloned().unwrap_or(Unknown::Parameter("IFS".into())),
                ),
            },
            Value::Unknown(cause) => Self::Unknown(cause),
            Value::Indexed { .. } | Value::Associative { .. } => {
                Self::Unknown(Unknown::Parameter("IFS".into()))
            }
        }
    }

    /// What joins the elements of `"$*"`.
    pub(super) fn separator(&self) -> Text {
        match self {
            Self::Known { unset: true, .. } => Text::literal(" "),
            Self::Known { .. } if !holds(Rule::Joining) => Text::literal(" "),
            Self::Known { characters, .. } => {
                characters.first().map_or_else(Text::empty, |char| Text::literal(*char))
            }
            Self::Unknown(cause) => Text::unknown(cause.clone()),
        }
    }

    /// Whether a number is one field.
    fn keeps_numbers(&self) -> bool {
        match self {
            Self::Known { characters, .. } => {
                !characters.iter().any(|char| char.is_ascii_digit() || *char == '-')
            }
            Self::Unknown(_) => false,
        }
    }
}

/// A field as it grows.
#[derive(Default)]
struct Growing {
    cells: Vec<Cell>,
    exists: bool,
    many: bool,
    quoted: Option<bool>,
}

impl Growing {
    fn push(&mut self, cell: Cell, quoted: bool) {
        self.exists = true;
        self.quoted.get_or_insert(quoted);
        // What the character stands for may hold separators.
        self.many |= !quoted && matches!(&cell, Cell::Char { char, .. } if is_hole(*char));
        self.cells.push(cell);
    }
}

struct Splitter {
    ifs: Ifs,
    now: Growing,
    done: Vec<Growing>,
    /// A blank ended the last field, so one other separator may follow without a field of its own.
    after_blank: bool,
    limit: usize,
}

impl Splitter {
    fn close(&mut self) {
        if self.now.exists && self.done.len() < self.limit {
            self.done.push(std::mem::take(&mut self.now));
        } else {
            self.now = Growing::default();
        }
    }

    fn split(&mut self, text: &str) {
        for char in text.chars() {
            if self.done.len() >= self.limit {
                return;
            }
            let separates = match &self.ifs {
                Ifs::Known { characters, .. } => {
                    characters.contains(&char) && holds(Rule::Splitting)
                }
                Ifs::Unknown(_) => false,
            };
            if !separates {
                self.after_blank = false;
                self.now.push(Cell::Char { char, quoted: false, expanded: true }, false);
            } else if matches!(char, ' ' | '\t' | '\n') {
                if self.now.exists {
                    self.close();
                    self.after_blank = true;
                }
            } else if self.now.exists {
                self.close();
                self.after_blank = false;
            } else if self.after_blank {
                self.after_blank = false;
            } else {
                self.now.exists = true;
                self.close();
            }
        }
    }

    fn run(&mut self, run: Run) {
        match run {
            Run::Text { text, splits: true, quoted: false } => match &self.ifs {
                Ifs::Unknown(cause) => {
                    if !text.is_empty() {
                        self.now.push(Cell::Unknown(cause.clone()), false);
                        self.now.many = true;
                    }
                }
                Ifs::Known { .. } => self.split(&text),
            },
            Run::Text { text, quoted, .. } => {
                if !text.is_empty() {
                    self.after_blank = false;
                }
                for char in text.chars() {
                    self.now.push(Cell::Char { char, quoted, expanded: false }, quoted);
                }
            }
            Run::Unknown { cause, quoted } => {
                self.after_blank = false;
                self.now.many |= !(quoted || is_number(&cause) && self.ifs.keeps_numbers());
                self.now.push(Cell::Unknown(cause), quoted);
            }
            Run::Glob { glob, quoted } => {
                self.after_blank = false;
                self.now.many |= !quoted;
                self.now.push(Cell::Glob(glob), quoted);
            }
            Run::Null => {
                self.after_blank = false;
                self.now.exists = true;
                self.now.quoted.get_or_insert(true);
            }
            Run::Break => {
                self.close();
                self.after_blank = false;
            }
            Run::More(cause) => {
                self.after_blank = false;
                self.now.many = true;
                self.now.push(Cell::Unknown(cause), false);
            }
        }
    }
}

/// The text of runs that are neither split nor a pattern, and whether the first is quoted; there
/// is no such text where the runs come to no field at all.
fn whole(runs: &[Run]) -> Option<(Text, bool)> {
    let mut text = Text::empty();
    let mut first = None;
    for run in runs {
        match run {
            Run::Text { text: own, .. } if own.is_empty() => continue,
            Run::Text { text: own, quoted: true, .. } => text.push_str(own),
            Run::Text { text: own, quoted: false, splits: false } => {
                let is_plain =
                    |byte: u8| byte.is_ascii_alphanumeric() || b"-_./,%=:".contains(&byte);
                if !own.bytes().all(is_plain) {
                    return None;
                }
                text.push_str(own);
            }
            Run::Unknown { cause, quoted: true } => text.push(Piece::Unknown(cause.clone())),
            Run::Null => {}
            _ => return None,
        }
        let quoted =
            matches!(run, Run::Null | Run::Text { quoted: true, .. } | Run::Unknown { .. });
        first.get_or_insert(quoted);
    }
    first.map(|quoted| (text, quoted))
}

/// Splits, looks for patterns and removes what is left of the quotes.
pub(super) fn fields(expander: &mut Expander, runs: Vec<Run>, limit: usize, out: &mut Vec<Field>) {
    if out.len() < limit
        && let Some((text, quoted)) = whole(&runs)
        && !expander.environ.option("nocaseglob")
    {
        let text = expander.bounded(text);
        out.push(Field { text, arity: Arity::One, site: expander.site(), quoted });
        return;
    }
    let mut splitter = Splitter {
        ifs: Ifs::new(expander),
        now: Growing::default(),
        done: Vec::new(),
        after_blank: false,
        limit: limit.saturating_sub(out.len()),
    };
    let mut runs = runs.into_iter().peekable();
    while let Some(run) = runs.next() {
        if matches!((&run, runs.peek()), (Run::Break, Some(Run::More(_)))) {
            let more = runs.next();
            // Where there are no further ones, what stands behind them joins the last that is known.
            if matches!(runs.peek(), None | Some(Run::Break)) {
                splitter.run(run);
            }
            if let Some(more) = more {
                splitter.run(more);
            }
        } else {
            splitter.run(run);
        }
    }
    splitter.close();
    let options = (!expander.environ.option("noglob")).then(|| Options {
        extended: expander.environ.option("extglob"),
        globstar: expander.environ.option("globstar"),
        dotglob: expander.environ.option("dotglob"),
        fold: expander.environ.option("nocaseglob"),
    });
    for growing in splitter.done {
        let pattern = options.and_then(|options| pathname::expand(&growing.cells, options));
        let many = growing.many || pattern.is_some();
        let text = pattern.unwrap_or_else(|| plain(&growing.cells));
        let text = expander.bounded(text);
        out.push(Field {
            text,
            arity: if many { Arity::Many } else { Arity::One },
            site: expander.site(),
            quoted: growing.quoted.unwrap_or_default(),
        });
    }
}

fn plain(cells: &[Cell]) -> Text {
    let mut text = Text::empty();
    for cell in cells {
        match cell {
            Cell::Char { char, .. } => text.push_str(char.encode_utf8(&mut [0; 4])),
            Cell::Unknown(cause) => text.push(Piece::Unknown(cause.clone())),
            Cell::Glob(glob) => text.push(Piece::Glob(glob.clone())),
        }
    }
    text
}

/// The runs of a word that is not split, as the cells of a pattern.
pub(super) fn cells(runs: Vec<Run>) -> Vec<Cell> {
    let mut out = Vec::new();
    for run in runs {
        match run {
            Run::Text { text, quoted, splits } => {
                out.extend(text.chars().map(|char| Cell::Char { char, quoted, expanded: splits }));
            }
            Run::Unknown { cause, .. } | Run::More(cause) => out.push(Cell::Unknown(cause)),
            Run::Glob { glob, .. } => out.push(Cell::Unknown(globbed(&glob))),
            Run::Break => out.push(Cell::Char { char: ' ', quoted: true, expanded: false }),
            Run::Null => {}
        }
    }
    out
}

/// A name that a pattern found is some string here, not a pattern again.
fn globbed(_: &crate::model::value::Glob) -> Unknown {
    Unknown::Item
}

/// Whether the first character is quoted.
pub(super) fn starts_quoted(runs: &[Run]) -> bool {
    match runs.first() {
        Some(Run::Text { quoted, .. } | Run::Unknown { quoted, .. } | Run::Glob { quoted, .. }) => {
            *quoted
        }
        Some(Run::Null) => true,
        _ => false,
    }
}
