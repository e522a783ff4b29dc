"""CPU time of streams, beside the targets: `python benchmarks/streams_speed.py`."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from dpcurves.data import Categories
from dpcurves.mechanisms.linear import sample_noise
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.distributions import GroupedCounts
from dpcurves_streams.mechanisms import STREAMS, Pegasus
from dpcurves_streams.mechanisms.pegasus import STATE_COLUMNS, build_fenwick_trees, decide_groups
from dpcurves_streams.queries import GroupedTimeStepQuery
from dpcurves_streams.readings import AdaptiveSmoother, Counts, Groups, Totals
from dpcurves_streams.readings.groups import OpenGroups

ONE, LOSS = AddRemove(EACH_RECORD), PrivacyLoss.pure("0.1")
TIME_STEPS, KEYS, LIVE = 10**6, 4096, 40


def best(run: Callable[[], object]) -> float:
    """The least CPU time of three runs, after one that compiles."""
    times = []
    for _ in range(4):
        start = process_time()
        run()
        times.append(process_time() - start)
    return min(times[1:])


def one_stream() -> None:
    generator, randomness = np.random.default_rng(1), Randomness.from_seed(1)
    counts = generator.poisson(5, (TIME_STEPS, 1)).astype(np.int64)
    noisy = counts + generator.laplace(0, 10, (TIME_STEPS, 1))
    print(
        f"auto: {best(lambda: AdaptiveSmoother(200.0).estimate_all(noisy)) / TIME_STEPS * 1e9:.0f} ns/step (target 60)"
    )
    query = GroupedTimeStepQuery((Categories("state", ("a",)),))
    distribution = Pegasus().plan(query, LOSS, ONE).distribution.require_type(GroupedCounts)
    common, own = (
        sample_noise(noise, TIME_STEPS, randomness)[:, None]
        for noise in (distribution.threshold_noise, distribution.test_noise)
    )
    joined = np.zeros_like(counts)

    def grouped() -> None:
        trees = build_fenwick_trees(np.zeros((1, 1), np.int64), 64)
        joined[:] = decide_groups(
            counts, distribution.threshold + common, own, np.zeros((1, STATE_COLUMNS), np.int64), trees
        )

    grouping = best(grouped) / TIME_STEPS * 1e9
    medians = best(lambda: OpenGroups(1).add_values(noisy, joined)) / TIME_STEPS * 1e9
    noise = (
        best(
            lambda: [
                sample_noise(each, TIME_STEPS, randomness)
                for each in (distribution.noise, distribution.threshold_noise, distribution.test_noise)
            ]
        )
        / TIME_STEPS
        * 1e9
    )
    print(f"PeGaSus: groups {grouping:.0f} + medians {medians:.0f} = {grouping + medians:.0f} ns a step (target 150)")
    print(f"         and three exact draws {noise:.0f} ns; a group every {1 / (1 - joined.mean()):.0f} steps")


def live() -> None:
    axes = (Categories("state", tuple(range(KEYS))),)
    table = np.random.default_rng(2).poisson(3, KEYS).astype(np.int64)
    for name, question in (
        ("auto", Counts(axes)),
        ("PeGaSus", Groups(axes)),
        ("totals", Totals(axes, time_steps=LIVE)),
    ):
        plan = STREAMS.plan(question.query, LOSS, ONE)
        state, reader, randomness = STREAMS.begin(plan), question.reader(plan), Randomness.from_system()
        times = []
        for time_step in range(1, LIVE + 1):
            start = process_time()
            values, state = STREAMS.step(table, time_step, state, plan, randomness)
            stored = state.to_bytes()
            reader.read_next(values)
            times.append(process_time() - start)
        middle = np.median(times[2:]) * 1e3
        print(f"{name}: a time step of {KEYS} keys {middle:.1f} ms, without its commit; state {len(stored):,} bytes")


if __name__ == "__main__":
    one_stream()
    live()
