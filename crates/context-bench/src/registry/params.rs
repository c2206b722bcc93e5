//! Parameters written in one word: `truncate:keep=head,ratio=0.5`.
//!
//! A factory takes what it knows and then calls `finish`, so an unknown or
//! misspelt key is an error and never a silent default.

use std::str::FromStr;

use context_bench_error::suggest;
use indexmap::IndexMap;

use crate::error::Hint;

/// A system as typed: `[label=]name[:key=value,…]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SystemRef {
    /// What reports call it: the label, else the whole reference as typed.
    pub label: String,
    /// The name to look up.
    pub name: String,
    /// Its parameters.
    pub params: Params,
}

/// A label before the name apart from the rest: `LABEL=NAME:key=value`. Without one, all of it
/// is both.
pub(crate) fn split_label(typed: &str) -> (&str, &str) {
    let colon = typed.find(':').unwrap_or(typed.len());
    let (label, reference) = match typed.find('=') {
        Some(equals) if equals < colon => (&typed[..equals], &typed[equals + 1..]),
        _ => (typed, typed),
    };
    (label.trim(), reference.trim())
}

impl FromStr for SystemRef {
    type Err = ParamError;

    fn from_str(typed: &str) -> Result<Self, ParamError> {
        let (label, reference) = split_label(typed);
        let (name, params) = reference.split_once(':').unwrap_or((reference, ""));
        Ok(Self {
            label: label.to_owned(),
            name: name.trim().to_owned(),
            params: Params::parse(name, params)?,
        })
    }
}

/// Named parameters of one thing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Params {
    of: String,
    values: IndexMap<String, String>,
    asked: Vec<&'static str>,
}

impl Params {
    /// No parameters.
    pub fn none(of: impl Into<String>) -> Self {
        Self {
            of: of.into(),
            ..Self::default()
        }
    }

    /// Reads `key=value,key=value`.
    ///
    /// # Errors
    ///
    /// When a part has no `=` or a key comes twice.
    pub fn parse(of: &str, text: &str) -> Result<Self, ParamError> {
        let mut params = Self::none(of);
        for part in text.split(',').filter(|part| !part.trim().is_empty()) {
            let (key, value) = part.split_once('=').ok_or_else(|| ParamError::NoValue {
                of: of.to_owned(),
                part: part.trim().to_owned(),
            })?;
            params.set(key.trim(), value.trim())?;
        }
        Ok(params)
    }

    /// Sets a parameter.
    ///
    /// # Errors
    ///
    /// When it is set already.
    pub fn set(&mut self, key: &str, value: &str) -> Result<(), ParamError> {
        match self.values.insert(key.to_owned(), value.to_owned()) {
            None => Ok(()),
            Some(_) => Err(ParamError::Twice {
                of: self.of.clone(),
                key: key.to_owned(),
            }),
        }
    }

    /// Takes a parameter as text.
    pub fn take(&mut self, key: &'static str) -> Option<String> {
        self.asked.push(key);
        self.values.shift_remove(key)
    }

    /// Takes a parameter and reads it; `expected` says in the error what it should have been.
    ///
    /// # Errors
    ///
    /// When the text cannot be read.
    pub fn take_parsed<T: FromStr>(
        &mut self,
        key: &'static str,
        expected: &'static str,
    ) -> Result<Option<T>, ParamError> {
        let Some(text) = self.take(key) else {
            return Ok(None);
        };
        match text.parse() {
            Ok(value) => Ok(Some(value)),
            Err(_) => Err(ParamError::BadValue {
                of: self.of.clone(),
                key,
                value: text,
                expected,
            }),
        }
    }

    /// Checks that every parameter was taken.
    ///
    /// # Errors
    ///
    /// When a parameter is left over that is not known.
    pub fn finish(self) -> Result<(), ParamError> {
        match self.values.into_iter().next() {
            None => Ok(()),
            Some((key, _)) => Err(ParamError::Unknown {
                of: self.of,
                key,
                known: self.asked,
            }),
        }
    }
}

/// What is wrong with a parameter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ParamError {
    /// A part is not `key=value`.
    #[error("`{part}` in the parameters of `{of}` has no value")]
    NoValue {
        /// Whose parameters.
        of: String,
        /// The part as typed.
        part: String,
    },
    /// A key comes twice.
    #[error("parameter `{key}` of `{of}` is given twice")]
    Twice {
        /// Whose parameter.
        of: String,
        /// The key.
        key: String,
    },
    /// A value cannot be read.
    #[error("parameter `{key}` of `{of}` must be {expected}, found `{value}`")]
    BadValue {
        /// Whose parameter.
        of: String,
        /// The key.
        key: &'static str,
        /// The value as typed.
        value: String,
        /// What it should be.
        expected: &'static str,
    },
    /// No parameter has that key.
    #[error("`{of}` has no parameter `{key}`")]
    Unknown {
        /// Whose parameter.
        of: String,
        /// The key as typed.
        key: String,
        /// The keys that exist.
        known: Vec<&'static str>,
    },
}

impl Hint for ParamError {
    fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NoValue { of, part } => format!("write `{of}:{part}=VALUE`"),
            Self::Twice { .. } | Self::BadValue { .. } => return None,
            Self::Unknown { of, known, .. } if known.is_empty() => {
                format!("`{of}` takes no parameters")
            }
            Self::Unknown { of, key, known } => suggest::did_you_mean(key, known.iter().copied())
                .unwrap_or_else(|| format!("`{of}` knows {}", suggest::quoted_list(known, "and"))),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reference(typed: &str) -> SystemRef {
        typed.parse().expect("valid")
    }

    #[test]
    fn a_label_comes_before_the_first_colon() {
        for (typed, label, name) in [
            ("dedup", "dedup", "dedup"),
            ("truncate:ratio=0.5", "truncate:ratio=0.5", "truncate"),
            ("half=truncate:ratio=0.5", "half", "truncate"),
            ("plain=passthrough", "plain", "passthrough"),
        ] {
            let parsed = reference(typed);
            assert_eq!((&*parsed.label, &*parsed.name), (label, name), "{typed}");
        }
    }

    #[test]
    fn every_parameter_must_be_known_and_readable() {
        let mut params = reference("truncate:keep=head, ratio=0.5").params;
        assert_eq!(params.take("keep").as_deref(), Some("head"));
        assert_eq!(params.take_parsed("ratio", "a number"), Ok(Some(0.5)));
        assert_eq!(params.finish(), Ok(()));

        let mut params = reference("truncate:ratoi=0.5").params;
        assert_eq!(params.take_parsed::<f64>("ratio", "a number"), Ok(None));
        let error = params.finish().expect_err("unknown");
        assert_eq!(error.to_string(), "`truncate` has no parameter `ratoi`");
        assert_eq!(error.hint().as_deref(), Some("did you mean `ratio`?"));

        let mut params = reference("truncate:ratio=half").params;
        let error = params
            .take_parsed::<f64>("ratio", "a number")
            .expect_err("bad");
        let text = "parameter `ratio` of `truncate` must be a number, found `half`";
        assert_eq!(error.to_string(), text);

        assert!("truncate:ratio".parse::<SystemRef>().is_err());
        assert!("truncate:a=1,a=2".parse::<SystemRef>().is_err());
    }
}
