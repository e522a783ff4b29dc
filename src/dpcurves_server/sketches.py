"""Pictures that cost nothing: questions tried on public tables, and curves beside those of synthetic ones.

What they are made from is plain, so that a process makes them that has no store and can open no records.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from typing import Any
from warnings import catch_warnings

import numpy as np
import pyarrow as pa

from dpcurves.curves.comparison import MEASURES
from dpcurves.curves.question_json import question_from_json, question_to_json
from dpcurves.curves.result import Covered, CurveWarning, curve_from_json
from dpcurves.display import headless_axes, numeral, svg_text
from dpcurves.forecasts.expected_errors import KINDS
from dpcurves.ledger import Currency
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Neighbours
from dpcurves.session import Session
from dpcurves.shortcuts import compare

from .declared_columns import columns_from_json, columns_to_json, dummy_table
from .drawing import DRAWING, LEVEL, svg_of
from .plain import of_loss
from .questions import Planned, columns_of, loss_from
from .recent import Recent
from .releases import Answer
from .synthetic import rows_of

SEED = 1
DUMMY, SYNTHETIC = "the dummy table", "the synthetic table"
SKETCH, BESIDE = "sketch", "beside"
"""Kinds of pictures."""
Facts = Mapping[str, Any]
"""Facts that a picture is made from, but for the table: plain objects, public or released."""
MOST_SHADED = 5000
"""Cells of the finest grid whose sketch has a band: that of a finer one takes seconds."""
_COMPARED = Recent[bool](1000)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A picture, and of a curve beside that of a synthetic table what was found.

    Attributes:
        svg: The picture.
        verdict: Whether the tables are told apart, in words; empty: they were not compared.
        differs: Whether they are; None: there is no verdict.
    """

    svg: str
    verdict: str = ""
    differs: bool | None = None


def of_sketch(planned: Planned) -> Facts:
    """Inputs of the sketch of an answer: public facts alone."""
    dataset, account = planned.dataset, planned.dataset.account
    wanted = (each for plan in planned.plans for axis in plan.query.read_axes for each in columns_of(axis))
    return {
        "draw": SKETCH, "question": question_to_json(planned.question), "loss": of_loss(planned.loss),
        "columns": columns_to_json(dataset.columns), "wanted": list(dict.fromkeys(wanted)),
        "cells": max(prod(plan.query.shape) for plan in planned.plans),
        "rows": rows_of(dataset), "is_counted": dataset.units is not None, "currency": account.currency.value,
        "adjacency": account.neighbours.value, "unit": account.unit.column, "rows_per_unit": account.unit.records,
    }  # fmt: skip


def of_comparison(release: Answer) -> Facts:
    """Inputs of a comparison with the curve of a synthetic table: released numbers alone."""
    return {"draw": BESIDE, "question": dict(release.asked.question), "curve": release.json}


def is_compared(release: Answer) -> bool:
    """Tell whether curves of this kind are compared with those of synthetic tables."""
    return _COMPARED.get(release.id, lambda: isinstance(curve_from_json(release.json), tuple(MEASURES)))


def drawn(facts: Facts, table: Any | None) -> Drawn:
    """Draw it.

    Arguments:
        facts: From `of_sketch` or `of_comparison`.
        table: The synthetic table; None: there is none, and a sketch is made from the dummy table.
    """
    return _beside(facts, table) if facts["draw"] == BESIDE else _sketch(facts, table)


def _sketch(facts: Facts, table: Any | None) -> Drawn:
    """An answer from a public table, with noise of its size. It is drawn from a seed, and says so."""
    loss, unit = loss_from(**facts["loss"]), facts["unit"]
    with (
        catch_warnings(action="ignore", category=CurveWarning),
        Session(
            _tried_on(facts, table), budget=Currency(facts["currency"]).budget(loss),
            adjacency=Neighbours(facts["adjacency"]), unit=unit or None,
            rows_per_unit=facts["rows_per_unit"] if unit else None, randomness=Randomness.from_seed(SEED),
        ) as session,
    ):  # fmt: skip
        question = question_from_json(facts["question"])
        return Drawn(standing_alone(_sketched(question, session.ask(question, loss), facts["cells"])))


def _sketched(question: Any, curve: Any, cells: int) -> str:
    """The picture of a sketch, which comes soon: nothing is said of a population, and a fine grid has no band."""
    if not isinstance(curve, Covered):
        return svg_of(curve)
    shaded = cells <= MOST_SHADED
    title = _half_width(question, curve) if shaded else ""
    return svg_of(curve, title, population=False, level=LEVEL if shaded else None)


def _half_width(question: Any, curve: Any) -> str:
    """How far the band or the intervals of a sketch reach, in words; empty where forecasts say nothing of it."""
    kind = KINDS.get(type(question))
    if kind is None or kind.half is None or getattr(question, "by", None) is not None:
        return ""
    return f"95% for these records: ± {numeral(kind.half(curve, False))}, {kind.width}"


def _beside(facts: Facts, table: Any) -> Drawn:
    """A released curve beside the same curve of a synthetic table, counted openly."""
    found = compare(curve_from_json(facts["curve"]), question_from_json(facts["question"]), table)
    with DRAWING:
        axes = found.plot(ax=headless_axes(found.private.SIZE), names=("confidential", "synthetic"))
        return Drawn(standing_alone(svg_text(axes)), found.verdict, found.differs)


def standing_alone(svg: str) -> str:
    """A picture from a page as a file of its own.

    >>> standing_alone('<svg width="1"/>')
    '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>'
    """
    if "xmlns=" in svg[:1000]:
        return svg
    return svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def _tried_on(facts: Facts, table: Any | None) -> Any:
    if table is not None:
        found = _as_many(table.select(facts["wanted"]), facts)
    else:
        found = dummy_table(columns_from_json(facts["columns"]), facts["rows"], facts["wanted"])
    unit = facts["unit"]
    if not unit or unit in found.column_names:
        return found
    return found.append_column(unit, pa.array(np.arange(found.num_rows)))  # each record is somebody's


def _as_many(table: Any, facts: Facts) -> Any:
    """The rows of a table over and over, until there are as many as units, where their number is public.

    Noise is as large beside them as it will be.
    """
    if not facts["is_counted"] or not table.num_rows:
        return table
    return table.take(pa.array(np.arange(facts["rows"]) % table.num_rows))
