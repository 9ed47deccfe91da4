"""LIST: filters, order and pages, with their oddities."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gate.testing.safe.job import DETAIL, Row
from gate.testing.safe.wire import bad

LIMIT = 100


def listing(rows: list[Row], query: Mapping[str, str]) -> Row:
    """`rows`: what is exported and not hidden."""
    limit, offset = _number(query, "limit") or LIMIT, _number(query, "offset")
    order = query.get("order") or "desc"
    if order not in ("asc", "desc"):
        raise bad(f"order {order!r}")
    found = [row for row in rows if _fits(row, query)]
    key = next(
        (name for name in (rows[0] if rows else {}) if name.lower() == query.get("sortBy", "").lower()), "creationTime"
    )
    found.sort(key=lambda row: (str(row[key]), row["workloadId"]), reverse=order == "desc")
    items = [
        {name: value for name, value in row.items() if name not in DETAIL} for row in found[offset : offset + limit]
    ]
    return {"totalCount": len(found), "items": items}


def _fits(row: Row, query: Mapping[str, str]) -> bool:
    text, like = query.get("description"), query.get("workloadId")
    phases, kinds = query.get("phase"), query.get("kind")
    return (
        query.get("workspaceId", row["workspaceId"]) == row["workspaceId"]
        and query.get("userId", row["userId"]) == row["userId"]
        and (not like or _like(like, row["workloadId"]))
        and (row["description"] != "OpsJob" if text is None else _like(text, row["description"]))
        and (not phases or row["phase"] in phases.split(","))
        and (not kinds or row["groupVersionKind"]["kind"] in kinds.split(","))
        and _of_environment(row, query)
        and _within(row, query)
    )


def _of_environment(row: Row, query: Mapping[str, str]) -> bool:
    key, value = query.get("envKey"), query.get("envValue")
    if not key:
        return True
    env = row["env"] or {}
    return key in env and value in (None, env[key])


def _within(row: Row, query: Mapping[str, str]) -> bool:
    """What cannot be read as a time is ignored without a word."""
    for name, sign in (("since", 1), ("until", -1)):
        text = query.get(name, "").removesuffix("Z").partition(".")[0]
        if re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d", text):
            created = row["creationTime"]
            if (created < text) if sign > 0 else (created > text):
                return False
    return True


def _like(pattern: str, text: str) -> bool:
    """SQL's LIKE %pattern%: `_` and `%` are wildcards."""
    parts = {"%": ".*", "_": "."}
    return re.search("".join(parts.get(each, re.escape(each)) for each in pattern), text) is not None


def _number(query: Mapping[str, str], name: str) -> int:
    text = query.get(name) or "0"
    if not text.isdigit():
        raise bad(f"{name} {text!r}")
    return int(text)
