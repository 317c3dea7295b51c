//! Colours, if a terminal shows them and the user has not turned them off.

use std::io::{self, IsTerminal};

use clap::builder::StyledStr;
use clap::builder::styling::{AnsiColor, Style, Styles};

/// The colours of help.
pub(crate) const HELP: Styles = Styles::styled()
    .header(AnsiColor::Green.on_default().bold())
    .usage(AnsiColor::Green.on_default().bold())
    .literal(AnsiColor::Cyan.on_default().bold())
    .placeholder(AnsiColor::Cyan.on_default());

/// The style of the command's name before an error.
pub(crate) const ERROR: Style = AnsiColor::Red.on_default().bold();
/// The style of the command's name before a note or a warning.
pub(crate) const NOTE: Style = AnsiColor::Yellow.on_default().bold();

/// Renders `text` for standard output.
pub(crate) fn on_stdout(text: &StyledStr) -> String {
    shown(text, &io::stdout())
}

/// Whether standard output shows colours.
pub(crate) fn on_stdout_are_shown() -> bool {
    has_colours(&io::stdout())
}

/// Renders `text` for standard error.
pub(crate) fn on_stderr(text: &StyledStr) -> String {
    shown(text, &io::stderr())
}

/// Renders `word` in `style` for standard error.
pub(crate) fn styled_on_stderr(word: &str, style: Style) -> String {
    match has_colours(&io::stderr()) {
        true => format!("{style}{word}{style:#}"),
        false => word.into(),
    }
}

fn shown(text: &StyledStr, stream: &impl IsTerminal) -> String {
    match has_colours(stream) {
        true => text.ansi().to_string(),
        false => text.to_string(),
    }
}

/// Whether `stream` shows colours. `NO_COLOR` counts unless it is empty (no-color.org); a dumb terminal shows escape
/// sequences as text.
fn has_colours(stream: &impl IsTerminal) -> bool {
    let is_set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let is_dumb = std::env::var_os("TERM").is_none_or(|term| term == "dumb");
    stream.is_terminal() && !is_set("NO_COLOR") && !is_dumb
}
