"""Writes what papers claim and what came out here into docs/papers.md: `python papers/pages.py`.

It is made from `claims.toml` and `verdicts.toml` of each paper's folder, never by hand.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from reproduction import claims, record, report
from reproduction.claims import Paper, Row

PAPERS = Path(__file__).resolve().parent
PAGE = PAPERS.parent / "docs" / "papers.md"
HEAD = """# Papers

What the papers behind this package state, one claim a line, and what comes out here when their experiments are run.
Made by `python papers/pages.py` from `claims.toml` and `verdicts.toml` of each folder of `papers/`; `make papers` runs
the experiments again. What is wrong in a paper, and why, stands in the [errata](errata.md).

"Ours" is the paper's way, run here; "corrected" is the same with the paper's slip put right; "dpcurves" is what this
package does instead. A claim **holds** if ours bears it out, **holds after the correction** if only the corrected way
does, and **does not hold** otherwise. Where a paper gives words and no number, the claim says in brackets what they are
taken to mean.
"""

Recorded = tuple[Paper, list[Row]]


def main() -> None:
    """Write the page."""
    PAGE.write_text(page(recorded()), encoding="utf-8")


def recorded() -> list[Recorded]:
    """All papers that have a record, by folder."""
    return [record.recorded(file.parent) for file in sorted(PAPERS.glob(f"*/{record.FILE}"))]


def table(found: Iterable[Recorded]) -> str:
    """A line for each paper: how many claims it makes, and how many have each verdict."""
    lines = [_line("paper", "claims", *claims.VERDICTS), "|---" + "|---:" * 4 + "|\n"]
    for paper, rows in found:
        counts = claims.counts(rows)
        name = f"[{paper.title}](#{anchor(paper)}) ({paper.authors})"
        lines.append(_line(name, len(rows), *(counts[verdict] for verdict in claims.VERDICTS)))
    return "".join(lines)


def page(found: Iterable[Recorded]) -> str:
    """Return the page: the number of claims of each paper by verdict, then all claims."""
    found = list(found)
    return HEAD + "\n" + table(found) + "".join(_section(paper, rows) for paper, rows in found)


def anchor(paper: Paper) -> str:
    """The anchor of the section of a paper: the name of its folder."""
    return paper.folder.name.replace("_", "-")


def _section(paper: Paper, rows: Sequence[Row]) -> str:
    said = ", ".join(f"**{verdict}** {count}" for verdict, count in claims.counts(rows).items())
    title = f"\n## {paper.title} {{ #{anchor(paper)} }}\n\n"
    head = f"{title}{paper.authors}. `papers/{paper.folder.name}/run.py`: {said}.\n\n"
    columns = _line(*report.COLUMNS[1:]) + "|---|---:|---:|---:|---:|---|\n"
    return head + _picture(paper) + columns + "".join(_claim(row) for row in rows)


def _picture(paper: Paper) -> str:
    file = PAGE.parent / "images" / "papers" / f"{paper.folder.name}.png"
    return f"![Figures of the paper, ours beside](images/papers/{file.name})\n\n" if file.exists() else ""


def _claim(row: Row) -> str:
    why = f"<br>*{row.claim.why}*" if row.claim.why else ""
    claim = f"**{row.claim.place}**<br>{row.claim.claim}{why}"
    return _line(claim, report.bound(row.claim), *report.numbers(row), row.verdict)


def _line(*cells: object) -> str:
    return "| " + " | ".join(str(cell).replace("|", "&#124;") for cell in cells) + " |\n"


if __name__ == "__main__":
    main()
