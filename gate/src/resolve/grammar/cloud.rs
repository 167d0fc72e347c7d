//! Command lines of clouds: the first verb of the command path says what is done (AWS CLI 2,
//! Google Cloud CLI, Azure CLI, doctl references).

use crate::model::fact::EffectKind;
use crate::model::trace::{DeedObject, Reading};
use crate::model::value::{Field, Str};
use crate::resolve::grammar::words::deed;

/// Words of the command path that are looked at.
const PATH: usize = 5;

/// Reads the operands of a cloud's command line.
pub(super) fn read(reading: &mut Reading) {
    let words: Vec<Field> = reading
        .operands
        .iter()
        .take(PATH)
        .take_while(|word| word.exact().is_some_and(is_command))
        .cloned()
        .collect();
    let subcommand: Vec<Str> = reading.subcommand.clone();
    let verbs = |word: &Field| word.exact().is_some_and(|word| verb(word).is_some());
    let single = words.iter().filter(|word| verbs(word)).count() < 2;
    let spoken = subcommand
        .iter()
        .flat_map(|name| name.split(' '))
        .map(|name| (name.to_owned(), None))
        .chain(words.iter().filter_map(|word| Some((word.exact()?.to_owned(), Some(word.site)))));
    for (word, site) in spoken {
        // `gcloud run services list`: the first word is a product that is called like a verb.
        let Some(kind) = verb(&word).filter(|_| word != "run" || site.is_none() || single) else {
            continue;
        };
        let site = site.or(words.first().map(|word| word.site)).unwrap_or_default();
        if let Some(kind) = kind {
            reading.deeds.push(deed(kind, DeedObject::None, site));
        }
        return;
    }
}

fn is_command(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_lowercase())
        && word
            .chars()
            .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | ':' | '_'))
}

#[expect(
    clippy::option_option,
    reason = "the outer says whether it is modelled, the inner whether it is there"
)]
/// What a word says is done: nothing for a word that only looks, none for a word that is no verb.
fn verb(word: &str) -> Option<Option<EffectKind>> {
    let last = word.rsplit(':').next().unwrap_or(word);
    let first = last.split('-').next().unwrap_or(last);
    Some(match first {
        "list" | "ls" | "describe" | "get" | "show" | "view" | "info" | "status" | "logs"
        | "log" | "search" | "head" | "wait" | "tail" | "help" | "version" | "whoami"
        | "lookup" | "check" | "validate" | "diff" | "preview" | "estimate" | "export" | "read" => {
            None
        }
        "delete" | "del" | "destroy" | "terminate" | "remove" | "purge" | "drop" | "rm" | "rb"
        | "rmdir" | "wipe" | "deregister" | "erase" | "uninstall" | "empty" | "expire"
        | "cleanup" | "deletefile" => Some(EffectKind::Destroy),
        "deploy" | "publish" | "release" | "promote" | "ship" => Some(EffectKind::Publish),
        "create" | "update" | "put" | "apply" | "run" | "start" | "stop" | "set" | "add"
        | "attach" | "detach" | "modify" | "reboot" | "restart" | "scale" | "resize" | "invoke"
        | "enable" | "disable" | "register" | "import" | "patch" | "tag" | "untag" | "rotate"
        | "restore" | "rollback" | "revoke" | "authorize" | "associate" | "disassociate"
        | "copy" | "move" | "replace" | "cancel" | "reset" | "suspend" | "resume" => {
            Some(EffectKind::Apply)
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::verb;
    use crate::model::fact::EffectKind;

    #[test]
    fn verbs_are_read_in_their_spellings() {
        assert_eq!(verb("terminate-instances"), Some(Some(EffectKind::Destroy)));
        assert_eq!(verb("describe-instances"), Some(None));
        assert_eq!(verb("apps:destroy"), Some(Some(EffectKind::Destroy)));
        assert_eq!(verb("instances"), None);
    }
}
