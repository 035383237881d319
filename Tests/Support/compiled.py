"""Imported first: what a run compiles of the tests, with pytest's asserts, is there for the next one, in .build. The programs
that it starts keep nothing."""

import pathlib
import sys

sys.dont_write_bytecode = False
sys.pycache_prefix = str(pathlib.Path(__file__).parents[2] / ".build/pycache")
