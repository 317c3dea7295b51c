#!/usr/bin/env python3
"""Builds the wheel and the source distribution.

As a build backend (PEP 517) for ``pip install .``, it compiles the command, the OpenSSL provider, the PKCS#11 module and the C
library with cargo, lays them out as a wheel's data, and leaves the Python module and the packing to maturin. As a program it
does the same for other machines::

    python/build/oarlock_build.py [--portable | --debug] FOLDER

``--portable`` links against glibc 2.28 (manylinux_2_28) with zig, and adds the licenses of others' code. ``--debug`` packs
what `cargo build --workspace` has built for the tests, and compiles nothing.
"""

from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import third_party

ROOT = pathlib.Path(__file__).resolve().parents[2]
# As in pyproject.toml.
DATA = ROOT / "target" / "wheel" / "oarlock.data"
BILL = DATA.parent / "oarlock.cdx.json"
PACKAGES = ("oarlock-cli", "oarlock-provider", "oarlock-pkcs11", "oarlock-capi")
MODULE = "oarlock-python"
TRIPLE = "x86_64-unknown-linux-gnu"
GLIBC = "2.28"


def _target() -> pathlib.Path:
    return ROOT / os.environ.get("CARGO_TARGET_DIR", "target")


def portable() -> pathlib.Path:
    """Returns the folder of the programs that ``--portable`` compiles."""
    return _target() / TRIPLE / "release"


def _run(*command: str | os.PathLike[str], **variables: str) -> None:
    subprocess.run(command, cwd=ROOT, check=True, env={**os.environ, **variables})


def epoch() -> str:
    """Returns the time of the last commit, which packed files get; in a source distribution that of its files."""
    time = ("git", "log", "-1", "--format=%ct")
    try:
        seconds = subprocess.check_output(time, cwd=ROOT, text=True, stderr=subprocess.DEVNULL).strip()
    except (OSError, subprocess.CalledProcessError):
        seconds = str(int((ROOT / "Cargo.lock").stat().st_mtime))
    return os.environ.get("SOURCE_DATE_EPOCH") or seconds


def _reproducible() -> dict[str, str]:
    """Returns variables with which no path of this machine gets into a program. aws-lc does the same for its C."""
    _run("cargo", "fetch", "--locked", "--target", TRIPLE)
    home = cargo_home()
    # The last one that fits counts. Cargo names the folders of `src` after the host that the crates came from.
    folders = [(ROOT, "."), (home, "/cargo"), *((it, "/cargo") for it in sorted(home.glob("registry/src/*")))]
    flags = [f"--remap-path-prefix={folder}={name}" for folder, name in folders]
    return {"CARGO_ENCODED_RUSTFLAGS": "\x1f".join(flags), "SOURCE_DATE_EPOCH": epoch()}


def cargo_home() -> pathlib.Path:
    return pathlib.Path(os.environ.get("CARGO_HOME") or pathlib.Path.home() / ".cargo")


def linker() -> str:
    """Returns the C compiler for programs that are to run with an older glibc."""
    return os.environ.get("CC", f"cargo-zigbuild zig cc -- -target x86_64-linux-gnu.{GLIBC}")


def _compile(kind: str) -> pathlib.Path:
    """Compiles what the module comes with, and returns the folder that it is in."""
    packages = [word for name in PACKAGES for word in ("--package", name)]
    # In a source distribution there is no .cargo/config.toml of ours where pip unpacks it into another folder.
    variables = {"AWS_LC_SYS_NO_JITTER_ENTROPY": "1"}
    if kind == "portable":
        target = f"{TRIPLE}.{GLIBC}"
        _run("cargo", "zigbuild", "--release", "--locked", "--target", target, *packages, **variables, **_reproducible())
        return portable()
    if kind == "debug":
        return _target() / "debug"
    _run("cargo", "build", "--release", "--locked", *packages, **variables)
    return _target() / "release"


def _stage(built: pathlib.Path, kind: str) -> None:
    """Lays files out for a wheel: ``scripts`` becomes ``bin``, and ``data`` the environment's root."""
    shutil.rmtree(DATA, ignore_errors=True)
    command = DATA / "scripts" / "oarlock"
    root = DATA / "data"
    modules = [root / "lib" / "oarlock" / name for name in ("liboarlock_provider.so", "liboarlock_pkcs11.so")]
    for source, copy in ((built / "oarlock", command), *((built / module.name, module) for module in modules)):
        copy.parent.mkdir(parents=True, exist_ok=True)
        if kind == "debug":
            _run("strip", "--strip-debug", "-o", copy, source)
        else:
            shutil.copy(source, copy)

    # pkg-config finds the environment from the place of the file.
    arguments = (built / "liboarlock_capi.a", root, "${pcfiledir}/../..")
    # By name: files of a source distribution cannot be executed.
    _run("sh", "crates/capi/install.sh", *arguments, CC=linker() if kind == "portable" else os.environ.get("CC", "cc"))
    library = root / "lib" / "liboarlock.so.1"
    _run("strip", "--strip-unneeded", library)
    # 60 MB; and a wheel has no links, so a script of the linker names the shared library.
    (root / "lib" / "liboarlock.a").unlink()
    link = root / "lib" / "liboarlock.so"
    link.unlink()
    link.write_text(f"INPUT({library.name})\n")

    pages = root / "share" / "man"
    for section in ("man1", "man3"):
        (pages / section).mkdir(parents=True)
    _run(command, "man", "-o", pages / "man1")
    _run("sh", "crates/capi/manual.sh", pages / "man3")
    for shell, path in (
        ("bash", "bash-completion/completions/oarlock"),
        ("zsh", "zsh/site-functions/_oarlock"),
        ("fish", "fish/vendor_completions.d/oarlock.fish"),
    ):
        file = root / "share" / path
        file.parent.mkdir(parents=True)
        file.write_bytes(subprocess.check_output((command, "completions", shell)))
    if kind == "portable":
        documents = root / "share" / "doc" / "oarlock"
        documents.mkdir(parents=True)
        write_third_party(documents / "THIRD-PARTY-LICENSES.txt", BILL)


def write_third_party(licenses: pathlib.Path, bill: pathlib.Path) -> None:
    """Writes the licenses of others' code in portable programs, and their bill of materials."""
    crates = third_party.Crates((*PACKAGES, MODULE), TRIPLE)
    licenses.write_text(third_party.licenses(crates))
    bill.write_text(third_party.bill(crates, version(), int(epoch())))


def version() -> str:
    return re.search(r'^version = "(.*)"', (ROOT / "Cargo.toml").read_text(), re.MULTILINE)[1]


def _maturin(kind: str, folder: str) -> None:
    arguments = ["--out", folder, "--locked", "--release"]
    variables = {}
    if kind == "portable":
        variables = _reproducible()
        arguments += ["--zig", "--target", TRIPLE, "--compatibility", "manylinux_2_28", "--sbom-include", BILL]
    else:
        arguments += ["--compatibility", "linux"]
    _run(sys.executable, "-m", "maturin", "build", *arguments, **variables)


def _pack(folder: str) -> None:
    """Packs a wheel of a module that cargo has built, with maturin's metadata."""
    tree = DATA.parent / "unpacked"
    shutil.rmtree(tree, ignore_errors=True)
    ignored = shutil.ignore_patterns("__pycache__", "*.so")
    shutil.copytree(ROOT / "python" / "oarlock", tree / "oarlock", ignore=ignored)
    module = tree / "oarlock" / "_oarlock.abi3.so"
    _run("strip", "--strip-debug", "-o", module, _target() / "debug" / "liboarlock_python.so")
    _run(sys.executable, "-m", "maturin", "pep517", "write-dist-info", "--metadata-directory", tree)
    (information,) = tree.glob("*.dist-info")
    shutil.move(DATA, tree / information.name.replace(".dist-info", ".data"))
    _run(sys.executable, "-m", "wheel", "pack", tree, "--dest-dir", folder)


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    _stage(_compile("release"), "release")
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    import maturin

    # maturin wants the folder even though it packs what git knows alone.
    DATA.mkdir(parents=True, exist_ok=True)
    return maturin.build_sdist(sdist_directory, config_settings)


def get_requires_for_build_wheel(config_settings=None):
    return []


def get_requires_for_build_sdist(config_settings=None):
    return []


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    import maturin

    DATA.mkdir(parents=True, exist_ok=True)
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


def main() -> None:
    kinds = {"--portable": "portable", "--debug": "debug"}
    *flags, folder = sys.argv[1:] or ["--help"]
    if folder == "--help" or any(flag not in kinds for flag in flags):
        sys.exit(__doc__)
    kind = kinds[flags[0]] if flags else "release"
    _stage(_compile(kind), kind)
    pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
    if kind == "debug":
        _pack(folder)
    else:
        _maturin(kind, folder)


if __name__ == "__main__":
    main()
