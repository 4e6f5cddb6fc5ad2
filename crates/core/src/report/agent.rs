//! The line that an agent beside an endpoint answers with.
//!
//! Source: HAProxy's configuration manual, `agent-check`.

use super::BadReport;
use crate::endpoint::Admin;

/// The most that HAProxy scales a weight by.
const PERCENT_MAX: u32 = 25_600;

/// What an agent says: words between spaces, tabs or commas, up to the end of the first line.
///
/// # Examples
///
/// ```
/// use evenkeel_core::AgentLine;
///
/// let line = AgentLine::parse(b"up 50%")?;
/// assert_eq!((line.percent, line.up), (Some(50), Some(true)));
/// # Ok::<(), evenkeel_core::BadReport>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentLine<'l> {
    /// The weight in percent of the configured one, 0 to 25,600.
    pub percent: Option<u16>,
    /// What it wants of the endpoint: `ready`, `drain` or `maint`.
    pub admin: Option<Admin>,
    /// Whether it is in order: `up`; or `down`, `failed` or `stopped`.
    pub up: Option<bool>,
    /// The most requests in flight.
    pub most: Option<u32>,
    /// Why it is out of order, in the words behind `#`.
    pub reason: Option<&'l str>,
}

impl<'l> AgentLine<'l> {
    /// Reads the first line of what an agent sent.
    ///
    /// # Errors
    ///
    /// When it has no word, or one that we do not know: half a line could take an endpoint out of service
    /// by mistake.
    ///
    /// # Examples
    ///
    /// ```
    /// use evenkeel_core::AgentLine;
    ///
    /// let line = AgentLine::parse(b"up 75% maxconn:30\n")?;
    /// assert_eq!((line.up, line.percent, line.most), (Some(true), Some(75), Some(30)));
    /// # Ok::<(), evenkeel_core::BadReport>(())
    /// ```
    pub fn parse(sent: &'l [u8]) -> Result<Self, BadReport> {
        let end = sent.iter().position(|byte| matches!(byte, b'\r' | b'\n'));
        let line = &sent[..end.unwrap_or(sent.len())];
        let line = std::str::from_utf8(line).map_err(|_| BadReport("the line is not text"))?;
        // What follows `#` is for people, spaces and all.
        let (words, reason) = match line.split_once('#') {
            Some((words, reason)) => (words, Some(reason.trim())),
            None => (line, None),
        };
        let mut found = Self {
            reason: reason.filter(|reason| !reason.is_empty()),
            ..Self::default()
        };
        let mut words = words
            .split([' ', '\t', ','])
            .filter(|word| !word.is_empty())
            .peekable();
        if words.peek().is_none() {
            return Err(BadReport("the line is empty"));
        }
        for word in words {
            found.note(word)?;
        }
        Ok(found)
    }

    fn note(&mut self, word: &str) -> Result<(), BadReport> {
        if let Some(percent) = word.strip_suffix('%') {
            let percent = percent.parse::<u32>().ok();
            let percent = percent.filter(|percent| *percent <= PERCENT_MAX);
            let percent = percent.ok_or(BadReport("a weight is not from 0% to 25600%"))?;
            self.percent = Some(percent as u16);
            return Ok(());
        }
        if let Some(most) = word.strip_prefix("maxconn:") {
            let most = most.parse().ok().filter(|most| *most > 0);
            self.most = Some(most.ok_or(BadReport("maxconn is not a number from 1 on"))?);
            return Ok(());
        }
        match word {
            "up" => self.up = Some(true),
            "down" | "failed" | "stopped" => self.up = Some(false),
            "ready" => self.admin = Some(Admin::Enabled),
            "drain" => self.admin = Some(Admin::Draining),
            "maint" => self.admin = Some(Admin::Disabled),
            _ => return Err(BadReport("a word is not known")),
        }
        Ok(())
    }
}

/// What an agent has come to want of its endpoint, from line to line: what a line does not speak of stays as
/// it was.
///
/// # Examples
///
/// ```
/// use evenkeel_core::{Admin, AgentLine, AgentWish};
///
/// let wish = AgentWish::default().heeding(&AgentLine::parse(b"drain maxconn:9")?, true);
/// assert_eq!((wish.admin(), wish.most), (Admin::Draining, Some(9)));
/// let wish = wish.heeding(&AgentLine::parse(b"up")?, true);
/// assert_eq!((wish.admin(), wish.most), (Admin::Enabled, Some(9)));
/// # Ok::<(), evenkeel_core::BadReport>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AgentWish {
    /// `drain`, `maint`, or neither since `ready` or `up`.
    pub admin: Admin,
    /// It said `0%`, and no more since.
    pub is_weightless: bool,
    /// The most requests in flight.
    pub most: Option<u32>,
}

impl AgentWish {
    /// What it wants after another line. `weighs` says whether its percentages count.
    #[must_use]
    pub fn heeding(self, line: &AgentLine<'_>, weighs: bool) -> Self {
        let lets_go = line.up == Some(true);
        let admin = line.admin.or(lets_go.then_some(Admin::Enabled));
        let percent = line.percent.filter(|_| weighs);
        Self {
            admin: admin.unwrap_or(self.admin),
            is_weightless: percent.map_or(self.is_weightless && weighs, |percent| percent == 0),
            most: line.most.or(self.most),
        }
    }

    /// Whether the endpoint may take requests.
    #[must_use]
    pub fn admin(self) -> Admin {
        match self.is_weightless {
            true => self.admin.min(Admin::Draining),
            false => self.admin,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOTHING: AgentLine<'_> = AgentLine {
        percent: None,
        admin: None,
        up: None,
        most: None,
        reason: None,
    };

    fn line(text: &str) -> Result<AgentLine<'_>, BadReport> {
        AgentLine::parse(text.as_bytes())
    }

    #[test]
    fn lines_are_read_as_haproxy_does() {
        let percent = AgentLine {
            percent: Some(75),
            ..NOTHING
        };
        assert_eq!(line("75%"), Ok(percent));
        let up = AgentLine {
            up: Some(true),
            ..NOTHING
        };
        assert_eq!(line("up\n"), Ok(up));
        for (text, admin) in [
            ("drain\r\nnot read", Admin::Draining),
            ("maint", Admin::Disabled),
            (" ready\t", Admin::Enabled),
        ] {
            let wanted = AgentLine {
                admin: Some(admin),
                ..NOTHING
            };
            assert_eq!(line(text), Ok(wanted), "{text}");
        }
        for text in [
            "down#disk is full",
            "stopped # disk is full",
            "failed\t#disk is full\n",
        ] {
            let down = AgentLine {
                up: Some(false),
                reason: Some("disk is full"),
                ..NOTHING
            };
            assert_eq!(line(text), Ok(down), "{text}");
        }
        let all = AgentLine {
            percent: Some(200),
            admin: Some(Admin::Enabled),
            up: Some(true),
            most: Some(30),
            reason: None,
        };
        assert_eq!(line("\tready, up,200% maxconn:30"), Ok(all));
    }

    /// What a line does not speak of stays, and each word ends what it is there to end.
    #[test]
    fn wishes_last_until_they_are_taken_back() {
        let after = |lines: &[&str]| {
            lines.iter().fold(AgentWish::default(), |wish, text| {
                wish.heeding(&line(text).expect("well-formed"), true)
            })
        };
        for (lines, admin) in [
            (&["drain"][..], Admin::Draining),
            (&["drain", "50%"], Admin::Draining),
            (&["drain", "down#x"], Admin::Draining),
            (&["drain", "ready"], Admin::Enabled),
            (&["maint", "up 50%"], Admin::Enabled),
            (&["maint", "up drain"], Admin::Draining),
            (&["0%"], Admin::Draining),
            (&["0%", "up"], Admin::Draining),
            (&["0%", "1%"], Admin::Enabled),
            (&["maint 0%", "20%"], Admin::Disabled),
        ] {
            assert_eq!(after(lines).admin(), admin, "{lines:?}");
        }
        assert_eq!(after(&["maxconn:3", "up"]).most, Some(3));
        let ignored = AgentWish::default().heeding(&line("0%").expect("well-formed"), false);
        assert_eq!(ignored, AgentWish::default());
    }

    #[test]
    fn what_is_not_known_is_refused() {
        for bad in [
            "",
            "\n",
            "#why",
            "75",
            "-1%",
            "25601%",
            "99999999999%",
            "UP",
            "upp",
            "maxconn:0",
            "maxconn:",
            "up what",
        ] {
            assert!(line(bad).is_err(), "{bad}");
        }
        assert!(AgentLine::parse(b"up \xFF").is_err());
    }
}
