//! Models that an endpoint does not list: said before anything is asked, and no error.

use context_bench_testkit::{ChatServer, handlers};

use crate::program::{Done, arg, questions, run};

fn asked(server: &ChatServer, path: &str, more: &[&str]) -> Done {
    let url = server.url();
    let flags = ["--proxy", &url, "--name", "mine", "--dataset", path];
    run(&[&flags[..], &["--output", "json"], more].concat())
}

#[test]
fn a_model_that_is_not_listed_is_named_with_what_may_be_meant() {
    let server = ChatServer::builder()
        .models(["gpt-4o-mini", "other"])
        .start(handlers::constant("Paris"));
    let (folder, path) = questions(2);
    let cache = folder.path().join("cache");
    let kept = ["--cache-dir", arg(&cache)];
    let typo = [&kept[..], &["--model", "gpt-4o-mimi"]].concat();
    let done = asked(&server, arg(&path), &typo);
    assert_eq!(done.code, 0, "{done}");
    let warning = format!(
        "warning: the model `gpt-4o-mimi` that `mine` asks for is not among those that \
         {}/v1/models lists\nhint: did you mean `gpt-4o-mini`?",
        server.url()
    );
    assert!(done.stderr.contains(&warning), "{done}");
    // The run went on; the list was asked for once.
    assert_eq!(server.request_count(), 2);
    assert_eq!(server.other_requests().len(), 1);

    // Answers that are stored are known to work: nothing is sent again.
    let again = asked(&server, arg(&path), &typo);
    assert!(!again.stderr.contains("not among"), "{again}");
    let sent = (server.request_count(), server.other_requests().len());
    assert_eq!(sent, (2, 1));

    let there = asked(&server, arg(&path), &["--model", "other"]);
    assert!(!there.stderr.contains("warning"), "{there}");
}

#[test]
fn an_endpoint_without_a_list_is_no_trouble() {
    let server = ChatServer::start(handlers::constant("Paris"));
    let (_folder, path) = questions(2);
    let done = asked(&server, arg(&path), &["--model", "any"]);
    assert_eq!(done.code, 0, "{done}");
    assert!(!done.stderr.contains("warning"), "{done}");
}
