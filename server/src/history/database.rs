//! What the store needs of a database: statements in the SQL that SQLite and PostgreSQL have in common, with numbers, texts and bytes.
//! Conditions are numbers, 0 or 1, and parameters are `$1`, `$2` and so on.

use std::borrow::Cow;
use std::mem;

use super::store::StoreError;

/// A value that is handed to a statement.
#[derive(Debug, Clone)]
pub enum Value<'v> {
    /// A whole number, or a condition.
    Number(i64),
    /// A text.
    Text(Cow<'v, str>),
    /// Bytes.
    Bytes(&'v [u8]),
}

impl From<i64> for Value<'_> {
    fn from(number: i64) -> Self {
        Self::Number(number)
    }
}

impl From<u32> for Value<'_> {
    fn from(number: u32) -> Self {
        Self::Number(number.into())
    }
}

impl From<bool> for Value<'_> {
    fn from(condition: bool) -> Self {
        Self::Number(condition.into())
    }
}

impl<'v> From<&'v str> for Value<'v> {
    fn from(text: &'v str) -> Self {
        Self::Text(Cow::Borrowed(text))
    }
}

impl From<String> for Value<'_> {
    fn from(text: String) -> Self {
        Self::Text(Cow::Owned(text))
    }
}

impl<'v> From<&'v [u8]> for Value<'v> {
    fn from(bytes: &'v [u8]) -> Self {
        Self::Bytes(bytes)
    }
}

/// A value that a statement answers with.
#[derive(Debug, Default)]
pub enum Cell {
    /// Nothing.
    #[default]
    Null,
    /// A whole number, or a condition.
    Number(i64),
    /// A text.
    Text(String),
    /// Bytes.
    Bytes(Vec<u8>),
}

/// A row that a statement answers with; each of its values can be taken once.
#[derive(Debug)]
pub struct Row(pub Vec<Cell>);

impl Row {
    fn take(&mut self, column: usize) -> Cell {
        self.0.get_mut(column).map(mem::take).unwrap_or_default()
    }

    /// A number; `None` where there is none.
    pub fn number_if_any(&mut self, column: usize) -> Option<i64> {
        match self.take(column) {
            Cell::Number(number) => Some(number),
            Cell::Null | Cell::Text(_) | Cell::Bytes(_) => None,
        }
    }

    /// A number.
    ///
    /// # Errors
    /// When it is none.
    pub fn number(&mut self, column: usize) -> Result<i64, StoreError> {
        self.number_if_any(column).ok_or_else(|| unlike(column, "number"))
    }

    /// A condition.
    ///
    /// # Errors
    /// When it is no number.
    pub fn is(&mut self, column: usize) -> Result<bool, StoreError> {
        self.number(column).map(|number| number != 0)
    }

    /// A text.
    ///
    /// # Errors
    /// When it is none.
    pub fn text(&mut self, column: usize) -> Result<String, StoreError> {
        match self.take(column) {
            Cell::Text(text) => Ok(text),
            Cell::Null | Cell::Number(_) | Cell::Bytes(_) => Err(unlike(column, "text")),
        }
    }

    /// Bytes.
    ///
    /// # Errors
    /// When they are none.
    pub fn bytes(&mut self, column: usize) -> Result<Vec<u8>, StoreError> {
        match self.take(column) {
            Cell::Bytes(bytes) => Ok(bytes),
            Cell::Null | Cell::Number(_) | Cell::Text(_) => Err(unlike(column, "bytes")),
        }
    }
}

fn unlike(column: usize, what: &str) -> StoreError {
    StoreError::Failed(format!("column {column} of a database row has the wrong type, expected {what}"))
}

/// A connection to a database.
pub trait Database {
    /// Runs a statement; returns how many rows it changed.
    ///
    /// # Errors
    /// When it cannot be run.
    fn run(&mut self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError>;

    /// Runs a statement; returns what it answers.
    ///
    /// # Errors
    /// When it cannot be run.
    fn rows(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Vec<Row>, StoreError>;

    /// The function that tells at which place of a text another one begins.
    fn place_in(&self) -> &'static str;

    /// Looks through its files; returns what is wrong with them, in words.
    ///
    /// # Errors
    /// When it cannot be done.
    fn examine(&mut self) -> Result<Vec<String>, StoreError>;

    /// The first row of an answer; `None` when there is none.
    ///
    /// # Errors
    /// When the statement cannot be run.
    fn row(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<Row>, StoreError> {
        Ok(self.rows(sql, values)?.into_iter().next())
    }

    /// The only number of an answer; `None` when there is none.
    ///
    /// # Errors
    /// When the statement cannot be run.
    fn number(&mut self, sql: &str, values: &[Value<'_>]) -> Result<Option<i64>, StoreError> {
        Ok(self.row(sql, values)?.and_then(|mut row| row.number_if_any(0)))
    }
}

/// Does several things, all of them or none.
///
/// # Errors
/// When one of them fails.
pub fn together<T>(
    database: &mut dyn Database,
    act: impl FnOnce(&mut dyn Database) -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    database.run("BEGIN", &[])?;
    match act(database) {
        Ok(done) => database.run("COMMIT", &[]).map(|_| done),
        Err(why) => {
            let _ = database.run("ROLLBACK", &[]); // there is nothing to roll back where the connection is lost
            Err(why)
        }
    }
}
