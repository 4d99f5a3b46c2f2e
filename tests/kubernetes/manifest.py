#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""manifest.py MANIFEST PROGRAM: checks the DaemonSet: that it has only members that Kubernetes knows, of their types; that its selector selects its
own pods; that each mount has a volume; that the program accepts its arguments; and that the container has no more rights than it needs."""
import subprocess
import sys

try:
    import yaml
except ImportError:
    sys.exit(77)

S, I, B = str, int, bool
TEXTS = {None: S}  # any key
CONTAINER = {
    "name": S, "image": S, "imagePullPolicy": S, "command": [S], "args": [S],
    "securityContext": {"runAsUser": I, "allowPrivilegeEscalation": B, "readOnlyRootFilesystem": B, "capabilities": {"drop": [S]},
                        "seccompProfile": {"type": S}},
    "resources": {"requests": TEXTS, "limits": TEXTS},
    "volumeMounts": [{"name": S, "mountPath": S, "readOnly": B}],
}
METADATA = {"name": S, "namespace": S, "labels": TEXTS}
DAEMON_SET = {
    "apiVersion": S, "kind": S, "metadata": METADATA,
    "spec": {
        "selector": {"matchLabels": TEXTS},
        "updateStrategy": {"type": S},
        "template": {
            "metadata": METADATA,
            "spec": {"priorityClassName": S, "tolerations": [{"operator": S, "key": S, "effect": S}], "automountServiceAccountToken": B,
                     "nodeSelector": TEXTS, "containers": [CONTAINER], "volumes": [{"name": S, "hostPath": {"path": S, "type": S}}]},
        },
    },
}


def check(value, rule, at):
    if isinstance(rule, dict):
        assert isinstance(value, dict), f"{at} is no mapping"
        for key, member in value.items():
            assert key in rule or None in rule, f"{at}.{key}: Kubernetes knows no such member"
            check(member, rule.get(key, rule.get(None)), f"{at}.{key}")
    elif isinstance(rule, list):
        assert isinstance(value, list) and value, f"{at} is no list"
        for n, item in enumerate(value):
            check(item, rule[0], f"{at}[{n}]")
    else:
        assert type(value) is rule, f"{at}: {value!r} is no {rule.__name__}"


manifest, program = sys.argv[1:]
document, = yaml.safe_load_all(open(manifest))
check(document, DAEMON_SET, "$")
assert (document["apiVersion"], document["kind"]) == ("apps/v1", "DaemonSet")
template = document["spec"]["template"]
assert document["spec"]["selector"]["matchLabels"].items() <= template["metadata"]["labels"].items(), "it does not select its own pods"
pod = template["spec"]
container, = pod["containers"]
volumes = {volume["name"]: volume["hostPath"] for volume in pod["volumes"]}
mounts = {mount["name"]: mount for mount in container["volumeMounts"]}
assert volumes.keys() == mounts.keys(), (volumes.keys(), mounts.keys())
# A kubelet and a container runtime know these folders by their own names.
for name, mount in mounts.items():
    assert mount["mountPath"] == volumes[name]["path"], name
paths = {mount["mountPath"]: mount.get("readOnly", False) for mount in mounts.values()}
assert paths == {"/var/lib/kubelet/device-plugins": False, "/var/run/cdi": False, "/etc/sidra": True, "/var/lib/sidra": True}, paths
rights = container["securityContext"]
assert rights["capabilities"] == {"drop": ["ALL"]} and rights["readOnlyRootFilesystem"] and not rights["allowPrivilegeEscalation"]
# The program knows the arguments: with --help it checks nothing else.
said = subprocess.run([program, *container["args"], "--help"], capture_output=True, text=True)
assert said.returncode == 0, said.stderr
for word in container["args"]:
    assert not word.startswith("--") or word in said.stdout, f"{program} has no option {word}"
# The checks find mistakes.
for wrong in ({"kind": 1}, {"spek": {}}, {"spec": {"template": {"spec": {"containers": {}}}}}):
    try:
        check(wrong, DAEMON_SET, "$")
    except AssertionError:
        continue
    sys.exit(f"{wrong} is accepted")
