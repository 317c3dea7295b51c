//! Clients that do as they should not, beside one that does.

use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use oarlock_local::server::Limits;
use oarlock_testing::{noise, until};

use crate::common::{Raw, Served, key, key_frame, own_user, power_frame};

/// What the server says first: it goes on with a client that it answers.
const ALONE: u8 = 4;

fn is_served(served: &Served) -> bool {
    let honest = Raw::with_key(&served.path(), &key(2048));
    honest.say(&power_frame(0, 7, &[2]));
    let heard = honest.hear();
    matches!(heard[..], [1, ALONE, 7, 0, 0, 0])
}

#[test]
fn frames_that_are_none_end_a_connection_and_no_other() {
    let Some(served) = Served::new() else { return };
    let whole = key_frame(0, &key(2048));
    let noise = noise(4096);
    let mut frames: Vec<Vec<u8>> = vec![
        vec![0],
        vec![1],
        vec![1, 9, 0, 0],
        vec![2, 1, 0, 0],
        noise.clone(),
        whole[..whole.len() - 1].to_vec(),
        [&whole[..], &[0]].concat(),
        // Longer than any frame.
        [&whole[..], &noise[..], &noise[..]].concat(),
        // Slots that are not the next one.
        key_frame(1, &key(2048)),
        key_frame(u16::MAX, &key(2048)),
    ];
    // Lengths of numbers that reach beyond the frame.
    let mut beyond = whole.clone();
    beyond[4..6].copy_from_slice(&u16::MAX.to_le_bytes());
    frames.push(beyond);
    for frame in frames {
        let raw = Raw::to(&served.path());
        raw.say(&frame);
        assert_eq!(raw.hear(), [], "{:?}", &frame[..frame.len().min(8)]);
        assert!(is_served(&served));
    }
}

#[test]
fn keys_that_are_none_are_computed_with_by_nobody() {
    let Some(served) = Served::new() else { return };
    let whole = key_frame(0, &key(2048));
    let raw = Raw::to(&served.path());
    raw.say(&power_frame(0, 1, &[2]));
    assert_eq!(raw.hear(), [1, ALONE, 1, 0, 0, 0]);
    // A number of the key is changed: n, e, d, p ...
    let mut at = 4;
    for number in 0..8 {
        let length = usize::from(u16::from_le_bytes([whole[at], whole[at + 1]]));
        let mut frame = whole.clone();
        frame[at + 2 + length / 2] ^= 2;
        at += 2 + length;
        raw.say(&frame);
        raw.say(&power_frame(0, number, &[2]));
        let heard = raw.hear();
        assert_eq!(heard[..2], [1, ALONE], "number {number}: {heard:?}");
    }
    // Numbers that are too large for the modulus, or empty.
    raw.say(&whole);
    for number in [&[0xff; 256][..], &[1; 300], &[]] {
        raw.say(&power_frame(0, 9, number));
        let heard = raw.hear();
        assert!(heard[1] == ALONE, "{heard:?}");
    }
    assert!(is_served(&served));
}

#[test]
fn a_second_request_before_the_answer_ends_the_connection() {
    let Some(served) = Served::new() else { return };
    let raw = Raw::with_key(&served.path(), &key(2048));
    // Some are answered in between.
    let is_ended = (0..1000).any(|id| {
        raw.say(&power_frame(0, id, &[2]));
        raw.say(&power_frame(0, id, &[2]));
        raw.hear().is_empty() || raw.hear().is_empty()
    });
    assert!(is_ended);
    assert!(is_served(&served));
}

#[test]
fn one_that_does_not_read_is_hung_up_on() {
    let Some(served) = Served::new() else { return };
    let raw = Raw::with_key(&served.path(), &key(2048));
    until("the server hangs up", || {
        let frame = power_frame(0, 1, &[2]);
        let flags = rustix::net::SendFlags::NOSIGNAL | rustix::net::SendFlags::DONTWAIT;
        matches!(
            rustix::net::send(&raw.0, &frame, flags),
            Err(rustix::io::Errno::PIPE | rustix::io::Errno::CONNRESET)
        )
    });
    assert!(is_served(&served));
}

#[test]
fn other_users_and_too_many_connections_are_hung_up_on() {
    let limits = |users| Limits {
        users,
        connections: 64,
        connections_of_user: 4,
    };
    let Some(served) = Served::with(limits(vec![own_user() + 1])) else {
        return;
    };
    assert_eq!(Raw::to(&served.path()).hear(), []);
    drop(served);
    let Some(served) = Served::with(limits(vec![own_user()])) else {
        return;
    };
    let open: Vec<_> = (0..4).map(|_| Raw::to(&served.path())).collect();
    for raw in &open {
        raw.say(&power_frame(0, 1, &[2]));
        assert_eq!(raw.hear()[1], ALONE);
    }
    assert_eq!(Raw::to(&served.path()).hear(), []);
    drop(open);
    until("there is room again", || is_served(&served));
}

/// The connection is the parent's: a child, which may have lost rights, has no use of it.
#[test]
fn a_connection_is_of_no_use_to_another_process() {
    let Some(served) = Served::new() else { return };
    let raw = Raw::with_key(&served.path(), &key(2048));
    raw.say(&power_frame(0, 1, &[2]));
    assert_eq!(raw.hear()[..2], [1, ALONE]);
    let inherited: OwnedFd = raw.0.try_clone().unwrap();
    let frame: String = power_frame(0, 2, &[2])
        .iter()
        .map(|byte| format!("\\{byte:03o}"))
        .collect();
    let mut child = Command::new("printf");
    let status = child.arg(frame).stdout(Stdio::from(inherited)).status();
    assert!(status.unwrap().success());
    assert_eq!(raw.hear(), []);
    assert!(is_served(&served));
}

#[test]
fn clients_that_go_while_they_wait_leave_nothing_behind() {
    let Some(served) = Served::new() else { return };
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let key = key(2048);
    assert!(is_served(&served));
    let before = descriptors();
    for _ in 0..200 {
        let gone: Vec<_> = (0..3)
            .map(|id| {
                let raw = Raw::with_key(&served.path(), &key);
                raw.say(&power_frame(0, id, &[2]));
                raw
            })
            .collect();
        drop(gone);
    }
    // Other tests of this process have descriptors too.
    until("all are closed", || is_served(&served) && descriptors() <= before + 64);
}
