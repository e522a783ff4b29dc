"""Releases of other packages under the auditor's own command, where they are installed; and a report on each finding.

`python benchmarks/audit_peers.py [--seconds S] [--samples N] [--resume FILE] [--reports FOLDER] [--write]`. Each
release is a function of this file, audited by `dpcurves audit package audit_peers:NAME`. A package that is not
installed is skipped with a line. With `--resume` verdicts are kept in a file, and not asked for again. With
`--reports` what was flagged is written as a report that can be sent to who maintains the package. With `--write`
verdicts on a package, and the reports on what is public, go into its part of `docs/audit_peers.md`. Nothing is sent,
and a report on what is not public yet is not written into the page: it is theirs first.

An environment of its own has what each needs: OpenDP 0.16 polars 1.36.1 and pyarrow, diffprivlib 0.6.6 scikit-learn
1.5.
"""

from __future__ import annotations

import argparse
import json
import shlex
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
PAGE = HERE.parent / "docs" / "audit_peers.md"
GROUPS, SCALE = 9, 3.0
IBM = "IBM/differential-privacy-library"


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


def opendp_sum_of_doubles(data: Any) -> Any:
    """The sum of values between bounds, with Laplace noise on doubles."""
    return _sum_of_doubles()([float(value) for value in np.nan_to_num(data)])


@cache
def _sum_of_doubles() -> Any:
    opendp = _opendp()
    space = opendp.vector_domain(opendp.atom_domain(T=float, nan=False)), opendp.symmetric_distance()
    return space >> opendp.t.then_clip((0.0, 1.0)) >> opendp.t.then_sum() >> opendp.m.then_laplace(scale=1.001)


def opendp_gauss(data: Any) -> Any:
    """A count with Gauss's noise on integers."""
    opendp = _opendp()
    return _gauss(opendp)(len(data))


@cache
def _gauss(opendp: Any) -> Any:
    space = opendp.atom_domain(T=int), opendp.absolute_distance(T=int)
    return opendp.m.make_gaussian(*space, scale=1.0)


def opendp_response(data: Any) -> Any:
    """Randomised response to whether there is a record."""
    return _response()(len(data) > 0)


@cache
def _response() -> Any:
    return _opendp().m.make_randomized_response_bool(prob=float(np.exp(1) / (1 + np.exp(1))))


@cache
def _threshold() -> Any:
    """Its map says epsilon 1 and delta 0.0990 for a record."""
    opendp = _opendp()
    counted = opendp.t.make_count_by(opendp.vector_domain(opendp.atom_domain(T=str)), opendp.symmetric_distance())
    return counted >> opendp.m.then_laplace_threshold(scale=1.0, threshold=2)


def opendp_threshold(data: Any) -> Any:
    """Counts of those names whose noisy count reaches 2."""
    return _threshold()([str(name) for name in data])


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


def diffprivlib_truncated(data: Any) -> Any:
    """A count with geometric noise, between 0 and 3."""
    from diffprivlib.mechanisms import GeometricTruncated

    return GeometricTruncated(epsilon=1, sensitivity=1, lower=0, upper=3).randomise(min(len(data), 3))


def diffprivlib_folded(data: Any) -> Any:
    """A count with geometric noise that is folded back at 0 and 3."""
    from diffprivlib.mechanisms import GeometricFolded

    return GeometricFolded(epsilon=1, sensitivity=1, lower=0, upper=3).randomise(min(len(data), 3))


def diffprivlib_snapping(data: Any) -> Any:
    """A count with Laplace noise that is snapped to a lattice, as Mironov proposed."""
    from diffprivlib.mechanisms import Snapping

    return Snapping(epsilon=1, sensitivity=1, lower=0, upper=8).randomise(float(min(len(data), 8)))


def diffprivlib_staircase(data: Any) -> Any:
    """A count with staircase noise."""
    from diffprivlib.mechanisms import Staircase

    return Staircase(epsilon=1, sensitivity=1).randomise(float(len(data)))


def diffprivlib_exponential(data: Any) -> Any:
    """The place of the largest of some counts, by the exponential mechanism."""
    from diffprivlib.mechanisms import Exponential

    return Exponential(epsilon=1, sensitivity=1, utility=[float(each) for each in data]).randomise()


def diffprivlib_permute_and_flip(data: Any) -> Any:
    """The place of the largest of some counts, by permute and flip."""
    from diffprivlib.mechanisms import PermuteAndFlip

    return PermuteAndFlip(epsilon=1, sensitivity=1, utility=[float(each) for each in data]).randomise()


def diffprivlib_binary(data: Any) -> Any:
    """Randomised response to whether there is a record."""
    from diffprivlib.mechanisms import Binary

    return Binary(epsilon=1, value0="no", value1="yes").randomise("yes" if len(data) else "no")


def diffprivlib_gauss(data: Any) -> Any:
    """A count with Gauss's noise on integers."""
    from diffprivlib.mechanisms import GaussianDiscrete

    return _kept(GaussianDiscrete).randomise(len(data))


@cache
def _kept(kind: Any) -> Any:
    """A mechanism whose scale takes long to find."""
    return kind(epsilon=1, delta=0.05, sensitivity=1)


def diffprivlib_sum_of_integers(data: Any) -> Any:
    """The sum of integers between bounds."""
    from diffprivlib.tools import sum as total

    found = np.clip(np.nan_to_num(np.asarray(data)), 0, 1).round().astype(int)
    return int(total(found, epsilon=1, bounds=(0, 1)))


def diffprivlib_line(data: Any) -> Any:
    """The slope of a line without an intercept."""
    from diffprivlib.models import LinearRegression

    x = np.clip(np.nan_to_num(np.asarray(data["score"], dtype=float)), 0, 1)
    y = np.clip(np.nan_to_num(np.asarray(data["label"], dtype=float)), 0, 1)
    model = LinearRegression(epsilon=1, bounds_X=(0, 1), bounds_y=(0, 1), fit_intercept=False)
    return float(model.fit(x[:, None], y).coef_[0])


# PipelineDP


def _aggregated(rows: Any, delta: float = 0, **asked: Any) -> Any:
    """Publication by PipelineDP of rows (person, group, value), for epsilon 1."""
    import pipeline_dp

    budget = pipeline_dp.NaiveBudgetAccountant(total_epsilon=1, total_delta=delta)
    engine = pipeline_dp.DPEngine(budget, pipeline_dp.LocalBackend())
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1],
        value_extractor=lambda row: row[2],
    )  # fmt: skip
    rows = iter(rows)  # a list that is empty is refused
    if "metrics" in asked:
        params = pipeline_dp.AggregateParams(**{"max_contributions_per_partition": 1} | asked)
        found = engine.aggregate(rows, params, extractors, public_partitions=[0])
    else:
        found = engine.select_partitions(rows, pipeline_dp.SelectPartitionsParams(**asked), extractors)
    budget.compute_budgets()
    return list(found)


def pipelinedp_count(data: Any) -> Any:
    """A count in one public group."""
    from pipeline_dp import Metrics

    rows = [(number, 0, 0) for number in range(len(data))]
    return [told.count for _, told in _aggregated(rows, metrics=[Metrics.COUNT], max_partitions_contributed=1)]


def pipelinedp_gauss(data: Any) -> Any:
    """A count in one public group, with Gauss's noise."""
    from pipeline_dp import Metrics, NoiseKind

    rows = [(number, 0, 0) for number in range(len(data))]
    asked = {"metrics": [Metrics.COUNT], "max_partitions_contributed": 1, "noise_kind": NoiseKind.GAUSSIAN}
    return [told.count for _, told in _aggregated(rows, 0.05, **asked)]


def pipelinedp_people(data: Any) -> Any:
    """The number of people of one public group, some of whom have several records."""
    from pipeline_dp import Metrics

    rows = [(str(unit), 0, 0) for unit in data["unit"]]
    asked = {"metrics": [Metrics.PRIVACY_ID_COUNT], "max_partitions_contributed": 1}
    return [told.privacy_id_count for _, told in _aggregated(rows, **asked)]


def pipelinedp_sum(data: Any) -> Any:
    """The sum of values between bounds in one public group, of people of whom two records are used."""
    from pipeline_dp import Metrics

    rows = [(str(unit), 0, float(value)) for unit, value in zip(data["unit"], data["value"], strict=True)]
    asked = {"metrics": [Metrics.SUM], "max_partitions_contributed": 1, "max_contributions_per_partition": 2}
    return [told.sum for _, told in _aggregated(rows, min_value=0, max_value=4, **asked)]


def pipelinedp_mean(data: Any) -> Any:
    """The count and the mean of values between bounds in one public group."""
    from pipeline_dp import Metrics

    rows = [(number, 0, value) for number, value in enumerate(np.nan_to_num(data).tolist())]
    asked = {"metrics": [Metrics.COUNT, Metrics.MEAN], "max_partitions_contributed": 1}
    return [(told.count, told.mean) for _, told in _aggregated(rows, min_value=0, max_value=1, **asked)]


def pipelinedp_groups(data: Any) -> Any:
    """The names of those groups that are chosen."""
    rows = [(number, str(name), 0) for number, name in enumerate(data)]
    return sorted(_aggregated(rows, 0.05, max_partitions_contributed=1))


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


COUNTED, SEVERAL = "values:0:1:4", "units:0:4:4:2"
PEERS = (
    Peer("opendp", "opendp_count", COUNTED, "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_count_of_doubles", COUNTED, "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_sum_of_doubles", COUNTED, "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_gauss", COUNTED, "add-remove", "rho 0.5"),
    Peer("opendp", "opendp_response", COUNTED, "add-remove", "epsilon 1"),
    Peer("opendp", "opendp_noisy_max", "answers:2", "replace-one", "rho 0.5", "opendp/opendp#2911"),
    Peer("opendp", "opendp_threshold", "categories:a,b", "add-remove", "epsilon 1, delta 0.099", "opendp/opendp#2922"),
    Peer("opendp", "opendp_merged_groups", f"units:0:{GROUPS}:{GROUPS}:{GROUPS}", "add-remove", "rho 0.0556",
         "opendp/opendp#2949"),
    Peer("opendp", "opendp_codes_of_cells", "values:0:1:2", "add-remove", "epsilon 1", "opendp/opendp#2944"),
    Peer("diffprivlib", "diffprivlib_count", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_count_of_doubles", COUNTED, "add-remove", "epsilon 1", f"{IBM}#94"),
    Peer("diffprivlib", "diffprivlib_truncated", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_folded", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_snapping", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_staircase", COUNTED, "add-remove", "epsilon 1", f"{IBM}#94"),
    Peer("diffprivlib", "diffprivlib_exponential", "answers:3", "replace-one", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_permute_and_flip", "answers:3", "replace-one", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_binary", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_gauss", COUNTED, "add-remove", "epsilon 1, delta 0.05"),
    Peer("diffprivlib", "diffprivlib_histogram", COUNTED, "add-remove", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_sum_of_integers", COUNTED, "replace-one", "epsilon 1"),
    Peer("diffprivlib", "diffprivlib_mean", COUNTED, "replace-one", "epsilon 1", f"{IBM}#80"),
    Peer("diffprivlib", "diffprivlib_median", COUNTED, "replace-one", "epsilon 1", f"{IBM}#94"),
    Peer("diffprivlib", "diffprivlib_line", "scores:0:1:4", "replace-one", "epsilon 1", f"{IBM}#105"),
    Peer("pipeline-dp", "pipelinedp_count", COUNTED, "add-remove", "epsilon 1"),
    Peer("pipeline-dp", "pipelinedp_gauss", COUNTED, "add-remove", "epsilon 1, delta 0.05"),
    Peer("pipeline-dp", "pipelinedp_people", SEVERAL, "add-remove", "epsilon 1"),
    Peer("pipeline-dp", "pipelinedp_sum", SEVERAL, "add-remove", "epsilon 1"),
    Peer("pipeline-dp", "pipelinedp_mean", COUNTED, "add-remove", "epsilon 1"),
    Peer("pipeline-dp", "pipelinedp_groups", "categories:a,b", "add-remove", "epsilon 1, delta 0.05"),
    Peer("duckdb", "duckdb_count", COUNTED, "add-remove", "epsilon 1"),
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
    if peer.family.startswith("scores"):
        return {"label": np.array([1.0]), "score": np.array([0.5])}
    return np.array(["a"]) if peer.family.startswith("categories") else np.array([0.5, 0.5])


def command_of(peer: Peer, effort: list[str], file: Path) -> list[str]:
    """The command that audits a release."""
    said = [word for part in peer.claim.split(", ") for word in (f"--{part.split()[0]}", part.split()[1])]
    program = Path(sys.executable).with_name("dpcurves")
    return [
        str(program), "audit", "package", f"{Path(__file__).stem}:{peer.function}", "--family", peer.family,
        "--adjacency", peer.adjacency, *said, *effort, "--json", str(file),
    ]  # fmt: skip


class Seen(NamedTuple):
    """Verdict of an audit of a release.

    Attributes:
        function: The release.
        told: Versions of its package and of Python.
        report: Its report, as JSON has it.
        words: The verdict, and what comes with it.
        command: The command, as it is typed.
    """

    function: str
    told: str
    report: dict[str, Any]
    words: str
    command: str

    @property
    def peer(self) -> Peer:
        """Sentence on the release."""
        return next(each for each in PEERS if each.function == self.function)

    @property
    def flagged(self) -> bool:
        """Tell whether it was flagged."""
        return self.words.startswith("Flagged")


def report_on(seen: Seen, level: str = "#") -> str:
    """A report that can be sent: what is claimed, what was seen, on which tables, and how to see it again."""
    peer, found = seen.peer, seen.report
    address = f"https://github.com/{peer.public.replace('#', '/issues/')}"
    public = f" Public as [{peer.public}]({address})." if peer.public else ""
    code = "\n\n\n".join(getsource(each).strip() for each in (*_helpers(peer), globals()[peer.function]))
    hits, samples, again = (
        found["hits"],
        found["samples"],
        f"once more, on other outcomes: {found['second_lower_bound'] or 0:.4g}",
    )
    sides = (found["likelier_side"], "left" if found["likelier_side"] == "right" else "right")
    event = "; ".join(f"{hits[i]:,} of {samples[i]:,} outcomes on the {sides[i]} one" for i in (0, 1))
    return f"""{level} `{peer.function}`: more than {peer.claim} under {peer.adjacency}

{seen.told}.{public}

| field | value |
|---|---|
| release | {_words(peer)} |
| claim | {peer.claim}, neighbours being {peer.adjacency} |
| pair | {found["pair"]} |
| event | {found["event"]} |
| fresh outcomes | {event} |
| lower bound | {found["parameter"]} {found["lower_bound"]:.4g} at confidence {found["confidence"]:g}; {again} |
| outcomes in all | {found["calls"]:,} |

```py
{code}
```

To see it again, beside that function in `benchmarks/{Path(__file__).name}`:

```console
{seen.command}
```
"""


def _helpers(peer: Peer) -> list[Any]:
    """Functions of this file that a release calls, but for those that open a package."""
    names = globals()[peer.function].__code__.co_names
    inner = [globals()[name] for name in names if name.startswith("_") and name in globals()]
    return [getattr(each, "__wrapped__", each) for each in inner]


def _words(peer: Peer) -> str:
    return " ".join(str(globals()[peer.function].__doc__).split()).rstrip(".")


def audited(peers: Sequence[Peer], effort: list[str], kept: Path | None = None) -> list[Seen]:
    """Print the verdict on each release, and keep it in a file; those that are in it are not asked for again."""
    lines = kept.read_text("utf-8").splitlines() if kept is not None and kept.exists() else []
    found = {each.function: each for each in (Seen(**json.loads(line)) for line in lines)}
    for peer in peers:
        missing = "" if peer.function in found else unavailable(peer)
        if missing:
            print(f"{peer.function:<30}skipped: {missing}", flush=True)
            continue
        if peer.function not in found:
            found[peer.function] = _seen(peer, effort)
            if kept is not None:
                rows = "".join(json.dumps(each._asdict()) + "\n" for each in found.values())
                kept.write_text(rows, encoding="utf-8")
        seen = found[peer.function]
        print(
            f"{peer.function:<30}{seen.told:<42}{peer.claim:<24}{seen.words.splitlines()[0]} {peer.public}", flush=True
        )
    return [found[peer.function] for peer in PEERS if peer.function in found]


def _seen(peer: Peer, effort: list[str]) -> Seen:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        typed = command_of(peer, effort, file)
        done = subprocess.run(typed, cwd=HERE, capture_output=True, text=True, check=False)
        report = json.loads(file.read_text("utf-8")) if file.exists() else {}
    told = f"{peer.package} {version(peer.package)}, Python {sys.version.split()[0]}"
    words = done.stdout.strip() or done.stderr.strip() or f"status {done.returncode}"
    return Seen(peer.function, told, report, words, shlex.join(["dpcurves", *typed[1:-2]]))


def written(seen: Sequence[Seen]) -> None:
    """Write verdicts and public reports into the parts of the page that are about their packages."""
    text = PAGE.read_text("utf-8")
    for package in dict.fromkeys(each.peer.package for each in seen):
        begin, end = f"<!-- {package}: made by benchmarks/{Path(__file__).name} -->\n", f"<!-- end of {package} -->"
        before, _, rest = text.partition(begin)
        text = before + begin + _part([each for each in seen if each.peer.package == package]) + end
        text += rest.partition(end)[2]
    PAGE.write_text(text, encoding="utf-8")


def _part(seen: Sequence[Seen]) -> str:
    versions = " and ".join(dict.fromkeys(each.told for each in seen))
    lines = [
        f"{versions}. *Would be seen*: how much too little noise a count could have had without being found.", "",
        "| release | claim | neighbours | verdict | would be seen | outcomes |", "|---|---|---|---|---:|---:|",
    ]  # fmt: skip
    for each in seen:
        peer, found = each.peer, each.report
        lower = f"{found['parameter']} at least {found['lower_bound']:.3g}"
        verdict = f"not flagged: {lower}"
        if each.flagged:
            verdict = (
                f"**flagged**: {lower} ({peer.public})" if peer.public else "**flagged**: its report is theirs first"
            )
        visible = (
            "" if found["detectable_deficit"] is None or each.flagged else f"{100 * found['detectable_deficit']:.0f} %"
        )
        row = _words(peer), peer.claim, peer.adjacency, verdict, visible, f"{found['calls']:,}"
        lines.append(f"| {' | '.join(row)} |")
    public = [report_on(each, "###") for each in seen if each.flagged and each.peer.public]
    return "\n".join([*lines, "", *public])


def main() -> None:
    """Print the verdict on each release that is chosen."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=300, help="seconds for each release, at most")
    parser.add_argument("--samples", type=int, default=5000, help="outcomes of each data set, at most")
    parser.add_argument("--only", choices=[peer.function for peer in PEERS], nargs="*", help="some releases")
    parser.add_argument("--resume", type=Path, help="a file that keeps verdicts, which are not asked for again")
    parser.add_argument("--reports", type=Path, help="a folder for reports on what was flagged")
    parser.add_argument("--write", action="store_true", help="write what was seen into the page")
    given = parser.parse_args()
    chosen = [peer for peer in PEERS if not given.only or peer.function in given.only]
    effort = ["--seconds", str(given.seconds), "--samples", str(given.samples)]
    seen = [each for each in audited(chosen, effort, given.resume) if each.report]
    if given.reports is not None:
        given.reports.mkdir(exist_ok=True)
        for each in seen:
            if each.flagged:
                (given.reports / f"{each.function}.md").write_text(report_on(each), encoding="utf-8")
    if given.write:
        written(seen)


if __name__ == "__main__":
    main()
