//! The language profiles, embedded compressed and read on first use.
//!
//! `data/ifeval/make_data.py` writes the file: languages with their totals,
//! classes of kanji, and per n-gram the languages and counts, column by column.

use std::collections::HashMap;
use std::sync::LazyLock;

static PROFILES: &[u8] = include_bytes!("../../../../data/ifeval/langdetect.bin.zst");

static MODEL: LazyLock<Model> = LazyLock::new(|| {
    // The file is part of the program and a test reads it, so this cannot fail.
    let bytes = zstd::decode_all(PROFILES).unwrap_or_default();
    let bytes: &'static [u8] = Vec::leak(bytes);
    Model::read(&mut Reader(bytes)).unwrap_or_default()
});

/// How probable each n-gram is in each language.
#[derive(Default)]
pub(super) struct Model {
    languages: Vec<&'static str>,
    kanji: HashMap<char, char>,
    /// From a packed n-gram to its number.
    features: HashMap<u64, u32>,
    /// Where the entries of each n-gram start; one more than there are n-grams.
    starts: Vec<u32>,
    entries: Vec<(u8, f64)>,
}

impl Model {
    pub(super) fn get() -> &'static Self {
        &MODEL
    }

    pub(super) fn languages(&self) -> &[&'static str] {
        &self.languages
    }

    /// The representative of a character's class.
    pub(super) fn kanji(&self, c: char) -> char {
        self.kanji.get(&c).copied().unwrap_or(c)
    }

    /// The number of an n-gram of up to three characters, when it is known.
    pub(super) fn feature(&self, gram: &[char]) -> Option<u32> {
        self.features.get(&packed(gram.iter().copied())).copied()
    }

    /// The languages in which an n-gram occurs, with its probability in each.
    pub(super) fn probabilities(&self, feature: u32) -> impl Iterator<Item = (usize, f64)> {
        let start = |index: usize| self.starts.get(index).map_or(0, |&start| start as usize);
        let feature = feature as usize;
        let entries = self.entries.get(start(feature)..start(feature + 1));
        let entries = entries.unwrap_or_default().iter();
        entries.map(|&(language, probability)| (usize::from(language), probability))
    }

    fn read(reader: &mut Reader) -> Option<Self> {
        let n_languages = reader.byte()?;
        let mut languages = Vec::new();
        let mut totals: Vec<[f64; 3]> = Vec::new();
        for _ in 0..n_languages {
            let length = usize::from(reader.byte()?);
            languages.push(reader.text(length)?);
            let mut total = || reader.number().map(f64::from);
            totals.push([total()?, total()?, total()?]);
        }
        let length = reader.number()? as usize;
        let mut kanji = HashMap::new();
        for class in reader.text(length)?.split('\n') {
            let first = class.chars().next()?;
            kanji.extend(class.chars().map(|c| (c, first)));
        }
        let n_grams = reader.number()? as usize;
        let length = reader.number()? as usize;
        let grams: Vec<&str> = reader.text(length)?.split('\n').collect();
        let sizes = reader.bytes(n_grams)?;
        let n_entries: usize = sizes.iter().map(|&size| usize::from(size)).sum();
        let members = reader.bytes(n_entries)?;
        let mut features = HashMap::with_capacity(n_grams);
        let mut starts = Vec::with_capacity(n_grams + 1);
        let mut entries = Vec::with_capacity(n_entries);
        for (number, (gram, &size)) in grams.into_iter().zip(sizes).enumerate() {
            features.insert(packed(gram.chars()), u32::try_from(number).ok()?);
            starts.push(u32::try_from(entries.len()).ok()?);
            let n = gram.chars().count();
            for _ in 0..size {
                let &language = members.get(entries.len())?;
                let total = totals.get(usize::from(language))?.get(n - 1)?;
                entries.push((language, reader.varint()? as f64 / total));
            }
        }
        starts.push(u32::try_from(entries.len()).ok()?);
        Some(Self {
            languages,
            kanji,
            features,
            starts,
            entries,
        })
    }
}

/// Up to three characters of 21 bits each.
fn packed(gram: impl Iterator<Item = char>) -> u64 {
    gram.fold(0, |key, c| key << 21 | u64::from(u32::from(c)))
}

struct Reader(&'static [u8]);

impl Reader {
    fn bytes(&mut self, n: usize) -> Option<&'static [u8]> {
        let (head, tail) = self.0.split_at_checked(n)?;
        self.0 = tail;
        Some(head)
    }

    fn byte(&mut self) -> Option<u8> {
        self.bytes(1)?.first().copied()
    }

    fn text(&mut self, n: usize) -> Option<&'static str> {
        std::str::from_utf8(self.bytes(n)?).ok()
    }

    fn number(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.bytes(4)?.try_into().ok()?))
    }

    fn varint(&mut self) -> Option<u64> {
        let mut number = 0;
        for shift in (0..63).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return Some(number);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_profiles_are_complete() {
        let model = Model::get();
        assert_eq!(model.languages().len(), 55);
        assert_eq!(model.features.len(), 87_598);
        assert_eq!(model.entries.len(), 184_129);
        let feature = model.feature(&['t', 'h', 'e']).expect("known");
        let english = model.languages().iter().position(|&code| code == "en");
        let the = model
            .probabilities(feature)
            .find(|&(l, _)| Some(l) == english);
        assert!(the.is_some_and(|(_, probability)| probability > 0.01));
        assert_eq!(model.kanji('\u{4e24}'), model.kanji('\u{4e13}'));
    }
}
