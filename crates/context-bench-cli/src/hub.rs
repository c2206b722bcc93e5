//! The way to the hub: settings from the environment, downloads on stderr.

use std::io::IsTerminal as _;
use std::sync::Mutex;
use std::time::Duration;

use context_bench::dataset::catalogue::{Event, Hub, HubAccess, HubSettings, Progress};
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::{env, output};

/// Access to the hub, as the variables of the environment say it.
pub(crate) fn access(quiet: bool) -> Result<HubAccess, Failure> {
    let mut settings = HubSettings::from_vars(env::get)?;
    // Someone waits for the answer: no network is told within seconds. What a
    // server asks for is waited for all the same.
    settings.retry.max_retries = 3;
    settings.retry.base_delay = Duration::from_millis(500);
    let access = HubAccess::new(Hub::new(settings)?);
    Ok(match quiet {
        true => access,
        false => access.with_progress(Downloads::default()),
    })
}

/// Downloads as one bar on a terminal, a line per file elsewhere.
#[derive(Default)]
struct Downloads {
    bar: Mutex<Option<ProgressBar>>,
}

impl Downloads {
    fn with_bar(&self, act: impl FnOnce(&ProgressBar)) {
        if let Ok(bar) = self.bar.lock()
            && let Some(bar) = &*bar
        {
            act(bar);
        }
    }

    fn say(&self, text: &str) {
        let mut said = false;
        self.with_bar(|bar| {
            bar.suspend(|| output::note(text));
            said = true;
        });
        if !said {
            output::note(text);
        }
    }
}

impl Progress for Downloads {
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
                let again = if *resumed_at > 0 {
                    "resuming"
                } else {
                    "fetching"
                };
                self.with_bar(|bar| bar.inc(*resumed_at));
                if !std::io::stderr().is_terminal() {
                    output::note(&format!("{again} {path}"));
                }
            }
            Event::Received { bytes, .. } => self.with_bar(|bar| bar.inc(*bytes)),
            Event::Waiting { path } => {
                self.say(&format!("another process downloads {path}; waiting for it"));
            }
            Event::Retrying { path, reason, wait } => self.say(&format!(
                "{path}: {reason}; trying again in {:.0} s",
                wait.as_secs_f64().ceil()
            )),
            _ => {}
        }
    }
}
