//! The named faults that `handlers::flaky` and `mock-endpoint` throw.
//!
//! A fault is a name for one reply; it draws no dice itself.

use std::str::FromStr;

use crate::reply::Reply;

/// One kind of failure of an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Status 400.
    BadRequest,
    /// Status 401.
    Unauthorized,
    /// Status 429.
    RateLimited {
        /// The seconds `Retry-After` asks for; no such header if `None`.
        retry_after: Option<u64>,
    },
    /// Any other status, meant for 500 and above.
    ServerError(u16),
    /// A TCP reset after the request.
    Reset,
    /// A clean close without a reply.
    Close,
    /// A body that ends before its length.
    Truncated,
    /// No reply, ever.
    Hang,
    /// Status 200 and a body that is not JSON.
    InvalidJson,
    /// Status 200 and a completion without choices.
    EmptyChoices,
}

impl Fault {
    /// The reply that shows this fault.
    pub fn reply(self) -> Reply {
        match self {
            Self::BadRequest => Reply::status(400).message("mock fault: bad request"),
            Self::Unauthorized => Reply::status(401).message("mock fault: unauthorized"),
            Self::RateLimited { retry_after } => {
                let reply = Reply::status(429).message("mock fault: rate limited");
                match retry_after {
                    Some(seconds) => reply.retry_after_seconds(seconds),
                    None => reply,
                }
            }
            Self::ServerError(code) => Reply::status(code).message("mock fault: server error"),
            Self::Reset => Reply::reset(),
            Self::Close => Reply::close(),
            Self::Truncated => Reply::truncated("mock fault: this text is cut half-way"),
            Self::Hang => Reply::hang(),
            Self::InvalidJson => Reply::invalid_json(),
            Self::EmptyChoices => Reply::empty_choices(),
        }
    }
}

/// From the names `mock-endpoint --fault-kinds` takes: a status such as `429` or
/// `500`, `429:2` for a `Retry-After` of two seconds, `reset`, `close`,
/// `truncated`, `hang`, `invalid-json`, `empty-choices`.
impl FromStr for Fault {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        let unknown = || format!("unknown fault kind '{name}'");
        Ok(match name {
            "400" => Self::BadRequest,
            "401" => Self::Unauthorized,
            "429" => Self::RateLimited { retry_after: None },
            "reset" => Self::Reset,
            "close" => Self::Close,
            "truncated" => Self::Truncated,
            "hang" => Self::Hang,
            "invalid-json" => Self::InvalidJson,
            "empty-choices" => Self::EmptyChoices,
            _ => match name.strip_prefix("429:") {
                Some(seconds) => Self::RateLimited {
                    retry_after: Some(seconds.parse().map_err(|_| unknown())?),
                },
                None => match name.parse() {
                    Ok(code @ 400..=599) => Self::ServerError(code),
                    _ => return Err(unknown()),
                },
            },
        })
    }
}
