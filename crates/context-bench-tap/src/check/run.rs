//! Probes, one after the other: the client asks, the upstream plays, and both are kept.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::watch;

use super::api::ProxyApi;
use super::client::{ClientReply, ClientRequest, HangUp, ReplyEnd, Watching, ask, read_reply};
use super::conversation::{Conversation, Turn};
use super::material::{Draws, canary};
use super::probe::{Act, PROBES, Probe};
use super::script::{Gather, Say, Script};
use super::upstream::{CallEnd, Scene, ScriptedUpstream, UpstreamCall};
use super::{OnProbe, ProbeProgress, ProxyAddress, ProxyCheckSettings};
use crate::attribution::SyntheticCredential;

/// How long an end is waited for after a client hung up, so that the report can say when it
/// came.
const WATCHED: Duration = Duration::from_secs(5);

/// A proxy has this many times as long to hang up as it takes for a whole call, if that is more
/// than what is asked of it: on a slow or busy machine everything takes longer, and a proxy
/// that never hangs up is found all the same.
const ROUND_TRIPS: u32 = 10;

/// A probe as it went.
#[derive(Debug)]
pub(super) struct Seen {
    pub(super) probe: &'static Probe,
    pub(super) api: ProxyApi,
    pub(super) exchanges: Vec<Exchange>,
    /// How soon the proxy had to hang up, where the client did.
    pub(super) hang_up_within: Duration,
}

/// One request of the client and everything that it caused.
#[derive(Debug)]
pub(super) struct Exchange {
    pub(super) scene: usize,
    pub(super) canary: String,
    pub(super) request: ClientRequest,
    pub(super) reply: ClientReply,
    /// What the upstream saw of it.
    pub(super) calls: Vec<UpstreamCall>,
}

/// Runs the probes of a check.
pub(super) struct Run<'a> {
    pub(super) upstream: &'a ScriptedUpstream,
    pub(super) proxy: &'a ProxyAddress,
    pub(super) settings: &'a ProxyCheckSettings,
    pub(super) on_probe: &'a OnProbe,
    canaries: u64,
    /// How long ordinary calls took.
    rounds: Vec<Duration>,
}

/// Everything that was seen, and the APIs that the proxy does not have.
#[derive(Debug, Default)]
pub(super) struct Course {
    pub(super) seen: Vec<Seen>,
    pub(super) not_offered: Vec<(ProxyApi, String)>,
    /// Why the proxy could not be reached at all.
    pub(super) unreachable: Option<String>,
    /// Whether it answers and nothing ever reaches the upstream.
    pub(super) is_elsewhere: bool,
}

impl<'a> Run<'a> {
    pub(super) fn new(
        upstream: &'a ScriptedUpstream,
        proxy: &'a ProxyAddress,
        settings: &'a ProxyCheckSettings,
        on_probe: &'a OnProbe,
    ) -> Self {
        Self {
            upstream,
            proxy,
            settings,
            on_probe,
            canaries: 0,
            rounds: Vec::new(),
        }
    }

    /// Runs all probes.
    pub(super) async fn all(&mut self) -> Course {
        let mut course = Course::default();
        let planned: Vec<(ProxyApi, &'static Probe)> = self
            .settings
            .apis
            .iter()
            .flat_map(|api| {
                let probes = PROBES.iter().filter(|probe| probe.apis.contains(api));
                probes.map(|probe| (*api, probe))
            })
            .collect();
        for (at, (api, probe)) in planned.iter().enumerate() {
            if course.not_offered.iter().any(|(known, _)| known == api) {
                continue;
            }
            (self.on_probe)(ProbeProgress {
                api: *api,
                probe: probe.name,
                done: at,
                planned: planned.len(),
            });
            let seen = self.probe(*api, probe).await;
            let first = seen.exchanges.first();
            if at == 0
                && let Some(Exchange { reply, .. }) = first
                && let ReplyEnd::Unreachable(reason) = &reply.end
            {
                course.unreachable = Some(reason.clone());
                return course;
            }
            // Whoever answers is none of ours, and may send a bill.
            let answered = first.is_some_and(|exchange| exchange.reply.is_success());
            if answered && self.upstream.is_unused() {
                course.is_elsewhere = true;
                return course;
            }
            let is_first = !course.seen.iter().any(|earlier| earlier.api == *api);
            let missing = first.filter(|_| is_first).and_then(not_offered);
            match missing {
                Some(why) => course.not_offered.push((*api, why)),
                None => course.seen.push(seen),
            }
        }
        // Calls that came late are those of their own probe.
        for exchange in course.seen.iter_mut().flat_map(|seen| &mut seen.exchanges) {
            exchange.calls = self.upstream.calls(exchange.scene);
        }
        course
    }

    async fn probe(&mut self, api: ProxyApi, probe: &'static Probe) -> Seen {
        let hang_up_within = self.hang_up_within();
        let exchanges = match probe.act {
            Act::Together(count) => self.together(api, probe, count).await,
            Act::Twice => {
                let (canary, conversation, key) = self.conversation(api, probe);
                let request = self.request(api, probe, &conversation, &key);
                let mut both = Vec::new();
                for _ in 0..2 {
                    let scene = self.begin(probe, &canary, (probe.script)());
                    let reply = self.ask(&request, HangUp::Never).await;
                    self.settle(scene, self.settings.patience).await;
                    both.push(self.exchange(scene, canary.clone(), request.clone(), reply));
                }
                both
            }
            Act::Once | Act::HangUpAtOutput | Act::HangUpWaiting => {
                let (canary, conversation, key) = self.conversation(api, probe);
                let request = self.request(api, probe, &conversation, &key);
                let scene = self.begin(probe, &canary, (probe.script)());
                let begun = Instant::now();
                let reply = match probe.act {
                    Act::HangUpAtOutput => self.ask(&request, HangUp::AtFirstOutput).await,
                    Act::HangUpWaiting => self.hang_up_waiting(&request, scene).await,
                    _ => self.ask(&request, HangUp::Never).await,
                };
                let patience = match probe.act {
                    Act::Once => {
                        self.rounds.push(begun.elapsed());
                        self.settings.patience
                    }
                    _ => WATCHED.max(hang_up_within),
                };
                self.settle(scene, patience).await;
                vec![self.exchange(scene, canary, request, reply)]
            }
        };
        Seen {
            probe,
            api,
            exchanges,
            hang_up_within,
        }
    }

    /// How soon the proxy has to hang up: as soon as is asked of it, or as this machine can.
    fn hang_up_within(&self) -> Duration {
        let slow = slow_hang_up(&self.rounds).min(self.settings.timeout);
        self.settings.hang_up_within.max(slow)
    }

    /// Several conversations at the same time, with a second turn each.
    async fn together(
        &mut self,
        api: ProxyApi,
        probe: &'static Probe,
        count: usize,
    ) -> Vec<Exchange> {
        let mut conversations: Vec<(String, Conversation, String)> =
            (0..count).map(|_| self.conversation(api, probe)).collect();
        let mut exchanges = Vec::new();
        for round in 0..2 {
            let gather = Gather::new(count);
            let mut asked = Vec::new();
            for (canary, conversation, key) in &conversations {
                let say = Say {
                    gather: Some(Arc::clone(&gather)),
                    ..Say::default()
                };
                let scene = self.begin(probe, canary, Script::Answer(say));
                let request = self.request(api, probe, conversation, key);
                asked.push((scene, canary.clone(), request));
            }
            let replies = asked
                .iter()
                .map(|(_, _, request)| self.ask(request, HangUp::Never));
            let replies = join_all(replies).await;
            for (at, ((scene, canary, request), reply)) in
                asked.into_iter().zip(replies).enumerate()
            {
                if round == 0 {
                    let content = reply.content().unwrap_or_default();
                    let said = read_reply(api.format(), &content, reply.is_stream());
                    let (canary, conversation, _) = &mut conversations[at];
                    conversation.turns.push(Turn::assistant(said.text()));
                    let next = format!("And who is to look after that at {canary}?");
                    conversation.turns.push(Turn::user(next));
                }
                self.settle(scene, self.settings.patience).await;
                exchanges.push(self.exchange(scene, canary, request, reply));
            }
        }
        exchanges
    }

    /// Hangs up once the upstream has the request.
    async fn hang_up_waiting(&self, request: &ClientRequest, scene: usize) -> ClientReply {
        let (tell, told) = watch::channel(false);
        let tells = async {
            let has_come = |calls: &[UpstreamCall]| calls.iter().any(UpstreamCall::asks);
            self.upstream
                .wait_for(scene, self.settings.timeout, has_come)
                .await;
            // The client is there to see it.
            let _ = tell.send(true);
            std::future::pending::<Infallible>().await
        };
        // A proxy that answers by itself ends this before anything reaches the upstream.
        tokio::select! {
            reply = self.ask(request, HangUp::WhenTold(told)) => reply,
            never = tells => match never {},
        }
    }

    fn begin(&self, probe: &Probe, canary: &str, script: Script) -> usize {
        self.upstream.begin(Scene {
            canary: canary.to_owned(),
            script,
            compresses: probe.accepts == "gzip",
        })
    }

    async fn ask(&self, request: &ClientRequest, hang_up: HangUp) -> ClientReply {
        let stage = &self.upstream.stage;
        let watching = Watching {
            clock: stage.clock,
            delivered: &stage.delivered,
            written: &stage.written,
        };
        ask(
            self.proxy,
            request,
            hang_up,
            &watching,
            self.settings.timeout,
        )
        .await
    }

    /// Waits until the upstream is done with the calls of a scene, if it is at all.
    async fn settle(&self, scene: usize, within: Duration) {
        let is_over = |calls: &[UpstreamCall]| calls.iter().all(|call| call.end != CallEnd::Open);
        self.upstream.wait_for(scene, within, is_over).await;
    }

    fn exchange(
        &self,
        scene: usize,
        canary: String,
        request: ClientRequest,
        reply: ClientReply,
    ) -> Exchange {
        Exchange {
            scene,
            canary,
            request,
            reply,
            calls: self.upstream.calls(scene),
        }
    }

    /// The canary of a probe, what it asks, and a key that opens nothing.
    fn conversation(&mut self, api: ProxyApi, probe: &Probe) -> (String, Conversation, String) {
        let canary = canary(self.settings.seed, self.canaries);
        self.canaries += 1;
        let seed = Draws::new(self.settings.seed ^ (self.canaries << 8)).next();
        let conversation = (probe.ask)(api, &canary, seed);
        // Without random numbers all conversations share a key, which is as good as none.
        let key = SyntheticCredential::new().map(|key| key.to_string());
        (
            canary,
            conversation,
            key.unwrap_or_else(|_| "sk-cb".to_owned()),
        )
    }

    fn request(
        &self,
        api: ProxyApi,
        probe: &Probe,
        conversation: &Conversation,
        key: &str,
    ) -> ClientRequest {
        let model = self.settings.model(api);
        let body = conversation.body(api.format(), model, probe.streams);
        let mut headers = api.headers(key, probe.accepts);
        if let Some(name) = &self.proxy.session_header {
            headers.push((name.clone(), key.to_owned()));
        }
        ClientRequest {
            format: api.format(),
            path: api.path(model, probe.streams),
            headers,
            body: body.to_string().into_bytes(),
            streams: probe.streams,
        }
    }
}

/// Why the proxy does not have an API, if that is what its answer means.
fn not_offered(exchange: &Exchange) -> Option<String> {
    let status = exchange.reply.status?;
    let is_missing = matches!(status, 404 | 405) && exchange.calls.is_empty();
    is_missing.then(|| format!("{} answers {status}", exchange.request.path))
}

/// All futures at once; the few of a probe need no more than this.
async fn join_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut futures: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|context| {
        let mut is_pending = false;
        for (future, output) in &mut futures {
            if output.is_none() {
                match future.as_mut().poll(context) {
                    std::task::Poll::Ready(done) => *output = Some(done),
                    std::task::Poll::Pending => is_pending = true,
                }
            }
        }
        match is_pending {
            true => std::task::Poll::Pending,
            false => std::task::Poll::Ready(()),
        }
    })
    .await;
    futures
        .into_iter()
        .filter_map(|(_, output)| output)
        .collect()
}

/// How long hanging up may take where calls take so long.
fn slow_hang_up(rounds: &[Duration]) -> Duration {
    let mut rounds = rounds.to_vec();
    rounds.sort_unstable();
    // Scripts that keep a client waiting are few.
    let usual = rounds.get(rounds.len() / 2).copied().unwrap_or_default();
    usual.saturating_mul(ROUND_TRIPS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hanging_up_may_take_as_long_as_the_machine_is_slow() {
        let rounds = |milliseconds: &[u64]| -> Vec<Duration> {
            let each = milliseconds.iter().map(|ms| Duration::from_millis(*ms));
            each.collect()
        };
        assert_eq!(slow_hang_up(&[]), Duration::ZERO);
        // A script that waits on purpose does not count.
        let fast = slow_hang_up(&rounds(&[12, 3000, 15, 11, 14]));
        assert_eq!(fast, Duration::from_millis(140));
        let slow = slow_hang_up(&rounds(&[120, 3000, 150, 110, 140]));
        assert_eq!(slow, Duration::from_millis(1400));
    }
}
