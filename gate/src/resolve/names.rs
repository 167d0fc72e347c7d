//! Names of files and short words that well-known utilities print.
//!
//! A search prints names below where it begins, a lookup in a repository prints a revision, a count
//! prints a number. None of that is known exactly, yet much is known of it: where it leads, and that
//! it is no code. A text of such lines stands for any number of lines of each form.

use crate::model::trace::Reading;
use crate::model::value::{Field, Glob, Piece, Text, Unknown};

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

    /// `fd PATTERN DIR...`
    fn fd(&self) -> Option<Text> {
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
    fn rg(&self) -> Option<Text> {
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
    fn grep(&self) -> Option<Text> {
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
    fn ls(&self) -> Option<Text> {
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

    fn git(&self) -> Option<Text> {
        let words = self.words()?;
        let entry = self.reading.subcommand.first()?.as_str();
        let spelled = words.iter().copied().find(|word| {
            matches!(
                *word,
                "ls-files"
                    | "diff"
                    | "show"
                    | "log"
                    | "grep"
                    | "rev-parse"
                    | "merge-base"
                    | "rev-list"
                    | "describe"
                    | "branch"
                    | "tag"
                    | "for-each-ref"
                    | "symbolic-ref"
                    | "diff-tree"
                    | "diff-index"
                    | "diff-files"
                    | "ls-tree"
            )
        })?;
        let plain = || Some(line(Piece::Unknown(Unknown::Plain)));
        match spelled {
            "ls-files" if entry == "ls-files" => {
                if self.given(&[
                    "-s",
                    "--stage",
                    "-t",
                    "-v",
                    "-f",
                    "-u",
                    "--unmerged",
                    "--debug",
                    "--eol",
                    "--format",
                    "--resolve-undo",
                    "--abbrev",
                ]) {
                    return None;
                }
                specs(&self.operands(0), self.end(&["-z"]))
            }
            "ls-tree" if entry == "ls-tree" => {
                if !self.given(&["--name-only", "--name-status"])
                    || self.given(&["-l", "--long", "--format", "--object-only"])
                {
                    return None;
                }
                specs(&self.operands(1), self.end(&["-z"]))
            }
            "diff" | "show" | "log" | "diff-tree" | "diff-index" | "diff-files" => {
                let formatted: Vec<Option<&str>> = self.values(&["--format", "--pretty"]).collect();
                let names = self.given(&["--name-only"]);
                if names
                    && !self.given(&["--output", "--line-prefix", "--stat", "--patch", "-p", "-u"])
                {
                    let silent = formatted
                        .iter()
                        .all(|format| matches!(format, Some("" | "format:" | "tformat:")))
                        && !(formatted.is_empty() && matches!(spelled, "show" | "log"));
                    return silent.then(|| specs(&self.operands(0), self.end(&["-z"])))?;
                }
                let hashes = matches!(
                    formatted.as_slice(),
                    [Some("%h" | "%H" | "format:%h" | "format:%H" | "%ct" | "%at")]
                );
                let quiet = self.only(&[
                    "--format",
                    "--pretty",
                    "-NUM",
                    "-1",
                    "-2",
                    "-3",
                    "-n",
                    "--max-count",
                    "-s",
                    "--no-patch",
                    "--since",
                    "--until",
                    "--after",
                    "--before",
                    "--author",
                    "--grep",
                    "--no-merges",
                    "--merges",
                    "--all",
                    "--reverse",
                    "--first-parent",
                    "-i",
                    "--skip",
                ]);
                if hashes && quiet && matches!(spelled, "log" | "show") { plain() } else { None }
            }
            "grep" => {
                if !self.given(&[
                    "-l",
                    "--files-with-matches",
                    "--name-only",
                    "-L",
                    "--files-without-match",
                ]) || self.given(&["-O", "--open-files-in-pager", "--color"])
                {
                    return None;
                }
                let from = usize::from(!self.given(&["-e", "-f"]));
                specs(&self.operands(from), self.end(&["-z", "--null"]))
            }
            "rev-parse" => {
                let fits = self.reading.options.iter().all(|option| {
                    matches!(
                        option.spelled.split('=').next(),
                        Some(
                            "--short"
                                | "--verify"
                                | "-q"
                                | "--quiet"
                                | "--abbrev-ref"
                                | "--symbolic-full-name"
                        )
                    )
                });
                (fits && self.are_revisions()).then(plain)?
            }
            "merge-base" => (self.are_revisions()
                && self.only(&["-a", "--all", "--octopus", "--fork-point"]))
            .then(plain)?,
            "rev-list" => {
                if self.given(&["--count"]) {
                    let single = !self.given(&["--left-right", "--cherry-mark"]);
                    return single.then(|| line(Piece::Unknown(Unknown::Arithmetic)));
                }
                self.only(&[
                    "-NUM",
                    "-1",
                    "-2",
                    "-3",
                    "-n",
                    "--max-count",
                    "--all",
                    "--since",
                    "--until",
                    "--after",
                    "--before",
                    "--reverse",
                    "--no-merges",
                    "--merges",
                    "--first-parent",
                    "--tags",
                    "--branches",
                    "--author",
                    "--grep",
                ])
                .then(plain)?
            }
            "describe" => self
                .only(&[
                    "--tags",
                    "--always",
                    "--all",
                    "--abbrev",
                    "--long",
                    "--exact-match",
                    "--match",
                    "--dirty",
                ])
                .then(plain)?,
            "branch" => self.only(&["--show-current"]).then(plain)?,
            "tag" if self.reading.operands.is_empty() => self
                .only(&["-l", "--list", "--sort", "--merged", "--points-at", "--contains"])
                .then(plain)?,
            "symbolic-ref" if self.reading.operands.len() == 1 => {
                self.only(&["--short", "-q", "--quiet"]).then(plain)?
            }
            _ => None,
        }
    }

    /// Whether there are operands and all are revisions by their letters: what git prints again
    /// where it cannot find them is no path that leads away.
    fn are_revisions(&self) -> bool {
        !self.reading.operands.is_empty()
            && self.reading.operands.iter().all(|operand| {
                operand.exact().is_some_and(|word| {
                    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
                        && !word.contains("..")
                        && !word.contains(char::is_whitespace)
                }) || matches!(operand.text.pieces(), [Piece::Unknown(Unknown::Plain)])
            })
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

/// A side of find's `-o`: the patterns a name must fit one of, where there are any, and whether it
/// prints.
#[derive(Default)]
struct Branch {
    patterns: Vec<Text>,
    printed: bool,
}

/// A bracket of find's: its patterns; whether the alternative at hand has one, and whether one before
/// has none.
#[derive(Default)]
struct Group {
    patterns: Vec<Text>,
    guarded: bool,
    open: bool,
}

fn line(piece: Piece) -> Text {
    [piece, Piece::Literal("\n".into())].into_iter().collect()
}

/// Lines of these forms; none where there are too many, or one is empty.
fn lines(forms: &[Text], end: char) -> Option<Text> {
    if forms.is_empty() || forms.len() > FORMS || forms.iter().any(Text::is_empty) {
        return None;
    }
    let mut out = Text::empty();
    for form in forms {
        out.extend(form);
        out.push_str(end.encode_utf8(&mut [0; 4]));
    }
    Some(out)
}

/// Names below each start point; the last part fits one of the patterns, where there are any.
fn below(starts: &[Text], patterns: &[Text], end: char) -> Option<Text> {
    let here = [Text::empty()];
    let starts = if starts.is_empty() { &here } else { starts };
    let mut forms = Vec::new();
    for start in starts {
        let mut form = start.clone();
        if !start.is_empty() && !start.fill("").ends_with('/') {
            form.push_str("/");
        }
        form.push(Piece::Unknown(Unknown::Found));
        if patterns.is_empty() {
            forms.push(form);
            continue;
        }
        for pattern in patterns {
            let mut named = form.clone();
            named.push_str("/");
            named.extend(pattern);
            forms.push(named);
        }
    }
    lines(&forms, end)
}

/// Names that fit one of git's path specifications (or are below it); revisions among them change
/// nothing.
fn specs(operands: &[Text], end: char) -> Option<Text> {
    let mut forms: Vec<Text> = Vec::new();
    for operand in operands {
        if operand.has_glob() || operand.has_unknown() {
            forms.push(below(std::slice::from_ref(operand), &[], end)?);
            continue;
        }
        let word = operand.exact()?;
        if word.starts_with(":!") || word.starts_with(":^") || word.starts_with(":(exclude)") {
            continue;
        }
        if word.starts_with(":(") {
            return None;
        }
        if !word.contains(['*', '?', '[']) {
            forms.push(below(std::slice::from_ref(operand), &[], end)?);
            continue;
        }
        let (directory, last) = word.rsplit_once('/').unwrap_or(("", word));
        let known: Vec<&str> =
            directory.split('/').take_while(|part| !part.contains(['*', '?', '['])).collect();
        let start = Text::literal(known.join("/"));
        let start = if start.is_empty() { Vec::new() } else { vec![start] };
        forms.push(below(&start, &[pattern(last)?], end)?);
    }
    if forms.is_empty() {
        return below(&[], &[], end);
    }
    if forms.len() > FORMS {
        return None;
    }
    Some(forms.iter().fold(Text::empty(), super::super::model::value::Text::concat))
}

/// A pattern of a name with its signs as pieces; none where it has brackets or is empty.
fn pattern(text: &str) -> Option<Text> {
    if text.contains(['\\', '/']) || text.is_empty() {
        return None;
    }
    let mut out = Text::empty();
    if let Some((before, rest)) = text.split_once('{') {
        // Alternatives: any name with what stands around them, where the last part tells it apart.
        let (inner, after) = rest.split_once('}')?;
        let plain = |c: char| c.is_ascii_alphanumeric() || c == ',';
        if !after.is_empty() || !before.ends_with('.') || !inner.chars().all(plain) {
            return None;
        }
        let first =
            inner.split(',').find(|ending| may_be_secret(ending)).or(inner.split(',').next())?;
        return pattern(&format!("{before}{first}"));
    }
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let mut taken = c.len_utf8();
        match c {
            '*' => out.push(Piece::Glob(Glob::Any)),
            '?' => out.push(Piece::Glob(Glob::One)),
            '[' => {
                let end = rest.get(2..)?.find(']')? + 3;
                let set = rest.get(..end)?;
                if set.get(1..)?.contains('[') {
                    return None;
                }
                out.push(Piece::Glob(Glob::Set(set.into())));
                taken = end;
            }
            c => out.push_str(c.encode_utf8(&mut [0; 4])),
        }
        rest = rest.get(taken..)?;
    }
    Some(out)
}

/// Whether an ending has none of the letters of a source language; the one that is asked about then
/// stands for its neighbours.
fn may_be_secret(ending: &str) -> bool {
    !matches!(
        ending,
        "ts" | "tsx"
            | "js"
            | "jsx"
            | "mjs"
            | "cjs"
            | "vue"
            | "svelte"
            | "css"
            | "scss"
            | "less"
            | "html"
            | "md"
            | "mdx"
            | "py"
            | "pyi"
            | "rs"
            | "go"
            | "java"
            | "kt"
            | "rb"
            | "php"
            | "c"
            | "h"
            | "cc"
            | "cpp"
            | "hpp"
            | "cs"
            | "swift"
            | "sh"
            | "sql"
            | "toml"
            | "yml"
            | "yaml"
            | "txt"
            | "png"
            | "svg"
            | "jpg"
            | "mts"
            | "cts"
            | "ex"
            | "exs"
            | "erb"
            | "graphql"
            | "proto"
    )
}

/// Patterns of names for a regular expression that ends in `\.ext` or `\.(a|b)`, its `$` left out.
fn ending(expression: &str) -> Option<Vec<String>> {
    let (before, last) = expression.rsplit_once("\\.")?;
    let harmless =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '/' | '.' | '*' | '^');
    if !before.chars().all(harmless) {
        return None;
    }
    let inner = match last.strip_prefix('(') {
        Some(inner) => inner.strip_suffix(')')?,
        None => last,
    };
    let mut names = Vec::new();
    for ending in inner.split('|') {
        let (stem, optional) = match ending.strip_suffix('?') {
            Some(stem) => (stem, true),
            None => (ending, false),
        };
        if stem.is_empty() || !stem.chars().all(|c| c.is_ascii_alphanumeric()) {
            return None;
        }
        names.push(format!("*.{stem}"));
        if optional {
            let mut short = stem.to_owned();
            short.pop();
            if short.is_empty() {
                return None;
            }
            names.push(format!("*.{short}"));
        }
    }
    (names.len() <= FORMS).then_some(names)
}

/// Whether every line has a part that stands for names or short words, and nothing else unknown.
fn are_names(text: &Text) -> bool {
    let mut named = false;
    for piece in text.pieces() {
        match piece {
            Piece::Unknown(cause) if cause.is_below() => named = true,
            Piece::Unknown(Unknown::Arithmetic) | Piece::Glob(_) => named = true,
            Piece::Unknown(_) => return false,
            Piece::Literal(literal) => {
                let mut parts = literal.split(['\n', '\0']);
                parts.next();
                // A whole line between two line ends must not be a known one.
                let inner: Vec<&str> = parts.collect();
                if let Some((_, between)) = inner.split_last()
                    && !between.is_empty()
                {
                    return false;
                }
            }
        }
    }
    named
}

/// A name without `./` at its start.
fn bare(form: &Text) -> Text {
    let mut out = Text::empty();
    for (index, piece) in form.pieces().iter().enumerate() {
        match piece {
            Piece::Literal(text) if index == 0 => {
                out.push_str(text.strip_prefix("./").unwrap_or(text));
            }
            other => out.push(other.clone()),
        }
    }
    out
}

/// The forms of lines in a text of names, and what ends each.
fn forms(input: &Text) -> (Vec<Text>, char) {
    let mut forms: Vec<Text> = vec![Text::empty()];
    let mut end = '\n';
    for piece in input.pieces() {
        let Some(last) = forms.last_mut() else { break };
        let Piece::Literal(literal) = piece else {
            last.push(piece.clone());
            continue;
        };
        for c in literal.chars() {
            if matches!(c, '\n' | '\0') {
                end = c;
                forms.push(Text::empty());
            } else if let Some(last) = forms.last_mut() {
                last.push_str(c.encode_utf8(&mut [0; 4]));
            }
        }
    }
    forms.retain(|form| !form.is_empty());
    (forms, end)
}

/// The forms of lines whose names end as one of these patterns.
fn narrowed(input: &Text, names: &[String]) -> Option<Text> {
    let (forms, end) = forms(input);
    let mut out = Vec::new();
    for form in forms {
        let open = matches!(form.pieces().last(), Some(Piece::Unknown(Unknown::Found)));
        let single =
            form.pieces().len() == 1 && matches!(form.pieces(), [Piece::Unknown(Unknown::Listed)]);
        if single {
            for name in names {
                out.push(pattern(name)?);
            }
        } else if open {
            for name in names {
                let mut named = form.clone();
                named.push_str("/");
                named.extend(&pattern(name)?);
                out.push(named);
            }
        } else {
            out.push(form);
        }
    }
    lines(&out, end)
}
