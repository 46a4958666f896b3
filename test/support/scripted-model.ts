export {
  finish,
  type Part,
  reasoning,
  type Script,
  type ScriptedModel,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../src/testing.ts";
