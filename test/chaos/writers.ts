/** Sends a request; the path begins with `/`. */
export type Ask = (method: string, path: string, init?: RequestInit) => Promise<Response>;

type Writer = (ask: Ask, conversation: string) => Promise<unknown>;

/**
 * Everything that a client may do while a turn or run is in progress, by name. None of it may delay a
 * recovery.
 */
export const WRITERS: Readonly<Record<string, Writer>> = {
  "writes a new variable": (ask, id) => put(ask, at(id, "new"), { a: 1 }),
  "writes a variable that is about to expire": (ask, id) => put(ask, at(id, "soon") + "?ttl=60", 1),
  "writes a variable twice": async (ask, id) => {
    await put(ask, at(id, "twice"), 1);
    await put(ask, at(id, "twice"), 2);
  },
  "writes a large variable": (ask, id) => put(ask, at(id, "large"), "x".repeat(300_000)),
  "changes a variable's metadata": async (ask, id) => {
    await put(ask, at(id, "described"), 1);
    await patch(ask, at(id, "described"), { description: "?", pinned: true });
  },
  "deletes a variable": async (ask, id) => {
    await put(ask, at(id, "deleted"), 1);
    await done(ask("DELETE", at(id, "deleted")));
  },
  "deletes all variables but some": (ask, id) =>
    done(ask("DELETE", `/conversations/${id}/variables?keepLast=1000`)),
  "reads a variable": async (ask, id) => {
    await put(ask, at(id, "read"), 1);
    await done(ask("GET", at(id, "read")));
  },
  "gives the conversation a title": (ask, id) =>
    patch(ask, `/conversations/${id}`, { title: "Beside" }),
  "reads messages, events and the list of variables": async (ask, id) => {
    for (const what of ["", "/messages", "/events", "/variables"]) {
      await done(ask("GET", `/conversations/${id}${what}`));
    }
  },
  "interpolates a text": (ask, id) =>
    done(ask("POST", `/conversations/${id}/interpolate`, json({ text: "$nothing" }))),
};

/** Adds the writers for a server with plans, transfers and a conversation index. */
export const MORE_WRITERS: Readonly<Record<string, Writer>> = {
  ...WRITERS,
  "lists conversations": (ask) => done(ask("GET", "/conversations")),
  "exports the conversation": (ask, id) => done(ask("GET", `/conversations/${id}/export`)),
  "forks the conversation": (ask, id) => done(ask("POST", `/conversations/${id}/fork`)),
  "proposes a plan, approves and cancels it": async (ask, id) => {
    const root = `/conversations/${id}/plans`;
    const proposed = await ask("POST", root, json({ calls: [{ _tool: "look", call: "1" }] }));
    const { id: plan } = (await proposed.json()) as { readonly id: string };
    await done(ask("POST", `${root}/${plan}/approve`));
    await done(ask("POST", `${root}/${plan}/cancel`));
  },
};

/** Prefix of the names of the variables that the writers write. */
const BESIDE = "beside_";

function at(id: string, name: string): string {
  return `/conversations/${id}/variables/${BESIDE}${name}`;
}

function put(ask: Ask, path: string, value: unknown): Promise<void> {
  return done(ask("PUT", path, json(value)));
}

function patch(ask: Ask, path: string, body: object): Promise<void> {
  return done(ask("PATCH", path, json(body)));
}

export function json(body: unknown) {
  return { body: JSON.stringify(body), headers: { "content-type": "application/json" } };
}

async function done(asking: Promise<Response>): Promise<void> {
  const response = await asking;
  const said = await response.text();
  if (!response.ok) throw new Error(`${response.status}: ${said}`);
}
