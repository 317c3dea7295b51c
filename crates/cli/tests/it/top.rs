//! `top`: running programs, frameworks and cryptoservers, on a terminal and without one; invalid files and pages.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use oarlock::device::{EngineBoard, Fault, Injection, SimulatedEngine, When, visible_cpu};
use oarlock::framework::{Check, Framework, Place, Request, SessionSpec};
use oarlock::{Accelerator, Algorithm};
use oarlock_testing::process::{as_child, is_child};
use oarlock_testing::{lossy, until, until_some};
use serde_json::Value;

use crate::common::terminal::on_a_terminal;
use crate::common::{assert_fails, oarlock, provider, run, stderr};

/// A process that is killed on drop.
pub struct Running(pub Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

pub fn top(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = oarlock();
    command
        .arg("top")
        .args(arguments)
        .env("XDG_RUNTIME_DIR", folder);
    command
}

/// Returns one reading, with the rates of a short interval.
pub fn reading(folder: &Path, more: &[&str]) -> Value {
    let mut command = top(folder, &["--json", "--interval", "0.1"]);
    let output = run(command.args(more), b"");
    assert!(output.status.success(), "{}", stderr(&output));
    let text = lossy(&output.stdout);
    assert_eq!(text.lines().count(), 1, "{text}");
    serde_json::from_str(&text).unwrap()
}

pub fn process(reading: &Value, process: u32) -> Option<&Value> {
    let all = reading["processes"].as_array().unwrap();
    all.iter().find(|one| one["process"] == process)
}

/// Starts a program with a framework of two boards, one of which fails. The program is this test, started again.
pub fn failing_board(folder: &Path) -> Running {
    let mut command = Command::new(std::env::current_exe().unwrap());
    let child = as_child(&mut command)
        .args(["--nocapture", "--test-threads=1"])
        .env("XDG_RUNTIME_DIR", folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    Running(child)
}

/// Runs the work of that program, without end.
pub fn work_with_a_failing_board() {
    let accelerator = Accelerator::builder().publish(true).build().unwrap();
    let framework = Framework::new(&accelerator);
    let faults = vec![Injection {
        fault: Fault::Error,
        when: When::Every(1),
    }];
    let bad = EngineBoard {
        faults,
        ..EngineBoard::default()
    };
    for (name, board) in [("good", EngineBoard::default()), ("bad", bad)] {
        let engine = SimulatedEngine::new(name, board, visible_cpu().unwrap()).unwrap();
        framework
            .register(Arc::new(engine), Check::Sample(0))
            .unwrap();
    }
    let spec = SessionSpec::aead(Algorithm::Aes128Gcm, &[7; 16], &[9; 12]);
    let session = framework.session(&spec).unwrap();
    loop {
        let request = Request::encrypt(vec![0; 1000]).at(Place::Device);
        session.submit(request).unwrap().wait().unwrap();
    }
}

/// Returns the reading of such a program once the bad board's breaker is open.
pub fn left_alone(folder: &Path, running: &Running) -> Value {
    until_some("the bad board is left alone", || {
        let reading = reading(folder, &[]);
        let seen = process(&reading, running.0.id())?.clone();
        let devices = seen["devices"].as_array().unwrap().clone();
        let bad = devices.into_iter().find(|one| one["name"] == "bad")?;
        (bad["opened"].as_u64() > Some(0)).then_some(seen)
    })
}

#[test]
fn a_program_that_runs_with_the_provider_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = oarlock();
    command.args(["run", "--provider"]).arg(provider());
    command
        .args([
            "--", "openssl", "speed", "-seconds", "50", "-bytes", "4096", "-evp",
        ])
        .arg("aes-128-gcm")
        .env("XDG_RUNTIME_DIR", folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let running = Running(command.spawn().unwrap());
    let seen = until_some("openssl at work", || {
        let reading = reading(folder.path(), &[]);
        let all = reading["processes"].as_array().unwrap().clone();
        all.into_iter().find(|one| {
            let operations = one["operations"].as_array().unwrap();
            one["program"] == "openssl"
                && operations
                    .iter()
                    .any(|one| one["requests_per_second"].as_f64() > Some(0.0))
        })
    });
    let operation = &seen["operations"][0];
    assert_eq!(operation["operation"], "aes-128-gcm");
    let bytes = operation["bytes_per_second"].as_f64().unwrap();
    assert!(bytes > 0.0 && seen["bytes_per_second"].as_f64() >= Some(bytes));
    // The table for people.
    let output = run(
        &mut top(folder.path(), &["--once", "--interval", "0.1"]),
        b"",
    );
    let text = lossy(&output.stdout);
    for part in ["PROGRAM", "openssl", "aes-128-gcm", "OPERATION"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
    // The child of `run` is not a child of this test.
    let openssl = seen["process"].as_u64().unwrap().to_string();
    let killed = Command::new("kill").arg(&openssl).status().unwrap();
    assert!(killed.success());
    drop(running);
    until("nothing of it is left", || {
        let reading = reading(folder.path(), &[]);
        process(&reading, openssl.parse().unwrap()).is_none()
    });
}

#[test]
fn a_board_that_fails_is_seen_on_the_terminal() {
    if is_child() {
        return work_with_a_failing_board();
    }
    let folder = tempfile::tempdir().unwrap();
    let running = failing_board(folder.path());
    let seen = left_alone(folder.path(), &running);
    let device = |name: &str| {
        let devices = seen["devices"].as_array().unwrap();
        devices.iter().find(|one| one["name"] == name).unwrap()
    };
    assert_eq!(device("good")["health"], "ok");
    assert_ne!(device("bad")["health"], "ok");
    assert!(device("good")["done"].as_u64() > Some(0));

    let script = format!(
        "stty cols 80 rows 24; XDG_RUNTIME_DIR={} $OARLOCK top --interval 0.2; echo ended=$?; stty -a",
        folder.path().display()
    );
    let mut has_quit = false;
    let (status, shown) = on_a_terminal(folder.path(), &script, |terminal, shown| {
        let parts = ["oarlock top", "HEALTH", "bad", "good", "aes-128-gcm"];
        if !has_quit && parts.iter().all(|part| shown.contains(part)) {
            has_quit = true;
            terminal.write_all(b"q").unwrap();
        }
    });
    assert!(status.success(), "{shown}");
    // The main screen and its modes are restored.
    let (_, behind) = shown
        .rsplit_once("\u{1b}[?1049l")
        .expect("the other screen was left");
    for part in ["ended=0", " echo ", " icanon ", "\nisig "] {
        assert!(behind.contains(part), "{part}: {behind}");
    }
    // `devices` lists it too.
    let mut devices = oarlock();
    devices.arg("devices").env("XDG_RUNTIME_DIR", folder.path());
    let output = run(&mut devices, b"");
    let text = lossy(&output.stdout);
    assert!(text.contains("\nrunning; "), "{text}");
    assert!(text.contains("\n  bad "), "{text}");
}

#[test]
fn terminals_of_all_sizes_show_the_board_that_fails_and_no_colours_where_none_are_wanted() {
    if is_child() {
        return work_with_a_failing_board();
    }
    let folder = tempfile::tempdir().unwrap();
    let running = failing_board(folder.path());
    left_alone(folder.path(), &running);
    for (columns, rows, has_colours, parts) in [
        (
            200,
            50,
            true,
            &["REFUSED", "OPENED", "aes-128-gcm", "good"][..],
        ),
        (
            200,
            50,
            false,
            &["REFUSED", "OPENED", "aes-128-gcm", "good"],
        ),
        (20, 5, true, &["REQ/S", "HEALTH"]),
        (20, 5, false, &["REQ/S", "HEALTH"]),
        (1, 1, false, &[]),
    ] {
        let colours = if has_colours {
            "unset NO_COLOR; export TERM=xterm;"
        } else {
            ""
        };
        let script = format!(
            "stty cols {columns} rows {rows}; {colours} XDG_RUNTIME_DIR={} $OARLOCK top --interval 0.2; echo ended=$?",
            folder.path().display()
        );
        let mut has_quit = false;
        let (_, shown) = on_a_terminal(folder.path(), &script, |terminal, shown| {
            // Each draw hides the cursor.
            let is_drawn = shown.contains("\u{1b}[?25l");
            if !has_quit && is_drawn && parts.iter().all(|part| shown.contains(part)) {
                has_quit = true;
                // Show help over it, and remove it again.
                terminal.write_all(b"??q").unwrap();
            }
        });
        let (drawn, behind) = shown.rsplit_once("\u{1b}[?1049l").unwrap();
        assert!(behind.contains("ended=0"), "{columns}x{rows}: {shown}");
        assert!(!drawn.contains("panicked"), "{columns}x{rows}: {shown}");
        for sequence in drawn.split("\u{1b}[").skip(1) {
            let end = sequence
                .find(|c: char| c.is_ascii_alphabetic())
                .unwrap_or(0);
            let numbers = sequence[..end]
                .split(';')
                .map(|number| number.parse::<u16>());
            let numbers: Vec<_> = numbers.map(Result::unwrap_or_default).collect();
            match sequence[end..].chars().next() {
                Some('H') if numbers.len() == 2 => {
                    assert!(numbers[0] <= rows && numbers[1] <= columns, "{sequence:?}");
                }
                // 30 to 38 and 40 to 48 are colours; 39 and 49 reset them.
                Some('m') => {
                    let is_coloured = numbers
                        .iter()
                        .any(|it| matches!(it, 30..=38 | 40..=48 | 90..));
                    assert!(has_colours || !is_coloured, "{sequence:?}");
                }
                _ => {}
            }
        }
    }
}

#[test]
fn signals_leave_the_terminal_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    for (send, status) in [("TERM", 143), ("INT", 130), ("HUP", 129)] {
        let script = format!(
            "stty cols 80 rows 24; XDG_RUNTIME_DIR={} $OARLOCK top & pid=$!; while ! [ -e go ]; do sleep 0.05; done; \
             kill -{send} $pid; wait $pid; echo ended=$?; stty -a",
            folder.path().display()
        );
        let go = folder.path().join("go");
        // In the background of a shell without job control it still has the terminal.
        let (_, shown) = on_a_terminal(folder.path(), &script, |_, shown| {
            if shown.contains("oarlock top") && !go.exists() {
                fs::write(&go, "").unwrap();
            }
        });
        fs::remove_file(&go).unwrap();
        let (_, behind) = shown
            .rsplit_once("\u{1b}[?1049l")
            .expect("the other screen was left");
        for part in [&*format!("ended={status}"), " echo ", " icanon "] {
            assert!(behind.contains(part), "{send}, {part}: {behind}");
        }
    }
}

#[test]
fn it_stops_and_goes_on_where_it_was() {
    let folder = tempfile::tempdir().unwrap();
    // With job control, the shell notices the stop.
    let script = format!(
        "stty cols 80 rows 24; set -m; XDG_RUNTIME_DIR={} $OARLOCK top; echo stopped; stty -a; fg; echo ended=$?; stty -a",
        folder.path().display()
    );
    let mut typed = 0;
    let (_, shown) = on_a_terminal(folder.path(), &script, |terminal, shown| {
        let screens = shown.matches("\u{1b}[?1049h").count();
        // Each time it is drawn once more.
        let drawn = shown.matches("oarlock top").count();
        if typed == 0 && drawn > 0 {
            typed = 1;
            terminal.write_all(b"\x1a").unwrap();
        } else if typed == 1 && screens > 1 && drawn > 1 {
            typed = 2;
            terminal.write_all(b"q").unwrap();
        }
    });
    let (_, stopped) = shown.split_once("stopped").expect("it stops");
    let (modes, _) = stopped.split_once("\u{1b}[?1049h").expect("it goes on");
    let (_, ended) = shown.rsplit_once("\u{1b}[?1049l").unwrap();
    assert!(ended.contains("ended=0"), "{ended}");
    for modes in [modes, ended] {
        assert!(
            modes.contains(" echo ") && modes.contains(" icanon "),
            "{modes}"
        );
    }
}

#[test]
fn without_a_terminal_it_says_what_to_ask_for() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(&mut top(folder.path(), &[]), b"");
    assert_fails(&output, 2, &["--once", "--json"]);
    for wrong in ["0", "-1", "x", "1e9", "nan"] {
        let output = run(
            &mut top(folder.path(), &["--once", "--interval", wrong]),
            b"",
        );
        assert_eq!(output.status.code(), Some(2), "{wrong}");
    }
    let output = run(
        &mut top(folder.path(), &["--once", "--metrics", "nowhere"]),
        b"",
    );
    assert_fails(&output, 2, &["--metrics nowhere", "HOST:PORT"]);
    let mut several = top(
        folder.path(),
        &["--json", "--count", "3", "--interval", "0.1"],
    );
    let output = run(&mut several, b"");
    assert_eq!(lossy(&output.stdout).lines().count(), 3);
}

/// Starts a server that calls `answer` for each connection.
fn server(answer: fn(&mut dyn std::io::Write)) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for connection in listener.incoming() {
            let mut connection = connection.unwrap();
            thread::spawn(move || {
                let _ = connection.read(&mut [0; 4096]);
                answer(&mut connection);
            });
        }
    });
    address
}

#[test]
fn pages_that_are_none_are_named_and_send_nothing_to_the_terminal() {
    let folder = tempfile::tempdir().unwrap();
    let silent = server(|_| thread::sleep(Duration::from_secs(600)));
    let slow = server(|out| {
        while out.write_all(b"o").is_ok() {
            thread::sleep(Duration::from_millis(100));
        }
    });
    let endless = server(|out| {
        let _ = out.write_all(b"HTTP/1.0 200 OK\r\n\r\n");
        while out.write_all(&[b'#'; 65536]).is_ok() {}
    });
    let other = server(|out| {
        let _ = out.write_all(b"HTTP/1.0 200 OK\r\n\r\n<html>");
    });
    let noise = server(|out| {
        let _ = out.write_all(&oarlock_testing::noise(100_000));
    });
    let hostile = server(|out| {
        let page =
            "HTTP/1.0 200 OK\r\n\r\noarlock_device_up{device=\"\u{1b}[31m\u{1b}]0;x\u{7}y\"} 1\n";
        let _ = out.write_all(page.as_bytes());
    });
    let closed = {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        listener.local_addr().unwrap()
    };
    let servers = [silent, slow, endless, other, noise, hostile, closed];
    let texts: Vec<_> = servers.iter().map(ToString::to_string).collect();
    let arguments: Vec<_> = texts.iter().flat_map(|it| ["--metrics", it]).collect();
    let reading = reading(folder.path(), &arguments);
    let row = |text: &String| {
        let all = reading["processes"].as_array().unwrap();
        all.iter().find(|one| one["program"] == **text).unwrap()
    };
    for (number, why) in [
        (0, "no answer within 2 s"),
        (1, "no answer within 2 s"),
        (2, "longer than"),
        (3, "no page of metrics"),
        (4, "no answer of HTTP"),
        (6, "refused"),
    ] {
        let error = &row(&texts[number])["server"]["error"];
        assert!(error.as_str().unwrap().contains(why), "{number}: {error}");
    }
    assert_eq!(row(&texts[5])["devices"][0]["name"], "?[31m?]0;x?y");
    let mut once = top(folder.path(), &["--once", "--interval", "0.1"]);
    let output = run(once.args(&arguments), b"");
    assert!(output.status.success());
    assert!(!output.stdout.contains(&0x1b) && !output.stdout.contains(&7));
}

#[test]
fn files_that_are_none_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let private = folder.path().join("oarlock");
    fs::create_dir(&private).unwrap();
    fs::set_permissions(
        &private,
        std::os::unix::fs::PermissionsExt::from_mode(0o700),
    )
    .unwrap();
    fs::write(private.join("\u{1b}[31mred.live"), b"no figures").unwrap();
    let reading = reading(folder.path(), &[]);
    let ignored = reading["ignored"].as_array().unwrap();
    let one = ignored
        .iter()
        .find(|one| one["path"].as_str().unwrap().contains("red.live"));
    assert_eq!(one.unwrap()["why"], "no file of live figures");
    assert!(one.unwrap()["path"].as_str().unwrap().contains("/?[31m"));
}
