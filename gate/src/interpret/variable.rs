//! Variables of the shell: the values each may have, and what becomes of them where branches meet.

use std::cell::OnceCell;
use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::rc::Rc;

use smallvec::{SmallVec, smallvec};

use crate::model::value::{List, Piece, Str, Text, Unknown, Value};

/// Alternatives that are kept apart before they become one unknown value.
pub(super) const ALTERNATIVES: usize = 8;

/// A variable: the values it may have, at least one, and its attributes.
#[expect(clippy::struct_excessive_bools, reason = "the shell's attributes are independent flags")]
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Variable {
    pub(super) values: SmallVec<[Value; 1]>,
    pub(super) exported: bool,
    pub(super) readonly: bool,
    pub(super) integer: bool,
    pub(super) upper: bool,
    pub(super) lower: bool,
    pub(super) nameref: bool,
    /// Whether this text set it, so that it belongs to the environment it hands on.
    pub(super) assigned: bool,
}

impl Variable {
    /// A variable without attributes.
    pub(super) fn new(value: Value) -> Self {
        Self {
            values: smallvec![value],
            exported: false,
            readonly: false,
            integer: false,
            upper: false,
            lower: false,
            nameref: false,
            assigned: true,
        }
    }

    /// Its value; several alternatives are widened to one.
    pub(super) fn value(&self) -> Value {
        match self.values.as_slice() {
            [one] => one.clone(),
            many => widen(many),
        }
    }

    fn join(&self, other: &Self) -> Self {
        let mut joined = self.clone();
        for value in &other.values {
            if !joined.values.contains(value) {
                joined.values.push(value.clone());
            }
        }
        if joined.values.len() > ALTERNATIVES {
            joined.values = smallvec![widen(&joined.values)];
        }
        joined.exported |= other.exported;
        joined.readonly &= other.readonly;
        joined.integer |= other.integer;
        joined.nameref |= other.nameref;
        joined.assigned |= other.assigned;
        joined
    }
}

/// One value for several: numbers stay numbers, what came over the network stays that.
pub(super) fn widen(values: &[Value]) -> Value {
    let texts: Option<Vec<&Text>> = values
        .iter()
        .map(|value| match value {
            Value::Scalar(text) => Some(text),
            _ => None,
        })
        .collect();
    match texts {
        Some(texts) => Value::Scalar(widen_texts(&texts)),
        None => Value::Unknown(Unknown::Joined),
    }
}

/// One text for several.
pub(super) fn widen_texts(texts: &[&Text]) -> Text {
    if let [first, rest @ ..] = texts
        && rest.iter().all(|text| text == first)
    {
        return (*first).clone();
    }
    let cause = if texts.iter().any(|text| is_from_network(text)) {
        Unknown::Network
    } else if texts.iter().any(|text| text.pieces().contains(&Piece::Unknown(Unknown::Secret))) {
        Unknown::Secret
    } else if texts.iter().all(|text| is_number(text)) {
        Unknown::Arithmetic
    } else {
        Unknown::Joined
    };
    Text::unknown(cause)
}

/// Whether some of it came over the network.
pub(super) fn is_from_network(text: &Text) -> bool {
    text.pieces().iter().any(|piece| matches!(piece, Piece::Unknown(Unknown::Network)))
}

/// Whether it can only be a number.
pub(super) fn is_number(text: &Text) -> bool {
    !text.is_empty()
        && text.pieces().iter().all(|piece| match piece {
            Piece::Literal(literal) => {
                literal.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-')
            }
            Piece::Unknown(Unknown::Arithmetic) => true,
            _ => false,
        })
}

/// Variables by name, and what a program finds of them in its environment.
#[derive(Clone, Debug, Default)]
pub(super) struct Variables {
    /// In the order of their names, while they are few; then this is empty.
    few: Vec<(Str, Rc<Variable>)>,
    many: BTreeMap<Str, Rc<Variable>>,
    /// Made when a program is met, kept until a variable changes.
    environment: OnceCell<List<(Str, Text)>>,
}

/// So many variables are kept in a list, which is found in and copied faster.
const FEW: usize = 64;

impl Variables {
    /// The environment, made by `make` where it is not known.
    pub(super) fn environment(
        &self,
        make: impl FnOnce() -> List<(Str, Text)>,
    ) -> &List<(Str, Text)> {
        self.environment.get_or_init(make)
    }

    /// Forgets what programs find.
    pub(super) fn changed(&mut self) {
        self.environment.take();
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.few.binary_search_by(|(own, _)| own.as_str().cmp(name))
    }

    /// The variable of a name.
    pub(super) fn get(&self, name: &str) -> Option<&Rc<Variable>> {
        if !self.many.is_empty() {
            return self.many.get(name);
        }
        let at = self.find(name).ok()?;
        self.few.get(at).map(|(_, variable)| variable)
    }

    /// Whether something is known of a name.
    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.few.len() + self.many.len()
    }

    /// In the order of their names.
    pub(super) fn iter(&self) -> impl Iterator<Item = (&Str, &Rc<Variable>)> {
        self.few.iter().map(|(name, variable)| (name, variable)).chain(&self.many)
    }

    /// Gives a name its variable; the environment that is kept stays.
    pub(super) fn insert(&mut self, name: Str, variable: Rc<Variable>) {
        if !self.many.is_empty() {
            self.many.insert(name, variable);
            return;
        }
        match self.find(&name) {
            Ok(at) => {
                if let Some((_, slot)) = self.few.get_mut(at) {
                    *slot = variable;
                }
            }
            Err(at) => {
                self.few.insert(at, (name, variable));
                if self.few.len() > FEW {
                    self.many = std::mem::take(&mut self.few).into_iter().collect();
                }
            }
        }
    }

    /// Takes a name out; the environment that is kept stays.
    pub(super) fn remove(&mut self, name: &str) {
        if !self.many.is_empty() {
            self.many.remove(name);
        } else if let Ok(at) = self.find(name) {
            self.few.remove(at);
        }
    }

    /// The variable of a name for a change, made where it is missing; the environment that is kept
    /// stays.
    pub(super) fn slot(
        &mut self,
        name: &str,
        make: impl FnOnce() -> Variable,
    ) -> &mut Rc<Variable> {
        if self.many.is_empty() && self.few.len() >= FEW && self.find(name).is_err() {
            self.many.extend(std::mem::take(&mut self.few));
        }
        if !self.many.is_empty() {
            return self.many.entry(Str::from(name)).or_insert_with(|| Rc::new(make()));
        }
        let at = match self.find(name) {
            Ok(at) => at,
            Err(at) => {
                self.few.insert(at, (Str::from(name), Rc::new(make())));
                at
            }
        };
        // One of the two has it.
        match self.few.get_mut(at) {
            Some((_, variable)) => variable,
            None => self.many.entry(Str::from(name)).or_default(),
        }
    }
}

impl Variables {
    /// The variables that are others where a way with these and one with the others meet.
    pub(super) fn changes_of_join(&self, other: &Self) -> Vec<(Str, Variable)> {
        let mut changes = Vec::new();
        let environment =
            |name: &Str| Variable::new(Value::Unknown(Unknown::Parameter(name.clone())));
        let (mut ours, mut others) = (self.iter().peekable(), other.iter().peekable());
        loop {
            // The same variable has the same name.
            while let (Some((_, mine)), Some((_, theirs))) = (ours.peek(), others.peek())
                && Rc::ptr_eq(mine, theirs)
            {
                ours.next();
                others.next();
            }
            let order = match (ours.peek(), others.peek()) {
                (None, None) => return changes,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((mine, _)), Some((theirs, _))) => mine.cmp(theirs),
            };
            let mine = if order == Ordering::Greater { None } else { ours.next() };
            let theirs = if order == Ordering::Less { None } else { others.next() };
            match (mine, theirs) {
                (Some((_, mine)), Some((_, theirs))) if mine == theirs => {}
                (Some((name, mine)), Some((_, theirs))) => {
                    changes.push((name.clone(), mine.join(theirs)));
                }
                (Some((name, only)), None) | (None, Some((name, only))) => {
                    changes.push((name.clone(), only.join(&environment(name))));
                }
                (None, None) => {}
            }
        }
    }

    /// The variables that became others since `before`, widened to one value: what holds after any
    /// number of passes of a loop.
    pub(super) fn changes_of_widening(&self, before: &Self) -> Vec<(Str, Variable)> {
        let differs = |name: &Str, variable: &Rc<Variable>| {
            let old = before.get(name);
            !old.is_some_and(|old| Rc::ptr_eq(old, variable) || old.values == variable.values)
        };
        self.iter()
            .filter(|(name, variable)| variable.values.len() > 1 && differs(name, variable))
            .map(|(name, variable)| {
                let values = smallvec![widen(&variable.values)];
                (name.clone(), Variable { values, ..variable.as_ref().clone() })
            })
            .collect()
    }
}

impl PartialEq for Variables {
    fn eq(&self, other: &Self) -> bool {
        self.few == other.few && self.many == other.many
    }
}

impl Eq for Variables {}
