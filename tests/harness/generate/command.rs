//! Commands out of every production of the grammar.

use super::{IFS, READERS, Source, VALUES};

impl Source {
    pub(super) fn redirection(&mut self, depth: usize) -> String {
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

    pub(super) fn simple(&mut self, depth: usize) -> String {
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

    pub(super) fn builtin(&mut self, depth: usize) -> String {
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

    pub(super) fn body(&mut self, depth: usize) -> String {
        let mut out = String::new();
        for _ in 0..=self.random.below(2) {
            let item = self.list(depth);
            let end = self.pick(&["; ", "; ", "\n", " & ", " # comment's\n", "\n\n"]);
            out.push_str(&item);
            out.push_str(if item.contains("<<") { "\n" } else { &end });
        }
        out
    }

    pub(super) fn list(&mut self, depth: usize) -> String {
        let mut out = self.pipeline(depth);
        while self.once_in(4) && !out.contains("<<E") {
            let operator = self.pick(&[" && ", " || ", "&&", " &&\n", "||\n "]);
            let next = self.pipeline(depth);
            out = format!("{out}{operator}{next}");
        }
        out
    }

    pub(super) fn pipeline(&mut self, depth: usize) -> String {
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

    pub(super) fn command(&mut self, depth: usize) -> String {
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

    pub(super) fn here_document(&mut self, depth: usize) -> String {
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

    pub(super) fn script(&mut self) -> String {
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
}
