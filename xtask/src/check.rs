pub fn lint() -> anyhow::Result<()> { Ok(()) }
