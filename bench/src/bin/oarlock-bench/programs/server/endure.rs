//! High load, overload, and a server that is killed.

use oarlock_measure::Error;

use super::host::Home;
use super::load::{ClientLoad, LoadReport, ONE};
use super::sides::{ALL, AT_FIRST, FULL_QUEUE, PEAK, TWO_THIRDS, turns};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::Setup;

/// Measures minutes with a thousand connections at four fifths of the server's capacity.
pub(super) fn load(setup: &Setup, home: &Home) -> Result<Vec<Compared>, Error> {
    // All thousand clients have one certificate here.
    let limits =
        format!("[limits]\nper_client_max = 4096\nclient_connections_max = {CONNECTIONS}\n");
    let device = "[[device]]\nkind = \"cpu\"\nworkers = 1\n";
    let host = home.serve(true, &format!("{limits}{device}"))?;
    // The capacity with the same clients: a single request costs more than one of a batch of eight.
    let most = ClientLoad {
        kind: "mixed",
        connections: CONNECTIONS,
        warm_up: 2.0,
        seconds: if setup.quick { 3.0 } else { 10.0 },
        ..ONE
    };
    let most = home.ask(&[&host], most)?.checked()?;
    let load = ClientLoad {
        kind: "mixed",
        connections: CONNECTIONS,
        per_second: Some(0.8 * most.per_second()),
        warm_up: 2.0,
        seconds: if setup.quick { 30.0 } else { 300.0 },
        ..ONE
    };
    let report = home.ask(&[&host], load)?;
    tell("server-load", &report);
    let [first_bytes, last_bytes] = fifths(&report.resident_bytes);
    let [first, last] = fifths(&report.descriptors);
    let mib = |bytes: f64| vec![bytes / f64::from(1 << 20)];
    Ok(vec![
        Compared::new(Quantity::Right, ALL, vec![report.right()], vec![1.0]),
        Compared::new(
            Quantity::ServerMib,
            AT_FIRST,
            mib(last_bytes),
            mib(first_bytes),
        ),
        Compared::new(Quantity::Descriptors, AT_FIRST, vec![last], vec![first]),
        Compared::new(
            Quantity::Operations,
            PEAK,
            vec![report.per_second()],
            vec![most.per_second()],
        ),
    ])
}

/// Measures four times more signature requests than the server can compute.
pub(super) fn overload(setup: &Setup, home: &Home) -> Result<Vec<Compared>, Error> {
    let rest =
        format!("[limits]\nqueue_max = {QUEUE_MAX}\n[[device]]\nkind = \"cpu\"\nworkers = 1\n");
    let host = home.serve(true, &rest)?;
    let seconds = if setup.quick { 2.0 } else { 5.0 };
    let peak = ClientLoad {
        connections: 16,
        in_flight: 4,
        seconds,
        ..ONE
    };
    let mut last_peak = home.ask(&[&host], peak)?.checked()?.per_second();
    let samples = turns(setup.rounds(5, 2), 2, |side| {
        if side == 0 {
            let report = home.ask(&[&host], peak)?.checked()?;
            last_peak = report.per_second();
            return Ok(report);
        }
        let over = ClientLoad {
            per_second: Some(4.0 * last_peak),
            warm_up: 1.0,
            ..peak
        };
        let report = home.ask(&[&host], over)?;
        tell("server-overload", &report);
        if report.refused == 0 {
            let why = "nothing was refused: the clients are slower than four times the server";
            return Err(Error::Failed(why.to_owned()));
        }
        Ok(report)
    })?;
    let [peaks, overs] = [&samples[0], &samples[1]];
    let rates = |reports: &[LoadReport]| {
        reports
            .iter()
            .map(LoadReport::per_second)
            .collect::<Vec<_>>()
    };
    let answered_or_refused = |report: &LoadReport| {
        let others = report.failed + report.wrong;
        1.0 - others as f64 / report.asked.max(1) as f64
    };
    let full = overs
        .iter()
        .map(|over| QUEUE_MAX as f64 / over.per_second() * 1e3);
    Ok(vec![
        Compared::new(Quantity::Operations, PEAK, rates(overs), rates(peaks)),
        Compared::new(
            Quantity::Right,
            ALL,
            overs.iter().map(answered_or_refused).collect(),
            vec![1.0; overs.len()],
        ),
        Compared::new(
            Quantity::AdmittedMs,
            FULL_QUEUE,
            overs.iter().map(|over| over.us_p99 / 1e3).collect(),
            full.collect(),
        ),
    ])
}

/// Kills one of three servers, with a board each, while clients use all of them.
pub(super) fn kill(setup: &Setup, home: &Home) -> Result<Vec<Compared>, Error> {
    let samples = turns(setup.rounds(5, 2), 1, |_| {
        let board = "[[device]]\nkind = \"simulated\"\npreset = \"nfast300\"\n";
        let hosts = (0..3).map(|_| home.serve(true, board));
        let hosts = hosts.collect::<Result<Vec<_>, _>>()?;
        let load = ClientLoad {
            kind: "mod-exp-crt",
            // More requests than the three boards compute at once, and so more than the remaining two.
            connections: 8,
            in_flight: 24,
            warm_up: 1.0,
            seconds: 9.0,
            kill_after: Some(KILL_AFTER as f64),
            ..ONE
        };
        let report = home.ask(&hosts.iter().collect::<Vec<_>>(), load)?;
        tell("server-kill", &report);
        Ok(report)
    })?;
    let reports = &samples[0];
    let rate = |report: &LoadReport, tenths: std::ops::Range<usize>| {
        let seconds = tenths.len() as f64 / 10.0;
        report.by_tenth[tenths].iter().sum::<u64>() as f64 / seconds
    };
    let (dies, last) = (10 * KILL_AFTER, 90);
    let after = reports.iter().map(|report| rate(report, dies + 10..last));
    let before = reports
        .iter()
        .map(|report| rate(report, 0..dies) * 2.0 / 3.0);
    Ok(vec![
        Compared::new(
            Quantity::Right,
            ALL,
            reports.iter().map(LoadReport::right).collect(),
            vec![1.0; reports.len()],
        ),
        Compared::new(
            Quantity::Operations,
            TWO_THIRDS,
            after.collect(),
            before.collect(),
        ),
    ])
}

/// Prints the requests that ended wrong.
fn tell(case: &str, report: &LoadReport) {
    let LoadReport {
        asked,
        refused,
        failed,
        wrong,
        ..
    } = report;
    eprintln!(
        "oarlock-bench: {case}: {asked} asked, {refused} refused, {failed} failed, {wrong} wrong{}",
        report
            .first_failure
            .as_ref()
            .map_or(String::new(), |first| format!(" ({first})"))
    );
}

/// Returns the means of the first and the last fifth.
fn fifths(seen: &[u64]) -> [f64; 2] {
    let fifth = (seen.len() / 5).max(1).min(seen.len());
    [&seen[..fifth], &seen[seen.len() - fifth..]]
        .map(|part| part.iter().sum::<u64>() as f64 / part.len().max(1) as f64)
}

const CONNECTIONS: usize = 1000;
const QUEUE_MAX: usize = 256;
const KILL_AFTER: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifths_are_means_of_both_ends() {
        assert_eq!(fifths(&[1, 3, 9, 9, 9, 9, 9, 9, 4, 6]), [2.0, 5.0]);
        assert_eq!(fifths(&[7]), [7.0, 7.0]);
    }
}
