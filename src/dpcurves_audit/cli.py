"""Commands of privacy audits: of a question of this package, of any command or Python callable, or of all it offers."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from click.exceptions import Exit

from dpcurves.cli import options
from dpcurves.cli.app import Group, PackageCommands
from dpcurves.cli.output import check_language
from dpcurves.cli.status import ExitStatus
from dpcurves.cli.terminal import (
    Misuse,
    make_console,
    print_to_console,
    show_progress_bar,
    show_spinner,
    translate_argument_errors,
)
from dpcurves.drafts import write_whole
from dpcurves.translation import use_language

if TYPE_CHECKING:
    from rich.console import Console

    from dpcurves.privacy import Neighbours

    from .deployments import AuditTarget
    from .neighbouring_datasets import NeighbouringDatasets
    from .report import Finding, Report
    from .samplers import Sampler

QUESTIONS = (
    "cdf", "quantiles", "histogram", "count", "sum", "mean", "variance", "summary", "bounds", "survival", "scores",
    "roc", "calibration", "hosmer-lemeshow",
)  # fmt: skip
"""Names of the questions that have a command, as in ``dpcurves audit cdf``."""


@dataclass(frozen=True)
class ClaimOptions:
    """Options for the claimed loss of a release."""

    epsilon: str | None = options.optional("E", "The claimed epsilon.")
    rho: str | None = options.optional("R", "The claimed zero-concentrated loss rho, instead of --epsilon.")
    delta: str | None = options.optional("D", "The claimed delta, with --epsilon.")

    def parse_claim(self) -> dict[str, Any]:
        """Return the claimed loss as keyword arguments of an audit: epsilon, epsilon and delta, or rho.

        Raises:
            Misuse: neither epsilon nor rho is given, or both are, or delta is given with rho.
        """
        if self.epsilon is None and self.rho is None:
            raise Misuse(
                "epsilon", "the claimed privacy loss is missing: give --epsilon, as in --epsilon 0.5, or --rho"
            )
        if self.rho is not None:
            if self.epsilon is not None:
                raise Misuse("rho", "the privacy loss is claimed by --epsilon or by --rho; leave out one of them")
            if self.delta is not None:
                raise Misuse("delta", "a claim by --rho has no delta; leave out --delta, or claim --epsilon instead")
            return {"rho": options.check_positive_number("rho", self.rho)}
        claim: dict[str, Any] = {"epsilon": options.check_positive_number("epsilon", str(self.epsilon))}
        return claim if self.delta is None else claim | {"delta": options.parse_probability("delta", self.delta)}


@dataclass(frozen=True)
class AuditOptions:
    """Options for the time, the confidence, and the files of the report."""

    seconds: str = options.option("S", "Seconds to search; a flagged release ends the search earlier.", "60")
    samples: str | None = options.optional("N", "The largest number of outcomes of each data set.")
    confidence: str = options.option("P", "The confidence of the bound.", "0.95")
    json: str | None = options.optional("FILE", "Write the report as JSON to this file.")
    html: str | None = options.optional("FILE", "Write the report as one page to this file.")
    language: str = options.option("CODE", "Language of the printed report and of the page: en, de, fr or es.", "en")
    resume: str | None = options.optional("FILE", "Save the progress in this file, and resume from it if it exists.")
    learn: bool = options.flag(
        "--learn", "Also fit boosted trees to outcomes, if scikit-learn is installed (extra audit)."
    )

    def run_audit(
        self, sampler: Sampler, family: NeighbouringDatasets, claim: dict[str, Any], command_words: Sequence[str]
    ) -> Report:
        """Audit, write the reports, print the verdict, and return the report.

        Exits with `ExitStatus.FLAGGED` if the release is flagged, and with `ExitStatus.NO_VERDICT` if all of its calls
        failed.

        Args:
            sampler: The release.
            family: Pairs of neighbouring data sets.
            claim: The claimed parameters by name.
            command_words: The words after ``dpcurves audit`` that repeat this audit; the report shows them.
        """
        from dataclasses import replace

        from .auditor import audit

        check_language(self.language)
        samples = None if self.samples is None else options.parse_integer("samples", self.samples, minimum=20)
        seconds = options.parse_positive_number("seconds", self.seconds)
        level = options.parse_probability("confidence", self.confidence)
        with show_spinner("attacking it"), translate_argument_errors("resume", "file"):
            report = audit(
                sampler, family, seconds=seconds, samples=samples, confidence=level, learn=self.learn,
                confirm_twice=True, file=self.resume, **claim,
            )  # fmt: skip
        command_words = [*command_words, "--learn"] if self.learn else command_words
        report = replace(report, command=" ".join(["dpcurves audit", *map(shlex.quote, command_words)]))
        self.write_report(report)
        if report.is_flagged:
            raise Exit(ExitStatus.FLAGGED)
        if report.is_silent:
            raise Exit(ExitStatus.NO_VERDICT)
        return report

    def write_report(self, report: Report) -> None:
        """Write the report to its files, and print it, in the language of its readers; JSON stays English."""
        with use_language(self.language):
            self._write_translated(report)

    def _write_translated(self, report: Report) -> None:
        """Write the report to the files of --json and --html, and print it.

        Args:
            report: The report, whose texts are translated.

        Raises:
            Misuse: a file cannot be written.
        """
        for name, file, write in (("json", self.json, report.to_json), ("html", self.html, report.to_html)):
            if file is not None:
                try:
                    write(file)
                except OSError as error:
                    raise Misuse(
                        name,
                        f"the file cannot be written ({error.strerror}); name a file in a folder where you may write",
                    ) from None
        print_to_console(make_console(), *str(report).splitlines())


@dataclass(frozen=True)
class NeighbourOptions:
    """Options for neighbouring data sets."""

    family: str = options.option(
        "KIND:...",
        "values:L:U:N (numbers at the edges of N cells), scores:L:U:N (label and score), units:L:U:N:K (value and "
        "unit, K records each), categories:A,B,C, answers:N (of counting queries), or streams:N (steps).",
    )
    adjacency: str = options.option(
        "KIND", "add-remove: neighbours differ by one added unit; replace-one: one unit is replaced.", "add-remove"
    )

    def parse_family(self) -> NeighbouringDatasets:
        """Return the neighbouring data sets that --family and --adjacency describe.

        Raises:
            Misuse: a text is not one of the choices.
        """
        return parse_family(self.family, parse_adjacency(self.adjacency))


def parse_adjacency(word: str | None) -> Neighbours:
    """Return the neighbouring relation that the option --adjacency names.

    Args:
        word: ``replace-one`` or ``add-remove``; None if the option is missing.

    Raises:
        Misuse: the word is unknown or None.
    """
    from dpcurves.privacy import Neighbours

    if word is None:
        raise Misuse("adjacency", "give the neighbouring relation of the claim: --adjacency replace-one or add-remove")
    return options.parse_choice("adjacency", word, {kind.value: kind for kind in Neighbours})


def parse_family(text: str, neighbours: Neighbours) -> NeighbouringDatasets:
    """Return pairs of neighbouring data sets, as a text such as ``values:0:1:8`` describes them.

    Args:
        text: ``values``, ``scores`` or ``units`` with a grid (``units`` also with rows per unit), or
            ``categories:A,B``, ``answers:N`` or ``streams:N``.
        neighbours: Neighbouring relation.

    Raises:
        Misuse: the text has another form.
    """
    from . import neighbouring_datasets as families

    kind, _, rest = text.partition(":")
    parts = rest.split(":")
    if kind in ("values", "scores", "units"):
        cells = ":".join(parts[:3])
        with translate_argument_errors("family", "grid"):
            edges = [float(edge) for edge in options.parse_grid("family", cells).edges]
        if kind == "units":
            if len(parts) != 4:
                raise Misuse("family", "units:L:U:N:K is needed, as in units:0:1:8:2")
            return families.units(edges, options.parse_integer("family", parts[3]), adjacency=neighbours)
        return (families.values if kind == "values" else families.scores)(edges, adjacency=neighbours)
    if kind == "categories":
        return families.categories(rest.split(",") if rest else [], adjacency=neighbours)
    if kind == "answers":
        return families.answers(options.parse_integer("family", rest), adjacency=neighbours)
    if kind == "streams":
        return families.streams(options.parse_integer("family", rest), adjacency=neighbours)
    raise Misuse(
        "family",
        f"must begin with values, scores, units, categories, answers or streams, as in units:0:1:8:2, got {text!r}",
    )


@dataclass(frozen=True)
class CallOptions:
    """Options for calls of an external release."""

    processes: str = options.option("N", "Simultaneous calls.", "1")
    timeout: str = options.option("S", "Timeout of a call in seconds; a timeout is an outcome.", "10")


@dataclass(frozen=True)
class CommandArgument:
    """Argument for an external command that is audited."""

    command: str = options.argument("COMMAND", "It reads {data}, a CSV file, and writes JSON to {out} or prints it.")


@dataclass(frozen=True)
class FunctionArgument:
    """Argument for a function of a Python package that is audited."""

    function: str = options.argument("MODULE:FUNCTION", "It takes data, and returns its release in any structure.")


@dataclass(frozen=True)
class QuestionOptions:
    """Options for the cells and the neighbours of a question."""

    grid: str = options.option("L:U:N", "Public cells; pairs of neighbours lie at their edges.", "0:1:8")
    adjacency: str | None = options.optional(
        "KIND", "replace-one or add-remove: the neighbouring relation of the claim."
    )
    sampler: str = options.option(
        "transcript|json",
        "transcript: all released numbers, without a ledger; json: the JSON of the curve.",
        "transcript",
    )


def audit_command(
    program: CommandArgument,
    neighbouring: NeighbourOptions,
    claimed: ClaimOptions,
    calls: CallOptions,
    audit_options: AuditOptions,
) -> None:
    """Audit any program: a CSV file in, JSON out; its exit status and messages are outcomes as well.

    Example: dpcurves audit command './release.sh {data} {out}' --family values:0:1:8 --epsilon 1
    """
    from .samplers import CommandSampler

    sampler = CommandSampler(
        program.command,
        options.parse_integer("processes", calls.processes),
        options.parse_positive_number("timeout", calls.timeout),
    )
    command_words = [
        "command",
        program.command,
        "--family",
        neighbouring.family,
        *_format_claim(claimed, neighbouring.adjacency),
    ]
    require_all_pairs(
        audit_options.run_audit(sampler, neighbouring.parse_family(), claimed.parse_claim(), command_words)
    )


def audit_package(
    function: FunctionArgument,
    neighbouring: NeighbourOptions,
    claimed: ClaimOptions,
    calls: CallOptions,
    audit_options: AuditOptions,
) -> None:
    """Audit a Python function whose calls run in new processes, so that fixed seeds and caches do not hide faults.

    Example: dpcurves audit package opendp_release:count --family values:0:1:8 --epsilon 1
    """
    from .auditor import check_forked_workers, check_new_processes
    from .samplers import CallableSampler, PackageSampler, import_function

    timeout = options.parse_positive_number("timeout", calls.timeout)
    sampler = PackageSampler(function.function, options.parse_integer("processes", calls.processes), timeout)
    command_words = [
        "package",
        function.function,
        "--family",
        neighbouring.family,
        *_format_claim(claimed, neighbouring.adjacency),
    ]
    family = neighbouring.parse_family()
    try:
        report = audit_options.run_audit(sampler, family, claimed.parse_claim(), command_words)
    finally:
        sampler.close()
    shared = check_forked_workers(CallableSampler(import_function(function.function), timeout), family.pairs[0])
    if shared is not None:
        print_to_console(make_console(), f"Flagged: {shared.message}")
        raise Exit(ExitStatus.FLAGGED)
    repeated = check_new_processes(function.function, family.pairs[0], timeout=timeout)
    if repeated is not None:
        print_to_console(make_console(), f"Flagged: {repeated.message}")
        raise Exit(ExitStatus.FLAGGED)
    require_all_pairs(report)


def require_all_pairs(report: Report) -> None:
    """Exit with status `ExitStatus.PARTIAL` if the search did not test all pairs.

    Args:
        report: Report of the audit.
    """
    if report.is_partial:
        raise Exit(ExitStatus.PARTIAL)


def _format_claim(claimed: ClaimOptions, adjacency: str) -> list[str]:
    """Return the command-line options that state a claim, for the command that repeats an audit.

    Args:
        claimed: Options of the claimed epsilon, delta or rho.
        adjacency: Neighbouring relation, as typed.
    """
    claim = [word for name, value in claimed.parse_claim().items() for word in (f"--{name}", str(value))]
    return [*claim, "--adjacency", adjacency]


def _make_question_command(name: str) -> options.Command:
    """Return the command that audits a question of this package.

    Args:
        name: Name of the question's command, such as ``cdf``.

    Returns:
        Function with the command's options as arguments, and its help text as docstring.
    """

    def audit_question(cells: QuestionOptions, claimed: ClaimOptions, audit_options: AuditOptions) -> None:
        """Audit the question that the command is named after; the help text is set from the question below.

        Args:
            cells: Options of the question: grid, adjacency and sampler.
            claimed: Options of the claimed loss.
            audit_options: Options of the audit: calls, seed and report files.
        """
        from dpcurves.privacy import PrivacyLoss

        from .targets import PublicFunctionSampler, RoundsSampler, find_question

        if cells.grid is None:
            raise Misuse("grid", options.NO_GRID)
        neighbours = parse_adjacency(cells.adjacency)
        grid = options.parse_grid("grid", cells.grid)
        samplers = {"transcript": RoundsSampler, "json": PublicFunctionSampler}
        question = find_question(name)
        claim = claimed.parse_claim()
        # With a delta, the question is still asked under pure epsilon: no question here spends delta, and a release of
        # pure epsilon must also pass under the weaker claim.
        loss = PrivacyLoss.zcdp(claim["rho"]) if "rho" in claim else PrivacyLoss.pure(claim["epsilon"])
        sampler = options.parse_choice("sampler", cells.sampler, samplers)(
            f"{cells.sampler} of {name}", question.question(grid), loss, neighbours
        )
        family = question.family([float(edge) for edge in grid.edges], adjacency=neighbours)
        command_words = [
            name,
            "--grid",
            cells.grid,
            *_format_claim(claimed, neighbours.value),
            "--sampler",
            cells.sampler,
        ]
        require_all_pairs(audit_options.run_audit(sampler, family, claim, command_words))

    audit_question.__name__ = name
    audit_question.__doc__ = f"""Audit `dpcurves {name}` on tiny tables, from outside.

    Example: dpcurves audit {name} --grid 0:1:8 --epsilon 1 --adjacency replace-one
    """
    return audit_question


@dataclass(frozen=True)
class EverythingOptions:
    """Options of an audit of everything."""

    quick: bool = options.flag("--quick", "Two minutes of processor time: fewer samples, pairs and public functions.")
    only: str | None = options.optional(
        "A,B,...", "Only releases with one of these words in their name, or one of these samplers."
    )
    effort: str = options.option("TIMES", "Factor of the usual seconds and outcomes of each release.", "1")
    confidence: str = options.option(
        "P",
        "The confidence of each bound; flagged releases exceeded their claim twice.",
        "0.999",  # hundreds of releases are audited, and one must be flagged twice: see `audit_everything`
    )
    json: str | None = options.optional("FILE", "Write all reports as JSON to this file.")
    resume: str | None = options.optional(
        "FILE", "Save each report in this file, and audit only releases that are not in it."
    )


def audit_everything(settings: EverythingOptions) -> None:
    """Audit all mechanisms, questions, public functions and ledgers of this version, the cheapest samplers first.

    Noisy sums and some choices are also computed: the exact loss of the worst of their pairs of neighbours.

    A flagged release exceeded its claim on two sets of fresh samples: at confidence 0.999 a false alarm has probability
    one in a million. A release that gives no answer counts as not audited, and the audit then ends with a status.

    Example: dpcurves audit self --quick
    """
    from .targets import run_target_checks

    level = options.parse_probability("confidence", settings.confidence)
    effort = options.parse_positive_number("effort", settings.effort)
    selected = _select_targets(settings)
    console = make_console()
    reports = []
    stored = StoredReports.from_file(settings.resume)
    with show_progress_bar("attacking everything", len(selected)) as fill:
        for number, target in enumerate(selected, start=1):
            report = stored.load_or_audit(target, level, effort, quick=settings.quick)
            reports.append((target, report))
            verdict = "not flagged"
            if report.is_flagged:
                verdict = "FLAGGED"
            elif report.is_silent:
                verdict = "NO ANSWER"
            print_to_console(
                console,
                f"{target.kind:<10}{target.name:<48}{verdict:<13}{report.parameter} at least "
                f"{report.lower_bound:.3f} of {report.claimed_loss:g}; {report.calls:,} calls, {report.seconds:.1f} s; "
                f"{len(report.pair_results)} of {report.family_pairs} pairs",
            )
            fill(number)
    documents = [{"name": target.name, "sampler": target.kind, **report.to_dict()} for target, report in reports]
    exact_documents = _print_exact_losses(console, settings)
    documents += exact_documents
    if not documents:
        quick = "leave out --quick, or " if settings.quick else ""
        raise Misuse("only", f"no release here has one of the words {settings.only!r} in its name; {quick}name others")
    if settings.json is not None:
        write_whole(settings.json, json.dumps(documents, indent=1) + "\n")
    flagged = [target.name for target, report in reports if report.is_flagged]
    flagged += [document["name"] for document in exact_documents if document["is_flagged"]]
    if settings.only is None:
        for name, findings in run_target_checks(quick=settings.quick):
            flagged += [name for finding in findings if finding.is_flagged]
            print_to_console(
                console, f"{'beside':<10}{name:<48}{'; '.join(map(_describe_finding, findings)) or 'no finding'}"
            )
    unanswered = [target.name for target, report in reports if report.is_silent]
    print_to_console(
        console,
        f"{len(reports)} releases and {len(exact_documents)} exact losses, {len(flagged)} flagged, "
        f"{len(unanswered)} without an answer. Not flagged is no proof.",
        *flagged,
        *unanswered,
    )
    if flagged:
        raise Exit(ExitStatus.FLAGGED)
    if unanswered:
        raise Exit(ExitStatus.NO_VERDICT)


def _print_exact_losses(console: Console, settings: EverythingOptions) -> list[dict[str, Any]]:
    """Compute and print the exact losses of the mechanisms that the options select, a line each.

    Args:
        console: Console to print on.
        settings: Options of the audit, such as --only.

    Returns:
        One JSON object per mechanism, as in the file of --json.
    """
    from .exact_losses import list_exact_losses
    from .targets import list_targets

    documents = []
    for item in list_exact_losses(list_targets(), quick=settings.quick):
        if not _matches_only(item.name, "exact", settings):
            continue
        loss = item.find_largest()
        verdict = "FLAGGED" if item.exceeds_claim(loss) else "not flagged"
        print_to_console(
            console,
            f"{'exact':<10}{item.name:<60}{verdict:<13}{item.parameter} {loss:.3f} of {item.claimed:g}",
        )
        documents.append(
            {
                "name": item.name,
                "sampler": "exact",
                "parameter": item.parameter,
                "exact_loss": loss if isfinite(loss) else None,
                "claimed_loss": item.claimed,
                "is_flagged": item.exceeds_claim(loss),
            }
        )
    return documents


def _matches_only(name: str, kind: str, settings: EverythingOptions) -> bool:
    """Return whether `--only` selects a release: by a word in its name in any case, or by its sampler.

    Args:
        name: Name of the release.
        kind: Kind of its sampler.
        settings: Options, with the words of `--only`.
    """
    words = ("",) if settings.only is None else split_words(settings.only)
    return any(word.lower() in name.lower() or word == kind for word in words)


@lru_cache(maxsize=1)
def split_words(text: str) -> tuple[str, ...]:
    """Return the words of a list with commas. A comma before a space is part of a word if a release has it in its name.

    >>> split_words("buckets,stream, each step,k-ary, unary")
    ('buckets', 'stream, each step', 'k-ary', 'unary')
    """
    from .exact_losses import list_exact_losses
    from .targets import list_targets

    if ", " not in text:
        return tuple(text.split(","))
    targets = list(list_targets())
    names = [target.name.lower() for target in targets]
    names += [item.name.lower() for item in list_exact_losses(targets, quick=True)]
    words: list[str] = []
    for part in re.split(r",(?! )", text):
        is_name = any(part.lower() in name for name in names)
        words += [part] if is_name else [word.strip() for word in part.split(",")]
    return tuple(words)


class StoredReports:
    """Reports of an audit of everything, one line of JSON each in a file, if given.

    Attributes:
        file: The file.
        reports: The stored reports, by target and settings.
    """

    def __init__(self, file: Path | None, reports: dict[str, Report]) -> None:
        self.file = file
        self.reports = reports

    @classmethod
    def from_file(cls, name: str | None) -> StoredReports:
        """Return the reports of an earlier, perhaps interrupted, audit. An incomplete last line is removed from the
        file.

        Args:
            name: Path of the file; None, or a file that does not exist yet: no reports.

        Raises:
            Misuse: a line of the file is no report.
        """
        from .report import Report

        reports: dict[str, Report] = {}
        file = None if name is None else Path(name)
        if file is not None and file.exists():
            text, newline, incomplete = file.read_text(encoding="utf-8").rpartition("\n")
            try:
                for stored in map(json.loads, text.splitlines()):
                    reports[stored["of"]] = Report.from_dict(stored["report"])
            except (ValueError, KeyError, TypeError, AttributeError):
                raise Misuse(
                    "resume", "the file holds no audit of everything; resume the file that `dpcurves audit self` wrote"
                ) from None
            if incomplete:
                write_whole(file, text + newline)
        return cls(file, reports)

    def load_or_audit(self, target: AuditTarget, confidence: float, effort: float, *, quick: bool) -> Report:
        """Return the stored report, or audit the target and store the report; see `audit_target`.

        Args:
            target: The audited mechanism or function.
            confidence: Probability of no false report, between 0 and 1.
            effort: Factor of the number of samples.
            quick: Whether the short audit is made.
        """
        key = f"{target.kind}: {target.name}; {confidence:g}, {effort:g}" + (", quick" if quick else "")
        if key not in self.reports:
            self.reports[key] = report = audit_target(target, confidence, effort, quick=quick)
            if self.file is not None:
                with translate_argument_errors("resume", "file"), self.file.open("a", encoding="utf-8") as out:
                    out.write(json.dumps({"of": key, "report": report.to_dict()}) + "\n")
        return self.reports[key]


def _describe_finding(finding: Finding) -> str:
    """Return a finding as one line, marked if it contradicts the claim."""
    return f"{'FLAGGED ' if finding.is_flagged else ''}{finding.name}: {finding.message}"


def _select_targets(settings: EverythingOptions) -> list[AuditTarget]:
    """Return the audit targets that the options select: by words in their names, and only quick targets if asked for.

    Args:
        settings: Options of the command that audits this version of dpcurves.
    """
    from .targets import list_targets

    selected = []
    for target in list_targets():
        if _matches_only(target.name, target.kind, settings) and (not settings.quick or _is_in_quick_audit(target)):
            selected.append(target)
    return selected


SAMPLES = MappingProxyType({"noise": 100_000, "mechanism": 5_000, "transcript": 2_000, "json": 200, "ledger": 100})
"""Samples of each data set of a release in a quick audit, by the kind of its sampler; ten times as many in a full one.
More samples give a higher lower bound of the loss."""
SECONDS = MappingProxyType({"noise": 3.0, "mechanism": 5.0, "transcript": 7.0, "json": 15.0, "ledger": 10.0})
"""Processor seconds after which a search ends, by the kind of sampler: the result does not depend on the load of the
machine."""
QUICK_SECONDS = MappingProxyType({"noise": 0.4, "mechanism": 1.0, "transcript": 0.6, "json": 0.6, "ledger": 0.6})
"""Processor seconds after which a search of a quick audit ends, by the kind of sampler."""
QUICK_EXACT_FRACTION = MappingProxyType({"mechanism": 0.3})
"""Fraction of `QUICK_SECONDS` for targets whose exact loss is printed too, by the kind of sampler. Noise has all of its
seconds, because samples alone show faults of samplers: in three tenths of them one of three trials missed a fault."""
QUICK_QUESTIONS = (
    "cdf", "quantiles", "count", "bounds", "roc", "calibration", "verification", "weighted mean", "partition selection",
    "curve of any range", "learned scorer", "competing risks",
)  # fmt: skip
"""Questions whose rounds (successive releases) a quick audit covers, by the part of the target's name before the colon;
others are left to a full audit."""
QUICK_PUBLIC_FUNCTIONS = (
    "cdf: add-remove", "histogram of units", "histogram of units without a bound: add-remove",
    "weighted curve: replace-one", "partition selection: add-remove", "followed stream of totals",
    "report with public coins, handed in: epsilon 1",
)  # fmt: skip
"""Calls of public functions that a quick audit covers, by the whole name of the target; others are left to a full
audit. A test holds that all of them exist."""


QUICK_MECHANISMS = ("stream, totals by buffers",)
"""Mechanisms with one kind of loss and one adjacency, which a quick audit would leave out with the others of that kind,
by the part of the target's name before the colon."""


def audit_target(target: AuditTarget, confidence: float, effort: float, *, quick: bool) -> Report:
    """Return the report on one release of this package. `effort` multiplies the usual samples and seconds.

    Args:
        target: The release, with its sampler and claimed loss.
        confidence: Confidence of the reported bound.
        effort: Factor of samples and seconds.
        quick: If True, fewer pairs, samples and seconds are used.
    """
    from .confidence_limits import Claim
    from .exact_losses import has_exact_loss
    from .search import Search, read_processor_clock

    # three pairs in a quick audit
    family, limits = (target.family.take_first(3), QUICK_SECONDS) if quick else (target.family, SECONDS)
    claim = Claim.from_parameters(
        target.loss.epsilon, float(target.loss.delta), None if target.loss.epsilon is not None else target.loss.rho
    )
    max_samples = int(SAMPLES[target.kind] * effort * (1 if quick else 10))
    search = Search(
        target.sampler, family, claim, confidence, max_samples, confirm_twice=True, clock=read_processor_clock
    )
    fraction = QUICK_EXACT_FRACTION.get(target.kind, 1.0) if quick and has_exact_loss(target) else 1.0
    return search.run(limits[target.kind] * effort * fraction)


def _is_in_quick_audit(target: AuditTarget) -> bool:
    """Return whether a quick audit covers a target: all noise, ledgers whose processes live, half of the mechanisms,
    some questions and functions.

    A call of a server, of a federation, or with a killed process takes a fifth of a second or more. The twenty calls of
    a quick audit can contradict no epsilon near 1, so these are left to a full one.

    Mechanisms are audited with an epsilon under add-remove, or with a rho under replace-one: each mechanism, adjacency
    and kind of loss is then covered once. Statistics of pairs have an epsilon under replace-one alone.
    """
    from dpcurves.privacy import Neighbours

    has_epsilon = target.loss.epsilon is not None
    is_add_remove = target.family.adjacency is Neighbours.ADD_REMOVE
    if target.kind == "noise":
        return True
    if target.kind == "ledger":
        return "killed" not in target.name
    if target.kind == "mechanism":
        return has_epsilon == is_add_remove or target.name.startswith(("pairs", *QUICK_MECHANISMS))
    if target.kind == "json":
        return target.name in QUICK_PUBLIC_FUNCTIONS
    if not has_epsilon:
        return False
    question = target.name.partition(":")[0]
    return question.startswith(("pairs", "two servers")) or (is_add_remove and question in QUICK_QUESTIONS)


COMMANDS: MappingProxyType[str, options.Command] = MappingProxyType({
    "command": audit_command, "package": audit_package, "self": audit_everything,
    **{name: _make_question_command(name) for name in QUESTIONS},
})  # fmt: skip
"""Commands of the group `dpcurves audit`, by name: of own functions and programs, of this package, and of each
question."""

PACKAGE_COMMANDS = PackageCommands(
    groups={"audit": Group("Privacy audits: a lower confidence bound of the privacy loss of a release.", COMMANDS)}
)
"""The group `audit`, which this package adds to the commands of `dpcurves`."""
