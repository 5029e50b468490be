"""Prevention of core dumps, which would write credentials in memory to disk."""

import ctypes
import resource
import sys

PR_SET_DUMPABLE = 4
"""The option of prctl(2)."""


def disable() -> None:
    """Disable core dumps, and prevent other processes of the same user from reading the memory of this one.

    The limit alone does not apply to programs to which the kernel pipes dumps: core(5).
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 0, 0, 0, 0)
