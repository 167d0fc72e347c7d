//! Verdicts and explanations as JSON, in the form of the batch answers.

use serde_json::{Map, Value, json};
use shellgate::explain::Explanation;
use shellgate::model::verdict::Verdict;

/// A verdict as one object: `id` (left out where there is none), `decision`, `outcome`, `labels`,
/// `reasons` with `span` in bytes of the command.
pub fn verdict(id: Option<Value>, verdict: &Verdict) -> Value {
    let mut object = Map::new();
    if let Some(id) = id {
        object.insert("id".into(), id);
    }
    object.insert("decision".into(), verdict.decision.name().into());
    object.insert("outcome".into(), verdict.decision.outcome().into());
    object.insert("labels".into(), verdict.labels.clone().into());
    let reasons: Vec<Value> = verdict
        .reasons
        .iter()
        .map(|reason| {
            json!({
                "label": reason.label,
                "rule": reason.rule,
                "why": reason.why,
                "instead": reason.instead,
                "span": [reason.span.start, reason.span.end],
            })
        })
        .collect();
    object.insert("reasons".into(), reasons.into());
    Value::Object(object)
}

/// The answer to a line that could not be understood.
pub fn bad_line(id: Option<Value>, error: &str) -> Value {
    let mut object = Map::new();
    if let Some(id) = id {
        object.insert("id".into(), id);
    }
    object.insert("error".into(), error.into());
    Value::Object(object)
}

/// A verdict with what led to it: `invocations` (`argv` with null for a word that is not known),
/// `effects`, `gaps`; lists are in the order things are met, spans in bytes of the command.
pub fn explanation(id: Option<Value>, explanation: &Explanation) -> Value {
    let mut value = verdict(id, &explanation.verdict);
    if let Value::Object(object) = &mut value {
        let invocations: Vec<Value> = explanation
            .invocations()
            .into_iter()
            .map(|own| {
                json!({
                    "argv": own.argv,
                    "exact": own.exact,
                    "via": own.via,
                    "span": [own.span.start, own.span.end],
                })
            })
            .collect();
        let effects: Vec<Value> = explanation
            .effects()
            .into_iter()
            .map(|own| {
                json!({
                    "kind": own.kind,
                    "object": own.object,
                    "scope": own.scope,
                    "certain": own.certain,
                })
            })
            .collect();
        let gaps: Vec<Value> = explanation
            .gaps()
            .into_iter()
            .map(|own| json!({ "cause": own.cause, "span": [own.span.start, own.span.end] }))
            .collect();
        object.insert("invocations".into(), invocations.into());
        object.insert("effects".into(), effects.into());
        object.insert("gaps".into(), gaps.into());
    }
    value
}
