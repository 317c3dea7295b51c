//! Jobs and queues of their results.

use std::ffi::{c_int, c_void};
use std::os::fd::AsRawFd as _;
use std::ptr;
use std::time::{Duration, Instant};

use oarlock::Error;
use oarlock::job::{CompletionQueue, Job, JobOptions, Order, Priority, QueueFull, Start};
use zeroize::Zeroizing;

use crate::accelerator::free;
use crate::buffers::{Room, place, value};
use crate::failure::{Code, Failure, call};
use crate::handles::{Handle, Object, OneCall};

/// The result of any job; empty if it verifies.
pub(crate) type Bytes = Zeroizing<Vec<u8>>;
/// The outcome of any job.
pub(crate) type Outcome = Result<Bytes, Error>;

/// A submitted job, or what is left of one that was waited for.
pub struct AnyJob {
    job: Option<Job<Outcome>>,
    /// The result, if it did not fit the caller's buffer.
    result: Option<Bytes>,
}

impl Object for AnyJob {
    const KIND: u64 = 7;
    const NAME: &'static str = "job";
}

impl OneCall for AnyJob {}

/// The program's tag of a job.
struct Tag(*mut c_void);

// SAFETY: it is returned to the program and never dereferenced.
unsafe impl Send for Tag {}

pub struct Queue {
    jobs: CompletionQueue<Outcome, Tag>,
    /// The result that did not fit the caller's buffer.
    result: Option<(Tag, Outcome)>,
}

impl Object for Queue {
    const KIND: u64 = 8;
    const NAME: &'static str = "queue";
}

impl OneCall for Queue {}

/// `struct oarlock_job_options`.
#[repr(C)]
pub struct Options {
    is_urgent: c_int,
    when_asked: c_int,
    time_ns: u64,
}

/// `oarlock_job_callback`.
pub type Callback = Option<
    unsafe extern "C" fn(
        context: *mut c_void,
        error: c_int,
        result: *const c_void,
        result_bytes: usize,
    ),
>;

/// # Safety
/// `options` is NULL or points to options.
pub(crate) unsafe fn options(options: *const Options) -> Result<JobOptions, Failure> {
    if options.is_null() {
        return Ok(JobOptions::default());
    }
    // SAFETY: the caller says that `options` is NULL or points to options that no one changes.
    let options = unsafe { value(options, "the options") }?;
    // A time beyond the range of the clock means no deadline.
    let deadline = match options.time_ns {
        0 => None,
        time => Instant::now().checked_add(Duration::from_nanos(time)),
    };
    Ok(JobOptions {
        priority: match options.is_urgent {
            0 => Priority::Normal,
            _ => Priority::Urgent,
        },
        deadline,
        start: match options.when_asked {
            0 => Start::AtOnce,
            _ => Start::WhenAsked,
        },
    })
}

/// # Safety
/// The caller owns `to`, or it is NULL.
pub(crate) unsafe fn submitted(
    to: *mut Handle<AnyJob>,
    submit: impl FnOnce() -> Result<Job<Outcome>, Failure>,
) -> Result<(), Failure> {
    // SAFETY: the caller says that it owns `to`, or it is NULL.
    let to = unsafe { place(to, "the place of the job") }?;
    *to = Handle::NULL;
    *to = Handle::new(AnyJob {
        job: Some(submit()?),
        result: None,
    })?;
    Ok(())
}

pub(crate) fn queue_full<R>(full: QueueFull<R>) -> Failure {
    Failure::from(Error::from(full))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `result_bytes` and the `*result_bytes` bytes at `result`; both may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_job_wait(
    job: Handle<AnyJob>,
    result: *mut c_void,
    result_bytes: *mut usize,
) -> c_int {
    call(|| {
        let mut here = job.exclusive()?;
        // SAFETY: the caller says that it owns `result_bytes` and the `*result_bytes` bytes at `result`.
        let room = unsafe { Room::new(result, result_bytes) }?;
        if let Some(job) = here.job.take() {
            here.result = Some(job.wait()??);
        }
        given(&mut here, room)
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The same as for [`oarlock_job_wait`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_job_try(
    job: Handle<AnyJob>,
    result: *mut c_void,
    result_bytes: *mut usize,
) -> c_int {
    call(|| {
        let mut here = job.exclusive()?;
        // SAFETY: the caller says that it owns `result_bytes` and the `*result_bytes` bytes at `result`.
        let room = unsafe { Room::new(result, result_bytes) }?;
        if let Some(job) = &mut here.job {
            let Some(result) = job.try_wait() else {
                return Err(Failure::new(Code::Again, "the job has not ended yet"));
            };
            here.job = None;
            here.result = Some(result??);
        }
        given(&mut here, room)
    })
}

/// Copies the result to `room`; keeps it if it does not fit.
fn given(job: &mut AnyJob, mut room: Room<'_>) -> Result<(), Failure> {
    let Some(result) = &job.result else {
        let taken = "the job has ended, and its result or error was taken already";
        return Err(Failure::new(Code::State, taken));
    };
    room.need(result.len())?;
    room.fill(result)?;
    job.result = None;
    Ok(())
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `is_cancelled`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_job_cancel(
    job: Handle<AnyJob>,
    is_cancelled: *mut c_int,
) -> c_int {
    call(|| {
        let job = job.exclusive()?;
        let to = match is_cancelled.is_null() {
            true => &mut 0,
            // SAFETY: the caller says that it owns `is_cancelled`, or it is NULL.
            false => unsafe { place(is_cancelled, "the place of the answer") }?,
        };
        *to = job.job.as_ref().is_some_and(Job::cancel).into();
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_job_free(job: Handle<AnyJob>) -> c_int {
    free(job)
}

/// See `oarlock.h`.
///
/// # Safety
/// Any thread may call `callback` with `context`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_job_on_completion(
    job: Handle<AnyJob>,
    callback: Callback,
    context: *mut c_void,
) -> c_int {
    call(|| {
        let Some(callback) = callback else {
            return Err(Failure::argument("the callback is NULL"));
        };
        let job = pending(job)?;
        let context = Tag(context);
        job.on_completion(move |result| {
            // Capture the whole tag, which is Send, and not only its pointer.
            let context = context;
            let (error, bytes) = match result.flatten() {
                Ok(bytes) => (0, bytes),
                Err(error) => (Failure::from(error).told(), Bytes::default()),
            };
            let result = match bytes.is_empty() {
                true => ptr::null(),
                false => bytes.as_ptr().cast(),
            };
            // SAFETY: the caller of `oarlock_job_on_completion` is responsible for the callback.
            unsafe { callback(context.0, error, result, bytes.len()) };
        });
        Ok(())
    })
}

/// Takes a job that was not waited for, and frees its handle.
fn pending(job: Handle<AnyJob>) -> Result<Job<Outcome>, Failure> {
    let here = job.exclusive()?;
    if here.job.is_none() {
        return Err(Failure::new(Code::State, "the job was waited for already"));
    }
    // The job exists, as this call has just checked.
    let job = here.into_inner().job;
    job.ok_or_else(|| Failure::new(Code::State, "the job was waited for already"))
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `queue`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_queue_new(queue: *mut Handle<Queue>, in_order: c_int) -> c_int {
    call(|| {
        // SAFETY: the caller says that it owns `queue`, or it is NULL.
        let to = unsafe { place(queue, "the place of the queue") }?;
        *to = Handle::NULL;
        let order = match in_order {
            0 => Order::Completion,
            _ => Order::Submission,
        };
        *to = Handle::new(Queue {
            jobs: CompletionQueue::new(order),
            result: None,
        })?;
        Ok(())
    })
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_queue_free(queue: Handle<Queue>) -> c_int {
    free(queue)
}

/// See `oarlock.h`.
#[unsafe(no_mangle)]
pub extern "C" fn oarlock_queue_push(
    queue: Handle<Queue>,
    job: Handle<AnyJob>,
    tag: *mut c_void,
) -> c_int {
    call(|| {
        let mut queue = queue.exclusive()?;
        queue.jobs.push(pending(job)?, Tag(tag));
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `descriptor`, or it is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_queue_fd(queue: Handle<Queue>, descriptor: *mut c_int) -> c_int {
    call(|| {
        let queue = queue.exclusive()?;
        // SAFETY: the caller says that it owns `descriptor`, or it is NULL.
        let to = unsafe { place(descriptor, "the place of the descriptor") }?;
        *to = -1;
        let event = queue.jobs.event_fd();
        let event = event.map_err(|error| Failure::new(Code::Memory, error.to_string()))?;
        *to = event.as_raw_fd();
        Ok(())
    })
}

/// See `oarlock.h`.
///
/// # Safety
/// The caller owns `tag`, `error`, `result_bytes` and the `*result_bytes` bytes at `result`; each may be NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oarlock_queue_next(
    queue: Handle<Queue>,
    tag: *mut *mut c_void,
    error: *mut c_int,
    result: *mut c_void,
    result_bytes: *mut usize,
    wait: c_int,
) -> c_int {
    call(|| {
        let mut queue = queue.exclusive()?;
        // SAFETY: the caller says that it owns `tag` and `error`, or they are NULL, and that it owns `result_bytes` and the
        // `*result_bytes` bytes at `result`.
        let (mut room, error, tag) = unsafe {
            let tag = match tag.is_null() {
                true => None,
                false => Some(place(tag, "the place of the tag")?),
            };
            let room = Room::new(result, result_bytes)?;
            (room, place(error, "the place of the error")?, tag)
        };
        let Queue { jobs, result } = &mut *queue;
        if result.is_none() {
            *result = match wait {
                0 => jobs.try_next(),
                _ => jobs.next_blocking(),
            }
            .map(|(tag, outcome)| (tag, outcome.flatten()));
        }
        match result {
            None if jobs.is_empty() => {
                return Err(Failure::new(Code::Empty, "the queue has no jobs"));
            }
            None => return Err(Failure::new(Code::Again, "no job has ended yet")),
            Some((_, Ok(bytes))) => room.need(bytes.len())?,
            Some((_, Err(_))) => {}
        }
        let Some((tag_here, outcome)) = result.take() else {
            return Ok(());
        };
        if let Some(tag) = tag {
            *tag = tag_here.0;
        }
        match outcome {
            Ok(bytes) => {
                *error = 0;
                room.fill(&bytes)
            }
            Err(failed) => {
                *error = Failure::from(failed).told();
                room.fill(&[])
            }
        }
    })
}
