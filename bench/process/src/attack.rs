//! A hostile client, or the honest one whose load is like its own.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock_hostile::{Course, Kind, Neighbour, Target, calls, kind, lists, signatures};
use oarlock_net::client::{CallOptions, Client, Operation, Settings};
use oarlock_net::proto;
use oarlock_net::tls::TlsFiles;
use serde::Serialize;
use tokio::task::JoinSet;
use tokio::time::{sleep, sleep_until};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A kind of hostile client
    #[arg(long, value_parser = named)]
    kind: &'static Kind,

    /// Be the honest client whose load is like its own
    #[arg(long)]
    honest: bool,

    /// The server, on a loopback address
    #[arg(long)]
    server: SocketAddr,

    /// Its metrics page
    #[arg(long)]
    metrics: SocketAddr,

    /// Folder of `oarlock pki init`
    #[arg(long)]
    pki: PathBuf,

    /// Name of the client's certificate
    #[arg(long)]
    client: String,

    /// Id of an RSA-2048 key of the server
    #[arg(long)]
    key: String,

    /// Seconds until it leaves
    #[arg(long)]
    seconds: f64,
}

/// What it has done.
#[derive(Serialize)]
pub(crate) struct Done {
    /// Requests, frames, connections: what a kind acts with.
    actions: u64,
    /// How often the server closed its connections.
    sessions_ended: u64,
    /// Whether the server did not read from it for a while.
    is_held_back: bool,
}

pub(crate) fn run(args: &Args) -> Result<Done, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("no runtime: {error}"))?;
    let ends = Instant::now() + Duration::from_secs_f64(args.seconds);
    runtime.block_on(async {
        if args.honest {
            honest(args, ends).await
        } else {
            hostile(args, ends).await
        }
    })
}

async fn hostile(args: &Args, ends: Instant) -> Result<Done, String> {
    during(args, ends, async |target, course| {
        args.kind.run(target, course).await
    })
    .await
}

async fn during(
    args: &Args,
    ends: Instant,
    act: impl AsyncFnOnce(&Arc<Target>, &Arc<Course>),
) -> Result<Done, String> {
    let target = Target::new(
        args.server,
        args.metrics,
        &args.pki,
        &args.client,
        &args.key,
    )?;
    let (target, course) = (Arc::new(target), Arc::new(Course::new(u64::MAX)));
    tokio::join!(act(&target, &course), async {
        sleep_until(ends.into()).await;
        course.end();
    });
    Ok(Done {
        actions: course.done(),
        sessions_ended: course.sessions_ended(),
        is_held_back: course.is_held_back(),
    })
}

/// Answers that are refused count as well: a client that is honest may still ask for too much.
async fn honest(args: &Args, ends: Instant) -> Result<Done, String> {
    let settings = settings(args)?;
    let sign = Operation::Sign(proto::Sign {
        key_id: args.key.clone(),
        scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
        digest: vec![7; 32],
    });
    let power = Operation::ModExp(proto::ModExp {
        base: vec![3; 512],
        exponent: vec![0xff; 512],
        modulus: vec![0xff; 512],
        byte_order: proto::ByteOrder::BigEndian.into(),
        base_is_negative: false,
        crt: None,
    });
    let [random, bytes] = [32, 65_536].map(|bytes| Operation::Random(proto::Random { bytes }));
    // Calls are no requests of the stream that our client has.
    let (operation, loops, pause) = match args.kind.neighbour {
        Neighbour::Quiet => (sign, 1, NOW_AND_THEN),
        Neighbour::Signatures => (sign, UNDER_WAY, Duration::ZERO),
        Neighbour::Powers => (power, UNDER_WAY, Duration::ZERO),
        Neighbour::Bytes => (bytes, UNDER_WAY, Duration::ZERO),
        Neighbour::Calls => {
            return during(args, ends, async |target, course| {
                calls(target, course).await
            })
            .await;
        }
        Neighbour::SignatureCalls => {
            let signing = async |target: &_, course: &_| signatures(target, course).await;
            return during(args, ends, signing).await;
        }
        Neighbour::Lists => {
            return during(args, ends, async |target, course| {
                lists(target, course).await
            })
            .await;
        }
        Neighbour::Newcomers => return newcomers(&settings, &random, ends).await,
    };
    let client = connected(&settings).await?;
    let mut tasks = JoinSet::new();
    for _ in 0..loops {
        let (client, operation) = (client.clone(), operation.clone());
        tasks.spawn(async move {
            let mut actions = 0;
            while Instant::now() < ends {
                let _ = client.call(operation.clone(), CallOptions::default()).await;
                actions += 1;
                if !pause.is_zero() {
                    sleep(pause).await;
                }
            }
            actions
        });
    }
    Ok(counted(tasks.join_all().await))
}

/// Each connects, asks once and leaves, again and again.
async fn newcomers(
    settings: &Settings,
    operation: &Operation,
    ends: Instant,
) -> Result<Done, String> {
    let mut tasks = JoinSet::new();
    for _ in 0..NEWCOMERS {
        let (settings, operation) = (settings.clone(), operation.clone());
        tasks.spawn(async move {
            let mut actions = 0;
            while Instant::now() < ends {
                if let Ok(client) = connected(&settings).await {
                    let _ = client.call(operation.clone(), CallOptions::default()).await;
                }
                actions += 1;
            }
            actions
        });
    }
    Ok(counted(tasks.join_all().await))
}

async fn connected(settings: &Settings) -> Result<Client, String> {
    let client = Client::new(settings.clone()).map_err(|error| error.message)?;
    let ready = client.ready(CONNECT_TIMEOUT).await;
    ready.map_err(|error| error.message)?;
    Ok(client)
}

fn settings(args: &Args) -> Result<Settings, String> {
    let file = |extension: &str| args.pki.join(format!("{}.{extension}", args.client));
    let files = TlsFiles {
        certificate: file("pem"),
        key: file("key"),
        roots: args.pki.join("ca.pem"),
        revoked: None,
    };
    let tls = files.client().map_err(|error| error.to_string())?;
    Ok(Settings::new(vec![args.server.to_string()], Some(tls)))
}

fn counted(actions: Vec<u64>) -> Done {
    Done {
        actions: actions.iter().sum(),
        sessions_ended: 0,
        is_held_back: false,
    }
}

fn named(name: &str) -> Result<&'static Kind, String> {
    kind(name).ok_or_else(|| format!("no kind {name}"))
}

const NOW_AND_THEN: Duration = Duration::from_millis(100);
const UNDER_WAY: usize = 64;
const NEWCOMERS: usize = 4;
const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);
