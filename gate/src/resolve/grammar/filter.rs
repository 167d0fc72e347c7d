//! Filters of jq and yq: they cannot write, but some functions open files (jq 1.7 manual; yq 4
//! operators).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, Reading};
use crate::model::utility::Language;
use crate::model::value::Text;
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::codes;
use crate::resolve::grammar::words::{known, on_text, program, script};

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

fn begins_word(text: &str, at: usize) -> bool {
    text.get(..at)
        .and_then(|before| before.chars().next_back())
        .is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_' && c != '.' && c != '"' && c != '$')
}

fn string(text: &str) -> Option<String> {
    let (inner, _) = text.trim_start().strip_prefix('"')?.split_once('"')?;
    Some(inner.to_owned())
}
