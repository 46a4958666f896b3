import { describe, expect, it } from "vitest";
import { callWith, newId, problemIn } from "../../support/edge.ts";
import { upgrade } from "../../support/socket-client.ts";

const KEY = "0123456789abcdef";
const OTHER_KEY = "fedcba9876543210";
const APP = "https://app.example";
const authorization = `Bearer ${KEY}`;
const bearer = { AUTH: "bearer", API_KEYS: JSON.stringify({ [KEY]: "a", [OTHER_KEY]: "b" }) };
const withKeys = callWith(bearer);
const withCors = callWith({ ...bearer, CORS_ORIGINS: `${APP}, http://localhost:5173` });
const local = callWith({ AUTH: "none" });

async function expectSocket(response: Response): Promise<void> {
  expect(response.status).toBe(101);
  expect(response.webSocket).not.toBeNull();
  response.webSocket?.accept();
  response.webSocket?.close(1000, "done");
}

describe("the authentication of a socket", () => {
  it("lets in a program with a key and no Origin", async () => {
    await expectSocket(await upgrade(withKeys, newId(), { authorization }));
    await expectSocket(await upgrade(local, newId()));
  });

  it("lets nobody in without a key, wherever the page comes from", async () => {
    await problemIn(await upgrade(withKeys, newId()), "unauthorized");
    await problemIn(await upgrade(withCors, newId(), { origin: APP }), "unauthorized");
    await problemIn(await upgrade(callWith({}), newId()), "unauthorized");
  });

  it.each([
    ["localhost", "http://localhost"],
    ["localhost:8787", "http://localhost:8787"],
    ["byref.example", "https://byref.example"],
  ])("lets pages of its own origin in: host %s, origin %s", async (host, origin) => {
    await expectSocket(await upgrade(withKeys, newId(), { authorization, host, origin }));
  });

  it.each([APP, "http://localhost:5173"])(
    "lets pages of %s in, by CORS_ORIGINS",
    async (origin) => {
      const response = await upgrade(withCors, newId(), { authorization, origin });
      expect(response.headers.get("access-control-allow-origin")).toBe(origin);
      await expectSocket(response);
    },
  );

  it.each([
    "https://evil.example",
    "null",
    "",
    "http://localhost:3000",
    "https://localhost.evil.example",
    "https://app.example.evil",
    "https://app.example:8443",
    "http://app.example",
    "file://",
  ])("keeps pages of %j out, with a key or without", async (origin) => {
    for (const call of [withKeys, withCors]) {
      const response = await upgrade(call, newId(), { authorization, origin, host: "localhost" });
      expect(response.webSocket).toBeNull();
      await problemIn(response, "foreign_origin");
    }
    const response = await upgrade(local, newId(), { origin, host: "localhost" });
    await problemIn(response, "foreign_origin");
  });

  it("keeps out a page that uses another name for this machine", async () => {
    const headers = { host: "evil.example", origin: "http://evil.example" };
    await problemIn(await upgrade(local, newId(), headers), "foreign_origin");
  });

  it("refuses requests without a WebSocket upgrade or a valid id", async () => {
    await problemIn(await local("GET", `/conversations/${newId()}/socket`), "bad_request");
    await problemIn(await upgrade(local, newId(), { upgrade: "h2c" }), "bad_request");
    await problemIn(await upgrade(local, "a%20b"), "bad_request");
    await problemIn(await upgrade(local, "a%2Fb"), "bad_request");
  });

  it("leads each tenant to its own conversation", async () => {
    const id = newId();
    await withKeys("PUT", `/conversations/${id}/variables/x`, {
      headers: { authorization, "content-type": "application/json" },
      body: "1",
    });
    const other = { authorization: `Bearer ${OTHER_KEY}` };
    await expectSocket(await upgrade(withKeys, id, other));
    const about = await withKeys("GET", `/conversations/${id}`, { headers: other });
    await problemIn(about, "conversation_not_found");
  });
});
