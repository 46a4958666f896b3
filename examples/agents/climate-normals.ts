/**
 * SAMPLE DATA: rounded, approximate long-term monthly means of 40 cities, written from general
 * knowledge so that the weather example answers without a network. Not for use as climate data.
 */
export type ClimateNormals = {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly country: string;
  /** Degrees, north positive. */
  readonly latitude: number;
  /** Degrees, east positive. */
  readonly longitude: number;
  /** °C, January first; always 12. */
  readonly temperatures: readonly number[];
  /** Percent; the months between follow a yearly wave from one to the other. */
  readonly humidity: { readonly january: number; readonly july: number };
  /** Metres per second, the mean of the year. */
  readonly windSpeed: number;
};

// name | aliases | country | latitude longitude | °C January to December | % January July | m/s
const table = `
New York|NYC,New York City,Manhattan|United States|40.7 -74.0|0.5 2 6 12 17 22.5 25.5 24.5 21 14.5 9 3.5|61 65|5
Los Angeles|LA,L.A.|United States|34.1 -118.2|14 14.5 15.5 17 18.5 20 22.5 23 22.5 20 17 14|60 70|3.3
Chicago||United States|41.9 -87.6|-4 -2 4 10 16 21.5 24 23 19 12.5 5.5 -1|72 69|4.6
San Francisco|SF,Frisco|United States|37.8 -122.4|10.5 12 12.5 13.5 14.5 16 16.5 17 17.5 16.5 13.5 10.5|76 74|4.7
Washington|DC,Washington DC,D.C.|United States|38.9 -77.0|3 4.5 8.5 14.5 19 24.5 26.5 25.5 22 15.5 10 5|62 66|4
Toronto||Canada|43.7 -79.4|-3.5 -3 1.5 7.5 14 19.5 22.5 21.5 17.5 11 5 -0.5|76 70|4.3
Mexico City|CDMX,Ciudad de Mexico|Mexico|19.4 -99.1|14.5 16 18 19.5 20 19 18 18 17.5 17 15.5 14.5|50 68|2.2
Lima||Peru|-12.0 -77.0|22.5 23.5 23 21 19 17.5 17 16.5 16.5 17.5 19 21|80 84|3.6
Buenos Aires|BA|Argentina|-34.6 -58.4|25 23.5 22 18 14.5 12 11 13 15 18 20.5 23.5|64 77|3.4
São Paulo||Brazil|-23.6 -46.6|22.5 22.5 22 20.5 18 16.5 16.5 17.5 18.5 19.5 20.5 21.5|80 75|2.8
London||United Kingdom|51.5 -0.1|5.5 6 8 10.5 13.5 16.5 19 18.5 16 12.5 8.5 6|83 69|4.1
Dublin||Ireland|53.3 -6.3|5.5 5.5 7 8.5 11 13.5 15.5 15.5 13.5 10.5 7.5 6|85 79|5.2
Paris||France|48.9 2.3|5 5.5 9 12 15.5 19 21 21 17 13.5 8.5 5.5|83 67|3.6
Madrid||Spain|40.4 -3.7|6.5 8 11 13.5 17.5 23 26 25.5 21 15.5 10 7|71 37|2.9
Lisbon|Lisboa|Portugal|38.7 -9.1|11.5 12.5 15 16 18.5 21 23 23.5 22 19 15 12.5|80 63|4
Rome|Roma|Italy|41.9 12.5|8 8.5 11 14 18.5 22.5 25.5 25.5 21.5 17.5 12.5 9|77 66|3.2
Athens||Greece|38.0 23.7|10 10.5 13 16.5 21.5 26.5 29.5 29 25 20 15.5 11.5|72 45|3.3
Istanbul||Turkey|41.0 29.0|6.5 6.5 8.5 12.5 17 22 24.5 25 21 16.5 12 8.5|79 70|4
Vienna|Wien|Austria|48.2 16.4|1 2.5 6.5 12 16.5 20 22 21.5 16.5 11 6 1.5|78 62|3.6
Zürich||Switzerland|47.4 8.5|1 2 6 9.5 14 17.5 19.5 19 15 10.5 5 2|83 68|2.4
Berlin||Germany|52.5 13.4|1 2 5 10 15 18 20 19.5 15.5 10.5 5.5 2|86 66|3.7
Amsterdam||Netherlands|52.4 4.9|4 4 6.5 10 13.5 16 18 18 15 11.5 7.5 4.5|87 77|5
Stockholm||Sweden|59.3 18.1|-1 -1 1.5 6 11.5 16 19 18 13 7.5 3.5 0.5|84 68|3.4
Oslo||Norway|59.9 10.8|-3.5 -3 0.5 5.5 11.5 15.5 17.5 16.5 12 6.5 1.5 -3|82 67|2.6
Prague|Praha|Czechia|50.1 14.4|0 1 5 10 14.5 18 20 19.5 14.5 9.5 4.5 1|83 65|3.4
Kyiv|Kiev|Ukraine|50.5 30.5|-3 -2.5 2.5 10 16 19.5 21.5 20.5 15 8.5 2.5 -1.5|83 68|2.6
Moscow||Russia|55.8 37.6|-6 -6 -0.5 7 14 17.5 19.5 17.5 12 5.5 -0.5 -4.5|83 69|2.3
Cairo||Egypt|30.0 31.2|14 15 18 21.5 25 27.5 28.5 28.5 27 24 19.5 15.5|59 58|3.5
Nairobi||Kenya|-1.3 36.8|19.5 20.5 20.5 20 19 17.5 17 17.5 19 20 19 19|64 68|3.8
Dubai||United Arab Emirates|25.2 55.3|19.5 20.5 23.5 27.5 31.5 34 36 36 33.5 30 25.5 21.5|65 52|3.6
Delhi|New Delhi|India|28.6 77.2|14 17 23 29 33 33.5 31.5 30 29.5 26 20.5 15.5|70 73|2.5
Mumbai|Bombay|India|19.1 72.9|24.5 25 27 28.5 30 29 27.5 27.5 27.5 28.5 28 26|62 87|3
Bangkok||Thailand|13.8 100.5|27 28.5 29.5 30.5 30 29.5 29 29 28.5 28.5 28 27|66 76|2.2
Singapore||Singapore|1.4 103.8|26.5 27 27.5 28 28.5 28.5 28 28 28 28 27 26.5|84 80|2.4
Hong Kong|HK|China|22.3 114.2|16.5 17 19.5 23 26.5 28.5 29 28.5 28 25.5 22.5 18|74 81|6
Shanghai||China|31.2 121.5|5 6.5 10.5 16 21 24.5 29 28.5 25 19.5 13.5 7.5|71 77|3
Beijing|Peking|China|39.9 116.4|-2.5 0.5 7.5 15 21.5 25.5 27 26 21 14 5 -1|43 71|2.4
Seoul||South Korea|37.6 127.0|-2 0.5 6 12.5 18 22.5 25.5 26 21.5 15 7.5 0.5|56 77|2.3
Tokyo||Japan|35.7 139.7|5.5 6 9.5 14.5 19 22 26 27 23.5 18 12.5 7.5|51 76|2.8
Sydney||Australia|-33.9 151.2|23.5 23.5 22 19.5 16.5 14 13 14.5 17 19 20.5 22.5|66 64|3.9
`;

/** 40 cities, by their names and aliases. */
const cities: ReadonlyMap<string, ClimateNormals> = new Map(
  table
    .trim()
    .split("\n")
    .map(parseRow)
    .flatMap((city) => [city.name, ...city.aliases].map((name) => [fold(wordsIn(name)), city])),
);

/** The city that a location begins with (`NYC`, `sao paulo`, `Paris, France`), or undefined. The longest name wins. */
export function findCity(location: string): ClimateNormals | undefined {
  const words = wordsIn(location);
  const names = [4, 3, 2, 1].map((count) => fold(words.slice(0, count)));
  return cities.get(names.find((name) => cities.has(name)) ?? "");
}

/** The words of a text as they are written. An apostrophe may be in one: `London's`. */
function wordsIn(text: string): readonly string[] {
  return text.match(/[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu) ?? [];
}

/** Removes accents and genitives, so that "Sao Paulo" and "London's" are found. */
function fold(words: readonly string[]): string {
  const plain = words
    .join(" ")
    .normalize("NFD")
    .replaceAll(/\p{M}|['’]s\b/gu, "");
  return plain.toLowerCase();
}

function parseRow(row: string): ClimateNormals {
  const [name = "", aliases = "", country = "", place = "", ...means] = row.split("|");
  const [temperatures, humidity = [], wind = []] = means.map(numbers);
  return {
    name,
    aliases: aliases === "" ? [] : aliases.split(","),
    country,
    latitude: at(numbers(place), 0),
    longitude: at(numbers(place), 1),
    temperatures: temperatures ?? [],
    humidity: { january: at(humidity, 0), july: at(humidity, 1) },
    windSpeed: at(wind, 0),
  };
}

function numbers(text: string): readonly number[] {
  return text.split(" ").map(Number);
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Number.NaN;
}
