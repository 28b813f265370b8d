//! `[jobs] file`: which jobs a goal has, from a table that people can edit.
//!
//! A row with a `definition` is a job of its own. Without one, the source lists the job, and what the row
//! says beside its id takes the place of the source's word.

use super::ports::{PortError, Source, SourceJob};
use crate::contract::JobsRule;
use crate::model::JobId;
use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::Path;

/// Largest table, in bytes.
const MAX_TABLE_BYTES: u64 = 16 * 1024 * 1024;
/// Largest definition, in bytes.
const MAX_DEFINITION_BYTES: u64 = 1024 * 1024;
/// Most rows.
const MAX_ROWS: usize = 100_000;
/// Its columns; `id` is the only one that must be there.
const COLUMNS: [&str; 7] = [
    "id",
    "title",
    "tags",
    "depends_on",
    "origin",
    "definition",
    "output",
];

#[derive(Debug, Deserialize)]
struct Row {
    id: String,
    #[serde(default)]
    title: String,
    #[serde(default)]
    tags: String,
    #[serde(default)]
    depends_on: String,
    #[serde(default)]
    origin: String,
    #[serde(default)]
    definition: String,
    #[serde(default)]
    output: String,
}

/// The jobs of a goal: the source's list, or the table's.
///
/// # Errors
/// When the source cannot be listed, or the table cannot be read or names what does not exist; with the line.
pub fn jobs_of(
    rule: &JobsRule,
    base_dir: &Path,
    source: &dyn Source,
) -> Result<Vec<SourceJob>, PortError> {
    let Some(file) = &rule.file else {
        return Ok(source.list()?.value);
    };
    let path = base_dir.join(file);
    let wrong = |why: String| PortError::job(format!("{}: {why}", path.display()));
    let text = read_text(&path, MAX_TABLE_BYTES).map_err(wrong)?;
    let rows = rows(&text).map_err(wrong)?;
    let listed: BTreeMap<JobId, SourceJob> =
        if rows.iter().all(|(_, row)| !row.definition.is_empty()) {
            BTreeMap::new()
        } else {
            let all = source.list()?.value;
            all.into_iter().map(|job| (job.id.clone(), job)).collect()
        };
    let jobs: Vec<SourceJob> = rows
        .into_iter()
        .map(|(line, row)| {
            job(row, base_dir, &listed).map_err(|why| wrong(format!("line {line}: {why}")))
        })
        .collect::<Result<_, _>>()?;
    check_twice(&jobs).map_err(wrong)?;
    Ok(jobs)
}

/// Rows with their lines.
fn rows(text: &str) -> Result<Vec<(u64, Row)>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .trim(csv::Trim::All)
        .from_reader(text.trim_start_matches('\u{feff}').as_bytes());
    let head = reader.headers().map_err(|error| error.to_string())?.clone();
    if !head.iter().any(|name| name == "id") {
        return Err(format!(
            "no column `id`; the first line names the columns, of {}",
            COLUMNS.join(", ")
        ));
    }
    let mut seen = BTreeSet::new();
    for name in &head {
        if !COLUMNS.contains(&name) {
            let shown: String = name.chars().take(60).collect();
            return Err(format!(
                "unknown column `{shown}`; there are {}",
                COLUMNS.join(", ")
            ));
        }
        if !seen.insert(name) {
            return Err(format!("column `{name}` is there twice"));
        }
    }
    let mut rows = Vec::new();
    for record in reader.records() {
        let record = record.map_err(|error| error.to_string())?;
        let line = record.position().map_or(0, csv::Position::line);
        let row: Row = record
            .deserialize(Some(&head))
            .map_err(|error| error.to_string())?;
        if rows.len() >= MAX_ROWS {
            return Err(format!("more than {MAX_ROWS} rows"));
        }
        rows.push((line, row));
    }
    Ok(rows)
}

fn job(
    row: Row,
    base_dir: &Path,
    listed: &BTreeMap<JobId, SourceJob>,
) -> Result<SourceJob, String> {
    let id = JobId(row.id);
    let mut job = if row.definition.is_empty() {
        let shown: String = id.0.chars().take(80).collect();
        listed.get(&id).cloned().ok_or_else(|| {
            format!("the source lists no job \"{shown}\", and the row has no definition")
        })?
    } else {
        let path = base_dir.join(&row.definition);
        SourceJob {
            id: id.clone(),
            title: String::new(),
            tags: Vec::new(),
            depends_on: Vec::new(),
            origin: row.definition.clone(),
            definition: read_text(&path, MAX_DEFINITION_BYTES)
                .map_err(|why| format!("{}: {why}", path.display()))?,
            output: None,
            hold: None,
        }
    };
    let words = |text: &str| -> Vec<String> {
        let all = text.split(';').map(str::trim);
        all.filter(|word| !word.is_empty())
            .map(str::to_owned)
            .collect()
    };
    if !row.title.is_empty() {
        job.title = row.title;
    }
    if !row.tags.is_empty() {
        job.tags = words(&row.tags);
    }
    if !row.depends_on.is_empty() {
        job.depends_on = words(&row.depends_on).into_iter().map(JobId).collect();
    }
    if !row.origin.is_empty() {
        job.origin = row.origin;
    }
    if !row.output.is_empty() {
        let output = serde_json::from_str(&row.output)
            .map_err(|error| format!("`output` is no JSON of a table: {error}"))?;
        job.output = Some(output);
    }
    Ok(job)
}

/// One row a job.
fn check_twice(jobs: &[SourceJob]) -> Result<(), String> {
    let mut seen = BTreeSet::new();
    for job in jobs {
        if !seen.insert(&job.id) {
            return Err(format!("job \"{}\" is there twice", job.id));
        }
    }
    Ok(())
}

/// At most so many bytes of a text.
fn read_text(path: &Path, most: u64) -> Result<String, String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(most + 1).read_to_end(&mut bytes))
        .map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("more than {most} bytes"));
    }
    String::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::ports::{FiringQuestion, FiringTimes, Timed};

    struct Two;

    impl Source for Two {
        fn list(&self) -> Result<Timed<Vec<SourceJob>>, PortError> {
            let job = |id: &str| SourceJob {
                id: id.into(),
                title: format!("the source's {id}"),
                tags: vec!["has_table".to_owned()],
                depends_on: vec!["base".into()],
                origin: "crontab:1".to_owned(),
                definition: format!("run {id}"),
                output: None,
                hold: None,
            };
            Ok(Timed::now(vec![job("a"), job("b")]))
        }

        fn firing_times(
            &self,
            _job: &JobId,
            _question: &FiringQuestion,
        ) -> Result<Timed<FiringTimes>, PortError> {
            Err(PortError::job("no schedule"))
        }
    }

    fn table(text: &str) -> Result<Vec<SourceJob>, String> {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("jobs.csv"), text).unwrap();
        std::fs::write(dir.path().join("new.sh"), "echo new").unwrap();
        let rule = JobsRule {
            file: Some("jobs.csv".into()),
            depends_on_source: true,
            high_risk: Vec::new(),
            retire: Vec::new(),
        };
        jobs_of(&rule, dir.path(), &Two).map_err(|error| error.what)
    }

    #[test]
    fn a_row_selects_a_job_of_the_source_and_what_it_says_holds() {
        let jobs =
            table("\u{feff}id, title, tags, depends_on\nb, Nightly, x; y, a\na,,,\n").unwrap();
        let ids: Vec<&str> = jobs.iter().map(|job| job.id.as_str()).collect();
        assert_eq!(ids, ["b", "a"], "the table's order");
        assert_eq!(jobs[0].title, "Nightly");
        assert_eq!(jobs[0].tags, ["x", "y"]);
        assert_eq!(jobs[0].depends_on, [JobId::from("a")]);
        assert_eq!(jobs[0].definition, "run b");
        assert_eq!(jobs[1].title, "the source's a");
    }

    #[test]
    fn a_row_with_a_definition_needs_no_source() {
        let output = r#""{""table"":""t"",""key"":[""k""],""columns"":[]}""#;
        let jobs = table(&format!("id,definition,output\nnew,new.sh,{output}\n")).unwrap();
        assert_eq!(
            (jobs[0].definition.as_str(), jobs[0].origin.as_str()),
            ("echo new", "new.sh")
        );
        assert_eq!(jobs[0].output.as_ref().unwrap().table, "t");
    }

    #[test]
    fn a_wrong_table_is_refused_with_its_line() {
        for (text, part) in [
            ("name\nx\n", "no column `id`"),
            ("id,titel\na,x\n", "unknown column `titel`"),
            ("id,id\na,a\n", "twice"),
            ("id\na\nc\n", "line 3: the source lists no job \"c\""),
            ("id\na\na\n", "job \"a\" is there twice"),
            ("id,definition\na,gone.sh\n", "line 2:"),
            ("id,output\na,{\n", "`output` is no JSON"),
            ("id,title\na\n", "found record with 1 fields"),
        ] {
            let why = table(text).unwrap_err();
            assert!(why.contains(part), "{text}: {why}");
        }
    }
}
