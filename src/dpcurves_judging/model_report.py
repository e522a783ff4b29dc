"""Model cards: one HTML page with all released results about a model (model report).

`model_card` takes results by name, and returns a page that shows each with its plot, its numbers and its privacy loss,
and optionally the remaining budget. Results are scores, calibration, pairs of models, uplift, forecasts or drift.

Formal guarantees: the page is computed from released results alone. No records are read, so no budget is spent
(post-processing).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from dpcurves import display
from dpcurves.arguments import InvalidArgument, check_common_arguments, require_type
from dpcurves.curves.result import ReleasedResult
from dpcurves.ledger import Statement
from dpcurves.translation import keep_names, translate

# First paragraph of the page.
INTRODUCTION = (
    "All numbers and curves below were computed from noisy counts; no number of a single record is shown. "
    "Curves and metrics of one release follow each other, and cost what that release cost once."
)
"""First paragraph of a model card, and of a report of several questions."""
TITLE = "Model card"
"""Title of a model card for which no title is given."""


@check_common_arguments
def model_card(results: Mapping[str, Any], statement: Statement | None = None, *, title: str = TITLE) -> str:
    """Return an HTML page with all results about a model, each with its plot, its numbers and its privacy loss.

    Formal guarantees: costs nothing: post-processing of released results.

    Args:
        results: Results about the model by name: scores, calibration, pairs of models, uplift, forecasts, drift.
        statement: The statement of the ledger that was charged, `Session.statement`: budget, charges and remaining
            budget. None: the page shows no budget.
        title: The title of the page.

    Returns:
        A page that makes no requests and runs no scripts.

    Raises:
        ValueError: `results` is empty.
        TypeError: a value of `results` is not a result.

    >>> import dpcurves as dp
    >>> scores = dp.scores([0, 0, 1, 1] * 500, [0.1, 0.6, 0.4, 0.9] * 500, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> "Decision curve" in model_card({"scores": scores})
    True
    """
    require_type("results", results, Mapping, "a mapping of names to results, as in {'scores': scores},")
    if statement is not None:
        require_type("statement", statement, Statement, "a statement of a ledger, as session.statement gives one,")
    if not results:
        raise InvalidArgument("results", "at least one result is needed, as dp.scores gives one")
    for result in results.values():
        require_type("results", result, ReleasedResult, "results, as dp.scores gives one,")
    readings = [reading for result in results.values() for reading in result._model_card_results()]
    sections = [reading.render_html(display.svg_text(reading.plot_headless())) for reading in readings]
    balances = [] if statement is None else [display.BalanceReport.from_statement(statement)]
    with keep_names({word for reading in readings for word in reading._user_words()}):
        shown = translate(title) if title == TITLE else title
        return display.render_report(shown, translate(INTRODUCTION), sections, balances)
