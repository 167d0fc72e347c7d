//! What a person configured, replaced as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// All settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Models in the person's order; ids are distinct.
    pub models: Vec<ModelSettings>,
    /// Which model does what.
    pub roles: Roles,
    /// The service for second opinions.
    pub jev: JevSettings,
    /// How strict the guard is.
    pub gating: Gating,
}

/// One model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ModelSettings {
    /// The person's name for it.
    pub id: String,
    /// Who speaks for it.
    pub provider: Provider,
    /// The provider's name for it.
    pub model: String,
    /// Where the provider is reached.
    pub base_url: Option<String>,
    /// Reference of the secret, `secret:name`.
    pub api_key: Option<String>,
    /// US dollars per million tokens: input, output.
    pub cost_per_mtok: Option<(f64, f64)>,
    /// What the person says it can do; overrides what was probed.
    pub declared: DeclaredCapabilities,
    /// Where it runs, as the person says.
    pub locality: Option<Locality>,
    /// Whether the provider reports usage while streaming.
    pub stream_usage: Option<bool>,
    /// Which field carries the output limit.
    pub max_tokens_field: Option<MaxTokensField>,
    /// How much it reasons.
    pub reasoning: Option<ReasoningLevel>,
}

/// What a person declared of a model; none means not declared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeclaredCapabilities {
    /// Streams.
    pub streaming: Option<bool>,
    /// Calls tools natively.
    pub tool_calls: Option<bool>,
    /// Size of the context window in tokens.
    pub context_tokens: Option<u64>,
    /// Largest output in tokens.
    pub max_output_tokens: Option<u64>,
    /// Sees images.
    pub vision: Option<bool>,
}

/// What a model can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Capabilities {
    /// Streams.
    pub streaming: bool,
    /// Calls tools natively.
    pub tool_calls: bool,
    /// Size of the context window in tokens, at least 1.
    pub context_tokens: u64,
    /// Largest output in tokens.
    pub max_output_tokens: Option<u64>,
    /// Sees images.
    pub vision: bool,
}

/// Who speaks for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Provider {
    /// Anything with `/chat/completions`.
    OpenaiCompatible,
    /// Ollama.
    Ollama,
    /// Anthropic.
    Anthropic,
}

/// Where a model runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Locality {
    /// On this machine.
    Local,
    /// Anywhere else.
    Cloud,
}

/// Which field carries the output limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MaxTokensField {
    /// `max_tokens`.
    MaxTokens,
    /// `max_completion_tokens`.
    MaxCompletionTokens,
}

/// How much a model reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ReasoningLevel {
    /// Not at all, where the model allows that.
    Off,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
}

/// A job of a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Role {
    /// Everyday work.
    Cheap,
    /// Hard work.
    Strong,
    /// Second looks.
    Reviewer,
}

/// Which model does what; values are ids that may name nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Roles {
    /// Everyday work.
    pub cheap: Option<String>,
    /// Hard work.
    pub strong: Option<String>,
    /// Second looks.
    pub reviewer: Option<String>,
}

/// The service for second opinions; active when enabled and an endpoint is set.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JevSettings {
    /// Whether to ask it.
    pub enabled: bool,
    /// Where it is.
    pub endpoint: Option<String>,
    /// Reference of its secret, `secret:name`.
    pub api_key: Option<String>,
    /// Whether paths in states are replaced by hashes.
    pub redact_paths: bool,
}

/// How strict the guard is.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Gating {
    /// Every side effect asks.
    pub strict: bool,
    /// Overrides by name as the person wrote them; what loosens is dropped with a warning.
    pub thresholds: BTreeMap<String, f64>,
}
