//! Refused requests in a run's log. Pure.

/// Words that come before a status code in the logs of common clients; lower case.
const BEFORE: &[&str] = &[
    "http/1.0",
    "http/1.1",
    "http/2",
    "http/2.0",
    "http/3",
    "http",
    "status",
    "status_code",
    "statuscode",
    "http_status",
    "http_code",
    "returned error",
    "server returned",
    "response code",
    "status code",
];

/// The first HTTP status from 400 to 599 that a log shows, told by the words before it: a bare number
/// in a log is no status.
pub fn failed_status(log: &str) -> Option<u16> {
    let log = log.to_ascii_lowercase();
    let bytes = log.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let digits = bytes
            .get(at..)
            .unwrap_or_default()
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        if digits == 0 {
            at += 1;
            continue;
        }
        let number = log.get(at..at + digits).unwrap_or_default();
        let next = bytes.get(at + digits).copied();
        // 400.5 and 404kB are no status codes; "404." at a sentence's end is one.
        let ends = match next {
            Some(b'.') => !bytes.get(at + digits + 1).is_some_and(u8::is_ascii_digit),
            Some(byte) => !byte.is_ascii_alphanumeric() && byte != b'_',
            None => true,
        };
        let status = number.parse::<u16>().unwrap_or(0);
        if digits == 3 && ends && (400..600).contains(&status) && is_announced(&log, at) {
            return Some(status);
        }
        at += digits;
    }
    None
}

/// Whether the text before `at` ends in one of the words, with separators between.
fn is_announced(log: &str, at: usize) -> bool {
    let before = log.get(..at).unwrap_or_default();
    let trimmed = before.trim_end_matches([' ', '\t', ':', '=', '"', '\'', '(', '[']);
    if trimmed.len() == before.len() {
        return false;
    }
    BEFORE.iter().any(|word| {
        trimmed.strip_suffix(word).is_some_and(|rest| {
            !rest
                .chars()
                .next_back()
                .is_some_and(|c| c.is_ascii_alphanumeric() || c == '/' || c == '.')
        })
    }) && !trimmed.ends_with("exit status")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_are_found_in_the_words_of_common_clients() {
        for (log, status) in [
            ("HTTP/1.1 410 Gone", 410),
            ("< HTTP/2 503\r\n", 503),
            ("curl: (22) The requested URL returned error: 404", 404),
            ("request failed with status code 500", 500),
            ("status=429 retry later", 429),
            ("{\"status\": 502}", 502),
            ("HTTP 401.", 401),
        ] {
            assert_eq!(failed_status(log), Some(status), "{log}");
        }
    }

    #[test]
    fn other_numbers_are_not() {
        for log in [
            "HTTP/1.1 200 OK, 404 rows",
            "loaded 500 rows",
            "status 4040",
            "status 404kB",
            "exit status 404",
            "http://host:8080/404",
            "é 410",
            "",
        ] {
            assert_eq!(failed_status(log), None, "{log}");
        }
    }
}
