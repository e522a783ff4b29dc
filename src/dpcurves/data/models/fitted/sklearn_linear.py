"""Linear models of scikit-learn, alone or behind a pipeline, as terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isnan
from types import MappingProxyType
from typing import Any

import numpy as np

from ....arguments import Refused
from ...axis import Categories
from ..link import Link
from ..terms import Level, Power, Ranged, Term, Transform

Feature = tuple[Term, ...]
"""A column of a design matrix: a sum of terms."""
LOGISTIC = {"LogisticRegression", "LogisticRegressionCV"}
LOGARITHMIC = {"PoissonRegressor", "GammaRegressor"}
PLAIN = {
    "LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "BayesianRidge",
    "HuberRegressor", "QuantileRegressor", "TheilSenRegressor",
}  # fmt: skip
Parts = tuple[float, tuple[Ranged | Categories, ...], tuple[Term, ...], Link, tuple[str, ...]]


@dataclass(frozen=True)
class Design:
    """Columns of a design matrix, and what was declared of the columns of the table on the way."""

    features: tuple[Feature, ...]
    categories: Mapping[str, tuple[Any, ...]]
    others: frozenset[str]


def read(model: Any, ranges: Mapping[str, tuple[float, float]]) -> Parts:
    """Intercept, columns, terms, link and other columns of a fitted model.

    Raises:
        ValueError: see `Scorecard.from_sklearn`.
    """
    steps = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    *before, last = steps
    names = getattr(steps[0], "feature_names_in_", None)
    if names is None:
        raise Refused("model", "fit it to a data frame: the names of its columns are needed")
    design = Design(tuple((Term(1.0, (Power(str(name)),)),) for name in names), {}, frozenset())
    for step in before:
        design = _through(step, design)
    coefficients, intercept = _coefficients(last)
    if len(coefficients) != len(design.features):
        raise Refused("model", f"it has {len(coefficients)} coefficients for {len(design.features)} columns")
    scaled = [_times(feature, each) for each, feature in zip(coefficients, design.features, strict=True)]
    intercept, terms = _collected(intercept, scaled)
    used = dict.fromkeys(factor.column for term in terms for factor in term.factors)
    columns = tuple(_declared(name, ranges, design.categories) for name in used)
    return intercept, columns, terms, _link(last), tuple(sorted(design.others & used.keys()))


def _declared(
    name: str, ranges: Mapping[str, tuple[float, float]], categories: Mapping[str, tuple[Any, ...]]
) -> Ranged | Categories:
    if name in categories:
        return Categories(name, categories[name])
    if name not in ranges:
        raise Refused("ranges", f"declare the range of {name!r}, as in ranges={{{name!r}: (lower, upper)}}", name)
    return Ranged(name, *ranges[name])


def _collected(intercept: float, features: Sequence[Feature]) -> tuple[float, tuple[Term, ...]]:
    """Constants go to the intercept, and what is multiplied by 0 goes."""
    terms = [term for feature in features for term in feature if term.coefficient != 0]
    constant = sum(term.coefficient for term in terms if not term.factors)
    return intercept + constant, tuple(term for term in terms if term.factors)


def _coefficients(last: Any) -> tuple[list[float], float]:
    if not hasattr(last, "coef_"):
        raise Refused("model", f"{type(last).__name__} has no coefficients; was it fitted?")
    found, base = np.atleast_2d(np.asarray(last.coef_, dtype=np.float64)), np.ravel(last.intercept_)
    if len(found) != 1 or len(base) != 1:
        raise Refused("model", "one prediction for each record is needed: two classes, or one number")
    return found[0].tolist(), float(base[0])


def _link(last: Any) -> Link:
    name = type(last).__name__
    for names, link in ((LOGISTIC, Link.LOGIT), (LOGARITHMIC, Link.LOG), (PLAIN, Link.IDENTITY)):
        if name in names:
            return link
    raise Refused("model", f"{name} is not read; there are {', '.join(sorted(LOGISTIC | LOGARITHMIC | PLAIN))}")


def _through(step: Any, design: Design) -> Design:
    name = type(step).__name__
    if name == "ColumnTransformer":
        return _columns(step, design)
    if name == "Pipeline":
        for _, inner in step.steps:
            design = _through(inner, design)
        return design
    if name == "OneHotEncoder":
        return _encoded(step, design)
    if step == "passthrough" or name not in STEPS:
        if step == "passthrough":
            return design
        raise Refused("model", f"{name} is not read; before a model may stand {', '.join(sorted(STEPS))}, "
                      "ColumnTransformer, OneHotEncoder and Pipeline")  # fmt: skip
    return replace(design, features=STEPS[name](step, design.features))


def _columns(step: Any, design: Design) -> Design:
    """Blocks of columns, one behind the other."""
    names = [str(each) for each in step.feature_names_in_]
    features: list[Feature] = []
    categories, others = dict(design.categories), design.others
    for _, inner, picked in step.transformers_:
        if isinstance(inner, str) and inner == "drop":
            continue
        chosen = [picked] if isinstance(picked, str) else list(picked)
        places = [names.index(each) if isinstance(each, str) else int(each) for each in chosen]
        block = replace(design, features=tuple(design.features[place] for place in places))
        block = _through(inner, block)
        features += block.features
        categories |= block.categories
        others |= block.others
    return Design(tuple(features), categories, others)


def _encoded(step: Any, design: Design) -> Design:
    """An indicator of each category, but for those that are dropped."""
    if getattr(step, "min_frequency", None) is not None or getattr(step, "max_categories", None) is not None:
        raise Refused("model", "an encoder that joins rare categories is not read")
    features: list[Feature] = []
    categories, others = dict(design.categories), set(design.others)
    dropped = step.drop_idx_ if step.drop_idx_ is not None else [None] * len(step.categories_)
    for feature, values, left_out in zip(design.features, step.categories_, dropped, strict=True):
        column = _plain(feature).column
        known = tuple(each for each in values.tolist() if each is not None and not _is_nan(each))
        categories[column] = known
        if step.handle_unknown == "ignore":
            others.add(column)
        features += [
            (Term(1.0, (Level(column, each),)) if each in known else Term(0.0, ()),)
            for place, each in enumerate(values.tolist())
            if place != left_out
        ]
    return Design(tuple(features), categories, frozenset(others))


def _is_nan(value: Any) -> bool:
    return isinstance(value, float) and isnan(value)


def _plain(feature: Feature) -> Power:
    (term,) = feature if len(feature) == 1 else (Term(0.0, ()),)
    if term.coefficient != 1.0 or len(term.factors) != 1 or not isinstance(term.factors[0], Power):
        raise Refused("model", "encoders and logarithms are read of columns of the table alone")
    return term.factors[0]


def _times(feature: Feature, number: float) -> Feature:
    return tuple(replace(term, coefficient=term.coefficient * number) for term in feature)


def _moved(feature: Feature, centre: float, spread: float) -> Feature:
    """The feature less the centre, over the spread: inside of a plain column, so that no digits are lost."""
    single = feature[0].factors if len(feature) == 1 and feature[0].coefficient == 1.0 else ()
    power = single[0] if len(single) == 1 else None
    if isinstance(power, Power) and power == Power(power.column, 1, power.transform):
        return (Term(1.0, (replace(power, centre=centre, spread=spread),)),)
    return (*_times(feature, 1 / spread), Term(-centre / spread, ()))


def _standardised(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    none = np.zeros(len(features))
    centres = step.mean_ if step.mean_ is not None and step.with_mean else none
    spreads = step.scale_ if step.scale_ is not None else none + 1
    return _each_moved(features, centres, spreads)


def _between(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    if step.clip:
        raise Refused("model", "a scaler that clips is not read: ranges are declared")
    return _each_moved(features, -step.min_ / step.scale_, 1 / step.scale_)


def _robust(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    none = np.zeros(len(features))
    return _each_moved(
        features, none if step.center_ is None else step.center_, none + 1 if step.scale_ is None else step.scale_
    )


def _each_moved(features: tuple[Feature, ...], centres: Any, spreads: Any) -> tuple[Feature, ...]:
    return tuple(map(_moved, features, map(float, centres), map(float, spreads)))


def _powers(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    """Products of powers of features."""
    found = []
    for powers in step.powers_.tolist():
        product: Feature = (Term(1.0, ()),)
        for feature, power in zip(features, powers, strict=True):
            for _ in range(power):
                product = tuple(
                    Term(one.coefficient * other.coefficient, (*one.factors, *other.factors))
                    for one in product
                    for other in feature
                )
        found.append(product)
    return tuple(found)


def _function(step: Any, features: tuple[Feature, ...]) -> tuple[Feature, ...]:
    if step.func is None:
        return features
    if step.func is not np.log1p:
        raise Refused("model", "of functions np.log1p alone is read")
    return tuple((Term(1.0, (replace(_plain(each), transform=Transform.LOG1P),)),) for each in features)


STEPS: Mapping[str, Callable[[Any, tuple[Feature, ...]], tuple[Feature, ...]]] = MappingProxyType(
    {
        "StandardScaler": _standardised, "MinMaxScaler": _between, "RobustScaler": _robust,
        "PolynomialFeatures": _powers, "FunctionTransformer": _function,
    }
)  # fmt: skip
