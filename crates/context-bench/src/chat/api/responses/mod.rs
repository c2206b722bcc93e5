//! OpenAI's Responses: `POST /v1/responses`.

mod reply;
mod request;
mod stream;

pub(super) use reply::parse;
pub(super) use request::body;
pub(super) use stream::StreamedReply;
