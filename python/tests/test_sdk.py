# SPDX-License-Identifier: MIT
"""The package sidra."""
import sys
import threading

import numpy
import pytest
import sidra


@pytest.fixture(scope="module")
def device():
    return sidra.Device(private=True)


def test_products_are_those_of_numpy(device):
    rng = numpy.random.default_rng(1)
    codes = rng.integers(-127, 128, (300, 70), dtype=numpy.int8)
    weights = device.weights(codes)
    stream = device.stream()
    source, result = device.buffer((5, 300), "uint8"), device.buffer((5, 70), "int32")
    source.numpy()[...] = rng.integers(0, 256, (5, 300), dtype=numpy.uint8)
    stream.mvm(weights, source, result)
    stream.synchronize()
    assert (result.numpy() == source.numpy().astype(numpy.int32) @ codes.astype(numpy.int32)).all()
    assert (stream.read(weights) == codes).all()
    assert weights.shape == (300, 70) and weights.crossbars >= 2


def test_crossbar_mvm_is_near_the_product(device):
    rng = numpy.random.default_rng(2)
    matrix = rng.standard_normal((64, 32), dtype=numpy.float32)
    x = rng.standard_normal((3, 4, 64), dtype=numpy.float32)
    y = sidra.crossbar_mvm(device, device.weights(matrix), x)
    assert y.shape == (3, 4, 32) and y.dtype == numpy.float32
    # Half a step of the input times the sum of a column, and half a step of the weights times the sum of a row.
    bound = (x.max() - x.min()) / 255 / 2 * numpy.abs(matrix).sum(0).max() + numpy.abs(matrix).max() / 127 / 2 * numpy.abs(x).sum(-1).max()
    assert numpy.abs(y - x @ matrix).max() <= 1.01 * bound


@pytest.mark.parametrize("size", [0, 1e-45, 1e-38, 3e38])
def test_crossbar_mvm_of_any_size(device, size):
    y = sidra.crossbar_mvm(device, device.weights(numpy.eye(8, dtype=numpy.float32)), numpy.full(8, size, numpy.float32))
    step = max(size / 255, float(numpy.finfo(numpy.float32).tiny))
    assert numpy.abs(y.astype(float) - size).max() <= 0.51 * step


def test_arrays_share_their_memory(device):
    buffer = device.buffer((2, 3), "int16")
    view = buffer.numpy()
    view[1, 2] = 7
    assert buffer.numpy()[1, 2] == 7 and numpy.asarray(buffer)[1, 2] == 7
    assert numpy.shares_memory(numpy.asarray(buffer, copy=False), view)
    assert not numpy.shares_memory(numpy.array(buffer, copy=True), view) and numpy.asarray(buffer, numpy.int64)[1, 2] == 7
    with pytest.raises(ValueError, match="copy"):
        numpy.asarray(buffer, numpy.int64, copy=False)
    del buffer
    assert view.sum() == 7  # the array keeps the memory


def test_other_threads_go_on_while_weights_are_read():
    noisy = sidra.Device(level="accurate", private=True)
    codes = numpy.random.default_rng(3).integers(-127, 128, (1024, 1024), dtype=numpy.int8)
    weights, stream, values = noisy.weights(codes, program=False), noisy.stream(), []
    stream.program(weights)
    reader = threading.Thread(target=lambda: values.append(stream.read(weights)))
    interval = sys.getswitchinterval()
    sys.setswitchinterval(100)  # nobody takes the lock from a thread that holds it
    try:
        reader.start()
        turns = 0
        while reader.is_alive() and not weights.programmed:
            turns += 1
            reader.join(1e-3)
    finally:
        sys.setswitchinterval(interval)
    reader.join()
    assert turns > 5 and values[0].shape == codes.shape


def test_a_graph_runs_again(device):
    stream = device.stream()
    one, two = device.buffer(4), device.buffer(4)
    with stream.capture() as recording:
        stream.copy(two, one)
    assert recording.graph.operations == 1
    for value in (3, 4):
        one.numpy()[...] = value
        stream.launch(recording.graph)
        stream.synchronize()
        assert (two.numpy() == value).all()
    seconds, joules = stream.cost
    assert seconds > 0 and joules > 0


def test_weights_with_a_name(device):
    device.weights(numpy.eye(3, dtype=numpy.int8)).publish("eye")
    assert (device.stream().read(device.open_weights("eye")) == numpy.eye(3)).all()
    with pytest.raises(sidra.Error, match="SIDRA_ERROR_NOT_FOUND"):
        device.open_weights("nose")


def test_level_accurate_has_noise():
    noisy = sidra.Device(level="accurate", private=True)
    weights = noisy.weights(numpy.eye(64, dtype=numpy.float32))
    x = numpy.ones(64, numpy.float32)
    error = numpy.abs(sidra.crossbar_mvm(noisy, weights, x) - x).max()
    assert 0 < error < 0.5


@pytest.mark.parametrize("call, text", [
    (lambda d: d.buffer((2, 0)), "at least one element"),
    (lambda d: d.buffer(4, "float64"), 'dtype "float64" is none of'),
    (lambda d: d.weights(numpy.zeros(3, numpy.float32)), "two dimensions"),
    (lambda d: d.weights(numpy.zeros((2, 2), numpy.float64)), "float32 or int8"),
    (lambda d: d.weights(numpy.full((2, 2), numpy.nan, numpy.float32)), "finite"),
    (lambda d: d.weights(numpy.eye(2, dtype=numpy.float32), encoding="best"), 'encoding "best" is none of'),
    (lambda d: sidra.crossbar_mvm(d, d.weights(numpy.eye(2, dtype=numpy.float32)), numpy.ones(3)), "2 inputs"),
    (lambda d: sidra.crossbar_mvm(d, d.weights(numpy.eye(2, dtype=numpy.float32)), [numpy.inf, 0]), "not finite"),
    (lambda d: d.stream().mvm(d.weights(numpy.eye(2, dtype=numpy.int8)), d.buffer((1, 3), "uint8"), d.buffer((1, 2), "int32")), "2 x 2"),
    (lambda d: d.stream().copy(d.buffer(2), d.buffer(3)), "different sizes"),
    (lambda d: d.stream().copy(d.buffer(2), sidra.Device(private=True).buffer(2)), "another device"),
    (lambda d: sidra.Device(level="rough"), 'level "rough" is none of'),
    (lambda d: sidra.Device(99), "SIDRA_ERROR"),
])
def test_bad_input_is_named(device, call, text):
    with pytest.raises((ValueError, TypeError, RuntimeError), match=text):
        call(device)
