import { orders } from "../../examples/agents/orders.ts";
import { refunds } from "../../examples/agents/refunds.ts";
import { demoModel } from "../../examples/demo-model/demo-model.ts";
import {
  capabilityWorkflows,
  createRuntime,
  csvRecords,
  fileEndpoints,
  planSupport,
  queries,
  templates,
  transfers,
} from "../../src/byref.ts";

/** The Worker whose versions are compared. The file is bundled from the sources of each of them. */
const runtime = createRuntime({
  agents: [orders, refunds],
  model: (_, env) => demoModel({ wordDelayMs: Number((env as { DELAY?: string }).DELAY ?? 0) }),
  plans: planSupport(capabilityWorkflows, templates),
  transfer: transfers,
  files: fileEndpoints,
  csv: csvRecords,
  queries,
  spend: { tenant: { modelCalls: 1_000, per: "day" } },
});

export class Conversation extends runtime.Conversation {}
export class Directory extends runtime.Directory {}
export { Tables } from "../../src/byref.ts";

export default runtime.worker;
