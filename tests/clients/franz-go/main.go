// franz-go as a client of kafka-chaos (docs/own-clients.md).
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type start struct {
	Type      string            `json:"type"`
	Bootstrap string            `json:"bootstrap"`
	Settings  map[string]string `json:"settings"`
	Assign    [][2]any          `json:"assign"`
	Subscribe []string          `json:"subscribe"`
}

type command struct {
	Type      string   `json:"type"`
	ID        int64    `json:"id"`
	Topic     string   `json:"topic"`
	Partition int32    `json:"partition"`
	Key       []byte   `json:"key"` // JSON's base64
	Value     []byte   `json:"value"`
	Records   int      `json:"records"`
	WaitMs    int      `json:"wait_ms"`
	Offsets   [][3]any `json:"offsets"`
}

type record struct {
	Topic       string `json:"topic"`
	Partition   int32  `json:"partition"`
	Offset      int64  `json:"offset"`
	Value       []byte `json:"value"`
	LeaderEpoch *int32 `json:"leader_epoch,omitempty"`
}

type object map[string]any

var (
	out  = bufio.NewWriter(os.Stdout)
	lock sync.Mutex // promises run on other goroutines
)

func say(message object) {
	line, err := json.Marshal(message)
	if err != nil {
		panic(err)
	}
	lock.Lock()
	defer lock.Unlock()
	out.Write(append(line, '\n'))
	out.Flush()
}

func fail(id int64, err error) {
	message := object{"type": "failed", "id": id, "error": err.Error()}
	var known *kerr.Error
	if errors.As(err, &known) {
		message["error"], message["code"] = known.Message, known.Code
		// What the broker refused before it wrote anything: it definitely did not happen.
		message["definite"] = known == kerr.NotEnoughReplicas || known == kerr.MessageTooLarge
	}
	say(message)
}

func version() string {
	info, _ := debug.ReadBuildInfo()
	for _, dependency := range info.Deps {
		if dependency.Path == "github.com/twmb/franz-go" {
			return strings.TrimPrefix(dependency.Version, "v")
		}
	}
	return "unknown"
}

func milliseconds(text string) time.Duration {
	number, _ := strconv.Atoi(text)
	return time.Duration(number) * time.Millisecond
}

func number(text string) int {
	found, _ := strconv.Atoi(text)
	return found
}

func common(begin start) []kgo.Opt {
	options := []kgo.Opt{kgo.SeedBrokers(strings.Split(begin.Bootstrap, ",")...)}
	if id := begin.Settings["client.id"]; id != "" {
		options = append(options, kgo.ClientID(id))
	}
	return options
}

// producerOptions maps Kafka's settings to franz-go's; "named" is what it goes by.
func producerOptions(settings map[string]string) (options []kgo.Opt, named object) {
	options = []kgo.Opt{kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.MaxBufferedRecords(60_000)}
	named = object{"RequiredAcks": "AllISRAcks", "DisableIdempotentWrite": "false"}
	idempotent := settings["enable.idempotence"] != "false"
	switch settings["acks"] {
	case "0":
		options, named["RequiredAcks"], idempotent = append(options, kgo.RequiredAcks(kgo.NoAck())), "NoAck", false
	case "1":
		options, named["RequiredAcks"], idempotent = append(options, kgo.RequiredAcks(kgo.LeaderAck())), "LeaderAck", false
	}
	if !idempotent {
		options, named["DisableIdempotentWrite"] = append(options, kgo.DisableIdempotentWrite()), "true"
	}
	for name, value := range settings {
		switch name {
		case "linger.ms":
			options, named["ProducerLinger"] = append(options, kgo.ProducerLinger(milliseconds(value))), value
		case "retries":
			options, named["RecordRetries"] = append(options, kgo.RecordRetries(number(value))), value
		case "delivery.timeout.ms":
			options, named["RecordDeliveryTimeout"] = append(options, kgo.RecordDeliveryTimeout(milliseconds(value))), value
		case "request.timeout.ms":
			options, named["ProduceRequestTimeout"] = append(options, kgo.ProduceRequestTimeout(milliseconds(value))), value
		case "transaction.timeout.ms":
			options, named["TransactionTimeout"] = append(options, kgo.TransactionTimeout(milliseconds(value))), value
		case "transactional.id":
			options, named["TransactionalID"] = append(options, kgo.TransactionalID(value)), value
		case "max.in.flight.requests.per.connection":
			if !idempotent {
				options = append(options, kgo.MaxProduceRequestsInflightPerBroker(number(value)))
				named["MaxProduceRequestsInflightPerBroker"] = value
			}
		}
	}
	return options, named
}

func consumerOptions(begin start) (options []kgo.Opt, named object) {
	named = object{"ConsumeResetOffset": "AtStart"}
	options = []kgo.Opt{kgo.ConsumeResetOffset(kgo.NewOffset().AtStart())}
	if begin.Settings["isolation.level"] == "read_committed" {
		options = append(options, kgo.FetchIsolationLevel(kgo.ReadCommitted()))
		named["FetchIsolationLevel"] = "ReadCommitted"
	}
	if len(begin.Subscribe) > 0 {
		told := func(kind string, lost bool) func(context.Context, *kgo.Client, map[string][]int32) {
			return func(_ context.Context, _ *kgo.Client, places map[string][]int32) { sayMoved(kind, lost, places) }
		}
		return append(options, kgo.ConsumerGroup(begin.Settings["group.id"]), kgo.DisableAutoCommit(), kgo.ConsumeTopics(begin.Subscribe...),
			kgo.Balancers(kgo.RangeBalancer()), kgo.OnPartitionsAssigned(told("assigned", false)),
			kgo.OnPartitionsRevoked(told("revoked", false)), kgo.OnPartitionsLost(told("revoked", true))), named
	}
	places := map[string]map[int32]kgo.Offset{}
	for _, place := range begin.Assign {
		topic, partition := place[0].(string), int32(place[1].(float64))
		if places[topic] == nil {
			places[topic] = map[int32]kgo.Offset{}
		}
		places[topic][partition] = kgo.NewOffset().AtStart()
	}
	return append(options, kgo.ConsumePartitions(places)), named
}

func sayMoved(kind string, lost bool, places map[string][]int32) {
	moved := [][2]any{}
	for topic, partitions := range places {
		for _, partition := range partitions {
			moved = append(moved, [2]any{topic, partition})
		}
	}
	message := object{"type": kind, "partitions": moved}
	if lost {
		message["lost"] = true
	}
	say(message)
}

func produce(client *kgo.Client, do command) {
	sent := &kgo.Record{Topic: do.Topic, Partition: do.Partition, Key: do.Key, Value: do.Value}
	client.Produce(context.Background(), sent, func(told *kgo.Record, err error) {
		if err != nil {
			fail(do.ID, err)
		} else if told.Offset < 0 {
			say(object{"type": "acknowledged", "id": do.ID})
		} else {
			say(object{"type": "acknowledged", "id": do.ID, "offset": told.Offset})
		}
	})
}

func poll(client *kgo.Client, do command) {
	limit, cancel := context.WithTimeout(context.Background(), time.Duration(do.WaitMs)*time.Millisecond)
	defer cancel()
	fetches := client.PollRecords(limit, do.Records)
	found := []record{}
	fetches.EachRecord(func(one *kgo.Record) {
		read := record{Topic: one.Topic, Partition: one.Partition, Offset: one.Offset, Value: one.Value}
		if one.LeaderEpoch >= 0 {
			read.LeaderEpoch = &one.LeaderEpoch
		}
		found = append(found, read)
	})
	for _, failed := range fetches.Errors() {
		if len(found) == 0 && !errors.Is(failed.Err, context.DeadlineExceeded) {
			fail(do.ID, failed.Err)
			return
		}
	}
	say(object{"type": "polled", "id": do.ID, "records": found})
}

func commitOffsets(client *kgo.Client, do command) {
	offsets := map[string]map[int32]kgo.EpochOffset{}
	for _, one := range do.Offsets {
		topic := one[0].(string)
		if offsets[topic] == nil {
			offsets[topic] = map[int32]kgo.EpochOffset{}
		}
		offsets[topic][int32(one[1].(float64))] = kgo.EpochOffset{Epoch: -1, Offset: int64(one[2].(float64))}
	}
	var failed error
	client.CommitOffsetsSync(context.Background(), offsets,
		func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
			failed = err
			if answer != nil {
				for _, topic := range answer.Topics {
					for _, partition := range topic.Partitions {
						failed = errors.Join(failed, kerr.ErrorForCode(partition.ErrorCode))
					}
				}
			}
		})
	done(do.ID, "committed", failed)
}

func done(id int64, kind string, err error) {
	if err != nil {
		fail(id, err)
	} else {
		say(object{"type": kind, "id": id})
	}
}

func carryOut(client *kgo.Client, do command) {
	switch do.Type {
	case "produce":
		produce(client, do)
	case "poll":
		poll(client, do)
	case "commit-offsets":
		commitOffsets(client, do)
	case "begin":
		done(do.ID, "begun", client.BeginTransaction())
	case "commit":
		err := client.Flush(context.Background())
		if err == nil {
			err = client.EndTransaction(context.Background(), kgo.TryCommit)
		}
		done(do.ID, "committed", err)
	case "abort":
		err := client.AbortBufferedRecords(context.Background())
		if err == nil {
			err = client.EndTransaction(context.Background(), kgo.TryAbort)
		}
		done(do.ID, "aborted", err)
	}
}

func main() {
	say(object{
		"type": "hello", "protocol": 1, "name": "franz-go", "version": version(),
		"can":      []string{"produce", "consume", "idempotence", "transactions", "groups", "acks-0", "acks-1"},
		"defaults": map[string]string{"enable.idempotence": "true", "acks": "all"},
	})
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	if !lines.Scan() {
		return // it was only asked who it is
	}
	var begin start
	if err := json.Unmarshal(lines.Bytes(), &begin); err != nil {
		panic(err)
	}
	var options []kgo.Opt
	var named object
	if begin.Type == "start-producer" {
		options, named = producerOptions(begin.Settings)
	} else {
		options, named = consumerOptions(begin)
	}
	client, err := kgo.NewClient(append(common(begin), options...)...)
	if err != nil {
		say(object{"type": "refused", "reason": err.Error()})
		return
	}
	defer client.Close()
	say(object{"type": "ready", "settings": named})
	for lines.Scan() {
		var do command
		if err := json.Unmarshal(lines.Bytes(), &do); err != nil {
			panic(err)
		}
		carryOut(client, do)
	}
}
