//! Filters that work line by line.

use crate::interpret::producer::bytes::{from_bytes, to_bytes};
use crate::interpret::producer::pattern::{Syntax, compile};
use crate::interpret::producer::{Call, join, lines, text_of};
use crate::model::value::Text;

pub(super) fn tac(call: &Call<'_>) -> Option<Text> {
    let arguments = call.arguments("", &[])?;
    if arguments.operands.len() > 1 {
        return None;
    }
    let bytes = call.source_bytes(&arguments.operands)?;
    let mut all: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    all.reverse();
    Some(text_of(&all.concat()))
}

pub(super) fn rev(call: &Call<'_>) -> Option<Text> {
    let arguments = call.arguments("", &[])?;
    let text = call.source(&arguments.operands)?;
    let text = text.exact()?;
    let mut out = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (body, end) = line.strip_suffix('\n').map_or((line, ""), |body| (body, "\n"));
        out.extend(body.chars().rev());
        out.push_str(end);
    }
    Some(Text::literal(out))
}

/// Ranges of a list such as `1,3-5,7-`; both ends from 1 and inclusive.
fn ranges(list: &str) -> Option<Vec<(usize, usize)>> {
    list.split([',', ' '])
        .map(|item| {
            let (from, to) = match item.split_once('-') {
                Some(("", "")) => return None,
                Some(("", to)) => (1, to.parse().ok()?),
                Some((from, "")) => (from.parse().ok()?, usize::MAX),
                Some((from, to)) => (from.parse().ok()?, to.parse().ok()?),
                None => {
                    let only = item.parse().ok()?;
                    (only, only)
                }
            };
            (from >= 1 && from <= to).then_some((from, to))
        })
        .collect()
}

pub(super) fn cut(call: &Call<'_>) -> Option<Text> {
    let long = [
        ("bytes", 'b'),
        ("characters", 'c'),
        ("fields", 'f'),
        ("delimiter", 'd'),
        ("only-delimited", 's'),
        ("complement", 'C'),
        ("output-delimiter", 'O'),
    ];
    let arguments = call.arguments("b:c:f:d:snCO:", &long)?;
    let bytes = call.source_bytes(&arguments.operands)?;
    let list = arguments.value('b').or(arguments.value('c'));
    let complement = arguments.has('C');
    let within = |ranges: &[(usize, usize)], at: usize| {
        ranges.iter().any(|(from, to)| (*from..=*to).contains(&at)) != complement
    };
    let (all, _) = lines(&bytes);
    let mut out: Vec<Vec<u8>> = Vec::new();
    if let Some(list) = list {
        if arguments.has('f') || arguments.has('O') || (arguments.has('c') && !bytes.is_ascii()) {
            return None;
        }
        let ranges = ranges(list)?;
        for line in all {
            let kept = line.iter().enumerate().filter(|(at, _)| within(&ranges, at + 1));
            out.push(kept.map(|(_, byte)| *byte).collect());
        }
        return Some(join(&out, true));
    }
    let ranges = ranges(arguments.value('f')?)?;
    let delimiter = to_bytes(arguments.value('d').unwrap_or("\t"));
    let [delimiter] = delimiter.as_slice() else { return None };
    let between = to_bytes(arguments.value('O').unwrap_or_default());
    let between = if arguments.has('O') { between } else { vec![*delimiter] };
    for line in all {
        if !line.contains(delimiter) {
            if !arguments.has('s') {
                out.push(line.to_vec());
            }
            continue;
        }
        let kept: Vec<&[u8]> = line
            .split(|byte| byte == delimiter)
            .enumerate()
            .filter(|(at, _)| within(&ranges, at + 1))
            .map(|(_, field)| field)
            .collect();
        out.push(kept.join(between.as_slice()));
    }
    Some(join(&out, true))
}

pub(super) fn sort(call: &Call<'_>) -> Option<Text> {
    let long = [("reverse", 'r'), ("unique", 'u'), ("numeric-sort", 'n')];
    let arguments = call.arguments("run", &long)?;
    let bytes = call.source_bytes(&arguments.operands)?;
    let (mut all, _) = lines(&bytes);
    if arguments.has('n') {
        // Equal numbers of different spelling would be ordered by the locale.
        let plain = |line: &&[u8]| {
            line.iter().all(u8::is_ascii_digit)
                && !line.is_empty()
                && line.len() < 18
                && !(line.len() > 1 && line.starts_with(b"0"))
        };
        if !all.iter().all(plain) {
            return None;
        }
        all.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    } else {
        // Only these characters have the same order in every locale.
        let plain = |line: &&[u8]| {
            line.iter().all(|byte| byte.is_ascii_digit() || byte.is_ascii_lowercase())
        };
        if all.len() > 1 && !all.iter().all(plain) {
            return None;
        }
        all.sort_unstable();
    }
    if arguments.has('r') {
        all.reverse();
    }
    if arguments.has('u') {
        all.dedup();
    }
    Some(join(&all, true))
}

pub(super) fn uniq(call: &Call<'_>) -> Option<Text> {
    let long = [("count", 'c'), ("repeated", 'd'), ("unique", 'u')];
    let arguments = call.arguments("cdu", &long)?;
    if arguments.operands.len() > 1 {
        return None;
    }
    let bytes = call.source_bytes(&arguments.operands)?;
    let (all, _) = lines(&bytes);
    let mut out: Vec<Vec<u8>> = Vec::new();
    for run in all.chunk_by(|a, b| a == b) {
        let Some(first) = run.first() else { continue };
        if (arguments.has('d') && run.len() < 2) || (arguments.has('u') && run.len() > 1) {
            continue;
        }
        let mut line = Vec::new();
        if arguments.has('c') {
            line.extend(format!("{:7} ", run.len()).into_bytes());
        }
        line.extend_from_slice(first);
        out.push(line);
    }
    Some(join(&out, true))
}

pub(super) fn paste(call: &Call<'_>) -> Option<Text> {
    let arguments = call.arguments("sd:", &[("serial", 's'), ("delimiters", 'd')])?;
    if !arguments.has('s') || arguments.operands.len() > 1 {
        return None;
    }
    let bytes = call.source_bytes(&arguments.operands)?;
    let mut delimiters: Vec<Vec<u8>> = Vec::new();
    let mut list = arguments.value('d').unwrap_or("\t").chars();
    while let Some(c) = list.next() {
        delimiters.push(match c {
            '\\' => match list.next()? {
                'n' => vec![b'\n'],
                't' => vec![b'\t'],
                '0' => Vec::new(),
                '\\' => vec![b'\\'],
                _ => return None,
            },
            c => to_bytes(c.encode_utf8(&mut [0; 4])),
        });
    }
    if delimiters.is_empty() {
        delimiters.push(Vec::new());
    }
    let (all, _) = lines(&bytes);
    let mut out = Vec::new();
    let mut delimiter = delimiters.iter().cycle();
    for (at, line) in all.iter().enumerate() {
        if at > 0 {
            out.extend_from_slice(delimiter.next()?);
        }
        out.extend_from_slice(line);
    }
    out.push(b'\n');
    Some(text_of(&out))
}

pub(super) fn fold(call: &Call<'_>) -> Option<Text> {
    let arguments = call.arguments("w:b", &[("width", 'w'), ("bytes", 'b')])?;
    let bytes = call.source_bytes(&arguments.operands)?;
    let width: usize = arguments.value('w').unwrap_or("80").parse().ok()?;
    let plain = |byte: &u8| *byte == b'\n' || (32..127).contains(byte);
    if width == 0 || !bytes.iter().all(plain) {
        return None;
    }
    let (all, closed) = lines(&bytes);
    let folded: Vec<Vec<u8>> =
        all.iter().map(|line| line.chunks(width).collect::<Vec<_>>().join(&b'\n')).collect();
    Some(join(&folded, closed))
}

pub(super) fn grep(name: &str, call: &Call<'_>) -> Option<Text> {
    let long = [
        ("invert-match", 'v'),
        ("ignore-case", 'i'),
        ("extended-regexp", 'E'),
        ("fixed-strings", 'F'),
        ("line-regexp", 'x'),
        ("only-matching", 'o'),
        ("regexp", 'e'),
        ("no-filename", 'h'),
        ("text", 'a'),
    ];
    let mut arguments = call.arguments("viEFGxoe:ha", &long)?;
    let pattern = match arguments.value('e') {
        Some(pattern) => pattern,
        None if arguments.operands.is_empty() => return None,
        None => arguments.operands.remove(0),
    };
    let one_pattern = arguments.options.iter().filter(|(letter, _)| *letter == 'e').count() < 2;
    if !one_pattern || arguments.operands.len() > 1 || pattern.contains('\n') {
        return None;
    }
    let text = call.source(&arguments.operands)?;
    let text = text.exact()?;
    // Bytes that are no text make the file binary.
    if text.chars().any(|c| c == '\0' || ('\u{f780}'..='\u{f7ff}').contains(&c)) {
        return None;
    }
    let syntax = if arguments.has('F') || name == "fgrep" {
        Syntax::Fixed
    } else if arguments.has('E') || name == "egrep" {
        Syntax::Extended
    } else {
        Syntax::Basic
    };
    let only = arguments.has('o');
    let expression = compile(pattern, syntax, arguments.has('i'), arguments.has('x'), only)?;
    let bytes = to_bytes(text);
    let (all, _) = lines(&bytes);
    let mut out: Vec<Vec<u8>> = Vec::new();
    for line in all {
        let line = from_bytes(line);
        if only {
            if arguments.has('v') {
                return None;
            }
            let found = expression.find_iter(&line).filter(|found| !found.is_empty());
            out.extend(found.map(|found| to_bytes(found.as_str())));
        } else if expression.is_match(&line) != arguments.has('v') {
            out.push(to_bytes(&line));
        }
    }
    Some(join(&out, true))
}
