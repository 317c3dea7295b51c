//! Where the names that a module uses are defined, and so which file has to do with which.

use super::source::{Import, Module, Source};

/// One file uses what another defines.
#[derive(Debug, PartialEq)]
pub struct Use {
    /// Indexes into [`Source::files`].
    pub from: usize,
    pub to: usize,
    /// Where in `from`.
    pub line: usize,
    /// What the code says there, with commas between several names.
    pub name: String,
}

/// Every use of one file by another, in the order of files and lines.
///
/// A name that a module re-exports counts as a use of the file that defines it. Where that is not
/// to be found (another crate, or a macro that writes items), the last module on the way counts.
/// Methods are not seen: the type that they belong to is, where something names it.
pub fn uses(source: &Source) -> Vec<Use> {
    let mut uses = Vec::new();
    for at in 0..source.modules.len() {
        of_module(source, at, &mut uses);
    }
    uses.retain(|one: &Use| one.from != one.to);
    uses.sort_by(|a, b| (a.from, a.line, a.to, &a.name).cmp(&(b.from, b.line, b.to, &b.name)));
    uses.dedup();
    uses.dedup_by(|next, kept| {
        let same = (next.from, next.to, next.line) == (kept.from, kept.to, kept.line);
        if same {
            kept.name += ", ";
            kept.name += &next.name;
        }
        same
    });
    uses
}

fn of_module(source: &Source, at: usize, into: &mut Vec<Use>) {
    let module = &source.modules[at];
    let mut found = |to: usize, line: usize, name: String| {
        into.push(Use {
            from: module.file,
            to: source.modules[to].file,
            line,
            name,
        });
    };

    for (index, import) in module.imports.iter().enumerate() {
        let mut resolver = Resolver::new(source);
        resolver.passing.push((at, index));
        let text = import.path.join("::");
        let place = resolver.path(at, &import.path);
        // A parent that hands on what its children define does not use it yet.
        let hands_on = |to: usize| import.exported && below(source, at, to);
        match place {
            Some(Place::Module(to)) if import.name.is_empty() => {
                let mut used = false;
                for (name, line) in module.used_names() {
                    if module.defines(name) {
                        continue;
                    }
                    if let Some(place) = Resolver::new(source).name(to, name, true) {
                        used = true;
                        found(place.module(), line, format!("{text}::*: {name}"));
                    }
                }
                if !used && !hands_on(to) {
                    found(to, import.line, format!("{text}::*"));
                }
            }
            Some(Place::Module(to)) => {
                // What is reached through the module counts, where it is.
                let used = module.paths.iter().any(|(path, _)| path[0] == import.name)
                    || module
                        .imports
                        .iter()
                        .any(|other| other.path.len() > 1 && other.path[0] == import.name);
                if !used && !hands_on(to) {
                    found(to, import.line, text);
                }
            }
            Some(Place::Item(to)) if hands_on(to) => {
                let used = module
                    .used_names()
                    .find(|(name, _)| *name == import.name)
                    .map(|(_, line)| line);
                if let Some(line) = used {
                    found(to, line, text);
                }
            }
            Some(Place::Item(to)) => found(to, import.line, text),
            None => {}
        }
    }

    for (path, line) in &module.paths {
        // What is imported has been counted at the import.
        let imported = !module.children.contains_key(&path[0])
            && module
                .imports
                .iter()
                .enumerate()
                .find(|(_, import)| import.name == path[0])
                .is_some_and(|(index, import)| {
                    let mut resolver = Resolver::new(source);
                    resolver.passing.push((at, index));
                    !matches!(resolver.path(at, &import.path), Some(Place::Module(_)))
                });
        if !imported && let Some(place) = Resolver::new(source).path(at, path) {
            found(place.module(), *line, path.join("::"));
        }
    }

    // Macros of the modules above are in scope without an import.
    for (name, line) in module.used_names() {
        let mut above = module.parent;
        while let Some(to) = above
            && !module.defines(name)
        {
            if source.modules[to].macros.contains(name) {
                found(to, line, format!("{name}!"));
                break;
            }
            above = source.modules[to].parent;
        }
    }
}

/// Whether the module `to` is another than `at`, and below it.
fn below(source: &Source, at: usize, to: usize) -> bool {
    let (above, path) = (&source.modules[at].path, &source.modules[to].path);
    path.len() > above.len() && path.starts_with(above)
}

impl Module {
    /// Single names, and the first ones of paths, with the line of a use.
    fn used_names(&self) -> impl Iterator<Item = (&str, usize)> {
        let words = self.words.iter().map(|(name, line)| (&**name, *line));
        let paths = self.paths.iter().map(|(path, line)| (&*path[0], *line));
        words.chain(paths)
    }

    fn defines(&self, name: &str) -> bool {
        self.items.contains(name)
            || self.children.contains_key(name)
            || self.imports.iter().any(|import| import.name == name)
    }
}

/// What a path leads to. Modules as indexes into [`Source::modules`].
enum Place {
    Module(usize),
    /// Something in this module.
    Item(usize),
}

impl Place {
    fn module(&self) -> usize {
        match self {
            Place::Module(module) | Place::Item(module) => *module,
        }
    }
}

struct Resolver<'a> {
    source: &'a Source,
    /// Imports on the way, by module and index: none is gone through twice.
    passing: Vec<(usize, usize)>,
}

impl<'a> Resolver<'a> {
    fn new(source: &'a Source) -> Self {
        Resolver {
            source,
            passing: Vec::new(),
        }
    }

    /// Where `path` leads from `module`; `None` is outside of the crate.
    fn path(&mut self, module: usize, path: &[String]) -> Option<Place> {
        let last = path.len().checked_sub(1)?;
        let mut place = self.first(module, &path[0], last == 0)?;
        for (at, name) in path.iter().enumerate().skip(1) {
            let Place::Module(module) = place else {
                break; // a variant or an associated item
            };
            place = match &**name {
                "self" => place,
                "super" => Place::Module(self.source.modules[module].parent?),
                _ => self
                    .name(module, name, at == last)
                    .unwrap_or(Place::Item(module)),
            };
        }
        Some(place)
    }

    fn first(&mut self, module: usize, name: &str, alone: bool) -> Option<Place> {
        match name {
            "crate" => Some(Place::Module(0)),
            "self" => Some(Place::Module(module)),
            "super" => self.source.modules[module].parent.map(Place::Module),
            _ => self.name(module, name, alone),
        }
    }

    /// What `name` is in `module`; `last` names may be items before they are modules.
    fn name(&mut self, module: usize, name: &str, last: bool) -> Option<Place> {
        let here = &self.source.modules[module];
        let child = here.children.get(name).copied().map(Place::Module);
        if last && here.items.contains(name) {
            return Some(Place::Item(module));
        }
        if !last && child.is_some() {
            return child;
        }
        for (index, import) in here.imports.iter().enumerate() {
            if import.name == name
                && let Some(place) = self.import(module, index, import)
            {
                // What another crate defines is taken from here.
                return Some(place.unwrap_or(Place::Item(module)));
            }
        }
        if here.items.contains(name) {
            return Some(Place::Item(module));
        }
        if child.is_some() {
            return child;
        }
        for (index, import) in here.imports.iter().enumerate() {
            if import.name.is_empty()
                && let Some(Some(Place::Module(to))) = self.import(module, index, import)
            {
                self.passing.push((module, index));
                let place = self.name(to, name, last);
                self.passing.pop();
                if place.is_some() {
                    return place;
                }
            }
        }
        None
    }

    /// Where an import leads: outside is `Some(None)`, and `None` one that is gone through already.
    fn import(&mut self, module: usize, index: usize, import: &Import) -> Option<Option<Place>> {
        if self.passing.contains(&(module, index)) {
            return None;
        }
        self.passing.push((module, index));
        let place = self.path(module, &import.path);
        self.passing.pop();
        Some(place)
    }
}
