"""Text from outside this process, made safe to show: one function per medium.

Names in files, lines of other machines, error texts of engines and labels of released JSON may contain anything:
control characters, markup, or letters that reverse their neighbours. JSON, CSV and Parquet store them unchanged.
Terminals and logs show `escape_for_terminal`, pages `isolate_in_html`, and pictures `flatten_label`. None of them
changes the stored text.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import bidirectional, category

LONGEST_LINE = 2_000
"""Characters of a terminal or log line: more than any line of this package has, and fewer than fill a screen twice."""
LONGEST_REASON = 400
"""Characters of another machine's reason that are shown, so that it cannot push the lines before it off the screen."""
IGNORABLE = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0") | frozenset(
    map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)))
)
"""Characters without a visible glyph whose category is a letter, mark or symbol (Unicode: Default_Ignorable)."""
HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories without a visible glyph: control, format (directions, zero width), surrogate, private, unassigned."""
UNSTORABLE = frozenset({"Cc", "Cs", "Cn"})
"""Categories that XML cannot hold, or that no font has."""
TURNING = frozenset(["R", "AL", "AN", "RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI", "BN"])
"""Bidirectional classes that may move the words beside them, or that take no width (UAX #9)."""
OVERRIDES = frozenset("\u202d\u202e")
"""Characters that reverse the letters of a name, in any script: no honest name has them."""
CLOSING = {**dict.fromkeys("\u202a\u202b", "\u202c"), **dict.fromkeys("\u2066\u2067\u2068", "\u2069")}
"""Characters that begin a direction, with the character that ends it (UAX #9)."""


def is_hidden(character: str) -> bool:
    """Return True if a character has no visible glyph, or may move or hide others."""
    return (not character.isascii() and (character in IGNORABLE or category(character) in HIDDEN)) or (
        character < " " or character == "\x7f"
    )  # fmt: skip


def escape_for_terminal(text: object, most: int = LONGEST_LINE) -> str:
    """Return `text` as one line for a terminal or a log, with an escape for each character that would not be visible.

    Control, direction and zero-width characters, and line ends, become escapes of Python; longer text is cut.

    >>> escape_for_terminal("a\\x1b[2K\\rb\\u202ec")
    'a\\\\x1b[2K\\\\rb\\\\u202ec'
    >>> escape_for_terminal("x" * 10**6, most=20)
    'xxxxxxxx... (1000000 characters)'
    """
    whole = str(text)
    if len(whole) <= most and whole.isascii() and whole.isprintable():
        return whole
    escaped = "".join(map(_escape_character, whole[:most]))
    return escaped if len(whole) <= most else f"{escaped[: max(most - 12, 1)]}... ({len(whole)} characters)"


MARKDOWN = re.compile(
    r"""[\\`*\[\]<|~$&@]        # escapes, code, emphasis, links, HTML, cells, strikethrough, formulas, entities, mail
    | (?<![^\W_])_ | _(?![^\W_])  # an underscore that is not inside a word
    | (?<=www)\. | :(?=//)        # links without brackets
    | (?<!.)[-#+=>] | (?<!.)\d{1,9}(?=[.)])  # lists, headings and quotations at the start""",
    re.VERBOSE | re.IGNORECASE,
)
"""Characters that mean something in a line of Markdown (CommonMark 0.31, tables and links of GitHub, formulas)."""


def escape_for_markdown(text: object, most: int = LONGEST_LINE) -> str:
    """Return `text` as one line of Markdown that is shown as it is, also in a table cell.

    Line ends and characters that would not be visible become escapes, as in a terminal.

    >>> print(escape_for_markdown("<b>a|b\\n- *c*"))
    &lt;b>a\\|b\\\\n- \\*c\\*
    """
    return MARKDOWN.sub(_put_backslash, escape_for_terminal(text, most))


def _put_backslash(match: re.Match[str]) -> str:
    """Return a character with a backslash before it; a number at the start, which begins a list, gets one behind it.

    HTML is escaped as HTML, because not all readers of Markdown know a backslash before it.
    """
    if match[0] in "<&":
        return escape(match[0])
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _escape_character(character: str) -> str:
    """Return a visible character as itself, a blank of any width as a space, and any other as an escape."""
    if is_hidden(character):
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return " " if character.isspace() else character


class TypesetText(str):
    """A text of this package for readers, whose no-break spaces stay, as in numbers of other languages."""

    __slots__ = ()


BREAKING_SPACES = re.compile(r"[^\S\u00a0\u202f]+")
"""Spaces at which a line may end, and line ends."""


def flatten_label(text: object) -> str:
    """Return `text` on one line for a page or a picture: letters of all scripts and joined emoji stay as they are.

    Characters that no page or font can hold, and characters that reverse letters, become U+FFFD. Directions that the
    text leaves open are ended, so that it does not turn the words after it.

    >>> flatten_label("a\\n\\x1b[0m"), flatten_label("a\\u202bb") == "a\\u202bb\\u202c"
    ('a \\ufffd[0m', True)
    """
    if isinstance(text, TypesetText):
        line = _replace_unstorable(BREAKING_SPACES.sub(" ", text).strip())
        return TypesetText(line + _end_directions(line))
    line = _replace_unstorable(" ".join(str(text).split()))
    return line + _end_directions(line)


def _replace_unstorable(text: str) -> str:
    """Return `text` with U+FFFD for characters that no page or font can hold or that reverse letters."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd"
        if character in OVERRIDES or (category(character) in UNSTORABLE and character not in "\n\t")
        else character
        for character in text
    )


def _end_directions(line: str) -> str:
    """Return the characters that end the directions which a line begins and does not end, innermost first."""
    expected: list[str] = []
    for character in line:
        if character in CLOSING:
            expected.append(CLOSING[character])
        elif character in expected:  # the end of an isolate ends all embeddings in it, too
            while expected.pop() != character:
                pass
    return "".join(reversed(expected))


def visible_form(text: str) -> str:
    """Return the visible characters of a text: texts of equal visible forms look the same.

    >>> visible_form("a\\u200bb")
    'ab'
    """
    return text if text.isascii() else "".join(character for character in text if not is_hidden(character))


def isolate_in_html(text: object) -> str:
    """Return `text` as HTML whose direction does not affect the words around it.

    Text with no letter or mark of a direction from right to left, and none of zero width, needs no isolation.

    >>> isolate_in_html("<b>"), isolate_in_html("דנה")
    ('&lt;b&gt;', '<bdi>דנה</bdi>')
    """
    return isolate_markup(escape(flatten_label(text)))


def isolate_lines_in_html(text: object) -> str:
    """Return `text` as `isolate_in_html` does, with its line ends and indentation.

    >>> isolate_lines_in_html("if a < b:\\n    b = a")
    'if a &lt; b:\\n    b = a'
    """
    lines = _replace_unstorable(str(text))
    return isolate_markup(escape(lines + _end_directions(lines)))


def isolate_markup(markup: str) -> str:
    """Return escaped text in an element that isolates its direction, if it has a letter or mark that needs this."""
    if markup.isascii() or not any(bidirectional(character) in TURNING for character in markup):
        return markup
    return f"<bdi>{markup}</bdi>"
