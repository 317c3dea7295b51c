"""Columns, from every kind of input, compared with one message at a time."""

import array
import ctypes
import errno
import mmap
import os
import resource
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy
import pandas
import polars
import pyarrow
import pytest
from cryptography.hazmat.primitives.ciphers import aead as reference

import oarlock


@pytest.fixture
def values(rng):
    return [rng.choice((None, b"", rng.randbytes(rng.choice((1, 64, 64, 1000))))) for _ in range(5000)]


def check(key, values, result, aad=None):
    """Compares a result with what `cryptography` computes."""
    theirs = reference.AESGCM(key)
    assert len(result.values) == len(values)
    for row, value in enumerate(values):
        expected = None if value is None else theirs.encrypt(result.nonces[row], value, aad)
        assert result.values[row] == expected, row


INPUTS = {
    "list": lambda values: values,
    "tuple": tuple,
    "generator": iter,
    "buffers": lambda values: [value if value is None else bytearray(value) for value in values],
    "binary": lambda values: pyarrow.array(values, pyarrow.binary()),
    "large_binary": lambda values: pyarrow.array(values, pyarrow.large_binary()),
    "binary_view": lambda values: pyarrow.array(values, pyarrow.binary_view()),
    "sliced": lambda values: pyarrow.array([b"before", None, *values, b"after"], pyarrow.binary())[2:-1],
    "chunked": lambda values: pyarrow.chunked_array([values[:1000], [], values[1000:1001], values[1001:]], pyarrow.binary()),
    "polars": lambda values: polars.Series(values, dtype=polars.Binary),
    "pandas": lambda values: pandas.Series(values, dtype=object),
    "pandas_arrow": lambda values: pandas.Series(values, dtype=pandas.ArrowDtype(pyarrow.binary())),
}


@pytest.mark.parametrize("kind", INPUTS)
def test_inputs(kind, values, rng):
    key = rng.randbytes(32)
    aead = oarlock.AESGCM(key)
    result = oarlock.seal_many(aead, INPUTS[kind](values), associated_data=b"column")
    assert result.errors == {}
    check(key, values, result, b"column")
    opened = oarlock.open_many(aead, result.values, nonces=result.nonces, associated_data=b"column")
    assert opened.values.to_pylist() == values
    assert opened.errors == {}


def test_strings_become_bytes():
    aead = oarlock.ChaCha20Poly1305(bytes(32))
    for column in (
        pyarrow.array(["ä", None, "b"]),
        pyarrow.array(["ä", None, "b"], pyarrow.large_string()),
        pyarrow.array(["ä", None, "b"], pyarrow.string_view()),
        polars.Series(["ä", None, "b"]),
    ):
        sealed = oarlock.seal_many(aead, column)
        opened = oarlock.open_many(aead, sealed.values, nonces=sealed.nonces)
        assert opened.values.to_pylist() == ["ä".encode(), None, b"b"]


def test_outputs(values):
    aead = oarlock.AESGCM(bytes(32))
    result = oarlock.seal_many(aead, values)
    expected = result.values.to_pylist()
    assert pyarrow.array(result.values).to_pylist() == expected
    assert pyarrow.chunked_array(result.values).to_pylist() == expected
    assert polars.Series(result.values).to_list() == expected
    assert list(result.values) == expected
    assert result.values[-1] == expected[-1]
    assert result.values.null_count == expected.count(None)
    for row in (len(values), -len(values) - 1):
        with pytest.raises(IndexError):
            result.values[row]
    table = pyarrow.table({"sealed": pyarrow.array(result.values), "nonce": pyarrow.array(result.nonces)})
    assert table.schema.field("nonce").type == pyarrow.binary(12)
    del result
    assert table["sealed"].to_pylist() == expected
    opened = oarlock.open_many(aead, table["sealed"], nonces=table["nonce"])
    assert opened.values.to_pylist() == values


def test_fixed_width(rng):
    key = rng.randbytes(16)
    aead = oarlock.AESGCM(key)
    table = numpy.frombuffer(rng.randbytes(64 * 3000), numpy.uint8).reshape(3000, 64)
    rows = [row.tobytes() for row in table]
    strings = numpy.frombuffer(table.tobytes(), "S64")
    for column in (table, strings, strings.view("V64"), pyarrow.array(rows, pyarrow.binary(64)), memoryview(table)):
        result = oarlock.seal_many(aead, column)
        check(key, rows, result)
        assert pyarrow.array(result.values).type == pyarrow.binary(80)
        assert oarlock.open_many(aead, result.values, nonces=result.nonces).values.to_pylist() == rows
    for column in (table[:, ::2], table.T):
        with pytest.raises((BufferError, TypeError), match="values"):
            oarlock.seal_many(aead, column)
    assert len(oarlock.seal_many(aead, numpy.zeros((0, 64), numpy.uint8)).values) == 0
    assert oarlock.seal_many(aead, numpy.zeros((3, 0), numpy.uint8)).values.to_pylist() != []


def test_keys_of_their_own(values, rng):
    keys = [rng.randbytes(rng.choice((16, 24, 32))) for _ in values]
    result = oarlock.seal_many(keys, values, algorithm="AESGCM")
    for row, (key, value) in enumerate(zip(keys, values)):
        expected = None if value is None else reference.AESGCM(key).encrypt(result.nonces[row], value, None)
        assert result.values[row] == expected
    opened = oarlock.open_many(keys, result.values, nonces=result.nonces, algorithm="AESGCM")
    assert opened.values.to_pylist() == values
    keys = [bytes(32)] * 3
    same = oarlock.seal_many(keys, [b"a", b"b", b"c"], algorithm="ChaCha20Poly1305")
    assert oarlock.open_many(oarlock.ChaCha20Poly1305(bytes(32)), same.values, nonces=same.nonces).values.to_pylist() == [
        b"a",
        b"b",
        b"c",
    ]
    result = oarlock.seal_many([bytes(16), bytes(5), None], [b"a", b"b", b"c"], algorithm="AESGCM")
    assert [value is None for value in result.values] == [False, True, True]
    assert sorted(result.errors) == [1, 2] and "5 bytes" in str(result.errors[1])
    for algorithm in (None, "AES", "aesgcm"):
        with pytest.raises(ValueError, match="algorithm"):
            oarlock.seal_many(keys, [b""] * 3, algorithm=algorithm)
    with pytest.raises(ValueError, match="algorithm"):
        oarlock.seal_many(oarlock.AESGCM(bytes(16)), [b""], algorithm="AESGCM")


def test_associated_data_of_each_row(values, rng):
    aead, aads = oarlock.AESGCM(bytes(32)), [rng.randbytes(rng.randrange(40)) for _ in values]
    result = oarlock.seal_many(aead, values, associated_data=aads)
    theirs = reference.AESGCM(bytes(32))
    for row in (0, 17, len(values) - 1):
        if values[row] is not None:
            assert theirs.decrypt(result.nonces[row], result.values[row], aads[row]) == values[row]
    for column in (aads, pyarrow.array(aads), polars.Series(aads)):
        opened = oarlock.open_many(aead, result.values, nonces=result.nonces, associated_data=column)
        assert opened.values.to_pylist() == values


def test_rows_that_fail(rng):
    aead, values = oarlock.AESGCM(bytes(32)), [rng.randbytes(64) for _ in range(10_000)]
    sealed = oarlock.seal_many(aead, values)
    forged = sealed.values.to_pylist()
    wrong = sorted(rng.sample(range(len(values)), 100))
    for row in wrong:
        forged[row] = rng.choice((b"", bytes(15), bytes(80), forged[row][:-1]))
    opened = oarlock.open_many(aead, forged, nonces=sealed.nonces)
    assert sorted(opened.errors) == wrong
    assert all(isinstance(error, oarlock.AuthenticationFailed) for error in opened.errors.values())
    expected = [None if row in opened.errors else value for row, value in enumerate(values)]
    assert opened.values.to_pylist() == expected
    # No plaintext is behind a null, either.
    array = pyarrow.array(opened.values)
    behind = pyarrow.Array.from_buffers(array.type, len(array), [None, *array.buffers()[1:]])
    assert all(not any(behind[row].as_py()) for row in wrong)
    nonces = [bytes(11), None, bytes(12)]
    result = oarlock.seal_many(oarlock.ChaCha20Poly1305(bytes(32)), [b"a", b"b", b"c"], nonces=nonces)
    assert sorted(result.errors) == [0, 1] and result.values[2] is not None


def test_nonces_that_repeat(rng):
    aead = oarlock.AESGCM(bytes(32))
    nonces = [rng.randbytes(12) for _ in range(3000)]
    values = [b"value"] * 3000
    result = oarlock.seal_many(aead, values, nonces=nonces)
    check(bytes(32), values, result)
    nonces[2500] = nonces[17]
    for column in (nonces, pyarrow.array(nonces, pyarrow.binary(12))):
        with pytest.raises(ValueError, match="rows 17 and 2500 have the same nonce"):
            oarlock.seal_many(aead, values, nonces=column)
    # The nonce of a null is not used.
    values[17] = None
    oarlock.seal_many(aead, values, nonces=nonces)
    keys = [bytes(16), b"k" * 16, bytes(16)]
    with pytest.raises(ValueError, match="rows 0 and 2"):
        oarlock.seal_many(keys, [b"v"] * 3, nonces=[bytes(12)] * 3, algorithm="AESGCM")
    oarlock.seal_many(keys[:2], [b"v"] * 2, nonces=[bytes(12)] * 2, algorithm="AESGCM")


def test_nonces_that_repeat_in_a_long_column(rng):
    # Several parts, which threads hash and sort.
    rows = 300_000
    aead = oarlock.AESGCM(bytes(16))
    values = numpy.zeros((rows, 1), numpy.uint8)
    nonces = numpy.frombuffer(rng.randbytes(12 * rows), numpy.uint8).reshape(rows, 12).copy()
    assert not oarlock.seal_many(aead, values, nonces=nonces).errors
    for first, second in ((150_000, 299_999), (7, 250_000), (200_000, 200_001), (0, 200_000)):
        nonces[second] = nonces[first]
        if second == 200_000:
            # Three rows have this nonce by now.
            nonces[200_001] = nonces[first]
        with pytest.raises(ValueError, match=f"rows {first} and {second} have"):
            oarlock.seal_many(aead, values, nonces=nonces)
    nonces[:] = 0
    with pytest.raises(ValueError, match="rows 0 and 1 have"):
        oarlock.seal_many(aead, values, nonces=nonces)
    keys = numpy.zeros((rows, 16), numpy.uint8)
    keys[:, :4] = numpy.arange(rows, dtype=">u4").view(numpy.uint8).reshape(rows, 4)[::-1]
    assert not oarlock.seal_many(keys, values, nonces=nonces, algorithm="AESGCM").errors
    keys[123_456] = keys[99]
    with pytest.raises(ValueError, match="rows 99 and 123456 have"):
        oarlock.seal_many(keys, values, nonces=nonces, algorithm="AESGCM")


def test_nonces_that_change_while_the_arguments_are_read():
    key, nonces = oarlock.AESGCM(bytes(16)), numpy.zeros((2, 12), numpy.uint8)
    nonces[1, 0] = 1

    class Out(numpy.ndarray):
        @property
        def hardmask(self):
            nonces[1, 0] = 0
            raise AttributeError

    out = numpy.zeros((2, 20), numpy.uint8).view(Out)
    with pytest.raises(ValueError, match="rows 0 and 1 have the same nonce"):
        oarlock.seal_many(key, numpy.zeros((2, 4), numpy.uint8), nonces=nonces, out=out)


def test_nonces_of_a_wrong_length_are_errors_of_their_rows():
    result = oarlock.seal_many(oarlock.AESGCM(bytes(16)), [b"a", b"b"], nonces=[bytes(11)] * 2)
    assert sorted(result.errors) == [0, 1] and "has 11 bytes" in str(result.errors[0])


def test_a_stream_whose_producer_needs_threads_of_python(tmp_path):
    """Threads of Arrow's read a data set through a file system in Python."""
    import pyarrow.parquet

    pyarrow.parquet.write_table(pyarrow.table({"v": [b"x" * 16] * 1000}), tmp_path / "a.parquet")
    code = f"""
    import oarlock, pyarrow.dataset, pyarrow.fs
    class Files(pyarrow.fs.FileSystemHandler):
        local = pyarrow.fs.LocalFileSystem()
        def get_type_name(self):
            return "python"
        def normalize_path(self, path):
            return path
        def get_file_info(self, paths):
            return self.local.get_file_info(paths)
        def open_input_file(self, path):
            return pyarrow.PythonFile(open(path, "rb"), mode="r")
    Files.__abstractmethods__ = frozenset()
    files = pyarrow.fs.PyFileSystem(Files())
    data = pyarrow.dataset.dataset({str(tmp_path / "a.parquet")!r}, filesystem=files, format="parquet")
    try:
        oarlock.seal_many(oarlock.AESGCM(bytes(16)), data.scanner().to_reader())
    except TypeError as error:
        # A reader has rows of several columns.
        assert "column of binary values" in str(error), error
    else:
        raise AssertionError
    """
    command = (sys.executable, "-c", textwrap.dedent(code))
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr


def test_nonces_that_are_made():
    made = [oarlock.seal_many(oarlock.AESGCM(bytes(16)), [b""] * 5000).nonces.to_pylist() for _ in range(3)]
    assert len({nonce for column in made for nonce in column}) == 15_000
    assert all(len(nonce) == 12 for column in made for nonce in column)


def test_wrong_columns():
    aead = oarlock.AESGCM(bytes(32))
    for column in (7, None, b"bytes", "text", bytearray(64), [1, 2], ["text"], pyarrow.array([1, 2]), object()):
        with pytest.raises((TypeError, ValueError)):
            oarlock.seal_many(aead, column)
    for column in (numpy.zeros((3, 4)), numpy.zeros((2, 2, 2), numpy.uint8), array.array("d", [1.0])):
        with pytest.raises(TypeError):
            oarlock.seal_many(aead, column)
    with pytest.raises(TypeError, match="values, row 1"):
        oarlock.seal_many(aead, [b"", "text"])
    for other in ([], [bytes(12)] * 3):
        with pytest.raises(ValueError, match="nonces has"):
            oarlock.seal_many(aead, [b"a", b"b"], nonces=other)
    with pytest.raises(ValueError, match="associated_data has"):
        oarlock.seal_many(aead, [b"a", b"b"], associated_data=[b"x"])
    with pytest.raises(TypeError):
        oarlock.open_many(aead, [b"a"])
    capsules = pyarrow.array([b"a"]).__arrow_c_array__()

    class Once:
        def __arrow_c_array__(self, requested_schema=None):
            return capsules

    oarlock.seal_many(aead, Once())
    with pytest.raises(ValueError):
        oarlock.seal_many(aead, Once())


def test_empty():
    aead = oarlock.AESGCM(bytes(32))
    for column in ([], pyarrow.array([], pyarrow.binary()), pyarrow.chunked_array([], pyarrow.binary())):
        result = oarlock.seal_many(aead, column)
        assert len(result.values) == 0 and result.values.to_pylist() == []
        assert pyarrow.array(result.values).to_pylist() == []
    result = oarlock.seal_many(aead, pyarrow.nulls(5))
    assert result.values.to_pylist() == [None] * 5


def test_offsets_that_lie():
    """An array whose offsets lead out of its data is refused, not read."""
    data = pyarrow.py_buffer(bytes(100))
    offsets = pyarrow.py_buffer(numpy.array([0, 1 << 30, 100], numpy.int32).tobytes())
    lying = pyarrow.Array.from_buffers(pyarrow.binary(), 2, [None, offsets, data])
    with pytest.raises(ValueError):
        oarlock.seal_many(oarlock.AESGCM(bytes(32)), lying)


def test_threads_that_share_a_key(rng):
    """Threads that share a key, each with a column."""
    aead, values = oarlock.AESGCM(bytes(32)), [rng.randbytes(64) for _ in range(20_000)]
    column, wrong = pyarrow.array(values), []

    def work():
        for _ in range(5):
            sealed = oarlock.seal_many(aead, column)
            if oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values.to_pylist() != values:
                wrong.append(sealed)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_objects_and_strides():
    aead, values = oarlock.AESGCM(bytes(32)), [b"ab", None, b"cdef"]
    assert_round_trip(aead, numpy.array(values, object), values)
    assert_round_trip(aead, [b"ab", pandas.NA, b"cdef"], values)
    strings = numpy.array([b"ab", b"cdef", b"x", b"y"], "S4")
    for column in (strings[::2], numpy.zeros((4, 4), numpy.uint8)[:, ::2], numpy.asfortranarray(numpy.zeros((4, 4), "u1"))):
        with pytest.raises(BufferError, match="values"):
            oarlock.seal_many(aead, column)
    with pytest.raises(BufferError, match="data"):
        aead.encrypt(bytes(12), numpy.zeros((4, 4), numpy.uint8)[:, ::2])
    with pytest.raises(BufferError, match="buf"):
        readonly = numpy.zeros(20, numpy.uint8)
        readonly.flags.writeable = False
        aead.encrypt_into(bytes(12), bytes(4), None, readonly)


def assert_round_trip(aead, column, values):
    sealed = oarlock.seal_many(aead, column)
    assert oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values.to_pylist() == values


def test_nulls_alone_and_nothing():
    aead = oarlock.AESGCM(bytes(32))
    assert_round_trip(aead, polars.Series([None, None]), [None, None])
    assert_round_trip(aead, pyarrow.nulls(3), [None] * 3)
    for kind in (pyarrow.binary(), pyarrow.large_binary(), pyarrow.string(), pyarrow.binary_view(), pyarrow.binary(3)):
        assert_round_trip(aead, pyarrow.array([], kind), [])
        assert_round_trip(aead, pyarrow.array([None, None], kind), [None, None])


KINDS = {
    "binary": pyarrow.binary(),
    "large_binary": pyarrow.large_binary(),
    "binary_view": pyarrow.binary_view(),
    "fixed": pyarrow.binary(12),
}


@pytest.mark.parametrize("kind", KINDS)
def test_slices_of_every_argument(kind, rng):
    """Rows before a slice, and nulls at any place of it, belong to other rows."""
    key, rows = rng.randbytes(32), 300

    def column(make, nulls=True):
        values = [None if nulls and rng.random() < 0.2 else make() for _ in range(rows + 17)]
        return values[13:-4], pyarrow.array(values, KINDS[kind])[13:-4]

    values, given_values = column(lambda: rng.randbytes(12))
    nonces, given_nonces = column(lambda: rng.randbytes(12), nulls=False)
    headers, given_headers = column(lambda: rng.randbytes(12))
    theirs = reference.AESGCM(key)
    expected = [
        None if value is None else theirs.encrypt(nonce, value, header) for value, nonce, header in zip(values, nonces, headers)
    ]
    arguments = dict(nonces=given_nonces, associated_data=given_headers)
    sealed = oarlock.seal_many(oarlock.AESGCM(key), given_values, **arguments)
    assert sealed.values.to_pylist() == expected
    assert oarlock.open_many(oarlock.AESGCM(key), sealed.values, **arguments).values.to_pylist() == values
    around = [bytes(28)] * 5
    sliced = pyarrow.array([*around, *expected, *around], pyarrow.large_binary())[5:-5]
    assert oarlock.open_many(oarlock.AESGCM(key), sliced, **arguments).values.to_pylist() == values
    keys = pyarrow.array([rng.randbytes(32), *[key] * rows, rng.randbytes(32)], pyarrow.binary())[1:-1]
    opened = oarlock.open_many(keys, sealed.values, algorithm="AESGCM", **arguments)
    assert opened.values.to_pylist() == values and opened.errors == {}


def test_types_do_not_depend_on_the_rows():
    """A writer of batches wants each of them to have the same type, also one without rows."""
    aead, kind = oarlock.AESGCM(bytes(32)), pyarrow.binary(64)
    none = pyarrow.array([], kind)
    for column in (
        none,
        pyarrow.chunked_array([none, none]),
        pyarrow.chunked_array([], kind),
        numpy.zeros((0, 64), numpy.uint8),
        numpy.zeros(0, "V64"),
    ):
        sealed = oarlock.seal_many(aead, column)
        assert pyarrow.array(sealed.values).type == pyarrow.binary(80)
        opened = oarlock.open_many(aead, sealed.values, nonces=sealed.nonces)
        assert pyarrow.array(opened.values).type == kind
        for out in (bytearray(), numpy.zeros((0, 80), numpy.uint8)):
            assert oarlock.seal_many(aead, column, out=out).values is out
    some = pyarrow.array([bytes(64)], kind)
    assert pyarrow.array(oarlock.seal_many(aead, pyarrow.chunked_array([none, some])).values).type == pyarrow.binary(80)


def test_nonces_that_nobody_can_read_again(rng):
    aead, values = oarlock.AESGCM(bytes(32)), [b"a", b"b", b"c"]
    nonces = [rng.randbytes(12) for _ in values]
    for given in (iter(nonces), (nonce for nonce in nonces), pyarrow.chunked_array([nonces])):
        sealed = oarlock.seal_many(aead, values, nonces=given)
        assert oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values.to_pylist() == values
    result = oarlock.seal_many(aead, values, nonces=[bytes(11), bytes(12), bytes(13)])
    assert sorted(result.errors) == [0, 2] and "11 bytes" in str(result.errors[0])


def test_exceptions_of_others_pass():
    class Interrupted:
        def __iter__(self):
            raise KeyboardInterrupt

    class Failing:
        def __arrow_c_array__(self, requested_schema=None):
            raise LookupError("no array")

    class Wrong:
        def __arrow_c_array__(self, requested_schema=None):
            return ()

    def rows():
        yield b"first"
        raise LookupError("no more")

    aead = oarlock.AESGCM(bytes(32))
    for column, expected in ((Interrupted(), KeyboardInterrupt), (Failing(), LookupError), (rows(), LookupError)):
        with pytest.raises(expected):
            oarlock.seal_many(aead, column)
    with pytest.raises(TypeError, match="two capsules"):
        oarlock.seal_many(aead, Wrong())


# Arrow's C structures, to lie with.
class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


RELEASE_SCHEMA = ctypes.CFUNCTYPE(None, ctypes.POINTER(Schema))
RELEASE_ARRAY = ctypes.CFUNCTYPE(None, ctypes.POINTER(Array))
Schema._fields_ = [
    ("format", ctypes.c_char_p),
    ("name", ctypes.c_char_p),
    ("metadata", ctypes.c_char_p),
    ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", RELEASE_SCHEMA),
    ("private_data", ctypes.c_void_p),
]
Array._fields_ = [
    *((name, ctypes.c_int64) for name in ("length", "null_count", "offset", "n_buffers", "n_children")),
    ("buffers", ctypes.POINTER(ctypes.c_void_p)),
    ("children", ctypes.c_void_p),
    ("dictionary", ctypes.c_void_p),
    ("release", RELEASE_ARRAY),
    ("private_data", ctypes.c_void_p),
]


@RELEASE_SCHEMA
def release_schema(schema):
    schema.contents.release = RELEASE_SCHEMA()


@RELEASE_ARRAY
def release_array(array):
    array.contents.release = RELEASE_ARRAY()


class Lie:
    """An array of two binary values, with changes."""

    def __init__(self, shift=0, offsets=(0, 3, 6), buffers=3, **changes):
        self.offsets = ctypes.create_string_buffer(bytes(shift) + numpy.array(offsets, numpy.int32).tobytes() + bytes(64))
        self.data = ctypes.create_string_buffer(b"abcdef" + bytes(64))
        places = (0, ctypes.addressof(self.offsets) + shift, ctypes.addressof(self.data), 0, 0)
        self.buffers = (ctypes.c_void_p * 5)(*places)
        self.schema = Schema(format=changes.pop("format", b"z"), release=release_schema)
        self.schema.n_children = changes.pop("schema_children", 0)
        self.array = Array(length=2, n_buffers=buffers, buffers=self.buffers, release=release_array)
        for name, value in changes.items():
            setattr(self.array, name, value)

    def __arrow_c_array__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return (
            new(ctypes.addressof(self.schema), b"arrow_schema", None),
            new(ctypes.addressof(self.array), b"arrow_array", None),
        )


class Stream(ctypes.Structure):
    """A stream of binary values that fails."""


OF_STREAM = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.c_void_p)
RELEASE_STREAM = ctypes.CFUNCTYPE(None, ctypes.POINTER(Stream))
Stream._fields_ = [
    ("get_schema", OF_STREAM),
    ("get_next", OF_STREAM),
    ("get_last_error", ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))),
    ("release", RELEASE_STREAM),
    ("private_data", ctypes.c_void_p),
]


@RELEASE_STREAM
def release_stream(stream):
    stream.contents.release = RELEASE_STREAM()


class Failing:
    def __init__(self, number, text, place):
        def get_schema(stream, schema):
            ctypes.cast(schema, ctypes.POINTER(Schema))[0] = Schema(format=b"z", release=release_schema)
            return number if place == "schema" else 0

        self.text = ctypes.create_string_buffer(b"" if text is None else text)
        place_of_text = None if text is None else ctypes.addressof(self.text)
        self.stream = Stream(
            get_schema=OF_STREAM(get_schema),
            get_next=OF_STREAM(lambda stream, array: number),
            get_last_error=Stream._fields_[2][1](lambda stream: place_of_text),
            release=release_stream,
        )

    def __arrow_c_stream__(self, requested_schema=None):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype, new.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
        return new(ctypes.addressof(self.stream), b"arrow_array_stream", None)


@pytest.mark.parametrize("place", ("schema", "array"))
def test_streams_that_fail(place):
    aead = oarlock.AESGCM(bytes(32))
    for number, expected in ((errno.EIO, OSError), (errno.EINVAL, ValueError), (errno.ENOMEM, MemoryError)):
        for text in (b"disk on fire", b"", None):
            with pytest.raises(expected, match="values: the stream failed" + (": disk on fire" if text else "")) as raised:
                oarlock.seal_many(aead, Failing(number, text, place))
            assert type(raised.value) is expected
            assert expected is not OSError or raised.value.errno == number


def test_the_truth_of_the_lies():
    result = oarlock.seal_many(oarlock.AESGCM(bytes(32)), Lie())
    assert oarlock.open_many(oarlock.AESGCM(bytes(32)), result.values, nonces=result.nonces).values.to_pylist() == [
        b"abc",
        b"def",
    ]


@pytest.mark.parametrize(
    "changes",
    (
        {"length": -1},
        {"offset": -1},
        {"length": 1 << 62, "offset": 1 << 62},
        {"offset": (1 << 63) - 1},
        {"buffers": 0},
        {"buffers": 1},
        {"buffers": 2},
        {"buffers": 5},
        {"shift": 1},
        {"offsets": (0, 3, -1)},
        {"offsets": (-1, 3, 6)},
        {"offsets": (6, 3, 6)},
        {"offsets": (0, 1 << 30, 6)},
        {"format": b""},
        {"format": b"?"},
        {"format": b"w:-5"},
        {"format": b"w:x"},
        {"format": b"vz", "buffers": 1},
        {"format": b"vz", "shift": 1},
        {"format": b"\xff"},
        {"format": b"+s"},
        {"format": b"+l"},
        {"format": b"+m"},
        {"format": b"+r"},
        {"format": b"tsu:"},
        {"format": b"i"},
        {"format": b"+s", "schema_children": 2, "n_children": 2},
    ),
)
def test_lies(changes):
    with pytest.raises((ValueError, TypeError), match="values"):
        oarlock.seal_many(oarlock.AESGCM(bytes(32)), Lie(**changes))


def test_memory_that_is_not_there():
    """What no memory holds is a MemoryError, whatever it was for."""
    aead = oarlock.AESGCM(bytes(32))

    def nulls():
        return Lie(format=b"n", length=2**50, buffers=0)

    with pytest.raises(MemoryError):
        oarlock.seal_many(aead, nulls(), nonces=nulls())
    with pytest.raises(MemoryError):
        oarlock.open_many(aead, nulls(), nonces=nulls())
    for mask in (True, numpy.zeros((2**50, 0), bool)):
        with pytest.raises(MemoryError):
            oarlock.seal_many(aead, numpy.ma.MaskedArray(numpy.zeros((2**50, 0), numpy.uint8), mask=mask))


def test_memory_for_errors_that_is_not_there():
    """A column of which every row fails ends with an exception, not with the process."""
    code = """
    import numpy, resource
    import oarlock

    rows = numpy.zeros((1 << 18, 0), numpy.uint8)
    nonces = numpy.zeros((1 << 18, 12), numpy.uint8)
    aead = oarlock.AESGCM(bytes(32))
    oarlock.open_many(aead, rows[:20_000], nonces=nonces[:20_000])
    with open("/proc/self/statm") as file:
        size = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (size + (8 << 20), -1))
    try:
        oarlock.open_many(aead, rows, nonces=nonces)
    except MemoryError as error:
        print(error)
    """
    # A thread's arena would be room that was reserved before the limit.
    arena = {**os.environ, "MALLOC_ARENA_MAX": "1"}
    command = (sys.executable, "-c", textwrap.dedent(code))
    done = subprocess.run(command, env=arena, capture_output=True, text=True, check=False)
    assert done.stdout == "the errors of 262144 rows\n", done.stderr


def test_signals_during_a_column_of_nulls():
    """Python looks at them even if no row is computed."""

    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm

    def nulls(rows):
        return Lie(format=b"n", length=rows, buffers=0)

    aead = oarlock.AESGCM(bytes(32))
    previous = signal.signal(signal.SIGALRM, handler)
    try:
        for call in (oarlock.seal_many, oarlock.open_many):
            rows, whole = 1 << 14, 0.0
            while whole < 0.8:
                rows *= 2
                began = time.process_time()
                call(aead, nulls(rows), nonces=nulls(rows))
                whole = time.process_time() - began
            signal.setitimer(signal.ITIMER_REAL, 0.01)
            began = time.process_time()
            with pytest.raises(Alarm):
                call(aead, nulls(rows), nonces=nulls(rows))
            assert time.process_time() - began < whole / 2
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_offsets_of_64_bits():
    """Values beyond 2^31 bytes of a column, most of which is a null that nobody reads."""
    size = (1 << 31) + 4096
    # `mmap` has MAP_NORESERVE from Python 3.13 on.
    data = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000)
    data[:5], data[-5:] = b"first", b"third"
    offsets = numpy.array((0, 5, size - 5, size), numpy.int64)
    buffers = [pyarrow.py_buffer(part) for part in (bytes([0b101]), offsets, data)]
    column = pyarrow.Array.from_buffers(pyarrow.large_binary(), 3, buffers)
    assert_round_trip(oarlock.AESGCM(bytes(32)), column, [b"first", None, b"third"])
    assert_round_trip(oarlock.AESGCM(bytes(32)), column[1:], [None, b"third"])


def test_many_nulls_take_no_memory():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    column = pyarrow.nulls(20_000_000)
    with pytest.raises(ValueError, match="nonces has 0 rows"):
        oarlock.seal_many(oarlock.AESGCM(bytes(32)), column, nonces=[])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200 << 10


def test_masked_arrays(rng):
    """A masked row is null: its value is in the array's buffer, but nobody wants it sealed."""
    aead = oarlock.AESGCM(bytes(32))
    strings = numpy.array([b"ab", b"cdef", b"x"], "S4")
    masked = numpy.ma.MaskedArray(strings, mask=[False, True, False])
    sealed = oarlock.seal_many(aead, masked)
    assert sealed.values.null_count == 1 and sealed.errors == {}
    opened = oarlock.open_many(aead, sealed.values, nonces=sealed.nonces)
    assert opened.values.to_pylist() == [b"ab\0\0", None, b"x\0\0\0"]
    table = numpy.frombuffer(rng.randbytes(64 * 3000), numpy.uint8).reshape(3000, 64)
    rows = numpy.repeat(numpy.arange(3000)[:, None] % 7 == 3, 64, axis=1)
    sealed = oarlock.seal_many(aead, numpy.ma.MaskedArray(table, mask=rows))
    opened = oarlock.open_many(aead, sealed.values, nonces=sealed.nonces).values.to_pylist()
    assert opened == [None if row % 7 == 3 else table[row].tobytes() for row in range(3000)]
    for whole, nulls in ((False, 0), (numpy.ma.nomask, 0), (True, 3000)):
        column = oarlock.seal_many(aead, numpy.ma.MaskedArray(table, mask=whole)).values
        assert column.null_count == nulls
    rows[5, 9] = True
    with pytest.raises(ValueError, match="values, row 5: 1 of 64 bytes are masked"):
        oarlock.seal_many(aead, numpy.ma.MaskedArray(table, mask=rows))
    objects = numpy.ma.MaskedArray(numpy.array([b"one", b"two"], object), mask=[True, False])
    assert oarlock.seal_many(aead, objects).values.null_count == 1
    nonces = numpy.ma.MaskedArray(numpy.zeros((1, 12), "u1"), mask=True)
    assert list(oarlock.seal_many(aead, [b"value"], nonces=nonces).errors) == [0]
    # One message has no nulls.
    with pytest.raises(BufferError, match="masked"):
        aead.encrypt(bytes(12), numpy.ma.MaskedArray(numpy.zeros(4, "u1"), mask=[0, 1, 0, 0]))
    aead.encrypt(bytes(12), numpy.ma.MaskedArray(numpy.zeros(4, "u1")).data)


def outs(rows, width):
    """Memory of each kind for rows of a width, and how it is read."""
    yield bytearray(b"\xff" * rows * width), bytes
    yield memoryview(bytearray(b"\xff" * rows * width)), bytes
    yield array.array("B", b"\xff" * rows * width), bytes
    yield numpy.full((rows, width), 255, numpy.uint8), numpy.ndarray.tobytes
    yield numpy.full(rows * width, 255, numpy.uint8), numpy.ndarray.tobytes
    yield numpy.frombuffer(bytearray(b"\xff" * rows * width), f"V{width}"), numpy.ndarray.tobytes
    yield (ctypes.c_ubyte * (rows * width))(), bytes
    yield ctypes.create_string_buffer(b"\xff" * rows * width, rows * width), bytes
    yield (ctypes.c_uint8 * width * rows)(), bytes


def test_memory_of_the_caller(rng):
    key = rng.randbytes(32)
    aead = oarlock.AESGCM(key)
    for rows, width in ((1, 1), (3, 64), (5000, 48), (9, 300_000)):
        table = numpy.frombuffer(rng.randbytes(rows * width), numpy.uint8).reshape(rows, width)
        expected = oarlock.seal_many(aead, table, associated_data=b"x")
        for out, read in outs(rows, width + 16):
            sealed = oarlock.seal_many(aead, table, nonces=expected.nonces, associated_data=b"x", out=out)
            assert sealed.values is out and sealed.errors == {}
            assert read(out) == b"".join(expected.values.to_pylist())
            assert repr(sealed) == f"<oarlock.ColumnResult of {rows} rows, 0 of which failed>"
        for source in (
            expected.values,
            pyarrow.array(expected.values),
            pyarrow.chunked_array([expected.values, pyarrow.array(expected.values)[:0]]),
            pyarrow.chunked_array([pyarrow.array(expected.values)[: rows // 2], pyarrow.array(expected.values)[rows // 2 :]]),
            numpy.array(expected.values.to_pylist(), f"V{width + 16}"),
        ):
            for out, read in outs(rows, width):
                opened = oarlock.open_many(aead, source, nonces=expected.nonces, associated_data=b"x", out=out)
                assert opened.values is out and read(out) == table.tobytes()
    # Again, and with made nonces, in the memory of before.
    out = numpy.zeros((9, 300_016), numpy.uint8)
    for _ in range(3):
        sealed = oarlock.seal_many(aead, table, out=out)
        opened = oarlock.open_many(aead, out, nonces=sealed.nonces)
        assert b"".join(opened.values.to_pylist()) == table.tobytes()
    # Of a column of keys.
    keys = numpy.frombuffer(rng.randbytes(9 * 32), "V32")
    oarlock.seal_many(keys, table, nonces=sealed.nonces, algorithm="AESGCM", out=out)
    assert bytes(out[4]) == reference.AESGCM(keys[4].tobytes()).encrypt(sealed.nonces[4], table[4].tobytes(), None)


def test_rows_that_fail_leave_zeros_in_the_memory_of_the_caller(rng):
    aead = oarlock.AESGCM(bytes(32))
    table = numpy.frombuffer(rng.randbytes(3000 * 32), numpy.uint8).reshape(3000, 32)
    sealed = oarlock.seal_many(aead, table)
    forged = numpy.frombuffer(b"".join(sealed.values.to_pylist()), numpy.uint8).reshape(3000, 48).copy()
    forged[7, 3] ^= 1
    out = numpy.full((3000, 32), 255, numpy.uint8)
    opened = oarlock.open_many(aead, forged, nonces=sealed.nonces, out=out)
    assert list(opened.errors) == [7] and not out[7].any()
    out[7] = table[7]
    assert (out == table).all()
    # Values that are too short for a tag have no plaintext.
    short = oarlock.open_many(aead, numpy.zeros((2, 16), numpy.uint8)[:, :9].copy(), nonces=[bytes(12)] * 2, out=bytearray())
    assert list(short.errors) == [0, 1]
    assert oarlock.seal_many(aead, numpy.zeros((0, 5), numpy.uint8), out=bytearray()).errors == {}


def test_memory_of_the_caller_that_is_refused(rng):
    aead = oarlock.AESGCM(bytes(32))
    table = numpy.zeros((4, 32), numpy.uint8)
    nonces = numpy.frombuffer(rng.randbytes(48), "V12")
    strided = numpy.zeros((4, 96), numpy.uint8)[:, ::2]
    frozen = numpy.zeros((4, 48), numpy.uint8)
    frozen.flags.writeable = False
    for out, error, said in (
        (bytearray(191), ValueError, "4 rows of 48 bytes"),
        (bytearray(193), ValueError, "4 rows of 48 bytes"),
        (numpy.zeros((3, 64), numpy.uint8), ValueError, r"4 rows of 48 bytes: it has shape \[3, 64\]"),
        (numpy.zeros(4, "V47"), ValueError, "4 rows of 48 bytes"),
        (numpy.zeros((4, 1, 48), numpy.uint8), TypeError, "one or two dimensions"),
        (numpy.zeros(48, numpy.int32), TypeError, "buffer of bytes"),
        (numpy.zeros(192, numpy.bool_), TypeError, "buffer of bytes"),
        (numpy.zeros(4, "S48"), TypeError, "V type"),
        (numpy.zeros(4, object), (TypeError, BufferError), "out must be"),
        (bytes(192), BufferError, "out must be a writable buffer, not bytes"),
        (memoryview(bytearray(192)).toreadonly(), BufferError, "writable"),
        (frozen, BufferError, "out must be a writable buffer, not ndarray"),
        (strided, BufferError, "out must be"),
        (numpy.ma.masked_array(numpy.zeros((4, 48), numpy.uint8), mask=True), BufferError, "masked"),
        ("text", TypeError, "out must be a writable buffer, not str"),
        (5, TypeError, "out must be"),
    ):
        with pytest.raises(error, match=said):
            oarlock.seal_many(aead, table, nonces=nonces, out=out)
    for values in ([b"x" * 32] * 4, pyarrow.array([b"x" * 32] * 4, pyarrow.binary())):
        with pytest.raises(ValueError, match="fixed width"):
            oarlock.seal_many(aead, values, nonces=nonces, out=bytearray(192))
    with pytest.raises(ValueError, match="nulls"):
        values = pyarrow.array([b"x" * 32, None, b"x" * 32, b"x" * 32], pyarrow.binary(32))
        oarlock.seal_many(aead, values, nonces=nonces, out=bytearray(192))


def test_memory_of_the_caller_that_overlaps(rng):
    """An argument may not be memory that the results are written to while it is read."""
    aead = oarlock.AESGCM(bytes(32))
    memory = bytearray(rng.randbytes(4096))
    view = memoryview(memory)
    out = view[1000:1192]
    table = numpy.frombuffer(view[2000:2128], numpy.uint8).reshape(4, 32)
    nonces = numpy.frombuffer(view[3000:3048], "V12")
    apart = {"values": table, "nonces": nonces, "associated_data": view[900:1000]}
    before = bytes(memory[:1000]) + bytes(memory[1192:])
    sealed = bytes(oarlock.seal_many(aead, out=out, **apart).values)
    assert bytes(memory[:1000]) + bytes(memory[1192:]) == before
    places = {
        "values": [numpy.frombuffer(view[at : at + 128], numpy.uint8).reshape(4, 32) for at in (873, 1191, 1010)],
        "nonces": [numpy.frombuffer(view[at : at + 48], "V12") for at in (953, 1191, 1100)],
        "associated_data": [view[901:1001], view[1191:1193], [b"", b"", view[1191:1192], b""]],
    }
    numpy.frombuffer(view[1000:1040], numpy.int32)[:] = 0
    offsets = pyarrow.py_buffer(view[1000:1040])
    places["associated_data"].append(pyarrow.Array.from_buffers(pyarrow.binary(), 4, [None, offsets, pyarrow.py_buffer(b"")]))
    kept = bytes(memory)
    for name, objects in places.items():
        for one in objects:
            with pytest.raises(ValueError, match=f"out overlaps {name}"):
                oarlock.seal_many(aead, out=out, **{**apart, name: one})
    keys = numpy.frombuffer(view[1180:1308], "V32")
    with pytest.raises(ValueError, match="out overlaps key"):
        oarlock.seal_many(keys, table, nonces=nonces, algorithm="AESGCM", out=out)
    assert bytes(memory) == kept
    assert sealed != bytes(192)
