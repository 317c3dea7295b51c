//! Processes that compute together and are killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use oarlock_local::Client;
use oarlock_testing::process::{as_child, is_child};

use crate::common::{Served, rsa, surely};

/// Runs this test in a separate process, which computes for `seconds` or until it is killed.
fn another(path: &Path, seconds: &str) -> Child {
    let mut command = Command::new(std::env::current_exe().unwrap());
    as_child(&mut command)
        .env(SOCKET, path)
        .env(SECONDS, seconds);
    command.arg("--nocapture").stdout(Stdio::piped());
    command.spawn().unwrap()
}

const SOCKET: &str = "OARLOCK_TEST_SOCKET";
const SECONDS: &str = "OARLOCK_TEST_SECONDS";

/// Computes in the child, and prints the number of powers computed together.
fn compute() {
    let Some(rsa) = rsa(2048) else { return };
    let client = Client::new(std::env::var_os(SOCKET).unwrap());
    let seconds: f64 = std::env::var(SECONDS).unwrap().parse().unwrap();
    let until = Instant::now() + Duration::from_secs_f64(seconds);
    let (mut number, mut together) = (std::process::id(), 0);
    while Instant::now() < until {
        number += 1;
        let number = number.to_be_bytes();
        let expected = rsa.raw_private(&number).unwrap();
        if let Some(power) = client.visit(&rsa).and_then(|visit| visit.power(&number)) {
            assert_eq!(power, expected);
            together += 1;
        }
    }
    println!("\ntogether: {together}");
}

fn together(child: Child) -> usize {
    let output = child.wait_with_output().unwrap();
    let said = oarlock_testing::lossy(&output.stdout);
    assert!(output.status.success(), "{said}");
    let count = said
        .lines()
        .find_map(|line| line.strip_prefix("together: "));
    count.unwrap().parse().unwrap()
}

#[test]
fn processes_compute_together() {
    if is_child() {
        return compute();
    }
    let Some(rsa) = rsa(2048) else { return };
    let served = Served::new();
    let children: Vec<_> = (0..6).map(|_| another(&served.path(), "1.5")).collect();
    let together: usize = children.into_iter().map(together).sum();
    assert!(together >= surely(&rsa, 50), "{together}");
}

/// Kills processes with a key and a board at any point, and checks that the others continue and get right powers.
#[test]
fn processes_that_are_killed_take_nobody_with_them() {
    if is_child() {
        return compute();
    }
    let Some(rsa) = rsa(2048) else { return };
    let served = Served::new();
    let others: Vec<_> = (0..4).map(|_| another(&served.path(), "4")).collect();
    let began = Instant::now();
    let mut killed = 0;
    while began.elapsed() < Duration::from_millis(3500) {
        let mut child = another(&served.path(), "60");
        std::thread::sleep(Duration::from_millis(100 + 7 * killed % 100));
        child.kill().unwrap();
        child.wait().unwrap();
        killed += 1;
    }
    let together: usize = others.into_iter().map(together).sum();
    assert!(
        together >= surely(&rsa, 20),
        "{together}, {killed} were killed"
    );
}

#[test]
fn a_process_that_is_stopped_is_not_waited_for() {
    if is_child() {
        return compute();
    }
    let Some(rsa) = rsa(2048) else { return };
    let served = Served::new();
    let stopped: Vec<_> = (0..4).map(|_| another(&served.path(), "2")).collect();
    std::thread::sleep(Duration::from_millis(700));
    let signal = |signal: rustix::process::Signal| {
        for child in &stopped {
            let pid = rustix::process::Pid::from_child(child);
            rustix::process::kill_process(pid, signal).unwrap();
        }
    };
    signal(rustix::process::Signal::STOP);
    // They are stopped at any point, perhaps holding requests of the others.
    let others: Vec<_> = (0..4).map(|_| another(&served.path(), "1.5")).collect();
    let together_of_others: usize = others.into_iter().map(together).sum();
    signal(rustix::process::Signal::CONT);
    for child in stopped {
        together(child);
    }
    assert!(together_of_others >= surely(&rsa, 1));
}
