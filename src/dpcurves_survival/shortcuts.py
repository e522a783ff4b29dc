"""Differentially private Kaplan-Meier curves in one call, on arrays in memory.

`survival` takes times and event indicators, a public grid and a privacy loss, and returns a `Survival` curve. Each call
makes its own ledger, so that the losses of several calls are not added up. Use a `Session` for several questions about
the same records.
"""

from __future__ import annotations

from typing import Any, Unpack

from dpcurves.curves import Question
from dpcurves.data import Grid
from dpcurves.data.axis import Category
from dpcurves.shortcuts import (
    Auto,
    PrivacyArguments,
    Values,
    add_privacy_arguments,
    add_weights,
    ask_once,
    make_pair_table,
    require_grid,
    resolve_grid,
)

from .kaplan_meier import Survival, SurvivalQuestion
from .variants import AutoRangeSurvivalQuestion, WeightedSurvivalQuestion


@add_privacy_arguments
def survival(
    time: Values,
    event: Values,
    *,
    grid: Grid | Auto,
    event_value: Category = 1,
    censored_value: Category | None = None,
    weight: Values | None = None,
    weight_cap: float | None = None,
    **paid: Unpack[PrivacyArguments],
) -> Survival:
    """Return Kaplan-Meier and Nelson-Aalen curves of the time until an event, with censoring; see
    `SurvivalQuestion`.

    Arguments and guarantees as for `cdf`. `event` indicates whether the event happened at `time`, or the record was
    censored then. With ``grid="auto"`` a fraction of the budget pays for a search of the horizon; see
    `AutoRangeSurvivalQuestion`. With `weight` and `weight_cap` the curve is weighted; see `WeightedSurvivalQuestion`.
    The ledger is in memory, so losses of other calls are not added up.

    Args:
        time: Numbers, of shape ``(n,)``: time until the event, or until the record was censored.
        event: Whether the event happened then (`event_value`) or not, of shape ``(n,)``.
        grid: Public cells of time; or, without weights, ``"auto"``.
        event_value: The value of `event` if it happened.
        censored_value: Its other value; optional if the first is 1, 0, -1, true or false.
        weight: Survey weights, of shape ``(n,)``, as for `cdf`.
        weight_cap: Their public upper bound, as for `cdf`.
        adjacency: Which tables are neighbours, as for `cdf`.
        epsilon: The privacy loss, as for `cdf`.
        rho: The zero-concentrated loss instead, as for `cdf`.
        randomness: The source of noise, as for `cdf`.

    Returns:
        Edges `x` and survival `y`, of shape ``(cells + 1,)``, with bands, hazards and quantiles.

    >>> import dpcurves as dp
    >>> grid = dp.Grid(0, 10, cells=10)
    >>> curve = dp.survival([2.5, 4.5] * 900, [1, 0] * 900, grid=grid, epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> bool(abs(curve.y[3] - 0.5) < 0.05)
    True
    """
    _, columns = make_pair_table(("time", "event"), time=time, event=event)
    table, weights = add_weights(columns, weight, weight_cap)
    question: Question[Any] = AutoRangeSurvivalQuestion(
        "time", "event", event_value=event_value, censored_value=censored_value
    )
    cells = resolve_grid(grid)
    if weights:
        along = require_grid(cells)
        question = WeightedSurvivalQuestion(
            "time", "event", along, **weights, event_value=event_value, censored_value=censored_value
        )
    elif cells is not None:
        question = SurvivalQuestion("time", "event", cells, event_value=event_value, censored_value=censored_value)
    found: Survival = ask_once(question, table, **paid)
    return found
