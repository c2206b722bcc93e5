"""Writes the worked cases of this folder; see README.md for what it needs.

`make test-statistics` writes other cases into another folder: make.py SEED FOLDER.
"""

import json
import math
import os
import sys
import warnings

import numpy as np

try:
    np.float_ = np.float64  # confseq 0.0.11 was written for numpy 1
    import confseq.betting
except ImportError:  # it takes a compiler and Boost
    confseq = None
import scipy.stats  # noqa: E402
import statsmodels.stats.contingency_tables as tables  # noqa: E402
import statsmodels.stats.multitest as multitest  # noqa: E402
import statsmodels.stats.power as power  # noqa: E402
import statsmodels.stats.weightstats as weightstats  # noqa: E402

warnings.simplefilter("ignore")
SEED = int(sys.argv[1]) if len(sys.argv) > 1 else 19
FOLDER = sys.argv[2] if len(sys.argv) > 2 else "."
rng = np.random.default_rng(SEED)
SETS = 60


def write(name, cases):
    with open(os.path.join(FOLDER, f"{name}.jsonl"), "w") as file:
        for case in cases:
            file.write(json.dumps(case, separators=(",", ":")) + "\n")


def differences(at):
    """Lists of every sort that scores make: binary, shares, skewed, shifted."""
    n = int(rng.integers(8, 70))
    kind = at % 4
    if kind == 0:
        values = rng.choice([-1, 0, 1], n, p=[0.15, 0.6, 0.25])
    elif kind == 1:
        values = rng.beta(2, 2, n) - rng.beta(2, 1.5, n)
    elif kind == 2:
        values = rng.exponential(0.2, n) - 0.15
    else:
        values = rng.normal(0.05, 0.3, n)
    values = np.round(values.astype(float), 3)
    if np.ptp(values) == 0:
        values[0] = 1.0
    return values


def bootstrap():
    for at in range(SETS):
        values = differences(at)
        clusters = None
        if at % 2:
            marks = rng.integers(0, max(4, len(values) // 3), len(values))
            marks = np.unique(marks, return_inverse=True)[1]
            clusters = marks.tolist()
            sums = np.bincount(marks, values)
            sizes = np.bincount(marks).astype(float)
        else:
            sums, sizes = values, np.ones(len(values))

        def mean(sums, sizes, axis=-1):
            return np.sum(sums, axis=axis) / np.sum(sizes, axis=axis)

        confidence = [0.95, 0.9][at % 3 == 0]
        found = scipy.stats.bootstrap(
            (sums, sizes), mean, paired=True, vectorized=True, method="BCa",
            n_resamples=100_000, confidence_level=confidence, batch=10_000, rng=rng)
        yield {"values": values.tolist(), "clusters": clusters, "confidence": confidence,
               "low": found.confidence_interval.low, "high": found.confidence_interval.high,
               "stderr": float(found.standard_error)}


def sign_flip():
    for at in range(SETS):
        values = differences(at)[: 12 if at % 2 else None]
        zeros = np.zeros(len(values))
        exact = at % 2 == 1
        found = scipy.stats.permutation_test(
            (values, zeros), lambda x, y, axis=-1: np.mean(x - y, axis=axis),
            permutation_type="samples", vectorized=True,
            n_resamples=np.inf if exact else 100_000, batch=10_000, rng=rng)
        yield {"values": values.tolist(), "exact": exact, "p": float(found.pvalue)}


def mcnemar():
    for at in range(SETS):
        scale = [4, 20, 200, 30_000][at % 4]
        gained, lost = (int(x) for x in rng.integers(0, scale, 2))
        if at % 4 == 3:
            lost = gained + int(rng.normal(0, 2) * math.sqrt(2 * gained + 1))
            lost = max(lost, 0)
        if gained + lost == 0:
            gained = 1
        found = tables.mcnemar([[10, lost], [gained, 10]], exact=True)
        fewer, n = min(gained, lost), gained + lost
        mid = min(1.0, 2 * scipy.stats.binom.cdf(fewer, n, 0.5) - scipy.stats.binom.pmf(fewer, n, 0.5))
        yield {"gained": gained, "lost": lost, "p": float(found.pvalue), "mid_p": float(mid)}


def holm():
    for _ in range(SETS):
        values = np.round(rng.beta(0.4, 2, int(rng.integers(1, 20))), 5)
        yield {"p": values.tolist(), "adjusted": multitest.multipletests(values, method="holm")[1].tolist()}


def tost():
    for at in range(SETS):
        values = differences(at)
        margin = float(np.round(rng.uniform(0.02, 0.3), 3))
        p, low, high = weightstats.ttost_paired(values, np.zeros(len(values)), -margin, margin)
        yield {"values": values.tolist(), "margin": margin, "p": float(p),
               "p_low": float(low[1]), "p_high": float(high[1])}


def sample_size():
    solver = power.TTestPower()
    for _ in range(SETS):
        margin = float(np.round(rng.uniform(0.01, 0.1), 3))
        deviation = float(np.round(rng.uniform(0.05, 0.6), 3))
        difference = float(np.round(rng.uniform(-0.4, 0.6) * margin, 4))
        wanted = float(rng.choice([0.8, 0.9]))
        effect = (difference + margin) / deviation
        n = solver.solve_power(effect_size=effect, alpha=0.025, power=wanted, alternative="larger")
        at_200 = solver.power(effect_size=effect, nobs=200, alpha=0.025, alternative="larger")
        yield {"margin": margin, "deviation": deviation, "difference": difference, "power": wanted,
               "n": float(np.atleast_1d(n)[0]), "power_at_200": float(at_200)}


def confidence_sequence():
    for at in range(SETS):
        values = np.concatenate([differences(at).clip(-1, 1) for _ in range(2)])
        scaled = (values + 1) / 2
        alpha = [0.05, 0.1][at % 2]
        low, high = confseq.betting.betting_cs(
            scaled, alpha=alpha, breaks=1000, running_intersection=True, theta=0.5,
            convex_comb=False)
        steps = sorted({1, len(values) // 3, len(values)} - {0})
        yield {"values": values.tolist(), "alpha": alpha,
               "steps": [[n, float(2 * low[n - 1] - 1), float(2 * high[n - 1] - 1)] for n in steps]}


def one_way():
    for _ in range(SETS):
        groups = []
        for _ in range(int(rng.integers(3, 12))):
            centre = rng.normal(0.5, 0.2)
            groups.append(np.round(rng.normal(centre, 0.1, int(rng.integers(2, 6))), 3))
        found = scipy.stats.f_oneway(*groups)
        yield {"groups": [group.tolist() for group in groups], "f": float(found.statistic)}


for cases in (bootstrap, sign_flip, mcnemar, holm, tost, sample_size, confidence_sequence, one_way):
    if cases is confidence_sequence and confseq is None:
        print("confidence_sequence is left out: confseq is not installed", file=sys.stderr)
        continue
    write(cases.__name__, cases())
