//! `PromptStyle`: whether models are asked as the authors of a benchmark ask them.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::error::Hint;

/// How models are asked about the examples of datasets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PromptStyle {
    /// As the file of the dataset says that its authors ask, where it says so.
    Official,
    /// Context and question alone, as the layout of the endpoint has them.
    Plain,
}

impl PromptStyle {
    /// Both of them, the usual one first.
    pub const ALL: [Self; 2] = [Self::Official, Self::Plain];

    /// The name, as users write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Official => "official",
            Self::Plain => "plain",
        }
    }
}

impl JsonSchema for PromptStyle {
    fn schema_name() -> Cow<'static, str> {
        "PromptStyle".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let names = Self::ALL.map(|one| json!({"const": one.as_str()}));
        json_schema!({"anyOf": names})
    }
}

impl fmt::Display for PromptStyle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// No prompt style has that name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no prompt `{0}`: expected official or plain")]
pub struct UnknownPromptStyle(String);

impl Hint for UnknownPromptStyle {
    fn hint(&self) -> Option<String> {
        Some(
            "`official` asks as the authors of a dataset do, `plain` sends context and question \
             alone"
                .into(),
        )
    }
}

impl FromStr for PromptStyle {
    type Err = UnknownPromptStyle;

    fn from_str(text: &str) -> Result<Self, UnknownPromptStyle> {
        let named = Self::ALL.into_iter().find(|one| one.as_str() == text);
        named.ok_or_else(|| UnknownPromptStyle(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn styles_are_read_by_name() {
        for style in PromptStyle::ALL {
            assert_eq!(style.to_string().parse(), Ok(style));
            assert_eq!(json!(style), json!(style.as_str()));
        }
        assert!("offical".parse::<PromptStyle>().is_err());
    }
}
