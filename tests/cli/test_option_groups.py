from __future__ import annotations

from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated

import pytest

from dpcurves.cli.options import Option, with_options


@dataclass(frozen=True)
class Inner:
    depth: Annotated[str, Option(help="How deep.")] = "1"


@dataclass(frozen=True)
class Outer:
    name: Annotated[str, Option(help="Which.")]
    inner: Inner


def command(outer: Outer, inner: Inner) -> None:
    """Run the command."""
    raise RuntimeError(outer, inner)


def single(outer: Outer) -> None:
    raise RuntimeError(outer)


def test_fields_become_keyword_parameters_in_their_order() -> None:
    parameters = signature(with_options(single)).parameters
    assert list(parameters) == ["name", "depth"]
    assert {parameter.kind for parameter in parameters.values()} == {Parameter.KEYWORD_ONLY}
    assert parameters["name"].default is Parameter.empty
    assert parameters["depth"].default == "1"


def test_a_command_keeps_its_help() -> None:
    assert with_options(single).__name__ == "single"


def test_values_are_put_back_into_their_groups() -> None:
    with pytest.raises(RuntimeError) as raised:
        with_options(single)(name="a", depth="2")
    assert raised.value.args == (Outer("a", Inner("2")),)


def test_two_groups_with_the_same_option_are_refused() -> None:
    with pytest.raises(ValueError, match="duplicate parameter name: 'depth'"):
        with_options(command)
