//! ssh: options before and behind the host, the text for the remote shell (OpenSSH manual, ssh(1),
//! `ssh_config(5)`).

use crate::model::fact::CodePlace;
use crate::model::trace::{Carried, Doubt, OptionUse, Reading};
use crate::model::utility::{CarryScope, Language, ValueKind};
use crate::model::value::{Field, Piece, Text, Truth};
use crate::resolve::carry::join;
use crate::resolve::grammar::Scene;
use crate::resolve::read::part;

/// Letters of options with a value.
const VALUES: &str = "BbcDEeFIiJLlmOoPpQRSWw";

/// Letters of options without one.
const FLAGS: &str = "46AaCfGgKkMNnqsTtVvXxYy";

/// Settings whose value is a command that runs on this machine.
const LOCAL_COMMANDS: &[&str] = &["proxycommand", "localcommand", "knownhostscommand"];

/// Replaces what the tables read: options may stand behind the host too, and end at the command.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    // Those that only copy have no command of their own; the tables read all else.
    if scene.utility.operands.iter().any(|operand| operand.kind == ValueKind::RemotePath) {
        let settings = reading.options.iter().filter(|option| option.name == "-o");
        for value in settings.filter_map(|option| option.value.as_ref()) {
            if let Some(text) = local_command(value) {
                carried.push(script(text, CodePlace::Helper, CarryScope::Local, value));
            }
        }
        return;
    }
    let mut ssh = Ssh { scene, reading: Reading::default(), at: 0 };
    carried.clear();
    ssh.options();
    if let Some(host) = scene.fields.get(ssh.at) {
        ssh.at += 1;
        ssh.reading.operands.push(host.clone());
        ssh.options();
    }
    for option in &ssh.reading.options {
        let Some(value) = &option.value else { continue };
        match option.name.as_str() {
            "-o" => {
                if let Some(text) = local_command(value) {
                    carried.push(script(text, CodePlace::Helper, CarryScope::Local, value));
                }
            }
            "-F" if value.exact() != Some("none") => carried.push(Carried::File {
                path: value.clone(),
                language: Language::Other,
                parameters: Vec::new(),
                same_shell: false,
            }),
            _ => {}
        }
    }
    let words: Vec<Field> = scene.fields.iter().skip(ssh.at).cloned().collect();
    let idle = ["-N", "-n", "-W", "-G", "-V", "-Q", "-O", "-s"];
    if let Some(first) = words.first() {
        carried.push(script(join(&words), CodePlace::Operand, CarryScope::Remote, first));
    } else if !ssh.reading.operands.is_empty()
        && !idle.iter().any(|name| ssh.reading.option(name).is_some())
    {
        carried.push(Carried::Input {
            language: Language::Shell,
            parameters: Vec::new(),
            scope: CarryScope::Remote,
            site: scene.site,
        });
    }
    *reading = ssh.reading;
}

fn script(text: Text, place: CodePlace, scope: CarryScope, word: &Field) -> Carried {
    Carried::Script {
        text,
        parameters: Vec::new(),
        place,
        scope,
        directory: None,
        same_shell: false,
        site: word.site,
    }
}

/// The command of `ProxyCommand=TEXT` or `ProxyCommand TEXT` and its kin; of a setting that is not
/// known, what is unknown of it.
fn local_command(value: &Field) -> Option<Text> {
    let prefix = value.text.prefix();
    let Some(end) = prefix.find(['=', ' ', '\t']) else {
        let unknown = value.text.pieces().iter().any(|piece| matches!(piece, Piece::Unknown(_)));
        return unknown.then(|| value.text.clone());
    };
    let name = prefix.get(..end)?.to_lowercase();
    let rest = part(value, end + 1);
    let text = rest.text.prefix().trim_start_matches([' ', '=', '\t']);
    let skipped = rest.text.prefix().len() - text.len();
    let text = part(&rest, skipped).text;
    let runs = LOCAL_COMMANDS.contains(&name.as_str()) && text.exact() != Some("none");
    runs.then_some(text)
}

struct Ssh<'a> {
    scene: &'a Scene<'a>,
    reading: Reading,
    at: usize,
}

impl Ssh<'_> {
    fn options(&mut self) {
        while let Some(field) = self.scene.fields.get(self.at) {
            let prefix = field.text.prefix();
            if prefix.is_empty() && field.text.has_unknown() {
                self.reading.doubts.push(Doubt::Word(field.site));
                return;
            }
            if !prefix.starts_with('-') || field.exact() == Some("-") {
                return;
            }
            self.at += 1;
            if field.exact() == Some("--") {
                return;
            }
            self.cluster(field);
        }
    }

    fn cluster(&mut self, field: &Field) {
        for (at, letter) in field.text.prefix().char_indices().skip(1) {
            let name = format!("-{letter}");
            if VALUES.contains(letter) {
                let rest = part(field, at + letter.len_utf8());
                let value = if rest.text.is_empty() {
                    let next = self.scene.fields.get(self.at).cloned();
                    self.at += 1;
                    next
                } else {
                    Some(rest)
                };
                self.record(name, value, field);
                return;
            }
            if FLAGS.contains(letter) {
                self.record(name, None, field);
            } else {
                self.reading.doubts.push(Doubt::Option(name.into(), field.site));
            }
        }
        if !field.text.is_exact() {
            self.reading.doubts.push(Doubt::Word(field.site));
        }
    }

    fn record(&mut self, name: String, value: Option<Field>, field: &Field) {
        self.reading.options.push(OptionUse {
            spelled: name.clone().into(),
            name: name.into(),
            value,
            site: field.site,
            certain: Truth::Yes,
            depth: usize::MAX,
        });
    }
}
