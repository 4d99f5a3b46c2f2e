#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Serves a network for digits over HTTP with Ray Serve, one replica a chip, and asks it about the digits of the test set.

Each replica takes a device that no other one has, puts the network's weights on its crossbars, and computes requests in batches. When a replica ends,
Ray starts another one, which takes the device that became free. `--kill` shows that: it kills a replica in the middle. `--lose` resets the chip of one,
whose checks of health fail then, so Ray replaces it, too. Prints how many answers were right, how many requests had to be repeated, and who answered them.

Needs python/requirements-serve.txt. `--keep` serves until the program is interrupted:
    curl -d '{"image": [0, 0, 5, 13, ...]}' http://127.0.0.1:8000/"""
import argparse
import collections
import concurrent.futures
import fcntl
import http.client
import itertools
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

os.environ.setdefault("SIDRA_QUIET", "1")
os.environ.setdefault("SIDRA_FALLBACK", "silent")
os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
os.environ.setdefault("RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S", "180")  # Ray's default is 5 s

import ray
import sidra
import torch
from ray import serve
from starlette.requests import Request
from torch import nn

TRAINED = 1200  # of 1,797 images; the others are asked about
# In which a replica that is gone must be back, and a request be answered. On two busy CPUs, a process of Ray takes a minute to start.
READY_S = float(os.environ["RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S"])


def digits():
    from sklearn.datasets import load_digits

    data = load_digits()
    order = torch.randperm(len(data.target), generator=torch.Generator().manual_seed(1))
    return torch.tensor(data.data, dtype=torch.float32)[order], torch.tensor(data.target)[order]


def network():
    return nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 10))


def trained(images, labels):
    torch.manual_seed(1)
    model = network()
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(60):
        for part in torch.randperm(len(images)).split(200):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(images[part] / 16), labels[part]).backward()
            optimizer.step()
    return model.state_dict()


def free_device(devices, folder, seconds=30.0):
    """Takes a device that no other replica has: its file is locked until this process ends, however it does."""
    folder = pathlib.Path(folder)
    end = time.monotonic() + seconds
    while True:
        for device in devices:
            file = open(folder / device.replace("/", "_"), "w")  # noqa: SIM115  (stays open)
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return device, file
            except BlockingIOError:
                file.close()
        if time.monotonic() > end:
            raise RuntimeError(f"serve.py: all of {', '.join(devices)} are in use by other replicas; give --devices as many as there are replicas")
        time.sleep(0.1)


@serve.deployment(ray_actor_options={"num_cpus": 0, "resources": {"sidra": 1}}, health_check_period_s=1, max_ongoing_requests=64)
class Digits:
    def __init__(self, weights, devices, folder):
        self.device, self._lock = free_device(devices, folder)
        os.environ["SIDRA_DEVICE"] = self.device  # this process has used none yet
        self.model = network()
        self.model.load_state_dict(weights)
        self.model.to("sidra:0").eval()
        torch.sidra.program(self.model)

    def check_health(self):
        """Ray calls this each second, and starts another replica if it fails: the chip may be lost."""
        torch.ones(1, device="sidra:0").sum().item()

    def lose(self):
        """For `--lose`: the chip is reset, as by an administrator, and computes no more for this process."""
        sidra.Device(0).reset()
        return {"device": self.device, "process": os.getpid()}

    @serve.batch(max_batch_size=32, batch_wait_timeout_s=0.005)
    async def classify(self, images):
        with torch.no_grad():
            scores = self.model((torch.tensor(images) / 16).to("sidra:0")).cpu()
        return [(digit, len(images)) for digit in scores.argmax(1).tolist()]

    async def __call__(self, request: Request):
        try:
            image = [float(value) for value in (await request.json())["image"]]
            if len(image) != 64:
                raise ValueError(f"{len(image)} values")
        except (ValueError, KeyError, TypeError) as error:
            return {"error": f"expected {{\"image\": [64 numbers from 0 to 16]}}: {error}"}
        digit, batch = await self.classify(image)
        return {"digit": digit, "batch": batch, "device": self.device, "process": os.getpid()}


def ask(port, image):
    """The answer, and how often the request had to be repeated because a replica ended."""
    end = time.monotonic() + READY_S
    for repeated in itertools.count():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
        try:
            connection.request("POST", "/", json.dumps({"image": image}))
            response = connection.getresponse()
            text = response.read()
            if response.status == 200:
                return json.loads(text), repeated
        except (OSError, http.client.HTTPException) as error:
            text = str(error).encode()
        finally:
            connection.close()
        if time.monotonic() > end:
            break
        time.sleep(0.1)
    raise RuntimeError(f"serve.py: no answer from port {port} within {READY_S:g} s; the last reply: {text.decode()[:200]}")


def start_serve(port):
    """serve.start() waits 60 s for the process that receives requests, which is not enough on busy CPUs. Ray goes on to start it; another call only connects."""
    options = {"host": "127.0.0.1", "port": port}
    try:
        serve.start(http_options=options)
    except (TimeoutError, ray.exceptions.RayActorError):
        serve.start(http_options=options)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--devices", default="embedded:0,embedded:1", help="as in SIDRA_DEVICE, one replica for each (default: embedded:0,embedded:1)")
    parser.add_argument("--requests", type=int, default=597, help="number of requests (default: 597)")
    parser.add_argument("--clients", type=int, default=16, help="requests at a time (default: 16)")
    parser.add_argument("--port", type=int, default=8000, help="default: 8000")
    parser.add_argument("--kill", action="store_true", help="kill a replica in the middle")
    parser.add_argument("--lose", action="store_true", help="reset the chip of a replica")
    parser.add_argument("--keep", action="store_true", help="serve until the program is interrupted")
    options = parser.parse_args()
    if not torch.sidra.is_available():
        sys.exit(f"no SIDRA device: {getattr(torch.sidra, '_why', 'neither a card nor a model of the chip was found')}")
    devices = options.devices.split(",")

    images, labels = digits()
    weights = trained(images[:TRAINED], labels[:TRAINED])
    images, labels = images[TRAINED:], labels[TRAINED:]
    with tempfile.TemporaryDirectory(prefix="sidra-serve-") as folder:
        ray.init(address="local", num_cpus=max(2, os.cpu_count() or 2), resources={"sidra": len(devices)}, include_dashboard=False,
                 log_to_driver=False, logging_level="warning")
        try:
            start_serve(options.port)
            serve.run(Digits.options(num_replicas=len(devices)).bind(weights, devices, folder), name="digits")
            demonstrate(options, images, labels)
            if options.keep:
                print(f"serving at http://127.0.0.1:{options.port}/", flush=True)
                signal.pause()
        except KeyboardInterrupt:
            pass
        finally:
            serve.shutdown()
            ray.shutdown()


def demonstrate(options, images, labels):
    def one(number):
        start = time.perf_counter()
        answer, repeated = ask(options.port, images[number % len(images)].tolist())
        return answer, repeated, time.perf_counter() - start

    answers, gone = [], set()

    def wait_for(device):
        """Asks until a new replica answers."""
        end = time.monotonic() + READY_S
        while not any(answer["device"] == device and answer["process"] not in gone for answer, _, _ in answers):
            if time.monotonic() > end:
                sys.exit(f"serve.py: no replica came back on {device} within {READY_S:g} s")
            answers.extend(clients.map(one, range(len(answers), len(answers) + options.clients)))

    with concurrent.futures.ThreadPoolExecutor(options.clients) as clients:
        list(clients.map(one, range(options.clients)))  # the first use also assembles programs
        start = time.perf_counter()
        asked = [clients.submit(one, number) for number in range(options.requests)]
        if options.kill:
            killed = asked[options.requests // 2].result()[0]
            os.kill(killed["process"], signal.SIGKILL)  # while it has requests
            gone.add(killed["process"])
            print(f"killed the replica on {killed['device']}")
        answers += [answer.result() for answer in asked]
        taken = time.perf_counter() - start
        if options.kill:
            wait_for(killed["device"])
        if options.lose:
            lost = serve.get_app_handle("digits").lose.remote().result(timeout_s=60)
            gone.add(lost["process"])
            print(f"reset the chip of the replica on {lost['device']}")
            wait_for(lost["device"])
    times = sorted(seconds for _, _, seconds in answers[:options.requests])
    right = sum(answer["digit"] == labels[number % len(labels)] for number, (answer, _, _) in enumerate(answers))
    print(f"right: {right} of {len(answers)}")
    print(f"repeated: {sum(repeated for _, repeated, _ in answers)}")
    print(f"{options.requests / taken:.0f} requests/s; half of them took {times[len(times) // 2] * 1e3:.1f} ms or less, "
          f"99 % {times[len(times) * 99 // 100] * 1e3:.1f} ms")
    for (device, process), count in sorted(collections.Counter((answer["device"], answer["process"]) for answer, _, _ in answers).items()):
        batches = [answer["batch"] for answer, _, _ in answers if answer["process"] == process]
        print(f"{device}: process {process} answered {count}, in batches of {sum(batches) / len(batches):.1f} in the mean")


if __name__ == "__main__":
    main()
