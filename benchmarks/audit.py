"""Power, false alarms and speed of the auditor: the whole exam, controls, a plain histogram tester, and peers.

`python benchmarks/audit.py [--write] [--only PART] [--resume FILE]`. With `--write` (`make audit`) the table of the
exam goes into `docs/audit.md`. With `--resume` each row is kept in a file, and one that is kept is not made again.
Parts: exam, plain, controls, power, speed, peers. Minutes of one core in all.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from itertools import product
from math import inf, log
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "tests" / "audit")]

import exam  # noqa: E402
from exam import CELLS, Case, whole  # noqa: E402

import dpcurves as dp  # noqa: E402
from dpcurves_audit.confidence_limits import (  # noqa: E402
    find_log_ratio_lower_bound,
    find_probability_lower_bound,
    find_probability_upper_bound,
    sample_poisson,
)
from dpcurves_audit.outcome_scores import OutcomeParser, Sample  # noqa: E402
from dpcurves_audit.report import Report  # noqa: E402
from dpcurves_audit.targets import NoiseSampler  # noqa: E402

PAGE = ROOT / "docs" / "audit.md"
BEGIN, END = "<!-- audit: made by benchmarks/audit.py -->\n", "<!-- end of audit -->"
SURE = 0.99
PIECE, BARS = 2_000_000, 400
"""Outcomes that are drawn at once, and bars that are counted, where memory does not hold all outcomes."""
families = dp.audit.families


class Found(NamedTuple):
    """A case, the report on it, and seconds of the processor."""

    case: Case
    report: Report
    seconds: float


def audited(case: Case, confidence: float = SURE, samples: int | None = None, *, again: bool = False) -> Found:
    """The auditor on one case."""
    begun = time.process_time()
    report = dp.audit(
        case.sampler, case.family, seconds=300, samples=samples or case.samples, confidence=confidence,
        extra_checks=case.beside, confirm_twice=again, **case.claim,
    )  # fmt: skip
    return Found(case, report, time.process_time() - begun)


def streamed(case: Case, chosen_on: int = 300_000_000, confirmed_on: int = 600_000_000) -> Found:
    """An audit with more outcomes of one number than memory holds: bars are counted, and an interval of them chosen.

    Bars of equal weight; of all intervals of them, on both sides, the one is chosen that lies the most standard errors
    beyond the claim. It is held against the claim on fresh outcomes, whose numbers are Poisson.
    """
    begun, (pair,), claimed = time.process_time(), case.family.pairs, float(case.claim["epsilon"])
    shown = np.concatenate([case.sampler.draw(data, min(PIECE, chosen_on)) for data in (pair.left, pair.right)])
    edges = np.unique(np.quantile(shown, np.arange(1, BARS) / BARS))

    def counted(numbers: list[int]) -> Any:
        found = np.zeros((2, len(edges) + 1), np.int64)
        for side, data in enumerate((pair.left, pair.right)):
            for place in range(0, numbers[side], PIECE):
                outcomes = case.sampler.draw(data, min(PIECE, numbers[side] - place))
                found[side] += np.bincount(np.searchsorted(edges, outcomes, side="right"), minlength=len(edges) + 1)
        return found

    below = np.insert(counted([chosen_on] * 2).cumsum(axis=1), 0, 0, axis=1)
    lows, highs = np.triu_indices(len(edges) + 2, 1)
    ours = np.maximum(below[:, highs] - below[:, lows], 1)
    beyond = (np.log(ours / ours[::-1]) - claimed) / np.sqrt(1 / ours[0] + 1 / ours[1])
    side, place = divmod(int(np.argmax(beyond)), len(lows))
    low, high = int(lows[place]), int(highs[place])
    numbers = [sample_poisson(confirmed_on) for _ in range(2)]
    hits = [int(bars[low:high].sum()) for bars in counted(numbers)]
    hits, numbers = (hits, numbers) if side == 0 else (hits[::-1], numbers[::-1])
    ends = [-inf, *edges.tolist(), inf]
    event = f"number 1 is at least {ends[low]:g} and below {ends[high]:g}"
    report = Report(
        case.sampler.name, case.family.name, case.family.adjacency.value, "epsilon", claimed, 0.0, SURE,
        lower_bound=float(find_log_ratio_lower_bound(*hits, 1 - SURE)), pair=pair.name, event=event,
        likelier_side=("left", "right")[side],
        hits=(hits[0], hits[1]), samples=(numbers[0], numbers[1]), calls=len(shown) + 2 * chosen_on + sum(numbers),
        rounds=1,
    )  # fmt: skip
    return Found(case, report, time.process_time() - begun)


def examined(kept: Kept) -> list[Found]:
    """The exam, told the claim alone."""
    rows = []
    print(f"{'exam, at ' + str(SURE):<44}{'claimed':>9}{'true':>8}{'found':>8}{'calls':>13}{'CPU s':>7}")
    for case, way in (*((each, audited) for each in exam.broken()), (exam.medians(), streamed)):
        rows.append(kept.found(case, way))
        _, report, seconds = rows[-1]
        word = "" if report.is_flagged else "  NOT FOUND"
        print(
            f"{case.name:<44}{report.claimed_loss:>9g}{_loss(case.true):>8}{report.lower_bound:>8.4g}{report.calls:>13,}"
            f"{seconds:>7.1f}{word}",
            flush=True,
        )
    print(f"found {sum(row.report.is_flagged for row in rows)} of {len(rows)}")
    return rows


class Kept:
    """Rows of the exam that were made, a line of JSON each in a file, if there is one.

    Attributes:
        file: The file.
        lines: Lines that are in it, by the name of the row.
    """

    def __init__(self, file: Path | None) -> None:
        text = file.read_text("utf-8") if file is not None and file.exists() else ""
        found = map(json.loads, text.rpartition("\n")[0].splitlines())  # of a line that was cut off nothing is left
        self.file, self.lines = file, {line["row"]: line for line in found}

    def found(self, case: Case, way: Callable[[Case], Found]) -> Found:
        """The row of a case: the one that is kept, or one that is made now."""
        if case.name in self.lines:
            line = self.lines[case.name]
            return Found(case, Report.from_dict(line["report"]), line["seconds"])
        made = way(case)
        self.lines[case.name] = {"row": case.name, "seconds": made.seconds, "report": made.report.to_dict()}
        if self.file is not None:
            draft = self.file.with_name(f"{self.file.name}.draft")
            draft.write_text("".join(json.dumps(line) + "\n" for line in self.lines.values()), encoding="utf-8")
            draft.replace(self.file)
        return made


def _loss(true: float | None, digits: int = 2) -> str:
    return "" if true is None else "∞" if true == inf else f"{true:.{digits}f}"


def table(rows: list[Found]) -> str:
    """The exam as a table of the page."""
    lines = [
        "## Exam", "",
        "Told the claim alone, at a confidence of 0.99: mechanisms as published that are not private "
        "([errata](errata.md)), and faults of code. *True* is a loss on these families where it is known. Medians with "
        "Cauchy noise lose 1.0045 of what they say on the worst pair that is known, and are found with hundreds of "
        "millions of outcomes, of which bars alone are kept; the search keeps all, and stops at two million of each "
        "data set.", "",
        "| mechanism | claimed | true | found | outcomes | seconds |", "|---|---:|---:|---:|---:|---:|",
    ]  # fmt: skip
    for case, report, seconds in rows:
        digits = 2 if report.lower_bound > report.claimed_loss + 0.005 else 5
        lower = (
            f"at least {report.lower_bound:.{digits}f}"
            if report.lower_bound > report.claimed_loss
            else "flagged beside the bound"
        )
        found = lower if report.is_flagged else "not found"
        true = _loss(case.true, digits)
        lines.append(f"| {case.name} | {report.claim} | {true} | {found} | {report.calls:,} | {seconds:.1f} |")
    return "\n".join([*lines, "", "Seconds are of one core. `make audit` runs it again.", "", ""])


# The plain tester: histograms of single numbers, on every pair in turn, with more and more samples.


def plain(case: Case, most_calls: int = 1_500_000) -> tuple[bool, int]:
    """Run a plain histogram tester: does it find the loss, and with how many calls?

    Half of the samples choose the interval of a histogram, the other half test it, by limits of both chances. The error
    is divided among pairs and rounds.
    """
    calls, reader, epsilon = 0, OutcomeParser(), case.claim["epsilon"]
    for step, samples in enumerate((500, 2_000, 8_000, 32_000, 128_000, 512_000)):
        error = (1 - SURE) / (2 ** (step + 1) * len(case.family.pairs) * 2)
        for pair in case.family.pairs:
            if calls + 2 * samples > most_calls:
                return False, calls
            both = reader.parse_outcomes(case.sampler.draw(pair.left, samples)) + reader.parse_outcomes(
                case.sampler.draw(pair.right, samples)
            )
            left, right = both.slice_outcomes(0, samples), both.slice_outcomes(samples)
            calls += 2 * samples
            for ours, theirs in ((left, right), (right, left)):
                if _beyond(ours, theirs, error) > epsilon:
                    return True, calls
    return False, calls


def _beyond(ours: Sample, theirs: Sample, error: float) -> float:
    """Lower limit of epsilon from the best bar of the histograms of all numbers, and of kinds of outcomes."""
    half, best, chosen = len(ours) // 2, -inf, None
    for bars in _histograms(ours, theirs):
        a, b = (np.bincount(each[:half], minlength=40) for each in bars)
        ratios = np.where(a >= 5, np.log((a + 1e-9) / (b + 1)), -inf)
        if ratios.max() > best:
            best, chosen = ratios.max(), (bars, int(np.argmax(ratios)))
    if chosen is None:
        return -inf
    bars, bar = chosen
    hits = [int((each[half:] == bar).sum()) for each in bars]
    low = float(find_probability_lower_bound(hits[0], len(ours) - half, error / 2))
    return (
        log(low) - log(float(find_probability_upper_bound(hits[1], len(theirs) - half, error / 2))) if low > 0 else -inf
    )


def _histograms(ours: Sample, theirs: Sample) -> Iterator[tuple[Any, Any]]:
    yield np.minimum(ours.kinds, 39), np.minimum(theirs.kinds, 39)
    for column in range(ours.numbers.shape[1]):
        both = np.nan_to_num(np.concatenate([ours.numbers[:, column], theirs.numbers[:, column]]))
        distinct = np.unique(both)
        edges = distinct if len(distinct) <= 20 else np.linspace(*np.quantile(both, [0.005, 0.995]), 20)
        a, b = (np.searchsorted(edges, each.numbers[:, column], side="right") for each in (ours, theirs))
        yield a, b


def beside_plain(rows: list[Found]) -> None:
    """Print both testers side by side."""
    print(f"\n{'beside a plain histogram tester':<44}{'auditor':>12}{'plain':>12}{'ratio':>8}")
    ratios, lost = [], 0
    for case, report, _ in rows:
        if "rho" in case.claim or "killed" in case.name or case.samples > 1_000_000:
            continue
        found, calls = plain(case)
        lost += found and not report.is_flagged
        ratios += [report.calls / calls] if found and report.is_flagged else []
        print(
            f"{case.name:<44}{report.calls if report.is_flagged else 0:>12,}{calls if found else 0:>12,}"
            f"{report.calls / calls if found else 0:>8.2f}",
            flush=True,
        )
    print(
        f"0: not found. Found by the plain one alone: {lost}. Median of the ratio where both find it: "
        f"{median(ratios):.2f}"
    )


# Releases that keep their promise.


def controlled() -> None:
    """Print false alarms on controls, each of which is looked at once more before it is said."""
    begun, wrong, once = time.process_time(), [], 0
    cases = list(exam.controls())
    for case in cases:
        report = audited(case, 0.999, 5_000, again=True).report
        once += report.second_lower_bound is not None
        wrong += [case.name] if report.is_flagged else []
    print(
        f"\n{len(cases)} controls at 0.999: {len(wrong)} flagged {wrong}, {once} were above their claim once, "
        f"{time.process_time() - begun:.0f} CPU seconds"
    )


# Samples that are needed.


def tried(name: str, made: Callable[[float], Any], family: Any, *, samples: int, share: float, runs: int) -> None:
    """Print in how many runs so much too little noise is found."""
    begun = time.process_time()
    reports = [
        dp.audit(made(share), family, epsilon=1, seconds=300, samples=samples, batch=True, extra_checks=False)
        for _ in range(runs)
    ]
    found = sum(report.is_flagged for report in reports)
    seconds = (time.process_time() - begun) / runs
    print(f"{name:<34}{100 * (1 - share):>4.0f} %{samples:>10,}{found:>6} of {runs}{seconds:>8.2f} s each", flush=True)


def power(runs: int) -> None:
    """Print samples for 9 of 10 runs."""
    add, moved = dp.ADD_REMOVE, dp.REPLACE_ONE
    count = families.values([0, 1], adjacency=add).first(1)
    cells = families.values(CELLS, adjacency=moved).first(1)
    nodes = families.values(np.linspace(0, 1, 9), adjacency=add).first(1)

    def tree(share: float) -> Callable[[Any, int], Any]:
        def release(data: Any, k: int) -> Any:
            at = np.histogram(data, np.linspace(0, 1, 9))[0]
            exact = np.concatenate([at, at.reshape(4, 2).sum(axis=1), at.reshape(2, 4).sum(axis=1), [at.sum()]])
            return exact + whole(4 * share, (k, 15))

        return release

    print("\nless noise than claimed, found at 0.95; samples of each data set")
    kinds = (
        ("one count", lambda share: lambda data, k: len(data) + whole(share, k), count, (20_000, 2_000)),
        ("histogram of 4 cells", lambda share: exam._histogram(2 * share), cells, (50_000, 2_000)),
        ("tree of 8 cells, nodes", tree, nodes, (500_000, 50_000)),
    )
    for (name, made, family, samples), place in product(kinds, (0, 1)):
        tried(name, made, family, samples=samples[place], share=(0.9, 0.5)[place], runs=runs)


def speed() -> None:
    """Print noisy counts a second, and the time from claim to verdict."""
    from dpcurves.data import Axis, Grid
    from dpcurves.mechanisms import FlatHistogram
    from dpcurves.queries import CountQuery, CountUse

    query = CountQuery((Axis("value", Grid(0, 1, cells=4)),), CountUse.CELLS)
    sampler = NoiseSampler("noise", query, FlatHistogram(), dp.PrivacyLoss.pure(1), dp.ADD_REMOVE)
    sampler.draw(np.array([0.5]), 10)
    begun = time.process_time()
    drawn = sampler.draw(np.array([0.5]), 400_000)
    counts = drawn.size / (time.process_time() - begun)
    print(f"\na vectorised sampler: {counts / 1e6:.1f} million noisy counts a second of the processor")
    family = families.values([0, 1], adjacency=dp.ADD_REMOVE)
    begun, clock = time.process_time(), time.perf_counter()
    report = dp.audit(sampler, family, epsilon=1, seconds=120, samples=20_000)
    print(
        f"from claim to verdict, all {len(family.pairs)} pairs: {time.process_time() - begun:.1f} CPU seconds, "
        f"{time.perf_counter() - clock:.1f} by the clock\n{report}"
    )


# Peers.


def peers() -> None:
    """Print audits of releases of other packages, where they are installed."""
    import audit_peers

    audit_peers.audited(audit_peers.PEERS, ["--seconds", "60", "--samples", "5000"])


PARTS = ("exam", "plain", "controls", "power", "speed", "peers")


def main() -> None:
    """Print all numbers, and write the page if asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--write", action="store_true", help="write the table of docs/audit.md")
    parser.add_argument("--only", choices=PARTS, help="one part")
    parser.add_argument("--runs", type=int, default=20, help="runs for each power")
    parser.add_argument("--resume", type=Path, help="a file that keeps rows of the exam, which are not made again")
    given = parser.parse_args()
    parts = {given.only} if given.only else set(PARTS)
    rows = examined(Kept(given.resume)) if parts & {"exam", "plain"} else []
    if given.write:
        before, _, rest = PAGE.read_text("utf-8").partition(BEGIN)
        PAGE.write_text(before + BEGIN + table(rows) + END + rest.partition(END)[2], encoding="utf-8")
    if "plain" in parts:
        beside_plain(rows)
    if "controls" in parts:
        controlled()
    if "power" in parts:
        power(given.runs)
    if "speed" in parts:
        speed()
    if "peers" in parts:
        peers()


if __name__ == "__main__":
    main()
