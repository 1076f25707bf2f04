#[derive(clap::Subcommand)]
pub enum Command { Up }
pub fn run(_: Command) -> anyhow::Result<()> { Ok(()) }
