import { env } from "cloudflare:workers";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import * as z from "zod";
import type { FilePage, FileSummary } from "../../../src/edge/files/file-page.ts";
import { fileEndpoints } from "../../../src/edge/routes/files.ts";
import { call, json, newId, objectOf, problemIn } from "../../support/edge.ts";
import { at, body, list, save } from "../../support/files.ts";
import { withRuntime } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text, toolCall } from "../../../packages/testing/src/testing.ts";
import { slow } from "../../support/slow.ts";
import { ALICE, as, BOB, call as callAs, ticketFor } from "../../support/tickets.ts";
import { anyBytes } from "../../support/values.ts";

describe("a conversation's files", () => {
  it("are saved, listed, served and deleted", async () => {
    const id = newId();
    expect(await list(id)).toEqual({ files: [] });
    const created = await call(
      "PUT",
      at(id, "/reports/May 2026/umsätze.csv"),
      body("a,b\r\n", "text/csv"),
    );
    expect(created.status).toBe(201);
    const file = await created.json<FileSummary>();
    expect(file).toEqual({
      path: "reports/May 2026/umsätze.csv",
      bytes: 5,
      mediaType: "text/csv",
      etag: created.headers.get("etag"),
      modified: expect.stringMatching(/^\d{4}-.*Z$/),
      visibility: "model",
    });
    expect(await list(id)).toEqual({ files: [file] });
    const served = await call("GET", at(id, `/${file.path}`));
    expect(await served.text()).toBe("a,b\r\n");
    const { headers } = served;
    expect(headers.get("etag")).toBe(file.etag);
    expect(headers.get("content-type")).toBe("text/csv");
    expect(headers.get("content-disposition")).toBe("attachment");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("content-security-policy")).toBe("sandbox; default-src 'none'");
    const replaced = await call("PUT", at(id, `/${file.path}`), body("a,b\r\n", "text/html"));
    expect(replaced.status).toBe(200);
    // The same bytes with another content type are another representation.
    expect(replaced.headers.get("etag")).not.toBe(file.etag);
    expect((await call("DELETE", at(id, `/${file.path}`))).status).toBe(204);
    await problemIn(await call("GET", at(id, `/${file.path}`)), "not_found");
    await problemIn(await call("DELETE", at(id, `/${file.path}`)), "not_found");
    expect(await list(id)).toEqual({ files: [] });
  });

  it("are listed in pages, in the order of their paths", async () => {
    const id = newId();
    for (const path of ["b.txt", "a/2.txt", "a/1.txt", "ü.txt", "c.txt"]) {
      await save(id, `/${path}`, path);
    }
    const paths: string[] = [];
    let query: string | undefined = "?limit=2";
    while (query !== undefined) {
      const { files, next }: FilePage = await list(id, query);
      expect(files.length).toBeLessThanOrEqual(2);
      paths.push(...files.map(({ path }) => path));
      query = next === undefined ? undefined : `?limit=2&after=${encodeURIComponent(next)}`;
    }
    expect(paths).toEqual(["a/1.txt", "a/2.txt", "b.txt", "c.txt", "ü.txt"]);
  });

  it("include what a turn exports", async () => {
    const options = {
      agents: [{ name: "a", description: "", instructions: "", tools: { rows: rowsTool() } }],
      model: scriptedModel([
        [toolCall("rows", {}), finish("tool-calls")],
        [
          toolCall("export_variable", { name: "rows_1", file: "file:out/rows.csv" }),
          finish("tool-calls"),
        ],
        [text("Done."), finish()],
      ]),
      files: fileEndpoints,
    } as const;
    await withRuntime(options, async (own) => {
      const asked = await own.call("POST", "/conversations/c/messages", json({ message: "Go" }));
      await asked.text();
      const served = await own.call("GET", at("c", "/out/rows.csv"));
      expect(await served.text()).toBe("a\r\n1\r\n2\r\n");
    });
  });

  it("belong to one conversation of one tenant, and a ticket opens one of them", async () => {
    const [id, other] = [newId(), newId()];
    const path = at(id, "/a%20b.txt");
    await callAs("PUT", path, body("alice's", "text/plain", as(ALICE)));
    await problemIn(await callAs("GET", path, { headers: as(BOB) }), "not_found");
    expect(await (await callAs("GET", at(id), { headers: as(BOB) })).json()).toEqual({ files: [] });
    const ticket = await ticketFor(path);
    expect(await (await callAs("GET", `${path}?ticket=${ticket}`)).text()).toBe("alice's");
    for (const forbidden of [at(id), at(id, "/a"), at(other, "/a%20b.txt")]) {
      await problemIn(await callAs("GET", `${forbidden}?ticket=${ticket}`), "unauthorized");
    }
    await problemIn(await callAs("DELETE", `${path}?ticket=${ticket}`), "unauthorized");
  });

  it("are deleted with it, and survive a rejected write", slow, async () => {
    const id = newId();
    await save(id, "/a.txt", "a");
    await save(id, "/large.bin", anyBytes(9_000_000));
    const refused = { body: "{", headers: { "content-type": "application/json" } };
    await problemIn(await call("PUT", `/conversations/${id}/variables/v`, refused), "bad_json");
    expect((await list(id)).files).toHaveLength(2);
    expect((await call("DELETE", `/conversations/${id}`)).status).toBe(204);
    expect((await env.BLOBS.list({ prefix: `${objectOf(id).id}/` })).objects).toEqual([]);
    expect(await list(id)).toEqual({ files: [] });
  });

  it("are copied by a fork", async () => {
    const id = newId();
    await save(id, "/a/b.txt", "b");
    const forked = await call("POST", `/conversations/${id}/fork`);
    const { id: fork } = await forked.json<{ id: string }>();
    expect(await (await call("GET", at(fork, "/a/b.txt"))).text()).toBe("b");
  });

  it("are in the events, without their content", async () => {
    const id = newId();
    await save(id, "/a.txt", "secret words");
    await call("DELETE", at(id, "/a.txt"));
    const events = await (await call("GET", `/conversations/${id}/events`)).text();
    expect(JSON.parse(events)).toMatchObject({
      events: [
        { type: "file.saved", file: { path: "a.txt", bytes: 12 } },
        { type: "file.deleted", file: { path: "a.txt" } },
      ],
    });
    expect(events).not.toContain("secret words");
  });
});

function rowsTool() {
  return tool({ inputSchema: z.object({}), execute: () => [{ a: 1 }, { a: 2 }] });
}

describe("a file's part", () => {
  it("is a range, also of a large file", slow, async () => {
    const id = newId();
    const bytes = anyBytes(9_000_000);
    const { etag } = await save(id, "/large.bin", bytes);
    const range = (range: string, headers = {}) =>
      call("GET", at(id, "/large.bin"), { headers: { range, ...headers } });
    const part = await range("bytes=8388600-8388620");
    expect(part.status).toBe(206);
    expect(part.headers.get("content-range")).toBe("bytes 8388600-8388620/9000000");
    expect(new Uint8Array(await part.arrayBuffer())).toEqual(bytes.slice(8_388_600, 8_388_621));
    const whole = await call("GET", at(id, "/large.bin"));
    expect(whole.headers.get("accept-ranges")).toBe("bytes");
    expect(new Uint8Array(await whole.arrayBuffer())).toEqual(bytes);
    expect((await range("bytes=0-1", { "if-range": etag })).status).toBe(206);
    const changed = await range("bytes=0-1", { "if-range": '"another"' });
    expect(changed.status).toBe(200);
    await changed.body?.cancel();
    const beyond = await range("bytes=9000000-");
    expect(beyond.headers.get("content-range")).toBe("bytes */9000000");
    await problemIn(beyond, "range_not_satisfiable");
  });

  it("is empty for HEAD, and for an unchanged file", async () => {
    const id = newId();
    const { etag } = await save(id, "/a.txt", "abc");
    const head = await call("HEAD", at(id, "/a.txt"));
    expect([head.status, await head.text(), head.headers.get("etag")]).toEqual([200, "", etag]);
    const known = await call("GET", at(id, "/a.txt"), { headers: { "if-none-match": etag } });
    expect([known.status, await known.text()]).toEqual([304, ""]);
    const wanted = await call("GET", at(id, "/a.txt"), { headers: { "if-match": '"x"' } });
    await problemIn(wanted, "precondition_failed");
  });

  it("is unsatisfiable in an empty file", async () => {
    const id = newId();
    await save(id, "/empty", new Uint8Array());
    const served = await call("GET", at(id, "/empty"), { headers: { range: "bytes=0-1" } });
    expect([served.status, await served.text()]).toEqual([416, expect.any(String)]);
    expect(await (await call("GET", at(id, "/empty"))).text()).toBe("");
  });
});
