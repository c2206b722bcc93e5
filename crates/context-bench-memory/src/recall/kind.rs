//! `MemoryKind`: the memories that come with the library, by name.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A kind of memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum MemoryKind {
    /// The whole history; with a budget, the most recent part that fits.
    Naive,
    /// The last turns.
    Window,
    /// The turns that share telling words with the question (BM25).
    Bm25,
    /// The turns that share words with the question, by TF-IDF over plain words: what the
    /// original's `zep` falls back to without a graph database.
    Keyword,
    /// The turns whose vectors are nearest to that of the question.
    Embedding,
    /// The ranks of `bm25` and `embedding` fused, each with what stands around a turn.
    Hybrid,
    /// The turns that the data marks as evidence: what perfect retrieval would give.
    Oracle,
    /// Nothing: what answers are worth without a memory.
    None,
}

impl MemoryKind {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Naive,
        Self::Window,
        Self::Bm25,
        Self::Keyword,
        Self::Embedding,
        Self::Hybrid,
        Self::Oracle,
        Self::None,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Naive => "naive",
            Self::Window => "window",
            Self::Bm25 => "bm25",
            Self::Keyword => "keyword",
            Self::Embedding => "embedding",
            Self::Hybrid => "hybrid",
            Self::Oracle => "oracle",
            Self::None => "none",
        }
    }

    /// What it recalls, and its parameters with their defaults.
    pub fn about(self) -> &'static str {
        match self {
            Self::Naive => "the whole history; budget_tokens",
            Self::Window => "the last turns; turns=20, budget_tokens",
            Self::Bm25 => {
                "turns that share telling words with the question; top_k=10, neighbor_weight=0, \
                 budget_tokens"
            }
            Self::Keyword => "turns that share words, by TF-IDF; top_k=10, budget_tokens",
            Self::Embedding => {
                "turns whose vectors are nearest; top_k=10, recency_weight=0, neighbor_weight=0, \
                 budget_tokens"
            }
            Self::Hybrid => {
                "the ranks of bm25 and embedding fused; top_k=10, recency_weight=0, \
                 neighbor_weight=0.3, rrf_k=60, budget_tokens"
            }
            Self::Oracle => "the marked evidence: an upper bound; budget_tokens",
            Self::None => "nothing: a lower bound",
        }
    }

    /// The parameters that it takes.
    pub fn parameters(self) -> &'static [&'static str] {
        match self {
            Self::Naive | Self::Oracle => &["budget_tokens"],
            Self::Window => &["turns", "budget_tokens"],
            Self::Bm25 => &["top_k", "neighbor_weight", "budget_tokens"],
            Self::Keyword => &["top_k", "budget_tokens"],
            Self::Embedding => &[
                "top_k",
                "recency_weight",
                "neighbor_weight",
                "budget_tokens",
            ],
            Self::Hybrid => &[
                "top_k",
                "recency_weight",
                "neighbor_weight",
                "rrf_k",
                "budget_tokens",
            ],
            Self::None => &[],
        }
    }

    /// Whether it needs something that makes vectors of texts.
    pub fn needs_embedder(self) -> bool {
        matches!(self, Self::Embedding | Self::Hybrid)
    }

    /// Whether it is a bound that others are held against, not a memory to use.
    pub fn is_bound(self) -> bool {
        matches!(self, Self::Oracle | Self::None)
    }
}

impl fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
