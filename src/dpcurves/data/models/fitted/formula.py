"""Names of coefficients, as R and statsmodels write them, as terms."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from re import fullmatch, sub
from typing import Any

from ....arguments import Refused, shown
from ...axis import Categories, Category
from ..link import Link
from ..terms import Level, Power, Ranged, Term, Transform

INTERCEPTS = {"(Intercept)", "Intercept", "const"}
ESTIMATES = ("estimate", "Estimate", "coef", "x")
NAMES = ("term", "", "rownames", "name")
Ranges = Mapping[str, tuple[float, float]]
Levels = Mapping[str, Sequence[Category]]
Parts = tuple[float, tuple[Ranged | Categories, ...], tuple[Term, ...]]
LINKS = {"logit": Link.LOGIT, "log": Link.LOG, "identity": Link.IDENTITY}


def coefficients_of(table: Any) -> dict[str, float]:
    """Names and coefficients, from a CSV file, or as they are.

    Raises:
        ValueError: there is no column of names, or none of estimates.
    """
    if isinstance(table, str | Path):
        with Path(table).open(newline="", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        header = set(rows[0]) if rows else set()
        name = next((each for each in NAMES if each in header), None)
        estimate = next((each for each in ESTIMATES if each in header), None)
        if name is None or estimate is None:
            raise Refused("table", "columns term and estimate are needed, as broom::tidy writes them")
        return {row[name]: _number(row[estimate], row[name]) for row in rows}
    return {str(name): _number(each, str(name)) for name, each in dict(table).items()}


def _number(given: Any, name: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise Refused("table", f"the coefficient of {name!r} is no number") from None


def read(coefficients: Mapping[Any, Any], ranges: Ranges, categories: Levels) -> Parts:
    """Intercept, columns and terms.

    Raises:
        ValueError: a name is understood in no way, or in two.
    """
    intercept, terms = 0.0, []
    for name, value in coefficients.items():
        if str(name) in INTERCEPTS:
            intercept = _number(value, str(name))
        else:
            factors = tuple(_factor(part, ranges, categories) for part in _parts(str(name)))
            terms.append(Term(_number(value, str(name)), factors))
    used = dict.fromkeys(factor.column for term in terms for factor in term.factors)
    columns = tuple(
        Categories(name, tuple(categories[name])) if name in categories else Ranged(name, *ranges[name])
        for name in used
    )
    return intercept, columns, tuple(terms)


def _parts(name: str) -> list[str]:
    """The factors that a colon multiplies, but for colons inside brackets."""
    parts, depth = [""], 0
    for letter in name:
        depth += (letter in "([") - (letter in ")]")
        if letter == ":" and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip().strip("`") for part in parts]


def _factor(part: str, ranges: Ranges, categories: Levels) -> Power | Level:
    found: list[Power | Level] = [*_powers(part, ranges), *_levels(part, categories)]
    if len(found) != 1:
        ways = "two ways" if found else "no way; declare its range or its categories"
        raise Refused("table", f"the coefficient {shown(part)} is understood in {ways}")
    return found[0]


def _powers(part: str, ranges: Ranges) -> list[Power]:
    if part in ranges:
        return [Power(part)]
    logarithm = fullmatch(r"(?:np\.)?log1p\((.+)\)", part)
    if logarithm and logarithm[1].strip("` ") in ranges:
        return [Power(logarithm[1].strip("` "), transform=Transform.LOG1P)]
    power = fullmatch(r"I\((.+?)\s*(?:\^|\*\*)\s*(\d+)\)", part) or fullmatch(r"np\.power\((.+?),\s*(\d+)\)", part)
    if power and power[1].strip("` ") in ranges:
        return [Power(power[1].strip("` "), int(power[2]))]
    return []


def _levels(part: str, categories: Levels) -> list[Level]:
    """A level behind the name of its column, in brackets or not, with or without a word for the factor."""
    bracketed = fullmatch(r"(.+)\[(?:T\.)?(.+)\]", part)
    forms = [(bracketed[1], bracketed[2])] if bracketed else []
    forms += [(part[:cut], part[cut:]) for cut in range(1, len(part))]
    found = {
        Level(column, value)
        for left, right in forms
        for column in [sub(r"^(?:C|factor|as\.factor)\((.+?)(?:,.*)?\)$", r"\1", left).strip("` ")]
        for value in categories.get(column, ())
        if right in _texts(value)
    }
    return list(found)


def _texts(value: Category) -> set[str]:
    """The text of a category behind the name of its column."""
    return {str(value), str(value).upper()} if isinstance(value, bool) else {str(value)}


def link_of_statsmodels(result: Any) -> Link:
    """The link of a result: of a generalised linear model its own, of logistic and Poisson regression theirs.

    Raises:
        ValueError: it has another link.
    """
    model = getattr(result, "model", None)
    family = getattr(model, "family", None)
    word = type(family.link).__name__.lower() if family is not None else ""
    known = {"Logit": "logit", "Poisson": "log", "OLS": "identity", "WLS": "identity", "GLS": "identity"}
    word = word or known.get(type(model).__name__, "")
    if word not in LINKS:
        raise Refused("result", f"links are {', '.join(LINKS)}; got {shown(word or type(model).__name__)}")
    return LINKS[word]
