"""People in pairs: whatever somebody's values are, all others and the server see the same with the same answer."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from coupling import Gates
from protocols import Village, without_marks

pytest.importorskip("rbcl")
VALUES = list(product((0, 1), repeat=2))


def test_all_that_anybody_else_sees_of_a_person_follows_from_the_noisy_answers(tmp_path: Path) -> None:
    village = Village(tmp_path)
    changed = 0
    for old in list(product(VALUES, VALUES))[::5]:
        gates = Gates()
        first = village.run(old, gates)
        assert first["server"][0][-1][0] == "answer"
        for person, other in product((0, 1), VALUES):
            new = [other if each == person else old[each] for each in (0, 1)]
            programmed = gates.again()
            given = village.coupled(person, old, new, first["drawn"])
            second = village.run(new, programmed, given)
            assert second["server"] == first["server"]
            assert second["devices"][1 - person] == first["devices"][1 - person]
            assert without_marks(second["devices"][person]) == without_marks(first["devices"][person])
            changed += len(programmed.changed)
    assert changed
