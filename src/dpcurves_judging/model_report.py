"""A model card: all that was asked of a model on one page, each result with its loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcurves import display
from dpcurves.arguments import InvalidArgument, require_type
from dpcurves.curves.result import ReleasedResult
from dpcurves.ledger import Statement

INTRODUCTION = """All numbers and curves below were read from noisy counts; no number of a single record is shown.
Readings of one release stand below each other, and cost what that release cost once."""


def model_card(results: Mapping[str, Any], statement: Statement | None = None, *, title: str = "Model card") -> str:
    """One page of HTML with all results about a model, each with its picture, its numbers and its loss.

    Args:
        results: What was asked of the model, by names: scores, calibration, pairs of models, uplift, forecasts, drift.
        statement: The statement of the ledger that paid, `Session.statement`: budget, charges and what is left.
        title: The title of the page.

    Returns:
        A page that makes no request and runs no script.

    Formal guarantees: spends nothing: readings of results that were released.

    Raises:
        ValueError: there is no result.
        TypeError: one of them is none.

    >>> import dpcurves as dp
    >>> scores = dp.scores([0, 0, 1, 1] * 500, [0.1, 0.6, 0.4, 0.9] * 500, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> "Decision curve" in model_card({"scores": scores})
    True
    """
    if not results:
        raise InvalidArgument("results", "at least one is needed")
    for each in results.values():
        require_type("results", each, ReleasedResult, "results, as dp.scores gives one,")
    shown = [reading._repr_html_() for each in results.values() for reading in each._model_card_results()]
    balances = [] if statement is None else [display.BalanceReport.from_statement(statement)]
    return display.render_report(title, INTRODUCTION, shown, balances)
