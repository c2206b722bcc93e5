//! The groups under `examples/groups`, run as they are.

use std::path::Path;

use context_bench_testkit::likelihood::{EchoStyle, TokenScore, likelihood};
use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use super::only;
use crate::program::{arg, run};

#[test]
fn every_group_of_the_examples_runs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/groups");
    let score = |_: &str, token: &str| TokenScore {
        logprob: -(token.len() as f64),
        best: 0.0,
    };
    let script = likelihood(EchoStyle::default(), score, |_| Reply::text("B"));
    let server = ChatServer::start(script);
    let proxy = server.base_url_v1();
    let mut groups = Vec::new();
    for entry in std::fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path();
        if path
            .extension()
            .is_some_and(|extension| extension == "yaml")
        {
            groups.push(path);
        }
    }
    groups.sort();
    assert!(groups.len() >= 7, "{groups:?}");
    for group in groups {
        let (tasks, include) = (arg(&group), arg(&folder));
        let line = [
            "run",
            "--tasks",
            tasks,
            "--include-path",
            include,
            "--proxy",
            &proxy,
        ];
        let done = run(&[&line[..], &["--quiet", "--output", "json"]].concat());
        assert_eq!(done.code, 0, "{tasks}: {done}");
        let found = only(&done);
        let counts = found["counts"].as_object().unwrap();
        assert!(!counts.is_empty(), "{tasks}");
        for (task, counts) in counts {
            assert!(counts["planned"].as_u64() > Some(0), "{tasks}: {task}");
            assert_eq!(counts["planned"], counts["scored"], "{tasks}: {task}");
            let scores = found["results"][task].as_object().unwrap();
            let numbers = scores.values().filter(|value| value.is_f64()).count();
            assert!(
                numbers > 0,
                "{tasks}: {task}: {:?}",
                Value::from(scores.clone())
            );
        }
    }
}
