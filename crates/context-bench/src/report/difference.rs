//! Two texts where they differ, line by line, for people: what is equal is left out but for a
//! line or two around it, and long lines are cut around the place that differs.

/// What a line of a report is, which decides its colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineKind {
    /// Ordinary text.
    Plain,
    /// A heading.
    Heading,
    /// What holds.
    Good,
    /// What does not hold.
    Bad,
    /// Only in the first text.
    Removed,
    /// Only in the second text.
    Added,
    /// Something about the report itself.
    Aside,
}

/// A line of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReportLine {
    /// What it is.
    pub kind: LineKind,
    /// Its text, without the end of the line.
    pub text: String,
}

impl ReportLine {
    /// A line.
    pub fn new(kind: LineKind, text: impl Into<String>) -> Self {
        Self {
            kind,
            text: text.into(),
        }
    }
}

/// How many equal lines are shown before and after what differs.
const AROUND: usize = 2;
/// How many lines are shown at most.
const MOST: usize = 30;
/// A block of more changed lines is shown by its first ones.
const LONG_BLOCK: usize = 8;
/// How many pairs of such a block are shown.
const PAIRS: usize = 4;
/// More comparisons than this are not made: then all lines count as different.
const MOST_WORK: usize = 4_000_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    Same(usize),
    Removed(usize),
    Added(usize),
}

/// The lines of two texts that differ, with a little around them, each of at most so many
/// columns.
pub fn difference(before: &str, after: &str, width: usize) -> Vec<ReportLine> {
    let ours: Vec<&str> = before.lines().collect();
    let theirs: Vec<&str> = after.lines().collect();
    let steps = steps(&ours, &theirs);
    let is_near = |at: usize| {
        let near = at.saturating_sub(AROUND)..(at + AROUND + 1).min(steps.len());
        steps[near]
            .iter()
            .any(|step| !matches!(step, Step::Same(_)))
    };
    let mut lines = Vec::new();
    let mut at = 0;
    while at < steps.len() {
        if !is_near(at) {
            at += 1;
            let is_gap = lines
                .last()
                .is_some_and(|line: &ReportLine| line.kind != LineKind::Aside);
            if is_gap && (at..steps.len()).any(is_near) {
                lines.push(ReportLine::new(LineKind::Aside, "  ⋮"));
            }
            continue;
        }
        if let Step::Same(place) = steps[at] {
            let text = format!("  {}", cut(ours[place], 0, width.saturating_sub(2)));
            lines.push(ReportLine::new(LineKind::Plain, text));
            at += 1;
            continue;
        }
        let (removed, added) = block(&steps[at..]);
        at += removed.len() + added.len();
        // Lines that stand for each other stand together; many of them look alike.
        let longer = removed.len().max(added.len());
        let shown = match longer > LONG_BLOCK && !removed.is_empty() && !added.is_empty() {
            true => PAIRS,
            false => longer,
        };
        for place in 0..shown {
            let one = removed.get(place).map(|index| ours[*index]);
            let two = added.get(place).map(|index| theirs[*index]);
            let one = one.map(|line| changed(LineKind::Removed, line, two, width));
            let before = removed.get(place).map(|index| ours[*index]);
            let two = two.map(|line| changed(LineKind::Added, line, before, width));
            lines.extend(one.into_iter().chain(two));
        }
        let left = removed.len().saturating_sub(shown) + added.len().saturating_sub(shown);
        if left > 0 {
            let text = format!("  … and {left} more lines that differ");
            lines.push(ReportLine::new(LineKind::Aside, text));
        }
    }
    if lines.len() > MOST {
        let more = lines.len() - MOST;
        lines.truncate(MOST);
        let text = format!("  … and {more} more lines");
        lines.push(ReportLine::new(LineKind::Aside, text));
    }
    lines
}

/// The removed and added lines that follow each other here.
fn block(steps: &[Step]) -> (Vec<usize>, Vec<usize>) {
    let (mut removed, mut added) = (Vec::new(), Vec::new());
    for step in steps {
        match step {
            Step::Same(_) => break,
            Step::Removed(index) => removed.push(*index),
            Step::Added(index) => added.push(*index),
        }
    }
    (removed, added)
}

fn changed(kind: LineKind, text: &str, other: Option<&str>, width: usize) -> ReportLine {
    let same = other.map_or(0, |other| {
        let pairs = text.chars().zip(other.chars());
        pairs.take_while(|(one, two)| one == two).count()
    });
    let sign = match kind {
        LineKind::Removed => '-',
        _ => '+',
    };
    let text = cut(text, same, width.saturating_sub(2));
    ReportLine::new(kind, format!("{sign} {text}"))
}

/// At most so many columns of a line, with the place that matters among them.
fn cut(line: &str, place: usize, width: usize) -> String {
    let letters: Vec<char> = line.chars().collect();
    let total: usize = letters.iter().map(|letter| columns(*letter)).sum();
    if total <= width {
        return line.to_owned();
    }
    // Some of what is equal goes before, so that one sees where it is.
    let start = match place < width / 2 {
        true => 0,
        false => place - width / 3,
    };
    let mut out = String::new();
    let mut used = 0;
    if start > 0 {
        out.push('…');
        used = 1;
    }
    let rest = &letters[start.min(letters.len())..];
    for (at, letter) in rest.iter().enumerate() {
        let is_last = at + 1 == rest.len();
        let room = if is_last { 0 } else { 1 };
        if used + columns(*letter) + room > width {
            out.push('…');
            break;
        }
        out.push(*letter);
        used += columns(*letter);
    }
    out
}

/// How many columns a terminal gives a character, near enough to keep lines on one line:
/// control characters are written out as `\x1b`, and Chinese takes two.
fn columns(letter: char) -> usize {
    match letter {
        letter if letter.is_control() => 4,
        '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => 8,
        '\u{1100}'..='\u{115f}'
        | '\u{2e80}'..='\u{a4cf}'
        | '\u{ac00}'..='\u{d7a3}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe6f}'
        | '\u{ff00}'..='\u{ff60}'
        | '\u{1f300}'..='\u{1faff}'
        | '\u{20000}'..='\u{3fffd}' => 2,
        _ => 1,
    }
}

/// The shortest way from one list of lines to the other.
fn steps(ours: &[&str], theirs: &[&str]) -> Vec<Step> {
    let shorter = ours.len().min(theirs.len());
    let head = (0..shorter).take_while(|at| ours[*at] == theirs[*at]);
    let head = head.count();
    let tail = (0..shorter - head)
        .take_while(|at| ours[ours.len() - 1 - at] == theirs[theirs.len() - 1 - at])
        .count();
    let (from, to) = (ours.len() - tail, theirs.len() - tail);
    let mut steps: Vec<Step> = (0..head).map(Step::Same).collect();
    steps.extend(middle(&ours[..from], &theirs[..to], head));
    steps.extend((from..ours.len()).map(Step::Same));
    steps
}

/// The steps between what begins and ends both, by the longest common subsequence.
fn middle(ours: &[&str], theirs: &[&str], head: usize) -> Vec<Step> {
    let (n, m) = (ours.len() - head, theirs.len() - head);
    let all = || {
        let removed = (head..ours.len()).map(Step::Removed);
        removed.chain((head..theirs.len()).map(Step::Added))
    };
    if n == 0 || m == 0 || n.saturating_mul(m) > MOST_WORK {
        return all().collect();
    }
    let width = m + 1;
    let mut common = vec![0u32; (n + 1) * width];
    for i in (0..n).rev() {
        for j in (0..m).rev() {
            common[i * width + j] = match ours[head + i] == theirs[head + j] {
                true => common[(i + 1) * width + j + 1] + 1,
                false => common[(i + 1) * width + j].max(common[i * width + j + 1]),
            };
        }
    }
    let (mut i, mut j) = (0, 0);
    let mut steps = Vec::new();
    while i < n || j < m {
        if i < n && j < m && ours[head + i] == theirs[head + j] {
            steps.push(Step::Same(head + i));
            i += 1;
            j += 1;
        } else if j == m || i < n && common[(i + 1) * width + j] >= common[i * width + j + 1] {
            steps.push(Step::Removed(head + i));
            i += 1;
        } else {
            steps.push(Step::Added(head + j));
            j += 1;
        }
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &str, after: &str, width: usize) -> Vec<String> {
        let lines = difference(before, after, width);
        lines.into_iter().map(|line| line.text).collect()
    }

    #[test]
    fn only_what_differs_is_shown() {
        let before = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj";
        let after = "a\nb\nc\nD\ne\nf\ng\nh\ni\nj\nk";
        assert_eq!(
            shown(before, after, 40),
            [
                "  b", "  c", "- d", "+ D", "  e", "  f", "  ⋮", "  i", "  j", "+ k"
            ]
        );
        assert!(shown(before, before, 40).is_empty());
        assert_eq!(shown("", "x", 40), ["+ x"]);
        assert_eq!(shown("x", "", 40), ["- x"]);
    }

    #[test]
    fn lines_are_cut_around_what_differs() {
        let long = "word ".repeat(100);
        let (before, after) = (format!("{long}cat{long}"), format!("{long}dog{long}"));
        for line in shown(&before, &after, 60) {
            assert!(line.chars().count() <= 60, "{line}");
            assert!(line.contains("cat") || line.contains("dog"), "{line}");
            assert!(line.contains('…'));
        }
        let wide = shown(&"漢".repeat(100), &"字".repeat(100), 40);
        assert!(
            wide.iter().all(|line| line.chars().count() <= 21),
            "{wide:?}"
        );
    }

    #[test]
    fn long_lists_end_somewhere() {
        let before: String = (0..500).map(|n| format!("{n}\n")).collect();
        let after: String = (0..500).map(|n| format!("{n}.\n")).collect();
        let lines = shown(&before, &after, 40);
        assert_eq!(lines.len(), 2 * PAIRS + 1);
        assert_eq!(lines[..3], ["- 0", "+ 0.", "- 1"]);
        assert_eq!(lines.last().unwrap(), "  … and 992 more lines that differ");
        let before: String = (0..5000).map(|n| format!("{n}\n")).collect();
        let after: String = (0..5000).map(|n| format!("{n}.\n")).collect();
        assert_eq!(shown(&before, &after, 40).len(), 2 * PAIRS + 1);
        let lines = shown("", &after, 40);
        assert_eq!(lines.len(), MOST + 1);
        assert_eq!(lines.last().unwrap(), "  … and 4970 more lines");
    }
}
