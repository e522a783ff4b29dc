"""Add a new thing of each kind to a copy of today's code, ask it a question, and count edited files: `make exercise`.

`python docs/exercise.py [KIND ...]`. A folder `docs/exercises/KIND` holds new files under their paths in `src`, edits
of existing files (`edits.toml`), and a script that asks a question and compares the answer with the truth (`check.py`).
An edit names a file, an anchor (a text that occurs there exactly once), and the text to insert `before` or `after` it,
so it survives changes elsewhere in the file. The exit status is 1 if an anchor is not found or a check fails.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
EXERCISES = ROOT / "docs" / "exercises"
MARKS: Mapping[str, int] = MappingProxyType(
    {"reading": 1, "question": 3, "distribution": 1, "randomiser": 1, "stream": 2, "engine": 1}
)
"""The largest number of existing files that a new thing of each kind should need to edit."""


class ExerciseError(Exception):
    """An edit that does not fit today's code, or a new thing that gives no right answer."""


class Edit(NamedTuple):
    """Text to insert into an existing file, on one side of an anchor that occurs there exactly once."""

    file: str
    anchor: str
    before: str = ""
    after: str = ""

    def insert(self, text: str) -> str:
        """Return the text of the file with the insertion.

        Raises:
            ExerciseError: the anchor does not occur exactly once.
        """
        if (count := text.count(self.anchor)) != 1:
            raise ExerciseError(f"{self.file}: anchor occurs {count} times, not once: {self.anchor!r}")
        return text.replace(self.anchor, f"{self.before}{self.anchor}{self.after}")


class Exercise(NamedTuple):
    """A new thing of one kind: edits of existing files, and new files by their paths in `src`."""

    kind: str
    edits: tuple[Edit, ...]
    new_files: tuple[str, ...]

    @property
    def folder(self) -> Path:
        """The folder that it was read from."""
        return EXERCISES / self.kind

    @property
    def edited_files(self) -> list[str]:
        """Existing files that are edited, each once."""
        return sorted({edit.file for edit in self.edits})


def read_exercises(kinds: Sequence[str] = ()) -> list[Exercise]:
    """Return the exercises of these kinds, or all, in the order of `MARKS`.

    Raises:
        ExerciseError: no folder exists for a kind.
    """
    exercises = []
    for kind in kinds or [kind for kind in MARKS if (EXERCISES / kind).is_dir()]:
        folder = EXERCISES / kind
        if kind not in MARKS or not folder.is_dir():
            raise ExerciseError(f"{kind}: no such exercise")
        edits = tomllib.loads((folder / "edits.toml").read_text(encoding="utf-8"))["edits"]
        files = (path.relative_to(folder) for path in sorted(folder.glob("dpcurves*/**/*")) if path.is_file())
        new_files = tuple(path.as_posix() for path in files if "__pycache__" not in path.parts)
        exercises.append(Exercise(kind, tuple(Edit(**edit) for edit in edits), new_files))
    return exercises


def edited_texts(exercise: Exercise, source: Path = SOURCE) -> dict[str, str]:
    """Return the new text of each edited file, by its path in `source`. Nothing is written.

    Raises:
        ExerciseError: a file or an anchor is missing, an anchor occurs twice, or a new file exists already.
    """
    for file in exercise.new_files:
        if (source / file).exists():
            raise ExerciseError(f"{file}: exists already, so it is not new")
    texts: dict[str, str] = {}
    for edit in exercise.edits:
        if not (source / edit.file).is_file():
            raise ExerciseError(f"{edit.file}: no such file, so it cannot be edited")
        text = texts.get(edit.file) or (source / edit.file).read_text(encoding="utf-8")
        texts[edit.file] = edit.insert(text)
    return texts


def run_exercise(exercise: Exercise) -> str:
    """Add the new thing to a copy of `src` in a temporary folder, run its check there, and return what it printed.

    Raises:
        ExerciseError: an edit does not fit, or the check failed; the message ends with the last lines of its output.
    """
    texts = edited_texts(exercise)
    with tempfile.TemporaryDirectory() as folder:
        # Byte code is copied too: it stays valid, for files keep their times, and the check starts faster.
        copy = shutil.copytree(SOURCE, Path(folder, "src"))
        for file, text in texts.items():
            (copy / file).write_text(text, encoding="utf-8")
        for file in exercise.new_files:
            (copy / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(exercise.folder / file, copy / file)
        done = subprocess.run(
            [sys.executable, str(exercise.folder / "check.py")],
            cwd=folder, env={**os.environ, "PYTHONPATH": str(copy)}, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise ExerciseError("check failed:\n" + "\n".join(done.stderr.splitlines()[-12:]))
    return done.stdout.strip()


def count_edits() -> Iterator[tuple[str, int, int, int]]:
    """Yield the kind, files edited, files new, and the mark for edited ones, of each exercise. Nothing is run."""
    for exercise in read_exercises():
        yield exercise.kind, len(exercise.edited_files), len(exercise.new_files), MARKS[exercise.kind]


def main(kinds: Sequence[str]) -> int:
    """Run exercises, print a line each, and return the exit status."""
    failures = 0
    try:
        exercises = read_exercises(kinds)
    except ExerciseError as error:
        print(error, file=sys.stderr)
        return 1
    print(f"{'kind':<12}{'edited':>8}{'mark':>6}{'new':>5}  question and answer", flush=True)
    for exercise in exercises:
        counts = f"{len(exercise.edited_files):>8}{MARKS[exercise.kind]:>6}{len(exercise.new_files):>5}"
        print(f"{exercise.kind:<12}{counts}  ", end="", flush=True)
        try:
            print(run_exercise(exercise), flush=True)
        except ExerciseError as error:
            failures += 1
            print(f"FAILED: {error}", flush=True)
    return min(failures, 1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
