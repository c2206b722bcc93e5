//! The evaluators of a run, native and in Python.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use context_bench::chat::{Api, Secret};
use context_bench::evaluator::{
    CodeExecutionSettings, EvaluatorError, JudgeRule, LlmJudge, LlmJudgeSettings, OfficialJudge,
    OfficialJudgeSettings,
};
use context_bench::registry::{
    Params, Registry, code_execution, judge_settings as judge_settings_of, official_judge_settings,
};
use context_bench::{Evaluator, Example, Identity, Output, Score, ScoreName, Scores};
use pyo3::exceptions::{PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString, PyTuple};

use crate::error::bad_value;
use crate::example_dict::{DeferredDict, read_example};
use crate::executor::{CallError, Object, PythonExecutor};
use crate::proxy::{environment_key, seconds};
use crate::python_object::{describe_type, identity, is_native_method, name_of, not_initialized};
use crate::{blocking, convert, sandbox};

/// A Python object with `name` and `score`.
pub(crate) struct PythonEvaluator {
    name: String,
    score_names: Vec<ScoreName>,
    object: Object,
    executor: Arc<PythonExecutor>,
    identity: Option<Identity>,
}

impl PythonEvaluator {
    /// Checks that an object can be an evaluator.
    pub(crate) fn new(object: &Bound<'_, PyAny>, executor: &Arc<PythonExecutor>) -> PyResult<Self> {
        let names = match object.getattr("score_names") {
            Ok(names) => names.extract::<Vec<String>>().unwrap_or_default(),
            Err(_) => Vec::new(),
        };
        let name = name_of(object, "evaluator", "score")?;
        let in_run = || executor.identity_in_run("evaluator", &name);
        Ok(Self {
            score_names: names.into_iter().map(ScoreName::from).collect(),
            identity: identity(object)?.or_else(in_run),
            name,
            object: Arc::new(object.clone().unbind()),
            executor: Arc::clone(executor),
        })
    }
}

#[async_trait]
impl Evaluator for PythonEvaluator {
    fn name(&self) -> &str {
        &self.name
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.score_names
    }

    fn identity(&self) -> Option<Identity> {
        self.identity.clone()
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let original = DeferredDict::example(example);
        let processed = DeferredDict::output(example, output);
        let called = self.executor.call(
            &self.object,
            "score",
            move |py| PyTuple::new(py, [original.build(py)?, processed.build(py)?]),
            |returned| read_scores(returned).map_err(CallError::Invalid),
        );
        called.await.result.map_err(|call_error| match call_error {
            CallError::Raised(exception) => {
                let text = exception.traceback.unwrap_or(exception.message);
                EvaluatorError(text.trim_end().to_owned())
            }
            other => EvaluatorError(other.message()),
        })
    }
}

/// Reads the scores of user code. A value that is not a number is unscored, with the reason.
fn read_scores(returned: &Bound<'_, PyAny>) -> Result<Scores, String> {
    let dict = match convert::as_dict(returned) {
        Some(Ok(dict)) => dict,
        Some(Err(error)) => return Err(error.to_string()),
        None => {
            let found = describe_type(returned);
            return Err(format!("returned {found} instead of a dict of scores"));
        }
    };
    let mut scores = Scores::new();
    for (name, value) in dict.iter() {
        let Ok(name) = name.cast::<PyString>() else {
            let found = describe_type(&name);
            return Err(format!("score names must be str, found {found}"));
        };
        let score = match convert::number(&value) {
            Ok(number) => Score::value(number),
            Err(_) => Score::unscored(format!("{} is not a number", describe_type(&value))),
        };
        scores.set(name.to_string_lossy().into_owned(), score);
    }
    Ok(scores)
}

/// An evaluator of the library.
#[pyclass(
    frozen,
    subclass,
    name = "NativeEvaluator",
    module = "context_bench._native"
)]
#[derive(Default)]
pub(crate) struct NativeEvaluator(OnceLock<EvaluatorKind>, OnceLock<(String, Py<PyDict>)>);

#[derive(Clone)]
enum EvaluatorKind {
    /// ProxyConfig once, used by every run.
    Ready(Arc<dyn Evaluator>),
    /// ProxyConfig for every run: its connections are the run's.
    Judge(String, Box<LlmJudgeSettings>),
    /// The same for the judge of a benchmark.
    OfficialJudge(Box<OfficialJudgeSettings>),
}

#[pymethods]
impl NativeEvaluator {
    #[new]
    #[pyo3(signature = (*_args, **_kwargs))]
    fn new(_args: &Bound<'_, PyTuple>, _kwargs: Option<&Bound<'_, PyDict>>) -> Self {
        Self::default()
    }

    #[pyo3(signature = (kind, **settings))]
    fn __init__(&self, kind: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<()> {
        // Calling `__init__` again changes nothing.
        let made = EvaluatorKind::new(kind, settings)?;
        self.0.get_or_init(|| made);
        if let Some(settings) = settings {
            let settings = settings.copy()?.unbind();
            self.1.get_or_init(|| (kind.to_owned(), settings));
        }
        Ok(())
    }

    /// How it was made and the attributes of a subclass, for copies in other processes.
    fn __getstate__<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyTuple>> {
        let py = slf.py();
        slf.get().kind()?;
        let (kind, settings) = match slf.get().1.get() {
            Some((kind, settings)) => (kind.as_str(), settings.bind(py).copy()?),
            None => return Err(PyTypeError::new_err("this evaluator cannot be copied")),
        };
        // A key of the environment is not pickled; the copy finds it there again.
        let environment = environment_key(Api::default());
        let key = settings.get_item("api_key")?;
        let key = key.and_then(|key| key.extract::<String>().ok());
        let is_known = key.is_some() && key == environment;
        if is_known {
            settings.set_item("api_key", py.None())?;
        }
        let attributes = match slf.getattr("__dict__") {
            Ok(attributes) => attributes,
            Err(_) => PyDict::new(py).into_any(),
        };
        (kind, settings, is_known, attributes).into_pyobject(py)
    }

    fn __setstate__(
        slf: &Bound<'_, Self>,
        state: (String, Bound<'_, PyDict>, bool, Bound<'_, PyDict>),
    ) -> PyResult<()> {
        let (kind, settings, has_known_key, attributes) = state;
        if has_known_key {
            settings.set_item("api_key", environment_key(Api::default()))?;
        }
        slf.get().__init__(&kind, Some(&settings))?;
        if !attributes.is_empty() {
            slf.getattr("__dict__")?
                .call_method1("update", (attributes,))?;
        }
        Ok(())
    }

    /// The name that results show.
    #[getter]
    fn name(&self) -> PyResult<String> {
        Ok(match self.kind()? {
            EvaluatorKind::Ready(evaluator) => evaluator.name().to_owned(),
            EvaluatorKind::Judge(name, _) => name.clone(),
            EvaluatorKind::OfficialJudge(settings) => settings.rule.name().to_owned(),
        })
    }

    /// The names of the scores of this evaluator.
    #[getter]
    fn score_names(&self) -> PyResult<Vec<String>> {
        let evaluator = self.build()?;
        let names = evaluator.score_names().iter();
        Ok(names.map(ToString::to_string).collect())
    }

    /// Scores the output of a system for an example.
    fn score<'py>(
        &self,
        py: Python<'py>,
        original: &Bound<'py, PyAny>,
        processed: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let example = read_example(original)?;
        let output = Output::from(read_example(processed)?.into_fields());
        let evaluator = self.build()?;
        let scored = blocking::wait(py, evaluator.score(&example, &output))?;
        let scores = scored.map_err(|error| PyRuntimeError::new_err(error.to_string()))?;
        let dict = PyDict::new(py);
        for (name, score) in scores.iter() {
            if let Some(value) = score.get() {
                dict.set_item(name.as_str(), value)?;
            }
        }
        let reason = scores.unscored().next();
        match reason {
            Some((name, reason)) if dict.is_empty() => {
                Err(PyRuntimeError::new_err(format!("no `{name}`: {reason}")))
            }
            _ => Ok(dict),
        }
    }

    fn __repr__(&self) -> PyResult<String> {
        Ok(format!("<evaluator {}>", self.name()?))
    }
}

impl EvaluatorKind {
    fn new(kind: &str, settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let mut settings = Settings::new(settings)?;
        if kind == "llm_judge" {
            let judge = judge_settings(&mut settings)?;
            let made = LlmJudge::new(judge.clone());
            let made = made.map_err(|error| bad_value(&error))?;
            return Ok(Self::Judge(made.name().to_owned(), Box::new(judge)));
        }
        if let Some(rule) = JudgeRule::named(kind) {
            let judge = judge_endpoint(&mut settings)?;
            let params = settings.params(kind, &["max_tokens", "baseline", "difficulty"])?;
            let judge = official_judge_settings(rule, params, judge);
            let judge = judge.map_err(|error| bad_value(&error))?;
            OfficialJudge::new(judge.clone()).map_err(|error| bad_value(&error))?;
            return Ok(Self::OfficialJudge(Box::new(judge)));
        }
        let registry = Registry::builtin();
        let factory = if kind == "code_execution" {
            let mut code = CodeExecutionSettings::default();
            code.sandbox.launcher = sandbox::launcher();
            code.sandbox.allow_unsandboxed = settings.take_flag("allow_unsandboxed")?;
            code_execution(code)
        } else {
            let known = registry.evaluators.get(kind);
            Arc::clone(known.map_err(|error| bad_value(&error))?)
        };
        let mut params = Params::none(kind);
        for (key, value) in settings.texts {
            params
                .set(&key, &value)
                .map_err(|error| bad_value(&error))?;
        }
        let evaluator = factory(params).map_err(|error| bad_value(&error))?;
        Ok(Self::Ready(evaluator))
    }
}

impl NativeEvaluator {
    fn kind(&self) -> PyResult<&EvaluatorKind> {
        self.0.get().ok_or_else(|| not_initialized("Evaluator"))
    }

    fn build(&self) -> PyResult<Arc<dyn Evaluator>> {
        match self.kind()? {
            EvaluatorKind::Ready(evaluator) => Ok(Arc::clone(evaluator)),
            EvaluatorKind::Judge(_, settings) => {
                let judge = LlmJudge::new((**settings).clone());
                Ok(Arc::new(judge.map_err(|error| bad_value(&error))?))
            }
            EvaluatorKind::OfficialJudge(settings) => {
                let judge = OfficialJudge::new((**settings).clone());
                Ok(Arc::new(judge.map_err(|error| bad_value(&error))?))
            }
        }
    }
}

/// Settings as text; `None` counts as not given.
struct Settings {
    texts: Vec<(String, String)>,
    /// The settings that were bools, not text.
    flags: Vec<(String, bool)>,
}

impl Settings {
    fn new(settings: Option<&Bound<'_, PyDict>>) -> PyResult<Self> {
        let (mut texts, mut flags) = (Vec::new(), Vec::new());
        for (key, value) in settings.into_iter().flat_map(|settings| settings.iter()) {
            let key: String = key.extract()?;
            if value.is_none() {
                continue;
            }
            let text = match value.extract::<bool>() {
                // Spelled as in all other parameters of evaluators.
                Ok(flag) => {
                    flags.push((key.clone(), flag));
                    flag.to_string()
                }
                Err(_) => value.str()?.to_string_lossy().into_owned(),
            };
            texts.push((key, text));
        }
        Ok(Self { texts, flags })
    }

    fn take(&mut self, key: &str) -> Option<String> {
        let at = self.texts.iter().position(|(known, _)| known == key)?;
        Some(self.texts.remove(at).1)
    }

    /// Takes settings as parameters of an evaluator.
    fn params(&mut self, of: &str, keys: &[&str]) -> PyResult<Params> {
        let mut params = Params::none(of);
        for key in keys {
            if let Some(value) = self.take(key) {
                params.set(key, &value).map_err(|error| bad_value(&error))?;
            }
        }
        Ok(params)
    }

    /// Takes a flag, which is off unless given and must be a bool.
    fn take_flag(&mut self, key: &str) -> PyResult<bool> {
        let Some(text) = self.take(key) else {
            return Ok(false);
        };
        let flag = self.flags.iter().find(|(known, _)| known == key);
        flag.map(|(_, flag)| *flag).ok_or_else(|| {
            let what = format!("`{key}` must be a bool, found `{text}`");
            PyTypeError::new_err(format!("{what}\nhint: pass `True` or `False`"))
        })
    }
}

/// The endpoint of a judge, its time limit and its retries.
fn judge_endpoint(settings: &mut Settings) -> PyResult<LlmJudgeSettings> {
    let mut judge = LlmJudgeSettings::new(settings.take("base_url").unwrap_or_default());
    if let Some(model) = settings.take("model") {
        judge.model = model;
    }
    judge.api_key = settings.take("api_key").map(Secret::new);
    if let Some(timeout) = settings.take("timeout") {
        judge.timeout = seconds("timeout", timeout.parse().unwrap_or(f64::NAN))?;
    }
    // With zero seconds no judge could answer.
    judge.timeout = judge.timeout.max(Duration::from_millis(1));
    if let Some(retries) = settings.take("max_retries") {
        judge.max_retries = retries.parse().map_err(|_| {
            let what = format!("`max_retries` must be a whole number from 0, found `{retries}`");
            PyValueError::new_err(format!("{what}\nhint: pass `max_retries=3`"))
        })?;
    }
    if let Some(delay) = settings.take("retry_base_delay") {
        judge.retry_base_delay = seconds("retry_base_delay", delay.parse().unwrap_or(f64::NAN))?;
    }
    Ok(judge)
}

fn judge_settings(settings: &mut Settings) -> PyResult<LlmJudgeSettings> {
    let mut judge = judge_endpoint(settings)?;
    judge.rubric = settings.take("rubric");
    let keys = [
        "mode",
        "scale",
        "baseline",
        "template",
        "reference",
        "max_tokens",
        "score",
    ];
    let params = settings.params("LLMJudge", &keys)?;
    judge_settings_of(params, judge).map_err(|error| bad_value(&error))
}

/// The evaluator of an object in a run, and whether it is native.
pub(crate) fn for_run(
    object: &Bound<'_, PyAny>,
    executor: &Arc<PythonExecutor>,
) -> PyResult<(Arc<dyn Evaluator>, bool)> {
    if let Ok(native) = object.cast::<NativeEvaluator>()
        && is_native_method::<NativeEvaluator>(object, "score")?
        && name_of(object, "evaluator", "score")? == native.get().name()?
    {
        return Ok((native.get().build()?, true));
    }
    Ok((Arc::new(PythonEvaluator::new(object, executor)?), false))
}
