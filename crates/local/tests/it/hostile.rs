//! Hostile clients and servers.

use std::io::{BufRead as _, BufReader, IoSlice};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use oarlock_local::{Client, Limits, Server};
use oarlock_testing::{LIMIT, noise, seeded_noise, until};
use rustix::cmsg_space;
use rustix::fs::SealFlags;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketAddrUnix, SocketFlags, SocketType, accept, connect,
    recvmsg, send, sendmsg, socket_with,
};

use crate::common::{Served, own_user, rsa};

/// A connection whose messages a test writes itself.
struct Raw(OwnedFd);

impl Raw {
    fn to(path: &Path) -> Self {
        let flags = SocketFlags::CLOEXEC;
        let socket = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
        set_socket_timeout(&socket, Timeout::Recv, Some(LIMIT)).unwrap();
        connect(&socket, &SocketAddrUnix::new(path).unwrap()).unwrap();
        Self(socket)
    }

    fn say(&self, frame: &[u8]) {
        // If the server has hung up, `hear` reports it.
        let _ = send(&self.0, frame, SendFlags::NOSIGNAL);
    }

    /// Returns the message and the inode of the file that came with it; empty if the server hangs up.
    fn hear(&self) -> (Vec<u8>, Option<u64>) {
        let mut frame = [0; 64];
        let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let mut parts = [std::io::IoSliceMut::new(&mut frame)];
        // SO_RCVTIMEO makes recvmsg return EINTR whatever SA_RESTART says: signal(7).
        let heard = rustix::io::retry_on_intr(|| {
            recvmsg(&self.0, &mut parts, &mut control, RecvFlags::empty())
        });
        let message = match heard {
            Ok(message) => message,
            Err(rustix::io::Errno::CONNRESET) => return (Vec::new(), None),
            Err(error) => panic!("the server says nothing: {error}"),
        };
        let files = control.drain().flat_map(|message| match message {
            RecvAncillaryMessage::ScmRights(files) => files.collect::<Vec<_>>(),
            _ => Vec::new(),
        });
        let inodes: Vec<_> = files
            .map(|file| rustix::fs::fstat(file).unwrap().st_ino)
            .collect();
        assert!(inodes.len() <= 1);
        (frame[..message.bytes].to_vec(), inodes.first().copied())
    }
}

fn question(seed: u64) -> Vec<u8> {
    [&[1], &seeded_noise(seed, 32)[..]].concat()
}

/// Returns the inode of the board for the name made from `seed`.
fn board(served: &Served, seed: u64) -> u64 {
    let raw = Raw::to(&served.path());
    raw.say(&question(seed));
    let (said, file) = raw.hear();
    assert_eq!(said, [1]);
    file.unwrap()
}

#[test]
fn one_name_has_one_board_and_another_has_another() {
    let served = Served::new();
    assert_eq!(board(&served, 1), board(&served, 1));
    assert_ne!(board(&served, 1), board(&served, 2));
}

#[test]
fn questions_that_are_none_are_not_answered() {
    let served = Served::new();
    let whole = question(1);
    let mut questions = vec![
        noise(33),
        noise(4096),
        noise(100_000),
        [&whole[..], &[0]].concat(),
    ];
    questions.extend((1..whole.len()).map(|cut| whole[..cut].to_vec()));
    for question in questions {
        let raw = Raw::to(&served.path());
        raw.say(&question);
        assert_eq!(
            raw.hear(),
            (Vec::new(), None),
            "{:?}",
            &question[..question.len().min(8)]
        );
    }
    board(&served, 1);
}

#[test]
fn those_that_ask_nothing_are_in_nobodys_way_and_not_kept() {
    let served = Served::new();
    let silent: Vec<_> = (0..200).map(|_| Raw::to(&served.path())).collect();
    let began = Instant::now();
    until("others are answered", || {
        let raw = Raw::to(&served.path());
        raw.say(&question(1));
        raw.hear().1.is_some()
    });
    assert!(began.elapsed().as_secs() < 10, "{:?}", began.elapsed());
    for raw in silent {
        assert_eq!(raw.hear(), (Vec::new(), None));
    }
}

#[test]
fn a_user_with_many_keys_loses_the_oldest_board_and_memory_has_a_bound() {
    let served = Served::new();
    let first = board(&served, 0);
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    for seed in 1..8 {
        board(&served, seed);
    }
    assert_eq!(board(&served, 0), first);
    let before = descriptors();
    for seed in 100..400 {
        board(&served, seed);
    }
    assert_ne!(board(&served, 0), first);
    // Other tests of this process have descriptors, too.
    until("descriptors are closed", || descriptors() <= before + 64);
}

/// Covers two floods, one process with many names and many processes with one name each, and two boards, one requested by
/// several processes and one by a single process.
#[test]
fn a_flood_of_made_up_names_takes_no_board_that_processes_share() {
    let served = Served::new();
    let ask = |what: &str, count: u32| {
        let mut python = Command::new("python3");
        python.args(["-c", ASKS]).arg(served.path());
        python.args([what, &count.to_string()]);
        python
    };
    let [shared, lonely] = [1, 2].map(|seed| board(&served, seed));
    let name: String = question(1)[1..]
        .iter()
        .map(|it| format!("{it:02x}"))
        .collect();
    assert!(ask(&name, 1).status().unwrap().success());
    for (flood, count) in [("one", 3000), ("forks", 600)] {
        let mut flood = ask(flood, count).spawn().unwrap();
        let mut looks = 0;
        let status = loop {
            assert_eq!(board(&served, 1), shared, "{looks}");
            looks += 1;
            if let Some(status) = flood.try_wait().unwrap() {
                break status;
            }
        };
        assert!(status.success());
        assert!(looks > 2, "{looks}");
        if count == 3000 {
            assert_eq!(board(&served, 2), lonely);
        }
    }
}

/// A program that requests a board `count` times: with one name, with names that one process makes up, or with one name per
/// process.
const ASKS: &str = r#"
import os, socket, sys
path, what, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
def ask(name):
    s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    s.connect(path)
    s.send(b"\x01" + name)
    s.recv(64)
    s.close()
for _ in range(count):
    if what == "one":
        ask(os.urandom(32))
    elif what != "forks":
        ask(bytes.fromhex(what))
    elif child := os.fork():
        os.waitpid(child, 0)
    else:
        ask(os.urandom(32))
        os._exit(0)
"#;

#[test]
fn other_users_are_given_nothing() {
    let served = Served::with(Limits {
        users: vec![own_user() + 1],
        boards_of_user: 8,
    });
    let raw = Raw::to(&served.path());
    raw.say(&question(1));
    assert_eq!(raw.hear(), (Vec::new(), None));
}

/// A server that hands out no valid board: files that shrink, files that are too short, several, none.
#[test]
fn what_a_hostile_server_gives_does_no_harm() {
    let Some(rsa) = rsa(2048) else { return };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let flags = SocketFlags::CLOEXEC;
    let listener = socket_with(AddressFamily::UNIX, SocketType::SEQPACKET, flags, None).unwrap();
    rustix::net::bind(&listener, &SocketAddrUnix::new(&path).unwrap()).unwrap();
    rustix::net::listen(&listener, 16).unwrap();
    let open = tempfile::tempfile().unwrap();
    open.set_len(1 << 20).unwrap();
    let null = std::fs::File::open("/dev/null").unwrap();
    let sealed = rustix::fs::memfd_create("x", rustix::fs::MemfdFlags::ALLOW_SEALING).unwrap();
    let seals = [SealFlags::SHRINK, SealFlags::GROW, SealFlags::SEAL];
    rustix::fs::fcntl_add_seals(&sealed, seals.into_iter().collect()).unwrap();
    let answers: [(&[u8], Vec<&dyn std::os::fd::AsFd>); 8] = [
        (&[1], vec![]),
        (&[2], vec![&open]),
        (&[1, 1], vec![&open]),
        (&[1, 1, 1, 1], vec![]),
        (&[1], vec![&open]),
        (&[1], vec![&null]),
        (&[1], vec![&sealed]),
        (&[1], vec![&open, &null, &open, &null]),
    ];
    for (said, given) in answers {
        let given: Vec<_> = given.iter().map(|file| file.as_fd()).collect();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let socket = accept(&listener).unwrap();
                let mut space = [MaybeUninit::uninit(); cmsg_space!(ScmRights(4))];
                let mut control = SendAncillaryBuffer::new(&mut space);
                if !given.is_empty() {
                    control.push(SendAncillaryMessage::ScmRights(&given));
                }
                sendmsg(
                    &socket,
                    &[IoSlice::new(said)],
                    &mut control,
                    SendFlags::empty(),
                )
                .unwrap();
            });
            let client = Client::new(&path);
            let visit = client.visit(&rsa).unwrap();
            assert!(visit.power(&[2]).is_none());
            // The client does not ask again at once.
            assert!(client.visit(&rsa).is_none());
        });
    }
}

/// Any user can create a socket in a folder that is open to all; those of root and of the client's own user are trusted.
#[test]
fn a_server_of_another_user_in_an_open_folder_is_not_asked() {
    if !oarlock_testing::is_root("servers of another user") {
        return;
    }
    let Some(rsa) = rsa(2048) else { return };
    let folder = tempfile::tempdir().unwrap();
    for (mode, owner, is_asked) in [
        (0o777, 0, false),
        (0o755, 65534, true),
        (0o775, 65534, false),
    ] {
        let path = folder.path().join("socket");
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::chown(folder.path(), Some(owner), None).unwrap();
        let permissions = std::os::unix::fs::PermissionsExt::from_mode(mode);
        std::fs::set_permissions(folder.path(), permissions).unwrap();
        // The kernel records the credentials at listen(2), so the listener is `nobody`'s.
        let mut nobody = std::process::Command::new("setpriv");
        nobody.args([
            "--reuid=65534",
            "--clear-groups",
            "/usr/bin/python3",
            "-c",
            LISTENS,
        ]);
        // In a folder of root's, root puts the socket in place.
        let made = folder
            .path()
            .parent()
            .unwrap()
            .join(format!("socket-{}", std::process::id()));
        let _ = std::fs::remove_file(&made);
        let mut listens = nobody
            .arg(&made)
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(listens.stdout.take().unwrap()).lines();
        let mut says = || said.next().map(Result::unwrap);
        assert_eq!(says().as_deref(), Some("listens"));
        std::fs::rename(&made, &path).unwrap();
        let client = Client::new(&path);
        let visit = client.visit(&rsa).unwrap();
        assert!(visit.power(&[2]).is_none());
        if is_asked {
            assert_eq!(says().as_deref(), Some("asked"), "{owner} {mode:o}");
        }
        listens.kill().unwrap();
        listens.wait().unwrap();
        assert_eq!(says(), None, "{owner} {mode:o}");
    }
}

/// A program that listens, and reports each request that arrives.
const LISTENS: &str = "import socket, sys\n\
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)\n\
s.bind(sys.argv[1]); s.listen(); print('listens', flush=True)\n\
while True:\n  c, _ = s.accept()\n  if c.recv(64): print('asked', flush=True)\n";

#[test]
fn a_server_outlives_all_of_that() {
    let served = Served::new();
    for seed in 0..50 {
        let raw = Raw::to(&served.path());
        raw.say(&question(seed % 4));
        if seed % 3 == 0 {
            // The client leaves before the answer.
            drop(raw);
        }
    }
    board(&served, 1);
    let _ = Server::bind(served.path()).unwrap_err();
    board(&served, 1);
}
