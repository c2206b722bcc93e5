//! The code in a response: readings of it, best first.
//!
//! A response may be code, code in fences, or prose with code in between. Which
//! reading is valid Python is decided by Python, in the sandbox; here they are
//! only listed.

use super::fences::{Block, blocks};
use super::statements::{Statement, is_body, statements, uses};

/// More blocks than are looked at.
const MAX_BLOCKS: usize = 40;

/// Languages of blocks that are Python.
const PYTHON: [&str; 5] = ["python", "py", "python3", "py3", "python2"];

/// Languages of blocks that are not code to run.
const OTHER: [&str; 13] = [
    "bash",
    "sh",
    "shell",
    "console",
    "text",
    "txt",
    "plaintext",
    "output",
    "json",
    "yaml",
    "markdown",
    "md",
    "diff",
];

/// Words that chat templates leave at the ends of a response.
const END_MARKERS: [&str; 8] = [
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end|>",
    "<|EOT|>",
    "<end_of_turn>",
    "</s>",
    "<|im_start|>user",
];
const START_MARKERS: [&str; 7] = [
    "<|im_start|>assistant",
    "<|start_header_id|>assistant<|end_header_id|>",
    "<start_of_turn>model",
    "[/INST]",
    "<|assistant|>",
    "<s>",
    "</think>",
];

/// The code that a response means, as readings from the most to the least
/// likely. `wanted` are the names that the tests use. Empty when there is none.
pub(super) fn readings(response: &str, wanted: &[&str]) -> Vec<String> {
    let text = without_markers(response);
    let blocks = blocks(&text);
    let code = if blocks.is_empty() {
        text
    } else {
        join(&blocks, wanted)
    };
    if code.trim().is_empty() {
        return Vec::new();
    }
    let all = [
        without_examples(&code, wanted),
        code_only(&code),
        definitions_only(&code, wanted),
        session(&code),
    ];
    let mut readings: Vec<String> = Vec::new();
    for reading in all {
        if !reading.trim().is_empty() && !readings.contains(&reading) {
            readings.push(reading);
        }
    }
    readings
}

/// Whether a text defines one of the names, as a function, class or variable.
pub(super) fn defines(text: &str, wanted: &[&str]) -> bool {
    let mut names = statements(text).into_iter().flat_map(|s| s.binds());
    names.any(|name| wanted.contains(&name))
}

/// Whether a text brings one of the names as a function or class, not as a variable.
pub(super) fn implements(text: &str, wanted: &[&str]) -> bool {
    let all = statements(text);
    let mut names = all.iter().filter_map(Statement::definition);
    names.any(|name| wanted.contains(&name))
}

/// Unix line ends, no chat markers and no thoughts.
fn without_markers(response: &str) -> String {
    let mut text = response.replace("\r\n", "\n").replace('\r', "\n");
    for marker in START_MARKERS {
        if let Some(at) = text.rfind(marker) {
            let rest = &text[at + marker.len()..];
            // A marker at the very end starts nothing.
            if !rest.trim().is_empty() {
                text = rest.strip_prefix('\n').unwrap_or(rest).to_owned();
            }
        }
    }
    for marker in END_MARKERS {
        if let Some(at) = text.find(marker)
            && !text[..at].trim().is_empty()
        {
            text.truncate(at);
        }
    }
    text
}

/// Makes one code of several blocks: the last one that defines what is wanted,
/// with the blocks that define what it uses.
fn join(blocks: &[Block], wanted: &[&str]) -> String {
    let is_python = |block: &&Block| PYTHON.contains(&block.language.as_str());
    let is_code = |block: &&Block| !OTHER.contains(&block.language.as_str());
    // The last ones matter, and finding helpers is not linear.
    let blocks = &blocks[blocks.len().saturating_sub(MAX_BLOCKS)..];
    let mut usable: Vec<&Block> = blocks.iter().filter(is_python).collect();
    if usable.is_empty() || !usable.iter().any(|block| defines(&block.text, wanted)) {
        let other: Vec<&Block> = blocks.iter().filter(is_code).collect();
        if usable.is_empty() || other.iter().any(|block| defines(&block.text, wanted)) {
            usable = other;
        }
    }
    if usable.is_empty() {
        usable = blocks.iter().collect();
    }
    let defining = usable
        .iter()
        .rposition(|block| defines(&block.text, wanted));
    let working = |block: &&Block| {
        let parts = statements(&block.text);
        parts.iter().any(|s| !s.is_example()) && !block.text.trim().is_empty()
    };
    let main = defining
        .or_else(|| usable.iter().rposition(working))
        .unwrap_or(usable.len().saturating_sub(1));
    let mut chosen = vec![false; usable.len()];
    if let Some(mark) = chosen.get_mut(main) {
        *mark = true;
    }
    while let Some(next) = helper(&usable, &chosen) {
        chosen[next] = true;
    }
    let chosen = usable.iter().zip(&chosen).filter(|(_, chosen)| **chosen);
    let texts: Vec<&str> = chosen.map(|(block, _)| block.text.as_str()).collect();
    texts.join("\n")
}

/// A block that defines a name which the chosen ones use and do not define.
fn helper(blocks: &[&Block], chosen: &[bool]) -> Option<usize> {
    let of = |wanted: bool| {
        let both = blocks.iter().zip(chosen);
        both.filter(move |(_, chosen)| **chosen == wanted)
            .map(|(block, _)| block)
    };
    let bound: Vec<&str> = of(true).flat_map(|block| helpers(&block.text)).collect();
    let is_missing =
        |name: &str| !bound.contains(&name) && of(true).any(|block| uses(&block.text, name));
    (0..blocks.len())
        .find(|index| !chosen[*index] && helpers(&blocks[*index].text).into_iter().any(is_missing))
}

/// The functions, classes and modules that a text brings.
fn helpers(text: &str) -> Vec<&str> {
    let parts = statements(text).into_iter();
    let parts = parts.filter(|s| s.definition().is_some() || s.is_import());
    parts.flat_map(|s| s.binds()).collect()
}

fn keep<'a>(code: &'a str, keeps: impl Fn(&Statement<'a>) -> bool) -> String {
    let kept = statements(code).into_iter().filter(keeps);
    kept.map(|s| s.text).collect()
}

/// Without what only tries the code out: prints, assertions, the main part.
fn without_examples(code: &str, wanted: &[&str]) -> String {
    // Of a body every line counts, also one that prints.
    if !defines(code, wanted) || is_body(code) {
        return code.to_owned();
    }
    keep(code, |s| !s.is_example())
}

/// Without prose between the code. An indented block below prose stays.
fn code_only(code: &str) -> String {
    let mut kept = String::new();
    for statement in statements(code) {
        if statement.is_example() {
            continue;
        }
        if statement.is_code() {
            kept.push_str(statement.text);
            continue;
        }
        let is_indented = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t']);
        let lines = statement.text.split_inclusive('\n');
        let below = lines.skip_while(|line| !is_indented(line) || line.trim().is_empty());
        kept.extend(below.take_while(|line| is_indented(line)));
    }
    kept
}

/// Imports, definitions and assignments up to the last one that is wanted, which
/// also leaves out what a limit of tokens cut off.
fn definitions_only(code: &str, wanted: &[&str]) -> String {
    let all = statements(code);
    let is_wanted = |s: &Statement<'_>| s.binds().iter().any(|name| wanted.contains(name));
    let Some(last) = all.iter().rposition(is_wanted) else {
        return String::new();
    };
    let kept = all[..=last].iter().filter(|s| s.is_essential());
    kept.map(|s| s.text).collect()
}

/// The input of an interactive session.
fn session(code: &str) -> String {
    let mut lines = String::new();
    let mut in_session = false;
    for line in code.lines() {
        let input = line.strip_prefix(">>>").or_else(|| {
            let more = line.strip_prefix("...");
            more.filter(|_| in_session)
        });
        in_session = input.is_some();
        if let Some(input) = input {
            lines.push_str(input.strip_prefix(' ').unwrap_or(input));
            lines.push('\n');
        }
    }
    keep(&lines, |s| !s.is_example() && s.is_essential())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first reading for the wanted name `f`.
    fn first(response: &str) -> String {
        let mut readings = readings(response, &["f"]);
        if readings.is_empty() {
            return String::new();
        }
        readings.remove(0)
    }

    #[test]
    fn the_first_reading() {
        let cases = [
            ("", ""),
            ("   \n", ""),
            ("    return 1\n", "    return 1\n"),
            ("def f(): pass", "def f(): pass"),
            ("```python\ndef f(): pass\n```", "def f(): pass\n"),
            // The last version counts, and examples are left out.
            (
                "```python\ndef f(): old\n```\nBetter:\n```python\ndef f(): new\nprint(f())\n```\n```python\nf()\n```",
                "def f(): new\n",
            ),
            // Blocks that build on each other.
            (
                "```python\nimport math\n```\n```python\ndef g(): return math.pi\n```\n```python\ndef f(): return g()\n```\n",
                "import math\n\ndef g(): return math.pi\n\ndef f(): return g()\n",
            ),
            (
                "```bash\npip install f\n```\n```\ndef f(): pass\n```",
                "def f(): pass\n",
            ),
            ("```json\n{}\n```\n```python\nreturn 1\n```", "return 1\n"),
            (
                "<think>def f(): no</think>\ndef f(): yes<|im_end|>\nmore",
                "def f(): yes",
            ),
            (
                "def f(): pass\n\nif __name__ == '__main__':\n    f()\n",
                "def f(): pass\n",
            ),
            ("def f():\r\n    pass\r\n", "def f():\n    pass\n"),
        ];
        for (response, expected) in cases {
            assert_eq!(first(response), expected, "{response:?}");
        }
    }

    proptest::proptest! {
        /// Whatever a model writes, there are a few readings and none is empty.
        #[test]
        fn readings_are_few_and_not_empty(
            parts in proptest::collection::vec(
                proptest::sample::select(vec![
                    "```", "~~~", "python", "\n", "    ", "\t", "def f(x):", "return x", "\"\"\"",
                    "'", "(", ")", "\\", "#", "@", ">>> ", "... ", "[BEGIN]", "[DONE]", "</think>",
                    "import math", "é", "\u{2028}", "class A:", "x = 1", "else:", "print(1)", "\r\n",
                ]),
                0..40,
            ),
        ) {
            let text = parts.concat();
            let readings = readings(&text, &["f"]);
            assert!(readings.len() <= 4);
            assert!(readings.iter().all(|reading| !reading.trim().is_empty()));
            let joined: String = statements(&text).iter().map(|s| s.text).collect();
            assert_eq!(joined, text);
        }
    }

    #[test]
    fn other_readings() {
        let has = |response: &str, expected: &str| {
            let readings = readings(response, &["f"]);
            assert!(
                readings.iter().any(|r| r.trim_matches('\n') == expected),
                "{response:?}: {readings:?}"
            );
        };
        has(
            "Sure! Here is f:\n\ndef f(x):\n    return x\n\nIt returns its argument.\n",
            "def f(x):\n    return x",
        );
        has("The body is\n\n    return x\n", "    return x");
        has(
            ">>> def f(x):\n...     return x\n>>> f(1)\n1\n",
            "def f(x):\n    return x",
        );
        has(
            "def f(x):\n    return x\n\ndef g(x):\n    retu",
            "def f(x):\n    return x",
        );
    }
}
