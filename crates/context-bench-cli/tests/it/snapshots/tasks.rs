//! Tasks: their prompts, their tables, and what is said about a tree of them.

use context_bench_testkit::{ChatServer, handlers};

use super::session::Session;

fn with_tasks() -> Session {
    let session = Session::new();
    for (name, operator) in [("plus", "+"), ("times", "*")] {
        session.write(
            &format!("sums/{name}.yaml"),
            format!(
                "task: {name}\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: sums.jsonl}}}}\n\
                 test_split: test\noutput_type: generate_until\ndoc_to_text: \"{{{{a}}}} {operator} {{{{b}}}} =\"\n\
                 doc_to_target: \"{{{{{name}}}}}\"\n"
            ),
        );
    }
    session.write(
        "sums/sums.jsonl",
        "{\"a\": 2, \"b\": 3, \"plus\": 5, \"times\": 6}\n{\"a\": 2, \"b\": 2, \"plus\": 4, \"times\": 4}\n",
    );
    session.write(
        "sums/group.yaml",
        "group: sums\ntask: [plus, times]\naggregate_metric_list: [{metric: exact_match}]\n",
    );
    session
}

#[test]
fn a_group_of_tasks() {
    let server = ChatServer::start(handlers::by_question([
        ("2 + 3 =", "5"),
        ("2 + 2 =", "4"),
        ("2 * 3 =", "6"),
        ("2 * 2 =", "5"),
    ]));
    let mut session = with_tasks();
    session.serve("[ENDPOINT]", &server);
    session.run_all(&[
        "validate sums --include-path sums",
        "ls subtasks --include-path sums --pattern 'plus'",
        "show plus --include-path sums",
        "render --tasks times --include-path sums --limit 1",
        "--tasks sums --include-path sums --proxy [ENDPOINT]",
        "--tasks sums --include-path sums --proxy [ENDPOINT] --output markdown",
        "--tasks sums --include-path sums --proxy [ENDPOINT] --dry-run",
    ]);
    session.write(
        "doc.json",
        "{\"a\": 2, \"b\": 3, \"plus\": 5, \"times\": 6}",
    );
    session.run("score --task plus --doc doc.json --response 5 --include-path sums");
    session.approve("tasks");
}
