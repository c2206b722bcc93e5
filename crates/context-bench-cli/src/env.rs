//! The environment variables that the program reads. `docs/reference/cli.md` has them all;
//! which one holds a key is decided by plans.

/// The value of a variable; empty counts as not set.
pub(crate) fn get(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Whether requests may go through a proxy, which the HTTP client takes from
/// these variables.
pub(crate) fn has_http_proxy() -> bool {
    let names = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"];
    names
        .iter()
        .any(|name| get(name).is_some() || get(&name.to_lowercase()).is_some())
}
