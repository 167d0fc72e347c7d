//! Builtins that change the state of this shell. What they do to files is in the tables.

use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::smallvec;

use super::environ::taint;
use super::flow::{append, scalar};
use super::simple::{Call, is_any, is_name, split_assignment};
use super::state::{Alias, Definition, State};
use super::variable::Variable;
use super::{Outcome, Runner, Trap};
use crate::model::fact::CodePlace;
use crate::model::script::{GapCause, LimitKind};
use crate::model::span::{Site, Span};
use crate::model::trace::Carried;
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, List, Piece, Str, Text, Unknown, Value};

/// Texts of `trap` that are kept.
const TRAPS: usize = 16;

/// Options of a builtin, and its operands.
struct Arguments<'a> {
    /// Letters in order, each with its value where it takes one.
    options: Vec<(char, Option<&'a Field>)>,
    /// Letters given with a plus.
    plus: Vec<char>,
    operands: Vec<(usize, &'a Field)>,
    /// Values that stand in the same word as their letter.
    attached: BTreeMap<char, Text>,
}

impl<'a> Arguments<'a> {
    /// Reads getopt-style arguments; `valued` are the letters with a value.
    fn read(fields: &'a [Field], valued: &str) -> Self {
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

    fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    fn value(&self, letter: char) -> Option<Text> {
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

    /// `export`, `declare`, `typeset`, `local`, `readonly`.
    fn declare(&mut self, name: &str, call: &Call) {
        let arguments = Arguments::read(&call.fields, "");
        let has = |letter| arguments.has(letter);
        if name == "export" && has('f') || (has('x') && has('f')) {
            for (_, field) in &arguments.operands {
                if let Some(function) = field.exact() {
                    self.export_function(function);
                }
            }
            return;
        }
        if has('f') || has('F') || (has('p') && arguments.operands.is_empty()) {
            return;
        }
        let local = name == "local"
            || (matches!(name, "declare" | "typeset")
                && !has('g')
                && !self.state.hidden.is_empty());
        // A local variable without attributes.
        let bare = name == "local" && arguments.options.is_empty() && arguments.plus.is_empty();
        for (index, field) in &arguments.operands {
            let array = call.arrays.iter().find(|(at, _)| at == index).map(|(_, ready)| ready);
            let split = split_assignment(&field.text);
            let full = match (&split, array) {
                (Some((name, _)), _) => name.clone(),
                (None, _) => {
                    if let Some(name) = field.text.exact() {
                        name.into()
                    } else {
                        self.name_operand(&field.text, field.site.span);
                        continue;
                    }
                }
            };
            let (variable, subscript) = match full.split_once('[') {
                Some((variable, rest)) => {
                    self.name_operand(&Text::literal(full.clone()), field.site.span);
                    (Str::from(variable), Some(rest.to_owned()))
                }
                None => (full.clone(), None),
            };
            if !is_name(&variable) {
                continue;
            }
            // Attributes go to what a name reference stands for.
            let variable = if local || has('n') {
                variable
            } else {
                let target = self.target_of(&variable);
                if is_name(&target) { Str::from(target) } else { variable }
            };
            if local {
                self.hide(&variable, split.is_none() && array.is_none());
            }
            if !bare {
                let own = self.state.variable_mut(&variable);
                if has('n') {
                    own.nameref = false;
                }
                own.integer |= has('i');
                own.upper = (own.upper || has('u')) && !has('l');
                own.lower = (own.lower || has('l')) && !has('u');
                if has('A') && !own.values.iter().any(|v| matches!(v, Value::Associative { .. })) {
                    own.values =
                        smallvec![Value::Associative { elements: BTreeMap::new(), open: false }];
                    own.assigned = true;
                }
                if has('a') && split.is_none() && array.is_none() {
                    let fresh = own.values.iter().all(|v| matches!(v, Value::Unset));
                    if fresh || !own.assigned {
                        own.values =
                            smallvec![Value::Indexed { elements: BTreeMap::new(), open: false }];
                    }
                }
                for letter in &arguments.plus {
                    match letter {
                        'i' => own.integer = false,
                        'u' => own.upper = false,
                        'l' => own.lower = false,
                        'n' => own.nameref = false,
                        'x' => own.exported = false,
                        _ => {}
                    }
                }
            }
            if let Some(ready) = array {
                self.store(ready.clone());
            } else if let Some((_, value)) = split {
                if has('n') && name != "export" {
                    // What a name reference stands for is evaluated at each use.
                    self.name_operand(&value, field.site.span);
                    if let Some((_, key)) = value.prefix().split_once('[')
                        && !key.trim_end_matches(']').chars().all(|c| c.is_ascii_digit())
                    {
                        self.value_code(
                            Text::unknown(Unknown::NotModelled("a reference to an element")),
                            field.site.span,
                        );
                    }
                }
                let whole = field.text.prefix();
                let adds = whole.split_once('=').is_some_and(|(name, _)| name.ends_with('+'));
                let key = subscript.map(|s| Text::literal(s.trim_end_matches(']')));
                let looks_like_array = value.prefix().starts_with('(');
                if looks_like_array && (has('a') || has('A')) {
                    // A quoted list is read once more as an array.
                    self.name_operand(
                        &Text::literal(format!("x[{}]", value.display())),
                        field.site.span,
                    );
                    self.assign_value(
                        &variable,
                        Value::Unknown(Unknown::NotModelled("a quoted array value")),
                        field.site,
                    );
                } else {
                    self.assign_text(&variable, key.as_ref(), value, adds, field.site);
                }
            }
            if bare {
                continue;
            }
            let exports = name == "export" && !has('n') || has('x');
            let unexports = name == "export" && has('n');
            let own = self.state.variable_mut(&variable);
            own.nameref |= has('n') && name != "export";
            own.readonly |= name == "readonly" || has('r');
            if unexports {
                own.exported = false;
            }
            if exports {
                self.export(&variable, field.site);
            }
        }
    }

    fn export_function(&mut self, name: &str) {
        if let Some(bodies) = Rc::make_mut(&mut self.state.functions).get_mut(name) {
            for body in bodies {
                Rc::make_mut(body).exported = true;
            }
        }
    }

    /// Remembers the variable that a local one hides.
    fn hide(&mut self, name: &str, unset: bool) {
        let old = self.state.variables.get(name).cloned();
        let inner = !self.is_listed_variable(name) && old.as_ref().is_none_or(|own| !own.exported);
        if let Some(frame) = self.state.hidden.make_mut().last_mut() {
            frame.entry(name.to_owned()).or_insert(old);
        }
        let mut fresh = Variable::new(Value::Unset);
        fresh.assigned = unset;
        if inner {
            self.state.put_inner(name, fresh);
        } else {
            self.state.put(name, fresh);
        }
    }

    fn unset(&mut self, fields: &[Field]) {
        let arguments = Arguments::read(fields, "");
        for (_, field) in &arguments.operands {
            self.name_operand(&field.text, field.site.span);
            let Some(name) = field.exact() else { continue };
            if let Some((variable, rest)) = name.split_once('[') {
                let key = rest.trim_end_matches(']');
                if let Some(own) = self.state.variable(variable).cloned() {
                    let mut own = own;
                    for value in &mut own.values {
                        match value {
                            Value::Indexed { elements, open } => match key.parse::<i64>() {
                                Ok(index) => {
                                    elements.remove(&index);
                                }
                                Err(_) => *open = true,
                            },
                            Value::Associative { elements, .. } => {
                                elements.remove(key);
                            }
                            _ => {}
                        }
                    }
                    self.state.put(variable, own);
                }
                continue;
            }
            if !arguments.has('f') && is_name(name) {
                if name == "PATH" {
                    // Without it a name is looked up in the current directory.
                    self.assign_text(name, None, Text::empty(), false, field.site);
                }
                let mut fresh = Variable::new(Value::Unset);
                fresh.assigned = false;
                self.state.put(name, fresh);
            }
            if !arguments.has('v') {
                Rc::make_mut(&mut self.state.functions).remove(name);
            }
        }
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

    fn read(&mut self, call: &Call) -> Outcome {
        let arguments = Arguments::read(&call.fields, "adinNptu");
        let descriptor = arguments
            .value('u')
            .and_then(|text| text.exact().and_then(|text| text.parse().ok()))
            .unwrap_or(0);
        let delimiter = match arguments.value('d') {
            Some(text) => text.exact().and_then(|text| text.chars().next()).unwrap_or('\0'),
            None => '\n',
        };
        let limited = arguments.has('n') || arguments.has('N');
        let (mut line, known, status) = match self.take_line(descriptor, delimiter) {
            Some((line, known)) => (line, known, known.then_some(true)),
            None => (Text::empty(), true, Some(false)),
        };
        if limited {
            line = Text::unknown(taint_of_input(&line));
        }
        let raw = arguments.has('r');
        if !raw && line.prefix().contains('\\') {
            line = line
                .pieces()
                .iter()
                .map(|piece| match piece {
                    Piece::Literal(literal) => Piece::Literal(unescape(literal).into()),
                    other => other.clone(),
                })
                .collect();
        }
        let separators = call
            .prefix
            .iter()
            .rev()
            .find(|(name, _)| name == "IFS")
            .map(|(_, value)| value.clone())
            .or_else(|| match self.state.variable("IFS")?.value() {
                Value::Unset => None,
                value => Some(scalar(&value)),
            })
            .unwrap_or_else(|| Text::literal(" \t\n"));
        let separators = separators.exact().map(str::to_owned);
        if let Some(array) = arguments.value('a') {
            let Some(name) = array.exact() else { return Outcome::default() };
            let (elements, open) = match (line.exact(), &separators) {
                (Some(line), Some(separators)) => {
                    let parts = split(line, separators, usize::MAX);
                    let elements = (0i64..).zip(parts.into_iter().map(Text::literal)).collect();
                    (elements, false)
                }
                _ => ([(0, Text::unknown(taint_of_input(&line)))].into(), true),
            };
            self.assign_value(name, Value::Indexed { elements, open }, call.site);
            return Outcome { status, ..Outcome::default() };
        }
        let mut names: Vec<Text> =
            arguments.operands.iter().map(|(_, field)| field.text.clone()).collect();
        if names.is_empty() {
            names.push(Text::literal("REPLY"));
        }
        let values: Vec<Text> = match (line.exact(), &separators) {
            (Some(line), Some(separators)) if known => {
                let mut parts = split(line, separators, names.len())
                    .into_iter()
                    .map(Text::literal)
                    .collect::<Vec<_>>();
                parts.resize(names.len(), Text::empty());
                parts
            }
            _ if names.len() == 1 && !line.is_empty() => vec![line.clone()],
            _ => vec![Text::unknown(taint_of_input(&line)); names.len()],
        };
        for (name, value) in names.iter().zip(values) {
            self.assign_operand(name, value, call.site);
        }
        // Where there was no line, the variables are empty and it fails.
        let failed = (!known).then(|| {
            let mut failed = self.state.clone();
            for name in names.iter().filter_map(Text::exact).filter(|name| is_name(name)) {
                let nothing = Value::Scalar(Text::empty());
                let values = &mut failed.variable_mut(name).values;
                if !values.contains(&nothing) {
                    values.push(nothing);
                }
            }
            Box::new(failed)
        });
        Outcome { status, failed, ..Outcome::default() }
    }

    fn mapfile(&mut self, call: &Call, follows: bool) {
        let arguments = Arguments::read(&call.fields, "dnOsuCc");
        if let Some(code) = arguments.value('C').filter(|_| !follows) {
            let carried = script(code, CodePlace::Option, call.site);
            self.follow_here(carried, call);
        }
        let operand = arguments.operands.first().map(|(_, field)| *field);
        if let Some(operand) = operand.filter(|operand| operand.exact().is_none()) {
            // Any array may get the lines, and one of integers evaluates them.
            self.name_operand(&operand.text, operand.site.span);
            let lines =
                self.stdin().text().cloned().unwrap_or_else(|| Text::unknown(Unknown::Input));
            self.value_code(lines, operand.site.span);
        }
        let name = operand.and_then(Field::exact).unwrap_or("MAPFILE").to_owned();
        let keeps = !arguments.has('t');
        let descriptor = arguments
            .value('u')
            .and_then(|text| text.exact().and_then(|text| text.parse().ok()))
            .unwrap_or(0);
        let mut elements = BTreeMap::new();
        let mut open = false;
        let mut next = 0i64;
        while let Some((mut line, known)) = self.take_line(descriptor, '\n') {
            if elements.len() >= self.limits.fields {
                open = true;
                break;
            }
            if !known {
                open = true;
                let named = line.pieces().iter().all(|piece| match piece {
                    Piece::Unknown(cause) => cause.is_below(),
                    _ => true,
                });
                let line = if named { line } else { Text::unknown(taint_of_input(&line)) };
                elements.insert(next, line);
                break;
            }
            if keeps {
                line.push_str("\n");
            }
            elements.insert(next, line);
            next = next.saturating_add(1);
        }
        self.assign_value(&name, Value::Indexed { elements, open }, call.site);
    }

    /// `printf -v NAME FORMAT ...`
    fn printf(&mut self, call: &Call) {
        let Some(option) = call.fields.get(1) else { return };
        let Some(rest) = option.exact().and_then(|text| text.strip_prefix("-v")) else { return };
        let (name, skip) = if rest.is_empty() {
            (call.fields.get(2).map(|field| field.text.clone()), 3)
        } else {
            (Some(Text::literal(rest)), 2)
        };
        let Some(name) = name else { return };
        let mut fields: Vec<Field> = call.fields.iter().take(1).cloned().collect();
        fields.extend(call.fields.iter().skip(skip).cloned());
        let value = self
            .produced("printf", &fields, &crate::model::trace::Stream::Inherited)
            .unwrap_or_else(|| {
                let mut all = Text::empty();
                for field in &fields {
                    append(&mut all, &field.text, self.limits.value_bytes);
                }
                Text::unknown(taint(&all))
            });
        self.assign_operand(&name, value, call.site);
    }

    fn getopts(&mut self, call: &Call) {
        if let Some(name) = call.fields.get(2).and_then(Field::exact).filter(|n| is_name(n)) {
            let value = Text::unknown(Unknown::Parameter(name.into()));
            self.assign_text(name, None, value, false, call.site);
        }
        let argument = Text::unknown(Unknown::Parameter("OPTARG".into()));
        self.assign_text("OPTARG", None, argument, false, call.site);
        self.assign_text("OPTIND", None, number(), false, call.site);
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

    fn follow_here(&mut self, carried: Carried, call: &Call) -> Outcome {
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

fn script(text: Text, place: CodePlace, site: Site) -> Carried {
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

fn number() -> Text {
    Text::unknown(Unknown::Arithmetic)
}

fn unknown_directory() -> List<Text> {
    [Text::unknown(Unknown::Parameter("DIRSTACK".into()))].into()
}

/// Why what was read is unknown.
fn taint_of_input(line: &Text) -> Unknown {
    match taint(line) {
        Unknown::Network => Unknown::Network,
        _ => Unknown::Input,
    }
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

/// Removes the backslashes that `read` without `-r` removes.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        if character == '\\' {
            out.extend(characters.next());
        } else {
            out.push(character);
        }
    }
    out
}

/// Splits a line as `read` does: at most `count` parts, the last one holds the rest.
fn split(line: &str, separators: &str, count: usize) -> Vec<String> {
    let blank = |c: char| separators.contains(c) && matches!(c, ' ' | '\t' | '\n');
    let mut parts = Vec::new();
    let mut rest = line.trim_start_matches(blank).trim_end_matches(blank);
    while !rest.is_empty() {
        if parts.len() + 1 >= count {
            parts.push(rest.to_owned());
            break;
        }
        if let Some(at) = rest.find(|c| separators.contains(c)) {
            parts.push(rest.get(..at).unwrap_or_default().to_owned());
            let behind = rest.get(at..).unwrap_or_default().trim_start_matches(blank);
            let mut characters = behind.chars();
            rest = match characters.next() {
                Some(c) if separators.contains(c) => characters.as_str().trim_start_matches(blank),
                _ => behind,
            };
        } else {
            parts.push(rest.to_owned());
            break;
        }
    }
    parts
}

/// The text of a trap, as it is followed.
pub(super) fn trapped(text: Text, site: Site) -> Carried {
    script(text, CodePlace::Operand, site)
}
