//! What prompts of the long datasets say, made of the examples of their fixtures.
//!
//! Whole prompts where they are short, else the lines that readers of answers depend on.

use std::path::Path;

use super::{Config, DatasetCatalog, LoadSettings};
use crate::model::Example;

/// The messages about the first example of a fixture: of the system, of the user.
fn asked(typed: &str) -> (String, String) {
    let catalog = DatasetCatalog::builtin();
    let (name, config) = typed.split_once(':').unwrap_or((typed, ""));
    let spec = catalog.get(name).expect(name);
    let config = Some(config).filter(|config| !config.is_empty());
    let config = spec.select(config, None).expect(typed).remove(0);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/datasets");
    let path = match name {
        // The layout that has options.
        "locomo" => folder.join("locomo/original/locomo10.json"),
        _ => folder.join(name),
    };
    let settings = LoadSettings {
        path: Some(path),
        ..LoadSettings::default()
    };
    let examples = config.load(&settings).expect(typed);
    let nth = if name == "locomo" { 1 } else { 0 };
    let example = examples.into_iter().nth(nth).expect(typed).expect(typed);
    messages(&config, &settings, &example)
}

fn messages(config: &Config, settings: &LoadSettings, example: &Example) -> (String, String) {
    let found = config.prompt(settings).expect("valid").expect("a prompt");
    let said = found.prompt.render(example).expect("rendered");
    (
        said.system.unwrap_or_default(),
        said.user.unwrap_or_default(),
    )
}

#[test]
fn prompts_have_what_readers_of_answers_need() {
    for (typed, parts) in [
        (
            "bbh:word_sorting",
            &[
                "Sort words by the alphabet.\n\nQ: Sort these",
                "So the answer is anchor barge ferry mill.\n\nQ: ",
                "\n\nQ: Sort: well mill key\nA: Let's think step by step.",
            ][..],
        ),
        (
            "longbench-v2",
            &[
                "<text>\nIn 1911 the mill burned.\n</text>",
                "What is the correct answer to this question: What burned?\nChoices:\n(A) the mill\n(B) the ferry\n(C) the key\n(D) the coin\n",
                "\"The correct answer is (insert answer here)\"",
            ],
        ),
        (
            "quality",
            &[
                "A long story of a ferry.",
                "Question: What sank?\n(A) a mill\n(B) a ferry\n(C) a key\n(D) a coin\n",
                "\nAnswer:",
            ],
        ),
        (
            "infinitebench:longbook_qa_eng",
            &["A very long book.\n\nQuestion: Who is it about?"],
        ),
        (
            "infinitebench:longbook_choice_eng",
            &[
                "Question: Where is the key?\n\n",
                "one single letter",
                "nothing else.\nA. In the mill\nB. In the well\nC. At sea\nD. Nowhere\n",
            ],
        ),
        (
            "infinitebench:code_debug",
            &[
                "A. key\nB. mill\nC. well\nD. coin\n",
                "Give your answer in A, B, C or D",
            ],
        ),
        (
            "infinitebench:code_run",
            &[
                "return func_2(x) - 4",
                "number that func_1(-3) returns",
                "must end with",
            ],
        ),
        (
            "infinitebench:math_find",
            &["What is the largest number in the following list?\n\n[7, 42, 3]\n\nOne number"],
        ),
        (
            "infinitebench:math_calc",
            &[
                "Expression: 1 + 2 - 4 - 10\nValues: [1, 3, -1, -11]\n\nExpression: 1 + 3 + 4 - 0\nValues:",
            ],
        ),
        (
            "infinitebench:passkey",
            &["The pass key is 71432.\n\nWhat is the pass key?"],
        ),
        (
            "longbench:hotpotqa",
            &[
                "Only give me the answer, no other words.\n\nPassage 1:\nBuilt by Ida Brann.\n\nAnswer the question",
                "Question: Who built it?\nAnswer:",
            ],
        ),
        (
            "longbench:gov_report",
            &["A report on ferries.\n\nNow write", "Summary:"],
        ),
        (
            "longbench:trec",
            &["Question: Who?\nType: Person\nQuestion: How far?\nType:"],
        ),
        (
            "longbench:multifieldqa_zh",
            &["只告诉我答案", "问题：谁建了磨坊？\n回答："],
        ),
        (
            "nolima",
            &[
                "Actually, ",
                "Question: Which character has been to Sarn?",
                "Return only the final answer",
            ],
        ),
        (
            "locomo:qa",
            &[
                "between Ada and Bo.",
                "DATE: 1:56 pm on 8 May, 2023\nCONVERSATION:\nAda said, \"I sold the mill.\"\n",
                "Question: Who bought the ferry? Select the correct answer: (a) ",
                "Not mentioned in the conversation",
            ],
        ),
    ] {
        let (_, user) = asked(typed);
        for part in parts {
            assert!(user.contains(part), "{typed}: no {part:?} in\n{user}");
        }
        assert!(
            !user.contains("{{") && !user.contains("{%"),
            "{typed}: {user}"
        );
    }
    let (system, _) = asked("infinitebench:math_calc");
    assert!(system.starts_with("You are a calculator."), "{system}");
    let (system, _) = asked("nolima");
    assert_eq!(system, "You are a helpful assistant");
}

#[test]
fn a_context_that_was_changed_is_the_one_that_is_shown() {
    for name in [
        "bbh",
        "infinitebench",
        "longbench",
        "longbench-v2",
        "quality",
        "nolima",
        "locomo",
    ] {
        let spec = DatasetCatalog::builtin().get(name).expect(name);
        let all = match spec.config_names().next() {
            Some(_) => spec.select(Some("*"), None).expect(name),
            None => spec.select(None, None).expect(name),
        };
        for config in all {
            let prompt = config.variant.prompt.as_ref().expect("a prompt");
            let user = prompt.user.as_ref().expect("a message");
            let reads = user.names().iter().any(|name| name == "context");
            assert!(reads, "{}", config.full_name());
            // Every name is a field, or a text of the prompt.
            let mut fields = config.fields().to_vec();
            if fields.iter().any(|field| field == "qa_pairs") {
                // One of the questions about a conversation is asked at a time.
                fields.extend(["question", "type", "context"].map(str::to_owned));
            }
            for name in user.names().iter().filter(|name| *name != "loop") {
                let known = fields.contains(name) || prompt.with.contains_key(name);
                assert!(known, "{}: `{name}`", config.full_name());
            }
            let limit = prompt.max_tokens;
            assert!(limit.is_some(), "{}", config.full_name());
        }
    }
}

#[test]
fn a_template_of_a_needle_set_takes_the_place_of_ours() {
    let spec = DatasetCatalog::builtin().get("nolima").expect("nolima");
    let config = spec.select(None, None).expect("nolima").remove(0);
    let example = Example::new()
        .with("context", "A book.")
        .with("question", "Who?")
        .with("template", "Read {haystack} Then: {question}")
        .with("system_prompt", "Be brief.");
    let said = messages(&config, &LoadSettings::default(), &example);
    assert_eq!(said, ("Be brief.".into(), "Read A book. Then: Who?".into()));
}
