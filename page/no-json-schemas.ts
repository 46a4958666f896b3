/**
 * Replaces the parts of zod that write JSON schemas (`vite.config.ts`). The AI SDK's client validates responses and
 * describes no tools, so it does not need them. They would be a twentieth of the page.
 */
function missing(): never {
  throw new Error("The page has no JSON schemas.");
}

export const toJSONSchema = missing;
export const createToJSONSchemaMethod = () => missing;
export const createStandardJSONSchemaMethod = () => missing;
export const initializeContext = missing;
export const extractDefs = missing;
export const finalize = missing;
export const processSchema = missing;
export const JSONSchemaGenerator = missing;
export const allProcessors = {};
