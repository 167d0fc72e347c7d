//! Literal calls in code of other languages: what they run, delete, write and read.
//!
//! The code stays code that nobody has read; what is found here only adds to that. A call counts
//! by its name and constant arguments, wherever it stands.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, Piece, Text, Truth, Unknown};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::code::codes;
use crate::resolve::grammar::words::{command, known, on_text, program, script};

/// Tokens that are read of one piece of code.
const TOKENS: usize = 8_000;

/// Reads the code of an interpreter.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    for code in codes(scene, reading) {
        let text = known(&code.text).unwrap_or_else(|| code.text.fill("\u{1}"));
        for line in command_lines(&text, code.language) {
            carried.push(script(on_known(line), CodePlace::Option, code.site));
        }
        let found = scan(&text, code.language);
        let field = |text: Text| Field { text, site: code.site, quoted: true, ..Field::default() };
        for run in found.runs {
            carried.push(match run {
                Run::Shell(text) => script(text, CodePlace::Option, code.site),
                Run::Words(words) => {
                    command(words.into_iter().map(field).collect(), CarryScope::Local)
                }
            });
        }
        if found.runs_what_it_fetches {
            let text = Text::unknown(Unknown::Network);
            carried.push(program(code.language, text, CodePlace::Value, code.site));
        }
        for (kind, path, recursive) in found.files {
            push(kind, path, recursive, code.site, reading);
        }
    }
}

/// The text, unknown where a piece of it was filled with the character that stands for one.
fn on_known(line: &str) -> Text {
    let mut text = Text::empty();
    for (at, part) in line.split('\u{1}').enumerate() {
        if at > 0 {
            text.push(Piece::Unknown(Unknown::Joined));
        }
        text.push_str(part);
    }
    text
}

/// Shell text in languages whose commands stand on lines of their own: `shell TEXT` and `!TEXT` of
/// debuggers, `!TEXT` of ed behind an address or one of its reading and writing commands, `exec` and
/// `spawn` of Tcl and expect, `!TEXT` of dc.
fn command_lines(code: &str, language: Language) -> Vec<&str> {
    let lines = code.split(['\n', ';']).map(str::trim).take(TOKENS);
    match language {
        Language::Debugger => lines
            .filter_map(|line| {
                let line = line.strip_prefix("platform ").map_or(line, str::trim_start);
                line.strip_prefix('!').or_else(|| line.strip_prefix("shell "))
            })
            .collect(),
        Language::Ed => code
            .lines()
            .take(TOKENS)
            .filter_map(|line| {
                let line = line.trim_start_matches(|c: char| {
                    c.is_ascii_digit() || matches!(c, ' ' | ',' | '$' | '.' | '+' | '-' | '%')
                });
                let line = line.trim_start_matches(['r', 'w', 'e', 'E', ' ']);
                line.strip_prefix('!')
            })
            .collect(),
        Language::Tcl => lines
            .filter_map(|line| {
                let line = line.trim_start_matches(['[', '{', '(', ' ', '"']);
                let line = line
                    .strip_prefix("catch ")
                    .map_or(line, |rest| rest.trim_start_matches(['{', ' ']));
                let rest = line.strip_prefix("exec ").or_else(|| line.strip_prefix("spawn "))?;
                let rest = rest.trim_start();
                let rest = rest.strip_prefix("-ignorestderr").unwrap_or(rest);
                let rest = rest.strip_prefix("-noecho").unwrap_or(rest);
                Some(rest.trim_end_matches([']', '}', ')', '"']))
            })
            .collect(),
        // What stands behind `!` goes to the system, but for `!<`, `!=` and `!>`.
        Language::Dc => code
            .lines()
            .take(TOKENS)
            .filter_map(|line| line.split_once('!').map(|(_, rest)| rest))
            .filter(|rest| !rest.starts_with(['<', '=', '>']))
            .collect(),
        _ => Vec::new(),
    }
}

fn push(kind: EffectKind, path: Text, recursive: bool, site: Site, reading: &mut Reading) {
    let mut deed = on_text(kind, path, site);
    deed.recursive = Truth::from(recursive);
    reading.deeds.push(deed);
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Run {
    Shell(Text),
    Words(Vec<Text>),
}

#[derive(Debug, Default)]
struct Found {
    runs: Vec<Run>,
    files: Vec<(EffectKind, Text, bool)>,
    /// Whether what comes over the network becomes code.
    runs_what_it_fetches: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// A string; pieces that are interpolated are unknown.
    Text(Text),
    /// Text between backquotes or in `qx`, `%x`: a command.
    Command(Text),
    /// A name with its dots, `::` and `->` (`os.system`, `File.delete`).
    Name(String),
    Sign(char),
}

fn scan(code: &str, language: Language) -> Found {
    let tokens = Lexer { chars: code.chars().peekable(), language }.tokens();
    let mut variables: BTreeMap<String, Option<Text>> = BTreeMap::new();
    let mut found =
        Found { runs_what_it_fetches: runs_what_it_fetches(&tokens, language), ..Found::default() };
    for (at, token) in tokens.iter().enumerate() {
        let behind = tokens.get(at + 1..).unwrap_or_default();
        match token {
            Token::Command(text) => found.runs.push(Run::Shell(text.clone())),
            Token::Name(name) => {
                if let [Token::Sign('='), value @ ..] = behind
                    && value.first() != Some(&Token::Sign('='))
                {
                    let (value, rest) = expression(value, &variables);
                    let ends = !matches!(rest.first(), Some(Token::Sign('+' | '.' | '%')));
                    let value = match value {
                        Value::Text(text) if ends && text.is_exact() => Some(text),
                        _ => None,
                    };
                    let is_new = !variables.contains_key(name);
                    let value = if is_new { value } else { None };
                    variables.insert(name.trim_start_matches('$').to_owned(), value);
                }
                let method = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
                if let Some(call) = call(name, method, language) {
                    let arguments = arguments(behind, &variables);
                    apply(call, &arguments, &mut found);
                }
            }
            _ => {}
        }
    }
    found
}

/// Whether a statement that runs text as code has in it a call that reads from the network, or a name
/// that an earlier such statement gave a value.
fn runs_what_it_fetches(tokens: &[Token], language: Language) -> bool {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut depth = 0usize;
    let ends = |token: &Token| {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth == 0 && matches!(token, Token::Sign(';' | '\n'))
    };
    for statement in tokens.split(ends) {
        let words = || statement.iter().enumerate();
        let fetched = words().any(|(at, token)| match token {
            Token::Name(name) => {
                let first = name.split(['.', ':', '-']).next().unwrap_or(name);
                names.contains(first.trim_start_matches('$'))
                    || fetches(name, statement.get(at + 1..).unwrap_or_default())
            }
            _ => false,
        });
        if !fetched {
            continue;
        }
        if words().any(|(_, token)| matches!(token, Token::Name(name) if evaluates(name, language)))
        {
            return true;
        }
        for (at, token) in words() {
            let Token::Name(name) = token else { continue };
            let before = at.checked_sub(1).and_then(|at| statement.get(at));
            let named = matches!(before, Some(Token::Name(word)) if word == "as" || word == "for");
            if named || statement.get(at + 1) == Some(&Token::Sign('=')) {
                names.insert(name.trim_start_matches('$'));
            }
        }
    }
    false
}

/// Whether a call of that name reads from the network; some do so only with a URL.
fn fetches(name: &str, behind: &[Token]) -> bool {
    const CALLS: &[&str] =
        &["urlopen", "fetch", "curl_exec", "axios", "got", "wget", "httpGet", "get_response"];
    const MODULES: &[&str] = &[
        "requests.",
        "httpx.",
        "urllib.",
        "urllib3.",
        "aiohttp.",
        "axios.",
        "Net::HTTP",
        "LWP",
        "HTTP::Tiny",
        "HTTParty.",
        "Faraday.",
        "HTTPoison.",
        "Req.",
        "http.get",
        "https.get",
        "http.request",
        "https.request",
        "socket.",
        "URI.open",
        "URI.parse",
        "HTTP.get",
    ];
    const OPENERS: &[&str] = &[
        "open",
        "file_get_contents",
        "fopen",
        "get",
        "getstore",
        "readLines",
        "url",
        "read",
        "readfile",
        "download",
        "request",
        "source",
        "include",
        "require",
        "import",
        "load",
    ];
    let method = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    let url = || {
        behind.iter().take(3).any(|token| {
            let Token::Text(text) = token else { return false };
            ["http:", "https:", "ftp:"].iter().any(|scheme| text.prefix().starts_with(scheme))
        })
    };
    CALLS.contains(&method)
        || MODULES.iter().any(|module| name.contains(module))
        || (OPENERS.contains(&method) && url())
}

/// Whether a name, called or handed on, makes text into code that runs.
fn evaluates(name: &str, language: Language) -> bool {
    let method = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    let is_bare = name == method;
    match method {
        "eval" => {
            is_bare
                || ["globalThis.", "global.", "window.", "Kernel.", "binding.", "builtins."]
                    .iter()
                    .any(|owner| name.starts_with(owner))
        }
        // Elsewhere it matches a pattern or asks a database.
        "exec" if language == Language::JavaScript => name.contains("child_process"),
        "exec" => is_bare,
        "load" => is_bare && language == Language::Lua,
        "assert" => is_bare && language == Language::Php,
        "source" => is_bare && language == Language::Other,
        "Function" => language == Language::JavaScript,
        "instance_eval" | "class_eval" | "module_eval" | "eval_string" | "include_string"
        | "runInThisContext" | "runInNewContext" | "runInContext" | "loadstring" | "dostring"
        | "create_function" | "system" | "popen" | "shell_exec" | "passthru" | "execSync" => true,
        _ => false,
    }
}

/// What a call of a known name does with its arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Call {
    /// One string is shell text; a list, or several strings, are words.
    Run,
    /// The first argument is a program, a list behind it its arguments.
    Spawn,
    /// The first argument is a program; the others are its words with the name first.
    Replace,
    Delete,
    DeleteTree,
    Write,
    Read,
    /// The second argument says whether it reads or writes.
    Open,
    /// The second argument is the target.
    Move,
    Copy,
}

fn call(name: &str, method: &str, language: Language) -> Option<Call> {
    let js = language == Language::JavaScript;
    let is_bare = name == method;
    Some(match method {
        "system"
        | "popen"
        | "getoutput"
        | "getstatusoutput"
        | "check_call"
        | "check_output"
        | "Popen"
        | "shell_exec"
        | "passthru"
        | "proc_open"
        | "execSync"
        | "execute"
        | "capture2"
        | "capture2e"
        | "capture3"
        | "pipeline"
        | "popen2"
        | "popen3"
        | "create_subprocess_shell"
        | "cmd" => Call::Run,
        "exec" if language != Language::Python || !is_bare => Call::Run,
        "run" | "call" if matches!(language, Language::Python) && name.contains("subprocess") => {
            Call::Run
        }
        "run" | "call" if matches!(language, Language::Python) && is_bare => Call::Run,
        "script" if language == Language::AppleScript => Call::Run,
        "command" if name == "Sys.command" => Call::Run,
        "shell" if name == "System.shell" || name == "shell" => Call::Run,
        "system2" | "system_cmd" => Call::Run,
        "shell-command" | "shell-command-to-string" | "async-shell-command" => Call::Run,
        "delete-directory" => Call::DeleteTree,
        "delete-file" => Call::Delete,
        "spawn" if js => Call::Spawn,
        "spawn" => Call::Run,
        "spawnSync" | "execFile" | "execFileSync" | "fork" if js => Call::Spawn,
        "create_subprocess_exec" => Call::Run,
        "execv" | "execve" | "execvp" | "execvpe" | "execl" | "execle" | "execlp" | "execlpe" => {
            Call::Replace
        }
        "rmtree"
        | "remove_tree"
        | "rm_rf"
        | "rm_r"
        | "removedirs"
        | "remove_dir"
        | "remove_entry_secure" => Call::DeleteTree,
        "rmSync" | "rm" if js || name.contains("fs.") => Call::DeleteTree,
        "rm" | "unlink" if language == Language::Other => Call::DeleteTree,
        "remove" | "unlink" | "rmdir" | "unlinkSync" | "rmdirSync" | "rm_f" if !is_bare || !js => {
            Call::Delete
        }
        "delete" if name == "File.delete" || name == "FileUtils.delete" => Call::Delete,
        "writeFileSync" | "writeFile" | "appendFileSync" | "appendFile" | "file_put_contents"
        | "writeTextFile" | "createWriteStream" | "truncateSync" => Call::Write,
        "write" if name == "File.write" || name == "IO.write" => Call::Write,
        "readFileSync" | "readFile" | "file_get_contents" | "readTextFile" | "createReadStream"
        | "readlines" | "readfile" => Call::Read,
        "read" if name == "File.read" || name == "IO.read" => Call::Read,
        "open" | "fopen" => Call::Open,
        "rename" | "renameSync" | "move" | "mv" => Call::Move,
        "copy" | "copyfile" | "copytree" | "copyFileSync" | "cpSync" | "cp_r" | "cp" => Call::Copy,
        _ => return None,
    })
}

fn apply(call: Call, arguments: &[Value], found: &mut Found) {
    let texts: Vec<Text> = arguments
        .iter()
        .map_while(|argument| match argument {
            Value::Text(text) => Some(text.clone()),
            _ => None,
        })
        .collect();
    let path = |at: usize| texts.get(at).filter(|text| !text.prefix().is_empty()).cloned();
    match call {
        Call::Run => match arguments {
            [Value::List(words), ..] if !words.is_empty() => {
                found.runs.push(Run::Words(words.clone()));
            }
            [Value::Text(name), Value::List(words), ..] if !words.is_empty() => {
                let mut all = vec![name.clone()];
                all.extend(words.iter().cloned());
                found.runs.push(Run::Words(all));
            }
            [Value::Text(_), Value::Text(_), ..] => found.runs.push(Run::Words(texts)),
            [Value::Text(text), ..] if !text.prefix().is_empty() => {
                found.runs.push(Run::Shell(text.clone()));
            }
            _ => {}
        },
        Call::Spawn => match arguments {
            [Value::Text(name), Value::List(words), ..] => {
                let mut all = vec![name.clone()];
                all.extend(words.iter().cloned());
                found.runs.push(Run::Words(all));
            }
            [Value::Text(text), ..] if !text.prefix().is_empty() => {
                found.runs.push(Run::Shell(text.clone()));
            }
            _ => {}
        },
        Call::Replace => match arguments {
            [Value::Text(name), Value::List(words), ..] => {
                let mut all = vec![name.clone()];
                all.extend(words.iter().skip(1).cloned());
                found.runs.push(Run::Words(all));
            }
            [Value::Text(name), Value::Text(_), ..] => {
                let mut all = vec![name.clone()];
                all.extend(texts.iter().skip(2).cloned());
                found.runs.push(Run::Words(all));
            }
            _ => {}
        },
        Call::Delete | Call::DeleteTree => {
            let all: Vec<Text> = match arguments {
                [Value::List(paths), ..] => paths.clone(),
                _ => texts,
            };
            let paths = all.into_iter().filter(|text| !text.prefix().is_empty());
            found
                .files
                .extend(paths.map(|path| (EffectKind::Delete, path, call == Call::DeleteTree)));
        }
        Call::Write => found.files.extend(path(0).map(|path| (EffectKind::Write, path, false))),
        Call::Read => found.files.extend(path(0).map(|path| (EffectKind::Read, path, false))),
        Call::Open => open(&texts, found),
        Call::Move => {
            found.files.extend(path(0).map(|path| (EffectKind::Move, path, false)));
            found.files.extend(path(1).map(|path| (EffectKind::Put, path, false)));
        }
        Call::Copy => {
            found.files.extend(path(0).map(|path| (EffectKind::Read, path, false)));
            found.files.extend(path(1).map(|path| (EffectKind::Put, path, false)));
        }
    }
}

/// `open(PATH, MODE)`, and Perl's `open(F, '>', PATH)`, `open(F, "| command")`.
fn open(texts: &[Text], found: &mut Found) {
    let exact = |at: usize| texts.get(at).and_then(Text::exact).unwrap_or_default();
    let Some(first) = texts.first().filter(|text| !text.prefix().is_empty()) else { return };
    let arrow = exact(0);
    if matches!(arrow, ">" | ">>" | "+<" | "+>" | "<" | "-|" | "|-") {
        let Some(path) = texts.get(1) else { return };
        match arrow {
            "-|" | "|-" if texts.len() > 2 => {
                found.runs.push(Run::Words(texts.iter().skip(1).cloned().collect()));
            }
            "-|" | "|-" => found.runs.push(Run::Shell(path.clone())),
            "<" => found.files.push((EffectKind::Read, path.clone(), false)),
            _ => found.files.push((EffectKind::Write, path.clone(), false)),
        }
        return;
    }
    if let Some(command) = arrow.strip_prefix('|').or_else(|| arrow.strip_suffix('|')) {
        found.runs.push(Run::Shell(Text::literal(command.trim())));
        return;
    }
    if let Some(path) = arrow.strip_prefix('>') {
        let path = path.trim_start_matches('>').trim();
        found.files.push((EffectKind::Write, Text::literal(path), false));
        return;
    }
    let mode = exact(1);
    let writes = mode.len() <= 3 && mode.contains(['w', 'a', 'x', '+', 'c']);
    let kind = if writes { EffectKind::Write } else { EffectKind::Read };
    found.files.push((kind, first.clone(), false));
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Value {
    Text(Text),
    List(Vec<Text>),
    Other,
}

/// The arguments of a call: in brackets, or behind the name up to the end of the statement. What
/// stands before the first string of a Perl `open` is skipped.
fn arguments(tokens: &[Token], variables: &BTreeMap<String, Option<Text>>) -> Vec<Value> {
    let (mut rest, bracket) = match tokens {
        // `File.rm_rf!(...)`: the mark belongs to the name.
        [Token::Sign('('), rest @ ..] | [Token::Sign('!'), Token::Sign('('), rest @ ..] => {
            (rest, true)
        }
        rest => (rest, false),
    };
    let mut out = Vec::new();
    let starts = |token: &Token| {
        matches!(token, Token::Text(_) | Token::Command(_) | Token::Sign('['))
            || (bracket && *token != Token::Sign(')'))
    };
    if !rest.first().is_some_and(starts) {
        return out;
    }
    while out.len() < 64 {
        let (value, behind) = expression(rest, variables);
        let is_handle = out.is_empty() && value == Value::Other;
        if !is_handle {
            out.push(value);
        }
        rest = skip(behind);
        match rest {
            [Token::Sign(','), behind @ ..] => rest = behind,
            _ => break,
        }
    }
    out
}

/// Skips what follows an expression up to the next comma or end at this depth.
fn skip(tokens: &[Token]) -> &[Token] {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate() {
        match token {
            Token::Sign('(' | '[' | '{') => depth += 1,
            Token::Sign(')' | ']' | '}') => match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return tokens.get(at..).unwrap_or_default(),
            },
            Token::Sign(',' | ';' | '\n') if depth == 0 => {
                return tokens.get(at..).unwrap_or_default();
            }
            _ => {}
        }
    }
    &[]
}

/// A constant at the start: strings joined by `+`, `.` or nothing, or a list of these.
fn expression<'a>(
    tokens: &'a [Token],
    variables: &BTreeMap<String, Option<Text>>,
) -> (Value, &'a [Token]) {
    if let [Token::Sign('['), rest @ ..] = tokens {
        let mut words = Vec::new();
        let mut rest = rest;
        loop {
            match rest {
                [Token::Sign(']'), behind @ ..] => return (Value::List(words), behind),
                [Token::Sign(',' | '\n'), behind @ ..] => rest = behind,
                [] => return (Value::List(words), rest),
                _ => {
                    let (word, behind) = joined(rest, variables);
                    words.push(word.unwrap_or_else(unknown));
                    let behind = skip(behind);
                    if behind.len() == rest.len() || words.len() > 256 {
                        return (Value::List(words), behind);
                    }
                    rest = behind;
                }
            }
        }
    }
    let (text, rest) = joined(tokens, variables);
    (text.map_or(Value::Other, Value::Text), rest)
}

fn unknown() -> Text {
    Text::unknown(Unknown::NotModelled("an expression of another language"))
}

fn joined<'a>(
    tokens: &'a [Token],
    variables: &BTreeMap<String, Option<Text>>,
) -> (Option<Text>, &'a [Token]) {
    let mut out: Option<Text> = None;
    let mut rest = tokens;
    loop {
        match rest {
            [Token::Text(text), behind @ ..] => {
                out.get_or_insert_default().extend(text);
                rest = behind;
            }
            [Token::Name(name), behind @ ..] if behind.first() != Some(&Token::Sign('(')) => {
                match variables.get(name.trim_start_matches('$')) {
                    Some(Some(text)) => out.get_or_insert_default().extend(text),
                    _ if out.is_some() => out.get_or_insert_default().extend(&unknown()),
                    _ => return (None, rest),
                }
                rest = behind;
            }
            _ => return (out, rest),
        }
        match rest {
            [Token::Sign('+' | '.'), behind @ ..] if out.is_some() => {
                if !matches!(behind.first(), Some(Token::Text(_) | Token::Name(_))) {
                    out.get_or_insert_default().extend(&unknown());
                    return (out, behind);
                }
                rest = behind;
            }
            // `"..." % values` fills in what is not followed.
            [Token::Sign('%'), behind @ ..] if out.is_some() => {
                out.get_or_insert_default().extend(&unknown());
                return (out, behind);
            }
            // Python and C join strings that stand side by side.
            [Token::Text(_), ..] if out.is_some() => {}
            _ => return (out, rest),
        }
    }
}

struct Lexer<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    language: Language,
}

impl Lexer<'_> {
    fn tokens(mut self) -> Vec<Token> {
        let mut out = Vec::new();
        while let Some(c) = self.chars.next() {
            if out.len() >= TOKENS {
                break;
            }
            match c {
                '"' | '\'' => out.push(Token::Text(self.string(c, false))),
                '`' => {
                    let text = self.string(c, false);
                    out.push(match self.language {
                        Language::Perl | Language::Ruby | Language::Php | Language::Other => {
                            Token::Command(text)
                        }
                        _ => Token::Text(text),
                    });
                }
                '#' if !matches!(self.language, Language::JavaScript | Language::AppleScript) => {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                }
                '/' if self.language == Language::JavaScript && self.chars.peek() == Some(&'/') => {
                    while self.chars.next_if(|c| *c != '\n').is_some() {}
                }
                c if c.is_alphabetic() || c == '_' || c == '$' || c == '@' => {
                    self.name(c, &mut out);
                }
                '%' if self.language == Language::Ruby => match self.chars.next_if_eq(&'x') {
                    Some(_) => {
                        let text = self.delimited();
                        out.push(Token::Command(text));
                    }
                    None => out.push(Token::Sign(c)),
                },
                ' ' | '\t' | '\r' => {}
                other => out.push(Token::Sign(other)),
            }
        }
        out
    }

    /// A name with what is joined to it, or a string with a prefix or an operator of its own.
    fn name(&mut self, first: char, out: &mut Vec<Token>) {
        let mut name = String::from(first);
        loop {
            let dash = self.language == Language::Lisp;
            let is_part = |c: &char| c.is_alphanumeric() || *c == '_' || dash && *c == '-';
            if let Some(c) = self.chars.next_if(is_part) {
                name.push(c);
                continue;
            }
            let mut ahead = self.chars.clone();
            let joint: String = match (ahead.next(), ahead.next(), ahead.next()) {
                (Some('.'), Some(c), _) if c.is_alphabetic() || c == '_' => ".".into(),
                (Some(':'), Some(':'), Some(_)) => "::".into(),
                (Some('-'), Some('>'), Some(_)) => "->".into(),
                _ => break,
            };
            for _ in joint.chars() {
                self.chars.next();
            }
            name.push_str(&joint);
        }
        let quote = self.chars.peek().copied().filter(|c| matches!(c, '"' | '\''));
        let lower = name.to_ascii_lowercase();
        if self.language == Language::Python
            && let Some(quote) = quote
            && matches!(lower.as_str(), "r" | "b" | "f" | "u" | "rb" | "br" | "fr" | "rf")
        {
            self.chars.next();
            let mut text = self.string(quote, lower.contains('r'));
            if lower.contains('f') {
                text = interpolated(&text, '{', '}');
            }
            out.push(Token::Text(text));
            return;
        }
        let operator = matches!(self.language, Language::Perl | Language::Ruby)
            && matches!(name.as_str(), "q" | "qq" | "qx" | "qw")
            && self.chars.peek().is_some_and(|c| "({[</|!~".contains(*c));
        if operator {
            let text = self.delimited();
            match name.as_str() {
                "qx" => out.push(Token::Command(text)),
                "qw" => {
                    out.push(Token::Sign('['));
                    for word in text.fill("").split_whitespace() {
                        out.push(Token::Text(Text::literal(word)));
                        out.push(Token::Sign(','));
                    }
                    out.push(Token::Sign(']'));
                }
                _ => out.push(Token::Text(text)),
            }
            return;
        }
        out.push(Token::Name(name));
    }

    /// A string behind its opening quote, three quotes included.
    fn string(&mut self, quote: char, raw: bool) -> Text {
        let mut text = String::new();
        let mut ahead = self.chars.clone();
        let triple = self.language == Language::Python
            && ahead.next() == Some(quote)
            && ahead.next() == Some(quote);
        if triple {
            self.chars.next();
            self.chars.next();
        }
        while let Some(c) = self.chars.next() {
            match c {
                c if c == quote && !triple => break,
                c if c == quote => {
                    let mut ahead = self.chars.clone();
                    if ahead.next() == Some(quote) && ahead.next() == Some(quote) {
                        self.chars.next();
                        self.chars.next();
                        break;
                    }
                    text.push(c);
                }
                '\\' if !raw => self.escape(quote, &mut text),
                c => text.push(c),
            }
        }
        let text = Text::literal(text);
        match (self.language, quote) {
            (Language::Perl | Language::Php, '"' | '`') => interpolated_names(&text),
            (Language::Ruby, '"' | '`') => interpolated(&text, '#', '}'),
            (Language::JavaScript, '`') => interpolated(&text, '$', '}'),
            _ => text,
        }
    }

    fn escape(&mut self, quote: char, text: &mut String) {
        let Some(c) = self.chars.next() else { return };
        let literal = quote == '\''
            && matches!(self.language, Language::Perl | Language::Ruby | Language::Php);
        match c {
            c if c == quote || c == '\\' => text.push(c),
            c if literal => text.extend(['\\', c]),
            'n' => text.push('\n'),
            't' => text.push('\t'),
            'r' => text.push('\r'),
            '\n' => {}
            'x' | 'u' => {
                let most = if c == 'x' { 2 } else { 4 };
                let mut value = 0u32;
                for _ in 0..most {
                    let Some(digit) = self.chars.next_if(char::is_ascii_hexdigit) else { break };
                    value = value * 16 + digit.to_digit(16).unwrap_or(0);
                }
                text.extend(char::from_u32(value));
            }
            '0'..='7' => {
                let mut value = c.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = self.chars.next_if(|c| c.is_digit(8)) else { break };
                    value = value * 8 + digit.to_digit(8).unwrap_or(0);
                }
                text.extend(char::from_u32(value));
            }
            other => text.push(other),
        }
    }

    /// Text between delimiters of choice.
    fn delimited(&mut self) -> Text {
        let Some(open) = self.chars.next() else { return Text::empty() };
        let close = match open {
            '(' => ')',
            '{' => '}',
            '[' => ']',
            '<' => '>',
            other => other,
        };
        let mut depth = 0usize;
        let mut text = String::new();
        for c in self.chars.by_ref() {
            if c == close && depth == 0 {
                break;
            }
            if c == open {
                depth += 1;
            } else if c == close {
                depth -= 1;
            }
            text.push(c);
        }
        Text::literal(text)
    }
}

/// A string in which what stands between two marks is filled in.
fn interpolated(text: &Text, open: char, close: char) -> Text {
    let source = text.fill("");
    let mut out = Text::empty();
    let mut rest = source.as_str();
    while let Some((before, behind)) = rest.split_once(open) {
        out.push_str(before);
        let needs_brace = open != '{';
        if needs_brace && !behind.starts_with('{') {
            out.push_str(open.encode_utf8(&mut [0; 4]));
            rest = behind;
            continue;
        }
        out.extend(&unknown());
        rest = behind.split_once(close).map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out
}

/// A string in which `$name` and `@name` are filled in.
fn interpolated_names(text: &Text) -> Text {
    let source = text.fill("");
    let mut out = Text::empty();
    let mut chars = source.chars().peekable();
    while let Some(c) = chars.next() {
        let begins_name = chars.peek().is_some_and(|c| c.is_alphabetic() || *c == '_' || *c == '{');
        if matches!(c, '$' | '@') && begins_name {
            out.extend(&unknown());
            while chars.next_if(|c| c.is_alphanumeric() || matches!(c, '_' | '{' | '}')).is_some() {
            }
        } else {
            out.push_str(c.encode_utf8(&mut [0; 4]));
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Run, scan};
    use crate::model::fact::EffectKind;
    use crate::model::utility::Language;

    fn runs(language: Language, code: &str) -> Vec<String> {
        scan(code, language)
            .runs
            .iter()
            .map(|run| match run {
                Run::Shell(text) => format!("sh: {}", text.display()),
                Run::Words(words) => words
                    .iter()
                    .map(crate::model::value::Text::display)
                    .collect::<Vec<_>>()
                    .join("|"),
            })
            .collect()
    }

    #[test]
    fn literal_calls_show() {
        for (language, code, expected) in [
            (Language::Python, "import os; os.system('rm -rf /')", "sh: rm -rf /"),
            (Language::Python, "subprocess.run(['rm', '-rf', '/'])", "rm|-rf|/"),
            (Language::Python, "c='rm -rf ';c2='/';__import__('os').system(c+c2)", "sh: rm -rf /"),
            (Language::Python, "subprocess.run(\"id\" \" -u\", shell=True)", "sh: id -u"),
            (Language::Python, "os.execvp('rm', ['rm', '-rf', '/'])", "rm|-rf|/"),
            (Language::Python, "os.popen(f'rm {x}').read()", "sh: rm …"),
            (Language::Perl, "system 'rm', '-rf', '/'", "rm|-rf|/"),
            (Language::Perl, "system(\"rm -rf /\")", "sh: rm -rf /"),
            (Language::Perl, "print `id`", "sh: id"),
            (Language::Perl, "exec qw(rm -rf /)", "rm|-rf|/"),
            (Language::Ruby, "%x(id)", "sh: id"),
            (Language::Ruby, "system \"id\"", "sh: id"),
            (Language::JavaScript, "require('child_process').execSync('rm -rf /')", "sh: rm -rf /"),
            (
                Language::JavaScript,
                "require(\"child_process\").spawnSync('rm', ['-rf', '/'])",
                "rm|-rf|/",
            ),
            (Language::Php, "shell_exec('id');", "sh: id"),
            (Language::Lua, "os.execute('id')", "sh: id"),
            (Language::Lisp, "(shell-command \"id\")", "sh: id"),
            (Language::AppleScript, "do shell script \"id\"", "sh: id"),
        ] {
            assert_eq!(runs(language, code), [expected], "{code}");
        }
        assert!(runs(Language::Python, "print('rm -rf /')").is_empty());
        assert!(runs(Language::Python, "# os.system('id')").is_empty());
    }

    #[test]
    fn files_show() {
        for (language, code, kind) in [
            (Language::Python, "shutil.rmtree('/x')", EffectKind::Delete),
            (Language::Python, "open('/x', 'w').write('a')", EffectKind::Write),
            (Language::Python, "print(open('/x').read())", EffectKind::Read),
            (Language::JavaScript, "fs.rmSync('/x', {recursive: true})", EffectKind::Delete),
            (Language::JavaScript, "fs.writeFileSync('/x', 'a')", EffectKind::Write),
            (Language::Perl, "open(F, '>', '/x')", EffectKind::Write),
            (Language::Perl, "unlink \"/x\"", EffectKind::Delete),
            (Language::Ruby, "FileUtils.rm_rf('/x')", EffectKind::Delete),
        ] {
            let found = scan(code, language);
            let found: Vec<_> =
                found.files.iter().map(|(k, path, _)| (*k, path.display())).collect();
            assert_eq!(found, [(kind, "/x".to_owned())], "{code}");
        }
    }
}
