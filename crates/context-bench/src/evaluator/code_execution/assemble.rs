//! Programs of benchmarks: what a response and an example make together.
//!
//! An example has either `test` (HumanEval: the response goes on where the
//! context ends, or is the whole function) or `test_list` (MBPP: the response is
//! the code). Where the indentation of a response is not what it should be,
//! several readings are given.

use context_bench_template::python::is_name;
use serde_json::Value;

use super::extract::{defines, implements, readings};
use super::statements::{is_body, statements, uses};
use crate::model::Example;
use crate::sandbox::Program;
use crate::text::stringify::python_str;

/// More readings than are ever tried.
const MAX_CANDIDATES: usize = 12;

/// Why an example cannot be turned into a program.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AssembleError {
    /// It has neither `test` nor `test_list`.
    #[error("the example has no tests")]
    NoTests,
    /// The function to call is not named by a name.
    #[error("the entry point `{0}` is not a name")]
    EntryPoint(String),
    /// The tests are a function that is never called.
    #[error("the tests are never called: the example has no entry point")]
    NeverCalled,
}

/// The program of an example and a response. Without any candidate the response
/// has no code.
///
/// # Errors
///
/// When the example has no tests that can be run.
pub fn assemble(example: &Example, response: &str) -> Result<Program, AssembleError> {
    let test = text(example, "test");
    if !test.is_empty() {
        return function(example, response, &test);
    }
    match example.get("test_list").and_then(Value::as_array) {
        Some(list) if !list.is_empty() => Ok(assertions(example, response, list)),
        _ => Err(AssembleError::NoTests),
    }
}

/// The whole text of a program, as it would be run by hand.
pub fn program_text(program: &Program) -> String {
    let code = program.candidates.first().map_or("", String::as_str);
    let gap = if program.tests.starts_with('\n') {
        ""
    } else {
        "\n"
    };
    format!("{code}{gap}{}", program.tests)
}

/// The function-completion form.
fn function(example: &Example, response: &str, test: &str) -> Result<Program, AssembleError> {
    let prompt = match example.get("context") {
        Some(context) => python_str(context).into_owned(),
        None => text(example, "prompt"),
    };
    let mut entry_point = text(example, "entry_point");
    if entry_point.is_empty() && only_defines_check(test) {
        let functions = statements(&prompt);
        let last = functions.iter().rev().find_map(|s| s.definition());
        entry_point = last.ok_or(AssembleError::NeverCalled)?.to_owned();
    }
    if !entry_point.is_empty() && !is_name(&entry_point) {
        return Err(AssembleError::EntryPoint(entry_point));
    }
    let mut tests = format!("\n\n{test}\n");
    if !entry_point.is_empty() {
        tests.push_str(&format!("\ncheck({entry_point})\n"));
    }
    let wanted = match entry_point.as_str() {
        "" => Vec::new(),
        name => vec![name],
    };
    Ok(Program {
        candidates: candidates(response, &prompt, &wanted),
        tests,
    })
}

/// Whether a test defines `check` and leaves the call to others.
fn only_defines_check(test: &str) -> bool {
    let all = statements(test);
    let defines = all.iter().any(|s| s.definition() == Some("check"));
    let calls = all
        .iter()
        .any(|s| s.definition() != Some("check") && uses(s.text, "check"));
    defines && !calls
}

/// The assertion-list form.
fn assertions(example: &Example, response: &str, list: &[Value]) -> Program {
    let imports = example.get("test_imports").and_then(Value::as_array);
    let imports = imports.into_iter().flatten();
    let setup = text(example, "test_setup_code");
    let setup = (!setup.is_empty()).then_some(setup);
    let lines = imports
        .map(|line| python_str(line).into_owned())
        .chain(setup)
        .chain(list.iter().map(|line| python_str(line).into_owned()));
    let mut tests = lines.collect::<Vec<_>>().join("\n");
    tests.push('\n');
    let called = called(&tests);
    let wanted: Vec<&str> = called.iter().map(String::as_str).collect();
    // The context is a question in words, unless it begins the function.
    let prompt = text(example, "context");
    let prompt = if defines(&prompt, &wanted) {
        prompt
    } else {
        String::new()
    };
    Program {
        candidates: candidates(response, &prompt, &wanted),
        tests,
    }
}

/// The names that tests call, those of Python included.
fn called(tests: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for (at, _) in tests.match_indices('(') {
        let before = &tests[..at];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let start = before.trim_end_matches(is_part).len();
        let name = &before[start..];
        let is_attribute = before[..start].ends_with('.');
        if is_name(name) && !is_attribute && !names.iter().any(|known| known == name) {
            names.push(name.to_owned());
        }
    }
    names
}

fn text(example: &Example, field: &str) -> String {
    match example.get(field) {
        None | Some(Value::Null) => String::new(),
        Some(value) => python_str(value).into_owned(),
    }
}

/// Whole programs without their tests, best first.
fn candidates(response: &str, prompt: &str, wanted: &[&str]) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let mut add = |candidate: String| {
        if !all.contains(&candidate) && all.len() < MAX_CANDIDATES {
            all.push(candidate);
        }
    };
    for code in readings(response, wanted) {
        let flush = dedented(&code);
        if prompt.is_empty() {
            add(code);
            add(flush);
            continue;
        }
        let is_whole = defines(&flush, wanted);
        if !is_whole || continues(&code, &flush, wanted) {
            for body in continuations(prompt, &code) {
                add(body);
            }
        }
        if is_whole {
            // The whole function; the prompt may have imports and helpers.
            let before = before_definition(prompt, wanted);
            if !before.trim().is_empty() {
                add(format!("{}\n\n{flush}", before.trim_end()));
            }
            add(flush);
        }
    }
    all
}

/// Whether code that binds a wanted name still goes on where the prompt ends: the name is
/// that of a local variable or function. Code that returns is the inside of a function,
/// and so is what is indented and only assigns the name.
fn continues(code: &str, flush: &str, wanted: &[&str]) -> bool {
    let is_indented = code != flush;
    is_body(code) || is_indented && !implements(flush, wanted)
}

/// What stands in a prompt before the function that it begins.
fn before_definition<'a>(prompt: &'a str, wanted: &[&str]) -> &'a str {
    let mut end = 0;
    for statement in statements(prompt) {
        if statement
            .definition()
            .is_some_and(|name| wanted.contains(&name))
        {
            break;
        }
        end += statement.text.len();
    }
    &prompt[..end]
}

/// The prompt with a body below it, in the indentations that may be meant.
fn continuations(prompt: &str, body: &str) -> Vec<String> {
    let Some(indent) = body_indent(prompt) else {
        // Nothing is open that could go on.
        return vec![format!("{prompt}{body}"), body.to_owned()];
    };
    let gap = if prompt.ends_with('\n') || body.starts_with('\n') {
        ""
    } else {
        "\n"
    };
    let prompt = format!("{prompt}{gap}");
    let first = body.lines().find(|line| !line.trim().is_empty());
    let is_indented = first.is_some_and(|line| line.starts_with([' ', '\t']));
    let mut bodies = Vec::new();
    if is_indented {
        bodies.push(body.to_owned());
    }
    // All lines are short of the same indentation, or only the first one is.
    bodies.push(indented(&dedented(body), &indent));
    if !is_indented {
        bodies.push(format!("{indent}{}", body.trim_start_matches('\n')));
    }
    bodies
        .iter()
        .map(|body| format!("{prompt}{body}"))
        .collect()
}

/// The indentation inside the function that a prompt ends with.
fn body_indent(prompt: &str) -> Option<String> {
    let last = statements(prompt).pop()?;
    last.definition()?;
    let lines = last.text.lines();
    let mut inside = lines
        .skip_while(|line| !line.trim_end().ends_with(':'))
        .skip(1)
        .filter(|line| !line.trim().is_empty());
    let indent = inside.next().map(|line| {
        let content = line.trim_start();
        line[..line.len() - content.len()].to_owned()
    });
    Some(
        indent
            .filter(|indent| !indent.is_empty())
            .unwrap_or("    ".into()),
    )
}

/// Takes off the indentation that all lines have.
fn dedented(text: &str) -> String {
    let lines = || text.split_inclusive('\n');
    let filled = lines().filter(|line| !line.trim().is_empty());
    let indents = filled.map(|line| line.len() - line.trim_start_matches([' ', '\t']).len());
    let common = indents.min().unwrap_or(0);
    let cut = |line| match line {
        line if str::trim(line).is_empty() => line,
        line => &line[common..],
    };
    lines().map(cut).collect()
}

fn indented(text: &str, indent: &str) -> String {
    let lines = text.split_inclusive('\n');
    let line = |line: &str| match line.trim() {
        "" => line.to_owned(),
        _ => format!("{indent}{line}"),
    };
    lines.map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const PROMPT: &str = "import math\n\ndef helper(): pass\n\ndef f(x):\n    \"\"\"Doc.\"\"\"\n";

    fn example() -> Example {
        Example::new()
            .with("context", PROMPT)
            .with("test", "def check(c): assert c(1) == 1")
            .with("entry_point", "f")
    }

    fn first(response: &str) -> String {
        let program = assemble(&example(), response).expect("a program");
        program.candidates.first().cloned().unwrap_or_default()
    }

    #[test]
    fn bodies_go_below_the_prompt_and_functions_replace_it() {
        let body = format!("{PROMPT}    return x\n");
        let header = "import math\n\ndef helper(): pass\n\n";
        let function = "def f(x):\n    return x\n";
        assert_eq!(first("    return x\n"), body);
        assert_eq!(first("return x\n"), body);
        assert_eq!(first("```python\nreturn x\n```"), body);
        assert_eq!(first(function), format!("{header}{function}"));
        assert_eq!(
            first("  def f(x):\n      return x\n"),
            format!("{header}{function}")
        );
        assert_eq!(first("  \n"), "");
    }

    #[test]
    fn a_local_variable_may_have_the_name_of_the_function() {
        for body in [
            "    f = x\n    return f\n",
            "    f = x\n    print(f)\n    return f\n",
            "    f, y = x, 1\n    if y:\n        return f\n",
            "    from operator import pos as f\n    return f(x)\n",
            "    def f(y):\n        return y\n    return f(x)\n",
            "    f = [x]\n    yield from f\n",
            "    f = x\n    global y\n    y = f\n",
        ] {
            assert_eq!(first(body), format!("{PROMPT}{body}"), "{body:?}");
            let fenced = format!("Sure:\n```python\n{body}```");
            assert_eq!(first(&fenced), format!("{PROMPT}{body}"), "{body:?}");
        }
        let body = format!("{PROMPT}    f = x\n    return f\n");
        assert_eq!(first("f = x\nreturn f\n"), body);
        let header = "import math\n\ndef helper(): pass\n\n";
        let value = "f = lambda x: x\n";
        assert_eq!(first(value), format!("{header}{value}"));
    }

    #[test]
    fn a_body_whose_first_line_lost_its_indentation_is_among_the_readings() {
        let program = assemble(&example(), "if x:\n        x = 1\n    return x\n");
        let expected = format!("{PROMPT}    if x:\n        x = 1\n    return x\n");
        assert!(program.expect("a program").candidates.contains(&expected));
    }

    proptest::proptest! {
        #[test]
        fn any_prompt_and_response_make_a_program(
            prompt in "\\PC{0,40}",
            response in "(\\PC|\n|    |def f|:){0,40}",
        ) {
            let example = example().with("context", prompt);
            let program = assemble(&example, &response).expect("a program");
            assert!(program.candidates.len() <= MAX_CANDIDATES);
        }
    }

    #[test]
    fn tests_that_cannot_run_are_told() {
        let without = Example::new().with("context", "x");
        assert_eq!(assemble(&without, "x"), Err(AssembleError::NoTests));
        let odd = example().with("entry_point", "f); import os; (");
        assert!(matches!(
            assemble(&odd, "x"),
            Err(AssembleError::EntryPoint(_))
        ));
        let unnamed = example().with("entry_point", "");
        let tests = assemble(&unnamed, "x").expect("a program").tests;
        assert!(tests.ends_with("check(f)\n"), "{tests}");
        let lost = unnamed.with("context", "Write a function.");
        assert_eq!(assemble(&lost, "x"), Err(AssembleError::NeverCalled));
    }

    #[test]
    fn assertion_lists_have_imports_and_setup() {
        let example = Example::new()
            .with("context", "Write a function to add.")
            .with("test_imports", json!(["import math"]))
            .with("test_setup_code", "g = f")
            .with("test_list", json!(["assert g(1) == 2", "assert f(2) == 3"]));
        let program = assemble(&example, "def f(x): return x + 1").expect("a program");
        assert_eq!(program.candidates[0], "def f(x): return x + 1");
        assert_eq!(
            program.tests,
            "import math\ng = f\nassert g(1) == 2\nassert f(2) == 3\n"
        );
    }
}
