//! What the tests share: a client with short waits, and content.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use context_bench_hub::{Event, Hub, HubSettings, Progress, Token};
use context_bench_testkit::hub::FakeHub;

pub(crate) fn settings(fake: &FakeHub, cache: &Path) -> HubSettings {
    let mut settings = HubSettings::new(cache.join("hub"));
    settings.endpoint = fake.url().to_owned();
    settings.url_cache = cache.join("urls");
    settings.answer_timeout = Duration::from_secs(120);
    settings.stall_timeout = Duration::from_secs(120);
    settings.retry.max_retries = 2;
    settings.retry.base_delay = Duration::from_millis(5);
    settings.retry.max_delay = Duration::from_millis(20);
    settings.retry.deadline = Duration::from_secs(2);
    settings
}

pub(crate) fn hub(fake: &FakeHub, cache: &Path) -> Hub {
    Hub::new(settings(fake, cache)).expect("valid settings")
}

pub(crate) fn hub_with(fake: &FakeHub, cache: &Path, change: impl Fn(&mut HubSettings)) -> Hub {
    let mut settings = settings(fake, cache);
    change(&mut settings);
    Hub::new(settings).expect("valid settings")
}

pub(crate) fn offline(fake: &FakeHub, cache: &Path) -> Hub {
    hub_with(fake, cache, |settings| settings.offline = true)
}

pub(crate) fn with_token(fake: &FakeHub, cache: &Path, token: &str) -> Hub {
    hub_with(fake, cache, |settings| settings.token = Token::new(token))
}

/// Bytes that differ everywhere, so that a shift or a swap is noticed.
pub(crate) fn content(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_u32;
    std::iter::repeat_with(|| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 24) as u8
    })
    .take(len)
    .collect()
}

pub(crate) fn read(paths: &[PathBuf]) -> Vec<Vec<u8>> {
    let read = |path: &PathBuf| std::fs::read(path).expect("a fetched file");
    paths.iter().map(read).collect()
}

/// All files below a folder whose names end like this.
pub(crate) fn files_ending(folder: &Path, end: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() && !path.is_symlink() {
            found.extend(files_ending(&path, end));
        } else if path.to_string_lossy().ends_with(end) {
            found.push(path);
        }
    }
    found
}

/// Keeps the events of a fetch, as text.
#[derive(Default)]
pub(crate) struct EventLog(Mutex<Vec<String>>);

impl EventLog {
    pub(crate) fn about(&self, word: &str) -> usize {
        let events = self.0.lock().expect("not poisoned");
        events.iter().filter(|event| event.contains(word)).count()
    }
}

impl Progress for EventLog {
    fn event(&self, event: &Event<'_>) {
        let mut events = self.0.lock().expect("not poisoned");
        events.push(format!("{event:?}"));
    }
}
