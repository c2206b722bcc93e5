//! Evaluators, metrics and judges that are asked for what they cannot do.

use super::session::Session;

#[test]
fn scores_that_nothing_yields() {
    let mut session = Session::with_questions();
    session.write("template.txt", "Rate {respnse} from 1 to 5.");
    session.nobody_at("[NOBODY]");
    let run = "--system passthrough --dataset questions.jsonl";
    for flags in [
        "--evaluator anwser_quality",
        "--evaluator answer_quality:order=sideways",
        "--evaluator answer_quality:oder=official",
        "--evaluator summarization_quality:stem=maybe",
        "--evaluator multiple_choice:extraction=guess",
        "--evaluator code_execution:timeout=-1",
        "--evaluator swebench_report",
        "--evaluator swebench_report:file=nowhere.json",
        "--evaluator answer_quality --evaluator answer_quality",
        "--evaluator llm_judge",
        "--evaluator llm_judge:url=localhost",
        "--evaluator llm_judge:scale=5 --judge-url [NOBODY]",
        "--evaluator llm_judge:template=@template.txt --judge-url [NOBODY]",
        "--evaluator llm_judge:rubric=@nowhere.txt --judge-url [NOBODY]",
        "--evaluator llm_judge:mode=tripple --judge-url [NOBODY]",
        "--score-field f11",
        "--score-field rouge_l_f1",
        "--threshold 7",
    ] {
        session.run(&format!("{run} {flags}"));
    }
    session.approve("errors_scoring");
}
