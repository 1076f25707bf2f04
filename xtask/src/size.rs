pub fn print() -> anyhow::Result<()> { Ok(()) }
