//! Sweeps and controls: arms that a spec asks for without naming each of them.
//!
//! `extractive:ratio=0.05..0.8/6` becomes six systems, `--control NAME` a second one like the first.
//! From here on they are systems like others.

use std::borrow::Cow;

use context_bench_error::suggest;
use serde_json::{Map, Value};

use super::PlanError;
use super::systems::names;
use crate::mask::Mask;
use crate::plan::{PlannedControl, PlannedSweep, PlannedSweepArm, RunSpec, SystemSpec};
use crate::registry::split_label;

/// The most arms of one sweep.
const MOST_ARMS: usize = 50;

/// A spec with the arms that it asks for.
pub(super) struct Expanded<'a> {
    pub(super) spec: Cow<'a, RunSpec>,
    pub(super) sweeps: Vec<PlannedSweep>,
    pub(super) controls: Vec<PlannedControl>,
}

/// Adds the arms of sweeps and controls to the systems of a spec.
pub(super) fn expand(spec: &RunSpec) -> Result<Expanded<'_>, PlanError> {
    let mut expanded = Expanded {
        spec: Cow::Borrowed(spec),
        sweeps: Vec::new(),
        controls: Vec::new(),
    };
    if spec.sweeps.is_empty() && spec.scoring.control.is_none() {
        return Ok(expanded);
    }
    let mut systems = spec.systems.clone();
    for text in &spec.sweeps {
        let sweep = Sweep::parse(text)?;
        expanded.sweeps.push(sweep.add_to(&mut systems, spec)?);
    }
    if let Some(name) = &spec.scoring.control {
        expanded.controls.push(control(&mut systems, name)?);
    }
    let mut with_arms = spec.clone();
    with_arms.systems = systems;
    with_arms.sweeps = Vec::new();
    with_arms.scoring.control = None;
    expanded.spec = Cow::Owned(with_arms);
    Ok(expanded)
}

/// What reports call each system.
fn called(systems: &[SystemSpec]) -> Result<Vec<String>, PlanError> {
    let names = names(systems)?;
    let named = systems.iter().zip(names).map(|(system, name)| {
        let own = system.system.as_deref().map(|typed| split_label(typed).0);
        let own = own.or(system.given.as_deref());
        match (system.name.as_deref().or(own), name.is_empty()) {
            (Some(own), true) => Mask::Dots.text(own),
            _ => name,
        }
    });
    Ok(named.collect())
}

/// A second system like the one of that name.
fn control(systems: &mut Vec<SystemSpec>, name: &str) -> Result<PlannedControl, PlanError> {
    let names = called(systems)?;
    let Some(at) = names.iter().position(|one| one == name) else {
        let hint = suggest::did_you_mean(name, names.iter().map(String::as_str))
            .unwrap_or_else(|| format!("use {}", suggest::quoted_list(&names, "or")));
        let what = format!("`--control` names `{name}`, which is none of the systems");
        return Err(PlanError::new(what).with_hint(hint));
    };
    let arm = format!("{name} (control)");
    let mut again = systems[at].clone();
    again.name = Some(arm.clone());
    systems.push(again);
    Ok(PlannedControl {
        system: name.to_owned(),
        control: arm,
    })
}

/// `[LABEL=]NAME:key=LOW..HIGH/STEPS[/log][,key=value,…]`.
struct Sweep {
    text: String,
    label: String,
    name: String,
    key: String,
    /// Settings that stay as they are.
    fixed: Vec<(String, String)>,
    values: Vec<String>,
}

impl Sweep {
    fn parse(text: &str) -> Result<Self, PlanError> {
        let wrong = |what: &str| {
            PlanError::new(format!("sweep `{text}`: {what}")).with_hint(
                "write `SYSTEM:SETTING=LOW..HIGH/STEPS`, such as `extractive:ratio=0.05..0.8/6`, \
                 with `/log` at the end for steps that grow",
            )
        };
        let (label, reference) = split_label(text);
        let (name, settings) = reference
            .split_once(':')
            .ok_or_else(|| wrong("it names no setting"))?;
        let label = if label == text.trim() { name } else { label };
        let (mut swept, mut fixed) = (None, Vec::new());
        for part in settings.split(',') {
            let (key, value) = part
                .split_once('=')
                .ok_or_else(|| wrong(&format!("`{}` has no value", part.trim())))?;
            let (key, value) = (key.trim().to_owned(), value.trim());
            match value.contains("..") {
                true if swept.is_some() => return Err(wrong("two settings have a range")),
                true => swept = Some((key, values(value).map_err(|what| wrong(&what))?)),
                false => fixed.push((key, value.to_owned())),
            }
        }
        let (key, values) = swept.ok_or_else(|| wrong("no setting has a range"))?;
        Ok(Self {
            text: text.to_owned(),
            label: label.trim().to_owned(),
            name: name.trim().to_owned(),
            key,
            fixed,
            values,
        })
    }

    /// Puts an arm for each value in place of the system that is swept, or at the end.
    fn add_to(
        &self,
        systems: &mut Vec<SystemSpec>,
        spec: &RunSpec,
    ) -> Result<PlannedSweep, PlanError> {
        let names = called(systems)?;
        let declared = names.iter().position(|one| *one == self.name);
        let base = declared.map(|at| systems[at].clone());
        let mut arms = Vec::new();
        let mut planned = Vec::new();
        for value in &self.values {
            let name = format!("{}:{}={value}", self.label, self.shown_key());
            planned.push(PlannedSweepArm {
                system: name.clone(),
                value: value.parse().unwrap_or(f64::NAN),
            });
            let mut arm = match &base {
                None => self.built_in(&self.name, &[], value),
                Some(base) => match &base.system {
                    Some(typed) => {
                        let (_, reference) = split_label(typed);
                        let (of, own) = reference.split_once(':').unwrap_or((reference, ""));
                        let own: Vec<&str> = own.split(',').collect();
                        self.built_in(of, &own, value)
                    }
                    None => self.changed(base, value)?,
                },
            };
            arm.name = Some(name);
            arms.push(arm);
        }
        // The baseline stays, whatever else is made of it.
        let baseline = spec.scoring.baseline.as_ref();
        match declared {
            Some(at) if baseline != Some(&names[at]) => drop(systems.splice(at..=at, arms)),
            _ => systems.extend(arms),
        }
        Ok(PlannedSweep {
            name: format!("{}:{}", self.label, self.shown_key()),
            setting: self.key.clone(),
            arms: planned,
        })
    }

    /// The swept key behind the settings that stay, so that arms of two sweeps differ.
    fn shown_key(&self) -> String {
        let fixed = self.fixed.iter();
        let fixed: String = fixed
            .map(|(key, value)| format!("{key}={value},"))
            .collect();
        format!("{fixed}{}", self.key)
    }

    fn built_in(&self, name: &str, own: &[&str], value: &str) -> SystemSpec {
        let changes = |part: &&&str| {
            let key = part.split('=').next().unwrap_or_default().trim();
            key != self.key && !self.fixed.iter().any(|(fixed, _)| fixed == key)
        };
        let own = own.iter().filter(|part| !part.trim().is_empty());
        let own = own.filter(changes).map(|part| part.trim().to_owned());
        let fixed = self
            .fixed
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let swept = format!("{}={value}", self.key);
        let params: Vec<String> = own.chain(fixed).chain([swept]).collect();
        SystemSpec {
            system: Some(format!("{name}:{}", params.join(","))),
            ..SystemSpec::default()
        }
    }

    /// An endpoint or a command with settings of this sweep.
    fn changed(&self, base: &SystemSpec, value: &str) -> Result<SystemSpec, PlanError> {
        let mut arm = base.clone();
        let all = self.fixed.iter().map(|(key, value)| (key, value.as_str()));
        for (key, value) in all.chain([(&self.key, value)]) {
            self.set(&mut arm, key, value)?;
        }
        Ok(arm)
    }

    fn set(&self, arm: &mut SystemSpec, key: &str, value: &str) -> Result<(), PlanError> {
        let refused = |what: String, hint: String| {
            Err(PlanError::new(format!("sweep `{}`: {what}", self.text)).with_hint(hint))
        };
        if let Some(command) = &arm.command {
            let place = format!("{{{key}}}");
            if !command.contains(&place) {
                return refused(
                    format!("the command of `{}` has no `{place}`", self.name),
                    format!(
                        "write `{place}` where the value goes, such as `my.py --{key} {place}`"
                    ),
                );
            }
            arm.command = Some(command.replace(&place, value));
            return Ok(());
        }
        if arm.proxy.is_none() {
            return refused(
                format!("`{}` has no settings that can be swept", self.name),
                "sweep a built-in system, an endpoint or a command".to_owned(),
            );
        }
        let number: f64 = value.parse().unwrap_or(f64::NAN);
        let whole = || Some(number.round() as u64).filter(|_| number >= 0.0);
        let bad = || {
            PlanError::new(format!(
                "sweep `{}`: `{key}` cannot be `{value}`",
                self.text
            ))
            .with_hint("a whole number is expected")
        };
        if let Some(member) = key.strip_prefix("body.") {
            let body = arm.extra_body.get_or_insert_with(Map::new);
            let number = serde_json::from_str(value).unwrap_or(Value::from(number));
            body.insert(member.to_owned(), number);
            return Ok(());
        }
        if let Some(header) = key.strip_prefix("header.") {
            let headers = arm.headers.get_or_insert_with(Default::default);
            headers.insert(header.to_owned(), value.to_owned());
            return Ok(());
        }
        match key.replace('-', "_").as_str() {
            "max_tokens" => arm.max_tokens = Some(whole().ok_or_else(bad)?),
            "temperature" => arm.temperature = Some(number),
            "timeout" => arm.timeout = Some(number),
            "max_retries" => {
                let retries = whole().and_then(|n| u32::try_from(n).ok());
                arm.max_retries = Some(retries.ok_or_else(bad)?);
            }
            _ => {
                let known = ["max-tokens", "temperature", "timeout", "max-retries"];
                let near = suggest::did_you_mean(key, known);
                return refused(
                    format!(
                        "the endpoint `{}` has no numeric setting `{key}`",
                        self.name
                    ),
                    near.unwrap_or_else(|| {
                        "use `max-tokens`, `temperature`, `timeout`, `max-retries`, `body.KEY` or \
                         `header.NAME`"
                            .to_owned()
                    }),
                );
            }
        }
        Ok(())
    }
}

/// The values of `LOW..HIGH/STEPS[/log]`, as they are written into settings.
fn values(range: &str) -> Result<Vec<String>, String> {
    let (low, rest) = range.split_once("..").unwrap_or((range, ""));
    let mut rest = rest.split('/').map(str::trim);
    let high = rest.next().unwrap_or_default();
    let steps = rest.next().ok_or("it does not say how many steps")?;
    let spacing = rest.next();
    if !matches!(spacing, None | Some("log")) || rest.next().is_some() {
        return Err(format!("`{range}` ends in something else than `/log`"));
    }
    let number = |text: &str| match text.trim().parse::<f64>() {
        Ok(number) if number.is_finite() => Ok(number),
        _ => Err(format!("`{}` is not a number", text.trim())),
    };
    let is_whole = !(low.contains(['.', 'e']) || high.contains(['.', 'e']));
    let (low, high) = (number(low)?, number(high)?);
    let steps: usize = match steps.parse() {
        Ok(steps) if (2..=MOST_ARMS).contains(&steps) => steps,
        _ => return Err(format!("the steps must be a number from 2 to {MOST_ARMS}")),
    };
    if low >= high {
        return Err("the range must go from the lower number to the higher".into());
    }
    if spacing.is_some() && low <= 0.0 {
        return Err("steps that grow need numbers above 0".into());
    }
    let mut values: Vec<String> = Vec::new();
    for step in 0..steps {
        let part = step as f64 / (steps - 1) as f64;
        let value = match spacing {
            _ if step == 0 => low,
            _ if step + 1 == steps => high,
            None => low + part * (high - low),
            Some(_) => low * (high / low).powf(part),
        };
        let text = match is_whole {
            true => format!("{:.0}", value.round()),
            false => four_digits(value),
        };
        if !values.contains(&text) {
            values.push(text);
        }
    }
    Ok(values)
}

/// A number with four digits that count, as short as it is then.
fn four_digits(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    let digits = 3 - value.abs().log10().floor() as i32;
    let text = format!("{value:.*}", digits.clamp(0, 12) as usize);
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hint as _;

    fn spec(systems: &[&str], sweeps: &[&str]) -> RunSpec {
        let system = |typed: &&str| match typed.split_once('=') {
            Some((name, url)) if url.starts_with("http") => SystemSpec {
                name: Some(name.to_owned()),
                proxy: Some(url.to_owned()),
                ..SystemSpec::default()
            },
            _ => SystemSpec {
                system: Some((*typed).to_owned()),
                ..SystemSpec::default()
            },
        };
        RunSpec {
            systems: systems.iter().map(system).collect(),
            sweeps: sweeps.iter().map(|text| (*text).to_owned()).collect(),
            ..RunSpec::default()
        }
    }

    #[test]
    fn ranges_have_values() {
        for (range, expected) in [
            ("0.05..0.8/6", "0.05 0.2 0.35 0.5 0.65 0.8"),
            ("2..20/4", "2 8 14 20"),
            ("1..3/9", "1 2 3"),
            ("64..1024/5/log", "64 128 256 512 1024"),
            ("0.01..1.0/3/log", "0.01 0.1 1"),
            ("-1..1/3", "-1 0 1"),
            ("0.1..0.9/4", "0.1 0.3667 0.6333 0.9"),
        ] {
            assert_eq!(values(range).unwrap().join(" "), expected, "{range}");
        }
        for range in [
            "1..2",
            "1..2/1",
            "2..1/3",
            "1..2/51",
            "a..2/3",
            "0..2/3/log",
            "1..2/3/lin",
        ] {
            assert!(values(range).is_err(), "{range}");
        }
    }

    #[test]
    fn a_sweep_becomes_arms() {
        let asked = spec(
            &[
                "passthrough",
                "half=truncate:ratio=0.5,keep=tail",
                "app=http://h",
            ],
            &[
                "extractive:ratio=0.1..0.3/2",
                "half:ratio=0.2..0.4/2",
                "app:max-tokens=10..20/2",
            ],
        );
        let expanded = expand(&asked).unwrap();
        let shown: Vec<String> = expanded
            .spec
            .systems
            .iter()
            .map(|one| {
                let typed = one.system.clone().unwrap_or_default();
                let name = one.name.clone().unwrap_or_default();
                format!("{name}|{typed}|{}", one.max_tokens.unwrap_or(0))
            })
            .collect();
        assert_eq!(
            shown,
            [
                "|passthrough|0",
                "half:ratio=0.2|truncate:keep=tail,ratio=0.2|0",
                "half:ratio=0.4|truncate:keep=tail,ratio=0.4|0",
                "app:max-tokens=10||10",
                "app:max-tokens=20||20",
                "extractive:ratio=0.1|extractive:ratio=0.1|0",
                "extractive:ratio=0.3|extractive:ratio=0.3|0",
            ]
        );
        let names: Vec<&str> = expanded
            .sweeps
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        assert_eq!(names, ["extractive:ratio", "half:ratio", "app:max-tokens"]);
        assert_eq!(expanded.sweeps[0].arms[1].value, 0.3);
    }

    #[test]
    fn a_control_is_a_second_system_like_the_first() {
        let mut asked = spec(&["passthrough", "app=http://h"], &[]);
        asked.scoring.control = Some("app".into());
        let expanded = expand(&asked).unwrap();
        let last = expanded.spec.systems.last().unwrap();
        assert_eq!(last.name.as_deref(), Some("app (control)"));
        assert_eq!(last.proxy, asked.systems[1].proxy);
        asked.scoring.control = Some("ap".into());
        let error = expand(&asked).err().unwrap();
        assert_eq!(error.hint().as_deref(), Some("did you mean `app`?"));
    }

    #[test]
    fn mistakes_are_told() {
        for (sweep, what) in [
            ("extractive", "it names no setting"),
            ("extractive:ratio=0.5", "no setting has a range"),
            ("extractive:a=1..2/2,b=1..2/2", "two settings have a range"),
            ("app:max-token=1..9/2", "no numeric setting `max-token`"),
        ] {
            let error = expand(&spec(&["app=http://h"], &[sweep])).err().unwrap();
            assert!(error.to_string().contains(what), "{error}");
            assert!(error.hint().is_some());
        }
    }
}
