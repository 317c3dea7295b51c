//! Publishes a process's activity to others of its user: figures in a file of a private folder, which `oarlock top`
//! reads. docs/internals/live-figures.md describes the figures and who may read them.
//!
//! A process publishes nothing by default; [`Options::publish`](crate::Options::publish) or [`show`] turns it on. No
//! secret is published: no key, no data, no nonce.
//!
//! ```no_run
//! use oarlock_engine::costs::published;
//!
//! for found in published::running() {
//!     match found.figures {
//!         Ok(figures) => println!("{} runs {} devices", figures.program, figures.devices.len()),
//!         Err(why) => println!("{}: {why}", found.path.display()),
//!     }
//! }
//! ```

// threads/page.rs has the file itself, figures.rs reads its contents, and folder.rs finds it.

mod figures;
mod folder;

use std::net::SocketAddr;

pub use self::figures::{
    Counts, DeviceFigures, DeviceState, Figures, OperationFigures, ProcessFigures,
};
pub use self::folder::{Found, clear, read, running};
use crate::costs::rows;
pub(crate) use crate::costs::rows::Other;
use crate::work::algorithm::{Algorithm, Direction};
#[cfg(feature = "rsa")]
use oarlock_threads::page::{DeviceFigure, DevicePage};
use oarlock_threads::page::{Gauge, Page};
use oarlock_threads::process;

/// Publishes figures of this process, as [`Options::publish`](crate::Options::publish) does, for a program without an
/// accelerator. `metrics` is the address of a cryptoserver's metrics page.
///
/// # Errors
/// A message that says why no file can be created: for example, no private folder exists. A program that is sandboxed
/// or has more rights than its user publishes nothing.
///
/// ```no_run
/// oarlock_engine::costs::published::show(Some("127.0.0.1:9464".parse()?))?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn show(metrics: Option<SocketAddr>) -> Result<(), String> {
    let page = page()?;
    if let Some(address) = metrics {
        page.set_address(&address.to_string());
    }
    Ok(())
}

/// Returns the page of this process, creating it if necessary.
fn page() -> Result<&'static Page, String> {
    if let Some(page) = Page::current() {
        return Ok(page);
    }
    if process::is_privileged() {
        return Err("the program runs with more rights than its user".into());
    }
    if process::is_sandboxed() {
        return Err("the process is confined".into());
    }
    let folder = folder::private()?;
    folder::sweep(&folder);
    let name = format!("{}-{:x}.live", std::process::id(), process::boot_time_ns());
    let path = folder.join(name);
    let page = Page::publish(&path, folder::namespace())
        .map_err(|error| format!("{}: {error}", path.display()))?;
    page.set_program(&program());
    Ok(page)
}

/// Returns the file name of the running program.
fn program() -> String {
    let comm = || std::fs::read_to_string("/proc/self/comm").ok();
    let path = std::env::current_exe().ok();
    let name = path.and_then(|path| Some(path.file_name()?.to_string_lossy().into_owned()));
    name.or_else(comm).unwrap_or_default().trim_end().to_owned()
}

/// The counters of an accelerator and its sessions; `None` if it does not publish.
#[derive(Clone, Copy, Default)]
pub(crate) struct Shown(Option<&'static Page>);

impl Shown {
    /// Returns the counters if publishing is asked for and possible.
    pub(crate) fn where_asked(is_asked: bool) -> Self {
        if !is_asked {
            return Self(None);
        }
        let page = page();
        #[cfg(feature = "rsa")]
        if let Err(why) = &page {
            log::warn!("publish=on: nothing is shown: {why}");
        }
        Self(page.ok())
    }

    /// Counts a request. Costs a load and a branch if nothing is published.
    #[inline(always)]
    pub(crate) fn count(self, algorithm: Algorithm, direction: Direction, bytes: usize) {
        if let Some(page) = self.0 {
            page.count(rows::row(algorithm, direction), 1, bytes as u64);
        }
    }

    /// Counts several requests.
    #[inline(always)]
    pub(crate) fn count_many(
        self,
        algorithm: Algorithm,
        direction: Direction,
        requests: usize,
        bytes: usize,
    ) {
        if let Some(page) = self.0 {
            let row = rows::row(algorithm, direction);
            page.count(row, requests as u64, bytes as u64);
        }
    }

    /// Counts requests other than a session's algorithm.
    #[cfg_attr(not(feature = "rsa"), allow(dead_code))]
    pub(crate) fn count_other(self, what: Other, direction: Direction, requests: u64, bytes: u64) {
        if let Some(page) = self.0 {
            page.count(what.row(direction), requests, bytes);
        }
    }

    #[cfg_attr(not(feature = "rsa"), allow(dead_code))]
    pub(crate) fn add(self, gauge: Gauge, more: i64) {
        if let Some(page) = self.0 {
            page.add(gauge, more);
        }
    }

    /// Returns counters for a device, if a row is free.
    #[cfg(feature = "rsa")]
    pub(crate) fn device(self, name: &str) -> ShownDevice {
        ShownDevice(self.0.and_then(|page| page.device(name)))
    }
}

/// The counters of a device, if published.
#[cfg(feature = "rsa")]
#[derive(Clone, Copy, Default)]
pub(crate) struct ShownDevice(Option<&'static DevicePage>);

#[cfg(feature = "rsa")]
impl ShownDevice {
    pub(crate) fn set_state(self, state: DeviceState) {
        if let Some(page) = self.0 {
            page.set_state(state as u64);
        }
    }

    pub(crate) fn set(self, figure: DeviceFigure, value: u64) {
        if let Some(page) = self.0 {
            page.set(figure, value);
        }
    }

    pub(crate) fn add(self, figure: DeviceFigure, more: u64) {
        if let Some(page) = self.0 {
            page.add(figure, more);
        }
    }
}
