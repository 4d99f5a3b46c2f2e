# SPDX-License-Identifier: MIT
"""The backend "sidra" of torch.distributed: gloo, in the memory that devices and host share. When an operation fails, the ranks that are gone are those
whose processes no longer listen at the ports that they have told each other."""
from __future__ import annotations

import fcntl
import functools
import ipaddress
import os
import socket
import struct
import sys
from pathlib import Path
from typing import Any, Optional

import torch

_SIOCGIFADDR = 0x8915


@functools.cache
def _listener() -> socket.socket:
    """Nobody takes its connections: while the process is there, the system does. Those that are closed stay in its queue, which so is as long as the system
    permits (4096 by default): when an operation fails, each rank makes two to each other one."""
    listener = socket.create_server(("", 0), backlog=2**16)
    os.register_at_fork(after_in_child=listener.close)
    return listener


def _own_host() -> Optional[str]:
    """The address that other ranks reach this process at: that of gloo's interface, if the environment names one, or the one towards rank 0."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            if interface := os.environ.get("GLOO_SOCKET_IFNAME", "").split(",")[0]:
                answer = fcntl.ioctl(probe.fileno(), _SIOCGIFADDR, struct.pack("256s", interface.encode()[:15]))
                return socket.inet_ntoa(answer[20:24])
            probe.connect((os.environ.get("MASTER_ADDR") or socket.gethostname(), 9))  # sends nothing
            return str(probe.getsockname()[0])
        except OSError:
            return None


def _machine() -> str:
    """Processes with the same one have the same loopback interface."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip() + str(os.stat("/proc/self/ns/net").st_ino)


def _peers(options: Any) -> tuple[list[int], list[str], list[int]]:
    """Ranks of the default group, hosts and ports of all others of this group that this process could reach."""
    ranks, hosts, ports = [], [], []
    for rank in range(options.group_size):
        host, port, machine = options.store.get(f"sidra/{rank}").decode().split()
        if rank == options.group_rank or host == "-" or (ipaddress.ip_address(host).is_loopback and machine != _machine()):
            continue
        ranks.append(options.global_ranks_in_group[rank] if options.global_ranks_in_group else rank)
        hosts.append(host)
        ports.append(int(port))
    return ranks, hosts, ports


def _create(options: Any, _: Any) -> Any:
    distributed = torch.distributed
    options.store.set(f"sidra/{options.group_rank}", f"{_own_host() or '-'} {_listener().getsockname()[1]} {_machine()}")
    gloo = distributed.ProcessGroupGloo(options.store, options.group_rank, options.group_size, timeout=options.timeout)
    gloo._set_sequence_number_for_group()
    group = distributed.ProcessGroup(options.store, options.group_rank, options.group_size)
    group._register_backend(torch.device("cpu"), distributed.ProcessGroup.BackendType.GLOO, gloo)
    torch.ops.sidra.use_host_backend(group.boxed(), options.global_ranks_in_group, *_peers(options))
    return group._get_backend(torch.device("sidra"))


def pipeline_stage() -> str:
    """The stage of torch.distributed.pipelining that the calling thread works on: "stage 1 of 4: ", or nothing."""
    stages = sys.modules.get("torch.distributed.pipelining.stage")
    frame = sys._getframe() if stages else None
    while frame:
        own = frame.f_locals.get("self")
        for stage in (own, getattr(own, "_stage", None), frame.f_locals.get("stage")):
            if stages and isinstance(stage, stages._PipelineStageBase):
                return f"stage {stage.stage_index} of {stage.num_stages}: "
        frame = frame.f_back
    return ""


def register() -> None:
    if torch.distributed.is_available() and torch.distributed.is_gloo_available():
        torch.distributed.Backend.register_backend("sidra", _create, extended_api=True, devices=["cpu", "sidra"])
