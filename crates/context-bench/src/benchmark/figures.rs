//! Figures of a dataset, computed from rows alone: resumed, exported, rescored and merged
//! runs give the same numbers.
//!
//! What a figure goes by beside scores (the kind of a question, how many instructions a
//! prompt has) is kept with the row as evidence. Errors rest on documents. A mean has the
//! usual one; a weighted mean that of a ratio (Cochran 1977, 6.4); a mean of means the
//! macro one, √Σs²/k; a geometric mean that of the delta method, by which its relative
//! error is that of the mean of each document's relative deviations, so that scores of one
//! document may depend on each other.

use context_bench_tasks::aggregate::macro_stderr;
use indexmap::IndexMap;
use serde_json::{Map, Value};

use super::reporting::in_order;
use crate::dataset::catalog::Figure;
use crate::model::{Example, Measurement, Score, Scores, Unit};
use crate::stats::{JudgedPair, Mean, clustered_mean, length_controlled, mean};
use crate::text::stringify::python_str;

/// The name of the evidence of a row that figures go by.
pub(super) const FIELDS: &str = Scores::FIELDS;

/// What figures need to know of one document.
#[derive(Debug, Clone, Default)]
pub(super) struct Document<'a> {
    /// Its scores: means over its answers.
    pub(super) scores: Vec<(&'a str, f64)>,
    /// The fields that were kept with its rows.
    pub(super) fields: Option<&'a Map<String, Value>>,
    /// The number of its example, where an example may be several documents.
    pub(super) cluster: u32,
}

impl<'a> Document<'a> {
    fn score(&self, name: &str) -> Option<f64> {
        let found = self.scores.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| *value)
    }

    fn field(&self, name: &str) -> Option<&'a Value> {
        self.fields?.get(name).filter(|value| !value.is_null())
    }
}

/// What figures go by: the fields of an example as a row keeps them; `None` when figures
/// go by scores alone.
pub(super) fn evidence(figures: &IndexMap<String, Figure>, example: &Example) -> Option<Score> {
    let mut kept = Map::new();
    for field in figures.values().flat_map(Figure::fields) {
        if let Some(value) = example.get(field) {
            kept.insert(field.to_owned(), value.clone());
        }
    }
    for field in figures.values().filter_map(Figure::weight) {
        // Of a list only its length counts.
        let Some(value) = example.get(field).filter(|_| !kept.contains_key(field)) else {
            continue;
        };
        let value = match value {
            Value::Array(list) => Value::from(list.len()),
            other => other.clone(),
        };
        kept.insert(field.to_owned(), value);
    }
    go_by_fields(figures).then(|| Score::evidence(Value::Object(kept)))
}

/// Whether some figure goes by more than scores.
pub(super) fn go_by_fields(figures: &IndexMap<String, Figure>) -> bool {
    let mut figures = figures.values();
    figures.any(|one| !one.fields().is_empty() || one.weight().is_some())
}

/// A figure over documents; of a mean per value one for each value, by its text.
pub(super) enum FigureValue {
    /// One number.
    One(Measurement),
    /// One for each value of a field, in alphabetical order.
    Each(Vec<(String, Measurement)>),
}

/// Computes a figure. Documents without a score, or without a field that the figure needs, are left out.
pub(super) fn compute(figure: &Figure, documents: &[Document<'_>]) -> FigureValue {
    FigureValue::One(match figure {
        Figure::GeometricMean(scores) => geometric_mean(scores, documents),
        Figure::MeanOfAll(scores) => mean_of_all(scores, documents),
        Figure::LengthControlled {
            score,
            length,
            difficulty,
        } => length_controlled_rate(score, length, difficulty, documents),
        Figure::MicroF1 {
            correct,
            predicted,
            expected,
        } => micro_f1(correct, predicted, expected, documents),
        Figure::Mean {
            score,
            only,
            weight,
        } => {
            let is_in = |document: &&Document<'_>| {
                let mut only = only.iter();
                only.all(|(field, value)| {
                    document.field(field).is_some_and(|own| is_same(own, value))
                })
            };
            let own: Vec<&Document<'_>> = documents.iter().filter(is_in).collect();
            match weight {
                Some(weight) => weighted_mean(score, weight, &own),
                None => mean_of(score, &own),
            }
        }
        Figure::MeanBy { score, by } => {
            let groups = groups(by, documents).into_iter();
            let means = groups.map(|(value, own)| (value, mean_of(score, &own)));
            return FigureValue::Each(means.filter(|(_, mean)| mean.value.is_some()).collect());
        }
        Figure::MeanOfMeans { score, by } => {
            let groups = groups(by, documents);
            let means: Vec<Measurement> = groups.values().map(|own| mean_of(score, own)).collect();
            mean_of_means(&means)
        }
    })
}

/// Numbers are the same by value: a file may write 1 where a record has 1.0.
fn is_same(own: &Value, asked: &Value) -> bool {
    match (own.as_f64(), asked.as_f64()) {
        (Some(own), Some(asked)) => own == asked,
        _ => own == asked,
    }
}

/// Documents by the value of a field.
fn groups<'d, 'a>(
    by: &str,
    documents: &'d [Document<'a>],
) -> IndexMap<String, Vec<&'d Document<'a>>> {
    let mut groups: IndexMap<String, Vec<&Document<'_>>> = IndexMap::new();
    for document in documents {
        if let Some(value) = document.field(by) {
            let value = python_str(value).into_owned();
            groups.entry(value).or_default().push(document);
        }
    }
    groups.sort_unstable_by(|one, _, other, _| in_order(one, other));
    groups
}

fn mean_of(score: &str, documents: &[&Document<'_>]) -> Measurement {
    let own = documents
        .iter()
        .filter_map(|one| Some((one.score(score)?, one.cluster)));
    let (values, clusters): (Vec<f64>, Vec<u32>) = own.unzip();
    match error_of(&values, &clusters) {
        Some(mean) => measured(mean.value, values.len(), mean.stderr),
        None => Measurement::missing(Unit::Number),
    }
}

/// The mean in which a document counts as often as its weight says. Its error is that of a
/// ratio of two sums, as the weights are drawn with the documents.
fn weighted_mean(score: &str, weight: &str, documents: &[&Document<'_>]) -> Measurement {
    let weight_of = |document: &Document<'_>| match document.field(weight)? {
        Value::Array(list) => Some(list.len() as f64),
        other => other.as_f64().filter(|weight| *weight >= 0.0),
    };
    let own = documents.iter().filter_map(|one| {
        let weight = weight_of(one)?;
        Some((one.score(score)? * weight, weight, one.cluster))
    });
    ratio(&own.collect::<Vec<_>>())
}

/// F1 of what was right, predicted and there in all documents together.
fn micro_f1(
    correct: &str,
    predicted: &str,
    expected: &str,
    documents: &[Document<'_>],
) -> Measurement {
    let own = documents.iter().filter_map(|one| {
        let all = one.score(predicted)? + one.score(expected)?;
        Some((2.0 * one.score(correct)?, all, one.cluster))
    });
    ratio(&own.collect::<Vec<_>>())
}

/// The ratio of two sums over documents, each with its cluster.
fn ratio(own: &[(f64, f64, u32)]) -> Measurement {
    let total: f64 = own.iter().map(|(_, below, _)| below).sum();
    if total <= 0.0 {
        return Measurement::missing(Unit::Number);
    }
    let value = own.iter().map(|(above, ..)| above).sum::<f64>() / total;
    let residuals = own.iter().map(|(above, below, _)| above - value * below);
    let residuals: Vec<f64> = residuals.collect();
    let clusters: Vec<u32> = own.iter().map(|(.., cluster)| *cluster).collect();
    let usual = total / own.len() as f64;
    let stderr = error_of(&residuals, &clusters).and_then(|mean| mean.stderr);
    measured(value, own.len(), stderr.map(|error| error / usual))
}

/// The mean of all values of some scores; those of one document belong together.
fn mean_of_all(scores: &[String], documents: &[Document<'_>]) -> Measurement {
    let values = documents.iter().flat_map(|document| {
        let own = scores.iter().filter_map(|score| document.score(score));
        own.map(|value| (value, document.cluster))
    });
    let (values, clusters): (Vec<f64>, Vec<u32>) = values.unzip();
    match error_of(&values, &clusters) {
        Some(mean) => measured(mean.value, values.len(), mean.stderr),
        None => Measurement::missing(Unit::Number),
    }
}

/// The win rate at equal length. Its error would have to say how sure the fit is, so there
/// is none.
fn length_controlled_rate(
    score: &str,
    length: &str,
    difficulty: &str,
    documents: &[Document<'_>],
) -> Measurement {
    let pairs = documents.iter().filter_map(|document| {
        Some(JudgedPair {
            preference: document.score(score)?,
            // Rows say how much longer the model's answer is.
            length: -document.score(length)?,
            difficulty: document.score(difficulty),
        })
    });
    let pairs: Vec<JudgedPair> = pairs.collect();
    let rates = length_controlled(&pairs).unwrap_or_default();
    match mean(&rates) {
        Some(mean) => measured(mean.value, rates.len(), None),
        None => Measurement::missing(Unit::Number),
    }
}

fn mean_of_means(means: &[Measurement]) -> Measurement {
    let there: Vec<&Measurement> = means.iter().filter(|mean| mean.value.is_some()).collect();
    let values: Vec<f64> = there.iter().filter_map(|mean| mean.value).collect();
    let Some(value) = mean(&values).map(|mean| mean.value) else {
        return Measurement::missing(Unit::Number);
    };
    let n = there.iter().filter_map(|mean| mean.n).sum();
    let errors: Option<Vec<f64>> = there.iter().map(|mean| mean.stderr).collect();
    measured(value, n, errors.map(|errors| macro_stderr(&errors)))
}

/// Over the documents that have all of the scores.
fn geometric_mean(scores: &[String], documents: &[Document<'_>]) -> Measurement {
    let whole = documents.iter().filter_map(|document| {
        let values: Option<Vec<f64>> = scores.iter().map(|score| document.score(score)).collect();
        Some((values?, document.cluster))
    });
    let (rows, clusters): (Vec<Vec<f64>>, Vec<u32>) = whole.unzip();
    if rows.is_empty() || scores.is_empty() {
        return Measurement::missing(Unit::Number);
    }
    let (n, kinds) = (rows.len(), scores.len());
    let means: Vec<f64> = (0..kinds)
        .map(|kind| rows.iter().map(|row| row[kind]).sum::<f64>() / n as f64)
        .collect();
    if means.iter().any(|mean| !(*mean >= 0.0 && mean.is_finite())) {
        return Measurement::missing(Unit::Number);
    }
    let value = means.iter().product::<f64>().powf(1.0 / kinds as f64);
    // Where a mean is 0 the figure is, and nothing can be said of its error.
    let relative = |row: &Vec<f64>| -> f64 {
        let kinds = row.iter().zip(&means);
        kinds.map(|(x, mean)| (x - mean) / mean).sum()
    };
    let deviations: Vec<f64> = rows.iter().map(relative).collect();
    let stderr = match value > 0.0 {
        true => error_of(&deviations, &clusters).and_then(|mean| mean.stderr),
        false => None,
    };
    let stderr = stderr.map(|error| error * value / kinds as f64);
    measured(value, n, stderr)
}

/// A mean with its error, which rests on examples.
fn error_of(values: &[f64], clusters: &[u32]) -> Option<Mean> {
    clustered_mean(values, clusters)
}

fn measured(value: f64, n: usize, stderr: Option<f64>) -> Measurement {
    Measurement {
        value: Some(value),
        n: Some(n),
        stderr,
        ..Measurement::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Documents with a score `s` and a field `f` each.
    fn compute_over(figure: &Figure, rows: &[(f64, Value)]) -> FigureValue {
        let fields: Vec<Map<String, Value>> = rows
            .iter()
            .map(|(_, field)| [("f".to_owned(), field.clone())].into_iter().collect())
            .collect();
        let documents: Vec<Document<'_>> = rows
            .iter()
            .zip(&fields)
            .zip(0..)
            .map(|(((score, _), fields), cluster)| Document {
                scores: vec![("s", *score)],
                fields: Some(fields),
                cluster,
            })
            .collect();
        compute(figure, &documents)
    }

    fn one(figure: &Figure, rows: &[(f64, Value)]) -> Measurement {
        match compute_over(figure, rows) {
            FigureValue::One(one) => one,
            FigureValue::Each(_) => panic!("one figure"),
        }
    }

    fn near(found: Option<f64>, expected: f64) -> bool {
        found.is_some_and(|found| (found - expected).abs() < 1e-9)
    }

    fn weighted() -> Figure {
        Figure::Mean {
            score: "s".into(),
            only: Vec::new(),
            weight: Some("f".into()),
        }
    }

    #[test]
    fn a_weight_is_a_number_or_the_length_of_a_list() {
        // 1 of 1 and 0 of 3 is a quarter.
        let rows = [(1.0, json!(["a"])), (0.0, json!(["a", "b", "c"]))];
        let found = one(&weighted(), &rows);
        assert!(near(found.value, 0.25) && found.n == Some(2), "{found:?}");
        // Residuals 0.75 and -0.75: √(2/1 · 1.125)/2 over the usual weight of 2.
        assert!(near(found.stderr, 2.25_f64.sqrt() / 4.0), "{found:?}");
        let rows = [(1.0, json!(1)), (0.0, json!(3)), (0.5, json!("many"))];
        assert!(near(one(&weighted(), &rows).value, 0.25));
        // Equal weights give the usual mean with the usual error.
        let rows = [(0.0, json!(2)), (1.0, json!(2)), (1.0, json!(2))];
        let found = one(&weighted(), &rows);
        let usual = mean(&[0.0, 1.0, 1.0]).expect("values");
        assert!(near(found.value, usual.value), "{found:?}");
        assert!(near(found.stderr, usual.stderr.unwrap_or(0.0)), "{found:?}");
        assert_eq!(one(&weighted(), &[(1.0, json!([]))]).value, None);
    }

    #[test]
    fn only_some_rows_count() {
        let only = |value: Value| Figure::Mean {
            score: "s".into(),
            only: vec![("f".into(), value)],
            weight: None,
        };
        let rows = [
            (1.0, json!(1)),
            (0.0, json!(1.0)),
            (1.0, json!(0)),
            (1.0, Value::Null),
        ];
        assert!(near(one(&only(json!(1)), &rows).value, 0.5));
        let none = one(&only(json!("hard")), &rows);
        assert_eq!((none.value, none.n), (None, Some(0)));
    }

    #[test]
    fn kinds_count_the_same_however_many_there_are_of_each() {
        let (score, by) = ("s".to_owned(), "f".to_owned());
        let rows = [
            (1.0, json!("b")),
            (1.0, json!("b")),
            (1.0, json!("b")),
            (0.0, json!("a")),
            (1.0, Value::Null),
        ];
        let found = one(
            &Figure::MeanOfMeans {
                score: score.clone(),
                by: by.clone(),
            },
            &rows,
        );
        // A kind of one has no error, and so the mean of all has none.
        assert!(near(found.value, 0.5) && found.n == Some(4), "{found:?}");
        assert_eq!(found.stderr, None);
        let FigureValue::Each(each) = compute_over(&Figure::MeanBy { score, by }, &rows) else {
            panic!("a figure for each value");
        };
        let each: Vec<(&str, Option<f64>, Option<usize>)> = each
            .iter()
            .map(|(value, mean)| (value.as_str(), mean.value, mean.n))
            .collect();
        assert_eq!(each, [("a", Some(0.0), Some(1)), ("b", Some(1.0), Some(3))]);
        // Numbers stand by value.
        let mut values = ["12.0", "all", "100.0", "4"];
        values.sort_by(|one, other| in_order(one, other));
        assert_eq!(values, ["4", "12.0", "100.0", "all"]);
    }

    #[test]
    fn a_geometric_mean_is_one_of_means() {
        let kinds = ["r1", "r2", "rl"];
        let figure = Figure::GeometricMean(kinds.map(str::to_owned).to_vec());
        let document = |cluster: u32, values: [f64; 3]| Document {
            scores: kinds.into_iter().zip(values).collect(),
            fields: None,
            cluster,
        };
        let documents = [
            document(0, [1.0, 1.0, 1.0]),
            document(1, [2.0 / 3.0, 0.0, 2.0 / 3.0]),
            document(2, [0.5, 0.0, 0.5]),
        ];
        let found = |documents: &[Document<'_>]| match compute(&figure, documents) {
            FigureValue::One(one) => one,
            FigureValue::Each(_) => panic!("one figure"),
        };
        let whole = found(&documents);
        // The mean of the rows' own would be a third.
        let value = whole.value.unwrap_or(0.0);
        assert!((value - 0.558_136).abs() < 1e-6, "{value}");
        // By hand: deviations of the delta method, relative to each mean.
        let means = [13.0 / 18.0, 1.0 / 3.0, 13.0 / 18.0];
        let u = documents.iter().map(|one| {
            let kinds = one.scores.iter().zip(means);
            kinds.map(|((_, x), m)| x / m - 1.0).sum::<f64>()
        });
        let squares: f64 = u.map(|u| u * u).sum();
        let expected = value / 3.0 * (squares / 2.0 / 3.0).sqrt();
        assert!(near(whole.stderr, expected), "{whole:?} {expected}");
        // Two answers to one example are not two findings.
        let mut doubled = documents.to_vec();
        doubled.extend(documents.iter().cloned());
        let again = found(&doubled);
        assert!(near(again.stderr, expected), "{again:?} {expected}");
        let nothing = found(&[document(0, [0.0, 1.0, 1.0])]);
        assert_eq!((nothing.value, nothing.stderr), (Some(0.0), None));
        let lacking = Document {
            scores: vec![("r1", 1.0)],
            ..Document::default()
        };
        assert_eq!(found(&[lacking]).value, None);
    }

    #[test]
    fn sums_and_values_of_all_documents_together() {
        let document = |cluster: u32, values: &[(&'static str, f64)]| Document {
            scores: values.to_vec(),
            fields: None,
            cluster,
        };
        let found = |figure: &Figure, documents: &[Document<'_>]| match compute(figure, documents) {
            FigureValue::One(one) => one,
            FigureValue::Each(_) => panic!("one figure"),
        };
        // 2 · 3 / (4 + 5), where the mean of the rows' own F1 would be 0.5.
        let f1 = Figure::MicroF1 {
            correct: "c".into(),
            predicted: "p".into(),
            expected: "e".into(),
        };
        let counts = [
            document(0, &[("c", 3.0), ("p", 3.0), ("e", 3.0)]),
            document(1, &[("c", 0.0), ("p", 1.0), ("e", 2.0)]),
        ];
        assert!(near(found(&f1, &counts).value, 2.0 / 3.0));
        let nothing = document(0, &[("c", 0.0), ("p", 0.0), ("e", 0.0)]);
        assert_eq!(found(&f1, &[nothing]).value, None);
        // A rating that is missing is left out, and not its document.
        let all = Figure::MeanOfAll(vec!["a".into(), "b".into()]);
        let turns = [
            document(0, &[("a", 8.0), ("b", 6.0)]),
            document(1, &[("a", 4.0)]),
        ];
        let rated = found(&all, &turns);
        assert!(near(rated.value, 6.0) && rated.n == Some(3), "{rated:?}");
        // Longer answers win: without that the model wins less often.
        let at_equal_length = Figure::LengthControlled {
            score: "s".into(),
            length: "l".into(),
            difficulty: "d".into(),
        };
        let judged: Vec<Document<'_>> = (0..100)
            .map(|n| {
                let longer = f64::from(n % 10) * 40.0 - 100.0;
                let win = 1.0 / (1.0 + (0.5 - longer / 150.0).exp());
                document(n, &[("s", win), ("l", longer)])
            })
            .collect();
        let raw = judged.iter().map(|one| one.scores[0].1).sum::<f64>() / 100.0;
        let rate = found(&at_equal_length, &judged);
        assert!(
            rate.value.is_some_and(|value| value < raw),
            "{rate:?} {raw}"
        );
        assert_eq!(rate.n, Some(100));
        assert_eq!(found(&at_equal_length, &judged[..4]).value, None);
    }
}
