import { exactOrUndefined } from '@parley/shared/parse-json'

/**
 * The arguments of a call as one JSON object, where all that is wrong with them is how they are written: models write an object as
 * a text in a text, and none as null or an empty list.
 */
export function plainArguments(args: string): string {
  const text = args.trim()
  if (text === 'null' || /^\[\s*\]$/.test(text)) return '{}'
  if (!text.startsWith('"')) return args
  const inner = exactOrUndefined(text)
  return typeof inner === 'string' && inner.trimStart().startsWith('{') ? inner : args
}

/**
 * What servers answer that speak OpenAI's chat completions more or less, as the API has it: some give a call's arguments as an
 * object, as null, or not at all, where it has a text, and the SDK refuses the answer for it.
 */
export function withArgumentTexts(piece: string): string {
  if (!piece.includes('"tool_calls"')) return piece
  const start = piece.indexOf('{')
  const parsed = start === -1 ? undefined : exactOrUndefined(piece.slice(start))
  const calls = choicesOf(parsed).flatMap(({ message, delta }) => [message, delta].flatMap(callsOf))
  const others = calls.filter((one) => typeof one.arguments !== 'string')
  if (others.length === 0) return piece
  for (const one of others) one.arguments = textOf(one.arguments)
  // The characters that end a line have to stay.
  const end = piece.trimEnd().length
  return piece.slice(0, start) + JSON.stringify(parsed) + piece.slice(end)
}

type Fields = Record<string, unknown>

const choicesOf = (answer: unknown): Fields[] => objectsIn(fieldsOf(answer)?.choices)

const callsOf = (message: unknown): Fields[] =>
  objectsIn(objectsIn(fieldsOf(message)?.tool_calls).map((call) => call.function))

/** In a stream the piece that has no arguments says nothing of them. */
const textOf = (args: unknown): string => (args === undefined || args === null ? '' : JSON.stringify(args))

const objectsIn = (list: unknown): Fields[] =>
  Array.isArray(list) ? list.map(fieldsOf).filter((one) => one !== undefined) : []

const fieldsOf = (value: unknown): Fields | undefined =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : undefined
