//! What is answered at which address.

use std::sync::{Arc, Mutex};

use context_bench::planner::Surroundings;
use context_bench::store::{Store, StoreError};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use crate::assets;
use crate::compared;
use crate::http::{Request, Response};
use crate::query::Query;
use crate::run_list::RunList;
use crate::watched_run::{WatchedRun, lock};

/// Requests that read the store at once. Each reader has a cache of its own.
const READERS: usize = 2;
/// Rows of all runs whose numbers are in memory; the run that was asked for last may have more.
const MAX_ROWS: usize = 1_000_000;

/// Everything that requests share.
pub(crate) struct Routes {
    store: Store,
    around: Surroundings,
    runs: Arc<RunList>,
    /// The last one asked for first.
    watched: Mutex<Vec<Arc<WatchedRun>>>,
    readers: Arc<Semaphore>,
    comparing: Arc<Semaphore>,
}

impl Routes {
    pub(crate) fn new(store: Store, around: Surroundings) -> Arc<Self> {
        Arc::new(Self {
            store,
            around,
            runs: Arc::default(),
            watched: Mutex::default(),
            readers: Arc::new(Semaphore::new(READERS)),
            comparing: Arc::new(Semaphore::new(1)),
        })
    }

    /// Answers a request that may be answered.
    pub(crate) async fn answer(self: &Arc<Self>, request: &Request) -> Response {
        let is_post = request.method == "POST";
        if !is_post && !matches!(request.method.as_str(), "GET" | "HEAD") {
            return Response::text(405, "ask with GET or POST");
        }
        if !is_post && let Some(file) = assets::file(&request.path) {
            return file;
        }
        let Some(path) = request.path.strip_prefix("/api/") else {
            return Response::text(404, "there is no such page");
        };
        let parts: Vec<&str> = path.split('/').collect();
        let query = Query::parse(&request.query);
        let is_stop = matches!(parts[..], ["run", _, "stop"]);
        if is_stop != is_post {
            return Response::text(405, "that address is asked in another way");
        }
        match parts[..] {
            ["runs"] => {
                let (counting, store) = (Arc::clone(&self.runs), self.store.clone());
                drop(tokio::task::spawn_blocking(move || counting.count(&store)));
                self.blocking(&self.readers, |own| json_of(own.runs.list(&own.store)))
                    .await
            }
            ["compare"] => {
                let run = |name: &str| query.get(name).map(str::to_owned);
                let (Some(base), Some(new)) = (run("base"), run("new")) else {
                    return Response::text(400, "name two runs: base and new");
                };
                self.blocking(&self.comparing, move |own| {
                    match compared::compare(&own.store, &base, &new, &own.around) {
                        Ok(found) => json_of(Ok(found)),
                        Err(problem) => Response::text(409, &problem),
                    }
                })
                .await
            }
            ["run", id, ref rest @ ..] if assets::is_id(id) => {
                let id = id.to_owned();
                let rest: Vec<String> = rest.iter().map(|part| (*part).to_owned()).collect();
                self.blocking(&self.readers, move |own| own.of_run(&id, &rest, &query))
                    .await
            }
            _ => Response::text(404, "there is no such address"),
        }
    }

    /// What is asked about one run.
    fn of_run(&self, id: &str, rest: &[String], query: &Query) -> Response {
        let run = match self.watched(id) {
            Ok(run) => run,
            Err(problem) => return Response::text(404, &problem),
        };
        let rest: Vec<&str> = rest.iter().map(String::as_str).collect();
        let number = |text: &str| text.parse::<usize>().ok();
        let missing = || Response::text(404, "the run has no such row");
        match rest[..] {
            [] => json_of(Ok(run.page())),
            ["state"] => json_of(Ok(run.state())),
            ["rows"] => json_of(run.rows(query)),
            ["row", text] => match number(text) {
                Some(number) if number < run.n_rows() => json_of(run.line(number)),
                _ => missing(),
            },
            ["example", text] => match number(text).map(|number| run.example(number)) {
                Some(Ok(Some(found))) => json_of(Ok(found)),
                Some(Err(error)) => json_of(Err(error)),
                _ => missing(),
            },
            ["stop"] => match run.interrupt() {
                Ok(process) => json_of(Ok(json!({"process": process}))),
                Err(error) => Response::text(409, &error.to_string()),
            },
            _ => Response::text(404, "there is no such address"),
        }
    }

    /// The run of an id, opened if it is not; runs that nobody asks for make room.
    fn watched(&self, id: &str) -> Result<Arc<WatchedRun>, String> {
        let mut watched = lock(&self.watched);
        let known = watched.iter().position(|run| run.id == id);
        let run = match known {
            Some(at) => watched.remove(at),
            None => WatchedRun::open(&self.store, id, &self.around)
                .map_err(|error| error.to_string())?,
        };
        watched.insert(0, Arc::clone(&run));
        let mut rows = 0;
        watched.retain(|one| {
            rows += one.n_rows();
            let stays = Arc::ptr_eq(one, &run) || rows <= MAX_ROWS;
            if !stays {
                one.is_over
                    .store(true, std::sync::atomic::Ordering::Relaxed);
            }
            stays
        });
        Ok(run)
    }

    /// Work that waits for the store, where it keeps nobody else waiting.
    async fn blocking(
        self: &Arc<Self>,
        room: &Arc<Semaphore>,
        work: impl FnOnce(&Self) -> Response + Send + 'static,
    ) -> Response {
        let Ok(permit) = Arc::clone(room).acquire_owned().await else {
            return Response::text(503, "the viewer is closing");
        };
        let own = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            work(&own)
        });
        let failed = |_| Response::text(500, "that failed; see the terminal of the viewer");
        done.await.unwrap_or_else(failed)
    }

    /// Lets the threads that read runs end.
    pub(crate) fn end(&self) {
        self.runs.end();
        for run in lock(&self.watched).iter() {
            run.is_over
                .store(true, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

fn json_of(found: Result<Value, StoreError>) -> Response {
    match found {
        Ok(value) => Response::new(200, "application/json", value.to_string()),
        Err(error) => Response::text(500, &error.to_string()),
    }
}
