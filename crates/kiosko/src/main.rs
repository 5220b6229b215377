//! The command line of Kiosko. `kiosko --help` lists the commands.

mod cli;
mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = cli::parse(std::env::args_os());
    match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            #[expect(clippy::print_stderr, reason = "this is where a person reads what went wrong")]
            {
                eprintln!("error: {error}");
            }
            ExitCode::from(error.exit_code())
        }
    }
}
