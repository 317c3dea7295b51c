"""`oarlock fleet` and what somebody else wrote into its own folder of the destination."""

import json
import os

import pytest
from ray_support import is_clean

from oarlock._oarlock import AgeHeader, AgeIdentities, AgeKey
from oarlock.ray import JobError, headers
from oarlock.ray.local import LocalStore
from oarlock.ray.objects import FOLDER

pytestmark = pytest.mark.usefixtures("cluster")


@pytest.fixture
def journal(tmp_path):
    """A folder with an age file and another file, and a function that plants a journal of their headers."""
    key = AgeKey()
    old, new = (AgeIdentities.generate() for _ in range(2))
    header = key.wrap([old.recipient])
    again = key.wrap([new.recipient], AgeHeader.parse(header))
    assert len(again) == len(header)
    place = LocalStore(tmp_path / "dst")
    place.create()
    rest = os.urandom(100)

    def plant(name, contents, header, **more):
        (tmp_path / "dst" / name).write_bytes(contents)
        line = {"path": name, "size": len(contents), "following": contents[len(header) :][:32]}
        encoded = {key: headers._text(data) for key, data in (("header", header), ("following", line["following"]))}
        path = tmp_path / "dst" / FOLDER / "headers-0"
        path.write_text(json.dumps({**line, **encoded, **more}) + "\n")
        os.chmod(path, 0o600)
        return path

    return place, plant, header, again, rest


def test_a_planted_journal_of_headers(journal, tmp_path):
    place, plant, header, again, rest = journal
    other = os.urandom(len(header)) + rest
    for name, contents, new in (
        ("not-age", other, again),
        ("no-header", header + rest, os.urandom(len(header))),
        ("short", header + rest, header[:-1]),
        ("long", header + rest, again + b"x"),
    ):
        plant(name, contents, new)
        assert place.lock("test") is None
        place.unlock()
        assert (tmp_path / "dst" / name).read_bytes() == contents, name
        assert is_clean(tmp_path / "dst")
    plant("age", header + rest, again)
    assert place.lock("test") is None
    place.unlock()
    assert (tmp_path / "dst" / "age").read_bytes() == again + rest


@pytest.mark.parametrize("whose", ["another user's", "writable"])
def test_a_journal_of_headers_that_another_user_may_have_written(journal, tmp_path, whose):
    if whose != "writable" and os.geteuid() != 0:
        pytest.skip("giving files away needs root")
    place, plant, header, again, rest = journal
    path = plant("age", header + rest, again)
    if whose == "writable":
        os.chmod(path, 0o620)
    else:
        os.chown(path, 1234, -1)
    with pytest.raises(JobError, match="another user may have written it"):
        place.lock("test")
    assert (tmp_path / "dst" / "age").read_bytes() == header + rest
    # The lock is free again, and the journal is left to its user.
    os.chown(path, os.geteuid(), -1)
    os.chmod(path, 0o600)
    assert place.lock("test") is None
    place.unlock()
    assert (tmp_path / "dst" / "age").read_bytes() == again + rest
