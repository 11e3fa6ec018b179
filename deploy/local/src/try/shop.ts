import { COMPLAINT, FLORA, ordersAction, STEPS, SUPPORT } from '@parley/shared/sample-shop'
import { configOf, SIMULATED, type SimulatedNumber } from '../simulator/client.ts'

/** The channel that people write to, and the one that the shop's own system sends by. */
export const SUPPORT_LINE = 'support-line'
export const ORDER_LINE = 'order-line'

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
    ['jobs', 1, { ...SUPPORT, actions: [1], defaultWorkflow: 1 }],
    ['assistant', 1, { ...FLORA, job: 1, actions: [1] }],
    ['channels', 1, supportChannel(places.support)],
    ['channels', 2, orderChannel(places.salesLine)],
  ]
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
