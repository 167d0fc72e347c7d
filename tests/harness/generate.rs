//! Candidates out of the productions of the shell grammar.
//!
//! One method per production; each gives text. What a method writes ends by itself: no loop
//! without a bound, no program that waits.

mod command;
mod disguise;
mod gap;
mod word;

use crate::random::Random;

/// Where a candidate comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// One command with words out of every form of expansion.
    #[default]
    Words,
    /// A whole script out of the grammar.
    Script,
    /// A known deed behind quoting, expansion, wrappers, carriers and control structures.
    Disguise,
    /// A line of the corpus, changed.
    Mutation,
    /// A construct that editor grammars misread.
    Gap,
}

impl Class {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Words, Self::Script, Self::Disguise, Self::Mutation, Self::Gap];

    /// Its name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Words => "words",
            Self::Script => "script",
            Self::Disguise => "disguise",
            Self::Mutation => "mutation",
            Self::Gap => "gap",
        }
    }
}

/// A text for bash and the gate.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidate {
    /// The text.
    pub text: String,
    /// Where it comes from.
    pub class: Class,
    /// Whether something of it depends on files, the environment or the machine.
    pub outside: bool,
}

/// The candidate of this number in the campaign of this seed.
pub fn candidate(seed: u64, number: u64, corpus: &[String]) -> Candidate {
    let mut random = Random::new(seed.wrapping_mul(0x1_0000_0001).wrapping_add(number));
    random.bits();
    let mut source = Source { random, outside: false };
    let class = match source.random.below(100) {
        0..25 => Class::Words,
        25..50 => Class::Script,
        50..75 => Class::Disguise,
        75..90 if !corpus.is_empty() => Class::Mutation,
        _ => Class::Gap,
    };
    let text = match class {
        Class::Words => source.words_line(),
        Class::Script => source.script(),
        Class::Disguise => source.disguise(),
        Class::Mutation => source.mutation(corpus),
        Class::Gap => source.gap(),
    };
    // Names that nothing sets, and numbers that the machine picks.
    let free = ["$$", "$!", "$-", "$0", "$_", "${?}", "$?"].iter().any(|name| text.contains(name));
    let outside = source.outside
        || free
        || class == Class::Mutation
        || (class == Class::Disguise && text.contains("nope"));
    Candidate { text, class, outside }
}

/// What is known to ask or to be denied, and what is known to be harmless.
const DEEDS: &[&[&str]] = &[
    &["rm", "-rf", "/"],
    &["rm", "-rf", "/etc"],
    &["rm", "-fr", "/usr/", "--", "x y"],
    &["git", "push", "--force", "origin", "main"],
    &["ls", "-la", "src"],
    &["ls", "a b", ""],
    &["grep", "-n", "x*y", "a.txt"],
    &["chmod", "-R", "777", "/"],
    &["dd", "if=/dev/zero", "of=/dev/sda"],
    &["cp", "a.txt", "/etc/passwd"],
    &["mkfs.ext4", "/dev/sda1"],
    &["shutdown", "-h", "now"],
    &["stat", "$HOME", "`q`"],
    &["du", "-s", "~", "{a,b}"],
];

const PLAIN: &[&str] = &[
    "a", "b", "rm", "ls", "-f", "--", "-", "x=1", "a.txt", "/etc", "..", ".", "src", "1", "0",
    "10", "%s", "a:b", "x+y", "@", "!", "=", "a=b", "#", "a#b", "if", "then", "]", "}", "{", "{}",
    "^x", "x~y", ",", "%", "+", "a=~", "a:~", "--x=~",
];

const VALUES: &[&str] = &[
    "a",
    "''",
    "'a b'",
    "' lead'",
    "'trail '",
    "'*'",
    "'x:y::z'",
    "-rf",
    "rm",
    "/etc/passwd",
    "\"a'b\"",
    "$'t\\tx'",
    "$'n\\nx'",
    "'[a]'",
    "'a*b'",
    "'$x'",
    "'`q`'",
    "'\\'",
    "'a\\b'",
    "'~'",
    "~",
    "{a,b}",
    "a.tar.gz",
    "'é ü'",
    "7",
    "010",
    "-3",
    "a:b",
    "'a  b'",
    "'?'",
    "'{x,y}'",
    "1+2",
    "a[0]",
    "Hello",
    "'x\"y'",
];

const IFS: &[&str] =
    &["IFS=:", "IFS=", "unset IFS", "IFS=x", "IFS=' :'", "IFS=$'\\n'", "IFS=a", "IFS='*'", "IFS=-"];

const READERS: &[&str] =
    &["ls", "stat", "file", "du", "grep", "wc", "cat", "p", "head", "sort", "w", "echo", "tr"];

const OUTSIDE: &[&str] = &[
    "$DIR",
    "$TARGET",
    "\"$DIR\"",
    "$EMPTY",
    "${NAME}",
    "$ROOT",
    "$FLAG",
    "\"$NAME\"",
    "$UNSET",
    "${DIR:-x}",
];

struct Source {
    random: Random,
    outside: bool,
}

impl Source {
    fn pick(&mut self, items: &[&str]) -> String {
        let at = self.random.below(items.len());
        items.get(at).copied().unwrap_or_default().to_owned()
    }

    fn once_in(&mut self, times: usize) -> bool {
        self.random.once_in(times)
    }

    /// A line that sets up variables and one command whose words are looked at.
    fn words_line(&mut self) -> String {
        let mut out = self.prelude();
        let name = self.pick(&["ls", "stat", "p", "printf '%s\\n'", "env ls", "grep"]);
        out.push_str(&name);
        for _ in 0..=self.random.below(4) {
            let word = self.word(3);
            out.extend([format!(" {word}")]);
        }
        out
    }

    fn prelude(&mut self) -> String {
        let mut out = String::new();
        let closed = self.once_in(2);
        if closed {
            out.push_str("unset nope arr m fd; set --; ");
        } else {
            self.outside = true;
        }
        for name in ["v", "u", "n"] {
            if closed || self.once_in(2) {
                let value = self.pick(VALUES);
                out.extend([format!("{name}={value}; ")]);
            }
        }
        match self.random.below(12) {
            0 => out.push_str("arr=(a 'b c' '' d); "),
            1 => {
                let (one, two) = (self.word(1), self.word(1));
                out.extend([format!("arr=({one} {two} [5]=x y); ")]);
            }
            2 => out.push_str("declare -A m=([k]=v ['a b']='c d'); "),
            3 => out.push_str("set -- one 'two three' ''; "),
            4 => {
                let (one, two) = (self.word(1), self.word(1));
                out.extend([format!("set -- {one} {two}; ")]);
            }
            5 => {
                // Something that the first separator joins.
                let ifs = self.pick(IFS);
                out.extend([format!("{ifs}; set -- one 'two three' ''; arr=(a 'b c'); ")]);
            }
            6 => out.push_str("declare -i n=3+4; "),
            7 => out.push_str("v+=z; arr+=(e f); "),
            8 => out.push_str("u=v; "),
            9 => out.push_str("set -f; "),
            _ => {}
        }
        out
    }
}

/// Base 64 (RFC 4648).
pub fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut out = String::new();
    for chunk in bytes.chunks(3) {
        let mut value = 0_usize;
        for index in 0..3 {
            value = value << 8 | usize::from(chunk.get(index).copied().unwrap_or_default());
        }
        for index in 0..4 {
            let letter = LETTERS.get(value >> (18 - 6 * index) & 63).copied().unwrap_or_default();
            out.push(if index > chunk.len() { '=' } else { char::from(letter) });
        }
    }
    out
}
