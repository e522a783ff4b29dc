"""Pair statistics (U-statistics) read off curves of the local model: the curve each needs, and its printed line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from typer import Option

from dpcurves.cli.refusal import Misuse

if TYPE_CHECKING:
    from dpcurves.cli.output import Output

WORDS = ("gini", "renyi2", "kendall", "auc")
COVERED = ("for these records", "for the population")


@dataclass(frozen=True)
class Kernel:
    """Option for a pair statistic that is printed below the curve."""

    kernel: Annotated[
        str | None,
        Option(
            help="A statistic of pairs of people: gini (mean difference), renyi2, kendall (tau-b) or auc.",
            metavar="WORD",
        ),
    ] = None

    def said(self, curve: Any, output: Output) -> tuple[str, ...]:
        """Line with the pair statistic and its intervals; empty if none was asked for."""
        if self.kernel is None:
            return ()
        value, interval = _read(self.kernel, curve)
        level = output.simulated()
        wanted = (False, True) if output.population else (False,)
        ends = (interval(level, population=population) for population in wanted)
        words = (
            f"{low:.4g} to {high:.4g} ({level:.0%}, {whom})" for (low, high), whom in zip(ends, COVERED, strict=False)
        )
        return (f"{self.kernel}: {value:.4g}, {', '.join(words)}",)


@dataclass(frozen=True)
class Pair(Kernel):
    """Options for a pair statistic, and for the second column of a statistic of two columns."""

    and_column: Annotated[str | None, Option(help="With --kernel kendall: another column.", metavar="NAME")] = None
    and_grid: Annotated[str | None, Option(help="Public cells of the other column, as --grid.", metavar="L:U:N")] = None


def required(word: str | None, curve: Any) -> None:
    """Refuse a statistic that cannot be computed from the curve of this class of question. Raises `Misuse`."""
    if word is None:
        return
    if word not in WORDS:
        raise Misuse("kernel", f"one of {', '.join(WORDS)} is needed, got {word!r}")
    told = type(curve).__name__.removesuffix("Question")
    if told not in _TOLD[word]:
        raise Misuse("kernel", f"{word} is read from another curve than this task asks for")


_TOLD = {
    "gini": ("Cdf", "Histogram"), "renyi2": ("Cdf", "Histogram"), "kendall": ("Histogram2D", "Contingency"),
    "auc": ("Roc",),
}  # fmt: skip


def _read(word: str, curve: Any) -> tuple[float, Any]:
    """Value of the statistic, and a function that returns its confidence interval at a level."""
    from dpcurves import curves

    if word == "auc":
        return curve.auc, curve.auc_interval
    if word == "kendall":
        found = curves.kendall_tau_b(curve)
    elif word == "renyi2":
        found = curves.renyi2_entropy(curve)
    elif isinstance(curve, curves.Histogram):
        found = curves.u_statistic(curve, lambda x, y: abs(x - y))
    else:
        found = curves.gini_mean_difference(curve)
    return found.value, found.interval
