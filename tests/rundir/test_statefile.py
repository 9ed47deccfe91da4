"""One snapshot of a state file: every way in which it can be wrong is told apart, and nothing is defaulted."""

from __future__ import annotations

import hashlib
import json
import os
import stat
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.machines.verdict import Field
from gate.rundir import statefile
from gate.rundir.statefile import Found, counts, extract, find_states, parse, read_state

GLOBS = ("session/**/state.json",)


def base_with(tmp_path: Path, raw: bytes | None) -> Path:
    base = tmp_path / "1-abc"
    (base / "session" / "run").mkdir(parents=True)
    if raw is not None:
        (base / "session/run/state.json").write_bytes(raw)
    return base


def read(base: Path, rel: str = "session/run/state.json", keys: tuple[str, ...] = ("done",)) -> tuple[str, str]:
    view = read_state(base, rel, keys, shown=f"legs/a/t/1/{rel}")
    assert view.path == f"legs/a/t/1/{rel}"
    return view.status, view.detail


GOOD = b'{"done": true, "gain": 1.25, "stop": {"reason": "converged", "at": null}, "many": [1]}'

BROKEN: list[tuple[str, bytes, str, str]] = [
    ("nothing", b"", "empty", "nothing in it"),
    ("blanks", b" \n\t\n", "empty", "nothing in it"),
    ("zeros", b"\0" * 4096, "empty", "nothing in it"),
    ("cut after a brace", b"{", "torn", ""),
    ("cut in a key", b'{"do', "torn", "Unterminated"),
    ("cut after a colon", b'{"done":', "torn", ""),
    ("cut in a word", b'{"done": tru', "torn", ""),
    ("cut in a number", b'{"gain": 1.', "torn", ""),
    ("cut in an exponent", b'{"gain": 1e', "torn", ""),
    ("cut after a minus", b'{"gain": -', "torn", ""),
    ("cut in an escape", b'{"a": "\\u00', "torn", ""),
    ("cut after a backslash", b'{"a": "\\', "torn", ""),
    ("cut in a character", '{"a": "é'.encode()[:-1], "torn", "UTF-8"),
    ("cut after a comma", b'{"a": 1,', "torn", ""),
    ("rest is zeros", b'{"a": 1,\0\0\0\0', "torn", ""),
    ("string, then zeros", b'{"a": "b\0\0', "torn", ""),
    ("NaN", b'{"gain": NaN}', "malformed", "NaN"),
    ("Infinity", b'{"gain": -Infinity}', "malformed", "Infinity"),
    ("overflow", b'{"gain": 1e999}', "malformed", "out of range"),
    ("endless digits", b'{"gain": ' + b"9" * 5000 + b"}", "malformed", "out of range"),
    ("duplicate keys", b'{"done": false, "done": true}', "malformed", "duplicate key 'done'"),
    ("nested duplicate", b'{"a": {"b": 1, "b": 2}}', "malformed", "duplicate key 'b'"),
    ("a list", b"[1, 2]", "malformed", "not an object"),
    ("a number", b"12", "malformed", "not an object"),
    ("two values", b'{"a": 1}{"b": 2}', "malformed", "Extra data"),
    ("single quotes", b"{'done': true}", "malformed", "double quotes"),
    ("trailing comma", b'{"done": true,}', "malformed", ""),
    ("a byte order mark", b'\xef\xbb\xbf{"done": true}', "malformed", "BOM"),
    ("latin-1", b'{"a": "\xe9"}', "malformed", "UTF-8"),
    ("deeply nested", b'{"a":' * 100_000, "malformed", "deep"),
    ("HTML", b"<html>busy</html>", "malformed", ""),
    ("a log line", b"done", "malformed", ""),
]


@pytest.mark.parametrize(("name", "raw", "status", "detail"), BROKEN, ids=[row[0] for row in BROKEN])
def test_broken_files_are_told_apart(tmp_path: Path, name: str, raw: bytes, status: str, detail: str) -> None:
    found = read(base_with(tmp_path, raw))
    assert found[0] == status, found
    assert detail in found[1]
    assert found[1] != ""


def test_every_true_prefix_of_a_good_file_is_torn_or_empty() -> None:
    """Lingtai#743: a torn file is "not yet", never the end of a leg."""
    raw = '{"a": [1.5e-3, -2, true, false, null, "\\u00e9\\n"], "é": {"b": "c"}}'.encode()
    for length in range(len(raw)):
        assert parse(raw[:length], (), "p").status in ("torn", "empty"), raw[:length]
    assert parse(raw, (), "p").status == "ok"


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.recursive(
            st.none()
            | st.booleans()
            | st.integers()
            | st.floats(allow_nan=False, allow_infinity=False)
            | st.text(max_size=8),
            lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
            max_leaves=8,
        ),
        max_size=4,
    ),
    st.integers(0, 10_000),
)
def test_prefixes_of_any_file_are_never_malformed(body: dict[str, object], cut: int) -> None:
    raw = json.dumps(body, ensure_ascii=False).encode("utf-8", "surrogatepass")
    try:
        raw.decode()
    except UnicodeDecodeError:
        return
    assert parse(raw, (), "p").status == "ok"
    assert parse(raw[: cut % len(raw)], (), "p").status in ("torn", "empty")


def test_a_good_file(tmp_path: Path) -> None:
    base = base_with(tmp_path, GOOD)
    keys = ("done", "gain", "stop.reason", "stop.at", "stop", "many", "absent", "stop.absent", "done.x")
    view = read_state(base, "session/run/state.json", keys, shown="s")
    assert (view.status, view.size, view.sha256) == ("ok", len(GOOD), hashlib.sha256(GOOD).hexdigest())
    assert view.fields == {
        "done": Field("value", True),
        "gain": Field("value", 1.25),
        "stop.reason": Field("value", "converged"),
        "stop.at": Field("value", None),
        "stop": Field("container"),
        "many": Field("container"),
        "absent": Field("missing"),
        "stop.absent": Field("missing"),
        "done.x": Field("missing"),
    }


def test_a_literal_key_with_dots_wins_and_the_longest_first() -> None:
    body = {"a.b": 1, "a": {"b": 2, "c.d": 3, "e": 9}, "a.e": {"f": 4}, "x.y": {"z": 5}, "x": {"y.z": 6}}
    found = extract(body, ("a.b", "a.c.d", "a.e.f", "a.e", "x.y.z"))
    assert [found[k].value for k in ("a.b", "a.c.d", "a.e.f", "x.y.z")] == [1, 3, 4, 5]
    assert found["a.e"].kind == "container"


def test_absent(tmp_path: Path) -> None:
    base = base_with(tmp_path, None)
    assert read(base) == ("absent", "")
    (base / "session/run").rmdir()
    assert read(base) == ("absent", "")


def test_too_long_is_malformed(tmp_path: Path) -> None:
    base = base_with(tmp_path, b'{"a": "' + b"x" * statefile.MAX_BYTES + b'"}')
    status, detail = read(base)
    assert status == "malformed"
    assert "too long" in detail


@pytest.mark.parametrize("rel", ["../other/state.json", "/etc/passwd", "session/../../x", "session/run/../../../../x"])
def test_a_path_that_leads_out_is_foreign(tmp_path: Path, rel: str) -> None:
    assert read(base_with(tmp_path, GOOD), rel)[0] == "foreign"


def test_links_out_are_foreign_and_links_within_are_read(tmp_path: Path) -> None:
    """SkerrySSH#364: another run's result must not satisfy the check, however it is put there."""
    base = base_with(tmp_path, None)
    other = tmp_path / "other-run" / "state.json"
    other.parent.mkdir()
    other.write_bytes(GOOD)
    state = base / "session/run/state.json"
    state.symlink_to(other)
    assert read(base)[0] == "foreign"
    state.unlink()
    (base / "session/run").rmdir()
    (base / "session/run").symlink_to(other.parent)
    assert read(base)[0] == "foreign"
    (base / "session/run").unlink()
    (base / "session/real").mkdir()
    (base / "session/real/state.json").write_bytes(GOOD)
    (base / "session/run").mkdir()
    state.symlink_to("../real/state.json")
    assert read(base)[0] == "ok"


def test_a_directory_a_fifo_and_a_dangling_link(tmp_path: Path) -> None:
    base = base_with(tmp_path, None)
    state = base / "session/run/state.json"
    state.mkdir()
    assert read(base) == ("unreadable", "not a regular file")
    state.rmdir()
    os.mkfifo(state)
    assert read(base) == ("unreadable", "not a regular file")
    state.unlink()
    state.symlink_to("nowhere.json")
    assert read(base)[0] == "absent"


def test_a_file_that_changes_while_it_is_read_is_torn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rewritten in place, the bytes may be half of one state and half of the next, and still parse."""
    base = base_with(tmp_path, GOOD)
    real = statefile._read_bounded

    def slow(handle: int) -> bytes:
        raw = real(handle)
        time.sleep(0.01)
        (base / "session/run/state.json").write_bytes(GOOD + b" ")
        return raw

    monkeypatch.setattr(statefile, "_read_bounded", slow)
    assert read(base) == ("torn", "changed while it was read")


def denied(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.open

    def refuse(path: str, *args: int, **more: int) -> int:
        if str(path).endswith("state.json"):
            raise PermissionError(13, "Permission denied")
        return real(path, *args, **more)

    monkeypatch.setattr(os, "open", refuse)


def test_unreadable_without_and_with_a_reader(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(tmp_path, GOOD)
    denied(monkeypatch)
    assert read(base) == ("unreadable", "cannot be read: Permission denied")
    rel = "session/run/state.json"
    assert read_state(base, rel, (), shown="s", reader=("cat",)).status == "ok"
    failing = read_state(
        base, rel, (), shown="s", reader=(sys.executable, "-c", "import sys; sys.exit('no such user')")
    )
    assert (failing.status, "no such user" in failing.detail) == ("unreadable", True)
    missing = read_state(base, rel, (), shown="s", reader=("/nowhere/sudo",))
    assert (missing.status, "No such file" in missing.detail) == ("unreadable", True)
    (base / rel).unlink()
    assert read_state(base, rel, (), shown="s", reader=("cat",)).status == "absent"
    (base / rel).symlink_to("/etc/hostname")
    assert read_state(base, rel, (), shown="s", reader=("cat",)).status == "foreign"


def test_what_counts() -> None:
    assert counts("session/run/state.json", GLOBS)
    assert counts("session/a/b/state.json", GLOBS)
    assert not counts("session/state.json", GLOBS)  # a stray one at the top is not the program's result
    assert not counts("session/run/state.json.tmp", GLOBS)
    assert not counts("workspace/run/state.json", GLOBS)
    assert counts("workspace/out/state-7.json", ("workspace/out/state-?.json",))
    assert not counts("workspace/out/deep/state-7.json", ("workspace/out/*.json",))
    assert not counts("session/x.json", ("session/*.json",))


def test_find_names_what_counts_and_what_strayed(tmp_path: Path) -> None:
    base = base_with(tmp_path, GOOD)
    for rel in ("session/state.json", "session/b/c/state.json", "workspace/state.json", "session/run/other.json"):
        (base / rel).parent.mkdir(parents=True, exist_ok=True)
        (base / rel).write_bytes(GOOD)
    found = find_states(base, GLOBS)
    assert found.counting == ("session/b/c/state.json", "session/run/state.json")
    assert found.strays == ("session/state.json",)
    assert find_states(base, GLOBS, everywhere=True).strays == ("session/state.json", "workspace/state.json")
    assert {rel for rel, _ in found.visited} == {"session", "session/b", "session/b/c", "session/run"}


def test_find_follows_no_link_out_and_stays_within_bounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(tmp_path, None)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere/state.json").write_bytes(GOOD)
    (base / "session/link").symlink_to(tmp_path / "elsewhere")
    (base / "session/loop").symlink_to(base / "session")
    assert find_states(base, GLOBS).counting == ()
    monkeypatch.setattr(statefile, "MAX_ENTRIES", 50)
    for n in range(100):
        (base / f"session/run/{n}").write_bytes(b"")
    assert find_states(base, GLOBS).truncated
    assert find_states(tmp_path / "nowhere", GLOBS) == Found(visited=(("session", None),))


def test_a_state_file_is_found_though_there_are_too_many_files_below_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run keeps a data set beside its state: what lies deeper is looked at last."""
    monkeypatch.setattr(statefile, "MAX_ENTRIES", 60)
    for number in range(10):
        deep = tmp_path / f"session/data{number}/deep"
        deep.mkdir(parents=True)
        for file in range(60):
            (deep / str(file)).touch()
    (tmp_path / "session/run").mkdir()
    (tmp_path / "session/run/state.json").write_text("{}")
    found = find_states(tmp_path, ["session/**/state.json"])
    assert found.counting == ("session/run/state.json",)
    assert found.truncated


def test_find_says_what_it_may_not_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    base = base_with(tmp_path, GOOD)
    real = os.scandir

    def refuse(path: str) -> object:
        if path.endswith("run"):
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(os, "scandir", refuse)
    assert find_states(base, GLOBS).denied == ("session/run",)
    assert stat.S_ISDIR((base / "session").stat().st_mode)
