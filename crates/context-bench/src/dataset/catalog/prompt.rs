//! `PromptTemplates`: how a benchmark's authors ask a model, as a dataset's file says it.
//!
//! Plain data. The templates see the fields of an example, as they are when a model is
//! asked: whatever changed the context before has changed it for the prompt too.

use indexmap::IndexMap;

use super::template::Template;

/// How a model is asked about the examples of a config.
#[derive(Debug, Clone, Default)]
pub(super) struct PromptTemplates {
    /// The system message, where the authors have one.
    pub(super) system: Option<Template>,
    /// The message of the user.
    pub(super) user: Option<Template>,
    /// The most tokens of an answer.
    pub(super) max_tokens: Option<u64>,
    /// What ends an answer.
    pub(super) stop: Option<Vec<String>>,
    /// The temperature; an expression, as some authors have one per kind of question.
    pub(super) temperature: Option<Template>,
    /// Texts that the templates see by name, so that configs can share a template.
    pub(super) with: IndexMap<String, String>,
}

/// Worked examples that stand before the question, from another split of the source.
#[derive(Debug, Clone)]
pub(super) struct Shots {
    pub(super) split: String,
    /// The config of the source that they are in, when it is another one.
    pub(super) config: Option<String>,
    pub(super) count: usize,
    /// Only those count whose field of this name equals that of the example.
    pub(super) by: Option<String>,
    /// Fields that worked examples have beside those of all examples.
    pub(super) fields: IndexMap<String, Template>,
}

impl PromptTemplates {
    /// Lays what a config says over what holds for all, key by key.
    pub(super) fn lay(&mut self, own: &Self) {
        fn replace<T: Clone>(base: &mut Option<T>, own: &Option<T>) {
            if own.is_some() {
                base.clone_from(own);
            }
        }
        replace(&mut self.system, &own.system);
        replace(&mut self.user, &own.user);
        replace(&mut self.max_tokens, &own.max_tokens);
        replace(&mut self.stop, &own.stop);
        replace(&mut self.temperature, &own.temperature);
        self.with.extend(own.with.clone());
    }
}
