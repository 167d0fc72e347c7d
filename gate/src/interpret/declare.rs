//! Builtins that declare variables and take them away.

use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::smallvec;

use super::Runner;
use super::builtin::Arguments;
use super::simple::{Call, is_name, split_assignment};
use super::variable::Variable;
use crate::model::context::Shell;
use crate::model::value::{Field, Piece, Str, Text, Unknown, Value};

impl Runner<'_> {
    /// `export`, `declare`, `typeset`, `local`, `readonly`.
    pub(super) fn declare(&mut self, name: &str, call: &Call) {
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
        let inside = !self.state.hidden.is_empty();
        let outermost = has('g') && inside;
        let local =
            name == "local" || (matches!(name, "declare" | "typeset") && !has('g') && inside);
        // A local variable without attributes.
        let bare = name == "local" && arguments.options.is_empty() && arguments.plus.is_empty();
        for (index, field) in &arguments.operands {
            let array = call.arrays.iter().find(|(at, _)| at == index).map(|(_, ready)| ready);
            let Some(declared) = declared(&field.text) else {
                self.name_operand(&field.text, field.site.span);
                continue;
            };
            let Declared { name: variable, subscript, split } = declared;
            if let Some(key) = &subscript {
                let mut element = Text::literal(format!("{variable}["));
                element.extend(key);
                element.push_str("]");
                self.name_operand(&element, field.site.span);
            }
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
                self.hide(&variable, split.is_none() && array.is_none(), has('I'));
            }
            let covered = outermost && self.is_covered(&variable);
            let over = covered.then(|| self.uncover_global(&variable)).flatten();
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
            } else if let Some((adds, value)) = split {
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
                    self.assign_text(&variable, subscript.as_ref(), value, adds, field.site);
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
            if covered {
                self.cover_global(&variable, over);
            }
        }
    }

    /// Whether local variables hide the one of this name outside all functions.
    fn is_covered(&self, name: &str) -> bool {
        self.state.hidden.iter().any(|frame| frame.contains_key(name))
    }

    /// Takes the local variable away that hides the one outside all functions, and gives what it was.
    fn uncover_global(&mut self, name: &str) -> Option<Rc<Variable>> {
        let hidden = self.state.hidden.make_mut();
        let outer = hidden.iter_mut().find_map(|frame| frame.get_mut(name))?.take();
        let own = self.state.variables.get(name).cloned();
        self.state.restore(name, outer);
        own
    }

    /// Puts a local variable back over the one outside all functions.
    fn cover_global(&mut self, name: &str, own: Option<Rc<Variable>>) {
        let outer = self.state.variables.get(name).cloned();
        let hidden = self.state.hidden.make_mut();
        if let Some(slot) = hidden.iter_mut().find_map(|frame| frame.get_mut(name)) {
            *slot = outer;
        }
        self.state.restore(name, own);
    }

    fn export_function(&mut self, name: &str) {
        if let Some(bodies) = Rc::make_mut(&mut self.state.functions).get_mut(name) {
            for body in bodies {
                Rc::make_mut(body).exported = true;
            }
        }
    }

    /// Remembers the variable that a local one hides.
    fn hide(&mut self, name: &str, unset: bool, inherits: bool) {
        let old = self.state.variables.get(name).cloned();
        let inner = !self.is_listed_variable(name) && old.as_ref().is_none_or(|own| !own.exported);
        if let Some(frame) = self.state.hidden.make_mut().last_mut() {
            frame.entry(name.to_owned()).or_insert_with(|| old.clone());
        }
        let inherits = inherits || self.state.option("localvar_inherit");
        // In dash and busybox ash a local variable keeps its value until it is given another (dash(1)).
        let keeps = unset && !matches!(self.state.shell, Shell::Zsh) && !self.state.shell.is_bash();
        let mut fresh = match &old {
            Some(old) if inherits || keeps => Variable::clone(old),
            _ => Variable::new(Value::Unset),
        };
        if !inherits {
            fresh.assigned = unset;
        }
        if inner {
            self.state.put_inner(name, fresh);
        } else {
            self.state.put(name, fresh);
        }
    }

    pub(super) fn unset(&mut self, fields: &[Field]) {
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
                                    // From the end, where it is negative.
                                    let last = elements.keys().next_back().copied();
                                    let end = last.map_or(0, |last| last.saturating_add(1));
                                    let from = if index < 0 { end } else { 0 };
                                    elements.remove(&index.saturating_add(from));
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
                if !self.uncover(name) {
                    let mut fresh = Variable::new(Value::Unset);
                    fresh.assigned = false;
                    self.state.put(name, fresh);
                }
            }
            if !arguments.has('v') {
                Rc::make_mut(&mut self.state.functions).remove(name);
            }
        }
    }

    /// Takes the local variable of a function that has called this one away, where this one has none of
    /// that name: what it hid is there again (Bash manual 3.3, "Shell Functions"). False where there is none.
    fn uncover(&mut self, name: &str) -> bool {
        if self.state.option("localvar_unset") {
            return false;
        }
        let frames = self.state.hidden.make_mut();
        let Some((own, callers)) = frames.split_last_mut() else { return false };
        if own.contains_key(name) {
            return false;
        }
        let Some(outer) = callers.iter_mut().rev().find_map(|frame| frame.remove(name)) else {
            return false;
        };
        self.state.restore(name, outer);
        true
    }
}

/// An operand of a declaration utility.
struct Declared {
    name: Str,
    /// The element that is meant.
    subscript: Option<Text>,
    /// Whether the value is added to the old one, and the value.
    split: Option<(bool, Text)>,
}

/// Reads `NAME`, `NAME=VALUE`, `NAME[KEY]`, `NAME[KEY]=VALUE` and these with `+=`; `None` where not even the
/// name is known.
fn declared(text: &Text) -> Option<Declared> {
    if let Some((name, value)) = split_assignment(text) {
        let whole = text.prefix();
        let adds = whole.split_once('=').is_some_and(|(name, _)| name.ends_with('+'));
        return Some(Declared { name, subscript: None, split: Some((adds, value)) });
    }
    let Some((name, _)) = text.prefix().split_once('[').filter(|(name, _)| is_name(name)) else {
        return Some(Declared { name: text.exact()?.into(), subscript: None, split: None });
    };
    let rest = text.pieces().iter().enumerate().map(|(at, piece)| match piece {
        Piece::Literal(literal) if at == 0 => {
            Piece::Literal(literal.get(name.len() + 1..).unwrap_or_default().into())
        }
        other => other.clone(),
    });
    let mut key = Text::empty();
    let mut value: Option<(bool, Text)> = None;
    for piece in rest {
        if let Some((_, value)) = &mut value {
            value.push(piece);
            continue;
        }
        let Piece::Literal(literal) = &piece else {
            key.push(piece);
            continue;
        };
        match [("]=", false), ("]+=", true)]
            .into_iter()
            .filter_map(|(mark, adds)| literal.split_once(mark).map(|split| (split, adds)))
            .min_by_key(|((before, _), _)| before.len())
        {
            Some(((before, behind), adds)) => {
                key.push_str(before);
                value = Some((adds, Text::literal(behind)));
            }
            None if text.is_exact() => key.push_str(literal.strip_suffix(']').unwrap_or(literal)),
            None => key.push(piece),
        }
    }
    Some(Declared { name: name.into(), subscript: Some(key), split: value })
}
