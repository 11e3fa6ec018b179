const CHUNK_ROWS = 2_000
const CITIES = ['Santos', 'Recife', 'Manaus', 'Curitiba', 'Salvador']
const LANGUAGES = ['pt_BR', 'pt_BR', 'pt_BR', 'es', 'en']
/** What the rows have an attribute for. */
export const ATTRIBUTES = [
  { name: 'city', type: 'text' },
  { name: 'orders', type: 'number' },
]

/** A file of so many people as CSV, in chunks: nine of ten have agreed to marketing, every twentieth is a VIP. */
export async function* peopleFile(count: number): AsyncGenerator<Buffer> {
  yield Buffer.from('phone,name,language,tags,consent,city,orders\n')
  for (let from = 0; from < count; from += CHUNK_ROWS) {
    const rows = Array.from({ length: Math.min(CHUNK_ROWS, count - from) }, (_, n) => rowOf(from + n))
    yield Buffer.from(rows.join(''))
  }
}

function rowOf(at: number): string {
  const phone = `+5511${String(900_000_000 + at)}`
  const tags = at % 20 === 0 ? 'vip' : ''
  const consent = at % 10 === 0 ? '' : 'granted'
  const [language, city] = [LANGUAGES[at % LANGUAGES.length], CITIES[(at >> 2) % CITIES.length]]
  return `${phone},Ana Souza ${at},${language},${tags},${consent},${city},${at % 100}\n`
}
