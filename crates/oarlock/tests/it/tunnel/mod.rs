//! The tunnel example: between two hosts, under attack, and with the kernel and strongSwan at its other end.

mod hosts;
mod kernel;
mod strongswan;

use std::collections::VecDeque;
use std::fs::{self, Permissions};
use std::net::{IpAddr, UdpSocket};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

use oarlock_testing::{lossy, until};

use self::hosts::Host::{A, B};
use self::hosts::{
    BLOCK_BYTES, End, Totals, answers, new_keys, on, on_two_hosts, says, says_at, succeeded,
    transfer, tunnel,
};

const INNER_A: &str = "10.78.0.1";
const INNER_B: &str = "10.78.0.2";

/// Starts an end on each host.
fn two_ends(folder: &Path, suite: &str, words: &str) -> (End, End) {
    let [a, b] = new_keys(folder, suite);
    let a_words = format!("--address {INNER_A}/24 --peer 10.77.0.2:4500 {words}");
    let b_words = format!("--address {INNER_B}/24 --peer 10.77.0.1:4500 {words}");
    (End::start(A, &a, &a_words), End::start(B, &b, &b_words))
}

#[track_caller]
fn assert_nothing_was_refused(ends: [&Totals; 2]) {
    for totals in ends {
        assert_eq!(totals.refused(), 0, "{totals:?}");
    }
}

#[test]
fn it_carries_pings_and_both_ways_what_was_sent() {
    if on_two_hosts() {
        return;
    }
    const BLOCKS: usize = 32;
    for (suite, words) in [
        ("aes128gcm", ""),
        ("aes256gcm", "--workers 2"),
        ("chacha20poly1305", "--workers 0 --mtu 1280"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let (a, b) = two_ends(folder.path(), suite, words);
        answers("", INNER_B);
        thread::scope(|scope| {
            scope.spawn(|| transfer(A, INNER_B.parse().unwrap(), |sent| sent < BLOCKS));
            scope.spawn(|| transfer(B, INNER_A.parse().unwrap(), |sent| sent < BLOCKS));
        });
        let (a, b) = (a.interrupt(), b.interrupt());
        assert_nothing_was_refused([&a, &b]);
        for totals in [a, b] {
            for way in ["bytes out", "bytes in"] {
                assert!(
                    totals.of(way) > (BLOCKS * BLOCK_BYTES) as u64,
                    "{suite}: {totals:?}"
                );
            }
        }
    }
}

#[test]
fn it_carries_ipv6_in_ipv6() {
    if on_two_hosts() {
        return;
    }
    says("ip address add fd77::1/64 dev wire nodad");
    says_at(B, "ip address add fd77::2/64 dev wire nodad");
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = new_keys(folder.path(), "aes256gcm");
    let listens = "--listen [::]:4500";
    let words = format!("--address fd78::1/64 --peer [fd77::2]:4500 {listens}");
    let a = End::start(A, &a, &words);
    let words = format!("--address fd78::2/64 --peer [fd77::1]:4500 {listens}");
    let b = End::start(B, &b, &words);
    let inner: IpAddr = "fd78::2".parse().unwrap();
    // The address is usable once duplicate address detection has ended.
    until("the address is usable", || {
        !says_at(B, "ip -6 address show dev inner tentative").contains("fd78::2")
            && !says("ip -6 address show dev inner tentative").contains("fd78::1")
    });
    assert_eq!(transfer(A, inner, |sent| sent < 16), 16);
    assert_nothing_was_refused([&a.interrupt(), &b.interrupt()]);
}

/// Everything from A to B passes an attacker, who keeps copies and resends them during the transfer, altered and unaltered.
#[test]
fn replayed_and_forged_datagrams_are_dropped_while_a_transfer_goes_on() {
    if on_two_hosts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = new_keys(folder.path(), "aes256gcm");
    let words = format!("--address {INNER_A}/24 --peer 10.77.0.1:4600");
    let relay = on(A, || UdpSocket::bind("10.77.0.1:4600").unwrap());
    let a = End::start(A, &a, &words);
    let words = format!("--address {INNER_B}/24 --peer 10.77.0.1:4500");
    let b = End::start(B, &b, &words);

    let kept = Mutex::new(VecDeque::<Vec<u8>>::new());
    let is_over = AtomicBool::new(false);
    let sent_before = AtomicUsize::new(0);
    let sent_blocks = AtomicUsize::new(0);
    let blocks = thread::scope(|scope| {
        scope.spawn(|| {
            let mut datagram = [0; 2048];
            loop {
                let bytes = relay.recv(&mut datagram).unwrap();
                if bytes == 0 {
                    return;
                }
                relay.send_to(&datagram[..bytes], "10.77.0.2:4500").unwrap();
                let mut kept = kept.lock().unwrap();
                kept.push_back(datagram[..bytes].to_vec());
                // Keep some of the first, and some of the last.
                if kept.len() > 100 {
                    kept.remove(50);
                }
            }
        });
        let attacks = scope.spawn(|| {
            until("there are packets to copy", || {
                kept.lock().unwrap().len() == 100
            });
            sent_before.store(sent_blocks.load(Ordering::Relaxed), Ordering::Relaxed);
            let stranger = UdpSocket::bind("10.77.0.1:0").unwrap();
            let send = |datagram: &[u8]| {
                stranger.send_to(datagram, "10.77.0.2:4500").unwrap();
            };
            until("all kinds were dropped", || {
                let copies: Vec<_> = kept.lock().unwrap().iter().cloned().collect();
                for (at, copy) in copies.iter().enumerate() {
                    send(copy);
                    let altered = |place: usize, change: u8| {
                        let mut altered = copy.clone();
                        altered[place] ^= change;
                        altered
                    };
                    // A number far ahead, which must not move the window; another association; and another tag under a new
                    // number.
                    send(&altered(4, 0x40));
                    send(&altered(at % 4, 1));
                    let mut forged = altered(copy.len() - 1, 1);
                    forged[6] ^= 0x80;
                    send(&forged);
                    // Datagrams that are not ESP packets: too short, not aligned, IKE, keepalive.
                    send(&copy[..20]);
                    send(&copy[..copy.len() - 1]);
                    send(&[0; 40]);
                    send(&[0xff]);
                }
                ["replayed", "forged", "foreign", "invalid"]
                    .iter()
                    .all(|what| b.dropped(what) >= 300)
            });
            is_over.store(true, Ordering::Relaxed);
        });
        let blocks = transfer(A, INNER_B.parse().unwrap(), |sent| {
            sent_blocks.store(sent, Ordering::Relaxed);
            // Some more after the transfer.
            let before = sent_before.load(Ordering::Relaxed);
            let is_over = is_over.load(Ordering::Relaxed);
            !is_over || sent < before + 64
        });
        attacks.join().unwrap();
        answers("", INNER_B);
        relay.send_to(&[], "10.77.0.1:4600").unwrap();
        blocks
    });
    let (a, b) = (a.interrupt(), b.interrupt());
    assert_eq!(a.refused(), 0, "nobody attacked {a:?}");
    // None of the dropped datagrams was a packet of A's.
    let carried = (blocks * BLOCK_BYTES) as u64;
    assert!(b.of("bytes in") > carried, "{b:?}");
    assert!(b.of("packets in") <= a.of("packets out"), "{a:?} {b:?}");
}

#[test]
fn workers_change_while_packets_flow() {
    if on_two_hosts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (mut a, mut b) = two_ends(folder.path(), "aes256gcm", "");
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            for round in 0..1000 {
                for end in [&mut a, &mut b] {
                    end.tell(&format!("workers {}", [0, 1, 2, 7][round % 4]));
                }
            }
            for (end, count) in [(&mut a, 3), (&mut b, 2)] {
                end.tell("workers many");
                end.until_said("tunnel: `workers many`: ");
                end.tell(&format!("workers {count}"));
                end.until_said(&format!("| {count} workers"));
            }
            is_over.store(true, Ordering::Relaxed);
        });
        transfer(B, INNER_A.parse().unwrap(), |sent| {
            sent < 32 || !is_over.load(Ordering::Relaxed)
        });
    });
    assert_nothing_was_refused([&a.interrupt(), &b.interrupt()]);
}

#[test]
fn keys_are_those_of_one_user_and_one_run() {
    let folder = tempfile::tempdir().unwrap();
    let [keys, other] = new_keys(folder.path(), "aes192gcm");
    let mode = fs::metadata(&keys).unwrap().permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    let again = tunnel().arg("keys").args([&keys, &other]).output().unwrap();
    assert!(!again.status.success() && lossy(&again.stderr).contains("exists"));

    let fails = |keys: &Path, part: &str| {
        let words = [
            "run",
            "--address",
            "10.78.0.1/24",
            "--peer",
            "127.0.0.1:4500",
            "--keys",
        ];
        let output = tunnel().args(words).arg(keys).output().unwrap();
        let said = lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(
            said.starts_with("tunnel: ") && said.contains(part),
            "{said} lacks {part}"
        );
        assert_eq!(said.lines().count(), 1, "{said}");
    };
    fails(&folder.path().join("none"), "none: No such file");
    fails(folder.path(), "not a regular file");
    let good = fs::read_to_string(&keys).unwrap();
    fs::set_permissions(&keys, Permissions::from_mode(0o640)).unwrap();
    fails(&keys, "mode 0640");
    fs::set_permissions(&keys, Permissions::from_mode(0o600)).unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&keys, &link).unwrap();
    fails(&link, "link: ");

    let [first, second] = [0, 1].map(|at| good.lines().nth(at).unwrap().to_owned());
    let words: Vec<_> = first.split(' ').collect();
    let short = first.replace(words[3], &words[3][2..]);
    let second_key = second.split(' ').nth(3).unwrap();
    for (text, part) in [
        (String::new(), "a line `out` and a line `in`"),
        (
            format!("{first}\n# {second}\n"),
            "a line `out` and a line `in`",
        ),
        (format!("{first}\n{first}\n"), "line 2: a second `out`"),
        (first.replace("out", "up"), "line 1: a direction is"),
        (
            format!("\n{} {}", words[0], words[1]),
            "line 2: the suite is missing",
        ),
        (
            first.replace("0x", ""),
            "line 1: the SPI has to begin with 0x",
        ),
        (first.replace("aes192gcm", "rot13"), "unknown suite `rot13`"),
        (format!("{first} salted"), "unknown word `salted`"),
        (format!("{first} window=5000"), "1 to 4096 packets"),
        (format!("{first} after=-1"), "`after` takes a number"),
        (first.replace(words[3], "xyz"), "the key is not hexadecimal"),
        (format!("{short}\n{second}"), "the line `out` of the keys: "),
        (good.replace(words[1], "0x0"), "an SPI of 0"),
        (good.replace(second_key, words[3]), "the same key"),
        ("#".repeat(5000), "less than 4096 bytes"),
    ] {
        fs::write(&keys, text).unwrap();
        fails(&keys, part);
        assert!(keys.exists(), "a run that does not begin uses no keys");
    }
}

#[test]
fn what_it_cannot_have_is_named() {
    if on_two_hosts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [a, b] = new_keys(folder.path(), "aes256gcm");
    let words = "--address 10.78.0.1/24 --peer 10.77.0.2:4500";
    let running = End::start(A, &a, words);
    let output = |words: &str| {
        let mut command = tunnel();
        command
            .args(["run", "--keys"])
            .arg(&b)
            .args(words.split(' '))
            .output()
            .unwrap()
    };
    for (more, code, part) in [
        (
            "--device inner --listen 10.77.0.1:4501",
            1,
            "cannot make the device inner: ",
        ),
        ("--device other", 1, "cannot listen on 0.0.0.0:4500: "),
        ("--device other --mtu 100", 2, "'--mtu <BYTES>'"),
        ("--device other --key 00", 2, "'--key'"),
    ] {
        let output = output(&format!("{words} {more}"));
        let said = lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{said}");
        assert!(said.contains(part), "{said}");
    }
    let wrong = output("--address 10.78.0.1/33 --peer 10.77.0.2:4500");
    assert!(lossy(&wrong.stderr).contains("more than the 32 bits"));
    running.interrupt();
    // The failed start did not use the keys up.
    let b = End::start(A, &b, words);
    b.interrupt();
    succeeded(&tunnel().arg("--help").output().unwrap());
}

/// An association ends before its sequence numbers repeat.
#[test]
fn it_ends_when_no_numbers_are_left() {
    if on_two_hosts() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let [a, _] = new_keys(folder.path(), "chacha20poly1305");
    let text = fs::read_to_string(&a).unwrap();
    let last = u64::MAX - 2;
    fs::write(&a, text.replacen("esn", &format!("esn after={last}"), 1)).unwrap();
    let mut end = End::start(A, &a, "--address 10.78.0.1/24 --peer 10.77.0.2:4500");
    let sends = UdpSocket::bind("10.78.0.1:0").unwrap();
    for _ in 0..3 {
        sends.send_to(&[0; 100], "10.78.0.2:9").unwrap();
    }
    end.until_said("no sequence numbers are left");
    end.fails();
}
