import { runInThisContext } from "node:vm";
import type { Sandbox, SandboxJob } from "../../packages/code/src/sandbox.ts";

/** A sandbox for tests in plain Node. Evaluates code in this process, without isolation. */
export const evaluatingSandbox: Sandbox = {
  async run(job) {
    const assigned = new Map<string, string>();
    const said: string[] = [];
    const given: Readonly<Record<string, unknown>> = Object.fromEntries([
      ...job.values.map(([name, text]) => [name, JSON.parse(text) as unknown]),
      ["tools", toolsOf(job)],
      ["vars", variablesInto(assigned)],
      ["console", { log: (...words: unknown[]) => said.push(words.join(" ")) }],
    ]);
    try {
      const names = Object.keys(given).join(", ");
      const make: unknown = runInThisContext(`(async ({ ${names} }) => {\n${job.code}\n})`);
      const returned: unknown = await (make as (values: object) => Promise<unknown>)(given);
      const text = JSON.stringify(returned) as string | undefined;
      const result = { assigned: [...assigned], console: said.join("\n") };
      return text === undefined ? result : { ...result, returned: text };
    } catch (error) {
      return {
        assigned: [],
        console: said.join("\n"),
        error: { kind: "thrown", message: String(error) },
      };
    }
  },
};

function variablesInto(assigned: Map<string, string>): object {
  return new Proxy(
    {},
    {
      set(_, name, value: unknown) {
        assigned.set(String(name), JSON.stringify(value) ?? "null");
        return true;
      },
    },
  );
}

function toolsOf(job: SandboxJob): object {
  return new Proxy(
    {},
    {
      get: (_, name) => async (input: unknown) => {
        const answer = await job.call(String(name), JSON.stringify(input));
        if ("error" in answer) throw new Error(answer.error);
        return JSON.parse(answer.text) as unknown;
      },
    },
  );
}
