//! [`ArmSpec`]: which arms of a proxy are measured.

use std::str::FromStr;

use context_bench_error::suggest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::Hint;
use crate::tap::ArmRole;

/// An arm of a run with a tap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
#[serde(rename_all = "lowercase")]
pub enum ArmSpec {
    /// Without a proxy.
    Direct,
    /// A proxy that is to change nothing.
    Passthrough,
    /// A proxy that does what it is for.
    Transform,
}

impl ArmSpec {
    /// All of them, in the order in which a run has them.
    pub const ALL: [Self; 3] = [Self::Direct, Self::Passthrough, Self::Transform];

    /// Its name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Direct => "direct",
            Self::Passthrough => "passthrough",
            Self::Transform => "transform",
        }
    }

    /// What the arm is for.
    pub fn role(self) -> ArmRole {
        match self {
            Self::Direct => ArmRole::Direct,
            Self::Passthrough => ArmRole::PassThrough,
            Self::Transform => ArmRole::Transform,
        }
    }
}

/// A word that names no arm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no arm `{0}`")]
pub struct UnknownArm(String);

impl Hint for UnknownArm {
    fn hint(&self) -> Option<String> {
        let names = ArmSpec::ALL.map(ArmSpec::as_str);
        let near = suggest::did_you_mean(&self.0, names);
        let all = || format!("the arms are {}", suggest::quoted_list(&names, "and"));
        Some(near.unwrap_or_else(all))
    }
}

impl FromStr for ArmSpec {
    type Err = UnknownArm;

    fn from_str(text: &str) -> Result<Self, UnknownArm> {
        let found = Self::ALL.into_iter().find(|arm| arm.as_str() == text);
        found.ok_or_else(|| UnknownArm(text.to_owned()))
    }
}
