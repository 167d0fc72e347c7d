//! YAML read into a tree; the parser's places lead to the bytes of every text.

use std::collections::HashMap;
use std::rc::Rc;

use saphyr_parser::{Event, Parser, ScalarStyle, Span};

use crate::scan::mapped::Mapped;
use crate::scan::tree::{DEPTH, Node, Unit, align, escaped_units, plain_units};

/// The documents of a file, and what stopped the reading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Documents {
    /// Each one's value.
    pub documents: Vec<Rc<Node>>,
    /// One sentence; none where the whole file was read.
    pub trouble: Option<String>,
}

/// A list or table that is not closed yet.
struct Open {
    anchor: usize,
    tagged: bool,
    node: Node,
    key: Option<Mapped>,
}

/// Reads a file. Never more than [`DEPTH`] levels.
pub fn read(text: &str) -> Documents {
    let shift = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let offsets: Vec<usize> =
        text.char_indices().map(|(at, _)| at).chain(std::iter::once(text.len())).collect();
    let mut out = Documents::default();
    let mut anchors: HashMap<usize, Rc<Node>> = HashMap::new();
    let mut open: Vec<Open> = Vec::new();
    for event in Parser::new_from_str(text) {
        let (event, span) = match event {
            Ok(event) => event,
            Err(error) => {
                out.trouble = Some(format!("not YAML: {error}"));
                break;
            }
        };
        let done = match event {
            Event::Scalar(value, style, anchor, tag) => {
                let mapped = scalar(text, &offsets, shift, &value, style, span);
                let plain = tag.is_none_or(|tag| tag.is_yaml_core_schema());
                let node = Rc::new(if plain { Node::Text(mapped) } else { Node::Other });
                anchors.insert(anchor, Rc::clone(&node));
                node
            }
            Event::Alias(anchor) => {
                anchors.get(&anchor).cloned().unwrap_or_else(|| Rc::new(Node::Other))
            }
            Event::SequenceStart(anchor, ref tag) | Event::MappingStart(anchor, ref tag) => {
                if open.len() >= DEPTH {
                    out.trouble = Some(format!("nested deeper than {DEPTH} levels"));
                    break;
                }
                let list = matches!(event, Event::SequenceStart(..));
                let node = if list { Node::List(Vec::new()) } else { Node::Table(Vec::new()) };
                let tagged = tag.as_ref().is_some_and(|tag| !tag.is_yaml_core_schema());
                open.push(Open { anchor, tagged, node, key: None });
                continue;
            }
            Event::SequenceEnd | Event::MappingEnd => {
                let Some(Open { anchor, tagged, node, .. }) = open.pop() else { continue };
                let node = Rc::new(if tagged { Node::Other } else { node });
                anchors.insert(anchor, Rc::clone(&node));
                node
            }
            _ => continue,
        };
        put(&mut open, &mut out.documents, done);
    }
    // What was begun before a mistake is still worth a look.
    while let Some(Open { node, .. }) = open.pop() {
        put(&mut open, &mut out.documents, Rc::new(node));
    }
    out
}

fn put(open: &mut [Open], documents: &mut Vec<Rc<Node>>, done: Rc<Node>) {
    let Some(Open { node, key, .. }) = open.last_mut() else {
        documents.push(done);
        return;
    };
    match node {
        Node::List(items) => items.push(done),
        Node::Table(entries) => match key.take() {
            // A key that is no text has no name here.
            None => *key = Some(done.mapped().cloned().unwrap_or_default()),
            Some(key) => entries.push((key, done)),
        },
        Node::Text(_) | Node::Other => {}
    }
}

/// The value of a scalar with the bytes it is written with.
fn scalar(
    text: &str,
    offsets: &[usize],
    shift: usize,
    value: &str,
    style: ScalarStyle,
    span: Span,
) -> Mapped {
    let byte = |index: usize| offsets.get(index).copied().unwrap_or(text.len());
    let (start, end) = (byte(span.start.index()), byte(span.end.index()));
    let source = text.get(start..end).unwrap_or_default();
    let (start, source) = behind_properties(start, source);
    let mut units: Vec<Unit> = Vec::new();
    match style {
        ScalarStyle::Plain => plain_units(source, start + shift, &mut units),
        ScalarStyle::SingleQuoted => {
            let inside = source.strip_prefix('\'').unwrap_or(source);
            let shifted = start + shift + source.len() - inside.len();
            let inside = inside.strip_suffix('\'').unwrap_or(inside);
            let mut all = Vec::new();
            plain_units(inside, shifted, &mut all);
            let mut rest = all.into_iter().peekable();
            while let Some(mut unit) = rest.next() {
                // A quote is written twice.
                if unit.character == Some('\'')
                    && let Some(second) = rest.next_if(|next| next.character == Some('\''))
                {
                    unit.region.end = second.region.end;
                }
                units.push(unit);
            }
        }
        ScalarStyle::DoubleQuoted => {
            let inside = source.strip_prefix('"').unwrap_or(source);
            let shifted = start + shift + source.len() - inside.len();
            let inside = inside.strip_suffix('"').unwrap_or(inside);
            escaped_units(inside, shifted, &mut units);
        }
        ScalarStyle::Literal | ScalarStyle::Folded => {
            block_units(source, start + shift, value, &mut units);
        }
    }
    align(value, &units)
}

/// The scalar itself: an anchor (`&name`) and a tag (`!!str`) before it left out.
fn behind_properties(start: usize, source: &str) -> (usize, &str) {
    let mut rest = source;
    while rest.starts_with(['&', '!']) {
        let word = rest.find(|c: char| c.is_whitespace()).unwrap_or(rest.len());
        rest = rest.get(word..).unwrap_or_default().trim_start();
    }
    (start + source.len() - rest.len(), rest)
}

/// Characters of a block scalar: the line of its indicator and the indentation left out.
fn block_units(source: &str, at: usize, value: &str, units: &mut Vec<Unit>) {
    let headed = source.starts_with(['|', '>']);
    let blanks = |line: &str| line.len() - line.trim_start_matches(' ').len();
    let mut lines = Vec::new();
    let mut start = 0;
    for line in source.split_inclusive('\n') {
        lines.push((start, line));
        start += line.len();
    }
    let content = lines.get(usize::from(headed)..).unwrap_or_default();
    // How far the first line with letters is indented in the file and in the value.
    let there = content.iter().find(|(_, line)| !line.trim().is_empty()).map_or(0, |l| blanks(l.1));
    let here = value.lines().find(|line| !line.trim().is_empty()).map_or(0, blanks);
    let indent = there.saturating_sub(here);
    for (index, (start, line)) in content.iter().enumerate() {
        // The parser's place may begin behind the indentation of the first line.
        let first = index == 0 && !headed;
        let skip = if first { blanks(line).saturating_sub(here) } else { blanks(line).min(indent) };
        plain_units(line.get(skip..).unwrap_or_default(), at + start + skip, units);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each text of a tree as `value` and as written.
    fn texts(file: &str, node: &Node, out: &mut Vec<(String, String)>) {
        match node {
            Node::Text(mapped) => {
                let region = mapped.between(0, mapped.text().len());
                let written = file.get(region.start..region.end).unwrap();
                out.push((mapped.text().to_owned(), written.to_owned()));
            }
            Node::List(items) => items.iter().for_each(|item| texts(file, item, out)),
            Node::Table(entries) => entries.iter().for_each(|(_, node)| texts(file, node, out)),
            Node::Other => {}
        }
    }

    #[test]
    fn every_style_leads_back_to_its_bytes() {
        let file = "é: é\na: plain text\nb: 'it''s'\nc: \"x\\ty\\u00e9\"\nd: |\n  one\n    two\n\n  three\ne: >-\n  f\n  g\n\n  h\nf: more\n   lines\ng: |2-\n    x\nh: [a, \"b\"]\ni: &x !!str j\n";
        let out = read(file);
        assert_eq!(out.trouble, None);
        let mut got = Vec::new();
        out.documents.iter().for_each(|node| texts(file, node, &mut got));
        let want = [
            ("é", "é"),
            ("plain text", "plain text"),
            ("it's", "it''s"),
            ("x\tyé", "x\\ty\\u00e9"),
            ("one\n  two\n\nthree\n", "one\n    two\n\n  three\n"),
            ("f g\nh", "f\n  g\n\n  h"),
            ("more lines", "more\n   lines"),
            ("  x", "  x"),
            ("a", "a"),
            ("b", "b"),
            ("j", "j"),
        ];
        let want: Vec<(String, String)> =
            want.into_iter().map(|(a, b)| (a.to_owned(), b.to_owned())).collect();
        assert_eq!(got, want);
    }

    #[test]
    fn the_middle_of_a_block_is_found() {
        let file = "\u{feff}jobs:\r\n  - run: |\r\n      cd x\r\n      rm y\r\n";
        let out = read(file);
        let node = out.documents.first().unwrap().get("jobs").unwrap();
        let run = node.items().first().unwrap().get("run").unwrap().mapped().unwrap();
        assert_eq!(run.text(), "cd x\nrm y\n");
        let region = run.between(5, 9);
        assert_eq!(file.get(region.start..region.end).unwrap(), "rm y");
    }

    #[test]
    fn odd_files_do_no_harm() {
        for file in
            ["", "a: [", "a: *x", "? [a]\n: b", "!!x y", "\t", "- - - -", "a: \"\\", "%YAML"]
        {
            let _ = read(file);
        }
        assert!(read(&"[".repeat(5000)).trouble.is_some());
    }
}
