"""The etcd in memory that the unit tests use answers as Debian's: the recorded answers are still those of Debian's etcd, and
FakeEtcdTests compares the one in memory with them. PASSCODE_RECORD=1 records them anew."""

import os

import pytest

from etcd_requests import ANSWERS, recorded

pytestmark = pytest.mark.namespaces


def test_debian_s_etcd_answers_as_it_was_recorded():
    answers = recorded()
    if os.environ.get("PASSCODE_RECORD"):
        ANSWERS.write_text(answers)
    assert answers == ANSWERS.read_text()
    assert answers.count("= yes") > 100 and answers.count("= no ") > 100 and answers.count("= over") > 3
