//! An array as a stream of one chunk, by Arrow's C stream interface. arrow-rs exports streams of record batches alone.

use std::ffi::{c_char, c_int};
use std::ptr;

use arrow_array::ffi::{FFI_ArrowArray, FFI_ArrowSchema, to_ffi};
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::{Array as _, ArrayRef};

/// `EINVAL`, the interface's error for anything but memory and I/O.
const INVALID: c_int = 22;

/// The private data of a stream.
struct State {
    array: ArrayRef,
    is_read: bool,
}

/// Returns the stream of an array.
pub fn of(array: &ArrayRef) -> FFI_ArrowArrayStream {
    let state = Box::new(State {
        array: array.clone(),
        is_read: false,
    });
    // SAFETY: the functions below take `State` as the private data, and `release` frees it once.
    unsafe {
        FFI_ArrowArrayStream::new_unchecked(
            Some(get_schema),
            Some(get_next),
            Some(get_last_error),
            Some(release),
            Box::into_raw(state).cast(),
        )
    }
}

/// # Safety
/// `stream` is one that `of` made and nobody has released, and `schema` is a place for a schema.
unsafe extern "C" fn get_schema(
    stream: *mut FFI_ArrowArrayStream,
    schema: *mut FFI_ArrowSchema,
) -> c_int {
    // SAFETY: the consumer passes a stream of `of` that has not been released.
    let state = unsafe { &*(*stream).private_data().cast::<State>() };
    match FFI_ArrowSchema::try_from(state.array.data_type()) {
        Ok(made) => {
            // SAFETY: the consumer passes a place for a schema.
            unsafe { schema.write(made) };
            0
        }
        Err(_) => INVALID,
    }
}

/// # Safety
/// `stream` is as for `get_schema`, no other call uses it, and `array` is a place for an array.
unsafe extern "C" fn get_next(
    stream: *mut FFI_ArrowArrayStream,
    array: *mut FFI_ArrowArray,
) -> c_int {
    // SAFETY: as in `get_schema`; the interface forbids concurrent calls.
    let state = unsafe { &mut *(*stream).private_data().cast::<State>() };
    let made = if state.is_read {
        FFI_ArrowArray::empty()
    } else {
        match to_ffi(&state.array.to_data()) {
            Ok((made, _)) => made,
            Err(_) => return INVALID,
        }
    };
    state.is_read = true;
    // SAFETY: the consumer passes a place for an array.
    unsafe { array.write(made) };
    0
}

/// # Safety
/// Nothing is required.
unsafe extern "C" fn get_last_error(_stream: *mut FFI_ArrowArrayStream) -> *const c_char {
    ptr::null()
}

/// # Safety
/// `stream` is as for `get_schema`, and nobody uses it afterwards.
unsafe extern "C" fn release(stream: *mut FFI_ArrowArrayStream) {
    // SAFETY: the consumer passes a stream of `of`, once.
    unsafe {
        let state = (*stream).set_private_data(ptr::null_mut());
        drop(Box::from_raw(state.cast::<State>()));
        (*stream).set_release(None);
    }
}
