//! Programs that pass, cut or count a stream, and the small ones that need no input.

use crate::interpret::producer::bytes::{from_bytes, to_bytes};
use crate::interpret::producer::{Arguments, Call, lines, sort_arguments, text_of};
use crate::model::value::{Piece, Text, Unknown};

pub(super) fn cat(call: &Call<'_>) -> Option<Text> {
    let arguments = call.arguments("u", &[])?;
    call.source(&arguments.operands)
}

pub(super) fn tee(call: &Call<'_>) -> Option<Text> {
    call.input.cloned()
}

/// Options of head and tail: `-n N`, `-c N`, `-N`, `-q`.
fn counted<'a>(call: &Call<'a>) -> Option<Arguments<'a>> {
    let mut words = call.exact()?;
    let old = words.first().and_then(|word| word.strip_prefix('-').filter(|_| word.len() > 1));
    let count = old.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()));
    if count.is_some() {
        words.remove(0);
    }
    let long = [("lines", 'n'), ("bytes", 'c'), ("quiet", 'q'), ("silent", 'q')];
    let mut arguments = sort_arguments(&words, "n:c:q", &long)?;
    if let Some(count) = count {
        arguments.options.push(('n', Some(count)));
    }
    (arguments.operands.len() <= 1).then_some(arguments)
}

/// A count with its sign; suffixes are not read.
fn count(text: &str) -> Option<(Option<char>, usize)> {
    let sign = text.chars().next().filter(|c| matches!(c, '+' | '-'));
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    digits.bytes().all(|byte| byte.is_ascii_digit()).then_some(())?;
    Some((sign, digits.parse().ok()?))
}

pub(super) fn head(call: &Call<'_>) -> Option<Text> {
    let arguments = counted(call)?;
    let text = call.source(&arguments.operands)?;
    if let Some(value) = arguments.value('c') {
        let bytes = to_bytes(text.prefix());
        let (sign, most) = count(value)?;
        return match sign {
            Some('-') => {
                text.exact()?;
                Some(text_of(bytes.get(..bytes.len().saturating_sub(most)).unwrap_or_default()))
            }
            _ if bytes.len() >= most => Some(text_of(bytes.get(..most)?)),
            _ => text.exact().map(Text::literal),
        };
    }
    let (sign, most) = count(arguments.value('n').unwrap_or("10"))?;
    if sign == Some('-') {
        let bytes = to_bytes(text.exact()?);
        let (all, _) = lines(&bytes);
        let kept = all.len().saturating_sub(most);
        let end = all.iter().take(kept).map(|line| line.len() + 1).sum::<usize>();
        return Some(text_of(bytes.get(..end)?));
    }
    if most == 0 {
        return Some(Text::empty());
    }
    // Pieces that are not known may hold line ends; the known lines before them are exact.
    let mut out = Text::empty();
    let mut left = most;
    for piece in text.pieces() {
        let Piece::Literal(literal) = piece else {
            out.push(piece.clone());
            continue;
        };
        for line in literal.split_inclusive('\n') {
            out.push_str(line);
            if line.ends_with('\n') {
                left -= 1;
                if left == 0 {
                    return Some(out);
                }
            }
        }
    }
    Some(out)
}

pub(super) fn tail(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let from_start = words.first().filter(|word| word.starts_with('+') && count(word).is_some());
    if let Some(first) = from_start {
        let bytes = call.source_bytes(words.get(1..)?)?;
        return Some(tail_of(&bytes, false, count(first)?));
    }
    let arguments = counted(call)?;
    let bytes = call.source_bytes(&arguments.operands)?;
    let by_bytes = arguments.has('c');
    let value = if by_bytes { arguments.value('c') } else { arguments.value('n') };
    Some(tail_of(&bytes, by_bytes, count(value.unwrap_or("10"))?))
}

fn tail_of(bytes: &[u8], by_bytes: bool, (sign, number): (Option<char>, usize)) -> Text {
    let from_start = sign == Some('+');
    let start = if by_bytes {
        if from_start { number.saturating_sub(1) } else { bytes.len().saturating_sub(number) }
    } else {
        let (all, _) = lines(bytes);
        let skipped =
            if from_start { number.saturating_sub(1) } else { all.len().saturating_sub(number) };
        all.iter().take(skipped).map(|line| line.len() + 1).sum()
    };
    text_of(bytes.get(start..).unwrap_or_default())
}

/// Bytes of an endless stream that are written down.
const ENDLESS: usize = 4096;

pub(super) fn yes(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let words = match words.as_slice() {
        ["--", rest @ ..] => rest,
        [first, ..] if first.starts_with("--") => return None,
        all => all,
    };
    let line = if words.is_empty() { "y\n".to_owned() } else { format!("{}\n", words.join(" ")) };
    let times = ENDLESS.min(call.max_bytes) / line.len();
    let mut out = Text::literal(line.repeat(times.max(1)));
    out.push(Piece::Unknown(Unknown::Limit));
    Some(out)
}

pub(super) fn seq(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let (mut separator, mut numbers) = ("\n", Vec::new());
    let mut words = words.into_iter();
    while let Some(word) = words.next() {
        match word {
            "-s" => separator = words.next()?,
            _ if word.starts_with("-s") => separator = word.strip_prefix("-s")?,
            _ if word.starts_with("--separator=") => {
                separator = word.strip_prefix("--separator=")?;
            }
            _ => {
                // Numbers in another notation have a format of their own.
                let number: i64 = word.parse().ok()?;
                (number.to_string() == word && number.unsigned_abs() < 1 << 53).then_some(())?;
                numbers.push(number);
            }
        }
    }
    let (first, step, last) = match numbers.as_slice() {
        [last] => (1, 1, *last),
        [first, last] => (*first, 1, *last),
        [first, step, last] if *step != 0 => (*first, *step, *last),
        _ => return None,
    };
    let mut out = String::new();
    let mut at = first;
    while (step > 0 && at <= last) || (step < 0 && at >= last) {
        if !out.is_empty() {
            out.push_str(separator);
        }
        out.push_str(&at.to_string());
        if out.len() > call.max_bytes {
            return None;
        }
        at = at.checked_add(step)?;
    }
    if !out.is_empty() {
        out.push('\n');
    }
    Some(Text::literal(out))
}

pub(super) fn basename(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let words = words.strip_prefix(&["--"]).unwrap_or(&words);
    let (path, suffix) = match words {
        [path] => (*path, ""),
        [path, suffix] => (*path, *suffix),
        _ => return None,
    };
    if path.starts_with('-') {
        return None;
    }
    let trimmed = path.trim_end_matches('/');
    if trimmed.is_empty() {
        return Some(Text::literal(if path.is_empty() { "\n" } else { "/\n" }));
    }
    let name = trimmed.rsplit('/').next().unwrap_or(trimmed);
    let name = name.strip_suffix(suffix).filter(|rest| !rest.is_empty()).unwrap_or(name);
    Some(Text::literal(format!("{name}\n")))
}

pub(super) fn dirname(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let words = words.strip_prefix(&["--"]).unwrap_or(&words);
    let mut out = String::new();
    for path in words {
        if path.starts_with('-') {
            return None;
        }
        let trimmed = path.trim_end_matches('/');
        let directory = match trimmed.rsplit_once('/') {
            _ if trimmed.is_empty() && !path.is_empty() => "/",
            Some((before, _)) => match before.trim_end_matches('/') {
                "" => "/",
                before => before,
            },
            None => ".",
        };
        out.push_str(directory);
        out.push('\n');
    }
    (!out.is_empty()).then(|| Text::literal(out))
}

pub(super) fn wc(call: &Call<'_>) -> Option<Text> {
    let long = [("lines", 'l'), ("words", 'w'), ("bytes", 'c')];
    let arguments = call.arguments("lwc", &long)?;
    let [(letter, _)] = arguments.options.as_slice() else { return None };
    let bytes = call.source_bytes(&arguments.operands)?;
    let number = match letter {
        'l' => bytes.split(|byte| *byte == b'\n').count() - 1,
        'c' => bytes.len(),
        _ => from_bytes(&bytes).split_ascii_whitespace().count(),
    };
    Some(Text::literal(match arguments.operands.as_slice() {
        [] => format!("{number}\n"),
        [name] => format!("{number} {name}\n"),
        _ => return None,
    }))
}
