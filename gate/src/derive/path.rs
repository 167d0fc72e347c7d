//! Where a path leads, by its characters alone.
//!
//! A path is resolved lexically against every directory its command may run in, then compared by
//! components with what is known about places. Links are not followed.

use smallvec::SmallVec;

use crate::model::component::{self, Mixed, Part, Pattern, Patterns};
use crate::model::context::Context;
use crate::model::fact::{PathObject, Place, Places};
use crate::model::rule::Knowledge;
use crate::model::value::{Glob, Piece, Text, Truth, Unknown};

/// Components that are kept of one path; what lies deeper does not change where it leads.
const DEEPEST: usize = 256;

/// A path or a glob of several components.
type Route<'a> = Vec<Pattern<'a>>;

/// Routes that are compared with the same paths, found by their first component.
#[derive(Clone, Debug, Default)]
struct Routes {
    list: Vec<Route<'static>>,
    /// Positions of those whose first component has no wildcard at its end, by [`component::bucket`].
    by_first: [Vec<u16>; component::BUCKETS],
    /// Positions of the others.
    others: Vec<u16>,
}

impl Routes {
    fn new(list: Vec<Route<'static>>) -> Self {
        let mut routes = Self::default();
        for (position, route) in list.iter().enumerate() {
            let position = u16::try_from(position).unwrap_or(u16::MAX);
            let slot = route.first().and_then(Pattern::bucket);
            match slot.and_then(|slot| routes.by_first.get_mut(slot)) {
                Some(bucket) => bucket.push(position),
                None => routes.others.push(position),
            }
        }
        routes.list = list;
        routes
    }

    /// Whether the path is or is below what one of them describes, as [`covers`].
    fn cover(&self, open: bool, path: &[Part<'_>]) -> Truth {
        let most = if open && path.len() == 1 { Truth::Maybe } else { Truth::Yes };
        let mut truth = Truth::No;
        for route in self.near(path) {
            truth = truth.or(covers(open, path, route));
            if truth >= most {
                break;
            }
        }
        truth
    }

    /// Those whose first component may fit that of the path; all where it has none or one that is not
    /// known.
    fn near(&self, path: &[Part<'_>]) -> impl Iterator<Item = &Route<'static>> {
        let slot = path.first().and_then(Part::exact).and_then(component::bucket);
        let bucket = slot.and_then(|slot| self.by_first.get(slot));
        let (all, some) = match bucket {
            Some(bucket) => (&[][..], [bucket.as_slice(), self.others.as_slice()]),
            None => (self.list.as_slice(), [&[][..], &[][..]]),
        };
        let some = some.into_iter().flatten();
        all.iter().chain(some.filter_map(|position| self.list.get(usize::from(*position))))
    }
}

/// What is known about places, prepared once for any number of commands.
#[derive(Clone, Debug, Default)]
pub struct Known {
    system: Routes,
    temporary: Vec<Route<'static>>,
    home_parents: Vec<Route<'static>>,
    root_home: Route<'static>,
    home_settings: Routes,
    harmless_devices: Vec<Route<'static>>,
    /// Whole names, of directories too.
    sensitive_names: Patterns,
    sensitive_endings: Patterns,
    sensitive_globs: Patterns,
    sensitive_paths: Vec<Route<'static>>,
    harmless_endings: Patterns,
    generated: Vec<String>,
    generated_endings: Patterns,
    /// Files and directories that every program may read.
    public: Routes,
    control: Routes,
    pub(super) protected_branches: Vec<String>,
}

impl Known {
    /// Prepares what is known.
    pub fn new(knowledge: &Knowledge) -> Self {
        let paths =
            |list: &[String]| list.iter().map(|path| owned(&names(path))).collect::<Vec<_>>();
        let globs = |list: &[String]| {
            list.iter()
                .map(|glob| glob.split('/').map(|name| Pattern::new(name.to_owned())).collect())
                .collect::<Vec<Route<'static>>>()
        };
        let endings = |list: &[String]| {
            let mut patterns = Patterns::default();
            patterns.extend(list.iter().map(|ending| Pattern::new(format!("*{ending}"))));
            patterns
        };
        let patterns = |lists: &[&[String]]| {
            let mut patterns = Patterns::default();
            for list in lists {
                patterns.extend(list.iter().map(|glob| Pattern::new(glob.clone())));
            }
            patterns
        };
        Self {
            system: Routes::new(paths(&knowledge.system)),
            temporary: paths(&knowledge.temporary),
            home_parents: paths(&knowledge.home_parents),
            root_home: vec![Pattern::new("root")],
            home_settings: Routes::new(globs(&knowledge.home_settings)),
            harmless_devices: paths(&knowledge.harmless_devices),
            sensitive_names: patterns(&[
                &knowledge.sensitive_directories,
                &knowledge.sensitive_names,
            ]),
            sensitive_endings: endings(&knowledge.sensitive_endings),
            sensitive_globs: patterns(&[&knowledge.sensitive_globs]),
            sensitive_paths: paths(&knowledge.sensitive_paths),
            harmless_endings: endings(&knowledge.harmless_endings),
            generated: knowledge.generated.clone(),
            generated_endings: endings(&knowledge.generated_endings),
            public: Routes::new(globs(&knowledge.public)),
            control: Routes::new(globs(&knowledge.control)),
            protected_branches: knowledge.protected_branches.clone(),
        }
    }
}

/// The workspaces and the home of a context, prepared for any number of commands.
#[derive(Clone, Debug, Default)]
pub struct Roots {
    workspaces: Vec<Route<'static>>,
    home: Route<'static>,
    /// What they were made from.
    from: (Vec<String>, String),
}

impl Roots {
    /// Those of a context.
    pub fn new(context: &Context) -> Self {
        Self {
            workspaces: context.workspaces.iter().map(|path| owned(&names(path))).collect(),
            home: owned(&names(&context.home)),
            from: (context.workspaces.clone(), context.home.clone()),
        }
    }

    /// Whether they are those of the context.
    pub fn are_of(&self, context: &Context) -> bool {
        self.from.0 == context.workspaces && self.from.1 == context.home
    }
}

/// Answers where paths lead in one context.
#[derive(Debug)]
pub struct Paths<'a> {
    known: &'a Known,
    workspaces: &'a [Route<'static>],
    home: &'a Route<'static>,
}

/// A normalised path.
#[derive(Clone, Debug, Default)]
struct Walk<'a> {
    /// Components from the root, up to and with the first unknown one.
    components: SmallVec<[Part<'a>; 8]>,
    /// Whether the last component is unknown, so that the path may go on.
    open: bool,
    /// Whether not even its start is known.
    floating: bool,
    /// What follows the unknown component, where something does: the name of what is meant.
    tail: Option<Part<'a>>,
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

    /// Whether it says more than a pattern that any name fits in a directory that holds no secrets.
    fn spelled(&self, walk: &Walk<'_>) -> Truth {
        let Some((last, parents)) = walk.components.split_last() else { return Truth::No };
        let hidden = matches!(last, Part::Mixed(text) if text.prefix().starts_with('.'));
        if walk.floating || walk.open || hidden || component::is_everything(last) != Truth::Yes {
            return Truth::Yes;
        }
        let known = self.known;
        parents.iter().fold(Truth::No, |truth, parent| {
            truth
                .or(known.sensitive_names.are_spelled_by(parent))
                .or(known.sensitive_endings.are_spelled_by(parent))
                .or(known.sensitive_globs.are_spelled_by(parent))
        })
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

impl Walk<'_> {
    fn show(&self) -> Text {
        let mut out = Text::empty();
        for part in &self.components {
            if !(self.floating && out.is_empty()) {
                out.push_str("/");
            }
            part.append_to(&mut out);
        }
        if out.is_empty() {
            out.push_str("/");
        }
        out
    }
}

fn is_fresh(text: &Text) -> bool {
    text.pieces().contains(&Piece::Unknown(Unknown::Fresh))
}

/// The text with some letters for those that are made up.
fn made_up(text: &Text) -> Text {
    text.pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Unknown(Unknown::Fresh) => Piece::Literal("x".into()),
            other => other.clone(),
        })
        .collect()
}

/// Whether nothing in a text is unknown but letters that were made up for a new name, with no
/// pattern below it.
fn is_named(text: &Text) -> bool {
    let fresh = |piece: &Piece| matches!(piece, Piece::Unknown(Unknown::Fresh));
    let told =
        text.pieces().iter().all(|piece| !matches!(piece, Piece::Unknown(_)) || fresh(piece));
    told && !(text.has_glob() && text.pieces().iter().any(fresh))
}

/// Resolves a path lexically against a directory, where it is relative and there is one.
fn walk<'a>(text: &'a Text, directory: Option<&'a Text>) -> Walk<'a> {
    let mut walk = Walk::default();
    if text.prefix().starts_with('/') {
        walk.follow(text);
    } else if matches!(text.pieces().first(), Some(Piece::Unknown(cause)) if !cause.is_below()) {
        walk.floating = true;
        each_part(text, |part| walk.components.push(part));
    } else {
        match directory {
            Some(directory) if directory.prefix().starts_with('/') => walk.follow(directory),
            _ => walk.floating = true,
        }
        walk.follow(text);
    }
    walk.alias(directory);
    if walk.floating {
        walk.open = false;
    } else if let Some(index) = walk.components.iter().position(Part::has_unknown) {
        let last = walk.components.last().filter(|_| index + 1 < walk.components.len());
        walk.tail = last.filter(|last| !last.has_unknown()).cloned();
        walk.components.truncate(index + 1);
        walk.open = true;
    }
    walk
}

impl<'a> Walk<'a> {
    fn follow(&mut self, text: &'a Text) {
        each_part(text, |part| self.step(part, text));
    }

    /// Goes on by one component of `text`.
    fn step(&mut self, part: Part<'a>, text: &Text) {
        match part.exact() {
            Some("" | ".") => {}
            Some("..") => {
                if self.components.iter().any(Part::has_unknown) {
                    self.floating = true;
                    self.components.clear();
                    self.components.push(part_unknown(text));
                } else {
                    self.components.pop();
                }
            }
            _ if self.components.len() < DEEPEST => self.components.push(part),
            _ => {}
        }
    }

    /// Replaces names of the same places: `/proc/self/root`, `/proc/self/cwd`, `/private/etc`.
    fn alias(&mut self, directory: Option<&'a Text>) {
        for _ in 0..8 {
            let at = |index: usize| self.components.get(index).and_then(Part::exact);
            let process = || {
                at(1).is_some_and(|name| {
                    name == "self"
                        || name == "thread-self"
                        || (!name.is_empty() && name.chars().all(|c| c.is_ascii_digit()))
                })
            };
            let first = at(0);
            if first == Some("proc") && process() && at(2) == Some("root") {
                self.components.drain(..3);
            } else if first == Some("proc") && process() && at(2) == Some("cwd") {
                let rest: Vec<Part<'a>> = self.components.drain(3..).collect();
                self.components.clear();
                match directory {
                    Some(directory) if directory.prefix().starts_with('/') => {
                        self.follow(directory);
                    }
                    _ => self.floating = true,
                }
                self.components.extend(rest);
            } else if first.is_some_and(|name| name.eq_ignore_ascii_case("private"))
                && at(1).is_some_and(|name| {
                    ["etc", "var", "tmp"].iter().any(|own| name.eq_ignore_ascii_case(own))
                })
            {
                self.components.drain(..1);
            } else {
                return;
            }
        }
    }
}

fn part_unknown<'a>(text: &Text) -> Part<'a> {
    let unknown = Text::unknown(text.first_unknown().cloned().unwrap_or(Unknown::Joined));
    Part::Mixed(unknown.into())
}

/// Gives the pieces of a text between its slashes, in order.
fn each_part<'a>(text: &'a Text, mut give: impl FnMut(Part<'a>)) {
    let mut part = Part::Name("");
    for piece in text.pieces() {
        match piece {
            Piece::Literal(literal) => {
                for (index, name) in literal.split('/').enumerate() {
                    if index > 0 {
                        give(std::mem::replace(&mut part, Part::Name(name)));
                    } else if part == Part::Name("") {
                        part = Part::Name(name);
                    } else if let Part::Mixed(mixed) = &mut part {
                        mixed.push_str(name);
                    }
                }
            }
            other => {
                let mut mixed = match std::mem::replace(&mut part, Part::Name("")) {
                    Part::Name(name) => Text::literal(name),
                    Part::Mixed(mixed) => mixed.into_text(),
                };
                mixed.push(other.clone());
                part = Part::Mixed(mixed.into());
            }
        }
    }
    give(part);
}

/// The components of a known path.
fn names(path: &str) -> Route<'_> {
    let mut walk = Walk::default();
    let whole = Text::empty();
    for name in path.split('/') {
        walk.step(Part::Name(name), &whole);
    }
    walk.alias(None);
    walk.components
        .into_iter()
        .filter_map(|part| match part {
            Part::Name(name) => Some(Pattern::new(name)),
            Part::Mixed(_) => None,
        })
        .collect()
}

fn owned(route: &[Pattern<'_>]) -> Route<'static> {
    route.iter().map(|pattern| Pattern::new(pattern.text().to_owned())).collect()
}

/// Whether the path is at `root`, and whether it is below.
fn relation(walk: &Walk<'_>, root: &[Pattern<'_>]) -> (Truth, Truth) {
    let mut truth = Truth::Yes;
    for (index, name) in root.iter().enumerate() {
        let Some(part) = walk.components.get(index) else { return (Truth::No, Truth::No) };
        truth = truth.and(name.matches(part));
        if truth == Truth::No {
            return (Truth::No, Truth::No);
        }
        if walk.open && index + 1 == walk.components.len() {
            return (Truth::Maybe, Truth::Maybe);
        }
    }
    let deeper = walk.components.len() - root.len().min(walk.components.len());
    match deeper {
        0 => (truth, Truth::No),
        1 if walk.open && walk.components.last().is_some_and(|last| last.prefix().is_empty()) => {
            (truth.and(Truth::Maybe), truth)
        }
        _ => (Truth::No, truth),
    }
}

/// Whether the path begins with `root`.
fn prefix(path: &[Part<'_>], root: &[Pattern<'_>]) -> Truth {
    root.iter().zip(path).fold(Truth::Yes, |truth, (name, part)| truth.and(name.matches(part)))
}

/// Whether the path begins with `root`, every component spelled out with the same letters.
fn spelled(path: &[Part<'_>], root: &[Pattern<'_>]) -> bool {
    path.len() >= root.len()
        && root.iter().zip(path).all(|(name, part)| component::is(part, name.text()))
}

/// Whether `rest` is or is below what a glob of several components describes.
fn covers(open: bool, rest: &[Part<'_>], glob: &[Pattern<'_>]) -> Truth {
    let mut truth = Truth::Yes;
    for (index, name) in glob.iter().enumerate() {
        let Some(part) = rest.get(index) else { return Truth::No };
        truth = truth.and(name.matches(part));
        if open && index + 1 == rest.len() {
            return truth.and(Truth::Maybe);
        }
        if truth == Truth::No {
            return Truth::No;
        }
    }
    truth
}

#[cfg(test)]
mod tests {
    use super::*;
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
