import type { LanguageModel, ModelMessage, ToolSet } from "ai";
import type { VariableStore } from "../../../../src/internal.ts";

/** Arms in the order of the tables. The first one is the baseline of comparisons. */
export const armNames = ["by value", "cap", "offload", "reference", "reference, SQL"] as const;

export type ArmName = (typeof armNames)[number];

/** A way in which results reach the model and the next tool. */
export interface Arm {
  readonly name: ArmName;
  /** Starts a conversation of this kind, with the tools of a task. */
  open(tools: ToolSet): Conversation;
}

/** A conversation of one cell. */
export interface Conversation {
  /** Plays a turn until the model calls no tool. Returns the messages of the turn. */
  play(turn: PlayedTurn): Promise<readonly ModelMessage[]>;
  /** The variables, in arms that have any. */
  readonly store?: VariableStore;
  /** Tools that look into data that was put aside. Their results are not data of the task. */
  readonly readers: readonly string[];
}

export interface PlayedTurn {
  readonly model: LanguageModel;
  readonly messages: ModelMessage[];
  /** Model calls of this turn. */
  readonly maxSteps: number;
}
