//! The page: one file that loads nothing else. It is also well-formed XML, which makes it testable.

use std::fmt::Write as _;

use super::chart::{self, Scale, bytes_shown, point_shown, shown_name, three_digits};
use super::figures::{Along, CaseFigures, Report, Scaling};
use super::folder::GENERATOR;
use crate::error::Error;
use crate::output::Machine;

/// Returns the whole page.
pub(super) fn html(machine: &Machine, report: &Report) -> Result<String, Error> {
    let mut page = String::new();
    head(&mut page, machine);
    speed(&mut page, report)?;
    scaling(&mut page, report)?;
    bursts(&mut page, report)?;
    public_key(&mut page, report)?;
    page += "<footer><p>The same figures, one JSON object a line: \
             <a href=\"figures.jsonl\">figures.jsonl</a></p></footer>\n</body>\n</html>\n";
    Ok(page)
}

fn head(page: &mut String, machine: &Machine) {
    let title = format!("Oarlock on {}, {}", machine.cpu, machine.date);
    let cpus = match machine.cores {
        1 => "1 CPU".to_owned(),
        count => format!("{count} CPUs"),
    };
    *page += &format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n{GENERATOR}\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n\
         <h1>Oarlock: measured speed</h1>\n\
         <p class=\"machine\">{cpu} · {cpus} · {arch} · Linux {kernel} · <time>{date}</time></p>\n",
        title = escaped(&title),
        cpu = escaped(&machine.cpu),
        arch = machine.machine,
        kernel = escaped(&machine.kernel),
        date = machine.date,
    );
    *page += "<p>Everybody was measured in this one run, in turn, after outputs had been compared. \
              Rates are medians, in GB/s (10<sup>9</sup> bytes a second) or op/s (operations a second). Ratios (×) are Oarlock over the \
              other, the median over pairs of samples taken one right after the other: quote these, \
              since rates of two runs cannot be compared.</p>\n<ul class=\"versions\">\n";
    for version in &machine.versions {
        *page += &format!("<li>{}</li>\n", escaped(version));
    }
    *page += "</ul>\n";
}

fn speed(page: &mut String, report: &Report) -> Result<(), Error> {
    if report.speed.is_empty() {
        return Ok(());
    }
    *page += "<h2 id=\"speed\">Speed by size of a request</h2>\n\
              <p>One thread each, requests in place, one after the other. AEADs: each message under \
              its own nonce, with 13 bytes of additional data; to open goes from one buffer to \
              another.</p>\n";
    for figures in CaseFigures::of(&report.speed, Along::Bytes) {
        let drawn = chart::by_point(&figures, Scale::Linear, "bytes of a request")?;
        let what = format!("{} by size of a request", figures.case);
        figure(page, figures.case, &what, &drawn);
        table(page, &figures, "request");
    }
    Ok(())
}

fn scaling(page: &mut String, report: &Report) -> Result<(), Error> {
    if report.speed.is_empty() {
        return Ok(());
    }
    *page += "<h2 id=\"threads\">Speed by threads</h2>\n";
    let all = Scaling::of(&report.scaling);
    if all.is_empty() {
        *page += "<p>There is one CPU: Oarlock works on the calling thread.</p>\n";
        return Ok(());
    }
    *page += "<p>One request after the other, by one caller, with Oarlock's helpers: times the speed \
              without them. CBC encryption is a chain that cannot be divided.</p>\n";
    let drawn = chart::by_threads(&all)?;
    figure(
        page,
        "All ciphers",
        "speed with more threads over one thread",
        &drawn,
    );
    *page += "<table>\n<thead><tr><th scope=\"col\">cipher</th><th scope=\"col\">request</th>";
    let mut counts: Vec<usize> = all
        .iter()
        .flat_map(|one| one.over_one.iter().map(|(threads, _)| *threads))
        .collect();
    counts.sort_unstable();
    counts.dedup();
    for threads in &counts {
        *page += &format!("<th scope=\"col\">{threads} threads, ×</th>");
    }
    *page += "</tr></thead>\n<tbody>\n";
    for one in &all {
        let size = bytes_shown(one.bytes);
        *page += &format!("<tr><th scope=\"row\">{}</th><td>{size}</td>", one.case);
        for threads in &counts {
            let found = one.over_one.iter().find(|(count, _)| count == threads);
            *page += &cell(found.map(|(_, ratio)| format!("{ratio:.2}")));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n";
    Ok(())
}

fn bursts(page: &mut String, report: &Report) -> Result<(), Error> {
    let all = CaseFigures::of(&report.bursts, Along::Bytes);
    if all.is_empty() {
        return Ok(());
    }
    *page += "<h2 id=\"bursts\">Bursts after idleness</h2>\n\
              <p>A pause, then a burst of calls of 4 KiB. Oarlock may have made keystream during \
              the pause; <em>inline</em> and <em>prefetch</em> are Oarlock with that strategy \
              forced. Both axes are logarithmic.</p>\n";
    for figures in all {
        let idle = figures.idle_ms.unwrap_or_default();
        let title = format!("{} after {idle} ms of idleness", figures.case);
        let drawn = chart::by_point(&figures, Scale::Logarithmic, "bytes of the burst")?;
        let what = format!("{}: bursts after {idle} ms of idleness", figures.case);
        figure(page, &title, &what, &drawn);
        table(page, &figures, "burst");
    }
    Ok(())
}

fn public_key(page: &mut String, report: &Report) -> Result<(), Error> {
    let all = CaseFigures::of(&report.public_key, Along::Depth);
    if all.is_empty() {
        return Ok(());
    }
    *page += "<h2 id=\"public-key\">Public-key operations by requests in flight</h2>\n\
              <p>One core. As a request is done the next one enters, of another key, so there are \
              always as many in flight. Oarlock is asked by a call where there is one, else by jobs. \
              crypto_mb takes up to eight at a time, and neither pads nor checks what it signs; the \
              others do one at a time. Both axes are logarithmic.</p>\n";
    for figures in all {
        let drawn = chart::by_point(&figures, Scale::Logarithmic, "requests in flight")?;
        let what = format!("{} by requests in flight", figures.case);
        figure(page, figures.case, &what, &drawn);
        table(page, &figures, "in flight");
        latencies(page, &figures);
    }
    Ok(())
}

/// Writes a row for each depth, with three percentiles for each implementation.
fn latencies(page: &mut String, figures: &CaseFigures<'_>) {
    *page += "<table>\n<caption>Microseconds from entry to result: half of the requests, nine \
              tenths, 99 of 100</caption>\n<thead><tr><th scope=\"col\">in flight</th>";
    for name in figures.implementations() {
        let shown = escaped(shown_name(name));
        *page += &format!("<th scope=\"col\">{shown}</th>");
    }
    *page += "</tr></thead>\n<tbody>\n";
    for point in figures.points() {
        *page += &format!("<tr><th scope=\"row\">{point}</th>");
        for name in figures.implementations() {
            let three = figures.latency_us(name, point);
            *page += &cell(three.map(|all| all.map(|us| format!("{us:.0}")).join(" · ")));
        }
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n";
}

fn figure(page: &mut String, title: &str, what: &str, svg: &str) {
    let named = format!("<svg role=\"img\" aria-label=\"{}\" ", escaped(what));
    let svg = svg.replacen("<svg ", &named, 1);
    let title = escaped(title);
    *page += &format!("<h3>{title}</h3>\n<figure>\n{}\n</figure>\n", svg.trim());
}

fn table(page: &mut String, figures: &CaseFigures<'_>, of: &str) {
    let names = figures.implementations();
    *page += &format!("<table>\n<thead><tr><th scope=\"col\">{of}</th>");
    for name in &names {
        let shown = escaped(shown_name(name));
        *page += &format!("<th scope=\"col\">{shown}, {}</th>", figures.unit);
        if has_ratio(name) {
            *page += "<th scope=\"col\" class=\"ratio\">×</th>";
        }
    }
    *page += "</tr></thead>\n<tbody>\n";
    for point in figures.points() {
        let shown = point_shown(figures.along, point);
        let _ = write!(page, "<tr><th scope=\"row\">{shown}</th>");
        for name in &names {
            *page += &cell(figures.rate(name, point).map(three_digits));
            if has_ratio(name) {
                let ratio = figures.ratio(name, point);
                *page += &cell(ratio.map(|ratio| format!("{ratio:.2}")));
            }
        }
        *page += "</tr>\n";
    }
    *page += "</tbody>\n</table>\n";
}

fn has_ratio(name: &str) -> bool {
    name != "oarlock"
}

fn cell(text: Option<String>) -> String {
    format!("<td>{}</td>", text.unwrap_or_else(|| "–".to_owned()))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c => out.push(c),
        }
    }
    out
}

const STYLE: &str = "
:root { color-scheme: light; }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; background: #fff; color: #1a1a1a;
  font: 16px/1.5 system-ui, sans-serif; }
h1 { margin-bottom: 0; }
h2 { margin-top: 3rem; border-bottom: 2px solid #1a1a1a; }
h3 { margin: 2.5rem 0 0; }
.machine { margin-top: 0.25rem; font-weight: 600; }
.versions { padding-left: 1.2rem; }
figure { margin: 0 0 0.75rem; }
svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; font-size: 0.9rem; font-variant-numeric: tabular-nums; }
th, td { padding: 0.2rem 0.7rem; text-align: right; border-bottom: 1px solid #ccc; }
thead th { vertical-align: bottom; border-bottom: 2px solid #1a1a1a; }
th.ratio { padding-left: 0; }
caption { padding-top: 0.75rem; text-align: left; }
";
