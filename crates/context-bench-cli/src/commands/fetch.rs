//! `fetch`: downloads datasets into the cache, so that they can be used offline.

use context_bench::dataset::{DatasetRef, DatasetTarget};
use context_bench::registry::Registry;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::list_args::FetchArgs;
use crate::words::counted;
use crate::{hub, output, tasks};

pub(crate) fn main(args: &FetchArgs, registry: &Registry) -> Result<Exit, Failure> {
    let registry = tasks::included(registry, &args.include_path)?;
    let names: Vec<String> = match args.all {
        true => registry
            .catalog
            .names()
            .into_iter()
            .map(str::to_owned)
            .collect(),
        false => args.names.clone(),
    };
    if names.is_empty() {
        return Err(Failure::bad_input("no datasets given")
            .hint("write `context-bench fetch gsm8k`, or `fetch --all`"));
    }
    // All names are checked before the first download.
    let mut configs = Vec::new();
    for name in &names {
        match DatasetRef::parse(name)?.target() {
            DatasetTarget::Named(named) if named.path.is_none() => {
                if registry.datasets.get(&named.name).is_err() {
                    configs.extend(registry.configs(named)?);
                }
            }
            _ => {
                return Err(
                    Failure::bad_input(format!("`{name}` is a local file")).hint(
                        "`context-bench ls datasets` lists the datasets that can be downloaded",
                    ),
                );
            }
        }
    }
    let access = hub::access(args.quiet)?;
    let mut failed = 0;
    for config in configs {
        let name = config.full_name();
        match config.fetch(&access) {
            Ok(fetched) => {
                let folder = fetched.paths.first().and_then(|path| path.parent());
                let folder = folder.map(|folder| folder.display().to_string());
                output::stdout(&format!(
                    "{name}: {} in {} at {}\n",
                    size(fetched.bytes),
                    counted(fetched.paths.len(), "file"),
                    folder.unwrap_or_else(|| "nowhere".into()),
                ))?;
            }
            // A dataset that is gated or gone must not stop the others.
            Err(error) if args.all => {
                failed += 1;
                output::error(&Failure::from(error));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(match failed {
        0 => Exit::Done,
        _ => {
            output::warning(&format!("{failed} datasets could not be fetched"));
            Exit::RowsFailed
        }
    })
}

/// A number of bytes in readable units.
pub(crate) fn size(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["kB", "MB", "GB", "TB"];
    if bytes < 1000 {
        return format!("{bytes} bytes");
    }
    let mut number = bytes as f64 / 1000.0;
    let mut unit = UNITS[0];
    for larger in &UNITS[1..] {
        if number < 1000.0 {
            break;
        }
        number /= 1000.0;
        unit = larger;
    }
    format!("{number:.1} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        for (bytes, text) in [
            (0, "0 bytes"),
            (999, "999 bytes"),
            (1500, "1.5 kB"),
            (2_500_000_000, "2.5 GB"),
        ] {
            assert_eq!(size(bytes), text);
        }
    }
}
