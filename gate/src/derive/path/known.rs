//! Places that are known: lists of routes, and the roots of a context.

use super::{Route, covers, names, owned};
use crate::model::component::{self, Part, Pattern, Patterns};
use crate::model::context::Context;
use crate::model::rule::Knowledge;
use crate::model::value::Truth;

/// Routes that are compared with the same paths, found by their first component.
#[derive(Clone, Debug, Default)]
pub(super) struct Routes {
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
    pub(super) fn cover(&self, open: bool, path: &[Part<'_>]) -> Truth {
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
    pub(super) fn near(&self, path: &[Part<'_>]) -> impl Iterator<Item = &Route<'static>> {
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
    pub(super) system: Routes,
    pub(super) temporary: Vec<Route<'static>>,
    pub(super) home_parents: Vec<Route<'static>>,
    pub(super) root_home: Route<'static>,
    pub(super) home_settings: Routes,
    pub(super) harmless_devices: Vec<Route<'static>>,
    /// Whole names, of directories too.
    pub(super) sensitive_names: Patterns,
    pub(super) sensitive_endings: Patterns,
    pub(super) sensitive_globs: Patterns,
    pub(super) sensitive_paths: Vec<Route<'static>>,
    pub(super) harmless_endings: Patterns,
    pub(super) generated: Vec<String>,
    pub(super) generated_endings: Patterns,
    /// Files and directories that every program may read.
    pub(super) public: Routes,
    pub(super) control: Routes,
    pub(in crate::derive) protected_branches: Vec<String>,
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
    pub(super) workspaces: Vec<Route<'static>>,
    pub(super) home: Route<'static>,
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
