"""Released results that are read again from files, and published in a folder: a page, numbers, pictures and words."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from math import exp
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from . import display
from .arguments import InvalidArgument, require_type
from .conversation import ELSEWHERE, OPEN, PrivacyStatement
from .curves.result import ReleasedResult, result_from_json
from .privacy import format_loss
from .privacy.adjacency import format_record_count

LETTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
LONGEST_NAME = 100
"""Letters of a file's name before its ending: file systems take 255 bytes, encrypted ones about 140."""
DEVICES = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names that Windows takes for devices, whatever the ending."""
PAGE, WORDS, METHODS, CITATION, SUMS = "index.html", "PRIVACY.txt", "METHODS.txt", "CITATION.cff", "SHA256SUMS"
CHANGED = MappingProxyType({"replace-one": "replaced", "add-remove": "removed or added"})
"""Words of a kind of adjacency, by its beginning: what may happen to those of one unit."""
PICTURES = (".svg", ".pdf", ".png")


def read_result(path: str | Path) -> ReleasedResult:
    """The released result of a file, whichever it is: `to_json` or ``--json`` wrote it. Spends nothing.

    Args:
        path: The file.

    Returns:
        The result, of the class that wrote it.

    Raises:
        OSError: there is no such file.
        ValueError: it holds no released result, or is damaged.

    >>> import tempfile, dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write(curve.to_json())
    ...     file.flush()
    ...     dp.read_result(file.name)
    CDF(value, 64 cells, epsilon 1, replace-one)
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument("path", "the file holds no released result: it is no text") from None
    return result_from_json(text)


def publish(
    results: ReleasedResult | Sequence[ReleasedResult] | Mapping[str, ReleasedResult],
    folder: str | Path,
    *,
    title: str = "Released results",
    level: float = 0.95,
    population: bool = True,
    suppress: float | None = None,
) -> list[Path]:
    """Write released results into a folder, ready to be handed on. Spends nothing; needs the extra ``plot``.

    Each result is written as JSON and CSV, and as a picture in SVG, PDF and PNG (300 dots per inch). ``index.html``
    shows all of them and refers to nothing outside; ``PRIVACY.txt`` says in plain words who is protected and how well,
    ``METHODS.txt`` in a paragraph for a section on methods; ``CITATION.cff`` names the software, and ``SHA256SUMS`` the
    hash of each file, as ``sha256sum -c`` checks them. The same results give the same bytes.

    Args:
        results: A result, several ones, or their names with them: names of lower-case letters, digits, ``-`` and ``_``.
        folder: A new or an empty one, or one that holds an earlier publication of results of the same names.
        title: The title of the page.
        level: The confidence level of bands and intervals.
        population: Whether those for the population are shown, too.
        suppress: Numbers of counts and sums with wider intervals are written as ``..`` on the page and in CSV files:
            see `ReleasedResult.to_csv`. JSON and pictures have all numbers, with their intervals; other results are whole.

    Returns:
        The files, in the order of their names.

    Raises:
        ValueError: there is no result, a name is no name of a file, or the folder holds other files.
        ImportError: matplotlib is not installed.

    >>> import tempfile, dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = publish(curve, folder)
    >>> "PRIVACY.txt" in [file.name for file in files]
    True
    """
    named = _name_results(results)
    made: dict[str, bytes] = {}
    summaries = []
    for name, result in named.items():
        picture = result.plot_headless(level=level, population=population)
        own = suppress if result._suppressible_columns() else None
        summaries.append(result.render_html(display.svg_text(picture), suppress=own))
        made[f"{name}.json"] = (result.to_json() + "\n").encode()
        made[f"{name}.csv"] = result.to_csv_text(level=level, population=population, suppress=own).encode()
        for ending in PICTURES:
            drawn = BytesIO()
            display.save_axes(picture, drawn, ending, display.PRINTED)
            made[f"{name}{ending}"] = drawn.getvalue()
    statements = {name: result.privacy for name, result in named.items()}
    made[PAGE] = display.render_report(title, display.INTRODUCTION, summaries, ()).encode()
    made[WORDS] = (describe_results_privacy(named) + "\n").encode()
    made[METHODS] = (methods_paragraph(statements, level) + "\n").encode()
    made[CITATION] = _citation().encode()
    made = dict(sorted(made.items()))
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in made.items())
    return _write_files(Path(folder), {**made, SUMS: sums.encode()})


def _name_results(
    results: ReleasedResult | Sequence[ReleasedResult] | Mapping[str, ReleasedResult],
) -> dict[str, ReleasedResult]:
    if isinstance(results, ReleasedResult):  # some results are mappings themselves
        named = dict(assign_file_names([(results.KIND, results)]))
    elif isinstance(results, Mapping):
        named = dict(results)
    else:
        named = dict(assign_file_names([(str(getattr(each, "KIND", "")), each) for each in results]))
    if not named:
        raise InvalidArgument("results", "at least one is needed")
    for name, each in named.items():
        require_type("results", each, ReleasedResult, "released results, as dp.cdf gives one,")
        if not isinstance(name, str) or not name or not set(name) <= LETTERS:
            raise InvalidArgument("results", "small letters, digits, - and _ are needed in names: files are called so")
        if len(name) > LONGEST_NAME or name in DEVICES:
            rule = f"names of up to {LONGEST_NAME} letters are needed, and none that Windows keeps for a device, as con"
            raise InvalidArgument("results", rule)
    return named


def assign_file_names(results: Iterable[tuple[str, ReleasedResult]]) -> list[tuple[str, ReleasedResult]]:
    """Results by names of files, each once: of other letters come dashes, and the second ``cdf`` is ``cdf-2``.

    All are small letters, for file systems that ignore case, and short enough for every ending; ``con`` is a device of
    Windows, and becomes ``con-result``.
    """
    found: dict[str, ReleasedResult] = {}
    for wanted, result in results:
        word = "".join(letter if letter in LETTERS else "-" for letter in wanted.lower()).strip("-") or "result"
        word = f"{word}-result" if word in DEVICES else word[:LONGEST_NAME].strip("-")
        name, number = word, 1
        while name in found:
            number += 1
            name = f"{word[: LONGEST_NAME - len(str(number)) - 1]}-{number}"
        found[name] = result
    return list(found.items())


def _write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("folder", "this is a file; a folder is needed")
    if folder.exists() and not {each.name for each in folder.iterdir()} <= set(files):
        raise InvalidArgument("folder", "it holds files that are not of this publication; name a new one")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SUMS).unlink(missing_ok=True)  # it is written last: a list without all files never stands there
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return [folder / name for name in sorted(files)]


def describe_results_privacy(results: Mapping[str, ReleasedResult]) -> str:
    """The privacy of results in plain words: each with what it means, and an upper bound of all losses together."""
    parts = ["Privacy of these results"]
    if any(each.privacy.seeded for each in results.values()):
        parts.append(f"{display.SEEDED}: the noise of at least one of them can be drawn again by anybody.")
    parts += [f"{name}: {result!r}\n{describe_privacy(result.privacy)}" for name, result in results.items()]
    if len(results) > 1:
        parts.append(_describe_total_loss(list(results.values())))
    return "\n\n".join(parts)


def describe_privacy(privacy: PrivacyStatement) -> str:
    """A privacy statement in plain words, one sentence a line."""
    if privacy.trust == OPEN:
        return "It was counted openly, from public records: nothing had to be protected."
    if privacy.trust.startswith(ELSEWHERE):
        return f"Its counts were released by {privacy.trust}; who is protected, and how well, is said there."
    change = next((words for word, words in CHANGED.items() if privacy.adjacency.startswith(word)), "changed")
    whose = f"all records of one {privacy.unit} are" if privacy.unit else "one record is"
    lines = [
        f"Protected is {privacy.protected_unit}. Neighbours: {privacy.adjacency}. Trust: {display.describe_trust(privacy)}.",
        _describe_loss(privacy, f"if {whose} {change}"),
        "This holds whatever else a reader of the results knows, now or later.",
    ]
    if privacy.unit:
        used = "was" if privacy.rows_per_unit == 1 else "were"
        lines.append(f"At most {format_record_count(privacy.rows_per_unit)} of one {privacy.unit} {used} used.")
    if privacy.model:
        lines.append(f"Model: {privacy.model}.")
    if privacy.seeded:
        lines = [f"{display.SEEDED}. The noise can be drawn again, so what follows does not hold.", *lines]
    lines += [f"Note: {note}." for note in privacy.notes]
    return "\n".join(lines)


def _describe_loss(privacy: PrivacyStatement, changed: str) -> str:
    if privacy.epsilon is None:
        return (
            f"The loss is rho {format_loss(privacy.rho)} (zero-concentrated): {changed}, the Renyi divergence of "
            f"order a of what is released is at most a times {format_loss(privacy.rho)}, for each a above 1."
        )
    but = f", but for a chance of at most {format_loss(privacy.delta)}" if privacy.delta else ""
    factor = format_loss(exp(privacy.epsilon), 3) if privacy.epsilon < 700 else "e to that power"
    return (
        f"The loss is epsilon {format_loss(privacy.epsilon)}: {changed}, no outcome becomes more than {factor} times "
        f"as likely, or as unlikely{but}."
    )


def _describe_total_loss(results: Sequence[ReleasedResult]) -> str:
    """An upper bound of all losses together, by basic composition: what was released once is counted once."""
    losses = {
        _release_fingerprint(result): result.privacy for result in results if result.privacy.trust != OPEN
    }.values()
    kinds = {(each.adjacency, each.unit, each.rows_per_unit, each.epsilon is None) for each in losses}
    if not losses:
        return "All were counted openly."
    if len(kinds) > 1 or any(each.trust.startswith(ELSEWHERE) for each in losses):
        return "Their losses are not added up here: they are of different kinds, or of different neighbours."
    (*_, concentrated) = next(iter(kinds))
    parts = [Fraction(str(each.rho if each.epsilon is None else each.epsilon)) for each in losses]
    amount = f"{'rho' if concentrated else 'epsilon'} {format_loss(sum(parts, start=Fraction(0)), 12)}"
    delta = sum((Fraction(str(each.delta)) for each in losses), start=Fraction(0))
    return (
        f"Together they lose at most {amount}{f', delta {format_loss(delta)}' if delta else ''} (basic composition; "
        "results that were read from the same releases are counted once). Other releases of the same records add to "
        "it: the ledger of the holder of these records says how much."
    )


def _release_fingerprint(result: ReleasedResult) -> str:
    """The releases that a result was read from, as text: results of the same ones lose once."""
    turns = [turn.to_json() for turn in result.rounds]
    return json.dumps([result.privacy.grant, result.privacy.loss, turns or result.to_json()], sort_keys=True)


def methods_paragraph(statements: Mapping[str, PrivacyStatement], level: float) -> str:
    """A paragraph on the privacy of results for a section on methods."""
    told = []
    for name, privacy in statements.items():
        if privacy.trust == OPEN:
            told.append(f"{name}: counted openly from public records")
            continue
        kind = "zero-concentrated differential privacy" if privacy.epsilon is None else "differential privacy"
        kind = f"approximate {kind}" if privacy.delta else f"pure {kind}" if privacy.epsilon is not None else kind
        told.append(
            f"{name}: {privacy.loss} ({kind}) under {privacy.adjacency} neighbours, protecting {privacy.protected_unit}; "
            f"mechanism: {display.describe_mechanism(privacy.mechanism)}; trust: {display.describe_trust(privacy)}"
        )
    seeded = f" {display.SEEDED}." if any(each.seeded for each in statements.values()) else ""
    return (
        f"Results were released with dpcurves {version('dpcurves')} and read from noisy counts alone "
        f"({'. '.join(told)}). Bands and intervals are at the level {level:g}; those for these records cover the "
        f"noise, those for the population sampling as well.{seeded}"
    )


def _citation() -> str:
    return (
        "cff-version: 1.2.0\nmessage: If you use these results, please cite the software that released them.\n"
        "type: software\ntitle: dpcurves\nauthors:\n  - name: The dpcurves maintainers\n"
        f"version: {version('dpcurves')}\nlicense: Apache-2.0\n"
    )


def plot_results_together(results: Mapping[str, ReleasedResult], level: float, population: bool) -> Any:
    """Draw several results of one kind on one picture, each by its name.

    Raises:
        ValueError: they are of different kinds.
    """
    first = next(iter(results.values()))
    if len({type(each) for each in results.values()}) > 1:
        raise InvalidArgument("results", "results on one picture are of one kind; these are of several")
    drawn = display.headless_axes(first.SIZE)
    for name, each in results.items():
        drawn = each.plot_headless(level=level, population=population, ax=drawn, name=name)
    return drawn


def stack_columns(
    results: Mapping[str, ReleasedResult], level: float, population: bool, suppress: float | None = None
) -> dict[str, Any]:
    """Columns of several results of one kind, one below the other, with their names in the first column.

    Raises:
        ValueError: they have different columns.
    """
    sure: dict[str, Any] = {"level": level, "population": population, "suppress": suppress}
    tables = {name: each.columns_with_intervals(**sure) for name, each in results.items()}
    if len({tuple(table) for table in tables.values()}) > 1:
        raise InvalidArgument("results", "results in one table have the same columns; these have several")
    rows = [max(map(len, table.values()), default=0) for table in tables.values()]
    columns = {
        name: np.concatenate([np.asarray(table[name], dtype=object) for table in tables.values()])
        for name in next(iter(tables.values()))
    }
    return {"result": np.repeat(list(tables), rows), **columns}
