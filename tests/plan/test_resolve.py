"""From gate.yaml to a Plan: the sketch, the reference gate, scopes, digests, and what a plan keeps of git."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from gate import documents
from gate.errors import ArtifactError, ConfigError, UsageError
from gate.plan.model import ArtifactPlan, Plan
from gate.plan.resolve import Choice, Resolved, resolve, resolve_unchecked
from tests.plan.build import AGENT, COMMAND, JUDGE, resolved, write

DATA = Path(__file__).parent / "data"


def round_trip(plan: Plan) -> None:
    assert documents.load(Plan, documents.dump(plan), "plan.json") == plan


def test_the_eight_lines_of_the_sketch_work_as_they_are() -> None:
    path = DATA / "sketch" / "gate.yaml"
    assert len(path.read_text().splitlines()) == 8
    plan = resolve(path, None, {}).plan
    round_trip(plan)
    leg = plan.leg("sort")
    assert (plan.version, plan.artifact.name, plan.scope) == ("1.2.3", "tune-1.2.3-py3-none-any.whl", "full")
    assert (leg.kind, leg.command, leg.files, leg.blocking) == ("command", "python tune.py", ("tune.py",), True)
    assert (leg.judge.finished, leg.judge.passes) == ({"done": True}, {"stop_reason": ("converged",)})
    assert [workload.id for workload in plan.workloads] == ["sort"]


def test_the_reference_gate_takes_about_forty_lines() -> None:
    path = DATA / "reference" / "gate.yaml"
    assert len(path.read_text().splitlines()) <= 45
    plan = resolve(path, None, {}).plan
    round_trip(plan)
    assert len(plan.legs) == 8
    assert plan.version == "0.9.1"
    shared = plan.workloads[0]
    assert (shared.id, shared.shared, len(shared.legs), shared.resources.gpus) == ("docker", True, 4, 8)
    assert len(plan.workloads) == 5
    leg = plan.leg("docker-vllm-12h")
    assert leg.budgets.task == 13 * 3600
    assert leg.env["HYPERLOOM_MODEL_PATH"] == "/shared-nfs/models/14b-fp8"
    assert leg.env["GATE_AXIS_HOURS"] == "12"
    assert leg.secrets == ("ANTHROPIC_API_KEY",)
    assert leg.prompts is not None
    assert "--max-hours 12" in leg.prompts.task
    assert "--target-gain 100" in leg.prompts.task
    assert leg.judge.limits["crash_count"].max == 0


@pytest.mark.parametrize("name", ["sketch", "reference"])
def test_a_plan_is_the_same_every_time(name: str) -> None:
    path = DATA / name / "gate.yaml"
    assert resolve(path, None, {}).plan == resolve(path, None, {}).plan


# --- what is chosen ------------------------------------------------------------------------------------


def reference(choice: Choice) -> Plan:
    return resolve(DATA / "reference" / "gate.yaml", choice, {}).plan


def test_a_subset_says_so_and_a_shared_workload_carries_the_chosen_alone() -> None:
    plan = reference(Choice(legs=("docker-*-12h",)))
    assert plan.scope == "subset"
    assert [leg.id for leg in plan.legs] == ["docker-vllm-12h", "docker-sglang-12h"]
    assert [workload.legs for workload in plan.workloads] == [("docker-vllm-12h", "docker-sglang-12h")]
    assert len(plan.all_legs) == 8


def test_all_legs_by_name_are_the_full_scope() -> None:
    assert reference(Choice(legs=("*",))).scope == "full"


def test_the_fast_scope_has_the_legs_that_gate_yaml_names() -> None:
    plan = reference(Choice(scope="fast"))
    assert plan.scope == "fast"
    assert [leg.id for leg in plan.legs if not leg.id.endswith("-3h")] == []
    assert len(plan.legs) == 4


def test_the_scope_none_has_no_leg_and_no_workload() -> None:
    plan = reference(Choice(scope="none"))
    assert (plan.legs, plan.workloads, plan.scope) == ((), (), "none")
    round_trip(plan)


@pytest.mark.parametrize(
    ("choice", "says"),
    [
        (Choice(legs=("a",), scope="fast"), "--legs and --scope do not go together"),
        (Choice(scope="fast"), "gate.yaml names no fast legs"),
        (Choice(legs=("b",)), "no leg matches 'b'"),
    ],
)
def test_a_choice_that_cannot_be(tmp_path: Path, choice: Choice, says: str) -> None:
    with pytest.raises(UsageError, match=says):
        resolved(tmp_path, COMMAND, choice)


# --- digests -------------------------------------------------------------------------------------------

BASE = COMMAND.replace("run: 'true'", "run: 'sh a.sh'")
CHANGES: list[tuple[str, Callable[[str], str], dict[str, str], bool]] = [
    ("nothing", lambda text: text, {}, False),
    ("a comment", lambda text: text + "# remark\n", {}, False),
    ("informing", lambda text: text.replace("10m}", "10m, informing: true}\n  z: {run: 'true'}"), {}, False),
    ("the command", lambda text: text.replace("sh a.sh", "sh -e a.sh"), {}, True),
    ("a staged file", lambda text: text, {"a.sh": "exit 1\n"}, True),
    ("the judge", lambda text: text.replace("ok: true", "ok: false"), {}, True),
    ("a budget", lambda text: text.replace("10m", "11m"), {}, True),
    ("the environment", lambda text: text + "env: {A: b}\n", {}, True),
    ("the resources", lambda text: text + "workloads: {w: {legs: a, resources: {cpus: 2}}}\n", {}, True),
    ("the engine", lambda text: text + "engine: slurm\n", {}, True),
    ("the artifact", lambda text: text.replace("artifact: none", "artifact: a.sh"), {}, True),
    ("where the root is", lambda text: text + "root: /elsewhere\n", {}, False),
]


@pytest.mark.parametrize(("what", "change", "files", "differs"), CHANGES, ids=[change[0] for change in CHANGES])
def test_a_digest_changes_with_all_that_can_change_the_result(
    tmp_path: Path, what: str, change: Callable[[str], str], files: dict[str, str], differs: bool
) -> None:
    before = resolved(tmp_path, BASE, None, **{"a.sh": "exit 0\n"}).plan.leg("a").digest
    after = resolved(tmp_path, change(BASE), None, **files).plan.leg("a").digest
    assert (before != after) == differs, what


def test_a_prompt_is_part_of_the_digest(tmp_path: Path) -> None:
    before = resolved(tmp_path, AGENT).plan.leg("a").digest
    assert resolved(tmp_path, AGENT.replace("Run it now.", "Run it soon.")).plan.leg("a").digest != before


# --- the rest of a plan --------------------------------------------------------------------------------


def test_secrets_reach_agent_legs_but_not_those_of_the_engine_and_no_command(tmp_path: Path) -> None:
    text = (
        AGENT + "  c: {run: 'true'}\n  d: {run: 'true', secrets: [KEY]}\n"
        "secrets: {KEY: {env: K}, OTHER: {file: k.txt}, ENGINE: {command: 'print key'}}\n"
        "engine: {kind: safe, credential: ENGINE}\n"
    )
    plan = resolved(tmp_path, text).plan
    assert [plan.leg(leg).secrets for leg in "acd"] == [("KEY", "OTHER"), (), ("KEY",)]
    assert [(ref.source, ref.spec) for ref in plan.secrets] == [
        ("env", "K"),
        ("file", str(tmp_path / "k.txt")),
        ("command", "print key"),
    ]
    assert plan.engine.parameters == {"credential": "ENGINE"}


def test_the_root_is_relative_to_gate_yaml_and_else_the_user_s_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GATE_STATE_DIR", str(tmp_path / "own"))
    assert resolved(tmp_path, COMMAND + "root: runs\n").plan.root == str(tmp_path / "runs")
    assert resolved(tmp_path, COMMAND).plan.root == str(tmp_path / "own" / "runs")


def test_one_word_of_a_reader_is_split_as_a_shell_would(tmp_path: Path) -> None:
    assert resolved(tmp_path, COMMAND + "reader: sudo -n cat\n").plan.reader == ("sudo", "-n", "cat")
    assert resolved(tmp_path, COMMAND + "reader: [sudo, -n, cat]\n").plan.reader == ("sudo", "-n", "cat")


def test_an_artifact_can_be_stood_in_for(tmp_path: Path) -> None:
    stand_in = ArtifactPlan("file", "/x/p-2.0-py3-none-any.whl", "p-2.0-py3-none-any.whl", "sha256:" + "0" * 64, 1)
    text = COMMAND.replace("artifact: none", "artifact: dist/*.whl")
    plan = resolved(tmp_path, text, Choice(artifact=stand_in)).plan
    assert (plan.artifact, plan.version) == (stand_in, "2.0")
    with pytest.raises(ArtifactError, match="Build it first"):
        resolved(tmp_path, text)


def test_files_of_globs_and_of_words_of_commands_come_along(tmp_path: Path) -> None:
    text = COMMAND.replace(
        "run: 'true'",
        "run: 'X=conf.ini python -m x --list=l.txt sub/t.py; cat <in.txt && ls sub no.txt /etc/passwd', files: [d]",
    )
    names = ("conf.ini", "l.txt", "sub/t.py", "sub/u.py", "in.txt", "d/1", "d/e/2", "d/__pycache__/3", "other")
    plan = resolved(tmp_path, text, None, **dict.fromkeys(names, "x")).plan
    assert plan.leg("a").files == ("conf.ini", "d/1", "d/e/2", "in.txt", "l.txt", "sub/t.py")


OUT = (
    "version: 1\ngate: g\nartifact: none\n"
    + JUDGE
    + "legs:\n  a: {run: 'python3 tune.py --out out/state.json', budget: 1m, %s}\n"
)


def test_an_old_result_is_not_taken_along_though_the_command_names_it(tmp_path: Path) -> None:
    """A run by hand left `out/state.json` beside gate.yaml: taken along it would pass before anything was measured."""
    old = {"tune.py": "", "out/state.json": '{"done": true, "ok": true}'}
    found = resolved(tmp_path, OUT % "state: workspace/out/state.json", None, **old)
    assert found.plan.leg("a").files == ("tune.py",)
    assert any("out/state.json is not taken along" in note for note in found.notes)


def test_an_old_result_that_is_asked_for_is_an_error(tmp_path: Path) -> None:
    old = {"tune.py": "", "out/state.json": "{}", "out/input.txt": ""}
    with pytest.raises(ConfigError, match=r"gate\.yaml:6.*'out/state\.json', which would count as the leg's state"):
        resolved(tmp_path, OUT % "state: workspace/out/state.json, files: [out]", None, **old)


def test_a_file_of_a_results_name_comes_along_where_it_does_not_count(tmp_path: Path) -> None:
    old = {"tune.py": "", "out/state.json": "{}"}
    assert resolved(tmp_path, OUT % "files: [out]", None, **old).plan.leg("a").files == ("out/state.json", "tune.py")


def test_a_glob_of_files_that_matches_nothing_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"gate\.yaml:6: legs\.a\.files: found 'x\*', which matches no file"):
        resolved(tmp_path, COMMAND.replace("budget: 10m", "files: ['x*']"))


def test_words_of_a_verify_command_come_along(tmp_path: Path) -> None:
    text = AGENT.replace("{prompt: Set it up.}", "{prompt: Set it up., verify: sh check.sh 'open}")
    assert resolved(tmp_path, text, None, **{"check.sh": "true"}).plan.leg("a").files == ("check.sh",)


def test_notes_say_what_is_worth_knowing(tmp_path: Path) -> None:
    text = AGENT.replace(", version: '1'", "") + "    informing: true\n  b: {run: 'true'}\n"
    notes = resolved(tmp_path, text, Choice(legs=("a",))).notes
    assert any("no version is pinned" in note for note in notes)
    assert any("no chosen leg is blocking" in note for note in notes)
    assert any("no artifact" in note for note in notes)


def test_a_turn_shorter_than_the_cli_s_own_silence_is_noted(tmp_path: Path) -> None:
    text = AGENT.replace("kind: command, version: '1', start: [agent], resume: [agent]", "kind: claude, version: '2'")
    assert any("6m1s" in note for note in resolved(tmp_path, text + "budgets: {turn: 5m}\n").notes)
    assert not any("6m1s" in note for note in resolved(tmp_path, text).notes)


def test_a_thousand_legs_resolve_quickly(tmp_path: Path) -> None:
    axes = f"{{n: [{', '.join(map(str, range(1000)))}]}}"
    text = f"version: 1\ngate: g\nartifact: none\n{JUDGE}matrix: {{axes: {axes}, run: 'true', budget: 10m}}\n"
    plan = resolved(tmp_path, text).plan
    assert len(plan.workloads) == 1000


# --- git -----------------------------------------------------------------------------------------------


def git(folder: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "init.defaultBranch=main")
    done = subprocess.run(["git", "-C", str(folder), *identity, *arguments], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def facts(found: Resolved) -> tuple[str, str, str]:
    return found.plan.repository, found.plan.ref, found.plan.commit


def test_outside_git_the_folder_names_the_repository(tmp_path: Path) -> None:
    folder = tmp_path / "product"
    folder.mkdir()
    assert facts(resolved(folder, COMMAND)) == ("local/product", "", "")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://github.com/owner/name.git", "owner/name"),
        ("git@github.com:owner/name", "owner/name"),
        ("ssh://git@host:22/team/owner/name.git/", "owner/name"),
    ],
)
def test_git_tells_repository_branch_and_commit(tmp_path: Path, url: str, name: str) -> None:
    (tmp_path / "ci").mkdir()
    write(tmp_path / "ci", COMMAND)
    git(tmp_path, "init", "-q")
    assert facts(resolve_unchecked(tmp_path / "ci" / "gate.yaml", None, {}))[1:] == ("refs/heads/main", "")
    git(tmp_path, "remote", "add", "origin", url)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "x")
    commit = git(tmp_path, "rev-parse", "HEAD")
    assert facts(resolve_unchecked(tmp_path / "ci" / "gate.yaml", None, {})) == (name, "refs/heads/main", commit)
    git(tmp_path, "checkout", "-q", "--detach")
    assert facts(resolve_unchecked(tmp_path / "ci" / "gate.yaml", None, {})) == (name, commit, commit)


def test_on_github_a_pull_request_is_named_by_its_own_commit(tmp_path: Path) -> None:
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"head": {"sha": "f" * 40}}}))
    environ = {
        "GITHUB_REPOSITORY": "o/n",
        "GITHUB_REF": "refs/pull/7/merge",
        "GITHUB_SHA": "a" * 40,
        "GITHUB_EVENT_NAME": "pull_request",
        "GITHUB_EVENT_PATH": str(event),
    }
    path = write(tmp_path, COMMAND)
    assert facts(resolve_unchecked(path, None, environ)) == ("o/n", "refs/pull/7/merge", "f" * 40)
    assert facts(resolve_unchecked(path, None, {**environ, "GITHUB_EVENT_NAME": "push"}))[2] == "a" * 40


def test_without_git_a_plan_is_still_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert shutil.which("git") is None
    assert facts(resolved(tmp_path, COMMAND)) == (f"local/{tmp_path.name}", "", "")
