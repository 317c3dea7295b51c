//! `bench --report`: a page that needs nothing else, and that replaces only a report.

use std::fs;
use std::path::Path;

use oarlock_testing::names;
use roxmltree::{Document, ParsingOptions};

use crate::common::{assert_fails, oarlock, run, stderr};

fn report(folder: &Path) -> std::process::Output {
    report_of("aes-128-ctr", folder)
}

fn report_of(case: &str, folder: &Path) -> std::process::Output {
    run(
        oarlock()
            .args(["bench", "--quick", "--case", case, "--size", "64,4k"])
            .arg("--report")
            .arg(folder),
        b"",
    )
}

#[test]
fn the_page_is_well_formed_and_needs_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("a/report");
    // The second report replaces the first.
    for _ in 0..2 {
        let result = report(&folder);
        assert!(result.status.success(), "{}", stderr(&result));
        let shown = String::from_utf8(result.stdout).unwrap();
        assert!(shown.trim_end().ends_with("a/report/index.html"), "{shown}");
    }
    assert_eq!(names(&folder), ["figures.jsonl", "index.html"]);

    let text = fs::read_to_string(folder.join("index.html")).unwrap();
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let page = Document::parse_with_options(&text, options).unwrap();
    let elements = |name: &'static str| {
        page.descendants()
            .filter(move |node| node.tag_name().name() == name)
    };
    for name in ["script", "link", "img", "iframe", "object", "embed", "use"] {
        assert_eq!(elements(name).count(), 0, "{name}");
    }
    for attribute in page.descendants().flat_map(|node| node.attributes()) {
        let value = attribute.value();
        match attribute.name() {
            "href" => assert_eq!(value, "figures.jsonl"),
            "src" | "srcset" | "data" | "action" => panic!("{attribute:?}"),
            _ => assert!(
                !value.contains("//") && !value.contains("url("),
                "{attribute:?}"
            ),
        }
    }
    for style in elements("style") {
        let style = style.text().unwrap();
        assert!(
            !style.contains("url(") && !style.contains("@import"),
            "{style}"
        );
    }
    assert!(
        elements("title")
            .next()
            .unwrap()
            .text()
            .unwrap()
            .contains("Oarlock")
    );
    let charts = elements("svg").count();
    assert_eq!(
        charts,
        elements("table").count(),
        "a table under each chart"
    );
    assert!(charts >= 1);
    let labels: Vec<_> = elements("text").filter_map(|label| label.text()).collect();
    for part in ["GB/s", "bytes of a request", "4 KiB", "OpenSSL"] {
        assert!(
            labels.iter().any(|label| label.trim() == part),
            "{part}: {labels:?}"
        );
    }

    let figures = fs::read_to_string(folder.join("figures.jsonl")).unwrap();
    let mut lines = figures
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    assert!(lines.next().unwrap()["cpu"].is_string());
    assert!(lines.all(|line| line["case"] == "aes-128-ctr"));
}

#[test]
fn public_key_operations_are_charted_by_requests_in_flight() {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("report");
    let result = report_of("modexp-1024", &folder);
    assert!(result.status.success(), "{}", stderr(&result));
    let text = fs::read_to_string(folder.join("index.html")).unwrap();
    let options = ParsingOptions {
        allow_dtd: true,
        ..ParsingOptions::default()
    };
    let page = Document::parse_with_options(&text, options).unwrap();
    let texts = |name: &'static str| {
        let nodes = page.descendants();
        let named = nodes.filter(move |node| node.tag_name().name() == name);
        named.filter_map(|node| node.text()).map(str::trim)
    };
    let labels: Vec<_> = texts("text").collect();
    for part in ["op/s", "requests in flight", "16", "64", "OpenSSL"] {
        assert!(labels.contains(&part), "{part}: {labels:?}");
    }
    // Rates and latencies.
    assert_eq!(texts("th").filter(|text| *text == "64").count(), 2);

    let figures = fs::read_to_string(folder.join("figures.jsonl")).unwrap();
    let depths: Vec<_> = figures
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["impl"] == "oarlock")
        .map(|line| line["depth"].as_u64().unwrap_or(1))
        .collect();
    assert_eq!(depths, [1, 2, 4, 8, 16, 64]);
}

#[test]
fn what_is_no_report_stays() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("index.html");
    fs::write(&file, "<html>mine</html>").unwrap();
    let folder = directory.path().to_str().unwrap();
    assert_fails(&report(directory.path()), 2, &[folder, "not empty"]);
    assert_eq!(fs::read_to_string(&file).unwrap(), "<html>mine</html>");
    assert_eq!(names(directory.path()), ["index.html"]);

    assert_fails(&report(&file), 2, &[file.to_str().unwrap(), "is a file"]);
    let nowhere = Path::new("/proc/nothing/here");
    assert_fails(&report(nowhere), 1, &["/proc/nothing/here", "No such file"]);
}
