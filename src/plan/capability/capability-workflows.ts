import { withKnownTools } from "./with-known-tools.ts";
import { readCapabilities } from "./capability-xml.ts";
import type { FrontEnd } from "../front-end.ts";
import { variableCapability } from "./variable-capability.ts";

/** Capability workflows: XML tags, run in the written order. */
export const capabilityWorkflows: FrontEnd = {
  format: "capability-xml",
  mediaTypes: ["application/xml", "text/xml"],
  read: readCapabilities,
  fit: withKnownTools,
  own: {
    plain: Object.fromEntries(
      variableCapability.map(({ name, inputSchema }) => [name, { inputSchema }]),
    ),
    tools: () => variableCapability,
  },
};
