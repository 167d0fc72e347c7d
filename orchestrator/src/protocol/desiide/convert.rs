//! Wire types into our own and back. What goes out is made to fit: no id, label or figure of ours can
//! make an event invalid, since a dropped event would leave a gap in `seq`.

use serde_json::{Map, Value};

use super::check::{Payload, Problems, check, is_workspace_path};
use super::types::{
    ApprovalScope, Budget, Confirm, ContextRef, Critique, DecisionRecord, DecisionsListParams,
    DesiideConfig, DiffScope, EditProposal, EventBody, FileApplyResult, FileApplyStatus, FileEdit,
    FileMeta, GatingMode, Id, IsoDateTime, JevEngineKind, JevResult, LogLevel, LogNotification,
    MaxTokensField, ModelConfig, ModelErrorKind, ModelLocality, ModelProvider, ModelRole,
    NoulAnswer, OrNull, PackId, PolicyOutcome, Preference, Probability, ReasonLabel,
    ReasoningLevel, SearchReplace, SideEffect, TaskEvent, TaskInput, TaskKind, TaskState,
    TaskSummary, ToolCall, ToolErrorKind, ToolName, ToolResult, ToolResultError, Usage, Verdict,
    WorkflowOption, WorkspacePath,
};
use crate::task;
use crate::task::Timestamp;
use crate::task::call::FailureKind;
use crate::task::decision::{Answer, EngineKind, Noul, Outcome};
use crate::task::edit::{ApplyStatus, CritiqueVerdict, FileReport};
use crate::task::port::RecordQuery;
use crate::task::settings::{
    DeclaredCapabilities, Gating, JevSettings, Locality, ModelSettings, Provider, Role, Roles,
    Settings,
};

/// Longest id of the wire, in characters.
const ID_LENGTH: usize = 128;

/// Longest label of the wire, in characters.
const LABEL_LENGTH: usize = 200;

/// Says that two closed lists have the same words.
macro_rules! same {
    ($ours:ty, $wire:ty: $($word:ident)+) => {
        impl From<$ours> for $wire {
            fn from(word: $ours) -> Self {
                match word {
                    $(<$ours>::$word => Self::$word,)+
                }
            }
        }

        impl From<$wire> for $ours {
            fn from(word: $wire) -> Self {
                match word {
                    $(<$wire>::$word => Self::$word,)+
                }
            }
        }
    };
}

same!(task::call::ToolName, ToolName:
    ReadFile ListFiles Search ProposeEdit Shell RunTests Lint GitRead);
same!(task::call::SideEffect, SideEffect: None Workspace External);
same!(FailureKind, ToolErrorKind: Blocked Rejected InvalidArgs Timeout Cancelled Failed);
same!(ApplyStatus, FileApplyStatus: Applied Rejected Stale);
same!(CritiqueVerdict, Verdict: Approve Revise Reject);
same!(task::input::TaskKind, TaskKind:
    Autocomplete Refactor BugFix TestWrite InfraChange Explain Other);
same!(task::input::Preference, Preference: Cheap Balance Quality);
same!(task::input::Workflow, WorkflowOption:
    LocalSingle CloudSingle LocalCloudCascade CloudWithCritique);
same!(task::state::TaskState, TaskState:
    Queued Planning Running AwaitingApproval Verifying Done Failed Cancelled);
same!(Outcome, PolicyOutcome: Auto Confirm Block);
same!(EngineKind, JevEngineKind: Jev Rules);
same!(Noul, NoulAnswer: Yes No Unknown);
same!(Provider, ModelProvider: OpenaiCompatible Ollama Anthropic);
same!(Locality, ModelLocality: Local Cloud);
same!(Role, ModelRole: Cheap Strong Reviewer);
same!(task::settings::ReasoningLevel, ReasoningLevel: Off Low Medium High);
same!(task::settings::MaxTokensField, MaxTokensField: MaxTokens MaxCompletionTokens);

// ---- what comes in ----

impl From<TaskInput> for task::input::TaskInput {
    fn from(wire: TaskInput) -> Self {
        Self {
            kind: wire.kind.into(),
            instruction: wire.instruction,
            context: task::input::TaskContext {
                refs: wire.context.refs.into_iter().map(Into::into).collect(),
                open_editors: texts(wire.context.open_editors),
                tests: texts(wire.context.tests),
            },
            allowed_tools: wire.allowed_tools.into_iter().map(Into::into).collect(),
            success: task::input::Success {
                tests_pass: wire.success.tests_pass.unwrap_or(false),
                lint_clean: wire.success.lint_clean.unwrap_or(false),
                user_approval: wire.success.user_approval,
            },
            budget: wire.budget.into(),
            preference: wire.preference.into(),
            workflow_override: wire.workflow_override.map(Into::into),
        }
    }
}

impl From<Budget> for task::input::Budget {
    fn from(wire: Budget) -> Self {
        Self {
            max_iterations: wire.max_iterations,
            max_tool_calls: wire.max_tool_calls,
            max_tokens: wire.max_tokens,
            wall_clock_ms: wire.wall_clock_ms,
        }
    }
}

impl From<ContextRef> for task::input::ContextRef {
    fn from(wire: ContextRef) -> Self {
        match wire {
            ContextRef::File { path } => Self::File { path: path.0 },
            ContextRef::Folder { path } => Self::Folder { path: path.0 },
            ContextRef::Selection { path, range } => Self::Selection {
                path: path.0,
                range: task::input::Range {
                    start: position(&range.start),
                    end: position(&range.end),
                },
            },
            ContextRef::Diff { scope, path } => {
                Self::Diff { staged: scope == DiffScope::Staged, path: path.map(Into::into) }
            }
        }
    }
}

const fn position(wire: &super::types::Position) -> task::input::Position {
    task::input::Position { line: wire.line, character: wire.character }
}

impl From<FileApplyResult> for FileReport {
    fn from(wire: FileApplyResult) -> Self {
        Self { path: wire.path.0, status: wire.status.into(), reason: wire.reason }
    }
}

impl From<DesiideConfig> for Settings {
    fn from(wire: DesiideConfig) -> Self {
        Self {
            models: models(wire.models),
            roles: Roles {
                cheap: wire.roles.cheap.map(Into::into),
                strong: wire.roles.strong.map(Into::into),
                reviewer: wire.roles.reviewer.map(Into::into),
            },
            jev: JevSettings {
                enabled: wire.jev.enabled,
                endpoint: wire.jev.endpoint.map(Into::into),
                api_key: wire.jev.api_key.map(Into::into),
                redact_paths: wire.jev.redact_paths,
            },
            gating: Gating {
                strict: wire.gating.mode == GatingMode::Strict,
                thresholds: wire.gating.thresholds,
            },
        }
    }
}

/// Models with distinct ids; the last of one id counts and stands where the first stood.
fn models(wire: Vec<ModelConfig>) -> Vec<ModelSettings> {
    let mut models: Vec<ModelSettings> = Vec::with_capacity(wire.len());
    for model in wire {
        let model = ModelSettings::from(model);
        match models.iter_mut().find(|known| known.id == model.id) {
            Some(known) => *known = model,
            None => models.push(model),
        }
    }
    models
}

impl From<ModelConfig> for ModelSettings {
    fn from(wire: ModelConfig) -> Self {
        let declared = wire.capabilities.unwrap_or_default();
        let (stream_usage, max_tokens_field) = wire
            .quirks
            .map_or((None, None), |quirks| (quirks.stream_usage, quirks.max_tokens_field));
        Self {
            id: wire.id.0,
            provider: wire.provider.into(),
            model: wire.model,
            base_url: wire.base_url.map(Into::into),
            api_key: wire.api_key.map(Into::into),
            cost_per_mtok: wire.cost_per_mtok.map(|cost| (cost.input, cost.output)),
            declared: DeclaredCapabilities {
                streaming: declared.streaming,
                tool_calls: declared.tool_calls,
                context_tokens: declared.context_tokens,
                max_output_tokens: declared.max_output_tokens,
                vision: declared.vision,
            },
            locality: wire.locality.map(Into::into),
            stream_usage,
            max_tokens_field: max_tokens_field.map(Into::into),
            reasoning: wire.reasoning.map(Into::into),
        }
    }
}

impl DecisionsListParams {
    /// The query, continued after the record that the cursor names.
    ///
    /// # Errors
    ///
    /// When the cursor is none of ours.
    pub fn into_query(self) -> Result<RecordQuery, Problems> {
        let older_than = match &self.cursor {
            None => None,
            Some(cursor) => Some(
                read_cursor(cursor)
                    .ok_or_else(|| Problems::of("cursor: is none that this server gave"))?,
            ),
        };
        Ok(RecordQuery {
            task: self.task_id.map(Into::into),
            pack: self.pack.map(Into::into),
            outcome: self.outcome.map(Into::into),
            limit: usize::try_from(self.limit).unwrap_or(usize::MAX),
            older_than,
        })
    }
}

impl ApprovalScope {
    /// Whether it reaches beyond one call.
    pub const fn is_task(self) -> bool {
        matches!(self, Self::Task)
    }
}

/// The cursor after a record: its id as base64url without padding.
pub fn write_cursor(id: &str) -> String {
    use base64::Engine as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(id)
}

/// The record a cursor names; none for a text that does not come back the same.
pub fn read_cursor(cursor: &str) -> Option<String> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(cursor).ok()?;
    let id = String::from_utf8(bytes).ok()?;
    let is_id = (1..=ID_LENGTH).contains(&id.chars().count());
    (is_id && write_cursor(&id) == cursor).then_some(id)
}

// ---- what goes out ----

impl From<Timestamp> for IsoDateTime {
    fn from(at: Timestamp) -> Self {
        let at = jiff::Timestamp::from_millisecond(at.0).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self(at.strftime("%Y-%m-%dT%H:%M:%S.%3fZ").to_string())
    }
}

impl Id {
    /// The text as an id: cut at 128 characters, a dash when empty.
    pub fn fit(text: &str) -> Self {
        if text.is_empty() {
            return Self("-".to_owned());
        }
        Self(text.chars().take(ID_LENGTH).collect())
    }
}

impl ReasonLabel {
    /// The text as a label: what does not fit is replaced by `_`.
    pub fn fit(text: &str) -> Self {
        let (name, detail) =
            text.split_once(':').map_or((text, None), |(name, detail)| (name, Some(detail)));
        let mut label: String = name
            .chars()
            .map(|letter| match letter.to_ascii_lowercase() {
                letter @ ('a'..='z' | '0'..='9') => letter,
                _ => '_',
            })
            .collect();
        if !label.starts_with(|letter: char| letter.is_ascii_lowercase()) {
            label.insert(0, 'x');
        }
        let detail: String = detail
            .unwrap_or_default()
            .chars()
            .map(|letter| match letter {
                'A'..='Z' | 'a'..='z' | '0'..='9' | '_' | '@' | '.' | '/' | ':' | '-' => letter,
                _ => '_',
            })
            .collect();
        if !detail.is_empty() {
            label.push(':');
            label.push_str(&detail);
        }
        let label: String = label.chars().take(LABEL_LENGTH).collect();
        Self(label.trim_end_matches(':').to_owned())
    }
}

impl WorkspacePath {
    /// The text as a path; none when the wire has no word for it.
    pub fn fit(text: &str) -> Option<Self> {
        is_workspace_path(text).then(|| Self(text.to_owned()))
    }
}

fn texts<T: Into<String>>(wire: Vec<T>) -> Vec<String> {
    wire.into_iter().map(Into::into).collect()
}

fn labels(reasons: &[String]) -> Vec<ReasonLabel> {
    reasons.iter().map(|reason| ReasonLabel::fit(reason)).collect()
}

fn paths(paths: &[String]) -> Vec<WorkspacePath> {
    paths.iter().filter_map(|path| WorkspacePath::fit(path)).collect()
}

/// A figure the other side can hold.
fn count(figure: u64) -> u64 {
    figure.min(super::schema::MAX_INTEGER.unsigned_abs())
}

/// A path where the wire must have one.
fn path(text: &str) -> WorkspacePath {
    WorkspacePath::fit(text).unwrap_or_else(|| WorkspacePath("-".to_owned()))
}

impl From<&task::state::Usage> for Usage {
    fn from(usage: &task::state::Usage) -> Self {
        Self {
            input_tokens: count(usage.input_tokens),
            output_tokens: count(usage.output_tokens),
            cost_usd: usage.cost_usd.filter(|cost| cost.is_finite() && *cost >= 0.0),
        }
    }
}

impl From<&task::state::TaskSummary> for TaskSummary {
    fn from(summary: &task::state::TaskSummary) -> Self {
        Self {
            id: Id::fit(&summary.id),
            kind: summary.kind.into(),
            instruction: summary.instruction.clone(),
            state: summary.state.into(),
            workflow: summary.workflow.map(Into::into),
            models: summary.models.iter().map(|model| Id::fit(model)).collect(),
            iteration: count(summary.iteration),
            usage: (&summary.usage).into(),
            created_at: summary.created.into(),
            updated_at: summary.updated.into(),
            failure_reason: summary.failure_reason.clone(),
        }
    }
}

impl From<&task::call::ToolCall> for ToolCall {
    fn from(call: &task::call::ToolCall) -> Self {
        Self {
            id: Id::fit(&call.id),
            tool: call.tool.into(),
            args: call.args.clone(),
            side_effect: call.tool.side_effect().into(),
        }
    }
}

impl From<&task::call::ToolResult> for ToolResult {
    fn from(result: &task::call::ToolResult) -> Self {
        Self {
            call_id: Id::fit(&result.call),
            ok: result.failure.is_none(),
            output: result.output.clone(),
            truncated: result.truncated,
            exit_code: result.exit_code,
            duration_ms: count(result.duration_ms),
            error: result.failure.as_ref().map(|failure| ToolResultError {
                kind: failure.kind.into(),
                message: failure.message.clone(),
                reasons: labels(&failure.reasons),
            }),
        }
    }
}

impl From<&task::edit::FileMeta> for FileMeta {
    fn from(meta: &task::edit::FileMeta) -> Self {
        let language: String = meta.language.chars().take(64).collect();
        Self {
            path: path(&meta.path),
            size_lines: count(meta.size_lines),
            language: if language.is_empty() { "plaintext".to_owned() } else { language },
            sensitive: meta.sensitive,
        }
    }
}

/// A proposal on the wire, of this task.
fn proposal(task: &str, proposal: &task::edit::EditProposal) -> EditProposal {
    EditProposal {
        id: Id::fit(&proposal.id),
        task_id: Id::fit(task),
        files: proposal
            .files
            .iter()
            .map(|file| FileEdit {
                path: path(&file.path),
                edits: file
                    .edits
                    .iter()
                    .map(|edit| SearchReplace {
                        search: edit.search.clone(),
                        replace: edit.replace.clone(),
                    })
                    .collect(),
            })
            .collect(),
        critique: proposal.critique.as_ref().map(|critique| Critique {
            verdict: critique.verdict.into(),
            issues: critique.issues.clone(),
            model: critique.model.clone(),
        }),
    }
}

impl From<&Answer> for JevResult {
    fn from(answer: &Answer) -> Self {
        let probability = |figure: f64| {
            Probability(if figure.is_finite() { figure.clamp(0.0, 1.0) } else { 0.0 })
        };
        match answer {
            Answer::Choice { selected, probs } => Self::Choice {
                selected: if selected.is_empty() { "-".to_owned() } else { selected.clone() },
                probs: probs
                    .iter()
                    .map(|(option, figure)| (option.clone(), probability(*figure)))
                    .collect(),
            },
            Answer::Score { score, probs } => Self::Score {
                score: u64::from(*score).min(4),
                probs: probs.map(|probs| probs.into_iter().map(probability).collect()),
            },
            Answer::Noul { answer, p_yes } => {
                Self::Noul { answer: (*answer).into(), p_yes: probability(*p_yes) }
            }
        }
    }
}

impl From<&task::decision::DecisionRecord> for DecisionRecord {
    fn from(record: &task::decision::DecisionRecord) -> Self {
        Self {
            id: Id::fit(&record.id),
            task_id: OrNull(record.task.as_deref().map(Id::fit)),
            pack: PackId(record.pack.clone()),
            question: record.question.chars().take(64).collect(),
            engine: record.engine.into(),
            state_hash: record.state_hash.chars().take(128).collect(),
            state: record.state.clone(),
            result: (&record.answer).into(),
            policy_outcome: record.outcome.map(Into::into),
            workflow: record.workflow.map(Into::into),
            reasons: labels(&record.reasons),
            latency_ms: count(record.latency_ms),
            ts: record.at.into(),
        }
    }
}

impl From<&task::event::Event> for TaskEvent {
    fn from(event: &task::event::Event) -> Self {
        Self {
            body: body(&event.task, &event.body),
            task_id: Id::fit(&event.task),
            seq: count(event.seq),
            ts: event.at.into(),
        }
    }
}

fn body(task: &str, body: &task::event::EventBody) -> EventBody {
    use task::event::EventBody as Ours;
    match body {
        Ours::StateChanged { from, to, reason } => EventBody::StateChanged {
            from: OrNull(from.map(Into::into)),
            to: (*to).into(),
            reason: reason.clone(),
        },
        Ours::TextDelta { message, delta } => {
            EventBody::TextDelta { message_id: Id::fit(message), delta: delta.clone() }
        }
        Ours::ReasoningDelta { message, delta } => {
            EventBody::ReasoningDelta { message_id: Id::fit(message), delta: delta.clone() }
        }
        Ours::ToolCallStarted { call } => EventBody::ToolCallStarted { call: call.into() },
        Ours::ToolCallFinished { result } => EventBody::ToolCallFinished { result: result.into() },
        Ours::EditProposed { proposal: edits, files } => EventBody::EditProposed {
            proposal: proposal(task, edits),
            files: files.iter().map(Into::into).collect(),
        },
        Ours::ApprovalRequired { approval, call, reasons, decision, paths: touched } => {
            EventBody::ApprovalRequired {
                approval_id: Id::fit(approval),
                call: call.into(),
                outcome: Confirm::Confirm,
                reasons: labels(reasons),
                decision_id: decision.as_deref().map(Id::fit),
                paths: paths(touched),
            }
        }
        Ours::DecisionMade { decision } => EventBody::DecisionMade { decision: decision.into() },
        Ours::Usage { model, usage } => {
            EventBody::Usage { model_id: Id::fit(model), usage: usage.into() }
        }
        Ours::Error { kind, message, retryable, retry_after_ms } => EventBody::Error {
            kind: if kind.is_empty() { "internal_error".to_owned() } else { kind.clone() },
            message: message.clone(),
            retryable: *retryable,
            retry_after_ms: retry_after_ms.map(count),
        },
    }
}

/// The payload of `task.event`. An event that does not fit its schema in spite of all becomes an `error`
/// event of the same `seq`, so that no gap is left; `Err` then says what was wrong.
pub fn task_event(event: &task::event::Event) -> (Value, Result<(), Problems>) {
    let wire = TaskEvent::from(event);
    let (payload, result) = encode(&wire, Payload::TaskEvent);
    let Err(problems) = result else {
        return (payload, Ok(()));
    };
    let stand_in = TaskEvent {
        body: EventBody::Error {
            kind: "internal_error".to_owned(),
            message: "an event could not be told; the log says more".to_owned(),
            retryable: false,
            retry_after_ms: None,
        },
        ..wire
    };
    (encode(&stand_in, Payload::TaskEvent).0, Err(problems))
}

/// The payload of `log`.
pub fn log_notification(
    level: LogLevel,
    message: String,
    at: Timestamp,
    fields: Map<String, Value>,
) -> Value {
    let fields = (!fields.is_empty()).then_some(fields);
    encode(&LogNotification { level, message, ts: at.into(), fields }, Payload::Log).0
}

/// A value as JSON, checked.
pub fn encode<T: serde::Serialize>(value: &T, payload: Payload) -> (Value, Result<(), Problems>) {
    match serde_json::to_value(value) {
        Ok(mut value) => {
            let result = check(payload, &mut value);
            (value, result)
        }
        Err(error) => (Value::Null, Err(Problems::of(error.to_string()))),
    }
}

/// Params as their type, checked. Absent and null params are an empty object.
///
/// # Errors
///
/// All that is wrong with them.
pub fn decode<T: serde::de::DeserializeOwned>(
    params: Option<Value>,
    payload: Payload,
) -> Result<T, Problems> {
    let mut params = match params {
        None | Some(Value::Null) => Value::Object(Map::new()),
        Some(params) => params,
    };
    check(payload, &mut params)?;
    // INVARIANT (what is checked decodes): schema and decoder are derived from the same type.
    serde_json::from_value(params).map_err(|error| Problems::of(error.to_string()))
}

impl ModelErrorKind {
    /// The kind of that word; unknown for any other.
    pub fn of(word: &str) -> Self {
        serde_json::from_value(Value::from(word)).unwrap_or(Self::Unknown)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_a_label_is_it_fits() {
        let cases = [
            ("deny_list:rm_rf", "deny_list:rm_rf"),
            ("", "x"),
            ("9a", "x9a"),
            ("Out side", "out_side"),
            ("a:", "a"),
            ("path:/srv/ü b", "path:/srv/__b"),
        ];
        for (text, expected) in cases {
            assert_eq!(ReasonLabel::fit(text).0, expected);
        }
        assert_eq!(ReasonLabel::fit(&format!("a:{}", "b".repeat(300))).0.len(), 200);
    }

    #[test]
    fn cursors_come_back_the_same_or_not_at_all() {
        let id = "5e8f0f0a-0000-4000-8000-000000000000";
        assert_eq!(read_cursor(&write_cursor(id)).as_deref(), Some(id));
        for bad in ["", "!", "YQ==", "YR", "//79"] {
            assert_eq!(read_cursor(bad), None, "{bad}");
        }
    }

    #[test]
    fn every_event_fits_whatever_its_texts_are() {
        use task::event::{Event, EventBody as Ours};
        let long = "é".repeat(10_000);
        let call = |id: &str| task::call::ToolCall {
            id: id.to_owned(),
            tool: task::call::ToolName::Shell,
            args: Map::new(),
        };
        for text in ["", long.as_str(), "/abs", "\n"] {
            let bodies = [
                Ours::ToolCallStarted { call: call(text) },
                Ours::ApprovalRequired {
                    approval: text.to_owned(),
                    call: call(text),
                    reasons: vec![text.to_owned()],
                    decision: Some(text.to_owned()),
                    paths: vec![text.to_owned()],
                },
                Ours::EditProposed {
                    proposal: task::edit::EditProposal {
                        id: text.to_owned(),
                        files: vec![task::edit::FileEdit {
                            path: text.to_owned(),
                            edits: vec![task::edit::SearchReplace {
                                search: text.to_owned(),
                                replace: text.to_owned(),
                            }],
                        }],
                        critique: None,
                    },
                    files: vec![task::edit::FileMeta {
                        path: text.to_owned(),
                        size_lines: u64::MAX,
                        language: text.to_owned(),
                        sensitive: true,
                    }],
                },
                Ours::Usage {
                    model: text.to_owned(),
                    usage: task::state::Usage {
                        input_tokens: u64::MAX,
                        output_tokens: 0,
                        cost_usd: Some(f64::NAN),
                    },
                },
            ];
            for body in bodies {
                let event = Event { task: text.to_owned(), seq: 1, at: Timestamp(0), body };
                let (value, result) = task_event(&event);
                assert_eq!(result, Ok(()), "{value}");
                assert_eq!(value["ts"], "1970-01-01T00:00:00.000Z");
            }
        }
    }
}
