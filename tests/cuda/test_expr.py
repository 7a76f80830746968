"""Expressions: what is printed means what is evaluated."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tileviz.cuda.expr import Const, Expr, Var, bit_field

LANE, REGISTER = Var("lane", 32), Var("r", 8)


def expressions() -> st.SearchStrategy[Expr]:
    leaves = st.one_of(
        st.sampled_from([LANE, REGISTER]), st.integers(0, 40).map(lambda value: Const(value))
    )

    def grow(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
        pair = st.tuples(inner, inner)
        amount = st.tuples(inner, st.integers(0, 6))
        divisor = st.tuples(inner, st.integers(1, 40))
        return st.one_of(
            pair.map(lambda p: p[0] + p[1]),
            pair.map(lambda p: p[0] ^ p[1]),
            amount.map(lambda p: p[0] * p[1]),
            amount.map(lambda p: p[0] >> p[1]),
            amount.map(lambda p: p[0] & p[1]),
            divisor.map(lambda p: p[0] // p[1]),
            divisor.map(lambda p: p[0] % p[1]),
        )

    return st.recursive(leaves, grow, max_leaves=12)


@given(expressions())
def test_text_means_what_is_evaluated(expression: Expr) -> None:
    lanes, registers = np.arange(32), np.arange(8)[:, None]
    found = expression.evaluate({"lane": lanes, "r": registers})
    text = str(expression).replace("/", "//")  # values are non-negative: C++ and Python agree
    wanted = eval(text, {}, {"lane": lanes, "r": registers})
    assert np.array_equal(np.broadcast_to(found, (8, 32)), np.broadcast_to(wanted, (8, 32)))


@given(expressions())
def test_limit_is_never_too_low(expression: Expr) -> None:
    found = expression.evaluate({"lane": np.arange(32), "r": np.arange(8)[:, None]})
    assert expression.limit is not None
    assert np.max(found) < expression.limit


def test_what_cannot_change_the_value_is_left_out() -> None:
    assert str((LANE >> 3) & 3) == "lane >> 3"
    assert str((LANE + 0) * 1 + 32 * REGISTER) == "lane + r * 32"
    assert str(LANE % 32) == "lane"
    assert str(LANE // 32) == "0"
    assert str(bit_field(LANE, 5, 2)) == "0"
    assert str(LANE * 4 + -8) == "lane * 4 - 8"


def test_bit_and_arithmetic_operators_are_kept_apart() -> None:
    assert str((REGISTER ^ (LANE >> 4)) * 32 + (LANE & 7)) == "(r ^ (lane >> 4)) * 32 + (lane & 7)"


def test_a_huge_divisor_costs_nothing() -> None:
    assert str(LANE // (1 << 40)) == "0"
    assert str(LANE % (1 << 40)) == "lane"
    assert (LANE << (1 << 40)).limit is None
