//! CodeExecution: runs the code of a response against the tests of its example.
//!
//! Code is found in the response (`extract`), put together with the tests
//! (`assemble`) and run in the sandbox, off the async threads and a bounded
//! number at a time. A pass is proven by a secret, not by an exit status.

mod assemble;
mod extract;
mod fences;
mod scanner;
mod statements;

pub use assemble::{AssembleError, assemble, program_text};

use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tokio::sync::Semaphore;

use super::{Evaluator, EvaluatorError};
use crate::error::Hint;
use crate::model::{Example, Identity, Output, Score, ScoreName, Scores};
use crate::sandbox::{Program, Sandbox, SandboxError, SandboxLevel, SandboxSettings, Verdict};

/// 2: time in which others had the processors does not count. 3: code that returns goes on
/// where the prompt ends, whatever its variables are called.
const VERSION: u32 = 3;

/// How to run code.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct CodeExecutionSettings {
    /// The interpreter, its limits and what happens without a sandbox.
    pub sandbox: SandboxSettings,
    /// How many programs run at a time; the number of processors unless set.
    pub concurrency: usize,
}

impl Default for CodeExecutionSettings {
    fn default() -> Self {
        Self {
            sandbox: SandboxSettings::default(),
            concurrency: std::thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// `pass_at_1`: 1 when the code of the response passes all tests of the example.
///
/// Needs `test` with `context` and `entry_point` (HumanEval) or `test_list` with
/// `test_setup_code` (MBPP). The reason of a score says how the program ended.
/// Code that cannot be run, and examples whose tests cannot, are unscored.
pub struct CodeExecution {
    names: [ScoreName; 1],
    settings: CodeExecutionSettings,
    slots: Semaphore,
    /// Made when the first program is there to run.
    sandbox: Arc<OnceLock<Result<Sandbox, SandboxError>>>,
}

impl CodeExecution {
    /// An evaluator; nothing is started yet.
    pub fn new(settings: CodeExecutionSettings) -> Self {
        Self {
            names: ["pass_at_1".into()],
            slots: Semaphore::new(settings.concurrency.clamp(1, Semaphore::MAX_PERMITS)),
            settings,
            sandbox: Arc::default(),
        }
    }

    /// Which mechanisms hold the programs here. The first call finds out, which
    /// takes some tenths of a second and blocks.
    ///
    /// # Errors
    ///
    /// When programs cannot be run.
    pub fn level(&self) -> Result<SandboxLevel, SandboxError> {
        match sandbox(&self.sandbox, &self.settings.sandbox) {
            Ok(sandbox) => Ok(sandbox.level()),
            Err(error) => Err(error.clone()),
        }
    }

    /// Runs a program and reports how it ended, and what contained it.
    async fn run(&self, program: Program) -> Result<(Verdict, SandboxLevel), EvaluatorError> {
        // The semaphore is never closed, so this cannot fail.
        let _slot = self.slots.acquire().await;
        let (cell, settings) = (Arc::clone(&self.sandbox), self.settings.sandbox.clone());
        let run = move || match sandbox(&cell, &settings) {
            Ok(sandbox) => Ok((sandbox.run(&program).verdict, sandbox.level())),
            Err(error) => Err(refusal(error)),
        };
        let done = tokio::task::spawn_blocking(run).await;
        done.map_err(|error| EvaluatorError(format!("the sandbox failed: {error}")))?
    }
}

fn sandbox<'a>(
    cell: &'a OnceLock<Result<Sandbox, SandboxError>>,
    settings: &SandboxSettings,
) -> &'a Result<Sandbox, SandboxError> {
    cell.get_or_init(|| Sandbox::new(settings))
}

/// A reason has one line, so the hint goes with it.
fn refusal(error: &SandboxError) -> EvaluatorError {
    EvaluatorError(match error.hint() {
        Some(hint) => format!("{error}; hint: {hint}"),
        None => error.to_string(),
    })
}

#[async_trait]
impl Evaluator for CodeExecution {
    fn name(&self) -> &str {
        "code_execution"
    }

    fn score_names(&self) -> &[ScoreName] {
        &self.names
    }

    /// Names the interpreter that was found and what contains the programs: both can
    /// change how one ends. Where nothing can run, nothing is said about stored scores.
    fn identity(&self) -> Option<Identity> {
        let wanted = &self.settings.sandbox;
        let found = sandbox(&self.sandbox, wanted).as_ref().ok()?;
        let settings = serde_json::json!({
            "python": wanted.python,
            "version": found.python(),
            "level": found.level().as_str(),
            "limits": format!("{:?}", wanted.limits),
            "site_packages": wanted.site_packages,
        });
        Some(Identity::new(self.name(), VERSION, settings))
    }

    fn caution(&self) -> Option<String> {
        let found = sandbox(&self.sandbox, &self.settings.sandbox)
            .as_ref()
            .ok()?;
        let level = found.level();
        let open = level.not_contained()?;
        Some(format!("generated code runs with `{level}` here: {open}"))
    }

    fn required_fields(&self) -> &[&[&str]] {
        &[&["test", "test_list"]]
    }

    async fn score(&self, example: &Example, output: &Output) -> Result<Scores, EvaluatorError> {
        let program = assemble(example, &output.response());
        let program = program.map_err(|error| EvaluatorError(error.to_string()))?;
        let score = if program.candidates.is_empty() {
            Score::value(0.0).because(Verdict::NoCode.to_string())
        } else {
            let (verdict, level) = self.run(program).await?;
            let reason = format!("{verdict} [{level}]");
            match verdict {
                Verdict::CannotRun(_) => Score::unscored(reason),
                verdict => Score::from(verdict.passed()).because(reason),
            }
        };
        Ok([(self.names[0].clone(), score)].into_iter().collect())
    }
}
