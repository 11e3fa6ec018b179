import { configOf, SIMULATED, type SimulatedNumber } from '../simulator/client.ts'

/** The channel that people write to, and the one that the shop's own system sends by. */
export const SUPPORT_LINE = 'support-line'
export const ORDER_LINE = 'order-line'
const ASSISTANT = 'Flora'
export const WORKFLOW = 'Complaint'

/** Where the simulator is, and the two numbers of the shop. */
interface Places {
  simulatorUrl: string
  support: SimulatedNumber
  salesLine: SimulatedNumber
}

/** The configuration of a shop for plants: resource, id and document. */
export function shopDocuments(places: Places): [string, number, object][] {
  return [
    ['actions', 1, ordersAction(places.simulatorUrl)],
    ...STEPS.map((step, at): [string, number, object] => ['steps', at + 1, { description: '', ...step }]),
    ['workflows', 1, { ...COMPLAINT, steps: STEPS.map((_step, at) => at + 1), firstStep: 1 }],
    ['jobs', 1, SUPPORT],
    ['assistant', 1, FLORA],
    ['channels', 1, supportChannel(places.support)],
    ['channels', 2, orderChannel(places.salesLine)],
  ]
}

const STEPS = [
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
const COMPLAINT = { name: WORKFLOW, description: 'From a complaint to a solution' }
const SUPPORT = {
  role: 'Support agent',
  goal: 'People are happy with their plants',
  description: 'Answers the customers of a shop for plants',
  actions: [1],
  defaultWorkflow: 1,
}
const FLORA = {
  name: ASSISTANT,
  description: 'Customer support',
  backstory: 'You work for Verde, a shop that sells plants, and you like them. You are friendly and brief.',
  job: 1,
  actions: [1],
}

const supportChannel = (number: SimulatedNumber): object => ({
  ...{ name: 'Support', description: 'People write here, and Flora answers', extId: SUPPORT_LINE },
  ...{ hook: SIMULATED.name, callback: SIMULATED.name, handlerUrl: 'native:agents/taskManager' },
  config: { ...configOf(number), assistantId: 1, shareWithModel: ['name', 'phone'] },
})

/** A channel whose updates can't be checked, so that there is something to mend. */
function orderChannel(number: SimulatedNumber): object {
  const { appSecret: _, ...config } = configOf(number)
  return {
    ...{ name: 'Orders', description: 'The shop says how orders go', extId: ORDER_LINE },
    ...{ hook: SIMULATED.name, callback: SIMULATED.name, handlerUrl: 'native:agents/echo', config },
  }
}

function ordersAction(simulatorUrl: string): object {
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
