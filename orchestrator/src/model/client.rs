//! One configured model: its provider's adapter with what is the same for every provider.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use url::Url;

use super::anthropic::{self, Anthropic};
use super::http::{self, Http};
use super::ollama::{self, Ollama};
use super::openai::OpenAi;
use super::turn::Turn;
use super::{
    ChatModel, Message, ModelError, ModelErrorKind, Piece, Price, Request, StopReason, catalog,
    text_tools,
};
use crate::task::port::SharedSecrets;
use crate::task::settings::{
    Capabilities, DeclaredCapabilities, Locality, ModelSettings, Provider,
};

/// One configured model. Clones are the same model.
#[derive(Clone)]
pub(super) struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    settings: ModelSettings,
    locality: Locality,
    price: Option<Price>,
    secrets: SharedSecrets,
    /// None when the settings name no address that can be asked.
    base: Option<Url>,
    adapter: Adapter,
}

/// Who is spoken to, and how.
enum Adapter {
    OpenAi(OpenAi),
    Ollama(Ollama),
    Anthropic(Anthropic),
    /// The settings make no sense.
    Broken(ModelError),
}

/// What is assumed of a model nothing is known of.
pub(super) const FALLBACK: Capabilities = Capabilities {
    streaming: true,
    tool_calls: false,
    context_tokens: 8192,
    max_output_tokens: None,
    vision: false,
};

/// Those capabilities with what was declared, field by field.
pub(super) fn overlay(known: Capabilities, declared: &DeclaredCapabilities) -> Capabilities {
    Capabilities {
        streaming: declared.streaming.unwrap_or(known.streaming),
        tool_calls: declared.tool_calls.unwrap_or(known.tool_calls),
        context_tokens: declared.context_tokens.unwrap_or(known.context_tokens).max(1),
        max_output_tokens: declared.max_output_tokens.or(known.max_output_tokens),
        vision: declared.vision.unwrap_or(known.vision),
    }
}

impl Client {
    /// The model of those settings; settings that make no sense give a model that fails.
    pub(super) fn new(settings: ModelSettings, http: &Arc<Http>, secrets: SharedSecrets) -> Self {
        let configured = settings.base_url.as_deref();
        let base = match settings.provider {
            Provider::OpenaiCompatible => http::base(configured, None),
            Provider::Ollama => ollama::base(configured),
            Provider::Anthropic => http::base(configured, Some(anthropic::DEFAULT_BASE)),
        };
        let is_here = base.as_ref().is_ok_and(http::is_loopback);
        let place = if is_here { Locality::Local } else { Locality::Cloud };
        let locality = settings.locality.unwrap_or(place);
        let limits = http.limits();
        let limit = match locality {
            Locality::Local => limits.headers_local,
            Locality::Cloud => limits.headers,
        };
        let http = Arc::clone(http);
        let adapter = match (&base, settings.provider) {
            (Err(error), _) => Adapter::Broken(error.clone()),
            (Ok(base), Provider::OpenaiCompatible) => {
                Adapter::OpenAi(OpenAi::new(http, &settings, base.clone(), limit))
            }
            (Ok(base), Provider::Ollama) => {
                Adapter::Ollama(Ollama::new(http, &settings, base.clone(), limit))
            }
            (Ok(base), Provider::Anthropic) => {
                Adapter::Anthropic(Anthropic::new(http, &settings, base.clone(), limit))
            }
        };
        let price = price(&settings);
        let inner = Inner { settings, locality, price, secrets, base: base.ok(), adapter };
        Self { inner: Arc::new(inner) }
    }

    /// The address it is asked at.
    pub(super) fn base(&self) -> Option<&Url> {
        self.inner.base.as_ref()
    }

    /// Its secret, where it is configured to have one.
    pub(super) async fn key(&self) -> Result<Option<String>, ModelError> {
        self.inner.key().await
    }

    /// What is assumed of it when it cannot be asked.
    pub(super) fn assumed(&self) -> Capabilities {
        overlay(FALLBACK, &self.inner.settings.declared)
    }
}

/// The configured price, else the published one.
fn price(settings: &ModelSettings) -> Option<Price> {
    let configured = settings.cost_per_mtok;
    match settings.provider {
        Provider::Anthropic => configured
            .or_else(|| catalog::find(&settings.model).price)
            .map(|(input, output)| catalog::anthropic_price(input, output)),
        Provider::OpenaiCompatible | Provider::Ollama => {
            configured.map(|(input, output)| catalog::plain_price(input, output))
        }
    }
}

impl Inner {
    async fn key(&self) -> Result<Option<String>, ModelError> {
        let Some(reference) = &self.settings.api_key else { return Ok(None) };
        let name = reference.strip_prefix("secret:").unwrap_or(reference);
        let auth = |text: String| {
            ModelError::new(ModelErrorKind::Auth, text)
                .advise(format!("store the API key of this model under the name `{name}`"))
        };
        match self.secrets.get(reference).await {
            Ok(Some(value)) if !value.trim().is_empty() => Ok(Some(value)),
            Ok(_) => Err(auth(format!("the API key `{name}` is not set"))),
            Err(error) => Err(auth(format!("the API key `{name}` cannot be had: {error}"))),
        }
    }

    /// What the model is known to do, before what was declared.
    async fn probe(&self) -> Result<Capabilities, ModelError> {
        match &self.adapter {
            Adapter::OpenAi(_) => Ok(FALLBACK),
            Adapter::Ollama(model) => model.probe(self.key().await?).await,
            Adapter::Anthropic(model) => Ok(model.capabilities()),
            Adapter::Broken(error) => Err(error.clone()),
        }
    }

    /// What the model can do for this request. A model that does not tell is believed its declaration, if
    /// that says what matters here.
    async fn ability(&self) -> Result<Capabilities, ModelError> {
        let declared = &self.settings.declared;
        let known = match self.probe().await {
            Ok(known) => known,
            Err(error) if matches!(self.adapter, Adapter::Broken(_)) => return Err(error),
            Err(_) if declared.tool_calls.is_some() && declared.context_tokens.is_some() => {
                FALLBACK
            }
            Err(error) => return Err(error),
        };
        Ok(overlay(known, declared))
    }

    async fn answer(
        &self,
        mut request: Request,
        turn: &mut Turn,
    ) -> Result<StopReason, ModelError> {
        let ability = self.ability().await?;
        let is_call = |message: &Message| match message {
            Message::Assistant { calls, .. } => !calls.is_empty(),
            Message::Tool { .. } => true,
            Message::User { .. } => false,
        };
        if !ability.tool_calls {
            if !request.tools.is_empty() {
                turn.read_calls_in_text();
            }
            if !request.tools.is_empty() || request.messages.iter().any(is_call) {
                request = text_tools::as_text(request);
            }
        }
        let key = self.key().await?;
        match &self.adapter {
            Adapter::OpenAi(model) => model.answer(&request, key, turn).await,
            Adapter::Ollama(model) => {
                model.answer(&request, ability.context_tokens, key, turn).await
            }
            Adapter::Anthropic(model) => {
                let key = key.ok_or_else(|| {
                    ModelError::new(ModelErrorKind::Auth, "this model needs an API key")
                        .advise("set apiKey of this model in desiide.models to a stored secret")
                })?;
                model.answer(&request, key, turn).await
            }
            Adapter::Broken(error) => Err(error.clone()),
        }
    }
}

#[async_trait]
impl ChatModel for Client {
    fn settings(&self) -> &ModelSettings {
        &self.inner.settings
    }

    fn locality(&self) -> Locality {
        self.inner.locality
    }

    fn price(&self) -> Option<Price> {
        self.inner.price
    }

    async fn capabilities(&self, cancel: &CancellationToken) -> Result<Capabilities, ModelError> {
        let known = tokio::select! {
            biased;
            () = cancel.cancelled() => return Err(ModelError::cancelled()),
            known = self.inner.probe() => known?,
        };
        Ok(overlay(known, &self.inner.settings.declared))
    }

    fn stream(&self, request: Request, cancel: CancellationToken) -> mpsc::Receiver<Piece> {
        let (out, pieces) = mpsc::channel(64);
        let inner = Arc::clone(&self.inner);
        tokio::spawn(async move {
            let mut turn = Turn::new(out.clone(), &inner.settings.id);
            let result = tokio::select! {
                biased;
                () = cancel.cancelled() => Err(ModelError::cancelled()),
                () = out.closed() => return,
                result = inner.answer(request, &mut turn) => result,
            };
            turn.end(result).await;
        });
        pieces
    }
}
