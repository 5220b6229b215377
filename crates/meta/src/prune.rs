//! Pruning: which manifests and files a scan need not open, and why.
//!
//! A filter goes down the tree of metadata, and at every floor what cannot hold a wanted row stays
//! behind:
//!
//! ```text
//!   store_id = 'S03' AND net_amount > 10        spec: identity(store_id)
//!
//!   manifest list   partitions: S01 .. S02                Skip  store_id: upper bound S02 is below S03
//!                   partitions: S01 .. S03                Keep
//!     manifest        partition (S02)                     Skip  store_id: the partition value is S02, asked is S03
//!                     partition (S03)                     Keep  what is left to ask: net_amount > 10
//!       metrics         net_amount 1.50 .. 9.90           Skip  net_amount: upper bound 9.90 is below 10.00
//!                       net_amount 12.00 .. 15.00         Keep  and every row is wanted, if none is null
//! ```
//!
//! A [`Pruner`] is a filter projected once onto one partition spec; each manifest is asked under the spec
//! that it was written with, whatever the table's spec is today. It never changes, so threads may share it.
//!
//! Each answer is safe in one direction. `Skip` means that no row can match; `Keep` means nothing.
//! [`Pruner::covers`] means that every row matches, so that a delete may drop the file unread; its
//! `false` means nothing. The **residual** is the rest of the filter, once the partition is known to match.
//!
//! Specification: "Scan Planning".

use crate::contents::{Contents, Fact};
use crate::data_file::DataFile;
use crate::filter::{Column, Filter, Test};
use crate::manifest_list::ManifestFile;
use crate::partition::{PartitionSpec, Tuple};
use crate::project;

/// Whether something must be opened.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// It may hold a row that the filter wants.
    Keep,
    /// It holds none.
    Skip(Reason),
}

/// Why something holds no row that the filter wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Reason {
    /// The filter wants no row.
    Never,
    /// The manifest has only deleted entries.
    NoLiveFiles,
    /// The file has no rows.
    NoRows,
    /// A column refuses.
    Column {
        /// The name of the column or of the partition field.
        name: String,
        /// Why.
        fact: Fact,
    },
    /// Every alternative of an OR is refused.
    Each {
        /// Why the first ones are.
        first: Vec<Reason>,
        /// How many more there are.
        others: usize,
    },
}

/// How many alternatives a reason spells out.
const SPELLED_OUT: usize = 3;

/// A filter, ready for the files of one partition spec.
#[derive(Debug, Clone)]
pub struct Pruner {
    spec: PartitionSpec,
    inclusive: Filter,
    tree: Tree,
}

/// The filter once more, with the projections of each test beside it.
#[derive(Debug, Clone)]
enum Tree {
    Settled(Filter),
    And(Vec<Tree>),
    Or(Vec<Tree>),
    Test { test: Test, inclusive: Filter, strict: Filter },
}

impl Tree {
    fn new(filter: &Filter, spec: &PartitionSpec) -> Tree {
        let all = |parts: &[Filter]| parts.iter().map(|part| Tree::new(part, spec)).collect();
        match filter {
            Filter::True | Filter::False => Tree::Settled(filter.clone()),
            Filter::And(parts) => Tree::And(all(parts)),
            Filter::Or(parts) => Tree::Or(all(parts)),
            Filter::Test(test) => Tree::Test {
                test: test.clone(),
                inclusive: project::inclusive(filter, spec),
                strict: project::strict(filter, spec),
            },
        }
    }

    fn residual(&self, contents: &dyn Fn(&Column) -> Contents) -> Filter {
        match self {
            Tree::Settled(filter) => filter.clone(),
            Tree::And(parts) => Filter::and(parts.iter().map(|part| part.residual(contents))),
            Tree::Or(parts) => Filter::or(parts.iter().map(|part| part.residual(contents))),
            Tree::Test { strict, .. } if must_match(strict, contents) => Filter::True,
            Tree::Test { inclusive, .. } if cannot_match(inclusive, contents) => Filter::False,
            Tree::Test { test, .. } => Filter::Test(test.clone()),
        }
    }
}

impl Pruner {
    /// Projects `filter` onto `spec`.
    pub fn new(filter: &Filter, spec: &PartitionSpec) -> Pruner {
        Pruner {
            spec: spec.clone(),
            inclusive: project::inclusive(filter, spec),
            tree: Tree::new(filter, spec),
        }
    }

    /// Whether a manifest may hold a file with a wanted row, by its line in the manifest list.
    pub fn manifest(&self, manifest: &ManifestFile) -> Decision {
        if !manifest.may_be_live() {
            return Decision::Skip(Reason::NoLiveFiles);
        }
        // Summaries go by position: where the count or the spec differs, nobody knows whose they are.
        let ours = manifest.partition_spec_id == self.spec.spec_id;
        let summaries = manifest
            .partitions
            .as_deref()
            .filter(|summaries| ours && summaries.len() == self.spec.fields.len());
        decide(&self.inclusive, &|Test { column, op }| {
            let summary = self.position(column).and_then(|at| summaries?.get(at))?;
            Contents::of_summary(summary, column.primitive).refuses(op)
        })
    }

    /// Whether a file with this partition tuple may hold a wanted row.
    pub fn partition(&self, tuple: &Tuple) -> Decision {
        decide(&self.inclusive, &|Test { column, op }| {
            self.of_tuple(tuple, column).refuses(op)?;
            let value = self.position(column).and_then(|at| tuple.get(at)).cloned().flatten();
            Some(Fact::Partition { value, op: op.clone() })
        })
    }

    /// Whether a data or delete file may hold a wanted row, by its partition and its metrics.
    pub fn file(&self, file: &DataFile) -> Decision {
        match self.partition(&file.partition) {
            Decision::Keep => metrics(&self.residual(&file.partition), file),
            skip => skip,
        }
    }

    /// Whether every row of the file is wanted, so that a delete may drop it unread.
    pub fn covers(&self, file: &DataFile) -> bool {
        all_match(&self.residual(&file.partition), file)
    }

    /// What remains to be asked of the rows of a file with this partition tuple: on these rows, it is
    /// true where the filter is.
    pub fn residual(&self, tuple: &Tuple) -> Filter {
        self.tree.residual(&|column| self.of_tuple(tuple, column))
    }

    fn position(&self, column: &Column) -> Option<usize> {
        self.spec.fields.iter().position(|field| field.field_id == column.id)
    }

    fn of_tuple(&self, tuple: &Tuple, column: &Column) -> Contents {
        let value = self.position(column).and_then(|at| tuple.get(at));
        match value {
            Some(value) if tuple.len() == self.spec.fields.len() => {
                Contents::of_partition(value.as_ref())
            }
            _ => Contents::unknown(),
        }
    }
}

/// Whether a file may hold a row that `filter` wants, by its counts and bounds alone.
pub fn metrics(filter: &Filter, file: &DataFile) -> Decision {
    if file.record_count == 0 {
        return Decision::Skip(Reason::NoRows);
    }
    decide(filter, &|test| Contents::of_column(file, &test.column).refuses(&test.op))
}

/// Whether `filter` wants every row of a file, by its counts and bounds alone.
pub fn all_match(filter: &Filter, file: &DataFile) -> bool {
    file.record_count == 0 || must_match(filter, &|column| Contents::of_column(file, column))
}

fn decide(filter: &Filter, why: &dyn Fn(&Test) -> Option<Fact>) -> Decision {
    refuse(filter, why).map_or(Decision::Keep, Decision::Skip)
}

/// Why no row matches, given why none passes a test; `None` when one may.
fn refuse(filter: &Filter, why: &dyn Fn(&Test) -> Option<Fact>) -> Option<Reason> {
    match filter {
        Filter::True => None,
        Filter::False => Some(Reason::Never),
        Filter::Test(test) => {
            let fact = why(test)?;
            Some(Reason::Column { name: test.column.path.join("."), fact })
        }
        Filter::And(parts) => parts.iter().find_map(|part| refuse(part, why)),
        Filter::Or(parts) => {
            let mut first = Vec::new();
            for part in parts {
                let reason = refuse(part, why)?;
                if first.len() < SPELLED_OUT {
                    first.push(reason);
                }
            }
            let others = parts.len() - first.len();
            Some(Reason::Each { first, others })
        }
    }
}

/// Whether no row with these contents matches.
fn cannot_match(filter: &Filter, contents: &dyn Fn(&Column) -> Contents) -> bool {
    refuse(filter, &|test| contents(&test.column).refuses(&test.op)).is_some()
}

/// Whether every row with these contents matches.
fn must_match(filter: &Filter, contents: &dyn Fn(&Column) -> Contents) -> bool {
    match filter {
        Filter::True => true,
        Filter::False => false,
        Filter::Test(test) => contents(&test.column).must_pass(&test.op),
        Filter::And(parts) => parts.iter().all(|part| must_match(part, contents)),
        Filter::Or(parts) => parts.iter().any(|part| must_match(part, contents)),
    }
}

impl std::fmt::Display for Reason {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Reason::Never => f.write_str("the filter matches no row at all"),
            Reason::NoLiveFiles => f.write_str("every file of it is deleted"),
            Reason::NoRows => f.write_str("it has 0 rows"),
            Reason::Column { name, fact } => write!(f, "{name}: {fact}"),
            Reason::Each { first, others } => {
                let parts: Vec<_> = first.iter().map(Reason::to_string).collect();
                f.write_str(&parts.join("; "))?;
                if *others > 0 { write!(f, "; and {others} more alternatives") } else { Ok(()) }
            }
        }
    }
}
