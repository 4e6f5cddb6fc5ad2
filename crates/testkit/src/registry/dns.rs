//! A DNS server that says what it is told, mistakes included.

use std::fmt;
use std::net::{SocketAddr, UdpSocket};
use std::sync::{Arc, Mutex};

/// What the server answers to a question of that type.
type Says = Box<dyn Fn(u16) -> DnsAnswer + Send>;

/// What a server answers.
#[derive(Clone, Debug)]
pub enum DnsAnswer {
    /// Records: type, name (empty: the one that was asked for), TTL, data.
    Records(Vec<(u16, &'static str, u32, Vec<u8>)>),
    /// An error of this code, without records.
    Code(u8),
    /// More than fits: to be asked for again over TCP.
    Truncated,
    /// Nothing.
    Silence,
}

/// The type of addresses of IPv4.
pub const A: u16 = 1;
/// The type of services.
pub const SRV: u16 = 33;

/// A DNS server over UDP that says what it is told.
pub struct Dns {
    address: SocketAddr,
    says: Arc<Mutex<Says>>,
    asked: Arc<Mutex<Vec<u16>>>,
}

impl Dns {
    /// Begins to answer.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub fn start(says: impl Fn(u16) -> DnsAnswer + Send + 'static) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").expect("a free port");
        let server = Self {
            address: socket.local_addr().expect("bound"),
            says: Arc::new(Mutex::new(Box::new(says))),
            asked: Arc::default(),
        };
        let (says, asked) = (Arc::clone(&server.says), Arc::clone(&server.asked));
        std::thread::spawn(move || {
            let mut buffer = [0; 2048];
            while let Ok((length, from)) = socket.recv_from(&mut buffer) {
                let (question, kind) = question(&buffer[..length]);
                asked.lock().expect("whole").push(kind);
                let answer = says.lock().expect("whole")(kind);
                if let Some(bytes) = encode(&buffer[..2], question, answer) {
                    let _ = socket.send_to(&bytes, from);
                }
            }
        });
        server
    }

    /// Has it answer otherwise from now on.
    ///
    /// # Panics
    ///
    /// When what it answered by has panicked.
    pub fn say(&self, says: impl Fn(u16) -> DnsAnswer + Send + 'static) {
        *self.says.lock().expect("whole") = Box::new(says);
    }

    /// Where it is.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How often it was asked.
    ///
    /// # Panics
    ///
    /// When what it answers by has panicked.
    #[must_use]
    pub fn asked(&self) -> usize {
        self.asked.lock().expect("whole").len()
    }
}

/// The bytes of the question and its type.
fn question(bytes: &[u8]) -> (&[u8], u16) {
    let mut at = 12;
    while bytes[at] != 0 {
        at += usize::from(bytes[at]) + 1;
    }
    let kind = u16::from_be_bytes([bytes[at + 1], bytes[at + 2]]);
    (&bytes[12..at + 5], kind)
}

fn encode(id: &[u8], question: &[u8], answer: DnsAnswer) -> Option<Vec<u8>> {
    let (flags, records) = match answer {
        DnsAnswer::Records(records) => (0x8180_u16, records),
        DnsAnswer::Code(code) => (0x8180 | u16::from(code), Vec::new()),
        DnsAnswer::Truncated => (0x8380, Vec::new()),
        DnsAnswer::Silence => return None,
    };
    let mut bytes = id.to_vec();
    for number in [flags, 1, records.len() as u16, 0, 0] {
        bytes.extend(number.to_be_bytes());
    }
    bytes.extend(question);
    for (kind, owner, ttl, data) in records {
        match owner {
            "" => bytes.extend([0xc0, 12]),
            other => bytes.extend(name(other)),
        }
        bytes.extend(kind.to_be_bytes());
        bytes.extend(1_u16.to_be_bytes());
        bytes.extend(ttl.to_be_bytes());
        bytes.extend((data.len() as u16).to_be_bytes());
        bytes.extend(data);
    }
    Some(bytes)
}

fn name(text: &str) -> Vec<u8> {
    let labels = text.split('.').filter(|label| !label.is_empty());
    let mut bytes: Vec<u8> = labels
        .flat_map(|label| [&[label.len() as u8], label.as_bytes()].concat())
        .collect();
    bytes.push(0);
    bytes
}

/// Addresses 127.0.0.N that live for so many seconds.
#[must_use]
pub fn dns_addresses(ttl: u32, last: &[u8]) -> DnsAnswer {
    let record = |last: &u8| (A, "", ttl, vec![127, 0, 0, *last]);
    DnsAnswer::Records(last.iter().map(record).collect())
}

/// A record of a service, that lives for a second.
#[must_use]
pub fn dns_service(
    priority: u16,
    weight: u16,
    port: u16,
    target: &str,
) -> (u16, &'static str, u32, Vec<u8>) {
    let mut data = [priority, weight, port].map(u16::to_be_bytes).concat();
    data.extend(name(target));
    (SRV, "", 1, data)
}

impl fmt::Debug for Dns {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dns")
            .field("address", &self.address)
            .finish_non_exhaustive()
    }
}
