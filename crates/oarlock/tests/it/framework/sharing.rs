//! Several processes share a board. Some are killed or stopped, or overwrite their part of it: the others continue, with
//! correct results.

use std::io::{BufRead, BufReader, Read};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use oarlock::Algorithm;
use oarlock::device::{EngineBoard, SimulatedEngine, visible_cpu};
use oarlock::framework::{
    BreakerState, Check, Framework, FrameworkSession, Place, Request, SessionSpec,
};
use oarlock_testing::process::{as_child, is_child};
use oarlock_testing::{seeded_noise, until, until_some};

use super::references;
use crate::common::accelerator;

/// Returns a board that needs `request_us` microseconds for a request of any size.
fn board(request_us: u64) -> EngineBoard {
    EngineBoard {
        units: 1,
        bytes_per_second: 1_000_000_000_000,
        per_request: Duration::from_micros(request_us),
        latency: Duration::from_micros(20),
        key_setup: Duration::ZERO,
        ..EngineBoard::default()
    }
}

struct Shared {
    _folder: tempfile::TempDir,
    board: Board,
}

/// The shared board: its file, and its time for a request.
struct Board {
    path: PathBuf,
    request_us: u64,
}

impl Shared {
    fn new(queues: usize, request_us: u64) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("board");
        SimulatedEngine::create_shared(&path, &board(request_us), queues).unwrap();
        Self {
            _folder: folder,
            board: Board { path, request_us },
        }
    }

    /// Starts this test in another process that plays `role`, and returns when it has begun.
    fn neighbour(&self, role: &str) -> Neighbour {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let child = as_child(&mut command)
            .arg("--nocapture")
            .env(BOARD, &self.board.path)
            .env(REQUEST_US, self.board.request_us.to_string())
            .env(ROLE, role)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut neighbour = Neighbour(child);
        let mut lines = BufReader::new(neighbour.0.stdout.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains(BEGUN)), "{role}");
        neighbour
    }
}

/// Another process, killed on drop.
struct Neighbour(Child);

impl Neighbour {
    fn signal(&self, signal: rustix::process::Signal) {
        let process = rustix::process::Pid::from_child(&self.0);
        rustix::process::kill_process(process, signal).unwrap();
    }

    fn is_running(&mut self) -> bool {
        self.0.try_wait().unwrap().is_none()
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn open(of: &Board) -> Result<Arc<SimulatedEngine>, oarlock::Error> {
    let cpu = visible_cpu().unwrap();
    SimulatedEngine::open_shared("board", board(of.request_us), cpu, &of.path).map(Arc::new)
}

/// Returns this process's framework, with the board and nothing faster.
fn framework(board: &Board) -> (Framework, Arc<SimulatedEngine>) {
    let framework = Framework::new(&accelerator());
    let device = open(board).unwrap();
    framework
        .register(device.clone(), Check::Sample(0))
        .unwrap();
    (framework, device)
}

const KEY: [u8; 16] = [5; 16];
const IV: [u8; 12] = [9; 12];
const BYTES: usize = 100;

/// A session whose messages are numbered, so that a lost, doubled or changed one shows.
struct Numbered {
    session: FrameworkSession,
    number: u64,
    on_board: u64,
}

impl Numbered {
    fn new(framework: &Framework) -> Self {
        let spec = SessionSpec::aead(Algorithm::Aes128Gcm, &KEY, &IV);
        let session = framework.session(&spec).unwrap();
        Self {
            session,
            number: 0,
            on_board: 0,
        }
    }

    fn run(&mut self, count: usize) {
        let jobs: Vec<_> = (0..count)
            .map(|_| {
                let data = [vec![7; BYTES], vec![0; 16]].concat();
                let request = Request::encrypt(data).at(Place::Device);
                self.session.submit(request).unwrap()
            })
            .collect();
        for job in jobs {
            let answer = job.wait().unwrap();
            assert_eq!(answer.outcome, Ok(()));
            self.on_board += u64::from(&*answer.device == "board");
            assert!(
                answer.buffers.into_output() == sealed(self.number),
                "message {}",
                self.number
            );
            self.number += 1;
        }
    }
}

fn sealed(number: u64) -> Vec<u8> {
    let mut nonce = IV;
    let low = nonce[4..].iter_mut().zip(number.to_be_bytes());
    low.for_each(|(byte, number)| *byte ^= number);
    let mut data = vec![7; BYTES];
    let tag = references::seal(Algorithm::Aes128Gcm, &KEY, &nonce, &[], &mut data);
    [data, tag].concat()
}

/// Plays a neighbour's role until the process is killed; returns false in the test itself.
fn is_neighbour() -> bool {
    if !is_child() {
        return false;
    }
    let board = Board {
        path: PathBuf::from(std::env::var_os(BOARD).unwrap()),
        request_us: std::env::var(REQUEST_US).unwrap().parse().unwrap(),
    };
    let begun = || println!("{BEGUN}");
    // Ends even if the test does not.
    let end = Instant::now() + oarlock_testing::LIMIT;
    match &*std::env::var(ROLE).unwrap() {
        "works" => {
            let (framework, _device) = framework(&board);
            let mut messages = Numbered::new(&framework);
            messages.run(100);
            begun();
            while Instant::now() < end {
                messages.run(100);
            }
        }
        "writes over its queue" => {
            let device = open(&board).unwrap();
            let range = device.queue_bytes().unwrap();
            let file = std::fs::File::options()
                .write(true)
                .open(&board.path)
                .unwrap();
            let mut seed = 0;
            begun();
            while Instant::now() < end {
                seed += 1;
                let (bytes, at) = noise(seed, &range);
                file.write_all_at(&bytes, at).unwrap();
                // Sometimes the queue's head, with a plausible number.
                if seed % 4 == 0 {
                    file.write_all_at(&(seed % 2048).to_le_bytes(), range.start)
                        .unwrap();
                }
            }
        }
        "writes over all" => {
            let file = std::fs::File::options()
                .write(true)
                .open(&board.path)
                .unwrap();
            let all = 0..file.metadata().unwrap().len();
            let mut seed = 0;
            begun();
            while Instant::now() < end {
                seed += 1;
                let (bytes, at) = noise(seed, &all);
                file.write_all_at(&bytes, at).unwrap();
                // Sometimes the numbers at the beginning as well: the turns, and the times until which units are busy.
                if seed % 4 == 0 {
                    file.write_all_at(&bytes[..8], 8 * (seed / 4 % 70)).unwrap();
                }
            }
        }
        role => panic!("no role {role}"),
    }
    true
}

/// Returns random bytes for a random place in `range`.
fn noise(seed: u64, range: &std::ops::Range<u64>) -> (Vec<u8>, u64) {
    let mut bytes = seeded_noise(seed, 512);
    let place = u64::from_le_bytes(bytes[..8].try_into().unwrap()) & !7;
    // Numbers of all lengths, and all kinds of states.
    for number in bytes.chunks_exact_mut(8) {
        let length = usize::from(number[0] % 9);
        number[length.min(7)..7].fill(0);
    }
    (bytes, range.start + place % (range.end - range.start - 512))
}

#[test]
fn a_neighbour_that_is_killed_stops_nobody_and_leaves_its_queue_to_the_next() {
    if is_neighbour() {
        return;
    }
    let shared = Shared::new(2, 50);
    let (framework, _device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    for round in 0..8 {
        let neighbour = shared.neighbour("works");
        assert!(open(&shared.board).is_err(), "both queues are somebody's");
        messages.run(50 + 8 * round);
        // Killed with SIGKILL in the middle of its work.
        drop(neighbour);
        messages.run(100);
        until_some("its queue is free", || open(&shared.board).ok());
    }
    let health = framework.health()["board"];
    assert_eq!(health.state, BreakerState::Closed);
    assert_eq!(health.counts.done, messages.number, "{health:?}");
    assert_eq!(messages.on_board, messages.number);
}

#[test]
fn a_neighbour_that_is_stopped_stops_nobody_and_goes_on_where_it_was() {
    use rustix::process::Signal;
    if is_neighbour() {
        return;
    }
    let shared = Shared::new(2, 50);
    let (framework, _device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    let mut neighbour = shared.neighbour("works");
    for round in 0..60 {
        neighbour.signal(Signal::STOP);
        messages.run(1 + 7 * (round % 9));
        neighbour.signal(Signal::CONT);
        messages.run(1 + round % 5);
    }
    // The neighbour would have ended if one of its own messages had been wrong.
    assert!(neighbour.is_running());
    let health = framework.health()["board"];
    assert_eq!(health.counts.done, messages.number, "{health:?}");
    assert_eq!(messages.on_board, messages.number);
}

#[test]
fn a_neighbour_that_writes_over_its_own_queue_harms_nobody_else() {
    if is_neighbour() {
        return;
    }
    let shared = Shared::new(3, 50);
    let (framework, _device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    let mut writer = shared.neighbour("writes over its queue");
    let mut honest = shared.neighbour("works");
    // The writer may make units compute the longest possible request, a second's work. Waiting requests then move to another
    // device.
    for _ in 0..40 {
        messages.run(50);
    }
    assert!(writer.is_running() && honest.is_running());
    drop(writer);
    let mut next = Numbered::new(&framework);
    until("the board is trusted again", || {
        next.run(1);
        next.on_board > 0
    });
    assert_eq!(framework.in_flight(), 0);
    assert_eq!(framework.health()["board"].counts.breaches, 0);
}

#[test]
fn a_neighbour_that_writes_over_all_of_the_file_costs_the_board_and_no_answer() {
    if is_neighbour() {
        return;
    }
    let shared = Shared::new(3, 50);
    let (framework, _device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    messages.run(50);
    let mut writer = shared.neighbour("writes over all");
    for _ in 0..20 {
        messages.run(50);
    }
    assert!(writer.is_running());
    drop(writer);
    // Despite what the neighbour left there.
    until("the board is of use again", || {
        let before = messages.on_board;
        messages.run(20);
        messages.on_board >= before + 20
    });
    assert_eq!(framework.in_flight(), 0);
    assert_eq!(framework.health()["board"].counts.breaches, 0);
}

#[test]
fn who_writes_over_the_own_queue_is_answered_all_the_same() {
    let shared = Shared::new(1, 50);
    let (framework, device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    let range = device.queue_bytes().unwrap();
    let file = std::fs::File::options()
        .write(true)
        .open(&shared.board.path)
        .unwrap();
    std::thread::scope(|scope| {
        let worker = scope.spawn(|| {
            for _ in 0..60 {
                messages.run(30);
            }
        });
        let mut seed = 0;
        while !worker.is_finished() {
            seed += 1;
            let (bytes, at) = noise(seed, &range);
            file.write_all_at(&bytes, at).unwrap();
            std::thread::sleep(Duration::from_micros(200));
        }
    });
    assert_eq!(messages.number, 60 * 30);
    assert_eq!(framework.in_flight(), 0);
}

#[test]
fn neighbours_that_begin_at_once_make_a_board_slow_and_not_stalled() {
    if is_neighbour() {
        return;
    }
    let shared = Shared::new(4, 300);
    let (framework, _device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    // Only the board is known, at its regular pace.
    for _ in 0..10 {
        messages.run(120);
    }
    let neighbours: Vec<_> = (0..3).map(|_| shared.neighbour("works")).collect();
    // From one moment to the next, each of its requests takes four times as long.
    for _ in 0..12 {
        messages.run(120);
    }
    drop(neighbours);
    for _ in 0..5 {
        messages.run(120);
    }
    let health = framework.health()["board"];
    // A busy machine may delay a request or two; but no process that starts may take the board for stalled.
    let counts = health.counts;
    assert!(
        counts.opened == 0 && counts.stalled * 100 < messages.number,
        "{health:?}"
    );
    assert_eq!(counts.done + counts.stalled, messages.number, "{health:?}");
}

#[test]
#[allow(unsafe_code)]
fn a_forked_child_leaves_its_parents_queue_alone() {
    use crate::child::{end_of, fork, leave};
    if oarlock_testing::alone(&[]) {
        return;
    }
    let shared = Shared::new(1, 50);
    let (framework, device) = framework(&shared.board);
    let mut messages = Numbered::new(&framework);
    messages.run(10);
    let before = queue_of(&shared.board.path, &device);
    // SAFETY: the child uses inherited state, as is to be shown, and leaves.
    let child = unsafe { fork() };
    if child == 0 {
        use oarlock::framework::Device as _;
        let is_idle = device.poll().is_none();
        drop((messages, framework, device));
        leave(i32::from(!is_idle));
    }
    assert_eq!(end_of(child), 0);
    assert!(before == queue_of(&shared.board.path, &device));
    messages.run(100);
    assert_eq!(messages.on_board, messages.number);
}

fn queue_of(path: &Path, device: &SimulatedEngine) -> Vec<u8> {
    let range = device.queue_bytes().unwrap();
    let mut bytes = Vec::new();
    let mut file = std::fs::File::open(path).unwrap();
    file.read_to_end(&mut bytes).unwrap();
    bytes[range.start as usize..range.end as usize].to_vec()
}

const BOARD: &str = "OARLOCK_TEST_BOARD";
const REQUEST_US: &str = "OARLOCK_TEST_REQUEST_US";
const ROLE: &str = "OARLOCK_TEST_ROLE";
const BEGUN: &str = "the neighbour has begun";
