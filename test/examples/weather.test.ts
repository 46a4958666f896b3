import { describe, expect, it } from "vitest";
import {
  climateNormals,
  findCity,
  findCityMentions,
  nearestCityNames,
} from "../../examples/agents/climate-normals.ts";
import { createWeather, weather, weatherReadingSchema } from "../../examples/agents/weather.ts";

const effects: Readonly<Record<string, "none" | "idempotent" | "once">> = weather.effects;
const options = { toolCallId: "call_1", messages: [], context: {} };

function weatherIn(month: number) {
  const { tools } = createWeather({ now: () => new Date(Date.UTC(2025, month - 1, 15)) });
  return {
    read: async (location: string) =>
      weatherReadingSchema.parse(await tools.get_weather.execute({ location }, options)),
    compare: tools.compare_weather,
  };
}

describe("climate normals", () => {
  it("holds 100 cities, each name and alias meaning one city only", () => {
    expect(climateNormals).toHaveLength(100);
    for (const city of climateNormals) {
      for (const name of [city.name, ...city.aliases]) expect(findCity(name)).toBe(city);
    }
  });

  it("has plausible numbers in every row", () => {
    for (const city of climateNormals) {
      expect(city.temperatures, city.name).toHaveLength(12);
      for (const mean of city.temperatures) expect(mean > -30 && mean < 45, city.name).toBe(true);
      for (const percent of [city.humidity.january, city.humidity.july]) {
        expect(percent > 5 && percent <= 100, city.name).toBe(true);
      }
      expect(city.windSpeed > 0 && city.windSpeed < 15, city.name).toBe(true);
      expect(Math.abs(city.latitude) <= 90 && Math.abs(city.longitude) <= 180).toBe(true);
      expect(city.country).not.toBe("");
    }
  });

  it("is warmer in July in the north and in January in the south, outside the tropics", () => {
    for (const { name, latitude, temperatures } of climateNormals) {
      if (Math.abs(latitude) < 24) continue;
      const [january = 0, july = 0] = [temperatures[0], temperatures[6]];
      expect(latitude > 0 ? july > january : january > july, name).toBe(true);
    }
  });

  it("finds a city by alias, in any case, without accents and before a comma", () => {
    expect(findCity("nyc")?.name).toBe("New York");
    expect(findCity("SF")?.name).toBe("San Francisco");
    expect(findCity("sao paulo")?.name).toBe("São Paulo");
    expect(findCity("St. Petersburg")?.name).toBe("Saint Petersburg");
    expect(findCity("Paris, France")?.name).toBe("Paris");
    expect(findCity("not Paris")).toBeUndefined();
    expect(findCity("Atlantis")).toBeUndefined();
    expect(findCity("")).toBeUndefined();
  });

  it("finds only whole names, the longest first, in order of appearance and as written", () => {
    const text = "From london's fog to New York City, la, not Londonderry or Parisian";
    expect(findCityMentions(text).map((mention) => mention.text)).toEqual([
      "london",
      "New York City",
      "la",
    ]);
    expect(text.slice(findCityMentions(text)[1]?.start).startsWith("New York City")).toBe(true);
  });

  it("puts the closest names first", () => {
    expect(nearestCityNames("Berlim", 2)[0]).toBe("Berlin");
    expect(nearestCityNames("Atlantis", 3)).toHaveLength(3);
    expect(nearestCityNames("Atlantis", 3)).toContain("Atlanta");
  });
});

describe("get_weather", () => {
  it("answers with the normals of the clock's month", async () => {
    expect(await weatherIn(7).read("NYC")).toEqual({
      city: "New York",
      country: "United States",
      month: "July",
      temperature: 25.5,
      feels_like: 25,
      humidity: 65,
      wind: { speed: 5, direction: "SW" },
      conditions: "warm and fair",
      source: "sample climate normals",
    });
    expect(await weatherIn(1).read("NYC")).toMatchObject({ month: "January", temperature: 0.5 });
  });

  it("is the same on every day of a month", async () => {
    const on = (day: number) =>
      createWeather({ now: () => new Date(Date.UTC(2030, 3, day)) }).tools.get_weather.execute(
        { location: "Tokyo" },
        options,
      );
    expect(await on(1)).toEqual(await on(30));
  });

  it("returns one decimal and finite numbers for every city and month", async () => {
    for (let month = 1; month <= 12; month += 1) {
      for (const { name } of climateNormals) {
        const reading = await weatherIn(month).read(name);
        for (const value of [reading.temperature, reading.feels_like]) {
          expect(Number.isFinite(value)).toBe(true);
          expect(Math.round(value * 10) / 10).toBe(value);
        }
        expect(Number.isInteger(reading.humidity)).toBe(true);
        expect(JSON.stringify(reading).length).toBeLessThan(1_000);
      }
    }
  });

  it("feels colder in wind and hotter in humid heat", async () => {
    const [oslo, bangkok] = [await weatherIn(1).read("Oslo"), await weatherIn(4).read("Bangkok")];
    expect(oslo.feels_like).toBeLessThan(oslo.temperature);
    expect(bangkok.feels_like).toBeGreaterThan(bangkok.temperature);
  });

  it("names the unknown city and three known ones", async () => {
    await expect(weatherIn(7).read("Atlantis")).rejects.toThrow(
      /^Unknown city "Atlantis"\. Cities with a similar name: [^,]+, [^,]+, [^,]+\.$/u,
    );
  });

  it("uses today's month without a clock", async () => {
    const reading = await weather.tools.get_weather.execute({ location: "London" }, options);
    expect(weatherReadingSchema.parse(reading).city).toBe("London");
  });
});

describe("compare_weather", () => {
  it("compares two readings, whichever comes first", async () => {
    const { read, compare } = weatherIn(7);
    const [city1, city2] = [await read("London"), await read("NYC")];
    const expected = {
      warmer: "New York",
      colder: "London",
      difference: 6.5,
      humidity_difference: 4,
      summary:
        "New York is 6.5 °C warmer than London (25.5 °C against 19 °C). " +
        "Humidity in New York is 4 points lower.",
    };
    expect(await compare.execute({ city1, city2 }, options)).toEqual(expected);
    expect(await compare.execute({ city1: city2, city2: city1 }, options)).toEqual(expected);
  });

  it("names no winner in a tie", async () => {
    const { read, compare } = weatherIn(7);
    const reading = await read("Rome");
    expect(await compare.execute({ city1: reading, city2: reading }, options)).toEqual({
      warmer: null,
      colder: null,
      difference: 0,
      humidity_difference: 0,
      summary: "Rome and Rome are both at 25.5 °C. Their humidity is the same.",
    });
  });

  it("takes readings, not city names", () => {
    const { inputSchema } = weather.tools.compare_weather;
    expect(inputSchema).toHaveProperty("safeParse");
    expect(weatherReadingSchema.safeParse("London").success).toBe(false);
  });
});

describe("the weather agent", () => {
  it("declares the effects of exactly its tools", () => {
    expect(Object.keys(effects)).toEqual(Object.keys(weather.tools));
    expect(new Set(Object.values(effects))).toEqual(new Set(["none"]));
  });
});
