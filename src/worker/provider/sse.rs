//! Server-sent events as a state machine over bytes: any chunk boundary, any line end, bounded.

/// Most bytes of one line.
pub const MAX_LINE: usize = 4 * 1024 * 1024;
/// Most bytes of one event's data.
pub const MAX_DATA: usize = 8 * 1024 * 1024;

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SseEvent {
    /// Its name; empty when it has none.
    pub event: String,
    /// Its data lines, joined by line feeds.
    pub data: String,
}

/// Why a stream cannot be read on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SseError {
    /// A line above `MAX_LINE` or an event above `MAX_DATA`.
    #[error("a line or an event of the stream is longer than {MAX_LINE} bytes")]
    TooLong,
    /// Bytes that are not UTF-8.
    #[error("the stream is not UTF-8 text")]
    NotText,
}

/// Reads a stream piece by piece.
#[derive(Debug, Default)]
pub struct SseReader {
    line: Vec<u8>,
    /// The last byte was a carriage return, so a line feed that follows belongs to it.
    after_cr: bool,
    lines: u64,
    event: String,
    data: String,
    has_data: bool,
}

impl SseReader {
    /// Takes the next bytes and appends the events that they complete.
    ///
    /// # Errors
    /// When the stream cannot be read on.
    pub fn push(&mut self, bytes: &[u8], out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        for byte in bytes {
            let lf_of_crlf = self.after_cr && *byte == b'\n';
            self.after_cr = *byte == b'\r';
            match byte {
                b'\n' if lf_of_crlf => {}
                b'\n' | b'\r' => self.end_line(out)?,
                _ if self.line.len() >= MAX_LINE => return Err(SseError::TooLong),
                _ => self.line.push(*byte),
            }
        }
        Ok(())
    }

    /// The body has ended: what is pending is an event too.
    ///
    /// # Errors
    /// As [`SseReader::push`].
    pub fn finish(&mut self, out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        if !self.line.is_empty() {
            self.end_line(out)?;
        }
        self.dispatch(out);
        Ok(())
    }

    fn end_line(&mut self, out: &mut Vec<SseEvent>) -> Result<(), SseError> {
        let bytes = std::mem::take(&mut self.line);
        let mut line = std::str::from_utf8(&bytes).map_err(|_| SseError::NotText)?;
        if self.lines == 0 {
            line = line.strip_prefix('\u{feff}').unwrap_or(line);
        }
        self.lines += 1;
        if line.is_empty() {
            self.dispatch(out);
            return Ok(());
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event),
            "data" => {
                if self.data.len().saturating_add(value.len()) >= MAX_DATA {
                    return Err(SseError::TooLong);
                }
                if self.has_data {
                    self.data.push('\n');
                }
                self.data.push_str(value);
                self.has_data = true;
            }
            // Comments (an empty name), `id`, `retry` and unknown fields.
            _ => {}
        }
        Ok(())
    }

    fn dispatch(&mut self, out: &mut Vec<SseEvent>) {
        let event = std::mem::take(&mut self.event);
        let data = std::mem::take(&mut self.data);
        if std::mem::take(&mut self.has_data) {
            out.push(SseEvent { event, data });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(pieces: &[&[u8]]) -> Result<Vec<(String, String)>, SseError> {
        let (mut reader, mut out) = (SseReader::default(), Vec::new());
        for piece in pieces {
            reader.push(piece, &mut out)?;
        }
        reader.finish(&mut out)?;
        Ok(out.into_iter().map(|one| (one.event, one.data)).collect())
    }

    fn pairs(list: &[(&str, &str)]) -> Vec<(String, String)> {
        list.iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn every_framing_that_servers_use_is_read() {
        for text in [
            "event: a\ndata: 1\n\ndata: 2\n\n",
            "event: a\r\ndata: 1\r\n\r\ndata: 2\r\n\r\n",
            "event: a\rdata: 1\r\rdata: 2\r\r",
            "\u{feff}event:a\ndata:1\n\n: comment\n\nid: 7\nretry: 1\ndata:2",
        ] {
            assert_eq!(
                read(&[text.as_bytes()]).unwrap(),
                pairs(&[("a", "1"), ("", "2")]),
                "{text:?}"
            );
        }
    }

    #[test]
    fn data_lines_are_joined_and_separators_inside_json_are_data() {
        let text = "data: {\"a\":\ndata: \"\u{2028}\u{85}\"}\n\nevent: lonely\n\n";
        assert_eq!(
            read(&[text.as_bytes()]).unwrap(),
            pairs(&[("", "{\"a\":\n\"\u{2028}\u{85}\"}")])
        );
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_bounded() {
        assert_eq!(read(&[b"data: \xff\n\n"]), Err(SseError::NotText));
        let long = vec![b'x'; MAX_LINE + 1];
        assert_eq!(read(&[&long]), Err(SseError::TooLong));
        let line = [
            b"data: ".to_vec(),
            vec![b'x'; MAX_LINE - 10],
            b"\n".to_vec(),
        ]
        .concat();
        assert_eq!(read(&[&line, &line, &line]), Err(SseError::TooLong));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn chunk_boundaries_do_not_matter(cuts in prop::collection::vec(0usize..80, 0..8)) {
            let text = "event: é\r\ndata: \u{1f600}x\r\ndata:y\r\r\n: p\n\ndata: z\n\n".as_bytes();
            let whole = read(&[text]).unwrap();
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut % text.len()).collect();
            cuts.sort_unstable();
            let (mut pieces, mut from) = (Vec::new(), 0);
            for cut in cuts {
                pieces.push(&text[from..cut]);
                from = cut;
            }
            pieces.push(&text[from..]);
            prop_assert_eq!(read(&pieces).unwrap(), whole);
        }
    }
}
