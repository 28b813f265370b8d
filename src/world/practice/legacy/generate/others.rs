//! Control-M and AutoSys: three jobs that have no equivalent.

use super::super::row::Row;
use super::{by_file, fields};

/// The folder export and the JIL file.
pub(super) fn files(rows: &[Row]) -> Vec<(String, Vec<u8>)> {
    let mut out = Vec::new();
    for (file, group) in by_file(rows, "control-m") {
        out.push((file.to_owned(), control_m(&group).into_bytes()));
    }
    for (file, group) in by_file(rows, "autosys") {
        out.push((file.to_owned(), jil(&group).into_bytes()));
    }
    out
}

fn clock(row: &Row) -> (String, String) {
    let [minute, hour, ..] = fields(row);
    (format!("{hour:0>2}"), format!("{minute:0>2}"))
}

fn control_m(rows: &[&Row]) -> String {
    let mut text = String::from(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<DEFTABLE>\n  \
         <FOLDER FOLDER_NAME=\"NIGHT\" DATACENTER=\"HOST-CTM\" PLATFORM=\"UNIX\">\n",
    );
    for row in rows {
        let (hour, minute) = clock(row);
        let human = row.defect.starts_with("human step");
        let (kind, node, command) = if human {
            ("OS", "etl01", "post-ledger --period %%ODATE")
        } else {
            ("FILE_TRANS", "MVSGATE", "GET 'FIN.NIGHT.GL(0)' /srv/etl/in")
        };
        text.push_str(&format!(
            "    <JOB JOBNAME=\"{}\" APPL_TYPE=\"{kind}\" NODEID=\"{node}\" RUN_AS=\"etl\" \
             TASKTYPE=\"Command\" CMDLINE=\"{command}\" CONFIRM=\"{}\" CYCLIC=\"0\" \
             DAYS=\"ALL\" TIMEFROM=\"{hour}{minute}\" MAXRERUN=\"0\" />\n",
            row.job,
            u8::from(human),
        ));
    }
    text.push_str("  </FOLDER>\n</DEFTABLE>\n");
    text
}

fn jil(rows: &[&Row]) -> String {
    let mut text = String::new();
    for row in rows {
        let (hour, minute) = clock(row);
        text.push_str(&format!(
            "/* ----------------- {job} ----------------- */\n\ninsert_job: {job}   job_type: c\n\
             command: /opt/etl/bin/compact-archive\nmachine: etl01\nowner: etl\n\
             date_conditions: 1\ndays_of_week: all\nstart_times: \"{hour}:{minute}\"\n\
             timezone: Europe/Berlin\ncondition: n(night_load)\nalarm_if_fail: 1\n\n",
            job = row.job
        ));
    }
    text
}
