"""What was noted first stays."""

from __future__ import annotations

from dpcurves.noise import InProcessMemory, Memory


def test_the_first_note_stays() -> None:
    memory: Memory = InProcessMemory()
    assert memory.recall(["a", "b"]) == {}
    assert memory.keep({"a": 1}) == {"a": 1}
    assert memory.keep({"a": 2, "b": 3}) == {"a": 1, "b": 3}
    assert memory.recall(["b", "c"]) == {"b": 3}


def test_it_shows_nothing() -> None:
    memory = InProcessMemory()
    memory.keep({"a": 918273645})
    assert "918273645" not in repr(memory)
