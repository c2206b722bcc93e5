//! Several responses to one document: the chance that one of `k` is right.

/// pass@k without bias: of `n` tries `c` were right; `None` when `k` is 0 or above `n`.
pub fn pass_at_k(n: usize, c: usize, k: usize) -> Option<f64> {
    if k == 0 || k > n || c > n {
        return None;
    }
    if n - c < k {
        return Some(1.0);
    }
    let missed: f64 = (n - c + 1..=n).map(|i| 1.0 - k as f64 / i as f64).product();
    Some(1.0 - missed)
}

/// The name of a metric's pass@k in results.
pub fn name(k: usize, metric: &str) -> String {
    format!("pass@{k}({metric})")
}

/// The values of `k` that are reported for `n` tries.
pub fn default_ks(n: usize) -> Vec<usize> {
    let mut ks: Vec<usize> = [1, 3, 5, 10, 20, 50, 100]
        .into_iter()
        .filter(|k| *k <= n)
        .collect();
    // About three points per decade above a hundred.
    let mut step = 1;
    loop {
        let k = 100.0 * 10_f64.powf(f64::from(step) / 3.0);
        if k >= n as f64 {
            break;
        }
        ks.push(k.round() as usize);
        step += 1;
    }
    ks.push(n);
    ks.sort_unstable();
    ks.dedup();
    ks.retain(|k| *k > 0);
    ks
}
