from __future__ import annotations

import builtins
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType

import pytest

from dpcurves.cli.output import InputFile, Output
from dpcurves.cli.terminal import Misuse


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf", ".SVG"])
def test_pictures_have_one_of_three_endings(tmp_path: Path, ending: str) -> None:
    Output(plot=str(tmp_path / f"a{ending}")).require_writable()


def written(argument: str, file: Path) -> Output:
    return Output(json=str(file)) if argument == "json" else Output(plot=str(file))


@pytest.mark.parametrize("name", ["a.jpg", "a", ".svg", "a.svg.gz"])
def test_another_ending_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(Misuse, match=r"^plot: a file that ends in \.svg, \.png, \.pdf, \.json is needed"):
        Output(plot=str(tmp_path / name)).require_writable()


NAMES = {"json": "a.json", "plot": "a.svg"}


@pytest.mark.parametrize("argument", ["json", "plot"])
def test_a_folder_that_is_not_there_is_found_out_first(tmp_path: Path, argument: str) -> None:
    with pytest.raises(Misuse, match=f"^{argument}: the folder of .* is not there; make it first, or name another$"):
        written(argument, tmp_path / "none" / NAMES[argument]).require_writable()


@pytest.mark.parametrize("argument", ["json", "plot"])
def test_a_folder_is_no_file(tmp_path: Path, argument: str) -> None:
    (tmp_path / NAMES[argument]).mkdir()
    with pytest.raises(Misuse, match=f"^{argument}: .* is a folder; name a file in it$"):
        written(argument, tmp_path / NAMES[argument]).require_writable()


@pytest.mark.parametrize("name", ["a.csv", "a.xlsx", "a.html", "a.svg"])
def test_json_is_not_written_under_the_name_of_something_else(tmp_path: Path, name: str) -> None:
    with pytest.raises(Misuse, match=f"^json: '{name}' does not look like JSON; write .json, or use --"):
        written("json", tmp_path / name).require_writable()


def test_a_folder_that_takes_no_file_is_found_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    with pytest.raises(Misuse, match=r"^json: .* cannot be written \(Permission denied\);"):
        Output(json=str(tmp_path / "a.json")).require_writable()


def test_a_missing_matplotlib_is_found_out_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = builtins.__import__

    def without(
        name: str,
        globals: Mapping[str, object] | None = None,
        locals: Mapping[str, object] | None = None,
        fromlist: Sequence[str] = (),
        level: int = 0,
    ) -> ModuleType:
        if name == "matplotlib":
            raise ImportError(name)
        return original(name, globals, locals, fromlist, level)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(Misuse, match=r"^plot: matplotlib is needed for pictures: pip install 'dpcurves\[plot\]'$"):
        Output(plot=str(tmp_path / "a.svg")).require_writable()


def test_looking_for_a_place_leaves_nothing_behind(tmp_path: Path) -> None:
    Output(json=str(tmp_path / "a.json"), plot=str(tmp_path / "a.svg")).require_writable()
    assert list(tmp_path.iterdir()) == []


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text("old" * 100)
    Output(json=str(path)).write_json(lambda: "{}")
    assert path.read_text() == "{}\n"
    assert [file.name for file in tmp_path.iterdir()] == ["a.json"]


def test_a_device_is_written_as_it_is() -> None:
    output = Output(json=os.devnull)
    output.require_writable()
    output.write_json(lambda: "{}")
    assert not Path(os.devnull).is_file()


def test_a_dash_is_standard_output_and_people_read_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    output = Output(json="-")
    output.require_writable()
    output.write_json(lambda: "{}")
    output.make_console().print("words")
    assert capsys.readouterr() == ("{}\n", "words\n")


@pytest.mark.parametrize("level", ["0", "1", "95", "x"])
def test_a_level_that_is_no_chance_is_found_out_first(level: str) -> None:
    with pytest.raises(Misuse, match=r"^level: "):
        Output(level=level).require_writable()


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("argument", ["json", "plot"])
def test_nothing_is_written_over_what_is_read(*, tmp_path: Path, argument: str, there: bool) -> None:
    kept = tmp_path / "a.svg"
    if there:
        kept.write_text("kept")
    for name in (kept, tmp_path / "." / ".." / tmp_path.name / "a.svg", _linked(tmp_path)):
        with pytest.raises(
            Misuse, match=f"^{argument}: .* is DATA itself, which would be lost; write to another file$"
        ):
            written(argument, name).require_distinct_files(InputFile("DATA itself", kept))


def _linked(folder: Path) -> Path:
    link = folder / "link.svg"
    if not link.is_symlink():
        link.symlink_to(folder / "a.svg")
    return link


def test_two_outputs_are_two_files(tmp_path: Path) -> None:
    name = str(tmp_path / "a.svg")
    with pytest.raises(Misuse, match=r"^plot: .* is the file of --json, which would be lost"):
        Output(json=name, plot=name).require_distinct_files()
    Output(json="-", plot="-").require_distinct_files()
    Output(json=str(tmp_path / "a.json"), plot=name).require_distinct_files(
        InputFile("DATA itself", tmp_path / "a.csv")
    )


def test_a_curve_is_not_written_out_where_nobody_asked_for_it() -> None:
    def unwanted() -> str:
        raise AssertionError("nobody asked")

    Output().write_json(unwanted)


def test_a_pipe_that_nobody_reads_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    pipe = tmp_path / "curve.json"
    os.mkfifo(pipe)
    with pytest.raises(Misuse, match=r"^json: .* cannot be written"):
        Output(json=str(pipe)).require_writable()
