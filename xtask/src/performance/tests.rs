use super::*;

#[test]
fn a_row_holds_all_implementations_of_a_point_and_the_later_run_counts() {
    let (first, ratio, later) = (ours(19.0, 1), over(1), ours(18.0, 1));
    let text = written(&[MACHINE, &first, THEIRS, &ratio, MACHINE, &later]);
    assert!(
        text.contains(
            "#### GB/s, 1 thread\n\n\
             | case | bytes | oarlock | openssl |\n|---|--:|--:|--:|\n\
             | aes-128-ctr | 16 KiB | 18.0 | 9.50 (2.00x) |\n\n"
        ),
        "{text}"
    );
    assert!(
        text.contains(
            "## Class B: AVX2, VAES and VPCLMULQDQ\n\n### Fast CPU, 2 cores, 2026-11-22\n"
        ),
        "{text}"
    );
    assert!(!text.contains("## Class A"), "{text}");
}

#[test]
fn peers_stand_next_to_oarlock_with_more_threads_than_theirs() {
    let (two, ratio) = (ours(38.0, 2), over(2));
    let text = written(&[MACHINE, &two, THEIRS, &ratio]);
    let row = "#### GB/s, 2 threads of Oarlock, 1 of the others\n\n\
               | case | bytes | oarlock | openssl |\n|---|--:|--:|--:|\n\
               | aes-128-ctr | 16 KiB | 38.0 | 9.50 (2.00x) |\n";
    assert!(text.contains(row), "{text}");
}

#[test]
fn what_a_mask_hid_has_a_table_of_its_own() {
    let masked = MACHINE.replace("aes avx2 vaes", "aes");
    let (whole, narrow) = (ours(19.0, 1), ours(5.0, 1));
    let text = written(&[MACHINE, &whole, &masked, &narrow]);
    assert!(text.contains("#### GB/s, 1 thread\n"), "{text}");
    assert!(
        text.contains("#### GB/s, 1 thread, with aes alone\n"),
        "{text}"
    );
}

#[test]
fn requests_in_flight_have_a_column_and_latencies() {
    let line = r#"{"case":"rsa-2048-sign","impl":"oarlock","threads":1,"bytes":256,"unit":"op/s","median":10600.0,"min":1.0,"max":2.0,"runs":3,"verified":true,"depth":64,"latency_us_p50":5900.0,"latency_us_p90":6000.0,"latency_us_p99":6100.0}"#;
    let text = written(&[MACHINE, line]);
    let table = "| case | bytes | in flight | oarlock |\n|---|--:|--:|--:|\n\
                 | rsa-2048-sign | 256 | 64 | 10600; 5900 / 6100 µs |\n";
    assert!(text.contains(table), "{text}");
}

#[test]
fn targets_tell_every_run() {
    let outcome = |measured: &str, met: bool| {
        format!(
            r#"{{"target":"aes 64: over openssl","required":1.3,"measured":{measured},"min":1.0,"max":2.0,"met":{met},"note":""}}"#
        )
    };
    let (met, missed) = (outcome("3.0469", true), outcome("0.87284", false));
    let text = written(&[MACHINE, &met, MACHINE, &missed]);
    let row = "| aes 64: over openssl | 1.30 | 3.05, then 0.87 | **no** |\n";
    assert!(text.contains(row), "{text}");
}

#[test]
fn what_was_measured_with_another_openssl_stands_apart() {
    let newest = MACHINE.replace("3.0.19", "4.0.3 29 Sep 2026");
    let met =
        r#"{"target":"t","required":1.3,"measured":2.5,"min":1.0,"max":3.0,"met":true,"note":""}"#;
    let (first, two, ratio) = (ours(19.0, 1), ours(38.0, 2), over(1));
    let theirs = THEIRS.replace("9.5", "14.5");
    let closer = ratio.replace("2.0,", "1.4,");
    let with_30 = [MACHINE, &first, THEIRS, &ratio, &two, met];
    let with_40 = [&newest, &first, &theirs, &closer, met];
    let text = written(&[&with_30[..], &with_40].concat());
    let table = |series: &str, theirs: &str| {
        format!(
            "#### GB/s, 1 thread, with OpenSSL {series}\n\n\
             | case | bytes | oarlock | openssl |\n|---|--:|--:|--:|\n\
             | aes-128-ctr | 16 KiB | 19.0 | {theirs} |\n\n"
        )
    };
    // The tables of both releases follow each other.
    let tables = table("3.0", "9.50 (2.00x)") + &table("4.0", "14.5 (1.40x)");
    assert!(text.contains(&tables), "{text}");
    let last = "| t | 1.30 | 2.50 | yes |\n";
    for series in ["3.0", "4.0"] {
        let title = format!("#### Targets, with OpenSSL {series}\n");
        let (_, targets) = text.split_once(&title).unwrap();
        assert!(
            targets.split("####").next().unwrap().contains(last),
            "{text}"
        );
    }
    // With a single release, only its version is named.
    let text = written(&with_40);
    assert!(text.contains("; OpenSSL 4.0.3 29 Sep 2026."), "{text}");
    assert!(text.contains("#### Targets\n"), "{text}");
}

#[test]
fn the_summary_has_the_newest_record_of_each_class_and_marks_losses() {
    let lines = |date: &str, features: &str, ratios: [f64; 3]| {
        let machine = MACHINE.replace("2026-11-22", date);
        let machine = machine.replace("aes avx2 vaes", features);
        let names = ["aes-128-ctr 16", "aes-192-ctr 1k", "aes-256-ctr 1m"];
        let outcomes = names.iter().zip(ratios).map(|(name, ratio)| {
            let target = format!("class-B {name}: over openssl");
            outcome(&target, ratio)
        });
        let rest = outcomes.collect::<Vec<_>>().join("\n");
        Record::parse("a.jsonl", &format!("{machine}\n{rest}")).unwrap()
    };
    let text = summary(&[
        lines("2026-11-24", "aes avx2 vaes", [3.0, 0.9, 2.0]),
        lines("2026-11-23", "aes avx2", [4.0, 5.0, 6.0]),
        lines("2026-11-22", "aes avx2 vaes", [7.0, 8.0, 9.0]),
    ]);
    let section = "## Fast CPU, 2026-11-23 to 2026-11-24\n\nCompared with OpenSSL 3.0.19.\n\n\
                   | operation | compared with | B | C |\n|---|---|--:|--:|\n\
                   | AES-CTR | OpenSSL | 2.00 (**0.90**) | 5.00 (4.00) |\n\n";
    assert!(text.ends_with(section), "{text}");
}

#[test]
fn a_broken_record_is_named() {
    let error = Record::parse("a.jsonl", &format!("{MACHINE}\n{{}}")).err();
    assert_eq!(error.unwrap(), "a.jsonl:2: not a line of a record");
    let error = Record::parse("a.jsonl", THEIRS).err();
    assert_eq!(error.unwrap(), "a.jsonl: does not begin with the machine");
    let nameless = MACHINE.replace("Oarlock 0.1.0 (aes avx2 vaes)", "AWS-LC");
    let error = Record::parse("a.jsonl", &nameless).err().unwrap();
    assert!(error.contains("no run names the features"), "{error}");
}

#[test]
fn an_edit_above_the_mark_is_found_and_one_below_is_kept() {
    let temporary = tempfile::tempdir().unwrap();
    let root = temporary.path();
    let folder = root.join(RECORDS).join("fast");
    fs::create_dir_all(&folder).unwrap();
    fs::create_dir_all(root.join("docs")).unwrap();
    let record = format!(
        "{MACHINE}\n{}\n",
        outcome("class-B aes-128-ctr 16: over openssl", 1.9)
    );
    fs::write(folder.join("2026-11-22.jsonl"), record).unwrap();
    let path = root.join(PAGE);
    let text = page(root).unwrap() + "By hand.\n";
    fs::write(&path, &text).unwrap();
    let whole = check(root);
    fs::write(&path, text.replace("1.90", "9.10")).unwrap();
    let edited = check(root);
    fs::write(&path, text.clone() + &"Long.\n".repeat(LINES_MAX)).unwrap();
    let long = check(root);
    fs::write(&path, &text).unwrap();
    let again = page(root).unwrap();
    fs::write(&path, text.replace(MARK, "")).unwrap();
    let unmarked = check(root);
    whole.unwrap();
    assert!(edited.unwrap_err().contains("cargo xtask performance"));
    assert!(long.unwrap_err().contains("at most 150 are allowed"));
    assert_eq!(again, text);
    assert!(unmarked.unwrap_err().contains("has lost its mark"));
}

#[test]
fn the_checked_in_page_is_what_the_records_give() {
    check(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))).unwrap();
}

fn parse(lines: &[&str]) -> Record {
    Record::parse("bench/records/fast/2026-11-22.jsonl", &lines.join("\n")).unwrap()
}

fn written(lines: &[&str]) -> String {
    generated(&[parse(lines)])
}

fn ours(median: f64, threads: usize) -> String {
    format!(
        r#"{{"case":"aes-128-ctr","impl":"oarlock","threads":{threads},"bytes":16384,"unit":"GB/s","median":{median},"min":1.0,"max":2.0,"runs":3,"verified":true}}"#
    )
}

fn outcome(target: &str, measured: f64) -> String {
    format!(
        r#"{{"target":"{target}","required":0.97,"measured":{measured},"min":1.0,"max":2.0,"met":true,"note":""}}"#
    )
}

fn over(threads: usize) -> String {
    format!(
        r#"{{"case":"aes-128-ctr","vs":"openssl","threads":{threads},"bytes":16384,"ratio_median":2.0,"ratio_min":1.0,"ratio_max":3.0}}"#
    )
}

const MACHINE: &str = r#"{"machine":"x86_64","cpu":"Fast CPU","cores":2,"kernel":"6.1","versions":["Oarlock 0.1.0 (aes avx2 vaes)","OpenSSL 3.0.19"],"date":"2026-11-22"}"#;
const THEIRS: &str = r#"{"case":"aes-128-ctr","impl":"openssl","threads":1,"bytes":16384,"unit":"GB/s","median":9.5,"min":9.0,"max":10.0,"runs":3,"verified":true}"#;
