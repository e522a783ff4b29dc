from __future__ import annotations

from pathlib import Path

import pytest

from dpcurves.ledger.chain import Key, find_key, make_key, read_key

SECRET = bytes(range(32))


def test_a_key_is_not_shown() -> None:
    assert SECRET.hex() not in repr(Key(SECRET))


def test_a_short_key_is_refused() -> None:
    with pytest.raises(ValueError, match="key: at least 32 bytes are needed, as .*, got 5"):
        Key(b"short")


@pytest.mark.parametrize("other", [("a", "1"), ("a",), (1, "a"), ("a", 1, None), ("a", 1.5), ("a", b"1"), ("a1",)])
def test_other_facts_have_another_seal(other: tuple[str | int | float | bytes | None, ...]) -> None:
    key = Key(SECRET)
    assert key.is_valid_seal(key.seal("a", 1), "a", 1)
    assert not key.is_valid_seal(key.seal("a", 1), *other)


def test_bytes_are_not_the_text_that_describes_them() -> None:
    key = Key(SECRET)
    assert key.seal(b"\x01") not in (key.seal("01"), key.seal(repr(b"\x01")), key.seal('{"bytes":"01"}'))


@pytest.mark.parametrize("seal", [None, 7, b"00", "", "ä", "\ud800"])
def test_what_is_no_seal_fits_nothing(seal: object) -> None:
    assert not Key(SECRET).is_valid_seal(seal, "a")


def test_another_key_seals_otherwise() -> None:
    assert not Key(bytes(32)).is_valid_seal(Key(SECRET).seal("a"), "a")


def test_a_dataset_has_a_key_of_its_own() -> None:
    keys = {Key(secret).derive_dataset_key(dataset) for secret in (SECRET, bytes(32)) for dataset in ("a", "b")}
    assert len(keys) == 4
    assert all(len(key) == 32 for key in keys)
    assert Key(SECRET).derive_dataset_key("a") == Key(SECRET).derive_dataset_key("a")


def test_the_given_key_comes_before_the_environment_and_that_before_the_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", "11" * 32)
    place = Key(b"\x22" * 32)
    assert find_key(SECRET, lambda: place).identity == Key(SECRET).identity
    assert find_key(None, lambda: place).identity == Key(b"\x11" * 32).identity
    monkeypatch.delenv("DPCURVES_LEDGER_KEY")
    assert find_key(None, lambda: place) is place


@pytest.mark.parametrize("text", ["secret words", "abcd", "zz" * 32])
def test_an_unusable_environment_key_is_refused_without_showing_it(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("DPCURVES_LEDGER_KEY", text)
    with pytest.raises(ValueError, match="key: at least 64 hexadecimal digits are needed in DPCURVES") as caught:
        find_key(None, Key.generate)
    assert text not in str(caught.value)
    assert caught.value.__context__ is None


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "budget.db.key"
    assert make_key(path).identity == make_key(path).identity == read_key(path).identity
    assert path.stat().st_mode & 0o777 == 0o600
    assert len(bytes.fromhex(path.read_text())) == 32
    assert [file.name for file in tmp_path.iterdir()] == ["budget.db.key"]


def test_a_key_file_that_is_missing_or_damaged_is_named(tmp_path: Path) -> None:
    path = tmp_path / "budget.db.key"
    with pytest.raises(ValueError, match=r"key: '.*budget.db.key' cannot be read \(No such file"):
        read_key(path)
    path.write_bytes(b"\xff\xfe not a key")
    with pytest.raises(ValueError, match=r"key: at least 64 hexadecimal digits are needed in '.*budget.db.key'"):
        read_key(path)


def test_a_folder_that_takes_no_key_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"key: '.*' cannot be written \(No such file or directory\)"):
        make_key(tmp_path / "missing" / "budget.db.key")
