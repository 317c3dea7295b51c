//! `cargo xtask vectors`: published test vectors, where the crate `oarlock-vectors` looks for them.

use crate::fetch::{self, Wheel};
use crate::tool::{Metadata, Result};

const CRYPTOGRAPHY: Wheel = Wheel {
    name: "cryptography-vectors",
    version: "50.0.2",
    sha256: "51641f03a3eb4edbe9fb68e3a3574d25f86aa502d06391fffa886330d02778a0",
    members: &[
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

pub fn run() -> Result<()> {
    let folder = Metadata::load()?.target_directory.join("vectors");
    let fetched = fetch::wheel(&CRYPTOGRAPHY, &folder)?;
    println!(
        "{} {} {}: {}",
        CRYPTOGRAPHY.name,
        CRYPTOGRAPHY.version,
        if fetched { "fetched" } else { "already there" },
        folder.display()
    );
    Ok(())
}
