//! A gateway with its admin API on a free port, and a client that sends what it is told.

#![allow(dead_code, reason = "each test file uses its part")]

pub(crate) mod exposition;
pub(crate) mod schema;

use std::net::SocketAddr;
use std::time::Duration;

use evenkeel_admin::Reloader;
use evenkeel_config::{Environment, Token, parse};
use evenkeel_gateway::{Control, Gateway};
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// Two clusters: `web` with endpoints `a` and `b`, where nobody listens, and the empty `idle`.
pub(crate) const CONFIG: &str = r#"
[runtime]
workers = 1

[[listener]]
name = "front"
address = "127.0.0.1:0"
cluster = "web"

[cluster.web]
endpoints = [
  { id = "a", address = "127.0.0.1:1" },
  { id = "b", address = "127.0.0.1:2", weight = 5, zone = "z1", labels = { version = "2" } },
]

[cluster.idle]
endpoints = []
"#;

/// A running gateway with its admin API.
pub(crate) struct Host {
    pub(crate) control: Control,
    pub(crate) gateway: Option<Gateway>,
    address: SocketAddr,
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) text: String,
}

impl Host {
    /// Starts one with [`CONFIG`].
    pub(crate) async fn start(token: Option<&str>) -> Self {
        let (config, report) = parse("test.toml", CONFIG, &Environment::empty());
        let config = config.unwrap_or_else(|| panic!("{report}"));
        let gateway = Gateway::start(&config, 7).await.expect("free ports");
        let control = gateway.control();
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let token = token.map(|text| Token::new(text).expect("a token"));
        let reloader = Reloader::without_file(control.clone());
        let served = evenkeel_admin::serve(listener, reloader, token, std::future::pending());
        tokio::spawn(served);
        Self {
            control,
            gateway: Some(gateway),
            address,
        }
    }

    /// Sends a call with a JSON body.
    pub(crate) async fn call(&self, method: &str, path: &str, body: &str) -> Answer {
        self.send(
            method,
            path,
            &[("content-type", "application/json")],
            body.as_bytes(),
        )
        .await
    }

    /// Sends a call without a body.
    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send("GET", path, &[], b"").await
    }

    /// Waits until a path is answered by that status.
    ///
    /// # Panics
    ///
    /// When it is not within 20 seconds.
    pub(crate) async fn eventually(&self, path: &str, status: u16) {
        let comes = async {
            while self.get(path).await.status != status {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        let came = tokio::time::timeout(Duration::from_secs(20), comes).await;
        assert!(came.is_ok(), "{path} is never {status}");
    }

    /// Opens a stream of events, and reads it as it comes.
    pub(crate) async fn open(&self, path: &str, headers: &str) -> EventStream {
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        let head = format!(
            "GET {path} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n",
            self.address
        );
        stream.write_all(head.as_bytes()).await.expect("written");
        let text = String::new();
        let mut stream = EventStream { stream, text };
        stream.until(":\n\n").await;
        stream
    }

    /// Sends any call.
    pub(crate) async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: &[u8],
    ) -> Answer {
        let mut head = format!("{method} {path} HTTP/1.1\r\nconnection: close\r\n");
        if headers.iter().all(|(name, _)| *name != "host") {
            head.push_str(&format!("host: {}\r\n", self.address));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("content-length: {}\r\n\r\n", body.len()));
        let mut stream = TcpStream::connect(self.address).await.expect("it listens");
        stream.write_all(head.as_bytes()).await.expect("written");
        // A refusal may come before the body is read.
        let _ = stream.write_all(body).await;
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        Answer::read(&String::from_utf8(bytes).expect("UTF-8"))
    }
}

/// A stream of events.
pub(crate) struct EventStream {
    stream: TcpStream,
    text: String,
}

impl EventStream {
    /// The JSON of the next event.
    pub(crate) async fn next(&mut self) -> Value {
        self.until("data: ").await;
        let json = self.until("\n").await;
        serde_json::from_str(&json).unwrap_or_else(|_| panic!("not JSON: {json}"))
    }

    /// What comes up to a text, which must come within 20 seconds.
    async fn until(&mut self, end: &str) -> String {
        loop {
            if let Some(at) = self.text.find(end) {
                let rest = self.text.split_off(at + end.len());
                let mut found = std::mem::replace(&mut self.text, rest);
                found.truncate(at);
                return found;
            }
            let mut bytes = [0; 4096];
            let read = self.stream.read(&mut bytes);
            let read = tokio::time::timeout(Duration::from_secs(20), read).await;
            let count = read.expect("it comes").expect("no error");
            assert!(count > 0, "the stream ended: {:?}", self.text);
            let more = std::str::from_utf8(&bytes[..count]).expect("UTF-8");
            self.text.push_str(more);
        }
    }
}

impl Answer {
    fn read(text: &str) -> Self {
        let (head, body) = text.split_once("\r\n\r\n").expect("a head");
        let mut lines = head.lines();
        let status = lines.next().and_then(|line| line.split(' ').nth(1));
        let fields = lines.filter_map(|line| line.split_once(": "));
        Self {
            status: status.and_then(|code| code.parse().ok()).expect("a status"),
            headers: fields
                .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
                .collect(),
            text: body.to_owned(),
        }
    }

    /// A header, or nothing.
    pub(crate) fn header(&self, name: &str) -> &str {
        let found = self.headers.iter().find(|(known, _)| known == name);
        found.map_or("", |(_, value)| value)
    }

    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("not JSON: {self:?}"))
    }

    /// The detail of a problem document, which must be whole.
    #[track_caller]
    pub(crate) fn problem(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), "application/problem+json");
        let document = self.json();
        assert_eq!(document["status"], status);
        for key in ["type", "title", "instance"] {
            assert!(document[key].is_string(), "{document}");
        }
        let detail = document["detail"].as_str().expect("a detail");
        assert!(!detail.is_empty() && !detail.contains('\n'), "{detail:?}");
        detail.to_owned()
    }
}
