//! `test` and `[`: which operands are paths, which are names of variables, which are only text
//! (POSIX.1-2024 XCU test; Bash manual 6.4).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, Reading};
use crate::model::utility::Language;
use crate::model::value::Field;
use crate::model::value::Text;
use crate::resolve::grammar::words::{known, on_path, program, script};

/// Reads the words behind `test` or `[`, the closing bracket included.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    reading.doubts.clear();
    reading.complete = true;
    let words = match words {
        [inner @ .., last] if last.exact() == Some("]") => inner,
        all => all,
    };
    let mut rest = words;
    while let [first, behind @ ..] = rest {
        let operator = behind.first().and_then(Field::exact);
        if let Some(operator) = operator.filter(|text| is_binary(text))
            && let Some(right) = behind.get(1)
        {
            if matches!(operator, "-nt" | "-ot" | "-ef") {
                reading.deeds.push(on_path(EffectKind::List, first));
                reading.deeds.push(on_path(EffectKind::List, right));
            }
            rest = behind.get(2..).unwrap_or_default();
            continue;
        }
        if let (Some(unary), [operand, after @ ..]) = (first.exact(), behind) {
            if is_file_test(unary) {
                reading.deeds.push(on_path(EffectKind::List, operand));
                rest = after;
                continue;
            }
            if matches!(unary, "-v" | "-R") {
                variable(operand, carried);
                rest = after;
                continue;
            }
            if matches!(unary, "-z" | "-n" | "-t" | "-o" | "-l") {
                rest = after;
                continue;
            }
        }
        rest = behind;
    }
}

/// A name whose subscript the shell expands like a double-quoted string.
pub(super) fn variable(name: &Field, carried: &mut Vec<Carried>) {
    let Some(text) = known(&name.text) else {
        carried.push(program(Language::Shell, name.text.clone(), CodePlace::Value, name.site));
        return;
    };
    let Some((_, subscript)) = text.split_once('[') else { return };
    let subscript = subscript.strip_suffix(']').unwrap_or(subscript);
    if subscript.contains(['$', '`']) {
        // A here-document body is expanded by the same rules and needs no further quoting.
        let text = format!(": <<SUBSCRIPT_ENDS_HERE\n{subscript}\nSUBSCRIPT_ENDS_HERE\n");
        carried.push(script(Text::literal(text), CodePlace::Value, name.site));
    } else if subscript.contains(|c: char| c.is_ascii_alphabetic() || c == '_') {
        carried.push(program(Language::Shell, name.text.clone(), CodePlace::Value, name.site));
    }
}

fn is_binary(text: &str) -> bool {
    matches!(
        text,
        "=" | "=="
            | "!="
            | "<"
            | ">"
            | "=~"
            | "-eq"
            | "-ne"
            | "-lt"
            | "-le"
            | "-gt"
            | "-ge"
            | "-nt"
            | "-ot"
            | "-ef"
    )
}

fn is_file_test(text: &str) -> bool {
    matches!(
        text,
        "-a" | "-b"
            | "-c"
            | "-d"
            | "-e"
            | "-f"
            | "-g"
            | "-h"
            | "-k"
            | "-p"
            | "-r"
            | "-s"
            | "-u"
            | "-w"
            | "-x"
            | "-G"
            | "-L"
            | "-N"
            | "-O"
            | "-S"
    )
}
