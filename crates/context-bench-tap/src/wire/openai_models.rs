//! `GET /v1/models` and `GET /v1/models/MODEL`.

use serde_json::Value;

use super::field::{list, text};
use super::reply::WireReply;

pub(super) fn reply(value: &Value, reply: &mut WireReply) {
    reply.error_member(value);
    let listed = list(value, "data")
        .iter()
        .filter_map(|model| text(model, "id"));
    reply.models = listed.collect();
    if reply.models.is_empty() {
        reply.models.extend(text(value, "id"));
    }
}

#[cfg(test)]
mod tests {
    use crate::wire::{ReplyReader, WireFormat};

    #[test]
    fn models_are_listed() {
        for (body, expected) in [
            (r#"{"data":[{"id":"a"},{"id":"b"},{}]}"#, vec!["a", "b"]),
            (r#"{"id":"a","object":"model"}"#, vec!["a"]),
            (r#"{"error":{"message":"no"}}"#, vec![]),
        ] {
            let mut reader = ReplyReader::new(WireFormat::OpenaiModels, None);
            reader.whole(body.as_bytes());
            assert_eq!(reader.finish().models, expected, "{body}");
        }
    }
}
