//! Calls to an etcd: whichever member answers.

use std::time::Duration;

use evenkeel_config::{Credentials, EtcdPlace};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{AUTHORIZATION, CONTENT_TYPE};
use hyper::{Request, Response};
use serde_json::{Value, json};

use super::message::{self, Keys, encoded};
use super::watch::Watch;
use crate::http::{Http, HttpError, whole};
use crate::listing::SourceError;

/// How long a member may take to begin an answer before the next one is asked.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long an answer may take to its end, and how large it may be: 10,000 endpoints have some 5 MiB, and what is
/// read of it takes several times as much.
const ANSWER_MAX: Duration = Duration::from_secs(10);
const ANSWER_BYTES_MAX: usize = 32 << 20;

/// An etcd. One member is asked until it fails, then the next one.
#[derive(Debug)]
pub struct Etcd {
    members: Vec<(String, Http)>,
    at: usize,
    user: Option<Credentials>,
    token: Option<String>,
}

/// Why a member gave no answer.
enum Failure {
    /// Another one may.
    Member(String),
    /// It is over for this call, whoever is asked.
    Call(SourceError),
    /// The token is not taken any more.
    Token,
}

impl From<HttpError> for Failure {
    fn from(error: HttpError) -> Self {
        Self::Member(error.to_string())
    }
}

impl Etcd {
    /// The etcd at a place; nothing is asked yet.
    #[must_use]
    pub fn new(place: &EtcdPlace) -> Self {
        let members = place.endpoints.iter();
        let member = |url| (format!("{url}"), Http::new(url, &place.tls));
        Self {
            members: members.map(member).collect(),
            at: 0,
            user: place.user.clone(),
            token: None,
        }
    }

    /// Which member is asked; another number is another member.
    pub(super) fn member(&self) -> usize {
        self.at
    }

    /// All keys with a prefix, as of one revision and confirmed by a majority of the members.
    ///
    /// # Errors
    ///
    /// When no member answers, the user may not read them, or the answer is none of etcd.
    pub async fn list(&mut self, prefix: &str) -> Result<Keys, SourceError> {
        let answer = self.call("/v3/kv/range", &message::range(prefix)).await?;
        message::keys(&answer).ok_or_else(|| self.nonsense("it has no keys"))
    }

    /// What a key holds; none when there is no such key.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn get(&mut self, key: &str) -> Result<Option<Vec<u8>>, SourceError> {
        let request = json!({ "key": encoded(key) });
        let answer = self.call("/v3/kv/range", &request).await?;
        let keys = message::keys(&answer).ok_or_else(|| self.nonsense("it has no keys"))?;
        Ok(keys.all.into_iter().next().map(|one| one.value))
    }

    /// Watches keys with a prefix, from a revision on.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn watch(&mut self, prefix: &str, from: i64) -> Result<Watch, SourceError> {
        let mut create = message::range(prefix);
        create["start_revision"] = json!(from.to_string());
        let request = json!({ "create_request": create });
        let answer = self.answer("/v3/watch", &request).await?;
        Ok(Watch::new(answer.into_body()))
    }

    /// Whether the member that is asked still has a majority with it, for instance after a long silence.
    /// When it has not, the next one is asked.
    ///
    /// # Errors
    ///
    /// When no member has.
    pub async fn ping(&mut self, prefix: &str) -> Result<(), SourceError> {
        let mut request = message::range(prefix);
        request["count_only"] = json!(true);
        self.call("/v3/kv/range", &request).await.map(|_| ())
    }

    /// Sets a key, perhaps for as long as a lease lives. Returns the revision.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`]; and when there is no such lease.
    pub async fn put(
        &mut self,
        key: &str,
        value: &str,
        lease: Option<i64>,
    ) -> Result<i64, SourceError> {
        let mut request = json!({ "key": encoded(key), "value": encoded(value) });
        if let Some(lease) = lease {
            request["lease"] = json!(lease.to_string());
        }
        let answer = self.call("/v3/kv/put", &request).await?;
        Ok(message::number(&answer["header"], "revision"))
    }

    /// Removes a key; that there is none is no error. Returns the revision.
    ///
    /// # Errors
    ///
    /// As [`Etcd::list`].
    pub async fn delete(&mut self, key: &str) -> Result<i64, SourceError> {
        let request = json!({ "key": encoded(key) });
        let answer = self.call("/v3/kv/deleterange", &request).await?;
        Ok(message::number(&answer["header"], "revision"))
    }

    /// Calls, and reads the whole answer.
    pub(super) async fn call(
        &mut self,
        path: &'static str,
        request: &Value,
    ) -> Result<Value, SourceError> {
        let answer = self.answer(path, request).await?;
        let body = whole(answer.into_body(), ANSWER_BYTES_MAX, ANSWER_MAX).await;
        let body = body.map_err(|error| {
            let member = self.members[self.at].0.clone();
            self.next();
            SourceError::Unreachable(format!("etcd at {member}: {error}"))
        })?;
        serde_json::from_slice(&body).map_err(|_| self.nonsense("it is no JSON"))
    }

    fn nonsense(&self, why: &str) -> SourceError {
        let member = &self.members[self.at].0;
        SourceError::Nonsense(format!(
            "the answer of etcd at {member} makes no sense: {why}"
        ))
    }

    fn next(&mut self) {
        self.at = (self.at + 1) % self.members.len();
    }

    /// The answer of the first member that gives one, each being asked once.
    async fn answer(
        &mut self,
        path: &'static str,
        request: &Value,
    ) -> Result<Response<Incoming>, SourceError> {
        let mut failures: Vec<(usize, String)> = Vec::new();
        let mut tokens = 0;
        while failures.len() < self.members.len() {
            match self.ask(path, request).await {
                Ok(answer) => return Ok(answer),
                Err(Failure::Member(why)) => {
                    failures.push((self.at, why));
                    self.next();
                }
                Err(Failure::Token) if tokens < 2 => {
                    self.token = None;
                    tokens += 1;
                }
                Err(Failure::Token) => {
                    let why = "etcd takes none of the tokens that it gives".to_owned();
                    return Err(SourceError::Refused(why));
                }
                Err(Failure::Call(error)) => return Err(error),
            }
        }
        // In the order of the configuration, so that the same trouble has the same words.
        failures.sort_unstable();
        let told: Vec<String> = failures
            .iter()
            .map(|(at, why)| format!("{}: {why}", self.members[*at].0))
            .collect();
        Err(SourceError::Unreachable(format!(
            "no etcd answers: {}",
            told.join("; ")
        )))
    }

    /// Asks the present member, as the user if there is one.
    async fn ask(
        &mut self,
        path: &'static str,
        request: &Value,
    ) -> Result<Response<Incoming>, Failure> {
        if let (Some(user), None) = (self.user.clone(), &self.token) {
            self.token = Some(self.authenticate(&user).await?);
        }
        self.send(path, request).await
    }

    async fn authenticate(&mut self, user: &Credentials) -> Result<String, Failure> {
        let file = &user.password_file;
        let password = std::fs::read_to_string(file).map_err(|error| {
            let why = format!(
                "the password file {} cannot be read: {error}",
                file.display()
            );
            Failure::Call(SourceError::Refused(why))
        })?;
        let request =
            json!({ "name": &*user.user, "password": password.trim_end_matches(['\r', '\n']) });
        let answer = self.send("/v3/auth/authenticate", &request).await?;
        let body = whole(answer.into_body(), 1 << 16, PATIENCE).await?;
        let answer: Value = serde_json::from_slice(&body).unwrap_or_default();
        match answer["token"].as_str() {
            Some(token) => Ok(token.to_owned()),
            None => Err(Failure::Call(self.nonsense("it has no token"))),
        }
    }

    async fn send(&mut self, path: &str, request: &Value) -> Result<Response<Incoming>, Failure> {
        let mut head = Request::post(path).header(CONTENT_TYPE, "application/json");
        if let Some(token) = &self.token {
            head = head.header(AUTHORIZATION, token);
        }
        let request = head
            .body(Full::new(Bytes::from(request.to_string())))
            .map_err(|error| Failure::Member(error.to_string()))?;
        let (_, member) = &mut self.members[self.at];
        let answer = member.send(request, PATIENCE).await?;
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let body = whole(answer.into_body(), 1 << 16, PATIENCE).await?;
        let said: Value = serde_json::from_slice(&body).unwrap_or_default();
        let why = said["message"].as_str().or(said["error"].as_str());
        Err(judged(status.as_u16(), why.unwrap_or(status.as_str())))
    }
}

/// What a refusal means: by its words where etcd has one code for several things.
fn judged(status: u16, why: &str) -> Failure {
    let is_about = |part: &str| why.contains(part);
    if is_about("invalid auth token") || is_about("auth revision") {
        return Failure::Token;
    }
    let refused = [
        "authentication",
        "permission denied",
        "user name is empty",
        "user not found",
    ];
    if refused.into_iter().any(is_about) || matches!(status, 401 | 403) {
        return Failure::Call(SourceError::Refused(format!("etcd refuses: {why}")));
    }
    match status {
        500.. => Failure::Member(why.to_owned()),
        _ => Failure::Call(SourceError::Nonsense(format!(
            "etcd answers {status}: {why}"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_are_told_from_trouble() {
        let kind = |status, why: &str| match judged(status, why) {
            Failure::Member(_) => "member",
            Failure::Token => "token",
            Failure::Call(error) => error.as_str(),
        };
        assert_eq!(kind(401, "etcdserver: invalid auth token"), "token");
        let wrong = "etcdserver: authentication failed, invalid user ID or password";
        assert_eq!(kind(400, wrong), "credentials");
        assert_eq!(kind(400, "etcdserver: user name is empty"), "credentials");
        assert_eq!(kind(403, "etcdserver: permission denied"), "credentials");
        assert_eq!(kind(503, "etcdserver: no leader"), "member");
        assert_eq!(kind(404, "Not Found"), "nonsense");
    }
}
