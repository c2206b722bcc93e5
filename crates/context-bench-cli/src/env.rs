//! Every environment variable that the program reads, documented once.

/// The key of the endpoints, unless `--api-key-env` names another variable.
pub(crate) const OPENAI_API_KEY: &str = "OPENAI_API_KEY";

/// The value of a variable; empty counts as not set.
pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
