//! Builtins that change the state of this shell. What they do to files is in the tables.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::flow::scalar;
use super::simple::{Call, is_any, is_name};
use super::state::{Alias, Definition, State};
use super::{Outcome, Runner, Trap};
use crate::model::fact::CodePlace;
use crate::model::script::{GapCause, LimitKind};
use crate::model::span::{Site, Span};
use crate::model::trace::Carried;
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, List, Text, Unknown};

/// Texts of `trap` that are kept.
const TRAPS: usize = 16;

/// Options of a builtin, and its operands.
pub(super) struct Arguments<'a> {
    /// Letters in order, each with its value where it takes one.
    pub(super) options: Vec<(char, Option<&'a Field>)>,
    /// Letters given with a plus.
    pub(super) plus: Vec<char>,
    pub(super) operands: Vec<(usize, &'a Field)>,
    /// Values that stand in the same word as their letter.
    pub(super) attached: BTreeMap<char, Text>,
}

impl<'a> Arguments<'a> {
    /// Reads getopt-style arguments; `valued` are the letters with a value.
    pub(super) fn read(fields: &'a [Field], valued: &str) -> Self {
        let mut arguments = Self {
            options: Vec::new(),
            plus: Vec::new(),
            operands: Vec::new(),
            attached: BTreeMap::new(),
        };
        let mut words = fields.iter().enumerate().skip(1);
        let mut ended = false;
        while let Some((index, field)) = words.next() {
            let prefix = field.text.prefix();
            if ended || prefix.len() < 2 || !prefix.starts_with(['-', '+']) {
                arguments.operands.push((index, field));
                ended = true;
                continue;
            }
            if prefix == "--" {
                ended = true;
                continue;
            }
            let plus = prefix.starts_with('+');
            for (at, letter) in prefix.char_indices().skip(1) {
                if plus {
                    arguments.plus.push(letter);
                    continue;
                }
                if !valued.contains(letter) {
                    arguments.options.push((letter, None));
                    continue;
                }
                let rest = prefix.get(at + letter.len_utf8()..).unwrap_or_default();
                if rest.is_empty() && field.text.pieces().len() == 1 {
                    arguments.options.push((letter, words.next().map(|(_, field)| field)));
                } else {
                    let mut value = Text::literal(rest);
                    for piece in field.text.pieces().iter().skip(1) {
                        value.push(piece.clone());
                    }
                    arguments.options.push((letter, None));
                    arguments.attached.insert(letter, value);
                }
                break;
            }
        }
        arguments
    }

    pub(super) fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    pub(super) fn value(&self, letter: char) -> Option<Text> {
        self.attached.get(&letter).cloned().or_else(|| {
            self.options
                .iter()
                .rev()
                .find(|(own, _)| *own == letter)
                .and_then(|(_, value)| value.map(|field| field.text.clone()))
        })
    }
}

impl Runner<'_> {
    /// Runs a builtin of this name; `None` where it is none that changes state. `follows` says that
    /// the tables know what the invocation carries, which is then followed elsewhere.
    pub(super) fn builtin(
        &mut self,
        name: &str,
        index: usize,
        call: &Call,
        follows: bool,
    ) -> Option<Outcome> {
        let fields = call.fields.as_slice();
        Some(match name {
            "cd" | "chdir" => self.cd(fields),
            "pushd" => self.pushd(fields),
            "popd" => self.popd(),
            "export" | "declare" | "typeset" | "local" | "readonly" => {
                self.declare(name, call);
                Outcome::known(true)
            }
            "unset" => {
                self.unset(fields);
                Outcome::known(true)
            }
            "set" => {
                self.set(fields, call.site);
                Outcome::known(true)
            }
            "shopt" => {
                self.shopt(fields);
                Outcome::default()
            }
            "shift" => {
                self.shift(fields);
                Outcome::default()
            }
            "read" => self.read(call),
            "mapfile" | "readarray" => {
                self.mapfile(call, follows);
                Outcome::default()
            }
            "printf" => {
                self.printf(call);
                Outcome::known(true)
            }
            "getopts" => {
                self.getopts(call);
                Outcome::default()
            }
            "let" => {
                for field in fields.iter().skip(1) {
                    self.number_operand(&field.text, field.site.span);
                }
                Outcome::default()
            }
            "test" | "[" => {
                for pair in fields.windows(2).filter(|_| !follows) {
                    if let [operator, operand] = pair
                        && operator.exact() == Some("-v")
                    {
                        self.name_operand(&operand.text, operand.site.span);
                    }
                }
                Outcome::default()
            }
            "alias" => {
                for field in fields.iter().skip(1) {
                    if let Some((name, value)) = alias_of(&field.text) {
                        let alias = Alias { text: value, site: call.site };
                        self.state.settled(&Definition::Alias(name.clone()));
                        Rc::make_mut(&mut self.state.aliases).insert(name, alias);
                    }
                }
                Outcome::known(true)
            }
            "unalias" => {
                for field in fields.iter().skip(1) {
                    match field.exact() {
                        Some("-a") => Rc::make_mut(&mut self.state.aliases).clear(),
                        Some(name) => {
                            Rc::make_mut(&mut self.state.aliases).remove(name);
                        }
                        None => {}
                    }
                }
                Outcome::default()
            }
            "hash" | "enable" => {
                self.rebind(name, fields, index);
                Outcome::default()
            }
            "exit" | "return" | "break" | "continue" | "logout" => {
                if name != "exit" && name != "logout" {
                    self.escape();
                } else {
                    self.spring(0, false);
                }
                Outcome { leaves: true, ..Outcome::default() }
            }
            "true" | ":" | "echo" => Outcome::known(true),
            "false" => Outcome::known(false),
            "wait" => {
                let arguments = Arguments::read(fields, "p");
                if let Some(name) = arguments.value('p') {
                    self.assign_operand(&name, number(), call.site);
                }
                Outcome::default()
            }
            "eval" | "." | "source" | "trap" | "command" | "builtin" | "exec" | "complete"
            | "compgen" | "bind"
                if follows =>
            {
                return None;
            }
            "eval" => self.eval(index, call)?,
            "." | "source" => self.dot(index, call)?,
            "trap" => self.trap(index, call)?,
            "command" | "builtin" | "exec" => self.transparent(name, index, call),
            "complete" | "compgen" | "bind" => {
                self.completion(name, index, call);
                Outcome::default()
            }
            _ => return None,
        })
    }

    fn cd(&mut self, fields: &[Field]) -> Outcome {
        let operand = fields.iter().skip(1).find(|field| {
            let prefix = field.text.prefix();
            !(prefix.len() > 1 && prefix.starts_with('-'))
        });
        let before = self.state.clone();
        let next = match operand {
            None => [self.home_text()].into(),
            Some(field) if field.exact() == Some("-") => self.state.previous.clone(),
            Some(field) if field.text.is_empty() => self.state.directories.clone(),
            Some(field) => self.entered(&field.text),
        };
        self.move_to(next);
        let surely = operand.is_none_or(|field| {
            field
                .text
                .exact()
                .is_some_and(|path| path.split('/').all(|part| matches!(part, "" | "." | "..")))
        });
        if surely {
            // The home, the root and the directories above are there.
            return Outcome::known(true);
        }
        Outcome { status: None, failed: Some(Box::new(before)), leaves: false }
    }

    fn home_text(&self) -> Text {
        match self.state.variable("HOME") {
            Some(home) => scalar(&home.value()),
            None => Text::literal(self.context.home.clone()),
        }
    }

    /// The directories a path names, one for each directory the shell may be in.
    fn entered(&self, path: &Text) -> List<Text> {
        let mut next: List<Text> = self.keys(path).into();
        let relative = !path.prefix().starts_with(['/', '.']) && !path.prefix().is_empty();
        if relative && let Some(variable) = self.state.variable("CDPATH") {
            match scalar(&variable.value()).exact() {
                Some(places) => next.extend(
                    places
                        .split(':')
                        .take(16)
                        .filter(|place| place.starts_with('/'))
                        .map(|place| super::state::join_path(&Text::literal(place), path)),
                ),
                None => next.push(Text::unknown(Unknown::Parameter("CDPATH".into()))),
            }
        }
        // An operand that is no directory may be the name of a variable that holds one.
        if self.state.option("cdable_vars")
            && let Some(name) = path.exact().filter(|name| is_name(name))
        {
            let value = self.state.variable(name).map(|variable| scalar(&variable.value()));
            let value = value.unwrap_or_else(|| Text::unknown(Unknown::Parameter(name.into())));
            next.extend(self.keys(&value));
        }
        next
    }

    fn move_to(&mut self, next: List<Text>) {
        let old = std::mem::replace(&mut self.state.directories, next);
        self.state.previous = old;
        // The shell's own variables follow the directory again.
        let set = |name: &str| self.state.variables.contains_key(name);
        if set("PWD") || set("OLDPWD") {
            let variables = self.state.variables_mut();
            variables.remove("PWD");
            variables.remove("OLDPWD");
        }
    }

    fn pushd(&mut self, fields: &[Field]) -> Outcome {
        let before = self.state.clone();
        let operand = fields.iter().skip(1).find(|field| field.exact() != Some("-n"));
        let here = self.state.directories.clone();
        match operand {
            None => {
                let next = self.state.stack.pop().unwrap_or_else(unknown_directory);
                self.state.stack.push(here);
                self.move_to(next);
            }
            Some(field) if field.text.prefix().starts_with(['+', '-']) && field.text.is_exact() => {
                let mut all: Vec<Text> = here.iter().cloned().collect();
                for entry in &self.state.stack {
                    all.extend(entry.iter().cloned());
                }
                all.dedup();
                if self.state.stack.is_empty() {
                    all.push(Text::unknown(Unknown::Parameter("DIRSTACK".into())));
                }
                self.move_to(all.into());
            }
            Some(field) => {
                let next = self.entered(&field.text);
                if self.state.stack.len() < 64 {
                    self.state.stack.push(here);
                }
                self.move_to(next);
            }
        }
        Outcome { status: None, failed: Some(Box::new(before)), leaves: false }
    }

    fn popd(&mut self) -> Outcome {
        let before = self.state.clone();
        let next = self.state.stack.pop().unwrap_or_else(unknown_directory);
        self.move_to(next);
        Outcome { status: None, failed: Some(Box::new(before)), leaves: false }
    }

    fn set(&mut self, fields: &[Field], site: Site) {
        let mut words = fields.iter().skip(1).peekable();
        let mut rest: Option<Vec<Field>> = None;
        while let Some(field) = words.next() {
            let prefix = field.text.prefix().to_owned();
            let is_option = prefix.len() > 1 && prefix.starts_with(['-', '+']);
            if prefix == "--" || prefix == "-" {
                rest = Some(words.cloned().collect());
                break;
            }
            if !is_option {
                let mut all = vec![field.clone()];
                all.extend(words.cloned());
                rest = Some(all);
                break;
            }
            let on = prefix.starts_with('-');
            for letter in prefix.chars().skip(1) {
                if letter == 'o' {
                    if let Some(name) = words.next().and_then(Field::exact) {
                        self.turn(name, on, site);
                    }
                } else if let Some(name) = option_of(letter) {
                    self.turn(name, on, site);
                }
            }
        }
        if let Some(rest) = rest {
            self.state.positional = Rc::new(super::carry::positional(&rest));
        }
    }

    fn turn(&mut self, name: &str, on: bool, site: Site) {
        self.state.set_option(name, on);
        if name == "xtrace" && on {
            self.trace_prompt(site);
        }
    }

    fn shopt(&mut self, fields: &[Field]) {
        let arguments = Arguments::read(fields, "");
        let on = arguments.has('s');
        if !on && !arguments.has('u') {
            return;
        }
        for (_, field) in &arguments.operands {
            if let Some(name) = field.exact() {
                self.state.set_option(name, on);
            } else {
                self.state.doubt_aliases();
            }
        }
    }

    fn shift(&mut self, fields: &[Field]) {
        let count = match fields.get(1) {
            None => Some(1),
            Some(field) => {
                self.number_operand(&field.text, field.site.span);
                field.exact().and_then(|text| text.parse::<usize>().ok())
            }
        };
        let (texts, open) = &*self.state.positional;
        let next = match count {
            Some(count) if count <= texts.len() => {
                (texts.iter().skip(count).cloned().collect(), *open)
            }
            Some(_) if *open => (Vec::new(), true),
            Some(_) => (texts.clone(), *open),
            None => (Vec::new(), true),
        };
        self.state.positional = Rc::new(next);
    }

    /// `hash -p FILE NAME`, `enable -n NAME`, `enable -f FILE NAME`.
    fn rebind(&mut self, name: &str, fields: &[Field], index: usize) {
        let arguments = Arguments::read(fields, if name == "hash" { "p" } else { "f" });
        let binds = if name == "hash" { arguments.has('p') } else { !arguments.has('d') };
        if !binds {
            return;
        }
        let loads = if name == "hash" { 'p' } else { 'f' };
        if let Some(path) = arguments.value(loads) {
            let site = fields.first().map(|field| field.site).unwrap_or_default();
            self.code(Language::Shell, CodePlace::Helper, &path, Some(index), site);
        }
        let rebound = Rc::make_mut(&mut self.state.rebound);
        for (_, field) in &arguments.operands {
            if let Some(name) = field.exact() {
                rebound.insert(name.to_owned());
            }
        }
    }

    pub(super) fn follow_here(&mut self, carried: Carried, call: &Call) -> Outcome {
        let index = self.trace.invocations.len().saturating_sub(1);
        self.follow(carried, index, call)
    }

    /// `eval WORD ...`: the words joined by blanks are read once more.
    fn eval(&mut self, index: usize, call: &Call) -> Option<Outcome> {
        let mut text = Text::empty();
        let mut span: Option<Span> = None;
        for field in call.fields.iter().skip(1).filter(|field| field.exact() != Some("--")) {
            if span.is_some() {
                text.push_str(" ");
            }
            text.extend(&field.text);
            span = Some(span.map_or(field.site.span, |span| span.to(field.site.span)));
        }
        let span = span?;
        let site = Site::new(call.fields.get(1)?.site.source, span);
        Some(self.follow(script(text, CodePlace::Operand, site), index, call))
    }

    /// `. FILE [ARGUMENT ...]`
    fn dot(&mut self, index: usize, call: &Call) -> Option<Outcome> {
        let mut words = call.fields.iter().skip(1).filter(|field| field.exact() != Some("--"));
        let path = words.next()?.clone();
        let parameters = words.cloned().collect();
        let carried =
            Carried::File { path, language: Language::Shell, parameters, same_shell: true };
        Some(self.follow(carried, index, call))
    }

    /// `trap TEXT SIGNAL ...`
    fn trap(&mut self, index: usize, call: &Call) -> Option<Outcome> {
        let arguments = Arguments::read(&call.fields, "");
        let (_, text) = arguments.operands.first()?;
        let ignores = text.text.is_empty() || text.exact() == Some("-");
        if ignores || arguments.operands.len() < 2 || !arguments.options.is_empty() {
            return Some(Outcome::known(true));
        }
        let carried = trapped(text.text.clone(), text.site);
        Some(self.follow(carried, index, call))
    }

    /// Keeps a text that `trap` has been given and that has been followed; `after` is what it leaves
    /// behind.
    pub(super) fn keep_trap(
        &mut self,
        text: Text,
        site: Site,
        index: usize,
        call: &Call,
        after: &State,
    ) {
        let any_moment = call
            .fields
            .iter()
            .skip(2)
            .map(Field::exact)
            .any(|name| !matches!(name, Some("EXIT" | "0" | "exit" | "SIGEXIT" | "--")));
        if any_moment {
            // Whether the text has run when the next command does is not known.
            self.join(after);
        }
        let seen = self.state.clone();
        if self.traps.len() < TRAPS {
            self.traps.push(Trap { text, call: call.clone(), index, site, any_moment, seen });
        } else {
            self.gap(GapCause::Limit(LimitKind::Steps), site.span);
        }
    }

    /// `command NAME ...`, `builtin NAME ...`, `exec NAME ...`
    fn transparent(&mut self, name: &str, index: usize, call: &Call) -> Outcome {
        let arguments = Arguments::read(&call.fields, if name == "exec" { "a" } else { "" });
        if name == "command" && (arguments.has('v') || arguments.has('V')) {
            return Outcome::default();
        }
        let words: Vec<Field> =
            arguments.operands.iter().map(|(_, field)| (*field).clone()).collect();
        if words.is_empty() {
            return Outcome::known(true);
        }
        let carried = Carried::Command {
            words,
            assignments: Vec::new(),
            scope: CarryScope::Local,
            directory: None,
            takes_input: true,
            skips_functions: true,
        };
        self.follow(carried, index, call)
    }

    /// Commands that completion or a key binding runs later.
    fn completion(&mut self, name: &str, index: usize, call: &Call) {
        let arguments =
            Arguments::read(&call.fields, if name == "bind" { "fmqurx" } else { "oACFGWPSX" });
        if let Some(function) = arguments.value('F').filter(|_| name != "bind") {
            // It is called with the command, the word and the one before it (Bash manual 8.6).
            let field = |text| Field { text, site: call.site, ..Field::default() };
            let unknown = || Text::unknown(Unknown::Input);
            let mut fields: List<Field> = [field(function)].into();
            fields.extend((0..3).map(|_| field(unknown())));
            let calls = Call { fields, arrays: Vec::new(), prefix: List::new(), ..call.clone() };
            self.isolated(|runner| {
                runner.call_fields(&calls);
            });
        }
        let letters = if name == "bind" { "x" } else { "CW" };
        for letter in letters.chars() {
            let Some(text) = arguments.value(letter) else { continue };
            if letter == 'W' && text.exact().is_some_and(|text| !text.contains(['$', '`'])) {
                continue;
            }
            let site = call.site;
            self.isolated(|runner| {
                runner.follow(script(text, CodePlace::Option, site), index, call);
            });
        }
    }
}

pub(super) fn script(text: Text, place: CodePlace, site: Site) -> Carried {
    Carried::Script {
        text,
        parameters: Vec::new(),
        place,
        scope: CarryScope::Local,
        directory: None,
        same_shell: true,
        site,
    }
}

pub(super) fn number() -> Text {
    Text::unknown(Unknown::Arithmetic)
}

fn unknown_directory() -> List<Text> {
    [Text::unknown(Unknown::Parameter("DIRSTACK".into()))].into()
}

/// `NAME=TEXT` of `alias`; names of aliases may hold more characters than names of variables.
fn alias_of(text: &Text) -> Option<(String, Text)> {
    if is_any(text) {
        return None;
    }
    let (name, rest) = text.prefix().split_once('=')?;
    if name.is_empty() {
        return None;
    }
    let mut value = Text::literal(rest);
    for piece in text.pieces().iter().skip(1) {
        value.push(piece.clone());
    }
    Some((name.to_owned(), value))
}

/// The long name of an option letter of `set`.
fn option_of(letter: char) -> Option<&'static str> {
    Some(match letter {
        'a' => "allexport",
        'B' => "braceexpand",
        'e' => "errexit",
        'f' => "noglob",
        'h' => "hashall",
        'k' => "keyword",
        'm' => "monitor",
        'n' => "noexec",
        'u' => "nounset",
        'v' => "verbose",
        'x' => "xtrace",
        'C' => "noclobber",
        'E' => "errtrace",
        'H' => "histexpand",
        'P' => "physical",
        'T' => "functrace",
        _ => return None,
    })
}

/// The text of a trap, as it is followed.
pub(super) fn trapped(text: Text, site: Site) -> Carried {
    script(text, CodePlace::Operand, site)
}
