//! The help of `oarlock` itself, with its subcommands in groups.

use clap::Command;

use crate::colours;

/// Adds a heading before each group of commands to the help of `root`. The order is that of their definition.
pub(crate) fn grouped(root: Command) -> Command {
    let root = root.styles(colours::HELP);
    let list = root.clone().help_template("{subcommands}").render_help();
    let (plain, coloured) = (list.to_string(), list.ansi().to_string());
    let header = colours::HELP.get_header();
    let mut groups = String::new();
    for (plain, coloured) in plain.lines().zip(coloured.lines()) {
        // Continuation lines are indented further.
        let name = plain.strip_prefix("  ").filter(|it| !it.starts_with(' '));
        let name = name.and_then(|it| it.split_whitespace().next());
        let group = GROUPS.iter().find(|(first, _)| Some(*first) == name);
        if let Some((_, heading)) = group {
            groups.push_str(&format!("\n{header}{heading}:{header:#}\n"));
        }
        groups.push_str(coloured);
        groups.push('\n');
    }
    root.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n\
         {header}Options:{header:#}\n{{options}}{{after-help}}"
    ))
}

/// The first command of each group, and its heading.
const GROUPS: [(&str, &str); 5] = [
    ("encrypt", "Files"),
    ("run", "Programs"),
    ("devices", "Machines"),
    ("serve", "Servers"),
    ("completions", "Shell and manual"),
];
