"""Starting bootstrap below the supervisor: marked, in its own session, in a pid namespace where that is allowed.

Everything is forked here before the supervisor has any thread.
Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import os
import resource
import select
import signal
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NoReturn

from gate.bootstrap import supervise_kernel as kernel
from gate.bootstrap.supervise_files import Containment
from gate.bootstrap.supervise_signals import Wake, reset_in_child

_NO_NAMESPACE = "namespace: "
_NO_MARK = "unmarked: "


@dataclass(frozen=True, slots=True)
class Order:
    """What to start."""

    command: tuple[str, ...]
    env: Mapping[str, str]
    mark: int
    subreaper: bool
    """Whoever starts it is one."""
    namespace: bool
    """A pid namespace is asked for; without it the subreaper has to do."""


@dataclass(slots=True)
class Child:
    """Bootstrap, started. `pid` is the process to signal: bootstrap itself, or process 1 of its namespace."""

    pid: int
    containment: Containment
    marked: bool
    problems: tuple[str, ...]
    """What could not be had or done, in words."""
    status_fd: int | None
    status: int | None = None
    """As os.waitstatus_to_exitcode has it: an exit code, or minus a signal."""
    _gone: bool = field(default=False)

    def reap(self) -> int | None:
        """Collect every child that has ended; bootstrap's status once it has."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                break
            if pid == self.pid:
                self._gone = True
                self._ended(status)
        self._read_status()
        return self.status

    @property
    def fds(self) -> tuple[int, ...]:
        """Becomes readable when bootstrap has ended, beside SIGCHLD."""
        return () if self.status_fd is None else (self.status_fd,)

    def signal(self, number: int) -> None:
        """To bootstrap alone; nothing where it is gone."""
        if not self._gone:
            os.kill(self.pid, number)

    def close(self) -> None:
        """End the namespace, with everything that is still in it."""
        if self.containment == "namespace" and not self._gone:
            os.kill(self.pid, signal.SIGKILL)

    def _ended(self, status: int) -> None:
        if self.status_fd is None:
            self.status = os.waitstatus_to_exitcode(status)
            return
        self._read_status()
        if self.status is None:
            # Process 1 died before bootstrap did, and took it along.
            self.status = -signal.SIGKILL

    def _read_status(self) -> None:
        """Take over what process 1 of the namespace says."""
        if self.status_fd is None or self.status is not None:
            return
        if select.select([self.status_fd], [], [], 0)[0] and (said := os.read(self.status_fd, 16)):
            self.status = os.waitstatus_to_exitcode(int(said))


def start(order: Order) -> Child:
    """Start bootstrap; falls back from the namespace, saying why. Returns when it runs or could not be executed."""
    problems: tuple[str, ...] = ()
    if order.namespace:
        child = _in_namespace(order)
        if child.containment == "namespace":
            return child
        problems = child.problems
    plain = _plain(order)
    plain.problems = problems + plain.problems
    return plain


def _plain(order: Order) -> Child:
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(order, write)
    os.close(write)
    problems = _report(read)
    level: Containment = "subreaper" if order.subreaper else "mark"
    return Child(pid, level, not any(p.startswith(_NO_MARK) for p in problems), problems, None)


def _in_namespace(order: Order) -> Child:
    """A child whose containment is "" where there is no namespace to be had."""
    own = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        try:
            kernel.children_in_new_pid_namespace()
        except OSError as error:
            return Child(0, "", False, (f"{_NO_NAMESPACE}{error}",), None)
        report, report_in = os.pipe()
        status, status_in = os.pipe()
        pid = os.fork()
        if pid == 0:
            _init(order, report_in, status_in)
        os.close(report_in)
        os.close(status_in)
        # Threads and helpers of the supervisor belong to its own namespace, and threads are refused until then.
        kernel.children_in_namespace(own)
    finally:
        os.close(own)
    problems = _report(report)
    if any(problem.startswith(_NO_NAMESPACE) for problem in problems):
        os.waitpid(pid, 0)
        os.close(status)
        return Child(0, "", False, problems, None)
    return Child(pid, "namespace", not any(p.startswith(_NO_MARK) for p in problems), problems, status)


def _report(fd: int) -> tuple[str, ...]:
    """What a child says went wrong, until it closes its end by executing bootstrap."""
    with os.fdopen(fd, encoding="utf-8", errors="replace") as file:
        return tuple(line for line in file.read().splitlines() if line)


def _become(order: Order, report: int) -> NoReturn:
    """In the child: turn into bootstrap."""
    try:
        os.setsid()
        reset_in_child()
        try:
            resource.setrlimit(resource.RLIMIT_RTTIME, (order.mark, order.mark))
        except (OSError, ValueError) as error:
            # Inside another gate's workload the limit may be lower already, and only root may raise it.
            os.write(report, f"{_NO_MARK}{error}\n".encode())
        os.execvpe(order.command[0], order.command, order.env)  # noqa: S606 - no shell is the point
    except BaseException as error:  # noqa: BLE001 - nothing may return from here into the supervisor's code
        os.write(report, f"cannot run {order.command[0]}: {error}\n".encode())
    finally:
        os._exit(127)


def _init(order: Order, report: int, status: int) -> NoReturn:
    """Process 1 of the namespace: starts bootstrap, reaps, passes signals on, dies with the supervisor."""
    try:
        kernel.die_with_parent(signal.SIGKILL)
        _close_all_but({0, 1, 2, report, status})
        broken = select.poll()
        broken.register(status, 0)
        if broken.poll(0):
            # The supervisor died before the line above: nobody reads what we write.
            os._exit(1)
        kernel.private_proc()
        wake = Wake()
        bootstrap = os.fork()
        if bootstrap == 0:
            _become(order, report)
        os.close(report)
        _serve(bootstrap, status, wake)
    except BaseException as error:  # noqa: BLE001 - as in _become
        os.write(report, f"{_NO_NAMESPACE}{error}\n".encode())
    finally:
        os._exit(1)


def _serve(bootstrap: int, status: int, wake: Wake) -> NoReturn:
    running, passed = True, 0
    while True:
        wake.wait(3600)
        for number in wake.stops[passed:]:
            if running:
                os.kill(bootstrap, number)
        passed = len(wake.stops)
        while (found := _next_zombie()) is not None:
            if found[0] == bootstrap:
                running = False
                os.write(status, f"{found[1]}\n".encode())


def _next_zombie() -> tuple[int, int] | None:
    try:
        pid, status = os.waitpid(-1, os.WNOHANG)
    except ChildProcessError:
        return None
    return (pid, status) if pid else None


def _close_all_but(kept: set[int]) -> None:
    """Locks are held for as long as any copy of their descriptor is open."""
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are what is wanted
        if int(name) not in kept:
            try:
                os.close(int(name))
            except OSError:
                # The descriptor that listed this folder.
                continue
