//! The check of memories, over right ones and over those that are wrong in one way each.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use context_bench::memory::check::{
    CheckProgress, CheckReport, CheckSettings, Property, Stage, Verdict, check_memory,
};
use context_bench::memory::embedding::HashedNgrams;
use context_bench::memory::{
    Ingest, Instances, MemoryAnswer, MemoryProvider, MemoryQuery, MemorySystem, RetrievalMemory,
    Turn,
};
use context_bench::system::{Reader, SystemError};
use context_bench_memory::Tools;

/// What is wrong with a memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fault {
    No,
    /// All instances write to and read from the same place.
    SharesState,
    /// `reset` does nothing.
    NeverForgets,
    /// What was said first holds.
    KeepsFirst,
    /// Whoever is asked answers for the instance that took something in last.
    Swaps,
    /// Whatever the budget is.
    IgnoresBudget,
    SaysNothing,
    /// `load` says that it did it.
    LosesState,
    /// `load` says that it cannot.
    RefusesState,
    /// It knows nothing the second time.
    Fickle,
    Fails,
    Panics,
    /// Fails to open more than one instance.
    OpensOnce,
    /// Forgets when another instance resets.
    ForgetsWithOthers,
}

type Store = Arc<Mutex<Vec<Turn>>>;

#[derive(Default)]
struct Provider {
    fault: Option<Fault>,
    alone: bool,
    saves: bool,
    overlap: bool,
    stores: Mutex<Vec<Store>>,
    last: Arc<Mutex<Store>>,
}

impl Provider {
    fn with(fault: Fault) -> Self {
        Self {
            fault: Some(fault),
            saves: true,
            ..Self::default()
        }
    }
}

#[async_trait]
impl MemoryProvider for Provider {
    fn name(&self) -> &str {
        "notes"
    }

    fn instances(&self) -> Instances {
        match self.alone {
            true => Instances::One,
            false => Instances::Many,
        }
    }

    fn queries_overlap(&self) -> bool {
        self.overlap
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        let fault = self.fault.unwrap_or(Fault::No);
        let mut stores = self.stores.lock().unwrap();
        let shares = fault == Fault::SharesState || self.alone;
        let store = match stores.first() {
            Some(_) if fault == Fault::OpensOnce => return Err("there is one already".into()),
            Some(first) if shares => Arc::clone(first),
            _ => Store::default(),
        };
        stores.push(Arc::clone(&store));
        Ok(Arc::new(Notes {
            fault,
            saves: self.saves,
            store,
            others: stores.clone(),
            last: Arc::clone(&self.last),
            asked: Mutex::default(),
        }))
    }
}

/// Answers with the last turn that tells of what the question asks for.
struct Notes {
    fault: Fault,
    saves: bool,
    store: Store,
    others: Vec<Store>,
    last: Arc<Mutex<Store>>,
    asked: Mutex<HashMap<String, usize>>,
}

impl Notes {
    fn put(&self, turns: Vec<Turn>) {
        self.store.lock().unwrap().extend(turns);
        *self.last.lock().unwrap() = Arc::clone(&self.store);
        self.asked.lock().unwrap().clear();
    }
}

#[async_trait]
impl MemorySystem for Notes {
    async fn reset(&self) -> Result<(), SystemError> {
        if self.fault == Fault::ForgetsWithOthers {
            for store in &self.others {
                store.lock().unwrap().clear();
            }
        }
        if self.fault != Fault::NeverForgets {
            self.store.lock().unwrap().clear();
        }
        Ok(())
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        self.put(turns.to_vec());
        Ok(Ingest::default())
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        let subject = query.question.trim_start_matches("What is ");
        let subject = subject.trim_end_matches(['?']).trim_end_matches(" now");
        let subject = subject.to_lowercase();
        if self.fault == Fault::Fails && subject.contains("boat") {
            return Err("no boats today".into());
        }
        assert!(
            !(self.fault == Fault::Panics && subject.contains("boat")),
            "no boats"
        );
        let times = {
            let mut asked = self.asked.lock().unwrap();
            let times = asked.entry(query.question.to_owned()).or_default();
            *times += 1;
            *times
        };
        if self.fault == Fault::SaysNothing || (self.fault == Fault::Fickle && times > 1) {
            return Ok(MemoryAnswer::from("I do not know."));
        }
        let store = match self.fault {
            Fault::Swaps => Arc::clone(&self.last.lock().unwrap()),
            _ => Arc::clone(&self.store),
        };
        let known = store.lock().unwrap();
        let tells = |turn: &&Turn| turn.text.to_lowercase().contains(&subject);
        let found = match self.fault {
            Fault::KeepsFirst => known.iter().find(tells),
            _ => known.iter().rev().find(tells),
        };
        let text = found.map_or_else(String::new, |turn| turn.text.clone());
        let tokens = text.split_whitespace().count() as u64;
        Ok(MemoryAnswer {
            answer: text,
            context_tokens: Some(match self.fault {
                Fault::IgnoresBudget => 500,
                _ => tokens,
            }),
            ..MemoryAnswer::default()
        })
    }

    async fn save(&self) -> Result<Option<Vec<u8>>, SystemError> {
        let known = self.store.lock().unwrap();
        Ok(self.saves.then(|| serde_json::to_vec(&*known).unwrap()))
    }

    async fn load(&self, state: &[u8]) -> Result<bool, SystemError> {
        match self.fault {
            Fault::LosesState => return Ok(true),
            Fault::RefusesState => return Ok(false),
            _ => {}
        }
        self.store.lock().unwrap().clear();
        self.put(serde_json::from_slice(state).unwrap());
        Ok(true)
    }
}

async fn check(provider: impl MemoryProvider + 'static) -> CheckReport {
    let settings = CheckSettings::default();
    check_memory(Arc::new(provider), settings, Arc::new(|_| {})).await
}

fn with_verdict(report: &CheckReport, wanted: impl Fn(&Verdict) -> bool) -> Vec<Property> {
    let found = report.properties.iter();
    let found = found.filter(|property| wanted(&property.verdict));
    found.map(|property| property.property).collect()
}

fn failed(report: &CheckReport) -> Vec<Property> {
    with_verdict(report, |verdict| *verdict == Verdict::Failed)
}

fn not_applicable(report: &CheckReport) -> Vec<Property> {
    with_verdict(report, |verdict| {
        matches!(verdict, Verdict::NotApplicable { .. })
    })
}

#[tokio::test]
async fn a_right_memory_passes() {
    for overlap in [false, true] {
        let provider = Provider {
            overlap,
            ..Provider::with(Fault::No)
        };
        let report = check(provider).await;
        assert!(report.passed(), "{}", report.to_text());
        assert_eq!(not_applicable(&report), []);
        for property in &report.properties {
            assert!(property.judged > 0 && property.failed == 0, "{property:?}");
        }
    }
}

#[tokio::test]
async fn each_fault_fails_the_property_that_it_breaks_and_no_other() {
    for (fault, property) in [
        (Fault::SharesState, Property::NoLeak),
        (Fault::NeverForgets, Property::ResetForgets),
        (Fault::KeepsFirst, Property::LatestWins),
        (Fault::Swaps, Property::NoLeak),
        (Fault::IgnoresBudget, Property::BudgetRespected),
        (Fault::SaysNothing, Property::Remembers),
        (Fault::LosesState, Property::StateSurvives),
        (Fault::RefusesState, Property::StateSurvives),
        (Fault::Fickle, Property::Repeatable),
        (Fault::Fails, Property::Works),
        (Fault::Panics, Property::Works),
        (Fault::OpensOnce, Property::Works),
        (Fault::ForgetsWithOthers, Property::Remembers),
    ] {
        let report = check(Provider::with(fault)).await;
        let text = report.to_text();
        assert_eq!(failed(&report), [property], "{fault:?}: {text}");
        assert!(!report.passed());
        let offences = &report.property(property).unwrap().offences;
        assert!(!offences.is_empty(), "{text}");
        assert!(text.contains("FAILED"), "{text}");
    }
}

#[tokio::test]
async fn an_offence_says_whose_value_it_was() {
    let report = check(Provider::with(Fault::NeverForgets)).await;
    let property = report.property(Property::ResetForgets).unwrap();
    let offence = &property.offences[0];
    assert_eq!(offence.stage, Stage::OneAfterTheOther);
    assert_eq!((offence.conversation, offence.value_of), (Some(2), Some(1)));
    let question = "What is the password of Alma's diary?";
    assert_eq!(offence.question.as_deref(), Some(question));
    let value = offence.value.as_deref().unwrap();
    let answer = offence.answer.as_deref().unwrap();
    assert!(answer.to_lowercase().contains(value), "{offence:?}");
    assert_eq!(offence.expected, None);
    let text = report.to_text();
    let problem = format!("`{value}` is of conversation 1, which it was told to forget");
    assert!(text.contains(&problem), "{text}");
    let json = report.to_json();
    assert_eq!(json["passed"], false);
    let found = json["properties"].as_array().unwrap();
    assert_eq!(found.len(), Property::ALL.len());
    assert_eq!(found[2]["property"], "reset_forgets");
    assert_eq!(found[2]["verdict"], "failed");
    assert_eq!(found[2]["offences"][0]["stage"], "one_after_the_other");
    assert_eq!(found[2]["offences"][0]["value_of"], 1);
}

#[tokio::test]
async fn what_cannot_be_seen_is_said_and_not_passed_over() {
    let report = check(Provider::with(Fault::SaysNothing)).await;
    assert_eq!(
        not_applicable(&report),
        [
            Property::ResetForgets,
            Property::LatestWins,
            Property::NoLeak,
            Property::Repeatable,
            Property::BudgetRespected,
            Property::StateSurvives,
        ]
    );
    let text = report.to_text();
    assert!(
        text.contains("it never says anything that it was told"),
        "{text}"
    );
    assert!(text.contains("it does not say what it was told"), "{text}");

    let alone = Provider {
        alone: true,
        saves: false,
        ..Provider::with(Fault::No)
    };
    let report = check(alone).await;
    assert!(report.passed(), "{}", report.to_text());
    let expected = [Property::NoLeak, Property::StateSurvives];
    assert_eq!(not_applicable(&report), expected);
    let text = report.to_text();
    for why in [
        "only one instance",
        "it does not save what it has taken in",
        "0 failed, 6 held, 2 not applicable",
    ] {
        assert!(text.contains(why), "{text}");
    }
    let alone = Provider {
        alone: true,
        ..Provider::with(Fault::No)
    };
    let report = check(alone).await;
    assert_eq!(not_applicable(&report), [Property::NoLeak]);
    assert!(report.passed(), "{}", report.to_text());
}

#[tokio::test]
async fn progress_counts_every_question() {
    let seen: Arc<Mutex<Vec<CheckProgress>>> = Arc::default();
    let told = Arc::clone(&seen);
    let settings = CheckSettings::default();
    let provider = Arc::new(Provider::with(Fault::No));
    let report = check_memory(
        provider,
        settings,
        Arc::new(move |progress| told.lock().unwrap().push(progress)),
    )
    .await;
    let seen = seen.lock().unwrap();
    let last = seen.last().unwrap();
    assert_eq!(last.asked, last.planned);
    assert_eq!(last.asked, report.questions);
    assert_eq!(last.stage, Stage::SavedAndLoaded);
}

#[tokio::test]
async fn a_check_can_be_dropped() {
    let provider = Arc::new(Provider::with(Fault::No));
    let settings = CheckSettings::default();
    let (tell, told) = tokio::sync::oneshot::channel();
    let tell = Mutex::new(Some(tell));
    let on_progress = move |progress: CheckProgress| {
        if progress.stage == Stage::Parallel
            && let Some(tell) = tell.lock().unwrap().take()
        {
            let _ = tell.send(());
        }
    };
    let weak = Arc::downgrade(&provider);
    tokio::select! {
        biased;
        _ = told => {}
        _ = check_memory(provider, settings, Arc::new(on_progress)) => {}
    }
    // Tasks that were given up drop what they hold when the runtime next comes to them.
    while weak.strong_count() > 0 {
        tokio::task::yield_now().await;
    }
}

/// A built-in memory whose answers the embedded reader gives.
fn built_in(settings: &str) -> RetrievalMemory {
    let tools = Tools {
        embedder: Some(Arc::new(HashedNgrams)),
        ..Tools::default()
    };
    let parsed = settings.parse().unwrap();
    RetrievalMemory::new(settings, parsed, tools, Arc::new(Reader)).unwrap()
}

/// A memory that passes answers off as its own.
struct OwnAnswers<M>(M);

#[async_trait]
impl<M: MemoryProvider> MemoryProvider for OwnAnswers<M> {
    fn name(&self) -> &str {
        "own answers"
    }

    async fn open(&self) -> Result<Arc<dyn MemorySystem>, SystemError> {
        Ok(Arc::new(OwnAnswer(self.0.open().await?)))
    }
}

struct OwnAnswer(Arc<dyn MemorySystem>);

#[async_trait]
impl MemorySystem for OwnAnswer {
    async fn reset(&self) -> Result<(), SystemError> {
        self.0.reset().await
    }

    async fn ingest(&self, turns: &[Turn]) -> Result<Ingest, SystemError> {
        self.0.ingest(turns).await
    }

    async fn query(&self, query: &MemoryQuery<'_>) -> Result<MemoryAnswer, SystemError> {
        Ok(MemoryAnswer {
            output: None,
            ..self.0.query(query).await?
        })
    }
}

#[tokio::test]
async fn built_in_memories_pass_and_are_not_blamed_for_their_reader() {
    for settings in ["naive", "window:turns=200", "bm25", "hybrid"] {
        let report = check(built_in(settings)).await;
        let text = report.to_text();
        assert!(report.passed(), "{text}");
        assert_eq!(not_applicable(&report), [], "{text}");
        // The reader takes the first value that it finds.
        assert!(text.contains("what the memory had recalled"), "{text}");
        let report = check(OwnAnswers(built_in(settings))).await;
        let text = report.to_text();
        assert_eq!(failed(&report), [Property::LatestWins], "{text}");
    }
    let report = check(built_in("none")).await;
    assert_eq!(failed(&report), [Property::Remembers]);
}
