//! Whether the models that systems ask for are among those that their endpoints list.

use std::ops::Range;

use context_bench_error::suggest::{near_matches, quoted_list};
use futures_util::future::join_all;

use super::{Notice, Systems};
use crate::chat::{Endpoint, Secret};
use crate::store::{Store, SystemEntry};
use crate::system::OpenAiProxySettings;

/// This many names are shown when none is near.
const SHOWN: usize = 5;

/// A model, and who knows whether it is there.
#[derive(Debug, Clone)]
pub struct Listing {
    endpoint: Endpoint,
    key: Option<Secret>,
    model: String,
}

impl Listing {
    /// What a proxy with these settings asks for; `None` when its address is wrong.
    pub fn of(settings: &OpenAiProxySettings) -> Option<Self> {
        // What the user puts into the body goes last.
        let model = match settings.extra_body.get("model") {
            Some(model) => model.as_str()?,
            None => &settings.model,
        };
        Some(Self {
            endpoint: Endpoint::of(settings.api, &settings.base_url).ok()?,
            key: settings.api_key.clone(),
            model: model.to_owned(),
        })
    }

    fn is_beside(&self, other: &Self) -> bool {
        self.endpoint == other.endpoint && self.key == other.key
    }

    /// The notice for when the model is not among these.
    fn missing_in(&self, known: &[String], systems: &[&str]) -> Option<Notice> {
        let typed = self.model.as_str();
        // Some servers list names with a prefix or a tag that they do not ask for.
        let names = |name: &String| {
            name == typed
                || name.strip_prefix("models/") == Some(typed)
                || name.strip_suffix(":latest") == Some(typed)
        };
        if known.iter().any(names) {
            return None;
        }
        let place = self.endpoint.beside("models");
        let who = quoted_list(systems, "and");
        let asks = if systems.len() == 1 { "asks" } else { "ask" };
        let notice = Notice::new(format!(
            "the model `{typed}` that {who} {asks} for is not among those that {place} lists"
        ));
        let near = near_matches(typed, known.iter().map(String::as_str));
        Some(notice.with_hint(match (near.is_empty(), known.len()) {
            (false, _) => format!("did you mean {}?", quoted_list(&near, "or")),
            (true, n) if n <= SHOWN => format!("it lists {}", quoted_list(known, "and")),
            (true, n) => {
                let first: Vec<String> = known[..SHOWN].iter().map(|m| format!("`{m}`")).collect();
                format!("it lists {} and {} more", first.join(", "), n - SHOWN)
            }
        }))
    }
}

impl Systems {
    /// Notes that the systems with these numbers ask for a model.
    pub(super) fn ask_for(&mut self, listing: Option<Listing>, users: Range<usize>) {
        self.listings
            .extend(listing.map(|listing| (listing, users)));
    }

    /// Asks each endpoint once which models it has, and says which of those that are asked
    /// for it does not list. An endpoint that gives no list has nothing to say, and a
    /// system of which the store has answers is known to work: it is not asked about.
    pub async fn unlisted_models(&self, store: Option<&Store>) -> Vec<Notice> {
        let mut open: Vec<(&Listing, Vec<&str>)> = Vec::new();
        for (listing, users) in &self.listings {
            let users = self.systems.get(users.clone()).unwrap_or_default();
            let new = users.iter().filter(|system| {
                let entry = system
                    .identity()
                    .map(|identity| SystemEntry::new(system.name(), identity));
                let stored = store.zip(entry);
                !stored.is_some_and(|(store, entry)| store.has_responses(&entry).unwrap_or(false))
            });
            let names: Vec<&str> = new.map(|system| system.name()).collect();
            if names.is_empty() {
                continue;
            }
            let same = |known: &&mut (&Listing, Vec<&str>)| {
                known.0.is_beside(listing) && known.0.model == listing.model
            };
            match open.iter_mut().find(same) {
                Some((_, known)) => known.extend(names),
                None => open.push((listing, names)),
            }
        }
        let mut places: Vec<&Listing> = Vec::new();
        for (listing, _) in &open {
            if !places.iter().any(|place| place.is_beside(listing)) {
                places.push(listing);
            }
        }
        let lists = join_all(
            places
                .iter()
                .map(|place| place.endpoint.listed_models(place.key.as_ref())),
        )
        .await;
        let said = open.iter().filter_map(|(listing, systems)| {
            let at = places.iter().position(|place| place.is_beside(listing))?;
            listing.missing_in(lists[at].as_deref()?, systems)
        });
        said.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_may_be_meant() {
        let asked = |model: &str| {
            Listing::of(&OpenAiProxySettings {
                model: model.to_owned(),
                ..OpenAiProxySettings::new("http://h")
            })
            .expect("an address")
        };
        let known: Vec<String> = ["gpt-4o-mini", "gpt-4o", "models/flash", "llama3:latest"]
            .map(str::to_owned)
            .into();
        for there in ["gpt-4o", "flash", "llama3", "llama3:latest"] {
            assert_eq!(asked(there).missing_in(&known, &["s"]), None, "{there}");
        }
        let said = asked("gpt-4o-mimi").missing_in(&known, &["a", "b"]);
        let said = said.expect("a notice");
        assert_eq!(
            said.what,
            "the model `gpt-4o-mimi` that `a` and `b` ask for is not among those that \
             http://h/v1/models lists"
        );
        let hint = said.hint.expect("advice");
        assert!(hint.starts_with("did you mean `gpt-4o-mini`"), "{hint}");
        let said = asked("zzz").missing_in(&known, &["s"]).expect("a notice");
        assert_eq!(
            said.hint.as_deref(),
            Some("it lists `gpt-4o-mini`, `gpt-4o`, `models/flash` and `llama3:latest`")
        );
        let many: Vec<String> = (0..9).map(|n| format!("m{n}")).collect();
        let said = asked("zzz").missing_in(&many, &["s"]).expect("a notice");
        assert_eq!(
            said.hint.as_deref(),
            Some("it lists `m0`, `m1`, `m2`, `m3`, `m4` and 4 more")
        );
    }

    #[test]
    fn the_body_decides_what_is_asked_for() {
        let mut settings = OpenAiProxySettings::new("http://h");
        settings.extra_body.insert("model".into(), "other".into());
        assert_eq!(Listing::of(&settings).expect("a model").model, "other");
        settings.extra_body.insert("model".into(), 3.into());
        assert!(Listing::of(&settings).is_none());
    }
}
