"""Forms that bring a file along: fields as other forms have them, and one file, whose name nobody reads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from urllib.parse import urlencode

from starlette.datastructures import FormData, Headers
from starlette.formparsers import MultiPartException, MultiPartParser

from dpcurves_parties.serving.errors import ProtocolAborted

MOST_FIELDS = 20
MOST_AT_ONCE = 2**16
UNREADABLE = "one file and at most 20 fields are needed, as a page of this server sends them"


def parts_of(headers: Headers, sent: bytes) -> tuple[str, bytes]:
    """The fields, as other forms send them, and what is in the file; empty: there is none.

    Raises:
        ProtocolAborted: it is no such form.
    """
    if not headers.get("content-type", "").lower().startswith("multipart/form-data"):
        raise ProtocolAborted("form", UNREADABLE)
    try:
        return asyncio.run(_parsed(headers, sent))
    except (MultiPartException, ValueError, KeyError):
        raise ProtocolAborted("form", UNREADABLE) from None


async def _parsed(headers: Headers, sent: bytes) -> tuple[str, bytes]:
    form = await MultiPartParser(headers, _streamed(sent), max_files=1, max_fields=MOST_FIELDS).parse()
    try:
        return await _separated(form)
    finally:
        await form.close()


async def _separated(form: FormData) -> tuple[str, bytes]:
    typed, file = [], b""
    for name, value in form.multi_items():
        if isinstance(value, str):
            typed.append((name, value))
        else:
            file = await value.read()
    return urlencode(typed), file


async def _streamed(sent: bytes) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(sent), MOST_AT_ONCE):
        yield sent[start : start + MOST_AT_ONCE]
