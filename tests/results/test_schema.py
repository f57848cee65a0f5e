"""One JSON form: what is written is what the schema says, short and full, and the schema in the docs is this one."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from kabc.core.words import in_short
from kabc.results.arrays import packed, unpacked
from kabc.results.schema import ArrayPart, Document, json_schema
from tests.results.examples import EXAMPLES, answer, example

ROOT = Path(__file__).parent.parent.parent
BULK = {"told_apart", "rounds", "evidence", "samples", "trace"}


def test_the_schema_in_the_docs_is_up_to_date() -> None:
    """If not: python -m kabc.results.schema > docs/schema/result-2.json."""
    assert json.loads((ROOT / "docs" / "schema" / "result-2.json").read_text(encoding="utf-8")) == json_schema()


# ---------------------------------------------------------------- a reader of JSON Schema, as far as ours goes

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def fits(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if "$ref" in schema:
        return fits(value, root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    if "anyOf" in schema:
        return any(fits(value, one, root) for one in schema["anyOf"])
    if "const" in schema or "enum" in schema:
        return value in schema.get("enum", [schema.get("const")])
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(isinstance(value, TYPES[k]) and (k == "boolean" or value is not True) for k in kinds):
        return False
    return _fits_within(value, schema, root)


def _fits_within(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if isinstance(value, dict):
        known, others = schema.get("properties", {}), schema.get("additionalProperties", {})
        others = {} if others is True else others
        return set(schema.get("required", [])) <= set(value) and all(
            fits(inner, known.get(key, others), root) for key, inner in value.items()
        )
    if isinstance(value, list):
        first = schema.get("prefixItems", [])
        rest = [schema.get("items", {})] * (len(value) - len(first))
        within = schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value))
        return within and all(fits(x, s, root) for x, s in zip(value, [*first, *rest], strict=True))
    if isinstance(value, int | float):
        return bool(schema.get("minimum", value) <= value <= schema.get("maximum", value))
    return True


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", EXAMPLES)
def test_real_results_fit_the_schema(name: str, full: bool) -> None:
    document = json.loads(json.dumps(example(name).to_dict(full=full), allow_nan=False))
    assert fits(document, json_schema(), json_schema())
    Document.model_validate(document)


@pytest.mark.parametrize(
    "change",
    [
        {"version": 1},
        {"status": "fine"},
        {"n_samples": -1},
        {"labels": {"a": "1"}},
        {"groups": [["a"]]},
        {"names": [[]]},
    ],
)
def test_what_is_wrong_does_not_fit(change: dict[str, Any]) -> None:
    assert not fits(answer("ab|c").to_dict() | change, json_schema(), json_schema())


# ---------------------------------------------------------------- short and full


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_short_form_is_the_full_one_without_the_bulk(name: str) -> None:
    short, full = example(name).to_dict(), example(name).to_dict(full=True)
    assert short == {key: value for key, value in full.items() if key not in BULK}
    assert set(full) == set(Document.model_fields) - {"certificate"}
    assert not BULK & set(short)


def test_the_dictionary_says_what_the_result_says() -> None:
    result = dataclasses.replace(example("undecided"), needs={1: 30, (2, 3): 31})
    facts = result.to_dict(full=True)
    assert facts["status"] == "budget"
    assert facts["certified"] is False
    assert facts["names"] == [1, {"tuple": [2, 3]}, None]
    assert facts["n_samples"] == sum(facts["samples_per_arm"].values()) == result.n_samples
    assert facts["needs"] == {"1": 30, "(2, 3)": 31}
    assert len(facts["told_apart"]) == facts["n_told_apart"] == result.evidence.n_told_apart > 0
    for pair in facts["told_apart"]:
        assert pair["round"] > 0
        assert pair["strength"] >= 1


@pytest.mark.parametrize("name", EXAMPLES)
def test_groups_count_from_one_in_texts_and_json(name: str) -> None:
    result = example(name)
    facts = result.to_dict()
    assert facts["labels"] == {
        text: label + 1 if label >= 0 else None for text, label in zip(result.text_names, result.labels, strict=True)
    }
    guess = "" if result.certified else " (guess)"
    for group in facts["groups"]:
        plural = "" if len(group["arms"]) == 1 else "s"
        line = f"  group {group['number']}{guess}, {len(group['arms'])} arm{plural}: {in_short(group['arms'])}"
        assert line in str(result).splitlines()
        assert {facts["labels"][arm] for arm in group["arms"]} == {group["number"]}


@pytest.mark.parametrize("name", EXAMPLES)
def test_pairs_told_apart_are_those_of_the_evidence(name: str) -> None:
    result = example(name)
    told, strength, texts = result.evidence.told_in_round, result.evidence.strength, result.text_names
    assert result.to_dict(full=True)["told_apart"] == [
        {"arms": [texts[i], texts[j]], "round": told[i, j], "strength": pytest.approx(strength[i, j])}
        for i, j in np.argwhere(np.triu(told, 1)).tolist()
    ]


# ---------------------------------------------------------------- arrays


@given(arrays(np.float64, array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=4), elements=st.floats()))
def test_every_number_survives_strict_json(array: Any) -> None:
    again = there_and_back(array)
    assert again.shape == array.shape
    assert again.dtype == array.dtype
    np.testing.assert_array_equal(again, array)


@pytest.mark.parametrize(
    "array",
    [
        np.array([2**62, -5]),
        np.array([2**64 - 1, 0], dtype=np.uint64),
        np.array([[True], [False]]),
        np.array([["x", ""]]),
    ],
)
def test_every_kind_survives_strict_json(array: Any) -> None:
    again = there_and_back(array)
    assert again.dtype.kind == array.dtype.kind
    np.testing.assert_array_equal(again, array)


def there_and_back(array: Any) -> Any:
    text = json.dumps(packed(array), allow_nan=False)
    return unpacked(ArrayPart.model_validate(json.loads(text)), array.shape, "bool int uint float text")


# ---------------------------------------------------------------- a light import


def test_a_result_is_made_and_printed_without_pydantic() -> None:
    code = "import sys, kabc; kabc.Result, kabc.load_result, kabc.compare; print('pydantic' in sys.modules)"
    seen = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert seen.stdout.strip() == "False"
