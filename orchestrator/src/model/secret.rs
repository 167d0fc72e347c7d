//! Secrets asked for at first use and kept in memory until the settings change.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use futures::FutureExt as _;
use futures::future::{BoxFuture, Shared, WeakShared};

use super::redact::Redactor;
use crate::task::port::{PortError, Secrets, SharedSecrets};

/// What a look-up gives.
type Found = Result<Option<String>, PortError>;

/// A look-up that many wait for; whoever waits drives it. When nobody waits any more it is dropped, and
/// with it the question to the source.
type LookUp = Shared<BoxFuture<'static, Found>>;

/// What is known of a reference.
enum Kept {
    /// It is on its way, as the look-up of that number.
    Asked(u64, WeakShared<BoxFuture<'static, Found>>),
    /// Its value.
    Known(String),
}

#[derive(Default)]
struct Table {
    next: u64,
    kept: HashMap<String, Kept>,
}

/// Keeps the values of another source. Look-ups of one reference at the same moment are one look-up;
/// failures and unset values are asked for again. Each value is made known to the redactor.
pub struct SecretKeeper {
    source: SharedSecrets,
    redactor: Redactor,
    table: Mutex<Table>,
}

impl SecretKeeper {
    /// Keeps what `source` gives.
    pub fn new(source: SharedSecrets, redactor: Redactor) -> Self {
        Self { source, redactor, table: Mutex::default() }
    }

    /// Forgets all values. A look-up that is on its way is answered to those who wait for it and not
    /// kept.
    pub fn forget(&self) {
        self.table().kept.clear();
        self.redactor.forget();
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value, or the number and the look-up to wait for.
    fn look_up(&self, reference: &str) -> Result<String, (u64, LookUp)> {
        let mut table = self.table();
        match table.kept.get(reference) {
            Some(Kept::Known(value)) => return Ok(value.clone()),
            Some(Kept::Asked(number, look_up)) => {
                if let Some(look_up) = look_up.upgrade() {
                    return Err((*number, look_up));
                }
            }
            None => {}
        }
        let (source, name) = (Arc::clone(&self.source), reference.to_owned());
        let look_up = async move {
            let value = source.get(&name).await?;
            Ok(value.filter(|value| !value.is_empty()))
        }
        .boxed()
        .shared();
        table.next += 1;
        let number = table.next;
        if let Some(weak) = look_up.downgrade() {
            table.kept.insert(reference.to_owned(), Kept::Asked(number, weak));
        }
        Err((number, look_up))
    }
}

#[async_trait]
impl Secrets for SecretKeeper {
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError> {
        let (number, look_up) = match self.look_up(reference) {
            Ok(value) => return Ok(Some(value)),
            Err(asked) => asked,
        };
        let found = look_up.await;
        let mut table = self.table();
        // Settings that changed meanwhile have forgotten this look-up.
        if matches!(table.kept.get(reference), Some(Kept::Asked(own, _)) if *own == number) {
            match &found {
                Ok(Some(value)) => {
                    self.redactor.learn(value);
                    table.kept.insert(reference.to_owned(), Kept::Known(value.clone()));
                }
                Ok(None) | Err(_) => drop(table.kept.remove(reference)),
            }
        }
        found
    }
}
