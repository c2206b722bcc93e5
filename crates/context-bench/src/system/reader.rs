//! The baseline reader of `context-bench-reader` as a system: answers where no model is available.

use async_trait::async_trait;
use serde_json::Value;

use super::offload::offload;
use super::{System, SystemError};
use crate::model::{Example, Identity, Output};

pub use context_bench_reader::Reader;

#[async_trait]
impl System for Reader {
    fn name(&self) -> &str {
        "reader"
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        let question = example.question().unwrap_or_default();
        let reader = *self;
        let work = move |context: &str, question: &str| reader.answer(context, question);
        let answer = offload(self.name(), example.context(), question, work).await?;
        Ok(Output::reply(example, answer))
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        let question = example.question().unwrap_or_default();
        Some(vec![example.context().to_owned(), question.to_owned()])
    }
}
