"""Opening a local table for `dpcurves try`, the server for one person: schema, proposed columns, and budget ledger.

The columns of the table are proposed with types that the schema states, and the person declares ranges and categories.
The privacy budget ledger is a file beside the table. It is locked, so that two servers never charge it at once.

Formal guarantees: only the schema is read here. Of a CSV file that is the header line, and no record.
"""

from __future__ import annotations

import os
import re
import secrets
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from dpcurves.arguments import InvalidArgument
from dpcurves.data import CsvFile, is_text_file, list_files, strip_compression
from dpcurves.expressions.checked import NO_HEADER, is_no_name
from dpcurves.ledger import Account
from dpcurves.privacy import Neighbours, PrivacyLoss, Unit

from .datasets import DUCKDB_ENDINGS, Relation, Source
from .declared_columns import Declared
from .principals import MACHINE

if TYPE_CHECKING:
    from dpcurves.records.source import Column

    from .services import Services

try:
    import fcntl
except ImportError:  # a system without fcntl, where no second process is noticed
    fcntl = None  # type: ignore[assignment]

PERSON = "you"
"""Name of the only account of `dpcurves try`, in its ledger and its audit log."""
LEDGER_ENDING = ".dpcurves-ledger"
"""Ending that is added to the table's file name for the ledger (budget and releases), a file beside the table."""
DELIMITERS = (",", ";", "\t", "|")
"""Field separators that are looked for in the header line of a CSV file: the most frequent is taken; of equally
frequent ones, the first."""
QUOTED_NAME = re.compile(rb'"[^"]*"')
"""A quoted name in a header line; it is removed before the field separators are counted."""


class ColumnUse(Enum):
    """What a column is used as."""

    NUMBERS = "numbers"
    DATES = "dates"
    CATEGORIES = "categories"
    NONE = "none"


UNTYPED_USES = (ColumnUse.NONE, ColumnUse.NUMBERS, ColumnUse.CATEGORIES)
"""Uses that pages offer for a column whose schema declares numbers or no type."""
FIELD_USES = (ColumnUse.NONE, ColumnUse.NUMBERS, ColumnUse.DATES, ColumnUse.CATEGORIES)
"""Uses that pages offer for a column of a CSV file, which declares no types: all of them."""
TEXT_USES = (ColumnUse.NONE, ColumnUse.CATEGORIES)
"""Uses that pages offer for a column of text."""
TIME_USES = (ColumnUse.NONE, ColumnUse.DATES)
"""Uses that pages offer for a column of dates, times or durations."""


@dataclass(frozen=True, slots=True)
class ProposedColumn:
    """The proposal for a column, from its name and its declared type alone.

    Attributes:
        name: The name.
        use: What the column is used as.
        lower: The lower bound of numbers, as typed; empty if nothing is proposed.
        upper: The upper bound of numbers, as typed; empty if nothing is proposed.
        values: The categories, as typed, with commas between them; empty if nothing is proposed.
        has_numbers: Whether the schema declares numbers; None if it declares no type, as in CSV files.
        uses: The uses that the declared type allows.
        spellings: Lists of categories that the form offers, as typed; empty if nothing is offered.
    """

    name: str
    use: ColumnUse = ColumnUse.NONE
    lower: str = ""
    upper: str = ""
    values: str = ""
    has_numbers: bool | None = None
    uses: tuple[ColumnUse, ...] = UNTYPED_USES
    spellings: tuple[str, ...] = ()


RANGES_BY_WORD: Mapping[str, tuple[str, str]] = MappingProxyType({
    "age": ("0", "120"), "alter": ("0", "120"), "âge": ("0", "120"), "edad": ("0", "120"),
    "percent": ("0", "100"), "pct": ("0", "100"), "score": ("0", "1"),
    "probability": ("0", "1"), "prob": ("0", "1"), "p": ("0", "1"), "risk": ("0", "1"), "year": ("1900", "2100"),
    "month": ("1", "12"), "hour": ("0", "24"), "bmi": ("10", "80"),
})  # fmt: skip
"""Ranges that are proposed for a column of numbers, by a word of its name. No value is read; the user confirms or
corrects them."""
NUMBER_WORDS = frozenset({
    "amount", "balance", "cost", "count", "days", "delay", "distance", "duration", "fee", "height", "hours", "income",
    "length", "minutes", "months", "number", "pay", "price", "rate", "salary", "size", "spend", "time", "value",
    "visits", "wage", "weight", "years", *RANGES_BY_WORD,
    "area", "floorspace", "rent", "revenue", "temperature", "turnover",
    "anzahl", "betrag", "dauer", "einkommen", "fläche", "flaeche", "gehalt", "gewicht", "größe", "groesse", "jahre",
    "kosten", "lohn", "miete", "minuten", "monate", "preis", "stunden", "tage", "umsatz", "zeit",
    "durée", "jours", "loyer", "mois", "montant", "poids", "prix", "revenu", "salaire", "surface", "taille",
    "alquiler", "días", "horas", "importe", "ingresos", "meses", "peso", "precio", "renta", "salario",
    "chf", "cm", "eur", "euro", "euros", "gbp", "kg", "km", "mg", "min", "ml", "mm", "usd",
})  # fmt: skip
"""Words in the names of columns that are proposed as numbers, and units of measurement and currencies, as in ``fee
(EUR)``. The user confirms or corrects the proposal."""
FLAG_WORDS = frozenset({
    "cancelled", "churn", "churned", "convicted", "cured", "dead", "death", "default", "defaulted", "died", "event",
    "failed", "ill", "label", "outcome", "passed", "readmitted", "recovered", "relapse", "relapsed",
    "returned", "ruled", "success", "target", "treated", "treatment", "won",
})  # fmt: skip
"""Words in the names of columns that are proposed as two classes, such as 0 and 1, or no and yes."""
CLASS_SPELLINGS = ("0,1", "no,yes", "No,Yes", "NO,YES", "N,Y", "n,y", "false,true", "False,True", "FALSE,TRUE", "F,T")
"""Spellings of two classes that the user can choose from, because a header does not show the spelling of a file."""
DATE_WORDS = frozenset({
    "birthday", "birthdate", "date", "datum", "dob", "einzug", "fecha", "geburtsdatum", "timestamp",
})  # fmt: skip
"""Words in the names of columns that are proposed as dates."""
DATE_NAMES = frozenset({"admitted", "arrived", "born", "closed", "discharged", "ended", "opened", "started"})
"""Words that propose dates if they are the whole name of a column."""
DATE_ENDS = frozenset({"on", "at"})
"""Words that propose dates if they end the name of a column, after another word, as in ``borrowed on`` and
``created_at``."""
IDENTIFIER_WORDS = frozenset({"code", "id", "identifier", "key", "uuid", "zip"})
"""Words in the names of columns whose numbers count nothing; such a column is not proposed as numbers for its type
alone."""
PERSON_WORDS = frozenset({
    "applicant", "borrower", "client", "customer", "driver", "employee", "member", "participant", "passenger",
    "patient", "person", "pid", "pupil", "resident", "respondent", "student", "subject", "tenant", "user",
})  # fmt: skip
"""Words in the names of columns that identify people, alone or beside a word of `IDENTIFIER_WORDS`: such a column is
proposed as the privacy unit."""
CATEGORY_WORDS = frozenset({
    "branch", "canton", "carrier", "category", "city", "class", "clinic", "country", "county", "court", "department",
    "diagnosis", "district", "ethnicity", "gender", "genre", "grade", "group", "hospital", "kind", "language", "level",
    "occupation", "office", "product", "province", "race", "region", "school", "sex", "site", "state", "status",
    "team", "type", "ward",
    "neighborhood", "neighbourhood", "quarter", "triage",
    "abteilung", "beruf", "bezirk", "geschlecht", "gruppe", "kreis", "ort", "schule", "stadt", "stadtteil", "station",
    "arrondissement", "quartier", "sexe", "ville", "barrio", "ciudad", "distrito", "sexo",
})  # fmt: skip
"""Words in the names of columns that are proposed as categories."""


def propose_column(name: str, has_numbers: bool | None) -> ProposedColumn:
    """Return the proposal for a column of this name, whose schema declares numbers, text, or (None) no type.

    >>> propose_column("patient_age", None).upper, propose_column("died", True).values
    ('120', '0,1')
    >>> propose_column("died", None).values, propose_column("died", None).spellings[:2]
    ('', ('0,1', 'no,yes'))
    >>> [propose_column(name, True).use.value for name in ("x", "patientId")], propose_column("x", None).use.value
    (['numbers', 'none'], 'none')
    >>> [propose_column(name, None).use.value for name in ("fee (EUR)", "Größe", "genre", "Geschlecht", "court", "won")]
    ['numbers', 'numbers', 'categories', 'categories', 'categories', 'categories']
    >>> [propose_column(name, None).use.value for name in ("ruled", "cured", "days recovered", "default rate")]
    ['categories', 'categories', 'numbers', 'numbers']
    >>> [propose_column(name, None).use.value for name in ("Miete", "Fläche (m2)", "Stadtteil", "loyer", "barrio")]
    ['numbers', 'numbers', 'categories', 'numbers', 'categories']

    Args:
        name: Name of the column.
        has_numbers: True if the schema declares numbers, False for text, None if it declares no type.
    """
    words = _split_name(name)
    bounds = next((RANGES_BY_WORD[word] for word in words if word in RANGES_BY_WORD), ("", ""))
    is_measured = has_numbers is not False and bool(NUMBER_WORDS & set(words))  # as in "days recovered"
    if FLAG_WORDS & set(words) and not is_measured:
        values, spellings = ("0,1", ()) if has_numbers else ("", CLASS_SPELLINGS)
        return ProposedColumn(name, ColumnUse.CATEGORIES, "", "", values, has_numbers, UNTYPED_USES, spellings)
    is_number = bool(bounds[0] or NUMBER_WORDS & set(words))
    if has_numbers is not False and (is_number or (has_numbers and not IDENTIFIER_WORDS & set(words))):
        return ProposedColumn(name, ColumnUse.NUMBERS, *bounds, has_numbers=has_numbers)
    if has_numbers is not True and CATEGORY_WORDS & set(words):
        return ProposedColumn(name, ColumnUse.CATEGORIES, has_numbers=has_numbers)
    return ProposedColumn(name, has_numbers=has_numbers)


def find_person_column(names: Sequence[str]) -> str:
    """Return the first column whose name suggests an identifier of people; empty without a match.

    The form asks whether a person has several rows, because a name does not show that.

    >>> find_person_column(["age", "patient_id"]), find_person_column(["patient_age", "zip_code"])
    ('patient_id', '')

    Args:
        names: Names of the columns, in the order of the table.
    """
    for name in names:
        words = set(_split_name(name))
        if words & PERSON_WORDS and words <= PERSON_WORDS | IDENTIFIER_WORDS | {"no", "nr", "number"}:
            return name
    return ""


def _is_named_as_date(name: str) -> bool:
    """Return whether a column's name suggests dates.

    >>> [_is_named_as_date(name) for name in ("visitDate", "borrowed on", "created_at", "on", "attention")]
    [True, True, True, False, False]
    >>> [_is_named_as_date(name) for name in ("opened", "accounts opened")]
    [True, False]
    """
    words = _split_name(name)
    is_word_of_dates = bool(DATE_WORDS & set(words)) or (len(words) == 1 and words[0] in DATE_NAMES)
    return is_word_of_dates or (len(words) > 1 and words[-1] in DATE_ENDS)


def _split_name(name: str) -> list[str]:
    """Return the words of a column's name, in lower case, also of one such as ``visitDate``."""
    composed = unicodedata.normalize("NFC", name)
    return re.findall(r"[^\W\d_]+", re.sub(r"(?<=[a-z])(?=[A-Z])", "_", composed).lower())


@dataclass(frozen=True, slots=True)
class LocalTable:
    """A table on this machine, with its ledger beside it.

    Attributes:
        source: Where the records are, and their format, without the decimal sign.
        columns: The proposal for each column.
        is_csv: Whether the table is a CSV file, which declares no types.
    """

    source: Source
    columns: tuple[ProposedColumn, ...]
    is_csv: bool

    @property
    def path(self) -> Path:
        """The file, with all links resolved: another link to it leads to the same ledger."""
        return Path(self.source.data)

    @property
    def files(self) -> list[Path]:
        """Paths of all files that make up the table, which a pattern or folder may name."""
        return list(list_files(self.path).paths)

    @property
    def name(self) -> str:
        """The name of the data set: the file's name without its ending, and the table of a database."""
        stem = self.path.name.partition(".")[0] + (f"-{self.source.table}" if self.source.table else "")
        return "-".join(re.findall(r"\w+", stem))[:60] or "table"

    @property
    def ledger_path(self) -> Path:
        """Path of the ledger's file, beside the table."""
        return self.path.with_name(self.path.name + LEDGER_ENDING)

    @property
    def ledger_url(self) -> str:
        """Database URL of the ledger, whose file is beside the table."""
        return f"sqlite:///{self.ledger_path}"


def open_local_table(data: str, table: str = "", delimiter: str = "", encoding: str = "") -> LocalTable:
    """Return the table of a file, from its schema alone. Of a CSV file the header line is read.

    Args:
        data: The path of a CSV file, a Parquet file, a folder of Parquet files or a DuckDB database; or a pattern of
            files, as ``visits-*.csv``. The ledger is a file beside it.
        table: The table in a database; empty if it has one table, or for a file.
        delimiter: The field separator of a CSV file; empty: the most frequent one in the header line.
        encoding: The encoding of a CSV file; empty: UTF-8, else cp1252 if the header line is not in UTF-8.

    Raises:
        ValueError: The file is missing, has another format, or declares no columns.
    """
    path = Path(os.path.realpath(data))
    if "?" in str(path) or not str(path).isprintable():
        raise InvalidArgument(
            "data",
            "must be a path without ? and control characters, because the ledger is a file beside the table; rename it",
        )
    if path.name.lower().endswith(DUCKDB_ENDINGS):
        source = Source(str(path), _find_database_table(path, table))
    elif table:
        raise InvalidArgument("table", f"{path.name!r} is no DuckDB database; leave --table out")
    elif is_text_file(path) and all(file.is_file() for file in list_files(path).paths):
        source = _find_csv_format(path, delimiter, encoding)
    else:
        source = Source(str(path))
    is_csv = is_text_file(path) and not path.is_dir()
    return LocalTable(source, tuple(_propose(column) for column in _read_columns(source)), is_csv)


def _read_columns(source: Source) -> tuple[Column, ...]:
    """Return the columns that the schema of a source declares, in order; no row is read.

    Args:
        source: File or database table.

    Raises:
        InvalidArgument: the records cannot be opened, the file has no header, a column has no name, or two
            columns have the same name.
    """
    from dpcurves.records.source import ColumnKind
    from dpcurves.records.table_sources import open_source

    columns = open_source(source.records(), source.delimiter).columns
    if all(column.kind is ColumnKind.FIELDS and is_no_name(column.name) for column in columns):
        raise InvalidArgument("data", NO_HEADER)
    names = [column.name for column in columns]
    if not names or not all(names):
        raise InvalidArgument("data", "a column has no name; give each column a name in the header line")
    if len(set(names)) < len(names):
        raise InvalidArgument("data", "two columns have the same name; give them different names in the header line")
    return columns


def _propose(column: Column) -> ProposedColumn:
    """Return the proposal for a column of a schema. Columns that are neither numbers, text nor times are left out."""
    from dpcurves.records.source import ColumnKind

    if column.kind is ColumnKind.TIMES and column.elapsed_time is not None:
        return ProposedColumn(column.name, ColumnUse.DATES, has_numbers=False, uses=TIME_USES)
    if column.kind in (ColumnKind.TIMES, ColumnKind.OTHER):
        return ProposedColumn(column.name, has_numbers=False, uses=(ColumnUse.NONE,))
    is_untyped = column.kind in (ColumnKind.FIELDS, ColumnKind.UNTYPED, ColumnKind.OBJECTS)
    proposal = propose_column(column.name, None if is_untyped else column.kind is ColumnKind.NUMBERS)
    if column.kind is ColumnKind.FIELDS:
        use = ColumnUse.DATES if _is_named_as_date(column.name) else proposal.use
        return replace(proposal, use=use, uses=FIELD_USES)
    return replace(proposal, uses=TEXT_USES) if column.kind is ColumnKind.TEXT else proposal


def _find_csv_format(path: Path, delimiter: str, encoding: str) -> Source:
    """Return a CSV file with its field separator and its encoding, from the header line alone.

    Args:
        path: The file, or a pattern of files; the first one decides.
        delimiter: Field separator; empty: the most frequent one in the header line, or a tab for .tsv.
        encoding: Encoding; empty: UTF-8, or cp1252 if the header line is not in UTF-8.

    Raises:
        InvalidArgument: the file cannot be read.
    """
    from dpcurves.records.table_sources import open_csv, read_header

    try:
        with open_csv(CsvFile(list_files(path).paths[0])) as file:
            header = read_header(file)
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is damaged"
        raise InvalidArgument("data", f"{path.name!r} cannot be read ({reason}); check the file") from None
    if not delimiter:
        is_tabbed = strip_compression(path).endswith(".tsv")
        unquoted = QUOTED_NAME.sub(b"", header)
        delimiter = "\t" if is_tabbed else max(DELIMITERS, key=lambda sign: unquoted.count(sign.encode()))
    if not encoding:
        try:
            header.decode("utf-8")
            encoding = "utf-8"
        except UnicodeDecodeError:
            encoding = "cp1252"
    file_format = CsvFile(path, delimiter, encoding)  # refuses other separators and encodings
    return Source(str(path), "", file_format.delimiter, encoding)


def _find_database_table(path: Path, table: str) -> str:
    """Return the named table of a DuckDB database, or its only one.

    Args:
        path: File of the database.
        table: Name of the table; empty if the database has only one.

    Raises:
        InvalidArgument: the file is no database, or has no table of this name; or several tables and none is named.
    """
    import duckdb

    if not path.is_file():
        raise InvalidArgument("data", f"there is no file {path.name!r}; check the path")
    try:
        with duckdb.connect(str(path), read_only=True) as connection:
            names = [str(name) for (name,) in connection.execute("SHOW TABLES").fetchall()]
    except duckdb.Error:
        raise InvalidArgument(
            "data", f"{path.name!r} is no DuckDB database, or another program has it open; close it there"
        ) from None
    if not names:
        raise InvalidArgument("data", f"the database {path.name!r} has no table; give a database with a table")
    if table and table not in names:
        raise InvalidArgument("table", f"the database has no table {table!r}; name one of {', '.join(sorted(names))}")
    if not table and len(names) > 1:
        raise InvalidArgument(
            "table",
            f"the database has several tables; name one, as in --table {min(names)}: {', '.join(sorted(names))}",
        )
    return table or names[0]


class LedgerLock:
    """The lock of the process that asks a table; there is one at most. It ends with the process, even if it is killed.

    Args:
        table: The table.

    Raises:
        ValueError: Another process holds the lock, or the folder of the table accepts no file.
    """

    def __init__(self, table: LocalTable) -> None:
        # A separate file: closing the file of the ledger here would release the locks of SQLite.
        path = table.ledger_path.with_name(f"{table.ledger_path.name}.lock")
        name = table.path.name
        try:
            self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise InvalidArgument(
                "data",
                f"the ledger is a file beside the table, but the folder of {name!r} accepts no file "
                f"({error.strerror}); copy the table into a folder where you may write",
            ) from None
        try:
            if fcntl is not None:
                fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self.release()
            raise InvalidArgument(
                "data",
                f"another dpcurves try has {name!r} open; use its window, or stop it with Ctrl-C and start again",
            ) from None

    def release(self) -> None:
        """Release the file lock, so that another process may open the ledger."""
        os.close(self._file)


@dataclass(frozen=True, slots=True)
class TableFacts:
    """The public facts that the user declares about a table.

    Attributes:
        cap: The budget.
        neighbours: The protected fact: that a person is in the table, or the values in a person's record.
        unit: The privacy unit.
        columns: The public schema.
        decimal: The decimal sign in a CSV file.
    """

    cap: PrivacyLoss
    neighbours: Neighbours
    unit: Unit
    columns: tuple[Declared, ...]
    decimal: str = "."


def register_table(services: Services, table: LocalTable, facts: TableFacts) -> None:
    """Register a table with its one user, whose allowance is the whole budget.

    Under replace-one the number of people is public, and is counted here. Each step is skipped if an earlier call has
    done it, so a call completes a registration that was interrupted.

    Args:
        services: The services of the server.
        table: The table.
        facts: Declared columns, unit, adjacency and budget of the table.

    Raises:
        ValueError: the table has no declared column of this type, no record under replace-one, or the account exists
            with other facts.
    """
    source = replace(table.source, decimal=facts.decimal)
    account = Account(table.name, facts.neighbours, facts.unit, facts.cap)
    source.require_schema(facts.unit, facts.columns)
    if all(person.name != PERSON for person in services.people.all(MACHINE)):
        services.people.add(MACHINE, PERSON, secrets.token_urlsafe(32))  # this password is never used to sign in
    if all(dataset.name != table.name for dataset in services.datasets.all(MACHINE)):
        units = source.count_units(facts.unit) if facts.neighbours.has_public_units else None
        if units == 0:
            raise InvalidArgument(
                "adjacency",
                "the table has no person yet, so the number of people cannot be public; choose that it is hidden",
            )
        services.datasets.add(
            MACHINE, account, source, facts.columns, name=table.name, relation=Relation.FIRST, units=units
        )  # fmt: skip
    if all(project.name != table.name for project in services.projects.all(MACHINE)):
        services.projects.make(MACHINE, table.name, table.name)
    services.projects.add_member(MACHINE, table.name, PERSON)
    set_allowances(services, table.name, facts.cap)


def set_allowances(services: Services, name: str, cap: PrivacyLoss) -> None:
    """Let the only user of a table spend the whole cap of its present account.

    Args:
        services: Services of the server.
        name: Name of the table.
        cap: Cap of its account.
    """
    services.projects.set_allowance(MACHINE, name, cap)
    services.projects.set_allowance(MACHINE, name, cap, PERSON)
