//! Proxies that a run starts. Here and not in the library, because the program is the guard.

mod arms;
mod launch;
mod real;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use context_bench::proxy::{LaunchSettings, LaunchedHost, ProxyProfile};
use context_bench::sandbox::Launcher;
use context_bench::tap::{ArmRole, ProxyApi};

/// The profile of the fake proxy in that mode.
pub(crate) fn fake_profile(mode: &str) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/proxy/fake_proxy.py");
    format!(
        "proxy: fake\nabout: a proxy for tests\ninstall: it comes with the tests\n\
         command: [python3, {script:?}, '{{port}}', '{{tap}}', {mode}]\n\
         env: {{FAKE_TOKEN: swordfish-of-the-environment}}\ninherit: [FAKE_INHERITED]\n\
         ready: {{url: 'http://127.0.0.1:{{port}}/ready', timeout: 300}}\n\
         stats_url: 'http://127.0.0.1:{{port}}/stats'\n\
         session_header: x-fake-session\n"
    )
}

/// The fake proxy in that mode, not started yet.
fn fake(mode: &str, folder: Option<PathBuf>, launcher: bool) -> LaunchedHost {
    let profile = ProxyProfile::parse(fake_profile(mode).as_bytes(), "fake.yaml").expect("right");
    host(profile, folder, launcher)
}

fn host(profile: ProxyProfile, folder: Option<PathBuf>, launcher: bool) -> LaunchedHost {
    host_in(ProxyApi::Chat, profile, folder, launcher)
}

fn host_in(
    api: ProxyApi,
    profile: ProxyProfile,
    folder: Option<PathBuf>,
    launcher: bool,
) -> LaunchedHost {
    let settings = LaunchSettings {
        profile: Arc::new(profile),
        role: ArmRole::Transform,
        name: "fake".into(),
        model: "m".into(),
        api,
        args: Vec::new(),
        launcher: launcher.then(|| Launcher::new(env!("CARGO_BIN_EXE_context-bench"))),
        folder,
        secrets: vec!["the-real-key-of-the-run".into()],
    };
    let variable = |name: &str| match name {
        "FAKE_INHERITED" => Some("inherited".to_owned()),
        "OPENAI_API_KEY" => Some("the-real-key-of-the-run".to_owned()),
        other => std::env::var(other).ok(),
    };
    LaunchedHost::new(settings, &variable).expect("python3 is there")
}

/// Whether a process is there and not only waits to be noticed.
pub(crate) fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    let state = stat
        .rsplit_once(')')
        .and_then(|(_, rest)| rest.trim().chars().next());
    state.is_some_and(|state| state != 'Z' && state != 'X')
}

/// Waits until none of these processes is there.
pub(crate) fn wait_until_gone(pids: &[u32]) {
    let begun = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_alive(**pid)) {
        assert!(begun.elapsed() < Duration::from_secs(300), "{pid} lives");
        std::thread::sleep(Duration::from_millis(10));
    }
}
