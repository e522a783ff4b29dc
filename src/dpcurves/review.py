"""Privacy review of a deployment: reviewers' questions on differential privacy, answered from the ledger, as Markdown.

The *ledger* is the log of all privacy losses that were charged to the budgets (*accounts*) of data sets, in a chain of
entries sealed with a key. `write_review` writes ``REVIEW.md`` for somebody who must judge a deployment:

    in     ledger (who asked what, at which loss), released results, facts of the office (`About`)
    out    per account: a table of releases and their sums, audit events, reviewers' questions with answers

Facts that only people know stay open, with space for an answer by hand, or come from an `About`. The sheet names
people, requests and purposes, so it lies in a separate folder and never in a published one.

Formal guarantees: no confidential record is read, so no budget is spent. The sheet is not protected and not public.

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
from math import ceil, exp, isfinite
from pathlib import Path
from typing import NamedTuple

from .arguments import InvalidArgument
from .curves.result import ReleasedResult
from .display import SEEDED_STATEMENT, BalanceReport, describe_mechanism, describe_trust, explain_mechanism
from .display.text import format_amount
from .drafts import sweep_drafts, write_whole
from .foreign_text import escape_for_markdown
from .ledger import Account, EventEntry, Ledger, Statement, StatementLine
from .publication import CHECKSUM_FILE, INDEX_FILE, PRIVACY_TEXT
from .registry import About
from .translation import translate

REVIEW_FILE = "REVIEW.md"
"""File of a review, for somebody who must judge a deployment. It names people and requests, so that it is not written
into a published folder."""
ANSWER_SPACE = "______________________________"
"""Line on which a reviewer writes by hand, in Markdown."""
NIST, W3C = "NIST SP 800-226", "W3C draft note"
"""Names of the two guides whose questions a review answers, shown beside each question."""
BOTH_GUIDES = (NIST, W3C)
"""Both guides: for questions of a review that each of them asks."""
SOURCES = (
    "- NIST SP 800-226: J. Near, D. Darais, N. Lefkovitz, G. Howarth, *Guidelines for Evaluating Differential Privacy "
    "Guarantees*, March 2025, <https://doi.org/10.6028/NIST.SP.800-226>.\n"
    "- W3C draft note: *Considerations for Reviewing Differential Privacy Systems*, W3C Group Draft Note, 12 February "
    "2026."
)
"""Markdown list of the guides at the end of a review. Titles are not translated, so that readers can find the
documents."""

CHECKS = (
    "Each person has one record, or the rule for a person names the column that identifies people.",
    "The same people are in no other release that this ledger does not count.",
    "The loss in all is acceptable for the most sensitive column of the table.",
    "Each published file belongs to a line of the table of releases, and none says that it is not private.",
    "All lines marked “To fill in” are answered.",
)
"""Statements with boxes that a reviewer ticks before signing."""


class ReviewQuestion(NamedTuple):
    """A question of the sheet.

    Attributes:
        topic: Heading above it.
        text: The question.
        guides: The guides that ask it.
        subject: The topic of the first guide; empty: none is named.
        answer: The answer in Markdown; empty: open.
    """

    topic: str
    text: str
    guides: tuple[str, ...]
    subject: str
    answer: str


def write_review(
    ledger: Ledger,
    folder: str | Path,
    *,
    datasets: Sequence[str] = (),
    about: About | None = None,
    results: Mapping[str, ReleasedResult] | None = None,
) -> Path:
    """Write the review sheet ``REVIEW.md`` of a ledger into a folder, and return the path of the file.

    Only the ledger and released results are read, no confidential records. An earlier ``REVIEW.md`` is overwritten. The
    file can be read by its owner alone, because it names people. The sheet is in the language of `use_language`; the
    words of audit events stay as the ledger has them.

    Args:
        ledger: The ledger. Its whole chain of entries is verified first.
        folder: A folder that is new (it is created), empty, or holds an earlier review alone; not a folder that
            `publish` wrote, nor inside one.
        datasets: Names of the accounts to review; empty: all. A name without an account is left out of the sheet.
        about: Facts that the ledger does not know, such as purposes; None: they stay open, with space for an answer.
        results: Released results by a name that the caller chooses, such as the file name. The sheet shows this name at
            the request whose charge paid for the result, with its mechanism and trust model; a result that no request
            of the ledger paid for is left out. None: no result is shown.

    Raises:
        ValueError: the folder is published, holds other files, or cannot be written; or an entry of the ledger was
            changed without its key.
    """
    place = Path(folder)
    require_unpublished(place)
    text = describe_review(ledger, datasets, About() if about is None else about, results or {})
    try:
        place.mkdir(parents=True, exist_ok=True)
        sheet = place / REVIEW_FILE
        write_whole(sheet, text, 0o600)  # for its owner alone, because it names people
    except OSError as error:
        raise InvalidArgument(
            "out", f"{str(folder)!r} cannot be written ({error.strerror}); name a folder where you may write"
        ) from None
    return sheet


def require_unpublished(folder: Path) -> None:
    """Check that a review may be written into a folder; drafts of a review that was killed are removed from it.

    Args:
        folder: Folder of the review; it need not exist.

    Raises:
        ValueError: the path is a file; the folder holds other files than ``REVIEW.md``; `publish` wrote it, or it lies
            inside a folder that `publish` wrote.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("out", "this path is a file; name a folder")
    sweep_drafts(folder)  # drafts of a review that was killed are no files of other origin
    full_path = Path(os.path.realpath(folder))
    if any(_is_published(parent) for parent in (full_path, *full_path.parents)):
        raise InvalidArgument(
            "out", "a published folder holds no review, which names people and requests; name a folder outside it"
        )
    if folder.exists() and not {path.name for path in folder.iterdir()} <= {REVIEW_FILE}:
        raise InvalidArgument("out", "the folder holds other files; name a new folder for the review alone")


def _is_published(folder: Path) -> bool:
    """Return True if the folder holds the files that `publish` writes.

    Args:
        folder: An existing folder.
    """
    return all((folder / name).exists() for name in (INDEX_FILE, PRIVACY_TEXT, CHECKSUM_FILE))


def describe_review(
    ledger: Ledger, datasets: Sequence[str], about: About, results: Mapping[str, ReleasedResult]
) -> str:
    """Return the review sheet as Markdown, in the language of `use_language`.

    Equal ledgers and results give equal text. Neither records nor files are read.

    Args:
        ledger: The ledger. Its whole chain of entries is verified first.
        datasets: Names of the accounts to review; empty: all. A name without an account is left out.
        about: Facts that the ledger does not know, such as purposes; what is missing stays open in the sheet.
        results: Released results by a name that the caller chooses. The sheet shows this name at the request whose
            charge paid for the result.

    Raises:
        ValueError: an entry of the ledger was changed without its key.
    """
    verified = ledger.verify()
    names = [account.dataset for account in ledger.accounts() if not datasets or account.dataset in datasets]
    results_by_request = {result.privacy.grant: (name, result) for name, result in results.items()}
    entries = f"{verified.entries:,} entries, verified: none was changed without the key; head `{verified.head}`"
    parts = [
        f"# {translate('Review of releases under differential privacy')}",
        f"{translate('This sheet names people, requests and purposes.')} **{translate('Do not publish it.')}** "
        + translate(
            "It was written from the ledger and from the facts of the office; what neither says is to be filled in by "
            "hand."
        ),
        f"- {translate('Software')}: dpcurves {version('dpcurves')}\n"
        f"- {translate('Ledger')}: {translate(entries)}\n"
        f"- {translate('Published by')}: {_state(', '.join(about.curators))}\n"
        f"- {translate('Intended use')}: {_state(about.intended_use)}",
    ]
    for dataset in names:
        statement = ledger.statement(dataset)
        parts.append(f"## {translate('Dataset')} {_escape(dataset)}")
        parts.append(_describe_in_short(statement, results_by_request))
        parts += _describe_releases(statement, about, results_by_request)
        parts += _describe_events(list(_read_events(ledger, dataset)))
        parts += _format_questions(_answer_questions(statement, about, results_by_request))
    wording = translate("The questions follow the topics of these guides; their wording is that of dpcurves.")
    parts.append(f"## {translate('Sources')}\n\n{SOURCES}\n\n{wording}")
    parts.append(
        f"## {translate('Decision')}\n\n{translate('Check before you sign')}:\n\n"
        + "\n".join(f"- [ ] {translate(check)}" for check in CHECKS)
        + f"\n\n{translate('Decision')}:\n\n- [ ] {translate('approved')}\n"
        f"- [ ] {translate('approved after changes')}: {ANSWER_SPACE}\n- [ ] {translate('refused')}\n\n"
        f"{translate('Reviewer')}: {ANSWER_SPACE}\n\n{translate('Date')}: {ANSWER_SPACE}\n\n"
        f"{translate('Signature')}: {ANSWER_SPACE}"
    )
    return "\n\n".join(parts) + "\n"


def _escape(text: object) -> str:
    """Return a text as one line of Markdown, escaped so that readers see the text literally.

    Args:
        text: Any object; its `str` is shown.
    """
    # characters of a name or question in the sheet: longer than any that a ledger takes, so that none is cut
    cell_length = 20_000
    return escape_for_markdown(text, cell_length)


def _state(text: str) -> str:
    """Return a stated fact as Markdown, or the mark of an open one.

    Args:
        text: The fact; empty: the office has not stated it.
    """
    return _escape(text) if text else mark_open()


def mark_open() -> str:
    """Return the mark of an unanswered question of a review, with space for the answer, in the reader's language."""
    return f"**{translate('To fill in')}:** {ANSWER_SPACE}"


def _read_events(ledger: Ledger, dataset: str) -> Iterator[EventEntry]:
    """Yield all audit events of a dataset, in order of time.

    Args:
        ledger: Ledger of the dataset.
        dataset: Name of the dataset.
    """
    after = 0
    events_at_once = 1000  # audit events that are read in one transaction
    while events := ledger.events(after, events_at_once, dataset):
        yield from events
        after = events[-1].entry


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table. Cells are Markdown without line ends.

    Args:
        columns: Titles of the columns.
        rows: Cells of each row, one for each column.
    """
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _describe_releases(
    statement: Statement, about: About, results_by_request: Mapping[str, tuple[str, ReleasedResult]]
) -> list[str]:
    """Return the charges of a dataset, with who asked, the purpose and the loss, and their sums.

    Args:
        statement: Statement of the account.
        about: Facts that the ledger does not know.
        results_by_request: Name and result by request id.

    Returns:
        Paragraphs and tables in Markdown.
    """
    balance = BalanceReport.from_statement(statement)
    rows = [
        [
            str(number), _escape(translate(f"{line.when[:10]} {line.when[11:16]}")), _escape(line.request),
            *_name_asker(line), _escape(translate(line.purpose)), _find_purpose(line, about),
            _escape(translate(str(line.loss))), _escape(translate(format_amount(line.price, line.loss.delta))),
            _escape(results_by_request[line.request][0]) if line.request in results_by_request else "",
        ]
        for number, line in enumerate(statement.grants, 1)
    ]  # fmt: skip
    columns = ("when (UTC)", "request", "project", "analyst", "question", "purpose", "loss", "price", "result")
    totals = translate(f"Loss in all: {balance.spent} of {balance.budget}; {balance.remaining} remains.")
    if statement.grants:
        heading = translate("Who asked, under which request, for what purpose, at what loss")
        parts = [f"### {heading}", _table(["", *map(translate, columns)], rows), totals]
    else:
        parts = [f"### {translate('Releases')}", translate("Nothing was charged to this dataset."), totals]
    sums = _sum_by_member(statement)
    if len(sums) > 1:
        sum_columns = ("project", "analyst", "releases", "price in all")
        parts.append(_table([*map(translate, sum_columns)], sums))
    return parts


def _describe_in_short(statement: Statement, results_by_request: Mapping[str, tuple[str, ReleasedResult]]) -> str:
    """Return the summary of a review: what was asked, the size of the table, how one person is protected, and the total
    loss.

    Args:
        statement: Account of the dataset, and its charges.
        results_by_request: Name and result of each answer at hand, by request id.

    Returns:
        Markdown: a heading and the list.
    """
    questions = dict.fromkeys(_escape(translate(line.purpose)) for line in statement.grants)
    rows = (
        ("Asked of this table", "; ".join(questions) or translate("Nothing was charged to this dataset.")),
        ("Size of the table", _describe_table_size(statement, results_by_request)),
        ("Rule for a person", _describe_unit(statement.account)),
        ("Loss in all, in plain words", _explain_total(statement)),
    )
    return "\n".join([f"### {translate('In short')}\n", *(f"- {translate(name)}: {text}" for name, text in rows)])


def _describe_table_size(statement: Statement, results_by_request: Mapping[str, tuple[str, ReleasedResult]]) -> str:
    """Return the public number of units, else the number of records that a result counted, with its noise.

    Results with a filter, and sums of weights, are no size of the table.

    Args:
        statement: Account of the dataset, and its charges.
        results_by_request: Name and result of each answer at hand, by request id.

    Returns:
        Markdown, which says so if neither is known.
    """
    units = sorted({line.units for line in statement.grants if line.units is not None})
    if units:
        numbers = ", ".join(translate(f"{number:,}") for number in units)
        return f"{numbers} {translate('units')} ({translate('public')})"
    for line in statement.grants:
        name, result = results_by_request.get(line.request, ("", None))
        counts_a_part = result is None or result.privacy.where or getattr(result, "IS_WEIGHTED", False)
        total = None if counts_a_part else getattr(result, "total", None)
        if isinstance(total, float) and isfinite(total):
            number = f"{translate(f'{round(total):,}')} {translate('counted records')}"
            return f"{number} ({translate('released, with noise')}: {_escape(name)})"
    return translate("not released")


def _explain_total(statement: Statement) -> str:
    """Return what the loss of all releases together means for what somebody may learn about one unit.

    The factor of the odds is at most exp(epsilon), the largest ratio of the probabilities of any releases from two
    neighbouring tables. A sum of rho is converted to an epsilon and a delta.

    Args:
        statement: Account of the dataset, and its charges.

    Returns:
        Sentences in the language of the review.
    """
    account = statement.account
    if not statement.grants:
        return translate("Nothing was released.")
    delta = sum((line.loss.delta for line in statement.grants), start=Fraction(0))
    if account.cap.epsilon is None:
        chosen = 1e-6 + float(delta)  # a usual delta, far below one over the number of units
        total = sum((line.loss for line in statement.grants[1:]), statement.grants[0].loss)
        epsilon = ceil(100 * total.epsilon_at(chosen)) / 100
        return translate(f"This is at most epsilon {epsilon:g}, with a delta of {chosen:g}.")
    exponent = sum((line.loss.epsilon or Fraction(0) for line in statement.grants), start=Fraction(0))
    if exponent > 14:  # a factor above a million
        return translate("The factor by which the odds of a guess may change is above a million: no protection.")
    factor = exp(float(exponent))
    number = f"{ceil(10 * factor) / 10:,.1f}" if factor < 10 else f"{ceil(factor):,}"
    plain = translate(f"{_describe_guess(account)}, by a factor of at most {number}.")
    if not delta:
        return plain
    more = translate(f"With a probability of at most {float(delta):g} they reveal more.")
    return f"{plain} {more}"


def _describe_guess(account: Account) -> str:
    """Return the first half of a sentence that says which odds the loss bounds: under add-remove, that a unit is in the
    table, because tables that differ in values differ by two units; under replace-one, of a guess about its values.

    Args:
        account: Account of the dataset, with unit and neighbours.
    """
    column = _escape(account.unit.column)
    if account.neighbours.has_public_units:
        values = f"all records of one {column}" if column else "one record"
        return f"Who sees all releases can change the odds of a guess about the values of {values}"
    return f"Who sees all releases can change the odds that {f'a {column}' if column else 'a record'} is in the table"


def _name_asker(line: StatementLine) -> tuple[str, str]:
    """Return project and analyst of a charge as Markdown; for a charge to the cap alone, both say that neither is
    recorded.

    Args:
        line: Charge of a statement.
    """
    if line.member is None:
        return (translate("not recorded"),) * 2
    return _escape(line.member.project), _escape(line.member.analyst)


def _find_purpose(line: StatementLine, about: About) -> str:
    """Return the purpose of a charge as Markdown: stated for its request, else for its project.

    Args:
        line: Charge of a statement.
        about: Facts that the office states, with purposes by request or project.

    Returns:
        Markdown; the mark of an open fact if no purpose is stated.
    """
    keys = [line.request] + ([line.member.project] if line.member is not None else [])
    return next((_escape(about.purposes[key]) for key in keys if key in about.purposes), mark_open())


def _sum_by_member(statement: Statement) -> list[list[str]]:
    """Return a row for each project and analyst with the number of their charges and the sum of their prices.

    Args:
        statement: Account of the dataset, and its charges.

    Returns:
        Cells of the rows as Markdown, sorted by project and analyst: both names, number, sum.
    """
    currency = statement.account.currency
    rows = []
    lines = sorted(statement.grants, key=_name_asker)
    for asker, group in groupby(lines, key=_name_asker):
        charges = list(group)
        amount = type(statement.spent)(currency, sum(line.price.billionths for line in charges))
        delta = sum((line.loss.delta for line in charges), start=Fraction(0))
        rows.append([*asker, str(len(charges)), _escape(translate(format_amount(amount, delta)))])
    return rows


def _describe_events(events: Sequence[EventEntry]) -> list[str]:
    """Return the audit events of a dataset as a Markdown heading and a table; empty without any.

    Args:
        events: Audit events in order of time.
    """
    if not events:
        return []
    rows = [
        [
            _escape(translate(f"{entry.when[:10]} {entry.when[11:16]}")), _escape(entry.event.actor),
            _escape(entry.event.action), _escape(entry.event.subject),
        ]
        for entry in events
    ]  # fmt: skip
    columns = ("when (UTC)", "who", "did what", "to what")
    return [f"### {translate('Actions of people')}", _table([*map(translate, columns)], rows)]


def _format_questions(questions: Sequence[ReviewQuestion]) -> list[str]:
    """Return questions and answers as Markdown, under the headings of their topics.

    The heading states how many questions are open in part or whole.

    Args:
        questions: Questions of reviewers, with their answers.
    """
    count = sum(not question.answer or mark_open() in question.answer for question in questions)
    heading = translate(f"Questions of reviewers ({count} of {len(questions)} open in part or whole)")
    parts = [f"### {heading}"]
    for topic, group in groupby(questions, key=lambda question: question.topic):
        parts.append(f"#### {translate(topic)}")
        parts += [
            f"**{translate(question.text)}** ({_name_source(question)})\n\n{question.answer or mark_open()}"
            for question in group
        ]
    return parts


def _name_source(question: ReviewQuestion) -> str:
    """Return the names of the guides that ask a question, with the topic under which the first one asks.

    Args:
        question: Question of reviewers.
    """
    guide, *others = (translate(guide) for guide in question.guides)
    return "; ".join([f"{guide}, {translate(question.subject)}" if question.subject else guide, *others])


def _answer_questions(
    statement: Statement, about: About, results_by_request: Mapping[str, tuple[str, ReleasedResult]]
) -> list[ReviewQuestion]:
    """Return the questions of reviewers about one dataset, answered where the ledger, the results or the office do.

    Args:
        statement: Account and grants of the dataset.
        about: What the office has stated.
        results_by_request: File name and result by request.
    """
    account = statement.account
    answered = [results_by_request[line.request] for line in statement.grants if line.request in results_by_request]
    units = sorted({line.units for line in statement.grants if line.units is not None})
    sizes = ", ".join(translate(f"{number:,}") for number in units)
    public_number = f"{translate('The number of units is public')}: {sizes}. " if units else ""
    return [
        ReviewQuestion(*row)
        for row in (
            ("What is protected", "Whose data are protected: what is the unit of privacy?",
             BOTH_GUIDES, "unit of privacy", _describe_unit(account)),
            ("What is protected", "Which two tables does the guarantee make hard to tell apart?",
             BOTH_GUIDES, "definition", _describe_adjacency(account)),
            ("What is protected", "Can one person contribute several units, as over time or under several identifiers?",
             BOTH_GUIDES, "unit of privacy", ""),
            ("Privacy loss", "Which definition and which parameters hold for each release and in all?",
             BOTH_GUIDES, "privacy parameters", _describe_loss(statement)),
            ("Privacy loss", "How do the losses of several releases add up, and who stops when the budget is spent?",
             BOTH_GUIDES, "composition",
             translate(
                 "Losses are added (basic composition). The ledger refuses a question whose loss exceeds what remains, "
                 "before any record is read; each charge is written first, and nothing is refunded."
             )),
            ("Privacy loss", "Is the budget ever renewed, and are the same people in other datasets or ledgers?",
             BOTH_GUIDES, "composition",
             f"{translate('The cap of this account never changes.')} "
             f"{translate('Other datasets, ledgers and releases')}: {mark_open()}"),
            ("Privacy loss", "Why was this loss chosen, and who decided?",
             BOTH_GUIDES, "privacy parameters", _escape(about.justification)),
            ("Trust", "Who sees confidential records, and who adds the noise?",
             BOTH_GUIDES, "trust models", _describe_trust(answered, about)),
            ("Trust", "Who may ask, who asked, and may they share what they learn?", BOTH_GUIDES, "access control",
             translate(
                 "Those in the table of releases asked. What they learn together is bounded by the cap alone, so the "
                 "guarantee does not need that they keep answers to themselves."
             )),
            ("Trust", "How are the confidential data and the key of the ledger guarded?",
             (NIST,), "security and access control", _escape(about.security)),
            ("Trust", "Why and how were the data collected, and are they kept no longer than needed?",
             BOTH_GUIDES, "data collection", ""),
            ("Algorithms", "Which mechanisms were used, and where are they proved?", BOTH_GUIDES, "algorithms",
             _describe_mechanisms(answered)),
            ("Algorithms", "Are floating-point numbers, random numbers and repeated questions safe?",
             BOTH_GUIDES, "implementation", _describe_implementation(answered)),
            ("Algorithms", "Can running time, errors or memory tell of the records?",
             BOTH_GUIDES, "side channels", ""),
            ("Algorithms", "Was the implementation tested or audited by others?", BOTH_GUIDES, "implementation", ""),
            ("Data and settings", "What was done to the data before, and were settings chosen by looking at them?",
             BOTH_GUIDES, "algorithms", _escape(about.preprocessing)),
            ("Data and settings", "What is published without noise?", BOTH_GUIDES, "invariants",
             f"{public_number}{translate('Names of columns, declared grids, categories and filters are public.')} "
             f"{translate('Published beside')}: {_state(about.unprotected_quantities)}"),
            ("Use", "What are the results for, and are they accurate enough for that?", BOTH_GUIDES, "utility",
             f"{translate('Use')}: {_state(about.intended_use)} {translate('Accuracy')}: {mark_open()}"),
            ("Use", "Are small groups served as well as large ones?", BOTH_GUIDES, "bias", ""),
            ("Use", "What are the people in the data told about the guarantee and its limits?", (W3C,), "", ""),
        )
    ]  # fmt: skip


def _describe_unit(account: Account) -> str:
    """Return the privacy unit of an account and what it leaves unprotected.

    Args:
        account: Account of the dataset.
    """
    unit = account.unit
    if not unit.column:
        return translate("Each record. A person with several records is not protected as a whole.")
    bound = (
        f"at most {unit.records:,} records of each are used, which is enforced before anything is counted"
        if unit.is_bounded else "each question states or finds how many records of each are used"
    )  # fmt: skip
    return translate(f"All records that share a value of the column {_escape(unit.column)}; {bound}.")


def _describe_adjacency(account: Account) -> str:
    """Return the neighbouring tables of an account in words.

    Args:
        account: Account of the dataset.
    """
    protected = f"all records of one {_escape(account.unit.column)}" if account.unit.column else "one record"
    if account.neighbours.has_public_units:
        return translate(
            f"Replace-one: tables that differ in the values of {protected}. The number of units is public."
        )
    return translate(f"Add-remove: tables of which one has {protected} and the other does not.")


def _describe_loss(statement: Statement) -> str:
    """Return the definition of the account's loss, with its cap and spent amount, and a reference to the table of
    releases for each loss.

    Args:
        statement: Account of the dataset, and its charges.
    """
    balance = BalanceReport.from_statement(statement)
    if statement.account.cap.epsilon is None:
        definition = "Zero-concentrated differential privacy"
    else:
        has_delta = any(line.loss.delta for line in statement.grants)
        definition = f"{'Approximate' if has_delta else 'Pure'} differential privacy"
    totals = translate(f"{definition}; cap {balance.budget}, spent {balance.spent}.")
    return f"{totals} {translate('The table of releases has the loss of each.')}"


def _describe_trust(answered: Sequence[tuple[str, ReleasedResult]], about: About) -> str:
    """Return the answer on trust: the trust models of the results at hand, and what the office states about the actors.

    Args:
        answered: Name and result of each answer at hand.
        about: Facts that the office states.
    """
    trusts = dict.fromkeys(_escape(translate(describe_trust(result.privacy))) for _, result in answered)
    known = f"{translate('Trust model of the results at hand')}: {'; '.join(trusts)}. " if trusts else ""
    return f"{known}{_state(about.actors)}" if known or about.actors else ""


def _describe_mechanisms(answered: Sequence[tuple[str, ReleasedResult]]) -> str:
    """Return the mechanisms of each result at hand, with a plain sentence on each; open if there is none.

    Args:
        answered: Name and result of each answer at hand.

    Returns:
        Markdown list; empty without a result, which leaves the answer open.
    """
    lines = []
    for name, result in answered:
        mechanism = result.privacy.mechanism
        sentences = [translate(sentence) for sentence in explain_mechanism(mechanism)]
        lines.append(
            f"- {_escape(name)}: {_escape(' '.join([f'{translate(describe_mechanism(mechanism))}.', *sentences]))}"
        )
    if lines:
        proof = translate("Guarantee and proof stand in the docstring of each mechanism of dpcurves.")
        lines.append(f"\n{proof}")
    return "\n".join(lines)


def _describe_implementation(answered: Sequence[tuple[str, ReleasedResult]]) -> str:
    """Return what the library guarantees of its noise, and which results have reproducible noise.

    Args:
        answered: Name and result of each answer at hand.
    """
    seeded = [_escape(name) for name, result in answered if result.privacy.seeded]
    warning = f"**{translate(SEEDED_STATEMENT)}**: {', '.join(seeded)}. " if seeded else ""
    exactness = translate(
        "Records are counted in whole numbers and the noise is sampled exactly, without floating point. A question "
        "that is asked again under its request gets the stored answer."
    )
    return f"{warning}{exactness}"
