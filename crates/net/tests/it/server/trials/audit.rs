//! The audit of servers whose disk is full, and of clients that try to fill it.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock_net::proto::cryptoserver_client::CryptoserverClient;
use oarlock_net::proto::{self, reply, request};
use oarlock_net::server::Server;
use oarlock_testing::process::is_child;
use oarlock_testing::{alone, is_root};
use prost::Message as _;
use serde_json::Value;
use tempfile::TempDir;
use tonic::Code;
use tonic::transport::Channel;

use super::{asked, batch, connect, exchange, metric, page, plaintext, raw, soon};
use crate::waiting::until_some;

/// A server with its audit on a disk of 16 KiB.
struct Full {
    folder: TempDir,
    server: Server,
    client: CryptoserverClient<Channel>,
    /// The number of answers so far, by code.
    answers: HashMap<Code, u64>,
}

impl Full {
    async fn start(setting: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        mount(&["-t", "tmpfs", "-o", "size=16k", "tmpfs"], folder.path());
        let audit = folder.path().join("audit.jsonl");
        let rest = format!("[audit]\nfile = {audit:?}\n{setting}");
        let server = Server::start(plaintext("", &rest)).await.unwrap();
        let client = connect(&server).await;
        Self {
            folder,
            server,
            client,
            answers: HashMap::new(),
        }
    }

    /// Sends every request in every way, and counts the answers.
    async fn ask(&mut self, rounds: u64) {
        for number in 2..2 + rounds {
            let called = self.client.call(raw(number, number)).await;
            self.note(called.map_or_else(|status| status.code(), |_| Code::Ok));
            let listed = self
                .client
                .list_keys(proto::ListKeysRequest::default())
                .await;
            self.note(listed.map_or_else(|status| status.code(), |_| Code::Ok));
            let numbers = proto::ModExp {
                base: vec![2],
                exponent: vec![3],
                modulus: vec![0x91; 64],
                base_is_negative: false,
                byte_order: 0,
                crt: None,
            };
            let sign = proto::Sign {
                key_id: "rsa2048".into(),
                scheme: proto::SignatureScheme::RsaPssSha256.into(),
                digest: vec![7; 32],
            };
            // Wrong padding decrypts to some message.
            let decrypt = proto::Decrypt {
                key_id: "rsa2048".into(),
                scheme: proto::EncryptionScheme::RsaPkcs1.into(),
                ciphertext: vec![1; 256],
                ..Default::default()
            };
            let requests = [
                raw(0, number),
                asked(1, request::Operation::Random(proto::Random { bytes: 9 })),
                asked(2, request::Operation::ModExp(numbers)),
                asked(3, request::Operation::Sign(sign)),
                asked(4, request::Operation::Decrypt(decrypt)),
            ];
            let (replies, ended) = exchange(&mut self.client, vec![batch(requests)]).await;
            assert!(ended.is_ok() && replies.len() == 5, "{ended:?} {replies:?}");
            for mut reply in replies {
                match reply.outcome.take().unwrap() {
                    reply::Outcome::Result(_) => self.note(Code::Ok),
                    reply::Outcome::Failure(failure) => self.note(Code::from(failure.code)),
                    items @ reply::Outcome::Items(_) => panic!("{items:?}"),
                }
            }
        }
    }

    fn note(&mut self, code: Code) {
        *self.answers.entry(code).or_default() += 1;
    }

    fn answers(&self, code: Code) -> u64 {
        self.answers.get(&code).copied().unwrap_or(0)
    }

    /// Returns the lines, all of which must be whole.
    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.folder.path().join("audit.jsonl")).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{text}");
        let lines = text.lines();
        lines
            .map(|line| {
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
            })
            .collect()
    }

    fn count(&self, code: &str) -> u64 {
        count(&self.lines(), code)
    }

    async fn health(&self) -> (u16, String) {
        page(self.server.metrics().unwrap(), "/healthz").await
    }

    async fn unwritten(&self) -> u64 {
        metric(&self.server, "oarlock_audit_unwritten_total", &[]).await
    }

    fn grow(&self) {
        mount(&["-o", "remount,size=1m"], self.folder.path());
    }
}

/// Returns the number of requests that the lines with a code count.
fn count(lines: &[Value], code: &str) -> u64 {
    let of_code = lines.iter().filter(|line| line["code"] == code);
    of_code
        .map(|line| line["count"].as_u64().unwrap_or(1))
        .sum()
}

pub fn mount(options: &[&str], at: &Path) {
    let mounted = Command::new("mount").args(options).arg(at).status();
    assert!(mounted.unwrap().success());
}

/// Runs `test` in a mount namespace, where it may mount a file system.
pub fn in_its_own_mounts(test: impl Future<Output = ()>) {
    if !is_child() && !is_root("a disk that is full") {
        return;
    }
    if alone(&["unshare", "--mount"]) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(test);
}

/// Covers powers, signatures, decryption, lists, random bytes and powers of a client's numbers, as calls and in streams; while the disk has room,
/// when it is full in the middle of a line, and when there is room again.
#[test]
fn nothing_is_answered_without_a_line_where_the_disk_is_full() {
    in_its_own_mounts(async {
        let mut full = Full::start("").await;
        full.ask(5).await;
        assert_eq!(full.answers(Code::Ok), 35);
        assert_eq!((full.count("OK"), full.health().await.0), (35, 200));
        full.ask(40).await;
        let (given, refused) = (full.answers(Code::Ok), full.answers(Code::Unavailable));
        assert_eq!(given + refused, 315, "{:?}", full.answers);
        assert!(given > 35 && refused > 0, "{:?}", full.answers);
        assert_eq!(full.count("OK"), given);
        let unwell = (503, "the audit cannot be written\n".to_owned());
        assert_eq!(full.health().await, unwell);
        assert_eq!(metric(&full.server, "oarlock_audit_up", &[]).await, 0);
        assert_eq!(
            metric(&full.server, "oarlock_audit_lines_total", &[]).await,
            given
        );
        assert!((1..=refused).contains(&full.unwritten().await));
        // Every request is refused now, in every way.
        full.answers.clear();
        full.ask(2).await;
        assert_eq!(full.answers, HashMap::from([(Code::Unavailable, 14)]));

        full.grow();
        let is_well = async || (full.health().await.0 == 200).then_some(());
        until_some("a server that is well again", is_well).await;
        full.answers.clear();
        full.ask(20).await;
        assert_eq!(full.answers, HashMap::from([(Code::Ok, 140)]));
        assert_eq!(full.count("OK"), given + 140);
        // One line has the exact number of missing lines. Refusals after that may share a line.
        let unwritten = full.unwritten().await;
        assert_eq!(metric(&full.server, "oarlock_audit_up", &[]).await, 1);
        assert_eq!(full.server.stop().await, 0);
        let lines = full.lines();
        let gaps = lines.iter().filter(|line| line["operation"] == "audit");
        assert_eq!(gaps.count(), 1, "{lines:?}");
        assert_eq!(count(&lines, "DATA_LOSS"), unwritten);
        assert_eq!(unwritten + count(&lines, "UNAVAILABLE"), refused + 14);
    });
}

/// Sends many requests at once: those whose lines fit into one write are answered, and the rest are refused.
#[test]
fn signatures_are_as_many_as_lines_where_a_disk_fills_under_load() {
    in_its_own_mounts(async {
        let mut full = Full::start("").await;
        let batches = (0..20).map(|one| batch((0..20).map(|id| raw(20 * one + id, id + 2))));
        let (replies, _) = exchange(&mut full.client, batches.collect()).await;
        assert_eq!(replies.len(), 400);
        let is_given =
            |reply: &&proto::Reply| matches!(reply.outcome, Some(reply::Outcome::Result(_)));
        let given = replies.iter().filter(is_given).count() as u64;
        assert!((1..400).contains(&given), "{given}");
        assert_eq!(full.count("OK"), given);
        full.grow();
        let is_well = async || (full.health().await.0 == 200).then_some(());
        until_some("a server that is well again", is_well).await;
        assert_eq!(full.server.stop().await, 0);
        // Refusals after the disk was known to be full may share a line.
        let lines = full.lines();
        let untold = count(&lines, "DATA_LOSS") + count(&lines, "UNAVAILABLE");
        assert_eq!((count(&lines, "OK"), untold), (given, 400 - given));
    });
}

#[test]
fn an_audit_that_is_not_required_loses_lines_and_counts_them() {
    in_its_own_mounts(async {
        let mut full = Full::start("required = false\n").await;
        full.ask(40).await;
        assert_eq!(full.answers, HashMap::from([(Code::Ok, 280)]));
        assert_eq!(full.health().await.0, 200);
        let unwritten = async || {
            let written = metric(&full.server, "oarlock_audit_lines_total", &[]).await;
            (written + full.unwritten().await == 280).then_some(written)
        };
        let written = until_some("all lines", unwritten).await;
        assert!(written < 280);
        assert_eq!(full.count("OK"), written);
        full.grow();
        let told = async || (full.count("DATA_LOSS") == 280 - written).then_some(());
        until_some("a line about those that are missing", told).await;
        assert_eq!(full.server.stop().await, 0);
    });
}

/// Uses a device that never has room, so that root is not needed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_never_writes_a_line_never_answers() {
    let rest = "[audit]\nfile = \"/dev/full\"\n";
    let server = Server::start(plaintext("", rest)).await.unwrap();
    let mut client = connect(&server).await;
    for number in 2..10 {
        let refused = soon("a refusal", client.call(raw(number, number))).await;
        let refused = refused.unwrap_err();
        assert_eq!(refused.code(), Code::Unavailable);
        assert!(
            refused.message().contains("cannot write its audit"),
            "{refused}"
        );
    }
    assert_eq!(page(server.metrics().unwrap(), "/healthz").await.0, 503);
    assert_eq!(server.stop().await, 0);
}

/// Checks that a client makes the server write less than it sends. Covers names that are escaped, long names, and many
/// different ones; of keys that it may use and of others.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn refusals_take_less_of_the_disk_than_they_took_to_send() {
    for keys in ["*", "rsa1024"] {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("audit.jsonl");
        let rest = format!("[audit]\nfile = {path:?}\n");
        let mut config = plaintext("", &rest);
        config.clients[0].keys = vec![oarlock_net::server::access::Pattern::new(keys)];
        let server = Server::start(config).await.unwrap();
        let mut client = connect(&server).await;
        let name = |number: usize| match number % 3 {
            0 => "\u{1}".repeat(255),
            1 => "\\\"".repeat(127),
            _ => format!("{number}"),
        };
        let requests = (0..6000).map(|number| {
            let sign = proto::Sign {
                key_id: name(number),
                scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
                digest: vec![7; 32],
            };
            asked(number as u64, request::Operation::Sign(sign))
        });
        let requests: Vec<_> = requests.collect();
        let batches: Vec<_> = requests
            .chunks(100)
            .map(|some| batch(some.to_vec()))
            .collect();
        let sent: usize = batches.iter().map(|it| it.encoded_len()).sum();
        let (replies, ended) = exchange(&mut client, batches).await;
        assert!(ended.is_ok() && replies.len() == 6000, "{ended:?}");
        assert_eq!(server.stop().await, 0);

        let text = fs::read_to_string(&path).unwrap();
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect();
        let longest = text.lines().map(str::len).max().unwrap();
        assert!(longest <= 1024, "a line of {longest} bytes");
        assert!(
            text.len() < sent / 10,
            "{} bytes written for {sent}",
            text.len()
        );
        // Each is counted once.
        let code = if keys == "*" {
            "NOT_FOUND"
        } else {
            "PERMISSION_DENIED"
        };
        assert_eq!(count(&lines, code), 6000);
    }
}
