use super::*;

#[derive(Default)]
struct Recorder {
    calls: Vec<String>,
    log: Vec<String>,
}

impl Host for Recorder {
    fn run(&mut self, call: &Call<'_>) -> (i32, String) {
        self.calls.push(format!(
            "{}$ {}{}",
            call.folder,
            call.argv.join("|"),
            call.outputs.join("")
        ));
        match call.argv.first().map(String::as_str) {
            Some("fail") => (3, String::new()),
            Some("words") => (0, "a b\n".to_owned()),
            _ => (0, String::new()),
        }
    }

    fn has_folder(&self, path: &str) -> bool {
        matches!(path, "/" | "/srv/etl" | "/srv/etl/log")
    }

    fn log(&mut self, line: &str) {
        self.log.push(line.to_owned());
    }
}

fn run(command: &str) -> (Result<i32, String>, Recorder) {
    let mut host = Recorder::default();
    let mut shell = Shell {
        environment: BTreeMap::from([
            ("ETL_HOME".to_owned(), "/srv/etl".to_owned()),
            ("TWO".to_owned(), "x y".to_owned()),
        ]),
        folder: "/".to_owned(),
        host: &mut host,
        depth: 0,
    };
    let result = shell
        .run(command)
        .map(|(status, _)| status)
        .map_err(|e| e.0);
    (result, host)
}

#[test]
fn the_usual_cron_line() {
    let (status, host) = run("cd $ETL_HOME && run-sql jobs/a.sql >> log/a.log 2>&1");
    assert_eq!(status, Ok(0));
    assert_eq!(
        host.calls,
        ["/srv/etl$ run-sql|jobs/a.sql>>/srv/etl/log/a.log"]
    );
}

#[test]
fn quoting_and_splitting() {
    let (_, host) = run(r#"p $TWO "$TWO" '$TWO' a\ b "\%" x"$(words)"y $(words) ''"#);
    assert_eq!(
        host.calls.last().unwrap(),
        r"/$ p|x|y|x y|$TWO|a b|\%|xa by|a|b|"
    );
}

#[test]
fn joins_and_groups() {
    assert_eq!(run("fail || true").0, Ok(0));
    assert_eq!(run("fail && never").1.calls, ["/$ fail"]);
    assert_eq!(run("! fail").0, Ok(0));
    assert_eq!(
        run("(cd /srv/etl; a) && b").1.calls,
        ["/srv/etl$ a", "/$ b"]
    );
    assert_eq!(run("sh -c 'a \"$TWO\"'").1.calls, ["/$ a|x y"]);
    assert_eq!(run("X=1 a; Y=${X:-2} && b $Y").1.calls, ["/$ a", "/$ b|2"]);
    assert_eq!(run("words | b").1.calls.len(), 2);
}

#[test]
fn what_is_missing_stops_the_command() {
    let (status, host) = run("cd $NOWHERE && a");
    assert_eq!(status, Err("sh: NOWHERE: parameter not set".to_owned()));
    assert!(host.calls.is_empty());
    let (status, host) = run("cd /home/etl && a");
    assert_eq!(status, Ok(1));
    assert!(
        host.log[0].contains("/home/etl: No such file"),
        "{:?}",
        host.log
    );
    assert!(
        run("a > out/x")
            .0
            .unwrap_err()
            .contains("Directory nonexistent")
    );
}

#[test]
fn what_is_not_known_is_an_error() {
    for command in [
        "for x in a; do b; done",
        "a &",
        "a 2&1",
        "a <<EOF",
        "a &> b",
        "echo 'x",
        "a $((1+1))",
        "",
        "if a; then b; fi",
    ] {
        assert!(run(command).0.is_err(), "{command}");
    }
}
