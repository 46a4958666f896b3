/** Compares the weather of two cities by reference: `npm ci && npm start`. Needs no key. */
import { ScriptedModel } from "./scripted-model.ts"; // or a real one: "openai/gpt-4o-mini"
import { weatherAgent } from "./weather-agent.ts";

const model = new ScriptedModel([
  {
    calls: [
      ["getWeather", { location: "NYC" }],
      ["getWeather", { location: "London" }],
    ],
  },
  { calls: [["compareWeather", { city1: "$weather_nyc", city2: "$weather_london" }]] },
  {
    text: "It is $weather_nyc.temperature°F in NYC and $weather_london.temperature°F in London.",
  },
]);

const { text, toolCalls } = await weatherAgent(model.config).generate("Compare NYC and London.");
for (const { payload } of toolCalls) console.log(payload.toolName, JSON.stringify(payload.args));
console.log(text);
