//! `RowReader`: rows of a stored run one by one, as its report has them, for readers that never
//! hold all of them.

use std::ops::ControlFlow;
use std::sync::Arc;

use context_bench_page::PageRow;

use super::comparison::settings;
use super::overview::field;
use super::run::scored;
use super::{PlanError, ReopenedPlan, Surroundings};
use crate::comparison::ComparisonSettings;
use crate::evaluate::evaluate;
use crate::model::{EvalRow, RowText, Scores, TextsKept};
use crate::plan::RunPlan;
use crate::reopened_run::{ReopenedRun, RowPlace, TextSearch};
use crate::report::PageRows;
use crate::runner::Wiring;
use crate::store::StoreError;

/// Reads rows of a stored run. It is made once and used for as many rows as are wanted.
pub struct RowReader {
    stored: ReopenedRun,
    plan: RunPlan,
    wiring: Wiring,
    page: PageRows,
    comparison: ComparisonSettings,
}

impl RowReader {
    /// Rows without their texts from a place on, in the order of systems and examples. Those that
    /// are damaged are left out.
    pub fn rows_after(
        &self,
        after: RowPlace,
    ) -> impl Iterator<Item = Result<(RowPlace, EvalRow), StoreError>> + '_ {
        self.stored.rows_after(after, &self.wiring)
    }

    /// The row at a place, with its texts; `None` when it is damaged or not there.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn row_at(&self, place: RowPlace) -> Result<Option<EvalRow>, StoreError> {
        self.stored.row_at(place, &self.wiring.with_room())
    }

    /// Says of the rows at these places, in their order, whether their id, question, gold answer,
    /// answer or error have all words, until `told` says that it is enough.
    ///
    /// # Errors
    ///
    /// When the store cannot be read.
    pub fn search(
        &self,
        places: impl Iterator<Item = RowPlace>,
        search: &TextSearch,
        mut told: impl FnMut(bool) -> ControlFlow<()>,
    ) -> Result<(), StoreError> {
        let places = places.map(|place| (place.system, place.position, place.repeat));
        let nobody: Arc<str> = Arc::from("");
        let run = &self.stored.run.run;
        self.stored.store().visit_texts(run, places, |texts| {
            let Some(texts) = texts.filter(|texts| search.may_be_in(texts)) else {
                return told(false);
            };
            let mut parts = vec![
                texts.example_id.to_string(),
                texts.failure_message.unwrap_or_default().to_owned(),
            ];
            if let Some((example, output)) = texts.parsed() {
                let (id, no_scores) = (texts.example_id, Scores::new());
                let mut row = EvalRow::new(Arc::clone(&nobody), id, no_scores, 0, 0);
                row.text = Some(Box::new(RowText::of(&example, output.as_ref())));
                let page = self.page_row(&row, 0, &[]);
                let shown = [page.question, page.answer, page.response];
                parts.extend(shown.into_iter().flatten().map(|text| text.into_owned()));
            }
            told(search.is_in(&parts.join("\n")))
        })
    }

    /// A row as the page shows it; `scores` are the names of its values.
    pub fn page_row<'a>(&self, row: &'a EvalRow, system: usize, scores: &[String]) -> PageRow<'a> {
        self.page.row(row, system, scores)
    }

    /// The score of a row that counts for its dataset.
    pub fn quality(&self, row: &EvalRow) -> Option<f64> {
        let own = field(&self.plan, &row.dataset);
        let own = own.and_then(|field| row.score(&field));
        own.or_else(|| self.page.quality(row))
            .filter(|value| value.is_finite())
    }

    /// How its systems are compared with the baseline.
    pub fn comparison_settings(&self) -> &ComparisonSettings {
        &self.comparison
    }

    /// The score that verdicts are about, in words where datasets have scores of their own.
    pub fn score_name(&self) -> &str {
        let common = self.comparison.score.as_deref();
        common.unwrap_or("the score of each dataset")
    }

    /// The system that others are compared with, by number.
    pub fn baseline(&self) -> usize {
        let named = self.plan.scoring.baseline.as_deref();
        let systems = &self.stored.run.systems;
        let at = named.and_then(|name| systems.iter().position(|one| one.name == name));
        at.unwrap_or(0)
    }

    /// Rows that each system should get; `None` when that is not known.
    pub fn planned(&self) -> Option<usize> {
        let origin = self.stored.run.origin();
        origin.planned.or_else(|| self.plan.rows())
    }

    /// The run that the rows are of.
    pub fn run(&self) -> &ReopenedRun {
        &self.stored
    }
}

impl ReopenedPlan {
    /// A reader of single rows.
    ///
    /// # Errors
    ///
    /// When the run is no longer in the store.
    pub fn row_reader(&self, around: &Surroundings) -> Result<RowReader, PlanError> {
        let stored = self.stored.evaluators();
        let suite = self.suite_as_it_was(&stored, around);
        let plan = &self.manifest.plan;
        let comparison = settings(plan, &suite);
        let run = evaluate().evaluators(stored).keep_text(TextsKept::Contexts);
        let wiring = scored(run, suite, plan, self.stored.run.systems.len()).into_wiring();
        let stored = ReopenedRun::of(self.stored.store(), self.stored.run.clone());
        let provenance = stored.run.config.get("provenance");
        let page = PageRows::of(provenance.and_then(serde_json::Value::as_object));
        Ok(RowReader {
            plan: plan.clone(),
            stored,
            wiring,
            page,
            comparison,
        })
    }
}
