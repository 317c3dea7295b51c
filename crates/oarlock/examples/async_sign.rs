//! Signs for many tasks at once under tokio, and verifies the signatures:
//!
//! ```text
//! openssl genpkey -algorithm RSA -out key.pem
//! cargo run --release --package oarlock --example async_sign -- key.pem 1000
//! ```

use std::error::Error;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock::job::JobOptions;
use oarlock::rsa::{AcceleratedRsa, Hash, RsaPrivateKey, SignatureScheme};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

const SCHEME: SignatureScheme = SignatureScheme::Pss(Hash::Sha256);
/// The most jobs in flight. It is below the queue's limit ([`oarlock::Builder::jobs_max`]), so the queue is never full.
const JOBS_MAX: usize = 512;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let path = arguments
        .next()
        .ok_or("usage: async_sign KEY.PEM [REQUESTS]")?;
    let requests: usize = arguments.next().map_or(Ok(1000), |count| count.parse())?;
    let pem = std::fs::read_to_string(&path).map_err(|error| format!("{path}: {error}"))?;
    let key = RsaPrivateKey::from_pem(&pem)?;
    let rsa = Accelerator::builder().build()?.rsa(&key);
    let room = Arc::new(Semaphore::new(JOBS_MAX));

    let start = Instant::now();
    let mut tasks = JoinSet::new();
    for number in 0..requests {
        let (rsa, room) = (rsa.clone(), Arc::clone(&room));
        tasks.spawn(async move {
            let message = format!("request {number}");
            let signature = sign(&rsa, &room, &message).await?;
            rsa.public().verify(SCHEME, message.as_bytes(), &signature)
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    println!("{requests} signatures in {:.1?}", start.elapsed());
    Ok(())
}

/// Serves one request as a server would. Dropping the future, as tokio's timeout does, cancels the job.
async fn sign(
    rsa: &AcceleratedRsa,
    room: &Semaphore,
    message: &str,
) -> Result<Vec<u8>, oarlock::Error> {
    // `acquire` fails only on a closed semaphore, and nothing closes this one.
    let _permit = room.acquire().await;
    let options = JobOptions {
        deadline: Some(Instant::now() + Duration::from_secs(30)),
        ..JobOptions::default()
    };
    rsa.submit_sign(SCHEME, message, options)?.await
}
