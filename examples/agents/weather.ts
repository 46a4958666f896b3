import { tool, type ToolSet } from "ai";
import * as z from "zod";
import { type ClimateNormals, findCity } from "./climate-normals.ts";

const weatherReadingSchema = z.object({
  city: z.string(),
  country: z.string(),
  month: z.string(),
  temperature: z.number().describe("°C, mean of the month"),
  feels_like: z.number().describe("°C"),
  humidity: z.number().describe("percent"),
  wind: z.object({ speed: z.number().describe("m/s"), direction: z.string() }),
  conditions: z.string(),
  source: z.string(),
});

export type WeatherReading = Readonly<z.infer<typeof weatherReadingSchema>>;

/** Differences are never negative; `warmer` and `colder` are null when both are equally warm. */
export type WeatherComparison = {
  readonly warmer: string | null;
  readonly colder: string | null;
  /** °C. */
  readonly difference: number;
  /** Percentage points. */
  readonly humidity_difference: number;
  readonly summary: string;
};

const monthNames =
  "January February March April May June July August September October November December".split(
    " ",
  );

const warmthBelow: readonly (readonly [limit: number, word: string])[] = [
  [0, "freezing"],
  [8, "cold"],
  [15, "cool"],
  [21, "mild"],
  [27, "warm"],
  [Infinity, "hot"],
];

/** An agent whose answers depend only on the month of the clock. */
export function createWeather({ now = () => new Date() }: { readonly now?: () => Date } = {}) {
  return {
    name: "weather",
    description: "Reports and compares the typical weather of 40 well-known cities.",
    instructions: [
      "You report the weather. Call get_weather once for each city, in parallel for several.",
      "To compare two cities, pass the two kept readings to compare_weather by reference.",
      "The readings are sample climate normals of the current month: say so if asked.",
    ].join("\n"),
    tools: {
      get_weather: tool({
        description: "Typical weather of a city in the current month. Temperatures in °C.",
        inputSchema: z.object({
          location: z.string().min(1).max(100).describe("A city's name, e.g. NYC or London"),
        }),
        execute: ({ location }) => readWeather(location, now()),
      }),
      compare_weather: tool({
        description: "Compares two readings of get_weather. Takes the readings, not city names.",
        inputSchema: z.object({ city1: weatherReadingSchema, city2: weatherReadingSchema }),
        execute: ({ city1, city2 }) => compareReadings(city1, city2),
      }),
    } satisfies ToolSet,
    effects: { get_weather: "none", compare_weather: "none" },
  } as const;
}

export const weather = createWeather();

function readWeather(location: string, date: Date): WeatherReading {
  const city = findCity(location);
  if (city === undefined) {
    throw new Error(
      `Unknown city "${location}". I know forty, such as New York, London and Tokyo.`,
    );
  }
  // UTC, so that the same instant gives the same month on every machine.
  const month = date.getUTCMonth();
  const temperature = city.temperatures[month] ?? Number.NaN;
  const humidity = humidityIn(city, month);
  return {
    city: city.name,
    country: city.country,
    month: monthNames[month] ?? "",
    temperature,
    feels_like: apparentTemperature(temperature, humidity, city.windSpeed),
    humidity,
    wind: { speed: city.windSpeed, direction: prevailingWind(city.latitude) },
    conditions: `${warmthOf(temperature)} and ${moistureOf(humidity)}`,
    source: "sample climate normals",
  };
}

function compareReadings(one: WeatherReading, two: WeatherReading): WeatherComparison {
  const [warm, cold] = one.temperature >= two.temperature ? [one, two] : [two, one];
  const difference = toTenth(warm.temperature - cold.temperature);
  const humidity = toTenth(warm.humidity - cold.humidity);
  const isEqual = difference === 0;
  return {
    warmer: isEqual ? null : warm.city,
    colder: isEqual ? null : cold.city,
    difference,
    humidity_difference: Math.abs(humidity),
    summary: `${temperatureSentence(warm, cold, difference)} ${humiditySentence(warm, humidity)}`,
  };
}

function temperatureSentence(warm: WeatherReading, cold: WeatherReading, difference: number) {
  if (difference === 0) return `${warm.city} and ${cold.city} are both at ${warm.temperature} °C.`;
  const temperatures = `${warm.temperature} °C against ${cold.temperature} °C`;
  return `${warm.city} is ${difference} °C warmer than ${cold.city} (${temperatures}).`;
}

function humiditySentence(warm: WeatherReading, difference: number): string {
  if (difference === 0) return "Their humidity is the same.";
  const points = Math.abs(difference) === 1 ? "point" : "points";
  const direction = difference > 0 ? "higher" : "lower";
  return `Humidity in ${warm.city} is ${Math.abs(difference)} ${points} ${direction}.`;
}

function humidityIn({ humidity }: ClimateNormals, month: number): number {
  const towardsJuly = (1 - Math.cos((2 * Math.PI * month) / 12)) / 2;
  return Math.round(humidity.january + (humidity.july - humidity.january) * towardsJuly);
}

// Steadman's apparent temperature, as published by the Australian Bureau of Meteorology. It has one formula
// for cold and heat, so no month falls between two definitions.
function apparentTemperature(temperature: number, humidity: number, windSpeed: number): number {
  const saturation = 6.105 * Math.exp((17.27 * temperature) / (237.7 + temperature));
  const vapourPressure = (humidity / 100) * saturation;
  return toTenth(temperature + 0.33 * vapourPressure - 0.7 * windSpeed - 4);
}

// The planet's wind belts: trade winds to 30°, westerlies to 60°, polar easterlies above.
function prevailingWind(latitude: number): string {
  const isNorth = latitude >= 0;
  const degrees = Math.abs(latitude);
  if (degrees >= 30 && degrees < 60) return isNorth ? "SW" : "NW";
  return isNorth ? "NE" : "SE";
}

function warmthOf(temperature: number): string {
  return warmthBelow.find(([limit]) => temperature < limit)?.[1] ?? "hot";
}

function moistureOf(humidity: number): string {
  if (humidity < 45) return "dry";
  return humidity > 74 ? "humid" : "fair";
}

function toTenth(value: number): number {
  // Adding 0 turns -0 into 0.
  return Math.round(value * 10) / 10 + 0;
}
