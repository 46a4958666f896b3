import { tool } from "ai";
import { beforeEach, describe, expect, it, type MockInstance, vi } from "vitest";
import * as z from "zod";
import { ConversationObject } from "../../src/edge/conversation.ts";
import type { AgentDefinition } from "../../src/edge/agent-types.ts";
import type { RuntimeOptions } from "../../src/edge/create-runtime.ts";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../packages/transfer/src/transfers.ts";
import { finish, scriptedModel, type Step, text, toolCall } from "byref/testing";
import { NodeRuntime } from "../support/node-runtime.ts";
import { toolOf } from "../support/tool-of.ts";

let calls: MockInstance<ConversationObject["userValues"]>;
beforeEach(() => void (calls = vi.spyOn(ConversationObject.prototype, "userValues")));

/** What the tools received. */
let sent: unknown[] = [];

const tools = {
  send: toolOf({ to: z.unknown() }, ({ to }) => {
    sent.push(to);
    return { sent: String(to) };
  }),
  ask_first: tool({
    inputSchema: z.object({ to: z.unknown() }),
    needsApproval: true,
    execute: ({ to }) => {
      sent.push(to);
      return "ok";
    },
  }),
};

const called = (name: string, input = {}): Step => [toolCall(name, input), finish("tool-calls")];
const said = (words: string): Step => [text(words), finish()];
const SEND = called("send", { to: "$user.address" });
const SAVE = called("set_variable", { name: "address", value: "4 Elm Road", scope: "user" });

const clerk = (userScope?: "read" | "write"): AgentDefinition => ({
  name: "clerk",
  description: "",
  instructions: "",
  tools,
  effects: { send: "none" },
  delegates: ["helper"],
  ...(userScope && { userScope }),
});
const helper = (userScope?: "read"): AgentDefinition => ({
  ...clerk(),
  name: "helper",
  delegates: [],
  ...(userScope && { userScope }),
});

function started(steps: readonly Step[], more: Partial<RuntimeOptions> = {}) {
  sent = [];
  const model = scriptedModel(steps);
  const runtime = new NodeRuntime({
    agents: [clerk("write"), helper()],
    model,
    authenticator: (request) => {
      const [tenant = "", principal] = (request.headers.get("x-user") ?? "").split("/");
      return { tenant, ...(principal !== undefined && { principal }) };
    },
    plans: planSupport(),
    transfer: transfers,
    ...more,
  });
  const ask = async (user: string, route: string, body?: unknown) => {
    const [method = "", path = ""] = route.split(" ");
    const headers = {
      "x-user": user,
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
    };
    const given = typeof body === "string" ? body : JSON.stringify(body);
    const init = { headers, ...(body !== undefined && { body: given }) };
    const response = await runtime.ask(method, path, init);
    return { status: response.status, text: await response.text(), headers: response.headers };
  };
  const put = (user: string, value: unknown, query = "") =>
    ask(user, `PUT /user/variables/address${query}`, JSON.stringify(value));
  /** Returns what the user sees. */
  const say = async (user: string, conversation = "c") => {
    const route = `POST /conversations/${conversation}/messages`;
    const { text: frames } = await ask(user, route, { message: "Go." });
    const deltas = [...frames.matchAll(/"delta":("(?:[^"\\]|\\.)*")/gu)];
    return deltas.map(([, delta = '""']) => String(JSON.parse(delta))).join("");
  };
  const read = async (user: string, path: string) =>
    JSON.parse((await ask(user, `GET ${path}`)).text) as unknown;
  /** Approves the call that waits. */
  const approve = async (user = "acme/ada", more = {}) => {
    const { text: listed } = await ask("acme/ada", "GET /conversations/c/messages");
    const [approval] = /(?<="approval":\{"id":")[^"]+/u.exec(listed) ?? [];
    return ask(user, `POST /conversations/c/approvals/${approval}`, { approved: true, ...more });
  };
  /** Proposes and approves a plan. Returns a function that runs it. */
  const plan = async (call: object) => {
    const plans = "/conversations/c/plans";
    const { text: made } = await ask("acme/ada", `POST ${plans}`, { calls: [call] });
    const { id } = JSON.parse(made) as { id: string };
    await ask("acme/ada", `POST ${plans}/${id}/approve`, {});
    return (user = "acme/ada") => ask(user, `POST ${plans}/${id}/run`, {});
  };
  const lastPrompt = () => JSON.stringify(model.calls.at(-1)?.prompt);
  return { runtime, model, ask, put, say, read, approve, plan, lastPrompt };
}

describe("a value of the user", () => {
  it("is read in tool inputs and answers of all of the user's conversations, with one call a turn", async () => {
    const { ask, put, say } = started([
      SEND,
      called("send", { to: "To ${user.place.city}: $user.address" }),
      said("It goes to $user.address, {{user.address}}."),
      said("Again: $user.address"),
    ]);
    expect((await put("acme/ada", "4 Elm Road")).status).toBe(201);
    await ask("acme/ada", "PUT /user/variables/place", { city: "Bath" });
    const first = await say("acme/ada");
    expect(sent).toEqual(["4 Elm Road", "To Bath: 4 Elm Road"]);
    expect(first).toContain("It goes to 4 Elm Road, {{user.address}}.");
    expect(calls).toHaveBeenCalledTimes(1);
    expect(await say("acme/ada", "other")).toContain("Again: 4 Elm Road");
    const { text: listed } = await ask("acme/ada", "GET /conversations/other/messages");
    const [, answer = ""] = /.*"id":"([^"]+)","role":"assistant"/u.exec(listed) ?? [];
    const { text: receipt } = await ask(
      "acme/ada",
      `GET /conversations/other/messages/${answer}/receipt`,
    );
    expect(JSON.parse(receipt)).toMatchObject({
      spans: [{ variable: "user.address", path: "", version: 1 }],
      complete: true,
    });
  });

  it("is written by an agent that may, and listed", async () => {
    const { ask, say, read, lastPrompt } = started([
      SAVE,
      called("list_variables", { scope: "user" }),
      SEND,
      said("Done."),
      SEND,
      said("Done."),
    ]);
    await say("acme/ada");
    expect(lastPrompt()).toContain("user.address");
    await say("acme/ada", "other");
    expect(sent).toEqual(["4 Elm Road", "4 Elm Road"]);
    expect((await ask("acme/ada", "GET /user/variables/address")).text).toBe('"4 Elm Road"');
    expect(await read("acme/ada", "/user/variables/address/info")).toMatchObject({
      sources: ["tool:set_variable"],
      trusted: true,
    });
    // Nothing of it is in the conversations.
    expect(await read("acme/ada", "/conversations/c/variables")).toMatchObject({
      variables: [{ name: "send_4_elm_road" }],
    });
  });

  it("is each of several that are written at once", async () => {
    const save = (name: string) =>
      toolCall("set_variable", { name, value: name, scope: "user" }, { id: `call_${name}` });
    const both: Step = [...save("address"), ...save("place"), finish("tool-calls")];
    const { read, say, lastPrompt } = started([both, said("$user.address, $user.place")]);
    expect(await say("acme/ada")).toBe("address, place");
    expect(lastPrompt()).not.toContain("conflict");
    const variables = [{ name: "address" }, { name: "place" }];
    expect(await read("acme/ada", "/user/variables")).toMatchObject({ variables });
  });

  it("fails a call while the user's object fails, and is loaded by the next", async () => {
    vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { put, say, model } = started([SEND, SEND, said("Done.")]);
    await put("acme/ada", "4 Elm Road");
    calls.mockRejectedValueOnce(new Error("internal words"));
    await say("acme/ada");
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).toContain("unavailable");
    expect(prompt).not.toContain("internal words");
    expect(sent).toEqual(["4 Elm Road"]);
  });

  it("costs a turn that does not use it nothing", async () => {
    const { put, say } = started([called("send", { to: "$user" }), said("$user costs 5.")]);
    await put("acme/ada", "4 Elm Road");
    expect(await say("acme/ada")).toContain("$user costs 5.");
    expect(calls).not.toHaveBeenCalled();
    expect(sent).toEqual(["$user"]);
  });

  it("keeps its labels in what is made of it", async () => {
    const { put, say, read, lastPrompt } = started([SEND, said("See $user.address")]);
    await put("acme/ada", "4 Elm Road", "?visibility=sealed");
    const answer = await say("acme/ada");
    expect(lastPrompt()).not.toContain("Elm");
    expect(answer).toContain("See 4 Elm Road");
    expect(await read("acme/ada", "/conversations/c/variables")).toMatchObject({
      variables: [{ visibility: "sealed", flags: ["derived"], sources: ["tool:send", "caller"] }],
    });
  });

  it.each([
    ["model", "Elm", true],
    ["sealed", "variable_sealed", true],
    ["secret", "variable_secret", false],
  ])("that is %s is read by a model if it may see it, and not shown by a list", async (...row) => {
    const [visibility, readAs, isAnswered] = row;
    const list = called("list_variables", { scope: "user" });
    const read = called("read_variable", { name: "$user.address[0:5]" });
    const { put, say, model } = started([list, read, said("$user.address")]);
    await put("acme/ada", "4 Elm Road", `?visibility=${visibility}`);
    const answer = await say("acme/ada");
    const [, listed, shown] = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(listed).toContain("user.address");
    expect(shown).toContain(readAs);
    if (visibility !== "model") expect(`${listed}${shown}`).not.toContain("Elm");
    expect(answer.includes("Elm")).toBe(isAnswered);
  });

  it("that is secret reaches the tool whose policy lists it, and no other", async () => {
    const hidden = { send: { secrets: ["user.address"] } };
    for (const [policies, received] of [
      [hidden, ["4 Elm Road"]],
      [{}, []],
    ] as const) {
      const agents = [{ ...clerk("read"), policies }, helper()] as const;
      const { put, say, lastPrompt } = started([SEND, said("$user.address")], { agents });
      await put("acme/ada", "4 Elm Road", "?visibility=secret");
      const answer = await say("acme/ada");
      expect([sent, answer]).toEqual([received, "[secret: user]"]);
      expect(lastPrompt()).not.toContain("Elm");
    }
  });

  it.each([
    ["a reference", { to: "$user.token" }],
    ["one in a text", { to: "at ${user.token}" }],
    ["one in the path of another", { to: "$x['$user.token']" }],
    ["one of alternatives", { to: "$x || $user.token" }],
    ["the scope of a write", { to: "x", scope: "user" }],
  ])("is not read by who approves the asker's call with %s", async (_, input) => {
    const steps = [called("ask_first", { to: "$user.address" }), said("Done.")];
    const { runtime, ask, put, say, approve } = started(steps);
    await put("acme/ada", "4 Elm Road");
    await put("acme/boss", "1 Head Office");
    await ask("acme/ada", "PUT /user/variables/token", '"ada-token"');
    await say("acme/ada");
    runtime.kill();
    expect((await approve("acme/boss", { input })).text).toContain("tool_denied");
    expect(sent).toEqual([]);
    // What the model wrote may stay.
    const patch = [{ op: "add", path: "/note", value: "ok" }];
    expect((await approve("acme/boss", { patch })).status).toBe(200);
    expect(sent).toEqual(["4 Elm Road"]);
  });

  it("is read by a plan's run, also by its name, and keeps its labels", async () => {
    const { put, read, plan } = started([]);
    await put("acme/ada", "4 Elm Road");
    const run = await plan({ _tool: "send", to: "†user.address" });
    await run();
    expect([sent, (await run("acme")).text]).toEqual([
      ["4 Elm Road"],
      expect.stringContaining("bad_request"),
    ]);
    await (
      await plan({ _tool: "read_variable", name: "user.address", _outputPath: "†copy" })
    )();
    const copy = await read("acme/ada", "/conversations/c/variables/copy/info");
    expect(copy).toMatchObject({ sources: ["tool:read_variable", "caller"] });
  });

  it.each([
    ["ask_first", { to: "$user.address" }],
    ["set_variable", { name: "copy", value: "$user.address" }],
  ])("is as it was when %s is approved", async (name, input) => {
    const policies = { set_variable: { approval: true } };
    const agents = [{ ...clerk("read"), policies }, helper()] as const;
    const { put, say, approve } = started([called(name, input), said("Done.")], { agents });
    await put("acme/ada", "4 Elm Road");
    await say("acme/ada");
    await put("acme/ada", "5 Elm Road");
    expect((await approve()).text).toContain("tool-approval-request");
    expect(sent).toEqual([]);
    expect((await approve()).text).toContain("Done.");
  });
});

it("over HTTP the user's values have the endpoints of a conversation's variables", async () => {
  const { ask, put, read } = started([]);
  await put("acme/ada", "4 Elm Road");
  const status = async (route: string, body?: unknown) =>
    (await ask("acme/ada", route, body)).status;
  const posted = await ask("acme/ada", "POST /user/variables", [1]);
  expect(posted.headers.get("location")).toBe("/user/variables/variable_1");
  expect(await status("PATCH /user/variables/address", { pinned: true })).toBe(200);
  expect(await status("DELETE /user/variables/variable_1")).toBe(204);
  const variables = [{ name: "address", pinned: true }];
  expect(await read("acme/ada", "/user/variables")).toMatchObject({ variables });
  expect((await ask("acme/ada", "GET /user/export")).text).toContain("4 Elm Road");
  for (let times = 0; times < 2; times++) expect(await status("DELETE /user")).toBe(204);
  expect(await read("acme/ada", "/user/variables")).toEqual({ variables: [] });
});

it("over HTTP they are no conversation, and are deleted with the tenant's", async () => {
  const { runtime, ask, put } = started([]);
  await put("acme/ada", "4 Elm Road");
  await put("globex/ada", "5 Elm Road");
  expect((await ask("acme/ada", "GET /conversations")).text).toBe('{"conversations":[]}');
  await ask("acme/eve", "DELETE /conversations?all=true");
  await runtime.directoryNamed(JSON.stringify(["acme", "directory"])).tick();
  expect((await ask("acme/ada", "GET /user/variables")).text).toBe('{"variables":[]}');
  expect((await ask("globex/ada", "GET /user/variables")).text).toContain("address");
});

it("over HTTP a user's values have a quota of their own", async () => {
  const { ask, read } = started([]);
  const save = (name: string, chars: number) =>
    ask("acme/ada", `PUT /user/variables/${name}`, JSON.stringify("x".repeat(chars)));
  await save("one", 600_000);
  await save("two", 600_000);
  const variables = [{ name: "two" }];
  expect(await read("acme/ada", "/user/variables")).toMatchObject({ variables });
  expect((await save("big", 1_200_000)).status).toBe(422);
});

describe("attacks on the values of a user", () => {
  it.each([
    ["another principal of the tenant", "acme/eve"],
    ["the same principal of another tenant", "globex/ada"],
    ["a principal whose name contains another", 'acme/ada","user'],
    ["a request without a principal", "acme"],
  ])("%s reads nothing", async (_, user) => {
    const { ask, put, say, lastPrompt } = started([SEND, said("At $user.address")]);
    await put("acme/ada", "4 Elm Road");
    const answer = await say(user);
    expect(sent).toEqual([]);
    expect(answer + lastPrompt()).not.toContain("Elm");
    expect((await ask(user, "GET /user/variables")).text).not.toContain("address");
    expect((await ask(user, "GET /user/variables/address")).status).not.toBe(200);
    expect((await ask(user, "GET /user/export")).text).not.toContain("Elm");
    await ask(user, "DELETE /user");
    expect((await ask("acme/ada", "GET /user/variables/address")).text).toBe('"4 Elm Road"');
  });

  it("a request without a principal is refused, and shares no store with others", async () => {
    const { ask, say, lastPrompt } = started([SAVE, said("Done.")]);
    for (const route of ["GET /user/variables", "DELETE /user", "GET /user/export"]) {
      expect(JSON.parse((await ask("acme", route)).text)).toMatchObject({ code: "bad_request" });
    }
    await say("acme");
    expect(lastPrompt()).toContain("bad_request");
    expect(calls).not.toHaveBeenCalled();
  });

  it("another who asks in a shared conversation reads their own, whatever variable user it has", async () => {
    const { ask, put, say } = started([SEND, said("Done."), SEND, said("At $user.address")]);
    await put("acme/ada", "4 Elm Road");
    await put("acme/eve", "9 Dark Lane");
    await ask("acme/eve", "PUT /conversations/c/variables/user", { address: "5 Moon Street" });
    await say("acme/ada");
    const answer = await say("acme/eve");
    expect(sent).toEqual(["4 Elm Road", "9 Dark Lane"]);
    expect(answer).toContain("At 9 Dark Lane");
  });

  it("a fork and an import read those of who asks in them", async () => {
    const { ask, put, say } = started([SEND, said("At $user.address"), SEND, said("Done.")]);
    await put("acme/ada", "4 Elm Road");
    await say("acme/ada");
    const { text: file } = await ask("acme/ada", "GET /conversations/c/export");
    const fork = await ask("acme/eve", "POST /conversations/c/fork", {});
    const { id } = JSON.parse(fork.text) as { id: string };
    sent = [];
    const answer = await say("acme/eve", id);
    expect([sent, answer.includes("Elm")]).toEqual([[], false]);
    const imported = await ask("globex/gus", "POST /conversations/import", file);
    const { id: copy } = JSON.parse(imported.text) as { id: string };
    await say("globex/gus", copy);
    expect(sent).toEqual([]);
  });

  it.each([undefined, "read"] as const)("an agent with %s does not write", async (userScope) => {
    const { ask, say } = started([SAVE, said("Done.")], { agents: [clerk(userScope), helper()] });
    await say("acme/ada");
    // It is a variable of the conversation like any other.
    expect((await ask("acme/ada", "GET /conversations/c/variables/address")).status).toBe(200);
    expect((await ask("acme/ada", "GET /user/variables")).text).toBe('{"variables":[]}');
    expect(calls).not.toHaveBeenCalled();
  });

  it("without the option $user is a name like any other, in tools, prompts and answers", async () => {
    const set = called("set_variable", { name: "user", value: { address: "mine" } });
    const { put, say, model } = started([set, SEND, said("At $user.address")], {
      agents: [clerk(), helper()],
    });
    await put("acme/ada", "4 Elm Road");
    const answer = await say("acme/ada");
    expect([sent, answer.includes("At mine")]).toEqual([["mine"], true]);
    expect(JSON.stringify(model.calls[0]?.tools)).not.toContain("scope");
    expect(calls).not.toHaveBeenCalled();
  });

  it("an agent that is called reads them only if its own definition says so", async () => {
    const delegate = called("delegate", { agent: "helper", task: "Send to $user.address" });
    const steps = [delegate, SEND, said("Sent to $user.address"), said("Done.")];
    const without = started(steps);
    await without.put("acme/ada", "4 Elm Road");
    await without.say("acme/ada");
    expect(sent).toEqual(["$user.address"]);
    expect(JSON.stringify(without.model.calls)).not.toContain("Elm");
    const withIt = started(steps, { agents: [clerk(), helper("read")] });
    await withIt.put("acme/ada", "4 Elm Road");
    await withIt.say("acme/ada");
    expect(sent).toEqual(["4 Elm Road"]);
  });

  it("a model does not overwrite a secret, or open what is sealed", async () => {
    const { ask, put, say, read, lastPrompt } = started([SAVE, said("Done."), SAVE, said("Done.")]);
    await put("acme/ada", "4 Elm Road", "?visibility=secret");
    await say("acme/ada");
    expect(lastPrompt()).toContain("variable_secret");
    await ask("acme/ada", "DELETE /user/variables/address");
    await put("acme/ada", "5 Elm Road", "?visibility=sealed");
    await say("acme/ada");
    expect(await read("acme/ada", "/user/variables/address/info")).toMatchObject({
      visibility: "sealed",
      version: 2,
    });
  });

  it("what came from an untrusted tool stays untrusted in another conversation", async () => {
    const copy = called("set_variable", { name: "address", value: "$send_x", scope: "user" });
    const steps = [called("send", { to: "x" }), copy, said("Done."), SEND, said("Done.")];
    const agents = [
      { ...clerk("write"), policies: { send: { trusted: false } } },
      helper(),
    ] as const;
    const { say, read } = started(steps, { agents });
    await say("acme/ada");
    expect(await read("acme/ada", "/user/variables/address/info")).toMatchObject({
      trusted: false,
      type: "object",
    });
    await say("acme/ada", "other");
    expect(sent.at(-1)).toEqual({ sent: "x" });
  });
});
