/**
 * SAMPLE DATA: rounded, approximate long-term monthly means of 100 cities, written from general
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

/** A city's name in a text. `start` is a UTF-16 offset. */
export type CityMention = {
  readonly city: ClimateNormals;
  readonly text: string;
  readonly start: number;
};

type Word = { readonly folded: string; readonly start: number; readonly end: number };

// name | aliases | country | latitude longitude | °C January to December | % January July | m/s
const table = `
New York|NYC,New York City,Manhattan|United States|40.7 -74.0|0.5 2 6 12 17 22.5 25.5 24.5 21 14.5 9 3.5|61 65|5
Los Angeles|LA,L.A.|United States|34.1 -118.2|14 14.5 15.5 17 18.5 20 22.5 23 22.5 20 17 14|60 70|3.3
Chicago||United States|41.9 -87.6|-4 -2 4 10 16 21.5 24 23 19 12.5 5.5 -1|72 69|4.6
San Francisco|SF,Frisco|United States|37.8 -122.4|10.5 12 12.5 13.5 14.5 16 16.5 17 17.5 16.5 13.5 10.5|76 74|4.7
Washington|DC,Washington DC,D.C.|United States|38.9 -77.0|3 4.5 8.5 14.5 19 24.5 26.5 25.5 22 15.5 10 5|62 66|4
Boston||United States|42.4 -71.1|-1.5 -0.5 3.5 9 14.5 20 23 22.5 18.5 12.5 7 2|62 68|5.4
Seattle||United States|47.6 -122.3|5.5 6.5 8 10.5 14 16.5 19.5 19.5 16.5 11.5 7.5 5|82 66|3.6
Miami||United States|25.8 -80.2|20 21 22.5 24.5 26.5 28 29 29 28.5 26.5 24 21.5|73 75|4
Houston||United States|29.8 -95.4|12 14 18 21.5 25.5 28.5 29.5 29.5 27 22.5 17 13|75 74|3.5
Dallas||United States|32.8 -96.8|8 10 14.5 19 23.5 28 30 30 26 20 13.5 9|66 60|4.7
Atlanta||United States|33.7 -84.4|7 9 13 17.5 21.5 25.5 27 26.5 23.5 18 12 8.5|68 72|3.9
Denver||United States|39.7 -105.0|0 1 5.5 9 14 20.5 24 23 18 10.5 4.5 0|55 48|3.8
Phoenix||United States|33.4 -112.1|13.5 15.5 19 23 28 33 35 34.5 31.5 25 18 13|50 31|2.8
Las Vegas|Vegas|United States|36.2 -115.1|9.5 12 16 20 25.5 31 34 33 28.5 21.5 14 9|45 21|4
Philadelphia|Philly|United States|40.0 -75.2|1 2 6.5 12.5 18 23 26 25 21 14.5 9 4|66 67|4.2
San Diego||United States|32.7 -117.2|14.5 15 16 17 18 19.5 21.5 22.5 22 20 17 14.5|63 75|3
New Orleans|NOLA|United States|30.0 -90.1|12 14 17.5 21 25 28 28.5 28.5 27 22.5 17 13.5|76 79|3.6
Honolulu||United States|21.3 -157.9|23 23 23.5 24.5 25.5 27 27.5 28 27.5 27 25.5 24|73 66|4.8
Anchorage||United States|61.2 -149.9|-8.5 -6.5 -3 3 9 13 15 14 9 2 -5 -7|74 71|3.1
Toronto||Canada|43.7 -79.4|-3.5 -3 1.5 7.5 14 19.5 22.5 21.5 17.5 11 5 -0.5|76 70|4.3
Vancouver||Canada|49.3 -123.1|4 5 7 9.5 13 16 18.5 18.5 15 10.5 6.5 4|85 74|3.4
Montreal||Canada|45.5 -73.6|-9.5 -8 -2 6.5 13.5 18.5 21.5 20 15.5 8.5 2 -5.5|72 69|4
Mexico City|CDMX,Ciudad de Mexico|Mexico|19.4 -99.1|14.5 16 18 19.5 20 19 18 18 17.5 17 15.5 14.5|50 68|2.2
Havana||Cuba|23.1 -82.4|22 22.5 23.5 25 26 27 27.5 28 27.5 26 24.5 23|74 78|4.2
Panama City||Panama|9.0 -79.5|27 27 28 28 28 27.5 27.5 27.5 27 27 26.5 27|72 85|2.4
Bogotá||Colombia|4.7 -74.1|13.5 13.5 14 14 14 14 13.5 13.5 13.5 13.5 13.5 13.5|75 74|2.2
Quito||Ecuador|-0.2 -78.5|14 14 14 14 14.5 14.5 14.5 15 15 14 14 14|77 62|2.3
Lima||Peru|-12.0 -77.0|22.5 23.5 23 21 19 17.5 17 16.5 16.5 17.5 19 21|80 84|3.6
La Paz||Bolivia|-16.5 -68.1|12 12 12 11.5 10 9 8.5 10 11.5 12.5 13 12.5|66 39|2.6
Santiago||Chile|-33.4 -70.7|21 20 18.5 15 11.5 9 8.5 10 12 14.5 17.5 20|55 80|2
Buenos Aires|BA|Argentina|-34.6 -58.4|25 23.5 22 18 14.5 12 11 13 15 18 20.5 23.5|64 77|3.4
Montevideo||Uruguay|-34.9 -56.2|23.5 23 21.5 18 14.5 12 11 12.5 14 16.5 19.5 22|68 81|5.3
Rio de Janeiro|Rio|Brazil|-22.9 -43.2|27 27 26 25 23 22 21.5 22 22.5 23.5 24.5 26|79 77|3.2
São Paulo||Brazil|-23.6 -46.6|22.5 22.5 22 20.5 18 16.5 16.5 17.5 18.5 19.5 20.5 21.5|80 75|2.8
London||United Kingdom|51.5 -0.1|5.5 6 8 10.5 13.5 16.5 19 18.5 16 12.5 8.5 6|83 69|4.1
Manchester||United Kingdom|53.5 -2.2|4.5 4.5 6.5 8.5 12 14.5 16.5 16 14 10.5 7 5|86 77|4.5
Edinburgh||United Kingdom|55.9 -3.2|4.5 4.5 6 8 10.5 13 15 15 13 10 7 4.5|83 78|5
Dublin||Ireland|53.3 -6.3|5.5 5.5 7 8.5 11 13.5 15.5 15.5 13.5 10.5 7.5 6|85 79|5.2
Paris||France|48.9 2.3|5 5.5 9 12 15.5 19 21 21 17 13.5 8.5 5.5|83 67|3.6
Marseille||France|43.3 5.4|8 8.5 11.5 14 18 22 25 24.5 21 17 12 9|72 60|4.9
Madrid||Spain|40.4 -3.7|6.5 8 11 13.5 17.5 23 26 25.5 21 15.5 10 7|71 37|2.9
Barcelona||Spain|41.4 2.2|10 10.5 12.5 14.5 18 21.5 24.5 25 22 18.5 13.5 11|68 68|3.4
Lisbon|Lisboa|Portugal|38.7 -9.1|11.5 12.5 15 16 18.5 21 23 23.5 22 19 15 12.5|80 63|4
Rome|Roma|Italy|41.9 12.5|8 8.5 11 14 18.5 22.5 25.5 25.5 21.5 17.5 12.5 9|77 66|3.2
Milan|Milano|Italy|45.5 9.2|3.5 5.5 10.5 14.5 19 23 25.5 25 20.5 15 9 4|84 69|1.7
Venice|Venezia|Italy|45.4 12.3|3.5 5 9 13 18 22 24 23.5 19.5 14.5 9 4.5|83 73|2.6
Athens||Greece|38.0 23.7|10 10.5 13 16.5 21.5 26.5 29.5 29 25 20 15.5 11.5|72 45|3.3
Istanbul||Turkey|41.0 29.0|6.5 6.5 8.5 12.5 17 22 24.5 25 21 16.5 12 8.5|79 70|4
Vienna|Wien|Austria|48.2 16.4|1 2.5 6.5 12 16.5 20 22 21.5 16.5 11 6 1.5|78 62|3.6
Zürich||Switzerland|47.4 8.5|1 2 6 9.5 14 17.5 19.5 19 15 10.5 5 2|83 68|2.4
Geneva|Genève|Switzerland|46.2 6.1|2 3 6.5 10.5 14.5 18.5 20.5 20 16 11.5 6 3|83 64|2.6
Berlin||Germany|52.5 13.4|1 2 5 10 15 18 20 19.5 15.5 10.5 5.5 2|86 66|3.7
Munich|München|Germany|48.1 11.6|0.5 1.5 5.5 10 14.5 18 19.5 19.5 15 10 4.5 1.5|82 69|2.8
Hamburg||Germany|53.6 10.0|2 2.5 5 9.5 13.5 16.5 18.5 18 14.5 10.5 6 3|87 74|4.2
Frankfurt||Germany|50.1 8.7|2 3 6.5 11 15 18.5 20.5 20 15.5 11 6 3|83 65|3.4
Amsterdam||Netherlands|52.4 4.9|4 4 6.5 10 13.5 16 18 18 15 11.5 7.5 4.5|87 77|5
Brussels|Bruxelles|Belgium|50.9 4.4|4 4 7 10.5 14 17 19 18.5 15.5 11.5 7.5 4.5|86 74|3.8
Copenhagen||Denmark|55.7 12.6|1.5 1.5 3.5 8 12.5 16 18.5 18 14.5 10 6 3|86 71|5.1
Stockholm||Sweden|59.3 18.1|-1 -1 1.5 6 11.5 16 19 18 13 7.5 3.5 0.5|84 68|3.4
Oslo||Norway|59.9 10.8|-3.5 -3 0.5 5.5 11.5 15.5 17.5 16.5 12 6.5 1.5 -3|82 67|2.6
Helsinki||Finland|60.2 24.9|-3.5 -4.5 -1 4.5 10.5 15 18 17 12 6.5 2 -1|87 70|4
Reykjavik||Iceland|64.1 -21.9|0.5 0.5 1 4 7 10 12 11.5 8.5 5 2 1|78 77|5
Warsaw|Warszawa|Poland|52.2 21.0|-1.5 -0.5 3.5 9.5 14.5 17.5 19.5 19 14 9 4 0|87 70|3.7
Kraków|Cracow|Poland|50.1 19.9|-1.5 0 3.5 9.5 14 17.5 19.5 19 14 9 4 0|85 73|2.6
Prague|Praha|Czechia|50.1 14.4|0 1 5 10 14.5 18 20 19.5 14.5 9.5 4.5 1|83 65|3.4
Budapest||Hungary|47.5 19.0|1 3 7 13 17.5 21 23 22.5 17.5 12 6.5 1.5|80 60|2.8
Bucharest||Romania|44.4 26.1|-1 1 6.5 12.5 17.5 22 24 23.5 18.5 12 6 0.5|85 60|2.5
Sofia||Bulgaria|42.7 23.3|-0.5 1.5 6 11 15.5 19.5 22 22 17 11.5 6 0.5|81 58|1.6
Belgrade|Beograd|Serbia|44.8 20.5|2 4 8.5 14 18.5 22 24 24 19 13.5 8 3.5|77 59|2.7
Kyiv|Kiev|Ukraine|50.5 30.5|-3 -2.5 2.5 10 16 19.5 21.5 20.5 15 8.5 2.5 -1.5|83 68|2.6
Moscow||Russia|55.8 37.6|-6 -6 -0.5 7 14 17.5 19.5 17.5 12 5.5 -0.5 -4.5|83 69|2.3
Saint Petersburg|St Petersburg|Russia|59.9 30.3|-5 -5 -0.5 5.5 12 16.5 19 17.5 12.5 6.5 1 -2.5|86 70|2.6
Riga||Latvia|57.0 24.1|-2.5 -2.5 1 7 12.5 16 18.5 17.5 13 7.5 3 -0.5|86 73|3.6
Cairo||Egypt|30.0 31.2|14 15 18 21.5 25 27.5 28.5 28.5 27 24 19.5 15.5|59 58|3.5
Casablanca||Morocco|33.6 -7.6|12.5 13.5 15 16 18.5 21 23 23.5 22.5 20 16.5 14|83 83|3.3
Dakar||Senegal|14.7 -17.4|21.5 21.5 22 22 23.5 26 27.5 27.5 28 28 26 24|68 80|4.6
Lagos||Nigeria|6.5 3.4|27.5 28.5 29 28.5 28 26.5 25.5 25.5 26 27 28 27.5|80 87|3.2
Accra||Ghana|5.6 -0.2|27.5 28.5 28.5 28 27.5 26 25 25 25.5 26.5 27.5 27.5|77 84|3.4
Nairobi||Kenya|-1.3 36.8|19.5 20.5 20.5 20 19 17.5 17 17.5 19 20 19 19|64 68|3.8
Addis Ababa||Ethiopia|9.0 38.8|16 17 18 18 18 17 16 16 16 16 15.5 15|52 80|2.8
Johannesburg|Joburg|South Africa|-26.2 28.0|20 20 18.5 16 13 10 10 13 16.5 18 19 20|69 48|3.6
Cape Town||South Africa|-33.9 18.4|21.5 21.5 20 17.5 15 13 12.5 13 14.5 16.5 18.5 20.5|70 80|5.2
Dubai||United Arab Emirates|25.2 55.3|19.5 20.5 23.5 27.5 31.5 34 36 36 33.5 30 25.5 21.5|65 52|3.6
Riyadh||Saudi Arabia|24.7 46.7|14.5 17 21.5 27 33 36 37 37 33.5 28 21.5 16.5|47 11|3.3
Tel Aviv||Israel|32.1 34.8|13.5 14 16 18.5 21.5 24.5 27 27.5 26 23 19 15.5|71 72|3.4
Tehran||Iran|35.7 51.4|5 7.5 12 18 23.5 28.5 31 30 26 20 12.5 7|63 25|2.8
Delhi|New Delhi|India|28.6 77.2|14 17 23 29 33 33.5 31.5 30 29.5 26 20.5 15.5|70 73|2.5
Mumbai|Bombay|India|19.1 72.9|24.5 25 27 28.5 30 29 27.5 27.5 27.5 28.5 28 26|62 87|3
Bengaluru|Bangalore|India|13.0 77.6|21.5 24 26.5 28 27 24.5 23.5 23.5 24 23.5 22 21|62 80|2.7
Bangkok||Thailand|13.8 100.5|27 28.5 29.5 30.5 30 29.5 29 29 28.5 28.5 28 27|66 76|2.2
Singapore||Singapore|1.4 103.8|26.5 27 27.5 28 28.5 28.5 28 28 28 28 27 26.5|84 80|2.4
Jakarta||Indonesia|-6.2 106.8|26.5 26.5 27.5 28 28 28 27.5 28 28 28.5 28 27|84 76|2.3
Ho Chi Minh City|Saigon,HCMC|Vietnam|10.8 106.7|26.5 27 28.5 29.5 29 28 27.5 27.5 27.5 27.5 27 26.5|71 82|2.8
Hong Kong|HK|China|22.3 114.2|16.5 17 19.5 23 26.5 28.5 29 28.5 28 25.5 22.5 18|74 81|6
Shanghai||China|31.2 121.5|5 6.5 10.5 16 21 24.5 29 28.5 25 19.5 13.5 7.5|71 77|3
Beijing|Peking|China|39.9 116.4|-2.5 0.5 7.5 15 21.5 25.5 27 26 21 14 5 -1|43 71|2.4
Seoul||South Korea|37.6 127.0|-2 0.5 6 12.5 18 22.5 25.5 26 21.5 15 7.5 0.5|56 77|2.3
Tokyo||Japan|35.7 139.7|5.5 6 9.5 14.5 19 22 26 27 23.5 18 12.5 7.5|51 76|2.8
Sydney||Australia|-33.9 151.2|23.5 23.5 22 19.5 16.5 14 13 14.5 17 19 20.5 22.5|66 64|3.9
Auckland||New Zealand|-36.8 174.8|19.5 20 18.5 16.5 14 12 11 11.5 13 14 16 18|76 84|4.4
`;

/** 100 cities; the same frozen rows at every import. */
const climateNormals: readonly ClimateNormals[] = Object.freeze(
  table.trim().split("\n").map(parseRow),
);

const maxNameWords = 4;
const cityByFoldedName: ReadonlyMap<string, ClimateNormals> = new Map(
  climateNormals.flatMap((city) =>
    [city.name, ...city.aliases].map((name) => [fold(name), city] as const),
  ),
);

/** The city that a location names (`NYC`, `sao paulo`, `Paris, France`), or undefined. */
export function findCity(location: string): ClimateNormals | undefined {
  const exact = cityByFoldedName.get(fold(location));
  if (exact !== undefined) return exact;
  const first = findCityMentions(location)[0];
  return first !== undefined && location.slice(0, first.start).trim() === ""
    ? first.city
    : undefined;
}

/** Every known city named in a text, in order of appearance; the longest name wins at each place. */
export function findCityMentions(text: string): readonly CityMention[] {
  const words = wordsOf(text);
  const mentions: CityMention[] = [];
  for (let index = 0; index < words.length; index += 1) {
    const found = longestNameAt(words, index);
    if (found === undefined) continue;
    const { start } = found.first;
    mentions.push({ city: found.city, text: text.slice(start, found.last.end), start });
    index += found.wordCount - 1;
  }
  return mentions;
}

/** Names of known cities, sorted by edit distance. */
export function nearestCityNames(location: string, count: number): readonly string[] {
  const wanted = fold(location).slice(0, 40);
  return climateNormals
    .map(({ name }) => ({ name, edits: editDistance(wanted, fold(name)) }))
    .toSorted((a, b) => a.edits - b.edits)
    .slice(0, count)
    .map(({ name }) => name);
}

function longestNameAt(words: readonly Word[], index: number) {
  for (let wordCount = maxNameWords; wordCount > 0; wordCount -= 1) {
    const run = words.slice(index, index + wordCount);
    const [first, last] = [run[0], run.at(-1)];
    if (first === undefined || last === undefined || run.length < wordCount) continue;
    const city = cityByFoldedName.get(run.map((word) => word.folded).join(" "));
    if (city !== undefined) return { city, first, last, wordCount };
  }
  return undefined;
}

// Removes accents and splits at apostrophes, so that "Sao Paulo" and "London's" are found.
function wordsOf(text: string): readonly Word[] {
  return Array.from(text.matchAll(/[\p{L}\p{M}\p{N}]+/gu), (match) => ({
    folded: match[0].normalize("NFD").replace(/\p{M}/gu, "").toLowerCase(),
    start: match.index,
    end: match.index + match[0].length,
  }));
}

function fold(text: string): string {
  return wordsOf(text)
    .map((word) => word.folded)
    .join(" ");
}

function editDistance(from: string, to: string): number {
  let previous = Array.from({ length: to.length + 1 }, (_, column) => column);
  for (let row = 1; row <= from.length; row += 1) {
    const current = [row];
    for (let column = 1; column <= to.length; column += 1) {
      const replaced = at(previous, column - 1) + (from[row - 1] === to[column - 1] ? 0 : 1);
      current.push(Math.min(replaced, at(previous, column) + 1, at(current, column - 1) + 1));
    }
    previous = current;
  }
  return at(previous, to.length);
}

function parseRow(row: string): ClimateNormals {
  const [name = "", aliases = "", country = "", place = "", ...means] = row.split("|");
  const [temperatures, humidity = [], wind = []] = means.map(numbers);
  return Object.freeze({
    name,
    aliases: aliases === "" ? [] : aliases.split(","),
    country,
    latitude: at(numbers(place), 0),
    longitude: at(numbers(place), 1),
    temperatures: temperatures ?? [],
    humidity: { january: at(humidity, 0), july: at(humidity, 1) },
    windSpeed: at(wind, 0),
  });
}

function numbers(text: string): readonly number[] {
  return text.split(" ").map(Number);
}

function at(list: readonly number[], index: number): number {
  return list[index] ?? Number.NaN;
}
