//! `JudgeTemplate`: the text of a judge's prompt with places for what is judged.
//!
//! A place is a name in braces. Other braces are plain text, so a template may
//! show JSON. Inserted texts are never read as templates.

use context_bench_error::suggest;

use crate::error::Hint;

/// What can be inserted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Place {
    Question,
    Context,
    Reference,
    Response,
    Rubric,
    Scale,
    Min,
    Max,
    Output1,
    Output2,
}

/// Names of places; `{answer}` and `{reference}` are one.
const PLACES: &[(&str, Place)] = &[
    ("question", Place::Question),
    ("context", Place::Context),
    ("answer", Place::Reference),
    ("reference", Place::Reference),
    ("response", Place::Response),
    ("rubric", Place::Rubric),
    ("scale", Place::Scale),
    ("min", Place::Min),
    ("max", Place::Max),
    ("output_1", Place::Output1),
    ("output_2", Place::Output2),
];

/// A prompt with places in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JudgeTemplate {
    text: String,
    pieces: Vec<Piece>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    Text(String),
    Place(Place),
}

impl JudgeTemplate {
    /// Reads a template.
    ///
    /// # Errors
    ///
    /// When a name in braces is not known.
    pub fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            plain.push_str(&rest[..open]);
            let inside = &rest[open + 1..];
            let end = inside.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            let name = &inside[..end.unwrap_or(inside.len())];
            let closes = inside[name.len()..].starts_with('}');
            let starts = name.starts_with(|c: char| c.is_ascii_alphabetic());
            if !(closes && starts) {
                plain.push('{');
                rest = inside;
                continue;
            }
            let after = &inside[name.len() + 1..];
            if plain.ends_with('{') && after.starts_with('}') {
                return Err(TemplateError::Doubled(name.to_owned()));
            }
            let known = PLACES.iter().find(|(known, _)| *known == name);
            let (_, place) = known.ok_or_else(|| TemplateError::Unknown(name.to_owned()))?;
            if !plain.is_empty() {
                pieces.push(Piece::Text(std::mem::take(&mut plain)));
            }
            pieces.push(Piece::Place(*place));
            rest = after;
        }
        plain.push_str(rest);
        if !plain.is_empty() {
            pieces.push(Piece::Text(plain));
        }
        Ok(Self {
            text: text.to_owned(),
            pieces,
        })
    }

    /// The template as written.
    pub fn text(&self) -> &str {
        &self.text
    }

    pub(super) fn has(&self, place: Place) -> bool {
        self.pieces.contains(&Piece::Place(place))
    }

    /// Fills the places.
    pub(super) fn render<'a>(&self, value: impl Fn(Place) -> std::borrow::Cow<'a, str>) -> String {
        let mut text = String::with_capacity(self.text.len());
        for piece in &self.pieces {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Place(place) => text.push_str(&value(*place)),
            }
        }
        text
    }
}

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// A name in braces that is not a placeholder.
    #[error("the judge's template has an unknown placeholder `{{{0}}}`")]
    Unknown(String),
    /// Two braces where one does it.
    #[error("the judge's template has `{{{{{0}}}}}` in double braces")]
    Doubled(String),
    /// A place that the judge cannot do without.
    #[error("the judge's template has no `{{{0}}}`, so the judge would have nothing to judge")]
    Missing(&'static str),
    /// A place for something that is switched off or not given.
    #[error("the judge's template has `{{{0}}}`, but {1}")]
    Unfilled(&'static str, &'static str),
    /// Something is given that the template does not show to the judge.
    #[error("a {0} is given, but the judge's template has no `{{{0}}}`")]
    Unused(&'static str),
}

impl Hint for TemplateError {
    fn hint(&self) -> Option<String> {
        let names: Vec<&str> = PLACES.iter().map(|(name, _)| *name).collect();
        Some(match self {
            Self::Unknown(name) => suggest::did_you_mean(name, names.iter().copied())
                .unwrap_or_else(|| {
                    format!("placeholders are {}", suggest::quoted_list(&names, "and"))
                }),
            Self::Doubled(name) => format!("write `{{{name}}}`"),
            Self::Missing(name) | Self::Unused(name) => {
                format!("put `{{{name}}}` where the judge should see it")
            }
            Self::Unfilled(name, _) => format!("remove `{{{name}}}` from the template"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_in_braces_are_places() {
        let template = JudgeTemplate::parse("Q {question}, reply {\"score\": {x y}} {");
        let template = template.expect("valid");
        let text = template.render(|_| "{response}".into());
        assert_eq!(text, "Q {response}, reply {\"score\": {x y}} {");
        assert!(template.has(Place::Question) && !template.has(Place::Response));
    }

    #[test]
    fn unknown_places_are_errors_with_a_suggestion() {
        for (text, hint) in [
            ("{respnse}", "did you mean `response`?"),
            ("{Question}", "did you mean `question`?"),
            ("{{question}}", "write `{question}`"),
        ] {
            let error = JudgeTemplate::parse(text).expect_err(text);
            assert_eq!(error.hint().as_deref(), Some(hint), "{text}");
        }
        let error = JudgeTemplate::parse("{zzz}").expect_err("unknown");
        assert!(error.to_string().ends_with("unknown placeholder `{zzz}`"));
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.starts_with("placeholders are"))
        );
    }
}
