export { openaiModels } from "./edge/models/openai.ts";
