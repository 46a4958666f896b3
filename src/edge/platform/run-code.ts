import { codeTool, type MakeCodeTool } from "../../tool/code/code-tool.ts";
import type { Bindings } from "../bindings.ts";
import { loaderSandbox } from "./loader-sandbox.ts";

/**
 * `run_code` in dynamic Workers, where a Worker Loader is bound as `LOADER`: what an application hands to
 * `createRuntime` to let its models run code.
 */
export function runCode(env: object): MakeCodeTool | undefined {
  const { LOADER: loader }: Partial<Bindings> = env;
  if (loader === undefined) return undefined;
  const sandbox = loaderSandbox(loader);
  return (options) => codeTool({ sandbox, ...options });
}
