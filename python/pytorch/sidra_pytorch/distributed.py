# SPDX-License-Identifier: MIT
"""The backend "sidra" of torch.distributed: gloo, in the memory that devices and host share."""
from __future__ import annotations

from typing import Any

import torch


def _create(options: Any, _: Any) -> Any:
    distributed = torch.distributed
    gloo = distributed.ProcessGroupGloo(options.store, options.group_rank, options.group_size, timeout=options.timeout)
    gloo._set_sequence_number_for_group()
    group = distributed.ProcessGroup(options.store, options.group_rank, options.group_size)
    group._register_backend(torch.device("cpu"), distributed.ProcessGroup.BackendType.GLOO, gloo)
    torch.ops.sidra.use_host_backend(group.boxed(), options.global_ranks_in_group)
    return group._get_backend(torch.device("sidra"))


def register() -> None:
    if torch.distributed.is_available() and torch.distributed.is_gloo_available():
        torch.distributed.Backend.register_backend("sidra", _create, extended_api=True, devices=["cpu", "sidra"])
