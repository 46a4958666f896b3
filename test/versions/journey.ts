import { framesIn } from "../support/turn-client.ts";

/** The status and the body of each answer: JSON, a list of frames, or a text. */
export type Answers = ReadonlyMap<string, { readonly status: number; readonly body: unknown }>;

const JSON_ONLY = { accept: "application/json" };

/** Sends a request for each endpoint of a conversation that version 0.2.0 has, and for each frame of a socket. */
export async function travel(url: string, id: string): Promise<Answers> {
  const answers = new Map<string, { status: number; body: unknown }>();
  const at = `/conversations/${id}`;
  const call = async (request: string, body?: unknown, headers: HeadersInit = {}) => {
    const [method = "", path = ""] = request.split(" ");
    const answer = await send(url, request, { body, headers });
    answers.set(`${method} ${path.replaceAll(/[\w-]{20,}/g, ":id")}`, answer);
    // Each answer that is used is an object of JSON.
    return answer.body as { readonly [key: string]: unknown };
  };
  const { message } = await call(
    `POST ${at}/messages`,
    { message: "Summarize my orders.", agent: "orders" },
    JSON_ONLY,
  );
  const { id: answer } = message as { readonly id: string };
  await call("POST /conversations", post(id, "What are the monthly totals?"));
  const refund = { message: "Refund order ord_00009.", agent: "refunds" };
  const waiting = await call(`POST ${at}/messages?waits`, refund, JSON_ONLY);
  await call(`GET ${at}`);
  await call(`POST ${at}/approvals/${approvalIn(waiting)}`, { approved: true }, JSON_ONLY);
  await call(`PUT ${at}/variables/rows`, [{ n: 2 }, { n: 3 }]);
  await call(`PUT ${at}/variables/large`, { text: "x".repeat(9_000_000) });
  await call(`GET ${at}/variables/large?path=.text`, undefined, { range: "bytes=0-9" });
  await call(`PUT ${at}/variables/sales`, "a,b\n1,2\n", { "content-type": "text/csv" });
  await call(`PATCH ${at}/variables/rows`, { pinned: true, ttl: 3_600 });
  await call(`POST ${at}/variables`, { set: { more: { value: 1 } } });
  await call(`GET ${at}/variables`);
  await call(`GET ${at}/variables/rows/info`);
  await call(`POST ${at}/interpolate`, { text: "n is $rows[0].n" });
  await call(`POST ${at}/query`, { sql: "SELECT sum(n) AS n FROM rows", saveAs: "total" });
  await call(`PUT ${at}/files/a.txt`, "hello", { "content-type": "text/plain" });
  await call(`GET ${at}/files`);
  await call(`GET ${at}/files/a.txt`);
  const plan = await call(`POST ${at}/plans?agent=orders`, PLAN);
  await call(`GET ${at}/plans/${String(plan.id)}`);
  await call(`POST ${at}/plans/${String(plan.id)}/approve`);
  await call(`POST ${at}/plans/${String(plan.id)}/run`, {}, JSON_ONLY);
  await call(`POST ${at}/approvals/legal`, { approved: true }, JSON_ONLY);
  await call(`POST ${at}/plans/${String(plan.id)}/cancel`);
  await call(`GET ${at}/plans`);
  await call(`GET ${at}/messages/${answer}/receipt`);
  await call(`GET ${at}/messages/${answer}/timeline`);
  await call(`GET ${at}/messages`);
  await call(`GET /agents/orders/prompt?conversation=${id}`);
  await call(`GET ${at}/events`);
  await call(`GET ${at}/stream`, undefined, { "last-event-id": "0" });
  await call(`POST ${at}/stop`);
  await call(`PATCH ${at}`, { title: "Orders" });
  await call(`POST ${at}/tickets`, { path: `${at}/variables/rows` });
  const exported = await fetch(`${url}${at}/export`);
  const file = await exported.text();
  answers.set("export", { status: exported.status, body: file.trim().split("\n").map(valueOf) });
  await call(`POST /conversations/import?id=${id}-import`, file, {
    "content-type": "application/x-ndjson",
  });
  await call(`POST ${at}/fork`, { id: `${id}-fork` });
  answers.set("socket", { status: 101, body: await framesOfSocket(`${url}${at}/socket`, id) });
  await call("GET /conversations?limit=2");
  await call(`DELETE ${at}/variables/rows`);
  await call(`DELETE ${at}/files/a.txt`);
  await call(`DELETE ${at}/variables`);
  await call(`DELETE ${at}-fork`);
  return answers;
}

/** Sends a request such as `GET /agents`. Text is sent as it is, anything else as JSON. */
export async function send(
  url: string,
  request: string,
  { body, headers = {} }: { readonly body?: unknown; readonly headers?: HeadersInit } = {},
) {
  const [method = "", path = ""] = request.split(" ");
  const isText = typeof body === "string";
  const type = body === undefined || isText ? {} : { "content-type": "application/json" };
  const response = await fetch(url + path, {
    method,
    headers: { ...type, ...headers },
    body: isText ? body : JSON.stringify(body),
  });
  const text = await response.text();
  const isStream = response.headers.get("content-type") === "text/event-stream";
  return { status: response.status, body: isStream ? framesIn(text).map(dataOf) : valueOf(text) };
}

/** The plan of `travel`. It waits at a gate. */
const PLAN = {
  name: "Totals",
  calls: [
    { _tool: "list_orders", _id: "list", status: "refunded", _outputPath: "†state.orders" },
    {
      _tool: "monthly_totals",
      orders: "†state.orders",
      _after: "†approvals.legal",
      _outputPath: "†state.totals",
    },
  ],
};

function post(id: string, text: string) {
  const message = { id: `${id}-message`, role: "user", parts: [{ type: "text", text }] };
  return { id, agent: "orders", messages: [message] };
}

/** The id of the approval that a turn waits for. */
export function approvalIn(turn: unknown): string {
  const id = /"approval":\{"id":"([^"]+)"/.exec(JSON.stringify(turn))?.[1];
  if (id === undefined) throw new Error(`No call waits: ${JSON.stringify(turn)}`);
  return id;
}

/** Sends each frame that a client can send; returns those of the server. */
function framesOfSocket(url: string, id: string): Promise<readonly unknown[]> {
  const later = [[{ type: "resume", requestId: "2", id }], [{ type: "abort", requestId: "2" }, {}]];
  const { promise, resolve, reject } = Promise.withResolvers<readonly unknown[]>();
  const socket = new WebSocket(url.replace("http", "ws"));
  const received: unknown[] = [];
  const say = (frame: object) => socket.send(JSON.stringify(frame));
  socket.addEventListener("error", reject);
  socket.addEventListener("close", () => resolve(received));
  socket.addEventListener("open", () => {
    say({ type: "send", requestId: "1", body: {}, ...post(id, "Hello.") });
  });
  socket.addEventListener("message", ({ data }) => {
    const frame = JSON.parse(String(data)) as { readonly type: string };
    received.push(frame);
    if (!["end", "error", "no-active"].includes(frame.type)) return;
    const next = later.shift();
    if (next === undefined) socket.close();
    else next.forEach(say);
  });
  return promise;
}

function dataOf({ data }: { readonly data: string }): unknown {
  return valueOf(data);
}

function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** The paths of all members, with their types. Elements of a list differ by their `type` only. */
export function shapeOf(value: unknown, path = "", shape = new Set<string>()): Set<string> {
  if (Array.isArray(value)) {
    for (const one of value) shapeOf(one, `${path}[${typeIn(one)}]`, shape);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, one] of Object.entries(value)) shapeOf(one, `${path}.${key}`, shape);
  } else shape.add(`${path}: ${value === null ? "null" : typeof value}`);
  return shape;
}

function typeIn(value: unknown): string {
  const isTyped = typeof value === "object" && value !== null && "type" in value;
  return isTyped ? String(value.type) : "";
}
