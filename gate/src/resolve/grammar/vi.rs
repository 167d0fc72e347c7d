//! Commands of vi and its kin in options and `+` operands (POSIX.1-2024 XCU ex; Vim 9.1).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, Reading};
use crate::model::utility::Language;
use crate::model::value::{Field, Text};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::{Code, codes, report};
use crate::resolve::grammar::words::{after, code_file, known, on_path, on_text, script};

/// How deep commands may hold commands (`argdo bufdo ...`).
const DEPTH: usize = 8;

/// Reads the code of an editor.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let plus = |word: &Field| word.text.prefix().starts_with('+');
    let mut commands: Vec<Field> = Vec::new();
    reading.operands.retain(|word| {
        if plus(word) {
            commands.push(word.clone());
        }
        !plus(word)
    });
    let mut codes = codes(scene, reading);
    for word in commands {
        let Some(rest) = after(&word, 1) else { continue };
        // `+12` and `+/pattern` only move.
        let moves = rest.exact().is_some_and(|text| {
            text.starts_with('/') || text.bytes().all(|byte| byte.is_ascii_digit())
        });
        if !moves {
            codes.push(Code {
                text: rest.text,
                place: CodePlace::Option,
                site: word.site,
                language: Language::Vi,
            });
        }
    }
    report(scene, &codes, carried);
    let mut saves = false;
    for code in &codes {
        let text = known(&code.text).unwrap_or_else(|| code.text.fill(" "));
        for line in text.lines() {
            saves |= command(line, code, DEPTH, reading, carried);
        }
    }
    if saves {
        for file in reading.operands.clone() {
            reading.deeds.push(on_path(EffectKind::Write, &file));
        }
    }
}

/// Reads one line; true where it saves the file that is open.
fn command(
    line: &str,
    code: &Code,
    depth: usize,
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) -> bool {
    let Some(depth) = depth.checked_sub(1) else { return false };
    let text = line.trim_start_matches([' ', '\t', ':']);
    let run = |text: &str, carried: &mut Vec<Carried>| {
        carried.push(script(Text::literal(text.trim()), CodePlace::Option, code.site));
    };
    calls(text, code, carried);
    // Behind a range: `%`, `1,$`, `'<,'>`, `.`.
    let text = text.trim_start_matches(|c: char| "%$.,;+-'<>".contains(c) || c.is_ascii_digit());
    let text = text.trim_start();
    if let Some(rest) = text.strip_prefix('!') {
        run(rest, carried);
        return false;
    }
    if let Some(rest) = text.strip_prefix("g/").or_else(|| text.strip_prefix("v/"))
        && let Some((_, inner)) = rest.split_once('/')
    {
        return command(inner, code, depth, reading, carried);
    }
    let end = text.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(text.len());
    let (name, rest) = text.split_at_checked(end).unwrap_or((text, ""));
    let bang = rest.starts_with('!');
    let argument = rest.strip_prefix('!').unwrap_or(rest).trim_start();
    let name = match name {
        "" => return bars(rest, code, depth, reading, carried),
        name => name,
    };
    let is = |full: &str, shortest: usize| full.starts_with(name) && name.len() >= shortest;
    if is("silent", 3)
        || is("argdo", 5)
        || is("bufdo", 4)
        || is("windo", 4)
        || is("tabdo", 4)
        || is("global", 6)
        || is("vertical", 4)
        || is("noautocmd", 3)
        || is("keepjumps", 5)
        || is("autocmd", 2)
    {
        return command(argument, code, depth, reading, carried);
    }
    if is("write", 1)
        || is("update", 2)
        || name == "wq"
        || is("wall", 2)
        || name == "wqa"
        || is("xit", 1)
        || name == "xa"
        || is("exit", 3)
        || is("saveas", 3)
    {
        let argument = argument.trim_start_matches(">>").trim();
        let file = argument.split(" |").next().unwrap_or_default().trim();
        if let Some(text) = argument.strip_prefix('!').filter(|_| !bang) {
            // `w !command` gives the text to a command.
            run(text, carried);
            return false;
        }
        if !file.is_empty() && !file.starts_with('|') {
            reading.deeds.push(on_text(EffectKind::Write, Text::literal(file), code.site));
            return bars(argument, code, depth, reading, carried);
        }
        bars(argument, code, depth, reading, carried);
        return true;
    }
    if is("read", 1) {
        if let Some(rest) = rest.trim_start().strip_prefix('!') {
            run(rest, carried);
        } else if !argument.is_empty() {
            reading.deeds.push(on_text(EffectKind::Read, Text::literal(argument), code.site));
        }
        return false;
    }
    if is("terminal", 3) || is("make", 3) || is("grep", 2) {
        if !argument.is_empty() {
            run(argument, carried);
        }
        return false;
    }
    if is("source", 2) || is("runtime", 2) || is("luafile", 4) || is("pyfile", 3) {
        if !argument.is_empty() {
            reading.deeds.push(on_text(EffectKind::Read, Text::literal(argument), code.site));
        }
        carried.push(code_file(Language::Vi, code.site));
        return false;
    }
    if is("edit", 1) || is("split", 2) || is("vsplit", 2) || is("tabedit", 4) || is("view", 3) {
        let file = argument.split(" |").next().unwrap_or_default().trim();
        if !file.is_empty() && !bang {
            reading.deeds.push(on_text(EffectKind::Read, Text::literal(file), code.site));
        }
    }
    if is("execute", 3)
        && let Some(inner) = string(argument)
    {
        return command(&inner, code, depth, reading, carried);
    }
    bars(rest, code, depth, reading, carried)
}

/// The command behind the next bar, where one ends this command.
fn bars(
    rest: &str,
    code: &Code,
    depth: usize,
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) -> bool {
    rest.split_once('|').is_some_and(|(_, next)| command(next, code, depth, reading, carried))
}

/// `system('...')` and its kin.
fn calls(text: &str, code: &Code, carried: &mut Vec<Carried>) {
    for name in
        ["system(", "systemlist(", "termopen(", "jobstart(", "job_start(", "os.execute(", "popen("]
    {
        for (at, found) in text.match_indices(name) {
            let behind = text.get(at + found.len()..).unwrap_or_default();
            if let Some(inner) = string(behind) {
                carried.push(script(Text::literal(inner), CodePlace::Option, code.site));
            }
        }
    }
}

/// The string at the start.
fn string(text: &str) -> Option<String> {
    let text = text.trim_start();
    let quote = text.chars().next().filter(|c| matches!(c, '"' | '\''))?;
    let mut out = String::new();
    let mut chars = text.chars().skip(1).peekable();
    while let Some(c) = chars.next() {
        match c {
            c if c == quote => {
                if quote == '\'' && chars.next_if_eq(&'\'').is_some() {
                    out.push('\'');
                    continue;
                }
                return Some(out);
            }
            '\\' if quote == '"' => out.push(chars.next()?),
            c => out.push(c),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{Code, DEPTH, command};
    use crate::model::fact::CodePlace;
    use crate::model::span::Site;
    use crate::model::trace::{Carried, Reading};
    use crate::model::utility::Language;
    use crate::model::value::Text;

    fn found(line: &str) -> (Vec<String>, usize, bool) {
        let code = Code {
            text: Text::empty(),
            place: CodePlace::Option,
            site: Site::default(),
            language: Language::Vi,
        };
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        let saves = command(line, &code, DEPTH, &mut reading, &mut carried);
        let scripts = carried
            .iter()
            .filter_map(|carried| match carried {
                Carried::Script { text, .. } => Some(text.display()),
                _ => None,
            })
            .collect();
        (scripts, reading.deeds.len(), saves)
    }

    #[test]
    fn shell_commands_and_files_show() {
        assert_eq!(found(":!id"), (vec!["id".into()], 0, false));
        assert_eq!(found("%!sort -u"), (vec!["sort -u".into()], 0, false));
        assert_eq!(found("r !id"), (vec!["id".into()], 0, false));
        assert_eq!(found("w !sudo tee x"), (vec!["sudo tee x".into()], 0, false));
        assert_eq!(found("silent! !rm x"), (vec!["rm x".into()], 0, false));
        assert_eq!(found("call system('id')"), (vec!["id".into()], 0, false));
        assert_eq!(found("%s/a/b/g | w"), (Vec::new(), 0, true));
        assert_eq!(found("w! /etc/x"), (Vec::new(), 1, false));
        assert_eq!(found("set nu"), (Vec::new(), 0, false));
        assert_eq!(found("q!"), (Vec::new(), 0, false));
    }
}
