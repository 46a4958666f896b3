import { orders } from "../examples/agents/orders.ts";
import { page } from "../examples/agents/page.ts";
import { pages } from "../examples/agents/pages.ts";
import { parcels } from "../examples/agents/parcels.ts";
import { refunds } from "../examples/agents/refunds.ts";
import { weather } from "../examples/agents/weather.ts";
import { demoModels } from "../examples/demo-model/demo-model.ts";
import { anthropicModels } from "../packages/providers/src/anthropic.ts";
import { openaiCompatibleModels } from "../packages/providers/src/openai-compatible.ts";
import { openaiModels } from "../packages/providers/src/openai.ts";
import { workersAiModels } from "../packages/providers/src/workers-ai.ts";
import {
  capabilityWorkflows,
  createRuntime,
  csvRecords,
  fileEndpoints,
  jwtAuthenticator,
  mcpTools,
  modelFromSettings,
  planSupport,
  queries,
  runCode,
  templates,
  transfers,
} from "./byref.ts";

const runtime = createRuntime({
  agents: [weather, orders, pages, refunds, parcels],
  model: modelFromSettings(
    demoModels,
    anthropicModels,
    openaiModels,
    openaiCompatibleModels,
    workersAiModels,
  ),
  mcp: mcpTools,
  code: runCode,
  plans: planSupport(capabilityWorkflows, templates),
  transfer: transfers,
  files: fileEndpoints,
  csv: csvRecords,
  queries,
  page,
  jwt: jwtAuthenticator,
});

/** One conversation, bound as `CONVERSATIONS` in wrangler.toml. */
export class Conversation extends runtime.Conversation {}

/** The conversations of one tenant, bound as `DIRECTORY`. */
export class Directory extends runtime.Directory {}

/** The tables of one conversation's queries, bound as `TABLES`. */
export { Tables } from "./byref.ts";

export default runtime.worker;
