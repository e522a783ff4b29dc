"""Files that a command reads as JSON: released curves, and questions."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .refusal import Misuse


def text_of(option: str, file: str) -> str:
    """Text of a file, decoded as UTF-8.

    Raises:
        Misuse: it cannot be read.
    """
    try:
        return Path(file).read_text(encoding="utf-8")
    except (OSError, ValueError):
        raise Misuse(option, f"there is nothing to be read in {file!r}") from None


def object_of(option: str, text: str) -> dict[str, Any]:
    """Parse a JSON object.

    Raises:
        Misuse: the text is no JSON object.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Misuse(option, "a JSON object is needed")
    return found
