//! chmod, chown and chgrp: the mode or owner comes first unless a reference is given
//! (POSIX.1-2024 XCU chmod; GNU coreutils 9.5).

use crate::model::fact::EffectKind;
use crate::model::trace::Reading;
use crate::model::value::{Field, Truth};
use crate::resolve::grammar::words::{Options, on_path, settle};

const OPTIONS: Options = Options {
    short: "cfvRhHLPE",
    long: &[
        "changes>c",
        "silent>f",
        "quiet>f",
        "verbose>v",
        "recursive>R",
        "reference=",
        "no-preserve-root",
        "preserve-root",
        "no-dereference>h",
        "dereference",
        "from=",
        "help",
        "version",
    ],
    permute: true,
};

/// Reads the words behind the program of that name.
pub(super) fn read(program: &str, words: &[Field], reading: &mut Reading) {
    let is_chmod = program == "chmod";
    let (modes, words): (Vec<Field>, Vec<Field>) = if is_chmod {
        let mut options_end = false;
        words.iter().cloned().partition(|word| {
            options_end |= word.exact() == Some("--");
            !options_end && is_dashed_mode(word)
        })
    } else {
        (Vec::new(), words.to_vec())
    };
    let sorted = OPTIONS.sort(&words);
    let reference = sorted.last("reference");
    let mut operands = sorted.operands.iter();
    let recursive = Truth::from(sorted.has("R"));
    let mut kinds = vec![match program {
        "chown" => EffectKind::Owner,
        "chgrp" => EffectKind::Group,
        _ => EffectKind::Mode,
    }];
    if let Some(reference) = reference {
        reading.deeds.push(on_path(EffectKind::List, reference));
    } else if modes.is_empty()
        && let Some(first) = operands.next()
        && program == "chown"
    {
        let text = first.text.display();
        if text.contains(':') {
            kinds.push(EffectKind::Group);
        }
    }
    for target in operands {
        for kind in &kinds {
            let mut deed = on_path(*kind, target);
            deed.recursive = recursive;
            if sorted.doubtful {
                deed.recursive = deed.recursive.or(Truth::Maybe);
            }
            deed.force = Truth::from(sorted.has("no-preserve-root"));
            reading.deeds.push(deed);
        }
    }
    settle(reading, &sorted);
    reading.complete = true;
}

/// A mode that begins with a dash (`-x`, `-rwx,u+x`): none of its letters before a further sign is
/// an option of chmod.
fn is_dashed_mode(word: &Field) -> bool {
    word.exact().and_then(|text| text.strip_prefix('-')).is_some_and(|rest| {
        rest.starts_with([
            'r', 'w', 'x', 'X', 's', 't', 'u', 'g', 'o', '0', '1', '2', '3', '4', '5', '6', '7',
        ])
    })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::span::Site;
    use crate::model::trace::{DeedObject, Reading};
    use crate::model::value::{Field, Truth};

    fn targets(line: &str) -> Vec<(String, bool)> {
        let words: Vec<Field> =
            line.split(' ').map(|word| Field::literal(word, Site::default())).collect();
        let mut reading = Reading::default();
        read(words[0].exact().unwrap(), &words[1..], &mut reading);
        assert!(reading.doubts.is_empty(), "{line}: {:?}", reading.doubts);
        reading
            .deeds
            .iter()
            .map(|deed| match &deed.object {
                DeedObject::Path(path) => (path.display(), deed.recursive == Truth::Yes),
                _ => (String::new(), false),
            })
            .collect()
    }

    #[test]
    fn the_mode_is_no_target() {
        assert_eq!(targets("chmod -x f"), [("f".into(), false)]);
        assert_eq!(targets("chmod -R 777 a b"), [("a".into(), true), ("b".into(), true)]);
        assert_eq!(targets("chmod u+x,-w -- f"), [("f".into(), false)]);
        assert_eq!(targets("chmod --reference=r f"), [("r".into(), false), ("f".into(), false)]);
        assert_eq!(targets("chown -hR me /"), [("/".into(), true)]);
        assert_eq!(targets("chown f --recurs me").len(), 1);
    }
}
