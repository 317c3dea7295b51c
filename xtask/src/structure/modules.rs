//! Which module may use which: no circle, and no arrow up.
//!
//! Each target (the library and each program of a package) is a graph of its own, without tests.
//! An arrow leads from a module to the one that defines what it uses, through all re-exports.
//!
//! - Between rooms, the lines of the table in [`floors`](super::floors), no arrow leads up or
//!   sideways, and there is no circle. Without a table every module below the root is a room.
//! - Inside of a room there is no circle between its files. `mod x;` and `pub use x::Name` are no
//!   arrow from parent to child: only code of the parent that uses the child is one. So a child
//!   that uses what `mod.rs` defines while `mod.rs` calls the child is a circle.

mod graph;
mod resolve;
mod source;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;

use super::floors;
use crate::tool::{Metadata, Result, Target};
use graph::Arrows;
use resolve::Use;
use source::Source;

/// The floors of one target, from the top.
type Table = [&'static [&'static str]];

/// The number of modules, and one line for everything that is not in order.
pub fn check(metadata: &Metadata) -> Result<(usize, Vec<String>)> {
    let graphs = load(metadata)?;
    let mut findings: Vec<String> = graphs.iter().flat_map(Graph::judge).collect();
    for (name, _) in floors::FLOORS {
        if !graphs.iter().any(|graph| graph.name == *name) {
            findings.push(format!(
                "{PLACE}: FLOORS names {name:?}, which is no library and no program – remove it"
            ));
        }
    }
    let modules = graphs.iter().map(|graph| graph.source.files.len()).sum();
    Ok((modules, findings))
}

/// Prints rooms, arrows and circles of the packages named, or of all.
pub fn print(metadata: &Metadata, package: Option<&str>) -> Result<()> {
    let graphs = load(metadata)?;
    let named = |graph: &&Graph| {
        let of_package = |name: &str| {
            graph.name == name
                || graph
                    .name
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.starts_with(':'))
        };
        package.is_none_or(of_package)
    };
    let shown: Vec<&Graph> = graphs.iter().filter(named).collect();
    if shown.is_empty() {
        let names: Vec<&str> = graphs.iter().map(|graph| &*graph.name).collect();
        return Err(format!(
            "no crate {:?}: take one of {}",
            package.unwrap_or_default(),
            names.join(", ")
        ));
    }
    for graph in shown {
        println!("{}", graph.describe());
    }
    Ok(())
}

/// Every target of the workspace that is shipped, or runs as a tool.
fn load(metadata: &Metadata) -> Result<Vec<Graph>> {
    let root = &metadata.workspace_root;
    let read = |name: &str| std::fs::read_to_string(root.join(name)).ok();
    let mut graphs = Vec::new();
    for package in &metadata.packages {
        let targets: Vec<&Target> = package
            .targets
            .iter()
            .filter(|target| {
                target.kind.iter().any(|kind| {
                    matches!(
                        &**kind,
                        "bin" | "lib" | "rlib" | "cdylib" | "staticlib" | "proc-macro"
                    )
                })
            })
            .collect();
        let is_test = |target: &Target| target.kind.iter().any(|kind| kind == "test");
        if targets.is_empty() && !package.targets.iter().any(is_test) {
            return Err(format!(
                "{}: found neither a library nor a program nor a test",
                package.manifest_path.display()
            ));
        }
        for target in &targets {
            let program = target.kind.iter().any(|kind| kind == "bin");
            let name = if program && targets.len() > 1 {
                format!("{}:{}", package.name, target.name)
            } else {
                package.name.clone()
            };
            let path = relative(&target.src_path, root)?;
            let table = floors::FLOORS.iter().find(|(of, _)| *of == name);
            graphs.push(Graph::new(
                &name,
                Source::load(&path, &read)?,
                table.map(|(_, floors)| *floors),
            ));
        }
    }
    if graphs.is_empty() {
        return Err("found no modules to check: is `members` of Cargo.toml empty?".to_owned());
    }
    Ok(graphs)
}

fn relative(path: &Path, root: &Path) -> Result<String> {
    let inside = path.strip_prefix(root).ok().and_then(Path::to_str);
    inside.map(str::to_owned).ok_or_else(|| {
        format!(
            "{}: not below {}: a target lies in the repository",
            path.display(),
            root.display()
        )
    })
}

struct Graph {
    name: String,
    source: Source,
    uses: Vec<Use>,
    rooms: Vec<Room>,
    /// The room of each file.
    room_of: Vec<usize>,
    between_rooms: Arrows,
    circles: Vec<Circle>,
    has_table: bool,
    /// Lines of the table that name no module.
    empty_rooms: Vec<&'static str>,
}

struct Room {
    name: String,
    /// From the top, where the root stands; `None` where no table says so.
    floor: Option<usize>,
}

/// Points that all lead to each other: rooms, or files of one room.
struct Circle {
    of_rooms: bool,
    members: Vec<usize>,
    arrows: Arrows,
}

impl Graph {
    fn new(name: &str, source: Source, table: Option<&Table>) -> Self {
        let mut rooms = Vec::new();
        let mut room_of = Vec::new();
        for file in &source.files {
            let room = room(&source.modules[file.module].path, table);
            let at = rooms
                .iter()
                .position(|other: &Room| other.name == room.name)
                .unwrap_or_else(|| {
                    rooms.push(room);
                    rooms.len() - 1
                });
            room_of.push(at);
        }
        let empty_rooms = table
            .unwrap_or_default()
            .iter()
            .copied()
            .flatten()
            .copied()
            .filter(|line| !rooms.iter().any(|room| room.name == *line))
            .collect();
        let uses = resolve::uses(&source);
        let between_rooms: Arrows = uses
            .iter()
            .map(|one| (room_of[one.from], room_of[one.to]))
            .filter(|(from, to)| from != to)
            .collect();
        let inside: Arrows = uses
            .iter()
            .filter(|one| room_of[one.from] == room_of[one.to])
            .map(|one| (one.from, one.to))
            .collect();
        let circles = [(true, &between_rooms), (false, &inside)]
            .into_iter()
            .flat_map(|(of_rooms, arrows)| {
                graph::circles(arrows)
                    .into_iter()
                    .map(move |members| Circle {
                        of_rooms,
                        arrows: graph::within(&members, arrows).collect(),
                        members,
                    })
            })
            .collect();
        Graph {
            name: name.to_owned(),
            uses,
            rooms,
            room_of,
            between_rooms,
            circles,
            has_table: table.is_some(),
            empty_rooms,
            source,
        }
    }

    /// One line for everything that is not in order.
    fn judge(&self) -> Vec<String> {
        let mut findings = Vec::new();
        for line in &self.empty_rooms {
            findings.push(format!(
                "{PLACE}: {} has no module {line:?} – remove it from FLOORS",
                self.name
            ));
        }
        if self.has_table {
            for (at, room) in self.rooms.iter().enumerate() {
                if room.floor.is_none() {
                    findings.push(format!(
                        "{}:1: {} has no floor – give it one in FLOORS of {PLACE}",
                        self.a_file(at),
                        room.name
                    ));
                }
            }
        }
        findings.extend(self.circles.iter().map(|circle| self.say_circle(circle)));
        findings.extend(self.up().map(|arrow| self.say_up(arrow)));
        findings
    }

    /// Arrows between rooms that lead to a higher floor, or along one.
    fn up(&self) -> impl Iterator<Item = (usize, usize)> {
        self.between_rooms.iter().copied().filter(|(from, to)| {
            let floors = (self.rooms[*from].floor, self.rooms[*to].floor);
            matches!(floors, (Some(from), Some(to)) if to <= from)
        })
    }

    fn tangled(&self) -> usize {
        self.circles.iter().map(|circle| circle.arrows.len()).sum()
    }

    fn say_up(&self, (from, to): (usize, usize)) -> String {
        let (above, below) = (&self.rooms[to], &self.rooms[from]);
        let places: Vec<&Use> = self.places(true, (from, to)).collect();
        let direction = if above.floor == below.floor {
            "a sideways"
        } else {
            "an upward"
        };
        let more = match places.len() {
            1 => String::new(),
            2 => ", and in 1 more place".to_owned(),
            n => format!(", and in {} more places", n - 1),
        };
        format!(
            "{}: {direction} arrow from {} to {}{more} – move what both need to a floor below, or let \
             the caller hand it down",
            self.place(places[0]),
            below.name,
            above.name
        )
    }

    fn say_circle(&self, circle: &Circle) -> String {
        let round = graph::shortest(&circle.members, &circle.arrows);
        let arrows: Vec<String> = round
            .iter()
            .zip(round.iter().cycle().skip(1))
            .filter_map(|(from, to)| {
                let place = self.places(circle.of_rooms, (*from, *to)).next()?;
                let of = |point| self.point(circle.of_rooms, point);
                Some(format!(
                    "{} uses {} ({})",
                    of(*from),
                    of(*to),
                    self.place(place)
                ))
            })
            .collect();
        let first = round
            .iter()
            .zip(round.iter().cycle().skip(1))
            .find_map(|(from, to)| self.places(circle.of_rooms, (*from, *to)).next())
            .map_or_else(String::new, |place| self.place(place));
        format!(
            "{first}: a circle of {}: {} – cut one of these: {}",
            self.kind(circle),
            self.members(circle),
            arrows.join(", ")
        )
    }

    /// Everything about the target, for people who restructure it.
    fn describe(&self) -> String {
        let mut text = format!(
            "{}: {} rooms, {} files; {} arrows between rooms, {}{} circles with {} arrows\n",
            self.name,
            self.rooms.len(),
            self.source.files.len(),
            self.between_rooms.len(),
            if self.has_table {
                format!("{} of them up; ", self.up().count())
            } else {
                "no table of floors; ".to_owned()
            },
            self.circles.len(),
            self.tangled()
        );
        let mut rooms: Vec<usize> = (0..self.rooms.len()).collect();
        rooms.sort_by_key(|at| self.rooms[*at].floor);
        for at in rooms {
            let room = &self.rooms[at];
            let used: Vec<String> = self
                .between_rooms
                .iter()
                .filter(|(from, _)| *from == at)
                .map(|arrow| format!("{}{}", self.rooms[arrow.1].name, self.up_mark(*arrow)))
                .collect();
            let files = self.room_of.iter().filter(|room| **room == at).count();
            let floor = room
                .floor
                .map_or_else(String::new, |floor| format!("floor {floor}, "));
            text += &format!("  {} ({floor}{files} files)", room.name);
            if !used.is_empty() {
                text += &format!(" uses {}", used.join(", "));
            }
            text.push('\n');
        }
        for circle in &self.circles {
            let round: Vec<String> = graph::shortest(&circle.members, &circle.arrows)
                .into_iter()
                .map(|point| self.point(circle.of_rooms, point))
                .collect();
            text += &format!(
                "  a circle of {}: {}\n    shortest: {} → {}\n",
                self.kind(circle),
                self.members(circle),
                round.join(" → "),
                round[0]
            );
            text += &self.list(circle.of_rooms, circle.arrows.iter().copied());
        }
        let on_circles = |arrow: &(usize, usize)| {
            self.circles
                .iter()
                .any(|circle| circle.of_rooms && circle.arrows.contains(arrow))
        };
        let rest: Vec<_> = self.up().filter(|arrow| !on_circles(arrow)).collect();
        if !rest.is_empty() {
            text += "  arrows up that lie on no circle\n";
            text += &self.list(true, rest.into_iter());
        }
        text
    }

    /// Arrows with their places; first those that stand in the fewest.
    fn list(&self, of_rooms: bool, arrows: impl Iterator<Item = (usize, usize)>) -> String {
        let mut listed: Vec<((usize, usize), Vec<&Use>)> = arrows
            .map(|arrow| (arrow, self.places(of_rooms, arrow).collect()))
            .collect();
        listed.sort_by_key(|(_, places)| places.len());
        let mut text = String::new();
        for (arrow, places) in listed {
            let mark = if of_rooms { self.up_mark(arrow) } else { "" };
            text += &format!(
                "    {} → {}{mark}\n",
                self.point(of_rooms, arrow.0),
                self.point(of_rooms, arrow.1)
            );
            for place in places {
                text += &format!("      {}: {}\n", self.place(place), place.name);
            }
        }
        text
    }

    fn up_mark(&self, arrow: (usize, usize)) -> &'static str {
        if self.up().any(|up| up == arrow) {
            " (up)"
        } else {
            ""
        }
    }

    /// Where an arrow stands in the code.
    fn places(&self, of_rooms: bool, arrow: (usize, usize)) -> impl Iterator<Item = &Use> {
        self.uses.iter().filter(move |one| {
            arrow
                == if of_rooms {
                    (self.room_of[one.from], self.room_of[one.to])
                } else {
                    (one.from, one.to)
                }
        })
    }

    fn place(&self, one: &Use) -> String {
        format!("{}:{}", self.source.files[one.from].path, one.line)
    }

    fn point(&self, of_rooms: bool, point: usize) -> String {
        if of_rooms {
            return self.rooms[point].name.clone();
        }
        let path = &self.source.modules[self.source.files[point].module].path;
        match &path[..] {
            [] => ROOT.to_owned(),
            names => names.join("::"),
        }
    }

    fn kind(&self, circle: &Circle) -> String {
        match circle.of_rooms {
            true => format!("{} rooms", circle.members.len()),
            false => {
                let room = &self.rooms[self.room_of[circle.members[0]]].name;
                format!("{} files in {room}", circle.members.len())
            }
        }
    }

    fn members(&self, circle: &Circle) -> String {
        let names: Vec<String> = circle
            .members
            .iter()
            .map(|point| self.point(circle.of_rooms, *point))
            .collect();
        names.join(", ")
    }

    fn a_file(&self, room: usize) -> &str {
        let at = self.room_of.iter().position(|of| *of == room);
        at.map_or("", |at| &self.source.files[at].path)
    }
}

/// The room of the module `path`: the longest line of the table that it lies below, or the first
/// of its names.
fn room(path: &[String], table: Option<&Table>) -> Room {
    let names: BTreeMap<usize, (usize, &str)> = table
        .unwrap_or_default()
        .iter()
        .enumerate()
        .flat_map(|(floor, rooms)| rooms.iter().map(move |line| (floor + 1, *line)))
        .filter_map(|(floor, line)| {
            let names: Vec<&str> = line.split("::").collect();
            let inside = match path {
                [] => line == ROOT,
                path => names.len() <= path.len() && names.iter().zip(path).all(|(a, b)| a == b),
            };
            inside.then_some((names.len(), (floor, line)))
        })
        .collect();
    match names.last_key_value() {
        Some((_, (floor, line))) => Room {
            name: (*line).to_owned(),
            floor: Some(*floor),
        },
        None => Room {
            name: path.first().map_or(ROOT, |first| first).to_owned(),
            // Above all others, which begin with 1.
            floor: table.filter(|_| path.is_empty()).map(|_| 0),
        },
    }
}

const ROOT: &str = "crate";
const PLACE: &str = "xtask/src/structure/floors.rs";
