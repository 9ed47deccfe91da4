"""Builds `gate.pyz`, which runs in images nobody prepared: bootstrap and all that it imports, in one file.

Same sources, same bytes: names sorted, times fixed, nothing compressed (zlib's output differs by version).
Runs at the runner; what it packs is the standard library's and anyio's only, Python 3.10 or newer.
"""

from __future__ import annotations

import ast
import importlib.util
import zipfile
from collections.abc import Iterator
from pathlib import Path

from gate.errors import UsageError

ENTRIES = ("gate.__main__", "gate.bootstrap.entry", "gate.agents.performer")
"""What is started by name; everything that these import, at any depth, goes in."""
OUTSIDE = "gate.cli"
"""What `gate.__main__` hands over to at the runner only."""
PACKAGES = ("anyio", "idna", "typing_extensions", "exceptiongroup")
"""anyio, and what it imports on some Python from 3.10 on."""

_MAIN = b"from gate.__main__ import main\n\nmain()\n"
_TIME = (1980, 1, 1, 0, 0, 0)


def pack(target: Path) -> None:
    """Write the zipapp to `target`, whole or not at all. Raises UsageError where a package is missing, OSError."""
    files = dict(sorted(contents().items()))
    temporary = target.with_name(f".{target.name}.part")
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_STORED) as archive:
        for name, data in files.items():
            info = zipfile.ZipInfo(name, _TIME)
            info.external_attr = 0o644 << 16
            archive.writestr(info, data)
    temporary.replace(target)


def contents() -> dict[str, bytes]:
    """Name in the archive to bytes."""
    files = {"__main__.py": _MAIN}
    for module, path in sorted(modules().items()):
        name = module.replace(".", "/")
        files[f"{name}/__init__.py" if path.name == "__init__.py" else f"{name}.py"] = path.read_bytes()
    for package in PACKAGES:
        origin = _origin(package)
        if origin.name != "__init__.py":
            files[origin.name] = origin.read_bytes()
            continue
        for path in origin.parent.rglob("*.py"):
            files[f"{package}/{path.relative_to(origin.parent).as_posix()}"] = path.read_bytes()
    return files


def modules() -> dict[str, Path]:
    """Every module of gate that bootstrap can come to import, with its file."""
    found: dict[str, Path] = {}
    pending = list(ENTRIES)
    while pending:
        module = pending.pop()
        if module in found:
            continue
        path = _source(module)
        if path is None:
            continue
        found[module] = path
        parts = module.split(".")
        pending += [".".join(parts[:depth]) for depth in range(1, len(parts))]
        pending += [name for name in imported(path) if name.split(".")[0] == "gate" and name != OUTSIDE]
    return found


def imported(path: Path) -> Iterator[str]:
    """Names that the file imports anywhere, functions included; `from a import b` gives both `a` and `a.b`."""
    for node in ast.walk(ast.parse(path.read_bytes(), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _source(module: str) -> Path | None:
    """The file of a module of this very gate; None where the name is not one of a module."""
    base = Path(__file__).parent.parent.parent.joinpath(*module.split("."))
    for path in (base / "__init__.py", base.with_suffix(".py")):
        if path.is_file():
            return path
    return None


def _origin(package: str) -> Path:
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        raise UsageError(
            f"{package} is not installed: gate.pyz cannot be built", hint="Install gate with its dependencies."
        )
    return Path(spec.origin)
