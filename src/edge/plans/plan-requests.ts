import type { PlanFormat } from "../../plan/plan.ts";
import type { Json } from "../../value/json.ts";

/** A plan as the Worker hands it to the conversation. */
export interface ProposalRequest {
  readonly format: PlanFormat;
  readonly text: string;
  readonly agent?: string | undefined;
}

/** A run of a plan as the Worker hands it to the conversation. */
export interface RunRequest {
  readonly input?: Json | undefined;
  readonly keep?: boolean | undefined;
  /** Of the conversation, as its routes have it. */
  readonly conversation: string;
}
