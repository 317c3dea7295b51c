//! A relay in this process, with honest clients and with others.

use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use oarlock::rsa::{Hash, SignatureScheme};
use oarlock_local::Error;
use oarlock_local::relay::{
    Allowed, Client, KeyList, LastingClient, ListedKey, NoAnswer, Operation, Question, Relay,
    Reply, Rights, Scheme,
};
use oarlock_testing::{LIMIT, is_root, noise, until};
use rustix::event::{EventfdFlags, eventfd};
use rustix::fs::XattrFlags;
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, bind,
    connect, listen, recv, send, socket_with,
};
use rustix::process::Uid;
use tempfile::TempDir;

use crate::common::own_user;

/// The function that handles a question.
type Ask = Box<dyn FnMut(Question, Reply) + Send>;

struct Served {
    folder: TempDir,
    stop: Arc<OwnedFd>,
    serving: Option<JoinHandle<Result<(), Error>>>,
}

impl Served {
    /// Starts a relay that answers with the content of the question.
    fn echo() -> Self {
        Self::with(allowed(None), 64, Box::new(answer))
    }

    fn with(allowed: Vec<Allowed>, under_way_max: usize, mut ask: Ask) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        let relay = Relay::bind(&[folder.path().join("socket"), folder.path().join("other")]);
        let relay = relay.unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let stopped = Arc::clone(&stop);
        let serving = std::thread::spawn(move || {
            let stop = stopped.as_fd();
            relay.serve(&allowed, under_way_max, stop, &mut ask, &mut |_| ())
        });
        Self {
            folder,
            stop,
            serving: Some(serving),
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("socket")
    }

    fn client(&self) -> Client {
        Client::new(self.path())
    }

    fn end(&mut self) {
        if let Some(serving) = self.serving.take() {
            rustix::io::write(&self.stop, &1u64.to_ne_bytes()).unwrap();
            serving.join().unwrap().unwrap();
        }
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.end();
        }
    }
}

fn allowed(keys: Option<&[&str]>) -> Vec<Allowed> {
    let keys = keys.map(|keys| keys.iter().map(|key| (*key).to_owned()).collect());
    vec![Allowed {
        user: own_user(),
        keys,
    }]
}

fn answer(question: Question, reply: Reply) {
    match question.operation {
        Operation::RawPrivate(number) => reply.give(Ok(&number)),
        Operation::Sign { digest, .. } => reply.give(Ok(&digest)),
        Operation::Decrypt { ciphertext, .. } => reply.give(Ok(&ciphertext)),
        Operation::Keys => reply.give_keys(&KeyList::new(listed()), &question.key_id),
    }
}

/// More keys than an answer holds.
fn listed() -> Vec<ListedKey> {
    let key = |number: u32| ListedKey {
        key_id: format!("key {number:04}"),
        rights: Rights::default(),
        public_key: vec![7; 200],
    };
    (0..1000).map(key).collect()
}

fn question(key_id: &str, number: &[u8]) -> Question {
    Question {
        key_id: key_id.into(),
        public_key: None,
        operation: Operation::RawPrivate(number.to_vec()),
    }
}

/// A connection whose messages a test writes itself.
fn raw(path: &Path) -> OwnedFd {
    let flags = SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
    socket
}

/// Returns the message; empty when the relay hangs up.
fn heard(socket: &OwnedFd) -> Vec<u8> {
    let mut frame = [0; 4096];
    match recv(socket, &mut frame[..], RecvFlags::empty()) {
        Ok((bytes, _)) => frame[..bytes].to_vec(),
        Err(rustix::io::Errno::CONNRESET) => Vec::new(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn questions_are_answered_each_with_its_own() {
    let served = Served::echo();
    let client = served.client();
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..50u8 {
                    let number = [thread + 1, round, 7];
                    let asked = client.ask(&question("web", &number)).unwrap();
                    assert_eq!(*asked.wait().unwrap(), number);
                }
            });
        }
    });
    let digest = noise(48);
    let operation = Operation::sign(SignatureScheme::Pss(Hash::Sha384), &digest).unwrap();
    let key_id = "web".to_owned();
    let other = Client::new(served.folder.path().join("other"));
    let asked = other
        .ask(&Question {
            key_id,
            public_key: None,
            operation,
        })
        .unwrap();
    assert_eq!(*asked.wait().unwrap(), digest);
}

/// Each part of the list costs as much as its own keys.
#[test]
fn a_long_list_arrives_in_time() {
    let key = |number: u32| ListedKey {
        key_id: format!("key {number:05}"),
        rights: Rights::default(),
        public_key: vec![7; 1974],
    };
    let list = KeyList::new((0..20_000).rev().map(key).collect());
    let served = Served::with(
        allowed(None),
        64,
        Box::new(move |question: Question, reply: Reply| reply.give_keys(&list, &question.key_id)),
    );
    let keys = LastingClient::new(served.path()).keys().unwrap();
    assert_eq!(keys.len(), 20_000);
}

#[test]
fn connections_that_stay_open_carry_one_question_after_the_other() {
    let mut served = Served::echo();
    let client = LastingClient::new(served.path());
    std::thread::scope(|scope| {
        for thread in 0..8u8 {
            let client = &client;
            scope.spawn(move || {
                for round in 0..50u8 {
                    let number = [thread + 1, round, 7];
                    assert_eq!(*client.ask(&question("web", &number)).unwrap(), number);
                }
            });
        }
    });
    // Messages are longer than anything else.
    let message = noise(4096);
    let operation = Operation::sign_message(Scheme::Ed25519, &message).unwrap();
    let key_id = "web".to_owned();
    assert_eq!(
        *client
            .ask(&Question {
                key_id,
                public_key: None,
                operation
            })
            .unwrap(),
        message
    );
    // A relay that was started again.
    served.end();
    let gone = client.ask(&question("web", &[1]));
    assert!(
        matches!(gone, Err(NoAnswer::NoRelay(_) | NoAnswer::Gone)),
        "{gone:?}"
    );
    let relay = Relay::bind(&[served.path()]).unwrap();
    let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
    std::thread::scope(|scope| {
        let stopped = Arc::clone(&stop);
        scope.spawn(move || {
            let stop = stopped.as_fd();
            relay
                .serve(&allowed(None), 64, stop, &mut answer, &mut |_| ())
                .unwrap();
        });
        assert_eq!(*client.ask(&question("web", &[1])).unwrap(), [1]);
        rustix::io::write(&stop, &1u64.to_ne_bytes()).unwrap();
    });
}

#[test]
fn keys_are_listed_in_parts_and_to_those_that_may_use_them() {
    let served = Served::echo();
    let client = LastingClient::new(served.path());
    assert_eq!(client.keys().unwrap(), listed());
    let two = ["key 0007", "key 0999", "none"];
    let served = Served::with(allowed(Some(&two)), 64, Box::new(answer));
    let client = LastingClient::new(served.path());
    let names: Vec<_> = client
        .keys()
        .unwrap()
        .into_iter()
        .map(|key| key.key_id)
        .collect();
    assert_eq!(names, two[..2]);
}

/// A question that is dropped ends its connection, and a user that keeps too many gets no more, but is served.
#[test]
fn connections_that_stay_open_are_bounded_and_end_with_what_is_dropped() {
    let ask = |question: Question, reply: Reply| match question.key_id.as_str() {
        "dropped" => drop(reply),
        _ => answer(question, reply),
    };
    let served = Served::with(allowed(None), 64, Box::new(ask));
    let client = LastingClient::new(served.path());
    for _ in 0..300 {
        let dropped = client.ask(&question("dropped", &[1]));
        assert!(matches!(dropped, Err(NoAnswer::Gone)), "{dropped:?}");
        assert_eq!(*client.ask(&question("web", &[1])).unwrap(), [1]);
    }
    let idle: Vec<_> = (0..400)
        .map(|_| {
            let socket = raw(&served.path());
            let _ = send(&socket, &[2], SendFlags::NOSIGNAL);
            socket
        })
        .collect();
    std::thread::sleep(Duration::from_millis(700));
    let client = LastingClient::new(served.path());
    assert_eq!(*client.ask(&question("web", &[1])).unwrap(), [1]);
    let is_open = |socket: &&OwnedFd| {
        let closed = recv(*socket, &mut [0; 9][..], RecvFlags::DONTWAIT);
        closed.is_err_and(|error| error == rustix::io::Errno::AGAIN)
    };
    let open = idle.iter().filter(is_open).count();
    assert!((1..=256).contains(&open), "{open}");
}

#[test]
fn what_is_refused_says_why() {
    let served = Served::with(allowed(Some(&["web", "shop"])), 64, Box::new(answer));
    let client = served.client();
    let why = |asked: Question| {
        let refused = client.ask(&asked).unwrap().wait().unwrap_err();
        assert!(matches!(refused, NoAnswer::Refused(_)), "{refused:?}");
        refused.to_string()
    };
    assert_eq!(
        *client.ask(&question("shop", &[5])).unwrap().wait().unwrap(),
        [5]
    );
    assert_eq!(
        why(question("others", &[5])),
        "this user may not use the key \"others\" (oarlock relay --allow)"
    );
    let nobody = Client::new(served.folder.path().join("nobody"));
    let refused = nobody.ask(&question("web", &[5])).unwrap_err().to_string();
    assert!(refused.starts_with("no relay listens there: "), "{refused}");
}

/// Checks that clients that stop halfway do not delay others.
#[test]
fn clients_that_say_nothing_or_nonsense_are_in_nobodys_way() {
    let served = Served::echo();
    let client = served.client();
    let silent: Vec<_> = (0..200).map(|_| raw(&served.path())).collect();
    for frame in [
        &[][..],
        &[1],
        &[9; 3],
        &noise(2400),
        &[1, 0, 3, b'w', b'e', b'b'],
    ] {
        let socket = raw(&served.path());
        let _ = send(&socket, frame, SendFlags::NOSIGNAL);
        let said = heard(&socket);
        assert!(said.is_empty() || said[0] == 1, "{said:?}");
    }
    // Each of these clients leaves before its answer.
    for _ in 0..200 {
        drop(client.ask(&question("web", &[1])).unwrap());
    }
    let began = Instant::now();
    for number in 1..100u8 {
        let asked = client.ask(&question("web", &[number])).unwrap();
        assert_eq!(*asked.wait().unwrap(), [number]);
    }
    assert!(began.elapsed() < LIMIT, "{:?}", began.elapsed());
    for socket in &silent {
        assert!(heard(socket).is_empty());
    }
}

#[test]
fn a_user_has_so_many_questions_under_way_and_gets_their_places_back() {
    let kept: Arc<Mutex<Vec<Reply>>> = Arc::default();
    let keeps = Arc::new(AtomicBool::new(true));
    let (here, keep) = (Arc::clone(&kept), Arc::clone(&keeps));
    let ask = move |question, reply| {
        if keep.load(Ordering::Relaxed) {
            here.lock().unwrap().push(reply);
        } else {
            answer(question, reply);
        }
    };
    let served = Served::with(allowed(None), 4, Box::new(ask));
    let client = served.client();
    let ask = || client.ask(&question("web", &[3])).unwrap();
    let waiting: Vec<_> = (0..4).map(|_| ask()).collect();
    until("they are there", || kept.lock().unwrap().len() == 4);
    let refused = ask().wait().unwrap_err().to_string();
    assert_eq!(refused, "this user has too many questions under way");
    assert!(waiting.iter().all(|asked| asked.try_take().is_none()));
    // A client that has gone keeps its place until its question is answered; a dropped question has none.
    keeps.store(false, Ordering::Relaxed);
    kept.lock().unwrap().clear();
    for asked in waiting {
        assert!(matches!(asked.wait(), Err(NoAnswer::Gone)));
    }
    assert_eq!(*ask().wait().unwrap(), [3]);
}

#[test]
fn the_end_of_a_relay_is_seen_at_once() {
    let kept: Arc<Mutex<Vec<Reply>>> = Arc::default();
    let here = Arc::clone(&kept);
    let mut served = Served::with(
        allowed(None),
        64,
        Box::new(move |_, reply| here.lock().unwrap().push(reply)),
    );
    let asked = served.client().ask(&question("web", &[3])).unwrap();
    until("it is there", || !kept.lock().unwrap().is_empty());
    served.end();
    // A question that was accepted may still be answered.
    let reply = kept.lock().unwrap().pop().unwrap();
    reply.give(Ok(&[9]));
    assert_eq!(*asked.wait().unwrap(), [9]);
    assert!(matches!(
        served.client().ask(&question("web", &[3])),
        Err(NoAnswer::NoRelay(_))
    ));
}

/// A false relay that sends anything, or nothing.
#[test]
fn a_relay_that_is_none_is_not_believed_and_not_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let flags = SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    listen(&listener, 8).unwrap();
    let client = Client::new(&path);
    let frames = [
        vec![],
        vec![0],
        vec![7, 1],
        [vec![1], vec![b'x'; 600]].concat(),
        noise(3000),
    ];
    for frame in frames {
        let asked = client.ask(&question("web", &[3])).unwrap();
        let connection = accept(&listener).unwrap();
        let _ = send(&connection, &frame, SendFlags::NOSIGNAL);
        drop(connection);
        let answer = asked.wait();
        assert!(
            matches!(answer, Err(NoAnswer::Invalid | NoAnswer::Gone)),
            "{answer:?}"
        );
    }
    let asked = client.ask(&question("web", &[3])).unwrap();
    let connection = accept(&listener).unwrap();
    let began = Instant::now();
    assert!(matches!(asked.wait(), Err(NoAnswer::Late)));
    assert!((5..8).contains(&began.elapsed().as_secs()));
    drop(connection);
}

#[test]
fn other_users_are_not_served_and_do_not_get_the_places_of_those_that_are() {
    if !is_root("another user") {
        return;
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let ask = move |question, reply| {
        counts.fetch_add(1, Ordering::Relaxed);
        answer(question, reply);
    };
    let served = Served::with(allowed(None), 64, Box::new(ask));
    let path = served.path();
    let status = as_nobody(|| {
        for _ in 0..300 {
            let client = Client::new(&path);
            let refused = client
                .ask(&question("web", &[3]))
                .and_then(|asked| asked.wait());
            if !is_turned_away(&refused) {
                return false;
            }
        }
        true
    });
    assert!(status, "they were served");
    assert_eq!(asked.load(Ordering::Relaxed), 0);
    let answer = served.client().ask(&question("web", &[3])).unwrap();
    assert_eq!(*answer.wait().unwrap(), [3]);
    // A relay of another user is not trusted either.
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let path = folder.path().join("socket");
    let (of_nobody, stop) = (path.clone(), Arc::new(AtomicUsize::new(0)));
    let stopped = Arc::clone(&stop);
    std::thread::spawn(move || {
        rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
        let flags = SocketFlags::CLOEXEC;
        let made = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
        let listener = made.unwrap();
        bind(&listener, &SocketAddrUnix::new(&of_nobody).unwrap()).unwrap();
        listen(&listener, 8).unwrap();
        while stopped.load(Ordering::Relaxed) == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
    });
    until("it listens", || path.exists());
    let mut refused = Client::new(&path).ask(&question("web", &[3]));
    until("it is there", || {
        refused = Client::new(&path).ask(&question("web", &[3]));
        let told = refused.as_ref().err().map(ToString::to_string);
        told.is_some_and(|told| told.contains("neither root's, nor this user's"))
    });
    stop.store(1, Ordering::Relaxed);
}

/// Whether a user was turned away: by the system, or by the relay if the file system has no access-control lists.
fn is_turned_away(answer: &Result<zeroize::Zeroizing<Vec<u8>>, NoAnswer>) -> bool {
    match answer {
        Err(NoAnswer::NoRelay(error)) => error.kind() == std::io::ErrorKind::PermissionDenied,
        Err(NoAnswer::Gone) => true,
        _ => false,
    }
}

/// Without access control, strangers would fill the queue of connections, in which clients wait for 250 ms at most.
#[test]
fn a_flood_of_strangers_delays_nobody() {
    if !is_root("another user") {
        return;
    }
    let served = Served::echo();
    let (path, other) = (served.path(), served.path().with_file_name("other"));
    let client = served.client();
    let ask = |client: &Client| {
        let asked = client.ask(&question("web", &[3]));
        asked.and_then(|asked| asked.wait())
    };
    assert_eq!(*ask(&client).unwrap(), [3]);
    let is_over = AtomicBool::new(false);
    let (refused, slowest) = std::thread::scope(|scope| {
        let strangers: Vec<_> = (0..12)
            .map(|number| {
                let (path, is_over) = ([&path, &other][number % 2], &is_over);
                scope.spawn(move || {
                    rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
                    let mut refused = 0;
                    while !is_over.load(Ordering::Relaxed) {
                        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
                        let made =
                            socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None);
                        let address = SocketAddrUnix::new(path).unwrap();
                        let denied = Err(rustix::io::Errno::ACCESS);
                        refused += u32::from(connect(made.unwrap(), &address) == denied);
                    }
                    refused
                })
            })
            .collect();
        let began = Instant::now();
        let mut slowest = Duration::ZERO;
        while began.elapsed() < Duration::from_secs(3) {
            let began = Instant::now();
            let answer = ask(&client);
            slowest = slowest.max(began.elapsed());
            is_over.store(answer.is_err(), Ordering::Relaxed);
            assert_eq!(*answer.unwrap(), [3]);
        }
        is_over.store(true, Ordering::Relaxed);
        let refused = strangers.into_iter().map(|it| it.join().unwrap());
        (refused.sum::<u32>(), slowest)
    });
    assert!(slowest < Duration::from_secs(1), "{slowest:?}");
    // The system refuses them, unless the file system has no access-control lists.
    let probe = path.with_file_name("probe");
    fs::write(&probe, "").unwrap();
    let made = rustix::fs::setxattr(&probe, "system.posix_acl_access", LIST, XattrFlags::empty());
    assert_eq!(refused > 0, made.is_ok(), "{made:?}");
}

/// An access-control list by which the owner may read: version, and entries of tag, rights and a user.
const LIST: &[u8] = b"\x02\0\0\0\
    \x01\0\x04\0\xff\xff\xff\xff\
    \x04\0\0\0\xff\xff\xff\xff\
    \x20\0\0\0\xff\xff\xff\xff";

/// Runs `run` as another user, and returns its result.
fn as_nobody(run: impl FnOnce() -> bool + Send) -> bool {
    // A thread may have its own user.
    std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            rustix::thread::set_thread_uid(Uid::from_raw(NOBODY)).unwrap();
            run()
        });
        thread.join().unwrap()
    })
}

const NOBODY: u32 = 65534;
