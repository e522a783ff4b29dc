"""Display of small objects, such as grids and losses, in notebooks (HTML) and terminals: a title and rows of facts.

`ObjectSummary.to_html` returns a fragment with its own style sheet (`STYLE`), which notebooks show; `to_rich` returns a
table for terminals. Names and texts may come from the user, so both forms escape them.

>>> grid = ObjectSummary("grid", [("column", "age"), ("cells", "64")])
>>> grid.to_rich().row_count
2
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, NamedTuple

from .foreign_text import isolate_in_html

if TYPE_CHECKING:
    from rich.table import Table


class ObjectSummary(NamedTuple):
    """The title of an object and facts about it.

    Attributes:
        title: Kind of the object.
        rows: Facts, each a name and a text.
    """

    title: str
    rows: Sequence[tuple[str, str]]

    def to_html(self) -> str:
        """Return the summary as a self-contained HTML fragment for notebooks.

        >>> "<th scope=\\"row\\">cells</th><td>64</td>" in ObjectSummary("grid", [("cells", "64")]).to_html()
        True
        """
        rows = "".join(
            f'<tr><th scope="row">{isolate_in_html(name)}</th><td>{isolate_in_html(text)}</td></tr>'
            for name, text in self.rows
        )
        return (
            f'{STYLE}\n<figure class="dpcurves" aria-label="{escape(self.title)}">'
            f"<figcaption>{isolate_in_html(self.title)}</figcaption><table><tbody>{rows}</tbody></table></figure>"
        )

    def to_rich(self) -> Table:
        """Return the summary as a table of the library rich, for terminals."""
        from rich.table import Table
        from rich.text import Text

        table = Table(title=Text(self.title), title_justify="left", show_header=False)
        for name, text in self.rows:
            table.add_row(Text(name), Text(text))
        return table


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
.dpcurves .scroll{overflow-x:auto}
.dpcurves .numbers caption{text-align:left;font-weight:600;padding:.25rem 0}
.dpcurves .numbers th{width:auto;vertical-align:bottom}
.dpcurves .numbers th,.dpcurves .numbers td{overflow-wrap:normal}
.dpcurves .numbers .num{text-align:right}
.dpcurves summary{cursor:pointer;margin-top:.75rem;font-size:.87em;overflow-wrap:anywhere}
.dpcurves .files{font-size:.87em;margin:.75rem 0 0;overflow-wrap:anywhere}
@media (max-width:30rem){.dpcurves table:not(.numbers) :is(th,td){display:block;width:auto}
 .dpcurves table:not(.numbers) td{border-top:0;padding-top:0}}
@media print{.dpcurves details:not(.all)::details-content{content-visibility:visible;block-size:auto}}
.dpcurves .seeded{background:#b3261e;color:#fff;font-weight:700;padding:.35rem .75rem;border-radius:4px;
 margin:0 0 .75rem}
</style>"""
"""Style sheet of the boxes in which notebooks show objects and results; a page of several results has it once."""
