//! How an example asks for its answer to be generated: stops, length, temperature.
//!
//! Tasks put their settings into the example, so that they are part of what a stored
//! answer is found by. Here they become members of a request; nothing is sent.

use crate::model::generation::{max_tokens, stops, temperature};
use serde_json::{Map, Value, json};

use crate::chat::{Api, Endpoint};
use crate::text::stringify;

/// The field of an example that holds the settings.
pub(crate) const FIELD: &str = "generation_kwargs";

/// How many stops a chat endpoint takes; answers are cut at the others later.
const CHAT_STOPS: usize = 4;

/// Settings that are said with other words in a request.
const OURS: &[&str] = &[
    "until",
    "do_sample",
    "temperature",
    "max_gen_toks",
    "max_new_tokens",
    "max_tokens",
    "max_completion_tokens",
    "think_end_token",
];

/// Where an answer ends.
pub(crate) fn until(settings: &Map<String, Value>) -> Vec<String> {
    match settings.get("until") {
        Some(Value::String(one)) => stops(std::slice::from_ref(one), None),
        Some(Value::Array(list)) => {
            let texts = list.iter().filter_map(Value::as_str).map(str::to_owned);
            stops(&texts.collect::<Vec<_>>(), None)
        }
        _ => Vec::new(),
    }
}

/// The members of a request that these settings ask for, in the words of chat completions.
pub(crate) fn members(
    settings: &Map<String, Value>,
    endpoint: &Endpoint,
    model: &str,
) -> Map<String, Value> {
    let mut body = Map::new();
    let is_openai = endpoint.is_chat() && endpoint.authority().ends_with("api.openai.com");
    let reasons = is_openai && thinks(model);
    if let Some(most) = max_tokens(settings) {
        let name = if is_openai {
            "max_completion_tokens"
        } else {
            "max_tokens"
        };
        body.insert(name.into(), json!(most));
    }
    // Models that think refuse any other temperature, and stops.
    let heat = if reasons { 1.0 } else { temperature(settings) };
    body.insert("temperature".into(), json!(heat));
    let mut stops = until(settings);
    if endpoint.is_chat() && endpoint.api() == Api::Openai {
        stops.truncate(CHAT_STOPS);
    }
    if !stops.is_empty() && !reasons {
        body.insert("stop".into(), json!(stops));
    }
    let rest = settings
        .iter()
        .filter(|(key, _)| !OURS.contains(&key.as_str()));
    body.extend(rest.map(|(key, value)| (key.clone(), value.clone())));
    body
}

/// Whether a model of OpenAI thinks before it answers, by its name.
fn thinks(model: &str) -> bool {
    ["o1", "o3", "o4", "gpt-5"]
        .iter()
        .any(|family| model.starts_with(family))
}

/// Messages as the text that an endpoint without messages continues.
pub(crate) fn prompt(messages: &[Value]) -> String {
    let texts: Vec<_> = messages
        .iter()
        .filter_map(|message| message.get("content"))
        .filter(|content| !content.is_null())
        .map(|content| stringify::python_str(content).into_owned())
        .filter(|text| !text.is_empty())
        .collect();
    texts.join("\n\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(settings: &Value, url: &str, model: &str) -> Value {
        let endpoint = Endpoint::parse(url).expect("valid");
        Value::Object(members(
            settings.as_object().expect("a map"),
            &endpoint,
            model,
        ))
    }

    #[test]
    fn settings_become_members() {
        let settings = json!({
            "until": ["\n", "", "a", "b", "c", "d"], "do_sample": false, "temperature": 0.7,
            "max_gen_toks": 32, "top_p": 0.9, "think_end_token": "</think>",
        });
        assert_eq!(
            asked(&settings, "http://h", "m"),
            json!({"max_tokens": 32, "temperature": 0.0, "stop": ["\n", "a", "b", "c"], "top_p": 0.9})
        );
        assert_eq!(
            asked(&settings, "http://h/v1/completions", "m")["stop"],
            json!(["\n", "a", "b", "c", "d"])
        );
        assert_eq!(
            asked(&settings, "https://api.openai.com/v1", "o3-mini"),
            json!({"max_completion_tokens": 32, "temperature": 1.0, "top_p": 0.9})
        );
        assert_eq!(
            asked(&json!({"until": "x", "temperature": 0.5}), "http://h", "m"),
            json!({"temperature": 0.5, "stop": ["x"]})
        );
    }

    #[test]
    fn messages_are_one_text_where_there_are_none() {
        let messages = [
            json!({"role": "system", "content": ""}),
            json!({"role": "user", "content": "Q"}),
        ];
        assert_eq!(prompt(&messages), "Q");
    }
}
