"""The options that every `run.py` takes, and what it does with its findings."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Generic, TypeVar

from rich.console import Console
from rich.progress import Progress

from reproduction import record, report
from reproduction.claims import load, rows
from reproduction.measured import Findings

Size = TypeVar("Size")
ROOT = Path(__file__).resolve().parents[2]
VARIABLE = "DPCURVES_DATA"
OVERVIEW = "overview.png"
COLORS = 64
PICTURES = ROOT / "docs" / "images" / "papers"


@dataclass(frozen=True)
class Options(Generic[Size]):
    """What was asked for.

    Attributes:
        paper: The folder of the paper.
        size: How much is computed.
        full: Whether that is all of it; then the record of the paper is written.
        data: Folder of the data sets, which may not be there.
        out: Folder for pictures and for the verdicts of this run.
        parts: Which parts of the experiments are run: all, where the paper is not divided.
    """

    paper: Path
    size: Size
    full: bool
    data: Path
    out: Path
    parts: tuple[str, ...] = ()


def data_folder() -> Path:
    """Where data sets are, unless an option says otherwise: `shared/data` beside the repository, or $DPCURVES_DATA."""
    return Path(os.environ.get(VARIABLE, ROOT.parent / "shared" / "data"))


Part = Callable[[Options[Size], Progress, Console], Findings]
"""What measures one part of the claims."""


def parse(
    run: str, about: str | None, full: Size, quick: Size, tiny: Size, *, parts: Sequence[str] = ()
) -> Options[Size]:
    """Reads the command line.

    Args:
        run: `__file__` of run.py, whose folder is that of the paper.
        about: What --help says.
        full: The size of the paper.
        quick: Fewer runs, smaller data.
        tiny: A slice for tests.
        parts: What may be run alone, if anything; claims of other parts keep their record.
    """
    paper = Path(run).resolve().parent
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", dest="size", action="store_const", const=quick, help="fewer runs, smaller data")
    sizes.add_argument("--tiny", dest="size", action="store_const", const=tiny, help="a slice for tests")
    parser.add_argument("--data", type=Path, default=data_folder(), help="folder of the data sets")
    parser.add_argument("--out", type=Path, default=paper / "out", help="folder for pictures and verdicts")
    if parts:
        parser.add_argument("--parts", nargs="+", choices=parts, default=parts, help="run these alone")
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    size = full if given.size is None else given.size
    return Options(paper, size, given.size is None, given.data, given.out, tuple(getattr(given, "parts", ())))


def measured(parts: Mapping[str, Part[Size]], options: Options[Size], on: Console) -> Findings:
    """The findings of all parts that were asked for; each is told as soon as it is measured."""
    findings = Findings()
    with report.progress(on) as progress:
        for part in options.parts:
            begun = monotonic()
            findings |= parts[part](options, progress, on)
            on.print(f"Part {part} is measured, in {report.lasting(monotonic() - begun)}")
    return findings


def finish(options: Options[Size], findings: Findings, on: Console) -> None:
    """Prints claim, numbers and verdict, and writes them down; after a full run in the record.

    A picture `overview.png` in the folder for pictures, if there is one, is then shown on the page of papers.
    """
    found = rows(load(options.paper).claims, findings)
    report.show(found, on)
    (options.out / record.FILE).unlink(missing_ok=True)
    record.write(found, options.out / record.FILE)
    if options.full:
        record.write(found, options.paper / record.FILE)
        _keep_overview(options)
    on.print(f"Figures and {record.FILE} are in {options.out}", soft_wrap=True)


def _keep_overview(options: Options[Size]) -> None:
    """The picture of the page of papers, if the run drew one."""
    from PIL import Image

    drawn = options.out / OVERVIEW
    if drawn.exists():
        PICTURES.mkdir(parents=True, exist_ok=True)
        few = Image.open(drawn).convert("RGB").quantize(COLORS)  # a quarter of the size
        few.save(PICTURES / f"{options.paper.name}.png", optimize=True)
