"""Names from outside, made fit to stand on a picture, a page or a terminal."""

from __future__ import annotations

LONGEST_LABEL = 60


def lettering(text: object, most: int = LONGEST_LABEL) -> str:
    """`text` on one line, without control characters, and no longer than `most`.

    >>> lettering("fare\\n\\x1b[31m($)")
    'fare \\ufffd[31m($)'
    """
    line = "".join(sign if sign.isprintable() else "\ufffd" for sign in " ".join(str(text).split()))
    return line if len(line) <= most else line[: most - 3].rstrip() + "..."


def legend_lettering(text: object) -> str:
    """`text` as `lettering` has it, fit for a legend, which would leave out what begins with an underscore."""
    line = lettering(text)
    return f" {line}" if line.startswith("_") else line
