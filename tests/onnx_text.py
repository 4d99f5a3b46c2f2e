# SPDX-License-Identifier: MIT
"""Models of ONNX for tests, without the package onnx: written as text, which protoc encodes."""
import pathlib
import subprocess

ONNX = pathlib.Path("/usr/include/onnx/onnx.proto")


def quoted(text):
    return '"' + "".join(f"\\{byte:03o}" for byte in text.encode()) + '"'


def tensor(name, values):
    kind = {"float32": 1, "int64": 7}[str(values.dtype)]
    content = "".join(f"\\{byte:03o}" for byte in values.tobytes())
    return f'initializer {{ name: {quoted(name)} data_type: {kind} {"".join(f"dims: {d} " for d in values.shape)} raw_data: "{content}" }}\n'


def node(operator, inputs, output, name="", **attributes):
    text = f'node {{ op_type: "{operator}" name: {quoted(name)} output: {quoted(output)} ' + "".join(f"input: {quoted(each)} " for each in inputs)
    for key, value in attributes.items():
        numbers = f"type: INT i: {value}" if isinstance(value, int) else "type: INTS " + "".join(f"ints: {each} " for each in value)
        text += f'attribute {{ name: "{key}" {numbers} }} '
    return text + "}\n"


def info(role, name, shape):
    dims = "".join(f'dim {{ dim_param: "{d}" }} ' if isinstance(d, str) else f"dim {{ dim_value: {d} }} " for d in shape)
    return f'{role} {{ name: {quoted(name)} type {{ tensor_type {{ elem_type: 1 shape {{ {dims} }} }} }} }}\n'


def save(path, body):
    """body: what node(), tensor() and info() give."""
    text = f'ir_version: 8 opset_import {{ domain: "" version: 17 }}\ngraph {{ name: "graph"\n{body}}}\n'
    command = ["protoc", "--encode=onnx.ModelProto", f"--proto_path={ONNX.parent}", ONNX.name]
    path.write_bytes(subprocess.run(command, input=text.encode(), stdout=subprocess.PIPE, check=True).stdout)
