"""A linear scorer that ranks positives above negatives, learned from released sums, and judged on held-out records."""

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
from dpcurves.conversation.workload import HALF
from dpcurves.curves.question import build_privacy_statement, parse_class_labels
from dpcurves.curves.result import notes_on_classes
from dpcurves.data import Axis, Grid
from dpcurves.data.axis import Category
from dpcurves.models import NumericColumn, Power, Scorecard, Term
from dpcurves.queries import SumQuery

from .counted_numbers import CountedNumbers, Statistic, Tables, divide_counts
from .folds import MOST_FOLDS, Folds, HeldOut

MOST_FEATURES = 16
SCORES = Grid(-3, 3, cells=32)
"""Cells of held-out scores, in standard deviations of what released sums say of them."""
COUNTED, JUDGED = Fraction(1, 20), Fraction(1, 4)
"""Parts of the loss for counts of both classes in each fold, and for held-out scores; sums have the rest."""
MEANS, RIDGE, ALIKE, LEAST = 4, 3.0, 0.03, 1e-9
"""The loss of a feature over that of a product; the ridge in units of noise; how far covariances of classes are apart
that say nothing else; and the least eigenvalue that is told from none. All but the last were chosen on made-up records
of 3 to 10 features, for the area under the ROC curve of new ones."""
DIGITS = 12
"""Coefficients of held-out scores have so many digits: what is asked then does not hang on the last bit of a machine.
"""


class FoldSums(NamedTuple):
    """Counts, sums and sums of products of features between -1 and 1, of both classes, and variances of their noise.

    Attributes:
        counts: Records of each class and fold, negatives first: ``(2, folds)``.
        feature_sums: Sums of each feature: ``(2, folds, features)``.
        product_sums: Sums of each product of two: ``(2, folds, features, features)``.
        noise_variance: The variance of the noise of a sum of products, the mean of all of them.
    """

    counts: FloatArray
    feature_sums: FloatArray
    product_sums: FloatArray
    noise_variance: float

    def drop_fold(self, fold: int) -> FoldSums:
        """The sums of all other folds."""
        counts, first, second = (np.delete(each, fold, axis=1) for each in self[:3])
        return FoldSums(counts, first, second, self.noise_variance)


class FittedScorer(NamedTuple):
    """A scorer of features between -1 and 1, with the mean and the standard deviation of its scores."""

    weights: FloatArray
    mean_score: float
    score_deviation: float


def fit_least_squares(sums: FoldSums, ridge: float = RIDGE) -> FittedScorer:
    """The linear scorer with the least squared loss of pairs, ``(1 - (score of a positive - of a negative))**2``.

    With means m of both classes and covariance matrices of both, which add up to S, the mean loss of all pairs of a
    scorer w is ``(1 - w (m1 - m0))**2 + w S w``: pairs need not be formed. It is least for ``w = inverse(S + d d') d``,
    where d is the difference of means; its direction is that of Fisher's discriminant with covariances unpooled. The
    largest eigenvalue of noise of S is about the standard deviation of its entries times the root of the number of
    features: `ridge` times as much is added to all eigenvalues, and those below 0 count as 0. Where noise is large
    beside how far covariances of classes are apart, each is moved towards the other, the noisier one by more.

    >>> counts, first = np.array([[4.0], [4.0]]), np.array([[[-2.0]], [[2.0]]])
    >>> fit_least_squares(FoldSums(counts, first, np.full((2, 1, 1, 1), 2.0), noise_variance=0.0)).weights.round(9).tolist()
    [0.666666667]
    """
    counts = np.maximum(sums.counts.sum(axis=1), 1.0)
    means = np.clip(sums.feature_sums.sum(axis=1) / counts[:, None], -1.0, 1.0)
    squares = sums.product_sums.sum(axis=1) / counts[:, None, None]
    noise = sums.noise_variance * sums.counts.shape[1] / counts**2
    towards = noise / (noise.sum() + ALIKE**2)
    shares = 1 - towards + towards[::-1]
    scatter = np.tensordot(shares, squares - means[:, :, None] * means[:, None, :], axes=1)
    features = means.shape[1]
    added = ridge * sqrt(features * float(shares**2 @ noise))
    values, vectors = np.linalg.eigh(scatter)
    values = np.maximum(values, 0.0) + added
    apart = means[1] - means[0]
    along = (vectors.T @ apart) * np.divide(1.0, values, out=np.zeros(features), where=values > LEAST)
    weights = vectors @ along
    weights = weights / (1 + float(apart @ weights))
    within = float(weights @ scatter @ weights) / 2
    between = float(weights @ apart) ** 2 * float(counts[0] * counts[1]) / float(counts.sum()) ** 2
    mean = float(counts @ means @ weights / counts.sum())
    return FittedScorer(weights, mean, sqrt(max(within, 0.0) + between) or 1.0)


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseScorer(CountedNumbers):
    """A linear scorer that ranks positives above negatives, with the area under the ROC curve of held-out records.

    The area is that of each fold by the scorer of the others, over all pairs of one fold: that of a scorer that learned
    from fewer records. Scores are rounded to cells there, and tied in them; the interval is for such scores, and takes
    the scorers as they were learned.
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
        return {each.column: weight / _compute_half_range(each) for each, weight in pairs}

    @property
    def scorecard(self) -> Scorecard:
        """The scorer that was learned from all folds, which can stand in other questions in the place of scores."""
        return self.question.scorecard(self._fitted_scorer, "pairwise scorer")  # type: ignore[no-any-return]

    def decision_function(self, features: Any) -> FloatArray:
        """Scores of public records.

        Args:
            features: A data frame or a mapping of columns; or an array ``(records, features)`` in their order.

        Returns:
            Scores, ``(records,)``: the loss asks that a positive has one more than a negative.

        Raises:
            ValueError: a column is missing, or there are not as many as features.
        """
        if isinstance(features, np.ndarray | list):
            given = np.asarray(features, dtype=np.float64)
            if given.ndim != 2 or given.shape[1] != len(self.question.features):
                raise InvalidArgument("features", f"an array of {len(self.question.features)} columns is needed")
            features = {each.column: given[:, place] for place, each in enumerate(self.question.features)}
        return self.scorecard.predict(features)

    @property
    def _table_evidence(self) -> tuple[Evidence, ...]:
        return self.evidence[:1]

    @cached_property
    def _fitted_scorer(self) -> FittedScorer:
        return fit_least_squares(self.question.sums(self.evidence[1:]))

    def _arrays(self) -> Mapping[str, object]:
        return {**super()._arrays(), "coefficients": self.coefficients}


@dataclass(frozen=True, slots=True)
class PairwiseScorerQuestion:
    """A linear scorer for the area under the ROC curve, by least squares of pairs, judged on held-out records.

    The loss of a pair of a positive and a negative is ``(1 - difference of scores)**2`` (Gao, Jin, Zhu and Zhou 2013;
    pairwise losses are those of Bell, Bellet, Gascon and Kulkarni 2020). Its mean over all pairs depends on numbers
    of records, sums of features and sums of their products in each class alone. Each of them is one turn. Records are
    put into folds by a public hash; the last turn counts the scores of each fold by the scorer of the others.

    Formal guarantees: features are clipped to declared bounds and scaled to between -1 and 1, so a record adds at most
    1, in whole steps of 2**-39, to a sum of its class and fold, whatever it holds; mechanisms of sums and of counts
    keep their part of the loss each, and parts add up to 1. The scorers are made of what was released, so a held-out
    score is a function of one record and of public numbers.

    Attributes:
        label: The column of true labels.
        features: Columns of numbers with declared bounds; at most 16. A record that lacks one is missing.
        folds: Into how many folds records are put.
        split_by: The column of numbers whose hash decides, as the number of a record; None: that of all features, by
            which records that are alike in all of them lie in one fold.
        pos_label, neg_label: The two classes; records with another label are missing.

    Raises:
        ValueError: a feature stands twice, there are none or too many, or folds are not from 2 to 20.
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
        given = require_sequence("features", self.features, 'a tuple of them, as in (Ranged("age", 0, 90),),')
        for each in given:
            require_type("features", each, NumericColumn, 'a Ranged, as in Ranged("age", 0, 90),')
        object.__setattr__(self, "features", given)
        if not 1 <= len(given) <= MOST_FEATURES:
            raise InvalidArgument("features", f"from 1 to {MOST_FEATURES} are needed, got {len(given)}")
        require_type("label", self.label, str, "the name of a column")
        if len({each.column for each in given}) < len(given) or self.label in {each.column for each in given}:
            raise InvalidArgument("features", "each column is named once, and none is that of labels")
        object.__setattr__(self, "folds", require_integer("folds", self.folds))
        if not 2 <= self.folds <= MOST_FOLDS:
            raise InvalidArgument("folds", f"a number from 2 to {MOST_FOLDS} is needed, got {self.folds}")
        if self.split_by is not None:
            require_type("split_by", self.split_by, str, "the name of a column")
        negative, positive = parse_class_labels(self.label, self.pos_label, self.neg_label).values
        object.__setattr__(self, "pos_label", positive)
        object.__setattr__(self, "neg_label", negative if self.neg_label is not None else None)

    def shapes(self) -> tuple[tuple[int, ...], ...]:
        """Classes, folds and cells of held-out scores; and behind them those of counts and sums."""
        rows = 2, self.folds
        many = len(self.features)
        return ((*rows, SCORES.cells), *[rows] * (1 + many + many * (many + 1) // 2))

    def grids(self) -> tuple[int, ...]:
        """No grid has slots of its own for values outside: scores are standardised, and those far out are clamped."""
        return (0,) * len(self.shapes())

    def statistics(self) -> Mapping[str, Statistic]:
        """The area under the ROC curve of pairs in one fold."""
        return {"auc": Statistic(_compute_held_out_auc, null_value=0.5)}

    def steps(self, setting: Setting) -> Needs[Any]:
        """Ask for counts, for sums one by one, and for held-out scores."""
        classes, fold = parse_class_labels(self.label, self.pos_label, self.neg_label), self._make_fold_axis()
        asked = [(SumQuery((classes, fold, axis), HALF), share) for axis, share in self._allocate_budget()]
        releases = list((yield from ask_workload(CellWorkload((classes, fold)), COUNTED)).releases)
        notes = notes_on_classes(releases[-1], classes)
        for query, share in asked:
            releases.append((yield from ask_workload(SingleQueryWorkload(query), share)))
        told = tuple(Evidence.from_release(release) for release in releases)
        axis = Axis(self.held_out(told), SCORES)
        found = yield from ask_workload(CellWorkload((classes, fold, axis)), JUDGED)
        privacy = build_privacy_statement([*releases, *found.releases]).with_notes(*notes)
        return PairwiseScorer(self, (found.counts, *told), privacy)

    def sums(self, told: Sequence[Evidence]) -> FoldSums:
        """Released sums, without held-out scores, in units of features between -1 and 1."""
        many, (counted, *others) = len(self.features), told
        counts, rows = counted.unbiased_cells.reshape(2, self.folds), (2, self.folds)
        found = [each.unbiased_cells.reshape(rows) / HALF for each in others]
        second = np.empty((*rows, many, many))
        for (one, other), each in zip(_list_pairs(many), found[many:], strict=True):
            second[..., one, other] = second[..., other, one] = each if one != other else (each + counts) / 2
        noise = [float(each.sums.prefix_variances(False)[0, -1]) / HALF**2 for each in others[many:]]
        return FoldSums(counts, np.stack(found[:many], axis=-1), second, float(np.mean(noise)))

    def held_out(self, told: Sequence[Evidence]) -> HeldOut:
        """Scores of records by the scorer of the other folds, from released sums without held-out scores."""
        sums = self.sums(told)
        scorers = [
            self.scorecard(fit_least_squares(sums.drop_fold(each)), f"without fold {each + 1}", standard=True)
            for each in range(self.folds)
        ]
        return HeldOut(self._make_folds(), tuple(scorers))

    def scorecard(self, fitted: FittedScorer, name: str, *, standard: bool = False) -> Scorecard:
        """The scorer over columns; or, as `standard`, its scores less their mean over their standard deviation."""
        over, less = (fitted.score_deviation, fitted.mean_score / fitted.score_deviation) if standard else (1.0, 0.0)
        weights = [float(f"{each / over:.{DIGITS}g}") for each in fitted.weights] if standard else fitted.weights
        terms = tuple(
            Term(float(weight), (_scale_feature(each),)) for each, weight in zip(self.features, weights, strict=True)
        )
        return Scorecard(name, float(f"{-less:.{DIGITS}g}") if standard else 0.0, self.features, terms)

    def _allocate_budget(self) -> list[tuple[Axis, Fraction]]:
        """Features and products of two, each with its part of the loss."""
        many = len(self.features)
        pairs = list(_list_pairs(many))
        one = (1 - COUNTED - JUDGED) / (MEANS * many + len(pairs))
        found = [(Axis(self._make_product(each), Grid(-1, 1, cells=1)), MEANS * one) for each in range(many)]
        return found + [
            (Axis(self._make_product(*pair), Grid(-1 + (len({*pair}) < 2), 1, cells=1)), one) for pair in pairs
        ]

    def _make_product(self, *places: int) -> Scorecard:
        columns = tuple(self.features[each] for each in dict.fromkeys(places))
        if len(columns) < len(places):
            factors: tuple[Power, ...] = (_scale_feature(columns[0], power=2),)
        else:
            factors = tuple(map(_scale_feature, columns))
        name = " and ".join(each.column for each in columns)
        return Scorecard(name[:60] if name.strip() else "feature", 0.0, columns, (Term(1.0, factors),))

    def _make_folds(self) -> Folds:
        columns = tuple(each.column for each in self.features)
        if self.split_by is None:
            return Folds(columns, columns, self.folds)
        return Folds(tuple(dict.fromkeys((*columns, self.split_by))), (self.split_by,), self.folds)

    def _make_fold_axis(self) -> Axis:
        return Axis(self._make_folds(), Grid(0, self.folds, cells=self.folds))

    def __str__(self) -> str:
        return f"pairwise scorer of {self.label} by {', '.join(each.column for each in self.features)}"


def _list_pairs(many: int) -> Any:
    return combinations_with_replacement(range(many), 2)


def _compute_half_range(feature: NumericColumn) -> float:
    return feature.upper / 2 - feature.lower / 2


def _scale_feature(feature: NumericColumn, power: int = 1) -> Power:
    return Power(
        feature.column, power, centre=feature.upper / 2 + feature.lower / 2, spread=_compute_half_range(feature)
    )


def _compute_held_out_auc(tables: Tables) -> FloatArray:
    negative, positive = np.moveaxis(tables[0], -3, 0)
    below = np.cumsum(negative, axis=-1) - negative / 2
    pairs = (negative.sum(axis=-1) * positive.sum(axis=-1)).sum(axis=-1)
    return divide_counts((positive * below).sum(axis=(-2, -1)), pairs)
