//! Static embedding models from a folder, sound ones and broken ones.

use std::collections::BTreeMap;
use std::path::Path;

use context_bench_error::Hint as _;
use context_bench_memory::embedding::{Embed as _, StaticEmbeddings};
use serde_json::{Value, json};

const TOKENS: &str = include_str!("../fixtures/tokenizers/tokens.json");

fn tokenizer(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/tokenizers");
    std::fs::read_to_string(folder.join(format!("{name}.tokenizer.json"))).unwrap()
}

/// A safetensors file of tensors with 32-bit numbers.
fn weights(tensors: &[(&str, &[usize], Vec<f32>)]) -> Vec<u8> {
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    for (name, shape, numbers) in tensors {
        let start = data.len();
        data.extend(numbers.iter().flat_map(|number| number.to_le_bytes()));
        header.insert(
            (*name).to_owned(),
            json!({"dtype": "F32", "shape": shape, "data_offsets": [start, data.len()]}),
        );
    }
    let header = Value::Object(header).to_string();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.into_bytes());
    file.extend(data);
    file
}

fn folder(tokenizer: &str, weights: &[u8]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("tokenizer.json"), tokenizer).unwrap();
    std::fs::write(folder.path().join("model.safetensors"), weights).unwrap();
    folder
}

#[test]
fn tokens_equal_those_of_the_tokenizers_library() {
    let matrix = weights(&[("embeddings", &[500, 1], vec![1.0; 500])]);
    let expected: BTreeMap<String, Vec<(String, Vec<u32>)>> = serde_json::from_str(TOKENS).unwrap();
    for (name, texts) in expected {
        let folder = folder(&tokenizer(&name), &matrix);
        let model = StaticEmbeddings::open(folder.path()).unwrap();
        for (text, ids) in texts {
            assert_eq!(model.tokens(&text), ids, "{name}: {text:?}");
        }
    }
}

#[test]
fn a_text_is_the_mean_of_its_rows() {
    let words = r#"{"model": {"type": "WordPiece", "vocab": {"[UNK]": 0, "dog": 1, "cat": 2}},
        "pre_tokenizer": {"type": "WhitespaceSplit"}}"#;
    let rows = vec![9.0, 9.0, 3.0, 0.0, 0.0, 4.0];
    let plain = weights(&[("any.name", &[3, 2], rows.clone())]);
    let plain = folder(words, &plain);
    let plain = StaticEmbeddings::open(plain.path()).unwrap();
    assert_eq!((plain.rows(), plain.dimensions()), (3, 2));
    assert_eq!(plain.embed("dog cat unknown"), [0.6, 0.8]);
    assert_eq!(plain.embed(""), [0.0, 0.0]);

    // Factors per token, and tokens that share a row.
    let full = weights(&[
        ("embeddings", &[3, 2], rows),
        ("weights", &[3], vec![1.0, 1.0, 0.0]),
        ("mapping", &[3], vec![0.0, 2.0, 1.0]),
    ]);
    let full = folder(words, &full);
    let full = StaticEmbeddings::open(full.path()).unwrap();
    assert_eq!(full.embed("dog cat"), [0.0, 1.0]);
    assert_ne!(full.name(), plain.name());
}

#[test]
fn broken_models_are_errors() {
    let words = r#"{"model": {"type": "WordPiece", "vocab": {"a": 0, "b": 1}}}"#;
    let good = weights(&[("embeddings", &[2, 1], vec![1.0, 2.0])]);
    let two = weights(&[("x", &[1, 1], vec![1.0]), ("y", &[1, 1], vec![1.0])]);
    let few = weights(&[("embeddings", &[1, 1], vec![1.0])]);
    let flat = weights(&[("embeddings", &[2], vec![1.0, 2.0])]);
    for (tokenizer, weights, expected) in [
        (words, &good[..4], "the file is cut off"),
        (words, &good[..20], "the header is cut off"),
        (
            words,
            &good[..good.len() - 1],
            "the tensor `embeddings` is cut off",
        ),
        (
            words,
            &two,
            "it has no tensor `embeddings`, nor only one matrix",
        ),
        (words, &few, "the matrix has 1 rows, but a token has row 1"),
        (words, &flat, "the tensor `embeddings` is not a matrix"),
        ("{", &good, "not JSON"),
        (
            r#"{"model": {"type": "WordPiece"}}"#,
            &good,
            "`model.vocab` is not a map",
        ),
        (
            r#"{"model": {"type": "Unigram", "vocab": []}}"#,
            &good,
            "the model `Unigram` is not supported",
        ),
        (
            r#"{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "normalizer": {"type": "Precompiled"}}"#,
            &good,
            "the normalizer `Precompiled` is not supported",
        ),
        (
            r#"{"model": {"type": "WordPiece", "vocab": {"a": 0}}, "pre_tokenizer": {"type": "ByteLevel"}}"#,
            &good,
            "the pre-tokenizer `ByteLevel` is not supported",
        ),
        (
            r#"{"model": {"type": "BPE", "vocab": {"a": 0}, "merges": ["a b"]}}"#,
            &good,
            "is not a pair of tokens",
        ),
    ] {
        let folder = folder(tokenizer, weights);
        let Err(error) = StaticEmbeddings::open(folder.path()) else {
            panic!("opened, but: {expected}");
        };
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().is_some());
    }
    assert!(StaticEmbeddings::open("no/such/folder").is_err());
}
