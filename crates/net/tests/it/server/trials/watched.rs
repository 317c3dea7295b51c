//! Observation: metrics, health, reflection, audit.

use std::collections::HashMap;
use std::fs;
use std::time::Duration;

use oarlock_net::client::{CallOptions, Client, Operation};
use oarlock_net::proto;
use oarlock_net::server::Server;
use serde_json::Value;

use super::super::host::{EVERYTHING, Home, KEYS, call};
use super::{batch, channel, connect, exchange, metric, page, plaintext, raw, tally};
use crate::waiting::until_some;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_of_metrics_counts_what_was_asked() {
    let server = Server::start(plaintext("", "")).await.unwrap();
    let mut client = connect(&server).await;
    let requests = (1..201).map(|id| raw(id, id));
    let (replies, _) = exchange(&mut client, vec![batch(requests)]).await;
    assert_eq!(tally(&replies, 1..201)[&tonic::Code::Ok], 200);
    let nothing = proto::Request::default();
    assert!(client.call(nothing).await.is_err());

    let metrics = server.metrics().unwrap();
    let (status, text) = page(metrics, "/metrics").await;
    assert_eq!(status, 200);
    assert!(text.ends_with("# EOF\n"), "no OpenMetrics");
    // Every sample belongs to a described family.
    let families: Vec<_> = text
        .lines()
        .filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next())
        .collect();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap();
        assert!(
            families.iter().any(|family| name.starts_with(family)),
            "{line}"
        );
        let value = line.rsplit(' ').next().unwrap();
        assert!(value.parse::<f64>().is_ok(), "{line}");
    }
    for family in [
        "requests",
        "queue_wait_seconds",
        "service_seconds",
        "batches",
        "device_in_work",
        "device_up",
        "device_failures",
        "waiting",
        "unanswered",
        "connections",
    ] {
        assert!(
            families.contains(&&*format!("oarlock_{family}")),
            "{family} in {families:?}"
        );
    }
    let labels = [
        "client=\"*\"",
        "operation=\"raw_private\"",
        "key=\"rsa1024\"",
        "code=\"OK\"",
    ];
    assert_eq!(
        metric(&server, "oarlock_requests_total", &labels).await,
        200
    );
    let refused = ["operation=\"none\"", "code=\"INVALID_ARGUMENT\""];
    assert_eq!(metric(&server, "oarlock_requests_total", &refused).await, 1);
    for family in ["queue_wait", "service"] {
        let name = format!("oarlock_{family}_seconds_count");
        assert_eq!(metric(&server, &name, &["device=\"cpu\""]).await, 200);
    }
    assert_eq!(
        metric(&server, "oarlock_device_up", &["device=\"cpu\""]).await,
        1
    );
    assert_eq!(metric(&server, "oarlock_connections", &[]).await, 1);
    // The fill of the lanes: batches by size, with 200 requests in all.
    let filled: u64 = text
        .lines()
        .filter(|line| line.starts_with("oarlock_batches{"))
        .map(|line| {
            let size = line.split("requests=\"").nth(1).unwrap();
            let size: u64 = size.split('"').next().unwrap().parse().unwrap();
            size * line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()
        })
        .sum();
    assert_eq!(filled, 200);

    assert_eq!(page(metrics, "/healthz").await, (200, "serving\n".into()));
    assert_eq!(page(metrics, "/").await.0, 404);
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn health_and_reflection_answer_their_standard_clients() {
    use tonic_health::pb::health_check_response::ServingStatus;
    use tonic_reflection::pb::v1::ServerReflectionRequest;
    use tonic_reflection::pb::v1::server_reflection_client::ServerReflectionClient;
    use tonic_reflection::pb::v1::server_reflection_request::MessageRequest;
    use tonic_reflection::pb::v1::server_reflection_response::MessageResponse;

    let server = Server::start(plaintext("", "")).await.unwrap();
    let channel = channel(&server).await;
    let mut health = tonic_health::pb::health_client::HealthClient::new(channel.clone());
    for service in ["", "oarlock.v1.Cryptoserver"] {
        let request = tonic_health::pb::HealthCheckRequest {
            service: service.into(),
        };
        let reply = health.check(request).await.unwrap().into_inner();
        assert_eq!(reply.status(), ServingStatus::Serving, "{service:?}");
    }
    let request = tonic_health::pb::HealthCheckRequest {
        service: "nothing".into(),
    };
    let unknown = health.check(request).await.unwrap_err();
    assert_eq!(unknown.code(), tonic::Code::NotFound);

    let mut reflection = ServerReflectionClient::new(channel);
    let ask = |request| ServerReflectionRequest {
        host: String::new(),
        message_request: Some(request),
    };
    let asked = [
        ask(MessageRequest::ListServices(String::new())),
        ask(MessageRequest::FileContainingSymbol(
            "oarlock.v1.Cryptoserver".into(),
        )),
        ask(MessageRequest::FileContainingSymbol("no.such.Thing".into())),
    ];
    let stream = reflection
        .server_reflection_info(tokio_stream::iter(asked))
        .await
        .unwrap();
    let mut stream = stream.into_inner();
    let mut answers = Vec::new();
    while let Some(answer) = stream.message().await.ok().flatten() {
        answers.push(answer.message_response.unwrap());
    }
    let MessageResponse::ListServicesResponse(services) = &answers[0] else {
        panic!("{:?}", answers[0]);
    };
    let names: Vec<_> = services
        .service
        .iter()
        .map(|service| &service.name[..])
        .collect();
    assert!(names.contains(&"oarlock.v1.Cryptoserver"), "{names:?}");
    assert!(names.contains(&"grpc.health.v1.Health"), "{names:?}");
    let MessageResponse::FileDescriptorResponse(files) = &answers[1] else {
        panic!("{:?}", answers[1]);
    };
    let file = String::from_utf8_lossy(&files.file_descriptor_proto[0]).into_owned();
    assert!(file.contains("RequestBatch") && file.contains("raw_private"));
    assert_eq!(server.stop().await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_audit_has_a_line_for_each_request_and_no_secrets() {
    let home = Home::new(&["alice"]);
    let rest = format!("{EVERYTHING}\n[audit]\nfile = \"audit.jsonl\"\n");
    let server = Server::start(home.config(&rest)).await.unwrap();
    let client = home.client("alice", &[&server]).await;
    let digest: Vec<u8> = (0..32u8)
        .map(|byte| byte.wrapping_mul(167) ^ 0x5a)
        .collect();
    let exponent: Vec<u8> = (0..64u8).map(|byte| byte.wrapping_mul(91) ^ 0xc3).collect();
    let mut secrets = vec![digest.clone(), exponent.clone()];
    for number in 0..20 {
        let key_id = ["rsa2048", "no such key"][number % 2].to_owned();
        let scheme = proto::SignatureScheme::RsaPkcs1Sha256.into();
        let sign = proto::Sign {
            key_id,
            scheme,
            digest: digest.clone(),
        };
        if let Ok(signature) = call(&client, Operation::Sign(sign)).await {
            secrets.push(signature);
        }
        let power = proto::ModExp {
            base: vec![2],
            exponent: exponent.clone(),
            // Odd moduli are valid, even ones are not.
            modulus: vec![0x91 + (number % 2) as u8; 64],
            base_is_negative: false,
            byte_order: 0,
            crt: None,
        };
        let _ = call(&client, Operation::ModExp(power)).await;
    }
    assert_eq!(server.stop().await, 0);
    let path = home.path().join("audit.jsonl");
    let lines = async || {
        let text = fs::read_to_string(&path).unwrap();
        (text.lines().count() >= 40).then_some(text)
    };
    let text = until_some("all lines", lines).await;
    let mut codes: HashMap<(String, String), usize> = HashMap::new();
    for line in text.lines() {
        let entry: Value = serde_json::from_str(line).unwrap();
        let text = |name: &str| entry[name].as_str().unwrap().to_owned();
        assert_eq!(text("client"), "alice");
        assert!(text("peer").starts_with("127.0.0.1:"));
        assert!(entry["unix_ms"].as_u64().unwrap() > 1_600_000_000_000);
        *codes.entry((text("operation"), text("code"))).or_default() += 1;
    }
    let expected = [
        ("sign", "OK"),
        ("sign", "NOT_FOUND"),
        ("mod_exp", "OK"),
        ("mod_exp", "INVALID_ARGUMENT"),
    ];
    let expected = expected.map(|(operation, code)| ((operation.to_owned(), code.to_owned()), 10));
    assert_eq!(codes, HashMap::from(expected));

    // Ten characters of any secret would be too many.
    for secret in &secrets {
        let hex: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        for written in [
            hex.to_uppercase(),
            hex,
            base64(secret),
            format!("{secret:?}"),
        ] {
            assert!(!text.contains(&written[..10]), "{written}");
        }
    }
    for name in ["rsa2048", "rsa1024"] {
        let pem = fs::read_to_string(format!("{KEYS}/{name}.pem")).unwrap();
        for line in pem.lines().filter(|line| !line.starts_with('-')) {
            assert!(!text.contains(&line[..10.min(line.len())]));
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_nothing_matches_is_in_the_audit() {
    let home = Home::new(&["alice", "mallory"]);
    let rest = EVERYTHING.replace("\"*\"\nkeys", "\"alice\"\nkeys");
    let rest = format!("{rest}\n[audit]\nfile = \"audit.jsonl\"\n");
    let server = Server::start(home.config(&rest)).await.unwrap();
    let client = Client::new(home.settings("mallory", &[&server])).unwrap();
    let random = Operation::Random(proto::Random { bytes: 1 });
    let options = CallOptions {
        timeout: Some(Duration::from_secs(2)),
        is_urgent: false,
        ..CallOptions::default()
    };
    let refused = client.call(random, options).await.unwrap_err();
    assert!(refused.message.contains("matches \"mallory\""), "{refused}");
    assert_eq!(server.stop().await, 0);
    let path = home.path().join("audit.jsonl");
    let line = async || {
        fs::read_to_string(&path)
            .unwrap()
            .lines()
            .next()
            .map(str::to_owned)
    };
    let line = until_some("a line", line).await;
    let entry: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(entry["client"], "mallory");
    assert_eq!(entry["code"], "PERMISSION_DENIED");
    assert_eq!(entry["operation"], "none");
}

fn base64(bytes: &[u8]) -> String {
    let digits = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let three = |three: &[u8]| {
        let bits = three
            .iter()
            .fold(0u32, |bits, byte| bits << 8 | u32::from(*byte));
        [18, 12, 6, 0].map(|shift| char::from(digits[(bits >> shift & 63) as usize]))
    };
    bytes.chunks_exact(3).flat_map(three).collect()
}
