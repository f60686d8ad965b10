"""Special values of complex functions, as tabulated in the Array API standard.

Each row contains the real and imaginary part of an argument, and those of the result.
``±`` means that any sign is accepted. The standard does not define these signs, or
defines a sign that differs from C (tanh of +inf). ``0`` and ``inf`` without a sign mean
both signs.
"""

import math

SPECIAL_VALUE_RULES: dict[str, str] = {
    "abs": """
        inf any: +inf | any inf: +inf | nan finite: nan | finite nan: nan | nan nan: nan""",
    "acos": """
        0 +0: π/2 -0 | 0 nan: π/2 nan | finite +inf: π/2 -inf | nonzero nan: nan nan |
        -inf positive: π -inf | +inf positive: +0 -inf | -inf +inf: 3π/4 -inf |
        +inf +inf: π/4 -inf | inf nan: nan ±inf | nan finite: nan nan |
        nan +inf: nan -inf | nan nan: nan nan""",
    "acosh": """
        0 +0: +0 π/2 | finite +inf: +inf π/2 | nonzero nan: nan nan | +0 nan: nan ±π/2 |
        -inf positive: +inf π | +inf positive: +inf +0 | -inf +inf: +inf 3π/4 |
        +inf +inf: +inf π/4 | inf nan: +inf nan | nan finite: nan nan |
        nan +inf: +inf nan | nan nan: nan nan""",
    "asinh": """
        +0 +0: +0 +0 | positive +inf: +inf π/2 | finite nan: nan nan |
        +inf positive: +inf +0 | +inf +inf: +inf π/4 | nan +0: nan +0 |
        nan nonzero: nan nan | nan +inf: ±inf nan | nan nan: nan nan""",
    "atanh": """
        +0 +0: +0 +0 | +0 nan: +0 nan | 1 +0: +inf +0 | positive +inf: +0 π/2 |
        nonzero nan: nan nan | +inf positive: +0 π/2 | +inf +inf: +0 π/2 |
        +inf nan: +0 nan | nan finite: nan nan | nan +inf: ±0 π/2 | nan nan: nan nan""",
    "cosh": """
        +0 +0: 1 +0 | +0 +inf: nan ±0 | +0 nan: nan ±0 | nonzero +inf: nan nan |
        nonzero nan: nan nan | +inf +0: +inf +0 | +inf +inf: ±inf nan |
        +inf nan: +inf nan | nan 0: nan ±0 | nan nonzero: nan nan | nan nan: nan nan""",
    "exp": """
        0 +0: 1 +0 | finite +inf: nan nan | finite nan: nan nan | +inf +0: +inf +0 |
        -inf +inf: ±0 ±0 | +inf +inf: ±inf nan | -inf nan: ±0 ±0 | +inf nan: ±inf nan |
        nan +0: nan +0 | nan nonzero: nan nan | nan nan: nan nan""",
    "expm1": """
        +0 +0: +0 +0 | finite +inf: nan nan | finite nan: nan nan | +inf +0: +inf +0 |
        -inf +inf: -1 ±0 | +inf +inf: ±inf nan | -inf nan: -1 ±0 | +inf nan: ±inf nan |
        nan +0: nan +0 | nan nonzero: nan nan | nan nan: nan nan""",
    "log": """
        -0 +0: -inf π | +0 +0: -inf +0 | finite +inf: +inf π/2 | finite nan: nan nan |
        -inf positive: +inf π | +inf positive: +inf +0 | -inf +inf: +inf 3π/4 |
        +inf +inf: +inf π/4 | inf nan: +inf nan | nan finite: nan nan |
        nan +inf: +inf nan | nan nan: nan nan""",
    "log1p": """
        -1 +0: -inf +0 | finite +inf: +inf π/2 | finite nan: nan nan |
        -inf positive: +inf π | +inf positive: +inf +0 | -inf +inf: +inf 3π/4 |
        +inf +inf: +inf π/4 | inf nan: +inf nan | nan finite: nan nan |
        nan +inf: +inf nan | nan nan: nan nan""",
    "sign": "0 0: +0 +0",
    "sinh": """
        +0 +0: +0 +0 | +0 +inf: ±0 nan | +0 nan: ±0 nan | positive +inf: nan nan |
        positive nan: nan nan | +inf +0: +inf +0 | +inf +inf: ±inf nan |
        +inf nan: ±inf nan | nan +0: nan +0 | nan nonzero: nan nan | nan nan: nan nan""",
    "sqrt": """
        0 +0: +0 +0 | any +inf: +inf +inf | finite nan: nan nan | -inf nan: nan ±inf |
        +inf nan: +inf nan | nan finite: nan nan | nan nan: nan nan""",
    "tanh": """
        +0 +0: +0 +0 | nonzero +inf: nan nan | nonzero nan: nan nan |
        +inf positive: 1 ±0 | +inf +inf: 1 ±0 | +inf nan: 1 ±0 | nan +0: nan +0 |
        nan nonzero: nan nan | nan nan: nan nan""",
}
_NONZERO_NUMBERS = [1.0, -1.0, 2.5, -2.5]
_VALUES_BY_RULE: dict[str, list[float]] = {
    "0": [0.0, -0.0],
    "inf": [math.inf, -math.inf],
    "nonzero": _NONZERO_NUMBERS,
    "positive": [1.0, 2.5],
    "finite": [0.0, -0.0, *_NONZERO_NUMBERS],
    "any": [0.0, -0.0, *_NONZERO_NUMBERS, math.inf, -math.inf, math.nan],
    "π": [math.pi],
    "π/2": [math.pi / 2],
    "π/4": [math.pi / 4],
    "3π/4": [3 * math.pi / 4],
}


def cases(name: str) -> list[tuple[str, complex, list[str]]]:
    """Return (row label, argument, parts of the expected result) for each argument."""
    rows: list[tuple[str, complex, list[str]]] = []
    for row in SPECIAL_VALUE_RULES[name].split("|"):
        label, _, result = row.strip().partition(": ")
        one, other = (_VALUES_BY_RULE.get(part) or [float(part)] for part in label.split())
        rows += [(label, complex(a, b), result.split()) for a in one for b in other]
    return rows


def is_expected(value: float, part: str) -> bool:
    """Return whether a real or imaginary part equals the part that a row expects."""
    either = part.startswith("±")
    expected = (_VALUES_BY_RULE.get(part.strip("±")) or [float(part.strip("±"))])[0]
    if math.isnan(expected):
        return math.isnan(value)
    close = value == expected or math.isclose(abs(value), abs(expected), rel_tol=1e-6)
    return close and (either or math.copysign(1, value) == math.copysign(1, expected))
