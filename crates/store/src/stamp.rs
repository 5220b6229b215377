//! Time and chance, by one door.
//!
//! A commit asks the world two questions: what time is it, and give me a name that nobody has.
//! Both answers end up in metadata, so a test that wants the same table twice, or a lesson that
//! prints it, must be able to fix them. Therefore nobody else in the house may ask (a lint
//! forbids it), and everybody asks a [`Stamp`]:
//!
//! ```text
//!                     real()                         seeded(42, 1_785_542_400_000)
//!   now_ms()          the clock of the machine       start, start + 1000, start + 2000, ...
//!   uuid()            the system's randomness        splitmix64: the same series on every run
//!   sleep(d)          sleeps                         puts the clock forward by d, at once
//!     └─ snapshot_id() and chance(n) are made from uuid(), so the table above is complete
//! ```
//!
//! A seeded stamp repeats itself exactly when it is asked in the same order, hence from one
//! thread. From several threads it still never gives the same answer twice.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use uuid::Uuid;

/// A source of time and of fresh names: the real one, or a series fixed by a seed.
#[derive(Debug)]
pub struct Stamp {
    source: Source,
}

#[derive(Debug)]
enum Source {
    Real,
    /// `clock` is the next answer of `now_ms`, `state` the counter of splitmix64.
    Seeded {
        clock: AtomicI64,
        state: AtomicU64,
    },
}

impl Stamp {
    /// By how much a seeded clock moves each time it is read, in milliseconds. It moves at all so
    /// that no two events share an instant, as they would in a frozen world only.
    pub const STEP_MS: i64 = 1000;

    /// The clock and the randomness of the machine.
    pub fn real() -> Stamp {
        Stamp { source: Source::Real }
    }

    /// A series that the seed determines. The first [`now_ms`](Stamp::now_ms) is `start_ms`, in
    /// milliseconds since 1970.
    pub fn seeded(seed: u64, start_ms: i64) -> Stamp {
        let (clock, state) = (AtomicI64::new(start_ms), AtomicU64::new(seed));
        Stamp { source: Source::Seeded { clock, state } }
    }

    /// Now, in milliseconds since 1970 (UTC). A real clock may be set back, so this can fall from
    /// one call to the next; whoever needs rising times must see to it.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn now_ms(&self) -> i64 {
        match &self.source {
            Source::Real => millis_since_1970(SystemTime::now()),
            Source::Seeded { clock, .. } => clock.fetch_add(Self::STEP_MS, Ordering::Relaxed),
        }
    }

    /// A fresh version 4 UUID: 122 random bits, and 6 that say so.
    #[expect(clippy::disallowed_methods, reason = "this is the door")]
    pub fn uuid(&self) -> Uuid {
        match &self.source {
            Source::Real => Uuid::new_v4(),
            Source::Seeded { state, .. } => {
                let (high, low) = (splitmix64(state), splitmix64(state));
                let random = u128::from(high) << 64 | u128::from(low);
                uuid::Builder::from_random_bytes(random.to_be_bytes()).into_uuid()
            }
        }
    }

    /// A fresh snapshot id: positive, 63 random bits. This is the recipe of Java and of PyIceberg.
    pub fn snapshot_id(&self) -> i64 {
        let id = self.bits() & i64::MAX.unsigned_abs();
        id.max(1).cast_signed()
    }

    /// A number below `n`, each equally likely to within one part in 2^64 / n; 0 when `n` is 0.
    /// The product of `n` and a fraction of 2^64, rounded down: no division, no modulo bias.
    pub fn chance(&self, n: u64) -> u64 {
        let product = u128::from(self.bits()) * u128::from(n);
        (product >> 64) as u64
    }

    /// Waits. A seeded stamp only puts its clock forward, so a test of patience costs no time.
    pub fn sleep(&self, wait: Duration) {
        match &self.source {
            Source::Real => std::thread::sleep(wait),
            Source::Seeded { clock, .. } => {
                clock.fetch_add(saturating_millis(wait), Ordering::Relaxed);
            }
        }
    }

    /// 64 random bits: the two halves of a UUID, xor-ed. The 4 version bits stand in the upper
    /// half and the 2 variant bits in the lower, never one above the other, so each fixed bit
    /// meets a random one and every bit of the result is random.
    fn bits(&self) -> u64 {
        let (high, low) = self.uuid().as_u64_pair();
        high ^ low
    }
}

/// An instant as milliseconds since 1970, negative before. The stores use it for file times.
pub(crate) fn millis_since_1970(time: SystemTime) -> i64 {
    match time.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => saturating_millis(after),
        Err(before) => -saturating_millis(before.duration()),
    }
}

fn saturating_millis(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// splitmix64 (Steele, Lea, Flood, 2014): a counter that advances by an odd constant, and thus
/// visits all 2^64 states, then a mixer that makes neighbours look unrelated. Good enough for
/// names in a test, small enough to check by eye, and no secret: anyone can predict it.
fn splitmix64(state: &AtomicU64) -> u64 {
    const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15; // 2^64 divided by the golden ratio, made odd
    let mut z = state.fetch_add(GAMMA, Ordering::Relaxed).wrapping_add(GAMMA);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitmix64_gives_the_published_series() {
        let state = AtomicU64::new(1_234_567);
        assert_eq!(splitmix64(&state), 6_457_827_717_110_365_317);
        assert_eq!(splitmix64(&state), 3_203_168_211_198_807_973);
    }

    #[test]
    fn a_seed_repeats_itself() {
        let (a, b) = (Stamp::seeded(42, 5000), Stamp::seeded(42, 5000));
        assert_eq!((a.uuid(), a.snapshot_id()), (b.uuid(), b.snapshot_id()));
        assert_ne!(a.uuid(), Stamp::seeded(43, 5000).uuid());
        assert_eq!((a.now_ms(), a.now_ms()), (5000, 6000));
        a.sleep(Duration::from_secs(60));
        assert_eq!(a.now_ms(), 67_000);
    }

    #[test]
    fn both_sources_make_wellformed_names() {
        for stamp in [Stamp::real(), Stamp::seeded(0, 0)] {
            assert_eq!(stamp.uuid().get_version_num(), 4);
            assert_eq!(stamp.uuid().get_variant(), uuid::Variant::RFC4122);
            assert!((0..1000).all(|_| stamp.snapshot_id() > 0));
            assert_eq!((stamp.chance(0), stamp.chance(1)), (0, 0));
            let mut seen = [0; 10];
            (0..1000).for_each(|_| seen[stamp.chance(10) as usize] += 1);
            assert!(seen.iter().all(|&n| (40..180).contains(&n)), "{seen:?}");
        }
    }

    #[test]
    fn the_real_clock_is_after_2020_and_can_look_before_1970() {
        assert!(Stamp::real().now_ms() > 1_577_836_800_000);
        let before = SystemTime::UNIX_EPOCH - Duration::from_millis(1500);
        assert_eq!(millis_since_1970(before), -1500);
    }
}
