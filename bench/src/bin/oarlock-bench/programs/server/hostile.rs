//! Each kind of hostile client together with a victim: an honest client that requests a fifth of the signatures that the
//! server can compute.

use std::fs::{self, File};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use oarlock_hostile::watch;
use oarlock_measure::Error;

use super::host::{Home, Host};
use super::load::{ClientLoad, LoadReport, ONE};
use super::sides::{ALL, AT_FIRST, HONEST};
use crate::programs::compared::{Compared, Quantity};
use crate::programs::setup::Setup;
use crate::system::child::Running;
use crate::system::interrupt;
use crate::system::surroundings::on_last_cpu;

/// Measures the victim next to the hostile client, and the state that the server keeps for that client.
pub(super) fn beside(
    setup: &Setup,
    home: &Home,
    kind: &'static str,
) -> Result<Vec<Compared>, Error> {
    let seconds = if setup.quick { 5.0 } else { 60.0 };
    let host = home.serve(true, "[[device]]\nkind = \"cpu\"\nworkers = 1\n")?;
    let most = ClientLoad {
        in_flight: 32,
        seconds: 1.0,
        ..ONE
    };
    let most = home.ask(&[&host], most)?.checked()?;
    let victim = ClientLoad {
        per_second: Some(most.per_second() / 5.0),
        warm_up: WARM_UP,
        seconds,
        asks_for_health: true,
        ..ONE
    };
    let client = |is_honest| Neighbour {
        kind,
        is_honest,
        seconds: WARM_UP + seconds + LONGER,
    };

    let honest = client(true).start(home, &host)?;
    let beside_honest = home.ask(&[&host], victim)?.checked()?;
    honest.end(LEAVES_WITHIN)?;
    let before = settled(&host, |now| now.clients == 0.0)?;
    watch::forget_peak(host.pid()).map_err(Error::io("the server's peak of memory"))?;

    let hostile = client(false).start(home, &host)?;
    let report = home.ask(&[&host], victim)?;
    let peak = memory(&host)?.peak;
    hostile.end(LEAVES_WITHIN)?;
    let after = settled(&host, |now| {
        now.clients <= before.clients && now.bytes <= before.bytes + (1 << 20)
    })?;
    tell(home, kind, &report)?;

    let mib = |bytes: u64| vec![bytes as f64 / f64::from(1 << 20)];
    let more = |bytes: u64| mib(bytes.saturating_sub(before.bytes));
    Ok(vec![
        Compared::new(Quantity::Right, ALL, vec![report.right()], vec![1.0]),
        Compared::new(
            Quantity::VictimP99,
            HONEST,
            vec![report.us_p99],
            vec![beside_honest.us_p99],
        ),
        Compared::new(
            Quantity::Healthy,
            ALL,
            vec![report.healthy.unwrap_or_default()],
            vec![1.0],
        ),
        Compared::new(
            Quantity::GrownMib,
            AT_FIRST,
            more(peak),
            mib(GROWN_BYTES_MAX),
        ),
        Compared::new(
            Quantity::LeftMib,
            AT_FIRST,
            more(after.bytes),
            mib(LEFT_BYTES_MAX),
        ),
        Compared::new(
            Quantity::Series,
            AT_FIRST,
            vec![after.series as f64],
            vec![(before.series + SERIES_MORE_MAX) as f64],
        ),
        Compared::new(
            Quantity::Clients,
            AT_FIRST,
            vec![after.clients],
            vec![before.clients],
        ),
    ])
}

/// The hostile client that runs next to the victim.
struct Neighbour {
    kind: &'static str,
    is_honest: bool,
    seconds: f64,
}

impl Neighbour {
    /// Starts it on the victim's CPU at the lowest priority, so that the victim always goes first.
    fn start(&self, home: &Home, host: &Host) -> Result<Running, Error> {
        let mut command = Command::new("nice");
        command.args(["-n", "19"]).arg(&home.load);
        command.args(["attack", "--kind", self.kind, "--client", "hostile"]);
        command.args(["--server", &host.address, "--key", "key-0"]);
        command.args(["--metrics", &host.metrics.to_string()]);
        command.args(["--seconds", &self.seconds.to_string()]);
        command.arg("--pki").arg(home.pki());
        if self.is_honest {
            command.arg("--honest");
        }
        let file = home.pki().join(DONE);
        let file = File::create(&file).map_err(Error::io(file.display()))?;
        command.stdin(Stdio::null()).stdout(file);
        on_last_cpu(|| Running::start(&mut command))
    }
}

/// A server's observed use of resources.
#[derive(Clone, Copy)]
struct Seen {
    bytes: u64,
    series: u64,
    clients: f64,
}

/// Returns the observation once `is_enough`, or after ten seconds.
fn settled(host: &Host, is_enough: impl Fn(&Seen) -> bool) -> Result<Seen, Error> {
    let began = Instant::now();
    loop {
        interrupt::check()?;
        let (_, page) = watch::page(host.metrics, "/metrics", PAGE_LIMIT)
            .map_err(Error::io("the page of metrics"))?;
        let seen = Seen {
            bytes: memory(host)?.now,
            series: watch::series(&page),
            clients: watch::metric(&page, "oarlock_clients"),
        };
        if is_enough(&seen) || began.elapsed() > BACK_WITHIN {
            return Ok(seen);
        }
        thread::sleep(Duration::from_millis(500));
    }
}

fn memory(host: &Host) -> Result<watch::Memory, Error> {
    watch::memory(host.pid()).map_err(Error::io("the server"))
}

/// Prints what the client did, and what ended wrong.
fn tell(home: &Home, kind: &str, report: &LoadReport) -> Result<(), Error> {
    let file = home.pki().join(DONE);
    let done = fs::read_to_string(&file).map_err(Error::io(file.display()))?;
    let LoadReport {
        asked,
        refused,
        failed,
        wrong,
        ..
    } = report;
    let first = report.first_failure.as_deref().unwrap_or("none");
    eprintln!(
        "oarlock-bench: hostile-{kind}: {}; the victim: {asked} asked, {refused} refused, \
         {failed} failed, {wrong} wrong (first failure: {first})",
        done.trim()
    );
    if done.contains("\"actions\":0,") {
        return Err(Error::Failed(format!("{kind} did nothing")));
    }
    Ok(())
}

const DONE: &str = "done";
const WARM_UP: f64 = 1.0;
/// Seconds by which the client outlives the victim.
const LONGER: f64 = 1.0;
const LEAVES_WITHIN: Duration = Duration::from_secs(30);
const BACK_WITHIN: Duration = Duration::from_secs(10);
const PAGE_LIMIT: Duration = Duration::from_secs(9);
const GROWN_BYTES_MAX: u64 = 32 << 20;
/// Memory that an allocator may keep for the next client.
const LEFT_BYTES_MAX: u64 = 4 << 20;
/// A series for each combination of client pattern, operation, existing key and code.
const SERIES_MORE_MAX: u64 = 32;
