//! Words behind a utility's name to options, operands and sub-commands, as its tables say
//! (POSIX.1-2024 XBD 12.2; glibc manual, "Parsing Long Options with `getopt_long`").

use smallvec::SmallVec;

use crate::model::trace::{Doubt, OptionUse, Reading};
use crate::model::utility::{
    Catalog, Grammar, OptionSpec, Syntax, Utility, UtilityId, ValueArity, ValueKind,
};
use crate::model::value::{Arity, Field, Glob, Piece, Str, Text, Truth, Unknown};
use crate::resolve::Surroundings;

/// The name of the option that stands for a dash and digits (`head -5`).
const NUMBER: &str = "-NUM";

/// The most words that name a sub-command.
const SUBCOMMAND_WORDS: usize = 3;

/// A utility and its sub-commands, outermost first.
pub(super) type Chain = SmallVec<[UtilityId; 4]>;

/// What was read.
pub(super) struct Outcome {
    /// The utility and the sub-commands that were entered, outermost first.
    pub(super) chain: Chain,
    /// Options, operands, doubts.
    pub(super) reading: Reading,
    /// Words of a command that an option began, up to the end.
    pub(super) tail: Vec<Field>,
}

/// Reads the words behind the name of a program that is in no table: what begins with a dash is an
/// option, all else an operand.
pub(super) fn unknown_program(fields: &[Field]) -> Reading {
    let mut reading = Reading::default();
    let mut ended = false;
    for field in fields {
        let prefix = field.text.prefix();
        if ended || !prefix.starts_with('-') || field.exact() == Some("-") {
            reading.operands.push(field.clone());
        } else if field.exact() == Some("--") {
            ended = true;
        } else {
            let (name, value) = match prefix.find('=') {
                Some(at) => (head(prefix, at), Some(part(field, at + 1))),
                None => (prefix, None),
            };
            reading.options.push(OptionUse {
                name: name.into(),
                spelled: name.into(),
                value,
                site: field.site,
                certain: Truth::Yes,
                depth: usize::MAX,
            });
        }
    }
    reading
}

/// Reads the words behind the name of `utility`.
pub(super) fn words(
    catalog: &Catalog,
    utility: UtilityId,
    fields: &[Field],
    surroundings: &Surroundings<'_>,
) -> Outcome {
    let syntax = catalog.get(utility).map(|entry| entry.syntax).unwrap_or_default();
    let mut reader = Reader {
        catalog,
        fields,
        at: 0,
        chain: smallvec::smallvec![utility],
        syntax,
        posix: surroundings.variable("POSIXLY_CORRECT").is_some(),
        ended: false,
        naming: true,
        named: 0,
        reading: Reading::default(),
        tail: Vec::new(),
    };
    reader.run();
    reader.finish()
}

struct Reader<'a> {
    catalog: &'a Catalog,
    fields: &'a [Field],
    at: usize,
    chain: Chain,
    syntax: Syntax,
    /// Whether options end at the first operand in `gnu` too.
    posix: bool,
    /// Whether options have ended.
    ended: bool,
    /// Whether the next operand may name a sub-command.
    naming: bool,
    /// How many words named sub-commands.
    named: usize,
    reading: Reading,
    tail: Vec<Field>,
}

/// What a long option turned out to be.
enum Long<'a> {
    Found(&'a OptionSpec, String),
    /// `--no-` before a known option.
    Negated(&'a OptionSpec),
    Ambiguous,
    Unlisted,
}

impl<'a> Reader<'a> {
    fn run(&mut self) {
        while let Some(field) = self.fields.get(self.at) {
            self.at += 1;
            if self.ended || self.syntax == Syntax::Words || field.text.is_empty() {
                self.operand(field);
                continue;
            }
            match field.text.prefix().chars().next() {
                None => {
                    self.doubt_start(field);
                    self.operand(field);
                }
                Some('-') => match field.exact() {
                    Some("-") => match self.find("-") {
                        Some(spec) => self.take(spec, "-", None, field),
                        None => self.operand(field),
                    },
                    Some("--") => self.ended = true,
                    _ if self.enter(field) => {}
                    _ => self.option(field),
                },
                Some('+' | '@' | '/') if self.other_option(field) => {}
                Some(_) => self.operand(field),
            }
        }
    }

    fn finish(mut self) -> Outcome {
        let alone = self.fields.len() == self.named + 1 || self.names_a_group();
        if alone
            && let Some(word) = self.fields.last().and_then(Field::exact)
            && self.prints_about_itself(word)
        {
            self.reading.inert = true;
            self.reading.doubts.clear();
        }
        Outcome { chain: self.chain, reading: self.reading, tail: self.tail }
    }

    /// Whether all words but the last begin the name of a sub-command and the last asks for help
    /// (`gh pr --help`).
    fn names_a_group(&self) -> bool {
        if self.fields.last().and_then(Field::exact) != Some("--help") {
            return false;
        }
        let words: Option<Vec<&str>> = self.fields.iter().map(Field::exact).collect();
        let Some((&"--help", words)) = words.as_deref().and_then(<[&str]>::split_last) else {
            return false;
        };
        let rest = words.get(self.named..).unwrap_or_default();
        let begins = |name: &String| name.starts_with(&format!("{} ", rest.join(" ")));
        !rest.is_empty()
            && self.entry().is_some_and(|entry| {
                entry.requires_subcommand
                    && entry
                        .subcommands
                        .iter()
                        .filter_map(|id| self.catalog.get(*id))
                        .any(|below| begins(&below.name) || below.aliases.iter().any(begins))
            })
    }

    /// Whether the word, alone, prints something about the utility or its sub-command; `--help` does
    /// so for every sub-command of a utility that knows it.
    fn prints_about_itself(&self, word: &str) -> bool {
        let lists = |entry: &Utility| entry.inert.iter().any(|inert| inert == word);
        self.entry().is_some_and(lists) || (word == "--help" && self.entries().any(lists))
    }

    /// The entries in force, innermost first.
    fn entries(&self) -> impl Iterator<Item = &'a Utility> + use<'a> {
        let catalog = self.catalog;
        let ids: Chain = self.chain.iter().rev().copied().collect();
        ids.into_iter().filter_map(move |id| catalog.get(id))
    }

    fn entry(&self) -> Option<&'a Utility> {
        self.chain.last().and_then(|id| self.catalog.get(*id))
    }

    fn find(&self, name: &str) -> Option<&'a OptionSpec> {
        let catalog = self.catalog;
        let entries = self.chain.iter().rev().filter_map(|id| catalog.get(*id));
        entries.into_iter().find_map(|entry| entry.option(name))
    }

    fn operand(&mut self, field: &Field) {
        if self.naming {
            if self.enter(field) {
                return;
            }
            self.naming = false;
            if let Some(entry) = self.entry()
                && (entry.requires_subcommand
                    || (!field.text.is_exact() && !entry.subcommands.is_empty()))
            {
                self.reading
                    .doubts
                    .push(Doubt::Subcommand(field.text.display().into(), field.site));
            }
        }
        self.reading.operands.push(field.clone());
        let stops =
            matches!(self.syntax, Syntax::Posix | Syntax::ExactStop | Syntax::SingleDashStop);
        if stops || (self.posix && self.syntax == Syntax::Gnu) {
            self.ended = true;
        }
    }

    /// Enters the sub-command that `field` and the words behind it name, the longest first.
    fn enter(&mut self, field: &Field) -> bool {
        let Some(entry) = self.entry() else { return false };
        if !self.naming || entry.subcommands.is_empty() {
            return false;
        }
        let Some(first) = field.exact() else { return false };
        let mut names = vec![first.to_owned()];
        for next in self.fields.iter().skip(self.at).take(SUBCOMMAND_WORDS - 1) {
            let Some(word) = next.exact() else { break };
            let longer = names.last().map(|name| format!("{name} {word}")).unwrap_or_default();
            names.push(longer);
        }
        let Some(parent) = self.chain.last().copied() else { return false };
        // A word behind them that is not known may make another sub-command of them.
        if let Some(next) = self.fields.get(self.at + names.len() - 1)
            && !next.text.is_exact()
            && !next.text.prefix().starts_with('-')
            && let Some(group) = names.last().map(|name| format!("{name} "))
            && entry.subcommands.iter().filter_map(|id| self.catalog.get(*id)).any(|below| {
                below.name.starts_with(&group)
                    || below.aliases.iter().any(|own| own.starts_with(&group))
            })
        {
            self.reading.doubts.push(Doubt::Subcommand(next.text.display().into(), next.site));
        }
        for (more, name) in names.iter().enumerate().rev() {
            let Some(id) = self.catalog.subcommand(parent, name) else { continue };
            let Some(below) = self.catalog.get(id) else { continue };
            self.chain.push(id);
            self.reading.subcommand.push(below.name.clone().into());
            self.syntax = below.syntax;
            self.at += more;
            self.named += more + 1;
            self.ended = false;
            self.naming = !below.subcommands.is_empty();
            return true;
        }
        false
    }

    fn option(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        match self.syntax {
            Syntax::SingleDash | Syntax::SingleDashStop => self.single_dash(field),
            _ if prefix.starts_with("--") => self.long(field),
            _ => {
                let name = prefix.find('=').map_or(prefix, |at| head(prefix, at));
                if name.chars().count() > 2 && self.find(name).is_some() {
                    self.long(field);
                } else {
                    self.cluster(field);
                }
            }
        }
    }

    fn long(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        let (name, value) = match prefix.find('=') {
            Some(at) => (head(prefix, at), Some(part(field, at + 1))),
            None if field.text.is_exact() => (prefix, None),
            None => {
                self.reading.doubts.push(Doubt::Word(field.site));
                return;
            }
        };
        match self.resolve_long(name) {
            Long::Found(spec, spelled) => self.take(spec, &spelled, value, field),
            Long::Negated(spec) => {
                if let Some(first) = spec.names.first() {
                    self.reading.options.retain(|option| option.name != *first);
                }
            }
            Long::Ambiguous => {
                self.reading.doubts.push(Doubt::Ambiguous(name.into(), field.site));
            }
            Long::Unlisted => self.unlisted(name, field),
        }
    }

    fn resolve_long(&self, name: &str) -> Long<'a> {
        if let Some(spec) = self.find(name) {
            return Long::Found(spec, name.to_owned());
        }
        let abbreviates = matches!(self.syntax, Syntax::Gnu | Syntax::Posix);
        if abbreviates {
            match self.abbreviated(name) {
                Long::Unlisted => {}
                other => return other,
            }
        }
        if let Some(rest) = name.strip_prefix("--no-")
            && self
                .catalog
                .get(self.chain.first().copied().unwrap_or(UtilityId(u32::MAX)))
                .is_some_and(|entry| entry.grammar == Some(Grammar::Git))
        {
            let positive = format!("--{rest}");
            if let Some(spec) = self.find(&positive) {
                return Long::Negated(spec);
            }
            if abbreviates {
                return match self.abbreviated(&positive) {
                    Long::Found(spec, _) => Long::Negated(spec),
                    other => other,
                };
            }
        }
        Long::Unlisted
    }

    /// The one option of which `name` is the beginning of a long spelling.
    fn abbreviated(&self, name: &str) -> Long<'a> {
        let mut found: Option<(&'a OptionSpec, &'a str)> = None;
        for entry in self.entries() {
            for spec in &entry.options {
                for spelling in spec.names.iter().filter(|own| own.starts_with("--")) {
                    if !spelling.starts_with(name) {
                        continue;
                    }
                    match found {
                        None => found = Some((spec, spelling)),
                        Some((other, _)) if std::ptr::eq(other, spec) => {}
                        Some((other, first))
                            if first == spelling && other.names.first() == spec.names.first() => {}
                        Some(_) => return Long::Ambiguous,
                    }
                }
            }
        }
        found.map_or(Long::Unlisted, |(spec, spelling)| Long::Found(spec, spelling.to_owned()))
    }

    fn single_dash(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        let (name, value) = match prefix.find('=') {
            Some(at) => (head(prefix, at), Some(part(field, at + 1))),
            None => (prefix, None),
        };
        let complete = value.is_some() || field.text.is_exact();
        if complete {
            let other = match name.strip_prefix("--") {
                Some(rest) => format!("-{rest}"),
                None => format!("-{name}"),
            };
            for spelled in [name.to_owned(), other] {
                if let Some(spec) = self.find(&spelled) {
                    self.take(spec, &spelled, value, field);
                    return;
                }
            }
            let folded = name.to_lowercase();
            if folded != name
                && self
                    .entry()
                    .and_then(|entry| entry.language)
                    .is_some_and(|language| language.name() == "powershell")
                && let Some(spec) = self.find(&folded)
            {
                self.take(spec, &folded, value, field);
                return;
            }
        }
        let glued = self
            .entries()
            .flat_map(|entry| &entry.options)
            .filter(|spec| matches!(spec.value, ValueArity::Required | ValueArity::Optional))
            .flat_map(|spec| spec.names.iter().map(move |own| (spec, own)))
            .filter(|(_, own)| own.len() < prefix.len() && prefix.starts_with(own.as_str()))
            .filter(|(_, own)| own.chars().count() == 2 || own.ends_with(':'))
            .max_by_key(|(_, own)| own.len());
        if let Some((spec, own)) = glued {
            let value = part(field, own.len());
            self.take(spec, own, Some(value), field);
        } else if self.find(NUMBER).is_some() && is_number(name) {
            self.number(name, field);
        } else if complete {
            self.unlisted(name, field);
        } else {
            self.reading.doubts.push(Doubt::Word(field.site));
        }
    }

    fn cluster(&mut self, field: &Field) {
        let prefix = field.text.prefix();
        let mut letters = prefix.char_indices().skip(1).peekable();
        while let Some((at, letter)) = letters.next() {
            let mut name = Str::from("-");
            name.push(letter);
            let Some(spec) = self.find(&name) else {
                if letter.is_ascii_digit() && self.find(NUMBER).is_some() {
                    let mut digits = letter.to_string();
                    while let Some((_, digit)) = letters.next_if(|(_, c)| c.is_ascii_digit()) {
                        digits.push(digit);
                    }
                    self.number(&digits, field);
                    continue;
                }
                self.unlisted(&name, field);
                return;
            };
            let end = at + letter.len_utf8();
            let rest = part(field, end);
            let rest = if rest.text.is_empty() { None } else { Some(rest) };
            if spec.value == ValueArity::None {
                self.take(spec, &name, None, field);
            } else {
                self.take(spec, &name, rest, field);
                return;
            }
        }
        if !field.text.is_exact() {
            self.reading.doubts.push(Doubt::Word(field.site));
        }
    }

    /// Options that begin with something else than a dash.
    fn other_option(&mut self, field: &Field) -> bool {
        let prefix = field.text.prefix();
        if let Some(spec) = self.find(prefix)
            && field.text.is_exact()
        {
            self.take(spec, prefix, None, field);
            return true;
        }
        // `@FILE` stands for the options in the file.
        if prefix.starts_with('@')
            && let Some(spec) = self.find("@")
        {
            self.take(spec, "@", Some(part(field, 1)), field);
            return true;
        }
        false
    }

    fn number(&mut self, digits: &str, field: &Field) {
        let value = Field::literal(digits.trim_start_matches('-'), field.site);
        self.record(NUMBER, NUMBER, Some(value), field);
    }

    /// Notes a use of an option; takes its value from behind it where none is attached.
    fn take(&mut self, spec: &OptionSpec, spelled: &str, attached: Option<Field>, field: &Field) {
        let Some(first) = spec.names.first() else { return };
        match spec.value {
            ValueArity::None => {
                if attached.is_some() {
                    self.unlisted(spelled, field);
                }
                self.record(first, spelled, None, field);
            }
            ValueArity::Optional => self.record(first, spelled, attached, field),
            ValueArity::Required if spec.kind == ValueKind::Command => {
                let rest = self.fields.iter().skip(self.at).cloned();
                self.tail = attached.into_iter().chain(rest).collect();
                self.at = self.fields.len();
                self.record(first, spelled, self.tail.first().cloned(), field);
            }
            ValueArity::Required => {
                let value = attached.or_else(|| self.next(spelled, field));
                self.record(first, spelled, value, field);
            }
            ValueArity::Two => {
                let value = attached.or_else(|| self.next(spelled, field));
                self.record(first, spelled, value, field);
                let second = self.next(spelled, field);
                self.record(first, spelled, second, field);
            }
        }
        let ends = spec.kind == ValueKind::Code
            && self
                .entry()
                .and_then(|entry| entry.language)
                .is_some_and(|language| language.name() == "python");
        if ends {
            self.ended = true;
            self.naming = false;
        }
    }

    fn next(&mut self, spelled: &str, field: &Field) -> Option<Field> {
        let Some(value) = self.fields.get(self.at) else {
            self.reading.doubts.push(Doubt::Value(spelled.into(), field.site));
            return None;
        };
        self.at += 1;
        if value.arity == Arity::Many && value.text.has_unknown() {
            self.reading.doubts.push(Doubt::Word(value.site));
        }
        Some(value.clone())
    }

    fn record(&mut self, name: &str, spelled: &str, value: Option<Field>, field: &Field) {
        self.reading.options.push(OptionUse {
            name: name.into(),
            spelled: spelled.into(),
            value,
            site: field.site,
            certain: Truth::Yes,
            depth: self.chain.len().saturating_sub(1),
        });
    }

    fn unlisted(&mut self, name: &str, field: &Field) {
        if self.entry().is_none_or(|entry| entry.closed) {
            self.reading.doubts.push(Doubt::Option(name.into(), field.site));
        } else {
            let value = name.find('=').map(|at| part(field, at + 1));
            self.record(name, name, value, field);
        }
    }

    /// Notes that a word whose first character is not known may be an option.
    fn doubt_start(&mut self, field: &Field) {
        let may = match field.text.pieces().first() {
            Some(Piece::Unknown(Unknown::Plain | Unknown::Fresh)) => false,
            Some(Piece::Unknown(Unknown::Found | Unknown::Listed | Unknown::Arithmetic)) => {
                self.is_dangerous()
            }
            Some(Piece::Unknown(_)) => self.is_dangerous() || self.opens_by_option(),
            Some(Piece::Glob(glob)) => may_begin_with_dash(glob) && self.is_dangerous(),
            _ => false,
        };
        if may {
            self.reading.doubts.push(Doubt::Word(field.site));
        }
    }

    /// Whether some option does anything with its value.
    fn opens_by_option(&self) -> bool {
        self.entries().flat_map(|entry| &entry.options).any(|option| !option.effects.is_empty())
    }

    /// Whether an option that a name brings in could do harm.
    fn is_dangerous(&self) -> bool {
        self.entries().any(|entry| {
            let grammar = entry.grammar.is_some_and(|grammar| {
                !matches!(grammar, Grammar::Test | Grammar::Mode | Grammar::Filter | Grammar::Dd)
            });
            let changes = entry.effects.iter().any(|effect| !effect.kind.is_passive())
                || entry
                    .operands
                    .iter()
                    .flat_map(|operand| &operand.effects)
                    .any(|effect| !effect.is_passive());
            grammar
                || (changes && !(entry.recursive.is_empty() && entry.force.is_empty()))
                || entry.options.iter().any(|option| {
                    option.effects.iter().any(|effect| !effect.is_passive())
                        || matches!(
                            option.kind,
                            ValueKind::Program
                                | ValueKind::Shell
                                | ValueKind::Code
                                | ValueKind::Script
                                | ValueKind::Command
                        )
                })
        })
    }
}

fn is_number(name: &str) -> bool {
    name.strip_prefix('-').is_some_and(|digits| {
        !digits.is_empty() && digits.chars().all(|digit| digit.is_ascii_digit())
    })
}

fn may_begin_with_dash(glob: &Glob) -> bool {
    match glob {
        Glob::Any | Glob::One | Glob::Deep | Glob::Extended(_) => true,
        Glob::Set(text) => {
            let inner = text.trim_start_matches('[').trim_end_matches(']');
            inner.starts_with(['!', '^', '-']) || inner.ends_with('-') || inner.contains("punct")
        }
    }
}

/// The first `end` bytes of a text.
fn head(text: &str, end: usize) -> &str {
    text.get(..end).unwrap_or(text)
}

/// The field without the first `from` bytes of its known beginning.
pub(super) fn part(field: &Field, from: usize) -> Field {
    let mut text = Text::empty();
    for (index, piece) in field.text.pieces().iter().enumerate() {
        match piece {
            Piece::Literal(literal) if index == 0 => {
                text.push_str(literal.get(from..).unwrap_or_default());
            }
            other => text.push(other.clone()),
        }
    }
    Field { text, arity: field.arity, site: field.site, quoted: field.quoted }
}
