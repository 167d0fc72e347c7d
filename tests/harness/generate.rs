//! Candidates out of the productions of the shell grammar.
//!
//! One method per production; each gives text. What a method writes ends by itself: no loop
//! without a bound, no program that waits.

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

    fn word(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.random.below(3) {
            let part = self.part(depth);
            out.push_str(&part);
        }
        out
    }

    fn part(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(PLAIN);
        }
        match self.random.below(34) {
            0..6 => self.pick(PLAIN),
            6..8 => {
                let text = self.raw().replace('\'', "");
                format!("'{text}'")
            }
            8..12 => {
                let text = self.double(depth);
                format!("\"{text}\"")
            }
            12..14 => {
                let text = self.ansi();
                format!("$'{text}'")
            }
            14 => self.pick(&[
                "\\ ", "\\*", "\\$", "\\\\", "\\a", "\\'", "\\\"", "\\\n", "\\~", "\\{", "\\#",
                "\\;", "\\é",
            ]),
            15..22 => self.parameter(depth, false),
            22..24 => {
                let sum = self.arithmetic(depth);
                format!("$(({sum}))")
            }
            24..27 => self.substitution(depth, false),
            27..29 => self.brace(depth),
            29 => {
                self.outside = true;
                self.pick(&[
                    "*", "?", "[ab]*", "*.txt", "src/*", "[!a]*", "**", "nomatch*", "/e*", "./*",
                    "[a", "[]a]*",
                ])
            }
            30 => self.pick(&["~", "~/x", "~+", "~-", "~nobody", "~+/y", "a=~/b", "~root"]),
            31 => {
                let text = self.double(depth);
                format!("$\"{text}\"")
            }
            32 => self.pick(&["é", "\u{a0}", "a\rb", "ü", "日本", "“x”"]),
            _ => {
                self.outside = true;
                self.pick(OUTSIDE)
            }
        }
    }

    fn raw(&mut self) -> String {
        self.pick(&[
            "", "a b", "*", "$v", "`q`", "$(q)", "\\", "\\n", "\"", "!", "~", "{a,b}", "é", "\n",
            "\t", "#", ";", "&", "|", ">x", "a\\", "'", "x  y", "\r",
        ])
    }

    fn double(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..self.random.below(4) {
            let part = match self.random.below(10) {
                0..3 => self
                    .raw()
                    .replace(['"', '`'], "")
                    .replace("$(q)", "q")
                    .replace("a\\", "a")
                    .replace('\\', "\\\\"),
                3 => self
                    .pick(&["\\$", "\\\"", "\\\\", "\\`", "\\n", "\\\n", "\\a", "\\é", "$", "'"]),
                4..8 => self.parameter(depth.saturating_sub(1), true),
                8 => {
                    let sum = self.arithmetic(depth.saturating_sub(1));
                    format!("$(({sum}))")
                }
                _ => self.substitution(depth.saturating_sub(1), true),
            };
            out.push_str(&part);
        }
        out
    }

    fn ansi(&mut self) -> String {
        let mut out = String::new();
        for _ in 0..self.random.below(4) {
            let part = self.pick(&[
                "a", "\\n", "\\t", "\\x41", "\\x2", "\\101", "\\0", "\\u00e9", "\\U1F600", "\\'",
                "\\\"", "\\\\", "\\cA", "\\e", "\\xff", "\\q", "\\?", "\\18", "\\x{41}", "é", "$v",
                "\\c?", "b c", "\\x20", "\\u2", "\\1010", "\\a",
            ]);
            out.push_str(&part);
        }
        out
    }

    fn pattern(&mut self, depth: usize) -> String {
        match self.random.below(9) {
            0 => "*".into(),
            1 => self.pick(&[
                "?",
                "a*",
                "*a",
                "[a-c]",
                "*[:/]",
                "[!a]",
                "?*",
                "*/",
                "*.",
                "\\*",
                "'*'",
                "[[:alpha:]]",
                "#",
                "%",
                "[^x]",
            ]),
            2..5 => self.pick(&["a", "b", " ", ":", "x", ".", "/", "t", "-", "e", ""]),
            5 => self.parameter(depth.saturating_sub(1), false),
            6 => "\"$v\"".into(),
            _ => self.word(depth.saturating_sub(1).min(1)),
        }
    }

    fn parameter(&mut self, depth: usize, quoted: bool) -> String {
        let name = self.pick(&[
            "v", "u", "n", "v", "arr", "1", "@", "*", "nope", "arr[1]", "arr[@]", "m[k]", "m[a b]",
            "arr[-1]", "arr[*]",
        ]);
        if depth == 0 || self.once_in(4) {
            return match self.random.below(8) {
                0 => "$@".into(),
                1 => "$*".into(),
                2 => "$#".into(),
                3 => format!("${{{name}}}"),
                4 => "\"$@\"".replace('"', if quoted { "" } else { "\"" }),
                5 => "${arr[@]}".into(),
                _ => self.pick(&["$v", "$u", "$n", "$v", "${v}", "$1", "$nope"]),
            };
        }
        let word =
            if quoted { self.double(depth.saturating_sub(1).min(1)) } else { self.word(depth - 1) };
        let word = word.replace('}', "");
        let pattern = self.pattern(depth - 1).replace('}', "");
        let number = self.pick(&["0", "1", "2", "-1", " -1", "n", "1+1", "99", "$n", " -2"]);
        let length = self.pick(&["0", "1", "2", "-1", "99", "n"]);
        match self.random.below(34) {
            0 => format!("${{#{name}}}"),
            1 => format!("${{{name}:-{word}}}"),
            2 => format!("${{{name}-{word}}}"),
            3 => format!("${{v:={word}}}"),
            4 => format!("${{nope={word}}}"),
            5 => format!("${{{name}:+{word}}}"),
            6 => format!("${{{name}+{word}}}"),
            7 => format!("${{{name}#{pattern}}}"),
            8 => format!("${{{name}##{pattern}}}"),
            9 => format!("${{{name}%{pattern}}}"),
            10 => format!("${{{name}%%{pattern}}}"),
            11..13 => format!("${{{name}/{pattern}/{word}}}"),
            13 => format!("${{{name}//{pattern}/{word}}}"),
            14 => format!("${{{name}/#{pattern}/{word}}}"),
            15 => format!("${{{name}/%{pattern}/{word}}}"),
            16 => format!("${{{name}//{pattern}}}"),
            17 | 18 => format!("${{{name}:{number}}}"),
            19 | 20 => format!("${{{name}:{number}:{length}}}"),
            21 => {
                let operator = self.pick(&["^", "^^", ",", ",,", "~", "~~"]);
                format!("${{{name}{operator}}}")
            }
            22 => format!("${{{name}^^[a-c]}}"),
            23..25 => {
                let operator = self.pick(&["Q", "U", "L", "u", "E", "A", "a", "P", "K", "k"]);
                format!("${{{name}@{operator}}}")
            }
            25 => "${!u}".into(),
            26 => self.pick(&[
                "${!v@}",
                "${!v*}",
                "${!arr[@]}",
                "${!m[@]}",
                "${#arr[@]}",
                "${#@}",
                "${#*}",
                "${#v[@]}",
            ]),
            27 => format!("${{@:{number}:{length}}}"),
            28 => format!("${{*:{number}}}"),
            29 => self.pick(&["$?", "${?}", "$-", "$$", "$!", "$0", "$_"]),
            30 => format!("${{arr[@]:{number}:{length}}}"),
            31 => format!("${{{name}:?{word}}}"),
            _ => format!("${{{name}}}"),
        }
    }

    fn arithmetic(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.pick(&[
                "1", "2", "7", "n", "$n", "010", "0x1f", "2#101", "v", "-3", "${n}", "arr[0]",
                "nope", "36#z",
            ]);
        }
        let (left, right) = (self.arithmetic(depth - 1), self.arithmetic(depth - 1));
        match self.random.below(16) {
            0..3 => left,
            3 => format!("{left}+{right}"),
            4 => format!("{left} - {right}"),
            5 => format!("{left}*({right})"),
            6 => format!("{left} / {right}"),
            7 => format!("{left}%{right}"),
            8 => format!("{left}**2"),
            9 => format!("{left}<{right}?{left}:{right}"),
            10 => self.pick(&[
                "n++", "++n", "n--", "n+=2", "n=5", "n<<=1", "v=3,v+1", "!n", "~n", "-n",
                "arr[1]=4",
            ]),
            11 => format!("{left}=={right}||{left}"),
            12 => format!("{left}&{right}|{left}^{right}"),
            13 => format!("{left} >> 1 << {right}"),
            14 => format!("({left}, {right})"),
            _ => format!("{left}&&{right}"),
        }
    }

    fn substitution(&mut self, depth: usize, quoted: bool) -> String {
        let inner = match self.random.below(8) {
            0..3 => {
                let word = self.word(depth.saturating_sub(1));
                format!("echo {word}")
            }
            3..5 => {
                let word = self.word(depth.saturating_sub(1));
                format!("printf '%s' {word}")
            }
            5 => {
                let text = self.pick(&["a b", "x", "rm", "-rf /", ""]);
                format!("echo '{text}' | rev")
            }
            6 => self.pick(&[
                ":",
                "true",
                "printf 'a\\nb\\n\\n'",
                "echo -n x",
                "echo -e 'a\\tb'",
                "printf '%03d' 7",
                "printf %b 'a\\x41'",
                "printf '%q' 'a b'",
                "printf '%s-' a b",
            ]),
            _ => self.simple(depth.saturating_sub(1)),
        };
        if self.once_in(4) && !quoted && !inner.contains(['`', '\\', '\'', '"']) {
            return format!("`{inner}`");
        }
        format!("$({inner})")
    }

    fn brace(&mut self, depth: usize) -> String {
        match self.random.below(8) {
            0..3 => {
                let (one, two) = (self.word(depth - 1), self.word(depth - 1));
                format!("{{{one},{two}}}")
            }
            3 => self.pick(&[
                "{1..3}",
                "{a..c}",
                "{3..1}",
                "{01..03}",
                "{1..7..3}",
                "{c..a..2}",
                "{-1..1}",
                "{1..2}{a,b}",
                "{a..3}",
                "{1..x}",
            ]),
            4 => self.pick(&[
                "{a}",
                "{,}",
                "{a,}",
                "{,b}",
                "{}",
                "{a,b",
                "a,b}",
                "{{a,b},c}",
                "{a,{b,c}}",
                "\\{a,b}",
                "{a\\,b,c}",
                "{'a,b',c}",
                "${v}{a,b}",
                "{$v,b}",
                "$v{,}",
            ]),
            _ => {
                let word = self.word(depth - 1);
                format!("x{{{word},}}y")
            }
        }
    }

    fn redirection(&mut self, depth: usize) -> String {
        let target = match self.random.below(8) {
            0 => self.word(depth.min(1)),
            1 => "\"$v\"".into(),
            2 => "/tmp/$n".into(),
            _ => self.pick(&[
                "out",
                "/tmp/out",
                "'with q'",
                "log.txt",
                "/dev/null",
                "../x",
                "src/o",
                "~/o",
                "/etc/o",
                "build/o",
            ]),
        };
        match self.random.below(14) {
            0..4 => format!(">{target}"),
            4 => format!(">> {target}"),
            5 => format!("2>{target}"),
            6 => format!("&>{target}"),
            7 => "2>&1".into(),
            8 => format!(">|{target}"),
            9 => format!("<>{target}"),
            10 => format!("{{fd}}>{target}"),
            11 => "<<<\"$v x\"".into(),
            12 => {
                self.pick(&["</dev/null", "<a.txt", ">&2", "3>&1", "<&-", "2>&-", "1>&2-", "<&0"])
            }
            _ => format!("&>>{target}"),
        }
    }

    fn simple(&mut self, depth: usize) -> String {
        let mut words = Vec::new();
        if self.once_in(8) {
            let value = self.word(depth.min(1));
            words.push(format!("v={value}"));
        }
        if self.once_in(10) {
            words.push(self.redirection(depth));
        }
        if self.once_in(12) {
            words.push(self.pick(&[
                "command",
                "env",
                "nohup",
                "nice -n 2",
                "timeout 1",
                "xargs",
                "builtin",
                "exec",
                "setsid",
                "env -i A=b",
                "stdbuf -o0",
                "command --",
                "env -- ",
            ]));
        }
        words.push(if self.once_in(12) { self.word(depth.min(1)) } else { self.pick(READERS) });
        for _ in 0..self.random.below(4) {
            words.push(self.word(depth));
            if self.once_in(8) {
                words.push(self.redirection(depth));
            }
        }
        if self.once_in(6) {
            words.push(self.redirection(depth));
        }
        let blank = self.pick(&[" ", " ", " ", " ", "  ", "\t", " \\\n ", "\\\n "]);
        words.join(&blank)
    }

    fn builtin(&mut self, depth: usize) -> String {
        let word = self.word(depth.min(2));
        let value = self.pick(VALUES);
        match self.random.below(30) {
            0 => format!("v={word}"),
            1 => format!("u={value} n=3"),
            2 => format!("arr=({word} {value})"),
            3 => format!("read v u <<< {word}"),
            4 => format!("printf -v v '%s' {word}"),
            5 => self.pick(&[
                "cd src",
                "cd /tmp",
                "cd ..",
                "cd",
                "cd -",
                "pushd src >/dev/null",
                "cd ~",
                "cd /; cd etc",
            ]),
            6 => format!("export v={value}"),
            7 => self.pick(&[
                "unset v",
                "unset 'arr[1]'",
                "shift",
                "set -f",
                "set +f",
                "shopt -s nullglob",
                "set -u",
                "set -e",
                "unset IFS",
                "set -C",
            ]),
            8 => format!("eval \"ls {}\"", self.pick(&["$v", "a b", "\\$v", "'x y'", "*"])),
            9 => self.pick(IFS),
            10 => format!("let n={}", self.pick(&["1+2", "n++", "'n = 4'", "n*2"])),
            11 => format!("declare v={word}"),
            12 => "declare -u v=abc".into(),
            13 => format!("mapfile -t arr <<< {word}"),
            14 => format!("trap 'ls {}' EXIT", self.pick(&["$v", "bye", "\"$v\"", "x y"])),
            15 => "declare -n r=v; r=z".into(),
            16 => format!("v+={word}"),
            17 => format!("readonly k={value}"),
            18 => format!("IFS=: read -ra arr <<< {value}"),
            19 => format!("set -- {word} {value}"),
            20 => "getopts ab: v -a -b x".into(),
            21 => format!("bash -c 'ls \"$1\" $0' {word} {value}"),
            22 => format!("sh -c \"ls $v\" x {word}"),
            23 => format!("eval {word}"),
            24 => format!("arr[{}]={word}", self.pick(&["0", "n", "7", "-1", "1+1"])),
            25 => format!("test {word} = {value}"),
            26 => format!("[ -n {word} ]"),
            27 => format!("echo {word} | while read -r v; do ls \"$v\"; done"),
            28 => format!("alias zz='ls {value}'").replace("''", "'"),
            _ => ":".into(),
        }
    }

    fn body(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.random.below(2) {
            let item = self.list(depth);
            let end = self.pick(&["; ", "; ", "\n", " & ", " # comment's\n", "\n\n"]);
            out.push_str(&item);
            out.push_str(if item.contains("<<") { "\n" } else { &end });
        }
        out
    }

    fn list(&mut self, depth: usize) -> String {
        let mut out = self.pipeline(depth);
        while self.once_in(4) && !out.contains("<<E") {
            let operator = self.pick(&[" && ", " || ", "&&", " &&\n", "||\n "]);
            let next = self.pipeline(depth);
            out = format!("{out}{operator}{next}");
        }
        out
    }

    fn pipeline(&mut self, depth: usize) -> String {
        let mut out = self.command(depth);
        while self.once_in(5) && !out.contains("<<E") {
            let operator = self.pick(&[" | ", "|", " |& ", " |\n"]);
            let next = self.command(depth);
            out = format!("{out}{operator}{next}");
        }
        match self.random.below(25) {
            0 => format!("! {out}"),
            1 => format!("time {out}"),
            2 => format!("time -p {out}"),
            _ => out,
        }
    }

    fn command(&mut self, depth: usize) -> String {
        if depth == 0 || self.once_in(3) {
            return self.simple(depth.max(1));
        }
        let deeper = depth - 1;
        let word = self.word(deeper.min(2));
        let out = match self.random.below(22) {
            0..4 => return self.builtin(depth),
            4 => format!("{{ {}}}", self.body(deeper)),
            5 => format!("( {})", self.body(deeper)),
            6 => {
                let (test, yes, no) = (self.body(deeper), self.body(deeper), self.body(deeper));
                match self.random.below(3) {
                    0 => format!("if {test}then {yes}fi"),
                    1 => format!("if {test}then {yes}else {no}fi"),
                    _ => format!("if false; then :; elif {test}then {yes}else {no}fi"),
                }
            }
            7 | 8 => {
                let (second, body) = (self.word(1), self.body(deeper));
                match self.random.below(4) {
                    0 => format!("for v in {word} {second}; do {body}done"),
                    1 => format!("for v do {body}done"),
                    2 => format!("for v in {word}\ndo\n{body}done"),
                    _ => format!("for v in {word}; {{ {body}}}"),
                }
            }
            9 => format!("for ((n=0; n<2; n++)); do {}done", self.body(deeper)),
            10 => format!("while false; do {}done", self.body(deeper)),
            11 => format!("until true; do {}done", self.body(deeper)),
            12 | 13 => {
                let (pattern, one, two) = (self.pattern(1), self.body(deeper), self.body(deeper));
                let pattern = if pattern.is_empty() || pattern.contains([' ', '\n', '#']) {
                    "x".to_owned()
                } else {
                    pattern
                };
                let end = self.pick(&[";;", ";&", ";;&"]);
                format!("case {word} in {pattern}) {one}{end}\n (a|b*) ;; *) {two}esac")
            }
            14 => {
                let body = self.body(deeper);
                let second = self.word(1);
                match self.random.below(3) {
                    0 => format!("f() {{ {body}}}; f {word} {second}"),
                    1 => format!("function g {{ local v={second}; {body}}}\ng {word}"),
                    _ => format!("h() ( {body})\nh {word} >out"),
                }
            }
            15 => format!(
                "[[ {} ]]",
                self.pick(&[
                    "$v == a*",
                    "-n $v",
                    "$v =~ ^a.c$ ",
                    "$v < b || -z $u",
                    "! -f a.txt && ( a == a )",
                    "$n -eq 3",
                    "$v = \"$u\""
                ])
            ),
            16 => format!("(({}))", self.arithmetic(2)),
            17 | 18 => return self.here_document(depth),
            19 => format!("coproc {{ {}}}", self.body(deeper)),
            20 => format!("ls <(echo {word})"),
            _ => format!("while read -r v; do ls $v \"$v\"; done <<< {word}"),
        };
        if self.once_in(8) { format!("{out} {}", self.redirection(1)) } else { out }
    }

    fn here_document(&mut self, depth: usize) -> String {
        let mut body = String::new();
        for _ in 0..self.random.below(4) {
            let line = match self.random.below(7) {
                0 => self.parameter(1, true),
                1 => self.substitution(depth.min(2), true),
                2 => self
                    .pick(&[
                        "it's", "\"q\"", "\\$v", "\\", "`echo x`", "E ", " E", "\tE", "$(",
                        "a\\\nb", "# no", "rm -rf /", "ls a b", "\\\\",
                    ])
                    .replace("$(", "$"),
                3 => "ls \"$v\" $u".into(),
                4 => "$((1+n))".into(),
                5 => "ls ${v:-x} 'y z'".into(),
                _ => self.raw(),
            };
            body.push_str(&line);
            body.push('\n');
        }
        let (operator, delimiter) =
            (self.pick(&["<<", "<<", "<<-", "<< "]), self.pick(&["E", "E", "'E'", "\\E", "\"E\""]));
        let reader = self.pick(&[
            "cat",
            "bash",
            "sh",
            "cat | bash",
            "read v u",
            "while read -r v; do ls \"$v\"; done",
            "tee out",
            "bash -s a 'b c'",
            "xargs ls",
            "cat -",
        ]);
        let (head, tail) =
            reader.split_once(" | ").map_or((reader.clone(), String::new()), |(head, tail)| {
                (head.to_owned(), format!(" | {tail}"))
            });
        format!("{head} {operator}{delimiter}{tail}\n{body}E\n")
    }

    fn script(&mut self) -> String {
        let mut out = if self.once_in(3) {
            self.outside = true;
            String::new()
        } else {
            self.prelude()
        };
        for _ in 0..=self.random.below(2) {
            let list = self.list(3);
            out.push_str(&list);
            let end = self.pick(&["; ", "\n", "\n", " &\n", "\n# it's\n"]);
            out.push_str(if list.contains("<<E") || list.contains("<<") { "\n" } else { &end });
        }
        out.trim_end_matches([';', ' ']).to_owned()
    }

    /// One character after another in some quoting.
    fn spell(&mut self, word: &str) -> String {
        if word.is_empty() {
            return self.pick(&["''", "\"\"", "$''", "${nope:-''}", "\"$nope\""]);
        }
        let characters: Vec<char> = word.chars().collect();
        let mut out = String::new();
        let mut at = 0;
        while at < characters.len() {
            let length = 1 + self.random.below(4);
            let chunk: String = characters.iter().skip(at).take(length).collect();
            at += length;
            let plain =
                chunk.chars().all(|own| own.is_ascii_alphanumeric() || "/._-".contains(own));
            let text = match self.random.below(9) {
                0 => {
                    chunk.chars().fold(String::from("$'"), |mut text, own| {
                        text.extend([format!("\\x{:02x}", u32::from(own) & 0xff)]);
                        text
                    }) + "'"
                }
                1 => {
                    chunk.chars().fold(String::from("$'"), |mut text, own| {
                        text.extend([format!("\\{:03o}", u32::from(own) & 0xff)]);
                        text
                    }) + "'"
                }
                2 => chunk.chars().flat_map(|own| ['\\', own]).collect(),
                3 => format!("'{chunk}'"),
                4 if plain => format!("\"{chunk}\""),
                5 if plain => format!("${{nope:-{chunk}}}"),
                6 if plain => format!(
                    "$(printf %s {})",
                    if chunk.starts_with('-') {
                        format!("'{chunk}'").replace("'-", "'%s' -- '-").replace("'%s' -- ", "")
                    } else {
                        chunk.clone()
                    }
                ),
                7 if plain => format!("{chunk}$nope"),
                8 if plain => format!("{chunk}\\\n"),
                _ => format!("'{chunk}'"),
            };
            out.push_str(&text);
        }
        out
    }

    fn disguise(&mut self) -> String {
        let at = self.random.below(DEEDS.len());
        let deed: Vec<String> = DEEDS
            .get(at)
            .into_iter()
            .flat_map(|words| words.iter())
            .map(|word| (*word).to_owned())
            .collect();
        let mut line = self.hide(&deed);
        for _ in 0..self.random.below(5) {
            line = self.wrap(&line);
        }
        line
    }

    /// The words in another spelling.
    fn hide(&mut self, words: &[String]) -> String {
        let quoted: Vec<String> = words.iter().map(|word| crate::law::quote(word)).collect();
        let plain = quoted.join(" ");
        let (first, rest) =
            quoted.split_first().map_or((String::new(), String::new()), |(first, rest)| {
                (first.clone(), rest.join(" "))
            });
        let simple = words.iter().all(|word| {
            !word.is_empty()
                && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/._-=".contains(&byte))
        });
        let bare = words.join(" ");
        match self.random.below(26) {
            0..4 => words.iter().map(|word| self.spell(word)).collect::<Vec<_>>().join(" "),
            4 => format!("a=({plain}); \"${{a[@]}}\""),
            5 => format!("set -- {plain}; \"$@\""),
            6 => format!("c={first}; $c {rest}"),
            7 => format!("f() {{ \"$@\"; }}; f {plain}"),
            8 if simple => format!("c='{bare}'; $c"),
            9 if simple => format!("{{{}}}", words.join(",")),
            10 if simple => format!("IFS=,; c='{}'; $c", words.join(",")),
            11 if simple => format!("$(echo '{}' | rev)", bare.chars().rev().collect::<String>()),
            12 if simple => format!("echo '{bare}' | xargs env"),
            13 if simple => format!("c='X{bare}X'; ${{c//X}}"),
            14 if simple => format!("read -r a b c d <<< '{bare}'; $a $b $c $d"),
            15 if simple => format!("x='{bare}'; y=x; ${{!y}}"),
            16 if simple => format!("mapfile -t a < <(printf '%s\\n' {bare}); \"${{a[@]}}\""),
            17 if simple => {
                format!("printf -v c %s '{first}'; ${{c//\\'}} {rest}").replace("''", "'")
            }
            18 if simple => format!(
                "$(printf '{}') {rest}",
                words.first().map(|word| octal(word)).unwrap_or_default()
            ),
            19 if simple => format!("c='{}'; ${{c,,}}", bare.to_uppercase()),
            20 if simple => format!("echo {} | base64 -d | sh", base64(bare.as_bytes())),
            21 if simple => format!("c='zz{bare}'; ${{c:2}}"),
            22 if simple => format!("echo '{}' | tr 'a-z' 'b-za' | bash", rotate(&bare)),
            23 => format!("declare -A m=([k]={first}); ${{m[k]}} {rest}"),
            24 => format!("for c in {first}; do $c {rest}; done"),
            _ => words.iter().map(|word| self.spell(word)).collect::<Vec<_>>().join(" "),
        }
    }

    /// The line inside something that runs it.
    fn wrap(&mut self, line: &str) -> String {
        let quoted = crate::law::quote(line);
        let double = format!(
            "\"{}\"",
            line.replace('\\', "\\\\").replace('"', "\\\"").replace('$', "\\$").replace('`', "\\`")
        );
        let lines = line.contains("\nE\n") || line.ends_with('\\');
        match self.random.below(36) {
            0 => format!("bash -c {quoted}"),
            1 => format!("sh -c {double}"),
            2 => format!("eval {quoted}"),
            3 => format!("eval {double}"),
            4 => format!("( {line}\n)"),
            5 => format!("{{ {line}\n}}"),
            6 => format!("if true; then {line}\nfi"),
            7 => format!("for i in 1; do {line}\ndone"),
            8 => format!("f() {{ {line}\n}}; f"),
            9 => format!("true && {line}"),
            10 => format!("false || {line}"),
            11 => format!("case x in x) {line}\n;; esac"),
            12 if !lines => format!("bash <<'E'\n{line}\nE\n"),
            13 => format!("bash <<< {quoted}"),
            14 => format!("echo {quoted} | bash"),
            15 => format!("printf '%s\\n' {quoted} | sh"),
            16 => format!("env bash -c {quoted}"),
            17 => format!("nohup sh -c {quoted}"),
            18 => format!("timeout 1 bash -c {quoted}"),
            19 => format!("x=$({line}\n)"),
            20 => format!("echo \"$({line}\n)\""),
            21 => format!("trap {quoted} EXIT"),
            22 => format!("find . -maxdepth 0 -exec bash -c {quoted} \\;"),
            23 => format!("source <(echo {quoted})"),
            24 => format!("v={quoted}; eval \"$v\""),
            25 => format!("v={quoted}; bash -c \"$v\""),
            26 => format!("while :; do {line}\nbreak; done"),
            27 => format!("true | {{ {line}\n}}"),
            28 => format!("xargs -I{{}} bash -c {quoted} <<< x"),
            29 => format!("nice -n 1 stdbuf -o0 setsid bash -c {quoted}"),
            30 => format!("cat <<'Q' | bash\n{line}\nQ\n"),
            31 => format!("[[ $({line}\n) ]]"),
            32 => format!("bash -c 'eval \"$1\"' x {quoted}"),
            33 => format!("until {line}\ndo break; done"),
            34 => format!("env -S {double}").replace("env -S", "env A=b bash -c"),
            _ => format!("time {line}"),
        }
    }

    fn mutation(&mut self, corpus: &[String]) -> String {
        let one = self.random.below(corpus.len());
        let mut text = corpus.get(one).cloned().unwrap_or_default();
        for _ in 0..=self.random.below(2) {
            let characters: Vec<char> = text.chars().collect();
            let at = self.random.below(characters.len() + 1);
            let (before, after): (String, String) =
                (characters.iter().take(at).collect(), characters.iter().skip(at).collect());
            text = match self.random.below(9) {
                0 => text,
                1 => format!("{before}{}", after.chars().skip(1).collect::<String>()),
                2 => {
                    let extra = self.pick(&[
                        "'", "\"", "\\", "$", "`", ";", " ", "\n", "&", "|", ">", "(", ")", "{",
                        "}", "#", "*", "\\\n", "''", "$(", "~",
                    ]);
                    format!("{before}{extra}{after}")
                }
                3 => {
                    let part = self.part(2);
                    format!("{before}{part}{after}")
                }
                4 => self.wrap(&text),
                5 => {
                    let two = self.random.below(corpus.len());
                    let other = corpus.get(two).cloned().unwrap_or_default();
                    let operator = self.pick(&["; ", "\n", " && ", " | ", " || ", " & "]);
                    format!("{text}{operator}{other}")
                }
                6 => {
                    let target = self.redirection(1);
                    format!("{before} {target} {after}")
                }
                7 => {
                    let words: Vec<&str> = text.split(' ').collect();
                    let chosen = self.random.below(words.len());
                    let spelled: Vec<String> = words
                        .iter()
                        .enumerate()
                        .map(|(index, word)| {
                            if index == chosen
                                && word.bytes().all(|byte| byte.is_ascii_alphanumeric())
                            {
                                self.spell(word)
                            } else {
                                (*word).to_owned()
                            }
                        })
                        .collect();
                    spelled.join(" ")
                }
                _ => format!("{text}\n{text}"),
            };
        }
        text
    }

    /// Constructs that editor grammars misread, with a harmless deed in each place.
    fn gap(&mut self) -> String {
        let deed = if self.once_in(3) { "touch m".to_owned() } else { self.simple(1) };
        let word = self.word(1);
        let template = self.pick(&[
            "ls a | sort | head -3\nD > /dev/null",
            "ls | sort | uniq\n\n# it's\nD && ls",
            "ls\n\\D",
            "ls;\\D",
            "echo `q` `D2`",
            "echo \"`q` `D2`\"",
            "cat <<END\n`D2`\nEND",
            "cat <<-END\n\t$(D)\n\tEND",
            "cat <<'END'\n END\nit's data\nEND\nD\necho \"don't\" # \"",
            "cat <<END\nx\nEND \nstill data\nEND\nD",
            "[ x || ./marker ]",
            "[ -d build || D ]",
            "[ -d build > marker ]",
            "[ -d nope\n-o -d out ]",
            "[t]ouch marker",
            "l\\\ns W",
            "find . -maxdepth 0 -name '*.log' 2>/dev/null -print",
            "ls > listing W x",
            "ls >&- W",
            "ls | tee > out copy",
            "> out D",
            "v=x; ls $v/$n/old $v-$n-old",
            "ls dir/`echo h`/f W",
            "ls \\ x W",
            "bash - <<END\nD\nEND",
            "seq 3 | head -2>out",
            "echo 0> out",
            "declare x $ y; D",
            "ls > out $\nD",
            "A=1 B=2\nD",
            "if true; then\n  A=1 B=2\nelse\n  ls\nfi\nD",
            "time D",
            "coproc D",
            "! (( 2 > 1 )); D",
            "ls | sort | uniq && D",
            "[[ a =~ <(D) ]]",
            "(xargs == >out)",
            "( (D) )",
            "unset a[0] b; D",
            "echo $\"\" W",
            "exec {log}> out; D",
            "cat <<END && D\nx\nEND",
            "cat <<END 2>&1 | sort\nx\nEND",
            "cat <<END; D\nx\nEND",
            "cat <<END &\nx\nEND\nD",
            "cat <<A <<B\na\nA\nb\nB\nD",
            "sort > out <<< \"b a\"",
            "exec 3<>out; D >&3",
            "echo $(( 10#$n + 1 )) W",
            "if (true) then D; fi",
            "{ for f in x; do ls $f; done }",
            "set -- a b; for f do ls $f; done",
            "D \\",
            "cat 3<<< x W",
            "ls {}\\; W",
            "f() D2; f",
            "f() if true; then D; fi; f",
            "function f() { D; }; f",
            "case x in (x) D;; esac",
            "case x in x|y) D\nesac",
            "case $(case a in a) echo x;; esac) in x) D;; esac",
            "ls $(cat <<E\nx y\nE\n) W",
            "ls \"$(cat <<E\nx \"y\nE\n)\" W",
            "cat <<E | bash\nls $(echo W)\nE",
            "ls $((1+(2))) $( (D) )",
            "ls $(( $(echo 1) + 2 ))",
            "ls ${v:-$(D)}",
            "ls ${v:-`D2`}",
            "ls \"${v:-'x y'}\" ${v:-'x y'} ${v:-\"x y\"}",
            "ls ${v/a/$(echo b)}",
            "ls ${arr[$(echo 0)]}",
            "ls <(D) >(D)",
            "D;:",
            "{ D; }>out",
            "(D)>out 2>&1",
            "while D; do break; done <a.txt",
            "a=(W $(D) x); ls \"${a[@]}\"",
            "a[1]=x; ls ${a[@]}; D",
            "ls W#x #y W\nD",
            "ls W;#c\nD",
            "ls\tW\t\\\n\tx",
            "! ! D",
            "time -- D",
            "time ! D",
            "if ! D; then ls; fi",
            "select x in a; do D; done </dev/null",
            "for ((;;)) { D; break; }",
            "for x in W; do D; done | cat",
            "ls 2>&1>out",
            "ls &>out W",
            "ls W>out>out2",
            "ls 10>out 010>x",
            "ls a2>out",
            "ls {a2}>out",
            "v=1 ls $v; ls $v",
            "v=1; v=2 ls $v",
            "v=ls; v=stat $v x",
            "ls $v\\\nx",
            "ls \"a\\\nb\" 'a\\\nb'",
            "ls $\\\nv",
            "ls $(\\\nD)",
            "cat <<E\\\nF\nx\nEF\nD",
            "cat <<$v\nx\n$v\nD",
            "cat <<\"a b\"\nx\na b\nD",
            "cat <<E\n$(cat <<F\n`D2`\nF\n)\nE",
            "echo W | { read x; ls $x; }",
            "ls &\nwait",
            "ls & D",
            "D || ls && ls",
            "function f { ls \"$@\"; } >out; f W",
            "eval 'ls' W",
            "eval ls \\$v W",
            "ls -- $'a\\'b' $'a\\\\'",
            "ls ${v@Q} ${v//\\//x} ${v//'/'/x}",
            "ls ${v##*[\\]]} ${v#\"}\"}",
            "ls \"${v#'}'}\" W",
            "ls ${v:-}} W",
            "ls ${v:-\\}} W",
            "ls $[1+2] W",
            "ls ${#} ${#-} ${##} ${#?}",
            "ls $# $#x $1x ${1}x $10",
            "a=b ls <<<$a W",
            "ls <<<W x",
            "ls <<< W>out",
        ]);
        let prelude = self.prelude();
        let escaped =
            if deed.contains(['`', '\\', '\n']) { "ls -a".to_owned() } else { deed.clone() };
        let text = template.replace("D2", &escaped).replace('D', &deed).replace('W', &word);
        // `END` of a template holds a `D` too.
        let text = text.replace(&format!("EN{deed}"), "END");
        format!("{prelude}{text}")
    }
}

fn octal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect::<Vec<_>>().concat()
}

/// Each letter one back, `a` becomes `z`.
fn rotate(text: &str) -> String {
    text.chars()
        .map(|own| match own {
            'a' => 'z',
            'b'..='z' => char::from_u32(u32::from(own) - 1).unwrap_or(own),
            _ => own,
        })
        .collect()
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
