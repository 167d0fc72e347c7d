//! tar: modes, the old-style first word, directories that change between operands (GNU tar 1.35;
//! bsdtar where it differs).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::value::{Field, Piece, Text, Truth, Unknown};
use crate::resolve::grammar::words::{
    Given, Options, Sorted, deed, known, on_path, on_text, script, settle, split,
};

const OPTIONS: Options = Options {
    short: "AcdrtuxaBb:C:f:F:g:GhH:I:iJjK:klL:mMnN:oOpPqRsSTUvV:wWX:yzZT:",
    long: &[
        "catenate>A",
        "concatenate>A",
        "create>c",
        "delete",
        "diff>d",
        "compare>d",
        "append>r",
        "list>t",
        "test-label",
        "update>u",
        "extract>x",
        "get>x",
        "file=>f",
        "directory=>C",
        "cd=>C",
        "use-compress-program=>I",
        "checkpoint==",
        "checkpoint-action=",
        "to-command=",
        "to-stdout>O",
        "info-script=>F",
        "new-volume-script=>F",
        "rsh-command=",
        "rmt-command=",
        "files-from=>T",
        "exclude-from=>X",
        "add-file=",
        "owner-map=",
        "group-map=",
        "listed-incremental=>g",
        "incremental>G",
        "index-file=",
        "volno-file=",
        "remove-files",
        "recursive-unlink",
        "one-top-level==",
        "force-local",
        "absolute-names>P",
        "auto-compress>a",
        "no-auto-compress",
        "read-full-records>B",
        "blocking-factor=>b",
        "record-size=",
        "tape-length=>L",
        "dereference>h",
        "hard-dereference",
        "format=>H",
        "ignore-zeros>i",
        "bzip2>j",
        "xz>J",
        "lzip",
        "lzma",
        "lzop",
        "gzip>z",
        "gunzip>z",
        "ungzip>z",
        "zstd",
        "compress>Z",
        "uncompress>Z",
        "keep-old-files>k",
        "keep-newer-files",
        "skip-old-files",
        "overwrite",
        "overwrite-dir",
        "no-overwrite-dir",
        "keep-directory-symlink",
        "touch>m",
        "seek>n",
        "no-seek",
        "newer=>N",
        "after-date=>N",
        "newer-mtime=",
        "mtime=",
        "clamp-mtime",
        "group=",
        "owner=",
        "mode=",
        "sort=",
        "pax-option=",
        "label=>V",
        "strip-components=",
        "transform=",
        "xform=",
        "quoting-style=",
        "quote-chars=",
        "no-quote-chars=",
        "hole-detection=",
        "sparse-version=",
        "suffix=",
        "warning=",
        "xattrs-exclude=",
        "xattrs-include=",
        "starting-file=>K",
        "level=",
        "exclude=",
        "exclude-ignore=",
        "exclude-ignore-recursive=",
        "exclude-tag=",
        "exclude-tag-all=",
        "exclude-tag-under=",
        "exclude-backups",
        "exclude-caches",
        "exclude-caches-all",
        "exclude-caches-under",
        "exclude-vcs",
        "exclude-vcs-ignores",
        "include=",
        "options=",
        "uid=",
        "gid=",
        "uname=",
        "gname=",
        "atime-preserve==",
        "backup==",
        "occurrence==",
        "same-owner",
        "no-same-owner>o",
        "preserve-permissions>p",
        "same-permissions>p",
        "no-same-permissions",
        "block-number>R",
        "preserve-order>s",
        "same-order>s",
        "sparse>S",
        "unlink-first>U",
        "verbose>v",
        "interactive>w",
        "confirmation>w",
        "verify>W",
        "check-device",
        "no-check-device",
        "full-time",
        "utc",
        "totals==",
        "show-defaults",
        "show-omitted-dirs",
        "show-transformed-names",
        "show-stored-names",
        "anchored",
        "no-anchored",
        "wildcards",
        "no-wildcards",
        "wildcards-match-slash",
        "no-wildcards-match-slash",
        "ignore-case",
        "no-ignore-case",
        "recursion",
        "no-recursion",
        "one-file-system",
        "null",
        "no-null",
        "verbatim-files-from",
        "no-verbatim-files-from",
        "unquote",
        "no-unquote",
        "numeric-owner",
        "old-archive",
        "portability",
        "posix",
        "multi-volume>M",
        "ignore-failed-read",
        "delay-directory-restore",
        "no-delay-directory-restore",
        "ignore-command-error",
        "no-ignore-command-error",
        "acls",
        "no-acls",
        "selinux",
        "no-selinux",
        "xattrs",
        "no-xattrs",
        "restrict",
        "set-mtime-format=",
        "set-mtime-command=",
        "help",
        "usage",
        "version",
    ],
    permute: true,
};

/// How many changes of the directory are followed.
const CHANGES: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    Create,
    Change,
    Extract,
    List,
}

/// Reads the words behind `tar`.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    let words = modern(words);
    let sorted = OPTIONS.sort(&words);
    settle(reading, &sorted);
    // The tables know one directory for all operands; here each operand has its own.
    reading.options.retain(|option| !matches!(option.name.as_str(), "-C" | "-x"));
    reading.complete = true;

    programs(&sorted, carried);
    let mode = mode(&sorted);
    let site = words.first().map(|word| word.site).unwrap_or_default();
    archive(&sorted, mode, reading);
    for (name, kind) in [
        ("T", EffectKind::Read),
        ("X", EffectKind::Read),
        ("owner-map", EffectKind::Read),
        ("group-map", EffectKind::Read),
        ("g", EffectKind::Write),
        ("index-file", EffectKind::Write),
        ("volno-file", EffectKind::Write),
    ] {
        for file in sorted.values(name).filter(|file| file.exact() != Some("-")) {
            reading.deeds.push(on_path(kind, file));
        }
    }
    members(&words, &sorted, mode, site, reading);
    // Without an archive the default one is meant, a tape or the standard streams; only the modes
    // that list and compare, and an extraction to standard output, are known to change nothing.
    let only_reads = ["t", "d", "test-label", "O", "help", "usage", "version"];
    let is_told = reading.deeds.iter().any(|deed| !deed.kind.is_passive());
    if !is_told && !only_reads.iter().any(|name| sorted.has(name)) {
        reading.deeds.push(deed(EffectKind::Change, DeedObject::None, site));
    }
}

/// The words with an old-style first word (`xfC a.tar DIR`) written with dashes.
fn modern(words: &[Field]) -> Vec<Field> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    let Some(letters) = first.exact().filter(|text| !text.starts_with('-') && !text.is_empty())
    else {
        return words.to_vec();
    };
    let mut rest = rest.iter();
    let mut out = Vec::new();
    for letter in letters.chars() {
        out.push(Field::literal(format!("-{letter}"), first.site));
        if OPTIONS.short.contains(&format!("{letter}:")) {
            out.extend(rest.next().cloned());
        }
    }
    out.extend(rest.cloned());
    out
}

fn mode(sorted: &Sorted) -> Mode {
    let mut found = Mode::List;
    for Given { name, .. } in &sorted.options {
        match name.as_str() {
            "x" => return Mode::Extract,
            "c" => found = Mode::Create,
            "r" | "u" | "A" | "delete" if found == Mode::List => found = Mode::Change,
            _ => {}
        }
    }
    found
}

/// Options that name a program or hold shell text.
fn programs(sorted: &Sorted, carried: &mut Vec<Carried>) {
    for Given { name, value, .. } in &sorted.options {
        let Some(value) = value else { continue };
        let found = match name.as_str() {
            "I" | "F" | "rsh-command" | "rmt-command" | "set-mtime-command" => {
                script(value.text.clone(), CodePlace::Helper, value.site)
            }
            "to-command" => script(value.text.clone(), CodePlace::Option, value.site),
            "checkpoint-action" => match split(&value.text, '=') {
                Some((action, text)) if action == "exec" => {
                    script(text, CodePlace::Option, value.site)
                }
                None if value.text.has_unknown() => {
                    script(value.text.clone(), CodePlace::Option, value.site)
                }
                _ => continue,
            },
            _ => continue,
        };
        if !carried.contains(&found) {
            carried.push(found);
        }
    }
}

fn archive(sorted: &Sorted, mode: Mode, reading: &mut Reading) {
    let kinds: &[EffectKind] = match mode {
        Mode::Create => &[EffectKind::Write],
        Mode::Change => &[EffectKind::Read, EffectKind::Write],
        Mode::Extract | Mode::List => &[EffectKind::Read],
    };
    for file in sorted.values("f") {
        if file.exact() == Some("-") {
            continue;
        }
        let remote = split(&file.text, ':')
            .filter(|(host, _)| !host.contains('/') && !sorted.has("force-local"));
        if let Some((host, _)) = remote {
            let kind = if mode == Mode::Create { EffectKind::Send } else { EffectKind::Receive };
            reading.deeds.push(deed(kind, DeedObject::Host(Text::literal(host)), file.site));
            continue;
        }
        for kind in kinds {
            reading.deeds.push(on_path(*kind, file));
        }
    }
}

/// Walks the words once more, since `-C` holds for the operands behind it.
fn members(words: &[Field], sorted: &Sorted, mode: Mode, site: Site, reading: &mut Reading) {
    let mut directory: Option<Text> = None;
    let mut entered: Vec<Field> = Vec::new();
    let mut found: Vec<(Text, Site)> = Vec::new();
    let mut rest = words;
    while let [_, ..] = rest {
        // The shortest beginning that gives one operand or one whole option.
        let mut length = 1;
        let mut part = OPTIONS.sort(rest.get(..1).unwrap_or_default());
        let needs_value = part
            .options
            .last()
            .is_some_and(|given| given.value.is_none() && takes_value(&given.name));
        if needs_value && rest.len() > 1 {
            length = 2;
            part = OPTIONS.sort(rest.get(..2).unwrap_or_default());
        }
        if rest.first().and_then(Field::exact) == Some("--") {
            for operand in rest.get(1..).unwrap_or_default() {
                found.push((join(directory.as_ref(), &operand.text), operand.site));
            }
            break;
        }
        for given in &part.options {
            match (given.name.as_str(), &given.value) {
                ("C", Some(value)) => {
                    directory = Some(if entered.len() < CHANGES {
                        join(directory.as_ref(), &value.text)
                    } else {
                        Text::unknown(Unknown::Limit)
                    });
                    let text = directory.clone().unwrap_or_default();
                    if entered.len() <= CHANGES {
                        entered.push(Field { text, ..value.clone() });
                    }
                }
                ("add-file", Some(value)) => {
                    found.push((join(directory.as_ref(), &value.text), value.site));
                }
                _ => {}
            }
        }
        for operand in &part.operands {
            found.push((join(directory.as_ref(), &operand.text), operand.site));
        }
        rest = rest.get(length..).unwrap_or_default();
    }
    for place in &entered {
        reading.deeds.push(on_path(EffectKind::Enter, place));
    }
    match mode {
        Mode::Create | Mode::Change => {
            let removes = sorted.has("remove-files");
            for (path, site) in found {
                if removes {
                    let mut deed = on_text(EffectKind::Delete, path.clone(), site);
                    deed.recursive = Truth::Yes;
                    reading.deeds.push(deed);
                }
                reading.deeds.push(on_text(EffectKind::Read, path, site));
            }
            if sorted.has("T") && removes {
                let path = Text::unknown(Unknown::Input);
                reading.deeds.push(on_text(EffectKind::Delete, path, site));
            }
        }
        Mode::Extract if !sorted.has("O") && !sorted.has("to-command") => {
            let places: Vec<(Text, Site)> = if entered.is_empty() {
                vec![(Text::literal("."), site)]
            } else {
                entered.into_iter().map(|field| (field.text, field.site)).collect()
            };
            let below = sorted.last("one-top-level");
            for (place, site) in places {
                let place = match below {
                    Some(below) => join(Some(&place), &below.text),
                    None => place,
                };
                reading.deeds.push(on_text(EffectKind::Fill, place.clone(), site));
                if sorted.has("recursive-unlink") {
                    reading.deeds.push(on_text(EffectKind::Delete, place, site));
                }
            }
        }
        Mode::Extract | Mode::List => {}
    }
}

fn takes_value(name: &str) -> bool {
    OPTIONS.short.contains(&format!("{name}:"))
        || OPTIONS.long.iter().any(|entry| {
            entry
                .split('>')
                .next()
                .is_some_and(|own| own.strip_suffix('=') == Some(name) && !name.ends_with('='))
        })
}

/// A path seen from a directory.
fn join(directory: Option<&Text>, path: &Text) -> Text {
    let is_absolute = path.prefix().starts_with(['/', '~']);
    let Some(directory) = directory.filter(|_| !is_absolute) else { return path.clone() };
    let mut out = directory.clone();
    if known(directory).is_none_or(|text| !text.ends_with('/')) {
        out.push(Piece::Literal("/".into()));
    }
    out.extend(path);
    out
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::span::Site;
    use crate::model::trace::{DeedObject, Reading};
    use crate::model::value::Field;

    fn deeds(line: &str) -> Vec<String> {
        let words: Vec<Field> =
            line.split(' ').map(|word| Field::literal(word, Site::default())).collect();
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        read(&words, &mut reading, &mut carried);
        assert!(reading.doubts.is_empty(), "{line}: {:?}", reading.doubts);
        let mut out: Vec<String> = reading
            .deeds
            .iter()
            .map(|deed| match &deed.object {
                DeedObject::Path(path) => format!("{} {}", deed.kind.name(), path.display()),
                _ => deed.kind.name().to_owned(),
            })
            .collect();
        out.extend(carried.iter().map(|_| "code".to_owned()));
        out
    }

    #[test]
    fn modes_and_directories() {
        assert_eq!(deeds("-tzf a.tgz"), ["read a.tgz"]);
        assert_eq!(deeds("xfC a.tar /usr"), ["read a.tar", "enter /usr", "fill /usr"]);
        assert_eq!(deeds("-xf a.tar"), ["read a.tar", "fill ."]);
        assert_eq!(deeds("-xf a.tar -C ../out x"), ["read a.tar", "enter ../out", "fill ../out"]);
        assert_eq!(
            deeds("czf o.tgz a -C /etc hosts"),
            ["write o.tgz", "enter /etc", "read a", "read /etc/hosts"]
        );
        assert_eq!(deeds("-cf a.tar --remove-files b"), ["write a.tar", "delete b", "read b"]);
        assert_eq!(
            deeds("-tf a.tar --checkpoint --checkpoint-act=exec=./x"),
            ["read a.tar", "code"]
        );
        assert_eq!(deeds("xOf a.tar"), ["read a.tar"]);
        assert_eq!(deeds("c src"), ["read src", "change"]);
        assert_eq!(deeds("-cf h:a.tar x"), ["send", "read x"]);
        assert_eq!(deeds("xf a.tar --use-compress-program ./x"), ["read a.tar", "fill .", "code"]);
    }
}
