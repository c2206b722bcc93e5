//! Where the hub is, where its files are kept and how long to wait.
//!
//! The variables mean what they mean to the Python tools, so that one set-up
//! serves both. Nothing here reads the environment: the caller passes a look-up.

use std::path::{Path, PathBuf};
use std::time::Duration;

use context_bench_http::RetryPolicy;

use crate::error::HubError;
use crate::secret::Token;

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";
/// The time the Python client gives an answer to begin, and a download to go on.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(10);
const DEFAULT_PARALLEL: usize = 6;
/// Servers of large files say how large they are; what is generated on request is small.
const DEFAULT_UNANNOUNCED: u64 = 4 << 30;

/// A download counts only retries since it last got further, so that a long one survives
/// many short breaks.
fn default_retry() -> RetryPolicy {
    let mut policy = RetryPolicy::default();
    policy.max_retries = 5;
    policy.max_delay = Duration::from_secs(8);
    // The hub counts requests in windows of five minutes.
    policy.deadline = Duration::from_secs(300);
    policy
}

/// How to reach the hub and where to keep its files.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct HubSettings {
    /// The address of the hub or of a mirror.
    pub endpoint: String,
    /// Sent to the host of the endpoint and to no other.
    pub token: Option<Token>,
    /// The hub cache that is shared with other tools.
    pub cache: PathBuf,
    /// Where files of plain URLs are kept.
    pub url_cache: PathBuf,
    /// Whether to send no request at all.
    pub offline: bool,
    /// How long an answer may take to begin.
    pub answer_timeout: Duration,
    /// How long a download may stand still.
    pub stall_timeout: Duration,
    /// What happens after a failed attempt.
    pub retry: RetryPolicy,
    /// How many files are downloaded at once.
    pub parallel: usize,
    /// The most bytes of a file whose size its server does not say.
    pub longest_unannounced: u64,
}

impl HubSettings {
    /// The public hub with its cache in this folder; no token, not offline.
    pub fn new(cache: impl Into<PathBuf>) -> Self {
        let cache = cache.into();
        let url_cache = cache.join(".context-bench-urls");
        Self {
            endpoint: DEFAULT_ENDPOINT.to_owned(),
            token: None,
            cache,
            url_cache,
            offline: false,
            answer_timeout: DEFAULT_TIMEOUT,
            stall_timeout: DEFAULT_TIMEOUT,
            retry: default_retry(),
            parallel: DEFAULT_PARALLEL,
            longest_unannounced: DEFAULT_UNANNOUNCED,
        }
    }

    /// The settings that these variables describe: `HF_ENDPOINT`, `HF_TOKEN`,
    /// `HF_TOKEN_PATH`, `HF_HOME`, `HF_HUB_CACHE`, `HF_HUB_OFFLINE`,
    /// `HF_DATASETS_OFFLINE`, `HF_HUB_DISABLE_IMPLICIT_TOKEN`, `XDG_CACHE_HOME`,
    /// `HF_HUB_ETAG_TIMEOUT`, `HF_HUB_DOWNLOAD_TIMEOUT`. The token file is read.
    ///
    /// # Errors
    ///
    /// When a variable cannot be understood, or when no variable says where the
    /// home folder is.
    pub fn from_vars(vars: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let text = |name: &str| vars(name).filter(|value| !value.trim().is_empty());
        let home = text("HOME").or_else(|| text("USERPROFILE"));
        let path = |name: &str| text(name).map(|value| with_home(&value, home.as_deref()));
        let caches = path("XDG_CACHE_HOME")
            .or_else(|| home.as_deref().map(|home| Path::new(home).join(".cache")));
        let hf_home = path("HF_HOME").or_else(|| Some(caches.clone()?.join("huggingface")));
        let cache = path("HF_HUB_CACHE")
            .or_else(|| text("HUGGINGFACE_HUB_CACHE").map(|at| with_home(&at, home.as_deref())))
            .or_else(|| Some(hf_home.clone()?.join("hub")))
            .ok_or(HubError::NoHome)?;
        let mut settings = Self::new(cache);
        if let Some(caches) = caches {
            settings.url_cache = caches.join("context-bench").join("urls");
        }
        if let Some(value) = text("HF_ENDPOINT") {
            settings.endpoint = value.trim().to_owned();
        }
        settings.offline = ["HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"]
            .iter()
            .any(|name| text(name).is_some_and(|value| is_true(&value)));
        if let Some(limit) = timeout("HF_HUB_ETAG_TIMEOUT", text("HF_HUB_ETAG_TIMEOUT"))? {
            settings.answer_timeout = limit;
        }
        if let Some(limit) = timeout("HF_HUB_DOWNLOAD_TIMEOUT", text("HF_HUB_DOWNLOAD_TIMEOUT"))? {
            settings.stall_timeout = limit;
        }
        let implicit = !text("HF_HUB_DISABLE_IMPLICIT_TOKEN").is_some_and(|value| is_true(&value));
        if implicit {
            settings.token = text("HF_TOKEN")
                .or_else(|| text("HUGGING_FACE_HUB_TOKEN"))
                .and_then(|token| Token::new(&token))
                .or_else(|| {
                    let file = path("HF_TOKEN_PATH").or_else(|| Some(hf_home?.join("token")))?;
                    // As in Python, a file that is absent or unreadable means no token.
                    Token::new(&std::fs::read_to_string(file).ok()?)
                });
        }
        Ok(settings)
    }
}

fn timeout(name: &'static str, value: Option<String>) -> Result<Option<Duration>, HubError> {
    let Some(value) = value else { return Ok(None) };
    match value.trim().parse::<f64>() {
        Ok(seconds) if seconds > 0.0 => match Duration::try_from_secs_f64(seconds) {
            Ok(limit) => Ok(Some(limit)),
            Err(_) => Err(HubError::variable(name, value, "it is too large")),
        },
        // Python reads 0 as unset.
        Ok(0.0) => Ok(None),
        _ => Err(HubError::variable(
            name,
            value,
            "it must be a number of seconds",
        )),
    }
}

/// The words that the Python client takes for true.
fn is_true(value: &str) -> bool {
    matches!(
        value.trim().to_ascii_uppercase().as_str(),
        "1" | "ON" | "YES" | "TRUE"
    )
}

fn with_home(value: &str, home: Option<&str>) -> PathBuf {
    match (value.strip_prefix('~'), home) {
        (Some(""), Some(home)) => PathBuf::from(home),
        (Some(rest), Some(home)) if rest.starts_with(['/', '\\']) => {
            Path::new(home).join(rest.trim_start_matches(['/', '\\']))
        }
        _ => PathBuf::from(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(pairs: &[(&str, &str)]) -> Result<HubSettings, HubError> {
        HubSettings::from_vars(|name| {
            let found = pairs.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_cache_is_where_python_puts_it() {
        for (pairs, expected) in [
            (&[("HOME", "/h")][..], "/h/.cache/huggingface/hub"),
            (
                &[("HOME", "/h"), ("XDG_CACHE_HOME", "/x")],
                "/x/huggingface/hub",
            ),
            (&[("HOME", "/h"), ("HF_HOME", "~/hf")], "/h/hf/hub"),
            (&[("HF_HOME", "/hf"), ("HF_HUB_CACHE", "/c")], "/c"),
            (
                &[("HOME", "/h"), ("HF_HOME", " ")],
                "/h/.cache/huggingface/hub",
            ),
        ] {
            let found = settings(pairs).expect("enough variables");
            assert_eq!(found.cache, Path::new(expected), "{pairs:?}");
        }
        assert!(matches!(settings(&[]), Err(HubError::NoHome)));
    }

    #[test]
    fn offline_and_timeouts_are_read_as_python_reads_them() {
        for (pairs, expected) in [
            (&[("HF_HUB_OFFLINE", "1")][..], true),
            (&[("HF_DATASETS_OFFLINE", "yes")], true),
            (
                &[("HF_HUB_OFFLINE", "0"), ("HF_DATASETS_OFFLINE", "True")],
                true,
            ),
            (&[("HF_HUB_OFFLINE", "false")], false),
            (&[], false),
        ] {
            let mut all = vec![("HOME", "/h")];
            all.extend(pairs);
            assert_eq!(
                settings(&all).expect("valid").offline,
                expected,
                "{pairs:?}"
            );
        }
        let found = settings(&[("HOME", "/h"), ("HF_HUB_DOWNLOAD_TIMEOUT", "30")]);
        assert_eq!(found.expect("valid").stall_timeout, Duration::from_secs(30));
        let error = settings(&[("HOME", "/h"), ("HF_HUB_ETAG_TIMEOUT", "soon")]);
        assert_eq!(
            error.expect_err("not a number").to_string(),
            "the variable `HF_HUB_ETAG_TIMEOUT` is `soon`: it must be a number of seconds"
        );
    }

    #[test]
    fn the_token_comes_from_the_variable_then_from_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("token");
        std::fs::write(&file, "hf_file\n").expect("written");
        let home = folder.path().to_str().expect("UTF-8");
        let path = file.to_str().expect("UTF-8");
        for (pairs, expected) in [
            (&[("HF_HOME", home)][..], Some("hf_file")),
            (&[("HF_HOME", home), ("HF_TOKEN", "hf_var")], Some("hf_var")),
            (
                &[("HOME", "/none"), ("HF_TOKEN_PATH", path)],
                Some("hf_file"),
            ),
            (&[("HOME", "/none")], None),
            (
                &[
                    ("HF_HOME", home),
                    ("HF_TOKEN", "hf_var"),
                    ("HF_HUB_DISABLE_IMPLICIT_TOKEN", "1"),
                ],
                None,
            ),
        ] {
            let found = settings(pairs).expect("valid").token;
            assert_eq!(found.as_ref().map(Token::expose), expected, "{pairs:?}");
        }
    }
}
