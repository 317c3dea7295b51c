//! Generates the code of the cryptoserver's protocol, and the descriptors that its reflection service
//! shows. `cargo xtask proto` runs this program and puts a first line before the code.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

use protox::prost::Message as _;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args_os().nth(1);
    let folder = folder.ok_or("usage: xtask-proto FOLDER: the folder to write to")?;
    generate(&PathBuf::from(folder))
}

/// Writes `generated.rs` and `cryptoserver.binpb` to `folder`.
fn generate(folder: &Path) -> Result<(), Box<dyn Error>> {
    let descriptors = protox::compile(["oarlock/v1/cryptoserver.proto"], [proto()])?;
    fs::write(
        folder.join("cryptoserver.binpb"),
        descriptors.encode_to_vec(),
    )?;
    tonic_prost_build::configure()
        .codec_path("crate::codec::BoundedCodec")
        .emit_rerun_if_changed(false)
        .out_dir(folder)
        .compile_fds(descriptors)?;
    fs::rename(folder.join("oarlock.v1.rs"), folder.join("generated.rs"))?;
    Ok(())
}

fn proto() -> PathBuf {
    net().join("proto")
}

fn net() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../crates/net")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checked_in_code_is_what_is_generated() -> Result<(), Box<dyn Error>> {
        let folder = tempfile::tempdir()?;
        generate(folder.path())?;
        let checked_in = net().join("src/proto");
        let remedy = "run `cargo xtask proto`";
        let code = fs::read_to_string(checked_in.join("generated.rs"))?;
        let (_, code) = code.split_once('\n').ok_or("generated.rs has one line")?;
        let generated = fs::read_to_string(folder.path().join("generated.rs"))?;
        assert!(code == generated, "generated.rs differs: {remedy}");
        let descriptors = fs::read(checked_in.join("cryptoserver.binpb"))?;
        let generated = fs::read(folder.path().join("cryptoserver.binpb"))?;
        assert!(
            descriptors == generated,
            "cryptoserver.binpb differs: {remedy}"
        );
        Ok(())
    }
}
