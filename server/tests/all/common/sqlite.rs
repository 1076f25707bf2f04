//! A file of SQLite, beside the program that has it.

use std::path::Path;

use futures::executor::block_on;
use server::history::sqlite::FILE;
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

/// Spoils every page of the history in a folder but the first ones, which are read when it is opened.
pub fn spoil(folder: &Path) {
    let path = folder.join(FILE);
    let mut bytes = std::fs::read(&path).unwrap();
    for page in (4 * 4_096..bytes.len()).step_by(4_096) {
        bytes[page..page + 64].fill(0xff);
    }
    std::fs::write(&path, bytes).unwrap();
}

/// Number of files of history that were put aside.
pub fn put_aside(folder: &Path) -> usize {
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    names.filter(|name| name.starts_with("damaged-") && name.ends_with(".db")).count()
}
