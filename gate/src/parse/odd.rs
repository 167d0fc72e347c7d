//! Characters that a person cannot see or tell from others on a screen.

/// Whether `c` is a control character other than tab and newline, a blank that is none to the
/// shell, or a character without a shape of its own (Unicode 16 `Default_Ignorable_Code_Point`,
/// direction controls, and blanks of general category Zs).
pub(super) fn is_odd(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\t' && c != '\n';
    }
    matches!(c,
        '\u{80}'..='\u{a0}' | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}'
        | '\u{1680}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{2000}'..='\u{200f}' | '\u{2028}'..='\u{202f}' | '\u{205f}'..='\u{206f}'
        | '\u{2800}' | '\u{3000}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
        | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}
