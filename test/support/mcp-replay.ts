import { isDeepStrictEqual } from "node:util";
import { isObject, type Json, type JsonObject } from "../../src/value/json.ts";
import {
  type ChatBody,
  type ChatStep,
  outputIn,
  startChatCompletions,
} from "./chat-completions.ts";
import {
  type OfferedTool,
  type Result,
  type RunningMcpServer,
  startMcpServer,
  structured,
  textResult,
} from "./mcp-server.ts";
import { sourceOf, type Step, type Trace, writtenWith } from "./replay.ts";
import { post } from "./turn-client.ts";
import { startWorkerServer } from "./worker-server.ts";

/** Most tools that one server offers. A lane starts as many servers as it needs. */
const TOOLS_PER_SERVER = 250;
/** Each built-in agent is a lane that replays one trace at a time, with tools on its own servers. */
const AGENTS = ["weather", "orders"];

export interface McpReplay {
  /** Calls that reached a server. */
  readonly calls: number;
  readonly failures: readonly McpFailure[];
  /** Excludes the start-up time. */
  readonly milliseconds: number;
}

export interface McpFailure {
  readonly id: string;
  readonly step: number;
  readonly expected: Json;
  /** Undefined if the call never came. */
  readonly actual: unknown;
}

/**
 * Replays every trace through a running Worker. The model is scripted and refers to each variable by the name
 * it was given; the tools are on MCP servers. A step fails unless its tool was called with the expected
 * input.
 */
export async function replayThroughMcp(
  traces: readonly Trace[],
  onProgress: (done: number) => void,
): Promise<McpReplay> {
  const lanes = await Promise.all(AGENTS.map((agent) => Lane.start(agent, traces)));
  const script = (body: ChatBody) => nextStep(traces, body);
  const endpoint = await startChatCompletions(script);
  const server = await startWorkerServer({
    MODEL: "openai-compatible:replay",
    MODEL_BASE_URL: endpoint.url,
    MCP_SERVERS: JSON.stringify(lanes.flatMap((lane) => lane.settings)),
  });
  try {
    const began = performance.now();
    const waiting = traces.keys();
    let done = 0;
    const runLane = async (lane: Lane) => {
      for (const index of waiting) {
        await lane.replay(traces[index], () =>
          post(`${server.url}/conversations/replay-${index}`, `replay ${index}`, {
            agent: lane.agent,
            accept: "application/json",
          }),
        );
        onProgress(++done);
        // Clears the recorded requests, which nothing reads.
        if (done % 50 === 0) endpoint.play(script);
      }
    };
    await Promise.all(lanes.map(runLane));
    const milliseconds = performance.now() - began;
    return {
      calls: lanes.reduce((sum, { calls }) => sum + calls, 0),
      failures: lanes.flatMap(({ failures }) => failures),
      milliseconds,
    };
  } finally {
    await server.stop();
    await endpoint.down();
    await Promise.all(lanes.map((lane) => lane.stop()));
  }
}

/** The servers of one agent, and the trace that it is replaying. */
class Lane {
  readonly agent: string;
  readonly failures: McpFailure[] = [];
  calls = 0;
  readonly #servers: RunningMcpServer[] = [];
  #steps: readonly Step[] = [];
  #received: { readonly tool: string; readonly input: JsonObject }[] = [];

  static async start(agent: string, traces: readonly Trace[]): Promise<Lane> {
    const lane = new Lane(agent);
    const tools = [...new Set(traces.flatMap(({ steps }) => steps.map((step) => step.tool)))];
    for (let start = 0; start < tools.length; start += TOOLS_PER_SERVER) {
      const names = tools.slice(start, start + TOOLS_PER_SERVER);
      lane.#servers.push(await startMcpServer(names.map((name) => lane.#offered(name))));
    }
    return lane;
  }

  private constructor(agent: string) {
    this.agent = agent;
  }

  get settings() {
    return this.#servers.map(({ url }, index) => {
      return { name: `${this.agent}_${index}`, url, agents: [this.agent] };
    });
  }

  async replay(trace: Trace | undefined, ask: () => Promise<Response>): Promise<void> {
    if (trace === undefined) return;
    this.#steps = trace.steps;
    this.#received = [];
    const response = await ask();
    const said = await response.text();
    const received = this.#received;
    this.calls += received.length;
    for (const [step, { tool, expect: expected }] of trace.steps.entries()) {
      const call = received[step];
      const isRight = call?.tool === tool && isDeepStrictEqual(call.input, expected);
      const actual = call ?? (step === received.length ? said : undefined);
      if (!isRight) this.failures.push({ id: trace.id, step, expected, actual });
    }
    const step = trace.steps.length;
    const actual = `${received.length - step} more calls`;
    if (received.length > step) this.failures.push({ id: trace.id, step, expected: null, actual });
  }

  async stop(): Promise<void> {
    await Promise.all(this.#servers.map((server) => server.down()));
  }

  #offered(name: string): OfferedTool {
    return {
      name,
      description: name,
      answer: (input) => {
        const step = this.#steps[this.#received.length];
        this.#received.push({ tool: name, input });
        return resultFor(step?.output ?? null);
      },
    };
  }
}

export function resultFor(output: Json): Result {
  return isObject(output) ? structured(output as JsonObject) : textResult(JSON.stringify(output));
}

/** Returns the model's next step: the first call without a result, or the final answer. */
function nextStep(traces: readonly Trace[], { messages, tools }: ChatBody): ChatStep {
  const asked = messages.flatMap(({ content }) => /^replay (\d+)$/.exec(content ?? "") ?? []);
  const { steps = [] } = traces[Number(asked[1])] ?? {};
  const variables = messages
    .filter(({ role }) => role === "tool")
    .map((result) => variableIn(outputIn(result)));
  const failed = variables.indexOf(undefined);
  if (failed !== -1) return { kind: "text", text: `Step ${failed} failed.` };
  const step = steps[variables.length];
  if (step === undefined) return { kind: "text", text: "Done." };
  // A tool that is on demand stands in the parameter of the tool that finds it.
  const lines = tools.flatMap(({ function: { name, description, parameters } }) => {
    const { query } = isObject(parameters.properties) ? parameters.properties : {};
    const there = isObject(query) ? String(query.description) : "";
    return [`${name}: ${description}`, ...there.split("\n")];
  });
  const named = lines.find((line) => line.endsWith(`: ${step.tool}`)) ?? step.tool;
  const sources = step.refs.map((reference) => sourceOf(reference, steps, variables));
  // The input of every recorded step is an object.
  const input = writtenWith(step, sources) as JsonObject;
  return { kind: "calls", calls: [{ name: named.split(": ", 1).join(), input }] };
}

/** Returns the variable name in a result that the model was shown. */
function variableIn(output: string): string | undefined {
  try {
    const shown = JSON.parse(output) as unknown;
    return isObject(shown) && typeof shown.$var === "string" ? shown.$var : undefined;
  } catch {
    return undefined;
  }
}
