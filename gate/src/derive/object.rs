//! What a word stands for: files, branches, names of other things.

use smallvec::smallvec;

use super::{Actor, Deriver, LANDINGS, Objects};
use crate::model::component;
use crate::model::fact::{EffectKind, Fact, Object, Place};
use crate::model::span::Site;
use crate::model::trace::{DeedObject, Invocation};
use crate::model::utility::Output;
use crate::model::value::{Piece, Text, Truth, Unknown};

impl Deriver<'_> {
    pub(super) fn path(&self, text: &Text, directories: &[Text]) -> Object {
        Object::Path(Box::new(self.paths.object(text, directories)))
    }

    /// A path; names that find passes on lead to its start points, or below.
    pub(super) fn paths_of(&self, actor: &Actor<'_>, text: &Text, site: Site) -> Objects {
        let carrier = actor.invocation.carrier.and_then(|index| self.trace.invocations.get(index));
        let appended = carrier
            .and_then(|carrier| carrier.argv.first())
            .is_some_and(|word| word.site == site && text.has_unknown());
        let starts = match text.pieces() {
            [Piece::Unknown(Unknown::Item), ..] => self.starts(actor.invocation),
            [Piece::Unknown(_), ..] if appended => self.starts(actor.invocation),
            pieces if appended && pieces.contains(&Piece::Unknown(Unknown::Found)) => {
                self.starts(actor.invocation)
            }
            pieces if pieces.contains(&Piece::Unknown(Unknown::Listed)) => {
                self.starts(actor.invocation)
            }
            _ => Vec::new(),
        };
        if starts.is_empty() {
            return smallvec![self.path(text, &actor.directories)];
        }
        let alone = text.pieces().len() == 1;
        let found = text
            .pieces()
            .iter()
            .any(|piece| matches!(piece, Piece::Unknown(Unknown::Found | Unknown::Listed)));
        // What a filter has made of the names may lead elsewhere.
        let passed = (!matches!(text.pieces().first(), Some(Piece::Unknown(Unknown::Item))))
            .then(|| self.path(text, &actor.directories));
        // Folders that tools make again are all that it reaches.
        if let Some(Object::Path(object)) = &passed
            && object.places.get(Place::Generated) == Truth::Yes
        {
            return passed.into_iter().collect();
        }
        starts
            .into_iter()
            .map(|start| {
                let whole = if alone || found {
                    start
                } else {
                    start.concat(&Text::literal("/")).concat(text)
                };
                let mut object = self.paths.object(&whole, &actor.directories);
                object.named = Truth::No;
                Object::Path(Box::new(object))
            })
            .chain(passed)
            .collect()
    }

    /// Start points of the find whose names an invocation is given, as their carrier or through a
    /// pipe.
    fn starts(&self, invocation: &Invocation) -> Vec<Text> {
        let Some(mut carrier) = invocation.carrier else { return Vec::new() };
        let get = |index: usize| self.trace.invocations.get(index);
        let is_find = |own: &&Invocation| own.name.as_deref() == Some("find");
        // Wrappers between hand the names on.
        for _ in 0..LANDINGS {
            match get(carrier) {
                Some(own) if !matches!(own.name.as_deref(), Some("find" | "xargs")) => {
                    let Some(outer) = own.carrier else { break };
                    carrier = outer;
                }
                _ => break,
            }
        }
        let find = match get(carrier) {
            Some(own) if is_find(&own) => Some(own),
            Some(own) if own.name.as_deref() == Some("xargs") => {
                self.looks_back.set(true);
                let mut before = carrier;
                loop {
                    let Some(own) = before.checked_sub(1).and_then(get) else { break None };
                    before -= 1;
                    if is_find(&own) {
                        break Some(own);
                    }
                    let filter = own
                        .utility
                        .and_then(|id| self.catalog.get(id))
                        .is_some_and(|utility| utility.output == Output::Input);
                    if !filter {
                        break None;
                    }
                }
            }
            _ => None,
        };
        let Some(find) = find else { return Vec::new() };
        // Its grammar tells them from the words of its expression.
        let listed = find.reading.deeds.iter().filter_map(|deed| match &deed.object {
            DeedObject::Path(path) if deed.kind == EffectKind::List => Some(path.clone()),
            _ => None,
        });
        let starts: Vec<Text> = listed.take(LANDINGS).collect();
        if starts.is_empty() { vec![Text::literal(".")] } else { starts }
    }

    /// The branches a name may mean for an invocation: itself, or for the current one that of the
    /// context and those that the text has switched to before, as each switch may fail.
    pub(super) fn branches(&self, name: &Text, index: usize) -> Objects {
        if !matches!(name.exact(), Some("" | "HEAD" | "@")) {
            return smallvec![self.branch(name.clone())];
        }
        self.looks_back.set(true);
        let current = match &self.context.branch {
            Some(branch) => Text::literal(branch.as_str()),
            None => Text::unknown(Unknown::Parameter("the current branch".into())),
        };
        let before = self.trace.invocations.get(..index).unwrap_or_default();
        let switched = before.iter().filter(|own| {
            own.name.as_deref() == Some("git")
                && own
                    .reading
                    .subcommand
                    .first()
                    .is_some_and(|word| matches!(word.as_str(), "checkout" | "switch"))
        });
        let names = switched.filter_map(|own| own.reading.operands.first());
        std::iter::once(current)
            .chain(names.map(|operand| operand.text.clone()))
            .map(|name| self.branch(name))
            .collect()
    }

    fn branch(&self, name: Text) -> Object {
        let mut protected = Truth::No;
        for glob in &self.known.protected_branches {
            let truth = if name.exact() == Some("*") {
                Truth::Yes
            } else if glob.contains('*') || name.has_unknown() {
                component::matches(&name, glob)
            } else {
                let literal = Text::literal(name.fill("*"));
                let pattern = literal.exact().unwrap_or_default();
                if pattern.contains('*') {
                    component::matches(&Text::literal(glob.as_str()), pattern)
                } else {
                    Truth::from(pattern == glob)
                }
            };
            protected = protected.or(truth);
        }
        Object::Branch { name, protected }
    }

    pub(super) fn push(
        &mut self,
        actor: &Actor<'_>,
        kind: EffectKind,
        object: Object,
        certain: Truth,
        site: Site,
    ) {
        let passes_dry = kind.is_passive()
            || matches!(kind, EffectKind::Receive | EffectKind::Send | EffectKind::Connect)
            || matches!(kind, EffectKind::Execute | EffectKind::Privilege);
        // What would happen on this machine is only shown; what talks to another one still does.
        let stays = kind.is_mutation() || matches!(kind, EffectKind::Discard | EffectKind::Record);
        let (kind, object) = match (actor.dry && !passes_dry, stays) {
            (true, true) => return,
            (true, false) => (EffectKind::Change, Object::None),
            (false, _) => (kind, object),
        };
        self.facts.push(Fact {
            kind,
            object,
            recursive: actor.recursive,
            force: actor.force,
            certain,
            invocation: Some(actor.index),
            site,
        });
    }
}
