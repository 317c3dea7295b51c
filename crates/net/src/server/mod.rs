//! The server: assembled from its configuration, run, reloaded and drained.
//!
//! ```text
//! listener   accepts connections, with TLS
//!    ↓
//! service    turns messages into requests (receive waits for room, operation and access check
//!    ↓       them), and answers into replies
//! dispatch   passes requests to the workers of devices
//!
//! manage     has keys made and changed (keys/change)
//! observe    counts events (page serves the metrics) and writes the audit
//! ```

pub mod access;
mod accounts;
mod allowance;
mod audit;
mod calls;
pub mod config;
mod devices;
pub mod dispatch;
pub mod items;
pub mod key;
pub mod keys;
mod list;
pub mod listener;
mod log_limit;
mod manage;
mod observe;
pub mod operation;
mod outbox;
mod page;
mod receive;
pub mod secret;
mod service;
pub mod signature;

use std::fmt;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::{Duration, Instant, SystemTime};

use tokio::sync::watch;
use tokio::task::{JoinHandle, spawn_blocking, yield_now};
use tokio::time::{MissedTickBehavior, interval, sleep, timeout};

use self::access::Access;
use self::accounts::{Accounts, ReplyBounds};
use self::calls::Bounded;
use self::config::{Config, Limits};
use self::devices::Devices;
use self::dispatch::{Bounds, DeviceWorkers, Dispatcher};
use self::keys::{KeyStore, KeyWatch};
use self::listener::{Counts, Listener, Standing};
use self::manage::Manager;
use self::observe::Observer;
use self::page::Pages;
use self::service::{Policy, Service, Shared};
use crate::proto;
use crate::proto::cryptoserver_server::CryptoserverServer;
use crate::tls::{ServerTls, TlsFiles};

/// A running server. It runs in the tokio runtime it was started in.
pub struct Server {
    shared: Arc<Shared>,
    keys: Arc<KeyStore>,
    devices: Devices,
    tls: Option<Arc<ServerTls>>,
    standing: Arc<Standing>,
    started_with: Config,
    addresses: Vec<SocketAddr>,
    metrics: Option<SocketAddr>,
    /// `None` after the server was stopped.
    pages: Mutex<Option<Pages>>,
    close: watch::Sender<bool>,
    /// `None` after the server was stopped.
    serving: Mutex<Option<JoinHandle<Result<(), tonic::transport::Error>>>>,
    tasks: Vec<JoinHandle<()>>,
    _watch: KeyWatch,
}

/// The reason why a server cannot start, or cannot use a new configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerError(String);

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ServerError {}

fn failed(error: impl fmt::Display) -> ServerError {
    ServerError(error.to_string())
}

/// The result of [`check`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checked {
    /// The name and the number of workers of each device.
    pub devices: Vec<(String, usize)>,
    /// The IDs of the keys.
    pub keys: Vec<String>,
}

/// Opens everything a configuration names except its listening addresses, and closes it again.
///
/// # Errors
/// The first fault of the configuration.
pub fn check(config: &Config) -> Result<Checked, ServerError> {
    let devices = Devices::open(&config.devices).map_err(ServerError)?;
    let keys = KeyStore::load(&config.keys, &|name| devices.keys_of(name)).map_err(failed)?;
    tls_of(config)?;
    Ok(Checked {
        devices: config
            .devices
            .iter()
            .map(|entry| (entry.name.clone(), entry.workers))
            .collect(),
        keys: keys.current().iter().map(|(id, _)| id.to_owned()).collect(),
    })
}

impl Server {
    /// Opens devices, keys and addresses, and serves. Refusals cost less in a runtime whose
    /// [`on_thread_park`](tokio::runtime::Builder::on_thread_park) calls [`listener::moderate`].
    ///
    /// # Errors
    /// The first thing in the configuration that cannot be opened.
    pub async fn start(config: Config) -> Result<Self, ServerError> {
        let devices = Devices::open(&config.devices).map_err(ServerError)?;
        let drivers = devices.drivers();
        Self::assemble(config, devices, drivers).await
    }

    /// Starts a server with these devices in place of those in the configuration: for drivers without a `kind`, and for
    /// tests.
    ///
    /// # Errors
    /// The same as for [`start`](Self::start). A key that a device of the configuration holds is an error, too.
    pub async fn start_with(
        config: Config,
        drivers: Vec<DeviceWorkers>,
    ) -> Result<Self, ServerError> {
        Self::assemble(config, Devices::default(), drivers).await
    }

    async fn assemble(
        config: Config,
        devices: Devices,
        drivers: Vec<DeviceWorkers>,
    ) -> Result<Self, ServerError> {
        let tokens = |name: &str| devices.keys_of(name);
        let keys = Arc::new(KeyStore::load(&config.keys, &tokens).map_err(failed)?);
        let tls = tls_of(&config)?;
        let listener = Listener::bind(&config.listen).map_err(failed)?;
        let addresses = listener.addresses();
        let dispatcher = Dispatcher::start(drivers, bounds(&config.limits))
            .map_err(|error| ServerError(format!("no thread for the devices: {error}")))?;
        let observer = Observer::new(config.audit.as_ref()).map_err(ServerError)?;
        let (close, closing) = watch::channel(false);
        let store = Arc::clone(&keys);
        let shared = Arc::new(Shared {
            dispatcher,
            policy: RwLock::new(Arc::new(policy(&config))),
            keys: Box::new(move || store.current()),
            manager: Manager::new(Arc::clone(&keys)),
            observer,
            random: rustls::crypto::aws_lc_rs::default_provider().secure_random,
            accounts: Accounts::new(
                reply_bounds(&config.limits),
                config.limits.message_bytes_max,
            ),
            closing: closing.clone(),
        });
        let mut stop = closing.clone();
        let incoming = listener.incoming(tls.clone(), &config.limits, async move {
            let _ = stop.wait_for(|is_closing| *is_closing).await;
        });
        let (counts, standing) = (incoming.counts(), incoming.standing());
        let (health, health_service) = tonic_health::server::health_reporter();
        health.set_serving::<CryptoserverServer<Service>>().await;
        let reflection = tonic_reflection::server::Builder::configure()
            .register_encoded_file_descriptor_set(proto::DESCRIPTORS)
            .register_encoded_file_descriptor_set(tonic_health::pb::FILE_DESCRIPTOR_SET)
            .build_v1()
            .map_err(failed)?;
        let service = CryptoserverServer::new(Service(Arc::clone(&shared)))
            .max_decoding_message_size(config.limits.message_bytes_max);
        let router = tonic::transport::Server::builder()
            .initial_stream_window_size(WINDOW_BYTES)
            .initial_connection_window_size(WINDOW_BYTES)
            .max_concurrent_streams(STREAMS_MAX)
            .http2_keepalive_interval(Some(KEEP_ALIVE))
            .http2_keepalive_timeout(Some(KEEP_ALIVE_TIMEOUT))
            .max_connection_age(config.limits.connection_age)
            .layer(Bounded {
                message_bytes_max: config.limits.message_bytes_max,
            })
            .add_service(service)
            .add_service(health_service.max_decoding_message_size(SHORT_BYTES_MAX))
            .add_service(reflection.max_decoding_message_size(SHORT_BYTES_MAX));
        let mut stop = closing.clone();
        let serving = tokio::spawn(router.serve_with_incoming_shutdown(incoming, async move {
            let _ = stop.wait_for(|is_closing| *is_closing).await;
        }));
        let tasks = vec![
            tokio::spawn(enforce_deadlines(Arc::clone(&shared))),
            tokio::spawn(spin_between_requests(Arc::clone(&shared))),
            tokio::spawn(tell_health(Arc::clone(&shared), health, closing)),
            tokio::spawn(end_expired(Arc::clone(&standing))),
            tokio::spawn(share_threads(Arc::clone(&counts))),
            tokio::spawn(give_back_memory(Arc::clone(&counts))),
        ];
        let pages = match config.metrics {
            None => None,
            Some(address) => {
                let pages = Pages::serve(address, Arc::clone(&shared), counts).await;
                Some(pages.map_err(|error| ServerError(format!("metrics: {address}: {error}")))?)
            }
        };
        keys.tidy();
        let watch = keys.watch();
        Ok(Self {
            shared,
            keys,
            devices,
            tls,
            standing,
            started_with: config,
            addresses,
            metrics: pages.as_ref().map(|pages| pages.address),
            pages: Mutex::new(pages),
            close,
            serving: Mutex::new(Some(serving)),
            tasks,
            _watch: watch,
        })
    }

    /// Returns the addresses it listens on, with the ports the system chose.
    pub fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Returns the address of the metrics page, if there is one.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.metrics
    }

    /// Replaces the keys, clients, certificates and request limits (`queue_max`, `per_client_max`, `per_stream_max`,
    /// `timeout_ms_max`, `keys_max`, `key_changes_per_minute`) with those of `config`. Devices, addresses, threads and the other limits stay; a warning in the log
    /// names those that differ. Open streams use the new settings from their next message on, except that `per_stream_max`
    /// applies to new streams. Connections whose certificates the new TLS files withdraw end. If the audit file was moved
    /// away, the audit continues in a new one. Blocks: it reads files and may ask tokens.
    ///
    /// # Errors
    /// The first fault; nothing changes then.
    pub fn reload(&self, config: &Config) -> Result<(), ServerError> {
        // Everything is read first and put into use only when nothing can fail any more.
        let files = tls_files(config);
        let fresh_tls = files.map(|files| files.server_side()).transpose();
        let fresh_tls = fresh_tls.map_err(failed)?;
        let tokens = |name: &str| self.devices.keys_of(name);
        let fresh_keys = self.keys.read_again(&config.keys, &tokens);
        self.keys.take_over(fresh_keys.map_err(failed)?);
        if let (Some(tls), Some(fresh)) = (&self.tls, fresh_tls) {
            tls.replace(fresh);
            match self.standing.review(|chain| tls.withdraws(chain)) {
                0 => {}
                count => {
                    tracing::info!(count, "ended connections: their certificates are withdrawn")
                }
            }
        }
        let fresh = Arc::new(policy(config));
        *self
            .shared
            .policy
            .write()
            .unwrap_or_else(PoisonError::into_inner) = fresh;
        self.shared.dispatcher.set_bounds(bounds(&config.limits));
        self.shared.observer.reopen();
        for what in self.started_with.differences(config) {
            tracing::warn!(what, "changed in the configuration: needs a restart");
        }
        Ok(())
    }

    /// Stops admitting requests, answers those under way, and ends after `drain_ms` at the latest. Returns the number of
    /// requests left unanswered.
    pub async fn stop(&self) -> usize {
        let deadline = Instant::now() + self.started_with.limits.drain;
        let _ = self.close.send(true);
        while self.shared.dispatcher.unanswered() > 0 && Instant::now() < deadline {
            sleep(Duration::from_millis(2)).await;
        }
        let left = self.shared.dispatcher.unanswered();
        self.shared.dispatcher.end();
        // Replies still have to be sent to clients that read them.
        let rest = deadline.saturating_duration_since(Instant::now());
        let serving = self.serving.lock().map(|mut serving| serving.take());
        if let Ok(Some(mut serving)) = serving
            && timeout(rest.max(SEND_MIN), &mut serving).await.is_err()
        {
            serving.abort();
        }
        self.tasks.iter().for_each(JoinHandle::abort);
        if let Ok(mut pages) = self.pages.lock() {
            *pages = None;
        }
        self.shared.observer.flush();
        left
    }
}

/// Runs a server from a configuration file until SIGTERM or SIGINT. SIGHUP reloads the file. `change` applies the options of
/// the command line to it. Calls `started` once the server serves.
///
/// # Errors
/// The reason why the server cannot start.
pub fn serve(
    path: &Path,
    change: impl Fn(Config) -> Result<Config, String> + Send + Sync + 'static,
    started: impl FnOnce(&Server),
) -> Result<(), ServerError> {
    let path = path.to_owned();
    let read = Arc::new(move || {
        let config = Config::read(&path).map_err(failed)?;
        change(config).map_err(ServerError)
    });
    let config = read()?;
    listener::take_all();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(config.io_threads)
        .thread_name("oarlock-io")
        .on_thread_park(listener::moderate)
        .enable_all()
        .build()
        .map_err(|error| ServerError(format!("no runtime: {error}")))?;
    let served = runtime.block_on(async {
        use tokio::signal::unix::{SignalKind, signal};
        let signal = |kind| signal(kind).map_err(|error| ServerError(format!("signals: {error}")));
        let mut terminate = signal(SignalKind::terminate())?;
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        let server = Arc::new(Server::start(config).await?);
        started(&server);
        let start_reload = || {
            let (server, read) = (Arc::clone(&server), Arc::clone(&read));
            spawn_blocking(move || server.reload(&read()?))
        };
        // A file or a token may delay a reload, and signals must still be handled.
        let (mut reload, mut is_wanted) = (None, false);
        loop {
            if is_wanted && reload.is_none() {
                (reload, is_wanted) = (Some(start_reload()), false);
            }
            tokio::select! {
                _ = terminate.recv() => break,
                _ = interrupt.recv() => break,
                _ = hang_up.recv() => is_wanted = true,
                done = ended(&mut reload) => {
                    reload = None;
                    match done {
                        Ok(()) => tracing::info!("reloaded"),
                        Err(error) => tracing::error!(%error, "not reloaded: nothing has changed"),
                    }
                }
            }
        }
        tracing::info!("shutting down");
        match server.stop().await {
            0 => {}
            left => tracing::warn!(left, "requests were given up: drain_ms has passed"),
        }
        Ok(())
    });
    // A reload that is still waiting ends with the process.
    runtime.shutdown_timeout(REST_MAX);
    served
}

/// Waits for the end of a reload; stays pending if there is none.
async fn ended(
    reload: &mut Option<JoinHandle<Result<(), ServerError>>>,
) -> Result<(), ServerError> {
    match reload {
        Some(reload) => reload.await.unwrap_or_else(|error| Err(failed(error))),
        None => std::future::pending().await,
    }
}

async fn enforce_deadlines(shared: Arc<Shared>) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        shared.dispatcher.enforce_deadlines();
    }
}

async fn spin_between_requests(shared: Arc<Shared>) {
    shared.dispatcher.spin_between_requests().await
}

/// Makes clients share the threads while tasks have to wait for them.
async fn share_threads(counts: Arc<Counts>) {
    let mut ticks = interval(LOOK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut waited_last: Option<Instant> = None;
    let mut shared_last = Instant::now();
    loop {
        ticks.tick().await;
        let began = Instant::now();
        yield_now().await;
        let had_to_wait = began.elapsed() > WAIT_MAX;
        let is_new = had_to_wait && waited_last.is_none();
        if had_to_wait {
            waited_last = Some(began);
        }
        waited_last = waited_last.filter(|last| last.elapsed() < SHARED_FOR);
        if is_new || shared_last.elapsed() >= SHARE_EVERY {
            shared_last = Instant::now();
            counts.share(waited_last.is_some());
        }
    }
}

/// Ends connections when their certificates expire.
async fn end_expired(standing: Arc<Standing>) {
    let mut ticks = interval(LOOK_AT_TIME_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        match standing.expire(SystemTime::now()) {
            0 => {}
            count => tracing::info!(count, "ended connections: their certificates have expired"),
        }
    }
}

/// Returns the memory of ended connections to the system.
async fn give_back_memory(counts: Arc<Counts>) {
    let mut ended = 0;
    let mut ticks = interval(GIVE_BACK_EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if counts.ended() != ended {
            ended = counts.ended();
            // It fails only while the runtime shuts down.
            let _ = spawn_blocking(oarlock_threads::heap::give_back).await;
        }
    }
}

/// Reports NOT_SERVING while the server is unwell, and from shutdown on.
async fn tell_health(
    shared: Arc<Shared>,
    health: tonic_health::server::HealthReporter,
    mut closing: watch::Receiver<bool>,
) {
    let mut was_well = true;
    loop {
        let is_closing = timeout(HEALTH_EVERY, closing.wait_for(|is_closing| *is_closing));
        let is_closing = is_closing.await.is_ok();
        let is_well = shared.why_unwell().is_none();
        if is_well && !was_well {
            health.set_serving::<CryptoserverServer<Service>>().await;
        } else if was_well && !is_well {
            health
                .set_not_serving::<CryptoserverServer<Service>>()
                .await;
        }
        was_well = is_well;
        shared.accounts.sweep(&shared.dispatcher);
        if is_closing {
            return;
        }
    }
}

fn tls_files(config: &Config) -> Option<TlsFiles> {
    config.tls.as_ref().map(|files| TlsFiles {
        certificate: files.certificate.clone(),
        key: files.key.clone(),
        roots: files.client_ca.clone(),
        revoked: files.client_crl.clone(),
    })
}

fn tls_of(config: &Config) -> Result<Option<Arc<ServerTls>>, ServerError> {
    let files = tls_files(config);
    let tls = files.map(|files| ServerTls::load(&files).map(Arc::new));
    tls.transpose().map_err(failed)
}

fn policy(config: &Config) -> Policy {
    Policy {
        access: Access::new(&config.clients),
        timeout_max: config.limits.timeout_max,
        per_stream_max: config.limits.per_stream_max,
        keys_max: config.limits.keys_max,
        key_changes_per_minute: config.limits.key_changes_per_minute,
    }
}

fn bounds(limits: &Limits) -> Bounds {
    Bounds {
        waiting_max: limits.queue_max,
        per_client_max: limits.per_client_max,
        hang: HANG.min(limits.timeout_max / 2),
    }
}

fn reply_bounds(limits: &Limits) -> ReplyBounds {
    ReplyBounds::of(
        limits.per_stream_max,
        limits.per_client_max,
        limits.queue_max,
    )
}

impl Config {
    /// Names the parts of `other` that a server running with this configuration cannot apply.
    fn differences(&self, other: &Self) -> Vec<&'static str> {
        // `reload` applies these, so they do not count.
        let fixed = |limits: &Limits| Limits {
            queue_max: 0,
            per_client_max: 0,
            per_stream_max: 0,
            timeout_max: Duration::ZERO,
            keys_max: 0,
            key_changes_per_minute: 0,
            ..limits.clone()
        };
        let differs = [
            ("listen", self.listen != other.listen),
            ("io_threads", self.io_threads != other.io_threads),
            (
                "tls or plaintext",
                self.tls.is_some() != other.tls.is_some(),
            ),
            ("device", self.devices != other.devices),
            (
                "limits of connections, messages or draining",
                fixed(&self.limits) != fixed(&other.limits),
            ),
            ("metrics", self.metrics != other.metrics),
            ("audit", self.audit != other.audit),
        ];
        let differs = differs.into_iter().filter(|(_, differs)| *differs);
        differs.map(|(what, _)| what).collect()
    }
}

/// The precision of deadlines.
const LOOK_EVERY: Duration = Duration::from_millis(10);
const HEALTH_EVERY: Duration = Duration::from_secs(1);
/// A task that waits longer than this for its turn has too many others before it.
const WAIT_MAX: Duration = Duration::from_millis(1);
/// The time for which clients share the threads after such a wait. A shorter one would end between two bursts of a flood.
const SHARED_FOR: Duration = Duration::from_secs(10);
const SHARE_EVERY: Duration = Duration::from_millis(50);
const LOOK_AT_TIME_EVERY: Duration = Duration::from_secs(1);
/// The interval between two releases of memory; a server with many short connections loses little speed to them.
const GIVE_BACK_EVERY: Duration = Duration::from_secs(4);
/// The time after which a device that holds a batch counts as hanging; half of the longest deadline if that is shorter.
const HANG: Duration = Duration::from_secs(3);
/// The least time to send the last replies.
const SEND_MIN: Duration = Duration::from_millis(200);
/// The time to end the runtime's threads; they normally take less.
const REST_MAX: Duration = Duration::from_millis(500);
/// The most bytes that a connection may send before the server reads them.
const WINDOW_BYTES: u32 = 128 << 10;
/// The longest message to the health or the reflection service.
const SHORT_BYTES_MAX: usize = 4096;
/// The most streams of one connection.
const STREAMS_MAX: u32 = 128;
const KEEP_ALIVE: Duration = Duration::from_secs(20);
const KEEP_ALIVE_TIMEOUT: Duration = Duration::from_secs(10);
