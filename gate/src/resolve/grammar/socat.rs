//! socat: addresses, each a keyword with a file, a command or a place (socat(1) 1.8).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::value::Text;
use crate::resolve::grammar::words::{on_text, script, split, split_all};

/// Reads the addresses; data flows into the last one, and from it too unless `-u` is given.
pub(super) fn read(reading: &mut Reading, carried: &mut Vec<Carried>) {
    let operands = reading.operands.clone();
    for (index, operand) in operands.iter().enumerate() {
        let last = index + 1 == operands.len();
        // `READ!!WRITE` is two addresses in one.
        for side in split_all(&operand.text, '!') {
            address(&side, last, operand.site, reading, carried);
        }
    }
}

fn address(text: &Text, last: bool, site: Site, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let options: Vec<Text> = split_all(text, ',');
    let Some((head, options)) = options.split_first() else { return };
    let (keyword, rest) = match split(head, ':') {
        Some((keyword, rest)) => (keyword.to_ascii_lowercase(), rest),
        // A path stands for itself.
        None if head.prefix().contains('/') => ("gopen".to_owned(), head.clone()),
        None => return,
    };
    match keyword.as_str() {
        "exec" | "system" | "shell" => {
            carried.push(script(rest, CodePlace::Operand, site));
        }
        "file" | "open" | "gopen" => {
            let device = rest.prefix().starts_with("/dev/");
            let changes = |option: &Text| {
                let option = option.prefix();
                ["creat", "trunc", "append", "wronly", "o-", "unlink"]
                    .iter()
                    .any(|word| option.starts_with(word))
            };
            if options.iter().any(changes) || (last && !device) {
                reading.deeds.push(on_text(EffectKind::Write, rest.clone(), site));
            }
            reading.deeds.push(on_text(EffectKind::Read, rest, site));
        }
        "create" | "creat" | "pipe" | "fifo" => {
            reading.deeds.push(on_text(EffectKind::Write, rest, site));
        }
        _ => {}
    }
}
