import {
  dynamicTool,
  type InferToolInput,
  type InferToolOutput,
  type InferUITools,
  tool,
  ToolLoopAgent,
  type ToolSet,
} from "ai";
import { expect, expectTypeOf, it } from "vitest";
import * as z from "zod";
import { MemoryStore, type VariableOutput, wrapTools } from "../../src/agent.ts";
import { scriptedModel } from "../../../testing/src/testing.ts";

it("a tool that the provider or the client executes is left alone", () => {
  const provider = {
    type: "provider" as const,
    isProviderExecuted: true as const,
    id: "any.search" as const,
    args: {},
    inputSchema: z.object({}),
    outputSchema: z.object({}),
  };
  const client = tool({ inputSchema: z.object({ n: z.number() }), outputSchema: z.string() });
  const wrapped = wrapTools({ provider, client }, { store: new MemoryStore() });
  expect(wrapped.provider).toBe(provider);
  expect(wrapped.client).toBe(client);
});

it("keeps the types of inputs and outputs", () => {
  const tools = {
    find: tool({
      inputSchema: z.object({ query: z.string(), limit: z.number().optional() }),
      execute: () => ({ hits: 3 }),
    }),
    stream: tool({
      inputSchema: z.object({}),
      async *execute() {
        yield "a" as const;
      },
    }),
    ask: tool({ inputSchema: z.object({ what: z.string() }), outputSchema: z.string() }),
    any: dynamicTool({ inputSchema: z.object({}), execute: () => 1 }),
  };
  const wrapped = wrapTools(tools, { store: new MemoryStore() });
  type Wrapped = typeof wrapped;
  expectTypeOf<InferToolInput<Wrapped["find"]>>().toEqualTypeOf<{
    query: string;
    limit?: number | undefined;
  }>();
  expectTypeOf<InferToolOutput<Wrapped["find"]>>().toEqualTypeOf<
    VariableOutput<{ hits: number }>
  >();
  expectTypeOf<InferToolOutput<Wrapped["stream"]>>().toEqualTypeOf<VariableOutput<"a">>();
  expectTypeOf<Wrapped["ask"]>().toEqualTypeOf<(typeof tools)["ask"]>();
  expectTypeOf<InferToolInput<Wrapped["any"]>>().toEqualTypeOf<unknown>();
  expectTypeOf(wrapped).toExtend<ToolSet>();

  const agent = new ToolLoopAgent({ model: scriptedModel([]), tools: wrapped });
  type InClient = InferUITools<Wrapped>["find"];
  expectTypeOf<InClient["output"]>().toEqualTypeOf<VariableOutput<{ hits: number }>>();
  type Result = Awaited<ReturnType<typeof agent.generate>>;
  type Found = Extract<Result["staticToolResults"][number], { toolName: "find" }>;
  expectTypeOf<Found["input"]["query"]>().toEqualTypeOf<string>();
  expectTypeOf<Found["output"]>().toEqualTypeOf<VariableOutput<{ hits: number }>>();
});
