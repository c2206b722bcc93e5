//! Attributes of tests. Use them through `context_bench_testkit`.

use std::path::{Path, PathBuf};

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Ignores a test where files of the shared folder are absent, so that it is counted as what it
/// is: not run. It stands above the attribute that makes a function a test.
///
/// ```ignore
/// #[needs_shared("data/full/humaneval.jsonl")]
/// #[test]
/// fn every_reference_solution_passes() {}
/// ```
#[proc_macro_attribute]
pub fn needs_shared(paths: TokenStream, test: TokenStream) -> TokenStream {
    if !is_test(test.clone()) {
        return error("`needs_shared` stands above `#[test]`");
    }
    let mut missing = None;
    for token in paths {
        match token {
            TokenTree::Punct(comma) if comma.as_char() == ',' => {}
            TokenTree::Literal(path) => {
                let path = path.to_string();
                if !shared_folder().join(path.trim_matches('"')).exists() {
                    missing.get_or_insert(path);
                }
            }
            _ => return error("`needs_shared` takes paths in quotes"),
        }
    }
    let Some(path) = missing else {
        return test;
    };
    let path = path.trim_matches('"');
    ignored(&format!("shared file `{path}` is not present"), test)
}

/// Ignores a test where the program of a proxy is absent below `target/proxies-venv`, which
/// `make target/proxies-venv/ready` fills from the registry.
///
/// ```ignore
/// #[needs_proxy("bin/kompact")]
/// #[test]
/// fn roles_are_found_to_change() {}
/// ```
#[proc_macro_attribute]
pub fn needs_proxy(path: TokenStream, test: TokenStream) -> TokenStream {
    if !is_test(test.clone()) {
        return error("`needs_proxy` stands above `#[test]`");
    }
    let path = path.to_string();
    let path = path.trim_matches('"');
    match proxies_folder().join(path).exists() {
        true => test,
        false => ignored(
            &format!("`{path}` is not installed: make target/proxies-venv/ready"),
            test,
        ),
    }
}

/// Ignores a test where moto, which speaks S3, is absent below `target/moto-venv`, which
/// `make target/moto-venv/ready` fills from the registry.
#[proc_macro_attribute]
pub fn needs_moto(_: TokenStream, test: TokenStream) -> TokenStream {
    if !is_test(test.clone()) {
        return error("`needs_moto` stands above `#[test]`");
    }
    let program =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/moto-venv/bin/moto_server");
    match program.exists() {
        true => test,
        false => ignored("moto is not installed: make target/moto-venv/ready", test),
    }
}

/// Where a file of an installed proxy lies, or would.
#[proc_macro]
pub fn proxy_path(path: TokenStream) -> TokenStream {
    let path = path.to_string();
    let path = proxies_folder().join(path.trim_matches('"'));
    parsed(&format!("{:?}", path.display().to_string()))
}

fn proxies_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/proxies-venv")
}

fn ignored(reason: &str, test: TokenStream) -> TokenStream {
    let mut ignored = parsed(&format!("#[ignore = {reason:?}]"));
    ignored.extend(test);
    ignored
}

/// Whether the shared folder had data when tests were compiled.
#[proc_macro]
pub fn shared_was_present(_: TokenStream) -> TokenStream {
    parsed(&shared_folder().join("data").exists().to_string())
}

/// Where a file of the shared folder lies, or would.
#[proc_macro]
pub fn shared_path(path: TokenStream) -> TokenStream {
    let path = path.to_string();
    let path = shared_folder().join(path.trim_matches('"'));
    parsed(&format!("{:?}", path.display().to_string()))
}

fn shared_folder() -> PathBuf {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    std::env::var_os("CONTEXT_BENCH_SHARED").map_or(beside, PathBuf::from)
}

/// Whether an item has an attribute that ends in `test`.
fn is_test(item: TokenStream) -> bool {
    item.into_iter().any(|token| match token {
        TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket => {
            let words = group.stream().into_iter();
            words.into_iter().any(|word| word.to_string() == "test")
        }
        _ => false,
    })
}

fn error(message: &str) -> TokenStream {
    parsed(&format!("::core::compile_error!({message:?});"))
}

fn parsed(source: &str) -> TokenStream {
    // What is written here is Rust; an empty stream would show as a test that is gone.
    source.parse().unwrap_or_default()
}
