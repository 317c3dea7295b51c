//! Short texts for numbers, with three digits.

/// Formats a count, as in `1.23k`.
pub(super) fn count(number: f64) -> String {
    scaled(number, 1000.0, &["", "k", "M", "G", "T", "P"])
}

/// Formats a rate of bytes, in units of 1000 as usual for rates.
pub(super) fn bytes(number: f64) -> String {
    scaled(number, 1000.0, &[" B", " kB", " MB", " GB", " TB", " PB"])
}

fn scaled(number: f64, step: f64, units: &[&str]) -> String {
    let mut number = number.max(0.0);
    let mut unit = units[0];
    for larger in &units[1..] {
        // A number that would be rounded to four digits gets the next unit.
        if number < step - 0.5 {
            break;
        }
        number /= step;
        unit = larger;
    }
    let is_whole = unit == units[0] && (number.fract() == 0.0 || number >= 100.0);
    match number {
        _ if is_whole => format!("{number:.0}{unit}"),
        0.0..9.995 => format!("{number:.2}{unit}"),
        0.0..99.95 => format!("{number:.1}{unit}"),
        _ => format!("{number:.0}{unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_digits_and_a_unit() {
        for (number, words) in [
            (0.0, "0"),
            (0.5, "0.50"),
            (7.0, "7"),
            (999.4, "999"),
            (999.6, "1.00k"),
            (12_345.0, "12.3k"),
            (999_900.0, "1.00M"),
            (1e30, "1000000000000000P"),
        ] {
            assert_eq!(count(number), words);
        }
        assert_eq!(bytes(1_234_567_890.0), "1.23 GB");
        assert_eq!(bytes(512.0), "512 B");
        assert_eq!(count(-1.0), "0");
        assert_eq!(count(f64::NAN), "0");
    }
}
