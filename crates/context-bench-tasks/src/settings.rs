//! How a task is scored and generated: from its file, its format or the defaults.

use context_bench_error::suggest::{did_you_mean, quoted_list};
use serde_json::{Map, Value, json};

use crate::error::{Error, Result, Warning};
use crate::fields::Fields;
use crate::filter::{Filter, Pipeline};
use crate::format::Format;
use crate::metric::Metric;
use crate::registered::Modules;
use crate::task::{OutputType, Prompting};

/// Whether what the file says about scoring was meant for another output type.
fn replaced(fields: &Fields<'_>, format: Option<&Format>, output: OutputType) -> bool {
    let declared = fields
        .config
        .text("output_type")
        .unwrap_or("generate_until");
    format.is_some() && declared != output.name()
}

fn scorer<'f>(fields: &'f Fields<'_>, format: Option<&'f Format>) -> Option<&'f str> {
    let own = fields.config.get("scorer").and_then(|scorer| match scorer {
        Value::String(name) => Some(name.as_str()),
        other => other.get("type").and_then(Value::as_str),
    });
    format.and_then(|format| format.scorer.as_deref()).or(own)
}

pub(crate) fn metrics(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
    warnings: &mut Vec<Warning>,
) -> Result<Vec<Metric>> {
    let process = fields.config.get("process_results").is_some();
    let listed = fields.config.get("metric_list").is_some();
    if listed && !replaced(fields, format, output) {
        return fields.with("metric_list", |value| {
            Metric::list(
                value,
                output,
                process,
                &Modules::of(fields.config),
                warnings,
            )
        });
    }
    if listed {
        let name = format.map_or("", |format| &format.name);
        warnings.push(Warning::new(format!(
            "format `{name}` changes the output type; metrics, filters and generation settings of the file are not used"
        )));
    }
    if output == OutputType::GenerateUntil && scorer(fields, format).is_some() {
        let list = json!([{"metric": "exact_match", "aggregation": "mean", "higher_is_better": true, "ignore_case": true, "ignore_punctuation": true}]);
        return Metric::list(&list, output, process, &Modules::default(), warnings);
    }
    Metric::default_list(output)
}

pub(crate) fn filters(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
) -> Result<Vec<Pipeline>> {
    if fields.config.get("filter_list").is_some() && !replaced(fields, format, output) {
        let modules = Modules::of(fields.config);
        return fields.with("filter_list", |value| Pipeline::list(value, &modules));
    }
    if output != OutputType::GenerateUntil {
        return Ok(Pipeline::default_list());
    }
    let several = fields.whole("repeats")?.is_some_and(|n| n > 1);
    let steps = match scorer(fields, format) {
        // Several answers are all scored, for pass@k.
        None if several => json!([{"function": "noop"}]),
        None => return Ok(Pipeline::default_list()),
        Some("first_token") => {
            json!([{"function": "remove_whitespace"}, {"function": "take_first"}])
        }
        Some("regex") => json!([{"function": "regex"}, {"function": "take_first"}]),
        Some("choice_match") => json!([{"function": "take_first"}]),
        // The last one counts: the instruction may be repeated in the reasoning.
        Some("final_answer") => json!([
            {"function": "regex", "regex_pattern": r"(?i)the final answer is:?\s*(.*)", "group_select": -1},
            {"function": "take_first"}
        ]),
        Some(other) => {
            let names = ["first_token", "regex", "choice_match", "final_answer"];
            let hint = did_you_mean(other, names)
                .unwrap_or_else(|| format!("there are {}", quoted_list(&names, "and")));
            return Err(Error::new(format!("unknown scorer `{other}`")).with_hint(hint));
        }
    };
    let steps: Vec<Filter> = steps
        .as_array()
        .into_iter()
        .flatten()
        .map(|step| Filter::parse(step, &Modules::default()))
        .collect::<Result<_>>()?;
    Ok(vec![Pipeline {
        name: "none".into(),
        steps,
    }])
}

pub(crate) fn generation(
    fields: &Fields<'_>,
    format: Option<&Format>,
    output: OutputType,
    prompting: &Prompting,
    warnings: &mut Vec<Warning>,
) -> Result<Map<String, Value>> {
    let given = fields.config.get("generation_kwargs");
    if output != OutputType::GenerateUntil {
        if given.is_some() {
            warnings.push(Warning::new(format!(
                "`generation_kwargs` has no effect on `{}`",
                output.name()
            )));
        }
        return Ok(Map::new());
    }
    // Reasoning has blank lines in it; cutting there would cut the answer off.
    let reasoning = format.is_some_and(|format| format.name == "cot");
    let stop = if reasoning {
        json!([])
    } else {
        json!([prompting.fewshot_delimiter])
    };
    let given = given.filter(|_| !replaced(fields, format, output));
    let Some(given) = given else {
        return Ok(Map::from_iter([
            ("temperature".to_owned(), json!(0.0)),
            ("do_sample".to_owned(), json!(false)),
            ("max_gen_toks".to_owned(), json!(256)),
            ("until".to_owned(), stop),
        ]));
    };
    let Some(map) = given.as_object() else {
        return fields.with("generation_kwargs", |value| {
            Err(Error::new(format!(
                "a mapping was expected, found `{value}`"
            )))
        });
    };
    let mut map = map.clone();
    match map.get("until") {
        None => {
            warnings.push(Warning::new(
                "`generation_kwargs` names no `until`; generation stops at the example delimiter",
            ));
            map.insert("until".into(), stop);
        }
        Some(Value::String(one)) => {
            let one = json!([one]);
            map.insert("until".into(), one);
        }
        Some(_) => {}
    }
    if let Some(temperature) = map.get("temperature").and_then(Value::as_f64) {
        map.insert("temperature".into(), json!(temperature));
    }
    Ok(map)
}
