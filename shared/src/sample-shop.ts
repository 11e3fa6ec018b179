/** The shop for plants that a workspace may have to look at: what it is made of, and who writes to it. */

export const STEPS = [
  {
    name: 'Ask for the order',
    instructions: 'Ask for the number of the order, and look it up.',
    submitWhen: 'the order is known',
    next: 2,
  },
  {
    name: 'Find out what is wrong',
    instructions: 'Ask what is wrong, and for a photo where that helps.',
    submitWhen: 'the problem is described',
    next: 3,
  },
  {
    name: 'Offer a solution',
    instructions: 'Offer a new plant or the money back.',
    submitWhen: 'the person has agreed',
  },
  {
    name: 'Ask for a photo',
    instructions: 'Ask for a photo of the plant.',
    submitWhen: 'a photo was sent',
    next: 3,
  },
]
export const COMPLAINT = { name: 'Complaint', description: 'From a complaint to a solution' }
export const SUPPORT = {
  role: 'Support agent',
  goal: 'People are happy with their plants',
  description: 'Answers the customers of a shop for plants',
}
export const FLORA = {
  name: 'Flora',
  description: 'Customer support',
  backstory: 'You work for Verde, a shop that sells plants, and you like them. You are friendly and brief.',
}

/** The orders of the shop, which the simulator has. */
export function ordersAction(simulatorUrl: string): object {
  return {
    name: 'Orders',
    description: 'The orders of the shop',
    specType: 'openapi3-yaml',
    moduleUrl: 'native:request',
    spec: `openapi: 3.0.3
info: { title: Orders, version: '1' }
servers: [{ url: '${new URL('/shop', simulatorUrl).href}' }]
paths:
  /orders/{id}:
    get:
      operationId: readOrder
      summary: Read an order with its parcels
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
      responses: { '200': { description: The order } }
  /orders/{id}/refund:
    post:
      operationId: refundOrder
      summary: Give the money back
      parameters:
        - { name: id, in: path, required: true, schema: { type: string } }
      responses: { '201': { description: It is on its way } }
`,
  }
}

const readOrder = (id: string) => ({ calls: [{ name: 'readOrder', arguments: { id } }] })

const submit = (what: object) => ({ calls: [{ name: 'submit', arguments: what }] })

const complain = { calls: [{ name: 'createTask', arguments: { workflowName: COMPLAINT.name } }] }

/** The one that somebody of the shop goes on with in the shop's own app. */
export const IN_APP: SampleConversation = {
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
export const CONVERSATIONS: readonly SampleConversation[] = [
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

/** Somebody who writes to the shop, and what the model says to that. */
export interface SampleConversation {
  person: string
  phone: string
  exchanges: readonly {
    said: string
    responses: { text?: string; calls?: { name: string; arguments: object }[] }[]
  }[]
}

const CUSTOMERS = ['Ana Souza', 'Pedro Alves', 'Inês Rocha', 'Hugo Silva', 'Sofia Matos', 'Leo Martin']

/** One in 17 misses a variable of its template, and one in 29 names a channel that is not there. */
export function updateNo(at: number, channel: string): SampleUpdate {
  const name = CUSTOMERS[at % CUSTOMERS.length] ?? ''
  const order = String(4700 + (at % 53))
  const variables = at % 17 === 5 ? [name] : [name, order]
  return {
    extId: at % 29 === 7 ? 'old-line' : channel,
    user: { name, phone: `+55119777766${String(at % 53).padStart(2, '0')}` },
    thread: { extId: `order-${order}` },
    answer: {
      functions: [{ name: 'callback', args: { template: 'order_update', language: 'pt_BR', variables } }],
    },
  }
}

interface SampleUpdate {
  extId: string
  user: { name: string; phone: string }
  thread: { extId: string }
  answer: object
}
