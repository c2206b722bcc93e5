//! What the authors of datasets quote, and by which rule: figures beside the means of rows,
//! so that the right number is quoted. All reports for people share these lines.

use indexmap::{IndexMap, IndexSet};

use super::cell;
use crate::benchmark::{DatasetReport, TaskReport, in_order};
use crate::model::Measurement;
use crate::result::EvalResult;

/// How many rules are spelled out.
const RULES: usize = 6;
/// How many datasets a rule names.
const NAMES: usize = 4;
/// How many values of a field stand on a line of the terminal.
const VALUES: usize = 26;

/// A figure of a dataset for each system.
pub(super) struct Line<'a> {
    pub(super) dataset: &'a str,
    pub(super) figure: &'a str,
    /// Whether it is the one that the authors quote.
    pub(super) is_headline: bool,
    pub(super) cells: Vec<String>,
}

impl Line<'_> {
    /// The name of the figure, marked when it is the headline.
    pub(super) fn name(&self) -> String {
        match self.is_headline {
            true => format!("{} (headline)", self.figure),
            false => self.figure.to_owned(),
        }
    }
}

/// A figure of a dataset that is one for each value of a field.
pub(super) struct ByValue<'a> {
    pub(super) dataset: &'a str,
    pub(super) figure: &'a str,
    /// What each system has for each value.
    pub(super) values: IndexMap<&'a str, Vec<Option<Measurement>>>,
}

/// The reports about one dataset, system by system.
fn of_dataset<'a>(
    result: &'a EvalResult,
    dataset: &'a str,
) -> impl Iterator<Item = Option<&'a DatasetReport>> {
    let reports = result.tasks.values();
    reports.map(move |report| report.datasets.get(dataset))
}

/// The datasets of a result.
fn datasets(result: &EvalResult) -> IndexSet<&str> {
    let reports = result.tasks.values();
    reports
        .flat_map(|report| report.datasets.keys().map(String::as_str))
        .collect()
}

/// The first report about a dataset.
fn first<'a>(result: &'a EvalResult, dataset: &'a str) -> Option<&'a DatasetReport> {
    of_dataset(result, dataset).flatten().next()
}

/// The figures of all datasets that have more to say than the mean of rows.
pub(super) fn lines(result: &EvalResult) -> Vec<Line<'_>> {
    let mut lines = Vec::new();
    for dataset in datasets(result) {
        let Some(report) = first(result, dataset) else {
            continue;
        };
        if report.is_row_mean && report.figures.len() < 2 {
            continue;
        }
        for figure in report.figures.keys() {
            let cells = of_dataset(result, dataset).map(|report| {
                let found = report.and_then(|report| report.figures.get(figure));
                found.map_or_else(|| cell::NONE.into(), with_size)
            });
            lines.push(Line {
                dataset,
                figure,
                is_headline: report.headline.as_ref() == Some(figure),
                cells: cells.collect(),
            });
        }
    }
    lines
}

/// `0.612 ±0.041 (n 120)`.
fn with_size(figure: &Measurement) -> String {
    match (figure.value, figure.n) {
        (Some(_), Some(n)) => format!("{} (n {n})", cell::score(figure)),
        _ => cell::score(figure),
    }
}

/// The figures for each value of a field.
pub(super) fn by_value(result: &EvalResult) -> Vec<ByValue<'_>> {
    let mut found = Vec::new();
    for dataset in datasets(result) {
        let reports: Vec<Option<&DatasetReport>> = of_dataset(result, dataset).collect();
        let figures: IndexSet<&str> = reports
            .iter()
            .flatten()
            .flat_map(|report| report.by_value.keys().map(String::as_str))
            .collect();
        for figure in figures {
            let mut values: IndexMap<&str, Vec<Option<Measurement>>> = IndexMap::new();
            for (place, report) in reports.iter().enumerate() {
                let own = report.and_then(|report| report.by_value.get(figure));
                for (value, measured) in own.into_iter().flatten() {
                    let cells = values.entry(value);
                    cells.or_insert_with(|| vec![None; reports.len()])[place] = Some(*measured);
                }
            }
            values.sort_unstable_by(|one, _, other, _| in_order(one, other));
            found.push(ByValue {
                dataset,
                figure,
                values,
            });
        }
    }
    found
}

/// The figures for each value of a field, a line for each system: a table of them would
/// flood a terminal.
pub(super) fn compact(result: &EvalResult) -> Vec<String> {
    let systems: Vec<&String> = result.tasks.keys().collect();
    let mut lines = Vec::new();
    for ByValue {
        dataset,
        figure,
        values,
    } in by_value(result)
    {
        for (place, system) in systems.iter().enumerate() {
            let own = values.iter().filter_map(|(value, cells)| {
                let measured = cells.get(place).copied().flatten()?;
                let number = cell::score(&Measurement {
                    stderr: None,
                    ..measured
                });
                Some(format!("{} {number}", cell::shorten(value, 24)))
            });
            let own: Vec<String> = own.collect();
            let more = own.len().saturating_sub(VALUES);
            let mut text = own[..own.len() - more].join(", ");
            if more > 0 {
                text += &format!(" and {more} more");
            }
            let whose = match systems.len() {
                1 => String::new(),
                _ => format!(", {}", cell::shorten(system, 20)),
            };
            lines.push(format!("{} {figure}{whose}: {text}", cell::plain(dataset)));
        }
    }
    lines
}

/// Which datasets have a headline that is not a mean over rows, said once for all.
pub(super) fn notes(result: &EvalResult) -> Vec<String> {
    let mut notes: IndexMap<(&str, &str), Vec<&str>> = IndexMap::new();
    for dataset in datasets(result) {
        let report = first(result, dataset).filter(|report| !report.is_row_mean);
        if let Some(report) = report
            && let (Some(headline), Some(score)) = (&report.headline, &report.score_field)
        {
            let same = notes.entry((headline, score)).or_default();
            same.push(dataset);
        }
    }
    let notes = notes.into_iter();
    notes
        .map(|((headline, score), datasets)| {
            format!(
                "quote `{headline}` for {}: the mean of `{score}` over rows is another number",
                named(&datasets)
            )
        })
        .collect()
}

/// The rules of the datasets, each once.
pub(super) fn rules(result: &EvalResult) -> Vec<String> {
    let mut rules: IndexMap<String, Vec<&str>> = IndexMap::new();
    for dataset in datasets(result) {
        let rule = first(result, dataset).and_then(|report| report.rule.as_ref());
        if let Some(rule) = rule {
            rules.entry(rule.line()).or_default().push(dataset);
        }
    }
    let more = rules.len().saturating_sub(RULES);
    let mut lines: Vec<String> = rules
        .iter()
        .take(RULES)
        .map(|(line, datasets)| format!("{}: {}", named(datasets), cell::plain(line)))
        .collect();
    if more > 0 {
        lines.push(format!(
            "{more} more rules: `context-bench show NAME` shows that of a dataset"
        ));
    }
    lines
}

fn named(datasets: &[&str]) -> String {
    let shown: Vec<String> = datasets
        .iter()
        .take(NAMES)
        .map(|name| cell::shorten(name, 40))
        .collect();
    match datasets.len().saturating_sub(NAMES) {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Whether the figures are in the tables of tasks already.
pub(super) fn is_tabled(result: &EvalResult) -> bool {
    let mut reports = result.tasks.values();
    reports.any(|report: &TaskReport| report.is_shown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dataset::catalog::{AppliedRule, Basis, Deviation, Rule, Standing};
    use crate::model::{Summary, Unit};
    use crate::report::{HtmlTable, MarkdownReport, TableReport};

    fn rule(deviation: Option<Deviation>) -> AppliedRule {
        AppliedRule {
            rule: Rule {
                name: "geometric <mean>".into(),
                source: "ours".into(),
                basis: Basis::Paper,
                verified: None,
                ours: Standing::Same,
                why: None,
                official: None,
            },
            deviation,
        }
    }

    fn result(systems: &[&str], deviation: Option<Deviation>) -> EvalResult {
        let mut result = EvalResult::default();
        for (at, system) in systems.iter().enumerate() {
            let value = |value: f64| Measurement {
                n: Some(7),
                stderr: Some(0.01),
                ..Measurement::new(value, Unit::Number)
            };
            let of_place = at as f64 / 100.0;
            let report = DatasetReport {
                headline: Some("geo".into()),
                score_field: Some("rouge".into()),
                is_row_mean: false,
                figures: [
                    ("geo".to_owned(), value(0.25 + of_place)),
                    ("hard".to_owned(), Measurement::missing(Unit::Number)),
                ]
                .into_iter()
                .collect(),
                by_value: [(
                    "by_kind".to_owned(),
                    (0..40)
                        .map(|n| (format!("kind{n:02}"), value(0.5)))
                        .collect(),
                )]
                .into_iter()
                .collect(),
                rule: Some(rule(deviation)),
            };
            let tasks = TaskReport {
                datasets: [("own".to_owned(), report)].into_iter().collect(),
                ..TaskReport::default()
            };
            result.tasks.insert((*system).to_owned(), tasks);
            let summary = Summary::new().with("mean_score", value(0.5));
            result.summary.insert((*system).to_owned(), summary);
        }
        result
    }

    #[test]
    fn every_report_has_the_headline_and_the_rule() {
        for systems in [&["a"][..], &["a", "b"], &["a", "b", "c"]] {
            let result = result(systems, None);
            let table = TableReport::default().render(&result);
            let markdown = MarkdownReport.render(&result);
            let html = HtmlTable.render(&result);
            for (report, name) in [(&table, "mean>"), (&markdown, "mean>"), (&html, "mean&gt;")] {
                assert!(report.contains("geo (headline)"), "{report}");
                for at in 0..systems.len() {
                    let value = format!("0.{} ±0.010 (n 7)", 250 + 10 * at);
                    assert!(report.contains(&value), "{value}: {report}");
                }
                assert!(report.contains("quote `geo` for own"), "{report}");
                assert!(
                    report.contains(&format!("{name} (ours): official rule")),
                    "{report}"
                );
            }
            assert!(
                table.lines().all(|line| line.chars().count() <= 80),
                "{table}"
            );
            assert!(
                table.contains("and 14") && !table.contains("kind39"),
                "{table}"
            );
            assert!(markdown.contains("| kind39 | 0.500"), "{markdown}");
            assert!(html.contains("<th>kind39</th>"), "{html}");
        }
    }

    #[test]
    fn a_run_of_ones_own_claims_no_official_rule() {
        for (deviation, expected) in [
            (Deviation::Evaluators, "the evaluators are your choice"),
            (Deviation::Score, "another score stands for it"),
            (
                Deviation::PlainPrompt,
                "official rule, plain prompt: not comparable with published figures",
            ),
        ] {
            let rules = rules(&result(&["a"], Some(deviation)));
            assert!(rules[0].ends_with(expected), "{rules:?}");
        }
    }
}
