import { tool } from "ai";
import type { Agent } from "byref";
import { expect, it } from "vitest";
import * as z from "zod";
import { finish, scriptedModel, startRuntime, text, toolCall } from "byref/testing";

let sent: unknown[] = [];
const send = tool({
  inputSchema: z.object({ to: z.string() }),
  execute: ({ to }) => {
    sent.push(to);
    return "ok";
  },
});

it("a user's values are read in all of the user's conversations, also after a crash", async () => {
  sent = [];
  // --- a user's values
  const clerk: Agent = {
    name: "clerk",
    description: "Sends parcels.",
    instructions: "Send parcels to $user.address.",
    tools: { send },
    userScope: "write", // or "read"; without it, $user is a name like any other
  };
  // ---
  const save = { name: "address", value: "4 Elm Road", scope: "user" };
  await using runtime = await startRuntime({
    agents: [clerk],
    model: scriptedModel([
      [toolCall("set_variable", save), finish("tool-calls")],
      [text("Saved."), finish()],
      [toolCall("send", { to: "$user.address" }), finish("tool-calls")],
      [text("Sent to $user.address."), finish()],
    ]),
    authenticator: (request) => {
      const principal = request.headers.get("x-user") ?? undefined;
      return { tenant: "acme", ...(principal !== undefined && { principal }) };
    },
  });
  const ask = (method: string, path: string, user?: string, body?: unknown) => {
    const headers = {
      accept: "text/plain",
      "content-type": "application/json",
      ...(user !== undefined && { "x-user": user }),
    };
    const init = body === undefined ? {} : { body: JSON.stringify(body) };
    return runtime.fetch(path, { method, headers, ...init });
  };
  await (await ask("POST", "/conversations/a/messages", "ada", { message: "Save." })).text();
  await runtime.restart();
  const answer = await ask("POST", "/conversations/b/messages", "ada", { message: "Send." });
  expect(await answer.text()).toContain("Sent to 4 Elm Road.");
  expect(sent).toEqual(["4 Elm Road"]);
  expect((await ask("GET", "/user/variables/address", "eve")).status).toBe(404);
});
