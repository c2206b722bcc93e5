//! Blocks of code in Markdown and in the markers of prompts.

/// A block of code as the response marks it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    /// The word after the fence, in lower case.
    pub(super) language: String,
    /// What stands between the fences.
    pub(super) text: String,
}

/// Markers of prompts that ask for code between two words.
const TAGS: [(&str, &str); 3] = [
    ("[PYTHON]", "[/PYTHON]"),
    ("[BEGIN]", "[DONE]"),
    ("<code>", "</code>"),
];

/// The blocks of a response in order; empty when nothing is marked.
pub(super) fn blocks(text: &str) -> Vec<Block> {
    let fenced = fenced(text);
    if fenced.is_empty() {
        tagged(text)
    } else {
        fenced
    }
}

/// Blocks between words such as `[PYTHON]` and `[/PYTHON]`. One of the two may
/// be missing: the prompt may end with the first, a stop word may be the second.
fn tagged(text: &str) -> Vec<Block> {
    for (open, close) in TAGS {
        let mut blocks = Vec::new();
        let mut rest = text;
        while let Some(start) = rest.find(open) {
            let inner = &rest[start + open.len()..];
            let end = inner.find(close).unwrap_or(inner.len());
            blocks.push(block("python", &inner[..end]));
            rest = inner[end..].strip_prefix(close).unwrap_or_default();
        }
        if blocks.is_empty()
            && let Some(end) = text.find(close)
        {
            blocks.push(block("python", &text[..end]));
        }
        if !blocks.is_empty() {
            return blocks;
        }
    }
    Vec::new()
}

fn block(language: &str, text: &str) -> Block {
    Block {
        language: language.into(),
        text: text.trim_start_matches('\n').into(),
    }
}

/// Fenced blocks: three or more backticks or tildes on a line of their own. An
/// open one runs to the end. A text that only closes one is a block up to there.
fn fenced(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<(Fence<'_>, String)> = None;
    let mut before = String::new();
    for line in text.split_inclusive('\n') {
        match (&mut open, Fence::on(line)) {
            (None, Some(fence)) => open = Some((fence, String::new())),
            (Some((first, body)), Some(fence)) if fence.closes(first) => {
                blocks.push(block(&first.language(), body));
                open = None;
            }
            (Some((first, body)), _) => body.push_str(first.unindent(line)),
            (None, None) if blocks.is_empty() => before.push_str(line),
            (None, None) => {}
        }
    }
    if let Some((fence, body)) = open {
        let only_closes = blocks.is_empty() && fence.info.is_empty();
        let looks_prefilled = only_closes && !before.trim().is_empty() && !has_code(&body);
        if looks_prefilled {
            blocks.push(block("", &before));
        } else {
            blocks.push(block(&fence.language(), &body));
        }
    }
    blocks
}

/// Whether a text has a line that only code has.
fn has_code(text: &str) -> bool {
    super::statements::statements(text)
        .iter()
        .any(super::statements::Statement::is_code)
}

/// A line that opens or closes a block.
struct Fence<'a> {
    indent: usize,
    mark: char,
    length: usize,
    info: &'a str,
}

impl<'a> Fence<'a> {
    fn on(line: &'a str) -> Option<Self> {
        let trimmed = line.trim_start_matches(' ');
        let mark = trimmed.chars().next().filter(|c| "`~".contains(*c))?;
        let length = trimmed.chars().take_while(|c| *c == mark).count();
        let info = trimmed[length..].trim();
        // Code on the line of the fence is inline code.
        (length >= 3 && !info.contains('`')).then_some(Self {
            indent: line.len() - trimmed.len(),
            mark,
            length,
            info,
        })
    }

    fn closes(&self, open: &Fence<'_>) -> bool {
        self.mark == open.mark && self.length >= open.length && self.info.is_empty()
    }

    fn language(&self) -> String {
        let word = self.info.trim_start_matches(['{', '.']);
        let end = word.find(|c: char| !(c.is_alphanumeric() || "+#-_".contains(c)));
        word[..end.unwrap_or(word.len())].to_lowercase()
    }

    /// Takes the indentation of the fence off a line inside, as in lists.
    fn unindent<'b>(&self, line: &'b str) -> &'b str {
        let spaces = line.len() - line.trim_start_matches(' ').len();
        &line[spaces.min(self.indent)..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str) -> Vec<(String, String)> {
        let blocks = blocks(text).into_iter();
        blocks.map(|block| (block.language, block.text)).collect()
    }

    fn expected(blocks: &[(&str, &str)]) -> Vec<(String, String)> {
        let own = |(a, b): &(&str, &str)| ((*a).to_owned(), (*b).to_owned());
        blocks.iter().map(own).collect()
    }

    #[test]
    fn blocks_of_responses() {
        let cases: &[(&str, &[(&str, &str)])] = &[
            ("no code", &[]),
            ("Here:\n```python\nx\n```\nbye", &[("python", "x\n")]),
            ("```Python3 {.x}\nx\n```", &[("python3", "x\n")]),
            ("```\na\n```\n~~~py\nb\n~~~", &[("", "a\n"), ("py", "b\n")]),
            (
                "1. do\n   ```python\n   x\n     y\n   ```",
                &[("python", "x\n  y\n")],
            ),
            ("```python\nopen end", &[("python", "open end")]),
            (
                "    return 1\n```\nThis returns one.",
                &[("", "    return 1\n")],
            ),
            ("````md\n```\nx\n```\n````", &[("md", "```\nx\n```\n")]),
            ("use ```x``` here", &[]),
            ("[PYTHON]\nx\n[/PYTHON] y", &[("python", "x\n")]),
            ("[BEGIN]\nx = 1\n[DONE]", &[("python", "x = 1\n")]),
            ("x = 1\n[DONE]\n[BEGIN]", &[("python", "")]),
            (
                "def f():\n    pass\n[/PYTHON]",
                &[("python", "def f():\n    pass\n")],
            ),
        ];
        for (text, blocks) in cases {
            assert_eq!(texts(text), expected(blocks), "{text:?}");
        }
    }
}
