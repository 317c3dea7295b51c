//! Signatures of RSA-2048 and P-256: per CPU second, and one at a time.

use oarlock_measure::Error;

use super::host::Home;
use super::load::{ClientLoad, LoadReport, ONE};
use super::sides::{LIBRARY, PLAINTEXT, turns};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::Setup;

/// Measures signatures per CPU second of the server, with TLS and without, and of the library.
pub(super) fn per_cpu_second(
    setup: &Setup,
    home: &Home,
    kind: &'static str,
) -> Result<Vec<Compared>, Error> {
    let hosts = [home.serve(true, CPU)?, home.serve(false, CPU)?];
    let load = ClientLoad {
        kind,
        in_flight: IN_FLIGHT,
        seconds: if setup.quick { 1.5 } else { 4.0 },
        ..ONE
    };
    let samples = turns(setup.rounds(9, 3), 3, |side| {
        let report = match side {
            0 => home.local(kind, IN_FLIGHT, load.seconds)?,
            _ => home.ask(&[&hosts[side - 1]], load)?,
        };
        Ok(report.checked()?.per_cpu_second())
    })?;
    let [local, tls, plaintext] = [0, 1, 2].map(|side| samples[side].clone());
    let figure = Quantity::PerCpuSecond;
    Ok(vec![
        Compared::new(figure, LIBRARY, tls.clone(), local),
        Compared::new(figure, PLAINTEXT, tls, plaintext),
    ])
}

/// Measures the time of consecutive calls, remotely and in the library.
pub(super) fn latency(setup: &Setup, home: &Home, has_tls: bool) -> Result<Vec<Compared>, Error> {
    let host = home.serve(has_tls, CPU)?;
    let load = ClientLoad {
        seconds: if setup.quick { 1.5 } else { 4.0 },
        ..ONE
    };
    let samples = turns(setup.rounds(9, 3), 2, |side| {
        let report = match side {
            0 => home.local(load.kind, 1, load.seconds)?,
            _ => home.ask(&[&host], load)?,
        };
        report.checked()
    })?;
    let us =
        |side: usize, figure: fn(&LoadReport) -> f64| samples[side].iter().map(figure).collect();
    let [p50, p99]: [fn(&LoadReport) -> f64; 2] = [|report| report.us_p50, |report| report.us_p99];
    Ok(vec![
        Compared::new(Quantity::MicrosecondsP50, LIBRARY, us(1, p50), us(0, p50)),
        Compared::new(Quantity::MicrosecondsP99, LIBRARY, us(1, p99), us(0, p99)),
    ])
}

/// The server's device, with one worker for its single CPU.
const CPU: &str = "[[device]]\nkind = \"cpu\"\nworkers = 1\n";
const IN_FLIGHT: usize = 64;
