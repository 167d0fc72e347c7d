//! git: options before the sub-command, aliases, settings that name programs (git(1),
//! git-config(1), Git 2.47).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, DeedObject, Doubt, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, Text, Truth};
use crate::resolve::grammar::words::{
    after, code_file, command, deed, drop_bytes, on_path, on_text, plain_words, program, script,
    split, split_all,
};

/// Where the sub-command stands among the words behind `git`, and its `-c` settings.
#[derive(Debug, Default)]
pub(super) struct Globals<'a> {
    /// The index of the sub-command; the number of words where there is none.
    pub(super) at: usize,
    /// Values of `-c`.
    pub(super) settings: Vec<Field>,
    code: Vec<&'a Field>,
    directories: Vec<Field>,
}

/// Reads the options before the sub-command.
pub(super) fn globals(words: &[Field]) -> Globals<'_> {
    let mut out = Globals::default();
    while let Some(word) = words.get(out.at) {
        let next = words.get(out.at + 1);
        let prefix = word.text.prefix();
        if !prefix.starts_with('-') {
            break;
        }
        let (name, attached) = match prefix.split_once('=') {
            Some((name, _)) => (name, after(word, name.len() + 1)),
            None => (prefix, None),
        };
        let takes_next = attached.is_none()
            && matches!(
                name,
                "-C" | "-c"
                    | "--git-dir"
                    | "--work-tree"
                    | "--namespace"
                    | "--super-prefix"
                    | "--config-env"
                    | "--attr-source"
            );
        let value = if takes_next { next.cloned() } else { attached };
        match (name, value) {
            ("-c", Some(value)) => out.settings.push(value),
            ("--config-env" | "--exec-path", Some(_)) => out.code.push(word),
            ("-C" | "--git-dir" | "--work-tree", Some(value)) => {
                // The settings of a repository that lies elsewhere name programs.
                if name == "--git-dir" && !matches!(value.exact(), Some(".git" | "./.git")) {
                    out.code.push(word);
                }
                out.directories.push(value);
            }
            _ => {}
        }
        out.at += if takes_next { 2 } else { 1 };
    }
    out.at = out.at.min(words.len());
    out
}

/// Reads the words behind `git`, up to the sub-command's own.
pub(super) fn read(words: &[Field], reading: &mut Reading, carried: &mut Vec<Carried>) {
    let globals = globals(words);
    let subcommand = words.get(globals.at);
    let own = words.get(globals.at + 1..).unwrap_or_default();
    for word in &globals.code {
        carried.push(code_file(Language::Shell, word.site));
    }
    for directory in &globals.directories {
        reading.deeds.push(on_path(EffectKind::List, directory));
    }
    for setting in &globals.settings {
        let Some((key, value)) = split(&setting.text, '=') else {
            if setting.text.has_unknown() {
                carried.push(program(
                    Language::Shell,
                    setting.text.clone(),
                    CodePlace::Helper,
                    setting.site,
                ));
            }
            continue;
        };
        let key = key.to_ascii_lowercase();
        if let Some(alias) = key.strip_prefix("alias.") {
            let is_used = subcommand
                .and_then(Field::exact)
                .is_none_or(|name| name.eq_ignore_ascii_case(alias));
            if is_used {
                reading.doubts.retain(|doubt| !matches!(doubt, Doubt::Subcommand(..)));
                follow_alias(&value, setting, own, carried);
            }
        } else {
            apply(&key, &value, setting, carried);
        }
    }
    if subcommand.and_then(Field::exact) == Some("config") {
        read_config(own, carried);
    }
    if matches!(subcommand.and_then(Field::exact), Some("bisect" | "submodule"))
        && let Some(first) = own.first()
        && !first.text.is_exact()
    {
        reading.doubts.push(Doubt::Subcommand(first.text.display().into(), first.site));
    }
    if subcommand.and_then(Field::exact) == Some("bisect")
        && let [run, first, ..] = own
        && run.exact() == Some("run")
    {
        carried.push(program(Language::Shell, first.text.clone(), CodePlace::Helper, first.site));
    }
    if subcommand
        .and_then(Field::exact)
        .is_some_and(|name| matches!(name, "show" | "cat-file" | "blame" | "diff"))
    {
        read_objects(own, reading);
    }
    if subcommand.and_then(Field::exact) == Some("checkout") {
        read_checkout(own, reading);
    }
    if subcommand
        .and_then(Field::exact)
        .is_some_and(|name| matches!(name, "log" | "show" | "whatchanged" | "reflog"))
    {
        read_lines(own, reading);
    }
    for word in own {
        if matches!(word.exact(), Some("--ext-diff" | "--textconv" | "--filters")) {
            carried.push(code_file(Language::Shell, word.site));
        }
        // A remote helper of this name runs the rest as a command.
        if let Some(text) = word.text.prefix().strip_prefix("ext::") {
            let rest = after(word, word.text.prefix().len() - text.len());
            if let Some(rest) = rest {
                carried.push(script(rest.text, CodePlace::Helper, word.site));
            }
        }
    }
}

/// An alias: `!` begins shell text that gets the remaining words, anything else is a sub-command.
fn follow_alias(value: &Text, setting: &Field, own: &[Field], carried: &mut Vec<Carried>) {
    if let Some(text) = value.prefix().strip_prefix('!') {
        let mut body = Text::literal(text);
        value.pieces().iter().skip(1).for_each(|piece| body.push(piece.clone()));
        if !own.is_empty() {
            body.push_str(" \"$@\"");
        }
        let mut parameters = vec![setting.clone()];
        parameters.extend(own.iter().cloned());
        if let Carried::Script { text, place, site, scope, directory, same_shell, .. } =
            script(body, CodePlace::Option, setting.site)
        {
            carried.push(Carried::Script {
                text,
                parameters,
                place,
                scope,
                directory,
                same_shell,
                site,
            });
        }
        return;
    }
    match plain_words(value, setting.site) {
        Some(words) => {
            let mut all = vec![Field::literal("git", setting.site)];
            all.extend(words);
            all.extend(own.iter().cloned());
            carried.push(command(all, CarryScope::Local));
        }
        None => {
            carried.push(program(Language::Shell, value.clone(), CodePlace::Option, setting.site));
        }
    }
}

/// What a setting makes git run.
fn apply(key: &str, value: &Text, site_of: &Field, carried: &mut Vec<Carried>) {
    if is_harmless_value(key, value) {
        return;
    }
    if value.prefix().starts_with("ext::") {
        let text = drop_bytes(value, 5).unwrap_or_default();
        carried.push(script(text, CodePlace::Helper, site_of.site));
        return;
    }
    match class(key) {
        Class::Harmless => {}
        Class::Command => {
            let text = match value.prefix().strip_prefix('!') {
                Some(_) => drop_bytes(value, 1).unwrap_or_default(),
                None => value.clone(),
            };
            carried.push(script(text, CodePlace::Helper, site_of.site));
        }
        Class::Code => {
            carried.push(program(Language::Shell, value.clone(), CodePlace::Helper, site_of.site));
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// The value is text, a number or a colour.
    Harmless,
    /// The value is shell text.
    Command,
    /// The value names or finds code in another way, or what it does is not known.
    Code,
}

/// What a setting of that name, in lower case, is.
fn class(key: &str) -> Class {
    let section = key.split('.').next().unwrap_or_default();
    let last = key.rsplit('.').next().unwrap_or_default();
    match (section, last) {
        (
            "core",
            "pager"
            | "editor"
            | "sshcommand"
            | "askpass"
            | "gitproxy"
            | "alternaterefscommand"
            | "fsmonitor",
        )
        | ("pager", _)
        | ("sequence", "editor")
        | ("diff", "external" | "command" | "textconv")
        | ("filter", "clean" | "smudge" | "process")
        | ("merge", "driver")
        | ("mergetool" | "difftool" | "guitool" | "browser" | "man", "cmd" | "path")
        | ("credential", "helper")
        | ("gpg", "program" | "defaultkeycommand")
        | ("interactive", "difffilter")
        | ("remote", "uploadpack" | "receivepack")
        | ("uploadpack", "packobjectshook")
        | ("trailer", "cmd" | "command")
        | ("tar", "command")
        | ("imap", "tunnel")
        | ("sendemail", "tocmd" | "cccmd" | "headercmd" | "sendmailcmd")
        | ("submodule", "update")
        | ("gc", "recentobjectshook")
        | ("lfs", "path" | "args" | "clean" | "smudge") => Class::Command,
        (
            "color" | "user" | "author" | "committer" | "advice" | "log" | "column" | "format"
            | "pull" | "push" | "fetch" | "rebase" | "status" | "branch" | "commit" | "tag" | "gc"
            | "pack" | "index" | "rerere" | "merge" | "diff" | "feature" | "checkout" | "clone"
            | "blame" | "grep" | "apply" | "stash" | "i18n" | "safe" | "help" | "transfer"
            | "versionsort" | "worktree" | "notes" | "am",
            _,
        ) => Class::Harmless,
        ("init", "defaultbranch") | ("http" | "https" | "lfs", _) => Class::Harmless,
        (
            "core",
            "quotepath" | "autocrlf" | "eol" | "safecrlf" | "abbrev" | "filemode" | "ignorecase"
            | "compression" | "preloadindex" | "untrackedcache" | "commentchar" | "longpaths"
            | "symlinks" | "checkstat" | "trustctime" | "precomposeunicode" | "protecthfs"
            | "protectntfs" | "bigfilethreshold" | "whitespace" | "bare" | "logallrefupdates"
            | "usereplacerefs" | "multipackindex",
        ) => Class::Harmless,
        _ => Class::Code,
    }
}

fn is_harmless_value(key: &str, value: &Text) -> bool {
    match value.exact() {
        Some("") => true,
        Some("cat" | "less" | "more" | "true" | "false" | ":") => class(key) == Class::Command,
        Some("checkout" | "rebase" | "merge" | "none") => key.starts_with("submodule."),
        _ => false,
    }
}

/// `git config`: a value for a setting that runs something is code.
fn read_config(words: &[Field], carried: &mut Vec<Carried>) {
    let operands: Vec<&Field> =
        words.iter().filter(|word| !word.text.prefix().starts_with('-')).collect();
    let operands = match operands.as_slice() {
        [first, rest @ ..] if matches!(first.exact(), Some("set" | "get" | "unset" | "list")) => {
            rest
        }
        all => all,
    };
    for pair in operands.windows(2) {
        let [key, value] = pair else { continue };
        if key.text.has_unknown() {
            // Some settings are commands.
            let text = value.text.clone();
            carried.push(program(Language::Shell, text, CodePlace::Helper, value.site));
        }
        let Some(name) = key.exact().filter(|name| name.contains('.')) else { continue };
        let name = name.to_ascii_lowercase();
        if name.starts_with("alias.") {
            if value.text.prefix().starts_with('!') {
                follow_alias(&value.text, value, &[], carried);
            }
        } else if class(&name) != Class::Harmless || value.text.has_unknown() {
            apply(&name, &value.text, value, carried);
        }
    }
}

/// `git checkout` with paths overwrites what is not recorded: words behind `--` are paths, and a
/// lone word that ends as a file or a directory does may be one.
fn read_checkout(words: &[Field], reading: &mut Reading) {
    let names_branch = words
        .iter()
        .any(|word| matches!(word.exact(), Some("-b" | "-B" | "--orphan" | "-t" | "--track")));
    let mut behind = false;
    let mut found = Truth::No;
    for word in words {
        if behind || (!names_branch && ends_as_path(word)) {
            found = found.or(if behind { Truth::Yes } else { Truth::Maybe });
        }
        behind |= word.exact() == Some("--");
    }
    if found.is_possible()
        && let Some(first) = words.first()
    {
        let mut discard = deed(EffectKind::Discard, DeedObject::None, first.site);
        discard.certain = found;
        reading.deeds.push(discard);
    }
}

/// A slash at the end, or a dot and a few characters that begin with a letter.
fn ends_as_path(word: &Field) -> bool {
    let Some(text) = word.exact().filter(|text| !text.starts_with('-')) else { return false };
    text.ends_with('/')
        || text.rsplit_once('.').is_some_and(|(_, end)| {
            end.len() <= 5
                && end.starts_with(|first: char| first.is_ascii_alphabetic())
                && end.chars().all(|other| other.is_ascii_alphanumeric())
        })
}

/// `-L START,END:PATH` and `-L :FUNCTION:PATH` show lines of a file in history.
fn read_lines(words: &[Field], reading: &mut Reading) {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let value = match word.text.prefix().strip_prefix("-L") {
            Some("") if word.text.is_exact() => words.next().cloned(),
            Some(_) => after(word, 2),
            None if word.exact() == Some("--") => return,
            None => continue,
        };
        let parts = value.map(|value| split_all(&value.text, ':')).unwrap_or_default();
        if let [_, .., path] = parts.as_slice() {
            reading.deeds.push(on_text(EffectKind::Read, path.clone(), word.site));
        }
    }
}

/// `REVISION:PATH` reads a recorded file; its name says whether it holds secrets.
fn read_objects(words: &[Field], reading: &mut Reading) {
    for word in words {
        if word.text.prefix().starts_with('-') {
            continue;
        }
        let parts = split_all(&word.text, ':');
        if let [revision, path] = parts.as_slice()
            && !revision.display().contains('/')
            && !path.is_empty()
            && !path.display().starts_with('/')
        {
            reading.deeds.push(on_text(EffectKind::Read, path.clone(), word.site));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::span::Site;
    use crate::model::trace::{Carried, Reading};
    use crate::model::value::Field;

    fn carried(words: &[&str]) -> Vec<String> {
        let words: Vec<Field> =
            words.iter().map(|word| Field::literal(*word, Site::default())).collect();
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        read(&words, &mut reading, &mut carried);
        carried
            .iter()
            .map(|carried| match carried {
                Carried::Command { words, .. } => {
                    words.iter().map(|word| word.text.display()).collect::<Vec<_>>().join(" ")
                }
                Carried::Script { text, .. } => format!("sh: {}", text.display()),
                Carried::Program { text, .. } => format!("code: {}", text.display()),
                _ => String::new(),
            })
            .collect()
    }

    #[test]
    fn settings_that_run_something_show() {
        assert_eq!(carried(&["-c", "alias.z=!rm -rf /", "z"]), ["sh: rm -rf /"]);
        assert_eq!(carried(&["-c", "alias.z=!f", "z", "a"]), ["sh: f \"$@\""]);
        assert_eq!(
            carried(&["-c", "alias.p=push --force", "p", "origin", "main"]),
            ["git push --force origin main"]
        );
        assert_eq!(carried(&["-c", "core.pager=sh -c id", "log"]), ["sh: sh -c id"]);
        assert_eq!(carried(&["-c", "core.pager=cat", "-P", "log"]), Vec::<String>::new());
        assert_eq!(carried(&["-c", "color.ui=false", "log"]), Vec::<String>::new());
        assert_eq!(carried(&["config", "core.fsmonitor", "./x"]), ["sh: ./x"]);
        assert_eq!(carried(&["clone", "ext::sh -c id"]), ["sh: sh -c id"]);
        assert_eq!(carried(&["--exec-path=/x", "log"]).len(), 1);
    }
}
