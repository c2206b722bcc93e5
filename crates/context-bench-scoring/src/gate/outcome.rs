//! [`GateOutcome`]: what became of a rule.

/// A rule checked against one system, over everything or over one benchmark.
#[derive(Debug, Clone, PartialEq)]
pub struct GateOutcome {
    /// The dataset, task or group; `None` for all together.
    pub benchmark: Option<String>,
    /// What became of it.
    pub state: GateState,
}

/// What became of a rule.
#[derive(Debug, Clone, PartialEq)]
pub enum GateState {
    /// What the rule says is not the case.
    Passed {
        /// The left side.
        left: f64,
        /// The right side.
        right: f64,
    },
    /// What the rule says is the case.
    Failed {
        /// The left side.
        left: f64,
        /// The right side.
        right: f64,
    },
    /// A figure is missing, so nobody can say. It counts as failed: a gate that sees nothing
    /// must not let everything through.
    NotMeasured {
        /// The figure, as the rule names it.
        figure: String,
    },
}

impl GateOutcome {
    /// Whether the gate lets the run through.
    pub fn is_passed(&self) -> bool {
        matches!(self.state, GateState::Passed { .. })
    }

    /// By how much a failed rule was missed; `None` when it passed or was not measured.
    pub fn missed_by(&self) -> Option<f64> {
        match self.state {
            GateState::Failed { left, right } => Some((left - right).abs()),
            _ => None,
        }
    }
}
