//! Signs the lines of standard input with an RSA key, many at a time, and prints each signature when it is done:
//!
//! ```text
//! openssl genpkey -algorithm RSA -out key.pem
//! seq 1000 | cargo run --release --package oarlock --example sign -- key.pem
//! ```

use std::error::Error;

use oarlock::Accelerator;
use oarlock::job::{CompletionQueue, JobOptions, Order, QueueFull};
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args().nth(1).ok_or("usage: sign KEY.PEM")?;
    let pem = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let key = RsaPrivateKey::from_pem(&pem)?;
    let rsa = Accelerator::builder().build()?.rsa(&key);
    let scheme = SignatureScheme::Pkcs1(Hash::Sha256);

    let mut signatures = CompletionQueue::new(Order::Completion);
    for line in std::io::stdin().lines() {
        let line = line?;
        let mut message = line.clone().into_bytes();
        // A full queue returns the message: collect a signature, then try again.
        loop {
            match rsa.submit_sign(scheme, message, JobOptions::default()) {
                Ok(job) => {
                    signatures.push(job, line);
                    break;
                }
                Err(QueueFull(back)) => message = back,
            }
            if let Some((line, signature)) = signatures.next_blocking() {
                print(&line, &signature?);
            }
        }
    }
    while let Some((line, signature)) = signatures.next_blocking() {
        print(&line, &signature?);
    }
    Ok(())
}

fn print(line: &str, signature: &[u8]) {
    let hex: String = signature.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{line}: {hex}");
}
