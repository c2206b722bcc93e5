//! The results as a Markdown table: groups with their members indented below.

use indexmap::IndexMap;
use serde_json::Value;

use crate::results::{Entry, Results};

const HEADERS: [&str; 9] = [
    "Tasks", "Version", "Filter", "n-shot", "Metric", "", "Value", "", "Stderr",
];
/// Columns whose numbers stand at the right.
const NUMERIC: [usize; 4] = [1, 3, 6, 8];
/// Keys of an entry that are not metrics.
const NO_METRIC: [&str; 4] = ["alias", "name", "sample_len", "sample_count"];

/// One line of a table; versions keep their type, all else is text.
pub type Row = Vec<Value>;

impl Results {
    /// Lines of the table of tasks and groups.
    pub fn rows(&self) -> Vec<Row> {
        self.walk(&|_| true)
    }

    /// Lines of the table of groups that aggregate; empty when there are none.
    pub fn group_rows(&self) -> Vec<Row> {
        self.walk(&|entry| entry.aggregates)
    }

    /// The table of tasks and groups.
    pub fn table(&self) -> String {
        markdown(&self.rows(), "Tasks")
    }

    /// The table of groups; `None` when none aggregates.
    pub fn groups_table(&self) -> Option<String> {
        let rows = self.group_rows();
        (!rows.is_empty()).then(|| markdown(&rows, "Groups"))
    }

    /// Groups that are not members of others by name, then what is in no group.
    fn walk(&self, shown: &dyn Fn(&Entry) -> bool) -> Vec<Row> {
        let is_child = |key: &str| self.children.values().flatten().any(|child| child == key);
        let mut tops: Vec<&String> = self.children.keys().filter(|key| !is_child(key)).collect();
        tops.sort();
        let mut rest: Vec<&String> = self
            .entries
            .keys()
            .filter(|key| !self.children.contains_key(*key) && !is_child(key))
            .collect();
        rest.sort();
        let mut rows = Vec::new();
        for key in tops.into_iter().chain(rest) {
            self.descend(key, 0, shown, &mut rows);
        }
        rows
    }

    fn descend(
        &self,
        key: &str,
        depth: usize,
        shown: &dyn Fn(&Entry) -> bool,
        rows: &mut Vec<Row>,
    ) {
        if let Some(entry) = self.entries.get(key).filter(|entry| shown(entry)) {
            rows.extend(lines(entry, depth));
        }
        let mut children: Vec<&String> = self.children.get(key).into_iter().flatten().collect();
        children.sort();
        for child in children {
            self.descend(child, depth + 1, shown, rows);
        }
    }
}

fn lines(entry: &Entry, depth: usize) -> Vec<Row> {
    let alias = entry
        .scores
        .get("alias")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let name = match depth {
        0 => alias.to_owned(),
        depth => format!("{}- {alias}", " ".repeat(depth)),
    };
    let version = entry.version.clone().unwrap_or_else(|| Value::from("N/A"));
    let shots = entry.num_fewshot.as_ref().map(text).unwrap_or_default();
    let mut keys: Vec<&String> = entry
        .scores
        .keys()
        .filter(|key| {
            !NO_METRIC.contains(&key.as_str()) && key.contains(',') && !key.contains("_stderr,")
        })
        .collect();
    keys.sort();
    if let Some(task) = &entry.task {
        // The value of a field may have a comma of its own.
        let metric = |key: &str| {
            key.rsplit_once(',')
                .map_or(key, |(metric, _)| metric)
                .to_owned()
        };
        keys.retain(|key| !task.unlisted.contains(&metric(key)));
        // The others stay in their order.
        keys.sort_by_key(|key| task.headline != Some(metric(key)));
    }
    let mut rows: Vec<Row> = Vec::new();
    for key in keys {
        let (metric, filter) = key.split_once(',').unwrap_or((key, ""));
        let arrow = match entry.higher_is_better.get(metric) {
            Some(Some(true)) => "↑",
            Some(Some(false)) => "↓",
            _ => "",
        };
        let stderr = entry.scores.get(&format!("{metric}_stderr,{filter}"));
        let first = rows.is_empty();
        rows.push(vec![
            Value::from(if first { name.as_str() } else { "" }),
            if first {
                version.clone()
            } else {
                Value::from("")
            },
            Value::from(filter),
            Value::from(shots.as_str()),
            Value::from(metric),
            Value::from(arrow),
            Value::from(match entry.scores.get(key) {
                // It could not be summed up.
                Some(Value::Null) => "N/A".to_owned(),
                value => decimal(value),
            }),
            Value::from(if stderr.is_some() { "±" } else { "" }),
            Value::from(decimal(stderr)),
        ]);
    }
    if rows.is_empty() {
        // A group without aggregates still says which tasks are its.
        let mut row = vec![Value::from(""); HEADERS.len()];
        row[0] = Value::from(name);
        row[1] = version;
        rows.push(row);
    }
    rows
}

/// Four decimals for numbers with a fraction, all else as it is.
fn decimal(value: Option<&Value>) -> String {
    match value {
        Some(Value::Number(number)) if number.is_f64() => {
            format!("{:.4}", number.as_f64().unwrap_or(f64::NAN))
        }
        Some(value) => text(value),
        None => String::new(),
    }
}

/// A cell; whole numbers without their `.0`.
fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => match number.as_f64() {
            Some(x) if number.is_f64() && x.fract() == 0.0 && x.abs() < 1e15 => format!("{x:.0}"),
            _ => number.to_string(),
        },
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

/// The tables of several systems as one: a column for each, whose lines are those of all.
pub fn side_by_side(systems: &[(&str, &[Row])], title: &str) -> String {
    // Filter, shots, metric and arrow distinguish the lines of a task.
    let mut lines: IndexMap<(String, String), (Row, Vec<String>)> = IndexMap::new();
    for (place, (_, rows)) in systems.iter().enumerate() {
        let mut task = String::new();
        for row in rows.iter() {
            let cell = |i: usize| row.get(i).map(text).unwrap_or_default();
            if !cell(0).is_empty() {
                task = cell(0);
            }
            let metric = format!("{}\n{}", cell(2), cell(4));
            let line = lines.entry((task.clone(), metric));
            let (_, values) = line.or_insert_with(|| {
                let head = [0, 2, 3, 4, 5].map(|i| Value::from(cell(i)));
                (head.to_vec(), vec![String::new(); systems.len()])
            });
            values[place] = match (cell(6), cell(8)) {
                (value, error) if error.is_empty() => value,
                (value, error) => format!("{value} ± {error}"),
            };
        }
    }
    let rows: Vec<Row> = lines
        .into_values()
        .map(|(head, values)| {
            head.into_iter()
                .chain(values.into_iter().map(Value::from))
                .collect()
        })
        .collect();
    let mut headers = vec![title, "Filter", "n-shot", "Metric", ""];
    headers.extend(systems.iter().map(|(name, _)| *name));
    let numeric: Vec<usize> = [2].into_iter().chain(5..headers.len()).collect();
    grid(&headers, &rows, &numeric)
}

fn markdown(rows: &[Row], title: &str) -> String {
    let mut headers = HEADERS;
    headers[0] = title;
    grid(&headers, rows, &NUMERIC)
}

/// A Markdown table; the columns `right` have numbers, which stand at the right.
fn grid(headers: &[&str], rows: &[Row], right: &[usize]) -> String {
    let headers: Vec<String> = headers
        .iter()
        .map(|name| name.replace('|', "\\|"))
        .collect();
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            row.iter()
                .map(|cell| text(cell).replace('|', "\\|"))
                .collect()
        })
        .collect();
    let column = |i: usize| {
        cells
            .iter()
            .map(move |row| row.get(i).map_or("", String::as_str))
    };
    let widths: Vec<usize> = (0..headers.len())
        .map(|i| {
            column(i)
                .map(width)
                .max()
                .unwrap_or(0)
                .max(width(&headers[i]))
                .max(3)
        })
        .collect();
    let is_number = |cell: &str| {
        let value = cell.split(" ± ").next().unwrap_or(cell);
        value.parse::<f64>().is_ok()
    };
    let numeric: Vec<bool> = (0..headers.len())
        .map(|i| {
            right.contains(&i)
                && column(i).any(|cell| !cell.is_empty())
                && column(i).filter(|cell| !cell.is_empty()).all(is_number)
        })
        .collect();
    let mut out = String::new();
    for (header, width_of) in headers.iter().zip(&widths) {
        let missing = width_of - width(header);
        let left = missing / 2;
        out.push_str(&format!(
            "|{}{header}{}",
            " ".repeat(left),
            " ".repeat(missing - left)
        ));
    }
    out.push_str("|\n");
    for (width_of, at_right) in widths.iter().zip(&numeric) {
        match at_right {
            true => out.push_str(&format!("|{}:", "-".repeat(width_of - 1))),
            false => out.push_str(&format!("|{}", "-".repeat(*width_of))),
        }
    }
    out.push_str("|\n");
    for row in &cells {
        for (i, cell) in row.iter().enumerate() {
            let missing = " ".repeat(widths[i].saturating_sub(width(cell)));
            // Numbers stand at the right even beside text such as `N/A`.
            if right.contains(&i) && (is_number(cell) || (numeric[i] && cell.is_empty())) {
                out.push_str(&format!("|{missing}{cell}"));
            } else {
                out.push_str(&format!("|{cell}{missing}"));
            }
        }
        out.push_str("|\n");
    }
    out
}

/// Columns on a terminal; East Asian wide characters take two.
fn width(text: &str) -> usize {
    text.chars()
        .map(|c| match u32::from(c) {
            0x300..=0x36F | 0x200B..=0x200F | 0xFE00..=0xFE0F => 0,
            0x1100..=0x115F
            | 0x2E80..=0x303E
            | 0x3041..=0x33FF
            | 0x3400..=0x4DBF
            | 0x4E00..=0x9FFF
            | 0xA000..=0xA4CF
            | 0xAC00..=0xD7A3
            | 0xF900..=0xFAFF
            | 0xFE30..=0xFE4F
            | 0xFF00..=0xFF60
            | 0xFFE0..=0xFFE6
            | 0x1F300..=0x1F64F
            | 0x1F900..=0x1F9FF
            | 0x20000..=0x3FFFD => 2,
            _ => 1,
        })
        .sum()
}
