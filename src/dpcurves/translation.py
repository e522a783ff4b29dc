"""Localisation (l10n): texts of pages and pictures in the reader's language, from gettext catalogues (``.po`` files).

Results, their JSON and their CSV files stay English. A page or a picture is built from English texts, and each text is
translated when it is written. Unlike with gettext, the text already has its numbers and names filled in, so `translate`
finds the *message*, that is the catalogue entry with fields in braces, that matches the text as a pattern:

    message       "{number} band for these records"
    text          "95% band for these records"
    translation   "bande de confiance à 95 % pour ces enregistrements"        (French)

The name of a field begins with its kind:

    {number}, {date}    rewritten in the format of the language
    {phrase}            translated by another message
    {name}              a word of the user, such as a column, kept as it is
    {text}              any text, kept as it is

A text that no message matches stays English. `use_language` sets the reader of a ``with`` block (a context variable);
without it, texts are returned unchanged. Number and date formats come from Babel, an optional package.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING

from .arguments import InvalidArgument, MissingPackage
from .foreign_text import TypesetText

if TYPE_CHECKING:
    from babel import Locale

ENGLISH = "en"
"""Code of the language that all texts are written in; it needs no catalogue, and no Babel."""
LANGUAGES: Mapping[str, str] = {ENGLISH: "English", "de": "Deutsch", "fr": "français", "es": "español"}
"""Languages of pages and pictures by their code (ISO 639-1), each named in itself. Without Babel only English is
offered."""
CATALOGUES = Path(__file__).parent / "locale"
"""Folder of the translations: ``LANGUAGE/LC_MESSAGES/dpcurves.po``."""
NUMBER_PATTERN = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:e[-+]?\d+)?%?"
"""Matches a number as the package writes it in English, such as ``-1,234.5e-6`` or ``95%``; translations write it in
the form of their language."""
DATE_PATTERN = r"\d{4}-\d\d-\d\d(?: \d\d:\d\d(?::\d\d)?)?(?: UTC)?"
"""Matches a date (ISO 8601), perhaps with a time and ``UTC``, as the package writes it in English; translations write
it in the form of their language."""
FIELD_PATTERN = re.compile(r"\{((number|date|name|phrase|text)(?:_\d)?)\}")
"""Matches a field of a message of the catalogue, in braces: its name, such as ``number_2``, and its kind, such as
``number``."""
PATTERNS_BY_KIND: Mapping[str, str] = {
    "number": NUMBER_PATTERN,
    "date": DATE_PATTERN,
    "name": ".+?",
    "phrase": ".+?",
    "text": ".+?",
}
"""Regular expressions of the texts that fill a field of a message, by its kind: a printed text is translated by the
message that it matches."""
logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Message:
    """A message of a catalogue whose text has fields.

    Attributes:
        pattern: Matches the English texts that are instances of the message; fields with free text are as short as
            possible.
        longest: Matches the same texts as `pattern`, with fields of free text as long as possible.
        translation: The text in the other language, with the same fields.
        constant: The longest English text between fields, which is searched first.
        kinds: Kind of each field, by its name.
        letters: Number of letters of the English text outside its fields: the more, the more specific is the message.
    """

    pattern: re.Pattern[str]
    longest: re.Pattern[str]
    translation: str
    constant: str
    kinds: Mapping[str, str]
    letters: int

    @classmethod
    def parse(cls, text: str, translation: str) -> Message:
        """Return the message of a catalogue entry: `text` is English with fields, `translation` has the same fields."""
        constants = FIELD_PATTERN.split(text)[::3]
        kinds = {match[1]: match[2] for match in FIELD_PATTERN.finditer(text)}
        groups = [f"(?P<{name}>{PATTERNS_BY_KIND[kind]})" for name, kind in kinds.items()]
        lazy = "".join(part for pair in zip(map(re.escape, constants), [*groups, ""], strict=True) for part in pair)
        return cls(
            re.compile(lazy, re.DOTALL), re.compile(lazy.replace(".+?", ".+"), re.DOTALL), translation,
            max(constants, key=len), kinds, sum(map(str.isalpha, "".join(constants))),
        )  # fmt: skip


@cache
def load_locale(language: str) -> Locale:
    """Return the rules of numbers and dates of a language.

    Args:
        language: Code of the language, such as ``"de"``.

    Raises:
        ImportError: Babel is not installed.
    """
    try:
        from babel import Locale
    except ImportError:
        rule = f"texts in {LANGUAGES[language]} need Babel: pip install 'dpcurves[languages]'"
        raise MissingPackage("language", rule) from None
    return Locale.parse(language)


@cache
def load_catalogue(language: str) -> tuple[Mapping[str, str], tuple[Message, ...]]:
    """Return the catalogue of a language: translations of messages without fields, and messages with fields.

    Args:
        language: Code of the language, such as ``"de"``; not English.

    Returns:
        A mapping from English texts without fields to translations; and the messages with fields in the order in which
        they are tried (`_rank_message`).

    Raises:
        ImportError: Babel is not installed.
    """
    load_locale(language)
    from babel.messages.pofile import read_po

    with (CATALOGUES / language / "LC_MESSAGES" / "dpcurves.po").open("rb") as file:
        entries = [(str(entry.id), str(entry.string)) for entry in read_po(file, locale=language) if entry.id]
    plain = {text: translation for text, translation in entries if not FIELD_PATTERN.search(text)}
    messages = [Message.parse(text, translation) for text, translation in entries if text not in plain]
    return plain, tuple(sorted(messages, key=_rank_message))


def _rank_message(message: Message) -> tuple[int, int]:
    """Return the sort key of a message with fields; messages are tried in ascending order of their keys.

    A text may match several messages. Messages with more letters outside their fields come first, because they are more
    specific (so the first number is minus `letters`). Among equals, messages with fewer fields that keep any English
    text (kinds ``name`` and ``text``) come first (the second number is how many there are).

    Args:
        message: Message of the catalogue.
    """
    return -message.letters, sum(kind in ("name", "text") for kind in message.kinds.values())


@dataclass
class Reader:
    """Translator into one language other than English, with the texts that must not be translated.

    Attributes:
        language: The code of the language.
        names: Words of the user, such as names of columns, which are not translated.
        written: Translations so far. A part of a figure may be translated before the whole, and must not be translated
            twice.
        kept: Texts that stayed English. For another result, with other words of the user, such a text may be one of the
            package and is then translated.
    """

    language: str
    names: set[str] = field(default_factory=set)
    written: set[str] = field(default_factory=set)
    kept: set[str] = field(default_factory=set)
    _translations: dict[str, str | None] = field(default_factory=dict)

    def translate(self, text: str) -> TypesetText:
        """Return an English text of the package in this language; a text without a translation stays English.

        Args:
            text: English text of the package.
        """
        if isinstance(text, TypesetText) or self._is_written(text):
            return TypesetText(text)
        translation = self._find_translation(text)
        if translation is None:
            logger.debug("no translation into %s: %r", self.language, text)
        if translation is None or translation == text:
            self.kept.add(text)
            return TypesetText(text)
        self.written.add(translation)
        return TypesetText(translation)

    def _is_written(self, text: str) -> bool:
        """Return whether a text is in the reader's language already, or stays English because no translation fits.

        Args:
            text: Text of a picture or page.
        """
        return text in self.written or (not self.names and text in self.kept)

    def _find_translation(self, text: str) -> str | None:
        """Return the translation of a text; None if no message fits.

        Args:
            text: English text of the package.
        """
        if text not in self._translations:
            self._translations[text] = self._match_messages(text)
        return self._translations[text]

    def _match_messages(self, text: str) -> str | None:
        """Return the translation of a text by the messages of the catalogue; None if no message fits.

        Names of the user, numbers and dates come first, then messages without fields, messages with fields, and lines
        one by one.

        Args:
            text: English text as it would be printed.
        """
        plain, messages = load_catalogue(self.language)
        stripped = text.strip()
        if " ".join(text.split()) in self.names or not any(map(str.isalnum, text)):
            return text
        if re.fullmatch(NUMBER_PATTERN, stripped) or re.fullmatch(DATE_PATTERN, stripped):
            return text.replace(stripped, self.format_value(stripped))
        if text in plain:
            return plain[text]
        fitting = [message for message in messages if message.constant in text]
        # A message whose names are all words of the user fits better than a longer one, whose name has words of ours.
        candidates = (self._fill(message, text, known=known) for known in (True, False) for message in fitting)
        translation = next(filter(None, candidates), None)
        if translation is None and stripped != text:
            inner = self._find_translation(stripped)
            translation = None if inner is None else text.replace(stripped, inner)
        return self._translate_lines(text.split("\n")) if translation is None and "\n" in text else translation

    def _translate_lines(self, lines: Sequence[str]) -> str | None:
        """Return the translation of several lines of text: as one wrapped text, or as messages of one or several lines
        each.

        Args:
            lines: Lines without line breaks.

        Returns:
            The translated lines, joined; None if any line has no translation.
        """
        translations = list[str]()
        width = max(map(len, lines))
        unwrapped = self._find_translation(" ".join(lines))
        if unwrapped is not None:
            return fill(unwrapped, width)
        while lines:
            for count in range(len(lines) - (not translations), 0, -1):  # not all lines at once
                part = "\n".join(lines[:count])
                # below a title that was added later stand lines that are translated
                translation = part if self._is_written(part) else self._find_translation(part)
                if translation is not None:
                    translations.append(translation)
                    lines = lines[count:]
                    break
            else:
                return None
        return "\n".join(translations)

    def _fill(self, message: Message, text: str, *, known: bool) -> str | None:
        """Return the translation of a text by one message, with its fields (names, numbers) put into the translation.

        Args:
            message: Message with fields.
            text: English text.
            known: Whether all names in the text must be words of the user; always so for messages with fewer than 8
                letters.

        Returns:
            The translation; None if the text is no instance of the message.
        """
        for pattern in (message.pattern, message.longest):
            match = pattern.fullmatch(text)
            if match is None:
                return None
            fields = match.groupdict().items()
            kinds = message.kinds
            values = {name: self._translate_field(value, kinds[name]) for name, value in fields}
            # Between few letters of a message any text would match, so a name there must be a word of the user.
            fewest_letters = 8
            if known or message.letters < fewest_letters:
                names = {name for name, value in fields if kinds[name] == "name" and not self._is_name(value)}
                values.update(dict.fromkeys(names))
            if None not in values.values():
                parts = FIELD_PATTERN.split(message.translation)  # constants, names and kinds of fields, in turn
                parts[1::3] = [str(values[name]) for name in parts[1::3]]
                return "".join(part for number, part in enumerate(parts) if number % 3 != 2)  # not the kinds
        return None

    def _is_name(self, text: str) -> bool:
        """Return whether a text consists of the user's words or of numbers, as names of categories do.

        Args:
            text: Text of a picture or page.
        """
        words = [text, *text.split(", ")]
        is_known = [
            " ".join(word.split()) in self.names or re.fullmatch(NUMBER_PATTERN, word) is not None for word in words
        ]
        return is_known[0] or all(is_known[1:])

    def _translate_field(self, value: str, kind: str) -> str | None:
        """Return the part of a message that varies (a name, number, date or phrase) in this language; None for a phrase
        without a translation.

        Args:
            value: Text of the field.
            kind: ``name`` (a word of the user), ``phrase`` (a message itself), or a number or date.
        """
        if kind == "name":  # the unit of dates at the end of a label is a word of ours
            is_dated = value.endswith(("(date)", "(moment)", "(moment, UTC)")) and not self._is_name(value)
            return self._find_translation(value) if is_dated else value
        return self._find_translation(value) if kind == "phrase" else self.format_value(value)

    def format_value(self, text: str) -> str:
        """Return a number or a date of the package, which is written in English, as the language writes it.

        Args:
            text: Number or date as the package prints it.

        Returns:
            The text in the style of the language; unchanged if it is neither a number nor a date.
        """
        locale = load_locale(self.language)
        if re.fullmatch(DATE_PATTERN, text):
            from babel.dates import format_date, format_datetime

            day, *time = text.removesuffix(" UTC").split(" ")
            if not time:
                return str(format_date(date.fromisoformat(day), locale=locale))
            length = "medium" if time[0].count(":") == 2 else "short"
            moment = datetime.fromisoformat(f"{day} {time[0]}")
            return f"{format_datetime(moment, length, locale=locale)}{' UTC' * text.endswith(' UTC')}"
        if not re.fullmatch(NUMBER_PATTERN, text):
            return text
        from babel.numbers import format_decimal

        mantissa, mark, exponent = text.removesuffix("%").partition("e")
        decimals = len(mantissa.partition(".")[2])
        pattern = f"{'#,##' if ',' in mantissa else ''}0{'.' * bool(decimals)}{'0' * decimals}"
        number = format_decimal(Decimal(mantissa.replace(",", "")), pattern, locale=locale)
        unit = locale.percent_formats[None].suffix[0] if text.endswith("%") else ""
        return f"{number}{mark}{exponent}{unit}"


_READER: ContextVar[Reader | None] = ContextVar("reader", default=None)
"""The translator of the current context, as `use_language` sets it; None if texts stay English."""


def list_languages() -> Mapping[str, str]:
    """Return the names of the languages that can be written on this machine, by code; only English without Babel."""
    return LANGUAGES if find_spec("babel") is not None else {ENGLISH: LANGUAGES[ENGLISH]}


def find_preferred_language(header: str) -> str:
    """Return the language that a browser prefers, of those that can be written here; English if there is none.

    Args:
        header: The header ``Accept-Language`` of RFC 9110: languages with weights of at most 1.

    >>> find_preferred_language("pt, de-AT;q=0.8, fr;q=0.5, en;q=0.1")
    'de'
    """
    languages = list_languages()
    preferences = re.findall(r"([a-z]{2})(?:-[^\s,;]*)?(?:\s*;\s*q=([01](?:\.\d{0,3})?))?\s*(?:,|$)", header.lower())
    weights = {code: float(weight or 1) for code, weight in reversed(preferences) if code in languages}
    preferred = max(weights, key=lambda code: weights[code], default=ENGLISH)
    return preferred if weights.get(preferred) else ENGLISH


def current_reader() -> Reader | None:
    """Return the translator of the current context (`use_language`); None if texts stay English."""
    return _READER.get()


def require_language(language: str, argument: str = "language") -> str:
    """Return the code of a language if pages and pictures can be written in it.

    Args:
        language: The code, such as ``"de"``.
        argument: Name of the argument in messages, as the user typed it.

    Raises:
        ValueError: there is no catalogue of this language.
        ImportError: Babel is not installed; English needs it not.
    """
    if not isinstance(language, str) or language not in LANGUAGES:
        raise InvalidArgument(argument, f"use one of {', '.join(LANGUAGES)}, got {str(language)[:40]!r}")
    if language != ENGLISH:
        load_locale(language)
    return language


@contextmanager
def use_language(language: str) -> Iterator[None]:
    """Context manager: pages, pictures and their privacy statements that are made inside the ``with`` block are in this
    language.

    Numbers and dates follow the language, too. The user's words, JSON and CSV files stay as they are, and so do the
    result's `notes` and its texts on the terminal. Languages other than English need the extra ``languages``.

    Args:
        language: ``"en"``, ``"de"``, ``"fr"`` or ``"es"``.

    Raises:
        ValueError: there is no catalogue of this language.
        ImportError: Babel is not installed.

    >>> import dpcurves as dp
    >>> ages = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=10), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> with dp.use_language("de"):
    ...     "Anteil der Datensätze darunter" in ages.render_html("")
    True
    """
    language = require_language(language)
    token = _READER.set(None if language == ENGLISH else Reader(language))
    try:
        yield
    finally:
        _READER.reset(token)


@contextmanager
def keep_names(names: Collection[str]) -> Iterator[None]:
    """Context manager: texts of the user that are equal to one of these names stay untranslated inside the ``with``
    block.

    Args:
        names: Words of the user, such as names of columns, even if the catalogue has translations of them.
    """
    reader = _READER.get()
    inner = None if reader is None else Reader(reader.language, reader.names | set(names), reader.written, reader.kept)
    token = _READER.set(inner)
    try:
        yield
    finally:
        _READER.reset(token)


def keep_shortened(names: Sequence[object], texts: Sequence[str]) -> None:
    """Keep shortened names of the user untranslated, as `keep_names` does for whole names; no effect in English.

    Args:
        names: Texts before shortening; the ones that are words of the user are looked up here.
        texts: The shortened text of each, in the same order.
    """
    reader = _READER.get()
    if reader is not None:
        reader.names |= {text for name, text in zip(names, texts, strict=True) if str(name) in reader.names}


def translate(text: str) -> str:
    """Return an English text of the package in the language of the reader, or unchanged for readers of English.

    Args:
        text: English text of the package.

    >>> translate("records")
    'records'
    >>> with use_language("fr"):
    ...     str(translate("95% band for these records"))
    'bande de confiance à 95\\xa0% pour ces enregistrements'
    """
    reader = _READER.get()
    return text if reader is None else reader.translate(text)


def name_language() -> str:
    """Return the code of the language in which texts are written now, such as ``"de"``, for the attribute ``lang`` of a
    page.
    """
    reader = _READER.get()
    return ENGLISH if reader is None else reader.language
