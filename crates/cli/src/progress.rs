//! The bar on a terminal. The thread that has just finished a piece of work draws it, so no thread ticks.

use std::io::{self, IsTerminal as _};
use std::sync::{Arc, Once};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// When to draw one.
#[derive(Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum When {
    /// When stderr is a terminal, the output is not, and the work takes more than a moment
    Auto,
    /// Not at all
    Never,
}

/// A bar, or nothing.
#[derive(Clone)]
pub(crate) struct Progress(Option<Arc<Bar>>);

struct Bar {
    bar: ProgressBar,
    began: Instant,
    shown: Once,
}

impl Progress {
    /// For `bytes` bytes, where they are known. `on_stdout`: that is where they go.
    pub(crate) fn new(when: When, bytes: Option<u64>, on_stdout: bool) -> Self {
        let is_mixed = on_stdout && io::stdout().is_terminal();
        if when == When::Never || !io::stderr().is_terminal() || is_mixed {
            return Self(None);
        }
        let bar = ProgressBar::with_draw_target(bytes, ProgressDrawTarget::hidden());
        bar.set_style(style(bytes.is_some()));
        Self(Some(Arc::new(Bar {
            bar,
            began: Instant::now(),
            shown: Once::new(),
        })))
    }

    /// Counts bytes that are written; any thread.
    pub(crate) fn add(&self, bytes: u64) {
        let Some(Bar { bar, began, shown }) = self.0.as_deref() else {
            return;
        };
        bar.inc(bytes);
        if !shown.is_completed() && began.elapsed() > MOMENT {
            shown.call_once(|| bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10)));
        }
    }

    /// Writes to stderr without mixing with the bar.
    pub(crate) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match self.0.as_deref() {
            Some(Bar { bar, .. }) => bar.suspend(write),
            None => write(),
        }
    }

    /// Lets the user answer something.
    pub(crate) fn pause<T>(&self, ask: impl FnOnce() -> T) -> T {
        self.suspend(ask)
    }

    /// Sets the number of bytes, once the input is known.
    pub(crate) fn expect(&self, bytes: Option<u64>) {
        if let (Some(Bar { bar, .. }), Some(bytes)) = (self.0.as_deref(), bytes) {
            bar.set_length(bytes);
            bar.set_style(style(true));
        }
    }

    /// Clears the line.
    pub(crate) fn clear(&self) {
        if let Some(Bar { bar, .. }) = self.0.as_deref() {
            bar.finish_and_clear();
        }
    }
}

fn style(knows_end: bool) -> ProgressStyle {
    let template = if knows_end {
        "{bar:30} {percent:>3} %  {binary_bytes} of {binary_total_bytes}  {binary_bytes_per_sec}  ETA {eta}"
    } else {
        "{spinner} {binary_bytes}  {binary_bytes_per_sec}  {elapsed}"
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// Shorter work shows no bar.
const MOMENT: Duration = Duration::from_millis(200);
