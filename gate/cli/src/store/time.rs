//! Times as RFC 3339 has them, in UTC with milliseconds; and how a person says since when.

use std::time::{SystemTime, UNIX_EPOCH};

const DAY: u64 = 86_400_000;

/// Milliseconds since 1970-01-01T00:00:00Z; 0 for a clock that stands before.
pub fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|duration| u64::try_from(duration.as_millis()).ok())
        .unwrap_or_default()
}

/// Milliseconds since 1970 as `2026-11-30T18:49:13.123Z` (proleptic Gregorian calendar).
pub fn format(milliseconds: u64) -> String {
    let (year, month, day) = date(milliseconds / DAY);
    let rest = milliseconds % DAY;
    format!(
        "{year:04}-{month:02}-{day:02}T{:02}:{:02}:{:02}.{:03}Z",
        rest / 3_600_000,
        rest / 60_000 % 60,
        rest / 1000 % 60,
        rest % 1000
    )
}

/// Milliseconds since 1970 of `2026-11-30`, `2026-11-30T18:49`, `...:13` or `...:13.123`, each with or
/// without a `Z` at the end. None for anything else.
pub fn parse(text: &str) -> Option<u64> {
    let text = text.strip_suffix('Z').unwrap_or(text);
    let (date, clock) = text.split_once(['T', ' ']).unwrap_or((text, "00:00"));
    let mut parts = date.split('-').map(number);
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    if parts.next().is_some() || !(1970..=9999).contains(&year) || !(1..=12).contains(&month) {
        return None;
    }
    if day == 0 || day > month_days(year, month) {
        return None;
    }
    let (clock, fraction) = clock.split_once('.').unwrap_or((clock, "0"));
    let mut parts = clock.split(':').map(number);
    let (hour, minute) = (parts.next()??, parts.next()??);
    let second = parts.next().unwrap_or(Some(0))?;
    if parts.next().is_some() || hour > 23 || minute > 59 || second > 59 || fraction.len() > 9 {
        return None;
    }
    let digits: String = fraction.chars().chain("000".chars()).take(3).collect();
    let days: u64 = (1970..year).map(year_days).sum::<u64>()
        + (1..month).map(|month| month_days(year, month)).sum::<u64>()
        + day
        - 1;
    Some(days * DAY + ((hour * 60 + minute) * 60 + second) * 1000 + number(&digits)?)
}

/// The moment a person means by `30m`, `2h`, `7d`, `4w` (that long before `now`) or by a time as
/// [`parse`] reads it. None for anything else.
pub fn since(text: &str, now: u64) -> Option<u64> {
    let units = [("s", 1000), ("m", 60_000), ("h", 3_600_000), ("d", DAY), ("w", 7 * DAY)];
    units
        .iter()
        .find_map(|(unit, length)| {
            let count = number(text.strip_suffix(unit)?)?;
            Some(now.saturating_sub(count.saturating_mul(*length)))
        })
        .or_else(|| parse(text))
}

fn number(digits: &str) -> Option<u64> {
    digits.bytes().all(|byte| byte.is_ascii_digit()).then(|| digits.parse().ok()).flatten()
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn year_days(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

const fn month_days(year: u64, month: u64) -> u64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Year, month and day of a day counted from 1970-01-01.
fn date(mut days: u64) -> (u64, u64, u64) {
    // 400 years have 146097 days; what remains is walked.
    let mut year = 1970 + days / 146_097 * 400;
    days %= 146_097;
    while days >= year_days(year) {
        days -= year_days(year);
        year += 1;
    }
    let mut month = 1;
    while days >= month_days(year, month) {
        days -= month_days(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_they_are_written() {
        let table = [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_796_064_553_123, "2026-11-30T18:49:13.123Z"),
            (4_107_542_399_999, "2100-02-28T23:59:59.999Z"),
        ];
        for (milliseconds, text) in table {
            assert_eq!(format(milliseconds), text);
            assert_eq!(parse(text), Some(milliseconds), "{text}");
        }
        for text in ["", "x", "2026-02-29", "2026-13-01", "2026-01-01T24:00", "2026-1", "-1-1-1"] {
            assert_eq!(parse(text), None, "{text}");
        }
        assert_eq!(since("2h", 8_000_000), Some(800_000));
        assert_eq!(since("1970-01-02", 0), Some(DAY));
        assert_eq!(since("h", 0), None);
        assert_eq!(since("99999999999w", 5), Some(0));
    }
}
