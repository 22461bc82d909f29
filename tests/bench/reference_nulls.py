#!/usr/bin/python3
"""A straightforward single-threaded numpy version of both published null tests, to time against.

Re-deal: the outcomes of each prompt are shuffled over its policies' draws, replicate by replicate.
Margin-preserving: a Metropolis chain of +-1 moves on 2 x 2 tables, 60 * N * M proposals of burn-in, then one
sample every 2 * N * M proposals. Every threshold is scored from the same samples.

Usage: reference_nulls.py PROMPTS POLICIES TRIALS REPLICATES [MARGIN_SAMPLES]
Prints the seconds of each test; with MARGIN_SAMPLES below REPLICATES the chain's time is scaled up to
REPLICATES (its cost a sample is constant).
"""
import sys
import time

import numpy as np

TAUS = (0.05, 0.1, 0.2, 0.3)


def scores(counts, needs):
    out = []
    for needed in needs:
        covers = counts >= needed
        some = covers.any(axis=1)
        out.append((some.mean() - covers.mean(axis=0).max(), (some & ~covers.all(axis=1)).mean()))
    return out


def redeal(counts, trials, needs, replicates, rng):
    prompts, policies = counts.shape
    outcomes = np.zeros((prompts, policies * trials), dtype=bool)
    for i, total in enumerate(counts.sum(axis=1)):
        outcomes[i, :total] = True
    samples = []
    for _ in range(replicates):
        dealt = rng.permuted(outcomes, axis=1).reshape(prompts, policies, trials).sum(axis=2)
        samples.append(scores(dealt, needs))
    return np.array(samples)


def propose(counts, trials, i, j, a, b, u):
    """One Metropolis move: one success of row i from column b to a, and back in row j."""
    if i == j or a == b:
        return
    if counts[i, a] == trials or counts[i, b] == 0 or counts[j, a] == 0 or counts[j, b] == trials:
        return
    up = (trials - counts[i, a]) * counts[i, b] * counts[j, a] * (trials - counts[j, b])
    down = (counts[i, a] + 1) * (trials - counts[i, b] + 1) * (trials - counts[j, a] + 1) * (counts[j, b] + 1)
    if u * down < up:
        counts[i, a] += 1
        counts[i, b] -= 1
        counts[j, a] -= 1
        counts[j, b] += 1


def margin(counts, trials, needs, replicates, rng):
    counts = counts.copy()
    prompts, policies = counts.shape
    samples = []
    for sample in range(-1, replicates):
        proposals = (60 if sample < 0 else 2) * prompts * policies
        rows = rng.integers(0, prompts, (proposals, 2))
        columns = rng.integers(0, policies, (proposals, 2))
        uniforms = rng.random(proposals)
        for k in range(proposals):
            propose(counts, trials, rows[k, 0], rows[k, 1], columns[k, 0], columns[k, 1], uniforms[k])
        if sample >= 0:
            samples.append(scores(counts, needs))
    return np.array(samples)


def main():
    prompts, policies, trials, replicates = (int(x) for x in sys.argv[1:5])
    chain_samples = int(sys.argv[5]) if len(sys.argv) > 5 else replicates
    rng = np.random.default_rng(1)
    rates = rng.beta(0.6, 1.4, prompts)
    counts = rng.binomial(trials, rates[:, None], (prompts, policies))
    needs = [int(np.ceil(tau * trials - 1e-9)) for tau in TAUS]

    start = time.perf_counter()
    samples = redeal(counts, trials, needs, replicates, rng)
    redeal_seconds = time.perf_counter() - start
    burn_start = time.perf_counter()
    margin(counts, trials, needs, 0, rng)
    burn_seconds = time.perf_counter() - burn_start
    start = time.perf_counter()
    chain = margin(counts, trials, needs, chain_samples, rng)
    chain_seconds = time.perf_counter() - start - burn_seconds
    margin_seconds = burn_seconds + chain_seconds * replicates / chain_samples
    print(f"redeal_seconds {redeal_seconds:.3f}")
    print(f"margin_seconds {margin_seconds:.3f}")
    print(f"redeal_L_at_0.1 {samples[:, 1, 0].mean():.5f}")
    print(f"margin_L_at_0.1 {chain[:, 1, 0].mean():.5f}")


if __name__ == "__main__":
    main()
