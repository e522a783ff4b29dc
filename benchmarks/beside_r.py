"""Survival curves and areas beside those of R: `survival`, `cmprsk` and `pROC`, on data that ship with them.

`python benchmarks/beside_r.py [--page FILE ...]` calls `Rscript beside_r.R`, which writes data on cells of whole
numbers and what R makes of them, asks the same at epsilon 10^9, and prints the largest difference of each number; where
Rscript or a package of R is missing it says so. Debian has them as r-base-core, r-cran-survival, r-cran-cmprsk and
r-cran-proc. With `--page` the tables are written into those files, where they stand already.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from shutil import which
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "curves"))

from by_hand import answer, both
from reading_names import name_reading

import dpcurves as dp
from dpcurves.privacy import PrivacyLoss

HERE, HUGE, CELLS = Path(__file__).resolve(), PrivacyLoss.pure(10**9), 40
COHORTS = "lung", "veteran", "colon", "mgus2", "heart"
GRID, TWENTIETHS = dp.Values(range(CELLS)), dp.Values(np.arange(21) / 20)
MARKS = {
    "survival": "<!-- written by benchmarks/beside_r.py: survival -->",
    "models": "<!-- written by benchmarks/beside_r.py: models -->",
}
END = "<!-- end of beside_r.py -->"
SAME, ONE_SIGMA = 1e-9, 0.682689492137
"""What counts as equal; and the level at which an interval of a Gaussian error is two standard errors wide."""
PAIRS = "aSAH", "pbc", "flchain"
Numbers = Mapping[tuple[str, str], Any]


def from_r(folder: Path) -> tuple[Numbers, str]:
    """Each number of R by data set and name, and versions; `folder` then has the data."""
    done = subprocess.run(
        ["Rscript", str(HERE.with_suffix(".R")), str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"Rscript ended in an error, so nothing is measured: {done.stderr.strip()}")
    told = pd.read_csv(folder / "numbers.csv")
    found = {key: part.sort_values("place")["value"].to_numpy() for key, part in told.groupby(["of", "name"])}
    return found, ", ".join(line.strip() for line in done.stdout.splitlines())


def asked(question: Any, given: Mapping[str, Any]) -> Any:
    """The answer to a question about these columns, next to no noise in it."""
    columns = {name: np.asarray(column) for name, column in given.items()}
    return answer(question, columns, HUGE, both(len(next(iter(columns.values()))))[0], 1)


def survived(given: Mapping[str, Any], until: float) -> Iterator[tuple[str, Any]]:
    """Numbers of one cohort, by the names that R's script gives them."""
    arms = asked(dp.SurvivalQuestion("t", "e", GRID, by=dp.Categories("g", (0, 1))), given)
    for group in (0, 1):
        yield f"Kaplan-Meier {group}", arms[group].y[1:]
        yield f"Nelson-Aalen {group}", arms[group].cumulative_hazard[1:]
        yield f"restricted mean {group}", dp.restricted_mean(arms[group], until).value
        yield f"conditional {group}", dp.survival_at(arms[group], until, 2).value
    parted: list[list[Any]] = [[], []]
    for stratum in (0, 1):
        own = {name: column[given["s"] == stratum] for name, column in given.items()}
        of_both = asked(dp.SurvivalQuestion("t", "e", GRID, by=dp.Categories("g", (0, 1))), own)
        for group in (0, 1):
            parted[group].append(of_both[group])
    for words, powers in (("", {}), (", rho 1", {"rho": 1.0})):
        yield f"log-rank{words}", dp.log_rank_test(arms[0], arms[1], **powers).statistic
        yield f"log-rank, strata{words}", dp.log_rank_test(*parted, **powers).statistic
    yield "hazard ratio", dp.hazard_ratio(arms[0], arms[1]).value
    late = asked(dp.DelayedEntryQuestion("entry", "t", "e", GRID), given)
    yield "delayed entry", late.y[1:]
    yield "delayed entry, hazard", late.cumulative_hazard[1:]
    risks = asked(dp.CompetingRisksQuestion("t", "cause", GRID, (1, 2)), given)
    for place, cause in enumerate((1, 2)):
        for package in ("cmprsk", "survfit"):
            yield f"incidence, {package} {cause}", risks.incidence[place, 1:]
    looks = asked(dp.IntervalCensoredQuestion("last", "first", GRID), given)
    yield "interval censoring", looks.y[1:]


ROWS = {
    "Kaplan-Meier": "`survival::survfit`", "Nelson-Aalen": "`survival::survfit`",
    "restricted mean": "`print.survfit(rmean = )`", "conditional": "`survival::survfit`",
    "log-rank": "`survival::survdiff`", "log-rank, rho 1": "`survdiff(rho = 1)`",
    "log-rank, strata": "`survdiff(strata())`", "log-rank, strata, rho 1": "`survdiff(strata(), rho = 1)`",
    "hazard ratio": '`coxph(ties = "breslow")`', "delayed entry": "`survfit(Surv(entry, exit, e))`",
    "delayed entry, hazard": "`survfit(Surv(entry, exit, e))`", "incidence, cmprsk": "`cmprsk::cuminc`",
    "incidence, survfit": "`survfit`, several states", "interval censoring": '`Surv(type = "interval2")`',
}  # fmt: skip


def of_survival(folder: Path, told: Numbers) -> Iterator[str]:
    """The table of cohorts, line by line."""
    apart: dict[str, dict[str, float]] = {row: dict.fromkeys(COHORTS, 0.0) for row in ROWS}
    sizes = []
    for cohort in COHORTS:
        given = {name: column.to_numpy() for name, column in pd.read_csv(folder / f"{cohort}.csv").items()}
        sizes.append(len(given["t"]))
        for name, found in survived(given, float(told[cohort, "until"][0])):
            row = name if name in ROWS else name[:-2]
            off = np.nanmax(np.abs(np.asarray(found, float) - np.reshape(told[cohort, name], np.shape(found))))
            apart[row][cohort] = max(apart[row][cohort], float(off))
    yield "| equal to R within | by | " + " | ".join(COHORTS) + " | 1e-9 |"
    yield "|---|---|" + "---:|" * len(COHORTS) + "---|"
    yield "| records | | " + " | ".join(f"{size:,}" for size in sizes) + " | |"
    for row, cells in apart.items():
        verdict = "yes" if max(cells.values()) <= SAME else "R stops at steps of 5e-5" if "interval" in row else "no"
        yield f"| {row} | {ROWS[row]} | " + " | ".join(f"{each:.0e}" for each in cells.values()) + f" | {verdict} |"


def of_models(folder: Path, told: Numbers) -> Iterator[str]:
    """The table of areas, line by line."""
    yield "| number | by | of | here | R | apart | 1e-9 |"
    yield "|---|---|---|---:|---:|---:|---|"
    for of in PAIRS:
        given = pd.read_csv(folder / f"{of}.csv")
        first, second = (dp.Values(np.unique(given[name])) for name in "ab")
        pair = asked(dp.ModelPairQuestion("y", "a", "b", first, second), given)
        words = f"{of}, {len(given):,}"
        for name in ("auc, first", "auc, second", "auc difference"):
            by = "`roc.test(paired = TRUE)`" if name.endswith("difference") else "`pROC::auc`"
            yield row(name, by, words, pair.value(name), told[of, name][0])
        low, high = pair.interval("auc difference", 0.95, population=True)
        spread = np.subtract(*pair.interval("auc difference", ONE_SIGMA, population=True)[::-1]) / 2
        for name, here, there in (
            ("its lower end, 0.95", low, told[of, "interval"][0]), ("its upper end", high, told[of, "interval"][1]),
            ("its standard error", spread, np.sqrt(told[of, "variance"][0])),
        ):  # fmt: skip
            yield row(name, "DeLong's test", words, here, there, same=False)
    kinds = pd.read_csv(folder / "iris.csv")
    several = dp.MulticlassQuestion(dp.Categories("k", (0, 1, 2)), ("p0", "p1", "p2"), grid=TWENTIETHS)
    name = "one-against-one auc"
    yield row(
        "Hand and Till", "`multiclass.roc`", "iris, 150", asked(several, kinds).value(name), told["iris", name][0]
    )


def row(name: str, by: str, of: str, here: float, there: float, *, same: bool = True) -> str:
    """A line of the table; `same` where both define the same."""
    verdict = ("yes" if abs(here - there) <= SAME else "no") if same else "simulated"
    return f"| {name_reading(name)} | {by} | {of} | {here:.6f} | {there:.6f} | {abs(here - there):.0e} | {verdict} |"


def written(page: Path, name: str, lines: list[str]) -> None:
    """Put a table into its place on a page; a page without the place is left as it is."""
    head, mark, rest = page.read_text(encoding="utf-8").partition(MARKS[name])
    if mark:
        page.write_text(f"{head}{mark}\n\n" + "\n".join(lines) + f"\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def main() -> None:
    """Print both tables, or write them into pages."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--page", nargs="+", type=Path, default=[])
    given = parser.parse_args()
    if which("Rscript") is None:
        print("Rscript is not installed: nothing is measured")
        return
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        told, versions = from_r(folder)
        for name, table in (("survival", of_survival), ("models", of_models)):
            lines = [*table(folder, told), "", f"{versions}."]
            print(*lines, "", sep="\n", flush=True)
            for page in given.page:
                written(page, name, lines)


if __name__ == "__main__":
    main()
