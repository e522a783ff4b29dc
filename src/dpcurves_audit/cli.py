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
from dpcurves.cli.app import Group, Provided
from dpcurves.cli.status import FLAGGED
from dpcurves.cli.terminal import Misuse, filling, named, say, terminal, waiting

if TYPE_CHECKING:
    from dpcurves.privacy import Neighbours

    from .deployments import Audited
    from .family import Family
    from .report import Finding, Report
    from .samplers import Sampler

QUESTIONS = (
    "cdf", "quantiles", "histogram", "count", "sum", "mean", "variance", "summary", "bounds", "survival", "scores",
    "roc", "calibration", "hosmer-lemeshow",
)  # fmt: skip
SURE = "0.999"


@dataclass(frozen=True)
class Said:
    """Options for the loss that a release is said to have."""

    epsilon: str | None = of.perhaps("E", "The privacy loss epsilon that it is said to have at most.")
    rho: str | None = of.perhaps("R", "The zero-concentrated privacy loss rho, instead of --epsilon.")
    delta: str | None = of.perhaps("D", "A delta beside --epsilon.")

    def claim(self) -> dict[str, Any]:
        """The loss, as an audit takes it."""
        if (self.epsilon is None) == (self.rho is None):
            raise Misuse("epsilon", "say with --epsilon or --rho which privacy loss it is said to have")
        if self.rho is not None:
            return {"rho": of.amount("rho", self.rho)}
        found: dict[str, Any] = {"epsilon": of.amount("epsilon", str(self.epsilon))}
        return found if self.delta is None else found | {"delta": of.chance("delta", self.delta)}


@dataclass(frozen=True)
class Effort:
    """Options for the time, the confidence, and where the report goes."""

    seconds: str = of.option("S", "How long to search; what is flagged ends it earlier.", "60")
    samples: str | None = of.perhaps("N", "Outcomes of each data set that are looked at, at most.")
    confidence: str = of.option("P", "The confidence of the bound.", "0.95")
    json: str | None = of.perhaps("FILE", "Write the report as JSON to this file.")
    html: str | None = of.perhaps("FILE", "Write the report as one page to this file.")
    resume: str | None = of.perhaps("FILE", "Keep what was done in this file, and go on from it if it is there.")
    learn: bool = of.flag("--learn", "Fit boosted trees to outcomes, too, if scikit-learn is installed (extra audit).")

    def run(self, sampler: Sampler, family: Family, claim: dict[str, Any], typed: Sequence[str]) -> Report:
        """Audit, write the reports, say the verdict, and leave with its status if it is flagged."""
        from dataclasses import replace

        from .auditing import audit

        samples = None if self.samples is None else of.whole("samples", self.samples, least=20)
        seconds, sure = of.size("seconds", self.seconds), of.chance("confidence", self.confidence)
        with waiting("attacking it"), named("resume", "file"):
            report = audit(
                sampler, family, seconds=seconds, samples=samples, confidence=sure, learn=self.learn, again=True,
                file=self.resume, **claim,
            )  # fmt: skip
        typed = [*typed, "--learn"] if self.learn else typed
        report = replace(report, command=" ".join(["dpcurves audit", *map(shlex.quote, typed)]))
        self.deliver(report)
        if report.flagged:
            raise Exit(FLAGGED)
        return report

    def deliver(self, report: Report) -> None:
        """Write the report to its files, and say it."""
        for name, file, write in (("json", self.json, report.to_json), ("html", self.html, report.to_html)):
            if file is not None:
                try:
                    write(file)
                except OSError as error:
                    raise Misuse(name, f"it can not be written ({error.strerror})") from None
        say(terminal(), *str(report).splitlines())


@dataclass(frozen=True)
class Neighbouring:
    """Options for a family of neighbours."""

    family: str = of.option(
        "KIND:...",
        "values:L:U:N (numbers at the edges of N cells), scores:L:U:N (label and score), units:L:U:N:K (value and "
        "unit, K records each), categories:A,B,C, answers:N (of counting queries), or streams:N (steps).",
    )
    adjacency: str = of.option(
        "KIND", "add-remove: neighbours have one unit more; replace-one: one unit is another one.", "add-remove"
    )

    def made(self) -> Family:
        """The family."""
        return family_of(self.family, neighbours_of(self.adjacency))


def neighbours_of(word: str | None) -> Neighbours:
    """The kind of adjacency."""
    from dpcurves.privacy import Neighbours

    if word is None:
        raise Misuse("adjacency", "give --adjacency replace-one or add-remove: which neighbours the claim is about")
    return of.chosen("adjacency", word, {kind.value: kind for kind in Neighbours})


def family_of(text: str, neighbours: Neighbours) -> Family:
    """The family that an option names."""
    from . import family as families

    kind, _, rest = text.partition(":")
    parts = rest.split(":")
    if kind in ("values", "scores", "units"):
        cells = ":".join(parts[:3])
        with named("family", "grid"):
            edges = [float(edge) for edge in of.grid_of("family", cells).edges]
        if kind == "units":
            if len(parts) != 4:
                raise Misuse("family", "units:L:U:N:K is needed, as in units:0:1:8:2")
            return families.units(edges, of.whole("family", parts[3]), adjacency=neighbours)
        return (families.values if kind == "values" else families.scores)(edges, adjacency=neighbours)
    if kind == "categories":
        return families.categories(rest.split(",") if rest else [], adjacency=neighbours)
    if kind == "answers":
        return families.answers(of.whole("family", rest), adjacency=neighbours)
    if kind == "streams":
        return families.streams(of.whole("family", rest), adjacency=neighbours)
    raise Misuse("family", f"values, scores, units, categories, answers or streams is needed first, got {text!r}")


@dataclass(frozen=True)
class Calls:
    """Options for calls of somebody else's release."""

    processes: str = of.option("N", "Processes that call it at the same time.", "1")
    patience: str = of.option("S", "Seconds after which a call is cut off, which is an outcome.", "10")


@dataclass(frozen=True)
class Program:
    """Argument for an external command that is audited."""

    command: str = of.argument("COMMAND", "It reads {data}, a CSV file, and writes JSON to {out} or prints it.")


@dataclass(frozen=True)
class Function:
    """Argument for a function of a Python package that is audited."""

    function: str = of.argument("MODULE:FUNCTION", "It takes data, and gives what it releases; any structure.")


@dataclass(frozen=True)
class Cells:
    """Options for the cells of a question, and for its neighbours."""

    grid: str = of.option("L:U:N", "Public cells; pairs of neighbours lie at their edges.", "0:1:8")
    adjacency: str | None = of.perhaps("KIND", "replace-one or add-remove: which neighbours the claim is about.")
    sampler: str = of.option(
        "turns|face", "turns: all that is released, without a ledger; face: the JSON of the curve.", "turns"
    )


def command(program: Program, neighbouring: Neighbouring, said: Said, calls: Calls, effort: Effort) -> None:
    """Audit any program: a CSV file in, JSON out; its exit status and messages are outcomes, too.

    Example: dpcurves audit command './release.sh {data} {out}' --family values:0:1:8 --epsilon 1
    """
    from .samplers import CommandSampler

    sampler = CommandSampler(
        program.command, of.whole("processes", calls.processes), of.size("patience", calls.patience)
    )
    typed = ["command", program.command, "--family", neighbouring.family, *_claimed(said, neighbouring.adjacency)]
    effort.run(sampler, neighbouring.made(), said.claim(), typed)


def package(function: Function, neighbouring: Neighbouring, said: Said, calls: Calls, effort: Effort) -> None:
    """Audit any function of Python, which is called in new processes.

    Example: dpcurves audit package opendp_release:count --family values:0:1:8 --epsilon 1
    """
    from .auditing import forked, new_processes
    from .samplers import OneSampler, PackageSampler, function_of

    patience = of.size("patience", calls.patience)
    sampler = PackageSampler(function.function, of.whole("processes", calls.processes), patience)
    typed = ["package", function.function, "--family", neighbouring.family, *_claimed(said, neighbouring.adjacency)]
    family = neighbouring.made()
    try:
        report = effort.run(sampler, family, said.claim(), typed)
    finally:
        sampler.close()
    if report.is_silent:  # noise that nobody sees does not come again
        return
    shared = forked(OneSampler(function_of(function.function), patience), family.pairs[0])
    if shared is not None:
        say(terminal(), f"{shared.name}: {shared.words}")
    repeated = new_processes(function.function, family.pairs[0], patience=patience)
    if repeated is not None:
        say(terminal(), f"Flagged: {repeated.words}")
        raise Exit(FLAGGED)


def _claimed(said: Said, adjacency: str) -> list[str]:
    claim = [word for name, value in said.claim().items() for word in (f"--{name}", str(value))]
    return [*claim, "--adjacency", adjacency]


def _question(name: str) -> of.Command:
    def question(cells: Cells, said: Said, effort: Effort) -> None:
        from dpcurves.privacy import PrivacyLoss

        from .targets import PublicFunctionSampler, TurnsSampler, asked

        if cells.grid is None:
            raise Misuse("grid", of.NO_GRID)
        neighbours, grid = neighbours_of(cells.adjacency), of.grid_of("grid", cells.grid)
        samplers = {"turns": TurnsSampler, "face": PublicFunctionSampler}
        made, claim = asked(name), said.claim()
        loss = PrivacyLoss.zcdp(claim["rho"]) if "rho" in claim else PrivacyLoss.pure(claim["epsilon"])
        sampler = of.chosen("sampler", cells.sampler, samplers)(
            f"{cells.sampler} of {name}", made.question(grid), loss, neighbours
        )
        family = made.family([float(edge) for edge in grid.edges], adjacency=neighbours)
        typed = [name, "--grid", cells.grid, *_claimed(said, neighbours.value), "--sampler", cells.sampler]
        effort.run(sampler, family, claim, typed)

    question.__name__ = name
    question.__doc__ = f"""Audit `dpcurves {name}` on tiny tables, from outside.

    Example: dpcurves audit {name} --grid 0:1:8 --epsilon 1 --adjacency replace-one
    """
    return question


@dataclass(frozen=True)
class Whole:
    """Options for an audit of everything."""

    quick: bool = of.flag("--quick", "In a minute of a processor: fewer samples, few pairs, and few faces.")
    only: str | None = of.perhaps("A,B,...", "Only what has one of these words in its name, or such a sampler.")
    effort: str = of.option("TIMES", "So many times the usual seconds and outcomes of each release.", "1")
    confidence: str = of.option("P", "The confidence of each bound; what is flagged was above its claim twice.", SURE)
    json: str | None = of.perhaps("FILE", "Write all reports as JSON to this file.")
    resume: str | None = of.perhaps("FILE", "Keep each report in this file, and look at what is not in it yet.")


def itself(whole_of: Whole) -> None:
    """Audit all mechanisms, questions, faces and ledgers of this version, each through its cheapest sampler first.

    What is flagged was above its claim twice, on two sets of fresh samples: by chance once in a million at 0.999.

    Example: dpcurves audit self --quick
    """
    from .targets import beside_bounds

    sure, effort = of.chance("confidence", whole_of.confidence), of.size("effort", whole_of.effort)
    found, console, reports = _those_of(whole_of), terminal(), []
    kept = Kept.of(whole_of.resume)
    with filling("attacking everything", len(found)) as fill:
        for place, each in enumerate(found, start=1):
            report = kept.report(each, sure, effort, quick=whole_of.quick)
            reports.append((each, report))
            seen = "nothing" if report.visible is None else f"{100 * report.visible:.0f} % too little noise"
            word = "FLAGGED" if report.flagged else "NO ANSWER" if report.is_silent else "not flagged"
            say(
                console,
                f"{each.kind:<10}{each.name:<48}{word:<13}{report.word} at least {report.lower:.3f} of "
                f"{report.claimed:g}; {report.calls:,} calls, {report.seconds:.1f} s; would see {seen}",
            )
            fill(place)
    if whole_of.json is not None:
        told = [{"name": each.name, "sampler": each.kind, **report.to_dict()} for each, report in reports]
        Path(whole_of.json).write_text(json.dumps(told, indent=1) + "\n", encoding="utf-8")
    flagged = [each.name for each, report in reports if report.flagged]
    if whole_of.only is None:
        for name, findings in beside_bounds(quick=whole_of.quick):
            flagged += [name for finding in findings if finding.flagged]
            say(console, f"{'beside':<10}{name:<48}{'; '.join(map(_in_words, findings)) or 'no finding'}")
    silent = [each.name for each, report in reports if report.is_silent]
    say(
        console,
        f"{len(reports)} releases, {len(flagged)} flagged, {len(silent)} without an answer. Not flagged is no proof.",
        *flagged,
        *silent,
    )
    if flagged or silent:
        raise Exit(FLAGGED)


class Kept:
    """Reports of an audit of everything, a line of JSON each in a file, if there is one.

    Attributes:
        file: The file.
        reports: Those that are in it, by what was audited and how.
    """

    def __init__(self, file: Path | None, reports: dict[str, Report]) -> None:
        self.file, self.reports = file, reports

    @classmethod
    def of(cls, name: str | None) -> Kept:
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

    def report(self, each: Audited, confidence: float, effort: float, *, quick: bool) -> Report:
        """The report that is kept, or that of an audit now, which is kept then."""
        key = f"{each.kind}: {each.name}; {confidence:g}, {effort:g}{', quick' * quick}"
        if key not in self.reports:
            self.reports[key] = found = audited(each, confidence, effort, quick=quick)
            if self.file is not None:
                with named("resume", "file"), self.file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"of": key, "report": found.to_dict()}) + "\n")
        return self.reports[key]


def _in_words(finding: Finding) -> str:
    return f"{'FLAGGED ' if finding.flagged else ''}{finding.name}: {finding.words}"


def _those_of(whole_of: Whole) -> list[Audited]:
    from .targets import everything

    words = [""] if whole_of.only is None else whole_of.only.split(",")
    return [
        each
        for each in everything()
        if (_is_quick(each) or not whole_of.quick) and any(word in each.name or word == each.kind for word in words)
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


def audited(each: Audited, confidence: float, effort: float, *, quick: bool) -> Report:
    """The report on one release of this package."""
    from .bound import Claim
    from .search import Search, processor

    family, limits = (each.family.first(QUICK_PAIRS), QUICK_SECONDS) if quick else (each.family, SECONDS)
    claim = Claim.said(
        each.loss.epsilon, float(each.loss.delta), None if each.loss.epsilon is not None else each.loss.rho
    )
    most = int(SAMPLES[each.kind] * effort * (1 if quick else 10))
    search = Search(each.sampler, family, claim, confidence, most, again=True, clock=processor)
    return search.run(limits[each.kind] * effort)


def _is_quick(each: Audited) -> bool:
    """Tell whether a quick audit looks at it: all noise and ledgers, half of the mechanisms, some questions and faces.

    Mechanisms are looked at with pure losses of records that come or go, or with a rho of records that are replaced.
    """
    pure = each.loss.epsilon is not None
    if each.kind in ("noise", "ledger"):
        return True
    if each.kind == "mechanism":
        return pure is not ("replace-one" in each.name)
    if each.kind == "face":
        return each.name in QUICK_FACES
    asked = each.name.partition(":")[0]
    return pure and (
        asked.startswith(("pairs", "two servers")) or ("add-remove" in each.name and asked in QUICK_QUESTIONS)
    )


COMMANDS: MappingProxyType[str, of.Command] = MappingProxyType({
    "command": command, "package": package, "self": itself, **{name: _question(name) for name in QUESTIONS},
})  # fmt: skip

PROVIDED = Provided(
    groups={"audit": Group("Releases attacked from outside: a lower bound on what they really lose.", COMMANDS)}
)
