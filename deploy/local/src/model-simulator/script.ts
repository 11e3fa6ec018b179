import { z } from 'zod'

const MAX_RESPONSES = 1_000
const MAX_TEXT = 1024 * 1024
const UNIT = 2 ** 32

const part = z.string().min(1).max(4_096)
const milliseconds = z.int().min(0).max(600_000)

const response = z.strictObject({
  /** Which requests it is for; all parts of it together. */
  when: z
    .strictObject({
      /** A part of what a person wrote last. */
      lastUserText: part.optional(),
      /** A part of anything in the conversation, the system text included. */
      text: part.optional(),
      model: part.optional(),
      path: z.enum(['chat', 'transcription']).default('chat'),
      /** So large a share of them, chosen by their count, so that a run can be repeated. */
      share: z.number().min(0).max(1).optional(),
    })
    .default({ path: 'chat' }),
  /** For how many requests. */
  times: z.int().min(1).max(1_000_000).default(1),
  delayMs: milliseconds.default(0),
  /** Between the parts of a stream. */
  chunkDelayMs: milliseconds.default(0),
  text: z.string().max(MAX_TEXT).optional(),
  calls: z
    .array(
      z.strictObject({
        id: z.string().max(1_024).optional(),
        name: z.string().max(1_024),
        /** An object, or a text that need not be JSON. */
        arguments: z.union([z.string().max(MAX_TEXT), z.looseObject({})]).default({}),
      }),
    )
    .max(1_000)
    .optional(),
  finishReason: z.string().max(64).optional(),
  usage: z.looseObject({}).optional(),
  error: z
    .strictObject({
      status: z.int().min(300).max(599),
      message: z.string().max(4_096).default('Failed as the script says'),
      type: z.string().max(128).optional(),
      code: z.string().max(128).optional(),
      retryAfterSeconds: z.int().min(0).max(86_400).optional(),
      /** Where a redirect leads. */
      location: z.string().max(2_048).optional(),
    })
    .optional(),
  /** Half of an answer, an answer that is not JSON, an empty body, a cut connection, or no answer ever. */
  broken: z.enum(['half', 'malformed', 'nothing', 'cut', 'silent']).optional(),
  /** A text of so many characters. */
  characters: z
    .int()
    .min(1)
    .max(64 * 1024 * 1024)
    .optional(),
})
export type ScriptedResponse = z.output<typeof response>

/** The body of PUT /simulator/script. */
export const scriptBody = z.strictObject({ responses: z.array(response).max(MAX_RESPONSES) })

/** The properties of a request that a response is chosen by. */
interface Asked {
  path: 'chat' | 'transcription'
  model: string
  lastUserText: string
  text(): string
}

export interface Script {
  set(responses: ScriptedResponse[]): void
  /** The first response that is for this request and not used up; it counts as used. */
  next(asked: Asked): ScriptedResponse | undefined
  /** How many uses are left in all. */
  left(): number
}

export function createScript(): Script {
  let entries: { response: ScriptedResponse; left: number }[] = []
  let count = 0
  return {
    set(responses) {
      entries = responses.map((response) => ({ response, left: response.times }))
      count = 0
    },
    next(asked) {
      count++
      const found = entries.find(({ response, left }) => left > 0 && isFor(response, asked, count))
      if (found === undefined) return undefined
      found.left--
      return found.response
    },
    left: () => entries.reduce((sum, { left }) => sum + left, 0),
  }
}

function isFor({ when }: ScriptedResponse, asked: Asked, count: number): boolean {
  const { lastUserText, text, model, path, share } = when
  if (path !== asked.path || (model !== undefined && model !== asked.model)) return false
  if (lastUserText !== undefined && !asked.lastUserText.includes(lastUserText)) return false
  if (text !== undefined && !asked.text().includes(text)) return false
  return share === undefined || numberOf(count) < share
}

/** A number from 0 to 1 that looks random and is always the same (splitmix32). */
function numberOf(count: number): number {
  let mixed = Math.imul(count, 0x9e3779b9) | 0
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad)
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97)
  return ((mixed ^ (mixed >>> 15)) >>> 0) / UNIT
}
