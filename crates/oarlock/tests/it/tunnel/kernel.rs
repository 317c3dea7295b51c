//! The tunnel with the kernel's own ESP (XFRM) at its other end: this machine's kernel if it has XFRM, otherwise one that
//! runs as a process (User Mode Linux) on this machine's files.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock_testing::process::{alone_as, is_child};
use oarlock_testing::{is_root, skip};

use super::hosts::Host::{A, B};
use super::hosts::{
    End, Program, answers, at, make_hosts, new_keys, says, says_at, succeeds, transfer,
};

#[test]
fn the_kernel_is_a_peer() {
    if by_a_kernel_with_esp() {
        return;
    }
    says("ip address add 10.79.0.1/32 dev lo");
    says_at(B, "ip address add 10.79.0.2/32 dev lo");
    says("ip route add 10.79.0.2/32 via 10.77.0.2 src 10.79.0.1");
    let mut decapsulates = Program::start(at(A, "/usr/bin/python3").args(["-c", DECAPSULATES]));
    decapsulates.until_said("bound");
    for (suite, algorithm, extended) in [
        ("aes128gcm", "rfc4106(gcm(aes))", false),
        ("aes256gcm", "rfc4106(gcm(aes))", true),
        ("chacha20poly1305", "rfc7539esp(chacha20,poly1305)", true),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = new_keys(folder.path(), suite);
        let keys = fs::read_to_string(&a).unwrap();
        let window = if extended {
            "replay-window 1024 flag esn"
        } else {
            for path in [&a, &b] {
                let text = fs::read_to_string(path).unwrap();
                fs::write(path, text.replace(" esn", "")).unwrap();
            }
            "replay-window 32"
        };
        for line in keys.lines() {
            let words: Vec<_> = line.split(' ').collect();
            let (from, to) = if words[0] == "out" { (1, 2) } else { (2, 1) };
            let ends = format!("src 10.77.0.{from} dst 10.77.0.{to}");
            let (spi, key) = (words[1], words[3]);
            says(&format!(
                "ip xfrm state add {ends} proto esp spi {spi} reqid 1 mode tunnel {window} aead {algorithm} \
                 0x{key} 128 encap espinudp 4500 4500 0.0.0.0"
            ));
            says(&format!(
                "ip xfrm policy add src 10.79.0.{from}/32 dst 10.79.0.{to}/32 dir {} tmpl {ends} proto esp \
                 reqid 1 mode tunnel",
                words[0]
            ));
        }
        let end = End::start(B, &b, "--address 10.78.0.2/32 --peer 10.77.0.1:4500");
        says_at(B, "ip route add 10.79.0.1/32 dev inner src 10.79.0.2");
        answers("-I 10.79.0.1", "10.79.0.2");
        let blocks = 8;
        let [inner_a, inner_b] = ["10.79.0.1", "10.79.0.2"].map(|it| it.parse().unwrap());
        assert_eq!(transfer(A, inner_b, |sent| sent < blocks), blocks);
        assert_eq!(transfer(B, inner_a, |sent| sent < blocks), blocks);
        let totals = end.interrupt();
        assert_eq!(totals.refused(), 0, "{suite}: {totals:?}");
        says("ip xfrm state flush");
        says("ip xfrm policy flush");
    }
}

/// Runs the running test again on two hosts, with a kernel that has ESP; returns false in that child.
fn by_a_kernel_with_esp() -> bool {
    if is_child() {
        make_hosts();
        return false;
    }
    if !is_root("a tunnel with the kernel") {
        return true;
    }
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("unshare");
    command.args(["--kill-child", "--fork", "--pid"]);
    let mut tries = Command::new("unshare");
    tries
        .args(["--net", "ip"])
        .args(TRIED_STATE.split_whitespace());
    if succeeds(&mut tries) {
        command
            .args(["--mount-proc", "--mount", "--net"])
            .arg(program);
        return alone_as(command);
    }
    let cpu = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    // The state of such a CPU is larger than the room that Linux 6.1 has for it: it panics, and then does not end.
    if !Path::new(UML).exists() || cpu.contains(" amx_tile") {
        skip(&format!(
            "neither has the kernel ESP (CONFIG_INET_ESP) nor does {UML} run on this CPU"
        ));
        return true;
    }
    let folder = tempfile::tempdir().unwrap();
    alone_as(by_user_mode_linux(folder.path(), &program))
}

/// Returns the command that boots User Mode Linux, which runs `program`, and kills it if it hangs.
fn by_user_mode_linux(folder: &Path, program: &Path) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/tunnel/uml.sh");
    let mut command = Command::new("timeout");
    command.args(["--signal=KILL", "10m", "unshare"]);
    command.args(["--kill-child", "--fork", "--pid", UML]);
    command.args([
        "mem=512M",
        "rootfstype=hostfs",
        "rootflags=/",
        "rw",
        "quiet",
    ]);
    command.arg(format!("uml_dir={}", folder.display()));
    command.args(["con=null", "con0=null,fd:1", "init=/bin/sh", "--"]);
    command.arg(script).arg(program).env("TMPDIR", folder);
    command
}

const UML: &str = "/usr/bin/linux.uml";
const TRIED_STATE: &str = "xfrm state add src 10.0.0.1 dst 10.0.0.2 proto esp spi 0x100 mode tunnel \
    aead rfc4106(gcm(aes)) 0x000102030405060708090a0b0c0d0e0f10111213 128 encap espinudp 4500 4500 0.0.0.0";

/// Opens a socket that passes ESP to the kernel (udp(7), UDP_ENCAP).
const DECAPSULATES: &str = "\
import signal, socket
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.setsockopt(socket.IPPROTO_UDP, 100, 2)
udp.bind(('10.77.0.1', 4500))
print('bound', flush=True)
signal.pause()
";
