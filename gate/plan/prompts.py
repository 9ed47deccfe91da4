"""The texts of an agent leg, rendered at plan time. What only the workload knows stands in them as slots.

A prompt in gate.yaml is a path when it holds no white space, else it is the text itself. `{axis}` in a path is filled
in; `gate/…` names a shipped template. A prompt that does not include the contract gets it at its end.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from gate.plan.config import GateFile
from gate.plan.draft import LegSource
from gate.plan.duration import format_duration
from gate.plan.identity import marker
from gate.plan.legconfig import Caps, Leg
from gate.plan.matrix import fill
from gate.plan.model import SLOTS, ArtifactPlan, LegBudgets, Prompts
from gate.plan.nodes import MapNode, Node, ScalarNode, find
from gate.plan.size import format_size
from gate.plan.templates import CONTRACT, Templates


class Span(float):
    """A duration in a prompt: `{{ budgets.setup }}` is `45m`, `.seconds`, `.minutes` and `.hours` are numbers."""

    def __str__(self) -> str:
        return format_duration(self)

    @property
    def seconds(self) -> float:
        return float(self)

    @property
    def minutes(self) -> float:
        return self / 60

    @property
    def hours(self) -> float:
        return self / 3600


@dataclass(frozen=True, slots=True)
class LegWord:
    """`{{ leg }}` in a prompt is its id; it has `id`, `axes`, `blocking` and `caps`."""

    id: str
    axes: SimpleNamespace
    blocking: bool
    caps: SimpleNamespace

    def __str__(self) -> str:
        return self.id


@dataclass(frozen=True, slots=True)
class ArtifactWord:
    """`{{ artifact }}` in a prompt is its path in the workload; beside it `.name`, `.kind`, `.digest` …"""

    kind: str
    name: str
    source: str
    digest: str
    version: str

    def __str__(self) -> str:
        return slot("artifact")


def slot(name: str) -> str:
    """The slot `name` as bootstrap finds it in a rendered text."""
    return f"<<gate:{name}>>"


class Renderer:
    """Renders the prompts of one gate's legs."""

    def __init__(
        self, templates: Templates, file: GateFile, root: MapNode, artifact: ArtifactPlan, version: str
    ) -> None:
        self.templates, self.file, self.root = templates, file, root
        self.slots = {name: slot(name) for name in SLOTS if name != "artifact"}
        self.common: dict[str, Any] = {
            **self.slots,
            "gate": file.gate,
            "version": version,
            "artifact": ArtifactWord(artifact.kind, artifact.name, artifact.source, artifact.digest, version),
            "slot": SimpleNamespace(**{name: slot(name) for name in SLOTS}),
        }

    def prompts(self, source: LegSource, leg: Leg, budgets: LegBudgets, secrets: tuple[str, ...]) -> Prompts:
        """All texts of an agent leg. Raises RenderFault."""
        assert leg.setup is not None
        assert leg.task is not None
        variables = self._variables(source, leg, budgets, secrets)
        setup = self._prompt(source.node, ("setup", "prompt"), leg.setup.prompt, {**variables, "marker_expected": True})
        if variables["marker"] not in setup:
            setup = self._with_contract(setup, {**variables, "marker_expected": True})
        task = self._prompt(source.node, ("task", "prompt"), leg.task.prompt, {**variables, "marker_expected": False})
        task = self._with_contract(task, {**variables, "marker_expected": False})
        variables |= {"setup": setup, "task": task}
        own = self.file.prompts
        rest = {
            name: self._prompt(
                self.root, ("prompts", name), getattr(own, name), {**variables, "marker_expected": nudge}
            )
            for name, nudge in (("nudge", True), ("finish_launch", False), ("redrive", False), ("recap", False))
        }
        return Prompts(setup=setup, task=task, marker=variables["marker"], **rest)

    def _variables(self, source: LegSource, leg: Leg, budgets: LegBudgets, secrets: tuple[str, ...]) -> dict[str, Any]:
        spans = {
            name: Span(value or 0) for name in LegBudgets.__slots__ if (value := getattr(budgets, name)) is not None
        }
        axes = SimpleNamespace(**source.axes)
        return {
            **self.common,
            "leg": LegWord(source.id, axes, leg.blocks, _caps(leg.caps)),
            "axes": axes,
            "marker": marker(self.file.gate, source.id),
            "verify": leg.setup.verify if leg.setup else None,
            "secrets": secrets,
            "budgets": SimpleNamespace(**spans),
        }

    def _prompt(self, root: Node, parts: tuple[str, ...], value: str, variables: Mapping[str, Any]) -> str:
        node = find(root, *parts)
        if any(character.isspace() for character in value) and isinstance(node, ScalarNode):
            name = self.templates.inline(node)
        else:
            axes: SimpleNamespace = variables["axes"]
            name = self.templates.named(fill(value, vars(axes)), node if isinstance(node, ScalarNode) else None)
        return self.templates.render(name, variables).strip() + "\n"

    def _with_contract(self, text: str, variables: Mapping[str, Any]) -> str:
        contract = self.templates.render(CONTRACT, variables).strip()
        heading = contract.splitlines()[0]
        return text if heading in text else f"{text}\n{contract}\n"


def _caps(caps: Caps) -> SimpleNamespace:
    return SimpleNamespace(cpus=caps.cpus, memory=format_size(caps.memory), gpus=1 if caps.gpus is None else caps.gpus)
