//! Functions that call themselves: the third entry of a function stands for all further ones, with whatever
//! arguments and variables they may have.

use std::rc::Rc;

use smallvec::smallvec;

use super::Runner;
use super::state::State;
use super::variable::Variable;
use crate::model::script::GapCause;
use crate::model::span::Span;
use crate::model::value::{Piece, Str, Text, Unknown, Value};

/// Entries of a function that are followed as they are.
const FOLLOWED: usize = 2;

/// `$1` and on, and whether more may follow.
type Arguments = (Vec<Text>, bool);

/// A call that is open.
#[derive(Clone, Debug)]
pub(super) struct Entered {
    name: String,
    arguments: Rc<Arguments>,
    state: State,
}

impl Runner<'_> {
    /// The arguments a function is followed with; none where an entry that is open stands for this one, or
    /// where it is not known any more what it does, which is a gap then.
    pub(super) fn enter_function(
        &mut self,
        name: &str,
        arguments: Arguments,
        span: Span,
    ) -> Option<Arguments> {
        let before: Vec<&Entered> = self.entered.iter().filter(|own| own.name == name).collect();
        let arguments = if before.len() > FOLLOWED {
            let covered = before.last().is_some_and(|own| own.covers(&arguments, &self.state));
            if !covered {
                self.gap(GapCause::NotModelled("a function that calls itself again"), span);
            }
            return None;
        } else if let (FOLLOWED, Some(last)) = (before.len(), before.last()) {
            let state = last.state.clone();
            let arguments = widened(&before, &arguments);
            for (name, variable) in changed(&self.state, &state) {
                self.state.put(&name, variable);
            }
            arguments
        } else {
            arguments
        };
        self.entered.push(Entered {
            name: name.to_owned(),
            arguments: Rc::new(arguments.clone()),
            state: self.state.clone(),
        });
        Some(arguments)
    }

    /// The innermost call that was entered ends.
    pub(super) fn end_function(&mut self) {
        self.entered.pop();
    }
}

impl Entered {
    /// Whether all that a call with these arguments and in this state does has been followed with this one.
    fn covers(&self, (texts, open): &Arguments, state: &State) -> bool {
        let (own, any) = &*self.arguments;
        let same =
            own.len() == texts.len() && !open && own.iter().zip(texts).all(|(a, b)| takes_in(a, b));
        let known = &self.state;
        (same || (*any && own.is_empty()))
            && known.functions == state.functions
            && known.aliases == state.aliases
            && known.options == state.options
            && known.directories == state.directories
            && state.variables.iter().all(|(name, variable)| {
                known.variables.get(name).is_some_and(|own| {
                    own == variable
                        || variable.values.iter().all(|value| {
                            own.values.iter().any(|own| own == value || stands_for(own, value))
                        })
                })
            })
    }
}

/// Whether a value may be the other one, too.
fn stands_for(wide: &Value, value: &Value) -> bool {
    match (wide, value) {
        (Value::Unknown(_), _) => true,
        (Value::Scalar(wide), Value::Scalar(text)) => takes_in(wide, text),
        _ => false,
    }
}

/// The variables that are others than at the entry before, as they may be at all further ones.
fn changed(state: &State, before: &State) -> Vec<(Str, Variable)> {
    let wide = |(name, variable): (&Str, &Rc<Variable>)| {
        let old = before.variables.get(name);
        if old.is_some_and(|old| old.values == variable.values) {
            return None;
        }
        let value = match (old.map(|old| old.values.as_slice()), variable.values.as_slice()) {
            (Some([Value::Scalar(old)]), [Value::Scalar(now)]) => Value::Scalar(wider(&[old], now)),
            _ => Value::Scalar(Text::unknown(Unknown::Joined)),
        };
        let values = smallvec![value];
        Some((name.clone(), Variable { values, ..variable.as_ref().clone() }))
    };
    state.variables.iter().filter_map(wide).collect()
}

/// A text that stands for these, the first ones first, and for what may follow them in turn.
fn wider(before: &[&Text], text: &Text) -> Text {
    if before.iter().all(|own| *own == text) {
        return text.clone();
    }
    // Where a pattern or a search begins.
    let first = before.first().map(|own| own.prefix()).unwrap_or_default();
    let known = before.first().is_some_and(|own| own.is_exact());
    let base = if known { first } else { first.rsplit_once('/').map_or("", |(base, _)| base) };
    let base = base.trim_end_matches('/');
    if before.iter().chain([&text]).all(|own| is_below(own, base)) {
        return Text::literal(format!("{base}/")).concat(&Text::unknown(Unknown::Listed));
    }
    Text::unknown(Unknown::Joined)
}

fn is_any(text: &Text) -> bool {
    matches!(text.pieces(), [Piece::Unknown(Unknown::Joined)])
}

/// Whether a text may be the other one, too.
fn takes_in(wide: &Text, text: &Text) -> bool {
    wide == text
        || is_any(wide)
        || matches!(wide.pieces(), [Piece::Literal(base), Piece::Unknown(Unknown::Listed)]
            if is_below(text, base.trim_end_matches('/')))
}

/// Whether a path leads to a directory or below it, whatever its unknown parts are.
fn is_below(text: &Text, base: &str) -> bool {
    let rest = text.prefix().strip_prefix(base);
    let goes_up = |piece: &Piece| match piece {
        Piece::Literal(own) => own.contains(".."),
        Piece::Unknown(cause) => !cause.is_below(),
        Piece::Glob(_) => false,
    };
    !base.is_empty()
        && rest.is_some_and(|rest| rest.starts_with('/') || (rest.is_empty() && text.is_exact()))
        && !text.pieces().iter().any(goes_up)
}

/// Arguments that stand for those of all further entries.
fn widened(before: &[&Entered], (texts, open): &Arguments) -> Arguments {
    let earlier: Vec<&Arguments> = before.iter().map(|own| &*own.arguments).collect();
    let alike = |(own, any): &&&Arguments| own.len() == texts.len() && !any;
    if *open || !earlier.iter().all(|own| alike(&own)) {
        return (Vec::new(), true);
    }
    let wide = |(index, text): (usize, &Text)| {
        let before: Vec<&Text> = earlier.iter().filter_map(|(own, _)| own.get(index)).collect();
        wider(&before, text)
    };
    (texts.iter().enumerate().map(wide).collect(), false)
}
