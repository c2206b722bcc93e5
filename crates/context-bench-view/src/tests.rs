//! A real store behind a real socket.

use std::time::{Duration, Instant};

use context_bench::planner::{self, ReopenedPlan, RunsToCompare, Surroundings};
use context_bench::registry::Registry;
use context_bench::report::PageReport;
use context_bench::store::Store;
use context_bench::{RunSpec, TextsKept};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::oneshot;

use crate::query::Query;
use crate::watched_run::WatchedRun;
use crate::{View, ViewSettings};

fn surroundings() -> Surroundings {
    Surroundings::new(Registry::builtin())
}

/// A store with one run of two systems, the second of which cuts the answers off.
async fn store() -> (TempDir, Store) {
    let folder = TempDir::new().expect("a folder");
    let store = Store::open(folder.path()).expect("a store").store;
    let examples = (0..40).map(|n| {
        let letter = format!("The clerk of room {n} wrote a long letter about the weather. ");
        let example = json!({
            "id": format!("q{n}"),
            "question": format!("Who painted the harbour of town {n}?"),
            "answer": format!("Marta Quill{n}"),
            "context": letter.repeat(6) + &format!("The harbour of town {n} was painted by Marta Quill{n}."),
        });
        format!("{example}\n")
    });
    let file = folder.path().join("questions.jsonl");
    std::fs::write(&file, examples.collect::<String>()).expect("a file");
    let spec: RunSpec = serde_json::from_value(json!({
        "systems": [{"system": "passthrough"}, {"system": "truncate:ratio=0.3", "name": "cut"}],
        "benchmarks": [{"dataset": file}],
    }))
    .expect("a spec");
    let planned = planner::plan(&spec, &surroundings()).unwrap_or_else(|error| panic!("{error}"));
    let run = planned.evaluate().store(store.clone());
    run.run().await.expect("a run");
    (folder, store)
}

/// Opens the only run and waits until it is read.
fn watched(store: &Store) -> std::sync::Arc<WatchedRun> {
    let id = store.runs_uncounted().expect("runs")[0]
        .run
        .id()
        .to_string();
    let run =
        WatchedRun::open(store, &id, &surroundings()).unwrap_or_else(|error| panic!("{error}"));
    let since = Instant::now();
    while run.state()["is_done"] != true {
        assert!(
            since.elapsed() < Duration::from_secs(300),
            "{}",
            run.state()
        );
        std::thread::sleep(Duration::from_millis(10));
    }
    run
}

#[tokio::test]
async fn figures_of_the_index_are_those_of_the_result() {
    let (_folder, store) = store().await;
    let run = watched(&store);
    let stored = ReopenedPlan::open(&store, &run.id).unwrap_or_else(|error| panic!("{error}"));
    let result = stored
        .result(&surroundings(), TextsKept::None)
        .expect("a result");
    let whole = json!(PageReport::default().data(&result));
    let light = run.light_page();
    let systems = |data: &Value| data["systems"].as_array().cloned().unwrap_or_default();
    let figures = |system: &Value| -> serde_json::Map<String, Value> {
        let figures = system["figures"].as_array().cloned().unwrap_or_default();
        figures
            .iter()
            .map(|pair| {
                (
                    pair[0].as_str().unwrap_or_default().to_owned(),
                    pair[1].clone(),
                )
            })
            .collect()
    };
    assert_eq!(systems(&light).len(), 2);
    for (light, whole) in systems(&light).iter().zip(&systems(&whole)) {
        assert_eq!(light["counts"], whole["counts"]);
        let known = figures(whole);
        for (key, figure) in figures(light) {
            let value = |figure: &Value| figure["value"].as_f64();
            let (light, whole) = (value(&figure), known.get(&key).and_then(value));
            let same = match (light, whole) {
                (Some(light), Some(whole)) => (light - whole).abs() <= 1e-12 * whole.abs().max(1.0),
                (light, whole) => light == whole,
            };
            assert!(same, "{key}: {light:?} and {whole:?}");
        }
    }
    for part in [
        "latency",
        "spread",
        "failures",
        "quality",
        "cost",
        "compression",
        "threshold",
        "baseline",
    ] {
        assert_eq!(light[part], whole[part], "{part}");
    }
    // What a run that is too large to be summed up gets instead.
    let compared = json!(run.compare());
    assert_eq!(compared["differences"][0]["n"], 40);
    assert_eq!(compared, whole["comparison"]);
}

#[tokio::test]
async fn two_large_runs_are_compared_like_small_ones() {
    let (_folder, first) = store().await;
    let (_other, second) = store().await;
    let plan = |store: &Store| {
        let id = store.runs_uncounted().expect("runs")[0]
            .run
            .id()
            .to_string();
        ReopenedPlan::open(store, &id).unwrap_or_else(|error| panic!("{error}"))
    };
    let runs = [plan(&first), plan(&second)];
    let how = RunsToCompare {
        flips: 5,
        ..RunsToCompare::default()
    };
    let small = planner::compare_runs(&runs, &how, &surroundings());
    let small = small.unwrap_or_else(|error| panic!("{error}")).comparison;
    let large = planner::compare_large_runs(&runs[0], &runs[1], 5, &surroundings());
    let large = large.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(large.systems.len(), 2);
    for (large, small) in large.systems.iter().zip(&small.systems) {
        assert_eq!(large.matched, small.matched);
        assert_eq!((large.matched.paired, &large.flips), (40, &small.flips));
        let scores = small.differences.iter().filter(|one| one.measure == "f1");
        assert_eq!(large.differences, scores.cloned().collect::<Vec<_>>());
        assert_eq!(large.notes, small.notes);
    }
}

#[tokio::test]
async fn rows_are_filtered_ordered_searched_and_paged() {
    let (_folder, store) = store().await;
    let run = watched(&store);
    let rows = |query: &str| run.rows(&Query::parse(query)).expect("rows");
    let all = rows("limit=200");
    assert_eq!((&all["found"], &all["total"]), (&json!(80), &json!(80)));
    let all = all["rows"].as_array().cloned().unwrap_or_default();
    assert_eq!(all.len(), 80);
    let count = |test: &dyn Fn(&Value) -> bool| all.iter().filter(|row| test(row)).count();
    let found = |query: &str| rows(query)["found"].as_u64().unwrap_or_default() as usize;
    assert_eq!(found("system=1"), 40);
    assert_eq!(found("system=7"), 0);
    let low = |row: &Value| row["quality"].as_f64().is_some_and(|value| value <= 0.5);
    assert_eq!(found("max=0.5"), count(&low));
    assert_eq!(
        found("score=f1&max=0.5&system=0"),
        count(&|row| low(row) && row["system"] == 0)
    );
    assert_eq!(found("score=unknown&max=0.5"), 0);
    let quality = |row: &Value| row["quality"].as_f64().unwrap_or(f64::NAN);
    let sorted = rows("sort=-quality&limit=200");
    let sorted: Vec<f64> = sorted["rows"]
        .as_array()
        .into_iter()
        .flatten()
        .map(quality)
        .collect();
    assert!(sorted.is_sorted_by(|a, b| a >= b), "{sorted:?}");
    // Flips follow from the rows of the baseline.
    let of = |system: u64, id: &Value| {
        let mut own = all
            .iter()
            .filter(|row| row["system"] == system && row["id"] == *id);
        own.next().map(quality).unwrap_or(f64::NAN)
    };
    let lost = count(&|row| row["system"] == 1 && quality(row) < 0.7 && of(0, &row["id"]) >= 0.7);
    assert!(lost > 0);
    assert_eq!(found("show=lost"), lost);
    let page = rows("show=lost&sort=flips&offset=1&limit=2");
    assert_eq!(
        page["rows"].as_array().map(Vec::len),
        Some(2.min(lost.saturating_sub(1)))
    );
    // Words of a question find the rows of all systems, however long it takes.
    let question = all[3]["question"]
        .as_str()
        .unwrap_or_default()
        .to_uppercase();
    let query = format!("text={}", question.replace(' ', "+").replace('&', "%26"));
    let mut searched = rows(&query);
    while searched["searched"].as_f64() < Some(1.0) {
        searched = rows(&query);
    }
    assert!(searched["found"].as_u64() >= Some(2), "{searched}");
    let example = run.example(3).expect("an example").expect("a row");
    assert_eq!(example["rows"].as_array().map(Vec::len), Some(2));
    assert!(example["rows"][1]["texts"]["response"].is_string());
    assert!(run.example(80).expect("no error").is_none());
    for query in [
        "offset=99999999999999999999",
        "limit=-1",
        "min=NaN&max=x",
        "offset=79&limit=5",
        "sort=--",
        "system=99999999",
    ] {
        rows(query);
    }
}

struct Server {
    address: String,
    token: String,
    end: Option<oneshot::Sender<()>>,
    served: tokio::task::JoinHandle<()>,
}

impl Server {
    async fn start(store: Store) -> Self {
        let settings = ViewSettings {
            store,
            around: surroundings(),
            port: 0,
        };
        let view = View::listen(settings).await.expect("a port");
        let url = view.url();
        let (address, token) = url["http://".len()..]
            .split_once("/?token=")
            .expect("a token");
        let (address, token) = (address.to_owned(), token.to_owned());
        let (end, ended) = oneshot::channel();
        let served = tokio::spawn(view.serve_until(async move { drop(ended.await) }));
        Self {
            address,
            token,
            end: Some(end),
            served,
        }
    }

    /// Sends bytes; all that comes back until the other side closes or `silence` passes.
    async fn say(&self, bytes: &[u8]) -> String {
        let mut stream = TcpStream::connect(&self.address)
            .await
            .expect("a connection");
        // The other side may close before all is sent.
        let _ = stream.write_all(bytes).await;
        let mut said = Vec::new();
        let _ = tokio::time::timeout(Duration::from_secs(120), stream.read_to_end(&mut said)).await;
        String::from_utf8_lossy(&said).into_owned()
    }

    async fn get(&self, path: &str) -> String {
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Context-Bench-Token: {}\r\nConnection: close\r\n\r\n",
            self.address, self.token
        );
        self.say(request.as_bytes()).await
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_and_the_server_goes_on() {
    let (_folder, store) = store().await;
    let mut server = Server::start(store).await;
    let host = format!("Host: {}\r\n", server.address);
    for (bytes, status) in [
        ("garbage\r\n\r\n".to_owned(), "400"),
        (
            "GET / HTTP/1.1\r\nConnection: close\r\n\r\n".to_owned(),
            "421",
        ),
        (
            format!("GET / HTTP/1.1\r\n{host}A: {}\r\n\r\n", "x".repeat(1 << 20)),
            "431",
        ),
        (
            format!("POST /api/runs HTTP/1.1\r\n{host}Content-Length: 99999999\r\n\r\n"),
            "413",
        ),
        (
            format!("DELETE / HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
            "405",
        ),
        (
            format!("GET /nowhere HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
            "404",
        ),
        (
            format!("GET /api/runs HTTP/1.1\r\n{host}Connection: close\r\n\r\n"),
            "401",
        ),
    ] {
        let said = server.say(bytes.as_bytes()).await;
        // A connection that is closed on a client that still sends may lose the answer.
        let is_lost = said.is_empty() && bytes.len() > 10_000;
        assert!(
            said.starts_with(&format!("HTTP/1.1 {status} ")) || is_lost,
            "{bytes:.80}: {said:.200}"
        );
    }
    for path in [
        "/api/run/nothing/state",
        "/api/run/../state",
        "/api/compare?base=a",
        "/api/run/%00/x",
    ] {
        let said = server.get(path).await;
        assert!(said.starts_with("HTTP/1.1 4"), "{path}: {said:.200}");
    }
    assert!(
        server
            .get("/api/runs")
            .await
            .contains("\"status\":\"finished\"")
    );
    drop(server.end.take());
    server.served.await.expect("no panic");
}

#[tokio::test]
async fn slow_and_many_connections_keep_nobody_from_asking() {
    let (_folder, store) = store().await;
    let mut server = Server::start(store).await;
    // Some that say nothing and some that never end their request; fewer than there is room for.
    let mut open = Vec::new();
    for n in 0..50 {
        let mut stream = TcpStream::connect(&server.address)
            .await
            .expect("a connection");
        if n % 2 == 0 {
            stream
                .write_all(b"GET / HTTP/1.1\r\nHost: ")
                .await
                .expect("sent");
        }
        open.push(stream);
    }
    assert!(server.get("/api/runs").await.starts_with("HTTP/1.1 200 "));
    // As many as there is no room for wait, and are served when others go.
    let asked: Vec<_> = (0..100).map(|_| server.get("/assets/page.css")).collect();
    drop(open);
    for said in futures(asked).await {
        assert!(said.starts_with("HTTP/1.1 200 "), "{said:.100}");
    }
    // Its end does not wait for those that stay open.
    let _idle = TcpStream::connect(&server.address)
        .await
        .expect("a connection");
    drop(server.end.take());
    server.served.await.expect("no panic");
}

/// All of them, one beside the other.
async fn futures<F: Future<Output = String>>(all: Vec<F>) -> Vec<String> {
    let mut all: Vec<_> = all.into_iter().map(Box::pin).collect();
    let mut said = Vec::new();
    std::future::poll_fn(|context| {
        all.retain_mut(|one| match one.as_mut().poll(context) {
            std::task::Poll::Ready(text) => {
                said.push(text);
                false
            }
            std::task::Poll::Pending => true,
        });
        match all.is_empty() {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    said
}
