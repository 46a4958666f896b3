export { demoModel, type DemoModelOptions, demoModels } from "./demo/demo-model.ts";
export type {
  Conversation as DemoConversation,
  DemoCall,
  DemoPrompt,
  DemoScript,
  DemoStep,
  DemoTools,
  Outcome,
  Variable,
} from "./demo/read-conversation.ts";
