//! Environment variables of the program, listed in `docs/reference/cli.md`. Which of them holds
//! an API key is decided by the planner.

/// The value of a variable; an empty one counts as unset.
pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether requests may go through an outgoing proxy, which the HTTP client reads from these
/// variables.
pub(crate) fn has_http_proxy() -> bool {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    names
        .iter()
        .any(|name| get(name).is_some() || get(&name.to_lowercase()).is_some())
}
