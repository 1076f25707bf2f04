//! Numbers as text.

/// Formats a number with three decimals.
pub fn thousandths(number: f64) -> String {
    decimals(number, 1000, 3)
}

/// Formats a number with two decimals.
pub fn fixed(number: f64) -> String {
    decimals(number, 100, 2)
}

/// Formats a number with a fixed number of decimals. The standard library's formatting of floating point numbers would be a tenth of a
/// small page's program.
fn decimals(number: f64, unit: u64, digits: usize) -> String {
    let parts = (number * unit as f64).round() as i64;
    let sign = if parts < 0 { "-" } else { "" };
    let (whole, rest) = (parts.unsigned_abs() / unit, parts.unsigned_abs() % unit);
    format!("{sign}{whole}.{rest:0digits$}")
}

#[cfg(test)]
mod tests {
    use super::fixed;

    #[test]
    fn numbers_have_two_decimals() {
        assert_eq!([0.0, -0.004, 1.005, -12.346, 1e7].map(fixed), ["0.00", "0.00", "1.00", "-12.35", "10000000.00"]);
    }
}
