import type { Bucket } from "../store/bytes/bodies.ts";
import type { Files } from "../tool/files.ts";
import type { MakeCodeTool } from "../tool/code/code-tool.ts";
import type { CapabilityTags } from "../turn/model/capability-tags.ts";
import type { Facilities } from "../turn/toolbox.ts";
import type { Bindings } from "./bindings.ts";
import type { PlanSupport } from "./plans/plans.ts";
import { chooseAgent, type AgentSetup } from "./turns/chosen-agent.ts";
import { R2Blobs } from "./platform/r2-blobs.ts";
import { R2Files } from "./platform/r2-files.ts";
import { settingsOf } from "./settings.ts";

/** Where a conversation's large values lie. Without a bucket they stay in SQLite. */
export function bucketOf(env: Cloudflare.Env, prefix: string): Bucket | undefined {
  const { BLOBS: bucket }: Partial<Bindings> = env;
  return bucket === undefined ? undefined : { blobs: new R2Blobs(bucket), prefix };
}

/** What an application gives its agents to work with. */
interface Equipment extends AgentSetup {
  readonly code?: MakeCodeTool | undefined;
  readonly plans?: PlanSupport | undefined;
  readonly tags?: CapabilityTags | undefined;
}

/** What the runtime's own tools work with. */
export function facilitiesOf(
  env: Cloudflare.Env,
  prefix: string,
  { code, plans, tags, ...agentSetup }: Equipment,
): Facilities {
  const files = filesOf(env, prefix);
  return {
    code,
    ...(plans === undefined ? {} : { frontEnds: plans.frontEnds }),
    ...(tags === undefined ? {} : { tags }),
    colleague: (name) => chooseAgent(agentSetup, settingsOf(env), name),
    ...(files === undefined ? {} : { files }),
  };
}

/** The conversation's files. Without a bucket it has none. */
export function filesOf(env: Cloudflare.Env, prefix: string): Files | undefined {
  const { BLOBS: bucket }: Partial<Bindings> = env;
  return bucket === undefined ? undefined : new R2Files(bucket, prefix);
}
