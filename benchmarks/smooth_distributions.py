"""Distribution functions of few records on smooth distributions, beside a projection on Legendre polynomials; and wrong
hints.

`python benchmarks/smooth_distributions.py [--parts distributions rough hint papers] [--releases N] [--records N ...]
[--cells N] [--half choose | judge] [--seed N] [--json FILE] [--beside FILE]`. Errors are those of the noise: against
the distribution function of the same records, whose number is public (replace-one), pure losses. Each method gets the
same records.

*distributions*: the distributions of `SMOOTH`, drawn on [0, 1], at n * epsilon = 1,000; KS (x 10^-3) of `dp.cdf`, of 6
and of 10 Legendre coefficients, and ours over the better of the two. *rough*: peaks, ties, atoms and rough data of
`accuracy/shapes.py` at the same losses, ours alone. *hint*: the root mean square error with `hint="spread"` on data
that are not, over that without a hint and over that of one tree. *papers*: three tasks of the first paper at n *
epsilon = 10^4 or so, with the mean width of the band. `--json` keeps the errors of each release, and `--beside` prints
ratios to those of another run with the same seed. The list of distributions was fixed before anything was fitted to it.
Nothing is asserted.

The projection (Tao and Sarwate 2026, arXiv 2501.06620) releases coefficients of the distribution function, that is
means over records of integrals of Legendre polynomials from the record to 1, with Laplace noise of the exact joint
sensitivity. Here it is also made monotone and cut to [0, 1], which is no part of it and only helps.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from accuracy import data
from accuracy.answering import COLUMN, answer
from accuracy.data import FloatArray, Sample
from accuracy.errors import METRICS, errors_of
from accuracy.methods import Job, tree
from accuracy.shapes import SHAPES, Half, half_of
from accuracy.targets import POISSON_RECORDS
from rich.console import Console
from rich.progress import track
from rich.table import Table
from scipy import stats

from dpcurves.curves import CDF, CdfQuestion
from dpcurves.data import Grid
from dpcurves.privacy import PrivacyLoss
from dpcurves.queries import Hint
from dpcurves.summaries import isotonic_projection

TIMES_EPSILON = 1_000
COEFFICIENTS = 6, 10
MARK, HINT_MARK = 1.2, 1.5
ROUGH = (
    "peak", "incomes", "atoms", "rough", "blocks", "thin tail", "peak on a plain", "whole numbers", "heaps", "zipf",
    "zeros", "rough fall", "gaps", "even", "long tail",
)  # fmt: skip
NOT_SPREAD = (("zipf", 300_000), ("zeros", 30_000), ("peak on a plain", 30_000), ("atoms", 300_000))


class Smooth(NamedTuple):
    """A distribution on [0, 1]: a mixture, of which what lies outside is left out.

    Attributes:
        half: Whether constants may be chosen on it.
        parts: Weights and distributions.
    """

    half: Half
    parts: tuple[tuple[float, Any], ...]

    def draw(self, records: int, cells: int, draw: np.random.Generator) -> Sample:
        """So many records."""
        below = sum(weight * distribution.cdf(np.linspace(0, 1, cells + 1)) for weight, distribution in self.parts)
        inside = np.diff(below)
        return Sample(Grid(0, 1, cells=cells), draw.multinomial(records, inside / inside.sum()))


def _one(half: Half, distribution: Any) -> Smooth:
    return Smooth(half, ((1.0, distribution),))


SMOOTH: Mapping[str, Smooth] = {
    "beta(2, 5)": _one(Half.CHOOSE, stats.beta(2, 5)),
    "normal, wide": _one(Half.CHOOSE, stats.norm(0.5, 0.2)),
    "normal, aside": _one(Half.CHOOSE, stats.norm(0.35, 0.1)),
    "gamma(3)": _one(Half.CHOOSE, stats.gamma(3, 0, 1 / 12)),
    "two normals": Smooth(Half.CHOOSE, ((0.5, stats.norm(0.3, 0.1)), (0.5, stats.norm(0.7, 0.1)))),
    "log-normal": _one(Half.CHOOSE, stats.lognorm(0.5, 0, 0.3)),
    "triangle": _one(Half.CHOOSE, stats.triang(0.3)),
    "Weibull": _one(Half.CHOOSE, stats.weibull_min(1.5, 0, 0.4)),
    "exponential": _one(Half.CHOOSE, stats.expon(0, 0.25)),
    "beta(4, 2)": _one(Half.JUDGE, stats.beta(4, 2)),
    "beta(1.5, 3)": _one(Half.JUDGE, stats.beta(1.5, 3)),
    "normal": _one(Half.JUDGE, stats.norm(0.55, 0.13)),
    "normal, to one side": _one(Half.JUDGE, stats.norm(0.8, 0.25)),
    "logistic": _one(Half.JUDGE, stats.logistic(0.45, 0.07)),
    "gamma(2)": _one(Half.JUDGE, stats.gamma(2, 0, 1 / 8)),
    "log-normal, long": _one(Half.JUDGE, stats.lognorm(0.7, 0, 0.25)),
    "skewed normal": _one(Half.JUDGE, stats.skewnorm(4, 0.2, 0.25)),
    "Gumbel": _one(Half.JUDGE, stats.gumbel_r(0.35, 0.1)),
    "Student t(4)": _one(Half.JUDGE, stats.t(4, 0.5, 0.1)),
    "normals, unlike": Smooth(Half.JUDGE, ((0.6, stats.norm(0.3, 0.08)), (0.4, stats.norm(0.65, 0.14)))),
    "three normals": Smooth(Half.JUDGE, tuple((1 / 3, stats.norm(at, 0.08)) for at in (0.2, 0.5, 0.8))),
    "exponential, short": _one(Half.JUDGE, stats.expon(0, 0.15)),
    "cosine": _one(Half.JUDGE, stats.cosine(0.5, 0.5 / np.pi)),
    "beta and even": Smooth(Half.JUDGE, ((0.7, stats.beta(3, 8)), (0.3, stats.uniform(0, 1)))),
}  # fmt: skip


def half(name: str) -> Half:
    """The half that a distribution or a shape belongs to."""
    return SMOOTH[name].half if name in SMOOTH else half_of(name)


@lru_cache
def _basis(coefficients: int, cells: int) -> tuple[FloatArray, FloatArray, float]:
    """Orthonormal polynomials at edges, their integrals from middles of cells to 1, and the joint sensitivity."""
    edges = np.linspace(0, 1, cells + 1)
    order = np.arange(coefficients)[:, None]
    at_edges = np.sqrt(2 * order + 1) * _legendre(2 * edges - 1, coefficients)
    above = _integrals((edges[1:] + edges[:-1]) / 2, coefficients)
    tried = _integrals(np.linspace(0, 1, 513), coefficients)
    sensitivity = max(float(np.abs(tried - one[:, None]).sum(axis=0).max()) for one in tried.T)
    return at_edges, above, sensitivity


def _legendre(at: FloatArray, many: int) -> FloatArray:
    return np.polynomial.legendre.legvander(at, many - 1).T


def _integrals(at: FloatArray, many: int) -> FloatArray:
    """Integrals of orthonormal polynomials from these points to 1."""
    values, order = _legendre(2 * at - 1, many + 1), np.arange(1, many)[:, None]
    return np.vstack([1 - at, (values[:-2] - values[2:]) / (2 * np.sqrt(2 * order + 1))])


def projected(sample: Sample, epsilon: float, coefficients: int, draw: np.random.Generator) -> FloatArray:
    """Shares below edges from noisy coefficients; the sensitivity of a mean under replace-one."""
    at_edges, above, sensitivity = _basis(coefficients, sample.grid.cells)
    means = above @ sample.counts / sample.records
    noisy = means + draw.laplace(0, sensitivity / (sample.records * epsilon), coefficients)
    shares = np.clip(isotonic_projection(noisy @ at_edges), 0, 1)
    shares[0], shares[-1] = 0, 1
    return np.asarray(shares)


def released(sample: Sample, epsilon: Fraction, seed: int, hint: Hint | None = None) -> CDF:
    """Ask as a user does."""
    return answer(CdfQuestion(COLUMN, sample.grid, hint=hint), sample, PrivacyLoss.pure(epsilon), seed)


Errors = dict[str, FloatArray]
"""Errors of each method: (releases, metrics)."""


def measured(options: argparse.Namespace, name: str, records: int, part: str) -> Errors:
    """Errors of all methods, on the same records."""
    found: dict[str, list[tuple[float, ...]]] = {}
    epsilon = Fraction(TIMES_EPSILON, records)
    for release in range(options.releases):
        draw = np.random.default_rng([options.seed, release, records, *name.encode()])
        sample, seed = _sample(name, records, options.cells, draw), int(draw.integers(2**31))
        found.setdefault("ours", []).append(errors_of(released(sample, epsilon, seed).y, sample))
        for many in COEFFICIENTS if part == "distributions" else ():
            shares = projected(sample, float(epsilon), many, draw)
            found.setdefault(f"{many} coefficients", []).append(errors_of(shares, sample))
    return {method: np.array(errors) for method, errors in found.items()}


def _sample(name: str, records: int, cells: int, draw: np.random.Generator) -> Sample:
    if name in SMOOTH:
        return SMOOTH[name].draw(records, cells, draw)
    return SHAPES[name].sample(records, cells, draw)


def of_hint(options: argparse.Namespace, name: str, records: int) -> Errors:
    """With the hint, without, and by one tree; at epsilon 0.1."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for release in range(options.releases):
        draw = np.random.default_rng([options.seed, release, records, *name.encode()])
        sample, seed, loss = _sample(name, records, options.cells, draw), int(draw.integers(2**31)), Fraction(1, 10)
        for method, shares in (
            ("ours", released(sample, loss, seed, Hint.SPREAD).y),
            ("no hint", released(sample, loss, seed).y),
            ("one tree", tree(Job(sample, PrivacyLoss.pure(loss), seed))),
        ):
            found.setdefault(method, []).append(errors_of(shares, sample))
    return {method: np.array(errors) for method, errors in found.items()}


def of_papers(options: argparse.Namespace, task: data.Task) -> Errors:
    """Errors, and the mean width of the band."""
    found = []
    for release in range(options.releases):
        sample = task.sample(release % 8)
        curve = released(sample, Fraction(1), 1000 + release)
        lower, upper = curve.band(0.9)
        found.append((*errors_of(curve.y, sample), float(np.mean(upper - lower))))
    return {"ours": np.array(found)}


Measured = Iterator[tuple[str, Errors]]


def distributions(options: argparse.Namespace, part: str = "distributions") -> Measured:
    """The distributions of one half or both, or the rough shapes."""
    names = [
        name for name in (SMOOTH if part == "distributions" else ROUGH) if options.half in (None, half(name).value)
    ]
    for name in track(names, description=part, transient=True):
        for records in options.records:
            yield f"{name}, n {records:,}", measured(options, name, records, part)


def rough(options: argparse.Namespace) -> Measured:
    """Shapes that are not smooth."""
    return distributions(options, "rough")


def hint(options: argparse.Namespace) -> Measured:
    """Data that are not spread, and a distribution that is."""
    for name, records in track((*NOT_SPREAD, ("beta(2, 5)", 10_000)), description="hint", transient=True):
        yield f"{name}, n {records:,}", of_hint(options, name, records)


def papers(options: argparse.Namespace) -> Measured:
    """N(0, 1), its peaked sister, and Poisson counts of 2**15 cells."""
    tasks = data.normal("normal", 0, 1, 8), data.normal("peaked", 0.3, 0.01, 8), data.poisson(15, 8)
    for task in track(tasks, description="papers", transient=True):
        yield task.name, of_papers(options, task)


PARTS: dict[str, Callable[[argparse.Namespace], Measured]] = {
    "distributions": distributions, "rough": rough, "hint": hint, "papers": papers,
}  # fmt: skip


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure part by part, and print each."""
    options = _options(arguments)
    console = Console(width=None if Console().is_terminal else 180)
    before = json.loads(options.beside.read_text(encoding="utf-8")) if options.beside else {}
    kept: dict[str, dict[str, list[list[float]]]] = {}
    for part in options.parts:
        found = dict(PARTS[part](options))
        kept[part] = {name: errors["ours"].tolist() for name, errors in found.items()}
        console.print(_table(part, found, before.get(part, {})))
    if options.json:
        options.json.write_text(json.dumps(kept), encoding="utf-8")


def _table(part: str, found: Mapping[str, Errors], before: Mapping[str, Any]) -> Table:
    """Print a line for each distribution, and geometric means below."""
    table = Table(title=f"{part}: errors x 10^-3, and ratios")
    ratios: list[list[float]] = []
    heads: list[str] = []
    for name, errors in found.items():
        means = {method: own.mean(axis=0) for method, own in errors.items()}
        told = _told(part, errors)
        now = np.log(means["ours"][:3])
        for place, metric in enumerate(METRICS if name in before else ()):
            told[f"{metric} over before"] = float(np.exp(now[place])) / float(np.mean(before[name], axis=0)[place])
        shown = {
            f"{method} {METRICS[place]}": own[place] * 1e3 for method, own in means.items() for place in _shown(part)
        }
        if part == "papers":
            shown |= {"band": means["ours"][3] * 1e3, "RMSE, records": means["ours"][2] * POISSON_RECORDS}
        if not heads:
            heads = [*shown, *told]
            for column in (part, *heads):
                table.add_column(column, justify="left" if column == part else "right")
        ratios.append(list(told.values()))
        table.add_row(name, *(f"{value:.2f}" for value in (*shown.values(), *told.values())))
    if ratios and ratios[0]:
        blank = [""] * (len(heads) - len(ratios[0]))
        table.add_section()
        table.add_row("geometric mean", *blank, *(f"{value:.3f}" for value in np.exp(np.log(ratios).mean(axis=0))))
        table.add_row("worst", *blank, *(f"{value:.3f}" for value in np.max(ratios, axis=0)))
    return table


def _shown(part: str) -> tuple[int, ...]:
    """The printed metrics."""
    return {"distributions": (0,), "hint": (2,)}.get(part, (0, 1, 2))


def _told(part: str, errors: Errors) -> dict[str, float]:
    """Ratios beside their marks."""
    if part == "distributions":
        own, *others = (each[:, 0].mean() for each in errors.values())
        return {f"over the better ({MARK})": float(own / min(others))}
    if part == "hint":
        own, *others = (each[:, 2].mean() for each in errors.values())
        names = f"over no hint ({HINT_MARK})", "over one tree"
        return {name: float(own / other) for name, other in zip(names, others, strict=True)}
    return {}


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS), help="what to measure")
    parser.add_argument("--releases", type=int, default=16, help="of each task")
    parser.add_argument("--records", type=int, nargs="+", default=[1_000, 10_000], help="n; epsilon is 1,000 / n")
    parser.add_argument("--cells", type=int, default=4096, help="of the grid")
    parser.add_argument("--half", choices=[each.value for each in Half], help="only these distributions and shapes")
    parser.add_argument("--seed", type=int, default=1, help="of records and noise")
    parser.add_argument("--json", type=Path, help="file for our errors")
    parser.add_argument("--beside", type=Path, help="such a file of another run")
    return parser.parse_args(arguments)


if __name__ == "__main__":
    main()
