//! Context layers before tasks and official prompts: which part of the prompts they change,
//! or that there is none, reported before anything is sent.

use std::collections::HashMap;

use super::{Notice, PlanError, Planner, Systems};
use crate::benchmark::{Benchmark, Suite};
use crate::system::{CONTEXT_FIELDS, ContextPart};

impl Planner<'_> {
    /// Per task the field of its records that layers change.
    pub(super) fn context_fields(
        &mut self,
        systems: &Systems,
        suite: &Suite,
    ) -> Result<HashMap<String, String>, PlanError> {
        let mut fields = HashMap::new();
        let mut layers = systems.systems.iter();
        let Some(layer) = layers.find(|system| system.changes_context()) else {
            return Ok(fields);
        };
        check_prompts(systems, suite)?;
        for benchmark in suite.benchmarks().filter(|one| one.makes_prompts()) {
            let key = benchmark.key();
            let found = Parts::of(&**benchmark)?;
            let Some(field) = found.field else {
                let mut known = CONTEXT_FIELDS.to_vec();
                let last = known.pop().unwrap_or_default();
                return Err(PlanError::new(format!(
                    "`{}` changes the context, and the prompts of task `{key}` have none: they \
                     would be cut where the question is",
                    layer.name()
                ))
                .with_hint(format!(
                    "leave out the layer or the task; a context is a field of the record called {} \
                     or {last} whose text stands in the prompt as it is",
                    known.join(", ")
                )));
            };
            if found.without > 0 {
                let what = format!(
                    "task `{key}`: {} of {} prompts have no context; layers leave them as they are",
                    found.without, found.all
                );
                self.notices.push(Notice::new(what));
            }
            fields.insert(key.to_owned(), field.to_owned());
        }
        Ok(fields)
    }
}

/// A prompt that does not show the context is the same before every layer. The baseline reader
/// gets fields and no prompt.
fn check_prompts(systems: &Systems, suite: &Suite) -> Result<(), PlanError> {
    let mut asking = systems.systems.iter().zip(&systems.planned);
    let layer = asking.find(|(system, planned)| {
        let asks_model = planned.endpoint.is_some();
        asks_model && system.changes_context()
    });
    let Some((layer, _)) = layer else {
        return Ok(());
    };
    let blind = suite.benchmarks().find(|one| {
        let prompt = one.prompt();
        prompt.is_some_and(|prompt| !prompt.reads("context"))
    });
    match blind {
        None => Ok(()),
        Some(blind) => Err(PlanError::new(format!(
            "`{}` changes the context, and the official prompt of dataset `{}` does not show it: \
             every layer would send the same",
            layer.name(),
            blind.key(),
        ))
        .with_hint("say `--prompt plain`, or leave out the layer or the dataset")),
    }
}

/// The context parts of a task's prompts.
#[derive(Default)]
struct Parts {
    field: Option<&'static str>,
    without: usize,
    all: usize,
}

impl Parts {
    fn of(benchmark: &dyn Benchmark) -> Result<Self, PlanError> {
        let mut found = Self::default();
        for example in benchmark.examples() {
            let example = example?;
            found.all += 1;
            match ContextPart::of(&example) {
                Some(part) => drop(found.field.get_or_insert(part.field)),
                None => found.without += 1,
            }
        }
        Ok(found)
    }
}
