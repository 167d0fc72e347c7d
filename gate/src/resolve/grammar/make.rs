//! make: variables among the operands, text that is evaluated (GNU make 4.4).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::utility::Language;
use crate::model::value::{Field, Text};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::{codes, report};
use crate::resolve::grammar::words::{known, on_text, program, script, split};

/// How many calls of the shell are followed.
const CALLS: usize = 64;

/// Reads what make evaluates.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let codes = codes(scene, reading);
    report(scene, &codes, carried);
    for code in &codes {
        shell_calls(&code.text, code.site, carried);
    }
    if reading.option("-f").and_then(|option| option.value.as_ref()).and_then(Field::exact)
        == Some("-")
    {
        carried.push(Carried::Input {
            language: Language::Make,
            parameters: Vec::new(),
            scope: crate::model::utility::CarryScope::Local,
            site: scene.site,
        });
    }
    let operands = std::mem::take(&mut reading.operands);
    for operand in operands {
        let Some((name, value)) = split(&operand.text, '=') else {
            reading.operands.push(operand);
            continue;
        };
        assignment(name.trim_end_matches([':', '+', '?', '!']), &value, &operand, reading, carried);
    }
}

/// `NAME=VALUE`: make expands the value, and some names are programs it starts.
fn assignment(
    name: &str,
    value: &Text,
    word: &Field,
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) {
    let is_shell = matches!(
        name,
        "SHELL" | ".SHELLFLAGS" | "MAKEFLAGS" | "GNUMAKEFLAGS" | "MAKEFILES" | "MAKE"
    );
    let expands = known(value).is_none_or(|text| text.contains("$(") || text.contains("${"));
    if is_shell || expands || word.text.display().starts_with(&format!("{name}!=")) {
        carried.push(program(Language::Make, value.clone(), CodePlace::Option, word.site));
    }
    if name == "SHELL" {
        carried.push(script(value.clone(), CodePlace::Helper, word.site));
    }
    shell_calls(value, word.site, carried);
    if value.prefix().starts_with(['/', '~']) || value.prefix().starts_with("..") {
        reading.deeds.push(on_text(EffectKind::Touch, value.clone(), word.site));
    }
}

/// `$(shell TEXT)` anywhere, and recipes behind `;` or a tab.
fn shell_calls(text: &Text, site: Site, carried: &mut Vec<Carried>) {
    let text = known(text).unwrap_or_else(|| text.fill(" "));
    let calls = text.match_indices("(shell ").chain(text.match_indices("{shell "));
    for (at, found) in calls.take(CALLS) {
        let close = if found.starts_with('(') { ')' } else { '}' };
        let behind = text.get(at + found.len()..).unwrap_or_default();
        let mut depth = 1usize;
        let mut end = behind.len();
        for (place, c) in behind.char_indices() {
            if c == close {
                depth -= 1;
                if depth == 0 {
                    end = place;
                    break;
                }
            } else if c == found.chars().next().unwrap_or('(') {
                depth += 1;
            }
        }
        let command = behind.get(..end).unwrap_or(behind).replace("$$", "$");
        carried.push(script(Text::literal(command), CodePlace::Option, site));
    }
    for line in text.lines() {
        let recipe = line.strip_prefix('\t').or_else(|| {
            let (rule, recipe) = line.split_once(';')?;
            rule.contains(':').then_some(recipe)
        });
        if let Some(recipe) = recipe {
            let recipe = recipe.trim_start_matches(['@', '-', '+', ' ']).replace("$$", "$");
            carried.push(script(Text::literal(recipe), CodePlace::Option, site));
        }
    }
}
