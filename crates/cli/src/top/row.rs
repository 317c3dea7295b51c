//! The figures of a process or a cryptoserver, and their rates since the previous reading.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use oarlock_engine::costs::published::{DeviceFigures, DeviceState, Figures, ProcessFigures};
use oarlock_net::client::PageFigures;
use serde::Serialize;

/// A process, or a cryptoserver elsewhere.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Row {
    /// The key by which the next reading finds it.
    #[serde(skip)]
    pub(super) key: String,
    pub(crate) process: Option<u32>,
    pub(crate) user: Option<u32>,
    /// The name of the program, or the address of a cryptoserver elsewhere.
    pub(crate) program: String,
    /// The number of threads in its pools.
    pub(crate) pool_threads: Option<usize>,
    pub(crate) requests_per_second: f64,
    pub(crate) bytes_per_second: f64,
    /// Requests waiting for a thread.
    pub(crate) waiting: u64,
    /// Requests without an answer so far.
    pub(crate) in_flight: u64,
    /// Requests that were refused for lack of room, since the start.
    pub(crate) refused: u64,
    pub(crate) refused_per_second: f64,
    /// The mean number of requests that lanes computed at once, over the interval.
    pub(crate) lane_fill: Option<f64>,
    /// Wrong results of lanes.
    pub(crate) faults: u64,
    /// Connections that were closed while OpenSSL's job for them was paused.
    pub(crate) abandoned: u64,
    pub(crate) operations: Vec<Operation>,
    pub(crate) devices: Vec<Device>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) server: Option<ServerRow>,
}

/// The figures of one operation in one direction.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Operation {
    pub(crate) operation: &'static str,
    pub(crate) direction: &'static str,
    pub(crate) requests: u64,
    pub(crate) bytes: u64,
    pub(crate) requests_per_second: f64,
    pub(crate) bytes_per_second: f64,
}

/// A device of a framework or of a cryptoserver.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Device {
    pub(crate) name: String,
    pub(crate) health: &'static str,
    pub(crate) in_flight: u64,
    pub(crate) done: u64,
    pub(crate) failed: u64,
    pub(crate) stalled: u64,
    pub(crate) late: u64,
    pub(crate) wrong: u64,
    /// The number of times that its breaker opened.
    pub(crate) opened: u64,
    pub(crate) requests_per_second: f64,
    pub(crate) bytes_per_second: f64,
    pub(crate) lane_fill: Option<f64>,
}

/// The figures of a cryptoserver's pages.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct ServerRow {
    pub(crate) metrics: Option<SocketAddr>,
    /// The reason why nothing is known of it.
    pub(crate) error: Option<String>,
    /// The reason why it does not serve.
    pub(crate) unwell: Option<String>,
    pub(crate) connections: u64,
    pub(crate) connections_refused: u64,
    pub(crate) clients: Vec<Client>,
}

/// Requests of one client of a cryptoserver.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Client {
    pub(crate) client: String,
    pub(crate) operation: String,
    pub(crate) result: String,
    pub(crate) requests: u64,
    pub(crate) requests_per_second: f64,
}

impl Row {
    /// Builds the row of one process in a file. `before` is the reading `seconds` ago.
    pub(super) fn of_process(
        user: u32,
        figures: &Figures,
        process: &ProcessFigures,
        before: Option<&Figures>,
        seconds: f64,
    ) -> Self {
        let rate = Rate(seconds);
        let same =
            |one: &&ProcessFigures| (one.process, one.began) == (process.process, process.began);
        let known = before.and_then(|it| it.processes.iter().find(same));
        let is_new = known.is_none();
        let operations: Vec<_> = process
            .operations
            .iter()
            .map(|one| {
                let same = |other: &&oarlock_engine::costs::published::OperationFigures| {
                    (other.name, other.direction) == (one.name, one.direction)
                };
                let known = known.and_then(|it| it.operations.iter().find(same));
                let (requests, bytes) = known.map_or((0, 0), |it| (it.requests, it.bytes));
                let rate = |now, before| if is_new { 0.0 } else { rate.of(now, before) };
                Operation {
                    operation: one.name,
                    direction: one.direction.name(),
                    requests: one.requests,
                    bytes: one.bytes,
                    requests_per_second: rate(one.requests, requests),
                    bytes_per_second: rate(one.bytes, bytes),
                }
            })
            .collect();
        // The sum of nothing is 0 here; `sum` returns -0.
        let sum = |of: fn(&Operation) -> f64| operations.iter().map(of).fold(0.0, |a, b| a + b);
        let mut row = Self {
            // Numbers of processes differ within a namespace only. Rows of different users stay apart.
            key: format!("{user} {:x} {}", figures.namespace, process.process),
            process: Some(process.process),
            user: Some(user),
            program: figures.program.clone(),
            requests_per_second: sum(|one| one.requests_per_second),
            bytes_per_second: sum(|one| one.bytes_per_second),
            operations,
            ..Self::default()
        };
        // Figures that all processes of the file share go into the row of the first.
        if figures.processes.first() == Some(process) {
            row.add_shared(figures, before, rate);
        }
        row
    }

    /// Adds the figures of another file about the same process.
    pub(super) fn absorb(&mut self, other: Self) {
        self.requests_per_second += other.requests_per_second;
        self.bytes_per_second += other.bytes_per_second;
        self.refused_per_second += other.refused_per_second;
        for (sum, more) in [
            (&mut self.waiting, other.waiting),
            (&mut self.in_flight, other.in_flight),
            (&mut self.refused, other.refused),
            (&mut self.faults, other.faults),
        ] {
            *sum = sum.saturating_add(more);
        }
        self.lane_fill = self.lane_fill.or(other.lane_fill);
        self.server = self.server.take().or(other.server);
        for more in other.operations {
            let same = |one: &&mut Operation| {
                (one.operation, one.direction) == (more.operation, more.direction)
            };
            match self.operations.iter_mut().find(same) {
                None => self.operations.push(more),
                Some(one) => {
                    one.requests = one.requests.saturating_add(more.requests);
                    one.bytes = one.bytes.saturating_add(more.bytes);
                    one.requests_per_second += more.requests_per_second;
                    one.bytes_per_second += more.bytes_per_second;
                }
            }
        }
        let room = DEVICES_MAX.saturating_sub(self.devices.len());
        self.devices.extend(other.devices.into_iter().take(room));
    }

    fn add_shared(&mut self, figures: &Figures, before: Option<&Figures>, rate: Rate) {
        self.waiting = figures.public_key.waiting as u64;
        self.in_flight = figures.in_flight;
        self.refused = figures.refused;
        self.refused_per_second = before.map_or(0.0, |it| rate.of(self.refused, it.refused));
        let now = figures.public_key;
        let then = before.map(|it| it.public_key).unwrap_or_default();
        self.faults = now.faults;
        self.abandoned = figures.abandoned;
        self.lane_fill = fill((now.in_groups, now.groups), (then.in_groups, then.groups));
        self.devices = figures
            .devices
            .iter()
            .map(|device| {
                let same = |other: &&DeviceFigures| other.name == device.name;
                Device::of(
                    device,
                    before.and_then(|it| it.devices.iter().find(same)),
                    rate,
                )
            })
            .collect();
    }

    /// Adds the figures of a cryptoserver's pages. `before` is the reading `seconds` ago.
    pub(super) fn add_page(
        &mut self,
        page: &PageFigures,
        before: Option<&PageFigures>,
        seconds: f64,
    ) {
        let rate = Rate(seconds);
        // A page has a line for each key.
        let sums = |page: &PageFigures| {
            let mut sums = BTreeMap::<_, u64>::new();
            for one in &page.requests {
                let line = (one.client.clone(), one.operation.clone(), one.code.clone());
                let sum = sums.entry(line).or_default();
                *sum = sum.saturating_add(one.count);
            }
            sums
        };
        let then = before.map(sums);
        let clients = sums(page).into_iter().map(|(line, requests)| {
            let known = then
                .as_ref()
                .map(|then| then.get(&line).copied().unwrap_or(0));
            let (client, operation, result) = line;
            Client {
                client,
                operation,
                result,
                requests,
                requests_per_second: known.map_or(0.0, |known| rate.of(requests, known)),
            }
        });
        let clients: Vec<_> = clients.collect();
        self.requests_per_second += clients.iter().map(|it| it.requests_per_second).sum::<f64>();
        self.waiting += page.waiting;
        self.in_flight += page.unanswered;
        let mut all = ((0, 0), (0, 0));
        for (name, device) in &page.devices {
            let known = before.and_then(|it| it.devices.get(name));
            let then = known.map_or((0, 0), |it| (it.in_batches, it.batches));
            let now = (device.in_batches, device.batches);
            let add = |to: (u64, u64), more: (u64, u64)| {
                (to.0.saturating_add(more.0), to.1.saturating_add(more.1))
            };
            all = (add(all.0, now), add(all.1, then));
            self.devices.push(Device {
                name: name.clone(),
                health: if device.is_up { "up" } else { "down" },
                in_flight: device.in_work,
                done: device.served,
                failed: device.failures,
                stalled: 0,
                late: 0,
                wrong: 0,
                opened: 0,
                requests_per_second: known.map_or(0.0, |it| rate.of(device.served, it.served)),
                bytes_per_second: 0.0,
                lane_fill: fill(now, then),
            });
        }
        self.lane_fill = self.lane_fill.or(fill(all.0, all.1));
        let server = self.server.get_or_insert_default();
        server.unwell.clone_from(&page.unwell);
        server.connections = page.connections;
        server.connections_refused = page.refused;
        server.clients = clients;
    }

    /// Returns the health in a word or two, and a judgement of it.
    pub(super) fn health(&self) -> (String, Health) {
        if let Some(server) = &self.server {
            if server.error.is_some() {
                return ("no page".into(), Health::Doubtful);
            }
            if server.unwell.is_some() {
                return ("unwell".into(), Health::Bad);
            }
        }
        if self.faults > 0 {
            return (format!("{} wrong", self.faults), Health::Bad);
        }
        let count = |health: Health| {
            let devices = self.devices.iter();
            devices.filter(|one| one.judge() == health).count()
        };
        match (count(Health::Bad), count(Health::Doubtful)) {
            (0, 0) => ("ok".into(), Health::Good),
            (0, trial) => (format!("{trial} trial"), Health::Doubtful),
            (bad, _) => (format!("{bad} down"), Health::Bad),
        }
    }
}

/// The judgement of a health.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Good,
    Doubtful,
    Bad,
    Gone,
}

impl Device {
    fn of(device: &DeviceFigures, before: Option<&DeviceFigures>, rate: Rate) -> Self {
        let rate_of = |now, of: fn(&DeviceFigures) -> u64| {
            before.map_or(0.0, |before| rate.of(now, of(before)))
        };
        Self {
            name: device.name.clone(),
            health: match device.state {
                DeviceState::Closed => "ok",
                DeviceState::Open => "open",
                DeviceState::HalfOpen => "half-open",
                _ => "left",
            },
            in_flight: device.in_flight,
            done: device.counts.done,
            failed: device.counts.failed,
            stalled: device.counts.stalled,
            late: device.counts.late,
            wrong: device.counts.breaches,
            opened: device.counts.opened,
            requests_per_second: rate_of(device.counts.done, |it| it.counts.done),
            bytes_per_second: rate_of(device.bytes, |it| it.bytes),
            lane_fill: None,
        }
    }

    pub(super) fn judge(&self) -> Health {
        match self.health {
            "ok" | "up" => Health::Good,
            "half-open" => Health::Doubtful,
            "left" => Health::Gone,
            _ => Health::Bad,
        }
    }
}

/// Rates of counts over a number of seconds.
#[derive(Clone, Copy)]
struct Rate(f64);

impl Rate {
    /// Returns the growth per second. A count that is lower than before has restarted from zero.
    fn of(self, now: u64, before: u64) -> f64 {
        let more = now.checked_sub(before).unwrap_or(now);
        if self.0 > 0.0 {
            more as f64 / self.0
        } else {
            0.0
        }
    }
}

/// Returns the mean number of requests in a group since `then`. Each pair is requests and groups.
fn fill(now: (u64, u64), then: (u64, u64)) -> Option<f64> {
    let groups = now.1.checked_sub(then.1).filter(|groups| *groups > 0)?;
    Some(now.0.saturating_sub(then.0) as f64 / groups as f64)
}

/// Returns how many threads have the name of the pool's threads, and how many were examined: at most `most`.
pub(super) fn pool_threads(process: u32, most: usize) -> (usize, usize) {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"));
    let tasks = tasks.into_iter().flatten().flatten();
    let tasks: Vec<_> = tasks.take(most.min(TASKS_MAX)).collect();
    let is_ours = |task: &&std::fs::DirEntry| {
        let name = std::fs::read(task.path().join("comm"));
        // The main thread of this command has that name too.
        name.is_ok_and(|name| name == b"oarlock\n")
            && task.file_name().to_str() != Some(&*process.to_string())
    };
    (tasks.iter().filter(is_ours).count(), tasks.len())
}

const TASKS_MAX: usize = 1024;
/// The most devices of a process: four times what a file has.
const DEVICES_MAX: usize = 64;
