//! What `compare` and `--margin` say about stored runs, and how they refuse.

use super::session::Session;

#[test]
fn stored_runs_beside_each_other() {
    let mut session = Session::with_questions();
    let run = |ratio: &str, more: &str| {
        format!(
            "--system short=truncate:ratio={ratio} --dataset questions.jsonl --cache-dir store --quiet {more}"
        )
    };
    session.run(&run(
        "0.9",
        "--system passthrough --baseline passthrough --margin 0.05",
    ));
    session.run(&run("0.3", ""));
    session.run_all(&[
        "compare '[RUN1]' '[RUN2]' --cache-dir store",
        "compare store/'[RUN1]' store/last --system short --margin 0.05 --output markdown",
        "compare '[RUN1]' --cache-dir store --baseline passthrough --score-field exact_match --flips 0",
        "compare '[RUN1]' '[RUN2]'",
        "compare nothing last --cache-dir store",
        "compare '[RUN2]' --cache-dir store",
        "compare '[RUN1]' '[RUN2]' --cache-dir store --system shortt",
        "compare '[RUN1]' '[RUN2]' --cache-dir store --baseline direct",
        "compare '[RUN1]' '[RUN2]' --cache-dir store --score-field f2",
        "compare '[RUN1]' '[RUN2]' --cache-dir store --margin -0.1",
        "compare '[RUN1]' '[RUN2]' --cache-dir store --resamples 5",
        "--system passthrough --dataset questions.jsonl --margin -1",
    ]);
    session.approve("compare");
}
