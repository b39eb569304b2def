"""Law 2: the product and a second implementation reproduce every published digest."""

from copy import deepcopy
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.vectors import second_implementation as second
from tests.vectors.random_vectors import approvals, front_matters, plans
from tools.vectors import EXPECTED, Json, approval_of, load, plan_of

from assent.core.plan.approval import signed_bytes
from assent.core.plan.plan import declared_reliance, declared_scope
from assent.store.signing_key import FileSigner

SOURCE = Path(second.__file__ or "").read_text(encoding="utf-8")
KINDS = sorted(EXPECTED)
PUBLISHED = [(kind, vector) for kind in KINDS for vector in load()[kind]]
NAMES = [f"{kind}: {vector['name']}" for kind, vector in PUBLISHED]

# Of the plan that has everything. If this has to change, every approval ever given is void.
EVERYTHING = "7c9b4d757b487c5ee1abf281ff8fa7b8bc4bed2582312de7c2c06df7a46cadf9"


def _asked(vector: Json) -> Json:
    return {name: value for name, value in deepcopy(vector).items() if name != "expected"}


@pytest.mark.parametrize(("kind", "vector"), PUBLISHED, ids=NAMES)
def test_product_reproduces(kind: str, vector: Json) -> None:
    assert EXPECTED[kind](_asked(vector)) == vector["expected"]


@pytest.mark.parametrize(("kind", "vector"), PUBLISHED, ids=NAMES)
def test_second_implementation_reproduces(kind: str, vector: Json) -> None:
    assert second.LISTS[kind](_asked(vector)) == vector["expected"]


def test_vectors_were_not_made_anew() -> None:
    found = {vector["name"]: vector["expected"] for vector in load()["plans"]}
    assert found["everything together"]["digest"] == EVERYTHING


def test_names_tell_vectors_apart() -> None:
    assert len(set(NAMES)) == len(NAMES)


def test_digests_tell_plans_apart() -> None:
    digests = [vector["expected"]["digest"] for kind, vector in PUBLISHED if kind == "plans"]
    assert len(set(digests)) == len(digests)


def test_plans_declare_what_they_say() -> None:
    for kind, vector in PUBLISHED:
        if kind == "plans":
            plan = plan_of(vector)
            assert declared_scope(plan.text) == plan.scope, vector["name"]
            paths = tuple(file.path for file in plan.relied_on)
            assert declared_reliance(plan.text) == paths, vector["name"]


def test_second_implementation_stands_alone() -> None:
    imported = [line for line in SOURCE.splitlines() if line.startswith(("import ", "from "))]
    assert imported == ["import hashlib", "import json", "import sys", "from typing import Any"]


@pytest.mark.parametrize("vector", load()["approvals"], ids=lambda vector: vector["name"])
def test_signer_makes_and_knows_the_signature(vector: Json, tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.touch(0o600)
    path.write_bytes(bytes.fromhex(vector["seed_hex"]))
    signer, expected = FileSigner(path), vector["expected"]
    payload = signed_bytes(approval_of(vector, expected["key"]))
    assert (signer.key(), signer.sign(payload)) == (expected["key"], expected["signature"])
    assert signer.verify(expected["key"], payload, expected["signature"])
    assert not signer.verify(expected["key"], payload + b"!", expected["signature"])


@given(plans)
def test_both_agree_on_any_plan(vector: Json) -> None:
    assert second.plan(vector) == EXPECTED["plans"](vector)


@settings(max_examples=10, deadline=None)
@given(approvals)
def test_both_agree_on_any_approval(vector: Json) -> None:
    assert second.approval(vector) == EXPECTED["approvals"](vector)


@settings(max_examples=500)
@given(front_matters)
def test_both_agree_on_any_front_matter(vector: Json) -> None:
    assert second.declaration(vector) == EXPECTED["front_matter"](vector)


@given(st.text())
def test_both_agree_on_any_text(text: str) -> None:
    vector = {"text": f"---\nrelies_on: {text}\n---\n", "name": "any"}
    assert second.declaration(vector) == EXPECTED["front_matter"](vector)
