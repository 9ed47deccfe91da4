"""No secret reaches any sink, in any of the forms in which it could be read again."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

from gate.simulate.played import Played


def check(played: Played) -> Iterator[str]:
    """Everything that was written, told, said or logged."""
    needles = [(name, form) for name, value in played.secrets.items() for form in _forms(value)]
    if not needles:
        return
    for where, text in played.texts():
        for name, form in needles:
            if form in text:
                yield f"{name} stands in {where}"
                return


def _forms(value: str) -> set[bytes]:
    raw = value.encode()
    forms = {raw, json.dumps(value)[1:-1].encode(), quote(value, safe="").encode(), raw.hex().encode()}
    for pad in range(3):
        coded = base64.b64encode(b"\0" * pad + raw)
        # the first and last characters depend on what stands beside the secret
        forms.add(coded[4 if pad else 0 : len(coded) // 4 * 4 - 4])
    return forms
