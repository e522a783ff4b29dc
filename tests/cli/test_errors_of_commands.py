"""Every mistake ends in one line that names the argument and the rule, in an exit status, and in an unspent budget."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from click.testing import Result

Run = Callable[..., Result]

DELAY = ("--column", "delay", "--grid", "-100:300:64")
ONE = ("--epsilon", "1", "--adjacency", "replace-one")
SIZES = ("--column", "delay", "--coverage", "0.9")
SCORES = ("--label", "late", "--neg-label", "0", "--score", "score")
PLANE = ("--predicted", "score", "--residual", "delay", "--coverage", "0.9", "--model", "public")
UNITS = ("--unit-predicted", "1", "--unit-residual", "1")

LONG = "a" * 100_000
USAGE = [
    ((*DELAY, "--adjacency", "replace-one"), "epsilon: give --epsilon (pure) or --rho (zCDP); there is no default"),
    ((*DELAY, *ONE, "--rho", "1"), "epsilon, rho: give --epsilon (pure) or --rho (zCDP), not both"),
    ((*DELAY, "--epsilon", "0"), "epsilon: a finite number above zero is needed, as in 0.5, got 0"),
    ((*DELAY, "--epsilon", "-1"), "epsilon: a finite number above zero is needed, as in 0.5, got -1"),
    ((*DELAY, "--epsilon", "nan"), "epsilon: a finite number above zero is needed, as in 0.5, got nan"),
    ((*DELAY, "--epsilon", "inf"), "epsilon: a finite number above zero is needed, as in 0.5, got inf"),
    ((*DELAY, "--epsilon", "1e999"), "epsilon: a finite number above zero is needed, as in 0.5, got 1e999"),
    ((*DELAY, "--epsilon", "1e300"), "epsilon: a number from 1e-9 to 1e9 is needed, as in 0.5, got 1e300"),
    ((*DELAY, "--epsilon", "1e-300"), "epsilon: a number from 1e-9 to 1e9 is needed, as in 0.5, got 1e-300"),
    ((*DELAY, "--rho", "1e-300"), "rho: a number from 1e-9 to 1e9 is needed, as in 0.5, got 1e-300"),
    ((*DELAY, "--epsilon", "1/0"), "epsilon: a finite number above zero is needed, as in 0.5, got 1/0"),
    ((*DELAY, "--epsilon", "much"), "epsilon: a number above zero is needed, as in 0.5, got 'much'"),
    ((*DELAY, "--rho", "-inf"), "rho: a finite number above zero is needed, as in 0.5, got -inf"),
    (("--column", "delay", "--grid", "300:-100:64", *ONE), "grid: write the lower bound first, '-100:300:64', not"),
    (("--column", "delay", "--grid", "0:0:64", *ONE), "grid: write a lower bound below the upper, as in 0:100:1024"),
    (("--column", "delay", "--grid", "geometric:8:1:64", *ONE), "grid: write the lower bound first, 'geometric:1:8:"),
    (("--column", "delay", "--grid", "9:0:width=3", *ONE), "grid: write the lower bound first, '0:9:width=3', not"),
    (("--column", "delay", "--grid", "0:inf:64", *ONE), "grid: write finite bounds, as in 0:100:1024"),
    (("--column", "delay", "--grid", "0:nan:64", *ONE), "grid: write finite bounds, as in"),
    (("--column", "delay", "--grid", "0:1:0", *ONE), "grid: write at least 1 cell, as in 0:100:64, not '0:1:0'"),
    (("--column", "delay", "--grid", "0:100", *ONE), "grid: write lower:upper:cells, as in 0:100:1024, or"),
    (("--column", "delay", "--grid", "0:120:width=7", *ONE), "width: cells of 7 from 0 do not end at 120, but at"),
    (("--column", "delay", "--grid", "0:120:width=", *ONE), "grid: write lower:upper:cells, as in 0:100:1024, or"),
    (("--column", "delay", "--grid", "geometric:1:8:width=2", *ONE), "grid: write lower:upper:cells, as in 0:100:1024"),
    (("--column", "delay", "--grid", "0:1:99999999999", *ONE), "grid: at most 4194304 cells are counted one by one"),
    (("--column", "delay", "--edges", "3,2,1", *ONE), "edges: at least two edges are needed, each above the one"),
    ((*DELAY, "--edges", "1,2", *ONE), "edges: give --grid or --edges, not both"),
    ((*DELAY, "--values", "1,2", *ONE), "values: give --grid or --values, not both"),
    (("--column", "delay", "--values", "0:1:0.3", *ONE), "values: steps of 0.3 from 0 do not end at 1"),
    ((*DELAY, "--outside", "away", *ONE), "outside: must be clipped or apart, got 'away'"),
    (("--grid", "0:1:4", *ONE), "column: --column is missing"),
    ((*DELAY, "--adjacency", "neighbours", "--epsilon", "1"), "adjacency: must be add-remove or replace-one"),
    ((*DELAY, *ONE, "--unit", "tail"), "unit: the account of 'flights' was opened with each record, not with 'tail'"),
    ((*DELAY, *ONE, "--unit", "tail", "--rows-per-unit", "0"), "rows-per-unit: a whole number of at least 1 is"),
    ((*DELAY, *ONE, "--rows-per-unit", "7"), "rows-per-unit: the account of 'flights' was opened with 1, not with 7"),
    ((*DELAY, "--epsilon", "1", "--adjacency", "add-remove"),
     "adjacency: the account of 'flights' was opened with replace-one, not with add-remove"),
    ((*DELAY, *ONE, "--units", "3"), "units: the table does not have the public number 3 of units"),
    ((*DELAY, *ONE, "--units", "some"), "units: a whole number of at least 1 is needed"),
    ((*DELAY, *ONE, "--dataset", "trains"), "dataset: this ledger has no account 'trains'; make one with: dpcurves"),
    ((*DELAY, *ONE, "--by", "carrier"), "categories: declare them with --categories"),
    ((*DELAY, *ONE, "--by", "carrier=UA,,"), "by: labels with commas"),
    ((*DELAY, *ONE, "--by", "carrier", "--by", "late", "--categories", "UA"), "categories: --categories is"),
    ((*DELAY, *ONE, "--by", "carrier=UA", "--by", "carrier=AA"), "by: a column is named twice"),
    ((*DELAY, *ONE, "--delta", "1e-6"), "delta: this question needs no delta; leave --delta out"),
    ((*DELAY, *ONE, "--categories", "UA"), "by: name the column of the categories, as in --by NAME"),
    ((*DELAY, *ONE, "--by", "carrier", "--categories", "UA,UA"), "categories: a category is declared twice"),
    ((*DELAY, *ONE, "--by", "carrier", "--categories", "UA,,"), "categories: labels with commas between them"),
    ((*DELAY, *ONE, "--level", "95"), "level: a number between 0 and 1 is needed, as in 0.95, got '95'"),
    ((*DELAY, *ONE, "--level", "0.9999"), "level: must be at most 0.998, because noise is simulated 1000 times"),
    ((*DELAY, *ONE, "--plot", "a.jpg"), "plot: a file that ends in .svg, .png, .pdf, .json is needed, got 'a.jpg'"),
    ((*DELAY, *ONE, "--plot", "none/a.svg"), "plot: the folder of 'none/a.svg' is not there"),
    ((*DELAY, *ONE, "--plot", f"{LONG}.svg"), "plot: a file of this name cannot be written (File name too long)"),
    ((*DELAY, *ONE, "--json", "none/a.json"), "json: the folder of 'none/a.json' is not there"),
    ((*DELAY, *ONE, "--request-id", "a\tb"), "request-id: a name of 1 to 200 printable characters is needed"),
    ((*DELAY, *ONE, "--colum", "delay"), "--colum: there is no such option; did you mean --column?"),
    ((*DELAY, *ONE, "more"), "argument: nothing is expected here, got more"),
    ((*DELAY, "--epsilon"), "--epsilon: a value is needed"),
    ((*DELAY, *ONE, "--column", "score"), "column: --column is given twice; leave one of them out"),
    ((*DELAY, *ONE, "--epsilon=2"), "epsilon: --epsilon is given twice; leave one of them out"),
]  # fmt: skip

DATA = [
    ("csv", ("--column", "dealy", "--grid", "0:1:4", *ONE), "column: 'dealy' is not in the data, which has 'delay', "),
    ("parquet", ("--column", "dealy", "--grid", "0:1:4", *ONE), "column: 'dealy' is not in the data"),
    ("parquet", ("--column", "words", "--grid", "0:1:4", *ONE), "column: 'words' holds text, a number is needed"),
    ("csv", (*DELAY, *ONE, "--by", "nothing", "--categories", "UA"), "by: 'nothing' is not in the data"),
]
OTHER_COLUMNS = [
    ("roc", ("--label", "nothing", "--score", "score"), "label: 'nothing' is not in the data"),
    ("calibration", ("--label", "late", "--score", "nothing"), "score: 'nothing' is not in the data"),
    ("binned-residuals", ("--label", "late", "--score", "words", "--model", "public"), "score: 'words' holds text"),
    (
        "survival",
        ("--time", "no", "--event", "late", "--censored-value", "0", "--grid", "auto"),
        "time: 'no' is not in",
    ),
    (
        "survival",
        ("--time", "delay", "--event", "no", "--censored-value", "0", "--grid", "auto"),
        "event: 'no' is not in",
    ),
    ("residuals", ("--residual", "no", *PLANE[:2], *PLANE[4:], *UNITS), "residual: 'no' is not in the data"),
    ("residuals", ("--predicted", "no", *PLANE[2:], *UNITS), "predicted: 'no' is not in the data"),
    ("bounds", (*SIZES, "--smallest", "1", "--and-column", "no", "--and-smallest", "1"), "and-column: 'no' is not in"),
]
SEPARATED = (
    "column: 'delay' is not in the data, which has 'delay;carrier;tail;late;score;words'; "
    "give ';' as delimiter (--delimiter), "
)


def refused(result: Result, status: int, line: str) -> None:
    assert (result.exit_code, result.stdout) == (status, "")
    assert result.stderr.startswith(f"dpcurves: {line}")
    assert result.stderr.count("\n") == 1


@pytest.fixture
def spent(run: Run, ledger: str) -> Callable[[], str]:
    """Return the statement of the ledger."""
    return lambda: run("ledger", "head", ledger).stdout + run("ledger", "show", ledger).stdout


@pytest.mark.parametrize(("options", "line"), USAGE, ids=lambda value: value[:40] if isinstance(value, str) else "")
def test_wrong_usage_is_named_and_costs_nothing(
    *, run: Run, parquet: Path, ledger: str, spent: Callable[[], str], options: tuple[str, ...], line: str
) -> None:
    before = spent()
    refused(run("cdf", parquet, "--ledger", ledger, *options), 2, line)
    assert spent() == before


@pytest.mark.parametrize("ending", ["", ".key", "-wal", "-shm", "-journal"])
def test_no_file_of_the_ledger_is_written_over(
    *, run: Run, parquet: Path, ledger: str, spent: Callable[[], str], ending: str
) -> None:
    before = spent()
    file = ledger.removeprefix("sqlite:///") + ending
    refused(run("cdf", parquet, *DELAY, *ONE, "--ledger", ledger, "--json", file), 2, f"json: {file!r} is a file of")
    assert spent() == before


@pytest.mark.parametrize(
    ("command", "options"),
    [
        ("cdf", DELAY), ("quantiles", DELAY), ("histogram", DELAY), ("cdf", (*DELAY, "--cut-points", "0")),
        ("roc", SCORES), ("calibration", SCORES),
        ("hosmer-lemeshow", SCORES), ("binned-residuals", (*SCORES, "--model", "public")),
        ("summary", ("--column", "delay", "--bounds", "0:60")),
        ("bounds", ("--column", "delay", "--smallest", "1", "--coverage", "0.9")),
        ("residuals", ("--predicted", "score", "--residual", "delay", "--unit-predicted", "1", "--unit-residual", "1",
                       "--coverage", "0.9", "--model", "public")),
    ],
)  # fmt: skip
def test_no_command_writes_over_its_data(run: Run, parquet: Path, command: str, options: tuple[str, ...]) -> None:
    before = parquet.read_bytes()
    refused(run(command, parquet, *options, *ONE, "--json", parquet), 2, f"json: {str(parquet)!r} is DATA itself")
    assert parquet.read_bytes() == before


@pytest.mark.parametrize(("source", "options", "line"), DATA)
def test_a_wrong_or_a_text_column_is_named_and_costs_nothing(
    *, run: Run, source: str, request: pytest.FixtureRequest, ledger: str, spent: Callable[[], str],
    options: tuple[str, ...], line: str,
) -> None:  # fmt: skip
    before = spent()
    refused(run("cdf", request.getfixturevalue(source), *options, "--ledger", ledger), 4, line)
    assert spent() == before


@pytest.mark.parametrize(("command", "options", "line"), OTHER_COLUMNS)
def test_a_column_is_called_by_the_option_that_named_it(
    run: Run, parquet: Path, command: str, options: tuple[str, ...], line: str
) -> None:
    refused(run(command, parquet, *options, *ONE), 4, line)


def test_a_table_that_is_not_taken_apart_asks_for_its_delimiter(run: Run, semicolons: Path) -> None:
    refused(run("cdf", semicolons, *DELAY, *ONE), 4, f"{SEPARATED}if that separates its fields")
    assert run("cdf", semicolons, *DELAY, *ONE, "--delimiter", ";").exit_code == 0


def test_a_loss_that_no_noise_is_large_enough_for_is_called_as_it_was_typed(run: Run, parquet: Path) -> None:
    tiny = ("calibration", parquet, *SCORES, "--adjacency", "replace-one")
    refused(run(*tiny, "--epsilon", "1e-6"), 2, "epsilon: epsilon ")
    refused(run("plan", "cdf", *DELAY[2:], "--rho", "1e300", "--adjacency", "add-remove"), 2, "rho: a number from 1e-9")


@pytest.mark.quick_share(9)
@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--label", "nothing", "--score", "score"), "nothing"),
        (("--label", "late", "--score", "nothing"), "nothing"),
        (("--label", "late", "--score", "words"), "words"),
    ],
)
@pytest.mark.parametrize("kind", ["roc", "calibration", "hosmer-lemeshow"])
def test_a_wrong_column_of_labels_or_scores_is_named(
    *, run: Run, kind: str, parquet: Path, ledger: str, spent: Callable[[], str], options: tuple[str, ...], word: str
) -> None:
    before = spent()
    result = run(kind, parquet, *options, *ONE, "--ledger", ledger)
    refused(result, 4, "")
    assert word in result.stderr
    assert spent() == before


@pytest.mark.parametrize(
    ("kind", "options", "line"),
    [
        (
            "mean",
            ("--column", "delay", "--bounds", "9:0"),
            "bounds: two numbers are needed, the lower one first",
        ),
        (
            "mean",
            ("--column", "delay", "--bounds", "a:b"),
            "bounds: write lower:upper, as in 0:100, or auto; got 'a:b'",
        ),
        (
            "roc",
            ("--label", "late", "--score", "score", "--pos-label", "yes"),
            "neg-label: say which label is negative",
        ),
        ("roc", (*SCORES, "--pos-label", "0"), "pos-label: the positive and the negative label"),
        ("roc", ("--label", "late"), "score: --score is missing"),
        ("calibration", (*SCORES, "--groups", "1"), "groups: a whole number of at least 2 is needed, as in 5, got '1'"),
        ("hosmer-lemeshow", (*SCORES, "--grid", "0:2:64"), "grid: predicted probabilities lie in [0, 1]"),
        ("quantiles", (*DELAY, "--probabilities", "0.5,1.5"), "probabilities: numbers from 0 to 1 are needed"),
        (
            "bounds",
            (*SIZES, "--smallest", "1e300"),
            "smallest: 64 doublings of the unit must stay finite, got 1e+300",
        ),
        (
            "bounds",
            (*SIZES, "--smallest", "1", "--and-column", "delay", "--and-smallest", "1"),
            "and-column: the same as --column; name another column",
        ),
        (
            "bounds",
            (*SIZES, "--smallest", "1", "--and-column", "score", "--and-smallest", "1e300"),
            "and-smallest: 64 doublings of the unit",
        ),
        (
            "quantiles",
            (*DELAY, "--probabilities", "half"),
            "probabilities: numbers with commas between them are needed",
        ),
        ("residuals", (*PLANE[:3], "score", *PLANE[4:], *UNITS), "residual: the same as --predicted; name the column"),
        ("quantiles", (*DELAY, "--probabilities", "0.5", "--level", "0.999"), "level: must be at most 0.998"),
        ("roc", ("--label", "late", "--score", "score", "--level", "0.999"), "level: must be at most 0.998"),
        (
            "residuals",
            (*PLANE, "--unit-predicted", "1e300", "--unit-residual", "1"),
            "unit-predicted: 64 doublings of the unit",
        ),
        (
            "residuals",
            (*PLANE, "--unit-predicted", "1", "--unit-residual", "1e300"),
            "unit-residual: 64 doublings of the unit",
        ),
    ],
)
def test_wrong_usage_of_other_commands_is_named(
    run: Run, parquet: Path, kind: str, options: tuple[str, ...], line: str
) -> None:
    refused(run(kind, parquet, *options, *ONE), 2, line)


@pytest.mark.parametrize("name", ["missing.csv", "missing.parquet", "folder.csv", "words.parquet", "empty.parquet"])
def test_an_unusable_file_is_named_and_costs_nothing(
    run: Run, tmp_path: Path, ledger: str, spent: Callable[[], str], name: str
) -> None:
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "words.parquet").write_text("zebrafinch,97531.25\n" * 50)
    (tmp_path / "empty.parquet").touch()
    before = spent()
    refused(run("cdf", tmp_path / name, *DELAY, *ONE, "--ledger", ledger), 4, "data: ")
    assert spent() == before


def test_a_table_without_records_is_refused_where_the_number_of_units_is_public(run: Run, tmp_path: Path) -> None:
    file = tmp_path / "empty.csv"
    file.write_text("delay\n")
    refused(run("cdf", file, *DELAY, *ONE), 4, "data: ")
    assert run("cdf", file, *DELAY, "--epsilon", "1", "--adjacency", "add-remove").exit_code == 0


@pytest.mark.parametrize(
    ("command", "options", "adjacency"),
    [
        ("cdf", ("--column", "words", "--grid", "0:1:4"), "replace-one"),
        ("quantiles", ("--column", "words", "--grid", "0:1:4096"), "add-remove"),
        ("histogram", ("--column", "words", "--grid", "0:1:4"), "replace-one"),
        ("cdf", ("--column", "words", "--grid", "0:1:64", "--cut-points", "0.5"), "add-remove"),
        ("calibration", ("--label", "carrier", "--neg-label", "0", "--score", "score"), "replace-one"),
        ("roc", ("--label", "late", "--neg-label", "0", "--score", "words"), "add-remove"),
    ],
)  # fmt: skip
def test_where_nearly_all_records_are_missing_a_line_says_so(
    run: Run, csv: Path, command: str, options: tuple[str, ...], adjacency: str
) -> None:
    result = run(command, csv, *options, "--epsilon", "1", "--adjacency", adjacency)
    assert result.exit_code == 0
    assert "dpcurves: nearly all records are missing (about " in result.stderr


def test_where_records_have_values_nothing_is_said_of_missing_ones(run: Run, csv: Path) -> None:
    for command, options in (("cdf", DELAY), ("roc", SCORES), ("bounds", (*SIZES, "--smallest", "1"))):
        assert "missing" not in run(command, csv, *options, *ONE).stderr


def test_without_a_ledger_the_adjacency_must_be_said(run: Run, parquet: Path) -> None:
    refused(run("cdf", parquet, *DELAY, "--epsilon", "1"), 2, "adjacency: give --adjacency replace-one")


@pytest.mark.parametrize("option", ["dataset", "request-id"])
def test_what_means_something_in_a_ledger_only_is_refused_without_one(run: Run, parquet: Path, option: str) -> None:
    refused(
        run("cdf", parquet, *DELAY, *ONE, f"--{option}", "a"), 2, f"{option}: only questions that a ledger pays for"
    )


def test_a_number_of_rows_needs_the_column_of_units(run: Run, parquet: Path) -> None:
    refused(run("cdf", parquet, *DELAY, *ONE, "--rows-per-unit", "2"), 2, "unit: name the column of unit identifiers")


@pytest.mark.parametrize(
    ("typed", "line"),
    [
        (("cfd",), "cfd: there is no such command; did you mean 'cdf'?"),
        (("ledger", "sow"), "sow: there is no such command; did you mean 'show'?"),
        (("plan", "ecdf"), "ecdf: there is no such command; did you mean 'cdf'?"),
        (("cdf",), "data, column, epsilon, adjacency: DATA, --column, --epsilon or --rho and --adjacency are missing"),
        (("ledger", "show"), "url: URL is missing"),
        (("--quiet",), "--quiet: there is no such option"),
    ],
)
def test_a_command_that_is_not_there_is_named(run: Run, typed: tuple[str, ...], line: str) -> None:
    refused(run(*typed), 2, line)


def test_a_stopped_command_is_quiet(run: Run, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stop(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("dpcurves.session.Session.ask", stop)
    result = run("cdf", parquet, *DELAY, *ONE)
    assert (result.exit_code, result.output) == (130, "")


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Restore the default of Ctrl-C, which a shell ignores for background jobs."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("interruptible")
def test_an_engine_that_turns_an_interruption_into_a_failure_is_seen_through(
    run: Run, parquet: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> None:
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        raise ValueError("data: the records could not be read")

    monkeypatch.setattr("dpcurves.session.Session.ask", fail)
    result = run("cdf", parquet, *DELAY, *ONE)
    assert (result.exit_code, result.output) == (130, "")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_error_that_should_not_be_shows_no_value(run: Run, parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ValueError("could not convert string to float: 'zebrafinch'")

    monkeypatch.setattr("dpcurves.session.Session.ask", fail)
    refused(run("cdf", parquet, *DELAY, *ONE), 1, "ValueError in ")


def test_the_process_itself_leaves_with_the_status(parquet: Path) -> None:
    from subprocess import run as run_process

    done = run_process(
        [sys.executable, "-m", "dpcurves.cli", "cdf", str(parquet), *DELAY, *ONE[2:]],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "dpcurves: epsilon: give --epsilon (pure) or --rho (zCDP); there is no default\n"


def test_all_that_is_missing_is_named_at_once_with_a_line_that_works(run: Run, csv: Path) -> None:
    said = run("histogram", csv).stderr
    assert said.startswith("dpcurves: column, grid, epsilon, adjacency: --column, --grid or --edges, ")
    line = said.partition("type a complete line such as: dpcurves ")[2].split()
    assert line[:2] == ["histogram", str(csv)]
    assert run(*("delay" if word == "NAME" else word for word in line)).exit_code == 0
    assert run("cdf", csv, "--column", "delay", "--ledger", "sqlite:///b.db").stderr.startswith("dpcurves: epsilon: ")
