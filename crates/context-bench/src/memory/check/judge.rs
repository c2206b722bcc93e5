//! What answers say about the properties of a memory.
//!
//! An answer counts against the one property that it breaks: one with a value of another
//! conversation is a leak and not also a lapse, so that a report names what is wrong. Where
//! another system answers from what the memory recalled, the memory is judged by that: it
//! cannot help what the system makes of it. What it recalls may leak as an answer may.

use super::observation::{Asked, Observation, Observations, Purpose};
use super::report::{Offence, PropertyReport, Verdict};
use super::story::{Fact, Stories};
use super::{Property, Stage};

/// How many offences of a property are kept; all are counted.
const KEPT: usize = 5;

/// The verdict on every property.
pub(super) fn judge(stories: &Stories, seen: &Observations, share: f64) -> Vec<PropertyReport> {
    let mut court = Court {
        stories,
        tallies: Property::ALL.map(|property| (property, Tally::default())),
        recall: Stage::ALL.map(|stage| (stage, Tally::default())),
        says_anything: false,
        excused: 0,
    };
    for answer in &seen.answers {
        court.hear(answer);
    }
    court.works(seen);
    court.remembers(share);
    if let Some(story) = seen.refused {
        let mut offence = court.offence(Stage::SavedAndLoaded, Some(story));
        offence.problem = "`load` does not take what `save` gave".into();
        court.charge(Property::StateSurvives, Some(offence));
    }
    let (says_anything, excused) = (court.says_anything, court.excused);
    let reports = court.tallies.into_iter().map(|(property, tally)| {
        let verdict = match property {
            Property::Remembers if tally.judged > 0 => match tally.is_failed {
                true => Verdict::Failed,
                false => Verdict::Held,
            },
            _ if tally.failed > 0 => Verdict::Failed,
            _ => match excuse(property, &tally, seen, says_anything) {
                Some(why) => Verdict::NotApplicable { why },
                None => Verdict::Held,
            },
        };
        PropertyReport {
            property,
            verdict,
            judged: tally.judged,
            failed: tally.failed,
            offences: tally.offences,
            remark: match property {
                Property::Remembers if excused > 0 => Some(format!(
                    "{excused} answers do not give what the memory had recalled for them; the \
                     system that answers from it is not the memory"
                )),
                _ => None,
            },
        }
    });
    reports.collect()
}

/// Why nothing can be said about a property.
fn excuse(
    property: Property,
    tally: &Tally,
    seen: &Observations,
    says_anything: bool,
) -> Option<String> {
    let skipped = |stage: Stage| {
        let found = seen.skipped.iter().find(|(known, _)| *known == stage);
        found.map(|(_, why)| why.clone())
    };
    let silent = || (!says_anything).then(|| "it never says anything that it was told".to_owned());
    let unseen = |what: &str| (tally.judged == 0).then(|| what.to_owned());
    match property {
        Property::Works => None,
        Property::Remembers => unseen("no question was answered"),
        Property::ResetForgets => {
            silent().or_else(|| unseen("no question was answered after a reset"))
        }
        Property::LatestWins => {
            silent().or_else(|| unseen("no answer names a value of a fact that was corrected"))
        }
        Property::NoLeak => match tally.judged {
            0 => skipped(Stage::Interleaved)
                .or_else(silent)
                .or_else(|| unseen("no question was answered beside another instance")),
            _ => silent(),
        },
        Property::Repeatable => silent().or_else(|| unseen("no question was answered twice")),
        Property::BudgetRespected => unseen("it does not tell how many tokens its answers rest on"),
        Property::StateSurvives => skipped(Stage::SavedAndLoaded)
            .or_else(silent)
            .or_else(|| unseen("no question was answered after its state was loaded")),
    }
}

#[derive(Default)]
struct Tally {
    judged: usize,
    failed: usize,
    is_failed: bool,
    offences: Vec<Offence>,
}

impl Tally {
    fn count(&mut self, offence: Option<Offence>) {
        self.judged += 1;
        let Some(offence) = offence else { return };
        self.failed += 1;
        if self.offences.len() < KEPT {
            self.offences.push(offence);
        }
    }
}

struct Court<'a> {
    stories: &'a Stories,
    tallies: [(Property, Tally); 8],
    /// What is remembered, stage by stage.
    recall: [(Stage, Tally); 4],
    says_anything: bool,
    /// Answers without the value that the memory had recalled for them.
    excused: usize,
}

/// What an answer gives for a fact.
#[derive(Debug, PartialEq, Eq)]
enum Gist {
    Right,
    Outdated,
    /// Values of other stories, with these.
    Foreign(Vec<(String, usize)>),
    Nothing,
}

impl<'a> Court<'a> {
    fn hear(&mut self, seen: &Observation) {
        let mut named = self.stories.named_in(&seen.answer);
        let recalled = seen.context.as_deref().unwrap_or_default();
        for found in self.stories.named_in(recalled) {
            if !named.contains(&found) {
                named.push(found);
            }
        }
        self.says_anything |= !named.is_empty();
        let foreign: Vec<(String, usize)> = named
            .into_iter()
            .filter(|(_, owner)| *owner != seen.story)
            .collect();
        if let Purpose::AfterLoad { before } = &seen.purpose {
            self.hear_loaded(seen, before, &foreign);
            return;
        }
        match (&seen.purpose, self.fact(seen)) {
            (Purpose::Plain, Some(fact)) => self.hear_plain(seen, fact),
            (Purpose::Repeat { before }, Some(fact)) => {
                let same = self.gist(seen, fact, before) == self.gist(seen, fact, &seen.answer);
                let offence = (!same).then(|| Offence {
                    problem: "asked before, it said something else".into(),
                    expected: Some(before.clone()),
                    ..self.about(seen)
                });
                self.charge(Property::Repeatable, offence);
            }
            (Purpose::Budget { tokens }, _) => {
                if let Some(used) = seen.context_tokens {
                    let offence = (used > *tokens).then(|| Offence {
                        problem: format!("it rests on {used} tokens and may rest on {tokens}"),
                        ..self.about(seen)
                    });
                    self.charge(Property::BudgetRespected, offence);
                }
            }
            _ => {}
        }
        self.hear_foreign(seen, &foreign);
    }

    fn hear_plain(&mut self, seen: &Observation, fact: &Fact) {
        let mut gist = self.gist(seen, fact, &seen.answer);
        let has_recalled = seen.is_answered_by_system
            && seen
                .context
                .as_deref()
                .is_some_and(|context| self.gist(seen, fact, context) == Gist::Right);
        if has_recalled && gist != Gist::Right {
            self.excused += 1;
            gist = Gist::Right;
        }
        let lapse = (gist == Gist::Nothing).then(|| Offence {
            problem: "it does not say what it was told".into(),
            expected: Some(fact.value.clone()),
            ..self.about(seen)
        });
        for (stage, tally) in &mut self.recall {
            if *stage == seen.stage {
                tally.count(lapse.clone());
            }
        }
        let Some(earlier) = &fact.earlier else {
            return;
        };
        let offence = match gist {
            Gist::Right => None,
            Gist::Outdated => Some(Offence {
                problem: format!("`{earlier}` was corrected later in the same conversation"),
                expected: Some(fact.value.clone()),
                ..self.about(seen)
            }),
            Gist::Foreign(_) | Gist::Nothing => return,
        };
        self.charge(Property::LatestWins, offence);
    }

    fn hear_foreign(&mut self, seen: &Observation, foreign: &[(String, usize)]) {
        let forgotten = |(_, owner): &&(String, usize)| seen.earlier_stories.contains(owner);
        let kept = foreign.iter().find(forgotten);
        let leaked = foreign.iter().find(|found| !forgotten(found));
        if !seen.earlier_stories.is_empty() {
            let offence =
                kept.map(|found| self.about_foreign(seen, found, ", which it was told to forget"));
            self.charge(Property::ResetForgets, offence);
        }
        let beside = matches!(seen.stage, Stage::Interleaved | Stage::Parallel);
        if beside || leaked.is_some() {
            let offence = leaked.map(|found| {
                self.about_foreign(seen, found, ", which this instance was never told")
            });
            self.charge(Property::NoLeak, offence);
        }
    }

    fn hear_loaded(&mut self, seen: &Observation, before: &str, foreign: &[(String, usize)]) {
        let Some(fact) = self.fact(seen) else { return };
        let knew = self.gist(seen, fact, before) == Gist::Right;
        let offence = if let Some(found) = foreign.first() {
            Some(self.about_foreign(seen, found, ", not of the one that was loaded"))
        } else if knew && self.gist(seen, fact, &seen.answer) != Gist::Right {
            Some(Offence {
                problem: "before it was saved, it said what it was told".into(),
                expected: Some(fact.value.clone()),
                ..self.about(seen)
            })
        } else {
            None
        };
        self.charge(Property::StateSurvives, offence);
    }

    fn works(&mut self, seen: &Observations) {
        for trouble in &seen.troubles {
            let offence = Offence {
                problem: format!("`{}` failed: {}", trouble.call, trouble.message),
                question: trouble.question.clone(),
                ..self.offence(trouble.stage, trouble.story)
            };
            self.charge(Property::Works, Some(offence));
        }
        if let Some(tally) = self.tally(Property::Works) {
            tally.judged += seen.calls;
        }
    }

    /// Fails where a stage remembers too little: what is known when nobody disturbs must be
    /// known when others are there.
    fn remembers(&mut self, share: f64) {
        let mut whole = Tally::default();
        for (_, stage) in &mut self.recall {
            let known = (stage.judged - stage.failed) as f64;
            let is_failed = known < share * stage.judged as f64;
            whole.is_failed |= is_failed;
            whole.judged += stage.judged;
            whole.failed += stage.failed;
            let room = KEPT.saturating_sub(whole.offences.len());
            whole.offences.extend(stage.offences.drain(..).take(room));
        }
        if let Some(tally) = self.tally(Property::Remembers) {
            *tally = whole;
        }
    }

    /// What an answer gives for a fact of the story that the instance holds.
    fn gist(&self, seen: &Observation, fact: &Fact, answer: &str) -> Gist {
        let named = self.stories.named_in(answer);
        let names = |value: &str| {
            let value = value.to_lowercase();
            named.iter().any(|(known, _)| *known == value)
        };
        if names(&fact.value) {
            return Gist::Right;
        }
        if fact.earlier.as_deref().is_some_and(names) {
            return Gist::Outdated;
        }
        let foreign = named.into_iter().filter(|(_, owner)| *owner != seen.story);
        let foreign: Vec<(String, usize)> = foreign.collect();
        match foreign.is_empty() {
            true => Gist::Nothing,
            false => Gist::Foreign(foreign),
        }
    }

    /// The fact that was asked for, if the story tells it.
    fn fact(&self, seen: &Observation) -> Option<&'a Fact> {
        match seen.asked {
            Asked::Fact(at) => self.stories.get(seen.story).facts.get(at),
            Asked::FactOf(_) => None,
        }
    }

    fn charge(&mut self, property: Property, offence: Option<Offence>) {
        if let Some(tally) = self.tally(property) {
            tally.count(offence);
        }
    }

    fn tally(&mut self, property: Property) -> Option<&mut Tally> {
        let mut tallies = self.tallies.iter_mut();
        let found = tallies.find(|(known, _)| *known == property);
        found.map(|(_, tally)| tally)
    }

    /// An answer, without what is wrong with it.
    fn about(&self, seen: &Observation) -> Offence {
        let fact = match seen.asked {
            Asked::Fact(_) => self.fact(seen),
            Asked::FactOf(other) => self.stories.get(other).facts.last(),
        };
        Offence {
            question: fact.map(|fact| fact.question.clone()),
            answer: Some(seen.answer.clone()),
            ..self.offence(seen.stage, Some(seen.story))
        }
    }

    fn about_foreign(&self, seen: &Observation, found: &(String, usize), which: &str) -> Offence {
        let (value, owner) = found;
        let owner = self.stories.get(*owner);
        let stage = match owner.stage == seen.stage {
            true => String::new(),
            false => format!(" of `{}`", owner.stage),
        };
        Offence {
            problem: format!(
                "`{value}` is of conversation {}{stage}{which}",
                owner.number
            ),
            expected: self.fact(seen).map(|fact| fact.value.clone()),
            value: Some(value.clone()),
            value_of: Some(owner.number),
            ..self.about(seen)
        }
    }

    fn offence(&self, stage: Stage, story: Option<usize>) -> Offence {
        Offence {
            stage,
            conversation: story.map(|at| self.stories.get(at).number),
            question: None,
            answer: None,
            expected: None,
            value: None,
            value_of: None,
            problem: String::new(),
        }
    }
}
