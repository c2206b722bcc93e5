//! WireMetrics: what a tap behind a system saw, over its rows.

use super::Metric;
use super::saved::SavedShare;
use crate::model::{EvalRow, Measurement, Summary, Unit, WireFacts};
use crate::stats;

/// Figures of the wire, for systems whose calls passed a tap; none for others.
///
/// | Key | Means |
/// |---|---|
/// | `wire_saved` | 1 − Σ tokens that went out / Σ tokens that came in, by the local tokenizer |
/// | `wire_saved_median` | the median of that over rows |
/// | `wire_saved_bytes` | the same as `wire_saved` in bytes of bodies |
/// | `engagement` | the share of rows with a request that went out changed |
/// | `extra_calls` | calls upstream beyond the one that was relayed, a row |
/// | `local_answers` | the share of rows with an answer that no provider gave |
/// | `added_before_p50` | seconds from the client's request to the provider's |
/// | `added_after_p50` | seconds from the provider's last byte to the client's |
/// | `added_first_p50` | seconds from the provider's first output to the client's, of streams |
/// | `added_p50`, `added_p99` | before and after together, in the middle and beyond nearly all rows |
/// | `stream_in_time` | the share of frames with output that arrived within 50 ms |
/// | `streams_buffered` | the share of rows with a stream that was held back |
/// | `claimed_saved` | the share of tokens that the proxy says it saved |
/// | `wire_calibration` | tokens of the provider for one of the local tokenizer |
/// | `wire_calibration_spread` | how far that differs between rows, as a share of itself |
///
/// Savings rest on rows with an answer; calls are counted of all rows. The first row of an
/// arm pays for its start and is no part of the times.
#[derive(Debug, Clone, Copy, Default)]
pub struct WireMetrics;

impl Metric for WireMetrics {
    fn name(&self) -> &str {
        "wire"
    }

    fn compute(&self, rows: &[EvalRow]) -> Summary {
        let mut summary = Summary::new();
        if rows.iter().all(|row| row.wire.is_none()) {
            return summary;
        }
        let all = || rows.iter().filter_map(|row| row.wire.as_deref());
        let answered = || completed(rows);
        let mut set = |name: &str, value: Option<f64>, unit: Unit, n: usize| {
            if value.is_some() {
                let measurement = Measurement {
                    value,
                    unit,
                    n: Some(n),
                    ..Measurement::default()
                };
                summary.set(name, measurement);
            }
        };
        let local = saved(rows);
        let n = local.n.unwrap_or(0);
        set("wire_saved", local.value, Unit::Share, n);
        let each = answered().filter_map(|facts| of_pairs([facts.tokens()?]).value);
        let each = sorted(each);
        set(
            "wire_saved_median",
            stats::median(&each),
            Unit::Share,
            each.len(),
        );
        let bytes = answered().filter(|facts| !facts.stateful && facts.client_bytes > 0);
        let bytes = of_pairs(bytes.map(|facts| (facts.client_bytes, facts.upstream_bytes)));
        set(
            "wire_saved_bytes",
            bytes.value,
            Unit::Share,
            bytes.n.unwrap_or(0),
        );
        let engaged: Vec<bool> = all()
            .filter_map(|facts| facts.engagement)
            .map(|engagement| engagement.is_changed())
            .collect();
        set("engagement", share(&engaged), Unit::Share, engaged.len());
        let extra: Vec<u64> = all().map(|facts| facts.calls.extra()).collect();
        let per_row = extra.iter().sum::<u64>() as f64 / extra.len() as f64;
        set("extra_calls", Some(per_row), Unit::Number, extra.len());
        let by_itself: Vec<bool> = all().map(|facts| facts.local_answers > 0).collect();
        let some = share(&by_itself).filter(|share| *share > 0.0);
        set("local_answers", some, Unit::Share, by_itself.len());

        let times = |time: fn(&WireFacts) -> Option<f64>| {
            sorted(answered().filter(|facts| !facts.cold).filter_map(time))
        };
        let before = times(|facts| facts.added?.before());
        let after = times(|facts| facts.added?.tail);
        let first = times(|facts| facts.stream.and(facts.added)?.ttft_relay);
        let both = times(|facts| facts.added?.both());
        for (name, times, share) in [
            ("added_before_p50", &before, 0.5),
            ("added_after_p50", &after, 0.5),
            ("added_first_p50", &first, 0.5),
            ("added_p50", &both, 0.5),
            ("added_p99", &both, 0.99),
        ] {
            let value = match share {
                0.5 => stats::median(times),
                share => stats::percentile(times, share),
            };
            set(name, value, Unit::Seconds, times.len());
        }
        let streams: Vec<_> = answered().filter_map(|facts| facts.stream).collect();
        let frames: u64 = streams.iter().map(|stream| stream.frames).sum();
        let in_time: u64 = streams.iter().map(|stream| stream.in_time).sum();
        let in_time = (frames > 0).then(|| in_time as f64 / frames as f64);
        set("stream_in_time", in_time, Unit::Share, streams.len());
        let buffered: Vec<bool> = streams.iter().map(|stream| stream.buffered).collect();
        set(
            "streams_buffered",
            share(&buffered),
            Unit::Share,
            buffered.len(),
        );

        let claims = answered().filter_map(|facts| {
            let (saved, of) = facts.claimed?.saved_of();
            // Of how many is seldom said; what came in is known here.
            Some((of.or(facts.client_tokens)?, saved?))
        });
        let (mut before, mut claimed, mut n) = (0, 0, 0);
        for (of, saved) in claims {
            (before, claimed, n) = (before + of, claimed + saved, n + 1);
        }
        let claimed = (before > 0).then(|| claimed as f64 / before as f64);
        set("claimed_saved", claimed, Unit::Share, n);

        let counted: Vec<(u64, u64)> = answered()
            .filter(|facts| !facts.stateful && !facts.cache_or_images)
            .filter_map(|facts| Some((facts.usage_input()?, facts.upstream_tokens?)))
            .filter(|(_, tokens)| *tokens > 0)
            .collect();
        let (usage, tokens) = counted.iter().fold((0, 0), |(usage, tokens), one| {
            (usage + one.0, tokens + one.1)
        });
        let mean = (tokens > 0).then(|| usage as f64 / tokens as f64);
        let each = sorted(counted.iter().map(|one| one.0 as f64 / one.1 as f64));
        let ends = each.first().zip(each.last());
        let spread = ends
            .zip(mean)
            .map(|((least, most), mean)| (most - least) / mean);
        set("wire_calibration", mean, Unit::Number, counted.len());
        set(
            "wire_calibration_spread",
            spread.filter(|spread| spread.is_finite()),
            Unit::Share,
            counted.len(),
        );
        summary
    }
}

/// The facts of rows with an answer.
pub(super) fn completed(rows: &[EvalRow]) -> impl Iterator<Item = &WireFacts> {
    let answered = rows.iter().filter(|row| row.is_completed());
    answered.filter_map(|row| row.wire.as_deref())
}

/// The share of tokens that was saved on the wire, by the local tokenizer.
pub(super) fn saved(rows: &[EvalRow]) -> Measurement {
    of_pairs(completed(rows).filter_map(WireFacts::tokens))
}

fn of_pairs(pairs: impl IntoIterator<Item = (u64, u64)>) -> Measurement {
    pairs.into_iter().collect::<SavedShare>().measurement()
}

fn share(flags: &[bool]) -> Option<f64> {
    let set = flags.iter().filter(|flag| **flag).count();
    (!flags.is_empty()).then(|| set as f64 / flags.len() as f64)
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.filter(|value| value.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{
        Failure, FailureKind, Scores, WireAdded, WireClaim, WireEngagement, WireStream, WireUsage,
    };

    fn row(change: impl FnOnce(&mut WireFacts)) -> EvalRow {
        let mut facts = WireFacts::default();
        facts.calls.primary = 1;
        change(&mut facts);
        let mut row = EvalRow::new("s", "1", Scores::new(), 0, 0);
        row.wire = Some(Box::new(facts));
        row
    }

    fn tokens(client: u64, upstream: u64, changed: WireEngagement) -> EvalRow {
        row(|facts| {
            facts.client_tokens = Some(client);
            facts.upstream_tokens = Some(upstream);
            facts.client_bytes = client * 4;
            facts.upstream_bytes = upstream * 4;
            facts.engagement = Some(changed);
        })
    }

    #[test]
    fn figures_are_weighted_and_absent_where_unknown() {
        use WireEngagement::*;
        let mut failed = tokens(1000, 10, ChangedContent);
        failed.failure = Some(Box::new(Failure::new(FailureKind::Timeout, "late")));
        if let Some(wire) = &mut failed.wire {
            wire.calls.retry = 3;
        }
        let rows = vec![
            tokens(8000, 2000, ChangedContent),
            tokens(1000, 1000, IdenticalBytes),
            tokens(1000, 500, ChangedStructure),
            failed,
        ];
        let summary = WireMetrics.compute(&rows);
        assert_eq!(summary.value("wire_saved"), Some(0.65));
        assert_eq!(summary.value("wire_saved_median"), Some(0.5));
        assert_eq!(summary.value("wire_saved_bytes"), Some(0.65));
        assert_eq!(summary.value("engagement"), Some(0.75));
        assert_eq!(summary.value("extra_calls"), Some(0.75));
        for absent in [
            "added_before_p50",
            "claimed_saved",
            "local_answers",
            "stream_in_time",
        ] {
            assert!(summary.get(absent).is_none(), "{absent}");
        }
        let untapped = [EvalRow::new("s", "1", Scores::new(), 0, 0)];
        assert_eq!(WireMetrics.compute(&untapped), Summary::new());
    }

    #[test]
    fn times_leave_the_cold_row_out_and_claims_stand_beside() {
        let added = |pre: f64, tail: f64| {
            Some(WireAdded {
                pre: Some(pre),
                aux_wait: 0.5,
                tail: Some(tail),
                ..WireAdded::default()
            })
        };
        let rows = [
            row(|facts| {
                facts.cold = true;
                facts.added = added(9.0, 9.0);
            }),
            row(|facts| {
                facts.added = added(1.0, 0.25);
                facts.client_tokens = Some(100);
                facts.claimed = Some(WireClaim {
                    tokens_saved: Some(30),
                    ..WireClaim::default()
                });
                facts.stream = Some(WireStream {
                    frames: 4,
                    in_time: 3,
                    buffered: true,
                });
                facts.local_answers = 1;
            }),
        ];
        let summary = WireMetrics.compute(&rows);
        assert_eq!(summary.value("added_before_p50"), Some(1.5));
        assert_eq!(summary.value("added_after_p50"), Some(0.25));
        assert_eq!(summary.value("added_p50"), Some(1.75));
        assert_eq!(summary.value("added_p99"), Some(1.75));
        assert_eq!(summary.value("claimed_saved"), Some(0.3));
        assert_eq!(summary.value("stream_in_time"), Some(0.75));
        assert_eq!(summary.value("streams_buffered"), Some(1.0));
        assert_eq!(summary.value("local_answers"), Some(0.5));
    }

    #[test]
    fn calibration_says_how_far_two_tokenizers_differ() {
        let counted = |tokens: u64, usage: u64, cached: bool| {
            row(|facts| {
                facts.upstream_tokens = Some(tokens);
                facts.cache_or_images = cached;
                facts.usage = Some(WireUsage {
                    uncached: usage,
                    ..WireUsage::default()
                });
            })
        };
        let rows = [
            counted(100, 110, false),
            counted(100, 130, false),
            counted(100, 900, true),
        ];
        let summary = WireMetrics.compute(&rows);
        assert_eq!(summary.value("wire_calibration"), Some(1.2));
        let spread = summary.value("wire_calibration_spread").unwrap_or_default();
        assert!((spread - 1.0 / 6.0).abs() < 1e-9, "{spread}");
    }
}
