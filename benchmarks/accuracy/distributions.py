"""Distribution functions of one column: regimes, their tasks, and what our curve is held against."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product

import numpy as np

from dpcurves.privacy import Neighbours, PrivacyLoss, rho_for

from .beside import Beside
from .data import HISTOGRAMS, FloatArray, Sample
from .errors import METRICS, errors_of
from .lines import Line, Run
from .rows import Ask, Row, decile_error, deciles, factorisation_bound, ours, recursive_cuts, usual
from .shapes import SHAPES, half_of, real_counts, thinned
from .tables import TABLES, sample_of

OURS, BOUND = "dpcurves", "factorisation bound"
DELTA = 1e-6
KS, W1, RMSE, PLACE = (*METRICS, "deciles")
BOTH = Neighbours.REPLACE_ONE, Neighbours.ADD_REMOVE
ONE_TURN = "one turn", "flat", "HB", "histogram", "k-ary", "Haar", "square root"
COARSE = "coarse 1", "coarse 4", *ONE_TURN, "PrivTree"
ANY = ()
"""All rows."""
USUAL = "usual"
AS_THEY_ARE = (0,)


@dataclass(frozen=True)
class Regime:
    """Data of one kind at losses of one size.

    Attributes:
        tasks: Names of shapes and of real histograms, which are thinned; or of tables, which are as they are.
        records: How many there are; one task each. `AS_THEY_ARE`: as many as tables have.
        epsilons: The losses of each; of a zero-concentrated one what they and `DELTA` allow.
        marks: For each metric, what our error may be in units of that of the best of `over`.
        over: Which rows; none: all.
        neighbours: Who may come, go, or be replaced.
        kinds: Pure losses, or zero-concentrated ones.
        worst: What our error may be of the worst task, in the same units; none: no mark is set.
    """

    name: str
    tasks: tuple[str, ...]
    records: tuple[int, ...]
    epsilons: tuple[float, ...]
    marks: Mapping[str, float]
    over: tuple[str, ...] = ANY
    neighbours: tuple[Neighbours, ...] = BOTH
    kinds: tuple[str, ...] = ("pure", "zCDP")
    worst: float | None = None


REGIMES = (
    Regime(
        "few records, peaked or tied", ("peak", "incomes", "atoms", "peak on a plain", "zipf", "zeros", "whole numbers",
        "ADULT", "MEDCOST", "MDSAL2"), (1_000,), (0.1,), {KS: 1.1, W1: 1.1, RMSE: 1.1}, ONE_TURN,
    ),
    Regime(
        "rough counts, epsilon 0.1", ("rough", "blocks", "HEPTH", "rough fall", "gaps", "heaps"), (300_000,), (0.1,),
        {KS: 1.1, W1: 1.05, RMSE: 1.05}, ONE_TURN,
    ),
    Regime(
        "dense counts, epsilon 0.1", ("nearly even", "INCOME", "even", "BIDS"), (2_000_000, 20_000_000), (0.1,),
        {KS: 1.02, W1: 1.02, RMSE: 1.02}, ONE_TURN,
    ),
    Regime(
        "dense counts, epsilon 0.1 and 1", ("nearly even", "INCOME", "BIDS", "gaps"), (2_000_000, 20_000_000),
        (0.1, 1.0), {RMSE: 1.05}, (BOUND,), (Neighbours.REPLACE_ONE,), ("zCDP",),
    ),
    Regime(
        "thin tail, epsilon 1", ("thin tail", "long tail"), (10_000,), (1.0,), {W1: 1.0, RMSE: 1.0},
    ),
    Regime(
        "smooth", ("normal", "exponential", "heavy tails", "two hills", "beta", "log-normal"), (1_000, 10_000, 100_000),
        (0.1, 1.0), {KS: 1.05, W1: 1.05, RMSE: 1.05}, COARSE,
    ),
    Regime(
        "large epsilon", ("normal", "incomes", "atoms", "two hills", "heaps", "MDSAL2"), (10_000,), (8.0, 16.0),
        {KS: 1.0, RMSE: 1.0}, ("histogram",), kinds=("pure",),
    ),
    Regime(
        "deciles of tied values", ("incomes", "atoms", "heaps", "whole numbers", "MDSAL2"), (1_000, 10_000), (0.1, 1.0),
        {PLACE: 1.0}, ("recursive cuts",), kinds=("pure",),
    ),
    Regime(
        USUAL, (*SHAPES, *HISTOGRAMS), (10_000, 100_000), (0.1, 1.0), {KS: 1.05, W1: 1.05, RMSE: 1.05}, worst=1.3,
    ),
    *(
        Regime(
            f"tables, epsilon {epsilon:g}", tuple(TABLES), AS_THEY_ARE, (epsilon,), {KS: 1.05, W1: 1.05, RMSE: 1.05},
            neighbours=BOTH if epsilon > 1 else (Neighbours.REPLACE_ONE,), kinds=("pure",), worst=1.3,
        ) for epsilon in (0.1, 1.0, 10.0)
    ),
)  # fmt: skip
NEGLIGIBLE = 0.1  # records: smaller errors are as good as none


@dataclass(frozen=True)
class Setup:
    """One task at one loss: the smallest thing that has errors of its own."""

    regime: Regime
    task: str
    records: int
    epsilon: float
    neighbours: Neighbours
    kind: str

    @property
    def loss(self) -> PrivacyLoss:
        return PrivacyLoss.pure(self.epsilon) if self.kind == "pure" else PrivacyLoss.zcdp(rho_for(self.epsilon, DELTA))

    @property
    def name(self) -> str:
        size = f", n {self.records:.0e}".replace("e+0", "e") if self.records else ""
        return f"{self.task}{size}, epsilon {self.epsilon:g}"

    @property
    def setting(self) -> str:
        return f"{self.neighbours.value}, {self.kind}"


@dataclass(frozen=True)
class Found:
    """The measurements of one setup.

    Attributes:
        errors: Those of each row: (releases, metrics).
        records: How many records there are.
    """

    setup: Setup
    errors: Mapping[str, FloatArray] = field(default_factory=dict)
    records: int = 1

    def ratio(self, metric: str, over: Sequence[str]) -> tuple[float, float]:
        """Our mean error over that of the best of these rows, and the standard error of its logarithm.

        The best one is chosen by every other release, and judged by the rest, and the other way round: of many rows the
        least mean is too small.
        """
        place = _metrics(self.setup.regime).index(metric)
        mine, others = self.errors[OURS][:, place], {name: self.errors[name][:, place] for name in self._over(over)}
        first, second = (min(others, key=lambda name: others[name][start::2].mean()) for start in (0, 1))
        best = np.concatenate([others[first][1::2], others[second][::2]])
        noise = sum((_relative(values) ** 2 for values in (mine, best)), start=0.0)
        least = NEGLIGIBLE / self.records
        return float(max(mine.mean(), least) / max(best.mean(), least)), noise**0.5

    def over_ours(self, name: str) -> list[tuple[float, float]]:
        """The logarithm of this row's mean error over ours, and its standard error, for each metric."""
        least = NEGLIGIBLE / self.records
        pairs = list(zip(self.errors[name].T, self.errors[OURS].T, strict=True))
        means = [max(other.mean(), least) / max(mine.mean(), least) for other, mine in pairs]
        noise = [float(np.hypot(_relative(other), _relative(mine))) for other, mine in pairs]
        return [(float(np.log(mean)), error) for mean, error in zip(means, noise, strict=True)]

    def _over(self, over: Sequence[str]) -> list[str]:
        """Which rows are compared with; of a regret the own one is among them."""
        return [name for name in self.errors if not over or name in over]


def _relative(values: FloatArray) -> float:
    return float(values.std(ddof=1) / len(values) ** 0.5 / max(values.mean(), 1e-12)) if len(values) > 1 else 0.0


def _metrics(regime: Regime) -> tuple[str, ...]:
    return (PLACE,) if PLACE in regime.marks else (KS, W1, RMSE)


def lines(run: Run, step: Callable[[str], None]) -> Iterator[Line | Beside]:
    """The lines of each regime; `step` is told what is being measured. All rows beside ours where all are compared."""
    for regime in REGIMES:
        for group in _groups(regime, run):
            found = []
            for setup in group:
                step(f"{setup.regime.name}: {setup.name}, {setup.setting}")
                found.append(measured(setup, run))
            yield from _of_regime(regime, found)
            if regime.name == USUAL:
                yield from _beside(regime, found)


def _groups(regime: Regime, run: Run) -> Iterator[list[Setup]]:
    """The setups of one regime under one kind of loss and neighbours."""
    terms = [
        (each, kind)
        for each, kind in product(regime.neighbours, regime.kinds)
        if run.takes(f"{regime.name}, {each.value}, {kind}")
    ]
    if not terms:
        return
    tasks = [task for task in regime.tasks if half_of(task) in run.halves and is_there(task, run)]
    alike = list(product(tasks, regime.records, regime.epsilons))
    if len(alike) > run.effort.setups:
        alike = alike[:: len(alike) // run.effort.setups][: run.effort.setups]
    for neighbours, kind in terms:
        if alike:
            yield [Setup(regime, *each, neighbours, kind) for each in alike]


def is_there(task: str, run: Run) -> bool:
    """Return whether the records of a task are drawn, or their file exists."""
    if task in TABLES:
        return sample_of(task, run.effort.cells, run.data, np.random.default_rng(0)) is not None
    return task in SHAPES or real_counts(task, run.data) is not None


def measured(setup: Setup, run: Run, rows: Mapping[str, Row] | None = None) -> Found:
    """Errors of all rows, on the same samples and seeds."""
    found: dict[str, list[tuple[float, ...]]] = {}
    for draw in range(run.effort.draws):
        sample = _sample(setup, run, draw)
        for release in range(run.effort.releases):
            ask = Ask(sample, setup.loss, setup.neighbours, _seed(setup, run, draw, release))
            for name, row in (rows or _rows(setup.regime, ask)).items():
                found.setdefault(name, []).append(_errors(setup.regime, row(ask), sample))
    if BOUND in setup.regime.over:
        bound = factorisation_bound(sample.grid.cells, sample.records, setup.loss)
        found[BOUND] = [(bound,) * len(METRICS)] * len(found[OURS])
    return Found(setup, {name: np.array(errors) for name, errors in found.items()}, sample.records)


def _seed(setup: Setup, run: Run, draw: int, release: int) -> int:
    """What noise is drawn from: no two tasks have the same noise, else all ratios would err together."""
    key = [run.seed, draw, release, setup.records, *setup.task.encode(), *setup.setting.encode()]
    return int(np.random.default_rng(key).integers(2**31))


def _sample(setup: Setup, run: Run, draw: int) -> Sample:
    key = [run.seed, draw, setup.records, *setup.task.encode()]
    generator = np.random.default_rng(key)
    if setup.task in TABLES:
        table = sample_of(setup.task, run.effort.cells, run.data, generator)
        if table is None:
            raise ValueError(f"{setup.task}: there is no such file")
        return table
    if setup.task in SHAPES:
        return SHAPES[setup.task].sample(setup.records, run.effort.cells, generator)
    counts = real_counts(setup.task, run.data)
    if counts is None:
        raise ValueError(f"{setup.task}: there is no such file")
    return thinned(counts, setup.records, generator)


def _rows(regime: Regime, ask: Ask) -> dict[str, Row]:
    if PLACE in regime.marks:
        return {OURS: deciles(ours), "recursive cuts": recursive_cuts}
    if BOUND in regime.over:
        return {OURS: ours}
    return {name: row for name, row in usual(ask).items() if name == OURS or not regime.over or name in regime.over}


def _errors(regime: Regime, found: FloatArray, sample: Sample) -> tuple[float, ...]:
    return (decile_error(found, sample),) if PLACE in regime.marks else errors_of(found, sample)


def _beside(regime: Regime, found: Sequence[Found]) -> Iterator[Beside]:
    """Each other row over ours, in the mean over tasks."""
    for name in (each for each in found[0].errors if each != OURS):
        ratios = np.array([each.over_ours(name) for each in found])  # (tasks, metrics, 2)
        means = np.exp(ratios[:, :, 0].mean(axis=0))
        errors = means * np.sqrt((ratios[:, :, 1] ** 2).sum(axis=0)) / len(found)
        told = tuple((float(mean), float(error)) for mean, error in zip(means, errors, strict=True))
        yield Beside(regime.name, found[0].setup.setting, name, told, len(found))


def _of_regime(regime: Regime, found: Sequence[Found]) -> Iterator[Line]:
    """One line for each metric, and one for each half of the shapes."""
    over = (
        " or ".join(regime.over)
        if len(regime.over) == 1
        else "the best of all"
        if not regime.over
        else "the best of these"
    )
    for metric, mark in regime.marks.items():
        ratios = [each.ratio(metric, regime.over) for each in found]
        logs, noise = np.log([ratio for ratio, _ in ratios]), np.array([error for _, error in ratios])
        mean, worst = float(np.exp(logs.mean())), int(logs.argmax())
        error = mean * float(np.sqrt((noise**2).sum())) / len(noise)
        name, farthest = f"{regime.name}, {found[0].setup.setting}", float(np.exp(logs[worst]))
        where = found[worst].setup.name
        yield Line(name, f"{metric} over {over}", mark, mean, error, farthest, where)
        if regime.worst is not None:
            own = farthest * float(noise[worst])
            yield Line(name, f"worst {metric} over {over}", regime.worst, farthest, own, farthest, where)
