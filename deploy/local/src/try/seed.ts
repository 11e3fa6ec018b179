import { z } from 'zod'
import { type ScriptedExchange, scriptOf } from '../demo/assistant/conversation.ts'
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
import { ORDER_LINE, SUPPORT_LINE, shopDocuments, WORKFLOW } from './shop.ts'

const readOrder = (id: string) => ({ calls: [{ name: 'readOrder', arguments: { id } }] })

const submit = (what: object) => ({ calls: [{ name: 'submit', arguments: what }] })

const complain = { calls: [{ name: 'createTask', arguments: { workflowName: WORKFLOW } }] }

/** The one that somebody of the shop goes on with in the shop's own app. */
const IN_APP: Conversation = {
  person: 'Nadia Haddad',
  phone: '33600000107',
  exchanges: [
    {
      said: 'Can you keep one for me until Friday?',
      responses: [{ text: 'I’ll ask, Nadia. One moment, please.' }],
    },
  ],
}

/** The conversations of the shop. The last person waits for one of the team. */
const CONVERSATIONS: readonly Conversation[] = [
  IN_APP,
  {
    person: 'João Lima',
    phone: '5511988887701',
    exchanges: [
      {
        said: 'Hi! Where is my order 4711?',
        responses: [
          readOrder('4711'),
          { text: 'Hello João! It is *on its way* and arrives tomorrow before noon.' },
        ],
      },
      { said: 'Perfect, thank you!', responses: [{ text: 'You’re welcome. Enjoy your monstera! 🌿' }] },
    ],
  },
  {
    person: 'Carla Dias',
    phone: '5511988887702',
    exchanges: [
      {
        said: 'My fern arrived with broken leaves.',
        responses: [complain, { text: 'Oh no, I’m sorry! Which order was it?' }],
      },
      {
        said: 'It was 4720',
        responses: [
          readOrder('4720'),
          submit({ order: '4720' }),
          { text: 'Thank you, I have it. What do the leaves look like?' },
        ],
      },
      {
        said: 'Three of them are snapped off at the stem.',
        responses: [
          submit({ problem: 'three leaves snapped off' }),
          { text: 'Would you like a *new fern*, or your *money back*?' },
        ],
      },
    ],
  },
  {
    person: 'Rafael Melo',
    phone: '5511988887703',
    exchanges: [
      {
        said: 'How often do I water a calathea?',
        responses: [
          { text: 'Once the top of the soil is dry: about *twice a week* in summer, once in winter.' },
        ],
      },
      {
        said: 'And does it like sun?',
        responses: [{ text: 'Rather not. Bright, but never in direct sun.' }],
      },
    ],
  },
  {
    person: 'Lucía Pérez',
    phone: '34600111204',
    exchanges: [
      {
        said: 'I want my money back for 4733, please.',
        responses: [
          { calls: [{ name: 'refundOrder', arguments: { id: '4733' } }] },
          { text: 'Done, Lucía: it is paid back within three days.' },
        ],
      },
    ],
  },
  {
    person: 'Tom Baker',
    phone: '447700900105',
    exchanges: [
      {
        said: 'Do you deliver to the UK?',
        responses: [{ text: 'We do, within five days. Is there a plant that you have in mind?' }],
      },
      {
        said: 'An olive tree, about 2 m tall',
        responses: [{ text: 'Lovely. We have two of that size in stock.' }],
      },
    ],
  },
  {
    person: 'Marta Nunes',
    phone: '351910000106',
    exchanges: [
      {
        said: 'I have written three times now. Can I talk to a person?',
        responses: [
          {
            text: 'Of course, Marta. Somebody of the team answers you in a moment.',
            calls: [{ name: 'handOff', arguments: { reason: 'She asked for a person' } }],
          },
        ],
      },
      { said: 'My olive tree has lost all its leaves.', responses: [] },
      { said: 'Is anybody there?', responses: [] },
    ],
  },
]

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
}: Conversation & Pick<SeedOptions, 'gateway'> & { number: SimulatedNumber }): Promise<string> {
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
    { thread: at, sequence: 0, key: `update-${run}-${at}`, body: updateNo(at) },
  ])
  await postThreads({ threads, gateway, inFlight: IN_FLIGHT, onAccepted: () => undefined })
}

async function untilSent(gateway: SeedOptions['gateway']): Promise<void> {
  const path = `/rest/messages?channel=${ORDER_LINE}&state=${WAITING.join(',')}&limit=1`
  const areSent = async () => messages.parse(await gateway.get(path)).data.length === 0
  await waitUntil(areSent, { timeoutMs: RESPONSE_MS, intervalMs: CHECK_MS })
}

const CUSTOMERS = ['Ana Souza', 'Pedro Alves', 'Inês Rocha', 'Hugo Silva', 'Sofia Matos', 'Leo Martin']

/** One in 17 misses a variable of its template, and one in 29 names a channel that is not there. */
function updateNo(at: number): object {
  const name = CUSTOMERS[at % CUSTOMERS.length] ?? ''
  const order = String(4700 + (at % 53))
  const variables = at % 17 === 5 ? [name] : [name, order]
  return {
    extId: at % 29 === 7 ? 'old-line' : ORDER_LINE,
    user: { name, phone: `+55119777766${String(at % 53).padStart(2, '0')}` },
    thread: { extId: `order-${order}` },
    answer: {
      functions: [{ name: 'callback', args: { template: 'order_update', language: 'pt_BR', variables } }],
    },
  }
}

/** Somebody who writes to the shop, and what the model says to that. */
interface Conversation {
  person: string
  phone: string
  exchanges: readonly ScriptedExchange[]
}
