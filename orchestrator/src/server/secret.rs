//! The client's secrets, asked for over the same connection.

use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use crate::host::log::{Level, Log};
use crate::protocol::desiide::check::Payload;
use crate::protocol::desiide::convert::decode;
use crate::protocol::desiide::types::{SECRETS_GET, SecretsGetResult};
use crate::rpc::pending::{RequestError, Requester};
use crate::task::port::{PortError, Secrets};

/// How long a person may take to unlock their secrets.
const LIMIT: Duration = Duration::from_secs(30);

/// Asks the client.
pub(super) struct ClientSecrets {
    requester: Requester,
    log: Log,
}

impl ClientSecrets {
    pub(super) fn new(requester: Requester, log: Log) -> Self {
        Self { requester, log }
    }
}

#[async_trait]
impl Secrets for ClientSecrets {
    async fn get(&self, reference: &str) -> Result<Option<String>, PortError> {
        self.log.say(Level::Debug, &format!("asking the client for `{reference}`"));
        let params = json!({ "ref": reference });
        // Whatever the client answered may hold the secret, so none of it is told.
        let fail = |why: &str| PortError(format!("`{reference}` could not be asked for: {why}"));
        let answer = match self.requester.request(SECRETS_GET, params, LIMIT).await {
            Ok(answer) => answer,
            Err(RequestError::Refused(error)) => {
                let code = error.code;
                return Err(fail(&format!("the client answered with error {code}")));
            }
            Err(RequestError::Timeout) => return Err(fail("no answer within 30 seconds")),
            Err(RequestError::Closed) => return Err(fail("the client is gone")),
        };
        let answer: Option<Value> = Some(answer).filter(Value::is_object);
        let result: SecretsGetResult = answer
            .and_then(|answer| decode(Some(answer), Payload::Secret).ok())
            .ok_or_else(|| fail("the client's answer is malformed"))?;
        Ok(result.value.0.filter(|value| !value.is_empty()))
    }
}
