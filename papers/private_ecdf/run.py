"""Every claim of the paper on private distribution functions, measured: `python papers/private_ecdf/run.py [--quick]`.

Prints a line for each claim: the paper's number, ours, what dpcurves does instead, and the verdict. Draws the figures
into `out/`. Data is read from `../shared/data` beside the repository, from --data, or from $DPCURVES_DATA; without it,
what needs data is skipped.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))  # what all papers share

import calibration
import data
import figures
import inverse
import roc
import runtime
import smoothing
import tables
import theorems
from reproduction import command, report
from reproduction.measured import Findings
from reproduction.report import Steps
from rich.progress import Progress
from sizes import FULL, QUICK, TINY, Size

SEED = 7


def main() -> None:
    """Measure, draw, report."""
    options = command.parse(__file__, __doc__, FULL, QUICK, TINY)
    console = report.console()
    there = (options.data / "tabular").is_dir()
    if not there:
        console.print(f"Skipped: all that needs data. There is no folder 'tabular' in {options.data}", soft_wrap=True)
    with report.progress(console) as progress:
        findings = theorems.findings(options.size, SEED)
        counts = _Counts.measure(options.size, progress)
        records = _Records.measure(options, progress) if there else None
    figures.draw(_pictured(counts, records), options.out)
    findings |= counts.findings()
    if records is not None:
        figures.draw_roc(records.shown, options.out)
        findings |= records.findings()
    command.finish(options, findings, console)


@dataclass(frozen=True)
class _Counts:
    """All of Poisson counts."""

    figure2: smoothing.Effect
    figure3: smoothing.Effect
    limit: float
    figure4: inverse.Errors
    figure7: runtime.Seconds

    @classmethod
    def measure(cls, size: Size, bars: Progress) -> _Counts:
        return cls(
            smoothing.against_epsilon(size, SEED, Steps(bars, "Figure 2: smoothing", size.epsilons)),
            smoothing.against_rate(size, SEED, Steps(bars, "Figure 3: smoothing", size.rates)),
            smoothing.limit(size, SEED),
            inverse.against_epsilon(size, SEED, Steps(bars, "Figure 4: inverse", size.epsilons)),
            runtime.against_points(size, SEED, Steps(bars, "Figure 7: runtime", size.solver_levels)),
        )

    def findings(self) -> Findings:
        smoothed = smoothing.findings(self.figure2, self.figure3, self.limit)
        return {**smoothed, **inverse.findings(self.figure4), **runtime.findings(self.figure7)}


@dataclass(frozen=True)
class _Records:
    """Table 1, ROC curves and the statistic of Hosmer and Lemeshow."""

    table1: Findings
    shown: dict[str, roc.Shown]
    areas: roc.Areas
    statistic: dict[str, calibration.Errors]

    @classmethod
    def measure(cls, options: command.Options[Size], bars: Progress) -> _Records:
        from model import scored

        size, table1, shown, records = options.size, Findings(), {}, {}
        step = Steps(bars, "Table 1, Figures 1, 8, 9: ROC", data.NAMES)
        for name in data.NAMES:
            table = data.table(name, options.data)
            table1 |= tables.findings(name, table)
            records[name] = scored(table)
            shown[name] = roc.shown(name, records[name], size, SEED)
            step()
        epsilons = size.record_epsilons
        areas = roc.areas(records["bank"], size, SEED, Steps(bars, "Figure 5: areas", epsilons))
        statistic = {
            name: calibration.against_epsilon(
                records[name], size, SEED, Steps(bars, f"Figure {number}: Hosmer-Lemeshow", epsilons)
            )
            for name, number in (("bank", 6), ("diabetes", 10))
        }
        return cls(table1, shown, areas, statistic)

    def findings(self) -> Findings:
        curves = {**roc.findings_of_shown(**self.shown), **roc.findings_of_areas(self.areas)}
        return {**self.table1, **curves, **calibration.findings(**self.statistic)}


def _pictured(counts: _Counts, records: _Records | None) -> figures.Pictured:
    areas, statistic = (None, {}) if records is None else (records.areas, records.statistic)
    return figures.Pictured(
        counts.figure2, counts.figure3, counts.figure4, areas, statistic.get("bank"), counts.figure7,
        statistic.get("diabetes"),
    )  # fmt: skip


if __name__ == "__main__":
    main()
