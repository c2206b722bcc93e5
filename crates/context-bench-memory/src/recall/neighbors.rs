//! Scores that count what stands around a turn.
//!
//! People answer each other: the turn with the answer often has none of the words of the
//! question, but the one before it does. The weights were chosen once and not tuned, but that
//! neighbours count at all was seen on LoCoMo (`docs/reference/memory.md`).

use super::history::History;

/// Adds to the score of each turn those of its neighbours in the same session: `weight` times
/// those beside it, half of that for the ones behind these. The sums are brought back to
/// the size of plain scores.
pub(super) fn with_neighbors(scores: &[f64], history: &History, weight: f64) -> Vec<f64> {
    let turns = history.turns();
    let together = |a: usize, b: usize| turns[a].session == turns[b].session;
    let size = 1.0 + 3.0 * weight;
    let each = (0..scores.len()).map(|at| {
        let mut sum = scores[at];
        for (distance, weight) in [(1, weight), (2, weight / 2.0)] {
            let before = at.checked_sub(distance);
            let after = Some(at + distance).filter(|after| *after < scores.len());
            for near in [before, after].into_iter().flatten() {
                if together(at, near) {
                    sum += weight * scores[near];
                }
            }
        }
        sum / size
    });
    each.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Turn;
    use crate::tokens::CountWords;

    #[test]
    fn neighbors_count_inside_a_session() {
        let turns: Vec<Turn> = ["a", "a", "a", "a", "b"]
            .iter()
            .enumerate()
            .map(|(at, session)| Turn {
                session: Some((*session).into()),
                ..Turn::new(at.to_string(), "user", "x")
            })
            .collect();
        let history = History::of(&turns, &CountWords).unwrap();
        let found = with_neighbors(&[0.0, 0.0, 0.0, 5.0, 0.0], &history, 0.5);
        assert_eq!(found, [0.0, 0.5, 1.0, 2.0, 0.0]);
        let plain = with_neighbors(&[1.0, 2.0, 3.0, 4.0, 5.0], &history, 0.0);
        assert_eq!(plain, [1.0, 2.0, 3.0, 4.0, 5.0]);
    }
}
