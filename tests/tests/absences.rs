//! What is deliberately absent, and a test for each line: architecture is what is *not* there.
//!
//! The sentences of [`ABSENCES`] stand in ARCHITECTURE.md, word for word. Each is tested by reading the
//! sources, comments and tests cut away; and each test is tested, with a line planted that breaks it.

#![expect(clippy::indexing_slicing, reason = "what is not there should stop the test")]
#![expect(clippy::unwrap_used, reason = "a source that cannot be read should stop the test")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// A thing that the sources do not contain.
struct Absence {
    id: &'static str,
    sentence: &'static str,
    /// Tells where the sources contain it after all.
    find: fn(&Sources) -> Vec<String>,
    /// A file, and a text that breaks the rule when it is added there.
    plant: (&'static str, &'static str),
}

/// As ARCHITECTURE.md lists them.
const ABSENCES: &[Absence] = &[
    Absence {
        id: "A1",
        sentence: "Weight never hangs upward: `meta` and `store` name no crate of ours, `catalog` names \
                   those two, `ops` those three, and `kiosko` stands on all of them.",
        find: weight,
        plant: ("crates/meta/Cargo.toml", "[dependencies]\nstore.workspace = true"),
    },
    Absence {
        id: "A2",
        sentence: "`meta` does no I/O: it opens no file and no socket, and asks for no environment, \
                   time or chance.",
        find: |s| {
            let words = ["std::fs", "std::net", "std::env", "std::process", "std::time", "new_v4"];
            s.with("crates/meta", &words, &[])
        },
        plant: ("crates/meta/src/types.rs", "let now = std::time::SystemTime::now();"),
    },
    Absence {
        id: "A3",
        sentence: "No file is opened outside `store`: `catalog` and `ops` have no `std::fs` either.",
        find: |s| {
            let words = ["std::fs", "fs::File", "File::create", "OpenOptions"];
            [s.with("crates/catalog", &words, &[]), s.with("crates/ops", &words, &[])].concat()
        },
        plant: ("crates/ops/src/scan.rs", "let bytes = std::fs::read(path);"),
    },
    Absence {
        id: "A4",
        sentence: "No file is overwritten or renamed onto another: a store creates new names, exclusively.",
        find: |s| {
            let words =
                ["rename(", "fs::write", "fs::copy", "File::create(", "OpenOptions", ".persist("];
            s.with("crates/store", &words, &[])
        },
        plant: ("crates/store/src/disk.rs", "staged.persist(&path)?;"),
    },
    Absence {
        id: "A5",
        sentence: "Nobody but `catalog/local.rs` writes a metadata.json, makes new metadata out of old, or \
                   moves a pointer.",
        find: |s| {
            let words =
                ["metadata_json::print(", "update::apply(", "pointer.swap(", "pointer.put_new("];
            s.with("crates", &words, &["crates/catalog/src/local.rs"])
        },
        plant: (
            "crates/ops/src/commit.rs",
            "let next = meta::update::apply(&base, &file, &updates, 0);",
        ),
    },
    Absence {
        id: "A6",
        sentence: "And there it happens once: one call applies updates, one prints metadata, one swaps.",
        find: |s| {
            let words =
                ["metadata_json::print(", "update::apply(", "pointer.swap(", "pointer.put_new("];
            words
                .into_iter()
                .flat_map(|word| s.unless_once("crates/catalog/src/local.rs", word))
                .collect()
        },
        plant: (
            "crates/catalog/src/local.rs",
            "let again = update::apply(&a, &b, &updates, now_ms);",
        ),
    },
    Absence {
        id: "A7",
        sentence: "There is no SQL outside `catalog/sqlite.rs`.",
        find: |s| {
            let words = ["rusqlite", "SELECT ", "INSERT INTO", "UPDATE iceberg", "CREATE TABLE"];
            s.with("crates", &words, &["crates/catalog/src/sqlite.rs", "crates/catalog/Cargo.toml"])
        },
        plant: (
            "crates/kiosko/src/open.rs",
            "let rows = \"SELECT table_name FROM iceberg_tables\";",
        ),
    },
    Absence {
        id: "A8",
        sentence: "Nothing is deleted but in four places, each with its proof: a lost commit's metadata \
                   file (`catalog/local.rs`), a lost attempt's files (`ops/commit.rs`), what an expiry \
                   left behind (`ops/expire.rs`), and orphans (`ops/orphans.rs`).",
        find: |s| {
            let four = [
                "crates/catalog/src/local.rs",
                "crates/ops/src/commit.rs",
                "crates/ops/src/expire.rs",
                "crates/ops/src/orphans.rs",
            ];
            let elsewhere = ["catalog", "ops", "kiosko"].map(|name| {
                s.with(&format!("crates/{name}"), &[".delete(", "remove_file("], &four)
            });
            let once = four.into_iter().flat_map(|file| s.unless_once(file, ".delete("));
            elsewhere.into_iter().flatten().chain(once).collect()
        },
        plant: ("crates/ops/src/compact.rs", "warehouse.store.delete(old.normal())?;"),
    },
    Absence {
        id: "A9",
        sentence: "There is no second retry loop: only `ops/commit.rs` reads the outcome of a commit, and \
                   only `catalog/local.rs` gives one.",
        find: |s| {
            let two = ["crates/ops/src/commit.rs", "crates/catalog/src/local.rs"];
            s.with("crates", &["Outcome::"], &two)
        },
        plant: ("crates/ops/src/append.rs", "while let Outcome::Lost { .. } = commit() {}"),
    },
    Absence {
        id: "A10",
        sentence: "There is no second door for time and chance: clocks, sleeps and random ids are in \
                   `store/stamp.rs`.",
        find: |s| {
            let words = ["SystemTime::now", "Instant::now", "Utc::now", "new_v4", "thread::sleep"];
            s.with("crates", &words, &["crates/store/src/stamp.rs"])
        },
        plant: ("crates/ops/src/write.rs", "let write = Uuid::new_v4();"),
    },
    Absence {
        id: "A11",
        sentence: "The core is synchronous: there is no `async`, no `await` and no runtime.",
        find: |s| {
            s.with(
                "crates",
                &["async fn", "async move", "async {", ".await", "tokio", "futures::"],
                &[],
            )
        },
        plant: ("crates/store/src/lib.rs", "async fn read() {}"),
    },
    Absence {
        id: "A12",
        sentence: "There is no `unsafe`, and no `allow`: an exception to a lint is an `expect` with its \
                   reason.",
        find: |s| s.with("crates", &["unsafe ", "#[allow(", "#![allow("], &[]),
        plant: ("crates/meta/src/avro.rs", "#[allow(clippy::indexing_slicing)]"),
    },
    Absence {
        id: "A13",
        sentence: "Below `kiosko` nothing prints and nothing ends the process.",
        find: |s| {
            let words =
                ["println!", "print!", "eprintln!", "dbg!", "process::exit", "process::abort"];
            ["meta", "store", "catalog", "ops"]
                .into_iter()
                .flat_map(|name| s.with(&format!("crates/{name}"), &words, &[]))
                .collect()
        },
        plant: ("crates/ops/src/compact.rs", "println!(\"compacting\");"),
    },
    Absence {
        id: "A14",
        sentence: "There are no builders, factories, managers, helpers or utilities, and no feature flags.",
        find: |s| {
            let types = ["struct ", "enum ", "trait ", "type "];
            let ends = ["Builder", "Factory", "Manager", "Helper", "Util", "Utils"];
            let named = |line: &str| {
                let name =
                    types.iter().find_map(|word| line.split_once(word)).map(|(_, rest)| rest);
                let end =
                    name.and_then(|rest| rest.find(|c: char| !c.is_alphanumeric() && c != '_'));
                let name = name.zip(end).map(|(rest, end)| &rest[..end]);
                name.is_some_and(|name| ends.iter().any(|end| name.ends_with(end)))
            };
            let words = ["cfg(feature", "[features]"];
            [s.lines("crates", &[], named), s.with("crates", &words, &[])].concat()
        },
        plant: ("crates/ops/src/scan.rs", "pub struct ScanBuilder {"),
    },
    Absence {
        id: "A15",
        sentence: "No source file has more than 450 lines before its tests.",
        find: |s| {
            let long = s.texts.iter().filter(|(path, _)| path.ends_with(".rs"));
            let long = long.map(|(path, text)| (path, text.lines().count()));
            long.filter(|(_, n)| *n > 450).map(|(path, n)| format!("{path}: {n} lines")).collect()
        },
        plant: ("crates/ops/src/append.rs", FIVE_HUNDRED_LINES),
    },
    Absence {
        id: "A16",
        sentence: "The walks of `ops/lib.rs` name no function that is not there.",
        find: walks,
        plant: (
            "crates/ops/src/lib.rs",
            "//! # Life of nothing\n//! 1. [`scan::vanish`] is gone.\n//! # The files",
        ),
    },
];

const FIVE_HUNDRED_LINES: &str = match std::str::from_utf8(&[b'\n'; 500]) {
    Ok(lines) => lines,
    Err(_) => "",
};

/// Every source and manifest of the crates, by path, tests cut away.
#[derive(Clone)]
struct Sources {
    texts: BTreeMap<String, String>,
}

impl Sources {
    fn read() -> Sources {
        let mut sources = Sources { texts: BTreeMap::new() };
        sources.gather("crates");
        assert!(sources.texts.len() > 60, "the sources were found");
        sources
    }

    fn gather(&mut self, folder: &str) {
        for entry in fs::read_dir(root().join(folder)).unwrap() {
            let entry = entry.unwrap();
            let path = format!("{folder}/{}", entry.file_name().to_str().unwrap());
            let kind = entry.file_type().unwrap();
            if kind.is_dir() && !path.ends_with("/tests") && !path.ends_with("/target") {
                self.gather(&path);
            } else if path.ends_with(".rs") || path.ends_with("Cargo.toml") {
                // The conformance suites are tests that live in the library, for others to run.
                if path.ends_with("/conformance.rs") {
                    continue;
                }
                let text = fs::read_to_string(entry.path()).unwrap();
                let end = text.find("#[cfg(test)]\nmod ").unwrap_or(text.len());
                self.texts.insert(path, text[..end].to_string());
            }
        }
    }

    /// Lines of code below `folder`, some files excepted, for which something holds.
    fn lines(&self, folder: &str, except: &[&str], holds: impl Fn(&str) -> bool) -> Vec<String> {
        let folder = format!("{folder}/");
        let mut found = Vec::new();
        for (path, text) in &self.texts {
            if !path.starts_with(&folder) || except.contains(&path.as_str()) {
                continue;
            }
            for (number, line) in text.lines().enumerate() {
                if !line.trim_start().starts_with("//") && holds(line) {
                    found.push(format!("{path}:{}: {}", number + 1, line.trim()));
                }
            }
        }
        found
    }

    /// Lines of code that contain one of these words.
    fn with(&self, folder: &str, words: &[&str], except: &[&str]) -> Vec<String> {
        self.lines(folder, except, |line| words.iter().any(|word| line.contains(word)))
    }

    /// Complains unless a file has exactly one line of code with a word.
    fn unless_once(&self, file: &str, word: &str) -> Vec<String> {
        let (folder, _) = file.rsplit_once('/').unwrap();
        let found: Vec<_> = self.with(folder, &[word], &[]);
        let found: Vec<_> =
            found.into_iter().filter(|line| line.starts_with(&format!("{file}:"))).collect();
        match found.len() {
            1 => Vec::new(),
            n => vec![format!("{file}: {n} times {word}: {found:?}")],
        }
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap()
}

/// A1: which of our crates each manifest may name as a dependency.
fn weight(sources: &Sources) -> Vec<String> {
    const ORDER: [(&str, &[&str]); 5] = [
        ("meta", &[]),
        ("store", &[]),
        ("catalog", &["meta", "store"]),
        ("ops", &["meta", "store", "catalog"]),
        ("kiosko", &["meta", "store", "catalog", "ops"]),
    ];
    let mut found = Vec::new();
    for (name, below) in ORDER {
        let path = format!("crates/{name}/Cargo.toml");
        let mut section = "";
        let mut named = Vec::new();
        for line in sources.texts[&path].lines() {
            if line.starts_with('[') {
                section = line;
                continue;
            }
            let key = line.split(['.', '=', ' ']).next().unwrap_or_default();
            let ours =
                ORDER.iter().find(|(other, _)| key == *other || key == format!("kiosko-{other}"));
            if let Some((ours, _)) = ours.filter(|_| section.contains("dependencies")) {
                named.push(*ours);
                if !below.contains(ours) {
                    found.push(format!("{path}: {name} names {ours}"));
                }
            }
        }
        if named.len() < below.len() {
            found.push(format!(
                "{path}: {name} names only {named:?}, and the sentence says {below:?}"
            ));
        }
    }
    found
}

/// A16: each [`module::name`] of the numbered walks is an item of that module.
fn walks(sources: &Sources) -> Vec<String> {
    let text = &sources.texts["crates/ops/src/lib.rs"];
    let mut found = Vec::new();
    let (mut walking, mut names) = (false, 0);
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("//! # ") {
            walking = title.starts_with("Life of");
        }
        if !walking {
            continue;
        }
        for name in line.split("[`").skip(1).filter_map(|rest| rest.split_once("`]")) {
            names += 1;
            if !exists(sources, name.0) {
                found.push(format!("crates/ops/src/lib.rs: {} is not there: {line}", name.0));
            }
        }
    }
    if names < 8 {
        found.push(format!("crates/ops/src/lib.rs: the walks name only {names} functions"));
    }
    found
}

/// Whether `scan::scan`, `snapshot::Producer::produce` or `catalog::Catalog::commit` is there.
fn exists(sources: &Sources, name: &str) -> bool {
    let parts: Vec<_> = name.split("::").collect();
    let text = match parts.first() {
        Some(&"catalog") => &sources.texts["crates/catalog/src/lib.rs"],
        Some(module) => match sources.texts.get(&format!("crates/ops/src/{module}.rs")) {
            Some(text) => text,
            None => return false,
        },
        None => return false,
    };
    let defines = |keyword: &str, name: &str| {
        let start = format!("{keyword} {name}");
        text.match_indices(&start).any(|(at, _)| {
            text[at + start.len()..].starts_with(|c: char| !c.is_alphanumeric() && c != '_')
        })
    };
    let ours =
        |name: &str| ["fn", "struct", "trait", "enum"].iter().any(|keyword| defines(keyword, name));
    parts.len() > 1 && parts[1..].iter().all(|part| ours(part))
}

#[test]
fn what_is_absent_is_absent() {
    let sources = Sources::read();
    let found: Vec<_> = ABSENCES
        .iter()
        .flat_map(|absence| {
            let found = (absence.find)(&sources).into_iter();
            found.map(|what| format!("{} {}\n    {what}", absence.id, absence.sentence))
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

/// A test that cannot fail is a defect.
#[test]
fn each_of_these_tests_can_fail() {
    let sources = Sources::read();
    for absence in ABSENCES {
        let (file, text) = absence.plant;
        let mut planted = sources.clone();
        let file = planted.texts.get_mut(file).unwrap();
        *file = format!("{file}\n{text}\n");
        let (before, after) = ((absence.find)(&sources).len(), (absence.find)(&planted).len());
        assert!(after > before, "{}: planting {text:?} went unnoticed", absence.id);
    }
}

#[test]
fn architecture_md_lists_them() {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let page = words(&fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap());
    let line = |absence: &Absence| format!("- **{}** {}", absence.id, words(absence.sentence));
    let missing: Vec<_> =
        ABSENCES.iter().map(line).filter(|line| !page.contains(&line[2..])).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md lacks\n{}", missing.join("\n"));
}
