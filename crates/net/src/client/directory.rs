//! The directory of servers and the open connections to them.

use std::collections::{HashMap, HashSet};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::Stream;
use prost::Message as _;
use rustls_pki_types::ServerName;
use tokio::sync::{mpsc, watch};
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{Instant, sleep, timeout};
use tonic::Code;
use tonic::transport::Channel;
use tower::balance::p2c::Balance;
use tower::discover::Change;
use tower::load::{CompleteOnResponse, PendingRequests};

use super::connection::{self, Balanced, Exchange, connect, said};
use super::handshake::Witness;
use super::settings::{Address, ClientError, Settings};
use crate::proto::cryptoserver_client::CryptoserverClient;
use crate::proto::{self};

type Balancer = Balance<Changes, proto::Request>;
/// A connection that opens or closes.
type Coming = Change<Key, PendingRequests<Balanced>>;
/// A server's address and the number of a connection to it.
type Key = (Address, usize);

/// The connections, and the tasks that keep them open.
pub(super) struct Directory {
    settings: Settings,
    balance: Mutex<Balancer>,
    state: watch::Receiver<State>,
    /// The tasks of the connections. Dropping the set ends them.
    _tasks: JoinSet<()>,
}

/// The state of the connections. `changes` grows with every change.
#[derive(Clone, Default)]
struct State {
    changes: u64,
    open: HashMap<Key, CryptoserverClient<Channel>>,
    /// The fault of each server without a connection.
    faults: HashMap<String, Fault>,
    /// Names that have not been looked up yet, and addresses that have not been tried yet.
    untried: HashSet<String>,
}

#[derive(Clone)]
struct Fault {
    reason: String,
    /// Whether TLS failed: another attempt does not help unless someone changes a file.
    is_of_tls: bool,
}

impl Fault {
    fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_of_tls: false,
        }
    }
}

impl State {
    /// Whether a server was reached, its TLS failed, and no other server is left.
    fn is_hopeless(&self) -> bool {
        self.open.is_empty()
            && self.untried.is_empty()
            && self.faults.values().any(|fault| fault.is_of_tls)
    }
}

impl Directory {
    pub(super) fn start(settings: Settings) -> Result<Arc<Self>, ClientError> {
        for server in &settings.servers {
            let port = server.rsplit_once(':').map(|(_, port)| port.parse::<u16>());
            if !matches!(port, Some(Ok(_))) || server.contains('/') {
                return Err(ClientError {
                    code: Code::InvalidArgument,
                    message: format!("server {server:?}: write host:port"),
                });
            }
        }
        if let Some(name) = &settings.server_name
            && ServerName::try_from(&name[..]).is_err()
        {
            return Err(ClientError {
                code: Code::InvalidArgument,
                message: format!("server name {name:?}: neither a DNS name nor an IP address"),
            });
        }
        let (sender, changes) = mpsc::unbounded_channel();
        let (tell, state) = watch::channel(State {
            untried: settings.servers.iter().cloned().collect(),
            ..State::default()
        });
        let mut tasks = JoinSet::new();
        for server in &settings.servers {
            let keeper = Keeper {
                settings: settings.clone(),
                changes: sender.clone(),
                state: tell.clone(),
            };
            tasks.spawn(keeper.watch(server.clone()));
        }
        Ok(Arc::new(Self {
            settings,
            balance: Mutex::new(Balance::new(Changes(changes))),
            state,
            _tasks: tasks,
        }))
    }

    pub(super) fn settings(&self) -> &Settings {
        &self.settings
    }

    pub(super) fn with_balance<T>(&self, ask: impl FnOnce(&mut Balancer) -> T) -> T {
        ask(&mut self.balance.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the number of changes so far.
    pub(super) fn changes(&self) -> u64 {
        self.state.borrow().changes
    }

    /// Waits for another change, for a bounded time: the end of a server's pause is not a change.
    pub(super) async fn until_changed(&self, changes: u64) {
        let mut state = self.state.clone();
        let changed = state.wait_for(|state| state.changes > changes);
        let _ = timeout(LOOK_AGAIN, changed).await;
    }

    pub(super) async fn until_connected(&self) {
        let mut state = self.state.clone();
        if state
            .wait_for(|state| !state.open.is_empty())
            .await
            .is_err()
        {
            std::future::pending::<()>().await;
        }
    }

    /// Waits until a connection is open, or until every server was tried without success and TLS failed at one of them.
    /// Returns whether a connection is open.
    pub(super) async fn until_settled(&self) -> bool {
        let mut state = self.state.clone();
        let settled = state.wait_for(|state| !state.open.is_empty() || state.is_hopeless());
        settled.await.is_ok_and(|state| !state.open.is_empty())
    }

    pub(super) fn connected(&self) -> usize {
        self.state.borrow().open.len()
    }

    /// Returns UNAVAILABLE with the faults of the servers.
    pub(super) fn unreachable(&self) -> ClientError {
        let state = self.state.borrow();
        let mut faults: Vec<_> = state.faults.values().map(|it| it.reason.as_str()).collect();
        faults.sort_unstable();
        faults.dedup();
        let message = if faults.is_empty() {
            "no server is connected yet".to_owned()
        } else {
            format!("no server can be reached: {}", faults.join("; "))
        };
        ClientError {
            code: Code::Unavailable,
            message,
        }
    }

    pub(super) async fn list_keys(&self, any_kind: bool) -> Result<Vec<proto::Key>, ClientError> {
        self.until_connected().await;
        let clients: Vec<_> = self.state.borrow().open.values().cloned().collect();
        let mut last = self.unreachable();
        for mut client in clients {
            match list_of(&mut client, any_kind).await {
                Ok(keys) => return Ok(keys),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Sends a change of a key once, over the connection to the lowest address.
    pub(super) async fn manage_key(
        &self,
        request: proto::ManageKeyRequest,
    ) -> Result<proto::Key, ClientError> {
        self.until_connected().await;
        let first = {
            let state = self.state.borrow();
            let first = state.open.iter().min_by_key(|(key, _)| *key);
            first.map(|(_, client)| client.clone())
        };
        let mut client = first.ok_or_else(|| self.unreachable())?;
        let reply = client.manage_key(request).await;
        let reply = reply.map_err(|status| ClientError {
            code: status.code(),
            message: said(&status),
        })?;
        reply.into_inner().key.ok_or_else(|| ClientError {
            code: Code::Internal,
            message: "the server sent no key".to_owned(),
        })
    }
}

/// Returns the keys of one server, whose list may have many pages. A server without pages sends all at once.
async fn list_of(
    client: &mut CryptoserverClient<Channel>,
    any_kind: bool,
) -> Result<Vec<proto::Key>, ClientError> {
    let mut pages = Pages::default();
    loop {
        let asked = proto::ListKeysRequest {
            any_kind,
            page_size: PAGE_KEYS,
            page_token: pages.token.clone(),
        };
        let reply = client.list_keys(asked).await;
        let page = reply.map_err(|status| ClientError {
            code: status.code(),
            message: said(&status),
        })?;
        if pages.add(page.into_inner())? {
            return Ok(pages.keys);
        }
    }
}

/// A list of keys that arrives page by page.
#[derive(Default)]
struct Pages {
    keys: Vec<proto::Key>,
    /// The token of the next page.
    token: String,
    count: usize,
    bytes: usize,
}

impl Pages {
    /// Adds the next page. Returns whether it was the last one.
    ///
    /// # Errors
    /// The list is too long, or its pages are the same again and again.
    fn add(&mut self, page: proto::ListKeysReply) -> Result<bool, ClientError> {
        let wrong = |message: String| {
            Err(ClientError {
                code: Code::Internal,
                message,
            })
        };
        self.count += 1;
        self.bytes += page.encoded_len();
        let is_last = page.next_page_token.is_empty();
        if self.bytes > LIST_BYTES_MAX || self.count == PAGES_MAX && !is_last {
            return wrong(format!(
                "the server's list of keys has more than {PAGES_MAX} pages or {LIST_BYTES_MAX} bytes"
            ));
        }
        if !is_last && page.next_page_token == self.token {
            return wrong(
                "the server's list of keys does not advance: it sent the same page_token twice"
                    .to_owned(),
            );
        }
        self.keys.extend(page.keys);
        self.token = page.next_page_token;
        Ok(is_last)
    }
}

/// Returns the connection's fault that caused an error of the balancer.
pub(super) fn fault(error: tower::BoxError) -> connection::Fault {
    match error.downcast::<connection::Fault>() {
        Ok(fault) => *fault,
        Err(_) => connection::Fault::Broken,
    }
}

/// The stream of opened and closed connections that feeds the balancer.
pub(super) struct Changes(mpsc::UnboundedReceiver<Coming>);

impl Stream for Changes {
    type Item = Result<Coming, std::convert::Infallible>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.0.poll_recv(context).map(|change| change.map(Ok))
    }
}

/// A task that keeps connections to the addresses of one name.
#[derive(Clone)]
struct Keeper {
    settings: Settings,
    changes: mpsc::UnboundedSender<Coming>,
    state: watch::Sender<State>,
}

impl Keeper {
    /// Looks the name up repeatedly.
    async fn watch(self, server: String) {
        let host = server.rsplit_once(':').map_or("", |(host, _)| host);
        let host = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .to_owned();
        let mut tasks = JoinSet::new();
        let mut kept: HashMap<Key, AbortHandle> = HashMap::new();
        loop {
            match tokio::net::lookup_host(&server).await {
                Ok(found) => {
                    let host = &host;
                    let found: Vec<Key> = found
                        .flat_map(|socket| {
                            let host = host.clone();
                            let address = Address { socket, host };
                            (0..self.settings.connections.max(1))
                                .map(move |number| (address.clone(), number))
                        })
                        .collect();
                    kept.retain(|key, task| {
                        let stays = found.contains(key);
                        if !stays {
                            task.abort();
                            self.gone(key, Fault::new("the name no longer has this address"));
                        }
                        stays
                    });
                    let fresh = found.into_iter().filter(|key| !kept.contains_key(key));
                    let fresh: Vec<Key> = fresh.collect();
                    self.change(|state| {
                        state.faults.remove(&server);
                        state.untried.remove(&server);
                        let addresses = fresh.iter().map(|(address, _)| address.to_string());
                        state.untried.extend(addresses);
                    });
                    for key in fresh {
                        let task = tasks.spawn(self.clone().keep(key.clone()));
                        kept.insert(key, task);
                    }
                }
                // A failing name server closes no open connection.
                Err(error) => self.change(|state| {
                    let fault = Fault::new(format!("{server}: {error}"));
                    state.untried.remove(&server);
                    state.faults.insert(server.clone(), fault);
                }),
            }
            let pause = if kept.is_empty() {
                RETRY_MAX
            } else {
                self.settings.lookup_interval
            };
            sleep(pause).await;
        }
    }

    /// Connects, and reconnects after every failure.
    async fn keep(self, key: Key) {
        let mut pauses = Pauses::default();
        loop {
            let lasted = match self.hold(&key).await {
                Ok((reason, lasted)) => {
                    self.gone(&key, Fault::new(format!("{}: {reason}", key.0)));
                    lasted
                }
                Err(fault) => {
                    self.gone(&key, fault);
                    Duration::ZERO
                }
            };
            if let Some(pause) = pauses.after(lasted) {
                // The jitter keeps clients of a returning server from connecting all at once.
                sleep(pause + pause.mul_f64(jitter())).await;
            }
        }
    }

    /// Serves a connection to its end, and returns why it ended and how long it lasted; fails if it cannot be opened.
    async fn hold(&self, key: &Key) -> Result<(String, Duration), Fault> {
        let witness = Witness::default();
        // The TLS fault explains more than the errors that follow from it.
        let tls = self.settings.tls.as_ref();
        let failed = |reason: String| match witness.explain(tls) {
            Some(reason) => Fault {
                reason: format!("{}: {reason}", key.0),
                is_of_tls: true,
            },
            None => Fault::new(format!("{}: {reason}", key.0)),
        };
        let mut client = connect(&key.0, &self.settings, &witness)
            .await
            .map_err(failed)?;
        let opened = timeout(self.settings.connect_timeout, Exchange::open(&mut client));
        let (exchange, replies) = opened
            .await
            .unwrap_or_else(|_| Err("it does not answer".into()))
            .map_err(failed)?;
        let balanced = PendingRequests::new(Balanced::new(exchange), CompleteOnResponse::default());
        let _ = self.changes.send(Change::Insert(key.clone(), balanced));
        self.change(|state| {
            let address = key.0.to_string();
            state.open.insert(key.clone(), client);
            state.faults.remove(&address);
            state.untried.remove(&address);
        });
        let opened = Instant::now();
        let reason = replies.await;
        let reason = witness.explain(tls).unwrap_or(reason);
        Ok((reason, opened.elapsed()))
    }

    fn gone(&self, key: &Key, fault: Fault) {
        tracing::info!(server = %key.0, reason = fault.reason, "not connected");
        let _ = self.changes.send(Change::Remove(key.clone()));
        self.change(|state| {
            let address = key.0.to_string();
            state.open.remove(key);
            state.untried.remove(&address);
            state.faults.insert(address, fault);
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        self.state.send_modify(|state| {
            change(state);
            state.changes += 1;
        });
    }
}

/// The pauses before a server is tried again. They double as long as no connection lasts: a server may also accept one and
/// end its stream at once.
struct Pauses {
    next: Duration,
}

impl Default for Pauses {
    fn default() -> Self {
        Self { next: RETRY_MIN }
    }
}

impl Pauses {
    /// Returns the pause after a connection that lasted this long; `None` if it is to be opened again at once.
    fn after(&mut self, lasted: Duration) -> Option<Duration> {
        if lasted >= RETRY_MAX {
            self.next = RETRY_MIN;
            return None;
        }
        let pause = self.next;
        self.next = (pause * 2).min(RETRY_MAX);
        Some(pause)
    }
}

/// Returns a number from 0 to 1, taken from the clock. It only spreads reconnections.
fn jitter() -> f64 {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    f64::from(now.unwrap_or_default().subsec_nanos() % 1_000_000) / 1e6
}

const RETRY_MIN: Duration = Duration::from_millis(50);
const RETRY_MAX: Duration = Duration::from_secs(1);
/// The keys asked for in a page. The server sends fewer if they are long.
const PAGE_KEYS: u32 = 1000;
/// The most pages of a list, and the most bytes of all.
const PAGES_MAX: usize = 4096;
const LIST_BYTES_MAX: usize = 64 << 20;
const LOOK_AGAIN: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn page(token: &str) -> proto::ListKeysReply {
        proto::ListKeysReply {
            keys: vec![proto::Key::default()],
            next_page_token: token.to_owned(),
        }
    }

    #[test]
    fn a_list_ends_with_a_page_without_token() {
        let mut pages = Pages::default();
        for (token, is_last) in [("a", false), ("b", false), ("", true)] {
            assert_eq!(pages.add(page(token)), Ok(is_last));
        }
        assert_eq!(pages.keys.len(), 3);
    }

    #[test]
    fn a_list_that_does_not_advance_or_end_is_refused() {
        let mut pages = Pages::default();
        assert_eq!(pages.add(page("a")), Ok(false));
        let refused = pages.add(page("a")).unwrap_err();
        assert!(refused.message.contains("does not advance"), "{refused}");
        let mut pages = Pages::default();
        let refused = (0..).find_map(|number| pages.add(page(&format!("{number}"))).err());
        let message = refused.unwrap().message;
        assert!(message.contains("more than 4096 pages"), "{message}");
        assert_eq!(pages.count, 4096);
        let long = proto::ListKeysReply {
            next_page_token: "a".repeat(LIST_BYTES_MAX),
            ..page("")
        };
        let refused = Pages::default().add(long).unwrap_err();
        assert!(refused.message.contains("67108864 bytes"), "{refused}");
    }

    #[test]
    fn pauses_double_until_a_connection_lasts() {
        let mut pauses = Pauses::default();
        let short = [0, 10, 999, 0, 0, 0].map(Duration::from_millis);
        let paused = short.map(|lasted| pauses.after(lasted).unwrap().as_millis());
        assert_eq!(paused, [50, 100, 200, 400, 800, 1000]);
        assert_eq!(pauses.after(RETRY_MAX), None);
        assert_eq!(pauses.after(Duration::ZERO), Some(RETRY_MIN));
    }
}
