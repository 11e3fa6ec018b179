import { CONVERSATIONS, IN_APP, type SampleConversation, updateNo } from '@parley/shared/sample-shop'
import { z } from 'zod'
import { scriptOf } from '../demo/assistant/conversation.ts'
import { putScript } from '../demo/assistant/run-assistant-demo.ts'
import type { GatewayClient } from '../demo/gateway-client.ts'
import { postThreads } from '../demo/post-threads.ts'
import { SetupError } from '../setup-error.ts'
import {
  registerWebhook,
  type SimulatedNumber,
  simulatedNumber,
  writeAsPerson,
  writeInApp,
} from '../simulator/client.ts'
import { waitUntil } from '../wait-until.ts'
import { ORDER_LINE, SUPPORT_LINE, shopDocuments } from './shop.ts'

const RESPONSE_MS = 60_000
const CHECK_MS = 250
const IN_FLIGHT = 8
const WAITING = ['received', 'handled', 'sending']
const ENDED = ['sent', 'delivered', 'read', 'done', 'failed', 'dead', 'unrouted']

const messages = z.looseObject({ data: z.array(z.looseObject({ state: z.string() })) })

interface SeedOptions {
  gateway: Pick<GatewayClient, 'put' | 'get' | 'providerUrl' | 'postMessage'>
  simulatorUrl: string
  modelSimulatorUrl: string
  /** Different for each workspace: the digits that its phone numbers begin with. */
  run: string
  /** How many messages the shop sends of its own. */
  updates: number
  /** Hears what comes next. */
  say?(line: string): void
}

/**
 * Gives a workspace something to look at: a shop with an assistant, its workflow and a tool, two channels on the
 * simulator, people who talk to it, one of whom waits for a person, and messages of which a few are dead.
 */
export async function seedShop(options: SeedOptions): Promise<void> {
  const { gateway, simulatorUrl, modelSimulatorUrl, run, updates, say = () => undefined } = options
  const support = simulatedNumber(simulatorUrl, `${run}1`)
  const salesLine = simulatedNumber(simulatorUrl, `${run}2`)
  for (const [resource, id, document] of shopDocuments({ simulatorUrl, support, salesLine }))
    await gateway.put(resource, id, document)
  await registerWebhook(support, gateway.providerUrl(SUPPORT_LINE))
  await registerWebhook(salesLine, gateway.providerUrl(ORDER_LINE))
  const scripts = CONVERSATIONS.map(({ exchanges, phone }) => scriptOf(exchanges, phone).responses)
  await putScript(modelSimulatorUrl, { responses: scripts.flat() })
  try {
    // The people last, so that they are the latest.
    say(`The shop writes to its customers: ${updates} messages …`)
    await sendUpdates(options)
    await untilSent(gateway)
    say('They are sent. People write to the assistant …')
    const latest = await Promise.all(
      CONVERSATIONS.map((one) => converse({ gateway, number: support, ...one })),
    )
    await goOnInApp(support, latest[CONVERSATIONS.indexOf(IN_APP)] ?? '')
  } finally {
    await putScript(modelSimulatorUrl, { responses: [] })
  }
}

/** Writes what a person says, each time after the answer to what was said before; resolves with the last one's id. */
async function converse({
  gateway,
  number,
  person: name,
  phone: from,
  exchanges,
}: SampleConversation & Pick<SeedOptions, 'gateway'> & { number: SimulatedNumber }): Promise<string> {
  let id = ''
  for (const [at, { said }] of exchanges.entries()) {
    id = await writeAsPerson(number, { from, name, text: said })
    const hasResponse = async () => {
      const { data } = messages.parse(
        await gateway.get(`/rest/messages?channel=${SUPPORT_LINE}&phone=%2B${from}`),
      )
      return data.length > at && data.every(({ state }) => ENDED.includes(state))
    }
    if (!(await waitUntil(hasResponse, { timeoutMs: RESPONSE_MS, intervalMs: CHECK_MS })))
      throw new SetupError(`The assistant did not answer ${name} within ${RESPONSE_MS / 1_000} s.`)
  }
  return id
}

/** Somebody of the shop goes on with a customer in its app: there is an edit, an echo, and a reply to it. */
async function goOnInApp(number: SimulatedNumber, latest: string): Promise<void> {
  const { person: name, phone: from } = IN_APP
  const edited = { type: 'text', text: { body: 'Can you keep one for me until Saturday?' } }
  const edit = { original_message_id: latest, message: { context: { id: latest }, ...edited } }
  await writeAsPerson(number, { from, name, message: { type: 'edit', edit } })
  const text = 'Hello Nadia, Ana from the shop here: it is put aside for you until Saturday.'
  const id = await writeInApp(number, { to: from, text })
  const thanks = { type: 'text', text: { body: 'Wonderful, thank you!' }, context: { id } }
  await writeAsPerson(number, { from, name, message: thanks })
}

async function sendUpdates({ gateway, updates, run }: SeedOptions): Promise<void> {
  const threads = Array.from({ length: updates }, (_, at) => [
    { thread: at, sequence: 0, key: `update-${run}-${at}`, body: updateNo(at, ORDER_LINE) },
  ])
  await postThreads({ threads, gateway, inFlight: IN_FLIGHT, onAccepted: () => undefined })
}

async function untilSent(gateway: SeedOptions['gateway']): Promise<void> {
  const path = `/rest/messages?channel=${ORDER_LINE}&state=${WAITING.join(',')}&limit=1`
  const areSent = async () => messages.parse(await gateway.get(path)).data.length === 0
  await waitUntil(areSent, { timeoutMs: RESPONSE_MS, intervalMs: CHECK_MS })
}
