//! Code in options, operands and input, as the tables name it, for grammars that look into it.

use crate::model::fact::CodePlace;
use crate::model::span::Site;
use crate::model::trace::{Carried, Reading};
use crate::model::utility::{CarryScope, Input, Language, ValueKind};
use crate::model::value::Text;
use crate::resolve::carry::{operand_spec, spec};
use crate::resolve::grammar::Scene;

/// A piece of code.
#[derive(Clone, Debug)]
pub(super) struct Code {
    /// The code.
    pub(super) text: Text,
    /// Where it stands.
    pub(super) place: CodePlace,
    /// The word.
    pub(super) site: Site,
    /// Its language.
    pub(super) language: Language,
}

/// Code in options and operands, and on standard input where there is none of these and this text
/// feeds it.
pub(super) fn codes(scene: &Scene<'_>, reading: &Reading) -> Vec<Code> {
    let own = scene.utility.language.unwrap_or(Language::Other);
    let mut out = Vec::new();
    for option in &reading.options {
        if let Some(value) = &option.value
            && let Some(spec) = spec(scene, option)
            && spec.kind == ValueKind::Code
        {
            let language = spec.language.unwrap_or(own);
            let text = value.text.clone();
            out.push(Code { text, place: CodePlace::Option, site: value.site, language });
        }
    }
    for (index, operand) in reading.operands.iter().enumerate() {
        if operand_spec(scene.utility, reading, index)
            .is_some_and(|spec| spec.kind == ValueKind::Code)
        {
            let text = operand.text.clone();
            out.push(Code { text, place: CodePlace::Operand, site: operand.site, language: own });
        }
    }
    if out.is_empty()
        && let Some(text) = input(scene, reading)
    {
        out.push(Code { text, place: CodePlace::Input, site: scene.site, language: own });
    }
    out
}

/// The text on standard input, where the program takes code from there and this text feeds it.
fn input(scene: &Scene<'_>, reading: &Reading) -> Option<Text> {
    let reads_file = reading
        .options
        .iter()
        .any(|option| spec(scene, option).is_some_and(|spec| spec.kind == ValueKind::Script));
    let takes_code = scene.utility.input == Input::Code && !reads_file;
    takes_code.then(|| scene.surroundings.input.text().cloned()).flatten()
}

/// Reports code as it stands; what stands on standard input is reported as that.
pub(super) fn report(scene: &Scene<'_>, codes: &[Code], carried: &mut Vec<Carried>) {
    for code in codes {
        carried.push(match code.place {
            CodePlace::Input => Carried::Input {
                language: code.language,
                parameters: Vec::new(),
                scope: CarryScope::Local,
                site: scene.site,
            },
            place => Carried::Program {
                language: code.language,
                text: code.text.clone(),
                place,
                site: code.site,
            },
        });
    }
}
