//! `llm_judge` from the command line: parameters, texts from files, what it cost.

use context_bench_testkit::{ChatServer, Reply, handlers};

use crate::program::{arg, questions, run};

#[test]
fn a_rubric_from_a_file_and_what_judging_cost() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let judge = ChatServer::start(|_: &_| Reply::text("Score: 9/10").usage(50, 4));
    let (folder, path) = questions(3);
    let rubric = folder.path().join("rubric.txt");
    std::fs::write(&rubric, "10 = names the city, and nothing else\n").unwrap();
    let described = format!("llm_judge:scale=0-10,rubric=@{}", rubric.display());
    let (url, judge_url) = (server.url(), judge.url());
    let base = [
        "--proxy",
        &url,
        "--name",
        "p",
        "--dataset",
        arg(&path),
        "--judge-url",
        &judge_url,
        "--evaluator",
        &described,
        "--score-field",
        "judge_score",
        "-q",
    ];
    let done = run(&[&base[..], &["--output", "json"]].concat());
    let result = done.json();
    assert_eq!(result["summary"]["p"]["mean_score"], 0.9, "{done}");
    // One judge: the described one replaces the default.
    assert_eq!(judge.request_count(), 3);
    let prompt = judge.requests()[0].body["messages"][0]["content"].clone();
    let prompt = prompt.as_str().unwrap();
    assert!(
        prompt.contains("10 = names the city, and nothing else\n\nReply"),
        "{prompt}"
    );
    let counts = &result["counts"]["p"];
    assert_eq!(
        (&counts["requests"], &counts["judge_requests"]),
        (&3.into(), &3.into())
    );
    assert_eq!(counts["judge_prompt_tokens"], 150);
    assert_eq!(counts["judge_completion_tokens"], 12);
    let table = run(&base).stdout;
    assert!(table.contains("3 judge requests (162 tokens)"), "{table}");
    let markdown = run(&[&base[..], &["--output", "markdown"]].concat()).stdout;
    assert!(
        markdown.contains("| requests | judge requests | judge tokens |"),
        "{markdown}"
    );
}

#[test]
fn pairwise_asks_twice_per_row() {
    let server = ChatServer::start(handlers::constant("Lyon"));
    let judge = ChatServer::start(handlers::constant("[[A]]"));
    let (_folder, path) = questions(2);
    let described = format!("llm_judge:mode=pairwise,url={}", judge.url());
    let done = run(&[
        "--proxy",
        &server.url(),
        "--name",
        "p",
        "--dataset",
        arg(&path),
        "--evaluator",
        &described,
        "--score-field",
        "judge_score",
        "--output",
        "json",
    ]);
    let result = done.json();
    assert_eq!(result["rows"][0]["scores"]["judge_score"], 0.5, "{done}");
    assert_eq!(result["rows"][0]["scores"]["judge_consistency"], 0.0);
    assert_eq!(result["counts"]["p"]["judge_requests"], 4);
}

#[test]
fn what_is_wrong_with_a_judge_is_said_before_anything_is_sent() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (folder, path) = questions(1);
    let template = folder.path().join("judge.txt");
    std::fs::write(&template, "Rate {respnse}").unwrap();
    let from_file = format!("llm_judge:template=@{}", template.display());
    let (url, judged) = (server.url(), server.url());
    let base = ["--proxy", &url, "--dataset", arg(&path)];
    let with = |more: &[&str]| run(&[&base[..], more].concat());
    let judge = ["--judge-url", &judged, "--evaluator"];
    with(&[&judge[..], &[&from_file]].concat()).is_error(&[
        "judge.txt: ",
        "`{respnse}`",
        "did you mean `response`?",
    ]);
    with(&[&judge[..], &["llm_judge:scale=5"]].concat()).is_error(&["a scale goes from"]);
    with(
        &[
            &judge[..],
            &["llm_judge:score=a", "--evaluator", "llm_judge:score=a"],
        ]
        .concat(),
    )
    .is_error(&["two evaluators yield the score `a`", "llm_judge:score=NAME"]);
    with(&["--evaluator", "llm_judge"]).is_error(&["no endpoint to ask", "--judge-url"]);
    with(&["--evaluator", "llm_judge:url=http://127.0.0.1:1"])
        .is_not_now(&["cannot connect", "127.0.0.1:1"]);
    assert_eq!(server.request_count(), 0);
}
