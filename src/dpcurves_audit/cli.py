"""Commands of privacy audits: of a question of this package, of any command or Python callable, or of all it offers."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit

from dpcurves.cli import options as of
from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.status import FLAGGED
from dpcurves.cli.terminal import (
    Misuse,
    make_console,
    print_to_console,
    show_progress_bar,
    show_spinner,
    translate_argument_errors,
)

if TYPE_CHECKING:
    from dpcurves.privacy import Neighbours

    from .deployments import AuditTarget
    from .family import NeighbouringDatasets
    from .report import Finding, Report
    from .samplers import Sampler

QUESTIONS = (
    "cdf", "quantiles", "histogram", "count", "sum", "mean", "variance", "summary", "bounds", "survival", "scores",
    "roc", "calibration", "hosmer-lemeshow",
)  # fmt: skip
SURE = "0.999"


@dataclass(frozen=True)
class ClaimOptions:
    """Options for the loss that a release is said to have."""

    epsilon: str | None = of.optional("E", "The privacy loss epsilon that it is said to have at most.")
    rho: str | None = of.optional("R", "The zero-concentrated privacy loss rho, instead of --epsilon.")
    delta: str | None = of.optional("D", "A delta beside --epsilon.")

    def parse_claim(self) -> dict[str, Any]:
        """The loss, as an audit takes it."""
        if (self.epsilon is None) == (self.rho is None):
            raise Misuse("epsilon", "say with --epsilon or --rho which privacy loss it is said to have")
        if self.rho is not None:
            return {"rho": of.check_positive_number("rho", self.rho)}
        found: dict[str, Any] = {"epsilon": of.check_positive_number("epsilon", str(self.epsilon))}
        return found if self.delta is None else found | {"delta": of.parse_probability("delta", self.delta)}


@dataclass(frozen=True)
class AuditOptions:
    """Options for the time, the confidence, and where the report goes."""

    seconds: str = of.option("S", "How long to search; what is flagged ends it earlier.", "60")
    samples: str | None = of.optional("N", "Outcomes of each data set that are looked at, at most.")
    confidence: str = of.option("P", "The confidence of the bound.", "0.95")
    json: str | None = of.optional("FILE", "Write the report as JSON to this file.")
    html: str | None = of.optional("FILE", "Write the report as one page to this file.")
    resume: str | None = of.optional("FILE", "Keep what was done in this file, and go on from it if it is there.")
    learn: bool = of.flag("--learn", "Fit boosted trees to outcomes, too, if scikit-learn is installed (extra audit).")

    def run_audit(
        self, sampler: Sampler, family: NeighbouringDatasets, claim: dict[str, Any], typed: Sequence[str]
    ) -> Report:
        """Audit, write the reports, say the verdict, and leave with its status if it is flagged."""
        from dataclasses import replace

        from .auditing import audit

        samples = None if self.samples is None else of.parse_integer("samples", self.samples, least=20)
        seconds, sure = (
            of.parse_positive_number("seconds", self.seconds),
            of.parse_probability("confidence", self.confidence),
        )
        with show_spinner("attacking it"), translate_argument_errors("resume", "file"):
            report = audit(
                sampler, family, seconds=seconds, samples=samples, confidence=sure, learn=self.learn, confirm_twice=True,
                file=self.resume, **claim,
            )  # fmt: skip
        typed = [*typed, "--learn"] if self.learn else typed
        report = replace(report, command=" ".join(["dpcurves audit", *map(shlex.quote, typed)]))
        self.write_report(report)
        if report.is_flagged:
            raise Exit(FLAGGED)
        return report

    def write_report(self, report: Report) -> None:
        """Write the report to its files, and say it."""
        for name, file, write in (("json", self.json, report.to_json), ("html", self.html, report.to_html)):
            if file is not None:
                try:
                    write(file)
                except OSError as error:
                    raise Misuse(name, f"it can not be written ({error.strerror})") from None
        print_to_console(make_console(), *str(report).splitlines())


@dataclass(frozen=True)
class NeighbourOptions:
    """Options for a family of neighbours."""

    family: str = of.option(
        "KIND:...",
        "values:L:U:N (numbers at the edges of N cells), scores:L:U:N (label and score), units:L:U:N:K (value and "
        "unit, K records each), categories:A,B,C, answers:N (of counting queries), or streams:N (steps).",
    )
    adjacency: str = of.option(
        "KIND", "add-remove: neighbours have one unit more; replace-one: one unit is another one.", "add-remove"
    )

    def parse_family(self) -> NeighbouringDatasets:
        """The family."""
        return parse_family(self.family, parse_adjacency(self.adjacency))


def parse_adjacency(word: str | None) -> Neighbours:
    """The kind of adjacency."""
    from dpcurves.privacy import Neighbours

    if word is None:
        raise Misuse("adjacency", "give --adjacency replace-one or add-remove: which neighbours the claim is about")
    return of.parse_choice("adjacency", word, {kind.value: kind for kind in Neighbours})


def parse_family(text: str, neighbours: Neighbours) -> NeighbouringDatasets:
    """The family that an option names."""
    from . import family as families

    kind, _, rest = text.partition(":")
    parts = rest.split(":")
    if kind in ("values", "scores", "units"):
        cells = ":".join(parts[:3])
        with translate_argument_errors("family", "grid"):
            edges = [float(edge) for edge in of.parse_grid("family", cells).edges]
        if kind == "units":
            if len(parts) != 4:
                raise Misuse("family", "units:L:U:N:K is needed, as in units:0:1:8:2")
            return families.units(edges, of.parse_integer("family", parts[3]), adjacency=neighbours)
        return (families.values if kind == "values" else families.scores)(edges, adjacency=neighbours)
    if kind == "categories":
        return families.categories(rest.split(",") if rest else [], adjacency=neighbours)
    if kind == "answers":
        return families.answers(of.parse_integer("family", rest), adjacency=neighbours)
    if kind == "streams":
        return families.streams(of.parse_integer("family", rest), adjacency=neighbours)
    raise Misuse("family", f"values, scores, units, categories, answers or streams is needed first, got {text!r}")


@dataclass(frozen=True)
class CallOptions:
    """Options for calls of somebody else's release."""

    processes: str = of.option("N", "Processes that call it at the same time.", "1")
    patience: str = of.option("S", "Seconds after which a call is cut off, which is an outcome.", "10")


@dataclass(frozen=True)
class CommandArgument:
    """Argument for an external command that is audited."""

    command: str = of.argument("COMMAND", "It reads {data}, a CSV file, and writes JSON to {out} or prints it.")


@dataclass(frozen=True)
class FunctionArgument:
    """Argument for a function of a Python package that is audited."""

    function: str = of.argument("MODULE:FUNCTION", "It takes data, and gives what it releases; any structure.")


@dataclass(frozen=True)
class QuestionOptions:
    """Options for the cells of a question, and for its neighbours."""

    grid: str = of.option("L:U:N", "Public cells; pairs of neighbours lie at their edges.", "0:1:8")
    adjacency: str | None = of.optional("KIND", "replace-one or add-remove: which neighbours the claim is about.")
    sampler: str = of.option(
        "turns|face", "turns: all that is released, without a ledger; face: the JSON of the curve.", "turns"
    )


def audit_command(
    program: CommandArgument,
    neighbouring: NeighbourOptions,
    said: ClaimOptions,
    calls: CallOptions,
    effort: AuditOptions,
) -> None:
    """Audit any program: a CSV file in, JSON out; its exit status and messages are outcomes, too.

    Example: dpcurves audit command './release.sh {data} {out}' --family values:0:1:8 --epsilon 1
    """
    from .samplers import CommandSampler

    sampler = CommandSampler(
        program.command,
        of.parse_integer("processes", calls.processes),
        of.parse_positive_number("patience", calls.patience),
    )
    typed = ["command", program.command, "--family", neighbouring.family, *_format_claim(said, neighbouring.adjacency)]
    effort.run_audit(sampler, neighbouring.parse_family(), said.parse_claim(), typed)


def audit_package(
    function: FunctionArgument,
    neighbouring: NeighbourOptions,
    said: ClaimOptions,
    calls: CallOptions,
    effort: AuditOptions,
) -> None:
    """Audit any function of Python, which is called in new processes.

    Example: dpcurves audit package opendp_release:count --family values:0:1:8 --epsilon 1
    """
    from .auditing import check_forked_workers, check_new_processes
    from .samplers import CallableSampler, PackageSampler, import_function

    patience = of.parse_positive_number("patience", calls.patience)
    sampler = PackageSampler(function.function, of.parse_integer("processes", calls.processes), patience)
    typed = [
        "package",
        function.function,
        "--family",
        neighbouring.family,
        *_format_claim(said, neighbouring.adjacency),
    ]
    family = neighbouring.parse_family()
    try:
        report = effort.run_audit(sampler, family, said.parse_claim(), typed)
    finally:
        sampler.close()
    if report.is_silent:  # noise that nobody sees does not come again
        return
    shared = check_forked_workers(CallableSampler(import_function(function.function), patience), family.pairs[0])
    if shared is not None:
        print_to_console(make_console(), f"{shared.name}: {shared.message}")
    repeated = check_new_processes(function.function, family.pairs[0], timeout=patience)
    if repeated is not None:
        print_to_console(make_console(), f"Flagged: {repeated.message}")
        raise Exit(FLAGGED)


def _format_claim(said: ClaimOptions, adjacency: str) -> list[str]:
    claim = [word for name, value in said.parse_claim().items() for word in (f"--{name}", str(value))]
    return [*claim, "--adjacency", adjacency]


def _make_question_command(name: str) -> of.Command:
    def audit_question(cells: QuestionOptions, said: ClaimOptions, effort: AuditOptions) -> None:
        from dpcurves.privacy import PrivacyLoss

        from .targets import PublicFunctionSampler, RoundsSampler, find_question

        if cells.grid is None:
            raise Misuse("grid", of.NO_GRID)
        neighbours, grid = parse_adjacency(cells.adjacency), of.parse_grid("grid", cells.grid)
        samplers = {"turns": RoundsSampler, "face": PublicFunctionSampler}
        made, claim = find_question(name), said.parse_claim()
        loss = PrivacyLoss.zcdp(claim["rho"]) if "rho" in claim else PrivacyLoss.pure(claim["epsilon"])
        sampler = of.parse_choice("sampler", cells.sampler, samplers)(
            f"{cells.sampler} of {name}", made.question(grid), loss, neighbours
        )
        family = made.family([float(edge) for edge in grid.edges], adjacency=neighbours)
        typed = [name, "--grid", cells.grid, *_format_claim(said, neighbours.value), "--sampler", cells.sampler]
        effort.run_audit(sampler, family, claim, typed)

    audit_question.__name__ = name
    audit_question.__doc__ = f"""Audit `dpcurves {name}` on tiny tables, from outside.

    Example: dpcurves audit {name} --grid 0:1:8 --epsilon 1 --adjacency replace-one
    """
    return audit_question


@dataclass(frozen=True)
class EverythingOptions:
    """Options for an audit of everything."""

    quick: bool = of.flag("--quick", "In a minute of a processor: fewer samples, few pairs, and few faces.")
    only: str | None = of.optional("A,B,...", "Only what has one of these words in its name, or such a sampler.")
    effort: str = of.option("TIMES", "So many times the usual seconds and outcomes of each release.", "1")
    confidence: str = of.option("P", "The confidence of each bound; what is flagged was above its claim twice.", SURE)
    json: str | None = of.optional("FILE", "Write all reports as JSON to this file.")
    resume: str | None = of.optional("FILE", "Keep each report in this file, and look at what is not in it yet.")


def audit_everything(whole_of: EverythingOptions) -> None:
    """Audit all mechanisms, questions, faces and ledgers of this version, each through its cheapest sampler first.

    What is flagged was above its claim twice, on two sets of fresh samples: by chance once in a million at 0.999.

    Example: dpcurves audit self --quick
    """
    from .targets import run_target_checks

    sure, effort = (
        of.parse_probability("confidence", whole_of.confidence),
        of.parse_positive_number("effort", whole_of.effort),
    )
    found, console, reports = _select_targets(whole_of), make_console(), []
    kept = StoredReports.from_file(whole_of.resume)
    with show_progress_bar("attacking everything", len(found)) as fill:
        for place, each in enumerate(found, start=1):
            report = kept.load_or_audit(each, sure, effort, quick=whole_of.quick)
            reports.append((each, report))
            seen = (
                "nothing"
                if report.detectable_deficit is None
                else f"{100 * report.detectable_deficit:.0f} % too little noise"
            )
            word = "FLAGGED" if report.is_flagged else "NO ANSWER" if report.is_silent else "not flagged"
            print_to_console(
                console,
                f"{each.kind:<10}{each.name:<48}{word:<13}{report.parameter} at least {report.lower_bound:.3f} of "
                f"{report.claimed_loss:g}; {report.calls:,} calls, {report.seconds:.1f} s; would see {seen}",
            )
            fill(place)
    if whole_of.json is not None:
        told = [{"name": each.name, "sampler": each.kind, **report.to_dict()} for each, report in reports]
        Path(whole_of.json).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    flagged = [each.name for each, report in reports if report.is_flagged]
    if whole_of.only is None:
        for name, findings in run_target_checks(quick=whole_of.quick):
            flagged += [name for finding in findings if finding.is_flagged]
            print_to_console(
                console, f"{'beside':<10}{name:<48}{'; '.join(map(_describe_finding, findings)) or 'no finding'}"
            )
    silent = [each.name for each, report in reports if report.is_silent]
    print_to_console(
        console,
        f"{len(reports)} releases, {len(flagged)} flagged, {len(silent)} without an answer. Not flagged is no proof.",
        *flagged,
        *silent,
    )
    if flagged or silent:
        raise Exit(FLAGGED)


class StoredReports:
    """Reports of an audit of everything, a line of JSON each in a file, if there is one.

    Attributes:
        file: The file.
        reports: Those that are in it, by what was audited and how.
    """

    def __init__(self, file: Path | None, reports: dict[str, Report]) -> None:
        self.file, self.reports = file, reports

    @classmethod
    def from_file(cls, name: str | None) -> StoredReports:
        """The reports in a file. A last line that was cut off is taken away, and audited again."""
        from .report import Report

        found: dict[str, Report] = {}
        file = None if name is None else Path(name)
        if file is not None and file.exists():
            text, mark, cut = file.read_text(encoding="utf-8").rpartition("\n")
            try:
                for kept in map(json.loads, text.splitlines()):
                    found[kept["of"]] = Report.from_dict(kept["report"])
            except (ValueError, KeyError, TypeError, AttributeError):
                raise Misuse("resume", "no audit of everything is kept in it") from None
            if cut:
                file.write_text(text + mark, encoding="utf-8")
        return cls(file, found)

    def load_or_audit(self, target: AuditTarget, confidence: float, effort: float, *, quick: bool) -> Report:
        """The report that is kept, or that of an audit now, which is kept then."""
        key = f"{target.kind}: {target.name}; {confidence:g}, {effort:g}{', quick' * quick}"
        if key not in self.reports:
            self.reports[key] = found = audit_target(target, confidence, effort, quick=quick)
            if self.file is not None:
                with translate_argument_errors("resume", "file"), self.file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"of": key, "report": found.to_dict()}) + "\n")
        return self.reports[key]


def _describe_finding(finding: Finding) -> str:
    return f"{'FLAGGED ' if finding.is_flagged else ''}{finding.name}: {finding.message}"


def _select_targets(whole_of: EverythingOptions) -> list[AuditTarget]:
    from .targets import list_targets

    words = [""] if whole_of.only is None else whole_of.only.split(",")
    return [
        each
        for each in list_targets()
        if (_is_in_quick_audit(each) or not whole_of.quick)
        and any(word in each.name or word == each.kind for word in words)
    ]


SAMPLES = MappingProxyType({"noise": 100_000, "mechanism": 5_000, "turns": 2_000, "face": 200, "ledger": 100})
"""Samples of each data set of a release, by its sampler; a quick audit takes a part of them, and few pairs."""
SECONDS = MappingProxyType({"noise": 3.0, "mechanism": 5.0, "turns": 7.0, "face": 15.0, "ledger": 10.0})
"""Seconds of the processor at most: what is seen does not hang on what else the machine does."""
QUICK_SECONDS = MappingProxyType({"noise": 0.22, "mechanism": 0.33, "turns": 0.45, "face": 0.6, "ledger": 0.6})
QUICK_QUESTIONS = (
    "cdf", "quantiles", "count", "bounds", "roc", "calibration", "verification", "weighted mean", "found groups",
    "curve of any range", "learned scorer", "competing risks",
)  # fmt: skip
QUICK_FACES = (
    "cdf: add-remove", "histogram of units", "histogram of units without a bound: add-remove",
    "weighted curve: replace-one", "found groups: add-remove", "federation of sites, histogram",
    "followed stream of totals", "report with public coins, handed in: epsilon 1", "verification server, histogram",
)  # fmt: skip
QUICK_PAIRS = 3


def audit_target(target: AuditTarget, confidence: float, effort: float, *, quick: bool) -> Report:
    """The report on one release of this package."""
    from .bound import Claim
    from .search import Search, read_processor_clock

    family, limits = (target.family.take_first(QUICK_PAIRS), QUICK_SECONDS) if quick else (target.family, SECONDS)
    claim = Claim.from_parameters(
        target.loss.epsilon, float(target.loss.delta), None if target.loss.epsilon is not None else target.loss.rho
    )
    most = int(SAMPLES[target.kind] * effort * (1 if quick else 10))
    search = Search(target.sampler, family, claim, confidence, most, confirm_twice=True, clock=read_processor_clock)
    return search.run(limits[target.kind] * effort)


def _is_in_quick_audit(target: AuditTarget) -> bool:
    """Tell whether a quick audit looks at it: all noise and ledgers, half of the mechanisms, some questions and faces.

    Mechanisms are looked at with pure losses of records that come or go, or with a rho of records that are replaced.
    """
    pure = target.loss.epsilon is not None
    if target.kind in ("noise", "ledger"):
        return True
    if target.kind == "mechanism":
        return pure is not ("replace-one" in target.name)
    if target.kind == "face":
        return target.name in QUICK_FACES
    asked = target.name.partition(":")[0]
    return pure and (
        asked.startswith(("pairs", "two servers")) or ("add-remove" in target.name and asked in QUICK_QUESTIONS)
    )


COMMANDS: MappingProxyType[str, of.Command] = MappingProxyType({
    "command": audit_command, "package": audit_package, "self": audit_everything, **{name: _make_question_command(name) for name in QUESTIONS},
})  # fmt: skip

PROVIDED = PackageCommands(
    groups={"audit": Group("Releases attacked from outside: a lower bound on what they really lose.", COMMANDS)}
)
