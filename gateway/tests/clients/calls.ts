// Calls the gateway through the types that openapi-typescript makes, and tells what came back as JSON.

import { readFileSync } from "node:fs";
import createClient from "openapi-fetch";
import type { components, paths } from "./schema.js";

const given = JSON.parse(readFileSync(0, "utf-8")) as {
  base_url: string;
  key: string;
  connections: { notes: string; chat: string };
};
const { notes, chat } = given.connections;
const clientOf = (key: string) =>
  createClient<paths, "application/json">({ baseUrl: given.base_url, headers: { Authorization: `Bearer ${key}` } });
const client = clientOf(given.key);

type Database = components["schemas"]["NotesDatabase"];

async function listed(): Promise<Database> {
  const { data, error } = await client.GET("/v1/connectors/notes/databases", {
    params: { query: { connection_id: notes, query: "lead", limit: 1 } },
  });
  if (error) throw new Error(error.error.message);
  return data.data[0]!;
}

async function created(properties: Record<string, unknown>, idempotency_key?: string) {
  const { database_id } = await listed();
  return client.POST("/v1/connectors/notes/pages", {
    body: { connection_id: notes, database_id, properties, idempotency_key, children: ["First call went well."] },
  });
}

// Every code that a status can have is known: one more, or one fewer, and this does not compile.
const REASONS: Record<components["schemas"]["CreatePageUnprocessableError"]["error"]["code"], string> = {
  idempotency_key_reused: "IdempotencyKeyReused",
  lossy_cast: "LossyCast",
  invalid_parameters: "InvalidParameters",
  connection_mismatch: "ConnectionMismatch",
  unsupported_block: "UnsupportedBlock",
  upstream_refused: "UpstreamRefused",
};

const first = await created({ Name: "Northwind" }, "generated");
const again = await created({ Name: "Northwind" }, "generated");
if (!first.data || !again.data) throw new Error("The page was not created.");
const run = await client.GET("/v1/runs/{run_id}", { params: { path: { run_id: first.data.run_id } } });
const refused = await created({ Name: "Northwind", Value: "much" });
if (!refused.error) throw new Error("The value was taken.");
const refusal = refused.error.error;
if (refusal.code !== "lossy_cast") throw new Error(refusal.message);
const changes = await client.GET("/v1/connectors/notes/events", {
  params: { query: { connection_id: notes, limit: 1 } },
});
const messages = await client.GET("/v1/connectors/chat/events", {
  params: { query: { connection_id: chat, limit: 1 } },
});
const stranger = await clientOf("cgw_of_nobody").GET("/v1/connectors/notes/databases", {
  params: { query: { connection_id: notes } },
});
const change: components["schemas"]["NotesEvent"] = changes.data!.data[0]!;
const message: components["schemas"]["ChatEvent"] = messages.data!.data[0]!;
const { title } = await listed();
console.log(
  JSON.stringify({
    title,
    status: first.data.status,
    once: first.data.data.page_id === again.data.data.page_id,
    operation: run.data!.data.operation,
    code: refusal.code,
    kind: REASONS[refusal.code],
    property: refusal.details[0]!.property,
    unauthorized: stranger.error!.error.code,
    events: [change.type, message.type],
    before: change.from,
    text: message.text,
  }),
);
