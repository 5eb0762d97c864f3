//! Lines of text as records and fields: where one ends, and what is in it.

use memchr::{memchr, memchr2, memchr3};

/// How the text of one file is laid out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// Between fields.
    pub(crate) separator: u8,
    /// After records: `\n` (with or without `\r` before it), or `\r` alone.
    pub(crate) terminator: u8,
    /// Whether lines that start with `#` are remarks wherever they stand. Only CmdStan's files are known to mean it.
    pub(crate) has_remarks: bool,
}

/// Where a record ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum End {
    /// Just after its terminator.
    At(usize),
    /// Not within these bytes.
    Beyond,
    /// Not within these bytes, because a quote is open.
    InQuote,
}

impl Dialect {
    /// The end of the record or remark that starts at `start`.
    pub(crate) fn record_end(&self, bytes: &[u8], start: usize) -> End {
        let is_remark = self.has_remarks && bytes.get(start) == Some(&b'#');
        let mut at = start;
        loop {
            // At the start of a field: only here does a quote open one.
            if bytes.get(at) == Some(&b'"') && !is_remark {
                at += 1;
                loop {
                    match memchr(b'"', &bytes[at..]) {
                        None => return End::InQuote,
                        Some(quote) => at += quote + 1,
                    }
                    if bytes.get(at) == Some(&b'"') {
                        at += 1;
                    } else {
                        break;
                    }
                }
            }
            match memchr2(self.separator, self.terminator, &bytes[at..]) {
                None => return End::Beyond,
                Some(found) => at += found + 1,
            }
            if bytes[at - 1] == self.terminator {
                return End::At(at);
            }
        }
    }

    /// Whether the line at `start` holds no record: a blank line, or a remark.
    pub(crate) fn is_passed_over(&self, bytes: &[u8], start: usize) -> bool {
        match bytes.get(start) {
            Some(b'\n') => true,
            // The first half of a line break, or one by itself.
            Some(b'\r') => bytes.get(start + 1).is_none_or(|&next| next == b'\n') || self.terminator == b'\r',
            Some(b'#') => self.has_remarks,
            _ => false,
        }
    }

    /// The fields of one record, its terminator left out.
    pub(crate) fn fields<'a>(&self, record: &'a [u8]) -> Vec<Field<'a>> {
        let record = without_break(record);
        let (mut fields, mut at) = (Vec::new(), 0);
        loop {
            let start = at;
            let mut is_quoted = false;
            if record.get(at) == Some(&b'"') {
                is_quoted = true;
                at += 1;
                while let Some(quote) = memchr(b'"', &record[at..]) {
                    at += quote + 1;
                    if record.get(at) != Some(&b'"') {
                        break;
                    }
                    at += 1;
                }
            }
            let end = memchr(self.separator, &record[at..]).map_or(record.len(), |found| at + found);
            fields.push(Field { raw: &record[start..end], is_quoted });
            if end == record.len() {
                return fields;
            }
            at = end + 1;
        }
    }
}

/// A record without the line break that ends it.
pub(crate) fn without_break(mut record: &[u8]) -> &[u8] {
    while let [rest @ .., b'\r' | b'\n'] = record {
        record = rest;
    }
    record
}

/// One field as it stands in the file.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Field<'a> {
    pub(crate) raw: &'a [u8],
    is_quoted: bool,
}

impl Field<'_> {
    /// What the field says: quotes resolved, spaces around it dropped. `None` if it is not UTF-8.
    pub(crate) fn text(&self) -> Option<String> {
        let text = std::str::from_utf8(self.raw).ok()?;
        if !self.is_quoted {
            return Some(text.trim().to_string());
        }
        let mut said = String::with_capacity(text.len());
        let mut characters = text[1..].chars().peekable();
        // Inside the quotes two of them mean one; after the closing one the rest is taken as it is.
        while let Some(character) = characters.next() {
            match character {
                '"' if characters.peek() == Some(&'"') => {
                    characters.next();
                    said.push('"');
                }
                '"' => {
                    said.extend(characters);
                    break;
                }
                other => said.push(other),
            }
        }
        Some(said.trim().to_string())
    }
}

impl Field<'_> {
    /// What the field says, with what is not UTF-8 replaced.
    pub(crate) fn lossy_text(&self) -> String {
        self.text().unwrap_or_else(|| String::from_utf8_lossy(self.raw).trim().to_string())
    }
}

/// A field for a file of text, quoted only where it has to be.
pub(crate) fn quoted(text: &str, separator: u8) -> String {
    let bytes = text.as_bytes();
    let needs = memchr3(separator, b'"', b'\n', bytes).is_some() || memchr(b'\r', bytes).is_some();
    match needs || text.starts_with('#') {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COMMA: Dialect = Dialect { separator: b',', terminator: b'\n', has_remarks: false };

    fn texts(record: &[u8]) -> Vec<String> {
        COMMA.fields(record).iter().map(|field| field.text().unwrap()).collect()
    }

    #[test]
    fn quotes_open_fields_only_at_their_start() {
        assert_eq!(texts(b"a,\"b,\"\"c\nd\",5\"\r\n"), ["a", "b,\"c\nd", "5\""]);
        assert_eq!(texts(b"\"a\"b,"), ["ab", ""]);
        assert_eq!(texts(b""), [""]);
        assert_eq!(COMMA.record_end(b"a,\"b\nc\"\nd", 0), End::At(8));
        assert_eq!(COMMA.record_end(b"a,5\"\nd", 0), End::At(5));
        assert_eq!(COMMA.record_end(b"a,\"5\nd", 0), End::InQuote);
        assert_eq!(COMMA.record_end(b"a,b", 0), End::Beyond);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

        /// What a well-kept parser makes of the same bytes.
        #[test]
        fn records_and_fields_are_those_of_the_csv_crate(text in "[ab,\"\n ]{0,40}") {
            let mut theirs = Vec::new();
            let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text.as_bytes());
            for record in reader.byte_records() {
                let record = record.unwrap();
                theirs.push(record.iter().map(|f| String::from_utf8_lossy(f).trim().to_string()).collect::<Vec<_>>());
            }
            let (mut ours, mut at) = (Vec::new(), 0);
            let bytes = text.as_bytes();
            while at < bytes.len() {
                if COMMA.is_passed_over(bytes, at) {
                    at += 1;
                    continue;
                }
                let end = match COMMA.record_end(bytes, at) { End::At(end) => end, _ => bytes.len() };
                // An open quote at the end of the file is our own error, and theirs is not.
                if COMMA.record_end(bytes, at) == End::InQuote {
                    return Ok(());
                }
                ours.push(texts(&bytes[at..end]));
                at = end;
            }
            prop_assert_eq!(ours, theirs);
        }

        #[test]
        fn any_text_survives_quoting(text in "[^\r]{0,20}") {
            let record = format!("{},x\n", quoted(&text, b','));
            prop_assert_eq!(&texts(record.as_bytes())[0], text.trim());
        }
    }
}
