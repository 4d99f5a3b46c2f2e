#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""bench-compiler.py BUILD [--quick]: measures the compiler, and how its files get onto a chip and run there, with networks of the sizes of BERT-base
and ResNet-50; prints a flat JSON object for scripts/figures.py. Runs in the environment of scripts/python-packages.sh. --quick: one sample of each,
and without the stored tests of ONNX. BARS says what the figures are; those with a peer are from the same run, with THREADS threads each."""
import ctypes
import json
import logging
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from bars import show_bars

THREADS = 2
CROSSBARS = 6400
SECOND = 1_000_000_000

# key, target, whether at least (else at most), what it is
BARS = (
    ("compile_bert_s", 10, False, "compiling a network of the size of BERT-base, 128 tokens, s"),
    ("compile_resnet_s", 10, False, "compiling a network of the size of ResNet-50, s"),
    ("compile_rss_mib", 3072, False, "most memory of both, MiB"),
    ("compile_cached_s", 0.5, False, "the former again, from the cache, s"),
    ("replication_s", 1, False, "finding the copies for a full chip: the slowest of nine topologies, s"),
    ("deploy_cells_s", 150e6, True, "level fast: cells programmed per second, from a file in memory"),
    ("cold_start_vs_read", 0.7, True, "opening a chip, reading and checking a file on disk, queueing its programming: speed / plain read"),
    ("resnet_vs_ort", 0.8, True, "ResNet-50 at level fast, one image: speed / onnxruntime, INT8"),
    ("cnn_int8_drop", 0.005, False, "a trained network for digits: share of right answers in float - with codes of 8 bits"),
    ("recovered_share", 0.8, True, "its scores at level accurate: share of the mean square error that optimisation removes"),
    ("onnx_pass_share", 0.85, True, "ONNX's stored single-operator tests with types of the chip: passed"),
)
WEIGHTS = "builtin.module(canonicalize,cse,xnn-layout,xnn-simplify,xnn-weights)"  # the passes up to the report


def say(text):
    print(text, file=sys.stderr, flush=True)


def stop(text):
    sys.exit(f"bench-compiler: {text}")


# ---- In a process of its own: how a file gets onto a chip, and runs


class Chip:
    """A chip of this process, through the C interface."""

    def __init__(self, build):
        self.lib = ctypes.CDLL(str(build / "libsidra/libsidra.so.2"))
        self.lib.sidra_last_error.restype = ctypes.c_char_p
        self.lib.sidra_deadline_after_ns.restype = ctypes.c_uint64
        self.device, self.context, self.stream, self.model = (ctypes.c_void_p() for _ in range(4))
        self.call("sidra_device_open", 0, None, ctypes.byref(self.device))
        self.call("sidra_context_create", self.device, ctypes.byref(self.context))
        self.call("sidra_stream_create", self.context, None, ctypes.byref(self.stream))

    def call(self, name, *arguments):
        if getattr(self.lib, name)(*arguments) != 0:
            stop(self.lib.sidra_last_error().decode())

    def deadline(self):
        return ctypes.c_uint64(self.lib.sidra_deadline_after_ns(ctypes.c_uint64(60 * SECOND)))

    def load(self, path):
        self.call("sidra_model_load", self.context, str(path).encode(), ctypes.byref(self.model))

    def queue(self):
        self.call("sidra_model_deploy_async", self.stream, self.model)

    def wait(self):
        self.call("sidra_stream_synchronize", self.stream, self.deadline())

    def run(self, values, outputs):
        inputs, results = ((ctypes.c_void_p * 1)(array.ctypes.data) for array in (values, outputs))
        self.call("sidra_model_run", self.stream, self.model, 0, inputs, results, self.deadline())


def make_network(_, path):
    """The networks take much memory, which a later process would seem to have: it begins as a copy of its parent."""
    import bench_networks

    if path.stem.startswith("digits"):
        bench_networks.make_digits(path, int(path.stem.removeprefix("digits")))
    else:
        {"bert": bench_networks.make_bert, "resnet": bench_networks.make_resnet}[path.stem](path)


def start_model(build, path):
    """Seconds from nothing until all of the file is read, checked and queued, until its matrices are on crossbars, and of the deployment alone."""
    begin = time.perf_counter()
    chip = Chip(build)
    chip.load(path)
    loaded = time.perf_counter()
    chip.queue()
    queued = time.perf_counter()
    chip.wait()
    end = time.perf_counter()
    return {"queued": queued - begin, "ready": end - begin, "deploy": end - loaded}


def read_file(_, path):
    """Seconds of a plain read."""
    buffer = bytearray(1 << 20)
    begin = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.readinto(buffer):
            pass
    return time.perf_counter() - begin


def run_resnet(build, path, runs):
    """Median seconds of a run, and the outputs."""
    import numpy as np

    chip = Chip(build)
    chip.load(path)
    chip.queue()
    chip.wait()
    image, scores, times = np.load(path.with_suffix(".npy")), np.empty((1, 1000), np.float32), []
    for _ in range(int(runs) + 1):  # the first records
        begin = time.perf_counter()
        chip.run(image, scores)
        times.append(time.perf_counter() - begin)
    return {"median": statistics.median(times[1:]), "scores": scores.tolist()}


CHILDREN = {"make": make_network, "start": start_model, "read": read_file, "resnet": run_resnet}


def child(build, what, *arguments):
    told = subprocess.run([sys.executable, __file__, build, what, *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    if told.returncode != 0:
        sys.exit(told.returncode)
    return json.loads(told.stdout)


# ---- What is measured


def timed(command):
    """Seconds and MiB of a program, and what it says."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.perf_counter()
        process = subprocess.Popen([str(each) for each in command], stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        said = output.read()
    if process.returncode != 0:
        stop(f"{' '.join(map(str, command))} has failed: {said}")
    return seconds, usage.ru_maxrss / 1024, said


def measure_compile(bench):
    """Files of both networks, and the figures of making them."""
    figures, most = {}, 0
    for key, network, sizes in (("bert", bench.bert, ["batch=1", "sequence=128"]), ("resnet", bench.resnet, ["batch=1"])):
        command = [bench.compile, network, "-o", network.with_suffix(".sidra"), *(f"--dim={size}" for size in sizes)]
        runs = [timed([*command, "--no-cache"])[:2] for _ in range(bench.samples)]
        figures[f"compile_{key}_s"] = min(seconds for seconds, _ in runs)
        most = max(most, *(mib for _, mib in runs))
        say(f"{network.name}: {', '.join(f'{seconds:.2f} s and {mib:.0f} MiB' for seconds, mib in runs)}")
        if key == "bert":
            timed(command)  # is kept
            again = [timed(command) for _ in range(bench.samples)]
            if not all("is a copy of" in said for _, _, said in again):
                stop("the cache does not have what was just compiled")
            figures["compile_cached_s"] = min(seconds for seconds, _, _ in again)
            say(f"from the cache: {', '.join(f'{seconds:.2f} s' for seconds, _, _ in again)}")
    return {**figures, "compile_rss_mib": most}


def measure_replication(bench):
    """Of the topologies in the package onnx. That the copies are the best ones is checked here."""
    import onnx

    slowest = 0
    folder = pathlib.Path(onnx.__file__).parent / "backend/test/data/light"
    networks = sorted(folder.glob("*.onnx"))
    if len(networks) != 9:
        stop(f"{folder} has {len(networks)} topologies instead of nine")
    for network in networks:
        _, _, table = timed([bench.compile, network, "--explain", "--passes", WEIGHTS, "-o", bench.folder / "layers.mlir"])
        found = re.search(r"and (\d+) if the chip were full of copies \(found in ([\d.]+) ms\)", table)
        layers = [(int(crossbars), int(products)) for crossbars, products in re.findall(r" x +\d+ +(\d+) +[\d.]+% +(\d+) ", table)]
        steps = int(found[1])
        needed = lambda steps: sum(crossbars * -(-products // steps) for crossbars, products in layers)
        if not layers or needed(steps) > CROSSBARS or (steps > 1 and needed(steps - 1) <= CROSSBARS):
            stop(f"{network.name}: {steps} steps are not the fewest that {CROSSBARS} crossbars allow")
        slowest = max(slowest, float(found[2]) / 1e3)
        say(f"{network.stem}: {len(layers)} layers, {steps} steps, found in {found[2]} ms")
    return {"replication_s": slowest}


def drop_from_memory(path):
    """So that the next read is one of the disk."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype, libc.mmap.argtypes = ctypes.c_void_p, [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
    libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]
    with open(path, "rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
        size = path.stat().st_size
        pages = (ctypes.c_ubyte * -(-size // os.sysconf("SC_PAGESIZE")))()
        address = libc.mmap(None, size, 1, 1, file.fileno(), 0)
        libc.mincore(address, size, pages)
        libc.munmap(address, size)
    left = sum(page & 1 for page in pages)
    if left > len(pages) // 100:
        stop(f"{left} of {len(pages)} pages of {path} stay in memory")


def measure_start(bench):
    path = bench.bert.with_suffix(".sidra")
    cold, read, warm = [], [], []
    for _ in range(4 * bench.samples):
        for times, what in ((read, "read"), (cold, "start")):
            drop_from_memory(path)
            times.append(child(bench.build, what, path))
        warm.append(child(bench.build, "start", path))  # the file is in memory now
    best = lambda runs, what: min(run[what] for run in runs)
    weights = int(re.search(r"with (\d+) weights", timed([bench.run, path])[2])[1])
    mb = path.stat().st_size / 1e6
    say(f"a file of {mb:.0f} MB on disk: a plain read takes {min(read):.3f} s; it is read, checked and queued after {best(cold, 'queued'):.3f} s, and on "
        f"crossbars after {best(cold, 'ready'):.3f} s; from a file in memory, deployment takes {best(warm, 'deploy'):.3f} s")
    return {"cold_start_vs_read": min(read) / best(cold, "queued"), "cold_ready_s": best(cold, "ready"),
            "deploy_cells_s": 2 * weights / best(warm, "deploy")}


def measure_resnet(bench):
    import numpy as np
    import onnxruntime
    from onnxruntime import quantization

    say("quantising for onnxruntime ...")
    logging.disable(logging.WARNING)  # it recommends to fold batch normalisations before, and there are none
    image = np.random.default_rng(1).standard_normal((1, 3, 224, 224), np.float32)
    np.save(bench.resnet.with_suffix(".npy"), image)
    timed([bench.compile, bench.resnet, "-o", bench.resnet.with_suffix(".sidra"), "--dim=batch=1", "--calibrate", bench.resnet.with_suffix(".npy")])
    quantised = bench.folder / "int8.onnx"

    class Images(quantization.CalibrationDataReader):
        left = iter([{"image": image}] * 2)

        def get_next(self):
            return next(self.left, None)

    quantization.quantize_static(bench.resnet, quantised, Images(), per_channel=True, activation_type=quantization.QuantType.QUInt8,
                                 weight_type=quantization.QuantType.QInt8)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = THREADS
    sessions = {name: onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
                for name, path in (("INT8", quantised), ("f32", bench.resnet))}
    times = {"the chip": [], "INT8": [], "f32": []}
    for turn in range(bench.samples + 1):
        told = child(bench.build, "resnet", bench.resnet.with_suffix(".sidra"), bench.runs)
        rounds = {"the chip": told["median"]}
        for name, session in sessions.items():
            single = []
            for _ in range(bench.runs):
                begin = time.perf_counter()
                scores = session.run(None, {"image": image})[0]
                single.append(time.perf_counter() - begin)
            rounds[name] = statistics.median(single)
        if turn:  # the first warms up
            for name, seconds in rounds.items():
                times[name].append(seconds)
    right, found = scores.ravel().astype("f8"), np.array(told["scores"]).ravel()
    cosine = right @ found / np.linalg.norm(right) / np.linalg.norm(found)
    if not cosine > 0.99:
        stop(f"the chip computes something else than onnxruntime: the cosine is {cosine}")
    say(f"one image: {', '.join(f'{name} {1e3 * min(seconds):.1f} ms' for name, seconds in times.items())}; cosine with f32 {cosine:.5f}")
    return {"resnet_vs_ort": min(times["INT8"]) / min(times["the chip"]), "resnet_vs_ort_f32": min(times["f32"]) / min(times["the chip"])}


class Digits:
    """A network that was trained without a fifth of the digits, and its right answers among these."""

    def __init__(self, bench, fold):
        import numpy as np
        import onnxruntime

        self.bench, self.network = bench, bench.folder / f"digits{fold}.onnx"
        child(bench.build, "make", self.network)
        self.tests, self.samples, labels = (self.network.with_suffix(f".{name}.npy") for name in ("tests", "samples", "labels"))
        self.labels, self.count = np.load(labels), len(np.load(labels))
        self.wanted = onnxruntime.InferenceSession(self.network, providers=["CPUExecutionProvider"]).run(None, {"image": np.load(self.tests)})[0]

    def scores(self, level, *options):
        import numpy as np

        model, output = self.network.with_suffix(".sidra"), self.network.with_suffix(".scores.npy")
        timed([self.bench.compile, self.network, "-o", model, f"--dim=batch={self.count}", *options])
        timed([self.bench.run, model, self.tests, "-o", output, "--level", level])
        return np.load(output)

    def codes(self):
        return self.scores("fast", "--calibrate", self.samples)

    def right(self, scores):
        return int((scores.argmax(1) == self.labels).sum())

    def error(self, scores):
        return float(((scores - self.wanted) ** 2).mean() / (self.wanted**2).mean())


def measure_digits(bench):
    """Networks that are trained here, and each digit judged by the one that has not seen it. Errors of cells, wires and converters are those of level
    accurate, for the last network."""
    import bench_networks

    say(f"training {bench_networks.FOLDS} networks for digits ...")
    judged = in_float = in_codes = 0
    for fold in range(bench_networks.FOLDS):
        digits = Digits(bench, fold)
        codes = digits.codes()
        judged, in_float, in_codes = judged + digits.count, in_float + digits.right(digits.wanted), in_codes + digits.right(codes)
    say(f"of {judged} digits {in_float} are right in float, by onnxruntime, and {in_codes} in codes of 8 bits, without analog errors")

    calibrated = ("--calibrate", digits.samples)
    errors = {}
    for name, options in (("plain", ("-O", 0)), ("calibrated", calibrated), ("copies2", (*calibrated, "--copies", 2)),
                          ("copies8", (*calibrated, "--copies", 8))):
        found = digits.scores("accurate", *options)
        errors[name] = digits.error(found)
        say(f"level accurate, {' '.join(str(o) for o in options if o != digits.samples)}: {100 * digits.right(found) / digits.count:.2f} % of {digits.count} right, "
            f"mean square error of scores {errors[name]:.4f}")
    return {"cnn_int8_drop": (in_float - in_codes) / judged, "recovered_share": 1 - errors["copies8"] / errors["plain"]}


def measure_tests(bench):
    say("the stored tests of ONNX ...")
    figures = bench.folder / "tests.json"
    timed([bench.build / "compiler/sidra-conformance", "--figures", figures])
    return json.loads(figures.read_text())


class Bench:
    def __init__(self, build, folder, quick):
        self.build, self.folder, self.quick = build, folder, quick
        self.samples, self.runs = (1, 5) if quick else (3, 15)
        self.compile, self.run = build / "tools/sidra-compile/sidra-compile", build / "tools/sidra-run/sidra-run"
        self.bert, self.resnet = (folder / f"{name}.onnx" for name in ("bert", "resnet"))


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    os.environ.update(SIDRA_QUIET="1", SIDRA_DEVICE="embedded", SIDRA_PUBLISH="0", SIDRA_WORKERS=str(THREADS))
    if sys.argv[2:3] and sys.argv[2] in CHILDREN:
        print(json.dumps(CHILDREN[sys.argv[2]](build, pathlib.Path(sys.argv[3]), *sys.argv[4:])))
        return
    if sys.argv[2:] not in ([], ["--quick"]):
        stop(f"there is no option {' '.join(sys.argv[2:])}; there is --quick")
    with tempfile.TemporaryDirectory(dir=build, prefix="bench-compiler-") as name:
        bench = Bench(build, pathlib.Path(name), sys.argv[2:] == ["--quick"])
        os.environ["XDG_CACHE_HOME"] = str(bench.folder / "cache")
        say("making the networks ...")
        for network in (bench.bert, bench.resnet):
            child(build, "make", network)
        figures = {}
        for measure in (measure_compile, measure_replication, measure_start, measure_resnet, measure_digits, *(() if bench.quick else (measure_tests,))):
            figures.update(measure(bench))
    show_bars(BARS, figures)
    print(json.dumps({key: float(f"{value:.4g}") for key, value in figures.items()}))


main()
