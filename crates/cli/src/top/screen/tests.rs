//! The screen on terminals of all sizes.
#![allow(clippy::unwrap_used)]

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::super::row::{Device, Operation, ServerRow};
use super::super::sample::Ignored;
use super::*;

fn device(name: &str, health: &'static str, opened: u64) -> Device {
    Device {
        name: name.into(),
        health,
        in_flight: 3,
        done: 12_345,
        failed: 3 * opened,
        stalled: 0,
        late: 0,
        wrong: 0,
        opened,
        requests_per_second: 1234.5,
        bytes_per_second: 5e6,
        lane_fill: None,
    }
}

fn row(number: u32, program: &str) -> Row {
    let operation = |operation, direction| Operation {
        operation,
        direction,
        requests: 1000,
        bytes: 1_000_000,
        requests_per_second: 500.0,
        bytes_per_second: 5e5,
    };
    Row {
        key: number.to_string(),
        process: Some(number),
        user: Some(1000),
        program: program.into(),
        requests_per_second: 1000.0 * f64::from(number),
        bytes_per_second: 1e6,
        operations: vec![
            operation("aes-128-gcm", "encrypt"),
            operation("aes-128-gcm", "decrypt"),
            operation("hmac", "encrypt"),
        ],
        devices: vec![device("good", "ok", 0), device("bad", "open", 2)],
        ..Row::default()
    }
}

fn screen(rows: Vec<Row>, has_colours: bool) -> Screen {
    let mut screen = Screen::new(has_colours);
    screen.take(View {
        unix_ms: 0,
        interval_seconds: 1.0,
        processes: rows,
        ignored: Vec::new(),
    });
    screen
}

fn drawn(screen: &mut Screen, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| screen.draw(frame, "1 s")).unwrap();
    terminal.backend().buffer().clone()
}

fn lines(buffer: &Buffer) -> Vec<String> {
    let width = usize::from(buffer.area.width);
    let symbols: Vec<_> = buffer.content.iter().map(|cell| cell.symbol()).collect();
    symbols.chunks(width).map(|line| line.concat()).collect()
}

#[test]
fn a_small_terminal_shows_what_runs_how_fast_and_whether_it_is_well() {
    let mut screen = screen(vec![row(7, "openssl"), row(5, "ssh")], false);
    let shown = lines(&drawn(&mut screen, 20, 5));
    assert_eq!(
        shown,
        [
            " oarlock top  2 proc",
            "PROGR~  REQ/S HEALTH",
            "opens~  7.00k 1 down",
            "ssh     5.00k 1 down",
            " q quit  ? help  s s",
        ]
    );
}

#[test]
fn a_large_terminal_shows_all_of_it() {
    let mut rows: Vec<_> = (1..=12).map(|number| row(number, "openssl")).collect();
    rows[11].server = Some(ServerRow::default());
    let mut screen = screen(rows, false);
    let shown = lines(&drawn(&mut screen, 200, 50));
    let text = shown.join("\n");
    for part in [
        "12 processes",
        "every 1 s",
        "THREADS",
        "REFUSED",
        "requests a second",
        "cryptoserver: serving, 0 connections",
        "OPENED",
        "hmac",
        "bad",
        "open",
    ] {
        assert!(text.contains(part), "{part}:\n{text}");
    }
    assert!(!text.contains("more lines"), "{text}");
    // Each process has its line.
    assert_eq!(text.matches("1 down").count(), 12, "{text}");
}

#[test]
fn nothing_is_drawn_with_a_colour_where_none_is_wanted() {
    for (has_colours, expected) in [(false, false), (true, true)] {
        let mut screen = screen(vec![row(7, "openssl")], has_colours);
        for has_help in [false, true] {
            screen.has_help = has_help;
            let buffer = drawn(&mut screen, 80, 24);
            let is_coloured = buffer
                .content
                .iter()
                .any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset);
            assert_eq!(is_coloured, expected);
        }
    }
}

#[test]
fn every_size_is_drawn() {
    let many: Vec<_> = (0..u32::from(u16::MAX))
        .map(|number| Row {
            key: number.to_string(),
            program: "\u{65e5}\u{672c}".into(),
            ..Row::default()
        })
        .collect();
    let some: Vec<_> = (1..5)
        .map(|number| row(number, "a-program-with-a-long-name"))
        .collect();
    for rows in [vec![], some.clone()] {
        for has_help in [false, true] {
            let mut screen = screen(rows.clone(), true);
            screen.has_help = has_help;
            screen.view.as_mut().unwrap().ignored = vec![Ignored {
                path: "/run/\u{65e5}".into(),
                why: "no file of live figures".into(),
            }];
            for width in (0..40).step_by(3).chain([79, 80, 200]) {
                for height in (0..24).step_by(2).chain([1, 3, 5, 100]) {
                    screen.scrolled = usize::MAX;
                    drawn(&mut screen, width, height);
                }
            }
        }
    }
    // More processes than a terminal has lines, and than 16 bits count.
    let mut screen = screen(many, true);
    screen.choose(isize::MAX);
    let shown = lines(&drawn(&mut screen, 80, 24));
    assert!(shown[0].contains("65535 processes"), "{}", shown[0]);
}
