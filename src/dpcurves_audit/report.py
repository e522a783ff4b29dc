"""The report of an audit: verdict, bound against claim, pair and event, what was tried, what would have been seen."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from html import escape
from math import inf, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpcurves.privacy import format_loss

if TYPE_CHECKING:
    from matplotlib.axes import Axes

NO_PROOF = "Not flagged is no proof."
FORMAT = "dpcurves-audit 1"
NO_ANSWER = "raises ", "hangs", "ends with", "writes no"
"""Beginnings of kinds of outcomes that are no answers."""


@dataclass(frozen=True)
class PairResult:
    """A pair that was looked at.

    Attributes:
        pair: Its name.
        samples: Outcomes of each data set.
        event: The best event, in words.
        estimated_loss: Privacy loss that it suggested, lowered by its error; None: none.
    """

    pair: str
    samples: int
    event: str
    estimated_loss: float | None


@dataclass(frozen=True)
class Finding:
    """A finding beside the bound.

    Attributes:
        name: Its name.
        message: A sentence.
        is_flagged: Whether it contradicts the claim.
    """

    name: str
    message: str
    is_flagged: bool


@dataclass(frozen=True)
class ScoreHistogram:
    """Histogram of a score on both sides, from the fresh samples.

    Attributes:
        edges: Edges of its bars.
        left_shares: Shares of the left data set.
        right_shares: Shares of the right one.
        in_event: Which bars the event holds.
    """

    edges: tuple[float, ...]
    left_shares: tuple[float, ...]
    right_shares: tuple[float, ...]
    in_event: tuple[bool, ...]


@dataclass(frozen=True)
class Report:
    """The report of an audit.

    Attributes:
        release: The release, in words.
        family: Its family of neighbours, in words.
        adjacency: The neighbours.
        parameter: Currency of the claim: epsilon or rho.
        claimed_loss: The loss that is claimed.
        delta: Delta of the claim.
        confidence: Chance, at least, with which the bound holds.
        lower_bound: Lower bound on the privacy loss, in the currency of the claim.
        second_lower_bound: A second bound, from other samples, where the first one was above the claim; None: it was not.
        pair: Name of the pair that it comes from.
        event: The event, in words.
        likelier_side: The data set, left or right, on which the event is likelier.
        hits: Hits of the event on this data set, and on the other one.
        samples: Fresh samples of both data sets in the same order, of which these are hits.
        calls: Calls of the release in all.
        seconds: Seconds that the audit took.
        detectable_deficit: Share of noise that could be missing from a count without being found in 9 of 10 runs; None: all.
        pair_results: Pairs that were looked at.
        kinds: Kinds of outcomes that were seen.
        findings: Findings beside the bound.
        histogram: Histogram; None: nothing was sampled afresh.
        rounds: Rounds that were done.
        command: A way to run it again.
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
    command: str = field(default="", compare=False)

    @property
    def is_flagged(self) -> bool:
        """Tell whether the release was found to lose more than is claimed."""
        beyond = self.lower_bound > self.claimed_loss and (
            self.second_lower_bound is None or self.second_lower_bound > self.claimed_loss
        )
        return beyond or any(each.is_flagged for each in self.findings)

    @property
    def is_silent(self) -> bool:
        """Tell whether no call gave an answer: all of them raised, hung or ended. Such an audit has seen nothing."""
        return bool(self.kinds) and all(each.startswith(NO_ANSWER) for each in self.kinds)

    @property
    def epsilon_lower(self) -> float:
        """Lower bound on epsilon. A bound on rho gives none."""
        return self.lower_bound if self.parameter == "epsilon" else 0.0

    @property
    def rho_lower(self) -> float:
        """Lower bound on rho, where rho is claimed."""
        return self.lower_bound if self.parameter == "rho" else 0.0

    def with_findings(self, *findings: Finding) -> Report:
        """The report with more findings."""
        return replace(self, findings=(*self.findings, *findings))

    @property
    def claim(self) -> str:
        """The claim in words."""
        return f"{self.parameter} {format_loss(self.claimed_loss)}" + (
            f" at delta {format_loss(self.delta)}" if self.delta else ""
        )

    @property
    def power_statement(self) -> str:
        """A sentence on the excess that could have been seen."""
        number = min(self.samples) if self.event else 0
        if self.detectable_deficit is None:
            return (
                f"With {number:,} fresh samples of each data set not even a count without noise would have been found."
            )
        return (
            f"With {number:,} fresh samples of each data set, a count with {100 * self.detectable_deficit:.0f} % too little noise "
            "would have been found in 9 of 10 runs; less than that would not."
        )

    @property
    def verdict(self) -> str:
        """A sentence."""
        if self.lower_bound > self.claimed_loss and self.is_flagged:
            return (
                f"Flagged: {self.parameter} is at least {self.lower_bound:.4g} with confidence {self.confidence:g}; "
                f"claimed is {self.claim}."
            )
        found = [each for each in self.findings if each.is_flagged]
        if found:
            return f"Flagged: {found[0].message}"
        told = f"Not flagged: {self.parameter} is at least {max(0.0, self.lower_bound):.4g} with confidence {self.confidence:g}"
        return f"{told}; claimed is {self.claim}."

    @property
    def hit_summary(self) -> str:
        """Hits of the event on both data sets, in words."""
        (ours, theirs), (first, second) = self.hits, self.samples
        return f"{ours:,} of {first:,} outcomes on the {self.likelier_side} data set, {theirs:,} of {second:,} on the other"

    def __str__(self) -> str:
        lines = [self.verdict] if self.is_flagged else [f"{NO_PROOF} {self.power_statement}", self.verdict]
        if self.event:
            lines += [f"pair: {self.pair} ({self.adjacency})", f"event: {self.event}; {self.hit_summary}"]
        if self.second_lower_bound is not None:
            lines.append(f"once more, on other samples: {self.parameter} is at least {self.second_lower_bound:.4g}")
        lines += [f"{each.name}: {each.message}" for each in self.findings]
        lines.append(
            f"{len(self.pair_results)} pairs of {self.family}, {self.calls:,} calls, {self.seconds:.1f} seconds"
        )
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything in it, as JSON can hold it: infinite numbers are texts."""
        return {"format": FORMAT, "flagged": self.is_flagged, "verdict": self.verdict, **_to_json_value(asdict(self))}

    def to_json(self, path: str | Path | None = None) -> str:
        """JSON, and a file of it if a path is given."""
        text = json.dumps(self.to_dict(), indent=1)
        if path is not None:
            Path(path).write_text(text + "\n", encoding="utf-8")
        return text

    @classmethod
    def from_dict(cls, found: Mapping[str, Any]) -> Report:
        """The report that `to_dict` wrote."""
        own = {each.name for each in fields(cls)}
        given = {name: _parse_json_value(value) for name, value in found.items() if name in own}
        given["pair_results"] = tuple(PairResult(**each) for each in found.get("pair_results", ()))
        given["findings"] = tuple(Finding(**each) for each in found.get("findings", ()))
        shown = found.get("histogram")
        given["histogram"] = (
            None
            if shown is None
            else ScoreHistogram(**{name: tuple(map(_parse_json_value, row)) for name, row in shown.items()})
        )
        for name in ("hits", "samples", "kinds"):
            given[name] = tuple(found.get(name, ()))
        return cls(**given)

    def to_html(self, path: str | Path | None = None) -> str:
        """One page that needs nothing else, and a file of it if a path is given."""
        verdict = escape(self.verdict)
        first = "" if self.is_flagged else f"<strong>{NO_PROOF}</strong> {escape(self.power_statement)}<br>"
        rows = {
            "release": self.release, "claimed": self.claim, "neighbours": self.adjacency, "family": self.family,
            "lower bound": f"{self.parameter} {self.lower_bound:.4g}, with confidence {self.confidence:g}",
            "once more, on other samples": "" if self.second_lower_bound is None else f"{self.parameter} {self.second_lower_bound:.4g}",
            "pair": self.pair, "event": self.event,
            "hits": self.hit_summary if self.event else "",
            "calls, seconds": f"{self.calls:,}, {self.seconds:.1f}",
            "could be seen": self.power_statement,
            "kinds of outcomes": "; ".join(self.kinds[:12]),
            "run again": self.command,
        }  # fmt: skip
        told = "".join(f"<tr><th>{name}</th><td>{escape(words)}</td></tr>" for name, words in rows.items() if words)
        found = "".join(
            f"<li>{'<strong>flagged</strong> ' if each.is_flagged else ''}{escape(each.name)}: {escape(each.message)}</li>"
            for each in self.findings
        )
        tried = "".join(
            f"<tr><td>{escape(each.pair)}</td><td>{each.samples:,}</td><td>{escape(each.event)}</td>"
            f"<td>{'' if each.estimated_loss is None else f'{each.estimated_loss:.3g}'}</td></tr>"
            for each in self.pair_results
        )
        text = (
            f'<!doctype html><html lang="en"><meta charset="utf-8"><title>Audit of {escape(self.release)}</title>'
            f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style>'
            f"<h1>Audit of {escape(self.release)}</h1>"
            f'<p class="verdict{" flagged" if self.is_flagged else ""}">{first}{verdict}</p>'
            f"{_draw_svg_histogram(self)}<table>{told}</table>"
            + (f"<h2>Beside the bound</h2><ul>{found}</ul>" if found else "")
            + "<h2>Tried</h2><table><tr><th>pair</th><th>samples of each</th><th>best event</th><th>suggests</th></tr>"
            + f"{tried}</table></html>\n"
        )
        if path is not None:
            Path(path).write_text(text, encoding="utf-8")
        return text

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the histogram of both sides with the event shaded."""
        from matplotlib import pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        if self.histogram is not None:
            places = range(len(self.histogram.left_shares))
            axes.step(places, self.histogram.left_shares, where="mid", label="left")
            axes.step(places, self.histogram.right_shares, where="mid", label="right")
            for place, inside in enumerate(self.histogram.in_event):
                if inside:
                    axes.axvspan(place - 0.5, place + 0.5, alpha=0.15, color="0.3", linewidth=0)
            axes.legend()
        axes.set_title(self.verdict, fontsize="small", wrap=True)
        axes.set_xlabel(self.event or "no event")
        axes.set_ylabel("share of outcomes")
        return axes


def _to_json_value(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _to_json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_to_json_value(each) for each in value]
    return str(value) if isinstance(value, float) and not isfinite(value) else value


def _parse_json_value(value: Any) -> Any:
    return float(value) if value in ("inf", "-inf", "nan") else value


STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem;color:#1b2530}"
    "table{border-collapse:collapse;font-size:14px}"
    "td,th{padding:.2rem .6rem;text-align:left;border-bottom:1px solid #ccd}"
    ".verdict{padding:.8rem 1rem;border-left:6px solid #4a6b5a;background:#eef4f0}"
    ".flagged{border-color:#a33;background:#fbeeee}code{background:#f0f2f5;padding:0 .2rem}"
)


def _draw_svg_histogram(report: Report) -> str:
    """Both histograms, and the event shaded, as SVG."""
    shown = report.histogram
    if shown is None or not shown.left_shares:
        return ""
    wide, high, count = 720, 220, len(shown.left_shares)
    most = max(*shown.left_shares, *shown.right_shares, 1e-9)
    step = wide / count
    shade = "".join(
        f'<rect x="{place * step:.1f}" y="0" width="{step:.1f}" height="{high}" fill="#d9dee6"/>'
        for place, inside in enumerate(shown.in_event)
        if inside
    )
    lines = ""
    for shares, colour in ((shown.left_shares, "#27548a"), (shown.right_shares, "#c2571a")):
        path = " ".join(
            f"{'L' if place else 'M'}{place * step:.1f},{high - high * share / most:.1f} h{step:.1f}"
            for place, share in enumerate(shares)
        )
        lines += f'<path d="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    words = escape(f"{report.event}, from {_format_edge(shown.edges[0])} to {_format_edge(shown.edges[-1])}")
    return (
        f'<figure><svg viewBox="0 0 {wide} {high}" role="img" aria-label="Histogram of both data sets">'
        f"{shade}{lines}</svg>"
        f'<figcaption>Outcomes of the <span style="color:#27548a">left</span> and the '
        f'<span style="color:#c2571a">right</span> data set by their score; the event is shaded: {words}.'
        "</figcaption></figure>"
    )


def _format_edge(edge: float) -> str:
    return f"{edge:.4g}" if abs(edge) != inf else str(edge)
