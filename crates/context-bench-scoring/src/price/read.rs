//! Files of prices, read with places in errors.

use std::sync::Arc;

use context_bench_error::{Place, suggest};
use context_bench_template::yaml::{self, Entry, Node, Yaml};

use super::book::BookFile;
use super::entry::{PriceEntry, PriceTier, TokenPrices};
use super::error::PriceError;
use super::money::Money;
use super::window::PriceWindow;

/// The format of files that this version reads.
const SCHEMA: i64 = 1;
/// Decimals of a price per million tokens: the least amount is then a pico-unit per token.
const DECIMALS: usize = 6;

const PRICES: [&str; 6] = [
    "input",
    "output",
    "cache_read",
    "cache_write_5m",
    "cache_write_1h",
    "per_request",
];

impl BookFile {
    /// Reads the text of a file; `name` is what errors call it.
    ///
    /// # Errors
    ///
    /// When it is no YAML, or a key or value in it is wrong.
    pub fn parse(text: &str, name: &str) -> Result<Self, PriceError> {
        let document = yaml::parse(text.as_bytes(), name).map_err(|error| {
            let made = PriceError::new(error.message(), error.place().clone());
            match context_bench_error::Hint::hint(&error) {
                Some(hint) => made.with_hint(hint),
                None => made,
            }
        })?;
        let reader = Reader { file: name };
        if let Some(twice) = document.duplicates.first() {
            let place = Place::new(name, twice.again);
            let what = format!("`{}` is given twice", twice.key);
            return Err(PriceError::new(what, place).with_hint("leave one of them out"));
        }
        reader.file(&document.root)
    }
}

struct Reader<'a> {
    file: &'a str,
}

impl Reader<'_> {
    fn wrong(&self, node: &Node, what: impl Into<String>) -> PriceError {
        // An empty file has no place in it.
        let position = Some(node.position).filter(|position| position.line > 0);
        PriceError::new(what, Place::new(self.file, position))
    }

    fn expected(&self, node: &Node, key: &str, what: &str) -> PriceError {
        let what = format!("`{key}` is {}, and {what} is needed", node.value.kind());
        self.wrong(node, what)
    }

    fn file(&self, root: &Node) -> Result<BookFile, PriceError> {
        let keys = self.keys(root, "a file of prices", &["schema", "book", "models"])?;
        let usual = "begin with `schema: 1`, then `models:`; docs/reference/prices.md describes \
                     every key";
        match keys.first(|key| key == "schema").map(|node| &node.value) {
            Some(Yaml::Int(SCHEMA)) => {}
            Some(_) => {
                let node = keys.first(|key| key == "schema").unwrap_or(root);
                let what = "this format of prices is not known".to_owned();
                return Err(self
                    .wrong(node, what)
                    .with_hint("this version reads `schema: 1`"));
            }
            None => return Err(self.wrong(root, "there is no `schema`").with_hint(usual)),
        }
        let mut file = BookFile {
            name: self.file.to_owned(),
            currency: "USD".to_owned(),
            ..BookFile::default()
        };
        let mut source = None;
        if let Some(node) = keys.first(|key| key == "book") {
            let book = self.keys(node, "`book`", &["name", "as_of", "currency", "source"])?;
            for (key, node) in &book.0 {
                match *key {
                    "name" => file.name = self.text(node, key)?,
                    "as_of" => file.as_of = Some(self.date(node, key)?),
                    "currency" => file.currency = self.text(node, key)?.to_ascii_uppercase(),
                    _ => source = Some(self.text(node, key)?),
                }
            }
        }
        let Some(models) = keys.first(|key| key == "models") else {
            return Err(self.wrong(root, "there are no `models`").with_hint(usual));
        };
        for node in self.list(models, "models")? {
            let mut entry = self.entry(node)?;
            entry.source = entry.source.or_else(|| source.clone());
            file.entries.push(entry);
        }
        Ok(file)
    }

    fn entry(&self, node: &Node) -> Result<PriceEntry, PriceError> {
        const OWN: [&str; 10] = [
            "id",
            "provider",
            "aliases",
            "dated",
            "valid_from",
            "source",
            "free",
            "cache",
            "tiers",
            "windows",
        ];
        let known: Vec<&str> = OWN.into_iter().chain(PRICES).collect();
        let keys = self.keys(node, "a model", &known)?;
        let mut entry = PriceEntry::default();
        for (key, node) in &keys.0 {
            match *key {
                "id" => entry.id = self.text(node, key)?,
                "provider" => entry.provider = self.text(node, key)?,
                "aliases" => {
                    for alias in self.list(node, key)? {
                        entry.aliases.push(self.text(alias, key)?);
                    }
                }
                "dated" => entry.is_dated = self.truth(node, key)?,
                "valid_from" => entry.valid_from = Some(self.date(node, key)?),
                "source" => entry.source = Some(self.text(node, key)?),
                "free" => entry.is_free = self.truth(node, key)?,
                "cache" => match node.as_str() {
                    Some("as_input") => entry.caches_as_input = true,
                    _ => {
                        let error = self.wrong(node, "`cache` may only be `as_input`");
                        return Err(error.with_hint(
                            "it says that cached tokens cost what other input costs; their own \
                             prices are `cache_read`, `cache_write_5m` and `cache_write_1h`",
                        ));
                    }
                },
                "tiers" => {
                    for tier in self.list(node, key)? {
                        entry.tiers.push(self.tier(tier)?);
                    }
                }
                "windows" => {
                    for window in self.list(node, key)? {
                        entry.windows.push(self.window(window)?);
                    }
                }
                _ => self.price(&mut entry.prices, key, node)?,
            }
        }
        if entry.id.is_empty() {
            let error = self.wrong(node, "a model without an `id`");
            return Err(error.with_hint("`id` is the name that its answers have"));
        }
        let has_prices = !(entry.prices.is_empty() && entry.tiers.is_empty());
        if entry.is_free && has_prices {
            let what = format!("`{}` is free and has prices", entry.id);
            return Err(self.wrong(node, what).with_hint("leave one of them out"));
        }
        if !entry.is_free && entry.prices.input.is_none() {
            let what = format!("`{}` has no price of `input`", entry.id);
            let hint = "prices are per million tokens: `input: \"3.00\"`; what costs nothing says \
                        `free: true`";
            return Err(self.wrong(node, what).with_hint(hint));
        }
        Ok(entry)
    }

    fn tier(&self, node: &Node) -> Result<PriceTier, PriceError> {
        let known: Vec<&str> = ["above", "inclusive", "service"]
            .into_iter()
            .chain(PRICES)
            .collect();
        let keys = self.keys(node, "a tier", &known)?;
        let mut tier = PriceTier::default();
        for (key, node) in &keys.0 {
            match *key {
                "above" => {
                    tier.above = match node.value {
                        Yaml::Int(number) if number >= 0 => number.unsigned_abs(),
                        _ => return Err(self.expected(node, key, "a number of tokens")),
                    }
                }
                "inclusive" => tier.is_inclusive = self.truth(node, key)?,
                "service" => tier.service = Some(self.text(node, key)?),
                _ => self.price(&mut tier.prices, key, node)?,
            }
        }
        if tier.above == 0 && tier.service.is_none() {
            let error = self.wrong(node, "a tier says neither `above` nor `service`");
            return Err(
                error.with_hint("such as `above: 272000` (input tokens) or `service: flex`")
            );
        }
        self.has_prices(node, "a tier", &tier.prices)?;
        Ok(tier)
    }

    fn window(&self, node: &Node) -> Result<PriceWindow, PriceError> {
        let known: Vec<&str> = ["utc", "weekdays"].into_iter().chain(PRICES).collect();
        let keys = self.keys(node, "a window", &known)?;
        let mut window = PriceWindow::default();
        for (key, node) in &keys.0 {
            match *key {
                "utc" => {
                    for times in self.list(node, key)? {
                        let read = times.as_str().and_then(PriceWindow::parse_minutes);
                        let wrong = || {
                            self.expected(times, key, "times such as `\"04:00-06:00\"`")
                                .with_hint("a window over midnight is two of them; the end of a day is `24:00`")
                        };
                        window.minutes.push(read.ok_or_else(wrong)?);
                    }
                }
                "weekdays" => {
                    for day in self.list(node, key)? {
                        window.weekdays.push(match day.value {
                            Yaml::Int(day @ 1..=7) => u8::try_from(day).unwrap_or(1),
                            _ => {
                                let what = "a day from 1 (Monday) to 7";
                                return Err(self.expected(day, key, what));
                            }
                        });
                    }
                }
                _ => self.price(&mut window.prices, key, node)?,
            }
        }
        if window.minutes.is_empty() && window.weekdays.is_empty() {
            let error = self.wrong(node, "a window says neither `utc` nor `weekdays`");
            return Err(error.with_hint("such as `utc: [\"04:00-06:00\"]`"));
        }
        self.has_prices(node, "a window", &window.prices)?;
        Ok(window)
    }

    fn has_prices(&self, node: &Node, what: &str, prices: &TokenPrices) -> Result<(), PriceError> {
        match prices.is_empty() {
            false => Ok(()),
            true => {
                let error = self.wrong(node, format!("{what} has no prices"));
                Err(error.with_hint("members that it does not give stay as they are"))
            }
        }
    }

    fn price(&self, prices: &mut TokenPrices, key: &str, node: &Node) -> Result<(), PriceError> {
        // The shortest text of a number is the one that was written.
        let text = match &node.value {
            Yaml::Text(text) if node.tag.is_none() => text.to_string(),
            Yaml::Int(number) => number.to_string(),
            Yaml::Float(number) => number.to_string(),
            _ => return Err(self.expected(node, key, "a price")),
        };
        let Some(price) = Money::parse(text.trim(), DECIMALS) else {
            let what = format!("`{key}: {}` is no price", text.trim());
            let hint = "a price is a decimal number such as \"0.075\" with at most six decimals, per \
                        million tokens (`per_request`: for each request)";
            return Err(self.wrong(node, what).with_hint(hint));
        };
        // Per million tokens, but for requests.
        let per_token = Money::from_pico(price.pico() / 1_000_000);
        let member = match key {
            "input" => &mut prices.input,
            "output" => &mut prices.output,
            "cache_read" => &mut prices.cache_read,
            "cache_write_5m" => &mut prices.cache_write_5m,
            "cache_write_1h" => &mut prices.cache_write_1h,
            _ => {
                prices.per_request = Some(price);
                return Ok(());
            }
        };
        *member = Some(per_token);
        Ok(())
    }

    fn keys<'n>(
        &self,
        node: &'n Node,
        what: &str,
        known: &[&'static str],
    ) -> Result<Keys<'n>, PriceError> {
        let Some(map) = node.as_map() else {
            let what = format!("{what} is {}, and a mapping is needed", node.value.kind());
            return Err(self
                .wrong(node, what)
                .with_hint("docs/reference/prices.md has an example"));
        };
        let mut keys = Vec::new();
        for Entry { key, value } in &map.entries {
            let name = key.as_str().unwrap_or_default();
            if !known.contains(&name) {
                let shown = match key.as_str() {
                    Some(name) => format!("`{name}`"),
                    None => key.value.kind().to_owned(),
                };
                let near = suggest::did_you_mean(name, known.iter().copied());
                let all = || format!("it may have {}", suggest::quoted_list(known, "and"));
                let error = self.wrong(key, format!("{what} has no key {shown}"));
                return Err(error.with_hint(near.unwrap_or_else(all)));
            }
            keys.push((name, &**value));
        }
        Ok(Keys(keys))
    }

    fn text(&self, node: &Node, key: &str) -> Result<String, PriceError> {
        let text = match &node.value {
            Yaml::Text(text) if node.tag.is_none() => text.trim().to_owned(),
            Yaml::Int(number) => number.to_string(),
            _ => String::new(),
        };
        match text.is_empty() {
            false => Ok(text),
            true => Err(self.expected(node, key, "text")),
        }
    }

    fn truth(&self, node: &Node, key: &str) -> Result<bool, PriceError> {
        match node.value {
            Yaml::Bool(value) => Ok(value),
            _ => Err(self.expected(node, key, "`true` or `false`")),
        }
    }

    /// A day, as `2026-11-16`.
    fn date(&self, node: &Node, key: &str) -> Result<String, PriceError> {
        let text = match &node.value {
            Yaml::Timestamp(text) | Yaml::Text(text) => text.trim(),
            _ => "",
        };
        let is_date = text.len() == 10
            && text.bytes().enumerate().all(|(at, byte)| match at {
                4 | 7 => byte == b'-',
                _ => byte.is_ascii_digit(),
            });
        match is_date {
            true => Ok(text.to_owned()),
            false => Err(self.expected(node, key, "a day such as `2026-11-16`")),
        }
    }

    fn list<'n>(&self, node: &'n Node, key: &str) -> Result<&'n [Arc<Node>], PriceError> {
        node.as_list()
            .ok_or_else(|| self.expected(node, key, "a list"))
    }
}

/// The keys of a mapping with their values.
struct Keys<'n>(Vec<(&'n str, &'n Node)>);

impl<'n> Keys<'n> {
    fn first(&self, is_key: impl Fn(&str) -> bool) -> Option<&'n Node> {
        let found = self.0.iter().find(|(key, _)| is_key(key));
        found.map(|(_, node)| *node)
    }
}

#[cfg(test)]
mod tests;
