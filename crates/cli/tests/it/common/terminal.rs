//! Commands on terminals of their own.

use std::fs::{self, File};
use std::io::{Read as _, Write as _};
use std::path::Path;
use std::process::{Command, ExitStatus};

use oarlock_testing::{lossy, until};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

/// Runs `script` in a shell on a terminal of its own, where `$OARLOCK` is the command under test. Returns its exit status
/// and what was shown. `watch` gets the terminal and everything shown so far, each time that there is more.
pub fn on_a_terminal(
    folder: &Path,
    script: &str,
    mut watch: impl FnMut(&mut File, &str),
) -> (ExitStatus, String) {
    // Close it in programs that other tests start at the same time.
    let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
    let terminal = openpt(flags).unwrap();
    grantpt(&terminal).unwrap();
    unlockpt(&terminal).unwrap();
    let name = ptsname(&terminal, Vec::new()).unwrap();
    let theirs = fs::OpenOptions::new()
        .read(true)
        .write(true)
        .open(name.to_str().unwrap())
        .unwrap();
    let mut child = Command::new("setsid")
        .args(["--ctty", "--wait", "sh", "-c", script])
        .current_dir(folder)
        .env("OARLOCK", env!("CARGO_BIN_EXE_oarlock"))
        // Otherwise rage uses this machine's program for passphrases.
        .env("PINENTRY_PROGRAM", "/nonexistent")
        // Tests compare words; tests of colours unset it.
        .env("NO_COLOR", "1")
        .stdin(theirs.try_clone().unwrap())
        .stdout(theirs.try_clone().unwrap())
        .stderr(theirs)
        .spawn()
        .unwrap();
    let mut terminal = File::from(terminal);
    let (mut shown, mut buffer) = (Vec::new(), [0; 4096]);
    // The read fails with EIO when the last program has closed it.
    while let Ok(bytes @ 1..) = terminal.read(&mut buffer) {
        shown.extend(&buffer[..bytes]);
        watch(&mut terminal, &lossy(&shown));
    }
    (child.wait().unwrap(), lossy(&shown))
}

/// Types the passphrases in order, one for each question, and then the last one again.
pub fn typing(passphrases: &[&str]) -> impl FnMut(&mut File, &str) {
    let (mut number, mut answered) = (0, 0);
    move |terminal, shown| {
        let asked = shown[answered..].to_lowercase();
        if asked.contains("passphrase") && asked.trim_end().ends_with(':') {
            answered = shown.len();
            // The question is shown before the terminal hides what is typed.
            until("a terminal that shows nothing", || {
                let modes = tcgetattr(&*terminal).unwrap().local_modes;
                !modes.contains(LocalModes::ECHO)
            });
            let typed = passphrases[number.min(passphrases.len() - 1)];
            terminal.write_all(format!("{typed}\n").as_bytes()).unwrap();
            number += 1;
        }
    }
}
