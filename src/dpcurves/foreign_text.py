r"""Escape untrusted text before it is shown in a terminal, a log, a page or a picture.

Column names, labels of a JSON file, error texts of a database and messages of other machines may contain anything:
control characters that move the cursor, markup, or marks that reverse the direction of writing. There is one function
per medium:

- `escape_for_terminal` for terminals and logs;
- `escape_for_markdown` for Markdown;
- `flatten_label` for pictures and plain labels;
- `isolate_in_html` and `isolate_lines_in_html` for HTML.

Only the displayed text changes. JSON, CSV and Parquet files store the text itself. The module reads no records.

>>> escape_for_terminal("total\x1b[2K")
'total\\x1b[2K'
>>> isolate_in_html("<script>")
'&lt;script&gt;'
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import bidirectional, category

LONGEST_LINE = 2_000
"""Characters of one line in a terminal or log, of which a longer one is cut: more than any line of this package has,
and fewer than fill a screen twice."""
DEFAULT_IGNORABLE = frozenset(
    "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0"
) | frozenset(map(chr, (*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0))))
"""Characters without a visible glyph whose category (letter, mark or symbol) is not one of `INVISIBLE_CATEGORIES`
(Unicode: Default_Ignorable_Code_Point). Two names that differ in them alone look the same."""
INVISIBLE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Unicode categories without a visible glyph: control, format (directions, zero width), surrogate, private use,
unassigned, line and paragraph separators. Terminals get such characters escaped."""
UNSTORABLE_CATEGORIES = frozenset({"Cc", "Cs", "Cn"})
"""Unicode categories of characters that XML cannot hold or that no font has: pages and pictures show U+FFFD instead."""
REORDERING_CLASSES = frozenset(["R", "AL", "AN", "RLE", "LRE", "RLO", "LRO", "PDF", "RLI", "LRI", "FSI", "PDI", "BN"])
"""Bidirectional classes (UAX #9) of characters that may reorder the words beside them or take no width. Text with one
is isolated in HTML."""
DIRECTION_OVERRIDES = frozenset("\u202d\u202e")
"""Characters that force a direction of writing on all letters after them. No honest name has them; pages and pictures
show U+FFFD instead."""
DIRECTION_ENDS = {**dict.fromkeys("\u202a\u202b", "\u202c"), **dict.fromkeys("\u2066\u2067\u2068", "\u2069")}
"""Characters that begin a direction of writing, each with the one that ends it (UAX #9), which is added if a line lacks
it."""


def is_hidden(character: str) -> bool:
    """Return True if a character has no visible glyph, or may hide or move other characters.

    Args:
        character: One character.
    """
    if character.isascii():
        return character < " " or character == "\x7f"
    return character in DEFAULT_IGNORABLE or category(character) in INVISIBLE_CATEGORIES


def escape_for_terminal(text: object, most: int = LONGEST_LINE) -> str:
    r"""Return `text` as one line in which every character is visible.

    Control characters, line ends, direction marks and zero-width characters become Python escapes. Longer text is cut,
    and its length is shown instead.

    Args:
        text: Any object; its `str` is shown.
        most: Largest number of characters to show.

    >>> escape_for_terminal("a\x1b[2K\rb\u202ec")
    'a\\x1b[2K\\rb\\u202ec'
    >>> escape_for_terminal("x" * 10**6, most=20)
    'xxxxxxxx... (1000000 characters)'
    """
    whole = str(text)
    if len(whole) <= most and whole.isascii() and whole.isprintable():
        return whole
    escaped = "".join(map(_escape_character, whole[:most]))
    return escaped if len(whole) <= most else f"{escaped[: max(most - 12, 1)]}... ({len(whole)} characters)"


MARKDOWN_CHARACTERS = re.compile(
    r"""[\\`*\[\]<|~$&@]        # escapes, code, emphasis, links, HTML, cells, strikethrough, formulas, entities, mail
    | (?<![^\W_])_ | _(?![^\W_])  # an underscore that is not inside a word
    | (?<=www)\. | :(?=//)        # links without brackets
    | (?<!.)[-#+=>] | (?<!.)\d{1,9}(?=[.)])  # lists, headings and quotations at the start""",
    re.VERBOSE | re.IGNORECASE,
)
"""Matches characters that mean something in a line of Markdown (CommonMark 0.31, tables and links of GitHub, formulas);
each gets a backslash in front."""


def escape_for_markdown(text: object, most: int = LONGEST_LINE) -> str:
    r"""Return `text` as one line of Markdown that is rendered as it was written, in a table cell, too.

    Characters that would not be visible become Python escapes, as in `escape_for_terminal`.

    Args:
        text: Any object; its `str` is shown.
        most: Largest number of characters to show, before Markdown is escaped.

    >>> print(escape_for_markdown("<b>a|b\n- *c*"))
    &lt;b>a\|b\\n- \*c\*
    """
    return MARKDOWN_CHARACTERS.sub(_put_backslash, escape_for_terminal(text, most))


def _put_backslash(match: re.Match[str]) -> str:
    """Return the escaped form of a matched character: a backslash and the character.

    HTML becomes an entity, because some readers of Markdown ignore a backslash before ``<``. A number that would begin
    a list gets the backslash behind it.

    Args:
        match: Match of the character, or of the number that would begin a list.
    """
    if match[0] in "<&":
        return escape(match[0])
    return f"{match[0]}\\" if match[0].isdigit() else f"\\{match[0]}"


def _escape_character(character: str) -> str:
    """Return a visible character as itself, a space of any width as a plain space, and any other character as an
    escape.

    Args:
        character: One character.
    """
    if is_hidden(character):
        return character.encode("unicode_escape", "surrogatepass").decode("ascii")
    return " " if character.isspace() else character


class TypesetText(str):
    """Text of this package whose no-break spaces must stay, such as a number in the style of French."""

    __slots__ = ()


BREAKING_SPACES = re.compile(r"[^\S\u00a0\u202f]+")
"""Matches spaces and line ends, without no-break spaces: a run of them becomes one space."""


def flatten_label(text: object) -> str:
    r"""Return `text` on one line for a page or a picture, with letters of all scripts and joined emoji.

    Characters that no page or font can hold, and characters that force a direction, become U+FFFD. A direction that the
    text begins and does not end is ended, so that the words after it keep theirs.

    >>> flatten_label("a\n\x1b[0m")
    'a \ufffd[0m'
    >>> flatten_label("a\u202bb") == "a\u202bb\u202c"
    True
    """
    if isinstance(text, TypesetText):
        line = _replace_unstorable(BREAKING_SPACES.sub(" ", text).strip())
        return TypesetText(line + _end_directions(line))
    line = _replace_unstorable(" ".join(str(text).split()))
    return line + _end_directions(line)


def _replace_unstorable(text: str) -> str:
    """Return `text` with U+FFFD in place of characters that no page or font can hold, and of overrides of the writing
    direction.
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        "\ufffd"
        if character in DIRECTION_OVERRIDES
        or (category(character) in UNSTORABLE_CATEGORIES and character not in "\n\t")
        else character
        for character in text
    )


def _end_directions(line: str) -> str:
    """Return the characters that end all open directions of writing in a line, the innermost first; empty if none is
    open.

    Args:
        line: Text of one line.
    """
    open_ends: list[str] = []
    for character in line:
        if character in DIRECTION_ENDS:
            open_ends.append(DIRECTION_ENDS[character])
        elif character in open_ends:  # the end of an isolate ends all embeddings in it, too
            while open_ends.pop() != character:
                pass
    return "".join(reversed(open_ends))


def visible_form(text: str) -> str:
    r"""Return the visible characters of `text`. Two texts with equal visible forms look the same to a reader.

    Args:
        text: Any text. Characters without a glyph are left out; all others keep their order.

    >>> visible_form("a\u200bb")
    'ab'
    """
    return text if text.isascii() else "".join(character for character in text if not is_hidden(character))


def isolate_in_html(text: object) -> str:
    """Return `text` on one line, escaped for HTML, and isolated if its direction could affect the words around it.

    Text whose letters and marks all run from left to right needs no isolation.

    >>> isolate_in_html("<b>"), isolate_in_html("דנה")
    ('&lt;b&gt;', '<bdi>דנה</bdi>')
    """
    return isolate_markup(escape(flatten_label(text)))


def isolate_lines_in_html(text: object) -> str:
    r"""Return `text` escaped and isolated as by `isolate_in_html`, but with its line ends and indentation.

    >>> isolate_lines_in_html("if a < b:\n    b = a")
    'if a &lt; b:\n    b = a'
    """
    lines = _replace_unstorable(str(text))
    return isolate_markup(escape(lines + _end_directions(lines)))


def isolate_markup(markup: str) -> str:
    """Return escaped text inside ``<bdi>`` if one of its characters could affect the direction of the words around it.

    Args:
        markup: Text that is escaped already.
    """
    if markup.isascii() or not any(bidirectional(character) in REORDERING_CLASSES for character in markup):
        return markup
    return f"<bdi>{markup}</bdi>"
