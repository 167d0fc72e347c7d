//! Verdicts and explanations as JSON, in the form of the batch answers.

use serde_json::{Map, Value, json};
use shellgate::model::verdict::Verdict;

/// A verdict as one object: `id` (left out where there is none), `decision`, `outcome`, `labels`,
/// `reasons` with `span` in bytes of the command.
pub(crate) fn verdict(id: Option<Value>, verdict: &Verdict) -> Value {
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
pub(crate) fn bad_line(id: Option<Value>, error: &str) -> Value {
    let mut object = Map::new();
    if let Some(id) = id {
        object.insert("id".into(), id);
    }
    object.insert("error".into(), error.into());
    Value::Object(object)
}
