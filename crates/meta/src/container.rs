//! One container of a Roaring bitmap: a set of 16-bit numbers in the shortest of three forms.
//!
//! A Roaring bitmap cuts the numbers at every multiple of 65,536, and stores the low 16 bits of each
//! slice in whatever form is the smallest:
//!
//! ```text
//!   form     bytes       what                          {0, 1, 5, 7}                  0 to 65,535
//!   array    2 a number  the numbers, rising           00 00  01 00  05 00  07 00    (131,072)
//!   bitmap   8,192       1,024 words of 64 bits        a3 00 00 ... 00               ff ff ... ff
//!   runs     2 + 4 a run how many, then first and      03 00  00 00 01 00            01 00
//!                        length - 1 of each            05 00 00 00  07 00 00 00      00 00 ff ff
//! ```
//!
//! All numbers are little-endian. Up to 4,096 numbers an array is no longer than the bitmap, and
//! beyond that always longer, so the count alone tells the two apart. Runs are chosen when they are
//! *shorter* than the other: 0 to 2 takes 6 bytes both ways and stays an array, 0 to 3 becomes a run.
//!
//! Here a container is always in the form that it is written in, so that equal sets are equal values.
//! What two containers do together, they do as runs: [`Container::runs`] takes any form apart, and
//! [`Container::from_runs`] makes the right one.

/// The most numbers that an array holds.
pub(crate) const MAX_ARRAY: usize = 4096;

/// The words of a bitmap.
pub(crate) const WORDS: usize = 1024;

/// The bytes of a bitmap.
pub(crate) const BITMAP_BYTES: usize = WORDS * 8;

/// Numbers that follow one another: the first, and the last, which belongs to them.
pub(crate) type Run = (u16, u16);

/// A set of 16-bit numbers, in the form that is written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Container {
    /// The numbers, rising: at most [`MAX_ARRAY`].
    Array(Vec<u16>),
    /// Number `n` is bit `n % 64` of word `n / 64`: [`WORDS`] of them.
    Bitmap(Vec<u64>),
    /// Rising runs, none touching the next.
    Runs(Vec<Run>),
}

impl Container {
    /// The container of these rising numbers.
    pub(crate) fn from_sorted(numbers: impl IntoIterator<Item = u16>) -> Container {
        Container::from_runs(numbers.into_iter().map(|number| (number, number)))
    }

    /// The container of runs whose firsts rise. They may touch or overlap.
    pub(crate) fn from_runs(runs: impl IntoIterator<Item = Run>) -> Container {
        let mut joined: Vec<Run> = Vec::new();
        for (first, last) in runs {
            match joined.last_mut() {
                Some(before) if u32::from(first) <= u32::from(before.1) + 1 => {
                    before.1 = before.1.max(last);
                }
                _ => joined.push((first, last)),
            }
        }
        let count: usize = joined.iter().map(length).sum();
        let other_form = if count <= MAX_ARRAY { 2 * count } else { BITMAP_BYTES };
        if 2 + 4 * joined.len() < other_form {
            joined.shrink_to_fit();
            return Container::Runs(joined);
        }
        let numbers = joined.iter().flat_map(|(first, last)| *first..=*last);
        if count <= MAX_ARRAY {
            return Container::Array(numbers.collect());
        }
        let mut words = vec![0; WORDS];
        for number in numbers {
            if let Some(word) = words.get_mut(usize::from(number / 64)) {
                *word |= 1 << (number % 64);
            }
        }
        Container::Bitmap(words)
    }

    /// How many numbers there are.
    pub(crate) fn len(&self) -> usize {
        match self {
            Container::Array(numbers) => numbers.len(),
            Container::Bitmap(words) => words.iter().map(|word| word.count_ones() as usize).sum(),
            Container::Runs(runs) => runs.iter().map(length).sum(),
        }
    }

    /// Whether `number` is one of them.
    pub(crate) fn contains(&self, number: u16) -> bool {
        match self {
            Container::Array(numbers) => numbers.binary_search(&number).is_ok(),
            Container::Bitmap(words) => {
                let word = words.get(usize::from(number / 64)).copied().unwrap_or(0);
                word >> (number % 64) & 1 == 1
            }
            Container::Runs(_) => self.run_from(number).is_some_and(|(first, _)| first == number),
        }
    }

    /// The first run at `start` or after it. A run that began before `start` is cut there.
    pub(crate) fn run_from(&self, start: u16) -> Option<Run> {
        match self {
            Container::Array(numbers) => {
                let at = numbers.partition_point(|number| *number < start);
                let rest = numbers.get(at..)?;
                let first = *rest.first()?;
                let along = rest.iter().zip(first..=u16::MAX).take_while(|(n, next)| *n == next);
                Some((first, along.last().map_or(first, |(_, last)| last)))
            }
            Container::Bitmap(words) => {
                let first = next_bit(words, start, 1)?;
                let end = next_bit(words, first, 0);
                Some((first, end.map_or(u16::MAX, |end| end - 1)))
            }
            Container::Runs(runs) => {
                let at = runs.partition_point(|(_, last)| *last < start);
                runs.get(at).map(|(first, last)| (start.max(*first), *last))
            }
        }
    }

    /// All runs, rising, none touching the next.
    pub(crate) fn runs(&self) -> impl Iterator<Item = Run> {
        let mut start = Some(0);
        std::iter::from_fn(move || {
            let (first, last) = self.run_from(start?)?;
            start = last.checked_add(1);
            Some((first, last))
        })
    }

    /// The numbers of both.
    pub(crate) fn union(&self, other: &Container) -> Container {
        let mut runs: Vec<Run> = self.runs().chain(other.runs()).collect();
        runs.sort_unstable(); // two sorted halves
        Container::from_runs(runs)
    }
}

/// How many numbers a run has.
fn length((first, last): &Run) -> usize {
    usize::from(last - first) + 1
}

/// The first bit at `start` or after it that is `wanted`.
fn next_bit(words: &[u64], start: u16, wanted: u64) -> Option<u16> {
    // Turned round, a wanted 0 is a 1. What lies before `start` in its word does not count.
    let turn = if wanted == 1 { 0 } else { u64::MAX };
    let mut before = (1u64 << (start % 64)) - 1;
    for (index, word) in words.iter().enumerate().skip(usize::from(start / 64)) {
        let found = (word ^ turn) & !before;
        if found != 0 {
            return u16::try_from(index * 64 + found.trailing_zeros() as usize).ok();
        }
        before = 0;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shortest_form_is_chosen() {
        let form = |numbers: &[u16]| Container::from_sorted(numbers.iter().copied());
        assert_eq!(form(&[0, 1, 5, 7]), Container::Array(vec![0, 1, 5, 7]));
        assert_eq!(form(&[0, 1, 2]), Container::Array(vec![0, 1, 2]));
        assert_eq!(form(&[0, 1, 2, 3]), Container::Runs(vec![(0, 3)]));
        let even = |count: u16| Container::from_sorted((0..count).map(|n| 2 * n));
        assert!(matches!(even(4096), Container::Array(_)));
        assert!(matches!(even(4097), Container::Bitmap(_)));
        assert_eq!(Container::from_runs([(0, u16::MAX)]), Container::Runs(vec![(0, u16::MAX)]));
        assert_eq!(Container::from_runs([(0, u16::MAX)]).len(), 65_536);
    }

    #[test]
    fn each_form_answers_alike() {
        let array = Container::from_sorted([3, 4, 64, 65_535]);
        let runs = Container::from_runs([(0, 99), (127, 128), (65_530, 65_535)]);
        let bitmap = Container::from_sorted((0..20_000).map(|n| 3 * n).chain([65_535]));
        assert!(matches!(
            (&array, &runs, &bitmap),
            (Container::Array(_), Container::Runs(_), Container::Bitmap(_))
        ));
        for container in [&array, &runs, &bitmap] {
            let numbers: Vec<u16> = container.runs().flat_map(|(a, b)| a..=b).collect();
            assert_eq!(numbers.len(), container.len());
            for number in 0..=u16::MAX {
                let is_in = numbers.binary_search(&number).is_ok();
                assert_eq!(container.contains(number), is_in, "{number}");
                let next = numbers.get(numbers.partition_point(|n| *n < number)).copied();
                assert_eq!(container.run_from(number).map(|(first, _)| first), next, "{number}");
            }
            for other in [&array, &runs, &bitmap] {
                let mut both: Vec<u16> = [container, other]
                    .iter()
                    .flat_map(|c| c.runs())
                    .flat_map(|(a, b)| a..=b)
                    .collect();
                both.sort_unstable();
                both.dedup();
                assert_eq!(container.union(other), Container::from_sorted(both));
            }
        }
    }
}
