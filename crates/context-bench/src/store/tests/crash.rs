//! Processes: killed while they write, and writing at the same time.
//!
//! The test program starts itself again: `child` does the work when the parent
//! has said so in the environment, and nothing otherwise.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver};

use super::*;

const PLAN: &str = "CONTEXT_BENCH_STORE_CHILD";

/// Begins a process that stores the cases `from..to` and says how far it got.
fn spawn(dir: &Path, from: usize, to: usize) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "store::tests::crash::child",
            "--exact",
            "--ignored",
            "--nocapture",
        ])
        .env(PLAN, format!("{from} {to} {}", dir.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[test]
#[ignore = "the child of the other tests here"]
fn child() {
    let Ok(plan) = std::env::var(PLAN) else {
        return;
    };
    let mut plan = plan.splitn(3, ' ');
    let mut number = || plan.next().unwrap().parse::<usize>().unwrap();
    let (from, to) = (number(), number());
    let store = Store::open(plan.next().unwrap()).unwrap().store;
    let run = store.begin_run(start()).unwrap();
    for n in from..to {
        let case = Case::new(n);
        case.put(&store);
        store.put_blocking(case.row(&run, n));
        if n % 5 == 4 {
            store.flush_blocking().unwrap();
            println!("\ndurable {}", n + 1);
        }
    }
    store.finish_run(&run, RunStatus::Finished).unwrap();
    println!("\ndurable {to}");
}

/// What a child says about how far it got, as it says it.
fn progress(child: &mut Child) -> Receiver<usize> {
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let (sender, said) = mpsc::channel();
    std::thread::spawn(move || {
        let lines = lines.map_while(Result::ok);
        for n in lines.filter_map(|line| line.strip_prefix("durable ")?.parse().ok()) {
            // Nobody listens any more where enough was heard.
            let _ = sender.send(n);
        }
    });
    said
}

#[test]
fn killed_at_any_moment_it_has_all_that_it_said_it_has() {
    let dir = tempfile::tempdir().unwrap();
    let mut dice = dice(std::process::id().into());
    let mut from = 0;
    let mut written = 0;
    for round in 0..20 {
        let mut child = spawn(dir.path(), from, from + 100_000);
        let said = progress(&mut child);
        // Half of them are killed wherever they are, the others once they have written.
        let mut durable = from;
        if round % 2 == 0 {
            durable = said.recv_timeout(Duration::from_secs(120)).unwrap();
        }
        std::thread::sleep(Duration::from_millis(20 + dice.below(250) as u64));
        child.kill().unwrap();
        durable = said.iter().last().unwrap_or(durable);
        child.wait().unwrap();
        written += durable - from;
        let store = open(dir.path());
        for n in from..durable {
            assert_eq!(Case::new(n).check(&store), ALL, "{n} of {durable}");
        }
        // What came after is there or not, but never in part wrong.
        for n in durable..durable + 50 {
            Case::new(n).check(&store);
        }
        let rows: usize = store
            .runs()
            .unwrap()
            .iter()
            .map(|run| {
                let rows = store.run_rows(run).map(Result::unwrap);
                rows.filter(|row| matches!(row.outcome, StoredOutcome::Response { .. }))
                    .count()
            })
            .sum();
        assert!(rows >= written, "{rows} rows, {written} durable");
        assert_eq!(store.damaged(), 0);
        from = durable + 50;
    }
    assert!(written >= 50, "{written}");
    let raw = Connection::open(dir.path().join("store.sqlite")).unwrap();
    let verdict: String = raw
        .query_row("PRAGMA integrity_check", (), |row| row.get(0))
        .unwrap();
    assert_eq!(verdict, "ok");
}

#[test]
fn processes_share_a_store() {
    let dir = tempfile::tempdir().unwrap();
    // All begin with no store there, and all want overlapping cases.
    let mut children: Vec<_> = (0..4)
        .map(|n| spawn(dir.path(), n * 100, n * 100 + 300))
        .collect();
    for (n, child) in children.iter_mut().enumerate() {
        assert_eq!(progress(child).iter().last(), Some(n * 100 + 300));
        assert!(child.wait().unwrap().success());
    }
    let store = open(dir.path());
    for n in 0..600 {
        assert_eq!(Case::new(n).check(&store), ALL, "{n}");
    }
    let runs = store.runs().unwrap();
    assert_eq!(runs.len(), 4);
    for run in &runs {
        assert_eq!((run.status, run.n_rows), (RunStatus::Finished, 300));
        for row in store.run_rows(run).map(Result::unwrap) {
            assert!(matches!(row.outcome, StoredOutcome::Response { .. }));
        }
    }
    assert_eq!(store.damaged(), 0);
}
