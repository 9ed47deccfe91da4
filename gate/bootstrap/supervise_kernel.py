"""What the supervisor asks of the kernel and Python's standard library has no name for (Linux).

Imported by bootstrap: standard library only, Python 3.10 or newer.
"""

from __future__ import annotations

import ctypes
import os

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_CLONE_NEWNS = 0x00020000
_CLONE_NEWPID = 0x20000000
_MS_REC_SLAVE = 0x4000 | 0x80000
_PROC_FLAGS = 0x2 | 0x4 | 0x8  # nosuid, nodev, noexec
_PUNCH_KEEPING_SIZE = 0x01 | 0x02

_libc = ctypes.CDLL(None, use_errno=True)


def _check(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")


def become_subreaper() -> None:
    """Orphans below this process become its children. Raises OSError."""
    _check(_libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), "PR_SET_CHILD_SUBREAPER")


def die_with_parent(number: int) -> None:
    """Be sent signal `number` when the parent dies. Raises OSError."""
    _check(_libc.prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0), "PR_SET_PDEATHSIG")


def children_in_new_pid_namespace() -> None:
    """The next child is process 1 of a new pid namespace. Raises OSError (not root, or not allowed in a container)."""
    _check(_libc.unshare(_CLONE_NEWPID), "unshare(CLONE_NEWPID)")


def children_in_namespace(fd: int) -> None:
    """Children are made in the pid namespace that `fd` names again. Raises OSError."""
    _check(_libc.setns(fd, _CLONE_NEWPID), "setns(CLONE_NEWPID)")


def private_proc() -> None:
    """A /proc of this pid namespace, in a mount namespace that still follows the host's mounts. Raises OSError."""
    _check(_libc.unshare(_CLONE_NEWNS), "unshare(CLONE_NEWNS)")
    _check(_libc.mount(b"none", b"/", None, ctypes.c_ulong(_MS_REC_SLAVE), None), "mount --make-rslave /")
    _check(_libc.mount(b"proc", b"/proc", b"proc", ctypes.c_ulong(_PROC_FLAGS), None), "mount /proc")


def punch_hole(fd: int, offset: int, length: int) -> None:
    """Free the blocks of a part of a file; its size and the offsets behind it stay. Raises OSError."""
    arguments = (ctypes.c_int64(offset), ctypes.c_int64(length))
    _check(_libc.fallocate(fd, _PUNCH_KEEPING_SIZE, *arguments), "fallocate(PUNCH_HOLE)")
