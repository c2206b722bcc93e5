//! Agreement with official scores on stored outputs of models: `make agreement`.
//!
//! Each test scores a file of `../shared/data/responses` and lays our verdicts beside those
//! of the benchmark's own scorer. A quarter of every file is held out (`data.rs`): of it only
//! counts are shown. What was found is `agreement.json` of the library's fixtures, from which
//! `docs/reference/datasets.md` is made; it is compared, and written with
//! `CONTEXT_BENCH_UPDATE=1`.
//!
//! The tests have a harness of their own because they need material outside the repo: where
//! it is absent they are *ignored*, in the closing line too.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::print_stderr,
    missing_docs,
    reason = "tests"
)]

mod calls;
mod code;
mod data;
mod harness;
mod instructions;
mod judges;
mod letters;
mod mathematics;
mod report;
mod rules;

use std::process::ExitCode;

use harness::Test;

/// What is compared, and the shared files that it needs.
const TESTS: &[Test] = &[
    Test::new(
        "gsm8k",
        mathematics::gsm8k,
        &["responses/gsm8k.openai_solutions.jsonl"],
    ),
    Test::new(
        "gsm8k_gold",
        mathematics::gsm8k_gold,
        &["raw/gsm8k.main.jsonl"],
    ),
    Test::new(
        "math",
        mathematics::math,
        &["responses/math.qwen_cot.jsonl"],
    ),
    Test::new("math_gold", mathematics::math_gold, &["raw/math.jsonl"]),
    Test::new("mgsm", mathematics::mgsm, &["raw/mgsm.de.jsonl"]),
    Test::new(
        "ifeval",
        instructions::graded,
        &["responses/ifeval.m_ifeval_graded.jsonl"],
    ),
    Test::new(
        "ifeval_official_code",
        instructions::official_code,
        &["responses/ifeval.gpt4_20231107.jsonl", "full/ifeval.jsonl"],
    ),
    Test::new(
        "bfcl",
        calls::graded,
        &["responses/bfcl.gpt-4o_graded.jsonl"],
    ),
    Test::new(
        "bfcl_failures",
        calls::failures,
        &["responses/bfcl.failures.jsonl"],
    ),
    Test::new(
        "mmlu_pro",
        letters::mmlu_pro,
        &["responses/mmlu-pro.outputs.jsonl"],
    ),
    Test::new("mmlu", letters::mmlu, &["responses/mmlu.predictions.jsonl"]),
    Test::new(
        "quality",
        letters::quality,
        &["responses/leval.predictions.jsonl"],
    ),
    Test::new(
        "bbh_letters",
        letters::bbh,
        &["responses/bbh.code_davinci_002.jsonl"],
    ),
    Test::new(
        "evalscope",
        letters::evalscope,
        &["responses/evalscope.reviews.jsonl"],
    ),
    Test::new("bbh", rules::bbh, &["responses/bbh.code_davinci_002.jsonl"]),
    Test::new(
        "longbench",
        rules::longbench,
        &["responses/longbench.predictions.jsonl"],
    ),
    Test::new(
        "infinitebench",
        rules::infinitebench,
        &["responses/infinitebench.preds.jsonl"],
    ),
    Test::new(
        "leval",
        rules::leval,
        &["responses/leval.predictions.jsonl"],
    ),
    Test::new(
        "dialogsum",
        rules::dialogsum,
        &["responses/dialogsum.bart.jsonl"],
    ),
    Test::new(
        "truthfulqa",
        rules::truthfulqa,
        &["responses/truthfulqa.human_annotated.jsonl"],
    ),
    Test::new("locomo", rules::locomo, &["responses/locomo.judged.jsonl"]),
    Test::new(
        "mt_bench",
        judges::mt_bench,
        &["responses/mt-bench.gpt4_single.jsonl"],
    ),
    Test::new(
        "longmemeval",
        judges::longmemeval,
        &[
            "responses/longmemeval.llama3.1-8b.jsonl",
            "responses/longmemeval.gemini-2.5-flash.jsonl",
        ],
    ),
    Test::new(
        "locomo_judged",
        judges::locomo,
        &["responses/locomo.cognee_gemini.jsonl"],
    ),
    Test::new(
        "humaneval",
        code::humaneval,
        &["responses/humaneval.gpt4.jsonl"],
    ),
    Test::new("mbpp", code::mbpp, &["responses/mbpp.gpt4.jsonl"]),
    Test::new(
        "humaneval_references",
        code::humaneval_references,
        &["full/humaneval.jsonl"],
    ),
    Test::new(
        "mbpp_references",
        code::mbpp_references,
        &["raw/mbpp.sanitized.jsonl", "raw/mbpp.full.jsonl"],
    ),
];

fn main() -> ExitCode {
    harness::run(TESTS)
}
