//! Signatures by the library, without a server.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use oarlock::Accelerator;
use oarlock::job::JobOptions;

use crate::asks::{P256, SCHEME, Signing, p256};
use crate::tally::{Report, Tally};
use crate::watch;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Jobs under way at the same time; 1 is one call after the other
    #[arg(long, default_value_t = 64)]
    in_flight: usize,

    /// Seconds before anything counts
    #[arg(long, default_value_t = 0.3)]
    warm_up: f64,

    #[arg(long, default_value_t = 2.0)]
    seconds: f64,

    /// With a P-256 key, one call after the other
    #[arg(long)]
    p256: bool,
}

/// Runs on this thread alone.
pub(crate) fn run(args: &Args) -> Result<Report, String> {
    let Signing { keys, digests } = Signing::new()?;
    let p256 = args.p256.then(p256).transpose()?;
    let accelerator = Accelerator::builder().max_threads(0).build();
    let accelerator = accelerator.map_err(|error| error.to_string())?;
    let keys: Vec<_> = keys.iter().map(|key| accelerator.rsa(key)).collect();
    let begins = Instant::now() + Duration::from_secs_f64(args.warm_up);
    let length = Duration::from_secs_f64(args.seconds);
    let mut tally = Tally::of(begins, length);
    let mut cpu_before = None;
    let pid = std::process::id();
    let mut jobs = VecDeque::new();
    for number in 0.. {
        let now = Instant::now();
        if now >= begins && cpu_before.is_none() {
            cpu_before = Some(watch::cpu_seconds(pid)?);
        }
        if now >= begins + length {
            break;
        }
        let (key, digest) = (&keys[number % keys.len()], &digests[number % digests.len()]);
        if let Some(key) = &p256 {
            let signed = key.sign_digest(&P256, digest);
            signed.map_err(|error| error.to_string())?;
            tally.note(now, Ok(true));
            continue;
        }
        if args.in_flight == 1 {
            let signed = key.sign_digest(SCHEME, digest);
            signed.map_err(|error| error.to_string())?;
            tally.note(now, Ok(true));
            continue;
        }
        let job = key.submit_sign_digest(SCHEME, digest.to_vec(), JobOptions::default());
        jobs.push_back((now, job.map_err(|full| full.to_string())?));
        if jobs.len() < args.in_flight {
            continue;
        }
        let mut is_oldest = true;
        while let Some((asked, job)) =
            jobs.pop_front_if(|(_, job)| std::mem::take(&mut is_oldest) || job.is_finished())
        {
            job.wait().map_err(|error| error.to_string())?;
            tally.note(asked, Ok(true));
        }
    }
    let cpu = watch::cpu_seconds(pid)? - cpu_before.unwrap_or_default();
    Ok(tally.report(cpu, &[], None))
}
