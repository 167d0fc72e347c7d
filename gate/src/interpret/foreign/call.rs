//! Builtins and their options that a shell that is no bash lacks, or has under another meaning.

use crate::model::context::Shell;
use crate::model::value::Field;

/// Builtins of bash that a POSIX shell need not have. It looks for a program of that name.
const BUILTINS_OF_BASH: &[&str] = &[
    "bind",
    "builtin",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "declare",
    "dirs",
    "disown",
    "enable",
    "help",
    "history",
    "let",
    "logout",
    "mapfile",
    "popd",
    "pushd",
    "readarray",
    "shopt",
    "source",
    "suspend",
    "typeset",
];

/// Builtins and precommand modifiers with which zsh does something that bash does not.
const BUILTINS_OF_ZSH: &[&str] = &[
    "-",
    "always",
    "autoload",
    "bindkey",
    "disable",
    "emulate",
    "end",
    "fc",
    "foreach",
    "functions",
    "nocorrect",
    "noglob",
    "private",
    "r",
    "rehash",
    "repeat",
    "sched",
    "setopt",
    "stat",
    "unfunction",
    "unhash",
    "unsetopt",
    "vared",
    "whence",
    "where",
    "zcompile",
    "zle",
    "zmodload",
    "zparseopts",
    "zstyle",
];

/// Builtins of bash that zsh lacks, or has under another meaning.
const NOT_IN_ZSH: &[&str] = &[
    "alias",
    "bind",
    "caller",
    "compgen",
    "complete",
    "compopt",
    "enable",
    "hash",
    "help",
    "mapfile",
    "readarray",
    "shopt",
];

/// What the words of a command make of it that this shell would not; none where it is as in bash.
pub(in crate::interpret) fn odd_call(
    name: &str,
    fields: &[Field],
    shell: Shell,
) -> Option<&'static str> {
    let words: Vec<&str> = fields.iter().skip(1).map(|field| field.text.prefix()).collect();
    let options = || words.iter().take_while(|word| word.starts_with('-') && **word != "--");
    if shell == Shell::Zsh {
        return match name {
            name if BUILTINS_OF_ZSH.contains(&name) => Some("a builtin of zsh"),
            name if NOT_IN_ZSH.contains(&name) => Some("a builtin of bash"),
            "read" if options().any(|word| *word != "-r") => Some("an option of `read`"),
            "set" => odd_set(&words, "aeux").then_some("an option of `set`"),
            "unset" if words.iter().any(|word| word.contains('[') || word.starts_with("-n")) => {
                Some("`unset` of an element")
            }
            "declare" | "typeset" | "local" | "export" | "readonly"
                if options().any(|word| word.contains(['n', 'f', 'p', 'i'])) =>
            {
                Some("an option of a declaration")
            }
            "trap" if has_signal_of_bash(&words) => Some("a signal of bash"),
            "shift" if words.iter().any(|word| !word.bytes().all(|c| c.is_ascii_digit())) => {
                Some("an operand of `shift`")
            }
            "printf" if words.iter().any(|word| word.contains("%q")) => Some("`printf %q`"),
            _ => None,
        };
    }
    match name {
        name if BUILTINS_OF_BASH.contains(&name) => Some("a builtin of bash"),
        "printf"
            if words.first().is_some_and(|word| word.starts_with('-') && *word != "--")
                || words.iter().any(|word| {
                    ["%q", "%(", "\\x", "\\u", "\\U", "\\e", "\\E", "\\'", "\\\"", "\\?"]
                        .iter()
                        .any(|part| word.contains(part))
                }) =>
        {
            Some("a form of `printf`")
        }
        "echo" if words.first().is_some_and(|word| is_echo_option(word)) => {
            Some("an option of `echo`")
        }
        "read" if words.is_empty() || options().any(|word| *word != "-r") => {
            Some("an option of `read`")
        }
        "set" => odd_set(&words, "aefuxC").then_some("an option of `set`"),
        "export" | "readonly" | "unset" | "local"
            if options().any(|word| !matches!(*word, "-p" | "-v" | "-f"))
                || words.iter().any(|word| word.contains("+=") || word.contains('[')) =>
        {
            Some("an option of a declaration")
        }
        "trap" if has_signal_of_bash(&words) => Some("a signal of bash"),
        "exec" | "type" | "hash" | "wait" | "jobs" | "command" | "cd" | "pwd" | "kill"
        | "ulimit"
            if options().any(|word| !matches!(*word, "-p" | "-v" | "-V" | "-L" | "-P" | "-")) =>
        {
            Some("an option of a builtin")
        }
        "." if words.len() > 1 => Some("operands of `.`"),
        _ => None,
    }
}

/// Whether a word is taken for an option by bash's `echo` and printed by others.
fn is_echo_option(word: &str) -> bool {
    word != "-n"
        && word.len() > 1
        && word.strip_prefix('-').is_some_and(|rest| rest.chars().all(|c| "neE".contains(c)))
}

/// Whether `set` turns something on or off that is not one of these letters.
fn odd_set(words: &[&str], letters: &str) -> bool {
    const NAMES: &[&str] = &["allexport", "errexit", "nounset", "xtrace"];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let Some(rest) = word.strip_prefix(['-', '+']) else { return false };
        match rest {
            "-" | "" => return false,
            "o" => {
                if words.next().is_none_or(|name| !NAMES.contains(name)) {
                    return true;
                }
            }
            rest if rest.chars().all(|letter| letters.contains(letter)) => {}
            _ => return true,
        }
    }
    false
}

fn has_signal_of_bash(words: &[&str]) -> bool {
    words.iter().skip(1).any(|word| {
        let word = word.trim_start_matches("SIG");
        ["DEBUG", "ERR", "RETURN"].iter().any(|name| name.eq_ignore_ascii_case(word))
    })
}
