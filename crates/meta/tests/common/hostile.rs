//! One decoder over one hostile input: it may not panic, run long, or hold much.

#![allow(clippy::panic, reason = "a test may stop where it fails")]

use kiosko_meta::{Error, Result};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::{Duration, Instant};

/// Counts what the current thread holds.
struct Counting;

thread_local! {
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

fn count(bytes: isize) {
    // At the end of a thread its counters may be gone.
    let _ = HELD.try_with(|held| {
        held.set(held.get() + bytes);
        let _ = PEAK.try_with(|peak| peak.set(peak.get().max(held.get())));
    });
}

#[expect(unsafe_code, reason = "an allocator that counts, in front of the system's own")]
// SAFETY: every call goes to the system's allocator as it came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-(layout.size() as isize));
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The file that every error must name.
pub const NAME: &str = "/w/t/metadata/hostile";

/// Runs one decoder over one input, and checks the contract of decoders.
pub fn decode<T>(
    case: &str,
    bytes: &[u8],
    factor: usize,
    run: impl Fn(&[u8]) -> Result<T>,
) -> Result<T> {
    let (held, start) = (HELD.get(), Instant::now());
    PEAK.set(held);
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| run(bytes)));
    let result = result.unwrap_or_else(|_| panic!("{case}: the decoder panicked"));
    let (used, time) = (PEAK.get() - held, start.elapsed());
    let limit = bytes.len() * factor + (1 << 20);
    assert!(used as usize <= limit, "{case}: {used} bytes held for {} of input", bytes.len());
    assert!(time < Duration::from_secs(20), "{case}: {time:?}");
    if let Err(error) = &result {
        match error {
            Error::Corrupt { file, at, want, got } => {
                assert_eq!(file, NAME, "{case}");
                assert!(![at, want, got].iter().any(|text| text.is_empty()), "{case}: {error}");
            }
            Error::Unsupported { what, .. } => assert!(!what.is_empty(), "{case}"),
            Error::Invalid { .. } => panic!("{case}: {error}, as if the caller were wrong"),
        }
    }
    result
}
