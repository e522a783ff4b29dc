"""Scorecards: linear and generalised linear models, imported from scikit-learn, statsmodels or R, or written by hand.

    score = response(intercept + sum_k coefficient_k * term_k(record))

A term is a product of factors: powers of functions of columns, and indicators of categories (`models.terms`). The
response is the inverse of the link function: identity, logistic function or exponential. Numbers outside their declared
range count as the nearer endpoint. A missing column makes the score missing.

Formal guarantees: as for `Predictor`, a score is a function of one row. Terms are added in order, with operations that
round equally on all machines, so that engines agree bit by bit.

Reference: McCullagh and Nelder 1989 (generalised linear models).
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, isnan
from pathlib import Path
from re import fullmatch, sub
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from ..arguments import (
    InvalidArgument,
    describe_value,
    parse_choice,
    require_known_fields,
    require_number,
    require_sequence,
    require_type,
)
from ..arrays import FloatArray
from ..data.axis import Categories, Category, Input, Predictor, require_name
from .terms import (
    Level,
    Link,
    NumericColumn,
    Power,
    Term,
    Transform,
    column_from_json,
    column_to_json,
    factor_from_json,
    factor_to_json,
)

INTERCEPT_NAMES = {"(Intercept)", "Intercept", "const"}
"""Names under which R and statsmodels list the intercept; each other name must match the terms of a formula."""
ESTIMATE_COLUMNS = ("estimate", "Estimate", "coef", "x")
"""Headers that the column of coefficients in a CSV file may have, in order of preference: of broom, R's summary,
statsmodels and R's write.csv. Without any, the file is refused."""
TERM_COLUMNS = ("term", "", "rownames", "name")
"""Headers that the column of coefficient names in a CSV file may have, in order of preference; empty as R and pandas
write row names. Without any, the file is refused."""
Ranges = Mapping[str, tuple[float, float]]
Levels = Mapping[str, Sequence[Category]]
FormulaParts = tuple[float, tuple[NumericColumn | Categories, ...], tuple[Term, ...]]
LINKS = {"logit": Link.LOGIT, "log": Link.LOG, "identity": Link.IDENTITY}
"""Link functions by their names in statsmodels. A model with another link is refused."""


def read_coefficients(table: Any) -> dict[str, float]:
    """Return coefficients by name, from a CSV file or any mapping.

    Args:
        table: Path of a CSV file with columns ``term`` and ``estimate`` or usual variants of these; or a mapping.

    Raises:
        ValueError: the table lacks a column of names or of estimates.
    """
    if isinstance(table, str | Path):
        with Path(table).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        header = set(rows[0]) if rows else set()
        name = next((candidate for candidate in TERM_COLUMNS if candidate in header), None)
        estimate = next((candidate for candidate in ESTIMATE_COLUMNS if candidate in header), None)
        if name is None or estimate is None:
            raise InvalidArgument("table", "columns term and estimate are needed: write the table with broom::tidy")
        return {row[name]: _parse_coefficient(row[estimate], row[name]) for row in rows}
    return {str(name): _parse_coefficient(coefficient, str(name)) for name, coefficient in dict(table).items()}


def _parse_coefficient(coefficient: Any, name: str) -> float:
    """Return a coefficient of a model's table as a float.

    Args:
        coefficient: Number or text.
        name: Name of the coefficient, for the message.

    Raises:
        InvalidArgument: the coefficient is no number.
    """
    try:
        return float(coefficient)
    except (TypeError, ValueError):
        raise InvalidArgument(
            "table", f"the coefficient of {name!r} is not a number: correct it, or refit the model"
        ) from None


def parse_formula(coefficients: Mapping[Any, Any], ranges: Ranges, categories: Levels) -> FormulaParts:
    """Parse named coefficients of a regression (R or statsmodels) into intercept, columns and terms.

    Args:
        coefficients: Coefficients by their names in R or statsmodels.
        ranges: Declared range of each numeric column.
        categories: All categories of each categorical column.

    Raises:
        ValueError: a name matches no column or level, or is ambiguous.
    """
    intercept = 0.0
    terms = []
    for name, value in coefficients.items():
        if str(name) in INTERCEPT_NAMES:
            intercept = _parse_coefficient(value, str(name))
        else:
            factors = tuple(_parse_factor(part, ranges, categories) for part in _split_interaction(str(name)))
            terms.append(Term(_parse_coefficient(value, str(name)), factors))
    return intercept, _declare_columns(terms, ranges, categories), tuple(terms)


def _declare_columns(
    terms: Iterable[Term], ranges: Ranges, categories: Levels
) -> tuple[NumericColumn | Categories, ...]:
    """Return the declared columns that these terms use, in order of appearance.

    Args:
        terms: Terms of a linear predictor.
        ranges: Declared range of each numeric column.
        categories: Declared categories of each categorical column.

    Raises:
        InvalidArgument: a numeric column has no declared range.
    """
    declared: list[NumericColumn | Categories] = []
    for name in dict.fromkeys(factor.column for term in terms for factor in term.factors):
        if name not in categories and name not in ranges:
            raise InvalidArgument(
                "ranges", f"declare the range of {name!r}, as in ranges={{{name!r}: (lower, upper)}}", name
            )
        declared.append(
            Categories(name, tuple(categories[name])) if name in categories else NumericColumn(name, *ranges[name])
        )
    return tuple(declared)


def _split_interaction(name: str) -> list[str]:
    """Split the name of an interaction into its factors: at colons that are not inside brackets.

    Args:
        name: Name of a coefficient in the notation of R or patsy.
    """
    factors = [""]
    depth = 0
    for letter in name:
        if letter in "([":
            depth += 1
        elif letter in ")]":
            depth -= 1
        if letter == ":" and depth == 0:
            factors.append("")
        else:
            factors[-1] += letter
    return [factor.strip().strip("`") for factor in factors]


def _parse_factor(part: str, ranges: Ranges, categories: Levels) -> Power | Level:
    """Parse one factor of a coefficient's name: the power of a column, or the level of a category, that the name stands
    for.

    Args:
        part: Part of a name, such as ``age``, ``I(age^2)`` or ``sexm``; parts of products are joined by ``:``.
        ranges: Declared bounds of numeric columns.
        categories: Declared categories by column.

    Raises:
        InvalidArgument: the part has no meaning, or several.
    """
    matches: list[Power | Level] = [*_parse_powers(part, ranges), *_parse_levels(part, categories)]
    if len(matches) != 1:
        ways = "has several meanings; rename the column or the category"
        if not matches:
            ways = "has no meaning; declare ranges={'age': (0, 90)} or categories={'sex': ('f', 'm')} for its column"
        raise InvalidArgument("table", f"the name {describe_value(part)} of a coefficient {ways}")
    return matches[0]


def _parse_powers(part: str, ranges: Ranges) -> list[Power]:
    """Return the power or logarithm of a numeric column that a name such as ``I(age^2)`` means; an empty list if
    none.

    Args:
        part: Part of a coefficient's name in the notation of R or patsy.
        ranges: Declared bounds of numeric columns; a column without bounds is not found.

    Returns:
        One power, or none.
    """
    if part in ranges:
        return [Power(part)]
    logarithm = fullmatch(r"(?:np\.)?log1p\((.+)\)", part)
    if logarithm and logarithm[1].strip("` ") in ranges:
        return [Power(logarithm[1].strip("` "), transform=Transform.LOG1P)]
    power = fullmatch(r"I\((.+?)\s*(?:\^|\*\*)\s*(\d+)\)", part) or fullmatch(r"np\.power\((.+?),\s*(\d+)\)", part)
    if power and power[1].strip("` ") in ranges:
        return [Power(power[1].strip("` "), int(power[2]))]
    return []


def _parse_levels(part: str, categories: Levels) -> list[Level]:
    """Return the levels that a name may mean: column name and level, with or without brackets and a factor function,
    as in ``C(sex)[T.m]`` or ``sexm``.

    Args:
        part: Part of a coefficient's name in the notation of R or patsy.
        categories: Declared categories by column.

    Returns:
        Levels, in no order; none if the name means no declared category.
    """
    bracketed = fullmatch(r"(.+)\[(?:T\.)?(.+)\]", part)
    forms = [(bracketed[1], bracketed[2])] if bracketed else []
    forms += [(part[:cut], part[cut:]) for cut in range(1, len(part))]
    levels: set[Level] = set()
    for column_text, level_text in forms:
        column = sub(r"^(?:C|factor|as\.factor)\((.+?)(?:,.*)?\)$", r"\1", column_text).strip("` ")
        for value in categories.get(column, ()):
            spellings = {str(value), str(value).upper()} if isinstance(value, bool) else {str(value)}  # R writes TRUE
            if level_text in spellings:
                levels.add(Level(column, value))
    return list(levels)


def find_statsmodels_link(result: Any) -> Link:
    """Return the link of a fitted model: of a generalised linear model, a logistic or a Poisson regression.

    Args:
        result: Results of a fitted statsmodels model, as its method ``fit`` returns them.

    Raises:
        ValueError: the link is not supported.
    """
    model = getattr(result, "model", None)
    family = getattr(model, "family", None)
    word = type(family.link).__name__.lower() if family is not None else ""
    is_known = {"Logit": "logit", "Poisson": "log", "OLS": "identity", "WLS": "identity", "GLS": "identity"}
    word = word or is_known.get(type(model).__name__, "")
    if word not in LINKS:
        raise InvalidArgument(
            "result",
            f"the link must be one of {', '.join(LINKS)}, got {describe_value(word or type(model).__name__)}",
        )
    return LINKS[word]


Feature = tuple[Term, ...]
"""A column of a design matrix, as a sum of terms."""
LOGISTIC_CLASSES = {"LogisticRegression", "LogisticRegressionCV"}
"""Classes of scikit-learn that are read as a regression with the logit link. A class in no such set is refused."""
LOG_LINK_CLASSES = {"PoissonRegressor", "GammaRegressor"}
"""Classes of scikit-learn that are read as a regression with the logarithm as link."""
IDENTITY_LINK_CLASSES = {
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "BayesianRidge",
    "HuberRegressor", "QuantileRegressor", "TheilSenRegressor",
}  # fmt: skip
"""Classes of scikit-learn that are read as a regression whose prediction is the linear predictor itself."""
Parts = tuple[*FormulaParts, Link, tuple[str, ...]]


@dataclass(frozen=True)
class Design:
    """Columns of a design matrix, and the declarations of table columns collected so far."""

    features: tuple[Feature, ...]
    categories: Mapping[str, tuple[Any, ...]]
    others: frozenset[str]


def parse_sklearn_model(model: Any, ranges: Ranges) -> Parts:
    """Return the parts of a `Scorecard` that predicts as a fitted linear model or pipeline of scikit-learn does.

    Args:
        model: Linear or logistic regression, alone or after scalers and encoders in a pipeline.
        ranges: Declared bounds of numeric columns.

    Returns:
        Intercept, columns, terms, link, and names of columns whose undeclared categories count as the reference.

    Raises:
        ValueError: the model is not fitted to a data frame with named columns, or has steps or outputs of other kinds.
    """
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    *before, last = steps

    # Each step before the last, such as a scaler, changes what a coefficient multiplies.
    names = getattr(steps[0], "feature_names_in_", None)
    if names is None:
        raise InvalidArgument("model", "fit the model to a data frame: the names of its columns are needed")
    design = Design(tuple((Term(1.0, (Power(str(name)),)),) for name in names), {}, frozenset())
    for step in before:
        design = _apply_step(step, design)

    coefficients, intercept = _read_sklearn_coefficients(last)
    if len(coefficients) != len(design.features):
        raise InvalidArgument(
            "model",
            f"the model has {len(coefficients)} coefficients for {len(design.features)} columns: fit it to the "
            "columns of its data frame",
        )

    # Constants of centred features belong to the intercept.
    added: list[Term] = []
    for coefficient, feature in zip(coefficients, design.features, strict=True):
        added += [term for term in _scale_feature(feature, coefficient) if term.coefficient != 0]
    intercept += sum(term.coefficient for term in added if not term.factors)
    terms = tuple(term for term in added if term.factors)
    columns = _declare_columns(terms, ranges, design.categories)
    others = tuple(sorted(design.others & {column.column for column in columns}))
    return intercept, columns, terms, _find_sklearn_link(last), others


def _read_sklearn_coefficients(last: Any) -> tuple[list[float], float]:
    """Return the coefficients and the intercept of a fitted model.

    Args:
        last: Last step of the pipeline.

    Returns:
        Coefficients in the order of the design's columns, and the intercept.

    Raises:
        InvalidArgument: the model was not fitted, or has more than one prediction for each record.
    """
    if not hasattr(last, "coef_"):
        raise InvalidArgument("model", f"{type(last).__name__} has no coefficients: fit the model first")
    coefficients = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64))
    base = np.ravel(last.intercept_)
    if len(coefficients) != 1 or len(base) != 1:
        raise InvalidArgument(
            "model", "a single prediction for each record is needed: fit the model to two classes, or to one outcome"
        )
    return coefficients[0].tolist(), float(base[0])


def _find_sklearn_link(last: Any) -> Link:
    """Return the link function of a model, by the name of its class.

    Args:
        last: Fitted scikit-learn model, the last step of a pipeline.

    Raises:
        InvalidArgument: the class is not supported.
    """
    name = type(last).__name__
    for names, link in (
        (LOGISTIC_CLASSES, Link.LOGIT),
        (LOG_LINK_CLASSES, Link.LOG),
        (IDENTITY_LINK_CLASSES, Link.IDENTITY),
    ):
        if name in names:
            return link
    readable = ", ".join(sorted(LOGISTIC_CLASSES | LOG_LINK_CLASSES | IDENTITY_LINK_CLASSES))
    raise InvalidArgument("model", f"{name} cannot be read; use one of {readable}")


def _apply_step(step: Any, design: Design) -> Design:
    """Return the design matrix (features as sums of terms) after one step of a scikit-learn pipeline.

    Args:
        step: Fitted transformer.
        design: Design matrix before the step.

    Raises:
        InvalidArgument: the step is not supported.
    """
    name = type(step).__name__
    if name == "Pipeline":
        for _, inner in step.steps:
            design = _apply_step(inner, design)
        return design
    if name == "ColumnTransformer":
        return _apply_column_transformer(step, design)
    if name == "OneHotEncoder":
        return _apply_one_hot_encoder(step, design)
    if isinstance(step, str) and step == "passthrough":
        return design
    if name not in PIPELINE_STEPS:
        allowed = f"{', '.join(sorted(PIPELINE_STEPS))}, ColumnTransformer, OneHotEncoder and Pipeline"
        raise InvalidArgument("model", f"{name} cannot be read; only these may come before a model: {allowed}")
    return replace(design, features=PIPELINE_STEPS[name](step, design.features))


def _apply_column_transformer(step: Any, design: Design) -> Design:
    """Return the design matrix after a column transformer: the columns of all its blocks, one after the other,
    without dropped ones.

    Args:
        step: Fitted column transformer of scikit-learn.
        design: Design matrix before it.
    """
    names = [str(name) for name in step.feature_names_in_]
    features: list[Feature] = []
    categories = dict(design.categories)
    others = design.others
    for _, inner, picked in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        chosen = [picked] if isinstance(picked, str) else list(picked)
        indices = [names.index(column) if isinstance(column, str) else int(column) for column in chosen]
        block = replace(design, features=tuple(design.features[place] for place in indices))
        block = _apply_step(inner, block)
        features += block.features
        categories |= block.categories
        others |= block.others
    return Design(tuple(features), categories, others)


def _apply_one_hot_encoder(step: Any, design: Design) -> Design:
    """Return the design matrix after a one-hot encoder: an indicator for each category that it does not drop.

    Args:
        step: Fitted one-hot encoder of scikit-learn.
        design: Design matrix before it, with one plain column for each list of categories.

    Raises:
        InvalidArgument: the encoder merges rare categories.
    """
    if getattr(step, "min_frequency", None) is not None or getattr(step, "max_categories", None) is not None:
        raise InvalidArgument(
            "model", "encoders that merge rare categories are not supported: leave out min_frequency and max_categories"
        )
    features: list[Feature] = []
    categories = dict(design.categories)
    others = set(design.others)
    dropped = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(step.categories_)
    for feature, values, left_out in zip(design.features, step.categories_, dropped, strict=True):
        column = _require_plain_column(feature).column
        present = (value for value in values.tolist() if value is not None)
        declared = tuple(category for category in present if not (isinstance(category, float) and isnan(category)))
        categories[column] = declared
        if step.handle_unknown == "ignore":
            others.add(column)
        features += [
            (Term(1.0, (Level(column, level),)) if level in declared else Term(0.0, ()),)
            for index, level in enumerate(values.tolist())
            if index != left_out
        ]
    return Design(tuple(features), categories, frozenset(others))


def _require_plain_column(feature: Feature) -> Power:
    """Return the factor of a feature that is a column of the table, perhaps transformed; an encoder or scaler needs
    one.

    Args:
        feature: Feature as a sum of terms.

    Raises:
        InvalidArgument: the feature is something else, such as a product.
    """
    (term,) = feature if len(feature) == 1 else (Term(0.0, ()),)
    if term.coefficient != 1.0 or len(term.factors) != 1 or not isinstance(term.factors[0], Power):
        raise InvalidArgument(
            "model", "encoders and logarithms must be applied to columns of the table: put them first in the pipeline"
        )
    return term.factors[0]


def _scale_feature(feature: Feature, number: float) -> Feature:
    """Return the feature times a number: each coefficient is multiplied.

    Args:
        feature: Feature as a sum of terms.
        number: The factor.
    """
    return tuple(replace(term, coefficient=term.coefficient * number) for term in feature)


def _standardize_feature(feature: Feature, centre: float, spread: float) -> Feature:
    """Return (feature - centre) / spread. A plain column is centred inside its factor, which avoids cancellation.

    Args:
        feature: Terms of the feature.
        centre: Number to subtract.
        spread: Number to divide by.
    """
    single = feature[0].factors if len(feature) == 1 and feature[0].coefficient == 1.0 else ()
    power = single[0] if len(single) == 1 else None
    if isinstance(power, Power) and power == Power(power.column, 1, power.transform):
        return (Term(1.0, (replace(power, centre=centre, spread=spread),)),)
    return (*_scale_feature(feature, 1 / spread), Term(-centre / spread, ()))


def _apply_scaler(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the features after a fitted scaler: centred, and divided by their spreads.

    Args:
        step: Fitted scaler of scikit-learn.
        features: Features as sums of terms, in the order of the columns.

    Raises:
        InvalidArgument: the scaler clips.
    """
    if getattr(step, "clip", False):
        raise InvalidArgument("model", "scalers that clip are not supported: declare ranges instead")
    centres, spreads = SCALERS[type(step).__name__](step)
    none = np.zeros(len(features))
    centres = none if centres is None else centres
    spreads = none + 1 if spreads is None else spreads
    return tuple(map(_standardize_feature, features, map(float, centres), map(float, spreads)))


def _apply_polynomial_features(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the features after ``PolynomialFeatures``: products of powers of the features before.

    Args:
        step: Fitted ``PolynomialFeatures`` of scikit-learn.
        features: Features as sums of terms, in the order of the columns.
    """
    products = []
    for powers in step.powers_.tolist():
        product: Feature = (Term(1.0, ()),)
        for feature, power in zip(features, powers, strict=True):
            for _ in range(power):
                product = _multiply_features(product, feature)
        products.append(product)
    return tuple(products)


def _multiply_features(first: Feature, second: Feature) -> Feature:
    """Return the product of two features, each of which is a sum of terms, multiplied out.

    Args:
        first: Sum of terms.
        second: Sum of terms.
    """
    product: list[Term] = []
    for term in first:
        for factor in second:
            factors = (*term.factors, *factor.factors)
            product.append(Term(term.coefficient * factor.coefficient, factors))
    return tuple(product)


def _apply_function_transformer(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Return the features after a function transformer without a function, or with `np.log1p`.

    Args:
        step: ``FunctionTransformer`` of scikit-learn.
        features: Features as sums of terms, in the order of the columns.

    Raises:
        InvalidArgument: the transformer has another function.
    """
    if step.func is None:
        return features
    if step.func is not np.log1p:
        raise InvalidArgument(
            "model",
            "only np.log1p is a supported function: use it, or put the transformed values into a column of the table",
        )
    return tuple(
        (Term(1.0, (replace(_require_plain_column(feature), transform=Transform.LOG1P),)),) for feature in features
    )


SCALERS: Mapping[str, Callable[[Any], tuple[Any, Any]]] = MappingProxyType(
    {
        "StandardScaler": lambda step: (step.mean_ if step.with_mean else None, step.scale_),
        "MinMaxScaler": lambda step: (-step.min_ / step.scale_, 1 / step.scale_),
        "RobustScaler": lambda step: (step.center_, step.scale_),
    }
)
"""Functions that return centres and spreads of columns from a fitted scaler, by its class in scikit-learn; None: not
used."""
PIPELINE_STEPS: Mapping[str, Callable[[Any, tuple[Feature, ...]], tuple[Feature, ...]]] = MappingProxyType(
    {
        **dict.fromkeys(SCALERS, _apply_scaler), "PolynomialFeatures": _apply_polynomial_features,
        "FunctionTransformer": _apply_function_transformer,
    }
)  # fmt: skip
"""Functions that apply a step of a scikit-learn pipeline to features, by the class of the step. ColumnTransformer,
OneHotEncoder and Pipeline are handled apart; other steps are refused."""


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class Scorecard(Predictor):
    """A linear predictor and a link function, usable wherever a column of scores is.

    Columns are read like axes: text that is not a number, and NULL, are missing, and make the score missing. A number
    outside its declared range counts as the nearer endpoint. An undeclared category is missing, unless its column is in
    `others`.

    Formal guarantees: as for `Predictor`. IEEE additions, multiplications and divisions round equally on all machines;
    logarithms and links are computed one number at a time; terms are added in order.

    Attributes:
        name: Name of the scores in plots, statements and ledgers.
        intercept: Constant added to the terms.
        columns: All columns used, with declared ranges and categories.
        terms: The terms, added in this order.
        link: Link function from the sum to the prediction.
        others: Columns of categories in which undeclared values and NULL have coefficient 0 instead of a missing score.

    Raises:
        ValueError: a term uses an undeclared column, a declared column is unused, log1p is taken of a range that
            reaches -1, or the sum could overflow.

    >>> age = Term(0.1, (Power("age"),))
    >>> risk = Scorecard("risk", -5.0, (NumericColumn("age", 18, 90),), (age,), Link.LOGIT)
    >>> risk.predict({"age": [50, 1e99, None]}).round(3).tolist()
    [0.5, 0.982, nan]
    """

    KIND: ClassVar[str] = "scorecard"

    name: str
    intercept: float
    columns: tuple[NumericColumn | Categories, ...]
    terms: tuple[Term, ...]
    link: Link = Link.IDENTITY
    others: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        require_name(self.name)
        object.__setattr__(self, "intercept", require_number("intercept", self.intercept))
        for name in ("columns", "terms", "others"):
            object.__setattr__(self, name, require_sequence(name, getattr(self, name), "a tuple of them"))
        object.__setattr__(self, "link", parse_choice("link", self.link, Link))
        most_terms = 10_000  # each is evaluated for each record
        if len(self.terms) > most_terms:
            raise InvalidArgument(
                "terms", f"at most {most_terms} terms are allowed, got {len(self.terms)}: fit a smaller model"
            )
        for column in self.columns:
            require_type("columns", column, (NumericColumn, Categories), "a NumericColumn or Categories")
        self._require_declared()
        size = abs(self.intercept) + sum(self._bound_term(term) for term in self.terms)
        largest = 1e300  # of the absolute terms, added up, so that the sum is a finite double
        if not size <= largest:
            raise InvalidArgument(
                "terms",
                f"the prediction could exceed {largest:g}; declare narrower ranges, or refit with smaller coefficients",
            )

    def _require_declared(self) -> None:
        """Check that each column in a term is declared once and fits its factors, and that each declared column is in a
        term; raise `InvalidArgument` otherwise.
        """
        named = {column.column: column for column in self.columns}
        if len(named) < len(self.columns):
            raise InvalidArgument("columns", "a column is declared twice: declare each once")
        used = {factor.column for term in self.terms for factor in term.factors}
        if used != named.keys():
            odd = min(used ^ named.keys())
            advice = "declared but used in no term: leave it out of columns"
            if odd in used:
                advice = "used in a term but not declared: add NumericColumn or Categories for it to columns"
            raise InvalidArgument("columns", f"column {odd!r} is {advice}", odd)
        for term in self.terms:
            for factor in term.factors:
                _require_matching_column(factor, named[factor.column])
        if any(not isinstance(named.get(name), Categories) for name in self.others):
            raise InvalidArgument(
                "others",
                "a name here is not a declared category column: add Categories(name, values) to columns, or leave "
                "the name out",
            )

    def _bound_term(self, term: Term) -> float:
        """Return an upper bound of the absolute value of a term over all records, from the declared ranges of its
        columns.

        Each factor is largest at an endpoint of its range.

        Args:
            term: Coefficient and factors.
        """
        size = abs(term.coefficient)
        ranges = {column.column: column for column in self.columns if isinstance(column, NumericColumn)}
        with np.errstate(over="ignore"):
            for factor in term.factors:
                if isinstance(factor, Power):
                    ends = ranges[factor.column]
                    size *= float(np.abs(factor.evaluate(np.array([ends.lower, ends.upper]))).max())
        return inf if isnan(size) else size

    @property
    def inputs(self) -> tuple[Input, ...]:
        """Columns that the scorecard reads, with their declared categories, or None for columns of numbers."""
        return tuple(Input(column.column, getattr(column, "values", None)) for column in self.columns)

    @property
    def linear(self) -> Scorecard:
        """This scorecard with the identity link: it predicts linear predictors such as log-odds, for grids on that
        scale (`Grid.logistic`).
        """
        return replace(self, link=Link.IDENTITY)

    def compute_values(self, columns: Sequence[FloatArray]) -> FloatArray:
        """Return the prediction of each record; it is NaN where a column is missing.

        Args:
            columns: Values of the `inputs` in their order, (records,) each; categories as indices.

        Returns:
            Predictions on the scale of the outcome, (records,).
        """
        categories = {each.column: each.values for each in self.columns if isinstance(each, Categories)}
        inputs = {
            each.column: self._clip_column(each, column) for each, column in zip(self.columns, columns, strict=True)
        }
        total = np.full(len(columns[0]) if columns else 0, self.intercept)
        with np.errstate(all="ignore"):
            for term in self.terms:
                product = np.full(len(total), term.coefficient)
                for factor in term.factors:
                    read_as = inputs[factor.column]
                    if isinstance(factor, Power):
                        product = product * factor.evaluate(read_as)
                    else:
                        is_there = (read_as == categories[factor.column].index(factor.category)).astype(np.float64)
                        product = product * np.where(np.isnan(read_as), np.nan, is_there)
                total = total + product
        return self.link.response(total)

    def _clip_column(self, column: NumericColumn | Categories, values: FloatArray) -> FloatArray:
        """Return the values of a column, (records,), as the scorecard uses them: numbers clipped to the declared range.

        In columns of `others`, missing categories become -1, which counts as the reference category.

        Args:
            column: Declaration of the column.
            values: Numbers, or indices of categories, (records,).
        """
        if isinstance(column, NumericColumn):
            return np.clip(values, column.lower, column.upper)
        return np.where(np.isnan(values), -1.0, values) if column.column in self.others else values

    def fields(self) -> dict[str, Any]:
        """Return the fields except the name as JSON values, for `from_fields`.

        Returns:
            Link, intercept, declared columns by name, and terms; the columns whose undeclared categories count as
            others, if there are any.
        """
        others = {"others": list(self.others)} if self.others else {}
        return {
            "link": self.link.value, "intercept": self.intercept,
            "columns": {column.column: column_to_json(column) for column in self.columns},
            "terms": [{"coefficient": term.coefficient, "of": list(map(factor_to_json, term.factors))}
                      for term in self.terms], **others,
        }  # fmt: skip

    @classmethod
    def from_fields(cls, name: str, fields: Mapping[str, Any]) -> Scorecard:
        """Return the scorecard from the JSON values that `fields` returns.

        Args:
            name: Name of the scorecard.
            fields: Link, intercept, columns, terms and others; all but columns and terms have defaults.

        Raises:
            ValueError: `fields` is not a valid scorecard.
        """
        require_known_fields(fields, ("link", "intercept", "columns", "terms", "others"))
        columns = tuple(
            column_from_json(column, dict(declaration)) for column, declaration in dict(fields["columns"]).items()
        )
        terms = tuple(Term(each["coefficient"], tuple(map(factor_from_json, each["of"]))) for each in fields["terms"])
        link = parse_choice("link", fields.get("link", "identity"), Link)
        return cls(name, fields.get("intercept", 0.0), columns, terms, link, tuple(fields.get("others", ())))

    @classmethod
    def from_sklearn(cls, model: Any, *, name: str, ranges: Mapping[str, tuple[float, float]]) -> Scorecard:
        """Return the scorecard of a fitted linear model of scikit-learn, alone or at the end of a pipeline.

        Args:
            model: Linear regression, logistic regression of two classes, or a generalised linear model with log link.
                Scalers, polynomial features, one-hot encoders and `FunctionTransformer(np.log1p)` may precede it, also
                in a column transformer.
            name: Name of the scores.
            ranges: Declared range of each numeric column.

        Raises:
            ValueError: a step is not supported, the model is not fitted or has no column names, or a range is missing.
        """
        return cls(name, *parse_sklearn_model(model, ranges))

    @classmethod
    def from_statsmodels(
        cls,
        result: Any,
        *,
        name: str,
        ranges: Mapping[str, tuple[float, float]],
        categories: Mapping[str, Sequence[Category]] | None = None,
    ) -> Scorecard:
        """Return the scorecard of a linear or generalised linear model of statsmodels, with its link.

        Args:
            result: What ``fit()`` of the model returned.
            name: Name of the scores.
            ranges: Declared range of each numeric column.
            categories: All categories of each categorical column, including the base level; None: there is no such
                column.

        Raises:
            ValueError: as for `from_r_table`.
        """
        coefficients = parse_formula(dict(result.params), ranges, categories or {})
        return cls(name, *coefficients, find_statsmodels_link(result))

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
        """Return the scorecard of a table of coefficients from R, with names such as ``sexm``, ``I(age^2)``,
        ``log1p(x)`` or ``age:sexm``.

        Args:
            table: A CSV file from `broom::tidy` or `write.csv(coef(summary(fit)))`, or a mapping from names to
                coefficients.
            name: Name of the scores.
            link: Link function from the linear predictor to the prediction.
            ranges: Declared range of each numeric column.
            categories: All categories of each categorical column, including the base level.

        Raises:
            ValueError: a name matches no column or level, or is ambiguous.
        """
        coefficients = parse_formula(read_coefficients(table), ranges, categories or {})
        return cls(name, *coefficients, parse_choice("link", link, Link))


def _require_matching_column(factor: Power | Level, column: NumericColumn | Categories) -> None:
    """Check that a factor fits the declaration of its column.

    A level must be a declared category, a power needs a range, and a logarithm a range above -1.

    Args:
        factor: Power of a column, or level of a category.
        column: Declaration of the column.

    Raises:
        InvalidArgument: the factor does not fit.
    """
    if isinstance(factor, Level) != isinstance(column, Categories):
        advice = "categories, and the term names none: name one, or declare a range"
        if isinstance(column, NumericColumn):
            advice = "a range, and the term names a category of it: leave the category out, or declare Categories"
        raise InvalidArgument("terms", f"{factor.column!r} has {advice}")
    if isinstance(column, Categories) and isinstance(factor, Level) and factor.category not in column.values:
        raise InvalidArgument(
            "terms", f"{factor.column!r} declares no category {factor.category!r}: add it to its Categories"
        )
    logarithm = isinstance(factor, Power) and factor.transform is Transform.LOG1P
    if isinstance(column, NumericColumn) and logarithm and column.lower <= -1:
        raise InvalidArgument(
            "ranges", f"{factor.column!r} needs a range above -1, since its log1p is taken: declare such a range"
        )
