# SPDX-License-Identifier: MIT
"""PyTorch's samples of each operator, with one list of expected failures; an entry that passes fails the run."""
import op_db
import pytest
import torch

OPERATORS = op_db.operators()
EXPECTED = op_db.expected_failures()


def test_the_list_names_operators():
    assert set(EXPECTED) <= {op_db.name_of(op) for op in OPERATORS}


@pytest.mark.parametrize("op", OPERATORS, ids=op_db.name_of)
def test_operator(op):
    with torch.sidra.matmul_mode("digital"):
        failures = [failure for failure in op_db.run(op) if failure]
    if op_db.name_of(op) in EXPECTED:
        assert failures, "it passes: take it out of op_db.failures.txt"
    else:
        assert not failures, f"{len(failures)} samples: {failures[0]}"
