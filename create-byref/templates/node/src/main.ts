import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { demoModel } from "byref/demo";
import { helpdesk } from "./agent.ts";

const { MODEL = "demo", MODEL_BASE_URL: baseURL = "", MODEL_API_KEY: apiKey } = process.env;
const id = MODEL.replace(/^openai-compatible:/, "");
const model =
  MODEL === "demo" ? demoModel() : createOpenAICompatible({ name: "model", baseURL, apiKey })(id);

const question = process.argv[2] ?? "How many tickets are open?";
const { steps, text } = await helpdesk(model).generate({ prompt: question });
for (const { toolName, input } of steps.flatMap(({ toolCalls }) => toolCalls)) {
  console.log(`${toolName}(${JSON.stringify(input)})`);
}
console.log(text);
