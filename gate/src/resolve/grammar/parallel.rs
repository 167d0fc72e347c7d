//! GNU parallel: a command template and the words it is filled with (GNU parallel manual).

use crate::model::fact::CodePlace;
use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::utility::CarryScope;
use crate::model::value::{Field, Piece, Text, Unknown};
use crate::resolve::carry::join;
use crate::resolve::grammar::Scene;
use crate::resolve::items;

/// The most jobs that are followed one by one.
const JOBS: usize = 64;

/// Replacement strings that stand for all or a part of an item.
const MARKS: &[&str] = &["{}", "{.}", "{/}", "{//}", "{/.}"];

/// One list of items behind `:::` and its kin.
struct Source {
    items: Vec<Field>,
    /// Whether the items go with those of the list before, one by one.
    linked: bool,
}

/// Reads the template among the operands and fills it with the items that are known.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    let mut template: Vec<Field> = Vec::new();
    let mut sources: Vec<Source> = Vec::new();
    let mut files = false;
    for word in &reading.operands {
        match word.exact() {
            Some(mark @ (":::" | ":::+" | "::::" | "::::+")) => {
                files = mark.starts_with("::::");
                let mut source = Source { items: Vec::new(), linked: mark.ends_with('+') };
                if files {
                    source.items.push(items::unknown(Unknown::Item, word.site));
                }
                sources.push(source);
            }
            _ => match sources.last_mut() {
                Some(source) if !files => source.items.push(word.clone()),
                Some(_) => {}
                None => template.push(word.clone()),
            },
        }
    }
    if sources.is_empty() {
        let split = items::split(reading, true);
        let known = match split {
            Some(split) if reading.option("-a").is_none() => {
                items::items(scene.surroundings.input, &split, scene.site)
            }
            _ => None,
        };
        let items = known.unwrap_or_else(|| vec![items::unknown(Unknown::Item, scene.site)]);
        sources.push(Source { items, linked: false });
    }
    let remote = ["-S", "--sshloginfile"].iter().any(|name| reading.option(name).is_some());
    let scope = if remote { CarryScope::Remote } else { CarryScope::Local };
    for job in jobs(&sources, scene.site) {
        let text = fill(&template, &job);
        let site = template.first().map_or(scene.site, |word| word.site);
        carried.push(Carried::Script {
            text,
            parameters: Vec::new(),
            place: CodePlace::Operand,
            scope,
            directory: None,
            same_shell: false,
            site,
        });
    }
    let inputs = reading.operands.len() - template.len();
    reading.operands.truncate(reading.operands.len() - inputs);
    reading.complete = true;
}

/// Every combination of items, those of linked lists side by side.
fn jobs(sources: &[Source], site: Site) -> Vec<Vec<Field>> {
    let mut jobs: Vec<Vec<Field>> = vec![Vec::new()];
    let mut last = 0;
    for source in sources {
        if source.linked && last > 0 {
            for (index, job) in jobs.iter_mut().enumerate() {
                let item = source.items.get(index % last);
                job.push(item.cloned().unwrap_or_else(|| Field::literal("", site)));
            }
            continue;
        }
        let mut next = Vec::new();
        for job in &jobs {
            for item in &source.items {
                if next.len() == JOBS {
                    break;
                }
                let mut longer = job.clone();
                longer.push(item.clone());
                next.push(longer);
            }
        }
        let all = jobs.len().saturating_mul(source.items.len());
        if all > JOBS {
            let unknown = items::unknown(Unknown::Limit, site);
            next.push(vec![unknown; jobs.first().map_or(1, |job| job.len() + 1)]);
        }
        last = source.items.len();
        jobs = next;
    }
    jobs
}

/// The text of one job: marks replaced by items, or the items behind the template.
fn fill(template: &[Field], job: &[Field]) -> Text {
    let all = join(&job.iter().map(quoted).collect::<Vec<_>>());
    if template.is_empty() {
        return join(job);
    }
    let mut replaced = false;
    let mut text = Text::empty();
    for piece in join(template).pieces() {
        let Piece::Literal(literal) = piece else {
            text.push(piece.clone());
            continue;
        };
        let mut rest = literal.as_str();
        while let Some((before, mark, behind)) = next_mark(rest) {
            text.push_str(before);
            let digits: String = mark.chars().filter(char::is_ascii_digit).collect();
            let item =
                digits.parse::<usize>().ok().and_then(|number| job.get(number.wrapping_sub(1)));
            let plain = mark.trim_matches(['{', '}']).chars().all(|c| c.is_ascii_digit());
            match item {
                Some(item) if plain => text.extend(&quoted(item).text),
                None if plain => text.extend(&all),
                _ => text.push(Piece::Unknown(Unknown::Item)),
            }
            replaced = true;
            rest = behind;
        }
        text.push_str(rest);
    }
    if !replaced {
        text.push_str(" ");
        text.extend(&all);
    }
    text
}

/// The first replacement string, with what stands before and behind it.
fn next_mark(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    while let Some(start) = text.get(from..)?.find('{').map(|at| at + from) {
        let end = text.get(start..)?.find('}').map(|at| at + start + 1)?;
        let mark = text.get(start..end)?;
        let inner = mark.trim_matches(['{', '}']);
        let numbered = inner.trim_start_matches(|c: char| c.is_ascii_digit());
        let known = MARKS.contains(&mark)
            || (inner.len() > numbered.len() && matches!(numbered, "" | "." | "/" | "//" | "/."));
        if known {
            return Some((text.get(..start)?, mark, text.get(end..)?));
        }
        from = start + 1;
    }
    None
}

/// An item as parallel quotes it for the shell: one word, whatever its characters are.
fn quoted(item: &Field) -> Field {
    let mut text = Text::empty();
    for piece in item.text.pieces() {
        match piece {
            Piece::Literal(literal) => {
                for character in literal.chars() {
                    let plain = character.is_alphanumeric() || "_-./:=+,@%^".contains(character);
                    if character == '\n' {
                        text.push_str("'\n'");
                        continue;
                    }
                    if !plain {
                        text.push_str("\\");
                    }
                    text.push_str(character.encode_utf8(&mut [0; 4]));
                }
            }
            other => text.push(other.clone()),
        }
    }
    Field { text, arity: item.arity, site: item.site, quoted: item.quoted }
}
