//! The texts that are mutated: built-in ones, and real outputs of models if the shared folder is
//! there.

use context_bench_testkit::shared;
use serde_json::Value;

use crate::mutate::{Chance, mutate};

const SEEDS: &[&str] = &[
    "",
    "Paris",
    "The answer is (B), because the others are wrong.",
    "So the final answer is $\\boxed{\\frac{3}{4}}$.",
    "#### 42",
    "x^2 + 2x + 1 = (x+1)^2",
    "\\left(-\\infty, \\frac{1}{2}\\right] \\cup \\{3, 4\\}",
    "\\begin{pmatrix} 1 & 2 \\\\ 3 & 4 \\end{pmatrix}",
    "12\\frac{3}{5}\\text{ cm}^2",
    "\\sqrt{2+\\sqrt{3}} - 1.5 \\times 10^{-3}",
    "5 \\le x < 7",
    "entailment",
    "The claim is not supported by the text, so the label is NOT ENOUGH INFO.",
    "```python\ndef add(a, b):\n    return a + b\n```",
    "def check(candidate):\n    assert candidate(1, 2) == 3\n",
    "[get_weather(city='Paris', days=3, unit=\"C\")]",
    "{\"name\": \"get_weather\", \"arguments\": {\"city\": \"Paris\", \"days\": 3}}",
    "<<Title>>\n\n* one\n* two\n\nP.S. [name] and [date]",
    "SECTION 1\nall of it.\n***\nHello! Is it? Mr. Smith went to the U.S. in 1999...",
    "{\"a\": [1, 2, {\"b\": null}]}",
    "Accuracy: 3/5, completeness 4/5. Overall score: [[4]]",
    "```json\n{\"reasoning\": \"good\", \"score\": 4}\n```",
    "Model 1 is better than Model 2. Winner: [[A]]",
    "[{'model': 'M', 'rank': 1}, {'model': 'm', 'rank': 2}]",
    "Rate {response} against {reference}: {rubric} ({scale})",
];

/// The texts that are mutated.
pub(crate) struct Corpus(Vec<String>);

impl Corpus {
    /// The built-in texts and up to some thousand real ones.
    pub(crate) fn load() -> Self {
        let mut texts: Vec<String> = SEEDS.iter().map(ToString::to_string).collect();
        if let Some(folder) = shared::find("data/responses") {
            let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().flatten().collect();
            files.sort_by_key(|entry| entry.path());
            for file in files {
                if file.path().extension().is_some_and(|end| end == "jsonl") {
                    let text = std::fs::read_to_string(file.path()).unwrap_or_default();
                    let step = (text.lines().count() / 40).max(1);
                    for line in text.lines().step_by(step) {
                        leaves(&serde_json::from_str(line).unwrap_or_default(), &mut texts);
                    }
                }
            }
        }
        Self(texts)
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The input of that number.
    pub(crate) fn input(&self, seed: u64, number: u64) -> (String, String) {
        let mut chance = Chance::new(seed, number);
        let mut text = || {
            // Half of the inputs are built-in texts, which are few but dense.
            let ours = chance.below(2) == 0;
            let from = if ours {
                &self.0[..SEEDS.len()]
            } else {
                &self.0[..]
            };
            let base = chance.pick(from);
            let other = chance.pick(&self.0);
            mutate(base, other, &mut chance)
        };
        let first = text();
        let second = text();
        // Equal and nearly equal texts take other paths through the code.
        match chance.below(4) {
            0 => (mutate(&first, &second, &mut chance), first),
            _ => (first, second),
        }
    }
}

/// The texts in a record.
fn leaves(value: &Value, texts: &mut Vec<String>) {
    match value {
        Value::String(text) if text.len() <= 4096 => texts.push(text.clone()),
        Value::Array(list) => list.iter().take(4).for_each(|item| leaves(item, texts)),
        Value::Object(map) => map.values().for_each(|item| leaves(item, texts)),
        _ => {}
    }
}
