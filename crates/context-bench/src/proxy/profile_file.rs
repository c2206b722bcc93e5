//! Profiles from files: read with places in errors, checked, described.

use std::path::Path;

use context_bench_template::yaml;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use super::template::{self, NAMES, TO_THE_TAP};
use super::{ArmSettings, ProxyProfile};
use crate::plan::{FileKind, Places, SpecError, Step, read_keys, reference_page};

const PROFILE: FileKind = FileKind {
    name: "proxy profile",
    described: "docs/reference/proxy-profiles.md describes every key",
};

impl ProxyProfile {
    /// Reads a profile.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or a key or value in it is wrong.
    pub fn read(path: &Path) -> Result<Self, SpecError> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| SpecError {
            what: format!("cannot read the proxy profile: {error}"),
            place: name.clone(),
            hint: Some("`context-bench ls proxies` lists those that come with the program".into()),
        })?;
        Self::parse(&bytes, &name)
    }

    /// Reads the text of a profile; `name` is what errors call its file.
    ///
    /// # Errors
    ///
    /// When a key or value is wrong.
    pub fn parse(bytes: &[u8], name: &str) -> Result<Self, SpecError> {
        let (profile, places): (Self, _) = read_keys(bytes, name, PROFILE, &schema())?;
        profile.check(&places)?;
        Ok(profile)
    }

    /// The profile as YAML.
    pub fn to_yaml(&self) -> String {
        let value = serde_json::to_value(self).unwrap_or_default();
        yaml::emit(&yaml::from_json(&value))
    }

    fn check(&self, places: &Places<'_>) -> Result<(), SpecError> {
        let key = |name: &str| vec![Step::Key(name.to_owned())];
        let wrong = |path: &[Step], what: &str, hint: &str| {
            let mut error = SpecError::at(path, what, places);
            error.hint = Some(hint.to_owned());
            Err(error)
        };
        if !is_name(&self.proxy) {
            return wrong(
                &key("proxy"),
                "a name of letters, digits, `-`, `_` and `.` is needed",
                "`proxy: my-proxy` names the profile, for `--proxy my-proxy`",
            );
        }
        if self
            .command
            .first()
            .is_none_or(|program| program.trim().is_empty())
        {
            return wrong(
                &key("command"),
                "the program and its arguments are needed",
                "such as `command: [my-proxy, --port, \"{port}\"]`",
            );
        }
        for (path, text) in self.texts() {
            for name in template::names(text) {
                if !NAMES.contains(&name) {
                    let near = context_bench_error::suggest::did_you_mean(name, NAMES);
                    let all = || format!("{{…}} may be {}", quoted(&NAMES));
                    let hint = near.unwrap_or_else(all);
                    return wrong(&path, &format!("there is no `{{{name}}}`"), &hint);
                }
            }
        }
        let files = self.files.values().map(String::as_str);
        let texts = self.texts().into_iter().map(|(_, text)| text).chain(files);
        let mut used: Vec<&str> = texts.flat_map(template::names).collect();
        // What `upstream` says is used where it is named.
        used.dedup();
        if !used.iter().any(|name| TO_THE_TAP.contains(name)) {
            return wrong(
                &key("command"),
                "nothing points the proxy at the tap",
                "put `{tap}` into an argument, a variable or a file",
            );
        }
        if self.port.is_none() && !used.contains(&"port") {
            return wrong(
                &key("command"),
                "the proxy is not told where to listen",
                "put `{port}` into an argument, a variable or a file, or name its `port`",
            );
        }
        for (path, url) in [
            (
                vec![Step::Key("ready".into()), Step::Key("url".into())],
                Some(&self.ready.url),
            ),
            (key("stats_url"), self.stats_url.as_ref()),
            (key("http_proxy"), self.http_proxy.as_ref()),
        ] {
            if url.is_some_and(|url| !is_here(url)) {
                return wrong(
                    &path,
                    "an address on this machine is needed",
                    "such as `http://127.0.0.1:{port}/health`",
                );
            }
        }
        if !(self.ready.timeout > 0.0 && self.ready.timeout.is_finite()) {
            let path = [Step::Key("ready".into()), Step::Key("timeout".into())];
            return wrong(
                &path,
                "a number of seconds above 0 is needed",
                "leave it out for 180",
            );
        }
        for name in self.files.keys() {
            let path = Path::new(name);
            let plain = path.components().count() == 1 && path.file_name().is_some();
            if !plain {
                return wrong(
                    &[Step::Key("files".into()), Step::Key(name.clone())],
                    "a plain file name is needed",
                    "files are written into `{folder}`",
                );
            }
        }
        Ok(())
    }

    /// Every text in which `{…}` is filled in, with its path; texts of files may hold other
    /// braces.
    fn texts(&self) -> Vec<(Vec<Step>, &str)> {
        let mut texts = Vec::new();
        let key = |name: &str| Step::Key(name.to_owned());
        let list = |path: &[Step], list: &'_ [String]| -> Vec<(Vec<Step>, usize)> {
            let entry = |at| [path, &[Step::Entry(at)]].concat();
            (0..list.len()).map(|at| (entry(at), at)).collect()
        };
        for (path, at) in list(&[key("command")], &self.command) {
            texts.push((path, self.command[at].as_str()));
        }
        for (path, at) in list(&[key("version_command")], &self.version_command) {
            texts.push((path, self.version_command[at].as_str()));
        }
        let maps = [
            (vec![key("env")], &self.env),
            (vec![key("client_headers")], &self.client_headers),
        ];
        let arms: [(&str, &ArmSettings); 2] = [
            ("passthrough", &self.arms.passthrough),
            ("transform", &self.arms.transform),
        ];
        let arm_maps = arms.iter().flat_map(|(name, arm)| {
            let at = |part: &str| vec![key("arms"), key(name), key(part)];
            [(at("env"), &arm.env), (at("headers"), &arm.headers)]
        });
        for (path, map) in maps.into_iter().chain(arm_maps) {
            for (name, text) in map {
                texts.push(([path.as_slice(), &[key(name)]].concat(), text.as_str()));
            }
        }
        for (name, arm) in arms {
            for (path, at) in list(&[key("arms"), key(name), key("args")], &arm.args) {
                texts.push((path, arm.args[at].as_str()));
            }
        }
        let upstream = &self.upstream;
        for (path, text) in [
            (vec![key("ready"), key("url")], Some(&self.ready.url)),
            (vec![key("client_base")], self.client_base.as_ref()),
            (vec![key("http_proxy")], self.http_proxy.as_ref()),
            (vec![key("stats_url")], self.stats_url.as_ref()),
        ] {
            texts.extend(text.map(|text| (path, text.as_str())));
        }
        for (name, text) in [
            ("openai", &upstream.openai),
            ("anthropic", &upstream.anthropic),
            ("gemini", &upstream.gemini),
        ] {
            let path = vec![key("upstream"), key(name)];
            texts.extend(text.as_deref().map(|text| (path, text)));
        }
        texts
    }
}

fn quoted(names: &[&str]) -> String {
    context_bench_error::suggest::quoted_list(names, "or")
}

/// Whether a text can be the name of a profile: it is part of the names of systems, of paths
/// and of flags.
pub(super) fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || ['-', '_', '.'].contains(&c);
    text.starts_with(|c: char| c.is_ascii_alphanumeric()) && text.chars().all(fits)
}

/// Whether an address is one of this machine.
fn is_here(url: &str) -> bool {
    let rest = url.strip_prefix("http://").or(url.strip_prefix("tcp://"));
    let rest = rest.unwrap_or_default();
    let host = rest.split(['/', ':', '?']).next().unwrap_or_default();
    ["127.0.0.1", "localhost"].contains(&host)
}

/// The JSON Schema of profiles, for editors.
pub fn schema() -> Value {
    let generator = SchemaSettings::draft2020_12().into_generator();
    let mut schema = generator.into_root_schema_for::<ProxyProfile>().to_value();
    if let Value::Object(map) = &mut schema {
        map.insert("title".into(), "Proxy profile of context-bench".into());
    }
    schema
}

/// The reference page of profiles, in Markdown.
pub fn reference() -> String {
    reference_page(HEAD, &schema())
}

const HEAD: &str = "# Proxy profiles

<!-- Written by the tests from the types in `crates/context-bench/src/proxy/profile.rs`. -->

A proxy profile says how a proxy is installed, started, pointed at the tap and asked. Those
that come with the program are in `crates/context-bench/catalog/proxies`, one YAML file each;
`context-bench ls proxies` lists them and `context-bench show NAME` shows one. Your own is named by its path
(`--proxy ./my-proxy.yaml`), or by its name if `--include-path` leads to it; it then takes the
place of one with the same name. A mistake is told with file, line and key.
[The guide](../guide/proxies.md) explains how proxies are compared.

```yaml
proxy: my-proxy
about: what it does, in one line
install: pip install my-proxy
command: [my-proxy, --host, 127.0.0.1, --port, \"{port}\", --upstream, \"{openai}\"]
upstream: {openai: \"{tap}/v1\"}
ready: {url: \"http://127.0.0.1:{port}/health\"}
arms:
  passthrough: {args: [--no-compression]}
```

";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::Hint as _;

    const GOOD: &str = "proxy: p\ncommand: [p, '{port}', '{tap}']\n\
                        ready: {url: 'http://127.0.0.1:{port}/health'}\n";

    #[test]
    fn the_reference_page_is_up_to_date() {
        let file = Path::new(env!("CARGO_MANIFEST_DIR"));
        let file = file.join("../../docs/reference/proxy-profiles.md");
        if std::env::var_os("CONTEXT_BENCH_UPDATE").is_some() {
            fs::write(&file, reference()).expect("written");
        }
        let written = fs::read_to_string(&file).unwrap_or_default();
        assert!(
            written == reference(),
            "docs/reference/proxy-profiles.md is stale: run this test with CONTEXT_BENCH_UPDATE=1"
        );
        let example = HEAD.split("```yaml\n").nth(1).expect("an example");
        let example = example.split("```").next().expect("its end");
        ProxyProfile::parse(example.as_bytes(), "page").expect("valid");
    }

    #[test]
    fn every_key_is_described() {
        let schema = schema();
        let sections = schema["$defs"].as_object().expect("sections").values();
        for section in sections.chain([&schema]) {
            assert_eq!(section["additionalProperties"], Value::Bool(false));
            for (key, property) in section["properties"].as_object().expect("keys") {
                assert!(property["description"].is_string(), "{key}");
            }
        }
    }

    #[test]
    fn mistakes_are_told_at_their_place() {
        let with = |more: &str| format!("{GOOD}{more}");
        ProxyProfile::parse(GOOD.as_bytes(), "p.yaml").expect("good");
        for (text, what) in [
            (
                with("comand: [x]"),
                "unknown key `comand` in the proxy profile\n  at p.yaml:4:1",
            ),
            (
                with("arms:\n  passthrough: {args: ['{prot}']}"),
                "`arms.passthrough.args[0]`: there is no `{prot}`\n  at p.yaml:5:24",
            ),
            (
                with("stats_url: https://example.com/"),
                "`stats_url`: an address on this machine is needed\n  at p.yaml:4:12",
            ),
            (
                with("files: {../x: ''}"),
                "`files.../x`: a plain file name is needed\n  at p.yaml:4:15",
            ),
            (
                with("own_retries: many"),
                "`own_retries`: expected a whole number, 0 or above, found the text `many`\n  at \
                 p.yaml:4:14",
            ),
            (
                GOOD.replace("'{tap}'", "x"),
                "`command`: nothing points the proxy at the tap\n  at p.yaml:2:10",
            ),
            (
                GOOD.replace("proxy: p", "proxy: 'a b'"),
                "`proxy`: a name of letters, digits, `-`, `_` and `.` is needed\n  at p.yaml:1:8",
            ),
            (
                "proxy: p\ncommand: [p, '{tap}']\nready: {url: 'http://127.0.0.1/'}".to_owned(),
                "`command`: the proxy is not told where to listen\n  at p.yaml:2:10",
            ),
            (
                "[1]".to_owned(),
                "a proxy profile is a mapping of keys: expected a mapping, found a list\n  at \
                 p.yaml:1:1",
            ),
            (with("x: ["), "the list does not end\n  at p.yaml:4:4"),
        ] {
            let error = ProxyProfile::parse(text.as_bytes(), "p.yaml").expect_err(&text);
            if !what.starts_with("the list") {
                assert_eq!(error.to_string(), what, "{text:?}");
            }
            assert!(error.hint().is_some(), "{text:?}");
        }
    }
}
