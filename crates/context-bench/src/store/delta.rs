//! `OutputDelta`: an output as its difference from the example.
//!
//! Most outputs repeat the example and add a response. Keeping only what
//! changed means that a long context is stored once, with its example.

use serde_json::{Map, Value};

use crate::model::{Example, Output};

/// What a system changed in the example's map.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct OutputDelta {
    /// Members that are new or have another value.
    pub set: Map<String, Value>,
    /// Members of the example that the output does not have.
    pub removed: Vec<String>,
}

impl OutputDelta {
    /// What turns the example into the output.
    pub(crate) fn between(example: &Example, output: &Output) -> Self {
        let changed = |(key, value): &(&String, &Value)| example.get(key) != Some(*value);
        let gone = |key: &&String| output.get(key).is_none();
        Self {
            set: output
                .fields()
                .iter()
                .filter(changed)
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            removed: example.fields().keys().filter(gone).cloned().collect(),
        }
    }

    /// The output again: members in the example's order, changed ones in their
    /// place, new ones behind. What the call cost is not part of it.
    pub(crate) fn apply(mut self, example: &Example) -> Output {
        let mut fields = Map::with_capacity(example.fields().len() + self.set.len());
        for (key, value) in example.fields() {
            if self.removed.iter().any(|gone| gone == key) {
                continue;
            }
            // `set` keeps its order only with the shifting removal.
            let value = self.set.shift_remove(key).unwrap_or_else(|| value.clone());
            fields.insert(key.clone(), value);
        }
        fields.extend(self.set);
        Output::from(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        Example::try_from(value).expect("a map").into_fields()
    }

    #[test]
    fn keeps_only_what_changed() {
        let example = Example::from(map(json!({"id": 1, "context": "long", "x": 1, "y": null})));
        let output = Output::from(map(
            json!({"id": 1, "context": "short", "y": null, "response": "r"}),
        ));
        let delta = OutputDelta::between(&example, &output);
        assert_eq!(delta.set, map(json!({"context": "short", "response": "r"})));
        assert_eq!(delta.removed, ["x"]);
        let keys: Vec<_> = delta.apply(&example).into_fields().into_iter().collect();
        let expected = json!({"id": 1, "context": "short", "y": null, "response": "r"});
        assert_eq!(keys, map(expected).into_iter().collect::<Vec<_>>());
    }

    fn values() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(json!(null)),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            (-1e9..1e9).prop_map(Value::from),
            "[a-c]{0,3}".prop_map(Value::from),
            Just(json!({"k": [1]})),
            Just(json!({"k": [1.0]})),
        ]
    }

    fn maps() -> impl Strategy<Value = Map<String, Value>> {
        proptest::collection::vec(("[a-f]", values()), 0..8)
            .prop_map(|members| members.into_iter().collect())
    }

    proptest! {
        #[test]
        fn any_output_survives(example in maps(), output in maps()) {
            let example = Example::from(example);
            let delta = OutputDelta::between(&example, &Output::from(output.clone()));
            let text = serde_json::to_string(&delta.set).expect("valid");
            let read = serde_json::from_str(&text).expect("valid");
            let delta = OutputDelta { set: read, ..delta };
            prop_assert_eq!(delta.apply(&example).into_fields(), output);
        }
    }
}
