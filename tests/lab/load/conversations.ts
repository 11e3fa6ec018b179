import type { PlannedMessage } from '@parley/local/demo/demo-plan'
import { z } from 'zod'
import type { Workspace } from '../system/workspace.ts'

/**
 * The functions of a conversation, one for each step: one that may be repeated by its method, one that may not, and one
 * that takes an `Idempotency-Key`.
 */
export const STEPS = ['check', 'book', 'confirm'] as const
/** However often, by whatever key. */
export const REPEATABLE: (typeof STEPS)[number] = 'check'
/** Says of a step what a call that was lost does not. */
export const LOOK_UP = 'lookUp'

export const placeSchema = z.strictObject({ thread: z.int(), sequence: z.int() })
/** A step of a conversation, the unit that is counted: its thread, and its sequence in there, from 0. */
export type Place = z.output<typeof placeSchema>
export const keyOf = ({ thread, sequence }: Place): string => `${thread}:${sequence}`

/**
 * Conversations of three functions each: in every other one a single message asks for all of them, one in each turn; in
 * the others a message asks for each. A message's `sequence` is its last step, which is looked up in the end.
 */
export function planConversations(options: { run: string; conversations: number }): PlannedMessage[][] {
  const { run, conversations } = options
  const all = STEPS.map((_, step) => step)
  return Array.from({ length: conversations }, (_, thread) => {
    const messages = thread % 2 === 0 ? [all] : all.map((step) => [step])
    return messages.map((steps) => planMessage({ run, thread, steps }))
  })
}

function planMessage(options: { run: string; thread: number; steps: number[] }): PlannedMessage {
  const { run, thread, steps } = options
  const sequence = steps.at(-1) ?? 0
  const request = (name: string | undefined, step: number) =>
    `${name} ${JSON.stringify({ thread, sequence: step })}`
  const requests = [...steps.map((step) => request(STEPS[step], step)), request(LOOK_UP, sequence)]
  return {
    thread,
    sequence,
    key: `${run}-${thread}-${sequence}`,
    body: {
      extId: channelOf(thread),
      user: { phone: `+55119${String(thread).padStart(8, '0')}` },
      thread: { extId: `${run}-${thread}` },
      answer: {},
      input: `Please ${requests.join(', then ')}.`,
    },
  }
}

/** Numbers are limited to a rate, so that the conversations are spread over some. */
export const NUMBERS = 10
const channelOf = (thread: number): string => `number-${(thread % NUMBERS) + 1}`

/** Returns a function's response, from which the text to the person is made. */
export const receiptOf = ({ thread, sequence }: Place): string => `receipt ${thread}/${sequence}`

/** The last step that a text to a person has the receipt of; undefined when it has none. */
export function placeOf(text: string): Place | undefined {
  const [, thread, sequence] = [...text.matchAll(/receipt (\d+)\/(\d+)/g)].at(-1) ?? []
  return sequence === undefined ? undefined : { thread: Number(thread), sequence: Number(sequence) }
}

/** Configures an assistant whose functions are at `url`; returns its id. */
export async function configureAssistant(workspace: Workspace, url: string): Promise<number> {
  await workspace.call('PUT', '/rest/actions/1', {
    name: 'Bookings',
    description: 'Checks and books',
    specType: 'openapi3-yaml',
    moduleUrl: 'native:request',
    spec: JSON.stringify(specOf(url)),
  })
  await workspace.call('PUT', '/rest/assistant/1', {
    name: 'Ana',
    description: 'Books for people',
    backstory: 'Knows the calendar',
    actions: [1],
  })
  return 1
}

function specOf(url: string): object {
  const properties = { thread: { type: 'integer' }, sequence: { type: 'integer' } }
  const schema = { type: 'object', required: ['thread', 'sequence'], properties }
  const parameter = (name: string) => ({ name, in: 'query', required: true, schema: { type: 'integer' } })
  const key = { name: 'Idempotency-Key', in: 'header', schema: { type: 'string' } }
  const operation = (operationId: string) => ({
    operationId,
    ...(operationId === 'confirm' && { parameters: [key] }),
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { 200: { description: 'Done' } },
  })
  return {
    openapi: '3.0.0',
    info: { title: 'Bookings', version: '1' },
    servers: [{ url }],
    paths: {
      ...Object.fromEntries(
        STEPS.map((name) => [`/${name}`, { [name === 'check' ? 'put' : 'post']: operation(name) }]),
      ),
      [`/${LOOK_UP}`]: {
        get: {
          operationId: LOOK_UP,
          parameters: ['thread', 'sequence'].map(parameter),
          responses: { 200: { description: 'What is known of it' } },
        },
      },
    },
  }
}
