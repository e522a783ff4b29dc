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
    """Return Kaplan-Meier and Nelson-Aalen curves of the time until an event, with censoring.

    `event` indicates whether the event happened at `time`, or the record was censored then. With ``grid="auto"`` a
    fraction of the budget pays for a search of the horizon (`AutoRangeSurvivalQuestion`). With `weight` and
    `weight_cap` the curve is weighted (`WeightedSurvivalQuestion`); otherwise the question is a `SurvivalQuestion`.

    Args:
        time: Numbers, of shape ``(n,)``: time until the event, or until the record was censored.
        event: Whether the event happened then (`event_value`) or not, of shape ``(n,)``.
        grid: Public cells of time, not chosen from the data; or, without weights, ``"auto"``.
        event_value: The value of `event` if it happened.
        censored_value: Its other value; optional if the first is 1, 0, -1, true or false.
        weight: Survey weights, of shape ``(n,)``; None: unweighted.
        weight_cap: Public upper bound of one record's weight, not chosen from the data; required with `weight`.
        adjacency: `ADD_REMOVE`: n is private. `REPLACE_ONE`: n is public.
        epsilon: The loss under pure differential privacy.
        rho: The loss under zero-concentrated differential privacy, instead of `epsilon`.
        randomness: Source of noise. Curves with noise from a seed are marked as not private.

    Returns:
        Edges `x` and survival `y`, of shape ``(cells + 1,)``, with bands, hazards and quantiles.

    Formal guarantees: pure `epsilon`-DP, or `rho`-zCDP, under `adjacency`, with one record as the privacy unit. The
    ledger is in memory: losses of other calls are not added up.

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
