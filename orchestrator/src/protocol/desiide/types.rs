//! Every type of the wire, in one place. The derived JSON Schema carries all that is checked: required
//! fields, defaults, bounds, patterns, and whether an unknown field is refused. A long file, since it is a
//! table. Strict objects deny unknown fields; all others drop them. A field that may be absent may not be
//! null; what may be null says [`OrNull`].

use std::collections::BTreeMap;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

/// The version this server speaks.
pub const PROTOCOL_VERSION: &str = "1.0.0";

/// The name this server goes by.
pub const SERVER_NAME: &str = "desiide-orchestrator";

/// The notification that carries a [`TaskEvent`].
pub const TASK_EVENT: &str = "task.event";

/// The notification that carries a [`LogNotification`].
pub const LOG: &str = "log";

/// The request a server sends for a secret.
pub const SECRETS_GET: &str = "secrets.get";

/// What a client may ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Method {
    /// Opens the session.
    Initialize,
    /// Tells that the server lives.
    HealthPing,
    /// Replaces all settings.
    ConfigUpdate,
    /// Creates a task.
    TaskCreate,
    /// Ends a task.
    TaskCancel,
    /// Lists tasks.
    TaskList,
    /// Agrees to a call.
    TaskApprove,
    /// Declines a call.
    TaskReject,
    /// Tells what became of proposed edits.
    EditsReport,
    /// Lists models.
    ModelsList,
    /// Tries a model.
    ModelsTest,
    /// Tries the service for second opinions.
    JevTest,
    /// Shows a state as that service would see it.
    JevPreview,
    /// Lists decisions.
    DecisionsList,
    /// Decides a recorded question again.
    DecisionsReplay,
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 15] = [
        Self::Initialize,
        Self::HealthPing,
        Self::ConfigUpdate,
        Self::TaskCreate,
        Self::TaskCancel,
        Self::TaskList,
        Self::TaskApprove,
        Self::TaskReject,
        Self::EditsReport,
        Self::ModelsList,
        Self::ModelsTest,
        Self::JevTest,
        Self::JevPreview,
        Self::DecisionsList,
        Self::DecisionsReplay,
    ];

    /// Its name on the wire.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initialize => "initialize",
            Self::HealthPing => "health.ping",
            Self::ConfigUpdate => "config.update",
            Self::TaskCreate => "task.create",
            Self::TaskCancel => "task.cancel",
            Self::TaskList => "task.list",
            Self::TaskApprove => "task.approve",
            Self::TaskReject => "task.reject",
            Self::EditsReport => "edits.report",
            Self::ModelsList => "models.list",
            Self::ModelsTest => "models.test",
            Self::JevTest => "jev.test",
            Self::JevPreview => "jev.preview",
            Self::DecisionsList => "decisions.list",
            Self::DecisionsReplay => "decisions.replay",
        }
    }

    /// The method of that name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }
}

// ---- scalars ----

/// Declares a text whose bounds stand in its schema.
macro_rules! text {
    ($(#[$doc:meta])* $name:ident { $($schema:tt)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(#[schemars($($schema)*)] pub String);

        impl From<$name> for String {
            fn from(text: $name) -> Self {
                text.0
            }
        }
    };
}

text! {
    /// Names a task, a call, a proposal, a model; opaque.
    Id { length(min = 1, max = 128) }
}
text! {
    /// A moment. Sent in UTC with milliseconds and `Z`.
    IsoDateTime { extend("format" = "date-time") }
}
text! {
    /// A path relative to a workspace root, with `/`. Tools check paths more strictly.
    WorkspacePath {
        length(min = 1, max = 4096),
        extend(
            "format" = "workspace-path",
            "not" = {"anyOf": [
                {"pattern": "^/"},
                {"pattern": "^[A-Za-z]:[/\\\\]"},
                {"pattern": "(^|[/\\\\])\\.\\.([/\\\\]|$)"}
            ]}
        )
    }
}
text! {
    /// Names a secret that the client keeps.
    SecretRef { regex(pattern = r"^secret:[A-Za-z0-9._-]{1,128}$") }
}
text! {
    /// A version of three numbers.
    SemVer { regex(pattern = r"^[0-9]+\.[0-9]+\.[0-9]+$") }
}
text! {
    /// A pack of questions with its version; records of unknown packs are valid.
    PackId { regex(pattern = r"^[a-z][a-z0-9_]*@[0-9]+$") }
}
text! {
    /// Why something was decided; new ones may come.
    ReasonLabel { length(max = 200), regex(pattern = r"^[a-z][a-z0-9_]*(:[A-Za-z0-9_@./:-]+)?$") }
}
text! {
    /// Whatever a WHATWG parser accepts; white space around it is cut off.
    Url { extend("format" = "uri", "x-trim" = true) }
}

/// A probability.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Probability(#[schemars(range(min = 0, max = 1))] pub f64);

/// The literal `true`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct True;

impl Serialize for True {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bool(true)
    }
}

impl<'de> Deserialize<'de> for True {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        if bool::deserialize(deserializer)? {
            Ok(Self)
        } else {
            Err(serde::de::Error::custom("must be true"))
        }
    }
}

impl JsonSchema for True {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "True".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "const": true })
    }
}

/// A value whose key must be there and may be null.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OrNull<T>(pub Option<T>);

impl<T: Serialize> Serialize for OrNull<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OrNull<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::deserialize(deserializer).map(Self)
    }
}

impl<T: JsonSchema> JsonSchema for OrNull<T> {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        format!("{}_or_null", T::schema_name()).into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [generator.subschema_for::<T>(), { "type": "null" }] })
    }
}

// ---- enumerations ----

/// Declares a closed list of words.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $variant:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$word_doc])* #[serde(rename = $word)] $variant,)+
        }
    };
}

words! {
    /// A tool.
    ToolName {
        /// Lines of a file.
        ReadFile = "read_file",
        /// Names of files.
        ListFiles = "list_files",
        /// Lines that match.
        Search = "search",
        /// Edits for review.
        ProposeEdit = "propose_edit",
        /// A shell command.
        Shell = "shell",
        /// The project's tests.
        RunTests = "run_tests",
        /// The project's linter.
        Lint = "lint",
        /// What git knows.
        GitRead = "git_read",
    }
}
words! {
    /// What a tool may change.
    SideEffect {
        /// Nothing.
        None = "none",
        /// The workspace.
        Workspace = "workspace",
        /// Anything.
        External = "external",
    }
}
words! {
    /// Why a call failed.
    ToolErrorKind {
        /// The gate refused it.
        Blocked = "blocked",
        /// The person declined it.
        Rejected = "rejected",
        /// Its arguments are wrong.
        InvalidArgs = "invalid_args",
        /// It took too long.
        Timeout = "timeout",
        /// The task ended.
        Cancelled = "cancelled",
        /// Anything else.
        Failed = "failed",
    }
}
words! {
    /// What became of a proposed file.
    FileApplyStatus {
        /// Written.
        Applied = "applied",
        /// Declined.
        Rejected = "rejected",
        /// No longer matching.
        Stale = "stale",
    }
}
words! {
    /// The kind of work.
    TaskKind {
        /// Finishing what is being typed.
        Autocomplete = "autocomplete",
        /// Changing shape, not behaviour.
        Refactor = "refactor",
        /// Repairing a fault.
        BugFix = "bug_fix",
        /// Writing tests.
        TestWrite = "test_write",
        /// Changing infrastructure.
        InfraChange = "infra_change",
        /// Explaining.
        Explain = "explain",
        /// Anything else.
        Other = "other",
    }
}
words! {
    /// What the person would rather have.
    Preference {
        /// Little cost.
        Cheap = "cheap",
        /// Both in fair share.
        Balance = "balance",
        /// The best result.
        Quality = "quality",
    }
}
words! {
    /// Which models work, and how.
    WorkflowOption {
        /// One local model.
        LocalSingle = "local-single",
        /// One model in the cloud.
        CloudSingle = "cloud-single",
        /// A cheap model first, a strong one when it fails.
        LocalCloudCascade = "local-cloud-cascade",
        /// A second model reviews edits.
        CloudWithCritique = "cloud-with-critique",
    }
}
words! {
    /// Where a task stands; the last three are final.
    TaskState {
        /// Waits for a slot.
        Queued = "queued",
        /// Is prepared.
        Planning = "planning",
        /// The model works.
        Running = "running",
        /// The person is asked.
        AwaitingApproval = "awaiting_approval",
        /// Checks run.
        Verifying = "verifying",
        /// Ended well.
        Done = "done",
        /// Ended badly.
        Failed = "failed",
        /// Was ended.
        Cancelled = "cancelled",
    }
}
words! {
    /// What was decided about a call.
    PolicyOutcome {
        /// It runs.
        Auto = "auto",
        /// The person is asked.
        Confirm = "confirm",
        /// It is refused.
        Block = "block",
    }
}
words! {
    /// Who speaks for a model.
    ModelProvider {
        /// Anything with `/chat/completions`.
        OpenaiCompatible = "openai-compatible",
        /// Ollama.
        Ollama = "ollama",
        /// Anthropic.
        Anthropic = "anthropic",
    }
}
words! {
    /// A model's job.
    ModelRole {
        /// Everyday work.
        Cheap = "cheap",
        /// Hard work.
        Strong = "strong",
        /// Second looks.
        Reviewer = "reviewer",
    }
}
words! {
    /// Where a model runs.
    ModelLocality {
        /// On this machine.
        Local = "local",
        /// Elsewhere.
        Cloud = "cloud",
    }
}
words! {
    /// How much a model reasons.
    ReasoningLevel {
        /// Not at all.
        Off = "off",
        /// A little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
    }
}
words! {
    /// Why a model failed.
    ModelErrorKind {
        /// The key is missing or refused.
        Auth = "auth",
        /// Too many requests.
        RateLimit = "rate_limit",
        /// Too much text.
        ContextLength = "context_length",
        /// The request or the settings are wrong.
        BadRequest = "bad_request",
        /// The provider is at fault.
        Server = "server",
        /// The connection is.
        Network = "network",
        /// It took too long.
        Timeout = "timeout",
        /// It was stopped.
        Cancelled = "cancelled",
        /// Anything else.
        Unknown = "unknown",
    }
}
words! {
    /// Who answered a question.
    JevEngineKind {
        /// The configured service.
        Jev = "jev",
        /// The built-in rules.
        Rules = "rules",
    }
}
words! {
    /// A pack this server knows.
    KnownPack {
        /// Which workflow.
        WorkflowSelect = "workflow_select@1",
        /// How risky.
        RiskGate = "risk_gate@1",
        /// How expensive.
        CostRoute = "cost_route@1",
    }
}
words! {
    /// What a model costs.
    CostTier {
        /// Nothing.
        Free = "free",
        /// Little.
        Low = "low",
        /// Some.
        Medium = "medium",
        /// Much.
        High = "high",
    }
}
words! {
    /// What an action is.
    RiskActionType {
        /// A shell command.
        RunCommand = "run_command",
        /// The tests.
        RunTests = "run_tests",
        /// The linter.
        Lint = "lint",
        /// Edits.
        ApplyEdit = "apply_edit",
        /// A commit.
        GitCommit = "git_commit",
        /// A push.
        GitPush = "git_push",
        /// A new dependency.
        InstallDependency = "install_dependency",
        /// A deletion.
        DeleteFile = "delete_file",
        /// Anything else.
        Other = "other",
    }
}
words! {
    /// How grave a log line is.
    LogLevel {
        /// For developers.
        Debug = "debug",
        /// Good to know.
        Info = "info",
        /// To look at.
        Warn = "warn",
        /// To mend.
        Error = "error",
    }
}
words! {
    /// Which changes.
    DiffScope {
        /// Of the working tree.
        Working = "working",
        /// Staged ones.
        Staged = "staged",
    }
}
words! {
    /// How far an approval reaches.
    ApprovalScope {
        /// This call.
        Once = "once",
        /// Equal calls of this task too.
        Task = "task",
    }
}
words! {
    /// Verdict of a critique.
    Verdict {
        /// Good.
        Approve = "approve",
        /// Good after changes.
        Revise = "revise",
        /// Not good.
        Reject = "reject",
    }
}
words! {
    /// Which field carries the output limit.
    MaxTokensField {
        /// The older one.
        MaxTokens = "max_tokens",
        /// The newer one.
        MaxCompletionTokens = "max_completion_tokens",
    }
}
words! {
    /// How strict the gate is.
    GatingMode {
        /// Asks where there is doubt.
        Conservative = "conservative",
        /// Asks before every side effect.
        Strict = "strict",
    }
}
words! {
    /// How the last run ended.
    LastRunStatus {
        /// There was none.
        None = "none",
        /// Well.
        Success = "success",
        /// Badly.
        Failed = "failed",
        /// It was ended.
        Cancelled = "cancelled",
    }
}
words! {
    /// Where an action happens.
    RiskEnvironment {
        /// A person's machine.
        Local = "local",
        /// A build server.
        Ci = "ci",
        /// Another machine.
        Remote = "remote",
        /// Not known.
        Unknown = "unknown",
    }
}
words! {
    /// Yes, no, or not known.
    NoulAnswer {
        /// Yes.
        Yes = "yes",
        /// No.
        No = "no",
        /// Not known.
        Unknown = "unknown",
    }
}
words! {
    /// The one outcome that asks.
    Confirm {
        /// The person is asked.
        Confirm = "confirm",
    }
}

// ---- objects ----

/// Declares an object; `strict` refuses unknown fields, `tolerant` drops them.
macro_rules! object {
    (strict $(#[$meta:meta])* $name:ident { $($fields:tt)* }) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase", deny_unknown_fields)]
        $(#[$meta])*
        pub struct $name { $($fields)* }
    };
    (tolerant $(#[$meta:meta])* $name:ident { $($fields:tt)* }) => {
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(rename_all = "camelCase")]
        $(#[$meta])*
        pub struct $name { $($fields)* }
    };
}

object! { tolerant
    /// Done.
    #[derive(Default)]
    Ack {
        /// Always true.
        pub ok: True,
    }
}
object! { strict
    /// Nothing.
    #[derive(Default)]
    Empty {}
}
object! { strict
    /// A place in a document.
    Position {
        /// Line, from 0.
        pub line: u64,
        /// Column as the editor counts, from 0.
        pub character: u64,
    }
}
object! { strict
    /// A part of a document; its start may stand after its end.
    Range {
        /// Where it begins.
        pub start: Position,
        /// Where it ends.
        pub end: Position,
    }
}
object! { strict
    /// Facts of a file, without its content.
    FileMeta {
        /// Its path.
        pub path: WorkspacePath,
        /// Its lines; 0 when it is not there.
        pub size_lines: u64,
        /// The editor's language id.
        #[schemars(length(min = 1, max = 64))]
        pub language: String,
        /// Whether it holds secrets or lies in a high-risk area.
        pub sensitive: bool,
    }
}

/// Something attached to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(
    tag = "type",
    rename_all = "snake_case",
    rename_all_fields = "camelCase",
    deny_unknown_fields
)]
pub enum ContextRef {
    /// A file.
    File {
        /// Its path.
        path: WorkspacePath,
    },
    /// A folder.
    Folder {
        /// Its path.
        path: WorkspacePath,
    },
    /// Part of a file.
    Selection {
        /// The file.
        path: WorkspacePath,
        /// The part.
        range: Range,
    },
    /// Uncommitted changes.
    Diff {
        /// Which.
        scope: DiffScope,
        /// Only of this path.
        #[serde(skip_serializing_if = "Option::is_none")]
        path: Option<WorkspacePath>,
    },
}

object! { strict
    /// What the person was looking at.
    #[derive(Default)]
    #[serde(default)]
    TaskContext {
        /// Attached things.
        pub refs: Vec<ContextRef>,
        /// Open files, the most recent first.
        pub open_editors: Vec<WorkspacePath>,
        /// Test files of the work.
        pub tests: Vec<WorkspacePath>,
    }
}
object! { strict
    /// When a task counts as done.
    #[serde(default)]
    SuccessCriteria {
        /// The project's tests pass.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tests_pass: Option<bool>,
        /// The project's linter is content.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub lint_clean: Option<bool>,
        /// The person agrees with the edits, which are reviewed in any case.
        pub user_approval: bool,
    }
}

impl Default for SuccessCriteria {
    fn default() -> Self {
        Self { tests_pass: None, lint_clean: None, user_approval: true }
    }
}

object! { strict
    /// How much a task may use up.
    #[serde(default)]
    Budget {
        /// Attempts to pass the checks.
        #[schemars(range(min = 1))]
        pub max_iterations: u64,
        /// Calls of tools.
        #[schemars(range(min = 1))]
        pub max_tool_calls: u64,
        /// Tokens of all turns.
        #[schemars(range(min = 1))]
        pub max_tokens: u64,
        /// Milliseconds, without the time the person is asked.
        #[schemars(range(min = 1))]
        pub wall_clock_ms: u64,
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_iterations: 8, max_tool_calls: 40, max_tokens: 200_000, wall_clock_ms: 600_000 }
    }
}

fn default_tools() -> Vec<ToolName> {
    use ToolName::{GitRead, ListFiles, ProposeEdit, ReadFile, Search};
    vec![ReadFile, ListFiles, Search, ProposeEdit, GitRead]
}

fn default_preference() -> Preference {
    Preference::Balance
}

object! { strict
    /// What a client asks for; params of `task.create`. Its id is made by the server.
    TaskInput {
        /// The kind of work.
        pub kind: TaskKind,
        /// What to do; white space around it is cut off first.
        #[schemars(length(min = 1, max = 20_000), extend("x-trim" = true))]
        pub instruction: String,
        /// What the person was looking at.
        #[serde(default)]
        pub context: TaskContext,
        /// Tools the model may use; repetition is harmless.
        #[serde(default = "default_tools")]
        #[schemars(length(min = 1))]
        pub allowed_tools: Vec<ToolName>,
        /// When it counts as done.
        #[serde(default)]
        pub success: SuccessCriteria,
        /// How much it may use up.
        #[serde(default)]
        pub budget: Budget,
        /// What the person would rather have.
        #[serde(default = "default_preference")]
        pub preference: Preference,
        /// A workflow the person insists on.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow_override: Option<WorkflowOption>,
    }
}
object! { tolerant
    /// Tokens and what they cost.
    Usage {
        /// Tokens sent.
        pub input_tokens: u64,
        /// Tokens received.
        pub output_tokens: u64,
        /// US dollars, where a price is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0))]
        pub cost_usd: Option<f64>,
    }
}
object! { tolerant
    /// What a list shows of a task.
    TaskSummary {
        /// Its id.
        pub id: Id,
        /// Its kind.
        pub kind: TaskKind,
        /// What to do.
        pub instruction: String,
        /// Where it stands.
        pub state: TaskState,
        /// The chosen workflow.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow: Option<WorkflowOption>,
        /// Ids of the models used so far, in order.
        #[serde(default)]
        pub models: Vec<Id>,
        /// The current attempt; 0 before the first.
        pub iteration: u64,
        /// Of all turns.
        pub usage: Usage,
        /// When it was created.
        pub created_at: IsoDateTime,
        /// When its state last changed.
        pub updated_at: IsoDateTime,
        /// Why it failed; only then.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub failure_reason: Option<String>,
    }
}
object! { strict
    /// A call of a tool.
    ToolCall {
        /// Its id, unique in its task.
        pub id: Id,
        /// The tool.
        pub tool: ToolName,
        /// The arguments.
        pub args: Map<String, Value>,
        /// What the tool may change.
        pub side_effect: SideEffect,
    }
}
object! { tolerant
    /// What came of a call.
    ToolResult {
        /// The call.
        pub call_id: Id,
        /// Whether it did what was asked.
        pub ok: bool,
        /// What it printed, capped.
        pub output: String,
        /// Whether output was cut.
        #[serde(default)]
        pub truncated: bool,
        /// The exit status of a process.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub exit_code: Option<i64>,
        /// Milliseconds it took.
        pub duration_ms: u64,
        /// Why it failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<ToolResultError>,
    }
}
object! { tolerant
    /// Why a call failed.
    #[schemars(rename = "ToolResult.error")]
    ToolResultError {
        /// The kind.
        pub kind: ToolErrorKind,
        /// What went wrong.
        pub message: String,
        /// Labels.
        #[serde(default)]
        pub reasons: Vec<ReasonLabel>,
    }
}
object! { strict
    /// One replacement.
    SearchReplace {
        /// What stands exactly once in the file; empty inserts at its start, or creates it.
        pub search: String,
        /// What takes its place.
        pub replace: String,
    }
}
object! { strict
    /// The edits of a file.
    FileEdit {
        /// Its path.
        pub path: WorkspacePath,
        /// Applied in order.
        #[schemars(length(min = 1))]
        pub edits: Vec<SearchReplace>,
    }
}
object! { tolerant
    /// What a second model thought of edits.
    Critique {
        /// Its verdict.
        pub verdict: Verdict,
        /// What it found.
        pub issues: Vec<String>,
        /// That model's id.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub model: Option<String>,
    }
}
object! { tolerant
    /// Edits that wait for review.
    EditProposal {
        /// Its id.
        pub id: Id,
        /// The task.
        pub task_id: Id,
        /// The files.
        #[schemars(length(min = 1))]
        pub files: Vec<FileEdit>,
        /// What a second model thought of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub critique: Option<Critique>,
    }
}
object! { strict
    /// What became of a proposed file.
    FileApplyResult {
        /// Its path as proposed.
        pub path: WorkspacePath,
        /// What became of it.
        pub status: FileApplyStatus,
        /// What the person said.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 2000))]
        pub reason: Option<String>,
    }
}

// ---- models and settings ----

object! { tolerant
    /// What a model can do.
    ModelCapabilities {
        /// It streams.
        pub streaming: bool,
        /// It calls tools natively.
        pub tool_calls: bool,
        /// Its context window in tokens.
        #[schemars(range(min = 1))]
        pub context_tokens: u64,
        /// Its largest output in tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        pub max_output_tokens: Option<u64>,
        /// It sees images.
        #[serde(default)]
        pub vision: bool,
    }
}
object! { tolerant
    /// What a person declared of a model; what is absent is probed.
    #[derive(Default)]
    #[schemars(rename = "PartialModelCapabilities")]
    DeclaredCapabilities {
        /// It streams.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub streaming: Option<bool>,
        /// It calls tools natively.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub tool_calls: Option<bool>,
        /// Its context window in tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        pub context_tokens: Option<u64>,
        /// Its largest output in tokens.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1))]
        pub max_output_tokens: Option<u64>,
        /// It sees images.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub vision: Option<bool>,
    }
}
object! { tolerant
    /// A model as it is listed.
    ModelInfo {
        /// Its id.
        pub id: Id,
        /// Who speaks for it.
        pub provider: ModelProvider,
        /// The provider's name for it.
        #[schemars(length(min = 1))]
        pub model: String,
        /// Its job.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub role: Option<ModelRole>,
        /// What it can do.
        pub capabilities: ModelCapabilities,
        /// Whether it answers.
        pub healthy: bool,
        /// Where it runs; always sent.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub locality: Option<ModelLocality>,
    }
}
object! { strict
    /// A price in US dollars per million tokens.
    CostPerMTok {
        /// Of input.
        #[schemars(range(min = 0))]
        pub input: f64,
        /// Of output.
        #[schemars(range(min = 0))]
        pub output: f64,
    }
}
object! { strict
    /// Peculiarities of a server.
    ModelQuirks {
        /// Whether it reports usage while streaming.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub stream_usage: Option<bool>,
        /// Which field carries the output limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub max_tokens_field: Option<MaxTokensField>,
    }
}
object! { strict
    /// A configured model.
    ModelConfig {
        /// The person's name for it.
        pub id: Id,
        /// Who speaks for it.
        pub provider: ModelProvider,
        /// The provider's name for it.
        #[schemars(length(min = 1))]
        pub model: String,
        /// Where the provider is reached.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub base_url: Option<Url>,
        /// Its secret.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub api_key: Option<SecretRef>,
        /// Its price.
        #[serde(rename = "costPerMTok", skip_serializing_if = "Option::is_none")]
        pub cost_per_mtok: Option<CostPerMTok>,
        /// What the person says it can do; unknown fields are dropped.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub capabilities: Option<DeclaredCapabilities>,
        /// Where it runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub locality: Option<ModelLocality>,
        /// Peculiarities of its server.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub quirks: Option<ModelQuirks>,
        /// How much it reasons.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reasoning: Option<ReasoningLevel>,
    }
}
object! { strict
    /// Which model does what; an id may name nothing.
    #[derive(Default)]
    RolesConfig {
        /// Everyday work.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cheap: Option<Id>,
        /// Hard work.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub strong: Option<Id>,
        /// Second looks.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub reviewer: Option<Id>,
    }
}
object! { strict
    /// The service for second opinions.
    #[derive(Default)]
    #[serde(default)]
    JevConfig {
        /// Whether it is asked.
        pub enabled: bool,
        /// Where it is.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub endpoint: Option<Url>,
        /// Its secret.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub api_key: Option<SecretRef>,
        /// Whether it sees hashes in place of paths.
        pub redact_paths: bool,
    }
}
object! { strict
    /// How strict the gate is.
    #[serde(default)]
    GatingConfig {
        /// The mode.
        pub mode: GatingMode,
        /// Overrides by name; what is unknown or loosens is dropped with a warning.
        pub thresholds: BTreeMap<String, f64>,
    }
}

impl Default for GatingConfig {
    fn default() -> Self {
        Self { mode: GatingMode::Conservative, thresholds: BTreeMap::new() }
    }
}

object! { strict
    /// All settings; params of `config.update`. Of models with one id the last counts.
    #[derive(Default)]
    #[serde(default)]
    DesiideConfig {
        /// Models.
        pub models: Vec<ModelConfig>,
        /// Which model does what.
        pub roles: RolesConfig,
        /// The service for second opinions.
        pub jev: JevConfig,
        /// How strict the gate is.
        pub gating: GatingConfig,
    }
}
object! { tolerant
    /// The file `.desiide/project.json` below the first root; never on the wire.
    ProjectConfig {
        /// Runs the tests.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 1000))]
        pub test_command: Option<String>,
        /// Runs the linter.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 1, max = 1000))]
        pub lint_command: Option<String>,
        /// Names of further secret files.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(inner(length(min = 1)))]
        pub sensitive_globs: Option<Vec<String>>,
        /// Names of files to leave out.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(inner(length(min = 1)))]
        pub ignore_globs: Option<Vec<String>>,
    }
}

// ---- second opinions ----

/// What an engine is given: metadata only.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "pack", rename_all_fields = "camelCase", deny_unknown_fields)]
pub enum JevPackState {
    /// Which workflow.
    #[serde(rename = "workflow_select@1")]
    WorkflowSelect {
        /// The kind of work.
        task_type: TaskKind,
        /// Files it is about.
        #[schemars(length(max = 50))]
        files_touched: Vec<FileMeta>,
        /// How many more there are.
        #[serde(skip_serializing_if = "Option::is_none")]
        truncated_count: Option<u64>,
        /// Lines.
        estimated_diff_size: u64,
        /// How the last run ended.
        last_run_status: LastRunStatus,
        /// What the person would rather have.
        user_preference: Preference,
        /// Models there are.
        available_models: Vec<AvailableModel>,
    },
    /// How risky.
    #[serde(rename = "risk_gate@1")]
    RiskGate {
        /// What the action is.
        action_type: RiskActionType,
        /// The command, cut and redacted.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 500))]
        command: Option<String>,
        /// Files an edit touches.
        #[serde(skip_serializing_if = "Option::is_none")]
        edit_file_count: Option<u64>,
        /// Where it happens.
        context: RiskGateContext,
        /// Files it touches.
        #[schemars(length(max = 50))]
        files_touched: Vec<RiskGateFile>,
        /// How many more there are.
        #[serde(skip_serializing_if = "Option::is_none")]
        truncated_count: Option<u64>,
    },
    /// How expensive.
    #[serde(rename = "cost_route@1")]
    CostRoute {
        /// The kind of work.
        task_type: TaskKind,
        /// Files it is about.
        files_touched_count: u64,
        /// Lines of the project.
        project_size_lines: u64,
        /// What the person would rather have.
        user_cost_bias: Preference,
        /// Failures of late.
        recent_failures: u64,
    },
}

object! { strict
    /// A model as routing sees it.
    AvailableModel {
        /// Its id.
        pub id: Id,
        /// Its context window in tokens.
        #[schemars(range(min = 1))]
        pub context_tokens: u64,
        /// Milliseconds it takes to answer.
        pub latency_ms: u64,
        /// What it costs.
        pub cost_tier: CostTier,
        /// Where it runs.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub locality: Option<ModelLocality>,
    }
}
object! { strict
    /// Where an action happens.
    RiskGateContext {
        /// The branch.
        pub branch: OrNull<BranchName>,
        /// The machine.
        pub env: RiskEnvironment,
        /// Whether migrations wait.
        pub has_pending_migrations: bool,
    }
}

/// The name of a branch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct BranchName(pub String);

impl JsonSchema for BranchName {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "BranchName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "maxLength": 256 })
    }
}

object! { strict
    /// A file an action touches.
    RiskGateFile {
        /// Its path.
        pub path: WorkspacePath,
        /// Whether it is sensitive.
        pub sensitive: bool,
    }
}

/// The answer to a question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum JevResult {
    /// One of several options.
    Choice {
        /// The option.
        #[schemars(length(min = 1))]
        selected: String,
        /// Of each option.
        probs: BTreeMap<String, Probability>,
    },
    /// A grade.
    Score {
        /// The grade.
        #[schemars(range(min = 0, max = 4))]
        score: u64,
        /// Of each grade.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(min = 5, max = 5))]
        probs: Option<Vec<Probability>>,
    },
    /// Yes, no, or not known.
    Noul {
        /// The word.
        answer: NoulAnswer,
        /// Of yes.
        p_yes: Probability,
    },
}

object! { tolerant
    /// A decision.
    DecisionRecord {
        /// Its id.
        pub id: Id,
        /// The task it belongs to.
        pub task_id: OrNull<Id>,
        /// The pack.
        pub pack: PackId,
        /// The question.
        #[schemars(length(min = 1, max = 64))]
        pub question: String,
        /// Who answered.
        pub engine: JevEngineKind,
        /// Hash of the state.
        #[schemars(length(min = 1, max = 128))]
        pub state_hash: String,
        /// What the engine was given.
        pub state: Map<String, Value>,
        /// The answer.
        pub result: JevResult,
        /// What was decided about a call.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub policy_outcome: Option<PolicyOutcome>,
        /// What was chosen for a task.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub workflow: Option<WorkflowOption>,
        /// Labels.
        pub reasons: Vec<ReasonLabel>,
        /// Milliseconds the answer took.
        pub latency_ms: u64,
        /// When.
        pub ts: IsoDateTime,
    }
}
object! { tolerant
    /// One engine's run of a replay.
    EngineRun {
        /// Who answered.
        pub engine: JevEngineKind,
        /// The answer.
        pub result: JevResult,
        /// What would be decided.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub policy_outcome: Option<PolicyOutcome>,
        /// Milliseconds it took.
        pub latency_ms: u64,
    }
}

// ---- notifications ----

/// What a task tells; the payload of `task.event`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskEvent {
    /// What happened.
    #[serde(flatten)]
    pub body: EventBody,
    /// The task.
    pub task_id: Id,
    /// From 0, one more for each event of the task.
    pub seq: u64,
    /// When.
    pub ts: IsoDateTime,
}

/// What happened; receivers ignore types they do not know.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case", rename_all_fields = "camelCase")]
pub enum EventBody {
    /// The state changed.
    StateChanged {
        /// Null for the first event only.
        from: OrNull<TaskState>,
        /// The new state.
        to: TaskState,
        /// The failure reason, only when failed.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// A piece of the model's text.
    TextDelta {
        /// One id per model turn.
        message_id: Id,
        /// The piece.
        delta: String,
    },
    /// A known and allowed tool was called.
    ToolCallStarted {
        /// The call.
        call: ToolCall,
    },
    /// A call ended, started or not.
    ToolCallFinished {
        /// What came of it.
        result: ToolResult,
    },
    /// Edits wait for review.
    EditProposed {
        /// The edits.
        proposal: EditProposal,
        /// Facts of their files.
        #[serde(default)]
        files: Vec<FileMeta>,
    },
    /// A call waits for the person.
    ApprovalRequired {
        /// What the answer must name.
        approval_id: Id,
        /// The call.
        call: ToolCall,
        /// Always `confirm`.
        outcome: Confirm,
        /// Labels.
        reasons: Vec<ReasonLabel>,
        /// The first decision record.
        #[serde(skip_serializing_if = "Option::is_none")]
        decision_id: Option<Id>,
        /// What the call touches.
        #[serde(default)]
        paths: Vec<WorkspacePath>,
    },
    /// A decision was recorded.
    DecisionMade {
        /// The record.
        decision: DecisionRecord,
    },
    /// A model turn reported its usage.
    Usage {
        /// The model.
        model_id: Id,
        /// Of this turn.
        usage: Usage,
    },
    /// The task fails; the final state follows.
    Error {
        /// The kind of a model's error, or the failure reason.
        #[schemars(length(min = 1))]
        kind: String,
        /// For the person.
        message: String,
        /// Whether trying again may help.
        #[serde(default)]
        retryable: bool,
        /// Milliseconds to wait before.
        #[serde(skip_serializing_if = "Option::is_none")]
        retry_after_ms: Option<u64>,
    },
    /// A piece of the model's visible reasoning; only sent where it was asked for at start.
    ReasoningDelta {
        /// The turn it belongs to.
        message_id: Id,
        /// The piece.
        delta: String,
    },
}

object! { tolerant
    /// A line for the person; the payload of `log`.
    LogNotification {
        /// How grave.
        pub level: LogLevel,
        /// The line.
        pub message: String,
        /// When.
        pub ts: IsoDateTime,
        /// More about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub fields: Option<Map<String, Value>>,
    }
}

// ---- params and results ----

object! { strict
    /// Opens the session.
    #[schemars(rename = "initialize.params")]
    InitializeParams {
        /// The client's version of the protocol.
        pub protocol_version: SemVer,
        /// The client.
        pub client: ClientInfo,
        /// Absolute paths; the first is the default.
        #[schemars(length(min = 1), inner(length(min = 1)))]
        pub workspace_roots: Vec<String>,
    }
}
object! { strict
    /// Who asks.
    #[schemars(rename = "initialize.params.client")]
    ClientInfo {
        /// Its name.
        #[schemars(length(min = 1))]
        pub name: String,
        /// Its version.
        #[schemars(length(min = 1))]
        pub version: String,
    }
}
object! { tolerant
    /// The session is open.
    #[schemars(rename = "initialize.result")]
    InitializeResult {
        /// The server's version of the protocol.
        pub protocol_version: SemVer,
        /// The server.
        pub server: ServerInfo,
    }
}
object! { tolerant
    /// Who answers.
    #[schemars(rename = "initialize.result.server")]
    ServerInfo {
        /// Its name.
        pub name: String,
        /// Its version.
        pub version: String,
    }
}
object! { tolerant
    /// The task as it was taken in.
    #[schemars(rename = "task.create.result")]
    TaskCreateResult {
        /// Always queued.
        pub task: TaskSummary,
    }
}
object! { strict
    /// Which task to end.
    #[schemars(rename = "task.cancel.params")]
    TaskCancelParams {
        /// The task.
        pub task_id: Id,
    }
}
object! { tolerant
    /// Whether there was something to end.
    #[schemars(rename = "task.cancel.result")]
    TaskCancelResult {
        /// False when it had ended before.
        pub cancelled: bool,
    }
}
object! { tolerant
    /// All tasks that are not forgotten.
    #[schemars(rename = "task.list.result")]
    TaskListResult {
        /// The oldest first.
        pub tasks: Vec<TaskSummary>,
    }
}
object! { strict
    /// Which call the person agrees to.
    #[schemars(rename = "task.approve.params")]
    TaskApproveParams {
        /// The task.
        pub task_id: Id,
        /// The approval.
        pub approval_id: Id,
        /// How far it reaches.
        pub scope: ApprovalScope,
    }
}
object! { strict
    /// Which call the person declines.
    #[schemars(rename = "task.reject.params")]
    TaskRejectParams {
        /// The task.
        pub task_id: Id,
        /// The approval.
        pub approval_id: Id,
        /// Why, for the model.
        #[serde(skip_serializing_if = "Option::is_none")]
        #[schemars(length(max = 2000))]
        pub reason: Option<String>,
    }
}
object! { strict
    /// What became of proposed files.
    #[schemars(rename = "edits.report.params")]
    EditsReportParams {
        /// The task.
        pub task_id: Id,
        /// The proposal.
        pub proposal_id: Id,
        /// Some or all of its files.
        #[schemars(length(min = 1))]
        pub files: Vec<FileApplyResult>,
    }
}
object! { strict
    /// Which models to list.
    #[schemars(rename = "models.list.params")]
    ModelsListParams {
        /// Whether to look for models that are not configured.
        #[serde(default)]
        pub discover: bool,
    }
}
object! { tolerant
    /// Models.
    #[schemars(rename = "models.list.result")]
    ModelsListResult {
        /// Configured ones in the person's order.
        pub models: Vec<ModelInfo>,
        /// Found ones.
        #[serde(default)]
        pub discovered: Vec<ModelInfo>,
    }
}
object! { strict
    /// Which model to try.
    #[schemars(rename = "models.test.params")]
    ModelsTestParams {
        /// Its id.
        pub model_id: Id,
    }
}
object! { tolerant
    /// Whether it answered.
    #[schemars(rename = "models.test.result")]
    ModelsTestResult {
        /// Whether it did.
        pub ok: bool,
        /// Milliseconds it took.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub latency_ms: Option<u64>,
        /// Why it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<ModelsTestError>,
    }
}
object! { tolerant
    /// Why a model did not answer.
    #[schemars(rename = "models.test.result.error")]
    ModelsTestError {
        /// The kind.
        pub kind: ModelErrorKind,
        /// What happened.
        pub message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hint: Option<String>,
    }
}
object! { tolerant
    /// Whether the service answered.
    #[schemars(rename = "jev.test.result")]
    JevTestResult {
        /// Whether it did.
        pub ok: bool,
        /// Milliseconds it took.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub latency_ms: Option<u64>,
        /// Why it did not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub error: Option<JevTestError>,
    }
}
object! { tolerant
    /// Why the service did not answer.
    #[schemars(rename = "jev.test.result.error")]
    JevTestError {
        /// The kind, a free word.
        pub kind: String,
        /// What happened.
        pub message: String,
        /// What to do about it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub hint: Option<String>,
    }
}
object! { strict
    /// Which state to show.
    #[schemars(rename = "jev.preview.params")]
    JevPreviewParams {
        /// The pack.
        pub pack: KnownPack,
    }
}
object! { tolerant
    /// A state.
    #[schemars(rename = "jev.preview.result")]
    JevPreviewResult {
        /// The state as it would be sent.
        pub state: JevPackState,
    }
}

fn default_limit() -> u64 {
    50
}

object! { strict
    /// Which decisions to list; conditions are joined by and.
    #[schemars(rename = "decisions.list.params")]
    DecisionsListParams {
        /// Only of this task.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub task_id: Option<Id>,
        /// Only of this pack, known or not.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub pack: Option<PackId>,
        /// Only with this outcome.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub outcome: Option<PolicyOutcome>,
        /// At most this many.
        #[serde(default = "default_limit")]
        #[schemars(range(min = 1, max = 500))]
        pub limit: u64,
        /// The `nextCursor` of the page before.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub cursor: Option<String>,
    }
}
object! { tolerant
    /// A page of decisions.
    #[schemars(rename = "decisions.list.result")]
    DecisionsListResult {
        /// The newest first.
        pub decisions: Vec<DecisionRecord>,
        /// Leads to the next page; absent on the last.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub next_cursor: Option<String>,
    }
}
object! { strict
    /// Which decision to run again.
    #[schemars(rename = "decisions.replay.params")]
    DecisionsReplayParams {
        /// Its id.
        pub id: Id,
    }
}
object! { tolerant
    /// What would be decided today.
    #[schemars(rename = "decisions.replay.result")]
    DecisionsReplayResult {
        /// The record.
        pub record: DecisionRecord,
        /// The built-in rules under today's settings.
        pub rules: EngineRun,
        /// The service, where it is configured and answered.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jev: Option<EngineRun>,
        /// Why the service gave no answer.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub jev_error: Option<String>,
        /// Whether a run differs from the record.
        pub differs: bool,
        /// The decision from the settings and the context that were stored with it.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub as_recorded: Option<EngineRun>,
        /// What is different today, one phrase each.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        pub changes: Vec<String>,
    }
}
object! { tolerant
    /// The server lives.
    #[schemars(rename = "health.ping.result")]
    HealthPingResult {
        /// Always true.
        pub ok: True,
        /// Milliseconds since it was started.
        pub uptime_ms: u64,
    }
}
object! { strict
    /// Which secret the server needs.
    #[schemars(rename = "secrets.get.params")]
    SecretsGetParams {
        /// Its reference.
        #[serde(rename = "ref")]
        pub reference: SecretRef,
    }
}
object! { tolerant
    /// A secret.
    #[schemars(rename = "secrets.get.result")]
    SecretsGetResult {
        /// Its value; null when it is not set.
        pub value: OrNull<String>,
    }
}
object! { strict
    /// Params of `$/cancelRequest`, either way.
    #[schemars(rename = "cancelRequest.params")]
    CancelRequestParams {
        /// The id of the request.
        pub id: Value,
    }
}
