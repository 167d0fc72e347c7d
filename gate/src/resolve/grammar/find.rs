//! find: start points and expression (GNU findutils 4.10; BSD and bfs spellings where they differ).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, Doubt, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Arity, Field, Glob, Piece, Text, Truth, Unknown};
use crate::resolve::grammar::words::{command, is_stream, on_path, on_text, program, replace};

/// How many start points are followed into a carried command.
const STARTS: usize = 16;

/// How many names are told apart; with more of them any name is taken as possible.
const NAMES: usize = 16;

/// How many carried commands are followed.
const COMMANDS: usize = 512;

/// Reads the words behind `find`.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    reading.doubts.retain(|doubt| matches!(doubt, Doubt::Word(_)));
    let mut words = words.iter().peekable();
    let mut starts: Vec<Field> = Vec::new();
    // Options and start points, up to the first word of the expression.
    while let Some(word) = words.peek() {
        match word.exact() {
            Some("-H" | "-L" | "-P" | "-E" | "-X" | "-d" | "-s" | "-x" | "--") => {
                words.next();
            }
            Some("-D") => {
                words.next();
                words.next();
            }
            Some("-f") => {
                words.next();
                starts.extend(words.next().cloned());
            }
            Some(text) if text.starts_with("-O") => {
                words.next();
            }
            _ if begins_expression(word) => break,
            _ => starts.extend(words.next().cloned()),
        }
    }
    let mut expression: Vec<&Field> = words.collect();
    let names = names(&expression);
    // bfs and BSD take start points behind the expression too; GNU refuses them.
    expression.reverse();
    let mut from_file = false;
    let mut actions = Vec::new();
    // An unquoted value that is not known may split and bring in actions.
    for word in &expression {
        if word.arity == Arity::Many && word.text.has_unknown() && !word.text.is_empty() {
            reading.doubts.push(Doubt::Word(word.site));
        }
    }
    while let Some(word) = expression.pop() {
        let Some(name) = word.exact() else {
            // Not even a pattern is harmless here: the names it matches are predicates.
            reading.doubts.push(if word.text.prefix().starts_with('-') {
                Doubt::Option(word.text.display().into(), word.site)
            } else {
                Doubt::Word(word.site)
            });
            continue;
        };
        match name {
            "-exec" | "-execdir" | "-ok" | "-okdir" => {
                let mut inner = Vec::new();
                let mut several = false;
                while let Some(next) = expression.pop() {
                    match next.exact() {
                        Some(";") => break,
                        Some("+")
                            if inner
                                .last()
                                .is_some_and(|last: &&Field| last.exact() == Some("{}")) =>
                        {
                            several = true;
                            break;
                        }
                        _ => inner.push(next),
                    }
                }
                let mut inner: Vec<Field> = inner.into_iter().cloned().collect();
                if several && let Some(names) = inner.last_mut() {
                    names.arity = Arity::Many;
                }
                actions.push(Action::Run(inner, name.ends_with("dir")));
            }
            "-delete" | "-rm" => actions.push(Action::Delete(word)),
            "-fprint" | "-fprint0" | "-fls" => {
                if let Some(file) =
                    expression.pop().filter(|file| file.exact().is_none_or(|f| !is_stream(f)))
                {
                    reading.deeds.push(on_path(EffectKind::Write, file));
                }
            }
            "-fprintf" => {
                let file = expression.pop();
                expression.pop();
                if let Some(file) = file.filter(|file| file.exact().is_none_or(|f| !is_stream(f))) {
                    reading.deeds.push(on_path(EffectKind::Write, file));
                }
            }
            "-files0-from" => {
                from_file = true;
                if let Some(file) = expression.pop().filter(|file| file.exact() != Some("-")) {
                    reading.deeds.push(on_path(EffectKind::Read, file));
                }
            }
            "-newer" | "-anewer" | "-cnewer" | "-samefile" => {
                if let Some(file) = expression.pop() {
                    reading.deeds.push(on_path(EffectKind::List, file));
                }
            }
            name if name.starts_with("-newer") => {
                let file = expression.pop();
                if let Some(file) = file.filter(|_| !name.ends_with('t')) {
                    reading.deeds.push(on_path(EffectKind::List, file));
                }
            }
            name => match arity(name) {
                Some(count) => {
                    for _ in 0..count {
                        expression.pop();
                    }
                }
                None if name.starts_with('-') => {
                    reading.doubts.push(Doubt::Option(name.into(), word.site));
                }
                None => starts.push(word.clone()),
            },
        }
    }
    let site = words_site(&starts, reading);
    if from_file {
        starts.push(Field {
            text: Text::unknown(Unknown::Input),
            arity: Arity::One,
            site,
            quoted: true,
        });
    } else if starts.is_empty() {
        starts.push(Field::literal(".", site));
    }
    for start in &starts {
        reading.deeds.push(on_path(EffectKind::List, start));
    }
    reading.complete = true;
    for action in actions {
        match action {
            Action::Delete(word) => {
                for start in &starts {
                    delete(start, word, &names, reading);
                }
            }
            Action::Run(inner, in_directory) => {
                if inner.is_empty() {
                    continue;
                }
                if carried.len() > COMMANDS || starts.len() > STARTS {
                    let limit = Text::unknown(Unknown::Limit);
                    carried.push(program(Language::Shell, limit, CodePlace::Operand, site));
                }
                if carried.len() > COMMANDS {
                    return;
                }
                for start in starts.iter().take(STARTS) {
                    carried.extend(run(&inner, start, &names, in_directory));
                }
            }
        }
    }
}

enum Action<'a> {
    Delete(&'a Field),
    Run(Vec<Field>, bool),
}

fn words_site(starts: &[Field], reading: &Reading) -> crate::model::span::Site {
    starts.first().or(reading.operands.first()).map(|field| field.site).unwrap_or_default()
}

fn begins_expression(word: &Field) -> bool {
    word.text.prefix().starts_with('-') || matches!(word.exact(), Some("(" | ")" | "!" | ","))
}

fn delete(start: &Field, word: &Field, names: &[Text], reading: &mut Reading) {
    let mut deed = on_text(EffectKind::Delete, start.text.clone(), word.site);
    deed.names = names.to_vec();
    deed.recursive = Truth::Yes;
    reading.deeds.push(deed);
}

/// The carried commands for what lies below one start point; `names` are the last parts it can have,
/// or nothing where any name is possible.
fn run(inner: &[Field], start: &Field, names: &[Text], in_directory: bool) -> Vec<Carried> {
    let mut below = Text::empty();
    below.extend(&start.text);
    if !start.text.has_unknown() && !start.text.fill("").ends_with('/') {
        below.push_str("/");
    }
    below.push(Piece::Unknown(Unknown::Listed));
    let items: Vec<Text> = if names.is_empty() {
        vec![below.clone()]
    } else {
        let named = |name: &Text| {
            let mut item = below.clone();
            item.push_str("/");
            item.extend(name);
            item
        };
        names.iter().map(named).collect()
    };
    items
        .into_iter()
        .map(|item| {
            let words = inner
                .iter()
                .map(|word| Field { text: replace(&word.text, "{}", &item), ..word.clone() })
                .collect();
            let mut carried = command(words, CarryScope::Local);
            if in_directory && let Carried::Command { directory, .. } = &mut carried {
                *directory = Some(below.clone());
            }
            carried
        })
        .collect()
}

/// The patterns of `-name`, where every item must match one of them: one test that holds for the
/// whole expression, or a group in brackets of such tests alone joined by `-o`.
fn names(expression: &[&Field]) -> Vec<Text> {
    let mut depth = 0usize;
    let mut found: Vec<Text> = Vec::new();
    let mut group: Vec<Text> = Vec::new();
    let mut pure = true;
    let mut negated = false;
    let mut acted = false;
    let mut words = expression.iter();
    while let Some(word) = words.next() {
        let name = word.exact().unwrap_or_default();
        match name {
            "(" => {
                depth += 1;
                group.clear();
                pure = !negated && depth == 1;
            }
            ")" => {
                depth = depth.saturating_sub(1);
                if depth == 0 && pure && !acted && !group.is_empty() {
                    found = std::mem::take(&mut group);
                }
                negated = false;
            }
            "!" | "-not" => {
                negated = true;
                pure = false;
            }
            "-o" | "-or" | "," if depth == 0 => return Vec::new(),
            "-o" | "-or" => {}
            "-name" => {
                let Some(pattern) = words.next().and_then(|word| pattern(word)) else {
                    return Vec::new();
                };
                if depth > 0 {
                    group.push(pattern);
                } else if !negated && !acted {
                    found = vec![pattern];
                }
                negated = false;
            }
            // Behind an action the tests no longer guard it; another branch may yet follow.
            name if name.starts_with("-exec") || name.starts_with("-ok") => {
                acted = true;
                let mut before = "";
                for word in words.by_ref() {
                    let word = word.exact().unwrap_or_default();
                    if word == ";" || (word == "+" && before == "{}") {
                        break;
                    }
                    before = word;
                }
            }
            name => {
                pure = false;
                negated = false;
                for _ in 0..arity(name).unwrap_or(0) {
                    words.next();
                }
            }
        }
    }
    if found.len() > NAMES { Vec::new() } else { found }
}

/// A pattern of `-name` with its signs as pieces; none where it is not known or has brackets.
pub(super) fn pattern(word: &Field) -> Option<Text> {
    let text = word.exact()?;
    if text.contains(['[', '\\', '/']) || text.is_empty() {
        return None;
    }
    let mut out = Text::empty();
    for c in text.chars() {
        match c {
            '*' => out.push(Piece::Glob(Glob::Any)),
            '?' => out.push(Piece::Glob(Glob::One)),
            c => out.push_str(c.encode_utf8(&mut [0; 4])),
        }
    }
    Some(out)
}

/// How many words a predicate takes; `None` where the predicate is not known.
fn arity(name: &str) -> Option<usize> {
    Some(match name {
        "("
        | ")"
        | "!"
        | ","
        | "-not"
        | "-a"
        | "-and"
        | "-o"
        | "-or"
        | "-true"
        | "-false"
        | "-print"
        | "-print0"
        | "-ls"
        | "-prune"
        | "-quit"
        | "-depth"
        | "-d"
        | "-mount"
        | "-xdev"
        | "-x"
        | "-follow"
        | "-daystart"
        | "-empty"
        | "-executable"
        | "-readable"
        | "-writable"
        | "-nouser"
        | "-nogroup"
        | "-noleaf"
        | "-warn"
        | "-nowarn"
        | "-ignore_readdir_race"
        | "-noignore_readdir_race"
        | "-help"
        | "--help"
        | "-version"
        | "--version"
        | "-E"
        | "-X"
        | "-s"
        | "-nocolor"
        | "-color"
        | "-hidden"
        | "-nohidden"
        | "-sparse"
        | "-unique"
        | "-acl"
        | "-capable"
        | "-xattr"
        | "-printx"
        | "-exclude"
        | "-status" => 0,
        "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-iwholename" | "-lname"
        | "-ilname" | "-regex" | "-iregex" | "-regextype" | "-type" | "-xtype" | "-size"
        | "-perm" | "-user" | "-group" | "-uid" | "-gid" | "-links" | "-inum" | "-mtime"
        | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin" | "-Bmin" | "-Btime" | "-used"
        | "-maxdepth" | "-mindepth" | "-fstype" | "-printf" | "-context" | "-flags"
        | "-xattrname" | "-since" | "-asince" | "-csince" | "-limit" | "-j" => 1,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::fact::EffectKind;
    use crate::model::span::Site;
    use crate::model::trace::{Carried, DeedObject, Reading};
    use crate::model::value::Field;

    fn reading(line: &str) -> (Vec<String>, Vec<String>) {
        let words: Vec<Field> =
            line.split(' ').map(|word| Field::literal(word, Site::default())).collect();
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        read(&words, &mut reading, &mut carried);
        let deeds = reading
            .deeds
            .iter()
            .filter(|deed| deed.kind != EffectKind::List)
            .map(|deed| match &deed.object {
                DeedObject::Path(path) => format!("{} {}", deed.kind.name(), path.display()),
                _ => deed.kind.name().to_owned(),
            })
            .collect();
        let carried = carried
            .iter()
            .map(|carried| match carried {
                Carried::Command { words, .. } => {
                    words.iter().map(|word| word.text.display()).collect::<Vec<_>>().join(" ")
                }
                _ => String::new(),
            })
            .collect();
        (deeds, carried)
    }

    #[test]
    fn actions_apply_to_each_start_point() {
        let none: Vec<String> = Vec::new();
        assert_eq!(reading(". -name *.rs"), (none.clone(), none.clone()));
        assert_eq!(reading("-L / a -name core -delete").0, ["delete /", "delete a"]);
        assert_eq!(reading("-delete").0, ["delete ."]);
        assert_eq!(reading("/etc -exec chmod 777 {} ;").1, ["chmod 777 /etc/…"]);
        assert_eq!(reading("a b -exec cp -t /x {} +").1, ["cp -t /x a/…", "cp -t /x b/…"]);
        assert_eq!(reading("/ -exec rm {} + -print"), (none.clone(), vec!["rm /…".into()]));
        assert_eq!(reading(". -fprintf out %p -fls l").0, ["write out", "write l"]);
        assert_eq!(reading(". -newermt yesterday").0, none);
        assert_eq!(reading("a -name *.o -exec rm {} +").1, ["rm a/…/*.o"]);
        assert_eq!(reading("a ( -name x -o -name y ) -exec rm {} +").1, ["rm a/…/x", "rm a/…/y"]);
        assert_eq!(reading("a ! -name x -exec rm {} +").1, ["rm a/…"]);
        assert_eq!(reading("a -name x -o -exec rm {} +").1, ["rm a/…"]);
        assert_eq!(reading("a -name x -exec ls {} ; -o -exec rm {} +").1, ["ls a/…", "rm a/…"]);
        assert_eq!(reading("a ( -name x -exec ls {} ; -o -exec rm {} + )").1, ["ls a/…", "rm a/…"]);
    }
}
