//! Encodings: base64, base32, hexadecimal (RFC 4648; GNU coreutils 9.5; xxd 2024).

use crate::interpret::producer::bytes::Out;
use crate::interpret::producer::{Call, text_of};
use crate::model::value::{Piece, Text, Unknown};

const BASE64: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE32: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

pub(super) fn base64(call: &Call<'_>) -> Option<Text> {
    based(call, BASE64, 6, 4)
}

pub(super) fn base32(call: &Call<'_>) -> Option<Text> {
    based(call, BASE32, 5, 8)
}

fn based(call: &Call<'_>, alphabet: &[u8], bits: u32, group: usize) -> Option<Text> {
    let long = [("decode", 'd'), ("ignore-garbage", 'i'), ("wrap", 'w')];
    let arguments = call.arguments("dDiw:", &long)?;
    let input = call.source_bytes(&arguments.operands)?;
    if arguments.has('d') || arguments.has('D') {
        return decoded(&input, alphabet, bits, group, arguments.has('i'));
    }
    let wrap: usize = arguments.value('w').unwrap_or("76").parse().ok()?;
    Some(encoded(&input, alphabet, bits, group, wrap))
}

/// Decodes group by group; line ends are skipped, other characters only with `lenient`. What stands
/// before a character that is refused is printed all the same; whether more follows differs.
fn decoded(input: &[u8], alphabet: &[u8], bits: u32, group: usize, lenient: bool) -> Option<Text> {
    let mut out = Vec::with_capacity(input.len());
    let (mut value, mut held) = (0u32, 0u32);
    // Digits and paddings of the group that is open.
    let (mut digits, mut padding) = (0usize, 0usize);
    let mut refused = false;
    for byte in input {
        match byte {
            b'\n' => continue,
            b'=' => {
                // A padding fills a group in which whole bytes have ended.
                if digits == 0 || held >= bits {
                    refused = true;
                    break;
                }
                padding += 1;
            }
            byte => match alphabet.iter().position(|own| own == byte) {
                Some(digit) if padding == 0 => {
                    digits += 1;
                    value = (value << bits) | u32::try_from(digit).ok()?;
                    held += bits;
                    if held >= 8 {
                        held -= 8;
                        out.push(u8::try_from((value >> held) & 0xff).ok()?);
                        value &= (1 << held) - 1;
                    }
                }
                None if lenient => continue,
                _ => {
                    refused = true;
                    break;
                }
            },
        }
        if digits + padding == group {
            (value, held, digits, padding) = (0, 0, 0, 0);
        }
    }
    let mut text = text_of(&out);
    if refused {
        text.push(Piece::Unknown(Unknown::NotModelled("a decoder of broken text")));
    }
    Some(text)
}

fn encoded(input: &[u8], alphabet: &[u8], bits: u32, group: usize, wrap: usize) -> Text {
    let mut digits = Vec::with_capacity(input.len() * 2);
    let (mut value, mut held) = (0u32, 0u32);
    let mut push = |value: u32| {
        digits.push(alphabet.get(value as usize).copied().unwrap_or(b'='));
    };
    for byte in input {
        value = (value << 8) | u32::from(*byte);
        held += 8;
        while held >= bits {
            held -= bits;
            push((value >> held) & ((1 << bits) - 1));
            value &= (1 << held) - 1;
        }
    }
    if held > 0 {
        push((value << (bits - held)) & ((1 << bits) - 1));
    }
    while digits.len() % group != 0 {
        digits.push(b'=');
    }
    let mut out = Out::default();
    if wrap == 0 {
        out.bytes(&digits);
    } else {
        for line in digits.chunks(wrap) {
            out.bytes(line);
            out.bytes(b"\n");
        }
    }
    out.finish()
}

pub(super) fn xxd(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let (mut reverse, mut plain, mut operands) = (false, false, Vec::new());
    for word in words {
        match word {
            "-r" | "-revert" => reverse = true,
            "-p" | "-ps" | "-plain" | "-postscript" => plain = true,
            "-rp" | "-r-p" => return None,
            _ if word.starts_with('-') && word != "-" => return None,
            path => operands.push(path),
        }
    }
    if operands.len() > 1 {
        return None;
    }
    let input = call.source_bytes(&operands)?;
    match (reverse, plain) {
        (true, true) => unhexed(&input),
        (true, false) => undumped(&input),
        (false, true) => {
            let mut out = Out::default();
            for line in input.chunks(30) {
                for byte in line {
                    out.bytes(format!("{byte:02x}").as_bytes());
                }
                out.bytes(b"\n");
            }
            Some(out.finish())
        }
        (false, false) => None,
    }
}

fn unhexed(input: &[u8]) -> Option<Text> {
    let mut out = Vec::with_capacity(input.len() / 2);
    let mut high = None;
    for byte in input {
        match char::from(*byte).to_digit(16) {
            Some(digit) => match high.take() {
                Some(high) => out.push(u8::try_from(high * 16 + digit).ok()?),
                None => high = Some(digit),
            },
            None if byte.is_ascii_whitespace() => {}
            None => return None,
        }
    }
    high.is_none().then(|| text_of(&out))
}

/// Lines `OFFSET: HEX HEX  TEXT` whose offsets follow on each other.
fn undumped(input: &[u8]) -> Option<Text> {
    let text = std::str::from_utf8(input).ok()?;
    let mut out = Vec::new();
    for line in text.lines() {
        let (offset, rest) = line.split_once(':')?;
        if usize::from_str_radix(offset.trim(), 16).ok()? != out.len() {
            return None;
        }
        let hex = rest.strip_prefix(' ').unwrap_or(rest);
        let hex = hex.split_once("  ").map_or(hex, |(hex, _)| hex);
        let digits: Option<Vec<u32>> =
            hex.chars().filter(|c| *c != ' ').map(|c| c.to_digit(16)).collect();
        for pair in digits?.chunks(2) {
            let [high, low] = pair else { return None };
            out.push(u8::try_from(high * 16 + low).ok()?);
        }
    }
    Some(text_of(&out))
}

/// `openssl base64`, `openssl enc -base64`: with `-A` one line, otherwise lines of 64.
pub(super) fn openssl(call: &Call<'_>) -> Option<Text> {
    let words = call.exact()?;
    let (first, options) = words.split_first()?;
    let mut base64 = *first == "base64";
    if !base64 && *first != "enc" {
        return None;
    }
    let (mut decode, mut one_line) = (false, false);
    for option in options {
        match *option {
            "-base64" | "-a" => base64 = true,
            "-d" => decode = true,
            "-e" => decode = false,
            "-A" => one_line = true,
            _ => return None,
        }
    }
    if !base64 {
        return None;
    }
    let input = call.source_bytes(&[])?;
    if decode {
        // Without -A a text with no line end, or with a longer line, is refused by some versions.
        decoded(&input, BASE64, 6, 4, false)
    } else {
        Some(encoded(&input, BASE64, 6, 4, if one_line { 0 } else { 64 }))
    }
}
