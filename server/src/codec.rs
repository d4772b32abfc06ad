//! [`Codec`]: sends responses that are already encoded.

use std::marker::PhantomData;

use bytes::{BufMut as _, Bytes};
use tonic::Status;
use tonic::codec::{DecodeBuf, Decoder, EncodeBuf, Encoder};

/// A protobuf message, which is assembled when the client has room for it. Until then, a call takes
/// little memory.
///
/// A response is assembled from parts that the index keeps encoded, so it is not decoded and
/// encoded again for each call.
pub(crate) struct Message(Box<dyn FnOnce() -> Result<Bytes, Status> + Send>);

/// Decodes requests of the type `R`, and sends responses as they are.
#[derive(Debug)]
pub(crate) struct Codec<R>(PhantomData<R>);

impl<R> Default for Codec<R> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl Message {
    pub(crate) fn new(encode: impl FnOnce() -> Result<Bytes, Status> + Send + 'static) -> Self {
        Self(Box::new(encode))
    }
}

impl<M: prost::Message> From<&M> for Message {
    fn from(message: &M) -> Self {
        let bytes = message.encode_to_vec().into();
        Self::new(|| Ok(bytes))
    }
}

impl<R: prost::Message + Default + 'static> tonic::codec::Codec for Codec<R> {
    type Encode = Message;
    type Decode = R;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        Self::default()
    }

    fn decoder(&mut self) -> Self {
        Self::default()
    }
}

impl<R> Encoder for Codec<R> {
    type Item = Message;
    type Error = Status;

    fn encode(&mut self, message: Message, buffer: &mut EncodeBuf<'_>) -> Result<(), Status> {
        buffer.put((message.0)()?);
        Ok(())
    }
}

impl<R: prost::Message + Default> Decoder for Codec<R> {
    type Item = R;
    type Error = Status;

    fn decode(&mut self, buffer: &mut DecodeBuf<'_>) -> Result<Option<R>, Status> {
        R::decode(buffer).map(Some).map_err(|error| Status::internal(error.to_string()))
    }
}
