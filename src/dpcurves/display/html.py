"""Render released results as HTML: a fragment per result for notebooks, and a page with all results of a session.

- `html_summary` returns a ``<figure>`` with the plot, the main numbers, the notes and the privacy statement.
- `render_report` returns a page of these figures, with the charges, the remaining budget and the refused questions.
- `summary_facts` returns the same content as plain objects, for programs that lay out the content themselves.
- `render_table_summary` and `account_summary` return fragments with a table, and with the account of a session.

Pages run no scripts and load nothing from elsewhere (`CONTENT_SECURITY_POLICY`). Every text is escaped, so that the
name of a column cannot become markup, and isolated, so that its direction of writing does not change the text around
it. Only pictures are inserted as markup.

The module shows released numbers and reads no records.

>>> "8 &lt; 9" in _format_table([("rule", "8 < 9")])
True
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..conversation import MISSING_RULE, PrivacyStatement
from ..foreign_text import isolate_in_html
from ..object_summary import STYLE
from ..translation import name_language, translate
from .canvas import prefix_ids
from .numerals import format_distinct_labels, format_label
from .result_tables import ResultTable
from .text import SEEDED_STATEMENT, BalanceReport, RefusalRow, describe_mechanism, describe_trust, footer, warns_of_seed

INTRODUCTION = (
    "Every number on this page was read from noisy counts; none is that of a single record. Intervals for these "
    "records allow for the noise alone, those for the population for sampling, too."
)
"""First paragraph of a published page of results."""
SEEDED_WARNING_TAG = '<p class="seeded" role="alert">'
"""Start tag of the warning that a release is seeded, so that anybody can reproduce its noise. A page of several results
with such a tag has the warning on top, too."""


def html_summary(
    title: str,
    svg: str,
    rows: Sequence[tuple[str, str]],
    privacy: PrivacyStatement,
    text: str = "",
    *,
    tables: Sequence[ResultTable] = (),
    links: Sequence[tuple[str, str]] = (),
) -> str:
    """Return one result as an HTML fragment with its own styles, for light and dark pages.

    Args:
        title: Title of the figure, also the text alternative of the plot.
        svg: The plot, as `svg_text` returns it. It is inserted as markup; all other arguments are escaped.
        rows: Name and text of each main number, for a table below the plot.
        privacy: Privacy statement of the release.
        text: Text above the plot. Paragraphs are separated by empty lines.
        tables: Further tables below the plot. Those with `ResultTable.is_detail` are folded.
        links: Text and file name of each link to a file of the same folder. A text with an empty name is no link.
    """
    title = format_label(translate(title), 160)
    name = escape(title)
    statement = "<br>".join(map(isolate_in_html, translate(footer(privacy)).splitlines()))
    all_numbers = escape(translate("Table of the numbers"))
    paragraphs = (f"<p>{isolate_in_html(paragraph)}</p>" for paragraph in text.split("\n\n") if paragraph.strip())
    sections = [
        STYLE, f'<figure class="dpcurves" aria-label="{name}">', f"<figcaption>{isolate_in_html(title)}</figcaption>",
        _warn_of_seed() if warns_of_seed(privacy) else "", "".join(paragraphs), f'<div class="picture">{svg}</div>',
        *(table.to_html() for table in tables if not table.is_detail),
        _format_table([*rows, *(("note", note) for note in privacy.notes)]),
        *(f'<details class="all"><summary>{all_numbers}</summary>{table.to_html()}</details>' for table in tables
          if table.is_detail),
        f'<p class="files">{_format_links(links)}</p>' if links else "",
        f"<details><summary>{statement}</summary>{_format_table(statement_rows(privacy))}</details>", "</figure>",
    ]  # fmt: skip
    return "\n".join(filter(None, sections))


def _warn_of_seed() -> str:
    """Return, as HTML, the warning that a release is seeded, so that its noise is not secret."""
    return f"{SEEDED_WARNING_TAG}{escape(translate(SEEDED_STATEMENT))}</p>"


def _format_links(links: Sequence[tuple[str, str]]) -> str:
    """Return links to files of the same folder in one line of HTML.

    Args:
        links: Text and file name of each link. A text with an empty name is no link.

    Returns:
        The links, separated by dots; empty without links. Texts and names are escaped.
    """
    return " &middot; ".join(
        f'<a href="{escape(name)}">{isolate_in_html(text)}</a>' if name else isolate_in_html(translate(text))
        for text, name in links
    )


def summary_facts(
    title: str, rows: Sequence[tuple[str, str]], privacy: PrivacyStatement, tables: Sequence[ResultTable] = ()
) -> dict[str, Any]:
    """Return the content of `html_summary` as plain objects without markup, ready for JSON.

    Args:
        title: Title of the result.
        rows: Name and text of each main number.
        privacy: Privacy statement and notes of the result.
        tables: Further tables.

    Returns:
        The keys ``title``, ``summary``, ``notes``, ``statement``, ``privacy``, ``seeded`` and ``tables``.
    """
    return {
        "title": format_label(title, 160), "summary": [list(row) for row in rows], "notes": list(privacy.notes),
        "statement": footer(privacy).splitlines(), "privacy": [list(row) for row in statement_rows(privacy)],
        "seeded": privacy.seeded, "tables": [table.to_plain_objects() for table in tables],
    }  # fmt: skip


def _format_table(rows: Sequence[tuple[str, str]]) -> str:
    """Return names and texts as the rows of an HTML table. Without rows, return an empty text.

    Args:
        rows: Name and text of each row. Both are translated and escaped; long ones are cut.
    """
    names = format_distinct_labels([translate(name) for name, _ in rows], 80)
    lines = [
        f'<tr><th scope="row">{isolate_in_html(name)}</th><td>{_format_cell(translate(value))}</td></tr>'
        for name, (_, value) in zip(names, rows, strict=True)
    ]
    return f"<table><tbody>{''.join(lines)}</tbody></table>" if lines else ""


def statement_rows(privacy: PrivacyStatement) -> list[tuple[str, str]]:
    """Return name and text of each fact of the privacy statement: loss, neighbours, unit, trust, mechanism and others.
    Facts that do not apply are left out.

    Args:
        privacy: The privacy statement.
    """
    facts = [
        ("privacy loss", privacy.loss),
        ("neighbours", privacy.adjacency),
        ("protects", privacy.protected_unit),
        ("units", "private" if privacy.units is None else f"{privacy.units:,}, public"),
        ("trust", describe_trust(privacy)),
        ("mechanism", describe_mechanism(privacy.mechanism)),
        ("records", f"where {privacy.where}" if privacy.where else ""),
        ("missing values", MISSING_RULE),
        ("model", privacy.model),
        ("request", privacy.grant),
        ("data", privacy.source),
    ]
    return [(name, value) for name, value in facts if value]


CONTENT_SECURITY_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""Content security policy of pages: browsers load nothing and run no script, even if a name in the data were markup.
Images inside the page, such as heat maps, are shown."""
PAGE_STYLE = """<style>
:root{color-scheme:light dark;--ground:#fff;--text:#1c1c21;--soft:#55555f;--line:#c9c9d1;--box:#f5f5f8;--alarm:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#16171b;--text:#e9e9ee;--soft:#b2b2bd;--line:#44444e;--box:#212229;
 --alarm:#f2867e}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:72rem;background:var(--ground);color:var(--text);
 font:16px/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.25rem;margin:2rem 0 .75rem}
header p{max-width:46rem}
.scroll,.dpcurves .scroll{overflow-x:auto;margin:0 0 1.25rem;background:
 linear-gradient(to right,var(--ground) 1.5rem,transparent 3rem) local,
 linear-gradient(to left,var(--ground) 1.5rem,transparent 3rem) local,
 linear-gradient(to right,var(--line),transparent .8rem),linear-gradient(to left,var(--line),transparent .8rem)}
:is(.numbers,.account) :is(th,td):first-child{position:sticky;left:0;max-width:45vw;background:var(--ground)}
.account{border-collapse:collapse;width:100%;font-size:.93rem}
.budget{margin:1.25rem 0 .35rem;font-size:1rem}
.budget span{font-weight:400;color:var(--soft)}
.account th,.account td{text-align:left;vertical-align:top;
 padding:.35rem .9rem .35rem 0;border-top:1px solid var(--line)}
.account thead th{color:var(--soft);font-weight:500;border-top:0}
.account tbody th{font-weight:400;min-width:11rem}
.account .price{white-space:nowrap;font-variant-numeric:tabular-nums}
.account .request{font-family:ui-monospace,monospace;font-size:.85em;overflow-wrap:anywhere;min-width:8rem}
.account tfoot th,.account tfoot td{font-weight:600}
.refused{border-left:4px solid var(--alarm);background:var(--box);padding:.75rem 1rem;border-radius:0 6px 6px 0}
.refused h2{margin:0 0 .5rem;color:var(--alarm)}
.refused dt{font-weight:600}
.refused dl{margin:0}
.refused dd{margin:0 0 .5rem}
.curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,27rem),1fr));gap:1rem;align-items:start}
.curves .dpcurves{margin:0;min-width:0;max-width:none}
.seeded{background:#b3261e;color:#fff;font-weight:700;padding:.35rem .75rem;border-radius:4px}
@media print{:root{color-scheme:light;--ground:#fff;--text:#000;--soft:#333;--line:#999;--box:#fff;--alarm:#b3261e}
 body{max-width:none;padding:0;font-size:11pt}
 .curves{display:block}.curves .dpcurves{margin-bottom:1rem}.scroll,.dpcurves .scroll{overflow:visible;background:none}}
</style>"""
"""Style sheet of pages: light and dark colours as the reader's system has them, tables that scroll on narrow screens,
and print."""


def render_report(
    title: str,
    introduction: str,
    curves: Sequence[str],
    balances: Sequence[BalanceReport],
    refusals: Sequence[RefusalRow] = (),
    *,
    links: Sequence[str] = (),
) -> str:
    """Return a complete HTML page with the charges, the remaining budget, the refused questions and all results.

    The page makes no requests, runs no scripts, and can be printed.

    Args:
        title: Title of the page.
        introduction: Text at the top. Paragraphs are separated by empty lines.
        curves: Fragments from `html_summary`, one per result.
        balances: Accounts of the ledger. Empty: no budget is shown.
        refusals: Questions that were not answered, with reasons.
        links: Names of files of the same folder that hold all results.
    """
    name = escape(format_label(title, 160))
    heading = escape(translate("Curves"))
    paragraphs = [
        f"<p>{isolate_in_html(paragraph)}</p>" for paragraph in introduction.split("\n\n") if paragraph.strip()
    ]
    sections = [prefix_ids(text.replace(STYLE, ""), f"c{number}") for number, text in enumerate(curves, 1)]
    if len(sections) == 1:  # a single result needs no title below the same title of the page
        caption = f"<figcaption>{isolate_in_html(format_label(title, 160))}</figcaption>"
        sections = [sections[0].replace(caption, "", 1)]
    return "\n".join(
        [
            '<!DOCTYPE html>', f'<html lang="{name_language()}">', "<head>", '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{CONTENT_SECURITY_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">', f"<title>{name}</title>",
            STYLE, PAGE_STYLE, "</head>", "<body>", f"<header><h1>{isolate_in_html(format_label(title, 160))}</h1>",
            _warn_of_seed() if any(SEEDED_WARNING_TAG in text for text in curves) else "", "\n".join(paragraphs),
            f"<p>{escape(translate('Files'))}: {_format_links([(link, link) for link in links])}</p>" if links else "",
            "</header>", "<main>",
            _format_accounts(balances), _format_refusals(refusals),
            f'<section aria-label="{heading}"><h2>{heading}</h2>',
            f'<div class="curves">{"".join(sections)}</div></section>',
            "</main>", "</body>", "</html>", "",
        ]
    )  # fmt: skip


def render_table_summary(title: str, columns: Mapping[str, Sequence[str]], notes: Sequence[str] = ()) -> str:
    """Return an HTML fragment with a title, a table and notes, for notebooks.

    Args:
        title: Title above the table.
        columns: Texts of each column by its heading. All columns have equal lengths.
        notes: Paragraphs below the table.
    """
    heads = "".join(f'<th scope="col">{isolate_in_html(name)}</th>' for name in columns)
    rows = ""
    for texts in zip(*columns.values(), strict=True):
        cells = "".join(f"<td>{_format_cell(text)}</td>" for text in texts)
        rows += f"<tr>{cells}</tr>"
    paragraphs = "".join(f"<p>{isolate_in_html(note)}</p>" for note in notes)
    return (
        f'{STYLE}\n<figure class="dpcurves" aria-label="{escape(title)}">'
        f"<figcaption>{isolate_in_html(title)}</figcaption>"
        f'<table class="numbers"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>{paragraphs}</figure>'
    )


def account_summary(balance: BalanceReport, guarantee: str) -> str:
    """Return the account of a session as an HTML fragment: budget, spent and remaining loss, and the 20 latest charges.

    Args:
        balance: The account. Of earlier charges only their number is shown.
        guarantee: Neighbouring relation and privacy unit, as text.
    """
    title = format_label(translate(f"Budget of {balance.dataset}"), 160)
    name = escape(title)
    rows = [("budget", balance.budget), ("spent", balance.spent), ("left", balance.remaining), ("guarantee", guarantee)]
    # the 20 latest charges
    paid = [(f"{charge.when}, {charge.price}", charge.question) for charge in balance.charges[-20:]]
    more = len(balance.charges) - len(paid)
    facts = [*rows, *([("earlier charges", str(more))] if more else []), *paid]
    return "\n".join([
        STYLE, f'<figure class="dpcurves" aria-label="{name}">', f"<figcaption>{_format_cell(title)}</figcaption>",
        _format_table(facts),
        "</figure>",
    ])  # fmt: skip


def _format_accounts(balances: Sequence[BalanceReport]) -> str:
    """Return the accounts of a ledger as a section of the page.

    Args:
        balances: Accounts with their charges. Empty: the text is empty, too.
    """
    if not balances:
        return ""
    accounts = "\n".join(_format_account(balance) for balance in balances)
    label = escape(translate("Privacy budget"))
    heading = escape(translate("What was released, and its price"))
    return f'<section aria-label="{label}"><h2>{heading}</h2>\n{accounts}\n</section>'


def _format_account(balance: BalanceReport) -> str:
    """Return one account as HTML: its name, the budget, and a table of its charges.

    Args:
        balance: The account. All texts are escaped, and long ones cut.
    """
    name = _format_cell(balance.dataset)
    dataset = format_label(balance.dataset, 400)
    amounts = translate(f"budget {balance.budget}, spent {balance.spent}, left {balance.remaining}")
    rows = "\n".join(
        f'<tr><th scope="row">{_format_cell(translate(charge.question))}</th>'
        f'<td class="price">{_format_cell(translate(charge.price))}</td>'
        f'<td class="request">{_format_cell(charge.request)}</td><td>{_format_cell(translate(charge.when))}</td></tr>'
        for charge in balance.charges
    )
    titles = map(translate, ("question", "price", "request", "when (UTC)"))
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title in titles)
    remaining_row = (
        f'<tr><th scope="row">{escape(translate("left"))}</th>'
        f'<td class="price" colspan="3">{_format_cell(translate(balance.remaining))}</td></tr>'
    )
    return (
        f'<h3 class="budget">{name} <span>({_format_cell(amounts)})</span></h3>\n'
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(translate(f"Account of {dataset}"))}">\n'
        f'<table class="account">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n'
        f"<tfoot>{remaining_row}</tfoot>\n</table>\n</div>"
    )


def _format_refusals(refusals: Sequence[RefusalRow]) -> str:
    """Return refused questions with reasons as a section of the page. Without refusals, return an empty text.

    Args:
        refusals: Questions that were not answered, with reasons.
    """
    if not refusals:
        return ""
    rows = "\n".join(
        f"<dt>{_format_cell(translate(refusal.question))}</dt><dd>{_format_cell(refusal.reason)}</dd>"
        for refusal in refusals
    )
    heading = escape(translate("Refused questions"))
    return f'<section class="refused" aria-label="{heading}"><h2>{heading}</h2>\n<dl>\n{rows}\n</dl></section>'


def _format_cell(text: str) -> str:
    """Return a text as escaped HTML, cut at 400 characters.

    Args:
        text: Any text.
    """
    return isolate_in_html(format_label(text, 400))
