//! The table of functions that a library exports.
#![allow(unsafe_code)]

use std::error::Error;
use std::ffi::{c_char, c_int, c_void};
use std::mem::{ManuallyDrop, MaybeUninit, offset_of};
use std::path::Path;
use std::ptr;

use libloading::Library;

use super::data::{DataFunctions, OfferFunction, Run};
use super::powers::{LatencyUs, Power, PowerCrt, PowerFunctions};

/// The functions of a table. It has those for data, those for powers, or both.
pub(super) struct Functions {
    pub(super) open: Open,
    pub(super) close: Close,
    pub(super) capacity: Capacity,
    pub(super) data: Option<DataFunctions>,
    pub(super) powers: Option<PowerFunctions>,
}

pub(super) type Open =
    unsafe extern "C" fn(*const c_char, *mut *mut c_void, *mut c_char, usize) -> c_int;
pub(super) type Close = unsafe extern "C" fn(*mut c_void);
pub(super) type Capacity = unsafe extern "C" fn(*mut c_void) -> usize;

/// The C type `oarlock_device_table_v2`.
#[repr(C)]
pub(super) struct FunctionTable {
    head: FunctionTableHead,
    name: *const c_char,
    open: Option<Open>,
    close: Option<Close>,
    capacity: Option<Capacity>,
    offer: Option<OfferFunction>,
    run: Option<Run>,
    latency_us: Option<LatencyUs>,
    power: Option<Power>,
    power_crt: Option<PowerCrt>,
}

/// The head of every table, in all versions.
#[repr(C)]
struct FunctionTableHead {
    size: usize,
    abi_version: u32,
}

/// Returns the functions of the library at `path`, and its name.
pub(super) fn load(path: &Path) -> Result<(Functions, String), String> {
    let library = library(path)?;
    // SAFETY: this is the type that the header declares for the function of this name.
    let table = unsafe {
        library.get::<unsafe extern "C" fn() -> *const FunctionTable>(b"oarlock_device_v2\0")
    };
    let table =
        table.map_err(|_| "no library of a device: it has no oarlock_device_v2".to_owned())?;
    // SAFETY: the function has no preconditions.
    let table = unsafe { table() };
    // SAFETY: the table comes from the library, which stays loaded.
    unsafe { read(table) }
}

/// Returns the functions of a table, and its name.
///
/// # Safety
/// `table` is null, or a table of some version that does not change and stays valid until the process ends.
pub(super) unsafe fn read(table: *const FunctionTable) -> Result<(Functions, String), String> {
    // SAFETY: a table of any version begins with a head, and the caller guarantees that it is null or a table.
    let size = unsafe { checked_size(table.cast()) }?;
    let mut copy = MaybeUninit::<FunctionTable>::zeroed();
    // SAFETY: the table has `size` bytes and does not change, and the copy has room for `bytes` bytes. A function
    // behind them is null in the copy, which stands for none.
    let table = unsafe {
        let bytes = size.min(size_of::<FunctionTable>());
        // Whole pointers only.
        let bytes = bytes - bytes % size_of::<usize>();
        ptr::copy_nonoverlapping(table.cast::<u8>(), copy.as_mut_ptr().cast(), bytes);
        copy.assume_init()
    };
    let lacks = |function: &str| format!("its table has no {function}");
    // SAFETY: the name is part of a table, which stays valid.
    let name = unsafe { name_of(table.name) }?;
    let functions = Functions {
        open: table.open.ok_or_else(|| lacks("open"))?,
        close: table.close.ok_or_else(|| lacks("close"))?,
        capacity: table.capacity.ok_or_else(|| lacks("capacity"))?,
        data: match (table.offer, table.run) {
            (Some(offer), Some(run)) => Some(DataFunctions { offer, run }),
            (None, None) => None,
            (None, _) => return Err(lacks("offer")),
            (_, None) => return Err(lacks("run")),
        },
        powers: match (table.latency_us, table.power) {
            (Some(latency_us), Some(power)) => Some(PowerFunctions {
                latency_us,
                power,
                power_crt: table.power_crt,
            }),
            (None, None) => None,
            (None, _) => return Err(lacks("latency_us")),
            (_, None) => return Err(lacks("power")),
        },
    };
    if functions.data.is_none() && functions.powers.is_none() {
        return Err("its table has neither run nor power".into());
    }
    Ok((functions, name))
}

/// Loads the library at `path`. It is never unloaded, because its own threads may run until the process ends.
fn library(path: &Path) -> Result<ManuallyDrop<Library>, String> {
    // SAFETY: loading runs code of the library. The caller vouches for that code, as the documentation of `LibraryDevice`
    // demands; no other proof exists.
    let library = unsafe { Library::new(path) }.map_err(|error| {
        // libloading wraps the loader's message as its source.
        let cause = error
            .source()
            .map_or_else(|| error.to_string(), ToString::to_string);
        format!("cannot be loaded: {cause}")
    })?;
    Ok(ManuallyDrop::new(library))
}

/// Checks the head of a table, and returns the table's size.
///
/// # Safety
/// `table` is null or a table of some version.
unsafe fn checked_size(table: *const FunctionTableHead) -> Result<usize, String> {
    if table.is_null() {
        return Err(
            "it cannot work on this machine: its oarlock_device_v2 gives no table".to_owned(),
        );
    }
    // SAFETY: every version's table begins with this head, and it does not change.
    let FunctionTableHead { size, abi_version } = unsafe { table.read_unaligned() };
    if abi_version != ABI_VERSION {
        return Err(format!(
            "its table is of version {abi_version}, and this program takes {ABI_VERSION}: build it \
             with the oarlock_device.h of this program"
        ));
    }
    if size < BYTES_MIN {
        return Err(format!(
            "its table has {size} bytes, and one of version {ABI_VERSION} has at least {BYTES_MIN}"
        ));
    }
    Ok(size)
}

/// Returns the name in a table.
///
/// # Safety
/// `name` is null or a string that belongs to the library, which stays loaded.
unsafe fn name_of(name: *const c_char) -> Result<String, String> {
    if name.is_null() {
        return Err("its table has no name".into());
    }
    // SAFETY: the name is not null, and the caller guarantees that it is a string of the library. strnlen stops at its end
    // or after NAME_BYTES_MAX + 1 bytes.
    let name = unsafe {
        let len = libc::strnlen(name, NAME_BYTES_MAX + 1);
        std::slice::from_raw_parts(name.cast::<u8>(), len)
    };
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        return Err(format!(
            "its name is empty or longer than {NAME_BYTES_MAX} bytes"
        ));
    }
    let name = std::str::from_utf8(name).map_err(|_| "its name is not in UTF-8")?;
    if name.contains(char::is_control) {
        return Err(format!("its name has a control character: {name:?}"));
    }
    Ok(name.to_owned())
}

const ABI_VERSION: u32 = 2;
/// The functions behind these may be missing.
const BYTES_MIN: usize = offset_of!(FunctionTable, latency_us);
const NAME_BYTES_MAX: usize = 255;
