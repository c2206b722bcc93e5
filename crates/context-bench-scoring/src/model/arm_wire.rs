//! [`ArmWire`]: what a tap saw of one system in a run, as a whole.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::ModelUse;
use super::wire::{
    ArmRole, UnsentCalls, WireCalls, WireFacts, WireMethods, WireUsage, is_false, is_zero,
};

/// Calls that nobody could be told to have caused. They are billed on the arm.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct UnattributedCalls {
    /// How many.
    pub calls: u64,
    /// Bytes of their requests.
    pub bytes: u64,
    /// What the provider counted for them.
    pub usage: WireUsage,
    /// The same by model, as prices need it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ModelUse>,
    /// How many for which reason.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub by_reason: BTreeMap<String, u64>,
}

/// Calls of rows whose answers come from earlier runs, as they were stored with the answers.
/// What those runs could not attribute, and what rows cost that failed in them, is with those
/// runs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EarlierCalls {
    /// How many rows.
    pub rows: u64,
    /// Calls of the client.
    pub client_calls: u64,
    /// Calls upstream.
    pub calls: u64,
    /// Bytes of the bodies of their requests.
    pub bytes: u64,
    /// What the provider counted for them.
    pub usage: WireUsage,
    /// The same by model, as prices need it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ModelUse>,
}

impl EarlierCalls {
    fn count_row(&mut self, facts: &WireFacts) {
        self.rows += 1;
        self.client_calls += facts.client_calls;
        self.calls += facts.calls.total();
        self.bytes += facts.all_upstream_bytes;
        if let Some(usage) = &facts.usage_all {
            self.usage.add(usage);
        }
        add_uses(&mut self.uses, &facts.uses);
    }
}

fn add_uses(all: &mut Vec<ModelUse>, more: &[ModelUse]) {
    for one in more {
        one.clone().add_to(all);
    }
}

/// What a tap saw of one system in one run, as a whole: calls that were attributed and calls
/// that were not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmWire {
    /// What the arm is for.
    pub role: ArmRole,
    /// Calls of the client in this run.
    #[serde(default)]
    pub client_calls: u64,
    /// Bytes of their bodies.
    #[serde(default)]
    pub client_bytes: u64,
    /// All calls upstream in this run.
    #[serde(default)]
    pub calls: u64,
    /// Bytes of the bodies of their requests.
    #[serde(default)]
    pub bytes: u64,
    /// Those of them that never reached the provider.
    #[serde(default, skip_serializing_if = "UnsentCalls::is_none")]
    pub unsent: UnsentCalls,
    /// What the provider counted for all of them.
    #[serde(default)]
    pub usage: WireUsage,
    /// The same by model, as prices need it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub uses: Vec<ModelUse>,
    /// Calls that were attributed, by class.
    #[serde(default)]
    pub by_class: WireCalls,
    /// Client calls that a proxy answered by itself.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub local_answers: u64,
    /// Client calls that a proxy refused by itself, or did not answer.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub local_errors: u64,
    /// How they were attributed.
    #[serde(default)]
    pub attributed_by: WireMethods,
    /// Calls that could not be attributed.
    #[serde(default)]
    pub unattributed: UnattributedCalls,
    /// Whether figures of single rows are withheld because too many calls are unattributed.
    #[serde(default, skip_serializing_if = "is_false")]
    pub withheld: bool,
    /// Whether only calls that belong to rows are counted, because the run did not come to its
    /// end: what was nobody's is not known.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// The calls of rows whose answers come from earlier runs; none of them is counted above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub earlier: Option<EarlierCalls>,
    /// What is known of the proxy: version, effective configuration, carriers.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub facts: Map<String, Value>,
}

impl ArmWire {
    /// One of which nothing was seen yet.
    pub fn new(role: ArmRole) -> Self {
        Self {
            role,
            client_calls: 0,
            client_bytes: 0,
            calls: 0,
            bytes: 0,
            unsent: UnsentCalls::default(),
            usage: WireUsage::default(),
            uses: Vec::new(),
            by_class: WireCalls::default(),
            local_answers: 0,
            local_errors: 0,
            attributed_by: WireMethods::default(),
            unattributed: UnattributedCalls::default(),
            withheld: false,
            partial: false,
            earlier: None,
            facts: Map::new(),
        }
    }

    /// Counts the calls of a row, where nobody counted them as they were made.
    pub fn count_row(&mut self, facts: &WireFacts) {
        self.client_calls += facts.client_calls;
        self.client_bytes += facts.all_client_bytes;
        self.calls += facts.calls.total();
        self.bytes += facts.all_upstream_bytes;
        self.unsent.add(&facts.unsent);
        if let Some(usage) = &facts.usage_all {
            self.usage.add(usage);
        }
        add_uses(&mut self.uses, &facts.uses);
        self.by_class.add(&facts.calls);
        self.local_answers += facts.local_answers;
        self.local_errors += facts.local_errors;
        self.attributed_by.add(&facts.attributed_by);
    }

    /// Notes the calls of a row whose answer comes from an earlier run.
    pub fn count_earlier(&mut self, facts: &WireFacts) {
        self.earlier.get_or_insert_default().count_row(facts);
    }

    /// The share of calls that could not be attributed, or of their tokens where that is
    /// more; 0 without calls.
    pub fn unattributed_share(&self) -> f64 {
        let share = |part: u64, all: u64| match all {
            0 => 0.0,
            all => part as f64 / all as f64,
        };
        let calls = share(self.unattributed.calls, self.calls);
        let tokens = share(self.unattributed.usage.tokens(), self.usage.tokens());
        calls.max(tokens)
    }

    /// What the provider counted for everything that is shown of the arm: all calls of this run,
    /// whosever they are, and those of rows from earlier runs.
    pub fn billed(&self) -> WireUsage {
        let mut billed = self.usage;
        if let Some(earlier) = &self.earlier {
            billed.add(&earlier.usage);
        }
        billed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_larger_share_of_calls_and_tokens_counts() {
        let mut arm = ArmWire::new(ArmRole::Transform);
        assert_eq!(arm.unattributed_share(), 0.0);
        arm.calls = 100;
        arm.unattributed.calls = 1;
        assert_eq!(arm.unattributed_share(), 0.01);
        arm.usage.uncached = 1000;
        arm.unattributed.usage.uncached = 500;
        assert_eq!(arm.unattributed_share(), 0.5);
    }

    #[test]
    fn rows_are_counted_where_nobody_counted_calls() {
        let mut facts = WireFacts {
            client_calls: 2,
            all_client_bytes: 900,
            all_upstream_bytes: 700,
            usage_all: Some(WireUsage {
                uncached: 50,
                unknown: 1,
                ..WireUsage::default()
            }),
            ..WireFacts::default()
        };
        facts.calls.primary = 1;
        facts.calls.retry = 2;
        let mut arm = ArmWire::new(ArmRole::Transform);
        arm.count_row(&facts);
        arm.count_row(&facts);
        assert_eq!((arm.client_calls, arm.client_bytes), (4, 1800));
        assert_eq!((arm.calls, arm.bytes, arm.by_class.retry), (6, 1400, 4));
        assert_eq!((arm.usage.input(), arm.usage.unknown), (100, 2));
        arm.count_earlier(&facts);
        let earlier = arm.earlier.unwrap_or_default();
        assert_eq!((earlier.rows, earlier.calls, earlier.bytes), (1, 3, 700));
        // What was made earlier is no part of this run.
        assert_eq!(arm.calls, 6);
    }
}
