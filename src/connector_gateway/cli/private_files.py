"""Files that hold secrets."""

import os
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write a file that only this user may read, at once or not at all."""
    partial = path.with_name(f"{path.name}.partial")
    partial.unlink(missing_ok=True)
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(descriptor)
    partial.replace(path)
