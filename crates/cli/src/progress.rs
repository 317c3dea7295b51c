//! The progress bar. The thread that has just finished a piece of work draws it, so it needs no thread of its own.

use std::fmt;
use std::io::{self, IsTerminal as _};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use indicatif::{HumanDuration, ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

/// When to draw one.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// When stderr is a terminal, the output is not, and the work takes more than a moment
    Auto,
    /// Not at all
    Never,
}

/// A progress bar, if there is one, and a clock that stops while the user is asked.
#[derive(Clone)]
pub(crate) struct Progress {
    clock: Arc<Clock>,
    bar: Option<Arc<Bar>>,
}

struct Bar {
    bar: ProgressBar,
    clock: Arc<Clock>,
    shown: Once,
}

struct Clock {
    began: Instant,
    /// The nanoseconds spent waiting for the user.
    waited: AtomicU64,
}

impl Clock {
    fn working(&self) -> Duration {
        let waited = Duration::from_nanos(self.waited.load(Ordering::Relaxed));
        self.began.elapsed().saturating_sub(waited)
    }
}

impl Progress {
    /// Creates a bar for `bytes` bytes, if that is known. `on_stdout` means that the output goes to standard output.
    pub(crate) fn new(when: When, bytes: Option<u64>, on_stdout: bool) -> Self {
        let clock = Arc::new(Clock {
            began: Instant::now(),
            waited: AtomicU64::new(0),
        });
        let is_mixed = on_stdout && io::stdout().is_terminal();
        if when == When::Never || !io::stderr().is_terminal() || is_mixed {
            return Self { clock, bar: None };
        }
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        bar.set_style(style(bytes.is_some(), &clock));
        let bar = Bar {
            bar,
            clock: Arc::clone(&clock),
            shown: Once::new(),
        };
        Self {
            clock,
            bar: Some(Arc::new(bar)),
        }
    }

    /// Whether there is a bar.
    pub(crate) fn is_drawn(&self) -> bool {
        self.bar.is_some()
    }

    /// Returns how long this process has worked, without waits for the user.
    pub(crate) fn working(&self) -> Duration {
        self.clock.working()
    }

    /// Adds bytes that were written. Any thread may call it.
    pub(crate) fn add(&self, bytes: u64) {
        let Some(Bar { bar, clock, shown }) = self.bar.as_deref() else {
            return;
        };
        bar.inc(bytes);
        if !shown.is_completed() && clock.working() > MOMENT {
            shown.call_once(|| bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        }
    }

    /// Writes to stderr without mixing with the bar.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.bar.as_deref() {
            Some(Bar { bar, .. }) => bar.suspend(write),
            None => write(),
        }
    }

    /// Runs `ask` while the bar and the clock stop.
    pub(crate) fn pause<T>(&self, ask: impl FnOnce() -> T) -> T {
        let asked = Instant::now();
        let answer = self.suspend(ask);
        let waited = u64::try_from(asked.elapsed().as_nanos()).unwrap_or(u64::MAX);
        self.clock.waited.fetch_add(waited, Ordering::Relaxed);
        if let Some(Bar { bar, .. }) = self.bar.as_deref() {
            // The bar's estimate has a clock of its own.
            bar.reset_eta();
        }
        answer
    }

    /// Sets the number of bytes, once the input is known.
    pub(crate) fn expect(&self, bytes: Option<u64>) {
        if let (Some(Bar { bar, clock, .. }), Some(bytes)) = (self.bar.as_deref(), bytes) {
            bar.set_length(bytes);
            bar.set_style(style(true, clock));
        }
    }

    /// Removes the bar from the terminal.
    pub(crate) fn clear(&self) {
        if let Some(Bar { bar, .. }) = self.bar.as_deref() {
            bar.finish_and_clear();
        }
    }
}

fn style(knows_end: bool, clock: &Arc<Clock>) -> ProgressStyle {
    let template = if knows_end {
        "{bar:20} {percent:>3} %  {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  ETA {eta}"
    } else {
        "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {working}"
    };
    let clock = Arc::clone(clock);
    let working = move |_: &ProgressState, text: &mut dyn fmt::Write| {
        let _ = write!(text, "{:#}", HumanDuration(clock.working()));
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .with_key("working", working)
}

/// The bar is shown only after this time.
const MOMENT: Duration = Duration::from_millis(200);
