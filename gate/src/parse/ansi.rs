//! The escapes of `$'...'` (Bash manual 3.1.2.4).

/// The first of the characters that stand for bytes which are not valid UTF-8.
const BYTE_BASE: u32 = 0xF700;

/// Decodes the text between `$'` and `'`. A NUL ends the value, as it does in the shell; bytes that
/// are not valid UTF-8 become the characters U+F700 + byte.
pub(super) fn decode(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        if c != '\\' {
            push_char(&mut bytes, c);
            continue;
        }
        let Some(escape) = rest.next() else {
            bytes.push(b'\\');
            break;
        };
        match escape {
            'a' => bytes.push(7),
            'b' => bytes.push(8),
            'e' | 'E' => bytes.push(27),
            'f' => bytes.push(12),
            'n' => bytes.push(b'\n'),
            'r' => bytes.push(b'\r'),
            't' => bytes.push(b'\t'),
            'v' => bytes.push(11),
            '\\' | '\'' | '"' | '?' => push_char(&mut bytes, escape),
            '0'..='7' => {
                let mut value = escape.to_digit(8).unwrap_or(0);
                for _ in 0..2 {
                    let Some(digit) = rest.peek().and_then(|c| c.to_digit(8)) else { break };
                    value = value * 8 + digit;
                    rest.next();
                }
                bytes.push(low_byte(value));
            }
            'x' => {
                let braced = rest.peek() == Some(&'{');
                if braced {
                    rest.next();
                }
                let (value, digits) = hexadecimal(&mut rest, if braced { usize::MAX } else { 2 });
                if braced {
                    if rest.peek() == Some(&'}') {
                        rest.next();
                    }
                    bytes.push(low_byte(value));
                } else if digits == 0 {
                    bytes.extend(b"\\x");
                } else {
                    bytes.push(low_byte(value));
                }
            }
            'u' | 'U' => {
                let most = if escape == 'u' { 4 } else { 8 };
                let (value, digits) = hexadecimal(&mut rest, most);
                if digits == 0 {
                    bytes.push(b'\\');
                    push_char(&mut bytes, escape);
                } else {
                    push_code_point(&mut bytes, value);
                }
            }
            'c' => match rest.next() {
                None => bytes.extend(b"\\c"),
                Some(control) => {
                    if control == '\\' && rest.peek() == Some(&'\\') {
                        rest.next();
                    }
                    match u8::try_from(control) {
                        Ok(b'?') => bytes.push(0x7f),
                        Ok(byte) if byte.is_ascii() => {
                            bytes.push(byte.to_ascii_uppercase() & 0x1f);
                        }
                        _ => push_control_of_multibyte(&mut bytes, control),
                    }
                }
            },
            other => {
                bytes.push(b'\\');
                push_char(&mut bytes, other);
            }
        }
    }
    if let Some(end) = bytes.iter().position(|byte| *byte == 0) {
        bytes.truncate(end);
    }
    text_of(&bytes)
}

/// The text of bytes; those that are not valid UTF-8 become the characters U+F700 + byte.
fn text_of(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        text.push_str(chunk.valid());
        text.extend(
            chunk.invalid().iter().filter_map(|b| char::from_u32(BYTE_BASE + u32::from(*b))),
        );
    }
    text
}

/// Puts the bytes of a character; one that stands for a byte gives that byte.
fn push_char(bytes: &mut Vec<u8>, c: char) {
    let code = u32::from(c);
    if (BYTE_BASE + 0x80..=BYTE_BASE + 0xff).contains(&code) {
        bytes.push(low_byte(code));
        return;
    }
    bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
}

/// `\c` changes the first byte of a character and leaves the others.
fn push_control_of_multibyte(bytes: &mut Vec<u8>, c: char) {
    let mut encoded = Vec::new();
    push_char(&mut encoded, c);
    if let Some(first) = encoded.first_mut() {
        *first &= 0x1f;
    }
    bytes.extend(encoded);
}

/// Puts a code point as UTF-8; one that is none gives the bytes its number would have.
fn push_code_point(bytes: &mut Vec<u8>, value: u32) {
    if let Some(c) = char::from_u32(value) {
        bytes.extend(c.encode_utf8(&mut [0; 4]).as_bytes());
        return;
    }
    let tail = |shift: u32| low_byte(0x80 | (value >> shift) & 0x3f);
    if value < 0x1_0000 {
        bytes.extend([low_byte(0xe0 | value >> 12), tail(6), tail(0)]);
    } else if value < 0x20_0000 {
        bytes.extend([low_byte(0xf0 | value >> 18), tail(12), tail(6), tail(0)]);
    } else {
        bytes.extend([low_byte(0xf8 | value >> 24), tail(18), tail(12), tail(6), tail(0)]);
    }
}

/// Reads at most `most` hexadecimal digits; gives the value (wrapping) and their number.
fn hexadecimal(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, most: usize) -> (u32, usize) {
    let mut value = 0u32;
    let mut digits = 0;
    while digits < most
        && let Some(digit) = rest.peek().and_then(|c| c.to_digit(16))
    {
        value = value.wrapping_mul(16).wrapping_add(digit);
        digits += 1;
        rest.next();
    }
    (value, digits)
}

fn low_byte(value: u32) -> u8 {
    u8::try_from(value & 0xff).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_those_of_bash() {
        let table = [
            (r"a\nb", "a\nb"),
            (r"\x2", "\u{2}"),
            (r"\x41\x{42}\103\u0044\U00000045", "ABCDE"),
            (r"\xc3\xa9", "é"),
            (r"\xff", "\u{f7ff}"),
            (r"a\0b", "a"),
            (r"\cA\c?", "\u{1}\u{7f}"),
            (r"\q\u\x", r"\q\u\x"),
            (r#"\'\"\?\\"#, r#"'"?\"#),
        ];
        for (text, value) in table {
            assert_eq!(decode(text), value, "{text}");
        }
    }
}
