//! `DatasetBenchmark`: a dataset of the catalog, a file of examples, or examples that
//! a program brings along: asked and scored in its own way.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use context_bench_tasks::TaskResult;
use context_bench_tasks::metric::aggregation::sample_error;
use context_bench_tasks::sample::hashes;
use indexmap::IndexMap;
use serde_json::{Map, Value, json};

use super::answer::Answered;
use super::figures::{self, Document, FIELDS, FigureValue};
use super::outcome::{BenchmarkOutcome, DocumentCounts};
use super::reporting::{DatasetReport, Reporting};
use super::{Benchmark, SumUp};
use crate::dataset::Dataset;
use crate::dataset::catalog::Figure;
use crate::evaluator::{Evaluator, EvaluatorError};
use crate::model::{Example, ExampleId, Measurement, Output, Prompt, Scores};
use crate::stats::clustered_mean;
use crate::system::{Layout, RequestContent, generation, messages};

/// A dataset with its evaluators.
#[derive(Default)]
pub struct DatasetBenchmark {
    /// What results call it.
    pub key: String,
    /// The tag of its examples.
    pub tag: String,
    /// What tables show.
    pub alias: Option<String>,
    /// How its examples are scored.
    pub evaluators: Vec<Arc<dyn Evaluator>>,
    /// Whether its examples are questions to memories.
    pub is_memory: bool,
    /// The score that stands for its quality.
    pub score_field: Option<String>,
    /// A name under which its rows have that score as well.
    pub common_score: Option<String>,
    /// How many documents it has in this run, when that is known before it.
    pub documents: Option<usize>,
    /// How many answers each document gets.
    pub repeats: usize,
    /// Whether its examples may say themselves which dataset they are of.
    pub is_open: bool,
    /// Whether examples of one id are attempts at one document: those that a program
    /// brings along are taken as they are.
    pub keeps_ids: bool,
    /// Whether what was asked and said is written down.
    pub samples: bool,
    /// How models are asked about its examples.
    pub prompt: Option<Arc<Prompt>>,
    /// What is reported of it beside the mean of each score, and by which rule.
    pub reporting: Reporting,
    /// The examples, until a run takes them.
    pub examples: Mutex<Option<Dataset>>,
}

impl DatasetBenchmark {
    /// How many worked examples its prompts show, if they show any.
    pub fn num_fewshot(&self) -> Option<usize> {
        let shots = self.prompt.as_ref().map(|prompt| prompt.parts().n_shots());
        shots.filter(|n| *n > 0)
    }
}

#[async_trait]
impl Benchmark for DatasetBenchmark {
    fn key(&self) -> &str {
        &self.key
    }

    fn tag(&self) -> &str {
        &self.tag
    }

    fn examples(&self) -> Dataset {
        let mut examples = self.examples.lock().unwrap_or_else(PoisonError::into_inner);
        examples.take().unwrap_or_else(|| Vec::new().into())
    }

    fn documents(&self) -> Option<usize> {
        self.documents
    }

    fn repeats(&self) -> usize {
        self.repeats.max(1)
    }

    fn evaluators(&self) -> &[Arc<dyn Evaluator>] {
        &self.evaluators
    }

    fn score_field(&self) -> Option<&str> {
        self.score_field.as_deref()
    }

    fn reporting(&self) -> Option<&Reporting> {
        Some(&self.reporting)
    }

    /// Rows keep what figures go by beside scores.
    fn scores_itself(&self) -> bool {
        figures::go_by_fields(&self.reporting.figures)
    }

    async fn score(&self, example: &Example, _: &Output) -> Result<Scores, EvaluatorError> {
        let kept = figures::evidence(&self.reporting.figures, example);
        Ok(kept.map(|kept| (FIELDS, kept)).into_iter().collect())
    }

    fn scoring(&self) -> Option<Value> {
        Some(json!({"figures": self.reporting.figures}))
    }

    fn makes_prompts(&self) -> bool {
        false
    }

    fn prompt(&self) -> Option<&Arc<Prompt>> {
        self.prompt.as_ref()
    }

    fn keeps_ids(&self) -> bool {
        self.keeps_ids
    }

    fn is_open(&self) -> bool {
        self.is_open
    }

    fn needs_answers(&self) -> bool {
        self.samples
    }

    /// The mean of each score of the evaluators, over the documents that have it, and the
    /// figures of the dataset.
    fn sum_up(&self, rows: &[Answered<'_>], how: &SumUp) -> BenchmarkOutcome {
        let repeats = self.repeats.max(1);
        let mut found = DatasetTally::default();
        match repeats {
            1 => {
                let attempts = self.keeps_ids.then(|| attempts(rows)).flatten();
                for (at, one) in rows.iter().enumerate() {
                    found.number = attempts.as_ref().map(|numbers| numbers[at]);
                    found.add(self, std::slice::from_ref(one), how.samples);
                }
            }
            _ => {
                let mut documents: IndexMap<&ExampleId, Vec<Answered<'_>>> = IndexMap::new();
                for one in rows {
                    let of_document = documents.entry(&one.row.example_id).or_default();
                    of_document.push(*one);
                }
                for rows in documents.values() {
                    found.add(self, rows, how.samples);
                }
            }
        }
        let DatasetTally {
            mut counts,
            values,
            samples,
            documents,
            clusters,
            of_documents,
            ..
        } = found;
        counts.planned = self.documents.unwrap_or(0).max(documents);
        counts.not_run += counts.planned - documents;
        let mut scores = Map::new();
        let mut sizes = IndexMap::new();
        for (name, values) in &values {
            let mean = values.iter().sum::<f64>() / values.len() as f64;
            sizes.insert(format!("{name},none"), values.len());
            scores.insert(format!("{name},none"), json!(mean));
            // Attempts at one example resemble each other: errors rest on examples.
            let error = match clusters.get(name) {
                Some(clusters) => clustered_mean(values, clusters).and_then(|mean| mean.stderr),
                None => sample_error(values),
            };
            let error = error.map_or_else(|| json!("N/A"), |error| json!(error));
            scores.insert(format!("{name}_stderr,none"), error);
        }
        let mut report = DatasetReport::default();
        let mut directions: BTreeMap<String, bool> =
            values.keys().map(|name| (name.clone(), true)).collect();
        let mut unlisted = BTreeSet::new();
        for (name, found) in self.figures(&of_documents) {
            let figures = match found {
                FigureValue::One(figure) => {
                    report.figures.insert(name.to_owned(), figure);
                    vec![(name.to_owned(), figure)]
                }
                FigureValue::Each(each) => {
                    let names = each.iter().map(|(value, _)| format!("{name}/{value}"));
                    let named: Vec<_> = names.zip(each.iter().map(|(_, one)| *one)).collect();
                    unlisted.extend(named.iter().map(|(name, _)| name.clone()));
                    let each = each.into_iter().collect();
                    report.by_value.insert(name.to_owned(), each);
                    named
                }
            };
            for (name, figure) in figures {
                put_figure(&mut scores, &mut sizes, &name, &figure);
                directions.insert(name, true);
            }
        }
        self.add_headline(&mut report, &scores, &sizes);
        let evaluators: Vec<&str> = self.evaluators.iter().map(|e| e.name()).collect();
        let config = json!({
            "task": self.key,
            "dataset": self.tag,
            "evaluators": evaluators,
            "score_field": self.score_field,
            "headline": report.headline,
            "repeats": repeats,
        });
        BenchmarkOutcome {
            result: TaskResult {
                key: self.key.clone(),
                alias: self.alias.clone().unwrap_or_else(|| self.key.clone()),
                sample_len: sizes.values().copied().max().unwrap_or(0),
                sizes,
                version: None,
                num_fewshot: self.num_fewshot().map(Value::from),
                higher_is_better: directions,
                headline: (!report.is_row_mean)
                    .then(|| report.headline.clone())
                    .flatten(),
                unlisted,
                n_samples: (Some(counts.planned), counts.planned),
                scores,
                config: config.as_object().cloned().unwrap_or_default(),
            },
            counts,
            samples,
            failed: Vec::new(),
            warnings: Vec::new(),
            report: Some(report),
        }
    }
}

impl DatasetBenchmark {
    /// The figures of the dataset over documents.
    fn figures<'a>(
        &'a self,
        documents: &'a [Document<'_>],
    ) -> impl Iterator<Item = (&'a str, FigureValue)> {
        let figures = self.reporting.figures.iter();
        figures.map(|(name, figure)| (name.as_str(), figures::compute(figure, documents)))
    }

    /// What is quoted first of all, and the rule that it is by.
    fn add_headline(
        &self,
        report: &mut DatasetReport,
        scores: &Map<String, Value>,
        sizes: &IndexMap<String, usize>,
    ) {
        report.rule.clone_from(&self.reporting.rule);
        report.score_field.clone_from(&self.score_field);
        let headline = self.reporting.headline.as_ref();
        let Some(headline) = headline.or(self.score_field.as_ref()) else {
            return;
        };
        report.headline = Some(headline.clone());
        let is_figure = report.figures.contains_key(headline);
        let is_its_mean = |figure: &Figure| {
            matches!(figure, Figure::Mean { score, only, weight: None }
                if only.is_empty() && Some(score) == self.score_field.as_ref())
        };
        report.is_row_mean = match self.reporting.figures.get(headline) {
            Some(figure) => is_its_mean(figure),
            None => Some(headline) == self.score_field.as_ref(),
        };
        if !is_figure {
            // The mean of a score.
            let number = |key: String| scores.get(&key).and_then(Value::as_f64);
            let mean = Measurement {
                value: number(format!("{headline},none")),
                stderr: number(format!("{headline}_stderr,none")),
                n: Some(sizes.get(&format!("{headline},none")).copied().unwrap_or(0)),
                ..Measurement::default()
            };
            report.figures.insert(headline.clone(), mean);
        }
        if let Some(at) = report.figures.get_index_of(headline) {
            report.figures.move_index(at, 0);
        }
    }
}

/// Puts a figure among the scores of results; one of the same name is replaced.
fn put_figure(
    scores: &mut Map<String, Value>,
    sizes: &mut IndexMap<String, usize>,
    name: &str,
    figure: &Measurement,
) {
    let error = figure.stderr.map_or_else(|| json!("N/A"), Value::from);
    scores.insert(format!("{name},none"), json!(figure.value));
    scores.insert(format!("{name}_stderr,none"), error);
    sizes.insert(format!("{name},none"), figure.n.unwrap_or(0));
}

/// What is known so far of a dataset.
#[derive(Default)]
struct DatasetTally<'a> {
    counts: DocumentCounts,
    values: IndexMap<String, Vec<f64>>,
    /// Per score the number of the example of each value, where examples have several.
    clusters: IndexMap<String, Vec<u32>>,
    /// The number of the example that is added next.
    number: Option<u32>,
    samples: Vec<Map<String, Value>>,
    documents: usize,
    /// What figures need to know of each document, where there are any.
    of_documents: Vec<Document<'a>>,
}

impl<'a> DatasetTally<'a> {
    /// Adds a document.
    fn add(&mut self, benchmark: &DatasetBenchmark, rows: &[Answered<'a>], samples: bool) {
        self.documents += 1;
        let repeats = benchmark.repeats.max(1);
        let id = rows.first().map(|one| &one.row.example_id);
        let means = means(rows, repeats, benchmark.common_score.as_deref());
        let failure = rows.iter().find_map(|one| one.row.failure.as_ref());
        let unscored = rows.iter().find_map(|one| one.row.scores.unscored().next());
        let counts = &mut self.counts;
        if let (Some(failure), Some(id)) = (failure, id) {
            counts.failed += 1;
            counts.lost(id, &failure.message);
        } else if let (Some((_, why)), Some(id)) = (unscored, id) {
            counts.unscored += 1;
            counts.lost(id, why);
        } else if rows.len() < repeats {
            counts.not_run += 1;
        } else if means.is_empty() {
            counts.not_applicable += 1;
        } else {
            counts.scored += 1;
        }
        if samples && !means.is_empty() {
            let sample = sample(self.samples.len(), rows, &means, benchmark.prompt.as_ref());
            self.samples.push(sample);
        }
        if !benchmark.reporting.figures.is_empty() {
            let kept = rows.iter().find_map(|one| one.row.scores.get(FIELDS));
            let next = u32::try_from(self.of_documents.len()).unwrap_or(u32::MAX);
            self.of_documents.push(Document {
                scores: means.clone(),
                fields: kept.and_then(|kept| kept.as_evidence()?.as_object()),
                cluster: self.number.unwrap_or(next),
            });
        }
        for (name, mean) in means {
            if let Some(number) = self.number {
                self.clusters
                    .entry(name.to_owned())
                    .or_default()
                    .push(number);
            }
            match self.values.get_mut(name) {
                Some(values) => values.push(mean),
                None => drop(self.values.insert(name.to_owned(), vec![mean])),
            }
        }
    }
}

/// Per row the number of its example; `None` when no example has two rows.
fn attempts(rows: &[Answered<'_>]) -> Option<Vec<u32>> {
    let mut known: HashMap<&ExampleId, u32> = HashMap::with_capacity(rows.len());
    let mut numbers = Vec::with_capacity(rows.len());
    for one in rows {
        let next = u32::try_from(known.len()).unwrap_or(u32::MAX);
        numbers.push(*known.entry(&one.row.example_id).or_insert(next));
    }
    (known.len() < rows.len()).then_some(numbers)
}

/// What a document was asked and answered, in the reference's schema.
fn sample(
    at: usize,
    rows: &[Answered<'_>],
    scores: &[(&str, f64)],
    prompt: Option<&Arc<Prompt>>,
) -> Map<String, Value> {
    let answers: Vec<_> = rows.iter().filter_map(|one| one.answer).collect();
    let first = answers
        .first()
        .map(|answer| answer.example.fields().clone());
    let mut doc = first.unwrap_or_default();
    let prompted = Example::from(doc.clone()).with_prompt(prompt.cloned());
    let settings = doc.shift_remove(generation::FIELD).unwrap_or_default();
    let (messages, settings) = match RequestContent::of(&prompted)
        .ok()
        .filter(|_| prompt.is_some())
    {
        Some(asked) => {
            let messages = asked.messages(&prompted, None, Layout::default());
            (Value::Array(messages), asked.generation().into())
        }
        None => {
            let example = Example::from(doc.clone());
            let messages = messages(&example, None, Layout::default());
            (Value::Array(messages), settings)
        }
    };
    let target = ["answers", "answer"]
        .iter()
        .find_map(|field| doc.get(*field));
    let target = target.cloned().unwrap_or_default();
    let said = answers.iter().map(|answer| answer.output.response());
    let said: Vec<String> = said.map(|said| said.into_owned()).collect();
    let arguments: Vec<Value> = said.iter().map(|_| json!([messages, settings])).collect();
    let hashes = hashes(&Value::Object(doc.clone()), &messages.to_string(), &target);
    let names: Vec<&str> = scores.iter().map(|(name, _)| *name).collect();
    let mut out = Map::new();
    for (key, value) in [
        ("doc_id", json!(at)),
        ("doc", Value::Object(doc)),
        ("target", target),
        ("arguments", json!(arguments)),
        ("resps", json!(said)),
        ("filtered_resps", json!(said)),
        ("filter", json!("none")),
        ("metrics", json!(names)),
    ] {
        out.insert(key.to_owned(), value);
    }
    out.extend(hashes.map(|(key, hash)| (key.to_owned(), json!(hash))));
    let scores = scores.iter();
    out.extend(scores.map(|(name, value)| ((*name).to_owned(), json!(value))));
    out
}

/// The mean of each score over the answers to one document, where all of them have it.
fn means<'a>(rows: &[Answered<'a>], repeats: usize, common: Option<&str>) -> Vec<(&'a str, f64)> {
    let mut sums: Vec<(&str, f64, usize)> = Vec::new();
    for one in rows {
        for (name, score) in one.row.scores.iter() {
            let name = name.as_str();
            let Some(value) = score.get().filter(|_| Some(name) != common) else {
                continue;
            };
            match sums.iter_mut().find(|(known, _, _)| *known == name) {
                Some((_, sum, n)) => (*sum, *n) = (*sum + value, *n + 1),
                None => sums.push((name, value, 1)),
            }
        }
    }
    let whole = sums.into_iter().filter(|(_, _, n)| *n == repeats);
    whole.map(|(name, sum, n)| (name, sum / n as f64)).collect()
}
