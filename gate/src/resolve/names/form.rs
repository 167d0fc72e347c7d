//! Lines of names, as patterns.

use super::FORMS;
use crate::model::value::{Glob, Piece, Text, Unknown};

/// A side of find's `-o`: the patterns a name must fit one of, where there are any, and whether it
/// prints.
#[derive(Default)]
pub(super) struct Branch {
    pub(super) patterns: Vec<Text>,
    pub(super) printed: bool,
}

/// A bracket of find's: its patterns; whether the alternative at hand has one, and whether one before
/// has none.
#[derive(Default)]
pub(super) struct Group {
    pub(super) patterns: Vec<Text>,
    pub(super) guarded: bool,
    pub(super) open: bool,
}

pub(super) fn line(piece: Piece) -> Text {
    [piece, Piece::Literal("\n".into())].into_iter().collect()
}

/// Lines of these forms; none where there are too many, or one is empty.
pub(super) fn lines(forms: &[Text], end: char) -> Option<Text> {
    if forms.is_empty() || forms.len() > FORMS || forms.iter().any(Text::is_empty) {
        return None;
    }
    let mut out = Text::empty();
    for form in forms {
        out.extend(form);
        out.push_str(end.encode_utf8(&mut [0; 4]));
    }
    Some(out)
}

/// Names below each start point; the last part fits one of the patterns, where there are any.
pub(super) fn below(starts: &[Text], patterns: &[Text], end: char) -> Option<Text> {
    let here = [Text::empty()];
    let starts = if starts.is_empty() { &here } else { starts };
    let mut forms = Vec::new();
    for start in starts {
        let mut form = start.clone();
        if !start.is_empty() && !start.fill("").ends_with('/') {
            form.push_str("/");
        }
        form.push(Piece::Unknown(Unknown::Found));
        if patterns.is_empty() {
            forms.push(form);
            continue;
        }
        for pattern in patterns {
            let mut named = form.clone();
            named.push_str("/");
            named.extend(pattern);
            forms.push(named);
        }
    }
    lines(&forms, end)
}

/// Names that fit one of git's path specifications (or are below it); revisions among them change
/// nothing.
pub(super) fn specs(operands: &[Text], end: char) -> Option<Text> {
    let mut forms: Vec<Text> = Vec::new();
    for operand in operands {
        if operand.has_glob() || operand.has_unknown() {
            forms.push(below(std::slice::from_ref(operand), &[], end)?);
            continue;
        }
        let word = operand.exact()?;
        if word.starts_with(":!") || word.starts_with(":^") || word.starts_with(":(exclude)") {
            continue;
        }
        if word.starts_with(":(") {
            return None;
        }
        if !word.contains(['*', '?', '[']) {
            forms.push(below(std::slice::from_ref(operand), &[], end)?);
            continue;
        }
        let (directory, last) = word.rsplit_once('/').unwrap_or(("", word));
        let known: Vec<&str> =
            directory.split('/').take_while(|part| !part.contains(['*', '?', '['])).collect();
        let start = Text::literal(known.join("/"));
        let start = if start.is_empty() { Vec::new() } else { vec![start] };
        forms.push(below(&start, &[pattern(last)?], end)?);
    }
    if forms.is_empty() {
        return below(&[], &[], end);
    }
    if forms.len() > FORMS {
        return None;
    }
    Some(forms.iter().fold(Text::empty(), Text::concat))
}

/// A pattern of a name with its signs as pieces; none where it has brackets or is empty.
pub(super) fn pattern(text: &str) -> Option<Text> {
    if text.contains(['\\', '/']) || text.is_empty() {
        return None;
    }
    let mut out = Text::empty();
    if let Some((before, rest)) = text.split_once('{') {
        // Alternatives: any name with what stands around them, where the last part tells it apart.
        let (inner, after) = rest.split_once('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == ',';
        if !after.is_empty() || !before.ends_with('.') || !inner.chars().all(plain) {
            return None;
        }
        let first =
            inner.split(',').find(|ending| may_be_secret(ending)).or(inner.split(',').next())?;
        return pattern(&format!("{before}{first}"));
    }
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '*' => out.push(Piece::Glob(Glob::Any)),
            '?' => out.push(Piece::Glob(Glob::One)),
            '[' => {
                let end = rest.get(2..)?.find(']')? + 3;
                let set = rest.get(..end)?;
                if set.get(1..)?.contains('[') {
                    return None;
                }
                out.push(Piece::Glob(Glob::Set(set.into())));
                taken = end;
            }
            c => out.push_str(c.encode_utf8(&mut [0; 4])),
        }
        rest = rest.get(taken..)?;
    }
    Some(out)
}

/// Whether an ending has none of the letters of a source language; the one that is asked about then
/// stands for its neighbours.
fn may_be_secret(ending: &str) -> bool {
    !matches!(
        ending,
        "ts" | "tsx"
            | "js"
            | "jsx"
            | "mjs"
            | "cjs"
            | "vue"
            | "svelte"
            | "css"
            | "scss"
            | "less"
            | "html"
            | "md"
            | "mdx"
            | "py"
            | "pyi"
            | "rs"
            | "go"
            | "java"
            | "kt"
            | "rb"
            | "php"
            | "c"
            | "h"
            | "cc"
            | "cpp"
            | "hpp"
            | "cs"
            | "swift"
            | "sh"
            | "sql"
            | "toml"
            | "yml"
            | "yaml"
            | "txt"
            | "png"
            | "svg"
            | "jpg"
            | "mts"
            | "cts"
            | "ex"
            | "exs"
            | "erb"
            | "graphql"
            | "proto"
    )
}

/// Patterns of names for a regular expression that ends in `\.ext` or `\.(a|b)`, its `$` left out.
pub(super) fn ending(expression: &str) -> Option<Vec<String>> {
    let (before, last) = expression.rsplit_once("\\.")?;
    let harmless =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | '*' | '^');
    if !before.chars().all(harmless) {
        return None;
    }
    let inner = match last.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?,
        None => last,
    };
    let mut names = Vec::new();
    for ending in inner.split('|') {
        let (stem, optional) = match ending.strip_suffix('?') {
            Some(stem) => (stem, true),
            None => (ending, false),
        };
        if stem.is_empty() || !stem.chars().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        names.push(format!("*.{stem}"));
        if optional {
            let mut short = stem.to_owned();
            short.pop();
            if short.is_empty() {
                return None;
            }
            names.push(format!("*.{short}"));
        }
    }
    (names.len() <= FORMS).then_some(names)
}

/// Whether every line has a part that stands for names or short words, and nothing else unknown.
pub(super) fn are_names(text: &Text) -> bool {
    let mut named = false;
    for piece in text.pieces() {
        match piece {
            Piece::Unknown(cause) if cause.is_below() => named = true,
            Piece::Unknown(Unknown::Arithmetic) | Piece::Glob(_) => named = true,
            Piece::Unknown(_) => return false,
            Piece::Literal(literal) => {
                let mut parts = literal.split(['\n', '\0']);
                parts.next();
                // A whole line between two line ends must not be a known one.
                let inner: Vec<&str> = parts.collect();
                if let Some((_, between)) = inner.split_last()
                    && !between.is_empty()
                {
                    return false;
                }
            }
        }
    }
    named
}

/// A name without `./` at its start.
pub(super) fn bare(form: &Text) -> Text {
    let mut out = Text::empty();
    for (index, piece) in form.pieces().iter().enumerate() {
        match piece {
            Piece::Literal(text) if index == 0 => {
                out.push_str(text.strip_prefix("./").unwrap_or(text));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// The forms of lines in a text of names, and what ends each.
pub(super) fn forms(input: &Text) -> (Vec<Text>, char) {
    let mut forms: Vec<Text> = vec![Text::empty()];
    let mut end = '\n';
    for piece in input.pieces() {
        let Some(last) = forms.last_mut() else { break };
        let Piece::Literal(literal) = piece else {
            last.push(piece.clone());
            continue;
        };
        for c in literal.chars() {
            if matches!(c, '\n' | '\0') {
                end = c;
                forms.push(Text::empty());
            } else if let Some(last) = forms.last_mut() {
                last.push_str(c.encode_utf8(&mut [0; 4]));
            }
        }
    }
    forms.retain(|form| !form.is_empty());
    (forms, end)
}

/// The forms of lines whose names end as one of these patterns.
pub(super) fn narrowed(input: &Text, names: &[String]) -> Option<Text> {
    let (forms, end) = forms(input);
    let mut out = Vec::new();
    for form in forms {
        let open = matches!(form.pieces().last(), Some(Piece::Unknown(Unknown::Found)));
        let single =
            form.pieces().len() == 1 && matches!(form.pieces(), [Piece::Unknown(Unknown::Listed)]);
        if single {
            for name in names {
                out.push(pattern(name)?);
            }
        } else if open {
            for name in names {
                let mut named = form.clone();
                named.push_str("/");
                named.extend(&pattern(name)?);
                out.push(named);
            }
        } else {
            out.push(form);
        }
    }
    lines(&out, end)
}
