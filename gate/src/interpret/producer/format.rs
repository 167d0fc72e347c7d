//! `echo` and `printf` as bash has them (Bash manual 4.2).

use crate::interpret::producer::Call;
use crate::interpret::producer::bytes::{Out, to_bytes};
use crate::model::value::{Arity, Field, Piece, Text, Unknown};

/// The text of a word; a pattern stands for names that are not known.
fn plain(field: &Field) -> Text {
    field
        .text
        .pieces()
        .iter()
        .map(|piece| match piece {
            Piece::Glob(_) if field.arity == Arity::Many => Piece::Unknown(Unknown::Output),
            Piece::Glob(glob) => Piece::Literal(glob.source().into()),
            other => other.clone(),
        })
        .collect()
}

/// `decodes`: backslash escapes count without `-e`; what shells of that kind do with the escapes that
/// only bash has is not known.
pub(super) fn echo(call: &Call<'_>, decodes: bool) -> Option<Text> {
    let mut words = call.words;
    let (mut newline, mut escapes) = (true, decodes);
    let differs = |text: &str| {
        text.match_indices('\\').any(|(at, _)| {
            text.get(at + 1..).is_some_and(|rest| rest.starts_with(['x', 'u', 'U', 'e', 'E']))
                || text
                    .get(at + 1..)
                    .is_some_and(|rest| rest.starts_with(|c| matches!(c, '1'..='7')))
        })
    };
    if decodes && words.iter().any(|word| differs(word.text.prefix()) || !word.text.is_exact()) {
        return None;
    }
    while let [first, rest @ ..] = words {
        let Some(text) = first.exact() else { break };
        let Some(letters) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else { break };
        if !letters.chars().all(|c| matches!(c, 'n' | 'e' | 'E')) {
            break;
        }
        for letter in letters.chars() {
            match letter {
                'n' => newline = false,
                'e' => escapes = true,
                _ => escapes = decodes,
            }
        }
        words = rest;
    }
    let mut out = Out::default();
    for (at, word) in words.iter().enumerate() {
        if at > 0 {
            out.bytes(b" ");
        }
        let text = plain(word);
        if !escapes {
            out.text(&text);
            continue;
        }
        for piece in text.pieces() {
            match piece {
                Piece::Literal(literal) => {
                    if unescape(literal, Dialect::Echo, &mut out)? == End::Stop {
                        return Some(out.finish());
                    }
                }
                other => out.text(&std::iter::once(other.clone()).collect()),
            }
        }
    }
    if newline {
        out.bytes(b"\n");
    }
    Some(out.finish())
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Echo,
    Format,
    Value,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Go,
    Stop,
}

/// Decodes backslash escapes; `Stop` after `\c`.
fn unescape(text: &str, dialect: Dialect, out: &mut Out) -> Option<End> {
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.bytes(&to_bytes(c.encode_utf8(&mut [0; 4])));
            continue;
        }
        let Some(next) = chars.next() else {
            out.bytes(b"\\");
            break;
        };
        let mut number = |first: Option<char>, radix: u32, most: usize| {
            let mut value = first.and_then(|c| c.to_digit(radix));
            for _ in 0..most {
                let Some(digit) = chars.next_if(|c| c.is_digit(radix)) else { break };
                value = Some(
                    value.unwrap_or(0).wrapping_mul(radix).wrapping_add(digit.to_digit(radix)?),
                );
            }
            value
        };
        match next {
            'a' => out.bytes(&[7]),
            'b' => out.bytes(&[8]),
            'e' | 'E' => out.bytes(&[27]),
            'f' => out.bytes(&[12]),
            'n' => out.bytes(b"\n"),
            'r' => out.bytes(b"\r"),
            't' => out.bytes(b"\t"),
            'v' => out.bytes(&[11]),
            '\\' => out.bytes(b"\\"),
            'c' => match dialect {
                Dialect::Format => return None,
                _ => return Some(End::Stop),
            },
            '\'' | '"' | '?' if dialect != Dialect::Echo => {
                out.bytes(&to_bytes(next.encode_utf8(&mut [0; 4])));
            }
            '0' if dialect != Dialect::Format => {
                let value = number(None, 8, 3).unwrap_or(0);
                out.bytes(&[u8::try_from(value & 0xff).ok()?]);
            }
            '0'..='7' if dialect != Dialect::Echo => {
                let value = number(Some(next), 8, 2)?;
                out.bytes(&[u8::try_from(value & 0xff).ok()?]);
            }
            'x' => match number(None, 16, 2) {
                Some(value) => out.bytes(&[u8::try_from(value).ok()?]),
                None => out.bytes(b"\\x"),
            },
            'u' | 'U' => {
                let most = if next == 'u' { 4 } else { 8 };
                let value = number(None, 16, most)?;
                out.bytes(char::from_u32(value)?.encode_utf8(&mut [0; 4]).as_bytes());
            }
            other => {
                out.bytes(b"\\");
                out.bytes(&to_bytes(other.encode_utf8(&mut [0; 4])));
            }
        }
    }
    Some(End::Go)
}

/// One conversion of a format.
#[derive(Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "one for each flag a conversion has")]
struct Conversion {
    minus: bool,
    plus: bool,
    blank: bool,
    zero: bool,
    alternative: bool,
    width: Option<usize>,
    precision: Option<usize>,
}

pub(super) fn printf(call: &Call<'_>) -> Option<Text> {
    let mut words = call.words;
    if let [first, rest @ ..] = words
        && first.exact() == Some("--")
    {
        words = rest;
    }
    let (format, arguments) = words.split_first()?;
    let format = format.exact()?;
    if format.starts_with('-') && words.len() == call.words.len() {
        return None;
    }
    // How many words an unknown one becomes decides which conversions the next ones meet.
    let (last, first) = arguments.split_last().map_or((None, &[][..]), |(l, f)| (Some(l), f));
    let many = |field: &Field| field.arity == Arity::Many;
    if first.iter().any(many) || (last.is_some_and(many) && format.matches('%').count() > 1) {
        return None;
    }
    let mut out = Out::default();
    let mut arguments = arguments.iter();
    loop {
        let before = arguments.len();
        match pass(format, &mut arguments, call.max_bytes, &mut out)? {
            End::Stop => break,
            End::Go => {}
        }
        if arguments.len() == 0 {
            break;
        }
        if arguments.len() == before || out.len() > call.max_bytes {
            // A format without conversions is used once.
            return (arguments.len() == before).then(|| out.finish());
        }
    }
    Some(out.finish())
}

/// Applies the format once.
fn pass(
    format: &str,
    arguments: &mut std::slice::Iter<'_, Field>,
    max: usize,
    out: &mut Out,
) -> Option<End> {
    let mut rest = format;
    while let Some(at) = rest.find('%') {
        let (literal, behind) = rest.split_at_checked(at)?;
        unescape(literal, Dialect::Format, out)?;
        let mut chars = behind.chars().peekable();
        chars.next();
        if chars.next_if_eq(&'%').is_some() {
            out.bytes(b"%");
            rest = behind.get(2..)?;
            continue;
        }
        let mut conversion = Conversion::default();
        while let Some(flag) = chars.next_if(|c| "-+ 0#".contains(*c)) {
            match flag {
                '-' => conversion.minus = true,
                '+' => conversion.plus = true,
                ' ' => conversion.blank = true,
                '0' => conversion.zero = true,
                _ => conversion.alternative = true,
            }
        }
        conversion.width = number(&mut chars, arguments, max)?;
        if chars.next_if_eq(&'.').is_some() {
            conversion.precision = Some(number(&mut chars, arguments, max)?.unwrap_or(0));
        }
        while chars.next_if(|c| "lhLqjzt".contains(*c) && *c != 'q').is_some() {}
        let kind = chars.next()?;
        let left: usize = chars.map(char::len_utf8).sum();
        rest = behind.get(behind.len() - left..)?;
        if convert(kind, &conversion, arguments.next(), out)? == End::Stop {
            return Some(End::Stop);
        }
        if out.len() > max {
            return None;
        }
    }
    unescape(rest, Dialect::Format, out)
}

#[expect(
    clippy::option_option,
    reason = "the outer says whether it is modelled, the inner whether it is there"
)]
fn number(
    chars: &mut std::iter::Peekable<std::str::Chars<'_>>,
    arguments: &mut std::slice::Iter<'_, Field>,
    max: usize,
) -> Option<Option<usize>> {
    if chars.next_if_eq(&'*').is_some() {
        let value = arguments.next().map_or(Some("0"), Field::exact)?;
        let value: usize = value.parse().ok()?;
        return (value <= max).then_some(Some(value));
    }
    let mut value = None;
    while let Some(digit) = chars.next_if(char::is_ascii_digit) {
        let digit = usize::try_from(digit.to_digit(10)?).ok()?;
        value = Some(value.unwrap_or(0usize).saturating_mul(10).saturating_add(digit));
    }
    value.is_none_or(|value| value <= max).then_some(value)
}

fn convert(
    kind: char,
    conversion: &Conversion,
    argument: Option<&Field>,
    out: &mut Out,
) -> Option<End> {
    let empty = Field::default();
    let field = argument.unwrap_or(&empty);
    let is_bare = conversion.width.is_none() && conversion.precision.is_none();
    match kind {
        's' if is_bare => out.text(&plain(field)),
        's' => {
            let text = field.exact()?;
            let cut: String = match conversion.precision {
                Some(most) if text.is_ascii() => text.chars().take(most).collect(),
                Some(_) => return None,
                None => text.to_owned(),
            };
            pad(&cut, conversion, out)?;
        }
        'c' => {
            let text = field.exact()?;
            let first: String = text.chars().take(1).collect();
            if !first.is_ascii() || first.is_empty() {
                return None;
            }
            pad(&first, conversion, out)?;
        }
        'b' if is_bare => return unescape(field.exact()?, Dialect::Value, out),
        'q' if is_bare => out.bytes(&to_bytes(&quoted(field.exact()?)?)),
        'd' | 'i' | 'u' | 'o' | 'x' | 'X' => {
            if argument.is_some() && field.exact().is_none() {
                out.text(&Text::unknown(Unknown::Arithmetic));
                return Some(End::Go);
            }
            integer(kind, conversion, field.exact()?, out)?;
        }
        _ => return None,
    }
    Some(End::Go)
}

fn pad(text: &str, conversion: &Conversion, out: &mut Out) -> Option<()> {
    let width = conversion.width.unwrap_or(0);
    if width > 0 && !text.is_ascii() {
        return None;
    }
    let blanks = vec![b' '; width.saturating_sub(text.len())];
    if !conversion.minus {
        out.bytes(&blanks);
    }
    out.bytes(&to_bytes(text));
    if conversion.minus {
        out.bytes(&blanks);
    }
    Some(())
}

fn integer(kind: char, conversion: &Conversion, text: &str, out: &mut Out) -> Option<()> {
    let value = integer_value(text)?;
    if value < 0 && !matches!(kind, 'd' | 'i') {
        return None;
    }
    let magnitude = value.unsigned_abs();
    let mut digits = match kind {
        'o' => format!("{magnitude:o}"),
        'x' => format!("{magnitude:x}"),
        'X' => format!("{magnitude:X}"),
        _ => magnitude.to_string(),
    };
    if let Some(precision) = conversion.precision {
        digits = format!("{}{digits}", "0".repeat(precision.saturating_sub(digits.len())));
    }
    let mut sign = String::new();
    if matches!(kind, 'd' | 'i') {
        sign.push_str(match (value < 0, conversion.plus, conversion.blank) {
            (true, _, _) => "-",
            (_, true, _) => "+",
            (_, _, true) => " ",
            _ => "",
        });
    }
    if conversion.alternative {
        match kind {
            'x' if value != 0 => sign.push_str("0x"),
            'X' if value != 0 => sign.push_str("0X"),
            'o' if !digits.starts_with('0') => digits.insert(0, '0'),
            _ => {}
        }
    }
    if conversion.zero && !conversion.minus && conversion.precision.is_none() {
        let width = conversion.width.unwrap_or(0);
        let missing = width.saturating_sub(sign.len() + digits.len());
        digits = format!("{}{digits}", "0".repeat(missing));
    }
    pad(&format!("{sign}{digits}"), conversion, out)
}

fn integer_value(text: &str) -> Option<i64> {
    let text = text.trim_start_matches([' ', '\t', '\n']);
    if text.is_empty() {
        return Some(0);
    }
    if let Some(rest) = text.strip_prefix(['\'', '"']) {
        return rest.chars().next().map(|c| i64::from(u32::from(c)));
    }
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let value = if let Some(hex) = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        i64::from_str_radix(hex, 16).ok()?
    } else if digits.len() > 1 && digits.starts_with('0') {
        i64::from_str_radix(digits, 8).ok()?
    } else {
        digits.parse().ok()?
    };
    if digits.starts_with(['+', '-']) {
        return None;
    }
    Some(if negative { -value } else { value })
}

/// `%q`: backslashes before special characters; nothing for texts that need `$'...'`.
fn quoted(text: &str) -> Option<String> {
    if text.is_empty() {
        return Some("''".to_owned());
    }
    let mut out = String::new();
    for (at, c) in text.chars().enumerate() {
        if c.is_control() || !c.is_ascii() {
            return None;
        }
        let is_special =
            " '\"\\|&;()<>!{}*[]?^$`,".contains(c) || (at == 0 && matches!(c, '#' | '~'));
        if is_special {
            out.push('\\');
        }
        out.push(c);
    }
    Some(out)
}
