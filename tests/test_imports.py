"""Imports point downwards and never in a circle; cores and drivers touch the world through contracts alone.

Read from the syntax trees, so that a module need not be importable to be checked.
"""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "gate"

LAYERS: tuple[tuple[str, ...], ...] = (
    ("gate", "gate.errors", "gate.places", "gate.documents", "gate.machines.clock", "gate.bootstrap.exits"),
    ("gate.machines.verdict", "gate.plan.model", "gate.plan.identity"),
    ("gate.rundir.formats", "gate.rundir.layout", "gate.rundir.statefile"),
    ("gate.contracts",),
    ("gate.machines", "gate.adapters"),
    ("gate.rundir", "gate.agents"),
    ("gate.bootstrap", "gate.plan"),
    ("gate.engines", "gate.sandboxes", "gate.reap", "gate.scope", "gate.github"),
    ("gate.dispatch", "gate.report"),
    ("gate.poll",),
    ("gate.report.html",),
    ("gate.publish",),
    ("gate.simulate",),
    ("gate.campaign",),
    ("gate.testing",),
    ("gate.bugs", "gate.streams"),
    ("gate.commands",),
    ("gate.cli",),
    ("gate.__main__",),
)
"""From the ground up. A module belongs to the longest name that begins its own; it may import its layer and below."""

PURE = ("gate.machines",)
"""No I/O, no time, no randomness, no concurrency."""

DRIVEN = ("gate.poll", "gate.dispatch", "gate.reap", "gate.publish", "gate.bootstrap.driver")
"""They await the contracts they are given, and nothing else …"""

REAL = (
    "gate.poll.world",
    "gate.dispatch.staging",
    "gate.dispatch.placing",
    "gate.dispatch.fetching",
    "gate.dispatch.agentcli",
    "gate.dispatch.runid",
    "gate.dispatch.reuse",
    "gate.reap.tree",
)
"""… save for these, which are the real world behind a contract, or run before there is one."""

CONCURRENCY = ("anyio", "asyncio", "trio", "threading", "concurrent")
OUTSIDE = ("subprocess", "signal", "time", "random", "secrets", "tenacity", "backoff", "socket", "httpx", "shutil")
THREADS = ("threading", "concurrent", "asyncio", "trio", "queue", "gate.adapters", "anyio.to_thread", "anyio.Path")

INSIDE = ("gate.bootstrap", "gate.agents", "gate.adapters", "gate.contracts", "gate.machines")
INSIDE_MODULES = (
    "gate.documents",
    "gate.errors",
    "gate.places",
    "gate.plan.model",
    "gate.plan.identity",
    "gate.rundir.layout",
    "gate.rundir.formats",
    "gate.rundir.statefile",
)
"""What goes into images nobody prepared: the standard library and anyio only."""

HEAVY = ("rich", "httpx", "pydantic", "jinja2", "anyio", "trio", "yaml")


def _name(path: Path) -> str:
    parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def modules() -> Mapping[str, ast.Module]:
    """Every module of the package by its dotted name."""
    return {_name(path): ast.parse(path.read_text(encoding="utf-8")) for path in sorted(PACKAGE.rglob("*.py"))}


def imports(name: str, *, lazy: bool = True) -> Iterator[str]:
    """Dotted names that a module imports; modules of the package as such, `from x import y` of others as `x.y`.

    Imports for type checkers only do not count, nor do those within functions where `lazy` is False.
    """
    known = modules()
    for node in _walk(known[name], lazy=lazy):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name}: a relative import"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if full in known or not (node.module or "").startswith("gate") else node.module or ""


def _walk(tree: ast.AST, *, lazy: bool) -> Iterator[ast.AST]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            continue
        if not lazy and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            continue
        yield node
        yield from _walk(node, lazy=lazy)


def begins(name: str, prefixes: tuple[str, ...]) -> bool:
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in prefixes)


def layer(name: str) -> int:
    """The layer whose longest entry begins `name`."""
    found = [
        (len(entry), level)
        for level, entries in enumerate(LAYERS)
        for entry in entries
        if name == entry or (entry != "gate" and name.startswith(f"{entry}."))
    ]
    assert found, f"{name} belongs to no layer: add it to LAYERS"
    return max(found)[1]


def test_every_entry_names_something() -> None:
    """A misspelt name would leave what it means unchecked; a module that no layer names is found below."""
    named = {*INSIDE, *INSIDE_MODULES, *PURE, *DRIVEN, *REAL}
    missing = sorted(entry for entry in named if entry not in modules())
    assert not missing


@pytest.mark.parametrize("name", sorted(modules()))
def test_imports_point_downwards(name: str) -> None:
    upwards = [
        f"{name} (layer {layer(name)}) imports {other} (layer {layer(other)})"
        for other in imports(name)
        if begins(other, ("gate",)) and layer(other) > layer(name)
    ]
    assert not upwards


def test_imports_make_no_circle() -> None:
    """Also within a layer, and also through imports within functions."""
    graph = {name: {o for o in imports(name) if o in modules() and o != name} for name in modules()}
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " → ".join((*path[path.index(name) :], name))
        if name not in done:
            for other in sorted(graph[name]):
                visit(other, (*path, name))
            done.add(name)

    for name in graph:
        visit(name, ())


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if begins(name, PURE)])
def test_machines_are_pure(name: str) -> None:
    outside = (*CONCURRENCY, *OUTSIDE, "os", "pathlib", "io")
    assert [found for found in imports(name) if begins(found, outside)] == []


def drivers() -> list[str]:
    """Every module that drives through contracts."""
    return [name for name in sorted(modules()) if begins(name, DRIVEN) and name not in REAL]


@pytest.mark.parametrize("name", drivers())
def test_drivers_await_contracts_only(name: str) -> None:
    found = [one for one in imports(name) if begins(one, (*OUTSIDE, *THREADS, *REAL))]
    assert found == []
    used = {ast.unparse(node) for node in ast.walk(modules()[name]) if isinstance(node, ast.Attribute)}
    assert not used & {"anyio.to_thread", "anyio.from_thread", "anyio.Path", "anyio.sleep", "anyio.run_process"}


@pytest.mark.parametrize("name", drivers())
def test_drivers_do_not_reach_the_real_world_through_others_either(name: str) -> None:
    reached, pending = set[str](), [name]
    while pending:
        current = pending.pop()
        reached.add(current)
        pending += [other for other in imports(current) if other in modules() and other not in reached]
    assert not [other for other in reached if begins(other, ("gate.adapters", "gate.engines", "gate.rundir.files"))]


def _inside(name: str) -> bool:
    return begins(name, INSIDE) or name in INSIDE_MODULES


@pytest.mark.parametrize("name", [name for name in sorted(modules()) if _inside(name)])
def test_what_runs_in_workloads_imports_the_standard_library_and_anyio_only(name: str) -> None:
    allowed = {*sys.stdlib_module_names, "anyio", "exceptiongroup", "typing_extensions"}
    for found in imports(name):
        if begins(found, ("gate",)):
            assert _inside(found) or found in ("gate", "gate.plan", "gate.rundir", "gate.machines"), found
        else:
            assert found.partition(".")[0] in allowed, found


def _imported_by(*argv: str) -> set[str]:
    script = "import sys; from gate.cli import run; run(sys.argv[1:]); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", script, *argv], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return {name.partition(".")[0] for name in done.stderr.split()}


@pytest.mark.parametrize("argv", [["--version"], ["--help"]])
def test_heavy_libraries_are_imported_when_they_are_needed(argv: list[str]) -> None:
    assert _imported_by(*argv) & set(HEAVY) == set()


def test_the_version_does_not_even_import_typer() -> None:
    assert "typer" not in _imported_by("--version")
