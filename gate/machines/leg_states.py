"""Which of several state files is the leg's.

One that lay there when the task began is of something else (a trial run during set-up, a staged file) until it is
written anew. An agent that tries again within the same incarnation leaves more than one. The one of the latest turn
counts, then the one nearest to the top, then the one that changed last; where that does not decide, none does, and poll
says ambiguous.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

from dataclasses import replace

from gate.machines.leg_model import Files, SeenState
from gate.machines.verdict import StateView

UNSURE = ("torn", "unreadable")
"""What a file that lay there earlier may seem to be for a moment; it is no other file for it."""


def begin(views: tuple[StateView, ...]) -> Files:
    """The task begins, and these state files lie there."""
    return Files(earlier=tuple(view for view in views if view.status != "absent"))


def look(files: Files, views: tuple[StateView, ...], turns: int) -> Files:
    """`files` after one look that found `views`, when `turns` turns had been begun."""
    earlier = _still(files.earlier or (), views)
    older = {view.path for view in earlier}
    return _newer(replace(files, earlier=earlier), tuple(view for view in views if view.path not in older), turns)


def _still(earlier: tuple[StateView, ...], views: tuple[StateView, ...]) -> tuple[StateView, ...]:
    """Those of the earlier ones that were not written since. One that is not seen now may come back as it was."""
    now = {view.path: view for view in views if view.status != "absent"}
    kept: list[StateView] = []
    for old in earlier:
        new = now.get(old.path, old)
        if new == old or new.status in UNSURE:
            kept.append(old)
        elif old.status in UNSURE:
            kept.append(new)
    return tuple(kept)


def _newer(files: Files, views: tuple[StateView, ...], turns: int) -> Files:
    looks = files.looks + 1
    before = {seen.view.path: seen for seen in files.seen}
    seen: list[SeenState] = []
    for view in views:
        if view.status == "absent":
            continue
        old = before.get(view.path)
        if old is None:
            seen.append(SeenState(view, generation=turns, look=looks))
        elif old.view != view:
            seen.append(replace(old, view=view, look=looks))
        else:
            seen.append(old)
    hint = _hint(views)
    found = tuple(seen)
    if found == files.seen and hint == files.hint:
        return replace(files, looks=looks)
    return replace(files, looks=looks, seen=found, chosen=choose(found), hint=hint)


def _hint(views: tuple[StateView, ...]) -> str:
    return next((view.detail for view in views if view.status == "absent"), "")


def choose(seen: tuple[SeenState, ...]) -> StateView | None:
    """The one state file that the pointer names, or None where there is none or no way to tell."""
    if not seen:
        return None

    def rank(one: SeenState) -> tuple[int, int, int]:
        return (one.generation, -one.view.path.count("/"), one.look)

    ordered = sorted(seen, key=rank)
    if len(ordered) > 1 and rank(ordered[-1]) == rank(ordered[-2]):
        return None
    return ordered[-1].view


def below(path: str, incarnation: str) -> str:
    """A state file's path below its incarnation's directory, as people look for it."""
    return path.partition(f"/{incarnation}/")[2] or path


def describe(files: Files, incarnation: str) -> str:
    """What the state files say, for the sentence of a leg that did not finish."""
    if files.chosen is not None:
        view = files.chosen
        said = "is not finished" if view.status == "ok" else f"is {view.status}"
        return f"{below(view.path, incarnation)} {said}" + (
            f" ({view.detail})" if view.detail and view.status != "ok" else ""
        )
    if files.seen:
        return "which state file counts cannot be told: " + ", ".join(
            below(one.view.path, incarnation) for one in files.seen[:4]
        )
    older = ", ".join(below(view.path, incarnation) for view in (files.earlier or ())[:4])
    said = files.hint or (f"{older} lay there before the task began, and was not written since" if older else "")
    return "no state file counts" + (f" ({said})" if said else "")
