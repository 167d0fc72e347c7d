//! Names that git prints.

use super::{Call, line, specs};
use crate::model::value::{Piece, Text, Unknown};

impl Call<'_> {
    pub(super) fn git(&self) -> Option<Text> {
        let words = self.words()?;
        let entry = self.reading.subcommand.first()?.as_str();
        let spelled = words.iter().copied().find(|word| {
            matches!(
                *word,
                "ls-files"
                    | "diff"
                    | "show"
                    | "log"
                    | "grep"
                    | "rev-parse"
                    | "merge-base"
                    | "rev-list"
                    | "describe"
                    | "branch"
                    | "tag"
                    | "for-each-ref"
                    | "symbolic-ref"
                    | "diff-tree"
                    | "diff-index"
                    | "diff-files"
                    | "ls-tree"
            )
        })?;
        let plain = || Some(line(Piece::Unknown(Unknown::Plain)));
        match spelled {
            "ls-files" if entry == "ls-files" => {
                if self.given(&[
                    "-s",
                    "--stage",
                    "-t",
                    "-v",
                    "-f",
                    "-u",
                    "--unmerged",
                    "--debug",
                    "--eol",
                    "--format",
                    "--resolve-undo",
                    "--abbrev",
                ]) {
                    return None;
                }
                specs(&self.operands(0), self.end(&["-z"]))
            }
            "ls-tree" if entry == "ls-tree" => {
                if !self.given(&["--name-only", "--name-status"])
                    || self.given(&["-l", "--long", "--format", "--object-only"])
                {
                    return None;
                }
                specs(&self.operands(1), self.end(&["-z"]))
            }
            "diff" | "show" | "log" | "diff-tree" | "diff-index" | "diff-files" => {
                let formatted: Vec<Option<&str>> = self.values(&["--format", "--pretty"]).collect();
                let names = self.given(&["--name-only"]);
                if names
                    && !self.given(&["--output", "--line-prefix", "--stat", "--patch", "-p", "-u"])
                {
                    let silent = formatted
                        .iter()
                        .all(|format| matches!(format, Some("" | "format:" | "tformat:")))
                        && !(formatted.is_empty() && matches!(spelled, "show" | "log"));
                    return silent.then(|| specs(&self.operands(0), self.end(&["-z"])))?;
                }
                let hashes = matches!(
                    formatted.as_slice(),
                    [Some("%h" | "%H" | "format:%h" | "format:%H" | "%ct" | "%at")]
                );
                let quiet = self.only(&[
                    "--format",
                    "--pretty",
                    "-NUM",
                    "-1",
                    "-2",
                    "-3",
                    "-n",
                    "--max-count",
                    "-s",
                    "--no-patch",
                    "--since",
                    "--until",
                    "--after",
                    "--before",
                    "--author",
                    "--grep",
                    "--no-merges",
                    "--merges",
                    "--all",
                    "--reverse",
                    "--first-parent",
                    "-i",
                    "--skip",
                ]);
                if hashes && quiet && matches!(spelled, "log" | "show") { plain() } else { None }
            }
            "grep" => {
                if !self.given(&[
                    "-l",
                    "--files-with-matches",
                    "--name-only",
                    "-L",
                    "--files-without-match",
                ]) || self.given(&["-O", "--open-files-in-pager", "--color"])
                {
                    return None;
                }
                let from = usize::from(!self.given(&["-e", "-f"]));
                specs(&self.operands(from), self.end(&["-z", "--null"]))
            }
            "rev-parse" => {
                let fits = self.reading.options.iter().all(|option| {
                    matches!(
                        option.spelled.split('=').next(),
                        Some(
                            "--short"
                                | "--verify"
                                | "-q"
                                | "--quiet"
                                | "--abbrev-ref"
                                | "--symbolic-full-name"
                        )
                    )
                });
                (fits && self.are_revisions()).then(plain)?
            }
            "merge-base" => (self.are_revisions()
                && self.only(&["-a", "--all", "--octopus", "--fork-point"]))
            .then(plain)?,
            "rev-list" => {
                if self.given(&["--count"]) {
                    let single = !self.given(&["--left-right", "--cherry-mark"]);
                    return single.then(|| line(Piece::Unknown(Unknown::Arithmetic)));
                }
                self.only(&[
                    "-NUM",
                    "-1",
                    "-2",
                    "-3",
                    "-n",
                    "--max-count",
                    "--all",
                    "--since",
                    "--until",
                    "--after",
                    "--before",
                    "--reverse",
                    "--no-merges",
                    "--merges",
                    "--first-parent",
                    "--tags",
                    "--branches",
                    "--author",
                    "--grep",
                ])
                .then(plain)?
            }
            "describe" => self
                .only(&[
                    "--tags",
                    "--always",
                    "--all",
                    "--abbrev",
                    "--long",
                    "--exact-match",
                    "--match",
                    "--dirty",
                ])
                .then(plain)?,
            "branch" => self.only(&["--show-current"]).then(plain)?,
            "tag" if self.reading.operands.is_empty() => self
                .only(&["-l", "--list", "--sort", "--merged", "--points-at", "--contains"])
                .then(plain)?,
            "symbolic-ref" if self.reading.operands.len() == 1 => {
                self.only(&["--short", "-q", "--quiet"]).then(plain)?
            }
            _ => None,
        }
    }

    /// Whether there are operands and all are revisions by their letters: what git prints again
    /// where it cannot find them is no path that leads away.
    fn are_revisions(&self) -> bool {
        !self.reading.operands.is_empty()
            && self.reading.operands.iter().all(|operand| {
                operand.exact().is_some_and(|word| {
                    word.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '@')
                        && !word.contains("..")
                        && !word.contains(char::is_whitespace)
                }) || matches!(operand.text.pieces(), [Piece::Unknown(Unknown::Plain)])
            })
    }
}
