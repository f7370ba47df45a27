// The event bus from Node: asks `jimbot serve --bus` for a move, and prints every decision that is made.
//
//   npm install @nats-io/transport-node@3 @nats-io/jetstream@3 protobufjs@8
//   node examples/bus.mjs nats://127.0.0.1:4222 question.json [how many decisions to wait for]
//
// question.json: a LearningDecisionRequest as JSON, with the field names of jimbot/proto/events.proto in camelCase.

import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createRequire } from "node:module";

// Libraries are looked for where the script is called, so that it can lie anywhere.
const require = createRequire(join(process.cwd(), "package.json"));
const { connect, headers } = require("@nats-io/transport-node");
const { jetstream } = require("@nats-io/jetstream");
const protobuf = require("protobufjs");

const [address, question, wanted = "1"] = process.argv.slice(2);
const repository = join(dirname(fileURLToPath(import.meta.url)), "..");
const root = new protobuf.Root();
root.resolvePath = (_, file) => (file.startsWith("google/") ? file : join(repository, file));
await root.load("jimbot/proto/events.proto");
const message = (name) => root.lookupType(`jimbot.events.v1.${name}`);

const nats = await connect({ servers: address });
const answers = nats.subscribe("jimbot.learning.decision.response"); // plain subscribers hear durable topics, too

// An event is an envelope: its payload is a google.protobuf.Any that names the message inside.
const request = message("LearningDecisionRequest");
const event = {
  eventId: randomUUID(),
  topic: "learning.decision.request",
  timestampNs: String(BigInt(Date.now()) * 1_000_000n),
  source: "examples/bus.mjs",
  payload: {
    type_url: "type.googleapis.com/jimbot.events.v1.LearningDecisionRequest",
    value: request.encode(request.fromObject(JSON.parse(readFileSync(question, "utf8")))).finish(),
  },
};
const sent = headers();
sent.set("Nats-Msg-Id", event.eventId); // the server keeps one event of an id
const envelope = message("Event");
const kept = await jetstream(nats).publish(`jimbot.${event.topic}`, envelope.encode(envelope.fromObject(event)).finish(), {
  headers: sent,
});
console.error(`asked as event ${event.eventId}, number ${kept.seq} of stream ${kept.stream}`);

let left = Number(wanted);
for await (const heard of answers) {
  const found = envelope.decode(heard.data);
  const decision = message("LearningDecisionResponse").decode(found.payload.value);
  console.log(JSON.stringify({ correlationId: found.correlationId, ...message("LearningDecisionResponse").toObject(decision) }));
  left -= 1;
  if (left === 0) break;
}
await nats.close();
