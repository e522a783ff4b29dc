"""CPU time of streams, beside the targets: `python benchmarks/streams_speed.py`."""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

import numpy as np

from dpcurves.data import Categories
from dpcurves.mechanisms.linear import draws
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import EACH_RECORD, AddRemove, PrivacyLoss
from dpcurves_streams.laws import GroupedCounts
from dpcurves_streams.mechanisms import STREAMS, Pegasus
from dpcurves_streams.mechanisms.pegasus import COLUMNS, group, trees_of
from dpcurves_streams.queries import GroupedTickQuery
from dpcurves_streams.readings import Auto, Counts, Groups, Totals
from dpcurves_streams.readings.groups import GroupsAtHand

ONE, LOSS = AddRemove(EACH_RECORD), PrivacyLoss.pure("0.1")
TICKS, KEYS, LIVE = 10**6, 4096, 40


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
    counts = generator.poisson(5, (TICKS, 1)).astype(np.int64)
    noisy = counts + generator.laplace(0, 10, (TICKS, 1))
    print(f"auto: {best(lambda: Auto(200.0).read_all(noisy)) / TICKS * 1e9:.0f} ns a step (target 60)")
    query = GroupedTickQuery((Categories("state", ("a",)),))
    law = Pegasus().plan(query, LOSS, ONE).law.required(GroupedCounts)
    common, own = (draws(noise, TICKS, randomness)[:, None] for noise in (law.common, law.own))
    joined = np.zeros_like(counts)

    def grouped() -> None:
        trees = trees_of(np.zeros((1, 1), np.int64), 64)
        joined[:] = group(counts, law.threshold + common, own, np.zeros((1, COLUMNS), np.int64), trees)

    grouping = best(grouped) / TICKS * 1e9
    medians = best(lambda: GroupsAtHand(1).follow(noisy, joined)) / TICKS * 1e9
    noise = best(lambda: [draws(each, TICKS, randomness) for each in (law.noise, law.common, law.own)]) / TICKS * 1e9
    print(f"PeGaSus: groups {grouping:.0f} + medians {medians:.0f} = {grouping + medians:.0f} ns a step (target 150)")
    print(f"         and three exact draws {noise:.0f} ns; a group every {1 / (1 - joined.mean()):.0f} steps")


def live() -> None:
    axes = (Categories("state", tuple(range(KEYS))),)
    table = np.random.default_rng(2).poisson(3, KEYS).astype(np.int64)
    for name, question in (("auto", Counts(axes)), ("PeGaSus", Groups(axes)), ("totals", Totals(axes, ticks=LIVE))):
        plan = STREAMS.plan(question.query, LOSS, ONE)
        state, reader, randomness = STREAMS.begin(plan), question.reader(plan), Randomness.system()
        times = []
        for tick in range(1, LIVE + 1):
            start = process_time()
            values, state = STREAMS.step(table, tick, state, plan, randomness)
            stored = state.to_bytes()
            reader.read(values)
            times.append(process_time() - start)
        middle = np.median(times[2:]) * 1e3
        print(f"{name}: a tick of {KEYS} keys {middle:.1f} ms, without its commit; state {len(stored):,} bytes")


if __name__ == "__main__":
    one_stream()
    live()
