export { Random } from "../../packages/eval/src/random.ts";
