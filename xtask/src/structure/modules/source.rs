//! What the modules of one target declare, import and name, read as tokens.
//!
//! A module is a file, or an inline `mod x {}`, which belongs to the file that it stands in. Tests
//! are left out: what stands under `#[cfg(test)]` or `#[test]`, and modules named `tests`.

use std::collections::{HashMap, HashSet};

use proc_macro2::{Delimiter, Group, Spacing, TokenStream, TokenTree};

use crate::tool::Result;

/// The modules of a target. The first is its root.
pub struct Source {
    pub modules: Vec<Module>,
    pub files: Vec<File>,
}

pub struct File {
    /// From the root of the repository.
    pub path: String,
    /// The module that the file as a whole is, as an index into [`Source::modules`].
    pub module: usize,
}

pub struct Module {
    /// Names from the root, whose own path is empty.
    pub path: Vec<String>,
    pub file: usize,
    pub parent: Option<usize>,
    pub children: HashMap<String, usize>,
    /// Names that the module defines, other than modules.
    pub items: HashSet<String>,
    /// Those of `macro_rules!`, which the modules below see without an import.
    pub macros: HashSet<String>,
    pub imports: Vec<Import>,
    /// Paths of two names and more that stand in the code, with their lines.
    pub paths: Vec<(Vec<String>, usize)>,
    /// Single names in the code that may be those of items, with the line of the first use.
    pub words: HashMap<String, usize>,
}

/// One leaf of a `use`.
pub struct Import {
    /// What the module calls it; empty for a glob.
    pub name: String,
    pub path: Vec<String>,
    pub line: usize,
    /// Whether it is handed on: `pub use`, however far it reaches.
    pub exported: bool,
}

impl Source {
    /// Reads the target whose root is the file `root`. `read` returns the text of a file, or `None`
    /// where there is none.
    pub fn load(root: &str, read: &dyn Fn(&str) -> Option<String>) -> Result<Self> {
        let mut reader = Reader {
            source: Source {
                modules: Vec::new(),
                files: Vec::new(),
            },
            read,
        };
        let text = read(root).ok_or_else(|| {
            format!("{root}: cannot read the root of a target: is Cargo.toml right?")
        })?;
        let folder = root.rsplit_once('/').map_or("", |(folder, _)| folder);
        reader.file(root, &text, Vec::new(), None, folder)?;
        Ok(reader.source)
    }
}

struct Reader<'a> {
    source: Source,
    read: &'a dyn Fn(&str) -> Option<String>,
}

/// The module that tokens stand in.
#[derive(Clone, Copy)]
struct Here<'a> {
    module: usize,
    /// Where the files of its children lie; `None` inside of items, which declare no modules.
    folder: Option<&'a str>,
}

impl Reader<'_> {
    fn file(
        &mut self,
        path: &str,
        text: &str,
        names: Vec<String>,
        parent: Option<usize>,
        folder: &str,
    ) -> Result<usize> {
        let stream: TokenStream = text.parse().map_err(|error: proc_macro2::LexError| {
            format!("{path}:{}: not Rust: {error}", error.span().start().line)
        })?;
        let module = self.source.modules.len();
        self.source.files.push(File {
            path: path.to_owned(),
            module,
        });
        let file = self.source.files.len() - 1;
        self.module(names, file, parent);
        self.tokens(
            stream,
            Here {
                module,
                folder: Some(folder),
            },
        )?;
        Ok(module)
    }

    fn module(&mut self, path: Vec<String>, file: usize, parent: Option<usize>) -> usize {
        self.source.modules.push(Module {
            path,
            file,
            parent,
            children: HashMap::new(),
            items: HashSet::new(),
            macros: HashSet::new(),
            imports: Vec::new(),
            paths: Vec::new(),
            words: HashMap::new(),
        });
        self.source.modules.len() - 1
    }

    fn tokens(&mut self, stream: TokenStream, here: Here) -> Result<()> {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let inside = Here {
            folder: None,
            ..here
        };
        let mut at = 0;
        while let Some(token) = tokens.get(at) {
            match token {
                TokenTree::Group(group) => {
                    self.tokens(group.stream(), inside)?;
                    at += 1;
                }
                TokenTree::Punct(punct) if punct.as_char() == '#' => {
                    let inner = usize::from(sign(&tokens, at + 1) == Some('!'));
                    let Some(attribute) = group(&tokens, at + 1 + inner, Delimiter::Bracket) else {
                        at += 1;
                        continue;
                    };
                    at += 2 + inner;
                    match word(&attribute.stream().into_iter().collect::<Vec<_>>(), 0).as_deref() {
                        Some("path") if here.folder.is_some() && inner == 0 => {
                            let file = &self.source.files[self.source.modules[here.module].file];
                            return Err(format!(
                                "{}:{}: a module with `#[path]` – put the file where its name says",
                                file.path,
                                attribute.span_open().start().line
                            ));
                        }
                        _ if !is_test(attribute) => self.tokens(attribute.stream(), inside)?,
                        _ if inner == 1 => return Ok(()),
                        _ => at = item_end(&tokens, at),
                    }
                }
                TokenTree::Ident(_) => at = self.word(&tokens, at, here)?,
                _ => at += 1,
            }
        }
        Ok(())
    }

    /// Takes in what begins with the word at `at`, and returns where it ends.
    fn word(&mut self, tokens: &[TokenTree], at: usize, here: Here) -> Result<usize> {
        let text = word(tokens, at).unwrap_or_default();
        let next = word(tokens, at + 1);
        let lifetime = sign(tokens, at.wrapping_sub(1)) == Some('\'');
        if lifetime || is_joined(tokens, at.wrapping_sub(2)) {
            return Ok(at + 1); // or the rest of `<T>::name` and of `::name`
        }
        match (text.as_str(), next) {
            ("pub", None) if is_visibility(tokens, at + 1) => return Ok(at + 2),
            ("use", _) if sign(tokens, at + 1) != Some('<') => {
                let end = (at..tokens.len())
                    .find(|at| sign(tokens, *at) == Some(';'))
                    .unwrap_or(tokens.len());
                let exported = word(tokens, at.wrapping_sub(1)).as_deref() == Some("pub")
                    || is_visibility(tokens, at.wrapping_sub(1));
                let imports = &mut self.source.modules[here.module].imports;
                import(&tokens[at + 1..end], &[], exported, imports);
                return Ok(end);
            }
            ("mod", Some(name)) => {
                if let Some(folder) = here.folder {
                    return self.child(tokens, at, &name, here.module, folder);
                }
            }
            ("macro_rules", _) if here.folder.is_some() => {
                if let Some(name) = word(tokens, at + 2) {
                    let module = &mut self.source.modules[here.module];
                    module.items.insert(name.clone());
                    module.macros.insert(name);
                    return Ok(at + 3);
                }
            }
            ("static", Some(name)) if name == "mut" && here.folder.is_some() => {
                let name = word(tokens, at + 2).unwrap_or_default();
                self.source.modules[here.module].items.insert(name);
                return Ok(at + 3);
            }
            ("const", _)
                if sign(tokens, at.wrapping_sub(1)) == Some('*')
                    || word(tokens, at.wrapping_sub(1)).as_deref() == Some("raw") =>
            {
                return Ok(at + 1); // of a pointer
            }
            (
                "fn" | "struct" | "enum" | "union" | "trait" | "type" | "const" | "static",
                Some(name),
            ) => {
                let qualifier = matches!(&*name, "fn" | "unsafe" | "extern" | "async");
                if qualifier {
                    return Ok(at + 1);
                }
                if here.folder.is_some() {
                    self.source.modules[here.module].items.insert(name);
                }
                return Ok(at + 2);
            }
            _ => {}
        }
        Ok(self.name(tokens, at, text, here.module))
    }

    /// Declares the module `name` in `parent`, reads it, and returns where the declaration ends.
    fn child(
        &mut self,
        tokens: &[TokenTree],
        at: usize,
        name: &str,
        parent: usize,
        folder: &str,
    ) -> Result<usize> {
        let file = self.source.modules[parent].file;
        let mut path = self.source.modules[parent].path.clone();
        path.push(name.to_owned());
        let below = if folder.is_empty() {
            name.to_owned()
        } else {
            format!("{folder}/{name}")
        };
        if name == "tests" {
            return Ok(at + 3);
        }
        if let Some(body) = group(tokens, at + 2, Delimiter::Brace) {
            let module = self.module(path, file, Some(parent));
            self.source.modules[parent]
                .children
                .entry(name.to_owned())
                .or_insert(module);
            let here = Here {
                module,
                folder: Some(&below),
            };
            self.tokens(body.stream(), here)?;
        } else {
            let places = [format!("{below}.rs"), format!("{below}/mod.rs")];
            let found = places
                .iter()
                .find_map(|place| Some((place, (self.read)(place)?)));
            let Some((place, text)) = found else {
                return Err(format!(
                    "{}:{}: no file for `mod {name}` – neither {} nor {} can be read",
                    self.source.files[file].path,
                    tokens[at].span().start().line,
                    places[0],
                    places[1]
                ));
            };
            let module = self.file(place, &text, path, Some(parent), &below)?;
            self.source.modules[parent]
                .children
                .insert(name.to_owned(), module);
        }
        Ok(at + 3)
    }

    /// Takes in the path or the single name at `at`, and returns where it ends.
    fn name(&mut self, tokens: &[TokenTree], at: usize, first: String, module: usize) -> usize {
        let line = tokens[at].span().start().line;
        let mut path = vec![first];
        let mut end = at + 1;
        while is_joined(tokens, end)
            && let Some(next) = word(tokens, end + 2)
        {
            path.push(next);
            end += 3;
        }
        let module = &mut self.source.modules[module];
        if path.len() > 1 {
            module.paths.push((path, line));
            return end;
        }
        let before = |n: usize| sign(tokens, at.wrapping_sub(n));
        let of_value = before(1) == Some('.') && before(2) != Some('.'); // a field or a method
        // Small names are mostly variables: only what is called counts.
        let called = group(tokens, end, Delimiter::Parenthesis).is_some()
            || is_joined(tokens, end)
            || (sign(tokens, end) == Some('!') && sign(tokens, end + 1) != Some('='));
        if !of_value && (called || path[0].starts_with(char::is_uppercase)) {
            module.words.entry(path.remove(0)).or_insert(line);
        }
        end
    }
}

/// Every leaf of the tree of a `use`.
fn import(tokens: &[TokenTree], prefix: &[String], exported: bool, into: &mut Vec<Import>) {
    if prefix.is_empty() && sign(tokens, 0) == Some(':') {
        return; // `::name` is another crate
    }
    let mut path = prefix.to_vec();
    let mut renamed = None;
    let mut at = 0;
    let mut line = 0;
    while let Some(token) = tokens.get(at) {
        match token {
            TokenTree::Ident(ident) if ident == "as" => {
                renamed = word(tokens, at + 1);
                at += 1;
            }
            TokenTree::Ident(_) => {
                line = token.span().start().line;
                path.extend(word(tokens, at));
            }
            TokenTree::Group(group) => {
                let inner: Vec<TokenTree> = group.stream().into_iter().collect();
                for part in inner.split(|token| is_sign(token, ',')) {
                    if !part.is_empty() {
                        import(part, &path, exported, into);
                    }
                }
                return;
            }
            TokenTree::Punct(punct) if punct.as_char() == '*' => {
                into.push(Import {
                    name: String::new(),
                    path,
                    line: token.span().start().line,
                    exported,
                });
                return;
            }
            _ => {}
        }
        at += 1;
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(last) = path.last() {
        into.push(Import {
            name: renamed.unwrap_or_else(|| last.clone()),
            path,
            line,
            exported,
        });
    }
}

/// Whether an attribute says that what follows is a test: `test`, `cfg(test)`, or `cfg(all(…))`
/// with `test` among what it wants.
fn is_test(attribute: &Group) -> bool {
    let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
    match word(&tokens, 0).as_deref() {
        Some("test") => tokens.len() == 1,
        Some("cfg") => group(&tokens, 1, Delimiter::Parenthesis).is_some_and(wants_test),
        _ => false,
    }
}

fn wants_test(condition: &Group) -> bool {
    let tokens: Vec<TokenTree> = condition.stream().into_iter().collect();
    tokens
        .split(|token| is_sign(token, ','))
        .any(|part| match word(part, 0).as_deref() {
            Some("test") => part.len() == 1,
            Some("all") => group(part, 1, Delimiter::Parenthesis).is_some_and(wants_test),
            _ => false,
        })
}

/// Where what begins at `at` ends: an item, a statement, a field, or an arm of a match.
fn item_end(tokens: &[TokenTree], at: usize) -> usize {
    const ITEMS: [&str; 11] = [
        "fn", "impl", "mod", "struct", "enum", "trait", "use", "static", "type", "const", "union",
    ];
    // A comma ends a field and an arm, but stands between the parameters of an item.
    let is_item = tokens[at..]
        .iter()
        .take_while(|token| !matches!(token, TokenTree::Punct(punct) if punct.as_char() != '#'))
        .any(|token| matches!(token, TokenTree::Ident(ident) if ITEMS.iter().any(|item| ident == item)));
    (at..tokens.len())
        .find(|at| {
            group(tokens, *at, Delimiter::Brace).is_some()
                || sign(tokens, *at) == Some(';')
                || (!is_item && sign(tokens, *at) == Some(','))
        })
        .map_or(tokens.len(), |end| end + 1)
}

/// Whether the group at `at` is the rest of `pub(crate)`, `pub(super)` or `pub(in path)`.
fn is_visibility(tokens: &[TokenTree], at: usize) -> bool {
    word(tokens, at.wrapping_sub(1)).as_deref() == Some("pub")
        && group(tokens, at, Delimiter::Parenthesis).is_some_and(|group| {
            let inner: Vec<TokenTree> = group.stream().into_iter().collect();
            match word(&inner, 0).as_deref() {
                Some("in") => true,
                Some("crate" | "super" | "self") => inner.len() == 1,
                _ => false,
            }
        })
}

/// Whether `::` stands at `at`.
fn is_joined(tokens: &[TokenTree], at: usize) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(punct)) if punct.as_char() == ':' && punct.spacing() == Spacing::Joint)
        && sign(tokens, at.wrapping_add(1)) == Some(':')
}

fn word(tokens: &[TokenTree], at: usize) -> Option<String> {
    match tokens.get(at)? {
        TokenTree::Ident(ident) => Some(ident.to_string().trim_start_matches("r#").to_owned()),
        _ => None,
    }
}

fn sign(tokens: &[TokenTree], at: usize) -> Option<char> {
    match tokens.get(at)? {
        TokenTree::Punct(punct) => Some(punct.as_char()),
        _ => None,
    }
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

fn group(tokens: &[TokenTree], at: usize, delimiter: Delimiter) -> Option<&Group> {
    match tokens.get(at)? {
        TokenTree::Group(group) if group.delimiter() == delimiter => Some(group),
        _ => None,
    }
}
