import { expect, it, onTestFinished, vi } from "vitest";
import { startChatCompletions } from "../support/chat-completions.ts";
import { post } from "../support/turn-client.ts";
import { startWorkerServer } from "../support/worker-server.ts";

it("an answer streams as the model writes it", async () => {
  const { promise: hold, resolve: letGo } = Promise.withResolvers<void>();
  const text = "The first half and the other half.";
  const endpoint = await startChatCompletions(() => ({ kind: "text", text, hold }));
  onTestFinished(() => endpoint.down());
  const MODEL = "openai-compatible:test";
  const worker = await startWorkerServer({ MODEL, MODEL_BASE_URL: endpoint.url });
  onTestFinished(() => worker.stop());
  const said = ["", ""];
  const reading = ["text/event-stream", "text/plain"].map(async (accept, index) => {
    const response = await post(`${worker.url}/conversations/${index}`, "Tell me.", { accept });
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? [])
      said[index] += chunk;
  });
  await vi.waitFor(() => said.forEach((half) => expect(half).toContain("The first")));
  expect(said.join()).not.toContain("other half");
  letGo();
  await Promise.all(reading);
  for (const whole of said) expect(whole).toContain("other half");
});
