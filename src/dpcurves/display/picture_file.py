"""Pictures as files and as inline SVG: the same picture gives the same bytes, and tells no date and no name."""

from __future__ import annotations

import re
from hashlib import sha256
from html import escape
from io import StringIO
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING

from ..arguments import Refused

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SILENT: dict[str, dict[str, None]] = {
    ".svg": {"Date": None, "Creator": None, "Format": None, "Type": None},
    ".png": {"Software": None},
    ".pdf": {"CreationDate": None, "Creator": None, "Producer": None},
}
SALT = "dpcurves"
SHARP = 200


def save_figure(ax: Axes, path: str | PathLike[str]) -> None:
    """Write the figure of `ax` to `path`, in the format that its ending names.

    Raises:
        ValueError: the ending is not .svg, .png or .pdf.
    """
    ending = Path(path).suffix.lower()
    if ending not in SILENT:
        raise Refused("plot", f"a file that ends in {', '.join(SILENT)} is needed, got {Path(path).name!r}")
    from matplotlib import rc_context

    with rc_context({"svg.hashsalt": SALT}):
        ax.figure.canvas.figure.savefig(
            path, format=ending[1:], dpi=SHARP, metadata=SILENT[ending], bbox_inches="tight", pad_inches=0.05
        )


def svg_text(ax: Axes) -> str:
    """The figure of `ax` as an SVG element to stand in a page: text stays text, nothing refers to the outside."""
    from matplotlib import rc_context

    drawn = StringIO()
    with rc_context({"svg.hashsalt": SALT, "svg.fonttype": "none"}):
        ax.figure.canvas.figure.savefig(
            drawn, format="svg", metadata=SILENT[".svg"], bbox_inches="tight", pad_inches=0.05
        )
    svg = _without_preamble(drawn.getvalue())
    mark = sha256(svg.encode()).hexdigest()[:8]
    return _described(renamed(svg, f"p{mark}"), f"{ax.get_ylabel()} against {ax.get_xlabel()}")


def renamed(markup: str, prefix: str) -> str:
    """`markup` with `prefix` before every id, and before every reference to one.

    >>> renamed('<g id="a"/><use href="#a"/><text>id="a"</text>', "b")
    '<g id="b-a"/><use href="#b-a"/><text>id="a"</text>'
    """
    return _in_tags(markup, r'(\sid="|href="#|url\(#)', rf"\g<1>{prefix}-")


def _without_preamble(svg: str) -> str:
    """No XML declaration, no namespaces (pages know SVG), no style sheet that would reach out into the page."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r"<defs>\s*</defs>", "", svg)
    svg = _in_tags(svg, r'\sxmlns(:\w+)?="[^"]*"', "")
    return re.sub(r"\n\s*\n", "\n", _in_tags(svg, r"\sxlink:href=", " href=")).strip()


def _in_tags(markup: str, pattern: str, replacement: str) -> str:
    """Only in tags: text may say what it likes. (In text and in attributes, angle brackets are escaped.)"""
    return re.sub(r"<[^>]*>", lambda tag: re.sub(pattern, replacement, tag[0]), markup)


def _described(svg: str, words: str) -> str:
    facts = f'role="img" aria-label="{escape(words)}" style="stroke-linejoin: round; stroke-linecap: butt"'
    return svg.replace("<svg", f"<svg {facts}", 1)
