//! Rows as the page keeps them.

use std::borrow::Cow;
use std::collections::HashMap;

use context_bench_page::{Outcome, PageRow};
use serde_json::{Map, Value};

use crate::model::{EvalRow, SentContext};
use crate::report::cell;
use crate::result::EvalResult;

/// Which score counts for the rows of which dataset.
#[derive(Debug, Default)]
pub(super) struct ScoreFields {
    by_dataset: HashMap<String, String>,
    common: Option<String>,
}

impl ScoreFields {
    pub(super) fn of(result: &EvalResult) -> Self {
        let mut fields = Self::of_provenance(&result.provenance);
        if fields.common.is_none() {
            fields.common = result.score_names().first().map(|name| name.to_string());
        }
        fields
    }

    fn of_provenance(provenance: &Map<String, Value>) -> Self {
        let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
        let scoring = provenance.get("scoring").and_then(Value::as_object);
        let by_dataset = scoring
            .into_iter()
            .flatten()
            .filter_map(|(dataset, how)| Some((dataset.clone(), text(how.get("score_field"))?)));
        let first = || {
            let fields = provenance.get("score_fields").and_then(Value::as_array);
            text(fields.and_then(|fields| fields.first()))
        };
        Self {
            by_dataset: by_dataset.collect(),
            common: text(provenance.get("score_field")).or_else(first),
        }
    }

    /// The score that counts where a dataset has none of its own.
    pub(super) fn common(&self) -> Option<&str> {
        self.common.as_deref()
    }

    /// The score of a row that counts.
    pub(super) fn quality(&self, row: &EvalRow) -> Option<f64> {
        let own = self
            .by_dataset
            .get(&*row.dataset)
            .and_then(|field| row.score(field));
        let value = own.or_else(|| row.score(self.common.as_deref()?));
        value.filter(|value| value.is_finite())
    }
}

/// Makes rows of a page one by one, without a result.
#[derive(Debug, Default)]
pub struct PageRows {
    fields: ScoreFields,
}

impl PageRows {
    /// Rows of a run with that provenance.
    pub fn of(provenance: Option<&Map<String, Value>>) -> Self {
        let fields = provenance.map(ScoreFields::of_provenance);
        Self {
            fields: fields.unwrap_or_default(),
        }
    }

    /// A row with its texts, where it has them; `scores` are the names of its values.
    pub fn row<'a>(&self, row: &'a EvalRow, system: usize, scores: &[String]) -> PageRow<'a> {
        page_row(row, system, scores, &self.fields)
    }

    /// The score of a row that counts.
    pub fn quality(&self, row: &EvalRow) -> Option<f64> {
        self.fields.quality(row)
    }
}

/// A row with its texts, where it has them.
pub(super) fn page_row<'a>(
    row: &'a EvalRow,
    system: usize,
    scores: &[String],
    scoring: &ScoreFields,
) -> PageRow<'a> {
    let text = row.text.as_deref();
    let contexts = text.and_then(|text| text.contexts.as_deref());
    let reply = row.reply.as_deref();
    let failure = row.failure.as_deref();
    let outcome = match () {
        () if failure.is_some() => Outcome::Failed,
        () if row.has_error() => Outcome::Unscored,
        () if row.is_scored() => Outcome::Scored,
        () => Outcome::NotApplicable,
    };
    let given = |value: Option<&'a Value>| value.filter(|value| !value.is_null()).map(shown);
    let values = scores
        .iter()
        .map(|name| row.score(name).filter(|value| value.is_finite()));
    let reasons = row
        .scores
        .iter()
        .filter_map(|(name, score)| Some((name.to_string(), score.reason()?.to_owned())));
    PageRow {
        system,
        dataset: Cow::Borrowed(&*row.dataset),
        example_id: row.example_id.to_string().into(),
        quality: scoring.quality(row),
        scores: values.collect(),
        input_tokens: row.input_tokens,
        output_tokens: row.output_tokens,
        prompt_tokens: reply.and_then(|reply| reply.tokens.prompt),
        completion_tokens: reply.and_then(|reply| reply.tokens.completion),
        latency: row.latency,
        outcome,
        failure_kind: failure.map(|failure| failure.kind.as_str()),
        cached: row.cached,
        question: given(text.and_then(|text| text.question.as_ref())),
        answer: given(text.and_then(|text| text.answer.as_ref())),
        context: contexts.map(|contexts| contexts.given().into()),
        sent: contexts.and_then(|contexts| match contexts.sent.as_ref()? {
            SentContext::Unchanged => Some(contexts.given().into()),
            SentContext::Changed(text) => Some((&**text).into()),
        }),
        response: given(text.and_then(|text| text.response.as_ref())),
        reasoning: text.and_then(|text| Some(text.reasoning.as_deref()?.into())),
        error: failure.map(|failure| failure.message.as_str().into()),
        reasons: reasons.collect(),
        facts: facts(row),
    }
}

/// What else is known of a row, where it says something.
fn facts(row: &EvalRow) -> Vec<(String, String)> {
    let mut facts = Vec::new();
    let mut put = |name: &str, value: Option<String>| {
        facts.extend(value.map(|value| (name.to_owned(), value)));
    };
    let reply = row.reply.as_deref();
    put(
        "ended",
        reply.and_then(|reply| Some(reply.finish_reason.as_deref()?.to_owned())),
    );
    let odd = reply.filter(|reply| !reply.ending.is_whole());
    let odd = odd.and_then(|reply| serde_json::to_value(reply.ending).ok());
    put(
        "answer is",
        odd.as_ref()
            .and_then(Value::as_str)
            .map(|text| text.replace('_', " ")),
    );
    let attempts = row.call.as_deref().map(|call| call.attempts);
    put(
        "attempts",
        attempts.filter(|n| *n > 1).map(|n| n.to_string()),
    );
    if let Some(wire) = row.wire.as_deref() {
        let reached = wire.client_tokens.zip(wire.upstream_tokens);
        put(
            "reached the provider",
            reached.map(|(asked, sent)| format!("{sent} of {asked} tokens")),
        );
        let engagement = wire
            .engagement
            .and_then(|one| serde_json::to_value(one).ok());
        put(
            "request",
            engagement
                .as_ref()
                .and_then(Value::as_str)
                .map(|text| text.replace('_', " ")),
        );
        put(
            "answered without the provider",
            (wire.local_answers > 0).then(|| wire.local_answers.to_string()),
        );
        let added = wire.added.as_ref().and_then(|added| added.before());
        put("added before", added.map(|pre| cell::seconds(Some(pre))));
    }
    facts
}

/// A value as people read it: text as it is, the rest as JSON.
pub(super) fn text_of(value: &Value) -> String {
    shown(value).into_owned()
}

fn shown(value: &Value) -> Cow<'_, str> {
    match value {
        Value::String(text) => Cow::Borrowed(text),
        Value::Array(list) if list.iter().all(Value::is_string) => {
            let texts: Vec<&str> = list.iter().filter_map(Value::as_str).collect();
            Cow::Owned(texts.join("\n"))
        }
        Value::Array(_) | Value::Object(_) => Cow::Owned(format!("{value:#}")),
        other => Cow::Owned(other.to_string()),
    }
}
