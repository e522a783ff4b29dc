"""Fit a linear scorer that ranks positives above negatives, from released sums, and evaluate it on held-out records.

The scorer minimises the mean of ``(1 - (w x1 - w x0))**2`` over all pairs of a positive x1 and a negative x0. Pairs
need not be formed: with d the difference of the means of both classes, and S the sum of their covariance matrices,

    loss(w) = (1 - w d)**2 + w S w          least at  w = inverse(S + d d') d          (Fisher's discriminant direction)

Each round gets a fraction of the privacy loss. The rounds release

1. the number of records by class and fold;
2. the sum of each feature;
3. the sum of each product of two features;
4. the scores of each fold by the scorer that was fitted to the other folds, for the area under the ROC curve.

Noise is reduced by a ridge penalty and by shrinkage (`fit_least_squares`).

Formal guarantees: features are clipped to declared bounds, so a record adds at most 1 to a scaled sum. Fractions of the
loss add up (adaptive composition). Scorers are post-processing.

References: Gao, Jin, Zhu and Zhou 2013 (pairwise least squares); Bell, Bellet, Gascon and Kulkarni 2020.

>>> tables = [np.array([[[2.0, 1.0]], [[1.0, 2.0]]])]  # classes, one fold, cells of held-out scores
>>> round(float(_compute_held_out_auc(tables)), 3)
0.667
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations_with_replacement
from math import sqrt
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_integer, require_sequence, require_type
from dpcurves.arrays import FloatArray
from dpcurves.conversation import CellWorkload, Evidence, Needs, Setting, SingleQueryWorkload, ask_workload
from dpcurves.conversation.workload import HALF_WIDTH_STEPS
from dpcurves.curves.question import TableQuestion, build_privacy_statement, parse_class_labels
from dpcurves.curves.result import notes_on_classes
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Category
from dpcurves.models import NumericColumn, Power, Scorecard, Term
from dpcurves.queries import SumQuery

from .counted_numbers import CountedNumbers, Statistic, Tables, divide_counts
from .cross_fitting import MOST_FOLDS, Folds, HeldOut

HELD_OUT_SCORES = Grid(-3, 3, cells=32)
"""Cells of held-out scores, in standard deviations that follow from released sums; scores outside are counted in the
end cells."""
COUNT_FRACTION = Fraction(1, 20)
"""Budget fraction of the counts of both classes in each fold; more would leave less for scores and sums."""
HELD_OUT_FRACTION = Fraction(1, 4)
"""Budget fraction of the held-out scores, by which the scorer is judged; the sums that determine the scorer get the
rest."""


class FoldSums(NamedTuple):
    """Counts, sums and sums of products of features in [-1, 1], by class and fold.

    Attributes:
        counts: Number of records, negatives first, shape (2, folds).
        feature_sums: Sum of each feature, shape (2, folds, features).
        product_sums: Sum of each product of two features, shape (2, folds, features, features).
        noise_variance: Mean variance of the noise of a sum of products.
    """

    counts: FloatArray
    feature_sums: FloatArray
    product_sums: FloatArray
    noise_variance: float

    def drop_fold(self, fold: int) -> FoldSums:
        """Return the sums of all folds but one, to fit the scorer that scores its records.

        Args:
            fold: Index of the fold that is left out.
        """
        counts, feature_sums, product_sums = (np.delete(sums, fold, axis=1) for sums in self[:3])
        return FoldSums(counts, feature_sums, product_sums, self.noise_variance)


class FittedScorer(NamedTuple):
    """A linear scorer of features in [-1, 1].

    Attributes:
        weights: Coefficient of each feature, shape (features,).
        mean_score: Mean of the scores.
        score_deviation: Standard deviation of the scores.
    """

    weights: FloatArray
    mean_score: float
    score_deviation: float


# Ridge penalty, in units of the noise of the largest eigenvalue. It was chosen, like the prior deviation 0.03 below and
# the loss of sums of features, on synthetic records of 3 to 10 features, for the area of new records.
def fit_least_squares(sums: FoldSums, ridge: float = 3.0) -> FittedScorer:
    """Return the linear scorer with the least squared error over pairs of a positive and a negative.

    The error is the mean of ``(1 - (score of the positive - score of the negative))**2``. With means m0 and m1 of the
    classes, d = m1 - m0, and covariance matrices that add up to S, it equals ``(1 - w d)**2 + w S w``. The minimum is
    at ``w = inverse(S + d d') d``; its direction is Fisher's discriminant with unpooled covariances.

    Two corrections reduce the effect of noise. The largest eigenvalue of the noise of S is about the standard deviation
    of its entries times the root of the number of features; `ridge` times this is added to all eigenvalues, after
    clipping at 0. If noise is large compared with the usual distance between the covariances of the classes, they are
    shrunk towards each other, the noisier one by more.

    Args:
        sums: Noisy counts and sums.
        ridge: Ridge penalty, in units of the largest eigenvalue of the noise.

    >>> counts, first = np.array([[4.0], [4.0]]), np.array([[[-2.0]], [[2.0]]])
    >>> sums = FoldSums(counts, first, np.full((2, 1, 1, 1), 2.0), noise_variance=0.0)
    >>> fit_least_squares(sums).weights.round(9).tolist()
    [0.666666667]
    """
    counts = np.maximum(sums.counts.sum(axis=1), 1.0)
    means = np.clip(sums.feature_sums.sum(axis=1) / counts[:, None], -1.0, 1.0)
    squares = sums.product_sums.sum(axis=1) / counts[:, None, None]
    noise = sums.noise_variance * sums.counts.shape[1] / counts**2
    # prior standard deviation of the difference between the covariances of both classes
    shrinkage = noise / (noise.sum() + 0.03**2)
    shares = 1 - shrinkage + shrinkage[::-1]
    covariance = np.tensordot(shares, squares - means[:, :, None] * means[:, None, :], axes=1)
    features = means.shape[1]
    ridge_term = ridge * sqrt(features * float(shares**2 @ noise))
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0.0) + ridge_term
    mean_difference = means[1] - means[0]
    # an eigenvalue of 1e-9 counts as zero
    coordinates = (vectors.T @ mean_difference) * np.divide(1.0, values, out=np.zeros(features), where=values > 1e-9)
    weights = vectors @ coordinates
    weights = weights / (1 + float(mean_difference @ weights))
    within_variance = float(weights @ covariance @ weights) / 2
    between_variance = float(weights @ mean_difference) ** 2 * float(counts[0] * counts[1]) / float(counts.sum()) ** 2
    mean = float(counts @ means @ weights / counts.sum())
    return FittedScorer(weights, mean, sqrt(max(within_variance, 0.0) + between_variance) or 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseScorer(CountedNumbers):
    """A linear scorer that ranks positives above negatives, with the area under the ROC curve of held-out records.

    The area counts pairs within a fold, scored by the model that was fitted to the other folds. It is therefore the
    area of scorers that were fitted to fewer records. Scores are rounded to cells, and tied within a cell; the interval
    is for these rounded scores, and conditional on the fitted scorers.
    """

    KIND = "pairwise-scorer"
    TITLE = "Pairwise scorer of {question.label}"
    REPR_FACTS = "held-out AUC {auc:.3f}"
    LABEL = "area under the ROC curve"
    JSON_SCHEMAS = MappingProxyType({**CountedNumbers.JSON_SCHEMAS, "coefficients": display.BY_NAME})

    @property
    def auc(self) -> float:
        """The area under the ROC curve of held-out records."""
        return self.value("auc")

    @property
    def coefficients(self) -> dict[str, float]:
        """The coefficient of each feature, in units of score over units of the column."""
        pairs = zip(self.question.features, self._fitted_scorer.weights.tolist(), strict=True)
        return {feature.column: weight / _compute_half_range(feature) for feature, weight in pairs}

    @property
    def scorecard(self) -> Scorecard:
        """The scorer fitted to all folds, which other questions accept as scores."""
        return self.question.scorecard(self._fitted_scorer, "pairwise scorer")  # type: ignore[no-any-return]

    def decision_function(self, features: Any) -> FloatArray:
        """Return scores of public records.

        Args:
            features: A data frame or a mapping of columns; or an array ``(records, features)`` in their order.

        Returns:
            Scores, ``(records,)``: the loss aims at a difference of 1 between a positive and a negative.

        Raises:
            ValueError: a column is missing, or the array has another number of columns.
        """
        if isinstance(features, np.ndarray | list):
            try:
                values = np.asarray(features, dtype=np.float64)
            except (TypeError, ValueError, OverflowError):  # texts, None, lists of several lengths
                values = np.empty(0)
            if values.ndim != 2 or values.shape[1] != len(self.question.features):
                raise InvalidArgument(
                    "features",
                    f"an array of {len(self.question.features)} columns is needed, one for each feature of the "
                    "question, in its order",
                )
            features = {feature.column: values[:, index] for index, feature in enumerate(self.question.features)}
        return self.scorecard.predict(features)

    @property
    def _table_evidence(self) -> tuple[Evidence, ...]:
        """Released counts of the held-out scores, from which the area is computed; the other releases are sums of
        features.
        """
        return self.evidence[:1]

    @cached_property
    def _fitted_scorer(self) -> FittedScorer:
        """The scorer that is fitted to the released sums of all folds."""
        return fit_least_squares(self.question.sums(self.evidence[1:]))

    def _arrays(self) -> Mapping[str, object]:
        """Return the arrays of the JSON document: the numbers, and the coefficients by feature.

        Returns:
            ``numbers`` by name, and ``coefficients`` by feature.
        """
        return {**super()._arrays(), "coefficients": self.coefficients}


@dataclass(frozen=True, slots=True)
class PairwiseScorerQuestion(TableQuestion):
    """Fit a linear scorer for the area under the ROC curve by pairwise least squares; test it on held-out records.

    The loss of a pair of a positive and a negative is ``(1 - difference of scores)**2`` (Gao, Jin, Zhu and Zhou 2013;
    pairwise losses as in Bell, Bellet, Gascon and Kulkarni 2020). Its mean over all pairs depends only on the number of
    records, the sums of features and the sums of their products in each class. Each of these is released in one round.
    Records are assigned to folds by a public hash; the last round counts the scores of each fold by the scorer of the
    other folds.

    Formal guarantees: features are clipped to declared bounds and scaled to between -1 and 1, so a record with any
    values adds at most 1, in whole steps of 2**-39, to a sum of its class and fold. Mechanisms of sums and of counts
    each use their budget fraction, and the fractions add up to 1. The scorers are post-processing of released sums, so
    a held-out score is a function of one record and of public numbers.

    Attributes:
        label: The column of true labels.
        features: Columns of numbers with declared bounds; at most 16. Records with a missing feature are missing.
        folds: The number of folds.
        split_by: The numeric column whose hash assigns folds, such as a record number; None: the hash of all features,
            so records with equal features lie in one fold.
        pos_label, neg_label: The two classes; records with another label are missing.

    Raises:
        ValueError: a feature is given twice, `features` has no column or too many, or `folds` is not from 2 to 20.
        TypeError: a feature has no bounds.

    >>> import dpcurves as dp
    >>> draw = np.random.default_rng(1)
    >>> table = {"late": draw.integers(0, 2, 2000), "age": draw.normal(40, 9, 2000), "owed": draw.exponential(1, 2000)}
    >>> table["owed"] += table["late"]
    >>> question = dp.PairwiseScorerQuestion("late", (dp.NumericColumn("age", 0, 80), dp.NumericColumn("owed", 0, 4)))
    >>> with dp.Session(table, budget=dp.PrivacyLoss.pure(1), adjacency=dp.REPLACE_ONE) as session:
    ...     scorer = session.ask(question, dp.PrivacyLoss.pure(1))
    >>> scorer.coefficients["owed"] > 0, scorer.auc > 0.7, scorer.decision_function([[30, 2.5]]).shape
    (True, True, (1,))
    """

    label: str
    features: tuple[NumericColumn, ...]
    folds: int = 2
    split_by: str | None = None
    pos_label: Category = 1
    neg_label: Category | None = None

    def __post_init__(self) -> None:
        features = require_sequence("features", self.features, 'a tuple of them, as in (NumericColumn("age", 0, 90),),')
        for feature in features:
            require_type("features", feature, NumericColumn, 'a NumericColumn, as in NumericColumn("age", 0, 90),')
        object.__setattr__(self, "features", features)
        most_features = 16  # their products share the budget
        if not 1 <= len(features) <= most_features:
            raise InvalidArgument(
                "features", f"must name from 1 to {most_features} columns, got {len(features)}; leave some out"
            )
        require_type("label", self.label, str, "the name of a column")
        if len({feature.column for feature in features}) < len(features) or self.label in {
            feature.column for feature in features
        }:
            raise InvalidArgument(
                "features", "a feature is named twice, or is the column of labels; name each other column once"
            )
        object.__setattr__(self, "folds", require_integer("folds", self.folds))
        if not 2 <= self.folds <= MOST_FOLDS:
            raise InvalidArgument(
                "folds", f"must be a number of folds from 2 to {MOST_FOLDS}, as in 5, got {self.folds}"
            )
        if self.split_by is not None:
            require_type("split_by", self.split_by, str, "the name of a column")
        negative, positive = parse_class_labels(self.label, self.pos_label, self.neg_label).values
        object.__setattr__(self, "pos_label", positive)
        object.__setattr__(self, "neg_label", negative if self.neg_label is not None else None)

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Return the shape of each counted table: held-out scores (classes, folds, cells), then records, and sums of
        each feature and of each product of two features (classes, folds)."""
        rows = 2, self.folds
        features = len(self.features)
        return ((*rows, HELD_OUT_SCORES.cells), *[rows] * (1 + features + features * (features + 1) // 2))

    def grids(self) -> tuple[int, ...]:
        """Return, for each table, how many of its last axes are grids that count values outside in cells of their own.

        Here 0 for each, because scores are standardised and clipped.
        """
        return (0,) * len(self.shapes())

    def statistics(self) -> Mapping[str, Statistic]:
        """Return the only statistic of the result, ``auc``: the area under the ROC curve over pairs of records of one
        fold.
        """
        return {"auc": Statistic(_compute_held_out_auc, null_value=0.5)}

    def steps(self, setting: Setting) -> Needs[Any]:
        """Yield the queries that fit a linear scorer: counts of classes and folds, one query of sums for each feature
        and each product of two features, and counts of held-out scores.

        The last query depends on the answers of the earlier ones, which give the scorer of each fold.

        Args:
            setting: Without effect: the budget fractions are fixed.
        """
        classes = parse_class_labels(self.label, self.pos_label, self.neg_label)
        fold = Axis(self._make_folds(), Grid(0, self.folds, cells=self.folds))
        queries = [
            (SumQuery((classes, fold, axis), HALF_WIDTH_STEPS), budget_fraction)
            for axis, budget_fraction in self._allocate_budget()
        ]
        releases = list((yield from ask_workload(CellWorkload((classes, fold)), COUNT_FRACTION)).releases)
        notes = notes_on_classes(releases[-1], classes)
        for query, budget_fraction in queries:
            releases.append((yield from ask_workload(SingleQueryWorkload(query), budget_fraction)))
        evidence = tuple(Evidence.from_release(release) for release in releases)
        axis = Axis(self.held_out(evidence), HELD_OUT_SCORES)
        answer = yield from ask_workload(CellWorkload((classes, fold, axis)), HELD_OUT_FRACTION)
        privacy = build_privacy_statement([*releases, *answer.releases]).with_notes(*notes)
        return PairwiseScorer(self, (answer.counts, *evidence), privacy)

    def sums(self, released: Sequence[Evidence]) -> FoldSums:
        """Return the sums of features in each class and fold, in units of features between -1 and 1.

        Args:
            released: Released counts, sums of features and sums of products, in the order of release.
        """
        features, (count_evidence, *sum_evidence) = len(self.features), released
        counts = count_evidence.unbiased_cells.reshape(2, self.folds)
        rows = (2, self.folds)
        sums = [product.unbiased_cells.reshape(rows) / HALF_WIDTH_STEPS for product in sum_evidence]
        products = np.empty((*rows, features, features))
        for (row, column), product in zip(_list_pairs(features), sums[features:], strict=True):
            products[..., row, column] = products[..., column, row] = (
                product if row != column else (product + counts) / 2
            )
        noise = [
            float(product.sums.prefix_variances(False)[0, -1]) / HALF_WIDTH_STEPS**2
            for product in sum_evidence[features:]
        ]
        return FoldSums(counts, np.stack(sums[:features], axis=-1), products, float(np.mean(noise)))

    def held_out(self, released: Sequence[Evidence]) -> HeldOut:
        """Return the predictor that scores each record by the scorer fitted to the other folds.

        Args:
            released: Released counts, sums of features and sums of products, in the order of release.
        """
        sums = self.sums(released)
        scorers = [
            self.scorecard(fit_least_squares(sums.drop_fold(fold)), f"without fold {fold + 1}", standard=True)
            for fold in range(self.folds)
        ]
        return HeldOut(self._make_folds(), tuple(scorers))

    def scorecard(self, fitted: FittedScorer, name: str, *, standard: bool = False) -> Scorecard:
        """Return the scorer as a `Scorecard` of the original columns; if `standard`, its scores have mean 0 and
        standard deviation 1 by the released sums, and rounded coefficients.

        Args:
            fitted: Weights of a fit, one for each feature.
            name: Name of the scores.
            standard: Whether scores are divided by their released deviation and centred.
        """
        divisor, offset = (
            (fitted.score_deviation, fitted.mean_score / fitted.score_deviation) if standard else (1.0, 0.0)
        )
        # digits of the coefficients of held-out scores: rounded, so that the query does not depend on the machine
        coefficient_digits = 12
        weights = fitted.weights.tolist()
        if standard:
            weights = [float(f"{weight / divisor:.{coefficient_digits}g}") for weight in fitted.weights]
        terms = tuple(
            Term(float(weight), (_scale_feature(feature),))
            for feature, weight in zip(self.features, weights, strict=True)
        )
        return Scorecard(name, float(f"{-offset:.{coefficient_digits}g}") if standard else 0.0, self.features, terms)

    def _allocate_budget(self) -> list[tuple[Axis, Fraction]]:
        """Return the axis of each feature and of each product of two, with its budget fraction.

        Returns:
            Pairs of an axis and a budget fraction: features, then products.
        """
        features = len(self.features)
        pairs = list(_list_pairs(features))
        mean_weight = 4  # loss of the sum of a feature over the loss of the sum of a product
        fraction_per_product = (1 - COUNT_FRACTION - HELD_OUT_FRACTION) / (mean_weight * features + len(pairs))
        allocations = [
            (Axis(self._make_product(index), Grid(-1, 1, cells=1)), mean_weight * fraction_per_product)
            for index in range(features)
        ]
        for first, second in pairs:
            lower = 0 if first == second else -1  # a square is not negative
            product_axis = Axis(self._make_product(first, second), Grid(lower, 1, cells=1))
            allocations.append((product_axis, fraction_per_product))
        return allocations

    def _make_product(self, *indices: int) -> Scorecard:
        """Return the scorecard that computes a scaled feature, or the product of two, between -1 and 1, for a query of
        sums.

        Args:
            indices: Index of one feature or of two; two equal indices give the square.
        """
        columns = tuple(self.features[index] for index in dict.fromkeys(indices))
        if len(columns) < len(indices):
            factors: tuple[Power, ...] = (_scale_feature(columns[0], power=2),)
        else:
            factors = tuple(map(_scale_feature, columns))
        name = " and ".join(index.column for index in columns)
        return Scorecard(name[:60] if name.strip() else "feature", 0.0, columns, (Term(1.0, factors),))

    def _make_folds(self) -> Folds:
        """Return the assignment of records to folds: by the hash of `split_by`, or of all features."""
        columns = tuple(feature.column for feature in self.features)
        if self.split_by is None:
            return Folds(columns, columns, self.folds)
        return Folds(tuple(dict.fromkeys((*columns, self.split_by))), (self.split_by,), self.folds)

    def __str__(self) -> str:
        return f"pairwise scorer of {self.label} by {', '.join(feature.column for feature in self.features)}"


def _list_pairs(features: int) -> Any:
    """Return an iterator over the pairs of features whose products are summed, as indices (i, j) with i at most j.

    Args:
        features: Number of features.
    """
    return combinations_with_replacement(range(features), 2)


def _compute_half_range(feature: NumericColumn) -> float:
    """Return half the distance between the bounds of a feature; each bound is halved first, so that it does not
    overflow.

    Args:
        feature: Column with its lower and upper bound.
    """
    return feature.upper / 2 - feature.lower / 2


def _scale_feature(feature: NumericColumn, power: int = 1) -> Power:
    """Return the expression that scales a feature from its bounds to -1 to 1, raised to a power.

    Args:
        feature: Column with its lower and upper bound.
        power: Exponent, at least 1.
    """
    return Power(
        feature.column, power, centre=feature.upper / 2 + feature.lower / 2, spread=_compute_half_range(feature)
    )


def _compute_held_out_auc(tables: Tables) -> FloatArray:
    """Return the share of correctly ordered pairs of a negative and a positive in the same fold; ties count one
    half.

    Args:
        tables: One table of shape ``(..., 2, folds, cells)``, negatives first.

    Returns:
        Array of shape ``(...)``.
    """
    negative, positive = np.moveaxis(tables[0], -3, 0)
    negatives_below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = (negative.sum(axis=-1) * positive.sum(axis=-1)).sum(axis=-1)
    return divide_counts((positive * negatives_below).sum(axis=(-2, -1)), pairs)
