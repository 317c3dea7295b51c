//! Seals one long message over all cores, and opens it again:
//! `cargo run --release --package oarlock --example seal -- 256`, in MiB.

use std::error::Error;
use std::time::Instant;

use oarlock::Accelerator;
use oarlock::Algorithm;

fn main() -> Result<(), Box<dyn Error>> {
    let mib: usize = std::env::args().nth(1).map_or(Ok(64), |mib| mib.parse())?;
    let accelerator = Accelerator::builder().build()?;
    let aead = accelerator.aead(Algorithm::Aes256Gcm, &[7; 32])?;
    let (nonce, header) = ([1; 12], b"not secret, but authentic");
    let mut message = vec![0x5a; mib << 20];

    let start = Instant::now();
    let tag = aead.seal(&nonce, header, message.as_mut_slice().into())?;
    println!("sealed {mib} MiB in {:.1?}", start.elapsed());

    let start = Instant::now();
    aead.open(&nonce, header, message.as_mut_slice().into(), &tag)?;
    println!("opened {mib} MiB in {:.1?}", start.elapsed());
    assert!(message.iter().all(|byte| *byte == 0x5a));
    Ok(())
}
