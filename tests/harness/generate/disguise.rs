//! Known deeds behind disguises, and lines of the corpus with changes.

use super::{DEEDS, Source, base64};

impl Source {
    /// One character after another in some quoting.
    pub(super) fn spell(&mut self, word: &str) -> String {
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

    pub(super) fn disguise(&mut self) -> String {
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
    pub(super) fn hide(&mut self, words: &[String]) -> String {
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
    pub(super) fn wrap(&mut self, line: &str) -> String {
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

    pub(super) fn mutation(&mut self, corpus: &[String]) -> String {
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
}

pub(super) fn octal(text: &str) -> String {
    text.bytes().map(|byte| format!("\\{byte:03o}")).collect::<Vec<_>>().concat()
}

/// Each letter one back, `a` becomes `z`.
pub(super) fn rotate(text: &str) -> String {
    text.chars()
        .map(|own| match own {
            'a' => 'z',
            'b'..='z' => char::from_u32(u32::from(own) - 1).unwrap_or(own),
            _ => own,
        })
        .collect()
}
