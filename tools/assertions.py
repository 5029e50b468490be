"""Assertions say first what is expected: turns those round that do not; ``--check`` only names their files."""

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path


def turned(source: str) -> str:
    """*source* with every assertion that has something fixed on the right, and only there, turned round."""
    body = source.encode()
    starts = [0, *(found.end() for found in re.finditer(rb"\n", body))]
    for comparison in sorted(_wrong(ast.parse(source)), key=lambda found: found.lineno, reverse=True):
        begin, end = _span(comparison, starts)
        between = slice(_span(comparison.left, starts)[1], _span(comparison.comparators[0], starts)[0])
        # Parentheses belong to the sides, and to neither of their nodes.
        before, after = body[between].split(b"==")
        left, right = body[begin : between.start] + before.rstrip(), after.lstrip() + body[between.stop : end]
        body = body[:begin] + right + b" == " + left + body[end:]
    return body.decode()


def _span(part: ast.expr, starts: list[int]) -> tuple[int, int]:
    """Where *part* begins and ends, in bytes."""
    if part.end_lineno is None or part.end_col_offset is None:
        raise ValueError("the place is not known")
    return starts[part.lineno - 1] + part.col_offset, starts[part.end_lineno - 1] + part.end_col_offset


def _wrong(tree: ast.AST) -> Iterator[ast.Compare]:
    """The comparisons for equality, each the whole of an assertion, that have what is fixed on the right."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare):
            comparison = node.test
            is_equality = len(comparison.ops) == 1 and isinstance(comparison.ops[0], ast.Eq)
            if is_equality and _is_fixed(comparison.comparators[0]) and not _is_fixed(comparison.left):
                yield comparison


def _is_fixed(value: ast.expr) -> bool:
    """Whether *value* is written down, or a constant by its name."""
    match value:
        case ast.Constant():
            return True
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.isupper()
        case ast.UnaryOp(operand=operand):
            return _is_fixed(operand)
        case ast.List(elts=parts) | ast.Tuple(elts=parts) | ast.Set(elts=parts):
            return all(map(_is_fixed, parts))
        case ast.Dict(keys=keys, values=values):
            return all(key is not None and _is_fixed(key) for key in keys) and all(map(_is_fixed, values))
    return False


def main(arguments: list[str]) -> int:
    """Turn assertions round, or say where some are to be turned; 1 if there are any."""
    checks, folders = "--check" in arguments, [Path(name) for name in arguments if name != "--check"]
    found = [path for folder in folders for path in sorted(folder.rglob("*.py")) if _is_wrong(path)]
    for path in found:
        if checks:
            sys.stderr.write(f"{path}: assertions that do not say first what is expected\n")
        else:
            path.write_text(turned(path.read_text(encoding="utf-8")), encoding="utf-8")
    return 1 if found and checks else 0


def _is_wrong(path: Path) -> bool:
    return any(_wrong(ast.parse(path.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
