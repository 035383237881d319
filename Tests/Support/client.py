#!/usr/bin/python3
"""A login program for strace: client.py SERVICE FOLDER USER CODE... makes one call a code, on one handle.

getppid, which nothing else here calls, marks where a call begins and ends.
"""

import os
import sys

import pam

if __name__ == "__main__":
    service, folder, user, *codes = sys.argv[1:]
    outcome = pam.Outcome()
    handle = pam.Handle(service, user, folder, codes, outcome)
    for _ in codes:
        os.getppid()
        handle.call("authenticate")
        os.getppid()
    sys.stdout.write(" ".join(outcome.results))
