//! Clients of databases: statements that destroy, and the clients' own commands (`psql(1)`, `mysql(1)`,
//! the shells of `SQLite` and `DuckDB`).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::Text;
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::{Code, codes, report};
use crate::resolve::grammar::words::{deed, known, on_text, program, script};

/// How many calls of one kind are followed.
const CALLS: usize = 64;

/// Reads the code of a database client.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let codes = codes(scene, reading);
    let told = codes.iter().filter(|code| !only_shows(code)).cloned().collect::<Vec<_>>();
    report(scene, &told, carried);
    for code in &codes {
        let text = known(&code.text).unwrap_or_else(|| code.text.fill(" "));
        if destroys(&text) {
            reading.deeds.push(deed(EffectKind::Destroy, DeedObject::None, code.site));
        }
        for line in text.lines() {
            meta(line.trim(), code, reading, carried);
        }
        server_programs(&text, code, carried);
        local_files(&text, code, reading);
    }
}

/// Whether code is nothing but commands of the client that show what is there, or how it is shown.
fn only_shows(code: &Code) -> bool {
    const SHOWS: &[&str] = &[
        ".tables",
        ".table",
        ".schema",
        ".databases",
        ".indexes",
        ".indices",
        ".fullschema",
        ".help",
        ".show",
        ".headers",
        ".header",
        ".mode",
        ".width",
        ".separator",
        ".nullvalue",
        ".stats",
        ".timer",
        ".eqp",
        ".explain",
        ".changes",
        ".dbinfo",
        ".bail",
        ".limit",
        ".vfsinfo",
        ".version",
        ".quit",
        ".exit",
        ".maxrows",
        ".columns",
        ".rows",
        "\\d",
        "\\d+",
        "\\dt",
        "\\dt+",
        "\\dn",
        "\\dn+",
        "\\di",
        "\\di+",
        "\\dv",
        "\\df",
        "\\du",
        "\\dx",
        "\\ds",
        "\\dp",
        "\\dT",
        "\\l",
        "\\l+",
        "\\list",
        "\\conninfo",
        "\\timing",
        "\\x",
        "\\q",
    ];
    code.text.exact().is_some_and(|text| {
        let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
        lines.peek().is_some()
            && lines.all(|line| {
                let words = line.split([' ', '\t']);
                words.clone().next().is_some_and(|head| SHOWS.contains(&head))
                    // psql takes further commands in the same line, and runs what is in backquotes.
                    && words.skip(1).all(|word| !word.contains(['\\', '`', '|']))
            })
    })
}

/// A command of the client itself.
fn meta(line: &str, code: &Code, reading: &mut Reading, carried: &mut Vec<Carried>) {
    // psql has its commands anywhere in a line, mysql too.
    if let Some((_, rest)) = line.split_once("\\!") {
        carried.push(script(Text::literal(rest.trim()), CodePlace::Option, code.site));
    }
    let (head, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
    let rest = rest.trim().trim_end_matches(';').trim();
    let lower = head.to_ascii_lowercase();
    match lower.as_str() {
        ".shell" | ".system" | "system" | ".sh" => {
            carried.push(script(Text::literal(rest), CodePlace::Option, code.site));
        }
        "pager" | "\\P" if !rest.is_empty() => {
            carried.push(script(Text::literal(rest), CodePlace::Helper, code.site));
        }
        ".load" | "\\edit" | "edit" => {
            carried.push(program(
                Language::Other,
                Text::literal(rest),
                CodePlace::Helper,
                code.site,
            ));
        }
        ".output" | ".once" | ".excel" | ".log" | ".trace" | ".save" | ".backup" | ".clone"
        | "\\o" | "\\out" | "\\w" | "\\write" | "\\g" | "\\gx" | "tee" | "\\t" => {
            target(rest, EffectKind::Write, code, reading, carried);
        }
        ".import" | ".restore" | ".open" | ".sha3sum" => {
            target(rest, EffectKind::Read, code, reading, carried);
        }
        ".read" | "\\i" | "\\ir" | "\\include" | "source" | "\\." => {
            target(rest, EffectKind::Read, code, reading, carried);
            if !rest.is_empty() {
                carried.push(program(
                    Language::Sql,
                    Text::literal(rest),
                    CodePlace::Helper,
                    code.site,
                ));
            }
        }
        "\\copy" => copy(rest, code, reading, carried),
        "flushall" | "flushdb" => {
            reading.deeds.push(deed(EffectKind::Destroy, DeedObject::None, code.site));
        }
        _ => {}
    }
}

/// A file name, or a command behind a bar.
fn target(
    rest: &str,
    kind: EffectKind,
    code: &Code,
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) {
    let plain = rest.trim_matches(['"', '\'']);
    if let Some(command) = plain.strip_prefix('|') {
        carried.push(script(Text::literal(command.trim()), CodePlace::Option, code.site));
        return;
    }
    let file = plain.split([' ', '\t']).find(|word| !word.starts_with('-')).unwrap_or_default();
    if !file.is_empty() && !matches!(file, "stdout" | "off" | "on" | "stderr") {
        reading.deeds.push(on_text(kind, Text::literal(file), code.site));
    }
}

/// `\copy TABLE from|to FILE | program 'COMMAND'`.
fn copy(rest: &str, code: &Code, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let lower = rest.to_ascii_lowercase();
    for (word, kind) in [(" from ", EffectKind::Read), (" to ", EffectKind::Write)] {
        let Some(at) = lower.rfind(word) else { continue };
        let behind = rest.get(at + word.len()..).unwrap_or_default().trim();
        if behind.get(..7).is_some_and(|head| head.eq_ignore_ascii_case("program")) {
            let text = quoted(behind).unwrap_or_default();
            carried.push(script(Text::literal(text), CodePlace::Option, code.site));
        } else if !matches!(
            behind.to_ascii_lowercase().as_str(),
            "stdin" | "stdout" | "pstdin" | "pstdout"
        ) {
            let file =
                quoted(behind).or_else(|| behind.split_whitespace().next().map(str::to_owned));
            let file = Text::literal(file.unwrap_or_default());
            reading.deeds.push(on_text(kind, file, code.site));
        }
        return;
    }
}

/// The first string in single quotes.
fn quoted(text: &str) -> Option<String> {
    let (_, behind) = text.split_once('\'')?;
    let mut out = String::new();
    let mut chars = behind.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\'' && chars.next_if_eq(&'\'').is_none() {
            return Some(out);
        }
        out.push(c);
    }
    None
}

/// `COPY ... PROGRAM 'COMMAND'` runs where the server runs.
fn server_programs(text: &str, code: &Code, carried: &mut Vec<Carried>) {
    let lower = text.to_ascii_lowercase();
    for (at, word) in lower.match_indices("program").take(CALLS) {
        let behind = text.get(at + word.len()..).unwrap_or_default();
        let is_copy = lower.get(..at).is_some_and(|before| {
            before
                .rsplit(';')
                .next()
                .is_some_and(|statement| statement.trim_start().starts_with("copy"))
        });
        if is_copy
            && let Some(command) = quoted(behind)
            && let Carried::Script { text, parameters, place, directory, same_shell, site, .. } =
                script(Text::literal(command), CodePlace::Option, code.site)
        {
            let scope = CarryScope::Remote;
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
    }
}

/// Functions and statements that open files here: those of `SQLite` and `DuckDB`, and `LOCAL INFILE`.
fn local_files(text: &str, code: &Code, reading: &mut Reading) {
    let lower = text.to_ascii_lowercase();
    for (word, kind) in [
        ("writefile(", EffectKind::Write),
        ("readfile(", EffectKind::Read),
        ("read_csv(", EffectKind::Read),
        ("read_csv_auto(", EffectKind::Read),
        ("read_parquet(", EffectKind::Read),
        ("read_text(", EffectKind::Read),
        ("read_json(", EffectKind::Read),
        ("local infile", EffectKind::Read),
        ("attach ", EffectKind::Write),
        ("vacuum into", EffectKind::Write),
        ("export database", EffectKind::Write),
    ] {
        for (at, found) in lower.match_indices(word).take(CALLS) {
            let behind = text.get(at + found.len()..).unwrap_or_default();
            if let Some(path) = quoted(behind.split(';').next().unwrap_or_default()) {
                reading.deeds.push(on_text(kind, Text::literal(path), code.site));
            }
        }
    }
}

/// Whether a statement drops, empties or deletes without a condition.
fn destroys(text: &str) -> bool {
    let bare = without_strings(text).to_ascii_uppercase();
    let calls =
        [".DROPDATABASE(", ".DROP(", ".DELETEMANY(", ".DELETEONE(", ".REMOVE(", ".DROPINDEX"];
    if calls.iter().any(|call| bare.contains(call)) {
        return true;
    }
    bare.split(';').any(|statement| {
        let words: Vec<&str> = statement
            .split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .filter(|word| !word.is_empty())
            .collect();
        match words.first() {
            Some(&("DROP" | "TRUNCATE" | "FLUSHALL" | "FLUSHDB" | "PURGE")) => true,
            Some(&"ALTER") => words.contains(&"DROP"),
            _ => words
                .windows(2)
                .position(|pair| pair == ["DELETE", "FROM"])
                .is_some_and(|at| !words.iter().skip(at).any(|word| *word == "WHERE")),
        }
    })
}

/// The text without strings and comments.
fn without_strings(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\'' => while chars.next().is_some_and(|c| c != '\'') {},
            '-' if chars.peek() == Some(&'-') => while chars.next().is_some_and(|c| c != '\n') {},
            '/' if chars.peek() == Some(&'*') => {
                let mut last = ' ';
                for c in chars.by_ref() {
                    if last == '*' && c == '/' {
                        break;
                    }
                    last = c;
                }
                out.push(' ');
            }
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::destroys;

    #[test]
    fn destruction_is_told_from_data() {
        for text in [
            "DROP TABLE users",
            "select 1; truncate t",
            "/* x */ drop database x;",
            "delete from t",
            "with a as (select 1) delete from t",
            "alter table t drop column c",
            "db.users.drop()",
        ] {
            assert!(destroys(text), "{text}");
        }
        for text in [
            "select 'drop table x'",
            "delete from t where id = 1",
            "-- drop table x\nselect 1",
            "select dropped from t",
        ] {
            assert!(!destroys(text), "{text}");
        }
    }
}
