//! Readings: files of figures, and pages of cryptoservers.

use std::collections::hash_map::{Entry, HashMap};
use std::collections::{BTreeMap, BTreeSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::PathBuf;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use oarlock_engine::costs::published::{self, Figures, Found};
use oarlock_net::client::PageFigures;
use serde::Serialize;
use tokio::task::JoinSet;

use super::row::{Row, ServerRow, pool_threads};
use crate::failure::printable;

/// The findings, with rates since the previous reading.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct View {
    pub(super) unix_ms: u128,
    /// The interval of the rates; 0 in the first reading.
    pub(super) interval_seconds: f64,
    pub(crate) processes: Vec<Row>,
    /// Files without usable figures.
    pub(super) ignored: Vec<Ignored>,
}

#[derive(Clone, Debug, Serialize)]
pub(super) struct Ignored {
    pub(super) path: String,
    pub(super) why: String,
}

/// Takes readings and computes rates between them.
pub(super) struct Sampler {
    /// The servers that the user named, by name.
    servers: Vec<(String, SocketAddr)>,
    before: Option<(Instant, BTreeMap<PathBuf, Figures>)>,
    pages: BTreeMap<SocketAddr, Page>,
    fetches: JoinSet<(SocketAddr, Result<PageFigures, String>)>,
    under_way: BTreeSet<SocketAddr>,
}

/// The last two pages of a server.
struct Page {
    now: Result<PageFigures, String>,
    at: Instant,
    before: Option<(PageFigures, Instant)>,
}

impl Sampler {
    pub(super) fn new(servers: Vec<(String, SocketAddr)>) -> Self {
        Self {
            servers,
            before: None,
            pages: BTreeMap::new(),
            fetches: JoinSet::new(),
            under_way: BTreeSet::new(),
        }
    }

    /// Takes a reading, and waits for all requested pages, 2 seconds at most.
    pub(super) async fn sample_all(&mut self) -> View {
        let found = published::running();
        self.ask(&found);
        while let Some(done) = self.fetches.join_next().await {
            self.take(done);
        }
        self.view(found)
    }

    /// Takes a reading with the pages that have arrived, and requests the next ones.
    pub(super) fn sample(&mut self) -> View {
        let found = published::running();
        while let Some(done) = self.fetches.try_join_next() {
            self.take(done);
        }
        self.ask(&found);
        self.view(found)
    }

    /// Requests the pages of servers, one at a time from each.
    fn ask(&mut self, found: &[Found]) {
        let of_processes = found.iter().filter_map(|one| {
            let figures = one.figures.as_ref().ok()?;
            reachable(figures.metrics?)
        });
        let named = self.servers.iter().map(|(_, address)| *address);
        let mut addresses = BTreeSet::new();
        // Servers that the user named come first, then those of this user's processes: others cannot displace them.
        for address in named.chain(of_processes) {
            if addresses.len() < SERVERS_MAX {
                addresses.insert(address);
            }
        }
        self.pages.retain(|address, _| addresses.contains(address));
        for address in addresses {
            if self.under_way.insert(address) {
                self.fetches
                    .spawn(async move { (address, PageFigures::fetch(address).await) });
            }
        }
    }

    fn take(
        &mut self,
        done: Result<(SocketAddr, Result<PageFigures, String>), tokio::task::JoinError>,
    ) {
        let Ok((address, now)) = done else { return };
        self.under_way.remove(&address);
        let before = match self.pages.remove(&address) {
            Some(Page {
                now: Ok(page), at, ..
            }) => Some((page, at)),
            _ => None,
        };
        let at = Instant::now();
        self.pages.insert(address, Page { now, at, before });
    }

    fn view(&mut self, found: Vec<Found>) -> View {
        let now = Instant::now();
        let before = self.before.take();
        let seconds = before
            .as_ref()
            .map_or(0.0, |(at, _)| (now - *at).as_secs_f64());
        let mut processes = Vec::new();
        let mut ignored = Vec::new();
        let mut figures_now = BTreeMap::new();
        for one in found {
            let figures = match one.figures {
                Ok(figures) => figures,
                Err(why) => {
                    ignored.push(Ignored {
                        path: printable(&one.path.display().to_string()),
                        why: printable(&why),
                    });
                    continue;
                }
            };
            let known = before
                .as_ref()
                .and_then(|(_, before)| before.get(&one.path));
            for process in &figures.processes {
                let mut row = Row::of_process(one.user, &figures, process, known, seconds);
                if let Some(address) = figures.metrics
                    && process.process == figures.process
                {
                    self.add_page(&mut row, address);
                }
                processes.push(row);
            }
            figures_now.insert(one.path, figures);
        }
        for (name, address) in &self.servers {
            let mut row = Row {
                key: name.clone(),
                program: printable(name),
                ..Row::default()
            };
            self.add_page(&mut row, *address);
            processes.push(row);
        }
        let more = ignored.len().saturating_sub(IGNORED_MAX);
        if more > 0 {
            ignored.truncate(IGNORED_MAX);
            ignored.push(Ignored {
                path: "others".into(),
                why: format!("{more} more are left out here"),
            });
        }
        self.before = Some((now, figures_now));
        let unix = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        View {
            unix_ms: unix.as_millis(),
            interval_seconds: seconds,
            processes: with_threads(merged(processes)),
            ignored,
        }
    }

    fn add_page(&self, row: &mut Row, address: SocketAddr) {
        let mut server = ServerRow {
            metrics: Some(address),
            ..ServerRow::default()
        };
        let page = reachable(address).or_else(|| {
            let is_named = self.servers.iter().any(|(_, named)| *named == address);
            is_named.then_some(address)
        });
        match page.map(|address| self.pages.get(&address)) {
            None => {
                server.error = Some(format!(
                    "its page is at {address}, not on this machine alone: `--metrics {address}` reads it"
                ));
            }
            Some(None) => server.error = Some("no answer yet".into()),
            Some(Some(page)) => match &page.now {
                Err(why) => server.error = Some(printable(why)),
                Ok(figures) => {
                    row.server = Some(server);
                    let before = page.before.as_ref();
                    let seconds = before.map_or(0.0, |(_, at)| (page.at - *at).as_secs_f64());
                    return row.add_page(figures, before.map(|(page, _)| page), seconds);
                }
            },
        }
        row.server = Some(server);
    }
}

/// Returns the address to ask if a process may send us there, which is to this machine alone: anybody can write any address
/// into a file.
fn reachable(address: SocketAddr) -> Option<SocketAddr> {
    let ip = match address.ip() {
        IpAddr::V4(Ipv4Addr::UNSPECIFIED) => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(Ipv6Addr::UNSPECIFIED) => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    ip.is_loopback()
        .then(|| SocketAddr::new(ip, address.port()))
}

/// Merges the rows of one process. A process that was forked from one with a file and then created its own has two. Only
/// files of one user are merged: anybody can write any process number into a file.
fn merged(rows: Vec<Row>) -> Vec<Row> {
    let mut merged: Vec<Row> = Vec::new();
    let mut places = HashMap::new();
    for row in rows {
        match places.entry(row.key.clone()) {
            Entry::Vacant(place) => {
                place.insert(merged.len());
                merged.push(row);
            }
            Entry::Occupied(place) => merged[*place.get()].absorb(row),
        }
    }
    merged
}

/// Counts the threads of each process once, up to [`TASKS_MAX`] threads for each user.
fn with_threads(mut rows: Vec<Row>) -> Vec<Row> {
    let mut left = HashMap::new();
    for row in &mut rows {
        if let (Some(process), Some(user)) = (row.process, row.user) {
            let left = left.entry(user).or_insert(TASKS_MAX);
            let (threads, tasks) = pool_threads(process, *left);
            *left -= tasks;
            row.pool_threads = (tasks > 0).then_some(threads);
        }
    }
    rows
}

const SERVERS_MAX: usize = 64;
const IGNORED_MAX: usize = 64;
/// The most tasks of one user's processes together.
const TASKS_MAX: usize = 16 << 10;
