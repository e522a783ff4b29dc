"""Additional pages of `dpcurves try`: the columns and the budget of a table, questions as pictures, and the answer.

Most functions are handlers of routes. A handler parses the request, calls a service, and fills a template.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, cast

from fastapi import Response

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.cli.options import format_label, parse_labels
from dpcurves.cli.table_digest import find_change
from dpcurves.curves import CDF
from dpcurves.data import Categories, Category
from dpcurves.ledger import Currency
from dpcurves.ledger.chain import LedgerBusy
from dpcurves.models import NumericColumn
from dpcurves.privacy import EACH_RECORD, Neighbours, Unit
from dpcurves.publication import INDEX_FILE, publish
from dpcurves.records.value_names import parse_number
from dpcurves.translation import use_language
from dpcurves_parties.serving.messages import ProtocolError

from ..dataset_views import VIEW
from ..datasets import Dataset, Relation
from ..declared_columns import (
    UNKNOWN_CSV_DATES,
    UNKNOWN_DATES,
    UNKNOWN_RANGE,
    Declared,
    declare_unknown_categories,
    has_dates,
    has_unknown_categories,
    has_unknown_range,
)
from ..local_budget import find_budget, raise_budget
from ..local_copies import AnswerCopies, AskedForm, find_form, store_form
from ..local_readings import Reading, find_curves, read_quantiles, read_shares_above
from ..local_table import (
    ColumnUse,
    LocalTable,
    ProposedColumn,
    TableFacts,
    find_person_column,
    register_table,
    set_allowances,
)
from ..principals import MACHINE, Principal
from ..releases import DRAWING_LOCK, Answer, name_page
from . import question_pages
from .page_context import Site, Visit, download, parse_price, redirect_to
from .refused_forms import capitalize_rule
from .site import Page


@dataclass(frozen=True, slots=True)
class LocalSite(Site):
    """The context of the pages of one table, for its one user.

    Attributes:
        table: The table.
        is_changed: Whether the file differs from the file at the last start.
    """

    table: LocalTable | None = None
    is_changed: bool = False

    @property
    def has_accounts(self) -> bool:
        """False: there is one person, who does not sign in."""
        return False

    def list_menu(self, principal: Principal) -> list[tuple[str, str]]:
        """Return the pages of the menu: none before the table is registered.

        Args:
            principal: The local user.

        Returns:
            Name and address of each page.
        """
        return [("Questions and answers", "/"), ("Columns", "/columns")] if principal.projects else []


@dataclass(frozen=True, slots=True)
class QuestionPicture:
    """A question as a picture to choose.

    Attributes:
        command: The command-line word of its form.
        title: What the picture shows.
        icon: The name of its drawing in `try_icons.html`.
    """

    command: str
    title: str
    icon: str


QUESTION_PICTURES = (
    QuestionPicture("cdf", "Distribution", "cdf"), QuestionPicture("histogram", "Histogram, also by group", "bars"),
    QuestionPicture("bars", "Bar chart of categories", "categories"),
    QuestionPicture("quantiles", "Median and quantiles", "quantiles"),
    QuestionPicture("mean", "Mean, also by group", "means"), QuestionPicture("survival", "Survival", "survival"),
    QuestionPicture("contingency", "Table of two columns", "table"),
    QuestionPicture("roc", "ROC curve of a score", "roc"),
    QuestionPicture("calibration", "Calibration of a score", "calibration"),
)  # fmt: skip
"""The questions that `dpcurves try` offers as pictures, if the table has a form for them. The others are in a list
below."""


ONE_ROW_OPTION = "one row"
"""Choice in the form for a table that has a column of persons: each row is a privacy unit nevertheless."""


def _table(visit: Visit) -> LocalTable:
    """Return the table of the local site that the visit belongs to."""
    return cast("LocalTable", cast("LocalSite", visit.site).table)


def _find_dataset(visit: Visit) -> Dataset | None:
    """Return the dataset of the local table; None before its registration.

    Args:
        visit: Request.
    """
    return visit.services.datasets.get(visit.principal, _table(visit).name) if visit.principal.projects else None


# Step 1: the columns, the unit and the budget.


def show_home(visit: Visit) -> Response:
    """Answer with the home page: the questions to choose from and earlier answers, or the form that registers the
    table.

    The form of the table's columns is shown until the table is registered.

    Args:
        visit: Request.
    """
    dataset = _find_dataset(visit)
    table = _table(visit)
    if dataset is None:
        return _render_set_up(visit)
    forms = visit.site.forms
    pictures = [picture for picture in QUESTION_PICTURES if picture.command in forms]
    shown = {picture.command for picture in pictures}
    remaining = visit.services.projects.remaining(visit.principal, table.name)
    if remaining is None:  # the raising of the budget was interrupted before its last step
        set_allowances(visit.services, table.name, dataset.account.cap)
        remaining = visit.services.projects.remaining(visit.principal, table.name)
    return visit.render(
        "try_home.html", dataset=dataset, table=table, pictures=pictures,
        others=[form for word, form in forms.items() if word not in shown],
        asked=visit.services.questions.all(visit.principal, table.name), remaining=remaining,
        is_changed=cast("LocalSite", visit.site).is_changed, budget_of_table=find_budget(visit.services, dataset),
    )  # fmt: skip


def register(visit: Visit) -> Response:
    """Register the table as the form declares it, and redirect to the home page; after an error the form is shown
    again.

    Args:
        visit: Request with the form.
    """
    table = _table(visit)
    try:
        register_table(visit.services, table, _parse_facts(visit, table))
        find_change(table.files, table.ledger_url, table.name)  # stores the digest that later starts compare
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        return _render_set_up(visit, error, 400)
    return redirect_to("")


def _parse_facts(visit: Visit, table: LocalTable) -> TableFacts:
    """Return the facts that the form declares about a table.

    Args:
        visit: Request with the form.
        table: The table, whose columns the form lists.

    Raises:
        ValueError: A field is wrong; the error names the field.
    """
    cap = parse_price("amount", Currency.EPSILON, visit.form_value("amount"))
    columns = _parse_columns(visit, table)
    unit = _parse_unit(visit, table)
    is_public = visit.form_value("adjacency") == Neighbours.REPLACE_ONE.value
    neighbours = Neighbours.REPLACE_ONE if is_public else Neighbours.ADD_REMOVE
    return TableFacts(cap, neighbours, unit, columns, visit.form_value("decimal") or ".")


def _parse_unit(visit: Visit, table: LocalTable) -> Unit:
    """Return the privacy unit that the form declares: one row, or all rows of one person.

    Args:
        visit: Request with the form.
        table: The table, whose columns may be chosen as the unit.

    Returns:
        Unit of one record, or of all rows with one value of a column; an empty bound is to be found privately.

    Raises:
        InvalidArgument: the bound is no whole number above 0, or no unit is chosen though a column may name people.
    """
    column = visit.form_value("unit")
    bound = visit.form_value("rows_per_unit")
    names = [proposal.name for proposal in table.columns]
    if column == ONE_ROW_OPTION and ONE_ROW_OPTION not in names:
        return EACH_RECORD
    if not column:
        if _find_person_column(table):
            raise InvalidArgument("unit", "choose whether a person is one row, or all rows of one value")
        return EACH_RECORD
    if column not in names:
        raise InvalidArgument("unit", "choose a column of the table, or one row")
    if not bound:
        return Unit.with_unknown_bound(column)
    if not (bound.isascii() and bound.isdigit() and 0 < int(bound[:10]) < 10**9):
        raise InvalidArgument("rows_per_unit", "type a whole number above 0, or leave it empty to find it privately")
    return Unit(column, int(bound))


def _find_person_column(table: LocalTable) -> str:
    """Return the column that seems to identify people; empty for none, and if a column is named as the option is.

    Args:
        table: The table with the names of its columns.
    """
    names = [proposal.name for proposal in table.columns]
    return "" if ONE_ROW_OPTION in names else find_person_column(names)


def _parse_columns(visit: Visit, table: LocalTable) -> tuple[Declared, ...]:
    """Return the columns that are used, as the form declares them.

    Args:
        visit: Request with the form.
        table: The table, with the uses that each column allows.

    Raises:
        InvalidArgument: a field is wrong, or no column is used; the error names the field.
    """
    columns: list[Declared] = []
    for position, proposal in enumerate(table.columns):
        use = visit.form_value(f"use.{position}")
        if use not in {allowed.value for allowed in proposal.uses}:
            continue
        if use == ColumnUse.DATES.value:
            columns.append(NumericColumn(proposal.name, *(UNKNOWN_CSV_DATES if table.is_csv else UNKNOWN_DATES)))
        elif use == ColumnUse.NUMBERS.value:
            columns.append(_parse_numbers(visit, position, proposal))
        elif use == ColumnUse.CATEGORIES.value:
            columns.append(_parse_categories(visit, position, proposal))
    if not columns:
        raise InvalidArgument("columns", "use at least one column: choose beside its name what it holds")
    return tuple(columns)


def _parse_numbers(visit: Visit, position: int, proposal: ProposedColumn) -> NumericColumn:
    """Return a column of numbers with the range of the form; without a range if both of its fields are empty.

    Args:
        visit: Request with the form.
        position: Position of the column, which is part of its fields' names.
        proposal: Name and possible uses of the column.

    Raises:
        InvalidArgument: a field is no number, or the bounds do not increase; the error names the field.
    """
    texts = {name: visit.form_value(f"{name}.{position}").replace(",", ".") for name in ("lower", "upper")}
    if not any(texts.values()):
        return NumericColumn(proposal.name, *UNKNOWN_RANGE)
    separator = "." if visit.form_value("decimal") == "," else ","  # with three digits behind it, it means thousands
    for name in texts:
        typed = visit.form_value(f"{name}.{position}")
        if re.fullmatch(rf"[-+]?[1-9]\d{{0,2}}(\{separator}\d{{3}})+", typed):
            rule = f"type {typed.replace(separator, '')}, with no separator between thousands"
            raise InvalidArgument(f"{name}.{position}", rule)
    bounds = {name: parse_number(text) for name, text in texts.items()}
    for name, bound in bounds.items():
        if bound is None:
            rule = (
                f"type a number, or leave both ends of {proposal.name!r} empty: then questions find the range privately"
            )
            raise InvalidArgument(f"{name}.{position}", rule)
    with suppress(InvalidArgument):
        return NumericColumn(proposal.name, float(bounds["lower"] or 0), float(bounds["upper"] or 0))
    raise InvalidArgument(f"upper.{position}", f"“To” of {proposal.name!r} must be above “From”")


def _parse_categories(visit: Visit, position: int, proposal: ProposedColumn) -> Categories:
    """Return a column of categories with the values of the form, as numbers if the schema declares numbers.

    An empty field makes a column with unknown categories.

    Args:
        visit: Request with the form.
        position: Position of the column, which is part of its fields' names.
        proposal: Name and possible uses of the column.

    Raises:
        InvalidArgument: the categories cannot be separated, are no numbers, or are repeated; the error names the field.
    """
    field = f"values.{position}"
    text = visit.form_value(f"values.{position}")
    if not text:
        return declare_unknown_categories(proposal.name)
    values: tuple[Category, ...] = ()
    with suppress(ArgumentError):
        values = parse_labels("values", text.strip(", "))
    is_one_list = len(values) == 1 and any(sign in text for sign in ";|")  # one category would hold all of them
    if not values or is_one_list:
        rule = f"type the categories of {proposal.name!r} with commas between them, or leave the field empty"
        raise InvalidArgument(field, f"{rule}: then questions find them privately")
    if proposal.has_numbers:
        numbers = [parse_number(value) if isinstance(value, str) else value for value in values]
        if None in numbers:
            raise InvalidArgument(field, f"{proposal.name!r} holds numbers in this table; type numbers as categories")
        values = tuple(cast("Category", number) for number in numbers)
    if len(set(values)) < len(values):
        raise InvalidArgument(field, f"a category of {proposal.name!r} is typed twice; type each once")
    return Categories(proposal.name, values)


def _render_set_up(visit: Visit, error: ArgumentError | None = None, status: int = 200) -> Response:
    """Return the form of the columns, with the typed values and the error at its field.

    Before the table is registered, the form has the unit and the budget, too.

    Args:
        visit: Request.
        error: Error to show beside its field; None: none.
        status: HTTP status.
    """
    table = _table(visit)
    dataset = _find_dataset(visit)
    decimal = "," if table.source.delimiter == ";" else "."
    declared: Mapping[str, Declared] = {}
    if dataset is not None:
        declared = {str(column.column): column for column in dataset.columns}
        decimal = visit.services.datasets.source(MACHINE, dataset.name, dataset.version).decimal
    proposals = [_fill_declared(proposal, declared) if dataset else proposal for proposal in table.columns]
    columns = [_fill_typed(visit, position, proposal) for position, proposal in enumerate(proposals)]
    return visit.render(
        "try_set_up.html", status, table=table, columns=columns, dataset=dataset,
        decimal=visit.form_value("decimal") or decimal, given=visit.form, one_row=ONE_ROW_OPTION,
        person_column=_find_person_column(table),
        wrong=None if error is None else {"field": error.argument, "message": capitalize_rule(error)},
    )  # fmt: skip


def _fill_declared(proposal: ProposedColumn, declared: Mapping[str, Declared]) -> ProposedColumn:
    """Return a proposed column with the use, and the range or categories, that the dataset declares for it.

    A column that the dataset does not declare gets `ColumnUse.NONE`.

    Args:
        proposal: Column of a local table, as the page proposes it.
        declared: Declared columns of the dataset by name.
    """
    column = declared.get(proposal.name)
    if column is None:
        return replace(proposal, use=ColumnUse.NONE)
    if has_unknown_categories(column):
        return replace(proposal, use=ColumnUse.CATEGORIES, values="")
    if isinstance(column, Categories):
        values = ",".join(str(_to_typed(value)) for value in column.values)
        return replace(proposal, use=ColumnUse.CATEGORIES, values=values)
    if has_dates(column):
        return replace(proposal, use=ColumnUse.DATES)
    if has_unknown_range(column):
        return replace(proposal, use=ColumnUse.NUMBERS, lower="", upper="")
    return replace(proposal, use=ColumnUse.NUMBERS, lower=f"{column.lower:.12g}", upper=f"{column.upper:.12g}")


def _fill_typed(visit: Visit, position: int, proposal: ProposedColumn) -> ProposedColumn:
    """Return the proposal for the column at `position` of the form, with the use, bounds and values that the principal
    typed.

    Args:
        visit: Request with the form.
        position: Number of the column in the form, from 0.
        proposal: Proposal for the column, returned unchanged if the form lacks it.
    """
    if f"use.{position}" not in visit.form:
        return proposal
    lower, upper, values = (visit.form_value(f"{name}.{position}") for name in ("lower", "upper", "values"))
    use = next((use for use in ColumnUse if use.value == visit.form_value(f"use.{position}")), ColumnUse.NONE)
    return replace(proposal, use=use, lower=lower, upper=upper, values=values)


def _to_typed(value: Category) -> Category:
    """Return a category as a person would type it into the form: in double quotes if it has a comma, quote or outer
    spaces.

    Args:
        value: Declared category; numbers are returned unchanged.
    """
    is_plain = not isinstance(value, str) or (value == value.strip() != "" and not set(value) & set(',"'))
    return value if is_plain else format_label(value)


def redirect_to_home(visit: Visit) -> Response:
    """Redirect to the pictures and answers, where the server has a page of projects.

    Args:
        visit: Request; without effect.
    """
    return redirect_to("")


def show_columns(visit: Visit) -> Response:
    """Answer with the form that changes the declared columns; before the table is registered, with the first page.

    Args:
        visit: Request.
    """
    return redirect_to("") if _find_dataset(visit) is None else _render_set_up(visit)


def change_columns(visit: Visit) -> Response:
    """Declare the columns anew, and redirect to the pictures. Earlier answers and their price stay.

    The new declaration is the next version of the data set, about the same people, so the same account pays.

    Args:
        visit: Request with the form.
    """
    table = _table(visit)
    dataset = _find_dataset(visit)
    if dataset is None:
        return redirect_to("")
    try:
        columns = _parse_columns(visit, table)
        source = replace(table.source, decimal=visit.form_value("decimal") or ".")
        stored = visit.services.datasets.source(MACHINE, dataset.name, dataset.version)
        if (columns, source) != (dataset.columns, stored):
            visit.services.datasets.add(
                MACHINE, dataset.account, source, columns, name=dataset.name, relation=Relation.SAME_PEOPLE,
                units=dataset.units,
            )  # fmt: skip
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        return _render_set_up(visit, error, 400)
    return redirect_to("")


def show_budget(visit: Visit) -> Response:
    """Answer with the form that raises the budget; before the table is registered, with the first page.

    Args:
        visit: Request.
    """
    return redirect_to("") if _find_dataset(visit) is None else _render_budget(visit)


def _render_budget(visit: Visit, error: ArgumentError | None = None, status: int = 200) -> Response:
    """Return the form that raises the budget, with the typed values and the error at its field.

    Args:
        visit: Request.
        error: Error to show beside its field; None: none.
        status: HTTP status.
    """
    dataset = cast("Dataset", _find_dataset(visit))
    return visit.render(
        "try_budget.html", status, table=_table(visit), given=visit.form,
        budget_of_table=find_budget(visit.services, dataset),
        wrong=None if error is None else {"field": error.argument, "message": capitalize_rule(error)},
    )  # fmt: skip


def change_budget(visit: Visit) -> Response:
    """Raise the budget to the typed amount, if the person has agreed, and redirect to the pictures; after an error the
    form is shown again.

    Args:
        visit: Request with the form.
    """
    if _find_dataset(visit) is None:
        return redirect_to("")
    try:
        limit = parse_price("amount", Currency.EPSILON, visit.form_value("amount"))
        if not visit.form_value("agreed"):
            raise InvalidArgument(
                "agreed", "tick the box to confirm that the people in the table may lose that much privacy"
            )
        raise_budget(visit.services, _table(visit), limit)
    except (ProtocolError, LedgerBusy):
        raise
    except ArgumentError as error:
        return _render_budget(visit, error, 400)
    return redirect_to("")


# Step 2: the question.


def submit_form(visit: Visit) -> Response:
    """Show the plan of a question, or ask it, depending on the pressed button; the form of a question that was asked is
    stored, so that its command line can be shown.

    Args:
        visit: Request with the form.
    """
    answer = question_pages.submit_form(visit)
    place, _, id = answer.headers.get("location", "").rpartition("/")
    if place == "/questions":
        word = visit.path_params["word"]
        project = visit.services.projects.get(visit.principal, visit.path_params["project"])
        fields, view = question_pages.complete_typed_fields(visit, project, visit.site.forms[word], visit.form)
        chosen = {} if view is None else {VIEW: [view.name, repr(view)]}  # its text, too: it may be replaced
        store_form(visit.services.archive, id, AskedForm(word, {**fields, **chosen}))
    return answer


# Step 3: the answer, published in a folder or copied as code.


def show_answer(visit: Visit) -> Response:
    """Answer with the page of a released result: its picture, its readings, and links to publish and copy it.

    Args:
        visit: Request, whose path names the release.
    """
    return _render_answer(visit)


def _render_answer(visit: Visit, **facts: Any) -> Response:
    """Return the page of the answer that the address names; status 400 with ``wrong``, else 200.

    Args:
        visit: The request; its path has the id of the release.
        facts: Values of the form for publishing: ``folder``, ``published`` (the folder written), ``replaced`` (whether
            it had an earlier publication), ``published_language`` and ``wrong`` (the error of a refused folder).
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    copies = _copies_of(visit, answer)
    form = find_form(visit.services.archive, answer.id)
    command = copies.write_command(visit.site.forms[form.word], form) if form and form.word in visit.site.forms else ""
    curves = find_curves(answer.load_curve())
    readings, misread = _read_curves(visit, curves)
    context: Mapping[str, Any] = {
        "published": "",
        "replaced": False,
        "wrong": "",
        "folder": _usual_folder(visit),
        "published_language": "",
        **facts,
    }
    return visit.render(
        "try_release.html", 400 if context["wrong"] else 200, asked=answer.asked_question, facts=answer.facts,
        drawn=answer.is_drawn, picture_text=answer.picture_text,
        python=copies.write_python(), command=command, has_readings=bool(curves),
        readings=readings, misread=misread, given=visit.query, **context,
    )  # fmt: skip


def _read_curves(visit: Visit, curves: Mapping[str, CDF]) -> tuple[list[Reading], str]:
    """Return the readings that the address asks for: quantiles and shares above values; or the error of a mistyped
    number.

    Args:
        visit: Request; its query may state a probability (``share``) and a value (``above``).
        curves: Distribution functions by name.

    Returns:
        Readings, and an empty text; or no readings, and the error.
    """
    readers = {"share": read_quantiles, "above": read_shares_above}
    readings = []
    for name, read in readers.items():
        text = "".join(visit.query.get(name, ())).strip()
        try:
            readings += read(curves, text) if text else []
        except InvalidArgument as error:
            return [], error.rule
    return readings, ""


def _copies_of(visit: Visit, answer: Answer) -> AnswerCopies:
    """Return the answer's copies: Python code, shell command and notebook that repeat the question.

    Args:
        visit: Request of the local user.
        answer: Answer of a question.
    """
    table = _table(visit)
    asked = answer.asked_question
    dataset = visit.services.datasets.get(visit.principal, asked.dataset)  # of the account that pays now
    source = visit.services.datasets.source(MACHINE, asked.dataset, asked.version)
    views = visit.services.datasets.views(visit.principal, asked.dataset)
    return AnswerCopies(asked, dataset, source, table.ledger_url, views)


def send_notebook(visit: Visit) -> Response:
    """Answer with a notebook to download that asks the question of a released result.

    Args:
        visit: Request, whose path names the release.
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    name = f"{_usual_folder(visit)}.ipynb"
    text = _copies_of(visit, answer).write_notebook(visit.read_language())
    return download(text, "application/x-ipynb+json", name)


def _usual_folder(visit: Visit) -> str:
    """Return the name of the folder beside the table that an answer is published in unless another is typed.

    Args:
        visit: Request, whose path names the release.
    """
    return f"{_table(visit).name}-{visit.path_params['release'][:8]}"


def publish_answer(visit: Visit) -> Response:
    """Write a released result into a folder beside the table: page, picture, numbers and statements. This costs no
    budget. The page of the result then shows the folder, or the error.

    Args:
        visit: Request; the path names the result, the form the folder.
    """
    answer = visit.services.releases.get(visit.principal, visit.path_params["release"])
    name = visit.form_value("folder") or _usual_folder(visit)
    language = visit.read_language()
    folder = _table(visit).path.parent / name
    try:
        replaced = (folder / INDEX_FILE).exists()
        if "/" in name or "\\" in name or name.startswith("."):
            raise InvalidArgument("folder", "type a name without / and without a dot at its start")
        with DRAWING_LOCK, use_language(language):
            curve = answer.load_curve()
            publish(curve, folder, title=name_page(curve))
    except ArgumentError as error:
        return _render_answer(visit, wrong=error.rule, folder=name, published_language=language)
    except OSError as error:
        return _render_answer(
            visit,
            wrong=f"it cannot be written ({error.strerror}); type another name",
            folder=name,
            published_language=language,
        )
    return _render_answer(visit, published=str(folder), replaced=replaced, folder=name, published_language=language)


LOCAL_PAGES = (
    Page("GET", "/", show_home),
    Page("POST", "/", register),
    Page("GET", "/columns", show_columns),
    Page("POST", "/columns", change_columns),
    Page("GET", "/budget", show_budget),
    Page("POST", "/budget", change_budget),
    Page("GET", "/projects/{project}", redirect_to_home),
    Page("GET", "/projects/{project}/ask", redirect_to_home),
    Page("GET", "/projects/{project}/ask/{word}", question_pages.show_form),
    Page("POST", "/projects/{project}/ask/{word}", submit_form),
    Page("POST", "/projects/{project}/ask/{word}/plan", question_pages.show_plan),
    Page("GET", "/projects/{project}/ask/{word}/sketch.svg", question_pages.show_sketch),
    Page("GET", "/projects/{project}/together", question_pages.show_combined),
    Page("GET", "/projects/{project}/together.{ending}", question_pages.send_combined_picture),
    Page("GET", "/questions/{question}", question_pages.show_question),
    Page("GET", "/questions/{question}/progress", question_pages.show_progress),
    Page("GET", "/releases/{release}", show_answer),
    Page("POST", "/releases/{release}", publish_answer),
    Page("GET", "/releases/{release}/notebook.ipynb", send_notebook),
    Page("GET", "/releases/{release}/figure", question_pages.show_figure),
    Page("GET", "/releases/{release}/picture.svg", question_pages.send_picture),
    Page("GET", "/releases/{release}/export.{ending}", question_pages.export_release),
)
"""Routes of the pages of `dpcurves try`: method, path and handler."""
