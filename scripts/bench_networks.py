# SPDX-License-Identifier: MIT
"""Networks as ONNX models, for scripts/bench-compiler.py: of the sizes of BERT-base and ResNet-50, with random weights, and one for digits, which is
trained."""
import importlib.util
import pathlib

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

OPERATORS = 17


class Graph:
    """Nodes and constants, as they are added. Each node is named after its output."""

    def __init__(self):
        self.nodes, self.constants = [], []
        self.random = np.random.default_rng(2026)

    def node(self, operator, inputs, **attributes):
        name = f"{operator.lower()}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [name], name, **attributes))
        return name

    def constant(self, values):
        name = f"constant_{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(values, name))
        return name

    def weights(self, *shape, inputs):
        """So that the outputs of a layer with so many inputs have about the size of the inputs."""
        return self.constant(self.random.standard_normal(shape, np.float32) * np.float32(np.sqrt(1 / inputs)))

    def vector(self, size, around):
        return self.constant(around + np.float32(0.02) * self.random.standard_normal(size, np.float32))

    def numbers(self, *numbers):
        return self.constant(np.array(numbers, np.int64))

    def save(self, path, inputs, output):
        self.nodes.append(helper.make_node("Identity", [output], ["output"], "output"))
        outputs = [helper.make_tensor_value_info("output", TensorProto.FLOAT, None)]
        graph = helper.make_graph(self.nodes, path.stem, inputs, outputs, self.constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPERATORS)], ir_version=8), path)


def make_bert(path, layers=12, width=768, heads=12, words=30522, positions=512):
    """The encoder of BERT as PyTorch exports it: input_ids and attention_mask of batch x sequence to the last hidden state."""
    g = Graph()

    def linear(x, inputs, outputs):
        return g.node("Add", [g.node("MatMul", [x, g.weights(inputs, outputs, inputs=inputs)]), g.vector(outputs, 0)])

    def norm(x):
        return g.node("LayerNormalization", [x, g.vector(width, 1), g.vector(width, 0)], axis=-1, epsilon=1e-12)

    def split(x, order):
        return g.node("Transpose", [g.node("Reshape", [x, g.numbers(0, 0, heads, width // heads)])], perm=order)

    def gelu(x):
        erf = g.node("Erf", [g.node("Div", [x, g.constant(np.float32(np.sqrt(2)))])])
        return g.node("Mul", [g.node("Mul", [x, g.node("Add", [erf, g.constant(np.float32(1))])]), g.constant(np.float32(0.5))])

    def attention(x, mask):
        query, key, value = (split(linear(x, width, width), order) for order in ([0, 2, 1, 3], [0, 2, 3, 1], [0, 2, 1, 3]))
        scores = g.node("Div", [g.node("MatMul", [query, key]), g.constant(np.float32(np.sqrt(width // heads)))])
        shares = g.node("Softmax", [g.node("Add", [scores, mask])], axis=-1)
        context = g.node("Transpose", [g.node("MatMul", [shares, value])], perm=[0, 2, 1, 3])
        return linear(g.node("Reshape", [context, g.numbers(0, 0, width)]), width, width)

    seen = g.node("Unsqueeze", [g.node("Cast", ["attention_mask"], to=TensorProto.FLOAT), g.numbers(1, 2)])
    hidden = g.node("Sub", [g.constant(np.float32(1)), seen])
    mask = g.node("Mul", [hidden, g.constant(np.float32(-10000))])
    sequence = g.node("Slice", [g.node("Shape", ["input_ids"]), g.numbers(1), g.numbers(2)])
    place = g.node("Slice", [g.weights(positions, width, inputs=width), g.numbers(0), sequence, g.numbers(0)])
    word = g.node("Gather", [g.weights(words, width, inputs=width), "input_ids"])
    x = norm(g.node("Add", [word, place]))
    for _ in range(layers):
        x = norm(g.node("Add", [x, attention(x, mask)]))
        x = norm(g.node("Add", [x, linear(gelu(linear(x, width, 4 * width)), 4 * width, width)]))
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "sequence"]) for name in ("input_ids", "attention_mask")]
    g.save(path, inputs, x)


def make_resnet(path, blocks=(3, 4, 6, 3), classes=1000):
    """ResNet-50 (v1.5) with the batch normalisations in the convolutions, as exporters write it: images of batch x 3 x 224 x 224 to scores."""
    g = Graph()

    def conv(x, inputs, outputs, kernel, stride=1, gain=2.0):
        weights = g.weights(outputs, inputs, kernel, kernel, inputs=inputs * kernel * kernel / gain)
        pad = kernel // 2
        return g.node("Conv", [x, weights, g.vector(outputs, 0)], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)

    def relu(x):
        return g.node("Relu", [x])

    x = g.node("MaxPool", [relu(conv("image", 3, 64, 7, 2))], kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    channels = 64
    for stage, count in enumerate(blocks):
        width = 64 << stage
        for block in range(count):
            stride = 2 if block == 0 and stage > 0 else 1
            skip = x if block else conv(x, channels, 4 * width, 1, stride, gain=1)
            x = relu(conv(x, channels, width, 1))
            x = relu(conv(x, width, width, 3, stride))
            x = relu(g.node("Add", [conv(x, width, 4 * width, 1, gain=0.25), skip]))
            channels = 4 * width
    x = g.node("Flatten", [g.node("GlobalAveragePool", [x])])
    scores = g.node("Gemm", [x, g.weights(classes, channels, inputs=channels), g.vector(classes, 0)], transB=1)
    g.save(path, [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 3, 224, 224])], scores)


FOLDS = 5  # of the digits


def make_digits(path, fold=FOLDS - 1):
    """The network of libsidra/examples/convnet, trained in float: images of batch x 1 x 8 x 8 to scores. Beside it arrays for tests and calibration: the
    tests are a fifth of the digits, which the training does not see."""
    spec = importlib.util.spec_from_file_location("train", pathlib.Path(__file__).parent.parent / "libsidra/examples/convnet/train.py")
    train = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(train)
    pixels, labels = train.digits.load_digits()
    begin, end = (len(pixels) * part // FOLDS for part in (fold, fold + 1))
    others = np.r_[:begin, end:len(pixels)]
    images = pixels.reshape(-1, 1, train.SIDE, train.SIDE).astype(np.float32) * train.PIXEL_SCALE
    for name, array in (("samples", images[others[:end - begin]]), ("tests", images[begin:end]), ("labels", labels[begin:end].astype(np.int64))):
        np.save(path.with_suffix(f".{name}.npy"), array)
    g, x = Graph(), "image"
    for (kind, kernel, stride, pad, _), (inputs, _), parameters in zip(train.NETWORK, train.channels(), train.train(pixels[others], labels[others])):
        places = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [pad] * 4}
        weights, bias = (None, None) if parameters is None else (parameters[0], g.constant(parameters[1].astype(np.float32)))
        if kind == train.POOL_MAX:
            x = g.node("MaxPool", [x], **places)
        elif kind == train.POOL_AVERAGE:
            x = g.node("Flatten", [g.node("AveragePool", [x], **places)])
        elif kind == train.CLASSIFIER:
            x = g.node("Gemm", [x, g.constant(np.ascontiguousarray(weights.reshape(-1, train.CLASSES), np.float32)), bias])
        else:
            depthwise = kind == train.DEPTHWISE
            filters = weights.transpose(2, 0, 1)[:, None] if depthwise else weights.transpose(3, 2, 0, 1)
            groups = inputs if depthwise else 1
            x = g.node("Relu", [g.node("Conv", [x, g.constant(np.ascontiguousarray(filters, np.float32)), bias], group=groups, **places)])
    g.save(path, [helper.make_tensor_value_info("image", TensorProto.FLOAT, ["batch", 1, train.SIDE, train.SIDE])], x)
