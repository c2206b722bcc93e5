//! `plan`: how many examples a verdict takes, before they are paid for.

use context_bench::planner::{ExamplesNeeded, ReopenedPlan, SizeQuestion, Spread};
use context_bench::registry::Registry;
use context_bench_scoring::text::thousands::thousands;
use serde_json::json;

use crate::args::PlanArgs;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::ListFormat;
use crate::{output, stores, surroundings};

pub(crate) fn main(args: &PlanArgs, registry: &Registry) -> Result<Exit, Failure> {
    let question = SizeQuestion {
        margin: args.margin,
        expected: args.expected,
        power: args.power,
    };
    let needed = match (&args.run, args.discordance, args.deviation) {
        (Some(run), None, None) => {
            let store = stores::open(args.cache_dir.as_deref())?;
            let pilot = ReopenedPlan::open(&store, run)?;
            let pilot = pilot.result(&surroundings::of(registry, true), false)?;
            question.from_pilot(&pilot)?
        }
        (None, Some(share), None) => vec![question.needed(Spread::Discordance(share))?],
        (None, None, Some(deviation)) => vec![question.needed(Spread::Deviation(deviation))?],
        _ => {
            return Err(Failure::bad_input(
                "`plan` needs one of `--discordance`, `--deviation` and `--run`",
            )
            .hint(
                "`--discordance 0.1` if systems differ on one example of ten; `--run last` takes it \
                 from a pilot run",
            ));
        }
    };
    match args.output {
        ListFormat::Json => output::json(&json!({
            "margin": args.margin,
            "expected": args.expected,
            "power": args.power,
            "confidence": 0.95,
            "needed": needed,
        }))?,
        ListFormat::Table => {
            let parts: Vec<String> = needed.iter().map(|one| shown(&question, one)).collect();
            output::stdout(&(parts.join("\n") + "\n"))?;
        }
    }
    Ok(Exit::Done)
}

/// What is needed, as text.
fn shown(question: &SizeQuestion, needed: &ExamplesNeeded) -> String {
    let who = match (&needed.system, &needed.dataset, needed.pilot) {
        (Some(system), dataset, Some(pilot)) => {
            let on = dataset.as_ref().map(|name| format!(" on {name}"));
            format!(
                "{system}{}, from a pilot of {pilot} examples: ",
                on.unwrap_or_default()
            )
        }
        _ => String::new(),
    };
    let spread = match needed.spread {
        Spread::Discordance(share) => {
            format!("systems differ on {:.1} % of examples", 100.0 * share)
        }
        Spread::Deviation(deviation) => format!("differences have a deviation of {deviation:.3}"),
    };
    let (margin, power) = (question.margin, 100.0 * question.power);
    let answer = match needed.examples {
        Some(examples) => format!(
            "{} examples show \"not worse by more than {margin}\" with a probability of {power:.0} %",
            thousands(examples)
        ),
        None => format!("no number of examples shows \"not worse by more than {margin}\""),
    };
    let mut powers: Vec<f64> = needed.table.iter().map(|cell| cell.power).collect();
    powers.sort_by(f64::total_cmp);
    powers.dedup();
    let mut lines = vec![format!("{who}{spread}"), answer];
    let heads = powers
        .iter()
        .map(|power| format!("{:>12}", format!("{:.0} %", 100.0 * power)));
    lines.push(format!("{:>8}{}", "margin", heads.collect::<String>()));
    for row in needed.table.chunks(powers.len().max(1)) {
        let cells = row.iter().map(|cell| match cell.examples {
            Some(examples) => format!("{:>12}", thousands(examples)),
            None => format!("{:>12}", "—"),
        });
        let margin = row.first().map_or(0.0, |cell| cell.margin);
        lines.push(format!("{:>8}{}", short(margin), cells.collect::<String>()));
    }
    lines.join("\n") + "\n"
}

fn short(value: f64) -> String {
    let text = format!("{value:.5}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}
