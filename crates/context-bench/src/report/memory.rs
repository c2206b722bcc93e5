//! What runs of memories show beside the summary: scores and recall by kind of question, and
//! what taking in, recalling and answering took. Terminal, Markdown and HTML show the same.

use std::collections::BTreeMap;

use indexmap::IndexSet;
use serde_json::{Map, Value};

use super::cell;
use crate::model::{Measurement, Summary};
use crate::result::EvalResult;

/// A table before it has a form: a system per row.
pub(super) struct MemoryTable {
    pub(super) title: &'static str,
    pub(super) header: Vec<String>,
    pub(super) rows: Vec<Vec<String>>,
}

impl MemoryTable {
    /// The same with systems as columns.
    pub(super) fn transposed(&self) -> Self {
        let column = |n: usize| -> Vec<String> {
            let rows = self.rows.iter().map(|row| row[n].clone());
            std::iter::once(self.header[n].clone())
                .chain(rows)
                .collect()
        };
        let mut columns = (0..self.header.len()).map(column);
        Self {
            title: self.title,
            header: columns.next().unwrap_or_default(),
            rows: columns.collect(),
        }
    }

    /// The same without errors, for where room is scarce.
    pub(super) fn without_errors(&self) -> Self {
        let bare = |text: &String| text.split(" ±").next().unwrap_or(text).to_owned();
        let rows = self.rows.iter();
        Self {
            title: self.title,
            header: self.header.clone(),
            rows: rows.map(|row| row.iter().map(bare).collect()).collect(),
        }
    }

    /// How many columns of a terminal it takes.
    pub(super) fn width(&self) -> usize {
        let width = |n: usize| {
            let cells = self.rows.iter().map(|row| &row[n]).chain([&self.header[n]]);
            cells.map(|text| text.chars().count()).max().unwrap_or(0)
        };
        let widths = (0..self.header.len()).map(|n| width(n) + 2);
        widths.sum::<usize>().saturating_sub(2)
    }
}

/// What a run of memories says about itself; `None` for other runs.
pub(super) fn settings(result: &EvalResult) -> Option<&Map<String, Value>> {
    result.provenance.get("memory")?.as_object()
}

/// A run of memories, with what its tables and lines have in common.
pub(super) struct MemoryReport<'a> {
    result: &'a EvalResult,
    settings: &'a Map<String, Value>,
    /// How many recalled turns count.
    k: u64,
    /// The score that stands for an answer.
    field: &'a str,
    /// How many questions of each kind the first system was asked.
    counts: BTreeMap<&'a str, usize>,
    /// The kinds of questions that have a mean.
    kinds: Vec<&'a str>,
}

impl<'a> MemoryReport<'a> {
    /// `None` for runs of other systems.
    pub(super) fn of(result: &'a EvalResult) -> Option<Self> {
        let settings = settings(result)?;
        let field = result.provenance.get("score_field");
        let field = field.and_then(Value::as_str).unwrap_or("f1");
        let counts = kind_counts(result);
        Some(Self {
            result,
            settings,
            k: settings.get("top_k")?.as_u64()?,
            field,
            kinds: kinds(result, field, &counts),
            counts,
        })
    }

    /// The tables beside the summary.
    pub(super) fn tables(&self) -> Vec<MemoryTable> {
        let recall = format!("recall_at_{}", self.k);
        let mut tables = Vec::new();
        if !self.kinds.is_empty() {
            let mut table = self.by_kind("Per-QA-Type Breakdown", self.field);
            table.rows.push(self.asked());
            tables.push(table);
        }
        if self.has(&format!("{recall}_mean")) {
            tables.push(self.by_kind("Recall of Marked Evidence by QA Type", &recall));
        }
        tables.extend(self.stages());
        tables
    }

    /// Whether a metric is in one of the tables, or would say nothing beside them.
    pub(super) fn shows(&self, metric: &str) -> bool {
        let (recall, ndcg) = (
            format!("recall_at_{}", self.k),
            format!("ndcg_at_{}", self.k),
        );
        let fields = [self.field, &recall, &ndcg, "mrr", "retrieval_recall"];
        let by_kind = fields.iter().any(|field| {
            let kind = metric
                .strip_prefix(field)
                .and_then(|rest| rest.strip_prefix('_'));
            kind.is_some_and(|kind| kind == "mean" || self.kinds.contains(&kind))
        });
        by_kind || OF_STAGES.contains(&metric)
    }

    /// What every score of the run rests on: data, questions, limits, judge.
    pub(super) fn basis(&self) -> String {
        let mut parts = Vec::new();
        let n_questions: usize = self.counts.values().sum();
        let conversations: IndexSet<(&str, &str)> = self
            .result
            .rows
            .iter()
            .filter_map(|row| Some((&*row.dataset, row.conversation()?)))
            .collect();
        let counted = |n: usize, what| cell::counted(i64::try_from(n).unwrap_or(i64::MAX), what);
        let kinds = self.counts.iter();
        let kinds: Vec<String> = kinds
            .map(|(kind, n)| format!("{} {n}", shown(kind)))
            .collect();
        for used in &self.result.datasets {
            let digest: String = used.sha256.chars().take(12).collect();
            parts.push(format!("{} (sha256 {digest}…)", used.name));
        }
        parts.push(format!(
            "{} about {}: {}",
            counted(n_questions, "question"),
            counted(conversations.len(), "conversation"),
            kinds.join(", ")
        ));
        let budget = self.settings.get("budget_tokens").and_then(Value::as_u64);
        let budget = match budget {
            Some(budget) => format!("at most {} tokens", cell::thousands(budget)),
            None => "no limit of tokens".to_owned(),
        };
        parts.push(format!(
            "at most {} turns recalled unless a memory says otherwise, {budget}",
            self.k
        ));
        let model = self.settings.get("embedding_model").and_then(Value::as_str);
        if let Some(model) = model {
            parts.push(format!("vectors by {}", cell::shorten(model, 40)));
        }
        parts.push(match self.settings.get("judge").and_then(Value::as_str) {
            Some(judge) => format!("judged by {}", cell::shorten(judge, 40)),
            None => "no judge".to_owned(),
        });
        parts.extend(self.unlike());
        parts.join(" · ")
    }

    fn by_kind(&self, title: &'static str, field: &str) -> MemoryTable {
        let kinds = self.kinds.iter();
        let mut header = vec!["System".to_owned()];
        header.extend(kinds.clone().map(|kind| shown(kind).to_owned()));
        header.push("all".into());
        let keys = kinds.copied().chain(["mean"]);
        let keys: Vec<String> = keys.map(|kind| format!("{field}_{kind}")).collect();
        let rows = self.result.summary.iter().map(|(system, summary)| {
            let cells = keys.iter().map(|key| cell_of(summary, key, cell::score));
            std::iter::once(cell::shorten(system, 30))
                .chain(cells)
                .collect()
        });
        MemoryTable {
            title,
            header,
            rows: rows.collect(),
        }
    }

    fn has(&self, metric: &str) -> bool {
        let mut summaries = self.result.summary.values();
        summaries.any(|summary| summary.value(metric).is_some())
    }

    /// How many questions of each kind were asked.
    fn asked(&self) -> Vec<String> {
        let count = |n: usize| cell::thousands(n as u64);
        let of_kind = |kind: &&str| count(self.counts.get(*kind).copied().unwrap_or(0));
        let mut row = vec!["questions".to_owned()];
        row.extend(self.kinds.iter().map(of_kind));
        row.push(count(self.counts.values().sum()));
        row
    }

    fn stages(&self) -> Option<MemoryTable> {
        let k = self.k;
        type Format = fn(&Measurement) -> String;
        let seconds: Format = |m| cell::seconds(m.value);
        let columns: [(String, String, Format); 12] = [
            (
                format!("recall@{k}"),
                format!("recall_at_{k}_mean"),
                cell::score,
            ),
            ("recall".into(), "retrieval_recall_mean".into(), cell::score),
            ("MRR".into(), "mrr_mean".into(), cell::score),
            (
                format!("nDCG@{k}"),
                format!("ndcg_at_{k}_mean"),
                cell::score,
            ),
            (
                "context tokens".into(),
                "context_tokens".into(),
                cell::tokens,
            ),
            (
                "history tokens".into(),
                "history_tokens".into(),
                cell::tokens,
            ),
            ("efficiency".into(), "token_efficiency".into(), cell::score),
            ("ingest".into(), "ingest_seconds".into(), seconds),
            ("retrieve".into(), "retrieve_seconds".into(), seconds),
            ("answer".into(), "answer_seconds".into(), seconds),
            (
                "ingest requests".into(),
                "ingest_requests".into(),
                cell::usual,
            ),
            (
                "ingest prompt tokens".into(),
                "ingest_prompt_tokens".into(),
                cell::tokens,
            ),
        ];
        let known: Vec<_> = columns
            .into_iter()
            .filter(|(_, key, _)| self.has(key))
            .collect();
        if known.is_empty() {
            return None;
        }
        let header = known.iter().map(|(heading, _, _)| heading.clone());
        let rows = self.result.summary.iter().map(|(system, summary)| {
            let cells = known
                .iter()
                .map(|(_, key, format)| cell_of(summary, key, *format));
            std::iter::once(cell::shorten(system, 30))
                .chain(cells)
                .collect()
        });
        Some(MemoryTable {
            title: "Stages",
            header: std::iter::once("System".to_owned()).chain(header).collect(),
            rows: rows.collect(),
        })
    }

    /// That memories of one table differ in more than the memory.
    fn unlike(&self) -> Option<String> {
        let result = self.result;
        let mut differ = Vec::new();
        let answered = result
            .provenance
            .get("answered_by")
            .and_then(Value::as_object);
        let who: IndexSet<&str> = answered
            .into_iter()
            .flat_map(|map| map.values().filter_map(Value::as_str))
            .collect();
        if who.len() > 1 {
            differ.push("who answers");
        }
        let limits = self.settings.get("own_limits").and_then(Value::as_object);
        let limits: IndexSet<String> = limits
            .into_iter()
            .flat_map(|map| map.values().map(ToString::to_string))
            .collect();
        if limits.len() > 1 {
            differ.push("how much may be recalled");
        }
        (result.summary.len() > 1 && !differ.is_empty()).then(|| {
            format!(
                "the memories also differ in {}, so their order is not that of the memories alone",
                differ.join(" and ")
            )
        })
    }
}

/// Metrics of stages, and those that say the same in other words.
const OF_STAGES: [&str; 13] = [
    "token_efficiency",
    "token_efficiency_raw",
    "context_tokens",
    "history_tokens",
    "ingest_seconds",
    "retrieve_seconds",
    "answer_seconds",
    "ingest_requests",
    "ingest_prompt_tokens",
    "ingest_completion_tokens",
    "mean_ingest_latency",
    "mean_query_latency",
    "mean_input_tokens",
];

/// The kinds of questions that have a mean.
fn kinds<'a>(result: &'a EvalResult, field: &str, counts: &BTreeMap<&str, usize>) -> Vec<&'a str> {
    let mut kinds: Vec<&str> = result
        .summary
        .values()
        .flat_map(Summary::iter)
        .filter_map(|(key, _)| key.strip_prefix(field)?.strip_prefix('_'))
        .filter(|kind| counts.contains_key(*kind))
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    kinds
}

/// How many questions of each kind the first system was asked.
fn kind_counts(result: &EvalResult) -> BTreeMap<&str, usize> {
    let mut counts = BTreeMap::new();
    let first = result.rows.first().map(|row| &row.system);
    for row in result.rows.iter().filter(|row| Some(&row.system) == first) {
        let kind = row.added.as_ref().and_then(|added| added.get("qa_type"));
        if let Some(kind) = kind.and_then(Value::as_str) {
            *counts.entry(kind).or_default() += 1;
        }
    }
    counts
}

/// A kind by its name, also one that has none.
fn shown(kind: &str) -> &str {
    if kind.is_empty() { "(no type)" } else { kind }
}

fn cell_of(summary: &Summary, key: &str, format: fn(&Measurement) -> String) -> String {
    summary.get(key).map_or_else(|| cell::NONE.into(), format)
}
