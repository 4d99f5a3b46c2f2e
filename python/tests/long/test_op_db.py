# SPDX-License-Identifier: MIT
"""PyTorch's samples of each operator and their gradients, with one list of expected failures; an entry that passes fails the run."""
import os

os.environ["PYTORCH_TESTING_DEVICE_ONLY_FOR"] = "sidra"

import op_db
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests, ops
from torch.testing._internal.common_utils import TestCase

OPERATORS = op_db.operators()
EXPECTED = op_db.expected_failures()
each_operator = ops(OPERATORS, dtypes=(torch.float32,))
each_with_gradients = ops([op for op in OPERATORS if op.supports_autograd], dtypes=(torch.float32,))


def test_the_list_names_operators():
    assert {name.removesuffix(" gradients") for name in EXPECTED} <= {op_db.name_of(op) for op in OPERATORS}


class TestOperators(TestCase):
    def judge(self, name, outcomes):
        assert outcomes, "no sample passes on the CPU"
        failures = [failure for failure in outcomes if failure]
        if name in EXPECTED:
            assert failures, f"{name} passes: take it out of op_db.failures.txt"
        else:
            assert not failures, f"{len(failures)} samples: {failures[0]}"

    @each_operator
    def test_results(self, device, dtype, op):
        with torch.sidra.matmul_mode("digital"):
            self.judge(op_db.name_of(op), op_db.run(op))

    @each_with_gradients
    def test_gradients(self, device, dtype, op):
        with torch.sidra.matmul_mode("digital"):
            self.judge(f"{op_db.name_of(op)} gradients", op_db.run_gradients(op))


instantiate_device_type_tests(TestOperators, globals())
