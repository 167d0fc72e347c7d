//! What a program prints, as far as the tables and the text tell it.

use super::Runner;
use super::simple::Call;
use super::variable::is_from_network;
use crate::model::component;
use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{CodeUse, Reading, Stream};
use crate::model::utility::{Language, Output, Utility};
use crate::model::value::{Piece, Text, Truth, Unknown};
use crate::resolve::names;

/// So many files are looked at one by one rather than looked up.
const FEW_FILES: usize = 8;

impl Runner<'_> {
    /// What an invocation prints by itself.
    pub(super) fn output(
        &mut self,
        index: usize,
        call: &Call,
        input: &Stream,
        follows: bool,
    ) -> Text {
        let Some(invocation) = self.trace.invocations.get(index) else { return Text::empty() };
        let utility = invocation.utility.and_then(|id| self.catalog.get(id));
        let kind = utility.map_or(Output::Unknown, |utility| {
            let asks = utility.output == Output::Unknown && receives(utility, &invocation.reading);
            if asks { Output::Network } else { utility.output }
        });
        let is_known = utility.is_some();
        let name = invocation.name.clone().unwrap_or_default();
        if name == "pwd" {
            let mut text = self.state.directories.first().cloned().unwrap_or_default();
            if self.state.directories.len() > 1 {
                text = super::variable::widen_texts(
                    &self.state.directories.iter().collect::<Vec<_>>(),
                );
            }
            text.push_str("\n");
            return text;
        }
        // An expression that cannot be evaluated ends the shell that expands it before it prints.
        let may_fail = call
            .fields
            .iter()
            .any(|field| field.text.pieces().contains(&Piece::Unknown(Unknown::Arithmetic)));
        if may_fail {
            return Text::unknown(Unknown::Output);
        }
        let told = self
            .trace
            .invocations
            .get(index)
            .filter(|own| !own.shadowed)
            .and_then(|own| names::printed(&name, &own.argv, &own.reading, input.text()));
        let told = told.or_else(|| self.top_level(call));
        if let Some(text) = told.or_else(|| self.produced(&name, &call.fields, input)) {
            return text;
        }
        if follows && kind != Output::Network {
            return Text::empty();
        }
        let tainted = input.text().is_some_and(is_from_network) || self.reads_network(call);
        let secret = input.text().is_some_and(|text| !self.catalog.secrets_in(text).is_empty());
        match kind {
            Output::None => Text::empty(),
            Output::Network => Text::unknown(Unknown::Network),
            Output::Secret => Text::unknown(Unknown::Secret),
            Output::Input if tainted => Text::unknown(Unknown::Network),
            Output::Input if secret => Text::unknown(Unknown::Secret),
            Output::Unknown if tainted && !is_known => Text::unknown(Unknown::Network),
            Output::Input | Output::Unknown => Text::unknown(Unknown::Output),
        }
    }

    /// Notes files of the project that came over the network and whose code a program runs by their
    /// name alone (`Makefile`, `package.json`).
    pub(super) fn run_project(&mut self, index: usize) {
        if self.state.files.is_empty() {
            return;
        }
        let Some(invocation) = self.trace.invocations.get(index) else { return };
        let Some(id) = invocation.utility.filter(|_| !invocation.reading.inert) else { return };
        let Some(root) = self.catalog.root(id) else { return };
        let runs = self.catalog.get(id).is_some_and(|utility| {
            utility.effects.iter().any(|effect| {
                use EffectKind::{Build, Container, Install, Publish};
                matches!(effect.kind, Build | Install | Container | Publish)
            })
        });
        if root.code_files.is_empty() || !runs {
            return;
        }
        let named = |key: &Text| {
            let name = key.exact().and_then(|key| key.rsplit('/').next()).unwrap_or_default();
            root.code_files
                .iter()
                .any(|glob| component::matches(&Text::literal(name), glob) == Truth::Yes)
        };
        let text = self
            .state
            .files
            .iter()
            .filter(|(key, _)| named(key))
            .flat_map(|(_, contents)| contents)
            .find(|content| is_from_network(content))
            .cloned();
        if let Some(text) = text {
            let code = CodeUse {
                language: Language::Other,
                place: CodePlace::File,
                text,
                invocation: Some(index),
                site: invocation.site,
            };
            self.trace.codes.push(code);
        }
    }

    /// What `git rev-parse --show-toplevel` prints in a workspace root that is a repository: where it
    /// lies, or nothing.
    fn top_level(&self, call: &Call) -> Option<Text> {
        let words = ["git", "rev-parse", "--show-toplevel"];
        let asks = call.fields.len() == words.len()
            && call.fields.iter().zip(words).all(|(field, word)| field.exact() == Some(word));
        let [directory] = self.state.directories.as_slice() else { return None };
        let directory = directory.exact().filter(|_| asks && self.context.branch.is_some())?;
        let root = self.context.workspaces.iter().any(|root| root == directory);
        root.then(|| Text::unknown(Unknown::Plain).concat(&Text::literal("\n")))
    }

    /// Whether a builtin prints the variables of the shell.
    pub(super) fn shows_secrets(&self, index: usize) -> bool {
        let Some(own) = self.trace.invocations.get(index) else { return false };
        let utility = own.utility.and_then(|id| self.catalog.get(id));
        let lists = own.argv.len() == 1 || own.reading.options.iter().any(|used| used.name == "-p");
        lists
            && own.reading.operands.is_empty()
            && utility.is_some_and(|utility| utility.output == Output::Secret)
    }

    /// Whether an operand is a file that this text has filled from the network.
    fn reads_network(&self, call: &Call) -> bool {
        let files = &self.state.files;
        let few = files.len() <= FEW_FILES;
        if few && !files.values().flatten().any(is_from_network) {
            return false;
        }
        call.fields
            .iter()
            .skip(1)
            .any(|field| self.written(&field.text).iter().any(is_from_network))
    }
}

/// Whether a utility gets what it prints from another machine: it, or a part of its arguments, has
/// the effect `receive`.
fn receives(utility: &Utility, reading: &Reading) -> bool {
    let is_receive = |kind: &EffectKind| *kind == EffectKind::Receive;
    utility.effects.iter().any(|effect| is_receive(&effect.kind))
        || utility.operands.iter().flat_map(|operand| &operand.effects).any(is_receive)
        || reading.deeds.iter().any(|deed| is_receive(&deed.kind))
}
