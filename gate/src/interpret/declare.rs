//! Builtins that declare variables and take them away.

use super::Runner;
use super::builtin::Arguments;
use super::simple::{Call, is_name, split_assignment};
use super::variable::Variable;
use crate::model::value::{Field, Str, Text, Unknown, Value};
use smallvec::smallvec;
use std::collections::BTreeMap;
use std::rc::Rc;

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
}
