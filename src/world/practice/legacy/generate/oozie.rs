//! Oozie: a workflow a folder, its actions forked by wave, and a coordinator for each wave.

use super::super::row::Row;
use super::{by_file, declared};
use std::collections::BTreeMap;

const COORDINATOR_NS: &str = "uri:oozie:coordinator:0.4";
const WORKFLOW_NS: &str = "uri:oozie:workflow:0.5";

/// All workflows and coordinators.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    // `logistics/workflow.xml` and `logistics/coordinator.xml` are one application.
    let mut applications: BTreeMap<&str, Vec<&Row>> = BTreeMap::new();
    for (file, group) in by_file(rows, "oozie") {
        let folder = match file.rsplit_once('/') {
            Some((folder, name)) if name.ends_with(".xml") => folder,
            _ => file,
        };
        applications.entry(folder).or_default().extend(group);
    }
    let mut out = Vec::new();
    for (folder, group) in applications {
        let mut waves: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in group {
            match waves.iter_mut().find(|(at, _)| *at == row.schedule) {
                Some((_, wave)) => wave.push(row),
                None => waves.push((&row.schedule, vec![row])),
            }
        }
        for (number, (_, wave)) in waves.iter().enumerate() {
            let name = if waves.len() == 1 {
                format!("{folder}/coordinator.xml")
            } else {
                format!("{folder}/coordinator-{}.xml", number + 1)
            };
            out.push((name, coordinator(folder, number + 1, wave).into_bytes()));
        }
        out.push((
            format!("{folder}/workflow.xml"),
            workflow(folder, &waves).into_bytes(),
        ));
    }
    out
}

/// Frequency and start: a cron expression from a common start, or for the quarter a span of months
/// counted from a start that fell on a quarter day.
fn frequency(row: &Row) -> (String, &'static str) {
    if row.has_defect("calendar rule") {
        ("${coord:months(3)}".to_owned(), "2023-01-01T08:00")
    } else {
        (row.schedule.clone(), "2022-01-01T00:00")
    }
}

fn coordinator(folder: &str, wave: usize, rows: &[&Row]) -> String {
    let Some(first) = rows.first() else {
        return String::new();
    };
    let (every, start) = frequency(first);
    let end = if first.why.contains("end date passed") {
        "2023-01-31T00:00"
    } else {
        "2099-12-31T00:00"
    };
    let mut inputs: Vec<&str> = rows.iter().flat_map(|row| declared(row)).collect();
    inputs.retain(|name| !rows.iter().any(|row| row.job == *name));
    inputs.sort_unstable();
    inputs.dedup();
    let mut text = format!(
        "<coordinator-app name=\"{folder}-{wave}\" frequency=\"{every}\" start=\"{start}\" \
         end=\"{end}\"\n                 timezone=\"Europe/Berlin\" xmlns=\"{COORDINATOR_NS}\">\n  \
         <controls>\n    <timeout>-1</timeout>\n    <concurrency>1</concurrency>\n  </controls>\n"
    );
    if !inputs.is_empty() {
        text.push_str("  <datasets>\n");
        for name in &inputs {
            text.push_str(&format!(
                "    <dataset name=\"{name}\" frequency=\"${{coord:days(1)}}\" \
                 initial-instance=\"2022-01-01T00:00\" timezone=\"Europe/Berlin\">\n      \
                 <uri-template>/warehouse/{name}/${{YEAR}}${{MONTH}}${{DAY}}</uri-template>\n    \
                 </dataset>\n"
            ));
        }
        text.push_str("  </datasets>\n  <input-events>\n");
        for row in rows {
            for name in declared(row) {
                if inputs.contains(&name) {
                    text.push_str(&format!(
                        "    <data-in name=\"{}.{name}\" dataset=\"{name}\">\n      \
                         <instance>${{coord:current(0)}}</instance>\n    </data-in>\n",
                        row.job
                    ));
                }
            }
        }
        text.push_str("  </input-events>\n");
    }
    text.push_str(&format!(
        "  <action>\n    <workflow>\n      <app-path>/apps/{folder}</app-path>\n      \
         <configuration>\n        <property>\n          <name>wave</name>\n          \
         <value>{wave}</value>\n        </property>\n      </configuration>\n    </workflow>\n  \
         </action>\n</coordinator-app>\n"
    ));
    text
}

fn workflow(folder: &str, waves: &[(&str, Vec<&Row>)]) -> String {
    let mut text = format!(
        "<workflow-app name=\"{folder}\" xmlns=\"{WORKFLOW_NS}\">\n  <start to=\"which-wave\"/>\n  \
         <decision name=\"which-wave\">\n    <switch>\n"
    );
    for number in 1..=waves.len() {
        text.push_str(&format!(
            "      <case to=\"fork-{number}\">${{wave eq {number}}}</case>\n"
        ));
    }
    text.push_str("      <default to=\"failed\"/>\n    </switch>\n  </decision>\n");
    for (number, (_, rows)) in waves.iter().enumerate() {
        let number = number + 1;
        text.push_str(&format!("  <fork name=\"fork-{number}\">\n"));
        for row in rows.iter().filter(|row| before(row, rows).is_none()) {
            text.push_str(&format!("    <path start=\"{}\"/>\n", row.job));
        }
        text.push_str("  </fork>\n");
        for row in rows {
            let next = rows
                .iter()
                .find(|other| before(other, rows) == Some(row.job.as_str()))
                .map_or_else(|| format!("join-{number}"), |other| other.job.clone());
            text.push_str(&action(row, &next));
        }
        text.push_str(&format!("  <join name=\"join-{number}\" to=\"end\"/>\n"));
    }
    text.push_str(
        "  <kill name=\"failed\">\n    <message>${wf:errorMessage(wf:lastErrorNode())}</message>\n  \
         </kill>\n  <end name=\"end\"/>\n</workflow-app>\n",
    );
    text
}

/// The action of the same wave that a row's action follows; the scenario has chains only.
fn before<'a>(row: &'a Row, wave: &[&Row]) -> Option<&'a str> {
    declared(row)
        .into_iter()
        .find(|name| wave.iter().any(|other| other.job == *name))
}

fn action(row: &Row, next: &str) -> String {
    let job = row.job.as_str();
    let body = if row.defect.starts_with("credential") {
        "    <ssh xmlns=\"uri:oozie:ssh-action:0.1\">\n      <host>etl@files.partner.example</host>\n      \
         <command>push-manifest</command>\n      <args>-i</args>\n      \
         <args>/home/oozie/.ssh/partner_ed25519</args>\n    </ssh>\n"
            .to_owned()
    } else {
        let (exec, argument) = if row.target.is_empty() {
            ("run-ops", job.to_owned())
        } else {
            ("run-sql", format!("jobs/{job}.sql"))
        };
        format!(
            "    <shell xmlns=\"uri:oozie:shell-action:0.2\">\n      <exec>{exec}</exec>\n      \
             <argument>{argument}</argument>\n      <env-var>ETL_HOME=/srv/etl</env-var>\n    \
             </shell>\n"
        )
    };
    format!(
        "  <action name=\"{job}\">\n{body}    <ok to=\"{next}\"/>\n    \
         <error to=\"failed\"/>\n  </action>\n"
    )
}
