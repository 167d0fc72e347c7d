//! All configured models: which one does what, what they can do, and whether they answer.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::client::{Client, FALLBACK};
use super::http::{self, Http, Limits};
use super::ollama;
use super::redact::Redactor;
use super::secret::SecretKeeper;
use super::{
    ChatModel, Listing, Message, ModelError, ModelErrorKind, ModelInfo, ModelSource, Piece, Request,
};
use crate::task::port::SharedSecrets;
use crate::task::settings::{Locality, Provider, Role, Roles, Settings};

/// How long a server may take in all to tell which models it has.
const DISCOVER_LIMIT: Duration = Duration::from_secs(5);

/// Characters of the id of a model that was found.
const ID_CHARS: usize = 128;

/// The output tokens a test asks for at most.
const TEST_TOKENS: u64 = 16;

/// All configured models.
pub struct Models {
    keeper: Arc<SecretKeeper>,
    redactor: Redactor,
    http: Arc<Http>,
    current: RwLock<Arc<Set>>,
}

/// The models of one configuration. Whoever still uses an older one keeps it.
#[derive(Default)]
struct Set {
    models: Vec<Client>,
    roles: Roles,
    /// Ids whose last test failed.
    failed: Mutex<HashSet<String>>,
}

impl Models {
    /// No models yet; secrets are asked for from that source at first use and kept.
    pub fn new(secrets: SharedSecrets) -> Self {
        Self::limited(secrets, Limits::default())
    }

    /// The same within other limits.
    pub fn limited(secrets: SharedSecrets, limits: Limits) -> Self {
        let redactor = Redactor::default();
        let keeper = Arc::new(SecretKeeper::new(secrets, redactor.clone()));
        let http = Arc::new(Http::new(limits, redactor.clone()));
        Self { keeper, redactor, http, current: RwLock::default() }
    }

    /// Takes secrets out of texts; knows each value that was asked for since the last `configure`.
    pub fn redactor(&self) -> Redactor {
        self.redactor.clone()
    }

    /// The same secrets with what is kept of them, for others who need some.
    pub fn secrets(&self) -> SharedSecrets {
        Arc::<SecretKeeper>::clone(&self.keeper)
    }

    /// Replaces all models; forgets secrets, probes and tests. Of two models of one id the last one
    /// counts.
    pub fn configure(&self, settings: &Settings) {
        self.keeper.forget();
        let mut models: Vec<Client> = Vec::new();
        for model in &settings.models {
            models.retain(|earlier| earlier.settings().id != model.id);
            models.push(Client::new(model.clone(), &self.http, self.secrets()));
        }
        let set = Set { models, roles: settings.roles.clone(), failed: Mutex::default() };
        *self.current.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(set);
    }

    fn set(&self) -> Arc<Set> {
        Arc::clone(&self.current.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// One entry per model in the person's order; with `discover`, also models that configured and
    /// loopback servers have. Takes some seconds at most; what is cancelled or too slow is not healthy.
    pub async fn list(&self, discover: bool, cancel: &CancellationToken) -> Listing {
        let set = self.set();
        let limit = self.http.limits().headers_probe;
        let models = join_all(set.models.iter().map(|model| set.info(model, limit, cancel)));
        if !discover {
            return Listing { models: models.await, discovered: Vec::new() };
        }
        let found = async {
            tokio::select! {
                found = self.discover(&set) => found,
                () = cancel.cancelled() => Vec::new(),
            }
        };
        let (models, discovered) = futures::join!(models, found);
        Listing { models, discovered }
    }

    /// Models of the configured Ollama servers, and of the one on this machine if none is configured, that
    /// are not configured themselves.
    async fn discover(&self, set: &Set) -> Vec<ModelInfo> {
        let ollama = |model: &&Client| model.settings().provider == Provider::Ollama;
        let mut servers: Vec<(Url, Option<&Client>)> = Vec::new();
        for model in set.models.iter().filter(ollama) {
            if let Some(base) = model.base()
                && !servers.iter().any(|(known, _)| known == base)
            {
                servers.push((base.clone(), Some(model)));
            }
        }
        if !set.models.iter().any(|model| ollama(&model)) {
            servers.extend(ollama::base(None).ok().map(|base| (base, None)));
        }
        let asked = servers.iter().map(|(base, model)| async move {
            let key = match model {
                Some(model) => model.key().await.ok()?,
                None => None,
            };
            let found = ollama::discover(&self.http, base, key);
            let found = tokio::time::timeout(DISCOVER_LIMIT, found).await.ok()?.ok()?;
            Some((base, found))
        });
        let mut discovered: Vec<ModelInfo> = Vec::new();
        for (base, found) in join_all(asked).await.into_iter().flatten() {
            let locality = if http::is_loopback(base) { Locality::Local } else { Locality::Cloud };
            for (name, capabilities) in found {
                let is_configured = set.models.iter().filter(ollama).any(|model| {
                    model.base() == Some(base) && tagged(&model.settings().model) == tagged(&name)
                });
                let id: String = format!("ollama:{name}").chars().take(ID_CHARS).collect();
                if is_configured || discovered.iter().any(|known| known.id == id) {
                    continue;
                }
                discovered.push(ModelInfo {
                    id,
                    provider: Provider::Ollama,
                    model: name,
                    role: None,
                    capabilities: capabilities.unwrap_or(FALLBACK),
                    healthy: true,
                    locality,
                });
            }
        }
        discovered
    }

    /// Asks a model for one word; gives the milliseconds to its first sign. The result is remembered for
    /// `healthy`.
    ///
    /// # Errors
    ///
    /// What the model failed with; `bad_request` for an unknown id.
    pub async fn test(&self, id: &str, cancel: &CancellationToken) -> Result<u64, ModelError> {
        let set = self.set();
        let model = set.find(id).ok_or_else(|| unknown_model(id))?;
        let result = first_sign(&model, cancel).await;
        let mut failed = set.failed.lock().unwrap_or_else(PoisonError::into_inner);
        match &result {
            Ok(_) => drop(failed.remove(id)),
            // A test that was stopped says nothing about the model.
            Err(error) if error.kind == ModelErrorKind::Cancelled => {}
            Err(_) => drop(failed.insert(id.to_owned())),
        }
        result
    }
}

/// Asks for one word and waits for the first text, call or end.
async fn first_sign(model: &Client, cancel: &CancellationToken) -> Result<u64, ModelError> {
    let request = Request {
        messages: vec![Message::User { text: "Answer with the word OK.".to_owned() }],
        max_output_tokens: Some(TEST_TOKENS),
        ..Request::default()
    };
    let begin = Instant::now();
    let mut pieces = model.stream(request, cancel.clone());
    while let Some(piece) = pieces.recv().await {
        match piece {
            Piece::Text(_) | Piece::Call(_) | Piece::Done(_) => {
                return Ok(u64::try_from(begin.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            Piece::Failed(error) => return Err(error),
            Piece::Reasoning(_) | Piece::State(_) | Piece::Usage(_) => {}
        }
    }
    Err(ModelError::new(ModelErrorKind::Unknown, "the model ended its answer without a word"))
}

/// A model's name with the tag that stands for none.
fn tagged(name: &str) -> &str {
    name.strip_suffix(":latest").unwrap_or(name)
}

fn unknown_model(id: &str) -> ModelError {
    ModelError::new(ModelErrorKind::BadRequest, format!("no model `{id}` is configured"))
        .advise("add it to the setting desiide.models")
}

impl Set {
    fn find(&self, id: &str) -> Option<Client> {
        self.models.iter().find(|model| model.settings().id == id).cloned()
    }

    fn role_of(&self, id: &str) -> Option<Role> {
        [Role::Cheap, Role::Strong, Role::Reviewer]
            .into_iter()
            .find(|role| self.roles.id(*role).is_some_and(|named| named == id))
    }

    async fn info(&self, model: &Client, limit: Duration, cancel: &CancellationToken) -> ModelInfo {
        let settings = model.settings();
        let probed = tokio::time::timeout(limit, model.capabilities(cancel)).await;
        let has_failed =
            self.failed.lock().unwrap_or_else(PoisonError::into_inner).contains(&settings.id);
        let (capabilities, answers) = match probed {
            Ok(Ok(capabilities)) => (capabilities, true),
            Ok(Err(_)) | Err(_) => (model.assumed(), false),
        };
        ModelInfo {
            id: settings.id.clone(),
            provider: settings.provider,
            model: settings.model.clone(),
            role: self.role_of(&settings.id),
            capabilities,
            healthy: answers && !has_failed,
            locality: model.locality(),
        }
    }
}

impl Roles {
    /// The id that is set for a role.
    fn id(&self, role: Role) -> Option<&str> {
        match role {
            Role::Cheap => self.cheap.as_deref(),
            Role::Strong => self.strong.as_deref(),
            Role::Reviewer => self.reviewer.as_deref(),
        }
    }
}

/// The role's word, as in the settings.
const fn role_name(role: Role) -> &'static str {
    match role {
        Role::Cheap => "cheap",
        Role::Strong => "strong",
        Role::Reviewer => "reviewer",
    }
}

impl ModelSource for Models {
    fn by_role(&self, role: Role) -> Result<Arc<dyn ChatModel>, ModelError> {
        let set = self.set();
        let found = match (set.roles.id(role), set.models.as_slice()) {
            (Some(id), _) => set.find(id).ok_or_else(|| unknown_model(id))?,
            (None, [only]) => only.clone(),
            (None, _) => {
                let role = role_name(role);
                let message = format!("no model is set for the role `{role}`");
                return Err(ModelError::new(ModelErrorKind::BadRequest, message)
                    .advise(format!("set desiide.roles.{role} to the id of a model")));
            }
        };
        Ok(Arc::new(found))
    }

    fn get(&self, id: &str) -> Option<Arc<dyn ChatModel>> {
        self.set().find(id).map(|model| Arc::new(model) as Arc<dyn ChatModel>)
    }

    fn all(&self) -> Vec<Arc<dyn ChatModel>> {
        let set = self.set();
        set.models.iter().map(|model| Arc::new(model.clone()) as Arc<dyn ChatModel>).collect()
    }
}
