//! Whose output is whose input: descriptors, redirections, and the files this text writes.

use super::Runner;
use super::state::{Target, join_path};
use super::variable::{is_from_network, widen_texts};
use crate::expand::{Environ as _, Mode, is_number};
use crate::model::fact::EffectKind;
use crate::model::script::{Descriptor, Part, Redirection, RedirectionOperator, RedirectionTarget};
use crate::model::trace::{Access, Stream};
use crate::model::value::{Arity, Field, Piece, Text, Unknown, Value};

/// Pieces one stream may have; what follows becomes one unknown piece.
const PIECES: usize = 256;

/// Bytes of a piece, as the cost of a text counts them.
pub(super) fn piece_bytes(piece: &Piece) -> usize {
    match piece {
        Piece::Literal(text) => text.len(),
        Piece::Unknown(_) | Piece::Glob(_) => 1,
    }
}

/// Bytes of a text.
pub(super) fn text_bytes(text: &Text) -> usize {
    text.pieces().iter().map(piece_bytes).sum()
}

/// Appends within limits; what came over the network is not forgotten.
pub(super) fn append(to: &mut Text, more: &Text, limit: usize) {
    let fits = to.pieces().len() + more.pieces().len() <= PIECES
        && text_bytes(to).saturating_add(text_bytes(more)) <= limit;
    if fits {
        // Two unknown pieces of one cause say no more than one.
        for piece in more.pieces() {
            if matches!(piece, Piece::Unknown(_)) && to.pieces().last() == Some(piece) {
                continue;
            }
            to.push(piece.clone());
        }
        return;
    }
    let cause = if is_from_network(more) && !is_from_network(to) {
        Unknown::Network
    } else {
        Unknown::Limit
    };
    let piece = Piece::Unknown(cause);
    if to.pieces().last() != Some(&piece) && to.pieces().len() < PIECES * 2 {
        to.push(piece);
    }
}

/// Redirections of one command that cost no step.
const FREE_REDIRECTIONS: usize = 64;

impl Runner<'_> {
    /// A new place where output is gathered.
    pub(super) fn capture(&mut self) -> usize {
        self.captures.push(Text::empty());
        self.captures.len() - 1
    }

    /// What was gathered; the place stays and is empty.
    pub(super) fn release(&mut self, place: usize) -> Text {
        let text = self.captures.get_mut(place).map(std::mem::take).unwrap_or_default();
        let known = text
            .pieces()
            .iter()
            .any(|piece| matches!(piece, Piece::Literal(own) if !own.trim().is_empty()));
        if self.broken.remove(&place) && known {
            return super::simple::blur(&text);
        }
        text
    }

    /// A new text that descriptors can read.
    pub(super) fn input(&mut self, text: Text) -> usize {
        self.inputs.push(text);
        self.inputs.len() - 1
    }

    /// What stands on standard input.
    pub(super) fn stdin(&self) -> Stream {
        match self.state.descriptor(0) {
            Target::Input(index) => {
                Stream::Text(self.inputs.get(index).cloned().unwrap_or_default())
            }
            Target::Closed => Stream::Text(Text::empty()),
            Target::File(key) => Stream::Text(self.content(&key)),
            Target::Inherited | Target::Capture(_) => Stream::Inherited,
        }
    }

    /// Takes all of standard input.
    pub(super) fn drain(&mut self) {
        if let Target::Input(index) = self.state.descriptor(0)
            && let Some(text) = self.inputs.get_mut(index)
        {
            *text = Text::empty();
        }
    }

    /// Prints to a descriptor.
    pub(super) fn emit(&mut self, descriptor: u32, text: &Text) {
        if text.is_empty() {
            return;
        }
        let limit = self.limits.value_bytes;
        match self.state.descriptor(descriptor) {
            Target::Capture(place) => {
                if let Some(capture) = self.captures.get_mut(place) {
                    append(capture, text, limit);
                }
            }
            Target::File(key) if outside_input(&key) == Unknown::Network => {}
            Target::File(key) => {
                let mut contents = self.state.files.get(&key).cloned().unwrap_or_default();
                if contents.is_empty() {
                    contents.push(Text::empty());
                }
                for content in &mut contents {
                    append(content, text, limit);
                }
                self.state.write_file(key, contents);
            }
            Target::Inherited | Target::Input(_) | Target::Closed => {}
        }
    }

    /// The keys under which files at this path are remembered, one for each directory.
    pub(super) fn keys(&self, path: &Text) -> Vec<Text> {
        let mut keys: Vec<Text> = Vec::new();
        for directory in &self.state.directories {
            let key = join_path(directory, path);
            if !keys.contains(&key) {
                keys.push(key);
            }
        }
        keys
    }

    /// What this text has put into the file at a key; unknown input where it has not.
    pub(super) fn content(&self, key: &Text) -> Text {
        match self.state.files.get(key) {
            Some(contents) => widen_texts(&contents.iter().collect::<Vec<_>>()),
            None => Text::unknown(outside_input(key)),
        }
    }

    /// What this text has put into a file, where it has; alternatives.
    pub(super) fn written(&self, path: &Text) -> Vec<Text> {
        if let Some(number) = descriptor_path(path) {
            return match self.state.descriptor(number) {
                Target::Input(index) => self.inputs.get(index).cloned().into_iter().collect(),
                Target::File(key) => self.state.files.get(&key).cloned().unwrap_or_default(),
                _ => self.state.files.get(path).cloned().unwrap_or_default(),
            };
        }
        let mut contents: Vec<Text> = Vec::new();
        if self.state.files.is_empty() {
            return contents;
        }
        for key in self.keys(path) {
            for content in self.state.files.get(&key).into_iter().flatten() {
                if !contents.contains(content) {
                    contents.push(content.clone());
                }
            }
        }
        contents
    }

    /// What reading a path gives.
    pub(super) fn read_path(&self, path: &Text) -> Text {
        let contents = self.written(path);
        if contents.is_empty() {
            return Text::unknown(outside_input(path));
        }
        widen_texts(&contents.iter().collect::<Vec<_>>())
    }

    /// Puts content into a file, or adds it at the end.
    pub(super) fn write_path(&mut self, path: &Text, content: &Text, adds: bool) {
        if let Some(number) = descriptor_path(path)
            && !matches!(self.state.descriptor(number), Target::Inherited)
        {
            self.emit(number, content);
            return;
        }
        if is_sink(path) {
            return;
        }
        let limit = self.limits.value_bytes;
        for key in self.keys(path) {
            let contents = if adds {
                let mut contents = self.state.files.get(&key).cloned().unwrap_or_default();
                if contents.is_empty() {
                    contents.push(Text::empty());
                }
                for old in &mut contents {
                    append(old, content, limit);
                }
                contents
            } else {
                vec![content.clone()]
            };
            self.state.write_file(key, contents);
        }
    }

    /// Whether this text has written to a path.
    pub(super) fn has_written(&self, path: &Text) -> bool {
        !self.written(path).is_empty()
    }

    /// Notes the invocation that files were opened for.
    pub(super) fn attach(&mut self, from: usize, invocation: usize) {
        for access in self.trace.accesses.iter_mut().skip(from) {
            access.invocation.get_or_insert(invocation);
        }
    }

    /// Performs redirections from left to right; the state's descriptors change.
    pub(super) fn redirect(&mut self, redirections: &[Redirection]) {
        let joined = self
            .joined
            .filter(|(span, _)| redirections.first().is_some_and(|first| first.span == *span));
        let outer = joined.map(|(_, feeds)| {
            self.joined = None;
            (feeds, self.state.descriptor(u32::from(feeds)))
        });
        self.redirect_all(redirections);
        // zsh gives the pipe what a file gets, too, and reads the pipe before the file.
        match outer {
            Some((true, pipe @ Target::Capture(_))) => self.state.descriptors.insert(1, pipe),
            Some((false, Target::Input(pipe))) => {
                if self.state.descriptor(0) != Target::Input(pipe)
                    && let Some(mut text) = self.inputs.get(pipe).cloned()
                    && let Stream::Text(more) = self.stdin()
                {
                    append(&mut text, &more, self.limits.value_bytes);
                    let both = self.input(text);
                    self.state.descriptors.insert(0, Target::Input(both));
                }
            }
            _ => {}
        }
    }

    fn redirect_all(&mut self, redirections: &[Redirection]) {
        for (index, redirection) in redirections.iter().enumerate() {
            if index >= FREE_REDIRECTIONS && !self.step(1, redirection.span) {
                return;
            }
            self.redirect_one(redirection);
        }
    }

    fn redirect_one(&mut self, redirection: &Redirection) {
        use RedirectionOperator as Operator;
        let operator = redirection.operator;
        let number = match &redirection.descriptor {
            Some(Descriptor::Number(number)) => *number,
            Some(Descriptor::Variable(name)) => {
                let free =
                    (10..256).find(|n| !self.state.descriptors.contains_key(*n)).unwrap_or(10);
                let site = self.site(redirection.span);
                self.assign_text(name, None, Text::literal(free.to_string()), false, site);
                free
            }
            None => match operator {
                Operator::Input
                | Operator::ReadWrite
                | Operator::DuplicateInput
                | Operator::HereDocument
                | Operator::HereDocumentTabs
                | Operator::HereString => 0,
                _ => 1,
            },
        };
        let word = match &redirection.target {
            RedirectionTarget::HereDocument(document) => {
                let text = self.word_text(&document.body, Mode::HereDocument);
                let index = self.input(text);
                self.state.descriptors.insert(number, Target::Input(index));
                return;
            }
            RedirectionTarget::Word(word) => word,
        };
        if operator == Operator::HereString {
            let mut text = self.word_text(word, Mode::HereString);
            text.push_str("\n");
            let index = self.input(text);
            self.state.descriptors.insert(number, Target::Input(index));
            return;
        }
        let mut fields = self.word_fields(word);
        let field = if fields.len() == 1 {
            fields.pop().unwrap_or_default()
        } else {
            // bash reports an ambiguous redirection; the text as it stands is what is opened.
            let site = self.site(word.span);
            Field {
                text: self.word_text(word, Mode::HereString),
                arity: Arity::One,
                site,
                quoted: false,
            }
        };
        if matches!(operator, Operator::DuplicateInput | Operator::DuplicateOutput)
            && self.duplicate(number, &field.text, matches!(*word.parts, [Part::Literal(..)]))
        {
            return;
        }
        let kind = match operator {
            Operator::Input | Operator::DuplicateInput => EffectKind::Read,
            Operator::Append | Operator::AppendAndError => EffectKind::Append,
            _ => EffectKind::Write,
        };
        // (A file for messages in the directory at hand is taken to be one that can be made.)
        let messages = number == 2
            && kind != EffectKind::Read
            && field.text.exact().is_some_and(|path| !path.contains('/'));
        if number != 1
            && !messages
            && !is_sink(&field.text)
            && descriptor_path(&field.text).is_none()
            && self.written(&field.text).is_empty()
        {
            // Where the file cannot be opened the command does not run, and prints nothing elsewhere.
            self.fails();
        }
        // What the shell says where the file cannot be opened goes where errors go by now.
        if matches!(self.state.descriptor(2), Target::Capture(_)) && !is_sink(&field.text) {
            self.emit(2, &Text::unknown(Unknown::Output));
        }
        let site = self.site(redirection.span);
        self.trace.accesses.push(Access {
            kind,
            target: field.clone(),
            directories: self.state.directories.clone(),
            invocation: None,
            site,
        });
        match operator {
            Operator::Input | Operator::DuplicateInput => {
                let text = self.read_path(&field.text);
                let index = self.input(text);
                self.state.descriptors.insert(number, Target::Input(index));
            }
            Operator::ReadWrite => {
                let text = self.read_path(&field.text);
                let index = self.input(text);
                self.state.descriptors.insert(number, Target::Input(index));
            }
            _ => {
                let target = match descriptor_path(&field.text) {
                    Some(other) if self.state.descriptors.contains_key(other) => {
                        self.state.descriptor(other)
                    }
                    _ if is_sink(&field.text) => Target::Closed,
                    _ => {
                        let keys = self.keys(&field.text);
                        let adds = matches!(operator, Operator::Append | Operator::AppendAndError);
                        for key in &keys {
                            // A connection and a named pipe have no content to truncate.
                            if outside_input(key) == Unknown::Network || self.pipes.contains(key) {
                                continue;
                            }
                            let known = self.state.files.contains_key(key);
                            if adds && !known {
                                // What the file held before is not known.
                                self.state
                                    .write_file(key.clone(), vec![Text::unknown(Unknown::Input)]);
                            } else if !adds {
                                self.state.write_file(key.clone(), vec![Text::empty()]);
                            }
                        }
                        Target::File(keys.into_iter().next().unwrap_or_default())
                    }
                };
                self.state.descriptors.insert(number, target.clone());
                if matches!(operator, Operator::OutputAndError | Operator::AppendAndError)
                    || (operator == Operator::DuplicateOutput && redirection.descriptor.is_none())
                {
                    self.state.descriptors.insert(2, target);
                }
            }
        }
    }

    /// `n>&m`, `n>&m-`, `n>&-`; false where the word names a file. `literal` says that it stands there as it
    /// is: from a word with quotes or expansions nothing is moved, `2-` is then a file.
    fn duplicate(&mut self, number: u32, word: &Text, literal: bool) -> bool {
        let Some(exact) = word.exact() else {
            // A descriptor kept in a variable that is not known.
            let numeric = word
                .pieces()
                .iter()
                .all(|piece| matches!(piece, Piece::Unknown(Unknown::Arithmetic)));
            if numeric {
                self.state.descriptors.insert(number, Target::Inherited);
            }
            return numeric;
        };
        if exact == "-" {
            self.state.descriptors.insert(number, Target::Closed);
            return true;
        }
        let (digits, moves) = match exact.strip_suffix('-').filter(|_| literal) {
            Some(digits) => (digits, true),
            None => (exact, false),
        };
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return false;
        }
        let Ok(other) = digits.parse::<u32>() else { return false };
        let target = self.state.descriptor(other);
        self.state.descriptors.insert(number, target);
        if moves {
            self.state.descriptors.insert(other, Target::Closed);
        }
        true
    }

    /// Takes one line, or what `delimiter` ends, from a descriptor. `None` at its end.
    pub(super) fn take_line(&mut self, descriptor: u32, delimiter: char) -> Option<(Text, bool)> {
        let Target::Input(index) = self.state.descriptor(descriptor) else {
            return Some((Text::unknown(Unknown::Input), false));
        };
        let text = self.inputs.get_mut(index)?;
        if text.is_empty() {
            return None;
        }
        let mut line = Text::empty();
        let mut rest = Text::empty();
        let mut ended = false;
        let mut known = true;
        for piece in text.pieces() {
            if ended {
                rest.push(piece.clone());
                continue;
            }
            match piece {
                Piece::Literal(literal) => match literal.split_once(delimiter) {
                    Some((before, after)) => {
                        line.push_str(before);
                        rest.push_str(after);
                        ended = true;
                    }
                    None => line.push_str(literal),
                },
                Piece::Glob(_) => {
                    line.push(piece.clone());
                    known = false;
                }
                Piece::Unknown(cause) if cause.is_below() || is_number(cause) => {
                    line.push(piece.clone());
                    known = false;
                }
                other @ Piece::Unknown(_) => {
                    // The unknown part may hold any number of lines.
                    line.push(other.clone());
                    rest.push(other.clone());
                    known = false;
                    ended = true;
                }
            }
        }
        // A form of lines stands for any number of them.
        if known || !rest.is_empty() {
            *text = rest;
        }
        Some((line, known))
    }
}

/// Why the content of a file that this text has not written is unknown.
fn outside_input(path: &Text) -> Unknown {
    let prefix = path.prefix();
    if prefix.starts_with("/dev/tcp/") || prefix.starts_with("/dev/udp/") {
        Unknown::Network
    } else {
        Unknown::Input
    }
}

/// The descriptor that a path stands for.
pub(super) fn descriptor_path(path: &Text) -> Option<u32> {
    match path.exact()? {
        "/dev/stdin" | "/proc/self/fd/0" => Some(0),
        "/dev/stdout" | "/proc/self/fd/1" => Some(1),
        "/dev/stderr" | "/proc/self/fd/2" => Some(2),
        other => other.strip_prefix("/dev/fd/")?.parse().ok(),
    }
}

fn is_sink(path: &Text) -> bool {
    matches!(path.exact(), Some("/dev/null" | "/dev/zero" | "/dev/full" | "/dev/tty"))
}

/// The text of a value, where it is a string.
pub(super) fn scalar(value: &Value) -> Text {
    match value {
        Value::Unset => Text::empty(),
        Value::Unknown(cause) => Text::unknown(cause.clone()),
        Value::Scalar(text) => text.clone(),
        Value::Indexed { elements, open } => match elements.get(&0) {
            Some(text) => text.clone(),
            None if *open => Text::unknown(Unknown::Joined),
            None => Text::empty(),
        },
        Value::Associative { elements, open } => match elements.get("0") {
            Some(text) => text.clone(),
            None if *open => Text::unknown(Unknown::Joined),
            None => Text::empty(),
        },
    }
}
