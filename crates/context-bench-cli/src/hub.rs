//! Access to the Hugging Face hub: settings from the environment, downloads shown on stderr.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;

use context_bench::dataset::catalog::{Event, Hub, HubAccess, HubSettings, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::{env, output};

/// Access to the hub with the settings of the environment.
pub(crate) fn access(quiet: bool) -> Result<HubAccess, Failure> {
    let mut settings = HubSettings::from_vars(env::get)?;
    // A user is waiting, so a missing network should be reported within seconds. Waits that a
    // server asks for are still honoured.
    settings.retry.max_retries = 3;
    settings.retry.base_delay = Duration::from_millis(500);
    let access = HubAccess::new(Hub::new(settings)?);
    Ok(match quiet {
        true => access,
        false => access.with_progress(DownloadProgress::default()),
    })
}

/// Shows downloads: one bar on a terminal, a line per file elsewhere.
#[derive(Default)]
struct DownloadProgress {
    bar: Mutex<Option<ProgressBar>>,
}

impl DownloadProgress {
    fn with_bar(&self, act: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = &*bar
        {
            act(bar);
        }
    }

    fn say(&self, text: &str) {
        let mut has_bar = false;
        self.with_bar(|bar| {
            bar.suspend(|| output::note(text));
            has_bar = true;
        });
        if !has_bar {
            output::note(text);
        }
    }
}

impl Progress for DownloadProgress {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Plan {
                files,
                bytes,
                cached_files,
                cached_bytes,
            } if cached_files < files && std::io::stderr().is_terminal() => {
                let style = "{bar:24} {bytes}/{total_bytes} {bytes_per_sec}, {eta}";
                let style = ProgressStyle::with_template(style);
                let bar = ProgressBar::new(*bytes)
                    .with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
                bar.set_position(*cached_bytes);
                if let Ok(mut slot) = self.bar.lock() {
                    *slot = Some(bar);
                }
            }
            Event::Began {
                path, resumed_at, ..
            } => {
                let doing = if *resumed_at > 0 {
                    "resuming"
                } else {
                    "fetching"
                };
                self.with_bar(|bar| bar.inc(*resumed_at));
                if !std::io::stderr().is_terminal() {
                    output::note(&format!("{doing} {path}"));
                }
            }
            Event::Received { bytes, .. } => self.with_bar(|bar| bar.inc(*bytes)),
            Event::Waiting { path } => {
                self.say(&format!(
                    "another process is downloading {path}; waiting for it"
                ));
            }
            Event::Retrying { path, reason, wait } => self.say(&format!(
                "{path}: {reason}; trying again in {:.0} s",
                wait.as_secs_f64().ceil()
            )),
            _ => {}
        }
    }
}
