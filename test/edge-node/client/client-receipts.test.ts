import { expect, it } from "vitest";
import { finish, text } from "../../../packages/testing/src/testing.ts";
import { clientOf, failureOf, speaking } from "../../support/client.ts";
import { withRuntime } from "../../support/own-runtime.ts";

const { options } = speaking([[text("It is $n of 77."), finish()]]);

it("the receipt of an answer is read by its id, also in a fork", async () => {
  await withRuntime(options, async (own) => {
    const chat = clientOf(own).conversation("c");
    await chat.variables.put("n", 11);
    const { message } = await chat.send("How many?").json();
    const receipt = await chat.receipt(message.id);
    const part = message.parts.findIndex(({ type }) => type === "text");
    expect(receipt).toEqual({
      message: message.id,
      spans: [
        {
          part,
          start: 6,
          end: 8,
          reference: "$n",
          variable: "n",
          path: "",
          version: 1,
          digest: expect.stringMatching(/^[0-9a-f]{32}$/u),
          at: expect.stringMatching(/^20/u),
        },
      ],
      typedFigures: [{ part, start: 12, end: 14, text: "77" }],
      complete: true,
    });
    const headers = { "content-type": "application/json" };
    const forked = await own.call("POST", "/conversations/c/fork", { headers, body: "{}" });
    const { id } = (await forked.json()) as { id: string };
    expect(await clientOf(own).conversation(id).receipt(message.id)).toEqual(receipt);
    for (const missing of ["nobody", "%2F"]) {
      expect(await failureOf(chat.receipt(missing))).toMatchObject({ code: "not_found" });
    }
    const [question] = (await chat.messages()).messages;
    const code = "not_found";
    expect(await failureOf(chat.receipt(question?.id ?? ""))).toMatchObject({ code, status: 404 });
  });
});
