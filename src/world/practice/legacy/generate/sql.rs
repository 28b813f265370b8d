//! The SQL of the old repository: the right SQL with its run day made a parameter, or with the defect.

use super::super::row::Row;

/// The run day that the scenario's SQL was written for.
const RUN_DAY: &str = "455";

/// A row's SQL in the old engine's dialect; `None` for jobs that write no table.
pub(super) fn old_sql(row: &Row) -> Option<String> {
    if row.target.is_empty() {
        return None;
    }
    let day = if row.has_defect("wall-clock") {
        "today()"
    } else {
        "{{ day }}"
    };
    let mut sql = replace_word(&row.sql, RUN_DAY, day);
    if row.has_defect("SQL means something else") {
        // The old engine takes '' for NULL, so its authors wrote one test for both.
        sql = sql.replace(
            "case when region='' then 'unknown' else region end",
            "nvl(region,'unknown')",
        );
    }
    if row.has_defect("append without delete") {
        sql = appended(&row.target, &sql);
    }
    let mut text = sql
        .split("; ")
        .map(|statement| statement.trim().trim_end_matches(';'))
        .collect::<Vec<_>>()
        .join(";\n");
    text.push_str(";\n");
    Some(text)
}

/// The same rows added to a table that is made once and never emptied.
fn appended(target: &str, sql: &str) -> String {
    let marker = format!("create table {target} as ");
    let Some((_, select)) = sql.split_once(&marker) else {
        return sql.to_owned();
    };
    format!(
        "create table if not exists {target} as select * from ({select}) q where 1=0; \
         insert into {target} {select}"
    )
}

/// Replaces `word` where it stands alone, not inside a longer number or name.
fn replace_word(text: &str, word: &str, with: &str) -> String {
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(word) {
        let (before, from) = rest.split_at(at);
        let after = &from[word.len()..];
        let alone = !before.chars().next_back().is_some_and(inside)
            && !after.chars().next().is_some_and(inside);
        out.push_str(before);
        out.push_str(if alone { with } else { word });
        rest = after;
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use super::replace_word;

    #[test]
    fn only_the_run_day_itself_becomes_a_parameter() {
        assert_eq!(
            replace_word("day<=455 and n>1455 and x=455-31", "455", "{{ day }}"),
            "day<={{ day }} and n>1455 and x={{ day }}-31"
        );
    }
}
