import { describe, expect, it } from "vitest";
import {
  climateNormals,
  findCity,
  findCityMentions,
} from "../../examples/agents/climate-normals.ts";
import { createWeather, weatherReadingSchema } from "../../examples/agents/weather.ts";

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

  it("names the unknown city and three known ones", async () => {
    await expect(weatherIn(7).read("Atlantis")).rejects.toThrow(
      /^Unknown city "Atlantis"\. Cities with a similar name: [^,]+, [^,]+, [^,]+\.$/u,
    );
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
});
