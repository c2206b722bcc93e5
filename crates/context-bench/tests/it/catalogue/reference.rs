//! `docs/reference/datasets.md` is made from the specs, and must not be stale.
//! `CONTEXT_BENCH_UPDATE=1` writes it anew.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use context_bench::dataset::catalogue::{CATEGORIES, Catalogue, Config, Spec};

use super::is_update;

const HEAD: &str = "\
# Datasets

Made from the specs in `crates/context-bench/catalog/datasets` by a test; do not
edit. `docs/guide/datasets.md` says how to use them, `context-bench show NAME`
shows one with an example.
";

fn page() -> String {
    let catalogue = Catalogue::builtin();
    let specs: Vec<Arc<Spec>> = catalogue
        .names()
        .into_iter()
        .map(|name| catalogue.get(name).expect("valid"))
        .collect();
    let mut page = HEAD.to_owned();
    for category in CATEGORIES {
        let own = specs.iter().filter(|spec| spec.category() == category);
        let _ = write!(page, "\n## {category}\n");
        for spec in own {
            describe(&mut page, spec);
        }
    }
    page
}

fn describe(page: &mut String, spec: &Arc<Spec>) {
    let usual = spec.select(None, None).expect("valid");
    let all = match spec.config_names().next() {
        Some(_) => spec.select(Some("*"), None).expect("valid"),
        None => usual.clone(),
    };
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
}

fn quoted<S: AsRef<str>>(names: &[S]) -> String {
    let quoted: Vec<String> = names
        .iter()
        .map(|name| format!("`{}`", name.as_ref()))
        .collect();
    quoted.join(", ")
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
