export { openaiCompatibleModels } from "./edge/models/openai-compatible.ts";
