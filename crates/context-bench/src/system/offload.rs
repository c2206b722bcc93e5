//! Text work off the threads that serve requests.
//!
//! Small contexts are worked on in place: handing them over costs more than the
//! work. Large ones go to a thread of their own, so that other examples go on.

use super::SystemError;
use crate::model::FailureKind;

/// Contexts up to this size are worked on in place.
const INLINE_BYTES: usize = 256 * 1024;

/// Runs `work` on a context and a question; `name` is for the error message.
pub(super) async fn offload<F>(
    name: &str,
    context: &str,
    question: &str,
    work: F,
) -> Result<String, SystemError>
where
    F: FnOnce(&str, &str) -> String + Send + 'static,
{
    if context.len() <= INLINE_BYTES {
        return Ok(work(context, question));
    }
    let (context, question) = (context.to_owned(), question.to_owned());
    tokio::task::spawn_blocking(move || work(&context, &question))
        .await
        .map_err(|error| {
            let kind = if error.is_panic() {
                FailureKind::Panic
            } else {
                FailureKind::Other
            };
            SystemError::new(kind, format!("`{name}` failed: {error}"))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn size_makes_no_difference_to_the_result() {
        for size in [0, INLINE_BYTES, INLINE_BYTES + 1] {
            let context = "x".repeat(size);
            let work = |context: &str, question: &str| format!("{}{question}", context.len());
            let found = offload("work", &context, "?", work).await;
            assert_eq!(found, Ok(format!("{size}?")));
        }
    }

    #[tokio::test]
    async fn a_panic_on_the_other_thread_is_a_failure() {
        let context = "x".repeat(INLINE_BYTES + 1);
        let work = |_: &str, _: &str| -> String { std::panic::resume_unwind(Box::new("bad code")) };
        let error = offload("work", &context, "", work).await.err();
        assert_eq!(
            error.map(|error| error.failure.kind),
            Some(FailureKind::Panic)
        );
    }
}
