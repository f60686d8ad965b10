"""Derivatives of matrix products."""

import rule_oracle
from rule_oracle import Case, torch, values

linear = torch.nn.functional.linear


def einsum(formula, *factors):
    return torch.einsum(formula, *factors)


RULE_CASES = [
    Case("matmul", [values(3, 4), values(4, 5)], torch.matmul),
    Case("matmul", [values(2, 1, 3, 4), values(5, 4, 2)], torch.matmul),
    Case("matmul", [values(4), values(4, seed=1)], torch.matmul),
    Case("matmul", [values(3, 4), values(4)], torch.matmul),
    Case("matmul", [values(4), values(4, 3)], torch.matmul),
    Case("matmul", [values(2, 3, 4), values(4)], torch.matmul),
    Case("matmul", [values(4), values(2, 4, 3)], torch.matmul),
    Case("linear", [values(3, 4), values(5, 4)], linear),
    Case("linear", [values(2, 3, 4), values(5, 4), values(5)], linear),
    Case("linear", [values(4), values(5, 4), values(5)], linear),
    Case(
        "tensordot",
        [values(3, 4), values(4, 5)],
        lambda x, y: torch.tensordot(x, y, 1),
        {"axes": 1},
    ),
    Case(
        "tensordot",
        [values(3, 4, 2), values(2, 5, 3)],
        lambda x, y: torch.tensordot(x, y, ([2, 0], [0, 2])),
        {"axes": ([2, 0], [0, 2])},
    ),
    Case(
        "tensordot",
        [values(3, 4, 2), values(4, 3)],
        lambda x, y: torch.tensordot(x, y, ([0, 1], [1, 0])),
        {"axes": ((0, 1), (1, 0))},
    ),
    Case("einsum", ["ij,jk->ik", values(3, 4), values(4, 2)], einsum),
    Case("einsum", ["ij,jk", values(3, 4), values(4, 2)], einsum),
    Case("einsum", ["...ij,...kj->...ik", values(2, 3, 4), values(1, 5, 4)], einsum),
    Case("einsum", ["bhid,bhjd->bhij", values(2, 2, 3, 4), values(2, 2, 5, 4)], einsum),
    Case("einsum", ["ij,j,i->", values(3, 4), values(4), values(3)], einsum),
    Case("einsum", ["ij->j", values(3, 4)], einsum),
    Case("einsum", ["ii->i", values(3, 3)], einsum),
    Case("einsum", ["ii", values(3, 3)], einsum),
    Case("einsum", ["ij,k->k", values(3, 4), values(2)], einsum),
    Case("einsum", ["ij,ij->ji", values(3, 4), values(3, 4, seed=1)], einsum),
]
each_case = rule_oracle.each_of(RULE_CASES)


@each_case
def test_gradients_equal_torch(case):
    rule_oracle.check_against_torch(case)


@each_case
def test_gradients_equal_central_differences(case):
    rule_oracle.check_central_differences(case)


@each_case
def test_second_derivatives_equal_torch(case):
    rule_oracle.check_second_order(case)
