//! rskafka as a client of kafka-chaos (docs/own-clients.md).
//!
//! rskafka has a client for each partition, sends with acks=all, and knows no idempotence, transactions or groups. It
//! tries again until a deadline.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::{Engine, engine::general_purpose::STANDARD};
use rskafka::BackoffConfig;
use rskafka::client::error::{Error, ProtocolError};
use rskafka::client::partition::{Compression, OffsetAt, PartitionClient, UnknownTopicHandling};
use rskafka::client::{Client, ClientBuilder};
use rskafka::record::{Record, RecordAndOffset};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

const VERSION: &str = "0.6.0"; // Cargo.toml has exactly this one
const BATCH: usize = 500;
const DELIVERY: Duration = Duration::from_secs(120);
const FETCHED_BYTES: i32 = 1 << 20;

#[derive(Deserialize)]
struct Start {
    bootstrap: String,
    settings: HashMap<String, String>,
    #[serde(default)]
    assign: Vec<(String, i32)>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
enum Command {
    Produce { id: i64, topic: String, partition: i32, key: Option<String>, value: String },
    Poll { id: i64, records: usize, wait_ms: i32 },
}

/// A record that waits to be sent.
struct Waiting {
    id: i64,
    record: Record,
}

fn say(message: Value) {
    println!("{message}"); // println locks stdout, a line at a time
}

fn fail(id: i64, error: &Error) {
    let mut message = json!({"type": "failed", "id": id, "error": "Error", "definite": false});
    match error {
        Error::ServerError { protocol_error, .. } => {
            message["error"] = json!(format!("{protocol_error:?}"));
            // What the broker refused before it wrote anything: it definitely did not happen.
            message["definite"] =
                json!(matches!(protocol_error, ProtocolError::NotEnoughReplicas | ProtocolError::MessageTooLarge));
        }
        other => message["error"] = json!(other.to_string().chars().take(200).collect::<String>()),
    }
    say(message);
}

/// Sends what comes, in order, as many records at once as there are.
async fn send(client: Arc<PartitionClient>, mut queue: UnboundedReceiver<Waiting>) {
    while let Some(first) = queue.recv().await {
        let mut batch = vec![first];
        while batch.len() < BATCH
            && let Ok(next) = queue.try_recv()
        {
            batch.push(next);
        }
        let (ids, records): (Vec<i64>, Vec<Record>) = batch.into_iter().map(|one| (one.id, one.record)).unzip();
        match client.produce(records, Compression::NoCompression).await {
            Ok(offsets) => {
                for (id, offset) in ids.iter().zip(offsets) {
                    say(json!({"type": "acknowledged", "id": id, "offset": offset}));
                }
            }
            Err(error) => ids.iter().for_each(|id| fail(*id, &error)),
        }
    }
}

/// A partition that is read, and where it is read on.
struct Reading {
    topic: String,
    partition: i32,
    client: PartitionClient,
    next: i64,
}

impl Reading {
    async fn fetch(&mut self, wait_ms: i32) -> Result<Vec<RecordAndOffset>, Error> {
        match self.client.fetch_records(self.next, 1..FETCHED_BYTES, wait_ms).await {
            Ok((records, _)) => Ok(records),
            Err(Error::ServerError { protocol_error: ProtocolError::OffsetOutOfRange, .. }) => {
                self.next = self.client.get_offset(OffsetAt::Earliest).await?;
                Ok(vec![])
            }
            Err(error) => Err(error),
        }
    }
}

async fn poll(places: &mut [Reading], id: i64, limit: usize, wait_ms: i32) {
    let (end, mut found) = (Instant::now() + Duration::from_millis(wait_ms as u64), vec![]);
    for place in places.iter_mut() {
        let left = end.saturating_duration_since(Instant::now()).as_millis() as i32;
        let read = match place.fetch(left).await {
            Ok(read) => read,
            Err(error) if found.is_empty() => return fail(id, &error),
            Err(_) => continue, // asked again at the next poll
        };
        for one in read.into_iter().take(limit - found.len()) {
            place.next = one.offset + 1;
            found.push(json!({"topic": place.topic, "partition": place.partition, "offset": one.offset,
                "value": one.record.value.map(|bytes| STANDARD.encode(bytes))}));
        }
    }
    say(json!({"type": "polled", "id": id, "records": found}));
}

async fn connect(start: &Start) -> Result<Client, Error> {
    let milliseconds = |name: &str| start.settings.get(name).and_then(|text| text.parse().ok());
    let deadline = milliseconds("delivery.timeout.ms").map_or(DELIVERY, Duration::from_millis);
    let backoff = BackoffConfig { deadline: Some(deadline), ..BackoffConfig::default() };
    let brokers = start.bootstrap.split(',').map(str::to_owned).collect();
    ClientBuilder::new(brokers).backoff_config(backoff).build().await
}

async fn partition(client: &Client, topic: &str, number: i32) -> Result<PartitionClient, Error> {
    client.partition_client(topic, number, UnknownTopicHandling::Retry).await
}

#[tokio::main]
async fn main() {
    say(json!({"type": "hello", "protocol": 1, "name": "rskafka", "version": VERSION, "can": ["produce", "consume"],
        "defaults": {"enable.idempotence": "false", "acks": "all"}}));
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    let Ok(Some(first)) = lines.next_line().await else { return }; // it was only asked who it is
    let start: Start = serde_json::from_str(&first).expect("a start");
    let client = match connect(&start).await {
        Ok(client) => client,
        Err(error) => return say(json!({"type": "refused", "reason": error.to_string()})),
    };
    let mut places = vec![];
    for (topic, number) in &start.assign {
        match partition(&client, topic, *number).await {
            Ok(client) => places.push(Reading { topic: topic.clone(), partition: *number, client, next: 0 }),
            Err(error) => return say(json!({"type": "refused", "reason": error.to_string()})),
        }
    }
    say(json!({"type": "ready", "settings": {"acks": "all"}}));
    let mut queues: HashMap<(String, i32), UnboundedSender<Waiting>> = HashMap::new();
    while let Ok(Some(line)) = lines.next_line().await {
        match serde_json::from_str(&line).expect("a command") {
            Command::Poll { id, records, wait_ms } => poll(&mut places, id, records, wait_ms).await,
            Command::Produce { id, topic, partition: number, key, value } => {
                let place = (topic.clone(), number);
                if !queues.contains_key(&place) {
                    match partition(&client, &topic, number).await {
                        Ok(made) => {
                            let (sender, queue) = unbounded_channel();
                            tokio::spawn(send(Arc::new(made), queue));
                            queues.insert(place.clone(), sender);
                        }
                        Err(error) => {
                            fail(id, &error);
                            continue;
                        }
                    }
                }
                let record = Record {
                    key: key.map(|text| STANDARD.decode(text).expect("base64")),
                    value: Some(STANDARD.decode(value).expect("base64")),
                    headers: BTreeMap::new(),
                    timestamp: chrono::Utc::now(),
                };
                let _ = queues[&place].send(Waiting { id, record }); // it lives as long as the queue
            }
        }
    }
}
