"""Core dumps, which would write credentials that are in use to a disk."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4
"""Source: prctl(2)."""


def forbid() -> None:
    """Have the kernel write no memory of this process anywhere, and let no process of the same user read it.

    The limit alone does not bind a program that the kernel pipes dumps to: core(5).
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
