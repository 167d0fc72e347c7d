//! Secrets asked for at first use and kept in memory until the settings change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared};

use super::redact::Redactor;
use crate::task::port::{PortError, Secrets, SharedSecrets};

/// A look-up that many wait for; whoever waits drives it.
type LookUp = Shared<BoxFuture<'static, Result<Option<String>, PortError>>>;

/// Keeps the values of another source. Look-ups of one reference at the same moment are one look-up;
/// failures and unset values are asked for again. Each value is made known to the redactor.
pub struct SecretKeeper {
    source: SharedSecrets,
    redactor: Redactor,
    kept: Mutex<HashMap<String, LookUp>>,
}

impl SecretKeeper {
    /// Keeps what `source` gives.
    pub fn new(source: SharedSecrets, redactor: Redactor) -> Self {
        Self { source, redactor, kept: Mutex::default() }
    }

    /// Forgets all values. A look-up that is on its way is answered to those who wait for it and not
    /// kept.
    pub fn forget(&self) {
        self.kept().clear();
        self.redactor.forget();
    }

    fn kept(&self) -> MutexGuard<'_, HashMap<String, LookUp>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn look_up(&self, reference: &str) -> LookUp {
        let begin = || {
            let (source, name) = (Arc::clone(&self.source), reference.to_owned());
            async move {
                let value = source.get(&name).await?;
                Ok(value.filter(|value| !value.is_empty()))
            }
            .boxed()
            .shared()
        };
        self.kept().entry(reference.to_owned()).or_insert_with(begin).clone()
    }
}

#[async_trait]
impl Secrets for SecretKeeper {
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError> {
        let look_up = self.look_up(reference);
        let value = look_up.clone().await;
        let mut kept = self.kept();
        if kept.get(reference).is_some_and(|current| current.ptr_eq(&look_up)) {
            match &value {
                Ok(Some(value)) => self.redactor.learn(value),
                Ok(None) | Err(_) => drop(kept.remove(reference)),
            }
        }
        value
    }
}
