"""The process that draws sketches and comparisons: facts and public tables come in, pictures go out.

It has no store and is told of none: it can open no records. It ends with its standard input.
"""

from __future__ import annotations

import json
import os
import sys
from io import BytesIO
from traceback import extract_tb
from typing import Any

from pyarrow import parquet

from dpcurves.arguments import Named
from dpcurves.display import headless_axes, svg_text
from dpcurves_parties.serving.messages import leave_no_image

from .studio import Facts, drawn

BEHIND = 15
"""Steps of niceness by which sketches stand behind who serves, and behind workers."""


def main() -> None:
    """Draw until standard input ends: a line of JSON for each picture, and the table where it is another one."""
    leave_no_image()
    if hasattr(os, "nice"):
        os.nice(BEHIND)
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what a library prints is no answer
    svg_text(headless_axes())
    table: Any = None
    while line := sys.stdin.buffer.readline():
        facts = json.loads(line)
        if facts["octets"]:
            table = parquet.read_table(BytesIO(sys.stdin.buffer.read(facts["octets"])))
        answers.write(json.dumps(answer(facts, table if facts["has_table"] else None)).encode() + b"\n")
        answers.flush()


def answer(facts: Facts, table: Any | None) -> Facts:
    """The picture as plain objects, or why there is none: all that it could be made from may be seen by who asked."""
    try:
        found = drawn(facts, table)
    except Named as error:
        return {"wrong": str(error)}
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        print(f"dpcurves artist: {type(error).__name__} in {last.name}", file=sys.stderr, flush=True)
        return {"wrong": ""}
    return {"svg": found.svg, "verdict": found.verdict, "differs": found.differs, "file": found.file}


if __name__ == "__main__":
    main()
