//! Finds lines in files. Secret files are left out, unless the call names one, which a person was asked for.

use std::fs::File;
use std::ops::ControlFlow;

use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkMatch};
use ignore::overrides::{Override, OverrideBuilder};
use rustix::fs::FileType;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::args::Args;
use super::list_files::{Clock, LIMIT, MAX_BYTES, Stop, printable};
use super::read_file::{bad_path, cut, hidden_secret};
use super::walk::{self, Wanted};
use super::workspace::open_entry;
use super::{Task, Toolbox, apart};
use crate::task::call::FailureKind;

/// Larger files are passed over, unless the call names one.
const MAX_FILE: u64 = 2 * 1024 * 1024;
/// Most characters of a line.
const MAX_WIDTH: usize = 500;
/// Most bytes of one line that is looked at; a file with a longer one is given up.
const MAX_LINE: usize = 16 * 1024 * 1024;

/// What to look for, and where.
struct Query {
    text: String,
    is_regex: bool,
    path: String,
    glob: Option<String>,
    case_sensitive: Option<bool>,
    limit: usize,
}

pub(super) async fn run(task: &Task<'_>, args: Args<'_>) -> Answer {
    let query = Query {
        text: args.text("query").unwrap_or_default().to_owned(),
        is_regex: args.flag("regex").unwrap_or(false),
        path: args.path().to_owned(),
        glob: args.text("glob").map(str::to_owned),
        case_sensitive: args.flag("caseSensitive"),
        limit: args.number("maxResults").unwrap_or(100),
    };
    let work = move |toolbox: Toolbox, cancel: CancellationToken| search(&toolbox, &cancel, &query);
    apart(task, LIMIT, work).await.unwrap_or_else(|answer| answer)
}

fn search(toolbox: &Toolbox, cancel: &CancellationToken, query: &Query) -> Answer {
    let (matcher, globs) = match (matcher(query), globs(query)) {
        (Ok(matcher), Ok(globs)) => (matcher, globs),
        (Err(problem), _) | (_, Err(problem)) => {
            return Answer::failed(FailureKind::InvalidArgs, problem);
        }
    };
    let at = match toolbox.workspace.resolve_existing(&query.path) {
        Ok(at) => at,
        Err(error) => return bad_path(&query.path, &error),
    };
    if let Some(answer) = hidden_secret(toolbox, &at) {
        return answer;
    }
    let failed =
        |cause: String| Answer::failed(FailureKind::Failed, format!("`{}`: {cause}", at.shown));
    let clock = Clock::new(cancel);
    let mut searcher = SearcherBuilder::new()
        .line_number(true)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(MAX_LINE))
        .build();
    let mut hits = Hits {
        lines: Vec::new(),
        bytes: 0,
        limit: query.limit,
        is_cut: false,
        stop: None,
        clock: &clock,
    };
    let mut secret = 0_usize;
    match toolbox.workspace.kind(&at) {
        Ok(FileType::Directory) => {
            let is_named = toolbox.secrets.is_secret(&at.shown);
            let wanted =
                Wanted { ignored: &toolbox.project.ignore_globs, globs, depth: usize::MAX };
            let walked = walk::files(&toolbox.workspace, &at, &wanted, &mut |found| {
                hits.stop = hits.stop.or_else(|| clock.stop());
                if hits.stop.is_some() {
                    return ControlFlow::Break(());
                }
                let path = found.path.to_string_lossy();
                let is_secret = toolbox.secrets.is_secret(&path)
                    || toolbox.secrets.is_secret(&found.real.to_string_lossy());
                if is_secret && !is_named {
                    secret += 1;
                    return ControlFlow::Continue(());
                }
                // A file that is gone or cannot be read holds no match.
                if let Ok(file) = open_entry(found.folder, found.name)
                    && file.metadata().is_ok_and(|metadata| metadata.len() <= MAX_FILE)
                {
                    hits.look_into(&mut searcher, &matcher, &file, &path);
                }
                if hits.is_cut || hits.stop.is_some() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            });
            if let Err(error) = walked {
                return failed(error.to_string());
            }
        }
        Ok(FileType::RegularFile) => match toolbox.workspace.open_file(&at) {
            Ok(file) => hits.look_into(&mut searcher, &matcher, &file, &at.shown),
            Err(error) => return failed(error.to_string()),
        },
        Ok(_) => return failed("it is neither a file nor a folder".to_owned()),
        Err(error) => return failed(error.to_string()),
    }
    if let Some(stop) = hits.stop {
        return stop.answer();
    }
    let shown = hits.lines.len();
    let mut answer = if hits.lines.is_empty() && !hits.is_cut {
        Answer::of(format!("no matches in `{}`", at.shown))
    } else {
        Answer::of(hits.lines.join("\n"))
    };
    if hits.is_cut {
        answer = answer
            .note(&format!(
                "[only the first {shown} matches; name a folder, a glob or a longer query]"
            ))
            .truncated(true);
    }
    match secret {
        0 => answer,
        1 => answer.note("[1 file that may hold secrets was not searched]"),
        count => answer.note(&format!("[{count} files that may hold secrets were not searched]")),
    }
}

fn matcher(query: &Query) -> Result<RegexMatcher, String> {
    let mut builder = RegexMatcherBuilder::new();
    builder.line_terminator(Some(b'\n')).fixed_strings(!query.is_regex);
    match query.case_sensitive {
        None => builder.case_smart(true),
        Some(is_sensitive) => builder.case_insensitive(!is_sensitive),
    };
    builder.build(&query.text).map_err(|error| {
        if query.is_regex {
            format!("`query` is not a regular expression of one line: {error}")
        } else {
            format!("`query` cannot be looked for: {error}; each line is searched by itself")
        }
    })
}

fn globs(query: &Query) -> Result<Override, String> {
    let Some(glob) = &query.glob else { return Ok(Override::empty()) };
    let mut builder = OverrideBuilder::new("/");
    builder.add(glob).map_err(|error| format!("`glob` is wrong: {error}"))?;
    builder.build().map_err(|error| format!("`glob` is wrong: {error}"))
}

/// What was found so far.
struct Hits<'a> {
    lines: Vec<String>,
    bytes: usize,
    limit: usize,
    is_cut: bool,
    stop: Option<Stop>,
    clock: &'a Clock<'a>,
}

impl Hits<'_> {
    fn look_into(
        &mut self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        file: &File,
        path: &str,
    ) {
        let path = printable(path);
        let reader = Clocked { file, clock: self.clock };
        // What was found before a file could no longer be read counts.
        let _ = searcher.search_reader(matcher, reader, InFile { hits: self, path: &path });
        self.stop = self.stop.or_else(|| self.clock.stop());
    }
}

/// A file that cannot be read any more once the time is over.
struct Clocked<'a> {
    file: &'a File,
    clock: &'a Clock<'a>,
}

impl std::io::Read for Clocked<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.clock.stop().is_some() {
            return Err(std::io::Error::from(std::io::ErrorKind::TimedOut));
        }
        self.file.read(buffer)
    }
}

struct InFile<'h, 'a> {
    hits: &'h mut Hits<'a>,
    path: &'h str,
}

impl Sink for InFile<'_, '_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> Result<bool, Self::Error> {
        self.hits.bytes = self.hits.bytes.saturating_add(found.bytes().len() + self.path.len());
        if self.hits.lines.len() >= self.hits.limit || self.hits.bytes > MAX_BYTES {
            self.hits.is_cut = true;
            return Ok(false);
        }
        let text = String::from_utf8_lossy(found.bytes());
        let text = text.trim_end_matches(['\n', '\r']);
        let number = found.line_number().unwrap_or_default();
        self.hits.lines.push(format!("{}:{number}: {}", self.path, cut(text, MAX_WIDTH)));
        self.hits.stop = self.hits.clock.stop();
        Ok(self.hits.stop.is_none())
    }
}
