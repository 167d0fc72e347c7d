//! Container runners: mounts, and what the inner command does to the host through them
//! (docker run(1), podman-run(1), compose).

use crate::model::fact::EffectKind;
use crate::model::trace::{Carried, DeedObject, OptionUse, Reading};
use crate::model::utility::CarryScope;
use crate::model::value::{Field, Piece, Text};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::words::{command, deed, drop_bytes, known, on_text, split, split_all};

/// What stands for a path inside the container that no mount leads out of.
const INSIDE: &str = "path-inside-the-container";

/// How many mounts are followed.
const MOUNTS: usize = 32;

/// A directory of the host and the path it has inside.
struct Mount {
    host: Text,
    inside: String,
}

/// Reads the options of `run`, `exec` and their kin.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    if scene.catalog.get(scene.id) != Some(scene.utility) {
        // The runner's own options are the tables'.
        return;
    }
    let mut mounts = Vec::new();
    let mut workdir = None;
    let mut entrypoint = None;
    let options: Vec<OptionUse> = reading.options.clone();
    for option in &options {
        let is = |names: &[&str]| {
            names.iter().any(|name| *name == option.name || *name == option.spelled)
        };
        let Some(value) = &option.value else {
            if is(&["--privileged"]) {
                reading.deeds.push(deed(EffectKind::Privilege, DeedObject::None, option.site));
            }
            continue;
        };
        if is(&["-v", "--volume"]) {
            volume(value, reading, &mut mounts);
        } else if is(&["--mount"]) {
            mount(value, reading, &mut mounts);
        } else if is(&["--device"]) {
            let host = split_all(&value.text, ':').into_iter().next().unwrap_or_default();
            reading.deeds.push(on_text(EffectKind::Touch, host, value.site));
        } else if is(&["-w", "--workdir"]) {
            workdir = Some(value.clone());
        } else if is(&["--entrypoint"]) {
            entrypoint = Some(value.clone());
        }
    }
    if let Some(entry) = entrypoint {
        let mut words = vec![entry];
        words.extend(reading.operands.iter().skip(1).cloned());
        carried.push(command(words, CarryScope::Container));
    }
    if mounts.is_empty() {
        return;
    }
    let directory = workdir.as_ref().and_then(|dir| map(&dir.text, &mounts));
    let inner: Vec<Vec<Field>> = carried
        .iter()
        .filter_map(|carried| match carried {
            Carried::Command { words, scope: CarryScope::Container, .. } => Some(words.clone()),
            _ => None,
        })
        .collect();
    for words in inner {
        if let Some(words) = outside(&words, &mounts, directory.is_some()) {
            let mut outer = command(words, CarryScope::Local);
            if let Carried::Command { directory: own, .. } = &mut outer {
                own.clone_from(&directory);
            }
            carried.push(outer);
        }
    }
}

/// `[HOST:]INSIDE[:OPTIONS]`; a host part without a slash is the name of a volume.
fn volume(value: &Field, reading: &mut Reading, mounts: &mut Vec<Mount>) {
    let parts = split_all(&value.text, ':');
    let [host, inside, options @ ..] = parts.as_slice() else {
        // A value that is not known may name any directory of the host.
        if value.text.prefix().is_empty() && value.text.has_unknown() {
            add(&value.text, None, false, value, reading, mounts);
        }
        return;
    };
    let is_path = host.prefix().starts_with(['/', '.', '~']) || host.prefix().is_empty();
    if !is_path || host.is_empty() {
        return;
    }
    let read_only = options.iter().any(|text| text.display().split(',').any(|word| word == "ro"));
    add(host, inside.exact(), read_only, value, reading, mounts);
}

/// `type=bind,source=HOST,target=INSIDE,readonly`.
fn mount(value: &Field, reading: &mut Reading, mounts: &mut Vec<Mount>) {
    let (mut host, mut inside, mut read_only, mut bind) = (None, None, false, false);
    for part in split_all(&value.text, ',') {
        match split(&part, '=') {
            Some((name, text)) => match name.as_str() {
                "source" | "src" => host = Some(text),
                "target" | "dst" | "destination" => inside = Some(text),
                "readonly" | "ro" => read_only = text.exact() != Some("false"),
                "type" => bind = text.exact() == Some("bind"),
                _ => {}
            },
            None => read_only |= matches!(part.exact(), Some("readonly" | "ro")),
        }
    }
    if let (Some(host), true) = (host, bind) {
        let inside = inside.unwrap_or_default();
        add(&host, inside.exact(), read_only, value, reading, mounts);
    }
}

fn add(
    host: &Text,
    inside: Option<&str>,
    read_only: bool,
    value: &Field,
    reading: &mut Reading,
    mounts: &mut Vec<Mount>,
) {
    let kind = if read_only { EffectKind::List } else { EffectKind::Touch };
    reading.deeds.push(on_text(kind, host.clone(), value.site));
    let inside = inside.filter(|inside| inside.starts_with('/') && mounts.len() < MOUNTS);
    if let Some(inside) = inside {
        let inside = inside.trim_end_matches('/').to_owned();
        mounts.push(Mount { host: host.clone(), inside });
    }
}

/// The words as the host sees them, where one of them is below a mount; words that are paths of the
/// container alone name nothing here.
fn outside(words: &[Field], mounts: &[Mount], in_mount: bool) -> Option<Vec<Field>> {
    let mut any = in_mount;
    let mut out = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let text = match map(&word.text, mounts).or_else(|| map_inside(&word.text, mounts)) {
            Some(text) => {
                any = true;
                text
            }
            None if at > 0 && word.text.prefix().starts_with('/') => Text::literal(INSIDE),
            None => word.text.clone(),
        };
        out.push(Field { text, ..word.clone() });
    }
    any.then_some(out)
}

/// A path below a mount as a path of the host.
fn map(path: &Text, mounts: &[Mount]) -> Option<Text> {
    let prefix = path.prefix();
    let best = mounts
        .iter()
        .filter(|mount| {
            prefix
                .strip_prefix(mount.inside.as_str())
                .is_some_and(|rest| rest.starts_with('/') || (rest.is_empty() && path.is_exact()))
        })
        .max_by_key(|mount| mount.inside.len())?;
    Some(joined(best, &drop_bytes(path, best.inside.len())?))
}

fn joined(mount: &Mount, rest: &Text) -> Text {
    let mut out = mount.host.clone();
    let ends = known(&mount.host).is_some_and(|text| text.ends_with('/'));
    let rest = if ends && rest.prefix().starts_with('/') {
        drop_bytes(rest, 1).unwrap_or_default()
    } else {
        rest.clone()
    };
    out.extend(&rest);
    out
}

/// A longer text, such as a script, in which paths below a mount stand behind a blank or a sign.
fn map_inside(text: &Text, mounts: &[Mount]) -> Option<Text> {
    let mut out = Text::empty();
    let mut any = false;
    for piece in text.pieces() {
        let Piece::Literal(literal) = piece else {
            out.push(piece.clone());
            continue;
        };
        let mut before = ' ';
        let mut rest = literal.as_str();
        while let Some(c) = rest.chars().next() {
            let begins = !before.is_alphanumeric() && !matches!(before, '/' | '.' | '_' | '-');
            let hit = mounts.iter().filter(|_| begins && c == '/').find(|mount| {
                !mount.inside.is_empty()
                    && rest.strip_prefix(mount.inside.as_str()).is_some_and(|behind| {
                        behind
                            .chars()
                            .next()
                            .is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '.' | '_' | '-'))
                    })
            });
            if let Some(mount) = hit {
                any = true;
                let behind = rest.get(mount.inside.len()..).unwrap_or_default();
                let slash = behind.starts_with('/');
                let ends = known(&mount.host).is_some_and(|text| text.ends_with('/'));
                out.extend(&mount.host);
                rest = if slash && ends { behind.get(1..).unwrap_or_default() } else { behind };
                before = 'x';
                continue;
            }
            out.push_str(c.encode_utf8(&mut [0; 4]));
            before = c;
            rest = rest.get(c.len_utf8()..).unwrap_or_default();
        }
    }
    any.then_some(out)
}

#[cfg(test)]
mod tests {
    use super::{Mount, outside};
    use crate::model::span::Site;
    use crate::model::value::{Field, Text};

    #[test]
    fn paths_below_a_mount_are_the_host_s() {
        let mounts = [
            Mount { host: Text::literal("/"), inside: "/h".into() },
            Mount { host: Text::literal("/srv/app"), inside: "/w".into() },
        ];
        let seen = |words: &[&str]| {
            let words: Vec<Field> =
                words.iter().map(|word| Field::literal(*word, Site::default())).collect();
            outside(&words, &mounts, false).map(|words| {
                words.iter().map(|word| word.text.display()).collect::<Vec<_>>().join(" ")
            })
        };
        assert_eq!(seen(&["rm", "-rf", "/h/etc"]).as_deref(), Some("rm -rf /etc"));
        assert_eq!(seen(&["ls", "/h"]).as_deref(), Some("ls /"));
        assert_eq!(
            seen(&["cp", "/tmp/x", "/w/y"]).as_deref(),
            Some("cp path-inside-the-container /srv/app/y")
        );
        assert_eq!(seen(&["rm", "-rf", "/tmp/x", "/home"]), None);
        assert_eq!(
            seen(&["sh", "-c", "rm -rf /h/etc /hx; ls /h"]).as_deref(),
            Some("sh -c rm -rf /etc /hx; ls /")
        );
    }
}
