"""Two-sample tests, printed as lines above the table of both groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .ask_file import quietly
from .output import Covering

if TYPE_CHECKING:
    from ..curves import CDF, ByCategory, Survival


def distributions_compared(curves: ByCategory[CDF], sure: Covering) -> str:
    """Kolmogorov-Smirnov and rank-sum tests of two distributions, as lines.

    Empty unless there are two groups, the population is asked for, and a unit has one record.
    """
    if not _are_tested(curves, sure):
        return ""
    from ..curves import ks_test, rank_sum_test

    names, (first, second) = _names(curves), tuple(curves.values())
    ks, ranks = ks_test(first, second), rank_sum_test(first, second)
    return (
        f"Kolmogorov-Smirnov, {names}: {ks.statistic:.3g}, {_chance(ks.pvalue)}\n"
        f"rank sum, {names}: chance that the first is less {ranks.statistic:.3g}, {_chance(ranks.pvalue)}\n"
    )


def survival_compared(curves: ByCategory[Survival], sure: Covering) -> str:
    """Log-rank test of two survival curves, as lines.

    Empty unless there are two groups, the population is asked for, and a unit has one record.
    """
    if not _are_tested(curves, sure):
        return ""
    from ..curves import log_rank_test

    with quietly():
        found = log_rank_test(*curves.values())
    words = f"log-rank, {_names(curves)}: chi-squared {found.statistic:.3g}, {_chance(found.pvalue)}"
    return "".join(f"{line}\n" for line in (words, *found.notes))


def _are_tested(curves: ByCategory[Any], sure: Covering) -> bool:
    return len(curves) == 2 and sure.population and curves.privacy.rows_per_unit == 1


def _names(curves: ByCategory[Any]) -> str:
    return " and ".join(map(curves.named, curves))


def _chance(p_value: float) -> str:
    return f"p-value {p_value:.2g} for the population, noise included"
