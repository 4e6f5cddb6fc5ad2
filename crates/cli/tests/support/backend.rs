//! A backend that counts what it receives.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};

/// A backend that counts what it receives.
pub(crate) struct CountingBackend {
    pub(crate) address: SocketAddr,
    received: Arc<AtomicUsize>,
}

impl CountingBackend {
    /// Starts one that answers at once.
    pub(crate) fn start() -> Self {
        Self::with(Arc::new(|| {}))
    }

    /// Starts one that answers each request when it gets a word for it.
    pub(crate) fn held() -> (Self, Sender<()>) {
        let (sender, words): (Sender<()>, Receiver<()>) = channel();
        let words = std::sync::Mutex::new(words);
        let wait = move || {
            let _ = words.lock().expect("nobody panics with it").recv();
        };
        (Self::with(Arc::new(wait)), sender)
    }

    fn with(before: Arc<dyn Fn() + Send + Sync>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("bound");
        let received = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&received);
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (counter, before) = (Arc::clone(&counter), Arc::clone(&before));
                std::thread::spawn(move || answer_all(&stream, &counter, &*before));
            }
        });
        Self { address, received }
    }

    /// How many requests it has received.
    pub(crate) fn received(&self) -> usize {
        self.received.load(Ordering::SeqCst)
    }
}

/// Requests without bodies, one after the other.
fn answer_all(mut stream: &TcpStream, counter: &AtomicUsize, before: &(dyn Fn() + Send + Sync)) {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        loop {
            line.clear();
            if !reader.read_line(&mut line).is_ok_and(|count| count > 0) {
                return;
            }
            if line == "\r\n" {
                break;
            }
        }
        counter.fetch_add(1, Ordering::SeqCst);
        before();
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok\n";
        if stream.write_all(answer).is_err() {
            return;
        }
    }
}
