//! Words out of every form of quoting and expansion.

use super::{OUTSIDE, PLAIN, Source};

impl Source {
    pub(super) fn word(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.random.below(3) {
            let part = self.part(depth);
            out.push_str(&part);
        }
        out
    }

    pub(super) fn part(&mut self, depth: usize) -> String {
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

    pub(super) fn raw(&mut self) -> String {
        self.pick(&[
            "", "a b", "*", "$v", "`q`", "$(q)", "\\", "\\n", "\"", "!", "~", "{a,b}", "é", "\n",
            "\t", "#", ";", "&", "|", ">x", "a\\", "'", "x  y", "\r",
        ])
    }

    pub(super) fn double(&mut self, depth: usize) -> String {
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

    pub(super) fn ansi(&mut self) -> String {
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

    pub(super) fn pattern(&mut self, depth: usize) -> String {
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

    pub(super) fn parameter(&mut self, depth: usize, quoted: bool) -> String {
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

    pub(super) fn arithmetic(&mut self, depth: usize) -> String {
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

    pub(super) fn substitution(&mut self, depth: usize, quoted: bool) -> String {
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

    pub(super) fn brace(&mut self, depth: usize) -> String {
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
}
