//! The kinds of hostile clients.
//!
//! ```text
//! requests.rs     what is asked: too much, wrong numbers, long names, odd deadlines
//! replies.rs      what is not read, and what is given up
//! frames.rs       HTTP/2 below gRPC: resets, headers, windows, floods of frames
//! connections.rs  TCP and TLS: silence, churn, new keys, certificates
//! pages.rs        the metrics port
//! networks.rs     connections from many addresses
//! ```

mod connections;
mod frames;
mod networks;
mod pages;
mod replies;
mod requests;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::course::Ended;
use crate::{Course, Target};

/// A kind of hostile client.
#[derive(Debug)]
pub struct Kind {
    /// Its name, of lower-case words and hyphens.
    pub name: &'static str,
    /// What it does.
    pub what: &'static str,
    /// How many actions show it.
    pub actions: u64,
    /// The honest client whose load is like its own.
    pub neighbour: Neighbour,
    /// How many connections it has at the same time at least.
    connections: usize,
    session: Session,
}

/// What an honest client does that loads a server as much as a hostile one would.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Neighbour {
    /// It has a connection, and asks for a signature now and then.
    Quiet,
    /// It asks for as many signatures as the server makes.
    Signatures,
    /// It asks for as many powers of 4096 bits as the server makes.
    Powers,
    /// It makes as many short calls as the server answers: [`calls`](crate::calls).
    Calls,
    /// It asks for as many signatures as the server makes, each in a call of its own:
    /// [`signatures`](crate::signatures).
    SignatureCalls,
    /// It asks for the list of keys as often as the server answers: [`lists`](crate::lists).
    Lists,
    /// It asks for as many random bytes as the server sends.
    Bytes,
    /// It connects, makes a call and leaves, again and again.
    Newcomers,
}

type Session = fn(Arc<Target>, Arc<Course>) -> Pin<Box<dyn Future<Output = Ended> + Send>>;

impl Kind {
    /// Behaves like this until the end of the course. A connection that the server closes is
    /// followed by another.
    pub async fn run(&'static self, target: &Arc<Target>, course: &Arc<Course>) {
        let mut sessions = JoinSet::new();
        for _ in 0..self.connections {
            let (target, course) = (Arc::clone(target), Arc::clone(course));
            sessions.spawn(async move {
                tokio::select! {
                    () = self.act(target, &course) => {}
                    () = course.ended() => {}
                }
            });
        }
        while sessions.join_next().await.is_some() {}
    }

    async fn act(&self, target: Arc<Target>, course: &Arc<Course>) {
        while course.goes_on() {
            let ended = (self.session)(Arc::clone(&target), Arc::clone(course)).await;
            if ended.is_err() {
                course.session_ended();
                sleep(RETRY_AFTER).await;
            }
        }
        course.ended().await;
    }
}

/// An honest client of short calls, up to 64 of them under way. It reads every answer.
pub async fn calls(target: &Arc<Target>, course: &Arc<Course>) {
    tokio::select! {
        // An error is the end of its connection.
        _ = requests::honest_calls(target, course) => {}
        () = course.ended() => {}
    }
}

/// The same of signatures.
pub async fn signatures(target: &Arc<Target>, course: &Arc<Course>) {
    tokio::select! {
        _ = requests::honest_signatures(target, course) => {}
        () = course.ended() => {}
    }
}

/// The same of lists of keys.
pub async fn lists(target: &Arc<Target>, course: &Arc<Course>) {
    tokio::select! {
        _ = requests::honest_lists(target, course) => {}
        () = course.ended() => {}
    }
}

/// All kinds.
pub fn kinds() -> &'static [Kind] {
    KINDS
}

/// The kind of this name.
pub fn kind(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

macro_rules! table {
    ($($name:literal: $what:literal, $actions:literal actions, $connections:literal connections, like $neighbour:ident => $module:ident::$run:ident;)+) => {
        &[$(Kind {
            name: $name,
            what: $what,
            actions: $actions,
            connections: $connections,
            neighbour: Neighbour::$neighbour,
            session: |target, course| Box::pin($module::$run(target, course)),
        }),+]
    };
}

#[rustfmt::skip]
const KINDS: &[Kind] = table! {
    "composite-primes": "mod_exp with numbers that are consistent, but whose primes are composite", 256 actions, 1 connections, like Signatures => requests::composite_primes;
    "checked-primes": "mod_exp with 4096-bit numbers, of which the last to be checked is wrong", 512 actions, 2 connections, like Signatures => requests::checked_primes;
    "long-exponents": "mod_exp with an exponent of 8,192 bytes and a short deadline", 64 actions, 2 connections, like Signatures => requests::long_exponents;
    "key-names": "a signature with another key's name each time", 4000 actions, 1 connections, like Calls => requests::key_names;
    "long-key-ids": "a signature with a key id of 900 KB", 48 actions, 1 connections, like Calls => requests::long_key_ids;
    "escaped-key-ids": "key ids of 255 control characters", 4000 actions, 2 connections, like Calls => requests::escaped_key_ids;
    "odd-names": "key ids with control characters, quotes and invalid UTF-8", 500 actions, 1 connections, like Calls => requests::odd_names;
    "odd-schemes": "signatures by each scheme and none, with digests of other lengths, and keys of other types", 2000 actions, 1 connections, like Calls => requests::odd_schemes;
    "long-messages": "messages of 64 KiB to be signed whole, as fast as the server takes requests", 800 actions, 2 connections, like Bytes => requests::long_messages;
    "nothing": "empty messages, batches, requests, names and numbers", 500 actions, 1 connections, like Calls => requests::nothing;
    "odd-deadlines": "deadlines of zero, of years, and no deadlines at all, in both places for them", 500 actions, 1 connections, like SignatureCalls => requests::odd_deadlines;
    "at-the-limit": "messages as long as allowed, a byte longer, and of 4 GiB by their own account", 40 actions, 2 connections, like Bytes => requests::at_the_limit;
    "unfinished-messages": "long messages on every stream, each without its last byte", 256 actions, 4 connections, like Bytes => requests::unfinished_messages;
    "kept-buffers": "a message of 1 MiB on every stream, each complete, and then nothing", 400 actions, 4 connections, like Bytes => requests::kept_buffers;
    "flood-sign": "signatures, as fast as the server takes requests", 1500 actions, 2 connections, like Signatures => requests::flood_sign;
    "flood-decrypt": "decryptions, as fast as the server takes requests", 1500 actions, 2 connections, like Signatures => requests::flood_decrypt;
    "flood-raw-private": "raw private operations, as fast as the server takes requests", 1500 actions, 2 connections, like Signatures => requests::flood_raw_private;
    "flood-mod-exp": "powers of 4096 bits, as fast as the server takes requests", 600 actions, 2 connections, like Powers => requests::flood_mod_exp;
    "longest-powers": "powers with the longest numbers that the server takes", 64 actions, 2 connections, like Powers => requests::longest_powers;
    "flood-random": "64 KiB of random bytes, as fast as the server takes requests", 1500 actions, 2 connections, like Bytes => requests::flood_random;
    "flood-list": "lists of keys, a hundred under way", 1500 actions, 2 connections, like Lists => requests::flood_list;
    "flood-calls": "short calls, a hundred under way", 1500 actions, 2 connections, like Calls => requests::flood_calls;
    "flood-health": "health checks, and as many watches as there are streams", 1500 actions, 2 connections, like Calls => requests::flood_health;
    "flood-reflection": "reflection streams, and requests on them", 1000 actions, 2 connections, like Calls => requests::flood_reflection;
    "random-unread": "random bytes that it opens no window for, on as many streams as it may", 4000 actions, 2 connections, like Quiet => replies::random_unread;
    "replies-unread": "signatures whose replies it does not read from the socket", 2000 actions, 2 connections, like Signatures => replies::unread;
    "waiting-messages": "messages of 16,384 requests on every stream, whose replies it opens no window for", 400 actions, 4 connections, like Bytes => replies::waiting_messages;
    "slow-reader": "random bytes, read one by one now and then", 1000 actions, 2 connections, like Quiet => replies::slow_reader;
    "zero-windows": "calls with windows of zero for the replies", 1000 actions, 2 connections, like Calls => replies::zero_windows;
    "cancelled": "requests that it takes back while they are under way", 1000 actions, 2 connections, like Signatures => replies::cancelled;
    "many-streams": "as many streams as there may be, and more, with requests on each", 1500 actions, 4 connections, like Signatures => replies::many_streams;
    "rapid-reset": "calls reset at once (CVE-2023-44487)", 3000 actions, 2 connections, like Calls => frames::rapid_reset;
    "made-reset": "frames that make the server reset streams (CVE-2025-8671)", 3000 actions, 2 connections, like Calls => frames::made_reset;
    "huge-headers": "headers of 1 MiB", 40 actions, 2 connections, like Calls => frames::huge_headers;
    "many-headers": "thousands of short headers, and short references to long ones", 100 actions, 2 connections, like Calls => frames::many_headers;
    "continuations": "headers that never end (CVE-2024-27316)", 2000 actions, 2 connections, like Calls => frames::continuations;
    "pings": "PINGs, whose answers it does not read", 20000 actions, 2 connections, like Calls => frames::pings;
    "settings": "SETTINGS, whose acknowledgements it does not read", 20000 actions, 2 connections, like Calls => frames::settings;
    "window-updates": "WINDOW_UPDATEs of one byte", 20000 actions, 2 connections, like Calls => frames::window_updates;
    "priorities": "PRIORITY frames for streams that do not exist", 20000 actions, 2 connections, like Calls => frames::priorities;
    "empty-frames": "DATA frames without data (CVE-2019-9518)", 20000 actions, 2 connections, like Calls => frames::empty_frames;
    "odd-paths": "calls of methods that do not exist, with odd names", 1000 actions, 2 connections, like Calls => frames::odd_paths;
    "junk": "bytes that are no frames", 100 actions, 2 connections, like Newcomers => frames::junk;
    "many-connections": "connections that it keeps and does not use", 120 actions, 4 connections, like Newcomers => connections::many;
    "churn": "a connection for each request", 60 actions, 2 connections, like Newcomers => connections::churn;
    "broken-handshakes": "handshakes that it breaks off", 300 actions, 4 connections, like Newcomers => connections::broken_handshakes;
    "silent": "TCP connections to the TLS port that say nothing", 600 actions, 4 connections, like Newcomers => connections::silent;
    "silent-networks": "silent connections to the TLS port from 256 addresses, 3,400 a second", 10000 actions, 4 connections, like Newcomers => networks::silent;
    "begun-networks": "the first byte of a handshake from 256 addresses, 3,400 times a second", 10000 actions, 4 connections, like Newcomers => networks::begun;
    "slow-writer": "a request, a byte now and then", 200 actions, 16 connections, like Quiet => connections::slow_writer;
    "half-open": "the beginning of a frame, and no more", 60 actions, 4 connections, like Newcomers => connections::half_open;
    "key-updates": "new TLS keys asked for, as often as it can", 3000 actions, 2 connections, like Calls => connections::key_updates;
    "renegotiation": "a new handshake on a connection that has had one", 40 actions, 2 connections, like Newcomers => connections::renegotiation;
    "client-per-request": "a client of its own for each request, each with a certificate that a pattern matches", 60 actions, 2 connections, like Newcomers => connections::client_per_request;
    "expiring": "a stream that goes on when its certificate has expired", 400 actions, 2 connections, like Quiet => connections::expiring;
    "idle-pages": "connections to the metrics port that ask for nothing", 120 actions, 4 connections, like Quiet => pages::idle;
    "idle-networks": "silent connections to the metrics port from 256 addresses, 3,400 a second", 10000 actions, 4 connections, like Newcomers => networks::idle;
    "slow-pages": "requests to the metrics port, a byte now and then", 400 actions, 64 connections, like Quiet => pages::slow;
    "flood-pages": "pages of metrics, as fast as they come", 200 actions, 4 connections, like Calls => pages::flood;
    "unread-pages": "pages of metrics asked for on one connection, and not read", 3000 actions, 64 connections, like Calls => pages::unread;
    "odd-pages": "requests to the metrics port with huge headers, long bodies, and no HTTP at all", 200 actions, 4 connections, like Calls => pages::odd;
};

/// A server that refuses connections is not asked again at once.
const RETRY_AFTER: Duration = Duration::from_millis(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_once_and_found_by_their_names() {
        for one in kinds() {
            let found = kind(one.name);
            assert!(
                found.is_some_and(|found| std::ptr::eq(found, one)),
                "{}",
                one.name
            );
            let is_plain = |char: char| char.is_ascii_lowercase() || char == '-';
            assert!(one.name.chars().all(is_plain) && one.actions > 0 && one.connections > 0);
        }
        assert!(kind("honest").is_none());
    }
}
