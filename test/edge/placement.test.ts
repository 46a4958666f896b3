import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import worker from "../../src/index.ts";
import { callWith, json, newId, problemIn } from "../support/edge.ts";

const call = callWith({ AUTH: "none" });

describe("where a conversation lives", () => {
  it("is refused if the jurisdiction cannot be kept", async () => {
    const local = callWith({ AUTH: "none", JURISDICTION: "eu" });
    const at = `/conversations/${newId()}`;
    const asked = await local("POST", `${at}/messages`, json({ message: "Hello" }));
    const { detail } = await problemIn(asked, "bad_configuration");
    expect(detail).toContain("JURISDICTION=eu cannot be kept here");
    await problemIn(await local("GET", "/conversations"), "bad_configuration");
    await problemIn(await call("GET", at), "conversation_not_found");
  });

  it("is an error in a Worker that does not bind the objects", async () => {
    const request = new Request(`http://localhost/conversations/${newId()}`);
    const { CONVERSATIONS: _, ...bindings } = env;
    const response = await worker.fetch(request, { ...bindings, AUTH: "none" });
    const { detail } = await problemIn(response, "not_configured");
    expect(detail).toContain('name = "CONVERSATIONS"\nclass_name = "Conversation"');
    expect(detail).toContain('new_sqlite_classes = ["Conversation"]');
  });
});
