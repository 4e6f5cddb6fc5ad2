//! The line that an agent beside an endpoint answers with.
//!
//! Source: HAProxy's configuration manual, `agent-check`.

use super::BadReport;
use crate::endpoint::Admin;

/// The most that HAProxy scales a weight by.
const PERCENT_MAX: u32 = 25_600;

/// What an agent says: words between spaces, tabs or commas, up to the end of the first line.
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
