"""Forecasts in the table of regimes: what `dp.forecast` says over what is then measured, for every kind of question.

Records of a distribution are drawn twice: the forecast is made of the one table, as of public records that are like the
confidential ones, and answers to the other are measured: errors, and half widths of intervals. Tables are drawn again
and again until the standard error of the ratio, over tables and noise together, is `TELLING`, or as often as the run
allows: with few answers a ratio of means is off by far more than forecasts are. Another line says how often what was
measured lies between the ends that are forecast from made-up records, of distributions that the package has no
knowledge of; and one, for comparison, what the plan of the last turn says of counts, before post-processing, over what
is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import expit

import dpcurves as dp
from dpcurves.forecasts import ExpectedError, Forecast
from dpcurves.privacy import EACH_RECORD

from .lines import Line, Run
from .shapes import SHAPES, half_of

MARK, MARK_OF_WIDTHS = 1.05, 1.1
SHARE = 0.8
"""In so many cases errors for other distributions are to lie between the ends that are forecast of made-up records."""
TELLING = 0.02
"""Standard error of a ratio from which on no more tables are drawn."""
FEWEST_ROUNDS, REHEARSALS = 2, 8
"""Rounds of pairs of tables, at least, and answers to each table."""
MOST_ROUNDS = {"tiny": 2, "quick": 3, "full": 400}
MADE_UP = {"tiny": 2, "quick": 6, "full": 20}
"""Answers to each kind of made-up records."""
SIZES = ((1_000, "0.1"), (10_000, "0.1"), (10_000, "1"))
CELLS = 1024
GRID = dp.Grid(0, 1, cells=CELLS)
PLANE = dp.Grid(0, 1, cells=64)
COUNTED = "cdf", "quantiles", "histogram"
BOTH = dp.REPLACE_ONE, dp.ADD_REMOVE
Table = dict[str, Any]
Draw = Callable[[np.random.Generator, int], Table]


@dataclass(frozen=True)
class Kind:
    """One kind of question.

    Attributes:
        name: As users call it.
        question: One of the kind.
        distributions: What its records are drawn from: none of them stands in the package.
    """

    name: str
    question: Any
    distributions: Mapping[str, Draw]


def _shape(name: str) -> Draw:
    """Records of a shape, evenly within its cells."""

    def drawn(draw: np.random.Generator, size: int) -> Table:
        counts = SHAPES[name].sample(size, CELLS, draw).counts
        return {"x": (np.repeat(np.arange(CELLS), counts) + draw.random(size)) / CELLS}

    return drawn


def _labelled(positive: float, right: Callable[[Any], Any]) -> Draw:
    """Scores of a beta distribution, and labels that are positive as often as `right` says of a score."""

    def drawn(draw: np.random.Generator, size: int) -> Table:
        score = draw.beta(4 * positive, 4 * (1 - positive), size)
        return {"label": (draw.random(size) < right(score)).astype(np.int64), "score": score}

    return drawn


def _ring(draw: np.random.Generator, size: int) -> Table:
    angle, radius = draw.uniform(0, 2 * np.pi, size), draw.normal(0.35, 0.03, size)
    return {"x": np.clip(0.5 + radius * np.cos(angle), 0, 1), "y": np.clip(0.5 + radius * np.sin(angle), 0, 1)}


def _towns(draw: np.random.Generator, size: int) -> Table:
    places, own = draw.random((30, 2)), draw.choice(30, size, p=draw.dirichlet(np.full(30, 0.5)))
    points = np.clip(places[own] + draw.normal(0, 0.01, (size, 2)), 0, 1)
    return {"x": points[:, 0], "y": points[:, 1]}


def _bent(draw: np.random.Generator, size: int) -> Table:
    predicted = draw.gamma(2, 1.5, size)
    return {"x": predicted, "y": np.sin(predicted) + draw.laplace(0, 1, size)}


def _watched(draw: np.random.Generator, size: int) -> Table:
    """Times of events, half of which are watched until another time alone."""
    time, until = draw.weibull(1.3, size) * 0.3, np.where(draw.random(size) < 0.5, draw.random(size), np.inf)
    return {"x": np.minimum(time, until), "event": (time <= until).astype(np.int64)}


def _crossed(draw: np.random.Generator, size: int) -> Table:
    first, second = np.divmod(draw.choice(12, size, p=np.arange(1, 13) / 78), 4)
    return {"a": first, "b": second}


def _by_score(draw: np.random.Generator, size: int) -> Table:
    predicted = draw.uniform(0, 1, size)
    return {"x": predicted, "y": (draw.random(size) < predicted) - predicted}


LINES = {name: _shape(name) for name in SHAPES if half_of(name).value == "judge"}
LABELLED = {
    "right scores": _labelled(0.5, lambda score: score),
    "one positive in thirty": _labelled(1 / 30, lambda score: score),
    "scores too sure": _labelled(0.3, lambda score: 0.3 + 0.4 * (score - 0.3)),
    "bent scores": _labelled(0.5, lambda score: expit(3 * np.sin(4 * score))),
}
PLANES = {"a ring": _ring, "thirty towns": _towns}
MODEL = dp.DISJOINT_RECORDS
SIDES = dp.Categories("a", (0, 1, 2)), dp.Categories("b", (0, 1, 2, 3))
KINDS = (
    Kind("cdf", dp.CdfQuestion("x", GRID), LINES),
    Kind("quantiles", dp.QuantilesQuestion("x", GRID, tuple(np.arange(1, 10) / 10)), LINES),
    Kind("histogram", dp.HistogramQuestion("x", dp.Grid(0, 1, cells=64)), LINES),
    Kind("roc", dp.RocQuestion("label", "score"), LABELLED),
    Kind("calibration", dp.CalibrationQuestion("label", "score"), LABELLED),
    Kind("binned residuals", dp.BinnedResidualsQuestion("label", "score", MODEL), LABELLED),
    Kind("residual plot", dp.ResidualPlotQuestion("x", "y", 1, 1, "0.95", MODEL), {"bent": _bent, "shares": _by_score}),
    Kind("scores", dp.ScoresQuestion("label", "score"), LABELLED),
    Kind("hosmer-lemeshow", dp.HosmerLemeshowQuestion("label", "score"), LABELLED),
    Kind("count", dp.CountQuestion("x"), LINES),
    Kind("sum", dp.SumQuestion("x", 0, 1), LINES),
    Kind("mean", dp.MeanQuestion("x", 0, 1), LINES),
    Kind("variance", dp.VarianceQuestion("x", 0, 1), LINES),
    Kind("summary", dp.SummaryQuestion("x", 0, 1), LINES),
    Kind("survival", dp.SurvivalQuestion("x", "event", dp.Grid(0, 1, cells=60)), {"times": _watched}),
    Kind("contingency", dp.ContingencyQuestion(*SIDES), {"pairs": _crossed}),
    Kind("two axes", dp.Histogram2DQuestion("x", "y", PLANE, PLANE), PLANES),
)


@dataclass(frozen=True)
class Case:
    """A kind of question under terms."""

    kind: Kind
    size: int
    epsilon: str
    adjacency: dp.Neighbours

    @property
    def loss(self) -> dp.PrivacyLoss:
        return dp.PrivacyLoss.pure(self.epsilon)

    def forecast(self, draw: np.random.Generator, rehearsals: int, **records: Any) -> Forecast:
        """What is forecast of records: made-up ones, or those that are given."""
        asked = self.kind.question, self.loss, self.adjacency
        return dp.forecast(*asked, rehearsals=rehearsals, generator=draw, **records)

    @property
    def planned(self) -> float | None:
        """What the plan of the last turn says, in the unit of the forecast; None where that tells another thing."""
        if self.kind.name not in COUNTED:
            return None
        who = self.adjacency.to_adjacency(EACH_RECORD, self.size if self.adjacency.has_public_units else None)
        error = dp.plan_question(self.kind.question, self.loss, who)[-1].error
        return error if self.kind.name == "histogram" else error / self.size


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line]:
    """Two to four lines for each kind of question and adjacency."""
    for kind in _kinds(run):
        for adjacency in BOTH if run.effort.name == "full" else BOTH[:1]:
            regime = f"{kind.name}, {adjacency.value}, pure"
            cases = [Case(kind, size, epsilon, adjacency) for size, epsilon in _sizes(run)]
            tried = [Tried(case, distribution) for case in cases for distribution in _distributions(kind, run)]
            for each in _until_telling(tried, run):
                step(f"forecast of {regime}: {each.name}, {len(each.pairs)} pairs of tables")
            yield from _of_kind(regime, tried, run)


@dataclass
class Tried:
    """One distribution at one size, and what was found: of each pair of tables the mean errors, forecast and
    measured."""

    case: Case
    distribution: str
    pairs: list[tuple[ExpectedError, ExpectedError]] = field(default_factory=list)

    @property
    def name(self) -> str:
        return f"{self.distribution}, n {self.case.size:,}, epsilon {self.case.epsilon}"

    @property
    def measured(self) -> float:
        return float(np.mean([measured.error for _, measured in self.pairs]))

    @property
    def ratio(self) -> float:
        """What was forecast, over what was measured."""
        return float(np.mean([forecast.error for forecast, _ in self.pairs])) / self.measured

    @property
    def ratio_of_widths(self) -> float:
        """Half widths of intervals that were forecast, over those that are printed; NaN where there are none."""
        forecast, printed = np.mean([[each.half_width for each in pair] for pair in self.pairs], axis=0)
        return float(forecast / printed)

    @property
    def error(self) -> float:
        """The relative standard error of the ratio: by how pairs of tables differ, or answers if they do more."""
        errors = np.array([[each.error for each in pair] for pair in self.pairs])
        noise = np.array([[each.standard_error for each in pair] for pair in self.pairs]) / errors.mean(axis=0)
        apart = np.subtract(*(errors / errors.mean(axis=0)).T).std(ddof=1)
        return float(max(apart, np.sqrt(np.mean(np.sum(noise**2, axis=1)))) / np.sqrt(len(errors)))

    def one_more(self, draw: np.random.Generator) -> None:
        """Draw two more tables, forecast of the one, and measure on the other."""
        tables = _halves(self.case.kind.distributions[self.distribution](draw, 2 * self.case.size), draw)
        forecast, measured = (self.case.forecast(draw, REHEARSALS, like=table).expected_errors[0] for table in tables)
        self.pairs.append((forecast, measured))


def _until_telling(tried: Sequence[Tried], run: Run) -> Iterator[Tried]:
    """Pairs of tables for all of them in turn, until their ratios tell enough; each that is about to be tried."""
    draw = np.random.default_rng([run.seed, *repr(tried[0].case).encode()])
    for number in range(MOST_ROUNDS[run.effort.name]):
        if number >= FEWEST_ROUNDS and _mean(tried)[1] <= TELLING:
            return
        for each in tried:
            yield each
            each.one_more(draw)


def _mean(tried: Sequence[Tried]) -> tuple[float, float]:
    """The geometric mean of the ratios, and its standard error."""
    mean = float(np.exp(np.mean([np.log(each.ratio) for each in tried])))
    return mean, mean * float(np.sqrt(np.sum([each.error**2 for each in tried]))) / len(tried)


def _halves(table: Table, draw: np.random.Generator) -> tuple[Table, Table]:
    """Two tables of different records of one distribution."""
    order = draw.permutation(len(next(iter(table.values()))))
    first, second = ({name: each[order[start::2]] for name, each in table.items()} for start in (0, 1))
    return first, second


def _kinds(run: Run) -> list[Kind]:
    tried = KINDS if run.effort.name != "tiny" else KINDS[1:4]
    return [kind for kind in tried if run.takes(f"forecast of {kind.name}")]


def _sizes(run: Run) -> tuple[tuple[int, str], ...]:
    return {"tiny": SIZES[:1], "quick": SIZES[::2]}.get(run.effort.name, SIZES)


def _distributions(kind: Kind, run: Run) -> list[str]:
    distributions = list(kind.distributions)
    return distributions[: {"tiny": 1, "quick": 1}.get(run.effort.name, 2)]


def _of_kind(regime: str, tried: Sequence[Tried], run: Run) -> Iterator[Line]:
    mean, error = _mean(tried)
    worst = max(tried, key=lambda each: abs(np.log(each.ratio)))
    yield Line(
        f"forecast of {regime}", "forecast of records alike, over measured", MARK, mean, error, worst.ratio, worst.name,
        either=True,
    )  # fmt: skip
    widths = [np.log(each.ratio_of_widths) for each in tried if each.ratio_of_widths > 0]
    if widths:
        mean, largest = float(np.exp(np.mean(widths))), float(np.exp(max(widths, key=abs)))
        yield Line(
            f"forecast of {regime}", "half width of records alike, over printed", MARK_OF_WIDTHS, mean,
            mean * float(np.std(widths)) / np.sqrt(len(widths)), largest, "", either=True,
        )  # fmt: skip
    left = {each.name: _left(each, run) for each in tried}
    share, furthest = float(np.mean([each == 1 for each in left.values()])), max(left, key=lambda name: left[name])
    yield Line(
        f"forecast of {regime}", "measured within the made-up ones, share", SHARE, share,
        0.5 / float(np.sqrt(len(left))), left[furthest], furthest, least=True,
    )  # fmt: skip
    planned = [np.log(each.case.planned / each.measured) for each in tried if each.case.planned is not None]
    if planned:
        mean, largest = float(np.exp(np.mean(planned))), float(np.exp(max(planned, key=abs)))
        spread = mean * float(np.std(planned)) / np.sqrt(len(planned))
        yield Line(
            f"plan of {regime}", "error of the last turn, over measured", MARK, mean, spread, largest, "", either=True
        )


def _left(each: Tried, run: Run) -> float:
    """By how much what was measured leaves what is forecast of made-up records, and their noise; 1: not at all."""
    draw = np.random.default_rng([run.seed, each.case.size])
    made_up = each.case.forecast(draw, MADE_UP[run.effort.name], records=each.case.size)
    low = min(made.error - 2 * made.standard_error for made in made_up.expected_errors)
    high = max(made.error + 2 * made.standard_error for made in made_up.expected_errors)
    return max(low / each.measured, each.measured / high, 1.0)
