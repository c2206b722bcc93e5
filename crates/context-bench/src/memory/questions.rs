//! Conversations with their questions as examples: one per question.
//!
//! A system that takes in a conversation before it answers can work on several of them at
//! the same time, but often not on several questions of one. So the examples take turns
//! between a few conversations, where the run asks for that; rows have them in the order of
//! the data.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

use context_bench_error::Place;
use context_bench_memory::{EXCERPT_CHARS, MemoryExample, MemoryQuestion, excerpt};
use serde_json::{Map, Value, json};

use super::History;
use crate::dataset::{BadRecords, Dataset, DatasetError};
use crate::model::{CONVERSATION_ID, Example};

/// The field of a question with the digest of its conversation: what an answer depends on
/// beside the question.
pub(super) const CONVERSATION: &str = "conversation";
/// The field with the number of turns of the conversation.
pub(super) const TURN_COUNT: &str = "turn_count";
/// The field with the turns that are marked as evidence.
pub(super) const EVIDENCE: &str = "evidence";
/// The field with the kind of question.
pub(super) const KIND: &str = "type";

/// Conversations that examples take turns between.
const SIDE_BY_SIDE: usize = 16;

/// Which questions are asked, and in which order.
#[derive(Debug, Clone, Default)]
pub struct QuestionSettings {
    /// The kinds of questions to ask; all when empty. A name that ends in `*` stands for all
    /// kinds that begin like it.
    pub kinds: Vec<String>,
    /// Whether to take turns between conversations.
    pub side_by_side: bool,
    /// Whether records that are no conversations are left out and counted.
    pub skip_bad_records: bool,
}

impl QuestionSettings {
    fn asks(&self, kind: &str) -> bool {
        let fits = |wanted: &String| match wanted.strip_suffix('*') {
            Some(start) => kind.starts_with(start),
            None => kind == wanted,
        };
        self.kinds.is_empty() || self.kinds.iter().any(fits)
    }
}

/// How many questions of each kind there are, and how many of them are asked.
pub type KindCounts = Arc<Mutex<BTreeMap<String, (usize, usize)>>>;

/// The questions of conversations, one example each. Counts fill up while they are read.
pub fn questions(conversations: Dataset, settings: QuestionSettings) -> (Dataset, KindCounts) {
    let counts = KindCounts::default();
    let filled = Arc::clone(&counts);
    let bad = BadRecords::new(settings.skip_bad_records);
    let skipped = bad.skipped();
    let dataset = conversations.with_examples(|conversations| {
        Box::new(Expanding {
            conversations,
            settings,
            counts: filled,
            bad,
            n_conversations: 0,
            waiting: VecDeque::new(),
            ended: false,
        })
    });
    (dataset.also_skipping(skipped), counts)
}

struct Expanding<I> {
    conversations: I,
    settings: QuestionSettings,
    counts: KindCounts,
    bad: BadRecords,
    n_conversations: usize,
    waiting: VecDeque<Result<Example, DatasetError>>,
    ended: bool,
}

impl<I: Iterator<Item = Result<Example, DatasetError>>> Expanding<I> {
    /// The next conversation that has questions to ask.
    fn next_conversation(&mut self) -> Option<Result<Vec<Example>, DatasetError>> {
        loop {
            let asked = match self.conversations.next()? {
                Ok(conversation) => self.expand(&conversation),
                Err(error) => return Some(Err(error)),
            };
            match self.bad.pass(asked) {
                Ok(asked) if asked.as_ref().is_none_or(Vec::is_empty) => {}
                asked => return asked.transpose(),
            }
        }
    }

    fn expand(&mut self, conversation: &Example) -> Result<Vec<Example>, DatasetError> {
        let position = self.n_conversations;
        self.n_conversations += 1;
        // What opened the file knows the line; here only the number of the record is left.
        let name = match conversation.dataset() {
            "" => "the dataset",
            name => name,
        };
        let place = Place::file(name).line(position + 1);
        if conversation.get("turns").is_none() {
            return Err(DatasetError::BadRecord {
                problem: "no `turns`: memories are asked about conversations, with `turns` and \
                          `qa_pairs`"
                    .into(),
                at: place,
            });
        }
        let read = MemoryExample::from_map(conversation.fields(), &place, position);
        let MemoryExample {
            conversation: about,
            questions,
        } = read.map_err(|error| DatasetError::BadRecord {
            problem: error.problem(),
            at: place,
        })?;
        let said = about.turns().map(|turn| (turn.role.as_str(), turn.said()));
        let tail = excerpt(said, EXCERPT_CHARS);
        let given = conversation.get("qa_pairs").and_then(Value::as_array);
        let pairs = questions.iter().zip(given.into_iter().flatten());
        let mut wanted = Vec::new();
        {
            let mut counts = self.counts.lock().unwrap_or_else(|e| e.into_inner());
            for (question, pair) in pairs {
                let counted = counts.entry(question.kind.clone()).or_default();
                counted.0 += 1;
                if self.settings.asks(&question.kind) {
                    counted.1 += 1;
                    wanted.push((question, pair));
                }
            }
        }
        let history = Arc::new(History::new(about, wanted.len()));
        let asked = wanted.into_iter();
        let asked =
            asked.map(|(question, pair)| example(conversation, &history, question, pair, &tail));
        Ok(asked.collect())
    }

    /// Fills up with the next conversations: one, or several that take turns.
    fn fill(&mut self) {
        let at_once = match self.settings.side_by_side {
            true => SIDE_BY_SIDE,
            false => 1,
        };
        let mut block: Vec<VecDeque<(usize, Example)>> = Vec::new();
        let mut place = 0;
        let mut broken = None;
        while block.len() < at_once {
            match self.next_conversation() {
                Some(Ok(asked)) => {
                    let places = place..;
                    place += asked.len();
                    block.push(places.zip(asked).collect());
                }
                Some(Err(error)) => {
                    broken = Some(error);
                    break;
                }
                None => {
                    self.ended = true;
                    break;
                }
            }
        }
        let mut comes = 0_usize;
        while block.iter().any(|asked| !asked.is_empty()) {
            for (place, example) in block.iter_mut().filter_map(VecDeque::pop_front) {
                let places = place as i64 - comes as i64;
                self.waiting.push_back(Ok(example.displaced(places)));
                comes += 1;
            }
        }
        self.waiting.extend(broken.map(Err));
    }
}

impl<I: Iterator<Item = Result<Example, DatasetError>>> Iterator for Expanding<I> {
    type Item = Result<Example, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        while self.waiting.is_empty() && !self.ended {
            self.fill();
        }
        self.waiting.pop_front()
    }
}

/// The example of one question. What else the data says about the conversation or the
/// question comes along.
fn example(
    conversation: &Example,
    history: &Arc<History>,
    question: &MemoryQuestion,
    pair: &Value,
    tail: &str,
) -> Example {
    let mut fields = Map::new();
    fields.insert("id".into(), json!(question.id));
    if let Some(dataset) = conversation.get("dataset") {
        fields.insert("dataset".into(), dataset.clone());
    }
    fields.insert("question".into(), json!(question.question));
    fields.insert("answer".into(), json!(question.answer()));
    if question.answers.len() > 1 {
        fields.insert("answers".into(), json!(question.answers));
    }
    fields.insert("context".into(), json!(tail));
    fields.insert(KIND.into(), json!(question.kind));
    fields.insert(CONVERSATION_ID.into(), json!(history.id));
    fields.insert(CONVERSATION.into(), json!(history.digest));
    fields.insert(TURN_COUNT.into(), json!(history.turns.len()));
    if !question.evidence.is_empty() {
        fields.insert(EVIDENCE.into(), json!(question.evidence));
    }
    let further = pair.as_object().into_iter().flatten();
    let about = conversation.fields().iter();
    let about = about.filter(|(key, _)| !["turns", "qa_pairs"].contains(&key.as_str()));
    for (key, value) in further.chain(about) {
        if !fields.contains_key(key) && key != EVIDENCE && key != "answers" {
            fields.insert(key.clone(), value.clone());
        }
    }
    let is_labelled = conversation.content().all(|(key, _)| key != "dataset");
    let example = match is_labelled {
        // A name of a file is not content; see `Example::labelled`.
        true => {
            let label = fields.shift_remove("dataset");
            let example = Example::from(fields);
            match label.as_ref().and_then(Value::as_str) {
                Some(label) => example.labelled(label),
                None => example,
            }
        }
        false => Example::from(fields),
    };
    let shared: Arc<History> = Arc::clone(history);
    example.with_shared(shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn conversation(id: &str, n: usize) -> Example {
        let pairs: Vec<Value> = (0..n)
            .map(|i| {
                let kind = if i % 2 == 0 { "x" } else { "y" };
                json!({"question": format!("{id}{i}?"), "answer": "a", "type": kind})
            })
            .collect();
        Example::new()
            .with("id", id)
            .with(
                "turns",
                json!([{"role": "user", "content": "hi", "id": "t"}]),
            )
            .with("qa_pairs", pairs)
            .with("dataset", "d")
            .with("speakers", json!(["A"]))
    }

    fn asked(dataset: Dataset) -> Vec<(String, i64)> {
        let examples: Vec<Example> = dataset.into_iter().map(|one| one.unwrap()).collect();
        let places = examples.iter().enumerate().map(|(comes, example)| {
            let id = example.text("id").unwrap().to_owned();
            (id, comes as i64 + example.displacement())
        });
        places.collect()
    }

    fn data() -> Dataset {
        Dataset::from(vec![
            conversation("a", 3),
            conversation("b", 1),
            conversation("c", 2),
        ])
    }

    #[test]
    fn questions_take_turns_and_rows_do_not() {
        for side_by_side in [false, true] {
            let settings = QuestionSettings {
                side_by_side,
                ..QuestionSettings::default()
            };
            let mut found = asked(questions(data(), settings).0);
            let order: Vec<&str> = found.iter().map(|(id, _)| id.as_str()).collect();
            let expected = match side_by_side {
                true => ["a_0", "b_0", "c_0", "a_1", "c_1", "a_2"],
                false => ["a_0", "a_1", "a_2", "b_0", "c_0", "c_1"],
            };
            assert_eq!(order, expected);
            found.sort_by_key(|(_, place)| *place);
            let rows: Vec<String> = found.into_iter().map(|(id, _)| id).collect();
            assert_eq!(rows, ["a_0", "a_1", "a_2", "b_0", "c_0", "c_1"]);
        }
    }

    #[test]
    fn kinds_are_chosen_and_counted() {
        let settings = QuestionSettings {
            kinds: vec!["y*".into()],
            ..QuestionSettings::default()
        };
        let (dataset, counts) = questions(data(), settings);
        let found = asked(dataset);
        // Ids do not depend on what is asked.
        assert_eq!(found, [("a_1".to_owned(), 0), ("c_1".to_owned(), 1)]);
        let counts = counts.lock().unwrap();
        assert_eq!((counts["x"], counts["y"]), ((4, 0), (2, 2)));
    }

    #[test]
    fn an_example_has_what_evaluators_and_prompts_read() {
        let (dataset, _) = questions(data(), QuestionSettings::default());
        let first = dataset.into_iter().next().unwrap().unwrap();
        assert_eq!(first.question(), Some("a0?"));
        assert_eq!(first.context(), "USER: hi");
        assert_eq!(first.dataset(), "d");
        assert_eq!(first.get("speakers"), Some(&json!(["A"])));
        assert_eq!(first.text("type"), Some("x"));
        let history = History::of(&first).unwrap();
        assert_eq!(first.text(CONVERSATION), Some(history.digest.as_str()));
        assert!(History::of(&first.with("response", "x")).is_some());
    }

    #[test]
    fn a_broken_conversation_says_what_is_wrong() {
        let broken = Example::new().with("turns", json!([])).with("dataset", "d");
        let (dataset, _) = questions(Dataset::from(vec![broken]), QuestionSettings::default());
        let error = dataset.into_iter().next().unwrap().unwrap_err();
        assert!(
            error.to_string().contains("`turns` has no turns"),
            "{error}"
        );
    }
}
