//! Code that only computes and prints: every word of it is one of a short list that a utility's entry
//! gives, and nothing in it can run or open something else.
//!
//! No language is interpreted. What is not surely plain is not plain.

use std::collections::BTreeSet;

use crate::model::utility::Language;

/// Bytes of code that are looked at.
const LONGEST: usize = 2048;

/// Files that JavaScript may load: data in which no secrets are kept.
const DATA: &[&str] = &["package.json", "package-lock.json", "tsconfig.json", "composer.json"];

/// Whether `code` only computes and prints, given the words that do no more.
pub(super) fn is_plain(language: Language, code: &str, words: &[String]) -> bool {
    if words.is_empty() || code.len() > LONGEST || !code.is_ascii() {
        return false;
    }
    match language {
        Language::Perl => code.split(';').all(|statement| is_perl(statement.trim(), words)),
        Language::Python | Language::JavaScript => {
            tokens(language, code).is_some_and(|tokens| is_computation(language, &tokens, words))
        }
        _ => false,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token<'a> {
    Word(&'a str),
    Number,
    Text(&'a str),
    Sign(char),
    Line,
}

/// The tokens of code; none where it holds text that is code again, or a sign that is not known.
fn tokens(language: Language, code: &str) -> Option<Vec<Token<'_>>> {
    let mut out = Vec::new();
    let mut rest = code;
    while let Some(first) = rest.chars().next() {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '$';
        match first {
            '\n' => out.push(Token::Line),
            c if c.is_ascii_whitespace() => {}
            '\'' | '"' => {
                // Letters before the quote make another kind of text of it.
                if matches!(out.last(), Some(Token::Word(_))) && touches(code, rest) {
                    return None;
                }
                let inner = rest.get(1..)?;
                let end = inner.find(first)?;
                let text = inner.get(..end)?;
                if text.contains(['\\', '\n']) {
                    return None;
                }
                out.push(Token::Text(text));
                rest = inner.get(end + 1..)?;
                continue;
            }
            c if c.is_ascii_digit() => {
                let end = rest.find(|c: char| !is_word(c) && c != '.').unwrap_or(rest.len());
                out.push(Token::Number);
                rest = rest.get(end..)?;
                continue;
            }
            c if is_word(c) => {
                let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
                out.push(Token::Word(rest.get(..end)?));
                rest = rest.get(end..)?;
                continue;
            }
            ';' | ',' | '.' | '(' | ')' | '[' | ']' | '{' | '}' | '+' | '-' | '*' | '%' | '<'
            | '>' | '=' | '!' | ':' | '&' | '|' | '?' => out.push(Token::Sign(first)),
            '/' if language == Language::Python => out.push(Token::Sign(first)),
            _ => return None,
        }
        rest = rest.get(1..)?;
    }
    Some(out)
}

/// Whether `rest` of `code` follows what stands before it without a blank.
fn touches(code: &str, rest: &str) -> bool {
    let before = code.get(..code.len() - rest.len()).unwrap_or_default();
    before.ends_with(|c: char| !c.is_ascii_whitespace())
}

fn is_computation(language: Language, tokens: &[Token<'_>], words: &[String]) -> bool {
    let mut modules = BTreeSet::new();
    let mut importing = false;
    let mut from = false;
    for (at, token) in tokens.iter().enumerate() {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let next = tokens.get(at + 1);
        match token {
            Token::Line | Token::Sign(';') => (importing, from) = (false, false),
            // A text that is called names a function in some languages.
            Token::Text(_) if next == Some(&Token::Sign('(')) => return false,
            Token::Sign('[') if language == Language::JavaScript => {
                let follows = matches!(
                    before,
                    Some(Token::Word(_) | Token::Text(_) | Token::Number | Token::Sign(')' | ']'))
                );
                let counted = matches!(next, Some(Token::Number))
                    && tokens.get(at + 2) == Some(&Token::Sign(']'));
                if follows && !counted {
                    return false;
                }
            }
            Token::Word("from") if language == Language::Python => from = true,
            // What is taken out of a module keeps its name, which must be one of the list.
            Token::Word("as") if from => return false,
            Token::Word("import") if language == Language::Python => importing = !from,
            Token::Word("require") if language == Language::JavaScript => {
                let loads = match (next, tokens.get(at + 2), tokens.get(at + 3)) {
                    (Some(Token::Sign('(')), Some(Token::Text(file)), Some(Token::Sign(')'))) => {
                        is_data(file)
                    }
                    _ => false,
                };
                if !loads {
                    return false;
                }
            }
            Token::Word(name) if importing => {
                modules.insert(*name);
            }
            Token::Word(name) => {
                let module = modules.contains(name)
                    && before != Some(&Token::Sign('.'))
                    && next != Some(&Token::Sign('('));
                if !module && !is_known(name, words) {
                    return false;
                }
            }
            _ => {}
        }
    }
    true
}

/// Whether a word is one of the list, or a variable of one small letter.
fn is_known(name: &str, words: &[String]) -> bool {
    let letter = name.len() == 1 && name.starts_with(|c: char| c.is_ascii_lowercase());
    letter || words.iter().any(|word| word == name)
}

/// Whether a module is a file of data below the current directory.
fn is_data(file: &str) -> bool {
    let name = file.rsplit('/').next().unwrap_or_default();
    file.starts_with("./") && !file.contains("..") && DATA.contains(&name)
}

/// Whether a statement of Perl prints, skips or replaces by patterns that hold no code.
fn is_perl(statement: &str, words: &[String]) -> bool {
    let mut rest = statement;
    let mut seen = 0;
    while !rest.is_empty() {
        seen += 1;
        if seen > 16 {
            return false;
        }
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(rest.len());
        let (word, behind) = rest.split_at_checked(end).unwrap_or_default();
        let behind = match word {
            "s" | "y" | "tr" => match parts(behind, 2) {
                Some((flags, behind)) if !(word == "s" && flags.contains('e')) => behind,
                _ => return false,
            },
            "m" => match parts(behind, 1) {
                Some((_, behind)) => behind,
                None => return false,
            },
            "" if rest.starts_with('/') => match parts(rest, 1) {
                Some((_, behind)) => behind,
                None => return false,
            },
            "" => match rest.strip_prefix("$_").or_else(|| rest.strip_prefix(['!', ','])) {
                Some(behind) => behind,
                None => return false,
            },
            word if words.iter().any(|own| own == word) => behind,
            _ => return false,
        };
        rest = behind.trim_start();
    }
    true
}

/// Skips `count` parts between delimiters, and the flags behind; none where a part holds code or
/// the delimiters are a pair of brackets.
fn parts(text: &str, count: usize) -> Option<(&str, &str)> {
    let delimiter =
        text.chars().next().filter(|c| matches!(c, '/' | '|' | ',' | '#' | ':' | '!'))?;
    let mut rest = text.get(1..)?;
    for _ in 0..count {
        let mut escaped = false;
        let end = rest.char_indices().find_map(|(at, c)| {
            let ends = c == delimiter && !escaped;
            escaped = c == '\\' && !escaped;
            ends.then_some(at)
        })?;
        let part = rest.get(..end)?;
        if ["(?{", "(??{", "@{", "${", "(*"].iter().any(|code| part.contains(code)) {
            return None;
        }
        rest = rest.get(end + 1..)?;
    }
    let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
    let (flags, behind) = rest.split_at_checked(end)?;
    flags.chars().all(|c| "gimsxcdrneo".contains(c)).then_some((flags, behind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_computes_and_prints_is_plain_and_what_reaches_out_is_not() {
        let words = |list: &str| list.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let python = words("import from print sys version os getcwd json load stdin len for in");
        let script = words("console log process version require name typeof");
        let perl = words("print if unless next");
        for (language, words, code, plain) in [
            (Language::Python, &python, "import sys; print(sys.version)", true),
            (Language::Python, &python, "import numpy\nprint(numpy.version)", true),
            (Language::Python, &python, "print([x for x in 'abc'])", true),
            (Language::Python, &python, "import os; os.system('x')", false),
            (Language::Python, &python, "import os; os.system('x'); import system", false),
            (Language::Python, &python, "exec('x'); import exec", false),
            (Language::Python, &python, "from os import getcwd\nprint(getcwd())", true),
            (Language::Python, &python, "from os import system; system('x')", false),
            (Language::Python, &python, "from os import system as len; len('x')", false),
            (Language::Python, &python, "from os import getcwd as s; s()", false),
            (Language::Python, &python, "print(open('.env').read())", false),
            (Language::Python, &python, "print(f'{len}')", false),
            (Language::Python, &python, "print(''.__class__)", false),
            (Language::JavaScript, &script, "console.log(process.version)", true),
            (Language::JavaScript, &script, "require('./package.json').name", true),
            (Language::JavaScript, &script, "require('./package.json')['name']", false),
            (Language::JavaScript, &script, "require('./x.json').name", false),
            (Language::JavaScript, &script, "require('fs')", false),
            (Language::JavaScript, &script, "''['constructor']['constructor']('x')()", false),
            (Language::JavaScript, &script, "console.log(`${x}`)", false),
            (Language::JavaScript, &script, "process.exit", false),
            (Language::Perl, &perl, "print if /x/", true),
            (Language::Perl, &perl, "s/a/b/g; s|c|d|", true),
            (Language::Perl, &perl, "s/a/`id`/e", false),
            (Language::Perl, &perl, "print if /(?{ system 1 })/", false),
            (Language::Perl, &perl, "s/a/@{[`id`]}/", false),
            (Language::Perl, &perl, "unlink $_", false),
        ] {
            assert_eq!(is_plain(language, code, words), plain, "{code}");
        }
    }
}
