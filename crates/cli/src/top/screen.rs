//! The screen of `oarlock top`.

use std::collections::VecDeque;

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Color, Style, Stylize as _};
use ratatui::text::Line;
use ratatui::widgets::{Clear, Paragraph, Sparkline};

use super::pages;
use super::row::Row;
use super::sample::View;
use super::table::FAINT;
use super::units;

/// The user's choices, and the last reading.
pub(super) struct Screen {
    pub(super) view: Option<View>,
    /// The key of the chosen process.
    pub(super) chosen: Option<String>,
    pub(super) sort: Sort,
    pub(super) is_reversed: bool,
    pub(super) is_paused: bool,
    pub(super) has_help: bool,
    /// The number of lines of the details that are scrolled past.
    pub(super) scrolled: usize,
    pub(super) has_colours: bool,
    /// The requests per second of the chosen process, and its key.
    history: (String, VecDeque<u64>),
}

/// The order of processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sort {
    Requests,
    Bytes,
    Process,
    Program,
}

impl Sort {
    pub(super) fn next(self) -> Self {
        match self {
            Self::Requests => Self::Bytes,
            Self::Bytes => Self::Process,
            Self::Process => Self::Program,
            Self::Program => Self::Requests,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Requests => "req/s",
            Self::Bytes => "bytes/s",
            Self::Process => "pid",
            Self::Program => "program",
        }
    }
}

impl Screen {
    pub(super) fn new(has_colours: bool) -> Self {
        Self {
            view: None,
            chosen: None,
            sort: Sort::Requests,
            is_reversed: false,
            is_paused: false,
            has_help: false,
            scrolled: 0,
            has_colours,
            history: (String::new(), VecDeque::new()),
        }
    }

    /// Adds a reading.
    pub(super) fn take(&mut self, view: View) {
        self.view = Some(view);
        let Some((key, rate)) = self
            .row()
            .map(|row| (row.key.clone(), row.requests_per_second))
        else {
            return;
        };
        if self.history.0 != key {
            self.history = (key, VecDeque::new());
        }
        if self.history.1.len() == HISTORY_MAX {
            self.history.1.pop_front();
        }
        self.history.1.push_back(rate as u64);
    }

    /// Returns the processes in the chosen order.
    fn rows(&self) -> Vec<&Row> {
        let mut rows: Vec<_> = self.view.iter().flat_map(|view| &view.processes).collect();
        rows.sort_by(|one, other| {
            let order = match self.sort {
                Sort::Requests => other
                    .requests_per_second
                    .total_cmp(&one.requests_per_second),
                Sort::Bytes => other.bytes_per_second.total_cmp(&one.bytes_per_second),
                Sort::Process => one.process.cmp(&other.process),
                Sort::Program => one.program.cmp(&other.program),
            };
            let order = order.then_with(|| one.key.cmp(&other.key));
            if self.is_reversed {
                order.reverse()
            } else {
                order
            }
        });
        rows
    }

    /// Returns the chosen process, or the first one if that is gone.
    fn row(&self) -> Option<&Row> {
        let rows = self.rows();
        let chosen = rows
            .iter()
            .find(|row| Some(&row.key) == self.chosen.as_ref());
        chosen.or(rows.first()).copied()
    }

    /// Chooses the process `lines` lines further down.
    pub(super) fn choose(&mut self, lines: isize) {
        let rows = self.rows();
        let at = rows
            .iter()
            .position(|row| Some(&row.key) == self.chosen.as_ref());
        let last = rows.len().saturating_sub(1);
        let to = at.unwrap_or(0).saturating_add_signed(lines).min(last);
        self.chosen = rows.get(to).map(|row| row.key.clone());
        self.scrolled = 0;
    }

    pub(super) fn draw(&mut self, frame: &mut Frame<'_>, every: &str) {
        let area = frame.area();
        let rows = self.rows();
        let count = u16::try_from(rows.len().max(1)).unwrap_or(u16::MAX);
        let count = count.saturating_add(1);
        // Details get the larger half, if there are processes for both.
        let most = (area.height.saturating_sub(2) * 2 / 5).max(3);
        let [head, list, details, foot] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(count.min(most)),
            Constraint::Min(0),
            Constraint::Length(1),
        ])
        .areas(area);
        self.draw_head(frame, head, &rows, every);
        if rows.is_empty() {
            let text = match &self.view {
                None => "reading ...",
                Some(_) => NOTHING,
            };
            let mut area = list.union(details);
            area = area.inner(ratatui::layout::Margin::new(1, 1));
            let text = Paragraph::new(text).wrap(ratatui::widgets::Wrap { trim: true });
            frame.render_widget(text, area);
        } else {
            self.draw_list(frame, list, &rows);
            let scrolled = self.draw_details(frame, details);
            self.scrolled = scrolled;
        }
        self.draw_foot(frame, foot);
        if self.has_help {
            self.draw_help(frame, area);
        }
        if !self.has_colours {
            for cell in &mut frame.buffer_mut().content {
                cell.set_fg(Color::Reset);
            }
        }
    }

    fn draw_head(&self, frame: &mut Frame<'_>, area: Rect, rows: &[&Row], every: &str) {
        let sum = |of: fn(&Row) -> f64| rows.iter().map(|row| of(row)).sum::<f64>();
        let processes = match rows.len() {
            1 => "1 process".to_owned(),
            count => format!("{count} processes"),
        };
        let text = format!(
            " oarlock top  {processes}  {} req/s  {}/s",
            units::count(sum(|row| row.requests_per_second)),
            units::bytes(sum(|row| row.bytes_per_second)),
        );
        let right = match self.is_paused {
            true => "PAUSED ".to_owned(),
            false => format!("every {every} "),
        };
        let width = usize::from(area.width);
        let fill = width.saturating_sub(text.len() + right.len());
        let text = match text.len() + right.len() < width {
            true => format!("{text}{}{right}", " ".repeat(fill)),
            false => format!("{text:<width$}"),
        };
        frame.render_widget(Paragraph::new(text).reversed(), area);
    }

    fn draw_list(&self, frame: &mut Frame<'_>, area: Rect, rows: &[&Row]) {
        let mut lines = pages::processes(rows.iter().copied()).lines(usize::from(area.width));
        let chosen = self.row().map(|row| &row.key);
        let at = rows.iter().position(|row| Some(&row.key) == chosen);
        let at = at.unwrap_or(0) + 1;
        lines[at].style = Style::new().reversed();
        // Keep the chosen process in sight, below the titles.
        let hidden = at.saturating_sub(usize::from(area.height).saturating_sub(1));
        lines.drain(1..=hidden);
        frame.render_widget(Paragraph::new(lines), area);
    }

    /// Draws the details. Returns the number of lines scrolled past, which may be less than requested.
    fn draw_details(&self, frame: &mut Frame<'_>, area: Rect) -> usize {
        let Some(row) = self.row() else { return 0 };
        let width = usize::from(area.width);
        let mut lines = Vec::new();
        for (title, table) in pages::details(row) {
            if !lines.is_empty() {
                lines.push(Line::default());
            }
            lines.push(Line::from(title).bold());
            lines.extend(table.lines(width));
        }
        if lines.is_empty() {
            lines.push(Line::styled("no requests yet", FAINT));
        }
        let name = pages::name(row);
        let rule = "-".repeat(width.saturating_sub(name.len() + 4));
        let title = Line::styled(format!("-- {name} {rule}"), FAINT);
        let graph_height = if area.height >= 16 { 4 } else { 0 };
        let [head, graph, body] = Layout::vertical([
            Constraint::Length(1),
            Constraint::Length(graph_height),
            Constraint::Min(0),
        ])
        .areas(area);
        frame.render_widget(Paragraph::new(title), head);
        if graph_height > 0 {
            self.draw_graph(frame, graph);
        }
        let above = self
            .scrolled
            .min(lines.len().saturating_sub(usize::from(body.height)));
        let left = lines.len().saturating_sub(above + usize::from(body.height));
        let mut shown: Vec<_> = lines.split_off(above);
        if left > 0 && body.height > 1 {
            shown.truncate(usize::from(body.height) - 1);
            let more = format!("... {} more lines: PgDn", left + 1);
            shown.push(Line::styled(more, FAINT));
        }
        frame.render_widget(Paragraph::new(shown), body);
        above
    }

    fn draw_graph(&self, frame: &mut Frame<'_>, area: Rect) {
        let [caption, graph] =
            Layout::vertical([Constraint::Length(1), Constraint::Min(0)]).areas(area);
        let rates: Vec<u64> = self.history.1.iter().copied().collect();
        let width = usize::from(graph.width);
        let rates = &rates[rates.len().saturating_sub(width)..];
        let most = rates.iter().max().copied().unwrap_or(0);
        let text = format!("requests a second, {} at most", units::count(most as f64));
        frame.render_widget(Paragraph::new(Line::styled(text, FAINT)), caption);
        let line = Sparkline::default().data(rates).max(most.max(1)).cyan();
        frame.render_widget(line, graph);
    }

    fn draw_foot(&self, frame: &mut Frame<'_>, area: Rect) {
        let ignored = self.view.as_ref().map_or(&[][..], |view| &view.ignored[..]);
        let text = match ignored {
            [] => {
                let order = if self.is_reversed { " reversed" } else { "" };
                let sort = self.sort.name();
                format!(
                    " q quit  ? help  s sort: {sort}{order}  r reverse  p pause  PgUp/PgDn details"
                )
            }
            [one, others @ ..] => {
                let more = match others.len() {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                format!(" ignored{more}: {}: {}", one.path, one.why)
            }
        };
        let width = usize::from(area.width);
        let text: String = text.chars().take(width).collect();
        frame.render_widget(Paragraph::new(format!("{text:<width$}")).reversed(), area);
    }

    fn draw_help(&self, frame: &mut Frame<'_>, area: Rect) {
        let height = (HELP.lines().count() as u16 + 2).min(area.height);
        let width = 60.min(area.width);
        let area = Rect {
            x: (area.width - width) / 2,
            y: (area.height - height) / 2,
            width,
            height,
        };
        frame.render_widget(Clear, area);
        let block = ratatui::widgets::Block::bordered().title(" oarlock top ");
        frame.render_widget(Paragraph::new(HELP).block(block), area);
    }
}

pub(super) const NOTHING: &str = "\
Nothing runs that shows figures. Start a program with `oarlock run -- COMMAND`, a cryptoserver with `oarlock serve`, \
or a program with OARLOCK_OPTIONS=publish=on, if it uses the provider or calls Builder::environment().";

const HELP: &str = "\
q, Esc, Ctrl-C   quit
Up/k, Down/j     choose a process; Home/g, End/G
PgUp, PgDn       scroll its details
s, r             sort by the next column; reverse
p, Space         pause, go on
?, h             this help

WAIT    jobs that no thread has begun
FLIGHT  requests without an answer
LANES   requests that lanes compute at once, of 8, or of 4 on CPUs without AVX-512 IFMA
HEALTH  open: left alone after failures;
        half-open or trial: tried again";

const HISTORY_MAX: usize = 512;

#[cfg(test)]
mod tests;
