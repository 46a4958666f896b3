export { demoModel, type DemoModelOptions, demoModels } from "./demo/demo-model.ts";
export type {
  Conversation as DemoConversation,
  Outcome,
  Variable,
} from "./demo/read-conversation.ts";
export type { DemoCall, DemoPrompt, DemoScript, DemoStep, DemoTools } from "./demo/step.ts";
