import { orders } from "./agents/orders.ts";
import { weather } from "./agents/weather.ts";
import {
  anthropicModels,
  capabilityTags,
  capabilityWorkflows,
  createRuntime,
  mcpTools,
  modelFromSettings,
  openaiCompatibleModels,
  openaiModels,
  runCode,
  templates,
  workersAiModels,
} from "./byref.ts";

const runtime = createRuntime({
  agents: [weather, orders],
  model: modelFromSettings(anthropicModels, openaiModels, openaiCompatibleModels, workersAiModels),
  mcp: mcpTools,
  code: runCode,
  plans: [capabilityWorkflows, templates],
  tags: capabilityTags,
});

/** One conversation: bound as `CONVERSATIONS` in wrangler.toml. */
export class Conversation extends runtime.Conversation {}

export default runtime.worker;
