export { Random } from "../../src/eval/random.ts";
