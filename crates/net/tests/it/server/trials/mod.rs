//! Trials: attempts to break servers, through their devices and their clients.

pub(super) mod audit;
mod evidence;
mod faults;
mod hostile;
mod lasting;
mod overload;
mod pages;
mod watched;

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::path::Path;
use std::sync::LazyLock;

use oarlock::Accelerator;
use oarlock::rsa::AcceleratedRsaPublic;
use oarlock_net::proto::cryptoserver_client::CryptoserverClient;
use oarlock_net::proto::{self, reply, request};
use oarlock_net::server::Server;
use oarlock_net::server::config::Config;
use oarlock_testing::LIMIT;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::transport::{Channel, Endpoint};
use tonic::{Code, Status};

use super::host::{EVERYTHING, KEYS, key};

/// Returns the configuration of a server without TLS, on which every client is `anonymous` and may do everything.
pub(super) fn plaintext(top: &str, rest: &str) -> Config {
    let text = format!(
        "listen = [\"127.0.0.1:0\"]\nplaintext = true\n{top}\n{EVERYTHING}\n\
         [[key]]\nfile = \"rsa1024.pem\"\n[[key]]\nfile = \"rsa2048.pem\"\n\
         [metrics]\nlisten = \"127.0.0.1:0\"\n{rest}\n"
    );
    Config::parse(&text, Path::new(KEYS)).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Connects like a foreign client, with only a channel of tonic's.
pub(super) async fn connect(server: &Server) -> CryptoserverClient<Channel> {
    CryptoserverClient::new(channel(server).await).max_decoding_message_size(16 << 20)
}

async fn channel(server: &Server) -> Channel {
    let address = server.addresses()[0];
    let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
    // The small window leaves unread replies with the server.
    let endpoint = endpoint
        .initial_stream_window_size(65_535)
        .initial_connection_window_size(1 << 20);
    endpoint.connect().await.unwrap()
}

/// Returns the request for `number` ^ d with RSA-1024.
fn raw(id: u64, number: u64) -> proto::Request {
    let operation = request::Operation::RawPrivate(proto::RawPrivate {
        key_id: "rsa1024".into(),
        number: number.to_be_bytes().to_vec(),
    });
    asked(id, operation)
}

fn asked(id: u64, operation: request::Operation) -> proto::Request {
    proto::Request {
        id,
        operation: Some(operation),
        ..Default::default()
    }
}

/// Sends batches over one stream, closes its sending side, and returns all replies and the end of the stream.
async fn exchange(
    client: &mut CryptoserverClient<Channel>,
    batches: Vec<proto::RequestBatch>,
) -> (Vec<proto::Reply>, Result<(), Status>) {
    let stream = client.exchange(tokio_stream::iter(batches)).await;
    let mut stream = stream.unwrap().into_inner();
    let mut replies = Vec::new();
    loop {
        match soon("a reply", stream.message()).await {
            Ok(Some(batch)) => replies.extend(batch.replies),
            Ok(None) => return (replies, Ok(())),
            Err(status) => return (replies, Err(status)),
        }
    }
}

fn batch(requests: impl IntoIterator<Item = proto::Request>) -> proto::RequestBatch {
    proto::RequestBatch {
        requests: requests.into_iter().collect(),
    }
}

/// Checks that the reply is `number` to the power of d; returns the code of a failure.
fn is_right(reply: &proto::Reply, number: u64) -> Result<(), Code> {
    match reply.outcome.as_ref().expect("every reply has an outcome") {
        reply::Outcome::Result(power) => {
            let back = PUBLIC.raw_public(power).unwrap();
            let (zeros, low) = back.split_at(back.len() - 8);
            assert!(
                zeros.iter().all(|byte| *byte == 0),
                "a lie has come through"
            );
            assert_eq!(low, number.to_be_bytes(), "a lie has come through");
            Ok(())
        }
        reply::Outcome::Failure(failure) => {
            assert!(!failure.message.is_empty());
            Err(Code::from(failure.code))
        }
        items @ reply::Outcome::Items(_) => panic!("{items:?}"),
    }
}

/// Counts replies by code, and checks that each of `ids` has exactly one.
fn tally(replies: &[proto::Reply], ids: std::ops::Range<u64>) -> HashMap<Code, usize> {
    let mut seen: Vec<u64> = replies.iter().map(|reply| reply.id).collect();
    seen.sort_unstable();
    let expected: Vec<u64> = ids.collect();
    assert_eq!(seen, expected, "each is answered once");
    let mut tally = HashMap::new();
    for reply in replies {
        let code = is_right(reply, reply.id).err().unwrap_or(Code::Ok);
        *tally.entry(code).or_default() += 1;
    }
    tally
}

pub(super) async fn soon<T>(what: &str, future: impl Future<Output = T>) -> T {
    let done = tokio::time::timeout(LIMIT, future).await;
    done.unwrap_or_else(|_| panic!("never: {what}"))
}

/// Returns status and body of a page.
async fn page(address: SocketAddr, path: &str) -> (u16, String) {
    let mut socket = TcpStream::connect(address).await.unwrap();
    let ask = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(ask.as_bytes()).await.unwrap();
    let mut text = String::new();
    soon("a page", socket.read_to_string(&mut text))
        .await
        .unwrap();
    let status = text.split(' ').nth(1).unwrap().parse().unwrap();
    let body = text.split_once("\r\n\r\n").unwrap().1.to_owned();
    (status, body)
}

/// Returns the sum of the samples of a name that have all of `labels`.
async fn metric(server: &Server, name: &str, labels: &[&str]) -> u64 {
    let (status, page) = page(server.metrics().unwrap(), "/metrics").await;
    assert_eq!(status, 200);
    let samples = page.lines().filter(|line| {
        let is_named = line
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '{']));
        is_named && labels.iter().all(|label| line.contains(label))
    });
    let values = samples.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap());
    values.sum()
}

static ACCELERATOR: LazyLock<Accelerator> =
    LazyLock::new(|| Accelerator::builder().build().unwrap());
static PUBLIC: LazyLock<AcceleratedRsaPublic> =
    LazyLock::new(|| ACCELERATOR.rsa_public(key("rsa1024").public_key()));
