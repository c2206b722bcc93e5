//! Prices of a run: files read before anything is sent, on top of the list prices that come with the
//! program.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use context_bench_scoring::price::{BookFile, PriceBook, PriceError, RowPrices};

use super::{DEFAULT_MODEL, PlanError, ReopenedPlan};
use crate::embedded::embedded;
use crate::plan::{PlannedPrices, PlannedSystem, RunPlan, RunSpec};

/// What stands for the list prices that come with the program.
const BUILTIN: &str = "builtin";
const EMBEDDED: &[(&str, &str)] = embedded!["prices": "builtin"];

/// The largest file that is read; nobody has so many models.
const MAX_FILE: u64 = 4 << 20;

/// The list prices that come with the program.
fn builtin() -> Result<BookFile, PriceError> {
    let (name, text) = EMBEDDED[0];
    BookFile::parse(text, name)
}

/// Whether a path stands for the prices that come with the program.
pub(super) fn is_builtin(path: &Path) -> bool {
    path.as_os_str() == BUILTIN
}

/// Reads files of prices.
pub(super) fn read(paths: &[PathBuf]) -> Result<Vec<PlannedPrices>, PlanError> {
    let mut files = Vec::new();
    for path in paths {
        files.push(match is_builtin(path) {
            true => PlannedPrices {
                file: BUILTIN.to_owned(),
                text: String::new(),
            },
            false => file(path)?,
        });
    }
    books(&files).map_err(|error| PlanError::of(&error))?;
    Ok(files)
}

fn file(path: &Path) -> Result<PlannedPrices, PlanError> {
    let shown = path.display();
    let unreadable = |why: String| {
        PlanError::new(format!("cannot read the prices `{shown}`: {why}")).with_hint(
            "a file of prices is YAML, as docs/reference/prices.md describes it; `builtin` stands for \
             those that come with the program",
        )
    };
    let size = std::fs::metadata(path).map_err(|error| unreadable(error.to_string()))?;
    if size.len() > MAX_FILE {
        return Err(unreadable("it is larger than 4 MB".into()));
    }
    let text = std::fs::read_to_string(path).map_err(|error| unreadable(error.to_string()))?;
    BookFile::parse(&text, &shown.to_string()).map_err(|error| PlanError::of(&error))?;
    Ok(PlannedPrices {
        file: shown.to_string(),
        text,
    })
}

/// All prices of a run, and those that were asked for.
fn books(files: &[PlannedPrices]) -> Result<(PriceBook, PriceBook), PriceError> {
    let mut own = Vec::new();
    for one in files {
        own.push(match one.file == BUILTIN && one.text.is_empty() {
            true => builtin()?,
            false => BookFile::parse(&one.text, &one.file)?,
        });
    }
    let mut all = own.clone();
    let list = builtin()?;
    // Prices of another currency stand for themselves.
    if own.iter().all(|file| file.currency == list.currency) {
        all.insert(0, list);
    }
    Ok((PriceBook::new(all)?, PriceBook::new(own)?))
}

/// Systems of a run that are asked for the usual model, unless somebody named it.
pub(super) fn unnamed(spec: &RunSpec, systems: &[PlannedSystem]) -> Vec<String> {
    let named = spec.systems.iter().map(|system| &system.model);
    let mut named = named.chain([&spec.requests.model]);
    if named.any(|model| model.as_deref() == Some(DEFAULT_MODEL)) {
        return Vec::new();
    }
    let is_usual = |system: &&PlannedSystem| system.model.as_deref() == Some(DEFAULT_MODEL);
    let usual = systems.iter().filter(is_usual);
    usual.map(|system| system.name.clone()).collect()
}

/// The prices of the rows of runs.
pub(super) fn of_plans(plans: &[&RunPlan]) -> Option<Arc<RowPrices>> {
    let first = plans.first()?;
    // A plan of a later version may have prices that this one does not understand.
    let (book, own) = books(&first.scoring.prices).or_else(|_| books(&[])).ok()?;
    let all = || plans.iter();
    let unnamed = all().flat_map(|plan| plan.scoring.unnamed_models.iter().cloned());
    let tapped = all().flat_map(|plan| plan.systems.iter().filter(|one| one.arm.is_some()));
    let tapped = tapped.map(|system| system.name.clone());
    Some(Arc::new(
        RowPrices::new(book, own).unnamed(unnamed).tapped(tapped),
    ))
}

impl ReopenedPlan {
    /// Prices in place of those that the run had, if any are given.
    ///
    /// # Errors
    ///
    /// When a file cannot be read or is not right.
    pub fn priced(mut self, files: &[PathBuf]) -> Result<Self, PlanError> {
        if !files.is_empty() {
            self.manifest.plan.scoring.prices = read(files)?;
        }
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use context_bench_scoring::price::PriceEntry;

    use super::*;
    use crate::model::{ModelUse, WireUsage};

    fn cost(model: &str, buckets: [u64; 5]) -> Option<String> {
        let (book, _) = books(&[]).expect("valid");
        let [
            uncached,
            cache_read,
            cache_write_short,
            cache_write_long,
            output,
        ] = buckets;
        let usage = WireUsage {
            uncached,
            cache_read,
            cache_write_short,
            cache_write_long,
            output,
            ..WireUsage::default()
        };
        let cost = book.cost(&ModelUse::call(Some(model.into()), usage));
        cost.exact().map(|money| money.to_string())
    }

    #[test]
    fn list_prices_give_the_bills_that_are_known() {
        for (model, buckets, expected) in [
            (
                "gpt-4o-mini-2024-07-18",
                [36, 64, 0, 0, 5],
                Some("0.0000132"),
            ),
            (
                "claude-sonnet-4-5-20250929",
                [100, 30, 20, 0, 2],
                Some("0.000414"),
            ),
            (
                "anthropic/claude-sonnet-4-5",
                [1000, 4000, 3000, 2000, 0],
                Some("0.02745"),
            ),
            ("gpt-5.6-terra", [200, 2000, 400, 0, 0], Some("0.0018")),
            ("gpt-5.4", [172_001, 100_000, 0, 0, 1000], Some("0.932505")),
            (
                "claude-haiku-4-5-20251001",
                [0, 146_572, 29_446, 0, 0],
                Some("0.0514647"),
            ),
            ("gpt-4o", [1000, 0, 0, 0, 0], Some("0.0025")),
            ("gpt-4o-2024-08-06", [1000, 0, 0, 0, 0], Some("0.0025")),
            ("gpt-4o-2024-05-13", [1000, 0, 0, 0, 0], Some("0.005")),
            ("grok-4.5", [200_000, 0, 0, 0, 0], Some("0.8")),
            ("mock-model", [1, 0, 0, 0, 0], None),
            ("llama3:latest", [1, 0, 0, 0, 0], None),
        ] {
            assert_eq!(cost(model, buckets).as_deref(), expected, "{model}");
        }
    }

    #[test]
    fn every_list_price_says_where_it_is_from_and_is_there_once() {
        let file = builtin().expect("valid");
        assert_eq!(file.as_of.as_deref(), Some("2026-11-16"));
        let mut names = Vec::new();
        for entry in &file.entries {
            let PriceEntry {
                id,
                aliases,
                source,
                provider,
                ..
            } = entry;
            assert!(source.is_some() && !provider.is_empty(), "{id}");
            names.extend(aliases.iter().chain([id]).cloned());
        }
        let all = names.len();
        assert!(all >= 50, "{all}");
        names.sort();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn prices_of_another_currency_stand_for_themselves() {
        let euro = PlannedPrices {
            file: "e.yaml".into(),
            text: "schema: 1\nbook: {currency: EUR}\nmodels: [{id: m, input: 1}]\n".into(),
        };
        let (all, own) = books(std::slice::from_ref(&euro)).expect("valid");
        assert_eq!((all.currency(), all.files().len()), (Some("EUR"), 1));
        assert_eq!(own, all);
        let list = PlannedPrices {
            file: BUILTIN.into(),
            text: String::new(),
        };
        assert!(books(&[euro, list.clone()]).is_err());
        let (all, own) = books(&[list]).expect("valid");
        assert_eq!((all.files().len(), own.files().len()), (2, 1));
    }
}
