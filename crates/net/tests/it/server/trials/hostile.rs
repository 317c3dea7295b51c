//! Clients that do harm, on purpose or not.

use std::time::Duration;

use oarlock_net::proto::{self, request};
use oarlock_net::server::Server;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tonic::Code;
use tonic::codegen::http::uri::PathAndQuery;

use super::{
    asked, batch, channel, connect, exchange, is_right, metric, page, plaintext, raw, soon,
};
use crate::waiting::until_some;

async fn assert_serves(server: &Server) {
    let mut client = connect(server).await;
    let reply = soon("a reply", client.call(raw(5, 77))).await.unwrap();
    assert_eq!(is_right(reply.get_ref(), 77), Ok(()));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_holds_no_more_than_a_stream_may() {
    let server = Server::start(plaintext("", "[limits]\nper_stream_max = 16\n"))
        .await
        .unwrap();
    let mut client = connect(&server).await;
    // 64 MiB of replies, for which there is a window of 64 KiB.
    let random = request::Operation::Random(proto::Random { bytes: 65_536 });
    let requests = (0..1000).map(|id| asked(id, random.clone()));
    // The sending side stays open.
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    sender.send(batch(requests)).await.unwrap();
    let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let unread = client.exchange(requests).await.unwrap();
    let answered = async || metric(&server, "oarlock_requests_total", &["random"]).await;
    until_some("as many as there are places", async || {
        (answered().await >= 16).then_some(())
    })
    .await;
    for _ in 0..20 {
        assert_serves(&server).await;
    }
    // In addition to the 16 places, one message is in transit, and one is being sent.
    assert!(answered().await <= 16 + 4, "{}", answered().await);
    drop((unread, sender, client));
    until_some("the connection is gone", async || {
        (metric(&server, "oarlock_connections", &[]).await == 0).then_some(())
    })
    .await;
    assert_serves(&server).await;
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_does_not_keep_a_server_from_ending() {
    let server = Server::start(plaintext("", "[limits]\ndrain_ms = 1000\n"))
        .await
        .unwrap();
    let mut client = connect(&server).await;
    let random = request::Operation::Random(proto::Random { bytes: 65_536 });
    let requests = batch((0..100).map(|id| asked(id, random.clone())));
    let (sender, receiver) = tokio::sync::mpsc::channel(1);
    sender.send(requests).await.unwrap();
    let requests = tokio_stream::wrappers::ReceiverStream::new(receiver);
    let unread = client.exchange(requests).await.unwrap();
    until_some("replies that wait to be read", async || {
        let answered = metric(&server, "oarlock_requests_total", &["random"]).await;
        (answered >= 10).then_some(())
    })
    .await;
    for _ in 0..20 {
        assert_serves(&server).await;
    }
    // A stream has a mebibyte of replies, and some are in the buffers of the connection.
    let answered = metric(&server, "oarlock_requests_total", &["random"]).await;
    assert!(answered <= 50, "{answered}");
    assert_eq!(
        soon("the end after a second's drain", server.stop()).await,
        0
    );
    drop((unread, sender));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_that_a_client_makes_up_are_kept_nowhere() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let mut client = connect(&server).await;
    let sign = |key_id: String| {
        let sign = proto::Sign {
            key_id,
            scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
            digest: vec![0; 32],
        };
        asked(1, request::Operation::Sign(sign))
    };
    let page_of = async || page(server.metrics().unwrap(), "/metrics").await.1;
    let refused = client.call(sign("nothing".to_owned())).await.unwrap_err();
    assert_eq!(refused.code(), Code::NotFound);
    let series = page_of().await.lines().count();
    for number in 0..200 {
        let refused = client
            .call(sign(format!("none-{number}")))
            .await
            .unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
    }
    assert_eq!(page_of().await.lines().count(), series);
    assert!(!page_of().await.contains("none-7"));
    let refused = client.call(sign("k".repeat(900_000))).await.unwrap_err();
    assert_eq!(refused.code(), Code::InvalidArgument);
    assert!(refused.message().len() < 200, "{}", refused.message().len());
    assert_eq!(metric(&server, "oarlock_clients", &[]).await, 1);
    drop(client);
    until_some("the account is closed", async || {
        (metric(&server, "oarlock_clients", &[]).await == 0).then_some(())
    })
    .await;
    assert_serves(&server).await;
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_open_connections_are_closed_and_garbage_is_no_harm() {
    let server = Server::start(plaintext("", "[limits]\nidle_timeout_ms = 500\n"))
        .await
        .unwrap();
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
    let settings = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    // The length of a HEADERS frame, without its content.
    let headers = [0, 0, 100, 1, 4, 0, 0, 0, 1, 0x83];
    let beginnings: [&[u8]; 6] = [
        b"",
        &preface[..10],
        preface,
        &[&preface[..], &settings].concat(),
        &[&preface[..], &settings, &headers].concat(),
        // A frame of 16 MiB.
        &[&preface[..], &settings, &[0xff; 64]].concat(),
    ];
    let mut sockets = Vec::new();
    for beginning in beginnings.iter().cycle().take(60) {
        let mut socket = TcpStream::connect(server.addresses()[0]).await.unwrap();
        socket.write_all(beginning).await.unwrap();
        sockets.push(socket);
    }
    let mut noise = 0x2545_f491_4f6c_dd1d_u64;
    for _ in 0..40 {
        let garbage: Vec<u8> = (0..500)
            .map(|_| {
                noise ^= noise << 13;
                noise ^= noise >> 7;
                noise ^= noise << 17;
                noise as u8
            })
            .collect();
        let mut socket = TcpStream::connect(server.addresses()[0]).await.unwrap();
        // With and without the HTTP/2 preface; the server may close the connection in the middle.
        if noise.is_multiple_of(2) {
            let _ = socket.write_all(preface).await;
        }
        let _ = socket.write_all(&garbage).await;
        sockets.push(socket);
    }
    for _ in 0..20 {
        assert_serves(&server).await;
    }
    for mut socket in sockets {
        let mut rest = Vec::new();
        // Either kind of end will do.
        let _ = soon("the end of a connection", socket.read_to_end(&mut rest)).await;
    }
    assert_serves(&server).await;
    assert_eq!(server.stop().await, 0);
}

/// A message in the form of a batch, with arbitrary content.
#[derive(Clone, PartialEq, prost::Message)]
struct OddBatch {
    #[prost(bytes = "vec", repeated, tag = "1")]
    requests: Vec<Vec<u8>>,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn messages_that_are_none_end_their_stream_with_a_reason_and_nothing_else() {
    let server = Server::start(plaintext("", "[limits]\nmessage_bytes_max = 4096\n"))
        .await
        .unwrap();
    let channel = channel(&server).await;
    let mut steady =
        oarlock_net::proto::cryptoserver_client::CryptoserverClient::new(channel.clone());
    for (garbage, code) in [
        (vec![0xff; 40], Code::Internal),
        // Field 4, which ends beyond its request.
        (vec![0x22, 0x7f, 0x0a], Code::Internal),
        // A key ID that is not UTF-8.
        (vec![0x22, 0x04, 0x0a, 0x02, 0xff, 0xfe], Code::Internal),
        (vec![0; 5000], Code::OutOfRange),
    ] {
        let right = |id| {
            let mut bytes = Vec::new();
            prost::Message::encode(&raw(id, id), &mut bytes).unwrap();
            OddBatch {
                requests: vec![bytes],
            }
        };
        let sent = [
            right(1),
            right(2),
            OddBatch {
                requests: vec![garbage],
            },
            right(3),
        ];
        let mut grpc = tonic::client::Grpc::new(channel.clone());
        grpc.ready().await.unwrap();
        let path = PathAndQuery::from_static("/oarlock.v1.Cryptoserver/Exchange");
        let codec = tonic_prost::ProstCodec::<OddBatch, proto::ReplyBatch>::default();
        let sent = tonic::Request::new(tokio_stream::iter(sent));
        let stream = grpc.streaming(sent, path, codec).await.unwrap();
        let mut stream = stream.into_inner();
        let mut ids = Vec::new();
        let status = loop {
            match soon("a reply", stream.message()).await {
                Ok(Some(batch)) => ids.extend(batch.replies.iter().map(|reply| reply.id)),
                Ok(None) => panic!("an end without a reason, after {ids:?}"),
                Err(status) => break status,
            }
        };
        assert_eq!(status.code(), code, "{status:?}");
        ids.sort_unstable();
        assert_eq!(ids, [1, 2], "what came before is answered");
        // Other streams on the same connection continue.
        let reply = steady.call(raw(1, 3)).await.unwrap();
        assert_eq!(is_right(reply.get_ref(), 3), Ok(()));
    }
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn odd_streams_are_answered_request_by_request() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let mut client = connect(&server).await;

    // An empty stream, and empty batches.
    let (replies, end) = exchange(&mut client, vec![]).await;
    assert!(replies.is_empty() && end.is_ok());
    let (replies, end) =
        exchange(&mut client, vec![batch([]), batch([]), batch([raw(9, 9)])]).await;
    assert!(replies.len() == 1 && end.is_ok());

    // The same ID five times gets five replies.
    let (replies, end) = exchange(&mut client, vec![batch((0..5).map(|_| raw(3, 8)))]).await;
    end.unwrap();
    assert_eq!(replies.len(), 5);
    for reply in &replies {
        assert_eq!((reply.id, is_right(reply, 8)), (3, Ok(())));
    }

    // Requests without an operation, among valid ones.
    let nothing = |id| proto::Request {
        id,
        ..Default::default()
    };
    let wrong = |id, operation| asked(id, operation);
    let odd = vec![
        nothing(1),
        raw(2, 2),
        wrong(
            3,
            request::Operation::Sign(proto::Sign {
                key_id: "rsa2048".into(),
                scheme: 99,
                digest: vec![0; 32],
            }),
        ),
        wrong(
            4,
            request::Operation::RawPrivate(proto::RawPrivate {
                key_id: "\u{0}../../etc/passwd".into(),
                number: vec![1],
            }),
        ),
        wrong(
            5,
            request::Operation::RawPrivate(proto::RawPrivate {
                key_id: "rsa1024".into(),
                number: vec![0xff; 200],
            }),
        ),
        wrong(
            6,
            request::Operation::Random(proto::Random { bytes: u32::MAX }),
        ),
        proto::Request {
            priority: -5,
            timeout_ms: u32::MAX,
            ..raw(7, 7)
        },
    ];
    let (replies, end) = exchange(&mut client, vec![batch(odd)]).await;
    end.unwrap();
    let mut codes: Vec<_> = replies
        .iter()
        .map(|reply| {
            (
                reply.id,
                is_right(reply, reply.id).err().unwrap_or(Code::Ok),
            )
        })
        .collect();
    codes.sort_unstable_by_key(|(id, _)| *id);
    let invalid = Code::InvalidArgument;
    let (ok, missing) = (Code::Ok, Code::NotFound);
    let expected = [invalid, ok, invalid, missing, invalid, invalid, ok];
    assert_eq!(codes, (1..).zip(expected).collect::<Vec<_>>());

    // 5000 in one message, twenty times what a stream may have at once.
    let power = |id| {
        let operation = request::Operation::ModExp(proto::ModExp {
            base: vec![3],
            exponent: vec![id as u8],
            modulus: vec![0x01, 0xf1],
            base_is_negative: false,
            byte_order: 0,
            crt: None,
        });
        asked(id, operation)
    };
    let (replies, end) = exchange(&mut client, vec![batch((0..5000).map(power))]).await;
    end.unwrap();
    let mut seen = vec![false; 5000];
    for reply in replies {
        let exponent = reply.id as u8;
        let expected = (0..exponent).fold(1u32, |power, _| power * 3 % 0x1f1);
        let expected = vec![(expected >> 8) as u8, expected as u8];
        assert_eq!(reply.outcome, Some(proto::reply::Outcome::Result(expected)));
        assert!(!std::mem::replace(&mut seen[reply.id as usize], true));
    }
    assert!(seen.iter().all(|seen| *seen));
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_too_long_for_any_server_breaks_nobodys_stream() {
    let home = super::super::host::Home::new(&["alice"]);
    let server = Server::start(home.config(super::EVERYTHING)).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    let long = request::Operation::RawPrivate(proto::RawPrivate {
        key_id: "rsa1024".into(),
        number: vec![1; 2 << 20],
    });
    let right = request::Operation::RawPrivate(proto::RawPrivate {
        key_id: "rsa1024".into(),
        number: vec![1],
    });
    let options = oarlock_net::client::CallOptions {
        timeout: Some(Duration::from_secs(5)),
        is_urgent: false,
        ..oarlock_net::client::CallOptions::default()
    };
    let (long, right) = tokio::join!(client.call(long, options), client.call(right, options));
    assert_eq!(long.unwrap_err().code, Code::InvalidArgument);
    assert!(right.is_ok());
    assert_eq!(server.stop().await, 0);
}

/// An empty argument of a stanza takes two bytes on the wire and a dozen times that in memory.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn items_without_bytes_are_counted_before_they_are_decoded() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let mut client = connect(&server).await;
    let unwrap = |stanzas: usize, arguments: usize| {
        let stanza = proto::Stanza {
            arguments: vec![String::new(); arguments],
            ..Default::default()
        };
        let unwrap = proto::Unwrap {
            key_id: "rsa2048".into(),
            stanzas: vec![stanza; stanzas],
        };
        asked(1, request::Operation::Unwrap(unwrap))
    };
    for (stanzas, arguments) in [(70_000, 0), (1, 70_000), (300, 300)] {
        let (replies, ended) =
            exchange(&mut client, vec![batch([unwrap(stanzas, arguments)])]).await;
        let status = ended.unwrap_err();
        assert_eq!(status.code(), Code::InvalidArgument);
        assert!(
            status.message().contains("more than 65536 items"),
            "{status}"
        );
        assert!(replies.is_empty());
        let called = client.call(unwrap(stanzas, arguments)).await.unwrap_err();
        assert_eq!(called.code(), Code::InvalidArgument);
    }
    // The server goes on.
    let (replies, ended) = exchange(&mut client, vec![batch([raw(1, 2)])]).await;
    assert!(ended.is_ok() && is_right(&replies[0], 2).is_ok());
    server.stop().await;
}
