"""Code export of a local answer (`dpcurves try`): a Python script, a Jupyter notebook, or a shell command.

`dpcurves try` is the server for one person and one table. The exported code asks the same question again: it counts the
table, draws new noise, and charges the loss once more to the same privacy budget ledger. It runs from any folder.

    AnswerCopies    writes the script, the notebook or the command of one answered question
    store_form      stores the form with which a question was asked, from which the command is written
    find_form       returns the stored form

Writing code reads no records and charges nothing.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlalchemy import Connection, insert, select

from dpcurves.curves.question_code import write_loss_code, write_question_code
from dpcurves.curves.question_json import question_from_json
from dpcurves.curves.view import View
from dpcurves.translation import ENGLISH, translate, use_language

from .dataset_views import VIEW
from .datasets import DUCKDB_ENDINGS, Dataset, Source
from .form_inputs import LABEL_FIELDS
from .forms import FieldValues, Form, strip_text
from .questions import AskedQuestion
from .store import Archive, has_row
from .tables import ASKED_FORMS


@dataclass(frozen=True, slots=True)
class AskedForm:
    """The form with which a question was asked.

    Attributes:
        word: Command-line word of the form.
        fields: Texts of each field, completed from the schema.
    """

    word: str
    fields: FieldValues


def store_form(archive: Archive, id: str, form: AskedForm) -> None:
    """Store the form of a question; a form that is stored already stays.

    Args:
        archive: The server's database.
        id: Id of the question.
        form: The form.
    """

    def insert_form(connection: Connection) -> None:
        """Insert the row of the form unless the question has one.

        Args:
            connection: Connection in the write transaction.
        """
        if not has_row(connection, ASKED_FORMS, id=id):
            fields = json.dumps({name: list(texts) for name, texts in form.fields.items()})
            connection.execute(insert(ASKED_FORMS), {"id": id, "word": form.word, "fields": fields})

    archive.write(insert_form)


def find_form(archive: Archive, id: str) -> AskedForm | None:
    """Return the form of a question; None if it was asked without one.

    Args:
        archive: The server's database.
        id: Id of the question.
    """
    query = select(ASKED_FORMS).where(ASKED_FORMS.c.id == id)
    row = archive.read_snapshot(lambda connection: connection.execute(query).first())
    return None if row is None else AskedForm(row.word, json.loads(row.fields))


@dataclass(frozen=True, slots=True)
class AnswerCopies:
    """Writes the code that asks one answered question again.

    Attributes:
        asked: The question.
        dataset: The dataset.
        source: Location and format of the records.
        ledger_url: URL of the ledger.
        views: Views of the account, by name.
    """

    asked: AskedQuestion
    dataset: Dataset
    source: Source
    ledger_url: str
    views: Mapping[str, View]

    def write_python(self) -> str:
        """Return a Python script that asks the same question again."""
        return "\n\n".join((*self._write_cells(), "print(curve)\n"))

    def write_notebook(self, language: str = ENGLISH) -> str:
        """Return a Jupyter notebook that asks the question, as JSON.

        Args:
            language: Language code of its text and its plot, such as ``de``.
        """
        with use_language(language):
            explanation = translate(f"The second cell asks again, and spends {self.asked.loss} again.")
        title = f"# {self.asked.purpose}\n\n{explanation}"
        cells = [_notebook_cell("markdown", title, 0)]
        cells += [_notebook_cell("code", text, 1 + number) for number, text in enumerate(self._write_cells())]
        show = "curve.plot()\ncurve"
        if language != ENGLISH:  # `display` shows the summary while the language holds
            show = f'with dp.use_language("{language}"):\n    curve.plot()\n    display(curve)'
        cells.append(_notebook_cell("code", show, len(cells)))
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        facts = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        return json.dumps(facts, indent=1) + "\n"

    def write_command(self, form: Form, asked_form: AskedForm) -> str:
        """Return the shell command that asks the same question on the command line.

        Args:
            form: The form of the question.
            asked_form: The form as it was filled in.

        Returns:
            The command, with one option a line; empty if the command line cannot read the table, or if the chosen view
            has another text by now.
        """
        source = self.source
        name_of_view, *text_of_view = asked_form.fields.get(VIEW, ("",))
        if source.table or (text_of_view and text_of_view != [repr(self.views.get(name_of_view))]):
            return ""
        formats = {"delimiter": (source.delimiter, ","), "encoding": (source.encoding, "utf-8"),
                   "decimal": (source.decimal, ".")}  # fmt: skip
        words = ["dpcurves", asked_form.word, source.data]
        words += [word for name, (value, usual) in formats.items() if value != usual for word in (f"--{name}", value)]
        columns = {str(declared.column) for declared in self.dataset.columns}
        for field in form.fields:
            typed = asked_form.fields.get(field.name, ())
            texts = [text for text in (strip_text(text, columns) for text in typed) if text]
            label = self.asked.question.get(field.name) if field.name in LABEL_FIELDS else None
            for text in texts or ([label] if isinstance(label, str) else []):
                words += [f"--{field.name.replace('_', '-')}", text]
        loss = self.asked.loss
        name, amount = ("--rho", loss.rho) if loss.epsilon is None else ("--epsilon", loss.epsilon)
        decimal = repr(float(amount))
        words += [name, decimal if Fraction(decimal) == Fraction(amount) else str(amount)]
        words += ["--ledger", self.ledger_url, "--dataset", self.dataset.account.dataset]
        words += ["--view", name_of_view] if name_of_view else []
        return _break_lines(words)

    def _write_cells(self) -> tuple[str, str]:
        """Return two pieces of Python code: imports and the question; and the session that asks it.

        Returns:
            Texts of two notebook cells, in the order in which they run.
        """
        code = write_question_code(question_from_json(self.asked.question), column=len("question = "))
        imports, table = self._write_table()
        account = self.dataset.account
        unit = account.unit
        settings = [table, f"dataset={_quote(account.dataset)}", f"ledger={_quote(self.ledger_url)}",
                    f"budget={write_loss_code(account.cap)}", f"adjacency=dp.{account.neighbours.name}"]  # fmt: skip
        settings += [f"unit={_quote(unit.column)}"] if unit.column else []
        settings += [f"rows_per_unit={unit.records}"] if unit.column and unit.is_bounded else []
        question = "\n".join([*imports, "import dpcurves as dp", *code.imports, "", f"question = {code.expression}"])
        session = ",\n    ".join(settings)
        ask = f"    curve = session.ask(question, {write_loss_code(self.asked.loss)})"
        return question, f"with dp.Session(\n    {session},\n) as session:\n{ask}  # new noise: this is charged again"

    def _write_table(self) -> tuple[list[str], str]:
        """Return the import statements that the table needs, and the Python expression of the table."""
        source = self.source
        path = _quote(self.source.data)
        if source.table and source.data.lower().endswith(DUCKDB_ENDINGS):
            return ["import duckdb"], f"duckdb.connect({path}, read_only=True).table({_quote(source.table)})"
        formats: Mapping[str, tuple[str, str]] = {
            "delimiter": (source.delimiter, ","), "encoding": (source.encoding, "utf-8"),
            "decimal": (source.decimal, "."),
        }  # fmt: skip
        changed = "".join(f", {name}={_quote(value)}" for name, (value, usual) in formats.items() if value != usual)
        return [], f"dp.CsvFile({path}{changed})" if changed else path


def _quote(text: str) -> str:
    """Return a text as a Python literal in double quotes."""
    return json.dumps(text, ensure_ascii=False)


def _notebook_cell(kind: str, text: str, number: int) -> dict[str, Any]:
    """Return one cell of a Jupyter notebook (format 4) as a JSON object.

    Args:
        kind: ``markdown`` or ``code``.
        text: Content of the cell.
        number: Index of the cell, of which its id is made.
    """
    code: dict[str, Any] = {"execution_count": None, "outputs": []} if kind == "code" else {}
    return {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": text.splitlines(keepends=True), **code}


def _break_lines(words: list[str]) -> str:
    """Format the words of a command for a shell, with one option a line.

    >>> print(_break_lines(["dpcurves", "count", "my file.csv", "--epsilon", "1"]))
    dpcurves count 'my file.csv' \\
      --epsilon 1

    Args:
        words: Words of the command; those that begin with two dashes start a new line.

    Returns:
        Text that a shell reads as one command, with quoted words.
    """
    line = ""
    for word in words:
        line += f" \\\n  {shlex.quote(word)}" if word.startswith("--") else f" {shlex.quote(word)}"
    return line.strip()
