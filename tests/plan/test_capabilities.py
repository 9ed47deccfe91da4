"""An engine that cannot do what the plan asks is named before anything is launched, with those that can."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from gate.contracts import Capabilities
from gate.errors import CapabilityError
from gate.plan.capabilities import check_capabilities
from gate.plan.model import Plan
from tests.plan.build import COMMAND, resolved

NOTHING = Capabilities(
    list_lag=0,
    max_name=63,
    name_pattern=".*",
    privileged=False,
    shared=False,
    images=False,
    timeouts=False,
    logs_after_end=False,
    shell=False,
    queue_position=False,
    gpus=False,
    protects_gate=False,
    options=("partition",),
)
ALL = replace(NOTHING, privileged=True, shared=True, images=True, gpus=True, options=("partition", "queue"))


def plan(folder: Path, workload: str) -> Plan:
    text = COMMAND + f"  b: {{run: 'true'}}\nworkloads: {{w: {workload}}}\n"
    return resolved(folder, text).plan


@pytest.mark.parametrize(
    ("workload", "says"),
    [
        ("{legs: a, resources: {privileged: true}}", "workload a (a) needs a privileged container"),
        ("{legs: '*', shared: true}", "workload w (a, b) needs several legs in one workload (shared); slurm can"),
        ("{legs: a, resources: {image: repo/x}}", "needs the image repo/x"),
        ("{legs: a, resources: {gpus: 2}}", "needs 2 GPUs"),
        (
            "{legs: a, resources: {options: {partitoin: x}}}",
            "the option 'partitoin' (resources.options); no engine can (did you mean 'partition'?)",
        ),
        ("{legs: a, resources: {options: {queue: x}}}", "the option 'queue' (resources.options); slurm can"),
    ],
)
def test_what_an_engine_cannot_do(tmp_path: Path, workload: str, says: str) -> None:
    asked = plan(tmp_path, workload)
    with pytest.raises(CapabilityError) as caught:
        check_capabilities(asked, NOTHING, {"local": NOTHING, "slurm": ALL})
    assert "the local engine cannot do what the plan asks" in str(caught.value)
    assert says in str(caught.value)


def test_everything_that_is_missing_is_told_at_once(tmp_path: Path) -> None:
    with pytest.raises(CapabilityError) as caught:
        check_capabilities(
            plan(tmp_path, "{legs: '*', shared: true, resources: {gpus: 2, privileged: true}}"), NOTHING, {}
        )
    assert str(caught.value).count("needs") == 3


def test_an_engine_that_can_is_taken(tmp_path: Path) -> None:
    check_capabilities(plan(tmp_path, "{legs: '*', shared: true, resources: {gpus: 2, privileged: true}}"), ALL, {})
    check_capabilities(plan(tmp_path, "{legs: '*'}"), NOTHING, {})
