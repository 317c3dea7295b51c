//! Seals one long message over all cores, opens it again, and shows that an altered one is refused:
//! `cargo run --release --package oarlock --example seal -- 256`; the argument is in MiB.

use std::error::Error;
use std::time::Instant;

use oarlock::{Accelerator, Algorithm};

fn main() -> Result<(), Box<dyn Error>> {
    let mib: usize = std::env::args().nth(1).map_or(Ok(64), |mib| mib.parse())?;
    let accelerator = Accelerator::builder().build()?;
    // A real program loads its key from where it keeps secrets, and never seals twice under one nonce.
    let aead = accelerator.aead(Algorithm::Aes256Gcm, &[7; 32])?;
    let (nonce, header) = ([1; 12], b"not secret, but authentic");
    let mut message = vec![0x5a; mib << 20];

    let start = Instant::now();
    let tag = aead.seal(&nonce, header, message.as_mut_slice().into())?;
    println!("sealed {mib} MiB in {:.1?}", start.elapsed());

    if let Some(byte) = message.last_mut() {
        *byte ^= 1;
        match aead.open(&nonce, header, message.as_mut_slice().into(), &tag) {
            Err(oarlock::Error::AuthenticationFailed) => println!("refused the altered message"),
            other => return Err(format!("an altered message gave {other:?}").into()),
        }
        // A refused message is left as ciphertext.
        if let Some(byte) = message.last_mut() {
            *byte ^= 1;
        }
    }

    let start = Instant::now();
    aead.open(&nonce, header, message.as_mut_slice().into(), &tag)?;
    println!("opened {mib} MiB in {:.1?}", start.elapsed());
    if message.iter().any(|byte| *byte != 0x5a) {
        return Err("the message is not what was sealed".into());
    }
    Ok(())
}
