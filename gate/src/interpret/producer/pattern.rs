//! POSIX regular expressions on known lines, and the forms of sed and awk that only edit lines
//! (POSIX.1-2024 XBD 9; GNU sed 4.9).
//!
//! The regex crate takes the first alternative that fits, POSIX the longest; where that may differ
//! a match is checked to be the longest, and given up otherwise.

use regex::{Regex, RegexBuilder};

use crate::interpret::producer::bytes::{from_bytes, to_bytes};
use crate::interpret::producer::{Call, join, lines};
use crate::model::value::Text;

/// Bytes of a line on which a doubtful match is still checked.
const CHECKED: usize = 128;

/// Bytes of input, times commands, on which doubtful matches are still checked.
const DOUBTFUL: usize = 2048;

/// Which characters are special.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Syntax {
    Basic,
    Extended,
    Fixed,
}

/// Translates an expression. With `extent` it must also match exactly as long as POSIX says.
/// `None` where that is not sure.
pub(super) fn compile(
    pattern: &str,
    syntax: Syntax,
    fold: bool,
    whole: bool,
    extent: bool,
) -> Option<Regex> {
    let expression = Expression::new(pattern, syntax, fold, whole)?;
    (!extent || !expression.is_doubtful).then_some(expression.regex)
}

#[derive(Debug)]
struct Expression {
    regex: Regex,
    whole: Regex,
    is_doubtful: bool,
}

impl Expression {
    fn new(pattern: &str, syntax: Syntax, fold: bool, whole: bool) -> Option<Self> {
        let mut translation = Translation { out: String::new(), is_doubtful: false };
        if syntax == Syntax::Fixed {
            translation.out = regex::escape(pattern);
        } else {
            translation.translate(pattern, syntax == Syntax::Extended)?;
        }
        let build = |text: &str| {
            RegexBuilder::new(text)
                .case_insensitive(fold)
                .dot_matches_new_line(true)
                .size_limit(1 << 19)
                .nest_limit(32)
                .build()
                .ok()
        };
        let closed = build(&format!("^(?:{})$", translation.out))?;
        let regex = if whole { closed.clone() } else { build(&translation.out)? };
        Some(Self { regex, whole: closed, is_doubtful: translation.is_doubtful })
    }

    /// Whether no longer match begins where this one does; `None` where the line is too long to try.
    fn is_longest(&self, line: &str, start: usize, end: usize) -> Option<bool> {
        if !self.is_doubtful {
            return Some(true);
        }
        if line.len() > CHECKED {
            return None;
        }
        let longer = (end + 1..=line.len())
            .any(|end| line.get(start..end).is_some_and(|part| self.whole.is_match(part)));
        Some(!longer)
    }
}

struct Translation {
    out: String,
    is_doubtful: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Before {
    /// Nothing that can be repeated.
    Start,
    Atom,
    Group,
    Repetition,
}

impl Translation {
    fn translate(&mut self, pattern: &str, extended: bool) -> Option<()> {
        let mut chars = pattern.chars().peekable();
        let mut before = Before::Start;
        while let Some(c) = chars.next() {
            // Each character is brought to the extended reading: special or literal.
            let (c, special) = match c {
                '\\' => {
                    let next = chars.next()?;
                    match next {
                        '(' | ')' | '{' | '}' | '|' | '+' | '?' => (next, !extended),
                        'n' => ('\n', false),
                        't' => ('\t', false),
                        'w' => {
                            self.atom("[A-Za-z0-9_]", &mut before);
                            continue;
                        }
                        'W' => {
                            self.atom("[^A-Za-z0-9_]", &mut before);
                            continue;
                        }
                        's' => {
                            self.atom("[[:space:]]", &mut before);
                            continue;
                        }
                        'S' => {
                            self.atom("[^[:space:]]", &mut before);
                            continue;
                        }
                        'b' | '<' | '>' => {
                            self.out.push_str(match next {
                                'b' => "(?-u:\\b)",
                                '<' => "(?-u:\\b{start})",
                                _ => "(?-u:\\b{end})",
                            });
                            before = Before::Start;
                            continue;
                        }
                        other if other.is_ascii_alphanumeric() => return None,
                        other => (other, false),
                    }
                }
                '(' | ')' | '{' | '}' | '|' | '+' | '?' => (c, extended),
                '*' | '.' | '[' | '^' | '$' => (c, true),
                other => (other, false),
            };
            match c {
                '[' if special => {
                    self.bracket(&mut chars)?;
                    before = Before::Atom;
                }
                '.' if special => self.atom(".", &mut before),
                '(' if special => {
                    self.out.push('(');
                    before = Before::Start;
                }
                ')' if special => {
                    self.out.push(')');
                    before = Before::Group;
                }
                '|' if special => {
                    self.out.push('|');
                    self.is_doubtful = true;
                    before = Before::Start;
                }
                '*' | '+' | '?' if special => match before {
                    Before::Start if !extended && c == '*' => self.atom("\\*", &mut before),
                    Before::Start | Before::Repetition => return None,
                    Before::Atom | Before::Group => {
                        self.is_doubtful |= before == Before::Group;
                        self.out.push(c);
                        before = Before::Repetition;
                    }
                },
                '{' if special => {
                    if before == Before::Start || before == Before::Repetition {
                        return None;
                    }
                    self.is_doubtful |= before == Before::Group;
                    self.interval(&mut chars, extended)?;
                    before = Before::Repetition;
                }
                '}' if special && !extended => return None,
                '^' if special && (extended || self.begins()) => {
                    self.out.push('^');
                    before = Before::Start;
                }
                '$' if special && (extended || ends(&chars)) => {
                    self.out.push('$');
                    before = Before::Start;
                }
                other => {
                    let text = regex::escape(other.encode_utf8(&mut [0; 4]));
                    self.atom(&text, &mut before);
                }
            }
        }
        Some(())
    }

    fn atom(&mut self, text: &str, before: &mut Before) {
        self.out.push_str(text);
        *before = Before::Atom;
    }

    /// Whether a basic expression begins here, so that `^` is an anchor.
    fn begins(&self) -> bool {
        let escaped = self.out.ends_with("\\(") || self.out.ends_with("\\|");
        self.out.is_empty() || (self.out.ends_with(['(', '|']) && !escaped)
    }

    fn interval(
        &mut self,
        chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
        extended: bool,
    ) -> Option<()> {
        let mut inside = String::new();
        loop {
            match chars.next()? {
                '}' if extended => break,
                '\\' if !extended && chars.next_if_eq(&'}').is_some() => break,
                c @ ('0'..='9' | ',') => inside.push(c),
                _ => return None,
            }
        }
        let (from, to) = inside.split_once(',').unwrap_or((&inside, &inside));
        let most = |text: &str| text.is_empty() || text.parse::<u32>().is_ok_and(|n| n <= 255);
        if !most(from) || !most(to) || inside.is_empty() {
            return None;
        }
        let from = if from.is_empty() { "0" } else { from };
        let text =
            if inside.contains(',') { format!("{{{from},{to}}}") } else { format!("{{{from}}}") };
        self.out.push_str(&text);
        Some(())
    }

    /// A bracket expression; a backslash in it is literal, but `\n`, `\t` and `\]` differ between
    /// programs.
    fn bracket(&mut self, chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<()> {
        self.out.push('[');
        if chars.next_if_eq(&'^').is_some() {
            self.out.push('^');
        }
        let mut first = true;
        loop {
            let c = chars.next()?;
            match c {
                ']' if !first => break,
                '[' if matches!(chars.peek(), Some(':')) => {
                    let mut name = String::from("[");
                    loop {
                        let c = chars.next()?;
                        name.push(c);
                        if c == ']' {
                            break;
                        }
                    }
                    self.out.push_str(&name);
                }
                '[' if matches!(chars.peek(), Some('.' | '=')) => return None,
                '\\' => match chars.peek() {
                    Some('n' | 't' | ']' | '\\') => return None,
                    _ => self.out.push_str("\\\\"),
                },
                '-' if first || chars.peek() == Some(&']') => self.out.push_str("\\-"),
                '-' => self.out.push('-'),
                other => self.out.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
            first = false;
        }
        self.out.push(']');
        Some(())
    }
}

fn ends(chars: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut ahead = chars.clone();
    match ahead.next() {
        None => true,
        Some('\\') => matches!(ahead.next(), Some(')' | '|')),
        _ => false,
    }
}

#[derive(Debug)]
enum Address {
    Number(usize),
    Last,
    Match(Expression),
}

#[derive(Debug)]
enum Action {
    Substitute {
        expression: Expression,
        replacement: Vec<Piece>,
        global: bool,
        print: bool,
        nth: usize,
    },
    Translate(Vec<(char, char)>),
    Print,
    Delete,
    Quit,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Group(usize),
}

#[derive(Debug)]
struct Command {
    from: Option<Address>,
    to: Option<Address>,
    negated: bool,
    action: Action,
    /// The number of the line an open range began in.
    open: Option<usize>,
}

pub(super) fn sed(call: &Call<'_>) -> Option<Text> {
    let long = [
        ("quiet", 'n'),
        ("silent", 'n'),
        ("expression", 'e'),
        ("regexp-extended", 'E'),
        ("unbuffered", 'u'),
    ];
    let mut arguments = call.arguments("ne:Eru", &long)?;
    let mut scripts: Vec<&str> = arguments
        .options
        .iter()
        .filter(|(letter, _)| *letter == 'e')
        .filter_map(|(_, value)| *value)
        .collect();
    if scripts.is_empty() {
        if arguments.operands.is_empty() {
            return None;
        }
        scripts.push(arguments.operands.remove(0));
    }
    // What is not known needs no expression.
    let bytes = call.source_bytes(&arguments.operands)?;
    let syntax =
        if arguments.has('E') || arguments.has('r') { Syntax::Extended } else { Syntax::Basic };
    let mut commands = Vec::new();
    let script = scripts.join("\n");
    let mut parser = Parser { chars: script.chars().peekable(), syntax };
    while let Some(command) = parser.command()? {
        commands.push(command);
        if commands.len() > 64 {
            return None;
        }
    }
    let (all, closed) = lines(&bytes);
    if all.len().saturating_mul(commands.len()) > 1 << 16 {
        return None;
    }
    let is_doubtful = |command: &Command| match &command.action {
        Action::Substitute { expression, .. } => expression.is_doubtful,
        _ => false,
    };
    if commands.iter().any(is_doubtful) && bytes.len().saturating_mul(commands.len()) > DOUBTFUL {
        return None;
    }
    let mut out: Vec<Vec<u8>> = Vec::new();
    let (mut printed, mut counted) = (0usize, 0usize);
    let mut last_printed = true;
    'lines: for (at, line) in all.iter().enumerate() {
        let number = at + 1;
        let is_last = number == all.len();
        let mut space = from_bytes(line);
        if space.chars().any(|c| ('\u{f780}'..='\u{f7ff}').contains(&c)) {
            return None;
        }
        let mut quits = false;
        last_printed = false;
        if printed > call.max_bytes {
            return None;
        }
        for command in &mut commands {
            if !command.applies(&space, number, is_last) {
                continue;
            }
            match &command.action {
                Action::Delete => continue 'lines,
                Action::Print => {
                    out.push(to_bytes(&space));
                    last_printed = true;
                }
                Action::Quit => {
                    quits = true;
                    break;
                }
                Action::Translate(map) => {
                    space = space
                        .chars()
                        .map(|c| map.iter().find(|(from, _)| *from == c).map_or(c, |(_, to)| *to))
                        .collect();
                }
                Action::Substitute { expression, replacement, global, print, nth } => {
                    if let Some(text) = substitute(&space, expression, replacement, *global, *nth)?
                    {
                        space = text;
                        if space.len() > call.max_bytes {
                            return None;
                        }
                        if *print {
                            out.push(to_bytes(&space));
                            last_printed = true;
                        }
                    }
                }
            }
        }
        if !arguments.has('n') {
            out.push(to_bytes(&space));
            last_printed = true;
        }
        printed += out.iter().skip(counted).map(Vec::len).sum::<usize>();
        counted = out.len();
        if quits {
            // `q` ends the last line even where the input did not.
            return Some(join(&out, true));
        }
    }
    Some(join(&out, closed || !last_printed))
}

impl Command {
    fn applies(&mut self, line: &str, number: usize, is_last: bool) -> bool {
        let matches = |address: &Address| match address {
            Address::Number(own) => *own == number,
            Address::Last => is_last,
            Address::Match(expression) => expression.regex.is_match(line),
        };
        let inside = match (&self.from, &self.to) {
            (None, _) => true,
            (Some(from), None) => matches(from),
            (Some(from), Some(to)) => {
                if self.open.is_some() {
                    let ends = match to {
                        Address::Number(end) => number >= *end,
                        other => matches(other),
                    };
                    // A line past a numbered end is outside the range.
                    let past = matches!(to, Address::Number(end) if number > *end);
                    if ends {
                        self.open = None;
                    }
                    !past || matches(from)
                } else if matches(from) {
                    let one_line = matches!(to, Address::Number(end) if *end <= number);
                    self.open = (!one_line).then_some(number);
                    true
                } else {
                    false
                }
            }
        };
        inside != self.negated
    }
}

#[expect(
    clippy::option_option,
    reason = "the outer says whether it is modelled, the inner whether it is there"
)]
fn substitute(
    line: &str,
    expression: &Expression,
    replacement: &[Piece],
    global: bool,
    nth: usize,
) -> Option<Option<String>> {
    let mut out = String::new();
    let mut done = 0;
    let mut changed = false;
    for (count, captures) in expression.regex.captures_iter(line).enumerate() {
        let whole = captures.get(0)?;
        if !expression.is_longest(line, whole.start(), whole.end())? {
            return None;
        }
        if count + 1 < nth {
            continue;
        }
        out.push_str(line.get(done..whole.start())?);
        for piece in replacement {
            match piece {
                Piece::Text(text) => out.push_str(text),
                Piece::Group(group) => {
                    out.push_str(captures.get(*group).map_or("", |found| found.as_str()));
                }
            }
        }
        done = whole.end();
        changed = true;
        if !global {
            break;
        }
    }
    out.push_str(line.get(done..)?);
    Some(changed.then_some(out))
}

struct Parser<'a> {
    chars: std::iter::Peekable<std::str::Chars<'a>>,
    syntax: Syntax,
}

impl Parser<'_> {
    #[expect(
        clippy::option_option,
        reason = "the outer says whether it is modelled, the inner whether it is there"
    )]
    /// The next command; `None` outside where a construct is not modelled, inside at the end.
    fn command(&mut self) -> Option<Option<Command>> {
        while self.chars.next_if(|c| c.is_ascii_whitespace() || *c == ';').is_some() {}
        if self.chars.peek().is_none() {
            return Some(None);
        }
        let from = self.address()?;
        let mut to = None;
        if from.is_some() && self.chars.next_if_eq(&',').is_some() {
            to = Some(self.address()??);
        }
        let mut negated = false;
        while let Some(c) = self.chars.next_if(|c| *c == '!' || *c == ' ') {
            negated |= c == '!';
        }
        let action = match self.chars.next()? {
            'p' => Action::Print,
            'd' => Action::Delete,
            'q' => Action::Quit,
            's' => self.substitution()?,
            'y' => self.translation()?,
            _ => return None,
        };
        while self.chars.next_if_eq(&' ').is_some() {}
        match self.chars.next() {
            None | Some(';' | '\n') => {}
            Some(_) => return None,
        }
        Some(Some(Command { from, to, negated, action, open: None }))
    }

    #[expect(
        clippy::option_option,
        reason = "the outer says whether it is modelled, the inner whether it is there"
    )]
    fn address(&mut self) -> Option<Option<Address>> {
        match self.chars.peek() {
            Some('0'..='9') => {
                let mut digits = String::new();
                while let Some(digit) = self.chars.next_if(char::is_ascii_digit) {
                    digits.push(digit);
                }
                let number = digits.parse().ok().filter(|number| *number > 0)?;
                if self.chars.peek() == Some(&'~') {
                    return None;
                }
                Some(Some(Address::Number(number)))
            }
            Some('$') => {
                self.chars.next();
                Some(Some(Address::Last))
            }
            Some('/') => {
                self.chars.next();
                let pattern = self.part('/')?;
                let fold = self.chars.next_if_eq(&'I').is_some();
                Some(Some(Address::Match(Expression::new(&pattern, self.syntax, fold, false)?)))
            }
            Some('\\' | '+' | '~') => None,
            _ => Some(None),
        }
    }

    /// Text up to the delimiter; an escaped delimiter that means something of its own is refused.
    fn part(&mut self, delimiter: char) -> Option<String> {
        let mut out = String::new();
        let mut in_set = false;
        loop {
            match self.chars.next()? {
                c if c == delimiter && !in_set => return Some(out).filter(|text| !text.is_empty()),
                c if c == delimiter => return None,
                '\\' => match self.chars.next()? {
                    c if c == delimiter => {
                        if ".*[]^$+?(){}|&".contains(c) || c.is_ascii_alphanumeric() {
                            return None;
                        }
                        out.push(c);
                    }
                    c => {
                        out.push('\\');
                        out.push(c);
                    }
                },
                '\n' => return None,
                c => {
                    if c == '[' {
                        in_set = true;
                    } else if c == ']' {
                        in_set = false;
                    }
                    out.push(c);
                }
            }
        }
    }

    fn substitution(&mut self) -> Option<Action> {
        let delimiter = self.chars.next().filter(|c| *c != '\\' && *c != '\n')?;
        let pattern = self.part(delimiter)?;
        let replacement = self.replacement(delimiter)?;
        let (mut global, mut print, mut fold, mut nth) = (false, false, false, 1);
        while let Some(flag) = self.chars.next_if(char::is_ascii_alphanumeric) {
            match flag {
                'g' => global = true,
                'p' if !print => print = true,
                'i' | 'I' => fold = true,
                '1'..='9' => nth = usize::try_from(flag.to_digit(10)?).ok()?,
                _ => return None,
            }
        }
        let expression = Expression::new(&pattern, self.syntax, fold, false)?;
        let groups = expression.regex.captures_len();
        let known = |piece: &Piece| !matches!(piece, Piece::Group(group) if *group >= groups);
        replacement.iter().all(known).then_some(())?;
        Some(Action::Substitute { expression, replacement, global, print, nth })
    }

    fn replacement(&mut self, delimiter: char) -> Option<Vec<Piece>> {
        let mut out = Vec::new();
        let mut text = String::new();
        loop {
            let group = match self.chars.next()? {
                c if c == delimiter => break,
                '&' => 0,
                '\\' => match self.chars.next()? {
                    digit @ '0'..='9' => usize::try_from(digit.to_digit(10)?).ok()?,
                    'n' => {
                        text.push('\n');
                        continue;
                    }
                    't' => {
                        text.push('\t');
                        continue;
                    }
                    c if c.is_ascii_alphanumeric() => return None,
                    c => {
                        text.push(c);
                        continue;
                    }
                },
                '\n' => return None,
                c => {
                    text.push(c);
                    continue;
                }
            };
            out.push(Piece::Text(std::mem::take(&mut text)));
            out.push(Piece::Group(group));
        }
        out.push(Piece::Text(text));
        Some(out)
    }

    fn translation(&mut self) -> Option<Action> {
        let delimiter = self.chars.next()?;
        let mut sides = [Vec::new(), Vec::new()];
        for side in &mut sides {
            loop {
                match self.chars.next()? {
                    c if c == delimiter => break,
                    '\\' => match self.chars.next()? {
                        'n' => side.push('\n'),
                        c if c == delimiter || c == '\\' => side.push(c),
                        _ => return None,
                    },
                    c => side.push(c),
                }
            }
        }
        let [from, to] = sides;
        (from.len() == to.len()).then(|| Action::Translate(from.into_iter().zip(to).collect()))
    }
}

/// `[PATTERN] { print ... }` with fields and constant strings.
pub(super) fn awk(call: &Call<'_>) -> Option<Text> {
    let mut arguments = call.arguments("F:", &[])?;
    if arguments.operands.is_empty() {
        return None;
    }
    let program = arguments.operands.remove(0);
    if arguments.operands.iter().any(|operand| operand.contains('=')) {
        return None;
    }
    let separator = match arguments.value('F') {
        None | Some(" ") => None,
        Some("\\t" | "t") => Some('\t'),
        Some(text) => {
            let mut chars = text.chars();
            let only = chars.next().filter(|c| *c != '\\')?;
            chars.next().is_none().then_some(())?;
            Some(only)
        }
    };
    let (pattern, rest) = program.trim().split_once('{')?;
    let body = rest.strip_suffix('}')?.trim().trim_end_matches(';').trim();
    if body.contains('}') {
        return None;
    }
    let condition = match pattern.trim() {
        "" => None,
        text => Some(if let Some(rest) = text.strip_prefix("NR") {
            Address::Number(rest.trim().strip_prefix("==")?.trim().parse().ok()?)
        } else {
            let inner = text.strip_prefix('/')?.strip_suffix('/')?;
            if inner.contains(['/', '\\']) {
                return None;
            }
            Address::Match(Expression::new(inner, Syntax::Extended, false, false)?)
        }),
    };
    let items = print_items(body)?;
    let text = call.source(&arguments.operands)?;
    let bytes = to_bytes(text.exact()?);
    let (all, _) = lines(&bytes);
    let mut out: Vec<Vec<u8>> = Vec::new();
    for (at, line) in all.iter().enumerate() {
        let line = from_bytes(line);
        let applies = match &condition {
            None => true,
            Some(Address::Number(number)) => *number == at + 1,
            Some(Address::Match(expression)) => expression.regex.is_match(&line),
            Some(Address::Last) => false,
        };
        if !applies {
            continue;
        }
        let fields: Vec<&str> = match separator {
            None => line.split([' ', '\t']).filter(|field| !field.is_empty()).collect(),
            Some(_) if line.is_empty() => Vec::new(),
            Some(separator) => line.split(separator).collect(),
        };
        let mut printed = String::new();
        for item in &items {
            match item {
                Item::Text(text) => printed.push_str(text),
                Item::Field(0) => printed.push_str(&line),
                Item::Field(number) => printed.push_str(fields.get(number - 1).unwrap_or(&"")),
                Item::Last => printed.push_str(fields.last().unwrap_or(&line.as_str())),
                Item::Number => printed.push_str(&(at + 1).to_string()),
            }
        }
        out.push(to_bytes(&printed));
    }
    Some(join(&out, true))
}

enum Item {
    Text(String),
    Field(usize),
    Last,
    Number,
}

fn print_items(body: &str) -> Option<Vec<Item>> {
    let mut rest = body.strip_prefix("print")?;
    if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
        return None;
    }
    let mut items = Vec::new();
    let mut after_comma = false;
    loop {
        rest = rest.trim_start();
        let Some(c) = rest.chars().next() else { break };
        match c {
            ',' if !after_comma && !items.is_empty() => {
                items.push(Item::Text(" ".into()));
                after_comma = true;
                rest = rest.get(1..)?;
                continue;
            }
            '$' => {
                rest = rest.get(1..)?;
                let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
                let (name, behind) = rest.split_at_checked(end)?;
                items.push(if name == "NF" { Item::Last } else { Item::Field(name.parse().ok()?) });
                rest = behind;
            }
            '"' => {
                let (text, behind) = rest.get(1..)?.split_once('"')?;
                if text.contains('\\') {
                    return None;
                }
                items.push(Item::Text(text.to_owned()));
                rest = behind;
            }
            'N' => {
                rest = rest.strip_prefix("NR")?;
                if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_') {
                    return None;
                }
                items.push(Item::Number);
            }
            _ => return None,
        }
        after_comma = false;
    }
    if after_comma {
        return None;
    }
    if items.is_empty() {
        items.push(Item::Field(0));
    }
    Some(items)
}
