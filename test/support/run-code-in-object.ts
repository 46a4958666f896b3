import { runInDurableObject } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { loaderSandbox } from "../../packages/code/src/loader-sandbox.ts";
import type { Sandbox } from "../../packages/code/src/sandbox.ts";
import { type CodeCall, type CodeOutcome, runCode } from "./run-code.ts";

/** Runs the work inside an object, as a turn does. */
export function inObject<Result>(work: (sandbox: Sandbox) => Promise<Result>): Promise<Result> {
  const { CONVERSATIONS } = env;
  const stub = CONVERSATIONS.get(CONVERSATIONS.newUniqueId());
  return runInDurableObject(stub, () => work(loaderSandbox(env.LOADER)));
}

/** Calls `run_code` once in a real sandbox. */
export function runInObject(code: string, call: CodeCall = {}): Promise<CodeOutcome> {
  return inObject((sandbox) => runCode(sandbox, code, call));
}
