//! What `{…}` stands for in the texts of a profile.

use super::ProxyProfile;

/// All names that texts of profiles may hold in braces.
pub(super) const NAMES: [&str; 9] = [
    "port",
    "tap",
    "tap_origin",
    "tap_path",
    "openai",
    "anthropic",
    "gemini",
    "folder",
    "key",
];

/// Those that lead to the tap.
pub(super) const TO_THE_TAP: [&str; 6] = [
    "tap",
    "tap_origin",
    "tap_path",
    "openai",
    "anthropic",
    "gemini",
];

/// What one process is given.
#[derive(Debug, Clone)]
pub(super) struct Values(Vec<(&'static str, String)>);

impl Values {
    /// The values for a process: where it listens, where the tap is, and what is its own.
    pub(super) fn new(
        profile: &ProxyProfile,
        port: u16,
        tap: &str,
        folder: &str,
        key: &str,
    ) -> Self {
        let tap = tap.trim_end_matches('/');
        let path_at = tap
            .find("://")
            .and_then(|at| tap[at + 3..].find('/').map(|slash| at + 3 + slash));
        let (origin, path) = tap.split_at(path_at.unwrap_or(tap.len()));
        let mut values = Self(vec![
            ("port", port.to_string()),
            ("tap", tap.to_owned()),
            ("tap_origin", origin.to_owned()),
            ("tap_path", path.to_owned()),
            ("folder", folder.to_owned()),
            ("key", key.to_owned()),
        ]);
        let upstream = &profile.upstream;
        let apis = [
            ("openai", &upstream.openai),
            ("anthropic", &upstream.anthropic),
            ("gemini", &upstream.gemini),
        ];
        for (name, template) in apis {
            let address = values.fill(template.as_deref().unwrap_or("{tap}"));
            values.0.push((name, address));
        }
        values
    }

    /// The text with its values; braces around anything else stay.
    pub(super) fn fill(&self, text: &str) -> String {
        let mut out = String::with_capacity(text.len());
        let mut rest = text;
        while let Some((before, name, after)) = next(rest) {
            out += before;
            match self.0.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => out += value,
                None => {
                    out.push('{');
                    out += name;
                    out.push('}');
                }
            }
            rest = after;
        }
        out + rest
    }
}

/// The names in braces of a text.
pub(super) fn names(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text;
    while let Some((_, name, after)) = next(rest) {
        found.push(name);
        rest = after;
    }
    found
}

/// The next word in braces, with what is before and after it.
fn next(text: &str) -> Option<(&str, &str, &str)> {
    let mut from = 0;
    loop {
        let open = from + text[from..].find('{')?;
        let inside = &text[open + 1..];
        let length = inside
            .find(|c: char| !(c.is_ascii_lowercase() || c == '_'))
            .unwrap_or(inside.len());
        if length > 0 && inside[length..].starts_with('}') {
            let (before, after) = (&text[..open], &inside[length + 1..]);
            return Some((before, &inside[..length], after));
        }
        from = open + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proxy::Upstreams;

    #[test]
    fn words_in_braces_are_filled_in_and_other_braces_stay() {
        let profile = ProxyProfile {
            upstream: Upstreams {
                openai: Some("{tap}/v1".into()),
                ..Upstreams::default()
            },
            ..ProxyProfile::default()
        };
        let tap = "http://127.0.0.1:9/a/kompact";
        let values = Values::new(&profile, 80, tap, "/tmp/a b", "sk-1");
        for (text, expected) in [
            ("--port={port}", "--port=80"),
            (
                "{openai} {anthropic}",
                "http://127.0.0.1:9/a/kompact/v1 http://127.0.0.1:9/a/kompact",
            ),
            ("{tap_origin}|{tap_path}", "http://127.0.0.1:9|/a/kompact"),
            ("{\"a\": {port}}", "{\"a\": 80}"),
            ("{{port}}", "{80}"),
            ("{none} { port } {", "{none} { port } {"),
            ("{folder}/é", "/tmp/a b/é"),
            ("", ""),
        ] {
            assert_eq!(values.fill(text), expected, "{text}");
        }
        assert_eq!(names("{a}{\"b\"}{c_d} {E}"), ["a", "c_d"]);
        let bare = Values::new(&profile, 1, "http://h:2/", "", "");
        assert_eq!(bare.fill("{tap}{tap_path}"), "http://h:2");
    }
}
