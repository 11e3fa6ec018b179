import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { z } from 'zod'
import {
  registerWebhook,
  type SimulatedNumber,
  simulatedNumber,
  writeAsPerson,
} from '../../simulator/client.ts'
import { waitUntil } from '../../wait-until.ts'
import { type GatewayClient, registerWorkspace } from '../gateway-client.ts'
import { CLINIC_LINE, clinicDocuments, PERSON } from './clinic.ts'
import { CONVERSATION, scriptOf } from './conversation.ts'

const idempotencyKey = ({ headers }: IncomingMessage): string => String(headers['idempotency-key'])

const RESPONSE_MS = 60_000
const CHECK_MS = 50
const REQUEST_MS = 10_000
const ENDED = ['sent', 'delivered', 'read', 'done', 'failed', 'dead', 'unrouted']

const result = z.looseObject({ state: z.string(), status: z.int().optional(), text: z.string() })
const turn = z.looseObject({
  inputTokens: z.int(),
  outputTokens: z.int(),
  text: z.string(),
  calls: z.array(z.looseObject({ tool: z.string(), args: z.unknown(), result: result.optional() })),
})
const message = z.looseObject({
  state: z.string(),
  reason: z.string().optional(),
  turns: z.array(turn).default([]),
})
const messages = z.looseObject({ data: z.array(z.looseObject({ _id: z.string(), state: z.string() })) })
const tasks = z.looseObject({
  data: z.array(
    z.looseObject({ status: z.string(), context: z.looseObject({ steps: z.looseObject({}).default({}) }) }),
  ),
})

/** A person's text, and all that the assistant did about it. */
export interface Exchange {
  said: string
  answer: z.output<typeof message>
}

export interface AssistantDemoResult {
  conversation: Exchange[]
  /** The task of the conversation; undefined where there is none. */
  task: { status: string; steps: Record<string, unknown> } | undefined
  /** The idempotency keys with which the diary was asked to book, in order. */
  bookings: string[]
}

interface Urls {
  gatewayUrl: string
  simulatorUrl: string
  modelSimulatorUrl: string
}

/**
 * Has a person write to a clinic's number, where an assistant with the model simulator's model answers, calls
 * the clinic's diary, and leads through a workflow. `onExchange` sees each message as soon as it has its answer.
 */
export async function runAssistantDemo(
  options: Urls & { onExchange(message: Exchange): void },
): Promise<AssistantDemoResult> {
  const { gatewayUrl, simulatorUrl, modelSimulatorUrl, onExchange } = options
  const run = Date.now().toString()
  const number = simulatedNumber(simulatorUrl, run)
  const person = { from: `55${run.slice(-11)}`, name: PERSON }
  const gateway = await registerWorkspace(gatewayUrl, run)
  const diary = await startDiary()
  try {
    await configureClinic({ gateway, number, diaryUrl: diary.url })
    await putScript(modelSimulatorUrl, scriptOf(CONVERSATION, person.from))
    const conversation: Exchange[] = []
    for (const { said } of CONVERSATION) {
      await writeAsPerson(number, { ...person, text: said })
      const exchange = { said, answer: await responseTo(gateway, conversation.length + 1) }
      conversation.push(exchange)
      onExchange(exchange)
    }
    return { conversation, task: await taskOf(gateway), bookings: diary.bookings }
  } finally {
    await diary.close()
    await putScript(modelSimulatorUrl, { responses: [] })
  }
}

async function configureClinic(options: {
  gateway: Pick<GatewayClient, 'put' | 'providerUrl'>
  number: SimulatedNumber
  diaryUrl: string
}): Promise<void> {
  const { gateway, number, diaryUrl } = options
  for (const [resource, id, document] of clinicDocuments({ diaryUrl, number }))
    await gateway.put(resource, id, document)
  await registerWebhook(number, gateway.providerUrl(CLINIC_LINE))
}

/** Waits until there are so many messages and the last one has its answer, a minute at most. */
async function responseTo(gateway: Pick<GatewayClient, 'get'>, count: number): Promise<Exchange['answer']> {
  let id: string | undefined
  const hasResponse = async () => {
    const { data } = messages.parse(await gateway.get('/rest/messages'))
    const [last] = data
    if (data.length < count || last === undefined || !ENDED.includes(last.state)) return false
    id = last._id
    return true
  }
  if (!(await waitUntil(hasResponse, { timeoutMs: RESPONSE_MS, intervalMs: CHECK_MS })))
    throw new Error(`The assistant did not answer within ${RESPONSE_MS / 1_000} s`)
  return message.parse(await gateway.get(`/rest/messages/${id}`))
}

async function taskOf(gateway: Pick<GatewayClient, 'get'>): Promise<AssistantDemoResult['task']> {
  const [task] = tasks.parse(await gateway.get('/rest/tasks')).data
  return task === undefined ? undefined : { status: task.status, steps: task.context.steps }
}

/** Sets what the model simulator answers; an empty list for its own rules. */
export async function putScript(modelSimulatorUrl: string, script: object): Promise<void> {
  const response = await fetch(new URL('/simulator/script', modelSimulatorUrl), {
    method: 'PUT',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(script),
    signal: AbortSignal.timeout(REQUEST_MS),
  })
  if (!response.ok) throw new Error(`The model simulator refused its script: ${await response.text()}`)
  await response.body?.cancel()
}

/** The clinic's own system, which the assistant calls. */
export interface Diary {
  url: string
  /** The idempotency keys of the bookings that it was asked for, in order. */
  bookings: string[]
  close(): Promise<void>
}

/** Starts the diary on a free port. It has two free times on each day, and answers the first booking that it may have been made. */
export async function startDiary(): Promise<Diary> {
  const bookings: string[] = []
  const server = createServer((req, res) => {
    req.resume()
    if (req.url?.startsWith('/free')) return respond(res, 200, { times: ['09:00', '14:30'] })
    bookings.push(idempotencyKey(req))
    if (bookings.length === 1) return respond(res, 503, { error: 'The diary is being written to.' })
    respond(res, 201, { appointment: 17 })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bookings,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function respond(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
}
