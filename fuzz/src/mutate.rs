//! Inputs made from the corpus: bytes and pieces changed, joined, repeated and nested.

/// Pieces that change how a shell reads what surrounds them.
const PIECES: &[&str] = &[
    "'",
    "\"",
    "`",
    "$(",
    ")",
    "${",
    "}",
    "$((",
    "))",
    "\\",
    "\n",
    "#",
    ";",
    "&&",
    "||",
    "|",
    "&",
    "<<E\n",
    "\nE\n",
    "<<-'E'\n",
    "<(",
    ">(",
    "[[",
    "]]",
    "((",
    "{",
    "(",
    " do ",
    " done ",
    " then ",
    " fi ",
    "case x in ",
    "esac",
    "function f ",
    "$'\\x",
    "\u{0}",
    "\r",
    "\t",
    "*",
    "?",
    "[a-",
    "~",
    "{a,b}",
    "{1..9}",
    "=",
    "+=(",
    "!",
    "time ",
    "coproc ",
    "eval ",
    "exec ",
    "trap ",
    "| sh",
    "xargs ",
    "\u{202e}",
    "\u{a0}",
    "é",
    "/",
    "rm -rf /",
    "-",
    "--",
    "@P}",
    "[$(",
    "2>&1",
    ">|",
    "<>",
    "{fd}>",
];

/// Commands of the corpus, as seeds.
///
/// # Errors
/// When the corpus cannot be read.
pub fn seeds() -> Result<Vec<Vec<u8>>, String> {
    Ok(suite::case::cases()?.into_iter().map(|case| case.command.into_bytes()).collect())
}

/// Makes one input after another; the same seed gives the same inputs.
#[derive(Debug)]
pub struct Mutator<'a> {
    state: u64,
    seeds: &'a [Vec<u8>],
}

impl<'a> Mutator<'a> {
    /// A source of inputs.
    pub fn new(seed: u64, seeds: &'a [Vec<u8>]) -> Self {
        Self { state: seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1, seeds }
    }

    /// The next number (xorshift64*).
    fn next(&mut self) -> u64 {
        self.state ^= self.state >> 12;
        self.state ^= self.state << 25;
        self.state ^= self.state >> 27;
        self.state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    /// A number below `bound`; 0 where the bound is 0.
    fn below(&mut self, bound: usize) -> usize {
        if bound == 0 { 0 } else { usize::try_from(self.next() % bound as u64).unwrap_or(0) }
    }

    fn seed(&mut self) -> Vec<u8> {
        let at = self.below(self.seeds.len());
        self.seeds.get(at).cloned().unwrap_or_default()
    }

    /// The next input, at most some kilobytes.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.seed();
        for _ in 0..=self.below(6) {
            let at = self.below(input.len() + 1);
            match self.below(7) {
                0 => {
                    if let Some(byte) = input.get_mut(at) {
                        *byte = u8::try_from(self.next() & 0xff).unwrap_or_default();
                    }
                }
                1 => drop(input.drain(at..(at + 1 + self.below(8)).min(input.len()).max(at))),
                2 | 3 => {
                    let piece = PIECES.get(self.below(PIECES.len())).copied().unwrap_or_default();
                    input.splice(at..at, piece.bytes());
                }
                4 => {
                    let other = self.seed();
                    let cut = self.below(other.len() + 1);
                    input.truncate(at);
                    input.extend(other.into_iter().skip(cut));
                }
                5 => {
                    let piece = PIECES.get(self.below(PIECES.len())).copied().unwrap_or_default();
                    let times = 1 + self.below(40);
                    input.splice(at..at, piece.repeat(times).into_bytes());
                }
                _ => {
                    let other = self.seed();
                    input.splice(at..at, other);
                }
            }
            input.truncate(8 << 10);
        }
        input
    }
}
