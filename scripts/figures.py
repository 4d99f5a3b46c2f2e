#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures.py FILE: merges the figures on standard input, a flat JSON object, into FILE; existing keys are replaced. Several may run at once."""
import fcntl
import json
import sys
from pathlib import Path

path = Path(sys.argv[1])
path.parent.mkdir(parents=True, exist_ok=True)
with path.with_suffix(".lock").open("w") as lock:
    fcntl.flock(lock, fcntl.LOCK_EX)
    figures = json.loads(path.read_text()) if path.exists() else {}
    figures.update(json.load(sys.stdin))
    temporary = path.with_suffix(".new")
    temporary.write_text(json.dumps(figures, indent=2) + "\n")
    temporary.replace(path)
