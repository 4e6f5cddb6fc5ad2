//! WebSocket as a client and a server of others speak it.

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use evenkeel_core::Endpoint;
use evenkeel_testkit::Gateway;
use tungstenite::protocol::frame::coding::CloseCode;
use tungstenite::protocol::{CloseFrame, WebSocketConfig};
use tungstenite::{Message, accept_with_config, client::client_with_config};

use crate::noise;

/// Larger than all messages of these tests.
const MOST: usize = 32 << 20;

pub(crate) fn config() -> Option<WebSocketConfig> {
    let config = WebSocketConfig::default();
    Some(
        config
            .max_message_size(Some(MOST))
            .max_frame_size(Some(MOST)),
    )
}

/// A server that sends every message back until its client closes.
pub(crate) fn server() -> SocketAddr {
    let socket = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = socket.local_addr().expect("bound");
    thread::spawn(move || {
        while let Ok((stream, _)) = socket.accept() {
            thread::spawn(move || echo(stream));
        }
    });
    address
}

fn echo(stream: TcpStream) {
    let Ok(mut socket) = accept_with_config(stream, config()) else {
        return;
    };
    // A ping is answered, and a close too, by whoever reads on.
    while let Ok(message) = socket.read() {
        let is_data = message.is_text() || message.is_binary();
        if is_data && socket.send(message).is_err() {
            return;
        }
    }
}

/// Messages of every form of length, up to 16 MiB, come back as they were, and so do pings; then both
/// sides part in order.
#[test]
fn messages_of_all_sizes_come_back() {
    let gateway = Gateway::over([Endpoint::new("a", server().to_string())]);
    let stream = TcpStream::connect(gateway.address()).expect("it listens");
    let url = "ws://a.example/chat?room=1";
    let (mut socket, response) = client_with_config(url, stream, config()).expect("it switches");
    assert_eq!(response.status(), 101);
    for length in [0, 1, 125, 126, 65_535, 65_536, 1 << 20, 16 << 20] {
        let sent = Message::binary(noise(length));
        socket.send(sent.clone()).expect("it is sent");
        assert!(socket.read().expect("an answer") == sent, "{length}");
    }
    socket
        .send(Message::Ping("ping".into()))
        .expect("it is sent");
    assert_eq!(
        socket.read().expect("an answer"),
        Message::Pong("ping".into())
    );
    let bye = CloseFrame {
        code: CloseCode::Normal,
        reason: "bye".into(),
    };
    socket.close(Some(bye.clone())).expect("it is sent");
    assert_eq!(socket.read().expect("an answer"), Message::Close(Some(bye)));
    while socket.read().is_ok() {}
    drop(socket);
    gateway.assert_blameless();
}
