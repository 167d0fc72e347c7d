//! The quoting forms of `${x@Q}` and `${x@E}` (Bash manual 3.5.3, 3.1.2.4).

/// The text as the shell takes it in again: `${x@Q}`.
pub(super) fn quoted(text: &str) -> String {
    if !text.chars().any(char::is_control) {
        return format!("'{}'", text.replace('\'', "'\\''"));
    }
    let mut out = String::from("$'");
    for char in text.chars() {
        match char {
            '\u{7}' => out.push_str("\\a"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{b}' => out.push_str("\\v"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\u{1b}' => out.push_str("\\E"),
            '\\' => out.push_str("\\\\"),
            '\'' => out.push_str("\\'"),
            char if char.is_ascii_control() => {
                let code = u32::from(char);
                out.push('\\');
                for shift in [6, 3, 0] {
                    out.extend(char::from_digit((code >> shift) & 7, 8));
                }
            }
            char => out.push(char),
        }
    }
    out.push('\'');
    out
}

/// The text with the escapes of `$'...'` decoded: `${x@E}`. Bytes that are no character become
/// U+F700 + byte, as everywhere in the gate. `None` where bytes would have to be joined to
/// characters.
pub(super) fn decoded(text: &str) -> Option<String> {
    let mut out = String::new();
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        if char != '\\' {
            out.push(char);
            continue;
        }
        let Some(escape) = chars.next() else {
            out.push('\\');
            break;
        };
        let code = match escape {
            'a' => 7,
            'b' => 8,
            'e' | 'E' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            '\\' | '\'' | '"' | '?' => u32::from(escape),
            '0'..='7' => {
                let first = escape.to_digit(8).unwrap_or_default();
                digits(&mut chars, 8, 2, first).0 & 0xff
            }
            'x' | 'u' | 'U' => {
                let most = match escape {
                    'x' => 2,
                    'u' => 4,
                    _ => 8,
                };
                let (code, count) = digits(&mut chars, 16, most, 0);
                if count == 0 {
                    out.push('\\');
                    out.push(escape);
                    continue;
                }
                if escape != 'x' {
                    if code == 0 {
                        return Some(out);
                    }
                    out.push(char::from_u32(code)?);
                    continue;
                }
                code
            }
            'c' => {
                let control = chars.next()?;
                if !control.is_ascii() {
                    return None;
                }
                u32::from(control.to_ascii_uppercase()) & 0x1f
            }
            other => {
                out.push('\\');
                out.push(other);
                continue;
            }
        };
        match code {
            // A NUL ends the value.
            0 => return Some(out),
            1..0x80 => out.extend(char::from_u32(code)),
            _ => return None,
        }
    }
    Some(out)
}

fn digits(
    chars: &mut std::iter::Peekable<std::str::Chars>,
    base: u32,
    most: usize,
    first: u32,
) -> (u32, usize) {
    let (mut value, mut count) = (first, 0);
    while count < most {
        let Some(digit) = chars.peek().and_then(|char| char.to_digit(base)) else { break };
        chars.next();
        value = value.wrapping_mul(base).wrapping_add(digit);
        count += 1;
    }
    (value, count)
}
