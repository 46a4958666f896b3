import type { LanguageModel, ModelMessage, ToolLoopAgent, ToolSet } from "ai";
import type { VariableStore } from "../../../../src/store/variable-store.ts";
import type { World } from "../tasks/task.ts";

/** Arms in the order of the tables. The first one is the baseline of comparisons. */
export const armNames = ["by value", "cap", "offload", "reference", "reference, SQL"] as const;

export type ArmName = (typeof armNames)[number];

/** A way in which results reach the model and the next tool. */
export interface Arm {
  readonly name: ArmName;
  /** Starts a conversation of this kind, with the tools of a task. */
  open(world: World): Conversation;
}

/** A conversation of one cell. */
export interface Conversation {
  /** Plays the turn that begins with the last of the messages. The model continues until it calls no tool. */
  play(turn: PlayedTurn): Promise<TurnResult>;
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

export interface TurnResult {
  /** The answer as the person sees it. */
  readonly text: string;
  /** The messages of the turn, for the next one. */
  readonly messages: readonly ModelMessage[];
}

/** An agent of the AI SDK, whatever its tools are. */
export type AnyAgent = Pick<ToolLoopAgent<never, ToolSet>, "generate">;
