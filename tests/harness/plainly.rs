//! A text in a form in which bash prints every command of it in its own way.
//!
//! Between backquotes, inside here-documents and in a substitution that begins with `$((` bash prints what is
//! written there as it is written, so that two prints of them say nothing. Backquotes become `$( )`, by the
//! rules for backslashes alone, the two brackets are taken apart, and what is substituted in a here-document
//! stands behind the text, too.

use shellgate::model::context::Limits;
use shellgate::model::script::{HereDocument, Part, SubstitutionForm};
use shellgate::model::span::Span;
use shellgate::parse::parse;

use crate::walk::{self, Visit};

/// Rounds after which what is left stays as it is.
const ROUNDS: usize = 8;

/// What stands where a substitution of a here-document was.
const TAKEN: &str = "$(:)";

/// The text without backquotes, and with the substitutions of its here-documents behind it. A text with a
/// gap stays as it is.
pub fn plainly(text: &str) -> String {
    let mut text = text.to_owned();
    for _ in 0..ROUNDS {
        let parsed = parse(&text, &Limits::default());
        if !parsed.gaps.is_empty() {
            return text;
        }
        let mut found = Found { text: &text, ..Found::default() };
        walk::script(&parsed.script, &mut found);
        let next = if !found.doubled.is_empty() {
            Some(found.apart())
        } else if found.backquotes.is_empty() {
            found.taken()
        } else {
            found.brackets()
        };
        match next {
            Some(next) if next != text => text = next,
            _ => break,
        }
    }
    text
}

#[derive(Default)]
struct Found<'t> {
    text: &'t str,
    /// Pairs of backquotes, and whether double quotes are the closest thing around them.
    backquotes: Vec<(Span, bool)>,
    /// Where a subshell begins right behind the bracket of its substitution.
    doubled: Vec<usize>,
    /// Substitutions of here-documents that are not quoted.
    substitutions: Vec<Span>,
    /// Double quotes (true) and brackets that begin anew.
    around: Vec<(Span, bool)>,
}

impl Visit for Found<'_> {
    fn part(&mut self, part: &Part) -> bool {
        match part {
            Part::DoubleQuoted(_, span) | Part::LocaleQuoted(_, span) => {
                self.around.push((*span, true));
            }
            Part::CommandSubstitution(substitution, span) => {
                if substitution.form == SubstitutionForm::Backquote {
                    let closest = self.around.iter().rfind(|(own, _)| own.contains(*span));
                    self.backquotes.push((*span, closest.is_some_and(|(_, quotes)| *quotes)));
                    return false;
                }
                if span.of(self.text).starts_with("$((") {
                    self.doubled.push(span.start + 2);
                }
                self.around.push((*span, false));
            }
            Part::ProcessSubstitution(_, span) => self.around.push((*span, false)),
            _ => {}
        }
        true
    }

    fn document(&mut self, document: &HereDocument) -> bool {
        if document.quoted {
            return false;
        }
        let mut inside = Inside::default();
        walk::word(&document.body, &mut inside);
        self.substitutions.extend(inside.0);
        true
    }
}

/// The outermost substitutions of a body.
#[derive(Default)]
struct Inside(Vec<Span>);

impl Visit for Inside {
    fn part(&mut self, part: &Part) -> bool {
        if let Part::CommandSubstitution(_, span) = part {
            self.0.push(*span);
            return false;
        }
        true
    }

    fn document(&mut self, _: &HereDocument) -> bool {
        false
    }
}

impl Found<'_> {
    /// A blank between two brackets that are no arithmetic: bash prints what is in `$((` as it is written.
    fn apart(mut self) -> String {
        self.doubled.sort_unstable();
        let mut out = self.text.to_owned();
        for at in self.doubled.iter().rev() {
            out.insert(*at, ' ');
        }
        out
    }

    /// `$( )` for each pair of backquotes.
    fn brackets(mut self) -> Option<String> {
        self.backquotes.sort_unstable();
        let mut out = self.text.to_owned();
        for (span, quoted) in self.backquotes.iter().rev() {
            let own = span.of(self.text).strip_prefix('`')?.strip_suffix('`')?;
            out.replace_range(span.start..span.end, &format!("$( {}\n)", unescaped(own, *quoted)));
        }
        Some(out)
    }

    /// The substitutions of here-documents behind the text.
    fn taken(mut self) -> Option<String> {
        self.substitutions.sort_unstable();
        self.substitutions.dedup();
        let all = self.substitutions.clone();
        // One inside another comes with it.
        self.substitutions
            .retain(|own| !all.iter().any(|other| other != own && other.contains(*own)));
        let mut out = self.text.to_owned();
        let mut behind = String::new();
        for span in self.substitutions.iter().rev() {
            let own = span.of(self.text);
            if own == TAKEN {
                continue;
            }
            behind.insert_str(0, &format!("\n: {own}"));
            out.replace_range(span.start..span.end, TAKEN);
        }
        if behind.is_empty() {
            return None;
        }
        out.push_str(&behind);
        Some(out)
    }
}

/// What stands between backquotes without the backslashes that only they need (POSIX.1-2024 XCU 2.6.3).
fn unescaped(text: &str, quoted: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().peekable();
    while let Some(own) = characters.next() {
        if own == '\\' {
            match characters.peek() {
                Some('$' | '`' | '\\') => {}
                Some('"') if quoted => {}
                _ => out.push(own),
            }
            out.extend(characters.next());
        } else {
            out.push(own);
        }
    }
    out
}
