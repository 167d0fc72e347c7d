//! The syntax tree of tree-sitter-bash, as evidence: where it sees commands and substitutions.
//!
//! The only file that names tree-sitter. The tree never changes a reading; see
//! `docs/decisions/0001-our-reader-is-the-authority.md`.

use std::cell::RefCell;

use tree_sitter::{Language, ParseOptions, Parser, Tree};

use crate::model::span::Span;

/// The parser says every hundred steps how far it is; so often it may say so for one piece.
const MOST_REPORTS: usize = 20_000;

/// What a tree says about a piece of text; positions count in the piece.
#[derive(Debug, Default)]
pub(super) struct Evidence {
    /// Names of commands.
    pub(super) commands: Vec<Span>,
    /// Command and process substitutions.
    pub(super) substitutions: Vec<Span>,
}

/// A parser that is used again and again, and the kinds of node that are looked for.
struct Bash {
    parser: Parser,
    commands: [u16; 3],
    substitutions: [u16; 2],
}

thread_local! {
    static BASH: RefCell<Option<Bash>> = RefCell::new(bash());
}

fn bash() -> Option<Bash> {
    let language = Language::from(tree_sitter_bash::LANGUAGE);
    let mut parser = Parser::new();
    parser.set_language(&language).ok()?;
    let kind = |name| language.id_for_node_kind(name, true);
    Some(Bash {
        parser,
        commands: ["command_name", "declaration_command", "unset_command"].map(kind),
        substitutions: ["command_substitution", "process_substitution"].map(kind),
    })
}

/// The evidence of a piece; `None` where there is none: the tree has an error or took too long.
pub(super) fn evidence(piece: &str) -> Option<Evidence> {
    BASH.with(|bash| gather(bash.try_borrow_mut().ok()?.as_mut()?, piece))
}

fn gather(bash: &mut Bash, piece: &str) -> Option<Evidence> {
    let tree = tree_of(&mut bash.parser, piece)?;
    if tree.root_node().has_error() {
        return None;
    }
    let mut evidence = Evidence::default();
    let mut cursor = tree.walk();
    loop {
        let node = cursor.node();
        let kind = node.kind_id();
        if bash.commands.contains(&kind) {
            evidence.commands.push(Span::new(node.start_byte(), node.end_byte()));
        } else if bash.substitutions.contains(&kind) {
            evidence.substitutions.push(Span::new(node.start_byte(), node.end_byte()));
        }
        if cursor.goto_first_child() {
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Some(evidence);
            }
        }
    }
}

fn tree_of(parser: &mut Parser, piece: &str) -> Option<Tree> {
    let mut reports = 0usize;
    let mut progress = |_: &_| {
        reports += 1;
        reports > MOST_REPORTS
    };
    let options = ParseOptions::new().progress_callback(&mut progress);
    let mut input = |at: usize, _| piece.as_bytes().get(at..).unwrap_or_default();
    let tree = parser.parse_with_options(&mut input, None, Some(options));
    // A parse that was stopped would go on with the next text.
    parser.reset();
    tree
}
