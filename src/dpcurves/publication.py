"""Publication of released results in a folder: a page, numbers, plots and privacy statements; and reading them back.

`publish` writes the folder, `read_result` reads one result from its JSON file. Both use released numbers alone, so they
cost no budget. `describe_privacy` states a guarantee in plain words, `methods_paragraph` in a form to be cited.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from datetime import date as date_type
from hashlib import sha256
from importlib.metadata import version
from io import BytesIO
from math import exp, isfinite
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from . import display
from .arguments import InvalidArgument, check_common_arguments, require_sequence, require_type
from .conversation import EXTERNAL_TRUST_PREFIX, OPEN_TRUST_MODEL, PrivacyStatement, select_reader_notes
from .curves.result import ReleasedResult, result_from_json
from .drafts import hold_draft, sweep_drafts
from .privacy import format_loss
from .privacy.adjacency import format_record_count
from .registry import NO_DETAILS, add_losses, format_entry, make_entry, read_about, select_protected
from .translation import keep_names, translate, use_language

FILE_NAME_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyz0123456789-_")
"""Characters of the names of published files. A name with others is refused; in a title others become hyphens."""
LONGEST_FILE_NAME = 100
"""Characters of a file name before its suffix; a longer one is refused, or cut if it comes from a title. File systems
allow 255 bytes, encrypted file systems about 140."""
RESERVED_STEMS = frozenset(
    {"con", "prn", "aux", "nul", *(f"{port}{number}" for port in ("com", "lpt") for number in range(10))}
)
"""Names of devices of Windows, which no file may have, with any suffix. Such a name is refused, or gets ``-result``
appended if it comes from a title."""
INDEX_FILE = "index.html"
"""Published page with all results and links to the other files."""
PRIVACY_TEXT = "PRIVACY.txt"
"""Published text of the guarantee of each result."""
METHODS_FILE = "METHODS.txt"
"""Published paragraph on the methods, to be copied into a paper."""
CITATION_FILE = "CITATION.cff"
"""Published reference of this software (Citation File Format)."""
REGISTRY_FILE = "registry.yaml"
"""Published entry for the registry of differential-privacy deployments."""
DEFAULT_TITLE = "Released results"
"""Title of a publication that was given none; alone of all titles it is translated."""
CHECKSUM_FILE = "SHA256SUMS"
"""Published SHA-256 hashes of all other files. Written last, so that an interrupted run leaves none."""
ADJACENCY_CHANGES = MappingProxyType({"replace-one": "replaced", "add-remove": "removed or added"})
"""How neighbouring tables differ, in the published guarantee, by the beginning of the adjacency's name."""
PICTURE_SUFFIXES = (".svg", ".pdf", ".png")
"""Picture formats that each published result is written in."""


@check_common_arguments
def read_result(path: str | Path) -> ReleasedResult:
    """Read a released result of any kind from a file that `to_json` or ``--json`` wrote. Costs no privacy budget.

    Args:
        path: The file.

    Returns:
        The result, of the class that wrote it.

    Raises:
        OSError: the file does not exist.
        ValueError: the file holds no released result, or is damaged.

    >>> import tempfile, dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
    ...     _ = file.write(curve.to_json())
    ...     file.flush()
    ...     dp.read_result(file.name)
    CDF(value, 64 cells, epsilon 1, replace-one)
    """
    if str(path).lstrip().startswith("{") and '"' in str(path):  # longer than the name of a file may be
        raise InvalidArgument("path", "got the text of a result; give the path of the file that holds it")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidArgument(
            "path",
            "the file is not UTF-8 text, so it holds no released result; give a file that to_json() or --json wrote",
        ) from None
    return result_from_json(text, "path")


@check_common_arguments
def publish(
    results: ReleasedResult | Sequence[ReleasedResult] | Mapping[str, ReleasedResult],
    folder: str | Path,
    *,
    title: str = DEFAULT_TITLE,
    level: float = 0.95,
    population: bool = True,
    suppress: float | None = None,
    about: str | Path | None = None,
    date: str | None = None,
    language: str | None = None,
) -> list[Path]:
    """Write released results into a folder for others. Costs no privacy budget; needs the extra ``plot``.

    Each result is written as JSON, as CSV, and as a plot in SVG, PDF and PNG (300 dots per inch). ``index.html`` shows
    all results, links to all files and loads nothing from elsewhere. ``PRIVACY.txt`` states the guarantee in plain
    words, ``METHODS.txt`` in a paragraph of at most 60 words to be cited. ``registry.yaml`` is an entry for the
    registry of differential-privacy deployments, which names the fields that it lacks. ``CITATION.cff`` names the
    software, and ``SHA256SUMS`` has the hash of each file for ``sha256sum -c``. Equal results and dates give equal
    bytes. Advice to whoever asked the questions is left out of notes.

    Args:
        results: One result, several results, or results by name. Names consist of lower-case letters, digits, ``-`` and
            ``_``.
        folder: A folder that is new, empty, or holds an earlier publication under the same names.
        title: Title of the page.
        level: Confidence level of bands and intervals.
        population: Whether intervals for the population are shown too.
        suppress: Relative width of an interval above which a count or sum is written as ``..`` on the page and in CSV
            files. None: none is. JSON and plots always have all numbers with their intervals.
        about: TOML file with what results do not know and the entry needs: curators, region, intended use and more.
            ``dpcurves publish --about-template FILE`` writes one to fill in. None: the entry lacks these fields.
        date: Date of the publication, as in ``"2026-11-29"``. None: today, in UTC. The entry of the registry has it,
            unless `about` states the first day of publication.
        language: Language of page, plots and texts: ``"en"``, ``"de"``, ``"fr"`` or ``"es"``; other than English needs
            the extra ``languages``. JSON, CSV and the registry's entry stay English. None: see `use_language`.

    Returns:
        The paths of the files, sorted by name.

    Raises:
        ValueError: there is no result, a name is not a valid file name, the date is none, the folder holds other
            files, or `about` has a wrong key or value.
        ImportError: matplotlib is not installed, or Babel for another language.

    >>> import tempfile, dpcurves as dp
    >>> curve = dp.cdf([3, 5, 8] * 1000, grid=dp.Grid(0, 10, cells=64), epsilon=1, adjacency=dp.REPLACE_ONE)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = publish(curve, folder, language="fr")
    >>> "PRIVACY.txt" in [file.name for file in files]
    True
    """
    if language is not None:
        with use_language(language):
            return publish(
                results, folder, title=title, level=level, population=population, suppress=suppress, about=about,
                date=date,
            )  # fmt: skip
    named_results = _name_results(results)
    published_on = _parse_date(date)
    facts = NO_DETAILS if about is None else read_about(about)
    facts = replace(facts, published=facts.published or published_on)
    files: dict[str, bytes] = {}
    summaries = []
    for name, result in named_results.items():
        picture = result.plot_headless(level=level, population=population)
        threshold = suppress if result._suppressible_columns() else None
        page_settings: dict[str, Any] = {"level": level, "population": population, "suppress": threshold}
        links = _describe_files(name, _describe_size(result))
        summaries.append(result.render_html(display.svg_text(picture), links=links, **page_settings))
        files[f"{name}.json"] = (result.to_json() + "\n").encode()
        files[f"{name}.csv"] = result.to_csv_text(level=level, population=population, suppress=threshold).encode()
        picture = result._add_title(picture)  # files stand alone; the page has headings
        for ending in PICTURE_SUFFIXES:
            buffer = BytesIO()
            display.save_axes(picture, buffer, ending, display.PRINT_RESOLUTION)
            files[f"{name}{ending}"] = buffer.getvalue()
    statements = {name: result.privacy for name, result in named_results.items()}
    made = translate(f"Published on {published_on}, with dpcurves {version('dpcurves')}.")
    introduction = f"{translate(display.INTRODUCTION)}\n\n{made}"
    shown_title = translate(title) if title == DEFAULT_TITLE else title
    page_links = [PRIVACY_TEXT, METHODS_FILE, REGISTRY_FILE, CITATION_FILE, CHECKSUM_FILE]
    files[INDEX_FILE] = display.render_report(shown_title, introduction, summaries, (), links=page_links).encode()
    files[PRIVACY_TEXT] = (describe_results_privacy(named_results) + "\n").encode()
    files[METHODS_FILE] = (methods_paragraph(statements, level) + "\n").encode()
    files[CITATION_FILE] = _citation().encode()
    files[REGISTRY_FILE] = format_entry(
        make_entry(named_results, facts, "" if title == DEFAULT_TITLE else title)
    ).encode()
    files = dict(sorted(files.items()))
    sums = "".join(f"{sha256(content).hexdigest()}  {name}\n" for name, content in files.items())
    return _write_files(Path(folder), {**files, CHECKSUM_FILE: sums.encode()})


def _name_results(
    results: ReleasedResult | Sequence[ReleasedResult] | Mapping[str, ReleasedResult],
) -> dict[str, ReleasedResult]:
    """Return the results by the name of their files, without ending; results without a name get one by their kind.

    Args:
        results: One result, several, or results by name.

    Raises:
        ValueError: there is no result, or a file name is invalid.
    """
    if isinstance(results, ReleasedResult):  # tested first, because some results are mappings
        named_results = dict(assign_file_names([(results.KIND, results)]))
    elif isinstance(results, Mapping):
        named_results = dict(results)
    else:
        listed = require_sequence("results", results, "a released result, or several of them,")
        named_results = dict(assign_file_names([(str(getattr(result, "KIND", "")), result) for result in listed]))
    if not named_results:
        raise InvalidArgument("results", "at least one result is needed, as in {'ages': curve}")
    for name, result in named_results.items():
        require_type("results", result, ReleasedResult, "a released result, as from dp.cdf,")
        if not isinstance(name, str) or not name or not set(name) <= FILE_NAME_CHARACTERS:
            raise InvalidArgument("results", "use lower-case letters, digits, - and _ in names, for file names")
        if len(name) > LONGEST_FILE_NAME or name in RESERVED_STEMS:
            rule = f"use names of up to {LONGEST_FILE_NAME} characters, and no device names of Windows, such as con"
            raise InvalidArgument("results", rule)
    return named_results


def assign_file_names(results: Iterable[tuple[str, ReleasedResult]]) -> list[tuple[str, ReleasedResult]]:
    """Return results under unique file names: other characters become hyphens, and the second ``cdf`` is ``cdf-2``.

    Names are lower-case, for file systems that ignore case, and short enough for every suffix. ``con`` is a device name
    of Windows, and becomes ``con-result``.

    Args:
        results: Pairs of a title and a result.

    Returns:
        Pairs of a file name without ending and a result, in order.
    """
    named_results: dict[str, ReleasedResult] = {}
    for title, result in results:
        stem = (
            "".join(letter if letter in FILE_NAME_CHARACTERS else "-" for letter in title.lower()).strip("-")
            or "result"
        )
        stem = f"{stem}-result" if stem in RESERVED_STEMS else stem[:LONGEST_FILE_NAME].strip("-")
        name = stem
        number = 1
        while name in named_results:
            number += 1
            name = f"{stem[: LONGEST_FILE_NAME - len(str(number)) - 1]}-{number}"
        named_results[name] = result
    return list(named_results.items())


def _write_files(folder: Path, files: Mapping[str, bytes]) -> list[Path]:
    """Write files into the folder, made if missing, and return their paths sorted by name.

    A reader sees each file as it was or as it is now, also if the writer is killed.

    Args:
        folder: The folder.
        files: Content of each file by its name.

    Raises:
        InvalidArgument: the folder holds other files.
    """
    if folder.exists() and not folder.is_dir():
        raise InvalidArgument("folder", "this path is a file; name a folder to write into")
    sweep_drafts(folder)  # drafts of a publication that was killed are no files of other origin
    if folder.exists() and not {path.name for path in folder.iterdir()} <= set(files):
        raise InvalidArgument("folder", "the folder holds files of other origin; name a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / CHECKSUM_FILE).unlink(
        missing_ok=True
    )  # written last, so that an interrupted run leaves no incomplete list
    for name, content in files.items():
        with hold_draft(folder / name) as draft:
            draft.write_bytes(content)
            os.replace(draft, folder / name)
    return [folder / name for name in sorted(files)]


def describe_results_privacy(results: Mapping[str, ReleasedResult]) -> str:
    """Return the privacy of several results in plain words: each guarantee, its meaning, and a bound of the total
    loss.

    Args:
        results: Results by name of their files.
    """
    parts = [translate("Privacy of these results")]
    if any(result.privacy.seeded for result in results.values()):
        parts.append(translate(f"{display.SEEDED_STATEMENT}: anybody can reproduce the noise of at least one result."))
    for name, result in results.items():
        with keep_names(result._user_words()):
            parts.append(f"{name}: {result._translate_title()}\n{describe_privacy(result.privacy)}")
    if len(results) > 1:
        parts.append(translate(_describe_total_loss(list(results.values()))))
    return "\n\n".join(parts)


def describe_privacy(privacy: PrivacyStatement) -> str:
    """Return a privacy statement in plain words, one sentence per line, in the reader's language.

    Args:
        privacy: The privacy statement.
    """
    if privacy.trust == OPEN_TRUST_MODEL:
        return translate("Exact counts of public records: there was nothing to protect.")
    if privacy.trust.startswith(EXTERNAL_TRUST_PREFIX):
        return translate(f"The counts were released by {privacy.trust}; see there for the guarantee.")
    change = next((words for word, words in ADJACENCY_CHANGES.items() if privacy.adjacency.startswith(word)), "changed")
    protected_records = f"all records of one {privacy.unit} are" if privacy.unit else "one record is"
    lines = [
        f"Privacy unit: {privacy.protected_unit}. Neighbours: {privacy.adjacency}. "
        f"Trust: {display.describe_trust(privacy)}.",
        _describe_loss(privacy, f"if {protected_records} {change}"),
        "This holds whatever else a reader of the results knows, now or later.",
    ]
    if privacy.unit:
        verb = "was" if privacy.rows_per_unit == 1 else "were"
        lines.append(f"At most {format_record_count(privacy.rows_per_unit)} of one {privacy.unit} {verb} used.")
    if privacy.model:
        lines.append(f"Model: {privacy.model}.")
    if privacy.seeded:
        lines = [
            f"{display.SEEDED_STATEMENT}. The noise can be reproduced, so the guarantee below does not hold.",
            *lines,
        ]
    lines += [f"Note: {note}." for note in select_reader_notes(privacy.notes)]
    return "\n".join(map(translate, lines))


def _describe_loss(privacy: PrivacyStatement, changed: str) -> str:
    """Return a sentence on the loss.

    Args:
        privacy: The privacy statement.
        changed: A clause that says how neighbouring tables differ.
    """
    if privacy.epsilon is None:
        return (
            f"The loss is rho {format_loss(privacy.rho)} (zero-concentrated): {changed}, the Renyi divergence of "
            f"order a of what is released is at most a times {format_loss(privacy.rho)}, for each a above 1."
        )
    exception = f", except with probability at most {format_loss(privacy.delta)}" if privacy.delta else ""
    factor = format_loss(exp(privacy.epsilon), 3) if privacy.epsilon < 700 else "e to that power"
    return (
        f"The loss is epsilon {format_loss(privacy.epsilon)}: {changed}, no outcome becomes more than {factor} times "
        f"as likely, or as unlikely{exception}."
    )


def _describe_total_loss(results: Sequence[ReleasedResult]) -> str:
    """Return a sentence with an upper bound of the total loss by basic composition, counting each release once.

    Args:
        results: Results of a publication, of protected or of public records.

    Returns:
        The sentence. Without protected records, or for losses that cannot be added, it says so.
    """
    losses = select_protected(results)
    if not losses:
        return "All results are exact counts of public records."
    total = add_losses(losses)
    if total is None:
        return "Their losses are not added up here: loss definitions or neighbours differ."
    return (
        f"Together they lose at most {total} (basic composition; results of the same releases are counted once). Other "
        "releases of the same records add to it; see the ledger of their holder."
    )


def methods_paragraph(statements: Mapping[str, PrivacyStatement], level: float) -> str:
    """Return a paragraph of at most 60 words on privacy, to be cited in a methods section, in the reader's language.

    Args:
        statements: Privacy statement of each result, by file name.
        level: Confidence level of the intervals.
    """
    protected = [privacy for privacy in statements.values() if privacy.trust != OPEN_TRUST_MODEL]
    if not protected:
        return translate(f"Results are exact counts of public records, made with dpcurves {version('dpcurves')}.")
    definitions = list(dict.fromkeys(map(_name_definition, protected)))
    losses = list(dict.fromkeys(privacy.loss for privacy in protected))
    neighbours = list(dict.fromkeys(privacy.adjacency for privacy in protected))
    units = list(dict.fromkeys(privacy.protected_unit for privacy in protected))
    loss = losses[0] if len(losses) == 1 else _describe_range(protected)
    each = " each" if len(losses) == 1 and len(protected) > 1 else ""
    unit = units[0] if len(units) == 1 and len(units[0].split()) <= 8 else "the units listed in PRIVACY.txt"
    seeded = f" {display.SEEDED_STATEMENT}." if any(privacy.seeded for privacy in statements.values()) else ""
    guarantee = f"{loss}{each}; {' and '.join(neighbours[:2])} neighbours; protecting {unit}"
    sentences = (
        f"Results were released with dpcurves {version('dpcurves')} under {' and '.join(definitions[:2])} "
        f"({guarantee}).",
        f"Bands and intervals at the {100 * level:g}% level cover the noise, and those for the population sampling too."
        f"{seeded}",
    )
    return " ".join(map(translate, sentences))


def _describe_range(statements: Sequence[PrivacyStatement]) -> str:
    """Return the smallest and the largest epsilon of pure losses; for other losses, where to find them.

    Args:
        statements: Privacy statements of the results, at least one.
    """
    epsilons = [privacy.epsilon for privacy in statements if privacy.epsilon is not None and not privacy.delta]
    if len(epsilons) < len(statements):
        return "losses as listed in PRIVACY.txt"
    return f"epsilon {format_loss(min(epsilons))} to {format_loss(max(epsilons))} each"


def _name_definition(privacy: PrivacyStatement) -> str:
    """Return the name of the definition of privacy that a statement meets.

    Args:
        privacy: The privacy statement.
    """
    kind = "zero-concentrated differential privacy" if privacy.epsilon is None else "differential privacy"
    return f"approximate {kind}" if privacy.delta else f"pure {kind}" if privacy.epsilon is not None else kind


def _parse_date(text: str | None) -> str:
    """Return a date of the calendar in ISO 8601; None stands for today, in UTC.

    Args:
        text: Date as the user passed it; None: today.

    Raises:
        ValueError: the text is no such date.
    """
    if text is None:
        return datetime.now(UTC).date().isoformat()
    try:
        return date_type.fromisoformat(text).isoformat()
    except (TypeError, ValueError):
        raise InvalidArgument("date", "write the date as year-month-day, as in 2026-11-29") from None


def _describe_files(name: str, size: str) -> list[tuple[str, str]]:
    """Return the rows of a result on the page, each a text and a file name or an empty text: its size, then its
    files.

    Args:
        name: Name of the files of the result, without ending.
        size: Size of the result in words; empty: not known.
    """
    files = [(f"{name}{ending}", f"{name}{ending}") for ending in (".csv", ".json", *PICTURE_SUFFIXES)]
    return [*([(size, "")] if size else []), *files]


def _describe_size(result: ReleasedResult) -> str:
    """Return the size of a result in words: its public number of units, or its released number of records.

    The text is empty if neither is known.

    Args:
        result: The released result.
    """
    privacy = result.privacy
    if privacy.units is not None:
        return f"{privacy.units:,} {f'units ({privacy.unit})' if privacy.unit else 'records'}, public"
    count = getattr(result, "count", None) if hasattr(result, "quantile") else None
    at_risk = getattr(result, "at_risk", None)
    number = count if isinstance(count, float) else None if at_risk is None else float(at_risk[0])
    is_weighted = getattr(result, "IS_WEIGHTED", False) or getattr(result, "WEIGHTED", False)
    if number is None or not isfinite(number) or is_weighted:
        return ""
    return f"about {number:,.0f} records, by the released count"


def _citation() -> str:
    """Return the text of ``CITATION.cff`` for this version of the software."""
    return (
        "cff-version: 1.2.0\nmessage: If you use these results, please cite the software that released them.\n"
        "type: software\ntitle: dpcurves\nauthors:\n  - name: The dpcurves maintainers\n"
        f"version: {version('dpcurves')}\nlicense: Apache-2.0\n"
    )


def plot_results_together(results: Mapping[str, ReleasedResult], level: float, population: bool) -> Any:
    """Draw several results of one kind on common axes, by name.

    Args:
        results: Results of one kind, by name in the legend.
        level: The confidence level of bands and intervals.
        population: Whether intervals for the population are drawn.

    Raises:
        ValueError: the results are of different kinds.
    """
    first = next(iter(results.values()))
    if len({type(result) for result in results.values()}) > 1:
        raise InvalidArgument("results", "results on common axes must be of one kind; plot each kind by itself")
    axes = display.headless_axes(first.SIZE)
    for name, result in results.items():
        axes = result.plot_headless(level=level, population=population, ax=axes, name=name)
    return axes


def stack_columns(
    results: Mapping[str, ReleasedResult], level: float, population: bool, suppress: float | None = None
) -> dict[str, Any]:
    """Concatenate the columns of several results, with their names in the first column.

    Args:
        results: Results with the same columns, by name.
        level: The confidence level of bands and intervals.
        population: Whether ends for the population are included.
        suppress: Largest width of an interval as a fraction of its number; wider ones are written as ``..``. None: all
            are written.

    Returns:
        Columns by name; ``result`` is the first.

    Raises:
        ValueError: the results have different columns.
    """
    settings: dict[str, Any] = {"level": level, "population": population, "suppress": suppress}
    tables = {name: result.columns_with_intervals(**settings) for name, result in results.items()}
    if len({tuple(table) for table in tables.values()}) > 1:
        raise InvalidArgument(
            "results", "results in a table must have the same columns; write each kind to its own table"
        )
    rows = [max(map(len, table.values()), default=0) for table in tables.values()]
    columns = {
        name: np.concatenate([np.asarray(table[name], dtype=object) for table in tables.values()])
        for name in next(iter(tables.values()))
    }
    return {"result": np.repeat(list(tables), rows), **columns}
