//! `git push`: options, remote and refspecs (git-push(1), Git 2.47).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::value::{Arity, Field, Text, Truth};
use crate::resolve::grammar::words::{Options, deed, drop_bytes, script, settle, split_all};

const OPTIONS: Options = Options {
    short: "vqndfu46o:",
    long: &[
        "verbose>v",
        "quiet>q",
        "no-quiet",
        "no-verbose",
        "repo=",
        "all",
        "no-all",
        "branches",
        "no-branches",
        "mirror",
        "no-mirror",
        "delete>d",
        "no-delete",
        "tags",
        "no-tags",
        "dry-run>n",
        "no-dry-run",
        "porcelain",
        "force>f",
        "no-force",
        "force-with-lease==",
        "no-force-with-lease",
        "force-if-includes",
        "no-force-if-includes",
        "recurse-submodules=",
        "no-recurse-submodules",
        "thin",
        "no-thin",
        "receive-pack=",
        "exec=",
        "set-upstream>u",
        "no-set-upstream",
        "progress",
        "no-progress",
        "prune",
        "no-prune",
        "verify",
        "no-verify",
        "follow-tags",
        "no-follow-tags",
        "signed==",
        "no-signed",
        "atomic",
        "no-atomic",
        "push-option=>o",
        "ipv4>4",
        "ipv6>6",
    ],
    permute: true,
};

/// Reads the words behind `push`; `settings` are those that `-c` gives for this one command.
pub(super) fn read(
    words: &[Field],
    settings: &[Field],
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) {
    let sorted = OPTIONS.sort(words);
    let last_of = |yes: &[&str], no: &[&str]| {
        sorted
            .options
            .iter()
            .rev()
            .find(|given| yes.contains(&given.name.as_str()) || no.contains(&given.name.as_str()))
            .is_some_and(|given| yes.contains(&given.name.as_str()))
    };
    for name in ["receive-pack", "exec"] {
        for value in sorted.values(name) {
            carried.push(script(value.text.clone(), CodePlace::Helper, value.site));
        }
    }
    let mirrors = |setting: &Field| {
        let text = setting.text.display().to_ascii_lowercase();
        text.starts_with("remote.") && text.ends_with(".mirror=true")
    };
    let mirror = last_of(&["mirror"], &["no-mirror"]) || settings.iter().any(mirrors);
    let all = last_of(&["all", "branches"], &["no-all", "no-branches"]);
    let deletes = last_of(&["d"], &["no-delete"]);
    let prune = last_of(&["prune"], &["no-prune"]);
    let mut force = Truth::from(
        mirror
            || last_of(&["f"], &["no-force"])
            || last_of(&["force-with-lease"], &["no-force-with-lease"]),
    );
    let hidden_option = |field: &Field| {
        field.arity == Arity::Many && field.text.prefix().is_empty() && field.text.has_unknown()
    };
    if sorted.operands.iter().any(hidden_option) {
        force = force.or(Truth::Maybe);
    }
    settle(reading, &sorted);
    reading.complete = true;

    let site = words.first().map(|word| word.site).unwrap_or_default();
    let mut operands = sorted.operands.iter();
    let remote = sorted.last("repo").or_else(|| operands.next());
    if let Some(remote) = remote {
        reading.deeds.push(deed(
            EffectKind::Send,
            DeedObject::Host(remote.text.clone()),
            remote.site,
        ));
    } else {
        reading.deeds.push(deed(EffectKind::Send, DeedObject::None, site));
    }
    let mut push = |kind: EffectKind, name: DeedObject, force: Truth, site: Site| {
        let mut deed = deed(kind, name, site);
        deed.force = force;
        reading.deeds.push(deed);
    };
    if mirror || all {
        push(EffectKind::Push, branch("*"), force, site);
        if prune || mirror {
            push(EffectKind::DeleteBranch, branch("*"), force, site);
        }
        return;
    }
    if prune {
        push(EffectKind::DeleteBranch, branch("*"), Truth::Maybe, site);
    }
    let refspecs: Vec<&Field> = operands.collect();
    // Where `--repo` is given as well, an operand that is a remote comes before it.
    let first_may_be_remote = sorted.has("repo") && refspecs.len() == 1;
    let matching = settings.iter().any(|setting| {
        let text = setting.text.display().to_ascii_lowercase();
        text == "push.default=matching" || (text.starts_with("remote.") && text.contains(".push="))
    });
    if (refspecs.is_empty() || first_may_be_remote) && matching {
        push(EffectKind::Push, branch("*"), force, site);
    }
    if refspecs.is_empty() || first_may_be_remote {
        if sorted.has("tags") {
            push(EffectKind::Push, DeedObject::Name(Text::literal("refs/tags/*")), force, site);
        } else {
            let kind = if deletes { EffectKind::DeleteBranch } else { EffectKind::Push };
            push(kind, branch(""), force, site);
        }
    }
    let mut after_tag = false;
    for refspec in refspecs {
        if after_tag || refspec.exact() == Some("tag") {
            if after_tag {
                push(EffectKind::Push, DeedObject::Name(refspec.text.clone()), force, refspec.site);
            }
            after_tag = !after_tag;
            continue;
        }
        let plus = refspec.text.prefix().starts_with('+');
        let text = if plus {
            drop_bytes(&refspec.text, 1).unwrap_or_default()
        } else {
            refspec.text.clone()
        };
        let parts = split_all(&text, ':');
        let (source, destination) = match parts.as_slice() {
            [source, .., destination] => (source, destination),
            [only] => (only, only),
            [] => continue,
        };
        let own_force = force.or(Truth::from(plus));
        // A word of unknown text may hold a plus or a colon of its own.
        let own_force = if text.prefix().is_empty() && text.has_unknown() {
            own_force.or(Truth::Maybe)
        } else {
            own_force
        };
        let is_pair = parts.len() > 1;
        if is_pair && source.is_empty() && destination.is_empty() {
            push(EffectKind::Push, branch("*"), own_force, refspec.site);
            continue;
        }
        let removes = deletes || (is_pair && source.is_empty());
        let kind = if removes { EffectKind::DeleteBranch } else { EffectKind::Push };
        let object = destination_of(destination);
        push(kind, object, own_force, refspec.site);
    }
}

fn branch(name: &str) -> DeedObject {
    DeedObject::Branch(Text::literal(name))
}

/// The branch a destination names; other refs are plain names.
fn destination_of(text: &Text) -> DeedObject {
    if text.has_glob() || text.display().contains('*') {
        let is_tag = text.display().starts_with("refs/tags/");
        return if is_tag { DeedObject::Name(text.clone()) } else { branch("*") };
    }
    let prefix = text.prefix();
    for place in ["refs/heads/", "heads/"] {
        if prefix.starts_with(place) {
            return DeedObject::Branch(drop_bytes(text, place.len()).unwrap_or_default());
        }
    }
    if prefix.starts_with("refs/tags/") || prefix.starts_with("tags/") {
        return DeedObject::Name(text.clone());
    }
    if text.exact() == Some("@") {
        return branch("HEAD");
    }
    DeedObject::Branch(text.clone())
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::fact::EffectKind;
    use crate::model::span::Site;
    use crate::model::trace::{DeedObject, Reading};
    use crate::model::value::{Field, Truth};

    fn refs(line: &str) -> Vec<String> {
        let words: Vec<Field> =
            line.split_whitespace().map(|word| Field::literal(word, Site::default())).collect();
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        read(&words, &[], &mut reading, &mut carried);
        reading
            .deeds
            .iter()
            .filter(|deed| deed.kind != EffectKind::Send)
            .map(|deed| {
                let sign = match deed.kind {
                    EffectKind::DeleteBranch => "-",
                    _ if deed.force == Truth::Yes => "+",
                    _ => "",
                };
                match &deed.object {
                    DeedObject::Branch(name) => format!("{sign}{}", name.display()),
                    DeedObject::Name(name) => format!("{sign}:{}", name.display()),
                    _ => String::new(),
                }
            })
            .collect()
    }

    #[test]
    fn destinations_show() {
        assert_eq!(refs("--force origin main"), ["+main"]);
        assert_eq!(refs("origin main --force-w"), ["+main"]);
        assert_eq!(refs("origin HEAD:refs/heads/main"), ["main"]);
        assert_eq!(refs("origin +main:x"), ["+x"]);
        assert_eq!(refs("origin :main"), ["-main"]);
        assert_eq!(refs("-d origin a b"), ["-a", "-b"]);
        assert_eq!(refs("-uf origin @"), ["+HEAD"]);
        assert_eq!(refs("-f"), ["+"]);
        assert_eq!(refs("--mirror"), ["+*", "-*"]);
        assert_eq!(refs("origin refs/heads/*:refs/heads/*"), ["*"]);
        assert_eq!(refs("--tags"), [":refs/tags/*"]);
        assert_eq!(refs("origin tag v1 -o ci.skip"), [":v1"]);
        assert_eq!(refs("--force --no-force origin main"), ["main"]);
        assert_eq!(refs("--repo=origin -f main"), ["+", "+main"]);
    }
}
