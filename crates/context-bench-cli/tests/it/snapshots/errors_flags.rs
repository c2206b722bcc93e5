//! Command lines that cannot be meant.

use super::session::Session;

#[test]
fn flags_that_cannot_be_meant() {
    let mut session = Session::with_questions();
    session.run_all(&[
        "",
        "--no-such-flag",
        "rnu bench.yaml",
        "--proxi http://localhost:8000 --dataset demo",
        "--dataset demo",
        "--system passthrough",
        "--system passthrough --dataset demo --max-workers many",
        "--system passthrough --dataset demo --max-workers 0",
        "--system passthrough --dataset demo --max-examples -1",
        "--system passthrough --dataset demo --repeats 0",
        "--system passthrough --dataset demo --max-error-rate 2",
        "--system passthrough --dataset demo --threshold high",
        "--system passthrough --dataset demo --temperature hot",
        "--system passthrough --dataset demo --timeout 0",
        "--proxy http://localhost:8000 --dataset demo --extra-body '[1]'",
        "--proxy http://localhost:8000 --dataset demo --extra-body '{temperature: 0}'",
        "--proxy http://localhost:8000 --dataset demo --header 'no colon'",
        "--proxy http://localhost:8000 --dataset demo --layout sideways",
        "--proxy http://localhost:8000 --dataset demo --prompt fancy",
        "--proxy http://localhost:8000 --dataset demo --api-key-env NO_SUCH_VARIABLE",
        "--proxy http://localhost:8000,modle=small --dataset demo",
        "--proxy http://localhost:8000 --relay http://localhost:8000 --dataset demo",
        "--proxy http://localhost:8000 --name a --name b --dataset demo",
        "--command 'no-such-program --flag' --dataset demo",
        "--command \"unclosed 'quote\" --dataset demo",
        "--system passthrough --dataset demo --output-file no/such/folder/result.json",
        "--system passthrough --dataset demo --output-file .",
        "export last",
        "show last",
        "score --task plus",
        "completions fsh",
    ]);
    session.approve("errors_flags");
}
