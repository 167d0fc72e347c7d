//! Names that searches and lists print.

use super::{Call, are_names, below, ending, line, lines, narrowed, pattern};
use crate::model::value::{Piece, Text, Unknown};

impl Call<'_> {
    /// `fd PATTERN DIR...`
    pub(super) fn fd(&self) -> Option<Text> {
        if self.given(&[
            "-a",
            "--absolute-path",
            "-l",
            "--list-details",
            "--format",
            "--path-separator",
            "-p",
            "--full-path",
            "-C",
            "--search-path",
            "--hyperlink",
            "-q",
            "--quiet",
            "--has-results",
            "--gen-completions",
            "--and",
        ]) {
            return None;
        }
        let mut patterns = Vec::new();
        for value in self.values(&["-e", "--extension"]) {
            patterns.push(pattern(&format!("*.{}", value?))?);
        }
        let words = self.operands(0);
        if let Some(word) = words.first()
            && patterns.is_empty()
        {
            let word = word.exact()?;
            if self.given(&["-g", "--glob"]) {
                patterns.push(pattern(word)?);
            } else if word.is_empty() || word == "." {
            } else if let Some(names) = ending(word.strip_suffix('$').unwrap_or_default()) {
                for name in names {
                    patterns.push(pattern(&name)?);
                }
            } else if word.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
                patterns.push(pattern(&format!("*{word}*"))?);
            } else {
                return None;
            }
        }
        let starts = self.operands(1);
        below(&starts, &patterns, self.end(&["-0", "--print0"]))
    }

    /// `rg -l`, `rg --files`.
    pub(super) fn rg(&self) -> Option<Text> {
        let lists = self.given(&["--files"]);
        if !lists && !self.given(&["-l", "--files-with-matches", "--files-without-match"])
            || self.given(&[
                "--path-separator",
                "--json",
                "--hyperlink-format",
                "--type-add",
                "-q",
                "--quiet",
                "-c",
                "--count",
                "--count-matches",
                "--color",
                "--colors",
                "-p",
                "--pretty",
                "--stats",
                "--debug",
                "--trace",
                "--type-list",
                "--generate",
            ])
        {
            return None;
        }
        let mut patterns = Vec::new();
        for value in self.values(&["-g", "--glob", "--iglob"]) {
            let value = value?;
            if !value.starts_with('!') {
                patterns.push(pattern(value.trim_end_matches("/**").rsplit('/').next()?)?);
            }
        }
        let from = usize::from(!lists && !self.given(&["-e", "-f"]));
        below(&self.operands(from), &patterns, self.end(&["-0", "--null"]))
    }

    /// `grep -l`, `grep -c` and `grep -n`.
    pub(super) fn grep(&self) -> Option<Text> {
        let from = usize::from(!self.given(&["-e", "-f"]));
        let searches = self.given(&["-r", "-R"]);
        let operands = self.operands(from);
        if self.given(&[
            "-q",
            "--quiet",
            "--silent",
            "--color",
            "--colour",
            "--label",
            "-z",
            "--null-data",
        ]) {
            return None;
        }
        let end = self.end(&["-Z", "--null"]);
        if self.given(&["-l", "-L", "--files-with-matches", "--files-without-match"]) {
            let mut patterns = Vec::new();
            for value in self.values(&["--include"]) {
                patterns.push(pattern(value?)?);
            }
            if searches {
                return below(&operands, &patterns, end);
            }
            return lines(&operands, end);
        }
        let plain = !searches && operands.len() <= 1 && !self.given(&["-H", "--with-filename"]);
        let single = operands.iter().all(|operand| operand.exact().is_some());
        if plain && single && self.given(&["-c", "--count"]) {
            return Some(line(Piece::Unknown(Unknown::Arithmetic)));
        }
        if plain
            && single
            && self.given(&["-n", "--line-number"])
            && self.only(&[
                "-n",
                "--line-number",
                "-e",
                "-E",
                "-F",
                "-i",
                "-m",
                "-P",
                "-w",
                "-x",
                "-o",
                "-h",
            ])
        {
            return Some(
                [
                    Piece::Unknown(Unknown::Arithmetic),
                    Piece::Literal(":".into()),
                    Piece::Unknown(Unknown::Output),
                    Piece::Literal("\n".into()),
                ]
                .into_iter()
                .collect(),
            );
        }
        if from == 1
            && operands.is_empty()
            && self.only(&["-v", "--invert-match", "-E", "-F", "-i", "-P", "-w", "-x", "-m"])
            && let Some(input) = self.input.filter(|input| are_names(input))
        {
            if self.given(&["-v", "--invert-match"]) {
                return Some(input.clone());
            }
            let word = self.reading.operands.first()?.exact()?;
            let names = ending(word.strip_suffix('$')?)?;
            return narrowed(input, &names);
        }
        None
    }

    /// `ls` with one name on a line.
    pub(super) fn ls(&self) -> Option<Text> {
        if !self.only(&[
            "-1",
            "-t",
            "-r",
            "-S",
            "-v",
            "-X",
            "-U",
            "-d",
            "-A",
            "-B",
            "-I",
            "-c",
            "-u",
            "-L",
            "-H",
            "--ignore",
            "--hide",
            "--sort",
            "--reverse",
            "--group-directories-first",
            "--directory",
        ]) {
            return None;
        }
        let itself = self.given(&["-d", "--directory"]);
        let mut forms = Vec::new();
        let mut children = self.reading.operands.is_empty();
        for operand in &self.reading.operands {
            let end = match operand.text.pieces().last() {
                Some(Piece::Literal(end)) => end.as_str(),
                _ => "",
            };
            let is_directory =
                end.ends_with('/') || end == "." || end == ".." || end.ends_with("/..");
            if let Some(name) = operand.text.exact() {
                // It may be missing, and then it is not printed; what is below it may be.
                if name.starts_with('/') || name.split('/').any(|part| part == "..") {
                    return None;
                }
                children = true;
            } else if itself || !is_directory {
                forms.push(operand.text.clone());
            }
            // A name with an ending is hardly a directory; what it held would be in this one.
            let named = end.rsplit('/').next().is_some_and(|name| name.contains('.'));
            children |= !itself && (is_directory || !(named && operand.text.has_glob()));
        }
        if children {
            forms.push(Text::unknown(Unknown::Listed));
        }
        lines(&forms, '\n')
    }
}
