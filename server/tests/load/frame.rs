//! Frames of HTTP/2, as bytes.

use prost::Message;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// The preface of a client, and its empty settings.
pub(crate) const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";

/// The flag of the last frame of a request.
pub(crate) const END_STREAM: u8 = 1;
/// The flag of the last frame with headers.
pub(crate) const END_HEADERS: u8 = 4;

/// The headers of a call of `ListBundles` (HPACK without an index and without Huffman coding).
pub(crate) const HEADERS_OF_LIST_BUNDLES: &[u8] =
    b"\x83\x86\x04\x19/api.Registry/ListBundles\x01\x01a\x0f\x10\x10application/grpc";

/// The headers of a call of `GetBundle`.
pub(crate) const HEADERS_OF_GET_BUNDLE: &[u8] =
    b"\x83\x86\x04\x17/api.Registry/GetBundle\x01\x01a\x0f\x10\x10application/grpc";

/// The types of frames (RFC 9113, section 6).
pub(crate) mod kind {
    pub(crate) const DATA: u8 = 0;
    pub(crate) const HEADERS: u8 = 1;
    pub(crate) const SETTINGS: u8 = 4;
    pub(crate) const PING: u8 = 6;
    pub(crate) const WINDOW_UPDATE: u8 = 8;
    pub(crate) const CONTINUATION: u8 = 9;
}

/// The header of a frame.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Frame {
    pub(crate) length: u32,
    pub(crate) kind: u8,
    pub(crate) flags: u8,
    pub(crate) stream: u32,
}

impl Frame {
    pub(crate) fn bytes(self) -> [u8; 9] {
        let mut bytes = [0; 9];
        // The length has three bytes, and its fourth is overwritten.
        bytes[..4].copy_from_slice(&(self.length << 8).to_be_bytes());
        bytes[3..5].copy_from_slice(&[self.kind, self.flags]);
        bytes[5..].copy_from_slice(&self.stream.to_be_bytes());
        bytes
    }
}

/// Returns the bytes of a client whose first frame is this one.
pub(crate) fn after_preface(frame: Frame, payload: &[u8]) -> Vec<u8> {
    [PREFACE, &frame.bytes(), payload].concat()
}

/// Sends a call with one message.
pub(crate) async fn send_call(to: &mut TcpStream, stream: u32, headers: &[u8], message: &[u8]) {
    let length = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap();
    let begin = Frame { length: length(headers), kind: kind::HEADERS, flags: END_HEADERS, stream };
    let data = Frame { length: length(message), kind: kind::DATA, flags: END_STREAM, stream };
    let bytes = [begin.bytes().as_slice(), headers, &data.bytes(), message].concat();
    to.write_all(&bytes).await.unwrap();
}

/// Returns a message with its length before it, as gRPC sends it.
pub(crate) fn message(message: &impl Message) -> Vec<u8> {
    let bytes = message.encode_to_vec();
    let length = u32::try_from(bytes.len()).unwrap();
    [[0].as_slice(), &length.to_be_bytes(), &bytes].concat()
}

/// Reads frames until one is of this type.
pub(crate) async fn skip_to(from: &mut TcpStream, kind: u8) {
    let mut header = [0; 9];
    loop {
        from.read_exact(&mut header).await.unwrap();
        let length = u32::from_be_bytes([0, header[0], header[1], header[2]]);
        from.read_exact(&mut vec![0; usize::try_from(length).unwrap()]).await.unwrap();
        if header[3] == kind {
            return;
        }
    }
}
