//! Which entry a model's name means. Names are never guessed: `gpt-4o-2024-05-13` has other prices
//! than `gpt-4o`.

use super::entry::PriceEntry;

/// Prefixes by which cloud providers name a region.
const REGIONS: [&str; 2] = ["us.", "eu."];

/// The entries that a name means, by the first rule that finds some: the name itself, an alias, the
/// name without the prefix of a provider or region, the name without a date where an entry allows it.
pub(super) fn entries<'a>(name: &str, all: &'a [PriceEntry]) -> Vec<&'a PriceEntry> {
    let name = name.trim().to_ascii_lowercase();
    let forms = forms(&name, all);
    for (provider, form) in &forms {
        let found = named(form, *provider, all);
        if !found.is_empty() {
            return found;
        }
    }
    for (provider, form) in &forms {
        let Some(base) = without_date(form) else {
            continue;
        };
        let mut found = named(base, *provider, all);
        found.retain(|entry| entry.is_dated);
        if !found.is_empty() {
            return found;
        }
    }
    Vec::new()
}

/// The name as it is, then without the prefix of its provider, of a region, of both; with the
/// provider that the prefix names.
fn forms<'n>(name: &'n str, all: &[PriceEntry]) -> Vec<(Option<&'n str>, &'n str)> {
    let mut forms = vec![(None, name)];
    if let Some((provider, rest)) = name.split_once('/') {
        let mut all = all.iter();
        if all.any(|entry| entry.provider.eq_ignore_ascii_case(provider)) {
            forms.push((Some(provider), rest));
        }
    }
    let regional: Vec<_> = forms
        .iter()
        .filter_map(|(provider, form)| {
            let rest = REGIONS
                .iter()
                .find_map(|region| form.strip_prefix(region))?;
            Some((*provider, rest))
        })
        .collect();
    forms.extend(regional);
    forms
}

fn named<'a>(name: &str, provider: Option<&str>, all: &'a [PriceEntry]) -> Vec<&'a PriceEntry> {
    let is_of = |entry: &&PriceEntry| {
        provider.is_none_or(|provider| entry.provider.eq_ignore_ascii_case(provider))
    };
    let of = all.iter().filter(is_of);
    let own: Vec<_> = of
        .clone()
        .filter(|entry| entry.id.eq_ignore_ascii_case(name))
        .collect();
    if !own.is_empty() {
        return own;
    }
    let is_alias = |entry: &&PriceEntry| {
        let mut aliases = entry.aliases.iter();
        aliases.any(|alias| alias.eq_ignore_ascii_case(name))
    };
    of.filter(is_alias).collect()
}

/// The name without one date at its end: `-20250929`, `-2025-09-29`, `-0929`, or what follows `@`.
fn without_date(name: &str) -> Option<&str> {
    if let Some((base, version)) = name.split_once('@') {
        return (!version.is_empty()).then_some(base);
    }
    let digits = |text: &str, n: usize| text.len() == n && text.bytes().all(|b| b.is_ascii_digit());
    // The longest first: the end of `-2025-09-29` is no date of its own.
    if let Some(start) = name.len().checked_sub(11)
        && let Some(date) = name.get(start..)
    {
        let parts: Vec<&str> = date.split('-').collect();
        if let ["", year, month, day] = parts[..]
            && digits(year, 4)
            && digits(month, 2)
            && digits(day, 2)
        {
            return name.get(..start);
        }
    }
    let (base, last) = name.rsplit_once('-')?;
    (digits(last, 8) || digits(last, 4)).then_some(base)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(provider: &str, id: &str, aliases: &[&str], is_dated: bool) -> PriceEntry {
        PriceEntry {
            provider: provider.into(),
            id: id.into(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            is_dated,
            ..PriceEntry::default()
        }
    }

    #[test]
    fn names_mean_what_the_book_says_and_nothing_else() {
        let all = [
            entry("openai", "gpt-4o", &[], false),
            entry("openai", "gpt-4o-2024-05-13", &[], false),
            entry("openai", "gpt-4o-mini", &["mini"], true),
            entry(
                "anthropic",
                "claude-sonnet-4-5",
                &["claude-sonnet-4-5-20250929"],
                true,
            ),
            entry("mistral", "mistral-small-latest", &[], false),
            entry("vendor", "gpt-x", &["gpt-4o"], false),
        ];
        for (name, expected) in [
            ("gpt-4o", Some("gpt-4o")),
            ("GPT-4o ", Some("gpt-4o")),
            ("gpt-4o-2024-05-13", Some("gpt-4o-2024-05-13")),
            ("gpt-4o-2024-08-06", None),
            ("mini", Some("gpt-4o-mini")),
            ("gpt-4o-mini-2024-07-18", Some("gpt-4o-mini")),
            ("gpt-4o-mini-20240718", Some("gpt-4o-mini")),
            ("gpt-4o-mini-0718", Some("gpt-4o-mini")),
            ("gpt-4o-mini@20240718", Some("gpt-4o-mini")),
            ("gpt-4o-mini@", None),
            ("gpt-4o-mini-0718-0718", None),
            ("gpt-4o-mini-latest", None),
            ("gpt-4o-mini-high", None),
            ("gpt-4", None),
            ("openai/gpt-4o", Some("gpt-4o")),
            ("anthropic/gpt-4o", None),
            ("router/openai/gpt-4o", None),
            ("vendor/gpt-4o", Some("gpt-x")),
            ("us.claude-sonnet-4-5", Some("claude-sonnet-4-5")),
            ("eu.claude-sonnet-4-5-20250929", Some("claude-sonnet-4-5")),
            (
                "anthropic/us.claude-sonnet-4-5@1",
                Some("claude-sonnet-4-5"),
            ),
            ("ap.claude-sonnet-4-5", None),
            ("mistral-small-latest", Some("mistral-small-latest")),
            ("mistral-small", None),
            ("", None),
            ("-2024-05-13", None),
            ("é-2024-05-13", None),
        ] {
            let found = entries(name, &all);
            let id = found.first().map(|entry| &*entry.id);
            assert_eq!(id, expected, "{name:?}");
        }
    }
}
