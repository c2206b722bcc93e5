//! [`ProxyProcess`]: one process of a proxy, from its start until nothing of it is left.

use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use context_bench_http::{RootCertificates, client_builder};
use context_bench_sandbox::{GuardedProcess, GuardedProgram, Launcher};
use context_bench_tap::attribution::SyntheticCredential;
use serde_json::Value;
use tempfile::TempDir;

use super::ProxyProfile;
use super::log::ProxyLog;
use super::program::InstalledProgram;
use super::template::Values;
use crate::chat::{Secret, Secrets, seconds};
use crate::error::Hint;
use crate::mask;
use crate::tap::{ArmAddress, ArmRole};

/// How often a start is tried when somebody else took the port first.
const MAX_STARTS: usize = 3;
/// Between two looks whether a proxy is ready.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// The longest wait for one answer of a page of a proxy.
const PAGE: Duration = Duration::from_secs(10);
/// The largest page that is kept.
const MAX_PAGE: usize = 64 * 1024;
/// Nobody listens there: what is sent through it fails at once.
const NOWHERE: &str = "http://127.0.0.1:9";

/// Variables that every proxy inherits.
pub(super) const INHERITED: [&str; 14] = [
    "HOME",
    "LANG",
    "LC_ALL",
    "LC_CTYPE",
    "LD_LIBRARY_PATH",
    "LOGNAME",
    "PATH",
    "SSL_CERT_DIR",
    "SSL_CERT_FILE",
    "SYSTEMROOT",
    "TMPDIR",
    "TZ",
    "USER",
    "VIRTUAL_ENV",
];

/// Why a proxy does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProxyError {
    /// Its program is not there.
    #[error("the program `{program}` of the proxy `{proxy}` is not installed")]
    NotInstalled {
        /// The name of its profile.
        proxy: String,
        /// The program.
        program: String,
        /// How it is installed.
        install: Option<String>,
    },
    /// It cannot be started at all.
    #[error("the proxy `{proxy}` cannot be started: {reason}")]
    NotStarted {
        /// The name of its profile.
        proxy: String,
        /// What the system says.
        reason: String,
    },
    /// It did not become ready.
    #[error("the proxy `{proxy}` {what}{log}")]
    NotReady {
        /// The name of its profile.
        proxy: String,
        /// What it did instead.
        what: String,
        /// The end of its log.
        log: String,
    },
    /// It ended in the midst of the run.
    #[error("the proxy `{proxy}` ended during the run ({status}){log}")]
    Ended {
        /// The name of its profile.
        proxy: String,
        /// How.
        status: String,
        /// The end of its log.
        log: String,
    },
}

impl Hint for ProxyError {
    fn hint(&self) -> Option<String> {
        match self {
            Self::NotInstalled { install, .. } => Some(match install {
                Some(install) => install.clone(),
                None => "install it, or name its path in the `command` of its profile".into(),
            }),
            Self::NotStarted { .. } => Some("check `command` of its profile".into()),
            Self::NotReady { .. } | Self::Ended { .. } => None,
        }
    }
}

/// How processes of one arm are started.
#[derive(Debug, Clone)]
pub(super) struct ProxyStart {
    pub(super) profile: std::sync::Arc<ProxyProfile>,
    pub(super) role: ArmRole,
    pub(super) program: InstalledProgram,
    /// Further arguments of the user.
    pub(super) args: Vec<String>,
    /// What it inherits.
    pub(super) inherited: Vec<(String, String)>,
    pub(super) launcher: Option<Launcher>,
    /// What it may know nothing of, and no file may hold.
    pub(super) secrets: Vec<Secret>,
}

/// A process that is ready for calls; dropping it ends it with everything that it started.
#[derive(Debug)]
pub(super) struct ProxyProcess {
    proxy: String,
    // Before the folder: it is in use until the process has ended.
    process: Mutex<GuardedProcess>,
    pub(super) log: ProxyLog,
    pub(super) address: ArmAddress,
    pub(super) port: u16,
    /// The document of its ready page.
    pub(super) ready_page: Option<Value>,
    pub(super) stats_url: Option<String>,
    _folder: TempDir,
}

impl ProxyStart {
    /// Starts a process in front of the tap and waits until it is ready.
    pub(super) async fn start(
        &self,
        tap: &str,
        log: Option<&Path>,
    ) -> Result<ProxyProcess, ProxyError> {
        let mut tries = 1;
        loop {
            let started = self.try_start(tap, log).await;
            let is_port_taken = |error: &ProxyError| match error {
                ProxyError::NotReady { log, .. } => {
                    log.to_ascii_lowercase().contains("address already in use")
                }
                _ => false,
            };
            match started {
                Err(error) if tries < MAX_STARTS && is_port_taken(&error) => tries += 1,
                other => return other,
            }
        }
    }

    async fn try_start(&self, tap: &str, log: Option<&Path>) -> Result<ProxyProcess, ProxyError> {
        let profile = &self.profile;
        let failed = |reason: String| ProxyError::NotStarted {
            proxy: profile.proxy.clone(),
            reason,
        };
        let folder = TempDir::with_prefix("context-bench-proxy-");
        let folder = folder.map_err(|error| failed(format!("no private folder: {error}")))?;
        let port = match profile.port {
            Some(port) => port,
            None => free_port().map_err(|error| failed(format!("no free port: {error}")))?,
        };
        let key = made_up_key().map_err(failed)?;
        let path = folder.path().to_string_lossy().into_owned();
        let values = Values::new(profile, port, tap, &path, &key);
        for (name, text) in &profile.files {
            std::fs::write(folder.path().join(name), values.fill(text))
                .map_err(|error| failed(format!("cannot write `{name}`: {error}")))?;
        }
        let environment = self.environment(&values);
        let of_variables = environment.iter().filter(|(name, _)| mask::is_secret(name));
        let secrets = of_variables.map(|(_, value)| Secret::new(value));
        let secrets = secrets.chain(self.secrets.iter().cloned());
        let secrets = Secrets::new(secrets.chain([Secret::new(&key)]));
        let program = GuardedProgram {
            program: self.program.path.clone().into(),
            arguments: self.words(&values).into_iter().map(Into::into).collect(),
            environment: environment
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            folder: Some(folder.path().to_owned()),
            launcher: self.launcher.clone(),
        };
        let mut process = program.start().map_err(|error| failed(error.to_string()))?;
        let (out, err) = process.take_output();
        let out = out.map(|out| Box::new(out) as Box<dyn std::io::Read + Send>);
        let err = err.map(|err| Box::new(err) as Box<dyn std::io::Read + Send>);
        let log = ProxyLog::of(out.into_iter().chain(err).collect(), log, &secrets);
        let mut process = ProxyProcess {
            proxy: profile.proxy.clone(),
            process: Mutex::new(process),
            log,
            address: self.address(&values),
            port,
            ready_page: None,
            stats_url: profile.stats_url.as_deref().map(|url| values.fill(url)),
            _folder: folder,
        };
        process.ready_page = process.wait_until_ready(profile, &values).await?;
        Ok(process)
    }

    /// What the program is started with, after its own name.
    fn words(&self, values: &Values) -> Vec<String> {
        let own = self.profile.command.iter().skip(1);
        let of_arm = &self.profile.arm(self.role).args;
        let words = own.chain(of_arm).chain(&self.args);
        words.map(|word| values.fill(word)).collect()
    }

    fn environment(&self, values: &Values) -> Vec<(String, String)> {
        let mut environment: indexmap::IndexMap<String, String> =
            self.inherited.iter().cloned().collect();
        if !self.profile.allow_egress {
            for name in ["HTTPS_PROXY", "https_proxy"] {
                environment.insert(name.into(), NOWHERE.into());
            }
        }
        for name in ["NO_PROXY", "no_proxy"] {
            environment.insert(name.into(), "127.0.0.1,localhost".into());
        }
        // What Python writes is to be in the log when it dies.
        environment.insert("PYTHONUNBUFFERED".into(), "1".into());
        let own = self.profile.env.iter();
        for (name, value) in own.chain(&self.profile.arm(self.role).env) {
            environment.insert(name.clone(), values.fill(value));
        }
        environment.into_iter().collect()
    }

    fn address(&self, values: &Values) -> ArmAddress {
        let profile = &self.profile;
        let own = profile.client_headers.iter();
        let headers = own.chain(&profile.arm(self.role).headers);
        ArmAddress {
            base_url: values.fill(profile.client_base()),
            http_proxy: profile.http_proxy.as_deref().map(|url| values.fill(url)),
            headers: headers
                .map(|(name, value)| (name.clone(), values.fill(value)))
                .collect(),
            session_header: profile.session_header.clone(),
        }
    }

    /// What the program says its version is, where its package does not tell.
    pub(super) async fn told_version(&self) -> Option<String> {
        if self.program.version.is_some() {
            return None;
        }
        let (program, arguments) = self.profile.version_command.split_first()?;
        let own = self.profile.command.first();
        let path: PathBuf = match own == Some(program) {
            true => self.program.path.clone(),
            false => program.into(),
        };
        let program = GuardedProgram {
            program: path.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            environment: self
                .inherited
                .iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
            folder: None,
            launcher: self.launcher.clone(),
        };
        let mut process = program.start().ok()?;
        let (out, _) = process.take_output();
        let log = ProxyLog::of(
            vec![Box::new(out?)],
            None,
            &Secrets::new(self.secrets.clone()),
        );
        let begun = Instant::now();
        while process.ended().is_none() && begun.elapsed() < Duration::from_secs(60) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
        let text = log.tail(process.ended().is_some());
        text.lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .map(str::to_owned)
    }
}

impl ProxyProcess {
    /// Why it cannot be asked any more, if it has ended.
    pub(super) fn problem(&self) -> Option<ProxyError> {
        let status = self.ended()?;
        Some(ProxyError::Ended {
            proxy: self.proxy.clone(),
            status,
            log: self.shown_log(true),
        })
    }

    /// How it ended, in words.
    fn ended(&self) -> Option<String> {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        let status = process.ended()?;
        Some(match status.code() {
            Some(code @ 129..160) => format!("killed by signal {}", code - 128),
            Some(code) => format!("exit code {code}"),
            None => status.to_string(),
        })
    }

    /// Ends it, and everything that it started.
    pub(super) fn end(&self) {
        let mut process = self.process.lock().unwrap_or_else(PoisonError::into_inner);
        process.end();
    }

    fn shown_log(&self, has_ended: bool) -> String {
        let tail = self.log.tail(has_ended);
        let file = match self.log.path() {
            Some(path) => format!("\nits log: {}", path.display()),
            None => String::new(),
        };
        match tail.is_empty() {
            true => format!("; it wrote nothing{file}"),
            false => format!("; its log ends with:\n{tail}{file}"),
        }
    }

    /// Fetches its ready page until that answers as it should.
    async fn wait_until_ready(
        &self,
        profile: &ProxyProfile,
        values: &Values,
    ) -> Result<Option<Value>, ProxyError> {
        let check = &profile.ready;
        let url = values.fill(&check.url);
        let limit = Duration::try_from_secs_f64(check.timeout).unwrap_or(Duration::MAX);
        let begun = Instant::now();
        let mut last = "nothing listens there".to_owned();
        loop {
            if let Some(status) = self.ended() {
                return Err(ProxyError::NotReady {
                    proxy: self.proxy.clone(),
                    what: format!("ended before it was ready ({status})"),
                    log: self.shown_log(true),
                });
            }
            let left = limit.saturating_sub(begun.elapsed()).min(PAGE);
            match url.strip_prefix("tcp://") {
                Some(address) => {
                    let connect = tokio::net::TcpStream::connect(address);
                    match tokio::time::timeout(left, connect).await {
                        Ok(Ok(_)) => return Ok(None),
                        Ok(Err(error)) => last = error.to_string(),
                        Err(_) => {}
                    }
                }
                None => match page(&url, left).await {
                    Ok((status, body)) if status == check.status => return Ok(body),
                    Ok((status, _)) => last = format!("it answered {status}"),
                    Err(reason) => last = reason,
                },
            }
            if begun.elapsed() >= limit {
                let what = format!("was not ready within {} s: {url}: {last}", seconds(limit));
                return Err(ProxyError::NotReady {
                    proxy: self.proxy.clone(),
                    what,
                    log: self.shown_log(false),
                });
            }
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// The document about what it did, if it has one.
    pub(super) async fn stats(&self) -> Option<Value> {
        let (status, body) = page(self.stats_url.as_ref()?, PAGE).await.ok()?;
        body.filter(|_| status == 200)
    }
}

/// Fetches a page: its status, and its document if that is JSON and not too large.
async fn page(url: &str, limit: Duration) -> Result<(u16, Option<Value>), String> {
    let client = client_builder(RootCertificates::None).map_err(|error| error.to_string())?;
    let client = client.no_proxy().timeout(limit.max(LOOK_AGAIN)).build();
    let client = client.map_err(|error| error.to_string())?;
    let reply = client.get(url).send().await;
    let mut reply = reply.map_err(|error| context_bench_http::root_cause(&error))?;
    let status = reply.status().as_u16();
    let mut bytes = Vec::new();
    while let Ok(Some(piece)) = reply.chunk().await {
        bytes.extend_from_slice(&piece);
        if bytes.len() > MAX_PAGE {
            return Ok((status, None));
        }
    }
    Ok((status, serde_json::from_slice(&bytes).ok()))
}

/// A port of this machine that nobody listens at.
fn free_port() -> std::io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// A key that means something to one process only; no client has it.
fn made_up_key() -> Result<String, String> {
    let made = SyntheticCredential::new().map_err(|error| error.to_string())?;
    Ok(format!("sk-proxy-{}", made.id()))
}
