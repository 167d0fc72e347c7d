//! curl and wget: names of outputs that the tables cannot see, `file:` URLs, settings files
//! (curl(1) 8.11, wget(1) 1.25).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, OptionUse, Reading};
use crate::model::utility::Language;
use crate::model::value::{Field, Text, Unknown};
use crate::resolve::grammar::words::{code_file, drop_bytes, known, on_text, program};

/// Reads what the tables gave of curl or wget.
pub(super) fn read(program_name: &str, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let options: Vec<OptionUse> = reading.options.clone();
    let is = |option: &OptionUse, names: &[&str]| {
        names.iter().any(|name| *name == option.name || *name == option.spelled)
    };
    let last = |names: &[&str]| {
        options
            .iter()
            .rev()
            .find(|option| is(option, names))
            .and_then(|option| option.value.clone())
    };
    let urls: Vec<Field> = reading
        .operands
        .iter()
        .chain(
            options
                .iter()
                .filter(|option| is(option, &["--url"]))
                .filter_map(|option| option.value.as_ref()),
        )
        .cloned()
        .collect();
    for url in &urls {
        file_url(url, reading);
    }
    if program_name.contains("wget") {
        for option in options.iter().filter(|option| is(option, &["-e", "--execute"])) {
            let text = option.value.as_ref().map(|value| value.text.clone()).unwrap_or_default();
            carried.push(program(Language::Other, text, CodePlace::Option, option.site));
        }
        let prints = options
            .iter()
            .any(|option| is(option, &["--spider", "-V", "--version", "-h", "--help"]));
        if options.iter().any(|option| is(option, &["-O", "--output-document"])) || prints {
            return;
        }
        let place = last(&["-P", "--directory-prefix"]);
        for url in &urls {
            output(url, place.as_ref(), reading);
        }
        return;
    }
    for option in options.iter().filter(|option| is(option, &["-K", "--config"])) {
        carried.push(code_file(Language::Other, option.site));
    }
    for option in options.iter().filter(|option| is(option, &["-w", "--write-out"])) {
        if let Some(value) = &option.value {
            write_out(value, reading);
        }
    }
    let place = last(&["--output-dir"]);
    let named: Vec<Field> = options
        .iter()
        .filter(|option| is(option, &["-o", "--output"]))
        .filter_map(|option| option.value.clone())
        .collect();
    if let Some(place) = &place {
        for name in &named {
            let mut path = place.text.clone();
            path.push_str("/");
            path.extend(&name.text);
            reading.deeds.push(on_text(EffectKind::Write, path, name.site));
        }
    }
    if options.iter().any(|option| {
        is(option, &["-O", "--remote-name", "--remote-name-all", "-J", "--remote-header-name"])
    }) {
        for url in &urls {
            output(url, place.as_ref(), reading);
        }
    }
}

/// `%output{FILE}` and `%output{>>FILE}` send the rest of the text into a file.
fn write_out(value: &Field, reading: &mut Reading) {
    let text = known(&value.text).unwrap_or_else(|| value.text.fill("\u{1}"));
    for part in text.split("%output{").skip(1) {
        let name = part.split('}').next().unwrap_or_default();
        let (kind, name) = match name.strip_prefix(">>") {
            Some(name) => (EffectKind::Append, name),
            None => (EffectKind::Write, name),
        };
        let mut path = Text::empty();
        for (at, piece) in name.split('\u{1}').enumerate() {
            if at > 0 {
                path.extend(&Text::unknown(Unknown::Joined));
            }
            path.push_str(piece);
        }
        reading.deeds.push(on_text(kind, path, value.site));
    }
}

/// A `file:` URL reads a file of this machine.
fn file_url(url: &Field, reading: &mut Reading) {
    let prefix = url.text.prefix();
    let lower = prefix.to_ascii_lowercase();
    let Some(rest) = lower.strip_prefix("file:") else { return };
    let rest = rest.strip_prefix("//localhost").or_else(|| rest.strip_prefix("//")).unwrap_or(rest);
    let path = drop_bytes(&url.text, prefix.len() - rest.len()).unwrap_or_default();
    reading.deeds.push(on_text(EffectKind::Read, path, url.site));
}

/// The file a URL is saved to under its own name.
fn output(url: &Field, place: Option<&Field>, reading: &mut Reading) {
    let name = match known(&url.text) {
        Some(text) => {
            let path = text.split_once("://").map_or(text.as_str(), |(_, rest)| rest);
            let path = path.split(['?', '#']).next().unwrap_or_default();
            let name = path.split_once('/').and_then(|(_, rest)| rest.rsplit('/').next());
            Text::literal(name.filter(|name| !name.is_empty()).unwrap_or("index.html"))
        }
        None => match last_known(&url.text) {
            Some(name) => Text::literal(name),
            // A name made from a URL has no slash; the directory alone says where it lands.
            None => Text::unknown(Unknown::Item),
        },
    };
    let mut path = place.map_or_else(|| Text::literal("."), |place| place.text.clone());
    path.push_str("/");
    path.extend(&name);
    reading.deeds.push(on_text(EffectKind::Write, path, url.site));
}

/// The last part of a URL whose end is known.
fn last_known(text: &Text) -> Option<&str> {
    match text.pieces().last() {
        Some(crate::model::value::Piece::Literal(literal)) => {
            literal.rsplit_once('/').map(|(_, name)| name).filter(|name| !name.is_empty())
        }
        _ => None,
    }
}
