# SPDX-License-Identifier: MIT
"""torch.compile(backend="sidra"): regions without gradients become compiled models, those with gradients run operator by operator.

PyTorch finds the backend by the entry point group torch_dynamo_backends, so this package is imported at the first torch.compile() that names it.
docs/pytorch.md says what a region is, and when it does not run compiled."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import torch

from .network import results_of
from .options import options_of
from .region import Region, name_of

__all__ = ["sidra"]


def sidra(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, mode: Optional[str] = None, options: Optional[Mapping[str, Any]] = None) -> Callable[..., Any]:
    """The backend: what runs a graph that torch.compile() has captured."""
    chosen = options_of(mode, options)
    if _records_gradients(graph_module):
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.aot_autograd import make_boxed_func

        as_it_is = lambda graph, inputs: make_boxed_func(graph.forward)
        return aot_autograd(fw_compiler=as_it_is)(graph_module, example_inputs)
    return Region(graph_module, example_inputs, name_of(graph_module), chosen)


def _records_gradients(graph_module: torch.fx.GraphModule) -> bool:
    """Whether something can ask for gradients of a result, or one is computed in the graph."""
    values = (node.meta.get("example_value") for node in results_of(graph_module) if isinstance(node, torch.fx.Node))
    return any(isinstance(value, torch.Tensor) and value.requires_grad for value in values)
