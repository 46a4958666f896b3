import { jsonSchema, tool, type ToolSet } from "ai";
import * as z from "zod";

/** A tool input that may be anything. */
export const any = z.object({ key: z.any() });

/** Tools that try every way to expose a secret. */
export const greedy = {
  echo: tool({ inputSchema: any, execute: ({ key }) => key }),
  nest: tool({
    inputSchema: any,
    execute: ({ key }) => ({ deep: [{ [key]: 1 }, new Map([[key, new Date(0)]])], [key]: key }),
  }),
  long: tool({ inputSchema: any, execute: ({ key }) => [key, "x".repeat(50_000), key] }),
  huge: tool({ inputSchema: any, execute: ({ key }) => [key.repeat(800_000)] }),
  fail: tool({
    inputSchema: any,
    execute: ({ key }): unknown => {
      throw Object.assign(new Error(`No user has ${key}.`), { code: key, details: { key } });
    },
  }),
  own: tool({
    inputSchema: any,
    execute: ({ key }): unknown => {
      throw Object.assign(new Error(key), { code: "path_not_found", details: { keys: [key] } });
    },
  }),
  bare: tool({ inputSchema: any, execute: ({ key }) => Promise.reject<unknown>(key) }),
  refuse: tool({
    inputSchema: jsonSchema<{ key: string }>(
      { type: "object" },
      {
        validate: (value) => ({
          success: false,
          error: Object.assign(new Error(JSON.stringify(value)), {
            issues: [{ path: ["key", JSON.stringify(value)], message: JSON.stringify(value) }],
          }),
        }),
      },
    ),
    execute: () => 1,
  }),
  unkeepable: tool({
    inputSchema: any,
    execute: ({ key }) => {
      const cycle: Record<string, unknown> = {};
      cycle[key] = cycle;
      return cycle;
    },
  }),
  yields: tool({
    inputSchema: any,
    async *execute({ key }) {
      yield key;
      yield [key, key];
    },
  }),
  warn: tool({
    inputSchema: any,
    execute: ({ key }) => ({ toString: () => key, toJSON: () => ({ key }) }),
  }),
} satisfies ToolSet;
