"""Outcomes of a release as numbers, and scores that distinguish two data sets.

An outcome can be any object. `OutcomeParser` turns it into a kind (its structure, or its failure) and a row of numbers.
A `Score` maps each outcome to one number. `fit_scores` proposes scores whose distributions may differ between two
neighbouring data sets: single numbers, differences, lowest bits, frequencies of outcomes, learned ones. The search then
chooses an event, such as "the score is at least 3".
"""

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
LARGEST_SCORE = 1.7e308
"""Largest absolute value of a number in an outcome, just below the largest double; larger and infinite ones are clipped
to it."""
NOT_A_NUMBER = -1.75e308
"""Number that replaces a NaN in an outcome, outside of the clipped range; NaN itself marks an absent number."""
MOST_NUMBERS = 4096
"""Largest count of numbers of one outcome that are compared; further numbers are dropped, so a loss in them alone is
not found."""
PSEUDOCOUNT = 0.5
"""Outcomes that are added to the count of every distinct outcome and every bin in a log-ratio of two data sets, so that
no log-ratio is infinite."""


class Failure:
    """An outcome without an answer: an exception, an exit status or a timeout.

    Attributes:
        kind: What happened, such as ``raises ValueError``.
        message: Its message, which an observer sees too.
    """

    __slots__ = ("kind", "message")

    def __init__(self, kind: str, message: str) -> None:
        self.kind = kind
        self.message = message

    @classmethod
    def from_exception(cls, error: BaseException) -> Failure:
        """Return the outcome of a call that raised an exception. Its message is published as well.

        Args:
            error: The exception.
        """
        try:
            message = str(error)
        except Exception:
            message = "(a message that cannot be printed)"
        return cls(f"raises {type(error).__name__}", message)


@dataclass(frozen=True)
class Sample:
    """Outcomes of many calls of an audited release.

    Attributes:
        kinds: Index of each outcome's kind in the parser, (outcomes,).
        numbers: Numbers of each outcome, (outcomes, numbers); NaN marks absent numbers.
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
        """Return the sample of the outcomes with indices from `start` to below `stop`.

        Args:
            start: Index of the first outcome.
            stop: Index after the last; None: up to the end.
        """
        return Sample(self.kinds[start:stop], self.numbers[start:stop])


def _pad_columns(numbers: Floats, width: int) -> Floats:
    """Return the numbers with `width` columns; added ones are NaN."""
    missing = width - numbers.shape[1]
    return np.pad(numbers, ((0, 0), (0, missing)), constant_values=np.nan) if missing else numbers


@dataclass
class OutcomeParser:
    """Parses outcomes of any structure into samples. A kind that was seen before keeps its index.

    Attributes:
        kind_numbers: Index of each kind, by its description.

    >>> parser = OutcomeParser()
    >>> sample = parser.parse_outcomes([{"n": 3}, {"n": 4}, Failure("raises ValueError", "no rows")])
    >>> sample.kinds.tolist(), sample.numbers[:2].tolist(), list(parser.kind_numbers)[1]
    ([0, 0, 1], [[3.0], [4.0]], 'raises ValueError: no rows')
    """

    kind_numbers: dict[str, int] = field(default_factory=dict)

    def parse_outcomes(self, outcomes: object) -> Sample:
        """Parse the outcomes of many calls to a sample: the type and the numbers of each outcome.

        Args:
            outcomes: An array of numbers with one row per call; or a sequence of any objects, which need not be alike.
        """
        if isinstance(outcomes, np.ndarray) and outcomes.dtype.kind in "biuf" and outcomes.ndim:
            numbers = _replace_non_finite(outcomes.reshape(len(outcomes), -1).astype(np.float64))
            kind = self._number_kind(f"{outcomes.shape[1:] or ''}")
            return Sample(np.full(len(outcomes), kind), numbers[:, :MOST_NUMBERS])
        rows = [self._parse_outcome(outcome) for outcome in outcomes]  # type: ignore[attr-defined]
        width = max((len(row) for _, row in rows), default=0)
        numbers = np.full((len(rows), width), np.nan)
        for index, (_, row) in enumerate(rows):
            numbers[index, : len(row)] = row
        return Sample(np.array([kind for kind, _ in rows], dtype=np.int64), numbers)

    def _number_kind(self, description: str) -> int:
        """Return the index of an outcome type, such as a type of exception; a new type gets the next index.

        Args:
            description: Text that describes the type, equal for outcomes of one type.
        """
        return self.kind_numbers.setdefault(description, len(self.kind_numbers))

    def _parse_outcome(self, outcome: object) -> tuple[int, list[float]]:
        """Return the index of an outcome's type, and its numbers.

        Args:
            outcome: Anything that a release returned.

        Returns:
            The index, and at most `MOST_NUMBERS` numbers in the order of the structure; none for a `Failure`.
        """
        if isinstance(outcome, Failure):
            return self._number_kind(f"{outcome.kind}: {outcome.message}"[:400]), []
        numbers: list[float] = []
        kind = _describe_structure(outcome, numbers, 12)  # nesting levels that are parsed
        return self._number_kind(kind[:400]), numbers[:MOST_NUMBERS]

    def describe_kind(self, kind: int) -> str:
        """Return the description of the outcome type with this index: the structure of its outcomes, or a failure's
        message.

        Args:
            kind: Index of the type, as `_number_kind` assigned it.
        """
        return next((description for description, index in self.kind_numbers.items() if index == kind), "unknown")


def _replace_non_finite(numbers: Floats) -> Floats:
    """Return the numbers with NaN replaced by `NOT_A_NUMBER`, and infinite numbers clipped to `LARGEST_SCORE`."""
    if not np.isfinite(numbers).all():
        numbers = np.where(np.isnan(numbers), NOT_A_NUMBER, np.clip(numbers, -LARGEST_SCORE, LARGEST_SCORE))
    return numbers


def _describe_structure(outcome: object, into: list[float], depth: int) -> str:
    """Return a description of an outcome's structure, and append its numbers to `into`.

    Args:
        outcome: The outcome, or a part of it.
        into: Receives the numbers.
        depth: Nesting levels that are still parsed.
    """
    leaf = _describe_leaf(outcome, into)
    if leaf is not None:
        return leaf
    if depth == 0:
        return "..."
    if isinstance(outcome, Mapping):
        entries = [f"{key}:{_describe_structure(outcome[key], into, depth - 1)}" for key in _sort_keys(outcome)]
        return f"{{{','.join(entries)}}}"
    if isinstance(outcome, Sequence | np.ndarray | frozenset | set):
        items = _sort_keys(outcome) if isinstance(outcome, frozenset | set) else list(outcome)
        descriptions = [_describe_structure(item, into, depth - 1) for item in items]
        is_homogeneous = len(set(descriptions)) == 1 and len(descriptions) > 1
        return f"[{len(descriptions)} of {descriptions[0]}]" if is_homogeneous else "[" + ",".join(descriptions) + "]"
    return f"{type(outcome).__name__} {_describe_structure(_unwrap_object(outcome), into, depth - 1)}"


def _describe_leaf(outcome: object, into: list[float]) -> str | None:
    """Return the description of an outcome that has no parts: number, array of numbers, text or None; else None.

    Numbers are appended to `into`. A text is recorded as two numbers: its length and a checksum.
    """
    if isinstance(outcome, bool | int | float | np.number | np.bool_):
        into.append(_convert_number(outcome))
        return "#"
    if isinstance(outcome, np.ndarray) and outcome.dtype.kind in "biuf":
        into.extend(_replace_non_finite(outcome.reshape(-1).astype(np.float64)).tolist())
        return f"#{outcome.shape}"
    if isinstance(outcome, str | bytes):
        text = outcome if isinstance(outcome, bytes) else outcome.encode(errors="replace")
        into.extend((float(len(text)), float(crc32(text))))  # equal texts give equal numbers, and length is a score
        return "text"
    return "None" if outcome is None else None


def _unwrap_object(outcome: Any) -> object:
    """Return an object of an unknown class as a float if possible, else as its fields, else as its text.

    Args:
        outcome: Object of a class that the parser does not know.

    Returns:
        The float, the mapping of fields by name, or the text; None if none of these can be had.
    """
    conversions: tuple[Callable[[Any], object], ...] = (float, vars, str)
    for convert in conversions:
        try:
            return convert(outcome)
        except Exception:  # not a number, or without fields
            continue
    return None


def _sort_keys(keys: Iterable[Any]) -> list[Any]:
    """Return keys of any types in a fixed order: by type name, then by text.

    Args:
        keys: Keys of a mapping, or members of a set.
    """
    return sorted(keys, key=lambda key: (type(key).__name__, str(key)))


def _convert_number(value: Any) -> float:
    """Return a number as a finite double: `NOT_A_NUMBER` for NaN, otherwise clipped to `LARGEST_SCORE`.

    Args:
        value: Number of any type that converts to a float.
    """
    try:
        number = float(value)
    except OverflowError:  # an integer larger than any float
        return LARGEST_SCORE if value > 0 else -LARGEST_SCORE
    if math.isnan(number):
        return NOT_A_NUMBER
    return min(max(number, -LARGEST_SCORE), LARGEST_SCORE)


@dataclass(frozen=True)
class Score:
    """A statistic of an outcome: one number, whose distribution may differ between two data sets.

    Attributes:
        name: Description of the number.
        compute: Maps a sample to the number of each outcome, (outcomes,); NaN if an outcome has none.
        is_learned: Whether the score was fitted to samples. A finding is then confirmed on fresh samples.
    """

    name: str
    compute: Callable[[Sample], Floats]
    is_learned: bool = False


def fit_scores(left: Sample, right: Sample, *, learn: bool = False) -> Iterator[Score]:
    """Yield scores that may distinguish two data sets; some of them are fitted to samples of both.

    Args:
        left: Outcomes on the first data set.
        right: Outcomes on the second.
        learn: Whether boosted trees are fitted as well, if scikit-learn is installed.
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
                yield Score(f"number {column + 2} minus number {column + 1}", _make_step_score(column))
    for column in columns[:8]:  # the first 8 columns, because each score costs time; not tuned
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
    """Return the numbers of a sample in `columns`, (outcomes, columns); NaN where an outcome has fewer numbers."""
    width = int(columns.max()) + 1 if len(columns) else 0
    if width > sample.numbers.shape[1]:
        return _pad_columns(sample.numbers, width)[:, columns]
    return sample.numbers[:, columns]


def _compute_steps(sample: Sample, columns: NDArray[np.int64]) -> Floats:
    """Return the differences between neighbouring numbers of each outcome, which a score of consecutive values uses.

    Args:
        sample: Outcomes of one data set.
        columns: Indices of the numbers of an outcome that are used.
    """
    return np.diff(_select_columns(sample, columns), axis=1)


def _make_column_score(column: int) -> Callable[[Sample], Floats]:
    """Return a score for outcomes: the number in one column.

    Args:
        column: Index of the column.
    """
    return lambda sample: _select_columns(sample, np.array([column]))[:, 0]


def _make_step_score(column: int) -> Callable[[Sample], Floats]:
    """Return a score for outcomes: the difference between the numbers in the next column and in this column.

    Args:
        column: Index of the first of the two columns.
    """
    return lambda sample: _compute_steps(sample, np.array([column, column + 1]))[:, 0]


def _sum_numbers(sample: Sample) -> Floats:
    """Return the sum of each outcome's numbers; NaN if it has none.

    Args:
        sample: Outcomes of one data set.

    Returns:
        Array of shape ``(outcomes,)``.
    """
    with np.errstate(over="ignore"):
        return np.where(np.isnan(sample.numbers).all(axis=1), np.nan, np.nansum(sample.numbers, axis=1))


def _reduce_numbers(sample: Sample, by: Callable[..., Any]) -> Floats:
    """Return one number for each outcome: a reduction of its numbers, or NaN if it has none.

    Args:
        sample: Outcomes of one data set.
        by: NumPy reduction with an `axis`, such as `np.nanmax`.

    Returns:
        Array of shape ``(outcomes,)``.
    """
    empty = np.isnan(sample.numbers).all(axis=1)
    reduced = np.full(len(sample), np.nan)
    if not empty.all():
        reduced[~empty] = by(sample.numbers[~empty], axis=1)
    return reduced


def find_lowest_bits(values: Floats) -> Floats:
    """Return the exponent of the lowest set bit of each number; NaN for zeros, infinite and absent numbers.

    Noise computed in floating point leaves traces in the lowest bits (Mironov 2012).

    Args:
        values: Doubles, of any shape.

    >>> find_lowest_bits(np.array([0.75, 8.0, 0.0, LARGEST_SCORE])).tolist()
    [-2.0, 3.0, nan, nan]
    """
    # the numbers that stand for infinite ones and NaN have bits that no release drew
    values = np.where(np.abs(values) >= LARGEST_SCORE, np.nan, values)
    mantissa, exponent = np.frexp(np.where(np.isfinite(values), values, 0.0))
    significand = np.abs(mantissa * 2.0**53).astype(np.int64)  # 53: bits of a double's significand
    lowest = np.log2(np.maximum(significand & -significand, 1).astype(np.float64))
    return np.where(np.isnan(values) | (values == 0), np.nan, exponent - 53 + lowest)


def _make_lowest_bit_score(column: int) -> Callable[[Sample], Floats]:
    """Return the function that maps a sample to the exponents of the lowest bits of its numbers in one column."""
    return lambda sample: find_lowest_bits(_make_column_score(column)(sample))


def _choose_columns(left: Sample, right: Sample) -> NDArray[np.int64]:
    """Return increasing indices of the columns for which scores are fitted.

    All columns if there are at most 64; else the 64 whose mean ranks differ most between both samples.

    Args:
        left: Sample of outcomes from one data set.
        right: Sample from the neighbouring one.
    """
    width = max(left.numbers.shape[1], right.numbers.shape[1])
    a = _pad_columns(left.numbers, width)
    b = _pad_columns(right.numbers, width)
    most_scored_columns = 64  # numbers of an outcome for which scores are fitted
    if width <= most_scored_columns:
        return np.arange(width)
    ranks = np.argsort(np.argsort(np.concatenate([a, b]), axis=0), axis=0)
    rank_difference = np.abs(ranks[: len(a)].mean(axis=0) - ranks[len(a) :].mean(axis=0))
    return np.sort(np.argsort(-rank_difference, kind="stable")[:most_scored_columns])


def _fit_kind_score(left: Sample, right: Sample) -> Score:
    """Return a score of outcome types: the log-ratio of the frequencies of an outcome's type in both samples.

    Args:
        left: Outcomes of the first data set.
        right: Outcomes of the second data set.
    """
    kinds, log_ratios = _compute_log_ratios(left.kinds.astype(np.float64), right.kinds.astype(np.float64))

    def score_sample(sample: Sample) -> Floats:
        """Return the log-ratio of each outcome's type in both samples; 0 for a type that is in neither sample."""
        return _look_up_ratios(sample.kinds.astype(np.float64), kinds, log_ratios)

    return Score("kind of outcome", score_sample, is_learned=True)


def _compute_log_ratios(left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the distinct values of both samples, increasing, and the smoothed log-ratio of their frequencies, left
    over right."""
    distinct, indices = np.unique(np.concatenate([left, right]), return_inverse=True)
    a = np.bincount(indices[: len(left)], minlength=len(distinct)) + PSEUDOCOUNT
    b = np.bincount(indices[len(left) :], minlength=len(distinct)) + PSEUDOCOUNT
    return distinct, np.log(a / len(left)) - np.log(b / len(right))


def _look_up_ratios(values: Floats, distinct: Floats, log_ratios: Floats) -> Floats:
    """Return the log-ratio of each value by the table of `_compute_log_ratios`; 0 for values that it lacks.

    Args:
        values: Values to look up.
        distinct: Values of the table, increasing.
        log_ratios: Log-ratio of each of them.
    """
    indices = np.minimum(np.searchsorted(distinct, values), len(distinct) - 1)
    return np.where(distinct[indices] == values, log_ratios[indices], 0.0)


def _fit_likelihood_score(
    left: Sample, right: Sample, columns: NDArray[np.int64], label: str,
    view: Callable[[Sample, NDArray[np.int64]], Floats],
) -> Score:  # fmt: skip
    """Return a naive Bayes score: the sum over columns of the log-ratios of bin frequencies in both samples.

    Args:
        left: Outcomes on the first data set.
        right: Outcomes on the second.
        columns: Indices of the columns.
        label: Name of the binned numbers.
        view: Maps a sample and columns to the numbers that are binned, (outcomes, columns).
    """
    a = view(left, columns)
    b = view(right, columns)
    tables: list[tuple[Floats, Floats]] = []
    bins = int(np.clip(min(len(a), len(b)) / 60, 4, 16))  # bins of 60 outcomes on average, at least 4; not tuned
    for left_values, right_values in zip(a.T, b.T, strict=True):
        values = np.concatenate([left_values, right_values])
        values = values[~np.isnan(values)]
        distinct = np.unique(values)
        if len(distinct) > bins:
            distinct = np.unique(np.quantile(values, np.arange(1, bins) / bins, method="inverted_cdf"))
        edges = distinct[1:] if len(distinct) > 1 else distinct
        tables.append((edges, _compute_bin_log_ratios(left_values, right_values, edges)))

    def score_sample(sample: Sample) -> Floats:
        """Return the score of each outcome: the sum of the log-ratios of the bins that its numbers are in.

        Args:
            sample: Outcomes of one data set.

        Returns:
            Array of shape ``(outcomes,)``.
        """
        total = np.zeros(len(sample))
        for values, (edges, log_ratios) in zip(view(sample, columns).T, tables, strict=True):
            total += log_ratios[_assign_bins(values, edges)]
        return total

    return Score(f"likelihood of {label}", score_sample, is_learned=True)


def _assign_bins(values: Floats, edges: Floats) -> NDArray[np.int64]:
    """Return the index of each value's bin between inner edges; NaN gets a separate bin, the last.

    Args:
        values: Numbers of any shape.
        edges: Inner edges, increasing.

    Returns:
        Indices from 0 to ``len(edges) + 1``, of the shape of the values.
    """
    return np.where(np.isnan(values), len(edges) + 1, np.searchsorted(edges, values, side="right"))


def _compute_bin_log_ratios(left: Floats, right: Floats, edges: Floats) -> Floats:
    """Return the log-ratio of the smoothed frequencies of each bin in both samples.

    Args:
        left: Scores of the first data set.
        right: Scores of the second data set.
        edges: Inner edges of the bins, increasing.
    """
    a = np.bincount(_assign_bins(left, edges), minlength=len(edges) + 2) + PSEUDOCOUNT
    b = np.bincount(_assign_bins(right, edges), minlength=len(edges) + 2) + PSEUDOCOUNT
    return np.asarray(np.log(a / len(left)) - np.log(b / len(right)))


def _fit_linear_discriminant(left: Sample, right: Sample, columns: NDArray[np.int64]) -> Iterator[Score]:
    """Yield the score of Fisher's linear discriminant of both samples; none if it cannot be computed.

    Args:
        left: Outcomes of the first data set.
        right: Outcomes of the second data set.
        columns: Indices of the numbers of an outcome that are used.
    """
    a = _select_columns(left, columns)
    b = _select_columns(right, columns)
    both = np.concatenate([a, b])
    with np.errstate(all="ignore"), catch_warnings(action="ignore", category=RuntimeWarning):  # from empty columns
        centre = np.nan_to_num(np.nanmedian(both, axis=0))
        # 0.84, 0.16: a normal distribution has two standard deviations between these quantiles; tails have no effect
        scale = np.nan_to_num(np.nanquantile(both, 0.84, axis=0) - np.nanquantile(both, 0.16, axis=0))
    scale = np.where((scale > 0) & (scale < LARGEST_SCORE), scale, 1.0)

    def scale_rows(rows: Floats) -> Floats:
        """Return standardised numbers, clipped to 20 units of `scale` so that outliers do not decide; 0 for absent
        ones.

        Args:
            rows: Numbers of the outcomes, of shape ``(outcomes, columns)``.

        Returns:
            Array of the same shape.
        """
        with np.errstate(over="ignore"):
            return np.asarray(np.clip(np.nan_to_num((rows - centre) / scale), -20, 20))

    x = scale_rows(a)
    y = scale_rows(b)
    covariance = np.cov(np.concatenate([x - x.mean(axis=0), y - y.mean(axis=0)]).T)
    # 1e-3: share of the mean variance that is added to each variance, so that the matrix can be inverted
    ridge = 1e-3 * (np.trace(np.atleast_2d(covariance)) / len(columns) + 1e-12) * np.eye(len(columns))
    try:
        weights = np.linalg.solve(np.atleast_2d(covariance) + ridge, x.mean(axis=0) - y.mean(axis=0))
    except np.linalg.LinAlgError:
        return
    yield Score(
        "linear discriminant",
        lambda sample: np.asarray(scale_rows(_select_columns(sample, columns)) @ weights),
        is_learned=True,
    )


def _fit_outcome_score(left: Sample, right: Sample) -> Score | None:
    """Return the score of complete outcomes: the log-ratio of their frequencies in both samples.

    None if most outcomes are distinct, because frequencies then say nothing.

    Args:
        left: Outcomes of the first data set.
        right: Outcomes of the second data set.
    """
    a = hash_outcomes(left)
    b = hash_outcomes(right)
    if len(np.unique(np.concatenate([a, b]))) > 0.5 * (len(a) + len(b)):
        return None
    distinct, log_ratios = _compute_log_ratios(a, b)
    return Score(
        "outcome as a whole",
        lambda sample: _look_up_ratios(hash_outcomes(sample), distinct, log_ratios),
        is_learned=True,
    )


def hash_outcomes(sample: Sample) -> Floats:
    """Return a hash of each outcome as an exact double.

    It does not depend on how many numbers the longest outcome of the sample has.

    Args:
        sample: The outcomes.

    >>> few, more = OutcomeParser().parse_outcomes([[1], [2]]), OutcomeParser().parse_outcomes([[1], [2, 3]])
    >>> (hash_outcomes(few) == hash_outcomes(more)).tolist()
    [True, False]
    """
    hashes = sample.kinds.astype(np.uint64)
    with np.errstate(over="ignore"):
        for column in sample.numbers.T:
            bits = (column + 0.0).view(np.uint64)  # adding 0 makes -0.0 equal to 0.0
            # multiply and shift (Fibonacci hashing): the constant is 2**64 over the golden ratio
            mixed = (hashes ^ bits ^ (bits >> np.uint64(29))) * np.uint64(0x9E3779B97F4A7C15)
            # absent numbers have no effect
            hashes = np.where(np.isnan(column), hashes, mixed ^ (mixed >> np.uint64(32)))
    return (hashes >> np.uint64(12)).astype(np.float64)  # the upper 52 bits, which a double holds exactly


def _fit_boosted_trees(left: Sample, right: Sample, columns: NDArray[np.int64]) -> Iterator[Score]:
    """Yield the score of boosted trees, their log-odds that an outcome is of the left sample; none without
    scikit-learn.

    Args:
        left: Outcomes of the first data set.
        right: Outcomes of the second data set.
        columns: Indices of the numbers of an outcome that are used.
    """
    try:
        from sklearn.ensemble import HistGradientBoostingClassifier
    except ImportError:
        return
    x = np.concatenate([_select_columns(left, columns), _select_columns(right, columns)])
    truth = np.repeat([1, 0], [len(left), len(right)])
    model = HistGradientBoostingClassifier(max_iter=60, max_leaf_nodes=8, learning_rate=0.15, random_state=0)
    model.fit(np.clip(x, -1e300, 1e300), truth)

    def score_sample(sample: Sample) -> Floats:
        """Return the model's log-odds that each outcome comes from the first data set, as a score.

        Args:
            sample: Outcomes of one data set.

        Returns:
            Log-odds that an outcome comes from the first data set, of shape ``(outcomes,)``.
        """
        return np.asarray(
            model.decision_function(np.clip(_select_columns(sample, columns), -1e300, 1e300)), dtype=np.float64
        )

    yield Score("boosted trees", score_sample, is_learned=True)
