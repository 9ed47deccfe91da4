"""What is said of gate.yaml's engine and resources before anything is sent."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gate.engines import open_engine, seen_by_workloads
from gate.engines.containers import render_node, shares
from gate.engines.safe.parameters import notes, parameters
from gate.engines.safe.unfit import unfit
from gate.errors import ConfigError
from gate.plan.model import EnginePlan, Resources
from tests.conformance.engine_worlds import Job, plain_request

GOOD: dict[str, Any] = {"url": "https://safe.test/api/v1/", "workspace": "ws", "api_key": "KEY", "image": "img"}


def resources(**changes: Any) -> Resources:
    plain: dict[str, Any] = {
        "cpus": 1,
        "memory": 1 << 30,
        "gpus": 0,
        "image": None,
        "privileged": False,
        "options": {},
    }
    return Resources(**(plain | changes))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"url": None}, "url is missing"),
        ({"url": "safe.test"}, "url is an http or https address"),
        ({"url": "https://me:pw@safe.test"}, "without user, password"),
        ({"workspace": None}, "workspace is missing"),
        ({"workspace": "a b"}, "workspace is a word"),
        ({"priority": 3}, "priority is low, medium or high"),
        ({"ca_bundle": "/not/there"}, "ca_bundle is a file"),
        ({"ca_bundle": __file__, "insecure": True}, "do not go together"),
        ({"insecure": "yes"}, "insecure is true or false"),
        ({"mount": "share"}, "mount is an absolute path"),
        ({"ttl": 60}, "ttl is a duration"),
        ({"list_lag": "0s"}, "list_lag is a duration"),
        ({"concurrency": 0}, "concurrency is a number"),
        ({"secrets": {"KEY": "Not An Id"}}, "secrets.KEY is the id"),
    ],
)
def test_wrong_parameters_are_told_with_what_was_found(changes: dict[str, Any], said: str) -> None:
    given = {key: value for key, value in (GOOD | changes).items() if value is not None}
    with pytest.raises(ConfigError, match=said):
        parameters(given)


def test_the_address_may_hold_the_path_of_the_api() -> None:
    assert parameters(GOOD).url == "https://safe.test"


def test_without_a_key_nothing_is_opened() -> None:
    with pytest.raises(ConfigError, match="api_key is missing"):
        open_engine(EnginePlan("safe", GOOD))


def test_what_weakens_the_connection_is_said_aloud() -> None:
    assert notes(GOOD) == ()
    assert "NOT checked" in notes({**GOOD, "insecure": True})[0]
    assert "unencrypted" in notes({**GOOD, "url": "http://10.0.0.1:32495"})[0]
    assert notes({**GOOD, "url": "http://127.0.0.1:1"}) == ()


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"cpus": 0}, "it asks for no CPUs"),
        ({"memory": 0}, "it asks for no memory"),
        ({"options": {"priority": "urgent"}}, "options.priority is low, medium or high"),
        ({"options": {"shared_memory": 5}}, "options.shared_memory is a size"),
        ({"options": {"nodes": "n1"}}, "options.nodes is a list"),
        ({"options": {"node_labels": ["a"]}}, "options.node_labels is a mapping"),
        ({"options": {"host_network": 1}}, "options.host_network is true or false"),
    ],
)
def test_what_a_workload_will_never_get(changes: dict[str, Any], said: str) -> None:
    assert any(said in one for one in unfit(resources(**changes), GOOD))


def test_an_image_comes_from_the_workload_or_the_engine() -> None:
    without = {key: value for key, value in GOOD.items() if key != "image"}
    assert unfit(resources(), GOOD) == []
    assert unfit(resources(image="own"), without) == []
    assert "no image" in unfit(resources(), without)[0]


def test_the_root_may_be_mounted_elsewhere(tmp_path: Path) -> None:
    class Some:
        engine = EnginePlan("safe", {**GOOD, "mount": "/wekafs/gate"})
        root = str(tmp_path)

    assert seen_by_workloads(Some, tmp_path / "o%2Fr" / "g") == "/wekafs/gate/o%2Fr/g"  # type: ignore[arg-type]


def test_render_nodes_are_eight_apart() -> None:
    assert [render_node(index) for index in (0, 1, 7)] == [f"/dev/dri/renderD{n}" for n in (128, 136, 184)]


def test_each_container_leg_gets_its_own_card_and_an_equal_share() -> None:

    request = plain_request(Job(), "/run")
    assert shares(request, "/share") == ()
    shared = replace(request, legs=("a", "b"), resources=resources(cpus=8, memory=1000, gpus=2, privileged=True))
    lines = shares(shared, "/share")
    assert "export GATE_LEG_1_CONTAINER_DEVICES='/dev/kfd /dev/dri/renderD136'" in lines
    assert "export GATE_LEG_0_CONTAINER_MEMORY=450" in lines
    assert "export GATE_LEG_0_CONTAINER_CPUS=4" in lines
    assert "export GATE_LEG_0_CONTAINER_MOUNT=/share" in lines
    assert any(line.startswith("export GATE_LEG_1_CONTAINER_GROUPS=") and "stat -c %g" in line for line in lines)
