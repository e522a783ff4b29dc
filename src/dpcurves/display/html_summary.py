"""A curve as a fragment of a page: for notebooks, and for reports."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ..release import MISSING_RULE, PrivacyStatement
from .privacy_line import SEEDED, footer
from .safe_text import lettering

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


def html_summary(title: str, svg: str, rows: Sequence[tuple[str, str]], privacy: PrivacyStatement) -> str:
    """A self-contained HTML fragment. It fits light and dark pages, and refers to nothing outside.

    Args:
        title: What is shown; also what is read out in place of the picture.
        svg: From `svg_text`; it alone is taken as markup, all else is escaped.
        rows: Names and values to be read beside the picture.
        privacy: Who is protected, and how well.
    """
    name = escape(lettering(title, 160))
    return "\n".join(
        filter(
            None,
            [
                STYLE, f'<figure class="dpcurves" aria-label="{name}">', f"<figcaption>{name}</figcaption>",
                WARNING if privacy.seeded else "", f'<div class="picture">{svg}</div>',
                _table([*rows, *(("note", note) for note in privacy.notes)]),
                f"<details><summary>{_statement(privacy)}</summary>{_table(_facts(privacy))}</details>", "</figure>",
            ],
        )
    )  # fmt: skip


def summary_facts(title: str, rows: Sequence[tuple[str, str]], privacy: PrivacyStatement) -> dict[str, Any]:
    """The facts of an HTML summary, as plain objects, for pages that lay it out themselves: nothing in it is markup."""
    return {
        "title": lettering(title, 160), "summary": [list(row) for row in rows], "notes": list(privacy.notes),
        "statement": footer(privacy).splitlines(), "privacy": [list(row) for row in _facts(privacy)],
        "seeded": privacy.seeded,
    }  # fmt: skip


def _statement(privacy: PrivacyStatement) -> str:
    return "<br>".join(escape(line) for line in footer(privacy).splitlines())


def _table(rows: Sequence[tuple[str, str]]) -> str:
    lines = [
        f'<tr><th scope="row">{escape(lettering(name, 80))}</th><td>{escape(lettering(value, 400))}</td></tr>'
        for name, value in rows
    ]
    return f"<table><tbody>{''.join(lines)}</tbody></table>" if lines else ""


def _facts(privacy: PrivacyStatement) -> list[tuple[str, str]]:
    facts = [
        ("privacy loss", privacy.loss),
        ("neighbours", privacy.adjacency),
        ("protects", privacy.protected),
        ("units", "private" if privacy.units is None else f"{privacy.units:,}, public"),
        ("trust", privacy.trust),
        ("mechanism", privacy.mechanism),
        ("missing values", MISSING_RULE),
        ("model", privacy.model),
        ("request", privacy.grant),
    ]
    return [(name, value) for name, value in facts if value]
