import { expect, it } from "vitest";
import { Random } from "../../chaos/random.ts";
import { callWith, json, newId } from "../../support/edge.ts";

const PAIRS = 10_000;
const SEED = 1;
const tenants = Array.from({ length: 8 }, (_, index) => `tenant-${index}`);
const keyOf = (tenant: string) => `key-of-${tenant}-0123456789`;
const call = callWith({
  AUTH: "bearer",
  API_KEYS: JSON.stringify(Object.fromEntries(tenants.map((tenant) => [keyOf(tenant), tenant]))),
});
const by = (tenant: string) => ({ authorization: `Bearer ${keyOf(tenant)}` });
const CANARY = "canary";

type Way = readonly [method: string, rest: string, body?: unknown];

/** Requests that do not create a missing conversation. */
const reads: readonly Way[] = [
  ["GET", ""],
  ["GET", "/messages"],
  ["GET", "/messages?form=reference"],
  ["GET", "/variables"],
  ["GET", "/variables/v"],
  ["GET", "/variables/v?path=.secret"],
  ["GET", "/variables/v/info"],
  ["GET", "/events"],
  ["GET", "/export"],
  ["GET", "/stream"],
  ["GET", "/plans"],
  ["GET", "/plans/p"],
  ["POST", "/interpolate", { text: "{{v}} {{v.secret}}" }],
];
const writes: readonly Way[] = [
  ["PATCH", "", { title: "mine" }],
  ["PATCH", "/variables/v", { pinned: true, description: "mine" }],
  ["DELETE", ""],
  ["DELETE", "/variables"],
  ["DELETE", "/variables/v"],
  ["POST", "/stop"],
  ["POST", "/fork", {}],
  ["POST", "/approvals/a", { approved: true }],
  ["POST", "/plans/p/approve"],
  ["POST", "/plans/p/cancel"],
];
/** Requests that create a missing conversation, which then belongs to the caller. */
const puts: readonly Way[] = [
  ["PUT", "/variables/v", ["theirs"]],
  ["PUT", "/variables/v?mode=append", ["theirs"]],
];

function send(tenant: string, id: string, [method, rest, body]: Way): Promise<Response> {
  const init = body === undefined ? { headers: by(tenant) } : json(body, by(tenant));
  return call(method, `/conversations/${id}${rest}`, init);
}

/** Returns the whole answer, with a placeholder for the requested id. */
async function told(response: Response, id: string): Promise<string> {
  const text = (await response.text()).replaceAll(id, "<id>");
  return `${response.status} ${JSON.stringify([...response.headers])} ${text}`;
}

it(`10,000 times, no tenant reads, changes or notices what another one has`, async () => {
  const random = new Random(SEED);
  const owned = tenants.flatMap((tenant) =>
    Array.from({ length: 10 }, (_, index) => ({ tenant, id: newId(), isPut: index >= 7 })),
  );
  for (const { tenant, id } of owned) {
    await send(tenant, id, ["PUT", "/variables/v", { secret: `${CANARY} of ${tenant}` }]);
    await send(tenant, id, ["PATCH", "", { title: `${CANARY} of ${tenant}` }]);
  }
  const never = new Map<Way, string>();
  for (const way of [...reads, ...writes]) {
    const id = newId();
    never.set(way, await told(await send("tenant-0", id, way), id));
  }

  const [left, put] = [owned.filter(({ isPut }) => !isPut), owned.filter(({ isPut }) => isPut)];
  const differences: string[] = [];
  let crossings = 0;
  for (let pair = 0; pair < PAIRS; pair++) {
    const tenant = random.one(tenants);
    const victims = (random.chance(0.1) ? put : left).filter((one) => one.tenant !== tenant);
    const { id, isPut } = random.one(victims);
    const ways = isPut ? [random.one(puts)] : [random.one(reads), random.one(writes)];
    for (const way of ways) {
      const answer = await told(await send(tenant, id, way), id);
      if (answer.includes(CANARY)) crossings++;
      const differs = isPut ? !/^20[01] /.test(answer) : answer !== never.get(way);
      if (differs) differences.push(`${way.join(" ")}: ${answer} but ${never.get(way)}`);
    }
  }
  for (const { tenant, id } of owned) {
    const value = await (await send(tenant, id, ["GET", "/variables/v"])).json();
    const about = await (await send(tenant, id, ["GET", ""])).json();
    const isUntouched =
      Object(value).secret === `${CANARY} of ${tenant}` &&
      Object(about).title === `${CANARY} of ${tenant}`;
    if (!isUntouched) crossings++;
  }
  expect([...new Set(differences)].slice(0, 5)).toEqual([]);
  expect(crossings).toBe(0);
});
