"""Formula functions on numbers."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables.operands import MOST, FormulaError, Function, finite, flat, number, numbers, of, whole
from workspace_sandbox.tables.operands import written as text

NUMERAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _round_with(rounding: Callable[[float], float]) -> Callable[..., float]:
    """Return a function that applies *rounding* to the absolute value at a number of decimals."""

    def round_value(value: Any, decimals: Any = 0) -> float:
        exact = finite(number(value))
        digits = max(-300, min(300, whole(decimals)))
        # Shift the decimal exponent instead of multiplying: 1.005 times 100 is slightly less than 100.5.
        shifted = float(f"{abs(exact):.15g}e{digits}")
        return math.copysign(float(f"{rounding(shifted):.0f}e{-digits}"), exact)

    return round_value


def _round_to_multiple(rounding: Callable[[float], int]) -> Callable[..., float]:
    """Return a function that rounds to a multiple of a significance."""

    def round_value(value: Any, significance: Any = 1) -> float:
        step = number(significance)
        if not step:
            raise FormulaError
        return rounding(finite(number(value) / step)) * step

    return round_value


def _round_outwards(odd: int) -> Callable[[Any], int]:
    """Return a function that rounds to the next even or odd number away from 0."""

    def round_value(value: Any) -> int:
        size = math.ceil(abs(finite(number(value))))
        return int(math.copysign(size + (size + odd) % 2, number(value)))

    return round_value


def divided(left: Any, right: Any) -> float:
    """Divide. Division by 0 is an error."""
    if not number(right):
        raise FormulaError
    return number(left) / number(right)


def _remainder(left: Any, right: Any) -> float:
    if not number(right):
        raise FormulaError
    return number(left) % number(right)


def _numeric(work: Callable[..., float]) -> Callable[..., float]:
    """Return *work* on numbers. An undefined result is an error."""

    def compute(*values: Any) -> float:
        try:
            return finite(work(*map(number, values)))
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            raise FormulaError from None

    return compute


def _parse_number(value: Any) -> float:
    """Return the number in a text, ignoring other characters. Raises an error if there is none."""
    if isinstance(value, int | float):
        return value
    match = require(NUMERAL.search(re.sub(r"[,\s]", "", text(value))), FormulaError)
    return finite(float(match[0]))


def _average(*values: Any) -> float:
    valid = numbers(values)
    return divided(sum(valid), len(valid))


def _logarithm(value: float, base: float = 10) -> float:
    return math.log10(value) if base == 10 else math.log(value, base)


def _power(base: float, exponent: float) -> float:
    return float(math.pow(base, exponent))


NUMBERS: Mapping[str, Function] = {
    "ABS": (1, 1, of(lambda value: abs(number(value)))),
    "AVERAGE": (1, MOST, of(_average)),
    "CEILING": (1, 2, of(_round_to_multiple(math.ceil))),
    "COUNT": (1, MOST, of(lambda *values: len(numbers(values)))),
    "COUNTA": (1, MOST, of(lambda *values: sum(value not in (None, "") for value in flat(values)))),
    "COUNTALL": (1, MOST, of(lambda *values: sum(1 for _ in flat(values)))),
    "EVEN": (1, 1, of(_round_outwards(0))),
    "EXP": (1, 1, of(_numeric(math.exp))),
    "FLOOR": (1, 2, of(_round_to_multiple(math.floor))),
    "INT": (1, 1, of(lambda value: math.floor(finite(number(value))))),
    "LOG": (1, 2, of(_numeric(_logarithm))),
    "MAX": (1, MOST, of(lambda *values: max(map(number, flat(values)), default=0))),
    "MIN": (1, MOST, of(lambda *values: min(map(number, flat(values)), default=0))),
    "MOD": (2, 2, of(_remainder)),
    "ODD": (1, 1, of(_round_outwards(1))),
    "POWER": (2, 2, of(_numeric(_power))),
    "ROUND": (1, 2, of(_round_with(lambda value: math.floor(value + 0.5)))),
    "ROUNDDOWN": (1, 2, of(_round_with(math.floor))),
    "ROUNDUP": (1, 2, of(_round_with(math.ceil))),
    "SQRT": (1, 1, of(_numeric(math.sqrt))),
    "SUM": (1, MOST, of(lambda *values: sum(map(number, flat(values))))),
    "VALUE": (1, 1, of(_parse_number)),
}
