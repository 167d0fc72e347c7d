//! Where the paths of a command truly lead.

use std::path::{Path, PathBuf};

use crate::guard::{Link, Named};

/// Paths of one command that are looked up, patterns expanded.
const MOST_PATHS: usize = 2_000;
/// Names of one folder that a pattern is held against.
const MOST_NAMES: usize = 10_000;
/// Paths that lead elsewhere and are told.
const MOST_TOLD: usize = 50;
/// Links that are followed one after the other, as the kernel does.
const MOST_HOPS: usize = 40;

/// Those of the paths that lead elsewhere than their names say; those that leave the roots come first.
/// None where there were too many to look at. A path that is not there leads where it would be made.
pub(super) fn look(roots: &[String], named: &[Named]) -> Option<Vec<Link>> {
    let mut left = MOST_PATHS;
    let mut links = Vec::new();
    for one in named {
        let paths =
            if one.is_pattern { expand(&one.path, left)? } else { vec![PathBuf::from(&one.path)] };
        left = left.checked_sub(paths.len())?;
        for path in paths {
            let real = if one.follows { real(&path, MOST_HOPS) } else { beside(&path) };
            if real != path {
                links.push(Link {
                    path: path.to_string_lossy().into_owned(),
                    real: real.to_string_lossy().into_owned(),
                    writes: one.writes,
                });
            }
        }
    }
    let stays = |link: &Link| roots.iter().any(|root| Path::new(&link.real).starts_with(root));
    links.sort_by_key(stays);
    links.truncate(MOST_TOLD);
    Some(links)
}

/// Where a path leads when all links on the way are followed.
fn real(path: &Path, hops: usize) -> PathBuf {
    if let Ok(real) = std::fs::canonicalize(path) {
        return real;
    }
    let whole = beside(path);
    match std::fs::read_link(&whole) {
        Ok(target) if hops > 0 => {
            let from = whole.parent().unwrap_or(Path::new("/"));
            real(&from.join(target), hops - 1)
        }
        _ => whole,
    }
}

/// The path itself, when all links on the way to it are followed.
fn beside(path: &Path) -> PathBuf {
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent, MOST_HOPS).join(name),
        _ => path.to_owned(),
    }
}

/// The names a pattern stands for; none where there are more than `limit`.
fn expand(pattern: &str, limit: usize) -> Option<Vec<PathBuf>> {
    let mut found = vec![PathBuf::from("/")];
    let mut is_open = false;
    for step in pattern.split('/').filter(|step| !step.is_empty()) {
        let mut next = Vec::new();
        if !is_pattern(step) {
            let name = plain(step);
            // Behind a pattern only what is there is meant.
            let is_there = |path: &PathBuf| !is_open || path.symlink_metadata().is_ok();
            next.extend(found.into_iter().map(|path| path.join(&name)).filter(is_there));
            found = next;
            continue;
        }
        is_open = true;
        for folder in found {
            // What cannot be listed has no names, as in a shell.
            let Ok(entries) = std::fs::read_dir(&folder) else { continue };
            for (count, entry) in entries.flatten().enumerate() {
                let name = entry.file_name();
                let text = name.to_string_lossy();
                let is_hidden = text.starts_with('.') && !step.starts_with('.');
                if !is_hidden && matches(step, &text) {
                    next.push(folder.join(&name));
                }
                if count >= MOST_NAMES || next.len() > limit {
                    return None;
                }
            }
        }
        found = next;
    }
    Some(found)
}

fn is_pattern(step: &str) -> bool {
    let mut characters = step.chars();
    while let Some(character) = characters.next() {
        match character {
            '\\' => drop(characters.next()),
            '*' | '?' => return true,
            _ => {}
        }
    }
    false
}

fn plain(step: &str) -> String {
    let mut characters = step.chars();
    let mut out = String::new();
    while let Some(character) = characters.next() {
        out.push(if character == '\\' { characters.next().unwrap_or('\\') } else { character });
    }
    out
}

/// Whether a name is one of those a step of a pattern stands for.
fn matches(step: &str, name: &str) -> bool {
    let mut signs = step.chars();
    // Which beginnings of the step stand for what was read so far.
    let mut parts: Vec<Option<char>> = Vec::new();
    let mut stars = Vec::new();
    while let Some(sign) = signs.next() {
        match sign {
            '*' => stars.push(parts.len()),
            '?' => parts.push(None),
            '\\' => parts.push(signs.next()),
            other => parts.push(Some(other)),
        }
    }
    let mut reached = vec![false; parts.len() + 1];
    if let Some(start) = reached.first_mut() {
        *start = true;
    }
    for character in name.chars() {
        let mut next = vec![false; parts.len() + 1];
        for (at, _) in reached.iter().enumerate().filter(|(_, is_reached)| **is_reached) {
            if stars.contains(&at)
                && let Some(same) = next.get_mut(at)
            {
                *same = true;
            }
            let fits = parts.get(at).is_some_and(|part| part.is_none_or(|own| own == character));
            if fits && let Some(behind) = next.get_mut(at + 1) {
                *behind = true;
            }
        }
        reached = next;
    }
    reached.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    #[test]
    fn patterns_are_matched() {
        for (step, name, fits) in [
            ("*", "a", true),
            ("*.txt", "a.txt", true),
            ("*.txt", "a.txt.gz", false),
            ("a*b*c", "a-b-b-c", true),
            ("a*b*c", "a-c-b", false),
            ("a?c", "abc", true),
            ("a?c", "ac", false),
            (r"a\*", "a*", true),
            (r"a\*", "ab", false),
            ("**", "ab", true),
            ("ä?", "äö", true),
        ] {
            assert_eq!(matches(step, name), fits, "{step} {name}");
        }
    }

    #[test]
    fn links_are_found() {
        let folder = std::env::temp_dir().join(format!("shellgate-links-{}", uuid::Uuid::new_v4()));
        let root = folder.join("root");
        std::fs::create_dir_all(root.join("src")).unwrap();
        let root = root.canonicalize().unwrap();
        let away = root.parent().unwrap().join("away");
        std::fs::create_dir(&away).unwrap();
        std::fs::write(away.join("x.txt"), "x").unwrap();
        std::fs::write(root.join("src/a.txt"), "a").unwrap();
        symlink("../away/x.txt", root.join("x.txt")).unwrap();
        symlink(&away, root.join("way")).unwrap();
        symlink("src/a.txt", root.join("in.txt")).unwrap();
        symlink("../away/new", root.join("hanging")).unwrap();
        symlink("round", root.join("round")).unwrap();
        let roots = [root.to_str().unwrap().to_owned()];
        let told = |path: &str, is_pattern: bool, follows: bool| -> Vec<String> {
            let path = format!("{}/{path}", roots[0]);
            let named = Named { path, is_pattern, follows, writes: false };
            let links = look(&roots, &[named]).unwrap();
            let base = root.parent().unwrap().to_str().unwrap();
            links.iter().map(|link| link.real.replacen(base, "", 1)).collect()
        };
        let none: [&str; 0] = [];
        assert_eq!(told("src/a.txt", false, true), none);
        assert_eq!(told("no/such", false, true), none);
        assert_eq!(told("x.txt", false, true), ["/away/x.txt"]);
        assert_eq!(told("x.txt", false, false), none);
        assert_eq!(told("way", false, false), none);
        assert_eq!(told("way/x.txt", false, false), ["/away/x.txt"]);
        assert_eq!(told("way/fresh/deep", false, true), ["/away/fresh/deep"]);
        assert_eq!(told("hanging", false, true), ["/away/new"]);
        assert_eq!(told("round", false, true), none);
        assert_eq!(told("in.txt", false, true), ["/root/src/a.txt"]);
        // Those that lead out come first.
        assert_eq!(told("*.txt", true, true), ["/away/x.txt", "/root/src/a.txt"]);
        assert_eq!(told("*/x.txt", true, true), ["/away/x.txt"]);
        assert_eq!(told("src/*", true, true), none);
        // What lies behind a step up is not where the name says.
        assert_eq!(told("way/../y", false, true), ["/y"]);
        std::fs::remove_dir_all(folder).unwrap();
    }
}
