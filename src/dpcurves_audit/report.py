"""The report of an audit: verdict, bound and claim, pair and event, all results, and the power of the audit.

    verdict        flagged if a lower confidence bound of the loss exceeds the claim; not flagged is no proof
    PairResult     the search on one pair of neighbours          ScoreHistogram    histograms of scores of both samples
    Finding        an observation of the extra checks, such as noise that repeats

A flagged report states the event, its hits on both data sets and the bound. JSON and HTML hold all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from html import escape
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcurves.drafts import write_whole
from dpcurves.foreign_text import isolate_in_html
from dpcurves.privacy import format_loss
from dpcurves.translation import name_language, translate

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_PROOF = "Not flagged is no proof."
"""Warning in each report that is not flagged: an audit can show a loss above the claim, and never that there is
none."""
FORMAT = "dpcurves-audit 1"
"""Value of the field `format` of a report in JSON: its kind and version."""
NO_ANSWER = "raises ", "hangs", "ends with", "writes no"
"""Beginnings of the kinds of outcomes that are failures; a report of failures alone states that nothing was audited."""


@dataclass(frozen=True)
class PairResult:
    """Result of the search on one pair.

    Attributes:
        pair: Name of the pair.
        samples: Outcomes of each data set.
        event: Description of the best event.
        estimated_loss: Its estimated privacy loss minus standard errors; None without an event.
    """

    pair: str
    samples: int
    event: str
    estimated_loss: float | None


@dataclass(frozen=True)
class Finding:
    """A finding of the extra checks.

    Attributes:
        name: Name of the check, such as "reopened ledger".
        message: A sentence that describes the observation.
        is_flagged: True if the observation contradicts the claimed guarantee.
    """

    name: str
    message: str
    is_flagged: bool


@dataclass(frozen=True)
class ScoreHistogram:
    """Histograms of a score on both sides, from the fresh samples.

    Attributes:
        edges: Edges of the bins.
        left_shares: Shares of the left data set.
        right_shares: Shares of the right data set.
        in_event: Whether each bin belongs to the event.
    """

    edges: tuple[float, ...]
    left_shares: tuple[float, ...]
    right_shares: tuple[float, ...]
    in_event: tuple[bool, ...]


@dataclass(frozen=True)
class Report:
    """The report of an audit.

    Attributes:
        release: Name of the release.
        family: Description of the neighbouring data sets.
        adjacency: The neighbouring relation.
        parameter: The claimed parameter: epsilon or rho.
        claimed_loss: The claimed loss.
        delta: The claimed delta.
        confidence: Confidence of the bound.
        lower_bound: Lower confidence bound of the privacy loss, in the claimed parameter.
        second_lower_bound: A second bound from other samples, if the first exceeds the claim, else None.
        pair: Name of the pair of the bound.
        event: Description of the distinguishing event.
        likelier_side: The data set, left or right, on which the event is likelier.
        hits: Hits of the event on this data set, and on the other one.
        samples: Fresh samples of both data sets in the same order.
        calls: Number of calls of the release.
        seconds: Duration of the audit in seconds.
        detectable_deficit: Share of missing noise of a plain count, not of this release, that as many samples detect in
            9 of 10 runs; None if none is.
        pair_results: Results of all pairs.
        kinds: Kinds of outcomes.
        findings: Findings of the extra checks.
        histogram: Histograms of the score; None without fresh samples.
        rounds: Number of rounds.
        family_pairs: Number of pairs of the family.
        command: A command that repeats the audit.
    """

    release: str
    family: str
    adjacency: str
    parameter: str
    claimed_loss: float
    delta: float
    confidence: float
    lower_bound: float = 0.0
    second_lower_bound: float | None = None
    pair: str = ""
    event: str = ""
    likelier_side: str = ""
    hits: tuple[int, int] = (0, 0)
    samples: tuple[int, int] = (0, 0)
    calls: int = 0
    seconds: float = 0.0
    detectable_deficit: float | None = None
    pair_results: tuple[PairResult, ...] = ()
    kinds: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()
    histogram: ScoreHistogram | None = None
    rounds: int = 0
    family_pairs: int = 0
    command: str = field(default="", compare=False)

    @property
    def is_flagged(self) -> bool:
        """Whether the release was found to exceed the claimed loss."""
        exceeds_claim = self.lower_bound > self.claimed_loss and (
            self.second_lower_bound is None or self.second_lower_bound > self.claimed_loss
        )
        return exceeds_claim or any(finding.is_flagged for finding in self.findings)

    @property
    def is_silent(self) -> bool:
        """Whether every call failed: all of them raised, hung or ended. Such an audit has no evidence."""
        return not self.is_flagged and bool(self.kinds) and all(kind.startswith(NO_ANSWER) for kind in self.kinds)

    @property
    def is_partial(self) -> bool:
        """Whether the search ended before it had looked at all pairs, and flagged nothing."""
        return not self.is_flagged and len(self.pair_results) < self.family_pairs

    @property
    def epsilon_lower(self) -> float:
        """Lower bound of epsilon; 0 if rho is claimed."""
        return self.lower_bound if self.parameter == "epsilon" else 0.0

    @property
    def rho_lower(self) -> float:
        """Lower bound of rho; 0 if epsilon is claimed."""
        return self.lower_bound if self.parameter == "rho" else 0.0

    def with_findings(self, *findings: Finding) -> Report:
        """Return a copy of the audit report with further findings."""
        return replace(self, findings=(*self.findings, *findings))

    @property
    def claim(self) -> str:
        """The claimed loss in words: epsilon with delta, or rho."""
        return f"{self.parameter} {format_loss(self.claimed_loss)}" + (
            f" at delta {format_loss(self.delta)}" if self.delta else ""
        )

    @property
    def scope_statement(self) -> str:
        """A sentence on what the search looked at. How much missing noise it would have seen was not measured."""
        number = min(self.samples) if self.event else 0
        pairs = len(self.pair_results)
        samples = f"{number:,} fresh samples of each data set confirmed the best event"
        if self.is_partial:
            return f"Only {pairs} of {self.family_pairs} pairs were looked at: give more --seconds. {samples}."
        return f"{samples}."

    @property
    def verdict(self) -> str:
        """The result of the audit in one sentence: flagged, not flagged, or without evidence."""
        if self.is_silent:
            return f"No verdict: every call of {self.calls:,} failed; the first: {self.kinds[0]}."
        if self.lower_bound > self.claimed_loss and self.is_flagged:
            return (
                f"Flagged: {self.parameter} is at least {self.lower_bound:.4g} with confidence {self.confidence:g}; "
                f"claimed is {self.claim}."
            )
        flagged = [finding for finding in self.findings if finding.is_flagged]
        if flagged:
            return f"Flagged: {flagged[0].message}"
        lower = max(0.0, self.lower_bound)
        return (
            f"Not flagged: {self.parameter} is at least {lower:.4g} with confidence {self.confidence:g}; "
            f"claimed is {self.claim}."
        )

    @property
    def hit_summary(self) -> str:
        """Hits of the event on both data sets, as text."""
        (hits, other_hits), (samples, other_samples) = self.hits, self.samples
        likelier = f"{hits:,} of {samples:,} outcomes on the {self.likelier_side} data set"
        return f"{likelier}, {other_hits:,} of {other_samples:,} on the other"

    def __str__(self) -> str:
        verdict = translate(self.verdict)
        scope = translate(self.scope_statement)
        if self.is_silent:
            return verdict
        if self.is_flagged:
            lines = [verdict]
        elif self.is_partial:  # first, because it limits the conclusion
            lines = [scope, f"{translate(NO_PROOF)} {verdict}"]
        else:
            lines = [f"{translate(NO_PROOF)} {scope}", verdict]
        if self.event:
            lines += [
                f"{translate('pair')}: {self.pair} ({translate(self.adjacency)})",
                f"{translate('event')}: {self.event}; {translate(self.hit_summary)}",
            ]
        if self.second_lower_bound is not None:
            again = f"once more, on other samples: {self.parameter} is at least {self.second_lower_bound:.4g}"
            lines.append(translate(again))
        lines += [f"{translate(each.name)}: {translate(each.message)}" for each in self.findings]
        effort = f"{len(self.pair_results)} pairs of {self.family}, {self.calls:,} calls, {self.seconds:.1f} seconds"
        return "\n".join([*lines, translate(effort)])

    def to_dict(self) -> dict[str, Any]:
        """Return all attributes as JSON values, with format, verdict and flag; infinite numbers are texts."""
        return {"format": FORMAT, "flagged": self.is_flagged, "verdict": self.verdict, **_to_json_value(asdict(self))}

    def to_json(self, path: str | Path | None = None) -> str:
        """Return the report as JSON, and write it to `path` if given."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            write_whole(path, text + "\n")
        return text

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> Report:
        """Return the report that a JSON object describes, as `to_dict` wrote it.

        Args:
            stored: Values by field; unknown fields are ignored.
        """
        names = {item.name for item in fields(cls)}
        arguments = {name: _parse_json_value(value) for name, value in stored.items() if name in names}
        arguments["pair_results"] = tuple(PairResult(**item) for item in stored.get("pair_results", ()))
        arguments["findings"] = tuple(Finding(**item) for item in stored.get("findings", ()))
        histogram = stored.get("histogram")
        arguments["histogram"] = None
        if histogram is not None:
            rows = {name: tuple(map(_parse_json_value, row)) for name, row in histogram.items()}
            arguments["histogram"] = ScoreHistogram(**rows)
        for name in ("hits", "samples", "kinds"):
            arguments[name] = tuple(stored.get(name, ()))
        return cls(**arguments)

    def to_html(self, path: str | Path | None = None) -> str:
        """Return the report as one self-contained page in the reader's language, and write it to `path` if given.

        The words of the search stay as they are: names of the family, of pairs, events and outcomes.
        """
        verdict = isolate_in_html(translate(self.verdict))
        scope = isolate_in_html(translate(self.scope_statement))
        warning = "" if self.is_flagged else f"<strong>{escape(translate(NO_PROOF))}</strong> {scope}<br>"
        bound = f"{self.parameter} {self.lower_bound:.4g}, with confidence {self.confidence:g}"
        rows = {
            "release": self.release, "claimed": translate(self.claim), "neighbours": translate(self.adjacency),
            "family": self.family, "lower bound": translate(bound),
            "once more, on other samples": ""
            if self.second_lower_bound is None else translate(f"{self.parameter} {self.second_lower_bound:.4g}"),
            "pair": self.pair, "event": self.event,
            "hits": translate(self.hit_summary) if self.event else "",
            "calls": translate(f"{self.calls:,}"), "seconds": translate(f"{self.seconds:.1f}"),
            "kinds of outcomes": "; ".join(self.kinds[:12]),
            "run again": self.command,
        }  # fmt: skip
        facts = "".join(
            f'<tr><th scope="row">{escape(translate(name))}</th><td>{isolate_in_html(value)}</td></tr>'
            for name, value in rows.items()
            if value
        )
        flag = f"<strong>{escape(translate('Flagged'))}:</strong> "
        findings = "".join(
            f"<li>{flag if item.is_flagged else ''}"
            f"{isolate_in_html(translate(item.name))}: {isolate_in_html(translate(item.message))}</li>"
            for item in self.findings
        )
        results = "".join(
            f"<tr><td>{isolate_in_html(item.pair)}</td><td>{escape(translate(f'{item.samples:,}'))}</td>"
            f"<td>{isolate_in_html(item.event)}</td>"
            f"<td>{'' if item.estimated_loss is None else escape(translate(f'{item.estimated_loss:.3g}'))}</td></tr>"
            for item in self.pair_results
        )
        title = translate(f"Audit of {self.release}")
        heads = "".join(
            f'<th scope="col">{escape(translate(name))}</th>'
            for name in ("pair", "samples of each", "best event", "suggests")
        )
        text = (
            f'<!doctype html><html lang="{name_language()}"><meta charset="utf-8"><title>{escape(title)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
            f"<h1>{isolate_in_html(title)}</h1>"
            f'<p class="verdict{" flagged" if self.is_flagged else ""}">{warning}{verdict}</p>'
            f"{_draw_svg_histogram(self)}<table>{facts}</table>"
            + (f"<h2>{escape(translate('Beside the bound'))}</h2><ul>{findings}</ul>" if findings else "")
            + f"<h2>{escape(translate('Tried'))}</h2><table><tr>{heads}</tr>{results}</table></html>\n"
        )
        if path is not None:
            write_whole(path, text)
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the histograms of outcomes on both neighbouring data sets, with the distinguishing event shaded;
        return the axes.

        Args:
            ax: Axes to draw on; None: a new figure.
        """
        from matplotlib import pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        if self.histogram is not None:
            bins = range(len(self.histogram.left_shares))
            axes.step(bins, self.histogram.left_shares, where="mid", label="left")
            axes.step(bins, self.histogram.right_shares, where="mid", label="right")
            for index, is_in_event in enumerate(self.histogram.in_event):
                if is_in_event:
                    axes.axvspan(index - 0.5, index + 0.5, alpha=0.15, color="0.3", linewidth=0)
            axes.legend()
        axes.set_title(self.verdict, fontsize="small", wrap=True)
        axes.set_xlabel(self.event or "no event")
        axes.set_ylabel("share of outcomes")
        return axes


def _to_json_value(value: Any) -> Any:
    """Return a value with infinite and missing numbers as texts.

    Args:
        value: Value of nested mappings, lists and tuples.

    Returns:
        The same structure, with lists instead of tuples.
    """
    if isinstance(value, dict):
        return {name: _to_json_value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(item) for item in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _parse_json_value(value: Any) -> Any:
    """Return infinity or NaN for the texts that JSON uses for them; return other values unchanged."""
    return float(value) if value in ("inf", "-inf", "nan") else value


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1b2530}"
    "table{border-collapse:collapse;font-size:14px}"
    "td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ccd}"
    ".verdict{padding:.8rem 1rem;border-left:6px solid #4a6b5a;background:#eef4f0}"
    ".flagged{border-color:#a33;background:#fbeeee}code{background:#f0f2f5;padding:0 .2rem}"
)
"""Style sheet of reports in HTML; it loads nothing from elsewhere."""


def _draw_svg_histogram(report: Report) -> str:
    """Return an SVG of the histograms of outcomes on both neighbouring data sets, with the event shaded; empty
    without histograms.

    Args:
        report: Report of the audit.
    """
    histogram = report.histogram
    if histogram is None or not histogram.left_shares:
        return ""
    width = 720
    height = 220
    count = len(histogram.left_shares)
    largest = max(*histogram.left_shares, *histogram.right_shares, 1e-9)
    step = width / count
    shaded = "".join(
        f'<rect x="{index * step:.1f}" y="0" width="{step:.1f}" height="{height}" fill="#d9dee6"/>'
        for index, is_in_event in enumerate(histogram.in_event)
        if is_in_event
    )
    lines = ""
    for shares, colour in ((histogram.left_shares, "#27548a"), (histogram.right_shares, "#c2571a")):
        path = " ".join(
            f"{'L' if index else 'M'}{index * step:.1f},{height - height * share / largest:.1f} h{step:.1f}"
            for index, share in enumerate(shares)
        )
        lines += f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    ends = [_format_edge(histogram.edges[index]) for index in (0, -1)]
    shown = translate("Outcomes of both data sets by their score; the event is shaded")
    sides = ", ".join(
        f'<span style="color:{colour}">{escape(translate(side))}</span>'
        for side, colour in (("left data set", "#27548a"), ("right data set", "#c2571a"))
    )
    return (
        f'<figure><svg viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{escape(translate("Histogram of both data sets"))}">{shaded}{lines}</svg>'
        f"<figcaption>{escape(shown)} ({isolate_in_html(report.event)}; {escape(' ... '.join(ends))}): {sides}."
        "</figcaption></figure>"
    )


def _format_edge(edge: float) -> str:
    """Return the edge of a bin as text in the reader's language."""
    return translate(f"{edge:.4g}") if abs(edge) != inf else str(edge)
