//! `code_execution` by name: its parameters, and the settings that a program gives it.

use std::sync::Arc;
use std::time::Duration;

use super::{BuildError, EvaluatorFactory, Params};
use crate::evaluator::{CodeExecution, CodeExecutionSettings};

/// The name of the evaluator.
pub(super) const NAME: &str = "code_execution";
/// What it does and which parameters it takes.
pub(super) const ABOUT: &str =
    "runs the code against its tests in a sandbox: timeout=10, python=python3, memory_mb=1024";

/// A factory for `code_execution` with these settings, which its parameters
/// `timeout`, `python` and `memory_mb` change. Programs register it again when
/// they have a launcher of their own or let the user go without a sandbox.
pub fn code_execution(settings: CodeExecutionSettings) -> EvaluatorFactory {
    Arc::new(move |mut params: Params| {
        let mut settings = settings.clone();
        let sandbox = &mut settings.sandbox;
        if let Some(seconds) = params.take_parsed::<f64>("timeout", "seconds above 0")? {
            let timeout = Duration::try_from_secs_f64(seconds).ok();
            let timeout = timeout.filter(|timeout| !timeout.is_zero());
            sandbox.limits.wall = timeout.ok_or_else(|| BuildError::Other {
                what: format!("`timeout` of `code_execution` cannot be {seconds}"),
                hint: Some("give seconds above 0, such as `timeout=10`".into()),
            })?;
        }
        if let Some(python) = params.take("python") {
            sandbox.python = Some(python.into());
        }
        if let Some(megabytes) = params.take_parsed::<u64>("memory_mb", "a whole number")? {
            sandbox.limits.memory = megabytes.saturating_mul(1 << 20);
        }
        params.finish()?;
        Ok(Arc::new(CodeExecution::new(settings)) as _)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_execution_takes_its_parameters() {
        let make = |text: &str| {
            let params = Params::parse("code_execution", text).expect(text);
            code_execution(CodeExecutionSettings::default())(params)
        };
        for good in ["", "timeout=2.5,python=/usr/bin/python3,memory_mb=256"] {
            assert!(make(good).is_ok(), "{good}");
        }
        for bad in [
            "timeout=0",
            "timeout=-1",
            "timeout=soon",
            "memory_mb=x",
            "memory=1",
        ] {
            assert!(make(bad).is_err(), "{bad}");
        }
    }
}
