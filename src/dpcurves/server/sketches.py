"""Pictures that cost nothing: questions tried on public tables, and curves beside those of synthetic ones."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator, Sequence
from hashlib import sha256
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from warnings import catch_warnings

import numpy as np
import pyarrow as pa

from ..curves.comparison import MEASURES
from ..curves.kinds import curve_from_json
from ..curves.notes import CurveWarning
from ..curves.question_json import question_from_json
from ..data.predictor import Predictor
from ..display import headless_axes, svg_text
from ..noise.randomness import Randomness
from ..privacy import PrivacyLoss
from ..release import Plan
from ..serving.errors import ProtocolAborted
from ..session import Session
from ..table_shortcuts import compare
from .datasets import Dataset
from .drawing import DRAWING, svg_of
from .dummy import dummy_table
from .questions import Planned
from .recent import Recent
from .releases import Answer
from .synthetic import Synthetic, rows_of

SEED = 1
DUMMY, SYNTHETIC = "the dummy table", "the synthetic table"
AT_ONCE, PATIENCE = 2, 10.0
"""Sketches at a time, and seconds that another one waits: pages come first."""
MOST_KEPT = 64
_TRYING = BoundedSemaphore(AT_ONCE)


class Tried(NamedTuple):
    """What a sketch is made from: public facts alone."""

    question: Any
    loss: PrivacyLoss
    dataset: Dataset
    columns: tuple[str, ...]
    synthetic: Synthetic | None


class Beside(NamedTuple):
    """A curve beside that of a synthetic table: what was found, and the picture."""

    verdict: str
    differs: bool | None
    svg: str


_SKETCHES = Recent[str](MOST_KEPT)
_BESIDE = Recent[Beside](MOST_KEPT)


def tried(planned: Planned, synthetic: Synthetic | None) -> Tried:
    """A question with the table that it is tried on: the synthetic one, or else the dummy table."""
    columns = tuple(dict.fromkeys(_columns(planned.plans)))
    return Tried(planned.question, planned.loss, planned.dataset, columns, synthetic)


def sketch(trial: Tried) -> str:
    """The picture of an answer from a public table, with noise of its size. It is drawn from a seed, and says so.

    Raises:
        ProtocolAborted: too many are being drawn.
    """
    if not _TRYING.acquire(timeout=PATIENCE):
        raise ProtocolAborted("sketch", "too many are being drawn now; look again later", 503)
    try:
        return _SKETCHES.get(_key(trial), lambda: _sketched(trial))
    finally:
        _TRYING.release()


def _key(trial: Tried) -> Hashable:
    """What tells a sketch from others: of a synthetic table its digest, and not the table."""
    known = None if trial.synthetic is None else trial.synthetic.digest
    return (*trial[:-1], known)


def _sketched(trial: Tried) -> str:
    account = trial.dataset.account
    unit = account.unit
    with (
        catch_warnings(action="ignore", category=CurveWarning),
        Session(
            _table(trial), budget=account.currency.budget(trial.loss), adjacency=account.neighbours,
            unit=unit.column or None, rows_per_unit=unit.records if unit.column else None,
            randomness=Randomness.from_seed(SEED),
        ) as session,
    ):  # fmt: skip
        return _picture(session.ask(trial.question, trial.loss))


def is_compared(release: Answer) -> bool:
    """Whether curves of this kind are compared with those of synthetic tables."""
    return isinstance(curve_from_json(release.json), tuple(MEASURES))


def beside(curve: str, question: str, synthetic: Synthetic) -> Beside:
    """A released curve beside the same curve of a synthetic table, counted openly.

    Arguments:
        curve: The curve, in the published format.
        question: What it answers, as JSON.
        synthetic: The table.
    """
    key = sha256("\n".join((synthetic.digest, question, curve)).encode()).digest()
    return _BESIDE.get(key, lambda: _compared(curve, question, synthetic))


def _compared(curve: str, question: str, synthetic: Synthetic) -> Beside:
    found = compare(curve_from_json(curve), question_from_json(json.loads(question)), synthetic.table)
    with DRAWING:
        axes = found.plot(ax=headless_axes(found.private.SIZE), names=("confidential", "synthetic"))
        return Beside(found.verdict, found.differs, standing_alone(svg_text(axes)))


def standing_alone(svg: str) -> str:
    """A picture from a page as a file of its own.

    >>> standing_alone('<svg width="1"/>')
    '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>'
    """
    if "xmlns=" in svg[:1000]:
        return svg
    return svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def _picture(curve: Any) -> str:
    return standing_alone(svg_of(curve))


def _table(trial: Tried) -> pa.Table:
    if trial.synthetic is not None:
        table = _as_many(trial.synthetic.table.select(list(trial.columns)), trial.dataset)
    else:
        table = dummy_table(trial.dataset.columns, rows_of(trial.dataset), trial.columns)
    unit = trial.dataset.account.unit.column
    if not unit or unit in table.column_names:
        return table
    return table.append_column(unit, pa.array(np.arange(table.num_rows)))  # each record is somebody's


def _as_many(table: pa.Table, dataset: Dataset) -> pa.Table:
    """The rows of a table over and over, until there are as many as units, where their number is public.

    Noise is as large beside them as it will be.
    """
    if dataset.units is None or not table.num_rows:
        return table
    return table.take(pa.array(np.arange(rows_of(dataset)) % table.num_rows))


def _columns(plans: Sequence[Plan]) -> Iterator[str]:
    for axis in (axis for plan in plans for axis in plan.query.axes):
        if isinstance(axis.column, Predictor):
            yield from (each.column for each in axis.column.inputs)
        else:
            yield str(axis.column)
