"""Functions of formulas that take numbers."""

import math
import re
from collections.abc import Callable, Mapping
from typing import Any

from workspace_sandbox.kit.refusals import require
from workspace_sandbox.tables.operands import MOST, FormulaError, Function, finite, flat, number, numbers, of, whole
from workspace_sandbox.tables.operands import written as text

NUMERAL = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")


def _scaled(rounding: Callable[[float], float]) -> Callable[..., float]:
    """Rounds away from 0 or towards it, by *rounding* of what is above 0, at a number of decimals."""

    def rounded(value: Any, places: Any = 0) -> float:
        wanted = finite(number(value))
        digits = max(-300, min(300, whole(places)))
        # By its decimals and not by a product: 1.005 times 100 is a little less than 100.5.
        at = float(f"{abs(wanted):.15g}e{digits}")
        return math.copysign(float(f"{rounding(at):.0f}e{-digits}"), wanted)

    return rounded


def _stepped(rounding: Callable[[float], int]) -> Callable[..., float]:
    """The nearest multiple of a significance."""

    def stepped(value: Any, significance: Any = 1) -> float:
        step = number(significance)
        if not step:
            raise FormulaError
        return rounding(finite(number(value) / step)) * step

    return stepped


def _outwards(odd: int) -> Callable[[Any], int]:
    """The next even or odd number away from 0."""

    def outwards(value: Any) -> int:
        size = math.ceil(abs(finite(number(value))))
        return int(math.copysign(size + (size + odd) % 2, number(value)))

    return outwards


def divided(left: Any, right: Any) -> float:
    """A quotient; by 0 it is an error."""
    if not number(right):
        raise FormulaError
    return number(left) / number(right)


def _remainder(left: Any, right: Any) -> float:
    if not number(right):
        raise FormulaError
    return number(left) % number(right)


def _computed(work: Callable[..., float]) -> Callable[..., float]:
    """*work* on numbers; what has no result is an error."""

    def compute(*values: Any) -> float:
        try:
            return finite(work(*map(number, values)))
        except (ValueError, OverflowError, ZeroDivisionError, TypeError):
            raise FormulaError from None

    return compute


def _read(value: Any) -> float:
    """The number in a text, without the signs around it; an error where there is none."""
    if isinstance(value, int | float):
        return value
    found = require(NUMERAL.search(re.sub(r"[,\s]", "", text(value))), FormulaError)
    return finite(float(found[0]))


def _average(*values: Any) -> float:
    found = numbers(values)
    return divided(sum(found), len(found))


def _logarithm(value: float, base: float = 10) -> float:
    return math.log10(value) if base == 10 else math.log(value, base)


def _power(base: float, exponent: float) -> float:
    return float(math.pow(base, exponent))


NUMBERS: Mapping[str, Function] = {
    "ABS": (1, 1, of(lambda value: abs(number(value)))),
    "AVERAGE": (1, MOST, of(_average)),
    "CEILING": (1, 2, of(_stepped(math.ceil))),
    "COUNT": (1, MOST, of(lambda *values: len(numbers(values)))),
    "COUNTA": (1, MOST, of(lambda *values: sum(value not in (None, "") for value in flat(values)))),
    "COUNTALL": (1, MOST, of(lambda *values: sum(1 for _ in flat(values)))),
    "EVEN": (1, 1, of(_outwards(0))),
    "EXP": (1, 1, of(_computed(math.exp))),
    "FLOOR": (1, 2, of(_stepped(math.floor))),
    "INT": (1, 1, of(lambda value: math.floor(finite(number(value))))),
    "LOG": (1, 2, of(_computed(_logarithm))),
    "MAX": (1, MOST, of(lambda *values: max(map(number, flat(values)), default=0))),
    "MIN": (1, MOST, of(lambda *values: min(map(number, flat(values)), default=0))),
    "MOD": (2, 2, of(_remainder)),
    "ODD": (1, 1, of(_outwards(1))),
    "POWER": (2, 2, of(_computed(_power))),
    "ROUND": (1, 2, of(_scaled(lambda value: math.floor(value + 0.5)))),
    "ROUNDDOWN": (1, 2, of(_scaled(math.floor))),
    "ROUNDUP": (1, 2, of(_scaled(math.ceil))),
    "SQRT": (1, 1, of(_computed(math.sqrt))),
    "SUM": (1, MOST, of(lambda *values: sum(map(number, flat(values))))),
    "VALUE": (1, 1, of(_read)),
}
