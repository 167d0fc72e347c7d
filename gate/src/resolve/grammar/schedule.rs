//! at, batch and crontab: text that runs later (POSIX.1-2024 XCU at, crontab).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::utility::{CarryScope, Language};
use crate::model::value::{Field, Text};
use crate::resolve::grammar::Scene;
use crate::resolve::grammar::words::{Options, Sorted, deed, known, on_path, script};

const CRONTAB: Options = Options { short: "u:lreisn:cTV", long: &[], permute: true };
const AT: Options = Options { short: "q:f:t:c:mMlbrdvVk", long: &[], permute: true };

/// Reads the words behind the program of that name.
pub(super) fn read(scene: &Scene<'_>, reading: &mut Reading, carried: &mut Vec<Carried>) {
    match scene.name {
        "crontab" | "fcrontab" => crontab(scene, &CRONTAB.sort(scene.fields), reading, carried),
        "atq" => {}
        "atrm" => destroy(scene, reading),
        _ => at(scene, &AT.sort(scene.fields), reading, carried),
    }
}

fn destroy(scene: &Scene<'_>, reading: &mut Reading) {
    reading.deeds.push(deed(EffectKind::Destroy, DeedObject::None, scene.site));
}

fn detach(scene: &Scene<'_>, reading: &mut Reading) {
    reading.deeds.push(deed(EffectKind::Detach, DeedObject::None, scene.site));
}

/// Reports that standard input or a file is shell text.
fn shell_input(scene: &Scene<'_>, file: Option<&Field>, carried: &mut Vec<Carried>) {
    let file = file.filter(|file| !matches!(file.exact(), Some("-" | "/dev/stdin")));
    carried.push(match file {
        Some(file) => Carried::File {
            path: file.clone(),
            language: Language::Shell,
            parameters: Vec::new(),
            same_shell: false,
        },
        None => Carried::Input {
            language: Language::Shell,
            parameters: Vec::new(),
            scope: CarryScope::Local,
            site: scene.site,
        },
    });
}

fn crontab(scene: &Scene<'_>, sorted: &Sorted, reading: &mut Reading, carried: &mut Vec<Carried>) {
    reading.complete = true;
    if sorted.has("l") {
        return;
    }
    if sorted.has("r") {
        destroy(scene, reading);
        return;
    }
    reading.deeds.push(deed(EffectKind::Service, DeedObject::None, scene.site));
    detach(scene, reading);
    if sorted.has("e") {
        reading.deeds.push(deed(EffectKind::Interact, DeedObject::None, scene.site));
        return;
    }
    let file = sorted.operands.first();
    if let Some(file) = file.filter(|file| file.exact() != Some("-")) {
        reading.deeds.push(on_path(EffectKind::Read, file));
        carried.push(crate::resolve::grammar::words::code_file(Language::Shell, file.site));
        return;
    }
    // The lines are no shell text themselves; the command stands behind the times.
    let input = scene.surroundings.input.text();
    let text = input.map(|text| known(text).unwrap_or_else(|| text.fill("?")));
    carried.push(crate::resolve::grammar::words::program(
        Language::Shell,
        input.cloned().unwrap_or_else(|| Text::unknown(crate::model::value::Unknown::Input)),
        CodePlace::Input,
        scene.site,
    ));
    for line in text.unwrap_or_default().lines() {
        if let Some(command) = job(line) {
            carried.push(script(Text::literal(command), CodePlace::Input, scene.site));
        }
    }
}

/// The command of a line of a crontab.
fn job(line: &str) -> Option<&str> {
    let mut rest = line.trim_start();
    if rest.is_empty() || rest.starts_with('#') {
        return None;
    }
    let times = if rest.starts_with('@') { 1 } else { 5 };
    for _ in 0..times {
        let (_, behind) = rest.split_once([' ', '\t'])?;
        rest = behind.trim_start();
    }
    Some(rest)
}

fn at(scene: &Scene<'_>, sorted: &Sorted, reading: &mut Reading, carried: &mut Vec<Carried>) {
    reading.complete = true;
    if sorted.has("l") || sorted.has("c") {
        return;
    }
    if sorted.has("r") || sorted.has("d") {
        destroy(scene, reading);
        return;
    }
    detach(scene, reading);
    let file = sorted.last("f");
    if let Some(file) = file {
        reading.deeds.push(on_path(EffectKind::Read, file));
    }
    shell_input(scene, file, carried);
}
