"""The curves of a session as one page that needs nothing but itself."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from .balance import BalanceReport, RefusalRow
from .html_summary import STYLE as SUMMARY_STYLE
from .html_summary import WARNING
from .picture_file import renamed
from .safe_text import lettering

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
STYLE = """<style>
:root{color-scheme:light dark;--ground:#fff;--text:#1c1c21;--soft:#55555f;--line:#c9c9d1;--box:#f5f5f8;--alarm:#b3261e}
@media (prefers-color-scheme:dark){:root{--ground:#16171b;--text:#e9e9ee;--soft:#b2b2bd;--line:#44444e;--box:#212229;
 --alarm:#f2867e}}
*{box-sizing:border-box}
body{margin:0 auto;padding:1.5rem 1rem 3rem;max-width:72rem;background:var(--ground);color:var(--text);
 font:16px/1.55 system-ui,sans-serif;overflow-wrap:break-word}
h1{font-size:1.7rem;line-height:1.25;margin:0 0 .75rem}
h2{font-size:1.25rem;margin:2rem 0 .75rem}
header p{max-width:46rem}
.scroll{overflow-x:auto;margin:0 0 1.25rem}
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
.curves{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,27rem),1fr));gap:1rem;align-items:start}
.curves .dpcurves{margin:0;min-width:0;max-width:none}
.seeded{background:#b3261e;color:#fff;font-weight:700;padding:.35rem .75rem;border-radius:4px}
@media print{:root{color-scheme:light;--ground:#fff;--text:#000;--soft:#333;--line:#999;--box:#fff;--alarm:#b3261e}
 body{max-width:none;padding:0;font-size:11pt}
 .curves{display:block}.curves .dpcurves{margin-bottom:1rem}.scroll{overflow:visible}}
</style>"""


def report(
    title: str,
    introduction: str,
    curves: Sequence[str],
    balances: Sequence[BalanceReport],
    refusals: Sequence[RefusalRow] = (),
) -> str:
    """An HTML page: what was released at which price, what is left, what was refused, and all curves.

    It makes no request, runs no script, and can be printed.

    Args:
        title: The title of the page.
        introduction: Text; an empty line begins a paragraph.
        curves: One HTML summary for each, from `html_summary`.
        balances: One per account of the ledger; none, where another page tells the price.
        refusals: Questions that were not answered.
    """
    name = escape(lettering(title, 160))
    return "\n".join(
        [
            '<!DOCTYPE html>', '<html lang="en">', "<head>", '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">', f"<title>{name}</title>",
            SUMMARY_STYLE, STYLE, "</head>", "<body>", f"<header><h1>{name}</h1>", _banner(curves),
            _paragraphs(introduction), "</header>", "<main>", _accounts(balances), _refused(refusals), _curves(curves),
            "</main>", "</body>", "</html>", "",
        ]
    )  # fmt: skip


def _banner(curves: Sequence[str]) -> str:
    return WARNING if any(WARNING in text for text in curves) else ""


def _paragraphs(text: str) -> str:
    return "\n".join(f"<p>{escape(' '.join(part.split()))}</p>" for part in text.split("\n\n") if part.strip())


def _accounts(balances: Sequence[BalanceReport]) -> str:
    if not balances:
        return ""
    accounts = "\n".join(_account(balance) for balance in balances)
    return f'<section aria-label="Privacy budget"><h2>What was released, and its price</h2>\n{accounts}\n</section>'


def _account(balance: BalanceReport) -> str:
    name = _cell(balance.dataset)
    summary = _cell(f"budget {balance.budget}, spent {balance.spent}, left {balance.left}")
    return (
        f'<h3 class="budget">{name} <span>({summary})</span></h3>\n'
        f'<div class="scroll" role="region" tabindex="0" aria-label="Account of {name}">\n{_charges(balance)}\n</div>'
    )


def _charges(balance: BalanceReport) -> str:
    rows = "\n".join(
        f'<tr><th scope="row">{_cell(charge.question)}</th><td class="price">{_cell(charge.price)}</td>'
        f'<td class="request">{_cell(charge.request)}</td><td>{_cell(charge.when)}</td></tr>'
        for charge in balance.charges
    )
    heads = "".join(f'<th scope="col">{word}</th>' for word in ("question", "price", "request", "when (UTC)"))
    left = f'<tr><th scope="row">left</th><td class="price" colspan="3">{_cell(balance.left)}</td></tr>'
    return (
        f'<table class="account">\n<thead><tr>{heads}</tr></thead>\n<tbody>\n{rows}\n</tbody>\n'
        f"<tfoot>{left}</tfoot>\n</table>"
    )


def _refused(refusals: Sequence[RefusalRow]) -> str:
    if not refusals:
        return ""
    rows = "\n".join(f"<dt>{_cell(each.question)}</dt><dd>{_cell(each.reason)}</dd>" for each in refusals)
    return f'<section class="refused" aria-label="Refused questions"><h2>Refused</h2>\n<dl>\n{rows}\n</dl></section>'


def _curves(curves: Sequence[str]) -> str:
    parts = [renamed(text.replace(SUMMARY_STYLE, ""), f"c{number}") for number, text in enumerate(curves, 1)]
    return f'<section aria-label="Curves"><h2>Curves</h2>\n<div class="curves">{"".join(parts)}</div></section>'


def _cell(text: str) -> str:
    return escape(lettering(text, 400))
