//! Systems beside their baseline, for people: a table of differences, what each dataset adds to
//! it, flips, and the sentences. Terminal, Markdown and HTML show the same cells.

use std::fmt::Write as _;

use super::table::{align, new_table};
use super::{cell, footer, gates, html, markdown};
use crate::comparison::{
    Difference, Flip, FlipDirection, RunComparison, Scope, SystemComparison, bare_change, change,
};
use crate::gate::CheckedGate;
use crate::stats::Verdict;
use crate::text::visible::visible;

/// Datasets of a system that the terminal shows, at most.
const MOST_DATASETS: usize = 12;

/// A table before it has a form.
struct Cells {
    title: String,
    header: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// A comparison as a report of its own: what `compare` shows of stored runs.
#[derive(Debug, Clone, Copy)]
pub struct ComparisonReport {
    /// How many columns the terminal has.
    pub width: u16,
    /// How many flips are listed for each system and direction.
    pub flips: usize,
}

impl ComparisonReport {
    /// For a terminal, with what became of gates before the sentences.
    pub fn table(&self, found: &RunComparison, gates: &[CheckedGate]) -> String {
        let width = usize::from(self.width);
        let mut parts = tables(found, width);
        parts.extend(by_dataset(found).map(|cells| cells.terminal(width)));
        parts.extend(self.flips(found));
        parts.push(notes(found, width));
        let gates = gates::lines(gates).into_iter();
        let gates: Vec<String> = gates.map(|line| footer::wrapped(&line, width)).collect();
        parts.push(gates.join("\n"));
        parts.push(sentences(found, width));
        parts.retain(|part| !part.is_empty());
        visible(&(parts.join("\n\n") + "\n")).into_owned()
    }

    /// As Markdown.
    pub fn markdown(&self, found: &RunComparison, gates: &[CheckedGate]) -> String {
        let mut lines = markdown(found);
        lines.extend(gates::markdown(gates));
        for system in &found.systems {
            let (shown, more) = self.shown(system);
            if shown.is_empty() {
                continue;
            }
            let name = markdown::text(&system.label());
            lines.extend([format!("### Flips of {name}"), String::new()]);
            let cells = flip_cells(&shown);
            lines.extend(cells.markdown());
            if more > 0 {
                lines.extend([String::new(), format!("{more} more are not listed")]);
            }
            lines.push(String::new());
        }
        let text = lines.join("\n");
        visible(text.trim_end()).into_owned() + "\n"
    }

    fn shown<'a>(&self, system: &'a SystemComparison) -> (Vec<&'a Flip>, u64) {
        let of = |direction: FlipDirection| {
            let own = system.flips.iter();
            own.filter(move |flip| flip.direction == direction)
                .take(self.flips)
        };
        let shown: Vec<&Flip> = of(FlipDirection::Lost)
            .chain(of(FlipDirection::Gained))
            .collect();
        let counts = system
            .differences
            .iter()
            .filter(|one| one.scope == Scope::All)
            .find_map(|one| one.flips);
        let all = counts.map_or(0, |counts| counts.gained + counts.lost);
        let more = all.saturating_sub(shown.len() as u64);
        (shown, more)
    }

    fn flips(&self, found: &RunComparison) -> Vec<String> {
        let mut parts = Vec::new();
        for system in &found.systems {
            let (shown, more) = self.shown(system);
            if self.flips == 0 || shown.is_empty() {
                continue;
            }
            let mut text = format!("Flips of {}", cell::plain(&system.label()));
            for flip in shown {
                text += &format!(
                    "\n  {} {} {}: {} → {}",
                    direction(flip),
                    cell::plain(&flip.dataset),
                    cell::plain(&flip.example_id.to_string()),
                    score(flip.baseline_score),
                    score(flip.system_score)
                );
                let said = [
                    ("baseline", &flip.baseline_answer),
                    ("system", &flip.system_answer),
                    ("right", &flip.answer),
                ];
                for (who, said) in said {
                    if let Some(said) = said {
                        let room = usize::from(self.width).saturating_sub(15).max(20);
                        let _ = write!(text, "\n    {who:<8} {}", cell::shorten(said, room));
                    }
                }
            }
            if more > 0 {
                text += &format!("\n  … {more} more");
            }
            parts.push(text);
        }
        parts
    }
}

/// What all comparisons have in common, and what readers should know.
fn notes(found: &RunComparison, width: usize) -> String {
    let own = found.systems.iter().flat_map(|system| {
        let name = system.label();
        let each = system.notes.iter();
        each.map(move |note| format!("{name}: {note}"))
    });
    let all = found.notes.iter().cloned().chain(own);
    let all: Vec<String> = all
        .map(|note| footer::wrapped(&cell::plain(&note), width))
        .collect();
    all.join("\n")
}

/// The tables of a result for a terminal.
pub(super) fn tables(found: &RunComparison, width: usize) -> Vec<String> {
    let mut parts: Vec<String> = overall(found)
        .map(|cells| cells.terminal(width))
        .into_iter()
        .collect();
    parts.extend(shown_by_dataset(found, width));
    parts
}

/// The sentences, a line or more each.
pub(super) fn sentences(found: &RunComparison, width: usize) -> String {
    let all = found.systems.iter();
    let all: Vec<String> = all
        .map(|system| {
            // A number stays with its percent sign.
            let glued = system.sentence.replace(" %", "\u{a0}%");
            footer::wrapped(&glued, width).replace('\u{a0}', " ")
        })
        .collect();
    all.join("\n")
}

/// As lines of Markdown.
pub(super) fn markdown(found: &RunComparison) -> Vec<String> {
    let mut lines = Vec::new();
    for cells in overall(found).into_iter().chain(by_dataset(found)) {
        lines.extend([format!("## {}", cells.title), String::new()]);
        lines.extend(cells.markdown());
        lines.push(String::new());
    }
    for system in &found.systems {
        lines.push(format!("- {}", markdown::text(&system.sentence)));
    }
    if !found.systems.is_empty() {
        lines.push(String::new());
    }
    let own = found.systems.iter().flat_map(|system| &system.notes);
    for note in found.notes.iter().chain(own) {
        lines.extend([markdown::text(note), String::new()]);
    }
    lines
}

/// As HTML, without a page around it.
pub(super) fn html(found: &RunComparison) -> String {
    let mut text = String::new();
    for cells in overall(found).into_iter().chain(by_dataset(found)) {
        let head: String = cells.header.iter().map(|cell| tagged("th", cell)).collect();
        text += &format!(
            "<h3>{}</h3><table><thead><tr>{head}</tr></thead><tbody>",
            html::escape(&cells.title)
        );
        for row in &cells.rows {
            let each = row.iter().enumerate();
            let each = each.map(|(at, cell)| tagged(if at == 0 { "th" } else { "td" }, cell));
            text += &format!("<tr>{}</tr>", each.collect::<String>());
        }
        text += "</tbody></table>";
    }
    let sentences = found.systems.iter();
    let sentences: String = sentences.map(|one| tagged("li", &one.sentence)).collect();
    if !sentences.is_empty() {
        text += &format!("<ul>{sentences}</ul>");
    }
    text
}

fn tagged(tag: &str, text: &str) -> String {
    format!("<{tag}>{}</{tag}>", html::escape(text))
}

/// One line per system, over all examples.
fn overall(found: &RunComparison) -> Option<Cells> {
    let mains: Vec<Option<&Difference>> = found.systems.iter().map(|one| found.main(one)).collect();
    let tokens = |one: &SystemComparison| {
        let difference = one.tokens()?;
        difference.relative.map(|found| percent(found.value))
    };
    let has_tokens = found.systems.iter().any(|one| tokens(one).is_some());
    let money = |one: &SystemComparison| {
        let difference = one.overall("cost")?;
        difference.relative.map(|found| percent(found.value))
    };
    let has_money = found.systems.iter().any(|one| money(one).is_some());
    if found.systems.is_empty() || (mains.iter().all(Option::is_none) && !has_tokens) {
        return None;
    }
    let score = found.score.as_deref().unwrap_or("score");
    let is_share = mains.iter().flatten().any(|one| one.is_share);
    let points = if is_share { " points" } else { "" };
    let has_runs = found.systems.iter().any(|one| one.run.is_some());
    let run = |one: &SystemComparison| one.run.clone().unwrap_or_default();
    let mut header = vec![
        "System".to_owned(),
        format!("{}{points} [95 %]", cell::plain(score)),
        "p".to_owned(),
        "lost/gained".to_owned(),
    ];
    if has_tokens {
        header.push("tokens".to_owned());
    }
    if has_money {
        header.push("cost".to_owned());
    }
    header.extend(["n".to_owned(), "verdict".to_owned()]);
    if has_runs {
        header.insert(1, "run".to_owned());
    }
    let rows = found.systems.iter().zip(mains).map(|(system, main)| {
        let of = |text: fn(&Difference) -> String| main.map_or(cell::NONE.to_owned(), text);
        let mut row = vec![
            system.system.clone(),
            of(bare_change),
            of(|one| p_value(one.p_value)),
            of(flips),
        ];
        if has_tokens {
            row.push(tokens(system).unwrap_or_else(|| cell::NONE.to_owned()));
        }
        if has_money {
            row.push(money(system).unwrap_or_else(|| "?".to_owned()));
        }
        row.extend([of(size), of(short_verdict)]);
        if has_runs {
            row.insert(1, run(system));
        }
        row
    });
    let baseline = found.systems.first().map(SystemComparison::baseline_label);
    let baseline = baseline.unwrap_or_else(|| found.baseline.clone());
    Some(Cells {
        title: format!("Against {}", cell::shorten(&baseline, 50)),
        header,
        rows: rows.collect(),
    })
}

/// Every dataset, task and group of every system.
fn by_dataset(found: &RunComparison) -> Option<Cells> {
    let score = found.score.as_deref()?;
    let mut rows = Vec::new();
    for system in &found.systems {
        let own = parts_of(system, score);
        for one in own.filter(|_| has_several(system, score)) {
            rows.push(vec![
                one.name.clone(),
                system.label(),
                bare_change(one),
                p_value(one.p_adjusted.unwrap_or(one.p_value)),
                flips(one),
                size(one),
                short_verdict(one),
            ]);
        }
    }
    let header = [
        "Dataset",
        "System",
        "difference [95 %]",
        "p (Holm)",
        "lost/gained",
        "n",
        "verdict",
    ];
    (!rows.is_empty()).then(|| Cells {
        title: "By dataset, task and group".to_owned(),
        header: header.map(str::to_owned).to_vec(),
        rows,
    })
}

/// The datasets on which something is shown after correction for their number; the others are
/// in Markdown and JSON.
fn shown_by_dataset(found: &RunComparison, width: usize) -> Option<String> {
    let score = found.score.as_deref()?;
    let mut lines = Vec::new();
    for system in &found.systems {
        if !has_several(system, score) {
            continue;
        }
        let is_shown = |one: &&Difference| {
            one.p_adjusted.unwrap_or(one.p_value) < 0.05
                && matches!(one.verdict, Verdict::Better | Verdict::Worse)
        };
        let shown: Vec<&Difference> = parts_of(system, score).filter(is_shown).collect();
        if shown.is_empty() {
            continue;
        }
        let each = shown.iter().take(MOST_DATASETS).map(|one| {
            let name = cell::shorten(&one.name, 30);
            format!("{name} {} {}", one.verdict, change(one))
        });
        let more = shown.len().saturating_sub(MOST_DATASETS);
        let each = each.chain((more > 0).then(|| format!("{more} more")));
        let each: Vec<String> = each.collect();
        let line = format!(
            "{}: {}",
            cell::shorten(&system.label(), 30),
            each.join("; ")
        );
        lines.push(footer::wrapped(&line, width));
    }
    (!lines.is_empty()).then(|| {
        let head = "By dataset, after Holm's correction";
        format!("{head}\n{}", lines.join("\n"))
    })
}

fn parts_of<'a>(
    system: &'a SystemComparison,
    score: &'a str,
) -> impl Iterator<Item = &'a Difference> {
    let all = system.differences.iter();
    all.filter(move |one| {
        // The score of a group may have another name than that of the run.
        one.scope != Scope::All && (one.measure == score || one.scope == Scope::Group)
    })
}

/// Whether datasets say more than all examples together.
fn has_several(system: &SystemComparison, score: &str) -> bool {
    parts_of(system, score).count() > 1
}

fn flip_cells(flips: &[&Flip]) -> Cells {
    let header = ["Example", "", "score", "baseline", "system", "right"];
    let text = |text: &Option<String>| cell::shorten(text.as_deref().unwrap_or(""), 80);
    let rows = flips.iter().map(|flip| {
        let (old, new) = (score(flip.baseline_score), score(flip.system_score));
        vec![
            format!("{} {}", flip.dataset, flip.example_id),
            direction(flip).to_owned(),
            format!("{old} → {new}"),
            text(&flip.baseline_answer),
            text(&flip.system_answer),
            text(&flip.answer),
        ]
    });
    Cells {
        title: String::new(),
        header: header.map(str::to_owned).to_vec(),
        rows: rows.collect(),
    }
}

fn direction(flip: &Flip) -> &'static str {
    match flip.direction {
        FlipDirection::Lost => "lost",
        FlipDirection::Gained => "gained",
    }
}

fn score(value: f64) -> String {
    format!("{value:.2}")
}

fn flips(difference: &Difference) -> String {
    difference.flips.map_or(cell::NONE.to_owned(), |counts| {
        format!("{}/{}", counts.lost, counts.gained)
    })
}

/// How many rows, and how many clusters where they are fewer.
fn size(difference: &Difference) -> String {
    match difference.clusters < difference.n {
        true => format!("{} in {}", difference.n, difference.clusters),
        false => difference.n.to_string(),
    }
}

/// The verdict without its margin, marked when it depends on scores that are missing.
fn short_verdict(difference: &Difference) -> String {
    let verdict = match (difference.margin, difference.verdict) {
        (None, Verdict::Inconclusive) => "none shown".to_owned(),
        (_, verdict) => verdict.to_string(),
    };
    match difference.missing.as_ref().is_some_and(|one| one.decides) {
        true => format!("{verdict} (?)"),
        false => verdict,
    }
}

fn p_value(p: f64) -> String {
    match p < 0.001 {
        true => "<0.001".to_owned(),
        false => format!("{p:.3}"),
    }
}

fn percent(share: f64) -> String {
    let text = format!("{:+.0}%", share * 100.0);
    match text.as_str() {
        "+0%" | "-0%" => "0%".to_owned(),
        _ => text.replace('-', "−"),
    }
}

/// A heading for a terminal, where a long one takes two lines.
fn heading(text: &str) -> String {
    text.replace("lost/gained", "lost/\ngained")
}

impl Cells {
    /// For a terminal: columns that find no room are left out, but for the first two and the last.
    fn terminal(&self, width: usize) -> String {
        let column = |at: usize| {
            let cells = self.rows.iter().map(|row| row[at].chars().count());
            let heading = heading(&self.header[at]);
            let heading = heading.lines().map(|line| line.chars().count()).max();
            let widest = cells.max().max(heading).unwrap_or(0);
            if at == 0 { widest.min(24) } else { widest }
        };
        let mut kept: Vec<usize> = (0..self.header.len()).collect();
        let taken = |kept: &[usize]| kept.iter().map(|at| column(*at) + 2).sum::<usize>();
        // What says least goes first: n, p, flips, tokens, cost.
        for name in ["n", "p", "lost/gained", "tokens", "cost"] {
            if taken(&kept) <= width + 2 {
                break;
            }
            kept.retain(|at| self.header[*at] != name);
        }
        let others: usize = kept.iter().skip(1).map(|at| column(*at) + 2).sum();
        let room = width.saturating_sub(others).clamp(8, 40);
        let mut table = new_table();
        table.set_header(kept.iter().map(|at| heading(&self.header[*at])));
        for row in &self.rows {
            table.add_row(kept.iter().map(|at| match at {
                0 => cell::shorten(&row[0], room),
                at => cell::plain(&row[*at]).into_owned(),
            }));
        }
        align(&mut table);
        format!("{}\n{}", cell::plain(&self.title), table.trim_fmt())
    }

    fn markdown(&self) -> Vec<String> {
        let line = |cells: &[String]| {
            let cells: Vec<String> = cells.iter().map(|text| markdown::escape(text)).collect();
            format!("| {} |", cells.join(" | "))
        };
        let rule = format!("|{}", "---|".repeat(self.header.len()));
        let rows = self.rows.iter().map(|row| line(row));
        [line(&self.header), rule].into_iter().chain(rows).collect()
    }
}
