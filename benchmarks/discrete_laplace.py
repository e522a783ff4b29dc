"""Exact draws a second, beside OpenDP 0.16, in one run: `python benchmarks/discrete_laplace.py`."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from time import perf_counter

import numpy as np
import opendp.prelude as opendp

from dpcurves.noise import Randomness, discrete_gaussian, discrete_laplace, sample_exponential_mechanism

DRAWS = 1_000_000
ROUNDS = 3
WANTED = 6
SCALES = (Fraction(1), Fraction(10), Fraction(10**6))
DEVIATIONS = (Fraction(10), Fraction(1000))
SYSTEM = Randomness.from_system()
ZEROS = np.zeros(DRAWS, dtype=np.int64)


def seconds(work: Callable[[], object], rounds: int = ROUNDS) -> float:
    """The best of some rounds."""
    taken = []
    for _ in range(rounds):
        started = perf_counter()
        work()
        taken.append(perf_counter() - started)
    return min(taken)


def opendp_seconds(make: Callable[..., Callable[[list[int]], object]], metric: object, scale: Fraction) -> float:
    """OpenDP's measurement of a vector of zeros, without what it takes to carry the vector there and back."""
    vectors, zeros = opendp.vector_domain(opendp.atom_domain(T="i64")), [0] * DRAWS
    measure = make(vectors, metric, scale=float(scale))
    carry = opendp.t.make_identity(vectors, opendp.symmetric_distance())
    return seconds(lambda: measure(zeros), rounds=1) - seconds(lambda: carry(zeros), rounds=1)


def line(noise: str, scale: Fraction, ours: float, first: float, theirs: float) -> None:
    print(
        f"{noise:20}{float(scale):>10g}{DRAWS / ours / 1e6:13.1f}{DRAWS / theirs / 1e6:13.3f}"
        f"{theirs / ours:9.0f}x{1e3 * first:12.1f}"
    )


def laplace(scale: Fraction) -> float:
    first = seconds(lambda: discrete_laplace.sample(scale, 1, SYSTEM), rounds=1)
    ours = seconds(lambda: ZEROS + discrete_laplace.sample(scale, DRAWS, SYSTEM))
    theirs = opendp_seconds(opendp.m.make_laplace, opendp.l1_distance(T="i64"), scale)
    line("discrete Laplace", scale, ours, first, theirs)
    return theirs / ours


def gaussian(deviation: Fraction) -> None:
    first = seconds(lambda: discrete_gaussian.sample(deviation**2, 1, SYSTEM), rounds=1)
    ours = seconds(lambda: ZEROS + discrete_gaussian.sample(deviation**2, DRAWS, SYSTEM))
    theirs = opendp_seconds(opendp.m.make_gaussian, opendp.l2_distance(T="i64"), deviation)
    line("discrete Gaussian", deviation, ours, first, theirs)


def choice(places: int, rate: Fraction) -> None:
    penalties = np.abs(np.arange(-(2 ** (places - 1)), 2 ** (places - 1)))
    taken = seconds(lambda: sample_exponential_mechanism(penalties, rate, SYSTEM), rounds=10)
    print(f"choose among 2^{places:<8}{float(rate):>10g}{1e3 * taken:13.2f} ms")


def main() -> None:
    opendp.enable_features("contrib", "honest-but-curious")
    print(f"{DRAWS} draws; a first draw also builds the table of its distribution")
    print("noise                    scale ours, 10^6/s  OpenDP 10^6/s   ratio   first, ms")
    ratios = [laplace(scale) for scale in SCALES]
    for deviation in DEVIATIONS:
        gaussian(deviation)
    print("\none private choice        rate         time")
    for places in (10, 16, 20):
        for rate in (Fraction(1, 1000), Fraction(1)):
            choice(places, rate)
    print(f"\ndiscrete Laplace, least ratio to OpenDP: {min(ratios):.0f}x (wanted: {WANTED}x)")


if __name__ == "__main__":
    main()
