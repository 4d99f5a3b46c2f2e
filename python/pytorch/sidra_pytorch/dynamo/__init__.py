# SPDX-License-Identifier: MIT
"""torch.compile(backend="sidra"): regions without gradients become compiled models, those with gradients run operator by operator.
torch.compile(backend="sidra_debug") does the same, and prints what it captures and what becomes of it.
torch.compile(backend="sidra_inductor") is for models on the CPU: it rewrites some patterns, and Inductor gets the rest.

PyTorch finds the backends by the entry point group torch_dynamo_backends, so this package is imported at the first torch.compile() that names one.
docs/pytorch.md says what a region is, and when it does not run compiled."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional

import torch

from .. import _C
from .debug import keep_reason
from .effects import devices_in
from .network import results_of
from .options import options_of
from .region import ERROR, LOG, Region, name_of
from .rewrites import rewrite
from .summary import summary

Given = Optional[Mapping[str, Any]]
Compiled = Callable[..., Any]

__all__ = ["sidra", "sidra_debug", "sidra_inductor"]


def sidra(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, mode: Optional[str] = None, options: Given = None) -> Compiled:
    """The backend: what runs a graph that torch.compile() has captured."""
    return _compiled(graph_module, example_inputs, mode, options, None)


def sidra_debug(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, mode: Optional[str] = None, options: Given = None) -> Compiled:
    """The same, which prints each graph with the lines of Python that it comes from, the number of each operator, which of them can be
    fused, and how many operations of the chip the compiler makes of them."""
    print(summary(name_of(graph_module), graph_module), flush=True)
    return _compiled(graph_module, example_inputs, mode, options, lambda text: print(f"  {text}", flush=True))


def sidra_inductor(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], *, mode: Optional[str] = None, options: Given = None) -> Compiled:
    """For models on the CPU: SiLU, GELU by tanh and chains of numbers that are spelt out become one operator each, and Inductor gets the rest. Inductor
    has no code for this device: what is there runs operator by operator."""
    from torch._dynamo.backends.registry import lookup_backend
    from torch._inductor import list_mode_options

    if _is_on_the_device(graph_module, example_inputs):
        text = f"{name_of(graph_module)} has tensors on a sidra device, for which Inductor makes no code"
        if _C.fallback_mode() == ERROR:
            raise RuntimeError(f"{text}; use torch.compile(backend=\"sidra\") (SIDRA_FALLBACK=error)")
        LOG.warning("%s; it runs operator by operator. torch.compile(backend=\"sidra\") compiles it", text)
        return graph_module.forward
    rewrite(graph_module)
    modes = list_mode_options()
    if mode is not None and mode not in modes:
        raise ValueError(f"torch.compile(backend=\"sidra_inductor\") has no mode {mode!r}; there are {', '.join(modes)}")
    patches = {**(modes[mode] if mode is not None else {}), **(options or {})}
    inductor: Any = lookup_backend("inductor")
    return inductor(graph_module, list(example_inputs), config_patches=patches or None)


def _compiled(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any], mode: Optional[str], options: Given,
              say: Optional[Callable[[str], None]]) -> Compiled:
    chosen = options_of(mode, options)
    graph_module.graph.lint()
    if _records_gradients(graph_module):
        from torch._dynamo.backends.common import aot_autograd
        from torch._functorch.aot_autograd import make_boxed_func

        why = "it records gradients, so it runs operator by operator"
        keep_reason(name_of(graph_module), graph_module, why)
        if say is not None:
            say(why)
        as_it_is = lambda graph, inputs: make_boxed_func(graph.forward)
        return aot_autograd(fw_compiler=as_it_is)(graph_module, example_inputs)
    _take_no_notes()
    return Region(graph_module, example_inputs, name_of(graph_module), chosen, say).entry()


_notes_are_off = False  # until Dynamo has compiled the graph


def _take_no_notes() -> None:
    """Dynamo's code that fetches the inputs of a graph tells profilers how long that takes, by two calls in Python: a quarter of what Dynamo needs for a warm
    call. The graph that is being compiled goes without them; those that are compiled later have them."""
    global _notes_are_off
    from torch._dynamo import callback_handler, config, on_compile_end

    if not getattr(config, "record_runtime_overhead", False):  # PyTorch 2.6 has no such switch
        return
    config.record_runtime_overhead, _notes_are_off = False, True
    if _take_notes_again not in callback_handler.end_callbacks:  # torch._dynamo.reset() removes it
        on_compile_end(_take_notes_again)


def _take_notes_again(_: object) -> None:
    global _notes_are_off
    if _notes_are_off:
        torch._dynamo.config.record_runtime_overhead, _notes_are_off = True, False


def _is_on_the_device(graph_module: torch.fx.GraphModule, example_inputs: Sequence[Any]) -> bool:
    given = {value.device for value in example_inputs if isinstance(value, torch.Tensor)}
    return any(device.type == "sidra" for device in given | devices_in(graph_module))


def _records_gradients(graph_module: torch.fx.GraphModule) -> bool:
    """Whether something can ask for gradients of a result, or one is computed in the graph."""
    values = (node.meta.get("example_value") for node in results_of(graph_module) if isinstance(node, torch.fx.Node))
    return any(isinstance(value, torch.Tensor) and value.requires_grad for value in values)
