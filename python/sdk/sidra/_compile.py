# SPDX-License-Identifier: MIT
"""sidra.compile(): from a network to a compiled model."""
from __future__ import annotations

import json
import logging
import os
import shutil
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Optional, Union

from . import _core
from ._calibration import Samples, inputs_of, runs_of, samples_of, simulated_accuracy, tests_of
from ._compiled import Compiled
from ._core import CompileError, TargetMissed
from ._export import is_module, onnx_file, stack_trace_of_node

DEVICES = ("y1",)
LEVELS = (0, 1, 2)
LOG = logging.getLogger("sidra")


def compiler_library() -> str:
    """The compiler's library: what SIDRA_COMPILER_LIBRARY names, or else what the loader finds."""
    return os.environ.get("SIDRA_COMPILER_LIBRARY") or f"libsidra-compiler.so.{_core.library_version() >> 16}"


def listing_of(path: str) -> str:
    """The calls and programs of a compiled model for one chip, as `sidra-objdump --calls --programs` prints them."""
    return _core.list_calls(compiler_library(), path, False)


def calls_of(path: str) -> list[tuple[str, list[str]]]:
    """The calls of the first variant of a compiled model, in their order: what kind each is, and the nodes of the network that it computes."""
    return [(call["step"], call["name"].split()) for call in json.loads(_core.list_calls(compiler_library(), path, True))["calls"][0]]


def sizes_of(dimensions: Optional[Mapping[str, Union[int, Sequence[int]]]]) -> list[tuple[str, int]]:
    sizes = [(name, size) for name, given in (dimensions or {}).items() for size in (given if isinstance(given, Sequence) else [given])]
    for name, size in sizes:
        if not isinstance(size, int) or size < 1:
            raise ValueError(f"dimension {name!r}: a size must be an integer of at least 1, not {size!r}")
    return sizes


def compile_file(path: str, sizes: Sequence[tuple[str, int]], optimization_level: int, samples: Samples, tests: Samples, labels: Any,
                 target_accuracy: float, options: Mapping[str, Any]) -> Compiled:
    folder = tempfile.mkdtemp(prefix="sidra-")
    try:
        output = os.path.join(folder, "model.sidra")
        for note in _core.compile(compiler_library(), path, output, sizes, samples, tests, labels, target_accuracy, optimization_level, **options):
            LOG.info(note)
        return Compiled(output, temporary=True)
    except BaseException as error:
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(error, ImportError):
            raise
        raise ImportError(f"sidra.compile() needs the library of SIDRA's compiler: {error}. `make compiler` builds it and `make install` installs it; "
                          "SIDRA_COMPILER_LIBRARY may name its file") from error


def compile(model: Any, calib_data: Optional[Iterable[Any]] = None, target_device: str = "y1", optimization_level: int = 2, *,
            example_inputs: Any = None, dimensions: Optional[Mapping[str, Union[int, Sequence[int]]]] = None, target_accuracy: float = 0,
            test_data: Optional[Iterable[Any]] = None, train_data: Optional[Iterable[Any]] = None, observer: str = "mse",
            signal_to_noise: float = 20, bias_correction: bool = True, equalisation: bool = True, copies: int = 1, copies_by_layer: bool = False,
            tmr: float = 0, predistort: bool = False, adc_ranges: bool = False, chips: Union[int, str] = 1,
            chip_map: Optional[Union[str, os.PathLike[str]]] = None, report: Optional[Union[str, os.PathLike[str]]] = None,
            dump: Optional[Union[str, os.PathLike[str]]] = None) -> Compiled:
    """Compiles a network for the chip (docs/compiler.md). Weights become codes of 8 bits.

    model: the path of an ONNX file; an onnx.ModelProto; a torch.nn.Module in eval mode, which PyTorch exports (this needs the package onnxscript); or
    a torch.export.ExportedProgram.

    calib_data: batches, read once. Each one is what the model takes: an array, or a mapping of names to arrays; or a pair of that and labels, the
    numbers of classes, as a DataLoader yields it (several inputs may be a tuple in a pair). Batches may have any number of samples: they are cut and
    padded to that of the model. The compiler runs the network with them, and gives the inputs of each layer codes for the values that they have there;
    without calib_data each row gets its own when it is computed.

    test_data: as calib_data, which it is by default. With labels, the compiled model runs with them on a chip of its own, and `simulated_accuracy` is
    the share of labels at which the first output has the largest value of its last dimension. Level and noise of that chip are those of the
    environment (SIDRA_LEVEL).

    optimization_level: 0: a call for each operation, to find errors; 1: fewer calls, copies and matrices, with the network's arithmetic; 2: also other
    arithmetic that gives the same but for rounding.

    example_inputs: what a torch.nn.Module takes: a tensor, a tuple, or a dict of arguments; None: the first batch of calib_data. They fix the shapes.
    dimensions: sizes of the dimensions that have none in the network, by their names or places: {"batch": 8}, {"x[0]": 8} for the first one of the
    input x. Several sizes, {"batch": [1, 8]}, give a variant of the model for each; calib_data is for the first. An ExportedProgram has no names for
    dimensions.

    target_accuracy: above 0, the share of the labels in test_data that the model must meet, at level "fast" and at level "accurate". The compiler
    takes more effort (inputs of 16 bits, several copies of each layer, tmr, predistort) until it does. If nothing suffices it raises TargetMissed.

    train_data: batches with labels. If the target is not reached by all that, a copy of the module is trained with them and with errors as a chip has
    them, and compiled instead: `trained` of the result. sidra.training.fine_tune() does it, which has more options.

    observer: how the range of codes follows from the values of calib_data: "minmax", "moving", "percentile", "mse" or "entropy". signal_to_noise: of a
    layer's results, in decibels: if one range of 8 bits gives less, its inputs get a range for each row, or 16 bits.

    bias_correction: with calib_data, what codes do to the mean of each column of a layer's results is subtracted from them.
    equalisation: at level 2, channels between two layers get factors where that makes the errors of codes smaller.

    copies: so many matrices for each layer, whose results are averaged, against errors of analog hardware (1 to 64). copies_by_layer: with calib_data, as
    many in all, but first for the layers that need them most.

    tmr: this share of each layer's columns, from 0 to 1, those whose errors cost most, are on three crossbars, and the median of the results counts.
    predistort: weights are changed so that they are right behind the wires of analog crossbars; at level "fast" results then have an error of that size.
    adc_ranges: with calib_data, the ADCs of each crossbar have one range for all products, of which they learn from inputs of calib_data when the model
    is deployed; otherwise the range follows each product.

    chips: the network is cut into stages for so many chips, 1 to 16, or "auto": as few as have crossbars for its matrices. sidra.Chips runs it.
    chip_map: a file of `sidra-smi map`; the matrices are placed on good and free crossbars of this chip.

    report: a file that gets time, energy and crossbars of a run by layer, and with calib_data also accuracy: a page (.html), or JSON (.json).

    dump: a folder that gets the network as the compiler has it behind each pass, a file each; and before them as an ONNX file, if it was none.

    What the compiler notes, such as nodes that the host computes, goes to the logger "sidra", at level INFO.

    Raises CompileError for what the compiler refuses, with the name of the node (of a network of PyTorch's, `stack_trace` says which lines of Python it
    comes from, if that is known), its subclass TargetMissed if only target_accuracy is not reached, and
    ImportError where a library is missing."""
    import numpy

    if target_device not in DEVICES:
        raise ValueError(f"target_device {target_device!r} is none of {', '.join(map(repr, DEVICES))}")
    if optimization_level not in LEVELS:
        raise ValueError(f"optimization_level {optimization_level!r} is none of {', '.join(map(str, LEVELS))}")
    if not 1 <= copies <= 64:
        raise ValueError(f"copies must be 1 to 64, not {copies!r}")
    if not 0 <= tmr <= 1:
        raise ValueError(f"tmr must be a share of 0 to 1, not {tmr!r}")
    if not signal_to_noise > 0:
        raise ValueError(f"signal_to_noise must be a number of decibels above 0, not {signal_to_noise!r}")
    if chips != "auto" and not (isinstance(chips, int) and 1 <= chips <= 16):
        raise ValueError(f"chips must be 1 to 16, or 'auto', not {chips!r}")
    if not 0 <= target_accuracy <= 1:
        raise ValueError(f"target_accuracy must be a share of 0 to 1, not {target_accuracy!r}")
    if train_data is not None and not (target_accuracy and is_module(model)):
        raise ValueError("train_data needs a target_accuracy, and a torch.nn.Module as model")
    sizes = sizes_of(dimensions)
    options = {"observer": observer, "signal_to_noise": signal_to_noise, "bias_correction": bias_correction, "equalisation": equalisation,
               "copies": copies, "tmr": tmr, "predistort": predistort, "chips": _core.CHIPS_AUTO if chips == "auto" else chips,
               "chip_map": os.fspath(chip_map) if chip_map is not None else "", "dump": os.path.abspath(dump) if dump is not None else ""}
    batches = list(calib_data) if calib_data is not None else []
    tests, judges = (list(test_data), "test_data") if test_data is not None else (batches, "calib_data")
    if target_accuracy and not tests:
        raise ValueError("target_accuracy needs calib_data or test_data with labels")
    if copies_by_layer and not batches:
        raise ValueError("copies_by_layer needs calib_data")
    if adc_ranges and not batches:
        raise ValueError("adc_ranges needs calib_data")
    if example_inputs is None and (batches or tests):
        example_inputs = inputs_of((batches or tests)[0])

    path_of_report = "" if report is None else os.path.abspath(report)

    def attempt(network: Any) -> Compiled:
        with tempfile.TemporaryDirectory(prefix="sidra-") as folder:
            path = onnx_file(network, example_inputs, folder)
            if dump is not None and os.path.dirname(path) == folder:
                shutil.copytree(folder, dump, dirs_exist_ok=True)
            try:
                return compiled_from(path)
            except CompileError as error:
                refused: Any = error
                refused.stack_trace = "" if isinstance(network, (str, os.PathLike)) else stack_trace_of_node(path, str(error))
                raise

    def compiled_from(path: str) -> Compiled:
        first = {**options, "copies_by_layer": False, "adc_ranges": False, "report": "" if batches or tests else path_of_report}
        result = compile_file(path, sizes, optimization_level, [], [], numpy.empty(0, numpy.int64), 0, first)
        if batches or tests:
            # Names, types and shapes of the inputs are known now.
            variant = result.variants[0]
            samples = samples_of(list(runs_of("calib_data", batches, variant)), variant) if batches else []
            judged, labels = tests_of(list(runs_of(judges, tests, variant)), variant) if target_accuracy else ([], numpy.empty(0, numpy.int64))
            result = compile_file(path, sizes, optimization_level, samples, judged, labels, target_accuracy,
                                  {**options, "copies_by_layer": copies_by_layer, "adc_ranges": adc_ranges, "report": path_of_report})
            result.simulated_accuracy = simulated_accuracy(judges, result, tests)
        return result

    try:
        return attempt(model)
    except TargetMissed as missed:
        if train_data is None:
            raise
        LOG.info(str(missed))
    from .training import fine_tune

    trained = fine_tune(model, train_data, progress=lambda done, epochs, loss: LOG.info(f"training with noise: epoch {done} of {epochs}, loss {loss:.4f}"))
    result = attempt(trained)
    result.trained = trained
    return result
