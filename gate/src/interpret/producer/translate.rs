//! `tr`: sets of bytes (GNU coreutils 9.5).

use crate::interpret::producer::bytes::to_bytes;
use crate::interpret::producer::{Call, text_of};
use crate::model::value::Text;

pub(super) fn tr(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    // Options end at the first set.
    let ends = words.iter().position(|word| !word.starts_with('-') || *word == "-");
    let ends = ends.unwrap_or(words.len());
    let (options, sets) = words.split_at_checked(ends)?;
    let (mut delete, mut squeeze, mut complement, mut truncate) = (false, false, false, false);
    for option in options {
        match *option {
            "--" => {}
            "--delete" => delete = true,
            "--squeeze-repeats" => squeeze = true,
            "--complement" => complement = true,
            "--truncate-set1" => truncate = true,
            _ => {
                for letter in
                    option.strip_prefix('-').filter(|rest| !rest.starts_with('-'))?.chars()
                {
                    match letter {
                        'd' => delete = true,
                        's' => squeeze = true,
                        'c' | 'C' => complement = true,
                        't' => truncate = true,
                        _ => return None,
                    }
                }
            }
        }
    }
    let first = set(sets.first()?, None)?;
    let first =
        if complement { (0..=255u8).filter(|byte| !first.contains(byte)).collect() } else { first };
    let second = match sets.get(1) {
        Some(text) => Some(set(text, Some(first.len()))?),
        None => None,
    };
    if sets.len() > 2 {
        return None;
    }
    let input = call.source_bytes(&[])?;
    let mut map: [u8; 256] = std::array::from_fn(|byte| u8::try_from(byte).unwrap_or_default());
    let squeezed: Vec<u8>;
    match (delete, squeeze, second) {
        (true, false, None) => squeezed = Vec::new(),
        (true, true, Some(second)) => squeezed = second,
        (false, true, None) => squeezed = first.clone(),
        (false, _, Some(second)) => {
            let last = *second.last()?;
            for (at, from) in first.iter().enumerate() {
                let to = match second.get(at) {
                    Some(to) => *to,
                    None if truncate => continue,
                    None => last,
                };
                if let Some(slot) = map.get_mut(usize::from(*from)) {
                    *slot = to;
                }
            }
            squeezed = if squeeze { second } else { Vec::new() };
        }
        _ => return None,
    }
    let mut out: Vec<u8> = Vec::with_capacity(input.len());
    for byte in input {
        if delete && first.contains(&byte) {
            continue;
        }
        let byte = if delete { byte } else { *map.get(usize::from(byte))? };
        if out.last() == Some(&byte) && squeezed.contains(&byte) {
            continue;
        }
        out.push(byte);
    }
    Some(text_of(&out))
}

enum Item {
    Byte(u8),
    /// A byte that a backslash made literal.
    Quoted(u8),
}

/// The bytes of a set in order. `fill` is the length `[x*]` fills a second set up to.
fn set(text: &str, fill: Option<usize>) -> Option<Vec<u8>> {
    let items = items(&to_bytes(text))?;
    let plain =
        |at: usize, byte: u8| matches!(items.get(at), Some(Item::Byte(own)) if *own == byte);
    let value = |at: usize| match items.get(at) {
        Some(Item::Byte(byte) | Item::Quoted(byte)) => Some(*byte),
        None => None,
    };
    let mut out: Vec<u8> = Vec::new();
    let mut at = 0;
    while let Some(byte) = value(at) {
        if plain(at, b'[') && plain(at + 1, b':') {
            let end =
                (at + 2..items.len()).find(|end| plain(*end, b':') && plain(end + 1, b']'))?;
            let name: Option<Vec<u8>> = (at + 2..end).map(value).collect();
            out.extend(class(&name?)?);
            at = end + 2;
        } else if plain(at, b'[')
            && plain(at + 1, b'=')
            && plain(at + 3, b'=')
            && plain(at + 4, b']')
        {
            out.push(value(at + 2)?);
            at += 5;
        } else if plain(at, b'[')
            && plain(at + 2, b'*')
            && (at + 3..items.len()).any(|end| plain(end, b']'))
        {
            let end = (at + 3..items.len()).find(|end| plain(*end, b']'))?;
            let digits: Option<Vec<u8>> = (at + 3..end).map(value).collect();
            let digits = String::from_utf8(digits?).ok()?;
            let repeated = value(at + 1)?;
            if end + 1 != items.len() {
                // What follows a filling repetition would have to be counted first.
                return None;
            }
            let times = match digits.as_str() {
                "" => fill?.saturating_sub(out.len()),
                octal if octal.starts_with('0') => usize::from_str_radix(octal, 8).ok()?,
                decimal => decimal.parse().ok()?,
            };
            if times > 256 {
                return None;
            }
            out.extend(std::iter::repeat_n(repeated, times));
            at = end + 1;
        } else if plain(at + 1, b'-') && value(at + 2).is_some() {
            let end = value(at + 2)?;
            if end < byte {
                return None;
            }
            out.extend(byte..=end);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
        if out.len() > 4096 {
            return None;
        }
    }
    Some(out)
}

fn items(bytes: &[u8]) -> Option<Vec<Item>> {
    let mut out = Vec::new();
    let mut bytes = bytes.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        if byte != b'\\' {
            out.push(Item::Byte(byte));
            continue;
        }
        out.push(Item::Quoted(match bytes.next() {
            None => b'\\',
            Some(b'a') => 7,
            Some(b'b') => 8,
            Some(b'f') => 12,
            Some(b'n') => b'\n',
            Some(b'r') => b'\r',
            Some(b't') => b'\t',
            Some(b'v') => 11,
            Some(first @ b'0'..=b'7') => {
                let mut value = u32::from(first - b'0');
                for _ in 0..2 {
                    let Some(digit) = bytes.next_if(|byte| (b'0'..=b'7').contains(byte)) else {
                        break;
                    };
                    value = value * 8 + u32::from(digit - b'0');
                }
                u8::try_from(value).ok()?
            }
            Some(other) => other,
        }));
    }
    Some(out)
}

fn class(name: &[u8]) -> Option<Vec<u8>> {
    let test: fn(&u8) -> bool = match name {
        b"alpha" => u8::is_ascii_alphabetic,
        b"digit" => u8::is_ascii_digit,
        b"alnum" => u8::is_ascii_alphanumeric,
        b"upper" => u8::is_ascii_uppercase,
        b"lower" => u8::is_ascii_lowercase,
        b"space" => |byte| matches!(byte, 9..=13 | 32),
        b"blank" => |byte| matches!(byte, 9 | 32),
        b"cntrl" => u8::is_ascii_control,
        b"graph" => u8::is_ascii_graphic,
        b"print" => |byte| matches!(byte, 32..=126),
        b"punct" => u8::is_ascii_punctuation,
        b"xdigit" => u8::is_ascii_hexdigit,
        _ => return None,
    };
    Some((0..=127u8).filter(test).collect())
}
