//! `cargo xtask vectors`: downloads published test vectors to where the crate `oarlock-vectors` looks for them.

use std::path::Path;
use std::process::Command;

use crate::fetch::{self, Wheel};
use crate::go::{self, Go, Module};
use crate::tool::{self, Result};

const CRYPTOGRAPHY: Wheel = Wheel {
    name: "cryptography-vectors",
    version: "50.0.2",
    sha256: "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0",
    members: &[
        "cryptography_vectors/asymmetric/MLDSA/kat_",
        "cryptography_vectors/asymmetric/MLKEM/kat_",
        "cryptography_vectors/asymmetric/RSA/FIPS_186-2/SigGen15_186-3.rsp",
        "cryptography_vectors/asymmetric/RSA/FIPS_186-2/SigGenPSS_186-3.rsp",
        "cryptography_vectors/asymmetric/RSA/FIPS_186-2/SigVer15_186-3.rsp",
        "cryptography_vectors/asymmetric/RSA/FIPS_186-2/SigVerPSS_186-3.rsp",
        "cryptography_vectors/ciphers/AES/CBC/",
        "cryptography_vectors/ciphers/AES/CTR/",
        "cryptography_vectors/ciphers/AES/ECB/",
        "cryptography_vectors/ciphers/AES/GCM/",
        "cryptography_vectors/ciphers/ChaCha20/",
        "cryptography_vectors/ciphers/ChaCha20Poly1305/",
    ],
};

/// The test vectors of age 1.3.2.
const AGE: Module = Module {
    path: "c2sp.org/CCTV/age",
    version: "v0.0.0-20260829155415-4448f2097b2d",
    sum: "h1:Blprhc2SbChNZtWcU+BLTM4YdoqYAS9V7cJgOwJKyAs=",
};

/// Project Wycheproof's vectors.
const WYCHEPROOF: Module = Module {
    path: "github.com/c2sp/wycheproof",
    version: "v0.0.0-20260902155932-3fa63dd0344a",
    sum: "h1:pNbL2nztRsWfW/ispAwsvcDFxs9Id38uIsR2/Up5G2c=",
};

/// NIST's vectors of ACVP, as Go's own tests use them: questions and answers, compressed.
const ACVP: Module = Module {
    path: "github.com/geomys/acvp-testdata",
    version: "v0.0.0-20251201200548-d893de8b8b1c",
    sum: "h1:W9bTdyWTJoakpzDOLR5BNKaGjYAmoaJOioBztGGWI98=",
};

pub fn run(target: &Path) -> Result<()> {
    let folder = target.join("vectors");
    let fetched = fetch::wheel(&CRYPTOGRAPHY, &folder)?;
    say(CRYPTOGRAPHY.name, CRYPTOGRAPHY.version, fetched, &folder);
    let go = Go::find(target)?;
    // All modules share the directory of the first, which a newer version of it replaces as a whole.
    for (module, files, name) in [
        (&AGE, "testdata", "cctv-age"),
        (&WYCHEPROOF, "testvectors_v1", "wycheproof"),
        (&ACVP, "vectors", "acvp-questions"),
        (&ACVP, "expected", "acvp-answers"),
    ] {
        let folder = folder.join(name);
        let fetched = go::module(module, files, &go, &folder)?;
        say(module.path, module.version, fetched, &folder);
    }
    for place in ["acvp-questions/vectors", "acvp-answers/expected"] {
        for algorithm in ["ML-KEM", "ML-DSA"] {
            expand(&folder.join(place).join(algorithm))?;
        }
    }
    Ok(())
}

/// Expands a file with the ending `.bz2` into one with the ending `.json`, unless that is there.
fn expand(file: &Path) -> Result<()> {
    let [source, scratch, expanded] =
        ["bz2", "expanding", "json"].map(|ending| file.with_extension(ending));
    if expanded.exists() {
        return Ok(());
    }
    let mut python = Command::new("python3");
    python.args(["-c", EXPAND]).arg(source).arg(&scratch);
    tool::output(&mut python)?;
    std::fs::rename(&scratch, &expanded).map_err(|error| format!("{}: {error}", expanded.display()))
}

/// A script for Python's own reader, which is installed wherever pip is.
const EXPAND: &str = "\
import bz2, shutil, sys
with bz2.open(sys.argv[1]) as source, open(sys.argv[2], 'wb') as expanded:
    shutil.copyfileobj(source, expanded)
";

fn say(name: &str, version: &str, fetched: bool, folder: &Path) {
    println!(
        "{name} {version} {}: {}",
        if fetched { "fetched" } else { "already there" },
        folder.display()
    );
}
