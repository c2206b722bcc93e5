//! No change: the base line that every other transform is compared with.

use serde_json::Value;

use super::Transform;
use crate::model::Identity;

/// Leaves the context as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passthrough;

impl Transform for Passthrough {
    fn name(&self) -> &str {
        "passthrough"
    }

    fn identity(&self) -> Option<Identity> {
        Some(Identity::new(self.name(), 1, Value::Null))
    }

    fn keeps_all(&self) -> bool {
        true
    }

    fn transform(&self, context: &str, _question: &str) -> String {
        context.to_owned()
    }
}
