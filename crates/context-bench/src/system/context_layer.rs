//! `ContextLayer`: a transform in front of a system that answers.
//!
//! The answerer sees the example with its context transformed and nothing else
//! changed; of the prompt of a task that is its [context part](ContextPart). The output
//! is the answerer's, so its `context` is the transformed one and token counts show what
//! the layer saved.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::offload::offload;
use super::part::{ContextPart, is_of_task};
use super::transform::Transform;
use super::{Conversation, Posting, System, SystemError};
use crate::model::{Example, Identity, Output};

/// Transforms the context of each example, then asks another system.
#[derive(Clone)]
pub struct ContextLayer {
    name: Arc<str>,
    transform: Arc<dyn Transform>,
    answerer: Arc<dyn System>,
}

impl ContextLayer {
    /// A layer of that name, which must be unique within a run.
    pub fn new(
        name: impl Into<Arc<str>>,
        transform: Arc<dyn Transform>,
        answerer: Arc<dyn System>,
    ) -> Self {
        Self {
            name: name.into(),
            transform,
            answerer,
        }
    }

    /// The example as the answerer gets it.
    fn changed<'e>(&self, example: &'e Example) -> Cow<'e, Example> {
        if is_of_task(example) {
            let Some(part) = ContextPart::of(example) else {
                return Cow::Borrowed(example);
            };
            let text = self.transform.transform(part.text, part.question(example));
            return Cow::Owned(part.replaced(example, &text));
        }
        let Some(context) = example.text("context") else {
            return Cow::Borrowed(example);
        };
        let question = example.question().unwrap_or_default();
        let context = self.transform.transform(context, question);
        Cow::Owned(example.clone().with("context", context))
    }
}

#[async_trait]
impl System for ContextLayer {
    fn name(&self) -> &str {
        &self.name
    }

    fn identity(&self) -> Option<Identity> {
        let settings = json!({
            "transform": self.transform.identity()?.to_json(),
            "answerer": self.answerer.identity()?.to_json(),
        });
        Some(Identity::new("context_layer", 2, settings))
    }

    fn changes_context(&self) -> bool {
        !self.transform.keeps_all()
    }

    async fn process(&self, example: &Example) -> Result<Output, SystemError> {
        if is_of_task(example) {
            let Some(part) = ContextPart::of(example) else {
                return self.answerer.process(example).await;
            };
            let transform = Arc::clone(&self.transform);
            let work = move |context: &str, question: &str| transform.transform(context, question);
            let question = part.question(example);
            let text = offload(self.transform.name(), part.text, question, work).await?;
            return self.answerer.process(&part.replaced(example, &text)).await;
        }
        let Some(context) = example.text("context") else {
            return self.answerer.process(example).await;
        };
        let question = example.question().unwrap_or_default();
        let transform = Arc::clone(&self.transform);
        let work = move |context: &str, question: &str| transform.transform(context, question);
        let context = offload(self.transform.name(), context, question, work).await?;
        // Large contexts are copied once more than needed if the map is cloned
        // whole, so the old context is left out while copying.
        let fields = example.fields().iter();
        let fields = fields.map(|(key, value)| match key.as_str() {
            "context" => (key.clone(), Value::Null),
            _ => (key.clone(), value.clone()),
        });
        let changed = example.with_fields(fields.collect());
        self.answerer
            .process(&changed.with("context", context))
            .await
    }

    fn prompt(&self, example: &Example) -> Option<Vec<String>> {
        self.answerer.prompt(&self.changed(example))
    }

    fn requests(&self, example: &Example) -> Option<Vec<Posting>> {
        self.answerer.requests(&self.changed(example))
    }

    fn as_conversation(&self) -> Option<&dyn Conversation> {
        self.answerer.as_conversation()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{CallStats, Turn};
    use crate::system::{Replies, from_fn};

    struct FirstWord;

    impl Transform for FirstWord {
        fn name(&self) -> &str {
            "first_word"
        }

        fn transform(&self, context: &str, question: &str) -> String {
            let first = context.split(' ').next().unwrap_or_default();
            format!("{first}{question}")
        }
    }

    fn layer() -> ContextLayer {
        let echo = from_fn("echo", |example| {
            let call = CallStats {
                attempts: 3,
                ..CallStats::default()
            };
            Ok(Output::reply(example, example.context()).with_call(call))
        });
        ContextLayer::new("short", Arc::new(FirstWord), Arc::new(echo))
    }

    fn example(value: Value) -> Example {
        Example::try_from(value).expect("a map")
    }

    #[tokio::test]
    async fn only_the_context_changes() {
        for (given, expected) in [
            (
                json!({"id": 1, "context": "one two", "question": "?", "answer": "one two"}),
                json!({"id": 1, "context": "one?", "question": "?", "answer": "one two", "response": "one?"}),
            ),
            (
                json!({"context": "one two"}),
                json!({"context": "one", "response": "one"}),
            ),
            (
                json!({"turns": [], "question": "?"}),
                json!({"turns": [], "question": "?", "response": ""}),
            ),
        ] {
            let output = layer().process(&example(given)).await.expect("an output");
            assert_eq!(output.call().map(|call| call.attempts), Some(3));
            let written = serde_json::to_string(output.fields()).expect("valid");
            assert_eq!(written, expected.to_string());
        }
    }

    #[tokio::test]
    async fn large_contexts_are_transformed_elsewhere() {
        let large = format!("one {}", "x ".repeat(256 * 1024));
        let output = layer()
            .process(&example(json!({"context": large})))
            .await
            .expect("an output");
        assert_eq!(output.response(), "one");
    }

    #[test]
    fn conversations_are_the_answerers() {
        struct Talker;

        #[async_trait]
        impl System for Talker {
            fn name(&self) -> &str {
                "talker"
            }
            async fn process(&self, example: &Example) -> Result<Output, SystemError> {
                Ok(Output::reply(example, ""))
            }
            fn as_conversation(&self) -> Option<&dyn Conversation> {
                Some(self)
            }
        }

        #[async_trait]
        impl Conversation for Talker {
            async fn process_conversation(&self, _: &[Turn]) -> Result<Replies, SystemError> {
                Ok(Replies::default())
            }
        }

        assert!(layer().as_conversation().is_none());
        let talker = ContextLayer::new("talk", Arc::new(FirstWord), Arc::new(Talker));
        assert!(talker.as_conversation().is_some());
    }
}
