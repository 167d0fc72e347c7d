//! Links that a text makes itself: what is done through them is done to what they lead to.
//!
//! Takes the trace and the facts; gives further facts. Links that were there before are not known.

use crate::derive::path::Paths;
use crate::model::fact::{EffectKind, Fact, Object};
use crate::model::trace::{Invocation, Trace};
use crate::model::value::Text;

/// The most links that are followed.
const LINKS: usize = 32;

/// How often a link may lead through another.
const DEPTH: usize = 4;

/// A link: its path, and the path it leads to, both absolute.
struct Link {
    path: String,
    target: String,
}

/// Facts about what is reached through links that the trace makes.
pub(super) fn through(trace: &Trace, facts: &[Fact], paths: &Paths<'_>, cwd: &str) -> Vec<Fact> {
    let mut links: Vec<Link> = Vec::new();
    let mut makers = Vec::new();
    for (index, invocation) in trace.invocations.iter().enumerate() {
        if links.len() < LINKS && matches!(invocation.name.as_deref(), Some("ln" | "gln" | "link"))
        {
            makers.push(index);
            made(invocation, paths, cwd, &mut links);
        }
    }
    links.truncate(LINKS);
    if links.is_empty() {
        return Vec::new();
    }
    let mut all = Vec::new();
    let mut last: Vec<Fact> = facts
        .iter()
        .filter(|fact| fact.invocation.is_none_or(|index| !makers.contains(&index)))
        .cloned()
        .collect();
    for _ in 0..DEPTH {
        last = last.iter().flat_map(|fact| followed(fact, &links, paths)).collect();
        last.truncate(LINKS * LINKS);
        if last.is_empty() {
            break;
        }
        all.extend_from_slice(&last);
    }
    all
}

/// The links that one command makes: `ln [-s] TARGET... PLACE`, where the place may be a directory,
/// or `ln TARGET`.
fn made(invocation: &Invocation, paths: &Paths<'_>, cwd: &str, links: &mut Vec<Link>) {
    let here = match invocation.directories.as_slice() {
        [] => vec![Text::literal(cwd)],
        own => own.to_vec(),
    };
    let reading = &invocation.reading;
    let symbolic = reading.option("-s").is_some() && reading.option("-r").is_none();
    let operands: Vec<&str> =
        reading.operands.iter().map_while(|operand| operand.exact()).collect();
    if operands.len() != reading.operands.len() {
        return;
    }
    let given = reading.option("-t").and_then(|option| option.value.as_ref()?.exact());
    let (targets, place) = match (operands.as_slice(), given) {
        (targets, Some(place)) => (targets, place),
        ([target], None) => (std::slice::from_ref(target), "."),
        ([targets @ .., place], None) => (targets, *place),
        ([], None) => return,
    };
    let absolute = |path: &str| -> Vec<String> {
        let object = paths.object(&Text::literal(path), &here);
        object.resolved.iter().filter_map(Text::exact).map(str::to_owned).collect()
    };
    for target in targets {
        let base = target.trim_end_matches('/').rsplit('/').next().unwrap_or(target);
        for path in [place.to_owned(), format!("{place}/{base}")] {
            for path in absolute(&path) {
                // A symbolic link is read from where it stands.
                let leads = if symbolic && !target.starts_with('/') {
                    let (folder, _) = path.rsplit_once('/').unwrap_or_default();
                    absolute(&format!("{folder}/{target}"))
                } else {
                    absolute(target)
                };
                for target in leads {
                    if target != path && links.len() < LINKS {
                        links.push(Link { path: path.clone(), target });
                    }
                }
            }
        }
    }
}

/// What a fact means for what links lead to.
fn followed(fact: &Fact, links: &[Link], paths: &Paths<'_>) -> Vec<Fact> {
    let Object::Path(object) = &fact.object else { return Vec::new() };
    // These are about the link itself.
    let itself = matches!(fact.kind, EffectKind::Delete | EffectKind::Move | EffectKind::Create);
    let mut out = Vec::new();
    for resolved in &object.resolved {
        let known = resolved.prefix();
        for link in links {
            let Some(rest) = known.strip_prefix(link.path.as_str()) else { continue };
            let whole = rest.is_empty() && resolved.is_exact();
            if (whole && itself) || !(whole || rest.starts_with('/')) {
                continue;
            }
            let mut text = Text::literal(format!("{}{rest}", link.target));
            for piece in resolved.pieces().iter().skip(1) {
                text.push(piece.clone());
            }
            let object = paths.object(&text, &[Text::literal("/")]);
            out.push(Fact { object: Object::Path(Box::new(object)), ..fact.clone() });
        }
    }
    out
}
