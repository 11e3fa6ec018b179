interface SeedOptions {
  gatewayUrl: string
  simulatorUrl: string
  token: string
}

const STEPS = [
  { name: 'Ask for the order', submitWhen: 'The order number is known', next: 2 },
  { name: 'Find out what is wrong', submitWhen: 'The problem is described', next: 3 },
  { name: 'Offer a solution', submitWhen: 'The person has agreed' },
  { name: 'Ask for a photo', submitWhen: 'A photo was sent', next: 3 },
]

const SPEC = `openapi: 3.0.3
info: { title: Orders, version: '1' }
servers: [{ url: https://orders.example.com }]
paths:
  /orders/{id}:
    get:
      operationId: readOrder
      summary: Read an order with its parcels
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '200': { description: The order } }
  /orders/{id}/refund:
    post:
      operationId: refundOrder
      summary: Give the money back
      parameters: [{ name: id, in: path, required: true, schema: { type: string } }]
      responses: { '200': { description: Done } }
`

const PEOPLE = ['Ana Souza', 'João Lima', 'Carla Dias', 'Rafael Melo', 'Lucía Pérez', 'Tom Baker']
const TEXTS = [
  'Your parcel is on its way.',
  'It arrives tomorrow.',
  'Thanks for waiting!',
  'Is that all right?',
]

/** A workspace that has something to look at: an assistant, channels with and without problems, dead messages. */
export async function seed({ gatewayUrl, simulatorUrl, token }: SeedOptions): Promise<void> {
  const call = async (method: string, path: string, body: object) => {
    const response = await fetch(gatewayUrl + path, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    })
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`)
  }
  const put = (path: string, body: object) => call('PUT', `/rest/${path}`, body)
  await seedAssistant(put)
  const whatsapp = (id: number, name: string, extId: string, accessToken: string, more: object = {}) =>
    put(`channels/${id}`, {
      ...{ name, description: name, extId, hook: 'whatsapp', callback: 'whatsapp' },
      handlerUrl: 'native:agents/echo',
      config: {
        phoneNumberId: `100${id}`,
        accessToken,
        apiUrl: `${simulatorUrl}/v23.0`,
        assistantId: 1,
        ...more,
      },
    })
  await whatsapp(1, 'Support', 'support-line', 'secret', { appSecret: 'app', verifyToken: 'verify-me' })
  await whatsapp(2, 'Orders', 'order-line', 'expired')
  await Promise.all(Array.from({ length: 40 }, (_, at) => call('POST', '/rest/messages', messageNo(at))))
}

function messageNo(at: number): object {
  const extId = at % 10 === 3 ? 'order-line' : at % 13 === 7 ? 'old-line' : 'support-line'
  const name = PEOPLE[at % PEOPLE.length] ?? ''
  return {
    extId,
    user: { name, phone: `+55119888877${10 + (at % PEOPLE.length)}` },
    thread: { extId: `order-${4700 + (at % 17)}` },
    input: 'Where is my order?',
    answer: { message: TEXTS[at % TEXTS.length] },
  }
}

async function seedAssistant(put: (path: string, body: object) => Promise<void>): Promise<void> {
  for (const [at, step] of STEPS.entries())
    await put(`steps/${at + 1}`, { description: step.name, instructions: 'Be brief and kind.', ...step })
  const workflow = { name: 'Complaints', description: 'From a complaint to a solution', firstStep: 1 }
  await put('workflows/1', { ...workflow, steps: [1, 2, 3, 4] })
  const action = { name: 'Orders', description: 'The shop’s orders', specType: 'openapi3-yaml' }
  await put('actions/1', { ...action, moduleUrl: 'native:request', spec: SPEC })
  const job = { role: 'Support agent', goal: 'Solve complaints', description: 'Answers customers' }
  await put('jobs/1', { ...job, actions: [1], defaultWorkflow: 1 })
  const value = { provider: 'openai', model: 'gpt-5-mini', apiKey: 'sk-secret' }
  await put('configs/1', { name: 'AI_CHAT_PROVIDER', value, owner: 1, ownerType: 'assistant' })
  const backstory = 'You work for a shop that sells plants, and you like them.'
  await put('assistant/1', {
    name: 'Flora',
    description: 'Customer support',
    backstory,
    job: 1,
    configs: [1],
    actions: [1],
  })
  for (const [at, currentStep] of [1, 1, 2, 3].entries())
    await put(`tasks/${at + 1}`, {
      ...{ workflow: 1, currentStep, status: 'active', name: `Complaint ${at + 1}`, description: '' },
      extId: `order-${4700 + at}`,
    })
}
