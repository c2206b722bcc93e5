//! No change: the base line that every other transform is compared with.

use super::Transform;

/// Leaves the context as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Passthrough;

impl Transform for Passthrough {
    fn name(&self) -> &str {
        "passthrough"
    }

    fn transform(&self, context: &str, _question: &str) -> String {
        context.to_owned()
    }
}
