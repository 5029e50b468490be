"""The version of the sandbox, for its package and for data folders that only the same code can read."""

from functools import cache
from hashlib import sha256
from pathlib import Path

VERSION = "0.1.0"


@cache
def fingerprint() -> str:
    """Return the version with a digest of the code. Only the code that pickled a state can read it."""
    here = Path(__file__).parent
    digest = sha256()
    for file in sorted(here.rglob("*.py")):
        digest.update(file.relative_to(here).as_posix().encode() + b"\0" + file.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"
