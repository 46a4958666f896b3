import type { Sandbox, SandboxJob, SandboxRun } from "../../src/tool/code/sandbox.ts";

export interface ScriptedSandbox extends Sandbox {
  /** What it was given, oldest first. */
  readonly jobs: readonly SandboxJob[];
}

/** What a script gives, unless it says otherwise. */
const NOTHING: SandboxRun = { assigned: [], console: "" };

/**
 * A sandbox that runs no code: the script says what came of it. So it can also answer what no real one
 * does, and call back when it must not.
 */
export function scriptedSandbox(
  script: (job: SandboxJob) => Partial<SandboxRun> | Promise<Partial<SandboxRun>>,
): ScriptedSandbox {
  const jobs: SandboxJob[] = [];
  return {
    jobs,
    run: async (job) => {
      jobs.push(job);
      return { ...NOTHING, ...(await script(job)) };
    },
  };
}

/** Returns the value and assigns the others. */
export function giving(returned: unknown, assigned: Readonly<Record<string, unknown>> = {}) {
  const pairs = Object.entries(assigned).map(
    ([name, value]) => [name, JSON.stringify(value)] as const,
  );
  return scriptedSandbox(() => ({ returned: JSON.stringify(returned), assigned: pairs }));
}
