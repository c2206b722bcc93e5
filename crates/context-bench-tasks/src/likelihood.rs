//! Windows over long texts, so that every token is predicted exactly once.

/// A window: the tokens before, and the tokens that are predicted.
pub type Window = (Vec<u32>, Vec<u32>);

/// Windows of at most `most` tokens with at least `context` tokens before what they
/// predict; the first one starts with `prefix`.
pub fn rolling_windows(tokens: &[u32], prefix: u32, most: usize, context: usize) -> Vec<Window> {
    if tokens.is_empty() || most == 0 || context == 0 || context > most {
        return Vec::new();
    }
    let step = most - context + 1;
    let first = most.min(tokens.len());
    let mut before = vec![prefix];
    before.extend(&tokens[..first - 1]);
    let mut windows = vec![(before, tokens[..first].to_vec())];
    let mut done = first;
    while done < tokens.len() {
        let n = step.min(tokens.len() - done);
        let end = done + n;
        let before = tokens[(end - 1).saturating_sub(most)..end - 1].to_vec();
        windows.push((before, tokens[end - n..end].to_vec()));
        done = end;
    }
    windows
}

/// The window with a context that does not overlap what is predicted.
pub fn disjoint((mut before, predicted): Window) -> Window {
    before.truncate((before.len() + 1).saturating_sub(predicted.len()));
    (before, predicted)
}
