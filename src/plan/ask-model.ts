import type { ValueLabels } from "../store/labels.ts";
import type { SaveTarget } from "../tool/save-target.ts";
import type { CallOptions } from "../tool/wrapped-tool.ts";
import type { Json } from "../value/json.ts";

/** A question to a model that knows nothing of the conversation but its variables. */
export interface ModelQuestion {
  readonly prompt: string;
  /** The agent's tools that the model is given, by name, and where what each gives is saved. */
  readonly tools: ReadonlyMap<string, SaveTarget | undefined>;
  /** Texts that the prompt shows and that are no variables: files. */
  readonly texts?: readonly string[];
  /** The call in which it is asked. */
  readonly call: CallOptions;
}

export interface ModelAnswer {
  /** The answer's text with the values in it; of an answer that is one reference, the value. */
  readonly value: Json;
  /** Inherited from what the model was shown and what it referred to. */
  readonly labels: ValueLabels;
}

/** Rejects with ByrefErrors: `model_failed`, `spend_exceeded` and their like. */
export type AskModel = (question: ModelQuestion) => Promise<ModelAnswer>;
