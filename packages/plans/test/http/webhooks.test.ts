import { Webhook } from "standardwebhooks";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { ErrorCode } from "../../../../src/errors.ts";
import * as limits from "../../../../src/limits.ts";
import { json, problemIn } from "../../../../test/support/edge.ts";
import { NodeRuntime } from "../../../../test/support/node-runtime.ts";
import { payingPlanner, planning } from "../../../../test/support/planning.ts";
import { programView, webhookView } from "../../src/http/program-schemas.ts";
import { runsOf as listedRuns } from "./program-runs.ts";

const NOW = new Date("2026-11-29T22:00:00Z");

beforeEach(() => void vi.useFakeTimers({ now: NOW, toFake: ["Date"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const echo = {
  input: { type: "object", properties: { value: { type: "number" } } },
  calls: [{ _tool: "echo", value: "†input.value", _outputPath: "†state.out" }],
};

async function hooked(program: object = echo) {
  const { tools, policy, paid } = payingPlanner();
  const log: string[] = [];
  for (const method of ["log", "error", "warn"] as const) {
    vi.spyOn(console, method).mockImplementation((...said) => void log.push(said.join(" ")));
  }
  const options = { ...planning(tools, { agent: { policy } }), authenticator: tenantOf };
  const runtime = new NodeRuntime(options, { LOG: "turns" });
  await runtime.ask("PUT", "/programs/p", json(program, { "x-tenant": "one" }));
  const { path, secret = "" } = await newWebhook(runtime);
  return { runtime, paid, log, path, secret };
}

function tenantOf({ headers }: Request): string {
  return headers.get("x-tenant") ?? "";
}

async function newWebhook({ ask }: NodeRuntime, tenant = "one") {
  const init = { headers: { "x-tenant": tenant } };
  const response = await ask("PUT", "/programs/p/webhooks/w", init);
  expect(response.status, await response.clone().text()).toBe(200);
  return webhookView().parse(await response.json());
}

interface Sent {
  readonly id?: string;
  readonly at?: Date;
  readonly body?: string;
}

/** A request as the library of other people's senders signs it. */
function signed(
  secret: string,
  { id = "msg_1", at = new Date(), body = `{"value":7}` }: Sent = {},
) {
  return {
    body,
    headers: {
      "content-type": "application/json",
      "webhook-id": id,
      "webhook-timestamp": String(Math.floor(at.getTime() / 1_000)),
      "webhook-signature": new Webhook(secret).sign(id, at, body),
    } as Record<string, string>,
  };
}

/** Waits until no run of the program is running, and returns its runs. */
const runsOf = (runtime: NodeRuntime) =>
  vi.waitFor(async () => {
    const runs = await listedRuns(runtime, "p", { "x-tenant": "one" });
    expect(runs.map(({ status }) => status)).not.toContain("running");
    return runs;
  });

describe("a webhook", () => {
  it.each(["", "\uFEFF"])(
    "runs its program on the body of a signed request, after %j",
    async (mark) => {
      const { runtime, path, secret } = await hooked();
      const body = `${mark}{"value":7}`;
      const response = await runtime.ask("POST", path, signed(secret, { body }));
      expect(response.status).toBe(202);
      const { run } = (await response.json()) as { run: string };
      expect(await runsOf(runtime)).toMatchObject([
        { id: run, status: "done", cause: "webhook:w", input: { value: 7 } },
      ]);
    },
  );

  it("runs once for each id, also if the request comes again, at once or newly signed", async () => {
    const { runtime, path, secret } = await hooked();
    const first = signed(secret);
    const twice = [runtime.ask("POST", path, first), runtime.ask("POST", path, first)];
    const ids = await Promise.all(twice.map(async (one) => (await one).text()));
    vi.setSystemTime(NOW.getTime() + 3_600_000);
    ids.push(await (await runtime.ask("POST", path, signed(secret))).text());
    expect(new Set(ids).size).toBe(1);
    await runtime.ask("POST", path, signed(secret, { id: "msg_2" }));
    expect(await runsOf(runtime)).toHaveLength(2);
  });

  it("fails a run whose version is gone before it begins", async () => {
    const { runtime, path, secret } = await hooked();
    await runtime.ask("POST", path, signed(secret));
    runtime.kill();
    for (let count = 0; count <= limits.maxPlanRuns; count++) {
      const program = { calls: [{ _tool: "echo", value: count, _outputPath: "†state.out" }] };
      await runtime.ask("PUT", "/programs/p", json(program, { "x-tenant": "one" }));
    }
    runtime.start();
    const error = "not_found: There is no version 1 of program p.";
    expect(await runsOf(runtime)).toMatchObject([{ status: "failed", version: 1, error }]);
  });

  it("takes a body of a stranger: it is untrusted, and so is what is made of it", async () => {
    const { runtime, path, secret } = await hooked();
    await runtime.ask("POST", path, signed(secret));
    const [run] = await runsOf(runtime);
    const at = `/conversations/${run?.conversation}/variables/state/info`;
    const info = await runtime.ask("GET", at, { headers: { "x-tenant": "one" } });
    expect(await info.json()).toMatchObject({ trusted: false });
  });

  it("keeps the gates of tools", async () => {
    const { runtime, paid, path, secret } = await hooked({
      input: { type: "object", properties: { value: { type: "number" } } },
      calls: [{ _tool: "pay", amount: "†input.value", _outputPath: "†state.paid" }],
    });
    await runtime.ask("POST", path, signed(secret));
    expect(await runsOf(runtime)).toMatchObject([{ status: "waiting" }]);
    expect(paid).toEqual([]);
  });

  it("shows its secret once; another one replaces it at the same address", async () => {
    const { runtime, log, path, secret } = await hooked();
    const response = await runtime.ask("GET", "/programs/p", { headers: { "x-tenant": "one" } });
    const { webhooks } = programView().parse(await response.json());
    expect(webhooks).toEqual([{ name: "w", path, createdAt: NOW.toISOString() }]);
    const next = await newWebhook(runtime);
    expect([next.path, next.secret === secret]).toEqual([path, false]);
    await problemIn(await runtime.ask("POST", path, signed(secret)), "unauthorized");
    expect((await runtime.ask("POST", path, signed(next.secret ?? ""))).status).toBe(202);
    const [run] = await runsOf(runtime);
    const at = `/conversations/${run?.conversation}/export`;
    const exported = await runtime.ask("GET", at, { headers: { "x-tenant": "one" } });
    expect(log.join("") + (await exported.text())).not.toContain(next.secret?.slice(6));
  });

  it("names what is wrong with a signed body, and stores nothing", async () => {
    const { runtime, path, secret } = await hooked();
    const rows: readonly (readonly [string, ErrorCode])[] = [
      ["", "bad_json"],
      ["{", "bad_json"],
      [`{"value":"x"}`, "invalid_plan"],
      ["[".repeat(300) + "]".repeat(300), "limit_exceeded"],
      [JSON.stringify({ more: "x".repeat(1_048_576) }), "limit_exceeded"],
    ];
    for (const [body, code] of rows) {
      await problemIn(await runtime.ask("POST", path, signed(secret, { body })), code);
    }
    expect(await runsOf(runtime)).toEqual([]);
  });
});

type World = Awaited<ReturnType<typeof hooked>> & {
  readonly other: { path: string; secret: string };
};
type Attack = readonly [title: string, attack: (world: World) => Promise<Response>];

/** A request that differs from a good one in its headers. */
const withHeaders =
  (headers: Record<string, string>, sent: Sent = {}): Attack[1] =>
  ({ runtime, path, secret }) => {
    const good = signed(secret, sent);
    return runtime.ask("POST", path, { ...good, headers: { ...good.headers, ...headers } });
  };
/** A request of tenant `two` for what tenant `one` has. */
const asTwo =
  (method: string, path: string, init: RequestInit = {}): Attack[1] =>
  ({ runtime }) =>
    runtime.ask(method, path, { ...init, headers: { ...init.headers, "x-tenant": "two" } });
/** A request without a key. */
const asNobody =
  (method: string, path: string, init?: RequestInit): Attack[1] =>
  ({ runtime }) =>
    runtime.ask(method, path, init);
/** A good request at another address. */
const at =
  (pathOf: (world: World) => string): Attack[1] =>
  (world) =>
    world.runtime.ask("POST", pathOf(world), signed(world.secret));

const MINUTES = 60_000;
const before = (minutes: number) => ({ at: new Date(NOW.getTime() - minutes * MINUTES) });
const forged = encodeURIComponent(JSON.stringify({ tenant: "one" }));
const weekly = json({ cron: "0 8 * * 1", timeZone: "UTC" });

/** All are refused alike. */
const unsigned: readonly Attack[] = [
  ["no headers", ({ runtime, path }) => runtime.ask("POST", path, json({ value: 7 }))],
  ["no id", withHeaders({ "webhook-id": "" }, { id: "" })],
  ["another id than was signed", withHeaders({ "webhook-id": "msg_2" })],
  ["another time than was signed", withHeaders({ "webhook-timestamp": "1796000000" })],
  ["no time", withHeaders({ "webhook-timestamp": "" })],
  ["a time that is no number", withHeaders({ "webhook-timestamp": "NaN" })],
  ["a replay after six minutes", withHeaders({}, before(6))],
  ["a request of the future", withHeaders({}, before(-6))],
  ["a request of 1970", withHeaders({}, { at: new Date(0) })],
  ["no signature", withHeaders({ "webhook-signature": "" })],
  ["an empty signature", withHeaders({ "webhook-signature": "v1," })],
  ["a signature of zeros", withHeaders({ "webhook-signature": `v1,${"A".repeat(43)}=` })],
  ["a signature that is not Base64", withHeaders({ "webhook-signature": `v1,${"é".repeat(43)}=` })],
  ["a signature of version v1a", withHeaders({ "webhook-signature": `v1a,${"A".repeat(43)}=` })],
  [
    "another body than was signed",
    ({ runtime, path, secret }) =>
      runtime.ask("POST", path, { ...signed(secret), body: `{"value":8}` }),
  ],
  [
    "the signature of the eleventh secret",
    ({ runtime, path, secret }) => {
      const good = signed(secret);
      const others = `v1,${"A".repeat(43)}= `.repeat(10);
      const signature = others + good.headers["webhook-signature"];
      const headers = { ...good.headers, "webhook-signature": signature };
      return runtime.ask("POST", path, { ...good, headers });
    },
  ],
  [
    "the secret of another tenant",
    ({ runtime, path, other }) => runtime.ask("POST", path, signed(other.secret)),
  ],
  ["an empty secret", ({ runtime, path }) => runtime.ask("POST", path, signed("whsec_AA=="))],
  ["the webhook of another tenant", at(({ other }) => other.path)],
  ["an unknown webhook of the tenant", at(({ path }) => path.slice(0, -4) + "0000")],
  ["an unknown tenant", at(({ path }) => path.replace("one", "three"))],
  ["the rest of an address, of another tenant", at(({ path }) => path.replace("one", "two"))],
  ["an address without a tenant", at(({ path }) => path.replace("one", ""))],
  ["an address without its secret part", at(() => "/hooks/one")],
  ["an address with a path", at(({ path }) => path.replace("one", "x%2F..%2Fone"))],
  [
    "a deleted webhook",
    async ({ runtime, path, secret }) => {
      await runtime.ask("DELETE", "/programs/p/webhooks/w", { headers: { "x-tenant": "one" } });
      return runtime.ask("POST", path, signed(secret));
    },
  ],
];

const q = json({ conversation: "c", from: "$x" });
const claimed = { headers: { "x-byref-identity": forged } };

const elsewhere: readonly (readonly [...Attack, ErrorCode])[] = [
  ["a GET of the address", ({ runtime, path }) => runtime.ask("GET", path), "unauthorized"],
  ["scheduling without a key", asNobody("PUT", "/programs/p/schedules/s", weekly), "unauthorized"],
  ["reading without a key", asNobody("GET", "/programs/p"), "unauthorized"],
  ["another tenant's conversation", asTwo("PUT", "/programs/q", q), "conversation_not_found"],
  ["a forged identity", asTwo("PUT", "/programs/own/webhooks/w", claimed), "not_found"],
  ...(
    [
      ["PUT", "/schedules/s", weekly],
      ["PUT", "/webhooks/w"],
      ["DELETE", "/webhooks/w"],
      ["DELETE", "/schedules/s"],
      ["GET", ""],
      ["POST", "/runs", json({})],
      ["GET", "/runs"],
      ["GET", "/runs/r1"],
      ["POST", "/runs/r1/retry"],
      ["DELETE", ""],
    ] as const
  ).map(([method, path, init]): [...Attack, ErrorCode] => [
    `${method} ${path} of another tenant's program`,
    asTwo(method, `/programs/own${path}`, init),
    "not_found",
  ]),
];

describe("an attack", () => {
  async function attacked([title, attack]: readonly [string, Attack[1], ...unknown[]]) {
    const world = await hooked();
    const { runtime } = world;
    for (const [name, tenant] of [
      ["own", "one"],
      ["p", "two"],
    ] as const) {
      await runtime.ask("PUT", `/programs/${name}`, json(echo, { "x-tenant": tenant }));
    }
    await runtime.ask("PUT", "/conversations/c/variables/x", json(1, { "x-tenant": "one" }));
    const { path, secret = "" } = await newWebhook(runtime, "two");
    const response = await attack({ ...world, other: { path, secret } });
    const stored = ["one", "two"].flatMap((tenant) => {
      const { sql } = runtime.directoryNamed(JSON.stringify([tenant, "directory"]));
      return sql.all(`SELECT id FROM program_run`);
    });
    expect([title, stored]).toEqual([title, []]);
    return response;
  }

  it("on a webhook is refused, whatever it is, with one answer", async () => {
    const answers = new Set<string>();
    for (const row of unsigned) {
      const response = await attacked(row);
      expect([row[0], response.status]).toEqual([row[0], 401]);
      answers.add(await response.text());
    }
    expect(answers.size).toBe(1);
  });

  it("on the programs of another tenant finds nothing", async () => {
    for (const row of elsewhere) await problemIn(await attacked(row), row[2]);
  });
});
