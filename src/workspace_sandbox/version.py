"""Which sandbox this is: for its package, and for folders that only the same one can read."""

from functools import cache
from hashlib import sha256
from pathlib import Path

VERSION = "0.1.0"


@cache
def fingerprint() -> str:
    """The version with a digest of the code: what one writes of its objects, no other is sure to read."""
    here = Path(__file__).parent
    digest = sha256()
    for file in sorted(here.rglob("*.py")):
        digest.update(file.relative_to(here).as_posix().encode() + b"\0" + file.read_bytes())
    return f"{VERSION}+{digest.hexdigest()[:12]}"
