"""The document codec: strict both ways, versions refused or migrated, nothing defaulted."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate import documents
from gate.errors import DocumentError
from gate.plan.model import ArtifactPlan
from gate.rundir.formats import Lease, Manifest, Pointer


class Colour(str, Enum):
    RED = "red"
    BLUE = "blue"


@dataclass(frozen=True, slots=True)
class Part:
    size: float
    colour: Colour


@dataclass(frozen=True, slots=True)
class Sample(documents.Document):
    FORMAT: ClassVar[str] = "test.sample"
    VERSION: ClassVar[int] = 2

    name: str
    count: int
    share: float | None
    flag: bool
    value: str | int | float | bool | None
    word: Literal["a", "b"]
    parts: tuple[Part, ...]
    by_name: Mapping[str, Part]


SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**12), 10**12),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(),
)
PARTS = st.builds(Part, size=st.floats(allow_nan=False, allow_infinity=False), colour=st.sampled_from(Colour))
SAMPLES = st.builds(
    Sample,
    name=st.text(),
    count=st.integers(-(10**12), 10**12),
    share=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    flag=st.booleans(),
    value=SCALARS,
    word=st.sampled_from(["a", "b"]),
    parts=st.lists(PARTS, max_size=3).map(tuple),
    by_name=st.dictionaries(st.text(), PARTS, max_size=3),
)
GOOD = Sample("n", 1, None, True, 1, "a", (Part(1.0, Colour.RED),), {})


@given(SAMPLES)
def test_what_is_written_is_read_back_with_its_types(sample: Sample) -> None:
    for raw in (documents.dump(sample), documents.dump_line(sample)):
        back = documents.load(Sample, raw, "f")
        assert back == sample
        assert type(back.value) is type(sample.value)


def broken(**changes: object) -> bytes:
    body = json.loads(documents.dump(GOOD))
    for key, value in changes.items():
        if value is KeyError:
            del body[key]
        else:
            body[key] = value
    return json.dumps(body).encode()


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "not a test.sample file"),
        (b"[]", "expected an object, found a list"),
        (b"\xff{}", "not UTF-8"),
        (documents.dump(GOOD)[:-9], "not a test.sample file"),
        (broken(format="gate.lease"), "expected format 'test.sample', found 'gate.lease'"),
        (broken(format_version=3), "newer than this gate reads"),
        (broken(format_version=True), "expected a version number"),
        (broken(format_version=1), "can no longer be read"),
        (broken(count=KeyError), "expected key 'count'"),
        (broken(extra=1), "no key 'extra'"),
        (broken(count="1"), "count: expected int"),
        (broken(count=True), "count: expected int"),
        (broken(share="x"), "share: expected"),
        (broken(flag=1), "flag: expected bool"),
        (broken(word="c"), "word: expected one of 'a', 'b'"),
        (broken(parts=[{"size": 1, "colour": "green"}]), "parts[0].colour: expected one of 'red', 'blue'"),
        (broken(parts={}), "parts: expected a list"),
        (broken(by_name=[]), "by_name: expected an object"),
    ],
)
def test_a_file_that_is_not_what_it_should_be_says_what_and_where(raw: bytes, says: str) -> None:
    with pytest.raises(DocumentError) as caught:
        documents.load(Sample, raw, "some/file.json")
    assert "some/file.json" in str(caught.value)
    assert says in str(caught.value)


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a": NaN}',
        b'{"a": -Infinity}',
        b'{"a": 1e999}',
        b'{"a": 1, "a": 2}',
        b'{"a": {"b": 1, "b": 1}}',
        b'{"a": 1} x',
        b"9" * 5000,
        b"[" * 100_000,
    ],
)
def test_json_that_python_takes_but_strict_json_does_not(raw: bytes) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - every kind of ValueError is the contract
        documents.parse_strict(raw)


def test_an_older_version_is_migrated_in_one_place(monkeypatch: pytest.MonkeyPatch) -> None:
    def rename(body: dict[str, object]) -> dict[str, object]:
        body["count"] = body.pop("number")
        return body

    monkeypatch.setitem(documents.MIGRATIONS, ("test.sample", 1), rename)
    old = json.loads(broken(format_version=1, count=KeyError))
    old["number"] = 7
    assert documents.load(Sample, json.dumps(old).encode(), "f").count == 7


def test_a_document_with_a_version_of_its_own_keeps_it() -> None:
    manifest = Manifest("0.1", "1.2.3", "c", "r", 1, {}, 0.0, ArtifactPlan("none", "", "", "", 0), {}, {})
    assert documents.load(Manifest, documents.dump(manifest), "manifest.json") == manifest


def test_numbers_that_json_has_no_word_for_are_never_written() -> None:
    with pytest.raises(ValueError, match="JSON"):
        documents.dump(Sample("n", 1, math.nan, True, 1, "a", (), {}))


def test_the_real_formats_refuse_each_other() -> None:
    lease = Lease("h", "host", 1, "gate poll", 1, 5.0, 0.0)
    with pytest.raises(DocumentError, match=r"expected format 'gate\.pointer', found 'gate\.lease'"):
        documents.load(Pointer, documents.dump(lease), "pointer.json")
