//! Names of files and short words that well-known utilities print.
//!
//! A search prints names below where it begins, a lookup in a repository prints a revision, a count
//! prints a number. None of that is known exactly, yet much is known of it: where it leads, and that
//! it is no code. A text of such lines stands for any number of lines of each form.

mod form;
mod git;
mod search;

use crate::model::trace::Reading;
use crate::model::value::{Field, Piece, Text, Unknown};
use form::{
    Branch, Group, are_names, bare, below, ending, forms, line, lines, narrowed, pattern, specs,
};

/// The most forms of lines that are told apart.
const FORMS: usize = 8;

/// What the program of that name prints, as lines of names or short words; none where the table of
/// this file does not know it. `argv` are its words, the name first.
pub(crate) fn printed(
    name: &str,
    argv: &[Field],
    reading: &Reading,
    input: Option<&Text>,
) -> Option<Text> {
    if reading.inert {
        return None;
    }
    // What a grammar reads itself has no doubts of its own here.
    if !reading.doubts.is_empty() {
        return None;
    }
    let call = Call { argv, reading, input };
    // A name that is known exactly may be missing, and then nothing is printed.
    let open = |text: &Text| !text.is_exact();
    call.prints(name).filter(open)
}

impl Call<'_> {
    fn prints(&self, name: &str) -> Option<Text> {
        match name {
            "find" | "gfind" => self.find(),
            "fd" | "fdfind" => self.fd(),
            "rg" | "ripgrep" => self.rg(),
            "grep" | "egrep" | "fgrep" | "ggrep" => self.grep(),
            "ls" | "gls" => self.ls(),
            "git" => self.git(),
            "wc" => self.wc(),
            "nproc" => Some(line(Piece::Unknown(Unknown::Arithmetic))),
            "date" | "gdate" => self.date(),
            "uname" | "hostname" | "whoami" | "arch" => Some(line(Piece::Unknown(Unknown::Plain))),
            "id" => self.id(),
            "mktemp" | "gmktemp" => self.mktemp(),
            "basename" | "dirname" => self.part(),
            "cut" => self.cut(),
            "sed" | "gsed" => self.sed(),
            "sort" | "gsort" | "uniq" | "guniq" | "head" | "ghead" | "tail" | "gtail" | "shuf"
            | "tac" => self.same(),
            _ => None,
        }
    }
}

/// The names that a program finds and passes on to the command it carries.
pub(crate) fn found(name: &str, reading: &Reading) -> Option<Text> {
    let call = Call { argv: &[], reading, input: None };
    matches!(name, "fd" | "fdfind").then(|| call.fd())?
}

struct Call<'a> {
    argv: &'a [Field],
    reading: &'a Reading,
    input: Option<&'a Text>,
}

impl Call<'_> {
    fn given(&self, names: &[&str]) -> bool {
        self.reading.options.iter().any(|option| {
            names.contains(&option.name.as_str()) || names.contains(&&*option.spelled)
        })
    }

    /// Whether every option is one of these.
    fn only(&self, names: &[&str]) -> bool {
        self.reading.options.iter().all(|option| {
            names.contains(&option.name.as_str()) || names.contains(&option.spelled.as_str())
        })
    }

    fn values(&self, names: &[&str]) -> impl Iterator<Item = Option<&str>> {
        self.reading
            .options
            .iter()
            .filter(move |option| {
                names.contains(&option.name.as_str()) || names.contains(&&*option.spelled)
            })
            .map(|option| option.value.as_ref().and_then(Field::exact))
    }

    fn operands(&self, from: usize) -> Vec<Text> {
        self.reading.operands.iter().skip(from).map(|operand| operand.text.clone()).collect()
    }

    fn words(&self) -> Option<Vec<&str>> {
        self.argv.iter().skip(1).map(Field::exact).collect()
    }

    /// `find`: names below each start point, narrowed by the tests on names.
    fn find(&self) -> Option<Text> {
        let words = &self.argv.get(1..)?;
        let mut starts = Vec::new();
        let mut rest = words.iter().peekable();
        while let Some(word) = rest.peek() {
            match word.exact() {
                Some("-H" | "-L" | "-P") => {
                    rest.next();
                }
                Some("(" | ")" | "!" | ",") => break,
                _ if word.text.prefix().starts_with('-') => break,
                _ => starts.extend(rest.next().map(|word| word.text.clone())),
            }
        }
        if starts.is_empty() {
            starts.push(Text::literal("."));
        }
        let rest: Vec<&str> = rest.map(|word| word.exact()).collect::<Option<_>>()?;
        let mut end = '\n';
        let mut branches = vec![Branch::default()];
        let mut group: Option<Group> = None;
        let mut depth = 0usize;
        let mut rest = rest.into_iter();
        let mut negated = false;
        while let Some(word) = rest.next() {
            let branch = branches.last_mut()?;
            match word {
                "-name" | "-iname" | "-path" | "-ipath" | "-wholename" | "-regex" | "-iregex" => {
                    let value = rest.next()?;
                    let own = if word.ends_with("regex") {
                        ending(value.strip_suffix('$').unwrap_or(value)).map(|names| {
                            names.iter().map(|name| pattern(name)).collect::<Option<Vec<_>>>()
                        })??
                    } else {
                        let last = value.rsplit('/').next().unwrap_or(value);
                        vec![pattern(last)?]
                    };
                    match &mut group {
                        _ if negated => {}
                        Some(group) => {
                            group.guarded = true;
                            group.patterns.extend(own);
                        }
                        None => branch.patterns.extend(own),
                    }
                    negated = false;
                }
                "!" | "-not" => negated = true,
                "(" if negated => return None,
                "(" => {
                    depth += 1;
                    group.get_or_insert_with(Group::default);
                }
                ")" => {
                    depth = depth.checked_sub(1)?;
                    if depth == 0
                        && let Some(group) = group.take()
                        && group.guarded
                        && !group.open
                    {
                        branch.patterns.extend(group.patterns);
                    }
                }
                "-o" | "-or" | "," => match &mut group {
                    // An alternative without a name lets any name through.
                    Some(group) => group.open |= !std::mem::take(&mut group.guarded),
                    None => branches.push(Branch::default()),
                },
                "-print" | "-print0" => {
                    branch.printed = true;
                    if word == "-print0" {
                        end = '\0';
                    }
                    negated = false;
                }
                "-a" | "-and" | "-prune" | "-xdev" | "-mount" | "-depth" | "-daystart"
                | "-follow" | "-empty" | "-executable" | "-readable" | "-writable" | "-true"
                | "-quit" => negated = false,
                "-type" | "-xtype" | "-size" | "-perm" | "-user" | "-group" | "-mtime"
                | "-atime" | "-ctime" | "-mmin" | "-amin" | "-cmin" | "-newer" | "-maxdepth"
                | "-mindepth" | "-regextype" | "-links" => {
                    rest.next();
                    negated = false;
                }
                _ => return None,
            }
        }
        // Without an action every branch prints.
        let silent = branches.iter().any(|branch| branch.printed);
        branches.retain(|branch| branch.printed || !silent);
        let patterns = if branches.iter().any(|branch| branch.patterns.is_empty()) {
            Vec::new()
        } else {
            branches.into_iter().flat_map(|branch| branch.patterns).collect()
        };
        below(&starts, &patterns, end)
    }

    /// The path of a file or directory that is made: the template with other letters for the last
    /// run of `X`, below `/tmp` where there is no template or it is told to be put there.
    fn mktemp(&self) -> Option<Text> {
        if !self.only(&["-d", "-q", "-t", "-p", "--tmpdir", "--suffix", "-u", "--dry-run"]) {
            return None;
        }
        let option = |name: &str| self.reading.options.iter().find(|used| used.name == name);
        let value = |name: &str| option(name).and_then(|used| used.value.as_ref());
        let directory = match value("-p").or_else(|| value("--tmpdir")) {
            Some(directory) => Some(directory.exact()?.to_owned()),
            None if option("-t").is_some() || option("--tmpdir").is_some() => Some("/tmp".into()),
            None => None,
        };
        let (directory, template) = match self.reading.operands.as_slice() {
            [] => (Some(directory.unwrap_or_else(|| "/tmp".into())), "tmp.XXXXXXXXXX"),
            [only] => (directory, only.exact()?),
            _ => return None,
        };
        let end = template.trim_end_matches(|c: char| c != 'X').len();
        let (made, suffix) = template.split_at_checked(end)?;
        let stem = made.trim_end_matches('X');
        let mut text = Text::empty();
        if let Some(directory) = directory {
            text.push_str(&directory);
            text.push_str("/");
        }
        text.push_str(stem);
        text.push(Piece::Unknown(Unknown::Fresh));
        text.push_str(suffix);
        if let Some(suffix) = value("--suffix") {
            text.push_str(suffix.exact()?);
        }
        text.push_str("\n");
        (made.len() > stem.len() || suffix.is_empty()).then_some(text)
    }

    /// One count of standard input.
    fn wc(&self) -> Option<Text> {
        (self.reading.operands.is_empty() && self.reading.options.len() == 1)
            .then(|| line(Piece::Unknown(Unknown::Arithmetic)))
    }

    fn date(&self) -> Option<Text> {
        let format = match self.reading.operands.as_slice() {
            [only] => only.exact()?.strip_prefix('+')?,
            _ => return None,
        };
        if format == "%s" || format == "%Y" {
            return Some(line(Piece::Unknown(Unknown::Arithmetic)));
        }
        let mut chars = format.chars();
        let mut first = true;
        while let Some(c) = chars.next() {
            let fits = if c == '%' {
                matches!(
                    chars.next(),
                    Some(
                        'Y' | 'm'
                            | 'd'
                            | 'H'
                            | 'M'
                            | 'S'
                            | 's'
                            | 'F'
                            | 'T'
                            | 'j'
                            | 'y'
                            | 'N'
                            | 'u'
                            | 'V'
                            | 'G'
                    )
                )
            } else {
                c.is_ascii_alphanumeric() || (!first && matches!(c, '-' | '_' | '.' | ':'))
            };
            if !fits {
                return None;
            }
            first = false;
        }
        (!first).then(|| line(Piece::Unknown(Unknown::Plain)))
    }

    fn id(&self) -> Option<Text> {
        if self.given(&["-n", "--name"]) {
            return self
                .only(&["-n", "--name", "-u", "-g", "--user", "--group"])
                .then(|| line(Piece::Unknown(Unknown::Plain)));
        }
        (self.reading.options.len() == 1 && self.given(&["-u", "-g", "--user", "--group"]))
            .then(|| line(Piece::Unknown(Unknown::Arithmetic)))
    }

    /// `basename` and `dirname` of a found name are a name below the current directory again.
    fn part(&self) -> Option<Text> {
        if !self.reading.options.is_empty() {
            return None;
        }
        let operand = &self.reading.operands.first()?.text;
        let relative = match operand.pieces().first() {
            Some(Piece::Unknown(cause)) => cause.is_below(),
            Some(Piece::Literal(text)) => {
                !text.starts_with('/') && !text.split('/').any(|part| part == "..")
            }
            _ => false,
        };
        let found = operand.pieces().iter().all(|piece| match piece {
            Piece::Unknown(cause) => cause.is_below(),
            _ => true,
        });
        (relative && found && operand.has_unknown()).then(|| line(Piece::Unknown(Unknown::Listed)))
    }

    /// The number before the first colon.
    fn cut(&self) -> Option<Text> {
        let number = matches!(
            self.input?.pieces(),
            [Piece::Unknown(Unknown::Arithmetic), Piece::Literal(colon), ..] if colon.starts_with(':')
        );
        let delimiter = self.values(&["-d", "--delimiter"]).all(|value| value == Some(":"));
        let field = self.values(&["-f", "--fields"]).collect::<Vec<_>>() == [Some("1")];
        (number
            && delimiter
            && field
            && self.given(&["-d", "--delimiter"])
            && self.reading.operands.is_empty())
        .then(|| line(Piece::Unknown(Unknown::Arithmetic)))
    }

    /// `sed 's|^\./||'`: names without the dot at their start.
    fn sed(&self) -> Option<Text> {
        let input = self.input.filter(|input| are_names(input))?;
        let [script] = self.words()?[..] else { return None };
        let mark = script.strip_prefix('s')?.chars().next()?;
        let body = script.strip_prefix('s')?.strip_prefix(mark)?;
        let dot = body.trim_end_matches('g').strip_suffix(mark)?.strip_suffix(mark)?;
        if !matches!(dot, "^\\./" | "^./" | "^\\.\\/") {
            return None;
        }
        let forms: Vec<Text> = forms(input).0.iter().map(bare).collect();
        lines(&forms, '\n')
    }

    /// Filters that leave out lines or change their order.
    fn same(&self) -> Option<Text> {
        let input = self.input.filter(|_| self.reading.operands.is_empty())?;
        let number = matches!(
            input.pieces(),
            [Piece::Unknown(Unknown::Arithmetic), Piece::Literal(colon), ..] if colon.starts_with(':')
        );
        let whole = self.only(&[
            "-n",
            "--lines",
            "-NUM",
            "-u",
            "-r",
            "-V",
            "-f",
            "-z",
            "--zero-terminated",
            "--unique",
            "--reverse",
            "--version-sort",
            "--ignore-case",
            "-d",
            "-q",
        ]) && !self.given(&["-c", "--count", "--bytes", "-f"]);
        (whole && (number || are_names(input))).then(|| input.clone())
    }

    fn end(&self, null: &[&str]) -> char {
        if self.given(null) { '\0' } else { '\n' }
    }
}
