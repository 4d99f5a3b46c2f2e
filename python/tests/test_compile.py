# SPDX-License-Identifier: MIT
"""sidra.compile() and what it returns: against PyTorch and onnxruntime."""
import gc
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import threading
import time

import numpy
import onnx
import onnxruntime
import pytest
import sidra
import torch
from compiled import angles, assert_same_angles, cosine, expected
from onnx import TensorProto, helper
from torch import nn


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 64)
        self.layers = nn.TransformerEncoder(nn.TransformerEncoderLayer(64, 4, 128, batch_first=True, activation="gelu"), 2, enable_nested_tensor=False)
        self.head = nn.Linear(64, 10)

    def forward(self, ids):
        return self.head(self.layers(self.embedding(ids)).mean(1))


def convolutional():
    return nn.Sequential(nn.Conv2d(3, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1, groups=2), nn.SiLU(),
                         nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 10))


class Gated(nn.Module):
    """Two layers with one input, one with a normalisation by columns and with a GELU that is spelled out."""

    def __init__(self):
        super().__init__()
        self.value, self.gate = nn.Linear(32, 64), nn.Linear(32, 64)
        self.scale, self.shift = nn.Parameter(torch.rand(64)), nn.Parameter(torch.rand(64))

    def forward(self, x):
        gate = (self.gate(x) + self.shift) * self.scale
        return self.value(x) * (0.5 * gate * (1 + torch.tanh(0.7978845608028654 * (gate + 0.044715 * (gate * gate * gate)))))


def scattered(module):
    """Layers that are copies of each other would share their matrices."""
    torch.manual_seed(1)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.2)
    for name, buffer in module.named_buffers():
        if name.endswith("running_mean"):
            nn.init.normal_(buffer, std=0.2)
        elif name.endswith("running_var"):
            nn.init.uniform_(buffer, 0.5, 2)
    return module.eval()


def proto(nodes, inputs, outputs, constants=(), name="graph"):
    """A ModelProto. inputs, outputs: (name, type, shape)."""
    graph = helper.make_graph(nodes, name, [helper.make_tensor_value_info(*i) for i in inputs], [helper.make_tensor_value_info(*o) for o in outputs],
                              [onnx.numpy_helper.from_array(value, key) for key, value in dict(constants).items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17), helper.make_opsetid("made.up", 1)], ir_version=8)
    onnx.checker.check_model(model)
    return model


def add(type=TensorProto.FLOAT, shape=(2, 3)):
    return proto([helper.make_node("Add", ["a", "b"], ["sum"])], [("a", type, shape), ("b", type, shape)], [("sum", type, shape)])


@pytest.fixture(scope="module")
def encoder():
    """A module, and inputs for it."""
    return scattered(Encoder()), torch.randint(0, 50, (2, 16), generator=torch.Generator().manual_seed(1))


@pytest.fixture(scope="module")
def compiled(encoder):
    return sidra.compile(encoder[0], example_inputs=encoder[1])


def at_each_level(module, *inputs):
    model = torch.onnx.export(torch.export.export(module, inputs), dynamo=True, verbose=False).model_proto
    return [sidra.compile(model, optimization_level=level) for level in (0, 1, 2)]


# ---- What can be compiled ------------------------------------------------------------------------------------------------------------------------------


def test_a_transformer_is_near_pytorch(chip, encoder, compiled):
    module, ids = encoder
    model = chip.deploy(compiled)
    for seed in range(3):
        ids = torch.randint(0, 50, (2, 16), generator=torch.Generator().manual_seed(seed))
        result = chip.infer(ids)
        assert isinstance(result, numpy.ndarray) and result.dtype == numpy.float32
        assert cosine(result, expected(module, ids)) > 0.999
        assert (chip.infer(ids.numpy()) == result).all() and (model.infer(ids=ids.tolist()) == result).all()
    assert compiled.name == "Encoder"
    (variant,) = compiled.variants
    assert variant.inputs == (sidra.Tensor("ids", "int64", (2, 16)),) and variant.outputs[0][1:] == ("float32", (2, 10))
    seconds, joules = model.cost
    assert seconds > 0 and joules > 0


def test_matrices_take_crossbars(compiled):
    # Two cells for each weight: 256 x 128 weights in a crossbar. Q, K and V are one matrix of 192 columns; the head has one of 64 x 10.
    assert compiled.crossbar_count == 2 * (2 + 1 + 1 + 1) + 1
    assert compiled.size_bytes > 2 * (64 * 192 + 64 * 64 + 2 * 64 * 128) + 64 * 10


def test_images_from_a_module_a_program_a_proto_and_a_file(chip, tmp_path):
    module, images = scattered(convolutional()), torch.randn(4, 3, 16, 16)
    program = torch.export.export(module, (images,))
    file = tmp_path / "network.onnx"
    torch.onnx.export(program, dynamo=True, verbose=False, optimize=False).save(file)
    rewritten = tmp_path / "rewritten.onnx"  # filters are multiplied with the factors of normalisations, which rounds otherwise than the compiler does
    torch.onnx.export(program, dynamo=True, verbose=False).save(rewritten)
    want = expected(module, images)
    assert numpy.allclose(onnxruntime.InferenceSession(file).run(None, {"input": images.numpy()})[0], want, atol=1e-4)
    results = []
    for model, options in ((module, {"example_inputs": {"input": images}}), (program, {}), (onnx.load(file), {}), (file, {}), (str(file), {})):
        with chip.deploy(sidra.compile(model, **options)) as deployed:
            results.append(deployed.infer(images))
    assert cosine(results[0], want) > 0.999
    for result in results[1:]:
        assert (result == results[0]).all()
    with chip.deploy(sidra.compile(rewritten)) as deployed:
        assert cosine(deployed.infer(images), want) > 0.999


class Squares(nn.Module):
    def forward(self, x):
        matrices = x.view(8, 2, 2, 2)
        return (matrices @ matrices).reshape(8, 8)


def test_a_product_between_views_is_no_product_of_what_they_show(chip):
    """Of matrices that could be multiplied as they are, with a result of the same shape."""
    x = torch.randn(8, 8)
    with chip.deploy(sidra.compile(Squares().eval(), example_inputs=x)) as deployed:
        assert numpy.allclose(deployed.infer(x), Squares()(x), atol=1e-5)


def test_dimensions_without_a_size(chip):
    module, shapes = scattered(nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4))), ({0: torch.export.Dim("rows")},)
    program = torch.export.export(module, (torch.randn(5, 16),), dynamic_shapes=shapes)
    with pytest.raises(sidra.CompileError, match="dimension 0 of the input 'input' has no size; give it with --dim"):
        sidra.compile(program)
    with pytest.raises(sidra.CompileError, match="dimension 'columns'"):
        sidra.compile(program, dimensions={"input[0]": 3, "columns": 2})
    by_place = sidra.compile(program, dimensions={"input[0]": 3})
    # The program itself does not keep the name.
    by_name = sidra.compile(torch.onnx.export(program, dynamo=True, verbose=False, dynamic_shapes=shapes).model_proto, dimensions={"rows": 3})
    x = torch.randn(3, 16)
    for compiled in (by_place, by_name):
        assert cosine(chip.deploy(compiled).infer(x), expected(module, x)) > 0.999
    several = sidra.compile(program, dimensions={"input[0]": [1, 3]})
    assert [variant.inputs[0].shape for variant in several.variants] == [(1, 16), (3, 16)]
    model = chip.deploy(several)
    assert (model.infer(x) == chip.models[0].infer(x)).all() and model.infer(x[:1]).shape == (1, 4)
    with pytest.raises(ValueError, match=r"none of the shapes \(2, 16\); it takes \(1, 16\); \(3, 16\)"):
        model.infer(x[:2])


def test_several_inputs_and_outputs(chip):
    model = proto([helper.make_node("Add", ["a", "b"], ["sum"]), helper.make_node("MatMul", ["sum", "w"], ["product"])],
                  [("a", TensorProto.FLOAT, (2, 3)), ("b", TensorProto.FLOAT, (1, 3))],
                  [("sum", TensorProto.FLOAT, (2, 3)), ("product", TensorProto.FLOAT, (2, 1))], {"w": numpy.ones((3, 1), numpy.float32)})
    chip.deploy(sidra.compile(model))
    a, b = numpy.float32([[1, 2, 3], [4, 5, 6]]), numpy.float32([[1, 0, 1]])
    for inputs, named in (((a, b), {}), ((a,), {"b": b}), ((), {"b": b, "a": a}), ((a.tolist(), b.tolist()), {}), ((numpy.asfortranarray(a), b), {})):
        total, product = chip.infer(*inputs, **named)
        assert (total == a + b).all()
        assert numpy.allclose(product, (a + b).sum(1, keepdims=True), rtol=0.01)


@pytest.mark.parametrize("type, dtype", [(TensorProto.FLOAT16, "float16"), (TensorProto.BFLOAT16, "bfloat16"), (TensorProto.INT32, "int32"),
                                         (TensorProto.INT64, "int64")])
def test_types_of_arrays(chip, type, dtype):
    chip.deploy(sidra.compile(add(type)))
    a, b = torch.arange(6, dtype=getattr(torch, dtype)).reshape(2, 3), torch.full((2, 3), 2, dtype=getattr(torch, dtype))
    result = chip.infer(a, b)
    assert result.dtype.name == dtype and (result.astype(numpy.float64) == (a + b).double().numpy()).all()
    assert (chip.infer(result, b).astype(numpy.float64) == (a + b + b).double().numpy()).all()
    assert (chip.infer([[0, 1, 2], [3, 4, 5]], b) == result).all()


class Sums(nn.Module):
    def forward(self, x):
        sums = x.sum(-1)
        return x * 2, sums, x.cumsum(-1), sums, sums + x[:, 0]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_results_have_the_types_of_pytorch(chip, dtype):
    x = torch.arange(8, dtype=getattr(torch, dtype)).reshape(2, 4)
    model = chip.deploy(sidra.compile(Sums().eval(), example_inputs=x))
    assert [output.dtype for output in model.variants[0].outputs] == [dtype] * 5
    for got, want in zip(chip.infer(x), Sums()(x), strict=True):
        assert got.dtype.name == dtype and (got.astype(numpy.float64) == want.double().numpy()).all()


class Angle(nn.Module):
    def forward(self, y, x):
        return torch.atan2(y, x)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16], ids=str)
def test_angles_are_those_of_pytorch(chip, dtype):
    y, x = (values.to(dtype) for values in angles())
    chip.deploy(sidra.compile(Angle().eval(), example_inputs=(y, x)))
    assert_same_angles(torch.from_numpy(chip.infer(y, x)), torch.atan2(y, x))


# ---- Levels of optimisation ----------------------------------------------------------------------------------------------------------------------------


def test_level_1_needs_fewer_calls(chip, encoder, compiled):
    module, ids = encoder
    levels = at_each_level(module, ids)
    calls = [level.variants[0].calls for level in levels]
    assert calls[0] > 2 * calls[1] and calls[1] >= calls[2] == compiled.variants[0].calls
    results = [chip.deploy(level).infer(ids) for level in levels]
    assert numpy.allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
    assert cosine(results[2], expected(module, ids)) > 0.999


def test_levels_merge_matrices_and_replace_arithmetic(chip):
    module, x = scattered(Gated()), torch.randn(8, 32)
    levels = at_each_level(module, x)
    assert [level.crossbar_count for level in levels] == [2, 1, 1]
    results = [chip.deploy(level).infer(x) for level in levels]
    assert numpy.allclose(results[0], results[1], rtol=1e-5, atol=1e-6)
    assert numpy.allclose(results[1], results[2], rtol=1e-3, atol=1e-3) and (results[1] != results[2]).any()
    assert cosine(results[2], expected(module, x)) > 0.999
    calls = [level.variants[0].calls for level in levels]
    assert calls[0] > calls[1] >= calls[2]


# ---- Accuracy ------------------------------------------------------------------------------------------------------------------------------------------


def test_a_target_for_the_accuracy(caplog):
    w = numpy.random.default_rng(1).standard_normal((16, 4), numpy.float32)
    model = proto([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, (4, 16))], [("y", TensorProto.FLOAT, (4, 4))], {"w": w})
    x = numpy.random.default_rng(2).standard_normal((10, 16), numpy.float32)
    labels = (x @ w).argmax(1)
    with caplog.at_level("INFO", "sidra"):
        compiled = sidra.compile(model, calib_data=[(x, labels)], target_accuracy=0.8)
    assert compiled.simulated_accuracy >= 0.8
    assert any("level accurate" in record.message for record in caplog.records)
    with pytest.raises(sidra.TargetMissed, match="0.00 % of the samples are right"):
        sidra.compile(model, calib_data=[(x[:4], (labels[:4] + 1) % 4)], target_accuracy=0.9)
    # Tests that cannot judge the network are no missed target.
    with pytest.raises(sidra.CompileError, match="there are 8 labels for 4 samples") as refused:
        sidra.compile(model, test_data=[(x[:4], numpy.stack([labels[:4]] * 2, 1))], target_accuracy=0.5)
    assert not isinstance(refused.value, sidra.TargetMissed)


def test_options_against_analog_errors(chip):
    rng = numpy.random.default_rng(1)
    model = proto([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, (4, 64))], [("y", TensorProto.FLOAT, (4, 16))],
                  {"w": rng.standard_normal((64, 16), numpy.float32)})
    x = rng.standard_normal((4, 64), numpy.float32)
    plain, voted, changed = (chip.deploy(sidra.compile(model, **options)).infer(x) for options in ({}, {"tmr": 0.5}, {"predistort": True}))
    assert (voted == plain).all()
    assert (changed != plain).any() and cosine(changed, plain) > 0.999


def test_calibration_of_several_inputs(chip):
    model = proto([helper.make_node("MatMul", ["a", "w"], ["product"]), helper.make_node("Add", ["product", "b"], ["sum"])],
                  [("a", TensorProto.FLOAT, (2, 8)), ("b", TensorProto.FLOAT, (2, 4))], [("sum", TensorProto.FLOAT, (2, 4))],
                  {"w": numpy.random.default_rng(1).standard_normal((8, 4), numpy.float32)})
    a, b = torch.randn(5, 8), torch.randn(5, 4)
    results = [chip.deploy(sidra.compile(model, calib_data=[batch])).infer(a[:2], b[:2])
               for batch in ({"a": a, "b": b}, ((a, b), torch.zeros(5, dtype=torch.int64)), ({"b": b.numpy(), "a": a.numpy()}, numpy.zeros(5)))]
    want = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"a": a[:2].numpy(), "b": b[:2].numpy()})[0]
    assert cosine(results[0], want) > 0.999
    assert (results[1] == results[0]).all() and (results[2] == results[0]).all()


def test_samples_of_one_input_are_samples_of_all():
    model = proto([helper.make_node("Add", ["x", "table"], ["sum"])], [(name, TensorProto.FLOAT, (8, 4)) for name in ("x", "table")],
                  [("sum", TensorProto.FLOAT, (8, 4))])
    with pytest.raises(ValueError, match=r"the input 'table' has the shape \(8, 4\), but the model takes \(8, 4\); only the number of rows may differ, and "
                                         "must be that of the other inputs"):
        sidra.compile(model, calib_data=[{"x": torch.ones(5, 4), "table": torch.ones(8, 4)}])


# ---- Files ---------------------------------------------------------------------------------------------------------------------------------------------


def test_reports(tmp_path):
    x = torch.randn(8, 16)
    network = scattered(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4)))
    for name, options, measured in (("plain.json", {"example_inputs": x}, False), ("samples.json", {"calib_data": [x]}, True)):
        sidra.compile(network, report=tmp_path / name, **options)
        report = json.loads((tmp_path / name).read_text())
        variant = report["chips"][0]["variants"][0]
        assert sum(row["time_ps"] for row in variant["rows"]) == variant["time_ps"] > 0
        layers = [row for row in variant["rows"] if row["kind"] == "layer"]
        assert [row["matrix"] for row in layers] == [{"k": 16, "n": 8}, {"k": 8, "n": 4}]
        assert all((row["accuracy"] is not None) == measured for row in layers) and bool(report["effects"]) == measured
    with pytest.raises(sidra.CompileError, match="missing"):
        sidra.compile(network, example_inputs=x, report=tmp_path / "missing/x.html")


def test_files(chip, tmp_path, encoder, compiled):
    file = tmp_path / "encoder.sidra"
    compiled.save(file)
    assert os.listdir(tmp_path) == ["encoder.sidra"] and file.stat().st_size == compiled.size_bytes
    loaded = sidra.load(file)
    assert (loaded.name, loaded.variants, loaded.crossbar_count, loaded.simulated_accuracy) == ("Encoder", compiled.variants, compiled.crossbar_count, None)
    assert (chip.deploy(loaded).infer(encoder[1]) == chip.deploy(compiled).infer(encoder[1])).all()
    file.write_bytes(file.read_bytes()[:-1])
    with pytest.raises(sidra.Error, match="encoder.sidra"):
        sidra.load(file)
    with pytest.raises(sidra.Error, match="SIDRA_ERROR_NOT_FOUND"):
        sidra.load(tmp_path / "missing.sidra")
    with pytest.raises(FileNotFoundError):
        compiled.save(tmp_path / "missing" / "encoder.sidra")


def test_temporary_files_end_with_their_model():
    compiled = sidra.compile(add())
    folder = os.path.dirname(compiled.path)
    assert os.listdir(folder) == ["model.sidra"]
    del compiled
    gc.collect()
    assert not os.path.exists(folder)


def test_the_package_needs_neither_pytorch_nor_onnx_nor_the_compiler(tmp_path):
    file = tmp_path / "add.sidra"
    sidra.compile(add()).save(file)
    code = f"""
import sys
sys.modules["torch"] = sys.modules["onnx"] = None
import sidra
with sidra.Chip() as chip:
    chip.deploy(sidra.load({str(file)!r}))
    assert (chip.infer([[1, 2, 3], [4, 5, 6]], [[1, 1, 1], [1, 1, 1]]) == [[2, 3, 4], [5, 6, 7]]).all()
try:
    sidra.compile({str(tmp_path / "x.onnx")!r})
except ImportError as error:
    print(error)
"""
    onnx.save_model(add(), tmp_path / "x.onnx")
    environment = {**os.environ, "SIDRA_COMPILER_LIBRARY": str(tmp_path / "no-compiler.so"), "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    output = subprocess.run([sys.executable, "-c", code], env=environment, check=True, stdout=subprocess.PIPE, text=True).stdout
    assert "needs the library of SIDRA's compiler" in output and "no-compiler.so" in output and "make compiler" in output


def test_a_package_that_the_exporter_lacks_is_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "onnxscript"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ImportError, match="pip install onnxscript"):
        sidra.compile(nn.Linear(2, 2).eval(), example_inputs=torch.zeros(1, 2))


# ---- Chips ---------------------------------------------------------------------------------------------------------------------------------------------


def test_several_models_at_once(chip, encoder, compiled):
    with pytest.raises(sidra.Error, match="no model is deployed"):
        chip.infer(1)
    free = chip.device.info["crossbars_free"]
    seen = []
    first = chip.deploy(compiled, progress=lambda done, total: seen.append((done, total)))
    assert seen and seen[-1][0] == seen[-1][1] == 2 * (64 * 192 + 64 * 64 + 2 * 64 * 128) + 64 * 10
    assert chip.device.info["crossbars_free"] == free - compiled.crossbar_count
    second = chip.deploy(sidra.compile(add()))
    assert chip.models == (first, second)
    with pytest.raises(sidra.Error, match="2 models are deployed"):
        chip.infer(encoder[1])
    ones = numpy.ones((2, 3), numpy.float32)
    assert (second.infer(ones, ones) == 2).all() and first.infer(encoder[1]).shape == (2, 10)
    first.close()
    first.close()
    assert chip.device.info["crossbars_free"] == free
    assert (chip.infer(ones, ones) == 2).all()
    for call in (first.infer, first.infer_async):
        with pytest.raises(sidra.Error, match="the model was closed"):
            call(encoder[1])
    chip.close()
    assert chip.models == ()


def test_threads_take_turns(chip):
    chip.deploy(sidra.compile(add(shape=(64, 64))))
    wrong = []

    def work(number):
        for k in range(50):
            a, b = numpy.full((64, 64), number, numpy.float32), numpy.full((64, 64), k, numpy.float32)
            if (chip.infer(a, b) != number + k).any():
                wrong.append((number, k))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_interpreter_runs_meanwhile(chip):
    size = 1024
    square = [size, size]
    chip.deploy(sidra.compile(proto([helper.make_node("MatMul", ["a", "b"], ["c"])], [("a", TensorProto.FLOAT, square), ("b", TensorProto.FLOAT, square)],
                                    [("c", TensorProto.FLOAT, square)])))
    a = numpy.eye(size, dtype=numpy.float32)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody takes the lock from a thread that holds it
    try:
        turns = 0
        future = chip.infer_async(a, a)
        while not future.done():
            turns += 1
            time.sleep(1e-4)
    finally:
        sys.setswitchinterval(interval)
    assert turns > 5 and (future.result() == a).all()


def test_futures(chip):
    model = chip.deploy(sidra.compile(add()))
    a = numpy.zeros((2, 3), numpy.float32)
    futures = []
    for number in range(20):
        a[:] = number  # each call has its own inputs
        futures.append(chip.infer_async(a, a))
    model.close()  # waits
    assert all(future.done() and (future.result() == 2 * number).all() for number, future in enumerate(futures))


def test_a_fault_does_not_end_the_model(chip, encoder, compiled):
    chip.deploy(compiled)
    want = chip.infer(encoder[1])
    for _ in range(2):
        with pytest.raises(sidra.Error, match="SIDRA_ERROR_FAULT"):
            chip.infer(encoder[1] + 1000)  # the embedding has 50 rows
        assert (chip.infer(encoder[1]) == want).all()


def test_a_reset_of_the_device(chip, encoder, compiled):
    chip.deploy(compiled)
    want = chip.infer(encoder[1])
    chip.device.reset()
    with pytest.raises(sidra.Error, match="SIDRA_ERROR_CONTEXT_LOST"):
        chip.infer(encoder[1])
    chip.device.recover()
    assert (chip.infer(encoder[1]) == want).all()


def test_a_pipeline_begins_anew_after_a_reset_of_a_device():
    module, x = scattered(nn.Sequential(nn.Linear(16, 8), nn.ReLU(), nn.Linear(8, 4))), torch.randn(2, 16)
    compiled = sidra.compile(module, example_inputs=x, chips=2)
    with sidra.Chips([sidra.Device(private=True), sidra.Device(private=True)]) as chips:
        model = chips.deploy(compiled)
        want = model.infer(x)
        for device in chips.devices:
            device.reset()
            with pytest.raises(sidra.Error, match="SIDRA_ERROR_CONTEXT_LOST"):
                model.infer(x)
            assert (model.infer(x) == want).all()


def test_a_model_that_is_too_large():
    width = 2048
    model = proto([helper.make_node("MatMul", ["x", "w"], ["y"])], [("x", TensorProto.FLOAT, (1, width))], [("y", TensorProto.FLOAT, (1, width))],
                  {"w": numpy.ones((width, width), numpy.float32)})
    compiled = sidra.compile(model)
    assert compiled.crossbar_count == (width // 256) * (width // 128)
    with sidra.Chip(sidra.Device(profile="small", private=True)) as small:
        assert small.device.info["crossbars_total"] < compiled.crossbar_count // 2
        with pytest.raises(sidra.Error, match="SIDRA_ERROR_OUT_OF_CROSSBARS.*crossbars or more"):
            small.deploy(compiled)
        assert small.models == () and small.device.info["crossbars_free"] == small.device.info["crossbars_total"]
        small.deploy(sidra.compile(add()))
        assert (small.infer(numpy.ones((2, 3), numpy.float32), numpy.ones((2, 3), numpy.float32)) == 2).all()


def test_names_in_errors_end_with_a_character(chip):
    name = "w" + 60 * "ä"  # an error has 80 bytes of it
    chip.deploy(sidra.compile(proto([helper.make_node("Gather", ["table", "i"], ["y"], name)], [("i", TensorProto.INT64, (1,))],
                                    [("y", TensorProto.FLOAT, (1, 8))], {"table": numpy.ones((4, 8), numpy.float32)})))
    with pytest.raises(sidra.Error, match=f"SIDRA_ERROR_FAULT.*'w{39 * 'ä'}[.]{{3}}'"):
        chip.infer([1000])


def test_names_that_are_no_text(chip, tmp_path):
    file = tmp_path / "network.onnx"
    file.write_bytes(add().SerializeToString().replace(b"sum", b"s\xffm").replace(b"graph", b"gr\xffph"))
    model = chip.deploy(sidra.compile(file))
    assert model.variants[0].outputs[0].name == "s\ufffdm"
    assert (chip.infer(numpy.ones((2, 3), numpy.float32), numpy.ones((2, 3), numpy.float32)) == 2).all()


def test_errors_of_the_compiler_may_have_no_text(tmp_path):
    file = tmp_path / "network.onnx"
    file.write_bytes(proto([helper.make_node("Oddity", ["x"], ["y"], "odd", domain="made.up")], [("x", TensorProto.FLOAT, (4,))],
                           [("y", TensorProto.FLOAT, (4,))]).SerializeToString().replace(b"odd", b"o\xffd"))
    with pytest.raises(sidra.CompileError, match="node 'o\ufffdd'"):
        sidra.compile(file)


def test_the_examples_of_the_readme():
    text = (pathlib.Path(__file__).resolve().parent.parent / "sdk/README.md").read_text()
    examples = re.findall("```python\n(.*?)```", text, re.S)
    assert len(examples) == 3
    for example in examples:
        exec(example, {})


# ---- Errors --------------------------------------------------------------------------------------------------------------------------------------------


class Control(nn.Module):
    def forward(self, x):
        return x + 1 if x.sum() > 0 else x - 1


LINEAR = nn.Linear(4, 2).eval()
X = torch.zeros(1, 4)


@pytest.mark.parametrize("error, text, call", [
    (ValueError, "target_device 'y2' is none of 'y1'", lambda: sidra.compile(LINEAR, target_device="y2", example_inputs=X)),
    (ValueError, "copies must be 1 to 64, not 65", lambda: sidra.compile(LINEAR, copies=65, example_inputs=X)),
    (ValueError, "adc_ranges needs calib_data", lambda: sidra.compile(LINEAR, adc_ranges=True, example_inputs=X)),
    (ValueError, "chips must be 1 to 16, or 'auto', not 17", lambda: sidra.compile(LINEAR, chips=17, example_inputs=X)),
    (sidra.CompileError, "nowhere.json", lambda: sidra.compile(LINEAR, chip_map="nowhere.json", example_inputs=X)),
    (ValueError, "copies_by_layer needs calib_data", lambda: sidra.compile(LINEAR, copies=2, copies_by_layer=True, example_inputs=X)),
    (ValueError, "optimization_level 3 is none of 0, 1, 2", lambda: sidra.compile(LINEAR, optimization_level=3, example_inputs=X)),
    (ValueError, "dimension 'batch': a size must be an integer of at least 1, not 0", lambda: sidra.compile(LINEAR, dimensions={"batch": [1, 0]})),
    (ValueError, "dimension 'batch': a size must be an integer of at least 1, not '8'", lambda: sidra.compile(LINEAR, dimensions={"batch": "8"})),
    (FileNotFoundError, "missing.onnx: there is no such file", lambda: sidra.compile("missing.onnx")),
    (TypeError, "model: expected a path.*not int", lambda: sidra.compile(3)),
    (ValueError, "Dropout is in training mode.*eval", lambda: sidra.compile(nn.Dropout(), example_inputs=X)),
    (ValueError, "Linear has parameters on a device.*cpu", lambda: sidra.compile(nn.Linear(4, 2, device="meta").eval(), example_inputs=X)),
    (ValueError, "Linear cannot be exported without inputs", lambda: sidra.compile(LINEAR)),
    (ValueError, "Linear cannot be exported without inputs", lambda: sidra.compile(LINEAR, calib_data=[])),
    (sidra.CompileError, "Linear: PyTorch cannot export it", lambda: sidra.compile(LINEAR, example_inputs=torch.zeros(1, 5))),
    (sidra.CompileError, "Control: PyTorch cannot export it", lambda: sidra.compile(Control().eval(), example_inputs=X)),
    (sidra.CompileError, "network.onnx: node 'odd' .'Oddity', 'made.up' 1.: operators of this domain are not supported",
     lambda: sidra.compile(proto([helper.make_node("Oddity", ["x"], ["y"], "odd", domain="made.up")], [("x", TensorProto.FLOAT, (4,))],
                                 [("y", TensorProto.FLOAT, (4,))], name="network"))),
    (ValueError, "the input 'input' has the shape .2, 4., and its labels .3,.", lambda: sidra.compile(LINEAR, calib_data=[(torch.zeros(2, 4), torch.zeros(3))])),
    (ValueError, "labels of the shape .1, 4. do not fit", lambda: sidra.compile(LINEAR, calib_data=[(X, torch.zeros(1, 4))])),
    (ValueError, "the input 'input' has the shape .1, 5., but the model takes .1, 4.",
     lambda: sidra.compile(LINEAR, example_inputs=X, calib_data=[torch.zeros(1, 5)])),
    (TypeError, "input 'input': expected float32, got float64", lambda: sidra.compile(LINEAR, example_inputs=X, calib_data=[X.double()])),
    (ValueError, "target_accuracy must be a share of 0 to 1, not 2", lambda: sidra.compile(LINEAR, example_inputs=X, target_accuracy=2)),
    (ValueError, "signal_to_noise must be a number of decibels above 0, not 0", lambda: sidra.compile(LINEAR, example_inputs=X, signal_to_noise=0)),
    (sidra.CompileError, "the observer is none of minmax", lambda: sidra.compile(LINEAR, example_inputs=X, calib_data=[X], observer="mean")),
    (ValueError, "tmr must be a share of 0 to 1, not 2", lambda: sidra.compile(LINEAR, example_inputs=X, tmr=2)),
    (ValueError, "target_accuracy needs calib_data or test_data with labels", lambda: sidra.compile(LINEAR, example_inputs=X, target_accuracy=0.5)),
    (ValueError, "target_accuracy needs test_data .or calib_data. with labels, and of as many",
     lambda: sidra.compile(LINEAR, example_inputs=X, calib_data=[X], target_accuracy=0.5)),
    (TypeError, "no input 'y'; its inputs are input", lambda: sidra.compile(LINEAR, example_inputs=X, calib_data=[({"y": X}, torch.zeros(1))])),
])
def test_what_cannot_be_compiled(error, text, call):
    with pytest.raises(error, match=text):
        call()


def test_files_that_are_no_networks(tmp_path):
    file = tmp_path / "network.onnx"
    bytes = io.BytesIO()
    onnx.save_model(add(), bytes)
    file.write_bytes(bytes.getvalue()[:-7])
    with pytest.raises(sidra.CompileError, match="network.onnx: this is no ONNX model"):
        sidra.compile(file)


@pytest.mark.parametrize("error, text, call", [
    (ValueError, r"input 'b': expected the shape \(2, 3\), got \(3, 2\)", lambda c, a: c.infer(a, a.T)),
    (ValueError, r"input 'a': expected the shape \(2, 3\), got \(\)", lambda c, a: c.infer(1, a)),
    (TypeError, "input 'a': expected float32, got float64; convert it", lambda c, a: c.infer(a.astype(numpy.float64), a)),
    (TypeError, "input 'a': expected float32, got int64", lambda c, a: c.infer(torch.zeros(2, 3, dtype=torch.int64), a)),
    (TypeError, "input 'b': expected float32, got <U1", lambda c, a: c.infer(a, [["1", "2", "3"]] * 2)),
    (TypeError, r"the model has 2 input\(s\) \(a, b\), but 3 are given", lambda c, a: c.infer(a, a, a)),
    (TypeError, "the input 'b' is missing", lambda c, a: c.infer(a)),
    (TypeError, "no input 'c'; its inputs are a, b", lambda c, a: c.infer(a, c=a)),
    (TypeError, "'a' is given twice", lambda c, a: c.infer(a, a=a)),
    (TypeError, "deploy.. takes what", lambda c, a: c.deploy("x.sidra")),
])
def test_wrong_inputs(chip, error, text, call):
    chip.deploy(sidra.compile(add()))
    a = numpy.ones((2, 3), numpy.float32)
    with pytest.raises(error, match=text):
        call(chip, a)
    assert (chip.infer(a, a) == 2).all()


def test_integers_take_no_fractions(chip):
    chip.deploy(sidra.compile(add(TensorProto.INT32)))
    with pytest.raises(TypeError, match="expected int32, got float64"):
        chip.infer([[0.5, 1, 2], [3, 4, 5]], [[0, 0, 0], [0, 0, 0]])
    with pytest.raises(OverflowError):
        chip.infer([[1 << 40, 1, 2], [3, 4, 5]], [[0, 0, 0], [0, 0, 0]])
