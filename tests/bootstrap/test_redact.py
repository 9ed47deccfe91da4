"""Redaction: every form of the closed list, at any place, cut anywhere."""

from __future__ import annotations

import base64
import itertools
import json
import re
import textwrap
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from gate.bootstrap.redact import Redactor
from gate.errors import SecretError

KEY = 'sk-ant-api03-Zq9+/"x\\y é\N{KEY}&\nline<2>'
"""Holds every character that some form writes in another way."""


def _b64(value: bytes, before: int, encode: Callable[[bytes], bytes] = base64.b64encode) -> bytes:
    return encode(b"\xa5" * before + value + b"\x5a" * 2)


def _wrap(text: bytes, width: int, line_break: str = "\n") -> bytes:
    return line_break.join(textwrap.wrap(text.decode(), width)).encode()


def _html_safe(text: str) -> str:
    dumped = json.dumps(text)
    return dumped.replace("<", "\\u003c").replace(">", "\\u003E").replace("&", "\\u0026").replace("/", "\\/")


RAW = KEY.encode()
UTF16 = KEY.encode("utf-16-be").hex()
FORMS: dict[str, bytes] = {
    "raw": RAW,
    "json": json.dumps(KEY).encode(),
    "json utf-8": json.dumps(KEY, ensure_ascii=False).encode(),
    "json html-safe": _html_safe(KEY).encode(),
    "json all escaped": "".join(f"\\u{UTF16[at : at + 4]}" for at in range(0, len(UTF16), 4)).encode(),
    "json in json": json.dumps(json.dumps(KEY)).encode(),
    "json in json in json": json.dumps(json.dumps({"k": json.dumps(KEY)})).encode(),
    "percent": urllib.parse.quote(KEY, safe="").encode(),
    "percent, lower case": re.sub(r"%..", lambda m: m.group().lower(), urllib.parse.quote(KEY, safe="")).encode(),
    "percent, all": "".join(f"%{byte:02X}" for byte in RAW).encode(),
    "percent, partial": urllib.parse.quote(KEY, safe="/+&<").encode(),
    "percent, form": urllib.parse.quote_plus(KEY).encode(),
    "hex": RAW.hex().encode(),
    "hex, upper case": RAW.hex().upper().encode(),
    "hex, wrapped": _wrap(RAW.hex().encode(), 60),
    **{f"base64 at {n}": _b64(RAW, n) for n in range(3)},
    **{f"base64url at {n}": _b64(RAW, n, base64.urlsafe_b64encode) for n in range(3)},
    **{f"base64 at {n}, 64 columns": _wrap(_b64(RAW, n), 64) for n in range(3)},
    **{f"base64 at {n}, 76 columns": _wrap(_b64(RAW, n), 76, "\r\n") for n in range(3)},
    "base64 wrapped in json": json.dumps(base64.encodebytes(b"x" * 50 + RAW).decode()).encode(),
    "base64 in a url": urllib.parse.quote(_b64(RAW, 1).decode(), safe="").encode(),
}


def _stream(redactor: Redactor, data: bytes, cuts: list[int]) -> bytes:
    stream = redactor.stream()
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return b"".join(stream.feed(data[a:b]) for a, b in itertools.pairwise(edges)) + stream.finish()


@pytest.mark.parametrize("name", FORMS)
def test_every_form_is_replaced(name: str) -> None:
    redacted = Redactor({"KEY": KEY}).redact(b"before " + FORMS[name] + b" after")
    assert redacted.startswith(b"before ")
    assert redacted.endswith(b" after")
    left = redacted.removeprefix(b"before ").removesuffix(b" after")
    assert left.count(b"***KEY***") == 1
    # What is left around it are quotes, or the characters of base64 that belong to its neighbours.
    assert len(left) <= len(b"***KEY***") + {"json in json in json": 23, "base64 wrapped in json": 75}.get(name, 8)


@pytest.mark.parametrize("name", FORMS)
def test_every_cut_of_every_form(name: str) -> None:
    data = b"<" + FORMS[name] + b">"
    redactor = Redactor({"KEY": KEY})
    whole = redactor.redact(data)
    assert {_stream(redactor, data, [cut]) for cut in range(len(data))} == {whole}
    assert _stream(redactor, data, list(range(len(data)))) == whole


@settings(max_examples=150, deadline=None)
@given(
    parts=st.lists(st.one_of(st.sampled_from(sorted(FORMS.values())), st.binary(max_size=12)), max_size=6),
    cuts=st.lists(st.integers(0, 4000), max_size=12),
)
def test_chunks_make_no_difference(parts: list[bytes], cuts: list[int]) -> None:
    redactor = Redactor({"KEY": KEY, "OTHER": "another secret"})
    data = b" ".join(parts)
    whole = redactor.redact(data)
    assert _stream(redactor, data, cuts) == whole
    assert RAW not in whole
    assert whole.count(b"***KEY***") >= sum(part in FORMS.values() for part in parts)


@settings(max_examples=200, deadline=None)
@given(secret=st.text(min_size=8, max_size=40), before=st.binary(max_size=9), cuts=st.lists(st.integers(0, 300)))
@example(secret="%25%25%25", before=b"%", cuts=[1, 3])
@example(secret="\\" * 12, before=b"\\" * 5, cuts=[2, 9])
@example(secret="aaaaaaaaaaaa", before=b"aaa", cuts=[5])
@example(secret="\x00\x01\udc80\udcffbinary", before=b"", cuts=[])
def test_any_secret_in_forms_made_by_the_standard_library(secret: str, before: bytes, cuts: list[int]) -> None:
    value = secret.strip().encode("utf-8", "surrogateescape")
    if len(value) < 8:
        with pytest.raises(SecretError):
            Redactor({"S": secret})
        return
    redactor = Redactor({"S": secret})
    # A secret made of its own name's characters could seem to survive in the replacement.
    for written in (
        value,
        value.hex().encode(),
        urllib.parse.quote_from_bytes(value, safe="").encode(),
        json.dumps(secret.strip()).encode()[1:-1],
        json.dumps(json.dumps(secret.strip())).encode()[3:-3],
    ):
        redacted = _stream(redactor, before + written + b"\n", cuts)
        assert b"***S***" in redacted
        assert written not in redacted
    assert b"***S***" in _stream(redactor, base64.encodebytes(before + value + before), cuts)


def test_a_secret_that_is_the_start_of_another() -> None:
    redactor = Redactor({"SHORT": "password-1", "LONG": "password-1-and-more"})
    assert redactor.redact(b"password-1-and-more password-1-and-mor") == b"***LONG*** ***SHORT***-and-mor"
    stream = redactor.stream()
    assert stream.feed(b"a password-1") == b"a "
    assert stream.feed(b"-and-mo") == b""
    assert stream.feed(b"-") == b"***SHORT***-and-mo-"


def test_secrets_that_overlap_leave_no_rest() -> None:
    redactor = Redactor({"A": "0123456789", "B": "56789abcdefg"})
    for cuts in ([], [3], [10], [12], list(range(20))):
        assert _stream(redactor, b"x0123456789abcdefgy", cuts) == b"x***A******B***y"


def test_a_run_of_a_secret_that_overlaps_itself() -> None:
    redactor = Redactor({"A": "abababababab"})
    assert redactor.redact(b"x" + b"ab" * 20_000 + b"y") == b"x***A***y"


def test_a_stream_holds_back_only_what_could_become_a_secret() -> None:
    stream = Redactor({"KEY": "QQQQ-secret-value"}).stream()
    assert stream.feed(b"nothing here") == b"nothing here"
    assert stream.feed(b"so QQQQ-sec") == b"so "
    assert stream.feed(b"ond") == b"QQQQ-second"
    assert stream.feed(b" QQQQ-secret-valu") == b" "
    assert stream.finish() == b"QQQQ-secret-valu"


def test_memory_is_bounded_on_an_endless_stream() -> None:
    stream = Redactor({"KEY": "aaaaaaaaaaaaaaaaaaaaaaaa"}).stream()
    for _ in range(10):
        stream.feed(b"a" * 2_000)
        assert len(stream._held) < 1000
    assert stream.finish() == b""


@pytest.mark.parametrize("value", ["", "short", "1234567", "       1234567      ", "ééé"])
def test_short_values_are_refused_without_showing_them(value: str) -> None:
    with pytest.raises(SecretError, match=r"secret TOKEN: its value has [0-7] bytes; at least 8") as refused:
        Redactor({"TOKEN": value})
    assert not value.strip() or value.strip() not in str(refused.value)


def test_white_space_around_a_value_does_not_hide_it() -> None:
    redactor = Redactor({"TOKEN": "  token-from-a-file\n"})
    assert redactor.redact(b"token=token-from-a-file;") == b"token=***TOKEN***;"


def test_hits_names_each_secret_once_across_chunks() -> None:
    redactor = Redactor({"A": "first-secret", "B": "second-secret", "C": "third-secret"})
    data = b"second-secret " + base64.b64encode(b"first-secret") + b" second-secret"
    assert redactor.hits(data) == ("A", "B")
    assert redactor.hits(data[at : at + 5] for at in range(0, len(data), 5)) == ("A", "B")
    assert redactor.hits(b"none") == ()


def test_without_secrets_everything_passes() -> None:
    assert Redactor({}).redact(b"as it is") == b"as it is"
    assert Redactor({}).hits(b"as it is") == ()
