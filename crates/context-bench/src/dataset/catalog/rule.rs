//! `Rule`: by which rule a dataset is scored, where that is from, and what is known of it.
//!
//! `AppliedRule` is a rule in a run, which may keep its scores from being the rule's. Every
//! page that people read spells rules with the words of this file.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The rule of a benchmark's authors, and how ours stands to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rule {
    /// The rule in a few words.
    pub name: String,
    /// Who wrote it, where.
    pub source: String,
    /// How it is known.
    pub basis: Basis,
    /// What it was checked against, if anything.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verified: Option<String>,
    /// How our main score stands to it.
    pub ours: Standing,
    /// Why ours differs, or why there is none; of a rule that is the same what else to know.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// How to get the official score where ours differs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub official: Option<String>,
}

/// How a rule is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Basis {
    /// From the authors' own code.
    Code,
    /// From published outputs with their figures.
    Published,
    /// From the paper or the authors' own words.
    Paper,
    /// From another harness.
    Secondary,
    /// There is no official rule.
    None,
}

/// How our main score stands to the official one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// It is the official one.
    Same,
    /// It differs on purpose.
    Differs,
    /// There is nothing to compare with.
    None,
}

/// What of a run keeps its scores from being those of a rule.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Deviation {
    /// The user named the evaluators.
    Evaluators,
    /// Another score stands for the dataset: the user named it, or a judge is missing.
    Score,
    /// The rule is the official one, but models were not asked as the authors ask.
    PlainPrompt,
    /// The rule is the official one, but the authors' worked examples were not at hand.
    NoShots,
}

/// A rule in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AppliedRule {
    /// The rule.
    #[serde(flatten)]
    pub rule: Rule,
    /// What keeps the scores of the run from being the rule's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deviation: Option<Deviation>,
}

impl AppliedRule {
    /// What the scores of the run are, in a few words.
    pub fn standing(&self) -> &'static str {
        match (self.deviation, self.rule.ours) {
            (Some(Deviation::Evaluators), _) => "not by this rule: the evaluators are your choice",
            (Some(Deviation::Score), _) => "not by this rule: another score stands for it",
            (Some(Deviation::PlainPrompt), Standing::Same) => {
                "official rule, plain prompt: not comparable with published figures"
            }
            (Some(Deviation::PlainPrompt), Standing::Differs) => {
                "differs from the official rule, and the prompt is plain: not comparable with \
                 published figures"
            }
            (Some(Deviation::NoShots), Standing::Same) => {
                "official rule, without the worked examples of its prompt: not comparable with \
                 published figures"
            }
            (Some(Deviation::NoShots), Standing::Differs) => {
                "differs from the official rule, and the worked examples of its prompt are \
                 lacking: not comparable with published figures"
            }
            (None, Standing::Same) => "official rule",
            (None, Standing::Differs) => "differs from the official rule on purpose",
            (_, Standing::None) => "there is no official rule; the score is ours",
        }
    }

    /// The rule on one line: its name, where it is from, and what the scores of the run are.
    pub fn line(&self) -> String {
        let Rule { name, source, .. } = &self.rule;
        let mut line = format!("{name} ({source}): {}", self.standing());
        if self.deviation.is_none() && self.rule.ours == Standing::Differs {
            let why = self.rule.why.iter();
            line.extend(why.map(|why| format!("; {why}")));
            let official = self.rule.official.iter();
            line.extend(official.map(|how| format!("; official: {how}")));
        }
        line
    }
}

impl Rule {
    /// What is known of it, one entry for each line of a page: its label and its text.
    pub fn entries(&self) -> Vec<(&'static str, String)> {
        let mut entries = vec![
            ("rule", self.name.clone()),
            (
                "source",
                format!("{} ({})", self.source, self.basis.about()),
            ),
            (
                "verified",
                self.verified.clone().unwrap_or_else(|| "no".to_owned()),
            ),
            ("ours", self.ours.about().to_owned()),
        ];
        let why = match self.ours {
            Standing::Same => "note",
            Standing::Differs | Standing::None => "why",
        };
        for (label, text) in [(why, &self.why), ("official", &self.official)] {
            entries.extend(text.clone().map(|text| (label, text)));
        }
        entries
    }
}

impl fmt::Display for Basis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(_, one)| one == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let named = Self::NAMED.iter().find(|(_, one)| one == self);
        f.write_str(named.map_or("", |(name, _)| name))
    }
}

impl Basis {
    /// How the rule is known, in words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Code => "from the authors' code",
            Self::Published => "from published outputs and figures",
            Self::Paper => "from the paper",
            Self::Secondary => "from another harness",
            Self::None => "no official rule",
        }
    }

    /// All of them, with their names in dataset files.
    pub(super) const NAMED: [(&'static str, Self); 5] = [
        ("code", Self::Code),
        ("published", Self::Published),
        ("paper", Self::Paper),
        ("secondary", Self::Secondary),
        ("none", Self::None),
    ];
}

impl Standing {
    /// A mark for lists.
    pub fn mark(self) -> &'static str {
        match self {
            Self::Same => "official",
            Self::Differs => "differs",
            Self::None => "none",
        }
    }

    /// How our headline stands to the official figure, in words.
    pub fn about(self) -> &'static str {
        match self {
            Self::Same => "the headline is the official figure",
            Self::Differs => "the headline differs from the official figure on purpose",
            Self::None => "there is no official figure to compare with",
        }
    }

    /// All of them, with their names in dataset files.
    pub(super) const NAMED: [(&'static str, Self); 3] = [
        ("same", Self::Same),
        ("differs", Self::Differs),
        ("none", Self::None),
    ];
}
