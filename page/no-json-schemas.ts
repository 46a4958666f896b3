/**
 * Stands in for the parts of zod that write JSON schemas (`vite.config.ts`): the AI SDK's client checks
 * what a server sends, and describes no tools. They would be a twentieth of the page.
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
