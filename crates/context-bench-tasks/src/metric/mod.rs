//! Metrics: what a document scores, and how a task's documents are summed up.

pub mod aggregation;
pub mod bleu;
pub mod chrf;
mod exact;
mod external;
mod items;
pub mod repeats;
pub mod score;
pub mod ter;

pub use aggregation::Aggregation;

use serde_json::{Map, Value};

use crate::error::{Error, Result, Warning};
use crate::function::Function;
use crate::registered::{Kind, Modules};
use crate::task::OutputType;
use crate::truth;
use context_bench_error::suggest::{did_you_mean, quoted_list};
use exact::ExactMatch;
use external::External;

/// A metric of a task.
#[derive(Debug)]
pub struct Metric {
    /// Its name in results.
    pub name: String,
    /// What computes it.
    pub kind: MetricKind,
    /// How documents are summed up.
    pub aggregation: AggregationKind,
    /// The arrow in tables.
    pub higher_is_better: bool,
}

/// What computes the value of a document.
#[derive(Debug)]
pub enum MetricKind {
    /// A built-in metric.
    Builtin,
    /// `exact_match` of texts, with its arguments.
    Exact(Box<ExactMatch>),
    /// The right answer and the given one, as they are, for an aggregation of the task's
    /// own.
    Pair,
    /// A metric that the reference takes from another library.
    External(External),
    /// A function of the task's own, with its arguments.
    Function(Function, Map<String, Value>),
    /// Only named: `process_results` gives the values.
    Named,
}

impl MetricKind {
    /// Whether Python computes it.
    pub fn is_function(&self) -> bool {
        matches!(self, Self::Function(..))
    }
}

/// What sums documents up.
#[derive(Debug, Clone, PartialEq)]
pub enum AggregationKind {
    /// A built-in one.
    Builtin(Aggregation),
    /// A function of the task's own.
    Function(Function),
}

struct Definition {
    name: &'static str,
    types: &'static [OutputType],
    higher: bool,
    aggregation: Aggregation,
}

const fn define(
    name: &'static str,
    types: &'static [OutputType],
    higher: bool,
    aggregation: Aggregation,
) -> Definition {
    Definition {
        name,
        types,
        higher,
        aggregation,
    }
}

use OutputType::{
    GenerateUntil as G, Loglikelihood as L, LoglikelihoodRolling as R, MultipleChoice as M,
};

const DEFINITIONS: &[Definition] = &[
    define("acc", &[M, L], true, Aggregation::Mean),
    define("acc_norm", &[M], true, Aggregation::Mean),
    define("acc_bytes", &[M], true, Aggregation::Mean),
    define("acc_mutual_info", &[M], true, Aggregation::Mean),
    define("exact_match", &[G, M], true, Aggregation::Mean),
    define("brier_score", &[M], false, Aggregation::Brier),
    define("f1", &[M], true, Aggregation::F1),
    define("mcc", &[M], true, Aggregation::Mcc),
    define("likelihood", &[M], true, Aggregation::Mean),
    define("bpb", &[M], false, Aggregation::Mean),
    define("logprob", &[M], true, Aggregation::Mean),
    define("choice_logprob", &[M], true, Aggregation::Mean),
    define("choice_prob_norm", &[M], true, Aggregation::Mean),
    define("choice_logprob_norm", &[M], true, Aggregation::Mean),
    define("perplexity", &[L], false, Aggregation::Perplexity),
    define(
        "word_perplexity",
        &[R],
        false,
        Aggregation::WeightedPerplexity,
    ),
    define(
        "byte_perplexity",
        &[R],
        false,
        Aggregation::WeightedPerplexity,
    ),
    define("bits_per_byte", &[R], false, Aggregation::BitsPerByte),
    define("bleu", &[G], true, Aggregation::Bleu),
    define("chrf", &[G], true, Aggregation::Chrf),
    define("ter", &[G], false, Aggregation::Ter),
    define("bypass", &[G, M, L, R], true, Aggregation::Bypass),
    define("acc_all", &[G, M, L, R], true, Aggregation::Mean),
];

/// Keys of an entry that are not arguments of the metric.
const ENTRY_KEYS: &[&str] = &[
    "metric",
    "aggregation",
    "higher_is_better",
    "hf_evaluate",
    "kwargs",
];

impl Metric {
    /// The metrics of tasks that name none.
    pub fn default_list(output: OutputType) -> Result<Vec<Self>> {
        let names: &[&str] = match output {
            L => &["perplexity", "acc"],
            R => &["word_perplexity", "byte_perplexity", "bits_per_byte"],
            M => &["acc", "acc_norm"],
            G => &["exact_match"],
        };
        names
            .iter()
            .map(|name| Self::builtin(name, output, &Map::new(), &mut Vec::new()))
            .collect()
    }

    fn builtin(
        name: &str,
        output: OutputType,
        arguments: &Map<String, Value>,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let found = definition(name).ok_or_else(|| unknown(name))?;
        // What compares labels elsewhere hands pairs to an aggregation here.
        let pairs = output == G && found.types.contains(&M);
        if !found.types.contains(&output) && !pairs {
            let fits: Vec<&str> = found.types.iter().map(|output| output.name()).collect();
            return Err(
                Error::new(format!("metric `{name}` is not for `{}`", output.name()))
                    .with_hint(format!("it is for {}", quoted_list(&fits, "and"))),
            );
        }
        let kind = if name == "exact_match" && output == G {
            MetricKind::Exact(Box::new(ExactMatch::parse(arguments, warnings)?))
        } else if pairs && name != "bypass" {
            MetricKind::Pair
        } else {
            MetricKind::Builtin
        };
        Ok(Self {
            name: name.to_owned(),
            kind,
            aggregation: AggregationKind::Builtin(found.aggregation),
            higher_is_better: found.higher,
        })
    }

    /// Reads a `metric_list`. With `process_results`, names only give aggregation and
    /// direction.
    pub fn list(
        value: &Value,
        output: OutputType,
        process_results: bool,
        modules: &Modules,
        warnings: &mut Vec<Warning>,
    ) -> Result<Vec<Self>> {
        let entries: Vec<&Value> = match value {
            Value::Array(entries) => entries.iter().collect(),
            entry @ Value::Object(_) => vec![entry],
            other => {
                return Err(Error::new(format!(
                    "`metric_list` must be a list, found `{other}`"
                )));
            }
        };
        entries
            .into_iter()
            .map(|entry| Self::parse(entry, output, process_results, modules, warnings))
            .collect()
    }

    fn parse(
        entry: &Value,
        output: OutputType,
        process_results: bool,
        modules: &Modules,
        warnings: &mut Vec<Warning>,
    ) -> Result<Self> {
        let Some(map) = entry.as_object() else {
            return Err(Error::new(format!(
                "an entry of `metric_list` must be a mapping, found `{entry}`"
            )));
        };
        let mut arguments = map.clone();
        arguments.retain(|key, _| !ENTRY_KEYS.contains(&key.as_str()));
        if let Some(Value::Object(more)) = map.get("kwargs") {
            arguments.extend(more.clone());
        }
        let mut metric = match map.get("metric") {
            Some(Value::String(name)) if process_results => Self {
                name: name.clone(),
                kind: MetricKind::Named,
                aggregation: AggregationKind::Builtin(
                    definition(name).map_or(Aggregation::Mean, |found| found.aggregation),
                ),
                higher_is_better: definition(name).is_none_or(|found| found.higher),
            },
            Some(Value::String(name)) => {
                let elsewhere = map.get("hf_evaluate").is_some_and(truth::truthy);
                let external = (elsewhere || External::is_named(name)) && output == G;
                let external = External::named(name, &arguments).filter(|_| external);
                match (external, modules.find(Kind::Metric, name)) {
                    (Some(external), _) => Self {
                        name: name.clone(),
                        kind: MetricKind::External(external),
                        aggregation: AggregationKind::Builtin(Aggregation::Mean),
                        higher_is_better: external.higher_is_better(),
                    },
                    (None, Some(function)) if definition(name).is_none() => Self {
                        name: name.clone(),
                        kind: MetricKind::Function(function, arguments),
                        aggregation: modules.find(Kind::AggregationOfMetric, name).map_or(
                            AggregationKind::Builtin(Aggregation::Mean),
                            AggregationKind::Function,
                        ),
                        higher_is_better: true,
                    },
                    _ => {
                        let reduced = |key: &&String| *key != "reduction";
                        let keys: Vec<&String> = arguments.keys().filter(reduced).collect();
                        if name != "exact_match" && !keys.is_empty() {
                            let keys = quoted_list(&keys, "and");
                            warnings.push(Warning::new(format!("metric `{name}` takes no {keys}")));
                        }
                        Self::builtin(name, output, &arguments, warnings)?
                    }
                }
            }
            Some(value) => match Function::from_json(value) {
                Some(function) => Self {
                    name: function.short_name().to_owned(),
                    kind: MetricKind::Function(function, arguments),
                    aggregation: AggregationKind::Builtin(Aggregation::Mean),
                    higher_is_better: true,
                },
                None => {
                    return Err(Error::new(format!(
                        "`metric` must be a name, found `{value}`"
                    )));
                }
            },
            None => return Err(Error::new("an entry of `metric_list` needs `metric`")),
        };
        match map.get("aggregation") {
            None | Some(Value::Null) => warnings.push(Warning::new(format!(
                "metric `{}` names no aggregation; its default is used",
                metric.name
            ))),
            Some(Value::String(name)) => {
                metric.aggregation = match Aggregation::named(name) {
                    Ok(found) => AggregationKind::Builtin(found),
                    Err(error) => match modules.find(Kind::Aggregation, name) {
                        Some(function) => AggregationKind::Function(function),
                        None => return Err(error.prefixed(format!("metric `{}`", metric.name))),
                    },
                };
            }
            Some(value) => match Function::from_json(value) {
                Some(function) => metric.aggregation = AggregationKind::Function(function),
                None => {
                    return Err(Error::new(format!(
                        "`aggregation` must be a name, found `{value}`"
                    )));
                }
            },
        }
        if let Some(value) = map.get("higher_is_better").filter(|value| !value.is_null()) {
            metric.higher_is_better = truth::read("higher_is_better", value, warnings);
        }
        if let (MetricKind::Pair, AggregationKind::Builtin(_)) = (&metric.kind, &metric.aggregation)
        {
            let name = &metric.name;
            return Err(Error::new(format!(
                "metric `{name}` gives pairs of texts for `generate_until`, which no built-in \
                 aggregation can sum up"
            ))
            .with_hint(
                "name a function: `aggregation: !function module.name`; or use `exact_match`",
            ));
        }
        Ok(metric)
    }
}

/// Whether a metric of this name is built in.
pub fn is_known(name: &str) -> bool {
    definition(name).is_some() || External::is_named(name)
}

fn definition(name: &str) -> Option<&'static Definition> {
    DEFINITIONS.iter().find(|found| found.name == name)
}

/// The error for a name that no metric has.
pub(crate) fn unknown(name: &str) -> Error {
    let names: Vec<&str> = DEFINITIONS.iter().map(|found| found.name).collect();
    let hint = did_you_mean(name, names.iter().copied()).unwrap_or_else(|| {
        format!(
            "there are {}, and `!function module.name`",
            quoted_list(&names, "and")
        )
    });
    Error::new(format!("unknown metric `{name}`")).with_hint(hint)
}
