//! What plain text tools print when their input is known: exact as the GNU tools or nothing.
//!
//! Takes the words of one invocation and its known input; gives its output. May import: model.
//! Never: reads a file by itself, runs anything, or guesses.

mod bytes;
mod decode;
mod filter;
mod format;
mod pattern;
mod stream;
mod translate;

use crate::interpret::producer::bytes::{Out, from_bytes, to_bytes};
use crate::model::value::{Field, Text};

/// What the program of that name prints. `argv` are its words, the name first; `input` is its
/// standard input where this text feeds it; `files` gives the content of a file where it is known.
/// `None` where the output is not known exactly. Unknown pieces pass through `echo`, `printf`,
/// `cat`, `tee` and `head` and nothing else. The result has at most `max_bytes` bytes.
pub(crate) fn produce(
    name: &str,
    argv: &[Field],
    input: Option<&Text>,
    files: &dyn Fn(&str) -> Option<Text>,
    max_bytes: usize,
) -> Option<Text> {
    let words = argv.get(1..).unwrap_or_default();
    let call = Call { words, input, files, max_bytes };
    let text = match name {
        "echo" => format::echo(&call, false),
        // `echo` of a shell in which backslashes mean something without an option.
        "echo -e" => format::echo(&call, true),
        "printf" => format::printf(&call),
        "cat" => stream::cat(&call),
        "tee" => stream::tee(&call),
        "head" | "ghead" => stream::head(&call),
        "tail" | "gtail" => stream::tail(&call),
        "yes" => stream::yes(&call),
        "seq" | "gseq" => stream::seq(&call),
        "basename" => stream::basename(&call),
        "dirname" => stream::dirname(&call),
        "wc" => stream::wc(&call),
        "tac" | "gtac" => filter::tac(&call),
        "rev" => filter::rev(&call),
        "cut" | "gcut" => filter::cut(&call),
        "sort" | "gsort" => filter::sort(&call),
        "uniq" | "guniq" => filter::uniq(&call),
        "paste" => filter::paste(&call),
        "fold" => filter::fold(&call),
        "grep" | "egrep" | "fgrep" | "ggrep" => filter::grep(name, &call),
        "sed" | "gsed" => pattern::sed(&call),
        "awk" | "gawk" | "mawk" | "nawk" => pattern::awk(&call),
        "tr" | "gtr" => translate::tr(&call),
        "base64" | "gbase64" => decode::base64(&call),
        "base32" | "gbase32" => decode::base32(&call),
        "xxd" => decode::xxd(&call),
        "openssl" => decode::openssl(&call),
        _ => None,
    }?;
    (size(&text) <= max_bytes).then_some(text)
}

fn size(text: &Text) -> usize {
    text.pieces()
        .iter()
        .map(|piece| match piece {
            crate::model::value::Piece::Literal(text) => text.len(),
            _ => 1,
        })
        .sum()
}

/// One invocation.
struct Call<'a> {
    words: &'a [Field],
    input: Option<&'a Text>,
    files: &'a dyn Fn(&str) -> Option<Text>,
    max_bytes: usize,
}

/// Options as letters with their values, and operands.
struct Arguments<'a> {
    options: Vec<(char, Option<&'a str>)>,
    operands: Vec<&'a str>,
}

impl<'a> Arguments<'a> {
    fn has(&self, letter: char) -> bool {
        self.options.iter().any(|(own, _)| *own == letter)
    }

    fn value(&self, letter: char) -> Option<&'a str> {
        self.options.iter().rev().find(|(own, _)| *own == letter)?.1
    }
}

impl<'a> Call<'a> {
    /// All words, where every one is known.
    fn exact(&self) -> Option<Vec<&'a str>> {
        self.words.iter().map(Field::exact).collect()
    }

    /// Words sorted as getopt does; `short` are letters, `:` behind those with a value; `long` are
    /// pairs of a long name and its letter, each name whole. `None` for any other option.
    fn arguments(&self, short: &str, long: &[(&str, char)]) -> Option<Arguments<'a>> {
        let words = self.exact()?;
        sort_arguments(&words, short, long)
    }

    /// The input: the named files one behind the other, or standard input.
    fn source(&self, operands: &[&str]) -> Option<Text> {
        if operands.is_empty() {
            return self.input.cloned();
        }
        let mut out = Text::empty();
        for operand in operands {
            match *operand {
                "-" | "/dev/stdin" => out.extend(self.input?),
                path => out.extend(&(self.files)(path)?),
            }
            if size(&out) > self.max_bytes {
                return None;
            }
        }
        Some(out)
    }

    /// The bytes of the input, where all are known.
    fn source_bytes(&self, operands: &[&str]) -> Option<Vec<u8>> {
        let text = self.source(operands)?;
        Some(to_bytes(text.exact()?))
    }
}

fn sort_arguments<'a>(
    words: &[&'a str],
    short: &str,
    long: &[(&str, char)],
) -> Option<Arguments<'a>> {
    let mut out = Arguments { options: Vec::new(), operands: Vec::new() };
    let mut words = words.iter().copied();
    let takes = |letter: char| {
        let at = short.find(letter).filter(|_| letter != ':')?;
        Some(short.get(at + letter.len_utf8()..).unwrap_or_default().starts_with(':'))
    };
    while let Some(word) = words.next() {
        if word == "--" {
            out.operands.extend(words);
            break;
        }
        if let Some(name) = word.strip_prefix("--") {
            let (name, attached) = name.split_once('=').map_or((name, None), |(n, v)| (n, Some(v)));
            let (_, letter) = long.iter().find(|(own, _)| *own == name)?;
            let value =
                if takes(*letter)? { Some(attached.or_else(|| words.next())?) } else { None };
            out.options.push((*letter, value));
        } else if let Some(cluster) = word.strip_prefix('-').filter(|rest| !rest.is_empty()) {
            for (at, letter) in cluster.char_indices() {
                if !takes(letter)? {
                    out.options.push((letter, None));
                    continue;
                }
                let rest = cluster.get(at + letter.len_utf8()..).filter(|rest| !rest.is_empty());
                out.options.push((letter, Some(rest.or_else(|| words.next())?)));
                break;
            }
        } else {
            out.operands.push(word);
        }
    }
    Some(out)
}

/// A text of exactly these bytes.
fn text_of(bytes: &[u8]) -> Text {
    Text::literal(from_bytes(bytes))
}

/// The lines of some bytes, line ends left out, and whether the last one had its end.
fn lines(bytes: &[u8]) -> (Vec<&[u8]>, bool) {
    if bytes.is_empty() {
        return (Vec::new(), true);
    }
    let closed = bytes.ends_with(b"\n");
    let body = if closed { bytes.get(..bytes.len() - 1).unwrap_or_default() } else { bytes };
    (body.split(|byte| *byte == b'\n').collect(), closed)
}

/// Lines joined, each with its end; the last one only where `closed`.
fn join<L: AsRef<[u8]>>(lines: &[L], closed: bool) -> Text {
    let mut out = Out::default();
    for (at, line) in lines.iter().enumerate() {
        out.bytes(line.as_ref());
        if closed || at + 1 < lines.len() {
            out.bytes(b"\n");
        }
    }
    out.finish()
}

#[cfg(test)]
mod tests {
    use super::produce;
    use crate::model::span::Site;
    use crate::model::value::{Field, Piece, Text, Unknown};

    fn run(words: &[&str], input: &str) -> Option<String> {
        let argv: Vec<Field> =
            words.iter().map(|word| Field::literal(*word, Site::default())).collect();
        let input = Text::literal(input);
        let text = produce(words[0], &argv, Some(&input), &|_| None, 1 << 16)?;
        text.exact().map(str::to_owned)
    }

    #[test]
    fn outputs_are_those_of_the_tools() {
        for (words, input, output) in [
            (&["echo", "-e", r"\0101 \x41 \u41 \q \c x"][..], "", "A A A \\q "),
            (&["echo", "-n", "a", "b"], "", "a b"),
            (&["echo", "-nx", "a"], "", "-nx a\n"),
            (&["printf", r"\101 \0101 \q"], "", "A \u{8}1 \\q"),
            (&["printf", "%b", r"\101 \0101"], "", "A A"),
            (&["printf", "%q %q %q\n", "a b", "", "a'b"], "", "a\\ b '' a\\'b\n"),
            (
                &[
                    "printf",
                    "%5s|%-5s|%.2s|%05d|%x|%+d|%c\n",
                    "ab",
                    "ab",
                    "abc",
                    "42",
                    "255",
                    "3",
                    "xyz",
                ],
                "",
                "   ab|ab   |ab|00042|ff|+3|x\n",
            ),
            (&["printf", "%d %d\n", "'A", "0x1f"], "", "65 31\n"),
            (&["printf", "%s-%s\n", "a", "b", "c"], "", "a-b\nc-\n"),
            (&["base64", "-d"], "cm0gLXJmIC8=\n", "rm -rf /"),
            (&["base64", "--decode"], "YWI", "ab"),
            (&["base64"], "rm -rf /", "cm0gLXJmIC8=\n"),
            (&["base32", "-d"], "MFRGG===", "abc"),
            (&["xxd", "-r", "-p"], "6162 63\n0a", "abc\n"),
            (&["xxd", "-p"], "abc", "616263\n"),
            (&["openssl", "base64", "-d"], "YWJj\n", "abc"),
            (&["rev"], "ab\ncd", "ba\ndc"),
            (&["tac"], "a\nb\n", "b\na\n"),
            (&["tr", "a-y", "b-z"], "hello", "ifmmp"),
            (&["tr", "-s", "a-b", "x"], "aabb", "x"),
            (&["tr", "-cd", "a-z"], "hello world", "helloworld"),
            (&["tr", "-c", "a-z", "_"], "a1", "a_"),
            (&["tr", "[:lower:]", "[:upper:]"], "abc", "ABC"),
            (&["tr", "-d", r"\n"], "a\nb\n", "ab"),
            (&["tr", "A-Za-z", "N-ZA-Mn-za-m"], "ez -es /", "rm -rf /"),
            (&["cut", "-d", " ", "-f2-"], "a b c", "b c\n"),
            (&["cut", "-c", "2-3,5"], "abcdef\n", "bce\n"),
            (&["head", "-n", "1"], "a\nb\n", "a\n"),
            (&["head", "-c3"], "abcdef", "abc"),
            (&["tail", "-n", "+2"], "a\nb\nc", "b\nc"),
            (&["tail", "-1"], "a\nb\n", "b\n"),
            (&["sed", "s/x/y/g"], "axbx\n", "ayby\n"),
            (&["sed", "-n", "2p"], "a\nb\n", "b\n"),
            (&["sed", "-E", "s/(a)(b)/\\2\\1/"], "ab", "ba"),
            (&["sed", "s/^# *//;/^$/d"], "# x\n\ny\n", "x\ny\n"),
            (&["sed", "y/abc/xyz/"], "cab", "zxy"),
            (&["awk", "{print $2}"], "a b\nc d\n", "b\nd\n"),
            (&["awk", "-F:", "{print $1,$NF}"], "a:b:c\n", "a c\n"),
            (&["grep", "-v", "^#"], "# x\ny\n", "y\n"),
            (&["sort"], "b\na\n", "a\nb\n"),
            (&["uniq"], "a\na\nb", "a\nb\n"),
            (&["seq", "3", "-1", "1"], "", "3\n2\n1\n"),
            (&["seq", "-s,", "3"], "", "1,2,3\n"),
            (&["wc", "-l"], "a\n", "1\n"),
            (&["paste", "-sd,"], "a\nb\n", "a,b\n"),
            (&["fold", "-w2"], "abc", "ab\nc"),
            (&["basename", "/a/b.c", ".c"], "", "b\n"),
            (&["dirname", "a/b/"], "", "a\n"),
            (&["cat"], "x", "x"),
        ] {
            assert_eq!(run(words, input).as_deref(), Some(output), "{words:?}");
        }
    }

    #[test]
    fn bytes_that_are_no_text_survive() {
        assert_eq!(run(&["printf", r"\xff\xc3\xa9"], "").as_deref(), Some("\u{f7ff}é"));
        assert_eq!(run(&["base64"], "\u{f7ff}").as_deref(), Some("/w==\n"));
    }

    #[test]
    fn unknown_pieces_pass_where_they_only_pass() {
        let mut word = Text::literal("rm ");
        word.push(Piece::Unknown(Unknown::Input));
        let argv = [
            Field::literal("printf", Site::default()),
            Field::literal("%s /\n", Site::default()),
            Field { text: word.clone(), ..Field::default() },
        ];
        let text = produce("printf", &argv, None, &|_| None, 1 << 16).unwrap();
        assert_eq!(text.display(), "rm … /\n");
        assert_eq!(produce("rev", &argv[..1], Some(&word), &|_| None, 1 << 16), None);
        let yes = [Field::literal("yes", Site::default()), Field::literal("x", Site::default())];
        let text = produce("yes", &yes, None, &|_| None, 1 << 16).unwrap();
        let head = [Field::literal("head", Site::default()), Field::literal("-2", Site::default())];
        let text = produce("head", &head, Some(&text), &|_| None, 1 << 16).unwrap();
        assert_eq!(text.exact(), Some("x\nx\n"));
    }
}
