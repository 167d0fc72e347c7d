//! rsync and scp: the last operand is where the files go (rsync(1) 3.3, scp(1) OpenSSH 9.9).

use crate::model::fact::{CodePlace, EffectKind};
use crate::model::trace::{Carried, DeedObject, Reading};
use crate::model::utility::CarryScope;
use crate::model::utility::Language;
use crate::model::value::{Field, Text, Truth};
use crate::resolve::grammar::words::{
    Options, Sorted, code_file, deed, on_path, on_text, script, split,
};

const RSYNC: Options = Options {
    short: "vqcarRbudlLkKHpEXAogDtUOJNSnWxwme:B:T:f:FCzPihyI0468M:@:",
    long: &[
        "rsh=>e",
        "rsync-path=",
        "block-size=>B",
        "temp-dir=>T",
        "filter=>f",
        "remote-option=>M",
        "modify-window=>@",
        "backup-dir=",
        "suffix=",
        "chmod=",
        "chown=",
        "usermap=",
        "groupmap=",
        "partial-dir=",
        "timeout=",
        "contimeout=",
        "copy-dest=",
        "compare-dest=",
        "link-dest=",
        "compress-level=",
        "compress-choice=",
        "skip-compress=",
        "checksum-choice=",
        "checksum-seed=",
        "exclude=",
        "exclude-from=",
        "include=",
        "include-from=",
        "files-from=",
        "address=",
        "port=",
        "sockopts=",
        "out-format=",
        "log-file=",
        "log-file-format=",
        "password-file=",
        "early-input=",
        "bwlimit=",
        "stop-after=",
        "stop-at=",
        "write-batch=",
        "only-write-batch=",
        "read-batch=",
        "protocol=",
        "iconv=",
        "max-delete=",
        "max-size=",
        "min-size=",
        "max-alloc=",
        "info=",
        "debug=",
        "stderr=",
        "outbuf=",
        "config=",
        "dparam=",
        "copy-as=",
        "delete",
        "del>delete",
        "delete-before>delete",
        "delete-during>delete",
        "delete-delay>delete",
        "delete-after>delete",
        "delete-excluded>delete",
        "delete-missing-args>delete",
        "remove-source-files",
        "remove-sent-files>remove-source-files",
        "dry-run>n",
        "daemon",
    ],
    permute: true,
};

const SCP: Options =
    Options { short: "346ABCOpqRrsTvc:D:F:i:J:l:o:P:S:X:", long: &[], permute: true };

/// Reads the words behind the program of that name.
pub(super) fn read(
    program: &str,
    words: &[Field],
    reading: &mut Reading,
    carried: &mut Vec<Carried>,
) {
    let is_rsync = program.contains("rsync");
    let sorted = if is_rsync { RSYNC.sort(words) } else { SCP.sort(words) };
    if is_rsync {
        rsync_options(&sorted, reading, carried);
    } else {
        scp_options(&sorted, reading, carried);
    }
    reading.complete = true;
    let Some((target, sources)) = sorted.operands.split_last() else { return };
    if sources.is_empty() {
        // One operand alone is listed.
        peer(target, EffectKind::List, EffectKind::Receive, reading);
        return;
    }
    for source in sources {
        peer(source, EffectKind::Read, EffectKind::Receive, reading);
        if sorted.has("remove-source-files") && remote(source).is_none() {
            reading.deeds.push(on_path(EffectKind::Delete, source));
        }
    }
    peer(target, EffectKind::Put, EffectKind::Send, reading);
    if sorted.has("delete") {
        if let Some(host) = remote(target) {
            reading.deeds.push(deed(EffectKind::Destroy, DeedObject::Host(host), target.site));
        } else {
            // What the sources do not have goes; the place itself stays.
            reading.deeds.push(on_path(EffectKind::Delete, target));
            reading.deeds.push(on_path(EffectKind::Write, target));
        }
    }
}

fn peer(word: &Field, local: EffectKind, far: EffectKind, reading: &mut Reading) {
    reading.deeds.push(match remote(word) {
        Some(host) => deed(far, DeedObject::Host(host), word.site),
        None => on_path(local, word),
    });
}

/// The host of `[user@]host:path`, `host::module` and URLs: a colon before any slash.
fn remote(word: &Field) -> Option<Text> {
    let prefix = word.text.prefix();
    if let Some((_, rest)) = prefix.split_once("://") {
        return Some(Text::literal(rest.split('/').next().unwrap_or_default()));
    }
    if let Some((host, _)) = split(&word.text, ':') {
        return (!host.contains('/')).then(|| Text::literal(host));
    }
    // A host that is not known is still a host where a colon follows it.
    let display = word.text.display();
    let (host, _) = display.split_once(':')?;
    (word.text.has_unknown() && !host.contains('/')).then(|| word.text.clone())
}

fn rsync_options(sorted: &Sorted, reading: &mut Reading, carried: &mut Vec<Carried>) {
    for value in sorted.values("e") {
        add(script(value.text.clone(), CodePlace::Helper, value.site), carried);
    }
    for value in sorted.values("rsync-path") {
        if let Carried::Script { text, parameters, place, directory, same_shell, site, .. } =
            script(value.text.clone(), CodePlace::Helper, value.site)
        {
            // With a local peer the same text runs here.
            let is_remote = sorted.operands.iter().any(|word| remote(word).is_some());
            let scope = if is_remote { CarryScope::Remote } else { CarryScope::Local };
            let found =
                Carried::Script { text, parameters, place, scope, directory, same_shell, site };
            add(found, carried);
        }
    }
    for name in ["config", "dparam"] {
        for value in sorted.values(name) {
            carried.push(code_file(Language::Other, value.site));
        }
    }
    for (name, kind) in [
        ("exclude-from", EffectKind::Read),
        ("include-from", EffectKind::Read),
        ("files-from", EffectKind::Read),
        ("password-file", EffectKind::Read),
        ("early-input", EffectKind::Read),
        ("read-batch", EffectKind::Read),
        ("compare-dest", EffectKind::List),
        ("copy-dest", EffectKind::Read),
        ("link-dest", EffectKind::List),
        ("log-file", EffectKind::Append),
        ("write-batch", EffectKind::Write),
        ("only-write-batch", EffectKind::Write),
        ("backup-dir", EffectKind::Put),
        ("partial-dir", EffectKind::Put),
        ("T", EffectKind::Put),
    ] {
        for value in sorted.values(name).filter(|value| value.exact() != Some("-")) {
            reading.deeds.push(on_path(kind, value));
        }
    }
}

fn scp_options(sorted: &Sorted, reading: &mut Reading, carried: &mut Vec<Carried>) {
    for name in ["S", "D"] {
        for value in sorted.values(name) {
            add(script(value.text.clone(), CodePlace::Helper, value.site), carried);
        }
    }
    for value in sorted.values("F") {
        if value.exact() != Some("none") {
            reading.deeds.push(on_path(EffectKind::Read, value));
            carried.push(code_file(Language::Other, value.site));
        }
    }
    for value in sorted.values("i") {
        reading.deeds.push(on_path(EffectKind::List, value));
    }
    for value in sorted.values("o") {
        let Some((name, text)) = split(&value.text, '=').or_else(|| split(&value.text, ' ')) else {
            continue;
        };
        let name = name.trim().to_ascii_lowercase();
        if matches!(name.as_str(), "proxycommand" | "localcommand" | "knownhostscommand") {
            add(script(text, CodePlace::Helper, value.site), carried);
        } else if matches!(name.as_str(), "pkcs11provider" | "securitykeyprovider" | "include") {
            carried.push(code_file(Language::Other, value.site));
        } else if name == "identityfile" {
            let mut deed = on_text(EffectKind::List, text, value.site);
            deed.certain = Truth::Yes;
            reading.deeds.push(deed);
        }
    }
}

fn add(found: Carried, carried: &mut Vec<Carried>) {
    if !carried.contains(&found) {
        carried.push(found);
    }
}

#[cfg(test)]
mod tests {
    use super::read;
    use crate::model::span::Site;
    use crate::model::trace::{DeedObject, Reading};
    use crate::model::value::Field;

    fn deeds(program: &str, line: &str) -> Vec<String> {
        let words: Vec<Field> =
            line.split(' ').map(|word| Field::literal(word, Site::default())).collect();
        let (mut reading, mut carried) = (Reading::default(), Vec::new());
        read(program, &words, &mut reading, &mut carried);
        let mut out: Vec<String> = reading
            .deeds
            .iter()
            .map(|deed| match &deed.object {
                DeedObject::Path(text) | DeedObject::Host(text) => {
                    format!("{} {}", deed.kind.name(), text.display())
                }
                _ => deed.kind.name().to_owned(),
            })
            .collect();
        out.extend(carried.iter().map(|_| "code".to_owned()));
        out
    }

    #[test]
    fn peers_and_targets() {
        assert_eq!(deeds("rsync", "-a conf/ /etc/"), ["read conf/", "put /etc/"]);
        assert_eq!(
            deeds("rsync", "-a --del a/ b/"),
            ["read a/", "put b/", "delete b/", "write b/"]
        );
        assert_eq!(deeds("rsync", "-e ./x a host:b"), ["read a", "send host", "code"]);
        assert_eq!(deeds("scp", "-r u@h:x ./x:y"), ["receive u@h", "put ./x:y"]);
        assert_eq!(deeds("scp", "-oProxyCommand=x a h:"), ["read a", "send h", "code"]);
    }
}
