use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

/// Objects by path, which clients can read and replace. Its threads end with the test process.
#[derive(Clone)]
pub(crate) struct ApiServer {
    pub(crate) address: SocketAddr,
    objects: Arc<Mutex<BTreeMap<String, Value>>>,
}

impl ApiServer {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let server = Self { address: listener.local_addr().unwrap(), objects: Arc::default() };
        let accepting = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = accepting.clone();
                thread::spawn(move || server.respond(stream));
            }
        });
        server
    }

    pub(crate) fn put(&self, path: &str, object: Value) {
        self.objects.lock().unwrap().insert(path.to_owned(), object);
    }

    pub(crate) fn take(&self, path: &str) -> Option<Value> {
        self.objects.lock().unwrap().remove(path)
    }

    /// Responds to one request, and closes the connection.
    fn respond(&self, mut stream: TcpStream) {
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        let mut words = line.split_whitespace();
        let (method, path) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let mut length = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header).unwrap();
            let Some((name, value)) = header.trim_end().split_once(": ") else { break };
            if name.eq_ignore_ascii_case("content-length") {
                length = value.parse().unwrap();
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut objects = self.objects.lock().unwrap();
        let (status, response) = match (method, objects.contains_key(path)) {
            ("GET", true) => (200, objects[path].clone()),
            ("PUT", true) => {
                let object: Value = serde_json::from_slice(&body).unwrap();
                objects.insert(path.to_owned(), object.clone());
                (200, object)
            }
            _ => (404, json!({"kind": "Status", "message": "not found", "code": 404})),
        };
        drop(objects);
        let response = response.to_string();
        let head = format!(
            "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\
             Connection: close\r\n\r\n",
            response.len()
        );
        // The client may have disconnected.
        let _ =
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(response.as_bytes()));
    }
}
