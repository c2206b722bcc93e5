//! [`PriceBook`]: files of prices on top of each other.

use context_bench_error::Place;

use super::cost::Cost;
use super::entry::PriceEntry;
use super::error::PriceError;
use super::matching;
use crate::model::ModelUse;

/// The prices of one file.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct BookFile {
    /// What it calls itself.
    pub name: String,
    /// The day that its prices were looked up, as `2026-11-16`.
    pub as_of: Option<String>,
    /// The currency of all of them.
    pub currency: String,
    /// The models.
    pub entries: Vec<PriceEntry>,
}

/// Files of prices. Of a model that several of them have, the last one decides.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PriceBook {
    files: Vec<BookFile>,
}

impl PriceBook {
    /// Files on top of each other. Prices of different currencies cannot be added up.
    ///
    /// # Errors
    ///
    /// When two files have different currencies.
    pub fn new(files: Vec<BookFile>) -> Result<Self, PriceError> {
        if let [first, rest @ ..] = &files[..]
            && let Some(other) = rest.iter().find(|one| one.currency != first.currency)
        {
            let what = format!(
                "prices in {} and in {} cannot be added up",
                first.currency, other.currency
            );
            let error = PriceError::new(what, Place::file(other.name.as_str()));
            return Err(error.with_hint("use files of one currency at a time"));
        }
        Ok(Self { files })
    }

    /// The files, the first of which counts least.
    pub fn files(&self) -> &[BookFile] {
        &self.files
    }

    /// The currency of all prices.
    pub fn currency(&self) -> Option<&str> {
        self.files.first().map(|file| file.currency.as_str())
    }

    /// The prices of a model, and the file that has them; at a time if that is known, in seconds
    /// since 1970, else the newest.
    pub fn find(&self, model: &str, at: Option<u64>) -> Option<(&BookFile, &PriceEntry)> {
        self.files.iter().rev().find_map(|file| {
            let found = matching::entries(model, &file.entries);
            let today = at.map(day).or_else(|| file.as_of.clone());
            let holds = |entry: &&&PriceEntry| match (&entry.valid_from, &today) {
                (Some(from), Some(today)) => from <= today,
                _ => true,
            };
            // Of the same day, the last one.
            let entry = found.iter().filter(holds).max_by_key(|one| &one.valid_from);
            entry.map(|entry| (file, *entry))
        })
    }

    /// What calls cost.
    pub fn cost(&self, used: &ModelUse) -> Cost {
        let model = used.model.as_deref();
        match model.and_then(|model| self.find(model, used.at)) {
            Some((_, entry)) => entry.cost(used),
            None => Cost::UNKNOWN,
        }
    }
}

/// The day of a moment in seconds since 1970, as `2026-11-16`.
fn day(seconds: u64) -> String {
    // Days are counted from 0000-03-01, so that leap days are the last of a year; eras have 400 years.
    let days = seconds / 86_400 + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let (month, next) = if month < 10 {
        (month + 3, 0)
    } else {
        (month - 9, 1)
    };
    format!("{:04}-{month:02}-{day:02}", era * 400 + year_of_era + next)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (951_782_399, "2000-02-28"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_794_787_200, "2026-11-16"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds), expected, "{seconds}");
        }
    }

    fn file(name: &str, text: &str) -> BookFile {
        BookFile::parse(text, name).expect("valid")
    }

    const OLD_AND_NEW: &str = "schema: 1\nbook: {as_of: 2026-11-16}\nmodels:\n\
        - {id: m, input: 1, valid_from: 2026-01-01}\n\
        - {id: m, input: 2, valid_from: 2026-10-01}\n\
        - {id: m, input: 9, valid_from: 2027-01-01}\n";

    #[test]
    fn the_last_file_and_the_right_day_decide() {
        let book = PriceBook::new(vec![file("a", OLD_AND_NEW)]).expect("one currency");
        let price = |book: &PriceBook, at| {
            let (_, entry) = book.find("m", at)?;
            entry.prices.input.map(|price| price.to_f64() * 1e6)
        };
        // Not what will hold one day.
        assert_eq!(price(&book, None), Some(2.0));
        assert_eq!(price(&book, Some(1_770_000_000)), Some(1.0));
        assert_eq!(price(&book, Some(1_893_456_000)), Some(9.0));
        assert_eq!(price(&book, Some(1_500_000_000)), None);
        let own = file("own", "schema: 1\nmodels: [{id: m, input: 7}]\n");
        let both = PriceBook::new(vec![file("a", OLD_AND_NEW), own.clone()]).expect("valid");
        assert_eq!(price(&both, None), Some(7.0));
        let euro = file("e", "schema: 1\nbook: {currency: EUR}\nmodels: []\n");
        let error = PriceBook::new(vec![own, euro]).expect_err("two currencies");
        assert_eq!(
            error.to_string(),
            "prices in USD and in EUR cannot be added up\n  at e"
        );
    }
}
