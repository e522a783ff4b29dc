"""Review sheet of a ledger: the questions of reviewers of differential privacy, answered from the ledger and results.

The sheet names people, requests and purposes, so it lies in a folder of its own and never in a published one.

The questions are worded afresh after the topics of two guides: NIST SP 800-226, *Guidelines for Evaluating Differential
Privacy Guarantees*, March 2025 (privacy loss, unit of privacy, trust model, algorithms and their implementation, data
collection and access control, utility and bias), and the W3C Group Draft Note *Considerations for Reviewing
Differential Privacy Systems*, 12 February 2026.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from importlib.metadata import version
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from .arguments import InvalidArgument
from .curves.result import ReleasedResult
from .display import SEEDED, BalanceReport, describe_mechanism, describe_trust
from .display.text import format_amount
from .foreign_text import escape_for_markdown
from .ledger import Account, EventEntry, Ledger, Statement, StatementLine
from .publication import CHECKSUMS, PAGE, PRIVACY_TEXT
from .registry import About

SHEET = "REVIEW.md"
OPEN_ANSWER = "**Open:** ______________________________"
NIST, W3C = "NIST SP 800-226", "W3C draft note"
SOURCES = (
    "- NIST SP 800-226: J. Near, D. Darais, N. Lefkovitz, G. Howarth, *Guidelines for Evaluating Differential Privacy "
    "Guarantees*, March 2025, <https://doi.org/10.6028/NIST.SP.800-226>.\n"
    "- W3C draft note: *Considerations for Reviewing Differential Privacy Systems*, W3C Group Draft Note, 12 February "
    "2026.\n\n"
    "The questions follow the topics of these guides; their wording is that of dpcurves."
)


class ReviewQuestion(NamedTuple):
    """A question of the sheet.

    Attributes:
        topic: Heading above it.
        text: The question.
        source: The guide and its topic.
        answer: The answer in Markdown; empty: open.
    """

    topic: str
    text: str
    source: str
    answer: str


def write_review(
    ledger: Ledger,
    folder: str | Path,
    *,
    datasets: Sequence[str] = (),
    about: About | None = None,
    results: Mapping[str, ReleasedResult] | None = None,
) -> Path:
    """Write ``REVIEW.md`` of a ledger into a folder of its own, and return its path. Reads no confidential data.

    Args:
        ledger: The ledger. Its whole chain is verified first.
        folder: A folder that is new, empty, or holds an earlier review; not a published folder, nor inside one.
        datasets: Accounts to review; empty: all.
        about: Facts that the ledger does not know.
        results: Released results by name, for mechanism and trust model of the requests that they answer.

    Raises:
        ValueError: the folder is published or holds other files, or the ledger was changed without its key.
    """
    place = Path(folder)
    require_unpublished(place)
    text = describe_review(ledger, datasets, About() if about is None else about, results or {})
    try:
        place.mkdir(parents=True, exist_ok=True)
        sheet = place / SHEET
        sheet.touch(0o600)  # for its owner alone, because it names people
        sheet.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidArgument(
            "out", f"{str(folder)!r} cannot be written ({error.strerror}); name a folder where you may write"
        ) from None
    return sheet


def require_unpublished(folder: Path) -> None:
    """Refuse a folder with files of other origin, and a folder that `publish` wrote or that lies inside one.

    Raises:
        ValueError: names a folder of its own as the way out.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("out", "this path is a file; name a folder")
    full_path = Path(os.path.realpath(folder))
    if any(_is_published(parent) for parent in (full_path, *full_path.parents)):
        raise InvalidArgument(
            "out", "a published folder holds no review, which names people and requests; name a folder outside it"
        )
    if folder.exists() and not {path.name for path in folder.iterdir()} <= {SHEET}:
        raise InvalidArgument("out", "the folder holds other files; name a new folder for the review alone")


def _is_published(folder: Path) -> bool:
    """Return whether `publish` wrote this folder."""
    return all((folder / name).exists() for name in (PAGE, PRIVACY_TEXT, CHECKSUMS))


def describe_review(
    ledger: Ledger, datasets: Sequence[str], about: About, results: Mapping[str, ReleasedResult]
) -> str:
    """Return the review sheet as Markdown. Equal ledgers and results give equal text."""
    verified = ledger.verify()
    names = [account.dataset for account in ledger.accounts() if not datasets or account.dataset in datasets]
    results_by_request = {result.privacy.grant: (name, result) for name, result in results.items()}
    parts = [
        "# Review of releases under differential privacy",
        "This sheet names people, requests and purposes. **Do not publish it.** It was written from the ledger and "
        "from the facts of the office; what neither says is open.",
        f"- Software: dpcurves {version('dpcurves')}\n"
        f"- Ledger: {verified.entries} entries, verified: none was changed without the key; head `{verified.head}`\n"
        f"- Published by: {_state(', '.join(about.curators))}\n"
        f"- Intended use: {_state(about.intended_use)}",
    ]
    for dataset in names:
        statement = ledger.statement(dataset)
        parts.append(f"## Dataset {_escape(dataset)}")
        parts += _describe_releases(statement, about, results_by_request)
        parts += _describe_events(list(_read_events(ledger, dataset)))
        parts += _format_questions(_answer_questions(statement, about, results_by_request))
    parts.append(f"## Sources\n\n{SOURCES}")
    parts.append(
        "## Decision\n\n- [ ] approved\n- [ ] approved after changes: ______________________________\n- [ ] refused\n\n"
        "Reviewer: ______________________________\n\nDate: ____________________\n\n"
        "Signature: ______________________________"
    )
    return "\n\n".join(parts) + "\n"


def _escape(text: object) -> str:
    """Return any text as Markdown of one line that shows it as it is."""
    # characters of a name or question in the sheet: longer than any that a ledger takes, so that none is cut
    cell_length = 20_000
    return escape_for_markdown(text, cell_length)


def _state(text: str) -> str:
    """Return a stated fact as Markdown, or the mark of an open one."""
    return _escape(text) if text else OPEN_ANSWER


def _read_events(ledger: Ledger, dataset: str) -> Iterator[EventEntry]:
    """Yield all audit events of a dataset, in order of time."""
    after = 0
    events_at_once = 1000  # audit events that are read in one transaction
    while events := ledger.events(after, events_at_once, dataset):
        yield from events
        after = events[-1].entry


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. Cells are Markdown without line ends."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _describe_releases(
    statement: Statement, about: About, results_by_request: Mapping[str, tuple[str, ReleasedResult]]
) -> list[str]:
    """Return the charges of a dataset, with who asked, the purpose and the loss, and their sums."""
    balance = BalanceReport.from_statement(statement)
    rows = [
        [
            str(number), _escape(f"{line.when[:10]} {line.when[11:16]}"), _escape(line.request),
            *_name_asker(line), _escape(line.purpose), _find_purpose(line, about),
            _escape(str(line.loss)), _escape(format_amount(line.price, line.loss.delta)),
            _escape(results_by_request[line.request][0]) if line.request in results_by_request else "",
        ]
        for number, line in enumerate(statement.grants, 1)
    ]  # fmt: skip
    columns = ("", "when (UTC)", "request", "project", "analyst", "question", "purpose", "loss", "price", "result")
    totals = f"Loss in all: {balance.spent} of {balance.budget}; {balance.remaining} remains."
    if statement.grants:
        parts = ["### Who asked, under which request, for what purpose, at what loss", _table(columns, rows), totals]
    else:
        parts = ["### Releases", "Nothing was charged to this dataset.", totals]
    sums = _sum_by_member(statement)
    if len(sums) > 1:
        parts.append(_table(("project", "analyst", "releases", "price in all"), sums))
    return parts


def _name_asker(line: StatementLine) -> tuple[str, str]:
    """Return project and analyst of a charge as Markdown; open for a charge to the cap alone."""
    if line.member is None:
        return "not recorded", "not recorded"
    return _escape(line.member.project), _escape(line.member.analyst)


def _find_purpose(line: StatementLine, about: About) -> str:
    """Return the purpose of a charge as Markdown: stated for its request, else for its project."""
    keys = [line.request] + ([line.member.project] if line.member is not None else [])
    return next((_escape(about.purposes[key]) for key in keys if key in about.purposes), "**Open:** ____________")


def _sum_by_member(statement: Statement) -> list[list[str]]:
    """Return a row for each project and analyst with the number of their charges and the sum of their prices."""
    currency = statement.account.currency
    rows = []
    lines = sorted(statement.grants, key=_name_asker)
    for asker, group in groupby(lines, key=_name_asker):
        charges = list(group)
        amount = type(statement.spent)(currency, sum(line.price.billionths for line in charges))
        delta = sum((line.loss.delta for line in charges), start=Fraction(0))
        rows.append([*asker, str(len(charges)), _escape(format_amount(amount, delta))])
    return rows


def _describe_events(events: Sequence[EventEntry]) -> list[str]:
    """Return the audit events of a dataset; empty without any."""
    if not events:
        return []
    rows = [
        [
            _escape(f"{entry.when[:10]} {entry.when[11:16]}"), _escape(entry.event.actor),
            _escape(entry.event.action), _escape(entry.event.subject),
        ]
        for entry in events
    ]  # fmt: skip
    return ["### Actions of people", _table(("when (UTC)", "who", "did what", "to what"), rows)]


def _format_questions(questions: Sequence[ReviewQuestion]) -> list[str]:
    """Return questions and answers under the headings of their topics, and the number of those that are open or
    partly open.
    """
    count = sum(not question.answer or OPEN_ANSWER in question.answer for question in questions)
    parts = [f"### Questions of reviewers ({count} of {len(questions)} open in part or whole)"]
    for topic, group in groupby(questions, key=lambda question: question.topic):
        parts.append(f"#### {topic}")
        parts += [
            f"**{question.text}** ({question.source})\n\n{question.answer or OPEN_ANSWER}" for question in group
        ]  # fmt: skip
    return parts


def _answer_questions(
    statement: Statement, about: About, results_by_request: Mapping[str, tuple[str, ReleasedResult]]
) -> list[ReviewQuestion]:
    """Return the questions of reviewers about one dataset, answered where the ledger, the results or the office do."""
    account = statement.account
    answered = [results_by_request[line.request] for line in statement.grants if line.request in results_by_request]
    units = sorted({line.units for line in statement.grants if line.units is not None})
    public_number = f"The number of units is public: {', '.join(f'{number:,}' for number in units)}. " if units else ""
    return [
        ReviewQuestion(*row)
        for row in (
            ("What is protected", "Whose data are protected: what is the unit of privacy?",
             f"{NIST}, unit of privacy; {W3C}", _describe_unit(account)),
            ("What is protected", "Which two tables does the guarantee make hard to tell apart?",
             f"{NIST}, definition; {W3C}", _describe_adjacency(account)),
            ("What is protected", "Can one person contribute several units, as over time or under several identifiers?",
             f"{NIST}, unit of privacy; {W3C}", ""),
            ("Privacy loss", "Which definition and which parameters hold for each release and in all?",
             f"{NIST}, privacy parameters; {W3C}", _describe_loss(statement)),
            ("Privacy loss", "How do the losses of several releases add up, and who stops when the budget is spent?",
             f"{NIST}, composition; {W3C}",
             "Losses are added (basic composition). The ledger refuses a question whose loss exceeds what remains, "
             "before any record is read; each charge is written first, and nothing is refunded."),
            ("Privacy loss", "Is the budget ever renewed, and are the same people in other datasets or ledgers?",
             f"{NIST}, composition; {W3C}",
             f"The cap of this account never changes. Other datasets, ledgers and releases: {OPEN_ANSWER}"),
            ("Privacy loss", "Why was this loss chosen, and who decided?",
             f"{NIST}, privacy parameters; {W3C}", _escape(about.justification)),
            ("Trust", "Who sees confidential records, and who adds the noise?",
             f"{NIST}, trust models; {W3C}", _describe_trust(answered, about)),
            ("Trust", "Who may ask, who asked, and may they share what they learn?", f"{NIST}, access control; {W3C}",
             "Those in the table of releases asked. What they learn together is bounded by the cap alone, so the "
             "guarantee does not need that they keep answers to themselves."),
            ("Trust", "How are the confidential data and the key of the ledger guarded?",
             f"{NIST}, security and access control", _escape(about.security)),
            ("Trust", "Why and how were the data collected, and are they kept no longer than needed?",
             f"{NIST}, data collection; {W3C}", ""),
            ("Algorithms", "Which mechanisms were used, and where are they proved?", f"{NIST}, algorithms; {W3C}",
             _describe_mechanisms(answered)),
            ("Algorithms", "Are floating-point numbers, random numbers and repeated questions safe?",
             f"{NIST}, implementation; {W3C}", _describe_implementation(answered)),
            ("Algorithms", "Can running time, errors or memory tell of the records?",
             f"{NIST}, side channels; {W3C}", ""),
            ("Algorithms", "Was the implementation tested or audited by others?", f"{NIST}, implementation; {W3C}", ""),
            ("Data and settings", "What was done to the data before, and were settings chosen by looking at them?",
             f"{NIST}, algorithms; {W3C}", _escape(about.preprocessing)),
            ("Data and settings", "What is published without noise?", f"{NIST}, invariants; {W3C}",
             f"{public_number}Names of columns, declared grids, categories and filters are public. Published beside: "
             f"{_state(about.unprotected_quantities)}"),
            ("Use", "What are the results for, and are they accurate enough for that?", f"{NIST}, utility; {W3C}",
             f"Use: {_state(about.intended_use)} Accuracy: {OPEN_ANSWER}"),
            ("Use", "Are small groups served as well as large ones?", f"{NIST}, bias; {W3C}", ""),
            ("Use", "What are the people in the data told about the guarantee and its limits?", f"{W3C}", ""),
        )
    ]  # fmt: skip


def _describe_unit(account: Account) -> str:
    """Return the privacy unit of an account and what it leaves unprotected."""
    unit = account.unit
    if not unit.column:
        return "Each record. A person with several records is not protected as a whole."
    bound = (
        f"at most {unit.records:,} records of each are used, which is enforced before anything is counted"
        if unit.is_bounded else "each question states or finds how many records of each are used"
    )  # fmt: skip
    return f"All records that share a value of the column {_escape(unit.column)}; {bound}."


def _describe_adjacency(account: Account) -> str:
    """Return the neighbouring tables of an account in words."""
    protected = f"all records of one {_escape(account.unit.column)}" if account.unit.column else "one record"
    if account.neighbours.has_public_units:
        return f"Replace-one: tables that differ in the values of {protected}. The number of units is public."
    return f"Add-remove: tables of which one has {protected} and the other does not."


def _describe_loss(statement: Statement) -> str:
    """Return the definition of the account's loss, with cap, spent amount and the largest single loss."""
    balance = BalanceReport.from_statement(statement)
    if statement.account.cap.epsilon is None:
        definition = "Zero-concentrated differential privacy"
    else:
        has_delta = any(line.loss.delta for line in statement.grants)
        definition = f"{'Approximate' if has_delta else 'Pure'} differential privacy"
    return f"{definition}; cap {balance.budget}, spent {balance.spent}. The table of releases has the loss of each."


def _describe_trust(answered: Sequence[tuple[str, ReleasedResult]], about: About) -> str:
    """Return the trust models of the results at hand and what the office says of the actors; empty: open."""
    trusts = dict.fromkeys(_escape(describe_trust(result.privacy)) for _, result in answered)
    known = f"Trust model of the results at hand: {'; '.join(trusts)}. " if trusts else ""
    return f"{known}{_state(about.actors)}" if known or about.actors else ""


def _describe_mechanisms(answered: Sequence[tuple[str, ReleasedResult]]) -> str:
    """Return the mechanism of each result at hand; open if there is none."""
    lines = [
        f"- {_escape(name)}: {_escape(describe_mechanism(result.privacy.mechanism))}" for name, result in answered
    ]  # fmt: skip
    if lines:
        lines.append("\nGuarantee and proof stand in the docstring of each mechanism of dpcurves.")
    return "\n".join(lines)


def _describe_implementation(answered: Sequence[tuple[str, ReleasedResult]]) -> str:
    """Return what the library guarantees of its noise, and which results have reproducible noise."""
    seeded = [_escape(name) for name, result in answered if result.privacy.seeded]
    warning = f"**{SEEDED}**: {', '.join(seeded)}. " if seeded else ""
    return (
        f"{warning}Records are counted in whole numbers and the noise is sampled exactly, without floating point. A "
        "question that is asked again under its request gets the stored answer."
    )
