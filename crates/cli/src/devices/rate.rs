//! Formatted rates.

/// Formats a rate in MB/s or GB/s.
pub(super) fn speed(bytes_per_second: u64) -> String {
    let bytes_per_second = bytes_per_second as f64;
    match bytes_per_second {
        ..1e8 => format!("{:.1} MB/s", bytes_per_second / 1e6),
        ..1e10 => format!("{:.2} GB/s", bytes_per_second / 1e9),
        _ => format!("{:.1} GB/s", bytes_per_second / 1e9),
    }
}
