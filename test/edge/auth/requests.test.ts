import { beforeAll, describe, expect, it } from "vitest";
import worker from "../../../src/index.ts";
import { callWith, json, newId, problemIn } from "../../support/edge.ts";

const [ALICE, BOB] = ["alice-key-0123456789", "bob-key-9876543210"];
/** Key of a tenant that has made no request yet; a different one for each route. */
const newcomerOf = (index: number) => `newcomer-${index}-0123456789`;
const newcomers = Array.from({ length: 200 }, (_, index) => [newcomerOf(index), `new-${index}`]);
const call = callWith({
  AUTH: "bearer",
  API_KEYS: JSON.stringify({ [ALICE]: "alice", [BOB]: "bob", ...Object.fromEntries(newcomers) }),
});
const as = (key: string) => ({ authorization: `Bearer ${key}` });
const CANARY = "canary-of-alice";

/** Routes without authentication. */
const PUBLIC = new Set(["GET /health"]);
/** Every route of the Worker, so that new ones are tested automatically. Deletions come last. */
const routes = [
  ...new Set(
    worker.routes
      .filter(({ method }) => method !== "ALL")
      .map(({ method, path }) => `${method} ${path}`),
  ),
]
  .filter((route) => !PUBLIC.has(route))
  .toSorted((one, other) => Number(one.startsWith("DELETE")) - Number(other.startsWith("DELETE")));

type Whole = { readonly id: string; readonly plan: string };

/** Creates a conversation with data of every kind for Alice. */
async function newConversation(): Promise<Whole> {
  const id = newId();
  const path = `/conversations/${id}`;
  const post = async (rest: string, body: unknown, headers = {}) => {
    const init = json(body, { ...as(ALICE), ...headers });
    const response = await call("POST", path + rest, init);
    if (!response.ok) throw new Error(await response.text());
    return response;
  };
  const asked = await post("/messages", { message: CANARY }, { accept: "text/plain" });
  await asked.text();
  await call("PUT", `${path}/variables/photo`, json(CANARY, as(ALICE)));
  const calls = [{ _id: "a", _tool: "get_weather", location: "NYC" }];
  const { id: plan } = await (await post("/plans", { calls })).json<{ id: string }>();
  await call("PATCH", path, { ...json({ title: CANARY }, as(ALICE)) });
  return { id, plan };
}

/** Returns a valid body for routes that reject an empty object. */
function bodyFor(route: string, { id }: Whole): unknown {
  const text = { role: "user", parts: [{ type: "text", text: "Hello" }] };
  const bodies: Readonly<Record<string, unknown>> = {
    "POST /conversations": { id, messages: [text] },
    "POST /conversations/:id/messages": { message: "Hello" },
    "POST /conversations/:id/approvals/:approval": { approved: true },
    "POST /conversations/:id/interpolate": { text: "{{photo}}" },
    "POST /conversations/:id/plans": {
      calls: [{ _id: "a", _tool: "get_weather", location: "NYC" }],
    },
    "POST /conversations/:id/tickets": { path: `/conversations/${id}/variables/photo` },
    "PATCH /conversations/:id": { title: "Bob's" },
    "PATCH /conversations/:id/variables/:name": { pinned: true },
  };
  return bodies[route] ?? {};
}

function send(route: string, whole: Whole, headers: Record<string, string>) {
  const [method = "", pattern = "", query = ""] = route.split(" ");
  const names: Readonly<Record<string, string>> = { name: "photo", ...whole };
  const path = pattern.replaceAll(/:(\w+)(?:\{.+\})?/g, (_, name: string) => names[name] ?? "x");
  const hasBody = method !== "GET" && method !== "DELETE";
  const init = hasBody ? json(bodyFor(route, whole), headers) : { headers };
  return call(method, path + query, init);
}

/** Returns the whole answer, with placeholders for ids, times and signatures. */
async function told(response: Response, { id, plan }: Whole): Promise<string> {
  const headers = [...response.headers].map(([name, value]) => `${name}: ${value}\n`);
  return `${response.status}\n${headers.join("")}\n${await response.text()}`
    .replaceAll(id, "<id>")
    .replaceAll(plan, "<plan>")
    .replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, "<uuid>")
    .replaceAll(/^etag: .*$/gm, "etag: <etag>")
    .replaceAll(/"etag":"\\"\w+\\""/g, '"etag":"<etag>"')
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/"(?:ticket|id)":"[^"]+"/g, "<new>");
}

/** Routes that create a missing conversation, which then belongs to the caller. */
const MAKES = new Set([
  "POST /conversations",
  "POST /conversations/:id/messages",
  "POST /conversations/:id/plans",
  "POST /conversations/:id/tickets",
  "POST /conversations/:id/variables",
  "PUT /conversations/:id/variables/:name",
  "PUT /conversations/:id/files/:path{[^]+}",
]);
/** Shapes of answers about a conversation that does not exist: an error, or an empty result. */
const NOTHING = [
  /^(?:400|404|409|422)\n/,
  /^204\n/,
  /\n\{"\w+":\[\]\}$/,
  /\n\{"stopped":false\}$/,
  /\n\{"text":"\{\{photo\}\}"/,
];

function showsNothing(route: string, answer: string): boolean {
  const isOfNobody = route.startsWith("GET ") && !route.includes("/conversations");
  // Needs a signature in place of a key.
  if (route === "POST /hooks/:hook") return answer.startsWith("401\n");
  return isOfNobody || MAKES.has(route) || NOTHING.some((shape) => shape.test(answer));
}

describe("every route", () => {
  let guarded: Whole;

  beforeAll(async () => void (guarded = await newConversation()));

  it("is known", () => {
    for (const route of ["POST /conversations", "DELETE /conversations/:id/variables"]) {
      expect(routes).toContain(route);
    }
    expect(routes.length).toBeGreaterThan(20);
  });

  it.each(routes)("%s needs a key, whether or not the conversation exists", async (route) => {
    const nothing = { id: newId(), plan: "plan-x" };
    const wrong = [
      {},
      as(`${ALICE}x`),
      as("undefined"),
      { authorization: ALICE },
      { cookie: `key=${ALICE}`, "x-api-key": ALICE },
      { "x-byref-local": "x", "x-tenant": "alice", "x-byref-tenant": "alice", tenant: "alice" },
    ];
    for (const headers of wrong) {
      const said = [];
      for (const whole of [guarded, nothing]) {
        const response = await send(route, whole, { host: "localhost", ...headers });
        expect(response.headers.get("www-authenticate")).toBe("Bearer");
        said.push(await problemIn(response, "unauthorized"));
      }
      expect(said[0]).toEqual(said[1]);
    }
    for (const query of ["?ticket=x.y", `?key=${ALICE}`, `?authorization=${ALICE}`]) {
      await problemIn(await send(`${route} ${query}`, guarded, {}), "unauthorized");
    }
  });

  it.each(routes)("%s answers another tenant as if nothing existed", async (route) => {
    const nothing = { id: newId(), plan: guarded.plan };
    // Both tenants are new, so that conversations of their own do not differ.
    const [mine, other] = [
      as(newcomerOf(routes.indexOf(route))),
      as(newcomerOf(199 - routes.indexOf(route))),
    ];
    const answer = await told(await send(route, guarded, mine), guarded);
    expect(answer).not.toContain(CANARY);
    expect(answer).toBe(await told(await send(route, nothing, other), nothing));
    expect(showsNothing(route, answer)).toBe(true);

    // The request has changed nothing.
    const path = `/conversations/${guarded.id}`;
    const read = async (rest: string) =>
      (await call("GET", path + rest, { headers: as(ALICE) })).text();
    expect(await read("/variables/photo")).toBe(CANARY);
    const about = JSON.parse(await read("")) as object;
    expect(about).toMatchObject({ title: CANARY, messages: 2, status: "idle" });
    expect(await read(`/plans/${guarded.plan}`)).not.toContain('"approved"');
  });

  it.each(["GET /health", "GET /nowhere", ...routes])("%s has security headers", async (route) => {
    for (const headers of [{}, as(ALICE), as(BOB)]) {
      const response = await send(route, guarded, headers);
      await response.text();
      const said = Object.fromEntries(response.headers);
      expect(said).toMatchObject({
        "x-content-type-options": "nosniff",
        "referrer-policy": "no-referrer",
        "x-frame-options": "DENY",
        "cross-origin-resource-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
      });
      expect(said["strict-transport-security"]).toMatch(/^max-age=\d{7,}/);
      expect(said["content-security-policy"]).toMatch(/default-src 'none'/);
      expect(said["cache-control"]).toMatch(
        /^(?:no-store|private, no-cache|no-cache, no-transform)$/,
      );
      expect(said["access-control-allow-origin"]).toBeUndefined();
    }
  });
});

describe("a request for a value of Alice", () => {
  async function newSecret(): Promise<string> {
    const path = `/conversations/${newId()}/variables/diary`;
    expect((await call("PUT", path, json("Dear diary", as(ALICE)))).status).toBe(201);
    return path;
  }

  async function expectUntouched(path: string): Promise<void> {
    const response = await call("GET", path, { headers: as(ALICE) });
    expect([response.status, await response.text()]).toEqual([200, "Dear diary"]);
  }

  it.each(
    "x-byref-tenant x-tenant tenant x-forwarded-user x-remote-user x-byref-local cookie forwarded".split(
      " ",
    ),
  )("by the header %s is identified by its key", async (name) => {
    const path = await newSecret();
    const smuggled = { [name]: "alice" };
    await problemIn(await call("GET", path, { headers: smuggled }), "unauthorized");
    const headers = { ...as(BOB), ...smuggled };
    await problemIn(await call("GET", path, { headers }), "variable_not_found");
    await call("PUT", path, json("bob's", headers));
    await expectUntouched(path);
  });

  it("with an extra slash deletes nothing", async () => {
    const path = await newSecret();
    const all = path.replace("/diary", "");
    for (const at of [`${all}/`, `${all}//`, `/${all}`, `${all}/?keepLast=0`, `${path}/`]) {
      await problemIn(await call("DELETE", at, { headers: as(ALICE) }), "not_found");
    }
    await expectUntouched(path);
  });
});
