"""Parse option values and declare the option groups of commands: loss, guarantee, ledger, source, cells and splits.

A parser takes the option's name and the typed text, and returns a value or raises `Misuse` with the option, the rule
and an example:

    --grid 0:100:50         `Grid(0, 100, cells=50)`; --grid values:0:10 declared values; --grid auto a range search
    --epsilon 0.1           kept as text, so that it stays the exact decimal

Groups of options (loss, guarantee, ledger, source) are declared once and shared by all commands.

All options are parsed before anything is read or charged.

>>> parse_integer("--cells", "50")
50
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass, make_dataclass, replace
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

from ..arguments import InvalidArgument, parse_float
from .terminal import Misuse, print_to_stderr, restore_option_names, translate_argument_errors

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

    from ..curves.question import By
    from ..data import Categories, Category, Grid, Predictor
    from ..privacy import Neighbours, PrivacyLoss, Unit


# Parsers of option values take the option's name and the typed text. They raise `Misuse` if the text has another form.


Choice = TypeVar("Choice")
Label = str | int | float | bool
DECLARED_NUMBER = "number:"
"""Prefix of a label that is a number in the data, as in ``number:1``. Without it a label is text, so that 01 stays
01."""
BLANKS = " \t"
"""Blanks that are stripped around a typed label (space and tab). Others, such as U+00A0, belong to the label."""
TRUTH = {"true": True, "false": False}
"""Truth values that may be typed after ``number:``, in any case, as in ``number:true``."""
LIST_ITEM = re.compile(r'[ \t]*("(?:[^"]|"")*"|[^,"]*)[ \t]*(?:,|\Z)')
"""Matches one item of a comma-separated list, as of labels. An item in double quotes may contain commas; a doubled
quote inside stands for one. Text that does not match is refused."""


def parse_integer(argument: str, text: str, minimum: int = 1) -> int:
    """Return the whole number that the user typed for an option, with or without a sign.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.
        minimum: Smallest number allowed.

    Raises:
        Misuse: the text is no whole number of at most 18 digits, or a number below `minimum`.
    """
    if re.fullmatch(r"[+-]?[0-9]{1,18}", text) is None or int(text) < minimum:
        raise Misuse(argument, f"a whole number of at least {minimum} is needed, as in {max(minimum, 5)}, got {text!r}")
    return int(text)


def parse_integer_above_one(argument: str, text: str) -> int:
    """Return the whole number, at least 2, that the user typed for an option.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text is not a number in the allowed range.
    """
    return parse_integer(argument, text, minimum=2)


def check_positive_number(argument: str, text: str) -> str:
    """Check that a text is a finite positive number, and return it unchanged, so that it stays exact: ``0.1``, ``1e-3``
    or ``1/3``.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text is not a finite number above 0, or is longer than 60 characters.
    """
    decimal = _parse_float(text)
    quotient = re.fullmatch(r"[0-9]{1,18}/[0-9]{1,18}", text)
    # characters: enough for every double, and exact fractions stay small
    if (decimal is None and quotient is None) or len(text) > 60:
        raise Misuse(argument, f"a number above zero is needed, as in 0.5, got {text!r}")
    if decimal is not None and not (isfinite(decimal) and decimal > 0):
        raise Misuse(argument, f"a finite number above zero is needed, as in 0.5, got {text}")
    if quotient is not None and 0 in map(int, text.split("/")):
        raise Misuse(argument, f"a finite number above zero is needed, as in 0.5, got {text}")
    return text


def parse_positive_number(argument: str, text: str) -> float:
    """Parse a finite positive number and round it to a double.

    Args:
        argument: Name of the option, for the message.
        text: The typed text, as in ``0.5`` or ``1/3``.
    """
    return float(Fraction(check_positive_number(argument, text)))


AUTO = "auto"
"""Word for a unit, bounds or a grid that is chosen by the question instead of typed."""


def parse_magnitude(argument: str, text: str) -> float:
    """Return the finite positive number that an option states; the smallest possible unit for ``auto``, if no
    magnitude is known.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text is neither.
    """
    if text != AUTO:
        return parse_positive_number(argument, text)
    from ..curves.bounds import SMALLEST_UNIT

    return SMALLEST_UNIT


def parse_probability(argument: str, text: str) -> float:
    """Return the number strictly between 0 and 1 that the user typed for an option.

    Args:
        argument: Name of the option, for the message.
        text: The typed text, as in ``0.95``.

    Raises:
        Misuse: the text is not a number in the allowed range.
    """
    number = _parse_float(text)
    if number is None or not 0 < number < 1:
        raise Misuse(argument, f"a number between 0 and 1 is needed, as in 0.95, got {text!r}")
    return number


def parse_row_share(argument: str, text: str) -> float:
    """Return the fraction of rows, above 0 and at most 1, that the user typed for an option.

    Args:
        argument: Name of the option, for the message.
        text: The typed text, as in ``0.1``.

    Raises:
        Misuse: the text is not a number in the allowed range.
    """
    number = _parse_float(text)
    if number is None or not 0 < number <= 1:
        raise Misuse(argument, f"must be a number above 0 and at most 1, as in 0.1, got {text!r}")
    return number


def parse_numbers(argument: str, text: str) -> tuple[float, ...]:
    """Return the finite numbers of a comma-separated list, in the order typed.

    Args:
        argument: Name of the option, for the message.
        text: The typed text, as in ``0.25,0.5``.

    Raises:
        Misuse: an item is empty or no finite number.
    """
    parsed = [_parse_float(item) for item in text.split(",")]
    numbers = tuple(number for number in parsed if number is not None and isfinite(number))
    if len(numbers) < len(parsed):
        raise Misuse(argument, f"numbers with commas between them are needed, as in 0.25,0.5, got {text!r}")
    return numbers


def parse_number(argument: str, text: str) -> float:
    """Return the finite number that the user typed for an option.

    Args:
        argument: Name of the option, for the message.
        text: The typed text, as in ``0.5``.

    Raises:
        Misuse: the text is no finite number, or a list of several.
    """
    numbers = parse_numbers(argument, text)
    if len(numbers) != 1:
        raise Misuse(argument, f"a single number is needed, as in 0.5, got {text!r}")
    return numbers[0]


def parse_choice(argument: str, text: str, choices: Mapping[str, Choice]) -> Choice:
    """Return the value that belongs to the typed word.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.
        choices: Value for each word that may be typed.

    Raises:
        Misuse: no choice has this name; the message lists all names.
    """
    if text not in choices:
        raise Misuse(argument, f"must be {' or '.join(choices)}, got {text!r}")
    return choices[text]


def parse_label(argument: str, text: str) -> Label:
    """Return the label that a text states, such as a category. Labels are text, with or without double quotes;
    ``number:`` marks a number or a truth value.

    Blanks and tabs around a label do not belong to it, unless they are inside the quotes.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.

    Returns:
        Text; after ``number:`` an int, a float or a bool.

    Raises:
        Misuse: the text after ``number:`` is neither a number nor a truth value.

    >>> [parse_label("by", text) for text in ("01", "late", '"a,b"', "number:01", "number:true", '"number:1"')]
    ['01', 'late', 'a,b', 1, True, 'number:1']
    >>> parse_label("by", " late "), parse_label("by", '" late "')
    ('late', ' late ')
    """
    text = text.strip(BLANKS)
    if len(text) > 1 and text[0] == text[-1] == '"':
        return text[1:-1].replace('""', '"')
    if not text.startswith(DECLARED_NUMBER):
        return text
    digits = text.removeprefix(DECLARED_NUMBER)
    if digits.lower() in TRUTH:
        return TRUTH[digits.lower()]
    if re.fullmatch(r"[+-]?[0-9]{1,1000}", digits):
        return int(digits)
    number = _parse_float(digits)
    if number is None or not isfinite(number):
        raise Misuse(argument, f"after {DECLARED_NUMBER} a number, true or false must follow, got {text!r}")
    return number


def format_label(label: Label) -> str:
    """Return a label as text that `parse_label` reads as the same label.

    Args:
        label: Text, number or truth value.

    >>> format_label(1), format_label(True), format_label("late"), format_label('a "b", c')
    ('number:1', 'number:true', '"late"', '"a ""b"", c"')
    """
    if isinstance(label, str):
        return '"' + label.replace('"', '""') + '"'
    return DECLARED_NUMBER + (repr(label).lower() if isinstance(label, bool) else repr(label))


def parse_labels(argument: str, text: str) -> tuple[Label, ...]:
    """Parse comma-separated labels. A label that contains a comma must be in double quotes.

    Args:
        argument: Name of the option, for the message.
        text: The typed text.

    Returns:
        The labels in the order typed; text, or numbers after ``number:``.

    Raises:
        Misuse: an item is empty or badly quoted.

    >>> parse_labels("categories", 'UA, "a,b",03')
    ('UA', 'a,b', '03')
    """
    labels: list[Label] = []
    position = 0
    while position <= len(text):
        match = LIST_ITEM.match(text, position)
        if match is None or not match[1].strip(BLANKS):
            raise Misuse(argument, f"labels with commas between them are needed, as in A,B, got {text!r}")
        labels.append(parse_label(argument, match[1]))
        position = match.end() + (0 if match[0].endswith(",") else 1)
    return tuple(labels)


def _parse_float(text: str) -> float | None:
    """Return the number that a text states as a double; None for any other text.

    Args:
        text: The typed text.
    """
    try:
        return parse_float(text)
    except ValueError:
        return None


def parse_certificate_and_key(tls: str) -> tuple[Path, Path]:
    """Split the value of ``--tls`` into the paths of the certificate and of its private key.

    Args:
        tls: The typed text, ``CERTIFICATE,KEY``.

    Raises:
        Misuse: the text is not two paths with one comma between them.
    """
    certificate, _, key = tls.partition(",")
    if not certificate or not key or "," in key:
        raise Misuse("tls", "two files with a comma between them are needed, as in cert.pem,key.pem")
    return Path(certificate), Path(key)


# Option groups: the parameters of a command are dataclasses; each field becomes an option.


Command = Callable[..., None]
Group = type[Any]
Reader = Callable[[str, str], Any]
NOTHING: Mapping[str, Any] = MappingProxyType({})
"""Default of parameters that take a mapping: an empty one, which cannot be changed by mistake."""


def _complete_files(context: object, parameter: object, typed: str) -> list[CompletionItem]:
    """Let the shell complete file names, as it does for commands without their own completion.

    Args:
        context: Context of click; not used.
        parameter: The option or argument; not used.
        typed: What was typed so far.
    """
    from click.shell_completion import CompletionItem

    return [CompletionItem(typed, type="file")]


class Option:
    """Annotation that makes a parameter of a command an option.

    Attributes:
        names: Option names. Empty: the parameter's name with dashes.
        help: Help text.
        metavar: Placeholder of the value in the help.
    """

    def __init__(self, *names: str, help: str, metavar: str | None = None) -> None:
        self.names = names
        self.help = help
        self.metavar = metavar

    def to_parameter(self, name: str, hint: Any, settings: Mapping[str, Any]) -> click.Parameter:
        """Return the click option for a parameter: a flag if its type is bool, repeatable if its type is a list.

        Args:
            name: Name of the parameter.
            hint: Its type annotation.
            settings: Further arguments of the click option, such as ``default``.
        """
        dashed_name = name.replace("_", "-")
        settings_with_help = {**settings, "help": self.help, "show_default": bool(settings.get("default"))}
        if hint is bool:
            return click.Option(
                [*(self.names or (f"--{dashed_name}/--no-{dashed_name}",)), name], is_flag=True, **settings_with_help
            )
        return click.Option(
            [*(self.names or (f"--{dashed_name}",)), name], metavar=self.metavar, multiple=_is_list(hint), type=str,
            shell_complete=_complete_files, **settings_with_help,
        )  # fmt: skip


class Argument:
    """Annotation that makes a parameter of a command an argument.

    Attributes:
        help: Help text.
        metavar: Placeholder of the value in the help.
    """

    def __init__(self, *, help: str, metavar: str) -> None:
        self.help = help
        self.metavar = metavar

    def to_parameter(self, name: str, hint: Any, settings: Mapping[str, Any]) -> click.Parameter:
        """Return the click argument for a parameter. A list takes all remaining words.

        Args:
            name: Name of the parameter.
            hint: Its type annotation.
            settings: Further arguments of the click argument, such as ``default``.
        """
        return _Argument(
            [name], metavar=self.metavar, help=self.help, nargs=-1 if _is_list(hint) else 1, type=str,
            shell_complete=_complete_files, **settings,
        )  # fmt: skip


class _Argument(click.Argument):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str]:
        """Return the placeholder and the help text of an argument, marked if it is required.

        Args:
            ctx: Context of click.
        """
        names, help_text = super().get_help_record(ctx)
        return names, f"{help_text}  [required]" if self.required else help_text


def _is_list(hint: Any) -> bool:
    """Return whether an option may be given several times, because its type annotation is a list, or a list or None.

    Args:
        hint: Type annotation of a parameter.
    """
    return list in {get_origin(type_form) for type_form in (hint, *get_args(hint))}


def parameters_in(command: Command) -> list[click.Parameter]:
    """Return the click parameters of a function made by `with_options`.

    Args:
        command: The function.
    """
    parameters = []
    for name, parameter in signature(command).parameters.items():
        hint, declaration, *_ = get_args(parameter.annotation)
        settings = {"required": True} if parameter.default is Parameter.empty else {"default": parameter.default}
        parameters.append(declaration.to_parameter(name, hint, settings))
    return parameters


def option(
    metavar: str, help_text: str, default: Any = MISSING, parse: Reader | None = None, name: str | None = None
) -> Any:
    """Return a dataclass field that is declared as an option of the command line.

    Args:
        metavar: Word for the value in the help.
        help_text: Text of the help.
        default: Default value; without one the option is required.
        parse: Function of the option's name and the typed text; None: the text stays.
        name: Name of the option, such as "--model-note"; None: the field's name.
    """
    declared = Option(*([name] if name else []), help=help_text, metavar=metavar)
    return field(default=default, metadata={"declared": declared, "read": parse})


def optional(metavar: str, help_text: str, parse: Reader | None = None) -> Any:
    """Declare a field of an option group as a command-line option that defaults to None.

    Args:
        metavar: Word for the value in help texts.
        help_text: Help text of the option.
        parse: Function that reads the typed text; None: the text itself.
    """
    return option(metavar, help_text, None, parse)


def flag(name: str, help_text: str) -> Any:
    """Declare a field of an option group as a command-line flag, whose default is False.

    Args:
        name: Name of the option, with its dashes.
        help_text: Help text of the option.
    """
    return field(default=False, metadata={"declared": Option(name, help=help_text)})


def argument(metavar: str, help_text: str, default: Any = MISSING) -> Any:
    """Declare a field of an option group as a positional argument of a command.

    Args:
        metavar: Word for the value in help texts.
        help_text: Help text of the argument.
        default: Default; without one, the argument is required.
    """
    return field(default=default, metadata={"declared": Argument(help=help_text, metavar=metavar)})


class QuestionOptions:
    """Base of option groups that set fields of a question."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question's fields that the options set, each parsed.

        Args:
            defaults: Default values of the question's fields.

        Raises:
            Misuse: the value of an option has the wrong form.
        """
        parsers = {option.name: option.metadata.get("read") for option in fields(self)}  # type: ignore[arg-type]
        given = {name: (getattr(self, name), parse) for name, parse in parsers.items()}
        return {
            name: text if parse is None or text is None else parse(name.replace("_", "-"), text)
            for name, (text, parse) in given.items()
        }

    def adapt_view(self, view: Any, question: Any) -> Any:
        """Return `view` with the fields that these options set, such as the quantile levels; unchanged unless a
        subclass overrides this.

        Args:
            view: How the result is shown.
            question: The question.
        """
        return view


class ReadingOptions(QuestionOptions):
    """Base of option groups that select the shown part of a result by `adapt_view`. They set no field of a question."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return an empty mapping: these options set no field of a question.

        Args:
            defaults: Default arguments of the question, by name; not used.
        """
        return {}


def make_option_group(**options: Any) -> Group:
    """Return a class of command-line options, one for each keyword, whose names are the question's fields.

    Args:
        options: Declaration of each option by the name of the question's field.
    """
    option_fields = [
        (name, str | None if option_field.default is None else str, option_field)
        for name, option_field in options.items()
    ]
    return make_dataclass("_".join(options), option_fields, bases=(QuestionOptions,), frozen=True)


def groups_of(command: Command) -> dict[str, Group]:
    """Return the annotation of each parameter of a command: an option group (a dataclass) or an annotated option.

    Args:
        command: Function of the command.
    """
    return {name: hint for name, hint in get_type_hints(command, include_extras=True).items() if name != "return"}


def with_options(
    command: Command, metavar_defaults: Mapping[str, str] = NOTHING, excluded_names: Collection[str] = ()
) -> Command:
    """Return the command as a function that takes one keyword per option, for click.

    Each parameter of `command` must be annotated as an option or be a dataclass. The fields of the dataclass are
    options or nested groups. ``--help`` lists all of them in this order.

    Args:
        command: Function to call.
        metavar_defaults: Defaults of required options by metavar. An empty default means the option's name.
        excluded_names: Fields that become no options, because another part of the command sets them.
    """
    groups = groups_of(command)
    command_parameters = signature(command).parameters
    excluded = dict.fromkeys(excluded_names)
    all_parameters: list[Parameter] = []
    for name, group in groups.items():
        if is_dataclass(group):
            all_parameters += parameters_of(group, metavar_defaults)
        else:
            all_parameters.append(command_parameters[name].replace(annotation=group))
    parameters = [parameter for parameter in all_parameters if parameter.name not in excluded_names]

    @wraps(command)
    def run_command(**parsed: Any) -> None:
        """Build the option groups from the parsed values and call the command."""
        values = {name: (list(value) or None) if isinstance(value, tuple) else value for name, value in parsed.items()}
        with restore_option_names(values):
            all_values = {**excluded, **values}
            command(
                **{
                    name: build_group(group_or_hint, all_values) if is_dataclass(group_or_hint) else all_values[name]
                    for name, group_or_hint in groups.items()
                }
            )

    run_command.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run_command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run_command


def parameters_of(group: Group, metavar_defaults: Mapping[str, str] = NOTHING) -> Iterator[Parameter]:
    """Yield a keyword parameter for each option of a group and of its nested groups, for the signature of a command.

    Args:
        group: Dataclass whose fields are options or nested groups.
        metavar_defaults: Defaults of required options by metavar.
    """
    hints = get_type_hints(group, include_extras=True)
    for option_field in fields(group):
        hint = hints[option_field.name]
        if is_dataclass(hint):
            yield from parameters_of(hint, metavar_defaults)  # type: ignore[arg-type]
            continue
        if "declared" in option_field.metadata:
            hint = Annotated[hint, option_field.metadata["declared"]]
        default = option_field.default
        if default is MISSING:
            default = _find_default(option_field.name, hint, metavar_defaults)
        yield Parameter(option_field.name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _find_default(name: str, hint: Any, metavar_defaults: Mapping[str, str]) -> Any:
    """Return the default of a required option by its metavar; no default if the metavar has none.

    Args:
        name: Name of the option.
        hint: Its type annotation, which has the metavar.
        metavar_defaults: Default by metavar; an empty default means the option's name.
    """
    metavar = next(
        (str(annotation.metavar) for annotation in getattr(hint, "__metadata__", ()) if hasattr(annotation, "metavar")),
        "",
    )
    return metavar_defaults[metavar] or name if metavar in metavar_defaults else Parameter.empty


def build_group(group: Group, values: Mapping[str, Any]) -> Any:
    """Return an option group with the parsed values of its options, nested groups included.

    Args:
        group: Dataclass of the group.
        values: Parsed value of each option, by field name.
    """
    hints = get_type_hints(group)
    names = [group_field.name for group_field in fields(group)]
    return group(
        **{name: build_group(hints[name], values) if is_dataclass(hints[name]) else values[name] for name in names}
    )


def names_of(groups: Iterable[Group]) -> frozenset[str]:
    """Return the field names of all options that these option groups declare, nested groups included.

    Args:
        groups: Dataclasses of option groups.
    """
    return frozenset(parameter.name for group in groups for parameter in parameters_of(group))


def values_of(group: Any) -> dict[str, Any]:
    """Return the values that the user typed or left at their defaults, by field name, nested groups included.

    Args:
        group: An option group with its values.
    """
    values: dict[str, Any] = {}
    for group_field in fields(group):
        value = getattr(group, group_field.name)
        values |= values_of(value) if is_dataclass(value) else {group_field.name: value}
    return values


# Options for the privacy loss, the guarantee, the account, the table, its columns, grids, labels, scores and models.
# Methods raise `Misuse` if options contradict each other or a required option is missing.


ACCOUNT_HELP = "Account in the ledger. Required if the ledger has several accounts."
"""Help of --dataset."""
COLUMN_HELP = 'Numeric column, or an SQL expression of columns, e.g. "wage / hours".'
"""Help of --column and of other options that take a numeric column."""
MODEL_FILE_PREFIX = "@"
"""Prefix by which --score names a file of a model instead of a column, as in ``--score @model.json``: the model then
computes the scores."""
NEEDS_GRID = "give --grid lower:upper:cells (or --edges, or --values): --{} needs a grid"
"""Rule in the error for an option that cannot be used without public cells; the braces take the option's name."""
STANDARD_INPUT = "-"
"""Value of DATA with which CSV records are read from standard input instead of a file."""
NO_AUTO = (
    "auto is for cdf, quantiles, histogram, survival and scores of one table; here write public cells, as 0:100:256 "
    "(dpcurves task suggest proposes cells from a public sample)"
)
"""Rule in the error for --grid auto in a command that cannot choose cells privately."""
NO_GRID = "give --grid lower:upper:cells (or --edges, or --values); bounds are declared, never read from the data"
"""Rule in the error for a question without its required cells."""
SCORES_OUTSIDE_RULE = (
    "here scores outside of the grid are counted separately and belong to no group; leave --outside out"
)
"""Rule in the error for an --outside that asks for clipping, where scores beyond the grid are counted apart."""


@dataclass(frozen=True)
class LossOptions:
    """Options for the privacy loss: epsilon or rho. The loss has no default."""

    epsilon: str | None = optional("E", "Privacy loss epsilon of pure differential privacy: a number above zero.")
    rho: str | None = optional("R", "Privacy loss rho of zero-concentrated differential privacy, instead of --epsilon.")

    def loss(self) -> PrivacyLoss:
        """Return the privacy loss of ``--epsilon`` (pure) or ``--rho`` (zCDP), exactly as typed.

        Raises:
            Misuse: neither option or both are given, or the text is no positive number.
            ValueError: a ledger cannot represent this loss.
        """
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
    """Options for the privacy loss, with a delta for partition selection."""

    delta: str | None = optional(
        "D", "Delta of (epsilon, delta)-differential privacy; enables partition selection for --by NAME."
    )

    def loss(self) -> PrivacyLoss:
        """Return the privacy loss that the user typed as --epsilon or --rho, with --delta if given.

        Raises:
            Misuse: the options state no loss, or --delta no probability.
        """
        loss = super().loss()
        return loss if self.delta is None else loss.with_delta(Fraction(check_positive_number("delta", self.delta)))


@dataclass(frozen=True)
class GuaranteeOptions:
    """Options for the privacy guarantee: adjacency, privacy unit and contribution bound."""

    adjacency: str | None = optional("KIND", "replace-one: the number of units is public; add-remove: it is private.")
    unit: str | None = optional(
        "NAME", "Column of unit identifiers, such as a patient number. Without it, each record is a unit."
    )
    rows_per_unit: str | None = optional(
        "K", "Contribution bound: at most K records of a unit are used. Without it, a sixth of the loss finds a bound."
    )

    def neighbours(self) -> Neighbours:
        """Return the adjacency that ``--adjacency`` names: replace-one or add-remove.

        Raises:
            Misuse: the option is missing or names no adjacency.
        """
        from ..privacy import Neighbours

        if self.adjacency is None:
            raise Misuse(
                "adjacency",
                "give --adjacency replace-one (the number of units is public) or add-remove (it is private)",
            )
        return parse_choice("adjacency", self.adjacency, {kind.value: kind for kind in Neighbours})

    def privacy_unit(self, *, bound_required: bool = True) -> Unit:
        """Return the privacy unit. Refuses an unknown contribution bound if `bound_required`."""
        from ..privacy import EACH_RECORD, Unit

        if self.unit is None and self.rows_per_unit is None:
            return EACH_RECORD
        if not self.unit:
            raise Misuse("unit", "name the column of unit identifiers, as in --unit patient")
        if self.rows_per_unit is None and not bound_required:
            return Unit.with_unknown_bound(self.unit)
        if self.rows_per_unit is None:
            raise Misuse("rows-per-unit", "give the largest number of records used of a unit, as in --rows-per-unit 5")
        return Unit(self.unit, parse_integer("rows-per-unit", self.rows_per_unit))

    def max_rows_per_unit(self) -> int | None:
        """Return ``--rows-per-unit`` as a number of records, or None without the option."""
        return None if self.rows_per_unit is None else parse_integer("rows-per-unit", self.rows_per_unit)


@dataclass(frozen=True)
class UnitCountOptions:
    """Option for the public number of units."""

    units: str | None = optional("N", "Public number of units, under replace-one.")

    def unit_count(self, neighbours: Neighbours) -> int | None:
        """Return the public number of units, or None if it was left out. Refuses it where the number is private.

        Args:
            neighbours: Add-remove, where the number is private, or replace-one.

        Raises:
            Misuse: ``--units`` was typed under add-remove, or is no positive whole number.
        """
        if self.units is None:
            return None
        if not neighbours.has_public_units:
            raise Misuse("units", "under add-remove the number of units is private; leave --units out")
        return parse_integer("units", self.units)


@dataclass(frozen=True)
class PayingAccountOptions:
    """Options for the ledger and account that are charged, and for the request id."""

    ledger: str | None = optional(
        "URL", "Ledger that is charged, as in sqlite:///budget.db. Its account fixes adjacency and unit."
    )
    dataset: str | None = optional("NAME", ACCOUNT_HELP)
    request_id: str | None = optional(
        "ID", "Name of this request. The same question under the same name costs nothing."
    )
    view: str | None = optional(
        "NAME", "View of the account: only its rows, with its derived columns. See dpcurves ledger view add."
    )


@dataclass(frozen=True)
class StoredViewOptions:
    """Options for a view of a ledger's account, which nothing is charged to."""

    view: str | None = optional(
        "NAME", "View of the account in --ledger: only its rows, with its derived columns. Nothing is charged."
    )
    ledger: str | None = optional("URL", "Ledger that stores the view, as in sqlite:///budget.db.")
    dataset: str | None = optional("NAME", ACCOUNT_HELP)

    def require_view(self) -> None:
        """Refuse --view without --ledger, and --ledger or --dataset without --view, because a plan reads the ledger for
        its views alone.
        """
        if self.view is not None and self.ledger is None:
            raise Misuse("view", "name the ledger that stores the view with --ledger URL")
        for name, value in (("ledger", self.ledger), ("dataset", self.dataset)):
            if value is not None and self.view is None:
                raise Misuse(name, f"a plan charges no ledger; leave --{name} out, or name a view with --view NAME")


POSTGRES = ("postgresql://", "postgres://")
"""Beginnings of URLs of PostgreSQL databases."""
SPARK = "sc://"
"""Beginning of URLs of Spark Connect servers."""
ENGINES = (*POSTGRES, SPARK)
"""Beginnings of URLs of database engines, which count the records where they are. DATA with another beginning is a
file."""


@dataclass(frozen=True)
class SourceOptions:
    """Options for a table: a file, or a table of a database engine that counts records in place."""

    data: Annotated[
        str, Argument(metavar="DATA", help="CSV file with a header, Parquet file, or postgresql://reader@host/db.")
    ]
    delimiter: str = option("SIGN", "Field separator of a CSV file.", ",")
    table: str | None = optional("SCHEMA.TABLE", "Table or view, if DATA is the URL of a database.")

    @property
    def is_file(self) -> bool:
        """True if the table is a file."""
        return not self.data.startswith(ENGINES)

    @property
    def has_types(self) -> bool:
        """True if the table declares column types, as all sources but CSV do."""
        return not self.is_file or self.data.lower().endswith(".parquet") or Path(self.data).is_dir()

    def records(self) -> object:
        """Return the data source for a session: the file's name, or the table of an engine."""
        if self.is_file:
            if self.table is not None:
                raise Misuse(
                    "table",
                    "--table is for databases, and DATA is no URL of a database;"
                    " leave --table out, or give the URL of a database as DATA",
                )
            return self.data
        if self.table is None:
            raise Misuse("table", "name the table or view of the database, as in --table clinic.visits")
        from ..records.engines import table_from_url

        return table_from_url(self.data, self.table)


@dataclass(frozen=True)
class FormattedSourceOptions(SourceOptions):
    """Options for a table as in `SourceOptions`, and for the format of a CSV file or of standard input."""

    encoding: str = option("NAME", "Encoding of a CSV file: utf-8, latin-1 or cp1252.", "utf-8")
    decimal: str = option("SIGN", "Decimal sign in a CSV file: a point, or a comma as in 1.200,50.", ".")
    dates: str | None = optional(
        "DAY",
        "Day zero of dates in a CSV file, and their format: 2020-01-01 or 01.01.2020. Dates become days since it.",
    )
    source: str | None = optional(
        "TEXT", "Public name and version of the data, shown in every picture and file with a hash of the release."
    )

    @property
    def files(self) -> list[Path]:
        """Return the file of the table, in a list; an empty list for standard input and for tables of an engine."""
        return [Path(self.data)] if self.is_file and self.data != STANDARD_INPUT else []

    def records(self) -> object:
        """Return the data source for a session, with its CSV format if one is declared."""
        source = super().records()
        if self.data != STANDARD_INPUT and (self.encoding, self.decimal, self.dates) == ("utf-8", ".", None):
            return source
        if not self.is_file:
            raise Misuse(
                "encoding, decimal, dates",
                "these options describe CSV files, and DATA is the URL of a database; leave them out",
            )
        import sys

        from ..data import CsvFile

        file = sys.stdin.buffer.read() if self.data == STANDARD_INPUT else self.data
        return CsvFile(file, self.delimiter, self.encoding, self.decimal, self.dates)


@dataclass(frozen=True)
class FilterOptions:
    """Option for the records that a question is about."""

    where: str | None = optional(
        "CONDITION",
        "Only records that meet an SQL condition, e.g. \"age >= 65 AND sex = 'F'\". It is published with the result.",
    )

    def apply(self, question: Any) -> Any:
        """Return the question restricted to the records that pass the filter of --where; unchanged without a filter.

        Args:
            question: The question.
        """
        return question if self.where is None else replace(question, where=self.where)


UNIVERSE_HELP = (
    "Find unlisted categories among all strings of these letters up to this length, e.g. a-z:12 (no delta needed), or "
    "by hashes of their names, e.g. hashed:32."
)
"""Help of --universe."""


@dataclass(frozen=True)
class SplitOptions(QuestionOptions):
    """Options for one curve per category, or per combination of categories."""

    by: list[str] | None = optional(
        "NAME",
        "Column of categories: one curve per category. Or NAME=A,B,C; repeated, one curve per combination. "
        "Without listed categories, --delta or --universe selects those that many units have.",
    )
    categories: str | None = optional("A,B,C", "Categories, declared in public. Other values count as missing.")
    universe: str | None = optional("LETTERS:LENGTH", UNIVERSE_HELP)

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the field `by` with the columns to split by; no field without --by.

        Args:
            defaults: Default arguments of the question, by name; not used.
        """
        return {"by": self.parse_categories()}

    def parse_categories(self) -> By:
        """Return the columns of ``--by`` with their categories, as the field `by` of a question; None without
        ``--by``.
        """
        columns = self.by or []
        if self.universe is not None and all("=" in column for column in columns if self.categories is None):
            raise Misuse(
                "universe", "--universe finds the categories of a column; name it with --by NAME, without categories"
            )
        if self.categories is None:
            return self._combine_keys(tuple(self._parse_key(column) for column in columns))
        if not columns:
            raise Misuse("by", "name the column of the categories, as in --by NAME")
        if len(columns) > 1:
            raise Misuse("categories", "--categories is for one column; give each column as --by NAME=A,B,C")
        return _make_categories(columns[0], parse_labels("categories", self.categories))

    def _combine_keys(self, keys: tuple[Categories, ...]) -> By:
        """Return how results are grouped: by one column of categories, by a combination of several, or None for no
        groups.

        Args:
            keys: Columns of categories, one for each ``--by``.

        Raises:
            Misuse: the columns cannot be combined.
        """
        from ..curves.question import parse_grouping

        with translate_argument_errors("by", "by"):
            if len(keys) > 1:
                return parse_grouping(keys)
            return keys[0] if keys else None

    def _parse_key(self, text: str) -> Categories:
        """Return the column of ``NAME=A,B,C``, or of ``NAME`` with unlisted categories.

        Args:
            text: One value of ``--by``.
        """
        column, equals, names = text.partition("=")
        if not equals:
            from ..data import UnlistedCategories, parse_universe

            return UnlistedCategories(column, universe=None if self.universe is None else parse_universe(self.universe))
        return _make_categories(column, parse_labels("by", names))


def require_matching_delta(question: object, loss: PrivacyLoss) -> None:
    """Refuse unlisted categories without a delta or a universe, and a delta that no part of the question uses.

    Args:
        question: The question, perhaps with unlisted categories.
        loss: Its privacy loss, with delta.

    Raises:
        Misuse: delta is missing, or no part of the question uses it.
    """
    from ..strategies.choice import find_unlisted

    unlisted = find_unlisted(question)
    if loss.delta and (unlisted is None or unlisted.universe is not None):
        target = "unlisted categories, --by NAME without --universe"
        raise Misuse("delta", f"this question needs no delta; leave --delta out (it is for {target})")
    if not loss.delta and unlisted is not None and unlisted.universe is None:
        raise Misuse(
            "categories",
            "declare them with --categories A,B,C or beside the name, as in NAME=A,B,C, or select those of many units "
            "with --delta or --universe; categories are never read from the data",
        )


def _make_categories(column: str, values: tuple[Category, ...]) -> Categories:
    """Return a column with its declared categories.

    Args:
        column: Name of the column.
        values: The categories, as typed.

    Raises:
        Misuse: a category is repeated.
    """
    from ..data import Categories

    if len(set(values)) < len(values):
        raise Misuse("categories", "a category is declared twice; list each once")
    return Categories(column, values)


def read_score_source(option: str, score: str) -> str | Predictor:
    """Return where scores come from: a column name as typed, or for ``@FILE`` the model in that JSON file.

    Args:
        option: Name of the option, for the message.
        score: The typed text.

    Raises:
        Misuse: the file cannot be read or holds no model.
    """
    if not isinstance(score, str) or not score.startswith(MODEL_FILE_PREFIX):
        return score
    from ..models import predictor_from_json

    file = score[1:]
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"{file!r} cannot be read; give the path of a model file in JSON") from None
    try:
        return predictor_from_json(text)
    except InvalidArgument as error:
        raise Misuse(option, f"the model of {Path(file).name!r}: {error}") from None


def parse_grid(option: str, text: str) -> Grid:
    """Return the grid of a text such as ``0:100:64``: lower bound, upper bound and number of cells.

    Args:
        option: Name of the option, for the message.
        text: The typed text.

    Raises:
        Misuse: the text states no grid.
    """
    from ..data import Grid

    with translate_argument_errors(option, "grid"):
        return Grid.parse(text)


MEMBER_VALUE: Callable[[Any], str] = attrgetter("value")
"""Takes the name of an enumeration's member from its value: an option whose words are these values."""


def make_member_parser(module: str, kind: str, name: Callable[[Any], str]) -> Reader:
    """Return a parser of words for the members of an enumeration, which is imported on first use.

    Args:
        module: Module of the enumeration, relative to the package, as in ``data``.
        kind: Class name of the enumeration.
        name: Function from a member to the word that is typed for it.

    Returns:
        Function of the option's name and the typed word; it raises `Misuse` for an unknown word.
    """

    def parse_member(option: str, word: str) -> Any:
        """Return the member that a word names.

        Args:
            option: Name of the option, for the message.
            word: The typed word.

        Raises:
            Misuse: no member has this name.
        """
        members = getattr(import_module(f"..{module}", __package__), kind)
        return parse_choice(option, word, {name(member): member for member in members})

    return parse_member


@dataclass(frozen=True)
class TaskDocument:
    """Option for the file of a task document."""

    task: str = option("FILE", "Task document.")


@dataclass(frozen=True)
class ColumnOptions(QuestionOptions):
    """Options for a numeric column and its unit of measurement."""

    column: str = option("NAME", COLUMN_HELP)
    measured_in: str = option("UNIT", "Unit of measurement, for axis labels.", "")


@dataclass(frozen=True)
class SmoothColumn(ColumnOptions):
    """Options for a numeric column, and for an isotonic projection of its curve."""

    smooth: str | None = optional(
        "P",
        "Make the curve monotone by isotonic projection: least absolute (1) or least squared (2) change.",
        lambda option, word: parse_choice(option, word, {"1": 1, "2": 2}),
    )


@dataclass(frozen=True)
class CellOptions(QuestionOptions):
    """Options for the public cells of a grid."""

    grid: str | None = optional(
        "L:U:N",
        "Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
        "for log-odds.",
    )
    edges: str | None = optional("A,B,C", "Public cells by their increasing edges, instead of --grid.")
    values: str | None = optional(
        "A:B", "Declared values, one cell each, instead of --grid: first:last, first:last:step, or A,B,C."
    )
    outside: str | None = optional(
        "WHERE", "Values outside the grid: clipped, counted in the end cells (default), or apart, in separate cells."
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question that these options set, by name; `grid` has the treatment of
        ``--outside``.

        Args:
            defaults: Default arguments of the question. Its `grid` is used if no grid was typed.

        Raises:
            Misuse: no grid is typed and the question has no default one.
        """
        grid = self._parse_given_grid() or defaults.get("grid", MISSING)
        if grid is MISSING:
            raise Misuse("grid", NO_GRID)
        question_fields = {**super().question_fields(defaults), "grid": self._apply_outside(grid)}
        edge_subset = question_fields.pop("some", None)
        other_fields = {
            name: value for name, value in question_fields.items() if name not in ("edges", "values", "outside")
        }
        if edge_subset is not None:
            return {**other_fields, "edges": edge_subset.find_indices(question_fields["grid"])}
        return other_fields

    def parse_grid(self) -> Grid:
        """Return the cells that the user typed as --grid, --edges or --values.

        Raises:
            Misuse: none of them is given, or several are.
        """
        grid: Grid = CellOptions.question_fields(self, NOTHING)["grid"]
        return grid

    def _parse_given_grid(self) -> Grid | None:
        """Return the grid of ``--grid``, ``--edges`` or ``--values``; None if none was typed.

        Raises:
            Misuse: two of the options are given, ``--grid auto`` is not allowed here, or the text states no grid.
        """
        from ..data import Grid, Values

        if self.grid == AUTO:
            raise Misuse("grid", NO_AUTO)
        options = [name for name in ("grid", "edges", "values") if getattr(self, name) is not None]
        if len(options) > 1:
            raise Misuse(options[1], f"give --{options[0]} or --{options[1]}, not both")
        if self.values is not None:
            return Values.parse(self.values)
        if self.edges is None:
            return None if self.grid is None else Grid.parse(self.grid)
        with translate_argument_errors("edges", "grid"):
            return Grid.from_edges(parse_numbers("edges", self.edges))

    def _apply_outside(self, grid: Grid) -> Grid:
        """Return the grid with the treatment of values outside that --outside names; unchanged without the option.

        Args:
            grid: The typed or default grid.
        """
        from ..data import Outside

        if self.outside is None:
            return grid
        return grid.with_outside(
            parse_choice("outside", self.outside, {"clipped": Outside.CLIPPED, "apart": Outside.APART})
        )


@dataclass(frozen=True)
class GroupedCells(CellOptions):
    """Options for a grid that is divided into groups of similar scores. A score outside the grid is in no group."""

    outside: str | None = optional(
        "apart", "Scores outside the grid are counted separately and belong to no group: only apart is allowed."
    )

    def _apply_outside(self, grid: Grid) -> Grid:
        """Return the grid unchanged: scores outside are counted apart from the groups.

        Args:
            grid: Grid of the scores.

        Raises:
            Misuse: ``--outside`` asks for clipping.
        """
        from ..data import Outside

        if CellOptions._apply_outside(self, grid).outside is Outside.CLIPPED and self.outside is not None:
            raise Misuse("outside", SCORES_OUTSIDE_RULE)
        return grid


@dataclass(frozen=True)
class EdgeSubsetOptions:
    """Options for a few edges of a grid; only the records below them are counted."""

    cut_points: str | None = optional(
        "X,X,X", "Count records below these values only, at the nearest edges of a grid of any resolution."
    )
    points: str | None = optional("N", "Count records below N evenly spaced edges only.")

    def find_indices(self, grid: Grid) -> tuple[int, ...] | None:
        """Return the indices of the edges that --cut-points or --points name; None for all edges.

        Args:
            grid: Grid of the question.

        Raises:
            Misuse: both options are given, a value lies outside the grid, or there are too many edges.
        """
        if self.points is None:
            return None if self.cut_points is None else parse_nearest_edges(self.cut_points, grid)
        if self.cut_points is not None:
            raise Misuse("points", "--cut-points and --points both name edges; leave one of them out")
        return parse_even_edges(self.points, grid)


def parse_even_edges(text: str, grid: Grid, option: str = "points") -> tuple[int, ...]:
    """Return the indices of evenly spaced edges of a grid, in ascending order.

    Args:
        text: Number of edges, as typed: 1 to 4000.
        grid: Grid with at least one cell.
        option: Name of the option, for the message.

    Raises:
        Misuse: the text is no whole number from 1 to 4000.
    """
    from ..curves.prefixes import evenly_spaced_edges

    number = parse_integer(option, text)
    most_points = 4000  # largest number of edges of a question
    if number > most_points:
        raise Misuse(option, f"at most {most_points} edges are counted, got {number}; give fewer")
    return evenly_spaced_edges(number, grid.cells)


def parse_nearest_edges(text: str, grid: Grid, option: str = "cut-points") -> tuple[int, ...]:
    """Return the indices of the edges nearest to the typed values, in the order typed.

    A line on stderr names the edges that differ from the values.

    Args:
        text: Comma-separated values.
        grid: Grid whose edges are used.
        option: Name of the option, for the messages.

    Raises:
        Misuse: a value lies outside the grid, or two values have the same nearest edge.
    """
    import numpy as np

    from ..display.numerals import describe_point

    values = parse_numbers(option, text)
    if any(not grid.lower <= value <= grid.upper for value in values):
        raise Misuse(option, f"values from {grid.lower:g} to {grid.upper:g} are needed, the bounds of the grid")
    edges = tuple(grid.nearest_edge(np.array(values)).tolist())
    if len(set(edges)) < len(edges):
        raise Misuse(option, "two of the values have the same nearest edge; give each edge once, or a finer grid")
    points = zip(grid.edge(np.array(edges)).tolist(), values, strict=True)
    substitutions = [
        describe_point(*pair) for pair in points if describe_point(*pair) != describe_point(pair[0], pair[0])
    ]
    if substitutions:
        print_to_stderr(f"--{option}: answered at {', '.join(substitutions)}")
    return edges


@dataclass(frozen=True)
class HintedCells(CellOptions):
    """Options for a grid, and for a public hint on the distribution of records over its cells."""

    hint: str | None = optional(
        "WORD",
        "What is publicly known of the values: peaked (in a small part of the range) or atoms (in single cells).",
        make_member_parser("queries", "Hint", MEMBER_VALUE),
    )


@dataclass(frozen=True)
class EdgeCells(HintedCells):
    """Options for a grid and a hint, and for a subset of edges below which records are counted."""

    some: EdgeSubsetOptions = EdgeSubsetOptions()


@dataclass(frozen=True)
class OptionalHintedCells(HintedCells):
    """Options for a grid and a hint. Without a grid, part of the budget searches for the range."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question's arguments `grid` and `hint`; with an automatic range, `grid` is None.

        Args:
            defaults: Default arguments of the question, by name.
        """
        return _fields_without_grid(self) if is_range_automatic(self) else HintedCells.question_fields(self, defaults)


@dataclass(frozen=True)
class OptionalEdgeCells(EdgeCells):
    """Options for a grid, a hint and a subset of edges. Without a grid, part of the budget searches for the range."""

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question's arguments `grid`, `hint` and `edges`; with an automatic range, only `grid`, which is
        None.

        Args:
            defaults: Default arguments of the question, by name.
        """
        return _fields_without_grid(self) if is_range_automatic(self) else EdgeCells.question_fields(self, defaults)


@dataclass(frozen=True)
class AutoCells(CellOptions):
    """Options for a grid. With ``--grid auto``, part of the budget searches for its range."""

    grid: str | None = optional(
        "L:U:N",
        "Public cells: lower:upper:cells or lower:upper:width=W; geometric:... for equal ratios, logistic:... "
        "for log-odds. Or auto: part of the budget searches for the range.",
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of the question that these options set, by name; `grid` is None for ``--grid auto``.

        Args:
            defaults: Default arguments of the question, by name.

        Raises:
            Misuse: a grid is needed and missing, or an option needs a grid while ``--grid auto`` was typed.
        """
        if not self.is_auto:
            if "grid" not in defaults and is_range_automatic(self):
                raise Misuse(
                    "grid",
                    f"{NO_GRID}; or write --grid auto: part of the budget searches for the range; to count labels, use "
                    "dpcurves bars --column NAME --categories A,B,C",
                )
            return CellOptions.question_fields(self, defaults)
        _fields_without_grid(self)
        return {}

    @property
    def is_auto(self) -> bool:
        """True for ``--grid auto``: part of the budget searches for the grid."""
        return self.grid == AUTO and is_range_automatic(self)


def is_range_automatic(cells: CellOptions) -> bool:
    """Return True if the range must be found privately: ``--grid`` is missing or ``auto``, without edges and values.

    Args:
        cells: Options of the grid.
    """
    has_other_cells = (cells.edges, cells.values) != (None, None)
    if cells.grid == AUTO and has_other_cells:
        raise Misuse(
            "grid", "auto finds the cells itself; leave out --edges and --values, or give them without --grid auto"
        )
    return cells.grid in (None, AUTO) and not has_other_cells


def _fields_without_grid(cells: CellOptions) -> dict[str, Any]:
    """Check that no option needs a grid, and return ``{"grid": None}``, the argument of a question that searches for
    its range.

    Args:
        cells: Options of the grid.

    Raises:
        Misuse: an option that needs a grid is given.
    """
    edge_subset = getattr(cells, "some", EdgeSubsetOptions())
    grid_options = {
        "outside": cells.outside,
        "hint": getattr(cells, "hint", None),
        "cut-points": edge_subset.cut_points,
        "points": edge_subset.points,
    }
    needs_grid = next((name for name, value in grid_options.items() if value is not None), None)
    if needs_grid is not None:
        raise Misuse("grid", NEEDS_GRID.format(needs_grid))
    return {"grid": None}


@dataclass(frozen=True)
class ThresholdCells(CellOptions):
    """Options for a grid of scores, and for the thresholds of a ROC curve."""

    thresholds: str = option(
        "quantiles|medians|fixed",
        "Thresholds: at private quantiles of the scores, at private medians of medians, or fixed by the grid.",
        "quantiles",
        make_member_parser("curves", "RocThresholds", MEMBER_VALUE),
    )
    some: EdgeSubsetOptions = EdgeSubsetOptions()


@dataclass(frozen=True)
class TwoClasses(QuestionOptions):
    """Options for binary labels and scores."""

    label: str = option("NAME", "Column of true labels.")
    score: str = option("NAME", "Column of scores, higher for positives; or @FILE, a model.", parse=read_score_source)
    pos_label: str = option("LABEL", "Positive label. Labels that are neither are missing.", "1", parse_label)
    neg_label: str | None = optional(
        "LABEL",
        "Negative label. Required for CSV files, and if the positive label is not one of 1, 0, -1, true, false.",
        parse_label,
    )


@dataclass(frozen=True)
class ScoreOptions(TwoClasses):
    """Options for binary labels and scores, and for a statement about the model."""

    model: str = option(
        "TEXT", "What pictures and JSON say about the model.", "the model is taken as public", name="--model-note"
    )


@dataclass(frozen=True)
class WeightOptions(QuestionOptions):
    """Options for a column of survey weights and their public cap."""

    weight: str | None = optional("NAME", "Column of survey weights. Results are weighted.")
    weight_cap: str | None = optional(
        "W", "Public cap on the weight of a record, required with --weight. Larger weights count as W.", parse_number
    )

    def question_fields(self, defaults: Mapping[str, Any]) -> dict[str, Any]:
        """Return the question's arguments `weight` and `weight_cap`; no arguments without --weight.

        Args:
            defaults: Default arguments of the question, by name.
        """
        if self.weight is None and self.weight_cap is not None:
            raise Misuse("weight-cap", "--weight-cap needs --weight: name the column of weights")
        return {} if self.weight is None else super().question_fields(defaults)


COUNTED_COLUMN = make_option_group(column=option("NAME", f"{COLUMN_HELP} Without it, all records count.", "*"))
"""Option --column of ``dpcurves count``, which may be left out: `*`, the default, counts all records."""
_Probabilities = make_option_group(
    probabilities=option("P,P,P", "Probabilities between 0 and 1.", "0.25,0.5,0.75", parse_numbers)
)


@dataclass(frozen=True)
class ProbabilityOptions(_Probabilities):  # type: ignore[valid-type, misc]
    """Options for the probabilities of quantiles, of all records or by group."""

    def adapt_view(self, view: Any, question: Any) -> Any:
        """Return the view; a view of groups gets the probabilities of these options as its levels.

        Args:
            view: How the result is shown.
            question: The question; not used.
        """
        return replace(view, levels=self.question_fields({})["probabilities"]) if hasattr(view, "levels") else view


MOMENTS = make_option_group(
    moments=option("N", "2: count, sum, mean and variance; 1: no variance, and less noise.", "2", parse_integer)
)
"""Option --moments of summaries. The variance (2) takes part of the privacy budget."""
COVERAGE = make_option_group(
    coverage=option(
        "P", "Share of records inside the bounds; in residual plots, inside both bounds.", parse=check_positive_number
    )
)
"""Option --coverage of private bounds: the share of records that they should contain."""
ORIGIN = make_option_group(
    model=option(
        "public|disjoint|private",
        "Origin of the model: public, trained on disjoint records, or trained privately under a loss of its own.",
        parse=make_member_parser("privacy", "ModelOrigin", lambda each: each.name.lower()),
    )
)
"""Option --model of questions about a model's residuals: on what records the model was trained."""
BINS = make_option_group(
    bins=option(
        "N",
        "Maximum number of bins, at least 2. Private quantiles are the edges; small bins are merged.",
        "16",
        parse_integer_above_one,
    )
)
"""Option --bins of binned residuals: the largest number of bins."""
GROUPS = make_option_group(
    groups=optional(
        "N",
        "Number of groups between private quantiles, at least 2. Default: 4 to 20, by records and privacy loss.",
        parse_integer_above_one,
    )
)
"""Option --groups of calibration curves and Hosmer-Lemeshow tests: the number of score groups."""
CELLS = make_option_group(cells=option("N", "Cells along each axis, at most 256.", "64", parse_integer))
"""Option --cells of residual plots: the resolution of each axis."""
