//! `Rule`: by which rule a dataset is scored, where that is from, and what is known of it.

/// The rule of a benchmark's authors, and how ours stands to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The rule in a few words.
    pub name: String,
    /// Who wrote it, where.
    pub source: String,
    /// How it is known.
    pub basis: Basis,
    /// What it was checked against, if anything.
    pub verified: Option<String>,
    /// How our main score stands to it.
    pub ours: Standing,
    /// Why ours differs, or why there is none.
    pub why: Option<String>,
    /// How to get the official score where ours differs.
    pub official: Option<String>,
}

/// How a rule is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
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
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// It is the official one.
    Same,
    /// It differs on purpose.
    Differs,
    /// There is nothing to compare with.
    None,
}

impl Basis {
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
    /// All of them, with their names in dataset files.
    pub(super) const NAMED: [(&'static str, Self); 3] = [
        ("same", Self::Same),
        ("differs", Self::Differs),
        ("none", Self::None),
    ];
}
