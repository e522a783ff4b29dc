"""Scorecards: linear predictors over columns clipped to declared ranges, and over declared categories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from typing import Any, ClassVar

import numpy as np

from ...arguments import Refused, chosen, number, require_kind, require_known, several
from ...arrays import FloatArray
from ..axis import Categories, Category
from ..predictor import Input, Predictor, require_name
from .fitted import formula, sklearn_linear
from .link import Link
from .terms import Level, Power, Ranged, Term, Transform, column_of, declared, factor_of, written

MOST_TERMS = 10_000
LARGEST = 1e300
"""What the parts of a linear predictor add up to at the most, whatever a record holds."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Scorecard(Predictor):
    """A linear predictor, and the link that makes a prediction of it.

    It stands wherever a column of scores does. Every column is read as an axis reads it: text that is no number, and
    NULL, are missing, and so is then the score; a number outside its range, however large, counts as the nearer end; a
    category that was not declared is missing, too, unless the column is among `others`.

    Formal guarantees: as for `Predictor`. Additions, multiplications and divisions round the same wherever they stand;
    logarithms and links are worked out one number at a time; terms are added in their order.

    Attributes:
        name: What pictures, statements and ledgers call the scores.
        intercept: What is added to the terms.
        columns: All that is read, with declared ranges and categories.
        terms: What is added up, in this order.
        link: From the sum to the prediction.
        others: Columns of categories of which any other value, and none, has no coefficient instead of no score.

    Raises:
        ValueError: a term names a column that is not declared, or one is declared and not used; the logarithm of a
            range that reaches -1 is asked; or the sum could overflow.

    >>> age = Term(0.1, (Power("age"),))
    >>> risk = Scorecard("risk", -5.0, (Ranged("age", 18, 90),), (age,), Link.LOGIT)
    >>> risk.predict({"age": [50, 1e99, None]}).round(3).tolist()
    [0.5, 0.982, nan]
    """

    KIND: ClassVar[str] = "scorecard"

    name: str
    intercept: float
    columns: tuple[Ranged | Categories, ...]
    terms: tuple[Term, ...]
    link: Link = Link.IDENTITY
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_name(self.name)
        object.__setattr__(self, "intercept", number("intercept", self.intercept))
        for name in ("columns", "terms", "others"):
            object.__setattr__(self, name, several(name, getattr(self, name), "a tuple of them"))
        object.__setattr__(self, "link", chosen("link", self.link, Link))
        if len(self.terms) > MOST_TERMS:
            raise Refused("terms", f"at most {MOST_TERMS} are added up, got {len(self.terms)}")
        for each in self.columns:
            require_kind("columns", each, (Ranged, Categories), "a Ranged or Categories")
        self._require_declared()
        size = abs(self.intercept) + sum(self._largest(term) for term in self.terms)
        if not size <= LARGEST:
            raise Refused("terms", f"the sum could be beyond {LARGEST:g}; declare narrower ranges")

    def _require_declared(self) -> None:
        names = [each.column for each in self.columns]
        if len(set(names)) < len(names):
            raise Refused("columns", "each is declared once")
        used = {factor.column for term in self.terms for factor in term.factors}
        if used != set(names):
            odd = min(used ^ set(names))
            raise Refused("columns", f"{odd!r} is {'not declared' if odd in used else 'declared, but in no term'}", odd)
        for term in self.terms:
            for factor in term.factors:
                self._require_fit(factor)
        kinds = {each.column: type(each) for each in self.columns}
        if any(kinds.get(name) is not Categories for name in self.others):
            raise Refused("others", "columns of declared categories are needed")

    def _require_fit(self, factor: Power | Level) -> None:
        column = next(each for each in self.columns if each.column == factor.column)
        if isinstance(factor, Level) != isinstance(column, Categories):
            raise Refused("terms", f"{factor.column!r} has {'a range' if isinstance(column, Ranged) else 'categories'}")
        if isinstance(column, Categories) and isinstance(factor, Level) and factor.category not in column.values:
            raise Refused("terms", f"{factor.column!r} declares no category {factor.category!r}")
        logarithm = isinstance(factor, Power) and factor.transform is Transform.LOG1P
        if isinstance(column, Ranged) and logarithm and column.lower <= -1:
            raise Refused("ranges", f"{factor.column!r} needs a range above -1, for its log1p is taken")

    def _largest(self, term: Term) -> float:
        """The largest absolute value of the term: factors are largest at an end of their range."""
        size = abs(term.coefficient)
        ranges = {each.column: each for each in self.columns if isinstance(each, Ranged)}
        with np.errstate(over="ignore"):
            for factor in term.factors:
                if isinstance(factor, Power):
                    ends = ranges[factor.column]
                    size *= float(np.abs(factor.of(np.array([ends.lower, ends.upper]))).max())
        return inf if isnan(size) else size

    @property
    def inputs(self) -> tuple[Input, ...]:
        return tuple(Input(each.column, getattr(each, "values", None)) for each in self.columns)

    @property
    def linear(self) -> Scorecard:
        """The linear predictor itself: for grids that cut on its scale, as `Grid.logistic` does."""
        return replace(self, link=Link.IDENTITY)

    def values(self, columns: Sequence[FloatArray]) -> FloatArray:
        read = {each.column: self._prepared(each, column) for each, column in zip(self.columns, columns, strict=True)}
        found = np.full(len(columns[0]) if columns else 0, self.intercept)
        with np.errstate(all="ignore"):
            for term in self.terms:
                product = np.full(len(found), term.coefficient)
                for factor in term.factors:
                    product = product * self._factor(factor, read[factor.column])
                found = found + product
        return self.link.response(found)

    def _prepared(self, column: Ranged | Categories, values: FloatArray) -> FloatArray:
        if isinstance(column, Ranged):
            return np.clip(values, column.lower, column.upper)
        return np.where(np.isnan(values), -1.0, values) if column.column in self.others else values

    def _factor(self, factor: Power | Level, values: FloatArray) -> FloatArray:
        if isinstance(factor, Power):
            return factor.of(values)
        place = next(
            each.values.index(factor.category)
            for each in self.columns
            if isinstance(each, Categories) and each.column == factor.column
        )
        return np.where(np.isnan(values), np.nan, (values == place).astype(np.float64))

    def facts(self) -> dict[str, Any]:
        others = {"others": list(self.others)} if self.others else {}
        return {
            "link": self.link.value, "intercept": self.intercept,
            "columns": {each.column: declared(each) for each in self.columns},
            "terms": [{"coefficient": term.coefficient, "of": list(map(written, term.factors))}
                      for term in self.terms], **others,
        }  # fmt: skip

    @classmethod
    def of_facts(cls, name: str, facts: Mapping[str, Any]) -> Scorecard:
        """The inverse of `facts`.

        Raises:
            ValueError: they describe none.
        """
        require_known(facts, ("link", "intercept", "columns", "terms", "others"))
        columns = tuple(column_of(each, dict(given)) for each, given in dict(facts["columns"]).items())
        terms = tuple(Term(each["coefficient"], tuple(map(factor_of, each["of"]))) for each in facts["terms"])
        link = chosen("link", facts.get("link", "identity"), Link)
        return cls(name, facts.get("intercept", 0.0), columns, terms, link, tuple(facts.get("others", ())))

    @classmethod
    def from_sklearn(cls, model: Any, *, name: str, ranges: Mapping[str, tuple[float, float]]) -> Scorecard:
        """A fitted linear model of scikit-learn, alone or behind a pipeline; see `fitted.sklearn_linear`.

        Args:
            model: Linear or logistic (two classes) regression, or a generalised linear one with a logarithmic link.
                Before it may stand scalers, polynomial features, one-hot encoders and `FunctionTransformer(np.log1p)`,
                also in a column transformer.
            name: What the scores are called.
            ranges: The declared range of each column of numbers.

        Raises:
            ValueError: a step is of another kind, the model is not fitted or has no names of columns, or a range is
                missing.
        """
        return cls(name, *sklearn_linear.read(model, ranges))

    @classmethod
    def from_statsmodels(
        cls,
        result: Any,
        *,
        name: str,
        ranges: Mapping[str, tuple[float, float]],
        categories: Mapping[str, Sequence[Category]] | None = None,
    ) -> Scorecard:
        """Read the result of a linear or generalised linear model of statsmodels; as `from_r_table`, link included."""
        read = formula.read(dict(result.params), ranges, categories or {})
        return cls(name, *read, formula.link_of_statsmodels(result))

    @classmethod
    def from_r_table(
        cls,
        table: Any,
        *,
        name: str,
        link: Link | str,
        ranges: Mapping[str, tuple[float, float]],
        categories: Mapping[str, Sequence[Category]] | None = None,
    ) -> Scorecard:
        """Read the table of coefficients that R writes: names as ``sexm``, ``I(age^2)``, ``log1p(x)`` or ``age:sexm``.

        Args:
            table: A CSV file, as `broom::tidy` or `write.csv(coef(summary(fit)))` give, or names with coefficients.
            name: What the scores are called.
            link: From the linear predictor to the prediction.
            ranges: The declared range of each column of numbers.
            categories: All categories of each column of categories, the base level too.

        Raises:
            ValueError: a name is understood in no way, or in two.
        """
        read = formula.read(formula.coefficients_of(table), ranges, categories or {})
        return cls(name, *read, chosen("link", link, Link))
