//! `TaskModel`: a model behind an endpoint, asked for answers and for likelihoods.
//!
//! Answers go the way of every example, through [`OpenAiProxy`]; likelihoods to the
//! address beside it that continues plain text. To a run it is one system.

use async_trait::async_trait;
use serde_json::Value;

use super::likelihood::{LikelihoodClient, LikelihoodSettings};
use crate::benchmark::examples::{CONTEXTS, CONTINUATIONS, TEXT, asks_for_likelihoods};
use crate::chat::{ClientError, Endpoint};
use crate::model::{Example, FailureKind, Identity, Output};
use crate::system::{Conversation, OpenAiProxy, OpenAiProxySettings, Posting, System, SystemError};

/// A model behind an endpoint.
#[derive(Debug)]
pub struct TaskModel {
    proxy: OpenAiProxy,
    likelihoods: Option<LikelihoodClient>,
}

impl TaskModel {
    /// A model that is asked for answers as `proxy` says. Without `likelihoods` it is
    /// never asked for them: the address is for chats alone.
    ///
    /// # Errors
    ///
    /// When the URL is wrong or the key cannot be sent.
    pub fn new(
        proxy: OpenAiProxySettings,
        likelihoods: Option<LikelihoodSettings>,
    ) -> Result<Self, ClientError> {
        let (model, extra_body) = (proxy.model.clone(), proxy.extra_body.clone());
        let client = proxy.client()?;
        let likelihoods = likelihoods
            .map(|settings| LikelihoodClient::new(&client, model, extra_body, settings))
            .transpose()?;
        Ok(Self {
            proxy: OpenAiProxy::with_settings(proxy)?,
            likelihoods,
        })
    }

    /// Where answers come from.
    pub fn endpoint(&self) -> &Endpoint {
        self.proxy.endpoint()
    }

    /// Whether it may be asked for likelihoods.
    pub fn gives_likelihoods(&self) -> bool {
        self.likelihoods.is_some()
    }
}

#[async_trait]
impl System for TaskModel {
    fn name(&self) -> &str {
        self.proxy.name()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        if !asks_for_likelihoods(example) {
            return self.proxy.process(example).await;
        }
        match &self.likelihoods {
            Some(client) => client.process(example).await,
            None => Err(SystemError::new(
                FailureKind::Unsupported,
                format!(
                    "`{}` is for chats, which give no likelihoods",
                    self.endpoint()
                ),
            )),
        }
    }

    /// That of the proxy, so that answers are shared with runs over datasets.
    fn identity(&self) -> Option<Identity> {
        let mut identity = self.proxy.identity()?;
        let own = self.likelihoods.as_ref().map(LikelihoodClient::identity);
        if let (Value::Object(settings), Some(own)) = (&mut identity.settings, own) {
            settings.extend(own);
        }
        Some(identity)
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        if !asks_for_likelihoods(example) {
            return self.proxy.prompt(example);
        }
        let texts = |field: &str| -> Vec<&str> {
            let list = example.get(field).and_then(Value::as_array);
            list.into_iter()
                .flatten()
                .filter_map(Value::as_str)
                .collect()
        };
        let (contexts, continuations) = (texts(CONTEXTS), texts(CONTINUATIONS));
        let contexts = match contexts.is_empty() {
            true => vec![example.context()],
            false => contexts,
        };
        if let Some(text) = example.text(TEXT) {
            return Some(vec![text.to_owned()]);
        }
        let both = |context: &str| -> Vec<String> {
            let texts = continuations.iter();
            texts.map(|text| format!("{context}{text}")).collect()
        };
        Some(contexts.into_iter().flat_map(both).collect())
    }

    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        match asks_for_likelihoods(example) {
            true => self.likelihoods.as_ref()?.requests(example),
            false => self.proxy.requests(example),
        }
    }

    fn counts_tokens(&self) -> bool {
        false
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.proxy.as_conversation()
    }
}
