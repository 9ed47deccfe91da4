"""What a workload asks for and will never get on SaFE."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gate.documents import Json
from gate.engines.safe.options import problem
from gate.engines.safe.parameters import parameters
from gate.plan.model import Resources


def unfit(wanted: Resources, given: Mapping[str, Json]) -> Sequence[str]:
    """What a workload asks for and will never get, in words. Raises ConfigError."""
    asked, problems = parameters(given), list[str]()
    if not (wanted.image or asked.image):
        problems.append("it names no image (resources.image, or engine.image for all)")
    if wanted.cpus <= 0:
        problems.append("it asks for no CPUs, and every workload has to (resources.cpus)")
    if wanted.memory <= 0:
        problems.append("it asks for no memory, and every workload has to (resources.memory, as 16Gi)")
    problems += [found for key, value in wanted.options.items() if (found := problem(key, value))]
    return problems
