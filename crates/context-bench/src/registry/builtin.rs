//! What comes with the library, by name.

use std::num::NonZeroUsize;
use std::sync::Arc;

#[cfg(feature = "sandbox")]
use super::code_execution;
use super::{BuildError, DatasetRequest, Params, Registry, SystemContext, judge, swebench};
use crate::dataset;
use crate::evaluator::{
    AnswerQuality, CallFormat, ChoiceExtraction, Evaluator, FunctionCallMatch, IfEvalChecker,
    JudgeRule, LlmJudgeSettings, MathEquivalence, MultipleChoiceAccuracy, NliLabelMatch,
    NormalOrder, OfficialRule, OfficialScore, PatchOverlap, ResponseCut, RetrievalQuality,
    SciFactEvidence, SciFactLabels, SummarizationQuality, SwebenchReport,
};
use crate::memory::{PerQATypeMetric, TokenEfficiencyMetric};
use crate::metric::{
    CompressionRatio, CostOfPass, DEFAULT_THRESHOLD, Latency, MeanScore, Metric, PassRate,
    PerDatasetBreakdown,
};
use crate::report::{
    CsvReport, JsonReport, JsonlReport, JunitReport, MarkdownReport, PageReport, TableReport,
};
use crate::system::ContextLayer;
use crate::system::transform::{Budget, Dedup, Extractive, Keep, Passthrough, Transform, Truncate};
use crate::text::rouge::RougeTokens;

pub(super) fn registry() -> Registry {
    let mut registry = Registry::empty();
    datasets(&mut registry);
    registry.catalog = dataset::catalog::DatasetCatalog::builtin();
    systems(&mut registry);
    evaluators(&mut registry);
    metrics(&mut registry);
    reporters(&mut registry);
    registry
}

fn datasets(registry: &mut Registry) {
    registry.datasets.register(
        "demo",
        "110 questions over 14 invented documents, with distractors; bundled",
        Arc::new(|request: &DatasetRequest| {
            let no = |what: String| BuildError::Other {
                what: format!("dataset `demo` has no {what}"),
                hint: Some("write `--dataset demo`".into()),
            };
            if let Some(config) = &request.config {
                return Err(no(format!("config `{config}`")));
            }
            if let Some(split) = &request.split {
                return Err(no(format!("split `{split}`")));
            }
            if request.path.is_some() {
                return Err(no("local copies: it is bundled".into()));
            }
            let demo = dataset::demo();
            Ok(match request.max_examples {
                Some(max) => demo.take(max),
                None => demo,
            })
        }),
    );
}

fn systems(registry: &mut Registry) {
    type Make = fn(&mut Params, &SystemContext) -> Result<Arc<dyn Transform>, BuildError>;
    let mut add = |name: &str, about: &str, make: Make| {
        registry.systems.register(
            name,
            about,
            Arc::new(move |mut params: Params, context: SystemContext| {
                let transform = make(&mut params, &context)?;
                params.finish()?;
                let SystemContext { name, answerer, .. } = context;
                Ok(Arc::new(ContextLayer::new(name, transform, answerer)) as _)
            }),
        );
    };
    add(
        "passthrough",
        "leaves the context as it is: the baseline",
        |_, _| Ok(Arc::new(Passthrough)),
    );
    add(
        "truncate",
        "keeps a part of the text: keep=head|tail|middle, ratio=0.5 or tokens=512",
        |params, context| {
            let keep = keep(params)?;
            let budget = budget(params, "truncate")?;
            let transform = Truncate::new(keep, budget, Arc::clone(&context.counter));
            Ok(Arc::new(
                transform.map_err(|error| BuildError::other(&error))?,
            ))
        },
    );
    add(
        "extractive",
        "keeps the sentences that rank best for the question: ratio=0.5 or tokens=512",
        |params, context| {
            let budget = budget(params, "extractive")?;
            let transform = Extractive::new(budget, Arc::clone(&context.counter));
            Ok(Arc::new(
                transform.map_err(|error| BuildError::other(&error))?,
            ))
        },
    );
    add(
        "dedup",
        "drops repeated sentences and paragraphs",
        |_, _| Ok(Arc::new(Dedup)),
    );
}

/// `keep=head|tail|middle`. `middle` cuts the middle out, as long-context
/// benchmarks call it; `ends` says the same.
fn keep(params: &mut Params) -> Result<Keep, BuildError> {
    match params.take("keep").as_deref() {
        None | Some("head") => Ok(Keep::Head),
        Some("tail") => Ok(Keep::Tail),
        Some("middle" | "ends") => Ok(Keep::Ends),
        Some(other) => Err(BuildError::Other {
            what: format!("parameter `keep` of `truncate` cannot be `{other}`"),
            hint: Some(
                "use `head`, `tail`, or `middle` to cut the middle and keep both ends".into(),
            ),
        }),
    }
}

fn budget(params: &mut Params, of: &str) -> Result<Budget, BuildError> {
    let ratio: Option<f64> = params.take_parsed("ratio", "a share above 0 and up to 1")?;
    let tokens: Option<u64> = params.take_parsed("tokens", "a whole number")?;
    match (ratio, tokens) {
        (Some(ratio), None) => Budget::ratio(ratio).map_err(|error| BuildError::other(&error)),
        (None, Some(tokens)) => Ok(Budget::Tokens(tokens)),
        (None, None) => {
            // A misspelt budget says more than a missing one.
            params.clone().finish()?;
            Err(BuildError::Other {
                what: format!("`{of}` needs a budget"),
                hint: Some(format!("write `{of}:ratio=0.5` or `{of}:tokens=512`")),
            })
        }
        (Some(_), Some(_)) => Err(BuildError::Other {
            what: format!("`{of}` has two budgets, `ratio` and `tokens`"),
            hint: Some("give one of them".into()),
        }),
    }
}

fn evaluators(registry: &mut Registry) {
    type Make = fn(&mut Params) -> Result<Arc<dyn Evaluator>, BuildError>;
    let mut add = |name: &str, about: &str, make: Make| {
        registry.evaluators.register(
            name,
            about,
            Arc::new(move |mut params: Params| {
                let evaluator = make(&mut params)?;
                params.finish()?;
                Ok(evaluator)
            }),
        );
    };
    add(
        "answer_quality",
        "token overlap with the gold answer: f1, exact_match, recall, contains; order=original|official",
        |params| {
            let order = match params.take("order").as_deref() {
                None | Some("original") => NormalOrder::Original,
                Some("official") => NormalOrder::Official,
                Some(other) => {
                    return Err(BuildError::Other {
                        what: format!("parameter `order` of `answer_quality` cannot be `{other}`"),
                        hint: Some(
                            "use `original`, or `official` to remove punctuation before articles"
                                .into(),
                        ),
                    });
                }
            };
            Ok(Arc::new(AnswerQuality::in_order(order)))
        },
    );
    add(
        "summarization_quality",
        "ROUGE-L, -1 and -2 as rouge-score computes them: stem=true, tokens=google|whitespace",
        |params| Ok(Arc::new(SummarizationQuality::new(rouge_tokens(params)?))),
    );
    add(
        "multiple_choice",
        "whether the gold option is chosen: extraction=decisive|mmlu_pro, score=mc_accuracy",
        |params| {
            let extraction = match params.take("extraction").as_deref() {
                None | Some("decisive") => ChoiceExtraction::Decisive,
                Some("mmlu_pro") => ChoiceExtraction::MmluPro,
                Some(other) => {
                    return Err(BuildError::Other {
                        what: format!(
                            "parameter `extraction` of `multiple_choice` cannot be `{other}`"
                        ),
                        hint: Some("use `decisive` or `mmlu_pro`".into()),
                    });
                }
            };
            let evaluator = MultipleChoiceAccuracy::new(extraction);
            Ok(match params.take("score") {
                Some(score) => Arc::new(evaluator.named(score)),
                None => Arc::new(evaluator),
            })
        },
    );
    add(
        "math_equivalence",
        "whether the final answer equals the gold answer as mathematics: math_equiv",
        |_| Ok(Arc::new(MathEquivalence)),
    );
    add(
        "nli_label_match",
        "whether the gold relation is stated: entailment, contradiction, neutral and their kin",
        |_| Ok(Arc::new(NliLabelMatch)),
    );
    add(
        "ifeval",
        "verifiable instructions, strict and loose: ifeval_strict, ifeval_loose and per instruction",
        |_| Ok(Arc::new(IfEvalChecker)),
    );
    add(
        "function_call_match",
        "calls of functions by BFCL's and xLAM's rules: call_accuracy; format=any|bfcl, score=call_accuracy",
        |params| {
            let format = match params.take("format").as_deref() {
                None | Some("any") => CallFormat::Any,
                Some("bfcl") => CallFormat::Bfcl,
                Some(other) => {
                    return Err(BuildError::Other {
                        what: format!(
                            "parameter `format` of `function_call_match` cannot be `{other}`"
                        ),
                        hint: Some(
                            "use `any`, or `bfcl` to accept only what BFCL's decoder accepts"
                                .into(),
                        ),
                    });
                }
            };
            let evaluator = FunctionCallMatch::new(format);
            Ok(match params.take("score") {
                Some(score) => Arc::new(evaluator.named(score)),
                None => Arc::new(evaluator),
            })
        },
    );
    add(
        "patch_overlap",
        "overlap of a patch with the gold one, which is not a score of SWE-bench: patch_overlap",
        |_| Ok(Arc::new(PatchOverlap)),
    );
    add(SwebenchReport::NAME, swebench::ABOUT, swebench::make);
    add(
        "scifact",
        "abstracts, labels and rationales of a claim (Wadden et al. 2020): scifact_rationale_f1, \
         scifact_abstract_f1, scifact_sentence_f1, and what micro F1 is made of",
        |_| Ok(Arc::new(SciFactEvidence)),
    );
    add(
        "scifact_labels",
        "what F1 over SUPPORT and CONTRADICT is made of: label_correct, label_predicted, label_expected",
        |_| Ok(Arc::new(SciFactLabels)),
    );
    add(
        RetrievalQuality::NAME,
        "recalled turns against marked evidence: recall_at_10, retrieval_recall, mrr, ndcg_at_10; k=10",
        |params| {
            let k: Option<NonZeroUsize> = params.take_parsed("k", "a whole number from 1")?;
            Ok(Arc::new(k.map_or_else(RetrievalQuality::default, |k| {
                RetrievalQuality::at(k.get())
            })))
        },
    );
    for (rule, name, about) in OfficialRule::ALL {
        registry.evaluators.register(
            name,
            about,
            Arc::new(move |mut params: Params| {
                let typed = params.take("cut");
                let typed = typed.as_deref().unwrap_or("none");
                let found = ResponseCut::NAMED.iter().find(|(name, _)| *name == typed);
                let Some((_, cut)) = found else {
                    return Err(BuildError::Other {
                        what: format!("parameter `cut` of `{name}` cannot be `{typed}`"),
                        hint: Some(
                            "use `first_line` or `last_line` to score that line only, `answer_line` \
                             for what stands after `Answer:`"
                                .into(),
                        ),
                    });
                };
                params.finish()?;
                Ok(Arc::new(OfficialScore::new(rule).cut(*cut)))
            }),
        );
    }
    #[cfg(feature = "sandbox")]
    registry.evaluators.register(
        code_execution::NAME,
        code_execution::ABOUT,
        code_execution::code_execution(Default::default()),
    );
    registry.evaluators.register(
        "llm_judge",
        judge::ABOUT,
        judge::llm_judge(LlmJudgeSettings::new("")),
    );
    for (rule, name, about) in JudgeRule::ALL {
        let factory = judge::official_judge(rule, LlmJudgeSettings::new(""));
        registry.evaluators.register(name, about, factory);
    }
}

/// `tokens=google|whitespace` and `stem=true|false`.
fn rouge_tokens(params: &mut Params) -> Result<RougeTokens, BuildError> {
    let stem: Option<bool> = params.take_parsed("stem", "`true` or `false`")?;
    match (params.take("tokens").as_deref(), stem) {
        (None | Some("google"), stem) => Ok(RougeTokens::Google {
            stem: stem.unwrap_or(false),
        }),
        (Some("whitespace"), None | Some(false)) => Ok(RougeTokens::Whitespace),
        (Some("whitespace"), Some(true)) => Err(BuildError::Other {
            what: "`summarization_quality` cannot stem tokens cut at white space".into(),
            hint: Some("leave out `stem` or `tokens=whitespace`".into()),
        }),
        (Some(other), _) => Err(BuildError::Other {
            what: format!("parameter `tokens` of `summarization_quality` cannot be `{other}`"),
            hint: Some("use `google` or `whitespace`".into()),
        }),
    }
}

fn metrics(registry: &mut Registry) {
    /// Takes the parameters that most metrics share.
    fn field(params: &mut Params, default: &str) -> String {
        params.take("score_field").unwrap_or_else(|| default.into())
    }
    fn threshold(params: &mut Params) -> Result<f64, BuildError> {
        let threshold = params.take_parsed("threshold", "a number")?;
        Ok(threshold.unwrap_or(DEFAULT_THRESHOLD))
    }
    let mut add =
        |name: &str, about: &str, make: fn(&mut Params) -> Result<Arc<dyn Metric>, BuildError>| {
            registry.metrics.register(
                name,
                about,
                Arc::new(move |mut params: Params| {
                    let metric = make(&mut params)?;
                    params.finish()?;
                    Ok(metric)
                }),
            );
        };
    add(
        "mean_score",
        "mean of a score over the scored rows",
        |params| Ok(Arc::new(MeanScore::of(field(params, "score")))),
    );
    add(
        "pass_rate",
        "share of scored rows at or above a threshold",
        |params| {
            Ok(Arc::new(PassRate::new(
                threshold(params)?,
                field(params, "score"),
            )))
        },
    );
    add(
        "compression_ratio",
        "1 - output tokens / input tokens",
        |_| Ok(Arc::new(CompressionRatio)),
    );
    add(
        "cost_of_pass",
        "output tokens spent per passing row",
        |params| {
            Ok(Arc::new(CostOfPass::new(
                threshold(params)?,
                field(params, "score"),
            )))
        },
    );
    add(
        "latency",
        "mean, median, p95 and p99 of the time inside the system",
        |_| Ok(Arc::new(Latency)),
    );
    add("per_dataset", "mean of a score per dataset", |params| {
        Ok(Arc::new(PerDatasetBreakdown::of(field(params, "f1"))))
    });
    add(
        "per_qa_type",
        "mean of a score per kind of question to a memory",
        |params| Ok(Arc::new(PerQATypeMetric::of(field(params, "f1")))),
    );
    add(
        "token_efficiency",
        "a score against the tokens that a memory handed over for it",
        |params| Ok(Arc::new(TokenEfficiencyMetric::of(field(params, "f1")))),
    );
}

fn reporters(registry: &mut Registry) {
    let reporters = &mut registry.reporters;
    reporters.register(
        "table",
        "a table for terminals",
        Arc::new(TableReport::default()),
    );
    reporters.register("markdown", "a Markdown table", Arc::new(MarkdownReport));
    reporters.register("json", "the whole result as JSON", Arc::new(JsonReport));
    reporters.register("jsonl", "one JSON object per row", Arc::new(JsonlReport));
    reporters.register("csv", "one CSV record per row", Arc::new(CsvReport));
    #[cfg(feature = "parquet")]
    reporters.register(
        "parquet",
        "rows as a Parquet file, for data frames and SQL",
        Arc::new(crate::report::ParquetReport),
    );
    reporters.register(
        "junit",
        "JUnit XML: a test case per gate, and per benchmark and system",
        Arc::new(JunitReport),
    );
    reporters.register(
        "html",
        "a page with charts and rows, one file",
        Arc::new(PageReport::default()),
    );
}
