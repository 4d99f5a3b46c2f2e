# SPDX-License-Identifier: MIT
"""What needs a process of its own: imports, forks, lost devices, and what the environment says at the start."""
import os
import subprocess
import sys


def test_import_opens_no_device_and_any_order_works():
    for code in ("import torch; assert torch.sidra.is_available() and not torch.sidra.is_initialized()",
                 "import sidra_pytorch, torch; torch.ones(1, device='sidra')", "import torch, sidra_pytorch; torch.ones(1, device='sidra')",
                 "import sidra; sidra.register_pytorch_backend(); import torch; torch.ones(1, device='sidra')"):
        subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_forked_child_is_told_and_the_parent_goes_on():
    code = """
import os, torch
x = torch.ones(3, device="sidra")
child = os.fork()
if child == 0:
    try:
        (x + 1).cpu()
    except RuntimeError as error:
        os._exit(0 if "fork" in str(error) else 3)
    os._exit(4)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert (x + 1).sum().item() == 6
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_lost_device_is_an_exception():
    code = """
import sidra, torch
sidra_device = sidra.Device(0)
x = torch.ones(1000, device="sidra")
(x + 1).cpu()
sidra_device.reset()
try:
    (x + 1).cpu()
except RuntimeError as error:
    assert "LOST" in str(error), error
else:
    raise SystemExit("nothing was raised")
assert (torch.ones(3, device="sidra:1") + 1).sum().item() == 6
torch.sidra.recover()
assert (x + 1).cpu().eq(2).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_one_loss_is_one_exception_of_each_thread():
    code = """
import concurrent.futures, sidra, torch
other = concurrent.futures.ThreadPoolExecutor(1)
def ask(call):
    return other.submit(call).result(60)

torch.sidra.set_matmul_mode("digital")
x, large = torch.ones(100, device="sidra"), torch.randn(1000, 1000, device="sidra")
torch.sidra.synchronize()
for _ in range(10):
    large @ large
ask(lambda: x + 1)
sidra.Device(0).reset()
try:
    ask(lambda: x + 1)
except RuntimeError as error:
    assert "LOST" in str(error), error
else:
    raise SystemExit("nothing was raised")
torch.sidra.recover()
assert ask(lambda: (x + 2).cpu().eq(3).all())
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_fault_that_a_backward_pass_meets_is_one_exception():
    code = """
import concurrent.futures, torch
w, ones = torch.ones(100, device="sidra", requires_grad=True), torch.ones(100, device="sidra")
table, place = torch.zeros(1, 4, device="sidra"), torch.tensor([[4]], device="sidra")
own, side = torch.accelerator.current_stream(), torch.sidra.Stream()
y = w * 2
torch.sidra.synchronize()

def wait_for_the_fault():  # the stream stays stopped: it is not the current one
    with side:
        try:
            own.synchronize()
        except RuntimeError as error:
            assert "SIDRA_ERROR_FAULT" in str(error), error

table.gather(1, place)
concurrent.futures.ThreadPoolExecutor(1).submit(wait_for_the_fault).result(60)
try:
    y.backward(gradient=ones)  # PyTorch's thread for this is told, and this thread by it
except RuntimeError as error:
    assert "SIDRA_ERROR_FAULT" in str(error), error
else:
    raise SystemExit("nothing was raised")
assert (ones + 1).cpu().eq(2).all()
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_device_that_is_lost_during_a_profile():
    code = """
import sidra, torch
from torch.profiler import ProfilerActivity, profile
BOTH = [ProfilerActivity.CPU, ProfilerActivity.PrivateUse1]
def operations(profiled):
    return {row.key: row.count for row in profiled.key_averages() if not str(row.device_type).endswith(".CPU")}

here, there = torch.ones(1000, device="sidra:0"), torch.ones(1000, device="sidra:1")
torch.sidra.set_matmul_mode("digital")
slow = torch.ones(1000, 1000, device="sidra:1") / 1000
with profile(activities=BOTH) as profiled:
    (there + 1).cpu()
    for _ in range(8):
        slow = slow @ slow
    sidra.Device(1).reset()
    try:
        (there + 1).cpu()
    except RuntimeError as error:
        assert "Lost devices: sidra:1." in str(error), error
    else:
        raise SystemExit("nothing was raised")
    assert (here + 1).cpu().eq(2).all()
# What had ended before has its time, and so has the work of the other chip.
assert operations(profiled)["sidra::vector"] >= 2, operations(profiled)
torch.sidra.recover(1)
with profile(activities=BOTH) as profiled:
    assert (there + 1).cpu().eq(2).all()
assert operations(profiled) == {"sidra::vector": 1}, operations(profiled)
"""
    done = subprocess.run([sys.executable, "-c", code], check=False, timeout=120, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 0 and "sidra:1, stream 0: " in done.stderr and "operations have no times" in done.stderr, done.stderr


def test_a_wheel_of_another_pytorch_is_named():
    code = """
import os
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
import torch
torch.__version__ = "9.9.0"
import sidra_pytorch
assert not torch.sidra.is_available()
try:
    torch.sidra.synchronize()
except RuntimeError as error:
    assert "built for PyTorch 2." in str(error) and "9.9.0" in str(error)
else:
    raise SystemExit("nothing was raised")
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**os.environ, "SIDRA_QUIET": "1"})


def test_crossbars_that_are_full_are_given_to_what_is_used():
    code = """
import torch
x = torch.randn(2, 256, device="sidra")
models = [torch.nn.Linear(256, 256, bias=False).to("sidra") for _ in range(20)]
whole = torch.sidra.get_device_properties()["crossbars_total"]
with torch.no_grad():
    for model in models:
        for _ in range(3):
            error = (model(x).cpu() - x.cpu() @ model.weight.cpu().t()).abs().max()
            assert error < 0.05, error
rows = torch.sidra.residency()
assert sum(row["programs"] for row in rows) >= 20
assert 0 < sum(row["crossbars"] for row in rows) <= whole
assert any(not row["resident"] for row in rows)
# What is larger than the chip evicts nothing.
resident = sum(row["resident"] for row in rows)
large = torch.nn.Linear(256, 256 * whole + 1).to("sidra")
report = torch.sidra.program(torch.nn.Sequential(large))
assert "no crossbars" in report.digital["0"] and sum(row["resident"] for row in torch.sidra.residency()) == resident
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=300, env={**os.environ, "SIDRA_PROFILE": "small"})


def test_the_check_of_residency_finds_a_hidden_write():
    code = """
import numpy, torch
weight = torch.randn(8, 8, device="sidra")
x = torch.randn(2, 8, device="sidra")
for _ in range(3):
    torch.nn.functional.linear(x, weight)
import ctypes
torch.sidra.synchronize()
ctypes.memset(weight.data_ptr(), 0, 64)
try:
    torch.nn.functional.linear(x, weight)
except RuntimeError as error:
    assert "SIDRA_CHECK_RESIDENCY" in str(error) and "mark_written" in str(error)
else:
    raise SystemExit("nothing was raised")
torch.sidra.mark_written(weight)
for _ in range(3):
    torch.nn.functional.linear(x, weight)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120, env={**os.environ, "SIDRA_CHECK_RESIDENCY": "1"})


def test_level_accurate_is_chosen_from_python():
    code = """
import sidra, torch
chip = sidra.Device(0, level="accurate", seed=7)
weight, x = torch.randn(32, 64), torch.randn(100, 64)
results = [torch.nn.functional.linear(x.to("sidra"), there).cpu() for there in [weight.to("sidra")] for _ in range(2)]
exact = torch.nn.functional.linear(x, weight)
assert (results[0] - exact).abs().max() < 1e-4  # the first time: by the matrix engine
error = (results[1] - exact).abs().mean() / exact.abs().mean()
assert 0.005 < error < 0.5, error
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


ENVIRONMENT = """
import logging
import torch
logging.basicConfig()
x, weight = torch.randn(2, 8, device="sidra"), torch.randn(8, 8, device="sidra")
for _ in range(2):
    torch.nn.functional.linear(x, weight)
print(torch.sidra.get_matmul_mode(), len(torch.sidra.residency()))
try:
    torch.linalg.det(weight)
except NotImplementedError:
    print("refused")
"""


def with_environment(**environment):
    done = subprocess.run([sys.executable, "-c", ENVIRONMENT], check=True, timeout=120, text=True, capture_output=True, env={**os.environ, **environment})
    return done.stdout.split(), done.stderr


def test_variables_of_the_environment():
    out, err = with_environment(SIDRA_FALLBACK="error", SIDRA_MATMUL="digital", SIDRA_CHECK_RESIDENCY="0")
    assert out == ["digital", "0", "refused"] and not err, err
    out, err = with_environment(SIDRA_FALLBACK="silent", SIDRA_MATMUL="", SIDRA_CHECK_RESIDENCY="")
    assert out == ["int8", "1"] and not err, err


def test_wrong_variables_of_the_environment():
    out, err = with_environment(SIDRA_FALLBACK="loud", SIDRA_MATMUL="int4", SIDRA_CHECK_RESIDENCY="yes")
    assert out == ["int8", "1"]
    for line in ('SIDRA_FALLBACK="loud" is none of warn, silent, error; taking "warn"', 'SIDRA_MATMUL="int4" is none of int8, digital, cpu; taking "int8"',
                 'SIDRA_CHECK_RESIDENCY="yes" is none of 0, 1; taking "0"'):
        assert f"sidra: {line}\n" in err, err


def test_a_folder_for_debugging_that_cannot_be_written_to():
    code = """
import torch
model = torch.nn.Linear(4, 4).to("sidra").eval()
with torch.no_grad():
    print(torch.compile(model, backend="sidra")(torch.ones(2, 4, device="sidra")).shape)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=240, text=True, capture_output=True, env={**os.environ, "SIDRA_DEBUG_DIR": "/dev/null/folder"})
    assert done.returncode == 0 and done.stdout == "torch.Size([2, 4])\n" and "SIDRA_DEBUG_DIR: " in done.stderr and "/dev/null" in done.stderr, done.stderr
