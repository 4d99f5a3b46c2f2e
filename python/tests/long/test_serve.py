# SPDX-License-Identifier: MIT
"""examples/serve.py: two replicas, one of which is killed, and one of which loses its chip; wrong requests; and an end that leaves no process behind."""
import http.client
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid

TOP = pathlib.Path(__file__).resolve().parents[3]


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def post(port, text):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("POST", "/", text)
    return json.loads(connection.getresponse().read())


def processes_with(mark):
    """Those that have it in their environment."""
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (folder / "environ").read_bytes() and (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                found.append((folder / "cmdline").read_bytes())
        except OSError:
            pass
    return found


def test_two_replicas_that_are_replaced():
    packages = subprocess.run([TOP / "scripts/python-packages.sh", "serve"], check=True, stdout=subprocess.PIPE, text=True).stdout.strip()
    mark, port = f"serve-{uuid.uuid4()}", free_port()
    program = subprocess.Popen([sys.executable, TOP / "python/examples/serve.py", "--kill", "--lose", "--keep", "--port", str(port), "--requests", "300"],
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=os.environ | {"PYTHONPATH": packages, "SIDRA_TEST_MARK": mark, "SIDRA_WORKERS": "1", "OMP_NUM_THREADS": "1"})
    watchdog = threading.Timer(560, program.kill)
    watchdog.start()
    errors = []
    reader = threading.Thread(target=lambda: errors.extend(program.stderr))
    reader.start()
    try:
        lines = []
        for line in program.stdout:
            lines.append(line)
            if line.startswith("serving at"):
                break
        text = "".join(lines)
        assert "serving at" in text, text + "".join(errors)
        right, asked = map(int, re.search(r"right: (\d+) of (\d+)", text).groups())
        assert asked >= 300 and right > 0.95 * asked, text
        replicas = re.findall(r"^(embedded:\d): process (\d+) answered (\d+)", text, re.MULTILINE)
        assert {device for device, _, _ in replicas} == {"embedded:0", "embedded:1"} and len(replicas) == 4, text
        # The replica whose chip was lost is another process, and its successor has the chip.
        killed, lost = re.search(r"killed the replica on (\S+)\n(?:.*\n)*reset the chip of the replica on (\S+)", text).groups()
        count = [device for device, _, _ in replicas].count
        assert count(lost) == (3 if lost == killed else 2), text
        assert sum(int(count) for _, _, count in replicas) == asked, text

        assert "error" in post(port, '{"image": [1, 2]}') and "error" in post(port, "no JSON") and "error" in post(port, '{"image": null}')
        assert post(port, json.dumps({"image": [0.0] * 64}))["digit"] in range(10)
        program.send_signal(signal.SIGINT)
        assert program.wait(timeout=240) == 0  # Ray is slow on a busy machine
    finally:
        watchdog.cancel()
        program.kill()
        program.wait()
        reader.join()
    end = time.monotonic() + 60
    while processes_with(mark) and time.monotonic() < end:
        time.sleep(0.2)
    assert not processes_with(mark)
