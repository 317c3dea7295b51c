//! Makes code of the protocol, and the descriptors that the reflection service shows.

use std::error::Error;
use std::path::Path;
use std::{env, fs};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let descriptors = protox::compile(["oarlock/v1/cryptoserver.proto"], ["proto"])?;
    let out = env::var_os("OUT_DIR").ok_or("cargo names OUT_DIR")?;
    let encoded = protox::prost::Message::encode_to_vec(&descriptors);
    fs::write(Path::new(&out).join("cryptoserver.binpb"), encoded)?;
    tonic_prost_build::configure()
        .codec_path("crate::codec::BoundedCodec")
        .compile_fds(descriptors)?;
    Ok(())
}
