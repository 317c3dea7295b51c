//! Which test runs.

/// The full name of the running test, which the harness gives to the thread that it runs on.
///
/// # Panics
/// On a thread without a name, which no test runs on.
pub fn test_name() -> String {
    let thread = std::thread::current();
    thread.name().unwrap().to_owned()
}
