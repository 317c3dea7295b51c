//! The terminal: keys, signals and time. It is restored however the command ends.

use std::io;
use std::process::ExitCode;
use std::time::Duration;

use crossterm::event::{Event, EventStream, KeyCode, KeyEvent, KeyEventKind, KeyModifiers};
use crossterm::terminal::{Clear, ClearType};
use futures_util::StreamExt as _;
use ratatui::DefaultTerminal;
use rustix::process::{Signal, getpid, kill_process};
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::MissedTickBehavior;

use super::sample::Sampler;
use super::screen::{Screen, Sort};
use crate::colours;
use crate::failure::{Failure, reason};

pub(super) async fn run(mut sampler: Sampler, interval: Duration) -> Result<ExitCode, Failure> {
    let failed = |error: io::Error| Failure::new(format!("the terminal: {}", reason(&error)));
    let caught = |kind| signal(kind).map_err(failed);
    let mut interrupt = caught(SignalKind::interrupt())?;
    let mut terminate = caught(SignalKind::terminate())?;
    let mut hang_up = caught(SignalKind::hangup())?;
    let mut stop = caught(SignalKind::from_raw(signal_hook::consts::SIGTSTP))?;
    let mut resumed = caught(SignalKind::from_raw(signal_hook::consts::SIGCONT))?;

    let mut shown = Shown::open().map_err(failed)?;
    let mut keys = EventStream::new();
    let mut screen = Screen::new(colours::on_stdout_are_shown());
    let every = format!("{} s", interval.as_secs_f64());
    // Rates need two readings, so the second comes soon.
    screen.take(sampler.sample());
    let mut ticks = tokio::time::interval_at(
        (std::time::Instant::now() + interval.min(FIRST)).into(),
        interval,
    );
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        shown.draw(&mut screen, &every).map_err(failed)?;
        let acted = tokio::select! {
            key = keys.next() => match key {
                Some(Ok(event)) => act(&mut screen, &event),
                // The terminal is gone.
                Some(Err(_)) | None => Act::Quit(0),
            },
            _ = ticks.tick() => {
                if !screen.is_paused {
                    screen.take(sampler.sample());
                }
                Act::Nothing
            }
            _ = interrupt.recv() => Act::Quit(128 + 2),
            _ = terminate.recv() => Act::Quit(128 + 15),
            _ = hang_up.recv() => Act::Quit(128 + 1),
            _ = stop.recv() => Act::Stop,
            _ = resumed.recv() => Act::Again,
        };
        match acted {
            Act::Nothing => {}
            Act::Quit(status) => return Ok(ExitCode::from(status)),
            Act::Stop => {
                drop(shown);
                // This returns when the process continues. SIGCONT arrives as well; receive it here, to draw only once.
                let _ = kill_process(getpid(), Signal::STOP);
                let _ = tokio::time::timeout(FIRST, resumed.recv()).await;
                shown = Shown::open().map_err(failed)?;
            }
            // Another program may have used the terminal since, and changed it.
            Act::Again => {
                drop(shown);
                shown = Shown::open().map_err(failed)?;
            }
        }
    }
}

enum Act {
    Nothing,
    Quit(u8),
    Stop,
    Again,
}

fn act(screen: &mut Screen, event: &Event) -> Act {
    let Event::Key(KeyEvent {
        code,
        modifiers,
        kind,
        ..
    }) = event
    else {
        // Drawing notices a new size.
        return Act::Nothing;
    };
    if *kind == KeyEventKind::Release {
        return Act::Nothing;
    }
    if modifiers.contains(KeyModifiers::CONTROL) {
        return match code {
            KeyCode::Char('c') => Act::Quit(128 + 2),
            KeyCode::Char('z') => Act::Stop,
            KeyCode::Char('l') => Act::Again,
            _ => Act::Nothing,
        };
    }
    if screen.has_help {
        screen.has_help = false;
        if !matches!(code, KeyCode::Char('q')) {
            return Act::Nothing;
        }
    }
    match code {
        KeyCode::Char('q') | KeyCode::Esc => return Act::Quit(0),
        KeyCode::Up | KeyCode::Char('k') => screen.choose(-1),
        KeyCode::Down | KeyCode::Char('j') => screen.choose(1),
        KeyCode::Home | KeyCode::Char('g') => screen.choose(isize::MIN),
        KeyCode::End | KeyCode::Char('G') => screen.choose(isize::MAX),
        KeyCode::PageDown => screen.scrolled = screen.scrolled.saturating_add(PAGE_LINES),
        KeyCode::PageUp => screen.scrolled = screen.scrolled.saturating_sub(PAGE_LINES),
        KeyCode::Char('s') => screen.sort = Sort::next(screen.sort),
        KeyCode::Char('r') => screen.is_reversed = !screen.is_reversed,
        KeyCode::Char('p' | ' ') => screen.is_paused = !screen.is_paused,
        KeyCode::Char('?' | 'h') => screen.has_help = true,
        _ => {}
    }
    Act::Nothing
}

/// The terminal in its alternate screen, in raw mode. Drop restores it, and so does a panic.
struct Shown(DefaultTerminal);

impl Shown {
    fn open() -> io::Result<Self> {
        let terminal = ratatui::try_init()?;
        // Not with the terminal's own `clear`, which asks for the cursor's position while keys are being read.
        crossterm::execute!(io::stdout(), Clear(ClearType::All))?;
        Ok(Self(terminal))
    }

    fn draw(&mut self, screen: &mut Screen, every: &str) -> io::Result<()> {
        self.0.draw(|frame| screen.draw(frame, every)).map(drop)
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        let _ = self.0.show_cursor();
        // If the terminal is gone, nothing can be restored.
        let _ = ratatui::try_restore();
    }
}

/// The time until the first rates.
const FIRST: Duration = Duration::from_millis(250);
const PAGE_LINES: usize = 8;
