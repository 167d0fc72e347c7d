//! dd: `NAME=VALUE` operands, the last of a name counts (POSIX.1-2024 XCU dd).

use crate::model::fact::EffectKind;
use crate::model::trace::{Doubt, Reading};
use crate::model::value::{Field, Text, Truth};
use crate::resolve::grammar::words::{is_stream, on_text, split};

/// Reads the words behind `dd`.
pub(super) fn read(words: &[Field], reading: &mut Reading) {
    reading.doubts.clear();
    let mut input = None;
    let mut output = None;
    let mut unknown = None;
    for word in words {
        match split(&word.text, '=') {
            Some((name, value)) => match name.as_str() {
                "if" => input = Some((value, word)),
                "of" => output = Some((value, word)),
                "bs" | "ibs" | "obs" | "cbs" | "skip" | "iseek" | "seek" | "oseek" | "count"
                | "conv" | "status" | "iflag" | "oflag" | "files" | "fillchar" | "speed" => {}
                _ => reading.doubts.push(Doubt::Option(word.text.display().into(), word.site)),
            },
            None if word.exact().is_some_and(|text| text == "--") => {}
            None if word.text.has_unknown() => unknown = Some(word),
            None => reading.doubts.push(Doubt::Option(word.text.display().into(), word.site)),
        }
    }
    if let Some((path, word)) = input
        && path.exact().is_none_or(|path| !is_stream(path))
    {
        reading.deeds.push(on_text(EffectKind::Read, path, word.site));
    }
    if let Some((path, word)) = output
        && path.exact().is_none_or(|path| path != "-")
    {
        reading.deeds.push(on_text(EffectKind::Write, path, word.site));
    }
    if let Some(word) = unknown {
        // The word may be any operand, an output among them.
        let cause = word.text.first_unknown().cloned();
        let mut deed =
            on_text(EffectKind::Write, cause.map(Text::unknown).unwrap_or_default(), word.site);
        deed.certain = Truth::Maybe;
        reading.deeds.push(deed);
    }
    reading.complete = true;
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::span::Site;
    use crate::model::trace::{DeedObject, Reading};
    use crate::model::value::{Field, Text};

    #[test]
    fn the_last_output_counts() {
        let words = ["if=/dev/zero", "of=a", "bs=1M", "of=/dev/sda"];
        let words = words.map(|word| Field::literal(word, Site::default()));
        let mut reading = Reading::default();
        read(&words, &mut reading);
        let objects: Vec<_> = reading.deeds.into_iter().map(|deed| deed.object).collect();
        assert_eq!(
            objects,
            [
                DeedObject::Path(Text::literal("/dev/zero")),
                DeedObject::Path(Text::literal("/dev/sda"))
            ]
        );
        assert!(reading.doubts.is_empty());
    }
}
