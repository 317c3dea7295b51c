//! OpenSSH: its agent, and logins with keys of the module.

use std::fs;
use std::net::TcpListener;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};

use oarlock_testing::{is_root, until};

use crate::common::{Home, module, succeeds};

/// A process that is killed on drop.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn ssh_logs_in_with_keys_of_the_module_and_through_the_agent() {
    if !is_root("sshd") {
        return;
    }
    let home = Home::with(&["rsa", "p256", "p384"]);
    let keys = succeeds(home.program("ssh-keygen").arg("-D").arg(module()));
    assert_eq!(keys.lines().count(), 3, "{keys}");
    let port = free_port();
    let sshd = sshd(&home, port);
    // One key after the other, so that each of them is used.
    for key in keys.lines() {
        fs::write(home.path().join("authorized"), format!("{key}\n")).unwrap();
        let mut login = ssh(&home, port);
        login
            .arg("-o")
            .arg(format!("PKCS11Provider={}", module().display()));
        assert_eq!(succeeds(login.args(["127.0.0.1", "echo here"])), "here\n");
    }
    let agent = home.path().join("agent");
    let mut start = home.program("ssh-agent");
    start
        .args(["-D", "-P", "/*", "-a"])
        .arg(&agent)
        .stdout(Stdio::null());
    let _agent = Running(start.spawn().unwrap());
    // The socket is there before anybody listens on it.
    until("the agent listens", || UnixStream::connect(&agent).is_ok());
    let mut add = home.program("ssh-add");
    add.env("SSH_AUTH_SOCK", &agent)
        .env("SSH_ASKPASS_REQUIRE", "force");
    // The agent asks for a PIN whether or not there is one.
    succeeds(add.env("SSH_ASKPASS", "/bin/true").arg("-s").arg(module()));
    let mut list = home.program("ssh-add");
    let listed = succeeds(list.env("SSH_AUTH_SOCK", &agent).arg("-L"));
    assert_eq!(listed.lines().count(), 3, "{listed}");
    for _ in 0..3 {
        let mut login = ssh(&home, port);
        login
            .env("SSH_AUTH_SOCK", &agent)
            .args(["127.0.0.1", "echo here"]);
        assert_eq!(succeeds(&mut login), "here\n");
    }
    drop(sshd);
}

fn sshd(home: &Home, port: u16) -> Running {
    let place = home.path().display();
    let host_key = home.path().join("host_key");
    let mut generate = Command::new("ssh-keygen");
    generate.args(["-q", "-N", "", "-t", "ed25519", "-f"]);
    succeeds(generate.arg(&host_key));
    fs::create_dir_all("/run/sshd").unwrap();
    let config = format!(
        "Port {port}\nListenAddress 127.0.0.1\nHostKey {place}/host_key\nAuthorizedKeysFile {place}/authorized\n\
         PidFile none\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPasswordAuthentication no\n"
    );
    fs::write(home.path().join("sshd_config"), config).unwrap();
    let mut sshd = Command::new("/usr/sbin/sshd");
    sshd.args(["-D", "-e", "-f"])
        .arg(home.path().join("sshd_config"));
    let sshd = sshd
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let sshd = Running(sshd.spawn().unwrap());
    until("sshd listens", || {
        std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
    });
    sshd
}

fn ssh(home: &Home, port: u16) -> Command {
    let mut ssh = home.program("ssh");
    ssh.env_remove("SSH_AUTH_SOCK")
        .args(["-F", "/dev/null", "-p", &port.to_string()]);
    for option in [
        "BatchMode=yes",
        "IdentityFile=/dev/null",
        "StrictHostKeyChecking=no",
        "UserKnownHostsFile=/dev/null",
        "LogLevel=ERROR",
    ] {
        ssh.args(["-o", option]);
    }
    ssh
}

fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}
