"""The Claude CLI's stream of events (`--output-format stream-json`): what it adds up to, and how it reads to people.

The raw events stay in the CLI's own conversation file below its HOME.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gate.contracts import Usage
from gate.documents import Json

SHOWN = 16_000
"""Characters of one tool's input or result in the transcript."""


@dataclass(slots=True)
class Events:
    """What the events of one turn came to so far."""

    session: str | None = None
    results: list[Mapping[str, Json]] = field(default_factory=list)
    """Every result event: with a background task there is more than one, and the last counts."""

    def take(self, line: bytes) -> str:
        """Book one line of output; what of it goes into the transcript."""
        try:
            event = json.loads(line)
        except ValueError:
            return line.decode(errors="replace") + "\n"
        if not isinstance(event, dict):
            return line.decode(errors="replace") + "\n"
        session = event.get("session_id")
        if isinstance(session, str):
            self.session = session
        if event.get("type") == "result":
            self.results.append(event)
        return _shown(event)

    @property
    def last(self) -> Mapping[str, Json] | None:
        """The result that counts; None where the CLI gave none."""
        return self.results[-1] if self.results else None

    def usage(self) -> Usage | None:
        """Tokens of this turn, cached ones included: each result event counts its own."""
        found = [result["usage"] for result in self.results if isinstance(result.get("usage"), dict)]
        if not found or len(found) != len(self.results):
            return None
        read = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens")
        return Usage(
            input_tokens=sum(_count(usage, key) for usage in found for key in read),
            output_tokens=sum(_count(usage, "output_tokens") for usage in found),
        )

    def cost(self, *, resumed: bool) -> float | None:
        """This turn's cost in USD, or None where the CLI does not say it.

        `total_cost_usd` is of the whole conversation in newer versions and of the invocation in older ones, and nothing
        in it tells which. So it counts only for a conversation's first turn; later turns need the per-model
        `model_usage_since_last_result`, which newer versions have.
        """
        last = self.last
        if last is None or str(last.get("terminal_reason")).startswith("aborted"):
            # Interrupted: the model may have answered, and the CLI did not count it.
            return None
        since = [result.get("model_usage_since_last_result") for result in self.results]
        if all(isinstance(models, dict) for models in since):
            costs = [model.get("costUSD") for models in since if isinstance(models, dict) for model in models.values()]
        else:
            costs = [None if resumed else last.get("total_cost_usd")]
        known = [float(cost) for cost in costs if isinstance(cost, (int, float)) and not isinstance(cost, bool)]
        return sum(known, 0.0) if len(known) == len(costs) else None


def text_of(result: Mapping[str, Json]) -> str:
    """The answer in a result event, or its errors."""
    answer = result.get("result")
    if isinstance(answer, str):
        return answer
    errors = result.get("errors")
    return "\n".join(map(str, errors)) if isinstance(errors, list) else ""


def _count(usage: Mapping[str, Json], key: str) -> int:
    value = usage.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def _shown(event: Mapping[str, Json]) -> str:
    match event.get("type"):
        case "assistant" | "user":
            message = event.get("message")
            content = message.get("content") if isinstance(message, dict) else None
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            return "".join(map(_block, blocks)) if isinstance(blocks, Sequence) else _raw(event)
        case "system" if event.get("subtype") == "init":
            return f"[init] model {event.get('model')}, session {event.get('session_id')}\n"
        case "result":
            # An API failure has the subtype "success", too.
            how = "error" if event.get("is_error") is not False else str(event.get("subtype"))
            return f"[result] {how}: {_cut(text_of(event))}\n"
        case _:
            return _raw(event)


def _block(block: Json) -> str:
    if not isinstance(block, dict):
        return _raw(block)
    match block.get("type"):
        case "text":
            return f"{block.get('text')}\n"
        case "tool_use":
            given = json.dumps(block.get("input"), ensure_ascii=False)
            return f"[{block.get('name')}] {_cut(given)}\n"
        case "tool_result":
            content = block.get("content")
            parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
            text = "\n".join(str(part.get("text", part)) for part in parts if isinstance(part, dict))
            failed = " (failed)" if block.get("is_error") else ""
            return f"[result of tool{failed}]\n{_cut(text)}\n"
        case _:
            return _raw(block)


def _raw(value: Json) -> str:
    return _cut(json.dumps(value, ensure_ascii=False)) + "\n"


def _cut(text: str) -> str:
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}… ({len(text) - SHOWN} characters more)"
