//! One process of a proxy: ready, not ready, dead, and nothing left of it.

use std::path::Path;

use context_bench::proxy::ProxyProfile;
use context_bench::tap::{ArmHost as _, ProxyApi};
use serde_json::json;

use super::{fake, fake_profile, host, host_in, is_alive, wait_until_gone};

/// Nobody is asked there.
const TAP: &str = "http://127.0.0.1:9/a/fake";

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Runtime::new().expect("threads")
}

/// The one log in a folder.
fn log(folder: &Path) -> String {
    let files = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut logs = files
        .map(|file| file.path())
        .filter(|path| path.extension().is_some_and(|end| end == "log"));
    std::fs::read_to_string(logs.next().expect("a log")).expect("text")
}

#[test]
fn a_proxy_is_started_probed_and_stopped() {
    let folder = tempfile::tempdir().expect("a folder");
    let folder = folder.path().join("pro xies");
    let host = fake("relays", Some(folder.clone()), true);
    runtime().block_on(async {
        assert_eq!(host.facts().len(), 0);
        let address = host.start(TAP).await.expect("started");
        assert!(address.base_url.starts_with("http://127.0.0.1:"));
        assert_eq!(address.session_header.as_deref(), Some("x-fake-session"));
        let facts = host.facts();
        assert_eq!(facts["proxy"], "fake");
        assert_eq!(facts["ready"]["mode"], "relays");
        let carriers = json!({
            "carriers": {
                "credential": true, "header": true, "query": true, "user": true, "metadata": true,
            },
            "text": true, "path": true, "calls": 1, "status": 200,
        });
        assert_eq!(facts["carriers"], carriers, "{facts:?}");
        // Only what it is given, and never a key.
        let environment = facts["ready"]["environment"].to_string();
        for name in ["FAKE_TOKEN", "FAKE_INHERITED", "PATH", "HTTPS_PROXY"] {
            assert!(
                environment.contains(&format!("\"{name}\"")),
                "{environment}"
            );
        }
        for name in ["OPENAI_API_KEY", "CARGO_MANIFEST_DIR", "RUST_"] {
            assert!(!environment.contains(name), "{environment}");
        }
        assert_eq!(host.problem(), None);
        host.stop().await;
        assert_eq!(host.facts()["stats"]["mode"], "relays");
        let again = reqwest_get(&address.base_url).await;
        assert!(again.is_err(), "somebody still listens");
    });
    assert_eq!(log(&folder), "");
}

#[test]
fn a_proxy_is_probed_in_the_api_that_it_is_asked_in() {
    for (api, user) in [
        (ProxyApi::Responses, true),
        (ProxyApi::Messages, false),
        (ProxyApi::Gemini, false),
    ] {
        let profile = fake_profile("relays");
        let profile = ProxyProfile::parse(profile.as_bytes(), "fake.yaml").expect("right");
        let host = host_in(api, profile, None, true);
        let facts = runtime().block_on(async {
            host.start(TAP).await.expect("started");
            host.stop().await;
            host.facts()
        });
        // Those of Anthropic and Google have no `user`.
        let carriers = json!({
            "carriers": {
                "credential": true, "header": true, "query": true, "user": user, "metadata": true,
            },
            "text": true, "path": true, "calls": 1, "status": 200,
        });
        assert_eq!(facts["carriers"], carriers, "{api:?}");
    }
}

/// Whether something listens there.
async fn reqwest_get(url: &str) -> std::io::Result<tokio::net::TcpStream> {
    tokio::net::TcpStream::connect(url.trim_start_matches("http://")).await
}

#[test]
fn what_is_found_by_a_probe_is_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    let kept = || {
        let files = std::fs::read_dir(folder.path())
            .expect("a folder")
            .flatten();
        let mut names: Vec<_> = files.map(|file| file.path()).collect();
        names.retain(|path| path.extension().is_some_and(|end| end == "json"));
        names
    };
    runtime().block_on(async {
        let first = fake("shortens", Some(folder.path().to_owned()), true);
        first.start(TAP).await.expect("started");
        assert_eq!(first.facts()["carriers"]["text"], true);
        let files = kept();
        assert_eq!(files.len(), 1);
        let marked = r#"{"calls": 42}"#;
        std::fs::write(&files[0], marked).expect("written");
        let again = fake("shortens", Some(folder.path().to_owned()), true);
        again.start(TAP).await.expect("started");
        assert_eq!(
            again.facts()["carriers"]["calls"],
            42,
            "it was not asked again"
        );
        let other = fake("relays", Some(folder.path().to_owned()), true);
        assert_ne!(other.identity(), again.identity());
        assert_eq!(first.identity(), again.identity());
    });
}

#[test]
fn one_that_never_gets_ready_or_dies_is_an_error_with_its_log() {
    let short = fake_profile("never-ready").replace("timeout: 300", "timeout: 1.5");
    let dead = fake_profile("dies-at-once");
    for (text, what) in [
        (short, "was not ready within 1.5 s: http://127.0.0.1:"),
        (
            dead,
            "ended before it was ready (exit code 7); its log ends with:\nfatal: the \
                configuration is not to my taste",
        ),
    ] {
        for launcher in [true, false] {
            let profile = ProxyProfile::parse(text.as_bytes(), "fake.yaml").expect("right");
            let host = host(profile, None, launcher);
            let error = runtime().block_on(host.start(TAP)).expect_err("not ready");
            let message = error.to_string();
            assert!(message.contains(what), "{message}");
        }
    }
}

#[test]
fn nothing_is_left_of_a_proxy_not_even_what_its_children_started() {
    for by in ["stop", "drop", "panic"] {
        let folder = tempfile::tempdir().expect("a folder");
        let host = fake("grandchildren", Some(folder.path().to_owned()), true);
        let runtime = runtime();
        runtime.block_on(host.start(TAP)).expect("started");
        let log = log(folder.path());
        let line = log.lines().find_map(|line| line.strip_prefix("pids "));
        let pids: Vec<u32> = line
            .expect("it says who there is")
            .split(' ')
            .map(|pid| pid.parse().expect("a number"))
            .collect();
        assert_eq!(pids.len(), 3);
        assert!(pids.iter().all(|pid| is_alive(*pid)), "{pids:?}");
        match by {
            "stop" => runtime.block_on(host.stop()),
            "drop" => drop(host),
            _ => {
                let caught = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || {
                    let _host = host;
                    panic!("on purpose");
                }));
                assert!(caught.is_err());
            }
        }
        wait_until_gone(&pids);
    }
}

#[test]
fn one_that_dies_later_says_so() {
    let host = fake("dies", None, true);
    runtime().block_on(async {
        let address = host.start(TAP).await.expect("started");
        assert_eq!(host.problem(), None);
        // Three calls: it dies at the third.
        for _ in 0..3 {
            let stream = reqwest_get(&address.base_url).await;
            let mut stream = stream.expect("it listens");
            let call = "POST / HTTP/1.1\r\nhost: h\r\ncontent-length: 2\r\n\r\n{}";
            tokio::io::AsyncWriteExt::write_all(&mut stream, call.as_bytes())
                .await
                .expect("sent");
            let _ = tokio::io::AsyncReadExt::read(&mut stream, &mut [0; 1]).await;
        }
        let problem = loop {
            match host.problem() {
                Some(problem) => break problem.to_string(),
                None => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            }
        };
        assert!(
            problem.contains("the proxy `fake` ended during the run (exit code 3)")
                && problem.contains("fatal: out of ideas"),
            "{problem}"
        );
    });
}
