//! A table of a case by length, for people.

use oarlock_measure::cases::Size;

use crate::programs::compared::Compared;

/// Returns a row for each length: the rates of all sides, ours over each of the others, and a bar for each rate.
pub(crate) fn table(name: &str, packets: usize, compared: &[Compared]) -> String {
    let mut text = format!("{name}: {packets} packets in a call\n");
    let most = compared
        .iter()
        .map(|one| one.medians())
        .fold(0.0, |most: f64, (ours, theirs)| most.max(ours).max(theirs));
    let bar = |rate: f64| "#".repeat((rate / most * BAR_CHARACTERS).round() as usize);
    for size in compared.chunk_by(|a, b| a.bytes == b.bytes) {
        let (ours, _) = size[0].medians();
        let bytes = Size(size[0].bytes).to_string();
        text += &format!(
            "{bytes:>7}  {:<12} {ours:>8.3} GB/s         {}\n",
            "oarlock",
            bar(ours)
        );
        for one in size {
            let (_, theirs) = one.medians();
            let ratio = one.ratios(|ours, theirs| ours / theirs).median;
            text += &format!(
                "{:>7}  {:<12} {theirs:>8.3} GB/s {ratio:>6.2}x {}\n",
                "",
                one.vs,
                bar(theirs)
            );
        }
    }
    text
}

const BAR_CHARACTERS: f64 = 40.0;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::programs::compared::Quantity;

    #[test]
    fn a_row_for_each_length_and_side() {
        let compared = |bytes, vs, theirs| Compared {
            bytes,
            ..Compared::new(Quantity::Rate, vs, vec![8.0], vec![theirs])
        };
        let all = [
            compared(64, "a", 2.0),
            compared(64, "b", 4.0),
            compared(1024, "a", 8.0),
        ];
        let text = table("packet-x", 32, &all);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "packet-x: 32 packets in a call");
        assert_eq!(lines.len(), 6);
        assert!(lines[1].starts_with("     64  oarlock") && lines[1].ends_with(&"#".repeat(40)));
        assert!(lines[2].contains("4.00x ##########"), "{}", lines[2]);
        assert!(lines[4].starts_with("     1k"), "{}", lines[4]);
    }
}
