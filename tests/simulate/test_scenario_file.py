"""scenario.yaml: read strictly, with everything that is wrong at once; written back as it was; and its schema."""

from __future__ import annotations

import json
import re
from dataclasses import fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gate.errors import ConfigError, UsageError
from gate.simulate.menu import KINDS, MENU
from gate.simulate.reference import FILE, page
from gate.simulate.scenario import Durations, Fault, LegCourse, Rerun, Scenario, Span
from gate.simulate.scenario_file import check_legs, parse_scenario, read_scenario, scenario_schema
from gate.simulate.scenario_text import parse_fault, spell, spell_fault
from tests.simulate.gates import small

EXAMPLE = b"""\
version: 1
name: a bad night
durations: {pull: 5m..20m, task: 80%..95%, wake: 1s}
legs:
  "agent*": {install: 30m, result: fail}
faults:
  - {fault: oom, at: 2h, legs: agent}
  - {fault: kill_poller, step: 17, side: after, restart: never}
  - {fault: clock_skew, by: -15m, who: poller}
  - {fault: api_5xx, probability: 30%}
  - {fault: cancel, at: 1h, signal: SIGINT}
reruns: [{after: 10m, fresh: true}]
neighbours: true
"""


def test_an_example_is_read_as_it_is_meant() -> None:
    scenario = parse_scenario(EXAMPLE, "scenario.yaml")
    assert scenario == Scenario(
        name="a bad night",
        durations=Durations(pull=Span(300, 1200), task=Span(0.8, 0.95, of_budget=True), wake=Span(1, 1)),
        legs={"agent*": LegCourse(install=Span(1800, 1800), result="fail")},
        faults=(
            Fault("oom", at=7200.0, legs=("agent",)),
            Fault("kill_poller", step=17, side="after", restart=None),
            Fault("clock_skew", seconds=-900.0, who="poller"),
            Fault("api_5xx", probability=0.3),
            Fault("cancel", at=3600.0, signal=2),
        ),
        reruns=(Rerun(600.0, fresh=True),),
        neighbours=True,
    )


def test_a_scenario_is_written_as_it_is_read() -> None:
    scenario = parse_scenario(EXAMPLE, "scenario.yaml")
    assert parse_scenario(json.dumps(spell(scenario)).encode(), "again.yaml") == scenario


whole = st.integers(min_value=1, max_value=100_000).map(float)


@st.composite
def faults(draw: st.DrawFn) -> Fault:
    kind = draw(st.sampled_from(sorted(MENU)))
    values: dict[str, st.SearchStrategy[object]] = {
        "at": whole,
        "lasts": whole,
        "seconds": whole,
        "probability": st.floats(min_value=0, max_value=1),
        "legs": st.sampled_from([("agent",), ("a*", "command")]),
        "turn": st.integers(1, 9),
        "who": st.sampled_from(["dispatcher", "poller", "workload"]),
        "step": st.integers(1, 99),
        "side": st.sampled_from(["before", "after"]),
        "restart": st.one_of(st.none(), whole),
        "signal": st.sampled_from([2, 15]),
    }
    chosen = draw(st.sets(st.sampled_from(sorted(MENU[kind].fields))))
    return Fault(kind, **{name: draw(values[name]) for name in sorted(chosen)})  # type: ignore[arg-type]


@given(st.lists(faults(), max_size=5))
def test_any_fault_survives_being_written(made: list[Fault]) -> None:
    scenario = Scenario(faults=tuple(made))
    assert parse_scenario(json.dumps(spell(scenario)).encode(), "x.yaml") == scenario


BROKEN = b"""\
version: 1
durations: {pull: 5m..2m, wake: soon, task: 80%..2h}
legs:
  "docker-*": {install: 30m, result: fials}
faults:
  - {fault: oomm, at: 2h}
  - {fault: kill_poller, step: 0, for: 3m}
  - {fault: clock_skew, by: -15m, who: pollr}
  - {fault: api_5xx, probability: 130%}
  - {fault: oom, at: 120}
  - {at: 5m}
reruns: [{after: -5m}]
neighbors: true
"""

COMPLAINTS = (
    "scenario.yaml:2: durations.pull: found '5m..2m'; expected a duration such as 90s, a range",
    "(the lower end first, and both of one kind)",
    "scenario.yaml:2: durations.wake: found 'soon'",
    "scenario.yaml:2: durations.task: found '80%..2h'",
    "scenario.yaml:4: legs.docker-*.result: found 'fials'; expected 'pass', 'fail'",
    "(did you mean 'fail'?)",
    "scenario.yaml:6: faults[0].fault: found 'oomm'; expected a fault of the menu (did you mean 'oom'?)",
    "scenario.yaml:7: faults[1].step: found 0",
    "scenario.yaml:7: faults[1].for: found 'for' at kill_poller; expected one of at, probability, step, side, restart",
    "scenario.yaml:8: faults[2].who: found 'pollr'",
    "(did you mean 'poller'?)",
    "scenario.yaml:9: faults[3].probability: found '130%'; expected a probability from 0 to 1",
    "scenario.yaml:10: faults[4].at: found 120; expected a duration such as 90s",
    "scenario.yaml:11: faults[5].fault: found nothing",
    "scenario.yaml:12: reruns[0].after: found '-5m'",
    "scenario.yaml:13: neighbors: found the unknown key 'neighbors'",
    "(did you mean 'neighbours'?)",
)


def test_everything_that_is_wrong_is_told_at_once_with_its_place() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_scenario(BROKEN, "scenario.yaml")
    text = str(caught.value)
    assert [complaint for complaint in COMPLAINTS if complaint not in text] == []


@pytest.mark.parametrize(
    "raw", [b"", b"- a list", b"version: 2", b"version: 1\nfaults: [", b"\xff", b"version: 1\nversion: 1"]
)
def test_what_is_no_scenario_is_refused(raw: bytes) -> None:
    with pytest.raises(ConfigError):
        parse_scenario(raw, "scenario.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.yaml: cannot be read"):
        read_scenario(tmp_path / "nowhere.yaml")


def test_a_leg_that_the_gate_does_not_have_is_told() -> None:
    """A fault that names nobody would say that everything is fine."""
    with pytest.raises(UsageError, match=r"'agnet'.*\n.*did you mean 'agent'"):
        check_legs(Scenario(faults=(Fault("oom", legs=("agnet",)),)), small())
    check_legs(Scenario(faults=(Fault("oom", legs=("a*",)),)), small())


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("oom", Fault("oom")),
        ("oom@2h", Fault("oom", at=7200.0)),
        ("oom@2h:legs=docker-*", Fault("oom", at=7200.0, legs=("docker-*",))),
        ("clock_skew:by=-15m,who=poller", Fault("clock_skew", seconds=-900.0, who="poller")),
        ("turn_429:probability=0.3", Fault("turn_429", probability=0.3)),
        ("turn_429:probability=30%", Fault("turn_429", probability=0.3)),
        ("kill_poller:step=17,side=after,restart=never", Fault("kill_poller", step=17, side="after", restart=None)),
        ("api_401@1h:for=20m", Fault("api_401", at=3600.0, lasts=1200.0)),
    ],
)
def test_a_fault_is_named_on_the_command_line(text: str, fault: Fault) -> None:
    assert parse_fault(text) == fault


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("omo@3h", "did you mean 'oom'?"),
        ("oom@soon", "expected a duration"),
        ("oom:step=3", "'step' at oom; expected one of at, legs, probability"),
        ("oom:legs", "expected key=value"),
        ("", "expected a fault of the menu"),
    ],
)
def test_a_fault_that_is_none_is_explained(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_fault(text)
    assert says in str(caught.value)


def test_the_schema_names_every_fault_and_every_key() -> None:
    schema = scenario_schema()
    properties = schema["$defs"]["FaultPart"]["properties"]
    assert tuple(properties["fault"]["enum"]) == KINDS
    assert {"fault", "at", "for", "by", "legs", "who", "step", "side", "restart", "signal"} <= set(properties)
    assert schema["additionalProperties"] is False


def test_the_shortest_fault_is_its_name() -> None:
    assert spell_fault(Fault("oom")) == {"fault": "oom"}


def test_the_page_has_the_menu_and_an_example_that_is_read() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert page(text) == text, "python -m gate.simulate.reference brings it up to date"
    example = text.partition("```yaml\n")[2].partition("```")[0]
    scenario = parse_scenario(example.encode(), "docs/simulate.md")
    assert len(scenario.faults) == 5


def test_the_page_gives_the_durations_of_the_code() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (\S+) \|", FILE.read_text(encoding="utf-8"), re.MULTILINE))
    usual = {field.name: getattr(Durations(), field.name) for field in fields(Durations)}
    written = {name: parse_scenario(f"version: 1\ndurations: {{{name}: {rows[name]}}}".encode(), "x") for name in usual}
    assert {name: getattr(scenario.durations, name) for name, scenario in written.items()} == usual
