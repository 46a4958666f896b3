import type { FileUIPart, UIMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { Agent } from "../../../src/turn/agent.ts";
import { json, problemIn, textOf } from "../../support/edge.ts";
import { type OwnRuntime, withRuntime } from "../../support/own-runtime.ts";
import { loaded, stockChat } from "../../support/stock-chat.ts";
import { finish, type Step, scriptedModel, text } from "../../../packages/testing/src/testing.ts";

const agent: Agent = { name: "a", description: "", instructions: "", tools: {} };
const says = (words: string): Step => [text(words), finish()];
const fails: Step = [{ type: "error", error: new Error("It is down.") }];
const photo: FileUIPart = {
  type: "file",
  mediaType: "image/png",
  filename: "été.png",
  url: "data:image/png;base64,iVBORw0KGgo=",
};

async function withPhoto(
  steps: readonly Step[],
  work: (
    own: OwnRuntime,
    chat: ReturnType<typeof stockChat>,
    prompts: () => string,
  ) => Promise<void>,
): Promise<void> {
  const model = scriptedModel(steps);
  await withRuntime({ agents: [agent], model }, async (own) => {
    await stockChat(own).sendMessage({ text: "What is it?", files: [photo] });
    // The page is loaded again.
    const prompts = () => JSON.stringify(model.calls.at(-1)?.prompt);
    await work(own, stockChat(own, await loaded(own)), prompts);
    expect(prompts()).toContain('\\"$var\\":\\"ete\\"');
    expect((await own.call("GET", "/conversations/c/variables/ete_2")).status).toBe(404);
  });
}

const firstId = (chat: { readonly messages: readonly UIMessage[] }) => chat.messages[0]?.id ?? "";
const filesIn = (message: UIMessage | undefined) =>
  (message?.parts ?? []).filter((part) => part.type === "file");

describe("a question with a file, after a reload,", () => {
  it("is edited and keeps its file", async () => {
    await withPhoto([says("A."), says("B.")], async (own, chat) => {
      const files = filesIn(chat.messages[0]);
      await chat.sendMessage({ messageId: firstId(chat), text: "And now?", files });
      expect(chat.error).toBeUndefined();
      const messages = await loaded(own);
      expect(messages.map(textOf)).toEqual(["And now?", "B."]);
      expect(filesIn(messages[0])).toEqual(files);
    });
  });

  it("is sent again after its turn failed, and stays one message", async () => {
    await withPhoto([fails, says("B.")], async (own, chat) => {
      const [question] = chat.messages;
      const body = { id: "c", messages: [question] };
      const response = await own.call(
        "POST",
        "/conversations",
        json(body, { accept: "text/plain" }),
      );
      expect(await response.text()).toBe("B.");
      expect((await loaded(own)).map(textOf)).toEqual(["What is it?", "B."]);
    });
  });
});

describe("a file of a message is refused", () => {
  it.each([
    "/conversations/d/variables/x",
    "http://localhost/conversations/c/variables/x",
    "/conversations/c/variables/",
    "/conversations/c/variables/x/info",
    "/conversations/c/variables/x?path=y",
  ])("at %s", async (url) => {
    await withRuntime({ agents: [agent], model: scriptedModel([]) }, async (own) => {
      const message = { parts: [{ ...photo, url }] };
      const response = await own.call("POST", "/conversations/c/messages", json({ message }));
      await problemIn(response, "bad_value");
    });
  });

  it("if its variable is gone", async () => {
    await withPhoto([says("A."), says("B.")], async (own, chat) => {
      const files = filesIn(chat.messages[0]);
      await own.call("DELETE", "/conversations/c/variables/ete");
      const body = { message: { parts: files } };
      const response = await own.call("POST", "/conversations/c/messages", json(body));
      expect(await response.text()).toContain("variable_not_found");
      expect(await loaded(own)).toHaveLength(2);
    });
  });
});
