//! `PageWriter`: writes the file row by row.
//!
//! It holds one block of numbers and two of texts at a time, and of examples only their names;
//! what is left out of a large run is counted and said in the page.

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Map, Value, json};

use crate::block::{self, Texts};
use crate::data::PageData;
use crate::document;
use crate::row::{Columns, PageRow, REALS, WHOLES};
use crate::texts::RowTexts;

/// How large a page may become.
#[derive(Debug, Clone, Copy)]
pub struct PageLimits {
    /// Most rows. Of a larger run the first examples are kept, with the rows of all systems.
    pub rows: usize,
    /// Most bytes of all texts, before they are compressed. They are shared out evenly among
    /// the systems.
    pub texts: usize,
    /// Most bytes of a single text. Of a longer one the beginning is kept.
    pub text: usize,
}

impl Default for PageLimits {
    fn default() -> Self {
        Self {
            rows: 200_000,
            texts: 100_000_000,
            text: 200_000,
        }
    }
}

/// What was written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct WrittenPage {
    /// Rows in the file.
    pub rows: usize,
    /// Rows that were left out.
    pub rows_left_out: usize,
    /// Rows in the file without their texts.
    pub rows_without_texts: usize,
    /// Texts of which only the beginning is there.
    pub texts_cut: usize,
}

/// Rows of one block of numbers.
const ROWS_PER_BLOCK: usize = 8_192;
/// Bytes after which a block of texts ends. A few of them are read for one screen of rows.
const TEXT_BLOCK: usize = 128 * 1024;

/// Writes a page.
pub struct PageWriter<W: Write> {
    out: W,
    limits: PageLimits,
    max_examples: usize,
    columns: Columns,
    column_blocks: usize,
    examples: Texts,
    example_blocks: Vec<usize>,
    texts: Texts,
    text_blocks: Vec<usize>,
    /// Bytes of texts that each system may still use, and the examples.
    budget: Vec<usize>,
    known_examples: HashMap<(u32, Box<str>), u32>,
    row_texts: RowTexts,
    datasets: Names,
    kinds: Names,
    written: WrittenPage,
}

impl<W: Write> std::fmt::Debug for PageWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PageWriter")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

impl<W: Write> PageWriter<W> {
    /// Writes all that comes before the rows.
    pub fn begin(mut out: W, data: &PageData, limits: PageLimits) -> io::Result<Self> {
        document::write_head(&mut out, &data.title)?;
        block::write_json(&mut out, "page-data", &serde_json::to_string(data)?)?;
        let n_systems = data.systems.len().max(1);
        // The texts of examples are shared by all systems and count as one more.
        let share = limits.texts / (n_systems + 1);
        Ok(Self {
            out,
            limits,
            max_examples: (limits.rows / n_systems).max(1),
            columns: Columns::new(data.scores.len()),
            column_blocks: 0,
            examples: Texts::default(),
            example_blocks: Vec::new(),
            texts: Texts::default(),
            text_blocks: Vec::new(),
            budget: vec![share; n_systems + 1],
            known_examples: HashMap::new(),
            row_texts: RowTexts::up_to(limits.text),
            datasets: Names::default(),
            kinds: Names::default(),
            written: WrittenPage::default(),
        })
    }

    /// Adds a row. Rows of a system need not stand together.
    pub fn row(&mut self, row: &PageRow<'_>) -> io::Result<()> {
        let dataset = self.datasets.number(&row.dataset);
        let key = (dataset, Box::from(&*row.example_id));
        let example = match self.known_examples.get(&key) {
            Some(known) => *known,
            None if self.known_examples.len() >= self.max_examples => {
                self.written.rows_left_out += 1;
                return Ok(());
            }
            None => self.example(key, row)?,
        };
        // Several answers to one example could still be too many.
        if self.written.rows >= self.limits.rows {
            self.written.rows_left_out += 1;
            return Ok(());
        }
        let kind = row
            .failure_kind
            .map_or(0, |kind| self.kinds.number(kind) + 1);
        self.columns.push(row, dataset, example, kind);
        self.written.rows += 1;
        if self.columns.len() >= ROWS_PER_BLOCK {
            self.end_columns()?;
        }
        let whose = row.system.min(self.budget.len().saturating_sub(2));
        let texts = self.row_texts.row(row);
        let size = texts.to_string().len();
        match self.take_budget(whose, size) {
            true => self.texts.push(&texts),
            false => {
                self.written.rows_without_texts += 1;
                self.texts.push(&Value::Null);
            }
        }
        if self.texts.size() >= TEXT_BLOCK {
            self.end_texts()?;
        }
        Ok(())
    }

    /// Ends the document and says what is in it.
    pub fn end(mut self) -> io::Result<WrittenPage> {
        if self.columns.len() > 0 {
            self.end_columns()?;
        }
        if !self.texts.is_empty() {
            self.end_texts()?;
        }
        if !self.examples.is_empty() {
            self.end_examples()?;
        }
        self.written.texts_cut = self.row_texts.n_cut();
        let index = json!({
            "rows": self.written.rows,
            "rows_left_out": self.written.rows_left_out,
            "rows_without_texts": self.written.rows_without_texts,
            "texts_cut": self.written.texts_cut,
            "examples": self.known_examples.len(),
            "datasets": self.datasets.names,
            "kinds": self.kinds.names,
            "reals": REALS,
            "wholes": WHOLES,
            "rows_per_block": ROWS_PER_BLOCK,
            "column_blocks": self.column_blocks,
            "text_blocks": self.text_blocks,
            "example_blocks": self.example_blocks,
        });
        block::write_json(&mut self.out, "row-index", &index.to_string())?;
        document::write_foot(&mut self.out)?;
        self.out.flush()?;
        Ok(self.written)
    }

    /// Notes an example with its texts, and its number.
    fn example(&mut self, key: (u32, Box<str>), row: &PageRow<'_>) -> io::Result<u32> {
        let number = u32::try_from(self.known_examples.len()).unwrap_or(u32::MAX);
        let mut texts = Map::new();
        texts.insert("id".into(), self.row_texts.id(row));
        let optional = self.row_texts.example(row);
        let size = Value::Object(optional.clone()).to_string().len();
        let last = self.budget.len().saturating_sub(1);
        match self.take_budget(last, size) {
            true => texts.extend(optional),
            false => {
                texts.insert("left_out".into(), true.into());
            }
        }
        self.examples.push(&Value::Object(texts));
        self.known_examples.insert(key, number);
        if self.examples.size() >= TEXT_BLOCK {
            self.end_examples()?;
        }
        Ok(number)
    }

    fn take_budget(&mut self, whose: usize, size: usize) -> bool {
        match self.budget.get_mut(whose) {
            Some(left) if *left >= size => {
                *left -= size;
                true
            }
            _ => false,
        }
    }

    fn end_columns(&mut self) -> io::Result<()> {
        let bytes = self.columns.take();
        block::write(&mut self.out, "columns", self.column_blocks, &bytes)?;
        self.column_blocks += 1;
        Ok(())
    }

    fn end_texts(&mut self) -> io::Result<()> {
        let number = self.text_blocks.len();
        let (first, json) = self.texts.take();
        self.text_blocks.push(first);
        block::write(&mut self.out, "texts", number, json.as_bytes())?;
        Ok(())
    }

    fn end_examples(&mut self) -> io::Result<()> {
        let number = self.example_blocks.len();
        let (first, json) = self.examples.take();
        self.example_blocks.push(first);
        block::write(&mut self.out, "examples", number, json.as_bytes())?;
        Ok(())
    }
}

/// Names and their numbers, in order of first use.
#[derive(Debug, Default)]
struct Names {
    names: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: &str) -> u32 {
        if let Some(known) = self.numbers.get(name) {
            return *known;
        }
        let number = u32::try_from(self.names.len()).unwrap_or(u32::MAX);
        self.names.push(name.to_owned());
        self.numbers.insert(name.to_owned(), number);
        number
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use base64::Engine as _;
    use base64::engine::general_purpose::STANDARD;
    use flate2::read::ZlibDecoder;

    use super::*;
    use crate::data::System;

    fn data(n_systems: usize) -> PageData {
        let system = |n: usize| System {
            name: format!("s{n}</script><!--"),
            ..System::default()
        };
        PageData {
            title: "a <b> & \"c\"\0".into(),
            systems: (0..n_systems).map(system).collect(),
            scores: vec!["f1".into()],
            ..PageData::default()
        }
    }

    fn write(n_systems: usize, n_examples: usize, limits: PageLimits) -> (String, WrittenPage) {
        let mut file = Vec::new();
        let data = data(n_systems);
        let mut page = PageWriter::begin(&mut file, &data, limits).expect("begun");
        for system in 0..n_systems {
            for example in 0..n_examples {
                let row = PageRow {
                    system,
                    example_id: example.to_string().into(),
                    quality: Some(0.25),
                    scores: vec![(example % 2 == 0).then_some(0.5)],
                    response: Some(format!("</script>{}", "é".repeat(40)).into()),
                    context: Some("same".into()),
                    sent: Some("same".into()),
                    ..PageRow::default()
                };
                page.row(&row).expect("written");
            }
        }
        let written = page.end().expect("ended");
        (String::from_utf8(file).expect("text"), written)
    }

    /// The content of the element with an id.
    fn element<'a>(page: &'a str, id: &str) -> &'a str {
        let start = page.find(&format!("id=\"{id}\">")).expect("there") + id.len() + 6;
        let end = page[start..].find("</script>").expect("an end");
        &page[start..start + end]
    }

    fn block(page: &str, id: &str) -> Vec<u8> {
        let bytes = STANDARD.decode(element(page, id)).expect("base64");
        let mut inflated = Vec::new();
        let read = ZlibDecoder::new(&bytes[..]).read_to_end(&mut inflated);
        read.expect("zlib");
        inflated
    }

    #[test]
    fn columns_and_texts_can_be_read_back() {
        let n = ROWS_PER_BLOCK + 10;
        let (page, written) = write(1, n, PageLimits::default());
        assert_eq!((written.rows, written.rows_left_out), (n, 0));
        let index: Value = serde_json::from_str(element(&page, "row-index")).expect("JSON");
        assert_eq!(index["rows"], n);
        assert_eq!(index["column_blocks"], 2);
        let last = block(&page, "columns-1");
        assert_eq!(last.len(), 10 * ((REALS.len() + 1) * 8 + WHOLES.len() * 4));
        let real = |column: usize, row: usize| {
            let at = (column * 10 + row) * 8;
            f64::from_le_bytes(last[at..at + 8].try_into().expect("eight"))
        };
        assert_eq!(real(0, 3), 0.25);
        assert_eq!(real(REALS.len(), 0), 0.5);
        assert!(real(REALS.len(), 1).is_nan() && real(3, 0).is_nan());
        let texts = index["text_blocks"].as_array().expect("blocks");
        assert!(texts.len() > 2, "{texts:?}");
        let second = block(&page, "texts-1");
        let second: Vec<Value> = serde_json::from_slice(&second).expect("JSON");
        assert!(
            second[0]["response"]
                .as_str()
                .expect("text")
                .starts_with("</script>")
        );
        assert_eq!(second[0]["sent"], true);
    }

    #[test]
    fn nothing_that_is_given_can_end_an_element() {
        let (page, _) = write(2, 3, PageLimits::default());
        assert_eq!(page.matches("<!--").count(), 0);
        assert_eq!(
            page.matches("<script").count(),
            page.matches("</script>").count()
        );
        assert!(page.contains("<title>a &lt;b&gt; &amp; &quot;c&quot;\u{fffd}</title>"));
        assert!(page.contains("default-src 'none'; script-src 'sha256-"));
        assert!(!page.contains("s0</script>"));
    }

    #[test]
    fn a_large_run_keeps_the_same_examples_of_all_systems() {
        let limits = PageLimits {
            rows: 10,
            ..PageLimits::default()
        };
        let (page, written) = write(3, 8, limits);
        assert_eq!((written.rows, written.rows_left_out), (9, 15));
        let index: Value = serde_json::from_str(element(&page, "row-index")).expect("JSON");
        assert_eq!(
            (&index["examples"], &index["rows_left_out"]),
            (&json!(3), &json!(15))
        );
    }

    #[test]
    fn texts_have_a_limit_alone_and_together() {
        let limits = PageLimits {
            text: 10,
            ..PageLimits::default()
        };
        let (page, written) = write(1, 1, limits);
        assert_eq!(written.texts_cut, 1);
        let texts: Value = serde_json::from_slice(&block(&page, "texts-0")).expect("JSON");
        // Ten bytes would end in the middle of a character.
        assert_eq!(
            texts[0]["response"],
            json!({"begin": "</script>", "length": 49})
        );
        let limits = PageLimits {
            texts: 600,
            ..PageLimits::default()
        };
        let (page, written) = write(2, 4, limits);
        assert_eq!((written.rows, written.rows_without_texts), (8, 6));
        let texts: Value = serde_json::from_slice(&block(&page, "texts-0")).expect("JSON");
        assert!(texts[0].is_object() && texts[3].is_null() && texts[4].is_object());
    }
}
