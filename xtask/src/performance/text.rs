//! Figures and sizes as the page shows them.

/// Formats a figure with three significant digits.
pub fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        0.0..0.1 => 4,
        0.1..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

pub fn size(bytes: usize) -> String {
    match bytes {
        0 => String::new(),
        _ if bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
        _ if bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => bytes.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_three_digits_and_sizes_a_unit() {
        let figures = [0.0123, 0.9, 3.04, 22.17, 411.27].map(figure);
        assert_eq!(figures, ["0.0123", "0.90", "3.04", "22.2", "411"]);
        let sizes = [64, 1 << 10, 48 << 20, 2 << 30].map(size);
        assert_eq!(sizes, ["64", "1 KiB", "48 MiB", "2 GiB"]);
    }
}
