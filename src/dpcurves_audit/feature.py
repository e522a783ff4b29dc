"""Outcomes of releases as rows of numbers and kinds, and scores of them: single numbers, steps, atoms, learned ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from warnings import catch_warnings
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
LARGEST, NOT_A_NUMBER = 1.7e308, -1.75e308
"""Infinite numbers are cut off at the first; a published NaN is the second, and a number that is not there is NaN."""
MOST_COLUMNS = 64
MOST_NUMBERS = 4096
"""Numbers of one outcome that are looked at."""
DEEPEST = 12
SMOOTHED = 0.5
"""Added to counts of atoms and bins before their logarithms are taken."""


class Failure:
    """An outcome that is no answer: an exception, an exit status, a time-out, with its message."""

    __slots__ = ("kind", "message")

    def __init__(self, kind: str, message: str) -> None:
        self.kind, self.message = kind, message

    @classmethod
    def from_exception(cls, error: BaseException) -> Failure:
        """The outcome of a call that raised an exception. Its message is published, too."""
        try:
            message = str(error)
        except Exception:
            message = "(a message that cannot be printed)"
        return cls(f"raises {type(error).__name__}", message)


@dataclass(frozen=True)
class Sample:
    """Outcomes of many calls of an audited release.

    Attributes:
        kinds: Number of each outcome's kind in the reader's list: its structure, or its failure and message.
        numbers: Numbers of each outcome, a row each; NaN where it has none.
    """

    kinds: NDArray[np.int64]
    numbers: Floats

    def __len__(self) -> int:
        return len(self.kinds)

    def __add__(self, other: Sample) -> Sample:
        width = max(self.numbers.shape[1], other.numbers.shape[1])
        numbers = np.concatenate([_pad_columns(self.numbers, width), _pad_columns(other.numbers, width)])
        return Sample(np.concatenate([self.kinds, other.kinds]), numbers)

    def slice_outcomes(self, start: int, stop: int | None = None) -> Sample:
        """Outcomes from one place to another."""
        return Sample(self.kinds[start:stop], self.numbers[start:stop])


def _pad_columns(numbers: Floats, width: int) -> Floats:
    missing = width - numbers.shape[1]
    return np.pad(numbers, ((0, 0), (0, missing)), constant_values=np.nan) if missing else numbers


@dataclass
class OutcomeParser:
    """Reads whatever is released. Kinds that were seen before keep their number.

    >>> reader = OutcomeParser()
    >>> sample = reader.parse_outcomes([{"n": 3}, {"n": 4}, Failure("raises ValueError", "no rows")])
    >>> sample.kinds.tolist(), sample.numbers[:2].tolist(), list(reader.kind_numbers)[1]
    ([0, 0, 1], [[3.0], [4.0]], 'raises ValueError: no rows')
    """

    kind_numbers: dict[str, int] = field(default_factory=dict)

    def parse_outcomes(self, outcomes: object) -> Sample:
        """Outcomes of many calls: an array of a row each, or one thing of any kind each."""
        if isinstance(outcomes, np.ndarray) and outcomes.dtype.kind in "biuf" and outcomes.ndim:
            numbers = _replace_non_finite(outcomes.reshape(len(outcomes), -1).astype(np.float64))
            kind = self._number_kind(f"{outcomes.shape[1:] or ''}")
            return Sample(np.full(len(outcomes), kind), numbers[:, :MOST_NUMBERS])
        rows = [self._parse_outcome(each) for each in outcomes]  # type: ignore[attr-defined]
        width = max((len(row) for _, row in rows), default=0)
        numbers = np.full((len(rows), width), np.nan)
        for place, (_, row) in enumerate(rows):
            numbers[place, : len(row)] = row
        return Sample(np.array([kind for kind, _ in rows], dtype=np.int64), numbers)

    def _number_kind(self, words: str) -> int:
        return self.kind_numbers.setdefault(words, len(self.kind_numbers))

    def _parse_outcome(self, outcome: object) -> tuple[int, list[float]]:
        if isinstance(outcome, Failure):
            return self._number_kind(f"{outcome.kind}: {outcome.message}"[:400]), []
        found: list[float] = []
        kind = _describe_structure(outcome, found, DEEPEST)
        return self._number_kind(kind[:400]), found[:MOST_NUMBERS]

    def describe_kind(self, kind: int) -> str:
        """The words of a kind."""
        return next((words for words, place in self.kind_numbers.items() if place == kind), "unknown")


def _replace_non_finite(numbers: Floats) -> Floats:
    if not np.isfinite(numbers).all():
        numbers = np.where(np.isnan(numbers), NOT_A_NUMBER, np.clip(numbers, -LARGEST, LARGEST))
    return numbers


def _describe_structure(outcome: object, into: list[float], depth: int) -> str:
    """Structure of an outcome in words; its numbers are added to a list."""
    leaf = _describe_leaf(outcome, into)
    if leaf is not None:
        return leaf
    if depth == 0:
        return "..."
    if isinstance(outcome, Mapping):
        return (
            "{"
            + ",".join(f"{key}:{_describe_structure(outcome[key], into, depth - 1)}" for key in _sort_keys(outcome))
            + "}"
        )
    if isinstance(outcome, Sequence | np.ndarray | frozenset | set):
        items = _sort_keys(outcome) if isinstance(outcome, frozenset | set) else list(outcome)
        told = [_describe_structure(each, into, depth - 1) for each in items]
        same = len(set(told)) == 1 and len(told) > 1
        return f"[{len(told)} of {told[0]}]" if same else "[" + ",".join(told) + "]"
    return f"{type(outcome).__name__} {_describe_structure(_unwrap_object(outcome), into, depth - 1)}"


def _describe_leaf(outcome: object, into: list[float]) -> str | None:
    """A number, an array of numbers, a text or nothing in words; None: it is something else."""
    if isinstance(outcome, bool | int | float | np.number | np.bool_):
        into.append(_convert_number(outcome))
        return "#"
    if isinstance(outcome, np.ndarray) and outcome.dtype.kind in "biuf":
        into.extend(_replace_non_finite(outcome.reshape(-1).astype(np.float64)).tolist())
        return f"#{outcome.shape}"
    if isinstance(outcome, str | bytes):
        text = outcome if isinstance(outcome, bytes) else outcome.encode(errors="replace")
        into.extend((float(len(text)), float(crc32(text))))
        return "text"
    return "None" if outcome is None else None


def _unwrap_object(outcome: Any) -> object:
    """A number that an object stands for, or its fields, or its text."""
    ways: tuple[Callable[[Any], object], ...] = (float, vars, str)
    for way in ways:
        try:
            return way(outcome)
        except Exception:  # it is no number, or has no fields
            continue
    return None


def _sort_keys(keys: Iterable[Any]) -> list[Any]:
    return sorted(keys, key=lambda key: (type(key).__name__, str(key)))


def _convert_number(value: Any) -> float:
    try:
        found = float(value)
    except OverflowError:  # an integer beyond all floats
        return LARGEST if value > 0 else -LARGEST
    if math.isnan(found):
        return NOT_A_NUMBER
    return min(max(found, -LARGEST), LARGEST)


@dataclass(frozen=True)
class Score:
    """A number of each outcome.

    Attributes:
        name: The number, in words.
        compute: Computes it for each row of a sample; NaN: an outcome has none.
        is_learned: Whether it was fitted to samples.
    """

    name: str
    compute: Callable[[Sample], Floats]
    is_learned: bool = False


def fit_scores(left: Sample, right: Sample, *, learn: bool = False) -> Iterator[Score]:
    """Scores that may tell two data sets apart, fitted to samples of both where they are learned.

    Args:
        left: Outcomes of one data set.
        right: Outcomes of the other.
        learn: Boosted trees are fitted, too, if scikit-learn is installed.
    """
    both = left + right
    kinds = np.unique(both.kinds)
    if len(kinds) > 1:
        yield _fit_kind_score(left, right)
    columns = _choose_columns(left, right)
    for column in columns:
        yield Score(f"number {column + 1}", _make_column_score(column))
    width = both.numbers.shape[1]
    if width > 1:
        yield Score("sum of all numbers", _sum_numbers)
        yield Score("largest number", lambda sample: _reduce_numbers(sample, np.nanmax))
        yield Score("smallest number", lambda sample: _reduce_numbers(sample, np.nanmin))
        for column in columns:
            if column + 1 < width:
                yield Score(f"number {column + 2} less number {column + 1}", _make_step_score(column))
    for column in columns[:8]:
        values = both.numbers[:, column]
        if np.any(values[np.isfinite(values)] % 1):
            yield Score(f"lowest bit of number {column + 1}", _make_lowest_bit_score(column))
    if width and len(left) > 1 and len(right) > 1:
        yield _fit_likelihood_score(left, right, columns, "numbers", _select_columns)
        if width > 1:
            yield _fit_likelihood_score(left, right, columns, "steps", _compute_steps)
            yield from _fit_linear_discriminant(left, right, columns)
        atoms = _fit_outcome_score(left, right)
        if atoms is not None:
            yield atoms
        if learn:
            yield from _fit_boosted_trees(left, right, columns)


def _select_columns(sample: Sample, columns: NDArray[np.int64]) -> Floats:
    width = int(columns.max()) + 1 if len(columns) else 0
    return (
        _pad_columns(sample.numbers, width)[:, columns]
        if width > sample.numbers.shape[1]
        else sample.numbers[:, columns]
    )


def _compute_steps(sample: Sample, columns: NDArray[np.int64]) -> Floats:
    return np.diff(_select_columns(sample, columns), axis=1)


def _make_column_score(column: int) -> Callable[[Sample], Floats]:
    return lambda sample: _select_columns(sample, np.array([column]))[:, 0]


def _make_step_score(column: int) -> Callable[[Sample], Floats]:
    return lambda sample: _compute_steps(sample, np.array([column, column + 1]))[:, 0]


def _sum_numbers(sample: Sample) -> Floats:
    with np.errstate(over="ignore"):
        return np.where(np.isnan(sample.numbers).all(axis=1), np.nan, np.nansum(sample.numbers, axis=1))


def _reduce_numbers(sample: Sample, by: Callable[..., Any]) -> Floats:
    empty = np.isnan(sample.numbers).all(axis=1)
    found = np.full(len(sample), np.nan)
    if not empty.all():
        found[~empty] = by(sample.numbers[~empty], axis=1)
    return found


def find_lowest_bits(values: Floats) -> Floats:
    """Exponent of the lowest bit of each number that is not zero; NaN elsewhere.

    >>> find_lowest_bits(np.array([0.75, 8.0, 0.0])).tolist()
    [-2.0, 3.0, nan]
    """
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    whole = np.abs(mantissa * 2.0**53).astype(np.int64)
    lowest = np.log2(np.maximum(whole & -whole, 1).astype(np.float64))
    return np.where(np.isnan(values) | (values == 0), np.nan, exponent - 53 + lowest)


def _make_lowest_bit_score(column: int) -> Callable[[Sample], Floats]:
    return lambda sample: find_lowest_bits(_make_column_score(column)(sample))


def _choose_columns(left: Sample, right: Sample) -> NDArray[np.int64]:
    """The columns that differ most between both samples, at most 64, in their order; columns of no difference last."""
    width = max(left.numbers.shape[1], right.numbers.shape[1])
    a, b = _pad_columns(left.numbers, width), _pad_columns(right.numbers, width)
    if width <= MOST_COLUMNS:
        return np.arange(width)
    ranks = np.argsort(np.argsort(np.concatenate([a, b]), axis=0), axis=0)
    apart = np.abs(ranks[: len(a)].mean(axis=0) - ranks[len(a) :].mean(axis=0))
    return np.sort(np.argsort(-apart, kind="stable")[:MOST_COLUMNS])


def _fit_kind_score(left: Sample, right: Sample) -> Score:
    found, rates = _compute_log_ratios(left.kinds.astype(np.float64), right.kinds.astype(np.float64))

    def score_sample(sample: Sample) -> Floats:
        return _look_up_ratios(sample.kinds.astype(np.float64), found, rates)

    return Score("kind of outcome", score_sample, is_learned=True)


def _compute_log_ratios(ours: Floats, theirs: Floats) -> tuple[Floats, Floats]:
    """Values that occur, and the smoothed logarithm of the ratio of their frequencies."""
    found, places = np.unique(np.concatenate([ours, theirs]), return_inverse=True)
    a = np.bincount(places[: len(ours)], minlength=len(found)) + SMOOTHED
    b = np.bincount(places[len(ours) :], minlength=len(found)) + SMOOTHED
    return found, np.log(a / len(ours)) - np.log(b / len(theirs))


def _look_up_ratios(values: Floats, found: Floats, rates: Floats) -> Floats:
    places = np.minimum(np.searchsorted(found, values), len(found) - 1)
    return np.where(found[places] == values, rates[places], 0.0)


def _fit_likelihood_score(
    left: Sample, right: Sample, columns: NDArray[np.int64], label: str,
    view: Callable[[Sample, NDArray[np.int64]], Floats],
) -> Score:  # fmt: skip
    """Sum over columns of the logarithm of the ratio of both frequencies of a bin: as if columns were independent."""
    a, b = view(left, columns), view(right, columns)
    tables: list[tuple[Floats, Floats]] = []
    bins = int(np.clip(min(len(a), len(b)) / 60, 4, 16))
    for ours, theirs in zip(a.T, b.T, strict=True):
        values = np.concatenate([ours, theirs])
        values = values[~np.isnan(values)]
        distinct = np.unique(values)
        if len(distinct) > bins:
            distinct = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
        edges = distinct[1:] if len(distinct) > 1 else distinct
        tables.append((edges, _compute_bin_log_ratios(ours, theirs, edges)))

    def score_sample(sample: Sample) -> Floats:
        total = np.zeros(len(sample))
        for values, (edges, rates) in zip(view(sample, columns).T, tables, strict=True):
            total += rates[_assign_bins(values, edges)]
        return total

    return Score(f"likelihood of {label}", score_sample, is_learned=True)


def _assign_bins(values: Floats, edges: Floats) -> NDArray[np.int64]:
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _compute_bin_log_ratios(ours: Floats, theirs: Floats, edges: Floats) -> Floats:
    a = np.bincount(_assign_bins(ours, edges), minlength=len(edges) + 2) + SMOOTHED
    b = np.bincount(_assign_bins(theirs, edges), minlength=len(edges) + 2) + SMOOTHED
    return np.asarray(np.log(a / len(ours)) - np.log(b / len(theirs)))


def _fit_linear_discriminant(left: Sample, right: Sample, columns: NDArray[np.int64]) -> Iterator[Score]:
    """Fisher's linear discriminant."""
    a, b = _select_columns(left, columns), _select_columns(right, columns)
    both = np.concatenate([a, b])
    with np.errstate(all="ignore"), catch_warnings(action="ignore", category=RuntimeWarning):  # of empty columns
        centre = np.nan_to_num(np.nanmedian(both, axis=0))
        spread = np.nan_to_num(np.nanquantile(both, 0.84, axis=0) - np.nanquantile(both, 0.16, axis=0))
    spread = np.where((spread > 0) & (spread < LARGEST), spread, 1.0)

    def scale_rows(rows: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(np.clip(np.nan_to_num((rows - centre) / spread), -20, 20))

    x, y = scale_rows(a), scale_rows(b)
    within = np.cov(np.concatenate([x - x.mean(axis=0), y - y.mean(axis=0)]).T)
    ridge = 1e-3 * (np.trace(np.atleast_2d(within)) / len(columns) + 1e-12) * np.eye(len(columns))
    try:
        weights = np.linalg.solve(np.atleast_2d(within) + ridge, x.mean(axis=0) - y.mean(axis=0))
    except np.linalg.LinAlgError:
        return
    yield Score(
        "linear discriminant",
        lambda sample: np.asarray(scale_rows(_select_columns(sample, columns)) @ weights),
        is_learned=True,
    )


def _fit_outcome_score(left: Sample, right: Sample) -> Score | None:
    """Ratio of frequencies of whole outcomes, where these are few: all numbers and the kind together."""
    a, b = hash_outcomes(left), hash_outcomes(right)
    if len(np.unique(np.concatenate([a, b]))) > 0.5 * (len(a) + len(b)):
        return None
    found, rates = _compute_log_ratios(a, b)
    return Score(
        "outcome as a whole", lambda sample: _look_up_ratios(hash_outcomes(sample), found, rates), is_learned=True
    )


def hash_outcomes(sample: Sample) -> Floats:
    """A number of each row that equal rows share, exactly represented; in wider samples, too.

    >>> few, more = OutcomeParser().parse_outcomes([[1], [2]]), OutcomeParser().parse_outcomes([[1], [2, 3]])
    >>> (hash_outcomes(few) == hash_outcomes(more)).tolist()
    [True, False]
    """
    mixed = sample.kinds.astype(np.uint64)
    with np.errstate(over="ignore"):
        for column in sample.numbers.T:
            bits = (column + 0.0).view(np.uint64)
            found = (mixed ^ bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            mixed = np.where(
                np.isnan(column), mixed, found ^ (found >> np.uint64(32))
            )  # what is not there changes none
    return (mixed >> np.uint64(12)).astype(np.float64)


def _fit_boosted_trees(left: Sample, right: Sample, columns: NDArray[np.int64]) -> Iterator[Score]:
    """Log-odds of boosted trees, where scikit-learn is installed."""
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        return
    x = np.concatenate([_select_columns(left, columns), _select_columns(right, columns)])
    truth = np.repeat([1, 0], [len(left), len(right)])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, learning_rate=0.15, random_state=0)
    model.fit(np.clip(x, -1e300, 1e300), truth)

    def score_sample(sample: Sample) -> Floats:
        return np.asarray(
            model.decision_function(np.clip(_select_columns(sample, columns), -1e300, 1e300)), dtype=np.float64
        )

    yield Score("boosted trees", score_sample, is_learned=True)
