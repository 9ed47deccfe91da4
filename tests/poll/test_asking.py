"""One question at a time in the background: answers, answers that are late, and those that never come."""

from __future__ import annotations

import anyio
import trio

from gate.poll.asking import Asking
from tests.poll.worlds import virtual

LIMIT = 100.0


class Oracle:
    """Answers the n-th question after `delays[n]` seconds."""

    def __init__(self, *delays: float) -> None:
        self._delays = list(delays)
        self.asked = 0

    async def __call__(self) -> str:
        self.asked += 1
        await trio.sleep(self._delays[self.asked - 1])
        return f"answer {self.asked}"


def test_each_round_gets_its_answer() -> None:
    async def main() -> None:
        async with anyio.create_task_group() as tasks:
            asking = Asking(tasks, Oracle(0, 0, 0), LIMIT, "late")
            answers = []
            for _ in range(3):
                asking.begin()
                answers.append(await asking.take(1.0))
            assert answers == ["answer 1", "answer 2", "answer 3"]
            assert await asking.take(1.0) is None
            tasks.cancel_scope.cancel()

    virtual(main)


def test_a_slow_answer_is_kept_for_a_later_round_and_not_asked_for_twice() -> None:
    async def main() -> None:
        oracle = Oracle(40, 0)
        async with anyio.create_task_group() as tasks:
            asking = Asking(tasks, oracle, LIMIT, "late")
            asking.begin()
            assert await asking.take(1.0) is None
            await trio.sleep(30)
            asking.begin()
            assert asking.overdue
            assert asking.under_way
            await asking.arrived()
            assert trio.current_time() == 40
            assert (await asking.take(0), oracle.asked) == ("answer 1", 1)
            tasks.cancel_scope.cancel()

    virtual(main)


def test_an_answer_that_never_comes_is_given_up_and_the_next_round_asks_again() -> None:
    async def main() -> None:
        oracle = Oracle(1e9, 0, 99)
        async with anyio.create_task_group() as tasks:
            asking = Asking(tasks, oracle, LIMIT, "late")
            asking.begin()
            await asking.arrived()
            assert (trio.current_time(), await asking.take(0)) == (LIMIT, "late")
            for expected in ("answer 2", "answer 3"):
                await trio.sleep(500)  # time without a question is charged to none
                asking.begin()
                assert await asking.take(LIMIT) == expected
            tasks.cancel_scope.cancel()

    virtual(main)
