"""Rendering service of a verification server: pictures and files of released noisy answers, drawn in a child process.

Three things are drawn: sketches of what an answer could look like, from a plan and a synthetic or dummy table;
comparisons of a released answer with the exact one of a synthetic table; and files of released answers to download.
Drawing takes seconds and uses settings that are global to a process, so it must not run in the serving process.
`Renderer` has the cache and the queue of requests; `draw` makes one picture or file.

Formal guarantees: only released answers and public facts are drawn, and no record is read. Such post-processing loses
no further privacy.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from base64 import b64encode
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from hashlib import sha256
from io import BytesIO
from traceback import extract_tb
from typing import IO, TYPE_CHECKING, Any, cast
from warnings import catch_warnings

import numpy as np
import pyarrow as pa
from pyarrow import parquet
from starlette.concurrency import run_in_threadpool

from dpcurves.arguments import ArgumentError, InvalidArgument
from dpcurves.curves.comparison import MEASURES
from dpcurves.curves.question_json import declared_columns_to_json, question_from_json, question_to_json
from dpcurves.curves.result import CurveWarning, IntervalResult, result_from_json
from dpcurves.display import (
    LANDSCAPE,
    PRINT_RESOLUTION,
    format_number,
    headless_axes,
    made_up_data,
    read_alternative_text,
    save_axes,
    svg_text,
)
from dpcurves.forecasts.expected_errors import find_forecast_kind
from dpcurves.forecasts.filtered_rows import FILTER_COLUMN
from dpcurves.ledger import Currency
from dpcurves.noise.randomness import Randomness
from dpcurves.privacy import Neighbours
from dpcurves.publication import plot_results_together
from dpcurves.session import Session
from dpcurves.shortcuts import compare
from dpcurves.translation import ENGLISH, use_language
from dpcurves_parties.serving.messages import ProtocolError, disable_core_dumps

from .child_process import ChildProcess
from .declared_columns import columns_from_json, dummy_table
from .questions import QuestionPlan, loss_from_text, loss_to_json
from .releases import DRAWING_LOCK, LEVEL, Answer, Releases, render_page, render_svg
from .synthetic import LruCache, SyntheticTable, count_trial_rows

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Drawings without privacy loss: sketches on public tables, and comparisons of released curves with synthetic tables.
#
# Their inputs are plain objects, so that a process without database access can draw them.


DUMMY_TABLE = "the dummy table"
"""Words of pages for the table of a sketch if the dataset has no synthetic table."""
SYNTHETIC_TABLE = "the synthetic table"
"""Words of pages for the table of a sketch if the dataset has a synthetic table."""
SKETCH = "sketch"
"""Kind of a drawing: what a question would show, on a dummy or synthetic table."""
BESIDE = "beside"
"""Kind of a drawing: a release beside the same question's result on the synthetic table."""
FILE = "file"
"""Kind of a drawing: a file of one release or several, in a format that is not stored."""
DrawingInputs = Mapping[str, Any]
"""Inputs of a drawing except its table: plain objects, public or released."""
REQUESTED_MEDIA_TYPES = {
    "png": "image/png", "pdf": "application/pdf",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
}  # fmt: skip
"""Media types of the file formats that are drawn when they are requested, and not stored."""
TRANSLATED_MEDIA_TYPES = {"svg": "image/svg+xml", "html": "text/html"}
"""Media types of the file formats that are drawn when a reader of another language requests them; only English ones are
stored."""
_IS_COMPARABLE = LruCache[bool](1000)
"""Whether each release can be compared with a synthetic table, by its id; the 1,000 used last are kept."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """A drawing, with the verdict of a comparison, or a file.

    Attributes:
        svg: The picture.
        verdict: Whether the curves differ significantly, in words; empty if not compared.
        differs: Whether they differ significantly; None if not compared.
        file: A file other than SVG, in base64.
    """

    svg: str
    verdict: str = ""
    differs: bool | None = None
    file: str = ""

    @property
    def picture_text(self) -> str:
        """The picture in words, for readers who cannot see it."""
        return read_alternative_text(self.svg)


def collect_sketch_inputs(question_plan: QuestionPlan) -> DrawingInputs:
    """Return what a sketch is drawn from, as plain objects: question, loss, plan and schema, which are public.

    Args:
        question_plan: Plan of the question, with its data set.
    """
    dataset = question_plan.dataset
    account = question_plan.dataset.account
    return {
        "draw": SKETCH, "question": question_to_json(question_plan.question), "loss": loss_to_json(question_plan.loss),
        "columns": declared_columns_to_json(dataset.columns), "wanted": list(question_plan.plans.columns),
        "cells": question_plan.plans.cells,
        "rows": count_trial_rows(dataset), "is_counted": dataset.units is not None, "currency": account.currency.value,
        "adjacency": account.neighbours.value, "unit": account.unit.column,
        "rows_per_unit": account.unit.records or None, "row_share": question_plan.plans.row_share,
    }  # fmt: skip


def collect_comparison_inputs(release: Answer) -> DrawingInputs:
    """Return what the comparison of a release with a synthetic table is drawn from: released numbers only.

    Args:
        release: Answer of a question, to be compared.
    """
    return {"draw": BESIDE, "question": dict(release.asked_question.question), "curve": release.json}


def find_drawn_type(form: str, language: str) -> str:
    """Return the media type of a file that is drawn on request; empty for a file that is stored.

    Args:
        form: Ending of the file, such as ``pdf``.
        language: Language of the file; in English fewer formats are drawn on request.
    """
    return REQUESTED_MEDIA_TYPES.get(form, "") or (TRANSLATED_MEDIA_TYPES.get(form, "") if language != ENGLISH else "")


def collect_file_inputs(releases: Sequence[Answer], form: str, language: str = ENGLISH) -> DrawingInputs:
    """Return the inputs of a file of releases: released numbers only.

    Args:
        releases: One release, or several of one type for a joint picture.
        form: ``svg``, ``png``, ``pdf``, ``xlsx`` or ``html``.
        language: The language of their texts.
    """
    curves = [
        [f"{release.asked_question.purpose}, {release.asked_question.loss}", release.json] for release in releases
    ]
    return {"draw": FILE, "form": form, "language": language, "curves": curves}


def is_comparable(release: Answer) -> bool:
    """Return True if curves of this type can be compared with a synthetic table.

    Args:
        release: Answer of a question; the result is cached.
    """
    return _IS_COMPARABLE.get_or_compute(
        release.id, lambda: isinstance(result_from_json(release.json), tuple(MEASURES))
    )


def draw(inputs: DrawingInputs, table: Any | None) -> Drawing:
    """Draw a sketch, a comparison or a file of released results, in the drawing process.

    Args:
        inputs: From `collect_sketch_inputs` or `collect_comparison_inputs`.
        table: The synthetic table; None draws a sketch from the dummy table.
    """
    if inputs["draw"] == FILE:
        return _draw_file(inputs)
    return _draw_comparison(inputs, table) if inputs["draw"] == BESIDE else _draw_sketch(inputs, table)


def _draw_file(inputs: DrawingInputs) -> Drawing:
    """Return a picture, a page or a workbook of released results, in the language of the reader.

    Args:
        inputs: Names and JSON of the results, the language, and the form (``svg`` or a file type). Several results
            share one picture.

    Returns:
        SVG text for ``svg``; otherwise the file in base64.
    """
    curves = [result_from_json(text) for _, text in inputs["curves"]]
    names = [name for name, _ in inputs["curves"]]
    with DRAWING_LOCK, use_language(inputs["language"]):
        if len(curves) == 1:
            (curve,) = curves
            axes = curve.plot(ax=headless_axes(getattr(curve, "SIZE", LANDSCAPE)))
        else:
            # Releases of the same question are numbered.
            labels = [
                f"{name} ({position})" if names.count(name) > 1 else name for position, name in enumerate(names, 1)
            ]
            axes = plot_results_together(dict(zip(labels, curves, strict=True)), LEVEL, population=False)
        if inputs["form"] == "svg":
            return Drawing(to_standalone_svg(svg_text(axes)))
        return Drawing("", file=b64encode(_write_file(curves[0], axes, inputs["form"])).decode())


def _write_file(curve: Any, axes: Axes, form: str) -> bytes:
    """Return a page, a workbook or a picture of a curve in the format of a suffix, in the reader's language.

    Args:
        curve: The result.
        axes: Plot of the result.
        form: Suffix of the file, without the point.
    """
    if form == "html":
        return render_page(curve, svg_text(axes)).encode()
    if form == "xlsx":
        return bytes(curve.to_workbook(axes, LEVEL))
    buffer = BytesIO()
    save_axes(axes, buffer, f".{form}", PRINT_RESOLUTION)
    return buffer.getvalue()


SKETCH_KEY = b"public key of the noise in sketches"
"""Key of the simulated noise in sketches, so that a question has the same sketch again. It is public: the tables of
sketches are no confidential records."""


def _draw_sketch(inputs: DrawingInputs, table: Any | None) -> Drawing:
    """Draw the question's answer on a public table, with noise of the planned scale from a public key.

    If the form states the share of rows that pass the filter, this share of the table's rows passes, chosen without
    regard to values.

    Formal guarantees: none is needed, because the table is public. The picture is marked as one of made-up data.

    Args:
        inputs: Question, loss, adjacency, unit and share of rows, as JSON values.
        table: Public table to draw from; None: a table is made up from the inputs.

    Returns:
        SVG text.
    """
    loss = loss_from_text(**inputs["loss"])
    unit = inputs["unit"]
    trial = _build_trial_table(inputs, table)
    question = question_from_json(inputs["question"])
    shown_filter = ""
    if inputs["row_share"] is not None and hasattr(question, "where"):
        share = f"a share of {inputs['row_share']:g} of the rows"
        shown_filter = f"{question.where}, as if {share} passed" if question.where else f"{share} passes"
        trial, condition = _choose_passing_rows(trial, inputs["row_share"])
        question = replace(question, where=condition)
    with (
        catch_warnings(action="ignore", category=CurveWarning),
        Session(
            trial, budget=Currency(inputs["currency"]).smallest_cap(loss),
            adjacency=Neighbours(inputs["adjacency"]), unit=unit or None,
            rows_per_unit=inputs["rows_per_unit"] if unit else None,
            # reloading a page shows the same sketch; a seed would mark it as a release that is not private
            randomness=Randomness.from_key(SKETCH_KEY, "sketch"),
        ) as session,
    ):  # fmt: skip
        curve = session.ask(question, loss)
        with made_up_data(shown_filter):
            return Drawing(to_standalone_svg(_render_sketch(question, curve, inputs["cells"])))


def _render_sketch(question: Any, curve: Any, cells: int) -> str:
    """Return the SVG of a sketch, drawn fast: no intervals for the population, and no band on a fine grid.

    Args:
        question: The question.
        curve: Result of the question on made-up data.
        cells: Number of cells of the grid.
    """
    if not isinstance(curve, IntervalResult):
        return render_svg(curve)
    has_band = cells <= 5000  # bands on finer grids take seconds
    title = _describe_half_width(question, curve) if has_band else ""
    return render_svg(curve, title, population=False, level=LEVEL if has_band else None)


def _describe_half_width(question: Any, curve: Any) -> str:
    """Describe the half width of the sketch's band or intervals; "" if forecasts do not support the question.

    Args:
        question: Question of the sketch.
        curve: Sketched curve.

    Returns:
        English phrase, with the half width in the units of the curve.
    """
    try:
        kind = find_forecast_kind(question)
    except InvalidArgument:
        return ""
    if kind.half_width is None:
        return ""
    half = kind.half_width(curve, False)
    return f"95% for these records: ± {format_number(half, half)}, {kind.interval_label}"


def _draw_comparison(inputs: DrawingInputs, table: Any) -> Drawing:
    """Draw a released curve and the exact curve of a synthetic table.

    Args:
        inputs: JSON of the released curve and of the question.
        table: Arrow table with synthetic rows.

    Returns:
        Picture with the verdict of the comparison.
    """
    comparison = compare(result_from_json(inputs["curve"]), question_from_json(inputs["question"]), table)
    with DRAWING_LOCK:
        axes = comparison.plot(ax=headless_axes(comparison.private.SIZE), names=("confidential", "synthetic"))
        return Drawing(to_standalone_svg(svg_text(axes)), comparison.verdict, comparison.differs)


def to_standalone_svg(svg: str) -> str:
    """Add the XML namespace to an SVG from a page, so that it is a valid file.

    >>> to_standalone_svg('<svg width="1"/>')
    '<svg xmlns="http://www.w3.org/2000/svg" width="1"/>'
    """
    if "xmlns=" in svg[:1000]:
        return svg
    return svg.replace("<svg", '<svg xmlns="http://www.w3.org/2000/svg"', 1)


def _build_trial_table(inputs: DrawingInputs, table: Any | None) -> Any:
    """Return the table that a sketch is computed on: the synthetic table, repeated, or the dummy table; with a column
    of units.

    Args:
        inputs: Columns, numbers of rows and unit, as JSON values.
        table: Synthetic table; None: a dummy table is made of the declared columns.
    """
    if table is not None:
        trial = _repeat_rows(table.select(inputs["wanted"]), inputs)
    else:
        trial = dummy_table(columns_from_json(inputs["columns"]), inputs["rows"], inputs["wanted"])
    unit = inputs["unit"]
    if not unit or unit in trial.column_names:
        return trial
    return trial.append_column(unit, pa.array(np.arange(trial.num_rows)))  # each row is a unit


def _choose_passing_rows(trial: Any, share: float) -> tuple[Any, str]:
    """Add a column that marks a given share of a table's rows, evenly spread; return the table and a filter on the
    column.

    Args:
        trial: Table of pyarrow.
        share: Share of the rows that pass, 0 to 1.

    Returns:
        Table with a column of 1 and 0, and an expression that is true where the column is 1.
    """
    name = FILTER_COLUMN
    while name in trial.column_names:
        name += "*"
    ends = np.floor(np.arange(trial.num_rows + 1) * share)
    return trial.append_column(name, pa.array(np.diff(ends))), f'"{name}" = 1'


def _repeat_rows(table: Any, inputs: DrawingInputs) -> Any:
    """Repeat the rows of a table up to the public number of units, so that relative noise is realistic.

    Args:
        table: Arrow table with synthetic rows.
        inputs: Drawing inputs: public facts of the data set, with the number of units as ``rows``.

    Returns:
        The table itself if the number of units is confidential or the table is empty.
    """
    if not inputs["is_counted"] or not table.num_rows:
        return table
    return table.take(pa.array(np.arange(inputs["rows"]) % table.num_rows))


# The drawing process, its cache, and waiting requests.
#
# The process is managed by hand instead of in a pool: it is killed on timeout and restarted, and ends with the server.


MOST_WAITING_DRAWINGS = 4
"""Largest number of files and comparisons of one person that wait for the drawing process; a further request is refused
(status 429)."""
MEMORY_BYTES = 4 * 2**30
"""Bytes of address space of the drawing process, libraries included; a larger allocation fails."""
NO_PICTURE = "the picture cannot be drawn now; try again later"
"""Refusal (status 503) of a picture if the drawing process failed, or too many drawings wait."""


class Renderer:
    """Client of the drawing process. Requests neither draw nor block on it.

    Formal guarantees: the process receives public or released data only, and no database URL.
    """

    def __init__(self) -> None:
        self._hands = {kind: ThreadPoolExecutor(1, kind) for kind in (SKETCH, BESIDE, FILE)}
        self._turn = threading.Lock()
        self._kept = LruCache[Drawing](64)  # drawings
        self._last: dict[str, Future[Drawing]] = {}
        self._waiting = Counter[str]()
        self._counting = threading.Lock()
        self._child = ChildProcess("dpcurves_server.renderer")
        self._sent: tuple[object, str] = (None, "")  # the process that has a table, and the table's digest

    def start(self) -> None:
        """Start the drawing process, so that it imports its modules before the first request."""
        self._hands[SKETCH].submit(self._warm_up)

    def stop(self) -> None:
        """Kill the drawing process, even while it draws, and take no further requests."""
        for thread_pool in self._hands.values():
            thread_pool.shutdown(wait=False, cancel_futures=True)
        self._child.stop()

    def find(self, inputs: DrawingInputs, table: SyntheticTable | None) -> Drawing | None:
        """Return the cached drawing of these inputs and this table, or None.

        Args:
            inputs: Inputs of the drawing.
            table: Synthetic table of a comparison; None for other drawings.

        Returns:
            The drawing; None if it is not cached.
        """
        return self._kept.peek(_cache_key(inputs, table))

    def submit(self, inputs: DrawingInputs, table: SyntheticTable | None, person: str = "") -> Future[Drawing]:
        """Queue a drawing unless it is cached. A sketch cancels the person's earlier waiting sketch.

        Args:
            inputs: The inputs.
            table: The synthetic table, or None.
            person: The person who waits: for one sketch at a time, and for `MOST_WAITING_DRAWINGS` other drawings;
                empty is the server itself.

        Raises:
            ProtocolError: Too many requests wait, of this person or of all.
        """
        is_sketch = inputs["draw"] == SKETCH
        earlier = self._last.pop(person, None) if is_sketch else None
        if earlier is not None:
            earlier.cancel()
        queue = self._hands[inputs["draw"]]
        if queue._work_queue.qsize() >= 128:  # requests per queue
            raise ProtocolError("picture", NO_PICTURE, 503)
        if person and not is_sketch:
            self._count_waiting(person)
        future = queue.submit(self._kept.get_or_compute, _cache_key(inputs, table), lambda: self._draw(inputs, table))
        if person and is_sketch:
            self._last[person] = future
            future.add_done_callback(lambda future: self._forget_last(person, future))
        elif person:
            future.add_done_callback(lambda _: self._forget_waiting(person))
        return future

    def _count_waiting(self, person: str) -> None:
        """Add one to the number of drawings that a person waits for.

        Raises:
            ProtocolError: the person waits for `MOST_WAITING_DRAWINGS` drawings already (status 429).
        """
        with self._counting:
            if self._waiting[person] >= MOST_WAITING_DRAWINGS:
                raise ProtocolError(
                    "picture", f"{MOST_WAITING_DRAWINGS} pictures of yours wait already; try again later", 429
                )
            self._waiting[person] += 1

    def _forget_waiting(self, person: str) -> None:
        """Decrease the number of a person's waiting drawings by one."""
        with self._counting:
            self._waiting[person] -= 1
            if not self._waiting[person]:
                del self._waiting[person]

    def _forget_last(self, person: str, done: Future[Drawing]) -> None:
        """Remove a finished request from the last requests of people, unless the person has sent a newer request.

        Args:
            person: Name of the person who sent the request.
            done: Future of the finished request.
        """
        if self._last.get(person) is done:
            self._last.pop(person, None)

    def _warm_up(self) -> None:
        """Start the drawing process in advance, once a drawing in progress is done."""
        with self._turn:
            self._child.ensure_running()

    def _draw(self, inputs: DrawingInputs, table: SyntheticTable | None) -> Drawing:
        """Return a drawing once the drawing process is free; waiting requests of both queues take turns.

        Args:
            inputs: What to draw.
            table: Public table of a sketch; None: no table is needed.
        """
        with self._turn:  # alternates between the queues
            return self._draw_now(inputs, table)

    def _draw_now(self, inputs: DrawingInputs, table: SyntheticTable | None) -> Drawing:
        """Return the drawing that the drawing process makes; the process is killed after 60 seconds.

        Args:
            inputs: What to draw.
            table: Public table of a sketch; None: no table is needed.

        Raises:
            ProtocolError: drawing failed or took too long (status 503).
        """
        # 60.0: seconds after which a drawing is aborted and its process restarted: the longest wait of a user
        ending = threading.Timer(60.0, self._child.kill)
        ending.start()
        try:
            answer = self._send_job(self._child.ensure_running(), inputs, table)
        except (OSError, ValueError):
            self._child.stop()
            raise ProtocolError("picture", NO_PICTURE, 503) from None
        finally:
            ending.cancel()
        if "wrong" in answer:
            raise ProtocolError("picture", answer["wrong"] or NO_PICTURE, 503)
        return Drawing(**answer)

    def _send_job(
        self, process: subprocess.Popen[bytes], inputs: DrawingInputs, table: SyntheticTable | None
    ) -> DrawingInputs:
        """Send a drawing request to the drawing process and return its answer, as JSON values. A table is sent once
        only.

        Args:
            process: The drawing process.
            inputs: What to draw.
            table: Public table of a sketch; None: no table is needed.

        Raises:
            OSError, ValueError: the process has ended.
        """
        table_bytes = b"" if table is None or self._sent == (process, table.digest) else table.parquet_bytes
        line = json.dumps({**inputs, "octets": len(table_bytes), "has_table": table is not None})
        request_pipe = cast("IO[bytes]", process.stdin)
        answer_pipe = cast("IO[bytes]", process.stdout)
        request_pipe.write(line.encode() + b"\n" + table_bytes)
        request_pipe.flush()
        if table_bytes and table is not None:
            self._sent = process, table.digest
        return cast("DrawingInputs", json.loads(answer_pipe.readline()))


def _cache_key(inputs: DrawingInputs, table: SyntheticTable | None) -> bytes:
    """Return the cache key of a picture; a synthetic table enters by its digest.

    Args:
        inputs: What to draw.
        table: Public table of a sketch; None: no table is needed.
    """
    table_digest = "" if table is None else table.digest
    return sha256(f"{table_digest}\n{json.dumps(inputs)}".encode()).digest()


# Waiting for pictures that other processes draw. Waiting requests hold no thread, because pages need the threads.
LONGEST_WAIT = 60.0
"""Seconds that a request waits for a picture; then it is answered without it, and the browser asks again."""
POLL_SECONDS = 0.25
"""Seconds between two looks whether a worker has drawn a picture."""


async def wait_until_drawn(releases: Releases, id: str) -> None:
    """Wait until an answer is drawn; return without a word after `LONGEST_WAIT` seconds. Access was checked before.

    Args:
        releases: Released answers of the server.
        id: Identifier of the question.
    """
    end = time.monotonic() + LONGEST_WAIT
    while time.monotonic() < end and not await run_in_threadpool(releases.is_drawn, id):
        await asyncio.sleep(POLL_SECONDS)


async def wait_for_drawing(drawing: Future[Drawing]) -> Drawing:
    """Wait for a sketch or a comparison, at most `LONGEST_WAIT` seconds.

    Raises:
        ProtocolError: the drawing timed out, failed, or was cancelled by a later request of the same person.
    """
    try:
        return await asyncio.wait_for(asyncio.wrap_future(drawing), LONGEST_WAIT)
    except TimeoutError:
        raise ProtocolError("picture", NO_PICTURE, 503) from None
    except asyncio.CancelledError:
        if drawing.cancelled():
            raise ProtocolError("picture", NO_PICTURE, 503) from None
        raise


# The process that draws sketches and comparisons: it reads inputs and public tables, and writes pictures.
#
# It gets no database URL, so it cannot open records. It ends when its standard input closes.


def main() -> None:
    """Draw until standard input closes: one line of JSON per picture, followed by the table if it changed."""
    import resource

    disable_core_dumps()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    if hasattr(os, "nice"):
        os.nice(5)  # below the serving process, above workers, because people wait for drawings
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # so that output printed by a library is not read as an answer
    svg_text(headless_axes())
    table: Any = None
    while line := sys.stdin.buffer.readline():
        inputs = json.loads(line)
        if inputs["octets"]:
            table = parquet.read_table(BytesIO(sys.stdin.buffer.read(inputs["octets"])))
        answers.write(json.dumps(answer_job(inputs, table if inputs["has_table"] else None)).encode() + b"\n")
        answers.flush()


def answer_job(inputs: DrawingInputs, table: Any | None) -> DrawingInputs:
    """Return the picture as plain objects, or the error message, which may quote the inputs of the person who asked.

    Args:
        inputs: What to draw.
        table: Public table of a sketch; None: no table is needed.

    Returns:
        Fields of the drawing; or ``wrong`` with the message, which is empty for an unexpected error.
    """
    try:
        drawing = draw(inputs, table)
    except ArgumentError as error:
        return {"wrong": str(error)}
    except Exception as error:
        last = extract_tb(error.__traceback__)[-1]
        print(f"dpcurves artist: {type(error).__name__} in {last.name}", file=sys.stderr, flush=True)
        return {"wrong": ""}
    return {"svg": drawing.svg, "verdict": drawing.verdict, "differs": drawing.differs, "file": drawing.file}


if __name__ == "__main__":
    main()
