//! `view`: the run store in a browser, served on loopback until Ctrl-C.

use std::process::{Command, Stdio};

use context_bench::registry::Registry;
use context_bench::store::Store;
use context_bench_view::{View, ViewSettings};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::signals::Interrupts;
use crate::view_args::ViewArgs;
use crate::{output, stores, surroundings};

pub(crate) fn main(args: &ViewArgs, registry: &Registry) -> Result<Exit, Failure> {
    let store = match &args.store {
        Some(folder) => {
            // Opening a folder without a store would make one, and this only looks.
            if folder.is_dir() && !Store::is_in(folder) {
                return Err(stores::none_at(folder));
            }
            stores::open(Some(folder))?
        }
        None => {
            return Err(Failure::bad_input("no run store given").hint(
                "name its folder: `context-bench view DIR`, or set `CONTEXT_BENCH_CACHE_DIR`",
            ));
        }
    };
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build();
    let runtime = runtime.map_err(|error| Failure::bad_input(format!("no runtime: {error}")))?;
    let settings = ViewSettings {
        store,
        around: surroundings::of(registry, true),
        port: args.port,
    };
    let served = runtime.block_on(serve(settings, args.open));
    // A thread that sums a run up is not waited for.
    runtime.shutdown_background();
    served
}

async fn serve(settings: ViewSettings, open: bool) -> Result<Exit, Failure> {
    let port = settings.port;
    let view = View::listen(settings).await.map_err(|error| {
        Failure::bad_input(format!("cannot listen on 127.0.0.1:{port}: {error}"))
            .hint("choose another `--port`, or leave it out for any that is free")
    })?;
    let mut interrupts =
        Interrupts::listen().map_err(|error| Failure::bad_input(format!("no signals: {error}")))?;
    output::stdout(&format!("{}\n", view.url()))?;
    output::note("open this address in a browser of this machine; Ctrl-C ends it");
    if open && !show(&view.url()) {
        output::warning("no program was found that opens a browser");
    }
    view.serve_until(interrupts.next()).await;
    Ok(Exit::Done)
}

/// Asks the desktop to open an address; whether there is something that was asked.
fn show(url: &str) -> bool {
    let program = match cfg!(target_os = "macos") {
        true => "open",
        false => "xdg-open",
    };
    let started = Command::new(program)
        .arg(url)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    started.is_ok()
}
