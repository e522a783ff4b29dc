"""Files that a command reads as JSON: released curves, and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .refusal import Misuse


def text_of(option: str, file: str) -> str:
    """What a file says.

    Raises:
        Misuse: it cannot be read.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is nothing to be read in {file!r}") from None


def object_of(option: str, text: str) -> dict[str, Any]:
    """A JSON object.

    Raises:
        Misuse: the text is none.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Misuse(option, "a JSON object is needed")
    return found
