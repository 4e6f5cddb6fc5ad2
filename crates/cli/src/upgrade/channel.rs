//! The pair of sockets between two processes: messages as JSON behind their length, and sockets.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, Interest};
use tokio::net::UnixStream;

/// The longest message that is believed.
const MESSAGE_MAX: usize = 1 << 28;

/// One end of the pair.
#[derive(Debug)]
pub(super) struct Channel(UnixStream);

impl Channel {
    /// An end for this process, and one for another.
    pub(super) fn pair() -> io::Result<(Self, OwnedFd)> {
        let (ours, theirs) = std::os::unix::net::UnixStream::pair()?;
        Ok((Self::of(ours.into())?, theirs.into()))
    }

    /// The end that another process gave us.
    pub(super) fn of(socket: OwnedFd) -> io::Result<Self> {
        let socket = std::os::unix::net::UnixStream::from(socket);
        socket.set_nonblocking(true)?;
        UnixStream::from_std(socket).map(Self)
    }

    /// Sends a message. Dropped before its end it leaves the channel unusable.
    pub(super) async fn send(&mut self, message: &impl Serialize) -> io::Result<()> {
        let mut bytes = vec![0; 4];
        serde_json::to_writer(&mut bytes, message)?;
        let length = u32::try_from(bytes.len() - 4).map_err(io::Error::other)?;
        bytes[..4].copy_from_slice(&length.to_be_bytes());
        self.0.write_all(&bytes).await
    }

    /// Waits for a message. Dropped before its end it leaves the channel unusable.
    pub(super) async fn receive<T: DeserializeOwned>(&mut self) -> io::Result<T> {
        let length = self.0.read_u32().await? as usize;
        if length > MESSAGE_MAX {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut bytes = vec![0; length];
        self.0.read_exact(&mut bytes).await?;
        Ok(serde_json::from_slice(&bytes)?)
    }

    /// Sends a hold on a socket, with a byte that carries it.
    pub(super) async fn send_socket(&self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let send = || {
            let sockets = [socket];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut rights = SendAncillaryBuffer::new(&mut space);
            rights.push(SendAncillaryMessage::ScmRights(&sockets));
            let byte = [IoSlice::new(b"s")];
            sendmsg(self.0.as_fd(), &byte, &mut rights, SendFlags::empty())?;
            Ok(())
        };
        self.0.async_io(Interest::WRITABLE, send).await
    }

    /// Waits for a hold on a socket.
    pub(super) async fn receive_socket(&self) -> io::Result<OwnedFd> {
        let receive = || {
            let mut byte = [0];
            let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
            let mut rights = RecvAncillaryBuffer::new(&mut space);
            let mut bytes = [IoSliceMut::new(&mut byte)];
            let flags = RecvFlags::CMSG_CLOEXEC;
            recvmsg(self.0.as_fd(), &mut bytes, &mut rights, flags)?;
            let socket = rights.drain().find_map(|message| match message {
                RecvAncillaryMessage::ScmRights(mut sockets) => sockets.next(),
                _ => None,
            });
            socket.ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
        };
        self.0.async_io(Interest::READABLE, receive).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_sockets_come_in_their_order() {
        let talk = async {
            let (mut ours, theirs) = Channel::pair().expect("a pair");
            let mut theirs = Channel::of(theirs).expect("a socket");
            let socket = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
            let address = socket.local_addr().expect("bound");
            ours.send(&"first").await.expect("it listens");
            ours.send_socket(socket.as_fd()).await.expect("it listens");
            ours.send_socket(socket.as_fd()).await.expect("it listens");
            ours.send(&vec![7; 100]).await.expect("it listens");
            drop((ours, socket));
            let first: String = theirs.receive().await.expect("a message");
            assert_eq!(first, "first");
            for _ in 0..2 {
                let socket = theirs.receive_socket().await.expect("a socket");
                let socket = std::net::TcpListener::from(socket);
                assert_eq!(socket.local_addr().expect("bound"), address);
            }
            let last: Vec<u8> = theirs.receive().await.expect("a message");
            assert_eq!(last, [7; 100]);
            let none = theirs.receive::<String>().await.expect_err("it is gone");
            assert_eq!(none.kind(), io::ErrorKind::UnexpectedEof);
        };
        crate::host::event_loop().expect("a loop").block_on(talk);
    }
}
