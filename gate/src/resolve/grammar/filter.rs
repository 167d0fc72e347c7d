//! Filters of jq and yq: they cannot write, but some functions open files (jq 1.7 manual; yq 4
//! operators).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::utility::Language;
use crate::model::value::{Piece, Text, Truth};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::codes;
use crate::resolve::grammar::words::{deed, known, on_text, program, script};

/// Functions whose argument is the name of a file.
const OPENS: &[&str] =
    &["load(", "load_str(", "load_xml(", "load_props(", "load_base64(", "import ", "include "];

/// How many calls of one kind are followed.
const CALLS: usize = 64;

/// Reads the filters.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let is_yq = scene.name == "yq";
    for code in codes(scene, reading) {
        let text = known(&code.text).unwrap_or_else(|| code.text.fill(" "));
        for name in OPENS {
            for (at, found) in text.match_indices(name).take(CALLS) {
                if !begins_word(&text, at) || (!is_yq && name.ends_with('(')) {
                    continue;
                }
                let behind = text.get(at + found.len()..).unwrap_or_default();
                if let Some(path) = string(behind) {
                    reading.deeds.push(on_text(EffectKind::Read, Text::literal(path), code.site));
                } else if name.ends_with('(') {
                    let path =
                        Text::unknown(crate::model::value::Unknown::NotModelled("a yq expression"));
                    reading.deeds.push(on_text(EffectKind::Read, path, code.site));
                }
            }
        }
        if matches!(code.text.pieces(), [Piece::Unknown(_), ..]) {
            // It may be one that reads them.
            let object = DeedObject::Name(Text::literal("environment"));
            let mut shown = deed(EffectKind::Disclose, object, code.site);
            shown.certain = Truth::Maybe;
            reading.deeds.push(shown);
        }
        for name in variables(&text, is_yq).into_iter().take(CALLS) {
            if name.as_deref().is_none_or(|name| scene.catalog.is_secret_variable(name)) {
                let object = Text::literal(name.unwrap_or_else(|| "environment".into()));
                let object = DeedObject::Name(object);
                reading.deeds.push(deed(EffectKind::Disclose, object, code.site));
            }
        }
        if !is_yq {
            continue;
        }
        for (at, found) in text.match_indices("system(").take(CALLS) {
            if !begins_word(&text, at) {
                continue;
            }
            carried.push(program(Language::Other, code.text.clone(), CodePlace::Option, code.site));
            let behind = text.get(at + found.len()..).unwrap_or_default();
            let strings: Vec<String> = behind
                .split(')')
                .next()
                .unwrap_or_default()
                .split([';', ','])
                .filter_map(|part| string(part.trim_start_matches([' ', '['])))
                .collect();
            if !strings.is_empty() {
                carried.push(script(
                    Text::literal(strings.join(" ")),
                    CodePlace::Option,
                    code.site,
                ));
            }
        }
    }
}

/// Variables of the environment that a filter reads, each by its name where that is spelled out, and
/// without a name where it is all of them.
fn variables(text: &str, is_yq: bool) -> Vec<Option<String>> {
    let text = without_strings(text);
    let calls: &[&str] = if is_yq { &["env(", "strenv(", "envsubst"] } else { &["$ENV", "env"] };
    let mut out = Vec::new();
    for call in calls {
        for (at, found) in text.match_indices(call) {
            let rest = text.get(at + found.len()..).unwrap_or_default();
            let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
            let ends = is_yq || !rest.starts_with(|c: char| is_word(c) || c == ':');
            if !ends || !(call.starts_with('$') || begins_word(&text, at)) {
                continue;
            }
            let inside = rest
                .trim_start_matches(['.', '[', '"', ' '])
                .split(|c: char| !is_word(c))
                .next()
                .filter(|name| {
                    !name.is_empty() && (is_yq || rest.starts_with('.') || rest.starts_with("[\""))
                });
            let inside = inside.filter(|_| *call != "envsubst");
            out.push(inside.map(str::to_owned));
        }
    }
    out
}

/// A filter without what its strings hold, but for a subscript and for strings that hold code.
fn without_strings(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('"') {
        out.push_str(before);
        out.push('"');
        let mut end = None;
        let mut escaped = false;
        for (at, c) in behind.char_indices() {
            match c {
                '"' if !escaped => {
                    end = Some(at);
                    break;
                }
                _ => escaped = c == '\\' && !escaped,
            }
        }
        let Some(end) = end else {
            out.push_str(behind);
            return out;
        };
        let inner = behind.get(..end).unwrap_or_default();
        if before.ends_with('[') || inner.contains("\\(") {
            out.push_str(inner);
        }
        out.push('"');
        rest = behind.get(end + 1..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

fn begins_word(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|before| before.chars().next_back())
        .is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_' && c != '.' && c != '"' && c != '$')
}

fn string(text: &str) -> Option<String> {
    let (inner, _) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(inner.to_owned())
}
