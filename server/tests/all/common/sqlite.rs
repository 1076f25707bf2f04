//! A file of SQLite, beside the program that has it.

use std::path::Path;

use futures::executor::block_on;
use sqlx::sqlite::{SqliteConnectOptions, SqliteRow};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Executor as _, Row as _};

/// Runs statements in a file, which is made where it is not there; returns what they answer.
pub fn rows(path: &Path, sql: &str) -> Vec<SqliteRow> {
    block_on(async {
        let options = SqliteConnectOptions::new().filename(path).create_if_missing(true);
        let mut connection = options.connect().await.unwrap();
        let rows = connection.fetch_all(AssertSqlSafe(sql)).await.unwrap();
        connection.close().await.unwrap();
        rows
    })
}

/// The only number that a statement answers.
pub fn number(path: &Path, sql: &str) -> i64 {
    rows(path, sql)[0].get(0)
}
