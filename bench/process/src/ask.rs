//! Clients of servers: closed loops, or a fixed number of requests a second.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use oarlock_hostile::watch::page;
use oarlock_net::client::{CallOptions, Client, ClientError, Settings};
use oarlock_net::tls::TlsFiles;
use rustix::process::{Pid, Signal, kill_process};
use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{MissedTickBehavior, interval, sleep, sleep_until, timeout};

use crate::asks::{self, Ask, Kind};
use crate::tally::{Report, Tally};
use crate::watch;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A server, as host:port; each client connects to all of them
    #[arg(long, required = true)]
    server: Vec<String>,

    /// Folder of `oarlock pki init`; without it there is no TLS
    #[arg(long)]
    pki: Option<PathBuf>,

    /// Name of the clients' certificate there
    #[arg(long, default_value = "client")]
    client: String,

    #[arg(long, value_enum)]
    kind: Kind,

    /// Clients, each with a connection of its own
    #[arg(long, default_value_t = 1)]
    connections: usize,

    /// Closed loops on each connection
    #[arg(long, default_value_t = 1)]
    in_flight: usize,

    /// Requests that a loop sends together
    #[arg(long, default_value_t = 1)]
    batch: usize,

    /// Requests a second, in place of closed loops
    #[arg(long, conflicts_with_all = ["in_flight", "batch"])]
    per_second: Option<f64>,

    /// Seconds before anything counts
    #[arg(long, default_value_t = 0.3)]
    warm_up: f64,

    #[arg(long, default_value_t = 2.0)]
    seconds: f64,

    /// Seconds for a request, from first to last attempt
    #[arg(long, default_value_t = 10.0)]
    timeout: f64,

    /// Requests whose answers are compared; further ones only count
    #[arg(long, default_value_t = usize::MAX)]
    compared: usize,

    /// Processes of servers whose CPU time, memory and descriptors are reported
    #[arg(long)]
    pid: Vec<u32>,

    /// The metrics page of a server whose /healthz is asked for every half second
    #[arg(long)]
    health: Option<SocketAddr>,

    /// The process to kill
    #[arg(long, requires = "kill_after")]
    kill: Option<i32>,

    /// Seconds into the window at which it is killed
    #[arg(long)]
    kill_after: Option<f64>,
}

/// Runs all clients as tasks of this thread.
pub(crate) fn run(args: &Args) -> Result<Report, String> {
    let asks = asks::of(args.kind)?.into();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    runtime.block_on(ask(args, asks))
}

async fn ask(args: &Args, asks: Arc<[Ask]>) -> Result<Report, String> {
    let clients = connect(args).await?;
    let begins = Instant::now() + Duration::from_secs_f64(args.warm_up);
    let length = Duration::from_secs_f64(args.seconds);
    let run = Run {
        asks,
        tally: Arc::new(Mutex::new(Tally::of(begins, length))),
        ends: begins + length,
        left: Arc::new(AtomicUsize::new(args.compared)),
    };
    let watching = tokio::spawn(watch(args.pid.clone(), begins, length));
    let health = args.health.map(|at| tokio::spawn(health(at, run.ends)));
    if let (Some(pid), Some(after)) = (args.kill, args.kill_after) {
        let pid = Pid::from_raw(pid).ok_or("0 is no process")?;
        let at = begins + Duration::from_secs_f64(after);
        tokio::spawn(async move {
            sleep_until(at.into()).await;
            // If the process is gone already, the report shows no dent.
            let _ = kill_process(pid, Signal::KILL);
        });
    }
    match args.per_second {
        None => run.in_loops(&clients, args).await,
        Some(rate) => run.at_rate(&clients, rate).await,
    }
    let (cpu_seconds, seen) = watching.await.map_err(|error| error.to_string())??;
    let healthy = match health {
        None => None,
        Some(health) => Some(health.await.map_err(|error| error.to_string())?),
    };
    let mut tally = run.locked();
    let tally = std::mem::replace(&mut *tally, Tally::of(begins, length));
    Ok(tally.report(cpu_seconds, &seen, healthy))
}

async fn connect(args: &Args) -> Result<Vec<Client>, String> {
    let files = args.pki.as_ref().map(|folder| TlsFiles {
        certificate: folder.join(format!("{}.pem", args.client)),
        key: folder.join(format!("{}.key", args.client)),
        roots: folder.join("ca.pem"),
        revoked: None,
    });
    let tls = files.map(|files| files.client()).transpose();
    let tls = tls.map_err(|error| error.to_string())?;
    let mut clients = Vec::new();
    // A few at a time, so that no handshake waits longer than it may.
    while clients.len() < args.connections {
        let some = (args.connections - clients.len()).min(CONNECTING_MAX);
        let fresh = (0..some).map(|_| {
            Client::new(Settings {
                timeout: Duration::from_secs_f64(args.timeout),
                ..Settings::new(args.server.clone(), tls.clone())
            })
        });
        let fresh = fresh.collect::<Result<Vec<_>, _>>();
        let fresh = fresh.map_err(|error| error.message)?;
        for client in &fresh {
            let began = Instant::now();
            while client.connected() < args.server.len() {
                let ready = client.ready(CONNECT_TIMEOUT).await;
                ready.map_err(|error| error.message)?;
                if began.elapsed() > CONNECT_TIMEOUT {
                    return Err("not all servers could be reached".into());
                }
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
        clients.extend(fresh);
    }
    Ok(clients)
}

/// The part of answers to `/healthz` that are of status 200.
async fn health(metrics: SocketAddr, ends: Instant) -> f64 {
    let (mut asked, mut well) = (0, 0);
    while Instant::now() < ends {
        let page = spawn_blocking(move || page(metrics, "/healthz", PAGE_LIMIT)).await;
        asked += 1;
        well += u32::from(matches!(page, Ok(Ok((200, _)))));
        sleep(HEALTH_EVERY).await;
    }
    f64::from(well) / f64::from(asked.max(1))
}

/// CPU seconds of the window, and the memory and descriptors held in each second of it.
async fn watch(
    pids: Vec<u32>,
    begins: Instant,
    length: Duration,
) -> Result<(f64, Vec<(u64, u64)>), String> {
    // A killed process has no figures.
    let cpu = || -> f64 {
        pids.iter()
            .map(|pid| watch::cpu_seconds(*pid).unwrap_or(0.0))
            .sum()
    };
    sleep_until(begins.into()).await;
    let before = cpu();
    let mut seen = Vec::new();
    let mut next = begins;
    while next + Duration::from_secs(1) < begins + length {
        next += Duration::from_secs(1);
        sleep_until(next.into()).await;
        let held = pids.iter().map(|pid| watch::held(*pid));
        seen.push(held.fold((0, 0), |sum, held| (sum.0 + held.0, sum.1 + held.1)));
    }
    sleep_until((begins + length).into()).await;
    Ok((cpu() - before, seen))
}

#[derive(Clone)]
struct Run {
    asks: Arc<[Ask]>,
    tally: Arc<Mutex<Tally>>,
    ends: Instant,
    /// Answers that are still to be compared.
    left: Arc<AtomicUsize>,
}

impl Run {
    /// Each loop asks again once its whole batch is answered.
    async fn in_loops(&self, clients: &[Client], args: &Args) {
        let mut loops = JoinSet::new();
        for (place, client) in clients.iter().enumerate() {
            for turn in 0..args.in_flight {
                let (run, client, batch) = (self.clone(), client.clone(), args.batch);
                let mut number = (place * args.in_flight + turn) * batch;
                loops.spawn(async move {
                    while Instant::now() < run.ends {
                        if batch == 1 {
                            run.one(&client, number).await;
                        } else {
                            let batch = (0..batch).map(|at| run.one(&client, number + at));
                            join_all(batch).await;
                        }
                        number += batch;
                    }
                });
            }
        }
        while loops.join_next().await.is_some() {}
    }

    /// Sends requests one after the other, from the clients in turn. It makes up for late ticks.
    async fn at_rate(&self, clients: &[Client], rate: f64) {
        let mut under_way = JoinSet::new();
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let began = Instant::now();
        let mut sent = 0;
        while Instant::now() < self.ends {
            ticks.tick().await;
            let due = (began.elapsed().as_secs_f64() * rate) as usize;
            for number in sent..due {
                let (run, client) = (self.clone(), clients[number % clients.len()].clone());
                under_way.spawn(async move { run.one(&client, number).await });
            }
            sent = due.max(sent);
            while under_way.try_join_next().is_some() {}
        }
        while under_way.join_next().await.is_some() {}
    }

    fn compares(&self) -> bool {
        let less = |left: usize| left.checked_sub(1);
        self.left
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
            .is_ok()
    }

    async fn one(&self, client: &Client, number: usize) {
        let ask = &self.asks[number % self.asks.len()];
        let asked = Instant::now();
        let called = client.call(ask.operation.clone(), CallOptions::default());
        // Twice the client's own limit: a request that passes it was lost.
        let outcome = match timeout(LOST_AFTER, called).await {
            Ok(outcome) => outcome.map(|answer| !self.compares() || ask.is_right(&answer)),
            Err(_) => Err(ClientError {
                code: tonic::Code::Unknown,
                message: "no answer arrived".into(),
            }),
        };
        self.locked().note(asked, outcome);
    }

    fn locked(&self) -> MutexGuard<'_, Tally> {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

const HEALTH_EVERY: Duration = Duration::from_millis(500);
const PAGE_LIMIT: Duration = Duration::from_secs(9);
const CONNECTING_MAX: usize = 32;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
const TICK: Duration = Duration::from_millis(1);
const LOST_AFTER: Duration = Duration::from_secs(60);
