"""Rendering with Jinja2: undefined names are faults with file and line, not empty text."""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from jinja2 import StrictUndefined, TemplateError, TemplateNotFound, TemplateSyntaxError
from jinja2.loaders import FunctionLoader
from jinja2.sandbox import ImmutableSandboxedEnvironment

from gate.plan.model import SLOTS
from gate.plan.nodes import Node, ScalarNode
from gate.plan.problems import Problem, did_you_mean, one_of

SHIPPED = Path(__file__).resolve().parent.parent / "prompts"
SHIPPED_PREFIX = "gate/"
CONTRACT = "gate/_contract.md.j2"
_SLOT = re.compile(r"<<gate:([^<>\s]*)>>")
_UNDEFINED = re.compile(r"'([^']+)' is undefined|has no attribute '([^']+)'")


class RenderFault(Exception):
    """A template that cannot be rendered; carries its Problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


class _Environment(ImmutableSandboxedEnvironment):
    """Includes are looked up beside the including file first: a shipped template takes shipped parts."""

    def join_path(self, template: str, parent: str) -> str:
        if template.startswith(SHIPPED_PREFIX):
            return template
        if parent.startswith(SHIPPED_PREFIX):
            return SHIPPED_PREFIX + template
        return template


class Templates:
    """Templates below `folder` (that of gate.yaml), the shipped ones under `gate/`, and texts within gate.yaml."""

    def __init__(self, folder: Path, file: str) -> None:
        self.folder, self.file = folder, file
        self._inline: dict[str, tuple[str, int]] = {}
        self._read: set[str] = set()
        self._environment = _Environment(
            undefined=StrictUndefined,
            loader=FunctionLoader(self._source),
            keep_trailing_newline=False,
            autoescape=False,
        )

    def named(self, path: str, node: Node | None) -> str:
        """The name of the template file `path`. Raises RenderFault where there is none; `node` names it."""
        if self._source(path) is None:
            place = (node.line, node.column, node.path) if node else (1, 1, "prompts")
            close = did_you_mean(path, self._beside())
            expected = "the path of a template beside gate.yaml (a prompt itself has white space in it)"
            raise RenderFault(Problem(self.file, *place, f"{path!r}, which is no file", expected, close))
        return path

    def inline(self, node: ScalarNode) -> str:
        """The name of a prompt that stands in gate.yaml itself."""
        name = f"<{node.path}>"
        self._inline[name] = (node.text, node.line + (1 if node.block else 0))
        return name

    def render(self, name: str, variables: Mapping[str, Any]) -> str:
        """The text of template `name`. Raises RenderFault: syntax, an undefined name or slot, nothing left."""
        try:
            text = self._environment.get_template(name).render(variables)
        except TemplateSyntaxError as error:
            raise self._fault(error.name or name, error.lineno, f"a syntax error: {error.message}", "Jinja2") from None
        except TemplateNotFound as error:
            found = f"an include of {error.name!r}, which is no file"
            raise self._fault(*self._line(error, name), found, "a template", self._guess(str(error.name))) from None
        except TemplateError as error:
            raise self._undefined(error, name, variables) from None
        except Exception as error:  # noqa: BLE001 - whatever an expression in a template does is a fault of the template
            found = f"an expression that fails: {type(error).__name__}: {error}"
            raise self._fault(*self._line(error, name), found, "an expression that works for every leg") from None
        self._check_text(name, text)
        return text

    def _source(self, name: str) -> tuple[str, str, Callable[[], bool]] | None:
        if name in self._inline:
            self._read.add(name)
            return self._inline[name][0], name, lambda: True
        path = SHIPPED / name.removeprefix(SHIPPED_PREFIX) if name.startswith(SHIPPED_PREFIX) else self.folder / name
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, ValueError):
            return None
        self._read.add(name)
        return text, name, lambda: True

    def _beside(self) -> list[str]:
        found = [path.relative_to(self.folder).as_posix() for path in self.folder.glob("**/*.j2")]
        return found[:2000] + [f"gate/{path.relative_to(SHIPPED).as_posix()}" for path in SHIPPED.glob("**/*.j2")]

    def _guess(self, name: str) -> str:
        return did_you_mean(name, self._beside())

    def _line(self, error: BaseException, name: str) -> tuple[str, int]:
        """Template and line of the innermost template frame."""
        frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename in self._read]
        return (frames[-1].filename, frames[-1].lineno or 1) if frames else (name, 1)

    def _fault(self, name: str, line: int, found: str, expected: str, hint: str = "") -> RenderFault:
        if name in self._inline:
            return RenderFault(
                Problem(self.file, self._inline[name][1] + line - 1, 1, name.strip("<>"), found, expected, hint)
            )
        return RenderFault(Problem(name, line, 1, "", found, expected, hint))

    def _undefined(self, error: TemplateError, name: str, variables: Mapping[str, Any]) -> RenderFault:
        message = str(error.message)
        match = _UNDEFINED.search(message)
        known = sorted(variables)
        hint = did_you_mean(match[1] or match[2], known) if match else ""
        return self._fault(*self._line(error, name), message, f"defined names only: {', '.join(known)}", hint)

    def _check_text(self, name: str, text: str) -> None:
        for slot in _SLOT.findall(text):
            if slot not in SLOTS:
                hint = did_you_mean(slot, SLOTS)
                raise self._fault(
                    name, 1, f"the slot <<gate:{slot}>>", one_of(f"<<gate:{one}>>" for one in SLOTS), hint
                )
        if not text.strip():
            raise self._fault(name, 1, "a prompt that renders to nothing", "text")
