"""A played gate as plain JSON: the same bytes for the same plan, scenario and seed."""

from __future__ import annotations

from gate.documents import Json, encode
from gate.simulate.played import Played, PlayedAttempt, PlayedWorkload
from gate.simulate.rungs import climbed
from gate.simulate.scenario_text import spell, spell_fault
from gate.simulate.timeline import timeline


def as_json(played: Played) -> dict[str, Json]:
    """Everything that `gate simulate --json` prints. Times are seconds since the first dispatch began."""
    attempt = played.attempt
    return {
        "gate": played.plan.gate,
        "version": played.plan.version,
        "scope": played.plan.scope,
        "seed": played.seed,
        "scenario": spell(played.scenario),
        "exit_codes": list(played.exit_codes),
        "ended": _time(played.ended),
        "decision": encode(attempt.decision) if attempt is not None and attempt.decision is not None else None,
        "attempts": [_attempt(each) for each in played.attempts],
        "workloads": [_workload(each) for each in played.workloads if not each.foreign],
        "timeline": [
            {"at": _time(line.at), "kind": line.kind, "subject": line.subject, "text": line.text}
            for line in timeline(played)
        ],
        "ladder": [
            {
                "rung": rung.rung,
                "subject": rung.subject,
                "spent": _time(rung.spent),
                "budget": _time(rung.budget),
                "slack": _time(rung.slack),
                "hit": rung.hit,
            }
            for rung in climbed(played)
        ],
        "processes": [
            {
                "process": each.name,
                "role": each.role,
                "began": _time(each.began),
                "ended": _time(each.ended),
                "killed": each.killed,
                "exit_code": each.exit_code,
                "error": each.error,
                "steps": len(each.steps),
            }
            for each in played.processes
        ],
        "struck": [
            {"at": _time(each.at), "subject": each.subject, "detail": each.detail, **spell_fault(each.fault)}
            for each in played.struck
        ],
        "remaining": [encode(each) for each in played.remaining],
    }


def _attempt(attempt: PlayedAttempt) -> dict[str, Json]:
    record = attempt.attempt
    return {
        "run": record.run,
        "attempt": record.attempt,
        "tag": record.tag,
        "carried": dict(record.carried),
        "adopted": dict(record.adopted),
        "decision": attempt.decision.word if attempt.decision is not None else None,
        "verdicts": [
            {
                "at": _time(written.at),
                "leg": written.verdict.leg,
                "outcome": written.verdict.outcome.value,
                "reason": written.verdict.reason.value,
                "sentence": written.verdict.sentence,
                "by": written.process,
            }
            for written in attempt.verdicts
            if written.effect
        ],
        "kept": [encode(lease) for lease in attempt.kept],
    }


def _workload(workload: PlayedWorkload) -> dict[str, Json]:
    return {
        "id": workload.engine_id,
        "workload": workload.workload,
        "run": workload.run,
        "tag": workload.tag,
        "created": _time(workload.created),
        "ended": None if workload.ended is None else _time(workload.ended),
        "history": [[_time(each.at), each.phase.value, each.reason] for each in workload.history],
        "kept": [[_time(begin), _time(end)] for begin, end in workload.kept],
    }


def _time(seconds: float) -> float:
    return round(seconds, 3)
