import type { Shape } from "./hostile-world.ts";
import { type RawAnswer, silence } from "./raw-server.ts";

const SILENCE: Readonly<Record<string, Readonly<Record<string, RawAnswer>>>> = {
  "its greeting": { initialize: silence },
  "the list of its tools": { "tools/list": silence },
  "the list of its resources": { "resources/list": silence },
  "the list of its templates": { "resources/templates/list": silence },
  "the list of its prompts": { "prompts/list": silence },
  calls: { "tools/call": silence },
  anything: Object.fromEntries(
    ["initialize", "tools/list", "resources/list", "prompts/list"].map((method) => [
      method,
      silence,
    ]),
  ),
  "calls but with null": { "tools/call": () => null },
  "calls but with a text": { "tools/call": () => "text" },
};

/** Servers that leave requests unanswered. */
export const SILENT_SHAPES: readonly Shape[] = Object.entries(SILENCE).map(
  ([title, answers]): Shape => ({
    title: `a server that never answers ${title}`,
    answers,
    attack: ({ client, take }) =>
      Promise.allSettled([
        client.listTools(),
        client.listResources(),
        client.listPrompts(),
        take(),
      ]),
  }),
);
