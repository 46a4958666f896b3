export { anthropicModels } from "./edge/models/anthropic.ts";
