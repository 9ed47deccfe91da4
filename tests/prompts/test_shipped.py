"""The shipped templates, rendered as a gate.yaml would: the contract is in every prompt, and each leg gets its own."""

from __future__ import annotations

import itertools
import re

import pytest

from gate.bootstrap.prompts import compose
from gate.machines.leg_model import RunTurn
from gate.plan.model import SLOTS, ArtifactPlan, LegPlan, Prompts
from gate.plan.resolve import Choice, resolve

GATE = """\
version: 1
gate: reference
artifact: none
agent: {kind: command, start: [agent]}
judge: {finished: {close_sequence_done: true}, limits: {crash_count: {max: 0}}}
matrix:
  axes: {mode: [baremetal, docker], backend: [vllm, sglang], hours: [3, 12]}
  id: "{mode}-{backend}-{hours}h"
  setup: {prompt: gate/hyperloom/setup.md.j2, verify: test -d product, budget: 45m}
  task: {prompt: gate/hyperloom/task.md.j2, budget: {by: hours, 3: 4h, 12: 13h}}
"""

LEGS = [
    f"{mode}-{backend}-{hours}h"
    for mode, backend, hours in itertools.product(("baremetal", "docker"), ("vllm", "sglang"), (3, 12))
]
WHOLE = ("setup", "task")
RESUMED = ("nudge", "finish_launch", "redrive")


@pytest.fixture(scope="module")
def legs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, LegPlan]:
    """The eight legs of the reference gate."""
    path = tmp_path_factory.mktemp("gate") / "gate.yaml"
    path.write_text(GATE)
    artifact = ArtifactPlan("file", "dist/product.whl", "product.whl", "sha256:" + "0" * 64, 1)
    return {leg.id: leg for leg in resolve(path, Choice(version="1.0", artifact=artifact)).plan.legs}


def prompts(legs: dict[str, LegPlan], leg: str) -> Prompts:
    """The rendered texts of one leg."""
    found = legs[leg].prompts
    assert found is not None
    return found


def words(text: str) -> str:
    """The text with all white space as single blanks, so that line breaks do not matter."""
    return " ".join(text.split())


def test_all_eight_legs_render(legs: dict[str, LegPlan]) -> None:
    assert sorted(legs) == sorted(LEGS)


@pytest.mark.parametrize("leg", LEGS)
@pytest.mark.parametrize("name", WHOLE)
def test_the_whole_contract_is_in_setup_and_task(legs: dict[str, LegPlan], leg: str, name: str) -> None:
    text = words(getattr(prompts(legs, leg), name))
    for rule in (
        "one non-interactive run of your command line",
        "What ends with the turn",
        "setsid nohup COMMAND >LOGFILE 2>&1 </dev/null &",
        "Confirm that it is live",
        "No secrets in any output",
        "No fabricated result",
    ):
        assert text.count(rule) == 1, rule


@pytest.mark.parametrize("name", RESUMED)
def test_resumed_turns_carry_the_contract_in_short(legs: dict[str, LegPlan], name: str) -> None:
    texts = prompts(legs, LEGS[0])
    text = words(getattr(texts, name))
    for rule in (
        "one non-interactive turn and no questions",
        "setsid nohup",
        "confirmed to be live",
        "no secrets",
        "no fabricated",
    ):
        assert rule in text, rule
    assert len(text) < len(words(texts.setup)) / 2


@pytest.mark.parametrize("leg", LEGS)
def test_the_marker_is_asked_for_by_setup_and_nudge_alone(legs: dict[str, LegPlan], leg: str) -> None:
    texts = prompts(legs, leg)
    asked = {name for name in (*WHOLE, *RESUMED, "recap") if texts.marker in getattr(texts, name)}
    assert asked == {"setup", "nudge"}
    assert texts.nudge.rstrip().splitlines()[-1] == texts.marker


def test_each_leg_is_told_its_own_mode_backend_and_duration(legs: dict[str, LegPlan]) -> None:
    tells = {
        "baremetal": ("setup", "no container"),
        "docker": ("setup", "docker run --detach"),
        "vllm": ("setup", "vLLM on ROCm"),
        "sglang": ("setup", "gfx950 is MI355X, gfx942 is MI300X"),
        "3h": ("task", "--max-minutes-framework-pct 0.90"),
        "12h": ("task", "--max-minutes-kernel-pct 0.42"),
    }
    for leg in LEGS:
        for word, (name, told) in tells.items():
            assert (told in words(getattr(prompts(legs, leg), name))) == (word in leg.split("-")), (leg, word)


@pytest.mark.parametrize("leg", LEGS)
def test_the_target_is_out_of_reach_and_the_reason_stands_beside_it(legs: dict[str, LegPlan], leg: str) -> None:
    text = words(prompts(legs, leg).task)
    assert "--target-gain 100" in text
    assert "out of reach on purpose" in text


@pytest.mark.parametrize("leg", [leg for leg in LEGS if leg.endswith("-12h")])
def test_flags_that_leave_out_a_phase_are_named_only_to_be_forbidden(legs: dict[str, LegPlan], leg: str) -> None:
    text = words(prompts(legs, leg).task)
    commands = "".join(re.findall(r"```(.*?)```", prompts(legs, leg).task, re.DOTALL))
    for flag in ("--no-framework-agent", "--no-kernel"):
        assert flag in text
        assert flag not in commands
    assert "Do not pass `--no-framework-agent` or `--no-kernel`" in text


def test_rocmaorta222_containers_carry_the_labels_by_which_they_are_removed(legs: dict[str, LegPlan]) -> None:
    text = prompts(legs, "docker-vllm-12h").setup
    assert '--label "gate.tag=$GATE_TAG"' in text
    assert '--label "gate.workload=$GATE_WORKLOAD"' in text
    assert '--name "hyperloom-docker-vllm-12h"' in text


def test_a_container_gets_one_gpu_by_the_leg_s_position(legs: dict[str, LegPlan]) -> None:
    text = prompts(legs, "docker-vllm-12h").setup
    assert "/dev/dri/renderD$((128 + 8 * <<gate:gpu>>))" in text
    assert "--privileged" not in "".join(re.findall(r"```(.*?)```", text, re.DOTALL))


@pytest.mark.parametrize("leg", LEGS)
def test_nothing_is_left_unrendered(legs: dict[str, LegPlan], leg: str) -> None:
    for name in (*WHOLE, *RESUMED, "recap"):
        text = getattr(prompts(legs, leg), name)
        assert "{{" not in text
        assert "{%" not in text
        assert set(re.findall(r"<<gate:([^>]*)>>", text)) <= set(SLOTS)


def test_cc40609_the_recap_stands_before_the_task_that_goes_on(legs: dict[str, LegPlan]) -> None:
    """A lost session: one fresh turn that says what happened, and then all that it must know."""
    turn = RunTurn(ordinal=4, kind="task", session=4, resume=False, recap=True, budget=60, extra="")
    text = compose(prompts(legs, LEGS[0]), turn)
    assert text.index("can no longer be resumed") < text.index("Now run the product's demo")
