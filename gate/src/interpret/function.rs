//! Functions: definition, call, and the bodies that nothing calls.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use super::state::{self, State};
use super::{Frame, Outcome, Runner, bomb, carry};
use crate::model::script::Command;
use crate::model::span::{Site, Span};
use crate::model::value::{Field, Text, Unknown};

/// Functions that wait for being called; the body of a further one is followed at once.
const WAITING: usize = 64;

/// Functions that shells call by themselves, with words that are not known here (Bash manual 3.7.2;
/// zshmisc(1), "Hook Functions").
const CALLED_BY_SHELL: &[&str] = &["command_not_found_handle", "command_not_found_handler"];

/// A function where it is defined. Its body counts even if it is never called, and then with any
/// arguments.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    function: Rc<state::Function>,
    name: String,
    state: State,
    frame: Frame,
    calls: Vec<String>,
    site: Site,
}

impl Runner<'_> {
    /// Defines a function. Its body is followed where it is called, or at the end where it never is.
    pub(super) fn define(&mut self, name: &str, body: &Arc<Command>) {
        let function = Rc::new(state::Function {
            body: Arc::clone(body),
            source: self.source,
            exported: self.state.option("allexport"),
            called: state::Called::default(),
        });
        Rc::make_mut(&mut self.state.functions).insert(name.to_owned(), vec![Rc::clone(&function)]);
        self.state.settled(&state::Definition::Function(name.to_owned()));
        let defined = Defined {
            function,
            name: name.to_owned(),
            state: self.state.clone(),
            frame: self.frame.clone(),
            calls: self.calls.clone(),
            site: self.site(body.span),
        };
        if self.defined.len() >= WAITING {
            self.defined.retain(|own| !own.function.called.is_noted());
        }
        if self.defined.len() < WAITING {
            self.defined.push(defined);
        } else {
            // Each that waits keeps the state it was made in.
            self.follow_body(defined);
        }
    }

    /// Follows functions that nothing in this text calls, the last one first, as it may call others.
    pub(super) fn uncalled(&mut self) {
        while let Some(defined) = self.defined.pop() {
            if !defined.function.called.is_noted() {
                self.follow_body(defined);
            }
            if self.exhausted {
                break;
            }
        }
    }

    /// Follows the body of a function from where it was made, with any arguments.
    fn follow_body(&mut self, defined: Defined) {
        let Defined { function, name, state, frame, calls, site } = defined;
        self.again = true;
        let waiting = self.pending.len();
        let outer = (
            std::mem::replace(&mut self.state, state),
            std::mem::replace(&mut self.frame, frame),
            std::mem::replace(&mut self.calls, calls),
            std::mem::replace(&mut self.source, function.source),
        );
        let entered = std::mem::take(&mut self.entered);
        self.state.files = Rc::clone(&outer.0.files);
        self.deeper(site.span, |runner| {
            runner.isolated(|runner| {
                runner.state.positional = Rc::new((Vec::new(), true));
                runner.state.descriptors.clear();
                runner.state.hidden.push(BTreeMap::new());
                runner.calls.push(name);
                let outcome = runner.command(&function.body);
                runner.settle(&outcome);
            });
        });
        self.flush(waiting, None);
        let files = Rc::clone(&self.state.files);
        (self.state, self.frame, self.calls, self.source) = outer;
        self.entered = entered;
        self.state.files = files;
    }

    /// Calls a function of this text.
    pub(super) fn call(&mut self, name: &str, arguments: &[Field], span: Span) -> Outcome {
        let Some(bodies) = self.state.functions.get(name).cloned() else {
            return Outcome::default();
        };
        let site = self.site(span);
        let inside = self.calls.iter().any(|call| call == name);
        if !inside && self.is_bomb(name) && !self.trace.bombs.contains(&site) {
            self.trace.bombs.push(site);
        }
        let Some((positional, open)) =
            self.enter_function(name, carry::positional(arguments), span)
        else {
            self.emit(1, &Text::unknown(Unknown::Output));
            return Outcome::default();
        };
        let outer = self.escaped.take();
        let before = self.state.clone();
        let mut joined: Option<State> = None;
        let mut status = None;
        self.again = true;
        for function in &bodies {
            if !CALLED_BY_SHELL.contains(&name) {
                function.called.note();
            }
            self.state = before.clone();
            self.state.positional = Rc::new((positional.clone(), open));
            self.state.hidden.push(BTreeMap::new());
            self.calls.push(name.to_owned());
            let source = std::mem::replace(&mut self.source, function.source);
            let outcome = self.command(&function.body);
            self.settle(&outcome);
            if bodies.len() == 1 && !outcome.leaves {
                status = outcome.status;
            }
            self.source = source;
            self.calls.pop();
            if let Some(escaped) = self.escaped.take() {
                self.join(&escaped);
            }
            self.leave_function(&before);
            let state = self.state.clone();
            State::gather(&mut joined, state);
        }
        if let Some(joined) = joined {
            self.state = joined;
        }
        self.end_function();
        self.escaped = outer;
        Outcome { status, ..Outcome::default() }
    }

    /// Local variables end, positional parameters come back.
    fn leave_function(&mut self, before: &State) {
        for (name, old) in self.state.hidden.pop().unwrap_or_default() {
            self.state.restore(&name, old);
        }
        self.state.positional = Rc::clone(&before.positional);
        self.state.hidden.truncate(before.hidden.len());
    }

    /// Whether a function keeps starting two or more copies of itself.
    fn is_bomb(&mut self, name: &str) -> bool {
        let functions = &self.state.functions;
        if !matches!(&self.counted, Some((counted, _)) if Rc::ptr_eq(counted, functions)) {
            self.counted = None;
        }
        let (functions, known) =
            self.counted.get_or_insert_with(|| (Rc::clone(functions), BTreeMap::new()));
        if let Some(known) = known.get(name) {
            return *known;
        }
        let bodies = functions.get(name).map_or(&[][..], Vec::as_slice);
        let is_bomb = bodies.iter().any(|function| {
            let mut count = bomb::Count::new(name, functions);
            count.command(&function.body, false, 1, 0);
            count.is_bomb()
        });
        known.insert(name.to_owned(), is_bomb);
        is_bomb
    }
}
