//! What a result says about the run that made it: its settings, and how its numbers came about.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::Evaluate;
use crate::mask::Mask;
use crate::runner::MaxWorkers;
use crate::tokens::TextFields;

impl Evaluate {
    /// The settings that results show.
    pub(super) fn config(&self) -> Map<String, Value> {
        let mut config = Map::new();
        let systems: Vec<_> = self.systems.iter().map(|system| system.name()).collect();
        let evaluators = self.wiring.evaluators.iter().map(|e| e.name());
        let evaluators: Vec<_> = evaluators
            .filter(|name| !self.planned.hides(name))
            .collect();
        let metrics: Vec<_> = self.metrics.iter().map(|metric| metric.name()).collect();
        config.insert("systems".into(), json!(systems));
        config.insert("evaluators".into(), json!(evaluators));
        config.insert("metrics".into(), json!(metrics));
        config.insert("num_examples".into(), json!(0));
        let max_workers = match self.max_workers {
            MaxWorkers::Fixed(_) => json!(self.max_workers.most()),
            MaxWorkers::Auto { .. } => json!("auto"),
        };
        config.insert("max_workers".into(), max_workers);
        config
    }

    /// How the numbers of a result came about.
    pub(super) fn provenance(&self) -> Map<String, Value> {
        let mut provenance = Map::new();
        provenance.insert("version".into(), json!(env!("CARGO_PKG_VERSION")));
        provenance.insert("tokenizer".into(), json!(self.counter.name()));
        if let TextFields::Only(fields) = &self.text_fields {
            let fields = fields.iter().map(|field| Mask::Dots.setting(field));
            provenance.insert("text_fields".into(), fields.collect());
        }
        let workers = match self.max_workers {
            MaxWorkers::Fixed(_) => self.max_workers.most().to_string(),
            MaxWorkers::Auto { .. } => "auto".to_owned(),
        };
        provenance.insert("max_workers".into(), json!(workers));
        let fields: BTreeSet<_> = self
            .metrics
            .iter()
            .filter_map(|m| m.score_field())
            .collect();
        if !fields.is_empty() {
            provenance.insert("score_fields".into(), json!(fields));
        }
        if let Some(tap) = &self.tap {
            provenance.insert("tap".into(), Value::Object(tap.provenance()));
        }
        provenance.extend(self.planned.provenance());
        provenance
    }
}
