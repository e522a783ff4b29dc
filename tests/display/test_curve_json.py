"""Curves go to JSON and come back the same; what is damaged is refused in one line."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import jsonschema
import numpy as np
import pytest

from dpcurves.conversation import MISSING_RULE, PrivacyStatement
from dpcurves.display import curve_json, curve_schema, encode_curve, encode_curves, parse_curve

PRIVACY = PrivacyStatement(
    0.1, 0.005, "replace-one", "tailnum", 5, 1000, "one curator", "tree", True, "request 1", "taken as public"
)
EVIDENCE: dict[str, object] = {"question": {"column": "delay"}, "releases": [{"chosen": [1, 2]}]}
GROUP = {"lower": 0.0, "upper": 0.5, "count": 10, "positives": 3.0, "expected": 2.5}
THIRDS = np.arange(1, 4) / 3
BODIES: dict[str, dict[str, Any]] = {
    "cdf": {"x": THIRDS, "y": THIRDS**2},
    "roc": {"fpr": THIRDS, "tpr": THIRDS, "thresholds": np.array([np.inf, 0.5, 0.1]), "auc": np.float64(1) / 3},
    "calibration": {"prob_pred": THIRDS, "prob_true": THIRDS, "count": np.array([3, 2, 1])},
    "hosmer-lemeshow": {"statistic": 3.5, "p_value": 0.25, "groups": [GROUP, GROUP]},
    "binned-residuals": {"prob_pred": THIRDS, "residual": -THIRDS, "count": THIRDS, "envelope": THIRDS},
    "residual-plot": {
        "x_edges": np.append(0, THIRDS),
        "y_edges": THIRDS,
        "density": np.ones((3, 2)) / 6,
        "points": np.ones((2, 2)),
        "outside": 0.25,
    },
    "quantiles": {"p": THIRDS, "x": -THIRDS},
    "histogram": {"x": np.append(0, THIRDS), "count": np.array([2**40, -1, 0])},
    "cdf-histogram": {"x": np.append(0, THIRDS), "share": THIRDS},
    "bounds": {"lower": -8.0, "upper": 8.0, "alpha": 12.5},
    "contingency": {"count": [[1.0, 2.0], [0.5, 4.0]], "statistic": 1.5, "p_value": 0.25},
    "survival": {"x": THIRDS, "y": THIRDS, "cumulative_hazard": THIRDS, "at_risk": THIRDS},
    "summary": {"count": 3.0, "sum": 1.0, "mean": 1 / 3, "variance": 0.5},
}
NESTED = {"curves": {name: {"kind": "cdf", **BODIES["cdf"]} for name in ("AA", "UA")}}


@pytest.mark.quick_share(3)
@pytest.mark.parametrize("kind", BODIES)
def test_every_kind_comes_back_the_same_and_fits_the_schema(kind: str) -> None:
    text = encode_curve(kind, BODIES[kind], PRIVACY, EVIDENCE)
    jsonschema.validate(json.loads(text), dict(curve_schema()), cls=jsonschema.Draft202012Validator)
    curve = parse_curve(text, kind)
    assert (curve.kind, curve.privacy, curve.evidence) == (kind, PRIVACY, EVIDENCE)
    assert curve.arrays.keys() == BODIES[kind].keys()
    for name, array in BODIES[kind].items():
        expected = np.where(np.isfinite(array), array, np.nan) if isinstance(array, np.ndarray) else array
        np.testing.assert_array_equal(curve.arrays[name], expected)


def test_curves_by_category_come_back_as_objects() -> None:
    text = encode_curve("curves", NESTED, PRIVACY, EVIDENCE)
    jsonschema.validate(json.loads(text), dict(curve_schema()), cls=jsonschema.Draft202012Validator)
    curves = parse_curve(text, "curves").arrays["curves"]
    assert curves["AA"] == {"kind": "cdf", "x": THIRDS.tolist(), "y": (THIRDS**2).tolist()}


def test_whole_curves_may_stand_inside_curves() -> None:
    inner = json.loads(encode_curve("cdf", BODIES["cdf"], PRIVACY, EVIDENCE))
    text = encode_curve("curves", {"curves": {"AA": inner}}, PRIVACY, EVIDENCE)
    again = json.dumps(parse_curve(text, "curves").arrays["curves"]["AA"])
    np.testing.assert_array_equal(parse_curve(again, "cdf").arrays["x"], THIRDS)


def test_a_bundle_of_written_curves_is_a_curve_and_looks_at_none_of_them_again(monkeypatch: pytest.MonkeyPatch) -> None:
    texts = {name: encode_curve("cdf", BODIES["cdf"], PRIVACY, EVIDENCE) for name in ('a "b"', "é")}
    checked: list[Any] = []
    with monkeypatch.context() as patch:
        patch.setattr(curve_json, "check_document", checked.append)
        text = encode_curves(texts, PRIVACY, {"question": {"by": "ward"}, "releases": []})
    assert [document["curves"] for document in checked] == [{}]
    jsonschema.validate(json.loads(text), dict(curve_schema()), cls=jsonschema.Draft202012Validator)
    found = parse_curve(text, "curves")
    assert {name: json.dumps(curve) for name, curve in found.arrays["curves"].items()} == texts


@pytest.mark.parametrize(
    "privacy",
    [
        replace(PRIVACY, epsilon=None),
        replace(PRIVACY, unit="", rows_per_unit=1),
        replace(PRIVACY, adjacency="add-remove", units=None),
        replace(PRIVACY, seeded=False, model="", grant=""),
        replace(PRIVACY, version="0.9"),
    ],
)
def test_every_face_comes_back_the_same(privacy: PrivacyStatement) -> None:
    assert parse_curve(encode_curve("cdf", BODIES["cdf"], privacy, EVIDENCE), "cdf").privacy == privacy


def test_the_privacy_object_has_all_that_was_promised() -> None:
    privacy = json.loads(encode_curve("cdf", BODIES["cdf"], PRIVACY, EVIDENCE))["privacy"]
    assert privacy == {
        "epsilon": 0.1, "rho": 0.005, "adjacency": "replace-one", "unit": "tailnum", "rows_per_unit": 5, "units": 1000,
        "trust": "one curator", "mechanism": "tree", "seeded": True, "grant": "request 1",
        "missing_rule": MISSING_RULE, "model": "taken as public",
    }  # fmt: skip


def test_what_is_not_finite_is_null() -> None:
    text = encode_curve("cdf", {"x": [np.nan, np.inf, 1.0], "y": np.array([-np.inf, np.nan, 0.5])}, PRIVACY, EVIDENCE)
    assert json.loads(text)["x"] == [None, None, 1.0]
    assert json.loads(text)["y"] == [None, None, 0.5]
    np.testing.assert_array_equal(parse_curve(text, "cdf").arrays["y"], [np.nan, np.nan, 0.5])


def test_integers_stay_integers() -> None:
    assert (
        parse_curve(encode_curve("histogram", BODIES["histogram"], PRIVACY, EVIDENCE), "histogram")
        .arrays["count"]
        .dtype
        == int
    )


def test_what_has_no_form_in_json_is_refused() -> None:
    with pytest.raises(TypeError, match=r"^curve: complex cannot be written as JSON;"):
        encode_curve("cdf", {"x": [1j], "y": [0]}, PRIVACY, EVIDENCE)


@pytest.mark.parametrize(
    ("kind", "arrays"),
    [
        ("cdf", {"x": [1.0], "y": [0.5, 1.0]}),
        ("cdf", {"x": [1.0]}),
        ("histogram", {"x": [0.0, 1.0], "count": [1, 2]}),
        ("pie", {"x": [1.0]}),
        ("curves", {"curves": {"AA": {"kind": "cdf", "x": [1.0], "y": []}}}),
    ],
)
def test_what_would_not_fit_the_schema_is_not_written(kind: str, arrays: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^curve"):
        encode_curve(kind, arrays, PRIVACY, EVIDENCE)


def edited(**changes: Any) -> str:
    return json.dumps({**json.loads(encode_curve("cdf", BODIES["cdf"], PRIVACY, EVIDENCE)), **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[]", "must hold a JSON object"),
        ("null", "must hold a JSON object"),
        ('{"x": NaN}', "not JSON"),
        ("[" * 200_000, "not JSON"),
        ('{"x": ' + "9" * 5000 + "}", "not JSON"),
        ("{}", "'cdf' is needed"),
        (edited(kind=7), "'cdf' is needed"),
        (edited(kind="roc"), "'cdf' is needed, got 'roc'"),
        (edited(schema=2), "2 is newer than 1"),
        (edited(schema="1"), "1 is needed"),
        (edited(schema=True), "1 is needed"),
        (edited(x="0.5"), r"curve\.x: array is needed, got a string"),
        (edited(x=["0.5", 1, 2]), r"curve\.x\[0\]"),
        (edited(x=[0.5, True, 2]), r"curve\.x\[1\]"),
        (edited(x=[0.5]), "must be equally long"),
        (edited(privacy={}), r"curve\.privacy: 'epsilon' is missing"),
        (edited(evidence={"question": {}}), r"curve\.evidence: 'releases' is missing"),
        (edited().replace("0.005", "1e999"), "not JSON"),
    ],
    ids=range(20),
)
def test_every_kind_of_damage_is_refused_in_one_line(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refusal:
        parse_curve(text, "cdf")
    assert str(refusal.value).startswith("curve")
    assert len(str(refusal.value).splitlines()) == 1
    assert refusal.value.__cause__ is None


def test_a_text_cut_anywhere_is_refused() -> None:
    text = edited()
    for end in range(0, len(text), 7):
        with pytest.raises(ValueError, match=r"^curve: "):
            parse_curve(text[:end], "cdf")
