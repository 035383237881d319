#!/usr/bin/python3
"""Builds the package as the tests of the package do that share FOLDER, once for all of them, and puts its programs where
debian/build puts them: they are the same, and needn't be built twice.

    ship.py FOLDER
"""

import pathlib
import shutil
import sys

sys.dont_write_bytecode = True
from debian_machine import TREE  # noqa: E402
from package import build_once  # noqa: E402

built = build_once(pathlib.Path(sys.argv[1], "build")) / "source/.build/ship"
for name in ("out", "package"):
    shutil.rmtree(TREE / ".build/ship" / name, ignore_errors=True)
    shutil.copytree(built / name, TREE / ".build/ship" / name)
