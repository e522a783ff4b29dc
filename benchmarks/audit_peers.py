"""Releases of other packages under the auditor's own command, where they are installed; and a report on each finding.

`python benchmarks/audit_peers.py [--seconds S] [--reports FOLDER]`. Each release is a function of this file, audited by
`dpcurves audit package audit_peers:NAME`. A package that is not installed is skipped with a line. With `--reports` what
was flagged is written as a report that can be sent to who maintains the package. Nothing is sent, and nothing is
written into the pages here: what is not public yet is theirs first.

An environment of their own has what they need: OpenDP 0.16 polars 1.36.1, diffprivlib 0.6.6 scikit-learn 1.5.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from inspect import getsource
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).resolve().parent
GROUPS, SCALE = 9, 3.0


class Peer(NamedTuple):
    """A release of another package.

    Attributes:
        package: The package, as an index names it.
        function: The function here.
        family: Its neighbours.
        adjacency: What neighbours are, as the package says.
        claim: What it says that it loses.
        public: A public report on it, if there is one.
    """

    package: str
    function: str
    family: str
    adjacency: str
    claim: str
    public: str = ""


# OpenDP


@cache
def _opendp() -> Any:
    import opendp.prelude as opendp

    opendp.enable_features("contrib")
    return opendp


@cache
def _laplace(kind: type) -> Any:
    opendp = _opendp()
    domain = opendp.atom_domain(T=float, nan=False) if kind is float else opendp.atom_domain(T=int)
    return opendp.m.make_laplace(domain, opendp.absolute_distance(T=kind), scale=1.0)


def opendp_count(data: Any) -> Any:
    """A count with Laplace noise on integers."""
    return _laplace(int)(len(data))


def opendp_count_of_doubles(data: Any) -> Any:
    """A count with Laplace noise on doubles."""
    return _laplace(float)(float(len(data)))


@cache
def _noisy_max() -> Any:
    opendp = _opendp()
    space = opendp.vector_domain(opendp.atom_domain(T=int)), opendp.linf_distance(T=int)
    return opendp.m.make_noisy_max(*space, opendp.zero_concentrated_divergence(), scale=1.0)


def opendp_noisy_max(data: Any) -> Any:
    """The place of the largest of some counts."""
    return _noisy_max()([int(each) for each in data])


@cache
def _merged_groups() -> Any:
    """Its map says rho 1/18 for a person: noise of scale 3, and a sensitivity of 1."""
    import polars as pl

    opendp = _opendp()
    counts = (
        pl.LazyFrame(schema={"id": pl.Int64, "g": pl.Int64})
        .filter(pl.int_range(pl.len()).over("id", "g") < 1)
        .filter(pl.struct("g").rank("dense").over("id") < GROUPS + 1)
        .with_columns(g=pl.lit(0, dtype=pl.Int64))
        .group_by("g")
        .agg(opendp.len(scale=SCALE))
    )
    whole = opendp.atom_domain(T="i64")
    return opendp.m.make_private_lazyframe(
        opendp.lazyframe_domain([opendp.series_domain(name, whole) for name in ("id", "g")]),
        opendp.symmetric_id_distance(identifier=pl.col("id")),
        opendp.zero_concentrated_divergence(),
        pl.LazyFrame({"g": [0]}).join(counts, on="g", how="left"),
    )


def opendp_merged_groups(data: Any) -> Any:
    """Records in one group, of people who were limited to one record in each of nine groups before."""
    import polars as pl

    numbers = [ord(str(unit)) for unit in data["unit"]]
    groups = [int(value) for value in data["value"]]
    frame = pl.LazyFrame({"id": numbers, "g": groups}, schema={"id": pl.Int64, "g": pl.Int64})
    return _merged_groups()(frame).collect()["len"].to_list()


@cache
def _codes() -> Any:
    import polars as pl

    opendp = _opendp()
    column = pl.LazyFrame(schema={"x": pl.Float64}).select(
        pl.col("x").cut([0.5]).to_physical().dp.sum((0, 1), scale=1.0)
    )
    domain = opendp.lazyframe_domain([opendp.series_domain("x", opendp.atom_domain(T=float, nan=False))])
    bounded = opendp.with_margin(domain, opendp.polars.Margin(max_length=101))
    return opendp.m.make_private_lazyframe(
        bounded, opendp.frame_distance(opendp.symmetric_distance()), opendp.max_divergence(), column
    )


def opendp_codes_of_cells(data: Any) -> Any:
    """The sum of the codes of cells."""
    import polars as pl

    kept = [float(value) for value in reversed(data) if np.isfinite(value)]
    return _codes()(pl.LazyFrame({"x": kept}, schema={"x": pl.Float64})).collect().item()


# diffprivlib


def diffprivlib_count(data: Any) -> Any:
    """A count with geometric noise."""
    from diffprivlib.mechanisms import Geometric

    return Geometric(epsilon=1, sensitivity=1).randomise(len(data))


def diffprivlib_count_of_doubles(data: Any) -> Any:
    """A count with Laplace noise on doubles."""
    from diffprivlib.mechanisms import Laplace

    return Laplace(epsilon=1, sensitivity=1).randomise(float(len(data)))


def diffprivlib_histogram(data: Any) -> Any:
    """A histogram of four cells."""
    from diffprivlib.tools import histogram

    return histogram(np.asarray(data)[np.isfinite(data)], epsilon=1, bins=4, range=(0, 1))[0].tolist()


def diffprivlib_mean(data: Any) -> Any:
    """A mean of values between bounds."""
    from diffprivlib.tools import nanmean

    return float(nanmean(np.asarray(data), epsilon=1, bounds=(0, 1)))


def diffprivlib_median(data: Any) -> Any:
    """A median of values between bounds, of those that are numbers."""
    from diffprivlib.tools import median

    return float(median(np.nan_to_num(np.asarray(data), posinf=1, neginf=0), epsilon=1, bounds=(0, 1)))


# PipelineDP


def pipelinedp_count(data: Any) -> Any:
    """A count in one public partition."""
    import pipeline_dp

    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=0)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.COUNT], noise_kind=pipeline_dp.NoiseKind.LAPLACE, max_partitions_contributed=1,
        max_contributions_per_partition=1,
    )  # fmt: skip
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row, partition_extractor=lambda row: 0, value_extractor=lambda row: 0
    )
    rows = (number for number in range(len(data)))  # a list that is empty is refused
    found = engine.aggregate(rows, params, extractors, public_partitions=[0])
    budget.compute_budgets()
    return [counted.count for _, counted in found]


# The privacy extension of DuckDB


@cache
def _duckdb() -> Any:
    import duckdb

    connection = duckdb.connect()
    connection.execute("INSTALL privacy FROM community; LOAD privacy")
    return connection


def duckdb_count(data: Any) -> Any:
    """A count."""
    connection = _duckdb()
    connection.execute("CREATE OR REPLACE TABLE visits AS SELECT unnest(?::DOUBLE[]) AS x", [list(map(float, data))])
    return connection.execute("SELECT dp_count(x, 1.0) FROM visits").fetchall()


PEERS = (
    Peer("opendp", "opendp_count", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_count_of_doubles", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_noisy_max", "answers:2", "replace-one", "rho 0.5", "opendp/opendp#2911"),
    Peer("opendp", "opendp_merged_groups", f"units:0:{GROUPS}:{GROUPS}:{GROUPS}", "add-remove", "rho 0.0556",
         "opendp/opendp#2949"),
    Peer("opendp", "opendp_codes_of_cells", "values:0:1:2", "add-remove", "epsilon 1", "opendp/opendp#2944"),
    Peer("diffprivlib", "diffprivlib_count", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_count_of_doubles", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_histogram", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_mean", "values:0:1:4", "replace-one", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_median", "values:0:1:4", "replace-one", "epsilon 1"),
    Peer("pipeline-dp", "pipelinedp_count", "values:0:1:4", "add-remove", "epsilon 1"),
    Peer("duckdb", "duckdb_count", "values:0:1:4", "add-remove", "epsilon 1"),
)  # fmt: skip


def unavailable(peer: Peer) -> str:
    """Why a release can not be called here; empty: it can."""
    try:
        told = version(peer.package)
        globals()[peer.function](_tried(peer))
    except PackageNotFoundError:
        return f"{peer.package} is not installed"
    except Exception as error:
        words = " ".join(str(error).split())[:80]
        return f"{peer.package} {told} does not answer here ({type(error).__name__}: {words})"
    return ""


def _tried(peer: Peer) -> Any:
    if peer.family.startswith("units"):
        return {"unit": np.array(["a"]), "value": np.array([0.5])}
    return np.array([0.5, 0.5])


def command_of(peer: Peer, seconds: int, file: Path) -> list[str]:
    """The command that audits a release."""
    kind, amount = peer.claim.split()
    program = Path(sys.executable).with_name("dpcurves")
    return [
        str(program), "audit", "package", f"{Path(__file__).stem}:{peer.function}", "--family", peer.family,
        "--adjacency", peer.adjacency, f"--{kind}", amount, "--seconds", str(seconds), "--json", str(file),
    ]  # fmt: skip


def report_on(peer: Peer, words: str, typed: list[str]) -> str:
    """A report that can be sent: what is claimed, what was seen, on which tables, and how to see it again."""
    line = " ".join(["dpcurves", *typed[1:-2]])
    public = f" Public as {peer.public}." if peer.public else ""
    return f"""# {peer.function}: more than {peer.claim} under {peer.adjacency}

{peer.package} {version(peer.package)}, Python {sys.version.split()[0]}.{public}

Claimed: {peer.claim}, neighbours being {peer.adjacency}. Seen, on samples that the event was not chosen on:

```
{words.strip()}
```

The release:

```python
{getsource(globals()[peer.function]).strip()}
```

To see it again, beside that function in `{Path(__file__).name}`:

```console
{line}
```
"""


def audited(peers: Sequence[Peer], seconds: int, reports: Path | None = None) -> None:
    """Print the verdict on each release, and keep a report on what was flagged."""
    for peer in peers:
        missing = unavailable(peer)
        if missing:
            print(f"{peer.function:<30}skipped: {missing}", flush=True)
            continue
        with TemporaryDirectory() as folder:
            typed = command_of(peer, seconds, Path(folder) / "report.json")
            done = subprocess.run(typed, cwd=HERE, capture_output=True, text=True, check=False)
        words = done.stdout.splitlines()[0] if done.stdout else done.stderr.strip()
        told = f"{peer.package} {version(peer.package)}"
        print(f"{peer.function:<30}{told:<20}{peer.claim:<14}{words} {peer.public}", flush=True)
        if reports is not None and done.returncode == FLAGGED:
            reports.mkdir(exist_ok=True)
            (reports / f"{peer.function}.md").write_text(report_on(peer, done.stdout, typed), encoding="utf-8")


FLAGGED = 6
"""Exit status of an audit that has flagged something."""


def main() -> None:
    """Print the verdict on each release that is chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="seconds for each release")
    parser.add_argument("--only", choices=[peer.function for peer in PEERS], nargs="*", help="some releases")
    parser.add_argument("--reports", type=Path, help="a folder for reports on what was flagged")
    given = parser.parse_args()
    chosen = [peer for peer in PEERS if not given.only or peer.function in given.only]
    audited(chosen, given.seconds, given.reports)


if __name__ == "__main__":
    main()
