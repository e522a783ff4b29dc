"""Option groups of commands, parsers of option values, and options of loss, account, source and splits."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass
from fractions import Fraction
from functools import wraps
from importlib import import_module
from inspect import Parameter, Signature, signature
from math import isfinite
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

import click

from ..arguments import InvalidArgument
from .terminal import Misuse, print_to_stderr, restore_option_names, translate_argument_errors

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..curves.question import By
    from ..data import Categories, Category, Grid, Predictor
    from ..privacy import Neighbours, PrivacyLoss, Unit


# Parsers of option values take the option's name and the text typed, and raise `Misuse` where it is of another form.


Choice = TypeVar("Choice")
Label = str | int | float | bool
DECLARED_NUMBER = "number:"
"""Stands before a label that is a number, however it is written in the data."""
TRUTH = {"true": True, "false": False}
ITEM = re.compile(r'\s*("(?:[^"]|"")*"|[^,"]*)\s*(?:,|$)')
LONGEST_NUMBER = 60


def parse_integer(argument: str, text: str, least: int = 1) -> int:
    """Parse a whole number of at least `least`."""
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None or int(text) < least:
        raise Misuse(argument, f"a whole number of at least {least} is needed, got {text!r}")
    return int(text)


def parse_integer_above_one(argument: str, text: str) -> int:
    """Parse a whole number of at least 2."""
    return parse_integer(argument, text, least=2)


def check_positive_number(argument: str, text: str) -> str:
    """Check a finite number above zero, and return it exactly as it was typed: ``0.1``, ``1e-3`` or ``1/3``."""
    decimal, quotient = _parse_float(text), re.fullmatch(r"[0-9]{1,18}/[0-9]{1,18}", text)
    if (decimal is None and quotient is None) or len(text) > LONGEST_NUMBER:
        raise Misuse(argument, f"a number above zero is needed, got {text!r}")
    if decimal is not None and not (isfinite(decimal) and decimal > 0):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    if quotient is not None and 0 in map(int, text.split("/")):
        raise Misuse(argument, f"a finite number above zero is needed, got {text}")
    return text


def parse_positive_number(argument: str, text: str) -> float:
    """Parse a finite number above zero, rounded to a float."""
    return float(Fraction(check_positive_number(argument, text)))


def parse_magnitude(argument: str, text: str) -> float:
    """Parse a finite number above zero, or ``auto``: no magnitude is known."""
    if text != AUTO:
        return parse_positive_number(argument, text)
    from ..curves.bounds import SMALLEST_UNIT

    return SMALLEST_UNIT


def parse_probability(argument: str, text: str) -> float:
    """Parse a number between 0 and 1, both exclusive."""
    number = _parse_float(text)
    if number is None or not 0 < number < 1:
        raise Misuse(argument, f"a number between 0 and 1 is needed, as in 0.95, got {text!r}")
    return number


def parse_numbers(argument: str, text: str) -> tuple[float, ...]:
    """Parse comma-separated finite numbers."""
    found = [_parse_float(item) for item in text.split(",")]
    exact = tuple(number for number in found if number is not None and isfinite(number))
    if len(exact) < len(found):
        raise Misuse(argument, f"numbers with commas between them are needed, got {text!r}")
    return exact


def parse_number(argument: str, text: str) -> float:
    """Parse one finite number."""
    found = parse_numbers(argument, text)
    if len(found) != 1:
        raise Misuse(argument, f"one number is needed, got {text!r}")
    return found[0]


def parse_choice(argument: str, text: str, choices: Mapping[str, Choice]) -> Choice:
    """Value that a word stands for among the choices."""
    if text not in choices:
        raise Misuse(argument, f"{' or '.join(choices)} is needed, got {text!r}")
    return choices[text]


def parse_label(argument: str, text: str) -> Label:
    """Parse a label: text as it stands, of which quotes are taken off; ``number:`` declares a number or a truth value.

    Raises:
        Misuse: no number is declared behind ``number:``.

    >>> [parse_label("by", text) for text in ("01", "late", '"a,b"', "number:01", "number:true", '"number:1"')]
    ['01', 'late', 'a,b', 1, True, 'number:1']
    """
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if not text.startswith(DECLARED_NUMBER):
        return text
    said = text.removeprefix(DECLARED_NUMBER)
    if said.lower() in TRUTH:
        return TRUTH[said.lower()]
    if re.fullmatch(r"[+-]?[0-9]{1,1000}", said):
        return int(said)
    number = _parse_float(said)
    if number is None or not isfinite(number):
        raise Misuse(argument, f"{DECLARED_NUMBER} stands before a number, true or false, got {text!r}")
    return number


def format_label(label: Label) -> str:
    """Text of a label as `parse_label` reads it: the inverse of `parse_label`.

    >>> format_label(1), format_label(True), format_label("late"), format_label('a "b", c')
    ('number:1', 'number:true', '"late"', '"a ""b"", c"')
    """
    if isinstance(label, str):
        return '"' + label.replace('"', '""') + '"'
    return DECLARED_NUMBER + (repr(label).lower() if isinstance(label, bool) else repr(label))


def parse_labels(argument: str, text: str) -> tuple[Label, ...]:
    """Parse comma-separated labels; a label that holds a comma stands in quotes.

    >>> parse_labels("categories", 'UA, "a,b",03')
    ('UA', 'a,b', '03')
    """
    found: list[Label] = []
    place = 0
    while place <= len(text):
        item = ITEM.match(text, place)
        if item is None or not item[1].strip():
            raise Misuse(argument, f"labels with commas between them are needed, got {text!r}")
        found.append(parse_label(argument, item[1].strip()))
        place = item.end() + (0 if item[0].endswith(",") else 1)
    return tuple(found)


def _parse_float(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def parse_certificate_and_key(tls: str) -> tuple[Path, Path]:
    """Paths of the certificate and of its private key that ``--tls`` names."""
    certificate, _, key = tls.partition(",")
    if not certificate or not key or "," in key:
        raise Misuse("tls", "two files with a comma between them are needed, as in cert.pem,key.pem")
    return Path(certificate), Path(key)


# Option groups: parameters of a command are dataclasses, and their fields become its options.


Command = Callable[..., None]
Group = type[Any]
Reader = Callable[[str, str], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})


def _complete_files(context: object, parameter: object, typed: str) -> list[CompletionItem]:
    """Let the shell complete names of files, as it does without a command's own completion."""
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


class Option:
    """Annotation that makes a parameter of a command an option.

    Attributes:
        names: Names of the option, where they are not that of the parameter.
        help: Help text.
        metavar: Word that stands for its value.
    """

    def __init__(self, *names: str, help: str, metavar: str | None = None) -> None:
        self.names, self.help, self.metavar = names, help, metavar

    def to_parameter(self, name: str, hint: Any, settings: Mapping[str, Any]) -> click.Parameter:
        """The option of a parameter of this name and type: a flag of a truth value; of a list, given several times."""
        word = name.replace("_", "-")
        told = {**settings, "help": self.help, "show_default": bool(settings.get("default"))}
        if hint is bool:
            return click.Option([*(self.names or (f"--{word}/--no-{word}",)), name], is_flag=True, **told)
        return click.Option(
            [*(self.names or (f"--{word}",)), name], metavar=self.metavar, multiple=_is_list(hint), type=str,
            shell_complete=_complete_files, **told,
        )  # fmt: skip


class Argument:
    """Annotation that makes a parameter of a command an argument.

    Attributes:
        help: Help text.
        metavar: Word that stands for its value.
    """

    def __init__(self, *, help: str, metavar: str) -> None:
        self.help, self.metavar = help, metavar

    def to_parameter(self, name: str, hint: Any, settings: Mapping[str, Any]) -> click.Parameter:
        """The argument of a parameter of this name and type. A list takes all words that are left."""
        return _Argument(
            [name], metavar=self.metavar, help=self.help, nargs=-1 if _is_list(hint) else 1, type=str,
            shell_complete=_complete_files, **settings,
        )  # fmt: skip


class _Argument(click.Argument):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        names, told = super().get_help_record(ctx)
        return names, f"{told}  [required]" if self.required else told


def _is_list(hint: Any) -> bool:
    return list in {get_origin(each) for each in (hint, *get_args(hint))}


def parameters_in(command: Command) -> list[click.Parameter]:
    """Options and arguments of a function that `with_options` made."""
    found = []
    for name, each in signature(command).parameters.items():
        hint, declared, *_ = get_args(each.annotation)
        settings = {"required": True} if each.default is Parameter.empty else {"default": each.default}
        found.append(declared.to_parameter(name, hint, settings))
    return found


def option(metavar: str, help_text: str, default: Any = MISSING, parse: Reader | None = None) -> Any:
    """Declare a field as an option: its metavar, its help, its default, and the parser of its text."""
    return field(default=default, metadata={"declared": Option(help=help_text, metavar=metavar), "read": parse})


def optional(metavar: str, help_text: str, parse: Reader | None = None) -> Any:
    """Declare a field as an option that may be left out, and then is None."""
    return option(metavar, help_text, None, parse)


def flag(name: str, help_text: str) -> Any:
    """Declare a field as an option of this name without a value; left out, it is False."""
    return field(default=False, metadata={"declared": Option(name, help=help_text)})


def argument(metavar: str, help_text: str, default: Any = MISSING) -> Any:
    """Declare a field as an argument: its metavar, its help and its default."""
    return field(default=default, metadata={"declared": Argument(help=help_text, metavar=metavar)})


class QuestionOptions:
    """Base of option groups that say something of a question."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The fields of a question that the options give, each read by its parser; `defaults` are the question's defaults.

        Raises:
            Misuse: an option is of the wrong form.
        """
        given = {each.name: (getattr(self, each.name), each.metadata.get("read")) for each in fields(self)}  # type: ignore[arg-type]
        return {
            name: text if read is None or text is None else read(name.replace("_", "-"), text)
            for name, (text, read) in given.items()
        }

    def adapt_view(self, view: Any, question: Any) -> Any:
        """The view of the answer to a question, where the options say what is shown of it."""
        return view


class ReadingOptions(QuestionOptions):
    """Base of option groups that say what is shown of an answer, by `adapt_view`, and nothing of the question."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Nothing."""
        return {}


def make_option_group(**options: Any) -> Group:
    """Make a group of a few options that says of a question what they are called."""
    texts = [(name, str | None if each.default is None else str, each) for name, each in options.items()]
    return make_dataclass("_".join(options), texts, bases=(QuestionOptions,), frozen=True)


def groups_of(command: Command) -> dict[str, Group]:
    """Dataclasses of a command's parameters, and its annotated options, by parameter name."""
    return {name: hint for name, hint in get_type_hints(command, include_extras=True).items() if name != "return"}


def with_options(
    command: Command, metavar_defaults: Mapping[str, str] = NOTHING, excluded_names: Collection[str] = ()
) -> Command:
    """Make a command take the fields of its dataclasses one by one.

    Every parameter of `command` is annotated as an option, or is a dataclass. Its fields are declared as options, or
    are groups of options again; together they are what is shown by ``--help``, in this order.

    Args:
        command: Function that the command calls.
        metavar_defaults: Defaults of required options, by their metavar; an empty default means the name of the option itself.
        excluded_names: Names of fields that become no options, because their values are given elsewhere.
    """
    groups, own, unsaid = groups_of(command), signature(command).parameters, dict.fromkeys(excluded_names)
    every: list[Parameter] = []
    for name, group in groups.items():
        every += (
            parameters_of(group, metavar_defaults) if is_dataclass(group) else [own[name].replace(annotation=group)]
        )
    parameters = [parameter for parameter in every if parameter.name not in excluded_names]

    @wraps(command)
    def run_command(**parsed: Any) -> None:
        values = {name: (list(each) or None) if isinstance(each, tuple) else each for name, each in parsed.items()}
        with restore_option_names(values):
            given = {**unsaid, **values}
            command(
                **{name: build_group(it, given) if is_dataclass(it) else given[name] for name, it in groups.items()}
            )

    run_command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run_command


def parameters_of(group: Group, metavar_defaults: Mapping[str, str] = NOTHING) -> Iterator[Parameter]:
    """Parameters of a group's options, including those of nested groups."""
    hints = get_type_hints(group, include_extras=True)
    for each in fields(group):
        hint = hints[each.name]
        if is_dataclass(hint):
            yield from parameters_of(hint, metavar_defaults)  # type: ignore[arg-type]
            continue
        if "declared" in each.metadata:
            hint = Annotated[hint, each.metadata["declared"]]
        default = _find_default(each.name, hint, metavar_defaults) if each.default is MISSING else each.default
        yield Parameter(each.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _find_default(name: str, hint: Any, standing: Mapping[str, str]) -> Any:
    takes = next((str(each.metavar) for each in getattr(hint, "__metadata__", ()) if hasattr(each, "metavar")), "")
    return standing[takes] or name if takes in standing else Parameter.empty


def build_group(group: Group, values: Mapping[str, Any]) -> Any:
    """Build a group from the values of its fields, and of those of its nested groups."""
    hints = get_type_hints(group)
    names = [each.name for each in fields(group)]
    return group(
        **{name: build_group(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names}
    )


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """Names of all options of these groups."""
    return frozenset(parameter.name for group in groups for parameter in parameters_of(group))


def values_of(group: Any) -> dict[str, Any]:
    """Values of a group's options by name, including those of nested groups: the inverse of `build_group`."""
    found: dict[str, Any] = {}
    for each in fields(group):
        value = getattr(group, each.name)
        found |= values_of(value) if is_dataclass(value) else {each.name: value}
    return found


# Options for the privacy loss, the guarantee, the account, the table, its columns, grids, labels, scores and models.
#
# Methods raise `Misuse` where options contradict each other, or one is missing.


ACCOUNT = "The account in the ledger; needed if there are several."
A_COLUMN = "A column of numbers."
SIGN = "@"
"""The prefix of a file name of a model, in the place of a column of scores."""
NEEDS_GRID = "give --grid lower:upper:cells (or --edges, or --values): --{} needs one"
AUTO = "auto"
STANDARD_INPUT = "-"
NO_AUTO = (
    "auto is for cdf, quantiles, histogram, survival and scores of one table; here cells are public, as 0:100:256: "
    "dpcurves task suggest proposes some from a public sample"
)
NO_GRID = "give --grid lower:upper:cells (or --edges, or --values); bounds are declared, never read off data"
MOST_POINTS = 4000
IN_NO_GROUP = "scores outside of the grid are counted apart here and lie in no group; leave --outside out"


@dataclass(frozen=True)
class LossOptions:
    """Options for the privacy loss, epsilon or rho. There is no default."""

    epsilon: str | None = optional("E", "The privacy loss epsilon, of pure differential privacy: a number above zero.")
    rho: str | None = optional(
        "R", "The privacy loss rho, of zero-concentrated differential privacy, instead of --epsilon."
    )

    def loss(self) -> PrivacyLoss:
        """The privacy loss that was given. Raises `ValueError` if a ledger could not represent it."""
        from ..ledger import Currency
        from ..privacy import PrivacyLoss

        if self.epsilon is not None and self.rho is not None:
            raise Misuse("epsilon, rho", "give --epsilon (pure) or --rho (zCDP), not both")
        if self.epsilon is not None:
            return Currency.require_countable(
                PrivacyLoss.pure(check_positive_number("epsilon", self.epsilon)), self.epsilon
            )
        if self.rho is not None:
            return Currency.require_countable(PrivacyLoss.zcdp(check_positive_number("rho", self.rho)), self.rho)
        raise Misuse("epsilon", "give --epsilon (pure) or --rho (zCDP); there is no default")


@dataclass(frozen=True)
class LossAndDeltaOptions(LossOptions):
    """Options for the privacy loss, with a delta for groups that nobody listed."""

    delta: str | None = optional(
        "D", "The chance with which more may be lost; it finds the groups of --by NAME that nobody listed."
    )

    def loss(self) -> PrivacyLoss:
        """The privacy loss that was given, with its delta."""
        loss = super().loss()
        return loss if self.delta is None else loss.with_delta(Fraction(check_positive_number("delta", self.delta)))


@dataclass(frozen=True)
class GuaranteeOptions:
    """Options for the privacy guarantee: adjacency, unit of privacy, and rows per unit."""

    adjacency: str | None = optional("KIND", "replace-one: the number of units is public; add-remove: it is private.")
    unit: str | None = optional(
        "NAME", "The column that says whose record it is; without it each record is protected on its own."
    )
    rows_per_unit: str | None = optional(
        "K", "The most records of one unit that are used; without it, a sixth of the loss finds out how many."
    )

    def neighbours(self) -> Neighbours:
        """The kind of adjacency."""
        from ..privacy import Neighbours

        if self.adjacency is None:
            raise Misuse(
                "adjacency",
                "give --adjacency replace-one (the number of units is public) or add-remove (it is private)",
            )
        return parse_choice("adjacency", self.adjacency, {kind.value: kind for kind in Neighbours})

    def privacy_unit(self, *, bound_required: bool = True) -> Unit:
        """The unit of privacy. Refused where the bound of its records has to be `bound_required`, and is not."""
        from ..privacy import EACH_RECORD, Unit

        if self.unit is None and self.rows_per_unit is None:
            return EACH_RECORD
        if not self.unit:
            raise Misuse("unit", "say with --unit which column tells whose record it is")
        if self.rows_per_unit is None and not bound_required:
            return Unit.with_unknown_bound(self.unit)
        if self.rows_per_unit is None:
            raise Misuse("rows-per-unit", "say with --rows-per-unit how many records of one unit are used at most")
        return Unit(self.unit, parse_integer("rows-per-unit", self.rows_per_unit))

    def max_rows_per_unit(self) -> int | None:
        """The bound of records of one unit; None: it was not given."""
        return None if self.rows_per_unit is None else parse_integer("rows-per-unit", self.rows_per_unit)


@dataclass(frozen=True)
class UnitCountOptions:
    """Option for the public number of units."""

    units: str | None = optional("N", "Under replace-one: the public number of units.")

    def unit_count(self, neighbours: Neighbours) -> int | None:
        """Public number of units; None: it was not given. Refused where it is private."""
        if self.units is None:
            return None
        if not neighbours.has_public_units:
            raise Misuse("units", "their number is private under add-remove; leave it out")
        return parse_integer("units", self.units)


@dataclass(frozen=True)
class PayingAccountOptions:
    """Options for the ledger and account that are charged, and for the request id."""

    ledger: str | None = optional(
        "URL", "The ledger that is charged, as in sqlite:///budget.db; it sets adjacency and unit."
    )
    dataset: str | None = optional("NAME", ACCOUNT)
    request_id: str | None = optional(
        "ID", "A name for this request: asked again under it, the same curve costs nothing."
    )


POSTGRES = ("postgresql://", "postgres://")
SPARK = "sc://"
ENGINES = (*POSTGRES, SPARK)


@dataclass(frozen=True)
class SourceOptions:
    """Options for a table in a file, or in a database engine that counts its records in place."""

    data: Annotated[
        str, Argument(metavar="DATA", help="A CSV file with a header, a Parquet file, or postgresql://reader@host/db.")
    ]
    delimiter: str = option("SIGN", "What separates the fields of a CSV file.", ",")
    table: str | None = optional("SCHEMA.TABLE", "The table or view, where DATA is the URL of a database.")

    @property
    def is_file(self) -> bool:
        """True if the table is a file."""
        return not self.data.startswith(ENGINES)

    @property
    def has_types(self) -> bool:
        """True if the table declares the types of its columns: all but CSV does."""
        return not self.is_file or self.data.lower().endswith(".parquet")

    def records(self) -> object:
        """Data source for a session: the file's name, or the table of an engine."""
        if self.is_file:
            if self.table is not None:
                raise Misuse("table", "it names a table of a database; DATA is no URL of a database")
            return self.data
        if self.table is None:
            raise Misuse("table", "say which table or view of the database is asked, as in --table clinic.visits")
        from ..records.engines import table_from_url

        return table_from_url(self.data, self.table)


@dataclass(frozen=True)
class FormattedSourceOptions(SourceOptions):
    """Options for a table as `SourceOptions`, and for the declared form of a CSV file, or of standard input."""

    encoding: str = option("NAME", "The encoding of a CSV file: utf-8, latin-1 or cp1252.", "utf-8")
    decimal: str = option("SIGN", "What stands before decimals in a CSV file: a point, or a comma as in 1.200,50.", ".")
    dates: str | None = optional(
        "DAY", "Dates in a CSV file are numbers, the days since this one: 2020-01-01, or 01.01.2020 for such dates."
    )
    source: str | None = optional(
        "TEXT",
        "The public name and version of the data, on every picture and in every file, with a hash of the release.",
    )

    @property
    def files(self) -> list[Path]:
        """The file that is read; none, if it is standard input or a table of an engine."""
        return [Path(self.data)] if self.is_file and self.data != STANDARD_INPUT else []

    def records(self) -> object:
        """Data source for a session, with its declared form if there is one."""
        found = super().records()
        if self.data != STANDARD_INPUT and (self.encoding, self.decimal, self.dates) == ("utf-8", ".", None):
            return found
        if not self.is_file:
            raise Misuse("encoding, decimal, dates", "they are of CSV files; DATA is the URL of a database")
        import sys

        from ..data import CsvFile

        file = sys.stdin.buffer.read() if self.data == STANDARD_INPUT else self.data
        return CsvFile(file, self.delimiter, self.encoding, self.decimal, self.dates)


@dataclass(frozen=True)
class SplitOptions(QuestionOptions):
    """Options for a curve of each category, or of each combination of categories."""

    by: list[str] | None = optional(
        "NAME",
        "A column of categories: one curve for each. Or NAME=A,B,C; given several times, one curve for each "
        "combination. Without categories, --delta or --universe finds those of many units.",
    )
    categories: str | None = optional("A,B,C", "The categories, declared in public; other values count as missing.")
    universe: str | None = optional(
        "LETTERS:LENGTH",
        "Groups that nobody listed are named by so many of these letters at most, as in a-z:12 (no delta is needed "
        "then); or told by hashes of their names, as in hashed:32.",
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The columns to split by."""
        return {"by": self.parse_categories()}

    def parse_categories(self) -> By:
        """The columns and their categories; None: no split."""
        given = self.by or []
        if self.universe is not None and all("=" in each for each in given if self.categories is None):
            raise Misuse("universe", "say with --by which column it is of, without categories")
        if self.categories is None:
            return self._combine_keys(tuple(self._parse_key(each) for each in given))
        if not given:
            raise Misuse("by", "say with --by which column the categories are of")
        if len(given) > 1:
            raise Misuse("categories", "they are of one column; give each as --by NAME=A,B,C")
        return _make_categories(given[0], parse_labels("categories", self.categories))

    def _combine_keys(self, keys: tuple[Categories, ...]) -> By:
        from ..curves.question import parse_grouping

        with translate_argument_errors("by", "by"):
            return parse_grouping(keys) if len(keys) > 1 else keys[0] if keys else None

    def _parse_key(self, given: str) -> Categories:
        column, sign, names = given.partition("=")
        if not sign:
            from ..data import UnlistedCategories, parse_universe

            return UnlistedCategories(column, universe=None if self.universe is None else parse_universe(self.universe))
        return _make_categories(column, parse_labels("by", names))


def require_matching_delta(question: object, loss: PrivacyLoss) -> None:
    """Refuse groups that nobody listed where there is no delta that finds them, and a delta that finds none."""
    from ..strategies.choice import find_unlisted

    unlisted = find_unlisted(question)
    if loss.delta and (unlisted is None or unlisted.universe is not None):
        told = "groups that nobody listed, --by NAME without --universe"
        raise Misuse("delta", f"nothing that is asked needs one: it finds {told}")
    if not loss.delta and unlisted is not None and unlisted.universe is None:
        raise Misuse(
            "categories",
            "declare them with --categories A,B,C or as --by NAME=A,B,C, or find those of many units with --delta or "
            "--universe; they are never read off data",
        )


def _make_categories(column: str, values: tuple[Category, ...]) -> Categories:
    from ..data import Categories

    if len(set(values)) < len(values):
        raise Misuse("categories", "each is declared once")
    return Categories(column, values)


def read_score_source(option: str, given: str) -> str | Predictor:
    """The column of this name, or for ``@FILE`` the model in that file; a model is passed on."""
    if not isinstance(given, str) or not given.startswith(SIGN):
        return given
    from ..models import predictor_from_json

    file = given[1:]
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is no model to be read in {file!r}") from None
    try:
        return predictor_from_json(text)
    except InvalidArgument as error:
        raise Misuse(option, f"the model of {Path(file).name!r}: {error}") from None


def parse_grid(option: str, text: str) -> Grid:
    """Parse public cells."""
    from ..data import Grid

    with translate_argument_errors(option, "grid"):
        return Grid.parse(text)


VALUE: Callable[[Any], str] = attrgetter("value")


def make_member_parser(module: str, kind: str, name: Callable[[Any], str]) -> Reader:
    """Make the parser of words for an enumeration's members; it imports the enumeration when it is needed."""

    def parse_member(option: str, word: str) -> Any:
        members = getattr(import_module(f"..{module}", __package__), kind)
        return parse_choice(option, word, {name(each): each for each in members})

    return parse_member


@dataclass(frozen=True)
class TaskDocument:
    """Option for the file of a task document."""

    task: str = option("FILE", "The task document.")


@dataclass(frozen=True)
class ColumnOptions(QuestionOptions):
    """Options for a column of numbers and its unit of measurement."""

    column: str = option("NAME", A_COLUMN)
    measured_in: str = option("UNIT", "Its unit of measurement, for the picture.", "")


@dataclass(frozen=True)
class SmoothColumn(ColumnOptions):
    """Options for a column of numbers whose curve may be made monotone by the least change of its noise."""

    smooth: str | None = optional(
        "P",
        "Make the curve monotone by the least change of its noise, in absolute values (1) or squares (2).",
        lambda option, word: parse_choice(option, word, {"1": 1, "2": 2}),
    )


@dataclass(frozen=True)
class CellOptions(QuestionOptions):
    """Options for a grid of public cells."""

    grid: str | None = optional(
        "L:U:N",
        "Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
        "for log-odds.",
    )
    edges: str | None = optional("A,B,C", "Public cells by their rising edges, instead of --grid.")
    values: str | None = optional(
        "A:B", "Declared values, each a cell of its own, instead of --grid: first:last, first:last:step, or A,B,C."
    )
    outside: str | None = optional(
        "WHERE", "Values outside: clamped into the end cells (the default), or counted apart, in cells of their own."
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The grid that was given, or else the question's own; either with the given treatment of values outside."""
        grid = self._parse_given_grid() or defaults.get("grid", MISSING)
        if grid is MISSING:
            raise Misuse("grid", NO_GRID)
        found = {**super().question_fields(defaults), "grid": self._apply_outside(grid)}
        some = found.pop("some", None)
        if some is not None:
            found["at"] = some.find_indices(found["grid"])
        return {name: value for name, value in found.items() if name not in ("edges", "values", "outside")}

    def parse_grid(self) -> Grid:
        """The grid that was given."""
        grid: Grid = CellOptions.question_fields(self, NOTHING)["grid"]
        return grid

    def _parse_given_grid(self) -> Grid | None:
        from ..data import Grid, Values

        if self.grid == AUTO:
            raise Misuse("grid", NO_AUTO)
        given = [name for name in ("grid", "edges", "values") if getattr(self, name) is not None]
        if len(given) > 1:
            raise Misuse(given[1], f"give --{given[0]} or --{given[1]}, not both")
        if self.values is not None:
            return Values.parse(self.values)
        if self.edges is None:
            return None if self.grid is None else Grid.parse(self.grid)
        with translate_argument_errors("edges", "grid"):
            return Grid.from_edges(parse_numbers("edges", self.edges))

    def _apply_outside(self, grid: Grid) -> Grid:
        from ..data import Outside

        if self.outside is None:
            return grid
        return grid.with_outside(
            parse_choice("outside", self.outside, {"clamped": Outside.CLAMPED, "apart": Outside.APART})
        )


@dataclass(frozen=True)
class GroupedCells(CellOptions):
    """Options for a grid from which groups of similar scores are formed. A score outside the grid is in no group."""

    outside: str | None = optional(
        "apart", "Scores outside the grid lie in no group and are counted separately: only apart is allowed."
    )

    def _apply_outside(self, grid: Grid) -> Grid:
        from ..data import Outside

        if CellOptions._apply_outside(self, grid).outside is Outside.CLAMPED and self.outside is not None:
            raise Misuse("outside", IN_NO_GROUP)
        return grid


@dataclass(frozen=True)
class EdgeSubsetOptions:
    """Options for a few edges of a grid, below which alone records are counted."""

    at: str | None = optional(
        "X,X,X", "Count records below these values only, at the nearest edges of a grid as fine as you like."
    )
    points: str | None = optional("N", "Count records below this many evenly spaced edges only.")

    def find_indices(self, grid: Grid) -> tuple[int, ...] | None:
        """Indices of the edges; None: all edges. Refused where a value lies outside, or there are too many."""
        if self.points is None:
            return None if self.at is None else parse_nearest_edges(self.at, grid)
        if self.at is not None:
            raise Misuse("points", "give --at or --points, not both")
        return parse_even_edges(self.points, grid)


def parse_even_edges(given: str, grid: Grid, option: str = "points") -> tuple[int, ...]:
    """Indices of so many evenly spaced edges. Raises `Misuse`: there are none, or too many."""
    from ..curves.prefixes import evenly_spaced_edges

    number = parse_integer(option, given)
    if number > MOST_POINTS:
        raise Misuse(option, f"at most {MOST_POINTS} edges are asked for at once, got {number}")
    return evenly_spaced_edges(number, grid.cells)


def parse_nearest_edges(given: str, grid: Grid, option: str = "at") -> tuple[int, ...]:
    """Indices of the edges nearest to the values of an option. Raises `Misuse`: one lies outside, or two are one."""
    import numpy as np

    from ..display.numerals import describe_point

    values = parse_numbers(option, given)
    if any(not grid.lower <= value <= grid.upper for value in values):
        raise Misuse(option, f"values from {grid.lower:g} to {grid.upper:g} are needed, the bounds of the grid")
    edges = tuple(grid.nearest_edge(np.array(values)).tolist())
    if len(set(edges)) < len(edges):
        raise Misuse(option, "two of the values have the same nearest edge; each edge is asked for once")
    points = zip(grid.edge(np.array(edges)).tolist(), values, strict=True)
    moved = [describe_point(*pair) for pair in points if describe_point(*pair) != describe_point(pair[0], pair[0])]
    if moved:
        print_to_stderr(f"--{option}: answered at {', '.join(moved)}")
    return edges


@dataclass(frozen=True)
class HintedCells(CellOptions):
    """Options for a grid, and a public hint on how records are distributed over its cells."""

    hint: str | None = optional(
        "WORD",
        "What is publicly known of the values: peaked (in a small part) or atoms (in single cells).",
        make_member_parser("queries", "Hint", VALUE),
    )


@dataclass(frozen=True)
class EdgeCells(HintedCells):
    """Options for a grid, a hint, and perhaps a few edges below which alone records are counted."""

    some: EdgeSubsetOptions = EdgeSubsetOptions()


@dataclass(frozen=True)
class OptionalHintedCells(HintedCells):
    """Options for a grid and a hint, which may be left out together."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        return _fields_without_grid(self) if is_range_automatic(self) else HintedCells.question_fields(self, defaults)


@dataclass(frozen=True)
class OptionalEdgeCells(EdgeCells):
    """Options for a grid, a hint and a few edges, which may be left out together."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        return _fields_without_grid(self) if is_range_automatic(self) else EdgeCells.question_fields(self, defaults)


@dataclass(frozen=True)
class AutoCells(CellOptions):
    """Options for a grid, of which ``--grid auto`` says that a part of the loss looks for it."""

    grid: str | None = optional(
        "L:U:N",
        "Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
        "for log-odds. Or auto: a part of the loss looks for them.",
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        if not self.is_auto:
            if "grid" not in defaults and is_range_automatic(self):
                raise Misuse("grid", f"{NO_GRID}; or say --grid auto: a part of the loss looks for one")
            return CellOptions.question_fields(self, defaults)
        _fields_without_grid(self)
        return {}

    @property
    def is_auto(self) -> bool:
        """Tell whether a part of the loss is to look for the grid."""
        return self.grid == AUTO and is_range_automatic(self)


def is_range_automatic(cells: CellOptions) -> bool:
    """Tell whether no grid is given, or in words that none is known."""
    others = (cells.edges, cells.values) != (None, None)
    if cells.grid == AUTO and others:
        raise Misuse("grid", "give auto, or cells, not both")
    return cells.grid in (None, AUTO) and not others


def _fields_without_grid(cells: CellOptions) -> dict[str, Any]:
    """Nothing said of a grid, and of what needs one."""
    some = getattr(cells, "some", EdgeSubsetOptions())
    said = {"outside": cells.outside, "hint": getattr(cells, "hint", None), "at": some.at, "points": some.points}
    odd = next((name for name, value in said.items() if value is not None), None)
    if odd is not None:
        raise Misuse("grid", NEEDS_GRID.format(odd))
    return {"grid": None}


@dataclass(frozen=True)
class ThresholdCells(CellOptions):
    """Options for a grid of scores, and for the thresholds of a ROC curve."""

    cuts: str = option(
        "quantiles|medians|fixed",
        "Thresholds: at private quantiles of the scores, at private medians of medians, or fixed by the grid.",
        "quantiles",
        make_member_parser("curves", "Cuts", VALUE),
    )
    some: EdgeSubsetOptions = EdgeSubsetOptions()


@dataclass(frozen=True)
class TwoClasses(QuestionOptions):
    """Options for the labels of two classes, and for scores."""

    label: str = option("NAME", "The column of true labels.")
    score: str = option("NAME", "The column of scores, high ones positive; or @FILE, a model.", parse=read_score_source)
    pos_label: str = option("LABEL", "The positive label; other labels are missing.", "1", parse_label)
    neg_label: str | None = optional(
        "LABEL",
        "The negative label; needed in a CSV file, and where the positive one is none of 1, 0, -1, true, false.",
        parse_label,
    )


@dataclass(frozen=True)
class ScoreOptions(TwoClasses):
    """Options for labels of two classes, for scores, and for a statement on the model."""

    model: str = option("TEXT", "What pictures and JSON say about the model.", "the model is taken as public")


@dataclass(frozen=True)
class WeightOptions(QuestionOptions):
    """Options for a column of survey weights and its public cap."""

    weight: str | None = optional("NAME", "A column of survey weights: what is shown is of the weight, not of records.")
    weight_cap: str | None = optional(
        "W",
        "The public cap on the weight of one record, needed with --weight; larger weights count as it.",
        parse_number,
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """The column and its cap; nothing, where there are no weights."""
        if self.weight is None and self.weight_cap is not None:
            raise Misuse("weight-cap", "it caps the weights of a column: name that with --weight")
        return {} if self.weight is None else super().question_fields(defaults)


ONE_COLUMN = make_option_group(column=option("NAME", A_COLUMN))
SHARES = make_option_group(at=option("P,P,P", "Shares of records between 0 and 1.", "0.25,0.5,0.75", parse_numbers))
MOMENTS = make_option_group(
    moments=option("N", "2: count, sum, mean and variance; 1: no variance, and less noise.", "2", parse_integer)
)
COVERAGE = make_option_group(
    coverage=option(
        "P", "The share of records to be covered; in residual plots, by both bounds.", parse=check_positive_number
    )
)
ORIGIN = make_option_group(
    model=option(
        "public|disjoint|private",
        "How the model was made: it is public, was trained on disjoint records, or is itself private.",
        parse=make_member_parser("privacy", "ModelOrigin", lambda each: each.name.lower()),
    )
)
BINS = make_option_group(
    bins=option(
        "N",
        "Bins at most: at least 2. They are cut at private quantiles; small ones are joined.",
        "16",
        parse_integer_above_one,
    )
)
GROUPS = make_option_group(
    groups=optional(
        "N",
        "Groups cut at private quantiles: at least 2. If left out, 3 to 20, by records and privacy loss.",
        parse_integer_above_one,
    )
)
CELLS = make_option_group(cells=option("N", "Cells along each axis: 256 at most.", "64", parse_integer))
