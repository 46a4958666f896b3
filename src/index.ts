import { orders } from "./agents/orders.ts";
import { weather } from "./agents/weather.ts";
import {
  anthropicModels,
  capabilityTags,
  capabilityWorkflows,
  createRuntime,
  jwtDoor,
  mcpTools,
  modelFromSettings,
  openaiCompatibleModels,
  openaiModels,
  planSupport,
  runCode,
  templates,
  transfers,
  workersAiModels,
} from "./byref.ts";

const runtime = createRuntime({
  agents: [weather, orders],
  model: modelFromSettings(anthropicModels, openaiModels, openaiCompatibleModels, workersAiModels),
  mcp: mcpTools,
  code: runCode,
  plans: planSupport(capabilityWorkflows, templates),
  tags: capabilityTags,
  transfer: transfers,
  jwt: jwtDoor,
});

/** One conversation: bound as `CONVERSATIONS` in wrangler.toml. */
export class Conversation extends runtime.Conversation {}

/** The conversations of one tenant: bound as `DIRECTORY`. */
export class Directory extends runtime.Directory {}

export default runtime.worker;
