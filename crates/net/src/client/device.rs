//! A device that computes on servers: their keys behind the library's own key type.

use std::num::NonZero;
use std::pin::pin;
use std::sync::{Arc, mpsc};
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use oarlock::device::PublicKeyRequest;
use oarlock::device::{
    Answer, BlockingDevice, DeviceError, PublicKeyOffer, PublicKeyOperation, Shape,
};
use oarlock::job::Job;
use oarlock::rsa::{RsaPrivateKey, RsaPublicKey};
use oarlock_engine::learn::Median;
use tokio::runtime::Handle;
use tokio::time::timeout;
use tonic::Code;

use super::call::Client;
use super::items::FileKey;
use super::job::{self, Background};
use super::settings::{CallOptions, ClientError, Settings};
use crate::proto;
use crate::proto::request::Operation;

/// A device backed by servers. Its [`keys`](Self::keys) are ordinary private keys for
/// [`Accelerator::rsa`](oarlock::Accelerator::rsa); their numbers never leave the servers. The device refuses a result that
/// does not agree with the public key.
///
/// It has a runtime of its own with one thread, and others while names are looked up. A drop waits for none of them.
pub struct RemoteDevice {
    name: String,
    client: Client,
    runtime: Background,
    /// An estimate of the median time of a batch.
    latency: Median,
}

impl RemoteDevice {
    /// Connects and waits for the first server.
    ///
    /// # Errors
    /// UNAVAILABLE if no server is reached within the settings' `connect_timeout`; INTERNAL if the system has no thread or
    /// descriptor left.
    pub fn connect(name: impl Into<String>, settings: Settings) -> Result<Arc<Self>, ClientError> {
        Self::connect_while(name, settings, || true)
    }

    /// Does what [`connect`](Self::connect) does, and gives up when `goes_on` is false, which the calling thread is asked about
    /// 20 times a second.
    ///
    /// # Errors
    /// Those of [`connect`](Self::connect); CANCELLED if it gave up.
    pub fn connect_while(
        name: impl Into<String>,
        settings: Settings,
        goes_on: impl Fn() -> bool,
    ) -> Result<Arc<Self>, ClientError> {
        let cpus = available_parallelism().map_or(1, NonZero::get);
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("oarlock-remote")
            .max_blocking_threads(cpus.max(BLOCKING_THREADS_MIN))
            .enable_all()
            .build()
            .map_err(|error| ClientError {
                code: Code::Internal,
                message: format!("no runtime for connections: {error}"),
            })?;
        let runtime = Background::new(runtime);
        let patience = settings.connect_timeout;
        let client = {
            let _entered = runtime.enter();
            Client::new(settings)?
        };
        wait_while(&runtime, client.ready(patience), &goes_on)?;
        Ok(Arc::new(Self {
            name: name.into(),
            client,
            runtime,
            latency: Median::new(FIRST_LATENCY_NS),
        }))
    }

    /// Returns the keys that the servers let this client use without padding (`raw_private`), by ID.
    ///
    /// # Errors
    /// The error of the servers, or the reason why none can be asked.
    pub fn keys(self: &Arc<Self>) -> Result<Vec<(String, RsaPrivateKey)>, ClientError> {
        let listed = self.runtime.block_on(self.client.list_keys())?;
        let raw = proto::Permission::RawPrivate as i32;
        let usable = listed
            .into_iter()
            .filter(|key| key.permissions.contains(&raw));
        let keys = usable.map(|key| {
            let failed = |error: oarlock::Error| ClientError {
                code: Code::Internal,
                message: format!("key {:?} of the server: {error}", key.id),
            };
            let public = RsaPublicKey::from_der(&key.public_key).map_err(failed)?;
            let device = Arc::clone(self) as Arc<dyn BlockingDevice>;
            let held = RsaPrivateKey::held(device, key.id.clone().into_bytes(), public);
            Ok((key.id.clone(), held.map_err(failed)?))
        });
        keys.collect()
    }

    /// Returns the file keys in stanzas of age files, as [`Client::unwrap`] does, and blocks until they are there or `goes_on` is
    /// false.
    ///
    /// # Errors
    /// Those of [`Client::unwrap`]; CANCELLED if it gave up.
    pub(super) fn unwrap_while(
        &self,
        key_id: &str,
        stanzas: Vec<proto::Stanza>,
        goes_on: &dyn Fn() -> bool,
    ) -> Result<Vec<Result<FileKey, ClientError>>, ClientError> {
        let asked = self.client.unwrap(key_id, stanzas, CallOptions::default());
        wait_while(&self.runtime, asked, goes_on)
    }

    /// Returns a client over the same connections, for asynchronous code.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// Starts `work` on the device's runtime, for a program that has none. The job ends with what it returns. Dropping the
    /// job ends the work. In a forked child a job of the parent is cancelled.
    ///
    /// ```no_run
    /// use oarlock_net::client::{ClientError, RemoteDevice};
    ///
    /// fn ids(rack: &RemoteDevice) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    ///     let client = rack.client().clone();
    ///     let keys = rack.submit(async move { client.list_keys().await }).wait()??;
    ///     Ok(keys.into_iter().map(|key| key.id).collect())
    /// }
    /// ```
    pub fn submit<T: Send + 'static>(
        &self,
        work: impl Future<Output = T> + Send + 'static,
    ) -> Job<T> {
        job::submit(&self.runtime, work)
    }
}

impl BlockingDevice for RemoteDevice {
    fn name(&self) -> &str {
        &self.name
    }

    fn capacity(&self) -> usize {
        BATCH_MAX
    }

    fn offer_public_key(&self, shape: &Shape) -> Option<PublicKeyOffer> {
        let is_own =
            matches!(&shape.operation, PublicKeyOperation::Held(name) if **name == self.name);
        let latency = Duration::from_nanos(self.latency.ns().max(1).into());
        is_own.then(|| PublicKeyOffer {
            latency,
            per_second: BATCH_MAX as f64 / latency.as_secs_f64(),
        })
    }

    fn batch_size(&self, _: &Shape, waiting: usize) -> usize {
        waiting.clamp(1, BATCH_MAX)
    }

    fn run_public_key(&self, batch: &[&PublicKeyRequest], answer: &mut Answer<'_>) {
        let began = Instant::now();
        let (sender, results) = mpsc::channel();
        for (place, request) in batch.iter().enumerate() {
            let id = request.private_key().and_then(RsaPrivateKey::held_id);
            let id = id.and_then(|id| String::from_utf8(id.to_vec()).ok());
            let Some(key_id) = id else {
                answer(
                    place,
                    Err(DeviceError("a request without a key of this device".into())),
                );
                continue;
            };
            let operation = Operation::RawPrivate(proto::RawPrivate {
                key_id,
                number: request.base().to_vec(),
            });
            let (client, sender) = (self.client.clone(), sender.clone());
            self.runtime.spawn(async move {
                let result = client.call(operation, CallOptions::default()).await;
                // Sending cannot fail: the receiver waits for all results.
                let _ = sender.send((place, result));
            });
        }
        drop(sender);
        for (place, result) in results {
            answer(place, result.map_err(|error| DeviceError(error.message)));
        }
        self.latency.learn(began.elapsed());
    }
}

/// Waits for `work`, and drops it when `goes_on` is false.
fn wait_while<T>(
    runtime: &Handle,
    work: impl Future<Output = Result<T, ClientError>>,
    goes_on: &dyn Fn() -> bool,
) -> Result<T, ClientError> {
    let mut work = pin!(work);
    loop {
        let waited = runtime.block_on(async { timeout(ASKED_EVERY, &mut work).await });
        if let Ok(done) = waited {
            return done;
        }
        // Outside of the runtime, which this may use as well.
        if !goes_on() {
            return Err(ClientError {
                code: Code::Cancelled,
                message: "the caller no longer waits".to_owned(),
            });
        }
    }
}

/// The least bound of threads for look-ups of names, [`compute`](job::compute) and fallbacks.
const BLOCKING_THREADS_MIN: usize = 4;
const ASKED_EVERY: Duration = Duration::from_millis(50);
const BATCH_MAX: usize = 64;
const FIRST_LATENCY_NS: u32 = 1_000_000;
