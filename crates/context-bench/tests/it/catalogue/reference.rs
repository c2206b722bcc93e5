//! `docs/reference/datasets.md` is made from the specs, and must not be stale.
//! `CONTEXT_BENCH_UPDATE=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use context_bench::dataset::catalogue::{CATEGORIES, Catalogue, Config, Rule, Spec, Standing};
use serde::Deserialize;

use super::{fixture, is_update};

const HEAD: &str = "\
# Datasets

Made from the specs in `crates/context-bench/catalog/datasets` by a test; do not
edit. `docs/guide/datasets.md` says how to use them, `context-bench show NAME`
shows one with an example.
";

const OVERVIEW: &str = "
## By which rule

The figure that the authors of each dataset quote, and how ours stands to it: `same` is the
official rule, `differs` another one on purpose (why, and how to get the official one, stands
below), `none` a dataset without an official rule. The basis is how the rule is known: `code`
of the authors, `published` outputs with their figures, their `paper`, or `secondary`, another
harness. With `--evaluator` the scores are the user's choice, and with `prompt: plain` they are
not comparable with published figures; reports say so.

| Dataset | Headline | Rule | Ours | Basis | Verified |
|---|---|---|---|---|---|
";

const STORED: &str = "
## Figures on stored outputs

Outputs that others published, with the verdicts of the official scorer: its figure and ours,
and how many outputs both judge alike (`make agreement`). A quarter of each file, by a hash of
the record, is held out: while rules are mended nobody looks at what differs there. In sample
are files that were at hand when the rules were first written, so their held-out part is unseen
only by what was changed since.

| Dataset | Part | | n | Official | Ours | Alike | In sample | Against |
|---|---|---|---|---|---|---|---|---|
";

fn page() -> String {
    let catalogue = Catalogue::builtin();
    let specs: Vec<Arc<Spec>> = catalogue
        .names()
        .into_iter()
        .map(|name| catalogue.get(name).expect("valid"))
        .collect();
    let mut page = HEAD.to_owned();
    overview(&mut page, &specs);
    stored_outputs(&mut page);
    for category in CATEGORIES {
        let own = specs.iter().filter(|spec| spec.category() == category);
        let _ = write!(page, "\n## {category}\n");
        for spec in own {
            describe(&mut page, spec);
        }
    }
    page
}

/// The configs that are used when none is named, and all of them.
fn configs(spec: &Arc<Spec>) -> (Vec<Config>, Vec<Config>) {
    let usual = spec.select(None, None).expect("valid");
    let all = match spec.config_names().next() {
        Some(_) => spec.select(Some("*"), None).expect("valid"),
        None => usual.clone(),
    };
    (usual, all)
}

/// One line per dataset; configs with a rule of their own have theirs.
fn overview(page: &mut String, specs: &[Arc<Spec>]) {
    *page += OVERVIEW;
    for spec in specs {
        let (usual, all) = configs(spec);
        let main = (usual[0].headline(), usual[0].rule());
        overview_line(page, spec.name(), &usual[0]);
        for config in &all {
            if (config.headline(), config.rule()) != main {
                overview_line(page, &config.full_name(), config);
            }
        }
    }
}

fn overview_line(page: &mut String, name: &str, config: &Config) {
    let headline = config.headline().unwrap_or_default();
    let of_rule = |text: fn(&Rule) -> String| config.rule().map_or_else(|| "?".to_owned(), text);
    let _ = writeln!(
        page,
        "| {name} | `{headline}` | {} | {} | {} | {} |",
        of_rule(|rule| rule.name.replace('|', "\\|")),
        of_rule(|rule| rule.ours.to_string()),
        of_rule(|rule| rule.basis.to_string()),
        of_rule(|rule| rule.verified.clone().unwrap_or_else(|| "no".to_owned())),
    );
}

/// What an agreement test found, as it writes it down.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Agreement {
    dataset: String,
    /// Which of its outputs, such as a model or a config.
    #[serde(default)]
    part: String,
    n: usize,
    /// The official figure.
    official: Option<f64>,
    ours: Option<f64>,
    /// How many outputs the two judge alike.
    agree: Option<usize>,
    /// Not held out.
    seen: bool,
    /// Whether the file was at hand when the rules were written.
    in_sample: bool,
    /// Whose verdicts these are.
    note: String,
}

/// The official figure and ours on outputs that somebody else scored.
fn stored_outputs(page: &mut String) {
    let Ok(text) = fs::read_to_string(fixture("agreement.json")) else {
        return;
    };
    let found: Vec<Agreement> = serde_json::from_str(&text).expect("a list of agreements");
    *page += STORED;
    for one in &found {
        let figure = |value: Option<f64>| value.map_or("–".to_owned(), |x| format!("{x:.4}"));
        let agree = one.agree.map_or("–".to_owned(), |agree| {
            format!("{:.2} %", 100.0 * agree as f64 / one.n.max(1) as f64)
        });
        let _ = writeln!(
            page,
            "| {} | {} | {} | {} | {} | {} | {agree} | {} | {} |",
            one.dataset,
            one.part,
            if one.seen { "seen" } else { "held out" },
            one.n,
            figure(one.official),
            figure(one.ours),
            if one.in_sample { "yes" } else { "no" },
            one.note.replace('|', "\\|"),
        );
    }
}

fn describe(page: &mut String, spec: &Arc<Spec>) {
    let (usual, all) = configs(spec);
    let _ = write!(page, "\n### {}\n\n{}.\n\n", spec.name(), spec.about());
    let gated = if spec.is_gated() {
        ", gated: accept its terms on the hub first"
    } else {
        ""
    };
    if let Some(repo) = spec.hub_repo() {
        let split = usual[0].split();
        let split = split
            .map(|split| format!(", split `{split}`"))
            .unwrap_or_default();
        let _ = writeln!(page, "- Source: `{repo}`{split}{gated}");
    }
    let _ = writeln!(page, "- Licence: {}", spec.licence());
    let total = all.iter().map(Config::examples).sum::<Option<u64>>();
    if let Some(total) = total {
        let _ = writeln!(page, "- Examples: {total}");
    }
    let _ = writeln!(page, "- Fields: {}", quoted(&usual[0].fields()));
    let scored = |config: &Config| {
        (
            config.evaluators().to_vec(),
            config.score_field().map(str::to_owned),
        )
    };
    let usual_scored = scored(&usual[0]);
    let _ = writeln!(
        page,
        "- Scored by {}; its score is `{}`",
        quoted(&usual_scored.0),
        usual_scored.1.as_deref().unwrap_or_default()
    );
    rule(page, &usual[0], &usual[0]);
    if spec.config_names().next().is_some() {
        let names: Vec<&str> = spec.config_names().collect();
        let _ = writeln!(
            page,
            "- Configs (usually {}): {}",
            quoted(spec.default_configs()),
            quoted(&names)
        );
    }
    for config in all.iter().filter(|config| scored(config) != usual_scored) {
        let _ = writeln!(
            page,
            "- `{}` is scored by {}; its score is `{}`",
            config.full_name(),
            quoted(config.evaluators()),
            config.score_field().unwrap_or_default()
        );
    }
    for config in all.iter().filter(|config| config.name() != usual[0].name()) {
        rule(page, config, &usual[0]);
    }
}

/// The figures of a config, and by which rule it is scored.
fn rule(page: &mut String, config: &Config, known: &Config) {
    let figures: Vec<&str> = config.summary().map(|(name, _)| name).collect();
    let is_known = config.full_name() != known.full_name();
    let whose = match is_known {
        true => format!("`{}`: ", config.full_name()),
        false => String::new(),
    };
    let is_told = is_known && config.summary().eq(known.summary());
    if !figures.is_empty() && !is_told {
        let headline = config.headline().unwrap_or_default();
        let _ = writeln!(
            page,
            "- {whose}Figures: {}; the headline is `{headline}`",
            quoted(&figures)
        );
    }
    let Some(rule) = config.rule() else {
        return;
    };
    if is_known && known.rule() == Some(rule) {
        return;
    }
    let entries = rule.entries();
    let mut entries = entries.iter().map(|(label, text)| match *label {
        "rule" => text.clone(),
        label => format!("{label}: {text}"),
    });
    let name = entries.next().unwrap_or_default();
    let _ = writeln!(page, "- {whose}Rule: {name}");
    for entry in entries {
        let _ = writeln!(page, "  - {entry}");
    }
}

fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
}

#[test]
fn every_dataset_says_by_which_rule_it_is_scored() {
    let catalogue = Catalogue::builtin();
    for name in catalogue.names() {
        let spec = catalogue.get(name).expect("valid");
        let (_, all) = configs(&spec);
        for config in all {
            let name = config.full_name();
            let rule = config.rule();
            let rule = rule.unwrap_or_else(|| panic!("`{name}` has no `rule`"));
            let needs_why = rule.ours != Standing::Same;
            assert!(!needs_why || rule.why.is_some(), "{name} needs `why`");
            let differs = rule.ours == Standing::Differs;
            assert!(
                !differs || rule.official.is_some(),
                "{name} must say how to get the official score"
            );
        }
    }
}

#[test]
fn the_reference_page_is_up_to_date() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/datasets.md");
    let page = page();
    if is_update() {
        fs::write(&file, &page).expect("written");
    }
    let written = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        written == page,
        "docs/reference/datasets.md is stale: run this test with CONTEXT_BENCH_UPDATE=1"
    );
}
