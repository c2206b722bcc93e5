//! The top-level statements of Python code in a model's reply, roughly.
//!
//! This is not a parser: it knows strings, brackets and indentation well enough to
//! say where a function ends, what it is called and whether a line is code or
//! prose. Whether text is valid Python is for Python to say.

use context_bench_template::python::is_name;

use super::scanner::Scanner;

/// One top-level statement with everything indented below it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    /// Its lines, with their ends.
    pub(super) text: &'a str,
}

/// Words that begin a clause of the statement before.
const CLAUSES: [&str; 4] = ["else", "elif", "except", "finally"];

/// Words that begin a statement with an indented block.
const BLOCKS: [&str; 7] = ["if", "for", "while", "try", "with", "match", "async"];

/// Words that are statements, with or without more.
const SIMPLE: [&str; 10] = [
    "return", "yield", "raise", "pass", "break", "continue", "global", "nonlocal", "del", "await",
];

/// Splits a text; joined, the statements are the text again. Blank and comment
/// lines belong to what follows, and text that begins indented is one statement.
pub(super) fn statements(text: &str) -> Vec<Statement<'_>> {
    let mut starts: Vec<usize> = Vec::new();
    let mut scanner = Scanner::new(text);
    // Where the blank and comment lines before the next statement begin.
    let mut lead: Option<usize> = None;
    let mut in_decorator = false;
    let mut position = 0;
    for line in text.split_inclusive('\n') {
        let start = position;
        position += line.len();
        let is_top = line.starts_with(|c: char| !c.is_whitespace());
        if is_top && scanner.is_inside() && !scanner.in_string() && begins_definition(line) {
            // A bracket that prose or a cut example left open.
            scanner.close_brackets();
        }
        let was_inside = scanner.is_inside();
        scanner.line(line);
        if was_inside {
            continue;
        }
        if line.trim().is_empty() || line.starts_with('#') {
            lead.get_or_insert(start);
            continue;
        }
        let begins = is_top && !in_decorator && !CLAUSES.contains(&first_word(line));
        if begins || starts.is_empty() {
            starts.push(lead.unwrap_or(start));
        }
        if is_top {
            in_decorator = line.starts_with('@');
        }
        lead = None;
    }
    if let Some(first) = starts.first_mut() {
        *first = 0;
    } else if !text.is_empty() {
        starts.push(0);
    }
    let ends = starts.iter().skip(1).copied().chain([text.len()]);
    let all = starts.iter().zip(ends);
    all.map(|(start, end)| Statement {
        text: &text[*start..end],
    })
    .collect()
}

impl<'a> Statement<'a> {
    /// Its first line that is neither blank nor a comment.
    pub(super) fn head(&self) -> &'a str {
        let lines = self.text.lines();
        let mut code = lines.filter(|line| !line.trim().is_empty() && !line.starts_with('#'));
        code.next().unwrap_or_default()
    }

    /// Whether its first line is indented, as in a function without its head.
    pub(super) fn is_indented(&self) -> bool {
        self.head().starts_with(char::is_whitespace)
    }

    /// The function or class that it defines.
    pub(super) fn definition(&self) -> Option<&'a str> {
        let head = self.head();
        if !head.starts_with('@') {
            return definition_on(head);
        }
        let mut below = self.text.lines().skip_while(|line| *line != head);
        below.find_map(definition_on)
    }

    /// The names that it binds: definitions, imports and constants.
    pub(super) fn binds(&self) -> Vec<&'a str> {
        if let Some(name) = self.definition() {
            return vec![name];
        }
        let head = self.head();
        if let Some(names) = imported(head) {
            let each = names.split(',').filter_map(|part| {
                let last = part.split_whitespace().next_back()?;
                Some(last.split('.').next().unwrap_or(last))
            });
            return each.map(|name| name.trim_matches(['(', ')'])).collect();
        }
        match assigned(head) {
            Some(name) => vec![name],
            None => Vec::new(),
        }
    }

    /// Whether it is an import.
    pub(super) fn is_import(&self) -> bool {
        imported(self.head()).is_some()
    }

    /// Whether it tries the code out instead of being a part of it.
    pub(super) fn is_example(&self) -> bool {
        let head = self.head();
        let word = first_word(head);
        let calls = |name: &str| head.starts_with(name);
        word == "assert"
            || calls("print(")
            || calls("print (")
            || calls("doctest.")
            || calls("unittest.main(")
            || calls("check(")
            || calls(">>>")
            || (word == "if" && head.contains("__name__") && head.contains("__main__"))
            || (self.definition().is_none() && head.contains("input("))
    }

    /// Whether it looks like code rather than like a sentence.
    pub(super) fn is_code(&self) -> bool {
        let head = self.head();
        let word = first_word(head);
        let trimmed = head.trim_end();
        let opens = |line: &str| line.ends_with(':') || line.contains(": ") || line.ends_with('\\');
        self.is_indented()
            || self.definition().is_some()
            || self.is_import()
            || assigned(head).is_some()
            || head.starts_with("\"\"\"")
            || head.starts_with("'''")
            || (BLOCKS.contains(&word) && opens(trimmed))
            || (SIMPLE.contains(&word) && is_plain(trimmed))
            || is_call(trimmed)
    }

    /// Whether it defines or binds something that other code may use.
    pub(super) fn is_essential(&self) -> bool {
        self.definition().is_some() || self.is_import() || assigned(self.head()).is_some()
    }
}

/// Whether a text can only be the inside of a function: a `return` or `yield` stands
/// outside of every function that it defines itself, which no module may have.
pub(super) fn is_body(text: &str) -> bool {
    let mut scanner = Scanner::new(text);
    // The indentation of the definition that the lines are in.
    let mut definition: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let was_inside = scanner.is_inside();
        scanner.line(line);
        let code = line.trim();
        if was_inside || code.is_empty() || code.starts_with('#') {
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        if definition.is_some_and(|above| indent > above) {
            continue;
        }
        definition = definition_on(code).map(|_| indent);
        let leaves = matches!(first_word(code), "return" | "yield");
        if leaves && definition.is_none() && is_plain(code) {
            return true;
        }
    }
    false
}

/// Whether a text uses a name, as a whole word.
pub(super) fn uses(text: &str, name: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let found = text.match_indices(name).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + name.len()..].chars().next();
        !before.is_some_and(|c| is_part(c) || c == '.') && !after.is_some_and(is_part)
    });
    !name.is_empty() && found
}

fn first_word(line: &str) -> &str {
    let end = line.find(|c: char| !(c.is_alphanumeric() || c == '_'));
    &line[..end.unwrap_or(line.len())]
}

fn begins_definition(line: &str) -> bool {
    line.starts_with('@') || definition_on(line).is_some() || imported(line).is_some()
}

fn definition_on(line: &str) -> Option<&str> {
    let line = line.strip_prefix("async ").unwrap_or(line);
    let rest = line
        .strip_prefix("def ")
        .or_else(|| line.strip_prefix("class "))?
        .trim_start();
    let name = first_word(rest);
    let after = rest[name.len()..].trim_start();
    let is_head = after.starts_with(['(', ':', '[']);
    (is_name(name) && is_head).then_some(name)
}

/// What an import binds, as written.
fn imported(line: &str) -> Option<&str> {
    let line = line.trim_end();
    let is_list = |text: &str| {
        let parts = text.trim_matches(['(', ')', '\\', ' ']).split(',');
        parts.map(str::trim).all(|part| {
            let mut words = part.split_whitespace();
            let name = words.next().unwrap_or("*");
            let dotted = name == "*" || name.split('.').all(is_name);
            let alias = match (words.next(), words.next(), words.next()) {
                (None, ..) => true,
                (Some("as"), Some(name), None) => is_name(name),
                _ => false,
            };
            dotted && alias
        })
    };
    let code = line.split('#').next().unwrap_or(line);
    let code = code.split(';').next().unwrap_or(code).trim_end();
    if let Some(list) = code.strip_prefix("import ") {
        return is_list(list).then_some(list);
    }
    let (module, list) = code.strip_prefix("from ")?.split_once(" import")?;
    let module = module.trim().trim_start_matches('.');
    let is_module = module.is_empty() || module.split('.').all(is_name);
    (is_module && is_list(list)).then_some(list.trim())
}

/// The first name that an assignment binds.
fn assigned(line: &str) -> Option<&str> {
    let name = first_word(line);
    if !is_name(name) {
        return None;
    }
    let equals = line.match_indices('=').find(|(at, _)| {
        let before = line[..*at].chars().next_back().unwrap_or(' ');
        let after = line[at + 1..].chars().next().unwrap_or(' ');
        !"=!<>".contains(before) && after != '='
    })?;
    let target = line[name.len()..equals.0].trim();
    let target = target.trim_end_matches(['+', '-', '*', '/', '%', '|', '&', '^']);
    let has_prose = target
        .split(|c: char| !(c.is_alphanumeric() || c == '_'))
        .filter(|word| !word.is_empty())
        .count()
        > 4;
    let is_target = target.is_empty() || target.starts_with([',', ':', '[', '.', ' ']);
    (is_target && !has_prose && !target.contains(". ")).then_some(name)
}

/// Whether a line is one call, of a name or an attribute.
fn is_call(line: &str) -> bool {
    let Some((name, rest)) = line.split_once('(') else {
        return false;
    };
    name.split('.').all(is_name) && (rest.contains(')') || rest.is_empty() || rest.ends_with(','))
}

/// Whether a line after `return` and the like has no sentence in it.
fn is_plain(line: &str) -> bool {
    let words = line
        .split_whitespace()
        .filter(|word| word.chars().all(char::is_alphabetic));
    let keywords = [
        "return", "in", "not", "and", "or", "if", "else", "for", "is", "lambda", "None", "True",
        "False",
    ];
    words.filter(|word| !keywords.contains(word)).count() <= 4 && !line.ends_with('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_end_where_they_end() {
        let text = "import os\n\n# About f.\n@cache\ndef f(\n    x,\n):\n    '''a\ndef no():\n'''\n    return (x +\n1)\n\nif x:\n    pass\nelse:\n    pass\nprint(f(1))\n";
        let heads: Vec<_> = statements(text)
            .iter()
            .map(|s| s.head().to_owned())
            .collect();
        assert_eq!(heads, ["import os", "@cache", "if x:", "print(f(1))"]);
        let names: Vec<_> = statements(text)
            .iter()
            .filter_map(Statement::definition)
            .collect();
        assert_eq!(names, ["f"]);
    }

    #[test]
    fn bodies_are_told_from_modules() {
        let cases = [
            ("return 1\n", true),
            ("    f = 1\n    return f\n", true),
            ("f = 1\nif f:\n    return f\n", true),
            ("for x in y:\n    yield x", true),
            ("def g(y):\n    return y\n\nreturn g(x)\n", true),
            (
                "def f(x):\n    if x:\n        return 1\n    return x\n",
                false,
            ),
            ("class A:\n    def f(self):\n        return 1\n", false),
            ("f = lambda x: x\n", false),
            ("text = '''\nreturn 1\n'''\n", false),
            ("# return 1\nreturned = 1\n", false),
            ("return the sum of both to whoever asks for it.", false),
            ("", false),
        ];
        for (text, expected) in cases {
            assert_eq!(is_body(text), expected, "{text:?}");
        }
    }

    #[test]
    fn names_that_are_bound() {
        let cases = [
            ("import os.path as p, re", vec!["p", "re"]),
            ("import os.path", vec!["os"]),
            ("from typing import List, Dict as D", vec!["List", "D"]),
            ("from math import *", vec!["*"]),
            ("x, y = 1, 2", vec!["x"]),
            ("x: int = 1", vec!["x"]),
            ("x == 1", vec![]),
            ("async def f(): pass", vec!["f"]),
            ("class A: pass", vec!["A"]),
            ("from here we import the data", vec![]),
        ];
        for (text, expected) in cases {
            assert_eq!(statements(text)[0].binds(), expected, "{text}");
        }
    }

    #[test]
    fn code_and_prose() {
        let code = [
            "def f(x): return x",
            "from typing import List",
            "x = 1",
            "foo.bar(1, 2)",
            "for i in range(3):",
            "return sorted(x, key=len)",
            "    indented",
        ];
        let prose = [
            "Here is the function:",
            "This function works by sorting (in place) the list.",
            "For example, f(1) gives 2",
            "return the sum of all even numbers in the list.",
            "import the module first",
            "Note that x = 1 is fine",
            "class of problems",
        ];
        for text in code {
            assert!(statements(text)[0].is_code(), "{text}");
        }
        for text in prose {
            assert!(!statements(text)[0].is_code(), "{text}");
        }
    }

    #[test]
    fn definitions_in_strings_are_none() {
        let text = "text = '''\ndef no(): pass\n'''\n@a\n@b(1)\ndef yes(): pass\n";
        let names: Vec<_> = statements(text)
            .iter()
            .filter_map(Statement::definition)
            .collect();
        assert_eq!(names, ["yes"]);
    }

    #[test]
    fn joined_statements_are_the_text() {
        for text in [
            "",
            "\n",
            "# only\n",
            "x\n\n\ny",
            "  x\ny",
            "'\n\"\"\"\n(\\\n",
        ] {
            let joined: String = statements(text).iter().map(|s| s.text).collect();
            assert_eq!(joined, text);
        }
    }
}
