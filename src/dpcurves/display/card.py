"""One curve as a piece of a page: for notebooks, and for reports."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from ..release import MISSING_RULE, Face
from .footer import SEEDED, footer
from .lettering import lettering

STYLE = """<style>
.dpcurves{margin:0 0 1rem;padding:1rem;border:1px solid rgba(128,128,128,.4);border-radius:8px;max-width:46rem;
 box-sizing:border-box;color:inherit;font:15px/1.5 system-ui,sans-serif;break-inside:avoid}
.dpcurves figcaption{font-size:1.15em;font-weight:600;margin:0 0 .5rem;overflow-wrap:anywhere}
.dpcurves .picture{background:#fff;border-radius:4px}
.dpcurves .picture svg{display:block;max-width:100%;height:auto;margin:0 auto}
.dpcurves table{border-collapse:collapse;margin:.75rem 0 0;width:100%;background:none;color:inherit;font-size:.93em}
.dpcurves th,.dpcurves td{text-align:left;vertical-align:top;padding:.25rem .75rem .25rem 0;background:none;
 border:0;border-top:1px solid rgba(128,128,128,.25);overflow-wrap:anywhere}
.dpcurves th{font-weight:500;width:38%}
.dpcurves td{font-variant-numeric:tabular-nums}
.dpcurves summary{cursor:pointer;margin-top:.75rem;font-size:.87em;overflow-wrap:anywhere}
.dpcurves .seeded{background:#b3261e;color:#fff;font-weight:700;padding:.35rem .75rem;border-radius:4px;
 margin:0 0 .75rem}
</style>"""
WARNING = f'<p class="seeded" role="alert">{escape(SEEDED)}</p>'


def card(title: str, svg: str, rows: Sequence[tuple[str, str]], face: Face) -> str:
    """A self-contained HTML fragment. It fits light and dark pages, and refers to nothing outside.

    Args:
        title: What is shown; also what is read out in place of the picture.
        svg: From `svg_text`; it alone is taken as markup, all else is escaped.
        rows: Names and values to be read beside the picture.
        face: Who is protected, and how well.
    """
    name = escape(lettering(title, 160))
    return "\n".join(
        filter(
            None,
            [
                STYLE, f'<figure class="dpcurves" aria-label="{name}">', f"<figcaption>{name}</figcaption>",
                WARNING if face.seeded else "", f'<div class="picture">{svg}</div>',
                _table([*rows, *(("note", note) for note in face.notes)]),
                f"<details><summary>{_summary(face)}</summary>{_table(_facts(face))}</details>", "</figure>",
            ],
        )
    )  # fmt: skip


def _summary(face: Face) -> str:
    return "<br>".join(escape(line) for line in footer(face).splitlines())


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [
        f'<tr><th scope="row">{escape(lettering(name, 80))}</th><td>{escape(lettering(value, 400))}</td></tr>'
        for name, value in rows
    ]
    return f"<table><tbody>{''.join(lines)}</tbody></table>" if lines else ""


def _facts(face: Face) -> list[tuple[str, str]]:
    facts = [
        ("privacy loss", face.loss), ("neighbours", face.adjacency), ("protects", face.protected),
        ("units", "private" if face.units is None else f"{face.units:,}, public"), ("trust", face.trust),
        ("mechanism", face.mechanism), ("missing values", MISSING_RULE), ("model", face.model), ("request", face.grant),
    ]  # fmt: skip
    return [(name, value) for name, value in facts if value]
