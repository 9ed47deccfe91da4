"""Secrets by name: resolved where the command runs, before anything is launched; their values live in memory only."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from gate.bootstrap.redact import SHORTEST
from gate.errors import SecretError
from gate.plan.model import SecretRef

COMMAND_BUDGET = 30.0
LONGEST = 65536


def resolve(refs: Sequence[SecretRef]) -> dict[str, str]:
    """Name to value of all `refs`. Raises one SecretError that says of each what to set; it never shows a value."""
    found = {ref.name: _attempt(ref) for ref in refs}
    problems = [one.message for one in found.values() if isinstance(one, SecretError)]
    if problems:
        hints = {one.hint: None for one in found.values() if isinstance(one, SecretError) and one.hint}
        raise SecretError("\n  ".join(problems), hint=" ".join([*hints, "Nothing was launched."]))
    return {name: one for name, one in found.items() if isinstance(one, str)}


def needed(refs: Sequence[SecretRef], names: Sequence[str]) -> tuple[SecretRef, ...]:
    """The references of these names. Raises SecretError for a name that gate.yaml does not declare."""
    known: Mapping[str, SecretRef] = {ref.name: ref for ref in refs}
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SecretError(f"secret {unknown[0]!r} is used, but not declared under `secrets:`")
    return tuple(known[name] for name in dict.fromkeys(names))


def _attempt(ref: SecretRef) -> str | SecretError:
    try:
        return _checked(ref, _value(ref))
    except SecretError as error:
        return error


def _value(ref: SecretRef) -> str:
    match ref.source:
        case "env":
            value = os.environ.get(ref.spec)
            if value is None:
                raise SecretError(f"secret {ref.name}: the environment variable {ref.spec} is not set; set it")
            return value
        case "file":
            try:
                return Path(ref.spec).expanduser().read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                why = error.strerror if isinstance(error, OSError) else "it is not text"
                raise SecretError(f"secret {ref.name}: the file {ref.spec} cannot be read: {why}") from error
        case "command":
            return _output(ref)


def _output(ref: SecretRef) -> str:
    try:
        done = subprocess.run(
            ["sh", "-c", ref.spec], capture_output=True, timeout=COMMAND_BUDGET, check=False, stdin=subprocess.DEVNULL
        )
    except subprocess.TimeoutExpired:
        # `from None`: the exception holds what the command wrote so far, which may be the secret
        raise SecretError(f"secret {ref.name}: its command did not end within {COMMAND_BUDGET:g} s") from None
    if done.returncode != 0:
        raise SecretError(f"secret {ref.name}: its command ended with exit code {done.returncode}; run it by hand")
    try:
        return done.stdout.decode("utf-8")
    except UnicodeDecodeError:
        raise SecretError(f"secret {ref.name}: its command wrote something that is not text") from None


def _checked(ref: SecretRef, raw: str) -> str:
    value = raw.rstrip("\r\n")
    size = len(value.encode())
    if not size:
        raise SecretError(f"secret {ref.name}: its {ref.source} is empty")
    if size < SHORTEST:
        raise SecretError(
            f"secret {ref.name}: its value has {size} bytes; with fewer than {SHORTEST} it cannot be redacted safely",
            hint="Give a longer one; what is no secret can stand in `env`.",
        )
    if size > LONGEST or "\0" in value:
        raise SecretError(f"secret {ref.name}: longer than {LONGEST} bytes, or with a NUL byte in it")
    return value
