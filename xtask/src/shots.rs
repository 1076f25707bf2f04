pub fn take(_: &str) -> anyhow::Result<()> { Ok(()) }
