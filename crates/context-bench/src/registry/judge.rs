//! `llm_judge` by name: its parameters, and texts from files.

use std::str::FromStr;
use std::sync::Arc;

use serde_json::{Map, Value};

use super::{BuildError, EvaluatorFactory, Params};
use crate::evaluator::{
    JudgeMode, JudgeTemplate, LlmJudge, LlmJudgeError, LlmJudgeSettings, Reference,
};
use crate::text::suggest;
use crate::text::verdict::Scale;

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
    if let Some(url) = params.take("url") {
        settings.base_url = url;
    }
    if let Some(model) = params.take("model") {
        settings.model = model;
    }
    mode(params, &mut settings)?;
    if let Some((text, _)) = text(params, "rubric")? {
        settings.rubric = Some(text.trim_end().to_owned());
    }
    if let Some((text, file)) = text(params, "template")? {
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
    if let Some(tokens) = params.take_parsed("max_tokens", "a whole number")? {
        settings.max_tokens = Some(tokens);
    }
    match params.take("temperature").as_deref() {
        None => {}
        Some("none") => settings.temperature = None,
        Some(typed) => settings.temperature = Some(number("temperature", typed)?),
    }
    if let Some((text, file)) = text(params, "extra_body")? {
        settings.extra_body = object(&text, file.as_deref().unwrap_or("extra_body"))?;
    }
    if let Some(score) = params.take("score") {
        settings.score = score;
    }
    params.clone().finish()?;
    if settings.base_url.is_empty() {
        return Err(BuildError::Other {
            what: "`llm_judge` has no endpoint to ask".into(),
            hint: Some("pass `--judge-url URL` or write `llm_judge:url=URL`".into()),
        });
    }
    Ok((settings, files))
}

/// `mode=rating|pairwise` with `scale=1-5` or `baseline=FIELD`.
fn mode(params: &mut Params, settings: &mut LlmJudgeSettings) -> Result<(), BuildError> {
    let pairwise = one_of(params, "mode", &[("rating", false), ("pairwise", true)])?;
    let (scale, baseline) = (params.take("scale"), params.take("baseline"));
    let pairwise = pairwise.unwrap_or(matches!(settings.mode, JudgeMode::Pairwise { .. }));
    let useless = |key: &str, other: &str| BuildError::Other {
        what: format!("parameter `{key}` of `llm_judge` says nothing with `mode={other}`"),
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
    key: &'static str,
) -> Result<Option<(String, Option<String>)>, BuildError> {
    let Some(typed) = params.take(key) else {
        return Ok(None);
    };
    let Some(file) = typed.strip_prefix('@') else {
        return Ok(Some((typed, None)));
    };
    let text = std::fs::read_to_string(file).map_err(|error| BuildError::Other {
        what: format!("cannot read the {key} of `llm_judge` from `{file}`: {error}"),
        hint: Some(format!(
            "write `{key}=@PATH`, with the path seen from the current folder"
        )),
    })?;
    Ok(Some((text, Some(file.to_owned()))))
}

fn object(text: &str, place: &str) -> Result<Map<String, Value>, BuildError> {
    let wrong = |what: String| BuildError::Other {
        what,
        hint: Some("write an object such as {\"max_completion_tokens\": 64}".into()),
    };
    match serde_json::from_str(text) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(wrong(format!(
            "{place}: the extra body of `llm_judge` is no JSON object"
        ))),
        Err(error) => Err(wrong(format!("{place}: {error}"))),
    }
}

fn number(key: &str, typed: &str) -> Result<f64, BuildError> {
    let number = typed
        .parse::<f64>()
        .ok()
        .filter(|number| number.is_finite());
    number.ok_or_else(|| BuildError::Other {
        what: format!("parameter `{key}` of `llm_judge` must be a number, found `{typed}`"),
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
            ("extra_body=[1]".into(), "no JSON object", "object"),
        ] {
            let (found, advice) = make(&text).expect_err(&text);
            assert!(found.contains(what), "{text}: {found}");
            assert!(advice.contains(hint), "{text}: {advice}");
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
