//! `kiosko project`: the guide's closing projects.

use crate::cli;
use kiosko::Result;
use kiosko::lessons::m07_l08_maintained_table::{self as maintained_table, Options};

pub fn run(words: &cli::MaintainedTable) -> Result<()> {
    let options = Options {
        nights: usize::from(words.nights),
        expect_guide: words.expect_guide || (words.nights == 5 && !words.no_expect_guide),
        ..Options::guide(&words.dir)
    };
    maintained_table::run(&options, &mut std::io::stdout().lock())?;
    super::print::line(format!(
        "\nLook inside:\n  cargo run -q -p kiosko -- --catalog {}/kiosko_catalog.db tree {}",
        words.dir.display(),
        maintained_table::DIM_PRODUCT
    ))
}
