//! A second reading of HTTP/1: plain, slow, and written from the grammar of RFC 9112 alone.
//!
//! It knows two forms. [`Form::Received`] takes what a strict recipient may take; what the codec
//! accepts beyond it is a fault. [`Form::Sent`] takes the one canonical form; what the codec writes
//! beyond it is a fault.

/// How much freedom the writer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// White space around values, empty lines before requests, HTTP/1.0, chunk extensions.
    Received,
    /// None.
    Sent,
}

/// Which kind of message a head begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Start {
    Request,
    Response,
}

/// A name and a value.
pub(super) type Line<'b> = (&'b [u8], &'b [u8]);

/// A head taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Head<'b> {
    /// Method, target and version, or version, status and reason.
    pub(super) start: [&'b [u8]; 3],
    pub(super) fields: Vec<Line<'b>>,
    /// The bytes up to and including the empty line.
    pub(super) len: usize,
}

/// How a body ends, as the head says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ends {
    /// Neither field is there.
    Unsaid,
    Length(u64),
    Chunked,
}

/// A body, or as much of it as there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Body {
    pub(super) data: Vec<u8>,
    pub(super) trailers: Vec<(Vec<u8>, Vec<u8>)>,
    pub(super) used: usize,
    pub(super) complete: bool,
}

impl<'b> Head<'b> {
    /// Reads a head from the start of the bytes; `None` when its end is not there.
    pub(super) fn read(
        bytes: &'b [u8],
        start: Start,
        form: Form,
    ) -> Result<Option<Self>, &'static str> {
        let mut at = 0;
        if start == Start::Request && form == Form::Received {
            while at < 4 && bytes[at..].starts_with(b"\r\n") {
                at += 2;
            }
        }
        let Some(first) = line(&bytes[at..])? else {
            return Ok(None);
        };
        at += first.len() + 2;
        let start = match start {
            Start::Request => request_line(first, form)?,
            Start::Response => status_line(first, form)?,
        };
        let Some((fields, used)) = field_lines(&bytes[at..], form)? else {
            return Ok(None);
        };
        Ok(Some(Self {
            start,
            fields,
            len: at + used,
        }))
    }

    /// All values of a field, in any case.
    pub(super) fn values(&self, name: &str) -> Vec<&'b [u8]> {
        self.fields
            .iter()
            .filter(|(other, _)| other.eq_ignore_ascii_case(name.as_bytes()))
            .map(|(_, value)| *value)
            .collect()
    }

    /// The one way in which a written head frames its body. Two ways are an error, and so is any
    /// spelling but the shortest.
    pub(super) fn ends(&self) -> Result<Ends, &'static str> {
        let lengths = self.values("content-length");
        let codings = self.values("transfer-encoding");
        match (&lengths[..], &codings[..]) {
            ([], []) => Ok(Ends::Unsaid),
            ([], [b"chunked"]) => Ok(Ends::Chunked),
            ([length], []) => {
                let text = std::str::from_utf8(length).map_err(|_| "length is not text")?;
                let number: u64 = text.parse().map_err(|_| "length is not a number")?;
                if number.to_string() != text {
                    return Err("length is not in its shortest form");
                }
                Ok(Ends::Length(number))
            }
            ([], [_]) => Err("coding is not plain chunked"),
            _ => Err("more than one framing"),
        }
    }
}

impl Body {
    /// Reads a body that ends this way.
    pub(super) fn read(bytes: &[u8], ends: Ends, form: Form) -> Result<Self, &'static str> {
        match ends {
            Ends::Unsaid => Ok(Self {
                complete: true,
                ..Self::default()
            }),
            Ends::Length(length) => {
                let used =
                    usize::try_from(length).map_or(bytes.len(), |length| length.min(bytes.len()));
                Ok(Self {
                    data: bytes[..used].to_vec(),
                    used,
                    complete: used as u64 == length,
                    ..Self::default()
                })
            }
            Ends::Chunked => Self::chunks(bytes, form),
        }
    }

    fn chunks(bytes: &[u8], form: Form) -> Result<Self, &'static str> {
        let mut body = Self::default();
        loop {
            let Some(size_line) = line(&bytes[body.used..])? else {
                return Ok(body);
            };
            let size = chunk_size(size_line, form)?;
            let start = body.used + size_line.len() + 2;
            if size == 0 {
                if let Some((trailers, used)) = field_lines(&bytes[start..], form)? {
                    let owned = |(name, value): Line<'_>| (name.to_vec(), value.to_vec());
                    body.trailers = trailers.into_iter().map(owned).collect();
                    body.used = start + used;
                    body.complete = true;
                }
                return Ok(body);
            }
            let rest = &bytes[start..];
            let size = usize::try_from(size).unwrap_or(usize::MAX);
            body.data.extend_from_slice(&rest[..size.min(rest.len())]);
            if rest.len() <= size {
                return Ok(body);
            }
            match rest[size..] {
                [b'\r', b'\n', ..] => body.used = start + size + 2,
                [b'\r'] => return Ok(body),
                _ => return Err("no line end behind a chunk"),
            }
        }
    }
}

/// The bytes before the first line end; `None` when there is none.
fn line(bytes: &[u8]) -> Result<Option<&[u8]>, &'static str> {
    let Some(at) = bytes.iter().position(|&byte| byte == b'\n') else {
        return Ok(None);
    };
    let text = bytes[..at]
        .strip_suffix(b"\r")
        .ok_or("line feed without carriage return")?;
    let legal = |&byte: &u8| byte == b'\t' || (byte >= b' ' && byte != 0x7f);
    if text.iter().all(legal) {
        Ok(Some(text))
    } else {
        Err("control in a line")
    }
}

/// Field lines and the empty line behind them; `None` when that is not there.
fn field_lines(bytes: &[u8], form: Form) -> Result<Option<(Vec<Line<'_>>, usize)>, &'static str> {
    let (mut fields, mut at) = (Vec::new(), 0);
    loop {
        let Some(text) = line(&bytes[at..])? else {
            return Ok(None);
        };
        at += text.len() + 2;
        if text.is_empty() {
            return Ok(Some((fields, at)));
        }
        fields.push(field(text, form)?);
    }
}

fn field(text: &[u8], form: Form) -> Result<Line<'_>, &'static str> {
    let colon = text.iter().position(|&byte| byte == b':');
    let (name, rest) = text.split_at(colon.ok_or("no colon in a field line")?);
    if !token(name) {
        return Err("field name is not a token");
    }
    let value = rest[1..].trim_ascii();
    if form == Form::Sent && rest[1..] != [b" ", value].concat() {
        return Err("field line is not canonical");
    }
    Ok((name, value))
}

fn request_line(text: &[u8], form: Form) -> Result<[&[u8]; 3], &'static str> {
    let parts: Vec<_> = text.split(|&byte| byte == b' ').collect();
    let [method, target, version] = parts[..] else {
        return Err("request line is not three words");
    };
    let visible = target.iter().all(u8::is_ascii_graphic);
    if !token(method) || target.is_empty() || !visible {
        return Err("illegal method or target");
    }
    known(version, form)?;
    Ok([method, target, version])
}

fn status_line(text: &[u8], form: Form) -> Result<[&[u8]; 3], &'static str> {
    let mut parts = text.splitn(3, |&byte| byte == b' ');
    let (version, status, reason) = (parts.next(), parts.next(), parts.next());
    if form == Form::Sent && reason.is_none() {
        return Err("no space behind a status");
    }
    let (version, status) = (version.unwrap_or_default(), status.unwrap_or_default());
    known(version, form)?;
    if status.len() != 3 || !status.iter().all(u8::is_ascii_digit) || status[0] == b'0' {
        return Err("status is not three digits");
    }
    Ok([version, status, reason.unwrap_or_default()])
}

fn known(version: &[u8], form: Form) -> Result<(), &'static str> {
    match (version, form) {
        (b"HTTP/1.1", _) | (b"HTTP/1.0", Form::Received) => Ok(()),
        _ => Err("unknown version"),
    }
}

fn chunk_size(text: &[u8], form: Form) -> Result<u64, &'static str> {
    let digits = match form {
        Form::Received => text.split(|&byte| byte == b';').next().unwrap_or_default(),
        Form::Sent => text,
    };
    if digits.is_empty() || digits.len() > 16 || !digits.iter().all(u8::is_ascii_hexdigit) {
        return Err("chunk size is not a hexadecimal number");
    }
    let text = std::str::from_utf8(digits).map_err(|_| "chunk size is not text")?;
    let size = u64::from_str_radix(text, 16).map_err(|_| "chunk size does not fit")?;
    if form == Form::Sent && format!("{size:x}") != text {
        return Err("chunk size is not in its shortest form");
    }
    Ok(size)
}

fn token(name: &[u8]) -> bool {
    !name.is_empty()
        && name
            .iter()
            .all(|&byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}
