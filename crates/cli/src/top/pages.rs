//! Tables of the findings: all processes, and one of them.

use ratatui::text::Span;

use super::row::Row;
use super::table::{self, Column, FAINT, Table};
use super::units;

/// Returns a table with one line for each process.
pub(super) fn processes<'a>(rows: impl Iterator<Item = &'a Row>) -> Table {
    let mut table = Table::new(&[
        // May grow: a number that is cut could be another user's.
        Column::text("USER", 5, 2),
        Column::number("PID", 7, 1),
        // 20 columns have room for the program, its rate and its health.
        Column::text("PROGRAM", 6, 0),
        Column::number("REQ/S", 6, 0),
        Column::number("BYTES/S", 8, 3),
        Column::number("WAIT", 5, 5),
        Column::number("FLIGHT", 6, 4),
        Column::number("LANES", 5, 6),
        Column::number("THREADS", 7, 7),
        Column::number("REFUSED", 7, 8),
        Column::text("HEALTH", 6, 0),
    ]);
    for row in rows {
        let (health, how) = row.health();
        let number = |number: Option<u32>| number.map(|it| it.to_string()).unwrap_or_default();
        table.add(vec![
            number(row.user).into(),
            number(row.process).into(),
            row.program.clone().into(),
            table::count(row.requests_per_second),
            table::bytes(row.bytes_per_second),
            table::count(row.waiting as f64),
            table::count(row.in_flight as f64),
            lanes(row.lane_fill),
            row.pool_threads
                .map(|it| it.to_string())
                .unwrap_or_default()
                .into(),
            table::fault(row.refused),
            Span::styled(health, how.style()),
        ]);
    }
    table
}

/// Returns the tables of one process, each with a title.
pub(super) fn details(row: &Row) -> Vec<(String, Table)> {
    let mut tables = Vec::new();
    for (title, table) in [
        ("operations", operations(row)),
        ("devices", devices(row)),
        ("clients", clients(row)),
    ] {
        if !table.is_empty() {
            tables.push((title.to_owned(), table));
        }
    }
    if let Some(server) = &row.server {
        let title = match (&server.error, &server.unwell, server.metrics) {
            (Some(error), ..) => format!("cryptoserver: {error}"),
            (_, Some(unwell), _) => format!("cryptoserver: does not serve: {unwell}"),
            (.., address) => format!(
                "cryptoserver: serving, {} connections, {} refused{}",
                server.connections,
                server.connections_refused,
                address.map_or(String::new(), |it| format!(", metrics at {it}"))
            ),
        };
        tables.insert(0, (title, Table::default()));
    }
    tables
}

/// Returns the name and number of a process, and its user if that is another user than the caller.
pub(super) fn name(row: &Row) -> String {
    let process = row.process.map_or(String::new(), |it| format!(" {it}"));
    let owner = of_another(row.user);
    format!("{}{process}{owner}", row.program)
}

/// Returns the user in words, or an empty text for the caller's own user.
pub(crate) fn of_another(user: Option<u32>) -> String {
    let own = rustix::process::geteuid().as_raw();
    let other = user.filter(|user| *user != own);
    other.map_or(String::new(), |user| format!(" of user {user}"))
}

fn operations(row: &Row) -> Table {
    let mut table = Table::new(&[
        Column::text("OPERATION", 13, 0),
        Column::text("DIR", 3, 0),
        Column::number("REQ/S", 6, 0),
        Column::number("BYTES/S", 8, 0),
        Column::number("MEAN", 7, 1),
        Column::number("REQUESTS", 8, 2),
        Column::number("BYTES", 8, 3),
    ]);
    let mut operations: Vec<_> = row.operations.iter().collect();
    // The sort is stable: idle operations keep their order.
    operations.sort_by(|one, other| {
        let busy = |it: &super::row::Operation| (it.bytes_per_second, it.requests_per_second);
        busy(other)
            .partial_cmp(&busy(one))
            .unwrap_or(std::cmp::Ordering::Equal)
    });
    for one in operations {
        let mean = one.bytes.checked_div(one.requests).unwrap_or(0);
        table.add(vec![
            one.operation.into(),
            match one.direction {
                _ if has_no_direction(one.operation) => "",
                "encrypt" => "enc",
                _ => "dec",
            }
            .into(),
            table::count(one.requests_per_second),
            table::bytes(one.bytes_per_second),
            units::bytes(mean as f64).into(),
            units::count(one.requests as f64).into(),
            units::bytes(one.bytes as f64).into(),
        ]);
    }
    table
}

/// Whether both directions of the operation are the same, as in counter mode.
fn has_no_direction(operation: &str) -> bool {
    let others = ["public-key", "private-key", "random", "hash", "chacha20"];
    operation.ends_with("-ctr") || others.contains(&operation)
}

fn devices(row: &Row) -> Table {
    let is_server = row.server.is_some();
    let mut table = Table::new(&[
        Column::text("DEVICE", 9, 0),
        Column::text("HEALTH", 9, 0),
        Column::number("REQ/S", 6, 0),
        Column::number(if is_server { "LANES" } else { "BYTES/S" }, 8, 1),
        Column::number("FLIGHT", 6, 2),
        Column::number("FAILED", 6, 1),
        Column::number("STALLED", 7, 3),
        Column::number("WRONG", 5, 4),
        Column::number("LATE", 5, 5),
        Column::number("OPENED", 6, 6),
        Column::number("DONE", 6, 7),
    ]);
    for one in &row.devices {
        table.add(vec![
            one.name.clone().into(),
            Span::styled(one.health, one.judge().style()),
            table::count(one.requests_per_second),
            if is_server {
                lanes(one.lane_fill)
            } else {
                table::bytes(one.bytes_per_second)
            },
            table::count(one.in_flight as f64),
            table::fault(one.failed),
            table::fault(one.stalled),
            table::fault(one.wrong),
            table::fault(one.late),
            table::fault(one.opened),
            units::count(one.done as f64).into(),
        ]);
    }
    table
}

fn clients(row: &Row) -> Table {
    let mut table = Table::new(&[
        Column::text("CLIENT", 10, 0),
        Column::text("OPERATION", 9, 1),
        Column::text("RESULT", 6, 0),
        Column::number("REQ/S", 6, 0),
        Column::number("REQUESTS", 8, 2),
    ]);
    for one in row.server.iter().flat_map(|server| &server.clients) {
        table.add(vec![
            one.client.clone().into(),
            one.operation.clone().into(),
            one.result.clone().into(),
            table::count(one.requests_per_second),
            units::count(one.requests as f64).into(),
        ]);
    }
    table
}

fn lanes(fill: Option<f64>) -> Span<'static> {
    match fill {
        Some(fill) => format!("{fill:.1}").into(),
        None => Span::styled("-", FAINT),
    }
}
