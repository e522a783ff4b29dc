"""The footer tells all that a reader must know."""

from __future__ import annotations

from dataclasses import replace

from dpcurves.conversation import PrivacyStatement
from dpcurves.display import SEEDED_STATEMENT, footer

PRIVACY = PrivacyStatement(0.5, 0.125, "add-remove", "tailnum", 5, None, "one curator", "flat", False, "a")


def test_the_footer_states_loss_adjacency_unit_and_trust() -> None:
    assert (
        footer(PRIVACY)
        == "epsilon 0.5, add-remove; protects each tailnum (at most 5 records); trust: a trusted curator"
    )


def test_a_loss_without_epsilon_is_stated_in_rho() -> None:
    assert footer(replace(PRIVACY, epsilon=None)).startswith("rho 0.125, ")


def test_a_seeded_release_says_so() -> None:
    assert SEEDED_STATEMENT not in footer(PRIVACY)
    assert footer(replace(PRIVACY, seeded=True)).splitlines()[1] == SEEDED_STATEMENT


def test_what_is_said_of_the_model_follows() -> None:
    privacy = replace(PRIVACY, seeded=True, model="taken as public")
    assert footer(privacy).splitlines()[1] == f"{SEEDED_STATEMENT}. Model: taken as public"


def test_names_cannot_add_lines() -> None:
    privacy = replace(PRIVACY, unit="a\nb", trust="c\nd", model="e\nf")
    assert len(footer(privacy).splitlines()) == 2
