"""A bucket of S3, or of a store with its interface, and a prefix in it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random

from .objects import (
    APPEARED,
    FOLDER,
    RANGE_BYTES,
    REPLACED,
    VANISHED,
    Changed,
    Entry,
    Failed,
    JobError,
    Skipped,
    mark_of,
    sealed_bytes,
)

_ATTEMPTS = 5
_KEY_BYTES_MAX = 1024
#: S3's least length of a part that is not the last.
_PART_BYTES_MIN = 5 << 20
_PARTS_MAX = 10_000
#: A shorter object is rewritten in one request, instead of copied by five.
_COPY_BYTES_MIN = 8 << 20
#: Bytes of a part that the store copies itself. S3 allows 5 GiB.
_COPY_BYTES_MAX = 1 << 30
#: Error codes of stores that do not know a condition. The status does not tell: RequestTimeout and ExpiredToken have that of
#: InvalidArgument, 400.
_UNSUPPORTED = ("NotImplemented", "InvalidArgument")
#: The arguments that a job's safety rests on, by operation. s3fs drops what its botocore does not know.
_CONDITIONS = {
    "PutObject": ("IfMatch", "IfNoneMatch"),
    "CompleteMultipartUpload": ("IfMatch", "IfNoneMatch"),
    "GetObject": ("IfMatch",),
    "UploadPartCopy": ("CopySourceIfMatch",),
}
#: The mark that an upload leaves on its object, among the object's own metadata.
_MARK = "oarlock-fleet"
#: How the names of claims to the lock begin.
_CLAIM = "lock-"
_MANIFEST_PART_BYTES = 16 << 20
_PART_BYTES_MAX = sealed_bytes(RANGE_BYTES) + (1 << 20)


class S3Store:
    parallel = 16
    parallel_max = 16
    has_ranges = True
    #: The store chooses ETags, so that objects bear marks instead.
    announces = False

    def __init__(self, url, endpoint=None):
        try:
            import s3fs
        except ImportError:
            raise JobError(f"{url} needs the package s3fs: pip install s3fs") from None
        options = {"client_kwargs": {"endpoint_url": endpoint}} if endpoint else {}
        self._fs = s3fs.S3FileSystem(use_listings_cache=False, **options)
        self.url = url
        self._bucket, _, prefix = url.split("://", 1)[1].partition("/")
        if not self._bucket:
            raise JobError(f"{url} names no bucket: s3://BUCKET/PREFIX")
        self._prefix = prefix.rstrip("/") + "/" if prefix.rstrip("/") else ""
        self.name = f"s3://{self._bucket}/{self._prefix}"
        self._endpoint = endpoint
        self._has_lock = self._claim = None
        #: The job that marks are of.
        self.job = ""
        #: Requests whose conditions the store is known not to check.
        self.unconditional = ()

    def outdated(self):
        """Return what this machine's packages do not know of the conditions that a job needs, or None."""
        service = self._fs.s3.meta.service_model
        for operation, names in _CONDITIONS.items():
            for name in names:
                if name not in service.operation_model(operation).input_shape.members:
                    return f"the package botocore does not know {name} of {operation}: update s3fs and botocore"
        return None

    def exists(self):
        return True

    def create(self):
        pass

    def contains(self, other):
        return (
            isinstance(other, S3Store)
            and (other._endpoint, other._bucket) == (self._endpoint, self._bucket)
            and other._prefix.startswith(self._prefix)
        )

    def folds_case(self):
        return False

    def is_empty(self):
        return next((False for _ in self.list()), True)

    def list(self):
        own = f"{self._prefix}{FOLDER}/"
        for found in self._listed(self._prefix):
            key = found["Key"]
            path = key[len(self._prefix) :]
            if key.startswith(own) or not path:
                continue
            if path.endswith("/"):
                yield Skipped(path, "a marker of a folder")
            else:
                yield Entry(path, found["Size"], found["ETag"].strip('"'))

    def _listed(self, prefix):
        more = {}
        while True:
            page = self._fs.call_s3("list_objects_v2", Bucket=self._bucket, Prefix=prefix, **more)
            yield from page.get("Contents", ())
            if not page.get("IsTruncated"):
                return
            more = {"ContinuationToken": page["NextContinuationToken"]}

    def stat(self, path):
        try:
            found = self._fs.call_s3("head_object", **self._place(path))
        except FileNotFoundError:
            return None
        mark = found.get("Metadata", {}).get(_MARK, "")
        return Entry(path, found["ContentLength"], found["ETag"].strip('"'), stamp=_stamp(found), mark=mark)

    def pinned(self, entry):
        """Return an entry of a listing with what tells its version from all others: in a bucket with versions, their names."""
        now = self.stat(entry.path)
        if now is None:
            raise Failed(VANISHED)
        if not now.is_same(entry):
            raise Changed("it changed while it was read")
        return now

    @contextlib.contextmanager
    def open(self, entry):
        yield _Source(self, entry)

    # Writing: one request, or an upload of parts. Either way the object appears when it is complete.

    def begin(self, path, size, parts, replaced=None):
        place = self._place(path)
        mark = f"{mark_of(self.job, path)}-{os.urandom(8).hex()}"
        if parts == 1 or (parts is None and size <= _COPY_BYTES_MIN):
            return (path, size, None, False, replaced, mark)
        if parts is not None and parts > _PARTS_MAX:
            raise Failed(f"it is cut into {parts} parts, and an upload has at most {_PARTS_MAX}: give a larger range_chunks")
        identifier = self._fs.call_s3("create_multipart_upload", **place, Metadata={_MARK: mark})["UploadId"]
        return (path, size, identifier, parts is None, replaced, mark)

    def part(self, upload, number, offset):
        return _Sink(self, upload, number)

    def commit(self, upload, parts, mode=None, is_synced=False):
        path, size, identifier, _, _, mark = upload
        if identifier is None:
            (etag,) = parts
        else:
            parts = sorted(parts)
            listed = {"Parts": [{"PartNumber": number, "ETag": etag} for number, etag in parts]}
            try:
                etag = self._put(upload, "complete_multipart_upload", UploadId=identifier, MultipartUpload=listed)
            except FileNotFoundError:
                # A request that was repeated finds what it did the first time.
                found = self.stat(path)
                if found is None or found.mark != mark:
                    raise
                etag = found.etag
        return Entry(path, size, etag.strip('"'))

    def _put(self, upload, method, **arguments):
        """Send the request with which an object appears. Return its ETag.

        The store is asked to compare what is there with what the object may take the place of. Not all stores can, so it is
        compared here too, just before, if the store is known not to or the object is rotated in place; what another program
        writes between this look and the request is lost in such a store.
        """
        path, _, _, _, replaced, mark = upload
        arguments |= self._place(path)
        if method == "put_object":
            arguments["Metadata"] = {_MARK: mark}
        if replaced is None:
            condition = {"IfNoneMatch": "*"}
        elif replaced.version is None:
            return self._fs.call_s3(method, **arguments)["ETag"]
        else:
            condition = {"IfMatch": f'"{replaced.version.etag}"'}
        if (replaced and replaced.is_source) or (method, *condition) in self.unconditional:
            self._look(path, replaced)
        try:
            return self._fs.call_s3(method, **arguments, **condition)["ETag"]
        except OSError as error:
            if _is_unsupported(error):
                self._look(path, replaced)
                return self._fs.call_s3(method, **arguments)["ETag"]
            is_gone = isinstance(error, FileNotFoundError) and replaced is not None and not _is_upload_gone(error)
            if _status(error) != 412 and not is_gone:
                raise
        # A request that was repeated meets what it did the first time.
        now = self.stat(path)
        if now is None or now.mark != mark:
            raise Changed(APPEARED if replaced is None else REPLACED)
        return now.etag

    def _look(self, path, replaced):
        """Compare what is there with what an object may take the place of."""
        now = self.stat(path)
        if replaced is None:
            if now is not None:
                raise Changed(APPEARED)
        elif now is None:
            raise Failed(VANISHED) if replaced.is_source else Changed(VANISHED)
        elif now.etag != replaced.version.etag:
            raise Changed(REPLACED)

    def without_conditions(self):
        """Find out which conditions the store checks. Return a sentence about the objects whose replacement is not conditional,
        or None.

        The caller holds the lock. Its object is written once more, on conditions that are false.
        """
        place = self._own("lock")
        body = self._get(place)
        missing = []

        def put(condition):
            self._fs.call_s3("put_object", **place, Body=body, **condition)

        def upload(condition):
            part = {"UploadId": self._fs.call_s3("create_multipart_upload", **place)["UploadId"]}
            etag = self._fs.call_s3("upload_part", **place, **part, PartNumber=1, Body=body)["ETag"]
            listed = {"Parts": [{"PartNumber": 1, "ETag": etag}]}
            try:
                self._fs.call_s3("complete_multipart_upload", **place, **part, MultipartUpload=listed, **condition)
            finally:
                with contextlib.suppress(Exception):
                    self._fs.call_s3("abort_multipart_upload", **place, **part)

        for method, request in (("put_object", put), ("complete_multipart_upload", upload)):
            for condition in ({"IfMatch": f'"{"0" * 32}"'}, {"IfNoneMatch": "*"}):
                if not _is_conditional(lambda request=request, condition=condition: request(condition)):
                    missing.append((method, *condition))
        self.unconditional = tuple(missing)
        methods = {method for method, _ in missing}
        sizes = [name for name, method in (("short", "put_object"), ("long", "complete_multipart_upload")) if method in methods]
        if not sizes:
            return None
        return (
            f"{self.url} does not compare ETags when {' and '.join(sizes)} objects are written: one that another program "
            "writes in the moment between the job's look and its own write is lost"
        )

    def sync(self, uploads):
        return False

    def abort(self, upload):
        if upload[2] is not None:
            self._abort(self._place(upload[0])["Key"], upload[2])

    def _abort(self, key, identifier):
        with contextlib.suppress(Exception):
            self._fs.call_s3("abort_multipart_upload", Bucket=self._bucket, Key=key, UploadId=identifier)

    def copy_rest(self, source, source_file, start, sink):
        """Have the store append the bytes of an object from a position on, if it can. Return where the rest begins."""
        entry = source_file.entry
        if not isinstance(source, S3Store) or source._endpoint != self._endpoint or sink.upload[2] is None:
            return start
        # The first part has the new header, and what makes up the least length.
        head = min(max(0, _PART_BYTES_MIN - sink.length), entry.size - start)
        if head:
            data = bytearray(head)
            source_file.read([memoryview(data)], start)
            sink.write([data])
            start += head
        sink.flush()
        while start < entry.size:
            left = entry.size - start
            count = left if left <= _COPY_BYTES_MAX + _PART_BYTES_MIN else _COPY_BYTES_MAX
            copied = self._call(
                entry,
                "upload_part_copy",
                **self._place(sink.upload[0]),
                UploadId=sink.upload[2],
                PartNumber=sink.number,
                CopySource={key: value for key, value in source._place(entry.path).items()},
                CopySourceRange=f"bytes={start}-{start + count - 1}",
                CopySourceIfMatch=f'"{entry.etag}"',
            )
            sink.parts.append((sink.number, copied["CopyPartResult"]["ETag"]))
            sink.number += 1
            start += count
        return start

    def remove_incomplete(self, is_ours):
        """Abort uploads that earlier jobs have left, whose parts cost money. The caller holds the lock.

        They belong to drivers that were killed, or to requests that the store carried out without an answer.
        """
        more, lock, manifests = {}, self._own("lock")["Key"], self._own("manifest-")["Key"]
        while True:
            try:
                page = self._fs.call_s3("list_multipart_uploads", Bucket=self._bucket, Prefix=self._prefix, **more)
            except PermissionError:
                return
            for upload in page.get("Uploads", ()):
                path = upload["Key"][len(self._prefix) :]
                # A job that asks for the store's conditions uploads its lock, and one that makes a snapshot a manifest.
                if upload["Key"] == lock or upload["Key"].startswith(manifests) or is_ours(path):
                    self._abort(upload["Key"], upload["UploadId"])
            if not page.get("IsTruncated"):
                return
            more = {"KeyMarker": page["NextKeyMarker"], "UploadIdMarker": page["NextUploadIdMarker"]}

    # The job's own objects.

    def lock(self, text):
        outdated = self.outdated()
        if outdated is not None:
            raise JobError(outdated)
        held = self.lock_text()
        if held is None:
            held = self._take_lock(text)
        if held is not None:
            return f"{held}. If that job has ended, repeat the command with --break-lock"
        self._has_lock = text
        return None

    def _take_lock(self, text):
        """Write the lock. Return what holds it otherwise.

        A store that does not look at If-None-Match would give it to two jobs. There a job leaves a claim of its own before it
        looks for those of others, so that at most one job finds none.
        """
        claim = self._own(f"{_CLAIM}{os.urandom(8).hex()}")
        self._fs.call_s3("put_object", **claim, Body=text.encode())
        try:
            if _is_conditional(lambda: self._fs.call_s3("put_object", **claim, Body=text.encode(), IfNoneMatch="*")):
                return self._put_lock(text)
            is_claimed = bool(self._claims(claim["Key"]))
            held = self.lock_text() or ("another job, which begins at the same time" if is_claimed else None)
            if held is None:
                self._fs.call_s3("put_object", **self._own("lock"), Body=text.encode())
                self._claim, claim = claim, None
            return held
        finally:
            if claim is not None:
                self._fs.call_s3("delete_object", **claim)

    def _put_lock(self, text):
        try:
            self._fs.call_s3("put_object", **self._own("lock"), Body=text.encode(), IfNoneMatch="*")
        except (FileExistsError, OSError) as error:
            held = self.lock_text()
            if held is None:
                raise error
            # A request that was repeated meets what it did the first time.
            return None if held == text else held
        return None

    def _claims(self, own=None):
        """Return the keys of claims to the lock, other than one."""
        return [found["Key"] for found in self._listed(self._own(_CLAIM)["Key"]) if found["Key"] != own]

    def lock_text(self):
        try:
            return self._get(self._own("lock")).decode("utf-8", "replace")[:1000]
        except FileNotFoundError:
            return None

    def break_lock(self):
        self._fs.call_s3("delete_object", **self._own("lock"))
        for key in self._claims():
            self._fs.call_s3("delete_object", Bucket=self._bucket, Key=key)

    def unlock(self):
        # Another job may have taken it over.
        if self._has_lock and self.lock_text() == self._has_lock:
            self._fs.call_s3("delete_object", **self._own("lock"))
        # Last, so that no other job writes a lock before this one's is gone.
        if self._claim is not None:
            self._fs.call_s3("delete_object", **self._claim)
        self._has_lock = self._claim = None

    def journals(self):
        return ()

    def manifests(self):
        prefix = f"{self._prefix}{FOLDER}/manifest-"
        for found in self._listed(prefix):
            if found["Key"].endswith(".jsonl"):
                key = found["Key"]
                yield key.rpartition("/")[2], self._pieces({"Bucket": self._bucket, "Key": key}, found["Size"])

    def _pieces(self, place, size):
        step = 8 << 20
        for start in range(0, size, step):
            yield self._get(place, Range=f"bytes={start}-{min(size, start + step) - 1}")

    def append_manifest(self, name, data):
        # Objects do not grow, so a manifest has pieces.
        self._pieces_written = getattr(self, "_pieces_written", 0) + 1
        place = self._own(f"manifest-{name}-{self._pieces_written:06}.jsonl")
        self._fs.call_s3("put_object", **place, Body=bytes(data))

    def write_manifest(self, name, pieces):
        """Write a manifest as a whole. It appears once it is complete."""
        place, upload, parts, data, size = self._own(f"manifest-{name}.jsonl"), {}, [], bytearray(), 0

        def send():
            part = self._fs.call_s3("upload_part", **place, **upload, PartNumber=len(parts) + 1, Body=bytes(data))
            parts.append({"PartNumber": len(parts) + 1, "ETag": part["ETag"]})
            data.clear()

        try:
            for piece in pieces:
                data += piece
                size += len(piece)
                if len(data) >= _MANIFEST_PART_BYTES:
                    upload = upload or {"UploadId": self._fs.call_s3("create_multipart_upload", **place)["UploadId"]}
                    send()
            if not upload:
                self._fs.call_s3("put_object", **place, Body=bytes(data))
                return
            if data:
                send()
            try:
                self._fs.call_s3("complete_multipart_upload", **place, **upload, MultipartUpload={"Parts": parts})
            except FileNotFoundError:
                # A request that was repeated finds what it did the first time.
                if self._fs.call_s3("head_object", **place)["ContentLength"] != size:
                    raise
        except BaseException:
            if upload:
                self._abort(place["Key"], upload["UploadId"])
            raise

    def remove_manifest(self, name):
        self._fs.call_s3("delete_object", **self._own(name))

    def _own(self, name):
        return {"Bucket": self._bucket, "Key": f"{self._prefix}{FOLDER}/{name}"}

    def _place(self, path):
        try:
            key = f"{self._prefix}{path}"
            length = len(key.encode())
        except UnicodeEncodeError:
            raise Failed("an object of S3 cannot have this name: it is not UTF-8") from None
        if length > _KEY_BYTES_MAX:
            raise Failed(f"an object of S3 cannot have this name: it has {length} bytes, more than {_KEY_BYTES_MAX}")
        if path.split("/", 1)[0] == FOLDER:
            raise Failed(f"{FOLDER} is the job's own folder")
        if any(name in (".", "..") for name in path.split("/")):
            raise Failed("the name has '.' or '..' between slashes, which not all clients of S3 keep")
        return {"Bucket": self._bucket, "Key": key}

    def _get(self, place, version="", **options):
        import aiohttp
        import s3fs.core
        from fsspec.asyn import sync

        async def get():
            for attempt in range(_ATTEMPTS):
                answer = await self._fs._call_s3("get_object", **place, **options)
                if version and answer.get("VersionId", version) != version:
                    raise Changed("it changed while it was read")
                try:
                    async with answer["Body"] as body:
                        return await body.read()
                except (*s3fs.core.S3_RETRYABLE_ERRORS, aiohttp.ClientError):
                    # s3fs repeats requests, and not answers that are cut.
                    if attempt + 1 == _ATTEMPTS:
                        raise
                    await asyncio.sleep(0.1 * 2**attempt * random.uniform(0.5, 1))

        return sync(self._fs.loop, get)

    def _call(self, entry, method, **arguments):
        with _changes(entry):
            return self._fs.call_s3(method, **arguments)


class _Source:
    """A version of an object."""

    piece_chunks = 128

    def __init__(self, store, entry):
        self.entry = entry
        self._store = store

    def read(self, views, position):
        length = sum(len(view) for view in views)
        if length == 0:
            return
        with _changes(self.entry):
            place = self._store._place(self.entry.path)
            span = f"bytes={position}-{position + length - 1}"
            version = self.entry.stamp[0] if self.entry.stamp else ""
            data = self._store._get(place, version, Range=span, IfMatch=f'"{self.entry.etag}"')
        if len(data) != length:
            raise OSError(f"the store sent {len(data)} bytes of {length}")
        data, start = memoryview(data), 0
        for view in views:
            view[:] = data[start : start + len(view)]
            start += len(view)

    def check(self):
        """Nothing to do: each request names the version."""


class _Sink:
    """Parts of an upload, or the whole of a short object."""

    def __init__(self, store, upload, number):
        self.upload = upload
        self.number = number
        self.parts = []
        self._store = store
        self._data = bytearray()

    @property
    def length(self):
        return len(self._data)

    def write(self, views):
        for view in views:
            self._data += view
        if self.upload[3] and len(self._data) > _PART_BYTES_MAX:
            self.flush()

    def flush(self):
        data, self._data = self._data, bytearray()
        if self.upload[2] is None:
            self.parts.append(self._store._put(self.upload, "put_object", Body=data))
        else:
            arguments = {**self._store._place(self.upload[0]), "Body": data}
            part = {"UploadId": self.upload[2], "PartNumber": self.number}
            self.parts.append((self.number, self._store._fs.call_s3("upload_part", **arguments, **part)["ETag"]))
            self.number += 1

    def finish(self, is_range=False):
        if self._data or not self.parts:
            self.flush()
        return self.parts

    def close(self):
        self._data = bytearray()


@contextlib.contextmanager
def _changes(entry):
    """Turn the store's answers that an object is another or not there into what a job does about it."""
    try:
        yield
    except FileNotFoundError:
        raise Failed(VANISHED) from None
    except OSError as error:
        if _status(error) in (412, 416):
            raise Changed("it changed while it was read") from None
        raise


def _is_conditional(request):
    """Whether a store refuses a request whose condition is false."""
    try:
        request()
    except FileNotFoundError:
        # A request that was repeated finds that its upload is complete.
        return False
    except OSError as error:
        if _status(error) == 412:
            return True
        if not _is_unsupported(error):
            raise
    return False


def _is_unsupported(error):
    """Whether an exception of s3fs says that the store does not know the condition of a request."""
    return _status(error) == 501 or _answer(error).get("Error", {}).get("Code") in _UNSUPPORTED


def _is_upload_gone(error):
    return _answer(error).get("Error", {}).get("Code") == "NoSuchUpload"


def _status(error):
    """Return the status of HTTP that an exception of s3fs stands for."""
    return _answer(error).get("ResponseMetadata", {}).get("HTTPStatusCode")


def _answer(error):
    return getattr(error.__cause__, "response", {})


def _stamp(answer):
    version = answer.get("VersionId")
    return (version,) if version and version != "null" else ()
