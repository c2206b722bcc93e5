//! [`Route`]: which API a request is for. The path alone decides, never the body: routers give
//! members of one API in bodies of another.

use serde::{Deserialize, Serialize};

use crate::record::Purpose;

/// An API.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WireFormat {
    /// `POST /v1/chat/completions`
    OpenaiChat,
    /// `POST /v1/responses`
    OpenaiResponses,
    /// `POST /v1/completions`
    OpenaiCompletions,
    /// `POST /v1/embeddings`
    OpenaiEmbeddings,
    /// `GET /v1/models`
    OpenaiModels,
    /// `POST /v1/messages`
    AnthropicMessages,
    /// `POST /v1beta/models/MODEL:generateContent` and its like
    Gemini,
    /// Anything else: relayed and counted.
    Unknown,
}

/// What a path says about a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    /// The API.
    pub format: WireFormat,
    /// What the call is for.
    pub purpose: Purpose,
    /// The model, where the path has it.
    pub model: Option<String>,
    /// Whether the path asks for a stream; where it does not, the body may.
    pub streams: bool,
}

impl Route {
    /// Of a method and a path without the prefix of an arm.
    pub fn of(method: &str, path: &str) -> Self {
        // What nearly all calls ask for need not be taken apart.
        let mut route = match path.ends_with("/chat/completions") && !path.contains(['?', '#']) {
            true => route(WireFormat::OpenaiChat, Purpose::Generation),
            false => by_parts(path),
        };
        route.purpose = match method {
            "CONNECT" => Purpose::TlsAttempt,
            "HEAD" | "OPTIONS" | "GET" => Purpose::Probe,
            _ => route.purpose,
        };
        if method != "POST" && route.format != WireFormat::OpenaiModels {
            route.format = WireFormat::Unknown;
        }
        route
    }
}

fn by_parts(path: &str) -> Route {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let path = path.trim_end_matches('/');
    gemini(path).unwrap_or_else(|| by_end(path))
}

fn route(format: WireFormat, purpose: Purpose) -> Route {
    Route {
        format,
        purpose,
        model: None,
        streams: false,
    }
}

/// By how the path ends: base addresses differ in what comes before.
fn by_end(path: &str) -> Route {
    let mut parts = path.rsplit('/').filter(|part| !part.is_empty());
    let mut next = || parts.next().unwrap_or_default();
    let (last, before) = (next(), next());
    match [before, last] {
        ["chat", "completions"] => route(WireFormat::OpenaiChat, Purpose::Generation),
        [_, "completions"] => route(WireFormat::OpenaiCompletions, Purpose::Generation),
        [_, "responses"] => route(WireFormat::OpenaiResponses, Purpose::Generation),
        [_, "embeddings"] => route(WireFormat::OpenaiEmbeddings, Purpose::Auxiliary),
        [_, "rerank"] => route(WireFormat::Unknown, Purpose::Auxiliary),
        ["messages", "count_tokens"] => route(WireFormat::Unknown, Purpose::Probe),
        [_, "messages"] => route(WireFormat::AnthropicMessages, Purpose::Generation),
        [_, "models"] => route(WireFormat::OpenaiModels, Purpose::Probe),
        ["models", model] => Route {
            model: Some(model.to_owned()),
            ..route(WireFormat::OpenaiModels, Purpose::Probe)
        },
        _ => route(WireFormat::Unknown, Purpose::Opaque),
    }
}

/// `…/models/MODEL:ACTION`.
fn gemini(path: &str) -> Option<Route> {
    let (rest, action) = path.rsplit_once(':')?;
    let (before, model) = rest.rsplit_once('/')?;
    if !before.ends_with("models") {
        return None;
    }
    let (format, purpose) = match action {
        "generateContent" | "streamGenerateContent" => (WireFormat::Gemini, Purpose::Generation),
        "embedContent" | "batchEmbedContents" => (WireFormat::Unknown, Purpose::Auxiliary),
        "countTokens" => (WireFormat::Unknown, Purpose::Probe),
        _ => (WireFormat::Unknown, Purpose::Opaque),
    };
    Some(Route {
        model: Some(model.to_owned()),
        streams: action == "streamGenerateContent",
        ..route(format, purpose)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_tell_the_api() {
        use Purpose::{Auxiliary, Generation, Opaque, Probe, TlsAttempt};
        use WireFormat::*;
        for (method, path, format, purpose) in [
            ("POST", "/v1/chat/completions", OpenaiChat, Generation),
            (
                "POST",
                "/openai/deployments/x/chat/completions/?v=1",
                OpenaiChat,
                Generation,
            ),
            ("POST", "/v1/completions", OpenaiCompletions, Generation),
            ("POST", "/v1/responses", OpenaiResponses, Generation),
            ("GET", "/v1/responses/resp_1", Unknown, Probe),
            ("POST", "/v1/embeddings", OpenaiEmbeddings, Auxiliary),
            ("POST", "/v1/rerank", Unknown, Auxiliary),
            ("GET", "/v1/models", OpenaiModels, Probe),
            ("GET", "/v1/models/gpt", OpenaiModels, Probe),
            ("POST", "/v1/messages", AnthropicMessages, Generation),
            ("POST", "/v1/messages/count_tokens", Unknown, Probe),
            ("HEAD", "/", Unknown, Probe),
            ("OPTIONS", "/v1/chat/completions", Unknown, Probe),
            ("POST", "/v1/audio/speech", Unknown, Opaque),
            (
                "POST",
                "/v1beta/models/g-2:streamGenerateContent?alt=sse",
                Gemini,
                Generation,
            ),
            ("POST", "/v1beta/models/g-2:countTokens", Unknown, Probe),
            ("CONNECT", "api.openai.com:443", Unknown, TlsAttempt),
        ] {
            let route = Route::of(method, path);
            assert_eq!(
                (route.format, route.purpose),
                (format, purpose),
                "{method} {path}"
            );
        }
        let route = Route::of("POST", "/v1beta/models/g-2:streamGenerateContent");
        assert_eq!((route.model.as_deref(), route.streams), (Some("g-2"), true));
        assert_eq!(
            Route::of("GET", "/v1/models/gpt").model.as_deref(),
            Some("gpt")
        );
    }
}
