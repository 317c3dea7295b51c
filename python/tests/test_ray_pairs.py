"""`oarlock fleet` from each kind of store to each: folders, buckets, and servers of SFTP."""

import pytest
from ray_support import Bucket, Folder, job

pytestmark = pytest.mark.usefixtures("cluster", "threads_as_workers")

KINDS = ("folder", "bucket", "server")


@pytest.mark.parametrize("there", KINDS)
@pytest.mark.parametrize("here", KINDS)
def test_each_command_from_each_store_to_each(place_of, keys, rng, here, there):
    (old, _, first), (new, _, second) = keys
    # Of several ranges, and in a bucket so long that the store copies the rest of it.
    size, options = (Bucket if "bucket" in (here, there) else Folder).long
    plain = {"short": b"short", "deep/empty": b"", "long": rng.randbytes(size)}
    kinds = {"plain": here, "sealed": there, "rotated": here, "opened": there}
    places = {name: place_of(kind, name) for name, kind in kinds.items()}
    options = {**options, **places["plain"].options, **places["sealed"].options}
    for name, data in plain.items():
        places["plain"].write(name, data)
    for command, source, target, more in (
        ("encrypt", "plain", "sealed", {"recipients": (first,)}),
        ("verify", "plain", "sealed", {"identities": (old,)}),
        ("rotate", "sealed", "rotated", {"identities": (old,), "recipients": (second,)}),
        ("decrypt", "rotated", "opened", {"identities": (new,)}),
    ):
        done = job(command, places[source].url, places[target].url, **options, **more)
        assert (done.done, done.failed) == (len(plain), 0), (command, done)
    assert places["opened"].names() == sorted(plain)
    for name, data in plain.items():
        assert places["opened"].read(name) == data
