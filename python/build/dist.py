#!/usr/bin/env python3
"""Builds what a release publishes::

    python/build/dist.py [--compiled] FOLDER

That is the wheel and the source distribution, a tarball and a Debian package with the same programs, which need glibc 2.28,
the licenses of others' code, a bill of materials, and the sums of all these. Files depend on the last commit, on the versions
of the compilers and on nothing else of this machine.

``--compiled`` compiles nothing: it takes the programs from the target folder, and the wheel from ``target/wheel/dist``, where
`make wheel` has put them.
"""

from __future__ import annotations

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import oarlock_build

ROOT = oarlock_build.ROOT


def _run(*command: str | os.PathLike[str], **variables: str | os.PathLike[str]) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **variables})


def _wheel(folder: pathlib.Path, compiled: bool) -> None:
    if compiled:
        dist = oarlock_build.portable().parents[1] / "wheel" / "dist"
        wheels = list(dist.glob("*-manylinux*.whl"))
        if len(wheels) != 1:
            sys.exit(f"dist.py --compiled: no wheel in {dist}: make wheel")
        shutil.copy(wheels[0], folder)
    else:
        _run(sys.executable, "python/build/oarlock_build.py", "--portable", folder)
    (wheel,) = folder.glob("*.whl")
    with tempfile.TemporaryDirectory() as work:
        shutil.unpack_archive(wheel, work, "zip")
        _check_paths(pathlib.Path(work))


def _tarball(folder: pathlib.Path, version: str, epoch: str, variables: dict[str, str]) -> None:
    """Packs a prefix: /usr/local, where the units of systemd expect it, though all but these work from any folder."""
    name = f"oarlock-{version}-x86_64-linux"
    with tempfile.TemporaryDirectory() as work:
        prefix = "/usr/local"
        # pkg-config finds the rest from the place of the file.
        places = {"DESTDIR": work, "PREFIX": prefix, "PC_PREFIX": "${pcfiledir}/../.."}
        _run("scripts/install", "install", **variables, **places)
        tree = pathlib.Path(work, name)
        pathlib.Path(work + prefix).rename(tree)
        # `make uninstall` would not find the files by it.
        shutil.rmtree(tree / "share" / "oarlock")
        shared = (tree / "bin/oarlock", *sorted(tree.glob("lib/oarlock/*.so")), tree / "lib/liboarlock.so.1")
        _run("strip", "--strip-unneeded", *shared)
        _run("strip", "--strip-debug", "--enable-deterministic-archives", tree / "lib" / "liboarlock.a")
        _check_paths(tree)
        order = ("--sort=name", f"--mtime=@{epoch}", "--owner=0", "--group=0", "--numeric-owner", "--format=gnu")
        pack = "--use-compress-program=xz --threads=1 -9"
        _run("tar", "--create", f"--file={folder / name}.tar.xz", *order, pack, "-C", work, name)


def _check_paths(tree: pathlib.Path) -> None:
    """Ends the program if a path of this machine is in a file."""
    paths = [str(it).encode() for it in (ROOT, oarlock_build.cargo_home())]
    for file in sorted(tree.rglob("*")):
        if file.is_file() and any(path in file.read_bytes() for path in paths):
            sys.exit(f"dist.py: {file.relative_to(tree)} has a path of this machine: {b' or '.join(paths).decode()}")


def _package(folder: pathlib.Path, variables: dict[str, str]) -> None:
    with tempfile.TemporaryDirectory() as work:
        # xz cuts by the number of threads.
        _run("scripts/debian-package", **variables, CARGO_TARGET_DIR=work, DPKG_DEB_THREADS_MAX="1")
        for file in pathlib.Path(work, "debian").iterdir():
            shutil.copy(file, folder)


def _sums(folder: pathlib.Path) -> None:
    lines = [f"{hashlib.sha256(it.read_bytes()).hexdigest()}  {it.name}\n" for it in sorted(folder.iterdir())]
    (folder / "SHA256SUMS").write_text("".join(lines))


def main() -> None:
    *flags, last = sys.argv[1:] or ["--help"]
    if last == "--help" or flags not in ([], ["--compiled"]):
        sys.exit(__doc__)
    folder = pathlib.Path(last).resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.umask(0o022)
    version = oarlock_build.version()
    epoch = oarlock_build.epoch()
    os.environ["SOURCE_DATE_EPOCH"] = epoch

    # First what is refused soonest.
    licenses = folder / "THIRD-PARTY-LICENSES.txt"
    oarlock_build.write_third_party(licenses, folder / f"oarlock-{version}.cdx.json")
    _wheel(folder, bool(flags))
    oarlock_build.build_sdist(str(folder))
    variables = {"BUILD": str(oarlock_build.portable()), "CC": oarlock_build.linker(), "THIRD_PARTY": str(licenses)}
    _tarball(folder, version, epoch, variables)
    _package(folder, variables)
    _sums(folder)
    for file in sorted(folder.iterdir()):
        print(f"{file.stat().st_size:10} {file}")


if __name__ == "__main__":
    main()
