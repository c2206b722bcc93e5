//! Judges by name, the general one and those of benchmarks: their parameters, and texts
//! from files.

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;

use context_bench_error::suggest;
use serde_json::{Map, Value};

use super::{BuildError, EvaluatorFactory, Params};
use crate::evaluator::{
    JudgeMode, JudgeRule, JudgeTemplate, LlmJudge, LlmJudgeError, LlmJudgeSettings, OfficialJudge,
    OfficialJudgeSettings, Reference, SwebenchReport,
};
use crate::text::verdict::Scale;

/// The judge that belongs to no benchmark.
const GENERAL: &str = "llm_judge";

pub(super) const ABOUT: &str =
    "a model rates the answer, or with mode=pairwise compares it: url, scale=1-5, rubric=@FILE";

/// A factory for `llm_judge` with these settings, which its parameters change.
/// Programs register it again with the address and key that the user gave; an
/// empty `base_url` asks for the parameter `url`.
pub fn llm_judge(settings: LlmJudgeSettings) -> EvaluatorFactory {
    Arc::new(move |params: Params| {
        let (settings, files) = read(params, settings.clone())?;
        let judge = LlmJudge::new(settings).map_err(|error| files.explain(&error))?;
        Ok(Arc::new(judge) as _)
    })
}

/// A factory for the judge of a benchmark, asked where these settings say. Programs
/// register it again as they do [`llm_judge`].
pub fn official_judge(rule: JudgeRule, settings: LlmJudgeSettings) -> EvaluatorFactory {
    Arc::new(move |params: Params| {
        let settings = official_judge_settings(rule, params, settings.clone())?;
        let judge = OfficialJudge::new(settings).map_err(|error| BuildError::other(&error))?;
        Ok(Arc::new(judge) as _)
    })
}

/// Whether an evaluator needs what only the user can name, a judge or a report, so that it
/// cannot be made of its name alone.
pub fn needs_more(name: &str) -> bool {
    name == GENERAL || name == SwebenchReport::NAME || JudgeRule::named(name).is_some()
}

/// The settings of a benchmark's judge after parameters as they are written everywhere:
/// `url`, `model`, `max_tokens`, `temperature`, `extra_body`, and for AlpacaEval `baseline`
/// and `difficulty`.
///
/// # Errors
///
/// When a parameter is unknown or cannot be read, or there is no endpoint.
pub fn official_judge_settings(
    rule: JudgeRule,
    mut params: Params,
    mut settings: LlmJudgeSettings,
) -> Result<OfficialJudgeSettings, BuildError> {
    let name = rule.name();
    asked(&mut params, name, &mut settings)?;
    let mut settings = OfficialJudgeSettings::new(rule, settings);
    if rule == JudgeRule::AlpacaEval {
        if let Some(baseline) = params.take("baseline") {
            settings.baseline = baseline;
        }
        if let Some(file) = params.take("difficulty") {
            settings.difficulties = Arc::new(difficulties(&file)?);
        }
    }
    params.finish()?;
    has_endpoint(name, &settings.judge)?;
    Ok(settings)
}

/// The authors' file of difficulties: a CSV with the number of the instruction first, and
/// how difficult it is in the column `instruction_difficulty`.
fn difficulties(file: &str) -> Result<BTreeMap<String, f64>, BuildError> {
    let wrong = |what: String| BuildError::Other {
        what: format!("{file}: {what}"),
        hint: Some(
            "give `instruction_difficulty.csv` of the dataset `tatsu-lab/alpaca_eval`, as it is"
                .into(),
        ),
    };
    let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
    let mut lines = text.lines();
    let mut columns = lines.next().unwrap_or_default().split(',');
    let column = columns.position(|name| name.trim() == "instruction_difficulty");
    let column = column.filter(|column| *column > 0);
    let column = column.ok_or_else(|| wrong("no column `instruction_difficulty`".into()))?;
    let mut found = BTreeMap::new();
    for (at, line) in lines
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let number = cells.get(column).and_then(|cell| cell.parse::<f64>().ok());
        let number = number.filter(|number| number.is_finite());
        let number = number.ok_or_else(|| wrong(format!("line {} has no number", at + 2)))?;
        found.insert(cells[0].to_owned(), number);
    }
    Ok(found)
}

/// The settings of a judge after parameters as they are written everywhere: `mode`, `scale`,
/// `baseline`, `rubric`, `template`, `reference`, `max_tokens`, `temperature`, `extra_body`,
/// `score`.
///
/// # Errors
///
/// When a parameter is unknown or cannot be read, or there is no endpoint.
pub fn judge_settings(
    params: Params,
    settings: LlmJudgeSettings,
) -> Result<LlmJudgeSettings, BuildError> {
    read(params, settings).map(|(settings, _)| settings)
}

/// Where texts came from, for errors.
#[derive(Default)]
struct Files {
    template: Option<String>,
}

impl Files {
    /// The error with the file that is to blame.
    fn explain(&self, error: &LlmJudgeError) -> BuildError {
        match (error, &self.template) {
            (LlmJudgeError::Template(error), Some(file)) => in_file(BuildError::other(error), file),
            _ => BuildError::other(error),
        }
    }
}

fn in_file(error: BuildError, file: &str) -> BuildError {
    match error {
        BuildError::Other { what, hint } => BuildError::Other {
            what: format!("{file}: {what}"),
            hint,
        },
        other => other,
    }
}

fn read(
    mut params: Params,
    mut settings: LlmJudgeSettings,
) -> Result<(LlmJudgeSettings, Files), BuildError> {
    let params = &mut params;
    let mut files = Files::default();
    asked(params, GENERAL, &mut settings)?;
    mode(params, &mut settings)?;
    if let Some((text, _)) = text(params, GENERAL, "rubric")? {
        settings.rubric = Some(text.trim_end().to_owned());
    }
    if let Some((text, file)) = text(params, GENERAL, "template")? {
        let explain = |error| match &file {
            Some(file) => in_file(BuildError::other(&error), file),
            None => BuildError::other(&error),
        };
        settings.template = Some(JudgeTemplate::parse(&text).map_err(explain)?);
        files.template = file;
    }
    let references = [
        ("auto", Reference::Auto),
        ("on", Reference::On),
        ("off", Reference::Off),
    ];
    if let Some(reference) = one_of(params, "reference", &references)? {
        settings.reference = reference;
    }
    if let Some(score) = params.take("score") {
        settings.score = score;
    }
    params.clone().finish()?;
    has_endpoint(GENERAL, &settings)?;
    Ok((settings, files))
}

/// The parameters of every judge: whom to ask, and how.
fn asked(params: &mut Params, of: &str, settings: &mut LlmJudgeSettings) -> Result<(), BuildError> {
    if let Some(url) = params.take("url") {
        settings.base_url = url;
    }
    if let Some(model) = params.take("model") {
        settings.model = model;
    }
    if let Some(tokens) = params.take_parsed("max_tokens", "a whole number")? {
        settings.max_tokens = Some(tokens);
    }
    match params.take("temperature").as_deref() {
        None => {}
        Some("none") => settings.temperature = None,
        Some(typed) => settings.temperature = Some(number(of, "temperature", typed)?),
    }
    if let Some((text, file)) = text(params, of, "extra_body")? {
        settings.extra_body = object(of, &text, file.as_deref().unwrap_or("extra_body"))?;
    }
    Ok(())
}

fn has_endpoint(of: &str, settings: &LlmJudgeSettings) -> Result<(), BuildError> {
    if settings.base_url.is_empty() {
        return Err(BuildError::Other {
            what: format!("`{of}` has no endpoint to ask"),
            hint: Some(format!("pass `--judge-url URL` or write `{of}:url=URL`")),
        });
    }
    Ok(())
}

/// `mode=rating|pairwise` with `scale=1-5` or `baseline=FIELD`.
fn mode(params: &mut Params, settings: &mut LlmJudgeSettings) -> Result<(), BuildError> {
    let pairwise = one_of(params, "mode", &[("rating", false), ("pairwise", true)])?;
    let (scale, baseline) = (params.take("scale"), params.take("baseline"));
    let pairwise = pairwise.unwrap_or(matches!(settings.mode, JudgeMode::Pairwise { .. }));
    let useless = |key: &str, other: &str| BuildError::Other {
        what: format!("parameter `{key}` of `llm_judge` has no effect with `mode={other}`"),
        hint: Some(format!("leave out `{key}` or `mode`")),
    };
    match (pairwise, scale, baseline) {
        (true, Some(_), _) => return Err(useless("scale", "pairwise")),
        (false, _, Some(_)) => return Err(useless("baseline", "rating")),
        (true, None, Some(baseline)) => settings.mode = JudgeMode::Pairwise { baseline },
        (true, None, None) => {
            if !matches!(settings.mode, JudgeMode::Pairwise { .. }) {
                settings.mode = JudgeMode::pairwise();
            }
        }
        (false, Some(typed), None) => {
            let scale = Scale::from_str(&typed).map_err(|error| BuildError::other(&error))?;
            settings.mode = JudgeMode::Rating { scale };
        }
        (false, None, None) => {
            if matches!(settings.mode, JudgeMode::Pairwise { .. }) {
                settings.mode = JudgeMode::default();
            }
        }
    }
    Ok(())
}

/// A text as typed, or with `@` the content of a file and its name.
fn text(
    params: &mut Params,
    of: &str,
    key: &'static str,
) -> Result<Option<(String, Option<String>)>, BuildError> {
    let Some(typed) = params.take(key) else {
        return Ok(None);
    };
    let Some(file) = typed.strip_prefix('@') else {
        return Ok(Some((typed, None)));
    };
    let text = std::fs::read_to_string(file).map_err(|error| BuildError::Other {
        what: format!("cannot read the {key} of `{of}` from `{file}`: {error}"),
        hint: Some(format!(
            "write `{key}=@PATH`, with the path seen from the current folder"
        )),
    })?;
    Ok(Some((text, Some(file.to_owned()))))
}

fn object(of: &str, text: &str, place: &str) -> Result<Map<String, Value>, BuildError> {
    let wrong = |what: String| BuildError::Other {
        what,
        hint: Some("write an object such as {\"max_completion_tokens\": 64}".into()),
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong(format!(
            "{place}: the extra body of `{of}` is not a JSON object"
        ))),
        Err(error) => Err(wrong(format!("{place}: {error}"))),
    }
}

fn number(of: &str, key: &str, typed: &str) -> Result<f64, BuildError> {
    let number = typed
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    number.ok_or_else(|| BuildError::Other {
        what: format!("parameter `{key}` of `{of}` must be a number, found `{typed}`"),
        hint: Some(format!("write `{key}=0`, or `{key}=none` to send none")),
    })
}

/// One of several words.
fn one_of<T: Copy>(
    params: &mut Params,
    key: &'static str,
    known: &[(&str, T)],
) -> Result<Option<T>, BuildError> {
    let Some(typed) = params.take(key) else {
        return Ok(None);
    };
    let found = known.iter().find(|(name, _)| *name == typed);
    let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
    match found {
        Some((_, value)) => Ok(Some(*value)),
        None => Err(BuildError::Other {
            what: format!("parameter `{key}` of `llm_judge` cannot be `{typed}`"),
            hint: Some(format!("use {}", suggest::quoted_list(&names, "or"))),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Hint as _;

    #[test]
    fn difficulties_of_the_authors_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let read = |text: &str| {
            let path = folder.path().join("d.csv");
            std::fs::write(&path, text).expect("written");
            difficulties(&path.display().to_string()).map_err(|error| error.to_string())
        };
        let found = read(",instruction_difficulty\n0,0.5\n7,-1.25\n\n").expect("read");
        assert_eq!(
            found.into_iter().collect::<Vec<_>>(),
            [("0".into(), 0.5), ("7".into(), -1.25)]
        );
        assert!(read("a,b\n0,1\n").is_err_and(|error| error.contains("no column")));
        assert!(read(",instruction_difficulty\n0,\n").is_err_and(|error| error.contains("line 2")));
        assert!(difficulties("nowhere.csv").is_err());
    }

    fn make(text: &str) -> Result<(), (String, String)> {
        let params = Params::parse("llm_judge", text).expect(text);
        match llm_judge(LlmJudgeSettings::new("http://localhost:1"))(params) {
            Ok(_) => Ok(()),
            Err(error) => Err((error.to_string(), error.hint().unwrap_or_default())),
        }
    }

    #[test]
    fn parameters_are_checked_before_anything_is_asked() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).expect("written");
            path.display().to_string()
        };
        let good = file("good.txt", "{question} {response} {rubric} {scale}");
        let bad = file("bad.txt", "{question} {respnse}");
        let blind = file("blind.txt", "{question}");
        let rubric = file("rubric.txt", "1 = bad, 5 = good\n");
        let body = file("body.json", "{\"max_tokens\": null}");
        for text in [
            String::new(),
            "scale=0-10,reference=off,max_tokens=64,temperature=none,score=tone".into(),
            format!("template=@{good},rubric=@{rubric},extra_body=@{body}"),
            "mode=pairwise,baseline=output,rubric=short".into(),
            "url=https://example.com/v1?a=b,model=m".into(),
        ] {
            assert_eq!(make(&text), Ok(()), "{text}");
        }
        for (text, what, hint) in [
            (
                format!("template=@{bad}"),
                "bad.txt: the judge's template has an unknown placeholder `{respnse}`",
                "did you mean `response`?",
            ),
            (
                format!("template=@{blind}"),
                "blind.txt: the judge's template has no `{response}`",
                "put `{response}`",
            ),
            (
                format!("template=@{blind}x"),
                "cannot read the template",
                "write `template=@PATH`",
            ),
            (
                format!("template=@{good},mode=pairwise"),
                "has no `{output_1}`",
                "put",
            ),
            ("template=@,rubric=x".into(), "cannot read", ""),
            (
                "template={response} {answer},reference=off".into(),
                "the reference is switched off",
                "remove",
            ),
            (
                "template={response},rubric=x".into(),
                "a rubric is given",
                "put `{rubric}`",
            ),
            ("scale=5".into(), "a scale goes from a lower", "`1-5`"),
            ("mode=pairwise,scale=1-5".into(), "`scale`", "leave out"),
            ("baseline=x".into(), "`baseline`", "leave out"),
            (
                "mode=paired".into(),
                "cannot be `paired`",
                "`rating` or `pairwise`",
            ),
            (
                "reference=no".into(),
                "cannot be `no`",
                "`auto`, `on` or `off`",
            ),
            ("temperature=hot".into(), "must be a number", "none"),
            ("rubrik=x".into(), "no parameter `rubrik`", "`rubric`"),
            ("extra_body=[1]".into(), "not a JSON object", "object"),
        ] {
            let (found, advice) = make(&text).expect_err(&text);
            assert!(found.contains(what), "{text}: {found}");
            assert!(advice.contains(hint), "{text}: {advice}");
        }
        for (rule, name, _) in JudgeRule::ALL {
            let make = |text: &str| {
                let params = Params::parse(name, text).expect(text);
                match official_judge(rule, LlmJudgeSettings::new("http://localhost:1"))(params) {
                    Ok(made) => Ok(made.name().to_owned()),
                    Err(error) => Err(error.to_string()),
                }
            };
            assert_eq!(
                make("max_tokens=9,temperature=none,model=m"),
                Ok(name.into())
            );
            assert!(make("rubric=x").is_err_and(|error| error.contains(name)));
            let error = make("temperature=hot").expect_err("no number");
            assert!(error.contains(name), "{error}");
        }
        let params = Params::parse("llm_judge", "").expect("empty");
        let error = llm_judge(LlmJudgeSettings::new(""))(params)
            .err()
            .expect("no URL");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.contains("--judge-url"))
        );
    }
}
