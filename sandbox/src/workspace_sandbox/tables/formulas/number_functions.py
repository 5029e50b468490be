"""Formula functions on numbers."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.error_responses import require
from workspace_sandbox.tables.formulas.values import (
    MAX_ARGUMENTS,
    FormulaError,
    Function,
    check_finite,
    collect_numbers,
    flatten,
    from_values,
    to_int,
    to_number,
)
from workspace_sandbox.tables.formulas.values import to_text as text

NUMERAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _round_with(rounding: Callable[[float], float]) -> Callable[..., float]:
    """Return a function that applies *rounding* to the absolute value at a number of decimals."""

    def round_value(value: Any, decimals: Any = 0) -> float:
        exact = check_finite(to_number(value))
        digits = max(-300, min(300, to_int(decimals)))
        # Shift the decimal exponent instead of multiplying: 1.005 times 100 is slightly less than 100.5.
        shifted = float(f"{abs(exact):.15g}e{digits}")
        return math.copysign(float(f"{rounding(shifted):.0f}e{-digits}"), exact)

    return round_value


def _round_to_multiple(rounding: Callable[[float], int]) -> Callable[..., float]:
    """Return a function that rounds to a multiple of a significance."""

    def round_value(value: Any, significance: Any = 1) -> float:
        step = to_number(significance)
        if not step:
            raise FormulaError
        return rounding(check_finite(to_number(value) / step)) * step

    return round_value


def _round_outwards(odd: int) -> Callable[[Any], int]:
    """Return a function that rounds to the next even or odd number away from 0."""

    def round_value(value: Any) -> int:
        size = math.ceil(abs(check_finite(to_number(value))))
        return int(math.copysign(size + (size + odd) % 2, to_number(value)))

    return round_value


def divide(left: Any, right: Any) -> float:
    """Divide. Division by 0 is an error."""
    if not to_number(right):
        raise FormulaError
    return to_number(left) / to_number(right)


def _remainder(left: Any, right: Any) -> float:
    if not to_number(right):
        raise FormulaError
    return to_number(left) % to_number(right)


def _numeric(work: Callable[..., float]) -> Callable[..., float]:
    """Return *work* on numbers. An undefined result is an error."""

    def compute(*values: Any) -> float:
        try:
            return check_finite(work(*map(to_number, values)))
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            raise FormulaError from None

    return compute


def _parse_number(value: Any) -> float:
    """Return the number in a text, ignoring other characters. Raises an error if there is none."""
    if isinstance(value, int | float):
        return value
    match = require(NUMERAL.search(re.sub(r"[,\s]", "", text(value))), FormulaError)
    return check_finite(float(match[0]))


def _average(*values: Any) -> float:
    valid = collect_numbers(values)
    return divide(sum(valid), len(valid))


def _logarithm(value: float, base: float = 10) -> float:
    return math.log10(value) if base == 10 else math.log(value, base)


def _power(base: float, exponent: float) -> float:
    return float(math.pow(base, exponent))


NUMBERS: Mapping[str, Function] = {
    "ABS": (1, 1, from_values(lambda value: abs(to_number(value)))),
    "AVERAGE": (1, MAX_ARGUMENTS, from_values(_average)),
    "CEILING": (1, 2, from_values(_round_to_multiple(math.ceil))),
    "COUNT": (1, MAX_ARGUMENTS, from_values(lambda *values: len(collect_numbers(values)))),
    "COUNTA": (
        1,
        MAX_ARGUMENTS,
        from_values(lambda *values: sum(value not in (None, "") for value in flatten(values))),
    ),
    "COUNTALL": (1, MAX_ARGUMENTS, from_values(lambda *values: sum(1 for _ in flatten(values)))),
    "EVEN": (1, 1, from_values(_round_outwards(0))),
    "EXP": (1, 1, from_values(_numeric(math.exp))),
    "FLOOR": (1, 2, from_values(_round_to_multiple(math.floor))),
    "INT": (1, 1, from_values(lambda value: math.floor(check_finite(to_number(value))))),
    "LOG": (1, 2, from_values(_numeric(_logarithm))),
    "MAX": (1, MAX_ARGUMENTS, from_values(lambda *values: max(map(to_number, flatten(values)), default=0))),
    "MIN": (1, MAX_ARGUMENTS, from_values(lambda *values: min(map(to_number, flatten(values)), default=0))),
    "MOD": (2, 2, from_values(_remainder)),
    "ODD": (1, 1, from_values(_round_outwards(1))),
    "POWER": (2, 2, from_values(_numeric(_power))),
    "ROUND": (1, 2, from_values(_round_with(lambda value: math.floor(value + 0.5)))),
    "ROUNDDOWN": (1, 2, from_values(_round_with(math.floor))),
    "ROUNDUP": (1, 2, from_values(_round_with(math.ceil))),
    "SQRT": (1, 1, from_values(_numeric(math.sqrt))),
    "SUM": (1, MAX_ARGUMENTS, from_values(lambda *values: sum(map(to_number, flatten(values))))),
    "VALUE": (1, 1, from_values(_parse_number)),
}
