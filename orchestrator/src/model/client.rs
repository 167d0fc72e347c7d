//! One configured model: its provider's adapter with what is the same for every provider.

use std::sync::Arc;

use async_trait::async_trait;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::turn::Turn;
use super::{ChatModel, ModelError, ModelErrorKind, Piece, Price, Request, StopReason};
use crate::task::port::SharedSecrets;
use crate::task::settings::{Capabilities, DeclaredCapabilities, Locality, ModelSettings};

/// One configured model. Clones are the same model.
#[derive(Clone)]
pub(super) struct Client {
    inner: Arc<Inner>,
}

struct Inner {
    settings: ModelSettings,
    locality: Locality,
    price: Option<Price>,
    adapter: Adapter,
}

/// Who is spoken to, and how.
enum Adapter {
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
    pub(super) fn new(settings: ModelSettings, _secrets: SharedSecrets) -> Self {
        let locality = settings.locality.unwrap_or(Locality::Cloud);
        let adapter = Adapter::Broken(ModelError::new(
            ModelErrorKind::BadRequest,
            "no client for this provider yet",
        ));
        Self { inner: Arc::new(Inner { settings, locality, price: None, adapter }) }
    }

    /// What is assumed of it when it cannot be asked.
    pub(super) fn assumed(&self) -> Capabilities {
        overlay(FALLBACK, &self.inner.settings.declared)
    }
}

impl Inner {
    async fn probe(&self) -> Result<Capabilities, ModelError> {
        match &self.adapter {
            Adapter::Broken(error) => Err(error.clone()),
        }
    }

    async fn answer(&self, _request: Request, _turn: &mut Turn) -> Result<StopReason, ModelError> {
        match &self.adapter {
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
