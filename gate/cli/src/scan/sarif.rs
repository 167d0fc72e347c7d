//! Findings as SARIF 2.1.0 (OASIS Standard, 27 March 2020).

use std::fmt::Write as _;

use serde_json::{Map, Value, json};
use shellgate::Gate;
use shellgate::model::verdict::Decision;

use crate::scan::finding::Finding;

/// The log of one run. `notes` are files that could not be read whole: path and sentence.
pub fn log(gate: &Gate, version: &str, findings: &[Finding], notes: &[(String, String)]) -> Value {
    let mut rules: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
    rules.sort_unstable();
    rules.dedup();
    let results: Vec<Value> = findings
        .iter()
        .map(|finding| {
            let index = rules.iter().position(|rule| *rule == finding.rule).unwrap_or_default();
            result(finding, index)
        })
        .collect();
    let notifications: Vec<Value> = notes
        .iter()
        .map(|(path, what)| {
            json!({
                "level": "warning",
                "message": { "text": what },
                "locations": [{ "physicalLocation": { "artifactLocation": location(path) } }],
            })
        })
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "shellgate",
                "version": version,
                "rules": rules.iter().map(|rule| descriptor(gate, rule)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "defaultEncoding": "UTF-8",
            "originalUriBaseIds": {
                "SRCROOT": { "description": { "text": "The root of the scan." } },
            },
            "invocations": [{
                "executionSuccessful": true,
                "toolExecutionNotifications": notifications,
            }],
            "results": results,
        }],
    })
}

fn descriptor(gate: &Gate, id: &str) -> Value {
    let mut object = Map::new();
    object.insert("id".into(), id.into());
    if let Some(rule) = gate.rules().rules.iter().find(|rule| rule.id == id) {
        object.insert("shortDescription".into(), json!({ "text": rule.why }));
        if !rule.instead.is_empty() {
            object.insert("help".into(), json!({ "text": rule.instead }));
        }
        let level = gate.labels().find(&rule.label).map_or("warning", |spec| level(spec.yes));
        object.insert("defaultConfiguration".into(), json!({ "level": level }));
        object.insert("properties".into(), json!({ "label": rule.label, "tags": ["security"] }));
    }
    Value::Object(object)
}

fn result(finding: &Finding, index: usize) -> Value {
    let mut text = finding.why.clone();
    if !finding.instead.is_empty() {
        text.push(' ');
        text.push_str(&finding.instead);
    }
    json!({
        "ruleId": finding.rule,
        "ruleIndex": index,
        "level": level(finding.decision),
        "message": { "text": text },
        "locations": [{ "physicalLocation": {
            "artifactLocation": location(&finding.path),
            "region": {
                "startLine": finding.start.0,
                "startColumn": finding.start.1,
                "endLine": finding.end.0,
                "endColumn": finding.end.1,
                "byteOffset": finding.region.start,
                "byteLength": finding.region.end - finding.region.start,
                "snippet": { "text": finding.snippet },
            },
        } }],
        "partialFingerprints": { "commandAndRule/v1": fingerprint(finding) },
        "properties": {
            "decision": finding.decision.name(),
            "label": finding.label,
            "also": finding.also,
        },
    })
}

const fn level(decision: Decision) -> &'static str {
    match decision {
        Decision::Deny => "error",
        Decision::Ask => "warning",
        Decision::Pass | Decision::Allow => "note",
    }
}

fn location(path: &str) -> Value {
    json!({ "uri": uri(path), "uriBaseId": "SRCROOT" })
}

/// The path as a relative reference (RFC 3986): bytes that are neither unreserved nor `/` escaped.
fn uri(path: &str) -> String {
    let mut out = String::new();
    for byte in path.bytes() {
        match byte {
            b'/' | b'-' | b'.' | b'_' | b'~' => out.push(char::from(byte)),
            byte if byte.is_ascii_alphanumeric() => out.push(char::from(byte)),
            byte => {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The same for the same rule and text in the same file, wherever it moves to (FNV-1a, 64 bits).
fn fingerprint(finding: &Finding) -> String {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for part in [&finding.path, &finding.rule, &finding.snippet] {
        for byte in part.bytes().chain([0]) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    format!("{hash:016x}")
}
