export { workersAiModels } from "./edge/models/workers-ai.ts";
