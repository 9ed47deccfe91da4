"""What must hold between sections of gate.yaml. Each check looks at what could be read and passes over the rest."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import PurePosixPath

from gate.plan.config import GateFile
from gate.plan.draft import Draft, LegSource, WorkloadSource
from gate.plan.faults import key_place
from gate.plan.legconfig import Leg
from gate.plan.legs import matching
from gate.plan.model import SLOTS
from gate.plan.nodes import Node, find
from gate.plan.problems import Problem, did_you_mean, one_of
from gate.plan.size import format_size
from gate.plan.types import NAME, NAME_EXPECTED

_NAME = re.compile(NAME, re.ASCII)
_SLOT = re.compile(r"<<gate:([^<>\s]*)>>")
_CREDENTIAL = re.compile(
    r"sk-ant-|sk-[A-Za-z0-9]{20}|gh[pousr]_[A-Za-z0-9]{20}|github_pat_|glpat-|ak-[A-Za-z0-9_-]{40}|AKIA[A-Z0-9]{12}|xox[abp]-"
)


def check(draft: Draft) -> list[Problem]:
    """All faults between the sections of `draft`."""
    checks = _Checks(draft)
    return [
        *checks.legs_exist(),
        *checks.ids(),
        *checks.scopes(),
        *checks.workloads(),
        *checks.secret_names(),
        *(problem for leg in draft.legs for problem in checks.shape(leg)),
        *(problem for leg in draft.legs if leg.config for problem in checks.leg(leg, leg.config)),
    ]


class _Checks:
    def __init__(self, draft: Draft) -> None:
        self.draft = draft
        self.file: GateFile = draft.file
        self.ids_in_order = [leg.id for leg in draft.legs]

    def at(self, node: Node, found: str, expected: str, hint: str = "", *, path: str = "") -> Problem:
        return Problem(self.draft.name, node.line, node.column, path or node.path, found, expected, hint)

    def key(self, node: Node, key: str, found: str, expected: str, hint: str = "") -> Problem:
        line, column = key_place(node, key)
        path = f"{node.path}.{key}" if node.path else key
        return Problem(self.draft.name, line, column, path, found, expected, hint)

    # --- legs as a whole ---------------------------------------------------------------------------

    def legs_exist(self) -> Iterator[Problem]:
        root = self.draft.root
        if "legs" not in root.items and "matrix" not in root.items:
            yield self.at(root, "neither legs nor matrix", "at least one leg", path="legs")
        elif not self.draft.legs and "matrix" not in root.items and "legs" not in self.draft.wrong_sections:
            yield self.at(find(root, "legs"), "no leg", "at least one leg")
        elif self.draft.legs and all(leg.config and not leg.config.blocks for leg in self.draft.legs):
            expected = "at least one blocking leg, else nothing is decided"
            yield self.at(find(root, "legs"), "only informing legs", expected, path="legs")

    def ids(self) -> Iterator[Problem]:
        seen: dict[str, str] = {}
        counts = Counter(self.ids_in_order)
        for leg in self.draft.legs:
            if not _NAME.fullmatch(leg.id) and leg.axes:
                yield self.at(find(self.draft.root, "matrix", "id"), f"the leg id {leg.id!r}", NAME_EXPECTED)
            first = seen.setdefault(leg.id.lower(), leg.id)
            if first != leg.id or counts[leg.id] > 1:
                also = "again" if first == leg.id else f"beside {first!r}, which differs in case alone"
                yield self.at(leg.node, f"the leg id {leg.id!r} {also}", "ids that stay apart in paths and names")

    def scopes(self) -> Iterator[Problem]:
        node = find(self.draft.root, "scope", "fast")
        for pattern in self.file.scope.fast:
            if not matching(pattern, self.ids_in_order):
                hint = did_you_mean(pattern, self.ids_in_order)
                yield self.at(node, f"{pattern!r}, which matches no leg", one_of(self.ids_in_order), hint)

    # --- workloads ---------------------------------------------------------------------------------

    def workloads(self) -> Iterator[Problem]:
        taken: dict[str, str] = {}
        for workload in self.draft.workloads:
            if workload.config is None:
                continue
            members: list[str] = []
            for pattern in workload.config.legs:
                found = matching(pattern, self.ids_in_order)
                members += [leg for leg in found if leg not in members]
                if not found:
                    hint = did_you_mean(pattern, self.ids_in_order)
                    node = find(workload.node, "legs")
                    yield self.at(node, f"{pattern!r}, which matches no leg", one_of(self.ids_in_order), hint)
            for leg in members:
                if taken.setdefault(leg, workload.id) != workload.id:
                    found_text = f"the leg {leg!r} here and in {taken[leg]!r}"
                    yield self.at(find(workload.node, "legs"), found_text, "each leg in one workload")
            if workload.config.shared:
                if workload.id in self.ids_in_order and members != [workload.id]:
                    yield self.at(workload.node, f"the id {workload.id!r}, which a leg has too", "an id of its own")
                yield from self._caps(workload, members)

    def _caps(self, workload: WorkloadSource, members: list[str]) -> Iterator[Problem]:
        assert workload.config is not None
        has = workload.config.resources
        legs = [leg.config for leg in self.draft.legs if leg.id in members and leg.config]
        node = find(workload.node, "resources")
        gpus = sum(leg.caps.gpus if leg.caps.gpus is not None else 1 for leg in legs) if has.gpus else 0
        if not has.gpus:
            gpus = sum(leg.caps.gpus or 0 for leg in legs)
        sums = (
            ("cpus", sum(leg.caps.cpus for leg in legs), has.cpus, str),
            ("gpus", gpus, has.gpus, str),
            ("memory", sum(leg.caps.memory for leg in legs), has.memory, format_size),
        )
        for what, needed, there, shown in sums:
            if needed > there and (there or what == "gpus"):
                found = f"{shown(there)} {what} for {len(legs)} legs whose caps sum up to {shown(needed)}"
                where = find(node, what)
                expected = f"at least {shown(needed)}, or smaller caps"
                yield self.at(where, found, expected, path=f"{workload.node.path}.resources.{what}")

    # --- secrets -----------------------------------------------------------------------------------

    def secret_names(self) -> Iterator[Problem]:
        for name in self.file.secrets:
            if name.startswith("GATE_"):
                node = find(self.draft.root, "secrets")
                yield self.key(node, name, f"the name {name!r}", "a name outside GATE_*, which are gate's own")
        yield from self._environment(find(self.draft.root, "env"), dict(self.file.env))

    def _environment(self, node: Node, env: dict[str, str]) -> Iterator[Problem]:
        for name, value in env.items():
            if name.startswith("GATE_"):
                yield self.key(node, name, f"the name {name!r}", "a name outside GATE_*, which are gate's own")
            elif name in self.file.secrets:
                yield self.key(node, name, "a value for a name that is a secret", "the name in secrets alone")
            elif _CREDENTIAL.search(value):
                expected = "an entry in secrets, with its source"
                yield self.key(node, name, "what looks like a credential", expected, "revoke it if it was ever pushed")

    # --- one leg -----------------------------------------------------------------------------------

    def leg(self, leg: LegSource, config: Leg) -> Iterator[Problem]:
        if config.blocking is not None and config.informing is not None and config.blocking == config.informing:
            yield self.key(leg.node, "informing", "both blocking and informing", "one of them")
        if "secrets" not in self.draft.wrong_sections:
            for name in config.secrets or ():
                if name not in self.file.secrets:
                    hint = did_you_mean(name, self.file.secrets)
                    node = find(leg.node, "secrets")
                    yield self.at(node, f"the undefined secret {name!r}", one_of(self.file.secrets), hint)
        yield from self._environment(find(leg.node, "env"), config.env)
        yield from self._paths(leg, config)
        yield from self._slots(leg, config)

    def shape(self, leg: LegSource) -> Iterator[Problem]:
        """Which keys go together; told also where their values have faults."""
        has = leg.node.items
        if "judge" not in has and "judge" not in self.draft.root.items:
            expected = "how the leg is judged: `judge: {finished: {done: true}, pass: {ok: true}}`, here or at the top"
            yield self.key(leg.node, "judge", "nothing", expected)
        agent = [key for key in ("setup", "task") if key in has]
        if "run" in has:
            for key in (*agent, *(["agent"] if "agent" in has else [])):
                yield self.key(
                    leg.node, key, f"{key} beside run", "run for a command leg, setup and task for an agent leg"
                )
        elif not agent:
            known = "run, or setup and task"
            yield self.at(leg.node, "a leg that does nothing", known, path=f"{leg.node.path}.run")
        elif len(agent) == 1:
            missing = "task" if agent == ["setup"] else "setup"
            yield self.key(leg.node, missing, f"an agent leg without {missing}", "both setup and task")
        if agent and "budget" in has:
            yield self.key(leg.node, "budget", "budget on an agent leg", "setup.budget and task.budget")

    def _paths(self, leg: LegSource, config: Leg) -> Iterator[Problem]:
        for key, globs in (("files", config.files), ("state", config.state)):
            for glob in globs:
                path = PurePosixPath(glob)
                if path.is_absolute() or ".." in path.parts:
                    yield self.at(find(leg.node, key), repr(glob), "a relative path without ..")
                elif key == "state" and path.parts[0] not in ("session", "workspace"):
                    hint = f"session/**/{path.name}, or workspace/{glob}"
                    yield self.at(find(leg.node, key), repr(glob), "a glob below session/ or workspace/", hint)
                elif key == "state" and path.parts[0] == "session" and len(path.parts) == 2:
                    expected = "a state file in the directory that the program makes for its run"
                    yield self.at(find(leg.node, key), repr(glob), expected, f"session/**/{path.name}")

    def _slots(self, leg: LegSource, config: Leg) -> Iterator[Problem]:
        commands = (("run",), config.run), (("setup", "verify"), config.setup.verify if config.setup else None)
        for parts, command in commands:
            for name in _SLOT.findall(command or ""):
                if name not in SLOTS:
                    node = find(leg.node, *parts)
                    yield self.at(node, f"the slot <<gate:{name}>>", one_of(SLOTS), did_you_mean(name, SLOTS))
