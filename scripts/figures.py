#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""figures.py FILE: adds the figures on standard input, one flat JSON object, to those in FILE; what has the same key is replaced."""
import json
import sys
from pathlib import Path

path = Path(sys.argv[1])
figures = json.loads(path.read_text()) if path.exists() else {}
figures.update(json.load(sys.stdin))
path.parent.mkdir(parents=True, exist_ok=True)
temporary = path.with_suffix(".new")
temporary.write_text(json.dumps(figures, indent=2) + "\n")
temporary.replace(path)
