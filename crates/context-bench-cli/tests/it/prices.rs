//! Money: list prices and one's own, for runs and for stored runs, in every report; and that nothing
//! looks like money where no price is known.

use std::fs;
use std::path::Path;

use context_bench_testkit::proxy::TestProxy;
use context_bench_testkit::{ChatServer, Reply};
use serde_json::Value;

use crate::program::{Done, arg, command, questions, run, run_with};

/// 3 and 15 dollars per million tokens.
const MODEL: &str = "claude-sonnet-4-5";

fn server(prompt: u64) -> ChatServer {
    ChatServer::start(move |_| Reply::text("Paris").usage(prompt, 10))
}

fn close(found: &Value, expected: f64) {
    let found = found.as_f64().unwrap_or(f64::NAN);
    assert!(
        (found - expected).abs() < 1e-12,
        "{found} is not {expected}"
    );
}

/// Two endpoints that differ only in the tokens of prompts, with further arguments.
fn two(path: &Path, more: &[&str]) -> (Done, [ChatServer; 2]) {
    let servers = [server(1000), server(590)];
    let [direct, kompact] = &servers;
    let (direct, kompact) = (
        format!("direct={}", direct.url()),
        format!("kompact={}", kompact.url()),
    );
    let args = [
        "--proxy",
        &direct,
        "--proxy",
        &kompact,
        "--dataset",
        arg(path),
        "--threshold",
        "0.5",
    ];
    let done = run(&[&args[..], more].concat());
    (done, servers)
}

#[test]
fn systems_are_compared_in_money() {
    let (folder, path) = questions(4);
    let csv = folder.path().join("rows.csv");
    let page = folder.path().join("page.html");
    let (done, _servers) = two(
        &path,
        &[
            "--model",
            MODEL,
            "--output",
            "json",
            "--output",
            "csv",
            "--output-file",
            arg(&csv),
            "--output",
            "html",
            "--output-file",
            arg(&page),
        ],
    );
    assert_eq!(done.code, 0, "{done}");
    let json = done.json();
    let summary = &json["summary"];
    close(&summary["direct"]["cost"], 4.0 * 0.00315);
    close(&summary["kompact"]["cost"], 4.0 * 0.00192);
    close(&summary["kompact"]["mean_cost"], 0.00192);
    close(&summary["kompact"]["cost_per_pass"], 0.00192);
    assert_eq!(summary["kompact"].get("unpriced_rows"), None);
    close(&json["rows"][0]["cost"], 0.00315);
    let prices = &json["provenance"]["prices"];
    assert_eq!(
        (&prices["currency"], &prices["books"][0]["name"]),
        (&"USD".into(), &"builtin".into())
    );
    assert_eq!(prices["books"][0]["as_of"], "2026-11-16");
    assert_eq!(prices["models"][0]["price_of"], MODEL);
    assert_eq!(prices["digest"].as_str().map(str::len), Some(32));
    let compared = &json["comparison"]["systems"][0];
    let sentence = compared["sentence"].as_str().unwrap();
    assert!(
        sentence.starts_with("kompact against direct: 41 % fewer prompt tokens, 39 % less money;"),
        "{sentence}"
    );
    let differences = compared["differences"].as_array().unwrap();
    let money = differences
        .iter()
        .find(|one| one["measure"] == "cost")
        .unwrap();
    assert_eq!(money["kind"], "money");
    close(&money["difference"], -0.00123);
    let csv = fs::read_to_string(&csv).unwrap();
    assert!(
        csv.lines().next().unwrap().contains(",cost,cost_at_least"),
        "{csv}"
    );
    assert!(csv.contains("0.00315"), "{csv}");
    // The chart is about money, and says so.
    let page = fs::read_to_string(&page).unwrap();
    assert!(page.contains("Cost per row (USD)"));
    assert!(page.contains(r#""cost":"mean_cost""#));

    let (table, _servers) = two(&path, &["--model", MODEL]);
    assert_eq!(table.code, 0, "{table}");
    for part in [
        "Cost\n",
        "total USD",
        "0.0126",
        "0.00768",
        "prices of builtin as of 2026-11-16 (entries ",
    ] {
        assert!(table.stdout.contains(part), "{part}: {table}");
    }
    let (markdown, _servers) = two(&path, &["--model", MODEL, "--output", "markdown"]);
    assert!(
        markdown.stdout.contains("| kompact | 0.00768 |"),
        "{markdown}"
    );
}

#[test]
fn what_has_no_price_shows_no_money() {
    let (_folder, path) = questions(3);
    // The usual model, which nobody named: the endpoint says its name back, whatever it serves.
    for more in [
        &["--output", "json"][..],
        &["--model", "llama3:latest", "--output", "json"],
    ] {
        let (done, _servers) = two(&path, more);
        assert_eq!(done.code, 0, "{done}");
        let json = done.json();
        for key in ["cost", "mean_cost", "cost_at_least", "unpriced_rows"] {
            assert_eq!(json["summary"]["direct"].get(key), None, "{key}");
        }
        assert_eq!(json["rows"][0].get("cost"), None);
        assert_eq!(json["provenance"].get("prices"), None);
        assert!(!done.stdout.contains("money"), "{done}");
    }
    let (done, _servers) = two(&path, &[]);
    assert!(!done.stdout.contains("Cost"), "{done}");
    // Unless the list prices are asked for: 1 and 5 dollars.
    let (done, _servers) = two(&path, &["--prices", "builtin", "--output", "json"]);
    close(&done.json()["summary"]["direct"]["mean_cost"], 0.00105);
}

#[test]
fn what_is_partly_known_is_a_lower_bound() {
    let known = server(1000);
    // Every second answer is of a model without a price.
    let mixed = ChatServer::start(|request| {
        let is_odd = ["Number 1:", "Number 3:"];
        let is_odd = is_odd
            .iter()
            .any(|one| request.last_user_content().contains(one));
        let reply = Reply::text("Paris").usage(1000, 10);
        match is_odd {
            true => reply.model("homegrown"),
            false => reply,
        }
    });
    let unknown = ChatServer::start(|_| Reply::text("Paris").usage(1000, 10).model("homegrown"));
    let (folder, path) = questions(4);
    let free = folder.path().join("own prices.yaml");
    fs::write(
        &free,
        "schema: 1\nmodels: [{id: homegrown, provider: local, free: true}]\n",
    )
    .unwrap();
    let named = [
        format!("known={}", known.url()),
        format!("mixed={}", mixed.url()),
        format!("unknown={}", unknown.url()),
    ];
    let mut args = vec!["--dataset", arg(&path), "--model", MODEL];
    for one in &named {
        args.extend(["--proxy", one]);
    }
    let json = run(&[&args[..], &["--output", "json"]].concat()).json();
    let summary = &json["summary"];
    close(&summary["known"]["cost"], 0.0126);
    assert_eq!(summary["unknown"].get("cost"), None);
    let table = run(&args);
    let line = |table: &str, name: &str| {
        let money = table.split("Cost\n").nth(1).unwrap();
        let line = money.lines().find(|line| line.starts_with(name)).unwrap();
        line.to_owned()
    };
    assert!(line(&table.stdout, "unknown").contains('?'), "{table}");
    assert!(line(&table.stdout, "unknown").contains("all"), "{table}");
    assert_eq!(summary["mixed"]["cost"], Value::Null);
    assert_eq!(summary["mixed"]["unpriced_rows"], 2.0);
    close(&summary["mixed"]["cost_at_least"], 0.0063);
    assert!(line(&table.stdout, "mixed").contains("≥ 0.0063"), "{table}");
    // What costs nothing must say so.
    let done = run(&[&args[..], &["--prices", arg(&free), "--output", "json"]].concat());
    close(&done.json()["summary"]["unknown"]["cost"], 0.0);
}

#[test]
fn stored_runs_are_priced_anew_and_nobody_is_asked() {
    let (folder, path) = questions(4);
    let cache = folder.path().join("runs");
    let stored = [
        "--model",
        "homegrown",
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ];
    let (done, servers) = two(&path, &stored);
    assert_eq!(done.code, 0, "{done}");
    assert_eq!(done.json()["summary"]["direct"].get("cost"), None);
    let asked =
        |servers: &[ChatServer; 2]| servers[0].requests().len() + servers[1].requests().len();
    let before = asked(&servers);
    let prices = folder.path().join("prices.yaml");
    let own = |input: &str| {
        let text = format!(
            "schema: 1\nbook: {{name: ours, as_of: 2026-11-17, currency: EUR}}\nmodels:\n\
             - {{id: homegrown, input: \"{input}\", output: \"0\"}}\n"
        );
        fs::write(&prices, text).unwrap();
    };
    let export = |more: &[&str]| {
        let args = ["export", "last", "--cache-dir", arg(&cache)];
        run(&[&args[..], more].concat())
    };
    own("2");
    let json = export(&["--prices", arg(&prices)]).json();
    close(&json["summary"]["direct"]["cost"], 0.008);
    assert_eq!(json["provenance"]["prices"]["currency"], "EUR");
    own("10");
    let json = export(&["--prices", arg(&prices)]).json();
    close(&json["summary"]["direct"]["cost"], 0.04);
    // Rows alone have it too, and so have comparisons and pages.
    let csv = export(&["--prices", arg(&prices), "--output", "csv"]);
    assert!(csv.stdout.contains(",0.01,"), "{csv}");
    let plain = export(&["--output", "csv"]);
    assert!(
        !plain.stdout.lines().next().unwrap().contains("cost"),
        "{plain}"
    );
    let args = [
        "compare",
        "last",
        "--cache-dir",
        arg(&cache),
        "--prices",
        arg(&prices),
    ];
    let compared = run(&args);
    assert!(compared.stdout.contains("41 % less money"), "{compared}");
    let page = folder.path().join("page.html");
    let args = [
        "report",
        "last",
        "--cache-dir",
        arg(&cache),
        "--prices",
        arg(&prices),
    ];
    let report = run(&[&args[..], &["-o", arg(&page)]].concat());
    assert_eq!(report.code, 0, "{report}");
    assert!(
        fs::read_to_string(&page)
            .unwrap()
            .contains("Cost per row (EUR)")
    );
    assert_eq!(asked(&servers), before, "nobody was asked");
    // A run keeps its prices, also when their file is gone.
    let (done, _servers) = two(&path, &[&stored[..], &["--prices", arg(&prices)]].concat());
    assert_eq!(done.code, 0, "{done}");
    fs::remove_file(&prices).unwrap();
    close(&export(&[]).json()["summary"]["direct"]["cost"], 0.04);
}

#[test]
fn gates_know_money() {
    let (_folder, path) = questions(4);
    let gated = |rule: &str, model: &str| {
        let (done, _servers) = two(&path, &["--model", model, "--fail-if", rule]);
        done
    };
    for (rule, code) in [
        ("cost > 0.01", 0),
        ("cost > 0.001", 4),
        ("cost > baseline * 1.1", 0),
        ("cost > baseline * 0.5", 4),
        ("mean_cost > 0.0019", 4),
        ("mean_cost > baseline", 0),
        ("cost_per_pass > 0.01", 0),
        ("unpriced_rows > 0", 4),
    ] {
        let done = gated(rule, MODEL);
        assert_eq!(done.code, code, "{rule}: {done}");
    }
    // What is not known does not pass.
    let done = gated("cost > 100", "homegrown");
    assert_eq!(done.code, 4, "{done}");
    assert!(done.stdout.contains("not measured"), "{done}");
}

#[test]
fn behind_a_tap_all_calls_of_an_arm_are_paid_for() {
    let provider =
        ChatServer::start(|request| Reply::text("Paris").usage(request.prompt_words(), 1));
    let proxy = TestProxy::compressor();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = listener.local_addr().unwrap().to_string();
    drop(listener);
    proxy.point_at(&format!("http://{listen}/a/kompact"));
    let (folder, path) = questions(4);
    let cache = folder.path().join("runs");
    let (url, named) = (provider.url(), format!("kompact={}", proxy.url()));
    let args = [
        "--proxy",
        &named,
        "--upstream",
        &url,
        "--tap-listen",
        &listen,
        "--dataset",
        arg(&path),
        "--model",
        MODEL,
        "--cache-dir",
        arg(&cache),
        "--output",
        "json",
    ];
    let mut command = command();
    command
        .env("OPENAI_API_KEY", "sk-some-key-0123456789")
        .args(args);
    let done = run_with(&mut command);
    assert_eq!(done.code, 0, "{done}");
    let json = done.json();
    for arm in ["direct", "kompact"] {
        let wire = &json["wire"][arm]["usage"];
        let tokens = |name: &str| wire[name].as_f64().unwrap();
        let paid = (tokens("uncached") * 3.0 + tokens("output") * 15.0) / 1e6;
        close(&json["summary"][arm]["cost"], paid);
        assert_eq!(json["wire"][arm]["uses"][0]["model"], MODEL, "{arm}");
    }
    let cost = |arm: &str| json["summary"][arm]["cost"].as_f64().unwrap();
    assert!(cost("kompact") < cost("direct"));
    let args = ["export", "last", "--cache-dir", arg(&cache)];
    assert_eq!(
        run(&args).json()["summary"],
        json["summary"],
        "the same from the store"
    );
}

#[test]
fn prices_that_are_wrong_are_refused_before_anything_is_sent() {
    let (folder, path) = questions(1);
    let file = folder.path().join("p.yaml");
    fs::write(&file, "schema: 1\nmodels:\n- {id: m, inputt: 3}\n").unwrap();
    let (done, servers) = two(&path, &["--prices", arg(&file)]);
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr.contains("a model has no key `inputt`"),
        "{done}"
    );
    assert!(done.stderr.contains("p.yaml:3:11"), "{done}");
    assert!(
        done.stderr.contains("hint: did you mean `input`?"),
        "{done}"
    );
    assert!(servers[0].requests().is_empty());
    let (done, _servers) = two(&path, &["--prices", "nowhere.yaml"]);
    assert_eq!(done.code, 2, "{done}");
    assert!(
        done.stderr
            .contains("cannot read the prices `nowhere.yaml`"),
        "{done}"
    );
}
