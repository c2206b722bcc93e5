//! Transformers from a folder: their vectors against the official library's, and broken ones.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use context_bench_error::Hint as _;
use context_bench_memory::embedding::{Embed, EmbeddingError, TransformerEmbeddings, load};
use serde_json::{Value, json};

/// Texts with the vectors of the official library, by how these were made.
type Expected = BTreeMap<String, Vec<(String, Vec<f32>)>>;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/fixtures")
        .join(name)
}

fn expected(file: &str) -> Expected {
    serde_json::from_slice(&std::fs::read(fixture(file)).unwrap()).unwrap()
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b));
        products.sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

#[track_caller]
fn assert_near(found: &[f32], expected: &[f32], at_least: f64, text: &str) {
    assert_eq!(found.len(), expected.len());
    let near = cosine(found, expected);
    assert!(near >= at_least, "{near} for {text:?}");
}

/// A copy of the small model, to be changed.
fn copy() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("1_Pooling")).unwrap();
    for file in [
        "1_Pooling/config.json",
        "config.json",
        "config_sentence_transformers.json",
        "model.safetensors",
        "modules.json",
        "sentence_bert_config.json",
        "tokenizer.json",
        "tokenizer_config.json",
    ] {
        let from = fixture("tiny-bert").join(file);
        std::fs::copy(from, folder.path().join(file)).unwrap();
    }
    folder
}

/// Changes a file of JSON.
fn edit(folder: &Path, file: &str, change: impl FnOnce(&mut Value)) {
    let path = folder.join(file);
    let mut value = serde_json::from_slice(&std::fs::read(&path).unwrap()).unwrap();
    change(&mut value);
    std::fs::write(path, value.to_string()).unwrap();
}

/// The header of the weights, and the numbers behind it.
fn weights(folder: &Path) -> (Value, Vec<u8>) {
    let file = std::fs::read(folder.join("model.safetensors")).unwrap();
    let (length, rest) = file.split_first_chunk::<8>().unwrap();
    let length = usize::try_from(u64::from_le_bytes(*length)).unwrap();
    let header = serde_json::from_slice(&rest[..length]).unwrap();
    (header, rest[length..].to_vec())
}

fn write_weights(folder: &Path, header: &Value, data: &[u8]) {
    let header = header.to_string();
    let length = (header.len() as u64).to_le_bytes();
    let file = [&length, header.as_bytes(), data].concat();
    std::fs::write(folder.join("model.safetensors"), file).unwrap();
}

#[test]
fn vectors_equal_those_of_the_official_library() {
    let all = expected("tiny-bert/vectors.json");
    let model = load(fixture("tiny-bert")).unwrap();
    assert_eq!(model.dimensions(), 32);
    for (text, expected) in &all["mean"] {
        assert_near(&model.embed(text), expected, 0.999_999, text);
    }
    for (text, expected) in &all["query"] {
        assert_near(&model.embed_query(text), expected, 0.999_999, text);
    }

    // The vector of `[CLS]`, in the words of newer and of older files.
    for pooling in [
        json!({"pooling_mode": "cls"}),
        json!({"pooling_mode": ["cls"]}),
        json!({"pooling_mode_cls_token": true, "pooling_mode_mean_tokens": false}),
    ] {
        let folder = copy();
        edit(folder.path(), "1_Pooling/config.json", |value| {
            *value = pooling.clone();
        });
        let first = load(folder.path()).unwrap();
        assert_ne!(first.name(), model.name());
        for (text, expected) in &all["cls"] {
            assert_near(&first.embed(text), expected, 0.999_999, text);
        }
    }
}

#[test]
fn a_text_has_the_same_vector_in_any_company() {
    let model = load(fixture("tiny-bert")).unwrap();
    let all = expected("tiny-bert/vectors.json");
    let texts: Vec<&str> = all["mean"].iter().map(|(text, _)| text.as_str()).collect();
    // More than go through the layers at once.
    let texts: Vec<&str> = texts.iter().copied().cycle().take(150).collect();
    let together = model.embed_all(&texts);
    assert_eq!(together.len(), texts.len());
    for (text, vector) in texts.iter().zip(together) {
        assert_eq!(vector, model.embed(text), "{text:?}");
    }
    assert!(model.embed_all(&[]).is_empty());
}

#[test]
fn identity_is_content_not_place() {
    let model = load(fixture("tiny-bert")).unwrap();
    let same = copy();
    assert_eq!(load(same.path()).unwrap().name(), model.name());
    // What no vector depends on.
    edit(same.path(), "tokenizer_config.json", |value| {
        value["is_local"] = false.into();
    });
    assert_eq!(load(same.path()).unwrap().name(), model.name());

    let shorter = copy();
    edit(shorter.path(), "sentence_bert_config.json", |value| {
        value["max_seq_length"] = 8.into();
    });
    let shorter = TransformerEmbeddings::open(shorter.path()).unwrap();
    assert_eq!(shorter.longest(), 8);
    assert_ne!(shorter.name(), model.name());
    assert_eq!(
        shorter.embed("the dog the dog the dog cat cat"),
        shorter.embed("the dog the dog the dog"),
        "what is beyond the longest text does not count"
    );

    let other = copy();
    let (header, mut data) = weights(other.path());
    data[0] ^= 1;
    write_weights(other.path(), &header, &data);
    assert_ne!(load(other.path()).unwrap().name(), model.name());
}

#[test]
fn weights_of_16_bits_and_within_a_larger_model() {
    let all = expected("tiny-bert/vectors.json");
    let folder = copy();
    let (header, data) = weights(folder.path());
    let (mut halved, mut short) = (serde_json::Map::new(), Vec::new());
    for (name, tensor) in header.as_object().unwrap() {
        if name == "__metadata__" {
            continue;
        }
        let at = |which: usize| {
            usize::try_from(tensor["data_offsets"][which].as_u64().unwrap()).unwrap()
        };
        let start = short.len();
        for number in data[at(0)..at(1)].chunks_exact(4) {
            let bits = u32::from_le_bytes(number.try_into().unwrap());
            // To the nearest, without a carry out of the largest exponents, which are not there.
            let rounded = u16::try_from((bits + 0x8000) >> 16).unwrap();
            short.extend(rounded.to_le_bytes());
        }
        let tensor = json!({
            "dtype": "BF16", "shape": tensor["shape"], "data_offsets": [start, short.len()],
        });
        halved.insert(format!("bert.{name}"), tensor);
    }
    halved.insert(
        "cls.bias".into(),
        json!({"dtype": "F16", "shape": [0], "data_offsets": [0, 0]}),
    );
    write_weights(folder.path(), &Value::Object(halved), &short);
    let model = load(folder.path()).unwrap();
    for (text, expected) in &all["mean"] {
        assert_near(&model.embed(text), expected, 0.99, text);
    }
}

#[test]
fn broken_models_are_errors() {
    /// Breaks a folder.
    type Damage = Box<dyn Fn(&Path)>;
    fn config(key: &'static str, value: Value) -> Damage {
        Box::new(move |folder: &Path| {
            edit(folder, "config.json", |config| config[key] = value.clone());
        })
    }
    fn header(name: &'static str, key: &'static str, value: Value) -> Damage {
        Box::new(move |folder: &Path| {
            let (mut header, data) = weights(folder);
            header[name][key] = value.clone();
            write_weights(folder, &header, &data);
        })
    }
    fn without(file: &'static str) -> Damage {
        Box::new(move |folder: &Path| std::fs::remove_file(folder.join(file)).unwrap())
    }
    fn file(file: &'static str, content: &'static str) -> Damage {
        Box::new(move |folder: &Path| std::fs::write(folder.join(file), content).unwrap())
    }
    fn tokenizer(key: &'static str, value: Value) -> Damage {
        Box::new(move |folder: &Path| {
            edit(folder, "tokenizer.json", |file| file[key] = value.clone());
        })
    }
    const WORDS: &str = "embeddings.word_embeddings.weight";
    let cases: Vec<(Damage, &str)> = vec![
        (without("model.safetensors"), "has no `model.safetensors`"),
        (without("tokenizer.json"), "has no `tokenizer.json`"),
        (
            without("1_Pooling/config.json"),
            "has no `1_Pooling/config.json`",
        ),
        (file("config.json", "{"), "not JSON"),
        (
            config("model_type", json!("roberta")),
            "the architecture `roberta (BertModel)` is not supported",
        ),
        (
            config("hidden_act", json!("relu")),
            "the activation `relu` is not supported",
        ),
        (
            config("position_embedding_type", json!("relative_key")),
            "the kind of positions `relative_key` is not supported",
        ),
        (config("is_decoder", json!(true)), "the role `decoder`"),
        (config("hidden_size", Value::Null), "invalid type: null"),
        (
            config("num_attention_heads", json!(0)),
            "`num_attention_heads` is 0",
        ),
        (
            config("num_attention_heads", json!(5)),
            "is not a multiple of",
        ),
        (
            config("num_hidden_layers", json!(u32::MAX)),
            "it has no tensor `encoder.layer.2.attention.self.query.weight`",
        ),
        (
            config("vocab_size", json!(u64::MAX)),
            "has the shape [96, 32], but the configuration says",
        ),
        (
            config("intermediate_size", json!(49)),
            "has the shape [48, 32], but the configuration says [49, 32]",
        ),
        (
            config("max_position_embeddings", json!(2)),
            "the configuration says [2, 32]",
        ),
        (
            header(WORDS, "shape", json!([32, 96])),
            "has the shape [32, 96]",
        ),
        (
            header(WORDS, "shape", json!([96, 33])),
            "does not have the size of its shape",
        ),
        (
            header(WORDS, "shape", json!([u64::MAX, u64::MAX])),
            "does not have the size of its shape",
        ),
        (
            header(WORDS, "data_offsets", json!([12_288, 0])),
            "is cut off",
        ),
        (
            header(WORDS, "data_offsets", json!([0, u64::MAX])),
            "is cut off",
        ),
        (
            header(WORDS, "data_offsets", json!([-1, 4])),
            "is not described",
        ),
        (header(WORDS, "dtype", json!("I32")), "has whole numbers"),
        (
            header(WORDS, "dtype", json!("Q4")),
            "has numbers of type `Q4`",
        ),
        (
            Box::new(|folder: &Path| {
                let (header, mut data) = weights(folder);
                data.fill(0xff);
                write_weights(folder, &header, &data);
            }),
            "has numbers that are not finite",
        ),
        (
            Box::new(|folder: &Path| {
                edit(folder, "1_Pooling/config.json", |pooling| {
                    pooling["pooling_mode"] = json!(["mean", "max"]);
                });
            }),
            "the pooling `mean and max` is not supported",
        ),
        (file("1_Pooling/config.json", "{}"), "it names no pooling"),
        (
            file(
                "modules.json",
                r#"[{"type": "x.Transformer"}, {"type": "x.Dense"}]"#,
            ),
            "the module `Dense` is not supported",
        ),
        (
            file(
                "modules.json",
                r#"[{"type": "x.Pooling", "path": "../elsewhere"}]"#,
            ),
            "the place of a module `../elsewhere` is not supported",
        ),
        (
            file("sentence_bert_config.json", r#"{"max_seq_length": 2}"#),
            "texts of 2 tokens have no room for words",
        ),
        (
            tokenizer("post_processor", Value::Null),
            "the post-processor `without a type` is not supported",
        ),
        (
            tokenizer(
                "post_processor",
                json!({"type": "TemplateProcessing", "single": []}),
            ),
            "`single` has no place for the text",
        ),
        (
            tokenizer(
                "post_processor",
                json!({"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 96]}),
            ),
            "it has a token 96, but the model has 96 tokens",
        ),
        (
            tokenizer("model", json!({"type": "WordPiece", "vocab": {"a": 0}})),
            "`model.unk_token` is not in the vocabulary",
        ),
        (
            tokenizer(
                "model",
                json!({"type": "BPE", "vocab": {"a": 0}, "merges": []}),
            ),
            "the model `BPE` is not supported",
        ),
    ];
    for (damage, expected) in cases {
        let folder = copy();
        damage(folder.path());
        let Err(error) = load(folder.path()) else {
            panic!("loaded, but: {expected}");
        };
        assert!(error.to_string().contains(expected), "{error}");
        assert!(error.hint().is_some());
    }
    assert!(matches!(
        load("no/such/folder"),
        Err(EmbeddingError::NoFolder { .. })
    ));
    let folder = copy();
    std::fs::rename(
        folder.path().join("model.safetensors"),
        folder.path().join("pytorch_model.bin"),
    )
    .unwrap();
    let hint = load(folder.path()).err().unwrap().hint().unwrap();
    assert!(hint.contains("`pytorch_model.bin` is not read"), "{hint}");
}

/// Any byte of the weights may be wrong: an error or other vectors, never a panic.
#[test]
fn damaged_weights_never_panic() {
    let folder = copy();
    let path = folder.path().join("model.safetensors");
    let sound = std::fs::read(&path).unwrap();
    let header = 8 + usize::try_from(u64::from_le_bytes(sound[..8].try_into().unwrap())).unwrap();
    for at in (0..header).step_by(7) {
        let mut damaged = sound.clone();
        damaged[at] ^= 0x15;
        std::fs::write(&path, damaged).unwrap();
        if let Ok(model) = load(folder.path()) {
            assert_eq!(model.embed("the dog").len(), 32);
        }
    }
    for length in [0, 7, 8, 9, header - 1, header, header + 1, sound.len() - 1] {
        std::fs::write(&path, &sound[..length]).unwrap();
        assert!(load(folder.path()).is_err(), "{length} bytes");
    }
}

#[test]
fn static_models_are_told_apart() {
    let words = r#"{"model": {"type": "WordPiece", "vocab": {"dog": 0}}}"#;
    let folder = tempfile::tempdir().unwrap();
    let inner = folder.path().join("0_StaticEmbedding");
    std::fs::create_dir(&inner).unwrap();
    let header = json!({"embedding.weight":
        {"dtype": "F32", "shape": [1, 2], "data_offsets": [0, 8]}});
    let data: Vec<u8> = [3.0_f32, 4.0]
        .iter()
        .flat_map(|x| x.to_le_bytes())
        .collect();
    for place in [folder.path(), &inner] {
        write_weights(place, &header, &data);
        std::fs::write(place.join("tokenizer.json"), words).unwrap();
    }
    let check = || {
        let model = load(folder.path()).unwrap();
        assert_eq!(model.embed("dog"), [0.6, 0.8]);
        assert!(model.name().starts_with("static "), "{}", model.name());
    };
    check();
    std::fs::write(
        folder.path().join("config.json"),
        r#"{"model_type": "model2vec", "architectures": ["StaticModel"]}"#,
    )
    .unwrap();
    check();
    std::fs::remove_file(folder.path().join("tokenizer.json")).unwrap();
    std::fs::write(
        folder.path().join("modules.json"),
        r#"[{"type": "sentence_transformers.models.StaticEmbedding", "path": "0_StaticEmbedding"}]"#,
    )
    .unwrap();
    check();
}

#[ignore = "needs all-MiniLM-L6-v2 in the folder that CONTEXT_BENCH_MINILM names"]
#[test]
fn minilm_has_the_vectors_of_the_official_library() {
    let folder = std::env::var_os("CONTEXT_BENCH_MINILM").expect("CONTEXT_BENCH_MINILM is set");
    let model = TransformerEmbeddings::open(folder).unwrap();
    assert_eq!((model.dimensions(), model.longest()), (384, 256));
    let all = expected("minilm-vectors.json");
    let texts: Vec<&str> = all["texts"].iter().map(|(text, _)| text.as_str()).collect();
    let vectors = model.embed_all(&texts);
    for ((text, expected), vector) in all["texts"].iter().zip(vectors) {
        assert_near(&vector, expected, 0.9999, text);
        assert_eq!(vector, model.embed(text));
    }
}
