//! Where a path leads, by its characters alone.
//!
//! A path is resolved lexically against every directory its command may run in, then compared by
//! components with what is known about places. Links are not followed.

mod known;
mod walk;

use crate::model::component::{self, Mixed, Part, Pattern};
use crate::model::fact::{PathObject, Place, Places};
use crate::model::value::{Glob, Piece, Text, Truth, Unknown};
pub use known::{Known, Roots};
use walk::{Walk, covers, is_fresh, is_named, made_up, names, owned, prefix, relation, walk};

/// A path or a glob of several components.
type Route<'a> = Vec<Pattern<'a>>;

/// Answers where paths lead in one context.
#[derive(Debug)]
pub struct Paths<'a> {
    known: &'a Known,
    workspaces: &'a [Route<'static>],
    home: &'a Route<'static>,
}

impl<'a> Paths<'a> {
    /// Prepares for the roots of one context.
    pub fn new(roots: &'a Roots, known: &'a Known) -> Self {
        Self { known, workspaces: &roots.workspaces, home: &roots.home }
    }

    /// What `text` names in each of `directories`.
    pub fn object(&self, text: &Text, directories: &[Text]) -> PathObject {
        let mut object = PathObject { text: text.clone(), ..PathObject::default() };
        if matches!(text.pieces(), [Piece::Unknown(Unknown::ProcessPath)]) {
            object.resolved.push(text.clone());
            object.places.raise(Place::HarmlessDevice, Truth::Yes);
            return object;
        }
        if text.is_empty() {
            return object;
        }
        let mut generated = Truth::Yes;
        // A pattern stands for other names where the new directory could not be made.
        let astray = text.has_glob() && directories.iter().any(is_fresh);
        object.named = Truth::from(is_named(text) && !astray);
        for directory in directories {
            let walk = walk(text, Some(directory));
            let shown = walk.show();
            if object.resolved.contains(&shown) {
                continue;
            }
            object.resolved.push(shown);
            let mut places = self.places(&walk);
            generated = generated.and(places.get(Place::Generated));
            let sensitive = if is_fresh(text) || is_fresh(directory) {
                // Letters that are made up spell nothing.
                let (text, directory) = (made_up(text), made_up(directory));
                self.sensitive(&self::walk(&text, Some(&directory)))
            } else {
                self.sensitive(&walk)
            };
            object.sensitive = object.sensitive.or(sensitive);
            object.spelled = object.spelled.or(sensitive.and(self.spelled(&walk)));
            let (everything, in_root) = self.everything(&walk);
            object.everything_below.join(&everything);
            if in_root {
                object.named = Truth::No;
            }
            places = places.without(Place::Generated);
            object.places.join(&places);
        }
        // A name that is found below a known directory cannot lead away from it.
        let below = |piece: &Piece| !matches!(piece, Piece::Unknown(cause) if !cause.is_below());
        let told = text.pieces().iter().all(below) && !text.prefix().is_empty();
        object.places.raise(Place::Generated, generated.and(object.named.or(Truth::from(told))));
        object.emptied = self.emptied(text, directories);
        object
    }

    /// Whether the directory is one that surely exists as a directory, so that files put at it
    /// land in it.
    pub fn is_directory(&self, text: &Text, directories: &[Text]) -> bool {
        let last_is_dots = text.exact().is_some_and(|path| {
            path.ends_with('/')
                || path == "."
                || path == ".."
                || path.ends_with("/.")
                || path.ends_with("/..")
        });
        last_is_dots
            || matches!(text.pieces().last(), Some(Piece::Literal(end)) if end.ends_with('/'))
            || directories.iter().any(|directory| {
                let walk = walk(text, Some(directory));
                let exact: Option<Vec<&str>> = walk.components.iter().map(Part::exact).collect();
                let Some(exact) = exact else { return false };
                if walk.floating {
                    return false;
                }
                let is =
                    |root: &Route<'_>| root.iter().map(Pattern::text).eq(exact.iter().copied());
                exact.is_empty()
                    || self.workspaces.iter().any(is)
                    || self.known.system.near(&walk.components).any(is)
                    || self.known.temporary.iter().any(is)
                    || self.known.home_parents.iter().any(is)
                    || is(self.home)
                    || self.homes(&walk.components).iter().any(|(depth, _)| *depth == exact.len())
            })
    }

    /// Whether it is the root, a whole tree of the system, or everything in the root directory.
    pub fn is_tree(&self, path: &PathObject) -> bool {
        let is_tree = |text: &Text| {
            let walk = walk(text, None);
            let near = self.known.system.near(&walk.components);
            let mut trees = near.chain(&self.known.home_parents);
            match walk.components.as_slice() {
                _ if walk.floating || walk.open => false,
                [] => true,
                [only] if only.has_glob() => component::is_everything(only) == Truth::Yes,
                _ => trees.any(|root| relation(&walk, root).0 == Truth::Yes),
            }
        };
        path.resolved.iter().any(is_tree)
    }

    fn places(&self, walk: &Walk<'_>) -> Places {
        let mut places = Places::default();
        if walk.floating {
            for place in [
                Place::Workspace,
                Place::WorkspaceRoot,
                Place::WorkspaceAncestor,
                Place::Temporary,
                Place::Outside,
                Place::Home,
                Place::HomeChild,
                Place::HomeSettings,
                Place::System,
                Place::Device,
                Place::Control,
            ] {
                places.raise(place, Truth::Maybe);
            }
            return places;
        }
        let path = walk.components.as_slice();
        // The depth of the innermost root that surely holds the path and is no system tree.
        let mut cover = None;
        for root in self.workspaces {
            let (at, below) = relation(walk, root);
            places.raise(Place::WorkspaceRoot, at);
            places.raise(Place::Workspace, below);
            if spelled(path, root) && at.or(below) == Truth::Yes {
                cover = cover.max(Some(root.len()));
                if let Some(rest) = path.get(root.len()..) {
                    self.inside(walk, rest, &mut places);
                }
            }
            for depth in 0..root.len() {
                let ancestor = root.get(..depth).unwrap_or_default();
                places.raise(Place::WorkspaceAncestor, relation(walk, ancestor).0);
            }
        }
        let reaches = |depth: usize, cover: Option<usize>| cover.is_none_or(|cover| depth >= cover);
        let homes = self.homes(path);
        for (depth, truth) in &homes {
            if !reaches(*depth, cover) {
                continue;
            }
            let rest = path.get(*depth..).unwrap_or_default();
            match rest {
                [] => places.raise(Place::Home, *truth),
                [_] => places.raise(Place::HomeChild, *truth),
                _ => {}
            }
            if walk.open && rest.len() == 1 {
                places.raise(Place::Home, Truth::Maybe);
            }
            places.raise(Place::HomeSettings, truth.and(self.settings(walk, rest)));
        }
        let mut inner = cover;
        for (depth, truth) in &homes {
            if *truth == Truth::Yes && path.iter().take(*depth).all(Part::is_exact) {
                inner = inner.max(Some(*depth));
            }
        }
        for root in &self.known.temporary {
            let below = relation(walk, root).1;
            if reaches(root.len(), inner) {
                places.raise(Place::Temporary, below);
            }
            if below == Truth::Yes && spelled(path, root) {
                inner = inner.max(Some(root.len()));
            }
        }
        places.raise(Place::Public, self.known.public.cover(walk.open, path));
        let harmless = self.harmless_device(walk);
        places.raise(Place::HarmlessDevice, harmless);
        if harmless != Truth::Yes {
            for root in self.known.system.near(path) {
                if !reaches(root.len(), inner) {
                    continue;
                }
                let (at, below) = relation(walk, root);
                places.raise(Place::System, at.or(below));
                if root.first().is_some_and(|name| name.text() == "dev") {
                    places.raise(Place::Device, below);
                }
            }
            if path.len() <= 1 && inner.is_none_or(|depth| depth == 0) {
                places.raise(Place::System, Truth::Yes);
            }
        }
        let somewhere = [
            Place::Workspace,
            Place::WorkspaceRoot,
            Place::Temporary,
            Place::Home,
            Place::HomeChild,
            Place::HomeSettings,
            Place::System,
            Place::HarmlessDevice,
        ];
        if somewhere.iter().all(|place| places.get(*place) != Truth::Yes) {
            places.raise(Place::Outside, Truth::Yes);
        }
        places
    }

    /// Places inside a workspace: what is generated, and what runs something later.
    fn inside(&self, walk: &Walk<'_>, rest: &[Part<'_>], places: &mut Places) {
        let last = walk.tail.as_ref().or_else(|| rest.last());
        let generated = rest
            .iter()
            .chain(walk.tail.as_ref())
            .any(|part| self.known.generated.iter().any(|name| component::is(part, name)))
            || last.is_some_and(|last| {
                self.known.generated_endings.are_spelled_by(last) == Truth::Yes
            });
        places.raise(Place::Generated, Truth::from(generated));
        places.raise(Place::Control, self.known.control.cover(walk.open, rest));
    }

    /// Depths at which the path may pass a home, with the truth.
    fn homes(&self, path: &[Part<'_>]) -> Vec<(usize, Truth)> {
        let mut out: Vec<(usize, Truth)> = Vec::new();
        let mut add = |depth: usize, truth: Truth| {
            if truth.is_possible() && !out.iter().any(|(d, t)| *d == depth && *t >= truth) {
                out.retain(|(d, _)| *d != depth);
                out.push((depth, truth));
            }
        };
        for parent in &self.known.home_parents {
            if path.len() > parent.len() {
                add(parent.len() + 1, prefix(path, parent));
            }
        }
        for home in [self.home, &self.known.root_home] {
            if path.len() >= home.len() && !home.is_empty() {
                add(home.len(), prefix(path, home));
            }
        }
        out
    }

    fn settings(&self, walk: &Walk<'_>, rest: &[Part<'_>]) -> Truth {
        if rest.is_empty() {
            return Truth::No;
        }
        self.known.home_settings.cover(walk.open, rest)
    }

    fn harmless_device(&self, walk: &Walk<'_>) -> Truth {
        let path = walk.components.as_slice();
        if walk.open || !path.iter().all(Part::is_exact) {
            return Truth::No;
        }
        Truth::from(self.known.harmless_devices.iter().any(|device| {
            device.len() == path.len()
                && device.iter().map(Pattern::text).zip(path).all(|(glob, part)| {
                    let name = part.exact().unwrap_or_default();
                    glob == name || (glob == "*" && name.chars().all(|c| c.is_ascii_digit()))
                })
        }))
    }

    /// Whether a name on the way says that secrets are held.
    fn sensitive(&self, walk: &Walk<'_>) -> Truth {
        if walk.floating {
            return Truth::Maybe;
        }
        let path = walk.components.as_slice();
        let skip = self
            .workspaces
            .iter()
            .chain(std::iter::once(self.home))
            .filter(|root| spelled(path, root))
            .map(Vec::len)
            .max()
            .unwrap_or(0);
        let path = path.get(skip..).unwrap_or_default();
        let Some((mut last, mut parents)) = path.split_last() else { return Truth::No };
        if let Some(tail) = &walk.tail {
            // Directories that a search passes through say nothing about what it finds.
            let searched = matches!(last, Part::Mixed(text) if text.pieces().iter().all(|piece| {
                matches!(piece, Piece::Unknown(cause) if *cause == Unknown::Item || cause.is_below())
            }));
            parents = if searched { parents } else { path };
            last = tail;
        }
        let known = self.known;
        if !last.has_unknown() && known.harmless_endings.are_spelled_by(last) == Truth::Yes {
            return Truth::No;
        }
        let mut truth = Truth::No;
        // What a search finds may be a secret, and yet the search is none that looks for it.
        let is_named =
            |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Found | Unknown::Plain));
        let found = matches!(last, Part::Mixed(text) if text.pieces().iter().all(is_named));
        for parent in parents {
            truth = truth
                .or(known.sensitive_names.are_spelled_by(parent))
                .or(known.sensitive_endings.are_spelled_by(parent))
                .or(known.sensitive_globs.are_spelled_by(parent));
        }
        if found {
            return truth;
        }
        // The letters around such a name must spell a secret out.
        let shaped =
            match last {
                Part::Mixed(text) if text.pieces().iter().any(is_named) => {
                    Some(Part::Mixed(Mixed::from(
                        text.pieces()
                            .iter()
                            .map(|piece| {
                                if is_named(piece) { Piece::Glob(Glob::Any) } else { piece.clone() }
                            })
                            .collect::<Text>(),
                    )))
                }
                _ => None,
            };
        let last = shaped.as_ref().unwrap_or(last);
        truth = truth
            .or(known.sensitive_names.matches(last))
            .or(known.sensitive_endings.matches(last))
            .or(known.sensitive_globs.are_spelled_by(last));
        for tail in &known.sensitive_paths {
            if let Some(start) = path.len().checked_sub(tail.len())
                && let Some(end) = path.get(start..)
            {
                let all = end
                    .iter()
                    .zip(tail)
                    .fold(Truth::Yes, |truth, (part, name)| truth.and(name.matches(part)));
                truth = truth.or(all);
            }
        }
        truth
    }

    /// The places below which the path stands for every name; and whether it is a pattern directly
    /// in a root directory.
    fn everything(&self, walk: &Walk<'_>) -> (Places, bool) {
        let mut places = Places::default();
        if walk.floating || walk.open {
            return (places, false);
        }
        let mut path = walk.components.as_slice();
        let Some((last, _)) = path.split_last() else { return (places, false) };
        if !last.has_glob() {
            return (places, false);
        }
        let truth = component::is_everything(last);
        while let Some((last, parents)) = path.split_last() {
            path = parents;
            let deep = parents.last().is_some_and(|parent| {
                component::is_everything(parent) == Truth::Yes
                    && matches!(parent, Part::Mixed(text) if text.display() == "**")
            });
            if last.has_glob() && !deep {
                break;
            }
        }
        let parent = Walk { components: path.iter().cloned().collect(), ..Walk::default() };
        let found = self.places(&parent);
        for (place, at) in found.iter() {
            places.raise(place, at.and(truth));
        }
        let in_root =
            self.known.temporary.iter().any(|root| relation(&parent, root).0.is_possible())
                || self.workspaces.iter().any(|root| relation(&parent, root).0.is_possible());
        (places, in_root)
    }

    /// Whether the path, its unknown parts left out, is the root, a pattern directly below it or a
    /// system directory by name.
    fn emptied(&self, text: &Text, directories: &[Text]) -> Truth {
        if !text.has_unknown() {
            return Truth::No;
        }
        // Where a name could not be made up, nothing stands in its place.
        let fresh = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Fresh));
        let made = text.pieces().iter().rposition(fresh).map_or(0, |at| at + 1);
        let emptied: Text = text
            .pieces()
            .iter()
            .skip(made)
            .filter(|piece| !matches!(piece, Piece::Unknown(_)))
            .cloned()
            .collect();
        if !emptied.prefix().starts_with('/') {
            return Truth::No;
        }
        let walk = walk(&emptied, directories.first());
        let path = walk.components.as_slice();
        let root = match path {
            [] => true,
            [only] if only.has_glob() => component::is_everything(only) == Truth::Yes,
            _ => {
                self.known.system.near(path).any(|root| {
                    let (at, below) = relation(&walk, root);
                    at.or(below) == Truth::Yes
                }) && self.places(&walk).get(Place::System) == Truth::Yes
            }
        };
        Truth::from(root)
    }
}

/// Whether the path begins with `root`, every component spelled out with the same letters.
fn spelled(path: &[Part<'_>], root: &[Pattern<'_>]) -> bool {
    path.len() >= root.len()
        && root.iter().zip(path).all(|(name, part)| component::is(part, name.text()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::context::Context;
    use crate::model::value::Glob;

    fn text(shown: &str) -> Text {
        shown
            .chars()
            .map(|c| match c {
                '*' => Piece::Glob(Glob::Any),
                '$' => Piece::Unknown(Unknown::Output),
                c => Piece::Literal(c.into()),
            })
            .collect()
    }

    #[test]
    fn paths_lead_where_their_characters_say() {
        let judgement = crate::load::rules(crate::load::builtin::rules()).unwrap();
        let context = Context::default();
        let known = Known::new(&judgement.knowledge);
        let roots = Roots::new(&context);
        let paths = Paths::new(&roots, &known);
        let cwd = [Text::literal("/srv/app")];
        let table = [
            ("src/../a", Place::Workspace, "/srv/app/a"),
            (".", Place::WorkspaceRoot, "/srv/app"),
            ("..", Place::WorkspaceAncestor, "/srv"),
            ("../app2", Place::Outside, "/srv/app2"),
            ("//etc//./hosts", Place::System, "/etc/hosts"),
            ("/etcetera/x", Place::Outside, "/etcetera/x"),
            ("/x", Place::System, "/x"),
            ("/proc/self/root/etc", Place::System, "/etc"),
            ("/proc/self/cwd/a", Place::Workspace, "/srv/app/a"),
            ("/private/tmp/a", Place::Temporary, "/tmp/a"),
            ("/var/tmp/a", Place::Temporary, "/var/tmp/a"),
            ("/tmp/../etc/passwd", Place::System, "/etc/passwd"),
            ("/home/dev", Place::Home, "/home/dev"),
            ("/home/eve/x", Place::HomeChild, "/home/eve/x"),
            ("/home/dev/.ssh/id", Place::HomeSettings, "/home/dev/.ssh/id"),
            ("/home/dev/a/b", Place::Outside, "/home/dev/a/b"),
            ("/dev/null", Place::HarmlessDevice, "/dev/null"),
            ("/dev/sda", Place::Device, "/dev/sda"),
            ("dev/sda", Place::Workspace, "/srv/app/dev/sda"),
            ("/srv/*", Place::WorkspaceRoot, "/srv/*"),
            ("/etc/$", Place::System, "/etc/…"),
            ("/$", Place::System, "/…"),
            ("/tmp/$", Place::Temporary, "/tmp/…"),
            ("a/$", Place::Workspace, "/srv/app/a/…"),
        ];
        for (shown, place, resolved) in table {
            let object = paths.object(&text(shown), &cwd);
            assert_eq!(object.places.get(place), Truth::Yes, "{shown}: {:?}", object.places);
            assert_eq!(object.resolved.first().unwrap().display(), resolved, "{shown}");
        }
        for (shown, emptied) in [
            ("$/", true),
            ("$/*", true),
            ("$/etc", true),
            ("$/a", false),
            ("$", false),
            ("/tmp/$", false),
        ] {
            assert_eq!(paths.object(&text(shown), &cwd).emptied, Truth::from(emptied), "{shown}");
        }
    }
}
