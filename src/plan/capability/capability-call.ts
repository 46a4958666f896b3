import { compact, type Json } from "../../value/json.ts";
import { isValidName } from "../../store/names.ts";
import { RESERVED_NAMES } from "../run-names.ts";
import type { CapabilityTag } from "./xml-tag.ts";

/** A capability tag, read as a tool call. */
export interface CapabilityCall {
  readonly tool: string;
  readonly parameters: Readonly<Record<string, Json>>;
  /** The variable in which the result is saved. */
  readonly outputVariable?: string;
  /** The variables that the call writes: `output_var`, and the key of `variable set`. */
  readonly writes: readonly string[];
  /** Where these variables live: in one run, or in the conversation. */
  readonly scope: "run" | "conversation";
}

type CallReading =
  | { readonly call: CapabilityCall; readonly fault?: undefined }
  | { readonly call?: undefined; readonly fault: string };

const VARIABLE = "variable";
const VARIABLE_ACTIONS = ["set", "get", "list", "interpolate", "clear", "clear_all"];

/**
 * Reads a tag as a call of `name_action`, or of `name`. The other attributes and the body (`content`) are its
 * parameters.
 */
export function callOf({ attributes, body }: CapabilityTag): CallReading {
  const { name, action, output_var: output, ...given } = Object.fromEntries(attributes);
  const isSet = name === VARIABLE && action === "set";
  const writes = [...(output === undefined ? [] : [output]), ...(isSet ? [given.key ?? ""] : [])];
  const fault = faultIn({ name, action }) ?? faultInNames(writes) ?? faultInBody(given, body);
  if (fault !== undefined) return { fault };
  // A tool may have its own `scope` parameter. Only the value "conversation" on a call that writes is ours.
  const isKept = given.scope === "conversation" && writes.length > 0;
  const { scope: _scope, ...others } = given;
  const parameters = isKept ? others : given;
  return {
    call: {
      tool: action === undefined ? `${name}` : `${name}_${action}`,
      parameters: body === "" ? parameters : { ...parameters, content: body },
      ...compact({ outputVariable: output }),
      writes,
      scope: isKept ? "conversation" : "run",
    },
  };
}

function faultIn(tag: {
  name: string | undefined;
  action: string | undefined;
}): string | undefined {
  if (tag.name === undefined || tag.name === "") return "A capability needs a name.";
  if (tag.action === "") return "An action has a name; leave the attribute out if there is none.";
  if (tag.name !== VARIABLE || VARIABLE_ACTIONS.includes(tag.action ?? "")) return undefined;
  return `The actions of variable are ${VARIABLE_ACTIONS.join(", ")}.`;
}

function faultInNames(names: readonly string[]): string | undefined {
  for (const name of names) {
    if (RESERVED_NAMES.includes(name)) return `"${name}" is the run's own and cannot be written.`;
    if (!isValidName(name)) {
      return `"${name.slice(0, 80)}" is not a variable name: use letters, digits and underscores, the first not a digit.`;
    }
  }
  return undefined;
}

function faultInBody(given: Readonly<Record<string, string>>, body: string): string | undefined {
  if (Object.hasOwn(given, "_outputPath")) return "Write output_var, not _outputPath.";
  const isTwice = body !== "" && Object.hasOwn(given, "content");
  return isTwice ? "The content is either an attribute or the body, not both." : undefined;
}
