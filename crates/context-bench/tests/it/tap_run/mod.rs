//! Runs behind a tap: real loopback proxies in front of the tap, the test kit as the provider.

mod arms;
mod attribution;
mod faults;
mod resume;

use std::sync::Arc;

use async_trait::async_trait;
use context_bench::evaluator::{AnswerQuality, Evaluator};
use context_bench::metric::{MeanScore, TokensSaved, WireMetrics, WireUsageSaved};
use context_bench::store::Store;
use context_bench::system::{OpenAiProxy, OpenAiProxySettings, SystemError};
use context_bench::tap::{
    ArmAddress, ArmHost, ArmRole, DirectHost, RunTap, RunTapSettings, TappedSystem,
};
use context_bench::tokens::Tokenizer;
use context_bench::{EvalResult, Example, System, evaluate};
use context_bench_testkit::proxy::TestProxy;
use context_bench_testkit::{ChatServer, Reply, Request};
use serde_json::{Value, json};

/// A proxy of the test kit as the host of an arm.
struct TestHost {
    proxy: Arc<TestProxy>,
    role: ArmRole,
    name: &'static str,
}

#[async_trait]
impl ArmHost for TestHost {
    fn role(&self) -> ArmRole {
        self.role
    }

    fn identity(&self) -> Value {
        json!({"host": "test", "name": self.name})
    }

    async fn start(&self, tap_base_url: &str) -> Result<ArmAddress, SystemError> {
        self.proxy.point_at(tap_base_url);
        Ok(ArmAddress::new(self.proxy.url()))
    }

    async fn stop(&self) {
        let proxy = Arc::clone(&self.proxy);
        let settled = tokio::task::spawn_blocking(move || proxy.settle()).await;
        settled.expect("background work ends");
    }
}

/// An arm of a test: its name, its host, and what is special about its client.
struct TestArm {
    name: &'static str,
    host: Arc<dyn ArmHost>,
}

fn direct() -> TestArm {
    TestArm {
        name: "direct",
        host: Arc::new(DirectHost),
    }
}

fn arm(name: &'static str, role: ArmRole, proxy: &Arc<TestProxy>) -> TestArm {
    let host = TestHost {
        proxy: Arc::clone(proxy),
        role,
        name,
    };
    TestArm {
        name,
        host: Arc::new(host),
    }
}

/// What is set in a run of a test.
struct TestRun {
    tap: RunTapSettings,
    arms: Vec<TestArm>,
    examples: Vec<Example>,
    workers: usize,
    stream: bool,
    retries: u32,
    store: Option<Store>,
    tokenizer: Tokenizer,
    evaluator: Arc<dyn Evaluator>,
}

impl TestRun {
    fn new(server: &ChatServer, arms: Vec<TestArm>) -> Self {
        let mut tap = RunTapSettings::new(&server.url()).expect("a URL");
        tap.api_key = Some("sk-real-key-of-the-provider".into());
        Self {
            tap,
            arms,
            examples: examples(12),
            workers: 4,
            stream: false,
            retries: 0,
            store: None,
            tokenizer: Tokenizer::default(),
            evaluator: Arc::new(AnswerQuality),
        }
    }

    fn run(self) -> EvalResult {
        let tap = RunTap::new(self.tap);
        let systems: Vec<Arc<dyn System>> = self
            .arms
            .into_iter()
            .map(|arm| {
                let mut settings = OpenAiProxySettings::new(tap.settings().upstream.to_string());
                settings.name = Some(arm.name.to_owned());
                settings.stream = self.stream;
                settings.max_retries = self.retries;
                settings.retry_base_delay = std::time::Duration::from_millis(1);
                let make = Box::new(|settings| {
                    let proxy = OpenAiProxy::with_settings(settings)?;
                    Ok(Arc::new(proxy) as Arc<dyn System>)
                });
                let system = TappedSystem::new(&tap, arm.host, settings, make);
                Arc::new(system.expect("a client")) as Arc<dyn System>
            })
            .collect();
        let mut run = evaluate()
            .systems(systems)
            .dataset(self.examples)
            .evaluators([self.evaluator])
            .metric(MeanScore::of("f1"))
            .metric(WireMetrics)
            .comparison(TokensSaved::default())
            .comparison(WireUsageSaved::default())
            .max_workers(self.workers)
            .token_counter(self.tokenizer.counter())
            .tap(Some(tap));
        if let Some(store) = self.store {
            run = run.store(store);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .expect("a runtime");
        runtime.block_on(run.run()).expect("a result")
    }
}

/// Examples whose texts are long and not alike.
fn examples(n: usize) -> Vec<Example> {
    let text = |number: usize| -> String {
        let words = (0..60).map(|at| format!("w{}of{number} ", (at * 31 + number * 17) % 211));
        words.collect()
    };
    let example = |number: usize| {
        Example::new()
            .with("id", format!("e{number}"))
            .with("context", text(number))
            .with(
                "question",
                format!("What is number {number} about, {}?", text(number + 1000)),
            )
            .with(
                "answer",
                format!("the answer to number {number} of them all"),
            )
    };
    (0..n).map(example).collect()
}

/// A provider that answers each question with a text of its own.
fn provider() -> ChatServer {
    ChatServer::start(answer)
}

fn answer(request: &Request) -> Reply {
    let asked = request.last_user_content();
    let number = asked.split_whitespace().nth(3).unwrap_or("none");
    let reply = Reply::text(format!("the answer to number {number} of them all"));
    reply.usage(request.prompt_words(), 7)
}

/// Bytes of the bodies that a provider got, as their heads say.
fn provider_bytes(server: &ChatServer) -> u64 {
    let lengths = server.requests();
    let lengths = lengths.iter().map(|request| {
        let length = request.headers.get("content-length").expect("a length");
        length.parse::<u64>().expect("a number")
    });
    lengths.sum()
}

/// Calls and bytes of the tap are those of the provider.
fn assert_counts(result: &EvalResult, server: &ChatServer) {
    let calls: u64 = result.wire.values().map(|arm| arm.calls).sum();
    let bytes: u64 = result.wire.values().map(|arm| arm.bytes).sum();
    assert_eq!(calls, server.request_count() as u64);
    assert_eq!(bytes, provider_bytes(server));
    for (name, arm) in &result.wire {
        let attributed = arm.by_class.total();
        assert_eq!(attributed + arm.unattributed.calls, arm.calls, "{name}");
    }
}
