//! `--proxy [NAME=]URL|PROXY[,key=value,…]` and `--header`: an endpoint or a proxy with its
//! own settings.

use context_bench::chat::UnknownApi;
use context_bench::error::Hint as _;
use context_bench::plan::SystemSpec;
use context_bench::system::split_command;
use context_bench_error::suggest;
use indexmap::IndexMap;

use crate::failure::Failure;

/// The settings of one endpoint.
const KEYS: [&str; 11] = [
    "model",
    "api",
    "key-env",
    "temperature",
    "max-tokens",
    "timeout",
    "max-retries",
    "stream",
    "header",
    "layout",
    "args",
];

/// Reads the value of `--proxy`.
pub(crate) fn parse(typed: &str) -> Result<SystemSpec, Failure> {
    let (name, rest) = named(typed);
    let mut parts = rest.split(',');
    let mut system = SystemSpec {
        proxy: parts.next().map(str::to_owned),
        name: name.map(str::to_owned),
        ..SystemSpec::default()
    };
    for part in parts {
        let bad = |what: String| Failure::bad_input(format!("`--proxy {typed}`: {what}"));
        let Some((key, value)) = part.split_once('=') else {
            return Err(bad(format!("`{part}` is not of the form `key=value`"))
                .hint("values that contain commas belong in a run file"));
        };
        let number = |what: &str| bad(format!("`{key}` must be {what}, not `{value}`"));
        match key.trim().replace('_', "-").as_str() {
            "model" => system.model = Some(value.to_owned()),
            "api" => {
                let unknown = |error: UnknownApi| {
                    let hint = error.hint().unwrap_or_default();
                    bad(error.to_string()).hint(hint)
                };
                system.api = Some(value.parse().map_err(unknown)?);
            }
            "key-env" | "api-key-env" => system.api_key_env = Some(value.to_owned()),
            "temperature" => {
                let value = value.parse().map_err(|_| number("a number"))?;
                system.temperature = Some(value);
            }
            "max-tokens" => {
                let value = value.parse().map_err(|_| number("a whole number"))?;
                system.max_tokens = Some(value);
            }
            "timeout" => {
                let value = value.parse().map_err(|_| number("a number of seconds"))?;
                system.timeout = Some(value);
            }
            "max-retries" => {
                let value = value.parse().map_err(|_| number("a whole number"))?;
                system.max_retries = Some(value);
            }
            "stream" => {
                let value = value.parse().map_err(|_| number("true or false"))?;
                system.stream = Some(value);
            }
            "layout" => {
                let value = value.parse().map_err(|_| number("system, user or tool"))?;
                system.layout = Some(value);
            }
            "args" => system.args = split_command(value)?,
            "header" => {
                let (name, value) = header(value)?;
                system.headers.get_or_insert_default().insert(name, value);
            }
            other => {
                let hint = suggest::did_you_mean(other, KEYS);
                let all = || format!("use {}", suggest::quoted_list(&KEYS, "or"));
                return Err(
                    bad(format!("there is no setting `{other}`")).hint(hint.unwrap_or_else(all))
                );
            }
        }
    }
    Ok(system)
}

/// Splits off a name before the address: the text before the first `=`, unless that is part of
/// the address itself.
fn named(typed: &str) -> (Option<&str>, &str) {
    match typed.split_once('=') {
        Some((name, rest)) if !name.is_empty() && !name.contains(['/', ':', '?', ',']) => {
            (Some(name), rest)
        }
        _ => (None, typed),
    }
}

/// Reads the values of `--header`; `None` when there are none.
pub(crate) fn headers(typed: &[String]) -> Result<Option<IndexMap<String, String>>, Failure> {
    if typed.is_empty() {
        return Ok(None);
    }
    typed
        .iter()
        .map(|text| header(text))
        .collect::<Result<_, _>>()
        .map(Some)
}

fn header(typed: &str) -> Result<(String, String), Failure> {
    match typed.split_once(':') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_owned(), value.trim().to_owned()))
        }
        // The value may be a secret, so the message does not repeat it.
        _ => Err(Failure::bad_input("a header must be `NAME: VALUE`")
            .hint("for example `--header 'x-kompact-disable: true'`")),
    }
}

#[cfg(test)]
mod tests {
    use context_bench::chat::Api;

    use super::*;

    #[test]
    fn names_and_settings_stand_around_the_address() {
        for (typed, name, url, model) in [
            ("http://h:1/v1", None, "http://h:1/v1", None),
            ("http://h/?a=b", None, "http://h/?a=b", None),
            ("h:9", None, "h:9", None),
            ("kompact=http://h:1", Some("kompact"), "http://h:1", None),
            ("my proxy=h:9,model=m", Some("my proxy"), "h:9", Some("m")),
            ("http://h,model=a/b:c", None, "http://h", Some("a/b:c")),
            ("kompact", None, "kompact", None),
            ("kompact,model=m", None, "kompact", Some("m")),
            ("mine=./my.yaml", Some("mine"), "./my.yaml", None),
        ] {
            let system = parse(typed).unwrap_or_default();
            assert_eq!(system.name.as_deref(), name, "{typed}");
            assert_eq!(system.proxy.as_deref(), Some(url), "{typed}");
            assert_eq!(system.model.as_deref(), model, "{typed}");
        }
        let full = "a=http://h,key-env=K,temperature=0.5,max_tokens=9,timeout=5,header=x-a: b";
        let system = parse(full).unwrap_or_default();
        let claude = parse("http://h,api=anthropic,model=m").unwrap_or_default();
        assert_eq!((system.api, claude.api), (None, Some(Api::Anthropic)));
        assert_eq!(system.api_key_env.as_deref(), Some("K"));
        assert_eq!(
            (system.temperature, system.max_tokens),
            (Some(0.5), Some(9))
        );
        assert_eq!(system.timeout, Some(5.0));
        assert_eq!(system.headers.unwrap_or_default()["x-a"], "b");
        let started = parse("a=kompact,args=--disable 'x y'").unwrap_or_default();
        assert_eq!(started.args, ["--disable", "x y"]);
        for bad in [
            "http://h,api=claude",
            "http://h,modle=x",
            "http://h,5",
            "http://h,timeout=soon",
        ] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
