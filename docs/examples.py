"""Runs every example and every long notebook in a fresh process, holds each picture against the kept one.

`python docs/examples.py [NAME ...] [--keep] [--copies] [--quick]`. Notebooks with outputs are written to
`build/examples`. Noise comes from seeds here, and rows of units from one key, so that pictures are the same each time;
each says that it is seeded. One that is unlike the one in `examples/pictures` fails, and both are laid side by side;
`--keep` makes today's pictures those that are kept. With `--copies` processes are not fresh, but copies of one that has
imported libraries and run nothing: each example still has one of its own, in less than half of the time. With
`--quick`, as in `make test`, the eight examples that take longest are left out; `make examples` runs them.
"""

from __future__ import annotations

import argparse
import re
import sys
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from itertools import takewhile
from pathlib import Path
from tempfile import gettempdir
from typing import Any

import jupytext
import nbformat
import numpy as np
from nbclient import NotebookClient
from PIL import Image
from rich.console import Console
from rich.progress import track

sys.path.insert(0, str(Path(__file__).parent))
from kernels import copied

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES, KEPT, OUT = ROOT / "examples", ROOT / "examples" / "pictures", ROOT / "build" / "examples"
NOTEBOOKS = EXAMPLES / "notebooks"
THUMBNAIL = 400, 300
TOLERANCE = 12.0
"""Root mean squared difference of two thumbnails, of 255."""
TOLERANCES = {"two_servers": 20.0}
"""Where noise comes from secrets of processes of their own, which moved the picture by 7 to 10 in three runs."""
SECONDS = 600
LONGEST = (
    "people_at_home", "two_servers", "risk_model", "credit_audit", "flights_report", "incomes", "coverage_study",
    "trial_report",
)  # fmt: skip
"""What begins first, so that no core waits for it in the end: two fifths of the time of all."""
SEEDED = """
import itertools
import os
import warnings
import dpcurves
import dpcurves.display
os.environ["DPCURVES_LEDGER_KEY"] = 32 * "5e"
warnings.filterwarnings("ignore", "XDG_RUNTIME_DIR")  # of the machine, and names a folder of it
warnings.showwarning = lambda said, kind, *_: print(f"{kind.__name__}: {said}")
_seeds = itertools.count()
_made_up = dpcurves.display.made_up_data()
_made_up.__enter__()
dpcurves.Randomness.from_system = staticmethod(lambda: dpcurves.Randomness.from_seed(next(_seeds)))
"""
PNG = "image/png"
COLOURS = re.compile("\x1b\\[[0-9;]*m")


@dataclass(frozen=True)
class Example:
    """One file of `examples`, or of the long ones in its folder `notebooks`: a title, what is learnt, cells of code."""

    path: Path

    @property
    def name(self) -> str:
        return self.path.stem

    @property
    def is_long(self) -> bool:
        return self.path.parent == NOTEBOOKS

    @cached_property
    def cells(self) -> Any:
        return jupytext.read(self.path)

    @property
    def title(self) -> str:
        return str(self._first[0]).removeprefix("# ")

    @property
    def learnt(self) -> str:
        """What stands below the title, up to an empty line."""
        return " ".join(takewhile(bool, self._first[1:]))

    def picture(self, number: int) -> str:
        """The name of a picture, by the order in which they are drawn: the first one stands for the example."""
        return self.name if number == 1 else f"{self.name}-{number}"

    def drawn(self, folder: Path) -> list[str]:
        """The names of its pictures that lie in a folder."""
        named = re.compile(f"{self.name}(-[0-9]+)?")
        return sorted(path.stem for path in folder.glob("*.png") if named.fullmatch(path.stem))

    @property
    def lines(self) -> int:
        """How many lines of code there are."""
        code = "\n".join(cell.source for cell in self.cells.cells if cell.cell_type == "code")
        return sum(bool(line.strip()) for line in code.splitlines())

    @property
    def _first(self) -> list[str]:
        return list(self.cells.cells[0].source.splitlines())

    def run(self) -> Any:
        """The notebook with its outputs, from a process of its own."""
        book = nbformat.from_dict(self.cells)
        book.cells.insert(0, nbformat.v4.new_code_cell(SEEDED))
        NotebookClient(
            book, timeout=SECONDS, kernel_name="python3", resources={"metadata": {"path": str(OUT)}}
        ).execute()
        del book.cells[0]
        return book


def found(names: list[str]) -> list[Example]:
    """All examples, or those with these names."""
    every = [Example(path) for folder in (NOTEBOOKS, EXAMPLES) for path in sorted(folder.glob("*.py"))]
    return [example for example in every if not names or example.name in names]


def pictures(book: Any) -> Iterator[Image.Image]:
    """What the cells drew, in order."""
    for cell in book.cells:
        for output in cell.get("outputs", ()):
            if PNG in output.get("data", {}):
                yield Image.open(BytesIO(b64decode(output["data"][PNG]))).convert("RGB")


def thumbnail(picture: Image.Image) -> Image.Image:
    """A small picture on white, of one size."""
    small, page = picture.copy(), Image.new("RGB", THUMBNAIL, "white")
    small.thumbnail(THUMBNAIL, Image.Resampling.LANCZOS)
    page.paste(small, ((THUMBNAIL[0] - small.width) // 2, (THUMBNAIL[1] - small.height) // 2))
    return page.quantize(48, dither=Image.Dither.NONE)


def difference(one: Image.Image, other: Image.Image) -> float:
    """Root mean squared difference of two pictures of one size, of 255."""
    first, second = (np.asarray(each.convert("RGB"), float) for each in (one, other))
    return float(np.sqrt(((first - second) ** 2).mean()))


def checked(example: Example, keep: bool) -> str:
    """What is wrong with an example; nothing, if nothing is. Its notebook and pictures are written."""
    try:
        book = example.run()
    except Exception as error:  # whatever the example raised
        return f"{example.name}: {COLOURS.sub('', str(error))}"
    nbformat.write(book, OUT / f"{example.name}.ipynb")
    drawn = {example.picture(number): picture for number, picture in enumerate(pictures(book), 1)}
    if not drawn:
        return f"{example.name}: it draws nothing"
    said = [compared(name, picture, keep) for name, picture in drawn.items()]
    gone = [f"{name}: a picture is kept that is no longer drawn" for name in example.drawn(KEPT) if name not in drawn]
    return "\n".join(filter(None, said + gone + [f"{example.name}: it shows a folder of this machine"] * tells(book)))


def tells(book: Any) -> bool:
    """Whether outputs name a folder of the machine, which is nobody's business who reads the page."""
    outputs = [output for cell in book.cells for output in cell.get("outputs", ())]
    texts = [text for output in outputs for kind, text in output.get("data", {}).items() if kind != PNG]
    shown = " ".join(map(str, [*texts, *(output.get("text", "") for output in outputs)]))
    return any(f"{folder}/" in shown for folder in (ROOT, Path.home(), gettempdir()))


def compared(name: str, picture: Image.Image, keep: bool) -> str:
    """Write a picture and its thumbnail; say what is wrong with it."""
    picture.save(OUT / f"{name}.png")
    small = thumbnail(picture)
    small.save(OUT / f"{name}.small.png", optimize=True)
    if keep:
        small.save(KEPT / f"{name}.png", optimize=True)
    return unlike(name, small, KEPT / f"{name}.png")


def unlike(name: str, small: Image.Image, kept: Path) -> str:
    """How a picture differs from the one that is kept, if it does; then both are laid side by side."""
    if not kept.exists():
        return f"{name}: no picture is kept: look at build/examples/{name}.png, then --keep"
    before = Image.open(kept)
    apart = difference(small, before)
    if apart <= TOLERANCES.get(name, TOLERANCE):
        return ""
    both = Image.new("RGB", (2 * THUMBNAIL[0], THUMBNAIL[1]), "white")
    both.paste(before.convert("RGB"), (0, 0))
    both.paste(small.convert("RGB"), (THUMBNAIL[0], 0))
    both.save(OUT / f"{name}.unlike.png")
    return f"{name}: unlike the kept picture by {apart:.0f} of 255: see build/examples/{name}.unlike.png"


def main() -> int:
    """Run them, two at a time, and of copies three, for one waits while it begins or ends; how many are wrong."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("names", nargs="*", help="examples by name; all, if there is none")
    parser.add_argument("--keep", action="store_true", help="keep today's pictures")
    parser.add_argument("--copies", action="store_true", help="copy one process; without it, each starts afresh")
    parser.add_argument("--quick", action="store_true", help="leave out the examples that take longest")
    given = parser.parse_args()
    console = Console()
    examples = sorted(found(given.names), key=lambda example: example.name not in LONGEST)
    examples = [example for example in examples if not (given.quick and example.name in LONGEST)]
    for folder in (OUT, KEPT):
        folder.mkdir(parents=True, exist_ok=True)
    with copied() if given.copies else nullcontext(), ThreadPoolExecutor(2 + given.copies) as pool:
        running = pool.map(lambda example: checked(example, given.keep), examples)
        wrong = [said for said in track(running, "examples", len(examples), console=console) if said]
    for said in wrong:
        console.print(said, markup=False, highlight=False, soft_wrap=True)
    console.print(f"{len(examples) - len(wrong)} of {len(examples)} examples hold")
    return len(wrong)


if __name__ == "__main__":
    sys.exit(min(main(), 1))
